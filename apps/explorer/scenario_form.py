"""A scenario as a form: the keys that `simulate --set` knows, each with its value, unit and meaning.

Units come from the fields of the scenario's records, meanings and words to choose from out of their docstrings.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from tcpdynamics.errors import InputError, ScenarioError, shown
from tcpdynamics.validation.packet.scenario import topologies
from tcpdynamics.validation.packet.scenario.drops_and_records import Drop
from tcpdynamics.validation.packet.scenario.flows import Flows
from tcpdynamics.validation.packet.scenario.link import Bottleneck, Link
from tcpdynamics.validation.packet.scenario.scenario import Scenario
from tcpdynamics.validation.packet.scenario.toml import ready_scenarios, table_of

from ..overrides import override

#: Bytes of a scenario that a page sends, characters of a value, and changes of one scenario.
MAX_TEXT, MAX_VALUE, MAX_CHANGES = 100_000, 200, 100
#: Groups of one kind (flows, links, drops) that a form shows.
MAX_GROUPS = 12
#: Ends of a topology in a scenario that a link describes: the server itself reads those.
MAX_ENDS = 200

_PARTS = {"": Scenario, "bottleneck": Bottleneck, "flows": Flows, "links": Link, "drops": Drop}
#: Keys of the run that are tables of their own, or nobody's business on a page.
_ELSEWHERE = {"flows", "bottleneck", "links", "drops", "nodes", "record", "scheduler"}
#: Keys that a fresh form leaves to "more": those that stand in the file come first anyway.
_RUN = "run"


@cache
def keys() -> dict[str, list[dict[str, Any]]]:
    """Part -> its keys in order, each with `key`, `unit`, `meaning` and `choices`.

    Examples
    --------
    >>> [k for k in keys()["bottleneck"] if k["key"] == "rate"]
    [{'key': 'rate', 'unit': 'bit/s', 'meaning': 'Line rate, > 0.', 'choices': []}]
    """
    known = {}
    for name, part in _PARTS.items():
        about = _attributes(part)
        known[name or _RUN] = [
            _key(f.name, f.metadata.get("unit", ""), about)
            for f in dataclasses.fields(part)
            if name or f.name not in _ELSEWHERE
        ]
    for kind, make in topologies.KINDS.items():
        about = _attributes(make)
        known[f"topology {kind}"] = [
            _key(key, topologies.UNITS.get(key, ""), about) for key in inspect.signature(make).parameters
        ]
    return known


def _key(name: str, unit: str, about: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    kind, meaning = about.get(name, ("", ""))
    choices = re.findall(r'"([^"]+)"', kind) if kind.startswith("{") else []
    if kind.split(",")[0] == "bool":
        choices = ["true", "false"]
    if unit:
        meaning = meaning.replace(f" [{unit}]", "")
    return {"key": name, "unit": "" if unit == "1" else unit, "meaning": meaning, "choices": choices}


def _attributes(part: Any) -> dict[str, tuple[str, str]]:
    """Name -> its type and its meaning's first sentence, from a docstring in NumPy's style."""
    about: dict[str, tuple[str, str]] = {}
    text = inspect.getdoc(part) or ""
    section = re.search(r"^(?:Attributes|Parameters)\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", text, re.S | re.M)
    for entry in re.finditer(r"^(\w[\w, ]*?) : (.*)\n((?:    .*\n?)*)", section[1] if section else "", re.M):
        words = re.sub(r"[`*]", "", " ".join(entry[3].split()))
        first = re.match(r".*?\.(?= [A-Z]|$)", words)
        for name in entry[1].split(", "):
            about[name] = (entry[2], first[0] if first else words)
    return about


def groups_of(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What of a scenario a form shows: `place` (before its keys), `part` (of `keys`), `title` and `values` as text."""
    return list(_groups(table))


def _groups(table: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield _group("", _RUN, "Run", table)
    if "topology" in table:
        topology = table["topology"]
        kind = topology.get("kind") if isinstance(topology, Mapping) else None
        if kind in topologies.KINDS:
            yield _group("topology.", f"topology {kind}", f"Network: {kind.replace('_', ' ')}", topology)
    elif "links" not in table:
        yield _group("bottleneck.", "bottleneck", "Bottleneck", table.get("bottleneck", {}))
    for part, title in (("links", "Link"), ("flows", "Flows"), ("drops", "Chosen loss")):
        several = table.get(part)
        entries = several if isinstance(several, list) else []
        for i, entry in enumerate(entries[:MAX_GROUPS]):
            if isinstance(entry, Mapping):
                number = f" {i}" if len(entries) > 1 else ""
                if part == "links":
                    number = f" {entry.get('source', '')!s:.20} to {entry.get('target', '')!s:.20}"
                yield _group(f"{part}.{i}.", part, title + number, entry)


def _group(place: str, part: str, title: str, entry: Any) -> dict[str, Any]:
    values = entry if isinstance(entry, Mapping) else {}
    known = {row["key"] for row in keys()[part]}
    shown_values = {k: _text(v) for k, v in values.items() if k in known}
    return {"place": place, "part": part, "title": title, "values": shown_values}


def _text(value: Any) -> str:
    """A value as `--set` takes it."""
    if isinstance(value, str):
        return value[:MAX_VALUE]
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{key} = {json.dumps(entry, default=str)}" for key, entry in value.items())
        return f"{{ {pairs} }}"[:MAX_VALUE]
    return json.dumps(value, default=str)[:MAX_VALUE]


def ready(name: str) -> dict[str, Any]:
    """The table of a ready scenario.

    Raises
    ------
    InputError
        There is none of that name.
    """
    known = ready_scenarios()
    if name not in known:
        raise InputError(f"there is no scenario {shown(name, 60)}; there are {', '.join(known)}")
    return table_of(known[name].read_text(encoding="utf-8"), name)


def changed(table: dict[str, Any], changes: Mapping[str, str]) -> dict[str, Any]:
    """The table with the values of a form, by their keys.

    Raises
    ------
    InputError
        A key that the form does not have, or a value that cannot be read.

    Examples
    --------
    >>> changed(ready("wide"), {"flows.0.count": "2"})["flows"][0]["count"]
    2
    """
    known = {g["place"] + row["key"] for g in _groups(table) for row in keys()[g["part"]]}
    for key, text in changes.items():
        if key not in known:
            raise InputError(f"this scenario's form has no {shown(key, 60)}; `simulate --set` may know it")
        try:
            override(table, f"{key}={text}")
        except InputError as error:
            raise InputError(str(error).replace("--set", key, 1)) from None
    return table


def check_ends(table: Mapping[str, Any]) -> None:
    """Refuse a network that takes long to lay out.

    Raises
    ------
    ScenarioError
        With the key and the bound.
    """
    topology = table.get("topology")
    for key in ("flows", "nodes"):
        value = topology.get(key) if isinstance(topology, Mapping) else None
        if isinstance(value, int) and value > MAX_ENDS:
            raise ScenarioError(f"topology.{key} must be at most {MAX_ENDS} on this page, got {shown(value)}")
