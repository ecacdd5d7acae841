"""Which share of some work is done: loops say it, and a command or the report shows it.

Belongs to no room: every folder may import it, and it imports none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import accumulate
from typing import TypeVar

_T = TypeVar("_T")

#: Who gets what the present step of the work is.
_words: ContextVar[Callable[[str], None] | None] = ContextVar("words", default=None)

#: Who gets the share, and the part of the whole that the present item of the innermost loop is.
_span: ContextVar[tuple[Callable[[float], None], float, float] | None] = ContextVar("span", default=None)


def tell(text: str) -> None:
    """Say what is being done now, such as how far a search has come whose end nobody knows; "": that is over."""
    words = _words.get()
    if words is not None:
        words(text)


@contextmanager
def hearing(words: Callable[[str], None]) -> Iterator[None]:
    """Inside, `words` gets what this thread is told by `tell`.

    Examples
    --------
    >>> heard = []
    >>> with hearing(heard.append):
    ...     tell("exploring: 500 states so far")
    >>> tell("nobody listens")
    >>> heard
    ['exploring: 500 states so far']
    """
    token = _words.set(words)
    try:
        yield
    finally:
        _words.reset(token)


@contextmanager
def listening(listener: Callable[[float], None]) -> Iterator[None]:
    """Inside, `tracked` loops of this thread call `listener` with the share of the work that is done, in [0, 1].

    Examples
    --------
    >>> shares = []
    >>> with listening(shares.append):
    ...     for case in tracked("ab"):
    ...         for seed in tracked(range(2)):
    ...             pass
    >>> shares
    [0.25, 0.5, 0.75, 1.0]
    """
    last = 0.0

    def grow(share: float) -> None:
        nonlocal last
        if share > last:
            last = share
            listener(share)

    token = _span.set((grow, 0.0, 1.0))
    try:
        yield
    finally:
        _span.reset(token)


def tracked(items: Sequence[_T], weights: Sequence[float] = ()) -> Iterator[_T]:
    """The items, one after the other. The loop says how many are done; a loop inside it divides its item's share.

    `weights` say how much work each is, in any unit; without them all are alike. A loop over one item says nothing: it
    may be one of several pieces of the work around it.

    Examples
    --------
    >>> shares = []
    >>> with listening(shares.append):
    ...     for case in tracked("ab", weights=(1, 3)):
    ...         pass
    >>> shares
    [0.25, 1.0]
    """
    span = _span.get()
    if span is None or len(items) < 2:
        yield from items
        return
    grow, low, high = span
    sums = list(accumulate(weights or [1] * len(items), initial=0))
    ends = [low + (high - low) * done / sums[-1] for done in sums[:-1]] + [high]
    try:
        for number, item in enumerate(items):
            _span.set((grow, ends[number], ends[number + 1]))
            yield item
            grow(ends[number + 1])
    finally:
        _span.set(span)
