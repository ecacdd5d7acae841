"""Meters at links: the bandwidth that is available to a flow, as a stand-in for what its sender would find inline.

ImTCP (Cao, Hasegawa and Murata, MMNS 2004) finds the available bandwidth from how its own packets' gaps change on the
way. A sender that is clocked by acknowledgements leaves its gaps as the link makes them, so that they say nothing of
what is left there; ImTCP holds packets back and sends them in trains of its own making. Here the link itself says it:
over each interval, its rate less the bits that it began to send of other flows, with a stated relative error. An
estimate travels with the packet that ended the interval, or with a later one where it is to come late, and reaches the
sender with that packet's acknowledgement; so it is as old as an inline one at least.

A link with a meter is served, and its meter is the hook where transmissions begin (`links._start_service`); other links
know nothing of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import changes
from . import records as k
from . import views as at
from .jit import called, inlined
from .links import tx_time
from .streams import ONE, uniform

#: Hook -> its shape, that of `changes`.
HOOKS = changes.HOOKS

#: Of each flow: the link that measures for it (-1: none); how many estimates were `made`, handed over (`used`), and
#: noted as coming `back`; the random stream; since when the interval goes, and what had been begun by then [bit] of all
#: flows, of this one, of all that measure. Records of links follow, with sums in `own` and `measuring`.
METER = np.dtype(
    [
        *((name, np.int64) for name in ("link", "made", "used", "back")),
        *((name, np.uint64) for name in ("key", "draws")),
        *((name, np.float64) for name in ("begun", "all_then", "own_then", "measuring_then", "own", "measuring")),
    ]
)
#: An estimate: K - A [packet/s], when it was made, and what acknowledges the packet that carries it (0: none does).
ESTIMATE = np.dtype([("value", np.float64), ("time", np.float64), ("carrier", np.int64)])
#: Estimates that wait or are on their way, a power of two above the greatest staleness and a round trip over the least
#: interval.
WAITING = 64

_meter = at.part_of("meters", METER)
_estimate = at.part_of("estimates", ESTIMATE)
_changed = called(changes.depart)


def depart(w: Any, line: Any, slot: Any) -> Any:
    """A packet begins to be sent: the seconds until its last bit is, and in `line.arrival` when it is at the end."""
    e = at.event(w, slot)
    i = np.int64(e.flow)
    bits = 8.0 * e.length
    of_link = _meter(w, line, w.n_flows + line.number)
    m = _meter(w, line, i)
    if m.link == line.number and e.kind != k.ACK:
        _measure(w, line, i, m, of_link)
        _hand_over(w, line, i, m, e.seq)
        m.own += bits
        of_link.measuring += bits
    of_link.own += bits
    if line.course >= 0:
        return _changed(w, line, slot)
    hop = at.hop(w, e.hop)
    tx = tx_time(w, hop, line.rate, e.length)
    line.arrival = w.now + (tx + hop.delay)
    return tx


@called
def _measure(w: Any, line: Any, i: Any, m: Any, of_link: Any) -> None:
    """End the interval if it has been long enough: an estimate; x5: least round-trip time, 0 if not known."""
    f = at.flow(w, i)
    if m.begun < max(f.since, f.x1):  # another connection, or before a timeout
        m.used = m.back = m.made
    elif f.x5 <= 0.0 or w.now - m.begun < f.p3 * f.rtt or m.made - m.back >= WAITING:
        return
    else:
        cross_bits = of_link.own - m.all_then - (m.own - m.own_then)
        if f.p6 > 0.0:
            cross_bits -= of_link.measuring - m.measuring_then - (m.own - m.own_then)
        cross_rate = cross_bits / (w.now - m.begun)
        if f.p6 > 0.0:
            cross_rate += _offered(w, line, i)
        available = max(line.rate - cross_rate, 0.0)
        if f.p4 > 0.0:
            available = max(available * (1.0 + f.p4 * _normal(m)), 0.0)
        place = _place(w, line, i, m.made)
        place.value = max(f.p2 - available, 0.0) / (8.0 * f.packet_size)
        place.time = w.now
        m.made += 1
    m.begun = w.now
    m.all_then = of_link.own
    m.own_then = m.own
    m.measuring_then = of_link.measuring


@called
def _hand_over(w: Any, line: Any, i: Any, m: Any, seq: Any) -> None:
    """Give this packet the newest estimate that is old enough; then x2, x3: the first that is on its way, if any."""
    f = at.flow(w, i)
    latest = w.now - f.p5 * f.x5
    news = -1
    while m.used < m.made and _place(w, line, i, m.used).time <= latest:
        _place(w, line, i, m.used).carrier = 0
        news = m.used
        m.used += 1
    if news >= 0:
        _place(w, line, i, news).carrier = seq + 1
    while m.back < m.used and (f.x2 == 0.0 or f.una >= f.x2):
        if f.x2 > 0.0:  # known to the sender since its last acknowledgement
            f.x0 = f.x3
            f.x2 = 0.0
            f.x4 = 1.0
        place = _place(w, line, i, m.back)
        m.back += 1
        if place.carrier > 0:
            f.x3 = place.value
            f.x2 = np.float64(place.carrier)


@inlined
def _place(w: Any, line: Any, i: Any, number: Any) -> Any:
    """Where estimate `number` of a flow is."""
    return _estimate(w, line, i * WAITING + (number & (WAITING - 1)))


@inlined
def _offered(w: Any, line: Any, i: Any) -> Any:
    """Windows over least round-trip times of the other flows that measure here [bit/s]."""
    total = 0.0
    for j in range(w.n_flows):
        if j != i and _meter(w, line, j).link == line.number:
            f = at.flow(w, j)
            if f.x5 > 0.0 and f.finish == math.inf:
                total += 8.0 * f.packet_size * min(f.cwnd, np.float64(f.window)) / f.x5
    return total


@inlined
def _normal(m: Any) -> Any:
    """A draw from the standard normal law (Box and Muller)."""
    m.draws += ONE
    u = uniform(m.key, m.draws)
    m.draws += ONE
    return math.sqrt(-2.0 * math.log(1.0 - u)) * math.cos(2.0 * math.pi * uniform(m.key, m.draws))
