"""Equilibria of equations with flat pieces: clipped marking, ramps drawn by Hypothesis, starts that do not matter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics.errors import FailureWarning
from tcpdynamics.solvers import DDE, ODE, Delayed, DynamicsError, Map, eigenvalues, equilibria, failures
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.stability.equilibria_search import newton
from tcpdynamics.solvers.stability.stability_chart import stability_chart
from tcpdynamics.solvers.stability.switches.pieces import MOST, pieces

W, q, r, a, past = sympy.symbols("W q r a past")


def clipped(value: Any, low: Any = 0, high: Any = 1) -> Any:
    return sympy.Min(high, sympy.Max(low, value))


def marking(low: Any = 20, width: Any = 80, **more: Any) -> ODE:
    """A window that halves with the probability of a mark, which grows over a range of the queue's length."""
    mark = clipped((q - low) / width)
    return ODE(rhs={"W": 1 - W**2 * mark / 2, "q": 10 * W - 50}, **more)


@pytest.mark.parametrize("most", [100, 10_000, 1e7])
@pytest.mark.parametrize("starts", [1, 2, 64])
def test_clipped_marking(starts: int, most: float) -> None:
    """Rest at W = 5 and mark 2/25, q = 26.4, also where the ramp is a hundred-thousandth of the box."""
    found = equilibria(marking(), {"W": (1, 20), "q": (0, most)}, starts=starts)
    assert int(found["count"]) == 1 and int(found.status) == 0
    assert found.W.item() == pytest.approx(5, rel=1e-12) and found.q.item() == pytest.approx(26.4, rel=1e-12)
    # W'' = -W mark W' - W^2/160 q': z^2 + 0.4 z + 1.5625 = 0
    assert found.abscissa.item() == pytest.approx(-0.2, rel=1e-9)


def test_a_chart_of_clipped_marking_has_verdicts() -> None:
    swept = marking(low=np.float64(20), width=r, parameters={"r": np.linspace(5, 400, 30)}, start={"W": 3.0, "q": 5.0})
    chart = stability_chart(swept)
    assert (chart.verdict == -1).all() and (chart.status == 0).all()


def test_what_finds_nothing_says_what_to_give() -> None:
    nowhere = ODE(rhs={"x": 1 + sympy.Symbol("x") ** 2 * r}, parameters={"r": [1.0, 2.0]}, start={"x": 1.0})
    with pytest.warns(FailureWarning, match=r"2 of 2 points failed; most often: no equilibrium was found"):
        chart = stability_chart(nowhere)
    for text in (failures(eigenvalues(nowhere))[0][1], failures(chart)[0][1]):
        assert "fixed_points=" in text and "at=" in text
    with pytest.raises(DynamicsError, match=r"no equilibrium .* give the model fixed_points=, or the solver at= at"):
        eigenvalues(nowhere, throw=True)


def test_no_start_has_an_influence_on_another() -> None:
    """Starts on flat pieces, outside the domain and at a pole, beside one that converges."""
    system = compile_system(ODE(rhs={"W": 1 - W**2 * clipped((q - 20) / 80) / 2 + 0 * sympy.log(q), "q": 10 * W - 50}))
    starts = np.array([[6.0, 6.0, 6.0, np.nan, 1e300], [30.0, 5.0, 500.0, 1.0, 1e300]])
    width = np.array([[19.0], [100.0]])
    for order in ([0], [0, 1], [1, 0, 2], [3, 4, 0], [4, 3, 2, 1, 0]):
        x, error = newton(system, starts[:, order], np.zeros(len(order), int), np.repeat(width, len(order), axis=1))
        alone, own = newton(system, starts[:, :1], np.zeros(1, int), width)
        at = order.index(0)
        assert x[:, at].tobytes() == alone[:, 0].tobytes() and error[:, at].tobytes() == own[:, 0].tobytes()


