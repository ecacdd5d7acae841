"""Set up a run of the compiled loop, enlarge what fills up, check that every packet is accounted for."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.errors import ConservationError, LimitError, ScenarioError
from tcpdynamics.limits import check_memory

from . import user_rules as control
from .kernel import loop
from .kernel import records as k
from .kernel.streams import GRID
from .kernel.views import bind
from .phases import PIECES
from .presence import epochs_there
from .scenario.parts import FAST, Flows
from .scenario.routes import ends
from .scenario.scenario import SILENCE_BINS, Scenario

_WORD = (1 << 64) - 1

_PATIENCE = 0.1  # seconds between two looks at the keyboard
_BUDGET = 1_000_000  # most events between them: what is slow from one event to the next is noticed in time
_SETTLING = 0.5  # seconds that a stopped run may take to catch up with what it has counted ahead


@dataclass(frozen=True, eq=False)
class Run:
    """Raw outcome of a run (N flows, L links); `counts`, `sums`, `levels`, `links` are of the measured part.

    `totals`, `counts` : (N, records.COUNTS). `sums` : (N, records.SUMS) seconds. `in_flight` : (N,) data packets
    under way at the end. `arrived`, `dropped` : (N, phases.PIECES) data packets at the first link of their way, lost
    on any, in equal pieces of the measured part. `links` : name -> (L,) array. `stopped` : simulated time reached [s].
    """

    sim: k.Sim
    totals: NDArray[np.int64]
    counts: NDArray[np.int64]
    levels: NDArray[np.int64]
    sums: NDArray[np.float64]
    arrived: NDArray[np.int64]
    dropped: NDArray[np.int64]
    in_flight: NDArray[np.int64]
    epoch: NDArray[np.float64]
    base_rtt: NDArray[np.float64]
    links: dict[str, NDArray[Any]]
    stopped: float
    interrupted: bool


def execute(
    scenario: Scenario,
    seed: int,
    progress: Callable[[float], None] | None = None,
    stop: threading.Event | None = None,
) -> Run:
    """Run a scenario with a seed; raises ConservationError if the books do not balance at the end.

    Ctrl-C, or `stop` from another thread, ends the run at once; what was measured until then is returned, with
    `interrupted` set.
    """
    # Interpreted, NumPy's scalars would warn of the wrap-around that the random streams want.
    with np.errstate(over="ignore"):
        sim = build(scenario, seed)
        loop.start(sim.world)
        pieces = np.zeros((PIECES + 1, 2, scenario.count), np.int64)
        sim, half, stopped = _run_part(sim, scenario, 0, progress, stop)
        before, after = half, half
        if not stopped:
            sim, before, stopped = _run_part(sim, scenario, 1, progress, stop)
            after = before
        _set_epochs(scenario, sim, half, before)
        if not stopped:
            sim, after, stopped = _run_part(sim, scenario, 2, progress, stop, pieces)
        now = float(sim.world[0].now)
        close_epochs(sim, now)
        in_flight = check_conservation(sim)
    measured = after.counts - before.counts
    # These are counted inside the measured part from the beginning.
    received = [k.DELIVERED, k.GOODPUT, k.HANDSHAKES]
    measured[:, received] = sim.counts[:, received]
    sums = after.sums - before.sums
    sums[:, [k.FIRST_RTO_SUM, k.FIRST_SILENCE_SUM]] = sim.sums[:, [k.FIRST_RTO_SUM, k.FIRST_SILENCE_SUM]]
    return Run(
        sim=sim,
        totals=sim.counts,
        counts=measured,
        levels=after.levels - before.levels,
        sums=sums,
        arrived=np.diff(pieces[:, 0], axis=0).T,
        dropped=np.diff(pieces[:, 1], axis=0).T,
        in_flight=in_flight,
        epoch=np.array(sim.flows["epoch"]),
        base_rtt=base_rtts(sim, scenario),
        links={name: after.links[name] - before.links[name] for name in after.links},
        stopped=now,
        interrupted=stopped,
    )


def build(scenario: Scenario, seed: int) -> k.Sim:
    """Allocate and fill the arrays of a run."""
    n, ring = scenario.count, scenario.ring
    flows = _records(n, k.FLOW)
    links, queue_time, queue_size = _links(scenario)
    routes, rules = fill_flows(scenario, seed, flows)
    hops = _hops(scenario, flows, routes)
    drops = _drops(scenario, flows, hops)
    _mark_through(scenario, flows, hops, links, drops)
    # About one event in a bucket; a factor of four either way costs nothing.
    width = 1.0 / max(scenario.packet_rate * max(1.0, len(hops) / n), 1.0)
    buckets = _bucket_count(scenario, width)
    longest = scenario.longest + 8
    record = scenario.record
    world = _records(1, k.WORLD)
    world["mask"] = buckets - 1
    world["free_event"] = -1
    world["margin"] = longest + 8
    world["heap"] = scenario.scheduler == "heap"
    world["exact"] = scenario.exact
    world["drops"] = len(scenario.drops)
    world["tracing"] = k.SENDS * record.sends + k.RECEIVES * record.receives + k.DROPS * record.drops
    world["trace_margin"] = 3 * longest + 8
    world["sampling"] = 0 if record.windows is None else 1 if record.windows == 0 else 2
    world["window_interval"] = record.windows or 0.0
    world["queueing"] = 0 if record.queues is None else 1 if record.queues == 0 else 2
    world["queue_interval"] = record.queues or 0.0
    world["inv_width"] = 1.0 / width
    world["watch"] = record.anything
    world["measure_from"] = scenario.warm_up
    world["end"] = scenario.duration
    world["slice"] = scenario.slice
    selective = any(group.settings()["sack"] for group in scenario.flows)
    traces = 4 * longest + 64 if record.sends or record.receives or record.drops else 0
    sim = k.Sim(
        world=world,
        flows=flows,
        links=links,
        hops=hops,
        events=_records(0, k.EVENT),
        blocks=np.zeros((0 if selective else 1, 6), np.int64),
        buckets=np.full((buckets if scenario.scheduler == "calendar" else 1, 2), -1, np.int32),
        heap=np.zeros(0 if scenario.scheduler == "heap" else 1, np.int64),
        sacked=np.zeros((n, ring), np.int32),
        received=np.zeros((n, ring), np.int32),
        stack=np.zeros((n if selective else 1, 6), np.int64),
        queue_time=queue_time,
        queue_size=queue_size,
        out_seq=np.zeros(2 * longest + 8, np.int64),
        out_kind=np.zeros(2 * longest + 8, np.int64),
        rules=rules,
        counts=np.zeros((n, k.COUNTS), np.int64),
        sums=np.zeros((n, k.SUMS)),
        levels=np.zeros((n, k.LEVELS), np.int64),
        epochs=np.zeros((n, k.EPOCH_BINS), np.int64),
        silences=np.zeros((n, SILENCE_BINS), np.int32),
        slices=np.zeros((scenario.slices, n), np.int64),
        drops=drops,
        copies=np.zeros((n, ring) if scenario.drops else (1, 1), np.int64),
        trace_time=np.zeros(traces),
        trace_what=np.zeros((traces, 5), np.int64),
        windows=np.zeros((2 * n + 64 if record.windows is not None else 0, 9)),
        queues=np.zeros((2 * (len(links) + longest + 8) if record.queues is not None else 0, 4)),
        edges=np.array([scenario.warm_up / 2, scenario.warm_up, scenario.duration]),
        ahead_links=np.zeros((len(links), k.EDGES, k.AHEAD_LINKS)),
        ahead_flows=np.zeros((n, k.EDGES, k.AHEAD_FLOWS), np.int64),
    )
    sim = _more_events(sim, 6 * n + 4 * longest + 64 + len(links))
    for i in range(len(links)):
        links["serve_event"][i] = sim.world["free_event"][0]
        sim.events["what"][links["serve_event"][i]] = k.SERVE
        sim.world["free_event"] = sim.events["next"][sim.world["free_event"][0]]
        sim.world["free_count"] -= 1
    return sim


def fill_flows(scenario: Scenario, seed: int, flows: Any) -> tuple[list[Any], NDArray[np.int64]]:
    """Write each flow's parameters and random streams; links there and back of each flow, and the rules."""
    word = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    rules = [(0, 0, 0)]
    names = {"reno": 0}
    routes: list[Any] = []
    first = 0
    for group in scenario.flows:
        s = group.settings()
        part = slice(first, first + group.count)
        if group.control not in names:
            names[group.control] = len(rules)
            rules.append(control.addresses(group.control))
        limit = k.UNLIMITED if group.segments is None else group.segments + s["handshake"]
        for name, value in {
            "book": k.NS2 if group.compat == "ns2" else k.RFC,
            "algorithm": k.SENDERS.index(group.sender),
            "rule": names[group.control],
            "window": group.window_limit,
            "packet_size": group.packet_size,
            "ack_size": group.ack_size,
            "limit": limit,
            "iw": s["initial_window"],
            "cwnd": 1.0 if s["handshake"] else s["initial_window"],
            "ssthresh": group.window_limit,
            "handshake": s["handshake"],
            "limited": group.limited_transmit,
            "sack": s["sack"],
            "timestamps": group.timestamps,
            "max_backoff": group.max_backoff,
            "clear_after": group.clear_rtt_after,
            "min_rto": s["min_rto"],
            "max_rto": s["max_rto"],
            "base_rto": s["initial_rto"],
            "tick": s["timer_granularity"],
            "overhead": group.overhead,
            "delack": group.delayed_ack,
            "stop": math.inf if group.stop is None else group.stop,
        }.items():
            flows[name][part] = value
        for j, value in enumerate(group.parameters):
            flows[f"p{j}"][part] = value
        if group.open_loop and group.rate is not None:
            flows["interval"][part] = _grid(scenario, 8.0 * group.packet_size / group.rate)
        clock = 0.0
        pairs = _pairs(scenario, group)
        for i in range(first, first + group.count):
            for name, purpose in (
                ("jitter", k.JITTER),
                ("loss", k.LOSS),
                ("hold", k.HOLDING),
                ("gap", k.GAPS),
            ):
                flows[f"{name}_key"][i] = stream(word, purpose, i)
            late = first_draw(word, k.STARTING, i)
            if group.arrival_rate is not None:
                clock += -math.log1p(-late) / group.arrival_rate
                flows["start"][i] = _grid(scenario, group.start + clock)
            else:
                flows["start"][i] = _grid(scenario, group.start + s["start_spread"] * late)
            if group.clock_phase is not None:
                flows["phase"][i] = group.clock_phase
            elif group.compat == "ns2" and scenario.count == 1:
                flows["phase"][i] = s["timer_granularity"] * NS2_PHASE
            else:
                flows["phase"][i] = s["timer_granularity"] * first_draw(word, k.CLOCK, i)
            if group.segments_shape is not None and group.segments is not None:
                drawn = first_draw(word, k.SIZES, i)
                flows["limit"][i] = _pareto(group.segments, group.segments_shape, drawn) + s["handshake"]
            if len(pairs) > 1:
                routes.append(pairs[int(first_draw(word, k.ENDS, i) * len(pairs))])
            elif pairs:
                routes.append(pairs[0])
        first += group.count
    flows["backoff"] = 1
    flows["recover"] = np.where(flows["book"] == k.NS2, 0, -2)
    for name in ("sack_min", "sack_max", "sack_second", "sack_third"):
        flows[name] = -1
    flows["scan"] = -1
    flows["rcv_max"] = -1
    flows["echo"] = -1.0
    flows["min_rtt"] = math.inf
    flows["deadline"] = math.inf
    flows["due"] = math.inf
    flows["finish"] = math.inf
    flows["epoch_index"] = -1
    return routes, np.array(rules, np.int64).reshape(-1, 3)


