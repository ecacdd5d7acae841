"""The compiled event loop: senders, receiver, bottleneck and records of one dumbbell.

All kernels that call each other live in this one file, because Numba's disk cache does not notice an edit
in another file. The sections stand for the parts of a general engine: clock (calendar of events), random
streams, link, receiver, sender, records, loop. Everything that a run remembers is in the arrays of `Sim`, so
the loop can stop at any event, have an array enlarged by `engine.py`, and go on.

Interpreted (NUMBA_DISABLE_JIT=1) the same code gives the same counts, about a thousand times slower.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import njit

_F = TypeVar("_F", bound=Callable[..., Any])

# No kernel allocates, and the caller holds every array while one runs, so reference counting is switched off:
# its atomic updates took seven eighths of the time (1.1 against 8 M packets/s). Inlining is worth another
# factor of 1.7.
_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}
entry: Callable[[_F], _F] = njit(**_OPTIONS)
inlined: Callable[[_F], _F] = njit(forceinline=True, **_OPTIONS)

# Why the loop came back.
DONE, GROW_EVENTS, GROW_TRACE, BROKEN = 0, 1, 2, 3

# Kinds of event, and kinds of transmission.
ARRIVE, ACK, TIMER, START = 0, 1, 2, 3
NEW, FAST, TIMEOUT, REPEAT = 0, 1, 2, 3
KINDS = ("new", "fast_retransmission", "timeout_retransmission", "other_repeat")

SACK, NEWRENO = 0, 1
DUP_THRESH = 3

# Random streams: one per (seed, purpose, flow). The numbers are part of what a seed means: append, never
# renumber.
STARTING, JITTER, LOSS, CLOCK = 0, 1, 2, 3

# Columns of `counts`.
SENT, ARRIVED, DROPPED, ACCEPTED, RECEIVED, ACKED, TIMEOUTS, RECOVERIES, SAMPLES = range(9)
SENT_KIND, ARRIVED_KIND, DROPPED_KIND = 9, 13, 17
DELIVERED, GOODPUT = 21, 22  # of packets received inside the measured part only
COUNTS = 23

# Columns of `sums`.
RTT_SUM, FIRST_RTO_SUM, FIRST_SILENCE_SUM, WAIT_SUM = range(4)
SUMS = 4

LEVELS = 17  # back-off exponents 0..16 of expiring timers
EPOCH_BINS = 8  # 0..6 and 7 or more packets in an epoch


def _fields(kind: Any, names: str) -> list[tuple[str, Any]]:
    return [(name, kind) for name in names.split()]


WORLD = np.dtype(
    [
        *_fields(np.int64, "limit waiting head bucket mask free_event free_count margin"),
        *_fields(np.int64, "tracing trace_count trace_margin broken link_accepted"),
        *_fields(np.float64, "now inv_width free_at loss measure_from end slice wait_sum work_sum"),
    ]
)

EVENT = np.dtype(
    [
        *_fields(np.float64, "time sent"),
        *_fields(np.int64, "seq ack"),
        *_fields(np.int32, "next flow"),
        *_fields(np.int16, "what"),
        *_fields(np.int8, "kind mark"),
    ],
    align=True,
)

FLOW = np.dtype(
    [
        # what it was given
        *_fields(np.int64, "algorithm window limited max_backoff clear_after"),
        *_fields(np.float64, "access forward reverse tx jitter min_rto max_rto tick phase epoch"),
        # what it remembers: sender, RTT estimator and timer, receiver, records, random streams
        *_fields(np.int64, "una next top dupacks recovery recover high_rxt inflation partial after_timeout"),
        *_fields(np.float64, "cwnd ssthresh"),
        *_fields(np.int64, "timing timed_seq backoff timer"),
        *_fields(np.float64, "timed_at srtt rttvar base_rto deadline due"),
        *_fields(np.int64, "rcv_next"),
        *_fields(np.int64, "epoch_index epoch_count"),
        *_fields(np.float64, "last_arrival last_sent"),
        *_fields(np.uint64, "jitter_key jitter_draws loss_key loss_draws"),
    ]
)


class Sim(NamedTuple):
    """Everything that one run remembers (arrays only; N flows, M events, R a power of two).

    `flows` and `world` are records, `buckets` the heads of the calendar's lists, `sacked` (N, R) the senders'
    scoreboards, `received` (N, R) the receivers' out-of-order bitmaps, `queue` a ring with the times at which
    waiting packets enter service, `copies` (N, R) transmissions seen by the link since a segment was first
    sent.
    """

    world: Any
    flows: Any
    events: Any
    buckets: Any
    sacked: Any
    received: Any
    queue: Any
    counts: Any
    sums: Any
    levels: Any
    epochs: Any
    silences: Any
    slices: Any
    drops: Any
    copies: Any
    trace_time: Any
    trace_what: Any


# --- random streams ----------------------------------------------------------------------------------------

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_ONE = np.uint64(1)
#: Grid points of the clock per second: 15 ps, exact in double precision up to 2^17 s.
GRID = 2.0**36


@inlined
def mix(word: Any) -> Any:
    """SplitMix64's output function: a bijection of 64-bit words."""
    word = (word ^ (word >> _S30)) * _MIX1
    word = (word ^ (word >> _S27)) * _MIX2
    return word ^ (word >> _S31)


