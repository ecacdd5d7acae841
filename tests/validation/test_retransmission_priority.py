"""Retransmissions first: against a gateway written again in plain lists, its promises, and what it refuses."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tcpdynamics.errors import ScenarioError
from tcpdynamics.validation import ns2
from tcpdynamics.validation.packet import (
    Bottleneck,
    Flows,
    Link,
    Record,
    Scenario,
    parse_scenario,
    simulate,
    sweep_scenarios,
)
from tcpdynamics.validation.packet.scenario.changes import changed, put

PRIORITY = {"priority": "retransmissions"}
#: A sending time that no multiple of the timers' tick meets, for ties are not judged here.
SIZE, RATE, DELAY = 500, 1.9703e5, 0.02


@st.composite
def gateways(draw: st.DrawFn) -> dict[str, Any]:
    """What a link with the priority may be given."""
    buffer = draw(st.sampled_from([2, 5, 12, 30]))
    made: dict[str, Any] = {"buffer": buffer, **PRIORITY}
    if draw(st.booleans()):
        made["priority_buffer"] = draw(st.integers(1, buffer - 1))
    if draw(st.booleans()):
        lanes = draw(st.sampled_from([1, 2, 5]))
        made |= {"queue": "sfq", "queue_parameters": {"queues": lanes, "lane_limit": draw(st.integers(0, 4))}}
    return made


def scenario(gateway: dict[str, Any], seed: int, count: int = 6) -> Scenario:
    """Flows from one node to another, whose packets arrive at the link at the time at which they are sent."""
    flows = tuple(
        Flows(count // 2, sender, rules, source="a", target="b", packet_size=SIZE, handshake=False, start_spread=1.0)
        for sender, rules in (("sack", "ns2"), ("newreno", "ns2"))
    )
    links = (
        Link("a", "b", RATE, DELAY, duplex=False, **gateway),
        Link("b", "a", None, DELAY, duplex=False, jitter=0.005),  # so that no packet comes just as another leaves
    )
    record = Record(sends=True, receives=True, drops=True, queues=0.0)
    return Scenario(
        flows, None, 20.0, 0.0, links=links, seed=seed, epoch=0.1, slice=10.0, clock="double", record=record
    )


def by_hand(packets: list[tuple[float, int, int]], gateway: dict[str, Any]) -> tuple[list[int], dict[int, float]]:
    """Packets (time, flow, kind) through the gateway: the lost ones, and when each other one has been sent."""
    values = gateway.get("queue_parameters", {"queues": 1, "lane_limit": 0})
    limit, places = gateway["buffer"] - 1, gateway.get("priority_buffer")
    urgent: deque[int] = deque()
    lanes: dict[int, deque[int]] = {}  # in the order of their turns
    lost: list[int] = []
    done: dict[int, float] = {}
    free = 0.0

    def serve(until: float) -> None:
        nonlocal free
        while (urgent or lanes) and free <= until:
            if urgent:
                number = urgent.popleft()
            else:
                lane, waiting = next(iter(lanes.items()))
                number = waiting.popleft()
                del lanes[lane]
                if waiting:
                    lanes[lane] = waiting
            free += 8 * SIZE / RATE
            done[number] = free

    for number, (time, flow, kind) in enumerate(packets):
        serve(time)
        if free <= time:  # idle
            free = time + 8 * SIZE / RATE
            done[number] = free
            continue
        new = sum(map(len, lanes.values()))
        if kind != 0:
            if places is not None:
                kept = len(urgent) < places
            else:
                kept = new + len(urgent) < limit or new > 0
            (urgent if kept else lost).append(number)
        else:
            lane = flow % values["queues"]
            if values["lane_limit"] and len(lanes.get(lane, ())) >= values["lane_limit"]:
                lost.append(number)
                continue
            lanes.setdefault(lane, deque()).append(number)
        while lanes and sum(map(len, lanes.values())) > limit - (len(urgent) if places is None else places):
            longest = max(map(len, lanes.values()))
            own = flow % values["queues"] if kind == 0 else next(iter(lanes))
            turn = [lane for lane in (own, *lanes) if len(lanes.get(lane, ())) == longest]
            lost.append(lanes[turn[0]].pop())
            if not lanes[turn[0]]:
                del lanes[turn[0]]
    serve(np.inf)
    return lost, done


def check_against_lists(gateway: dict[str, Any], seed: int) -> None:
    result = simulate(scenario(gateway, seed))
    names = ("time", "flow", "kind", "segment")
    sends, receipts, drops = (
        list(zip(*(result[f"{what}_{name}"].values.tolist() for name in names), strict=True))
        for what in ("send", "receive", "drop")
    )
    lost, done = by_hand([row[:3] for row in sends], gateway)
    assert len(drops) > 20
    assert sorted(sends[i][1:] for i in lost) == sorted(row[1:] for row in drops)
    expected = sorted((time + DELAY, *sends[i][1:]) for i, time in done.items() if time + DELAY < 20.0)
    assert len(expected) == len(receipts)
    assert np.allclose([row[0] for row in expected], [row[0] for row in sorted(receipts)], rtol=0, atol=1e-9)
    assert [row[1:] for row in expected] == [row[1:] for row in sorted(receipts)]


def check_promises(gateway: dict[str, Any], seed: int) -> None:
    """Who has which places; who is lost while others wait. `simulate` sees to it that the books balance."""
    made = scenario(gateway, seed, 12)
    result = simulate(made)
    here = result.queue_link.values == 0
    time, waiting, urgent = (result[f"queue_{name}"].values[here] for name in ("time", "packets", "retransmissions"))
    places = gateway.get("priority_buffer")
    assert (urgent >= 0).all() and (urgent <= waiting).all() and waiting.max() <= gateway["buffer"] - 1
    if places is not None:
        assert urgent.max() <= places
        assert (waiting - urgent).max() <= gateway["buffer"] - 1 - places
    repeats = result.drop_time.values[result.drop_kind.values > 0]
    at = np.searchsorted(time, repeats, "right") - 1  # the last arrival of that moment, before it is let in
    assert (time[at] == repeats).all()
    assert (urgent[at] == (waiting[at] if places is None else places)).all()
    again = simulate(made)
    for name, variable in result.data_vars.items():
        assert variable.values.tobytes() == again[name].values.tobytes(), name


def drawn(examples: int) -> settings:
    return settings(
        max_examples=examples, deadline=None, derandomize=examples < 100, suppress_health_check=list(HealthCheck)
    )


@drawn(25)
@given(gateways(), st.integers(0, 2**32))
def test_the_same_packets_leave_as_by_hand(gateway: dict[str, Any], seed: int) -> None:
    check_against_lists(gateway, seed)


@pytest.mark.slow
@drawn(2000)
@given(gateways(), st.integers(0, 2**32))
def test_many_times_the_same_packets_leave_as_by_hand(gateway: dict[str, Any], seed: int) -> None:
    check_against_lists(gateway, seed)


@drawn(15)
@given(gateways(), st.integers(0, 2**32))
def test_promises(gateway: dict[str, Any], seed: int) -> None:
    check_promises(gateway, seed)


@pytest.mark.slow
@drawn(2000)
@given(gateways(), st.integers(0, 2**32))
def test_many_promises(gateway: dict[str, Any], seed: int) -> None:
    check_promises(gateway, seed)


def test_without_retransmissions_it_is_the_queue_behind() -> None:
    """Packets of an open loop are never sent again: drop-tail and SFQ as without the priority."""
    flows = Flows(5, "poisson", rate=5e4, rtt=0.05, start_spread=1.0)
    for queue in ({"queue": "droptail"}, {"queue": "sfq", "queue_parameters": {"queues": 3}}):
        plain, first = (
            simulate(Scenario((flows,), Bottleneck(2e5, 6, **queue, **more), 20.0, 2.0, epoch=0.1))
            for more in ({}, PRIORITY)
        )
        assert int(plain.dropped.sum()) > 50
        for name in ("dropped", "goodput", "utilisation", "mean_queue"):
            assert first[name].values == pytest.approx(plain[name].values), name


def test_lanes_of_a_fixed_size() -> None:
    """Five buffers of five packets: a flow cannot take the places of another lane."""
    values = {"queues": 5, "lane_limit": 5}
    flows = (Flows(1, "cbr", rate=2e5, rtt=0.02), Flows(4, "poisson", rate=3e4, rtt=0.02))
    run = simulate(
        Scenario(
            flows,
            Bottleneck(1e5, 26, queue="sfq", queue_parameters=values),
            20.0,
            2.0,
            epoch=0.1,
            record=Record(queues=0.0),
        )
    )
    assert run.queue_packets.max() <= 25
    assert run.dropped.values[0] > 0 and run.link_evicted.sum() == 0


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({**PRIORITY, "queue": "red"}, 'bottleneck.priority is "retransmissions", which goes with queue'),
        ({**PRIORITY, "queue": "priority"}, 'bottleneck.priority is "retransmissions", which goes with queue'),
        ({"priority": "retransmission"}, "bottleneck.priority must be"),
        ({"priority": 1}, "bottleneck.priority must be"),
        ({"priority_buffer": 5}, "bottleneck.priority_buffer needs bottleneck.priority"),
        ({**PRIORITY, "priority_buffer": 25}, "bottleneck.priority_buffer must be"),
        ({**PRIORITY, "priority_buffer": 0}, "bottleneck.priority_buffer must be"),
        ({**PRIORITY, "priority_buffer": 2.5}, "bottleneck.priority_buffer must be"),
        ({**PRIORITY, "buffer": None, "priority_buffer": 2}, "bottleneck.priority_buffer is a part of"),
        ({**PRIORITY, "buffer": None, "buffer_bytes": 5000}, "bottleneck.buffer_bytes cannot be shared out"),
        ({**PRIORITY, "queue": "sfq", "queue_parameters": {"ns2": 1}}, "bottleneck.queue_parameters.ns2 must"),
    ],
)
def test_what_it_cannot_do_is_refused(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Bottleneck(**({"rate": 1e6, "buffer": 25} | values))
    assert words in str(caught.value)


def test_a_link_without_a_queue_has_none_to_give_priority_in() -> None:
    with pytest.raises(ScenarioError, match=r"links.priority of link a->b is .* without a rate"):
        Link("a", "b", None, **PRIORITY)
    with pytest.raises(ScenarioError, match=r"links.service of link a->b must not be"):
        Link("a", "b", 1e6, service="analytic", **PRIORITY)


def test_ns2_has_no_such_gateway() -> None:
    for more in (PRIORITY, {"queue": "sfq", "queue_parameters": {"ns2": 1, "lane_limit": 3}}):
        made = Scenario((Flows(rtt=0.1),), Bottleneck(1e6, 25, **more), 20.0, 2.0)
        with pytest.raises(ScenarioError, match=r"links.priority|links.queue_parameters.lane_limit"):
            ns2.plan(made, 1)


def test_from_a_file() -> None:
    table = {
        "duration": 20, "warm_up": 2, "flows": [{"count": 20, "rtt": "200ms"}],
        "bottleneck": {"rate": "1Mbit/s", "buffer": 25, "priority": "retransmissions", "priority_buffer": 5},
    }  # fmt: skip
    made = parse_scenario(table)
    assert made.ways[0].priority_buffer == 5 and made.ways[0].mechanism == "retransmissions"
    run = simulate(made)
    assert float(run.loss_rate_timeout) < 0.3 * float(run.loss_rate_other)


def test_a_sweep_may_switch_it_off() -> None:
    """`priority` "none" leaves the places of its buffer out; whoever gives them in the same breath is refused."""
    table = {
        "duration": 5, "warm_up": 1, "flows": [{"count": 4, "rtt": "100ms"}],
        "bottleneck": {"rate": "1Mbit/s", "buffer": 25, "priority": "retransmissions", "priority_buffer": 5},
    }  # fmt: skip
    made = parse_scenario(table)
    result = sweep_scenarios(made, {"bottleneck.priority": ["none", "retransmissions"]}, 1)
    alone = simulate(changed(made, {"bottleneck.priority": "none"}), int(result.seed[0]))
    assert float(result.utilisation[0, 0]) == float(alone.utilisation)
    put(table, ["bottleneck", "priority"], "none")
    assert parse_scenario(table).bottleneck == changed(made, {"bottleneck.priority": "none"}).bottleneck
    with pytest.raises(ScenarioError, match=r"bottleneck\.priority_buffer needs bottleneck\.priority"):
        changed(made, {"bottleneck.priority": "none", "bottleneck.priority_buffer": 5})