def _pairs(scenario: Scenario, group: Flows) -> list[Any]:
    """(links there, links back) for each pair of different ends; drawn uniformly over sources, then targets."""
    if not scenario.links:
        return []
    ends(group)
    return scenario.routes_of(group)


def _hops(scenario: Scenario, flows: Any, routes: list[Any]) -> Any:
    """Each flow's hops in a row, there and back; pure delays become part of the delay before or after a hop."""
    rows: list[tuple[int, int, float, float, float, float]] = []
    i = 0
    for group in scenario.flows:
        rtts = np.linspace(*group.rtts(), group.count)
        for j in range(group.count):
            f = flows[i]
            if scenario.links:
                there, back = routes[i]
            else:
                there, back = (0,), ()
                quarter = float(rtts[j]) / 4
                there_fast, back_fast = _fast(scenario, group.packet_size), _fast(scenario, group.ack_size)
                f["access"], f["after"] = quarter + there_fast, quarter + there_fast
                f["back_access"] = 2 * quarter + back_fast
            f["forward_hop"] = len(rows)
            f["access"] += _chain(
                scenario, rows, there, group.packet_size, group.jitter, float(f["after"]), True
            )
            f["forward_end"] = f["back_hop"] = len(rows)
            f["back_access"] += _chain(scenario, rows, back, group.ack_size, 0.0, 0.0, False)
            f["back_end"] = len(rows)
            for name in ("access", "back_access"):
                f[name] = _grid(scenario, float(f[name]))
            i += 1
    hops = _records(len(rows), k.HOP)
    for column, name in enumerate(("link", "length", "delay", "tx", "jitter", "last")):
        hops[name] = [row[column] for row in rows]
    return hops