@inlined
def uniform(key: Any, draw: Any) -> Any:
    """Draw number `draw` of the stream `key`, uniform in [0, 1); no state that flows could share."""
    return np.float64(mix(key + draw * _GOLDEN) >> _S11) * (1.0 / 9007199254740992.0)


@inlined
def on_grid(time: Any) -> Any:
    """A time rounded to the clock's grid.

    Sums of grid times are exact for runs up to 2^17 s (36 hours), so events that coincide coincide to the last
    bit at any time of a run and are taken in the order in which they were scheduled. Without the grid, rounding
    breaks ties, differently after each power of two: equal RTTs on a drop-tail queue then change their loss from
    0.20 to 0.12 to 0.23 as time passes.
    """
    return math.floor(time * GRID + 0.5) / GRID


# --- clock: a calendar of events ---------------------------------------------------------------------------


@inlined
def schedule(
    sim: Any, w: Any, time: Any, what: Any, flow: Any, seq: Any, ack: Any, kind: Any, mark: Any, sent: Any
) -> Any:
    """Insert an event and return its slot; equal times keep the order of insertion."""
    slot = w.free_event
    e = sim.events[slot]
    w.free_event = e.next
    w.free_count -= 1
    e.time = time
    e.sent = sent
    e.seq = seq
    e.ack = ack
    e.flow = flow
    e.what = what
    e.kind = kind
    e.mark = mark
    bucket = np.int64(time * w.inv_width) & w.mask
    after = sim.buckets[bucket]
    if after < 0 or sim.events[after].time > time:
        e.next = after
        sim.buckets[bucket] = slot
        return slot
    before = after
    after = sim.events[before].next
    while after >= 0 and sim.events[after].time <= time:
        before = after
        after = sim.events[before].next
    e.next = after
    sim.events[before].next = slot
    return slot


@inlined
def next_slot(sim: Any, w: Any) -> Any:
    """Slot of the earliest event, or -1; leaves `w.bucket` at its bucket."""
    for _ in range(w.mask + 1):
        slot = sim.buckets[w.bucket & w.mask]
        if slot >= 0 and np.int64(sim.events[slot].time * w.inv_width) == w.bucket:
            return slot
        w.bucket += 1
    # A whole year without an event: look at every list's head instead of turning more pages.
    best = -1
    for i in range(w.mask + 1):
        slot = sim.buckets[i]
        if slot >= 0 and (best < 0 or sim.events[slot].time < sim.events[best].time):
            best = slot
    if best >= 0:
        w.bucket = np.int64(sim.events[best].time * w.inv_width)
    return best


@inlined
def release(sim: Any, w: Any, slot: Any) -> None:
    """Take the earliest event off its list and return its slot to the pool."""
    e = sim.events[slot]
    sim.buckets[w.bucket & w.mask] = e.next
    e.next = w.free_event
    w.free_event = slot
    w.free_count += 1


