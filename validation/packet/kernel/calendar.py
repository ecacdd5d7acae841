"""The list of events to come: a calendar queue, and a binary heap to test it against.

An event keeps its slot while its packet travels; equal times keep the order in which they were scheduled.

Where departures are computed ahead, an event is scheduled before its time. Runs whose ties matter to the last event, as
in ns-2, are `keyed` then: `since` of an event is when it would have been scheduled, had there been an event at the end
of each transmission, and equal times are ordered by that. Where both are equal and one of two events was not scheduled
then, nothing here decides, and the caller has to begin anew with those events (`w.undecided`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import views as at
from .jit import called, inlined
from .records import ACKED, FREE


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


@inlined
def _not_after(w: Any, e: Any, time: Any, since: Any) -> Any:
    """Does a scheduled event come before one of these two times?"""
    return e.time < time or (e.time == time and (w.keyed == 0 or abs(e.since) <= since))


def _insert(w: Any, slot: Any, time: Any) -> None:
    """Schedule the event in `slot`, whose `since` is set."""
    buckets, heap = at.buckets(w), at.heap(w)
    e = at.event(w, slot)
    e.time = time
    since = abs(e.since)
    if w.heap:
        w.order += 1
        at.orders(w)[slot] = w.order
        place = w.heap_count
        w.heap_count += 1
        while place > 0:
            parent = (place - 1) >> 1
            above = heap[parent]
            if _not_after(w, at.event(w, above), time, since):
                break
            heap[place] = above
            place = parent
        heap[place] = slot
        return
    bucket = np.int64(time * w.inv_width) & w.mask
    after = buckets[bucket, 0]
    if after < 0 or not _not_after(w, at.event(w, after), time, since):
        e.next = after
        buckets[bucket, 0] = slot
        if after < 0:
            buckets[bucket, 1] = slot
        return
    # Last in its list: thousands of events at one time must not each walk past the others.
    before = np.int64(buckets[bucket, 1])
    if _not_after(w, at.event(w, before), time, since):
        e.next = -1
        at.event(w, before).next = slot
        buckets[bucket, 1] = slot
        return
    before = np.int64(after)
    after = at.event(w, before).next
    while after >= 0 and _not_after(w, at.event(w, after), time, since):
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
    schedule_since(w, time, w.now, what, flow, seq)


@called
def schedule_since(w: Any, time: Any, since: Any, what: Any, flow: Any, seq: Any) -> None:
    """The same of an event that takes the place of one that was scheduled at `since`."""
    slot = new_slot(w)
    e = at.event(w, slot)
    e.since = since
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
        following = at.heap(w)[0] if w.heap_count > 0 else -1
    else:
        following = np.int64(at.event(w, slot).next)
        at.buckets(w)[w.bucket & w.mask, 0] = following
    if w.keyed and following >= 0 and at.event(w, following).time == at.event(w, slot).time:
        _look_at_tie(w, at.event(w, slot), at.event(w, following))


@called
def leave_undecided(w: Any) -> None:
    """Let the loop end before its next event."""
    w.undecided = 1
    w.watch = 1


@called
def _look_at_tie(w: Any, e: Any, following: Any) -> None:
    """Of two events of one time: is their order known? That of a flow's packets at one place is."""
    if abs(e.since) != abs(following.since) or (e.since >= 0.0 and following.since >= 0.0):
        return
    alike = e.flow == following.flow and e.what == following.what and e.hop == following.hop
    if not alike or e.since >= 0.0 or following.since >= 0.0 or e.what > ACKED:
        leave_undecided(w)


@inlined
def _before(w: Any, a: Any, b: Any) -> Any:
    ea, eb = at.event(w, a), at.event(w, b)
    if ea.time != eb.time:
        return ea.time < eb.time
    if w.keyed and abs(ea.since) != abs(eb.since):
        return abs(ea.since) < abs(eb.since)
    return at.orders(w)[a] < at.orders(w)[b]


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
