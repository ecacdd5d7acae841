"""What an acknowledgement means by Linux's rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import records as k
from ... import views as at
from ...jit import called, inlined
from ...windows import ON_LOSS
from .losses import (
    count_duplicates,
    find_lost,
    is_late_original,
    is_needless,
    note_arrival,
    note_overtaking,
    read_blocks,
    use_up_duplicates,
)
from .output import IN_HOST, may_send_new, repair, send_new
from .records import AGAIN, ANSWERING, EVER, LOSS, LOST, OPEN, RECOVERY, is_reducing, outstanding, segment, take_out
from .timers import STAMPS, arm_probe, rearm, sample, stamp
from .windows import (
    answer_mark,
    begin_reduction,
    end_reduction,
    grow_by,
    keep_threshold,
    note_recovery,
    reduce,
    take_back,
    try_to_open,
)

#: The timeout after a handshake that was sent again and measured nothing [s] (RFC 6298, 5.7).
UNMEASURED = 3.0
#: What is to be sent after an acknowledgement beside new data: nothing, what is lost, new data first.
NONE, WHAT_IS_LOST, NEW_FIRST = range(3)


@called
def on_ack(w: Any, f: Any, i: Any, s: Any, slot: Any) -> None:
    """An acknowledgement of all before `ack`, perhaps with blocks, is back."""
    e = at.event(w, slot)
    ack = e.ack
    if ack < f.una or outstanding(f) == 0:
        return
    echo = e.sent
    una = f.una
    advanced = ack > una
    if advanced:
        s.expired = 0
    arrived, losses = s.arrived, s.losses
    selective = f.algorithm == k.SACK
    highest = f.sack_max if s.reported > 0 else una
    news, original = 0, 0
    first_reported = last_reported = -1.0
    if selective and e.blocks > 0:
        news, first_reported, last_reported, original = read_blocks(w, f, i, s, slot)
    progress, more_original = _take_acknowledged(w, f, i, s, ack, echo, highest, first_reported, last_reported)
    original |= more_original
    if s.probe_end > 0:
        _look_at_probe(w, f, s, ack, advanced, news)
    to_send = NONE
    # The first one after the handshake has a newer number than that, and is taken for news of the window.
    duplicates = 0 if advanced or not s.heard else 1
    if una > 0:
        s.heard = 1
    if duplicates or news or f.marked or s.state != OPEN:
        to_send, armed = _alert(w, f, i, s, una, advanced, news, original, duplicates, echo)
        progress = progress and not armed
    if progress and not arm_probe(w, f, i, s, True):
        rearm(w, f, i, s)
    arrived = s.arrived - arrived
    if is_reducing(s):
        reduce(f, s, arrived, s.losses - losses, advanced)
    elif (advanced and (una > 0 or not f.handshake)) or (s.reordering > 3 and news):
        grow_by(w, f, s, arrived)
    if una == 0 and f.handshake and advanced:
        f.cwnd = np.float64(f.iw if s.timeouts < 2 else 1)
        if f.est == 0.0:
            f.base_rto = UNMEASURED
            f.backoff = 1
    if to_send == NEW_FIRST:
        send_new(w, f, i, s, IN_HOST)
        if f.top == s.point:
            s.doubting = 0
        elif f.top < s.point + IN_HOST:
            return
    if to_send != NONE:
        repair(w, f, i, s)
    send_new(w, f, i, s, k.UNLIMITED)


@called
def _take_acknowledged(
    w: Any, f: Any, i: Any, s: Any, ack: Any, echo: Any, highest: Any, first_reported: Any, last_reported: Any
) -> Any:
    """What is acknowledged is outstanding no more; (is the timer to be set anew, was some of it never sent again)."""
    mask = at.sacked(w).shape[1] - 1
    una = f.una
    selective = f.algorithm == k.SACK
    first = last = -1.0
    lowest = f.top
    repeated = False
    original = 0
    for seq in range(una, ack):
        one = segment(w, f, seq)
        sacked = at.sacked(w)[i, seq & mask] != 0
        if one.marks & EVER:
            if one.marks & AGAIN:
                s.again -= 1
            repeated = True
        elif not sacked:
            last = one.time
            if first < 0.0:
                first = last
            lowest = min(lowest, seq)
            if seq < s.point:
                original = 1
        if sacked:
            at.sacked(w)[i, seq & mask] = 0
            f.sack_total -= 1
            s.reported -= 1
        elif selective:
            s.arrived += 1
            if not is_needless(w, f, seq, echo):
                note_arrival(w, f, s, seq)
        if one.marks & LOST:
            s.lost -= 1
        take_out(w, f, s, seq)
    f.una = ack
    f.next = f.top
    timed = _measure(w, f, i, s, ack > una, repeated, first, first_reported, echo)
    if ack > una:
        if not selective:
            use_up_duplicates(f, s, ack - una)
            if repeated:
                original = 0
        elif lowest < highest:
            note_overtaking(f, s, lowest, highest)
        return True, original
    # Not where what is reported was sent after the head was sent last: the timeout would be put off and off.
    return timed and 0.0 <= first_reported < segment(w, f, ack).time, original


@called
def _measure(
    w: Any, f: Any, i: Any, s: Any, advanced: Any, repeated: Any, first: Any, first_reported: Any, echo: Any
) -> Any:
    """The round trip, of what was sent once; of a time stamp where nothing was. Whether there is one."""
    if first >= 0.0 and not repeated:
        rtt = w.now - first
    elif first_reported >= 0.0:
        rtt = w.now - first_reported
    elif f.timestamps and advanced:
        rtt = max(stamp(w.now) - stamp(echo), 1.0) / STAMPS
    else:
        return False
    at.counts(w)[i, k.SAMPLES] += 1
    sample(f, s, rtt)
    return True


@called
def _look_at_probe(w: Any, f: Any, s: Any, ack: Any, advanced: Any, news: Any) -> None:
    """What an acknowledgement says of a probe (RFC 8985, 7.4): that it has repaired a loss, or that there was none."""
    if ack < s.probe_end:
        return
    if not s.probe_again:
        s.probe_end = 0
    elif ack > s.probe_end:
        begin_reduction(w, f, s, ON_LOSS)
        s.state = ANSWERING
        end_reduction(f, s)
        _keep_open(w, f, s)
    elif not advanced and not news:
        s.probe_end = 0


@inlined
def _ever_again(w: Any, f: Any, s: Any) -> Any:
    """Whether something that is outstanding was sent again."""
    return s.again > 0 or (outstanding(f) > 0 and bool(segment(w, f, f.una).marks & EVER))


@inlined
def _keep_open(w: Any, f: Any, s: Any) -> None:
    try_to_open(f, s, _ever_again(w, f, s))


@called
def _alert(
    w: Any, f: Any, i: Any, s: Any, una: Any, advanced: Any, news: Any, original: Any, duplicates: Any, echo: Any
) -> Any:
    """Something is, or was, out of order: (what to send, does the timer wait for what may be overtaken)."""
    selective = f.algorithm == k.SACK
    armed = False
    if f.marked:
        s.before_ssthresh = 0
    if s.state == OPEN:
        s.first_again = -1.0
    elif f.una >= s.point:
        if s.state == ANSWERING:
            if f.una > s.point:
                end_reduction(f, s)
                s.state = OPEN
        elif s.state == RECOVERY:
            if not selective:
                s.reported = 0
            if _recovered(w, f, s, echo):
                return NONE, armed
            end_reduction(f, s)
    if s.state == RECOVERY:
        if not advanced:
            if not selective:
                count_duplicates(f, s, duplicates)
        elif _partly_needless(w, f, s, una, echo):
            return NONE, armed
        armed = find_lost(w, f, i, s, advanced)
        if s.state != RECOVERY:
            if s.lost == 0:
                return NONE, armed
            begin_recovery(w, f, i, s)
        return WHAT_IS_LOST, armed
    to_send = NONE
    if s.state == LOSS:
        to_send = _after_timeout(w, f, i, s, advanced, news, original, duplicates, echo)
        again = s.again
        armed = find_lost(w, f, i, s, advanced)
        if s.state != OPEN and s.again >= again:
            return to_send, armed
    if not selective:
        if advanced:
            s.reported = 0
        count_duplicates(f, s, duplicates)
    armed = find_lost(w, f, i, s, advanced) or armed
    if s.lost == 0:
        if not _ever_again(w, f, s):
            s.first_again = -1.0
        if f.marked:
            answer_mark(w, f, s)
        if s.state != ANSWERING:
            _keep_open(w, f, s)
        return to_send, armed
    begin_recovery(w, f, i, s)
    return WHAT_IS_LOST, armed


@called
def begin_recovery(w: Any, f: Any, i: Any, s: Any) -> None:
    """Segments are lost: repair begins, and the window starts to fall unless it does already."""
    at.counts(w)[i, k.RECOVERIES] += 1
    if not _ever_again(w, f, s):
        s.first_again = -1.0
    s.before_ssthresh = 0
    note_recovery(f, s)
    if not is_reducing(s):
        if not f.marked:
            keep_threshold(f, s)
        begin_reduction(w, f, s, ON_LOSS)
    s.state = RECOVERY


@inlined
def _was_needless(f: Any, s: Any, echo: Any) -> Any:
    """Whether what was sent again had arrived as it was sent first."""
    return s.undo_from >= 0 and (s.undo_again == 0 or is_late_original(f, s, echo))


@called
def _recovered(w: Any, f: Any, s: Any, echo: Any) -> Any:
    """All of before the recovery is acknowledged; True if its state is to be kept until more is (no blocks)."""
    if _was_needless(f, s, echo):
        take_back(f, s)
    if f.algorithm != k.SACK and f.una == s.point:
        if not _ever_again(w, f, s):
            s.first_again = -1.0
        return True
    s.state = OPEN
    return False


@called
def _unmark(w: Any, f: Any, s: Any) -> None:
    """Nothing is lost after all."""
    for seq in range(f.una, f.top):
        segment(w, f, seq).marks &= ~LOST
    w.scanned += outstanding(f)
    s.lost = 0
    s.hint = f.una


@called
def _partly_needless(w: Any, f: Any, s: Any, una: Any, echo: Any) -> Any:
    """A part of what is being repaired arrived late; True if nothing more is to be repaired now."""
    if s.undo_from < 0 or not is_late_original(f, s, echo):
        return False
    highest = f.sack_max if s.reported > 0 else f.una
    note_overtaking(f, s, una, highest)
    if s.again > 0:
        return True
    if not _ever_again(w, f, s):
        s.first_again = -1.0
    _unmark(w, f, s)
    take_back(f, s)
    _keep_open(w, f, s)
    return False


@called
def _loss_was_needless(w: Any, f: Any, s: Any, doubted: Any, echo: Any) -> Any:
    """Whether the timeout is taken back."""
    if not doubted and not _was_needless(f, s, echo):
        return False
    _unmark(w, f, s)
    take_back(f, s)
    s.expired = 0
    if f.algorithm != k.SACK and f.una == s.point:
        if not _ever_again(w, f, s):
            s.first_again = -1.0
        return True
    if doubted or f.algorithm == k.SACK:
        s.state = OPEN
    return True


@called
def _after_timeout(
    w: Any, f: Any, i: Any, s: Any, advanced: Any, news: Any, original: Any, duplicates: Any, echo: Any
) -> Any:
    """After a timeout: what to send. With doubts (F-RTO, RFC 5682) first new data, to see whether it was needless."""
    recovered = f.una >= s.point
    if advanced and _loss_was_needless(w, f, s, False, echo):
        return NONE
    if s.doubting:
        if original and _loss_was_needless(w, f, s, True, echo):
            return NONE
        if f.top > s.point:
            if news or duplicates:
                s.doubting = 0
        elif advanced and not recovered:
            s.point = f.top
            if may_send_new(f):
                return NEW_FIRST
            s.doubting = 0
    if recovered:
        _recovered(w, f, s, echo)
        return NONE
    if f.algorithm != k.SACK:
        if f.top > s.point and duplicates:
            count_duplicates(f, s, duplicates)
        elif advanced:
            s.reported = 0
    return WHAT_IS_LOST
