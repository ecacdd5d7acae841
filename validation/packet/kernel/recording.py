"""What is counted and written down: epochs, traces, samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import records as k
from . import views as at
from .jit import called, inlined

#: A number of a discipline's state.
_number = at.part_of("state", np.dtype([("value", np.float64)]))
_router_number = at.part_of("router", np.dtype([("value", np.float64)]))


@called
def trace(w: Any, what: Any, time: Any, i: Any, seq: Any, kind: Any, link: Any) -> None:
    """One row of the packet trace; the caller has asked whether `what` is wanted."""
    at.trace_time(w)[w.trace_count] = time
    n = w.trace_count
    at.trace_what(w)[n, k.TRACE_WHAT] = what
    at.trace_what(w)[n, k.TRACE_FLOW] = i
    at.trace_what(w)[n, k.TRACE_SEQ] = seq
    at.trace_what(w)[n, k.TRACE_KIND] = kind
    at.trace_what(w)[n, k.TRACE_LINK] = link
    w.trace_count += 1


@inlined
def record_send(w: Any, f: Any, i: Any, seq: Any, kind: Any) -> None:
    """Count one transmission, in its epoch and in the trace."""
    at.counts(w)[i, k.SENT] += 1
    at.counts(w)[i, k.SENT_KIND + kind] += 1
    f.last_sent = w.now
    if f.epoch > 0.0:
        if w.now >= f.epoch_end:
            index = np.int64((w.now - w.measure_from) / f.epoch)
            if index != f.epoch_index:
                close_epoch(w, f, i, index)
            # A little early, so that rounding cannot skip the look above.
            f.epoch_end = w.measure_from + (index + 1) * f.epoch * (1.0 - 1e-12)
        f.epoch_count += 1
    if w.tracing & k.SENDS:
        trace(w, k.SENDS, w.now, i, seq, kind, -1)


@inlined
def close_epoch(w: Any, f: Any, i: Any, index: Any) -> None:
    """Write down the epoch just left and the silent ones between it and epoch `index`."""
    silent = index - f.epoch_index - 1
    if f.epoch_index >= 0:
        at.epochs(w)[i, min(f.epoch_count, at.epochs(w).shape[1] - 1)] += 1
        if silent > 0:  # a silence is counted once it is over, between two epochs with packets
            at.silences(w)[min(silent, w.n_silences - 1), i] += 1
    at.epochs(w)[i, 0] += silent
    f.epoch_index = index
    f.epoch_count = 0


@called
def ahead_of_edge(w: Any, e: Any, link: Any, arrival: Any, start: Any, tx: Any) -> None:
    """Note what of a packet's passage over a link, which has just been counted, comes after the end of this part.

    It arrives at `arrival`, is sent from `start` on and takes `tx`. A part of the run is closed with what was counted
    until then less what is noted here, so that each packet counts in the part in which it really passes.
    """
    for m in range(w.part, k.EDGES):
        edge = at.edges(w)[m]
        if start + tx < edge:
            return  # the edges that follow are later still
        if arrival >= edge:
            at.ahead_links(w)[link, m, k.AHEAD_ARRIVED] += 1.0
            if at.hop(w, e.hop).first:
                at.ahead_flows(w)[e.flow, m, k.AHEAD_FLOW_ARRIVED] += 1
                at.ahead_flows(w)[e.flow, m, k.AHEAD_KIND + e.kind] += 1
        at.ahead_links(w)[link, m, k.AHEAD_WORK] += start + tx - max(start, edge)
        at.ahead_links(w)[link, m, k.AHEAD_WAIT] += max(start - max(arrival, edge), 0.0)


@called
def answer_ahead_of_edge(w: Any, i: Any, receipt: Any) -> None:
    """The same of an acknowledgement that is counted before its segment is received, at `receipt`."""
    for m in range(w.part, k.EDGES):
        if receipt >= at.edges(w)[m]:
            at.ahead_flows(w)[i, m, k.AHEAD_ACKS_SENT] += 1


@called
def sample_window(w: Any, f: Any, i: Any, rto: Any) -> None:
    """One row about a sender: time, flow, cwnd, ssthresh, last RTT, smoothed RTT, RTO, flight, state."""
    n = w.window_count
    at.windows(w)[n, 0] = w.now
    at.windows(w)[n, 1] = i
    at.windows(w)[n, 2] = f.cwnd
    at.windows(w)[n, 3] = f.ssthresh
    at.windows(w)[n, 4] = f.rtt
    at.windows(w)[n, 5] = f.srtt
    at.windows(w)[n, 6] = rto
    at.windows(w)[n, 7] = f.top - f.una
    state = 0 if f.cwnd < f.ssthresh else 1
    if f.recovery:
        state = 2
    elif f.action == k.AFTER_TIMEOUT and f.after_timeout:
        state = 3
    at.windows(w)[n, 8] = state
    w.window_count += 1


@inlined
def sample_change(w: Any, f: Any, i: Any, rto: Any) -> None:
    """The row about a sender that has just acted, where each change is written down."""
    if w.sampling == 1:
        sample_window(w, f, i, rto)


@inlined
def reason_to_stop(w: Any) -> Any:
    """Why the caller must act before the next event: a tie is undecided, or an array is too small; 0: no reason."""
    if w.undecided and w.keyed:
        return k.UNDECIDED
    if w.tracing & k.TRACED and w.n_trace - w.trace_count < w.trace_margin + w.n_events - w.free_count:
        return k.GROW_TRACE
    if w.sampling and w.n_windows - w.window_count < w.n_flows + 1:
        return k.GROW_WINDOWS
    if w.queueing and w.n_queues - w.queue_count < w.n_links + 2 * w.margin:
        return k.GROW_QUEUES
    if w.connecting and w.n_connections - w.connection_count < 2:
        return k.GROW_CONNECTIONS
    return 0


@called
def sample_queue(w: Any, link: Any) -> None:
    """One row about a link: time, link, packets and bytes held without the one being sent, its discipline's state."""
    n = w.queue_count
    line = at.link(w, link)
    at.queues(w)[n, 0] = w.now
    at.queues(w)[n, 1] = link
    at.queues(w)[n, 2] = line.waiting
    at.queues(w)[n, 3] = line.waiting_bytes
    if line.discipline:
        for column in range(k.OF_DISCIPLINE, k.OF_ROUTER):
            at.queues(w)[n, column] = _number(w, line, column - k.OF_DISCIPLINE).value
    if line.on_data:
        for column in range(k.OF_ROUTER, k.QUEUE_COLUMNS):
            at.queues(w)[n, column] = _router_number(w, line, column - k.OF_ROUTER).value
    w.queue_count += 1
