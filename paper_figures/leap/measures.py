"""Measures of runs of the paper: of counters, and of what was written down of each packet."""

from __future__ import annotations

import numpy as np

from tcpdynamics.later import xr

#: Segments of a transfer, and its advertised window.
SEGMENTS = 100
WINDOW = 100
#: Least time of a segment on its way over two links [s].
LEAST_WAY = 0.1
#: Least retransmission timeout [s].
LEAST_TIMEOUT = 1.0
#: Index among the kinds of transmission: a repeat that neither a timer nor duplicates caused, and an acknowledgement.
REPEAT, ACK = 3, 4
#: A transfer is aborted when a segment has been sent again so often (section 5.2).
MOST_REPEATS = 12
#: More than the seconds of a run, and than the segments of a transfer.
_LONGER, _MORE = 4096.0, 128


def finished(result: xr.Dataset) -> float:
    """Finished over generated transfers."""
    return float(_done(result).sum() / _generated(result))


def duplicates(result: xr.Dataset) -> float:
    """Segments that a finished transfer receives once more."""
    return float(result.duplicates.values[_done(result)].mean())


def received(result: xr.Dataset) -> float:
    """Segments that a finished transfer receives, those received once more included."""
    return SEGMENTS + duplicates(result)


def sent(result: xr.Dataset) -> float:
    """Segments that are sent for a finished transfer; a handshake counts where it is sent again."""
    return SEGMENTS + float((result.sent - result.goodput).values[_done(result)].mean())


def time(result: xr.Dataset) -> float:
    """Mean time that a finished transfer takes [s]."""
    return float(result.completion_time.values[_done(result)].mean())


def loss_rate(result: xr.Dataset) -> float:
    """Loss rate of data."""
    return float(result.loss_rate)


def ack_over_data(result: xr.Dataset) -> float:
    """Loss rate of acknowledgements over that of data; acknowledgements lost at any link over all that were sent."""
    return float(result.acks_dropped.sum() / result.acks_sent.sum() / (result.dropped.sum() / result.sent.sum()))


def leaps_right(result: xr.Dataset) -> float:
    """Share of leaps after which the first acknowledgement was no duplicate; none without LEAP."""
    return float(result.leaps_right.sum() / result.leaps.sum()) if "leaps" in result else float("nan")


def early(result: xr.Dataset) -> float:
    """Share of leaps after which the first acknowledgement was of a segment that had been sent before."""
    leaps = float(result.leaps.sum())
    return float(result.leaps_early.sum()) / leaps if leaps else float("nan")


def plain(result: xr.Dataset) -> float:
    """Mean goodput of a flow of the first group [packets], which is without LEAP unless all leap."""
    return float(result.goodput.values[result.group.values == 0].mean())


def every(result: xr.Dataset) -> float:
    """Mean goodput of a flow [packets]."""
    return float(result.goodput.mean())


def all_duplicates(result: xr.Dataset) -> float:
    """Segments received once more, over different ones received, all transfers together."""
    return float(result.duplicates.sum() / result.goodput.sum())


def ack_caused(result: xr.Dataset) -> float:
    """Share of duplicates that were sent because an acknowledgement of the segment was lost.

    That is one which was lost after the receiver had all data up to the segment, and before the segment was sent again.
    """
    flow, segment, at = _repeated(result)
    had = _complete(result)[flow, segment]
    again = _last_send(result, flow, segment, at)
    lost = result.drop_kind.values == ACK
    losses = np.sort(result.drop_flow.values[lost] * _LONGER + result.drop_time.values[lost])
    after, before = (np.searchsorted(losses, flow * _LONGER + t) for t in (np.minimum(had, again), again))
    return float((before > after).mean()) if flow.size else float("nan")


def left_by_leap(result: xr.Dataset) -> float:
    """Share of duplicates that are leap segments, a handshake, or the last segment of a transfer (PUSH, FIN)."""
    flow, segment, _ = _repeated(result)
    last = int(result.goodput.max()) - 1
    special = (segment == last) | (segment == 0) & (last == SEGMENTS)
    leapt = np.isin(flow * _MORE + segment, _leap_segments(result))
    return float((special | leapt).mean()) if flow.size else float("nan")


