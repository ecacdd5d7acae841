"""The random numbers of ns-2 with its default seed: MRG32k3a (L'Ecuyer, Operations Research 47, 1999).

Only to hold a random discipline against ns-2 packet by packet: a single flow's sender takes the first two numbers, the
discipline all others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..jit import inlined

_M1, _M2 = 4294967087, 4294944443
_SCALE = 2.328306549295727688e-10

#: Fields of a discipline's state: the generator's.
FIELDS = [(f"g{i}", np.int64) for i in range(6)]


@inlined
def draw(s: Any) -> Any:
    """The next number, uniform in (0, 1)."""
    first = (1403580 * s.g1 - 810728 * s.g0) % _M1
    second = (527612 * s.g5 - 1370589 * s.g3) % _M2
    s.g0, s.g1, s.g2 = s.g1, s.g2, first
    s.g3, s.g4, s.g5 = s.g4, s.g5, second
    return _SCALE * (first - second if first > second else first - second + _M1)


def begin(s: Any) -> None:
    """Where the generator stands when the only sender has drawn when its clock ticks, twice."""
    g = [1] * 6
    for _ in range(2):
        g[:3] = [g[1], g[2], (1403580 * g[1] - 810728 * g[0]) % _M1]
        g[3:] = [g[4], g[5], (527612 * g[5] - 1370589 * g[3]) % _M2]
    for i, value in enumerate(g):
        s[f"g{i}"] = value
