"""Random streams without state that flows could share, and the clock's grid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .jit import inlined

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
ONE = np.uint64(1)
#: Grid points of the clock per second: 15 ps, exact in double precision up to 2^17 s.
GRID = 2.0**36


@inlined
def mix(word: Any) -> Any:
    """SplitMix64's output function: a bijection of 64-bit words."""
    word = (word ^ (word >> _S30)) * _MIX1
    word = (word ^ (word >> _S27)) * _MIX2
    return word ^ (word >> _S31)


@inlined
def uniform(key: Any, draw: Any) -> Any:
    """Draw number `draw` of the stream `key`, uniform in [0, 1); no state that flows could share."""
    return np.float64(mix(key + draw * _GOLDEN) >> _S11) * (1.0 / 9007199254740992.0)


@inlined
def on_grid(w: Any, time: Any) -> Any:
    """A time rounded to the clock's grid, or as it is where the run keeps plain doubles.

    Sums of grid times are exact for runs up to 2^17 s (36 hours), so events that coincide coincide to the last
    bit at any time of a run and are taken in the order in which they were scheduled. Without the grid, rounding
    breaks ties, differently after each power of two: equal RTTs on a drop-tail queue then change their loss from
    0.20 to 0.12 to 0.23 as time passes.
    """
    if w.exact:
        return time
    return math.floor(time * GRID + 0.5) / GRID


_WORD = (1 << 64) - 1


def first_draw(word: int, purpose: int, flow: int) -> float:
    """Draw 0 of a stream, uniform in [0, 1); the number that `uniform` gives in the loop.

    Examples
    --------
    >>> 0.0 <= first_draw(1, 0, 0) < 1.0
    True
    """
    return (_mixed(int(stream(word, purpose, flow))) >> 11) * 2.0**-53


def _mixed(key: int) -> int:
    """SplitMix64's output function."""
    key = ((key ^ (key >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    key = ((key ^ (key >> 27)) * 0x94D049BB133111EB) & _WORD
    return key ^ (key >> 31)


def stream(word: int, purpose: int, flow: int) -> np.uint64:
    """Key of the random stream of one (seed, purpose, flow).

    Examples
    --------
    >>> bool(stream(1, 0, 0) != stream(1, 0, 1)), bool(stream(1, 0, 0) == stream(1, 0, 0))
    (True, True)
    """
    key = word
    for part in (purpose, flow):
        key = _mixed((key + (part + 1) * 0x9E3779B97F4A7C15) & _WORD)
    return np.uint64(key)
