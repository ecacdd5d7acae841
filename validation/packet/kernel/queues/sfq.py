"""SFQ: flows are hashed into lanes that send one packet each in turn (McKenney 1990)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import views as at
from ..jit import inlined
from ..losses import lose_held
from ..parameters import Parameter
from ..streams import mix
from .lanes import LANE as LANE
from .lanes import activate, append, hashed, lane, overfull, pop, pop_last, retire

SOURCE = "P. E. McKenney, Stochastic fairness queueing, IEEE INFOCOM 1990"

PARAMETERS = (
    Parameter("queues", "", "lanes", 16.0, 1.0, 65536.0, whole=True),
    Parameter("perturbation", "s", "time after which flows are hashed anew; 0: number modulo lanes", 0.0, 0.0, 1e6),
    Parameter("ns2", "", "1: a full buffer refuses by ns-2.35's rule for shares", 0.0, 0.0, 1.0, whole=True),
    Parameter(
        "lane_limit", "packet", "packets that a lane holds; 0: lanes share the buffer", 0.0, 0.0, 1e7, whole=True
    ),
)

RECORDED = {"lanes": ("1", "lanes with packets")}

STATE = np.dtype(
    [*((name, np.float64) for name in RECORDED), *((p.name, np.float64) for p in PARAMETERS), ("current", np.int64)]
)
_state = at.part_of("state", STATE)


def prepare(state: Any, lanes: Any, values: Mapping[str, float], way: Any) -> None:
    """Nothing waits."""
    state["current"] = -1


@inlined
def lane_of(w: Any, line: Any, s: Any, slot: Any) -> Any:
    flow = np.int64(at.event(w, slot).flow)
    if s.perturbation <= 0.0:
        return flow % line.n_lanes
    return hashed(mix(line.key + np.uint64(np.int64(w.now / s.perturbation))), flow, line.n_lanes)


@inlined
def is_full(w: Any, line: Any, s: Any, i: Any) -> Any:
    """Has lane `i` as many packets as it may hold?"""
    return s.lane_limit > 0.0 and lane(w, line, i).packets >= s.lane_limit


@inlined
def join(w: Any, line: Any, s: Any, i: Any, slot: Any) -> None:
    """A packet joins lane `i`."""
    q = lane(w, line, i)
    append(w, q, slot)
    if q.packets == 1:
        activate(w, line, s, i)
        s.lanes += 1.0


@inlined
def lose_of_longest(w: Any, line: Any, s: Any, own: Any) -> None:
    """The last packet of the longest lane is lost, that of lane `own` where no other is longer."""
    longest = own
    other = s.current
    for _ in range(np.int64(s.lanes)):
        if lane(w, line, other).packets > lane(w, line, longest).packets:
            longest = other
        other = lane(w, line, other).next
    q = lane(w, line, longest)
    lost = pop_last(w, q)
    if q.packets == 0:
        retire(w, line, s, longest)
        s.lanes -= 1.0
    lose_held(w, line, lost)


@inlined
def take_from(w: Any, line: Any, s: Any) -> Any:
    """One packet of the lane whose turn it is; -1 without any."""
    i = s.current
    if i < 0:
        return -1
    q = lane(w, line, i)
    slot = pop(w, q)
    if q.packets == 0:
        retire(w, line, s, i)
        s.lanes -= 1.0
    else:
        s.current = q.next
    return slot


def admits(w: Any, line: Any, slot: Any, busy: Any) -> Any:
    """Published: all may wait, and the longest lane pays. ns-2: none beyond half of what is free, or its even share."""
    s = _state(w, line, 0)
    i = lane_of(w, line, s, slot)
    if is_full(w, line, s, i):
        return 0
    if not s.ns2:
        return 1
    room = line.limit - line.waiting
    used = lane(w, line, i).packets
    if line.limit >= 0 and (
        room <= 0 or used >= room // 2 or (room < line.n_lanes and used > line.limit // line.n_lanes)
    ):
        return 0
    return 1


def put(w: Any, line: Any, slot: Any) -> None:
    """A packet joins its lane; if the buffer is too full now, the last of the longest lane is lost."""
    s = _state(w, line, 0)
    i = lane_of(w, line, s, slot)
    join(w, line, s, i, slot)
    while (not s.ns2 or line.limit_bytes >= 0) and line.waiting > 0 and overfull(line):
        lose_of_longest(w, line, s, i)


def take(w: Any, line: Any) -> Any:
    """One packet of the lane whose turn it is."""
    return take_from(w, line, _state(w, line, 0))
