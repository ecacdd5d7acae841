"""Logistic control: closed forms as identities, limits of gain and delay by second methods, refusals."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pint
import pytest
import sympy
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from judges import roots_right
from scipy.integrate import solve_ivp

from tcpdynamics.models import Logistic, LogisticAckClocked, LogisticDelayed, LogisticMap
from tcpdynamics.models.formulas import delay_roots
from tcpdynamics.models.logistic import held_growth
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.problems import DomainError, Dynamics
from tcpdynamics.solvers.programs.from_sympy import emit
from tcpdynamics.solvers.programs.straightline import Builder, run

EPS, K, RTT, W0, T, B, C = sympy.symbols("epsilon capacity base_rtt start t b c", positive=True)
gains = st.floats(0.05, 3.0)


def flow(kind: Any = Logistic, **kw: Any) -> Any:
    return kind(**{"epsilon": EPS, "capacity": K, "base_rtt": RTT, **kw})


# ---------------------------------------------------------------- the differential equation


def test_closed_trajectory_solves_the_equation() -> None:
    model = flow()
    w = flow(start=W0).trajectory_closed(T)
    rhs = model.ode().rhs["w"].subs(sympy.Symbol("w", positive=True), w)
    assert sympy.simplify(sympy.diff(w, T) - rhs) == 0
    assert sympy.simplify(w.subs(T, 0) - W0) == 0
    assert model.ode().time_units == "RTT"


def test_convergence_time() -> None:
    """w(T) = c K R from w(0) = (1-b) K R, and T holds neither K nor R."""
    model = flow()
    time = model.time_to(B, C)
    w = flow(start=(1 - B) * K * RTT).trajectory_closed(T)
    assert sympy.simplify(w.subs(T, time) - C * K * RTT) == 0
    assert time.free_symbols == {EPS, B, C}
    assert Logistic(epsilon=1.95).time_to(0.9, 0.99) == pytest.approx(math.log(891) / 1.95, rel=1e-14)


def test_rates_and_windows_are_one_motion() -> None:
    """N = w/R per second is the window per round trip, seen at t R."""
    model = flow()
    w, N = (sympy.Symbol(s, positive=True) for s in "wN")
    by_window = model.ode().rhs["w"].subs(w, N * RTT) / RTT / RTT  # dN/dt in seconds
    rate = model.rate_ode()
    assert sympy.simplify(rate.rhs["N"] - by_window) == 0
    assert rate.time_units == "s"
    assert Logistic().rate_ode().time_units == "RTT"
    numbers = Logistic(base_rtt=[0.1, 0.2], start=5.0)
    assert compile_system(numbers.rate_ode()).start_values().tolist() == [[50.0, 25.0]]


@given(gains, st.floats(1e-3, 3.0), st.floats(0.0, 20.0))
def test_closed_trajectory_against_integration(epsilon: float, start: float, time: float) -> None:
    model = Logistic(epsilon=epsilon, capacity=50.0, base_rtt=0.1, start=5 * start)
    system = compile_system(model.ode())
    done = solve_ivp(
        lambda t, y: system.slope(y[:, None])[:, 0], (0, time), [5 * start], method="DOP853", rtol=1e-11, atol=1e-11
    )
    # Local errors of 1e-11 add up over at most epsilon t e-foldings before they decay.
    assert model.trajectory_closed(time) == pytest.approx(done.y[0, -1], rel=1e-8)


def test_quantities() -> None:
    """Dimensions of the closed forms, and problems in plain numbers."""
    units = pint.UnitRegistry()
    units.define("packet = [packet]")
    model = Logistic(capacity=100 * units("packet/s"), base_rtt=50 * units.ms, start=2 * units.packet)
    assert model.bdp().to("packet").magnitude == pytest.approx(5.0)
    assert model.trajectory_closed(0.0).to("packet").magnitude == pytest.approx(2.0)
    assert compile_system(model.ode()).grid.values["base_rtt"] == pytest.approx(0.05)
    assert compile_system(model.rate_ode()).start_values().item() == pytest.approx(40.0)


def test_labels_of_a_sweep() -> None:
    found = Logistic(epsilon=[0.5, 1.0, 1.95]).trajectory_closed(np.linspace(0, 5, 11))
    assert found.sizes == {"epsilon": 3, "time": 11} and found.attrs["units"] == "packet"
    assert Logistic(epsilon=[0.5, 1.0]).time_to([0.5, 0.9], 0.99).sizes == {"b": 2, "epsilon": 2}


# ---------------------------------------------------------------- the map


def test_map_is_the_quadratic_map() -> None:
    """x = w epsilon/((1+epsilon) K) turns it into r x (1-x), r = 1 + epsilon: chaos from 3.569946 - 1 on."""
    x, w = sympy.symbols("x w", positive=True)
    r, full = 1 + EPS, K * RTT
    step = flow(LogisticMap).map().rhs["w"].subs(w, x * r * full / EPS)
    assert sympy.simplify(step * EPS / (r * full) - r * x * (1 - x)) == 0


def test_multiplier_and_two_cycle() -> None:
    w, full = sympy.Symbol("w", positive=True), K * RTT
    model = flow(LogisticMap)
    step = model.map().rhs["w"]
    assert sympy.simplify(sympy.diff(step, w).subs(w, full) - model.multiplier()) == 0
    low, high = model.two_cycle()
    assert sympy.simplify(step.subs(w, low) - high) == 0
    assert sympy.simplify(step.subs(w, high) - low) == 0
    slope = sympy.diff(step, w)
    multiplier = sympy.simplify(slope.subs(w, low) * slope.subs(w, high))
    assert sympy.simplify(multiplier - (5 - EPS**2)) == 0
    assert multiplier.subs(EPS, 2) == 1 and multiplier.subs(EPS, sympy.sqrt(6)) == -1  # born, flips


def test_peak_is_the_top_of_the_parabola() -> None:
    w = sympy.Symbol("w", positive=True)
    model = flow(LogisticMap)
    step = model.map().rhs["w"]
    (top,) = sympy.solve(sympy.diff(step, w), w)
    assert sympy.simplify(step.subs(w, top) - model.peak()) == 0
    assert LogisticMap(epsilon=1.95, capacity=1.0).peak() == pytest.approx(1.115705, abs=5e-7)
    assert LogisticMap(epsilon=[0.3, 1.0], capacity=7.0).peak().values.tolist() == [7.0, 7.0]


def iterate(problem: Dynamics, start: float, steps: int) -> np.ndarray[Any, Any]:
    system = compile_system(problem)
    states = [np.full((1, system.size), start)]
    for _ in range(steps):
        states.append(system.slope(states[-1]))
    return np.array(states)[:, 0]


def test_at_two_the_window_still_converges_but_slowly() -> None:
    """The deviation d obeys d'' = d - 8 d^3 over two steps, so that 8 t d^2 -> 1: 0.25 % after 20000 steps."""
    states = iterate(LogisticMap(epsilon=2.0, capacity=1.0).map(), 0.3, 20000)[-1]
    deviation = abs(states[0] - 1)
    assert deviation == pytest.approx(1 / math.sqrt(8 * 20000), rel=1e-2)  # the next term is O(ln t/t)


def test_map_settles_where_the_margin_says() -> None:
    model = LogisticMap(epsilon=np.linspace(0.05, 2.9, 286), capacity=1.0)
    end, margin = iterate(model.map(), 1 + 1e-6, 2000)[-1], model.stability_margin().values
    assert abs(end - 1)[margin > 0.005].max() < 1e-10  # 1e-6 |1 - epsilon|^2000, epsilon <= 1.99
    assert abs(end - 1)[margin < -0.005].min() > 1e-3


# ---------------------------------------------------------------- per ACK


def held(x: float, left: float, rate: float) -> float:
    builder, symbols = Builder(), sympy.symbols("x left rate")
    program = builder.build([emit(builder, held_growth(*symbols))])
    with np.errstate(all="ignore"):
        return float(run(program, dict(zip(("x", "left", "rate"), (x, left, rate), strict=True)))[0])


@given(st.floats(1e-3, 50.0), st.floats(-40.0, 1.0), st.floats(0.01, 8.0))
def test_held_growth_against_many_digits(x: float, left: float, rate: float) -> None:
    for capacity in (left, 1e-9 * left, 1e-3 * left, 0.0):
        with mpmath.workdps(60):
            x_, k, r = mpmath.mpf(x), mpmath.mpf(capacity), mpmath.mpf(rate)
            small = abs(capacity) < 1e-30
            exact = x_ / (1 + r * x_) if small else k * x_ / (x_ + (k - x_) * mpmath.exp(-r * k))
        # e^(-z) magnifies the rounding of z = rate left by |z| <= 320.
        assert held(x, capacity, rate) == pytest.approx(float(exact), rel=1e-13, abs=1e-300)
    assert held(x, -1e4, rate) < 1e-20  # far too much other traffic: extinct, not NaN


def test_held_measurement_is_the_exact_flow() -> None:
    """From one measurement to the next, the map is the differential equation with k = K - gamma C."""
    model = LogisticAckClocked(
        epsilon=1.95, capacity=80.0, base_rtt=0.5, gamma=0.9, cross_traffic=[0.0, 30.0, 85.0, 120.0], period=2.0
    )
    system = compile_system(model.map())
    after = system.slope(np.full((1, 4), 3.0))[0]
    for C, end in zip([0.0, 30.0, 85.0, 120.0], after, strict=True):
        done = solve_ivp(
            lambda t, w, C=C: 1.95 * (1 - (w + 0.9 * C * 0.5) / 40.0) * w, (0, 2), [3.0], rtol=1e-12, atol=1e-13,
            method="DOP853",
        )  # fmt: skip
        assert end == pytest.approx(done.y[0, -1], rel=1e-10)
    assert model.equilibrium().values == pytest.approx([40.0, 26.5, 1.75, 0.0])


def test_single_acks_tend_to_the_round_trip_map() -> None:
    """w updates by epsilon (1 - w/K) a round trip each: an Euler step of 1/w, so the error falls like 1/K."""
    errors = []
    for size in (1000.0, 2000.0, 4000.0):
        model = LogisticAckClocked(capacity=size, epsilon=1.95)
        ack, trip = compile_system(model.ack_map()), compile_system(model.map())
        w, clock = np.array([[0.3 * size]]), 0.0
        expected = trip.slope(w)
        while clock < 1:  # w ACKs in a round trip: each takes 1/w of it
            step = min(1 / w[0, 0], 1 - clock)
            w, clock = w + (ack.slope(w) - w) * step * w, clock + step
        errors.append(abs(w[0, 0] / expected[0, 0] - 1))
    ratios = np.array(errors[:-1]) / errors[1:]
    assert ratios == pytest.approx(2, rel=0.02)


def test_ack_update_is_stable_up_to_twice_the_window() -> None:
    w = sympy.Symbol("w", positive=True)
    model = flow(LogisticAckClocked)
    multiplier = sympy.diff(model.ack_map().rhs["w"], w)
    assert sympy.simplify(multiplier - (1 - EPS / (K * RTT))) == 0  # -1 at epsilon = 2 K R
    small = LogisticAckClocked(capacity=0.9, epsilon=1.95)
    assert small.ack_margin() < 0 < LogisticAckClocked(capacity=1.0, epsilon=1.95).ack_margin()


@given(gains, st.floats(0, 0.99), st.floats(0, 300), st.floats(0.1, 4))
def test_held_margin_is_one_minus_the_multiplier(epsilon: float, gamma: float, cross: float, h: float) -> None:
    model = LogisticAckClocked(epsilon=epsilon, gamma=gamma, cross_traffic=cross, period=h)
    at = np.array([[model.equilibrium()]])
    slope = compile_system(model.map()).jacobians(at)[0].item()
    assert 1 - slope == pytest.approx(model.stability_margin(), abs=1e-12)


# ---------------------------------------------------------------- delay


@given(gains, st.floats(0.0, 4.0))
def test_delayed_margin_against_the_winding_number(epsilon: float, delay: float) -> None:
    model = LogisticDelayed(epsilon=epsilon, delay=delay)
    if abs(model.stability_margin()) > 1e-3:
        assert (roots_right(0.0, -epsilon, delay) == 0) == (model.stability_margin() > 0)


def test_roots_cross_at_the_critical_delay() -> None:
    """i epsilon is a root there, and moves to the right: dl/dd = -l^2/(1 + l d)."""
    delay = flow(LogisticDelayed, delay=T).critical_delay()
    root = sympy.I * EPS
    assert sympy.simplify(root + EPS * sympy.exp(-root * delay)) == 0
    assert sympy.simplify(sympy.re(-(root**2) / (1 + root * delay))).is_positive


@given(st.floats(-2, 2), st.floats(-3, 3).filter(lambda b: abs(b) > 1e-3), st.floats(0.01, 3))
def test_delay_roots_are_roots_and_the_rightmost(a: float, b: float, tau: float) -> None:
    found = delay_roots(a, b, tau, 7).values
    assert (np.diff(found.real) <= 1e-9).all()
    residual = found - a - b * np.exp(-found * tau)
    # An error of one rounding in lambda tau moves b e^(-lambda tau) by |lambda - a| |lambda| tau roundings.
    scale = (1 + abs(found) * tau) * (abs(found - a) + abs(found) + abs(a))
    assert (abs(residual) <= 1e-14 * scale).all()
    if abs(found.real).min() > 1e-3:
        assert roots_right(a, b, tau) == min(7, (found.real > 0).sum())


def test_delay_roots_at_the_ends() -> None:
    assert (
        delay_roots(-1.0, -2.0, 0.0, 3).values[0] == -3 and np.isnan(delay_roots(-1.0, -2.0, 0.0, 3).values[1:]).all()
    )
    assert delay_roots(-1.0, 0.0, 1.0, 2).values[0] == -1
    assert LogisticDelayed(epsilon=[1.0, 2.0], delay=[0.5, 1.0]).spectrum(3).sizes == {
        "epsilon": 2, "delay": 2, "root": 3
    }  # fmt: skip


def test_delayed_equation() -> None:
    problem = LogisticDelayed(epsilon=1.95, capacity=40.0, delay=0.5).dde()
    own, past, tau = compile_system(problem).jacobians(np.array([[40.0]]))
    assert own.item() == pytest.approx(0, abs=1e-15) and past.item() == pytest.approx(-1.95) and tau.item() == 0.5


# ---------------------------------------------------------------- all of them


@pytest.mark.parametrize("kind", [Logistic, LogisticMap, LogisticAckClocked, LogisticDelayed])
def test_fixed_points_are_at_rest(kind: Any) -> None:
    model = kind(epsilon=[0.4, 1.95, 2.7], base_rtt=0.25, capacity=64.0)
    view = next(getattr(model, name) for name in ("ode", "dde", "map") if hasattr(model, name))()
    system, scalars = (compile_system(view), {"capacity": 64.0, "base_rtt": 0.25, "gamma": 0.9, "cross_traffic": 0.0})
    for point in view.fixed_points:
        at = sympy.sympify(point["w"])
        value = float(at.subs({s: scalars[s.name] for s in at.free_symbols}))
        rest = value if hasattr(model, "map") else 0.0
        assert system.slope(np.full((1, 3), value)) == pytest.approx(rest, abs=1e-12)
    assert len(view.fixed_points) == 2 and view.name == kind.__name__ and view.provenance["capacity"] == 64.0


@pytest.mark.parametrize(
    "bad, says",
    [
        ({"epsilon": -1.0}, r"epsilon must lie in \(0, inf\), got -1"),
        ({"epsilon": math.nan}, "epsilon must lie in"),
        ({"capacity": [1.0, 0.0]}, r"capacity must lie in \(0, inf\), got 0.0 at index 1"),
        ({"base_rtt": math.inf}, "base_rtt must lie in"),
        ({"start": 0.0}, "start must lie in"),
    ],
)
def test_refusals(bad: dict[str, Any], says: str) -> None:
    with pytest.raises(DomainError, match=says):
        Logistic(**bad)


def test_refusals_of_arguments() -> None:
    with pytest.raises(DomainError, match=r"b must lie in \(0, 1\), got 90; a percentage"):
        Logistic().time_to(90, 0.99)
    with pytest.raises(DomainError, match="c must be at least 1 - b"):
        Logistic().time_to(0.1, 0.5)
    with pytest.raises(DomainError, match="times must be finite numbers >= 0"):
        Logistic().trajectory_closed([-1.0])
    with pytest.raises(DomainError, match=r"delay must lie in \[0, inf\)"):
        LogisticDelayed(delay=-0.1)
    with pytest.raises(DomainError, match=r"gamma must lie in \[0, 1\)"):
        LogisticAckClocked(gamma=1.0)


def test_a_quantity_beside_a_number() -> None:
    units = pint.UnitRegistry()
    units.define("packet = [packet]")
    rate, rtt = 100 * units("packet/s"), 200 * units.ms
    for model in (Logistic(capacity=rate, base_rtt=0.2), Logistic(capacity=100.0, base_rtt=rtt)):
        assert model.bdp().to("packet").magnitude == pytest.approx(20.0)
    assert LogisticAckClocked(capacity=rate, base_rtt=rtt).ack_margin() == pytest.approx(38.05)


@pytest.mark.parametrize("times", ["a", [[1, 2]]])
def test_times_that_are_none(times: object) -> None:
    with pytest.raises(DomainError, match="times must be a number or a 1-D array"):
        Logistic().trajectory_closed(times)


def test_grids_and_names_that_are_refused() -> None:
    many = np.linspace(0.1, 1.0, 100_000)
    with pytest.raises(DomainError, match="10,000,000,000 points"):
        LogisticDelayed(epsilon=many, delay=many).stability_margin()
    with pytest.raises(DomainError, match="'root', which is reserved"):
        LogisticDelayed(epsilon=xr.DataArray([1.0, 2.0], dims="root")).spectrum()


@pytest.mark.filterwarnings("error")
def test_the_smallest_delay() -> None:
    found = LogisticDelayed(delay=5e-324).spectrum(2).values
    assert found[0] == -1.95 and np.isnan(found[1])
