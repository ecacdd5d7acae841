"""Eigenvalues at rest: NumPy on the bare matrices, polynomial roots of delayed maps, oscillators known by heart."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics.solvers import (
    DDE,
    ODE,
    Delayed,
    DynamicsError,
    Map,
    characteristic_roots,
    convergence,
    eigenvalues,
    equilibria,
    explain,
    failures,
    spectral_abscissa,
    spectral_radius,
    stability_chart,
    sweep,
    sweep_of,
    trajectory,
)
from tcpdynamics.solvers.stability.leading_roots import multipliers

x, y, r, k, x_d, lag, phi, psi = sympy.symbols("x y r k x_d lag phi psi")


def linear(kind: type[Any], matrix: np.ndarray[Any, Any]) -> Any:
    states = sympy.symbols(f"s1:{len(matrix) + 1}")
    rhs = {
        s.name: sum(float(a) * t for a, t in zip(row, states, strict=True))
        for s, row in zip(states, matrix, strict=True)
    }
    return kind(rhs=rhs, fixed_points=[{s.name: 0 for s in states}])


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_random_linear_systems_have_the_eigenvalues_of_their_matrix(seed: int, n: int) -> None:
    matrix = np.random.default_rng(seed).normal(size=(n, n))
    expected = np.linalg.eigvals(matrix)
    flow, steps = (eigenvalues(linear(kind, matrix)).eigenvalue.values for kind in (ODE, Map))
    # the same LAPACK routine on the same numbers: only the order may differ
    assert np.sort_complex(flow) == pytest.approx(np.sort_complex(expected), abs=1e-14)
    assert np.sort_complex(steps) == pytest.approx(np.sort_complex(expected), abs=1e-14)
    assert (np.diff(flow.real) <= 1e-12).all() and (np.diff(np.abs(steps)) <= 1e-12).all()
    assert float(spectral_abscissa(linear(ODE, matrix))) == pytest.approx(expected.real.max(), abs=1e-14)
    assert float(spectral_radius(linear(Map, matrix))) == pytest.approx(np.abs(expected).max(), abs=1e-14)


@settings(max_examples=30)
@given(st.floats(-2, 2), st.floats(-2, 2), st.integers(0, 6))
def test_a_delayed_map_has_the_roots_of_its_polynomial(a: float, b: float, d: int) -> None:
    """x(n + 1) = a x(n) + b x(n - d): z^(d + 1) - a z^d - b = 0."""
    roots, _, certain = multipliers(np.full((1, 1, 1), a), np.full((1, 1, 1, 1), b), np.full((1, 1), float(d)))
    found = roots[0][np.isfinite(roots[0].real)]
    assert certain.all() and found.size == (d if b else 0) + 1
    for z in found:
        terms = [z ** (d + 1), -a * z**d, -b]
        # polynomial roots are as good as the coefficients they solve for, a few roundings of their companion matrix
        assert abs(sum(terms)) <= 1e-13 * max(1.0, abs(z)) ** d * (1 + abs(a) + abs(b))


def test_delays_may_differ_from_point_to_point() -> None:
    problem = Map(
        rhs={"x": (1 - phi) * x - psi * x_d},
        delayed={"x_d": Delayed("x", lag)},
        parameters={"phi": 1.5, "psi": 0.5, "lag": [0, 1, 2, 3, 4, 5, 7]},
        fixed_points=[{"x": 0}],
    )
    result = eigenvalues(problem)
    assert result.sizes["root"] == 8
    for d in problem.parameters["lag"]:
        roots = result.eigenvalue.sel(lag=d).values
        mine = roots[np.isfinite(roots.real)]
        polynomial = np.zeros(d + 2)
        polynomial[0], polynomial[1], polynomial[-1] = 1, polynomial[1] + 0.5, polynomial[-1] + 0.5
        if d == 0:
            polynomial = np.array([1.0, 1.0])
        assert np.sort_complex(mine) == pytest.approx(np.sort_complex(np.roots(polynomial)), abs=1e-13)
    radius = spectral_radius(problem)
    assert radius.sel(lag=[0, 2, 4]).values == pytest.approx(1.0, abs=1e-14)  # marginal for every even delay
    assert radius.sel(lag=[1, 3, 5]).values.round(3).tolist() == [0.707, 0.932, 0.974]


def test_oscillators() -> None:
    damping, pace = 0.2, 3.0
    problem = ODE(rhs={"x": y, "y": -(pace**2) * x - 2 * damping * pace * y}, time_units="RTT")
    how = convergence(problem, {"x": 0, "y": 0})
    assert float(how.damping_ratio) == pytest.approx(damping)
    assert float(how.angular_frequency) == pytest.approx(pace * np.sqrt(1 - damping**2))
    assert float(how.frequency) == pytest.approx(float(how.angular_frequency) / (2 * np.pi))
    assert float(how.settling_time) == pytest.approx(np.log(100) / (damping * pace))
    assert how.time_constant.units == "RTT"


def test_convergence_of_maps() -> None:
    logistic = Map(rhs={"x": x + r * x * (1 - x)}, parameters={"r": [0.5, 1.0, 1.5, 2.5]}, fixed_points=[{"x": 1}])
    how = convergence(logistic)
    assert how.time_constant.values == pytest.approx([1 / np.log(2), 0.0, 1 / np.log(2), np.inf])
    assert how.angular_frequency.values == pytest.approx([0, 0, np.pi, np.pi])  # overshoot alternates
    assert how.damping_ratio.values[:2].tolist() == [1.0, 1.0] and how.damping_ratio.values[3] < 0
    turning = Map(rhs={"x": 0.6 * x - 0.3 * y, "y": 0.3 * x + 0.6 * y}, fixed_points=[{"x": 0, "y": 0}])
    how = convergence(turning)
    assert float(how.angular_frequency) == pytest.approx(np.arctan2(0.3, 0.6))
    assert float(how.time_constant) == pytest.approx(-1 / np.log(np.hypot(0.3, 0.6)))


def test_convergence_of_a_delayed_loop_is_measured_in_its_trajectory() -> None:
    """x' = -x(t - 1), stepped exactly enough by Euler: peaks shrink and recur as the root says."""
    problem = DDE(rhs={"x": -x_d}, delayed={"x_d": Delayed("x", 1)}, fixed_points=[{"x": 0}])
    how = convergence(problem)
    n = 4000
    path = np.ones(n * 31)
    for i in range(n, path.size - 1):
        path[i + 1] = path[i] - path[i - n] / n
    tail = path[n * 10 :]
    flips = np.flatnonzero(tail[1:] * tail[:-1] < 0)
    half = np.diff(flips).mean() / n
    assert np.pi / half == pytest.approx(float(how.angular_frequency), rel=2 / n)
    top = [np.abs(tail[a:b]).max() for a, b in pairwise(flips)]
    rate = np.log(top[-1] / top[0]) / (half * (len(top) - 1))
    assert rate == pytest.approx(-1 / float(how.time_constant), rel=4 / n)


