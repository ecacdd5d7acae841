"""Logistic control in packets: the law is its model's, and measurement is what a scenario says that it is."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from tcpdynamics.errors import ScenarioError
from tcpdynamics.models import LogisticAckClocked, LotkaVolterraLink, LotkaVolterraThroughput, per_flow
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.programs.straightline import Builder, run
from tcpdynamics.validation.packet import Bottleneck, Flows, Link, Record, Scenario, print_law, replicate, simulate
from tcpdynamics.validation.packet.kernel import records as k
from tcpdynamics.validation.packet.kernel.windows import logistic
from tcpdynamics.validation.packet.kernel.windows.logistic_law import next_window
from tcpdynamics.validation.statistics import mean_interval

MBIT = 1e6


@njit
def law(w, epsilon, gamma, capacity, cross_traffic, base_rtt):
    """As kernels have it, which Python cannot call."""
    return next_window(w, epsilon, gamma, capacity, cross_traffic, base_rtt)


def path(flows, rate=10 * MBIT, buffer=300, duration=10.0, warm_up=5.0, **more):
    return Scenario(flows, Bottleneck(rate, buffer), duration, warm_up, **more)


def controlled(count=1, rtt=0.1, **parameters):
    return Flows(
        count, "sack", "rfc", control="logistic", parameters=parameters, rtt=rtt, packet_size=1000,
        window_limit=2000, start_spread=0.1,
    )  # fmt: skip


sizes = st.floats(1e-3, 1e6)


def test_the_printed_law_is_the_models_now():
    assert print_law.FILE.read_text() == print_law.text()


@settings(deadline=None)
@given(st.tuples(st.floats(1.0, 1e6), st.floats(1e-3, 10.0), st.floats(0.0, 1.0), sizes, sizes, st.floats(1e-3, 10.0)))
def test_the_packets_law_is_the_models_right_hand_side_bit_for_bit(values):
    program = compile_system(LogisticAckClocked(base_rtt=1.0).ack_map()).rhs
    point = dict(zip(print_law.INPUTS, values, strict=True))
    (model,) = run(program, point, float)
    assert law(*values) == model


on_ack = njit(logistic.on_ack)


@njit
def apply(flows):
    on_ack(flows[0], 1.0, 1)


@settings(deadline=None)
@given(st.floats(1.0, 1e4), st.floats(0.1, 4.0), st.floats(0.0, 1.0), st.floats(1e4, 1e9), st.floats(0.0, 1.0))
def test_the_hook_applies_that_law_to_what_was_measured(w, epsilon, gamma, K, share):
    flows = np.zeros(1, k.FLOW)
    f = flows.view(np.recarray)[0]
    f.cwnd, f.p0, f.p1, f.p2, f.packet_size, f.window, f.rtt, f.una = (w, epsilon, gamma, K, 1000, 10**6, 0.1, 5)
    others = share * K / 8000
    f.x2, f.x3 = 5.0, others  # news that segment 4 carried
    apply(flows)
    program = compile_system(LogisticAckClocked(base_rtt=1.0).ack_map()).rhs
    point = dict(zip(print_law.INPUTS, (w, epsilon, gamma, K / 8000, others, 0.1), strict=True))
    assert f.cwnd == min(run(program, point, float)[0], 1e6)


def test_only_arithmetic_and_names_are_printed():
    from tcpdynamics.solvers.programs.python import python

    b = Builder()
    x = b.input("x")
    with pytest.raises(ValueError, match="step"):
        python(b.build([b.apply("step", x)]), ["x"], "f", "About.")
    with pytest.raises(ValueError, match="identifier"):
        python(b.build([x]), ["x"], "f(", "About.")
    with pytest.raises(ValueError, match="among the inputs"):
        python(b.build([x]), ["y"], "f", "About.")
    assert "math.exp(x)" in python(b.build([b.apply("exp", x)]), ["x"], "f", "About.")


@pytest.mark.parametrize("epsilon", [0.6, 1.95, 3.0])
@pytest.mark.parametrize("book", ["ns2", "rfc"])
def test_one_flow_fills_its_link_and_no_more(epsilon, book):
    flow = dataclasses.replace(controlled(epsilon=epsilon), rules=book)
    result = simulate(path((flow,), record=Record(windows=0.1)))
    assert result.dropped.sum() == 0
    at_rest = result.window_cwnd.values[result.window_time.values > 6.0]
    full = 10 * MBIT / 8000 * float(result.mean_rtt[0])
    # A whole packet less is sent than the window says, so that R is not raised by it.
    assert np.abs(at_rest - full).max() < 1.0
    assert float(result.utilisation) > 1.0 - 1.0 / full


def test_windows_grow_round_by_round_as_the_law_does_for_each_acknowledgement():
    """w acknowledgements a round trip, each of which adds what the law says: (1 + epsilon) at first, not e^epsilon."""
    flow = controlled(epsilon=1.95)
    result = simulate(path((flow,), rate=80 * MBIT, buffer=3000, record=Record(windows=0)))
    time, windows = result.window_time.values, result.window_cwnd.values
    full = 80 * MBIT / 8000 * float(result.mean_rtt[0])
    began = np.flatnonzero(np.diff(windows) > 1.01)[0]  # slow start adds one
    pause = began + np.flatnonzero(np.diff(time[began:]) > 0.03)[0]  # between two trains of acknowledgements
    w, now = windows[pause], time[pause + 1]
    rtt = full / (80 * MBIT / 8000)
    expected, measured = [], []
    while w < 0.9 * full:
        for _ in range(int(w)):
            w = float(law(w, 1.95, 0.9, 80 * MBIT / 8000, 0.0, rtt))
        now += rtt
        expected.append(w)
        measured.append(windows[np.searchsorted(time, now - 1e-9) - 1])
    assert len(expected) > 4
    # A round trip has a whole number of acknowledgements: one in the first of them is the difference.
    assert np.abs(np.log(np.array(measured) / expected)).max() < 1.0 / windows[pause]


def test_shares_are_those_of_the_reading():
    """Fig. 8 at 15 Mbit/s: eq. (9) where the others' throughput is measured, another law where their windows are."""
    access = (10 * MBIT, 15 * MBIT)
    links = [Link("r", "t", 15 * MBIT, 0.04, buffer=375)]
    for i, rate in enumerate((10 * MBIT, 20 * MBIT)):
        links += [Link(f"s{i}", "r", rate, 0.005), Link("t", f"d{i}", rate, 0.005)]
    model = {"flows": 2, "gamma": 0.9, "capacity": per_flow(list(access)), "link": 15 * MBIT}
    for offered, reading in ((0, LotkaVolterraThroughput), (1, LotkaVolterraLink)):
        flows = tuple(
            Flows(control="logistic", rules="rfc", parameters={"offered": offered, "error": 0.05}, source=f"s{i}",
                  target=f"d{i}", packet_size=1000, window_limit=1500)
            for i in range(2)
        )  # fmt: skip
        runs = replicate(Scenario(flows, None, 60.0, 20.0, links=tuple(links)), 5)
        share = mean_interval(runs.goodput.isel(flow=0) / runs.goodput.sum("flow"))
        expected = reading(**model).equilibrium().throughput.values
        assert float(runs.dropped.sum()) == 0
        # One packet in an interval of a BDP of 188 moves a reading by 0.5 %, and gamma/(1 - gamma) times that a share.
        assert abs(float(share["mean"]) - expected[0] / expected.sum()) < 0.01


