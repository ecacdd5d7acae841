"""Old measurements: delay equations and maps, their limits of gain and delay, and what the paper's gain bears."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from judges import roots_right
from scipy.integrate import solve_ivp

from tcpdynamics.models import (
    LotkaVolterraCrossDelayed,
    LotkaVolterraDelayed,
    LotkaVolterraHeld,
    LotkaVolterraMap,
    LotkaVolterraStale,
    per_flow,
)
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.problems import DomainError, DynamicsError

gains, counts = st.floats(0.05, 6.0), st.integers(1, 12)
weights = st.one_of(st.just(0.0), st.floats(1e-3, 0.98))
EPS, G, RHO, L, TAU = sympy.symbols("epsilon gamma rho lambda tau", positive=True)


def multipliers(problem: Any, N: Any) -> np.ndarray[Any, Any]:
    """Eigenvalues of a map with at most one delay, as the companion matrix of its linearisation."""
    own, past, lag = (x[0] for x in compile_system(problem).jacobians(np.asarray(N, dtype=float)[:, None]))
    n, depth = len(own), int(lag[0]) if lag.size else 0
    companion = np.eye(n * (depth + 1), k=-n)
    companion[:n, :n] = own
    if depth:
        companion[:n, n * depth :] += past[0]
    return np.linalg.eigvals(companion)


def radius(model: Any) -> float:
    at = np.broadcast_to(100.0 / model.crowding(), model.flows)
    return float(abs(multipliers(model.map(), at)).max())


def modes(model: Any) -> list[tuple[float, float]]:
    """(a, b) of lambda = a + b e^(-lambda delay) for the sum and for differences, from the equations' Jacobians."""
    N = np.full((model.flows, 1), 100.0 / model.crowding())
    own, past, _ = (x[0] for x in compile_system(model.dde()).jacobians(N))
    one, found = np.ones(model.flows), []
    difference = np.r_[1.0, -1.0, np.zeros(model.flows - 2)] if model.flows > 1 else one
    for v in (one, difference):
        pair = []
        for matrix in (own, past[0]):
            image = matrix @ v
            assert image == pytest.approx(image[0] * v, abs=1e-12)  # an eigenvector
            pair.append(float(image[0]))
        found.append((pair[0], pair[1]))
    return found


# ---------------------------------------------------------------- delay


@pytest.mark.parametrize("kind", [LotkaVolterraDelayed, LotkaVolterraCrossDelayed])
@settings(max_examples=30)
@given(gains, weights, counts, st.one_of(st.just(0.0), st.floats(0.01, 4.0)))
def test_margin_against_the_winding_number(kind: Any, eps: float, g: float, n: int, delay: float) -> None:
    model = kind(flows=n, epsilon=eps, gamma=g, delay=delay)
    margin = model.stability_margin()
    if abs(margin) > 2e-3 * (1 + delay):
        assert (sum(roots_right(a, b, delay) for a, b in modes(model)) == 0) == (margin > 0)
    if delay > 0:
        found = model.spectrum(3)
        for (a, b), mode in zip(modes(model), ("sum", "difference"), strict=True):
            if mode == "difference" and n == 1:
                continue
            roots = found.sel(mode=mode).values
            roots = roots[np.isfinite(roots)]
            residual = abs(roots - a - b * np.exp(-roots * delay))
            assert (residual <= 1e-13 * (1 + abs(roots) * delay) * (abs(roots - a) + abs(roots) + abs(a))).all()


@given(gains, weights, st.integers(2, 12))
def test_critical_delay_is_where_a_root_crosses(eps: float, g: float, n: int) -> None:
    for kind in (LotkaVolterraDelayed, LotkaVolterraCrossDelayed):
        critical = kind(flows=n, epsilon=eps, gamma=g).critical_delay()
        if math.isinf(critical):
            assert g * (n - 1) <= 1
            continue
        rightmost = kind(flows=n, epsilon=eps, gamma=g, delay=critical).spectrum(2).sel(mode="sum").values
        assert rightmost.real == pytest.approx(0, abs=1e-6 * eps)  # the root of a square where a is near 1
        for factor in (0.99, 1.01):
            model = kind(flows=n, epsilon=eps, gamma=g, delay=factor * critical)
            assert (model.stability_margin() > 0) == (factor < 1)


