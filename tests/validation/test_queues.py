"""Queue disciplines: conservation, the buffer, seeds, promises to a lone flow, what is recorded, what is refused."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tcpdynamics.validation.packet import (
    Bottleneck,
    Flows,
    Link,
    Record,
    Scenario,
    ScenarioError,
    engine,
    parse_scenario,
    simulate,
)
from tcpdynamics.validation.packet.kernel import records
from tcpdynamics.validation.packet.kernel.queues import DISCIPLINES

NAMES = tuple(DISCIPLINES)

#: Of each discipline, values that Hypothesis may give it; any of them fit together.
DRAWN: dict[str, dict[str, tuple[float, ...]]] = {
    "droptail": {},
    "red": {
        "min_threshold": (2, 0, 0.5), "max_threshold": (15, 6, 1e6), "p_max": (0.1, 1.0, 1e-9),
        "weight": (0.002, 1.0, 0.1),
        "gentle": (0, 1), "bytes": (0, 1), "wait": (0, 1), "mark_p": (1, 0, 0.1), "mean_packet": (500, 1, 100000),
        "ns2": (0, 1, 2), "linux": (0, 1),
    },
    "sfq": {"queues": (16, 1, 2, 3, 500), "perturbation": (0, 0.01, 1.0), "ns2": (0, 1), "lane_limit": (0, 1, 5)},
    "drr": {"queues": (16, 1, 2, 3, 500), "quantum": (1500, 40, 100000), "ns2": (0, 1)},
    "codel": {"target": (0.005, 1e-9, 0.09), "interval": (0.2, 0.11, 5.0), "mtu": (1500, 0), "linux": (0, 1)},
    "fq_codel": {
        "queues": (1024, 1, 2, 3), "quantum": (1514, 40, 100000), "target": (0.005, 1e-9, 0.09),
        "interval": (0.2, 0.11, 5.0), "mtu": (1500, 0), "linux": (0, 1),
    },
    "pie": {
        "target": (0.015, 1e-9, 1.0), "update": (0.015, 0.001, 1.0), "alpha": (0.125, 0, 100), "beta": (1.25, 0, 100),
        "burst": (0.15, 0, 10), "mark_p": (0.1, 0, 1), "mean_packet": (500, 1), "linux": (0, 1),
    },
    "priority": {"queues": (2, 1, 3, 100)},
    "step": {"threshold": (20, 0, 3), "bytes": (0, 1)},
    "proportional": {"min_threshold": (1, 0), "max_threshold": (10, 6, 1e6), "p_max": (1.0, 0.1)},
}  # fmt: skip


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Two queues of one discipline and one in between, flows of all kinds both ways."""

    def one_of(*values: Any) -> Any:
        return draw(st.sampled_from(values))

    def queue() -> dict[str, Any]:
        name = one_of(*NAMES)
        values = {key: one_of(*some) for key, some in DRAWN[name].items() if one_of(False, True)}
        if name == "red" and values.get("linux"):
            values = {key: value for key, value in values.items() if key not in ("gentle", "bytes", "wait", "ns2")}
        limit = one_of({"buffer": 10}, {"buffer": 1}, {"buffer": 50}, {"buffer_bytes": 4000}, {"buffer_bytes": 1}, {})
        return {"queue": name, "queue_parameters": values} | limit

    links = (
        Link("a", "b", one_of(1e6, 2e5, 1e7), one_of(0.01, 0.0), **queue()),
        Link("b", "c", one_of(5e5, 3e6), 0.005, loss=one_of(0.0, 0.02), **queue()),
    )
    flows = []
    for _ in range(draw(st.integers(1, 4))):
        sender = one_of("sack", "newreno", "reno", "tahoe", "cbr", "poisson")
        source, target = one_of(("a", "c"), ("c", "a"), ("a", "b"), ("b", "c"))
        rate = one_of(2e5, 2e6) if sender in ("cbr", "poisson") else None
        flows.append(
            Flows(
                draw(st.integers(1, 4)), sender, one_of("ns2", "rfc"), source=source, target=target, rate=rate,
                ecn=one_of(True, False), packet_size=one_of(500, 40, 1500), priority=one_of(0, 1, 7),
                delayed_ack=one_of(0.0, 0.1), window_limit=one_of(64, 1, 7), start=one_of(0.0, 0.5),
                segments=one_of(None, 1, 50), handshake=one_of(None, True, False),
            )
        )  # fmt: skip
    return Scenario(
        tuple(flows), None, 3.0, 0.5, seed=draw(st.integers(1, 1000)), epoch=0.1, slice=1.0, links=links,
        clock=one_of("grid", "double"), record=Record(queues=0.0),
    )  # fmt: skip


