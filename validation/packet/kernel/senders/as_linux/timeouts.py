"""What a sender by Linux's rules does when its timer runs out, whatever it was set for."""

from __future__ import annotations

from typing import Any

from ... import records as k
from ...jit import called
from ...timer import count_timeout, current_rto
from .acks import begin_recovery
from .losses import find_overtaken, mark_at_timeout
from .output import may_send_new, repair, send_again, send_once_more, transmit
from .records import (
    DISORDER,
    LOSS,
    NOTHING,
    OVERTAKEN,
    PROBE,
    RECOVERY,
    REORDERING,
    RETRANSMIT,
    is_reducing,
    opening,
    under_way,
)
from .timers import arm, rearm
from .windows import fall_at_timeout, reduce

#: A handshake's timeouts that do not back off, and those after which the next one ends the connection.
LINEAR, GIVEN_UP = 4, 10
#: The window that a handshake is lost at, before the first one is set.
BEFORE = 10.0


@called
def on_timeout(w: Any, f: Any, i: Any, s: Any) -> None:
    """The timer has run out."""
    s.ringing = 1
    if s.pending == OVERTAKEN:
        _on_overtaken(w, f, i, s)
    elif s.pending == PROBE:
        _on_probe(w, f, i, s)
    else:
        _on_retransmit(w, f, i, s)
    s.ringing = 0


@called
def _on_overtaken(w: Any, f: Any, i: Any, s: Any) -> None:
    """What might only have been overtaken is lost."""
    flight, losses = under_way(f, s), s.losses
    find_overtaken(w, f, i, s)
    if under_way(f, s) != flight:
        if s.state != RECOVERY:
            begin_recovery(w, f, i, s)
            reduce(f, s, 1, s.losses - losses, 0)
        repair(w, f, i, s)
    if s.pending != RETRANSMIT:
        rearm(w, f, i, s)


@called
def _on_probe(w: Any, f: Any, i: Any, s: Any) -> None:
    """A new segment, or the last one again, to have the receiver say what is missing (RFC 8985, 7.3)."""
    if s.probe_end == 0:
        s.probe_again = 0
        if may_send_new(f):
            s.pending = RETRANSMIT
            transmit(w, f, i, s)
            if is_reducing(s):
                s.reduced_sent += 1
        else:
            send_once_more(w, f, i, s, f.top - 1, k.FAST)
            s.probe_again = 1
        s.probe_end = f.top
        s.pending = NOTHING
    rearm(w, f, i, s)


@called
def _on_retransmit(w: Any, f: Any, i: Any, s: Any) -> None:
    """The retransmission timeout: all is lost, the first segment goes again, the timeout doubles."""
    s.pending = NOTHING
    connecting = opening(f)
    if connecting and s.timeouts == GIVEN_UP:
        return
    count_timeout(w, f, i)
    if connecting:
        f.cwnd = max(f.cwnd, BEFORE)
    fresh = s.state < RECOVERY
    mark_at_timeout(w, f, i, s)
    fall_at_timeout(w, f, s, s.state <= DISORDER or s.point <= f.una or (s.state == LOSS and s.expired == 0))
    if s.state <= DISORDER and s.reported >= REORDERING:
        s.reordering = min(s.reordering, REORDERING)
    s.state = LOSS
    s.point = f.top
    s.probe_end = 0
    s.doubting = 1 if s.doubts and (fresh or s.expired > 0) else 0
    f.action = k.AFTER_TIMEOUT
    s.expired += 1
    s.timeouts += 1
    send_again(w, f, i, s, f.una, k.TIMEOUT)
    if (not connecting or s.timeouts > LINEAR) and current_rto(f) < f.max_rto:
        f.backoff *= 2
    arm(w, f, i, s, RETRANSMIT, current_rto(f))
