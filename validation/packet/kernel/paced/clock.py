"""What paced senders share: timers that may be set anew, and reports."""

from __future__ import annotations

from typing import Any

from .. import views as at
from ..calendar import schedule
from ..jit import called
from ..records import ACK, ACKS_SENT, DELACK, TICK
from ..senders.common import emit
from ..streams import on_grid

#: Timers of one side of a flow; the number of an entry is this times how often one was set, and which.
TIMERS = 4


@called
def set_timer(w: Any, i: Any, gap: Any, number: Any) -> None:
    """The sender's timer: an entry in `gap` seconds. The caller remembers `number`, and heeds no other."""
    schedule(w, w.now + on_grid(w, gap), TICK, i, number)


@called
def set_report_timer(w: Any, i: Any, gap: Any, number: Any) -> None:
    """The same at the receiver."""
    schedule(w, w.now + on_grid(w, gap), DELACK, i, number)


@called
def send_next(w: Any, f: Any, i: Any) -> None:
    """Send the next packet, unless all is sent or the flow was stopped."""
    if f.top < f.limit:
        emit(w, f, i, f.top, 0)
        f.top += 1
        if f.top >= f.limit:
            f.finish = w.now


@called
def report(w: Any, f: Any, i: Any, slot: Any, highest: Any, since: Any) -> None:
    """Make a slot a report: of all up to packet `highest`, with a round trip that began at `since` [s]."""
    e = at.event(w, slot)
    e.flow = i
    e.kind = ACK
    e.mark = 0
    e.on = -1
    e.seq = f.acks
    f.acks += 1
    e.ack = highest + 1
    e.sent = since
    e.blocks = 0
    e.length = f.ack_size
    at.counts(w)[i, ACKS_SENT] += 1
