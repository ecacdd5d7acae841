"""Times that a system has of its own, what is told where points fail, bounds on work, and Ctrl-C."""

from __future__ import annotations

import inspect
import json
import signal
import warnings
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics.errors import FailureWarning, LimitError
from tcpdynamics.models import FluidTcpDropTail
from tcpdynamics.solvers import basin, bifurcation, continuation, equilibria, failures, lyapunov
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.problems import DDE, ODE, Delayed, Map
from tcpdynamics.solvers.results import Status
from tcpdynamics.solvers.stability import flow_attractors as flow_orbits
from tcpdynamics.solvers.stability.time_scales import own_unit, scales

w, past, r, delay = sympy.symbols("w past r delay")
x, y = sympy.symbols("x y")


def delayed(gain: Any, lag: Any, **more: Any) -> DDE:
    """The delayed logistic equation: rest at 1 for gain * lag < pi/2, a cycle beyond."""
    rhs, result = {"w": r / delay * w * (1 - past)}, {"past": Delayed("w", delay)}
    return DDE(rhs=rhs, delayed=result, parameters={"r": gain, "delay": lag}, start={"w": 0.5}, **more)


@settings(max_examples=10)
@given(st.integers(-20, 20), st.floats(0.5, 1.4))
def test_times_scale_with_the_delay(octave: int, gain: float) -> None:
    """From microseconds to days: the same motion."""
    lag = 2.0**octave
    one, two = bifurcation(delayed([gain, 2.0], lag)), bifurcation(delayed([gain, 2.0], 1.0))
    assert one.attractor.values.tolist() == two.attractor.values.tolist() == [1, 2]
    assert one.duration.values[1] / lag == pytest.approx(two.duration.values[1], rel=1e-6)
    assert own_unit(compile_system(delayed([gain, 2.0], lag))).min() >= lag


def test_each_point_has_its_own_time() -> None:
    """Delays over five decades in one sweep, none of which stops for want of steps or of time."""
    lags = np.geomspace(1e-4, 10, 11)
    result = bifurcation(delayed(2.0, lags))
    assert (result.attractor == 2).all() and (result.status == 0).all()
    # samples lie up to 0.14 delays apart, at which a maximum's place is wrong by 0.14^4
    assert result.duration.values / lags == pytest.approx(result.duration.values[0] / lags[0], abs=0.14**4)
    ends = basin(delayed([1.0], lags), {"w": [0.5, 2.0]})
    assert (ends.outcome == 1).all()


@settings(max_examples=20)
@given(st.integers(-30, 30))
def test_times_of_ordinary_equations(octave: int) -> None:
    """The slowest mode counts, but steps must suffice for the fastest; rest is found in any unit of time."""
    rate = 2.0**octave
    two = ODE(rhs={"x": rate * (1 - x), "y": 8 * rate * (x - y)}, start={"x": 3.0, "y": 1.0})
    assert own_unit(compile_system(two)).tolist() == [1 / rate]
    stiff = ODE(rhs={"x": rate * (1 - x), "y": 2**14 * rate * (x - y)}, start={"x": 3.0, "y": 1.0})
    assert own_unit(compile_system(stiff)).item() <= 1000 / (2**14 * rate) * 2
    assert bifurcation(two).attractor == 1
    assert (basin(two, {"x": [0.5, 3.0]}).outcome == 1).all()
    exponent = lyapunov(two)
    assert exponent.exponent.item() / rate == pytest.approx(-1, abs=0.01)


@settings(max_examples=3)
@given(st.integers(-20, 20), st.integers(17, 40))
def test_default_times_that_are_too_short_say_so(octave: int, ratio: int) -> None:
    """A fast mode bounds the times; what the slow one has not brought to rest is marked, what rests is not."""
    rate = 2.0**octave
    stiff = ODE(rhs={"x": rate * (1 - x), "y": 2.0**ratio * rate * (x - y)}, start={"x": 0.5, "y": 0.5})
    with pytest.warns(FailureWarning, match="not settled in the default times, which are too short for the slow"):
        result = bifurcation(stiff)
    assert result.status.item() == Status.TOO_SHORT and 0.5 <= result.level.item() < 1
    ends = basin(stiff, {"x": [0.5, 1.0], "y": [1.0]})
    failed = ends.status.values.ravel() == Status.TOO_SHORT
    assert (failed == (ends.outcome.values.ravel() == 0)).all() and failed.tolist() == [True, False]
    assert bifurcation(stiff.starting({"x": 1.0, "y": 1.0})).status.item() == 0
    alone = ODE(rhs={"x": rate * (1 - x)}, start={"x": 0.5})
    assert bifurcation(alone).attractor.item() == 1 and bifurcation(alone).status.item() == 0


