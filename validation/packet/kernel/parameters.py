"""Parameters of a window rule, a queue discipline or a sender, as scenarios, the command and the docs know them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from tcpdynamics.errors import ScenarioError, check, shown, suggestion
from tcpdynamics.quantities import TABLES, quantity


@dataclass(frozen=True)
class Parameter:
    """A number that a mechanism may be given.

    Attributes
    ----------
    name, unit, meaning : str
        `unit` is "" for a pure number.
    default : float
    low, high : float
        Least and greatest value allowed.
    whole : bool
        Whether it counts something.
    """

    name: str
    unit: str
    meaning: str
    default: float
    low: float = 0.0
    high: float = 1e12
    whole: bool = False


def parameters_of(file: ModuleType | None) -> tuple[Parameter, ...]:
    """The parameters that a mechanism's file describes; () where it has none."""
    return getattr(file, "PARAMETERS", ())


def read_parameters(file: ModuleType | None, values: Mapping[str, Any], key: str, what: str) -> dict[str, float]:
    """Values by name, defaults filled in, each checked; `key` is the scenario's key, `what` the mechanism's name.

    Raises
    ------
    ScenarioError
        Naming the parameter that is unknown, out of bounds, or impossible beside another.
    """
    parameters = {p.name: p for p in parameters_of(file)}
    if not isinstance(values, Mapping):
        raise ScenarioError(f"{key} must be a table of names and numbers, got {shown(values)}")
    for name in values:
        if name not in parameters:
            has = f"{what} has {', '.join(parameters)}" if parameters else f"{what} has none"
            raise ScenarioError(f"unknown key {key}.{str(name)[:60]}{suggestion(str(name), parameters)}; {has}")
    read = {}
    for name, p in parameters.items():
        value = values.get(name, p.default)
        if p.unit in TABLES and isinstance(value, str):
            value = quantity(value, p.unit, f"{key}.{name}")
        if p.whole and (isinstance(value, bool) or (isinstance(value, float) and value.is_integer())):
            value = int(value)  # such as true, or "1500 B"
        if name in values:
            advice = f"{p.meaning}" + (f" [{p.unit}]" if p.unit else "")
            check(f"{key}.{name}", value, p.low, p.high, advice, whole=p.whole)
        read[name] = float(value)
    refuse = getattr(file, "refuse", None)
    if refuse is not None:
        refuse(read, key)
    return read
