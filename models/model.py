"""Parameters of a model as plain values: pint quantities in the unit of their field, without the wrapper."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from .formulas import plain
from .parameters import broadcast


def plain_values(model: Any) -> dict[str, Any]:
    """Parameters as a problem takes them: numbers, arrays, DataArrays."""
    return {f.name: plain(model, f.name) for f in fields(model)}


def spread(model: Any) -> dict[str, Any]:
    """Parameters ready for elementwise formulas: numbers, DataArrays that broadcast by name, expressions."""
    units = {f.name: f.metadata["unit"] for f in fields(model)}
    values = broadcast(model).items()
    return {k: v.to(units[k]).magnitude if hasattr(v, "magnitude") else v for k, v in values}