def test_an_estimate_is_as_late_as_said():
    """Cross traffic that begins at 5 s is felt after the interval, the way to the sender, and the staleness."""

    def felt(**parameters):
        flow = Flows(control="logistic", parameters={"K": "10Mbit/s", **parameters}, rules="rfc", rtt=0.1,
                     packet_size=1000, window_limit=2000, handshake=False)  # fmt: skip
        udp = Flows(sender="cbr", rtt=0.1, rate=5 * MBIT, packet_size=1000, start=5.0)
        result = simulate(path((flow, udp), record=Record(windows=0)))
        own = result.window_flow.values == 0
        time, w = result.window_time.values[own], result.window_cwnd.values[own]
        before = w[time < 5.0][-1]
        return time[(time > 5.0) & (w < before - 1e-6)][0] - 5.0

    prompt = felt(interval=0.25)
    assert 0.075 < prompt < 0.075 + 2 * 0.03
    for late in (1.0, 2.5):
        assert abs(felt(interval=0.25, staleness=late) - prompt - 0.1 * late) < 0.03  # an interval, at most


def test_errors_have_the_stated_spread():
    """dN/dA = gamma for one flow beside a steady one: windows swing by gamma times the error of A, held for a time."""
    flow = controlled(epsilon=30.0, gamma=0.5, interval=4.0, error=0.1)
    udp = Flows(sender="cbr", rtt=0.1, rate=40 * MBIT, packet_size=1000)
    result = simulate(path((flow, udp), rate=80 * MBIT, buffer=3000, duration=400.0, record=Record(windows=0.1)))
    own = (result.window_flow.values == 0) & (result.window_time.values > 10.0)
    windows = result.window_cwnd.values[own]
    capacity = 80 * MBIT / 8000
    levels = windows / (capacity * float(result.base_rtt[0])) - 1.0  # -gamma (K - A)/K; epsilon is large
    assert abs(levels.std() / (0.5 * 0.5 * 0.1) - 1.0) < 0.15  # 1000 independent errors, each seen after its rise


