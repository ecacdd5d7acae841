"""What time drives: pulses that no step may jump over, tables, and the longest step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erf, ive

from tcpdynamics.solvers import DDE, ODE, Delayed, DomainError, DynamicsError, tabulated, trajectory
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.trajectories import forcing

t, x, x_d, place, width = sympy.symbols("t x x_d place width")
PULSE = sympy.exp(-(((t - place) / width) ** 2)) / (width * sympy.sqrt(sympy.pi))


def test_a_narrow_pulse_is_not_jumped_over() -> None:
    """Its area is 1: x rises from 1 to 2, at t = 5 for 0.01."""
    problem = ODE(rhs={"x": PULSE.subs({place: 5, width: sympy.Rational(1, 100)})}, start={"x": 1.0})
    assert trajectory(problem, [10.0]).x.item() == pytest.approx(2.0, abs=1e-6)


@given(
    st.lists(st.floats(0.01, 0.99), min_size=1, max_size=5, unique=True),
    st.floats(-9.0, -0.5),
    st.floats(-1.0, 1.5),
    st.sampled_from([1e-6, 1e-8, 1e-10]),
)
@settings(max_examples=12)
def test_any_pulse_is_seen_at_any_place(places: list[float], thin: float, scale: float, tolerance: float) -> None:
    """Widths down to a billionth of the way, alone and beside waves: the primitive is an error function."""
    end = 10.0**scale
    narrow, where = end * 10.0**thin, end * np.sort(places)
    problem = ODE(
        rhs={"x": PULSE, "y": sympy.cos(3 * t) + PULSE},
        parameters={"place": where, "width": narrow},
        start={"x": 1.0, "y": 1.0},
    )
    times = end * np.array([0.4, 1.0])
    got = trajectory(problem, times, rtol=tolerance)
    risen = 1 + (erf((times - where[:, None]) / narrow) + erf(where[:, None] / narrow)) / 2
    # Within the pulse, times are rounded to 1e-16 of the way; a step's error may be repeated in some hundred steps.
    error = 100 * tolerance + 1e-15 * end / narrow
    np.testing.assert_allclose(got.x.values, risen, atol=error)
    np.testing.assert_allclose(got.y.values, risen + np.sin(3 * times) / 3, atol=error)


@pytest.mark.parametrize("thin", [1e-8, 1e-6, 1.93148e-7, 1e-3])
def test_no_place_hides_a_pulse(thin: float) -> None:
    """Also where samples met no more than its flank: at some of these places half of it was lost."""
    some = np.random.default_rng(1).uniform(0.5, 99.5, 300)
    where = np.sort(np.append(some, [3.475951903807615, 96.52404809619239, 63.86833177154913]))
    problem = ODE(rhs={"x": PULSE.subs(width, thin)}, parameters={"place": where}, start={"x": 0.0})
    error = 1e-6 + 1e-15 * 100 / thin
    np.testing.assert_allclose(trajectory(problem, [100.0]).x.values[:, 0], 1.0, atol=error)


@pytest.mark.parametrize(("thin", "end"), [(0.1, 1000.0), (0.03, 1000.5), (0.01, 1000.5), (0.003, 100.5)])
def test_each_pulse_of_many_counts(thin: float, end: float) -> None:
    """The area of a pulse is a Bessel function; to half a period they are symmetric."""
    pulses = sympy.exp(-((sympy.sin(sympy.pi * t) / thin) ** 2))
    got = trajectory(ODE(rhs={"x": pulses}, start={"x": 0.0}), [end]).x.item()
    assert got == pytest.approx(end * ive(0, 0.5 / thin**2), rel=1e-5)


def test_more_pulses_than_can_be_looked_at_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a longest step is asked for."""
    monkeypatch.setattr(forcing, "MAX_SPANS", 100)
    monkeypatch.setattr(forcing, "LEAST_SPANS", 100)
    pulses = sympy.exp(-((sympy.sin(sympy.pi * t) * 10) ** 2))
    problem = ODE(rhs={"x": pulses}, start={"x": 0.0})
    for method in ("taylor", "scipy"):
        with pytest.raises(DynamicsError, match=r"too many places in \[0, 100\].*give a max_step"):
            trajectory(problem, [100.0], method=method)
    got = trajectory(problem, [100.0], max_step=0.05).x.item()
    assert got == pytest.approx(100 * ive(0, 50), rel=1e-6)


