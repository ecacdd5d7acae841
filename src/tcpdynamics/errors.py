"""Everything that goes wrong in words: one family of exceptions, checks of numbers and names, values in messages.

Belongs to no room: every folder may import it, and it imports none of them. A message is one sentence that says what,
which value, which bound and what to do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from numbers import Rational, Real
from typing import Any


class TcpDynamicsError(Exception):
    """Base of all errors that a user's request can bring about. The command prints them and exits with code 2."""


class InputError(TcpDynamicsError, ValueError):
    """A value that is refused."""


class DomainError(InputError):
    """A parameter outside the range in which its model means something."""


class ChainError(InputError):
    """A chain that has no (unique, aperiodic) stationary distribution; the message names the state or the value."""


class DynamicsError(InputError):
    """Equations that do not make sense or could not be solved; the message names the state, symbol or value."""


class ScenarioError(InputError):
    """A scenario that cannot be run; the message names the key, the value, the bound and the next step."""


class RangeError(InputError):
    """A list of numbers that cannot be read; the message names what was expected."""


class LimitError(InputError):
    """A request that is refused before it starts; the message has the estimate, the bound and what to do."""


class StoreError(TcpDynamicsError):
    """A store that cannot be used; the message names it, the reason and the remedy. Nothing was overwritten."""


class OutputError(TcpDynamicsError):
    """A file that cannot be written; the message names it and why."""


class Ns2Error(TcpDynamicsError, RuntimeError):
    """`ns` is missing, failed or took too long."""


class LinuxError(TcpDynamicsError, RuntimeError):
    """Linux as a reference is not built, failed or took too long."""


class NoRecordError(TcpDynamicsError, LookupError):
    """There is no record of this run; install ns-2 (Debian package ns2) and compare live."""


class ConservationError(RuntimeError):
    """A packet was counted twice or lost by the engine itself: a defect, never a property of the scenario."""


class FailureWarning(UserWarning):
    """Most points of a result have no answer; `status` says why for each."""


class UnusualValueWarning(UserWarning):
    """A value far outside what networks have, such as a round trip of 200 s; `simulate` goes on with it."""


#: Characters of a value that an error message repeats, and of a name.
MAX_SHOWN, MAX_NAME = 200, 100


def shown(value: object, most: int = MAX_SHOWN) -> str:
    """`repr(value)` in one line, cut to `most` characters: an error never repeats a long value.

    Integers and fractions too long for Python to print are shown by their size; a value whose repr fails, by its type.

    Examples
    --------
    >>> shown("abc")
    "'abc'"
    >>> shown("x" * 1000, 20)
    "'xxxxxxxx... (1002 characters)"
    >>> shown(10**5000)
    'an integer of about 5001 digits'
    """
    if isinstance(value, int) and abs(value) >> 2048:
        return f"an integer of about {int(value.bit_length() * 0.30103) + 1} digits"
    if isinstance(value, str | bytes) and len(value) > 4 * most:
        text, length = repr(value[:most]), len(value) + 2
    elif type(value) in (list, tuple) and len(value) > 4 * most:  # type: ignore[arg-type]
        return f"{shown(value[:9], most)} (the first 9 of {len(value):,})"  # type: ignore[index, arg-type]
    else:
        try:
            text = one_line(repr(value))
        except Exception:
            return _unprintable(value)
        length = len(text)
    return text if length <= most else f"{text[: most // 2 - 1]}... ({length} characters)"


def one_line(text: str) -> str:
    """The lines of a text one after the other.

    Examples
    --------
    >>> one_line("[[1 2]\\n [3 4]]")
    '[[1 2] [3 4]]'
    """
    return " ".join(line.strip() for line in text.splitlines())


def _unprintable(value: object) -> str:
    """A value whose repr fails, such as a fraction with more digits than Python prints."""
    if isinstance(value, Rational):
        bits = max(abs(int(value.numerator)).bit_length(), int(value.denominator).bit_length())
        return f"a fraction of about {int(bits * 0.30103) + 1} digits"
    return f"a value of type {type(value).__name__}"


def digits(number: float) -> str:
    """A number in six digits, or in all of them where six would not tell it from its neighbours.

    Examples
    --------
    >>> digits(2.0), digits(1e9), digits(1.0000000001)
    ('2', '1e+09', '1.0000000001')
    """
    short = f"{number:g}"
    return short if float(short) == number or number != number else repr(float(number))


def counted(number: float) -> str:
    """How many, with commas; very many with their power of ten.

    Examples
    --------
    >>> counted(20_000), counted(10**300)
    ('20,000', '1e+300')
    """
    return f"{number:,.0f}" if abs(number) < 1e15 else f"{float(number):.3g}"


def bare(label: object, most: int = 60) -> str:
    """A label without quotation marks, in one line, cut to `most` characters: for error messages.

    Examples
    --------
    >>> bare("x" * 100, 3)
    'xxx...'
    """
    try:
        text = str(label)
    except Exception:  # an integer too long for Python to print, a label that is a deep expression
        text = shown(label)
    text = text if len(text) <= most else f"{text[:most]}..."
    return text if text.isprintable() else one_line(text)


