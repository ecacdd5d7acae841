"""Everything that a run remembers: names of numbers, records, arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

# Why the loop came back.
DONE, PAUSED, GROW_EVENTS, GROW_TRACE, GROW_WINDOWS, GROW_QUEUES, BROKEN, GROW_CONNECTIONS, UNDECIDED = range(9)

# Kinds of event. ARRIVE: a packet at the queue of its hop; RECEIVE: a segment at its receiver; ACKED: an
# acknowledgement at its sender; SERVE: the end of a transmission on a served link; WAITING: a packet in the list of a
# served link, which is no event; ROUTE: the end of a router's interval.
(
    ARRIVE, RECEIVE, ACKED, SERVE, TIMER, START, STOP, DELACK, HELD_BACK, TICK, SAMPLE_WINDOWS, SAMPLE_QUEUES, WAITING,
    ROUTE,
) = range(14)  # fmt: skip

#: `what` of a slot that is in the pool.
FREE = -1

# Kinds of packet: four of data, by why it was sent, and acknowledgements.
NEW, FAST, TIMEOUT, REPEAT, ACK = range(5)
KINDS = ("new", "fast_retransmission", "timeout_retransmission", "other_repeat")

# Senders. The receivers of those from CBR on acknowledge nothing, or in a way of their own.
TAHOE, RENO, NEWRENO, SACK, CBR, POISSON, TFRC, MTCP = range(8)
SENDERS = ("tahoe", "reno", "newreno", "sack", "cbr", "poisson", "tfrc", "mtcp")
DUP_THRESH = 3

# What a sender last did to its window (the names that ns-2 gives them).
NO_ACTION, AFTER_DUPACK, AFTER_TIMEOUT, AFTER_EXIT, AFTER_MARK = range(5)

# Random streams: one per (seed, purpose, flow or link). The numbers are part of what a seed means: append, never
# renumber.
STARTING, JITTER, LOSS, CLOCK, HOLDING, GAPS, ENDS, SIZES, QUEUEING, THINKING, CHANNEL, MEASURING = range(12)

# Columns of `counts`.
SENT, ARRIVED, DROPPED, RECEIVED, ACKS_SENT, ACKS_DROPPED, ACKS_BACK, TIMEOUTS, RECOVERIES, SAMPLES, TIMED = range(11)
SENT_KIND, ARRIVED_KIND, DROPPED_KIND = 11, 15, 19
DELIVERED, GOODPUT = 23, 24  # of packets received inside the measured part only
HANDSHAKES = 25  # of GOODPUT, which have the size of an acknowledgement
LEAPS, LEAPS_RIGHT, LEAPS_EARLY = 26, 27, 28  # see `senders.leap`
COUNTS = 29

# Parts of a run end at these edges (the middle of the warm-up, its end, the end of the run), and what is counted
# ahead of time is noted per edge; columns of `ahead_links` and `ahead_flows`.
EDGES = 3
AHEAD_ARRIVED, AHEAD_WORK, AHEAD_WAIT = range(3)
AHEAD_LINKS = 3
AHEAD_ACKS_SENT, AHEAD_FLOW_ARRIVED, AHEAD_KIND = 0, 1, 2
AHEAD_FLOWS = 6

#: An arrival and a departure so close, in sending times, are a tie.
TIE = 0.001

# Columns of `sums`.
RTT_SUM, FIRST_RTO_SUM, FIRST_SILENCE_SUM = range(3)
SUMS = 3

#: Bins of waiting times: those of an octave, the shortest wait that counts as one [s], all.
WAIT_PARTS, SHORTEST, WAITS = 32, 2.0**-20, 1 + 32 * 32

RULE = 6  # addresses of a window rule, and 1 for a rule of the user's
#: Columns of a queue's sample: time, link, packets, bytes, and up to 4 numbers of its discipline and of its router.
QUEUE_COLUMNS = 12
OF_DISCIPLINE, OF_ROUTER = 4, 8

LEVELS = 17  # back-off exponents 0..16 of expiring timers

# What the trace holds, as bits; columns of its rows.
SENDS, RECEIVES, DROPS = 1, 2, 4
TRACED = SENDS | RECEIVES | DROPS
#: The same bits ask for a look at each receipt by users (`users.py`).
USERS = 8
TRACE_WHAT, TRACE_FLOW, TRACE_SEQ, TRACE_KIND, TRACE_LINK = range(5)

# Kinds of chosen drop.
BY_SEGMENT, BY_ACK, BY_PACKET = range(3)

# What a sender wants done at the end of its turn: nothing, send what the window allows, fill the pipe.
NOTHING, SEND, FILL = range(3)

# Marks of packets. Of ECN (RFC 3168): ECT, the packet may be marked; CE, it is; ECE, an acknowledgement echoes that;
# CWR, the sender has answered.
AFTER_END, DELAYED, ECT, CE, ECE, CWR = 1, 2, 4, 8, 16, 32
#: A router has written a window into this acknowledgement (`routers`).
WINDOW_WRITTEN = 64

# `ecn` of a flow whose receiver echoes each mark (RFC 8257), not until the sender has answered (1; RFC 3168); 0: none.
EACH = 2

UNLIMITED = 1 << 62

#: Slots that must be free before a packet is sent: one for it, the rest for timers that its turn sets.
LEAST_FREE = 8


def _fields(kind: Any, names: str) -> list[tuple[str, Any]]:
    return [(name, kind) for name in names.split()]


#: Arrays of a run other than `world`, which says where they are.
ARRAYS = (
    "flows links hops events blocks buckets heap orders sacked received stack queue_time queue_size out_seq out_kind "
    "rules counts sums levels epochs silences slices drops copies trace_time trace_what windows queues edges "
    "ahead_links ahead_flows queue_hooks queue_state paced_hooks paced_state webs users connections fresh headers waits"
).split()

WORLD = np.dtype(
    [
        *_fields(np.int64, "bucket mask free_event free_count margin order heap_count heap"),
        *_fields(np.int64, "exact drops tracing trace_count trace_margin broken out_count out_head out_flow part"),
        # are ties decided by `since`, see `calendar`; could one not be
        *_fields(np.int64, "keyed undecided"),
        *_fields(np.int64, "watch sampling window_count queueing queue_count send send_most send_kind forced scanned"),
        # connections that begin again: hooks' addresses, rows written
        *_fields(np.int64, "on_begin on_finish on_receipt connecting connection_count"),
        # addresses of LEAP's hooks
        *_fields(np.int64, "leap_on_timeout leap_on_ack leap_send"),
        # those of Linux's senders
        *_fields(np.int64, "linux_acknowledged linux_timed_out linux_allowed"),
        # address of what senders write for routers, 0 in a run without
        *_fields(np.int64, "routing n_headers"),
        # of the event that acts now, as in its record
        *_fields(np.float64, "since"),
        *_fields(np.float64, "now inv_width measure_from end slice window_interval queue_interval edge"),
        # where the arrays of `Sim` are, see `views`
        *_fields(
            np.int64,
            "n_flows n_links n_hops n_events n_blocks n_buckets n_heap n_orders n_stack n_queue n_out n_rules n_paced",
        ),
        *_fields(
            np.int64,
            "n_disciplines n_ring n_counts n_silences n_slices n_drops n_copies copies_ring n_trace n_windows n_queues",
        ),
        *_fields(np.int64, "n_webs n_users n_connections n_fresh"),
        *((f"at_{name}", np.int64) for name in ARRAYS),
    ]
)

EVENT = np.dtype(
    [
        # `since`: when it would have been scheduled, were each transmission's end an event; negative where it was not
        # scheduled then, so that its place among events of the same two times is unknown
        *_fields(np.float64, "time sent since"),
        *_fields(np.int64, "seq ack"),
        *_fields(np.int32, "next flow hop length on"),
        *_fields(np.int8, "what kind mark blocks"),
    ],
    align=True,
)

LINK = np.dtype(
    [
        # what it was given; the ring of an analytic link is queue_time[first : first + capacity]
        *_fields(np.int64, "limit limit_bytes first capacity served keyed discipline number"),
        *_fields(np.float64, "rate loss"),
        # address of the hook of a link whose rate and delay change, 0 without, see `changes`
        *_fields(np.int64, "departs"),
        # what it remembers
        *_fields(np.int64, "waiting waiting_bytes head busy list_head list_tail serve_event"),
        *_fields(np.int64, "arrived dropped evicted marked accepted left met tied"),
        # the discipline's own: where its state and its sub-queues are in `queue_state` [byte], how many of these
        *_fields(np.int64, "state lanes n_lanes"),
        *_fields(np.uint64, "key draws"),
        *_fields(np.float64, "free_at changed wait_sum work_sum woke"),
        # of an analytic link: when the packet being sent began to be, and when the last that was accepted will
        *_fields(np.float64, "began latest"),
        # of losses that are not alike for all packets, where `loss` is below 0, see `losses.by_chance`
        *_fields(np.int64, "channel ack_channel"),
        # of a rate and a delay that change: where the state and the table are in `queue_state`; when the packet that
        # has just begun to be sent will be at the link's end
        *_fields(np.int64, "course table"),
        *_fields(np.float64, "arrival"),
        # of routers: hooks' addresses, 0 without; the link whose router the acknowledgements that pass here belong to;
        # where state, groups and members are in `queue_state`
        *_fields(np.int64, "on_data on_ack on_interval answers router router_groups router_members"),
        # of a link that measures for flows: where records and estimates are in `queue_state`, see `meters`
        *_fields(np.int64, "meters estimates"),
    ]
)

HOP = np.dtype(
    [
        *_fields(np.int64, "link length"),
        # `leads`: what a packet is after it, ARRIVE at the next hop, RECEIVE or ACKED; `first` of a way there
        *_fields(np.int32, "through overtakes leads first"),
        *_fields(np.float64, "delay tx jitter last"),
    ]
)

#: The record of a flow. A congestion-control rule sees all of it; what rules are meant to use comes first, and
#: docs/your_own_congestion_control.md describes it.
FLOW = np.dtype(
    [
        *_fields(np.float64, "cwnd ssthresh rtt min_rtt srtt"),
        *_fields(np.int64, "flight window packet_size marked"),
        # what every acknowledgement touches, side by side in memory
        *_fields(np.int64, "una next top limit dupacks recovery inflation partial ecn leaping"),
        *_fields(np.int64, "book algorithm rule timing timed_seq backoff action after_timeout"),
        *_fields(np.float64, "set_at timed_at base_rto min_rto max_rto least_rto tick deadline due phase since"),
        *_fields(np.float64, "est dev access back_access epoch epoch_end last_sent overhead"),
        *_fields(np.int64, "rcv_next rcv_max acked_next acks fused sack timestamps epoch_index"),
        *_fields(np.int64, "epoch_count ack_size forward_hop forward_end back_hop back_end handshake last_una"),
        # SACK and recovery
        *_fields(np.int64, "recover pipe scan high_rxt sack_min sack_total sack_changed stack_count"),
        *_fields(np.int64, "sack_max sack_second sack_third rxt_sacked run_left run_right"),
        # what a rule is given, and its own
        *_fields(np.float64, "p0 p1 p2 p3 p4 p5 p6 p7 x0 x1 x2 x3 x4 x5 x6 x7"),
        # the rest
        *_fields(np.int64, "iw limited max_backoff clear_after held_back timer echo_rounded backoff_to_max"),
        *_fields(np.int64, "ack_held ack_timer held_seq held_kind limited_sent"),
        # of windows in whole segments: acknowledged ones that have not yet made one more; numbers of CUBIC's; the tick
        # when its growth began, later by times between sends in which nothing was under way
        *_fields(np.int64, "credit"),
        *_fields(np.float64, "x8 x9 begun"),
        # marks: does the flow want them, does its receiver echo one, has its sender answered, for which window
        *_fields(np.int64, "echoes_mark answered answered_until"),
        # ns-2's form of them: what held packets carried, is ECN agreed on, was the window one segment at the last mark
        *_fields(np.int64, "ecn_as_ns2 held_marks ecn_agreed ecn_backoff"),
        # LEAP: is it on; the paper's variables; is the leap segment to be sent in this turn
        *_fields(np.int64, "leap leap_flg leap_seqno leap_due"),
        # the receiver's advertised window, which `window` falls below where routers say so; 0: the flow ignores them
        *_fields(np.int64, "priority advertised"),
        # of a sender in `paced`: its row of hooks, and where in `paced_state` its state, lanes and ring are [byte];
        # senders by Linux's rules have state and ring, too
        *_fields(np.int64, "paced paced_state paced_lanes paced_ring n_lanes n_ring"),
        # the way of the next packet: that of all, or what a sender with several routes has chosen for this one
        *_fields(np.int64, "out_hop"),
        *_fields(np.float64, "out_access"),
        *_fields(np.float64, "echo after delack interval held_sent start stop finish"),
        *_fields(np.uint64, "jitter_key jitter_draws loss_key loss_draws hold_key hold_draws gap_key gap_draws"),
    ]
)


#: What a flow that begins again, or belongs to a user, has beside: the mean pause [s], negative if it does not begin
#: again; whether pauses are all the same; mean and Pareto shape (0: all the same) of its sizes; random streams; the
#: user's number or -1; whether it has begun; segments of this connection and of those before.
WEB = np.dtype(
    [
        *_fields(np.float64, "think tail"),
        *_fields(np.int64, "fixed objects user begun segments done"),
        *_fields(np.uint64, "think_key think_draws size_key size_draws"),
    ]
)

#: Lengths [s] from which on hangs of a user are counted.
HANG_LENGTHS = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0)

#: A user: since when no data has come, open connections, the longest hang [s], hangs by length.
USER = np.dtype([*_fields(np.float64, "last longest"), *_fields(np.int64, "active h0 h1 h2 h3 h4 h5 h6 h7")])

#: Columns of `connections`.
CONNECTION = 4


# Interpreted, a field that NumPy's scalars have as a method would be that method.
assert not set(dir(np.void)) & {
    name for dtype in (WORLD, EVENT, LINK, HOP, FLOW, WEB, USER) for name in dtype.names or ()
}


class Sim(NamedTuple):
    """Everything that one run remembers (arrays only; N flows, M events, L links, R a power of two).

    `world`, `flows`, `links`, `hops`, `events` are records, `buckets` (buckets, 2) the heads and tails of the
    calendar's lists, `heap` the slots of the binary heap, `orders` (M,) the order in which they came. `blocks` (M,
    6): SACK blocks of the acknowledgement in an event's slot. `sacked` (N, R): the senders' scoreboards, 0 for a
    segment that was not reported, else how many from it on certainly were; `received` (N, R): what receivers hold,
    0 for nothing, at both ends of a row of segments its length; `stack` (N, 6): their recent SACK blocks.
    `queue_time`, `queue_size`: rings of analytic links, times at which waiting packets enter service. `out_seq`,
    `out_kind`: segments that a sender has decided to send now.
    `rules` (rules, RULE): addresses of compiled rules; `queue_hooks` (D, 3) those of disciplines,
    `queue_state` (bytes,) what they remember; `paced_hooks` (P, 6), `paced_state` the same of paced senders.
    `copies` (N, R): transmissions seen since a segment was first sent, `drops` (D, 5). `edges` (EDGES,): ends of the
    parts of a run [s]; `ahead_links` (L, EDGES, AHEAD_LINKS), `ahead_flows` (N, EDGES, AHEAD_FLOWS): how much of what
    is counted comes after each of them.
    `webs` (N,), `users` (U,) records of flows that begin again and of their users, `fresh` (N, words) the records of
    flows as they were before the run, `connections` (rows, 4) flow, start, finish [s] and segments of each that is
    over; one row each where there is none. `headers` (M, 2): what senders and routers write into the packet of an
    event's slot, one row where nobody does. `waits` (L, WAITS): packets that began to be sent at a link, by how long
    they had waited.
    """

    world: Any
    flows: Any
    links: Any
    hops: Any
    events: Any
    blocks: Any
    buckets: Any
    heap: Any
    orders: Any
    sacked: Any
    received: Any
    stack: Any
    queue_time: Any
    queue_size: Any
    out_seq: Any
    out_kind: Any
    rules: Any
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
    windows: Any
    queues: Any
    edges: Any
    ahead_links: Any
    ahead_flows: Any
    queue_hooks: Any
    queue_state: Any
    webs: Any
    users: Any
    connections: Any
    fresh: Any
    headers: Any
    paced_hooks: Any
    paced_state: Any
    waits: Any


def zeroed(n: int, dtype: Any) -> Any:
    """Zeroed records. Fields are items of them: as attributes, which `np.recarray` offers, they take 20 times as long.

    The interpreted kernel has attributes by views of its own. As plain words first: NumPy clears records by fields.
    """
    return np.zeros(n * dtype.itemsize, np.uint8).view(dtype) if dtype.itemsize else np.zeros(n, dtype)
