"""Functions far out, where they are constant or beyond floating-point numbers, against closed forms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tcpdynamics.solvers import DDE, ODE, Delayed, trajectory
from tcpdynamics.solvers.programs.intervals import Interval

x, y, t, k, c, u = sympy.symbols("x y t k c u")
HALF, ONE = sympy.Rational(1, 2), sympy.Integer(1)

steepness = st.floats(5.0, 400.0)
places = st.floats(-60.0, 60.0)


def driven(rate: Any, steep: float, place: float) -> ODE:
    """x' = rate(u), u = k (y - c), y = t."""
    rhs = {"x": rate.subs(u, k * (y - c)), "y": ONE}
    return ODE(rhs=rhs, start={"x": 0.0, "y": 0.0}, parameters={"k": steep, "c": place})


def softplus(v: float) -> float:
    return max(v, 0.0) + math.log1p(math.exp(-abs(v)))


#: Functions of u, and their integrals.
FAR_OUT = {
    "sech^2": (1 / sympy.cosh(u) ** 2, math.tanh),
    "sech": (sympy.sech(u), lambda v: 2 * math.atan(math.tanh(v / 2))),
    "falling": (1 / (1 + sympy.exp(u)), lambda v: v - softplus(v)),
    "rising": (1 / (1 + sympy.exp(-u)), softplus),
    "least": (sympy.Min(0, sympy.exp(u)), lambda v: 0.0),
    "branch": (sympy.Piecewise((ONE, u > 0), (sympy.exp(u), True)), lambda v: math.exp(v) if v <= 0 else v + 1.0),
    "tanh of exp": (1 - sympy.tanh(sympy.exp(800 + sympy.Abs(u))), lambda v: 0.0),
}


