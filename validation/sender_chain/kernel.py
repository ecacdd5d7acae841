"""A state of the simulator as a row of words, and back: what is the same for ever after has the same words.

`pack` makes a state relative (sequence numbers to the first unacknowledged one, times to now), gives its events the
first slots in the order in which they come, blanks what is never read again, and writes it as words. `unpack` makes
of words a state that the simulator's loop runs on from. Whatever is left out is named here with its reason; all other
fields are kept as they are:

- counters of what was sent, lost, delivered; sums; numbers of acknowledgements: they are only counted;
- superseded timers: the loop passes over them; a timer's number is 1;
- what a flag says is not in use: the segment being timed, a held acknowledgement, the pipe and the highest
  retransmission outside recovery, the leap segment, the row of the receiver that grew last once it is acknowledged;
- echoes without timestamps; RTTs, flight and marks where the rule is Reno's, which reads none;
- lower bounds: of what is only compared with the first unacknowledged segment and lies behind it, how far behind;
- duplicates beyond four count as four, a window above the advertised one as that one: nobody asks for more;
- the RTT's variation while no RTT is known: the next sample sets it;
- lengths of rows that two rings note as short cuts: recomputed;
- the RTT's smoothed value and variation once every sample is one RTT and the timeout is its floor: the floor rules
  from then on, for the variation only falls. A sample of another length is refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tcpdynamics.compiled import kept_on_disk, stamp_of

from ..packet.kernel import loop
from ..packet.kernel import records as k
from ..packet.kernel.jit import SOURCES

#: Sequence number of the first unacknowledged segment, and time, in a state that is relative. Multiples of any ring
#: and any tick.
BASE, NOW = 1 << 16, 1024.0

#: What `pack` returns instead of a length.
UNKNOWN_EVENT, BOOKS_WRONG, RTT_VARIES, TOO_LONG = -1, -2, -3, -4
#: What `branch` returns beside these.
LOOP_STOPPED, NO_PACKET, OTHER_PACKETS, OTHER_LOSSES = -5, -6, -7, -8

#: Columns of `branch`'s numbers, a row a pattern: packets lost, segments delivered, timers, words of the next node.
LOST_NEW, LOST_AGAIN, LOST_ACKS, DELIVERED, TIMEOUTS, WORDS = range(6)
#: Of its facts: packets at the instant, of data and of acknowledgements; new data, data sent again; flight; by how much
#: the timeout is multiplied.
DATA, ACKS, NEW, AGAIN, FLIGHT, BACKOFF = range(6)

FLOW_WORDS = k.FLOW.itemsize // 8
#: Words of an event: time, sent, seq, ack, then flags, then six of its blocks.
EVENT_WORDS = 15

_STAMP = SOURCES + stamp_of([Path(__file__)])
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def _entry(function: Any) -> Any:
    return kept_on_disk(function, _STAMP, **_OPTIONS)


@_entry
def pack(
    world: Any,
    flows: Any,
    words: Any,
    events: Any,
    blocks: Any,
    heap: Any,
    sacked: Any,
    received: Any,
    stack: Any,
    links: Any,
    rtt: Any,
    edges: Any,
    middles: Any,
    out: Any,
) -> Any:
    """Write the state as words; their number, or why not. Windows between two `edges` become the middle one."""
    w = world[0]
    f = flows[0]
    shift = f.una - BASE
    late = w.now - NOW
    default = f.rule == 0
    _flow(f, shift, late, default)
    if f.est == 0.0:
        f.dev = 0.0
    elif f.tick == 0.0:
        if f.est != rtt:
            return RTT_VARIES
        if f.base_rto <= f.min_rto:
            f.dev = 0.0
            f.base_rto = rtt
    if edges.size:
        f.cwnd = middles[np.searchsorted(edges, f.cwnd, side="right")]
    n = FLOW_WORDS
    # The rings: one bit a segment from the first unacknowledged one on.
    mask = sacked.shape[1] - 1
    bits = np.int64(0)
    held = np.int64(0)
    total = 0
    for j in range(63):
        if sacked[0, (f.una + shift + j) & mask] and f.una + j < f.top:
            bits |= np.int64(1) << j
            total += 1
        # (of the receiver, from its next segment on)
        if received[0, (f.rcv_next + shift + j) & mask]:
            held |= np.int64(1) << j
    everywhere = 0
    for j in range(mask + 1):
        everywhere += sacked[0, j] != 0
    if total != f.sack_total or total != everywhere:
        return BOOKS_WRONG
    out[n] = bits
    out[n + 1] = held
    n += 2
    for j in range(f.stack_count):
        out[n] = stack[0, 2 * j] - shift
        out[n + 1] = stack[0, 2 * j + 1] - shift
        n += 2
    # Events in order.
    count_at = n
    n += 1
    live = 0
    for place in range(w.heap_count):
        slot = heap[place]
        what = events[slot].what
        if what == k.TIMER and events[slot].seq != f.timer:
            continue
        if what == k.DELACK and (events[slot].seq != f.ack_timer or f.ack_held == 0):
            continue
        if what not in (k.ARRIVE, k.RECEIVE, k.ACKED, k.TIMER, k.DELACK):
            return UNKNOWN_EVENT
        if n + EVENT_WORDS > out.shape[0]:
            return TOO_LONG
        # Its place among those that are live: insertion into what is written already.
        at = live
        while at > 0:
            there = count_at + 1 + (at - 1) * EVENT_WORDS
            before = out[there : there + 1].view(np.float64)[0] + late
            order = out[there + 14]
            if before < events[slot].time or (before == events[slot].time and order < events[slot].order):
                break
            for j in range(EVENT_WORDS):
                out[there + EVENT_WORDS + j] = out[there + j]
            at -= 1
        there = count_at + 1 + at * EVENT_WORDS
        _event(events[slot], blocks, slot, shift, late, out, there)
        live += 1
        n += EVENT_WORDS
    for j in range(live):
        out[count_at + 1 + j * EVENT_WORDS + 14] = j
    out[count_at] = live
    f.timer = 1
    f.ack_timer = 1
    for j in range(FLOW_WORDS):
        out[j] = words[0, j]
    return n


@_entry
def _event(e: Any, blocks: Any, slot: Any, shift: Any, late: Any, out: Any, n: Any) -> None:
    times = out[n : n + 2].view(np.float64)
    times[0] = e.time - late
    for j in range(1, EVENT_WORDS):
        out[n + j] = 0
    what = np.int64(e.what)
    out[n + 2] = what
    out[n + 14] = e.order
    if what in (k.TIMER, k.DELACK):
        out[n + 3] = 1
        return
    times[1] = e.sent - late
    is_ack = e.kind == k.ACK
    out[n + 3] = 0 if is_ack else e.seq - shift
    out[n + 4] = e.ack - shift if is_ack else 0
    out[n + 5] = (np.int64(e.kind) << 32) | (np.int64(e.mark) << 40) | (np.int64(e.blocks) << 48)
    out[n + 6] = np.int64(e.hop) | (np.int64(e.length) << 32)
    out[n + 7] = e.on
    for j in range(e.blocks):
        out[n + 8 + 2 * j] = blocks[slot, 2 * j] - shift
        out[n + 9 + 2 * j] = blocks[slot, 2 * j + 1] - shift


@_entry
def _relative(value: Any, shift: Any, least: Any) -> Any:
    """A sequence number, but for 0 and below, which say that there is none."""
    return max(value - shift, least) if value > 0 else value


@_entry
def _flow(f: Any, shift: Any, late: Any, default: Any) -> None:
    """Make the flow's record relative, and blank what is not read."""
    behind = np.int64(BASE - 1)
    is_ns2 = f.book == 0
    is_sack = f.algorithm == k.SACK
    f.una -= shift
    f.next -= shift
    f.top -= shift
    f.rcv_next -= shift
    f.rcv_max = max(f.rcv_max - shift, behind)
    if is_ns2:
        f.last_una -= shift
        f.recover = _relative(f.recover, shift, behind - 1)
    else:
        f.recover = max(f.recover - shift, behind - 1)
        if not f.recovery:
            f.partial = 0
    f.scan = _relative(f.scan, shift, np.int64(1))
    if is_ns2 and is_sack:
        f.sack_min = f.sack_min - shift if f.sack_total > 0 else max(f.sack_min - shift, behind)
    f.sack_max = max(f.sack_max - shift, behind) if f.sack_max > 0 else behind
    f.sack_second = max(f.sack_second - shift, behind) if f.sack_second > 0 else behind
    f.sack_third = max(f.sack_third - shift, behind) if f.sack_third > 0 else behind
    f.sack_changed = 0
    if not f.recovery:
        f.pipe = 0
    if is_ns2 or not is_sack or not f.recovery:
        f.high_rxt = 0
        f.rxt_sacked = 0
    else:
        f.high_rxt = max(f.high_rxt - shift, behind)
    if f.timing:
        f.timed_seq -= shift
        f.timed_at -= late
    else:
        f.timed_seq = 0
        f.timed_at = 0.0
    f.deadline -= late
    f.due -= late
    if f.run_right - shift > f.rcv_next:
        f.run_left -= shift
        f.run_right -= shift
    else:
        f.run_left = 0
        f.run_right = 0
    if f.leaping or f.leap_flg:
        f.leap_seqno = max(f.leap_seqno - shift, behind)
    else:
        f.leap_seqno = -1
    if f.ack_held:
        f.held_seq -= shift
        f.held_sent -= late
    else:
        f.held_seq = 0
        f.held_sent = 0.0
    if f.timestamps:
        f.echo -= late
        f.acked_next -= shift
    else:
        f.echo = 0.0
        f.acked_next = 0
    f.acks = 0
    f.held_kind = 0
    f.last_sent = 0.0
    f.answered = 0
    f.answered_until = 0
    f.flight = 0
    f.dupacks = min(f.dupacks, 4)
    if default:
        f.rtt = 0.0
        f.min_rtt = 0.0
        f.srtt = 0.0
        f.cwnd = min(f.cwnd, np.float64(f.window))


