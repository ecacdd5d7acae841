"""The records of a run's flows: parameters by rule book, random streams, starts, sizes, ends."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import user_rules as control
from .hops import on_clock
from .kernel import records as k
from .kernel.senders import BOOKS
from .kernel.streams import first_draw, stream
from .kernel.windows import DEFAULT
from .scenario.flows import Flows
from .scenario.scenario import Scenario


def fill_flows(scenario: Scenario, seed: int, flows: Any) -> tuple[list[Any], NDArray[np.int64]]:
    """Write each flow's parameters and random streams; links there and back of each flow, and the rules."""
    word = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    rules = {DEFAULT: (0, 0, 0)}
    routes: list[Any] = []
    for name, value in _AT_FIRST.items():
        flows[name] = value
    first = 0
    for group in scenario.flows:
        if group.control not in rules:
            rules[group.control] = control.addresses(group.control)
        part = slice(first, first + group.count)
        flows["rule"][part] = list(rules).index(group.control)
        for name, value in _parameters(scenario, group).items():
            flows[name][part] = value
        _draw(scenario, group, word, first, flows)
        routes += _draw_ways(scenario, group, word, first)
        first += group.count
    return routes, np.array(list(rules.values()), np.int64).reshape(-1, 3)


#: What is not 0 in a record before the run.
_AT_FIRST = {
    "backoff": 1,
    **dict.fromkeys(
        ("sack_min", "sack_max", "sack_second", "sack_third", "scan", "rcv_max", "echo", "epoch_index"), -1
    ),
    **dict.fromkeys(("min_rtt", "deadline", "due", "finish"), math.inf),
}


def _parameters(scenario: Scenario, group: Flows) -> dict[str, Any]:
    """Fields that are the same for all flows of a group."""
    s = group.settings()
    fields = {
        "book": list(BOOKS).index(group.compat),
        "algorithm": k.SENDERS.index(group.sender),
        "window": group.window_limit,
        "packet_size": group.packet_size,
        "ack_size": group.ack_size,
        "limit": k.UNLIMITED if group.segments is None else group.segments + s["handshake"],
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
        **BOOKS[group.compat].flow_fields(s),
        **{f"p{j}": value for j, value in enumerate(group.parameters)},
    }
    if group.open_loop and group.rate is not None:
        fields["interval"] = on_clock(scenario, 8.0 * group.packet_size / group.rate)
    return fields


def _draw(scenario: Scenario, group: Flows, word: int, first: int, flows: Any) -> None:
    """Random streams, starts, phases of the clock and sizes of a group's flows."""
    s = group.settings()
    elapsed = 0.0
    for i in range(first, first + group.count):
        for name, purpose in (("jitter", k.JITTER), ("loss", k.LOSS), ("hold", k.HOLDING), ("gap", k.GAPS)):
            flows[f"{name}_key"][i] = stream(word, purpose, i)
        late = first_draw(word, k.STARTING, i)
        if group.arrival_rate is not None:
            elapsed += -math.log1p(-late) / group.arrival_rate
            start = group.start + elapsed
        else:
            start = group.start + s["start_spread"] * late
        flows["start"][i] = on_clock(scenario, start)
        if group.clock_phase is not None:
            flows["phase"][i] = group.clock_phase
        elif group.compat == "ns2" and scenario.count == 1:
            flows["phase"][i] = s["timer_granularity"] * NS2_PHASE
        else:
            flows["phase"][i] = s["timer_granularity"] * first_draw(word, k.CLOCK, i)
        if group.segments_shape is not None and group.segments is not None:
            size = _pareto(group.segments, group.segments_shape, first_draw(word, k.SIZES, i))
            flows["limit"][i] = size + s["handshake"]


def _draw_ways(scenario: Scenario, group: Flows, word: int, first: int) -> list[Any]:
    """(links there, links back) of each flow of a group, drawn uniformly over the pairs of different ends."""
    if not scenario.links:
        return []
    pairs = scenario.routes_of(group)
    if len(pairs) == 1:
        return pairs * group.count
    return [pairs[int(first_draw(word, k.ENDS, first + j) * len(pairs))] for j in range(group.count)]


def _pareto(mean: int, shape: float, drawn: float) -> int:
    """A whole number >= 1 from a Pareto law with this mean."""
    least = mean * (shape - 1.0) / shape
    drawn_size: float = least * (1.0 - drawn) ** (-1.0 / shape)
    return max(1, round(min(drawn_size, 1e12)))


#: Where the clock of ns-2's only sender stands, in ticks, when its random numbers have their default seed: the second
#: draw of MRG32k3a (L'Ecuyer, Operations Research 47, 1999) from a state of ones. A sender draws when it is made and
#: again when the simulation starts.
NS2_PHASE = 1193744747 / 2147483647
