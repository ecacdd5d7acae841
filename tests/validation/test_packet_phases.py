"""Warnings of phase effects go by what happened in a run, not by what was set."""

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics.jain import measured_jain
from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, simulate
from tcpdynamics.validation.packet.phases import CERTAIN, SPREAD, persistence
from tcpdynamics.validation.packet.run_record import PIECES
from tcpdynamics.validation.packet.scenario import topologies

TIMES = {"duration": 150.0, "warm_up": 30.0, "epoch": 0.4}
LARGE = {"packet_size": 1000, "window_limit": 1000}


def warning(*flows, rate=10e6, buffer=100, **options):
    """What is said of flows on a bottleneck."""
    return simulate(Scenario(flows, Bottleneck(rate, buffer), **(TIMES | options))).attrs["warning"]


@pytest.mark.parametrize("clock", ["grid", "double"])
def test_unfair_for_ever(clock):
    """Eleven alike flows whose shares no law of RTTs explains (ns-2.35 has the same: Jain's index 0.76 to 0.85)."""
    text = warning(Flows(11, rtt=(0.045, 0.055), **LARGE), clock=clock)
    assert "the same flows lost more" in text and "11 alike flows" in text and "no full remedy" in text
    assert "the same flows" in warning(Flows(100, rtt=(0.19, 0.21)), rate=1e6, buffer=50, clock=clock)


def test_unfair_on_links_where_each_flow_is_a_group():
    links = topologies.dumbbell(11, 10e6, 100, (0.045, 0.055))
    flows = tuple(Flows(source=f"s{i}", target=f"d{i}", start_spread=1.0, **LARGE) for i in range(11))
    text = simulate(Scenario(flows, links=links, **TIMES)).attrs["warning"]
    assert "11 alike flows" in text


@pytest.mark.parametrize("clock", ["grid", "double"])
@pytest.mark.parametrize("rtt", [0.2, 0.1])
def test_ties(clock, rtt):
    """RTTs that are whole multiples of a packet's sending time: each arrival at the full queue meets a departure."""
    text = warning(Flows(50, rtt=rtt), rate=1e6, buffer=30, clock=clock)
    assert "came just as another left" in text and "link bottleneck" in text


def test_a_little_jitter_does_not_silence_it():
    """A thousandth of a sending time breaks no step; the warning looks at what came of it."""
    flows = Flows(11, rtt=(0.045, 0.055), jitter=8e-7, **LARGE)
    assert "the same flows" in warning(flows)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    count=st.sampled_from([2, 3, 5, 11, 40]),
    sender=st.sampled_from(["sack", "newreno", "reno", "tahoe"]),
    book=st.sampled_from(["ns2", "rfc"]),
    rtt=st.floats(0.03, 0.3),
    spread=st.sampled_from([1.0, 1.2, 3.0]),
    steps=st.floats(5.0, 30.0),
    buffer=st.sampled_from([5, 20, 80]),
    loss=st.sampled_from([0.0, 0.0, 0.02]),
    seed=st.integers(0, 10**6),
)
def test_no_false_alarm_where_chance_decides(count, sender, book, rtt, spread, steps, buffer, loss, seed):
    """Every packet is delayed at random by several sending times: what is left is chance, and the RTTs."""
    flows = Flows(count, sender, book, rtt=(rtt, rtt * spread), jitter=steps * 0.004, initial_window=2)
    assert "phase effect" not in warning(flows, rate=1e6, buffer=buffer, seed=seed)


@pytest.mark.parametrize("flows", [Flows(30, rtt=0.1), Flows(30, rtt=(0.05, 0.3)), Flows(30, "poisson", rate=1e5)])
def test_no_false_alarm_without_a_full_queue(flows):
    text = simulate(Scenario((flows,), Bottleneck(1e8, None, 0.05), **TIMES)).attrs["warning"]
    assert text == ""


def test_one_flow_has_nobody_to_be_unfair_to():
    assert warning(Flows(1, rtt=0.1), rate=1e6, buffer=20) == ""


