"""RED: packets are lost, or marked, the likelier the longer the mean queue (Floyd and Jacobson 1993).

The mean counts what waits, without the packet being sent, in packets or in bytes. With `ns2` the arithmetic is that of
ns-2.35, with `linux` that of Linux's sch_red behind a token bucket; they differ from the paper's where noted below.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tcpdynamics.errors import ScenarioError

from .. import views as at
from ..jit import called, inlined
from ..losses import mark
from ..parameters import Parameter
from ..streams import ONE, uniform
from . import droptail, ns2_draws

SOURCE = "S. Floyd and V. Jacobson, IEEE/ACM Transactions on Networking 1, 1993; S. Floyd, Note on gentle RED, 2000"

#: It marks packets that may be marked (ECN) where it would lose them.
MARKS = True

PARAMETERS = (
    Parameter("min_threshold", "packet", "mean queue from which packets are lost", 5.0, 0.0, 1e7),
    Parameter("max_threshold", "packet", "mean queue from which every packet is lost", 15.0, 0.0, 1e7),
    Parameter("p_max", "1", "share lost at the upper threshold", 0.1, 1e-9, 1.0),
    Parameter("weight", "1", "weight of a new sample in the mean queue", 0.002, 1e-9, 1.0),
    Parameter("gentle", "", "1: the share rises on to 1 at twice max_threshold", 0.0, 0.0, 1.0, whole=True),
    Parameter("bytes", "", "1: the queue is counted in bytes, large packets are lost more often", 0.0, 0.0, 1.0, True),
    Parameter("wait", "", "1: after a loss at least 1/p packets pass", 0.0, 0.0, 1.0, whole=True),
    Parameter("mark_p", "1", "share below which packets are marked rather than lost; 1: always", 1.0, 0.0, 1.0),
    Parameter("mean_packet", "B", "packet by which bytes and idle times are measured", 500.0, 1.0, 1e6, whole=True),
    Parameter("ns2", "", "1: as ns-2.35 does; 2: and with its random numbers", 0.0, 0.0, 2.0, whole=True),
    Parameter("linux", "", "1: as Linux does, behind a token bucket", 0.0, 0.0, 1.0, whole=True),
)

#: What is recorded over time: the first fields of the state, with unit and meaning.
RECORDED = {
    "average": ("packets", "RED's mean queue (bytes with `bytes`)"),
    "share": ("1", "RED's share of packets to lose or mark, before they are spread evenly"),
}

STATE = np.dtype(
    [
        *((name, np.float64) for name in RECORDED),
        *((p.name, np.float64) for p in PARAMETERS),
        # thresholds in the unit of the queue; lines of the law: p_max (slope q + offset), gentle: rise q + floor;
        # Linux's draw for the gap to the next loss
        *((name, np.float64) for name in ("low", "high", "slope", "offset", "rise", "floor", "per_second", "gap")),
        *((name, np.int64) for name in ("count", "count_bytes", "above")),
        *ns2_draws.FIELDS,
    ]
)
_state = at.part_of("state", STATE)


def refuse(values: Mapping[str, float], key: str) -> None:
    """Thresholds in the wrong order; what Linux does not have."""
    if not values["min_threshold"] < values["max_threshold"]:
        raise ScenarioError(
            f"{key}.min_threshold must be below {key}.max_threshold = {values['max_threshold']:g}, got "
            f"{values['min_threshold']:g}"
        )
    other = [name for name in ("gentle", "bytes", "wait", "ns2") if values["linux"] and values[name]]
    if other:
        raise ScenarioError(f"{key}.{other[0]}: Linux's RED has no such thing; leave it out, or {key}.linux")


def prepare(state: Any, lanes: Any, values: Mapping[str, float], way: Any) -> None:
    """What follows from the parameters; the order of the operations is ns-2's."""
    scale = values["mean_packet"] if values["bytes"] else 1.0
    state["low"], state["high"] = values["min_threshold"] * scale, values["max_threshold"] * scale
    width = state["high"] - state["low"]
    state["slope"], state["offset"] = 1.0 / width, -state["low"] / width
    p_max = state["p_max"] = 1.0 / (1.0 / values["p_max"])  # ns-2 is given the inverse
    state["rise"], state["floor"] = (1.0 - p_max) / state["high"], 2.0 * p_max - 1.0
    state["per_second"] = way.rate / (8.0 * values["mean_packet"])
    state["count"] = 0 if values["ns2"] else -1
    ns2_draws.begin(state)


