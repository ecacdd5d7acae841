"""One notion of rest: what is reported as an equilibrium is one, in any units; what has none is not given one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics.models import AimdTcp
from tcpdynamics.solvers import basin, bifurcation, equilibria, failures
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.problems import DDE, ODE, Delayed, Map
from tcpdynamics.solvers.stability.attracting_rest import resting_points
from tcpdynamics.solvers.stability.rest import ROUNDING, residual, rests

x, y, z, t, past = sympy.symbols("x y z t past")

#: Systems that rest nowhere, with a start: (equations, delayed).
RESTLESS: dict[str, dict[str, Any]] = {
    "falling": {"x": sympy.Integer(-1)},
    "falling slowly": {"x": sympy.Rational(-1, 10**12)},
    "above zero": {"x": 1 + x**2},
    "exponential": {"x": sympy.exp(x)},
    "hyperbola": {"x": 1 / x},
    "clipped": {"x": 1 + sympy.Max(0, x) - sympy.Min(0, x) / 7},
    "one of two": {"x": 1 - x, "y": sympy.Integer(2)},
    "parallel": {"x": x - y, "y": x - y + 1},
    "contradiction": {"x": x + y - 1, "y": 2 * x + 2 * y - 3},
    "one of three": {"x": y - x, "y": x - y, "z": sympy.exp(-(x**2) / 9 - y**2 / 9)},
    "follows the time": {"x": t - x},
    "forced": {"x": sympy.exp(-t) - x},
}


@pytest.mark.parametrize("name", RESTLESS)
@pytest.mark.parametrize("steps", [False, True])
def test_what_has_no_equilibrium_is_given_none(name: str, steps: bool) -> None:
    rhs = RESTLESS[name]
    symbols = {"x": x, "y": y, "z": z}
    kind: Any = Map if steps else ODE
    problem = kind(rhs={k: symbols[k] + e for k, e in rhs.items()} if steps else rhs)
    low = -4.0 if steps else -1000.0  # x + e^-100 is x in floating-point numbers: that map does rest there
    if steps and name == "falling slowly":
        problem = Map(rhs={"x": x - sympy.Rational(1, 10**9)})
    for interval in ((low, 3.0), (1e-3, 2.0)):
        found = equilibria(problem, dict.fromkeys(rhs, interval))
        assert int(found["count"]) == 0 and found.status == 10, found


@pytest.mark.parametrize("size", [110.0, *(pytest.param(x, marks=pytest.mark.slow) for x in (1e-6, 1e6))])
@pytest.mark.parametrize(("steps", "rate"), [(True, 1.0), (False, 1e-6), (False, 1.0), (False, 1e6)])
def test_drift_comes_to_rest_nowhere(steps: bool, size: float, rate: float) -> None:
    """x' = -1, and a map that winds up, in any unit of the state and of time."""
    if steps:
        problem: Any = Map(rhs={"x": x + size}, start={"x": size / 3})
        lengths: dict[str, Any] = {}
    else:
        problem = ODE(rhs={"x": sympy.Float(-size * rate)}, start={"x": size / 3})
        lengths = {"transient": 500 / rate, "keep": 200 / rate}
    found = basin(problem, {"x": [size, -3 * size, 0.0]}, **lengths)
    assert (found.outcome == 0).all() and found.sizes["equilibrium"] == 0 and found.sizes["cycle"] == 0
    assert bifurcation(problem, **lengths).attractor == 0


def test_growth_between_losses_never_rests() -> None:
    growth = AimdTcp(loss=1e-3).growth()
    assert equilibria(growth, {"W": (1, 1e6)})["count"] == 0
    found = basin(growth, {"W": [1.0, 100.0]})
    assert (found.outcome == 0).all() and found.sizes["equilibrium"] == 0


def test_rest_is_rest_of_all_states() -> None:
    """One quantity settles while another runs away: no equilibrium, whichever is looked at."""
    problem = ODE(rhs={"x": 1 - x, "y": sympy.Integer(1)}, start={"x": 3.0, "y": 0.0})
    for of in ("x", "y"):
        assert bifurcation(problem, of=of).attractor == 0
    assert (basin(problem, {"x": [0.5, 3.0]}).outcome == 0).all()