def test_where_to_linearise() -> None:
    """A number, an array, an expression, a DataArray of equilibria, a whole vector, or the model's own point."""
    problem = ODE(
        rhs={"x": r * x * (1 - x / k)}, parameters={"r": [0.5, 1.0], "k": 2.0}, fixed_points=[{"x": k}, {"x": 0}]
    )
    assert spectral_abscissa(problem).values.tolist() == [-0.5, -1.0]
    assert spectral_abscissa(problem, {"x": 0}).values.tolist() == [0.5, 1.0]
    assert spectral_abscissa(problem, {"x": k / 2}).values.tolist() == [0.0, 0.0]
    swept = spectral_abscissa(problem, {"x": [0.0, 2.0]})
    assert swept.dims == ("r", "at_x") and swept.sel(at_x=2.0).values.tolist() == [-0.5, -1.0]
    found = equilibria(problem)
    assert spectral_abscissa(problem, found.isel(equilibrium=1)).values.tolist() == [0.5, 1.0]
    searched = ODE(rhs=problem.rhs, parameters=problem.parameters, start={"x": 0.1})
    assert spectral_abscissa(searched).values == pytest.approx([-0.5, -1.0])
    pair = ODE(rhs={"N[1]": -x * r, "N[2]": -sympy.Symbol("N[2]")}, parameters={"r": 1.0, "x": 1.0})
    assert eigenvalues(pair, {"N": 0.0}).eigenvalue.values.real.tolist() == [0.0, -1.0]


