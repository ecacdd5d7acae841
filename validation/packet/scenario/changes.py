"""One value of a scenario changed, by its dotted key: in nested tables as files have them, and in a `Scenario`."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, chain
from typing import Any

from tcpdynamics.errors import InputError, ScenarioError, shown

from ..kernel.paced import PACED
from ..kernel.parameters import parameters_of
from ..kernel.queues import DISCIPLINES
from ..kernel.routers import ROUTERS
from ..kernel.windows import RULES
from . import topologies
from .drops_and_records import Drop, Record
from .fields import keys, unknown_key
from .flows import Flows
from .link import Bottleneck, Link
from .scenario import Scenario

PARTS: dict[str, type] = {"bottleneck": Bottleneck, "flows": Flows, "links": Link, "drops": Drop, "record": Record}

#: Key that switches a mechanism -> the word that switches it off, the mechanism's own key, and what is left of that.
_OFF: dict[str, tuple[str, str, Any]] = {
    "priority": ("none", "priority_buffer", None), "router": ("none", "router_parameters", {}),
    "queue": ("droptail", "queue_parameters", {}), "control": ("reno", "parameters", ()),
}  # fmt: skip


def hangs_on(key: str, swept: Iterable[str]) -> bool:
    """Whether a dotted key belongs to a mechanism that one of the swept keys chooses.

    Examples
    --------
    >>> hangs_on("bottleneck.queue_parameters.linux", ["bottleneck.queue"]), hangs_on("bottleneck.rate", ["seed"])
    (True, False)
    """
    names, chosen = key.split("."), set(swept)
    owners = [(switch, key_of_owner) for switch, (_, key_of_owner, _) in _OFF.items()] + [("sender", "parameters")]
    return any(
        name == key_of_owner and ".".join([*names[:i], switch]) in chosen
        for i, name in enumerate(names)
        for switch, key_of_owner in owners
    )


def _goes_along(name: str, value: Any, sender: object) -> dict[str, Any]:
    """The mechanism's own key, and what is left of it, where this value of a key switches it off."""
    off, dependent, nothing = _OFF.get(name, (None, "", None))
    # Of some senders the parameters are their own, whatever the control.
    if off is None or value != off or (name == "control" and isinstance(sender, str) and sender in PACED):
        return {}
    return {dependent: nothing}


def put(table: dict[str, Any], names: list[str], value: Any) -> None:
    """Change one value of a nested table in place; tables that are missing on the way are made.

    What switches a mechanism off takes the mechanism's own key along, as in `changed`.

    Raises
    ------
    InputError
        For an index of a list that does not exist, or a path that goes on below a value.

    Examples
    --------
    >>> table = {"flows": [{"count": 1}]}
    >>> put(table, ["flows", "0", "count"], 3)
    >>> table
    {'flows': [{'count': 3}]}
    """
    at: Any = table
    for depth, name in enumerate(names[:-1]):
        key = _key(at, name, names[:depth])
        at = at.setdefault(key, {}) if isinstance(at, dict) else at[key]
    at[_key(at, names[-1], names[:-1])] = value
    if isinstance(at, dict) and len(names) > 1:
        for dependent in _goes_along(names[-1], value, at.get("sender")):
            at.pop(dependent, None)


def _key(at: Any, name: str, before: list[str]) -> str | int:
    """The key or index that `name` means in `at`, which stands under `before`."""
    where = _cut(".".join(before))
    if isinstance(at, dict):
        return name
    if not isinstance(at, list | tuple):
        raise InputError(f"{where}.{_cut(name)}: {where} is {shown(at)}, which has nothing below it; stop there")
    if not (name.isascii() and name.isdigit()):
        index = next((i for i, entry in enumerate(at) if _name_of(entry) == name), None)
        place = f"0.{_cut(name)}" if index is None else str(index)
        raise InputError(f"{where}.{_cut(name)}: {where} is a list; give an index from 0, such as {where}.{place}")
    if name[0] == "0" and len(name) > 1:
        raise InputError(
            f"{where}.{_cut(name)} is another name of {where}.{_cut(name.lstrip('0') or '0')}; write an index without "
            "zeros before it"
        )
    if len(name) > 9 or int(name) >= len(at):
        entries = f"the indices 0 to {len(at) - 1}" if at else "no entries"
        raise InputError(f"{where}.{_cut(name)}: {where} has {entries}; add more in the file")
    return int(name)


