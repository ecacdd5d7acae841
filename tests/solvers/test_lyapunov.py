"""Lyapunov exponents that are known: linear systems, chaotic maps, characteristic roots, Lorenz."""

from __future__ import annotations

from statistics import stdev
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import lambertw
from strategies import logistic_map

from tcpdynamics.errors import FailureWarning
from tcpdynamics.solvers import bifurcation, failures, lyapunov
from tcpdynamics.solvers.problems import DDE, ODE, Delayed, DomainError, DynamicsError, Map
from tcpdynamics.solvers.results import reason
from tcpdynamics.solvers.stability import lyapunov_kernel as kernel

w, past, r, delay = sympy.symbols("w past r delay")
x, y, z = sympy.symbols("x y z")


def delayed(values: Any, lags: Any = 1.0, start: Any = 1.0) -> DDE:
    rhs, seen = {"w": r * w * (1 - past)}, {"past": Delayed("w", delay)}
    return DDE(rhs=rhs, delayed=seen, parameters={"r": values, "delay": lags}, start={"w": start})


entries = st.lists(st.integers(-20, 20).map(lambda k: k / 10), min_size=9, max_size=9)


@settings(max_examples=25)
@given(entries)
def test_linear_flow(values: list[float]) -> None:
    """Real parts of the eigenvalues, and their sum the trace; the deviations' lengths wander by O(1) only."""
    matrix = np.array(values).reshape(3, 3)
    symbols = sympy.Matrix([x, y, z])
    rhs = dict(zip("xyz", sympy.Matrix(matrix) * symbols, strict=True))
    found = lyapunov(ODE(rhs=rhs, start=dict.fromkeys("xyz", 0.0)), count=3, time=100.0, transient=20.0, rtol=1e-7)
    wanted = np.sort(np.linalg.eigvals(matrix).real)[::-1]
    # a defective or nearly defective matrix turns (1 + c t) e^(lambda t): log(100)/100 beside 0.05
    assert found.exponent.values == pytest.approx(wanted, abs=0.15)
    assert found.exponent.values.sum() == pytest.approx(np.trace(matrix), abs=1e-4)


@settings(max_examples=25)
@given(entries)
def test_linear_map(values: list[float]) -> None:
    """Logarithms of the eigenvalues' moduli; their sum is that of the determinant."""
    matrix = np.array(values).reshape(3, 3)
    determinant = abs(np.linalg.det(matrix))
    rhs = dict(zip("xyz", sympy.Matrix(matrix) * sympy.Matrix([x, y, z]), strict=True))
    found = lyapunov(Map(rhs=rhs, start=dict.fromkeys("xyz", 0.0)), count=3, time=2000)
    with np.errstate(divide="ignore"):
        wanted = np.log(np.sort(np.abs(np.linalg.eigvals(matrix)))[::-1])
    if determinant > 1e-6:
        assert found.exponent.values == pytest.approx(wanted, abs=0.05)
        assert found.exponent.values.sum() == pytest.approx(np.log(determinant), abs=1e-8)
    else:
        assert found.exponent.values[0] == pytest.approx(wanted[0], abs=0.05) or wanted[0] < -10


def test_chaos_in_the_logistic_map() -> None:
    """ln 2 at r = 3 (conjugate to the tent); on cycles the logarithm of the multiplier over their length."""
    rates = np.array([1.5, 2.2, 2.5, 2.83, 3.0])
    found = lyapunov(logistic_map(rates), time=200_000, transient=10_000)
    assert found.exponent.values[0, 4] == pytest.approx(np.log(2), abs=4 * found.error.values[0, 4] + 1e-5)
    cycles = bifurcation(logistic_map(rates[:4]), transient=4000)
    wanted = np.log(cycles.multiplier) / cycles.cycle_length
    assert found.exponent.values[0, :4] == pytest.approx(wanted.values, abs=1e-4)
    assert found.exponent.attrs["units"] == "1/step"


