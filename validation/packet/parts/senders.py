"""Senders with hooks or a state of their own (paced ones, M/TCP, LEAP, Linux's): addresses, and what they remember."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..hops import Way
from ..kernel import hooks
from ..kernel import records as k
from ..kernel.paced import HOOKS, PACED
from ..kernel.senders import as_linux, leap
from ..kernel.senders.as_linux import records as linux
from ..scenario.flows import Flows
from ..scenario.scenario import Scenario, refuse_above
from .draft import Draft, Memory

#: Recent packets that a receiver remembers: at least, at most, and round trips with full queues.
_FEWEST, _MOST, _TRIPS = 1 << 8, 1 << 17, 4.0


def fill(draft: Draft) -> None:
    """Write where each such flow keeps its state; addresses of the hooks in use (row 0: none), and the states."""
    table = [np.zeros((1, len(HOOKS)), np.int64)]
    rows: dict[tuple[str, str], int] = {}
    memory = Memory()
    first = 0
    for group in draft.scenario.flows:
        flows = range(first, first + group.count)
        first += group.count
        if group.leap:
            draft.world.update(_addresses("leap", leap))
        if group.as_linux:
            draft.world.update(_addresses("linux", as_linux))
            _fill_linux(draft.scenario, group, draft.flows[flows.start : flows.stop], memory)
        if not group.paced:
            continue
        key = (group.paced, group.rules)
        file = PACED[group.paced][group.rules]
        if key not in rows:
            rows[key] = len(table)
            table.append(hooks.addresses([file], HOOKS))
        for i in flows:
            draft.flows["paced"][i] = rows[key]
            for where, record in zip(
                ("paced_state", "paced_lanes", "paced_ring"), _records(file, group, draft, i), strict=True
            ):
                draft.flows[where][i] = memory.append(record)
                memory.check("receivers", "lower flows.count or the buffers")
    draft.arrays.update({"paced_hooks": np.concatenate(table), "paced_state": memory.array()})


def _addresses(name: str, file: Any) -> dict[str, int]:
    """Fields of the run's record with the addresses of a file's hooks."""
    return {f"{name}_{hook}": hooks.kept(getattr(file, hook), shape) for hook, shape in file.HOOKS.items()}


def _fill_linux(scenario: Scenario, group: Flows, flows: Any, memory: Memory) -> None:
    """State and ring of senders by Linux's rules; a connection that never began makes them begin."""
    state = k.zeroed(1, linux.SENDER)
    state["since"] = -1.0
    state["probes"], state["doubts"] = group.loss_probes, group.frto
    size = linux.SENDER.itemsize + scenario.ring * linux.SEGMENT.itemsize
    wanted = float(memory.size + size * len(flows))
    refuse_above(wanted, "senders by Linux's rules", "lower flows.count or flows.window_limit")
    records = np.zeros((len(flows), size), np.uint8)
    records[:, : linux.SENDER.itemsize] = np.frombuffer(state.tobytes(), np.uint8)
    flows["paced_state"] = memory.append(records) + size * np.arange(len(flows))
    flows["paced_ring"] = flows["paced_state"] + linux.SENDER.itemsize
    flows["n_ring"] = scenario.ring


def _records(file: Any, group: Any, draft: Draft, i: int) -> tuple[Any, Any, Any]:
    """State, lanes and ring of flow `i`."""
    flow, ways = draft.flows[i], draft.routes.get(i, [])
    values = group.sender_parameters()
    state = k.zeroed(1, file.STATE)
    for name, value in values.items():
        state[name] = value
    lanes = k.zeroed(group.lanes, file.LANE)
    for j, way in enumerate(ways):
        for name, value in zip(Way._fields, way, strict=True):
            lanes[name][j] = value
    file.prepare(state[0], lanes, values, group)
    size = 0
    if hasattr(file, "RING"):
        size = file.remembered(group) if hasattr(file, "remembered") else _remembered(flow, draft.hops, draft.links)
    ring = k.zeroed(size, getattr(file, "RING", file.LANE))
    flow["n_lanes"], flow["n_ring"] = len(lanes), len(ring)
    return state, lanes, ring


def _remembered(flow: Any, hops: Any, links: Any) -> int:
    """A power of two above the packets that come in some round trips."""
    way = hops[flow["forward_hop"] : flow["forward_end"]]
    there = links[way["link"]]
    rate = 1.0 / max(float(way["tx"].max()), 1e-9)
    trip = float(flow["access"] + flow["back_access"] + way["delay"].sum() + way["jitter"].sum())
    trip += sum(float(hop["delay"] + hop["jitter"]) for hop in hops[flow["back_hop"] : flow["back_end"]])
    for hop, link in zip(way, there, strict=True):
        if link["rate"] == math.inf:
            continue
        packets = float(link["limit"]) if link["limit"] >= 0 else link["limit_bytes"] / max(float(hop["length"]), 1.0)
        if packets < 0:  # no limit
            return _MOST
        trip += float(hop["tx"]) * packets
    wanted = min(max(_TRIPS * rate * trip, _FEWEST), _MOST)
    return 1 << (int(wanted) - 1).bit_length()
