"""One block of a sweep: call the work, keep what came out, and find the points at fault where it raised."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ..problems import DynamicsError
from ..results import NOT_YET, Status

#: What `work` is: block of parameters -> variables along the dimension "point".
Work = Callable[[dict[str, NDArray[Any]]], Mapping[str, object] | xr.Dataset]

_LONGEST = 300


@dataclass(frozen=True)
class Kind:
    """What one variable looks like: `dims` and `shape` are those behind the grid's."""

    dtype: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    attrs: dict[str, Any]

    @property
    def fill(self) -> Any:
        """What stands at points without a result."""
        return np.dtype(self.dtype).type({"f": np.nan, "c": complex(np.nan, np.nan)}.get(self.dtype[1], 0))


@dataclass(frozen=True)
class Layout:
    """What the results of all blocks have in common."""

    variables: dict[str, Kind] = field(default_factory=dict)
    coords: dict[str, tuple[tuple[str, ...], Any, dict[str, Any]]] = field(default_factory=dict)

    @property
    def bytes_per_point(self) -> int:
        """Bytes of all variables at one point."""
        return sum(math.prod(k.shape) * np.dtype(k.dtype).itemsize for k in self.variables.values())


@dataclass(frozen=True)
class Outcome:
    """What came of one block.

    Attributes
    ----------
    layout : Layout or None
        None where no point gave a result.
    arrays : variable -> (points, ...) array
    status : (points,) uint8 array
    reasons : text -> runs [first, behind the last] of the block's points that raised it
    """

    layout: Layout | None
    arrays: dict[str, NDArray[Any]]
    status: NDArray[np.uint8]
    reasons: dict[str, list[list[int]]]


def run_block(work: Work, values: Mapping[str, NDArray[Any]], size: int) -> Outcome:
    """Call `work` for a block; where it raises, halve until only the points at fault are left out.

    Raises
    ------
    DynamicsError
        If what `work` gives is not one value a point.
    """
    layout: Layout | None = None
    arrays: dict[str, NDArray[Any]] = {}
    status = np.zeros(size, dtype=np.uint8)
    reasons: dict[str, list[list[int]]] = {}
    for first, last, answer in _pieces(work, values, 0, size):
        if isinstance(answer, BaseException):
            outside = type(answer).__name__ == "DomainError"
            status[first] = Status.OUTSIDE if outside else Status.RAISED
            runs = reasons.setdefault(_sentence(answer), [[first, first]])
            if runs[-1][1] == first:
                runs[-1][1] = last
            else:
                runs.append([first, last])
            continue
        part_layout, parts, codes = _take_apart(answer, last - first)
        if layout is None:
            layout = part_layout
            arrays = {n: np.full((size, *k.shape), k.fill, k.dtype) for n, k in layout.variables.items()}
        check_alike(layout, part_layout)
        for name, part in parts.items():
            arrays[name][first:last] = part
        status[first:last] = codes
    return Outcome(layout, arrays, status, reasons)


def _pieces(work: Work, values: Mapping[str, NDArray[Any]], first: int, last: int) -> list[tuple[int, int, Any]]:
    try:
        # Copies: what `work` does to its arguments is not seen by the next attempt.
        return [(first, last, work({name: v[first:last].copy() for name, v in values.items()}))]
    except Exception as error:
        if last - first == 1:
            return [(first, last, error)]
    middle = (first + last) // 2
    return _pieces(work, values, first, middle) + _pieces(work, values, middle, last)