def left_by_aborts(result: xr.Dataset) -> float:
    """Finished transfers, those that would have been aborted counted as not finished, over all finished ones."""
    return float((_done(result) & ~_aborted(result)).sum() / _done(result).sum())


def window(result: xr.Dataset) -> float:
    """Mean congestion window of transfers in progress [packets]."""
    return float(_windows(result).mean())


def below_advertised(result: xr.Dataset) -> float:
    """Share of time in which the congestion window of transfers in progress is below the advertised one."""
    return float((_windows(result) < WINDOW).mean())


def _done(result: xr.Dataset) -> np.ndarray:
    done: np.ndarray = np.isfinite(result.finish.values)
    return done


def _generated(result: xr.Dataset) -> int:
    return int(np.isfinite(result.start.values).sum())


def _first(result: xr.Dataset) -> np.ndarray:
    """Whether a segment was received for the first time, of each that was received; they are in the order of time."""
    key = result.receive_flow.values * _MORE + result.receive_segment.values
    first = np.zeros(key.size, bool)
    first[np.unique(key, return_index=True)[1]] = True
    return first


def _complete(result: xr.Dataset) -> np.ndarray:
    """(flow, segment) time at which the receiver had all segments up to this one; infinite if never."""
    table, first = np.full((result.sizes["flow"], _MORE), np.inf), _first(result)
    table[result.receive_flow.values[first], result.receive_segment.values[first]] = result.receive_time.values[first]
    complete: np.ndarray = np.maximum.accumulate(table, axis=1)
    return complete


def _repeated(result: xr.Dataset) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Flow, segment and time of each segment that was received once more."""
    again = ~_first(result)
    return result.receive_flow.values[again], result.receive_segment.values[again], result.receive_time.values[again]


def _last_send(result: xr.Dataset, flow: np.ndarray, segment: np.ndarray, at: np.ndarray) -> np.ndarray:
    """When a segment that was received at a time had been sent: last, but before the least time of its way."""
    sends = np.sort((result.send_flow.values * _MORE + result.send_segment.values) * _LONGER + result.send_time.values)
    key = (flow * _MORE + segment) * _LONGER
    when: np.ndarray = sends[np.searchsorted(sends, key + at - LEAST_WAY) - 1] - key
    return when


def _leap_segments(result: xr.Dataset) -> np.ndarray:
    """Flow and segment, in one number, of leap segments that were not at once acknowledged with all before them.

    A leap segment is new, and goes a timeout after what went before. What goes next is the leap segment again, or an
    earlier one, for which an acknowledgement asked.
    """
    flow, at = result.send_flow.values, result.send_time.values
    order = np.lexsort((at, flow))  # stable: sends of one moment stay in their order
    flow, at, segment, kind = (x[order] for x in (flow, at, result.send_segment.values, result.send_kind.values))
    key = flow * _MORE + segment
    new = np.zeros(key.size, bool)
    new[np.unique(key, return_index=True)[1]] = True
    step = np.where(np.diff(flow) == 0, np.diff(segment), 1)
    silent = np.append(False, (np.diff(flow) == 0) & (np.diff(at) >= LEAST_TIMEOUT))
    repeats = np.append((step == 0) | (step < 0) & (kind[1:] == REPEAT), False)
    leapt: np.ndarray = key[new & silent & repeats]
    return leapt


def _aborted(result: xr.Dataset) -> np.ndarray:
    """Whether a segment of a flow was sent again so often that the connection would have been aborted."""
    key, count = np.unique(result.send_flow.values * _MORE + result.send_segment.values, return_counts=True)
    aborted = np.zeros(result.sizes["flow"], bool)
    aborted[key[count > MOST_REPEATS] // _MORE] = True
    return aborted


def _windows(result: xr.Dataset) -> np.ndarray:
    """Congestion windows of transfers in progress, all samples."""
    at, flow = result.window_time.values, result.window_flow.values
    finish = np.nan_to_num(result.finish.values, nan=np.inf)
    going = (result.start.values[flow] <= at) & (at < finish[flow])
    windows: np.ndarray = result.window_cwnd.values[going]
    return windows
