"""A grid cut into rectangular blocks, whose values are formed one block at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.errors import shown

from ..grid import RESERVED, span
from ..problems import DomainError

#: Points of a grid that is swept to a store: 16 GB a variable.
MAX_STORED = 2_000_000_000

#: Names that the results of a sweep use themselves.
_TAKEN = {"point", "status", "failure", "failure_point", "failure_reason"}

#: By default a grid makes about so many blocks, each of so many points at most.
_BLOCKS = 64
_LARGEST = 16_384

#: Memory of a block by default. Not by what the machine has: a store's blocks are to be the same everywhere.
_BLOCK_BYTES = 256_000_000


@dataclass(frozen=True)
class Blocks:
    """The points of a grid, last dimension fastest, in blocks numbered from 0.

    Attributes
    ----------
    dims, shape : names and sizes of the grid's dimensions
    tile : sides of a block; blocks at the far ends are smaller
    coords : coordinates of the results
    columns : parameter -> array with one axis a dimension, of length 1 where the parameter does not vary
    """

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    tile: tuple[int, ...]
    coords: dict[str, Any]
    columns: dict[str, NDArray[Any]]

    @property
    def points(self) -> int:
        """Points of the grid."""
        return math.prod(self.shape)

    @property
    def counts(self) -> tuple[int, ...]:
        """Blocks along each dimension."""
        return tuple(-(-n // side) for n, side in zip(self.shape, self.tile, strict=True))

    @property
    def count(self) -> int:
        """Number of blocks."""
        return math.prod(self.counts)

    def place(self, block: int) -> tuple[int, ...]:
        """Where a block stands among the blocks, by dimension."""
        return tuple(int(i) for i in np.unravel_index(block, self.counts)) if self.counts else ()

    def window(self, block: int) -> tuple[slice, ...]:
        """The part of the grid that a block covers."""
        sides = zip(self.place(block), self.tile, self.shape, strict=True)
        return tuple(slice(i * side, min((i + 1) * side, n)) for i, side, n in sides)

    def sides(self, block: int) -> tuple[int, ...]:
        """The shape of a block."""
        return tuple(s.stop - s.start for s in self.window(block))

    def values(self, block: int) -> dict[str, NDArray[Any]]:
        """Parameter -> (points of the block,) array."""
        window = self.window(block)
        sides = tuple(s.stop - s.start for s in window)
        out = {}
        for name, column in self.columns.items():
            part = column[tuple(s if n > 1 else slice(None) for s, n in zip(window, column.shape, strict=True))]
            out[name] = np.broadcast_to(part, sides).reshape(-1).copy()
        return out

    def sample(self, count: int) -> dict[str, NDArray[Any]]:
        """Parameter -> (count,) array: points drawn from the whole grid, the same each time."""
        at = np.unravel_index(np.random.default_rng(0).integers(self.points, size=count), self.shape or (1,))
        out = {}
        for name, column in self.columns.items():
            place = tuple(i if n > 1 else 0 for i, n in zip(at, column.shape, strict=False))
            out[name] = np.broadcast_to(column[place], count).copy()
        return out

    def numbers(self, block: int) -> NDArray[np.int64]:
        """Places of a block's points in the grid, counted with the last dimension fastest."""
        axes = [np.arange(s.start, s.stop, dtype=np.int64) for s in self.window(block)]
        total = np.zeros((), dtype=np.int64)
        for axis, n in zip(axes, self.shape, strict=True):
            total = total[..., None] * n + axis
        return total.reshape(-1)


def cut(
    parameters: Mapping[str, Any], block: int | None = None, most: int = MAX_STORED, bytes_per_point: int = 0
) -> Blocks:
    """Span a grid as `make_grid` does, without forming its points, and cut it into blocks.

    Parameters
    ----------
    parameters : mapping name -> number, 1-D array or DataArray
    block : int, optional
        Largest number of points in a block; by default about a 64th of the grid, at most 16 384 and at most 256 MB.
    most : int
        Largest number of points.
    bytes_per_point : int
        Memory that the work takes for a point, as far as it is known.

    Raises
    ------
    DomainError
        As `make_grid`; a grid or a block of an impossible size.

    Examples
    --------
    >>> blocks = cut({"a": np.arange(5.0), "b": [1, 2, 3]}, block=6)
    >>> blocks.tile, blocks.count, blocks.values(2)
    ((2, 3), 3, {'a': array([4., 4., 4.]), 'b': array([1, 2, 3])})
    """
    if block is not None and (isinstance(block, bool) or not isinstance(block, int | np.integer) or block < 1):
        raise DomainError(f"block must be a whole number of points >= 1, got {shown(block)}")
    block = None if block is None else int(block)
    arrays, sizes, coords = span(parameters)
    dims, shape = tuple(sizes), tuple(sizes.values())
    reserved = (_TAKEN | RESERVED) & {*dims, *coords}
    if reserved:
        raise DomainError(f"a parameter is called {min(reserved)!r}, which results use; rename it")
    points = math.prod(shape)
    if points > most:
        sides = " x ".join(f"{d} {n:,}" for d, n in sizes.items())
        hint = "" if most == MAX_STORED else f", or sweep up to {MAX_STORED:,} to a store such as x.zarr"
        raise DomainError(f"the grid has {points:,} points ({sides}), at most {most:,} fit; give fewer values{hint}")
    columns = {}
    for name, array in arrays.items():
        values = array.transpose(*(d for d in dims if d in array.dims)).values
        values = values.astype(values.dtype.newbyteorder("="), copy=False)
        columns[name] = values[tuple(slice(None) if d in array.dims else None for d in dims)]
    largest = min(_LARGEST, max(1, _BLOCK_BYTES // max(1, bytes_per_point)))
    target = block or min(largest, -(-points // _BLOCKS))
    if block is None and shape and target < shape[-1] <= min(2 * target, 2 * largest - 1):
        target = shape[-1]  # whole rows rather than halves
    return Blocks(dims, shape, _tile(shape, target), coords, columns)


def _tile(shape: tuple[int, ...], points: int) -> tuple[int, ...]:
    """Sides of blocks of at most so many points: whole rows first, and no leftovers much smaller than the rest."""
    sides = []
    for n in reversed(shape):
        side = -(-n // -(-n // points))
        sides.append(side)
        points = max(1, points // side)
    return tuple(reversed(sides))