@_entry
def unpack(
    world: Any,
    flows: Any,
    words: Any,
    events: Any,
    blocks: Any,
    heap: Any,
    sacked: Any,
    received: Any,
    stack: Any,
    links: Any,
    counts: Any,
    state: Any,
) -> None:
    """Make of words the state that they say."""
    w = world[0]
    for j in range(FLOW_WORDS):
        words[0, j] = state[j]
    f = flows[0]
    n = FLOW_WORDS
    sacked[:] = 0
    received[:] = 0
    mask = sacked.shape[1] - 1
    run = 0
    for j in range(63):
        if (state[n] >> j) & 1:
            sacked[0, (f.una + j) & mask] = 1
        if (state[n + 1] >> j) & 1:
            run += 1
            received[0, (f.rcv_next + j) & mask] = 1
        elif run:
            received[0, (f.rcv_next + j - 1) & mask] = run
            received[0, (f.rcv_next + j - run) & mask] = run
            run = 0
    n += 2
    for j in range(f.stack_count):
        stack[0, 2 * j] = state[n]
        stack[0, 2 * j + 1] = state[n + 1]
        n += 2
    live = state[n]
    n += 1
    first = links.shape[0]
    for j in range(live):
        slot = first + j
        e = events[slot]
        times = state[n : n + 2].view(np.float64)
        e.time = times[0]
        e.sent = times[1]
        e.what = state[n + 2]
        e.seq = state[n + 3]
        e.ack = state[n + 4]
        e.kind = (state[n + 5] >> 32) & 0xFF
        e.mark = (state[n + 5] >> 40) & 0xFF
        e.blocks = (state[n + 5] >> 48) & 0xFF
        e.hop = state[n + 6] & 0xFFFFFFFF
        e.length = state[n + 6] >> 32
        e.on = state[n + 7]
        e.flow = 0
        e.next = -1
        e.order = j
        if blocks.shape[0] > 1:
            for i in range(6):
                blocks[slot, i] = state[n + 8 + i]
        heap[j] = slot
        n += EVENT_WORDS
    size = events.shape[0]
    for slot in range(first + live, size):
        events[slot].what = k.FREE
        events[slot].next = slot + 1 if slot + 1 < size else -1
    w.free_event = first + live
    w.free_count = size - first - live
    w.heap_count = live
    w.order = live
    w.now = NOW
    w.out_count = 0
    w.out_head = 0
    w.send = 0
    w.scanned = 0
    for j in range(links.shape[0]):
        line = links[j]
        line.arrived = 0
        line.dropped = 0
        line.accepted = 0
        line.left = 0
        line.free_at = 0.0
        line.woke = 0.0
    counts[:] = 0


