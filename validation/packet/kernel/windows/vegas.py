"""Vegas: between `alpha` and `beta` segments of the flow stay in queues, judged once a round trip (Brakmo 1995).

The expected rate is what is under way over the least RTT, the actual one what was sent in the last round trip over its
mean RTT; their difference times the least RTT is the backlog. Below alpha the window grows by a segment, above beta it
shrinks by one. In slow start it doubles every other round trip, and falls by an eighth, for good, at a backlog above
`gamma`. At a loss it falls by a quarter, at a timeout to two segments.

With rule book "ns2" as Agent/TCP/Vegas of ns-2.35 as long as nothing is lost: the backlog is rounded to whole segments.
That agent finds and repairs losses by fine-grained timers of its own, which `sender` here replaces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tcpdynamics.errors import ScenarioError

from ..jit import inlined
from ..parameters import Parameter

SOURCE = "L. S. Brakmo and L. L. Peterson, IEEE Journal on Selected Areas in Communications 13(8), 1995"

PARAMETERS = (
    Parameter("alpha", "packet", "least backlog: below it the window grows", 1.0, 0.0, 1e6),
    Parameter("beta", "packet", "greatest backlog: above it the window shrinks", 3.0, 0.0, 1e6),
    Parameter("gamma", "packet", "backlog that ends slow start", 1.0, 0.0, 1e6),
)


def refuse(values: Mapping[str, float], key: str) -> None:
    """A least backlog above the greatest."""
    if values["alpha"] > values["beta"]:
        raise ScenarioError(f"{key}.alpha must not be above {key}.beta = {values['beta']:g}, got {values['alpha']:g}")


@inlined
def _once_a_round_trip(f: Any, now: Any, whole: Any) -> None:
    """Decide on the growth per acknowledgement, x5, from now on; x6: does this round trip hold the window?"""
    rtt = f.rtt
    if f.x3 > 0.0:
        rtt = f.x2 / f.x3
    elif f.x1 > 0.0:
        rtt = now - f.x1
    f.x2 = 0.0
    f.x3 = 0.0
    sent = f.next - f.x0
    if rtt < f.x4 or f.x4 == 0.0 or sent <= 1.0:
        f.x4 = rtt
    backlog = ((f.next - f.una + 1) / f.x4 - sent / rtt) * f.x4
    if whole:
        backlog = np.float64(np.int64(backlog + 0.5))
    f.x5 = 0.0
    if f.cwnd < f.ssthresh:
        f.x6 = 1.0 - f.x6
        if f.x6 == 0.0:
            if backlog > f.p2:
                f.ssthresh = 2.0
                f.cwnd = max(f.cwnd - f.cwnd / 8.0, 2.0)
            else:
                f.x5 = 1.0
    elif backlog > f.p1:
        f.cwnd = max(f.cwnd - 1.0, 2.0)
    elif backlog < f.p0:
        f.x5 = 1.0 / f.cwnd
    f.x0 = np.float64(f.next)
    f.x1 = now


@inlined
def _on_ack(f: Any, now: Any, whole: Any) -> None:
    if f.una > f.x0:
        _once_a_round_trip(f, now, whole)
    if f.x5 == 1.0 and f.cwnd >= f.ssthresh:
        f.x5 = 0.0
    if f.cwnd - (f.next - f.una + 1) <= 2.0:  # not while the window is larger than what is sent
        f.cwnd += f.x5
    if whole and f.una <= f.iw:  # ns-2 takes no sample of what was sent at time 0 of the flow
        return
    f.x2 += f.rtt
    f.x3 += 1.0
    if f.rtt < f.x4:
        f.x4 = f.rtt


def on_ack(f: Any, now: Any, acked: Any) -> None:
    """The backlog as it is; never above the advertised window."""
    _on_ack(f, now, False)
    f.cwnd = min(f.cwnd, np.float64(f.window))


def on_ack_ns2(f: Any, now: Any, acked: Any) -> None:
    """As ns-2: the backlog in whole segments."""
    _on_ack(f, now, True)


def on_loss(f: Any, now: Any) -> None:
    """Three quarters of the window, and no slow start after it."""
    f.cwnd = max(0.75 * min(f.cwnd, np.float64(f.window)), 2.0)
    f.ssthresh = 2.0
    f.x0 = np.float64(f.top)  # no judgement before what is sent from now on comes back
    f.x2 = 0.0
    f.x3 = 0.0
    f.x5 = 0.0


def on_timeout(f: Any, now: Any) -> None:
    """A window of two segments, and slow start up to half of the window of before."""
    if f.cwnd > 2.0:  # else the segment is lost again: the threshold falls but once for it
        f.ssthresh = max(min(f.cwnd, np.float64(f.window)) / 2.0, 2.0)
    f.cwnd = 2.0
    f.x0 = np.float64(f.top)
    f.x2 = 0.0
    f.x3 = 0.0
    f.x5 = 0.0
