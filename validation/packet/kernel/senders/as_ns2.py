"""Senders that act as the agents of ns-2.35: TCP (Tahoe), Reno, Newreno and Sack1, with its default settings.

The rules were read in its tcp.cc, tcp-reno.cc, tcp-newreno.cc, tcp-sack1.cc and written anew. Its variables here:
highest_ack_ + 1 is `una`, last_ack_ + 1 `last_una`, t_seqno_ `next`, maxseq_ + 1 `top`, curseq_ `limit`, dupwnd_
`inflation`, fastrecov_ `recovery`, timeout_ `after_timeout`; `recover` is the number of a segment as there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import records as k
from .. import views as at
from ..calendar import schedule
from ..jit import called, inlined
from ..streams import ONE, on_grid, uniform
from ..timer import back_off, count_timeout, sample_rtt, set_timer, stop_timer
from ..windows import grow, reduce_on_loss, reduce_on_mark, reduce_on_timeout, reno
from .common import clear_scoreboard, emit, finished, first_unreported, mark_blocks, pass_reported

CALLED = "ns-2"

#: What a flow gets where it does not say.
DEFAULTS: dict[str, Any] = {
    "initial_window": 2, "min_rto": 0.2, "max_rto": 60.0, "initial_rto": 3.0, "timer_granularity": 0.01,
    "handshake": True,
}  # fmt: skip

#: No window falls below this [segments]: half of a window is half of it, however small.
LEAST = 1e-9


def flow_fields(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a flow's record that this rule book sets: the timeout has at least two ticks, and so on."""
    return {
        "recover": 0,
        "least_rto": 2.0 * settings["timer_granularity"],
        "echo_rounded": settings["timestamps"],
        "backoff_to_max": True,
        "ecn_as_ns2": settings["ecn"],
    }


@inlined
def output(w: Any, f: Any, i: Any, seq: Any, kind: Any) -> None:
    """Send one segment; time it if nothing is being timed; start the timer if nothing was outstanding."""
    idle = f.una == f.top
    emit(w, f, i, seq, kind)
    if seq >= f.top:
        f.top = seq + 1
        if not f.timing:
            f.timing = 1
            f.timed_seq = seq
            f.timed_at = w.now
    if idle or f.deadline == np.inf:
        set_timer(w, f, i)


@inlined
def whole_window(f: Any) -> Any:
    """Segments that may be beyond the last acknowledgement."""
    return min(np.int64(f.cwnd) + f.inflation, f.window)


@inlined
def may_send(w: Any, f: Any) -> None:
    """Have sent, at the end of this turn, what the window allows then."""
    w.send = k.SEND
    w.send_most = 0


@called
def on_mark(w: Any, f: Any, ack: Any) -> None:
    """An acknowledgement echoes a mark: the window falls by half, once for a window of data, in recovery too.

    With a window of one segment already nothing may be sent until the timer expires, and a second mark doubles that.
    """
    if ack - 1 > f.recover or f.action == k.AFTER_TIMEOUT:
        f.recover = f.top - 1
        f.action = k.AFTER_MARK
        if f.cwnd > 1.0:
            f.ecn_backoff = 0
        elif f.ecn_backoff:
            back_off(f)
        else:
            f.ecn_backoff = 1
        reduce_on_mark(w, f, reno.on_loss_ns2, LEAST, f.cwnd + f.inflation)  # half of both


@inlined
def on_stop(w: Any, f: Any) -> None:
    """ns-2 is told how much data there is, and looks whether it may send."""
    if f.stop > f.start:
        may_send(w, f)


@inlined
def send(w: Any, f: Any, i: Any) -> None:
    """Send what the window (in SACK recovery: the pipe) allows, at most `w.send_most` segments unless that is 0.

    With `overhead`, sending is put off by a random time, once for each opportunity.
    """
    forced, kind, burst = w.forced, w.send_kind, w.send_most
    if f.held_back and not forced:
        return
    count = 0
    while f.una < f.limit:
        seq = -1
        kind_now = kind
        if f.algorithm == k.SACK:
            if f.recovery:
                if f.pipe >= np.int64(f.cwnd):
                    return
            elif f.next >= f.last_una + whole_window(f):
                return
            if f.last_una >= f.limit:
                return
            if f.overhead > 0.0 and not forced:
                hold_back(w, f, i, kind)
                return
            hole = next_hole(w, f, i)
            if hole < 0:
                window = f.window if f.recovery else whole_window(f)
                if f.next < f.una + window and f.next < f.limit:
                    seq = f.next
                    f.next += 1
            elif f.recover > 0 and hole < f.una + f.window:
                seq = hole
                f.scan = max(f.scan, seq + 1)
                kind_now = k.FAST
            if seq < 0:
                return
            output(w, f, i, seq, kind_now)
            f.next = max(f.next, seq + 1)
            f.pipe += 1
        else:
            if f.next >= f.una + whole_window(f) or f.next >= f.limit:
                return
            if f.overhead > 0.0 and not forced:
                hold_back(w, f, i, kind)
                return
            output(w, f, i, f.next, kind)
            f.next += 1
        kind = k.REPEAT
        count += 1
        if count == burst:
            return


