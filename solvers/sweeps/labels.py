"""Coordinates and other small arrays of a store, read without the zarr package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .plain_files import check_size, pieces
from .store import StoreError
from .zarr_rules import Array, chunk_key

#: Bytes of text that the labels of one coordinate may have.
MAX_TEXT = 1_000_000_000


def read_array(path: Path, name: str, array: Array) -> Any:
    """Values of an array that is one chunk: numbers, or text as an array of strings. Raises StoreError."""
    file = path / name / chunk_key((0,) * len(array.shape))
    most = MAX_TEXT if array.chunk_size is None else array.chunk_size
    if array.chunk_size is not None:
        check_size(f"the values of {name} in {path}", 2 * most, "read them in parts with xarray.open_zarr")
    content = b"".join(pieces(file, size=array.chunk_size, most=most))
    if array.dtype is not None:
        return np.frombuffer(content[:-4], array.dtype).reshape(array.shape)
    try:
        return np.array(list(_texts(content[:-4])), dtype=np.str_).reshape(array.shape)
    except (ValueError, IndexError):
        raise StoreError(f"{file} is damaged; restore it or give another name") from None


def ends(path: Path, name: str, array: Array) -> tuple[Any, Any]:
    """Least and largest number of an array that is one chunk, however large it is. Raises StoreError."""
    file = path / name / chunk_key((0,) * len(array.shape))
    assert array.dtype is not None
    least, largest, left = None, None, (array.chunk_size or 0) - 4
    for piece in pieces(file, size=array.chunk_size):
        values = np.frombuffer(piece[: max(0, left)], array.dtype)
        left -= len(piece)
        if values.size:
            least = values.min() if least is None else np.minimum(least, values.min())
            largest = values.max() if largest is None else np.maximum(largest, values.max())
    return least, largest


def _texts(content: bytes) -> Iterator[str]:
    """Strings: their number, then each with its length in front."""
    count, at = int.from_bytes(content[:4], "little"), 4
    for _ in range(count):
        if at + 4 > len(content):
            raise ValueError
        length = int.from_bytes(content[at : at + 4], "little")
        if at + 4 + length > len(content):
            raise ValueError
        yield content[at + 4 : at + 4 + length].decode()
        at += 4 + length
    if at != len(content):
        raise ValueError
