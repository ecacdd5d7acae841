"""The receiver: reassembly, acknowledgements at once or delayed, SACK blocks (RFC 5681, 2018; as ns-2's sinks)."""

from __future__ import annotations

from typing import Any

from . import paced, users
from . import views as at
from .calendar import new_slot, schedule
from .jit import called, inlined
from .links import pass_through
from .recording import trace
from .records import (
    ACK,
    ACKED,
    ACKS_SENT,
    ARRIVE,
    CE,
    CWR,
    DELACK,
    DELIVERED,
    ECE,
    ECT,
    GOODPUT,
    HANDSHAKES,
    RECEIVED,
    RECEIVES,
    USERS,
)


@inlined
def receive(w: Any, f: Any, i: Any, seq: Any, sent: Any) -> Any:
    """Store a segment, move the cumulative acknowledgement `f.rcv_next`; True if the segment is new here."""
    if sent < f.since:  # of a connection that is over
        return False
    mask = at.received(w).shape[1] - 1
    # What a timestamp would echo (RFC 7323, 4.3, as ns-2 has it).
    if sent >= f.echo and seq <= f.acked_next:
        f.echo = sent
    if seq < f.rcv_next:
        return False
    if seq > f.rcv_next:
        return _keep(w, f, i, seq)
    f.rcv_max = max(f.rcv_max, seq)
    f.rcv_next += 1
    while at.received(w)[i, f.rcv_next & mask]:
        at.received(w)[i, f.rcv_next & mask] = 0
        f.rcv_next += 1
    return True


@called
def _keep(w: Any, f: Any, i: Any, seq: Any) -> Any:
    """Keep a segment that is not the next one; True if it is new. Its row is [run_left, run_right) then.

    Both ends of a row know its length, so that the rows on both sides of a new segment are joined at once.
    """
    mask = at.received(w).shape[1] - 1
    if seq - f.rcv_next > mask:
        w.broken = 1
        return False
    if at.received(w)[i, seq & mask]:
        if not f.run_left <= seq < f.run_right:
            _find_row(w, f, i, seq)
        return False
    left = seq - at.received(w)[i, (seq - 1) & mask]
    right = seq + 1 + at.received(w)[i, (seq + 1) & mask]
    at.received(w)[i, seq & mask] = 1
    at.received(w)[i, left & mask] = right - left
    at.received(w)[i, (right - 1) & mask] = right - left
    f.run_left, f.run_right = left, right
    f.rcv_max = max(f.rcv_max, seq)
    return True


@called
def _find_row(w: Any, f: Any, i: Any, seq: Any) -> None:
    """The row of a segment that came before, and is not of the row that grew last: step by step to its ends."""
    mask = at.received(w).shape[1] - 1
    right = seq + 1
    while right <= f.rcv_max and at.received(w)[i, right & mask]:
        right += 1
    left = right - at.received(w)[i, (right - 1) & mask]
    w.scanned += right - seq
    f.run_left, f.run_right = left, right


@inlined
def note_marks(f: Any, marks: Any) -> None:
    """A mark is echoed by all acknowledgements until the sender has answered (RFC 3168, 6.1.3)."""
    if f.ecn:
        if f.ecn_as_ns2:
            f.held_marks |= marks
            return
        if marks & CWR:
            f.echoes_mark = 0
        if marks & CE:
            f.echoes_mark = 1


@called
def _echo(f: Any) -> Any:
    """The mark of an acknowledgement; ns-2's sinks set it once for all the packets that it acknowledges.

    There the first segment asks for ECN, and its echo is the answer; later ones are echoed only if they may be marked.
    """
    if not f.ecn_as_ns2:
        return ECE if f.echoes_mark else 0
    marks = f.held_marks
    f.held_marks = 0
    if marks & CWR:
        f.echoes_mark = 0
    if marks & CE:
        f.echoes_mark = 1
    if marks & ECE:
        return ECE
    return ECE if marks & ECT and f.echoes_mark else 0


@inlined
def count_receipt(w: Any, f: Any, i: Any, time: Any, fresh: Any, seq: Any, kind: Any) -> None:
    """Count a segment received at `time`, before the end of the run."""
    at.counts(w)[i, RECEIVED] += 1
    if time >= w.measure_from:
        at.counts(w)[i, DELIVERED] += 1
        if fresh:
            at.counts(w)[i, GOODPUT] += 1
            if seq == 0 and f.handshake:
                at.counts(w)[i, HANDSHAKES] += 1
            part = (time - w.measure_from) / w.slice
            if part < at.slices(w).shape[0]:
                at.slices(w)[int(part), i] += 1
    if w.tracing & (RECEIVES | USERS):
        if w.tracing & USERS:
            users.receipt(w, i, time)
        if w.tracing & RECEIVES:
            trace(w, RECEIVES, time, i, seq, kind, -1)