@settings(max_examples=10)
@given(st.sampled_from([2, 3]), st.integers(-20, 20), st.integers(-20, 20), st.booleans())
def test_an_inexact_zero_is_no_slow_mode(power: int, octave: int, size: int, beside: bool) -> None:
    """Of x' = -x^k Newton's method leaves over a tiny slope, which is no time; the start has one, in any units."""
    more = {"y": -(2.0**octave) * y} if beside else {}
    scale = 2.0**size
    start = {"x": scale} | dict.fromkeys(more, 1.0)
    problem = ODE(rhs={"x": -(2.0**octave) * x * (x / scale) ** (power - 1)} | more, start=start)
    times = own_unit(compile_system(problem)).item()
    assert 1 / (2 * power) <= times * 2.0**octave <= 2
    if power == 3:
        ends = basin(problem, {"x": [scale, -scale / 5]})
        assert (ends.outcome == 1).all() and not ends.status.any()


def test_what_is_conserved_is_no_slow_mode() -> None:
    """Exchange between three places: the sum keeps, the other two modes take 1/3 and 1."""
    a, b, c = sympy.symbols("a b c")
    rhs = {"a": b - a, "b": a - b + c - b, "c": b - c}
    own = scales(compile_system(ODE(rhs=rhs, start={"a": 0.3, "b": 0.2, "c": 0.1})))
    assert own.slowest.item() == pytest.approx(1, rel=1e-9) and own.fastest.item() == pytest.approx(1 / 3, rel=1e-9)


def test_maps_look_back_in_delays() -> None:
    rhs, record = {"w": w + r * w * (1 - past)}, {"past": Delayed("w", 7)}
    result = bifurcation(Map(rhs=rhs, delayed=record, parameters={"r": [0.1]}, start={"w": 0.5}))
    assert result.attractor.item() == 1 and '"transient": 7000' in result.attrs["settings"]


def test_motions_that_cannot_end_are_not_started() -> None:
    """700 s of a delay of half a millisecond: more than its steps; the point is marked, the reason has advice."""
    problem = delayed([1.0, 1.5], 0.0005)
    with pytest.warns(FailureWarning, match=r"2 of 2 points failed; most often: the steps ran out before the end"):
        result = bifurcation(problem, transient=500, keep=200)
    assert [why for _, why in failures(result)] == [Status.TOO_LONG.reason] * 2 and np.isnan(result.level).all()
    with pytest.warns(FailureWarning, match="basin of DDE: 4 of 4 points failed"):
        assert (basin(problem, {"w": [0.5, 1.0]}, transient=500, keep=200).outcome == 0).all()
    assert (bifurcation(problem).attractor == 1).all()


def test_a_stiff_motion_is_advised_what_the_solver_has() -> None:
    """No word of options that neither has, of equations with switches as of others; the trajectory's own for those."""
    forced = sympy.Max(0, sympy.sin(sympy.Symbol("t")))
    for rate in (x, forced):
        problem = ODE(rhs={"x": 1e-4 * (1 - x), "y": 1e4 * (rate - y)}, start={"x": 0.0, "y": 0.0})
        with pytest.warns(FailureWarning, match="this solver has no method for stiff problems: shorten transient"):
            one = bifurcation(problem, transient=4000.0, keep=1000.0)
        with pytest.warns(FailureWarning, match="this solver has no method for stiff problems: shorten transient"):
            two = basin(problem, {"x": [0.0], "y": [0.0]}, transient=4000.0, keep=1000.0)
        assert not any("method=" in reason for result in (one, two) for _, reason in failures(result))


@pytest.mark.parametrize("solver", [bifurcation, basin, lyapunov])
def test_reasons_advise_what_the_solver_has(solver: Any) -> None:
    """Every option that a reason names is one of the solver's."""
    options = set(inspect.signature(solver).parameters)
    advice = (Status.STEPS if solver is lyapunov else Status.TOO_LONG).advice
    names = {word for word in advice.split() if "_" in word or word in ("transient", "keep")}
    assert names and names <= options


def test_a_warning_where_most_points_failed() -> None:
    """x' = x^2 - r leaves for infinity where r < 0."""
    with pytest.warns(FailureWarning, match=r"2 of 3 points failed; most often: the state grew beyond") as caught:
        bifurcation(ODE(rhs={"x": x**2 - r}, parameters={"r": [1.0, -1.0, -2.0]}, start={"x": 0.0}))
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bifurcation(ODE(rhs={"x": x**2 - r}, parameters={"r": [1.0, -1.0]}, start={"x": 0.0}))


