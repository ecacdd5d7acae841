"""The list of events to come: a calendar queue, and a binary heap to test it against.

An event keeps its slot while its packet travels; equal times keep the order in which they were scheduled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import views as at
from .jit import called, inlined
from .records import FREE


@inlined
def new_slot(w: Any) -> Any:
    """Take a slot from the pool; the loop has made sure that enough are free."""
    slot = w.free_event
    w.free_event = at.event(w, slot).next
    w.free_count -= 1
    return slot


@inlined
def free_slot(w: Any, slot: Any) -> None:
    """Return a slot to the pool."""
    at.event(w, slot).what = FREE
    at.event(w, slot).next = w.free_event
    w.free_event = slot
    w.free_count += 1


def _insert(w: Any, slot: Any, time: Any) -> None:
    """Schedule the event in `slot`."""
    buckets, heap = at.buckets(w), at.heap(w)
    e = at.event(w, slot)
    e.time = time
    if w.heap:
        w.order += 1
        e.order = w.order
        place = w.heap_count
        w.heap_count += 1
        while place > 0:
            parent = (place - 1) >> 1
            above = heap[parent]
            if at.event(w, above).time <= time:  # equal times keep their order
                break
            heap[place] = above
            place = parent
        heap[place] = slot
        return
    bucket = np.int64(time * w.inv_width) & w.mask
    after = buckets[bucket, 0]
    if after < 0 or at.event(w, after).time > time:
        e.next = after
        buckets[bucket, 0] = slot
        if after < 0:
            buckets[bucket, 1] = slot
        return
    # Last in its list: thousands of events at one time must not each walk past the others.
    before = np.int64(buckets[bucket, 1])
    if at.event(w, before).time <= time:
        e.next = -1
        at.event(w, before).next = slot
        buckets[bucket, 1] = slot
        return
    before = np.int64(after)
    after = at.event(w, before).next
    while after >= 0 and at.event(w, after).time <= time:
        before = after
        after = at.event(w, before).next
    e.next = after
    at.event(w, before).next = slot


#: Schedule the event in `slot`: inlined for the one place that every packet passes, called from everywhere else.
insert_here = inlined(_insert)
insert = called(_insert)


@called
def schedule(w: Any, time: Any, what: Any, flow: Any, seq: Any) -> None:
    """Schedule an event that is no packet."""
    slot = new_slot(w)
    e = at.event(w, slot)
    e.what = what
    e.flow = flow
    e.seq = seq
    insert(w, slot, time)


@inlined
def earliest(w: Any) -> Any:
    """Slot of the earliest event, or -1; leaves `w.bucket` at its bucket."""
    if w.heap:
        return at.heap(w)[0] if w.heap_count > 0 else -1
    for _ in range(w.mask + 1):
        slot = at.buckets(w)[w.bucket & w.mask, 0]
        if slot >= 0 and np.int64(at.event(w, slot).time * w.inv_width) == w.bucket:
            return slot
        w.bucket += 1
    # A whole year without an event: look at every list's head instead of turning more pages.
    best = -1
    for i in range(w.mask + 1):
        slot = at.buckets(w)[i, 0]
        if slot >= 0 and (best < 0 or at.event(w, slot).time < at.event(w, best).time):
            best = slot
    if best >= 0:
        w.bucket = np.int64(at.event(w, best).time * w.inv_width)
    return best


@inlined
def unlink(w: Any, slot: Any) -> None:
    """Take the earliest event, in `slot`, off the list; the slot stays its owner's."""
    if w.heap:
        _drop_root(w)
    else:
        at.buckets(w)[w.bucket & w.mask, 0] = at.event(w, slot).next


@inlined
def _before(w: Any, a: Any, b: Any) -> Any:
    ea, eb = at.event(w, a), at.event(w, b)
    return ea.time < eb.time or (ea.time == eb.time and ea.order < eb.order)


@inlined
def _drop_root(w: Any) -> None:
    w.heap_count -= 1
    count = w.heap_count
    last = at.heap(w)[count]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= count:
            break
        if child + 1 < count and _before(w, at.heap(w)[child + 1], at.heap(w)[child]):
            child += 1
        if _before(w, last, at.heap(w)[child]):
            break
        at.heap(w)[place] = at.heap(w)[child]
        place = child
    at.heap(w)[place] = last
