"""TFRC: a sender paced at the rate that TCP would have at the same loss event rate and RTT (RFC 5348).

The receiver groups losses within an RTT into events, averages the intervals between them and reports once an RTT, and
at once for a new event. The sender doubles its rate each RTT until the first loss event, then takes the equation's;
it never sends more than twice of what was received, and halves when no report comes. `tfrc_ns2` is ns-2's form.

Packets come from an application that always has some, so nothing of section 8.2.1's data-limited intervals, nor
of idle times, is here; nor are marks. The RFC leaves open: the rate that a report states, here that since the last
report or, where that is shorter ago, over the last RTT; a packet is lost when `duplicates` later ones are there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import views as at
from ..calendar import new_slot
from ..jit import called, inlined
from ..parameters import Parameter
from ..records import FLOW
from .clock import TIMERS, report, send_next, set_report_timer, set_timer
from .tfrc_equation import HERE, UNKNOWN, begin_interval, interval, past, received_within, seconds_per_packet, weigh
from .tfrc_equation import LANE as LANE
from .tfrc_equation import RING as RING

SOURCE = "RFC 5348"

PARAMETERS = (
    Parameter("q", "1", "weight of the past in the smoothed RTT", 0.9, 0.0, 0.9999),
    Parameter("b", "1", "packets per acknowledgement of the TCP to be friendly to", 1.0, 1.0, 100.0, whole=True),
    Parameter("longest_gap", "s", "least rate: a packet in this time (t_mbi)", 64.0, 1e-3, 1e6),
    Parameter("duplicates", "", "later packets that make one lost (NDUPACK)", 3.0, 1.0, 1000.0, whole=True),
    Parameter("intervals", "", "loss intervals that are averaged", 8.0, 4.0, 256.0, whole=True),
    Parameter("discounting", "", "1: a long open interval takes weight from older ones", 0.0, 0.0, 1.0, whole=True),
    Parameter("least_discount", "1", "what they keep at least (THRESHOLD)", 0.25, 0.0, 1.0),
    Parameter("damping", "", "1: a long RTT slows the sender at once", 0.0, 0.0, 1.0, whole=True),
)

SENDING, QUIET = range(2)

STATE = np.dtype(
    [
        *((p.name, np.float64) for p in PARAMETERS),
        # the sender: rates [byte/s], RTT and its mean square root, when it sent last and doubled last [s]
        *((name, np.float64) for name in "rate fair p rtt root last_rtt sent doubled".split()),
        *((name, np.int64) for name in "sending quiet heard".split()),
        # the receiver: what the newest packet said, when it was sent and came
        *((name, np.float64) for name in "its_rtt stamp came reported event_at factor before_at".split()),
        *((name, np.int64) for name in "first highest undecided later before event_from".split()),
        *((name, np.int64) for name in "events received answering".split()),
    ]
)
_state = at.part_of("paced_state", STATE, FLOW, "paced_state")


def prepare(state: Any, lanes: Any, values: Mapping[str, float], group: Any) -> None:
    """Nothing has come, no interval has begun, and no report bounds the rate."""
    state["highest"] = -1
    state["reported"] = -1.0
    state["factor"] = 1.0
    lanes["kept"] = 1.0
    n = len(lanes) - 2
    lanes["weight"][:n] = [1.0 if 2 * i < n else 2.0 * (n - i) / (n + 2.0) for i in range(n)]
    lanes["heard_at"] = -math.inf


# The sender


def on_timer(w: Any, f: Any, i: Any, number: Any) -> None:
    """The start (4.2), the next packet's turn (4.6), or no report for too long (4.4)."""
    s = _state(w, f, 0)
    if number == 0:
        s.rate = f.packet_size  # one packet per second
        interval(w, f, 0).heard = math.inf
        interval(w, f, 0).heard_at = w.now
        _send(w, f, s, i)
        _wait(w, f, s, i)
    elif number == TIMERS * s.sending + SENDING:
        _send(w, f, s, i)
    elif number == TIMERS * s.quiet + QUIET and f.top < f.limit:
        _halve(w, f, s)
        _wait(w, f, s, i)
        _pace(w, f, s, i)


@called
def _send(w: Any, f: Any, s: Any, i: Any) -> None:
    send_next(w, f, i)
    s.sent = w.now
    _send_at(w, f, s, i, w.now + _gap(f, s))


@called
def _send_at(w: Any, f: Any, s: Any, i: Any, due: Any) -> None:
    s.sending += 1
    if f.top < f.limit:
        set_timer(w, i, due - w.now, TIMERS * s.sending + SENDING)