# --- records -----------------------------------------------------------------------------------------------


@inlined
def record_send(sim: Any, w: Any, f: Any, i: Any, seq: Any, kind: Any) -> None:
    """Count one transmission, in its epoch and in the trace."""
    sim.counts[i, SENT] += 1
    sim.counts[i, SENT_KIND + kind] += 1
    f.last_sent = w.now
    if f.epoch > 0.0:
        index = np.int64((w.now - w.measure_from) / f.epoch)
        if index != f.epoch_index:
            close_epoch(sim, f, i, index)
        f.epoch_count += 1
    if w.tracing:
        sim.trace_time[w.trace_count] = w.now
        sim.trace_what[w.trace_count, 0] = i
        sim.trace_what[w.trace_count, 1] = seq
        sim.trace_what[w.trace_count, 2] = kind
        w.trace_count += 1


@inlined
def close_epoch(sim: Any, f: Any, i: Any, index: Any) -> None:
    """Write down the epoch just left and the silent ones between it and epoch `index`."""
    silent = index - f.epoch_index - 1
    if f.epoch_index >= 0:
        sim.epochs[i, min(f.epoch_count, EPOCH_BINS - 1)] += 1
        if silent > 0:  # a silence is counted once it is over, between two epochs with packets
            sim.silences[i, min(silent, sim.silences.shape[1] - 1)] += 1
    sim.epochs[i, 0] += silent
    f.epoch_index = index
    f.epoch_count = 0


@entry
def close_epochs(sim: Any) -> None:
    """At the end: close the last whole epoch of each flow; a trailing part of an epoch is left out."""
    w = sim.world[0]
    for i in range(sim.flows.shape[0]):
        f = sim.flows[i]
        whole = np.int64((w.end - w.measure_from) / f.epoch)
        if f.epoch_index < whole:
            silent = whole - f.epoch_index - 1
            if f.epoch_index >= 0:
                sim.epochs[i, min(f.epoch_count, EPOCH_BINS - 1)] += 1
            sim.epochs[i, 0] += silent


# --- link: one analytic FIFO -------------------------------------------------------------------------------


@inlined
def offer(sim: Any, w: Any, tx: Any) -> Any:
    """Departure time of a packet that reaches the link now, or -1.0 if the queue is full.

    FIFO at a fixed rate: the departure is known on arrival, and the queue is a ring of the times at which
    waiting packets enter service. A packet that enters service now no longer waits.
    """
    start = max(w.now, w.free_at)
    if w.limit >= 0:
        size = sim.queue.shape[0]
        while w.waiting > 0 and sim.queue[w.head] <= w.now:
            w.head = (w.head + 1) % size
            w.waiting -= 1
        if start > w.now:
            if w.waiting >= w.limit:
                return -1.0
            sim.queue[(w.head + w.waiting) % size] = start
            w.waiting += 1
    w.free_at = start + tx
    w.wait_sum += start - w.now
    w.work_sum += tx
    w.link_accepted += 1
    return w.free_at


@inlined
def is_lost(sim: Any, w: Any, f: Any, i: Any, seq: Any) -> Any:
    """Does the loss process, or the list of chosen drops, take this packet?"""
    if w.loss > 0.0:
        f.loss_draws += _ONE
        if uniform(f.loss_key, f.loss_draws) < w.loss:
            return True
    if sim.drops.shape[0] > 0:
        place = seq & (sim.copies.shape[1] - 1)
        sim.copies[i, place] += 1
        for d in range(sim.drops.shape[0]):
            if sim.drops[d, 0] == i and sim.drops[d, 1] == seq and sim.drops[d, 2] == sim.copies[i, place]:
                return True
    return False


