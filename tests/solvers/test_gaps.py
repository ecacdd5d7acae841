"""Series with gaps: where the last Taylor terms vanish, steps still have the accuracy that is asked for."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from tcpdynamics.solvers import DDE, ODE, Delayed, trajectory
from tcpdynamics.solvers.results import Status

x, y, z, t, v = sympy.symbols("x y z t v")
n, w = sympy.symbols("n w")
ONE = sympy.Integer(1)


def integral(rate: sympy.Expr, start: float, end: float, rtol: float = 1e-8) -> float:
    """Of `rate`(y) from `start` to `end`, as the state of a motion with y' = 1."""
    run = trajectory(ODE(rhs={"x": rate, "y": ONE}, start={"x": 0.0, "y": start}), [end - start], rtol=rtol, atol=0.0)
    assert int(run.status) == 0
    return run.x.item()


@settings(max_examples=25, deadline=None)
@given(st.integers(3, 30), st.sampled_from([1e-6, 1e-8, 1e-10]))
def test_quotients_with_powers_are_integrated(power: int, rtol: float) -> None:
    exact = math.pi / power / math.sin(math.pi / power) - quad(lambda u: 1 / (1 + u**power), 10, np.inf)[0]
    assert integral(1 / (1 + y**power), 0.0, 10.0, rtol) == pytest.approx(exact, rel=30 * rtol)


@pytest.mark.parametrize("power", [5, 10, 30])
def test_hill_functions_are_met(power: int) -> None:
    exact = quad(lambda u: u**power / (5.0**power + u**power), 0, 10, points=[5], epsabs=1e-12)[0]
    assert integral(y**power / (5**power + y**power), 0.0, 10.0) == pytest.approx(exact, rel=1e-7)


@pytest.mark.parametrize("power", [3, 5, 7, 11])
@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-13])
def test_springs_of_high_order_keep_their_energy(power: int, rtol: float) -> None:
    """x'' = -x^n from x = 0, where of the terms of the series one in n + 1 is not zero."""
    problem = ODE(rhs={"x": z, "z": -(x**power)}, start={"x": 0.0, "z": 1.0})
    run = trajectory(problem, np.linspace(0.0, 20.0, 41), rtol=rtol)
    energy = run.z.values**2 / 2 + run.x.values ** (power + 1) / (power + 1)
    np.testing.assert_allclose(energy, 0.5, rtol=max(300 * rtol * power, 1e-11))


@pytest.mark.parametrize(
    ("rate", "start", "end", "points"),
    [
        (1 / (1 + sympy.Max(y, 0) ** 8), -1.0, 4.0, (0.0, 1.0)),
        (1 / (1 + sympy.Abs(y) ** 9), -4.0, 4.0, (-1.0, 0.0, 1.0)),
        (sympy.cos(y**8), 0.0, 2.0, (1.0, 1.5)),
        (sympy.exp(-(y**8)), 0.0, 10.0, (1.0, 2.0)),
        ((y / 5) ** 30, 0.0, 10.0, (5.0,)),
    ],
)
def test_other_series_with_gaps(rate: sympy.Expr, start: float, end: float, points: tuple[float, ...]) -> None:
    f = sympy.lambdify(y, rate, "math")
    exact = quad(f, start, end, points=points, limit=2000, epsabs=1e-13, epsrel=1e-12)[0]
    assert integral(rate, start, end) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(
    ("condition", "place"), [(1 / (1 + y**5) < ONE / 2, 1.0), (y**50 / (5**50 + y**50) > ONE / 2, 5.0)]
)
def test_switches_with_gaps_are_met(condition: sympy.Expr, place: float) -> None:
    assert integral(sympy.Piecewise((1, condition), (0, True)), 0.0, 10.0) == pytest.approx(10 - place, abs=1e-7)


@pytest.mark.parametrize(
    ("slopes", "start", "end", "rtol"),
    [
        (
            {"x": -0.3 * x - sympy.cos(y**10) + 2 / (t**10 + 1), "y": 0.5 * x - 0.3 * y + 2 / (t**4 + 1)},
            (0.3, 0.0), 1.0, 1e-9,
        ),
        ({"x": -0.3 * x - sympy.cos(x**10), "y": -2 * x - 0.3 * y}, (0.0, -1.0), 10.0, 1e-12),
        ({"x": -0.3 * x + sympy.cos(x**12), "y": x - 0.3 * y}, (0.0, 1.0), 4.0, 1e-6),
        ({"x": y, "y": -(x**7)}, (1e-9, -1.0), 2.0, 1e-8),
    ],
)  # fmt: skip
def test_terms_that_are_small_by_chance_are_not_believed(
    slopes: dict[str, sympy.Expr], start: tuple[float, float], end: float, rtol: float
) -> None:
    """The first term that is left out is far larger than the last that is not; short steps are a second opinion."""
    problem = ODE(rhs=slopes, start={"x": start[0], "y": start[1]})
    run = trajectory(problem, [end], rtol=rtol)
    short = trajectory(problem, [end], rtol=1e-13, max_step=end / 400)
    for name in ("x", "y"):
        assert run[name].item() == pytest.approx(short[name].item(), rel=100 * rtol, abs=100 * rtol)