def test_tent_like_map() -> None:
    """Slopes +1.9 and -1.9 everywhere: ln 1.9 exactly, without a statistical error."""
    tent = Map(rhs={"x": sympy.Rational(19, 10) * sympy.Min(x, 1 - x)}, start={"x": 0.1234})
    found = lyapunov(tent, time=1000)
    assert found.exponent.item() == pytest.approx(np.log(1.9), abs=1e-12) and found.error.item() < 1e-12


def test_baker_like_skew_of_two_dimensions() -> None:
    """Henon's map: exponents sum to ln 0.3; the largest is 0.4192 (Sprott, Chaos and Time-Series Analysis, 2003)."""
    henon = Map(rhs={"x": 1 - sympy.Rational(7, 5) * x**2 + y, "y": 0.3 * x}, start={"x": 0.1, "y": 0.1})
    found = lyapunov(henon, count=2, time=200_000)
    assert found.exponent.values.sum() == pytest.approx(np.log(0.3), abs=1e-10)
    assert found.exponent.values[0] == pytest.approx(0.4192, abs=4 * found.error.values[0] + 1e-4)


def test_superstable_cycle() -> None:
    """r = 1 sends every deviation from w = 1 to zero at once: -inf."""
    found = lyapunov(logistic_map(1.0, 1.0))
    assert found.exponent.item() == -np.inf and np.isnan(found.error.item()) and found.status == 0


def test_delayed_map() -> None:
    """w' = w + r w (1 - past) at w = 1, with lags that differ between points: roots of z^(k+1) - z^k + r."""
    rates, lags = [0.2, 0.5, 1.3], [0, 1, 3]
    problem = Map(
        rhs={"w": w + r * w * (1 - past)}, delayed={"past": Delayed("w", delay)},
        parameters={"r": rates, "delay": lags}, start={"w": 1.0},
    )  # fmt: skip
    found = lyapunov(problem, count=1, time=20_000)
    for i, rate in enumerate(rates):
        for j, lag in enumerate(lags):
            largest = np.log(np.abs(np.roots(_polynomial(rate, lag))).max())
            assert found.exponent.values[0, i, j] == pytest.approx(largest, abs=1e-3)


def _polynomial(rate: float, lag: int) -> list[float]:
    if lag == 0:
        return [1, rate - 1]
    return [1, -1, *[0] * (lag - 1), rate]


def test_delay_equation_at_rest() -> None:
    """Real parts of W_k(-r delay)/delay, several of them, with the delay different at each point and zero at one."""
    lags = np.array([0.3, 0.35, 1.0, 1.5])
    found = lyapunov(delayed(1.0, lags), count=3, time=1000.0)
    for i, lag in enumerate(lags):
        roots = np.concatenate([[q, q.conj()] if abs(q.imag) > 1e-12 else [q] for q in lambertw(-lag, range(4)) / lag])
        roots = np.concatenate([roots, [lambertw(-lag, -1) / lag]]) if lag < np.exp(-1) else roots
        wanted = np.sort(roots.real)[::-1][:3]
        assert found.exponent.values[:, i] == pytest.approx(wanted, rel=1e-3, abs=3e-3)
    assert lyapunov(delayed(1.0, 0.0)).exponent.item() == pytest.approx(-1, abs=1e-6)


def test_order_with_delays() -> None:
    """The exponent converges with the tolerance; where the root is real there is no statistical error to hide it."""
    lag = 0.3
    wanted = float(lambertw(-lag).real) / lag
    errors = [
        abs(lyapunov(delayed(1.0, lag), time=200.0, rtol=rtol).exponent.item() - wanted) for rtol in (1e-3, 1e-5, 1e-7)
    ]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]
    assert errors[2] < 1e-7


