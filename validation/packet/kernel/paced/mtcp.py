"""M/TCP: one stream of data over several routes, each with a window, a timer and a list of what is unacknowledged.

Rojviboonchai and Aida, "An evaluation of multi-path transmission control protocol (M/TCP) with robust acknowledgement
schemes". Segments go round robin over the routes whose windows have room (section 4), within one advertised window
(eqs. 1-3: `f.una`, `f.top`, `f.window`). An acknowledgement says which segment of which route it answers (its reply
blocks, section 3.2), and by which route it came; the reply takes that segment off the route's list (section 3.4.1).

What the paper leaves open, and how it is here. Replies of a route that come while an older segment of its list is
missing are duplicates; the third has the oldest one sent again (section 3.5.1), once over each route with room, over
its own if none has. A window is reduced once for what was sent before the reduction, by rule book "ns2" to half of
itself as ns-2's Reno, by "rfc" to half of what is under way (RFC 5681). Replies in order let a window grow as Reno's. A
timeout (section 3.5.2) hands the list to the other routes; what finds no room there waits, and goes before new data.
Until a reply comes over it, a route whose timer has expired carries only copies of what goes over others, one at a
time: new data there would hold up all routes for as long as the route is dark. With `cumulative`, a list forgets too
what the cumulative acknowledgement covers; without it an entry stays until its own reply, as the paper says, and a
reply that is lost is taken for a segment that is.

One-way times (section 3.4.3) begin with the halves of the first measurement of a pair of routes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import views as at
from ..calendar import insert, new_slot, schedule
from ..jit import called, inlined
from ..links import pass_through
from ..parameters import Parameter
from ..records import ACKED, ARRIVE, DELACK, DUP_THRESH, FAST, FLOW, RECOVERIES, SAMPLES, TICK, TIMEOUT
from ..senders.common import emit
from ..streams import ONE, on_grid, uniform
from ..timer import count_timeout, current_rto
from .clock import report

SOURCE = "Rojviboonchai and Aida, section 3"

PARAMETERS = (
    Parameter("alpha", "1", "weight of the past in one-way times (eqs. 7, 8)", 0.875, 0.0, 0.9999),
    Parameter("beta", "1", "timeout over the round trip (eqs. 9, 10)", 2.0, 1.0, 100.0),
    Parameter("per_ack", "", "segments that a delayed acknowledgement answers", 2.0, 2.0, 5.0, whole=True),
    Parameter("cumulative", "", "1: lists forget what is acknowledged cumulatively", 1.0, 0.0, 1.0, whole=True),
)

#: How a receiver acknowledges (section 3.6).
SCHEMES = ("immediate", "duplicated", "duplicated_delayed")
IMMEDIATE, DUPLICATED, DELAYED = range(3)

#: Routes of a flow at most; a reply block is a segment times this, and its route.
MOST_ROUTES = 8
#: Reply blocks at most, and where an acknowledgement says by which route it comes, in `views.blocks`.
REPLIES, ROUTE = 5, 5

#: What the sender knows of a segment that is not acknowledged yet: nothing, that it was received, that it is to be sent
#: again. In `views.sacked`.
HERE, MISSING = 1, 2

STATE = np.dtype(
    [
        *((p.name, np.float64) for p in PARAMETERS),
        *((name, np.float64) for name in ("initial_rto", "held_sent")),
        # the sender: acknowledged so far, whose turn it is, segments to be sent again, where to look for
        # them, silent routes
        *((name, np.int64) for name in "una turn missing hole silent capacity planned".split()),
        # the receiver: how it acknowledges, segments that it has not yet answered, its timer
        *((name, np.int64) for name in "scheme held answering".split()),
    ]
)
_state = at.part_of("paced_state", STATE, FLOW, "paced_state")

#: A route: window, one-way times (negative: unknown) and timer [s], its way; the list, as positions, entries in it,
#: whether a segment in it is older than one before, what was sent before the last reduction; whether no reply has come
#: since the last timeout; counts.
LANE = np.dtype(
    [
        *((name, np.float64) for name in "cwnd ssthresh forward back deadline due access back_access".split()),
        *((name, np.int64) for name in "forward_hop forward_end back_hop back_end".split()),
        *((name, np.int64) for name in "head tail listed mixed newest recover dupacks".split()),
        *((name, np.int64) for name in "backoff silent timer both".split()),
        *((name, np.int64) for name in "sent replies timeouts fast".split()),
    ]
)
route_of = at.part_of("paced_lanes", LANE, FLOW, "paced_state")

#: An entry of a list: segment (-1: gone) and when it was sent [s]. Behind the lists: the routes of what is sent in this
#: turn, and the reply blocks that the receiver holds back.
RING = np.dtype([("time", np.float64), ("seq", np.int64)])
_entry = at.part_of("paced_ring", RING, FLOW, "paced_state")


def prepare(state: Any, lanes: Any, values: Mapping[str, float], group: Any) -> None:
    """Windows at their beginning; nothing is known of any route."""
    settings = group.settings()
    state["initial_rto"] = settings["initial_rto"]
    state["scheme"] = SCHEMES.index(group.acks)
    state["capacity"] = _capacity(group)
    state["planned"] = len(group.routes) * _capacity(group)
    lanes["cwnd"] = settings["initial_window"]
    lanes["ssthresh"] = group.window_limit
    lanes["forward"] = lanes["back"] = -1.0
    lanes["deadline"] = lanes["due"] = math.inf
    lanes["backoff"] = 1
    lanes["newest"] = -1


def _capacity(group: Any) -> int:
    """Places of a list: a power of two above the window, with room for entries that are gone."""
    return 1 << (4 * int(group.window_limit) + 16).bit_length()


def remembered(group: Any) -> int:
    """Records of the lists, of what one turn may send, and of held reply blocks."""
    return len(group.routes) * _capacity(group) + most_at_once(group) + REPLIES


def most_at_once(group: Any) -> int:
    """Segments that one turn may send: a window, and copies of those that are sent again."""
    return int(group.window_limit) + REPLIES * len(group.routes) + 8


@inlined
def _in_list(w: Any, f: Any, s: Any, r: Any, position: Any) -> Any:
    return _entry(w, f, r * s.capacity + (position & (s.capacity - 1)))


# The sender


def on_timer(w: Any, f: Any, i: Any, number: Any) -> None:
    """The start, or a route's timer."""
    s = _state(w, f, 0)
    if number == 0:
        _fill(w, f, s, i)
    elif f.una < f.limit:
        r = (number - 1) % MOST_ROUTES
        if _is_due(w, f, i, r, (number - 1) // MOST_ROUTES):
            _time_out(w, f, s, i, r)
            _fill(w, f, s, i)
    _add_up(w, f)


def on_send(w: Any, f: Any, i: Any, slot: Any) -> None:
    """A segment leaves: its way, and the route that it names."""
    s = _state(w, f, 0)
    r = _entry(w, f, s.planned + w.out_head - 1).seq
    lane = route_of(w, f, r)
    f.out_hop = lane.forward_hop
    f.out_access = lane.access
    at.blocks(w)[slot, 0] = r
    lane.sent += 1


def on_feedback(w: Any, f: Any, i: Any, slot: Any) -> None:
    """An acknowledgement is back: its replies, what it acknowledges cumulatively, and what may be sent now."""
    s = _state(w, f, 0)
    back = at.blocks(w)[slot, ROUTE]
    for b in range(at.event(w, slot).blocks):
        code = at.blocks(w)[slot, b]
        _reply(w, f, s, i, code % MOST_ROUTES, code // MOST_ROUTES, back)
    if f.una > s.una:
        _pass(w, f, s, i)
    if f.una < f.limit:
        _fill(w, f, s, i)
    _add_up(w, f)


@called
def _add_up(w: Any, f: Any) -> None:
    """The flow's window, where it is written down, is that of all its routes."""
    if not w.sampling:
        return
    f.cwnd = 0.0
    f.ssthresh = 0.0
    for r in range(f.n_lanes):
        f.cwnd += route_of(w, f, r).cwnd
        f.ssthresh += route_of(w, f, r).ssthresh


@called
def _fill(w: Any, f: Any, s: Any, i: Any) -> None:
    """Send what is missing, then new data, round robin over the routes with room (Fig. 11), within eq. (3)."""
    while True:
        seq = f.top
        if s.missing > 0:
            seq = _first_missing(w, f, s, i)
        elif f.top >= f.limit or f.top >= f.una + f.window:
            return
        r = _next_with_room(w, f, s, -1)
        if r < 0:
            return
        _send(w, f, s, i, r, seq, TIMEOUT, 0)
        if s.silent and not route_of(w, f, r).silent:
            for other in range(f.n_lanes):
                if route_of(w, f, other).silent and route_of(w, f, other).listed == 0:
                    _send(w, f, s, i, other, seq, TIMEOUT, 0)


@called
def _next_with_room(w: Any, f: Any, s: Any, but: Any) -> Any:
    """The route whose turn it is, of those whose windows have room (eq. 11) and that are not `but`; -1 without.

    Silent routes have no turn, unless all are.
    """
    speaking = s.silent < f.n_lanes
    for step in range(f.n_lanes):
        r = s.turn + step
        if r >= f.n_lanes:
            r -= f.n_lanes
        lane = route_of(w, f, r)
        if r != but and lane.listed + 1 <= lane.cwnd and not (lane.silent and speaking):
            s.turn = r + 1 if r + 1 < f.n_lanes else 0
            return r
    return -1


@called
def _send(w: Any, f: Any, s: Any, i: Any, r: Any, seq: Any, repeat_kind: Any, both: Any) -> None:
    """Send a segment over a route and put it into its list; `both`: in duplication mode, which lengthens the timer."""
    lane = route_of(w, f, r)
    if lane.tail - lane.head >= s.capacity:
        _close_up(w, f, s, r)
    entry = _in_list(w, f, s, r, lane.tail)
    entry.seq = seq
    entry.time = w.now
    lane.tail += 1
    lane.listed += 1
    if seq < lane.newest:
        lane.mixed = 1
    lane.newest = max(seq, lane.newest)
    _entry(w, f, s.planned + w.out_count).seq = r
    emit(w, f, i, seq, repeat_kind)
    if seq >= f.top:
        f.top = seq + 1
        f.next = f.top
    else:
        _note(w, f, s, i, seq, 0)
    lane.both = both
    if lane.deadline == math.inf:
        _set_timer(w, f, s, i, r)


@inlined
def _note(w: Any, f: Any, s: Any, i: Any, seq: Any, what: Any) -> None:
    """What is known of a segment from now on."""
    place = seq & (at.sacked(w).shape[1] - 1)
    if at.sacked(w)[i, place] == MISSING:
        s.missing -= 1
    at.sacked(w)[i, place] = what
    if what == MISSING:
        s.missing += 1
        s.hole = min(seq, s.hole)


@called
def _first_missing(w: Any, f: Any, s: Any, i: Any) -> Any:
    """The first segment that is to be sent again; there is one."""
    mask = at.sacked(w).shape[1] - 1
    s.hole = max(s.hole, f.una)
    while at.sacked(w)[i, s.hole & mask] != MISSING:
        s.hole += 1
        w.scanned += 1
    return s.hole


@inlined
def _reply(w: Any, f: Any, s: Any, i: Any, r: Any, seq: Any, back: Any) -> None:
    """A reply to a segment that went over route `r`, in an acknowledgement that came over route `back`."""
    if seq >= f.una:
        _note(w, f, s, i, seq, HERE)
    lane = route_of(w, f, r)
    position = lane.head
    while position < lane.tail and _in_list(w, f, s, r, position).seq != seq:
        if not lane.mixed and _in_list(w, f, s, r, position).seq > seq:  # in order: none further on is it
            position = lane.tail - 1
        position += 1
    w.scanned += position - lane.head
    if position == lane.tail:  # it was answered before
        return
    entry = _in_list(w, f, s, r, position)
    _measure(w, f, s, r, back, w.now - entry.time)
    at.counts(w)[i, SAMPLES] += 1
    entry.seq = -1
    lane.listed -= 1
    lane.replies += 1
    lane.backoff = 1
    s.silent -= lane.silent
    lane.silent = 0
    if position > lane.head:
        lane.dupacks += 1
        if lane.dupacks == DUP_THRESH:
            _retransmit(w, f, s, i, r)
        return
    lane.cwnd = min(lane.cwnd + (1.0 if lane.cwnd < lane.ssthresh else 1.0 / lane.cwnd), f.window)
    _move_on(w, f, s, i, r)


@called
def _move_on(w: Any, f: Any, s: Any, i: Any, r: Any) -> None:
    """The oldest entry of a list is gone: the next one is its head, and the timer begins anew."""
    lane = route_of(w, f, r)
    lane.dupacks = 0
    lane.deadline = math.inf
    if lane.listed == 0:
        lane.head = lane.tail
        lane.mixed = 0
        return
    while _in_list(w, f, s, r, lane.head).seq < 0:
        lane.head += 1
    _set_timer(w, f, s, i, r)


@called
def _close_up(w: Any, f: Any, s: Any, r: Any) -> None:
    """Take entries that are gone out of a list that has no place left."""
    lane = route_of(w, f, r)
    to = lane.head
    late = 0
    for position in range(lane.head, lane.tail):
        entry = _in_list(w, f, s, r, position)
        if entry.seq >= 0:
            if position < lane.recover:
                late += 1
            target = _in_list(w, f, s, r, to)
            target.seq = entry.seq
            target.time = entry.time
            to += 1
    lane.recover = lane.head + late
    lane.tail = to


@inlined
def _pass(w: Any, f: Any, s: Any, i: Any) -> None:
    """All before `f.una` is acknowledged."""
    for seq in range(s.una, f.una):
        _note(w, f, s, i, seq, 0)
    s.una = f.una
    if s.cumulative == 0.0 and f.una < f.limit:
        return
    for r in range(f.n_lanes):
        lane = route_of(w, f, r)
        if lane.silent and f.una < f.limit:  # its timer runs on
            continue
        position = lane.head
        while position < lane.tail:
            entry = _in_list(w, f, s, r, position)
            if 0 <= entry.seq < f.una:
                entry.seq = -1
                lane.listed -= 1
            elif entry.seq >= f.una and not lane.mixed:
                break
            position += 1
        w.scanned += position - lane.head
        if lane.head < lane.tail and _in_list(w, f, s, r, lane.head).seq < 0:
            lane.backoff = 1
            _move_on(w, f, s, i, r)


@inlined
def _half(f: Any, lane: Any) -> Any:
    """What a window falls to: half of itself as in ns-2, or of what is under way and reported there (RFC 5681)."""
    return max(0.5 * (lane.cwnd if f.book == 0 else lane.listed + lane.dupacks), 2.0)


@called
def _retransmit(w: Any, f: Any, s: Any, i: Any, r: Any) -> None:
    """The third duplicate of a route: its oldest segment is lost, and goes over all routes with room (3.5.1)."""
    lane = route_of(w, f, r)
    at.counts(w)[i, RECOVERIES] += 1
    lane.fast += 1
    if lane.head >= lane.recover:
        lane.ssthresh = _half(f, lane)
        lane.cwnd = min(lane.cwnd, lane.ssthresh)
        lane.recover = lane.tail
    entry = _in_list(w, f, s, r, lane.head)
    seq = entry.seq
    entry.seq = -1
    lane.listed -= 1
    _move_on(w, f, s, i, r)
    if seq < f.una or at.sacked(w)[i, seq & (at.sacked(w).shape[1] - 1)] == HERE:
        return  # another copy was received, or only the reply was lost
    copies = 0
    for other in range(f.n_lanes):
        there = route_of(w, f, other)
        if there.listed + 1 <= there.cwnd:
            _send(w, f, s, i, other, seq, FAST, 1)
            copies += 1
    if copies == 0:
        _send(w, f, s, i, r, seq, FAST, 1)


@called
def _time_out(w: Any, f: Any, s: Any, i: Any, r: Any) -> None:
    """A route's timer expired: the other routes take what is in its list, as far as they have room (3.5.2)."""
    lane = route_of(w, f, r)
    _timeout_of(w, f, s, r)
    count_timeout(w, f, i)
    lane.timeouts += 1
    lane.ssthresh = _half(f, lane)
    lane.cwnd = 1.0
    s.silent += 1 - lane.silent
    lane.silent = 1
    if lane.backoff < f.max_backoff:
        lane.backoff *= 2
    for position in range(lane.head, lane.tail):
        seq = _in_list(w, f, s, r, position).seq
        if seq >= f.una and at.sacked(w)[i, seq & (at.sacked(w).shape[1] - 1)] == 0:
            _note(w, f, s, i, seq, MISSING)
    w.scanned += lane.tail - lane.head
    lane.head = lane.tail
    lane.recover = lane.tail
    lane.listed = 0
    lane.mixed = 0
    lane.dupacks = 0
    while s.missing > 0:
        other = _next_with_room(w, f, s, r)
        if other < 0:
            return
        _send(w, f, s, i, other, _first_missing(w, f, s, i), TIMEOUT, 0)


# One-way times and timers (section 3.4.3)


@inlined
def _measure(w: Any, f: Any, s: Any, r: Any, back: Any, time: Any) -> None:
    """A segment went over route `r`, its acknowledgement came over `back`, in `time` [s] (eqs. 4-8)."""
    there, this = route_of(w, f, r), route_of(w, f, back)
    if there.forward < 0.0 and this.back < 0.0:
        there.forward = this.back = 0.5 * time
    elif there.forward < 0.0:
        there.forward = max(time - this.back, 0.0)
    elif this.back < 0.0:
        this.back = max(time - there.forward, 0.0)
    else:
        step = 0.5 * (1.0 - s.alpha) * (time - (there.forward + this.back))
        there.forward += step
        this.back += step
    f.srtt = there.forward + this.back


@inlined
def _timeout_of(w: Any, f: Any, s: Any, r: Any) -> Any:
    """The timeout of a route [s]: eq. (9), or (10) in duplication mode; floor, back-off and ceiling as TCP's."""
    lane = route_of(w, f, r)
    forward = lane.forward
    back = -1.0
    for other in range(f.n_lanes):
        back = max(back, route_of(w, f, other).back)
        if lane.both:
            forward = max(forward, route_of(w, f, other).forward)
    f.base_rto = s.initial_rto if forward < 0.0 or back < 0.0 else (forward + back) * s.beta
    f.backoff = lane.backoff
    return current_rto(f)


@called
def _set_timer(w: Any, f: Any, s: Any, i: Any, r: Any) -> None:
    """(Re)start a route's timer; an entry that is due no later will find the new deadline."""
    lane = route_of(w, f, r)
    lane.deadline = w.now + on_grid(w, _timeout_of(w, f, s, r))
    if lane.deadline < lane.due:
        _schedule(w, f, i, r)


@called
def _schedule(w: Any, f: Any, i: Any, r: Any) -> None:
    lane = route_of(w, f, r)
    lane.due = lane.deadline
    lane.timer += 1
    schedule(w, lane.due, TICK, i, MOST_ROUTES * lane.timer + r + 1)


@called
def _is_due(w: Any, f: Any, i: Any, r: Any, number: Any) -> Any:
    """Has a route's timer expired? An older entry is ignored, one whose deadline has moved is pushed on."""
    lane = route_of(w, f, r)
    if number != lane.timer:
        return False
    lane.due = math.inf
    if lane.deadline > w.now:
        if lane.deadline < math.inf:
            _schedule(w, f, i, r)
        return False
    lane.deadline = math.inf
    return True


# The receiver


def is_new(w: Any, f: Any, i: Any, slot: Any) -> Any:
    """Store a segment; is it the first with its number?"""
    seq = at.event(w, slot).seq
    mask = at.received(w).shape[1] - 1
    if seq < f.rcv_next or at.received(w)[i, seq & mask]:
        return 0
    if seq - f.rcv_next > mask:
        w.broken = 1
        return 0
    at.received(w)[i, seq & mask] = 1
    while at.received(w)[i, f.rcv_next & mask]:
        at.received(w)[i, f.rcv_next & mask] = 0
        f.rcv_next += 1
    return 1


def on_receipt(w: Any, f: Any, i: Any, slot: Any) -> Any:
    """A segment is there: answer it (section 3.6), now or with those that follow."""
    s = _state(w, f, 0)
    e = at.event(w, slot)
    _held(w, f, s, s.held).seq = e.seq * MOST_ROUTES + at.blocks(w)[slot, 0]
    s.held += 1
    s.held_sent = e.sent
    if s.scheme == DELAYED and s.held < s.per_ack:
        if s.held == 1:
            s.answering += 1
            schedule(w, w.now + on_grid(w, f.delack), DELACK, i, s.answering)
    else:
        _answer(w, f, s, i)
    return 0


def on_report_timer(w: Any, f: Any, i: Any, number: Any) -> Any:
    """No further segment came for as long as one may wait."""
    s = _state(w, f, 0)
    if number == s.answering and s.held > 0:
        _answer(w, f, s, i)
    return -1


@inlined
def _held(w: Any, f: Any, s: Any, number: Any) -> Any:
    """A reply block that the receiver holds back: at the end of the ring."""
    return _entry(w, f, f.n_ring - REPLIES + number)


@inlined
def _answer(w: Any, f: Any, s: Any, i: Any) -> None:
    """Acknowledge what is held, over a route drawn at random or over each."""
    if s.scheme == IMMEDIATE:
        f.gap_draws += ONE
        _acknowledge(w, f, s, i, np.int64(f.n_lanes * uniform(f.gap_key, f.gap_draws)))
    else:
        for r in range(f.n_lanes):
            _acknowledge(w, f, s, i, r)
    s.held = 0
    s.answering += 1  # a timer that is still set says nothing


@inlined
def _acknowledge(w: Any, f: Any, s: Any, i: Any, r: Any) -> None:
    """Send an acknowledgement of all that is held over route `r`."""
    slot = new_slot(w)
    e = at.event(w, slot)
    report(w, f, i, slot, f.rcv_next - 1, s.held_sent)
    e.blocks = s.held
    for b in range(s.held):
        at.blocks(w)[slot, b] = _held(w, f, s, b).seq
    at.blocks(w)[slot, ROUTE] = r
    lane = route_of(w, f, r)
    e.hop = lane.back_hop
    e.time = w.now + lane.back_access
    e.since = w.now
    e.what = ACKED
    if lane.back_hop < lane.back_end:
        e.what = ARRIVE
        pass_through(w, e)
    insert(w, slot, e.time)


def lanes_of(flow: Any, memory: Any) -> Any:
    """The records of a flow's routes, from outside the loop; `memory` is `paced_state`."""
    first = int(flow["paced_lanes"])
    return memory[first : first + int(flow["n_lanes"]) * LANE.itemsize].view(LANE)
