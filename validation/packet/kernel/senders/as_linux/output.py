"""What Linux's sender sends: new data while the window allows, and again what is thought lost."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import records as k
from ...jit import called, inlined
from ...timer import current_rto
from ..common import emit
from .records import (
    AGAIN,
    EVER,
    LOSS,
    LOST,
    OVERTAKEN,
    PROBE,
    RETRANSMIT,
    is_reducing,
    opening,
    outstanding,
    put_last,
    reported,
    segment,
    take_out,
    under_way,
)
from .timers import arm, arm_probe, rearm, stamp

#: Segments that a host may have in its own queues; then what is lost goes before more new data.
IN_HOST = 2


@inlined
def may_send_new(f: Any) -> Any:
    """Whether there is new data that the advertised window lets out; none before the handshake is over."""
    return f.top < f.limit and f.top < f.una + f.window and not (opening(f) and f.top > 0)


@inlined
def _count_idle(w: Any, f: Any, s: Any) -> None:
    """A segment is about to be sent: if nothing is under way, the time since the one before was idle.

    Growth that began before counts as begun so much later, at the latest now.
    """
    now = stamp(w.now) + 1.0
    if f.begun > 0.0 and under_way(f, s) == 0:
        f.begun = min(f.begun + now - s.last_sent, now)
    s.last_sent = now


@called
def transmit(w: Any, f: Any, i: Any, s: Any) -> None:
    """Send the next new segment."""
    _count_idle(w, f, s)
    first = outstanding(f) == 0
    one = segment(w, f, f.top)
    one.marks = 0
    put_last(w, f, s, f.top)
    emit(w, f, i, f.top, k.NEW)
    f.top += 1
    f.next = f.top
    if first or s.pending == PROBE:
        rearm(w, f, i, s)


@called
def send_new(w: Any, f: Any, i: Any, s: Any, most: Any) -> None:
    """Send at most so much new data while congestion window and advertised window allow; note which is the bound."""
    window = np.int64(f.cwnd)
    sent = 0
    while sent < most and under_way(f, s) < window and may_send_new(f):
        transmit(w, f, i, s)
        sent += 1
    bounded = under_way(f, s) >= window
    if (sent or bounded) and (f.una >= s.bounded_until or bounded or (not s.bounded and outstanding(f) > s.most_out)):
        s.bounded = bounded
        s.most_out = outstanding(f)
        s.bounded_until = f.top
    if sent:
        if is_reducing(s):
            s.reduced_sent += sent
        arm_probe(w, f, i, s, False)


@called
def send_once_more(w: Any, f: Any, i: Any, s: Any, seq: Any, kind: Any) -> None:
    """Send a segment again, which by itself does not say that it was lost."""
    _count_idle(w, f, s)
    segment(w, f, seq).marks |= EVER
    take_out(w, f, s, seq)
    put_last(w, f, s, seq)
    emit(w, f, i, seq, kind)


@called
def send_again(w: Any, f: Any, i: Any, s: Any, seq: Any, kind: Any) -> None:
    """Send again a segment that is thought lost."""
    send_once_more(w, f, i, s, seq, kind)
    segment(w, f, seq).marks |= AGAIN
    s.again += 1
    if s.first_again < 0.0:
        s.first_again = w.now
    s.undo_again = max(s.undo_again, 0) + 1


@called
def repair(w: Any, f: Any, i: Any, s: Any) -> None:
    """Send again, in order, what is thought lost, while the window allows."""
    kind = k.REPEAT if s.state == LOSS else k.FAST
    window = np.int64(f.cwnd)
    head = False
    hole = False
    seq = max(s.hint, f.una)
    while seq < f.top:
        w.scanned += 1
        if not hole:
            s.hint = seq
        if under_way(f, s) >= window or s.again >= s.lost:
            break
        marks = segment(w, f, seq).marks
        if not marks & LOST:
            hole = hole or not (marks & AGAIN or reported(w, i, seq))
        elif not marks & AGAIN:
            send_again(w, f, i, s, seq, kind)
            if is_reducing(s):
                s.reduced_sent += 1
            head = head or (seq == f.una and s.pending != OVERTAKEN)
        seq += 1
    if head:
        arm(w, f, i, s, RETRANSMIT, current_rto(f))
