"""Random streams without state that flows could share, and the clock's grid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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


def first_draws(keys: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Draw 0 of streams with these keys, uniform in [0, 1); the numbers that `uniform` gives in the loop."""
    drawn: NDArray[np.float64] = (_mixed(keys) >> _S11) * 2.0**-53
    return drawn


def first_draw(word: int, purpose: int, flow: int) -> float:
    """Draw 0 of the stream of one (seed, purpose, flow).

    Examples
    --------
    >>> 0.0 <= first_draw(1, 0, 0) < 1.0
    True
    """
    return float(first_draws(streams(word, (purpose,), (flow,)))[0, 0])


def _mixed(key: Any) -> Any:
    """SplitMix64's output function, of an array."""
    key = (key ^ (key >> _S30)) * _MIX1
    key = (key ^ (key >> _S27)) * _MIX2
    return key ^ (key >> _S31)


def streams(word: int, purposes: ArrayLike, flows: ArrayLike) -> NDArray[np.uint64]:
    """(purposes, flows) keys of the random streams of a seed."""
    of_purposes = _mixed(np.uint64(word) + (np.array(purposes, np.uint64)[:, None] + ONE) * _GOLDEN)
    keys: NDArray[np.uint64] = _mixed(of_purposes + (np.array(flows, np.uint64) + ONE) * _GOLDEN)
    return keys


def stream(word: int, purpose: int, flow: int) -> np.uint64:
    """Key of the random stream of one (seed, purpose, flow).

    Examples
    --------
    >>> bool(stream(1, 0, 0) != stream(1, 0, 1)), bool(stream(1, 0, 0) == stream(1, 0, 0))
    (True, True)
    """
    return np.uint64(streams(word, (purpose,), (flow,))[0, 0])
