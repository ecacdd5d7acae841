"""Switches against closed forms: their times are right to rounding, without bias, and what slides is reported."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics.solvers import DDE, ODE, Delayed, failures, trajectory

x, v, y, q, a, b, c, t, x_d = sympy.symbols("x v y q a b c t x_d")
SIGN = 2 * sympy.Heaviside(x) - 1


def relay(starts: Any, speed: Any = 0.0, force: Any = -SIGN) -> ODE:
    return ODE(rhs={"x": v, "v": force}, start={"x": starts, "v": speed})


@pytest.mark.parametrize("rtol", [1e-5, 1e-8, 1e-13])
@pytest.mark.parametrize("force", [-SIGN, sympy.Piecewise((-1, x > 0), (1, True))])
def test_a_relay_keeps_its_energy_for_a_thousand_periods(rtol: float, force: Any) -> None:
    """|x| + v^2/2 is kept; a switch that came late by a fixed amount would add to it twice a period."""
    starts = np.geomspace(1e-3, 1e3, 48)
    for scale in (1.0, np.pi):
        period = 4 * np.sqrt(2 * starts * scale)
        done = [
            trajectory(relay(s, force=force), [0.3 * p, 1000.3 * p], rtol=rtol)
            for s, p in zip(starts[::8] * scale, period[::8], strict=True)
        ]
        energy = np.array([(abs(d.x) + d.v**2 / 2).values for d in done]) / (starts[::8] * scale)[:, None]
        # 2000 landings, each of them off by half a unit in the last place of the state
        assert np.abs(energy - 1).max() < math.sqrt(2000) * 2.0**-52


def test_the_energy_errors_of_many_starts_have_no_sign() -> None:
    """The mean over starts is within four of its standard errors of zero, or below a unit in the last place."""
    rng = np.random.default_rng(8)
    starts, speed = rng.uniform(0.5, 2.0, 400), 0.7320508
    done = trajectory(relay(starts, speed), [400.0], rtol=1e-7)
    kept = starts + speed**2 / 2
    error = ((abs(done.x) + done.v**2 / 2).values[:, 0] - kept) / kept
    spread = error.std() / math.sqrt(error.size)
    assert abs(error.mean()) < max(4 * spread, 2.0**-52)
    assert np.abs(error).max() < 1e-14


def bounced(height: float, down: float, up: float, end: float) -> float:
    """x'' = -down above 0, up below, from rest at a height: parabolas."""
    speed = math.sqrt(2 * down * height)
    first, below, above = speed / down, 2 * speed / up, 2 * speed / down
    if end < first:
        return height - down * end**2 / 2
    end = (end - first) % (below + above)
    if end < below:
        return -speed * end + up * end**2 / 2
    return speed * (end - below) - down * (end - below) ** 2 / 2


@given(st.floats(1e-3, 1e3), st.floats(0.05, 20.0), st.floats(0.05, 20.0), st.floats(0.1, 60.0))
@settings(max_examples=60, deadline=None)
def test_bounces_come_when_they_should(height: float, down: float, up: float, periods: float) -> None:
    force = sympy.Piecewise((-a, x > 0), (b, True))
    problem = ODE(rhs={"x": v, "v": force}, start={"x": height, "v": 0.0}, parameters={"a": down, "b": up})
    speed = math.sqrt(2 * down * height)
    end = periods * 2 * speed * (1 / up + 1 / down)
    got = trajectory(problem, [end]).x.item()
    # A landing is off by the rounding of the way to it, which the jump of the force turns into an error of the speed;
    # the time is a sum of some 2 periods terms, each rounded, and moves the ball at its speed.
    landing = 2.0**-51 * (speed**2 / (2 * min(down, up)))
    slack = landing + (landing * (down + up) / speed + 2.0**-51 * speed) * end * math.sqrt(2 * periods + 1)
    assert abs(got - bounced(height, down, up, end)) < slack


@given(st.floats(-3.0, 60.0), st.floats(0.3, 9.0), st.floats(1.0, 40.0), st.floats(5.0, 100.0))
@settings(max_examples=40, deadline=None)
def test_clipped_marking_of_a_growing_queue(begin: float, rate: float, low: float, width: float) -> None:
    """The integral of Min(1, Max(0, (q - low)/width)) along q = begin + rate t: 0, a parabola, a line."""
    mark = sympy.Min(1, sympy.Max(0, (q - a) / b))
    problem = ODE(rhs={"q": c, "y": mark}, parameters={"a": low, "b": width, "c": rate}, start={"q": begin, "y": 0.0})
    times = np.array([0.1, 1.0, 7.0, 60.0])

    def whole(level: Any) -> Any:
        inside = np.clip((level - low) / width, 0.0, 1.0)
        return (width * inside**2 / 2 + np.maximum(level - low - width, 0.0)) / rate

    exact = whole(begin + rate * times) - whole(begin)
    np.testing.assert_allclose(trajectory(problem, times).y.values, exact, rtol=1e-14, atol=3e-14)


@given(st.floats(0.05, 3.0), st.floats(0.1, 2.0))
@settings(max_examples=40, deadline=None)
def test_a_delayed_relay_is_a_triangle_wave(lag: float, begin: float) -> None:
    """x' = -sign x(t - lag): x falls until a lag after its zero, turns there, and so on: period 4 lag."""
    problem = DDE(rhs={"x": 1 - 2 * sympy.Heaviside(x_d)}, delayed={"x_d": Delayed("x", lag)}, start={"x": begin})
    times = begin + lag * np.linspace(0.0, 50.0, 77) + 0.1
    phase = (times - begin) % (4 * lag)
    exact = np.where(phase < lag, -phase, np.where(phase < 3 * lag, phase - 2 * lag, 4 * lag - phase))
    got = trajectory(problem, times)
    assert int(got.status) == 0
    # each of 50 turns may be late by the rounding of the time, a few units in its last place
    np.testing.assert_allclose(got.x.values, exact, atol=50 * 4 * 2.0**-52 * times[-1])