def test_a_closed_form_that_does_not_hold_attracts_nothing() -> None:
    wrong = ODE(rhs={"x": x * (1 - x)}, fixed_points=[{"x": sympy.Rational(999, 1000)}, {"x": sympy.Integer(0)}])
    found = basin(wrong, {"x": [0.2, 2.0]})
    assert (found.outcome == 1).all() and (found.equilibrium_index == 2).all()
    assert np.isnan(found.x.values[0]) and found.x.values[1:] == pytest.approx([0, 1], abs=1e-9)


def test_what_settles_in_time_is_at_rest_in_the_end() -> None:
    """x' = e^-t - x comes to rest at 0, x' = t/10^6 - x only seems to."""
    assert bifurcation(ODE(rhs={"x": sympy.exp(-t) - x}, start={"x": 2.0})).attractor == 1
    assert bifurcation(ODE(rhs={"x": t / 10**6 - x}, start={"x": 1.0})).attractor == 0


@pytest.mark.parametrize("steps", [False, True])
def test_lines_of_equilibria_are_told_as_such(steps: bool) -> None:
    """A conserved quantity, and a region where all stands still: points of it are found, and the status says so."""
    kind: Any = Map if steps else ODE
    still, symbols = {}, {"x": x, "y": y}
    for name, rhs in {
        "line": {"x": y - 2 * x, "y": 2 * x - y}, "axis": {"x": y, "y": sympy.Integer(0)},
        "region": {"x": sympy.Max(0, x - 1), "y": -y}, "all": {"x": sympy.Integer(0), "y": sympy.Integer(0)},
    }.items():  # fmt: skip
        problem = kind(rhs={k: symbols[k] + e for k, e in rhs.items()} if steps else rhs)
        found = equilibria(problem, {"x": (-2, 2), "y": (-2, 2)}, starts=16)
        still[name] = found
        assert int(found["count"]) > 1
        assert failures(found)[0][1].startswith("equilibria are not isolated")
    assert still["line"].y.values == pytest.approx(2 * still["line"].x.values, abs=1e-11)
    assert still["axis"].y.values == pytest.approx(0, abs=1e-11)
    assert (still["region"].x.values <= 1 + 1e-9).all()
    double = equilibria(kind(rhs={"x": x + x**2 if steps else x**2}), {"x": (-2, 2)})
    assert int(double["count"]) == 1 and int(double.status) == 0  # singular, but alone


def test_a_motion_rests_on_a_line_of_equilibria() -> None:
    """x' = y, y' = -y: every start has its own end, x + y."""
    problem = ODE(rhs={"x": y, "y": -y}, start={"y": 1.0})
    found = basin(problem, {"x": [0.5, 2.0]})
    assert (found.outcome == 1).all()
    assert found.x.values == pytest.approx([1.5, 3.0]) and found.y.values == pytest.approx(0, abs=1e-9)
    assert bifurcation(problem.starting({"x": 1.0})).attractor == 1


def _random_system(seed: int) -> dict[str, Any]:
    """Cubic equations in up to three states, some of them singular."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    symbols = (x, y, z)[:n]
    rows: list[Any] = []
    for _ in range(n):
        terms = [s**p * sympy.Float(rng.normal()) for s in symbols for p in (1, 2, 3) if rng.random() < 0.4]
        terms += [a * b * sympy.Float(rng.normal()) for a in symbols for b in symbols if rng.random() < 0.2]
        rows.append(sympy.Add(sympy.Float(rng.normal()) if rng.random() < 0.7 else 0, *terms))
    if n > 1 and rng.random() < 0.3:
        rows[1] = rows[0] + (sympy.Float(rng.normal()) if rng.random() < 0.5 else 0)
    labels = ("x", "y", "z")[:n]
    return dict(zip(labels, rows, strict=True))


@settings(max_examples=60)
@given(st.integers(0, 10**9), st.sampled_from(["ode", "map", "dde"]))
def test_whatever_is_reported_is_at_rest(seed: int, kind: str) -> None:
    """Residuals by SymPy, beside the sum of the terms' absolute values at the size of the box."""
    rhs = _random_system(seed)
    symbols = {"x": x, "y": y, "z": z}
    box = dict.fromkeys(rhs, (-2.0, 2.0))
    if kind == "map":
        problem: Any = Map(rhs={k: symbols[k] + e for k, e in rhs.items()})
    elif kind == "dde":
        rows = {k: e.subs(x, past) for k, e in rhs.items()}
        problem = DDE(rhs=rows, delayed={"past": Delayed("x", 1)})
    else:
        problem = ODE(rhs=rhs)
    found = equilibria(problem, box, starts=16)
    for k in range(found.sizes["equilibrium"]):
        at = {symbols[name]: float(found[name].values[k]) for name in rhs}
        large = {s: 2.0 for s in at}
        for e in rhs.values():
            terms = sum((abs(a).subs(large) for a in sympy.Add.make_args(e)), sympy.Float(0))
            # three steps a term, and the state's error through a cubic: at most 20 times the terms
            assert abs(e.subs(at)) <= 20 * ROUNDING * float(terms) + 1e-300, (rhs, at)