def _mark_through(scenario: Scenario, flows: Any, hops: Any, links: Any, drops: NDArray[np.int64]) -> None:
    """Which hops need no event of their own, and which flows no event at their receiver."""
    private = np.bincount(hops["link"], minlength=len(links)) == 1
    free = (links["limit"] < 0) & (links["limit_bytes"] < 0) & (links["loss"] == 0.0) & (links["served"] == 0)
    named = np.isin(np.arange(len(links)), drops[:, 4])  # where a packet is to be lost, each is looked at
    through = (private & free & ~named)[hops["link"]] & (hops["jitter"] == 0.0)
    # Every flow's segments need one event on their way at least.
    for i in range(len(flows)):
        first, end = flows["forward_hop"][i], flows["forward_end"][i]
        if through[first:end].all():
            through[end - 1] = False
    hops["through"] = through
    i = 0
    for group in scenario.flows:
        for _ in range(group.count):
            way = np.arange(flows["forward_hop"][i], flows["forward_end"][i])
            last = way[~through[way]][-1]
            flows["fused"][i] = (
                not links["served"][hops["link"][last]]
                and group.delayed_ack == 0
                and not group.open_loop
                and not scenario.exact
            )
            i += 1


def _chain(
    scenario: Scenario,
    rows: list[Any],
    links: tuple[int, ...],
    size: int,
    jitter: float,
    after: float,
    forward: bool,
) -> float:
    """Append the hops of one direction; the delay before the first of them."""
    lead, start = 0.0, len(rows)
    for position, index in enumerate(links):
        way = scenario.ways[index]
        pure = way.rate is None and way.loss == 0.0 and way.jitter == 0.0
        # A way needs one hop at least, where packets are counted.
        needed = forward and len(rows) == start and position == len(links) - 1
        delay = way.delay + (_fast(scenario, size) if way.rate is None else 0.0)
        if pure and not needed and way.name not in scenario.links_of_drops:
            if len(rows) == start:
                lead += delay
            else:
                rows[-1][2] += delay
            continue
        tx = _grid(scenario, 8.0 * size / way.rate, sending=True) if way.rate is not None else 0.0
        rows.append([index, size, delay, tx, way.jitter, 0.0])
    if len(rows) > start:
        rows[-1][2] += after
        rows[start][4] += jitter
        for row in rows[start:]:
            row[2] = _grid(scenario, row[2])
    return lead


