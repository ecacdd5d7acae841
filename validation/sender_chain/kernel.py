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
from typing import Any, NamedTuple

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


class Arrays(NamedTuple):
    """Arrays of the simulator's loop; `words` is the flow's record as integers, `drops` the packets to drop."""

    world: Any
    flows: Any
    words: Any
    events: Any
    blocks: Any
    heap: Any
    orders: Any
    sacked: Any
    received: Any
    stack: Any
    links: Any
    counts: Any
    drops: Any


class Rules(NamedTuple):
    """Settings of the exploration.

    Windows between two `edges` are merged into the middle one. `patience`: maximum number of instants in a row without
    a packet.
    """

    rtt: float
    edges: Any
    middles: Any
    ack_loss: bool
    patience: int


class Outcome(NamedTuple):
    """Results of `branch`: `facts` and `windows` of the instant without losses, then one row for each pattern.

    A row holds `numbers`, the time `waited` [s], and the words of the next node.
    """

    facts: Any
    windows: Any
    numbers: Any
    waited: Any
    nodes: Any


_STAMP = SOURCES + stamp_of([Path(__file__)])
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def _entry(function: Any) -> Any:
    return kept_on_disk(function, _STAMP, **_OPTIONS)


@_entry
def pack(s: Any, rules: Any, out: Any) -> Any:
    """Write the state as words; their number, or why not. Windows become one only after a recovery."""
    w = s.world[0]
    f = s.flows[0]
    rtt, edges, middles = rules.rtt, rules.edges, rules.middles
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
    if edges.size and s.counts[0, k.RECOVERIES] > 0:
        f.cwnd = middles[np.searchsorted(edges, f.cwnd, side="right")]
    n = _rings(s, f, shift, out)
    if n < 0:
        return n
    n = _events(s, f, shift, late, out, n)
    f.timer = 1
    f.ack_timer = 1
    for j in range(FLOW_WORDS):
        out[j] = s.words[0, j]
    return n


@_entry
def _rings(s: Any, f: Any, shift: Any, out: Any) -> Any:
    """One bit a segment of scoreboard and receiver, then the receiver's stack; where the events begin."""
    n = FLOW_WORDS
    mask = s.sacked.shape[1] - 1
    bits = np.int64(0)
    held = np.int64(0)
    total = 0
    for j in range(63):
        # From the first unacknowledged segment on; of the receiver, from its next one.
        if s.sacked[0, (f.una + shift + j) & mask] and f.una + j < f.top:
            bits |= np.int64(1) << j
            total += 1
        if s.received[0, (f.rcv_next + shift + j) & mask]:
            held |= np.int64(1) << j
    everywhere = 0
    for j in range(mask + 1):
        everywhere += s.sacked[0, j] != 0
    if total != f.sack_total or total != everywhere:
        return BOOKS_WRONG
    out[n] = bits
    out[n + 1] = held
    n += 2
    for j in range(f.stack_count):
        out[n] = s.stack[0, 2 * j] - shift
        out[n + 1] = s.stack[0, 2 * j + 1] - shift
        n += 2
    return n


@_entry
def _events(s: Any, f: Any, shift: Any, late: Any, out: Any, count_at: Any) -> Any:
    """The events that still count, in the order in which they come; where the words end."""
    n = count_at + 1
    live = 0
    for place in range(s.world[0].heap_count):
        slot = s.heap[place]
        e = s.events[slot]
        if e.what == k.TIMER and e.seq != f.timer:
            continue
        if e.what == k.DELACK and (e.seq != f.ack_timer or f.ack_held == 0):
            continue
        if e.what not in (k.ARRIVE, k.RECEIVE, k.ACKED, k.TIMER, k.DELACK):
            return UNKNOWN_EVENT
        if n + EVENT_WORDS > out.shape[0]:
            return TOO_LONG
        # Its place among those that are live: insertion into what is written already.
        at = live
        while at > 0:
            there = count_at + 1 + (at - 1) * EVENT_WORDS
            before = out[there : there + 1].view(np.float64)[0] + late
            if before < e.time or (before == e.time and out[there + 14] < s.orders[slot]):
                break
            for j in range(EVENT_WORDS):
                out[there + EVENT_WORDS + j] = out[there + j]
            at -= 1
        _event(e, s.blocks, slot, shift, late, out, count_at + 1 + at * EVENT_WORDS)
        out[count_at + 1 + at * EVENT_WORDS + 14] = s.orders[slot]
        live += 1
        n += EVENT_WORDS
    for j in range(live):
        out[count_at + 1 + j * EVENT_WORDS + 14] = j
    out[count_at] = live
    return n


