"""Fields of a scenario's records: their units, and the checks of words and truths."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from tcpdynamics.errors import ScenarioError, shown

FORBID = {"extra": "forbid"}


def in_unit(unit: str, **options: Any) -> Any:
    """A dataclass field whose texts are read with `unit` (see `units.quantity`)."""
    return field(metadata={"unit": unit}, **options)


def one_of(key: str, value: object, known: tuple[str, ...]) -> None:
    """Refuse what is not among the known words."""
    if value not in known:
        words = ", ".join(f'"{word}"' for word in known)
        raise ScenarioError(f"{key} must be one of {words}, got {shown(value)}")


def truth(key: str, value: object) -> None:
    """Refuse what is neither true nor false."""
    if not isinstance(value, bool):
        raise ScenarioError(f"{key} must be true or false, got {shown(value)}")
