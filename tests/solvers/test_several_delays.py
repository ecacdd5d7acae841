"""Motions with several delays: steps do not multiply, and two methods agree."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import sympy

from tcpdynamics.solvers import DDE, Delayed, trajectory

x, soon, late = sympy.symbols("x soon late")

EQUATIONS = {
    "linear": (lambda x, a, b: -a - 0.5 * b, -soon - 0.5 * late, 1.0),
    "logistic": (lambda x, a, b: x * (4 - 2.2 * a - 1.8 * b), x * (4 - 2.2 * soon - 1.8 * late), 0.3),
    "waves": (
        lambda x, a, b: math.sin(4 * a) - math.sin(6 * b) - x,
        sympy.sin(4 * soon) - sympy.sin(6 * late) - x,
        0.3,
    ),
}


def problem(name: str, short: float, long: float) -> DDE:
    _, rhs, before = EQUATIONS[name]
    return DDE(
        rhs={"x": rhs},
        delayed={"soon": Delayed("x", short), "late": Delayed("x", long)},
        history={"x": before},
        start={"x": before},
    )


@pytest.mark.parametrize("delays", [(0.1, 1.0), (0.0731, 1.0), (0.7312, 1.0), (0.1, 0.03), (0.1, 0.11)], ids=str)
@pytest.mark.parametrize("name", EQUATIONS)
def test_steps_do_not_multiply_with_the_ends_of_pieces(name: str, delays: tuple[float, float]) -> None:
    short, long = delays
    end = 100 * max(short, long)
    answer = trajectory(problem(name, short, long), [0.0, end], max_steps=20_000)
    assert int(answer.status) == 0 and math.isfinite(answer.x.values[-1])


def runge_kutta(
    slope: Callable[[float, float, float], float], lags: tuple[int, int], before: float, steps: int, h: float
) -> float:
    """Classical Runge-Kutta steps on a grid that every delay is a multiple of; midpoints by cubic polynomials."""
    values, begin, end = np.full(steps + 1, before), np.zeros(steps + 1), np.zeros(steps + 1)

    def middle(j: int) -> float:
        return before if j < 0 else 0.5 * (values[j] + values[j + 1]) + h / 8 * (begin[j] - end[j + 1])

    def past(i: int) -> list[float]:
        return [before if i <= lag else values[i - lag] for lag in lags]

    for i in range(steps):
        half = [middle(i - lag) for lag in lags]
        k1 = begin[i] = slope(values[i], *past(i))
        k2 = slope(values[i] + h / 2 * k1, *half)
        k3 = slope(values[i] + h / 2 * k2, *half)
        k4 = slope(values[i] + h * k3, *past(i + 1))
        values[i + 1] = values[i] + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        end[i + 1] = slope(values[i + 1], *past(i + 1))
    return float(values[-1])


@pytest.mark.parametrize("delays", [(0.1, 1.0), (0.73, 1.0), (0.37, 0.9)], ids=str)
@pytest.mark.parametrize("name", EQUATIONS)
def test_runge_kutta_agrees(name: str, delays: tuple[float, float]) -> None:
    slope, _, before = EQUATIONS[name]
    fine, end = 200, 12.0
    coarse, exact = (
        runge_kutta(slope, (round(delays[0] * n), round(delays[1] * n)), before, round(end * n), 1 / n)
        for n in (fine, 2 * fine)
    )
    step_error = abs(exact - coarse) / 15  # of fourth order
    exact += (exact - coarse) / 15
    answer = trajectory(problem(name, *delays), [0.0, end], rtol=1e-11, atol=0.0)
    assert int(answer.status) == 0
    assert abs(float(answer.x.values[-1]) - exact) <= 10 * step_error + 1e-11 * abs(exact)


@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-12])
@pytest.mark.parametrize("rate", [2, 6, 20])
def test_pieces_of_a_history_are_read_within_themselves(rate: int, rtol: float) -> None:
    """x(t) is the integral of its history: each piece of that is a fit which holds nowhere else."""
    t = sympy.Symbol("t")
    sine = DDE(
        rhs={"x": soon + late},
        delayed={"soon": Delayed("x", 5), "late": Delayed("x", 6)},
        history={"x": sympy.sin(rate * t)},
        start={"x": 0.0},
    )
    answer = trajectory(sine, np.linspace(0.0, 5.0, 11), rtol=rtol)
    times = answer.time.values
    exact = sum(np.cos(rate * lag) - np.cos(rate * (times - lag)) for lag in (5, 6)) / rate
    assert int(answer.status) == 0
    assert np.abs(answer.x.values - exact).max() <= rtol / rate + 1e-12


@pytest.mark.parametrize("delays", [(0.0731, 1, 0.4142), (math.pi / 10, math.e / 10, 1), (0.1, 1, 0.37, 0.71)], ids=str)
def test_three_and_four_delays_end(delays: tuple[float, ...]) -> None:
    """As many steps as there are discontinuities to carry forward, some thousands; then as many as delays."""
    late = sympy.symbols(f"late:{len(delays)}")
    rhs = -sum((w * s for w, s in zip((1, 0.5, 0.3, 0.2), late, strict=False)), sympy.Integer(0))
    problem = DDE(
        rhs={"x": rhs}, delayed={s.name: Delayed("x", d) for s, d in zip(late, delays, strict=True)}, start={"x": 0.3}
    )
    assert int(trajectory(problem, [0.0, 100.0], max_steps=40_000).status) == 0
