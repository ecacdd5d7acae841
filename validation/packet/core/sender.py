"""What all senders share: putting a segment on its way, and the end of a transfer."""

from __future__ import annotations

from typing import Any

from . import views as at
from .jit import called, inlined
from .links import delayed_arrival, pass_through
from .records import ARRIVE, DELAYED, NEW


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
    e.sent = w.now
    e.length = f.ack_size if seq == 0 and f.handshake else f.packet_size
    e.hop = f.forward_hop
    e.on = -1
    e.ack = 0
    if w.drops:
        e.ack = _transmission(w, i, seq, kind)
    arrival = w.now + f.access
    hop = at.hop(w, f.forward_hop)
    if hop.jitter > 0.0:
        arrival = delayed_arrival(w, f, hop, arrival)
        e.mark = DELAYED
    elif f.access <= 0.0 and not hop.through:
        return True
    e.what = ARRIVE
    e.time = arrival
    if hop.through:
        pass_through(w, e)
    return False


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
    mask = at.sacked(w).shape[1] - 1
    for seq in range(f.una, f.top):
        at.sacked(w)[i, seq & mask] = 0


@called
def mark_blocks(w: Any, f: Any, i: Any, slot: Any) -> Any:
    """Note the blocks of an acknowledgement; number of segments that they report for the first time."""
    mask = at.sacked(w).shape[1] - 1
    news = 0
    for b in range(at.event(w, slot).blocks):
        for seq in range(max(at.blocks(w)[slot, 2 * b], f.una), min(at.blocks(w)[slot, 2 * b + 1], f.top)):
            if not at.sacked(w)[i, seq & mask]:
                at.sacked(w)[i, seq & mask] = 1
                news += 1
    return news
