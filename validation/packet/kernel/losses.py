"""Packets that are lost: on their arrival at a link, or by a discipline that has held them."""

from __future__ import annotations

from typing import Any

from . import loss_models
from . import records as k
from . import views as at
from .calendar import free_slot
from .jit import called
from .loss_models import HEAD
from .recording import trace
from .streams import ONE, uniform

_channel = at.part_of("channel", HEAD)


@called
def by_chance(w: Any, f: Any, line: Any, is_ack: Any) -> Any:
    """Is a packet that arrives at a link with losses lost? A negative `line.loss`: what it loses has two records."""
    if line.loss > 0.0:
        f.loss_draws += ONE
        return uniform(f.loss_key, f.loss_draws) < line.loss
    which = line.ack_channel if is_ack else 0
    channel = _channel(w, line, which)
    if channel.hook:
        return loss_models.lost(channel.hook, w, line, which) != 0
    if channel.loss <= 0.0:
        return False
    f.loss_draws += ONE
    return uniform(f.loss_key, f.loss_draws) < channel.loss


@called
def lose(w: Any, slot: Any, line: Any) -> None:
    """Count a packet as lost at a link, and free its slot."""
    e = at.event(w, slot)
    line.dropped += 1
    if e.kind == k.ACK:
        at.counts(w)[e.flow, k.ACKS_DROPPED] += 1
    else:
        at.counts(w)[e.flow, k.DROPPED] += 1
        at.counts(w)[e.flow, k.DROPPED_KIND + e.kind] += 1
    if w.tracing & k.DROPS:
        trace(w, k.DROPS, w.now, e.flow, e.seq, e.kind, line.number)
    free_slot(w, slot)


@called
def lose_held(w: Any, line: Any, slot: Any) -> None:
    """Lose a packet that the discipline has just taken off its lists."""
    line.wait_sum += line.waiting * (w.now - line.changed)
    line.changed = w.now
    line.waiting -= 1
    line.waiting_bytes -= at.event(w, slot).length
    line.evicted += 1
    lose(w, slot, line)


@called
def mark(w: Any, line: Any, slot: Any) -> Any:
    """Mark a packet (RFC 3168); True if it can be marked, else the discipline must lose it."""
    e = at.event(w, slot)
    if not e.mark & k.ECT:
        return False
    e.mark |= k.CE
    line.marked += 1
    return True
