"""The logistic paper: its figures by loops of their own, and every number that the report quotes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from tcpdynamics.paper_figures.findings import Answer, near
from tcpdynamics.paper_figures.ledger import claims
from tcpdynamics.paper_figures.logistic import figures
from tcpdynamics.paper_figures.logistic import findings as statements


@pytest.fixture(scope="module")
def answers() -> dict[str, Answer]:
    return {one.key: one() for one in statements.FINDINGS}


def test_figure_one_is_the_map_and_not_the_equation() -> None:
    drawn = figures.fig1()
    for e in figures.FIG1:
        w, orbit = 1.0, [1.0]
        for _ in range(figures.STEPS):
            w += e * (1 - w / 100) * w
            orbit.append(w)
        windows = drawn["map"].sel(epsilon=e).values
        np.testing.assert_allclose(windows[:12], orbit[:12], rtol=1e-9)  # 3.0 is chaotic: later rounding decides
        assert windows.max() <= 100 * (1 + e) ** 2 / (4 * e) + 1e-9 or e < 1
        closed = 100 / (1 + 99 * np.exp(-e * drawn.time.values))
        np.testing.assert_allclose(drawn.ode.sel(epsilon=e).values, closed, rtol=1e-6)


def test_figure_two_joins_the_second_species() -> None:
    drawn = figures.fig2().ode
    late = drawn.sel(time=slice(figures.JOINS, None))

    def slope(_: float, n: Any) -> Any:
        return 1.95 * n * (1 - (n + 0.9 * n[::-1]) / 100)

    first = 100 / (1 + 99 * np.exp(-1.95 * figures.JOINS))
    times = late.time.values - figures.JOINS
    judge = solve_ivp(slope, (0, times[-1]), [first, 1.0], "DOP853", times, rtol=1e-11, atol=1e-12).y
    np.testing.assert_allclose(late.values, judge, rtol=1e-6)
    assert np.isnan(drawn.sel(flow=2).values[:50]).all()


#: BW: R1, R2, R3 of both connections; the last is eq. (9).
FIG8: dict[float, tuple[list[float], list[float], list[float]]] = {
    5: ([2.632, 2.632], [2.632, 2.632], [2.5, 2.5]),
    12: ([0, 12], [5.263, 7.263], [5.4545, 6.5455]),
    15: ([0, 15], [5.263, 10.263], [6, 9]),
    18: ([0, 18], [5.263, 13.263], [6.4286, 11.5714]),
    20: ([0, 20], [5.263, 15.263], [6.6667, 13.3333]),
    25: ([0, 20], [7.632, 17.632], [8.3333, 16.6667]),
    30: ([0, 20], [10, 20], [10, 20]),
}


def test_figure_eight_under_three_readings() -> None:
    drawn = figures.fig8(26)
    np.testing.assert_allclose(drawn.throughput.sel(reading="R3"), drawn.proportional, rtol=1e-9)
    for link, rows in FIG8.items():
        for reading, digits, row in zip(("R1", "R2", "R3"), (3, 3, 4), rows, strict=True):
            assert near(drawn.throughput.sel(link=link, reading=reading).values, row, digits), (link, reading)


#: Numbers of the findings: key of the finding, of the number, stated value, decimals.
NUMBERS = [
    ("time", "time", 3.483, 3), ("time", "reached", 0.99, 6), ("per ACK", "gap", 0.007, 3),
    ("map", "edge", 2.0, 6), ("map", "over", 1.0, 6),
    ("two", "off", 0.0025, 4), ("two", "power", -0.5, 2), ("overshoot", "peak", 1.1157, 4),
    ("delay", "delay", 0.806, 3), ("delay", "step", 1.0, 6), ("others", "delays", [2.07, 1.26, 0.98], 2),
    ("held", "gains", [3.508, 2.625, 2.258], 3), ("stale", "gains", [1.556, 1.278, 1.123], 3),
    ("stale two", "gain", 2.0, 6), ("survival", "rates", [0.0, 15.0], 5),
    ("lossless", "r1", [1.053, 1.099, 1.110], 3), ("lossless", "r3", [1.1, 1.9, 10.9], 6),
    ("buffer", "r3", [2.0, 2.1], 6), ("buffer", "r1", 0.111, 3), ("fairness", "r1", 23.6, 1),
    ("fairness", "r3", 5.13, 2), ("fairness", "many", 462, 0), ("error of K", "eq6", [10, 2.7, 1.22, 0.112], 2),
    ("error of K", "eq7", [100, 27, 12.2, 1.12], 1),
]  # fmt: skip


@pytest.mark.parametrize(("key", "name", "stated", "digits"), NUMBERS)
def test_numbers_of_the_findings(answers: dict[str, Answer], key: str, name: str, stated: Any, digits: int) -> None:
    assert near(answers[key].numbers[name], stated, digits)


def test_equation_nine_holds_under_one_reading(answers: dict[str, Answer]) -> None:
    rates = answers["eq9"].numbers
    assert near(rates["R3"], [6, 9], 6) and near(rates["R1"], [0, 15], 6) and near(rates["R2"], [5.263, 10.263])


def test_period_doubling(answers: dict[str, Answer]) -> None:
    assert answers["doubling"].numbers["periods"][:2] == [2, 4]


def test_every_answer_is_supported(answers: dict[str, Answer]) -> None:
    assert [key for key, answer in answers.items() if not answer.supported] == []
    assert answers["stale two"].numbers["gain"] == pytest.approx(2.0, abs=1e-6)


def test_who_survives_by_the_jacobian(answers: dict[str, Answer]) -> None:
    """Few of a species grow beside another at its K where gamma K_other < K_own."""
    numbers = answers["survival"].numbers
    assert near([numbers[f"edge_{name}"] for name in ("first", "second", "equal")], [10 / 15, 1.5, 1.0], 8)


def test_numbers_by_reading_have_their_names(answers: dict[str, Answer]) -> None:
    for claim in claims("logistic").values():
        if claim.decided_by == "model":
            numbers = answers[claim.finding.removeprefix("logistic.").replace("_", " ")].numbers
            value = numbers[claim.value]
            assert not isinstance(value, list) or len(value) == len(numbers["readings"]), claim.id


@pytest.mark.parametrize(
    ("name", "value", "check"),
    [
        ("EPSILON", 1.9, "convergence_time"),
        ("EPSILON", 1.9, "overshoot"),
        ("EPSILON", 1.9, "critical_delay"),
        ("GAMMA", 0.85, "held_measurement"),
        ("GAMMA", 0.85, "stale_measurement"),
        ("GAMMA", 0.85, "equation_nine"),
        ("GAMMA", 0.85, "lossless_bound"),
        ("GAMMA", 0.85, "error_of_capacity"),
    ],
)
def test_findings_can_fail(monkeypatch: pytest.MonkeyPatch, name: str, value: float, check: str) -> None:
    """With another gain than the paper's, the stated numbers are wrong and the check says so."""
    monkeypatch.setattr(statements, name, value)
    if check == "lossless_bound":  # holds for any gamma: it states formulas
        assert statements.lossless_bound().supported
    else:
        unsupported = getattr(statements, check)()
        assert not unsupported.supported


def test_charts_agree_with_closed_forms() -> None:
    charts = figures.charts(21)
    for chart in charts.values():
        assert int(chart.disagreements) == 0
        assert float(np.abs(chart.boundary_margin).max()) < 1e-6
    assert len(figures.draw_fig1(figures.fig1()).data) == 8
    assert len(figures.draw_fig2(figures.fig2()).data) == 4
    assert len(figures.draw_fig8(figures.fig8(5)).data) == 8