@called
def hold_back(w: Any, f: Any, i: Any, kind: Any) -> None:
    """Put sending off by a random time."""
    f.held_back = 1
    f.held_kind = kind
    f.hold_draws += ONE
    late = on_grid(w, f.overhead * uniform(f.hold_key, f.hold_draws))
    schedule(w, w.now + late, k.HELD_BACK, i, 0)


@called
def next_hole(w: Any, f: Any, i: Any) -> Any:
    """First segment from `scan` on that was not reported while a later one was; -1 without."""
    if f.sack_total <= 0:
        return -1
    f.scan = max(f.scan, f.sack_min)
    seq = first_unreported(w, f, i, f.scan, f.top)
    if seq >= f.sack_max:
        return -1
    f.scan = seq
    return seq


@called
def update_scoreboard(w: Any, f: Any, i: Any, slot: Any) -> None:
    """Take in the blocks of an acknowledgement; `sack_changed` says whether they told anything new."""
    f.sack_changed = 0
    if f.sack_min < f.una:
        if f.sack_total > 0:
            f.sack_changed = 1
            pass_reported(w, f, i, max(f.sack_min, 0), f.una)
        f.sack_min = f.una
    if mark_blocks(w, f, i, slot):
        f.sack_changed = 1


@called
def forget_scoreboard(w: Any, f: Any, i: Any) -> None:
    """As ns-2 does at the end of recovery, with each new acknowledgement outside it, and at timeouts."""
    if f.sack_total > 0:
        pass_reported(w, f, i, max(min(f.sack_min, f.una), 0), f.una)
        clear_scoreboard(w, f, i)
    f.scan = -1


@inlined
def new_ack(w: Any, f: Any, i: Any, ack: Any, echo: Any) -> None:
    """All before `ack` has arrived: RTT, end of back-off, timer."""
    f.dupacks = 0
    f.last_una = ack
    f.una = ack
    f.next = max(f.next, ack)
    timed = f.timing and ack > f.timed_seq
    if timed:
        if not (f.marked and f.ecn_agreed and f.ecn_backoff):
            f.backoff = 1
            if f.ecn:
                f.ecn_backoff = 0
        f.timing = 0
    if timed or f.timestamps:
        at.counts(w)[i, k.SAMPLES] += 1
        sample_rtt(f, w.now, echo if f.timestamps else f.timed_at)
    if finished(f):
        stop_timer(f)
    else:
        set_timer(w, f, i)


@inlined
def new_ack_and_growth(w: Any, f: Any, i: Any, ack: Any, echo: Any) -> None:
    """The same outside recovery: the window grows; the very first acknowledgement sets it."""
    acked = ack - f.una
    new_ack(w, f, i, ack, echo)
    if not (f.marked and f.ecn_agreed) or f.ecn == k.EACH:  # DCTCP grows on (RFC 8257, 3.4)
        grow(w, f, acked, reno.on_ack_ns2)
    if f.ecn:
        if f.marked:
            f.ecn_agreed = 1
        else:
            f.ecn_backoff = 0
    if ack == 1:
        f.cwnd = np.float64(f.iw)


@called
def send_one(w: Any, f: Any, i: Any) -> None:
    """Limited transmit (RFC 3042): one new segment for a first or second duplicate."""
    if f.next < f.una + f.window and f.next < f.limit and f.next <= f.una - 1 + f.cwnd + f.dupacks:
        output(w, f, i, f.next, k.REPEAT)
        f.next += 1


@called
def on_duplicates(w: Any, f: Any, i: Any) -> None:
    """Third duplicate: fast retransmit, at most once for a window of data."""
    acked = f.una - 1
    again = f.algorithm not in (k.TAHOE, k.NEWRENO, k.SACK) and f.action == k.AFTER_DUPACK  # Reno alone
    answered = False  # has the window fallen for a mark of the same window of data?
    if not (acked > f.recover or again or acked == 0):
        answered = f.action == k.AFTER_MARK
        if not answered:
            return
    at.counts(w)[i, k.RECOVERIES] += 1
    if not answered:
        f.recover = f.top - 1
    f.action = k.AFTER_DUPACK
    f.timing = 0
    if f.algorithm == k.SACK:
        f.pipe = f.top - f.una - k.DUP_THRESH
        f.recovery = 1
        f.scan = max(f.scan, f.una + 1)
    if not answered:
        reduce_on_loss(w, f, reno.on_loss_ns2, LEAST, f.cwnd + f.inflation)
    elif f.algorithm == k.TAHOE:
        f.cwnd = 1.0
        f.answered = 1
    set_timer(w, f, i)
    if f.algorithm == k.TAHOE:
        f.next = f.una
        return
    # Timeouts that were not needed bring duplicates of the last acknowledgement, too: there is nothing to resend then.
    if f.last_una < f.limit:
        output(w, f, i, f.last_una, k.FAST)
    if f.algorithm != k.SACK:
        f.inflation = k.DUP_THRESH


