"""HyStart++: slow start ends before it overruns the queue, when a round trip's least RTT has grown (RFC 9406).

Not a rule but a part of some. Up to the end of the first slow start it uses of a flow x0: end of the round, x1: least
RTT of the last round, x2: of this one, x3: its samples, x4: the baseline of conservative slow start (0: not in it), x5:
its rounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..jit import inlined

SAMPLES, ROUNDS, DIVISOR = 8, 5, 4
LEAST, MOST = 0.004, 0.016  # [s]


@inlined
def growth(f: Any) -> Any:
    """Segments more for this acknowledgement in slow start; -1 if slow start is over."""
    if f.una > f.x0:  # a round begins
        f.x0 = np.float64(f.next)
        f.x1 = f.x2
        f.x2 = 0.0
        f.x3 = 0.0
        if f.x4 > 0.0:
            f.x5 += 1.0
            if f.x5 >= ROUNDS:  # the round in which it began counts, RFC 9406, 4.2
                return -1.0
    f.x2 = min(f.x2, f.rtt) if f.x3 > 0.0 else f.rtt
    f.x3 += 1.0
    if f.x4 > 0.0:
        if f.x3 >= SAMPLES and f.x2 < f.x4:  # the growth of the RTT was a passing one
            f.x4 = 0.0
            f.x5 = 0.0
    elif f.x3 >= SAMPLES and f.x1 > 0.0 and f.x2 >= f.x1 + min(max(f.x1 / 8.0, LEAST), MOST):
        f.x4 = f.x2
    return 1.0 / DIVISOR if f.x4 > 0.0 else 1.0
