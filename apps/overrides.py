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
    path, (_, equals, text) = key_of(setting), setting.partition("=")
    names = path.split(".")
    if not equals or not all(names):
        raise InputError(f"--set takes key=value, such as {example}, got {shown(setting)}")
    if len(names) > _DEEPEST:
        raise InputError(f"--set goes at most {_DEEPEST} names deep, got {shown(path)}")
    from tcpdynamics.validation.packet.scenario.changes import put

    try:
        put(table, names, _value(text.strip()))
    except InputError as error:
        raise InputError(f"--set {error}" if not str(error).startswith("--set") else str(error)) from None


def key_of(setting: str) -> str:
    """The key that a setting changes, with dots.

    >>> key_of("flows[1].rtt=50ms")
    'flows.1.rtt'
    """
    return re.sub(r"\[(\d+)\]", r".\1", setting.partition("=")[0]).strip()


def grid_of(setting: str, most: int) -> tuple[str, list[Any]] | None:
    """The key and the values of a setting that stands for several, as `key=start:stop:count` or `key=a,b,c`.

    None where it stands for one value: also a text in quotes, a list in brackets.

    Raises
    ------
    InputError
        A range that is none, or of more than `most` values.

    Examples
    --------
    >>> grid_of("bottleneck.buffer=10:30:3", 100)
    ('bottleneck.buffer', [10.0, 20.0, 30.0])
    >>> grid_of("flows[0].rtt=50ms:100ms:2", 100), grid_of("bottleneck.queue=red,droptail", 100)
    (('flows.0.rtt', [0.05, 0.1]), ('bottleneck.queue', ['red', 'droptail']))
    """
    from tcpdynamics.quantities import quantity, read_numbers
    from tcpdynamics.validation.packet.scenario.changes import unit_of

    key, (_, equals, text) = key_of(setting), setting.partition("=")
    text = text.strip()
    if not equals or not text or text[0] in "\"'[{":
        return None
    pieces = [piece.strip() for piece in text.split(":")]
    if len(pieces) == 3 and _NUMBER.match(pieces[0]):
        unit = unit_of(key)
        ends = [str(quantity(p, unit, key)) if unit in ("s", "bit/s", "B") else p for p in pieces[:2]]
        return key, read_numbers(key, ":".join([*ends, pieces[2]]), most=most)
    values = text.split(",")
    if len(values) == 1:
        return None
    if len(values) > most:
        raise InputError(f"{key}: {len(values):,} values, at most {most:,} are allowed; give fewer")
    if not all(value.strip() for value in values):
        raise InputError(f"--set {key} has an empty value in {shown(text)}; write such as {key}=1,2")
    return key, [_value(value.strip()) for value in values]


#: How a number begins.
_NUMBER = re.compile(r"[-+.]?\d")


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