def test_delayed_output() -> None:
    """The same equation with the delayed value read from an output."""
    plain = lyapunov(delayed(2.0, start=0.5), count=2, time=200.0)
    twice = DDE(
        rhs={"w": r * w * (1 - past / 2)}, delayed={"past": Delayed("double", 1)}, outputs={"double": 2 * w},
        parameters={"r": 2.0}, start={"w": 0.5},
    )  # fmt: skip
    other = lyapunov(twice, count=2, time=200.0)
    assert other.exponent.values == pytest.approx(plain.exponent.values, abs=1e-6)


def test_cycle_of_a_delay_equation() -> None:
    """On a cycle the largest exponent is zero, at rest and on the cycle alike negative otherwise."""
    found = lyapunov(delayed([1.2, 1.9], start=0.5), count=2, time=1000.0)
    assert found.exponent.values[0, 0] < -0.1
    assert abs(found.exponent.values[0, 1]) < 5e-3 and found.exponent.values[1, 1] < -0.1


LORENZ = ODE(
    rhs={"x": 10 * (y - x), "y": x * (28 - z) - y, "z": x * y - sympy.Rational(8, 3) * z},
    start={"x": 1.0, "y": 1.0, "z": 20.0},
)


@pytest.mark.parametrize("time", [300.0, pytest.param(20_000.0, marks=pytest.mark.slow)])
def test_lorenz(time: float) -> None:
    """0.9056, 0, -14.5723 (Sprott, 2003); the sum is the divergence, -41/3."""
    found = lyapunov(LORENZ, count=3, time=time)
    allowed = 5 * found.error.values + 2 / time
    assert (np.abs(found.exponent.values - [0.9056, 0, -14.5723]) <= allowed).all()
    assert found.exponent.values.sum() == pytest.approx(-41 / 3, abs=1e-5)
    assert found.error.values[0] < 0.5 / time**0.5


def test_standard_error_is_honest() -> None:
    """Over starts, exponents of a chaotic map scatter about their mean as their own errors say."""
    starts = np.random.default_rng(1).uniform(0.05, 0.9, 300)
    found = lyapunov(logistic_map(2.9, starts), time=4000)
    value, error = found.exponent.values[0], found.error.values[0]
    # relative errors of the two standard deviations: 1/sqrt(2 * 300), and 1/sqrt(2 * 19 * 300) of batches of 200 steps
    assert value.std() / np.sqrt((error**2).mean()) == pytest.approx(1, abs=4 * 0.05)


@pytest.mark.parametrize("batches", [2, 3, 5])
def test_standard_error_of_few_batches(batches: int) -> None:
    """The sample's standard deviation of the batch means over the root of their number."""
    value, logs = 0.1, []
    for _ in range(20 * batches):
        logs.append(np.log(abs(1 + 2.9 - 2 * 2.9 * value)))
        value += 2.9 * value * (1 - value)
    means = [float(np.mean(logs[i : i + 20])) for i in range(0, len(logs), 20)]
    found = lyapunov(logistic_map(2.9), time=20 * batches, transient=0, batches=batches)
    assert found.exponent.item() == pytest.approx(np.mean(means), rel=1e-6)
    assert found.error.item() == pytest.approx(stdev(means) / batches**0.5, rel=1e-6)


def test_same_seed_same_bytes() -> None:
    one, two, other = (lyapunov(LORENZ, time=20.0, seed=seed).exponent.item() for seed in (3, 3, 4))
    assert one == two != other


