"""CUBIC: the window follows C (t - K)^3 + W_max in the time t since the last loss (RFC 9438).

K = ((W_max - w_0)/C)^(1/3) is when it is back at W_max, the window of before the loss; w_0 the window after it. Where
Reno with the same mean would have a larger window, it takes that (section 4.3). Its mean window under one loss every
1/p packets is (C (3 + beta)/(4 (1 - beta)))^(1/4) (RTT/p)^(3/4).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..jit import inlined
from ..parameters import Parameter
from . import hystart, reno

SOURCE = "RFC 9438; HyStart++: RFC 9406"

PARAMETERS = (
    Parameter("c", "packet/s^3", "C, how fast the window grows", 0.4, 1e-6, 1e6),
    Parameter("beta", "1", "share of the window that a loss leaves", 0.7, 0.01, 0.99),
    Parameter("fast_convergence", "1", "1: give way to new flows (section 4.7); 0: not", 1.0, 0.0, 1.0, whole=True),
    Parameter("hystart", "1", "1: HyStart++ ends the first slow start early; 0: not", 0.0, 0.0, 1.0, whole=True),
)


@inlined
def _cubic(f: Any, t: Any) -> Any:
    """W_cubic(t) [segments]."""
    return f.x0 + f.p0 * (t - f.x2) * (t - f.x2) * (t - f.x2)


@inlined
def _forget(f: Any) -> None:
    """The first slow start is over: what it remembered is of no use any more."""
    f.x0 = 0.0
    f.x1 = 0.0
    f.x4 = 0.0
    f.x6 = 1.0


def on_ack(f: Any, now: Any, acked: Any) -> None:
    """Slow start, then towards W_cubic(t + RTT).

    x0: W_max, x1: when growth began (0: not yet), x2: K, x3: Reno's window, x4: window of before the loss, x6: is the
    first slow start over?
    """
    if f.cwnd < f.ssthresh:
        growth = 1.0
        if f.p3 > 0.0 and f.x6 == 0.0:
            growth = hystart.growth(f)
            if growth < 0.0:
                f.ssthresh = f.cwnd
                _forget(f)
        if growth > 0.0:
            f.cwnd = min(f.cwnd + growth, np.float64(f.window))
            return
    if f.x1 == 0.0:
        if f.x6 == 0.0:
            _forget(f)
        f.x1 = now
        f.x0 = max(f.x0, f.cwnd)
        f.x2 = ((f.x0 - f.cwnd) / f.p0) ** (1.0 / 3.0)
        f.x3 = f.cwnd
    t = now - f.x1
    reno = 3.0 * (1.0 - f.p1) / (1.0 + f.p1) if f.x3 < f.x4 else 1.0
    # Of one window at most: after a fall, an acknowledgement may cover all of a larger one that was.
    # And it ends where the advertised window does: a router may raise that, and all that it held back would go at once.
    f.x3 = min(f.x3 + reno * min(np.float64(acked), f.cwnd) / f.cwnd, max(f.cwnd, np.float64(f.window)))
    if _cubic(f, t) < f.x3:
        f.cwnd = max(f.cwnd, f.x3)
    else:
        target = _cubic(f, t + f.srtt)
        f.cwnd += (min(max(target, f.cwnd), 1.5 * f.cwnd) - f.cwnd) / f.cwnd
    f.cwnd = min(f.cwnd, np.float64(f.window))


def on_loss(f: Any, now: Any) -> None:
    """Sections 4.6 and 4.7: W_max is the window of now, or less if it is below the last one; beta of it is left."""
    if f.x6 == 0.0:
        _forget(f)
    f.x4 = f.cwnd
    f.x0 = 0.5 * (1.0 + f.p1) * f.cwnd if f.p2 > 0.0 and f.cwnd < f.x0 else f.cwnd
    f.x1 = 0.0
    f.cwnd = max(f.p1 * f.cwnd, 2.0)
    f.ssthresh = f.cwnd


def on_timeout(f: Any, now: Any) -> None:
    """Section 4.8: slow start up to beta of the window; growth starts afresh there."""
    if f.x6 == 0.0:
        _forget(f)
    if f.cwnd > 1.0:  # else the segment is lost again: the threshold falls but once for it (RFC 5681, 3.1)
        f.x4 = f.cwnd
        f.ssthresh = f.p1 * f.cwnd
    f.x0 = 0.0
    f.x1 = 0.0
    f.cwnd = 1.0


#: Of Linux's form: ticks of its clock [1/s], how long its answer may stand [s], units of its time [1/s].
_TICKS, _STANDS, _UNITS = 1000.0, 31e-3, 1024.0


def on_ack_linux(f: Any, now: Any, acked: Any) -> None:
    """As Linux: whole segments, one more for so many acknowledged; how many is found anew a tick later at the soonest.

    begun: the tick when growth began (0: not yet), x0: W_max, x2: K [1/1024 s], x3: Reno's window, x4: acknowledged
    segments that it has not yet used, x5: how many make one more, x6, x7: window and time when that was found, x8: the
    window that is aimed at, x9: the least round trip since the last timeout, without that of the handshake and those
    of the second after a loss [s, 0: none].
    """
    beyond = reno.slow_start(f, acked)
    if beyond > 0:
        _aim(f, math.floor(now * _TICKS + 1e-6) + 1.0, beyond)
        reno.count_up(f, np.int64(f.x5), beyond)


def on_every_ack_linux(f: Any, now: Any, acked: Any) -> None:
    """The least round trip."""
    settled = f.begun == 0.0 or math.floor(now * _TICKS + 1e-6) + 1.0 - f.begun >= _TICKS
    if settled and (acked > 0 or f.sack) and (f.una > 0 or not f.handshake):
        f.x9 = f.rtt if f.x9 == 0.0 else min(f.x9, f.rtt)


@inlined
def _aim(f: Any, tick: Any, acked: Any) -> None:
    """How many acknowledged segments make one more."""
    cwnd = np.int64(f.cwnd)
    c = np.floor(f.p0 * _UNITS + 0.5) / _UNITS
    f.x4 += acked
    if f.x6 == f.cwnd and tick - f.x7 <= _STANDS * _TICKS:
        return
    if f.begun == 0.0 or tick != f.x7:
        f.x6 = f.cwnd
        f.x7 = tick
        if f.begun == 0.0:
            f.begun = tick
            f.x4 = acked
            f.x3 = f.cwnd
            f.x2 = 0.0
            f.x8 = f.cwnd
            if f.x0 > f.cwnd:
                f.x2 = np.floor(_UNITS * ((f.x0 - f.cwnd) / c) ** (1.0 / 3.0))
                f.x8 = f.x0
        t = np.floor((tick - f.begun + np.ceil(f.x9 * _TICKS - 1e-6)) * _UNITS / _TICKS)
        gone = np.floor(c * (abs(t - f.x2) / _UNITS) ** 3)
        target = np.int64(f.x8 - gone if t < f.x2 else f.x8 + gone)
        f.x5 = np.float64(cwnd // (target - cwnd)) if target > cwnd else 100.0 * cwnd
        if f.x0 == 0.0:
            f.x5 = min(f.x5, 20.0)
    friendly = np.int64(np.floor(8.0 * (1.0 + f.p1) / 3.0 / (1.0 - f.p1))) * cwnd // 8
    if f.x4 > friendly:
        more = (np.int64(f.x4) - 1) // friendly
        f.x4 -= np.float64(more * friendly)
        f.x3 += np.float64(more)
    if f.x3 > f.cwnd:
        f.x5 = min(f.x5, np.float64(cwnd // (np.int64(f.x3) - cwnd)))
    f.x5 = max(f.x5, 2.0)


@inlined
def on_loss_linux(f: Any, now: Any) -> None:
    """As Linux: the threshold; the window falls to it in a round trip."""
    f.begun = 0.0
    f.x0 = np.floor(0.5 * (1.0 + f.p1) * f.cwnd + 1e-9) if f.p2 > 0.0 and f.cwnd < f.x0 else f.cwnd
    f.ssthresh = max(np.floor(f.p1 * f.cwnd + 1e-9), 2.0)


def on_timeout_linux(f: Any, now: Any) -> None:
    """As Linux: the threshold, and all is forgotten."""
    on_loss_linux(f, now)
    f.x0 = f.x2 = f.x3 = f.x4 = f.x5 = f.x6 = f.x7 = f.x9 = 0.0
