"""Quantities as people write them: "200ms", "12Mbit/s", "5%", "0.1:3:300". Inside, everything is SI units."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from tcpdynamics.errors import RangeError, ScenarioError, bare, shown

_TIME = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_RATE = {
    "bit/s": 1.0,
    "bps": 1.0,
    "kbit/s": 1e3,
    "kbps": 1e3,
    "Mbit/s": 1e6,
    "Mbps": 1e6,
    "Gbit/s": 1e9,
    "Tbit/s": 1e12,
    "Gbps": 1e9,
}
_SIZE = {"B": 1.0, "byte": 1.0, "bytes": 1.0, "kB": 1e3}
_SHARE = {"%": 1e-2}
TABLES = {"s": _TIME, "bit/s": _RATE, "B": _SIZE, "1": _SHARE}
#: Characters of a quantity ("200ms"), and of a name.
_LONGEST = 64

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
    if 1e-290 < abs(value) < 1e290:  # rounded once: "190ms" is 0.19, and "99.9%" is 0.999
        exact = Fraction(match[1])
        return float(exact / round(1 / scale) if scale < 1 else exact * round(scale))
    return value / round(1 / scale) if scale < 1 else value * scale


#: Longest delay [s] and lowest rate [bit/s] of a network that pass without a word.
DELAY, RATE = 10.0, 1e3


def long_time(key: str, seconds: float, most: float = DELAY) -> Iterator[str]:
    """A sentence about a time that was probably meant in milliseconds.

    Examples
    --------
    >>> list(long_time("rtt", 200)), list(long_time("rtt", 0.2))
    (['rtt = 200 is 200 s; did you mean 200 ms = 0.2?'], [])
    """
    if seconds > most:
        yield f"{key} = {seconds:g} is {seconds:g} s; did you mean {seconds:g} ms = {seconds / 1e3:g}?"


def slow_rate(key: str, rate: float) -> Iterator[str]:
    """A sentence about a rate that was probably meant in Mbit/s."""
    if rate < RATE:
        yield f"{key} = {rate:g} is {rate:g} bit/s; did you mean {rate:g} Mbit/s = {rate * 1e6:g}?"


def numbered(error: ScenarioError, key: str, index: int, count: int) -> ScenarioError:
    """An error about one of `count` entries of a list, with its index as --set takes it: flows.rtt becomes flows.2.rtt.

    Examples
    --------
    >>> print(numbered(ScenarioError("flows.rtt must be positive"), "flows", 2, 3))
    flows.2.rtt must be positive
    """
    if count < 2:
        return error
    text, places = re.subn(rf"\b{key}\.(?=[a-z])", f"{key}.{index}.", str(error))
    return ScenarioError(text if places else f"{key}.{index}: {text}")


#: The largest grid that one command solves: about a minute and a few GB.
MAX_POINTS = 10_000_000
LARGEST = 10**18


def count_values(text: str) -> int:
    """How many numbers a text asks for, before any is made; 1 where that is unknown."""
    parts = text.split(":")
    if len(parts) == 1:
        return text.count(",") + 1
    word = parts[-1].strip()
    return max(1, int(word)) if len(word) <= 20 and word.isascii() and word.isdecimal() else 1


def parse_floats(text: str, most: int = MAX_POINTS) -> list[float]:
    """As `parse_range`, rounded to floats; a million in a third of a second.

    >>> parse_floats("0.1:0.3:3")
    [0.1, 0.2, 0.3]
    """
    ends, count = _read(text, most)
    if count is None:
        return [float(x) for x in ends]
    start, stop = ends
    # A quotient of whole numbers is rounded once, as that of a Fraction.
    bottom = start.denominator * stop.denominator * max(count - 1, 1)
    first = start.numerator * stop.denominator * max(count - 1, 1)
    step = stop.numerator * start.denominator - start.numerator * stop.denominator
    return [(first + step * i) / bottom for i in range(count)]


def parse_range(text: str, most: int = MAX_POINTS) -> list[Fraction]:
    """Read `start:stop:count` (both ends included) or a comma list, exactly: 0.1 is one tenth.

    Raises
    ------
    RangeError
        Not numbers, an empty list, a count that is not a whole number in [1, most].

    Examples
    --------
    >>> [float(x) for x in parse_range("0.1:0.3:3")]
    [0.1, 0.2, 0.3]
    >>> parse_range("1/3, 0.5")
    [Fraction(1, 3), Fraction(1, 2)]
    """
    ends, count = _read(text, most)
    if count is None:
        return ends
    start, stop = ends
    return [start + (stop - start) * Fraction(i, max(count - 1, 1)) for i in range(count)]


def _read(text: str, most: int) -> tuple[list[Fraction], int | None]:
    """The numbers of a list and None, or both ends of a range and how many numbers it has."""
    parts = text.split(":")
    if len(parts) == 1:
        if text.count(",") >= max(2 * most, 1000):
            raise RangeError(f"more than {most:,} points asked for; use fewer points")
        values = [_number(item) for item in text.split(",") if item.strip()]
        if not values:
            raise RangeError("the list is empty; give numbers such as 0.1,0.2 or a range such as 0.05:0.45:9")
        if len(values) > most:
            raise RangeError(f"{len(values):,} points asked for, at most {most:,} are allowed")
        return values, None
    if len(parts) != 3:
        raise RangeError(f"{shown(text)} is not start:stop:count, such as 0.05:0.45:9")
    if parts[2].strip().endswith("%"):
        raise RangeError(
            f"the count in {shown(text)} is a number of points, not a share; write it without %, such as 9"
        )
    start, stop, count = (_number(part) for part in parts)
    if count.denominator != 1 or count < 1:
        raise RangeError(f"the count in {shown(text)} must be a whole number >= 1, got {parts[2].strip()}")
    if count > most:
        raise RangeError(f"{int(count):,} points asked for, at most {most:,} are allowed here; use fewer points")
    if count == 1:
        if start != stop:
            raise RangeError(
                f"one point cannot span {parts[0].strip()} to {parts[1].strip()}; give a count of at least 2"
            )
    return [start, stop], int(count)


def _number(text: str) -> Fraction:
    word = text.strip()
    if len(word) > 60:
        raise RangeError(f"{word[:20]!r}... is too long for a number")
    if not word.isascii() or "_" in word:
        raise RangeError(f"{word!r} is not a number; write it with the digits 0 to 9")
    exponent = word.lower().partition("e")[2].lstrip("+-")
    if exponent.isdecimal() and int(exponent) > 400:
        raise RangeError(f"{word} is out of the range of floating-point numbers")
    try:
        value = Fraction(word)
        if abs(value) > LARGEST:
            raise RangeError(f"{word} is out of range; numbers up to {LARGEST:.0e} are understood")
        return value
    except RangeError:
        raise
    except (ValueError, ZeroDivisionError):
        raise RangeError(f"{word!r} is not a number; write numbers such as 0.1, 1e-3 or 1/8") from None


_PLAIN = re.compile(r"[-+]?[\d.]+([eE][-+]?\d+)?(/\d+)?")


def read_numbers(
    label: str,
    text: str,
    unit: str = "1",
    most: int = MAX_POINTS,
    packet_size: str | None = None,
    parse: Callable[[str, int], list[Any]] = parse_floats,
) -> list[Any]:
    """Numbers from `start:stop:count`, a comma list or one number, with units as people write them.

    Parameters
    ----------
    label : str
        What the numbers are for, for messages; names of parameters stand between backticks in them.
    text : str
    unit : str
        The unit of the result.
    most : int
        How many numbers are allowed.
    packet_size : str, optional
        Divides bit rates where `unit` is "packet/s"; "" where these rates are packets per round trip.
    parse : callable
        `parse_floats`, or `parse_range` for exact fractions.

    Raises
    ------
    RangeError

    Examples
    --------
    >>> read_numbers("base_rtt", "100ms:300ms:3", "s")
    [0.1, 0.2, 0.3]
    >>> read_numbers("capacity", "12Mbit/s", "packet/s", packet_size="1500B")
    [1000.0]
    >>> read_numbers("loss", "10%, 1/3", parse=parse_range)
    [Fraction(1, 10), Fraction(1, 3)]
    """
    pieces = text.split(":")
    separator, counts = (":", 1) if len(pieces) == 3 else (",", 0)
    pieces = pieces if counts else text.split(",")
    values = [_in_unit(label, piece, unit, packet_size) for piece in pieces[: len(pieces) - counts]]
    try:
        return parse(separator.join(values + pieces[len(pieces) - counts :]), most)
    except (RangeError, OverflowError) as error:
        raise RangeError(f"{label}: {error}") from None


def check_points(sizes: Mapping[str, int], most: int = MAX_POINTS) -> None:
    """Refuse a grid that is too large, before anything is computed."""
    points = math.prod(sizes.values())
    if points > most:
        sides = " x ".join(f"`{name}` {n:,}" for name, n in sizes.items())
        raise RangeError(
            f"the grid has {points:,} points ({sides}), at most {most:,} are allowed here; use fewer points"
        )


def check_packet_size(text: str) -> None:
    """Refuse a size by which no bit rate can be divided."""
    try:
        size = quantity(text, "B", "`packet_size`")
    except ScenarioError as error:
        raise RangeError(bare(error, 400)) from None
    if not (size > 0 and math.isfinite(size)):
        raise RangeError(f"`packet_size` must be a finite number of bytes > 0, got {bare(text)}; give such as 1500B")


def only_number(label: str, text: str, unit: str = "1") -> float:
    """One number."""
    values = read_numbers(label, text, unit, 1) if ":" not in text else [math.nan, math.nan]
    if len(values) != 1:
        raise RangeError(f"{label} takes one number, got {shown(text)}")
    return float(values[0])


def _in_unit(label: str, text: str, unit: str, packet_size: str | None) -> str:
    """One number as a text in the unit of its parameter."""
    word = text.strip()
    if not word or _PLAIN.fullmatch(word):
        return word
    suffix = re.sub(r"^[-+\d.]+([eE][-+]?\d+)?(/\d+)?\s*", "", word)
    number = word[: len(word) - len(suffix)].strip()
    if suffix in (unit, f"{unit}s", unit.replace("packet", "packets")):
        return number
    if unit == "1" and suffix == "%":
        if not number:
            raise RangeError(f"{label}: '%' has no number before it; write such as 5%")
        try:
            return str(_number(number) / 100)
        except RangeError as error:
            raise RangeError(f"{label}: {error}") from None
    try:
        if unit == "s":
            return repr(quantity(word, unit, label))
        if unit == "packet/s" and suffix in TABLES["bit/s"]:
            if not packet_size:
                counts = "round trip" if packet_size == "" else "second"
                missing = "`base_rtt` and `packet_size`" if packet_size == "" else "`packet_size`, such as 1500B"
                raise RangeError(f"{label} counts packets per {counts}: to give {bare(word)}, add {missing}")
            return repr(quantity(word, "bit/s", label) / (8 * quantity(packet_size, "B", "`packet_size`")))
    except ScenarioError as error:
        raise RangeError(bare(error, 400)) from None
    if number and unit != "1":
        raise RangeError(f"{label} must be a number in {unit}, got {shown(word)}; leave the unit out")
    return word