def test_waves_need_no_look_however_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their series tells everywhere what they do; those of high powers are pulses."""
    monkeypatch.setattr(forcing, "MAX_SPANS", 100)
    monkeypatch.setattr(forcing, "LEAST_SPANS", 100)
    slopes = {"x": sympy.cos(100 * t), "y": sympy.sin(100 * t + 1) ** 2, "z": t * sympy.sin(100 * t) ** 3}
    got = trajectory(ODE(rhs=slopes, start=dict.fromkeys(slopes, 0.0)), [10.0, 50.0])
    ends = np.array([10.0, 50.0])
    np.testing.assert_allclose(got.x.values, np.sin(100 * ends) / 100, atol=1e-7)
    np.testing.assert_allclose(got.y.values, ends / 2 - (np.sin(200 * ends + 2) - np.sin(2)) / 400, rtol=1e-6)
    cubes = sympy.lambdify(t, sympy.integrate(t * sympy.sin(100 * t) ** 3, (t, 0, t)))
    np.testing.assert_allclose(got.z.values, cubes(ends), rtol=1e-6, atol=1e-6)
    with pytest.raises(DynamicsError, match="too many places"):
        trajectory(ODE(rhs={"x": sympy.sin(100 * t) ** 200}, start={"x": 0.0}), [50.0])


def test_pulses_in_products_and_behind_delays() -> None:
    pulse = PULSE.subs({place: 3, width: sympy.Rational(1, 1000)})
    times = [2.0, 10.0]
    grows = trajectory(ODE(rhs={"x": x * pulse}, start={"x": 1.0}), times)
    np.testing.assert_allclose(grows.x.values, [1.0, np.e], rtol=1e-6)
    small = trajectory(ODE(rhs={"x": sympy.sin(t) + pulse / 10**4}, start={"x": 1.0}), times).x.values
    np.testing.assert_allclose(small - 2 + np.cos(times), [0.0, 1e-4], atol=1e-7)
    late = DDE(
        rhs={"x": x_d, "y": pulse}, delayed={"x_d": Delayed("y", 1)}, start={"x": 0.0, "y": 0.0}
    )  # x = the integral of the pulse's integral, one later: 10 - 1 - 3 at t = 10
    assert trajectory(late, [10.0]).x.item() == pytest.approx(6.0, abs=1e-5)


def test_a_switch_that_time_throws_for_a_moment_is_found() -> None:
    """sin(5 t) exceeds 0.9999 for 0.0057 in every period: a guard that depends on time alone."""
    level = sympy.Rational(9999, 10000)
    problem = ODE(rhs={"x": sympy.Heaviside(sympy.sin(5 * t) - level)}, start={"x": 0.0})
    once = 2 * np.arccos(0.9999) / 5
    assert trajectory(problem, [10.0]).x.item() == pytest.approx(8 * once, rel=1e-8)


def test_nothing_is_looked_at_where_time_does_not_stand_alone() -> None:
    """Autonomous equations, and polynomials in time, whose series is the same everywhere, pay nothing."""
    for slope in (-x, x * (1 - x), t**3 - x * t, tabulated(t, [0.0, 1.0, 2.0], [1.0, 3.0, 2.0]) - x):
        system = compile_system(ODE(rhs={"x": slope}, start={"x": 1.0}))
        assert forcing.stops(system, 10.0, 14, 1e-8).size == 0


def test_a_table_drives_as_its_lines_do() -> None:
    rows = np.random.default_rng(3).normal(size=40)
    ticks = np.sort(np.random.default_rng(4).uniform(1, 9, 40))
    times = np.array([0.5, 2.0, 5.0, 9.0, 12.0])
    got = trajectory(ODE(rhs={"x": tabulated(t, ticks, rows)}, start={"x": 0.0}), times, rtol=1e-4).x.values
    for time, value in zip(times, got, strict=True):
        marks = np.concatenate([[0.0], ticks[ticks < time], [time]])
        assert value == pytest.approx(np.trapezoid(np.interp(marks, ticks, rows), marks), abs=1e-12)


@given(st.integers(2, 30), st.integers(0, 2**32 - 1), st.floats(-2, 12))
def test_a_table_is_numpys_interpolation(count: int, seed: int, at: float) -> None:
    rng = np.random.default_rng(seed)
    ticks, rows = np.unique(rng.uniform(0, 10, count + 1)), rng.normal(size=count + 1)
    rows = rows[: ticks.size]
    system = compile_system(ODE(rhs={"x": tabulated(t, ticks, rows)}, start={"x": 0.0}))
    for time in (at, ticks[0], ticks[-1], ticks[ticks.size // 2]):
        got = system.slope(np.zeros((1, 1)), t=float(time)).item()
        # a slope is rounded to its last digit, and so is the time since the row
        assert got == pytest.approx(np.interp(time, ticks, rows), abs=1e-14 * (1 + np.abs(rows).max()))


def test_a_table_may_come_later_by_a_parameter() -> None:
    lag = sympy.Symbol("lag")
    problem = ODE(
        rhs={"x": tabulated(t - lag, [0.0, 1.0], [0.0, 1.0])}, parameters={"lag": [0.0, 0.5, 2.0]}, start={"x": 0.0}
    )
    np.testing.assert_allclose(trajectory(problem, [2.0]).x.values[:, 0], [1.5, 1.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("method", ["taylor", "scipy"])
def test_no_step_is_longer_than_is_asked(method: str) -> None:
    """A pulse in a state's own space, which nothing finds beforehand: a longest step does."""
    bump = sympy.exp(-(((x - 5) * 50) ** 2))
    problem = ODE(rhs={"x": 1 / (1 + 100 * bump)}, start={"x": 0.0})
    slow = 10 + 100 * np.sqrt(np.pi) / 50  # dt = (1 + 100 bump) dx
    got = trajectory(problem, [slow], rtol=1e-9, atol=1e-9, max_step=0.02, method=method).x.item()
    assert got == pytest.approx(10.0, abs=1e-6)


def test_the_longest_step_counts_steps() -> None:
    still = ODE(rhs={"x": 0 * x}, start={"x": 1.0})
    assert trajectory(still, [10.0], max_step=1.0, max_steps=10).status.item() == 0
    assert trajectory(still, [10.0], max_step=1.0, max_steps=9).status.item() != 0


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("nan"), "1", True, [1.0]])
def test_the_longest_step_is_checked(wrong: Any) -> None:
    with pytest.raises(DomainError, match="max_step must be a number above 0"):
        trajectory(ODE(rhs={"x": -x}, start={"x": 1.0}), [1.0], max_step=wrong)


@pytest.mark.parametrize("rows", [48, 61, 301])
def test_a_switch_on_a_table_sees_every_row(rows: int) -> None:
    """A zigzag between 0 and 1, of which the part above one half is added up: 1/4 in each two units of time."""
    t = sympy.Symbol("t")
    table = tabulated(t, np.arange(rows), np.arange(rows) % 2)
    done = trajectory(ODE(rhs={"x": sympy.Max(0, table - 0.5)}, start={"x": 0.0}), [0, rows - 1])
    assert done.x.values[-1] == pytest.approx(0.125 * (rows - 1), rel=1e-8)