def test_closed_forms_that_do_not_hold_are_marked() -> None:
    problem = ODE(rhs={"x": r - x**2}, parameters={"r": [-1.0, 4.0]}, fixed_points=[{"x": sympy.sqrt(r)}], name="root")
    result = spectral_abscissa(problem)
    assert result.values[1] == -4 and np.isnan(result.values[0]) and result.status.values.tolist() == [28, 0]
    point, why = failures(result.to_dataset().reset_coords("status"))[0]
    assert point == {"r": -1.0} and why.startswith("none of the closed-form points of rest holds here: ")
    wrong = ODE(rhs={"x": r - x**2}, parameters={"r": 4.0}, fixed_points=[{"x": r}])
    assert np.isnan(eigenvalues(wrong).eigenvalue.values).all()
    with pytest.raises(DynamicsError, match=r"root: none of the closed-form points of rest holds here: .* at r = -1"):
        spectral_abscissa(problem, throw=True)


def test_bad_points() -> None:
    problem = ODE(rhs={"x": -x, "y": -y})
    with pytest.raises(DynamicsError, match="at gives no value to y"):
        eigenvalues(problem, {"x": 1.0})
    with pytest.raises(DynamicsError, match="no closed-form fixed point and no initial values"):
        eigenvalues(problem)
    with pytest.raises(DynamicsError, match="reaches back 3000 steps"):
        spectral_radius(Map(rhs={"x": x_d / 2}, delayed={"x_d": Delayed("x", 3000)}, fixed_points=[{"x": 0}]))


def test_symmetric_competition_has_two_distinct_eigenvalues() -> None:
    """Equal flows in competition: -eps once (the sum), -eps (1 - g)/M the other n - 1 times (differences)."""
    n, g, eps = 5, 0.9, 1.95
    total = 1 + (n - 1) * g
    flows = sympy.symbols(f"N[1:{n + 1}]")
    rhs = {f.name: eps * f * (1 - f - g * sum(o for o in flows if o != f)) for f in flows}
    problem = ODE(rhs=rhs, fixed_points=[{f.name: 1 / total for f in flows}])
    found = eigenvalues(problem).eigenvalue.values
    assert found.real == pytest.approx([-eps * (1 - g) / total] * (n - 1) + [-eps], abs=1e-14)
    assert all(abs(a - b) < 1e-13 for a, b in combinations(found[:-1], 2))


@pytest.mark.parametrize("kind", ["ode", "dde", "map"])
def test_units_of_states_are_not_those_of_results(kind: str, tmp_path: Path) -> None:
    """Given `units=`, every number has its own: rates are per time, whichever solver gives them."""
    x, past, k = sympy.symbols("x past k")
    words: Any = {"parameters": {"k": [0.5, 1.0]}, "units": {"x": "packet"}, "time_units": "RTT", "start": {"x": 0.5}}
    problem: Any
    if kind == "dde":
        problem = DDE(rhs={"x": k * x * (1 - past)}, delayed={"past": Delayed("x", 1)}, **words)
    else:
        problem = {"ode": ODE, "map": Map}[kind](rhs={"x": k * x * (1 - x) + (x if kind == "map" else 0)}, **words)
    number, rate = ("1", "1/RTT")
    root = number if kind == "map" else rate
    of_all: list[Any] = [equilibria, convergence, stability_chart, trajectory]
    of_all += [spectral_radius, eigenvalues] if kind == "map" else [spectral_abscissa, characteristic_roots]
    expected = {
        "spectral_radius": number, "spectral_abscissa": rate, "eigenvalue": root, "characteristic_root": root,
        "abscissa": rate, "radius": number, "root": rate, "frequency": rate, "time_constant": "RTT",
        "x": "packet", "time": "RTT",
    }  # fmt: skip
    for solver in of_all:
        result = solver(problem, *([[0, 1, 2]] if solver is trajectory else []))
        if isinstance(result, xr.DataArray):
            assert result.attrs["units_of_states"] == '{"x": "packet"}' and "k" in result.coords
            result = result.to_dataset()
        for name, values in result.variables.items():
            assert "{" not in str(values.attrs.get("units", "")), (solver, name)
            assert values.attrs.get("units", "") == expected.get(str(name), values.attrs.get("units", "")), name
    store = tmp_path / "x.zarr"
    spectral = spectral_radius if kind == "map" else spectral_abscissa
    sweep(sweep_of(problem, spectral), store=store)
    assert f"[{root}]" in str(explain(store)) and "packet" not in str(explain(store)).replace('{"x": "packet"}', "")
