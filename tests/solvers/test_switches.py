"""Points of rest on a switch: known slopes, simulation, and the many ways of writing the same corner."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
import xarray as xr
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tcpdynamics.errors import FailureWarning
from tcpdynamics.models import LotkaVolterraHeld, TRefwaIntegrating, TRefwaMeasuredRtt, TRefwaWindow
from tcpdynamics.solvers import (
    DDE,
    ODE,
    Delayed,
    DynamicsError,
    Map,
    characteristic_roots,
    continuation,
    convergence,
    eigenvalues,
    equilibria,
    lyapunov,
    spectral_abscissa,
    spectral_radius,
    stability_chart,
    sweep,
    sweep_of,
)
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.results import Status
from tcpdynamics.solvers.stability.leading_roots import sides

Array = NDArray[np.float64]

x, y, a, b, c, q, tau = sympy.symbols("x y a b c q tau", real=True)
STABLE, MARGINAL, UNSTABLE, UNKNOWN = -1, 0, 1, 2

slopes = st.floats(-3, 3).map(lambda v: round(v, 2))
places = st.sampled_from([0.0, 1.0, -0.3, 100.0, 1e-6])

#: a left of c, b right of it, written in the ways that people write it.
CORNERS = {
    "piecewise": sympy.Piecewise((b * (x - c), x > c), (a * (x - c), True)),
    "other piecewise": sympy.Piecewise((a * (x - c), x <= c), (b * (x - c), True)),
    "max and min": b * sympy.Max(x - c, 0) + a * sympy.Min(x - c, 0),
    "two max": b * sympy.Max(x, c) - b * c - a * sympy.Max(-x, -c) - a * c,
    "abs": (a + b) / 2 * (x - c) + (b - a) / 2 * sympy.Abs(x - c),
    "heaviside": (x - c) * (a + (b - a) * sympy.Heaviside(x - c)),
    "nested": b * sympy.Max(sympy.Max(x - c, 0), (x - c) / 2) + a * sympy.Min(x - c, 0),
}


def scalar(kind: type[Any], form: str, left: Any, right: Any, corner: float) -> Any:
    """A problem with these slopes (arrays are paired) at rest on its corner."""
    values = {"a": np.atleast_1d(left), "b": np.atleast_1d(right), "c": np.array([corner])}
    size = max(v.size for v in values.values())
    rhs = CORNERS[form] + (x - (x - c) if kind is Map else 0)
    paired = {k: xr.DataArray(np.broadcast_to(v, size).copy(), dims="point") for k, v in values.items()}
    return kind(rhs={"x": sympy.sympify(rhs)}, parameters=paired, fixed_points=[{"x": c}])


def growth_of_map(left: float, right: float) -> float:
    """Long-run growth a step of the worst start, by iteration."""
    worst = -np.inf
    for start in (-1.0, 1.0):
        h, total = start, 0.0
        for step in range(400):
            h = (right if h > 0 else left) * h
            if h == 0:
                total = -np.inf
                break
            if step >= 200:
                total += np.log(abs(h))
            h /= abs(h)
        worst = max(worst, total / 200)
    return float(np.exp(worst))


@settings(max_examples=60)
@given(st.sampled_from(sorted(CORNERS)), slopes, slopes, places)
def test_a_flow_of_one_state_is_stable_iff_both_sides_are(form: str, left: float, right: float, corner: float) -> None:
    chart = stability_chart(scalar(ODE, form, left, right, corner), trace=False)
    worst = max(left, right)
    if left == right or abs(left - right) < 1e-6:
        return
    assert chart.status.values.tolist() == [Status.ON_SWITCH]
    assert chart.abscissa_side.values.ravel() == pytest.approx([left, right], abs=1e-12)
    assert chart.abscissa.values == pytest.approx([worst], abs=1e-12)
    if worst == 0 or abs(worst) > 1e-3:
        assert chart.verdict.values.tolist() == [int(np.sign(round(worst, 12)))]


@settings(max_examples=60)
@given(st.sampled_from(sorted(CORNERS)), slopes, slopes, places)
def test_a_map_of_one_state_grows_as_its_orbits_do(form: str, left: float, right: float, corner: float) -> None:
    if abs(left - right) < 1e-6:
        return
    chart = stability_chart(scalar(Map, form, left, right, corner), trace=False)
    growth = growth_of_map(left, right)
    assert chart.status.values.tolist() == [Status.ON_SWITCH]
    assert chart.radius.values == pytest.approx([growth], abs=1e-9)
    expected = left < 1 and right < 1 and left * right < 1
    if abs(growth - 1) > 1e-6:
        assert (chart.verdict.values[0] == STABLE) == expected == (growth < 1)
    both = chart.radius_side.values.ravel()
    assert both == pytest.approx([abs(left), abs(right)], abs=1e-10)


def test_all_sign_cases_of_a_map_by_iteration() -> None:
    """Every pair of slopes on a grid, the border included."""
    values = np.linspace(-2, 2, 17)
    left, right = (v.ravel() for v in np.meshgrid(values, values))
    off = left != right
    chart = stability_chart(scalar(Map, "piecewise", left[off], right[off], 0.0), trace=False)
    truth = np.array([growth_of_map(*pair) for pair in zip(left[off], right[off], strict=True)])
    assert chart.radius.values == pytest.approx(truth, abs=1e-12)
    expected = np.where(np.abs(truth - 1) < 1e-12, MARGINAL, np.sign(truth - 1))
    assert (chart.verdict.values == expected).all()
    assert (chart.status.values == Status.ON_SWITCH).all()


def composed(rng: np.random.Generator, depth: int) -> Any:
    """A random function of x made of Max, Min, Abs, Piecewise, sums and lines through 0."""
    kind = int(rng.integers(7)) if depth else 0
    if kind == 0:
        return sympy.Rational(int(rng.integers(-30, 31)), 10) * x
    one, other = composed(rng, depth - 1), composed(rng, depth - 1)
    pieces = sympy.Piecewise((one, x > 0), (other, True))
    return (sympy.Max(one, other), sympy.Min(one, other), sympy.Abs(one), one + other, one - other, pieces)[kind - 1]


@settings(max_examples=25)
@example(2854073)  # more corners at once than are tried one by one
@given(st.integers(0, 10**9))
def test_corners_of_corners_have_the_slopes_of_the_function(seed: int) -> None:
    """Such a function is a line on each side of 0: its values at -1 and 1 are its slopes."""
    function = composed(np.random.default_rng(seed), 3)
    left, right = -float(sympy.sympify(function).subs(x, -1)), float(sympy.sympify(function).subs(x, 1))
    flow, steps = (
        stability_chart(kind(rhs={"x": function}, parameters={"p": [1.0]}), at={"x": 0}, trace=False)
        for kind in (ODE, Map)
    )
    growth = max(left, right), abs(left) if left == right else growth_of_map(left, right)
    assert flow.abscissa.values == pytest.approx([growth[0]], abs=1e-9)
    assert steps.radius.values == pytest.approx([growth[1]], abs=1e-9)
    if abs(left - right) > 1e-6:
        assert flow.status.values.tolist() == steps.status.values.tolist() == [Status.ON_SWITCH]


def test_the_systems_that_were_misjudged() -> None:
    first = ODE(rhs={"x": sympy.Piecewise((4 * x, x > 0), (-5 * x, True))}, parameters={"a": [1.0]})
    second = ODE(rhs={"x": -2 * sympy.Max(x, 0) + 3 * sympy.Max(-x, 0)}, parameters={"a": [1.0]})
    assert stability_chart(first, at={"x": 0}).verdict.values.tolist() == [UNSTABLE]
    assert stability_chart(second, at={"x": 0}).verdict.values.tolist() == [STABLE]
    for problem in (first, second):
        both = eigenvalues(problem, {"x": 0})
        assert both.status.values.tolist() == [Status.ON_SWITCH] and np.isnan(both.eigenvalue.values).all()
        assert np.isnan(spectral_abscissa(problem, {"x": 0}).values).all()
        assert np.isnan(convergence(problem, {"x": 0}).time_constant.values).all()
        with pytest.raises(DynamicsError, match="lies on a switch of the equations"):
            eigenvalues(problem, {"x": 0}, throw=True)
        with pytest.warns(FailureWarning, match="lies on a switch"):
            assert int(lyapunov(problem, start={"x": 0.0}, time=10.0).status[0]) == Status.ON_SWITCH
    assert eigenvalues(second, {"x": 0}).eigenvalue_side.values.ravel().tolist() == [-3, -2]
    speed = convergence(second, {"x": 0}).root_side
    assert speed.dims == ("side", "a") and speed.values.ravel().tolist() == [-3, -2]
    assert stability_chart(second, at={"x": 0}, throw=True).verdict.values.tolist() == [STABLE]  # it has a verdict
    both = characteristic_roots(second, {"x": 0}, count=2)
    assert both.characteristic_root_side.isel(root=0).values.ravel().tolist() == [-3, -2]
    cut = TRefwaMeasuredRtt(phi=2.4, psi=1.5, buffer=100.0, bdp=100.0).cut_map()
    assert np.isnan(spectral_radius(cut)) and int(spectral_radius(cut).status) == Status.ON_SWITCH


def test_equilibria_on_a_switch_are_judged_by_both_sides() -> None:
    found = equilibria(scalar(ODE, "abs", [-1.0, -1.0], [-2.0, 1.0], 0.0))
    assert found.stable.values.ravel().tolist() == [True, False]
    assert found.abscissa.values.ravel() == pytest.approx([-1, 1])


@settings(max_examples=25)
@given(
    st.lists(st.floats(0, 4), min_size=2, max_size=6, unique=True),
    st.lists(st.floats(0, 4), min_size=2, max_size=4, unique=True),
)
def test_a_chart_on_a_switch_agrees_with_the_closed_form(phi: list[float], psi: list[float]) -> None:
    model = TRefwaMeasuredRtt(phi=sorted(phi), psi=sorted(psi), buffer=100.0, bdp=100.0)
    chart = stability_chart(model.cut_map())
    margin = model.cut_margin().transpose("phi", "psi").values
    clear = np.abs(margin) > 1e-9
    on = np.abs(np.subtract.outer(np.array(sorted(phi)), np.array(sorted(psi)))) > 1e-9
    assert ((chart.verdict.values == STABLE) == (margin > 0))[clear].all()
    assert (chart.status.values[on] == Status.ON_SWITCH).all()
    if chart.sizes["crossing"]:
        there = TRefwaMeasuredRtt(
            phi=xr.DataArray(chart.boundary_phi.values, dims="point"),
            psi=xr.DataArray(chart.boundary_psi.values, dims="point"),
            buffer=100.0,
            bdp=100.0,
        )
        assert np.abs(there.cut_margin().values).max() < 1e-8  # two gains of at most 4, each to 4e-10


def test_a_boundary_on_a_switch_is_traced() -> None:
    chart = stability_chart(scalar(ODE, "piecewise", -1.0, 0.0, 0.0).at(b=[-1.0, 0.3, 2.0]))
    assert chart.verdict.values.ravel().tolist() == [STABLE, UNSTABLE, UNSTABLE]
    assert chart.boundary_b.values == pytest.approx([0.0], abs=1e-9)


# -- jumps -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rhs, verdict, abscissa",
    [
        (-sympy.sign(1) * (2 * sympy.Heaviside(x) - 1), STABLE, -np.inf),  # a relay that holds its point
        (2 * sympy.Heaviside(x) - 1, UNSTABLE, np.inf),
        (sympy.Piecewise((-1, x > 0), (-3 * x, True)), STABLE, -3.0),
        (sympy.Piecewise((-1, x > 0), (3 * x, True)), UNSTABLE, 3.0),
        (sympy.Piecewise((1, x > 0), (-3 * x, True)), UNSTABLE, np.inf),
    ],
)
def test_a_flow_that_jumps(rhs: Any, verdict: int, abscissa: float) -> None:
    chart = stability_chart(ODE(rhs={"x": rhs}, parameters={"a": [1.0]}), at={"x": 0})
    assert chart.verdict.values.tolist() == [verdict] and chart.abscissa.values.tolist() == [abscissa]
    assert chart.status.values.tolist() == [Status.ON_SWITCH]


def test_a_map_that_jumps_is_unstable_and_a_plane_that_jumps_is_not_judged() -> None:
    leap = Map(rhs={"x": sympy.Piecewise((x / 2 + 1, x > 0), (x / 2, True))}, parameters={"a": [1.0]})
    assert stability_chart(leap, at={"x": 0}).verdict.values.tolist() == [UNSTABLE]
    relay = ODE(rhs={"x": y, "y": -2 * sympy.Heaviside(x) + 1 - y}, parameters={"a": [1.0]})
    chart = stability_chart(relay, at={"x": 0, "y": 0})
    assert chart.verdict.values.tolist() == [UNKNOWN] and chart.status.values.tolist() == [Status.ON_SWITCH]
    with pytest.raises(DynamicsError, match="lies on a switch"):
        stability_chart(relay, at={"x": 0, "y": 0}, throw=True)


# -- which points are on a switch ----------------------------------------------------------------------------


def on_switch(problem: Any, at: Any) -> bool:
    return int(eigenvalues(problem, at).status) == Status.ON_SWITCH


@settings(max_examples=50)
@given(st.floats(1e-6, 1e6), st.integers(-40, 40))
def test_on_means_within_rounding(corner: float, ulps: int) -> None:
    """A closed form may be off by some roundings; a point that is off by 1e-9 is not on the switch."""
    problem = ODE(rhs={"x": -2 * sympy.Max(x - c, 0) - sympy.Min(x - c, 0)}, parameters={"c": corner})
    assert on_switch(problem, {"x": corner * (1 + ulps * 2.0**-52)})
    assert not on_switch(problem, {"x": corner * (1 + 1e-9)})
    assert not on_switch(problem, {"x": corner * (1 - 1e-9)})


def test_equilibria_that_are_searched_for_are_found_on_their_switch() -> None:
    for start in (0.3, 1.0, 37.0):
        for rhs in (-2 * sympy.Max(x, 0) + 3 * sympy.Max(-x, 0), sympy.Piecewise((-x - x**2, x > 0), (-5 * x, True))):
            assert on_switch(ODE(rhs={"x": rhs}, start={"x": start}), None)


@pytest.mark.parametrize(
    "rhs",
    [
        -x + sympy.Max(x, 0) ** 2,  # the corner has no slope
        -x + sympy.Abs(x) ** 3,
        -x + 0 * sympy.Max(x, 0),
        -x * sympy.Max(a, 1),  # no state in the switch
        sympy.Piecewise((-x, x > 0), (-x + x**2, True)),
        -2 * x + sympy.Max(x, 0) + sympy.Min(x, 0),  # whose corners cancel
        -2 * x + sympy.Max(x, 0) - sympy.Max(-x, 0),
    ],
)
def test_a_switch_that_changes_nothing_is_none(rhs: Any) -> None:
    result = eigenvalues(ODE(rhs={"x": rhs}, parameters={"a": 1.0}), {"x": 0})
    assert int(result.status) == 0 and result.eigenvalue.values.real[0] == -1
    assert "eigenvalue_side" not in result or np.isnan(result.eigenvalue_side.values).all()


def test_many_switches_that_change_nothing_are_seen_to_do_so() -> None:
    """The series and the closed form of one function meet where the law switches between them, sixteen times."""
    held = LotkaVolterraHeld(flows=4, epsilon=np.array([0.5]), gamma=0.0)
    chart = stability_chart(held, trace=False)
    assert chart.status.values.tolist() == [0] and chart.verdict.values.tolist() == [STABLE]
    assert chart.radius.values == pytest.approx([np.exp(-0.5)], abs=1e-12)


def test_too_many_switches_at_once_are_not_judged() -> None:
    terms = sum(sympy.Rational(1, k) * sympy.Max(k * x + y, 0) for k in range(2, 10))
    for rhs, verdict in (({"x": -x - terms, "y": -y}, UNKNOWN), ({"x": -x - terms.subs(y, 0)}, STABLE)):
        chart = stability_chart(ODE(rhs=rhs, parameters={"a": [1.0]}), at=dict.fromkeys(rhs, 0))
        assert chart.verdict.values.tolist() == [verdict] and chart.status.values.tolist() == [Status.ON_SWITCH]


def test_the_status_has_its_sentence() -> None:
    assert Status.ON_SWITCH.sentence.startswith("the point lies on a switch of the equations")


@pytest.mark.parametrize("solver", [eigenvalues, convergence])
def test_a_sweep_may_meet_a_switch_in_one_block(solver: Any) -> None:
    """Which variables there are depends on the equations, not on the points."""
    work = sweep_of(TRefwaWindow(phi=np.array([0.0, 0.5, 1.0]), psi=0.5), solver)
    assert sweep(work, work.parameters, block=1).status.values.tolist() == [Status.ON_SWITCH, 0, 0]


# -- several states -------------------------------------------------------------------------------------------


def bimodal(kind: type[Any], matrix: Array, push: Array, normal: Array) -> Any:
    """x' = A x + p max(g x, 0)."""
    states = sympy.symbols(f"s1:{len(matrix) + 1}", real=True)
    corner = sympy.Max(sum(float(g) * s for g, s in zip(normal, states, strict=True)), 0)
    rhs = {
        s.name: sum(float(v) * t for v, t in zip(row, states, strict=True)) + float(p) * corner
        for s, row, p in zip(states, matrix, push, strict=True)
    }
    return kind(rhs=rhs, parameters={"a": [1.0]}, fixed_points=[{s.name: 0 for s in states}])