@_entry
def _event(e: Any, blocks: Any, slot: Any, shift: Any, late: Any, out: Any, n: Any) -> None:
    times = out[n : n + 2].view(np.float64)
    times[0] = e.time - late
    for j in range(1, EVENT_WORDS):
        out[n + j] = 0
    what = np.int64(e.what)
    out[n + 2] = what
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
def unpack(s: Any, state: Any) -> None:
    """Make of words the state that they say."""
    w = s.world[0]
    for j in range(FLOW_WORDS):
        s.words[0, j] = state[j]
    f = s.flows[0]
    n = FLOW_WORDS
    s.sacked[:] = 0
    s.received[:] = 0
    mask = s.sacked.shape[1] - 1
    run = 0
    for j in range(63):
        if (state[n] >> j) & 1:
            s.sacked[0, (f.una + j) & mask] = 1
        if (state[n + 1] >> j) & 1:
            run += 1
            s.received[0, (f.rcv_next + j) & mask] = 1
        elif run:
            s.received[0, (f.rcv_next + j - 1) & mask] = run
            s.received[0, (f.rcv_next + j - run) & mask] = run
            run = 0
    n += 2
    for j in range(f.stack_count):
        s.stack[0, 2 * j] = state[n]
        s.stack[0, 2 * j + 1] = state[n + 1]
        n += 2
    first = s.links.shape[0]
    live = _put_events(s, state, n)
    size = s.events.shape[0]
    w.free_event = first + live
    w.free_count = size - first - live
    w.heap_count = live
    w.order = live
    w.now = NOW
    w.out_count = 0
    w.out_head = 0
    w.send = 0
    w.scanned = 0
    for j in range(s.links.shape[0]):
        line = s.links[j]
        line.arrived = 0
        line.dropped = 0
        line.accepted = 0
        line.left = 0
        line.free_at = 0.0
        line.woke = 0.0
    s.counts[:] = 0


@_entry
def _put_events(s: Any, state: Any, n: Any) -> Any:
    """Put the events of a state behind those of the links; how many."""
    live = state[n]
    n += 1
    first = s.links.shape[0]
    for j in range(live):
        slot = first + j
        e = s.events[slot]
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
        s.orders[slot] = j
        if s.blocks.shape[0] > 1:
            for i in range(6):
                s.blocks[slot, i] = state[n + 8 + i]
        s.heap[j] = slot
        n += EVENT_WORDS
    size = s.events.shape[0]
    for slot in range(first + live, size):
        s.events[slot].what = k.FREE
        s.events[slot].next = slot + 1 if slot + 1 < size else -1
    return live


@_entry
def postpone(s: Any, by: Any) -> None:
    """Let the same state stand at another time: what follows must be the same."""
    s.world[0].now += by
    f = s.flows[0]
    f.deadline += by
    f.due += by
    if f.timing:
        f.timed_at += by
    if f.ack_held:
        f.held_sent += by
    if f.timestamps:
        f.echo += by
    for j in range(s.world[0].heap_count):
        s.events[s.links.shape[0] + j].time += by
        s.events[s.links.shape[0] + j].sent += by