@settings(max_examples=20)
@given(st.integers(0, 10**9), st.integers(1, 3), st.sampled_from(["ode", "dde", "map"]), st.data())
def test_ramps_with_a_known_equilibrium(seed: int, n: int, kind: str, data: st.DataObject) -> None:
    """x_i' = sum_j A_ij (m_j* - m_j(x_j)), ramps m_j of 0.1 % to 50 % of the box, in units of 1e-6 to 1e6."""
    rng = np.random.default_rng(seed)
    exponents = data.draw(st.lists(st.floats(-6, 6), min_size=n, max_size=n))
    size, pace = 10.0 ** np.array(exponents), 10.0 ** data.draw(st.floats(-6, 6))
    rest, width = rng.uniform(0.05, 0.95, n), 10.0 ** rng.uniform(-3, -0.3, n)
    low = rest - width * rng.uniform(0.1, 0.9, n)
    symbols = sympy.symbols(f"x:{n}")
    ramps = [
        clipped((x / s - b) / w)
        for x, s, b, w in zip(symbols, size.tolist(), low.tolist(), width.tolist(), strict=True)
    ]
    wanted = (rest - low) / width
    matrix = rng.normal(size=(n, n)) + 3 * np.eye(n)
    if abs(np.linalg.det(matrix)) < 0.1:
        return
    push = matrix @ wanted
    rates = [(push[i] - sum(matrix[i, j] * ramps[j] for j in range(n))) * size[i] * pace for i in range(n)]
    labels = [x.name for x in symbols]
    if kind == "map":
        problem: Any = Map(rhs={k: x + e / pace for k, x, e in zip(labels, symbols, rates, strict=True)})
    elif kind == "dde":
        rhs = {k: e.subs(symbols[0], past) for k, e in zip(labels, rates, strict=True)}
        problem = DDE(rhs=rhs, delayed={"past": Delayed(labels[0], 0.1 / pace)})
    else:
        problem = ODE(rhs=dict(zip(labels, rates, strict=True)))
    found = equilibria(problem, {k: (0, s) for k, s in zip(labels, size, strict=True)})
    states = np.stack([found[k].values for k in labels]) / size[:, None]
    assert states.shape[1] >= 1
    # the ramps' slope is at least 2; their offsets are rounded at 1 beside a width of 1e-3
    assert np.abs(states - rest[:, None]).max(axis=0).min() < 1e-11
    assert (found.status == 0).all()


@settings(max_examples=40)
@given(st.floats(1, 1e3), st.floats(1, 50), st.floats(0.01, 0.9), st.integers(-6, 6), st.integers(-6, 6))
def test_clipped_marking_in_any_units(low: float, width: float, mark: float, packets: int, clock: int) -> None:
    """W* = sqrt(2/mark), q* = low + width mark; queues to 1e4 times the ramp."""
    s, pace = 10.0**packets, 10.0**clock
    window = np.sqrt(2 / mark)
    rhs = {"W": pace * s * (1 - (W / s) ** 2 * clipped((q / s - low) / width) / 2), "q": 10 * pace * (W - window * s)}
    found = equilibria(ODE(rhs=rhs), {"W": (0.1 * s, 30 * s), "q": (0, 1e4 * s)}, starts=8)
    assert int(found["count"]) == 1
    assert found.W.item() / s == pytest.approx(window, rel=1e-9)
    assert found.q.item() / s == pytest.approx(low + width * mark, rel=1e-9)


def test_an_equilibrium_in_every_piece() -> None:
    """-x + clip(3 x, -1, 1) has -1, 0, 1; a step and Abs have rest on both sides, none on the jump."""
    x = sympy.Symbol("x")
    three = equilibria(ODE(rhs={"x": -x + clipped(3 * x, -1, 1)}), {"x": (-1e4, 1e4)}, starts=4)
    assert three.x.values == pytest.approx([-1, 0, 1], abs=1e-10)
    jump = equilibria(ODE(rhs={"x": sympy.Piecewise((1 - x, x > 0), (-1 - x, True))}), {"x": (-9, 9)}, starts=4)
    assert jump.x.values == pytest.approx([-1, 1])
    corner = equilibria(ODE(rhs={"x": sympy.Abs(x - 1) - 2}), {"x": (-9, 9)}, starts=1)
    assert corner.x.values == pytest.approx([-1, 3])


def test_a_flat_rate_without_switches() -> None:
    """tanh-like, flat but for a thousandth of the box: the change of sign is found without a slope."""
    x = sympy.Symbol("x")
    flat = (1 - sympy.exp((x - 3) * 500)) / (1 + sympy.exp((x - 3) * 500))
    found = equilibria(ODE(rhs={"x": flat}), {"x": (2, 4)}, starts=4)
    assert found.x.values == pytest.approx([3])
    pole = equilibria(ODE(rhs={"x": 1 / (x - 3) + sympy.Max(0, x - 9)}), {"x": (0, 8)})
    assert int(pole["count"]) == 0


def test_many_switches_are_searched_within_bounds() -> None:
    """Twenty clipped states: 2^40 combinations, of which those at the starts and their neighbours are searched."""
    symbols = sympy.symbols("x:20")
    rhs = {s.name: sympy.Rational(1, 2) - clipped(s * 2 - 1) for s in symbols}
    problem = ODE(rhs=rhs)
    system = compile_system(problem)
    states = np.random.default_rng(0).uniform(0, 2, (20, 64))
    assert len(pieces(system, states, np.zeros(64, int))) <= MOST
    found = equilibria(problem, {s.name: (0.4, 1.1) for s in symbols}, starts=16)
    assert all(found[s.name].values[0] == pytest.approx(0.75) for s in symbols)