@inlined
def answer(w: Any, f: Any, i: Any, seq: Any, sent: Any) -> Any:
    """Acknowledge a segment just stored, now or later; True if now.

    Only the first of two segments in order waits, and never one that fills a gap, or the first of all.
    """
    if f.delack <= 0.0:
        return True
    if f.ack_held == 0 and seq == f.rcv_next - 1 and seq >= f.rcv_max and seq > 0:
        f.ack_held = 1
        f.ack_timer += 1
        f.held_seq = seq
        f.held_sent = sent
        schedule(w, w.now + f.delack, DELACK, i, f.ack_timer)
        return False
    f.ack_held = 0
    return True


@inlined
def fill_ack(w: Any, f: Any, i: Any, slot: Any, seq: Any, sent: Any) -> None:
    """Turn a slot into the acknowledgement that segment `seq`, sent at `sent`, calls for."""
    e = at.event(w, slot)
    e.flow = i
    e.kind = ACK
    e.mark = _echo(f) if f.ecn else 0
    e.on = -1
    e.seq = f.acks
    f.acks += 1
    e.ack = f.rcv_next
    f.acked_next = f.rcv_next
    # There is nothing to echo before the first segment in order.
    e.sent = f.echo if f.timestamps and sent >= f.since and f.echo >= f.since else sent
    e.blocks = 0
    if f.sack and sent >= f.since:
        e.blocks = _sack_blocks(w, f, i, slot, seq)
    e.length = f.ack_size + 8 * e.blocks
    at.counts(w)[i, ACKS_SENT] += 1


@inlined
def launch_ack(w: Any, f: Any, slot: Any) -> Any:
    """Send an acknowledgement off; True if it is at the first queue on its way now, else see `e.time`."""
    e = at.event(w, slot)
    e.hop = f.back_hop
    e.time = w.now + f.back_access
    e.since = w.now
    e.what = ACKED if f.back_hop == f.back_end else ARRIVE
    if f.back_hop < f.back_end and at.hop(w, f.back_hop).through:
        pass_through(w, e)
        return False
    return f.back_hop < f.back_end and f.back_access <= 0.0


@called
def held_ack(w: Any, f: Any, i: Any, number: Any) -> Any:
    """The delayed-acknowledgement timer: slot of the acknowledgement, or -1 if it has gone already."""
    if f.paced:
        return paced.report_timer(w, f, i, number)
    if f.ack_held == 0 or number != f.ack_timer:
        return -1
    f.ack_held = 0
    slot = new_slot(w)
    fill_ack(w, f, i, slot, f.held_seq, f.held_sent)
    return slot


@called
def _sack_blocks(w: Any, f: Any, i: Any, slot: Any, seq: Any) -> Any:
    """Write at most three blocks: the one with `seq` first, then recent ones (RFC 2018, section 4).

    A block that the newest covers leaves the stack of recent blocks; what reaches beyond the highest segment
    ends the list, as in ns-2.
    """
    if f.rcv_next > f.rcv_max:
        f.stack_count = 0
        return 0
    count = 0
    right = f.rcv_next
    left = 0
    if seq >= f.rcv_next:
        left, right = f.run_left, f.run_right  # the row that `receive` has put the segment into
        at.blocks(w)[slot, 0] = left
        at.blocks(w)[slot, 1] = right
        count = 1
    k = 0
    while count < 3 and k < f.stack_count:
        old_left = at.stack(w)[i, 2 * k]
        old_right = at.stack(w)[i, 2 * k + 1]
        if left <= old_left and right >= old_right:
            for j in range(k, f.stack_count - 1):
                at.stack(w)[i, 2 * j] = at.stack(w)[i, 2 * j + 2]
                at.stack(w)[i, 2 * j + 1] = at.stack(w)[i, 2 * j + 3]
            f.stack_count -= 1
            continue
        at.blocks(w)[slot, 2 * count] = old_left
        at.blocks(w)[slot, 2 * count + 1] = old_right
        count += 1
        k += 1
    if seq >= f.rcv_next:
        f.stack_count = min(f.stack_count + 1, 3)
        for j in range(f.stack_count - 1, 0, -1):
            at.stack(w)[i, 2 * j] = at.stack(w)[i, 2 * j - 2]
            at.stack(w)[i, 2 * j + 1] = at.stack(w)[i, 2 * j - 1]
        at.stack(w)[i, 0] = left
        at.stack(w)[i, 1] = right
    return count
