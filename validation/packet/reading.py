"""From TOML to a scenario, with errors in the words of the file."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from . import topologies
from .parts import Bottleneck, Drop, Flows, Link, Record
from .scenario import Scenario
from .units import ScenarioError, quantity

_PARTS = {"bottleneck": Bottleneck, "flows": Flows, "drops": Drop, "links": Link, "record": Record}
_TRUTHS = {"limited_transmit", "handshake", "sack", "timestamps", "duplex", "sends", "receives", "drops"}


def load_scenario(path: str | Path) -> Scenario:
    """Read a scenario from a TOML file; see the ready ones for the shape.

    Raises
    ------
    ScenarioError
        For a file that is not TOML, an unknown key, a unit that is not known, or a value out of bounds.
    OSError
        If the file cannot be read.
    """
    return parse_scenario(load_table(path))


def load_table(path: str | Path) -> dict[str, Any]:
    """The nested mapping in a TOML file, unchecked but for having flows."""
    try:
        table = tomllib.loads(Path(path).read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{path} is not TOML: {error}") from error
    if "flows" not in table:
        raise ScenarioError(f"{path} has no [[flows]]; docs/scenarios.md shows a whole file")
    return table


def parse_scenario(table: Mapping[str, Any]) -> Scenario:
    """Build a scenario from nested mappings with units as text, such as a TOML table.

    A table `topology` with a `kind` (dumbbell, star, parking_lot, two_paths) stands for the links that the
    function of that name in `topologies` makes.

    Examples
    --------
    >>> parse_scenario({"duration": "10s", "warm_up": "1s", "flows": [{"rtt": "200ms"}]}).flows[0].rtt
    0.2
    """
    from pydantic import TypeAdapter, ValidationError  # slow to import, so only here

    table = dict(table)
    topology = table.pop("topology", None)
    plain = _plain(Scenario, table, "")
    for key, part in _PARTS.items():
        value = plain.get(key)
        if isinstance(value, Mapping):
            plain[key] = _plain(part, value, f"{key}.")
        elif isinstance(value, Sequence) and not isinstance(value, str):
            plain[key] = tuple(_plain(part, v, f"{key}.") if isinstance(v, Mapping) else v for v in value)
    if topology is not None:
        if "links" in plain:
            raise ScenarioError("topology and links are both given; give one")
        plain["links"] = _topology(topology)
    try:
        return TypeAdapter(Scenario).validate_python(plain)
    except ValidationError as error:
        raise ScenarioError(_explain(error.errors()[0])) from error


def _topology(table: Any) -> tuple[Link, ...]:
    if not isinstance(table, Mapping):
        raise ScenarioError(f"topology must be a table with a kind, got {table!r}")
    table = dict(table)
    kind = table.pop("kind", None)
    if kind not in topologies.KINDS:
        raise ScenarioError(f"topology.kind must be one of {', '.join(topologies.KINDS)}, got {kind!r}")
    make, units = topologies.KINDS[kind]
    for key, value in table.items():
        if key not in units:
            raise ScenarioError(f"unknown key topology.{key}; {kind} knows {', '.join(units)}")
        if units[key]:
            several = isinstance(value, Sequence) and not isinstance(value, str)
            numbers = tuple(
                quantity(v, units[key], f"topology.{key}") for v in (value if several else [value])
            )
            table[key] = numbers if several else numbers[0]
    try:
        return make(**table)
    except TypeError as error:
        raise ScenarioError(f"topology of kind {kind}: {error}") from error


def _plain(part: type, table: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Texts with units become numbers, booleans where numbers belong are refused, lists become tuples."""
    units = {f.name: f.metadata.get("unit") for f in dataclasses.fields(part)}
    plain: dict[str, Any] = {}
    for key, value in table.items():
        unit = units.get(key)
        several = isinstance(value, Sequence) and not isinstance(value, str)
        if unit and not (key == "epoch" and value == "auto") and value is not None:
            numbers = tuple(quantity(v, unit, prefix + key) for v in (value if several else [value]))
            value = numbers if several else numbers[0]
        elif several:
            value = tuple(value)
        truth = key in _TRUTHS and (part, key) != (Scenario, "drops")
        if truth and value is not None and not isinstance(value, bool):
            raise ScenarioError(f"{prefix}{key} must be true or false, got {value!r}")
        if isinstance(value, bool) and not truth:
            raise ScenarioError(f"{prefix}{key} must be a number or text, got {value!r}")
        plain[key] = value
    return plain


def _explain(error: Any) -> str:
    """One sentence from pydantic's first complaint."""
    place = ".".join(str(part) for part in error["loc"] if not str(part).startswith("tuple["))
    if error["type"] == "unexpected_keyword_argument":
        return f"unknown key {place}; docs/scenarios.md lists the known ones"
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] == "value_error":
        return str(message)
    if error["type"] == "missing":
        return f"{place} is missing; docs/scenarios.md lists the keys"
    return f"{place}: {message}, got {error['input']!r}"


def ready_scenarios() -> dict[str, Path]:
    """The scenarios that come with the package: name -> path of its TOML file.

    Examples
    --------
    >>> {"mixed_rtt", "sub_packet"} <= set(ready_scenarios())
    True
    """
    folder = Path(str(resources.files("tcpdynamics.validation.packet") / "scenarios"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}
