"""On ns-2's clock, departures computed on arrival give the packets that events at their time give."""

import dataclasses
import threading

from both_ways import both_ways
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics.validation.packet import Bottleneck, Flows, Link, Record, Scenario, engine, simulate

some = st.sampled_from
TRACED = Record(sends=True, receives=True, drops=True)


@st.composite
def synchronised(draw):
    """Flows whose round trips and starts are multiples of a transmission time, so that events meet."""
    tx = draw(some([0.004, 0.008, 0.001, 0.0123]))
    groups = [
        Flows(
            count=draw(some([1, 2, 3])), sender=draw(some(["reno", "newreno", "sack"])), rules="ns2", packet_size=1000,
            rtt=tx * draw(some([0.25, 0.5, 1, 2, 4, 10, 20, 25, 40])), window_limit=draw(some([10, 40])),
            start=draw(some([0.0, 3 * tx, 7.5 * tx, 0.1])), start_spread=0.0, jitter=0.0, overhead=0.0,
        )
        for _ in range(draw(some([1, 2, 3])))
    ]  # fmt: skip
    bottleneck = Bottleneck(8000 / tx, draw(some([2, 5, 10, 20])))
    record = draw(some([TRACED, Record(sends=True, drops=True, queues=0.0), Record(queues=7 * tx)]))
    return Scenario(tuple(groups), bottleneck, duration=10.0, warm_up=0.5, clock="double", epoch=0.1, record=record)


@settings(max_examples=150, deadline=None)
@given(synchronised())
def test_ties_are_decided_alike(scenario):
    both_ways(scenario)


def test_ties_are_met_and_decided():
    """What the test above draws has ties."""
    tx = 0.008
    flows = tuple(
        Flows(2, "newreno", "ns2", rtt=n * tx, packet_size=1000, start_spread=0.0, jitter=0.0) for n in (2, 20)
    )
    sim = both_ways(Scenario(flows, Bottleneck(1e6, 5), duration=20.0, warm_up=1.0, clock="double", record=TRACED))
    assert sim is not None and sim.links["tied"][0] > 100 and sim.links["keyed"][0] and not sim.links["served"][0]


def test_who_stops_a_run_waits_for_no_second_one(monkeypatch):
    """An order that is unknown after the stop does not begin the run anew."""
    builds, settle, build = [], engine._settle, engine.build

    def tied(sim, *rest):
        sim.world["undecided"] = sim.world["watch"] = 1
        return settle(sim, *rest)

    def counted(*words):
        builds.append(words)
        return build(*words)

    monkeypatch.setattr(engine, "_settle", tied)
    monkeypatch.setattr(engine, "build", counted)
    stop = threading.Event()
    flows = Flows(20, "newreno", "ns2", rtt=(0.1, 0.2), packet_size=1000)
    scenario = Scenario((flows,), Bottleneck(1e7, 50), duration=1000.0, warm_up=1.0)
    run = engine.execute(scenario, 1, lambda share: stop.set(), stop)
    assert run.interrupted and 0.0 < run.stopped < 1000.0 and len(builds) == 1


def test_what_keys_do_not_decide_begins_anew():
    """Two transmissions that begin and end together on two links, towards one queue."""
    links = (
        *(Link(name, "r", 1e6, 0.01, duplex=True) for name in "ab"),
        Link("r", "z", 5e5, 0.02, buffer=4, duplex=True),
    )
    flows = tuple(
        Flows(
            1,
            "newreno",
            "ns2",
            source=name,
            target="z",
            start_spread=0.0,
            jitter=0.0,
            initial_window=4,
            handshake=False,
        )
        for name in "ab"
    )
    scenario = Scenario(flows, links=links, duration=20.0, warm_up=1.0, clock="double", record=TRACED)
    for scheduler in ("calendar", "heap"):
        assert both_ways(dataclasses.replace(scenario, scheduler=scheduler)) is None
    served = dataclasses.replace(scenario, links=tuple(dataclasses.replace(one, service="served") for one in links))
    undecided, as_served = simulate(scenario), simulate(served)
    for name, variable in undecided.variables.items():
        assert variable.values.tobytes() == as_served[name].values.tobytes(), name