def _fast(scenario: Scenario, size: int) -> float:
    """Seconds that a packet takes where a link is infinitely fast: none, or as long as in ns-2, which has no such link.

    Some nanoseconds are nothing but where packets come and go in step: each round trip adds as many.
    """
    return 8.0 * size / FAST if scenario.exact else 0.0


def _links(scenario: Scenario) -> tuple[Any, NDArray[np.float64], NDArray[np.int32]]:
    """The records of the links and the rings of their queues."""
    links = _records(len(scenario.ways), k.LINK)
    first = 0
    smallest = min(min(group.packet_size, group.ack_size) for group in scenario.flows)
    for i, way in enumerate(scenario.ways):
        row = links[i]
        # A ring needs a limit; the length of a queue without one is known where it is a list.
        unlimited = way.buffer is None and way.buffer_bytes is None and scenario.record.queues is not None
        served = way.service == "served" or unlimited or (way.service == "auto" and scenario.exact)
        row["rate"] = math.inf if way.rate is None else way.rate
        row["loss"] = way.loss
        row["served"] = served and way.rate is not None
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
    _refuse_above(12.0 * first, "queues", "lower links.buffer or links.buffer_bytes")
    return links, np.zeros(first), np.zeros(first, np.int32)


def _drops(scenario: Scenario, flows: Any, hops: Any) -> NDArray[np.int64]:
    """Rows (kind, flow, number, transmission, link)."""
    rows = []
    for drop in scenario.drops:
        if drop.packet is not None:
            rows.append((k.BY_PACKET, -1, drop.packet, 0, scenario.link_names.index(str(drop.link))))
            continue
        f = flows[drop.flow]
        way = (
            hops[f["back_hop"] : f["back_end"]]
            if drop.ack is not None
            else hops[f["forward_hop"] : f["forward_end"]]
        )
        if len(way) == 0:
            raise ScenarioError(f"drops of flow {drop.flow}: no link with a rate on its way there or back")
        link = int(way["link"][np.argmin([scenario.ways[j].rate or math.inf for j in way["link"]])])
        if drop.link is not None:
            link = scenario.link_names.index(drop.link)
            if link not in way["link"]:
                raise ScenarioError(f"drops.link {drop.link!r} is not on the way of flow {drop.flow}")
        if drop.ack is not None:
            rows.append((k.BY_ACK, drop.flow, drop.ack, 0, link))
        elif drop.segment is not None:
            rows.append((k.BY_SEGMENT, drop.flow, drop.segment, drop.transmission, link))
    return np.array(rows, np.int64).reshape(-1, 5)