@called
def _gap(f: Any, s: Any) -> Any:
    """Seconds between packets at the present rate (4.6), which a long RTT lowers where it is damped (4.5)."""
    rate = s.rate
    if s.damping and s.rtt > 0.0:
        rate = max(rate * s.root / math.sqrt(s.last_rtt), f.packet_size / s.longest_gap)
    return f.packet_size / rate


@called
def _pace(w: Any, f: Any, s: Any, i: Any) -> None:
    """The rate has changed, and with it when the next packet is due."""
    due = s.sent + _gap(f, s)
    if due <= w.now:
        _send(w, f, s, i)
    else:
        _send_at(w, f, s, i, due)
    f.cwnd = s.rate * s.rtt / f.packet_size
    f.ssthresh = f.cwnd if s.p > 0.0 else f.window


@called
def _wait(w: Any, f: Any, s: Any, i: Any) -> None:
    """The timer for reports, 4 RTT or two packets (4.3, steps 3 and 6)."""
    s.quiet += 1
    f.base_rto = max(4.0 * s.rtt, 2.0 * f.packet_size / s.rate)
    set_timer(w, i, f.base_rto, TIMERS * s.quiet + QUIET)


@called
def _heard(w: Any, f: Any) -> Any:
    """The highest of the reported rates that are remembered."""
    largest = 0.0
    for j in range(f.n_lanes):
        if interval(w, f, j).heard_at > -math.inf:
            largest = max(largest, interval(w, f, j).heard)
    return largest


@called
def _hear_only(w: Any, f: Any, rate: Any) -> None:
    for j in range(f.n_lanes):
        interval(w, f, j).heard_at = -math.inf
    interval(w, f, 0).heard = rate
    interval(w, f, 0).heard_at = w.now


@called
def _halve(w: Any, f: Any, s: Any) -> None:
    """Section 4.4; `limit` is what the sender may send twice of."""
    slowest = f.packet_size / s.longest_gap
    heard = _heard(w, f)
    if s.p <= 0.0:
        s.rate = max(s.rate / 2.0, slowest)
    else:
        limit = max(heard if s.fair > 2.0 * heard else s.fair / 2.0, slowest)
        _hear_only(w, f, limit / 2.0)
        s.rate = max(min(s.fair, limit), slowest)


def on_send(w: Any, f: Any, i: Any, slot: Any) -> None:
    """A packet carries the RTT (3.2.1)."""
    at.notes(w)[slot, 0] = _state(w, f, 0).rtt


def on_feedback(w: Any, f: Any, i: Any, slot: Any) -> None:
    """A report: the loss event rate and the packets per second received (4.3)."""
    s = _state(w, f, 0)
    size = f.packet_size
    root = math.sqrt(f.rtt)
    first = s.rtt <= 0.0
    s.rtt = f.rtt if first else s.q * s.rtt + (1.0 - s.q) * f.rtt
    s.root = root if first else s.q * s.root + (1.0 - s.q) * root
    s.last_rtt = f.rtt
    s.p = at.notes(w)[slot, 0]
    for j in range(f.n_lanes):
        if interval(w, f, j).heard_at < w.now - 2.0 * s.rtt:
            interval(w, f, j).heard_at = -math.inf
    s.heard = s.heard + 1 if s.heard + 1 < f.n_lanes else 0
    interval(w, f, s.heard).heard = at.notes(w)[slot, 1] * size
    interval(w, f, s.heard).heard_at = w.now
    limit = 2.0 * _heard(w, f)
    opening = min(4.0 * size, max(2.0 * size, 4380.0)) / s.rtt
    if s.p > 0.0:
        s.fair = size / seconds_per_packet(s.p, s.rtt, 4.0 * s.rtt, s.b, False)
        s.rate = max(min(s.fair, limit), size / s.longest_gap)
    elif first:
        s.rate = opening
        s.doubled = w.now
    elif w.now - s.doubled >= s.rtt:
        s.rate = max(min(2.0 * s.rate, limit), opening)
        s.doubled = w.now
    f.srtt = s.rtt
    _wait(w, f, s, i)
    _pace(w, f, s, i)


# The receiver


def on_receipt(w: Any, f: Any, i: Any, slot: Any) -> Any:
    """A packet (6.1); 1 if it calls for a report at once: the first, and those that show a new loss event."""
    s = _state(w, f, 0)
    e = at.event(w, slot)
    seq = e.seq
    if s.highest < 0:
        s.first = s.undecided = seq
        s.highest = seq - 1
        s.before = seq - 1
        s.before_at = w.now
    s.received += 1
    for missing in range(max(s.highest + 1, seq - f.n_ring + 1), seq):
        past(w, f, missing).what = UNKNOWN
    packet = past(w, f, seq)
    packet.what = HERE
    packet.came = w.now
    if seq >= s.undecided:
        s.later += 1
    if seq > s.highest:
        s.highest = seq
        s.its_rtt = at.notes(w)[slot, 0]
        s.stamp = e.sent
        s.came = w.now
    event = _look_for_losses(w, f, s)
    # Until a packet states an RTT there is no timer.
    if not event and s.reported >= 0.0 and w.now - s.reported < s.its_rtt:
        return 0
    _report(w, f, s, i, slot)
    return 1


