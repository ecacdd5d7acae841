"""Points of rest: polynomials with chosen roots, competition solved by hand, closed forms beside searches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tcpdynamics.solvers import DDE, ODE, Delayed, DynamicsError, Map, equilibria, failures

x, y, r, x_d = sympy.symbols("x y r x_d")


@settings(max_examples=30)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=5, unique=True), st.booleans())
def test_all_roots_of_a_polynomial_are_found(tenths: list[int], steps: bool) -> None:
    roots = sorted(t / 10 for t in tenths)
    product = sympy.prod([x - sympy.Rational(t, 10) for t in tenths])
    problem = Map(rhs={"x": x + product}) if steps else ODE(rhs={"x": product})
    found = equilibria(problem, {"x": (-1, 1)}, starts=128)
    assert int(found["count"]) == len(roots)
    # simple roots a tenth apart or more: well conditioned, so rounding alone is left
    assert found.x.values == pytest.approx(roots, abs=1e-12)
    assert float(found.residual.max()) < 1e-13
    slopes = [float(sympy.diff(product, x).subs(x, root)) for root in roots]
    expected = [abs(1 + s) < 1 if steps else s < 0 for s in slopes]
    assert found.stable.values.tolist() == expected


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_planar_systems_with_known_roots(seed: int) -> None:
    """f = (x - a)(x - b), g = (y - c)(y - d) mixed by a random invertible matrix: four points of rest."""
    rng = np.random.default_rng(seed)
    a, b, c, d = rng.permutation(np.linspace(0.1, 0.9, 9))[:4]
    mix = rng.normal(size=(2, 2)) + 2 * np.eye(2)
    if abs(np.linalg.det(mix)) < 0.3:
        return
    f, g = (x - a) * (x - b), (y - c) * (y - d)
    rhs = {"x": mix[0, 0] * f + mix[0, 1] * g, "y": mix[1, 0] * f + mix[1, 1] * g}
    found = equilibria(ODE(rhs=rhs), {"x": (0, 1), "y": (0, 1)})
    assert int(found["count"]) == 4
    points = {(round(float(u), 10), round(float(v), 10)) for u, v in zip(found.x, found.y, strict=True)}
    assert points == {(round(u, 10), round(v, 10)) for u in (a, b) for v in (c, d)}


def test_a_search_finds_the_closed_forms() -> None:
    g = sympy.Symbol("g")
    first, second = sympy.symbols("N[1] N[2]")
    rhs = {"N[1]": first * (1 - first - g * second), "N[2]": second * (1 - second - g * first)}
    both = 1 / (1 + g)
    points = [{"N[1]": both, "N[2]": both}, {"N[1]": 1, "N[2]": 0}, {"N[1]": 0, "N[2]": 1}, {"N[1]": 0, "N[2]": 0}]
    problem = ODE(rhs=rhs, parameters={"g": [0.3, 0.9]}, fixed_points=points)
    closed, searched = equilibria(problem), equilibria(problem, {"N": (-0.1, 1.2)})
    assert closed.attrs["method"] == "closed form" and searched.attrs["method"] == "search in the box"
    assert closed.N.dims == ("flow", "g", "equilibrium") and closed.N.values[:, 0, 0] == pytest.approx([1 / 1.3] * 2)
    assert closed.stable.values.tolist() == [[True, False, False, False]] * 2
    assert (searched["count"] == 4).all() and (closed["count"] == 4).all()
    for i in range(2):
        mine = sorted(map(tuple, searched.N.values[:, i].T.round(10)))
        assert mine == sorted(map(tuple, closed.N.values[:, i].T.round(10)))


def test_counts_change_over_the_grid() -> None:
    """x' = r - x^2 has none, a double one (found to the root of rounding), two."""
    problem = ODE(rhs={"x": r - x**2}, parameters={"r": [-1.0, 0.0, 4.0]})
    found = equilibria(problem, {"x": (-3, 3)})
    assert found["count"].values.tolist() == [0, 1, 2] and found.status.values.tolist() == [10, 0, 0]
    assert failures(found) == [({"r": -1.0}, "no equilibrium was found from any start")]
    assert np.isnan(found.x.values[0]).all() and abs(found.x.values[1, 0]) < 1e-7
    assert found.x.values[2] == pytest.approx([-2, 2]) and found.stable.values[2].tolist() == [False, True]
    with pytest.raises(DynamicsError, match=r"no equilibrium was found .* widen the box or raise starts"):
        equilibria(problem, {"x": (-3, 3)}, throw=True)


def test_delay_decides_over_stability_not_over_rest() -> None:
    tau = sympy.Symbol("tau")
    problem = DDE(rhs={"x": x * (1 - x_d)}, delayed={"x_d": Delayed("x", tau)}, parameters={"tau": [0.0, 1.5, 1.6]})
    found = equilibria(problem, {"x": (-0.5, 2)})
    assert found.x.values == pytest.approx(np.array([[0, 1]] * 3), abs=1e-12)
    assert found.stable.values.tolist() == [[False, True], [False, True], [False, False]]
    assert found.abscissa.attrs["units"] == "1/s"


def test_maps_report_their_radius() -> None:
    logistic = Map(rhs={"x": x + r * x * (1 - x)}, parameters={"r": [1.5, 2.5]})
    found = equilibria(logistic, {"x": (-0.5, 1.5)})
    assert found.radius.values == pytest.approx(np.array([[2.5, 0.5], [3.5, 1.5]]))
    assert found.stable.values.tolist() == [[False, True], [False, False]]


