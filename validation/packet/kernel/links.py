"""Links: a packet joins the queue of its hop, is lost, or is on its way to the next.

Analytic: first in, first out at a fixed rate, so the departure is known on arrival and the queue is a ring of the
times at which waiting packets enter service. Served: a list of packets, and an event at the end of each
transmission; what disciplines that reorder need. A keyed link is analytic, too, and has the time at which the end of
each transmission would have been scheduled: it orders ties as a served one does (`calendar`). Whom a queue refuses and
whom it sends next is the choice of its discipline, see `queues`.
"""

from __future__ import annotations

import math
from typing import Any

from . import changes, queues, routers
from . import records as k
from . import views as at
from .calendar import insert, leave_undecided
from .jit import called, inlined
from .losses import by_chance, lose
from .queues import droptail
from .recording import ahead_of_edge, sample_queue
from .streams import GRID, ONE, on_grid, uniform
from .waits import count_wait


@inlined
def tx_time(w: Any, hop: Any, rate: Any, size: Any) -> Any:
    """Seconds to send `size` bytes on the hop's link."""
    if size == hop.length:
        return hop.tx
    tx = 8.0 * size / rate
    return tx if w.exact else math.floor(tx * GRID) / GRID


@called
def delayed_arrival(w: Any, f: Any, hop: Any, time: Any) -> Any:
    """Arrival at a queue after random jitter, without overtaking within the flow unless the hop allows it."""
    f.jitter_draws += ONE
    late = time + on_grid(w, hop.jitter * uniform(f.jitter_key, f.jitter_draws))
    if hop.overtakes:
        return late
    hop.last = max(late, hop.last)
    return hop.last


@inlined
def pass_through(w: Any, e: Any) -> None:
    """Take a packet over the links that no other flow's packets use and where none is refused or lost.

    On such a link a flow's packets keep their order and wait only for each other, so the whole way can be computed
    as soon as the arrival, `e.time`, is known; two of three events are saved on access links.
    """
    while e.what == k.ARRIVE:
        hop = at.hop(w, e.hop)
        if not hop.through:
            return
        line = at.link(w, hop.link)
        line.arrived += 1
        line.accepted += 1
        if hop.first:
            at.counts(w)[e.flow, k.ARRIVED] += 1
            at.counts(w)[e.flow, k.ARRIVED_KIND + e.kind] += 1
        if e.on >= 0:
            at.link(w, e.on).left += 1
        start = max(e.time, line.free_at)
        behind = line.free_at >= e.time or start != w.now
        tx = tx_time(w, hop, line.rate, e.length)
        line.free_at = start + tx
        line.wait_sum += start - e.time
        count_wait(w, hop.link, start, start - e.time)
        line.work_sum += tx
        if line.free_at >= w.edge:
            ahead_of_edge(w, e, hop.link, e.time, start, tx)
        _travel(e, hop, start, tx)
        if line.keyed:
            e.since = -start if behind else start


@inlined
def join(w: Any, slot: Any) -> Any:
    """A packet arrives at the link of its hop; True if the link is analytic and has accepted it."""
    e = at.event(w, slot)
    hop = at.hop(w, e.hop)
    f = at.flow(w, e.flow)
    if hop.jitter > 0.0 and not (e.mark & k.DELAYED):
        e.mark |= k.DELAYED
        e.what = k.ARRIVE
        e.on = -1
        e.since = w.now
        insert(w, slot, delayed_arrival(w, f, hop, w.now))
        return False
    e.mark &= ~k.DELAYED
    line = at.link(w, hop.link)
    line.arrived += 1
    if hop.first:
        at.counts(w)[e.flow, k.ARRIVED] += 1
        at.counts(w)[e.flow, k.ARRIVED_KIND + e.kind] += 1
    routers.look(w, line, slot)
    lost = False
    if line.loss != 0.0:
        lost = by_chance(w, f, line, e.kind == k.ACK)
    if w.drops and not lost:
        lost = _is_chosen(w, e, hop.link, line.arrived - 1)
    if line.served:
        return _join_served(w, slot, e, hop, line, lost)
    start = max(w.now, line.free_at)
    drain(w, line)
    busy = line.free_at > w.now or (line.keyed and line.free_at == w.now and not _served_by_now(w, line.latest))
    if w.queueing == 1:
        sample_queue(w, hop.link)
    if not busy:
        line.woke = w.now
        line.began = w.now
    elif (line.waiting > 0 or line.keyed) and line.waiting >= line.limit - 1:
        _meet(w, line, hop, _next_departure(w, line) - w.now)
    if lost or not droptail.admits(w, line, e.length, busy):
        lose(w, slot, line)
        return False
    tx = tx_time(w, hop, line.rate, e.length)
    if line.capacity > 0 and busy:
        if line.waiting >= line.capacity:
            w.broken = 1
            return False
        place = line.head + line.waiting
        if place >= line.capacity:
            place -= line.capacity
        at.queue_time(w)[line.first + place] = start
        at.queue_size(w)[line.first + place] = e.length
        line.waiting += 1
        line.waiting_bytes += e.length
    line.free_at = start + tx
    line.latest = start
    line.wait_sum += start - w.now
    count_wait(w, hop.link, start, start - w.now)
    line.work_sum += tx
    line.accepted += 1
    if line.free_at >= w.edge:
        ahead_of_edge(w, e, hop.link, w.now, start, tx)
    _travel(e, hop, start, tx)
    e.since = -start if line.keyed and busy else w.now
    return True


