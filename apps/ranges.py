"""Numbers as people write them on a command line: `0.05:0.45:9` or `0.1,0.2,0.25`."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from tcpdynamics.limits import shown

#: The largest grid that one command solves: about a minute and a few GB.
MAX_POINTS = 10_000_000
LARGEST = 10**18


class RangeError(ValueError):
    """A list of numbers that cannot be read; the message says what was expected."""


def count_values(text: str) -> int:
    """How many numbers a text asks for, before any is made; 1 where that cannot be told."""
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


def parse_range(text: str, most: int = MAX_POINTS, *, shares: bool = False) -> list[Fraction]:
    """Read `start:stop:count` (both ends included) or a comma list, exactly: 0.1 is one tenth.

    With `shares`, the numbers are probabilities and may be written in percent: 10% is one tenth.

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
    >>> parse_range("10%, 1/3", shares=True)
    [Fraction(1, 10), Fraction(1, 3)]
    """
    ends, count = _read(text, most, _share if shares else _number)
    if count is None:
        return ends
    start, stop = ends
    return [start + (stop - start) * Fraction(i, max(count - 1, 1)) for i in range(count)]


def _read(
    text: str, most: int, number: Callable[[str], Fraction] | None = None
) -> tuple[list[Fraction], int | None]:
    """The numbers of a list and None, or both ends of a range and how many numbers it has."""
    number = number or _number
    parts = text.split(":")
    if len(parts) == 1:
        if text.count(",") >= max(2 * most, 1000):
            raise RangeError(f"more than {most:,} points asked for; use fewer points")
        values = [number(item) for item in text.split(",") if item.strip()]
        if not values:
            raise RangeError("the list is empty; give numbers such as 0.1,0.2 or a range such as 0.05:0.45:9")
        if len(values) > most:
            raise RangeError(f"{len(values):,} points asked for, at most {most:,} are allowed")
        return values, None
    if len(parts) != 3:
        raise RangeError(f"{shown(text)} is not start:stop:count, such as 0.05:0.45:9")
    start, stop, count = number(parts[0]), number(parts[1]), _number(parts[2])
    if count.denominator != 1 or count < 1:
        raise RangeError(f"the count in {shown(text)} must be a whole number >= 1, got {parts[2].strip()}")
    if count > most:
        raise RangeError(
            f"{int(count):,} points asked for, at most {most:,} are allowed here; use fewer points"
        )
    if count == 1:
        if start != stop:
            raise RangeError(
                f"one point cannot span {parts[0].strip()} to {parts[1].strip()}; give a count of at least 2"
            )
    return [start, stop], int(count)


def _share(text: str) -> Fraction:
    """A number, or a number of percent."""
    word = text.strip()
    return _number(word[:-1]) / 100 if word.endswith("%") else _number(word)


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
