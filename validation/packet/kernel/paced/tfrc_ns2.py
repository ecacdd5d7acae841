"""TFRC as ns-2.35's `Agent/TFRC` and `Agent/TFRCSink` have it with their default settings.

What differs from RFC 5348 (`tfrc`): the first packet goes at 300 byte/s; in slow start the rate creeps from packet to
packet to what the last report allows, and each report sends a packet; later it grows by at most a packet per RTT and
RTT. The timeout is measured in ticks of 0.1 s. The allowed rate is divided by sqrt(last RTT) over its mean (the RFC's
option). A packet is lost when the next comes, and begins a loss event if it was sent more than an RTT after the last
one began and the sender has had a report since. Reports go with the first packet after an RTT, with
loss events, and 1.5 RTT after the last one. Without any for 2 RTT the rate is halved. The least rate is none.
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
from .tfrc_equation import (
    EVENT,
    HERE,
    MISSING,
    UNKNOWN,
    begin_interval,
    interval,
    past,
    received_within,
    seconds_per_packet,
    weigh,
)
from .tfrc_equation import LANE as LANE
from .tfrc_equation import RING as RING

SOURCE = "ns-2.35, `Agent/TFRC`"

PARAMETERS = (
    Parameter("q", "1", "weight of the past in the smoothed RTT", 0.95, 0.0, 0.9999),
    Parameter("b", "1", "packets per acknowledgement of the TCP to be friendly to", 1.0, 1.0, 100.0, whole=True),
    Parameter("tick", "s", "tick of the clock that measures the timeout", 0.1, 1e-6, 10.0),
    Parameter("intervals", "", "loss intervals that are averaged", 8.0, 4.0, 256.0, whole=True),
    Parameter("discounting", "", "1: a long open interval takes weight from older ones", 1.0, 0.0, 1.0, whole=True),
    Parameter("least_discount", "1", "what they keep at least", 0.5, 0.0, 1.0),
    Parameter("damping", "", "1: a long RTT slows the sender at once", 1.0, 0.0, 1.0, whole=True),
)

#: No equation's rate is above this [byte/s]; a rate or a gap this small is none.
FASTEST, TINY = 25e6, 1e-7
#: Rate of the first packet [byte/s].
OPENING = 300.0

SLOW_START, AFTER_SLOW_START, RISING, FALLING = range(4)
SENDING, QUIET = range(2)

STATE = np.dtype(
    [
        *((p.name, np.float64) for p in PARAMETERS),
        # the sender: rates [byte/s], RTTs [s], the timeout [s] and what it is made of [ticks]
        *((name, np.float64) for name in "rate former step rtt root last_rtt timeout fair most last_change".split()),
        *((name, np.int64) for name in "phase reports urgent heard smooth vary sending quiet".split()),
        # the receiver: what the newest packet said, when it was sent and came
        *((name, np.float64) for name in "its_rtt its_timeout stamp came reported event_at factor".split()),
        *((name, np.int64) for name in "its_round event_round highest checked gaps received".split()),
        *((name, np.int64) for name in "lost_before events counted invented answering".split()),
    ]
)
_state = at.part_of("paced_state", STATE, FLOW, "paced_state")


def prepare(state: Any, lanes: Any, values: Mapping[str, float], group: Any) -> None:
    """Nothing has come, no interval has begun; one more is kept than the average needs."""
    state["highest"] = state["checked"] = state["event_round"] = -1
    state["factor"] = 1.0
    state["events"] = 1
    lanes["kept"] = 1.0
    count = len(lanes) - 1
    half = count // 2
    lanes["weight"] = [1.0 if i < half else 1.0 - (i - half) / (half + 1.0) for i in range(count + 1)]


# The sender


def on_timer(w: Any, f: Any, i: Any, number: Any) -> None:
    """The start; the next packet's turn; or no report for too long."""
    s = _state(w, f, 0)
    if number == 0:
        s.rate = s.former = OPENING
        s.urgent = 1
        s.root = s.last_rtt = 1.0
        send_next(w, f, i)
        _send_in(w, s, i, f.packet_size / s.rate)
        _wait(w, s, i, 2.0 * f.packet_size / s.rate)
    elif number == TIMERS * s.sending + SENDING:
        _next_packet(w, f, s, i)
    elif number == TIMERS * s.quiet + QUIET:
        if s.phase != SLOW_START:
            s.phase = FALLING
        s.rate *= 0.5
        s.urgent = 1
        s.reports += 1
        _wait(w, s, i, max(2.0 * s.rtt, 2.0 * f.packet_size / s.rate))
        _next_packet(w, f, s, i)
        f.cwnd = max(s.rate * s.rtt / f.packet_size, 0.0)


