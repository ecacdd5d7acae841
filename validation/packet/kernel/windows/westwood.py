"""Westwood: after a loss the window is what the path was measured to carry, bandwidth times least RTT (Mascolo 2001).

The bandwidth is the rate of acknowledged segments, low-pass filtered; it grows as Reno. Westwood (`plus` 0) takes a
sample at each acknowledgement, d/(t - t'), and filters with time constant tau, so that bunched acknowledgements raise
the estimate above the true rate. Westwood+ (`plus` 1) takes one sample a round trip and filters with weight 1 - `gain`.
A duplicate stands for one segment; what a later acknowledgement then covers is not counted twice.
"""

from __future__ import annotations

from typing import Any

from ..jit import inlined
from ..parameters import Parameter

SOURCE = (
    "S. Mascolo et al., TCP Westwood, ACM MobiCom 2001; L. A. Grieco and S. Mascolo, ACM SIGCOMM Computer "
    "Communication Review 34(2), 2004 (Westwood+)"
)

PARAMETERS = (
    Parameter("plus", "1", "1 for Westwood+, one sample a round trip; 0 for Westwood", 1.0, 0.0, 1.0, whole=True),
    Parameter("tau", "s", "time constant of Westwood's filter", 0.5, 1e-6, 1e3),
    Parameter("gain", "1", "weight of the last estimate in Westwood+", 0.9, 0.0, 0.999),
)


@inlined
def _delivered(f: Any, acked: Any) -> Any:
    """Segments that an acknowledgement tells of; x5: those that duplicates have told of already."""
    if acked == 0:
        f.x5 += 1.0
        return 1.0
    early = min(f.x5, acked - 1.0)
    f.x5 -= early
    return acked - early


def on_every_ack(f: Any, now: Any, acked: Any) -> None:
    """A sample of the rate; x0: estimate [packet/s], x1: last sample, x2: since when, x3: segments, x4: samples."""
    if f.x2 == 0.0:  # the first acknowledgement starts the clock
        f.x2 = now
        return
    f.x3 += _delivered(f, acked)
    since = now - f.x2
    if since <= 0.0 or (f.p0 > 0.0 and since < f.rtt):
        return
    sample = f.x3 / since
    if f.x4 == 0.0:
        f.x0 = sample
    elif f.p0 > 0.0:
        f.x0 = f.p2 * f.x0 + (1.0 - f.p2) * sample
    else:  # Tustin's rule for a first-order low pass; after a gap of 2 tau or more only the sample counts
        keep = max((2.0 * f.p1 - since) / (2.0 * f.p1 + since), 0.0)
        f.x0 = keep * f.x0 + (1.0 - keep) * (sample + f.x1) / 2.0
    f.x1 = sample
    f.x2 = now
    f.x3 = 0.0
    f.x4 = 1.0


@inlined
def _carried(f: Any) -> Any:
    """Bandwidth times least RTT, at least two segments."""
    return max(f.x0 * f.min_rtt, 2.0)


def on_loss(f: Any, now: Any) -> None:
    """The threshold is what the path carries; a larger window falls to it."""
    f.ssthresh = _carried(f)
    f.cwnd = min(f.cwnd, f.ssthresh)


def on_timeout(f: Any, now: Any) -> None:
    """The same threshold, and a window of one segment."""
    f.ssthresh = _carried(f)
    f.cwnd = 1.0
