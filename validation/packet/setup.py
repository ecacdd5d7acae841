"""Allocate and fill the arrays of a run: links, hops, flows with their random streams, the pool of events."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.errors import ScenarioError
from tcpdynamics.quantities import numbered

from . import user_rules
from .hops import Way, make_hops, make_links, mark_through, on_clock
from .kernel import records as k
from .kernel.paced import HOOKS as OF_PACED
from .kernel.queues import HOOKS as OF_QUEUES
from .kernel.senders import BOOKS
from .kernel.streams import first_draw, first_draws, streams
from .kernel.views import ADDRESSES, bind
from .kernel.windows import DEFAULT
from .parts import fill_parts, has_parts
from .parts.draft import Draft
from .scenario.flows import Flows
from .scenario.scenario import SILENCE_BINS, Scenario, refuse_above


def build(scenario: Scenario, seed: int, keyed: bool = False) -> k.Sim:
    """Allocate and fill the arrays of a run.

    With `keyed`, a run on ns-2's clock has no event at the end of a transmission wherever it can do without, and ends
    as undecided where a tie needs one.
    """
    keyed = keyed and scenario.exact
    for index, group in enumerate(scenario.flows):
        if group.program is not None:
            text = "flows.program: this simulator runs no programs; take run_linux, or tcpdynamics testbed"
            raise numbered(ScenarioError(text), "flows", index, len(scenario.flows))
    n, ring = scenario.count, scenario.ring
    flows = k.zeroed(n, k.FLOW)
    links, queue_time, queue_size = make_links(scenario, keyed)
    word = _word(seed)
    routes, rules = fill_flows(scenario, word, flows)
    hops, several = make_hops(scenario, flows, routes)
    drops = _drops(scenario, flows, hops, several)
    draft = Draft(scenario, word, flows, hops, links, several)
    fill_parts(draft)
    mark_through(scenario, flows, hops, links, drops, several)
    # About one event in a bucket; a factor of four either way costs nothing.
    width = 1.0 / max(scenario.packet_rate * max(1.0, len(hops) / n), 1.0)
    buckets = _bucket_count(scenario, width)
    longest, words = scenario.longest + 8, k.FLOW.itemsize // 8
    has_users = any(group.has_users for group in scenario.flows)
    world = _world(scenario, has_users, 1.0 / width, buckets, longest)
    world["keyed"] = keyed
    for name, value in draft.world.items():
        world[name] = value
    record = scenario.record
    selective = any(group.settings()["sack"] or group.paced for group in scenario.flows)
    traces = 4 * longest + 64 if record.sends or record.receives or record.drops else 0
    sim = k.Sim(
        world=world, flows=flows, links=links, hops=hops, events=k.zeroed(0, k.EVENT),
        blocks=np.zeros((0 if selective else 1, 6), np.int64),
        buckets=np.full((buckets if scenario.scheduler == "calendar" else 1, 2), -1, np.int32),
        heap=np.zeros(0 if scenario.scheduler == "heap" else 1, np.int64),
        orders=np.zeros(0 if scenario.scheduler == "heap" else 1, np.int64), sacked=np.zeros((n, ring), np.int32),
        received=np.zeros((n, ring), np.int32), stack=np.zeros((n if selective else 1, 6), np.int64),
        waits=np.zeros((len(links), k.WAITS), np.int64),
        queue_time=queue_time, queue_size=queue_size, out_seq=np.zeros(2 * longest + 8, np.int64),
        out_kind=np.zeros(2 * longest + 8, np.int64), rules=rules, counts=np.zeros((n, k.COUNTS), np.int64),
        sums=np.zeros((n, k.SUMS)), levels=np.zeros((n, k.LEVELS), np.int64),
        epochs=np.zeros((n, scenario.most_in_epoch + 1), np.int64), silences=np.zeros((SILENCE_BINS, n), np.int32),
        slices=np.zeros((scenario.slices, n), np.int64), drops=drops,
        copies=np.zeros((n, ring) if scenario.drops else (1, 1), np.int64), trace_time=np.zeros(traces),
        trace_what=np.zeros((traces, 5), np.int64),
        windows=np.zeros((2 * n + 64 if record.windows is not None else 0, 9)),
        queues=np.zeros((2 * (len(links) + longest + 8) if record.queues is not None else 0, k.QUEUE_COLUMNS)),
        edges=np.array([scenario.warm_up / 2, scenario.warm_up, scenario.duration]),
        ahead_links=np.zeros((len(links), k.EDGES, k.AHEAD_LINKS)),
        ahead_flows=np.zeros((n, k.EDGES, k.AHEAD_FLOWS), np.int64), queue_state=draft.memory.array(),
        fresh=flows.view(np.int64).reshape(n, -1).copy() if has_users else np.zeros((1, words), np.int64),
        **(_without_parts() | draft.arrays),
    )  # fmt: skip
    sim = add_events(sim, 6 * n + 4 * longest + 64 + len(links))
    for i in range(len(links)):
        links["serve_event"][i] = sim.world["free_event"][0]
        sim.events["what"][links["serve_event"][i]] = k.SERVE
        sim.world["free_event"] = sim.events["next"][sim.world["free_event"][0]]
        sim.world["free_count"] -= 1
    return sim


def differs_in_draws(scenario: Scenario) -> bool:
    """Whether runs of a scenario with different seeds begin alike but for what `_draw` draws."""
    plain = not has_parts(scenario) and not scenario.record.anything
    return plain and all(len(scenario.routes_of(group)) < 2 for group in scenario.flows)


class Blank:
    """A run before it begins, its arrays side by side in memory: one copy of it begins a run with another seed.

    Of a scenario whose runs differ in draws alone.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario, self.sim = scenario, build(scenario, scenario.seed, keyed=True)
        arrays = {name: getattr(self.sim, name) for name in _WRITTEN}
        *starts, size = accumulate((-(-one.nbytes // 64) * 64 for one in arrays.values()), initial=0)
        self.starts, self.memory = np.array(starts), np.zeros(size, np.uint8)
        self.forms = [(name, one.shape, one.dtype) for name, one in arrays.items()]
        for one, start in zip(arrays.values(), starts, strict=True):
            self.memory[start : start + one.nbytes] = one.reshape(-1).view(np.uint8)

    def begin(self, seed: int) -> k.Sim:
        """The arrays of a run with this seed."""
        memory, world = self.memory.copy(), self.sim.world.view(np.int64).copy()
        world[_WRITTEN_AT] = memory.ctypes.data + self.starts
        places = zip(self.forms, self.starts.tolist(), strict=True)
        arrays: dict[str, Any] = {form[0]: np.ndarray(*form[1:], memory, start) for form, start in places}
        word, first = _word(seed), 0
        for group in self.scenario.flows:
            _draw(self.scenario, group, word, first, arrays["flows"])
            first += group.count
        return self.sim._replace(world=world.view(k.WORLD), **arrays)


#: What the loop writes where a run has no parts and no recordings, and where the addresses of that are.
_WRITTEN = (
    "flows links hops events blocks buckets heap orders sacked received stack queue_time queue_size out_seq out_kind "
    "counts sums levels epochs silences slices copies edges ahead_links ahead_flows waits"
).split()
_WRITTEN_AT = [ADDRESSES[name] for name in _WRITTEN]


def _word(seed: int) -> int:
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])


def _without_parts() -> dict[str, Any]:
    """Arrays of the parts that a run does not have."""
    return {
        "queue_hooks": np.zeros((1, len(OF_QUEUES)), np.int64), "paced_hooks": np.zeros((1, len(OF_PACED)), np.int64),
        "paced_state": np.zeros(0, np.uint8), "webs": k.zeroed(1, k.WEB), "users": k.zeroed(1, k.USER),
        "connections": np.zeros((1, k.CONNECTION)), "headers": np.zeros((1, 2)),
    }  # fmt: skip


def _world(scenario: Scenario, has_users: bool, inv_width: float, buckets: int, longest: int) -> Any:
    """The numbers of a run as a whole; `longest` is the longest burst of a sender [packets]."""
    record = scenario.record
    world = k.zeroed(1, k.WORLD)
    world["mask"] = buckets - 1
    world["free_event"] = -1
    world["margin"] = longest + 8
    world["heap"] = scenario.scheduler == "heap"
    world["exact"] = scenario.exact
    world["drops"] = len(scenario.drops)
    world["tracing"] = k.SENDS * record.sends + k.RECEIVES * record.receives + k.DROPS * record.drops
    world["trace_margin"] = 3 * longest + 8
    world["sampling"] = 0 if record.windows is None else 1 if record.windows == 0 else 2
    world["window_interval"] = on_clock(scenario, record.windows or 0.0)
    world["queueing"] = 0 if record.queues is None else 1 if record.queues == 0 else 2
    world["queue_interval"] = on_clock(scenario, record.queues or 0.0)
    world["inv_width"] = inv_width
    world["tracing"] += k.USERS * has_users
    world["watch"] = record.anything or has_users
    world["measure_from"] = scenario.warm_up
    world["end"] = scenario.duration
    world["slice"] = scenario.slice
    return world


def fill_flows(scenario: Scenario, word: int, flows: Any) -> tuple[list[Any], NDArray[np.int64]]:
    """Write each flow's parameters and random streams; links there and back of each flow, and the rules."""
    rules = {(DEFAULT, ""): (0,) * k.RULE}
    routes: list[Any] = []
    for name, value in _AT_FIRST.items():
        flows[name] = value
    first = 0
    for group in scenario.flows:
        rule = (group.control, "" if group.control == DEFAULT else group.rules)
        if rule not in rules:
            rules[rule] = user_rules.addresses(*rule)
        part = slice(first, first + group.count)
        flows["rule"][part] = list(rules).index(rule)
        for name, value in _parameters(scenario, group).items():
            flows[name][part] = value
        _draw(scenario, group, word, first, flows)
        routes += _draw_ways(scenario, group, word, first)
        first += group.count
    return routes, np.array(list(rules.values()), np.int64).reshape(-1, k.RULE)


#: What is not 0 in a record before the run.
_AT_FIRST = {
    "backoff": 1,
    **dict.fromkeys(
        ("sack_min", "sack_max", "sack_second", "sack_third", "scan", "rcv_max", "echo", "epoch_index", "leap_seqno"),
        -1,
    ),
    **dict.fromkeys(("min_rtt", "deadline", "due", "finish"), math.inf),
}


def _parameters(scenario: Scenario, group: Flows) -> dict[str, Any]:
    """Fields that are the same for all flows of a group."""
    s = group.settings()
    fields = {
        "book": list(BOOKS).index(group.rules), "algorithm": k.SENDERS.index(group.sender),
        "window": group.window_limit, "advertised": 0 if group.router_aware is False else group.window_limit,
        "packet_size": group.packet_size, "ack_size": group.ack_size,
        "limit": k.UNLIMITED if group.segments is None else group.segments + s["handshake"], "iw": s["initial_window"],
        "cwnd": 1.0 if s["handshake"] else s["initial_window"], "ssthresh": group.window_limit,
        "handshake": s["handshake"], "limited": group.limited_transmit, "sack": s["sack"],
        "timestamps": group.timestamps, "ecn": group.ecn, "priority": group.priority, "leap": group.leap,
        "max_backoff": group.max_backoff, "clear_after": group.clear_rtt_after, "min_rto": s["min_rto"],
        "max_rto": s["max_rto"], "base_rto": s["initial_rto"], "tick": s["timer_granularity"],
        "overhead": group.overhead, "delack": on_clock(scenario, group.longest_ack_delay),
        "stop": math.inf if group.stop is None else on_clock(scenario, group.stop),
        **BOOKS[group.rules].flow_fields(s), **{f"p{j}": value for j, value in enumerate(group.rule_parameters())},
    }  # fmt: skip
    if group.echoes_each:
        fields["ecn"] = k.EACH
        fields["ecn_as_ns2"] = False  # ns-2's agents and sinks know no such echo
    if group.sender == "tfrc":
        fields |= {"min_rto": 0.0, "max_rto": math.inf}
    if group.open_loop and group.rate is not None:
        fields["interval"] = on_clock(scenario, 8.0 * group.packet_size / group.rate)
    return fields


def _draw(scenario: Scenario, group: Flows, word: int, first: int, flows: Any) -> None:
    """Random streams, starts, phases of the clock and sizes of a group's flows."""
    s = group.settings()
    numbers = np.arange(first, first + group.count)
    part = slice(first, first + group.count)
    keys = streams(word, (k.JITTER, k.LOSS, k.HOLDING, k.GAPS, k.STARTING, k.CLOCK, k.SIZES), numbers)
    for name, several in zip(("jitter", "loss", "hold", "gap"), keys, strict=False):
        flows[f"{name}_key"][part] = several
    late, clocks, sizes = first_draws(keys[4:])
    if group.arrival_rate is not None:
        starts = group.start + np.cumsum([-math.log1p(-one) / group.arrival_rate for one in late])
    else:
        starts = group.start + s["start_spread"] * late
    flows["start"][part] = [on_clock(scenario, start) for start in starts.tolist()]
    if group.clock_phase is not None:
        flows["phase"][part] = group.clock_phase
    elif group.rules == "ns2" and scenario.count == 1:
        flows["phase"][part] = s["timer_granularity"] * NS2_PHASE
    elif group.as_linux:
        flows["phase"][part] = s["timer_granularity"] * LINUX_STEPS * first_draw(word, k.CLOCK, 0)
    else:
        flows["phase"][part] = s["timer_granularity"] * clocks
    if group.segments_shape is not None and group.segments is not None:
        lengths = [_pareto(group.segments, group.segments_shape, one) for one in sizes.tolist()]
        flows["limit"][part] = np.array(lengths) + s["handshake"]


def _draw_ways(scenario: Scenario, group: Flows, word: int, first: int) -> list[Any]:
    """(links there, links back) of each flow of a group, drawn uniformly over the pairs of different ends."""
    if not scenario.links:
        return []
    pairs = scenario.routes_of(group)
    if len(pairs) == 1 or group.routes:  # of several routes the first is that of the flow's record
        return pairs[:1] * group.count
    return [pairs[int(first_draw(word, k.ENDS, first + j) * len(pairs))] for j in range(group.count)]


def _pareto(mean: int, shape: float, drawn: float) -> int:
    """A whole number >= 1 from a Pareto law with this mean."""
    smallest = mean * (shape - 1.0) / shape
    drawn_size: float = smallest * (1.0 - drawn) ** (-1.0 / shape)
    return max(1, round(min(drawn_size, 1e12)))


#: Ticks in which Linux's clock goes through its coarsest step for timeouts up to two minutes.
LINUX_STEPS = 4096

#: Where the clock of ns-2's only sender stands, in ticks, when its random numbers have their default seed: the second
#: draw of MRG32k3a (L'Ecuyer, Operations Research 47, 1999) from a state of ones. A sender draws when it is made and
#: again when the simulation starts.
NS2_PHASE = 1193744747 / 2147483647


def _drops(scenario: Scenario, flows: Any, hops: Any, several: dict[int, list[Way]]) -> NDArray[np.int64]:
    """Rows (kind, flow, number, transmission, link)."""
    rows = []
    for drop in scenario.drops:
        if drop.packet is not None:
            rows.append((k.BY_PACKET, -1, drop.packet, 0, scenario.link_names.index(str(drop.link))))
            continue
        f = flows[drop.flow]
        there, end = ("back_hop", "back_end") if drop.ack is not None else ("forward_hop", "forward_end")
        way = hops[f[there] : f[end]]
        if drop.flow in several:
            way = np.concatenate([hops[getattr(w, there) : getattr(w, end)] for w in several[drop.flow]])
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


def add_events(sim: k.Sim, more: int) -> k.Sim:
    """Append `more` free slots to the pool of events."""
    old = len(sim.events)
    size = k.EVENT.itemsize + (48 if len(sim.blocks) != 1 else 0) + (16 if len(sim.headers) != 1 else 0)
    refuse_above((old + more) * size, "packets under way", "limit links.buffer, bottleneck.buffer or the windows")
    events = k.zeroed(old + more, k.EVENT)
    events[:old] = sim.events
    # Link the new slots in front of the free list.
    events["next"][old:] = np.arange(old + 1, old + more + 1)
    events["next"][-1] = sim.world["free_event"][0]
    events["what"][old:] = k.FREE
    sim.world["free_event"] = old
    sim.world["free_count"] += more
    blocks, headers, heap, orders = sim.blocks, sim.headers, sim.heap, sim.orders
    if len(blocks) != 1:
        blocks = np.concatenate([blocks, np.zeros((more, 6), np.int64)])
    if len(headers) != 1:
        headers = np.concatenate([headers, np.zeros((more, 2))])
    if sim.world["heap"][0]:
        heap, orders = (np.concatenate([one, np.zeros(more, np.int64)]) for one in (heap, orders))
    return bind(sim._replace(events=events, blocks=blocks, headers=headers, heap=heap, orders=orders))