@called
def _send_in(w: Any, s: Any, i: Any, gap: Any) -> None:
    s.sending += 1
    set_timer(w, i, gap, TIMERS * s.sending + SENDING)


@called
def _wait(w: Any, s: Any, i: Any, gap: Any) -> None:
    s.quiet += 1
    set_timer(w, i, gap, TIMERS * s.quiet + QUIET)


@called
def _next_packet(w: Any, f: Any, s: Any, i: Any) -> None:
    if f.top >= f.limit:  # no timer is needed any more
        s.sending += 1
        s.quiet += 1
        return
    send_next(w, f, i)
    rate = s.rate
    if s.reports > 2 and s.phase == SLOW_START and s.former + TINY < s.rate:
        s.former += s.step
        rate = s.former
    elif s.damping:
        rate = s.rate * s.root / math.sqrt(s.last_rtt)
    if rate > TINY:
        _send_in(w, s, i, max(f.packet_size / rate, TINY))


def on_send(w: Any, f: Any, i: Any, slot: Any) -> None:
    """A packet carries the RTT, the timeout, the number of reports so far and whether one is wanted at once."""
    s = _state(w, f, 0)
    notes = at.notes(w)
    notes[slot, 0] = s.rtt
    notes[slot, 1] = s.timeout
    notes[slot, 2] = s.reports
    notes[slot, 3] = s.urgent


def on_feedback(w: Any, f: Any, i: Any, slot: Any) -> None:
    """A report: the loss event rate and the packets per second received."""
    s = _state(w, f, 0)
    size = f.packet_size
    p = at.notes(w)[slot, 0]
    received = at.notes(w)[slot, 1]
    s.reports += 1
    s.urgent = 0
    s.most = 2.0 * received * size if s.reports > 1 and received > 0.0 else 0.0
    _measure(f, s)
    s.fair = _fair(p, s.rtt, s.timeout, size, s.b)
    _wait(w, s, i, max(2.0 * s.rtt, 2.0 * size / s.rate))
    if s.heard == 0 or (s.phase == SLOW_START and p <= 0.0):
        s.heard = 1
        _slow_start(w, f, s)
        _next_packet(w, f, s, i)
    elif s.phase == SLOW_START:
        s.phase = AFTER_SLOW_START
        s.rate = s.former = s.fair
    else:
        limit = max(s.most, size / s.rtt)
        if s.fair > s.rate:
            s.rate += size / s.rtt * min((w.now - s.last_change) / s.rtt, 2.0)
            if 0.0 > w.now - 1.5 * s.rtt:  # ns-2 takes the start of the simulation for an idle time
                limit = max(s.most, _first_window(size) * size / s.rtt)
            s.rate = min(s.rate, limit, s.fair)
            s.phase = RISING
        else:
            s.rate = min(s.fair, limit)
            s.phase = FALLING
        s.last_change = w.now
    f.cwnd = s.rate * s.rtt / size
    f.ssthresh = f.cwnd if s.phase != SLOW_START else f.window
    f.srtt = s.rtt
    f.base_rto = s.timeout


@inlined
def _measure(f: Any, s: Any) -> None:
    """RTT, exact and in ticks as TCP's timer there."""
    ticks: Any = max(np.int64(f.rtt / s.tick + 0.5), 1)
    if s.smooth != 0:
        delta = ticks - (s.smooth >> 3)
        s.smooth = max(s.smooth + delta, 1)
        s.vary = max(s.vary + abs(delta) - (s.vary >> 2), 1)
    else:
        s.smooth = 8 * ticks
        s.vary = 2 * ticks
    s.timeout = (((s.vary << 3) + s.smooth) >> 3) * s.tick
    if s.rtt > 0.0:
        s.rtt = s.q * s.rtt + (1.0 - s.q) * f.rtt
        s.root = s.q * s.root + (1.0 - s.q) * math.sqrt(f.rtt)
    else:
        s.rtt = f.rtt
        s.root = math.sqrt(f.rtt)
    s.last_rtt = f.rtt


