"""LEAP: a timeout without duplicates may mean that acknowledgements were lost, so a new segment goes instead.

Y. Tamura, M. Takayasu, H. Takayasu, TCP optimization for eliminating duplicate segments in congested networks, 2004,
sections 4 and 5; `leap_seqno` and `leap_flg` are its variables. It stands beside a rule book, which does all else:

- The timer expires, and no duplicate has come since the last new acknowledgement or timeout: the segment after the
  highest that was sent goes instead of the first unacknowledged one. The rule book has set window, threshold and
  timeout as for that one (the timeout is that of a second transmission). As new data, the leap segment is timed.
- Not instead of the handshake, not beyond the advertised window, not without new data; then the rule book has its way.
- The timer expires again before any acknowledgement: the leap segment itself is sent again.
- Until the acknowledgements pass the leap segment (`leaping`), the window lets one segment more pass in its stead, and
  a duplicate opens the window as in slow start: so a wrong suspicion costs a round trip, not another timeout.
- An acknowledgement that asks for the leap segment has it sent by the rule book.

Hooks are compiled by themselves, for runs with such a flow; the others look at `leaping`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import records as k
from .. import views as at
from ..hooks import caller
from ..jit import called, inlined
from ..windows import grow, reno
from . import as_ns2, by_rfc
from .common import emit, mark_blocks

#: Hook -> its shape; addresses are in `world`, as `leap_on_ack` and so on.
HOOKS = {
    "on_timeout": "void(world, flow, count, count)", "on_ack": "count(world, flow, count, count)",
    "send": "void(world, flow, count)",
}  # fmt: skip

#: The place of rule book "rfc" in `senders.BOOKS`.
RFC = 1

_call_on_timeout = caller(HOOKS["on_timeout"])
_call_on_ack = caller(HOOKS["on_ack"])
_call_send = caller(HOOKS["send"])


@inlined
def look(w: Any, f: Any, i: Any, dupacks: Any) -> None:
    """The timer expired, `dupacks` duplicates had come, and the rule book has done its part."""
    _call_on_timeout(w.leap_on_timeout, w, f, i, dupacks)


@inlined
def answers(w: Any, f: Any, i: Any, slot: Any) -> Any:
    """An acknowledgement is back, the leap segment not yet passed; True if a duplicate is dealt with."""
    return _call_on_ack(w.leap_on_ack, w, f, i, slot)


@inlined
def send_past(w: Any, f: Any, i: Any) -> None:
    """Send what the window allows, but the leap segment."""
    _call_send(w.leap_send, w, f, i)


def on_timeout(w: Any, f: Any, i: Any, dupacks: Any) -> None:
    """Leap, or repeat the leap segment, or leave it at what the rule book does."""
    if f.leap_flg:
        f.leap_due = 1
    elif dupacks == 0 and f.una < f.top and f.top < min(f.limit, f.una + f.window) and (f.una > 0 or not f.handshake):
        f.leaping = 1
        f.leap_flg = 1
        f.leap_seqno = f.top
        f.leap_due = 1


def on_ack(w: Any, f: Any, i: Any, slot: Any) -> Any:
    """1 for a duplicate, which the window grows by; the rule book does not count those after a timeout."""
    ack = at.event(w, slot).ack
    if ack < f.una:
        return 0
    if f.leap_flg:
        if f.leap_seqno < f.top:  # it has been sent
            at.counts(w)[i, k.LEAPS_RIGHT] += ack > f.una
            at.counts(w)[i, k.LEAPS_EARLY] += at.event(w, slot).sent < f.timed_at
        f.leap_flg = 0
        if f.leap_due:  # put off, and not needed any more
            f.leap_due = 0
            if f.leap_seqno >= f.top:
                f.leaping = 0
                return 0
    if ack > f.una:
        if ack >= f.leap_seqno:
            f.leaping = 0
        return 0
    f.dupacks += 1
    if f.book == RFC and f.algorithm == k.SACK:
        mark_blocks(w, f, i, slot)
    if f.cwnd < f.ssthresh:
        grow(w, f, 1, reno.on_ack)
    w.send = k.SEND
    w.send_most = 0
    return 1


def send(w: Any, f: Any, i: Any) -> None:
    """The leap segment if it is due, else what the window allows but for it."""
    kind, burst = w.send_kind, w.send_most
    if f.leap_flg and not f.leap_due:
        return  # it is on its way
    as_ns2_does = f.book != RFC
    if as_ns2_does and f.held_back and not w.forced:
        return
    count = 0
    while f.leap_due or _find_next(w, f, i):
        if as_ns2_does and f.overhead > 0.0 and not w.forced:
            as_ns2.hold_back(w, f, i, kind)
            return
        if f.leap_due:
            if _send_leap(w, f, i):
                return
            continue
        if as_ns2_does:
            as_ns2.output(w, f, i, f.next, kind)
        else:
            by_rfc.transmit(w, f, i, f.next, kind)
        f.next += 1
        kind = k.REPEAT
        count += 1
        if as_ns2_does and count == burst:
            return


@called
def _find_next(w: Any, f: Any, i: Any) -> Any:
    """Move `next` past what the receiver is known to have; does the window allow it?"""
    mask = at.sacked(w).shape[1] - 1
    window = min(np.int64(f.cwnd) + f.inflation, f.window)
    if f.una < f.leap_seqno and f.leap_seqno < f.una + window:
        window = min(window + 1, f.window)
    while f.next < f.una + window and f.next < f.limit:
        if f.next != f.leap_seqno and (f.next >= f.top or at.sacked(w)[i, f.next & mask] == 0):
            return True
        f.next += 1
    return False


@called
def _send_leap(w: Any, f: Any, i: Any) -> Any:
    """Send the leap segment, or send it again; False if the data has ended before it was sent."""
    f.leap_due = 0
    if f.leap_seqno < f.top:
        emit(w, f, i, f.leap_seqno, k.TIMEOUT)
        return True
    if f.leap_seqno >= f.limit:
        f.leap_flg = 0
        f.leaping = 0
        return False
    emit(w, f, i, f.leap_seqno, k.TIMEOUT)
    at.counts(w)[i, k.LEAPS] += 1
    f.top = f.leap_seqno + 1
    f.timing = 1
    f.timed_seq = f.leap_seqno
    f.timed_at = w.now
    f.recover = f.leap_seqno  # no fast retransmission until it is passed
    return True
