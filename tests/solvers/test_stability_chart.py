"""Charts: the tracer on known shapes, the boundary against closed forms, and what must not break it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
import xarray as xr
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tcpdynamics.errors import FailureWarning
from tcpdynamics.models import LogisticDelayed, LogisticMap, LotkaVolterraDelayed, TRefwaDelayed, TRefwaWindow
from tcpdynamics.models.t_refwa.integrating import TRefwaIntegrating
from tcpdynamics.solvers import boundary_curves, equations, failures, spectral_abscissa, stability_chart
from tcpdynamics.solvers.problems import DDE, ODE, Delayed, DomainError, DynamicsError, Map
from tcpdynamics.solvers.stability.boundary import Boundary, trace

numbers = st.floats(-1, 1)
EPS = 1e-15


def plane(rows: int, columns: int) -> tuple[dict[str, Any], tuple[int, int]]:
    x, y = np.meshgrid(np.linspace(-1, 1, rows), np.linspace(-1, 1, columns), indexing="ij")
    return {"x": x.ravel(), "y": y.ravel()}, (rows, columns)


def find(function: Any, rows: int = 23, columns: int = 31, error: float = EPS, **options: Any) -> tuple[Boundary, Any]:
    grid, shape = plane(rows, columns)

    def measure(p: dict[str, Any]) -> Any:
        return function(p["x"], p["y"]), np.full(p["x"].shape, error)

    boundary = trace(measure, grid, shape, *measure(grid), **options)
    return boundary, np.stack([boundary.at(grid["x"]), boundary.at(grid["y"])])


def check(boundary: Boundary, at: Any, function: Any, shape: tuple[int, int]) -> None:
    """One crossing an edge that changes sign, each a zero, neighbours on a curve share a cell."""
    grid, _ = plane(*shape)
    inside = (function(grid["x"], grid["y"]) < -EPS).reshape(shape)
    expected = int((inside[1:] != inside[:-1]).sum() + (inside[:, 1:] != inside[:, :-1]).sum())
    assert boundary.fraction.size == expected
    assert len(set(zip(boundary.inside, boundary.outside, strict=True))) == expected
    before, after = function(*_shifted(grid, boundary, -1e-8)), function(*_shifted(grid, boundary, 1e-8))
    assert (before <= EPS).all() and (after >= -EPS).all()
    step = np.array([2 / (shape[0] - 1), 2 / (shape[1] - 1)])[:, None]
    same = boundary.curve[1:] == boundary.curve[:-1]
    assert (np.abs(np.diff(at, axis=1)) <= step * (1 + 1e-9))[:, same].all()
    for number in np.unique(boundary.curve):
        mine = boundary.curve == number
        assert (np.diff(np.flatnonzero(mine)) == 1).all()
        if boundary.closed[mine][0]:
            assert (np.abs(at[:, mine][:, 0] - at[:, mine][:, -1]) <= step[:, 0] * (1 + 1e-9)).all()


def _shifted(grid: dict[str, Any], boundary: Boundary, by: float) -> list[Any]:
    f = np.clip(boundary.fraction + by, 0, 1)
    return [v[boundary.inside] + f * (v[boundary.outside] - v[boundary.inside]) for v in (grid["x"], grid["y"])]


@given(st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=4))
def test_polygons(lines: list[tuple[float, float, float]]) -> None:
    """Largest of a few planes: lines, wedges, triangles, with corners."""
    assume(all(abs(a) + abs(b) > 1e-3 for a, b, _ in lines))

    def worst(x: Any, y: Any) -> Any:
        return np.max([a * x + b * y - c for a, b, c in lines], axis=0)

    boundary, at = find(worst)
    check(boundary, at, worst, (23, 31))
    assert np.abs(worst(*at)).max(initial=0) < 1e-9
    for number in np.unique(boundary.curve):  # an open curve ends where the grid does
        ends = at[:, boundary.curve == number][:, [0, -1]]
        if not boundary.closed[boundary.curve == number][0]:
            near = np.abs(np.abs(ends) - 1) <= np.array([[2 / 22], [2 / 30]]) * (1 + 1e-9)
            assert near.any(axis=0).all()


@given(st.lists(st.tuples(numbers, numbers, st.floats(0.05, 0.8)), min_size=1, max_size=4))
def test_circles(circles: list[tuple[float, float, float]]) -> None:
    """Unions of discs, tangent and overlapping, whose outlines are closed where they stay on the grid."""

    def nearest(x: Any, y: Any) -> Any:
        return np.min([np.hypot(x - a, y - b) - r for a, b, r in circles], axis=0)

    boundary, at = find(nearest)
    check(boundary, at, nearest, (23, 31))
    assert np.abs(boundary.residual).max(initial=0) < 1e-9
    if all(abs(a) + r < 1 and abs(b) + r < 1 for a, b, r in circles):
        assert boundary.closed.all()


@given(st.integers(0, 6), st.integers(0, 6))
def test_through_nodes(i: int, j: int) -> None:
    """A line through nodes: each edge that ends on it is crossed there, at one evaluation an edge."""
    calls = []

    def line(x: Any, y: Any) -> Any:
        calls.append(np.size(x))
        return (x - (i - 3) / 4) + (y - (j - 3) / 4)

    boundary, at = find(line, 9, 9, error=1e-14)
    assert np.abs(line(*at)).max(initial=0) < 1e-12
    assert sum(calls[1:-1]) <= boundary.fraction.size
    assert np.isin(np.unique(boundary.curve), [0]).all()


def test_jumps_gaps_and_regions_of_zeros() -> None:
    jump, at = find(lambda x, y: np.where(x < 0.123, -1.0, 2.0))
    assert at[0] == pytest.approx(np.full(31, 0.123), abs=1e-11) and (jump.residual == -1).all()
    _, at = find(lambda x, y: np.where(x < 0.123, -1.0, np.where(x < 0.15, np.nan, 2.0)))
    assert at[0] == pytest.approx(np.full(31, 0.123), abs=1e-11)
    unknown, _ = find(lambda x, y: np.where(x < 0.123, -1.0, np.nan))
    assert unknown.fraction.size == 0
    flat, at = find(lambda x, y: np.minimum(x - 0.3, 0) + np.maximum(x - 0.8, 0))
    assert at[0] == pytest.approx(np.full(31, 0.3), abs=1e-11) and flat.fraction.size == 31
    cross, at = find(lambda x, y: (x - 0.013) * (y - 0.011), 24, 32)
    assert np.abs((at[0] - 0.013) * (at[1] - 0.011)).max() < 1e-11
    assert len(np.unique(cross.curve)) == 2


@pytest.mark.parametrize(
    "function, most", [(lambda x: x - 0.3456, 9), (lambda x: np.exp(x) - 1.4, 9), (lambda x: (x - 0.3456) ** 3, 36)]
)
def test_evaluations(function: Any, most: int) -> None:
    """About eight where the quantity is smooth; one more than bisection's 34 and the probe's at a triple root."""
    calls = []

    def measure(p: dict[str, Any]) -> Any:
        calls.append(p["x"].size)
        return function(p["x"]), np.full(p["x"].shape, 1e-300)

    x = np.array([0.0, 1.0])
    boundary = trace(measure, {"x": x}, (2,), function(x), np.full(2, 1e-300))
    assert function(boundary.at(x) - 1e-10) < 0 < function(boundary.at(x) + 1e-10)
    assert len(calls) <= most


# -- charts -------------------------------------------------------------------------------------------------


def test_delayed_logistic() -> None:
    """Stable where epsilon * delay < pi/2; the crossings lie on the hyperbola to rounding."""
    model = LogisticDelayed(epsilon=np.linspace(0.1, 3, 30), delay=np.linspace(0, 2, 31))
    chart = stability_chart(model)
    product = chart.epsilon * chart.delay
    assert (chart.verdict == xr.where(product < np.pi / 2, -1, 1)).all()
    assert float(abs(chart.boundary_epsilon * chart.boundary_delay - np.pi / 2).max()) < 1e-9
    assert int(chart.disagreements) == 0 and float(abs(chart.boundary_margin).max()) < 1e-9
    (curve,) = boundary_curves(chart)
    assert (np.diff(curve.boundary_epsilon.values) * np.diff(curve.boundary_delay.values) <= 0).all()
    assert chart.verdict.attrs["flag_meanings"] == "stable marginal unstable unknown"
    assert not failures(chart)


def test_t_refwa_window_line() -> None:
    """A0: phi + psi = 2 through the nodes of the grid, where the multiplier is -1."""
    model = TRefwaWindow(phi=np.arange(1, 13) / 4, psi=np.arange(1, 9) / 4)
    chart = stability_chart(model)
    total = chart.phi + chart.psi
    assert (chart.verdict == np.sign(total - 2)).all()
    assert chart.verdict.sel(phi=1.5, psi=0.5) == 0 and chart.radius.sel(phi=1.5, psi=0.5) == pytest.approx(1)
    assert float(abs(chart.boundary_phi + chart.boundary_psi - 2).max()) < 1e-12
    assert int(chart.disagreements) == 0


@settings(max_examples=20)
@given(st.floats(0.01, 0.3), st.floats(0.01, 0.3))
def test_t_refwa_integrating_region(x: float, y: float) -> None:
    """I0: 0 < psi < phi and psi > 2 phi - 4, on any grid; crossings by the roots of the polynomial as well."""
    phi, psi = np.arange(0.0, 3.2, 0.31) + x, np.arange(0.0, 3.2, 0.33) + y
    chart = stability_chart(TRefwaIntegrating(phi=phi, psi=psi))
    margin = np.minimum(chart.phi - chart.psi, chart.psi - 2 * chart.phi + 4)
    clear = abs(margin) > 1e-9
    assert ((chart.verdict == -1) == (margin > 0)).where(clear, True).all()
    p, q = chart.boundary_phi.values, chart.boundary_psi.values
    assert np.abs(np.minimum(p - q, q - 2 * p + 4)).max(initial=0) < 1e-9
    for a, b in list(zip(p, q, strict=True))[::7]:  # e' = (1 - phi) e - psi Q, Q' = Q + e
        assert np.abs(np.linalg.eigvals([[1 - a, -b], [1, 1]])).max() == pytest.approx(1, abs=1e-9)


def test_delays_of_a_map_are_not_interpolated() -> None:
    chart = stability_chart(TRefwaDelayed(phi=np.linspace(0.1, 2.9, 15), psi=0.45, delay=[0, 1, 2, 3]))
    assert set(chart.boundary_delay.values) <= {0, 1, 2, 3} and chart.sizes["crossing"] > 0
    along = chart.boundary_axis.attrs["flag_meanings"].split()
    assert {along[int(k)] for k in np.unique(chart.boundary_axis)} == {"phi"}
    assert float(abs(chart.boundary_margin).max()) < 1e-8


def test_one_and_three_parameters() -> None:
    chart = stability_chart(LogisticMap(epsilon=[0.5, 1.7, 2.2]))
    assert chart.boundary_epsilon.values == pytest.approx([2.0], abs=1e-10) and "boundary_curve" not in chart
    flows = LotkaVolterraDelayed(flows=3, epsilon=[0.5, 1.0, 2.0], gamma=[0.2, 0.9], delay=[0.5, 1.0, 2.0])
    chart = stability_chart(flows)
    assert set(chart.verdict.dims) == {"epsilon", "gamma", "delay"}
    assert chart.boundary_epsilon.values * chart.boundary_delay.values == pytest.approx(np.pi / 2, abs=1e-8)
    assert int(chart.disagreements) == 0
    with pytest.raises(DynamicsError, match="no curves"):
        boundary_curves(chart)


x_, y_, a_, b_ = sympy.symbols("x y a b")


def test_where_a_root_stays_at_zero() -> None:
    """A conserved quantity: never better than marginal; the boundary is that of the unstable points."""
    conserved = ODE(rhs={"x": a_ * (x_ - y_), "y": a_ * (y_ - x_)}, parameters={"a": np.linspace(-1, 1.1, 8)})
    chart = stability_chart(conserved, at={"x": 1.0, "y": 1.0})
    assert set(chart.verdict.values) == {0, 1}
    assert chart.boundary_a.values == pytest.approx([0], abs=1e-9)


def test_where_the_equilibrium_ends() -> None:
    """x' = a - x^2 at sqrt(a): points without an equilibrium are unknown and have no crossings."""
    fold = ODE(
        rhs={"x": a_ - x_**2, "y": -b_ * y_}, parameters={"a": [-1.0, 0.5, 1.0], "b": [-0.7, 0.3]},
        fixed_points=[{"x": sympy.sqrt(a_), "y": 0}],
    )  # fmt: skip
    chart = stability_chart(fold)
    assert (chart.verdict.sel(a=-1.0) == 2).all() and (chart.status.sel(a=-1.0) != 0).all()
    assert chart.boundary_b.values == pytest.approx([0, 0], abs=1e-9)
    with pytest.raises(DynamicsError, match=r"a = -1|'a': -1"):
        stability_chart(fold, throw=True)


