"""DRR: flows have lanes that send a quantum of bytes each in turn (Shreedhar and Varghese 1996).

What a lane may not send for want of credit it keeps for its next turn, so shares are even in bytes, whatever the sizes
of packets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import views as at
from ..losses import lose_held
from ..parameters import Parameter
from .lanes import LANE as LANE
from .lanes import activate, append, lane, overfull, pop, retire

SOURCE = "M. Shreedhar and G. Varghese, IEEE/ACM Transactions on Networking 4, 1996"

PARAMETERS = (
    Parameter("queues", "", "lanes; a flow's is its number modulo this", 16.0, 1.0, 65536.0, whole=True),
    Parameter("quantum", "B", "bytes that a lane may send in a turn", 1500.0, 40.0, 1e9, whole=True),
    Parameter("ns2", "", "1: a lane emptied by losses keeps ns-2.35's spent turn", 0.0, 0.0, 1.0, whole=True),
)

RECORDED = {"lanes": ("1", "lanes with packets")}

STATE = np.dtype(
    [*((name, np.float64) for name in RECORDED), *((p.name, np.float64) for p in PARAMETERS), ("current", np.int64)]
)
_state = at.part_of("state", STATE)


def prepare(state: Any, lanes: Any, values: Mapping[str, float], way: Any) -> None:
    """Nothing waits."""
    state["current"] = -1


def admits(w: Any, line: Any, slot: Any, busy: Any) -> Any:
    """All may wait; `put` makes room."""
    return 1


def put(w: Any, line: Any, slot: Any) -> None:
    """A packet joins its flow's lane; while the buffer is too full, the lane with most bytes loses its first packet."""
    s = _state(w, line, 0)
    i = np.int64(at.event(w, slot).flow) % line.n_lanes
    q = lane(w, line, i)
    append(w, q, slot)
    if q.packets == 1:
        activate(w, line, s, i)
        q.credit = 0
        s.lanes += 1.0
    while line.waiting > 0 and overfull(line):
        fullest = s.current
        other = s.current
        for _ in range(np.int64(s.lanes)):
            if lane(w, line, other).bytes > lane(w, line, fullest).bytes:
                fullest = other
            other = lane(w, line, other).next
        q = lane(w, line, fullest)
        lost = pop(w, q)
        if q.packets == 0:
            retire(w, line, s, fullest)
            s.lanes -= 1.0
            if not s.ns2:
                q.turn = 0
        lose_held(w, line, lost)


def take(w: Any, line: Any) -> Any:
    """The next packet of the first lane in turn that has the credit for it."""
    s = _state(w, line, 0)
    while s.current >= 0:
        q = lane(w, line, s.current)
        if not q.turn:  # its turn begins
            q.credit += np.int64(s.quantum)
            q.turn = 1
        size = np.int64(at.event(w, q.head).length)
        if q.credit >= size:
            q.credit -= size
            slot = pop(w, q)
            if q.packets == 0:
                q.turn = 0
                q.credit = 0
                retire(w, line, s, s.current)
                s.lanes -= 1.0
            return slot
        q.turn = 0
        s.current = q.next
    return -1