def test_scales_far_apart() -> None:
    """A queue of thousands of packets beside a probability of 1e-6: neither is lost in the other's tolerance."""
    q, p = sympy.symbols("q p")
    problem = ODE(rhs={"q": 1e9 * p - q, "p": p * (1 - q / 2000)})
    found = equilibria(problem, {"q": (-10, 5000), "p": (-1e-8, 1e-5)})
    assert found.q.values == pytest.approx([0, 2000], abs=1e-8) and found.p.values == pytest.approx(
        [0, 2e-6], abs=1e-16
    )


def test_switches_are_no_obstacle() -> None:
    """A queue cannot fall below zero: max(x, 0) with rest on either side."""
    problem = ODE(rhs={"x": r - sympy.Max(x, 0) - x / 2}, parameters={"r": [-1.0, 3.0]})
    assert equilibria(problem, {"x": (-5, 5)}).x.values[:, 0] == pytest.approx([-2, 2])


def test_without_a_box_the_search_surrounds_the_initial_values() -> None:
    found = equilibria(ODE(rhs={"x": x * (1 - x / 50)}, start={"x": 1.0}))
    assert found.attrs["method"] == "search around the initial values"
    assert found.x.values == pytest.approx([0, 50], abs=1e-9)


def test_same_seed_same_bytes_and_many_points() -> None:
    problem = ODE(rhs={"x": r * x - x**3}, parameters={"r": np.linspace(-1, 1, 5001)})
    one, two = (equilibria(problem, {"x": (-2, 2)}, starts=16, seed=3) for _ in range(2))
    assert one.identical(two)
    assert (one["count"].sel(r=slice(1e-3, None)) == 3).all() and (one["count"].sel(r=slice(None, -1e-3)) == 1).all()


@pytest.mark.parametrize(
    ("box", "message"),
    [
        ({"z": (0, 1)}, "box names 'z', which is not a state; there are x"),
        ({"x": (1, 0)}, "the box of x must be"),
        ({"x": (0, np.inf)}, "the box of x must be"),
        ({}, "the box leaves out x"),
        (None, "no closed-form fixed point and no initial values to search around; give the problem fixed_points="),
    ],
)
def test_bad_boxes(box: object, message: str) -> None:
    with pytest.raises(DynamicsError, match=message):
        equilibria(ODE(rhs={"x": -x}), box)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [-1, 2.5, "a", np.nan, np.inf, None])
@pytest.mark.parametrize("name", ["starts", "seed"])
def test_settings_that_are_no_whole_numbers(name: str, bad: Any) -> None:
    with pytest.raises(DynamicsError, match=f"^{name} must be a whole number .*, got"):
        equilibria(ODE(rhs={"x": -x}), {"x": (0, 1)}, **{name: bad})


@pytest.mark.parametrize("apart", [1e-4, 1e-5])
def test_roots_close_together_stay_apart(apart: float) -> None:
    near = 0.5 * (1 + apart)
    found = equilibria(ODE(rhs={"x": (x - 0.5) * (x - near)}), {"x": (0, 1)})
    assert int(found["count"]) == 2
    assert found.x.values == pytest.approx([0.5, near], abs=1e-3 * apart)


@pytest.mark.parametrize(
    "pair",
    [
        (-1 + 1j, 1), (0, 1j), "ab", ("0", "1"), (None, 1), (0, 1, 2), (1, [2, 3]), (0, np.inf), (1, 0), 5,
        np.array([0, 1]), np.ma.array([0.0, 1.0], mask=[False, True]), np.arange(1e5), (0, 10**400), ["x" * 5000, 1],
    ],
)  # fmt: skip
def test_a_box_that_is_none_is_refused_in_one_line(pair: Any) -> None:
    """Whatever is given: one sentence of one line, which does not repeat a long value."""
    if isinstance(pair, np.ndarray) and pair.dtype.kind == "i":
        assert int(equilibria(ODE(rhs={"x": x}), {"x": pair})["count"]) == 1  # an array of two numbers is a box
        return
    with pytest.raises(DynamicsError, match=r"the box of x must be \(low, high\)") as raised:
        equilibria(ODE(rhs={"x": x}), {"x": pair})
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 300


@settings(max_examples=30)
@given(st.integers(0, 10), st.integers(0, 12), st.integers(-20, 20))
def test_a_slow_state_that_a_large_one_drives_rests_in_one_point(large: int, slow: int, octave: int) -> None:
    """The rates' rounding leaves it uncertain at most where |J^-1| carries it; it is no line of points."""
    level, rate = 10.0**large, 10.0**-slow
    assume(np.spacing(level) / rate < 0.1)  # else the rates' rounding hides where in the box it rests
    problem = ODE(rhs={"x": 2.0**octave * (level - x), "y": 2.0**octave * (x - level + rate * (3 - y))})
    found = equilibria(problem, {"x": (0, 2 * level), "y": (-10, 10)})
    assert int(found["count"]) == 1 and int(found.status) == 0 and bool(found.stable[0])
    assert abs(found.x.item() - level) <= np.spacing(level)
    assert abs(found.y.item() - 3) <= 4 * np.spacing(level) / rate + 1e-9
