"""The swing in which a motion ends, read off its samples as the pages read it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Swing(NamedTuple):
    """Lowest and highest value, time from one to the next, its growth by height [1], and its first and last sample."""

    low: float
    high: float
    period: float
    change: float
    first: int
    last: int


def swing(times: ArrayLike, values: ArrayLike) -> Swing | None:
    """The last swing of a motion; None where it does not swing, or by less than a thousandth.

    Examples
    --------
    >>> t = np.linspace(0, 20, 401)
    >>> one = swing(t, np.sin(t))
    >>> round(float(one.high), 4), round(float(one.period), 3)
    (1.0, 6.283)
    """
    t, v = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    tail = v[v.size // 2 :]
    apart = v - (tail.max() + tail.min()) / 2
    rises = [i for i in range(2, v.size) if apart[i - 1] < 0 <= apart[i]]
    if len(rises) < 3:
        return None
    when = [t[i - 1] + (t[i] - t[i - 1]) * apart[i - 1] / (apart[i - 1] - apart[i]) for i in rises]

    def ends(k: int) -> tuple[float, float]:
        low, high = np.inf, -np.inf
        for i in range(rises[k - 1] - 1, rises[k] + 1):
            a, b, c = v[i - 1], v[i], v[min(i + 1, v.size - 1)]
            bend = a - 2 * b + c
            top = b - (c - a) ** 2 / (8 * bend) if (b - a) * (c - b) < 0 and bend != 0 else b
            low, high = min(low, top), max(high, top)
        return low, high

    (low, high), (before, beyond) = ends(len(rises) - 1), ends(len(rises) - 2)
    change = (high - low) / (beyond - before) - 1
    return Swing(low, high, when[-1] - when[-2], change, rises[-2] - 1, rises[-1])
