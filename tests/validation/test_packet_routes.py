"""Every way through the engine gives the same packets, so every variable of a result must be the same on all of them.

What is meant to be identical: the list of events (calendar or heap), shortcuts (links that need no event of their own,
receivers that act as soon as their segment has passed its last queue) or none, departures computed on arrival or served
one by one, the bottleneck's shorthand or the same written as links, stopping now and then to look at the keyboard or
not. (Interpreted or compiled: `test_packet_interpreted`. Recorded or not: `test_packet_engine`.) Exceptions:

* Where packets of different flows, or an arrival and a departure, meet at one instant, the order in which events were
  scheduled decides, and that differs between the ways. Delays here are drawn from all real numbers, so no two flows
  meet. What a flow does itself may: acknowledgements come back at the spacing of the slowest queue's departures, and
  what they let go reaches that queue just as another packet leaves it; a segment that such a one sets off arrives just
  as the timer of a delayed acknowledgement expires. Ways that differ must be one once a jitter takes these apart.
* Times that are sums of the same numbers in another order agree to rounding: TOLERANCE times what was added up.
* On a bottleneck `base_rtt` holds propagation only, links have the sending times too, and each link is counted.
"""

import contextlib
import dataclasses
import threading
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tcpdynamics.validation.packet import Bottleneck, Flows, Link, Record, Scenario, engine, setup
from tcpdynamics.validation.packet.result import dataset

#: Of a variable that is a sum of up to 10^5 times of up to 100 s each, in doubles: 10^5 half units in the last place.
TOLERANCE = 1e-9


def some(*values):
    return st.sampled_from(values)


def delays(least, most):
    """Any number between, and shrinking to one that has no simple ratio to another."""
    return st.floats(least, most).map(lambda x: x + 1e-3 * np.pi * least)


@st.composite
def groups(draw, **ends):
    sender = draw(some("sack", "newreno", "reno", "tahoe", "sack", "reno", "poisson"))
    book = draw(some("ns2", "rfc"))
    options = {
        "count": 1 if ends else draw(some(1, 2, 5)),
        "sender": sender,
        "rules": book,
        "packet_size": draw(some(500, 1000, 1500)),
        "start": draw(delays(0.01, 1.0)),
        "start_spread": draw(some(0.0, 0.7)),
        "segments": draw(some(None, None, 3, 100)),
        "window_limit": draw(some(64, 5, 20)),
        "delayed_ack": draw(some(0.0, 0.0, 0.1)),
        "timestamps": draw(st.booleans()),
        "jitter": draw(some(0.0, 0.0, 0.0123)),
        "stop": draw(some(None, None, None, 7.0)),
    }
    if sender == "poisson":
        options["rate"] = draw(some(2e4, 3e5))
    elif book == "ns2":
        options["overhead"] = draw(some(0.0, 0.0, 0.00345))
    if not ends:
        low = draw(delays(0.01, 0.3))
        options["rtt"] = (low, low * draw(st.floats(1.01, 1.5)))
    return Flows(**options, **ends)


@st.composite
def times(draw):
    """Ends of the measured part anywhere: on the way of packets, in the middle of a transmission."""
    duration = draw(delays(0.05, 1.0) | delays(1.0, 12.0))
    return {
        "duration": duration,
        "warm_up": duration * draw(st.floats(0.01, 0.9)),
        "epoch": draw(some(0.1, 0.1, 0.37)),
        "slice": duration / 7,
        "seed": draw(st.integers(0, 1000)),
        "clock": draw(some("grid", "double")),
    }


@st.composite
def shorthands(draw):
    flows = tuple(draw(groups()) for _ in range(draw(some(1, 2))))
    bottleneck = Bottleneck(draw(some(1e6, 1.3e5, 2e7)), draw(some(None, 2, 8, 30)), draw(some(0.0, 0.0, 0.03)))
    return Scenario(flows, bottleneck, **draw(times()))


