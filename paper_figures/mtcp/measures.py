"""Numbers of one run, from what `simulate` gives."""

from __future__ import annotations

import numpy as np
import xarray as xr

#: Links over which data leaves by each of the two routes.
_FIRST_HOPS = ("a1->a2", "b1->b2")
#: A route that carries nothing for so long waits for its timer [s].
SILENCE = 0.2
NEVER = float("nan")


def throughput(result: xr.Dataset) -> float:
    """Of a transfer of 2000 segments of 1000 bytes [Mbit/s]; ns-2, which says no end, ends with what is sent last."""
    if "completion_time" in result:
        return 16.0 / float(result.completion_time.values[0])
    return 16.0 / float(result.send_time.values.max())


def needless(result: xr.Dataset) -> float:
    """Segments that arrive again, of 1000 that arrive."""
    return 1000.0 * float(result.duplicates.values[0]) / float(result.delivered.values[0])


def acks(result: xr.Dataset) -> float:
    """Acknowledgements sent for each segment that arrives."""
    return float(result.acks_sent.values[0]) / float(result.delivered.values[0])


def timeouts(result: xr.Dataset) -> float:
    """Of the flow, in the whole run."""
    return float(result.timeouts.values[0])


def sent_at_5s(result: xr.Dataset) -> float:
    """Different segments sent in the first 5 s."""
    early = result.send_segment.values[result.send_time.values <= 5.0]
    return float(early.max() + 1)


def least_window(result: xr.Dataset) -> float:
    """Of the windows of a transfer with a timeout [packet]."""
    return float(result.window_cwnd.values.min()) if timeouts(result) else NEVER


def outstanding(result: xr.Dataset) -> float:
    """Most segments sent and not yet acknowledged."""
    return float(result.window_flight.values.max())


def silences(result: xr.Dataset) -> list[int]:
    """Packets that one route carries while the other waits for its timer, for each such wait.

    Where both are silent at a time, the one that was silent first waits for its timer, the other for it.
    """
    names = result.link.values.tolist()
    links = [names.index(name) for name in _FIRST_HOPS]
    times = [result.queue_time.values[result.queue_link.values == link] for link in links]
    if min(map(len, times)) < 2:
        return []
    waits = []
    for route in (0, 1):
        route_times = np.unique(times[route])
        waits += [(route_times[i], route_times[i + 1], route) for i in np.flatnonzero(np.diff(route_times) >= SILENCE)]
    counts: list[int] = []
    until = -1.0
    for begin, end, route in sorted(waits):
        if begin < until:
            continue
        until = end
        other = times[1 - route]
        counts.append(int(((other > begin) & (other < end)).sum()))
    return counts


def beside_silence(result: xr.Dataset) -> float:
    """Packets over the other route, the mean of the waits of a run; NaN of a run without any."""
    counts = silences(result)
    return float(np.mean(counts)) if counts else NEVER


def silences_beside(result: xr.Dataset) -> float:
    """Share of the waits in which the other route carries a packet at all."""
    counts = silences(result)
    return float(np.mean(np.array(counts) > 0)) if counts else NEVER


def one_way_error(result: xr.Dataset) -> float:
    """Largest error of an estimate of a one-way time over the true one, of routes that are measured."""
    there, back = true_times(result)
    errors = np.concatenate(
        [np.abs(result.route_time_there.values[0] / there - 1.0), np.abs(result.route_time_back.values[0] / back - 1.0)]
    )
    return float(np.nanmax(errors))


def true_times(result: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """One-way times [s] of each route, there and back, without queues; the network of `estimator.toml`."""
    import json

    delays = [float(link["delay"]) for link in json.loads(result.attrs["scenario"])["links"]]
    data, ack = 2 * 8 * 1000 / 1e9, 2 * 8 * 40 / 1e9  # each way is of two links
    return np.array([delays[1], delays[4]]) + data, np.array([delays[2], delays[5]]) + ack


def taken_for_lost(result: xr.Dataset) -> float:
    """Fast retransmits for each 1000 segments."""
    return 1000.0 * float(result.fast_recoveries.values[0]) / float(result.goodput.values[0])


def over_reno(result: xr.Dataset) -> float:
    """Goodput of the first flow over that of the two others together."""
    goodput = result.goodput.values
    return float(goodput[0]) / float(goodput[1] + goodput[2])