def real(
    name: str,
    value: Any,
    low: float,
    high: float = math.inf,
    *,
    above: bool = False,
    error: type[Exception] = DomainError,
) -> float:
    """A finite number in [low, high], or in (low, high] with `above`.

    Examples
    --------
    >>> real("rtol", 1e-6, 1e-13, 0.1)
    1e-06
    >>> real("keep", math.inf, 0, above=True)
    Traceback (most recent call last):
    ...
    tcpdynamics.errors.DomainError: keep must be finite and > 0, got inf
    >>> real("x", "1", -math.inf)
    Traceback (most recent call last):
    ...
    tcpdynamics.errors.DomainError: x must be a finite number, got '1'
    """
    number = as_float(value)
    if not (math.isfinite(number) and low <= number <= high) or (above and number == low):
        bound = f"lie in {'(' if above else '['}{low:g}, {high:g}]"
        if high == math.inf:
            bound = f"be finite and {'>' if above else '>='} {low:g}" if low > -math.inf else "be a finite number"
        raise error(f"{name} must {bound}, got {shown(value)}")
    return number


def whole(name: str, value: Any, low: int, high: int | None = None, *, error: type[Exception] = DomainError) -> int:
    """A whole number >= low, and <= high where there is such a bound.

    Examples
    --------
    >>> whole("starts", 64.0, 1)
    64
    >>> whole("count", 0, 1, 1000)
    Traceback (most recent call last):
    ...
    tcpdynamics.errors.DomainError: count must be a whole number in 1..1000, got 0
    """
    number = as_float(value)
    exact = int(value) if math.isfinite(number) and number == math.floor(number) else None
    if exact is None or exact < low or (high is not None and exact > high):
        bound = f">= {low}" if high is None else f"in {low}..{high}"
        raise error(f"{name} must be a whole number {bound}, got {shown(value)}")
    return exact


def tolerances(rtol: Any, atol: Any) -> tuple[float, float]:
    """Those of a flow, in the bounds of `trajectory`."""
    return real("rtol", rtol, 1e-15, 1), real("atol", atol, 0, 1)


def as_float(value: Any) -> float:
    """A real number of any kind as a float, beyond their range as an infinite one; NaN for anything else.

    Examples
    --------
    >>> from fractions import Fraction
    >>> as_float(Fraction(1, 4)), as_float(10**400), as_float("1"), as_float(True)
    (0.25, inf, nan, nan)
    """
    import numpy as np  # not before it is needed: the command starts with this file

    plain = np.ndim(value) == 0 and getattr(getattr(value, "dtype", None), "kind", "") in tuple("iuf")
    if isinstance(value, bool | np.ma.MaskedArray) or not (plain or isinstance(value, Real)):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):  # a quantity with a unit
        return math.nan


def check(key: str, value: object, low: float, high: float, advice: str, *, whole: bool = False) -> None:
    """Refuse what is no number in [low, high] or, with `whole`, no whole number."""
    kind = "a whole number" if whole else "a number"
    good = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    if good and low <= value <= high:  # type: ignore[operator]
        return
    raise ScenarioError(f"{key} must be {kind} in [{low:g}, {high:g}], got {shown(value)}; {advice}")


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


#: Words of other tools and papers, and what has that meaning here; difflib finds none of these, or a wrong one.
NEAR_WORDS = {
    "fq": ("fq_codel",), "bandwidth": ("rate",), "capacity": ("rate",), "bw": ("rate",), "delay": ("rtt",),
    "latency": ("rtt", "delay"), "rtt": ("base_rtt",), "throughput": ("goodput_bits",), "goodput": ("goodput_bits",),
    "goodput_total": ("goodput_bits",), "sent": ("sent_packets",), "cwnd": ("initial_window",), "jain": ("fairness",),
}  # fmt: skip


def nearest(word: str, names: Iterable[str]) -> str:
    """The name that is nearest to a word, "" where none is near.

    Examples
    --------
    >>> nearest("Red", ["red", "sfq"]), nearest("fq", ["sfq", "fq_codel"]), nearest("xyz", ["logistic"])
    ('red', 'fq_codel', '')
    """
    candidates = list(names)
    close = [name for name in candidates if name.lower() == word.lower()]
    close += [name for name in NEAR_WORDS.get(word.lower(), ()) if name in candidates]
    return next(iter(close or get_close_matches(word[:MAX_NAME], candidates, 1)), "")


def suggestion(word: str, names: Iterable[str]) -> str:
    """A question with the name that is nearest to a word, "" where none is near; for the middle of a message.

    Examples
    --------
    >>> suggestion("logistc", ["logistic", "t-refwa"])
    " (did you mean 'logistic'?)"
    >>> suggestion("xyz", ["logistic"])
    ''
    """
    close = nearest(word, names)
    return f" (did you mean {close!r}?)" if close else ""


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