def test_forcing_and_delays_with_gaps() -> None:
    exact = quad(lambda u: 1 / (1 + u**8), 0, 10, points=[1], epsabs=1e-13)[0]
    forced = trajectory(ODE(rhs={"x": 1 / (1 + t**8)}, start={"x": 0.0}), [10.0])
    assert forced.x.item() == pytest.approx(exact, rel=1e-7)
    late = DDE(
        rhs={"x": 1 / (1 + v**8), "y": ONE}, delayed={"v": Delayed("y", 1)}, history={"y": 0 * t},
        start={"x": 0.0, "y": 0.0},
    )  # fmt: skip
    assert trajectory(late, [11.0]).x.item() == pytest.approx(1.0 + exact, rel=1e-7)


def test_machine_code_of_sweeps_knows_gaps_too() -> None:
    """Sweeps of 2000 points and more run a tape that is written out: every point as the point alone."""
    width = np.linspace(0.5, 2.0, 2500)
    problem = ODE(rhs={"x": 1 / (1 + (y / w) ** 6), "y": ONE}, start={"x": 0.0, "y": 0.0}, parameters={"w": width})
    run = trajectory(problem, [40.0])
    exact = width * math.pi / 6 / math.sin(math.pi / 6)
    np.testing.assert_allclose(run.x.values[..., -1], exact, rtol=2e-7)


def test_what_outgrows_numbers_is_no_result() -> None:
    run = trajectory(ODE(rhs={"x": 1 / (1 + y), "y": y}, start={"x": 0.0, "y": 1.0}), [700.0, 800.0])
    assert int(run.status) == Status.OVERFLOW
    assert np.isfinite(run.y.values[0]) and np.isnan(run.y.values[1])


def hill(power: int) -> float:
    """The integral of 1/(1 + y^n) over all y > 0."""
    return math.pi / power / math.sin(math.pi / power)


@pytest.mark.parametrize(("power", "end"), [(8, 1e3), (14, 1e6), (30, 1e5)])
def test_a_way_that_is_far_longer_than_its_features(power: int, end: float) -> None:
    assert integral(1 / (1 + y**power), 0.0, end) == pytest.approx(hill(power), rel=1e-6)


@pytest.mark.parametrize("power", [10, 14, 20, 30])
@pytest.mark.parametrize("end", [2.0, 100.0, 1e8])
def test_a_state_that_leaves_zero_late(power: int, end: float) -> None:
    """x' = y^n from y = 0: nothing in the series of x; the way ends, or turns, long before the first step would."""
    bounded = sympy.Piecewise((y**power, y < 1), (0, True))
    assert integral(bounded, 0.0, end) == pytest.approx(1 / (power + 1), rel=1e-6)
    stops = ODE(rhs={"x": y**power, "y": sympy.Piecewise((1, y < 1), (0, True))}, start={"x": 0.0, "y": 0.0})
    assert trajectory(stops, [end]).x.item() == pytest.approx(end - 1 + 1 / (power + 1), rel=1e-6)
    many = trajectory(ODE(rhs={"x": y**power, "y": ONE}, start={"x": 0.0, "y": 0.0}), [0.5, 1.0, 10.0])
    np.testing.assert_allclose(many.x.values, np.array([0.5, 1.0, 10.0]) ** (power + 1) / (power + 1), rtol=1e-6)


@pytest.mark.parametrize(
    ("rate", "exact"),
    [
        (1 / (1 + y**8) + 1 / (1 + sympy.exp(1000 * (1 + x))), hill(8)),
        (1 / (1 + y**8) + 1 / (1 + sympy.exp(1000 * z)), hill(8)),
        (1 / (1 + y**14) + 1 / (1 + sympy.exp(1000 * z)), hill(14)),
    ],
)
def test_numbers_beyond_floats_do_not_switch_the_check_off(rate: sympy.Expr, exact: float) -> None:
    problem = ODE(rhs={"x": rate, "y": ONE, "z": 0 * z}, start={"x": 0.0, "y": 0.0, "z": 1.0})
    assert trajectory(problem, [1000.0]).x.item() == pytest.approx(exact, rel=1e-6)


def test_what_dies_out_needs_no_more_steps_than_what_does_not() -> None:
    """States that decay below all numbers: their last digits are nobody's concern."""
    decays = [
        ({"x": x * (1 - x - 2 * y), "y": y * (1 - 2 * x - y)}, {"x": 0.5, "y": 0.4}, 1e4, 3_000),
        ({"x": -x, "y": -(y**2)}, {"x": 1.0, "y": 1.0}, 1e4, 3_000),
        ({"x": x * sympy.log(x)}, {"x": 0.5}, 100.0, 15_000),
    ]
    for rhs, start, end, most in decays:
        assert int(trajectory(ODE(rhs=rhs, start=start), [end], max_steps=most).status) == 0


@pytest.mark.parametrize(
    ("rhs", "start", "end"),
    [
        ({"x": 2 * sympy.log(1 + x**5) - 1}, {"x": 0.5}, 10.0),
        ({"x": sympy.log(3 - t)}, {"x": 0.0}, 5.0),
        ({"x": 1 / (y - 1), "y": ONE}, {"x": 0.0, "y": 0.0}, 3.0),
        ({"x": -1 / (1 + x)}, {"x": 1.0}, 5.0),
    ],
)
def test_where_equations_end_the_motion_does_and_soon(
    rhs: dict[str, sympy.Expr], start: dict[str, float], end: float
) -> None:
    run = trajectory(ODE(rhs=rhs, start=start), [end], max_steps=5000)
    assert int(run.status) in (Status.SINGULAR, Status.OVERFLOW) and np.isnan(run.x.item())
