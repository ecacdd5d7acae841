"""Linux's estimator of the round trip, and the one timer that a sender has."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...jit import called, inlined
from ...records import SACK
from ...timer import current_rto, start_timer, stop_timer
from .records import ANSWERING, NOTHING, OPEN, OVERTAKEN, PROBE, RETRANSMIT, opening, outstanding, segment

#: What the timers beside the retransmission timeout have on top [s]; steps of time stamps [1/s].
LEAST, STAMPS = 0.002, 1000.0

#: Timers of fewer ticks fire at the next tick; others at multiples of 8, from eight times as many on of 64, and so on.
FINEST, COARSER = 63, 8


@inlined
def in_ticks(f: Any, time: Any) -> Any:
    """A time in whole ticks, rounded up [s]; what a sum of whole microseconds is off by does not count."""
    return time if f.tick == 0.0 else math.ceil(time / f.tick - 1e-6) * f.tick


@inlined
def floored(time: Any) -> Any:
    """A time in whole microseconds, rounded down [s], as the clock tells it."""
    return math.floor(time * 1e6 + 1e-3) / 1e6


@inlined
def stamp(time: Any) -> Any:
    """What a time stamp says of a time."""
    return math.floor(time * STAMPS + 1e-6)


@inlined
def _late(f: Any, now: Any, delay: Any, ringing: Any) -> Any:
    """When a timer fires that is to run for `delay`, a whole number of ticks [s]: never early, and on a coarse grid.

    While timers ring the clock is a tick ahead.
    """
    if f.tick == 0.0:
        return delay
    ticks = np.int64(delay / f.tick + 0.5)
    step = 1
    while ticks - ringing >= FINEST * step:
        step *= COARSER
    due = np.int64((now + f.phase) / f.tick + 1e-6) + ticks
    return (due // step + 1) * step * f.tick - f.phase - now


@called
def sample(f: Any, s: Any, rtt: Any) -> None:
    """One round trip [s]. The timeout is smoothed RTT + variation, which has the least timeout as its floor.

    The variation is four mean deviations, the largest of a window of data at once, a smaller one by quarters; a
    round trip below the mean moves the deviation by an eighth of what one above does, unless it lowers it.
    """
    if f.est == 0.0:
        f.est = rtt
        s.deviation = 2.0 * rtt
        f.dev = s.largest = max(s.deviation, f.min_rto)
        s.sampled = f.top
    else:
        error = rtt - f.est
        f.est += error / 8.0
        change = abs(error) - s.deviation / 4.0
        if error < 0.0 and change > 0.0:
            change /= 8.0
        s.deviation += change
        if s.deviation > s.largest:
            s.largest = s.deviation
            f.dev = max(f.dev, s.largest)
        if f.una > s.sampled:
            if s.largest < f.dev:
                f.dev -= (f.dev - s.largest) / 4.0
            s.sampled = f.top
            s.largest = f.min_rto
    f.srtt = f.est
    f.base_rto = in_ticks(f, floored(f.est) + floored(f.dev))
    f.backoff = 1


@inlined
def arm(w: Any, f: Any, i: Any, s: Any, what: Any, delay: Any) -> None:
    """Set the timer, whatever it was for."""
    s.pending = what
    start_timer(w, f, i, _late(f, w.now, delay, s.ringing))


@called
def rearm(w: Any, f: Any, i: Any, s: Any) -> None:
    """Set the retransmission timer anew; after another one, as if that had not been between."""
    if outstanding(f) == 0 or f.una >= f.limit:
        s.pending = NOTHING
        stop_timer(f)
        return
    delay = current_rto(f)
    if s.pending == OVERTAKEN or s.pending == PROBE:
        delay = max(in_ticks(f, segment(w, f, f.una).time + delay - w.now), f.tick)
    arm(w, f, i, s, RETRANSMIT, delay)


@called
def arm_probe(w: Any, f: Any, i: Any, s: Any, progress: Any) -> Any:
    """Set the timer for a probe (RFC 8985, 7.2), where there may be one; else False."""
    if (
        not s.probes
        or opening(f)
        or f.algorithm != SACK
        or (s.state != OPEN and s.state != ANSWERING)
        or outstanding(f) == 0
    ):
        return False
    delay = 1.0
    if f.est > 0.0:
        delay = in_ticks(f, 2.0 * f.est + (f.min_rto if outstanding(f) == 1 else LEAST))
    timeout = current_rto(f)
    if not progress:
        timeout += segment(w, f, f.una).time - w.now
    if timeout > 0.0:
        delay = min(delay, in_ticks(f, timeout))
    arm(w, f, i, s, PROBE, delay)
    return True