@given(st.floats(0.2, 2.0), st.floats(0.1, 1.5), st.floats(0.5, 3.0))
@settings(max_examples=30, deadline=None)
def test_a_delayed_relay_with_a_lag_of_first_order(lag: float, rate: float, gain: float) -> None:
    """x' = -rate x - gain sign x(t - lag): exponentials between switches, whose times are logarithms."""
    problem = DDE(
        rhs={"x": -a * x - b * (2 * sympy.Heaviside(x_d) - 1)},
        delayed={"x_d": Delayed("x", c)},
        parameters={"a": rate, "b": gain, "c": lag},
        start={"x": 1.0},
    )
    rest = gain / rate
    first = math.log1p(1 / rest) / rate
    top = rest * -math.expm1(-rate * lag)  # where it turns, a lag after its zero
    half = lag + math.log1p(top / rest) / rate
    end = first + 20.25 * half + lag
    share = (end - first - lag) % half
    count = round((end - first - lag - share) / half)
    exact = (-1) ** count * (rest - (rest + top) * math.exp(-rate * share))
    got = trajectory(problem, [end], rtol=1e-12).x.item()
    assert got == pytest.approx(exact, abs=2e-11 * (1 + rest))


def test_a_fading_oscillation_switches_at_every_size() -> None:
    """x'' = -k x - x'/5, k = 1 above 0 and 4 below: each turn multiplies the motion by the same number, down to 1e-30.

    Nothing may be taken for a rounding error only because the motion was large once.
    """
    k = sympy.Piecewise((1, x > 0), (4, True))
    problem = ODE(rhs={"x": v, "v": -k * x - v / 5}, start={"x": 0.0, "v": 1.0})
    above, below = math.pi / math.sqrt(1 - 0.01), math.pi / math.sqrt(4 - 0.01)
    turns = np.arange(1, 111)
    got = trajectory(problem, turns * (above + below), rtol=1e-13)
    exact = np.exp(-0.1 * turns * (above + below))
    assert exact[-1] < 1e-20
    np.testing.assert_allclose(got.v.values, exact, rtol=1e-10)


