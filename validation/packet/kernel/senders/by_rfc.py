"""Senders by the book: RFC 5681 (Tahoe's and Reno's algorithms), 6582 (NewReno, impatient), 6675 (SACK), 3042, 6298.

`recover` is the last segment sent before the last loss event; `inflation` what duplicates add to the window.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import records as k
from .. import views as at
from ..jit import called, inlined
from ..timer import back_off, count_timeout, sample_rtt, set_timer, stop_timer
from ..windows import grow, reduce_on_loss, reduce_on_mark, reduce_on_timeout, reno
from .common import clear_scoreboard, emit, finished, first_unreported, mark_blocks, pass_reported

CALLED = "the RFCs"

#: What a flow gets where it does not say.
DEFAULTS: dict[str, Any] = {
    "initial_window": 4, "min_rto": 1.0, "max_rto": 60.0, "initial_rto": 1.0, "timer_granularity": 0.0,
    "handshake": False,
}  # fmt: skip


def flow_fields(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a flow's record that this rule book sets."""
    return {"recover": -2, "least_rto": 0.0, "echo_rounded": False, "backoff_to_max": False, "ecn_as_ns2": False}


@inlined
def transmit(w: Any, f: Any, i: Any, seq: Any, repeat_kind: Any) -> None:
    """Send one segment; time it if it is new and nothing is being timed (Karn)."""
    emit(w, f, i, seq, repeat_kind)
    if seq >= f.top:
        f.top = seq + 1
        if f.timing == 0:
            f.timing = 1
            f.timed_seq = seq
            f.timed_at = w.now
    else:
        f.timing = 0  # the acknowledgement that is awaited may now be that of a retransmission
    if f.deadline == np.inf:
        set_timer(w, f, i)


@inlined
def send_window(w: Any, f: Any, i: Any, window: Any, first_kind: Any) -> None:
    """Send in order while `window` allows; after a timeout this goes back over what was sent before."""
    mask = at.sacked(w).shape[1] - 1
    kind = first_kind
    while f.next < f.una + window and f.next < f.limit:
        if f.next < f.top and at.sacked(w)[i, f.next & mask]:
            f.next += 1
            continue
        transmit(w, f, i, f.next, kind)
        f.next += 1
        kind = k.REPEAT


@inlined
def send(w: Any, f: Any, i: Any) -> None:
    """What was asked for in this turn: the window, or the pipe."""
    if w.send == k.FILL:
        fill_pipe(w, f, i)
    else:
        send_window(w, f, i, w.send_most, w.send_kind)


@inlined
def may_send(w: Any, f: Any) -> None:
    """Have sent, at the end of this turn, what the window allows now."""
    w.send = k.SEND
    w.send_most = usable(f)


@called
def on_mark(w: Any, f: Any, ack: Any) -> None:
    """An acknowledgement echoes a mark: the window falls as at a loss, once for a window of data (RFC 3168, 6.1.2).

    Up to `recover` the window has fallen for a loss of the same data.
    """
    if ack > f.answered_until and ack - 1 > f.recover:
        # This may be the acknowledgement that ends a recovery: what is outstanding is still all of the window before.
        reduce_on_mark(w, f, reno.on_loss, 1.0, f.cwnd)
        f.answered_until = f.top


@inlined
def on_stop(w: Any, f: Any) -> None:
    """The end of the data makes nothing to send."""


@inlined
def ask(w: Any, f: Any, kind: Any) -> None:
    """Have sent, at the end of this turn, what the window allows."""
    may_send(w, f)
    w.send_kind = kind


@inlined
def usable(f: Any) -> Any:
    """Whole segments that congestion window, inflation and advertised window allow."""
    return min(np.int64(f.cwnd) + f.inflation, f.window)