@st.composite
def networks(draw):
    """Access links of a flow's own or shared, one or two middle links that all share, both ways."""
    several = draw(some(1, 2, 3))
    rate = draw(some(1e6, 1.3e5, 1e7))
    room = draw(some({}, {"buffer": 8}, {"buffer": 25}, {"buffer_bytes": 9000}))
    links = [Link("r1", "r2", rate, draw(delays(0.001, 0.1)), **room, loss=draw(some(0.0, 0.0, 0.02)))]
    last = "r2"
    if draw(st.booleans()):
        jitter = draw(some(0.0, 0.00678))
        links.append(Link("r2", "r3", draw(some(None, 1.07e6)), draw(delays(0.001, 0.1)), 20, jitter=jitter))
        last = "r3"
    flows = []
    for i in range(several):
        for a, b in ((f"s{i}", "r1"), (last, f"d{i}")):
            # No two links of a limited queue alike: packets that have left the one come to the other just as others go.
            access = draw(some(None, 1e7, 1e6, 2e5, 3e5))
            access = access and access * (1 + 0.0137 * len(links))
            links.append(Link(a, b, access, draw(delays(1e-4, 0.2)), draw(some(None, None, 6))))
        ends = [f"s{i}", f"d{i}"]
        if draw(some(False, False, True)):
            ends.reverse()
        flows.append(draw(groups(source=ends[0], target=ends[1])))
    return Scenario(tuple(flows), links=tuple(links), **draw(times()))


def run(scenario, *changes):
    """The result's variables, with parts of the engine replaced."""
    with contextlib.ExitStack() as stack:
        for module, name, value in changes:
            stack.enter_context(mock.patch.object(module, name, value))
        done = engine.execute(scenario, scenario.seed)
        return done, dataset(scenario, scenario.seed, done)


def served(scenario):
    """The same with an event at the end of each transmission."""
    ways = tuple(dataclasses.replace(link, service="served") for link in scenario.links)
    return dataclasses.replace(scenario, links=ways)


def as_links(scenario):
    """A bottleneck's shorthand in full: a quarter of the RTT before it, a quarter after it, half back."""
    b = scenario.bottleneck
    links = [Link("r1", "r2", b.rate, 0.0, b.buffer, loss=b.loss, duplex=False)]
    flows = []
    for group in scenario.flows:
        assert group.count == 1
        rtt, i = group.rtts()[0], len(flows)
        links += [
            Link(f"s{i}", "r1", None, rtt / 4, duplex=False),
            Link("r2", f"d{i}", None, rtt / 4, duplex=False),
            Link(f"d{i}", f"s{i}", None, 2 * (rtt / 4), duplex=False),
        ]
        flows.append(dataclasses.replace(group, rtt=None, source=f"s{i}", target=f"d{i}"))
    return dataclasses.replace(scenario, flows=tuple(flows), bottleneck=None, links=tuple(links))


def equal(a, b, scenario, leave_out=()):
    """Every variable: counts are the same numbers, times agree to rounding."""
    assert set(a.data_vars) == set(b.data_vars)
    size = {"s": scenario.duration}
    for name, variable in a.data_vars.items():
        if name in leave_out:
            continue
        ours, theirs = variable.values, b[name].values
        if ours.dtype.kind == "f":
            np.testing.assert_allclose(
                ours, theirs, rtol=TOLERANCE, atol=TOLERANCE * size.get(variable.units, 1.0), err_msg=name
            )
        else:
            np.testing.assert_array_equal(ours, theirs, err_msg=name)


def check_bounds(scenario, done, data):
    """What must hold on every link, whatever happened."""
    measured = scenario.duration - scenario.warm_up
    assert (data["link_utilisation"].values >= 0).all()
    assert (data["link_utilisation"].values <= 1 + TOLERANCE).all()
    assert (data["link_mean_queue"].values >= 0).all()
    assert (data["link_arrived"].values >= data["link_dropped"].values).all()
    assert (data["link_dropped"].values >= 0).all()
    largest = max(max(group.packet_size, group.ack_size + 24) for group in scenario.flows)
    smallest = min(min(group.packet_size, group.ack_size) for group in scenario.flows)
    for i, way in enumerate(scenario.ways):
        accepted = int(data["link_arrived"][i] - data["link_dropped"][i])
        if way.rate is None:
            assert data["link_mean_queue"][i] == 0 and data["link_utilisation"][i] == 0
            continue
        if way.buffer is not None:
            # Packets at the link at the first moment and at the last are at most `buffer`: what it sent lies between.
            bits = float(data["link_utilisation"][i]) * measured * way.rate
            assert bits <= 8 * largest * (accepted + way.buffer) * (1 + TOLERANCE)
            assert bits >= 8 * smallest * (accepted - way.buffer) * (1 - TOLERANCE)
            assert data["link_mean_queue"][i] <= way.buffer - 1 + TOLERANCE


NO_SHORTCUTS = (setup, "mark_through", lambda *_: None)
LOOKING_UP = (engine, "_BUDGET", 50)


