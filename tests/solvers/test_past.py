"""Histories of delay equations: smooth, narrow, bent, broken, measured. Each is met or refused, never bent silently."""

from __future__ import annotations

import dataclasses
import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics.solvers import DDE, Delayed, DomainError, DynamicsError, tabulated, trajectory
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.trajectories.history import past_polynomials
from tcpdynamics.solvers.trajectories.taylor_lanes import bind, equations
from tcpdynamics.solvers.trajectories.taylor_tape import write_tape

t, x, x_d, a, lag = sympy.symbols("t x x_d a lag")
HALF = sympy.Rational(1, 2)


def backwards(history: Any, delay: Any = 1, **more: Any) -> DDE:
    """x' = -x(t - delay) from 0: minus the integral of the history, as long as the delay lasts."""
    return DDE(rhs={"x": -x_d}, delayed={"x_d": Delayed("x", delay)}, history={"x": history}, start={"x": 0.0}, **more)


def in_a_process(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A crash of the interpreter is a failing test, not the end of all."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | environment, timeout=600
    )


NARROW = {
    "exp(-1000*(t + 1))": "-(1 - np.exp(-1000 * times)) / 1000",
    "exp(-700*(t + 1))": "-(1 - np.exp(-700 * times)) / 700",
    "1/(1 + 10000*(t + Rational(1, 2))**2)": "-(np.arctan(100 * (times - 0.5)) + np.arctan(50)) / 100",
    "1 + 100*exp(-((t + 0.37)*1000)**2)": "-times - np.sqrt(np.pi)/20*(erf(1000*(times - .63)) + erf(630.))",
}


def test_memory_holds_histories_of_many_pieces() -> None:
    """These needed more room than there was: wrong values, or the end of the interpreter."""
    code = f"""
import numpy as np, sympy
from scipy.special import erf
from tests_past import backwards
from tcpdynamics.solvers import trajectory
times = np.array([0.25, 0.5, 0.75, 1.0])
for text, exact in {NARROW!r}.items():
    done = trajectory(backwards(sympy.sympify(text)), times, rtol=1e-10)
    assert done.status.item() == 0
    np.testing.assert_allclose(done.x.values, eval(exact), rtol=1e-9)
""".replace("from tests_past import backwards", _BACKWARDS)
    done = in_a_process(code)
    assert done.returncode == 0, done.stderr[-2000:]


_BACKWARDS = """
from tcpdynamics.solvers import DDE, Delayed
def backwards(history):
    return DDE(rhs={"x": -sympy.Symbol("x_d")}, delayed={"x_d": Delayed("x", 1)}, history={"x": history},
               start={"x": 0.0})
"""


@given(
    st.lists(st.floats(1.0, 3000.0), min_size=1, max_size=20, unique=True),
    st.floats(0.1, 5.0),
    st.sampled_from([1e-6, 1e-8, 1e-11]),
)
@settings(max_examples=20)
def test_decay_at_any_rate_is_followed(rates: list[float], delay: float, tolerance: float) -> None:
    """Points of one grid need different numbers of pieces; each error is relative to its own result."""
    rates = sorted(rates)
    problem = backwards(sympy.exp(-a * (t + lag)), lag, parameters={"a": rates, "lag": delay})
    times = delay * np.array([0.1, 0.5, 1.0])
    got = trajectory(problem, times, rtol=tolerance).x.values
    exact = np.expm1(-np.multiply.outer(rates, times)) / np.array(rates)[:, None]
    np.testing.assert_allclose(got, exact, rtol=3 * tolerance)


def test_what_a_small_point_looks_back_at_is_not_judged_by_a_large_one() -> None:
    peak = a * (1 + 100 * sympy.exp(-(((t + sympy.Rational(37, 100)) * 1000) ** 2)))
    got = trajectory(backwards(peak, parameters={"a": [1e-14, 1.0, 1e14]}), [1.0]).x.values[:, 0]
    exact = -(1 + np.sqrt(np.pi) / 10)
    np.testing.assert_allclose(got / [1e-14, 1.0, 1e14], exact, rtol=1e-7)