@inlined
def _share(s: Any) -> Any:
    """Of packets to lose or mark at this mean queue; p_b in the paper."""
    if s.average < s.high:
        return s.p_max * (s.slope * s.average + s.offset)
    return min(s.rise * s.average + s.floor, 1.0) if s.gentle else 1.0


@inlined
def _spread(s: Any, share: Any, passed: Any) -> Any:
    """The share that makes the gaps between losses uniform; p_a in the paper. `passed`: packets since the last."""
    if s.wait:
        if passed * share < 1.0:
            return 0.0
        return share / (2.0 - passed * share) if passed * share < 2.0 else 1.0
    return share / (1.0 - passed * share) if passed * share < 1.0 else 1.0


@inlined
def _draw(line: Any, s: Any) -> Any:
    if s.ns2 == 2.0:
        return ns2_draws.draw(s)
    line.draws += ONE
    return uniform(line.key, line.draws)


@called
def _published(w: Any, line: Any, s: Any, size: Any, held: Any, busy: Any) -> Any:
    """Is the packet to be lost or marked? By the paper, figure 2 and section 7."""
    if busy:
        s.average += s.weight * (held - s.average)
    else:  # as if packets had come, one each sending time, while the link was idle
        s.average *= (1.0 - s.weight) ** (s.per_second * (w.now - line.free_at))
    s.share = 0.0
    if s.average < s.low:
        s.count = -1
        return False
    s.count += 1
    s.share = _share(s)
    share = s.share * size / s.mean_packet if s.bytes and s.share < 1.0 else s.share
    if _draw(line, s) >= _spread(s, min(share, 1.0), s.count):
        return False
    s.count = 0
    return True


@called
def _as_ns2(w: Any, line: Any, s: Any, size: Any, held: Any, busy: Any) -> Any:
    """The same as ns-2 does it.

    The idle time counts in whole packets, and one more; the first packet above the lower threshold always passes, and
    so does one that finds at most one packet waiting; bytes count after the gaps were made uniform.
    """
    idle = 0.0 if busy else w.now - line.free_at
    steps = 1 + np.int64(s.per_second * idle)
    keep = 1.0 - s.weight
    while steps > 0 and s.average > 0.0:
        s.average *= keep
        steps -= 1
    s.average += s.weight * held
    s.count += 1
    s.count_bytes += size
    if s.average < s.low or held <= 1.0:
        s.share = 0.0
        s.above = 0
        return False
    if not s.above:
        s.above = 1
        s.count = 1
        s.count_bytes = size
        return False
    s.share = _share(s)
    passed = np.float64(s.count_bytes // np.int64(s.mean_packet) if s.bytes else s.count)
    p = _spread(s, s.share, passed)
    if s.bytes and p < 1.0:
        p = min(p * size / s.mean_packet, 1.0)
    if _draw(line, s) > p:
        return False
    s.count = 0
    s.count_bytes = 0
    return True


@called
def _as_linux(line: Any, s: Any, held: Any) -> Any:
    """The same as Linux does it (include/net/red.h).

    One number is drawn for each gap, and a packet chosen as soon as the share times the packets since reaches it: the
    gaps of the paper where the share stays, others where it rises and falls. The first packet above the lower
    threshold passes. A token bucket only looks at the first packet, so that RED never hears that the link is idle.
    """
    s.average += s.weight * (held - s.average)
    s.share = 0.0
    if s.average < s.low:
        s.count = -1
        return False
    s.share = _share(s)
    if s.average >= s.high:
        s.count = -1
        return True
    s.count += 1
    if s.count > 0 and s.share * s.count < s.gap:
        return False
    chosen = s.count > 0
    s.count = 0
    s.gap = _draw(line, s)
    return chosen


def admits(w: Any, line: Any, slot: Any, busy: Any) -> Any:
    """The mean queue moves on, and decides; a full queue has the last word."""
    s = _state(w, line, 0)
    size = np.int64(at.event(w, slot).length)
    length = np.float64(line.waiting_bytes if s.bytes else line.waiting)
    if s.linux:
        chosen = _as_linux(line, s, length)
    elif s.ns2:
        chosen = _as_ns2(w, line, s, size, length, busy)
    else:
        chosen = _published(w, line, s, size, length, busy)
    if chosen and not ((s.share < s.mark_p or s.mark_p == 1.0) and mark(w, line, slot)):
        return 0
    if droptail.admits(w, line, size, busy):
        return 1
    if not s.linux:
        s.count = 0
        s.count_bytes = 0
    return 0


put, take = droptail.put, droptail.take