def _grid(scenario: Scenario, time: float, sending: bool = False) -> float:
    """A time on the clock's grid: sending times rounded down, all others up.

    Where a round trip is a whole number of sending times, what an acknowledgement releases arrives just as another
    packet leaves. Rounded like this it never arrives a grid step too early and finds the queue still full.
    """
    if scenario.exact:
        return time
    steps = time * GRID
    # What is on the grid but for rounding errors stays there.
    near = round(steps)
    if abs(steps - near) < 1e-6 * max(1.0, abs(steps) * 1e-9):
        return near / GRID
    return (math.floor(steps) if sending else math.ceil(steps)) / GRID


def _pareto(mean: int, shape: float, drawn: float) -> int:
    """A whole number >= 1 from a Pareto law with this mean."""
    least = mean * (shape - 1.0) / shape
    drawn_size: float = least * (1.0 - drawn) ** (-1.0 / shape)
    return max(1, round(min(drawn_size, 1e12)))


#: Where the clock of ns-2's only sender stands, in ticks, when its random numbers have their default seed: the second
#: draw of MRG32k3a (L'Ecuyer, Operations Research 47, 1999) from a state of ones. A sender draws when it is made and
#: again when the simulation starts.
NS2_PHASE = 1193744747 / 2147483647


def first_draw(word: int, purpose: int, flow: int) -> float:
    """Draw 0 of a stream, uniform in [0, 1); the same number as `core.streams.uniform` gives.

    Examples
    --------
    >>> 0.0 <= first_draw(1, 0, 0) < 1.0
    True
    """
    return (_mixed(int(stream(word, purpose, flow))) >> 11) * 2.0**-53