@inlined
def drain(w: Any, line: Any) -> None:
    """Packets of an analytic link that have entered service by now wait no longer; at a tie, they go first.

    On a keyed link a tie is that of the event at the end of the transmission before and of the one that acts now.
    """
    if line.capacity > 0:
        while line.waiting > 0:
            start = at.queue_time(w)[line.first + line.head]
            if start > w.now or (line.keyed and start == w.now and not _served_by_now(w, line.began)):
                break
            line.began = start
            line.waiting_bytes -= at.queue_size(w)[line.first + line.head]
            line.head = line.head + 1 if line.head + 1 < line.capacity else 0
            line.waiting -= 1


@called
def _served_by_now(w: Any, since: Any) -> Any:
    """Does a transmission's end at this moment, scheduled at `since`, come before the event that acts now?"""
    if since == abs(w.since):
        leave_undecided(w)
    return since < abs(w.since)


@inlined
def _next_departure(w: Any, line: Any) -> Any:
    """When the packet that an analytic link is sending has left."""
    return at.queue_time(w)[line.first + line.head] if line.waiting > 0 else line.free_at


@inlined
def _join_served(w: Any, slot: Any, e: Any, hop: Any, line: Any, lost: Any) -> Any:
    if w.queueing == 1:
        sample_queue(w, hop.link)
    if line.busy and line.waiting >= line.limit - 1:
        _meet(w, line, hop, line.free_at - w.now)
    if lost or not queues.admits(w, line, slot, line.busy):
        lose(w, slot, line)
        return False
    line.accepted += 1
    if line.busy or line.discipline:
        line.wait_sum += line.waiting * (w.now - line.changed)
        line.changed = w.now
        line.waiting += 1
        line.waiting_bytes += e.length
        e.what = k.WAITING
        e.on = -1
        e.time = w.now
        queues.put(w, line, slot)
        if not line.busy:
            line.woke = w.now
            serve(w, hop.link)
    else:
        line.woke = w.now
        count_wait(w, hop.link, w.now, 0.0)
        _start_service(w, slot, hop.link)
    return False


@called
def serve(w: Any, link: Any) -> None:
    """The end of a transmission on a served link: take the next packet."""
    line = at.link(w, link)
    line.busy = 0
    slot = queues.take(w, line)
    if slot >= 0:
        line.wait_sum += line.waiting * (w.now - line.changed)
        line.changed = w.now
        line.waiting -= 1
        e = at.event(w, slot)
        line.waiting_bytes -= e.length
        count_wait(w, link, w.now, w.now - e.time)
        _start_service(w, slot, link)


@inlined
def _start_service(w: Any, slot: Any, link: Any) -> None:
    line = at.link(w, link)
    e = at.event(w, slot)
    hop = at.hop(w, e.hop)
    tx = changes.departs(line.departs, w, line, slot) if line.departs else tx_time(w, hop, line.rate, e.length)
    line.busy = 1
    line.work_sum += tx
    line.free_at = w.now + tx
    if line.free_at >= w.edge:
        ahead_of_edge(w, e, link, w.now, w.now, tx)
    # The packet first, then the end of its transmission: ns-2's order, which decides exact ties.
    _travel(e, hop, w.now, tx)
    e.since = w.now
    insert(w, slot, line.arrival if line.departs else e.time)
    at.event(w, line.serve_event).what = k.SERVE
    at.event(w, line.serve_event).seq = link
    at.event(w, line.serve_event).since = w.now
    insert(w, line.serve_event, line.free_at)


@inlined
def _travel(e: Any, hop: Any, start: Any, tx: Any) -> None:
    """Where the packet is next, and when; `e.time` is set, not yet scheduled."""
    e.time = start + (tx + hop.delay)
    e.on = hop.link
    e.hop += 1
    e.what = hop.leads


@inlined
def _meet(w: Any, line: Any, hop: Any, gap: Any) -> None:
    """A packet comes to a queue with one place left or none, `gap` before the next departure: is that a tie?

    It is one too where the packet being sent, if of the same size, has just begun, but not because the link was idle.
    """
    if line.limit > 0:
        line.met += 1
        close = k.TIE * hop.tx
        if gap < close or (abs(gap - hop.tx) < close and w.now - line.woke > close):
            line.tied += 1


@called
def _is_chosen(w: Any, e: Any, link: Any, number: Any) -> Any:
    """Does the list of chosen drops take this packet?"""
    for d in range(at.drops(w).shape[0]):
        if at.drops(w)[d, 4] != link:
            continue
        kind = at.drops(w)[d, 0]
        if kind == k.BY_PACKET:
            if at.drops(w)[d, 2] == number:
                return True
        elif at.drops(w)[d, 1] == e.flow:
            if kind == k.BY_ACK and e.kind == k.ACK and at.drops(w)[d, 2] == e.seq:
                return True
            if kind == k.BY_SEGMENT and e.kind != k.ACK and at.drops(w)[d, 2] == e.seq and at.drops(w)[d, 3] == e.ack:
                return True
    return False
