"""A scenario as a form: the keys that `simulate --set` knows, each with its value, unit and meaning.

Units, meanings and words to choose from are those of the records' keys; of topologies, of their functions.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from tcpdynamics.errors import InputError, ScenarioError, shown
from tcpdynamics.validation.packet.scenario import topologies
from tcpdynamics.validation.packet.scenario.drops_and_records import Drop
from tcpdynamics.validation.packet.scenario.fields import keys as keys_of
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
    forms = {
        name or _RUN: [_key(n, about) for n, about in keys_of(part) if name or n not in _ELSEWHERE]
        for name, part in _PARTS.items()
    }
    for kind, make in topologies.KINDS.items():
        meanings = _meanings(make)
        forms[f"topology {kind}"] = [
            _key(key, {"unit": topologies.UNITS.get(key, ""), "meaning": meanings[key]})
            for key in inspect.signature(make).parameters
        ]
    return forms


def _key(name: str, about: Mapping[str, Any]) -> dict[str, Any]:
    """Row of a form: the first sentence of the key's meaning, without the unit, which has its own column."""
    choices = ["true", "false"] if about.get("truth") else list(about.get("choices", ()))
    unit = about["unit"].removeprefix("1")
    words = re.sub(r"[`*]", "", about["meaning"])
    first = re.match(r".*?\.(?= [A-Z]|$)", words)
    meaning = (first[0] if first else words).replace(f" [{about['unit']}]", "")
    return {"key": name, "unit": unit, "meaning": meaning, "choices": choices}


def _meanings(make: Any) -> dict[str, str]:
    """Argument -> its meaning, from a function's docstring in NumPy's style."""
    text = inspect.getdoc(make) or ""
    entries = re.finditer(r"^(\w+) : .*\n((?:    .*\n?)*)", text, re.M)
    return {entry[1]: " ".join(entry[2].split()) for entry in entries}


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
