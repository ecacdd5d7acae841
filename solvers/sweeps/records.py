"""Records of a store: what was written where, with a hash that also holds the place, and small arrays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tcpdynamics.errors import StoreError

from .plain_files import MAX_JSON, check_size, pieces, read_json
from .zarr_rules import Array, chunk_key

#: What the hash of the first record starts from.
FIRST = "tcpdynamics store"

SKELETON = "skeleton.json"
COMPLETE = "complete.json"

#: Bytes that a record may have for each point, all of them failed with texts of their own.
_A_POINT = 4_000


@dataclass(frozen=True)
class BlockRecord:
    """What a block's record says.

    Attributes
    ----------
    codes : status -> number of points
    reasons : text -> runs [first, behind the last] of the block's points that raised it
    chunks : variable -> hash of its chunk
    """

    codes: dict[int, int]
    reasons: dict[str, list[list[int]]]
    chunks: dict[str, str]


def canonical(value: Any) -> bytes:
    """JSON of a value that does not depend on the order of its keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def hash_json(value: Any) -> str:
    """Hash of a value that JSON knows."""
    return hashlib.sha256(canonical(value)).hexdigest()


def hash_chunk(seal: str, name: str, key: str, content: Iterable[bytes]) -> str:
    """Hash of a chunk's bytes and of the place where they belong."""
    total = hashlib.sha256(canonical([seal, name, key]))
    for piece in content:
        total.update(piece)
    return total.hexdigest()


def sealed(seal: str, content: Mapping[str, Any]) -> tuple[bytes, str]:
    """A record's bytes, and its own seal."""
    own = hash_json([seal, content])
    return canonical({**content, "seal": own}), own


def unsealed(path: Path, seal: str, most: int = MAX_JSON) -> tuple[dict[str, Any], str]:
    """What a record says, and its own seal. Raises StoreError if it was changed."""
    content = read_json(path, most)
    own = content.pop("seal", None)
    if own != hash_json([seal, content]):
        raise StoreError(f"{path} is damaged (its checksum is wrong); restore it or give another name")
    return content, str(own)


def read_block(path: Path, seal: str, key: str, names: frozenset[str], points: int) -> BlockRecord:
    """The record of a block of so many points.

    Raises
    ------
    StoreError
        If it was changed, or belongs elsewhere.
    """
    content, _ = unsealed(path, seal, MAX_JSON + _A_POINT * points)
    try:
        codes = {int(k): v for k, v in content["codes"].items()}
        reasons, chunks = content["reasons"], content["chunks"]
        runs = [run for text in reasons.values() for run in text]
        whole = (
            content["block"] == key
            and all(0 <= k < 255 and type(v) is int and v > 0 for k, v in codes.items())
            and sum(codes.values()) == points
            and all(type(a) is int and type(b) is int and 0 <= a < b <= points for a, b in runs)
            and chunks.keys() == names
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        whole = False
    if not whole:
        raise StoreError(
            f"{path} is damaged: it is no record of the block {key}; restore it or give another name"
        )
    return BlockRecord(codes, reasons, chunks)


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
