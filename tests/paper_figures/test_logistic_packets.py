"""The logistic paper in packets: measures by hand, every point builds, one case runs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.paper_figures import experiments as every
from tcpdynamics.paper_figures import ledger, registry
from tcpdynamics.paper_figures.deciding import decide, prediction
from tcpdynamics.paper_figures.experiments import Experiment
from tcpdynamics.paper_figures.logistic import experiments as packets
from tcpdynamics.paper_figures.logistic import values
from tcpdynamics.validation.ns2 import plan
from tcpdynamics.validation.packet import simulate


def run_of(windows: list[list[float]], times: list[float], **more: Any) -> xr.Dataset:
    """A result of a link of 8 Mbit/s, base RTT 0.1 s (100 packets), with windows of flows at times."""
    n = len(windows)
    scenario = {"duration": times[-1], "links": [{"source": "left", "target": "right", "rate": 8e6}],
                "flows": [{"packet_size": 1000}]}  # fmt: skip
    data = {
        "window_time": ("window_sample", np.repeat(times, n)),
        "window_flow": ("window_sample", np.tile(np.arange(n), len(times))),
        "window_cwnd": ("window_sample", np.array(windows, float).T.ravel()),
        "start": ("flow", np.zeros(n)), "finish": ("flow", np.full(n, np.nan)),
        "base_rtt": ("flow", np.full(n, 0.1)), "mean_rtt": ("flow", np.full(n, 0.1)),
    } | more  # fmt: skip
    return xr.Dataset(data, {"group": ("flow", np.arange(n))}, {"scenario": json.dumps(scenario)})


def test_times_of_convergence() -> None:
    run = run_of([[1, 40, 80, 82, 82]], [0.0, 0.4, 0.8, 1.2, 2.0])
    assert packets.filled(run, 0.2) == pytest.approx(0.79)  # 79 packets, along 40 to 80
    assert packets.filled(run, 0.0) == 2.0  # never: the whole run
    assert packets.step(run_of([[1, 40, 80, 119, 119]], [0.0, 0.4, 0.8, 1.2, 2.0])) == pytest.approx(
        (0.8 + 0.4 * 19 / 39 - 0.4 * 9 / 39) / 0.1
    )
    assert packets.step(run) == pytest.approx((2.0 - 0.4 * 9 / 39) / 0.1)  # 99 never: the whole run


def test_swings() -> None:
    run = run_of([[5, 50, 90, 100, 110, 100]], [0.0, 1.0, 2.1, 2.5, 3.0, 4.0])
    assert packets.scatter(run) == pytest.approx(0.1 / 2**0.5) and packets.off(run) == pytest.approx(0.1)
    both = run_of([[60, 60, 60, 60], [30, 30, 20, 40]], [0.0, 1.0, 3.0, 4.0])
    both["group"] = ("flow", [0, 0])
    assert packets.mean_sum(both) == pytest.approx(0.9)
    assert packets.scatter_of_sum(both) == pytest.approx(10 / 90)
    assert packets.least_over_largest(both) == pytest.approx(0.5)


def test_losses() -> None:
    drops = {"drop_time": ("drop", [1.0, 1.1, 3.0, 3.0, 50.0]), "drop_flow": ("drop", [0, 0, 0, 1, 0])}
    run = run_of([[1, 1], [1, 1]], [0.0, 196.0], dropped=("flow", [4, 1]), **drops)
    run["group"] = ("flow", [0, 2])  # the second is UDP
    assert packets.episodes(run) == 3 and packets.lost(run) == 4
    assert packets.lost_joining(run) == 5  # before 140 s of 196
    run.attrs["scenario"] = json.dumps(json.loads(run.attrs["scenario"]) | {"drops": [{"flow": 0, "segment": 3}]})
    assert packets.episodes(run) == 3 and packets.lost(run) == 3  # at 1.1, 3 and 50 s


def test_goodput_by_slices() -> None:
    slices = {"slice_goodput": (("slice", "flow"), [[500.0, 0.0], [1000.0, 0.0], [250.0, 750.0], [800.0, 100.0]])}
    run = run_of([[1, 1], [1, 1]], [0.0, 4.0], **slices).assign_coords(slice=[0.0, 1.0, 2.0, 3.0])
    run["group"] = ("flow", [0, 2])
    assert packets.goodput(run, [0], 1.0, 3.0) == pytest.approx(0.625)
    assert packets.utilisation(run) == pytest.approx(0.85)
    assert packets.taken(run) == pytest.approx((1050 / 2000) / 0.5)


def test_joins_and_leaves() -> None:
    times = np.arange(0.0, 701.0)
    flat = [np.full(701, w).tolist() for w in (40.0, 40.0, 20.0, 20.0, 10.0)]
    run = run_of(flat, times.tolist())
    assert packets.ratio(run, 5) == 0.25 and packets.window_sum(run, 3) == pytest.approx(1.0)
    assert packets.jain(run) == pytest.approx(130**2 / (5 * (2 * 1600 + 2 * 400 + 100)))
    run["slice_goodput"] = (("slice", "flow"), np.tile([0.0, 0.0, 0.0, 400.0, 600.0], (700, 1)))
    run = run.assign_coords(slice=times[:-1])
    assert packets.fill(run, 2) == pytest.approx(1.0) and packets.fill(run, 1) == pytest.approx(0.6)


def test_time_to_settle() -> None:
    times = np.arange(0.0, 701.0)
    first = np.where(times < 120, 80.0, 40.0)
    second = np.where(times < 108, 10.0, 40.0)
    run = run_of([first.tolist(), second.tolist()], times.tolist())
    assert packets.settled(run, 2) == 19.0  # the mean over 119 to 123 s is the last to hold an 80: 48
    steady = run_of([[40.0] * 701] * 2, times.tolist())
    assert packets.settled(steady, 2) == 0.0


def test_windows_beside_reno_and_after_drops() -> None:
    run = run_of([[50, 50, 40, 20, 30], [5, 10, 20, 40, 30]], [0.0, 1.0, 2.0, 3.0, 4.0])
    run.attrs["scenario"] = json.dumps(json.loads(run.attrs["scenario"]) | {"warm_up": 0.5})
    assert packets.gives_way(run) == pytest.approx((20 + 30) / (50 + 40))
    run = run_of([[90, 100, 50, 1, 1, 2, 4]], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], drop_time=("drop", [1.5]))
    assert packets.falls_to(run) == pytest.approx(0.02)
    assert packets.after_timeout(run) == 1.0 and packets.first_growth(run) == 1.0


def test_values_over_senders_and_runs() -> None:
    times = [[[1.0, 3.0]], [[10.0, 10.0]], [[4.0, 2.0]], [[5.0, 5.0]]]
    data = xr.Dataset(
        {"filled": (("rate", "sender", "reading", "replication"), [times])},
        {"rate": ["10"], "sender": ["Proposed", "Reno", "HSTCP", "Scalable"]},
    )
    assert values.over_quickest(data, "10").values.tolist() == [[0.25, 1.5]]
    errors = data.isel(sender=[2, 0]).rename(sender="error").assign_coords(error=["none", "some"])
    errors["filled"] = errors.filled * xr.DataArray([1.0, 3.0], {"error": ["none", "some"]})
    np.testing.assert_allclose(values.wider_by_errors(errors, "10").values, [[3.0 - 1.0] * 2])


def test_slow_start_and_measurement_touch_their_senders_only() -> None:
    """In the first reading the others leave slow start at two packets; HSTCP's own growth then sets its time."""
    experiment = packets.SCALING
    own, other = ({"rate": "10", "sender": sender} for sender in ("Proposed", "HSTCP"))
    assert experiment.touches("measured", own) and not experiment.touches("measured", other)
    assert experiment.touches("slow start", other) and not experiment.touches("slow start", own)
    early, late = (
        experiment.build(("10", "HSTCP"), ("5 % wrong each RTT", start), "full")
        for start in ("ended early", "until a loss")
    )
    times = []
    for scenario in (early, late):
        run = simulate(scenario, 1)
        threshold = run.window_ssthresh.values[run.window_flow.values == 1]
        times.append((packets.filled(run, 0.2), float(threshold[20])))
    assert times[0][1] == 2.0 and times[1][1] > 99.0
    assert times[0][0] > 3 * times[1][0]