def without_ties(scenario):
    """The same with a jitter too small to matter, which is drawn alike on all ways: no packet meets another."""
    flows = tuple(dataclasses.replace(group, jitter=max(group.jitter, 1e-7)) for group in scenario.flows)
    return dataclasses.replace(scenario, flows=flows)


def check_network(scenario):
    try:
        compare_ways(scenario)
    except AssertionError:
        compare_ways(without_ties(scenario))


def compare_ways(scenario):
    done, data = run(scenario)
    check_bounds(scenario, done, data)
    equal(data, run(dataclasses.replace(scenario, scheduler="heap"))[1], scenario)
    equal(data, run(scenario, LOOKING_UP)[1], scenario)
    equal(data, run(scenario, NO_SHORTCUTS)[1], scenario)
    other, alike = run(served(scenario))
    equal(data, alike, scenario)
    for name in ("met", "tied"):  # of the warnings of phase effects
        np.testing.assert_array_equal(done.links[name], other.links[name], err_msg=name)
    recorded = dataclasses.replace(scenario, record=Record(True, True, True, 0.0, 0.0))
    alike = run(recorded)[1]
    equal(data, alike[list(data.data_vars)], scenario)


def check_shorthand(scenario):
    done, data = run(scenario)
    check_bounds(scenario, done, data)
    equal(data, run(dataclasses.replace(scenario, scheduler="heap"))[1], scenario)
    equal(data, run(scenario, NO_SHORTCUTS)[1], scenario)
    # One group for each flow, or the group's draws would not be those of the links' groups.
    flows = tuple(dataclasses.replace(group, count=1) for group in scenario.flows)
    alone = dataclasses.replace(scenario, flows=flows)
    long, short = run(as_links(alone))[1], run(alone)[1]
    check_bounds(as_links(alone), done, long)
    of_links = [name for name, variable in short.data_vars.items() if "link" in variable.dims]
    equal(short, long, scenario, ("base_rtt", *of_links))
    for name in of_links:
        np.testing.assert_allclose(short[name].values[0], long[name].values[0], rtol=TOLERANCE, err_msg=name)


def check_stopped(scenario, share):
    """A run that is stopped is the run that was meant to end there, in every variable; `share` of what is measured."""
    stop, first = threading.Event(), scenario.warm_up / scenario.duration

    def look(done):
        if done > first + share * (1.0 - first):
            stop.set()

    with mock.patch.object(engine, "_BUDGET", 5), mock.patch.object(engine, "_SETTLING", 10**6):
        done = engine.execute(scenario, scenario.seed, look, stop)
    if not done.interrupted or done.stopped <= scenario.warm_up * (1 + 1e-9) + 1e-3:
        return
    part = dataset(scenario, scenario.seed, done)
    alike = dataclasses.replace(scenario, duration=done.stopped)
    whole, data = run(alike)
    assert whole.stopped == done.stopped
    waits = ["mean_queue", "link_mean_queue"]
    equal(data, part, alike, waits)
    # Nobody remembers who waits in a queue without a limit, where departures are computed on arrival.
    for name in waits:
        known = ~np.isnan(part[name].values)
        np.testing.assert_allclose(part[name].values[known], data[name].values[known], rtol=TOLERANCE, atol=TOLERANCE)
    for way, mean in zip(scenario.ways, part["link_mean_queue"].values, strict=True):
        assert not np.isnan(mean) or (way.buffer is None and way.buffer_bytes is None)


FUZZ = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=40, **FUZZ)
@given(networks())
def test_all_routes_agree_on_networks(scenario):
    check_network(scenario)


@settings(max_examples=40, **FUZZ)
@given(shorthands())
def test_all_routes_agree_on_a_bottleneck(scenario):
    check_shorthand(scenario)


@settings(max_examples=60, **FUZZ)
@given(networks() | shorthands(), st.floats(0.0, 1.0))
def test_a_stopped_run_is_a_shorter_run(scenario, share):
    check_stopped(scenario, share)


@pytest.mark.slow
@settings(max_examples=5000, **FUZZ)
@given(networks() | shorthands(), st.floats(0.0, 1.0))
def test_many_stopped_runs_are_shorter_runs(scenario, share):
    check_stopped(scenario, share)


@pytest.mark.slow
@settings(max_examples=3000, **FUZZ)
@given(networks())
def test_all_routes_agree_on_many_networks(scenario):
    check_network(scenario)


@pytest.mark.slow
@settings(max_examples=3000, **FUZZ)
@given(shorthands())
def test_all_routes_agree_on_many_bottlenecks(scenario):
    check_shorthand(scenario)