@pytest.mark.parametrize("name", sorted(FAR_OUT))
@given(steepness, places)
@example(301.0, 32.0)  # the other side of the branch overflows before the motion ends
@settings(max_examples=25, deadline=None)
def test_what_is_divided_by_a_huge_number_is_zero_and_comes_back(name: str, steep: float, place: float) -> None:
    rate, integral = FAR_OUT[name]
    got = trajectory(driven(rate, steep, place), [40.0], rtol=1e-10)
    exact = (integral(steep * (40.0 - place)) - integral(-steep * place)) / steep
    assert int(got.status) == 0
    # a pulse narrower than the steps around it is followed to the tolerance of what it adds up to, and of the motion
    assert got.x.item() == pytest.approx(exact, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("many", [1, 600])
def test_machine_code_knows_infinite_divisors_too(many: int) -> None:
    middles = np.linspace(-30.0, 60.0, many)
    problem = ODE(
        rhs={"x": -x + 1 / sympy.cosh(50 * (y - c)) ** 2, "y": ONE},
        start={"x": 1.0, "y": 0.0},
        parameters={"c": middles},
    )
    got = trajectory(problem, [1.0])
    assert not got.status.any()
    away = (middles < -0.5) | (middles > 1.5)
    np.testing.assert_allclose(got.x.values.ravel()[away], math.exp(-1.0), rtol=1e-7)


@pytest.mark.parametrize("place", [2, 20, 35])
@pytest.mark.parametrize("rate", [1 / sympy.cosh(u) ** 2, 1 / (1 + sympy.exp(u))])
def test_forcing_by_time_may_overflow(rate: Any, place: int) -> None:
    """The same of time alone, which is looked at beforehand, and behind a delay."""
    end = 40.0
    function = rate.subs(u, 50 * (t - place))
    exact = 2 / 50 if rate.has(sympy.cosh) else float(place)
    assert trajectory(ODE(rhs={"x": function}, start={"x": 0.0}), [end]).x.item() == pytest.approx(exact, abs=1e-6)
    late = DDE(
        rhs={"x": function, "y": u}, delayed={"u": Delayed("x", 1)}, start={"x": 0.0, "y": 0.0}, history={"x": 0 * t}
    )
    got = trajectory(late, [place + 1.5 if exact == place else end])
    assert int(got.status) == 0
    past = place**2 / 2 + 0.5 * place if exact == place else exact * (end - 1 - place)
    assert got.y.item() == pytest.approx(past, abs=2e-2)


@pytest.mark.parametrize(
    "rate",
    [
        sympy.exp(y) / (1 + sympy.exp(y)),  # the infinite divided by the infinite
        1 / sympy.log(1 + sympy.exp(y)),  # infinite, but its logarithm is not
        (1 + sympy.exp(y)) ** sympy.Rational(-1, 1000),
        1 / (1 + 1 / (y - 800)),  # infinite at one place only
        sympy.exp(-sympy.log(y - 800)),
        sympy.exp(y) * 1e-300 / (1 + sympy.exp(y) * 1e-300),
    ],
)
def test_what_is_infinite_only_in_passing_has_no_value(rate: Any) -> None:
    """A number too large for floating-point numbers may not be taken for zero where it is not divided into one."""
    problem = ODE(rhs={"x": rate, "y": ONE}, start={"x": 0.0, "y": 800.0})
    assert int(trajectory(problem, [1.0]).status) != 0


@given(st.floats(20.0, 1e4), st.floats(1.0, 30.0))
@settings(max_examples=30, deadline=None)
def test_a_switch_whose_argument_is_flat_before_its_zero_is_met(steep: float, place: float) -> None:
    for argument in (sympy.tanh(k * (y - c)), HALF - 1 / (1 + sympy.exp(k * (y - c)))):
        rhs = {"x": sympy.Piecewise((ONE, argument > 0), (0, True)), "y": ONE}
        problem = ODE(rhs=rhs, start={"x": 0.0, "y": 0.0}, parameters={"k": steep, "c": place})
        # the place of a switch has the default tolerance, relative to the terms of its argument
        assert trajectory(problem, [40.0]).x.item() == pytest.approx(40.0 - place, abs=1e-6)


numbers = st.floats(-1e3, 1e3)


@given(numbers, numbers, numbers, st.floats(0, 1e3), st.floats(0, 1), st.floats(0, 1), st.booleans())
@example(a=-1.0, b=-3.5e-37, low=-1.0, width=0.0, p=1.0, q=0.0, at_zero=False)
@example(a=0.0, b=1.0, low=0.0, width=2.2250738585e-313, p=0.0, q=1.0, at_zero=False)
@example(a=0.0, b=1e-310, low=0.0, width=5e-324, p=0.5, q=1.0, at_zero=False)
@example(a=-1e-320, b=1e-310, low=-5e-324, width=0.0, p=0.5, q=1.0, at_zero=False)
def test_bounds_of_a_ratio_hold_it(
    a: float, b: float, low: float, width: float, p: float, q: float, at_zero: bool
) -> None:
    low = 0.0 if at_zero else low
    top, bottom = (Interval(np.array(min(a, b)), np.array(max(a, b))), Interval(np.array(low), np.array(low + width)))
    with np.errstate(all="ignore"):
        ratio = top / bottom
        # Rounding may carry the sum out of its interval.
        one = np.clip(top.low + p * (top.high - top.low), top.low, top.high)
        other = np.clip(bottom.low + q * (bottom.high - bottom.low), bottom.low, bottom.high)
        value = one / other
    if other != 0.0:
        slack = 1e-12 * abs(value) + 1e-300 if np.isfinite(value) else 0.0
        assert np.isnan(ratio.low) or ratio.low <= value + slack
        assert np.isnan(ratio.high) or ratio.high >= value - slack


ends = st.floats(allow_nan=False)


@given(ends, ends, ends, ends, st.data())
def test_bounds_of_any_ratio_hold_it(a: float, b: float, c: float, d: float, data: st.DataObject) -> None:
    """Subnormal, huge and infinite ends too; what lies between was finite before it overflowed."""
    top, bottom = (Interval(np.array(min(x)), np.array(max(x))) for x in ((a, b), (c, d)))
    with np.errstate(all="ignore"):
        ratio = top / bottom
        one, other = (
            data.draw(st.floats(float(x.low), float(x.high)).filter(math.isfinite))
            if x.low < np.inf and x.high > -np.inf and x.low != x.high
            else float(x.low)
            for x in (top, bottom)
        )
        value = np.float64(one) / np.float64(other)
    if other != 0.0 and not np.isnan(value):
        slack = 1e-15 * abs(value) + 5e-324 if np.isfinite(value) else 0.0
        assert np.isnan(ratio.low) or ratio.low <= value + slack
        assert np.isnan(ratio.high) or ratio.high >= value - slack
