"""Real numbers as they are handed in: nothing is dropped, guessed or read from text."""

from __future__ import annotations

import sys
from decimal import Decimal
from numbers import Rational, Real
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
        raise error(f"{label} must not be masked, and every entry needs its value; fill or drop what is masked")
    try:
        plain = np.asarray(value)
        objects = plain.ravel() if plain.dtype == object else parts
        if plain.dtype.kind in "iufO" and all(_is_real(x) for x in objects):
            return plain.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        pass
    raise error(f"{label} must be real numbers, got {_at_fault(value, parts)}")


def _at_fault(value: Any, parts: Any) -> str:
    """A value that holds no real numbers, or the one of its entries that is too large for a float."""
    large = next((x for x in parts if _is_real(x) and not is_float(x)), None)
    if large is not None:
        return f"{shown(large)} among them, beyond 1.8e308"
    # an array's repr has many lines
    return shown(np.ravel(value)[:50].tolist() if hasattr(value, "dtype") else value)


def labelled_by_itself(name: str, array: xr.DataArray) -> xr.DataArray:
    """A parameter whose dimension has its own name, with its values as the coordinate of that dimension.

    Raises
    ------
    DomainError
        The dimension has other labels, or is not the only one.

    Examples
    --------
    >>> import xarray as xr
    >>> labelled_by_itself("p", xr.DataArray([0.1, 0.2], dims="p")).coords["p"].values.tolist()
    [0.1, 0.2]
    """
    # By the parameter's name alone: what is computed from an array has the array's name still.
    if name not in array.dims:
        return array
    if array.ndim > 1:
        raise DomainError(
            f"{bare(name)} varies over {array.ndim} dimensions, and the one named {shown(name)} cannot hold its "
            "values as labels; rename that dimension"
        )
    values = np.asarray(array.values, dtype=np.float64)
    if name not in array.coords:
        return array.assign_coords({name: (name, values, array.attrs)})
    labels = array.coords[name].values
    if labels.dtype.kind not in "iuf" or not np.array_equal(labels, values, equal_nan=True):
        at = int(np.argmax(labels != values))
        raise DomainError(
            f"the dimension {shown(name)} of {bare(name)} has other labels than the values of {bare(name)}, such as "
            f"{shown(labels[at].item())} for {shown(float(values[at]))}; rename the dimension or drop its labels"
        )
    return array


def is_float(number: Any) -> bool:
    """Whether a real number fits into a float; NaN and what is infinite do."""
    try:
        float(number)
    except OverflowError:
        return False
    return True


def is_symbolic(value: object) -> bool:
    """Whether a value is an expression (or a class of such); its symbols are not gathered, which recurses."""
    return hasattr(value if isinstance(value, type) else type(value), "free_symbols")


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


#: Levels of an expression: each takes several frames of Python's stack, which has a thousand.
MAX_DEPTH = 150

#: Digits of a fraction's numerator and of its denominator, in bits: Python prints no more.
MAX_BITS = 14_000


def check_digits(label: str, number: Any, error: type[Exception] = DomainError) -> None:
    """Raise `error` for a fraction, or a whole number, that Python could not print.

    Examples
    --------
    >>> from fractions import Fraction
    >>> check_digits("a rate", Fraction(1, 3))
    >>> check_digits("a rate", Fraction(1, 10**5000))
    Traceback (most recent call last):
    ...
    tcpdynamics.errors.DomainError: a rate must be a fraction of at most 4,214 digits, got a fraction of about 5001 \
digits; round it
    """
    if not isinstance(number, Rational):
        return
    if max(abs(int(number.numerator)), abs(int(number.denominator))).bit_length() > MAX_BITS:
        digits = int(MAX_BITS * 0.30103)
        raise error(f"{label} must be a fraction of at most {digits:,} digits, got {shown(number)}; round it")


def check_symbolic(
    name: object, expression: sympy.Expr, depth: dict[int, int], error: type[Exception], absent: bool = False
) -> None:
    """Raise `error` unless it is a real number once its symbols have values; without recursion.

    `depth` has what is known of parts that expressions share. NaN is no number, but stands for an `absent` point.
    """
    import sympy

    no_numbers = (sympy.oo, -sympy.oo, sympy.zoo, sympy.I, *(() if absent else (sympy.nan,)))
    finite = isinstance(expression, sympy.Expr)
    stack: list[tuple[sympy.Basic, bool]] = [(expression, False)]
    while stack and finite:
        part, entered = stack.pop()
        below = [a for a in getattr(part, "args", ()) if hasattr(a, "args")]
        if entered:
            depth[id(part)] = 1 + max((depth[id(a)] for a in below), default=0)
        elif id(part) not in depth:
            large = isinstance(part, sympy.Rational | sympy.Float) and not abs(part) <= sys.float_info.max
            if isinstance(part, sympy.Rational) and not large:
                check_digits(f"a number of {bare(name)}", part, error)
            finite = not (large or any(part is n for n in no_numbers) or getattr(part, "is_Matrix", False))
            stack += [(part, True), *((a, False) for a in below if id(a) not in depth)]
    if not finite:
        raise error(f"{shown(name)} must have a finite real number or an expression of such, got {shown(expression)}")
    if depth[id(expression)] > MAX_DEPTH:
        raise error(
            f"{shown(name)} has an expression that is nested {depth[id(expression)]} deep, at most {MAX_DEPTH} levels "
            "can be read; give an inner part a symbol of its own"
        )
