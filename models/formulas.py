"""Functions of a number, a DataArray or a SymPy expression alike, so that a closed form is written and proved once."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from .parameters import Value, as_parameter


def exp(x: Value) -> Any:
    """e^x."""
    return _apply("exp", x)


def log(x: Value) -> Any:
    """Natural logarithm."""
    return _apply("log", x)


def sqrt(x: Value) -> Any:
    """Square root."""
    return _apply("sqrt", x)


def _apply(name: str, x: Value) -> Any:
    if hasattr(x, "free_symbols"):
        import sympy

        return getattr(sympy, name)(x)
    return getattr(np, name)(x)


def pi_of(x: Value) -> Any:
    """pi, exact beside a SymPy expression."""
    if hasattr(x, "free_symbols"):
        import sympy

        return sympy.pi
    return math.pi


def named(value: Any, name: str, units: str, long_name: str) -> Any:
    """A result with its labels: a DataArray gets them, a single number becomes a float, an expression stays."""
    if getattr(value, "ndim", 0):
        return labelled(value, name, units, long_name)
    return value if hasattr(value, "free_symbols") or hasattr(value, "magnitude") else float(value)


def labelled(array: Any, name: str, units: str, long_name: str) -> Any:
    """A DataArray with its labels."""
    return array.rename(name).assign_attrs(units=units, long_name=long_name)


def field_values(model: Any) -> dict[str, Any]:
    """The fields of a model by name: what is stored with a result to make it again."""
    return {f.name: getattr(model, f.name) for f in dataclasses.fields(model)}


def plain(model: Any, name: str) -> Any:
    """A field's value without a pint wrapper, in the field's unit."""
    value = getattr(model, name)
    if not hasattr(value, "magnitude"):
        return value
    metadata = next(f.metadata for f in dataclasses.fields(model) if f.name == name)
    array = as_parameter(name, value, metadata["unit"], metadata["meaning"])
    return array.values if array.ndim else array.item()


def positive_part(x: Value) -> Any:
    """max(0, x)."""
    if hasattr(x, "free_symbols"):
        import sympy

        return sympy.Max(0, x)
    return np.maximum(x, 0)


def choose(condition: Any, this: Any, other: Any) -> Any:
    """`this` where the condition holds, else `other`; a float if all three are numbers."""
    import xarray as xr

    found = xr.DataArray(this).where(xr.DataArray(condition), other)
    return found if found.ndim else found.item()