@pytest.mark.parametrize("own", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("ratio", [0.003, 0.05, 0.3])
def test_the_estimate_is_right_where_the_truth_is_known(own, ratio):
    """Binomial losses whose own ratios are known: the estimate is unbiased, and certain only if they differ."""
    rng = np.random.default_rng(7)
    squares, certain = [], []
    for _ in range(300):
        mine = np.clip(ratio * (1 + own * rng.choice([-1, 1], 20)), 0, 1)
        arrived = rng.integers(500, 2000, (20, PIECES))
        lost = rng.binomial(arrived, mine[:, None])
        spread, sure = persistence(arrived, lost, np.full(20, 0.1))
        squares.append(np.sign(spread) * spread**2)
        certain.append(sure)
    # The excess is taken from the mean of 20 flows, which takes a twentieth of the variance along.
    truth = own**2 * 19 / 20
    assert abs(np.mean(squares) - truth) < 4 * np.std(squares) / np.sqrt(300) + 0.02 * truth
    if own == 0.0:
        # A normal variable exceeds 4 once in 30,000 times; the sum of products has heavier tails.
        assert (np.array(certain) > CERTAIN).mean() < 0.01 and abs(np.mean(certain)) < 0.4
    else:
        assert np.mean(certain) > 0.3


def test_what_rtts_explain_is_no_phase_effect():
    rtt = np.linspace(0.05, 0.2, 12)
    arrived = np.full((12, PIECES), 1000.0)
    lost = arrived * (0.02 + 0.5 * (rtt - rtt.mean()))[:, None]
    spread, _ = persistence(arrived, lost, rtt)
    assert not spread > SPREAD
    assert np.isnan(persistence(arrived[:3], lost[:3], rtt[:3])).all()  # too few to tell a law from an exception
    assert np.isnan(persistence(arrived, 0 * lost, rtt)).all()


def test_shares_that_no_law_explains():
    """Two or three flows of different RTTs, of whose losses nothing can be said."""
    flows = Flows(3, rtt=(0.0334, 0.0401), packet_size=1000, window_limit=1000)
    text = warning(flows, rate=2e6, buffer=14)
    assert "the same flows got more" in text and "3 alike flows" in text


def test_the_remedy_is_measured():
    """The sentence on jitter says what a run with it has."""
    flows = Flows(11, rtt=(0.045, 0.055), packet_size=1500, window_limit=1000)
    text = warning(flows)
    said = re.search(
        r'flows.jitter = "([\d.]+)ms" these 11 flows have a Jain index of ([\d.]+) instead of ([\d.]+)', text
    )
    jitter, after, before = map(float, said.groups())
    result = simulate(Scenario((dataclasses.replace(flows, jitter=jitter / 1e3),), Bottleneck(10e6, 100), **TIMES))
    assert f"{float(measured_jain(result.goodput.values)):.2f}" == said[2] and after > before + 0.2
    assert result.attrs["warning"] == ""


@pytest.mark.slow
def test_both_kinds_of_error_on_drawn_scenarios():
    """Of 100 scenarios: warned where a random delay makes shares much more even, silent where it changes nothing."""
    rng = np.random.default_rng(2)
    ruled, even = [], []
    for _ in range(100):
        rate, size = float(rng.choice([1e6, 2e6, 5e6, 1e7, 2e7])), int(rng.choice([500, 1000, 1500]))
        rtt, spread = (
            float(np.exp(rng.uniform(np.log(0.02), np.log(0.25)))),
            float(rng.choice([1.0, 1.05, 1.2, 1.5, 3.0])),
        )
        buffer = int(max(5, min(200, rate * rtt / 8 / size * np.exp(rng.uniform(np.log(0.3), np.log(3))))))
        sending = size * 8 / rate
        flows = Flows(
            int(rng.choice([2, 3, 5, 8, 11, 16, 25, 40])), str(rng.choice(["sack", "newreno", "reno"])),
            str(rng.choice(["ns2", "rfc"])), rtt=(rtt, rtt * spread), packet_size=size, window_limit=1000,
            jitter=float(rng.choice([0, 0, 0, 0.3, 1, 3, 10])) * sending,
        )  # fmt: skip
        length = float(min(300, max(100, 3e5 * sending)))
        options = {"rate": rate, "buffer": buffer, "duration": length, "warm_up": length / 5, "epoch": rtt}
        fair = []
        for jitter in (flows.jitter, max(flows.jitter, 10 * sending)):
            one = dataclasses.replace(flows, jitter=jitter)
            text = warning(one, **options)
            result = simulate(Scenario((one,), Bottleneck(rate, buffer), **TIMES | {k: options[k] for k in TIMES}))
            fair.append((_of_the_law(result), text))
        gain = fair[1][0] - fair[0][0]
        if gain > 0.1:
            ruled.append(bool(fair[0][1]))
        elif gain < 0.03:
            even.append(bool(fair[0][1]))
    assert len(ruled) > 20 and np.mean(ruled) > 0.75
    assert len(even) > 30 and np.mean(even) < 0.05


def _of_the_law(result):
    """Jain's index of goodput over the power of the RTT that fits it best."""
    goodput, rtt = np.maximum(result.goodput.values, 0.5), np.nan_to_num(result.mean_rtt.values, nan=1.0)
    if np.ptp(rtt) > 1e-9 and len(goodput) > 3:
        slope, level = np.polyfit(np.log(rtt), np.log(goodput), 1)
        goodput = goodput / np.exp(level + slope * np.log(rtt))
    return float(measured_jain(goodput))
