"""Trajectories against closed forms, SciPy, exact piecewise solutions, and their own order of convergence."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
import pytest
import scipy.special
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from tcpdynamics.errors import LimitError
from tcpdynamics.solvers import DDE, ODE, Delayed, DomainError, DynamicsError, Map, failures, trajectory
from tcpdynamics.solvers.equations import compile_system

w, w_d, r, delay, t = sympy.symbols("w w_d r delay t")
x, y, v = sympy.symbols("x y v")


def logistic(growth: Any) -> ODE:
    return ODE(rhs={"w": r * w * (1 - w)}, parameters={"r": growth}, start={"w": 0.1}, units={"w": "packet"})


def hutchinson(growth: Any, lag: Any = 1.0) -> DDE:
    return DDE(
        rhs={"w": r * w * (1 - w_d)},
        delayed={"w_d": Delayed("w", delay)},
        parameters={"r": growth, "delay": lag},
        start={"w": 0.1},
        time_units="RTT",
    )


@pytest.fixture(params=["tape", "machine code"])
def written_out(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways in which the kernel gets its coefficients: large sweeps have them compiled."""
    module = sys.modules["tcpdynamics.solvers.trajectories.trajectory"]
    monkeypatch.setattr(module, "NATIVE_FROM", 1 if request.param == "machine code" else 10**9)


# -- ordinary differential equations -------------------------------------------------------------------------