@inlined
def on_arrival(sim: Any, w: Any, f: Any, i: Any, seq: Any, kind: Any, sent: Any) -> None:
    """A packet reaches the bottleneck: drop it, or work out when its acknowledgement will be back.

    The receiver runs here and not at the packet's receipt: a flow's packets keep their order from here on,
    so it sees the same sequence, and one event per packet is saved.
    """
    sim.counts[i, ARRIVED] += 1
    sim.counts[i, ARRIVED_KIND + kind] += 1
    departure = -1.0
    if not is_lost(sim, w, f, i, seq):
        departure = offer(sim, w, f.tx)
    if departure < 0.0:
        sim.counts[i, DROPPED] += 1
        sim.counts[i, DROPPED_KIND + kind] += 1
        return
    sim.counts[i, ACCEPTED] += 1
    receipt = departure + f.forward
    fresh = receive(sim, w, f, i, seq)
    inside = receipt < w.end
    if inside:
        sim.counts[i, RECEIVED] += 1
        if receipt >= w.measure_from:
            sim.counts[i, DELIVERED] += 1
            if fresh:
                sim.counts[i, GOODPUT] += 1
                part = np.int64((receipt - w.measure_from) / w.slice)
                if part < sim.slices.shape[0]:
                    sim.slices[part, i] += 1
    back = receipt + f.reverse
    if w.now >= w.measure_from:
        sim.sums[i, RTT_SUM] += back - sent
        sim.sums[i, WAIT_SUM] += departure - w.now - f.tx
    # mark: bit 0 new at the receiver, bit 1 received after the end of the run
    mark = np.int64(fresh) + (0 if inside else 2)
    schedule(sim, w, back, ACK, i, seq, f.rcv_next, kind, mark, sent)


# --- receiver ----------------------------------------------------------------------------------------------


@inlined
def receive(sim: Any, w: Any, f: Any, i: Any, seq: Any) -> Any:
    """Store a segment, move the cumulative acknowledgement `f.rcv_next`; True if the segment is new here."""
    mask = sim.received.shape[1] - 1
    if seq < f.rcv_next:
        return False
    if seq - f.rcv_next > mask:
        w.broken = 1
        return False
    if sim.received[i, seq & mask]:
        return False
    sim.received[i, seq & mask] = 1
    while sim.received[i, f.rcv_next & mask]:
        sim.received[i, f.rcv_next & mask] = 0
        f.rcv_next += 1
    return True


# --- sender: timer and RTT estimator (RFC 6298)
# --------------------------------------------------------------


@inlined
def current_rto(f: Any) -> Any:
    """Timeout now: floor first, then back-off, then ceiling (RFC 6298, 2.4, 2.5, 5.5)."""
    return min(max(f.base_rto, f.min_rto) * f.backoff, f.max_rto)


@inlined
def set_timer(sim: Any, w: Any, f: Any, i: Any) -> None:
    """(Re)start the retransmission timer. Lazy: an entry due no later will find the new deadline."""
    f.deadline = w.now + on_grid(current_rto(f))
    if f.deadline < f.due:
        f.due = f.deadline
        f.timer += 1  # entries with an older number are superseded
        schedule(sim, w, f.due, TIMER, i, f.timer, 0, 0, 0, 0.0)


@inlined
def sample_rtt(sim: Any, w: Any, f: Any, i: Any) -> None:
    """Take the running measurement and end the back-off (Karn's rule).

    With a tick, the integer arithmetic of Jacobson (1988, appendix A), BSD and ns-2: smoothed RTT in eighths
    of a tick, variation in quarters, every shift rounding down. Against exact means on an exact clock that
    lengthens the timeout of the scenario `sub_packet` from 0.510 to 0.523 s and lowers its loss from 16.2 to
    16.1 % (8 seeds; standard deviation of one run 0.2 %).
    """
    f.timing = 0
    if f.tick > 0.0:
        m = max(math.floor((w.now + f.phase) / f.tick) - math.floor((f.timed_at + f.phase) / f.tick), 1.0)
        if f.srtt > 0.0:
            delta = m - math.floor(f.srtt / 8.0)
            f.srtt = max(f.srtt + delta, 1.0)
            f.rttvar = max(f.rttvar + abs(delta) - math.floor(f.rttvar / 4.0), 1.0)
        else:
            f.srtt = 8.0 * m
            f.rttvar = 2.0 * m
        f.base_rto = math.floor((8.0 * f.rttvar + f.srtt) / 8.0) * f.tick
    else:
        rtt = w.now - f.timed_at
        if f.srtt > 0.0:
            f.rttvar += 0.25 * (abs(rtt - f.srtt) - f.rttvar)
            f.srtt += 0.125 * (rtt - f.srtt)
        else:
            f.srtt = rtt
            f.rttvar = 0.5 * rtt
        f.base_rto = f.srtt + 4.0 * f.rttvar
    f.backoff = 1
    sim.counts[i, SAMPLES] += 1


