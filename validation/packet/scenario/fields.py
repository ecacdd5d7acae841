"""Fields of a scenario's records: their units, texts such as "50ms", the checks of words and truths."""

from __future__ import annotations

import dataclasses
from dataclasses import field
from typing import Any

from tcpdynamics.errors import ScenarioError, shown, suggestion
from tcpdynamics.quantities import quantity

FORBID = {"extra": "forbid"}


def in_unit(unit: str, **options: Any) -> Any:
    """A dataclass field whose texts are read with `unit` (see `quantities.quantity`)."""
    return field(metadata={"unit": unit}, **options)


def read_texts(record: Any, prefix: str = "") -> None:
    """Turn the texts of a record that is being made into numbers: "50ms" becomes 0.05, also within a tuple."""
    for each in dataclasses.fields(record):
        unit, value = each.metadata.get("unit"), getattr(record, each.name)
        if unit and isinstance(value, str | list | tuple) and value != "auto":
            number = read_quantities(value, unit, prefix + each.name)
            # Bytes are counted in whole numbers.
            whole = unit == "B" and isinstance(number, float) and number.is_integer()
            object.__setattr__(record, each.name, int(number) if whole else number)  # type: ignore[arg-type]


def read_quantities(value: Any, unit: str, key: str) -> float | tuple[float, ...]:
    """One quantity, or one for each entry of a list."""
    if isinstance(value, list | tuple):
        return tuple(quantity(entry, unit, key) for entry in value)
    return quantity(value, unit, key)


def one_of(key: str, value: object, known: tuple[str, ...]) -> None:
    """Refuse what is not among the known words."""
    if value not in known:
        words = ", ".join(f'"{word}"' for word in known)
        close = suggestion(value, known) if isinstance(value, str) else ""
        raise ScenarioError(f"{key} must be one of {words}, got {shown(value)}{close}")


def truth(key: str, value: object) -> None:
    """Refuse what is neither true nor false."""
    if not isinstance(value, bool):
        raise ScenarioError(f"{key} must be true or false, got {shown(value)}")