def test_critical_delay_in_symbols() -> None:
    """Cross terms delayed: i rho sqrt(a^2 - 1) solves l + rho + rho a e^(-l tau) = 0 at the critical delay."""
    a = sympy.sqrt(1 + L**2)  # > 1
    omega = RHO * L
    tau = sympy.acos(-1 / a) / omega
    value = sympy.I * omega + RHO + RHO * a * (sympy.cos(omega * tau) - sympy.I * sympy.sin(omega * tau))
    assert sympy.simplify(sympy.re(sympy.expand(value))) == 0
    assert sympy.simplify(sympy.im(sympy.expand(value))) == 0


def test_delays_that_the_papers_gain_bears() -> None:
    """epsilon = 1.95, gamma = 0.9: 0.806 round trips if all is old, for any n; the others' rates alone 2.07 to 0.98."""
    found = LotkaVolterraCrossDelayed(flows=[2, 3, 5, 10]).critical_delay()
    assert found.values == pytest.approx([math.inf, 2.07, 1.26, 0.98], abs=0.005)
    assert LotkaVolterraDelayed(flows=[2, 50]).critical_delay() == pytest.approx(math.pi / 3.9)


def test_unequal_capacities_bear_the_same_delay() -> None:
    """The delayed matrix is J itself, whose largest eigenvalue is -epsilon for any K_i."""
    model = LotkaVolterraDelayed(flows=3, gamma=0.6, capacity=per_flow([80.0, 90.0, 100.0]))
    problem = model.dde()
    S = 270 / 2.2
    N = (np.array([80.0, 90.0, 100.0]) - 0.6 * S) / 0.4
    own, past, _ = (x[0] for x in compile_system(problem).jacobians(N[:, None]))
    assert own == pytest.approx(0, abs=1e-12)
    assert abs(np.linalg.eigvals(past[0])).max() == pytest.approx(1.95, rel=1e-12)


# ---------------------------------------------------------------- maps


@given(gains, weights, counts, st.integers(0, 4))
@settings(max_examples=25)
def test_map_margin_against_the_companion_matrix(eps: float, g: float, n: int, lag: int) -> None:
    model = LotkaVolterraMap(flows=n, epsilon=eps, gamma=g, lag=lag)
    if abs(model.stability_margin()) > 1e-6:
        assert (radius(model) < 1) == (model.stability_margin() > 0)
    critical = LotkaVolterraMap(flows=n, epsilon=model.critical_gain(), gamma=g, lag=lag)
    assert radius(critical) == pytest.approx(1, abs=1e-9)


@given(gains, weights, counts)
@settings(max_examples=25)
def test_stale_margin_against_the_companion_matrix(eps: float, g: float, n: int) -> None:
    model = LotkaVolterraStale(flows=n, epsilon=eps, gamma=g)
    if abs(model.stability_margin()) > 1e-6:
        assert (radius(model) < 1) == (model.stability_margin() > 0)
    critical = LotkaVolterraStale(flows=n, epsilon=model.critical_gain(), gamma=g)
    assert radius(critical) == pytest.approx(1, abs=1e-9)


