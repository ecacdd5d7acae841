"""TFRC's equation and its average of loss intervals, which both rule books share; the law is `models.Tfrc`'s."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import views as at
from ..jit import called, inlined
from ..records import FLOW

#: One loss interval: its packets, what share of its weight is left, the weight by age (the open one is number 0). A
#: sender by the RFC keeps the rates of recent reports here too.
LANE = np.dtype([(name, np.float64) for name in ("packets", "kept", "weight", "heard", "heard_at")])
interval = at.part_of("paced_lanes", LANE, FLOW, "paced_state")

#: A recent packet at the receiver: when it came and was sent, and what is known of it.
RING = np.dtype([("came", np.float64), ("stamp", np.float64), ("what", np.int64)])
UNKNOWN, HERE, EVENT, MISSING = range(4)
_packet = at.part_of("paced_ring", RING, FLOW, "paced_state")


@called
def past(w: Any, f: Any, seq: Any) -> Any:
    """What the receiver remembers of packet `seq`."""
    return _packet(w, f, seq & (f.n_ring - 1))


@called
def seconds_per_packet(p: Any, rtt: Any, timeout: Any, b: Any, bounded: Any) -> Any:
    """1/X of RFC 5348, section 3.1; `bounded`: the chance of a timeout is at most 1, as in ns-2."""
    chance = 3.0 * math.sqrt(3.0 * b * p / 8.0)
    if bounded:
        chance = min(chance, 1.0)
    return rtt * math.sqrt(2.0 * b * p / 3.0) + chance * (timeout * p * (1.0 + 32.0 * p * p))


@inlined
def _weight(w: Any, f: Any, i: Any, shift: Any, factor: Any) -> Any:
    length = interval(w, f, i).kept
    return (length if i == 0 else factor * length) * interval(w, f, i + shift).weight


@called
def weigh(w: Any, f: Any, first: Any, end: Any, shift: Any, factor: Any) -> Any:
    """Weighted mean of the intervals first, ..., end - 1, with weights from `shift` on, older ones times `factor`."""
    total = 0.0
    for i in range(first, end):
        total += _weight(w, f, i, shift, factor)
    mean = 0.0
    for i in range(first, end):
        mean += _weight(w, f, i, shift, factor) * interval(w, f, i).packets / total
    return mean


@called
def begin_interval(w: Any, f: Any, factor: Any) -> None:
    """A loss event: the open interval is closed, all move on by one, the discount stays with what it fell on."""
    for i in range(f.n_lanes - 1, 0, -1):
        lane, newer = interval(w, f, i), interval(w, f, i - 1)
        lane.packets = newer.packets
        lane.kept = newer.kept * factor if i > 1 else newer.kept
    interval(w, f, 0).packets = 0.0
    interval(w, f, 0).kept = 1.0


@called
def received_within(w: Any, f: Any, highest: Any, rtt: Any) -> Any:
    """Packets received in the `rtt` seconds up to the receipt of packet `highest`."""
    last = past(w, f, highest).came
    count = 0
    for seq in range(highest, max(highest - f.n_ring + 1, 0), -1):
        packet = past(w, f, seq)
        if packet.what == HERE:
            if packet.came + rtt <= last:
                break
            count += 1
        w.scanned += 1
    return count