@inlined
def on_ack(w: Any, f: Any, i: Any, slot: Any, ack: Any, echo: Any) -> None:
    """An acknowledgement of all before `ack`, perhaps with blocks, is back; `w.send` says what to send then."""
    if f.algorithm == k.SACK:
        _sack_on_ack(w, f, i, slot, ack, echo)
        return
    if ack > f.una:
        if f.algorithm == k.NEWRENO and ack - 1 < f.recover and f.action == k.AFTER_DUPACK:
            _partial_ack(w, f, i, ack)
        else:
            if f.algorithm != k.TAHOE:
                if f.action == k.AFTER_DUPACK and (f.algorithm != k.NEWRENO or f.inflation > 0):
                    f.action = k.AFTER_EXIT
                f.inflation = 0
                f.recovery = 0
            f.partial = 0
            new_ack_and_growth(w, f, i, ack, echo)
    elif ack == f.una:
        f.dupacks += 1
        if f.dupacks == k.DUP_THRESH:
            on_duplicates(w, f, i)
            f.recovery = f.inflation > 0
        elif f.dupacks > k.DUP_THRESH:
            if f.algorithm != k.TAHOE and f.action == k.AFTER_DUPACK:
                f.inflation += 1
        elif f.limited:
            send_one(w, f, i)
    if f.algorithm == k.TAHOE or f.dupacks == 0 or f.dupacks >= k.DUP_THRESH:
        w.send = k.SEND
        w.send_kind = k.FAST if f.dupacks == k.DUP_THRESH else k.REPEAT
        w.send_most = 2 if f.algorithm == k.NEWRENO and f.dupacks > 0 else 0


@called
def _partial_ack(w: Any, f: Any, i: Any, ack: Any) -> None:
    """NewReno in recovery: resend the next hole, deflate the window; only the first restarts the timer."""
    if f.partial == 0:
        f.partial = 1
        set_timer(w, f, i)
    deflate = ack - f.una
    if f.inflation > deflate:
        f.inflation -= deflate - 1
    else:
        f.cwnd -= deflate - f.inflation
        f.inflation = 1
    f.cwnd = max(f.cwnd, 1.0)
    f.last_una = ack
    f.una = ack
    f.next = max(f.next, ack)
    if f.timing and ack > f.timed_seq:
        f.timing = 0
        f.backoff = 1
    output(w, f, i, ack, k.FAST)


@inlined
def _sack_on_ack(w: Any, f: Any, i: Any, slot: Any, ack: Any, echo: Any) -> None:
    if not f.recovery:
        if ack > f.last_una:
            f.partial = 0
            new_ack_and_growth(w, f, i, ack, echo)
            f.after_timeout = 0
            forget_scoreboard(w, f, i)
        elif ack == f.last_una and not f.after_timeout:
            update_scoreboard(w, f, i, slot)
            if f.sack_changed:
                f.dupacks += 1
                if f.dupacks == k.DUP_THRESH:
                    on_duplicates(w, f, i)
                elif f.dupacks < k.DUP_THRESH and f.limited:
                    send_one(w, f, i)
        # What a third duplicate allows is sent by the next acknowledgement, the first within recovery.
        if f.dupacks == 0:
            w.send = k.SEND
        return
    w.send = k.SEND
    f.pipe -= 1
    if ack - 1 >= f.recover:
        f.recover = 0
        f.recovery = 0
        new_ack(w, f, i, ack, echo)
        f.after_timeout = 0
        forget_scoreboard(w, f, i)
    elif ack > f.una:
        f.una = ack
        update_scoreboard(w, f, i, slot)
        f.pipe -= 1
        set_timer(w, f, i)
        f.backoff = 1
    elif not f.after_timeout:
        update_scoreboard(w, f, i, slot)
        if f.sack_changed and f.dupacks > 0:
            f.dupacks += 1


@called
def on_timeout(w: Any, f: Any, i: Any) -> None:
    """The retransmission timer expired: one segment, from the first unacknowledged on."""
    waited = f.una == f.top  # a mark left a window of less than a segment: the timer allows the next
    if not waited:
        count_timeout(w, f, i)
    f.cwnd = max(f.cwnd, 1.0)
    f.inflation = 0
    f.dupacks = 0 if f.algorithm != k.TAHOE else f.dupacks
    f.recovery = 0
    f.after_timeout = 1
    f.last_una = f.una
    f.recover = f.top - 1
    forget_scoreboard(w, f, i)
    if f.una == 0:
        f.iw = 1  # the first packet was lost: no larger first window
    old = f.ssthresh
    answered = f.action == k.AFTER_MARK
    f.action = k.AFTER_TIMEOUT
    reduce_on_timeout(w, f, reno.on_timeout_ns2)
    if answered or waited:
        f.ssthresh = old
    if not waited:
        back_off(f)
    set_timer(w, f, i)
    f.next = f.una
    f.timing = 0
    w.send = k.SEND
    w.send_kind = k.TIMEOUT
    f.held_kind = k.TIMEOUT  # should an earlier opportunity be put off still