def test_points_given_as_arrays_are_refined_between_the_nodes() -> None:
    """x' = a - x - x^3 with y' = (x - 1/2) y: unstable where the root of a = x + x^3 exceeds 1/2, at a = 5/8."""
    a = np.linspace(0, 1, 5)
    roots = [np.roots([1, 0, 1, -v])[-1].real for v in a]
    problem = ODE(rhs={"x": a_ - x_ - x_**3, "y": (x_ - 0.5) * y_}, parameters={"a": a})
    chart = stability_chart(problem, at={"x": xr.DataArray(roots, {"a": a}, "a"), "y": 0.0})
    assert chart.boundary_a.values == pytest.approx([0.625], abs=1e-9)


def test_refusals() -> None:
    with pytest.raises(DomainError, match="a chart needs a parameter that is an array"):
        stability_chart(LogisticMap(epsilon=1.0))
    for bad in (0.0, "a", np.nan, 1):
        with pytest.raises(DomainError, match="tolerance must lie in"):
            stability_chart(LogisticMap(epsilon=[1.0, 3.0]), tolerance=bad)  # type: ignore[arg-type]
    chart = stability_chart(LogisticMap(epsilon=[1.0, 3.0]), trace=False)
    assert "crossing" not in chart.dims


def test_many_points_and_round_trip(tmp_path: Any) -> None:
    """300 000 points of a one-state map in blocks; the result survives NetCDF."""
    chart = stability_chart(LogisticMap(epsilon=np.linspace(0.1, 3, 500), capacity=np.linspace(1, 200, 600)))
    assert chart.boundary_epsilon.values == pytest.approx(np.full(600, 2.0), abs=1e-11)
    small = stability_chart(LogisticMap(epsilon=[1.0, 3.0], capacity=[1.0, 2.0]))
    small.to_netcdf(tmp_path / "chart.nc")
    with xr.open_dataset(tmp_path / "chart.nc") as again:
        assert again.verdict.values.tolist() == small.verdict.values.tolist()