@_entry
def postpone(world: Any, flows: Any, events: Any, links: Any, by: Any) -> None:
    """Let the same state stand at another time: what follows must be the same."""
    world[0].now += by
    f = flows[0]
    f.deadline += by
    f.due += by
    if f.timing:
        f.timed_at += by
    if f.ack_held:
        f.held_sent += by
    if f.timestamps:
        f.echo += by
    for j in range(world[0].heap_count):
        events[links.shape[0] + j].time += by
        events[links.shape[0] + j].sent += by


@_entry
def instant(
    world: Any,
    flows: Any,
    words: Any,
    events: Any,
    blocks: Any,
    heap: Any,
    sacked: Any,
    received: Any,
    stack: Any,
    links: Any,
    counts: Any,
    state: Any,
) -> Any:
    """Put a state in and run all events of its next instant; the instant's time, NaN if the loop came back early."""
    unpack(world, flows, words, events, blocks, heap, sacked, received, stack, links, counts, state)
    time = events[heap[0]].time
    status = loop.advance(world, np.nextafter(time, np.inf), 100_000)
    world[0].now = time  # the loop leaves it at where it was to stop
    return time if status == k.DONE else np.nan


@_entry
def branch(
    world: Any,
    flows: Any,
    words: Any,
    events: Any,
    blocks: Any,
    heap: Any,
    sacked: Any,
    received: Any,
    stack: Any,
    links: Any,
    counts: Any,
    rows: Any,
    ack_loss: Any,
    rtt: Any,
    edges: Any,
    middles: Any,
    patience: Any,
    state: Any,
    first: Any,
    facts: Any,
    windows: Any,
    numbers: Any,
    waited: Any,
    out: Any,
) -> Any:
    """Every pattern of losses from a state to the next node, from pattern `first` on as far as `out` has rows.

    The patterns are in the order of `itertools.product((False, True), ...)` over the packets of the instant (data
    first; True: lost). `facts` and `windows` are of the instant without losses, `numbers`, `waited` and `out` (the
    words of the next node) of each pattern. The number of patterns done; below 0: why not.
    """
    rows[:, 4] = -2
    time = instant(world, flows, words, events, blocks, heap, sacked, received, stack, links, counts, state)
    data = links[0].arrived
    acks = links[1].arrived if ack_loss else 0
    new = counts[0, k.ARRIVED_KIND + k.NEW]
    facts[DATA] = data
    facts[ACKS] = acks
    facts[NEW] = new
    facts[AGAIN] = data - new
    facts[FLIGHT] = flows[0].top - flows[0].una
    facts[BACKOFF] = flows[0].backoff
    windows[0] = flows[0].cwnd
    windows[1] = flows[0].ssthresh
    packets = data + acks
    if packets > rows.shape[0]:
        return 0
    last = min(1 << packets, first + out.shape[0])
    for pattern in range(first, last):
        i = pattern - first
        rows[:, 4] = -2
        lost = 0
        for j in range(packets):
            if (pattern >> (packets - 1 - j)) & 1:
                rows[lost, 0] = k.BY_PACKET
                rows[lost, 1] = -1
                rows[lost, 2] = j if j < data else j - data
                rows[lost, 3] = 0
                rows[lost, 4] = 0 if j < data else 1
                lost += 1
        time = instant(
            world, flows, words, events, blocks, heap, sacked, received, stack, links, counts, state
        )
        if not time >= 0.0:
            return LOOP_STOPPED
        if links[0].arrived != data or (ack_loss and links[1].arrived != acks):
            return OTHER_PACKETS
        numbers[i, LOST_NEW] = counts[0, k.DROPPED_KIND + k.NEW]
        numbers[i, LOST_AGAIN] = 0
        for kind in range(k.NEW + 1, 4):
            numbers[i, LOST_AGAIN] += counts[0, k.DROPPED_KIND + kind]
        numbers[i, LOST_ACKS] = counts[0, k.ACKS_DROPPED]
        if numbers[i, LOST_NEW] + numbers[i, LOST_AGAIN] + numbers[i, LOST_ACKS] != lost:
            return OTHER_LOSSES
        numbers[i, DELIVERED] = counts[0, k.GOODPUT]
        numbers[i, TIMEOUTS] = 0
        waited[i] = 0.0
        rows[:, 4] = -2
        steps = 0
        while True:
            merged = edges if counts[0, k.RECOVERIES] > 0 else edges[:0]
            n = pack(
                world, flows, words, events, blocks, heap, sacked, received, stack, links, rtt, merged, middles,
                out[i],
            )  # fmt: skip
            if n < 0:
                return n
            numbers[i, WORDS] = n
            time = instant(
                world, flows, words, events, blocks, heap, sacked, received, stack, links, counts, out[i]
            )
            if not time >= 0.0:
                return LOOP_STOPPED
            waited[i] += time - NOW
            numbers[i, TIMEOUTS] += counts[0, k.TIMEOUTS]
            if links[0].arrived or (ack_loss and links[1].arrived):
                break
            numbers[i, DELIVERED] += counts[0, k.GOODPUT]
            steps += 1
            if steps > patience:
                return NO_PACKET
    return last - first