many = np.linspace(1.0, 1.4, 1000)
logistic = Map(rhs={"w": w + r * w * (1 - w)}, parameters={"r": many}, start={"w": 0.1})
flow = ODE(rhs={"w": r * w * (1 - w)}, parameters={"r": many}, start={"w": 0.1})

large = ODE(rhs={f"x{i}": sympy.Symbol(f"x{i}") for i in range(200)})

REQUESTS: dict[str, Any] = {
    "map": lambda: bifurcation(logistic),
    "map, cycles": lambda: bifurcation(logistic, transient=0, keep=200, max_period=100),
    "flow": lambda: bifurcation(flow),
    "delay": lambda: bifurcation(delayed(many, 1.0)),
    "basin": lambda: basin(flow, {"w": np.linspace(0.1, 1, 100)}),
    "basin of a map": lambda: basin(logistic, {"w": np.linspace(0.1, 1, 100)}),
    "exponents, many": lambda: lyapunov(flow),
    "exponents of a map": lambda: lyapunov(logistic),
    "exponents": lambda: lyapunov(delayed(many, 1.0), time=1e6),
    "search": lambda: equilibria(flow, {"w": (0, 2)}, starts=1 << 12),
    "branch": lambda: continuation(
        ODE(rhs={"x": r + x**2}, parameters={"r": -1.0}), "r", (-1, 1), start={"x": -1}, points=100_000
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_work_is_bounded_beforehand(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCPDYNAMICS_MAX_WORK", "1e5")
    with pytest.raises(LimitError, match=r"need about .* operations, at most 1e\+05 are allowed; (give|ask for) fewer"):
        REQUESTS[name]()


@pytest.mark.parametrize(
    "request_",
    [
        lambda: bifurcation(logistic, transient=10**13),
        lambda: basin(logistic, {"w": [0.1]}, keep=10**5, max_period=10**5),
        lambda: bifurcation(flow, samples=10**9),
        lambda: lyapunov(logistic, time=1e12),
        lambda: lyapunov(flow, time=1e18, max_steps=10**15),
        lambda: equilibria(large, dict.fromkeys(large.labels, (-1, 1)), starts=1 << 20),
        lambda: continuation(flow.at(r=1.0), "r", (1, 2), points=10**9),
    ],
)
def test_too_much_is_refused_at_once(request_: Any) -> None:
    with pytest.raises(LimitError, match=r"need about .*, at most .* are allowed; "):
        request_()


@pytest.mark.parametrize(
    ("problem", "time"),
    [
        (Map(rhs={"w": 3.9 * w * (1 - w)}, start={"w": 0.3}), 1e11),
        (ODE(rhs={"x": y, "y": -x}, start={"x": 1.0, "y": 0.0}), 1e9),
        (DDE(rhs={"w": 1.9 * w * (1 - past)}, delayed={"past": Delayed("w", 1)}, start={"w": 0.5}), 1e8),
    ],
)
def test_exponents_answer_to_an_interrupt(problem: Any, time: float) -> None:
    """Hours of work, stopped by a signal: the test ends because the loops look whether to go on."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    lyapunov(problem, time=10.0)  # compiles
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            lyapunov(problem, time=time, max_steps=10**15)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.slow
def test_default_times_suffice_on_both_sides_of_a_hopf_point() -> None:
    """The queue of this link rests full, or runs empty and full: its leading root at rest is zero and sets no time."""
    model = FluidTcpDropTail(flows=[320 / 7, 60.0], capacity=1000.0, base_rtt=0.1, buffer=50.0)
    result = bifurcation(model)
    assert result.status.values.tolist() == [0, 0] and result.attractor.values.tolist() == [2, 1]


def test_motions_that_run_out_of_steps_in_default_times_are_followed_in_shorter_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    swing = delayed(2.0, 1.0)
    whole = bifurcation(swing)
    monkeypatch.setattr(flow_orbits, "MAX_STEPS", 3000)
    shorter = bifurcation(swing)
    assert shorter.status.item() == 0 and shorter.cycle_length.item() == whole.cycle_length.item() == 1
    assert shorter.duration.item() == pytest.approx(whole.duration.item(), rel=1e-3)
    times = (json.loads(result.attrs["settings"])["transient"] for result in (shorter, whole))
    assert next(times) < next(times)
    with pytest.warns(FailureWarning):
        asked = bifurcation(swing, transient=500.0, keep=200.0)
    assert asked.status.item() == Status.TOO_LONG