@given(st.floats(-0.99, -0.01), st.floats(-2.0, 2.0), st.floats(-2.0, 2.0))
@settings(max_examples=20)
def test_a_bend_or_a_jump_of_the_past_is_met_and_carried_forward(place: float, before: float, after: float) -> None:
    """Polynomials between breaks, so that steps which end there are exact at any tolerance, over two delays."""
    nodes, weights = np.polynomial.legendre.leggauss(4)
    for history, first in (
        (sympy.Piecewise((before, t < place), (after, True)), "jump"),
        (before + after * sympy.Max(0, t - place), "bend"),
        (before + after * sympy.Abs(t - place), "bend"),
        (before + after * sympy.Heaviside(t - place), "jump"),
    ):
        value = sympy.lambdify(t, history, [{"Heaviside": lambda s, _: np.heaviside(s, 1.0)}, "numpy"])
        knots = np.array([-1.0, place, 0.0])

        def whole(end: float, value: Any = value, knots: Any = knots) -> float:
            """Minus the integral of the history from -1 to end."""
            marks = np.append(knots[knots < end], end)
            total = 0.0
            for low, high in itertools.pairwise(marks):
                s = (low + high) / 2 + (high - low) / 2 * nodes
                total += (high - low) / 2 * float(np.sum(weights * np.broadcast_to(value(s), s.shape)))
            return -total

        times = np.array([0.3, 0.9, 1.0, 1.5, 2.0])
        got = trajectory(backwards(history), times, rtol=1e-4).x.values
        exact = [whole(time - 1) for time in times[:3]]
        for time in times[3:]:  # x = x(1) - integral of x from 0 to time - 1, cut at the break
            marks = sorted({0.0, min(1 + place, time - 1), time - 1})
            total = 0.0
            for low, high in itertools.pairwise(marks):
                s = (low + high) / 2 + (high - low) / 2 * nodes
                total += (high - low) / 2 * float(np.sum(weights * [whole(float(u) - 1) for u in s]))
            exact.append(whole(0.0) - total)
        np.testing.assert_allclose(got, exact, atol=2e-13, err_msg=first)


def test_breaks_may_move_with_parameters_and_follow_curves() -> None:
    """Points with two, one and no break; a switch of a wave; a square root that is real on one side only."""
    step = sympy.Piecewise((1, t < -a), (3, t < -a / 2), (2, True))
    got = trajectory(backwards(step, parameters={"a": [0.2, 0.9, 1.5, 3.0]}), [1.0]).x.values[:, 0]
    np.testing.assert_allclose(got, [-(0.8 + 0.3 + 0.2), -(0.1 + 1.35 + 0.9), -(0.25 * 3 + 1.5), -2.0], rtol=1e-12)
    wave = trajectory(backwards(sympy.sign(sympy.sin(10 * t))), [0.5, 1.0]).x.values
    zeros = np.pi * np.array([3, 2, 1]) / 10
    signed = [1 - zeros[0], -(zeros[0] - zeros[1]), zeros[1] - 0.5]
    assert wave[0] == pytest.approx(-sum(signed), abs=1e-12)
    assert wave[1] == pytest.approx(-(sum(signed) + (0.5 - zeros[2]) - zeros[2]), abs=1e-12)


def test_an_output_with_a_switch_may_be_looked_back_at_over_a_history() -> None:
    """z = max(y, a) with y = t in the past: the bend is the output's, its place the parameter's."""
    y, z_d = sympy.symbols("y z_d")
    problem = DDE(
        rhs={"x": z_d, "y": sympy.Integer(1)},
        delayed={"z_d": Delayed("z", 1)},
        outputs={"z": sympy.Max(y, a)},
        parameters={"a": [-0.75, -0.5, -0.25]},
        history={"y": t},
        start={"x": 0.0, "y": 0.0},
    )
    low = np.array([-0.75, -0.5, -0.25])
    exact = low * (low + 1) - low**2 / 2
    np.testing.assert_allclose(trajectory(problem, [1.0]).x.values[:, 0], exact, atol=1e-13)


def test_a_measured_past_is_used_row_by_row() -> None:
    """A table of 150 rows: more pieces than a lane begins with, and each integral exact."""
    rows = np.random.default_rng(7).normal(size=150)
    ticks = np.linspace(-3, 0, 150)
    times = np.array([0.1, 1.0, 2.5, 3.0])
    got = trajectory(backwards(tabulated(t, ticks, rows), 3), times, rtol=1e-5).x.values
    for time, value in zip(times, got, strict=True):
        marks = np.append(ticks[ticks < time - 3], time - 3)
        exact = -np.trapezoid(np.interp(marks, ticks, rows), marks)
        assert value == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize(
    ("history", "message"),
    [
        (sympy.sin(10**6 * t), "changes too fast.*give a smoother one"),
        (sympy.exp(-((t * 10**6) ** 2)) * sympy.sin(10**13 * t), "changes too fast"),
        (1 / (t + HALF) ** 2, "changes too fast|finite number"),
        (sympy.log(t + HALF), "finite number"),
    ],
)
def test_a_past_that_polynomials_do_not_follow_is_refused(history: Any, message: str) -> None:
    with pytest.raises(DynamicsError, match=message):
        trajectory(backwards(history), [0.5])


