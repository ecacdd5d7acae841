"""T-REFWA in packets: codes, shares, windows on the way down, what senders do with them, and who is refused."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics.errors import ScenarioError
from tcpdynamics.models.t_refwa.feedback import RttCode
from tcpdynamics.models.t_refwa.measured import TRefwaBiased
from tcpdynamics.validation.packet import Bottleneck, Flows, Link, Record, Scenario, parse_scenario, simulate
from tcpdynamics.validation.packet.engine import execute
from tcpdynamics.validation.packet.kernel.routers import t_refwa
from tcpdynamics.validation.packet.scenario.changes import changed
from tcpdynamics.validation.packet.setup import build

RATE, BUFFER = 20e6, 200
BASE = {"measured_rtt": 0, "idle": 3}


def star(rtts, parameters=BASE, rate=RATE, buffer=BUFFER, counts=None, record=0.02, duration=12.0, link=None, **flow):
    """Flows over one link to receivers that are so far away that round trips take `rtts`."""
    way = {"router": "t_refwa", "router_parameters": parameters} | (link or {})
    links = [Link("s", "r", None, 0.001), Link("r", "u", rate, 0.001, buffer, **way)]
    links += [Link("u", f"d{j}", None, rtt / 2 - 0.002) for j, rtt in enumerate(rtts)]
    settings = {"sender": "newreno", "rules": "rfc", "packet_size": 1000, "window_limit": 2000} | flow
    flows = tuple(
        Flows(n, source="s", target=f"d{j}", start_spread=0.2, **settings)
        for j, n in enumerate(counts or [1] * len(rtts))
    )
    made = Record(queues=record, windows=0.01) if record else Record()
    return Scenario(flows, None, duration, duration / 2, links=tuple(links), epoch=1.0, slice=1.0, record=made)


def of_router(result, name, link="r->u"):
    """Samples of the measured half, of one link."""
    mine = result.queue_link.values == list(result.link.values).index(link)
    return result[name].values[mine & (result.queue_time.values > float(result.slice[0]))]


#: As Python; compiled it is part of a hook.
code_of = getattr(t_refwa.code_of, "py_func", t_refwa.code_of)


# -- codes and records -----------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(st.floats(1e-5, 1e3))
def test_the_code_is_that_of_the_model(rtt):
    assert code_of(rtt) == RttCode().encode(rtt)


def test_a_sender_that_has_measured_nothing_has_no_code():
    assert code_of(0.0) == code_of(math.inf) == -1.0


def test_groups_decode_as_the_model_does():
    sim = build(star([0.1]), 1)
    where = sim.links["router_groups"][list(star([0.1]).link_names).index("r->u")]
    groups = sim.queue_state[where:][: 64 * t_refwa.GROUP.itemsize].view(t_refwa.GROUP)
    np.testing.assert_allclose(groups["rtt"], [RttCode().decode(c) for c in range(64)], rtol=1e-14)


def test_a_run_without_a_router_keeps_no_headers():
    scenario = star([0.1], {}, record=None, link={"router": "none"})
    assert len(build(scenario, 1).headers) == 1 and build(scenario, 1).world["routing"] == 0
    assert len(build(star([0.1]), 1).headers) == len(build(star([0.1]), 1).events)


# -- what senders do -------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.lists(st.floats(0.01, 0.3), min_size=1, max_size=4),
    st.fixed_dictionaries(
        {
            "phi": st.floats(0.0, 2.0), "psi": st.floats(0.0, 1.0), "idle": st.floats(0.5, 4.0),
            **{name: st.integers(0, 1) for name in ("measured_rtt", "queue_age", "measured_window", "clamped")},
        }
    ),
    st.sampled_from(["newreno", "sack", "reno", "tahoe"]), st.sampled_from(["ns2", "rfc"]),
    st.integers(2, 300), st.sampled_from([0.0, 0.1]), st.sampled_from([0.0, 0.02]), st.integers(1, 1000),
)  # fmt: skip
def test_whatever_is_fed_back(rtts, parameters, sender, rules, buffer, delayed, loss, seed):
    """Books balance (each run checks that), no flow has more under way than its own limit, same seed same bytes."""
    scenario = star(
        rtts, parameters, buffer=buffer, duration=4.0, link={"loss": loss}, sender=sender, rules=rules,
        delayed_ack=delayed, window_limit=300,
    )  # fmt: skip
    first, second = simulate(scenario, seed), simulate(scenario, seed)
    assert (first.window_flight.values <= 300).all()
    for name, variable in first.data_vars.items():
        assert variable.values.tobytes() == second[name].values.tobytes(), name


@pytest.mark.parametrize("sender", ["newreno", "sack", "tahoe"])
@pytest.mark.parametrize("rules", ["ns2", "rfc"])
def test_no_send_beyond_the_advertised_window(sender, rules):
    """Without gains the aggregate stays what the first code says: a window that is known beforehand."""
    scenario = star([0.1], {"phi": 0, "psi": 0, "measured_rtt": 0}, sender=sender, rules=rules, timer_granularity=0.001)
    result = simulate(scenario, 1)
    window = math.floor(RATE / 8000 * RttCode().decode(RttCode().encode(float(result.base_rtt[0]))))
    assert result.window_flight.values.max() == window
    assert int(result.dropped.sum()) == 0


def test_a_window_is_one_packet_at_least():
    """With a negative aggregate flows go on, one packet a round trip."""
    parameters = {"phi": 1.99, "psi": 0, "measured_window": 1, "measured_rtt": 0}
    result = simulate(star([0.1] * 3, parameters, buffer=5000))
    assert of_router(result, "router_window").min() < 0 < result.goodput.values.min()


# -- the aggregate ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("delayed", {"queue_age": 1}),
        ("window", {"queue_age": 0, "phi": 1.0}),
        ("measured", {"measured_window": 1, "phi": 0.3, "psi": 0.2, "queue_age": 0}),
    ],
)
def test_the_queue_rests_where_the_model_says(name, parameters):
    """Sixteen flows of one round-trip time, in several cells of the code; a window is cut to whole packets.

    Flows that begin while others queue never see an empty queue, so that codes differ. A measured aggregate is counted
    over RTT_avg, and what the code errs cancels.
    """
    for rtt in (0.08, 0.1, 0.15):
        result = simulate(star([rtt] * 16, BASE | parameters, duration=20.0))
        base = float(result.base_rtt[0])
        error = 0.0 if name == "measured" else of_router(result, "router_rtt").mean() / base - 1
        gains = {key: parameters[key] for key in ("phi", "psi") if key in parameters}
        rest = TRefwaBiased(bdp=RATE / 8000 * base, buffer=BUFFER, rtt_error=error, **gains).equilibrium()["Q"]
        measured = of_router(result, "queue_packets").mean()
        cut = (0.0, 1.0) if name == "measured" else (1.0, 16.0)
        assert rest - cut[1] <= measured <= rest + 1.0, (rtt, measured, rest)
        assert (of_router(result, "router_flows") == 16).all()


def test_windows_are_in_proportion_to_round_trip_times():
    """Flows have one rate, up to the code's error and the time in the queue, which codes of least times leave out."""
    rtts = [0.03, 0.06, 0.12, 0.24]
    result = simulate(star(rtts, BASE | {"phi": 1.0}, buffer=1000, rate=2e8, duration=20.0))
    wait = of_router(result, "queue_packets").mean() * 8000 / 2e8
    seen = np.array([RttCode().decode(RttCode().encode(r)) / (r + wait) for r in rtts])
    shares = result.goodput.values / result.goodput.values.mean()
    np.testing.assert_allclose(shares, seen / seen.mean(), rtol=0.06)
    assert (of_router(result, "router_groups") == 4).all()


