"""Units as people write them, at the edge only: inside, everything is seconds, bits per second and bytes."""

from __future__ import annotations

import math
import re


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
    if not isinstance(text, str):
        return text
    table = TABLES[unit]
    match = _PATTERN.fullmatch(text)
    if not match or (match[2] and match[2] not in table):
        example = {"s": "200ms", "bit/s": "1Mbit/s", "B": "500B", "1": "5%"}[unit]
        raise ScenarioError(
            f"{key} must be a number with one of the units {', '.join(table)}, got {text!r}; "
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
    if good and not math.isnan(value) and low <= value <= high:  # type: ignore[arg-type,operator]
        return
    raise ScenarioError(f"{key} must be {kind} in [{low:g}, {high:g}], got {value!r}; {advice}")
