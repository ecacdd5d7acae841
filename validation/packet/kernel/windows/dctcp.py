"""DCTCP: the window falls by half of the share of marked segments, alpha/2, once a window (RFC 8257).

The receiver echoes each mark by itself. Growth, losses and timeouts are Reno's.
"""

from __future__ import annotations

from typing import Any

from ..parameters import Parameter

SOURCE = "RFC 8257, section 3"

PARAMETERS = (Parameter("g", "1", "weight of a window's share of marks in alpha", 0.0625, 1e-6, 1.0),)

#: A flow needs `ecn = true`, and its receiver tells of each mark (RFC 8257, 3.2) instead of echoing until answered.
ECHOES_EACH = True


def on_every_ack(f: Any, now: Any, acked: Any) -> None:
    """Section 3.3, 3 to 8.

    x0: 1 - alpha, so that alpha starts at 1, x1: segments acknowledged in this window, x2: marked ones, x3: its end.
    """
    f.x1 += acked
    if f.marked:
        f.x2 += acked
    if f.una + acked > f.x3 and f.x1 > 0.0:
        f.x0 += f.p0 * (1.0 - f.x2 / f.x1 - f.x0)
        f.x1 = 0.0
        f.x2 = 0.0
        f.x3 = float(f.top)


def on_mark(f: Any, now: Any) -> None:
    """Section 3.3, 9: cwnd (1 - alpha/2)."""
    f.cwnd *= 0.5 + 0.5 * f.x0
    f.ssthresh = f.cwnd