@pytest.mark.parametrize("experiment", packets.EXPERIMENTS, ids=lambda one: one.name)
def test_every_point_builds(experiment: Experiment) -> None:
    cases, readings = experiment.case_labels(), experiment.reading_labels()
    for i, reading in enumerate(readings):
        experiment.build(cases[i % len(cases)], reading, "full")
    for case in cases:
        experiment.build(case, readings[0], "tiny")
        experiment.build(case, readings[-1], "quick")


def test_what_claims_name_is_there() -> None:
    figures = registry.figures()
    for claim in ledger.claims("logistic").values():
        assert not claim.figure or claim.figure in figures
        assert np.isfinite(prediction(claim).mean if claim.model else 0.0)  # type: ignore[union-attr]
        if claim.decided_by == "packets":
            experiment = next(one for one in packets.EXPERIMENTS if one.name == claim.experiment)
            assert claim.value in experiment.measures or callable(getattr(values, claim.value))
            for case in (claim.case, claim.compared_with):
                assert all(label in experiment.cases[axis] for axis, label in case.items())


def test_a_case_runs() -> None:
    assert decide(ledger.get_claim("logistic.fig1.packets.converges.1_8"), "tiny").verdict == "holds"
    assert decide(ledger.get_claim("logistic.sec32.packets.bound.20"), "tiny").verdict == "does not hold"
    assert decide(ledger.get_claim("logistic.sec31.slow_start"), "tiny").verdict == "holds"


def test_a_scenario_on_the_terms_of_ns2() -> None:
    """What ns-2 lacks is said otherwise: random delays of links, flows that never start, losses by segment."""
    one = every.get_experiment("logistic.alone")
    scenario = one.build(("HSTCP",), one.reading_labels(1)[0], "tiny")
    made = every._for_ns2(scenario)
    assert [(d.link, d.packet, d.segment) for d in made.drops] == [("sender b->left", 3, None)]
    assert {link.jitter for link in made.links} == {0.0} and made.flows[1].overhead == scenario.links[0].jitter > 0
    assert made.flows[0].control == "reno" and made.flows[2] == scenario.flows[2]
    assert plan(made, 1).flows[1].settings["control"] == "hstcp"
    star = every.get_experiment("leap.star")
    plain = star.build(star.case_labels()[0], star.reading_labels(1)[0], "tiny")
    assert every._for_ns2(plain) == plain
