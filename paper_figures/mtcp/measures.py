"""Numbers of one run, from what `simulate` gives."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tcpdynamics.later import xr

#: Links over which data leaves by each of the two routes.
_FIRST_HOPS = ("a1->a2", "b1->b2")
#: Links by which the sender enters each route.
_ENTRIES = ("s->a1", "s->b1")
#: Kinds of packet in records.
FAST, TIMEOUT, ACK = 1, 2, 4
#: When a route goes down in `mtcp.outage` [s].
FAILURE = 3.0
#: An ACK comes to the link that may lose it so much later than it is sent, and a little more [s].
ACCESS = 0.001
#: A route that carries nothing for so long waits for its timer [s].
SILENCE = 0.2
NEVER = float("nan")


def scenario_of(result: xr.Dataset) -> dict[str, Any]:
    """What was run."""
    table: dict[str, Any] = json.loads(result.attrs["scenario"])
    return table


def throughput(result: xr.Dataset) -> float:
    """Of a whole transfer [Mbit/s]; ns-2, which says no end, ends with what is sent last."""
    flow = scenario_of(result)["flows"][0]
    megabits = 8e-6 * flow["segments"] * flow["packet_size"]
    if "completion_time" in result:
        return float(megabits / result.completion_time.values[0])
    return float(megabits / result.send_time.values.max())


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


class Sent(NamedTuple):
    """A segment sent at one time: when [s], which kind, over which routes."""

    time: float
    kind: int
    routes: tuple[int, ...]


def transmissions(result: xr.Dataset) -> dict[int, list[Sent]]:
    """Segment -> when it was sent; copies at the same time are one transmission."""
    names = result.link.values.tolist()
    entries = [names.index(name) if name in names else -1 for name in _ENTRIES]
    links = result.queue_link.values
    routes = [entries.index(link) for link in links[np.isin(links, entries)].tolist()]
    out: dict[int, list[Sent]] = {}
    rows = (result.send_time.values, result.send_segment.values, result.send_kind.values)
    for time, segment, kind, route in zip(*(row.tolist() for row in rows), routes, strict=True):
        sent = out.setdefault(segment, [])
        if sent and sent[-1].time == time:
            sent[-1] = sent[-1]._replace(routes=(*sent[-1].routes, route))
        else:
            sent.append(Sent(time, kind, (route,)))
    return out


def data_drops(result: xr.Dataset) -> dict[int, list[float]]:
    """Segment -> times at which copies of it were dropped [s]."""
    out: dict[int, list[float]] = {}
    rows = (result.drop_time.values, result.drop_segment.values, result.drop_kind.values)
    for time, segment, kind in zip(*(row.tolist() for row in rows), strict=True):
        if kind != ACK:
            out.setdefault(segment, []).append(time)
    return out


def _all_dropped(sent: list[Sent], number: int, drops: list[float]) -> bool:
    """Whether all copies of a transmission were dropped, before the next one."""
    until = sent[number + 1].time if number + 1 < len(sent) else np.inf
    return sum(sent[number].time <= time < until for time in drops) >= len(sent[number].routes)


def _share(of: list[bool]) -> float:
    return float(np.mean(of)) if of else NEVER


def first_repeat(result: xr.Dataset) -> float:
    """Of segments that were dropped and sent again by fast retransmit: share that arrive by the first repeat."""
    drops = data_drops(result)
    return _share(
        [
            not _all_dropped(sent, 1, drops[segment])
            for segment, sent in transmissions(result).items()
            if len(sent) > 1 and sent[1].kind == FAST and segment in drops and _all_dropped(sent, 0, drops[segment])
        ]
    )


def both_paths(result: xr.Dataset) -> float:
    """Share of fast retransmissions that go over both routes at once."""
    fast = [one for sent in transmissions(result).values() for one in sent if one.kind == FAST]
    return _share([len(one.routes) > 1 for one in fast])


def needless_repeats(result: xr.Dataset) -> float:
    """Repeats of segments of which an earlier copy was not dropped, for each 1000 segments."""
    drops = data_drops(result)
    every = transmissions(result)
    count = 0
    for segment, sent in every.items():
        for number, one in enumerate(sent[1:], 1):
            copies = sum(len(earlier.routes) for earlier in sent[:number])
            count += copies > sum(time < one.time for time in drops.get(segment, ()))
    return 1000.0 * count / len(every)


def repeats_elsewhere(result: xr.Dataset) -> float:
    """Share of repeats after a timeout that go over another route than the transmission before, which had one only."""
    pairs = [
        (before, one)
        for sent in transmissions(result).values()
        for before, one in pairwise(sent)
        if one.kind == TIMEOUT and len(before.routes) == 1
    ]
    return _share([set(one.routes) != set(before.routes) for before, one in pairs])


def first_route(result: xr.Dataset) -> float:
    """Share of what M/TCP sends that goes over its first route."""
    if "route_sent" not in result:
        return NEVER
    sent = result.route_sent.values[0]
    return float(sent[0] / sent.sum())


def covered_acks(result: xr.Dataset) -> float:
    """Share of dropped new ACKs of Reno after which nothing that they acknowledge is sent again.

    A receiver that answers each segment at once; over two routes it is not clear which answer was dropped.
    """
    if "route_sent" in result:
        return NEVER
    arrivals, numbers = result.receive_time.values, ack_numbers(result.receive_segment.values)
    new = np.diff(numbers, prepend=-1) > 0
    times, segments = result.send_time.values, result.send_segment.values
    covered = []
    for drop in result.drop_time.values[result.drop_kind.values == ACK]:
        answered = int(np.searchsorted(arrivals, drop - ACCESS, side="right")) - 1
        if new[answered]:
            again = (times > drop) & (segments <= numbers[answered])
            covered.append(not again.any())
    return _share(covered)


def ack_numbers(segments: np.ndarray) -> np.ndarray:
    """The last segment in order after each that arrives: what an ACK says.

    >>> ack_numbers(np.array([0, 2, 1, 3])).tolist()
    [0, 0, 2, 3]
    """
    there: set[int] = set()
    last, out = -1, []
    for segment in segments.tolist():
        there.add(segment)
        while last + 1 in there:
            last += 1
        out.append(last)
    return np.array(out)


def new_arrivals(result: xr.Dataset) -> np.ndarray:
    """When each segment arrived first, after the failure [s]."""
    _, first = np.unique(result.receive_segment.values, return_index=True)
    times = np.sort(result.receive_time.values[first])
    after: np.ndarray = times[times > FAILURE]
    return after


def _end(result: xr.Dataset) -> float:
    """The end of the transfer, or of the run [s]."""
    finish = float(result.finish.values[0])
    return finish if np.isfinite(finish) else float(scenario_of(result)["duration"])


def completes(result: xr.Dataset) -> float:
    """1 where the transfer completes, else 0."""
    return float(np.isfinite(result.finish.values[0]))


def after_failure(result: xr.Dataset) -> float:
    """Goodput from the failure of a route to the end of the transfer [Mbit/s]; without an end, of the run."""
    size = scenario_of(result)["flows"][0]["packet_size"]
    return float(8e-6 * size * new_arrivals(result).size / (_end(result) - FAILURE))


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
    delays = [float(link["delay"]) for link in scenario_of(result)["links"]]
    data, ack = 2 * 8 * 1000 / 1e9, 2 * 8 * 40 / 1e9  # each way is of two links
    return np.array([delays[1], delays[4]]) + data, np.array([delays[2], delays[5]]) + ack


def taken_for_lost(result: xr.Dataset) -> float:
    """Fast retransmits for each 1000 segments."""
    return 1000.0 * float(result.fast_recoveries.values[0]) / float(result.goodput.values[0])


def over_reno(result: xr.Dataset) -> float:
    """Goodput of the first flow over that of the two others together."""
    goodput = result.goodput.values
    return float(goodput[0]) / float(goodput[1] + goodput[2])


def others(result: xr.Dataset) -> float:
    """Goodput of a Reno flow on each route, together, beside what was put there [packet]."""
    return float(result.goodput.values[1:3].sum())
