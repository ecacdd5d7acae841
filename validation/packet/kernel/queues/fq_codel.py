"""FQ-CoDel: flows are hashed into lanes, served by deficit round robin, new ones first; CoDel in each (RFC 8290).

With `linux` as CoDel, and `mtu` is compared with what waits in all lanes, not in one (sch_fq_codel.c): lanes of a
packet or two lose as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import views as at
from ..jit import called, inlined
from ..losses import lose_held
from ..parameters import Parameter
from . import codel
from .lanes import LANE as LANE
from .lanes import append, hashed, lane, overfull, pop

SOURCE = "RFC 8290, section 4"

#: It marks packets that may be marked (ECN) where it would lose them.
MARKS = True

PARAMETERS = (
    Parameter("queues", "", "lanes", 1024.0, 1.0, 65536.0, whole=True),
    Parameter("quantum", "B", "bytes that a lane may send in a turn", 1514.0, 40.0, 1e9, whole=True),
    *codel.PARAMETERS,
)

RECORDED = {
    "lanes": ("1", "lanes in a list: with packets, or just emptied"),
    "delay": ("s", "how long the packet waited that left last"),
}

#: Lists of lanes: new ones are served first.
IDLE, NEW, OLD = range(3)

STATE = np.dtype(
    [
        *((name, np.float64) for name in RECORDED),
        *((p.name, np.float64) for p in PARAMETERS),
        *((name, np.int64) for name in ("new_head", "new_tail", "old_head", "old_tail")),
        *codel.AHEAD,
    ]
)
_state = at.part_of("state", STATE)

refuse = codel.refuse


def prepare(state: Any, lanes: Any, values: Mapping[str, float], way: Any) -> None:
    """Both lists are empty, and the token bucket looks at no packet."""
    state["new_head"] = state["old_head"] = state["ahead"] = -1


@inlined
def _append(w: Any, line: Any, s: Any, i: Any, which: Any) -> None:
    """A lane joins the end of a list."""
    q = lane(w, line, i)
    q.next = -1
    q.turn = which
    if which == NEW:
        if s.new_head < 0:
            s.new_head = i
        else:
            lane(w, line, s.new_tail).next = i
        s.new_tail = i
    else:
        if s.old_head < 0:
            s.old_head = i
        else:
            lane(w, line, s.old_tail).next = i
        s.old_tail = i


@inlined
def _leave(s: Any, q: Any) -> None:
    """The first lane leaves its list."""
    if q.turn == NEW:
        s.new_head = q.next
    else:
        s.old_head = q.next
    q.turn = IDLE


def admits(w: Any, line: Any, slot: Any, busy: Any) -> Any:
    """All may wait; `put` makes room."""
    return 1


@inlined
def _pop(w: Any, line: Any, q: Any) -> Any:
    return pop(w, q)


@inlined
def _waiting_bytes(w: Any, line: Any, q: Any, slot: Any) -> Any:
    s = _state(w, line, 0)
    return codel.bytes_behind(w, line, s, slot) if s.linux else q.bytes


@called
def _choose(w: Any, line: Any) -> Any:
    """The next packet of the first lane that has credit; CoDel may lose some before it."""
    s = _state(w, line, 0)
    while True:
        i = s.new_head if s.new_head >= 0 else s.old_head
        if i < 0:
            return -1
        q = lane(w, line, i)
        if q.credit <= 0:
            q.credit += np.int64(s.quantum)
            _leave(s, q)
            _append(w, line, s, i, OLD)
            continue
        slot = codel.next_packet(w, line, q, s, _pop, _waiting_bytes, q)
        if slot < 0:
            new = q.turn == NEW
            _leave(s, q)
            if new and s.old_head >= 0:  # behind the others' turns it may count as new again
                _append(w, line, s, i, OLD)
            else:
                s.lanes -= 1.0
            continue
        q.credit -= at.event(w, slot).length
        s.delay = q.delay
        return slot


def put(w: Any, line: Any, slot: Any) -> None:
    """A packet joins its lane; if the buffer is too full, the lane with most bytes loses half, from its head.

    At most 64 packets, as section 4.1 of the RFC has it.
    """
    s = _state(w, line, 0)
    i = hashed(line.key, np.int64(at.event(w, slot).flow), line.n_lanes)
    q = lane(w, line, i)
    append(w, q, slot)
    if q.turn == IDLE:
        q.credit = np.int64(s.quantum)
        _append(w, line, s, i, NEW)
        s.lanes += 1.0
    while line.waiting > (s.ahead >= 0) and overfull(line):
        fullest = 0
        for other in range(line.n_lanes):
            if lane(w, line, other).bytes > lane(w, line, fullest).bytes:
                fullest = other
        q = lane(w, line, fullest)
        for _ in range(min((q.packets + 1) // 2, 64)):
            lose_held(w, line, pop(w, q))
    codel.look(w, line, s, _choose)


def take(w: Any, line: Any) -> Any:
    """The lanes decide whose turn it is, CoDel whom to lose, or mark, before."""
    return codel.taken(w, line, _state(w, line, 0), _choose)
