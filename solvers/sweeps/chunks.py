"""Chunks of a store: numbers as they lie in memory, or text with its lengths, and a checksum behind them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
import xarray as xr
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing

from tcpdynamics.errors import StoreError

from .layout import Array, chunk_key


def encoded(array: Array, values: Any) -> bytes:
    """The bytes of a chunk that begins with these values; behind the end of the grid stands the fill value."""
    if array.dtype is None:
        texts = [text.encode() for text in np.ravel(values)]
        parts = (piece for text in texts for piece in (len(text).to_bytes(4, "little"), text))
        content = b"".join([len(texts).to_bytes(4, "little"), *parts])
    else:
        padded = np.full(array.chunk, array.fill, array.dtype)
        padded[tuple(slice(n) for n in np.shape(values))] = values
        content = padded.tobytes()
    return content + _checksum(content)


def _checksum(content: bytes | memoryview) -> bytes:
    return int(google_crc32c.value(bytes(content))).to_bytes(4, "little")


@dataclass(frozen=True, eq=False)
class _Numbers(BackendArray):
    """An array of numbers in a folder; parts are read when they are used."""

    folder: Path
    array: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        assert self.array.dtype is not None
        return self.array.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._part)

    def _part(self, key: Sequence[int | slice]) -> NDArray[Any]:
        """The part at numbers, which drop their dimension, and slices."""
        slices = (k if isinstance(k, slice) else slice(k, k + 1) for k in key)
        ranges = [range(n)[k] for n, k in zip(self.shape, slices, strict=True)]
        out = np.full([len(r) for r in ranges], self.array.fill, self.dtype)
        sides = (list(_pieces(r, side)) for r, side in zip(ranges, self.array.chunk, strict=True))
        for pieces in itertools.product(*sides):
            chunk = self._chunk(tuple(place for place, _, _ in pieces))
            if chunk is not None:
                out[tuple(to for _, to, _ in pieces)] = chunk[tuple(at for _, _, at in pieces)]
        return out[tuple(0 if isinstance(k, int | np.integer) else slice(None) for k in key)]

    def _chunk(self, place: tuple[int, ...]) -> NDArray[Any] | None:
        """A chunk, or None where it is not there yet."""
        file = self.folder / chunk_key(place)
        try:
            content = memoryview(file.read_bytes())
        except FileNotFoundError:
            return None
        if len(content) != self.array.chunk_size or _checksum(content[:-4]) != content[-4:]:
            raise ValueError(f"{file} is damaged: its checksum is wrong; sweep once more")
        return np.frombuffer(content[:-4], self.dtype).reshape(self.array.chunk)


def _pieces(part: range, side: int) -> Iterator[tuple[int, slice, slice]]:
    """What a part of an axis takes from each chunk: the chunk's place, where it goes in the part, where it lies.

    >>> list(_pieces(range(1, 9, 3), 4))
    [(0, slice(0, 1, None), slice(1, 2, 3)), (1, slice(1, 3, None), slice(0, 4, 3))]
    """
    if part:
        for place in range(part[0] // side, part[-1] // side + 1):
            start, end = (max(0, -((part.start - i * side) // part.step)) for i in (place, place + 1))
            end = min(end, len(part))
            if start < end:
                first = place * side
                yield place, slice(start, end), slice(part[start] - first, part[end - 1] - first + 1, part.step)


def lazily(folder: Path, array: Array) -> xr.Variable:
    """An array of numbers as a variable that reads chunks when they are used. Damage is a ValueError then."""
    if array.dtype is None:
        raise StoreError(f"{folder} holds text")
    lazy: Any = indexing.LazilyIndexedArray(_Numbers(folder, array))
    cached = indexing.MemoryCachedArray(indexing.CopyOnWriteArray(lazy))  # type: ignore[no-untyped-call]
    return xr.Variable(array.dims, cached, array.attrs)
