"""T-REFWA (Taleb, Nishiyama, Jamalipour, Kato, Nemoto): windows fed back by the router, eq. (1-3), Table I.

Senders write the 6-bit code of their round-trip time into each segment. The router remembers of each flow its code and
when it last sent, and every RTT_avg counts the flows in progress by code and computes an aggregate window. A flow's
part of it, in proportion to its round-trip time, is written into the acknowledgements that pass.

What the text leaves open:

- Q(n-1), at time n RTT_avg, is the queue of one interval ago (`queue_age` 1) or of now (0).
- A round-trip time is the smoothed one, queueing included (`measured_rtt` 1), or the least one (0).
- Upsilon(n-1) is what was commanded, or (`measured_window` 1) the data that came in the interval, and what waits where
  round-trip times are without it.
- A sender that has measured nothing writes no code, and counts nowhere. The first interval begins with the first code,
  and with an aggregate of one bandwidth-delay product. While no flow is in progress the last shares hold.
- The aggregate has no floor and no ceiling (but `clamped`): below 0 it is less than no window, and senders keep one
  packet. With phi in (0, 2) it stays bounded, for B - Q lies in [0, B]; with phi = 0 and psi > 0 it only grows.

A flow is in progress if its last segment came less than `idle` RTT_avg ago; 1 in the text, which leaves out flows with
longer round-trip times that send in bursts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tcpdynamics.errors import ScenarioError

from .. import views as at
from ..calendar import schedule
from ..jit import inlined
from ..parameters import Parameter
from ..records import ROUTE, WINDOW_WRITTEN
from ..streams import on_grid

SOURCE = "Taleb and others, A fair TCP-based congestion avoidance approach for one-to-many private networks"

PARAMETERS = (
    Parameter("phi", "", "gain on spare bandwidth", 1.5, high=10.0),
    Parameter("psi", "", "gain on free buffer", 0.5, high=10.0),
    Parameter("idle", "", "silence up to which a flow is in progress, in mean round-trip times", 1.0, 0.01, 100.0),
    Parameter(
        "measured_rtt", "", "1: codes of smoothed round-trip times, 0: of the least ones", 1.0, high=1.0, whole=True
    ),
    Parameter("queue_age", "", "age of the queue in the recursion, in intervals", 1.0, high=1.0, whole=True),
    Parameter("measured_window", "", "1: the bracket holds the measured aggregate", 0.0, high=1.0, whole=True),
    Parameter(
        "clamped", "", "1: the aggregate is at most bandwidth-delay product and buffer", 0.0, high=1.0, whole=True
    ),
)

#: Codes a doubling, and of codes (eq. 1).
K, CODES = 6.3, 64

#: `aggregate` [packets of `length` byte]: Upsilon; `total`: the sum of n_j RTT_j [s]; `queue`: that at the end of the
#: last interval; `came`: bytes of data since.
STATE = np.dtype(
    [
        *((name, np.float64) for name in ("aggregate", "rtt_avg", "active", "groups")),
        *((name, np.float64) for name in ("phi", "psi", "idle", "buffer", "length", "total", "queue", "came")),
        *(
            (name, np.int64)
            for name in ("measured_rtt", "queue_age", "measured_window", "clamped", "in_bytes", "members")
        ),
    ]
)

#: Flows in progress with a code, and what it is decoded to [s], eq. (2).
GROUP = np.dtype([("count", np.int64), ("rtt", np.float64)])

#: A flow: its code, -1 before the first; when its last segment came [s].
MEMBER = np.dtype([("code", np.int64), ("last", np.float64)])

RECORDED = {
    "window": ("packets", "aggregate window, Upsilon, in packets of the largest size"),
    "rtt": ("s", "mean round-trip time of the flows in progress, RTT_avg"),
    "flows": ("1", "flows in progress"),
    "groups": ("1", "groups with a flow in progress"),
}

_state = at.part_of("router", STATE)
_group = at.part_of("router_groups", GROUP)
_member = at.part_of("router_members", MEMBER)


#: With |1 - phi| > 1 the printed recursion grows without end, whatever the queue does.
MOST_COMMANDED = 2.0


def refuse(values: dict[str, float], key: str) -> None:
    """Refuse a gain with which eq. (3), of what was commanded, diverges although B - Q lies in [0, B]."""
    if values["phi"] > MOST_COMMANDED and not values["measured_window"]:
        raise ScenarioError(
            f"{key}.phi must be at most {MOST_COMMANDED:g} with measured_window = 0, got {values['phi']:g}: the "
            "aggregate window, multiplied by 1 - phi in each interval, grows without end; lower "
            "it, or set measured_window = 1"
        )


def prepare(state: Any, groups: Any, members: Any, values: dict[str, float], way: Any, size: int) -> None:
    """The records of a link's router before the run."""
    for name, value in values.items():
        state[name] = value
    state["length"] = size
    state["in_bytes"] = way.buffer is None
    state["buffer"] = way.buffer if way.buffer is not None else way.buffer_bytes / size
    state["members"] = len(members)
    state["aggregate"] = state["rtt_avg"] = math.nan  # until the first code
    codes = np.arange(CODES)
    groups["rtt"] = 0.5e-3 * (np.exp2(codes / K) + np.exp2((codes + 1) / K))
    members["code"] = -1