def test_failures_and_refusals() -> None:
    found = lyapunov(logistic_map([1.5, 3.5]))
    assert np.isnan(found.exponent.values[0, 1])
    assert [reason for _, reason in failures(found)] == ["the state grew beyond floating-point numbers"]
    with pytest.warns(FailureWarning, match="1 of 1 points failed; most often: the state grew beyond"):
        blown = lyapunov(ODE(rhs={"x": x**2}, start={"x": 1.0}))
    assert [reason for _, reason in failures(blown)] == ["the state grew beyond floating-point numbers"]
    with pytest.warns(FailureWarning, match="the steps ran out"):
        short = lyapunov(LORENZ, max_steps=100)
    assert failures(short)[0][1].startswith("the steps ran out")
    with pytest.raises(DynamicsError, match="beyond floating-point"):
        lyapunov(logistic_map(3.5), throw=True)
    with pytest.raises(DomainError, match=r"count must be a whole number in 1\.\.3"):
        lyapunov(LORENZ, count=4)
    with pytest.raises(DomainError, match="time must be finite and > 0"):
        lyapunov(LORENZ, time=0.0)
    bending = lyapunov(ODE(rhs={"x": sympy.Min(1, 2 - 3 * x)}, start={"x": 0.0}))
    assert bending.exponent.item() == pytest.approx(-3, abs=1e-5)
    with pytest.raises(DynamicsError, match="no initial value for x"):
        lyapunov(ODE(rhs={"x": -x}))


def test_jumps_of_the_equations() -> None:
    """An orbit that meets a jump while it is followed has failed; one that stays clear of it, or maps, have not."""
    assert reason(kernel.JUMPED).startswith("the orbit met a jump")
    wave = {"x": y, "y": -x}
    equations = wave | {"z": sympy.Piecewise((-z, x < 0), (-2 * z, True))}
    relay = ODE(rhs=equations, start={"x": [1.0, 0.0], "y": 0.0, "z": 1.0})
    found = lyapunov(relay, time=50.0)
    assert found.status.values.tolist() == [kernel.JUMPED, 0]
    aside = ODE(rhs={"x": sympy.Piecewise((1 - x, x < 2), (-x, True))}, start={"x": 0.0})
    assert lyapunov(aside).exponent.item() == pytest.approx(-1, abs=1e-6)
    doubling = Map(rhs={"x": sympy.Piecewise((2 * x, x < 0.5), (2 * x - 1, True))}, start={"x": 0.1})
    assert lyapunov(doubling, time=40, transient=0).exponent.item() == pytest.approx(np.log(2))


@pytest.mark.parametrize("bad", [np.nan, np.inf, "a", -1])
@pytest.mark.parametrize("name", ["count", "time", "transient", "batches", "seed", "rtol", "max_steps"])
def test_settings_that_are_no_numbers(name: str, bad: Any) -> None:
    with pytest.raises(DomainError, match=f"^{name} must .*, got"):
        lyapunov(LORENZ, **{name: bad})
    with pytest.raises(DomainError, match=r"rtol must lie in \[1e-14, 0.1\], got 0"):
        lyapunov(LORENZ, rtol=0)


def test_waves_and_sigmoids_have_their_slopes() -> None:
    """A map of each function: the exponent is the mean logarithm of its slope along the orbit."""
    x, a = sympy.symbols("x a")
    for function, value, slope in (
        (sympy.sin, np.sin, np.cos),
        (sympy.cos, np.cos, lambda s: -np.sin(s)),
        (sympy.tanh, np.tanh, lambda s: 1 - np.tanh(s) ** 2),
        (sympy.atan, np.arctan, lambda s: 1 / (1 + s**2)),
    ):
        got = lyapunov(Map(rhs={"x": a * function(x)}, parameters={"a": 1.5}, start={"x": 0.4}), time=200, transient=0)
        orbit, total = 0.4, 0.0
        for _ in range(200):
            total += np.log(abs(1.5 * slope(orbit)))
            orbit = 1.5 * value(orbit)
        assert got.exponent.item() == pytest.approx(total / 200, rel=1e-9)


def test_a_jump_that_time_alone_throws_does_not_end_an_orbit() -> None:
    """x' = -x + a step at t = 3: deviations shrink at rate 1 whatever the step does."""
    x, t = sympy.symbols("x t")
    got = lyapunov(ODE(rhs={"x": -x + sympy.Heaviside(t - 3)}, start={"x": 1.0}), time=20, transient=1)
    assert got.status.item() == 0
    assert got.exponent.item() == pytest.approx(-1, abs=1e-5)
