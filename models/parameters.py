"""Parameters of models: what they mean, where they may lie, and how they broadcast.

A model is a frozen dataclass whose fields are made by `parameter`. The metadata feed the checks, the labels
of results, the command line and the documentation, so that each fact is written once.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.errors import UnusualValueWarning, bare, shown
from tcpdynamics.quantities import long_time, slow_rate
from tcpdynamics.solvers.problems import DomainError, Parameter
from tcpdynamics.solvers.problems.numbers import labelled_by_itself

if TYPE_CHECKING:
    import pint
    import sympy
    import xarray as xr
    from _typeshed import DataclassInstance

#: What a formula computes with and gives: a number, a DataArray over the grid of the parameters, a SymPy expression
#: or a pint quantity.
Value: TypeAlias = "float | xr.DataArray | sympy.Expr | pint.Quantity[Any]"

#: What a field or an argument may hold: a value of a formula, a fraction, or a 1-D array, which is one dimension of a
#: sweep.
Number: TypeAlias = "Value | Parameter"

#: A point of the complex plane and what a characteristic function is there; an array for each of its entries.
Complex: TypeAlias = "complex | NDArray[Any] | xr.DataArray | sympy.Expr"

#: Points of the grid that the parameters of one model may span, as for the solvers.
MAX_POINTS = 200_000_000


def parameter(
    symbol: str,
    unit: str,
    meaning: str,
    *,
    low: float | None = None,
    high: float | None = None,
    low_open: bool = True,
    high_open: bool = True,
    source: str = "",
    note: str = "",
    advice: str = "",
    integer: bool = False,
    structural: bool = False,
    default: Any = MISSING,
) -> Any:
    """A dataclass field that knows its symbol, unit, meaning and interval.

    Parameters
    ----------
    symbol : str      As in the paper; LaTeX is welcome.
    unit : str        SI, as pint reads it: "s", "bit/s", "packet", "packet/s"; "1" for a pure number.
    meaning : str     A few words; becomes `long_name`.
    low, high : float, optional
        Ends of the interval; None stands for an infinite end. Infinity is accepted as a value only where the
        end is infinite *and* closed (`high=inf, high_open=False`).
    low_open, high_open : bool
        Whether the end itself is excluded.
    source : str      Where the definition or the bound comes from.
    note : str        What the docstring of the model says besides.
    advice : str      What to do about a value from `high` on, where others have an answer.
    integer : bool    Whole numbers only.
    structural : bool
        Whether it is no symbol of the equations: a number that shapes them, or an initial value.
    default           As for `dataclasses.field`. None means "derived from the others" and is then accepted.

    Examples
    --------
    >>> @dataclasses.dataclass(frozen=True)
    ... class Link:
    ...     rtt: float = parameter("R", "s", "round-trip time", low=0.0, default=0.1)
    >>> Link().rtt
    0.1
    """
    metadata = {
        "symbol": symbol,
        "unit": unit,
        "meaning": meaning,
        "low": low,
        "high": high,
        "low_open": low_open,
        "high_open": high_open,
        "source": source,
        "note": note,
        "advice": advice,
        "integer": integer,
        "structural": structural,
    }
    return dataclasses.field(default=default, metadata=metadata)


def setting(meaning: str, default: Any = MISSING) -> Any:
    """A dataclass field that is no number: a switch, or numbers that belong together."""
    return dataclasses.field(default=default, metadata={"meaning": meaning})


def interval(metadata: Mapping[str, Any]) -> str:
    """The interval of a parameter as people write it.

    >>> interval({"low": 0, "high": 0.5, "low_open": True, "high_open": False})
    '(0, 0.5]'
    """
    low, high = _ends(metadata)
    left = "(" if metadata["low_open"] else "["
    right = ")" if metadata["high_open"] else "]"
    return f"{left}{low:g}, {high:g}{right}"


def open_interval(metadata: Mapping[str, Any]) -> tuple[float, float]:
    """The interval of a parameter as an open one, for the domain of a problem: a closed end moves out a little.

    >>> open_interval({"low": 1.0, "high": None, "low_open": True, "high_open": True})
    (1.0, inf)
    """
    low, high = _ends(metadata)
    if not metadata["low_open"]:
        low = min(math.nextafter(low, -math.inf), low - sys.float_info.min)
    if not metadata["high_open"]:
        high = max(math.nextafter(high, math.inf), high + sys.float_info.min)
    return float(low), float(high)


def describe(model: DataclassInstance | type[DataclassInstance]) -> list[dict[str, Any]]:
    """What the parameters of a model class (or of one model) are, in the order of its fields.

    Returns
    -------
    list of dict
        name, symbol, unit, meaning, low, high, low_open, high_open, source, note, advice, integer, structural, default
        (None where there is none), required and interval (a string).
    """
    return [
        {
            "name": field.name,
            **field.metadata,
            "default": None if field.default is MISSING else field.default,
            "required": field.default is MISSING,
            "interval": interval(field.metadata),
        }
        for field in _parameters(model)
    ]


#: Unit -> the sentences about a number that was probably meant in another unit.
_UNUSUAL: dict[str, Callable[[str, float], Iterable[str]]] = {"s": long_time, "bit/s": slow_rate}


def check_parameters(model: DataclassInstance) -> None:
    """Refuse a model with a parameter that is no number or lies outside its interval; for `__post_init__`.

    SymPy expressions are let through: a symbol has no value to check. A plain number of s or bit/s that no network has
    brings an UnusualValueWarning.

    Raises
    ------
    DomainError
        Names the field, its interval, the first value at fault (with its index in an array) and a way out.

    Examples
    --------
    >>> @dataclasses.dataclass(frozen=True)
    ... class Path:
    ...     loss: float = parameter("p", "1", "loss probability", low=0, high=0.5)
    ...     __post_init__ = check_parameters
    >>> Path(1.7)
    Traceback (most recent call last):
    ...
    tcpdynamics.errors.DomainError: loss must lie in (0, 0.5), got 1.7; a percentage? divide by 100
    """
    unusual: list[str] = []
    for field in _parameters(model):
        value = getattr(model, field.name)
        if (value is None and field.default is None) or is_symbolic(value):
            continue
        numbers_ = _numbers(field.name, value, field.metadata["unit"])
        fault = _first(~_inside(numbers_, field.metadata))
        if fault is not None:
            raise DomainError(_complaint(field.name, numbers_, fault, field.metadata))
        if field.metadata["unit"] in _UNUSUAL and not is_quantity(value) and numbers_.size == 1:  # sweeps may go far
            unusual += _UNUSUAL[field.metadata["unit"]](field.name, float(numbers_.item()))
    if unusual:
        level, frame = 2, sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_name in ("__post_init__", "__init__"):
            level, frame = level + 1, frame.f_back  # to the line that makes the model
        warnings.warn("; ".join(unusual), UnusualValueWarning, stacklevel=level)


def as_parameter(name: str, value: Number, unit: str, meaning: str) -> xr.DataArray:
    """A value as a labelled array.

    Parameters
    ----------
    name : str       Name of the parameter, and of the dimension that a 1-D array spans.
    value            Number, 1-D array-like, DataArray or pint quantity (converted to `unit`).
    unit, meaning    Become the attributes `units` and `long_name` where a DataArray brings none.

    Returns
    -------
    xarray.DataArray
        0-d for a number; `(name,)` with itself as coordinate for a 1-D array; a DataArray keeps its
        dimensions, and one named like the parameter has the values as coordinate.

    Examples
    --------
    >>> as_parameter("loss", [0.01, 0.1], "1", "loss probability").sizes
    Frozen({'loss': 2})
    """
    import xarray as xr  # here, because it takes longer to load than all models together

    attrs = {"units": unit, "long_name": meaning}
    if isinstance(value, xr.DataArray):
        return labelled_by_itself(name, value.rename(name).assign_attrs({**attrs, **value.attrs}))
    values = _numbers(name, value, unit)
    dims = (name,) if values.ndim else ()
    coords = {name: (name, values, attrs)} if values.ndim else {}
    return xr.DataArray(values, coords, dims, name, attrs)


def broadcast(model: DataclassInstance) -> dict[str, Value]:
    """The parameters of a model by name, ready for elementwise formulas.

    All scalar: plain numbers, and pint quantities as they are (pure numbers lose their wrapper), so that a
    closed form carries their dimensions. Otherwise: DataArrays in SI units; each 1-D array spans a dimension
    of its own, DataArrays bring theirs. None and SymPy expressions stay what they are.

    Raises
    ------
    DomainError
        If two DataArrays label one dimension differently (xarray would drop what they do not share), or if the grid
        has more than `MAX_POINTS` points.

    Examples
    --------
    >>> @dataclasses.dataclass(frozen=True)
    ... class Pipe:
    ...     rate: float = parameter("C", "packet/s", "capacity", low=0)
    ...     rtt: float = parameter("R", "s", "round-trip time", low=0)
    >>> broadcast(Pipe(100, 0.2))
    {'rate': 100.0, 'rtt': 0.2}
    >>> grid = broadcast(Pipe([100, 200, 300], [0.1, 0.2]))
    >>> dict((grid["rate"] * grid["rtt"]).sizes)
    {'rate': 3, 'rtt': 2}
    """
    fields = {field.name: field.metadata for field in _parameters(model)}
    values = {name: getattr(model, name) for name in fields}
    unbroadcast = {name for name, value in values.items() if value is None or is_symbolic(value)}
    if all(name in unbroadcast or _is_scalar(value) for name, value in values.items()):
        return {name: v if name in unbroadcast else _scalar(name, v, fields[name]) for name, v in values.items()}

    import xarray as xr

    labelled = {
        name: as_parameter(name, value, fields[name]["unit"], fields[name]["meaning"])
        for name, value in values.items()
        if name not in unbroadcast
    }
    try:
        xr.align(*labelled.values(), join="exact", copy=False)
    except ValueError as error:
        raise DomainError(
            f"{', '.join(labelled)} label a dimension differently; give it the same coordinates ({bare(error, 300)})"
        ) from error
    sizes = {dim: size for array in labelled.values() for dim, size in array.sizes.items()}
    points = math.prod(sizes.values())
    if points > MAX_POINTS:
        sides = " x ".join(f"{str(dim)[:60]} {size:,}" for dim, size in sizes.items())
        raise DomainError(
            f"the grid has {points:,} points ({sides}), at most {MAX_POINTS:,} fit in memory; give fewer values"
        )
    return {name: labelled.get(name, value) for name, value in values.items()}


def _parameters(model: DataclassInstance | type[DataclassInstance]) -> list[dataclasses.Field[Any]]:
    return [field for field in dataclasses.fields(model) if "symbol" in field.metadata]


def is_symbolic(value: object) -> TypeGuard[sympy.Expr]:
    """Whether a value is a SymPy expression; SymPy is not imported for it."""
    return hasattr(value, "free_symbols")


def is_quantity(value: object) -> TypeGuard[pint.Quantity[Any]]:
    """Whether a value is a pint quantity."""
    return hasattr(value, "to") and hasattr(value, "magnitude")


def is_labelled(value: object) -> TypeGuard[xr.DataArray]:
    """Whether a value is a DataArray."""
    return hasattr(value, "dims") and hasattr(value, "coords")


def _is_scalar(value: Any) -> bool:
    return not is_labelled(value) and np.ndim(value.magnitude if is_quantity(value) else value) == 0


def _scalar(name: str, value: Any, metadata: Mapping[str, Any]) -> Value:
    if is_quantity(value) and metadata["unit"] != "1":
        return value
    number = _numbers(name, value, metadata["unit"]).item()
    return int(number) if metadata["integer"] else float(number)


def _ends(metadata: Mapping[str, Any]) -> tuple[float, float]:
    low, high = metadata["low"], metadata["high"]
    return (-math.inf if low is None else low, math.inf if high is None else high)


def _numbers(name: str, value: Any, unit: str) -> NDArray[Any]:
    """The value as an array of real numbers in `unit`, 0-d or 1-d (any shape if it is labelled)."""
    if is_quantity(value):
        try:
            value = value.to("dimensionless" if unit == "1" else unit).magnitude
        except Exception as error:  # pint's own errors, which cannot be named without importing it
            raise DomainError(
                f"{name} must be a quantity in {unit}, got {bare(value, 200)}: {bare(error, 200)}"
            ) from error
    dims = value.dims if is_labelled(value) else None
    if dims is not None:
        _check_units(name, value.attrs.get("units"), unit)
    data: Any = value.variable._data if dims is not None else value
    if isinstance(data, np.ma.MaskedArray):
        raise DomainError(f"{name} is a masked array, and every point needs its value; fill or drop what is masked")
    wanted = f"{name} must be a number or a 1-D array of numbers"
    try:
        array = np.asarray(value)
        if array.dtype == object and all(_is_rational(v) for v in array.flat):
            array = array.astype(np.float64)  # Fractions
    except (ValueError, TypeError):  # a ragged list
        raise DomainError(f"{wanted}, got {shown(value)}") from None
    except OverflowError:
        raise DomainError(f"{wanted} below 1.8e308, got {shown(value)}") from None
    hides_bool = isinstance(value, list | tuple) and any(isinstance(v, bool | np.bool_) for v in value)
    if hides_bool or (array.size and array.dtype.kind not in "iuf"):
        raise DomainError(f"{wanted}{_in(unit)}, got {shown(value)}")
    if array.size == 0:
        raise DomainError(f"{name} must hold at least one value, got an empty array")
    if array.ndim > 1 and dims is None:
        raise DomainError(
            f"{name} must be a number or a 1-D array, got shape {array.shape}; "
            "name its dimensions with an xarray.DataArray"
        )
    return array


def _is_rational(value: object) -> bool:
    return isinstance(value, numbers.Rational) and not isinstance(value, bool)


def _in(unit: str) -> str:
    return "" if unit == "1" else f" in {unit}"


def _check_units(name: str, given: str | None, unit: str) -> None:
    # Milliseconds taken for seconds would go unnoticed, so a label that disagrees is an error.
    same = {None, unit} | ({"", "dimensionless"} if unit == "1" else set())
    if given not in same:
        raise DomainError(f"{name} must be in units {unit!r}, got a DataArray in {shown(given)}; convert it first")


def _inside(values: NDArray[Any], metadata: Mapping[str, Any]) -> NDArray[np.bool_]:
    low, high = _ends(metadata)
    above = values > low if metadata["low_open"] else values >= low
    below = values < high if metadata["high_open"] else values <= high
    integral = values == np.floor(values) if metadata["integer"] else True
    return np.asarray(above & below & integral)


def _first(faults: NDArray[np.bool_]) -> tuple[int, ...] | None:
    return tuple(int(i) for i in np.argwhere(faults)[0]) if faults.any() else None


def _complaint(name: str, values: NDArray[Any], index: tuple[int, ...], metadata: Mapping[str, Any]) -> str:
    value = values[index].item()
    where = {0: "", 1: f" at index {index[0]}" if index else ""}.get(len(index), f" at index {index}")
    kind = "be a whole number in" if metadata["integer"] else "lie in"
    return f"{name} must {kind} {interval(metadata)}, got {shown(value)}{where}; {_advice(value, metadata)}"


def _advice(value: float, metadata: Mapping[str, Any]) -> str:
    low, high = _ends(metadata)
    unit = metadata["unit"]
    if math.isnan(value):
        return "drop or mask the missing values"
    if unit == "1" and 1 < value <= 100 and high <= 1:
        return "a percentage? divide by 100"
    if math.isinf(value):
        return "give a finite value"
    if high <= value < 1 and metadata["advice"]:
        return str(metadata["advice"])
    if value in (low, high):
        return "the end itself is excluded"
    if metadata["integer"] and value != math.floor(value):
        return "round it"
    return "give a value inside" if unit == "1" else f"give a value in {unit}"