def _sentence(error: BaseException) -> str:
    """One line, without addresses in memory, which differ from run to run."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    text = re.sub(r" at 0x[0-9a-fA-F]+", "", text).removesuffix(":")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _take_apart(answer: Any, size: int) -> tuple[Layout, dict[str, NDArray[Any]], Any]:
    """Layout, arrays with the point first, and status codes of what `work` gave."""
    variables, parts, codes = {}, {}, np.zeros(size, dtype=np.uint8)
    described, coords = _describe(answer)
    for name, (dims, array, attrs) in described.items():
        if len(dims) != array.ndim or dict(zip(dims, array.shape, strict=True)).get("point") != size:
            raise DynamicsError(
                f"work must give one value a point: {name} has the dimensions {dims} and the shape {array.shape}, "
                f"expected a dimension 'point' of length {size}"
            )
        array = np.moveaxis(array, dims.index("point"), 0)
        array = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        if array.dtype.kind not in "biufc":
            raise DynamicsError(f"work gave {name} as {array.dtype}; a sweep holds numbers and truth values")
        if 0 in array.shape:
            raise DynamicsError(f"work gave {name} with an empty dimension: its shape is {array.shape}")
        if name == "status":
            if array.ndim > 1 or array.dtype.kind not in "iu":
                raise DynamicsError("work gave a status that is not one code a point")
            if array.min() < 0 or array.max() >= NOT_YET:
                raise DynamicsError(
                    f"work gave the status {array.min() if array.min() < 0 else array.max()}; "
                    f"give codes from 0 to {NOT_YET - 1}"
                )
            codes = array.astype(np.uint8)
            continue
        behind = tuple(d for d in dims if d != "point")
        variables[name] = Kind(array.dtype.str, behind, array.shape[1:], attrs)
        parts[name] = array
    used = {d for kind in variables.values() for d in kind.dims}
    return Layout(variables, {k: c for k, c in coords.items() if c[0] and set(c[0]) <= used}), parts, codes


def _describe(answer: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Variables and coordinates as name -> (dimensions, array, attributes).

    Without building a Dataset, which would take longer than all the rest that a block costs.
    """
    coords: dict[str, Any] = {}
    if isinstance(answer, xr.DataArray):
        answer = {answer.name if answer.name is not None else "value": answer}
    if isinstance(answer, xr.Dataset):
        coords = {str(k): _parts(c) for k, c in answer.coords.items()}
        answer = {k: v.variable for k, v in answer.data_vars.items()}
    if not isinstance(answer, Mapping):
        raise DynamicsError(f"work must give a mapping of variables or a Dataset, got {type(answer).__name__}")
    variables: dict[str, Any] = {}
    for name, value in answer.items():
        if isinstance(value, xr.DataArray | xr.Variable):
            coords |= {str(k): _parts(c) for k, c in getattr(value, "coords", {}).items()}
            variables[str(name)] = _parts(value)
        elif isinstance(value, tuple):
            variables[str(name)] = _parts(xr.Variable(*value))
        elif np.ndim(value) == 1:
            variables[str(name)] = ("point",), np.asarray(value), {}
        else:
            raise DynamicsError(
                f"work must give one value a point: {name} has the shape {np.shape(value)}; "
                f"name further dimensions as in (('point', 'flow'), values)"
            )
    if coords.get("status", ((),))[0] == ("point",):  # beside a DataArray
        variables.setdefault("status", coords["status"])
    return variables, coords


def _parts(value: Any) -> tuple[tuple[str, ...], Any, dict[str, Any]]:
    return tuple(map(str, value.dims)), value.values, {str(k): v for k, v in value.attrs.items()}


def check_alike(known: Layout, layout: Layout) -> None:
    """Raise DynamicsError if a block's variables are not those of the other blocks."""
    if known.variables.keys() != layout.variables.keys():
        raise DynamicsError(
            f"work gave the variables {', '.join(layout.variables)} for some points and "
            f"{', '.join(known.variables)} for others; give the same for all"
        )
    for name, kind in known.variables.items():
        other = layout.variables[name]
        if (kind.dtype, kind.dims, kind.shape) != (other.dtype, other.dims, other.shape):
            raise DynamicsError(
                f"work gave {name} as {np.dtype(other.dtype)} {dict(zip(other.dims, other.shape, strict=True))} for "
                f"some points and as {np.dtype(kind.dtype)} {dict(zip(kind.dims, kind.shape, strict=True))} for "
                "others; give the same for all"
            )
    same = known.coords.keys() == layout.coords.keys() and all(
        xr.DataArray(values, dims=dims).equals(xr.DataArray(layout.coords[name][1], dims=layout.coords[name][0]))
        for name, (dims, values, _) in known.coords.items()
    )
    if not same:
        raise DynamicsError("work labelled a dimension differently for some points; give the same coordinates for all")
