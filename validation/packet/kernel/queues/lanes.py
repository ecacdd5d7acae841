"""Sub-queues: packets of one lane leave in the order in which they came; lanes with packets stand in a ring.

Every discipline with lanes has `LANE` for their record and `lane(w, line, i)` for the one with number `i`; for a ring
its state has `current`, the lane whose turn it is, -1 without any.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import views as at
from ..jit import inlined
from ..streams import mix
from .codel import MEMORY

#: Packets of a lane, its neighbours in a ring or list of lanes, its credit [B] and whose list it is on; CoDel's memory.
LANE = np.dtype(
    [*((name, np.int64) for name in ("head", "tail", "packets", "bytes", "next", "before", "credit", "turn")), *MEMORY]
)
lane = at.part_of("lanes", LANE)


@inlined
def append(w: Any, q: Any, slot: Any) -> None:
    """A packet joins a lane at its end."""
    e = at.event(w, slot)
    e.next = -1
    if q.packets == 0:
        q.head = slot
    else:
        at.event(w, q.tail).next = slot
    q.tail = slot
    q.packets += 1
    q.bytes += e.length


@inlined
def pop(w: Any, q: Any) -> Any:
    """The first packet leaves a lane; -1 without any."""
    if q.packets == 0:
        return -1
    slot = q.head
    q.head = at.event(w, slot).next
    q.packets -= 1
    q.bytes -= at.event(w, slot).length
    return slot


@inlined
def pop_last(w: Any, q: Any) -> Any:
    """The last packet leaves a lane, which has one; the others are passed on the way to it."""
    slot = q.tail
    if q.packets > 1:
        before = q.head
        while at.event(w, before).next != slot:
            before = at.event(w, before).next
        at.event(w, before).next = -1
        q.tail = before
    q.packets -= 1
    q.bytes -= at.event(w, slot).length
    return slot


@inlined
def activate(w: Any, line: Any, s: Any, i: Any) -> None:
    """Lane `i` joins the ring: its turn is after all others'."""
    q = lane(w, line, i)
    if s.current < 0:
        q.next = i
        q.before = i
        s.current = i
        return
    current = lane(w, line, s.current)
    q.before = current.before
    q.next = s.current
    lane(w, line, current.before).next = i
    current.before = i


@inlined
def retire(w: Any, line: Any, s: Any, i: Any) -> None:
    """Lane `i` leaves the ring; if it is its turn, the next one's comes."""
    q = lane(w, line, i)
    if q.next == i:
        s.current = -1
        return
    lane(w, line, q.before).next = q.next
    lane(w, line, q.next).before = q.before
    if s.current == i:
        s.current = q.next


@inlined
def overfull(line: Any) -> Any:
    """Does more wait than the buffer holds? One packet beside the one being sent is never too many where none waits."""
    if line.limit_bytes >= 0:
        return line.waiting_bytes >= line.limit_bytes
    return line.limit >= 0 and line.waiting > (line.limit if line.busy else max(line.limit, 1))


@inlined
def hashed(key: Any, flow: Any, n: Any) -> Any:
    """The lane of a flow, as if drawn."""
    return np.int64(mix(key + np.uint64(flow + 1) * np.uint64(0x9E3779B97F4A7C15)) % np.uint64(n))
