"""What all senders share: putting a segment on its way, and the end of a transfer."""

from __future__ import annotations

from typing import Any

from .. import views as at
from ..jit import called, inlined
from ..links import delayed_arrival, pass_through
from ..records import ARRIVE, CWR, DELAYED, ECE, ECT, NEW


@inlined
def emit(w: Any, f: Any, i: Any, seq: Any, repeat_kind: Any) -> None:
    """Decide to send a segment now; the loop puts it on the first link once the sender has done."""
    kind = NEW if seq >= f.top else repeat_kind
    if w.out_count >= w.n_out:  # more than two windows at once
        w.broken = 1
        return
    at.out_seq(w)[w.out_count] = seq
    at.out_kind(w)[w.out_count] = kind
    w.out_count += 1


@inlined
def launch(w: Any, f: Any, i: Any, slot: Any, seq: Any, kind: Any) -> Any:
    """Fill a slot with a segment; True if it is at its first queue now, else `e.time` says when it will be."""
    e = at.event(w, slot)
    e.flow = i
    e.seq = seq
    e.kind = kind
    e.mark = 0
    if f.ecn:
        e.mark = _marks(f, seq, kind)
    e.sent = w.now
    e.length = f.ack_size if seq == 0 and f.handshake else f.packet_size
    e.hop = f.out_hop
    e.on = -1
    e.ack = 0
    if w.drops:
        e.ack = _transmission(w, i, seq, kind)
    arrival = w.now + f.out_access
    hop = at.hop(w, f.out_hop)
    if hop.jitter > 0.0:
        arrival = delayed_arrival(w, f, hop, arrival)
        e.mark |= DELAYED
    elif f.out_access <= 0.0 and not hop.through:
        return True
    e.what = ARRIVE
    e.time = arrival
    e.since = w.now
    if hop.through:
        pass_through(w, e)
    return False


@called
def _marks(f: Any, seq: Any, kind: Any) -> Any:
    """What a segment of a flow with ECN carries: whether it may be marked, and that the window has fallen.

    Not a handshake, nor what is sent again (RFC 3168, 6.1.1, 6.1.5). In ns-2 the first segment alone is not, and it
    asks for ECN.
    """
    if f.ecn_as_ns2:
        marks = ECE if seq == 0 else ECT
    elif kind == NEW and (seq > 0 or not f.handshake):
        marks = ECT
    else:
        return 0
    if f.answered:
        marks |= CWR
        f.answered = 0
    return marks


@called
def _transmission(w: Any, i: Any, seq: Any, kind: Any) -> Any:
    """Which transmission of this segment it is, from 1 (kept only where drops are chosen by segment)."""
    place = seq & (at.copies(w).shape[1] - 1)
    if kind == NEW:
        at.copies(w)[i, place] = 0
    at.copies(w)[i, place] += 1
    return at.copies(w)[i, place]


@inlined
def finished(f: Any) -> Any:
    """Is everything that the flow has to send acknowledged?"""
    return f.una >= f.limit


@called
def clear_scoreboard(w: Any, f: Any, i: Any) -> None:
    """Forget what selective acknowledgements said."""
    if f.sack_total > 0:
        mask = at.sacked(w).shape[1] - 1
        end = min(f.top, f.sack_max + 1)
        for seq in range(f.una, end):
            at.sacked(w)[i, seq & mask] = 0
        w.scanned += max(end - f.una, 0)
    f.sack_total = 0
    f.sack_max = f.sack_second = f.sack_third = -1
    f.rxt_sacked = 0


@called
def pass_reported(w: Any, f: Any, i: Any, first: Any, end: Any) -> None:
    """Take segments in [first, end), which are acknowledged now, off the scoreboard."""
    mask = at.sacked(w).shape[1] - 1
    for seq in range(first, end):
        if at.sacked(w)[i, seq & mask]:
            at.sacked(w)[i, seq & mask] = 0
            f.sack_total -= 1
            if seq <= f.high_rxt:
                f.rxt_sacked -= 1


@called
def first_unreported(w: Any, f: Any, i: Any, seq: Any, end: Any) -> Any:
    """First segment in [seq, end) that was not reported; `end` without.

    A reported segment knows how many from it on were reported. What is walked over is shortened on the way, so that
    a window of a million segments costs a few steps for each acknowledgement.
    """
    mask = at.sacked(w).shape[1] - 1
    place = seq
    while place < end and at.sacked(w)[i, place & mask]:
        place += at.sacked(w)[i, place & mask]
        w.scanned += 1
    while seq < place:
        beyond = seq + at.sacked(w)[i, seq & mask]
        at.sacked(w)[i, seq & mask] = place - seq
        seq = beyond
    return min(place, end)


@called
def mark_blocks(w: Any, f: Any, i: Any, slot: Any) -> Any:
    """Note the blocks of an acknowledgement; number of segments that they report for the first time."""
    mask = at.sacked(w).shape[1] - 1
    news = 0
    for b in range(at.event(w, slot).blocks):
        end = min(at.blocks(w)[slot, 2 * b + 1], f.top)
        seq = max(at.blocks(w)[slot, 2 * b], f.una)
        while seq < end:
            if at.sacked(w)[i, seq & mask]:
                seq = first_unreported(w, f, i, seq, end)
                continue
            at.sacked(w)[i, seq & mask] = 1
            news += 1
            if seq <= f.high_rxt:
                f.rxt_sacked += 1
            if seq > f.sack_max:
                f.sack_third = f.sack_second
                f.sack_second = f.sack_max
                f.sack_max = seq
            elif seq > f.sack_second:
                f.sack_third = f.sack_second
                f.sack_second = seq
            elif seq > f.sack_third:
                f.sack_third = seq
            seq += 1
    f.sack_total += news
    return news