@pytest.mark.parametrize("narrow", [1e-6, 1e-7, 1e-8])
def test_a_narrow_quotient_of_the_past_is_met(narrow: float) -> None:
    peak = narrow / ((t + sympy.Rational(1, 3)) ** 2 + narrow**2)
    area = np.arctan(1 / (3 * narrow)) + np.arctan(2 / (3 * narrow))
    assert trajectory(backwards(peak), [1.0]).x.item() == pytest.approx(-area, rel=1e-7)


@pytest.mark.parametrize("narrow", [1e-9, 1e-10, 1e-11])
def test_a_past_narrower_than_times_are_rounded_is_refused(narrow: float) -> None:
    peak = narrow / ((t + sympy.Rational(1, 3)) ** 2 + narrow**2)
    with pytest.raises(DynamicsError, match="changes too fast"):
        trajectory(backwards(peak), [1.0])


@pytest.mark.parametrize("shift", [0.0, 0.3])
@pytest.mark.parametrize("method", [sympy.sin, lambda e: sympy.cos(e - sympy.pi / 2)])
def test_a_past_that_is_zero_up_to_its_bend_is_met(method: Any, shift: float) -> None:
    """Its bounds at the bend are rounding, which is not small beside zero."""
    past = sympy.Max(0, method(9 * (t + shift)))
    assert trajectory(backwards(past, 0.1), [0.1]).x.item() == pytest.approx(
        0.0 if shift == 0 else -(np.cos(1.8) - np.cos(2.7)) / 9, rel=1e-7, abs=1e-15
    )


def test_an_unknown_function_of_the_past_is_named() -> None:
    with pytest.raises(DynamicsError, match=r"history of x: cannot compute gamma.*use numbers, symbols"):
        trajectory(backwards(sympy.gamma(t + 3)), [0.5])


def test_tables_are_checked() -> None:
    for times, values, message in (
        ([0.0], [1.0], "as many times as values, 2 to 1,000, got 1 and 1"),
        ([0.0, 1.0], [1.0], "got 2 and 1"),
        (np.arange(2000.0), np.zeros(2000), "got 2,000 and 2,000; thin it out"),
        ([0.0, 2.0, 1.0], [1.0, 2.0, 3.0], "must increase, got 2 before 1"),
        ([0.0, np.nan], [1.0, 2.0], "1-D array of finite numbers"),
        ([[0.0, 1.0]], [1.0, 2.0], "1-D array of finite numbers"),
        (["a", "b"], [1.0, 2.0], "must be real numbers"),
        ([0.0, 1e-300], [0.0, 1e300], "too steep"),
    ):
        with pytest.raises(DomainError, match=message):
            tabulated(t, times, values)