def test_delay_equation_against_the_polynomial_of_the_boundary() -> None:
    """x' = -a x - b x(t - 1): Hopf where b = w / sin w, a = -w / tan w; the judge solves for w by bisection."""
    from scipy.optimize import brentq

    past = sympy.Symbol("past")
    problem = DDE(
        rhs={"x": -a_ * x_ - b_ * past}, delayed={"past": Delayed("x", 1)},
        parameters={"a": np.linspace(0.1, 2, 8), "b": np.linspace(1.05, 5, 9)},
    )  # fmt: skip
    chart = stability_chart(problem, at={"x": 0})
    assert chart.sizes["crossing"] > 8
    for a, b in zip(chart.boundary_a.values, chart.boundary_b.values, strict=True):
        if b > a + 1e-6:
            w = brentq(lambda w, a=a: w / np.tan(w) + a, np.pi / 2, np.pi - 1e-9, xtol=1e-14)
            assert b == pytest.approx(w / np.sin(w), abs=1e-8)


def test_map_with_a_problem_only() -> None:
    chart = stability_chart(Map(rhs={"x": a_ * x_}, parameters={"a": [-2.0, 0.0, 2.0]}), at={"x": 0})
    assert sorted(chart.boundary_a.values) == pytest.approx([-1, 1], abs=1e-10)
    assert "margin" not in chart


