"""Reno's window: slow start and AIMD, by RFC 5681 or as in ns-2.35.

The hooks have the shape of a user's rule (docs/your_own_congestion_control.md). They are compiled into the loop, for
nearly every run takes them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..jit import inlined


@inlined
def on_ack(f: Any, now: Any, acked: Any) -> None:
    """RFC 5681, 3.1: one segment an acknowledgement, or one a window; never above the advertised window."""
    on_ack_ns2(f, now, acked)
    f.cwnd = min(f.cwnd, np.float64(f.window))


@inlined
def on_loss(f: Any, now: Any) -> None:
    """RFC 5681, eq. 4: half of the data in flight, in whole segments, and a window of at least two."""
    f.ssthresh = np.float64(f.flight // 2)
    f.cwnd = max(f.ssthresh, 2.0)


@inlined
def on_timeout(f: Any, now: Any) -> None:
    """RFC 5681, 3.1: half of the data in flight, and a window of one segment."""
    f.ssthresh = np.float64(f.flight // 2)
    f.cwnd = 1.0


@inlined
def on_ack_ns2(f: Any, now: Any, acked: Any) -> None:
    """As ns-2: the window may grow above the advertised one, which bounds what is sent."""
    f.cwnd += 1.0 if f.cwnd < f.ssthresh else 1.0 / f.cwnd


@inlined
def on_loss_ns2(f: Any, now: Any) -> None:
    """As ns-2: half of the window, and only the threshold in whole segments."""
    half = whole_window(f) / 2.0
    f.ssthresh = np.float64(np.int64(half))
    f.cwnd = half


@inlined
def on_timeout_ns2(f: Any, now: Any) -> None:
    """As ns-2: half of the window."""
    f.ssthresh = np.float64(np.int64(whole_window(f) / 2.0))
    f.cwnd = 1.0


@inlined
def on_ack_linux(f: Any, now: Any, acked: Any) -> None:
    """As Linux: what is acknowledged opens the window in slow start, as far as the threshold; what is left counts."""
    beyond = slow_start(f, acked)
    if beyond > 0:
        count_up(f, np.int64(f.cwnd), beyond)


@inlined
def slow_start(f: Any, acked: Any) -> Any:
    """Slow start by what is acknowledged, up to the threshold; how much of it is left."""
    if f.cwnd >= f.ssthresh:
        return acked
    before = np.int64(f.cwnd)
    f.cwnd = np.float64(min(before + acked, np.int64(f.ssthresh)))
    return acked - (np.int64(f.cwnd) - before)


@inlined
def count_up(f: Any, each: Any, acked: Any) -> None:
    """One segment more for `each` that are acknowledged; `f.credit` is what has not yet made one."""
    if f.credit >= each:
        f.credit = 0
        f.cwnd += 1.0
    f.credit += acked
    if f.credit >= each:
        more = f.credit // each
        f.credit -= more * each
        f.cwnd += np.float64(more)


@inlined
def whole_window(f: Any) -> Any:
    """min(cwnd, advertised window), inflation included where the sender inflates."""
    return min(f.cwnd + f.inflation, np.float64(f.window))
