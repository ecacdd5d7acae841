"""Experiments, measures and values of the paper on sub-packet regimes."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.paper_figures.deciding import decide
from tcpdynamics.paper_figures.ledger import claims
from tcpdynamics.paper_figures.sub_packet import measures, values
from tcpdynamics.paper_figures.sub_packet.experiments import EXPERIMENTS, Experiment
from tcpdynamics.paper_figures.sub_packet.findings import (
    arithmetic,
    equations,
    few_states,
    levels,
    repetitive_idle_time,
    shift,
)
from tcpdynamics.paper_figures.sub_packet.senders import timeouts_after_losses

OURS = claims("sub_packet")


def goodput(rows: list[list[float]]) -> xr.Dataset:
    """A run with so many segments in each slice of 5 s."""
    each = np.repeat(np.array(rows) / measures.FOUR, measures.FOUR, axis=0)
    return xr.Dataset({"slice_goodput": (("slice", "flow"), each), "goodput": ("flow", each.sum(axis=0))})


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_all_cases_and_readings_can_be_built(experiment: Experiment) -> None:
    for reading in experiment.reading_labels():
        for case in (experiment.case_labels()[0], experiment.case_labels()[-1]):
            experiment.build(case, reading)
    for case in experiment.case_labels():
        assert experiment.build(case, experiment.reading_labels()[0], "tiny").slice in (5.0, 20.0, 3000.0)


def test_claims_name_cases_that_are_there() -> None:
    known = {one.name: one for one in EXPERIMENTS}
    for claim in OURS.values():
        if claim.decided_by == "model":
            continue
        experiment = known[claim.experiment]
        for case in (claim.case, claim.compared_with):
            assert all(label in experiment.cases[axis] for axis, label in case.items()), claim.id


def test_shares_of_slices() -> None:
    run = goodput([[8, 8, 8, 8, 3, 3, 2, 0, 0, 0]] * 3)
    assert measures.first_forty(run) == pytest.approx(0.8)
    assert measures.next_thirty(run) == pytest.approx(0.2)
    assert measures.last_thirty(run) == 0.0
    assert measures.most_active(run) == 7
    assert measures.locked_out(run) == pytest.approx(0.3)
    assert measures.active_scatter(run) == pytest.approx(0.0, abs=1e-12)
    assert measures.least_share(run) == 0.0
    assert measures.quantiles("slice")["slice_100"](run) == pytest.approx(2.0)


def test_longer_slices_are_fairer_where_flows_take_turns() -> None:
    run = goodput([[4, 0, 0], [0, 4, 0], [0, 0, 4]])
    assert measures.jain_20(run) == pytest.approx(1 / 3)
    assert measures.jain_60(run) == pytest.approx(1.0) == measures.jain_whole(run)


def test_sets_of_flows_in_slices_200_s_apart() -> None:
    assert measures.same_set(goodput([[1, 0, 1, 0]] * 12)) == pytest.approx(1.0)
    assert measures.same_set(goodput([[1, 0, 1, 0]] * 10 + [[0, 1, 0, 1]] * 10)) == pytest.approx(-1.0)


def test_timeouts_by_level() -> None:
    counts = xr.Dataset({"timeouts_by_backoff": (("flow", "backoff"), [[30, 6, 0], [30, 6, 3]]), "loss_rate": 0.1})
    assert measures.repeated(counts) == pytest.approx(15 / 75)


def test_repeats_are_lost_like_other_packets_or_more() -> None:
    run = xr.Dataset(
        {
            "send_time": ("send", [1.0, 150.0, 151.0, 152.0, 153.0, 154.0]), "send_kind": ("send", [2, 0, 2, 2, 0, 0]),
            "drop_time": ("drop", [2.0, 152.5, 154.5]), "drop_kind": ("drop", [2, 2, 0]),
        }
    )  # fmt: skip
    assert measures.repeats_lost(run) == pytest.approx((1 / 2) / (2 / 5))


def test_spread_counts_files_that_are_not_there_at_the_end() -> None:
    run = xr.Dataset(
        {
            "start": ("flow", [0.0, 0.0, 100.0, 0.0]), "finish": ("flow", [1.0, 10.0, np.nan, 500.0]),
            "goodput": ("flow", [50.0] * 4), "goodput_packet_rate": ("flow", [0.05] * 4),
        },
        {"group": ("flow", [1, 1, 1, 0])},
    )  # fmt: skip
    assert measures.spread(1)(run) == pytest.approx(np.log10(900.0))


def test_windows_after_the_warm_up() -> None:
    run = xr.Dataset(
        {
            "window_time": ("window_sample", [50.0, 150.0, 150.0, 151.0, 151.0]),
            "window_flow": ("window_sample", [0, 0, 1, 0, 1]),
            "window_cwnd": ("window_sample", [1.0, 2.9, 3.0, 1.0, 8.0]),
            "window_ssthresh": ("window_sample", [1.0, 3.0, 4.0, 2.0, 3.5]),
            "window_rtt": ("window_sample", [9.0, 0.2, 0.2, 0.4, 0.0]),
        }
    )
    assert measures.small_windows(run) == 0.5
    assert measures.small_thresholds(run) == 0.75
    assert measures.rtt_scatter(run) == pytest.approx(0.05)


def test_bursts_of_a_flow() -> None:
    sent = [(200.0, 0, 1), (200.01, 0, 2), (201.0, 0, 3), (201.01, 0, 4), (200.02, 1, 9), (202.0, 0, 3), (203.0, 0, 5)]
    time, flow, segment = zip(*sent, strict=True)
    lost = [(200.0, 0, 1), (200.01, 0, 2), (201.0, 0, 3), (203.0, 0, 5)]
    when, whose, which = zip(*lost, strict=True)
    run = xr.Dataset(
        {
            "send_time": ("send", list(time)), "send_flow": ("send", list(flow)),
            "send_segment": ("send", list(segment)),
            "drop_time": ("drop", list(when)), "drop_flow": ("drop", list(whose)),
            "drop_segment": ("drop", list(which)),
        }
    )  # fmt: skip
    assert measures.whole_bursts(run) == 0.5
    assert measures.in_lost_bursts(run) == 0.5


def test_load_at_which_fairness_breaks_down() -> None:
    index = xr.DataArray(
        [[[[0.95, 0.8, 0.5]]], [[[0.97, 0.95, 0.7]]]],
        {"sender": ["TCP", "TFRC"], "flows": ["50", "100", "200"]},
        ("sender", "reading", "replication", "flows"),
    )
    assert values.deeper(xr.Dataset({"jain_20": index})).item() == 2.0


def test_hangs() -> None:
    run = xr.Dataset({"longest_hang": ("user", [10.0, 30.0, 64.0, 65.0])})
    assert (measures.above_20(run), measures.above_60(run)) == (0.75, 0.5)
    assert measures.quantiles("hang")["hang_100"](run) == 65.0


def test_values_look_at_the_loads_of_one_link() -> None:
    dims = ("load", "reading", "replication")
    data = xr.Dataset(
        {
            "loss": (dims, np.array([0.05, 0.2, 0.3, 0.3]).reshape(4, 1, 1)),
            "distance": (dims, np.array([0.4, 0.1, 0.15, 0.9]).reshape(4, 1, 1)),
            "distance_fresh": (dims, np.array([0.4, 0.1, 0.12, 0.9]).reshape(4, 1, 1)),
            "distance_levels": (dims, np.array([0.4, 0.1, np.nan, 0.9]).reshape(4, 1, 1)),
            "goodput": (dims, np.array([125.0, 120.0, 124.0, 1.0]).reshape(4, 1, 1)),
        },
        {"load": ["500k, 40", "500k, 80", "500k, 100", "1500k, 40"]},
    )
    assert values.largest_distance(data, "500k").item() == 0.12
    assert values.distance_low_less_high(data, "500k").item() == pytest.approx(0.25)
    assert values.least_goodput(data, "500k").item() == pytest.approx(0.96)


def test_models_beside_claims() -> None:
    assert values.locked_out("100") == pytest.approx(0.0937, abs=5e-4)
    assert 0.25 < values.web_loss("200, 4") < 0.35


def test_findings_that_decide() -> None:
    assert round(arithmetic().numbers["minutes"]) == 167
    assert repetitive_idle_time().numbers["gap"] == pytest.approx(-3.4667, abs=1e-4)
    assert levels().numbers["full_gap"] == pytest.approx(1 - 0.9**3 - 0.1)
    assert equations().numbers["gap"] < 1e-12
    assert few_states().numbers["endless_20"] == pytest.approx(0.0004, abs=1e-4)
    assert shift().numbers["repeated"][0] < 0.001


@pytest.mark.slow
def test_two_losses_in_small_windows() -> None:
    assert timeouts_after_losses("newreno", 1, "ns2", 1.0) == 0.0
    assert timeouts_after_losses("sack", 2, "ns2", 1.0) >= 6 / 31  # in windows of four two duplicates are too few


def test_one_case_at_the_tiny_setting() -> None:
    assert decide(OURS["sub_packet.fig2.short.40k"], "tiny").packets.n == 2  # type: ignore[union-attr]
