"""Routers of a run: their parameters, what they remember, where their hooks are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernel import hooks
from ..kernel import records as k
from ..kernel.parameters import read_parameters
from ..kernel.routers import HOOKS, ROUTERS
from ..scenario.scenario import Scenario
from .draft import Draft


def fill(draft: Draft) -> None:
    """Append the routers' records to the memory; the address of what senders write for routers."""
    scenario, links, memory = draft.scenario, draft.links, draft.memory
    draft.arrays["headers"] = np.zeros((0, 2))
    index = {way.name: i for i, way in enumerate(scenario.ways)}
    for i, way in enumerate(scenario.ways):
        if way.router == "none":
            continue
        file = ROUTERS[way.router]
        address = dict(zip(HOOKS, hooks.addresses([file], HOOKS)[0], strict=True))
        draft.world["routing"] = address["on_send"]
        links["on_data"][i], links["on_interval"][i] = address["on_data"], address["on_interval"]
        other = index.get(f"{way.target}->{way.source}")
        if other is not None:
            links["on_ack"][other], links["answers"][other] = address["on_ack"], i
        records = _records(file, scenario, way, _size(draft.flows, draft.hops, i))
        for where, record in zip(("router", "router_groups", "router_members"), records, strict=True):
            links[where][i] = memory.append(record)
        memory.check("tables of routers", "lower flows.count or take fewer links.router")


def _records(file: Any, scenario: Scenario, way: Any, size: int) -> tuple[Any, Any, Any]:
    """State, groups and members of the router of one link."""
    values = read_parameters(file, way.router_parameters, "links.router_parameters", way.router)
    state, members = k.zeroed(1, file.STATE), k.zeroed(scenario.count, file.MEMBER)
    groups = k.zeroed(file.CODES, file.GROUP)
    file.prepare(state[0], groups, members, values, way, size)
    return state, groups, members


def _size(flows: Any, hops: Any, link: int) -> int:
    """The largest packets of flows that pass a link [byte]; 1 where none does."""
    pass_here = np.flatnonzero(hops["link"] == link)
    owner = np.searchsorted(flows["forward_hop"], pass_here, side="right") - 1
    there = pass_here < flows["forward_end"][owner]
    return int(flows["packet_size"][owner[there]].max(initial=1))
