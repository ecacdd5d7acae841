"""Scalable TCP: `a` segments more for each acknowledgement, a share `b` less at a loss (Kelly 2003).

The time back to the window of before a loss, ln(1/(1 - b))/ln(1 + a) round trips, is the same at any window. Up to
`low_window` the sender is Reno. Its response function w = (a/b)/p is `models.ScalableTcp`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..parameters import Parameter

SOURCE = "T. Kelly, ACM SIGCOMM Computer Communication Review 33(2), 2003"

PARAMETERS = (
    Parameter("a", "packet", "growth per acknowledgement", 0.01, 1e-6, 1.0),
    Parameter("b", "1", "share of the window given up at a loss", 0.125, 1e-3, 0.999),
    Parameter("low_window", "packet", "window up to which TCP is Reno", 16.0, 0.0, 1e9),
)


def on_ack(f: Any, now: Any, acked: Any) -> None:
    """Slow start as Reno; then 1/w up to low_window, and a above it."""
    growth = 1.0
    if f.cwnd >= f.ssthresh:
        growth = f.p0 if f.cwnd > f.p2 else 1.0 / f.cwnd
    f.cwnd = min(f.cwnd + growth, np.float64(f.window))


def on_loss(f: Any, now: Any) -> None:
    """The window falls by b w; by half up to low_window."""
    f.cwnd = max(f.cwnd * (1.0 - (f.p1 if f.cwnd > f.p2 else 0.5)), 2.0)
    f.ssthresh = f.cwnd
