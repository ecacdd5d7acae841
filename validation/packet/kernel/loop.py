"""The loop: take the earliest event, let the part that it belongs to act, put packets on links."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import paced, routers, senders, users, windows
from . import records as k
from . import views as at
from .calendar import earliest, free_slot, insert_here, new_slot, schedule, unlink
from .echo import must_answer_first, note_each
from .jit import called, entry, inlined
from .links import drain, join, pass_through, serve
from .receiver import answer, count_receipt, fill_ack, held_ack, launch_ack, note_marks, receive
from .recording import answer_ahead_of_edge, reason_to_stop, record_send, sample_change, sample_queue, sample_window
from .senders.common import finished, launch
from .senders.open_loop import is_open_loop, least_sent, repeats, tick
from .timer import current_rto, timer_is_due


@entry
def advance(world: Any, until: Any, budget: Any) -> Any:
    """Run all events before `until`, of at most about `budget` work; DONE, or the reason why the caller must act first.

    The caller may enlarge arrays and call again: nothing is lost.
    """
    w = world[0]
    joining = -1  # slot of a packet that is at a queue now
    waiting = -1  # slot of a packet that will be somewhere at its `time`
    begun = w.scanned
    while True:
        if waiting >= 0:
            insert_here(w, waiting, at.event(w, waiting).time)
            waiting = -1
        if joining >= 0:
            if join(w, joining):
                waiting = joining
                e = at.event(w, waiting)
                pass_through(w, e)
                if e.what == k.RECEIVE and at.flow(w, e.flow).fused:
                    _receive_ahead(w, at.flow(w, e.flow), np.int64(e.flow), waiting, np.int64(e.kind))
            joining = -1
            continue
        if w.out_head < w.out_count:
            if w.free_count < k.LEAST_FREE:
                return k.GROW_EVENTS
            i = w.out_flow
            slot = new_slot(w)
            seq = at.out_seq(w)[w.out_head]
            kind = at.out_kind(w)[w.out_head]
            w.out_head += 1
            budget -= 1
            record_send(w, at.flow(w, i), i, seq, kind)
            paced.note(w, at.flow(w, i), i, slot)
            routers.stamp(w, at.flow(w, i), slot)
            if launch(w, at.flow(w, i), i, slot, seq, kind):
                joining = slot
            else:
                waiting = slot
            continue
        if w.free_count < w.margin:
            return k.GROW_EVENTS
        if w.watch:
            reason = reason_to_stop(w)
            if reason:
                return reason
        if budget <= (w.scanned - begun) >> 6:  # 64 steps of a search take about as long as an event
            return k.BROKEN if w.broken else k.PAUSED
        budget -= 1
        slot = earliest(w)
        if slot < 0 or at.event(w, slot).time >= until:
            w.now = until
            return k.BROKEN if w.broken else k.DONE
        unlink(w, slot)
        w.out_head = 0
        w.out_count = 0
        e = at.event(w, slot)
        w.now = e.time
        w.since = e.since
        what = e.what
        answering = what in (k.RECEIVE, k.DELACK)
        if what == k.ARRIVE:
            _left(w, e)
            joining = slot
        elif what == k.ACKED:
            _left(w, e)
            _acked(w, slot)
            free_slot(w, slot)
        elif what == k.RECEIVE:
            _left(w, e)
            slot = _received(w, slot)
        elif what == k.SERVE:
            serve(w, e.seq)
        else:
            i = np.int64(e.flow)
            number = e.seq
            free_slot(w, slot)
            if what == k.DELACK:
                slot = held_ack(w, at.flow(w, i), i, number)
            else:
                slot = -1
                _other(w, what, i, number)
        if answering and slot >= 0:
            if launch_ack(w, at.flow(w, at.event(w, slot).flow), slot):
                joining = slot
            else:
                waiting = slot
        if w.send:
            _send(w, w.out_flow)


@inlined
def _left(w: Any, e: Any) -> None:
    """A packet is no longer on the link that it was on."""
    if e.on >= 0:
        at.link(w, e.on).left += 1


@inlined
def _send(w: Any, i: Any) -> None:
    """What the sender asked for at the end of its turn."""
    senders.send(w, at.flow(w, i), i)
    w.send = k.NOTHING


@inlined
def _turn(w: Any, i: Any) -> None:
    """A sender is about to act; by default it sends nothing."""
    w.out_flow = i
    w.send = k.NOTHING
    w.send_kind = k.REPEAT
    w.send_most = 0
    w.forced = 0


@inlined
def _acked(w: Any, slot: Any) -> None:
    """An acknowledgement is back at its sender."""
    e = at.event(w, slot)
    i = np.int64(e.flow)
    f = at.flow(w, i)
    at.counts(w)[i, k.ACKS_BACK] += 1
    if e.sent < f.since:  # of a connection that is over
        return
    f.rtt = w.now - e.sent
    f.min_rtt = min(f.rtt, f.min_rtt)
    at.counts(w)[i, k.TIMED] += 1
    at.sums(w)[i, k.RTT_SUM] += f.rtt
    routers.honour(w, f, slot)
    _turn(w, i)
    f.marked = 1 if e.mark & k.ECE else 0
    windows.look(w, f, max(e.ack - f.una, 0))
    if f.marked:
        senders.on_mark(w, f, e.ack)
    if not paced.feedback(w, f, i, slot):
        senders.on_ack(w, f, i, slot, e.ack, e.sent)
    if finished(f) and f.finish == math.inf:
        _finish(w, f, i)
    sample_change(w, f, i, current_rto(f))


@called
def _finish(w: Any, f: Any, i: Any) -> None:
    """All that a flow has to send is acknowledged."""
    f.finish = w.now
    users.finish(w, f, i)


@inlined
def _receive_ahead(w: Any, f: Any, i: Any, slot: Any, kind: Any) -> None:
    """A segment has passed the last queue where it could be lost: do now what its receiver will do at `e.time`.

    A flow's packets keep their order from here on, so its receiver sees the same sequence, and an event is saved.
    """
    e = at.event(w, slot)
    seq, sent, receipt = e.seq, e.sent, e.time
    _left(w, e)
    note_marks(f, e.mark)
    note_each(f, e.mark)
    fresh = receive(w, f, i, seq, sent)
    inside = receipt < w.end
    if inside:
        count_receipt(w, f, i, receipt, fresh, seq, kind)
    if receipt >= w.edge:
        answer_ahead_of_edge(w, i, receipt)
    fill_ack(w, f, i, slot, seq, sent)
    if not inside:
        e.mark |= k.AFTER_END
    e.hop = f.back_hop
    e.what = k.ACKED if f.back_hop == f.back_end else k.ARRIVE
    e.time = receipt + f.back_access
    e.since = -receipt
    pass_through(w, e)


@inlined
def _received(w: Any, slot: Any) -> Any:
    """A segment is at its receiver; slot of its acknowledgement, or -1."""
    e = at.event(w, slot)
    i = np.int64(e.flow)
    f = at.flow(w, i)
    seq, sent, kind = e.seq, e.sent, np.int64(e.kind)
    if is_open_loop(f):
        count_receipt(w, f, i, w.now, paced.is_new(w, f, i, slot), seq, kind)
        return paced.receipt(w, f, i, slot)
    if must_answer_first(f, e.mark):  # the packet comes again, at the same time
        e.on = -1
        e.since = w.now
        insert_here(w, slot, w.now)
        return held_ack(w, f, i, f.ack_timer)
    note_marks(f, e.mark)
    note_each(f, e.mark)
    fresh = receive(w, f, i, seq, sent)
    count_receipt(w, f, i, w.now, fresh, seq, kind)
    if sent >= f.since and not answer(w, f, i, seq, sent):
        free_slot(w, slot)
        return -1
    fill_ack(w, f, i, slot, seq, sent)
    return slot


@called
def _other(w: Any, what: Any, i: Any, number: Any) -> None:
    """Everything that is no packet and makes none by itself."""
    if what == k.SAMPLE_WINDOWS:
        for j in range(w.n_flows):
            sample_window(w, at.flow(w, j), j, current_rto(at.flow(w, j)))
        schedule(w, w.now + w.window_interval, k.SAMPLE_WINDOWS, 0, 0)
        return
    if what == k.SAMPLE_QUEUES:
        for j in range(w.n_links):
            drain(w, at.link(w, j))
            sample_queue(w, j)
        schedule(w, w.now + w.queue_interval, k.SAMPLE_QUEUES, 0, 0)
        return
    if what == k.ROUTE:
        drain(w, at.link(w, i))
        routers.compute(w, at.link(w, i))
        return
    f = at.flow(w, i)
    _turn(w, i)
    if what == k.TIMER:
        if timer_is_due(w, f, i, number) and (f.una < min(f.top, f.limit) or f.cwnd < 1.0):
            senders.on_timeout(w, f, i)
            sample_change(w, f, i, current_rto(f))
    elif what == k.STOP:
        if w.now < f.start:  # its start was drawn: it never begins, and has no end
            f.limit = 0
            return
        f.limit = min(f.limit, max(f.top, least_sent(f)))
        done = f.una if repeats(f) else f.top
        if done >= f.limit and f.finish == math.inf:
            _finish(w, f, i)
        if not is_open_loop(f):
            senders.on_stop(w, f)
    elif what == k.TICK:
        if not paced.timer(w, f, i, number):
            tick(w, f, i)
    elif what == k.HELD_BACK or f.limit > 0:  # START, but not after its stop
        f.held_back = 0
        if what == k.START:
            users.begin(w, f, i)
        if what == k.HELD_BACK:
            w.forced = 1
            w.send_kind = f.held_kind
        senders.may_send(w, f)


@entry
def start(world: Any) -> None:
    """Schedule every flow's start (in order of time) and the first samples."""
    w = world[0]
    if w.window_interval > 0.0:
        schedule(w, 0.0, k.SAMPLE_WINDOWS, 0, 0)
    if w.queue_interval > 0.0:
        schedule(w, 0.0, k.SAMPLE_QUEUES, 0, 0)
    for i in range(w.n_flows):
        f = at.flow(w, i)
        if f.start < w.end:
            schedule(w, f.start, k.TICK if is_open_loop(f) else k.START, i, 0)
        if f.stop < w.end:
            schedule(w, f.stop, k.STOP, i, 0)