@inlined
def code_of(rtt: Any) -> Any:
    """RTTC of eq. (1), 0 below a millisecond; -1 for none measured."""
    if not 0.0 < rtt < np.inf:
        return -1.0
    return min(max(math.floor(K * math.log2(1e3 * rtt)), 0.0), CODES - 1.0)


def on_send(w: Any, f: Any, slot: Any) -> None:
    """The code of the smoothed round-trip time, and that of the least: of these the router reads one.

    Those that know nothing of routers write none. Senders in `paced` are not asked, and have no codes.
    """
    speaks = f.advertised > 0 and f.srtt > 0.0
    at.headers(w)[slot, 0] = code_of(f.srtt) if speaks else -1.0
    at.headers(w)[slot, 1] = code_of(f.min_rtt) if speaks else -1.0


def on_data(w: Any, line: Any, slot: Any) -> None:
    """A segment: its flow is in progress, with the code in the header."""
    s = _state(w, line, 0)
    e = at.event(w, slot)
    s.came += e.length
    if at.flow(w, e.flow).paced:
        return
    code = np.int64(at.headers(w)[slot, 0 if s.measured_rtt else 1])
    if code < 0:
        return
    m = _member(w, line, e.flow)
    m.code = code
    m.last = w.now
    if np.isnan(s.rtt_avg):
        s.rtt_avg = _group(w, line, code).rtt
        s.aggregate = line.rate / (8.0 * s.length) * s.rtt_avg
        s.total = s.rtt_avg
        s.came = 0.0
        schedule(w, w.now + on_grid(w, s.rtt_avg), ROUTE, line.number, 0)


def on_ack(w: Any, line: Any, slot: Any) -> None:
    """F_alpha of eq. (3) into an acknowledgement's window, unless a router before has written less."""
    s = _state(w, line, 0)
    e = at.event(w, slot)
    code = _member(w, line, e.flow).code
    if code < 0 or s.total <= 0.0:
        return
    window = s.length * s.aggregate * _group(w, line, code).rtt / s.total
    if e.mark & WINDOW_WRITTEN:
        window = min(window, at.headers(w)[slot, 0])
    at.headers(w)[slot, 0] = window
    e.mark |= WINDOW_WRITTEN


def on_interval(w: Any, line: Any) -> None:
    """Count the flows in progress, take the next step of the recursion."""
    s = _state(w, line, 0)
    for code in range(CODES):
        _group(w, line, code).count = 0
    for i in range(s.members):
        m = _member(w, line, i)
        if m.code >= 0 and w.now - m.last < s.idle * s.rtt_avg:
            _group(w, line, m.code).count += 1
    active = groups = 0
    total = 0.0
    for code in range(CODES):
        g = _group(w, line, code)
        active += g.count
        groups += g.count > 0
        total += g.count * g.rtt
    s.active = np.float64(active)
    s.groups = np.float64(groups)
    if active:
        s.total = total
        s.rtt_avg = total / active
    queue = line.waiting_bytes / s.length if s.in_bytes else np.float64(line.waiting)
    used = s.aggregate
    if s.measured_window:
        used = s.came / s.length + (0.0 if s.measured_rtt else queue)
    product = line.rate / (8.0 * s.length) * s.rtt_avg
    s.aggregate += s.phi * (product - used) + s.psi * (s.buffer - (s.queue if s.queue_age else queue))
    if s.clamped:
        s.aggregate = min(s.aggregate, product + s.buffer)
    s.queue = queue
    s.came = 0.0
    schedule(w, w.now + on_grid(w, s.rtt_avg), ROUTE, line.number, 0)
