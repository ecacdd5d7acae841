"""Runs made without the chain, followed through its graph: ns-2's own, and the simulator's by default."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.validation.ns2 import run_ns2
from tcpdynamics.validation.packet import Drop, Flows, Link, Record, Scenario, simulate
from tcpdynamics.validation.sender_chain import Setting
from tcpdynamics.validation.sender_chain.explore import Explored, explore

#: Packets of the lossless beginning.
BEFORE = 300
SENDERS = ("tahoe", "reno", "newreno", "sack")


def scenario(setting: Setting, lost: tuple[int, ...], duration: float) -> Scenario:
    """The sender that the setting names, but for these keys as it is by default; these packets are lost."""
    assert setting.backoff_cap == 6  # so that the default largest back-off, 64, is the chain's
    flow = Flows(
        sender=setting.sender, rules=setting.rules, source="sender", target="receiver", window_limit=setting.window,
        limited_transmit=setting.limited_transmit, min_rto=setting.timeout, initial_rto=setting.timeout,
        max_rto=64 * setting.timeout, timer_granularity=setting.tick, start=0.25,
    )  # fmt: skip
    ways = (
        Link("sender", "receiver", rate=None, delay=0.5, duplex=False),
        Link("receiver", "sender", rate=None, delay=0.5, duplex=False),
    )
    drops = tuple(Drop(link="sender->receiver", packet=n) for n in lost)
    chosen: Any = {"warm_up": 0.0, "epoch": 1.0, "slice": 1.0, "record": Record(sends=True), "name": "followed"}
    return Scenario((flow,), links=ways, drops=drops, duration=duration, **chosen)


def follow(explored: Explored, run: xr.Dataset, lost: tuple[int, ...]) -> int:
    """Each instant sends as many packets, after as long, as the graph says; how deep the back-off went."""
    times, is_lost = run.send_time.values, np.zeros(run.sizes["send"], bool)
    is_lost[[n for n in lost if n < len(is_lost)]] = True
    edges = [0, *(np.flatnonzero(np.diff(times) > 0.01) + 1), len(times)]
    node, deepest, expected, before = 0, 1, None, 0.0
    for a, b in pairwise(edges[:-1]):  # the last instant may be cut off
        if a < BEFORE // 2:
            continue
        if expected is not None:
            wait = times[a] - before
            assert abs(wait - expected.time) < 1e-6, f"packet {a} at {times[a]}: after {wait}, not {expected.time}"
            node = expected.target
        at = explored.instants[node]
        assert at.new + at.again == b - a, f"packet {a} at {times[a]}: {b - a} at once, not {at.new + at.again}"
        pattern = int("".join(str(int(x)) for x in is_lost[a:b]), 2)
        expected, before = explored.paths[node][pattern], times[a]
        deepest = max(deepest, explored.backoffs[node])
    return deepest


@pytest.mark.parametrize(
    "window", [pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow), 4]
)
@pytest.mark.parametrize("sender", SENDERS)
@pytest.mark.parametrize("rules", ["ns2", "rfc"])
def test_ns2_and_the_simulator_by_default_follow_the_graph(rules: str, sender: str, window: int) -> None:
    setting = Setting(sender=sender, window=window, rules=rules)
    explored = explore(setting, paths=True)
    for loss, seed in ((0.1, 1), (0.3, 2), (0.4, 3)):
        drawn = np.random.default_rng(seed).random(int(900 / loss)) < loss
        lost = tuple(int(n) + BEFORE for n in np.flatnonzero(drawn)[:1000])
        case = scenario(setting, lost, 3000.0 if loss < 0.2 else 30_000.0)
        deepest = follow(explored, simulate(case), lost)
        if rules == "ns2":
            deepest = min(deepest, follow(explored, run_ns2(case), lost))
        assert deepest > 8 or loss < 0.2, "no run went where the estimate is forgotten"