@_entry
def instant(s: Any, state: Any) -> Any:
    """Put a state in and run all events of its next instant; the instant's time, NaN if the loop came back early."""
    unpack(s, state)
    time = s.events[s.heap[0]].time
    status = loop.advance(s.world, np.nextafter(time, np.inf), 100_000)
    s.world[0].now = time  # the loop leaves it at where it was to stop
    return time if status == k.DONE else np.nan


@_entry
def branch(s: Any, rules: Any, state: Any, first: Any, out: Any) -> Any:
    """Every pattern of losses from a state to the next node, from pattern `first` on as far as `out` has rows.

    The patterns are in the order of `itertools.product((False, True), ...)` over the packets of the instant (data
    first; True: lost). The number of patterns done; below 0: why not.
    """
    s.drops[:, 4] = -2
    instant(s, state)
    data = s.links[0].arrived
    acks = s.links[1].arrived if rules.ack_loss else 0
    new = s.counts[0, k.ARRIVED_KIND + k.NEW]
    f = s.flows[0]
    out.facts[DATA] = data
    out.facts[ACKS] = acks
    out.facts[NEW] = new
    out.facts[AGAIN] = data - new
    out.facts[FLIGHT] = f.top - f.una
    out.facts[BACKOFF] = f.backoff
    out.windows[0] = f.cwnd
    out.windows[1] = f.ssthresh
    packets = data + acks
    if packets > s.drops.shape[0]:
        return 0
    last = min(1 << packets, first + out.nodes.shape[0])
    for pattern in range(first, last):
        lost = _lose(s, pattern, data, packets)
        code = _follow(s, rules, state, pattern - first, (data, acks, lost), out)
        if code < 0:
            return code
    return last - first


@_entry
def _lose(s: Any, pattern: Any, data: Any, packets: Any) -> Any:
    """Set the drops of the next instant to a pattern; the number of packets."""
    s.drops[:, 4] = -2
    lost = 0
    for j in range(packets):
        if (pattern >> (packets - 1 - j)) & 1:
            s.drops[lost, 0] = k.BY_PACKET
            s.drops[lost, 1] = -1
            s.drops[lost, 2] = j if j < data else j - data
            s.drops[lost, 3] = 0
            s.drops[lost, 4] = 0 if j < data else 1
            lost += 1
    return lost


@_entry
def _follow(s: Any, rules: Any, state: Any, i: Any, expected: Any, out: Any) -> Any:
    """Follow one pattern to the next instant at which packets may be lost, into row `i`; below 0: an error code."""
    data, acks, lost = expected
    numbers = out.numbers[i]
    if not instant(s, state) >= 0.0:
        return LOOP_STOPPED
    if s.links[0].arrived != data or (rules.ack_loss and s.links[1].arrived != acks):
        return OTHER_PACKETS
    numbers[LOST_NEW] = s.counts[0, k.DROPPED_KIND + k.NEW]
    numbers[LOST_AGAIN] = 0
    for kind in range(k.NEW + 1, 4):
        numbers[LOST_AGAIN] += s.counts[0, k.DROPPED_KIND + kind]
    numbers[LOST_ACKS] = s.counts[0, k.ACKS_DROPPED]
    if numbers[LOST_NEW] + numbers[LOST_AGAIN] + numbers[LOST_ACKS] != lost:
        return OTHER_LOSSES
    numbers[DELIVERED] = s.counts[0, k.GOODPUT]
    numbers[TIMEOUTS] = 0
    out.waited[i] = 0.0
    s.drops[:, 4] = -2
    for _ in range(rules.patience + 1):
        n = pack(s, rules, out.nodes[i])
        if n < 0:
            return n
        numbers[WORDS] = n
        time = instant(s, out.nodes[i])
        if not time >= 0.0:
            return LOOP_STOPPED
        out.waited[i] += time - NOW
        numbers[TIMEOUTS] += s.counts[0, k.TIMEOUTS]
        if s.links[0].arrived or (rules.ack_loss and s.links[1].arrived):
            return 0
        numbers[DELIVERED] += s.counts[0, k.GOODPUT]
    return NO_PACKET