@called
def _fair(p: Any, rtt: Any, timeout: Any, size: Any, b: Any) -> Any:
    """The equation's rate [byte/s]."""
    seconds = seconds_per_packet(p, rtt, timeout, b, True)
    return FASTEST if seconds < TINY else min(size / seconds, FASTEST)


@inlined
def _first_window(size: Any) -> Any:
    """RFC 3390."""
    return 4.0 if size <= 1095 else 3.0 if size < 2190 else 2.0


@inlined
def _slow_start(w: Any, f: Any, s: Any) -> None:
    size = f.packet_size
    first = _first_window(size) * size / s.rtt
    opening = s.reports <= 1 or s.reports == 2
    idle = s.most > 0.0 and 0.0 > w.now - 1.5 * s.rtt and s.most < first
    if opening or idle:
        s.former = s.rate
        s.rate = max(s.rate, first)
        s.step = (s.rate - s.former) / (s.rate * s.rtt / size)
        s.last_change = w.now
    elif s.most <= 0.0:
        s.former = s.rate
        s.rate = size / s.rtt
        s.step = 0.0
        s.last_change = w.now
    elif s.rate < s.most and w.now - s.last_change > s.rtt:
        s.former = s.rate
        s.rate = max(min(2.0 * s.rate, s.most), size / s.rtt)
        s.step = (s.rate - s.former) / (s.rate * s.rtt / size)
        s.last_change = w.now
    elif s.rate > s.most:
        s.rate = s.former = s.most / 2.0
        s.step = 0.0
        s.last_change = w.now


# The receiver


def on_receipt(w: Any, f: Any, i: Any, slot: Any) -> Any:
    """A packet; 1 if it calls for a report at once."""
    s = _state(w, f, 0)
    e = at.event(w, slot)
    seq = e.seq
    notes = at.notes(w)
    s.received += 1
    if s.highest < 0 and s.checked < 0:
        s.highest = seq - 1
        s.checked = seq
    before = s.highest
    urgent = False
    if seq > s.highest or (seq > s.checked and past(w, f, seq).what == UNKNOWN):
        if seq > s.checked + 1:
            s.gaps += 1
        s.its_rtt = notes[slot, 0]
        s.its_timeout = notes[slot, 1]
        s.its_round = np.int64(notes[slot, 2])
        urgent = notes[slot, 3] > 0.0
        s.came = w.now
        s.stamp = e.sent
        packet = past(w, f, seq)
        packet.came = w.now
        packet.stamp = e.sent
        packet.what = HERE
    for missing in range(max(s.highest + 1, seq - f.n_ring + 1), seq):
        past(w, f, missing).what = UNKNOWN
    event = False
    if seq > s.checked and (s.gaps >= 1 or past(w, f, seq).stamp - past(w, f, s.checked).stamp > s.its_rtt):
        event = _look_for_losses(w, f, s, before, seq)
        s.checked = seq
        s.gaps = 0
    elif seq == s.checked + 1:
        s.checked = seq
        s.gaps = 0
    p = -1.0
    if seq > s.highest:
        s.highest = seq
        if s.lost_before == 0 and seq - before > 1:
            urgent = True
            s.lost_before = 1
            p = _invent_history(w, f, s, e.sent)
        if s.its_rtt > TINY and w.now - s.reported >= s.its_rtt:
            urgent = True
    if not (urgent or event):
        return 0
    ready = _report(w, f, s, i, slot, p)
    _answer_in(w, s, i)
    return ready


@called
def _answer_in(w: Any, s: Any, i: Any) -> None:
    if s.its_rtt > 0.0:
        s.answering += 1
        set_report_timer(w, i, 1.5 * s.its_rtt, TIMERS * s.answering)


