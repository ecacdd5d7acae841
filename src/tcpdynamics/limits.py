"""What one request may ask for, checked before any work starts, and how values appear in error messages.

Belongs to no room: every folder may import it, and it imports none of them.
"""

from __future__ import annotations

import os

#: Elementary operations of one request: about three hours on one core.
MAX_WORK = 1e13

#: Bytes that one request may hold at a time.
MAX_MEMORY = 8e9

#: Characters of a value that an error message repeats.
MAX_SHOWN = 200


class LimitError(ValueError):
    """A request that is refused before it starts; the message has the estimate, the bound and what to do."""


def check_work(what: str, operations: float, advice: str) -> None:
    """Refuse a request of more than MAX_WORK operations (environment: TCPDYNAMICS_MAX_WORK).

    Examples
    --------
    >>> try:
    ...     check_work("10^9 chains of 100 states", 1e15, "give fewer points")
    ... except LimitError as error:
    ...     print(error)
    10^9 chains of 100 states need about 1e+15 operations, at most 1e+13 are allowed; give fewer points
    """
    bound = _bound("TCPDYNAMICS_MAX_WORK", MAX_WORK)
    if not operations <= bound:
        raise LimitError(
            f"{what} need about {operations:.2g} operations, at most {bound:.2g} are allowed; {advice}"
        )


def check_memory(what: str, size: float, advice: str) -> None:
    """Refuse a request of more than MAX_MEMORY bytes (environment: TCPDYNAMICS_MAX_MEMORY).

    Examples
    --------
    >>> try:
    ...     check_memory("10^12 numbers", 8e12, "sweep in blocks")
    ... except LimitError as error:
    ...     print(error)
    10^12 numbers need about 8,000 GB of memory, at most 8 GB are allowed; sweep in blocks
    """
    bound = _bound("TCPDYNAMICS_MAX_MEMORY", MAX_MEMORY)
    if not size <= bound:
        raise LimitError(
            f"{what} need about {_gigabytes(size)} GB of memory, "
            f"at most {_gigabytes(bound)} GB are allowed; {advice}"
        )


def shown(value: object, most: int = MAX_SHOWN) -> str:
    """`repr(value)` in one line, cut to `most` characters: an error never repeats a long value.

    Integers too long for Python to print are told by their size; a value whose repr fails, by its type.

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
    else:
        try:
            text = " ".join(line.strip() for line in repr(value).splitlines())
        except Exception:
            return f"a value of type {type(value).__name__}"
        length = len(text)
    return text if length <= most else f"{text[: most // 2 - 1]}... ({length} characters)"


def bare(label: object, most: int = 60) -> str:
    """A label without quotation marks, cut to `most` characters: for error messages.

    Examples
    --------
    >>> bare("x" * 100, 3)
    'xxx...'
    """
    text = str(label)
    return text if len(text) <= most else f"{text[:most]}..."


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:,.0f}" if 1e9 <= size < 1e15 else f"{size / 1e9:.2g}"


def _bound(variable: str, default: float) -> float:
    text = os.environ.get(variable, "")
    try:
        value = float(text) if text else default
    except ValueError:
        raise LimitError(f"{variable} must be a number, got {shown(text)}") from None
    if not value > 0:
        raise LimitError(f"{variable} must be a positive number, got {shown(text)}")
    return value