def test_stale_conditions_in_symbols() -> None:
    """Jury's conditions of l^2 - (1-rho) l + rho a (sum) and l^2 - (1-rho) l - rho gamma (differences)."""
    a = sympy.Symbol("a", positive=True)

    def jury(p: Any) -> list[Any]:
        c1, c0 = sympy.Poly(p, L).all_coeffs()[1:]
        return [sympy.expand(1 - c0), sympy.expand(1 + c1 + c0), sympy.expand(1 - c1 + c0)]

    assert jury(L**2 - (1 - RHO) * L + RHO * a) == [1 - a * RHO, a * RHO + RHO, a * RHO - RHO + 2]
    assert jury(L**2 - (1 - RHO) * L - RHO * G) == [1 + G * RHO, -G * RHO + RHO, -G * RHO - RHO + 2]
    # rho < 1/a; rho < 2/(1+gamma), which implies rho (1-a) < 2 as a >= 0.
    # The linearised map has these two characteristic polynomials:
    n = 4
    problem = LotkaVolterraStale(flows=n).map()
    K = sympy.Symbol("capacity", positive=True)
    N, old = ([sympy.Symbol(f"N{s}[{i}]", positive=True) for i in range(1, n + 1)] for s in ("", "_d"))
    at = dict.fromkeys([*N, *old], K / (1 + (n - 1) * G))
    rhs = sympy.Matrix([problem.rhs[x.name] for x in N])
    own, past = (rhs.jacobian(v).subs(at).applyfunc(sympy.simplify) for v in (N, old))
    rho = EPS / (1 + (n - 1) * G)
    one, difference = sympy.ones(n, 1), sympy.Matrix([1, -1, 0, 0])
    for vector, delayed in ((one, -rho * (n - 1) * G), (difference, rho * G)):
        assert (own * vector - (1 - rho) * vector).applyfunc(sympy.simplify) == sympy.zeros(n, 1)
        assert (past * vector - delayed * vector).applyfunc(sympy.simplify) == sympy.zeros(n, 1)


def test_gains_that_stale_measurements_bear() -> None:
    """Two flows bear 2, not the 2.11 of the sum alone: the difference flips first. From three on 1.95 is too much."""
    found = LotkaVolterraStale(flows=[1, 2, 3, 5, 10]).critical_gain()
    assert found.values == pytest.approx([2, 2, 1.5556, 1.2778, 1.1235], abs=5e-5)
    assert radius(LotkaVolterraStale(flows=2, epsilon=2.05)) > 1
    assert radius(LotkaVolterraStale(flows=2, epsilon=1.95)) < 1 < radius(LotkaVolterraStale(flows=3, epsilon=1.95))
    assert LotkaVolterraMap(lag=1).critical_gain() == pytest.approx(1)  # all terms old: every n


def test_two_cycle_of_two_flows_with_stale_measurements() -> None:
    """At epsilon = 2.05 the flows take turns: the unfairness grows from a millionth to something visible."""
    system = compile_system(LotkaVolterraStale(flows=2, epsilon=2.05).map())
    N = np.array([[100 / 1.9 + 1e-4], [100 / 1.9 - 1e-4]])
    old = N.copy()
    for _ in range(1000):
        N, old = system.slope(N, delayed=old), N
    assert abs(N[0] - N[1]) > 10 and abs(N.sum() - 200 / 1.9) < 10


# ---------------------------------------------------------------- held measurements


@settings(max_examples=25)
@given(gains, weights, st.integers(1, 5), st.floats(0.2, 4.0))
def test_held_map_and_its_multipliers(eps: float, g: float, n: int, h: float) -> None:
    model = LotkaVolterraHeld(flows=n, epsilon=eps, gamma=g, period=h)
    found = np.sort(multipliers(model.map(), np.full(n, 100.0 / model.crowding())).real)
    expected = np.sort([model.sum_multiplier(), *[model.difference_multiplier()] * (n - 1)])
    assert found == pytest.approx(expected, abs=1e-12)
    assert n == 1 or 0 < model.difference_multiplier() < 1
    margin = model.stability_margin()
    assert margin == pytest.approx(1 + model.sum_multiplier(), abs=1e-12)
    critical = model.critical_gain()
    assert (eps < critical) == (margin > 0) or abs(eps - critical) < 1e-9
    if math.isfinite(critical):
        edge = LotkaVolterraHeld(flows=n, epsilon=critical, gamma=g, period=h)
        assert edge.stability_margin() == pytest.approx(0, abs=1e-12)


def test_held_multipliers_in_symbols() -> None:
    """Of w' = k w/(w + (k-w) e^(-eps k/K)), k = K - gamma C, where w = k = K/M: e^(-rho) and 1 - e^(-rho) dk."""
    w, k, K = sympy.symbols("w k K", positive=True)
    step = k * w / (w + (k - w) * sympy.exp(-EPS * k / K))
    kept = sympy.exp(-EPS * k / K)
    assert sympy.simplify(sympy.diff(step, w).subs(w, k) - kept) == 0
    assert sympy.simplify(sympy.diff(step, k).subs(w, k) - (1 - kept)) == 0
    # dk = -gamma times the others' deviations: -(n-1) gamma of a common one, +gamma of a difference.


