"""M/TCP: several routes under one flow, its lists and timers, one-way times, and how its receiver acknowledges."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics.errors import ScenarioError
from tcpdynamics.validation.packet import (
    Drop,
    Flows,
    Link,
    Record,
    Scenario,
    load_scenario,
    parse_scenario,
    ready_scenarios,
    simulate,
)
from tcpdynamics.validation.packet.kernel.paced.mtcp import SCHEMES

some = st.sampled_from
NAMES = "abcefghk"


def network(delays=(0.02, 0.02), rate=1e6, buffer=20, loss=0.0, ack_loss=0.0):
    """Host s, host d, and a route over a, b, ... for each delay [s]."""
    links = []
    for name, delay in zip(NAMES, delays, strict=False):
        links += [Link("s", name, None, 0.001), Link(name, "d", rate, delay, buffer, loss=loss, ack_loss=ack_loss)]
    return tuple(links)


def flow(routes=2, **options):
    ways = tuple(("s", name, "d") for name in NAMES[:routes])
    given_to = {"packet_size": 1000, "window_limit": 20, "segments": 200} | options
    return Flows(1, "mtcp", routes=ways, **given_to)


def scenario(one=None, duration=60.0, record=None, clock="double", drops=(), **options):
    one = flow() if one is None else one
    return Scenario(
        (one,), None, duration, 0.0, links=network(**options), epoch=0.1, slice=duration, clock=clock, drops=drops,
        record=record or Record(),
    )  # fmt: skip


@st.composite
def mixes(draw):
    """One to four routes, alike or not, with losses of both kinds and other flows beside."""
    count = draw(st.integers(1, 4))
    one = flow(
        count,
        rules=draw(some(["ns2", "rfc"])),
        acks=draw(some(SCHEMES)),
        window_limit=draw(some([1, 2, 5, 20, 64])),
        initial_window=1 if draw(st.booleans()) else None,
        segments=draw(some([1, 3, 60, None])),
        stop=draw(some([None, 0.4])),
        parameters={
            "cumulative": draw(some([0, 1])), "per_ack": draw(some([2, 5])), "alpha": draw(some([0.0, 0.875])),
            "beta": draw(some([1.0, 2.0])),
        },
    )  # fmt: skip
    delays = tuple(draw(st.lists(some([0.0, 0.003, 0.02, 0.15]), min_size=count, max_size=count)))
    made = scenario(
        one, draw(some([1.5, 6.0])), Record(windows=0.0, sends=True, receives=True), draw(some(["grid", "double"])),
        delays=delays, rate=draw(some([1e5, 1e6])), buffer=draw(some([2, 5, 30])), loss=draw(some([0.0, 0.05, 0.4])),
        ack_loss=draw(some([0.0, 0.1, 0.6])),
    )  # fmt: skip
    beside = Flows(1, "sack", source="s", target="d") if draw(st.booleans()) else None
    return made if beside is None else dataclasses.replace(made, flows=(*made.flows, beside))


def check(made):
    """Conservation is checked by every run; here windows, order, the same bytes, and that nothing stands still."""
    result = simulate(made)
    one = made.flows[0]
    mine = result.window_flow.values == 0
    assert (result.window_flight.values[mine] <= one.window_limit).all()
    assert (result.window_cwnd.values[mine] <= len(one.routes) * one.window_limit).all()
    assert float(result.route_window.min()) >= 1.0
    assert int(result.route_sent.sel(flow=0).sum()) == int(result.sent[0])
    segments = result.send_segment.values[result.send_flow.values == 0]
    new = segments[result.send_kind.values[result.send_flow.values == 0] == 0]
    assert (new == np.arange(len(new))).all()  # data is sent in order, each segment once as new
    received = result.receive_segment.values[result.receive_flow.values == 0]
    assert len(np.unique(received)) == int(result.goodput[0])
    assert int(result.transferred[0]) <= len(np.unique(received))
    again = simulate(made)
    for name in result.data_vars:
        assert result[name].values.tobytes() == again[name].values.tobytes(), name


@settings(max_examples=40, deadline=None)
@given(mixes())
def test_properties(made):
    check(made)


@pytest.mark.slow
@settings(max_examples=3000, deadline=None)
@given(mixes())
def test_properties_of_many(made):
    check(made)


@settings(max_examples=20, deadline=None)
@given(
    some(SCHEMES), some([0, 1]), some(["ns2", "rfc"]), some([1, 2, 20]), some([0.0, 0.02, 0.3]), some([0.0, 0.13, 0.5]),
    st.integers(0, 1000),
)  # fmt: skip
def test_a_transfer_ends_whatever_is_lost(acks, cumulative, rules, window, loss, ack_loss, seed):
    one = flow(
        acks=acks, rules=rules, window_limit=window, segments=40, max_rto=2.0, initial_rto=1.0,
        parameters={"cumulative": cumulative},
    )  # fmt: skip
    made = scenario(one, 1000.0, loss=loss, ack_loss=ack_loss)
    result = simulate(made, seed=seed)
    assert int(result.transferred[0]) == 40 and np.isfinite(result.finish.values).all()


@pytest.mark.parametrize("acks", SCHEMES)
def test_without_losses_each_segment_goes_once_and_routes_take_turns(acks):
    record = Record(sends=True)
    result = simulate(scenario(flow(acks=acks), record=record, rate=1e8))
    assert int(result.sent[0]) == 200 and int(result.timeouts[0]) == 0
    assert result.route_sent.values.tolist() == [[100, 100]]
    copies = 1 if acks == "immediate" else 2
    answered = 100 if acks == "duplicated_delayed" else 200
    # The last of an odd number under way waits for the timer by itself.
    assert copies * answered <= int(result.acks_sent[0]) <= copies * (answered + 5)


def test_a_lost_segment_goes_over_all_routes_with_room():
    drop = Drop(0, segment=60, link="a->d")
    result = simulate(scenario(record=Record(sends=True), drops=(drop,), rate=1e8))
    sent = result.send_segment.values
    assert (sent == 60).sum() == 3 and len(sent) == 202
    assert int(result.fast_recoveries[0]) == 1 and int(result.timeouts[0]) == 0
    assert result.route_fast_recoveries.values.tolist() == [[1, 0]]


def test_after_a_timeout_the_other_route_takes_over():
    """Route a goes dark: b carries all that is left."""
    links = list(network(rate=1e7))
    links[1] = dataclasses.replace(links[1], changes=((0.0, 1e7), (0.2, 0.0)))
    one = flow(segments=400, min_rto=0.2, acks="duplicated")
    made = dataclasses.replace(scenario(one), links=tuple(links))
    result = simulate(made)
    timeouts = result.route_timeouts.values[0]
    assert int(result.transferred[0]) == 400 and float(result.finish[0]) < 4.0
    assert timeouts[0] >= 1 and timeouts[1] == 0


@pytest.mark.parametrize("delays", [(0.02, 0.02), (0.01, 0.08)])
def test_one_way_times_sum_to_round_trips(delays):
    """Of both kinds of pairs of routes (MATH: the sum is identifiable, the parts are not)."""
    one = flow(segments=1500, window_limit=4, parameters={"alpha": 0.8})  # too few for duplicates
    result = simulate(scenario(one, 200.0, delays=delays, rate=1e8))
    there, back = result.route_time_there.values[0], result.route_time_back.values[0]
    tx, ack = 8000 / 1e8, 320 / 1e8
    true = np.array([[0.002 + tx + ack + a + b for b in delays] for a in delays])
    assert there[:, None] + back[None, :] == pytest.approx(true, rel=1e-3)
    assert there.sum() - back.sum() == pytest.approx(0.0, abs=0.2)


def test_the_ready_scenario():
    made = load_scenario(ready_scenarios()["mtcp_two_routes"])
    assert made.flows[0].acks == "duplicated"
    result = simulate(made)
    assert 1e6 < float(result.goodput_rate[0]) < 2e6
    assert abs(int(result.route_sent[0, 0]) - int(result.route_sent[0, 1])) < 0.1 * int(result.sent[0])


BASE = {
    "duration": "5s", "warm_up": "0s", "epoch": 0.1,
    "links": [{"source": a, "target": b, "rate": "1Mbit/s", "delay": "5ms"} for a, b in ("sa", "ad", "sb", "bd")],
}  # fmt: skip
ROUTES = [["s", "a", "d"], ["s", "b", "d"]]


@pytest.mark.parametrize(
    "flows, words",
    [
        ({"routes": [["s", f"a{i}", "d"] for i in range(9)]}, "flows.routes (number)"),
        ({}, "flows.routes is missing"),
        ({"source": "s", "target": "d"}, "flows.routes is missing"),
        ({"routes": [ROUTES[0]] * 2}, "one route twice"),
        ({"routes": [ROUTES[0], ["s", "b"]]}, "all lead from s to d"),
        ({"routes": [ROUTES[0], ["s", "d"]]}, "does not connect"),
        ({"routes": [ROUTES[0], ["s", "b", "s", "d"]]}, "none of them twice"),
        ({"routes": [["s", "a", "d"], ["s", "x", "d"]]}, "node"),
        ({"routes": "s-d"}, "routes must be a list"),
        ({"routes": ROUTES, "window_limit": 0}, "flows.window_limit"),
        ({"routes": ROUTES, "acks": "sometimes"}, "flows.acks"),
        ({"routes": ROUTES, "source": "s", "target": "d"}, "leave out flows.source"),
        ({"routes": ROUTES, "delayed_ack": 0.1}, "flows.delayed_ack"),
        ({"routes": ROUTES, "control": "cubic"}, "flows.control"),
        ({"routes": ROUTES, "ecn": True}, "flows.ecn"),
        ({"routes": ROUTES, "sack": True}, "flows.sack"),
        ({"routes": ROUTES, "overhead": 0.01}, "flows.overhead"),
        ({"routes": ROUTES, "rate": 1e5}, "flows.rate"),
        ({"routes": ROUTES, "segments": 5, "think": 1.0}, "flows.think"),
        ({"routes": ROUTES, "pool": 1}, "flows.pool"),
        ({"routes": ROUTES, "parameters": {"alpha": 1.5}}, "flows.parameters.alpha"),
        ({"routes": ROUTES, "parameters": [0.5]}, "set by name"),
        ({"routes": ROUTES, "sender": "reno"}, "flows.routes is for sender"),
        ({"acks": "duplicated", "sender": "reno", "source": "s", "target": "d"}, "flows.acks is for sender"),
    ],
)
def test_refusals_name_the_key(flows, words):
    with pytest.raises(ScenarioError, match=words.replace("(", r"\(").replace(")", r"\)").replace(".", r"\.")):
        parse_scenario(BASE | {"flows": [{"sender": "mtcp"} | flows]})


def test_a_bottleneck_is_one_route():
    with pytest.raises(ScenarioError, match=r"flows\.routes need links"):
        parse_scenario({"duration": "5s", "warm_up": "1s", "flows": [{"sender": "mtcp", "routes": ROUTES}]})