def _cut(name: str) -> str:
    return name if len(name) <= 60 and name.isprintable() else shown(name, 60)


def _name_of(entry: Any) -> str:
    """The name of a link in a file."""
    return f"{entry.get('source')}->{entry.get('target')}" if isinstance(entry, dict) else getattr(entry, "name", "")


def changed(scenario: Scenario, values: Mapping[str, Any]) -> Scenario:
    """The scenario with other values of some keys, all at once.

    Parameters
    ----------
    scenario : Scenario
    values : mapping of a dotted key to a value
        Such as `{"bottleneck.buffer": 20, "flows.0.sender": "reno"}`; indices count from 0. What switches a mechanism
        off takes the mechanism's own key along: `priority` "none" the `priority_buffer`, `router` "none" the
        `router_parameters`, `queue` "droptail" the `queue_parameters`, `control` "reno" the `parameters`.

    Raises
    ------
    ScenarioError
        For a key that is not known, with the nearest that is, or a value that the scenario refuses.

    Examples
    --------
    >>> changed(Scenario(), {"bottleneck.buffer": 20, "flows.0.rtt": "50ms"}).flows[0].rtt
    0.05
    """
    check_keys(values)
    tree: dict[str, Any] = {}
    for key, value in values.items():
        at = tree
        *before, last = key.split(".")
        for name in before:
            at = at.setdefault(name, {})
        at[last] = _Leaf(value)
    scenario_after: Scenario = _apply(scenario, tree, [])
    return scenario_after


def check_keys(keys: Iterable[str]) -> None:
    """Refuse a key that stands below another: both would set the same value.

    Examples
    --------
    >>> try:
    ...     check_keys(["bottleneck", "bottleneck.rate"])
    ... except ScenarioError as error:
    ...     print(error)
    bottleneck.rate is a part of bottleneck, which is set as a whole; leave one of them out
    """
    names = {str(key) for key in keys}
    for key in sorted(names):
        for above in accumulate(key.split(".")[:-1], "{}.{}".format):
            if above in names:
                raise ScenarioError(
                    f"{_cut(key)} is a part of {_cut(above)}, which is set as a whole; leave one of them out"
                )


def place_of(name: str) -> str:
    """The dotted key of this name in the first part of a scenario that has it, "" where none has.

    Examples
    --------
    >>> place_of("queue"), place_of("rtt"), place_of("nonsense")
    ('bottleneck.queue', 'flows.0.rtt', '')
    """
    part = next((part for part, record in PARTS.items() if name in dict(keys(record))), "")
    return f"{part}.{name}" if part in ("bottleneck", "record") else f"{part}.0.{name}" if part else ""


@dataclasses.dataclass(frozen=True)
class _Leaf:
    value: Any


def _apply(part: Any, tree: Any, before: list[str]) -> Any:
    if isinstance(tree, _Leaf):
        return tree.value
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        field_names = [f.name for f in dataclasses.fields(part)]
        for name in tree:
            if name not in field_names:
                key = ".".join([*before, name])
                if name == "trace" and "changes" in field_names:
                    raise ScenarioError(
                        f"{_cut(key)} is read for a scenario's file on disk only; give its rows as changes"
                    )
                raise unknown_key(_cut(key), name, type(part), place_of(name))
        new = {name: _apply(getattr(part, name), sub, [*before, name]) for name, sub in tree.items()}
        for name in tree:
            sender = new.get("sender", getattr(part, "sender", None))
            new = {**_goes_along(name, new[name], sender), **new}
        return dataclasses.replace(part, **new)
    if part is None or part == ():
        part = {}
    if isinstance(part, Mapping):
        return {**part, **{name: _apply(part.get(name), sub, [*before, name]) for name, sub in tree.items()}}
    entries: Any = list(part) if isinstance(part, tuple) else part
    for name, sub in tree.items():
        try:
            index = _key(entries, name, before)
        except InputError as error:
            raise ScenarioError(str(error)) from None
        entries[index] = _apply(entries[index], sub, [*before, name])
    return tuple(entries)


