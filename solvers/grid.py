"""Parameters as a grid: numbers stay numbers, arrays become labelled dimensions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.errors import bare, shown
from tcpdynamics.later import xr

from .problems import DomainError, Parameter
from .problems.kinds import check_mapping
from .problems.numbers import labelled_by_itself

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

    def variable(self, values: NDArray[Any], units: str, long_name: str, *dims: str) -> tuple[Any, ...]:
        """A variable of a result: `values` (size, *more) with its `dims` beside the grid's."""
        shaped = values.reshape(self.shape + values.shape[1:])
        return (self.dims + dims, shaped, {"units": units, "long_name": long_name})

    def point(self, index: int) -> dict[str, float]:
        """The parameters of one point."""
        return {k: float(v) if np.ndim(v) == 0 else float(v[index]) for k, v in self.values.items()}


#: The grid of a problem without parameters.
SINGLE = Grid((), (), {}, {})


def make_grid(parameters: Mapping[str, Parameter]) -> Grid:
    """Span the grid of all parameters.

    A 1-D array spans a dimension with its parameter's name; DataArrays bring their own dimensions, and equal names must
    carry equal coordinates. A dimension with its parameter's name has the values as its coordinate, and no others.

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
        sides = bare(" x ".join(f"{bare(d)} {n:,}" for d, n in sizes.items()), 300)
        raise DomainError(
            f"the grid has {points:,} points ({sides}), at most {MAX_POINTS:,} fit in memory; "
            "give fewer values, or sweep it in blocks to a store"
        )
    values = {name: flat(array, dims, shape) for name, array in arrays.items()}
    return Grid(dims, shape, coords, values)


def span(parameters: Mapping[str, Parameter]) -> tuple[dict[str, xr.DataArray], dict[str, int], dict[str, Any]]:
    """The grid of `make_grid` before any point is formed: labelled parameters, size by dimension, coordinates."""
    check_mapping("parameters", parameters, DomainError)
    for name in parameters:
        if not isinstance(name, str):
            raise DomainError(f"a parameter is named by a string, got {shown(name)}")
    arrays = {name: _to_dataarray(name, value) for name, value in parameters.items()}
    try:
        xr.align(*arrays.values(), join="exact", copy=False)
    except ValueError as error:
        raise DomainError(f"parameters share a dimension but not its coordinates: {bare(error, 300)}") from None
    sizes: dict[str, int] = {}
    coords: dict[str, Any] = {}
    for name, array in arrays.items():
        sizes |= {str(d): n for d, n in array.sizes.items()}
        coords |= {str(k): c for k, c in array.coords.items()}
        if array.ndim == 0 or array.dims != (array.name,):
            coords.setdefault(str(array.name or name), array.drop_vars(array.coords))
    for name, array in arrays.items():
        for dimension in {name, str(array.name)} & set(sizes):
            if array.dims != (dimension,):
                raise DomainError(
                    f"a dimension is named {shown(dimension)} like a parameter that does not vary along it; rename the "
                    "dimension"
                )
    reserved = RESERVED & (set(sizes) | set(coords))
    if reserved:
        raise DomainError(f"a parameter brings the dimension {shown(min(reserved))}, which results use; rename it")
    return arrays, sizes, coords


def _to_dataarray(name: str, value: Any) -> xr.DataArray:
    data: Any = value.variable._data if isinstance(value, xr.DataArray) else value
    if hasattr(data, "magnitude"):  # pint
        raise DomainError(f"{bare(name)} is a quantity in {bare(data.units)}; give plain numbers in SI units")
    if isinstance(data, np.ma.MaskedArray):
        raise DomainError(
            f"{bare(name)} is a masked array, and every point needs its value; fill or drop what is masked"
        )
    if isinstance(value, xr.DataArray):
        array = value if value.name is not None else value.rename(name)
    else:
        array = _from_plain(name, value)
    if array.dtype == object:
        array = array.copy(data=_from_objects(name, array.values))
    if array.dtype.kind not in "iuf":
        raise DomainError(
            f"{bare(name)} must be numeric, got {array.dtype} values such as {shown(array.values.flat[:1])}"
        )
    if array.size == 0:
        raise DomainError(f"{bare(name)} is an empty array; give at least one value")
    return labelled_by_itself(name, array)


def _from_plain(name: str, value: Any) -> xr.DataArray:
    if isinstance(value, list | tuple) and any(isinstance(x, bool | np.bool_) for x in value):
        raise DomainError(f"{bare(name)} must be numeric, got True or False in {shown(value)}")
    try:
        plain = np.asarray(value)
    except ValueError:  # a ragged list
        raise DomainError(f"{bare(name)} must be a number or a 1-D array, got {shown(value)}") from None
    if plain.ndim > 1:
        raise DomainError(f"{bare(name)} has {plain.ndim} dimensions; give a number, a 1-D array or a DataArray")
    if plain.dtype == object:  # before xarray asks pandas for a type, which long integers break
        plain = _from_objects(name, plain)
    if plain.dtype.kind not in "iufO":  # before xarray looks into dates, texts and records
        raise DomainError(f"{bare(name)} must be numeric, got {plain.dtype} values such as {shown(value)}")
    if plain.dtype.kind == "f" and plain.dtype.itemsize not in (4, 8):  # pandas has no index of such
        plain = plain.astype(np.float64)
    return xr.DataArray(plain, {name: plain} if plain.ndim else None, (name,) * plain.ndim, name)


def _from_objects(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Fractions and long integers as floats."""
    numbers = list(array.flat)
    if not numbers or any(isinstance(x, bool) or not isinstance(x, Rational) for x in numbers):
        return array
    try:
        return array.astype(np.float64)
    except OverflowError:
        long = max(numbers, key=abs)
        raise DomainError(f"{bare(name)} must hold numbers below 1.8e308, got {shown(int(long))}") from None


def flat(array: xr.DataArray, dims: tuple[str, ...], shape: tuple[int, ...]) -> Any:
    """The values of a parameter at every point of a grid, last dimension fastest; a float where it has no dimension."""
    if array.ndim == 0:
        return float(array)
    values = array.transpose(*(d for d in dims if d in array.dims)).values.astype(np.float64, copy=False)
    index = tuple(slice(None) if d in array.dims else None for d in dims)
    return np.ascontiguousarray(np.broadcast_to(values[index], shape)).reshape(-1)