# --- sender ------------------------------------------------------------------------------------------------


@inlined
def transmit(sim: Any, w: Any, f: Any, i: Any, seq: Any, repeat_kind: Any) -> None:
    """Put one segment on the access link."""
    kind = repeat_kind
    mask = sim.sacked.shape[1] - 1
    if seq == f.top:
        kind = NEW
        f.top += 1
        sim.sacked[i, seq & mask] = 0
        if sim.drops.shape[0] > 0:
            sim.copies[i, seq & mask] = 0
        if f.timing == 0:
            f.timing = 1
            f.timed_seq = seq
            f.timed_at = w.now
    else:
        f.timing = 0  # the acknowledgement that is awaited may now be that of a retransmission
    record_send(sim, w, f, i, seq, kind)
    arrival = w.now + f.access
    if f.jitter > 0.0:
        f.jitter_draws += _ONE
        arrival = max(arrival + on_grid(f.jitter * uniform(f.jitter_key, f.jitter_draws)), f.last_arrival)
        f.last_arrival = arrival
    schedule(sim, w, arrival, ARRIVE, i, seq, 0, kind, 0, w.now)
    if f.deadline == math.inf:
        set_timer(sim, w, f, i)


@inlined
def send_window(sim: Any, w: Any, f: Any, i: Any, window: Any, first_kind: Any) -> None:
    """Send in order while `window` allows; after a timeout this goes back over what was sent before."""
    mask = sim.sacked.shape[1] - 1
    kind = first_kind
    while f.next < f.una + window:
        if f.next < f.top and sim.sacked[i, f.next & mask]:
            f.next += 1
            continue
        transmit(sim, w, f, i, f.next, kind)
        f.next += 1
        kind = REPEAT


@inlined
def usable(f: Any) -> Any:
    """Whole segments that congestion window and advertised window allow."""
    return min(np.int64(f.cwnd), f.window)