@settings(max_examples=60)
@given(st.integers(0, 10**9), st.integers(-20, 20), st.integers(-20, 20), st.integers(-20, 20), st.floats(-14, -2))
def test_rest_does_not_depend_on_units(seed: int, unit: int, other: int, clock: int, off: float) -> None:
    """Powers of two are exact in floating-point numbers, so the answers agree to the last state."""
    rng = np.random.default_rng(seed)
    a, b, c = (float(v) for v in rng.normal(size=3))
    s, r, pace = 2.0**unit, 2.0**other, 2.0**clock
    rows = {"x": a * (x - b) + c * (x - b) * y, "y": c * y * x - a * (y - 1) * (x - b)}
    scaled = {
        "x": rows["x"].subs({x: x / s, y: y / r}, simultaneous=True) * s * pace,
        "y": rows["y"].subs({x: x / s, y: y / r}, simultaneous=True) * r * pace,
    }
    states = np.array([[b, b * (1 + 10.0**off), 1.0, b], [0.0, 0.0, 2.0, 10.0**off]])
    system = compile_system(ODE(rhs=rows))
    one = rests(system, states, size=np.ones_like(states))
    rate, error, _ = residual(system, states, None, np.ones_like(states))
    share = np.abs(rate) / (ROUNDING * error)
    on_the_edge = ((share > 0.5) & (share < 2.0)).any(axis=0)  # there rounding decides
    scale = np.array([[s], [r]])
    two = rests(compile_system(ODE(rhs=scaled)), scale * states, size=scale * np.ones_like(states))
    assert (one == two)[1:3][~on_the_edge[1:3]].all()
    assert one.tolist()[2] is False


@settings(max_examples=25)
@given(st.floats(0.3, 3), st.integers(-6, 6), st.integers(-6, 6), st.booleans())
def test_basins_do_not_depend_on_units(root: float, unit: int, clock: int, delayed: bool) -> None:
    """A double well in units of 1e-6 to 1e6: the same ends."""
    s, pace = 10.0**unit, 10.0**clock
    c = sympy.Float(root * s)
    now = past if delayed else x
    rhs = {"x": pace * x * (c - now) / s}
    lengths = {"transient": 60 / pace / root, "keep": 30 / pace / root}
    problem: Any = DDE(rhs=rhs, delayed={"past": Delayed("x", 0.3 / pace / root)}) if delayed else ODE(rhs=rhs)
    found = basin(problem, {"x": [0.5 * root * s, 1.5 * root * s, 0.0]}, atol=0.0, **lengths)
    assert found.outcome.values.tolist() == [1, 1, 1]
    assert found.x.values / s == pytest.approx([root, 0], abs=1e-9)


def test_a_drift_beside_a_resting_state_in_other_units() -> None:
    """Sizes are those of each state: 1e-9 of drift a unit is seen beside a state of a million."""
    problem = ODE(rhs={"x": 1e6 - x, "y": sympy.Float(1e-9)})
    system = compile_system(problem)
    first, last = np.array([[1e6], [5e-7]]), np.array([[1e6], [7e-7]])
    _, resting = resting_points(system, first, last, np.abs(last), 500.0, 200.0)
    assert not resting.any()
