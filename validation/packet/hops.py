"""The network of a run: records of links, and the hops that each flow's packets take."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .kernel import records as k
from .kernel.queues import MECHANISMS
from .kernel.streams import GRID
from .scenario.flows import Flows
from .scenario.link import FAST
from .scenario.scenario import Scenario, refuse_above


class Way(NamedTuple):
    """One route of a flow: its hops there and back, as rows, and the delays before the first of them [s]."""

    forward_hop: int
    forward_end: int
    access: float
    back_hop: int
    back_end: int
    back_access: float


def make_hops(scenario: Scenario, flows: Any, routes: list[Any]) -> tuple[Any, dict[int, list[Way]]]:
    """Each flow's hops in a row, there and back; pure delays become part of the delay before or after a hop.

    Beside them, all ways of each flow that has several routes; a flow's own record has the first of them.
    """
    rows: list[Any] = []
    ways: dict[int, list[Way]] = {}
    ends: list[tuple[Any, ...]] = []  # a record's fields one by one take longer than all that is computed
    for group in scenario.flows:
        pool = group.pool or 1  # the connections of a user have one RTT
        rtts = np.repeat(np.linspace(*group.rtts(), group.count // pool), pool)
        there_fast, back_fast = _fast(scenario, group.packet_size), _fast(scenario, group.ack_size)
        for rtt in rtts.tolist():
            access = after = back_access = waiting = 0.0
            if scenario.links:
                there, back = routes[len(ends)]
            else:
                there, back = (0,), tuple(range(1, len(scenario.ways)))
                quarter = rtt / 4
                access = after = quarter + there_fast
                # On a bottleneck where acknowledgements are lost, they are so at once.
                back_access, waiting = (0.0, 2 * quarter) if back else (2 * quarter + back_fast, 0.0)
            forward_hop = len(rows)
            access = on_clock(scenario, access + _chain(scenario, rows, there, group, after, True))
            middle = len(rows)
            back_access = on_clock(scenario, back_access + _chain(scenario, rows, back, group, waiting, False))
            way = Way(forward_hop, middle, access, middle, len(rows), back_access)
            if group.routes:
                further = [_further(scenario, rows, route, group) for route in scenario.routes_of(group)[1:]]
                ways[len(ends)] = [way, *further]
            ends.append((*way, after, forward_hop, access))
    for name, values in zip((*Way._fields, "after", "out_hop", "out_access"), zip(*ends, strict=True), strict=True):
        flows[name] = values
    hops = k.zeroed(len(rows), k.HOP)
    for column, name in enumerate(("link", "length", "delay", "tx", "jitter", "overtakes")):
        hops[name] = [row[column] for row in rows]
    back = flows["back_end"] > flows["back_hop"]
    _name_ends(hops, flows["forward_hop"], flows["forward_end"], flows["back_end"][back])
    for more in ways.values():
        for route in more[1:]:
            _name_ends(hops, route.forward_hop, route.forward_end, [route.back_end] * (route.back_end > route.back_hop))
    return hops, ways


def _name_ends(hops: Any, first: Any, forward_end: Any, back_end: Any) -> None:
    """Say at which hops packets are counted, and behind which they are at a receiver or at their sender."""
    hops["first"][first] = True
    hops["leads"][forward_end - 1] = k.RECEIVE
    hops["leads"][np.asarray(back_end, np.int64) - 1] = k.ACKED


def _further(scenario: Scenario, rows: list[Any], way: Any, group: Flows) -> Way:
    """Append the hops of one more route of a flow."""
    there, back = way
    start = len(rows)
    access = on_clock(scenario, _chain(scenario, rows, there, group, 0.0, True))
    middle = len(rows)
    back_access = on_clock(scenario, _chain(scenario, rows, back, group, 0.0, False))
    return Way(start, middle, access, middle, len(rows), back_access)


def mark_through(
    scenario: Scenario, flows: Any, hops: Any, links: Any, drops: NDArray[np.int64], ways: dict[int, list[Way]]
) -> None:
    """Which hops need no event of their own, and which flows no event at their receiver."""
    private = np.bincount(hops["link"], minlength=len(links)) == 1
    free = (links["limit"] < 0) & (links["limit_bytes"] < 0) & (links["loss"] == 0.0) & (links["served"] == 0)
    # Where a packet is to be lost, or a router reads, each is looked at.
    named = (links["on_data"] != 0) | (links["on_ack"] != 0)
    named[drops[:, 4]] = True
    through = (private & free & ~named)[hops["link"]] & (hops["jitter"] == 0.0)
    # Every flow's segments need one event on their way at least.
    further = [(way.forward_hop, way.forward_end) for more in ways.values() for way in more[1:]]
    ways_there = zip(flows["forward_hop"].tolist(), flows["forward_end"].tolist(), strict=True)
    first, end = np.array([*ways_there, *further]).T
    events = np.append(0, np.cumsum(~through))
    through[end[events[end] == events[first]] - 1] = False
    hops["through"] = through
    # Of each flow, the link of its last hop with an event.
    stops = np.flatnonzero(~through)
    last = hops["link"][stops[np.searchsorted(stops, flows["forward_end"]) - 1]]
    fusible = [
        group.delayed_ack == 0
        and not group.windowless
        and not group.has_users  # when data comes is compared with when connections begin
        and not group.paced
        and not (scenario.exact and scenario.record.receives)  # the trace has events of one time in order
        for group in scenario.flows
    ]
    counts = [group.count for group in scenario.flows]
    keyed = (links["keyed"][last] != 0) | (not scenario.exact)
    flows["fused"] = (links["served"][last] == 0) & keyed & np.repeat(fusible, counts)


def _chain(
    scenario: Scenario, rows: list[Any], links: tuple[int, ...], group: Flows, after: float, forward: bool
) -> float:
    """Append the hops of one direction; the delay before the first of them."""
    lead, start = 0.0, len(rows)
    size = group.packet_size if forward else group.ack_size
    for position, index in enumerate(links):
        way = scenario.ways[index]
        pure = way.rate is None and not way.loses and way.jitter == 0.0
        # A way needs one hop at least, where packets are counted.
        needed = forward and len(rows) == start and position == len(links) - 1
        delay = way.delay + (_fast(scenario, size) if way.rate is None else 0.0)
        read = way.name in scenario.links_of_drops or way.name in scenario.read_by_routers
        if pure and not needed and not read:
            if len(rows) == start:
                lead += delay
            else:
                rows[-1][2] += delay
            continue
        tx = on_clock(scenario, 8.0 * size / way.rate, sending=True) if way.rate is not None else 0.0
        # Where the rate changes, no sending time holds for long.
        rows.append([index, -1 if way.changes else size, delay, tx, way.jitter, way.reorder])
    if len(rows) > start:
        rows[-1][2] += after
        jitter = scenario.jitter_on(group, links) if forward else 0.0
        if jitter > 0.0:
            rows[start][4] += jitter
            rows[start][5] |= group.reorder
        for row in rows[start:]:
            row[2] = on_clock(scenario, row[2])
    return lead


def _fast(scenario: Scenario, size: int) -> float:
    """Seconds that a packet takes where a link is infinitely fast: none, or as long as in ns-2, which has no such link.

    Some nanoseconds are nothing but where packets come and go in step: each round trip adds as many.
    """
    return 8.0 * size / FAST if scenario.exact else 0.0


def make_links(scenario: Scenario, keyed: bool = False) -> tuple[Any, NDArray[np.float64], NDArray[np.int32]]:
    """The records of the links and the rings of their queues."""
    links = k.zeroed(len(scenario.ways), k.LINK)
    first = 0
    smallest = min(min(group.packet_size, group.ack_size) for group in scenario.flows)
    for i, way in enumerate(scenario.ways):
        row = links[i]
        # A ring needs a limit; the length of a queue without one is known where it is a list.
        unlimited = way.buffer is None and way.buffer_bytes is None and scenario.record.queues is not None
        exactly = way.service == "auto" and scenario.exact
        by_events = exactly and (not keyed or way.name in scenario.read_by_routers)
        served = way.needs_service or unlimited or by_events
        row["rate"] = math.inf if way.rate is None else way.rate
        row["loss"] = -1.0 if way.loses and not way.loses_alike else way.loss
        row["discipline"] = list(MECHANISMS).index(way.mechanism)
        row["number"] = i
        row["served"] = served and way.rate is not None
        row["keyed"] = exactly and not row["served"] and way.rate is not None
        row["free_at"] = row["latest"] = -1.0
        row["limit"] = -1 if way.buffer is None else way.buffer - 1
        row["limit_bytes"] = -1 if way.buffer_bytes is None else way.buffer_bytes
        capacity = 0
        if not row["served"]:
            if way.buffer is not None:
                capacity = max(way.buffer - 1, 1)
            elif way.buffer_bytes is not None:
                capacity = way.buffer_bytes // smallest + 2
        row["first"], row["capacity"] = first, capacity
        row["list_head"] = row["list_tail"] = -1
        first += capacity
    refuse_above(12.0 * first, "queues", "lower links.buffer or links.buffer_bytes")
    return links, np.zeros(first), np.zeros(first, np.int32)


def on_clock(scenario: Scenario, time: float, sending: bool = False) -> float:
    """A time on the clock's grid: sending times rounded down, all others up.

    Where a round trip is a whole number of sending times, what an acknowledgement releases arrives just as another
    packet leaves. Rounded like this it never arrives a grid step too early and finds the queue still full.
    """
    if scenario.exact:
        return time
    steps = time * GRID
    # What is on the grid but for rounding errors stays there.
    step = round(steps)
    if abs(steps - step) < 1e-6 * max(1.0, abs(steps) * 1e-9):
        return step / GRID
    return (math.floor(steps) if sending else math.ceil(steps)) / GRID