def _mixed(key: int) -> int:
    """SplitMix64's output function."""
    key = ((key ^ (key >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    key = ((key ^ (key >> 27)) * 0x94D049BB133111EB) & _WORD
    return key ^ (key >> 31)


def stream(word: int, purpose: int, flow: int) -> np.uint64:
    """Key of the random stream of one (seed, purpose, flow).

    Examples
    --------
    >>> bool(stream(1, 0, 0) != stream(1, 0, 1)), bool(stream(1, 0, 0) == stream(1, 0, 0))
    (True, True)
    """
    key = word
    for part in (purpose, flow):
        key = _mixed((key + (part + 1) * 0x9E3779B97F4A7C15) & _WORD)
    return np.uint64(key)


def base_rtts(sim: k.Sim, scenario: Scenario) -> NDArray[np.float64]:
    """Propagation and sending time of a data packet there and its acknowledgement back [s], per flow.

    On a bottleneck, propagation only (as its `rtt` says).
    """
    flows = sim.flows
    total = np.array(flows["access"] + flows["back_access"])
    each = sim.hops["delay"] + sim.hops["tx"] if scenario.links else sim.hops["delay"]
    delays = np.concatenate([[0.0], np.cumsum(each)])
    total += delays[flows["back_end"]] - delays[flows["forward_hop"]]
    return total


def close_epochs(sim: k.Sim, end: float) -> None:
    """Count the last whole epoch of each flow; a trailing part of an epoch is left out.

    So are the epochs before a flow's start and after its finish: one that has nothing to send is not silent.
    """
    flows, begin = sim.flows, sim.world["measure_from"][0]
    epoch = np.where(flows["epoch"] > 0.0, flows["epoch"], 1.0)
    whole = ((end - begin) / epoch).astype(np.int64)
    index = flows["epoch_index"]
    behind = np.flatnonzero((flows["epoch"] > 0.0) & (index < whole))
    sim.epochs[behind, 0] += (whole - index - 1)[behind]
    begun = behind[index[behind] >= 0]
    sim.epochs[begun, np.minimum(flows["epoch_count"][begun], k.EPOCH_BINS - 1)] += 1
    # All whole epochs are counted now, those before the start and after the finish as empty ones.
    first, last = epochs_there(flows["start"], flows["finish"], index, epoch, begin, end)
    idle = whole - (last - first)
    sim.epochs[:, 0] -= np.where(flows["epoch"] > 0.0, idle, 0)


def under_way(sim: k.Sim) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where packets are that are under way.

    Per flow (N, 3): data not yet received, acknowledgements, of these for data received after the end. Per link
    (L,): packets held or travelling.
    """
    waiting = np.zeros(len(sim.events), bool)  # packets in the lists of served links
    on_link = np.zeros(len(sim.links), np.int64)
    for i in np.flatnonzero(sim.links["list_head"] >= 0):
        slot = sim.links["list_head"][i]
        while slot >= 0:
            waiting[slot] = True
            on_link[i] += 1
            slot = sim.events["next"][slot]
    what = sim.events["what"]
    packet = ((what >= 0) & (what <= k.ACKED)) | waiting
    on = sim.events["on"][packet & ~waiting]
    on_link += np.bincount(on[on >= 0], minlength=len(sim.links))
    n, flow, ack = len(sim.flows), sim.events["flow"], sim.events["kind"] == k.ACK
    late = ack & ((sim.events["mark"] & k.AFTER_END) > 0)
    held = [np.bincount(flow[packet & chosen], minlength=n) for chosen in (~ack, ack, late)]
    return np.stack(held, axis=1), on_link


def check_conservation(sim: k.Sim) -> NDArray[np.int64]:
    """Check that every packet is in exactly one place; return the data packets under way, per flow.

    Raises
    ------
    ConservationError
        Naming the first flow, or the link, whose books do not balance.
    """
    held, on_link = under_way(sim)
    c, f, links = sim.counts, sim.flows, sim.links
    in_flight = held[:, 0] + held[:, 2]
    at_once = (f["delack"] == 0.0) & (f["algorithm"] < k.CBR)
    rules = {
        "sent = dropped + received + under way": c[:, k.SENT]
        - c[:, k.DROPPED]
        - c[:, k.RECEIVED]
        - in_flight,
        "acknowledgements sent = dropped + back + under way": (
            c[:, k.ACKS_SENT] - c[:, k.ACKS_DROPPED] - c[:, k.ACKS_BACK] - held[:, 1]
        ),
        "received = acknowledgements sent": np.where(
            at_once, c[:, k.RECEIVED] + held[:, 2] - c[:, k.ACKS_SENT], 0
        ),
        "acknowledgements sent <= received": np.maximum(c[:, k.ACKS_SENT] - c[:, k.RECEIVED] - held[:, 2], 0),
        "unacknowledged <= next <= sent": np.where((f["una"] <= f["next"]) & (f["next"] <= f["top"]), 0, 1)
        * (f["algorithm"] < k.CBR),
    }
    for rule, difference in rules.items():
        wrong = np.flatnonzero(difference)
        if wrong.size:
            raise ConservationError(
                f"flow {wrong[0]}: {rule} fails by {difference[wrong[0]]}; please report this run"
            )
    link_rules = {
        "arrived = dropped + accepted": links["arrived"] - links["dropped"] - links["accepted"],
        "accepted = left + held": links["accepted"] - links["left"] - on_link,
    }
    for rule, difference in link_rules.items():
        wrong = np.flatnonzero(difference)
        if wrong.size:
            raise ConservationError(
                f"link {wrong[0]}: {rule} fails by {difference[wrong[0]]}; please report this run"
            )
    return in_flight


def _records(n: int, dtype: Any) -> Any:
    """Zeroed records with fields as attributes, which the interpreted kernel needs."""
    return np.zeros(n, dtype).view(np.recarray)


def _bucket_count(scenario: Scenario, width: float) -> int:
    """Enough buckets for one round trip with a full queue, within bounds that keep the calendar in cache."""
    longest = 0.0
    for group in scenario.flows:
        for there, back in scenario.routes_of(group)[:16]:
            longest = max(longest, sum(scenario.ways[i].delay for i in there + back))
        if not scenario.links:
            longest = max(longest, *group.rtts())
    wanted = longest / width + max((way.buffer or 0 for way in scenario.ways), default=0)
    return 1 << min(max(int(wanted).bit_length(), 13), 15)


def _run(
    sim: k.Sim,
    scenario: Scenario,
    until: float,
    progress: Callable[[float], None] | None,
    stop: threading.Event | None,
) -> tuple[k.Sim, bool]:
    """Advance to `until`, enlarging what runs low; True beside it if the user has stopped the run."""
    budget = min(20_000, _BUDGET)
    try:
        while True:
            began = time.perf_counter()
            status = loop.advance(sim.world, until, budget)
            if status == k.DONE:
                break
            if status == k.GROW_EVENTS:
                sim = _more_events(sim, len(sim.events))
            elif status == k.GROW_TRACE:
                sim = bind(
                    sim._replace(trace_time=_double(sim.trace_time), trace_what=_double(sim.trace_what))
                )
            elif status == k.GROW_WINDOWS:
                sim = bind(sim._replace(windows=_double(sim.windows)))
            elif status == k.GROW_QUEUES:
                sim = bind(sim._replace(queues=_double(sim.queues)))
            elif status == k.BROKEN:
                raise ConservationError("a segment left the receiver's window; please report this run")
            else:
                if stop is not None and stop.is_set():
                    return sim, True
                budget = _next_budget(budget, time.perf_counter() - began)
                if progress is not None:
                    progress(float(sim.world[0].now) / scenario.duration)
    except KeyboardInterrupt:
        return sim, True
    return sim, False


def _run_part(
    sim: k.Sim,
    scenario: Scenario,
    part: int,
    progress: Callable[[float], None] | None,
    stop: threading.Event | None,
    pieces: NDArray[np.int64] | None = None,
) -> tuple[k.Sim, _Checkpoint, bool]:
    """Advance to the end of a part; what is counted until then; True if the user has stopped the run before.

    With `pieces`, (PIECES + 1, 2, N), packets arrived and lost are written down in between.
    """
    sim.world["part"] = part
    sim.world["edge"] = sim.edges[part]
    stopped = False
    if pieces is not None:
        pieces[0] = sim.counts[:, [k.ARRIVED, k.DROPPED]].T
        for i, until in enumerate(np.linspace(scenario.warm_up, scenario.duration, PIECES + 1)[1:-1], 1):
            if not stopped:
                sim, stopped = _run(sim, scenario, float(until), progress, stop)
            pieces[i] = sim.counts[:, [k.ARRIVED, k.DROPPED]].T
    if not stopped:
        sim, stopped = _run(sim, scenario, float(sim.edges[part]), progress, stop)
    if pieces is not None:
        pieces[-1] = sim.counts[:, [k.ARRIVED, k.DROPPED]].T
    if stopped:
        sim = _settle(sim, scenario, part)
    return sim, _checkpoint(sim, part), stopped


def _settle(sim: k.Sim, scenario: Scenario, part: int) -> k.Sim:
    """Run on until all that is counted has happened, at most a round trip: shortcuts count ahead of time.

    From there on nothing is counted, as if the run had been meant to end there.
    """
    what, times = sim.events["what"], sim.events["time"]
    latest = times[(what >= 0) & (what <= k.ACKED)].max(initial=float(sim.world[0].now))
    edge = float(np.nextafter(latest, math.inf))
    if edge < sim.edges[part]:
        _close_at(sim, part, edge)
    at_once = threading.Event()
    at_once.set()
    began = time.perf_counter()
    while time.perf_counter() - began < _SETTLING:
        sim, unsettled = _run(sim, scenario, float(sim.edges[part]), None, at_once)
        if not unsettled:
            break
    return sim


def _close_at(sim: k.Sim, part: int, edge: float) -> None:
    """Let a part of a run that is under way end at `edge`, an instant after all that is counted."""
    sim.edges[part:] = edge
    sim.world["edge"] = edge
    sim.world["end"] = edge
    sim.ahead_links[:] = 0.0
    sim.ahead_flows[:] = 0
    links = sim.links
    sim.ahead_links[:, part, k.AHEAD_WORK] = np.maximum(links["free_at"] - edge, 0.0)
    for i in np.flatnonzero((links["served"] == 0) & (links["free_at"] > edge)):
        row = links[i]
        if row["capacity"] == 0 and row["limit"] < 0:
            # Nobody remembers who waits in a queue without a limit.
            sim.ahead_links[i, part, k.AHEAD_WAIT] = math.nan
            continue
        places = row["first"] + (row["head"] + np.arange(row["waiting"])) % max(row["capacity"], 1)
        sim.ahead_links[i, part, k.AHEAD_WAIT] = np.maximum(sim.queue_time[places] - edge, 0.0).sum()


def _next_budget(budget: int, seconds: float) -> int:
    """Events until the next look at the keyboard, after `budget` have taken `seconds`."""
    wanted = int(budget * min(_PATIENCE / max(seconds, 1e-9), 4.0))
    return min(max(wanted, 1000), _BUDGET)


def _double(array: Any) -> Any:
    _refuse_above(2.0 * array.nbytes, "the recordings", "shorten the run or record less")
    return np.concatenate([array, np.zeros_like(array)])


def _more_events(sim: k.Sim, more: int) -> k.Sim:
    """Append `more` free slots to the pool of events."""
    old = len(sim.events)
    size = k.EVENT.itemsize + (48 if len(sim.blocks) != 1 else 0)
    _refuse_above(
        (old + more) * size, "packets under way", "limit links.buffer, bottleneck.buffer or the windows"
    )
    events = _records(old + more, k.EVENT)
    events[:old] = sim.events
    # Link the new slots in front of the free list.
    events["next"][old:] = np.arange(old + 1, old + more + 1)
    events["next"][-1] = sim.world["free_event"][0]
    events["what"][old:] = k.FREE
    sim.world["free_event"] = old
    sim.world["free_count"] += more
    blocks, heap = sim.blocks, sim.heap
    if len(blocks) != 1:
        blocks = np.concatenate([blocks, np.zeros((more, 6), np.int64)])
    if sim.world["heap"][0]:
        heap = np.concatenate([heap, np.zeros(more, np.int64)])
    return bind(sim._replace(events=events, blocks=blocks, heap=heap))


def _refuse_above(need: float, what: str, advice: str) -> None:
    try:
        check_memory(what, need, advice)
    except LimitError as error:
        raise ScenarioError(str(error)) from None


@dataclass(frozen=True, eq=False)
class _Checkpoint:
    counts: NDArray[np.int64]
    levels: NDArray[np.int64]
    sums: NDArray[np.float64]
    links: dict[str, NDArray[Any]]


def _checkpoint(sim: k.Sim, part: int) -> _Checkpoint:
    """Everything that has happened by now, the end of a part: what is counted less what is ahead of time."""
    links, now = sim.links, float(sim.world[0].now)
    ahead, of_flows = sim.ahead_links[:, part], sim.ahead_flows[:, part]
    counts = sim.counts.copy()
    counts[:, k.ARRIVED] -= of_flows[:, k.AHEAD_FLOW_ARRIVED]
    counts[:, k.ARRIVED_KIND : k.ARRIVED_KIND + len(k.KINDS)] -= of_flows[:, k.AHEAD_KIND :]
    counts[:, k.ACKS_SENT] -= of_flows[:, k.AHEAD_ACKS_SENT]
    passing = ahead[:, k.AHEAD_ARRIVED].astype(np.int64)
    # A served link adds up waiting times at each change of its queue; add what passed since the last.
    since = np.where(links["served"] == 1, links["waiting"] * (now - links["changed"]), 0.0)
    return _Checkpoint(
        counts,
        sim.levels.copy(),
        sim.sums.copy(),
        {
            "arrived": links["arrived"] - passing,
            "dropped": np.array(links["dropped"]),
            "accepted": links["accepted"] - passing,
            "work": links["work_sum"] - ahead[:, k.AHEAD_WORK],
            "wait": links["wait_sum"] + since - ahead[:, k.AHEAD_WAIT],
            "met": np.array(links["met"]),
            "tied": np.array(links["tied"]),
        },
    )


def _set_epochs(scenario: Scenario, sim: k.Sim, half: _Checkpoint, now: _Checkpoint) -> None:
    """Fix each flow's epoch at the end of the warm-up."""
    if scenario.epoch != "auto":
        sim.flows["epoch"] = scenario.epoch
        return
    base = base_rtts(sim, scenario)
    if not scenario.links:
        first = sim.hops[sim.flows["forward_hop"]]
        # Jitter is counted at its mean; that it may not reorder a flow makes it a little more.
        sim.flows["epoch"] = base + first["tx"] + _mean_waits(half, now)[0] + first["jitter"] / 2
        return
    timed = (now.counts - half.counts)[:, k.TIMED]
    total = (now.sums - half.sums)[:, k.RTT_SUM]
    # A flow without an acknowledgement in that time, between timeouts or not begun yet, has the round trip that
    # packets had on its way: to take the base RTT would make more of its epochs empty than there are.
    waits = _mean_waits(half, now)[sim.hops["link"]] + sim.hops["jitter"] / 2
    until = np.concatenate([[0.0], np.cumsum(waits)])
    on_the_way = base + until[sim.flows["back_end"]] - until[sim.flows["forward_hop"]]
    mean_rtt = np.divide(total, timed, out=on_the_way, where=timed > 0)
    sim.flows["epoch"] = np.maximum(mean_rtt, 1e-6)


def _mean_waits(half: _Checkpoint, now: _Checkpoint) -> NDArray[np.float64]:
    """(L,) mean time [s] for which packets waited at each link between two moments (Little's law)."""
    packets = now.links["accepted"] - half.links["accepted"]
    waited = np.array(now.links["wait"] - half.links["wait"])
    mean: NDArray[np.float64] = np.divide(waited, packets, out=np.zeros(len(packets)), where=packets > 0)
    return mean