FUZZ = """
import sys
import numpy as np, sympy
from tcpdynamics.solvers import DDE, Delayed, tabulated, trajectory
module = sys.modules["tcpdynamics.solvers.trajectories.trajectory"]
t, p, q, lag, a = sympy.symbols("t p q lag a")
rng = np.random.default_rng(int(sys.argv[1]))
kinds = 6
for case in range(int(sys.argv[2])):
    module.NATIVE_FROM = int(rng.choice([1, 10**9]))
    size, delay = int(rng.integers(1, 40)), float(10 ** rng.uniform(-2, 1))
    rates = np.sort(10 ** rng.uniform(-1, 3, size)) / delay
    rtol = float(10 ** rng.uniform(-13, -3))
    c = -delay * float(rng.uniform(0.05, 0.95))
    rows = int(rng.integers(2, 200))
    knots = np.sort(rng.uniform(-delay, 0, rows))
    history, integral = [
        (sympy.exp(-a * (t + lag)), lambda s: -np.expm1(-rates[:, None] * (s + delay)) / rates[:, None]),
        (1 / (1 + (a * (t - c)) ** 2), lambda s: (np.arctan(rates[:, None] * (s - c))
            + np.arctan(rates[:, None] * (delay + c))) / rates[:, None]),
        (sympy.sin(a * t), lambda s: (np.cos(rates[:, None] * delay) - np.cos(rates[:, None] * s)) / rates[:, None]),
        (sympy.Max(0, t - c) * a, lambda s: rates[:, None] * np.maximum(s - c, 0) ** 2 / 2),
        (sympy.Piecewise((a, t < c), (2 * a, True)), lambda s: rates[:, None] * (s + delay + np.maximum(s - c, 0))),
        (tabulated(t, knots, np.arange(rows) % 7 - 2.0) * a, lambda s: rates[:, None] * np.array(
            [[np.trapezoid(np.interp(m, knots, np.arange(rows) % 7 - 2.0), m)
              for m in [np.concatenate([[-delay], knots[knots < e], [e]])]][0] for e in s[0]])),
    ][case % kinds]
    second = delay * float(rng.uniform(0.01, 0.99))
    problem = DDE(
        rhs={"x": -p, "y": -q}, delayed={"p": Delayed("x", lag), "q": Delayed("x", second)},
        parameters={"a": rates, "lag": delay}, history={"x": history}, start={"x": 0.0, "y": 0.0},
    )
    times = delay * np.sort(rng.uniform(0, 3, 4))
    times[0] = delay * rng.uniform(0.01, 1.0)
    times = np.unique(times)
    done = trajectory(problem, times, rtol=rtol)
    assert (done.status == 0).all(), (case, done.status.values)
    early = times <= delay
    exact = -integral(times[early][None] - delay)
    size_of = np.abs(exact).max(axis=1, keepdims=True) + np.abs(integral(np.zeros((1, 1))))
    error = np.abs(done.x.values[:, early] - exact) / size_of
    assert error.max() < 50 * rtol + 1e-11, (case % kinds, delay, rtol, error.max())
print("all of them")
"""


@pytest.mark.parametrize(
    ("field", "column"), [("code1", 1), ("code2", 1), ("code2", 2), ("code2", 4), ("guards", 0), ("past", None)]
)
def test_a_tape_whose_slots_leave_its_rows_is_not_made(field: str, column: int | None) -> None:
    """Rows are read by address: what a tape may hold is checked where it is made."""
    problem = DDE(rhs={"x": sympy.Max(sympy.sin(x), x_d) - x * x_d}, delayed={"x_d": Delayed("x", 1)}, start={"x": 1.0})
    tape = write_tape(compile_system(problem))
    for wrong in (tape.slots, -2):
        rows = getattr(tape, field).copy()
        row = int(np.argmax(rows[:, column])) if column is not None and rows.ndim == 2 else 0
        rows[(row, column) if rows.ndim == 2 else row] = wrong
        with pytest.raises(ValueError, match="slot"):
            dataclasses.replace(tape, **{field: rows})


def test_arrays_of_other_sizes_do_not_reach_the_kernel() -> None:
    system = compile_system(backwards(sympy.exp(t)))
    tape = write_tape(system)
    past = past_polynomials(system, tape.past_names, system.start_values(), system.lag_values(), 12)

    def arrays(history: Any = past.coefficients, edges: Any = past.edges, levels: Any = past.levels) -> dict[str, Any]:
        columns = {"history": history, "edges": edges, "ends_in": levels, "stops": np.empty((0, 1))}
        of_point = {"start": system.start_values(), "params": np.ones((len(tape.names), 1))}
        results = {"status": np.zeros(1, np.int64)}
        return equations(tape, tape.states, 12) | columns | of_point | results | {"capacity": 64}

    bind(arrays())
    for wrong in (
        arrays(edges=past.edges[:-1]),
        arrays(levels=past.levels[:0]),
        arrays(history=np.ascontiguousarray(past.coefficients[:, :, :-1])),
        arrays(history=past.coefficients.astype(np.float32)),
        arrays(history=np.repeat(past.coefficients, 2, axis=-1), edges=np.repeat(past.edges, 2, axis=-1)),
    ):
        with pytest.raises(ValueError, match=r"do not fit|have|must be"):
            bind(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_index_leaves_its_array(seed: int, tmp_path: Path) -> None:
    """Drawn histories, delays, orders and grids, with every index checked by Numba.

    The rows that machine code and vector operations read go by address, which that check does not see; they are slots
    of the tape times the size of a row, and a tape checks its own slots.
    """
    done = subprocess.run(
        [sys.executable, "-c", FUZZ, str(seed), "60"],
        capture_output=True, text=True, timeout=1800,
        env=os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0 and "all of them" in done.stdout, done.stderr[-3000:]