def test_a_point_that_is_no_equilibrium_is_not_judged() -> None:
    w, a = sympy.symbols("w a")
    problem = ODE(rhs={"w": a - w**2}, parameters={"a": [1.0, 2.0]})
    with pytest.warns(FailureWarning, match=r"chart: 2 of 2 points failed; most often: the point of at= is no equilib"):
        wrong = stability_chart(problem, at={"w": 57.0})
    assert set(wrong.verdict.values.tolist()) == {2}
    assert "no equilibrium" in failures(wrong)[0][1]
    written = stability_chart(problem.at(a=[2.0, 2.0]), at={"w": 1.4142})  # five digits, as people write them
    assert written.verdict.values.tolist() == [-1, -1]


def test_equations_are_compiled_once_for_a_chart_and_for_its_points(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    compile_equations = equations.compile_equations

    def counted(*parts: Any) -> equations.Equations:
        calls.append(parts)
        return compile_equations(*parts)

    monkeypatch.setattr(equations, "compile_equations", counted)
    equations._kept_equations.cache_clear()
    w, past, epsilon, delay = sympy.symbols("w past epsilon delay")
    hutchinson = DDE(
        rhs={"w": epsilon * w * (1 - past)},
        delayed={"past": Delayed("w", delay)},
        fixed_points=[{"w": 1}],
        parameters={"epsilon": 1.0, "delay": 1.0},
    )
    problem = hutchinson.at(epsilon=np.linspace(0.5, 2.5, 6), delay=np.linspace(0.2, 2.0, 6))
    chart = stability_chart(problem)
    assert chart.sizes["crossing"] > 3 and len(calls) == 1
    assert spectral_abscissa(hutchinson).item() < 0 and len(calls) == 1
