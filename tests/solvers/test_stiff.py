"""Stiff problems, zero starts, and reasons that are true: against closed forms and published values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics.solvers import DDE, ODE, Delayed, Map, failures, trajectory

x, v, y1, y2, y3, a, t, w, x_d = sympy.symbols("x v y1 y2 y3 a t w x_d")

STIFF, SINGULAR = (
    "since the problem is stiff: use method='radau'",
    "the equations or their derivatives are not finite",
)
GREW = "the state grew beyond floating-point numbers"


def robertson() -> ODE:
    made, back, end = y1 / 25, 10**4 * y2 * y3, 3 * 10**7 * y2**2
    return ODE(rhs={"y1": -made + back, "y2": made - back - end, "y3": end}, start={"y1": 1.0, "y2": 0.0, "y3": 0.0})


def van_der_pol(mu: Any) -> ODE:
    return ODE(rhs={"x": v, "v": a * (1 - x**2) * v - x}, parameters={"a": mu}, start={"x": 2.0, "v": 0.0})


def prothero_robinson(rate: Any) -> ODE:
    """x' = -rate (x - 1/(1 + t)) - 1/(1 + t)^2, which 1/(1 + t) solves whatever the rate is."""
    return ODE(rhs={"x": -a * (x - 1 / (1 + t)) - 1 / (1 + t) ** 2}, parameters={"a": rate}, start={"x": 1.0})


# -- the method for stiff problems ---------------------------------------------------------------------------


@pytest.mark.parametrize("rtol", [1e-6, 1e-8])
def test_robertson_as_published(rtol: float) -> None:
    """At t = 1e11, from the Test Set for IVP Solvers (Mazzia, Magherini 2008, problem ROBER)."""
    got = trajectory(robertson(), [0.4, 1e11], method="radau", rtol=rtol)
    end = [0.2083340149701255e-07, 0.8333360770334713e-13, 0.9999999791665050]
    values = np.array([got[k].values for k in ("y1", "y2", "y3")])
    np.testing.assert_allclose(values[:, 1], end, rtol=10 * rtol)
    np.testing.assert_allclose(values.sum(axis=0), 1.0, rtol=1e-13)


def test_both_methods_follow_robertson_while_it_is_cheap() -> None:
    """Ten digits of one method agree with seven of the other, from a start at which two states are zero."""
    times = [1e-6, 1e-3, 0.4, 4.0]
    one, other = trajectory(robertson(), times, rtol=1e-11), trajectory(robertson(), times, method="radau")
    assert int(one.status) == 0 and int(other.status) == 0
    for k in ("y1", "y2", "y3"):
        np.testing.assert_allclose(one[k], other[k], rtol=1e-7)


@pytest.mark.slow
def test_van_der_pol_as_published() -> None:
    """mu = 1000 at t = 2000, from the same test set (problem VDPOL, t = 2 in its scale)."""
    got = trajectory(van_der_pol(1000.0), [2000.0], method="radau", rtol=1e-9)
    assert got.x.item() == pytest.approx(1.706167732170469, rel=1e-6)
    assert got.v.item() == pytest.approx(-0.8928097010248125e-3, rel=1e-6)


@given(st.floats(0.0, 9.0), st.floats(0.5, 1e4), st.sampled_from([1e-5, 1e-8]))
@settings(max_examples=12, deadline=None)
def test_prothero_and_robinson(power: float, end: float, rtol: float) -> None:
    """Errors stay in proportion to the tolerance, whatever the rate is."""
    times = np.array([0.0, 0.3, 1.0]) * end
    got = trajectory(prothero_robinson(10.0**power), times, method="radau", rtol=rtol)
    assert not got.status.any()
    np.testing.assert_allclose(got.x.values, 1 / (1 + times), rtol=100 * rtol)


