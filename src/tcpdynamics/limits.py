"""What one request may ask for, checked before any work starts, and how values appear in error messages.

Belongs to no room: every folder may import it, and it imports none of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tcpdynamics.errors import LimitError, shown

#: Elementary operations of one request: about three hours on one core.
MAX_WORK = 1e13

#: A sweep, which a kill does not cost, may do so many times that: more than a day on one core.
SWEEP = 10.0

#: Bytes that one request may hold at a time.
MAX_MEMORY = 8e9

#: How many parts like the one in hand the request has (`parts_of_sweep`).
_PARTS = ContextVar("_PARTS", default=1.0)


class SweepLimitError(LimitError):
    """A sweep whose parts are too many; each alone would be allowed."""


@contextmanager
def parts_of_sweep(parts: float) -> Iterator[None]:
    """Inside, what `check_work` is asked about is one of so many parts of a sweep: all of them count.

    Examples
    --------
    >>> with parts_of_sweep(1e6):
    ...     check_work("200 steps", 1e5, "give fewer")
    >>> try:
    ...     with parts_of_sweep(1e6):
    ...         check_work("200 steps", 1e9, "give fewer")
    ... except LimitError as error:
    ...     print(error)
    1e+06 times 200 steps need about 1e+15 operations, at most 1e+14 are allowed in a sweep; give fewer
    """
    token = _PARTS.set(parts)
    try:
        yield
    finally:
        _PARTS.reset(token)


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
    bound, parts = _bound("TCPDYNAMICS_MAX_WORK", MAX_WORK), _PARTS.get()
    if parts > 1 and not operations * parts <= SWEEP * bound:
        raise SweepLimitError(
            f"{parts:.3g} times {what} need about {operations * parts:.2g} operations, "
            f"at most {SWEEP * bound:.2g} are allowed in a sweep; {advice}"
        )
    if not operations <= bound:
        raise LimitError(f"{what} need about {operations:.2g} operations, at most {bound:.2g} are allowed; {advice}")


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
            f"{what} need about {_gigabytes(size)} GB of memory, at most {_gigabytes(bound)} GB are allowed; {advice}"
        )


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
