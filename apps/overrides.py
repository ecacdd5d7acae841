"""`--set flows.0.sender=newreno`: one value in a nested table, by its dotted path."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from tcpdynamics.errors import InputError, shown

#: Names in a path; those of scenarios have three.
_DEEPEST = 16


def override(table: dict[str, Any], setting: str, example: str = "flows.0.sender=newreno") -> None:
    """Change one value of `table` in place.

    Parameters
    ----------
    table : nested dict and list, as from TOML
    setting : str
        `path=value`. Names and list indices (from 0) in the path are joined by dots; tables that are missing on
        the way are made, list entries are not. The value is TOML (`20`, `true`, `"text"`, `[1, 2]`) or, where it
        is no TOML, a text as it stands (`100s`).
    example : str
        A setting that would do, for the message.

    Raises
    ------
    InputError
        Without `=`, for an index that does not exist, a path that goes on below a value, or a path or value that is
        nested deeper than those of scenarios are.

    Examples
    --------
    >>> table = {"flows": [{"count": 1}]}
    >>> override(table, "flows.0.count=3")
    >>> override(table, "bottleneck.rate=2Mbit/s")
    >>> table
    {'flows': [{'count': 3}], 'bottleneck': {'rate': '2Mbit/s'}}
    """
    path, equals, text = setting.partition("=")
    path = re.sub(r"\[(\d+)\]", r".\1", path)  # flows[1].rtt, as messages have it
    names = path.strip().split(".")
    if not equals or not all(names):
        raise InputError(f"--set takes key=value, such as {example}, got {shown(setting)}")
    if len(names) > _DEEPEST:
        raise InputError(f"--set goes at most {_DEEPEST} names deep, got {shown(path)}")
    at: Any = table
    for depth, name in enumerate(names[:-1]):
        key = _key(at, name, names[:depth])
        at = at.setdefault(key, {}) if isinstance(at, dict) else at[key]
    at[_key(at, names[-1], names[:-1])] = _value(text.strip())


def _cut(name: str) -> str:
    return name if len(name) <= 60 and name.isprintable() else shown(name, 60)


def _key(at: Any, name: str, before: list[str]) -> str | int:
    """The key or index that `name` means in `at`, which stands under `before`."""
    where = _cut(".".join(before))
    if isinstance(at, dict):
        return name
    if not isinstance(at, list):
        raise InputError(
            f"--set {where}.{_cut(name)}: {where} is {shown(at)}, which has nothing below it; stop there"
        )
    if not (name.isascii() and name.isdigit()):
        index = next((i for i, entry in enumerate(at) if _name_of(entry) == name), None)
        place = f"0.{_cut(name)}" if index is None else str(index)
        raise InputError(
            f"--set {where}.{_cut(name)}: {where} is a list; give an index from 0, such as {where}.{place}"
        )
    if len(name) > 9 or int(name) >= len(at):
        held = f"the indices 0 to {len(at) - 1}" if at else "no entries"
        raise InputError(f"--set {where}.{_cut(name)}: {where} has {held}; add more in the file")
    return int(name)


def _name_of(entry: Any) -> str:
    """The name of a link in a file."""
    return f"{entry.get('source')}->{entry.get('target')}" if isinstance(entry, dict) else ""


def _value(text: str) -> Any:
    from tcpdynamics.errors import ScenarioError
    from tcpdynamics.validation.packet.scenario.toml import read_toml

    try:
        read = read_toml(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    except ScenarioError:
        raise InputError(f"--set takes a number, a text or a short list, got {shown(text)}") from None
    # A line break in the text could have made further keys.
    return read["value"] if list(read) == ["value"] else text
