"""The T-REFWA paper: charts of every reading, and every number that the report quotes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tcpdynamics.paper_figures.findings import Answer, near
from tcpdynamics.paper_figures.t_refwa import figures, findings


@pytest.fixture(scope="module")
def answers() -> dict[str, Answer]:
    return {one.key: one() for one in findings.FINDINGS}


def test_every_answer_is_supported(answers: dict[str, Answer]) -> None:
    assert [key for key, f in answers.items() if not f.supported] == []


NUMBERS = [
    ("rates", "ratio", 15.0, 9), ("code", "low", -5.209, 3), ("code", "high", 5.815, 3), ("code", "harmonic", 5.496, 3),
    ("fairness of the code", "worst", 0.996980, 6), ("fairness of the code", "even", 0.998992, 6),
    ("table", "used", 53, 0), ("table", "longest", 1143, 0), ("table II", "buffers", [53.7, 189.3, 759.6, 2931.0], 1),
    ("marginal", "root", -1.0, 9), ("marginal", "measured", 1.414, 3), ("cycle", "inside", 0.0, 7),
    ("cycle", "outside", 0.0, 7), ("delays", "radius", [1, 0.7071, 1, 0.9324, 1, 0.9741], 4),
    ("any delay", "margin", 0.0, 12), ("better", "radius", [0.5 ** (1 / (d + 1)) for d in range(7)], 9),
    ("better", "rest", 1 / 3, 9), ("rest", "rest", [0.25, 1, 1], 6), ("continuous", "edge", [0.695, 1.172], 3),
    ("xcp", "end", 0.0, 9), ("xcp", "most", 0.5498, 4), ("queue late", "edge", [1.775], 3),
    ("two links", "used", [0.899, 0.925, 0.998, 1.0], 3), ("two links", "least", 0.386, 3),
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
    [("PHI", 1.4, "two_cycle"), ("PSI", 0.6, "even_delays"), ("PHI", 1.4, "queue_only"), ("PHI", 1.0, "continuous")],
)
def test_findings_can_fail(monkeypatch: pytest.MonkeyPatch, name: str, value: float, check: str) -> None:
    monkeypatch.setattr(findings, name, value)
    assert not getattr(findings, check)().supported


def test_mixed_radius_is_that_of_the_characteristic_polynomial() -> None:
    from tcpdynamics.models import TRefwaMixed
    from tcpdynamics.solvers import spectral_radius

    radius = findings._mixed_radius(np.array([0.7]), np.array([0.4]), (0, 3), np.array([0.3, 0.7]))
    model = TRefwaMixed(phi=0.7, psi=0.4, delays=(0, 3), shares=(0.3, 0.7))
    assert radius[0] == pytest.approx(float(spectral_radius(model)), abs=1e-9)