def check_run(scenario: Scenario) -> None:
    """A run ends, its books balance (`simulate` sees to it), no queue is above its buffer, and it repeats itself."""
    result = simulate(scenario)
    for i, way in enumerate(scenario.ways):
        rows = result.queue_link.values == i
        if way.buffer is not None:
            assert result.queue_packets.values[rows].max(initial=0) <= way.buffer - 1, way
        if way.buffer_bytes is not None:
            assert result.queue_bytes.values[rows].max(initial=0) < way.buffer_bytes, way
        assert result.queue_packets.values[rows].min(initial=0) >= 0
    assert (result.utilisation <= 1.0 + 1e-9).all()
    again = simulate(scenario)
    for name, variable in result.data_vars.items():
        assert variable.values.tobytes() == again[name].values.tobytes(), name


def _drawn(examples: int) -> settings:
    return settings(max_examples=examples, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.mark.filterwarnings("ignore::tcpdynamics.errors.UnusualValueWarning")  # buffers without room for a packet
def test_drawn_scenarios_keep_to_the_rules() -> None:
    @_drawn(25)
    @given(scenarios())
    def check(scenario: Scenario) -> None:
        check_run(scenario)

    check()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tcpdynamics.errors.UnusualValueWarning")
def test_many_drawn_scenarios_keep_to_the_rules() -> None:
    @_drawn(10_000)
    @given(scenarios())
    def check(scenario: Scenario) -> None:
        check_run(scenario)

    check()


def alone(queue: str, **flow: Any) -> Scenario:
    return Scenario((Flows(rtt=0.05, **flow),), Bottleneck(1e6, 50, queue=queue), 20.0, 2.0, epoch=0.1)


@pytest.mark.parametrize("queue", NAMES)
def test_a_lone_flow_below_the_rate_is_let_through(queue: str) -> None:
    """No discipline touches packets that never wait, nor a window that fits the path."""
    for scenario in (alone(queue, sender="cbr", rate=9e5), alone(queue, sender="sack", window_limit=8, ecn=True)):
        result = simulate(scenario)
        assert int(result.sent.sum()) > 1000
        assert int(result.dropped.sum()) == 0
        assert queue == "droptail" or int(result.link_marked.sum()) == 0


def crowd(queue: str, **options: Any) -> Scenario:
    flow = Flows(10, rtt=(0.05, 0.1), packet_size=1000, ecn=True, start_spread=1.0)
    values = options.pop("queue_parameters", {})
    return Scenario((flow,), Bottleneck(4e6, 60, queue=queue, queue_parameters=values), 30.0, 5.0, epoch=0.1, **options)


@pytest.mark.parametrize("queue", ["red", "codel", "fq_codel", "pie", "step", "proportional"])
def test_marks_replace_losses(queue: str) -> None:
    values = {"mark_p": 1.0} if queue in ("red", "pie") else {}
    marked = simulate(crowd(queue, queue_parameters=values))
    plain = crowd(queue, queue_parameters=values)
    lost = simulate(dataclasses.replace(plain, flows=(dataclasses.replace(plain.flows[0], ecn=False),)))
    assert int(marked.link_marked.sum()) > 50
    assert int(lost.link_marked.sum()) == 0
    assert int(lost.dropped.sum()) > 50
    assert int(marked.dropped.sum()) < 0.1 * int(lost.dropped.sum())


@pytest.mark.parametrize("queue", NAMES[1:])
def test_the_state_is_recorded(queue: str) -> None:
    file = DISCIPLINES[queue]
    assert 1 <= len(file.RECORDED) <= 4
    assert tuple(file.RECORDED) == (file.STATE.names or ())[: len(file.RECORDED)]
    assert file.STATE.itemsize >= 8 * len(file.RECORDED)
    result = simulate(crowd(queue, record=Record(queues=0.05)))
    for name, (unit, _) in file.RECORDED.items():
        values = result[f"queue_{name}"].values
        assert result[f"queue_{name}"].attrs["units"] == unit
        assert np.isfinite(values).all() and values.max() > 0.0 and values.min() >= 0.0, name


@pytest.mark.parametrize("queue", DISCIPLINES)
def test_a_sample_reads_no_further_than_the_memory(queue: str) -> None:
    sim = engine.build(Scenario((Flows(rtt=0.1),), Bottleneck(1e6, 20, queue=queue)), 1)
    assert len(sim.queue_state) >= int(sim.links["state"].max()) + 8 * (records.OF_ROUTER - records.OF_DISCIPLINE)


def test_only_links_with_the_discipline_record_its_state() -> None:
    links = (
        Link("a", "b", 1e6, 0.01, 20, queue="codel"), Link("b", "c", 8e5, 0.01, 20, queue="pie"),
        Link("c", "d", 7e5, 0.01, 20),
    )  # fmt: skip
    flow = Flows(4, source="a", target="d")
    result = simulate(Scenario((flow,), links=links, duration=5.0, warm_up=1.0, record=Record(queues=0.1)))
    by_link = {i: result.queue_delay.values[result.queue_link.values == i] for i in range(6)}
    assert np.isfinite(by_link[0]).all() and np.isfinite(by_link[2]).all()
    assert np.isnan(by_link[4]).all()
    assert np.isnan(result.queue_count.values[result.queue_link.values == 2]).all()
    assert int(result.link_evicted.sel(link="b->c")) == 0


def test_priority_serves_the_higher_class_first() -> None:
    """A flow of class 0 waits for the packet being sent at most; class 1 has what is left, and loses."""
    flows = (
        Flows(sender="cbr", rate=3e5, rtt=0.02, packet_size=1000, priority=0),
        Flows(sender="cbr", rate=9e5, rtt=0.02, packet_size=1000, priority=1),
    )
    scenario = Scenario(
        flows, Bottleneck(1e6, 20, queue="priority"), 50.0, 5.0, epoch=0.1, record=Record(sends=True, receives=True)
    )
    result = simulate(scenario)
    assert result.dropped.values[0] == 0 and result.dropped.values[1] > 0.15 * result.sent.values[1]
    sent = result.send_time.values[result.send_flow.values == 0]
    received = result.receive_time.values[result.receive_flow.values == 0]
    # A quarter of the RTT before, a quarter behind, its own 8 ms and at most 8 ms of another.
    assert (received - sent[: len(received)]).max() <= 0.01 + 0.016 + 1e-7


def test_more_classes_than_lanes_share_the_last() -> None:
    flow = Flows(2, rtt=0.05, priority=200, ecn=True)
    scenario = Scenario((flow,), Bottleneck(1e6, 10, queue="priority"), 5.0, 1.0, epoch=0.1)
    assert int(simulate(scenario).goodput.sum()) > 900


@pytest.mark.parametrize(
    ("queue", "values", "words"),
    [
        ("red", {"min_threshold": 20}, "bottleneck.queue_parameters.min_threshold must be below"),
        ("red", {"wieght": 0.1}, "unknown key bottleneck.queue_parameters.wieght (did you mean 'weight'?)"),
        ("red", {"gentle": 0.5}, "bottleneck.queue_parameters.gentle must be a whole number"),
        ("red", {"weight": 0.0}, "bottleneck.queue_parameters.weight must be"),
        ("proportional", {"max_threshold": 2}, "bottleneck.queue_parameters.min_threshold must be below"),
        ("drr", {"quantum": 0}, "bottleneck.queue_parameters.quantum must be"),
        ("sfq", {"queues": 0}, "bottleneck.queue_parameters.queues must be"),
        ("codel", {"target": "5 parsecs"}, "bottleneck.queue_parameters.target"),
        ("codel", {"interval": 0.001}, "bottleneck.queue_parameters.target must be below"),
        ("pie", {"target": -1}, "bottleneck.queue_parameters.target must be"),
        ("step", {"threshold": float("nan")}, "bottleneck.queue_parameters.threshold must be"),
        ("priority", {"queues": 1000}, "bottleneck.queue_parameters.queues must be"),
        ("droptail", {"target": 1}, "unknown key bottleneck.queue_parameters.target"),
    ],
)
def test_impossible_parameters_are_refused(queue: str, values: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Bottleneck(1e6, 50, queue=queue, queue_parameters=values)
    assert words in str(caught.value)


def test_names_units_and_truths_are_read() -> None:
    values = {"target": "20ms", "interval": "0.2s", "mtu": "1kB"}
    made = parse_scenario(
        {"flows": [{}], "bottleneck": {"queue": "codel", "queue_parameters": values}, "duration": 2, "warm_up": 1}
    )
    sim = engine.build(made, 1)
    codel, red = (DISCIPLINES[name].STATE for name in ("codel", "red"))
    state = sim.queue_state[: codel.itemsize].view(codel)[0]
    assert state[["target", "interval", "mtu"]].tolist() == (0.02, 0.2, 1e3)
    queue = {"queue": "red", "queue_parameters": {"gentle": True}}
    made = parse_scenario({"flows": [{}], "bottleneck": queue, "duration": 2, "warm_up": 1})
    assert engine.build(made, 1).queue_state[: red.itemsize].view(red)["gentle"][0] == 1.0
    with pytest.raises(ScenarioError, match="fq_codel"):
        Bottleneck(queue="fqcodel")


def test_flow_priority_is_bounded() -> None:
    with pytest.raises(ScenarioError, match=r"flows\.priority"):
        Flows(priority=-1)


# ECN end to end.


def ecn_run(**flow: Any) -> Any:
    flow = {"rtt": 0.1, "ecn": True, "window_limit": 1000, "rules": "rfc"} | flow
    queue = {"queue": "step", "queue_parameters": {"threshold": 10}}
    scenario = Scenario(
        (Flows(**flow),), Bottleneck(4e6, 400, **queue), 30.0, 2.0, epoch=0.1, record=Record(windows=0.0)
    )
    return simulate(scenario)


@pytest.mark.parametrize("rules", ["rfc", "ns2"])
@pytest.mark.parametrize("sender", ["sack", "newreno", "reno"])
def test_a_mark_halves_the_window_once(rules: str, sender: str) -> None:
    """One flow at a step never loses: its window goes up by one a round trip and falls by half, once each time."""
    result = ecn_run(rules=rules, sender=sender)
    assert int(result.dropped.sum()) == 0 and int(result.timeouts.sum()) == 0
    cwnd = result.window_cwnd.values[result.window_time.values > 10.0]
    steps = np.diff(cwnd)
    falls = np.flatnonzero(steps < -1.0)
    assert len(falls) >= 2
    np.testing.assert_allclose(cwnd[falls + 1] / cwnd[falls], 0.5, atol=0.02)
    # From the first mark of a window of data on, its echoes come for a round trip; none of them counts again.
    assert np.diff(falls).min() > 0.8 * cwnd[falls].max() / 2


def test_a_flow_without_ecn_is_lost_where_others_are_marked() -> None:
    flows = (Flows(5, rtt=0.05, ecn=True, rules="rfc"), Flows(5, rtt=0.05, rules="rfc"))
    scenario = Scenario(flows, Bottleneck(4e6, 100, queue="step"), 30.0, 5.0, epoch=0.1)
    result = simulate(scenario)
    assert result.dropped.values[:5].sum() == 0
    assert result.dropped.values[5:].sum() > 20


def test_handshakes_and_repeats_are_not_marked() -> None:
    """At a threshold of nothing every packet that may be marked is, and the others are lost."""
    flows = (
        Flows(sender="cbr", rate=2e6, rtt=0.05, packet_size=500, ecn=False),
        Flows(rtt=0.05, ecn=True, rules="rfc", handshake=True, start=1.0),
    )
    queue = {"queue": "step", "queue_parameters": {"threshold": 0}}
    record = Record(drops=True, sends=True)
    scenario = Scenario(flows, Bottleneck(1e6, 400, **queue), 10.0, 0.0, epoch=0.1, record=record)
    result = simulate(scenario)
    mine = result.drop_flow.values == 1
    assert set(result.drop_kind.values[mine]) <= {0, 1, 2, 3}
    new = mine & (result.drop_kind.values == 0)
    assert set(result.drop_segment.values[new]) <= {0}