@called
def _look_for_losses(w: Any, f: Any, s: Any) -> Any:
    """Pass over all packets of which it is known whether they are lost (5.1); is there a new loss event?"""
    event = False
    while s.undecided <= s.highest:
        if past(w, f, s.undecided).what == HERE:
            s.before = s.undecided
            s.before_at = past(w, f, s.undecided).came
            s.later -= 1
        elif s.later < s.duplicates:
            break
        elif _lose(w, f, s):
            event = True
        s.undecided += 1
    return event


@called
def _lose(w: Any, f: Any, s: Any) -> Any:
    """Packet `undecided` is lost. When it would have come, and whether that begins a loss event (5.2)."""
    after = s.undecided + 1
    while past(w, f, after).what != HERE:
        after += 1
        w.scanned += 1
    share = (s.undecided - s.before) / (after - s.before)
    time = s.before_at + (past(w, f, after).came - s.before_at) * share
    if s.events > 0 and time <= s.event_at + s.its_rtt:
        return False
    begin_interval(w, f, s.factor)
    s.factor = 1.0
    if s.events > 0:
        interval(w, f, 1).packets = s.undecided - s.event_from
    else:
        interval(w, f, 1).packets = _first_interval(w, f, s)
    s.events += 1
    s.event_at = time
    s.event_from = s.undecided
    return True


@called
def _first_interval(w: Any, f: Any, s: Any) -> Any:
    """As long as the equation has it at the rate received so far (6.3.1)."""
    if s.its_rtt <= 0.0:
        return max(np.float64(s.undecided - s.first), 1.0)
    wanted = _received_rate(w, f, s)
    low, high = 1e-12, 1.0
    for _ in range(50):
        p = math.sqrt(low * high)
        if seconds_per_packet(p, s.its_rtt, 4.0 * s.its_rtt, s.b, False) * wanted > 1.0:
            high = p
        else:
            low = p
    return 1.0 / low


@called
def _received_rate(w: Any, f: Any, s: Any) -> Any:
    """Packets per second since the last report, or in the last RTT where that is shorter ago (6.2)."""
    since = w.now - s.reported
    if since >= s.its_rtt:
        return s.received / since
    return received_within(w, f, s.highest, s.its_rtt) / s.its_rtt


@called
def _loss_event_rate(w: Any, f: Any, s: Any) -> Any:
    """Section 5.4, with 5.5 where older intervals are discounted."""
    if s.events == 0:
        return 0.0
    interval(w, f, 0).packets = s.highest - s.event_from + 1.0
    intervals = min(s.events, f.n_lanes - 2)
    closed = weigh(w, f, 1, intervals + 1, -1, 1.0)
    s.factor = 1.0
    if s.discounting and interval(w, f, 0).packets > 2.0 * closed:
        s.factor = max(2.0 * closed / interval(w, f, 0).packets, s.least_discount)
    return 1.0 / max(weigh(w, f, 0, intervals, 0, s.factor), closed)


@called
def _report(w: Any, f: Any, s: Any, i: Any, slot: Any) -> None:
    """Section 6.2; the first report states no rate."""
    at.notes(w)[slot, 0] = _loss_event_rate(w, f, s)
    at.notes(w)[slot, 1] = _received_rate(w, f, s) if s.reported >= 0.0 and s.its_rtt > 0.0 else 0.0
    report(w, f, i, slot, s.highest, s.stamp + (w.now - s.came))
    s.reported = w.now
    s.received = 0
    _answer_in(w, s, i)


@inlined
def _answer_in(w: Any, s: Any, i: Any) -> None:
    s.answering += 1
    if s.its_rtt > 0.0:
        set_report_timer(w, i, s.its_rtt, TIMERS * s.answering)


def on_report_timer(w: Any, f: Any, i: Any, number: Any) -> Any:
    """An RTT since the last report: one goes if anything has come."""
    s = _state(w, f, 0)
    if number != TIMERS * s.answering:
        return -1
    if s.received > 0:
        slot = new_slot(w)
        _report(w, f, s, i, slot)
        return slot
    if f.top < f.limit:
        _answer_in(w, s, i)
    return -1