def test_a_timeout_makes_measurements_void():
    """An outage: slow start, as Reno, until something has been measured anew."""
    flow = controlled()
    way = Bottleneck(10 * MBIT, 300, changes=((3.0, 0.0), (4.5, 10 * MBIT)))
    result = simulate(Scenario((flow,), way, 8.0, 1.0, record=Record(windows=0)))
    assert int(result.timeouts[0]) > 0
    time, w = result.window_time.values, result.window_cwnd.values
    at_one = np.flatnonzero((time > 3.0) & (w == 1.0))[-1]
    after = np.diff(w[at_one : at_one + 4])
    assert (after[after > 0] == 1.0).all() and (after > 0).any()
    assert w[-1] > 100


@settings(max_examples=15, deadline=None)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "epsilon": st.floats(0.0, 50.0), "gamma": st.floats(0.0, 1.0), "K": st.sampled_from([1e4, 1e6, 1e9]),
            "interval": st.floats(0.25, 16.0), "error": st.floats(0.0, 1.0), "staleness": st.floats(0.0, 8.0),
            "offered": st.integers(0, 1),
        },
    ),
    st.integers(1, 4), st.sampled_from([2, 20]), st.sampled_from(["reno", "newreno", "sack"]),
    st.sampled_from(["ns2", "rfc"]),
)  # fmt: skip
def test_any_parameters_keep_the_windows_bounds(parameters, count, buffer, sender, book):
    flow = Flows(count, sender, book, control="logistic", parameters=parameters, rtt=0.05, window_limit=50)
    udp = Flows(sender="poisson", rate=2e5, rtt=0.05)
    scenario = path((flow, udp), rate=MBIT, buffer=buffer, duration=3.0, warm_up=0.5, record=Record(windows=0))
    result = simulate(scenario)  # which checks that packets are conserved
    own = result.window_flow.values < count
    # ns-2 halves a window of one, too.
    assert (result.window_cwnd.values[own] >= (0.5 if book == "ns2" else 1.0)).all()
    assert (result.window_flight.values[own] <= 50).all()
    again = simulate(scenario)
    assert all(again[v].values.tobytes() == result[v].values.tobytes() for v in result.data_vars)


@pytest.mark.parametrize(
    ("parameters", "key"),
    [
        ({"error": 2.0}, "flows.parameters.error"),
        ({"error": "200%"}, "flows.parameters.error"),
        ({"interval": 0.1}, "flows.parameters.interval"),
        ({"staleness": 9.0}, "flows.parameters.staleness"),
        ({"gamma": 1.5}, "flows.parameters.gamma"),
        ({"epsilon": -1.0}, "flows.parameters.epsilon"),
        ({"K": -1.0}, "flows.parameters.K"),
        ({"offered": 0.5}, "flows.parameters.offered"),
        ({"delta": 1.0}, "flows.parameters.delta"),
    ],
)
def test_impossible_parameters_are_refused_by_name(parameters, key):
    with pytest.raises(ScenarioError, match=key):
        Flows(control="logistic", parameters=parameters)


def test_a_way_that_cannot_be_measured_is_refused():
    flow = Flows(control="logistic", source="a", target="b")
    with pytest.raises(ScenarioError, match="available bandwidth"):
        Scenario((flow,), None, 1.0, 0.1, links=(Link("a", "b", None, 0.01),))
    with pytest.raises(ScenarioError, match=r"links\.service"):
        Scenario((flow,), None, 1.0, 0.1, links=(Link("a", "b", 1e6, 0.01, service="analytic"),))
