"""Parameters as a grid: numbers stay numbers, arrays become labelled dimensions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Rational
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from .problems import DomainError

#: Points of one grid: two arrays of this size are 3 GB.
MAX_POINTS = 200_000_000

#: Dimensions that results bring themselves.
RESERVED = {
    "state", "time", "length", "packets", "level", "flow", "root", "equilibrium", "step", "crossing", "direction",
    "iterate", "extremum", "cycle",
}  # fmt: skip


@dataclass(frozen=True)
class Grid:
    """The points of a sweep.

    Attributes
    ----------
    dims, shape : names and sizes of the dimensions; both empty for a single point
    coords : coordinates of the results, scalar parameters included
    values : parameter -> float, or flat array with one entry a point (last dimension fastest)
    """

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    coords: dict[str, Any]
    values: dict[str, Any]

    @property
    def size(self) -> int:
        """Number of points."""
        return math.prod(self.shape)

    def unflatten(self, flat: NDArray[Any]) -> NDArray[Any]:
        """(..., size) -> (..., *shape), a view."""
        return flat.reshape(flat.shape[:-1] + self.shape)

    def point(self, index: int) -> dict[str, float]:
        """The parameters of one point."""
        return {k: float(v) if np.ndim(v) == 0 else float(v[index]) for k, v in self.values.items()}


def make_grid(parameters: Mapping[str, Any]) -> Grid:
    """Span the grid of all parameters.

    A 1-D array spans a dimension with its parameter's name; DataArrays bring their own dimensions, and equal names must
    carry equal coordinates.

    Raises
    ------
    DomainError
        A parameter that is not numeric, is empty, or whose coordinates disagree with another's.

    Examples
    --------
    >>> grid = make_grid({"p": [0.1, 0.2, 0.3], "m": 2})
    >>> grid.dims, grid.shape, grid.values["m"]
    (('p',), (3,), 2.0)
    """
    arrays, sizes, coords = span(parameters)
    dims, shape = tuple(sizes), tuple(sizes.values())
    points = math.prod(shape)
    if points > MAX_POINTS:
        sides = " x ".join(f"{d} {n:,}" for d, n in sizes.items())
        raise DomainError(
            f"the grid has {points:,} points ({sides}), at most {MAX_POINTS:,} fit in memory; "
            "give fewer values, or sweep it in blocks to a store"
        )
    values = {name: _flat(array, dims, shape) for name, array in arrays.items()}
    return Grid(dims, shape, coords, values)


def span(parameters: Mapping[str, Any]) -> tuple[dict[str, xr.DataArray], dict[str, int], dict[str, Any]]:
    """The grid of `make_grid` before any point is formed: labelled parameters, size by dimension, coordinates."""
    arrays = {name: _labelled(name, value) for name, value in parameters.items()}
    try:
        xr.align(*arrays.values(), join="exact", copy=False)
    except ValueError as error:
        raise DomainError(f"parameters share a dimension but not its coordinates: {error}") from None
    sizes: dict[str, int] = {}
    coords: dict[str, Any] = {}
    for name, array in arrays.items():
        sizes |= {str(d): n for d, n in array.sizes.items()}
        coords |= {str(k): c for k, c in array.coords.items()}
        if array.ndim == 0 or array.dims != (array.name,):
            coords.setdefault(str(array.name or name), array.drop_vars(array.coords))
    taken = RESERVED & (set(sizes) | set(coords))
    if taken:
        raise DomainError(f"a parameter brings the dimension {min(taken)!r}, which results use; rename it")
    return arrays, sizes, coords


def _labelled(name: str, value: Any) -> xr.DataArray:
    held: Any = value.variable._data if isinstance(value, xr.DataArray) else value
    if hasattr(held, "magnitude"):  # pint
        raise DomainError(f"{name} is a quantity in {held.units}; give plain numbers in SI units")
    if isinstance(value, xr.DataArray):
        array = value if value.name is not None else value.rename(name)
    else:
        plain = np.asarray(value)
        if plain.ndim > 1:
            raise DomainError(
                f"{name} has {plain.ndim} dimensions; give a number, a 1-D array or a DataArray"
            )
        array = xr.DataArray(plain, dims=(name,) * plain.ndim, name=name)
        if plain.ndim:
            array = array.assign_coords({name: plain})
    if array.dtype == object and all(isinstance(x, Rational) for x in array.values.flat):
        array = array.astype(np.float64)  # Fractions
    if array.dtype.kind not in "iuf":
        raise DomainError(f"{name} must be numeric, got {array.dtype} values such as {array.values.flat[:1]}")
    if array.size == 0:
        raise DomainError(f"{name} is an empty array; give at least one value")
    return array


def _flat(array: xr.DataArray, dims: tuple[str, ...], shape: tuple[int, ...]) -> Any:
    if array.ndim == 0:
        return float(array)
    values = array.transpose(*(d for d in dims if d in array.dims)).values.astype(np.float64, copy=False)
    index = tuple(slice(None) if d in array.dims else None for d in dims)
    return np.ascontiguousarray(np.broadcast_to(values[index], shape)).reshape(-1)