#: Table of parameters -> files that describe them.
_MECHANISMS = {"queue_parameters": DISCIPLINES, "parameters": RULES, "router_parameters": ROUTERS}


def unit_of(key: str) -> str:
    """The unit of a key's values; "1" for a pure number, and where none is known.

    Examples
    --------
    >>> unit_of("flows.0.rtt"), unit_of("bottleneck.buffer"), unit_of("bottleneck.queue_parameters.target")
    ('s', 'packets', 's')
    """
    *before, last = key.split(".")
    for table, files in _MECHANISMS.items():
        if table not in before:
            continue
        units = (p.unit for file in files.values() for p in parameters_of(file) if p.name == last)
        return next(units, "") or "1"
    if before[:1] == ["topology"]:
        return (topologies.UNITS | topologies.COUNTS).get(last, "1")
    return _about(key).get("counts") or "1"


def words_of(key: str) -> tuple[str, ...]:
    """Allowed or suggested words of a key, for completion and for sweeps over words.

    Examples
    --------
    >>> words_of("links.0.service"), words_of("duration")
    (('auto', 'analytic', 'served'), ())
    """
    return tuple(topologies.KINDS) if key == "topology.kind" else tuple(_about(key).get("words", ()))


def _about(key: str) -> dict[str, Any]:
    """Metadata of a dotted key; {} if it is not a key of a scenario's records."""
    *before, last = key.split(".")
    part = PARTS.get(before[0]) if before else Scenario
    return {} if part is None else dict(keys(part)).get(last, {})


def keys_of(table: Mapping[str, Any]) -> Iterator[str]:
    """Keys that a scenario, as the nested table of a file, knows: for completion and suggestions."""
    names = (f.name for f in dataclasses.fields(Scenario) if f.name not in (*PARTS, "nodes"))
    yield from names
    for name, part in PARTS.items():
        fields = [f.name for f in dataclasses.fields(part)]
        if name in ("bottleneck", "record"):
            if name == "record" or not ({"links", "topology"} & table.keys()):
                yield from (f"{name}.{field}" for field in fields)
                yield from _of_mechanisms(f"{name}.queue_parameters", "queue" if name == "bottleneck" else "")
            continue
        entries = table.get(name, ())
        for i in range(len(entries) if isinstance(entries, list | tuple) else 0):
            yield from (f"{name}.{i}.{field}" for field in fields)
            yield from _of_mechanisms(f"{name}.{i}.queue_parameters", "queue" if name == "links" else "")
            yield from _of_mechanisms(f"{name}.{i}.router_parameters", "router" if name == "links" else "")
            yield from _of_mechanisms(f"{name}.{i}.parameters", "control" if name == "flows" else "")
    topology = table.get("topology")
    if isinstance(topology, Mapping) and topology.get("kind") in topologies.KINDS:
        make = topologies.KINDS[str(topology["kind"])]
        yield from (f"topology.{name}" for name in inspect.signature(make).parameters)


def _of_mechanisms(prefix: str, kind: str) -> Iterator[str]:
    files = {"queue": DISCIPLINES, "control": RULES, "router": ROUTERS}.get(kind, {})
    names = dict.fromkeys(p.name for p in chain.from_iterable(map(parameters_of, files.values())))
    return (f"{prefix}.{name}" for name in names)