def test_held_gains() -> None:
    found = LotkaVolterraHeld(flows=[2, 3, 5, 10, 100000]).critical_gain()
    assert found.values == pytest.approx([math.inf, 3.508, 2.625, 2.258, 2.0], abs=5e-4)
    assert LotkaVolterraHeld(flows=10, period=2.0).critical_gain() == pytest.approx(2.258 / 2, abs=5e-4)


@given(st.lists(st.floats(5.0, 100.0), min_size=2, max_size=4), st.floats(0.05, 3.0), weights, st.floats(0.5, 3.0))
@settings(max_examples=25)
def test_held_map_against_integration(Ks: Any, eps: float, g: float, h: float) -> None:
    """Each ACK adds epsilon (1 - (w + gamma C)/K); C, measured at the beginning of the period, does not change."""
    model = LotkaVolterraHeld(flows=len(Ks), epsilon=eps, gamma=g, period=h, capacity=per_flow(Ks))
    N = np.array(Ks) * np.linspace(0.2, 1.5, len(Ks))
    after = compile_system(model.map()).slope(N[:, None])[:, 0]
    others = N.sum() - N
    done = solve_ivp(
        lambda t, w: eps * (1 - (w + g * others) / np.array(Ks)) * w, (0, h), N, method="DOP853", rtol=1e-11, atol=1e-13
    )
    assert after == pytest.approx(done.y[:, -1], rel=1e-8, abs=1e-10)


# ---------------------------------------------------------------- all of them


@pytest.mark.parametrize("kind", [LotkaVolterraMap, LotkaVolterraStale, LotkaVolterraHeld])
def test_fixed_points_of_maps(kind: Any) -> None:
    for capacity in (100.0, per_flow([100.0, 60.0, 95.0])):
        problem = kind(flows=3, gamma=0.9, capacity=capacity).map()
        assert len(problem.fixed_points) == 3 and problem.time_units == "step"
        for point in problem.fixed_points:
            at = {"gamma": 0.9, "capacity": 100.0, "capacity[1]": 100.0, "capacity[2]": 60.0, "capacity[3]": 95.0}
            state = [sympy.sympify(e) for e in point.values()]
            N = np.array([[float(e.subs({s: at[s.name] for s in e.free_symbols}))] for e in state])
            assert compile_system(problem).slope(N) == pytest.approx(N, abs=1e-12)


def test_refusals() -> None:
    unequal = per_flow([1.0, 2.0])
    for kind in (LotkaVolterraCrossDelayed, LotkaVolterraStale, LotkaVolterraHeld):
        with pytest.raises(DynamicsError, match="has a closed form for flows alike only"):
            kind(capacity=unequal).stability_margin()
    with pytest.raises(DomainError, match=r"lag must be a whole number in \[0, inf\), got 0.5"):
        LotkaVolterraMap(lag=0.5)
    with pytest.raises(DomainError, match="lag must be one whole number here"):
        LotkaVolterraMap(lag=[0, 1]).map()
    with pytest.raises(DomainError, match=r"delay must lie in \[0, inf\)"):
        LotkaVolterraDelayed(delay=-1.0)
    assert LotkaVolterraMap(lag=[0, 1, 2]).critical_gain().sizes == {"lag": 3}


@pytest.mark.parametrize("cls", [LotkaVolterraCrossDelayed, LotkaVolterraStale])
@pytest.mark.parametrize("flows", [1, 2, 5])
def test_margins_of_symbols_are_those_of_numbers(cls: type[Any], flows: int) -> None:
    point = {"epsilon": 1.3, "gamma": 0.7} | ({"delay": 0.9} if cls is LotkaVolterraCrossDelayed else {})
    symbols = {k: sympy.Symbol(k, positive=True) for k in point}
    margin = cls(flows=flows, **symbols).stability_margin()
    value = float(margin.subs({symbols[k]: x for k, x in point.items()}))
    assert value == pytest.approx(cls(flows=flows, **point).stability_margin(), rel=1e-13)