@called
def _look_for_losses(w: Any, f: Any, s: Any, before: Any, seq: Any) -> Any:
    """Which packets before `seq` are missing, and whether one begins a loss event."""
    event = False
    for i in range(max(s.checked, seq - f.n_ring + 1), seq):
        packet = past(w, f, i)
        if packet.what != UNKNOWN:
            continue
        since = past(w, f, before).stamp
        packet.came = w.now
        packet.stamp = since + (i - before) * ((past(w, f, seq).stamp - since) / (seq - before))
        if packet.stamp - s.event_at > s.its_rtt and s.its_round > s.event_round:
            s.event_at = packet.stamp
            s.event_round = s.its_round
            packet.what = EVENT
            event = True
        else:
            packet.what = MISSING
    return event


@called
def _invent_history(w: Any, f: Any, s: Any, sent: Any) -> Any:
    """The first loss: an interval as long as the equation has it at the rate received so far; its loss event rate."""
    for i in range(max(s.counted, s.highest - f.n_ring + 1, 0), s.highest + 1):
        if past(w, f, i).what == EVENT:
            past(w, f, i).what = MISSING
    s.event_at = sent
    s.event_round = s.its_round
    wanted = _received_rate(w, f, s) * f.packet_size
    p, step = 0.5, 0.25
    for _ in range(31):
        rate = _fair(p, s.its_rtt, s.its_timeout, f.packet_size, 1.0)
        if 0.95 * wanted < rate < 1.05 * wanted:
            break
        p += step if rate > wanted else -step
        step /= 2.0
    interval(w, f, 1).packets = np.float64(np.int64(1.0 / p))
    interval(w, f, 0).packets = 0.0
    s.events += 1
    s.invented = 1
    return p


@called
def _received_rate(w: Any, f: Any, s: Any) -> Any:
    """Packets per second since the last report, or in the last RTT where that is shorter ago."""
    if s.its_rtt > 0.0 and w.now - s.reported >= s.its_rtt:
        return s.received / (w.now - s.reported) if s.received > 0 else 1.0
    count = received_within(w, f, s.highest, s.its_rtt) if s.its_rtt > 0.0 else 0
    return count / s.its_rtt if count > 0 else 1.0


@called
def _loss_event_rate(w: Any, f: Any, s: Any) -> Any:
    newest = interval(w, f, 0)
    for i in range(max(s.counted, s.highest - f.n_ring + 1), s.highest + 1):
        newest.packets += 1.0
        if past(w, f, i).what == EVENT:
            s.events += 1
            begin_interval(w, f, s.factor)
            s.factor = 1.0
    s.counted = s.highest + 1
    if s.events == 1 and s.invented == 0:
        return 0.0
    end = min(s.events, f.n_lanes)
    if s.events > 1 and s.discounting and newest.packets > 0.0:
        ratio = 2.0 * weigh(w, f, 1, end, 0, 1.0) / newest.packets
        if ratio < 1.0:
            s.factor = max(ratio, s.least_discount)
    closed = weigh(w, f, 1, end, 0, s.factor)
    mean = max(weigh(w, f, 0, min(end, f.n_lanes - 1), 1, s.factor), closed)
    return 1.0 / mean if mean > 0.0 else 999.0


@called
def _report(w: Any, f: Any, s: Any, i: Any, slot: Any, p: Any) -> Any:
    """Fill a report, if a packet has come since the last one; p < 0: from the intervals."""
    if s.came < s.reported:
        return 0
    at.notes(w)[slot, 0] = p if p >= 0.0 else _loss_event_rate(w, f, s)
    at.notes(w)[slot, 1] = _received_rate(w, f, s)
    report(w, f, i, slot, s.highest, s.stamp + (w.now - s.came))
    s.reported = w.now
    s.received = 0
    return 1


def on_report_timer(w: Any, f: Any, i: Any, number: Any) -> Any:
    """No report for 1.5 RTT: one goes if anything has come since."""
    s = _state(w, f, 0)
    if number != TIMERS * s.answering:
        return -1
    slot = -1
    if s.came >= s.reported:
        slot = new_slot(w)
        _report(w, f, s, i, slot, -1.0)
    elif f.top >= f.limit:
        return -1  # all is over
    _answer_in(w, s, i)
    return slot
