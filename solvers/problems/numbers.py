"""Real numbers as they are handed in: nothing is dropped, guessed or read from text."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.errors import DomainError, bare, shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    import sympy
    import xarray as xr

#: A 1-D array, which is one dimension of a grid, or a DataArray, which brings its own.
Numbers: TypeAlias = "Sequence[float] | NDArray[Any] | xr.DataArray"

#: A parameter: one number, or several.
Parameter: TypeAlias = "float | Fraction | Numbers"

#: An equation's right side, a probability, a delay.
Expression: TypeAlias = "sympy.Expr | float | Fraction"

#: A value of a state: numbers as for a parameter, or an expression in the parameters.
StateValue: TypeAlias = "Parameter | sympy.Expr"


def real_array(name: str, value: Any, *, error: type[Exception] = DomainError) -> NDArray[np.float64]:
    """Numbers as an array of floats, whatever their shape; infinite ones and NaN pass.

    NumPy alone would take True as 1, "2" as 2, what a masked array hides, and the real part of a complex number.

    Parameters
    ----------
    name : str
        What they are, for the sentence of the error.
    value : number, sequence, array or DataArray

    Raises
    ------
    DomainError (or `error`)
        A quantity with a unit, a masked array, truth values, text, complex numbers, rows of different lengths, or
        a number beyond 1.8e308.

    Examples
    --------
    >>> real_array("times", [0, 1.5]).tolist()
    [0.0, 1.5]
    >>> real_array("times", [True, 1.5])
    Traceback (most recent call last):
    ...
    tcpdynamics.errors.DomainError: times must be real numbers, got [True, 1.5]
    """
    label, variable = bare(name), getattr(value, "variable", None)
    data = value if variable is None else variable._data  # of a DataArray
    if hasattr(data, "magnitude"):  # pint
        raise error(f"{label} must be plain numbers, got a quantity in {bare(data.units)}; convert it first")
    parts = np.ravel(_objects(value)) if isinstance(value, list | tuple) else ()
    if isinstance(data, np.ma.MaskedArray) or any(isinstance(x, np.ma.MaskedArray) for x in parts):
        raise error(
            f"{label} must not be masked, and every entry needs its value; fill or drop what is masked"
        )
    try:
        plain = np.asarray(value)
        objects = plain.ravel() if plain.dtype == object else parts
        if plain.dtype.kind in "iufO" and all(_is_real(x) for x in objects):
            return plain.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        pass
    short = (
        np.ravel(value)[:50].tolist() if hasattr(value, "dtype") else value
    )  # an array's repr has many lines
    raise error(f"{label} must be real numbers, got {shown(short)}")


def dimensions(value: Any) -> int:
    """`np.ndim` of a parameter; NumPy's types know neither fractions nor quantities."""
    return np.ndim(value)


def _objects(values: Any) -> Any:
    """Entries of a list as they are, before any becomes like its neighbours."""
    try:
        return np.array(values, dtype=object)
    except ValueError:  # rows of different lengths
        return ()


def _is_real(entry: Any) -> bool:
    if isinstance(entry, np.generic | np.ndarray):
        return entry.dtype.kind in "iuf"
    return isinstance(entry, Real | Decimal) and not isinstance(entry, bool)
