"""Units as people write them, at the edge only: inside, everything is seconds, bits per second and bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from tcpdynamics.limits import MAX_SHOWN, shown


class ScenarioError(ValueError):
    """A scenario that cannot be run; the message names the key, the value, the bound and the next step."""


_TIME = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_RATE = {
    "bit/s": 1.0,
    "bps": 1.0,
    "kbit/s": 1e3,
    "kbps": 1e3,
    "Mbit/s": 1e6,
    "Mbps": 1e6,
    "Gbit/s": 1e9,
    "Gbps": 1e9,
}
_SIZE = {"B": 1.0, "byte": 1.0, "bytes": 1.0, "kB": 1e3}
_SHARE = {"%": 1e-2}
TABLES = {"s": _TIME, "bit/s": _RATE, "B": _SIZE, "1": _SHARE}
#: Characters of a quantity ("200ms"), and of a name.
_LONGEST = 64
MAX_NAME = 100

_PATTERN = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?inf|nan)\s*(\S*)\s*")


def quantity(text: str | float, unit: str, key: str) -> float:
    """A number in the unit `unit`, from text such as "200ms" or from a plain number.

    Parameters
    ----------
    text : str or float
        A plain number is already in `unit`.
    unit : {"s", "bit/s", "B", "1"}
        The unit of the result.
    key : str
        What the value is for, for the message.

    Raises
    ------
    ScenarioError
        If the text is no number, or its unit is not one of those known for this kind of quantity.

    Examples
    --------
    >>> quantity("200ms", "s", "rtt"), quantity("1.5 Mbit/s", "bit/s", "rate"), quantity(0.2, "s", "rtt")
    (0.2, 1500000.0, 0.2)
    """
    table = TABLES[unit]
    if isinstance(text, int | float) and not isinstance(text, bool):
        return text
    match = _PATTERN.fullmatch(text) if isinstance(text, str) and len(text) <= _LONGEST else None
    if not match or (match[2] and match[2] not in table):
        example = {"s": "200ms", "bit/s": "1Mbit/s", "B": "500B", "1": "5%"}[unit]
        raise ScenarioError(
            f"{key} must be a number with one of the units {', '.join(table)}, got {shown(text)}; "
            f"write for example {example!r}, or a plain number in {unit}"
        )
    value = float(match[1])
    if not match[2]:
        return value
    scale = table[match[2]]
    # Dividing by a whole number is exact where multiplying by 0.001 is not: "190ms" is 0.19.
    return value / round(1 / scale) if scale < 1 else value * scale


def check(key: str, value: object, low: float, high: float, advice: str, *, whole: bool = False) -> None:
    """Refuse what is no number in [low, high] or, with `whole`, no whole number."""
    kind = "a whole number" if whole else "a number"
    good = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    if good and low <= value <= high:  # type: ignore[operator]
        return
    raise ScenarioError(f"{key} must be {kind} in [{low:g}, {high:g}], got {shown(value)}; {advice}")


def numbered(error: ScenarioError, key: str, index: int, count: int) -> ScenarioError:
    """An error about one of `count` entries of a list, with its index: flows.rtt becomes flows[2].rtt.

    Examples
    --------
    >>> print(numbered(ScenarioError("flows.rtt must be positive"), "flows", 2, 3))
    flows[2].rtt must be positive
    """
    if count < 2:
        return error
    text, places = re.subn(rf"\b{key}\.(?=[a-z])", f"{key}[{index}].", str(error))
    return ScenarioError(text if places else f"{key}[{index}]: {text}")


def listed(names: Iterable[str]) -> str:
    """The first names of a list, for a message.

    Examples
    --------
    >>> listed("abcdefghijk")
    'a, b, c, d, e, f, g, h, ...'
    """
    few = list(islice(names, 9))
    text = ", ".join(few[:8]) + (", ..." if len(few) > 8 else "")
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def check_name(key: str, value: object, longest: int = MAX_NAME) -> None:
    """Refuse what is no plain name, of nodes, links, rules and scenarios.

    A name is a text of 1 to `longest` characters that Unicode calls printable, with no blank at its ends: letters of
    any script, digits, signs and spaces, but no control character (line breaks, tabs, escapes, NUL), no format
    character (direction marks, zero-width joiners, byte-order marks), no half of a surrogate pair and no code point
    that is private or not assigned.

    Examples
    --------
    >>> check_name("nodes", "Köln 1")
    >>> try:
    ...     check_name("nodes", " a", longest=9)
    ... except ScenarioError as error:
    ...     print(error)
    nodes must be a name of 1 to 9 printable characters without blanks at its ends, got ' a'; use letters and digits
    """
    good = isinstance(value, str) and 1 <= len(value) <= longest and value.isprintable()
    if not good or value != value.strip():  # type: ignore[attr-defined]
        raise ScenarioError(
            f"{key} must be a name of 1 to {longest} printable characters without blanks at its ends, got "
            f"{shown(value)}; use letters and digits"
        )