@given(st.floats(0.01, 100.0), st.floats(0.0, 1e-9), st.floats(1.0, 1e6))
@settings(max_examples=40, deadline=None)
def test_a_queue_stays_where_it_came_to_rest(level: float, gap: float, far: float) -> None:
    """q falls onto a level and stops: the switch lies deep inside its argument, behind a difference that cancels."""
    argument = (q - a) / 80 + (q - a) * sympy.Rational(1, 7)
    problem = ODE(
        rhs={"q": sympy.Piecewise((-1, argument > 0), (0, True)), "x": v, "v": -x},
        parameters={"a": level},
        start={"q": level * (1 + gap) + far * 1e-6, "x": 1.0, "v": 0.0},
    )
    got = trajectory(problem, [0.5 * far * 1e-6, 2.0, 30.0])
    assert int(got.status) == 0
    start = level * (1 + gap) + far * 1e-6
    np.testing.assert_allclose(got.q.values, np.maximum(start - got.time, level), rtol=4e-16, atol=1e-15)


# -- what slides ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pushed", [sympy.Piecewise((-1, x >= 0), (1, True)), sympy.Piecewise((-1, x > 0), (1, True)), -SIGN]
)
def test_a_motion_that_slides_is_reported_at_once(pushed: Any) -> None:
    """x is driven to 0 from both sides; that it rests there is a rule which these equations do not hold."""
    problem = ODE(rhs={"x": pushed, "y": 1}, start={"x": [0.5, 0.0, -0.25], "y": 0.0})
    got = trajectory(problem, [0.2, 0.6, 1e9])
    assert [reason for _, reason in failures(got)] == [failures(got)[0][1]] * 3
    assert failures(got)[0][1].startswith("the motion slides along a switch")
    np.testing.assert_allclose(got.x[:, 0], [0.3, np.nan, -0.05])
    assert np.isnan(got.x[:, 1:]).all()


def test_a_sign_that_knows_zero_rests_there() -> None:
    sign = sympy.Piecewise((1, x > 0), (-1, x < 0), (0, True))
    got = trajectory(ODE(rhs={"x": -sign}, start={"x": [0.5, 0.0, -0.25]}), [0.2, 0.6, 1e9])
    assert not got.status.any()
    np.testing.assert_allclose(got.x, [[0.3, 0, 0], [0, 0, 0], [-0.05, 0, 0]], atol=1e-16)


@given(st.floats(0.05, 0.95), st.floats(0.1, 10.0))
@settings(max_examples=20, deadline=None)
def test_switches_that_come_ever_faster_end(friction: float, start: float) -> None:
    """x'' = -sign x - friction sign x': infinitely many turns before a finite time, which is where it must end."""
    force = -SIGN - a * (2 * sympy.Heaviside(v) - 1)
    problem = ODE(rhs={"x": v, "v": force}, parameters={"a": friction}, start={"x": start, "v": 0.0})
    first = math.sqrt(2 * start / (1 - friction))  # to x = 0
    shrink = math.sqrt((1 - friction) / (1 + friction))
    speed = math.sqrt(2 * start * (1 - friction))
    stop = first + speed * (1 / (1 + friction) + shrink / (1 - friction)) / (1 - shrink)
    got = trajectory(problem, [0.9 * first, 0.999 * stop, 1.001 * stop])
    assert failures(got)[0][1].startswith("the motion slides along a switch, or meets it ever faster")
    assert np.isfinite(got.x.values[:2]).all() and np.isnan(got.x.values[2])
    assert got.x.values[0] == pytest.approx(start - (1 - friction) * (0.9 * first) ** 2 / 2, rel=1e-12)


def test_switches_wait_for_the_taylor_method() -> None:
    with pytest.raises(ValueError, match=r"ODEs without switches; use taylor"):
        trajectory(relay(1.0), [1.0], method="scipy")


