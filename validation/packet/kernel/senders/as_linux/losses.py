"""Which segments are lost: by time with selective acknowledgements (RFC 8985), by counting duplicates without."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import views as at
from ...jit import called, inlined
from ...records import SACK
from ..common import clear_scoreboard, first_unreported
from .records import AGAIN, EVER, LOST, MOST_REORDERING, OVERTAKEN, RECOVERY, outstanding, reported, segment, take_out
from .timers import LEAST, arm, floored, in_ticks, stamp


@called
def mark_lost(w: Any, f: Any, i: Any, s: Any, seq: Any) -> None:
    """A segment, or its retransmission, is thought lost."""
    if reported(w, i, seq):
        return
    one = segment(w, f, seq)
    if one.marks & LOST:
        if not one.marks & AGAIN:
            return
        one.marks &= ~AGAIN
        s.again -= 1
    else:
        one.marks |= LOST
        s.lost += 1
    s.losses += 1
    s.hint = min(s.hint, seq)


@inlined
def sent_after(time: Any, end: Any, other: Any, other_end: Any) -> Any:
    """Whether the first of two segments was sent after the second."""
    return time > other or (time == other and end > other_end)


@inlined
def note_arrival(w: Any, f: Any, s: Any, seq: Any) -> None:
    """A segment has arrived: its round trip, and whether it is the newest by the time of sending.

    A retransmission that is answered sooner than any round trip may not be the one that is answered.
    """
    one = segment(w, f, seq)
    rtt = floored(w.now - one.time)
    if one.marks & EVER and rtt < f.min_rtt:
        return
    s.looked = 1
    s.newest_rtt = rtt
    if sent_after(one.time, seq + 1, s.newest, s.newest_end):
        s.newest = one.time
        s.newest_end = seq + 1


@inlined
def _patience(f: Any, s: Any) -> Any:
    """How long [s] a segment may be overtaken: not at all in a recovery or after three duplicates."""
    if not s.overtaken and (s.state >= RECOVERY or s.reported >= s.reordering):
        return 0.0
    return min(floored(floored(f.min_rtt) / 4.0), f.est)


@called
def find_overtaken(w: Any, f: Any, i: Any, s: Any) -> Any:
    """Mark lost what was sent long enough before the newest that arrived; how long [s] the others may still take."""
    patience = _patience(f, s)
    longest = 0.0
    seq = s.oldest
    while seq >= 0:
        w.scanned += 1
        one = segment(w, f, seq)
        newer = one.newer
        if one.marks & (LOST | AGAIN) != LOST:
            if not sent_after(s.newest, s.newest_end, one.time, seq + 1):
                break
            wait = s.newest_rtt + patience - floored(w.now - one.time)
            if wait <= 1e-9:
                mark_lost(w, f, i, s, seq)
                take_out(w, f, s, seq)
            else:
                longest = max(longest, wait)
        seq = newer
    return longest


@called
def find_lost(w: Any, f: Any, i: Any, s: Any, advanced: Any) -> Any:
    """Look for losses at an acknowledgement; whether the timer now waits for what may only be overtaken."""
    if outstanding(f) == 0:
        return False
    if f.algorithm != SACK:
        if (s.state < RECOVERY and s.reported >= s.reordering) or (s.state == RECOVERY and advanced):
            if not segment(w, f, f.una).marks & LOST:
                mark_lost(w, f, i, s, f.una)
        return False
    if not s.looked:
        return False
    s.looked = 0
    wait = find_overtaken(w, f, i, s)
    if wait > 0.0:
        arm(w, f, i, s, OVERTAKEN, in_ticks(f, wait + LEAST))
    return wait > 0.0


@called
def note_overtaking(f: Any, s: Any, lowest: Any, highest: Any) -> None:
    """A segment that was never sent again came after later ones."""
    if lowest >= highest:
        return
    if highest - lowest > s.reordering:
        s.reordering = min(highest - lowest, MOST_REORDERING)
    s.overtaken += 1


@called
def read_blocks(w: Any, f: Any, i: Any, s: Any, slot: Any) -> Any:
    """Note what an acknowledgement reports: how many segments for the first time, when the first and the last of those
    that were never sent again were sent [s] (-1: none), whether one of these is from before the recovery."""
    mask = at.sacked(w).shape[1] - 1
    news = 0
    first = last = -1.0
    original = 0
    lowest = f.top
    for b in range(at.event(w, slot).blocks):
        end = min(at.blocks(w)[slot, 2 * b + 1], f.top)
        seq = max(at.blocks(w)[slot, 2 * b], f.una)
        while seq < end:
            if at.sacked(w)[i, seq & mask]:
                seq = first_unreported(w, f, i, seq, end)
                continue
            one = segment(w, f, seq)
            note_arrival(w, f, s, seq)
            if not one.marks & EVER:
                if seq < f.sack_max:
                    lowest = min(lowest, seq)
                if seq < s.point:
                    original = 1
                if first < 0.0:
                    first = one.time
                last = one.time
            if one.marks & LOST:
                s.lost -= 1
                if one.marks & AGAIN:
                    s.again -= 1
                one.marks &= ~(LOST | AGAIN)
            take_out(w, f, s, seq)
            at.sacked(w)[i, seq & mask] = 1
            f.sack_total += 1
            f.sack_max = max(f.sack_max, seq)
            news += 1
            seq += 1
    s.reported += news
    s.arrived += news
    if news and lowest < f.top:
        note_overtaking(f, s, lowest, f.sack_max)
    return news, first, last, original


@called
def count_duplicates(f: Any, s: Any, more: Any) -> None:
    """Without selective acknowledgements a duplicate stands for a segment that has arrived; but one is missing."""
    before = s.reported
    s.reported += more
    _keep_holes(f, s, 0)
    s.arrived += max(s.reported - before, 0)


@called
def use_up_duplicates(f: Any, s: Any, acked: Any) -> None:
    """What is acknowledged now is the hole and what duplicates stood for."""
    s.arrived += max(acked - s.reported, 1)
    s.reported = max(s.reported - (acked - 1), 0)
    _keep_holes(f, s, acked)


@inlined
def _keep_holes(f: Any, s: Any, acked: Any) -> None:
    """More duplicates than segments: they were overtaken."""
    holes = min(max(s.lost, 1), outstanding(f))
    if s.reported + holes > outstanding(f):
        s.reported = outstanding(f) - holes
        s.reordering = min(outstanding(f) + acked, MOST_REORDERING)
        s.overtaken += 1


@called
def mark_at_timeout(w: Any, f: Any, i: Any, s: Any) -> None:
    """The timer has run out: all is lost but what was sent within the last round trip."""
    if reported(w, i, f.una):  # the receiver has forgotten what it reported
        clear_scoreboard(w, f, i)
        s.reported = 0
    elif f.algorithm != SACK:
        s.reported = 0
    for seq in range(f.una, f.top):
        if seq == f.una or s.newest_rtt - (w.now - segment(w, f, seq).time) <= 1e-9:
            mark_lost(w, f, i, s, seq)
    w.scanned += f.top - f.una
    s.hint = f.una


@inlined
def is_needless(w: Any, f: Any, seq: Any, echo: Any) -> Any:
    """Whether a time stamp says that a segment arrived as it was sent first."""
    one = segment(w, f, seq)
    return bool(one.marks & EVER) and bool(f.timestamps) and stamp(echo) < stamp(one.time)


@inlined
def is_late_original(f: Any, s: Any, echo: Any) -> Any:
    """Whether what is answered was sent before the first retransmission, as a time stamp says."""
    if s.first_again >= 0.0:
        return bool(f.timestamps) and stamp(echo) < stamp(s.first_again)
    return f.algorithm == SACK or f.una < s.point


@inlined
def whole(value: Any) -> Any:
    """A window in whole segments."""
    return np.float64(np.int64(value))
