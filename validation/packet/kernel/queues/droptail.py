"""Drop-tail: a packet that finds no room is lost, all others leave in the order in which they came."""

from __future__ import annotations

from typing import Any

from .. import views as at
from ..jit import inlined


@inlined
def admits(w: Any, line: Any, size: Any, busy: Any) -> Any:
    """Is there room? `limit` counts waiting packets, without the one being sent."""
    if line.limit_bytes >= 0:
        return line.waiting_bytes + size < line.limit_bytes
    return line.limit < 0 or not busy or line.waiting < line.limit


@inlined
def put(w: Any, line: Any, slot: Any) -> None:
    """Append a packet to the list of a served link."""
    at.event(w, slot).next = -1
    if line.list_head < 0:
        line.list_head = slot
    else:
        at.event(w, line.list_tail).next = slot
    line.list_tail = slot


@inlined
def take(w: Any, line: Any) -> Any:
    """Take the packet to send next off the list of a served link; -1 without any."""
    slot = line.list_head
    if slot >= 0:
        line.list_head = at.event(w, slot).next
    return slot