def test_a_window_is_only_lowered_on_the_way():
    """Two routers in a row, the second of a tenth of the rate: its share holds, whatever the first would give."""
    gains = {"router": "t_refwa", "router_parameters": BASE | {"phi": 1.0}}

    def run(rates):
        links = (
            Link("s", "a", None, 0.01), Link("a", "b", rates[0], 0.01, BUFFER, **gains),
            Link("b", "c", rates[1], 0.01, BUFFER, **gains), Link("c", "d", None, 0.02),
        )  # fmt: skip
        flows = Flows(4, "newreno", "rfc", source="s", target="d", packet_size=1000, window_limit=2000)
        record = Record(queues=0.02)
        return simulate(
            Scenario((flows,), None, 20.0, 10.0, links=links, epoch=1.0, slice=1.0, clock="grid", record=record)
        )

    down, up = run((RATE, RATE / 10)), run((RATE / 10, RATE))
    for result, tight, loose in ((down, "b->c", "a->b"), (up, "a->b", "b->c")):
        share = result.link_utilisation.sel(link=[tight, loose]).values
        assert share[0] > 0.99 and share[1] < 0.2
        assert of_router(result, "router_window", loose).mean() > 4 * of_router(result, "router_window", tight).mean()
        assert int(result.link_dropped.sum()) == 0