@inlined
def half_window(f: Any) -> Any:
    """New slow-start threshold: half the window in whole segments, at least two (RFC 5681, eq. 4)."""
    return np.float64(max(min(np.int64(f.cwnd), f.window) // 2, 2))


@inlined
def grow(f: Any) -> None:
    """Slow start below the threshold, congestion avoidance above (RFC 5681, 3.1); never beyond the window."""
    f.cwnd += 1.0 if f.cwnd < f.ssthresh else 1.0 / f.cwnd
    f.cwnd = min(f.cwnd, np.float64(f.window))


@inlined
def on_timeout(sim: Any, w: Any, f: Any, i: Any) -> None:
    """The retransmission timer expired with data outstanding (RFC 6298, 5.4-5.7; RFC 5681, 3.1)."""
    sim.counts[i, TIMEOUTS] += 1
    level = 0
    while (1 << level) < f.backoff and level < LEVELS - 1:
        level += 1
    sim.levels[i, level] += 1
    if level == 0 and w.now >= w.measure_from:
        sim.sums[i, FIRST_RTO_SUM] += current_rto(f)
        sim.sums[i, FIRST_SILENCE_SUM] += w.now - f.last_sent
    f.ssthresh = half_window(f)
    f.cwnd = 1.0
    f.backoff = min(2 * f.backoff, f.max_backoff)
    if f.backoff > f.clear_after:
        f.srtt = 0.0  # the next sample starts the estimator afresh (RFC 6298, end of section 5)
    mask = sim.sacked.shape[1] - 1
    for seq in range(f.una, f.top):
        sim.sacked[i, seq & mask] = 0  # the receiver may have reneged (RFC 2018, section 8)
    f.recovery = 0
    f.dupacks = 0
    f.inflation = 0
    f.recover = f.top - 1
    f.after_timeout = 1
    f.timing = 0
    f.next = f.una
    f.deadline = math.inf
    set_timer(sim, w, f, i)
    send_window(sim, w, f, i, 1, TIMEOUT)


@inlined
def on_ack(sim: Any, w: Any, f: Any, i: Any, seq: Any, ack: Any, fresh: Any) -> None:
    """An acknowledgement is back: all before `ack` has arrived, and so has `seq` (`fresh`: first time)."""
    sim.counts[i, ACKED] += 1
    if ack > f.una:
        if f.timing and ack > f.timed_seq:
            sample_rtt(sim, w, f, i)
        newly = ack - f.una
        f.una = ack
        f.next = max(f.next, ack)
        f.after_timeout = 0
        if f.recovery == 0:
            f.dupacks = 0
            restart_timer(sim, w, f, i)
            grow(f)
            send_window(sim, w, f, i, usable(f), REPEAT)
        elif f.una > f.recover:
            f.recovery = 0
            f.dupacks = 0
            f.inflation = 0
            restart_timer(sim, w, f, i)
            send_window(sim, w, f, i, usable(f), REPEAT)
        elif f.algorithm == SACK:
            restart_timer(sim, w, f, i)
            fill_pipe(sim, w, f, i)
        else:
            newreno_partial(sim, w, f, i, newly)
        return
    if f.una == f.top or f.after_timeout:
        return
    mask = sim.sacked.shape[1] - 1
    if f.algorithm == SACK:
        if not fresh or seq <= f.una or sim.sacked[i, seq & mask]:
            return  # nothing new is reported, so it is no duplicate in the sense of RFC 6675, section 2
        sim.sacked[i, seq & mask] = 1
    f.dupacks += 1
    if f.recovery:
        if f.algorithm == SACK:
            fill_pipe(sim, w, f, i)
        else:
            f.inflation += 1
            send_window(sim, w, f, i, min(np.int64(f.cwnd) + f.inflation, f.window), REPEAT)
    elif f.dupacks == DUP_THRESH:
        enter_recovery(sim, w, f, i)
    elif f.dupacks < DUP_THRESH and f.limited and f.next == f.top:
        # Limited transmit (RFC 3042): one new segment per duplicate, the window unchanged.
        send_window(sim, w, f, i, min(np.int64(f.cwnd) + f.dupacks, f.window), REPEAT)


@inlined
def restart_timer(sim: Any, w: Any, f: Any, i: Any) -> None:
    """After an acknowledgement of new data: restart, or stop if all is acknowledged (RFC 6298, 5.2-5.3)."""
    f.deadline = math.inf
    if f.una < f.top:
        set_timer(sim, w, f, i)


@inlined
def enter_recovery(sim: Any, w: Any, f: Any, i: Any) -> None:
    """Third duplicate: fast retransmit, at most once per window of data."""
    # Beyond `recover`, as RFC 6582 and ns-2 ask; RFC 6675 would be content with reaching it.
    if f.una - 1 <= f.recover:
        return
    sim.counts[i, RECOVERIES] += 1
    f.ssthresh = half_window(f)
    # As ns-2, half the window and not less than one; RFC 5681 would have the threshold, so not less than two.
    f.cwnd = max(0.5 * min(f.cwnd, np.float64(f.window)), 1.0)
    f.recovery = 1
    f.recover = f.top - 1
    f.partial = 0
    f.inflation = DUP_THRESH
    f.high_rxt = f.una
    f.deadline = math.inf
    transmit(sim, w, f, i, f.una, FAST)
    if f.algorithm == SACK:
        fill_pipe(sim, w, f, i)
    else:
        send_window(sim, w, f, i, min(np.int64(f.cwnd) + f.inflation, f.window), REPEAT)


@inlined
def fill_pipe(sim: Any, w: Any, f: Any, i: Any) -> None:
    """RFC 6675: SetPipe, then NextSeg rules 1 (known holes) and 2 (new data) while the window allows.

    A retransmission that is lost again waits for the timer. Rules 3 and 4 (guesses, rescue) are left out.
    """
    mask = sim.sacked.shape[1] - 1
    pipe = 0
    above = 0
    lost_end = f.una  # every unsacked segment before this one counts as lost
    for seq in range(f.top - 1, f.una - 1, -1):
        if sim.sacked[i, seq & mask]:
            above += 1
        else:
            if above < DUP_THRESH:
                pipe += 1
            elif lost_end == f.una:
                lost_end = seq + 1
            if seq <= f.high_rxt:
                pipe += 1
    hole = max(f.una, f.high_rxt + 1)
    window = usable(f)
    while pipe < window:
        while hole < lost_end and sim.sacked[i, hole & mask]:
            hole += 1
        if hole < lost_end:
            f.high_rxt = hole
            transmit(sim, w, f, i, hole, FAST)
        elif f.top < f.una + f.window:
            transmit(sim, w, f, i, f.top, NEW)
            f.next = f.top
        else:
            return
        pipe += 1


@inlined
def newreno_partial(sim: Any, w: Any, f: Any, i: Any, newly: Any) -> None:
    """Partial acknowledgement (RFC 6582, 3.2 step 5); only the first restarts the timer ("impatient")."""
    if f.partial == 0:
        restart_timer(sim, w, f, i)
    f.partial = 1
    transmit(sim, w, f, i, f.una, FAST)
    f.inflation = max(f.inflation - newly + 1, 1 - np.int64(f.cwnd))
    send_window(sim, w, f, i, min(np.int64(f.cwnd) + f.inflation, f.window), REPEAT)


@inlined
def on_timer(sim: Any, w: Any, f: Any, i: Any, number: Any) -> None:
    """A timer entry comes up: ignore it if superseded, push it on if the deadline has moved."""
    if number != f.timer:
        return
    f.due = math.inf
    if f.deadline == math.inf:
        return
    if f.deadline > w.now:
        f.due = f.deadline
        f.timer += 1
        schedule(sim, w, f.due, TIMER, i, f.timer, 0, 0, 0, 0.0)
        return
    on_timeout(sim, w, f, i)


# --- loop --------------------------------------------------------------------------------------------------


@entry
def advance(sim: Any, until: Any) -> Any:
    """Run all events before `until`; DONE, or the reason why the caller must act first."""
    w = sim.world[0]
    while True:
        if w.free_count < w.margin:
            return GROW_EVENTS
        if w.tracing and sim.trace_time.shape[0] - w.trace_count < w.trace_margin:
            return GROW_TRACE
        if w.broken:
            return BROKEN
        slot = next_slot(sim, w)
        if slot < 0:
            w.now = until
            return DONE
        e = sim.events[slot]
        if e.time >= until:
            w.now = until
            return DONE
        w.now = e.time
        what = e.what
        i = np.int64(e.flow)
        seq = e.seq
        ack = e.ack
        kind = np.int64(e.kind)
        fresh = (e.mark & 1) != 0
        sent = e.sent
        release(sim, w, slot)
        f = sim.flows[i]
        if what == ARRIVE:
            on_arrival(sim, w, f, i, seq, kind, sent)
        elif what == ACK:
            on_ack(sim, w, f, i, seq, ack, fresh)
        elif what == TIMER:
            on_timer(sim, w, f, i, seq)
        else:
            send_window(sim, w, f, i, usable(f), REPEAT)


@entry
def pending(sim: Any, held: Any) -> None:
    """Per flow: packets not yet at the link, acknowledgements under way, those received after the end."""
    for bucket in range(sim.buckets.shape[0]):
        slot = sim.buckets[bucket]
        while slot >= 0:
            e = sim.events[slot]
            if e.what == ARRIVE:
                held[e.flow, 0] += 1
            elif e.what == ACK:
                held[e.flow, 1] += 1
                if e.mark & 2:
                    held[e.flow, 2] += 1
            slot = e.next