@called
def on_timeout(w: Any, f: Any, i: Any) -> None:
    """The retransmission timer expired with data outstanding (RFC 6298, 5.4-5.7; RFC 5681, 3.1)."""
    count_timeout(w, f, i)
    # Half of what is outstanding, but only once for a segment (RFC 5681, end of 3.1).
    old = f.ssthresh
    repeated = f.backoff > 1 and f.after_timeout
    reduce_on_timeout(w, f, reno.on_timeout)
    if (repeated or f.una < f.answered_until) and not f.rule:
        f.ssthresh = old
    back_off(f)
    clear_scoreboard(w, f, i)  # the receiver may have reneged (RFC 2018, section 8)
    f.recovery = 0
    f.dupacks = 0
    f.limited_sent = 0
    f.inflation = 0
    f.recover = f.top - 1
    f.after_timeout = 1
    f.action = k.AFTER_TIMEOUT
    f.timing = 0
    f.next = f.una
    if f.una == 0 and f.handshake:
        f.iw = 1  # the handshake was lost: no larger first window (RFC 5681, 3.1)
    set_timer(w, f, i)
    ask(w, f, k.TIMEOUT)


@inlined
def on_ack(w: Any, f: Any, i: Any, slot: Any, ack: Any, echo: Any) -> None:
    """An acknowledgement of all before `ack`, perhaps with blocks, is back."""
    news = 0
    if f.algorithm == k.SACK:
        news = mark_blocks(w, f, i, slot)
    if ack > f.una:
        _advance(w, f, i, ack, echo)
        return
    if ack < f.una or f.una == f.top or f.after_timeout:
        return
    if f.algorithm == k.SACK and news == 0:
        return  # nothing new is reported, so it is no duplicate in the sense of RFC 6675, section 2
    f.dupacks += 1
    if f.recovery:
        if f.algorithm == k.SACK:
            w.send = k.FILL
        else:
            f.inflation += 1
            ask(w, f, k.REPEAT)
    elif f.dupacks == k.DUP_THRESH:
        enter_recovery(w, f, i)
    elif f.dupacks < k.DUP_THRESH and f.limited and f.next == f.top:
        # Limited transmit (RFC 3042): one new segment per duplicate, the window unchanged.
        w.send = k.SEND
        w.send_most = min(np.int64(f.cwnd) + f.dupacks, f.window)
        # Not to be counted when the window is halved (RFC 5681, 3.2, step 2).
        f.limited_sent += max(0, min(f.una + w.send_most, f.limit) - f.next)


@inlined
def _advance(w: Any, f: Any, i: Any, ack: Any, echo: Any) -> None:
    """New data is acknowledged."""
    timed = f.timing and ack > f.timed_seq
    if timed:
        f.timing = 0
    if timed or f.timestamps:
        at.counts(w)[i, k.SAMPLES] += 1
        sample_rtt(f, w.now, echo if f.timestamps else f.timed_at)
        f.backoff = 1
    newly = ack - f.una
    first = f.una == 0 and f.handshake
    if f.sack_total > 0:
        pass_reported(w, f, i, f.una, ack)
    f.una = ack
    f.next = max(f.next, ack)
    f.after_timeout = 0
    f.limited_sent = 0
    if f.recovery == 0:
        f.dupacks = 0
        restart_timer(w, f, i)
        if first:
            f.cwnd = np.float64(f.iw)  # the handshake is over
        elif not f.marked or f.ecn == k.EACH:
            # What echoes a mark lets no window grow (RFC 3168, 6.1.2) but DCTCP's (RFC 8257, 3.4).
            grow(w, f, newly, reno.on_ack)
        ask(w, f, k.REPEAT)
    elif f.una > f.recover or f.algorithm == k.RENO:
        f.recovery = 0
        f.dupacks = 0
        f.inflation = 0
        f.action = k.NO_ACTION
        restart_timer(w, f, i)
        ask(w, f, k.REPEAT)
    elif f.algorithm == k.SACK:
        restart_timer(w, f, i)
        w.send = k.FILL
    else:
        newreno_partial(w, f, i, newly)