def test_flows_of_both_directions_have_routers_of_their_own():
    scenario = star([0.1], {"idle": 3})
    back = tuple(
        Flows(1, "newreno", "rfc", source="d0", target="s", packet_size=1000, window_limit=2000) for _ in range(2)
    )
    result = simulate(Scenario(
        scenario.flows + back, None, 12.0, 6.0, links=scenario.links, epoch=1.0, slice=1.0, record=Record(queues=0.02)
    ))  # fmt: skip
    assert set(of_router(result, "router_flows", "r->u")) == {1.0}
    assert set(of_router(result, "router_flows", "u->r")) == {2.0}
    assert (result.link_utilisation.sel(link=["r->u", "u->r"]).values > 0.5).all()


def test_flows_that_are_idle_leave_the_table():
    scenario = star([0.1] * 3, BASE | {"phi": 1.0}, duration=12.0)
    stopping = Flows(2, "newreno", "rfc", source="s", target="d1", packet_size=1000, window_limit=2000, stop=3.0)
    result = simulate(Scenario(
        (scenario.flows[0], stopping), None, 12.0, 6.0, links=scenario.links, epoch=1.0, slice=1.0,
        record=Record(queues=0.02),
    ))  # fmt: skip
    assert set(of_router(result, "router_flows")) == {1.0}
    assert float(result.utilisation) > 0.95


def test_results_do_not_depend_on_the_kind_of_link():
    """Served and analytic links give the same packets, and so do both lists of events."""
    scenario = star([0.08, 0.1], record=None)
    served = star([0.08, 0.1], record=None, link={"service": "served"})
    for a, b in zip(execute(scenario, 3).totals.T, execute(served, 3).totals.T, strict=True):
        np.testing.assert_allclose(a, b, rtol=0.02, atol=2)


# -- who is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"router": "t-refwa"}, "links.router of link r->u must be one of"),
        ({"buffer": None}, 'links.router of link r->u is "t_refwa", which shares the buffer out; give links.buffer'),
        ({"rate": None}, 'links.router of link r->u is "t_refwa", but without a rate no packet waits'),
        ({"duplex": False}, 'links.router of link r->u is "t_refwa", but acknowledgements from d0 do not come back'),
        ({"router_parameters": {"phi": -1}}, "links.router_parameters.phi must be"),
        ({"router_parameters": {"chi": 1}}, "unknown key links.router_parameters.chi"),
        ({"router": "none"}, "unknown key links.router_parameters.idle"),
    ],
)
def test_refusals(change, sentence):
    way = {"source": "r", "target": "u", "rate": 1e6, "buffer": 10, "router": "t_refwa"}
    way |= {"router_parameters": {"idle": 2}} | change
    table = {
        "flows": [{"source": "s", "target": "d0"}],
        "links": [
            {"source": "s", "target": "r"}, {key: value for key, value in way.items() if value is not None},
            {"source": "u", "target": "d0"}, {"source": "u", "target": "s", "duplex": False},
        ],
    }  # fmt: skip
    if "rate" in change:
        with pytest.raises(ScenarioError) as refused:
            Link("r", "u", None, buffer=10, router="t_refwa")
    else:
        with pytest.raises(ScenarioError) as refused:
            parse_scenario(table)
    assert sentence in str(refused.value) and len(str(refused.value)) < 300


def test_a_bottleneck_has_no_router():
    with pytest.raises(ScenarioError, match=r"bottleneck\.router: acknowledgements do not come back over a bottleneck"):
        parse_scenario({"flows": [{}], "bottleneck": {"rate": 1e6, "router": "t_refwa"}})
    assert not hasattr(Bottleneck(), "router")


def test_traffic_without_acknowledgements_passes_a_router_one_way():
    """What has no window needs no way back, and is in no group."""
    links = (Link("s", "d", 1e6, 0.01, 20, router="t_refwa", duplex=False), Link("d", "s", 1e6, 0.01, duplex=False))
    flows = (Flows(1, "cbr", source="s", target="d", rate=5e5),)
    record = Record(queues=0.1)
    scenario = Scenario(flows, None, 4.0, 1.0, links=links, epoch=1.0, slice=1.0, record=record)
    assert set(of_router(simulate(scenario), "router_flows", "s->d")) == {0.0}


@pytest.mark.parametrize(
    "others", [{"router_aware": False, "window_limit": 2000}, {"sender": "tfrc"}, {"sender": "cbr", "rate": 5e6}]
)
def test_flows_that_know_nothing_of_routers(others):
    """They are in no group and have no window but their own; aware flows beside them are."""
    scenario = star([0.1] * 3, duration=16.0)
    beside = Flows(1, source="s", target="d2", rules="rfc", packet_size=1000, **others)
    result = simulate(dataclasses.replace(scenario, flows=(*scenario.flows[:2], beside)))
    assert set(of_router(result, "router_flows")) == {2.0}
    if "router_aware" in others:
        mine = result.window_flow.values == 2
        assert result.window_flight.values[~mine].max() < result.window_flight.values[mine].max()
        assert float(result.goodput[2]) > 0