def _when(value: sympy.Expr, condition: sympy.Expr, otherwise: float = 0) -> sympy.Expr:
    return sympy.Piecewise((value, condition), (otherwise, True))


_Y, _Q = sympy.symbols("y q")


@pytest.mark.parametrize(
    ("rate", "start", "end", "exact"),
    [
        (_when(1, sympy.log(_Y) > 1, -1), 0.1, 10.0, 10 - 2 * (np.e - 0.1)),
        (_when(1, 1 / _Y < sympy.Rational(1, 3), -1), 0.1, 10.0, 10 - 2 * 2.9),
        (_when(1, 1 / (1 + (_Y - 5) ** 2) > sympy.Rational(3, 10)), 0.0, 100.0, 2 * np.sqrt(7 / 3)),
        (_when(1, 1 / (1 + _Y**2) < sympy.Rational(1, 10)), 0.0, 10.0, 7.0),
        (_when(1, sympy.tanh(2 * (_Y - 6)) > 0), 0.0, 10.0, 4.0),
    ],
)
def test_switches_on_steep_functions_are_not_jumped_over(
    rate: sympy.Expr, start: float, end: float, exact: float
) -> None:
    """x' switches on a function of y, y' = 1: the states are polynomials, the argument of the switch is none."""
    problem = ODE(rhs={"x": rate, "y": sympy.Integer(1)}, start={"x": 0.0, "y": start})
    assert trajectory(problem, [end]).x.item() == pytest.approx(exact, abs=1e-6)


def test_a_feedback_that_saturates_smoothly_holds_the_queue() -> None:
    problem = ODE(rhs={"q": 1 - 5 * sympy.Max(0, sympy.tanh(5 * (_Q - 3)))}, start={"q": 0.0})
    rest = 3 + np.arctanh(0.2) / 5
    np.testing.assert_allclose(trajectory(problem, [2.0, 4.0, 6.0]).q.values, [2, rest, rest], rtol=1e-6)


def test_outputs_that_jump_or_look_back_are_followed() -> None:
    x, x_d = sympy.symbols("x x_d")
    times = np.array([0.1, 0.5, 1.0, 2.0, 6.0])
    problem = DDE(
        rhs={"x": 1 - x},
        delayed={"x_d": Delayed("x", 1)},
        history={"x": sympy.Integer(0)},
        start={"x": 0.0},
        outputs={
            "wave": sympy.sin(20 * x_d),
            "split": sympy.Piecewise((sympy.sin(1000 * x), x > sympy.Rational(3, 10)), (sympy.exp(-100 * x), True)),
        },
    )
    done = trajectory(problem, times)
    now, past = -np.expm1(-times), -np.expm1(-np.maximum(times - 1, 0))
    split = np.where(now > 0.3, np.sin(1000 * now), np.exp(-100 * now))
    np.testing.assert_allclose(done.wave.values, np.sin(20 * past), atol=1e-6)
    np.testing.assert_allclose(done.split.values, split, atol=1e-5)


@pytest.mark.parametrize("begin", [1.0, 0.7320508, 0.3])
@pytest.mark.parametrize("lag", [1.0, 0.9])
def test_a_delayed_relay_keeps_its_phase_for_ten_thousand_periods(begin: float, lag: float) -> None:
    """A zero comes two lags after the one before: a clock that is rounded at each of them would drift."""
    problem = DDE(rhs={"x": 1 - 2 * sympy.Heaviside(x_d)}, delayed={"x_d": Delayed("x", lag)}, start={"x": begin})
    periods = np.array([100, 1000, 10_000])
    times = begin + lag * (4 * periods + 0.25)
    got = trajectory(problem, times)
    assert int(got.status) == 0
    # the times asked for are rounded themselves; of the orbit, a turn is off by a few roundings of the state, not more
    slack = 2 * np.spacing(times) + 4 * periods * 2.0**-52
    assert (np.abs(got.x.values + 0.25 * lag) < slack).all()
