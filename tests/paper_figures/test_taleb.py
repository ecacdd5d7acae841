"""The T-REFWA paper: charts of every reading, and every number that the report quotes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.paper_figures import ledger
from tcpdynamics.paper_figures.experiments import Experiment, run
from tcpdynamics.paper_figures.findings import Answer, near
from tcpdynamics.paper_figures.t_refwa import experiments, figures, findings, values


@pytest.fixture(scope="module")
def answers() -> dict[str, Answer]:
    return {one.key: one() for one in findings.FINDINGS}


def test_every_answer_is_supported(answers: dict[str, Answer]) -> None:
    assert [key for key, f in answers.items() if not f.supported] == []


NUMBERS = [
    ("rates", "ratio", 15.0, 9), ("code", "low", -5.209, 3), ("code", "high", 5.815, 3), ("code", "harmonic", 5.496, 3),
    ("fairness of the code", "worst", 0.996980, 6), ("fairness of the code", "even", 0.998992, 6),
    ("code", "least", [0, -21], 9), ("even", "spread", 1.0, 9), ("even", "linear", 7.0, 3),
    ("table", "used", 53, 0), ("table", "longest", 1143, 0), ("table II", "buffers", [53.7, 189.2, 759.3, 2929.7], 1),
    ("table II", "trip", 10.0, 9), ("table II", "trip_1000", 9.8, 9),
    ("marginal", "root", -1.0, 9), ("marginal", "measured", 1.414, 3), ("cycle", "inside", 0.0, 7),
    ("cycle", "outside", 0.0, 7), ("delays", "radius", [1, 0.7071, 1, 0.9324, 1, 0.9741], 4),
    ("any delay", "margin", 0.0, 12), ("better", "radius", [0.5 ** (1 / (d + 1)) for d in range(7)], 9),
    ("better", "rest", 1 / 3, 9),
    ("rest", "rest", [0.25, 1, 1], 6), ("rest", "queue", [1, 0.25], 6),
    ("continuous", "edge", [0.695, 1.172], 3), ("continuous", "queue_edge", [1.775], 3),
    ("continuous", "abscissa", [0.0990, -0.3932], 4), ("delays", "greatest", 1.0, 9),
    ("two links", "used", [0.899, 0.925, 0.998, 1.0], 3), ("two links", "least", 0.386, 3),
    ("two links", "full", [1, 1], 6),
    ("two links, measured", "used", [1, 1], 6),
]  # fmt: skip


@pytest.mark.parametrize(("key", "name", "stated", "digits"), NUMBERS)
def test_numbers_of_the_findings(answers: dict[str, Answer], key: str, name: str, stated: Any, digits: int) -> None:
    assert near(answers[key].numbers[name], stated, digits)


def test_mixes_of_delays_inside_and_outside(answers: dict[str, Answer]) -> None:
    radius = answers["any delay"].numbers
    assert radius["inside"] < 1 < radius["outside"]


#: What each reading does at the published gains.
PUBLISHED = {
    "window, no delay": (1.0, "marginal", 0.25),
    "window, one interval late": (0.7071, "stable", 0.25),
    "window, mixed (0 and 1)": (0.5, "stable", 0.25),
    "measured window, one late": (1.4142, "unstable", 0.25),
    "integrating queue": (0.5, "stable", 1.0),
    "integrating, semi-implicit": (0.7071, "stable", 1.0),
    "integrating, one late": (0.8295, "stable", 1.0),
    "continuous, both late": (0.0990, "unstable", 1.0),
    "continuous, queue late": (-0.3932, "stable", 1.0),
}


def test_published_gains_under_each_reading() -> None:
    rows = {row["reading"]: row for row in figures.published()}
    assert list(rows) == list(PUBLISHED)
    for name, (value, verdict, rest) in PUBLISHED.items():
        row = rows[name]
        assert near(row["value"], value, 4) and row["verdict"] == verdict and near(row["rest"], rest, 9)


def test_charts_agree_with_closed_forms() -> None:
    charts = figures.charts(25)
    for name, chart in charts.items():
        assert int(chart.disagreements) == 0, name
    figure = figures.draw(charts)
    assert len(figure.data) == len(charts) + 2
    star = figure.data[-1]
    assert (star.x[0], star.y[0]) == (1.5, 0.5)


@pytest.mark.parametrize(
    ("name", "value", "check"),
    [("PHI", 1.4, "two_cycle"), ("PSI", 0.6, "even_delays"), ("PSI", 2.0, "continuous"), ("PHI", 1.0, "continuous")],
)
def test_findings_can_fail(monkeypatch: pytest.MonkeyPatch, name: str, value: float, check: str) -> None:
    monkeypatch.setattr(findings, name, value)
    assert not getattr(findings, check)().supported


def test_mixed_radius_is_that_of_the_characteristic_polynomial() -> None:
    from tcpdynamics.models import TRefwaMixed
    from tcpdynamics.solvers import spectral_radius

    radius = findings._mixed_radius(np.array([0.7]), np.array([0.4]), (0, 3), np.array([0.3, 0.7]))
    model = TRefwaMixed(phi=0.7, psi=0.4, delays=(0, 3), fractions=(0.3, 0.7))
    assert radius[0] == pytest.approx(float(spectral_radius(model)), abs=1e-9)


def test_links_run_for_the_papers_time() -> None:
    for one in experiments.EXPERIMENTS:
        for case in one.case_labels():
            assert one.build(case, one.reading_labels(1)[0]).duration == 60.0
        assert one.full.replications >= (9 if one is experiments.ONE_LINK else 5)


@pytest.mark.parametrize("one", [experiments.ONE_LINK, experiments.OVER_RED, experiments.TWO_LINKS])
def test_westwood_is_that_of_2001_and_the_router_touches_t_refwa_only(one: Experiment) -> None:
    for case in one.case_labels():
        labels = dict(zip(one.cases, case, strict=True))
        flows = one.build(case, one.reading_labels(1)[0]).flows
        assert (flows[0].control == "westwood") == (labels["protocol"] == "Westwood")
        if labels["protocol"] == "Westwood":
            assert {f.rule_parameters()[0] for f in flows} == {0.0}
        assert one.touches("Westwood", labels) == (labels["protocol"] == "Westwood")
        slow = labels.get("link") == "OC48"  # where what senders do is not varied
        by_router = labels["protocol"].startswith("T-REFWA")
        assert all(one.touches(axis, labels) == by_router for axis in experiments.ROUTER)
        assert one.touches("wait before sending", labels) == one.touches("packet size", labels) == (not slow)


def test_axes_of_one_name_have_the_same_labels() -> None:
    labels: dict[str, list[str]] = {}
    for one in experiments.EXPERIMENTS:
        for axis, of_axis in one.readings.items():
            assert labels.setdefault(axis, list(of_axis)) == list(of_axis)
    for one_finding in findings.FINDINGS:
        numbers = one_finding().numbers
        if numbers.get("axis") in labels:
            assert numbers["readings"] == labels[numbers["axis"]]
        for chosen in numbers.get("labels", ()):
            assert all(label in labels[axis] for axis, label in chosen.items())


def _made(values_of: dict[str, list[float]]) -> xr.Dataset:
    """A result of one link and one reading, with two replications."""
    array = np.array(list(values_of.values()))[np.newaxis, :, np.newaxis, :]
    coords = {"link": ["T3"], "protocol": list(values_of), "reading": ["first"]}
    return xr.Dataset({"loss": (("link", "protocol", "reading", "replication"), array)}, coords)


def test_others_are_folded_to_the_one_that_is_best_in_the_mean() -> None:
    data = _made({"Reno": [1.0, 4.0], "NewReno": [2.0, 2.0], "Westwood": [9.0, 9.0], "T-REFWA": [0.5, 1.0]})
    assert values.of_others(data, "loss", link="T3").values.tolist() == [[2.0, 2.0]]
    assert values.of_others(data, "loss", most=True, link="T3").values.tolist() == [[9.0, 9.0]]
    assert values.less_others(data, "loss", link="T3").values.tolist() == [[-1.5, -1.0]]
    assert values.others_over(data, "loss", link="T3").values.tolist() == [[4.0, 2.0]]


def _recorded() -> xr.Dataset:
    """Two flows and a router, written down by hand."""
    links = [{"rate": 1e9}, {"rate": 8e6, "buffer": 40}]
    scenario = {"duration": 3.0, "warm_up": 1.0, "flows": [{"packet_size": 1000}], "links": links}
    time = np.array([0.5, 1.0, 1.5, 2.0, 1.0, 2.0])
    flow = np.array([0, 0, 0, 0, 1, 1])
    sample = {
        "window_time": time, "window_flow": flow,
        "window_srtt": np.array([0.9, 0.010, 0.030, 0.030, 0.020, 0.020]),
    }  # fmt: skip
    queue = {
        "queue_time": [0.5, 1.5, 2.0, 2.0], "queue_link": [1, 1, 1, 0], "queue_packets": [9, 10, 20, 7],
        "router_window": [np.nan, 20.0, 28.0, np.nan], "router_rtt": [np.nan, 0.02, 0.02, np.nan],
        "router_flows": [np.nan, 1.0, 2.0, np.nan],
    }  # fmt: skip
    data: dict[str, Any] = {name: ("window_sample", several) for name, several in sample.items()}
    data |= {name: ("queue_sample", several) for name, several in queue.items()}
    data |= {"sent": ("flow", [400, 600]), "mean_rtt": ("flow", [0.03, 0.02]), "base_rtt": ("flow", [0.02, 0.02])}
    coords = {"link": ["server->router", experiments.BOTTLENECK], "flow": [0, 1]}
    return xr.Dataset(data, coords, {"scenario": json.dumps(scenario)})


def test_measures_of_what_is_written_down() -> None:
    result = _recorded()
    assert experiments.srtt_changes(result) == 1 / 1000
    srtt = np.array([0.010, 0.030, 0.030])
    assert experiments.srtt_spread(result) == pytest.approx(srtt.std() / srtt.mean() / 2)
    assert experiments.flight_over_upsilon(result) == pytest.approx((400 * 0.03 + 600 * 0.02) / 2 / 24)
    assert experiments.flight_over_product(result) == pytest.approx(12 / 20)
    assert experiments.flight_over_room(result) == pytest.approx(12 / (20 + 40))
    assert experiments.average_rtt(result) == pytest.approx(0.8)
    assert experiments.counted(result) == pytest.approx(0.75)
    assert experiments.swing(result) == pytest.approx(5 / 40)


def test_every_value_and_measure_decides_a_claim() -> None:
    claims = ledger.claims("t_refwa").values()
    for one in experiments.EXPERIMENTS:
        used = {c.value for c in claims if c.experiment == one.name}
        used |= {str(c.arguments["measure"]) for c in claims if c.experiment == one.name and "measure" in c.arguments}
        drawn = {name for name in one.measures if name.startswith("group_")}
        assert set(one.measures) - used <= drawn, one.name


def test_routers_hold_group_1_at_the_slower_link() -> None:
    data = run("t_refwa.two_links", "tiny", cases=lambda case: case["protocol"] in ("T-REFWA", "Reno"))
    offered = data.offered_1_over_3
    assert np.isfinite(offered.sel(protocol="T-REFWA")).all() and np.isnan(offered.sel(protocol="Reno")).all()