def test_flows_that_ignore_routers_may_come_back_any_way():
    links = (Link("s", "d", 1e6, 0.01, 20, router="t_refwa", duplex=False), Link("d", "x"), Link("x", "s"))
    flow = Flows(1, source="s", target="d", router_aware=False)
    assert simulate(Scenario((flow,), None, 4.0, 1.0, links=links, epoch=1.0, slice=1.0)).goodput.item() > 0
    with pytest.raises(ScenarioError, match=r"links.router of link s->d"):
        Scenario((dataclasses.replace(flow, router_aware=True),), None, 4.0, 1.0, links=links, epoch=1.0)


PLAIN = (Link("s", "r", 1e7, 0.01), Link("r", "d", 1e7, 0.01, 50))
TWO_ROUTES = (("s", "r", "d"), ("s", "q", "d"))


def network(flow, links):
    return Scenario((flow,), None, 4.0, 1.0, links=links, epoch=1.0, slice=1.0)


def test_a_flow_without_a_router_has_none_to_heed():
    """`false` asks for nothing, so that a sweep over `links.router` may leave it there."""
    ends = {"source": "s", "target": "d"}
    with pytest.raises(ScenarioError, match=r"flows\.router_aware is true, but no link .* runs a router"):
        network(Flows(router_aware=True, **ends), PLAIN)
    with pytest.raises(ScenarioError, match=r"flows\.router_aware is true, but no link .* runs a router"):
        Scenario((Flows(router_aware=True),), None, 4.0, 1.0)
    for links in (PLAIN, (PLAIN[0], dataclasses.replace(PLAIN[1], router="t_refwa"))):
        assert network(Flows(router_aware=False, **ends), links).count == 1
    with pytest.raises(ScenarioError, match=r'flows\.router_aware must not be true for sender "cbr"'):
        Flows(1, "cbr", rate=1e5, router_aware=True)


def test_mtcp_passes_a_router_only_if_it_says_so():
    links = (PLAIN[0], dataclasses.replace(PLAIN[1], router="t_refwa"), Link("s", "q"), Link("q", "d"))
    flow = Flows(1, "mtcp", routes=TWO_ROUTES)
    with pytest.raises(ScenarioError, match=r'flows\.router_aware must be false for sender "mtcp" over link r->d'):
        network(flow, links)
    with pytest.raises(ScenarioError, match=r'flows\.router_aware must not be true for sender "mtcp"'):
        dataclasses.replace(flow, router_aware=True)
    assert simulate(network(dataclasses.replace(flow, router_aware=False), links)).goodput.item() > 0
    assert network(flow, (*PLAIN, *links[2:])).count == 1
    assert flow.settings()["router_aware"] is False and Flows().settings()["router_aware"] is True


def test_a_gain_that_diverges_is_refused():
    """Beyond phi = 2 the printed recursion leaves any bound; below, it keeps to one, whatever psi and the queue are."""
    with pytest.raises(ScenarioError, match=r"links\.router_parameters\.phi must be at most 2"):
        star([0.1], {"phi": 10, "psi": 10})
    star([0.1], {"phi": 10, "psi": 10, "measured_window": 1})
    rtts, phi, psi = [0.05, 0.1, 0.2], 1.9, 10.0
    record = simulate(star(rtts, {"phi": phi, "psi": psi}))
    pipe = RATE / 8000 * np.nanmax(record.router_rtt.values)
    bound = (phi * pipe + psi * BUFFER) / (1 - abs(1 - phi))
    assert np.nanmax(np.abs(of_router(record, "router_window"))) <= bound


def test_what_no_code_has_come_to_is_not_known():
    """The other direction of a duplex link has a router too, which sees acknowledgements only."""
    result = simulate(star([0.1]))
    for name in ("router_window", "router_rtt"):
        assert np.isnan(of_router(result, name, "u->r")).all() and np.isnan(of_router(result, name, "s->r")).all()
        assert np.isfinite(of_router(result, name)).all()
    assert set(of_router(result, "router_flows", "u->r")) == {0.0}
    assert np.isnan(of_router(result, "router_flows", "s->r")).all()


def test_what_switches_a_router_off_takes_its_parameters_along():
    made = star([0.1], {"phi": 1.0})
    assert changed(made, {"links.1.router": "none"}).links[1].router_parameters == {}
    with pytest.raises(ScenarioError, match=r"links\.router_parameters"):
        changed(made, {"links.1.router": "none", "links.1.router_parameters.phi": 1.0})