def test_radau_over_a_grid_with_outputs() -> None:
    rates = np.array([1.0, 1e3, 1e6])
    problem = ODE(
        rhs={"x": -a * x + a, "v": 1}, parameters={"a": rates}, start={"x": [0.0, 2.0], "v": 0.0}, outputs={"z": x * v}
    )
    times = np.array([1e-6, 0.5, 3.0])
    got = trajectory(problem, times, method="radau", rtol=1e-9)
    exact = 1 + np.array([-1.0, 1.0])[None, :, None] * np.exp(-np.multiply.outer(rates, times))[:, None, :]
    np.testing.assert_allclose(got.x.transpose("a", "start_x", "time"), exact, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(got.z, got.x * times, rtol=1e-12)


def test_radau_is_for_ordinary_equations_without_switches() -> None:
    jump = ODE(rhs={"x": -sympy.Heaviside(x)}, start={"x": 1.0})
    late = DDE(rhs={"x": -x_d}, delayed={"x_d": Delayed("x", 1)}, start={"x": 1.0})
    for problem in (jump, late):
        with pytest.raises(ValueError, match="method radau takes ODEs without switches; use taylor"):
            trajectory(problem, [2.0], method="radau")


# -- what says that it is stiff ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("problem", "end"), [(robertson(), 1e11), (van_der_pol(1000.0), 2000.0), (prothero_robinson(1e7), 100.0)]
)
def test_stiff_problems_are_told_so(problem: ODE, end: float) -> None:
    got = trajectory(problem, [1e-3, end], max_steps=20_000)
    assert STIFF in failures(got)[0][1]
    assert np.isfinite([got[k].values[0] for k in problem.labels]).all()
    assert STIFF in failures(trajectory(problem, [end], max_steps=300, method="scipy", rtol=1e-6))[0][1]


def test_a_stiff_delay_equation_is_told_so() -> None:
    problem = DDE(rhs={"x": -(10**6) * (x - x_d / 2)}, delayed={"x_d": Delayed("x", 1)}, start={"x": 1.0})
    assert "delay equations have no method for stiff" in failures(trajectory(problem, [9.0], max_steps=5000))[0][1]


def test_a_stiff_switched_equation_is_not_sent_to_a_method_that_refuses_it() -> None:
    problem = ODE(rhs={"x": -(10**6) * (x - sympy.Max(0, sympy.sin(t)))}, start={"x": 0.0})
    reason = failures(trajectory(problem, [9.0], max_steps=5000))[0][1]
    assert "switched and delay equations have no method for stiff" in reason and "radau" not in reason


@pytest.mark.parametrize(
    "problem",
    [
        ODE(rhs={"x": v, "v": -(10**6) * x}, start={"x": 1.0, "v": 0.0}),  # turns fast
        ODE(rhs={"x": -x}, start={"x": 1.0}),  # still decays, and keeps its digits
        ODE(rhs={"x": v, "v": -x - v / 10}, start={"x": 1.0, "v": 0.0}),
        ODE(rhs={"x": x * (1 - x) * (1 + t)}, start={"x": 0.1}),
    ],
)
def test_what_moves_is_not_called_stiff(problem: ODE) -> None:
    steps = 50 if "v" in problem.rhs or t not in problem.rhs["x"].free_symbols else 3
    reason = failures(trajectory(problem, [600.0], max_steps=steps))[0][1]
    assert reason.startswith("the steps ran out before the last time")


# -- zeros ---------------------------------------------------------------------------------------------------


@given(
    st.integers(0, 6), st.floats(-6.0, 6.0), st.sampled_from(["taylor", "scipy"]), st.sampled_from([1e-6, 1e-9, 1e-12])
)
@settings(max_examples=40, deadline=None)
def test_states_that_begin_at_zero(power: int, log_scale: float, method: str, rtol: float) -> None:
    """x' = t^n e^-t c: the first term that is not zero tells how large x is; x = c n! (1 - e^-t sum t^k/k!)."""
    scale = 10.0**log_scale
    problem = ODE(
        rhs={"x": a * t**power * sympy.exp(-t), "v": x, "w": 0},
        parameters={"a": scale},
        start={"x": 0.0, "v": 0.0, "w": 0.0},
    )
    times = np.array([0.5, 3.0])
    got = trajectory(problem, times, method=method, rtol=rtol)
    exact = [float(sympy.lowergamma(power + 1, s).evalf(30)) * scale for s in times]
    assert int(got.status) == 0
    np.testing.assert_allclose(got.x, exact, rtol=100 * rtol)
    assert (got.w == 0).all()