def long_run(matrix: Array, push: Array, normal: Array, is_map: bool, steps: int = 4000) -> float:
    """Largest growth (a step, or per time) of many starts in the second half of a run."""
    n = len(matrix)
    h = np.random.default_rng(0).normal(size=(n, 200))
    dt = 0.25 / (np.abs(matrix).sum() + np.abs(push).sum() * np.abs(normal).sum())

    def rate(z: Array) -> Array:
        return matrix @ z + push[:, None] * np.maximum(normal @ z, 0)

    total = np.zeros(h.shape[1])
    for step in range(steps):
        if is_map:
            h = rate(h)
        else:
            k1 = rate(h)
            k2 = rate(h + dt / 2 * k1)
            k3 = rate(h + dt / 2 * k2)
            h = h + dt / 6 * (k1 + 2 * k2 + 2 * k3 + rate(h + dt * k3))
        size = np.linalg.norm(h, axis=0)
        if step >= steps // 2:
            total += np.log(np.maximum(size, 1e-300))
        h = h / np.where(size > 0, size, 1.0)
    mean = total.max() / (steps - steps // 2)
    return float(mean if is_map else mean / dt)


def plane(seed: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(2, 2)) - rng.uniform(0, 1) * np.eye(2), rng.normal(size=2) * 2, rng.normal(size=2)


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_a_flow_in_the_plane_grows_as_its_orbits_do(seed: int) -> None:
    parts = plane(seed)
    chart = stability_chart(bimodal(ODE, *parts), trace=False)
    assert chart.status.values.tolist() == [Status.ON_SWITCH]
    growth, simulated = float(chart.abscissa[0]), long_run(*parts, is_map=False, steps=6000)
    # The run lasts some tens of time constants: a rate that is clearly not zero has its sign.
    if abs(simulated) > 0.1 and abs(growth) > 0.1:
        assert np.sign(growth) == np.sign(simulated)
        assert int(chart.verdict[0]) == np.sign(growth)


def test_two_stable_sides_of_a_plane_and_two_unstable_ones() -> None:
    """Two weakly damped oscillators are stable together whatever their speeds; unstable ones are not."""
    for damping, verdict in ((0.01, STABLE), (-0.01, UNSTABLE), (0.0, MARGINAL)):
        matrix = np.array([[0.0, 1.0], [-1.0, -damping]])
        problem = bimodal(ODE, matrix, np.array([0.0, -99.0]), np.array([1.0, 0.0]))
        chart = stability_chart(problem, trace=False)
        assert int(chart.verdict[0]) == verdict
        slow, fast = np.pi / np.sqrt(1 - damping**2 / 4), np.pi / np.sqrt(100 - damping**2 / 4)
        assert float(chart.abscissa[0]) == pytest.approx(-damping / 2 * (slow + fast) / (slow + fast), abs=1e-12)


@pytest.mark.parametrize("draws", [9, pytest.param(25, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind, n", [(Map, 2), (Map, 3), (ODE, 3), (ODE, 4)])
def test_verdicts_on_several_states_hold_in_simulation(kind: type[Any], n: int, draws: int) -> None:
    """Some must be decided, each way, and none against the orbits."""
    count = {STABLE: 0, UNSTABLE: 0, UNKNOWN: 0}
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        matrix = rng.normal(size=(n, n)) * (0.5 if kind is Map else 0.8)
        matrix -= 0.0 if kind is Map else 1.2 * np.eye(n)
        parts = matrix, rng.normal(size=n) * 0.8, rng.normal(size=n)
        chart = stability_chart(bimodal(kind, *parts), trace=False)
        verdict = int(chart.verdict[0])
        count[verdict] += 1
        if verdict != UNKNOWN:
            simulated = long_run(*parts, is_map=kind is Map, steps=1500)
            assert np.sign(simulated) == verdict or (abs(simulated) < 0.02 and verdict == UNSTABLE), seed
    least = draws // 8
    assert count[STABLE] >= least and count[UNSTABLE] >= least


@pytest.mark.parametrize(
    "matrix, push",
    [
        ([[0.3, -0.7], [1.5, -0.6]], [-1.2, -1.5]),
        ([[0.3, 0.5], [-1.3, 0.3]], [-1.8, -1.4]),
        ([[-0.2, 0.6], [-1.1, -0.3]], [-1.3, 0.4]),
        ([[0.1, 0.7], [-1.2, 0.6]], [-2.4, -1.9]),
    ],
)
def test_two_stable_sides_of_a_map_that_grows_are_not_called_stable(matrix: Any, push: Any) -> None:
    """Both multipliers of each side are inside the circle, and a sequence of sides grows."""
    parts = np.array(matrix), np.array(push), np.array([1.0, 0.0])
    assert long_run(*parts, is_map=True, steps=600) > 0.02
    chart = stability_chart(bimodal(Map, *parts), trace=False)
    assert int(chart.verdict[0]) in (UNSTABLE, UNKNOWN)
    assert (chart.radius_side.values < 1).all()


# -- delays ---------------------------------------------------------------------------------------------------


def late(kind: type[Any], left: Any, right: Any, delay: Any) -> Any:
    """x' = -x/2 + left min(x_d, 0) + right max(x_d, 0), the switch in a delayed output."""
    rhs = {"x": (-x / 2 if kind is DDE else x / 2) + q}
    return kind(
        rhs=rhs,
        delayed={"q": Delayed("queue", tau)},
        outputs={"queue": a * sympy.Min(x, 0) + b * sympy.Max(x, 0)},
        parameters={"a": left, "b": right, "tau": delay},
        fixed_points=[{"x": 0}],
        **({"history": {"x": 0}} if kind is DDE else {}),
    )


def test_a_switch_in_a_delayed_output_is_seen() -> None:
    roots = characteristic_roots(late(DDE, -1.0, 1.0, 1.0), count=1)
    assert int(roots.status) == Status.ON_SWITCH
    for side, slope in enumerate((-1.0, 1.0)):
        z = complex(roots.characteristic_root_side.values[side, 0])
        assert abs(z + 0.5 - slope * np.exp(-z)) < 1e-12
    steps = eigenvalues(late(Map, -0.3, 0.2, 2))
    assert int(steps.status) == Status.ON_SWITCH
    for side, slope in enumerate((-0.3, 0.2)):
        for z in steps.eigenvalue_side.values[side]:
            assert abs(z**3 - z**2 / 2 - slope) < 1e-9


def test_verdicts_with_delays() -> None:
    chart = stability_chart(late(DDE, [-1.0], [1.0, -0.2], [1.0]))
    assert chart.verdict.values.ravel().tolist() == [UNSTABLE, UNKNOWN]  # a real root whose motion stays right
    chart = stability_chart(late(DDE, [-1.0], [1.0, -0.2], [0.0]))
    assert chart.verdict.values.ravel().tolist() == [UNSTABLE, STABLE]  # without delay one state decides
    chart = stability_chart(late(Map, [-0.1], [0.1, 0.7], [2.0]))
    assert chart.verdict.values.ravel().tolist() == [STABLE, UNSTABLE]


@settings(max_examples=20)
@given(slopes, slopes, st.integers(0, 4))
def test_verdicts_of_delayed_maps_hold_in_simulation(left: float, right: float, delay: int) -> None:
    if left == right:
        return
    chart = stability_chart(late(Map, [left], [right], [float(delay)]), trace=False)
    verdict = int(chart.verdict.values.ravel()[0])
    starts = np.random.default_rng(0).normal(size=(delay + 1, 300))
    past, total = starts, np.zeros(300)
    for step in range(1200):
        new = past[0] / 2 + left * np.minimum(past[-1], 0) + right * np.maximum(past[-1], 0)
        past = np.vstack([new, past[:-1]]) if delay else new[None]
        size = np.abs(past).max(axis=0)
        if step >= 600:
            total += np.log(np.maximum(size, 1e-300))
        past = past / np.where(size > 0, size, 1.0)
    simulated = total.max() / 600
    if verdict in (STABLE, UNSTABLE) and abs(simulated) > 0.01:
        assert np.sign(simulated) == verdict


# -- solvers that go along ------------------------------------------------------------------------------------


def test_a_branch_that_lies_on_a_switch_is_refused_and_one_that_passes_says_so() -> None:
    with pytest.raises(DynamicsError, match="lies on a switch of the equations"):
        continuation(TRefwaMeasuredRtt(psi=1.5).cut_map(), "phi", (1.0, 3.0))
    # At rest at x = c, with the slope -1 for c < 1 and +2 beyond.
    jump = ODE(
        rhs={"x": -(x - c), "y": -y + 3 * y * sympy.Heaviside(x - 1)}, parameters={"c": 0.0}, start={"x": 0.0, "y": 0.0}
    )
    branch = continuation(jump, "c", (0.0, 1.7), start={"x": 0.0, "y": 0.0})
    assert branch.special_kind.values.tolist() == ["switch"]
    assert branch.special_c.values == pytest.approx([1.0], abs=1e-9)
    assert branch.stable.values[0] and not branch.stable.values[-1]
    ends = continuation(jump, "c", (0.0, 1.0), start={"x": 0.0, "y": 0.0})
    assert "lies on a switch" in ends.attrs["ended"] and ends.stable.values.all()


def test_the_integrating_queue_at_its_end() -> None:
    """Two states and two sides: decided where one quadratic form falls on both."""
    chart = stability_chart(TRefwaIntegrating(phi=[0.2, 1.5], psi=0.5).cut_map(), trace=False)
    assert chart.verdict.values.ravel().tolist() == [UNKNOWN, STABLE]
    assert (chart.status.values == Status.ON_SWITCH).all()


def test_sides_of_a_corner_of_corners() -> None:
    """Max(x, y) with Max(x, 0): not all four sets of sides exist where x = y = 0 on a line."""
    system = compile_system(ODE(rhs={"x": -x + sympy.Max(x, 0) - sympy.Max(2 * x, 0), "y": -y + sympy.Max(x, y) / 2}))
    (group,) = sides(system, np.zeros((2, 1)))
    assert group.base.shape[1] == 4  # two lines: x = 0 (twice) and x = y
