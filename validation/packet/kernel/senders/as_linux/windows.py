"""How Linux's window grows and falls: in whole segments, only where it bounds what is sent, a fall spread over a round
trip (proportional rate reduction, RFC 6937)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import views as at
from ...hooks import caller
from ...jit import called, inlined
from ...windows import HOOKS, ON_LOSS, ON_MARK, ON_TIMEOUT, grow, reno
from .records import ANSWERING, DISORDER, OPEN, is_reducing, under_way

_call = caller(HOOKS["on_loss"])


@called
def _threshold(w: Any, f: Any, s: Any, hook: Any) -> Any:
    """What the window rule makes of the window at a loss [segments]; the window itself falls in its own time."""
    address = at.rules(w)[f.rule, hook]
    if address == 0 and hook == ON_MARK:
        address = at.rules(w)[f.rule, ON_LOSS]
    if address == 0:
        return max(np.int64(f.cwnd) // 2, 2)
    cwnd, threshold = f.cwnd, f.ssthresh
    f.flight = under_way(f, s)
    _call(address, f, w.now)
    found = f.ssthresh
    f.cwnd, f.ssthresh = cwnd, threshold
    return max(np.int64(found), 2) if found >= 2.0 else 2


@inlined
def _current_threshold(f: Any, s: Any) -> Any:
    """The threshold that is taken back to, should the reduction be: not below three quarters of the window."""
    if is_reducing(s):
        return np.int64(f.ssthresh)
    window = np.int64(f.cwnd)
    return max(np.int64(f.ssthresh), (window >> 1) + (window >> 2))


@called
def begin_reduction(w: Any, f: Any, s: Any, hook: Any) -> None:
    """The window is to fall to the threshold that its rule gives."""
    s.point = f.top
    s.probe_end = 0
    f.credit = 0
    s.before_cwnd = np.int64(f.cwnd)
    s.reduced_arrived = 0
    s.reduced_sent = 0
    f.ssthresh = np.float64(_threshold(w, f, s, hook))
    f.answered = 1


@called
def reduce(f: Any, s: Any, arrived: Any, lost: Any, advanced: Any) -> None:
    """The window while it falls: as much more as the threshold's share of what has arrived since, or up to it."""
    if arrived <= 0:
        return
    s.reduced_arrived += arrived
    flight = under_way(f, s)
    threshold = np.int64(f.ssthresh)
    room = threshold - flight
    if room < 0:
        due = threshold * s.reduced_arrived
        more = (due + s.before_cwnd - 1) // s.before_cwnd - s.reduced_sent
    else:
        more = max(s.reduced_arrived - s.reduced_sent, arrived)
        if advanced and lost == 0:
            more += 1
        more = min(room, more)
    more = max(more, 0 if s.reduced_sent else 1)
    f.cwnd = np.float64(max(flight + more, 1))


@inlined
def end_reduction(f: Any, s: Any) -> None:
    """The window is what it was to fall to."""
    if s.state == ANSWERING or s.undo_from >= 0:
        f.cwnd = f.ssthresh


@called
def answer_mark(w: Any, f: Any, s: Any) -> None:
    """A mark is echoed: the window falls as at a loss, which is not taken back."""
    s.before_ssthresh = 0
    if s.state < ANSWERING:
        s.undo_from = -1
        begin_reduction(w, f, s, ON_MARK)
        s.state = ANSWERING


@called
def fall_at_timeout(w: Any, f: Any, s: Any, anew: Any) -> None:
    """The timer has run out: a threshold, where it has not fallen for this window of data, and a window of one."""
    if anew:
        s.before_ssthresh = _current_threshold(f, s)
        s.before_cwnd = np.int64(f.cwnd)
    threshold = _threshold(w, f, s, ON_TIMEOUT)
    if anew:
        f.ssthresh = np.float64(threshold)
        note_recovery(f, s)
    f.cwnd = np.float64(under_way(f, s) + 1)
    f.credit = 0
    f.answered = 1


@inlined
def note_recovery(f: Any, s: Any) -> None:
    """Where a recovery began, and what of it is still under way, for taking it back."""
    s.undo_from = f.una
    s.undo_again = s.again
    if s.probe_end > 0 and s.probe_again:
        s.undo_again += 1
    if s.undo_again == 0:
        s.undo_again = -1


@called
def take_back(f: Any, s: Any) -> None:
    """The reduction was needless: the window is what it was."""
    if s.before_ssthresh > 0:
        f.cwnd = np.float64(max(np.int64(f.cwnd), s.before_cwnd))
        f.ssthresh = max(f.ssthresh, np.float64(s.before_ssthresh))
    s.undo_from = -1
    s.looked = 1


@inlined
def keep_threshold(f: Any, s: Any) -> None:
    """Remember the threshold of before a recovery that may be taken back."""
    s.before_ssthresh = _current_threshold(f, s)


@called
def grow_by(w: Any, f: Any, s: Any, arrived: Any) -> None:
    """The window grows by its rule, if it is what bounds the sending; in slow start, if more than half is used."""
    if s.bounded or (f.cwnd < f.ssthresh and f.cwnd < 2.0 * s.most_out):
        grow(w, f, arrived, reno.on_ack_linux)


@called
def try_to_open(f: Any, s: Any, again: Any) -> None:
    """Whether anything is out of order."""
    state = DISORDER if s.reported + s.lost > 0 or again else OPEN
    if s.state != state:
        s.state = state
        s.point = f.top
