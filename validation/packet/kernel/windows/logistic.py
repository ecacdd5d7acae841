"""Logistic control: the window grows like a population on what measurement says is left of the link.

Each acknowledgement adds epsilon (1 - (w + gamma R (K - A))/(K R)), with the available bandwidth A as `kernel.meters`
measures it, the physical bandwidth K, which is set, and the least round-trip time R. The formula is printed from
`models.LogisticAckClocked` (`logistic_law`). Before the first measurement, at a loss and at a timeout the window is
Reno's; a timeout makes all measurements void.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..jit import inlined
from ..parameters import Parameter
from . import reno
from .logistic_law import next_window

SOURCE = "Iguchi, Hasegawa, Murata 2005, section 3.1"

#: The links on the way need a meter.
MEASURES = True

PARAMETERS = (
    Parameter("epsilon", "1", "growth per round trip", 1.95, 0.0, 1e6),
    Parameter("gamma", "1", "weight of the other traffic", 0.9, 0.0, 1.0),
    Parameter("K", "bit/s", "physical bandwidth; 0: the rate of the slowest link on the way", 0.0, 0.0, 1e13),
    Parameter("interval", "1", "round trips from one measurement to the next", 1.0, 0.25, 16.0),
    Parameter("error", "1", "standard deviation of a measurement's relative error", 0.0, 0.0, 1.0),
    Parameter("staleness", "1", "round trips by which a measurement comes late", 0.0, 0.0, 8.0),
    Parameter("offered", "1", "1: of others count windows over their least round-trip times, not their throughput",
              0.0, 0.0, 1.0, whole=True),
)  # fmt: skip


@inlined
def _on_ack(f: Any, now: Any, acked: Any) -> Any:
    """True where the law has been applied. x0: K - A [packet/s], x4: is it known, x5: least RTT of data [s]."""
    if f.una > f.handshake and (f.x5 == 0.0 or f.rtt < f.x5):
        f.x5 = f.rtt
    if f.x2 > 0.0 and f.una >= f.x2:  # the packet that carried the news (x3) is acknowledged
        f.x0 = f.x3
        f.x2 = 0.0
        f.x4 = 1.0
    if f.x4 == 0.0:
        return False
    capacity = f.p2 / (8.0 * f.packet_size)
    f.cwnd = min(next_window(f.cwnd, f.p0, f.p1, capacity, f.x0, f.x5), np.float64(f.window))
    return True


def on_ack(f: Any, now: Any, acked: Any) -> None:
    """The law, or Reno by the RFC."""
    if not _on_ack(f, now, acked):
        reno.on_ack(f, now, acked)


def on_ack_ns2(f: Any, now: Any, acked: Any) -> None:
    """The law, or Reno as in ns-2."""
    if not _on_ack(f, now, acked):
        reno.on_ack_ns2(f, now, acked)


@inlined
def _forget(f: Any, now: Any) -> None:
    """x1: nothing that was begun before counts."""
    f.x1 = now
    f.x2 = 0.0
    f.x4 = 0.0


def on_timeout(f: Any, now: Any) -> None:
    """Reno by the RFC, and no measurements."""
    reno.on_timeout(f, now)
    _forget(f, now)


def on_timeout_ns2(f: Any, now: Any) -> None:
    """Reno as in ns-2, and no measurements."""
    reno.on_timeout_ns2(f, now)
    _forget(f, now)
