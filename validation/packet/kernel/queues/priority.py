"""Strict priority: a packet is sent only while no packet of a higher class waits.

Class 0 is the highest. A full buffer loses the last packet of the lowest class that has one, unless the arriving packet
is of that class or a lower one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import views as at
from ..losses import lose_held
from ..parameters import Parameter
from .lanes import LANE as LANE
from .lanes import append, lane, overfull, pop, pop_last

SOURCE = "L. Kleinrock, Queueing Systems, volume 2, 1976, section 3.6 (head-of-the-line priority)"

PARAMETERS = (
    Parameter("queues", "", "classes; a flow's is its `priority`, the last for all above", 2.0, 1.0, 256.0, whole=True),
)

RECORDED = {"urgent": ("packets", "packets of the highest class that wait")}

STATE = np.dtype([*((name, np.float64) for name in RECORDED), ("queues", np.float64)])
_state = at.part_of("state", STATE)


def admits(w: Any, line: Any, slot: Any, busy: Any) -> Any:
    """All may wait; `put` makes room."""
    return 1


def put(w: Any, line: Any, slot: Any) -> None:
    """A packet joins its class; while the buffer is too full, the lowest class that waits loses its last packet."""
    flow = at.flow(w, np.int64(at.event(w, slot).flow))
    append(w, lane(w, line, min(flow.priority, line.n_lanes - 1)), slot)
    lowest = line.n_lanes - 1
    while line.waiting > 0 and overfull(line):
        while lane(w, line, lowest).packets == 0:
            lowest -= 1
        lose_held(w, line, pop_last(w, lane(w, line, lowest)))
    _state(w, line, 0).urgent = np.float64(lane(w, line, 0).packets)


def take(w: Any, line: Any) -> Any:
    """The first packet of the highest class that waits."""
    slot = -1
    for i in range(line.n_lanes):
        slot = pop(w, lane(w, line, i))
        if slot >= 0:
            break
    _state(w, line, 0).urgent = np.float64(lane(w, line, 0).packets)
    return slot