@given(st.floats(0.01, 100.0), st.floats(1e-200, 3.0))
@settings(max_examples=30, deadline=None)
def test_an_oscillator_from_rest(rate: float, force: float) -> None:
    """x'' = rate^2 (force - x) from x = x' = 0."""
    problem = ODE(rhs={"x": v, "v": a**2 * (w - x)}, parameters={"a": rate, "w": force}, start={"x": 0.0, "v": 0.0})
    times = np.array([0.1, 1.0, 7.0]) / rate
    got = trajectory(problem, times)
    assert int(got.status) == 0
    np.testing.assert_allclose(got.x, force * (1 - np.cos(rate * times)), atol=1e-6 * abs(force))


def test_equations_at_rest_at_zero_stay_there() -> None:
    got = trajectory(ODE(rhs={"x": x * v, "v": -v}, start={"x": 0.0, "v": 0.0}), [1.0, 1e12])
    assert int(got.status) == 0 and not got.x.any() and not got.v.any()


# -- reasons are true ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["taylor", "scipy", "radau"])
@pytest.mark.parametrize(
    ("rhs", "start", "reason"),
    [
        (x**2, 1.0, GREW),
        (1 + x**2, 0.0, GREW),
        (x**7, 2.0, GREW),
        (sympy.exp(x), 0.0, GREW),
        (-1 / x, 1.0, SINGULAR),
        (1 / x, 0.0, SINGULAR),
        (sympy.log(x) - 1, 1.0, SINGULAR),
        (-sympy.sqrt(x) - sympy.Rational(1, 9), 1.0, SINGULAR),
        (sympy.sqrt(x), -1.0, SINGULAR),
    ],
)
def test_why_a_motion_ended(rhs: Any, start: float, reason: str, method: str) -> None:
    got = trajectory(ODE(rhs={"x": rhs}, start={"x": start}), [1e-3, 50.0], method=method, rtol=1e-6)
    assert failures(got)[0][1].startswith(reason)
    assert np.isnan(got.x.values[1])


@pytest.mark.parametrize("power", [sympy.Rational(1, 2), sympy.Rational(2, 3)])
def test_a_root_does_not_leave_its_branch(power: Any) -> None:
    """A tank that drains: x' = -x^p is empty at t = 1/(1 - p); its series would go on behind that, and rise again."""
    problem = ODE(rhs={"x": -(x**power)}, start={"x": 1.0})
    end = float(1 / (1 - power))
    times = np.array([0.5, 0.99, 1.01, 1.5]) * end
    got = trajectory(problem, times, rtol=1e-10)
    np.testing.assert_allclose(got.x[:2], (1 - times[:2] / end) ** end, rtol=1e-6)
    assert failures(got)[0][1].startswith(SINGULAR) and np.isnan(got.x.values[2:]).all()


def test_whole_powers_pass_zero() -> None:
    problem = ODE(rhs={"x": -1, "v": 3 * x**a}, parameters={"a": [2.0, 3.0, 5.0]}, start={"x": 1.0, "v": 0.0})
    got = trajectory(problem, [3.0])
    assert not got.status.any()
    exact = [3 * (1 - (-2.0) ** (n + 1)) / (n + 1) for n in (2, 3, 5)]
    np.testing.assert_allclose(got.v.values[:, 0], exact, rtol=1e-12)


def test_why_a_map_ended() -> None:
    got = trajectory(Map(rhs={"w": sympy.log(w)}, start={"w": [2.0, 1.0, 50.0]}), [1, 30])
    assert [reason.startswith(SINGULAR) for _, reason in failures(got)] == [True] * 3
    got = trajectory(Map(rhs={"w": w**2 - w**3}, start={"w": [0.5, 20.0]}), [1, 300])
    assert [reason for _, reason in failures(got)] == [GREW]