@given(st.lists(st.floats(0.1, 5.0), min_size=1, max_size=40), st.floats(0.01, 30.0))
@settings(max_examples=25, deadline=None)
def test_logistic_is_its_closed_form_at_every_point(rates: list[float], end: float) -> None:
    """Blocks, refilled lanes and single points all give 1/(1 + 9 e^(-r t))."""
    rates = sorted(set(rates))
    times = np.array([0.0, end / 3, end])
    got = trajectory(logistic(rates), times, method="taylor").w.values
    exact = 1 / (1 + 9 * np.exp(-np.multiply.outer(rates, times)))
    np.testing.assert_allclose(got, exact, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("method", ["taylor", "scipy"])
def test_error_falls_with_the_tolerance(method: str) -> None:
    """A tolerance a hundred times smaller gives an error at least ten times smaller, and below the tolerance."""
    rates = np.linspace(0.3, 3.0, 7)
    exact = 1 / (1 + 9 * np.exp(-rates * 7.0))
    errors = []
    for tolerance in (1e-4, 1e-6, 1e-8, 1e-10):
        done = trajectory(logistic(rates), [7.0], rtol=tolerance, atol=tolerance, method=method)
        errors.append(np.abs(done.w.values[:, 0] - exact).max())
        assert errors[-1] < 10 * tolerance
    assert all(b < a / 10 for a, b in itertools.pairwise(errors))


def test_lotka_volterra_agrees_with_scipy() -> None:
    flows = [sympy.Symbol(f"N[{i}]") for i in (1, 2, 3)]
    e, g = sympy.symbols("e g")
    problem = ODE(
        rhs={f.name: e * f * (1 - (f + g * (sum(flows) - f))) for f in flows},
        parameters={"e": [0.5, 1.95], "g": [0.3, 0.9]},
        start={f.name: 0.01 * (i + 1) for i, f in enumerate(flows)},
        outputs={"total": sum(flows)},
    )
    times = [1.0, 10.0, 50.0]
    got = trajectory(problem, times)
    assert got.N.dims == ("flow", "e", "g", "time")
    assert got.total.dims == ("e", "g", "time")
    for a in (0.5, 1.95):
        for b in (0.3, 0.9):

            def slope(_: float, n: Any, a: float = a, b: float = b) -> Any:
                return a * n * (1 - (n + b * (n.sum() - n)))

            judge = solve_ivp(slope, (0, 50), [0.01, 0.02, 0.03], "DOP853", times, rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(got.N.sel(e=a, g=b).values, judge.y, atol=1e-8)
    np.testing.assert_allclose(got.total, got.N.sum("flow"), rtol=1e-12)


FUNCTIONS = {
    "exp": (sympy.exp(-x / 2) - x, lambda s: np.exp(-s / 2) - s),
    "log": (-sympy.log(1 + x**2) * x, lambda s: -np.log(1 + s**2) * s),
    "power": (-(x ** sympy.Rational(17, 10)) / (1 + x), lambda s: -(s**1.7) / (1 + s)),
    "root": (1 - sympy.sqrt(x), lambda s: 1 - np.sqrt(s)),
    "variable power": (1 - x**x, lambda s: 1 - s**s),
    "ratio": ((2 - x) / (1 + x + x**2), lambda s: (2 - s) / (1 + s + s**2)),
    "reciprocal": (1 / x - x, lambda s: 1 / s - s),
    "sine": (sympy.sin(3 * x) - x, lambda s: np.sin(3 * s) - s),
    "cosine": (sympy.cos(2 * x) / (1 + x), lambda s: np.cos(2 * s) / (1 + s)),
    "hyperbolic tangent": (1 - sympy.tanh(x) * x, lambda s: 1 - np.tanh(s) * s),
    "arctangent": (1 - sympy.atan(x**2), lambda s: 1 - np.arctan(s**2)),
    "written out": (
        sympy.tan(x / 9) - sympy.sinh(x) / 2 + sympy.cosh(x) / 5 - sympy.asin(x / 9) + sympy.acos(x / 9) / 3,
        lambda s: np.tan(s / 9) - np.sinh(s) / 2 + np.cosh(s) / 5 - np.arcsin(s / 9) + np.arccos(s / 9) / 3,
    ),
    "a function of a parameter": (sympy.cos(2) - sympy.sin(1) * x, lambda s: np.cos(2) - np.sin(1) * s),
    "constants": (3 - (2 * x - 1) / 4, lambda s: 3 - (2 * s - 1) / 4),
}


@pytest.mark.usefixtures("written_out")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_has_its_series(name: str) -> None:
    expression, function = FUNCTIONS[name]
    problem = ODE(rhs={"x": expression}, start={"x": [0.2, 0.7, 1.5]})
    got = trajectory(problem, [0.5, 2.0], rtol=1e-12, atol=1e-13, method="taylor").x.values
    for row, start in zip(got, (0.2, 0.7, 1.5), strict=True):
        judge = solve_ivp(lambda _, s: function(s), (0, 2), [start], "DOP853", [0.5, 2.0], rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(row, judge.y[0], rtol=1e-10)


def test_the_sign_of_a_state_is_a_switch() -> None:
    """x'' = -sign(x): parabolas, whose period is four times the root of twice the height."""
    problem = ODE(rhs={"x": v, "v": -sympy.sign(x)}, start={"x": [0.5, 2.0], "v": 0.0})
    for row, height in enumerate((0.5, 2.0)):
        quarter = np.sqrt(2 * height)
        got = trajectory(problem, quarter * np.array([0.5, 1.0, 2.0, 4.0]), rtol=1e-8)
        assert (got.status == 0).all()
        np.testing.assert_allclose(got.x.values[row], height * np.array([0.75, 0, -1, 1]), atol=1e-7)


def test_unknown_functions_are_named_with_their_state() -> None:
    problem = ODE(rhs={"x": sympy.gamma(x)}, start={"x": 1.0})
    with pytest.raises(DynamicsError, match=r"^x: cannot compute gamma\(x\).*use numbers, symbols.*sin, cos, tanh"):
        trajectory(problem, [1.0])


@pytest.mark.parametrize("frequency", [1.0, 5000.0, 1e9])
def test_a_state_may_begin_at_rest(frequency: float) -> None:
    """z and its first slopes are 0, and so would be what is allowed of its error: in no unit is that an overflow."""
    s, c, w_0 = sympy.symbols("s c w_0")
    problem = ODE(
        rhs={"s": w_0 * c, "c": -w_0 * s, "z": w_0 * s**3},
        parameters={"w_0": frequency},
        start={"s": 0.0, "c": 1.0, "z": 0.0},
    )
    got = trajectory(problem, [2.0 / frequency])
    assert got.z.item() == pytest.approx(2 / 3 - np.cos(2) + np.cos(2) ** 3 / 3, rel=1e-8)


@pytest.mark.usefixtures("written_out")
def test_time_may_stand_in_the_equations() -> None:
    problem = ODE(rhs={"x": -x + t * sympy.exp(-t)}, start={"x": [1.0, 2.0]})
    times = np.linspace(0, 5, 11)
    got = trajectory(problem, times, rtol=1e-12, atol=1e-13).x.values
    exact = (np.array([[1.0], [2.0]]) + times**2 / 2) * np.exp(-times)
    np.testing.assert_allclose(got, exact, atol=1e-11)


def test_dense_output_is_as_good_as_the_steps() -> None:
    """A thousand times inside few steps: no interpolation of lower order."""
    times = np.linspace(0, 10, 1001)
    got = trajectory(logistic([1.3, 2.0]), times, rtol=1e-10, atol=1e-12).w.values
    exact = 1 / (1 + 9 * np.exp(-np.multiply.outer([1.3, 2.0], times)))
    np.testing.assert_allclose(got, exact, atol=1e-9)


# -- delays --------------------------------------------------------------------------------------------------


def spectral_hutchinson(growth: Any, end: int, nodes: int = 40) -> Any:
    """w on each delay interval as exp of an integral at Chebyshev points: exact to rounding for these values."""
    from numpy.polynomial import chebyshev

    points = -np.cos(np.pi * np.arange(nodes + 1) / nodes)
    to_series = np.linalg.inv(chebyshev.chebvander(points, nodes))
    integral = np.stack([chebyshev.chebint(c, lbnd=-1) for c in to_series.T], axis=1) / 2
    matrix = chebyshev.chebvander(points, nodes + 1) @ integral
    past, log_w, ends = np.full((len(growth), nodes + 1), 0.1), np.full(len(growth), np.log(0.1)), []
    for _ in range(end):
        log = log_w[:, None] + growth[:, None] * ((1 - past) @ matrix.T)
        past, log_w = np.exp(log), log[:, -1]
        ends.append(past[:, -1])
    return np.array(ends).T


@pytest.mark.usefixtures("written_out")
@pytest.mark.parametrize("tolerance", [1e-6, 1e-8, 1e-10])
def test_delayed_logistic_agrees_with_spectral_steps(tolerance: float) -> None:
    """Up to large limit cycles at r = 2.4, where a step's error grows by the cycle's own stretching."""
    growth = np.linspace(0.2, 2.4, 23)
    judge = spectral_hutchinson(growth, 60)
    times = np.array([1, 2, 3, 10, 30, 60])
    got = trajectory(hutchinson(growth), times, rtol=tolerance, atol=tolerance / 100).w.values
    assert np.abs(got - judge[:, times - 1]).max() < 30 * tolerance


@pytest.mark.parametrize("lag", [0.01, 0.7, 4.0])
def test_delay_only_sets_the_unit_of_time(lag: float) -> None:
    growth = np.array([0.5, 1.2, 1.9])
    judge = spectral_hutchinson(growth, 20)
    got = trajectory(hutchinson(growth / lag, lag), np.array([1, 5, 20]) * lag, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(got.w.values, judge[:, [0, 4, 19]], atol=1e-9)


@pytest.mark.usefixtures("written_out")
def test_delay_of_zero_is_no_delay() -> None:
    got = trajectory(hutchinson(1.5, [0.0, 0.5]), [0.5, 3.0, 8.0])
    plain = trajectory(logistic([1.5]), [0.5, 3.0, 8.0])
    np.testing.assert_allclose(got.w.sel(delay=0.0), plain.w[0], atol=1e-9)
    assert abs(float(got.w.sel(delay=0.5)[1] - plain.w[0, 1])) > 0.01


def exact_two_delays(a: Any, first: Any, b: Any, second: Any, end: Any) -> Any:
    """y' = -a y(t - first) - b y(t - second), y = 1 before: polynomials between breakpoints, in rationals."""
    points = {i * first + j * second for i in range(30) for j in range(30)}
    breaks = [*sorted(p for p in points if p < end), end]
    pieces: list[tuple[Any, Any, Any]] = []

    def past(begin: Any, lag: Any) -> Any:
        if begin < lag:
            return sympy.Integer(1)
        piece = next(p for low, high, p in pieces if low <= begin - lag < high)
        return piece.subs(t, t - lag)

    value: Any = sympy.Integer(1)
    for low, high in itertools.pairwise(breaks):
        whole = sympy.integrate(sympy.expand(-a * past(low, first) - b * past(low, second)), t)
        piece = sympy.expand(value + whole - whole.subs(t, low))
        pieces.append((low, high, piece))
        value = piece.subs(t, high)
    return value


@pytest.mark.parametrize("second", [sympy.Rational(7, 5), sympy.Rational(1, 3), sympy.Rational(29, 10)])
def test_discontinuities_of_several_delays_are_carried_forward(second: Any) -> None:
    """The solution is a polynomial between breakpoints, so that steps which end there are exact."""
    y_1, y_2 = sympy.symbols("y_1 y_2")
    problem = DDE(
        rhs={"y": -y_1 / 2 - y_2 / 3}, delayed={"y_1": Delayed("y", 1), "y_2": Delayed("y", second)}, start={"y": 1.0}
    )
    exact = exact_two_delays(sympy.Rational(1, 2), 1, sympy.Rational(1, 3), second, sympy.Integer(5))
    for tolerance in (1e-4, 1e-8, 1e-12):
        got = trajectory(problem, [5.0], rtol=tolerance, atol=tolerance).y.item()
        assert got == pytest.approx(float(exact), abs=1e-14)


@given(st.floats(0.05, 2.0), st.floats(0.05, 2.0), st.floats(-1.0, 1.0), st.floats(-1.0, 1.0))
@settings(max_examples=25, deadline=None)
def test_a_given_past_is_used_as_it_is(first: float, second: float, a: float, b: float) -> None:
    """Manufactured: y = cos t solves it for every pair of delays if its own past is given."""
    y_1, y_2, d1, d2, c1, c2 = sympy.symbols("y_1 y_2 d1 d2 c1 c2")
    forcing = -sympy.Symbol("s") - c1 * y_1 - c2 * y_2
    problem = DDE(
        rhs={
            "y": forcing + c1 * (sympy.Symbol("c") * sympy.Symbol("cd1") + sympy.Symbol("s") * sympy.Symbol("sd1"))
            + c2 * (sympy.Symbol("c") * sympy.Symbol("cd2") + sympy.Symbol("s") * sympy.Symbol("sd2")),
            "s": sympy.Symbol("c"),
            "c": -sympy.Symbol("s"),
        },
        delayed={"y_1": Delayed("y", d1), "y_2": Delayed("y", d2)},
        parameters={
            "d1": first, "d2": second, "c1": a, "c2": b,
            "cd1": np.cos(first), "sd1": np.sin(first), "cd2": np.cos(second), "sd2": np.sin(second),
        },
        start={"s": 0.0, "c": 1.0},
        history={"y": 1 - t**2 / 2 + t**4 / 24 - t**6 / 720 + t**8 / 40320 - t**10 / 3628800
                 + t**12 / 479001600 - t**14 / 87178291200 + t**16 / 20922789888000},
    )  # fmt: skip
    got = trajectory(problem, [0.0, 0.3, 2.0, 6.0], rtol=1e-10, atol=1e-12)
    # the polynomial misses cos by t^18/18!, 4e-11 at t = 2; errors may grow by e^((|a| + |b|) t)
    np.testing.assert_allclose(got.y.values, np.cos([0.0, 0.3, 2.0, 6.0]), atol=1e-9 * np.exp(6 * (abs(a) + abs(b))))


@pytest.mark.usefixtures("written_out")
def test_an_output_may_be_delayed() -> None:
    """The same equation with the product spelled out and with the product as an output that is delayed."""
    z_d, w_1 = sympy.symbols("z_d w_1")
    spelled = DDE(
        rhs={"w": r * (1 - w_1**3)}, delayed={"w_1": Delayed("w", delay)},
        parameters={"r": [0.3, 0.5], "delay": 1.0}, start={"w": 0.2},
    )  # fmt: skip
    output = DDE(
        rhs={"w": r * (1 - z_d)}, delayed={"z_d": Delayed("z", delay)}, outputs={"z": w**3},
        parameters={"r": [0.3, 0.5], "delay": 1.0}, start={"w": 0.2},
    )  # fmt: skip
    times = np.linspace(0, 20, 9)
    one, two = trajectory(spelled, times, rtol=1e-10), trajectory(output, times, rtol=1e-10)
    np.testing.assert_allclose(one.w, two.w, atol=1e-9)
    np.testing.assert_allclose(two.z, two.w**3, atol=1e-9)


def test_many_more_pieces_than_a_lane_remembers() -> None:
    """A short and a long delay: two thousand steps of the short one lie within the long one."""
    y_1, y_2, d2 = sympy.symbols("y_1 y_2 d2")
    problem = DDE(
        rhs={"y": -y_1 + y_2 / 2},
        delayed={"y_1": Delayed("y", sympy.Rational(1, 100)), "y_2": Delayed("y", d2)},
        parameters={"d2": [10.0, 15.0]},
        start={"y": 1.0},
    )
    got = trajectory(problem, [5.0, 6.0, 20.0])
    assert (got.status == 0).all()
    # before t = d2: y' = -y(t - 0.01) + 1/2 tends to 1/2 with the root of z = -e^(-z/100)
    root = brentq(lambda z: z + np.exp(-z / 100), -2, 0, xtol=1e-15)
    gap = got.y[:, 0].values - 0.5
    np.testing.assert_allclose(gap, gap[0], rtol=1e-12)
    later = got.y[:, 1].values - 0.5
    np.testing.assert_allclose(np.log(later / gap), root, rtol=1e-6)


# -- switches ------------------------------------------------------------------------------------------------


def queue(buffer: Any) -> ODE:
    """A queue fed at 2 sin t - 0.3 beyond what it serves, between empty and full."""
    s, c, q, full = sympy.symbols("s c q B")
    rate = 2 * s - sympy.Rational(3, 10)
    bounded = sympy.Piecewise((sympy.Max(rate, 0), q <= 0), (sympy.Min(rate, 0), q >= full), (rate, True))
    return ODE(
        rhs={"s": c, "c": -s, "q": bounded},
        parameters={"B": buffer},
        start={"s": 0.0, "c": 1.0, "q": 0.5},
        outputs={"rate": rate},
    )


def exact_queue(buffer: float, times: Any) -> Any:
    """The same queue by hand: between zeros of the rate it rises or falls monotonically and sticks at its bounds."""
    turn = np.arcsin(0.15)
    events = sorted(k * 2 * np.pi + e for k in range(9) for e in (turn, np.pi - turn) if k * 2 * np.pi + e < 60)

    def gain(a: float, b: float) -> float:
        return float(2 * (np.cos(a) - np.cos(b)) - 0.3 * (b - a))

    out = []
    for end in times:
        level, now = 0.5, 0.0
        for event in [e for e in events if e < end] + [end]:
            level, now = min(max(level + gain(now, event), 0.0), buffer), event
        out.append(level)
    return np.array(out)


@pytest.mark.usefixtures("written_out")
def test_a_queue_sticks_at_empty_and_full_exactly() -> None:
    times, buffers = np.linspace(0, 50, 201), np.array([0.6, 1.0, 2.0, 3.5, 10.0])
    for tolerance in (1e-5, 1e-8, 1e-11):
        got = trajectory(queue(buffers), times, rtol=tolerance, atol=tolerance)
        assert (got.status == 0).all()
        exact = np.stack([exact_queue(b, times) for b in buffers])
        # errors of the oscillator grow with time; those of the queue stop whenever it sticks
        assert np.abs(got.q.values - exact).max() < 100 * tolerance
        assert got.q.min() > -1e-12 and (got.q.max("time") <= buffers + 1e-12).all()


@given(st.floats(0.1, 5.0), st.floats(0.0, 3.0))
@settings(max_examples=30, deadline=None)
def test_a_switch_is_located_to_rounding(slope: float, level: float) -> None:
    """x' = 1 until x reaches a level, then slope: a kink whose place a smoothed switch would miss."""
    a, b = sympy.symbols("a b")
    problem = ODE(
        rhs={"x": sympy.Piecewise((1, x < b), (a, True))}, parameters={"a": slope, "b": level}, start={"x": 0.0}
    )
    got = trajectory(problem, [2.0, 5.0], method="taylor").x.values
    exact = [end if end < level else level + slope * (end - level) for end in (2.0, 5.0)]
    np.testing.assert_allclose(got, exact, rtol=1e-12)


def test_a_kink_of_the_past_returns_after_the_delay() -> None:
    """x rises at 1 until it is 1, then stays; y follows max(x(t - 1) - 1/2, 0): a parabola from t = 1.5 to 2."""
    x_d = sympy.Symbol("x_d")
    problem = DDE(
        rhs={"x": sympy.Piecewise((1, x < 1), (0, True)), "y": sympy.Max(x_d - sympy.Rational(1, 2), 0)},
        delayed={"x_d": Delayed("x", 1)},
        start={"x": 0.0, "y": 0.0},
    )
    times = np.array([1.2, 1.5, 1.75, 2.0, 3.0])
    exact = [0.0, 0.0, 0.25**2 / 2, 0.125, 0.625]
    np.testing.assert_allclose(trajectory(problem, times, rtol=1e-4).y.values, exact, atol=1e-14)


def test_a_switch_that_chatters_is_reported() -> None:
    """x is driven to 0 from both sides: no motion without a rule for the switch itself."""
    problem = ODE(rhs={"x": sympy.Piecewise((-1, x >= 0), (1, True))}, start={"x": [0.5, 1.0]})
    got = trajectory(problem, [0.2, 3.0], max_steps=500)
    assert failures(got)[0][1].startswith("the motion slides along a switch")
    np.testing.assert_allclose(got.x[:, 0], [0.3, 0.8])
    assert np.isnan(got.x[:, 1]).all()


# -- maps ----------------------------------------------------------------------------------------------------


def test_a_map_is_iterated() -> None:
    problem = Map(rhs={"w": w + r * w * (1 - w)}, parameters={"r": [0.5, 1.95]}, start={"w": 0.1})
    got = trajectory(problem, [0, 1, 7]).w.values
    for row, growth in zip(got, (0.5, 1.95), strict=True):
        value = 0.1
        for n in range(8):
            if n in (0, 1, 7):
                assert value in row
            value = value + growth * value * (1 - value)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.integers(1, 30))
@settings(max_examples=30, deadline=None)
def test_a_delayed_map_looks_back_whole_steps(lags: list[int], steps: int) -> None:
    problem = Map(
        rhs={"w": w / 2 + w_d / 3},
        delayed={"w_d": Delayed("w", delay)},
        parameters={"delay": np.array(sorted(set(lags)))},
        start={"w": 1.0},
    )
    got = trajectory(problem, [steps]).w.values[:, 0]
    for value, lag in zip(got, sorted(set(lags)), strict=True):
        past = [1.0]
        for n in range(steps):
            past.append(past[n] / 2 + past[max(n - lag, 0)] / 3)
        assert value == pytest.approx(past[-1], rel=1e-13)


def test_escape_is_a_reason() -> None:
    got = trajectory(Map(rhs={"w": w**2}, start={"w": [0.5, 2.0]}), [3, 100])
    assert failures(got)[0][1] == "the state grew beyond floating-point numbers"
    assert got.w.values[1].tolist() == pytest.approx([256.0, np.nan], nan_ok=True)


def test_a_history_with_a_step_or_a_narrow_peak_is_met() -> None:
    y_1 = sympy.Symbol("y_1")

    def after(history: Any) -> Any:
        problem = DDE(rhs={"y": -y_1}, delayed={"y_1": Delayed("y", 1)}, history={"y": history}, start={"y": 1.0})
        return trajectory(problem, [1.0])

    jump = sympy.Piecewise((1, t < sympy.Rational(-1, 1000)), (2, True))
    assert after(jump).y.item() == pytest.approx(1 - 1.001, abs=1e-12)
    assert after(sympy.Max(0, t + 0.7)).y.item() == pytest.approx(1 - 0.245, abs=1e-12)
    narrow = after(1 + 100 * sympy.exp(-(((t + 0.37) * 1000) ** 2))).y.item()
    assert narrow == pytest.approx(-np.sqrt(np.pi) / 10, rel=1e-7)
    # a peak that pieces can still follow: the integral of the past decides
    width = 30
    exact = 1 - float(sympy.integrate(1 + sympy.exp(-(((t + 0.37) * width) ** 2)), (t, -1, 0)))
    assert after(1 + sympy.exp(-(((t + 0.37) * width) ** 2))).y.item() == pytest.approx(exact, abs=1e-8)


def test_a_jump_of_the_past_may_be_made_by_the_equations() -> None:
    """Instead of a history with a step: y is held at 1, jumps in slope at t = 1, and looks back over it."""
    y_1 = sympy.Symbol("y_1")
    problem = DDE(
        rhs={"y": sympy.Piecewise((0, t < 1), (-y_1, True))},
        delayed={"y_1": Delayed("y", sympy.Rational(1, 2))},
        start={"y": 1.0},
    )
    # y = 1 - (t - 1) up to 1.5, then y' = -(1 - (t - 3/2))
    got = trajectory(problem, [0.9, 1.5, 2.0], rtol=1e-4).y.values
    np.testing.assert_allclose(got, [1.0, 0.5, 0.5 - 0.5 + 0.125], atol=1e-13)


# -- refusals ------------------------------------------------------------------------------------------------


def test_blow_up_is_a_reason_and_can_raise() -> None:
    problem = ODE(rhs={"x": x**2}, start={"x": [0.1, 1.0]})
    got = trajectory(problem, [0.5, 2.0])
    np.testing.assert_allclose(got.x[0], [0.1 / 0.95, 0.125], rtol=1e-8)
    assert got.status.values[1] != 0 and np.isnan(got.x.values[1, 1])
    with pytest.raises(DynamicsError, match="failed at"):
        trajectory(problem, [0.5, 2.0], throw=True)
    for method in ("taylor", "scipy"):
        lost = trajectory(problem, [20.0], start={"x": 1.0}, method=method)
        assert lost.status.item() != 0 and np.isnan(lost.x.item())


def test_steps_are_bounded_for_scipy_too() -> None:
    stiff = ODE(rhs={"x": -1e6 * (x - sympy.exp(-t))}, start={"x": 0.0})
    for method in ("taylor", "scipy"):
        assert "steps ran out" in failures(trajectory(stiff, [10.0], max_steps=100, method=method))[0][1]


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([], "1-D array"),
        ([1.0, 0.5], "increasing"),
        ([-1.0, 0.5], ">= 0"),
        ([float("nan")], "finite"),
        ([float("inf")], "finite"),
        ("soon", "real numbers"),
        ([[1.0, 2.0]], "1-D array"),
    ],
)
def test_times_are_checked(times: Any, message: str) -> None:
    with pytest.raises(DomainError, match=message):
        trajectory(logistic(1.0), times)


def test_a_delay_beyond_the_horizon_needs_a_history() -> None:
    with pytest.raises(DomainError, match=r"delay of w_d, 5 RTT, is longer than the horizon 2"):
        trajectory(hutchinson(1.0, 5.0), [2.0])
    with pytest.raises(DomainError, match=r"delay of w_d must be a finite number >= 0"):
        trajectory(hutchinson(1.0, -1.0), [2.0])


def test_other_mistakes_are_named() -> None:
    with pytest.raises(DynamicsError, match="no initial value for x"):
        trajectory(ODE(rhs={"x": -x}), [1.0])
    with pytest.raises(DomainError, match=r"r must be a finite number.*got nan"):
        trajectory(logistic([1.0, float("nan")]), [1.0])
    for wrong, message in (
        ({"rtol": 0.0}, "rtol must be a number in"),
        ({"rtol": "a"}, "rtol must be a number in"),
        ({"max_steps": 0}, "max_steps must be a whole number"),
        ({"max_steps": 2.5}, "max_steps must be a whole number"),
        ({"start": {"w": float("nan")}}, "initial value of w must be a finite number, got nan"),
        ({"start": {"w": [0.1, float("inf")]}}, "start_w must be a finite number, got inf"),
    ):
        with pytest.raises(DomainError, match=message):
            trajectory(logistic(1.0), [1.0], **wrong)
    with pytest.raises(DomainError, match="whole numbers of steps"):
        trajectory(Map(rhs={"w": w / 2}, start={"w": 1.0}), [0.5])
    with pytest.raises(LimitError, match=r"1 quantities at 100,000 points and 10,000 times need about 8 GB"):
        trajectory(logistic(np.linspace(1, 2, 100_000)), np.arange(10_000.0))
    with pytest.raises(DynamicsError, match="method must be"):
        trajectory(logistic(1.0), [1.0], method="euler")
    with pytest.raises(DynamicsError, match="ODEs without switches"):
        trajectory(queue(1.0), [1.0], method="scipy")
    with pytest.raises(TypeError, match="expected DDE, ODE, Map or a model"):
        trajectory(3, [1.0])


def test_results_say_what_they_are() -> None:
    got = trajectory(logistic([1.0, 2.0]), [0.0, 1.0])
    assert got.w.attrs["units"] == "packet" and got.time.attrs["units"] == "s"
    assert got.attrs["solver"] == "trajectory"
    assert compile_system(logistic(1.0)).labels == ("w",)


def test_steep_outputs_are_those_of_the_states() -> None:
    """Steps are chosen for the states; an output that is far steeper is computed from them."""
    x, k = sympy.symbols("x k")
    problem = ODE(
        rhs={"x": -x / 10},
        parameters={"k": [1.0, 40.0]},
        outputs={"z": sympy.exp(k * x), "top": sympy.Max(x, sympy.Rational(1, 2)), "seven": sympy.Integer(7)},
        start={"x": 1.0},
    )
    done = trajectory(problem, np.linspace(0, 50, 401))
    exact = np.exp(-done.time.values / 10)
    np.testing.assert_allclose(done.x.values, np.broadcast_to(exact, (2, 401)), rtol=1e-7)
    np.testing.assert_allclose(done.z.values, np.exp(np.outer([1.0, 40.0], exact)), rtol=40 * 1e-7)
    np.testing.assert_allclose(done.top.values[0], np.maximum(exact, 0.5), rtol=1e-7)
    assert (done.seven == 7).all()


@pytest.mark.parametrize("steepness", [1.0, 40.0, 100.0])
def test_a_steep_output_that_is_looked_back_at_sets_the_steps(steepness: float) -> None:
    """y' = z(t - 1), z = exp(k x), x = exp(-t/10) behind t = 0, 1 before: y is an integral of elementary functions."""
    x, z_d, k = sympy.symbols("x z_d k")
    problem = DDE(
        rhs={"x": -x / 10, "y": z_d},
        delayed={"z_d": Delayed("z", 1)},
        parameters={"k": steepness},
        outputs={"z": sympy.exp(k * x)},
        start={"x": 1.0, "y": 0.0},
    )
    done = trajectory(problem, [1.0, 2.0, 9.0])
    ei = scipy.special.expi
    exact = [np.exp(steepness) + 10 * (ei(steepness) - ei(steepness * np.exp(-(t - 1) / 10))) for t in (1, 2, 9)]
    np.testing.assert_allclose(done.y.values, exact, rtol=1e-8 * max(1.0, steepness / 10))
