"""Allocate and fill the arrays of a run: links, hops, flows with their random streams, the pool of events."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.errors import ScenarioError

from .flow_records import fill_flows
from .hops import make_hops, make_links, mark_through
from .kernel import records as k
from .kernel.views import bind
from .memory import refuse_above, zeroed_records
from .scenario.scenario import SILENCE_BINS, Scenario


def build(scenario: Scenario, seed: int) -> k.Sim:
    """Allocate and fill the arrays of a run."""
    n, ring = scenario.count, scenario.ring
    flows = zeroed_records(n, k.FLOW)
    links, queue_time, queue_size = make_links(scenario)
    routes, rules = fill_flows(scenario, seed, flows)
    hops = make_hops(scenario, flows, routes)
    drops = _drops(scenario, flows, hops)
    mark_through(scenario, flows, hops, links, drops)
    # About one event in a bucket; a factor of four either way costs nothing.
    width = 1.0 / max(scenario.packet_rate * max(1.0, len(hops) / n), 1.0)
    buckets = _bucket_count(scenario, width)
    longest = scenario.longest + 8
    record = scenario.record
    world = zeroed_records(1, k.WORLD)
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
        events=zeroed_records(0, k.EVENT),
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
        epochs=np.zeros((n, scenario.most_in_epoch + 1), np.int64),
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
    sim = add_events(sim, 6 * n + 4 * longest + 64 + len(links))
    for i in range(len(links)):
        links["serve_event"][i] = sim.world["free_event"][0]
        sim.events["what"][links["serve_event"][i]] = k.SERVE
        sim.world["free_event"] = sim.events["next"][sim.world["free_event"][0]]
        sim.world["free_count"] -= 1
    return sim


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
    size = k.EVENT.itemsize + (48 if len(sim.blocks) != 1 else 0)
    refuse_above(
        (old + more) * size, "packets under way", "limit links.buffer, bottleneck.buffer or the windows"
    )
    events = zeroed_records(old + more, k.EVENT)
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
