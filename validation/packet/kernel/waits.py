"""How long packets wait at links: counts by length, from which percentiles follow.

Lengths are counted in bins of 1/32 of an octave, from a microsecond on: a percentile is off by 3 % of itself at most.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import views as at
from .jit import inlined
from .records import SHORTEST, WAIT_PARTS, WAITS

#: Binary digits of a double below those that a bin has, and what is above them for the shortest wait.
_BELOW = 52 - WAIT_PARTS.bit_length() + 1
_FIRST = int(np.float64(SHORTEST).view(np.int64)) >> _BELOW

_OCTAVE, _PART = np.divmod(np.arange(WAITS), WAIT_PARTS)
_EDGES = SHORTEST * 2.0**_OCTAVE * (1 + _PART / WAIT_PARTS)
#: Between which waits [s] a bin counts.
_LOW, _HIGH = np.append(0.0, _EDGES[:-1]), np.append(0.0, _EDGES[1:])


@inlined
def count_wait(w: Any, link: Any, start: Any, wait: Any) -> None:
    """A packet begins to be sent at `start`, after `wait` [s]; a start after the end of the run does not count."""
    if start < w.measure_from or start >= w.end:
        return
    place = 0
    if wait >= SHORTEST:  # the exponent and the first five binary digits, side by side in a double
        digits: Any = np.float64(wait).view(np.int64)
        place = min(1 + (digits >> _BELOW) - _FIRST, WAITS - 1)
    at.waits(w)[link, place] += 1


def percentiles(counts: NDArray[Any], fractions: tuple[float, ...]) -> NDArray[np.float64]:
    """(..., fractions) The waits [s] that these fractions of packets do not exceed; NaN without a packet.

    `counts` has the bins last.

    Examples
    --------
    >>> counts = np.zeros((1, WAITS), int)
    >>> counts[0, 0], counts[0, 1 + 10 * WAIT_PARTS] = 90, 10  # nine of ten do not wait, one waits for 2^-10 s
    >>> percentiles(counts, (0.5, 0.99))[0].tolist() == [0.0, 2.0**-10 * (1 + 0.9 / WAIT_PARTS)]
    True
    """
    until = np.cumsum(counts, -1)
    total = until[..., -1]
    wanted = np.multiply.outer(total, fractions)
    place = np.stack([(until < one[..., None]).sum(-1) for one in np.moveaxis(wanted, -1, 0)], axis=-1)
    line = np.take_along_axis(counts, place, -1)
    inside = (wanted - (np.take_along_axis(until, place, -1) - line)) / np.maximum(line, 1)
    return np.where(total[..., None] > 0, _LOW[place] + inside * (_HIGH[place] - _LOW[place]), np.nan)