@inlined
def restart_timer(w: Any, f: Any, i: Any) -> None:
    """After an acknowledgement of new data: restart, or stop if all is acknowledged (RFC 6298, 5.2-5.3)."""
    stop_timer(f)
    if f.una < f.top and not finished(f):
        set_timer(w, f, i)


@called
def enter_recovery(w: Any, f: Any, i: Any) -> None:
    """Third duplicate: fast retransmit, at most once per window of data (RFC 6582, 3.2 step 1)."""
    if f.una - 1 <= f.recover:
        return
    at.counts(w)[i, k.RECOVERIES] += 1
    if f.una >= f.answered_until:  # else the window has fallen for a mark of the same window of data
        reduce_on_loss(w, f, reno.on_loss, 1.0, f.cwnd)
    f.recover = f.top - 1
    f.action = k.AFTER_DUPACK
    f.limited_sent = 0
    stop_timer(f)
    if f.algorithm == k.TAHOE:
        f.next = f.una
        f.dupacks = 0
        f.timing = 0
        f.after_timeout = 1  # duplicates of what is now resent say nothing
        ask(w, f, k.FAST)
        return
    f.recovery = 1
    f.partial = 0
    f.high_rxt = f.una
    f.rxt_sacked = 1 if at.sacked(w)[i, f.una & (at.sacked(w).shape[1] - 1)] else 0
    transmit(w, f, i, f.una, k.FAST)
    if f.algorithm == k.SACK:
        w.send = k.FILL
    else:
        f.inflation = k.DUP_THRESH
        ask(w, f, k.REPEAT)


@called
def fill_pipe(w: Any, f: Any, i: Any) -> None:
    """RFC 6675: SetPipe, then NextSeg rules 1 (known holes), 2 (new data), 3 (likely holes) while the window allows.

    A retransmission that is lost again waits for the timer. Rule 4 (a rescue at the end) is left out.
    """
    # A hole counts as lost if three segments beyond it were reported: if it lies before the third from the end.
    lost_end = f.sack_third if f.sack_total >= k.DUP_THRESH else f.una
    last_sacked = f.sack_max if f.sack_total > 0 else f.una
    # What counts as under way: holes behind `lost_end`, and what was sent again and is not reported yet.
    if f.sack_total >= k.DUP_THRESH:
        pipe = f.top - f.sack_third - k.DUP_THRESH
    else:
        pipe = f.top - f.una - f.sack_total
    pipe += max(f.high_rxt - f.una + 1, 0) - f.rxt_sacked
    hole = max(f.una, f.high_rxt + 1)
    window = min(np.int64(f.cwnd), f.window)
    while pipe < window:
        if hole < lost_end:
            hole = first_unreported(w, f, i, hole, lost_end)
        if hole < lost_end:
            _resend(w, f, i, hole)
            hole += 1
        elif f.top < f.una + f.window and f.top < f.limit:
            transmit(w, f, i, f.top, k.NEW)
            f.next = f.top
        else:
            if hole < last_sacked:
                hole = first_unreported(w, f, i, hole, last_sacked)
            if hole >= last_sacked:
                return
            _resend(w, f, i, hole)
            hole += 1
        pipe += 1


@called
def _resend(w: Any, f: Any, i: Any, hole: Any) -> None:
    """Send a hole again; all between the last one sent again and this one was reported."""
    f.rxt_sacked += hole - max(f.una, f.high_rxt + 1)
    f.high_rxt = hole
    transmit(w, f, i, hole, k.FAST)


@called
def newreno_partial(w: Any, f: Any, i: Any, newly: Any) -> None:
    """Partial acknowledgement (RFC 6582, 3.2 step 5); only the first restarts the timer ("impatient")."""
    if f.partial == 0:
        restart_timer(w, f, i)
    f.partial = 1
    transmit(w, f, i, f.una, k.FAST)
    f.inflation = max(f.inflation - newly + 1, 1 - np.int64(f.cwnd))
    ask(w, f, k.REPEAT)
