"""The three readings of the available bandwidth: equations, equilibria, who dies out, refusals."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import sympy
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from tcpdynamics.models import (
    LotkaVolterraErrors,
    LotkaVolterraLink,
    LotkaVolterraQueue,
    LotkaVolterraThroughput,
    LotkaVolterraWindows,
    per_flow,
)
from tcpdynamics.models.lotka_volterra.survivors import queueing_delay, survivors
from tcpdynamics.solvers import eigenvalues
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.problems import DomainError, DynamicsError
from tcpdynamics.solvers.programs.from_sympy import emit
from tcpdynamics.solvers.programs.straightline import Builder

READINGS = [LotkaVolterraWindows, LotkaVolterraLink, LotkaVolterraThroughput]
weights = st.floats(0.0, 0.99)
capacities = st.lists(st.floats(1.0, 100.0), min_size=1, max_size=6)


def symbols(*names: str) -> Any:
    return sympy.symbols(names, positive=True)


def resting_states(problem: Any) -> list[np.ndarray[Any, Any]]:
    """(states, points) of each closed-form fixed point."""
    system, found = compile_system(problem), []
    for point in problem.fixed_points:
        builder = Builder()
        program = builder.build([emit(builder, sympy.sympify(point[label])) for label in system.labels])
        found.append(system.evaluate(program, {}))
    return found


# ---------------------------------------------------------------- equations


def test_windows_reading_is_the_papers_equation() -> None:
    """Eq. (6) for three flows, eq. (1) and (2) with two capacities."""
    eps, g, K, N1, N2, N3 = symbols("epsilon", "gamma", "capacity", "N[1]", "N[2]", "N[3]")
    rhs = LotkaVolterraWindows(flows=3).ode().rhs["N[2]"]
    assert sympy.simplify(rhs - eps * (1 - (N2 + g * (N1 + N3)) / K) * N2) == 0
    K1, K2, b1, b2 = symbols("capacity[1]", "capacity[2]", "base_rtt[1]", "base_rtt[2]")
    two = LotkaVolterraWindows(flows=2, capacity=per_flow([10.0, 15.0]), base_rtt=per_flow([0.1, 0.2])).ode()
    assert sympy.simplify(two.rhs["N[1]"] - eps / b1 * (1 - (N1 + g * N2) / K1) * N1) == 0
    assert sympy.simplify(two.rhs["N[2]"] - eps / b2 * (1 - (N2 + g * N1) / K2) * N2) == 0
    assert two.time_units == "s" and sympy.simplify(two.outputs["w[2]"] - N2 * b2) == 0


def free_bandwidth(kind: Any, N: Any, K: Any, link: float, i: int) -> float:
    """A_i, from the text."""
    others = [j for j in range(len(N)) if j != i]
    if kind is LotkaVolterraWindows:
        return float(K[i] - sum(N[j] for j in others))
    if kind is LotkaVolterraLink:
        return float(min(K[i], link - sum(N[j] for j in others)))
    through = N * link / N.sum() if N.sum() > link else N
    return float(min(K[i], link - sum(through[j] for j in others)))


@pytest.mark.parametrize("kind", READINGS)
@given(capacities, weights, st.floats(1.0, 200.0), st.randoms(use_true_random=False))
def test_equations_follow_from_the_available_bandwidth(kind: Any, K: Any, g: float, link: float, random: Any) -> None:
    """Eq. (7) with each reading of A_i, at random states."""
    more = {} if kind is LotkaVolterraWindows else {"link": link}
    model = kind(flows=len(K), gamma=g, capacity=per_flow(K), epsilon=1.3, **more)
    N = np.array([random.uniform(0.1, 100.0) for _ in K])
    expected = [
        1.3 * (1 - (N[i] + g * (K[i] - free_bandwidth(kind, N, K, link, i))) / K[i]) * N[i] for i in range(len(K))
    ]
    scale = 1e-13 * 1.3 * N.max() * (N.sum() + link + max(K)) / min(K)
    assert compile_system(model.ode()).slope(N[:, None])[:, 0] == pytest.approx(expected, abs=scale)


# ---------------------------------------------------------------- equilibria


def test_flows_alike_in_symbols() -> None:
    """N* = K/M, sum n K/M, which tends to K/gamma."""
    g, K = symbols("gamma", "capacity")
    problem = LotkaVolterraWindows(flows=4).ode()
    at = {sympy.Symbol(k, positive=True): v for k, v in problem.fixed_points[0].items()}
    assert all(sympy.simplify(e.subs(at)) == 0 for e in problem.rhs.values())
    assert all(sympy.simplify(v - K / (1 + 3 * g)) == 0 for v in at.values())
    n = sympy.Symbol("n", positive=True)
    model = LotkaVolterraWindows(flows=n, gamma=g, capacity=K)
    assert sympy.limit(n * K / model.crowding(), n, sympy.oo) == K / g


def test_interior_point_in_symbols() -> None:
    """Unequal K: N_i = (K_i - gamma S)/(1-gamma), S = sum K/M, solves eq. (6); for two flows eq. (3) decides."""
    g, K1, K2, K3 = symbols("g", "K1", "K2", "K3")
    K = sympy.Matrix([K1, K2, K3])
    matrix = (1 - g) * sympy.eye(3) + g * sympy.ones(3)
    S = (K1 + K2 + K3) / (1 + 2 * g)
    assert sympy.simplify(matrix * (K - g * S * sympy.ones(3, 1)) / (1 - g) - K) == sympy.zeros(3, 1)
    first = (K1 - g * (K1 + K2) / (1 + g)) / (1 - g)
    assert sympy.simplify(first - (K1 - g * K2) / (1 - g**2)) == 0  # positive iff g < K1/K2


def test_link_reading_in_symbols() -> None:
    """R2: N_i = K_i - gamma (sum K - BW)/M, equal losses for all."""
    g, L, K1, K2, K3 = symbols("g", "L", "K1", "K2", "K3")
    K = [K1, K2, K3]
    N = [k - g * (sum(K) - L) / (1 + 2 * g) for k in K]
    for i in range(3):
        A = L - sum(N[j] for j in range(3) if j != i)
        assert sympy.simplify(N[i] + g * (K[i] - A) - K[i]) == 0


def test_throughput_reading_gives_equation_9() -> None:
    """R3: t_i = K_i BW/sum K, with N_i = K_i (1-gamma)/(1 - gamma BW/S) and S = (1-gamma) sum K + gamma BW."""
    g, L, K1, K2, K3 = symbols("g", "L", "K1", "K2", "K3")
    K = [K1, K2, K3]
    S = (1 - g) * sum(K) + g * L
    N = [k * (1 - g) / (1 - g * L / S) for k in K]
    assert sympy.simplify(sum(N) - S) == 0
    t = [x * L / S for x in N]
    for i in range(3):
        assert sympy.simplify(t[i] - K[i] * L / sum(K)) == 0
        A = L - sum(t[j] for j in range(3) if j != i)
        assert sympy.simplify(N[i] + g * (K[i] - A) - K[i]) == 0
        assert sympy.simplify(N[i] - (1 - g) * K[i] - g * t[i]) == 0


# BW, K_1, K_2, R1, R2, R3: gamma = 0.9, access links of 10 and 20 behind a link of BW
TABLE = """
5  5  5   2.632 2.632   2.632 2.632    2.5 2.5
12 10 12  0 12          5.263 7.263    5.4545 6.5455
15 10 15  0 15          5.263 10.263   6 9
18 10 18  0 18          5.263 13.263   6.4286 11.5714
20 10 20  0 20          5.263 15.263   6.6667 13.3333
25 10 20  0 20          7.632 17.632   8.3333 16.6667
30 10 20  0 20          10 20          10 20
"""


@pytest.mark.parametrize("row", [r.split() for r in TABLE.strip().split("\n")], ids=lambda r: "BW " + r[0])
def test_table_of_figure_8(row: list[str]) -> None:
    link, K1, K2, *expected = map(float, row)
    K = per_flow([K1, K2])
    found = [
        *LotkaVolterraWindows(capacity=K).equilibrium().N.values,
        *LotkaVolterraLink(capacity=K, link=link).equilibrium().N.values,
        *LotkaVolterraThroughput(capacity=K, link=link).equilibrium().throughput.values,
    ]
    assert found == pytest.approx(expected, abs=0.51e-3)
    assert found[4:] == pytest.approx(expected[4:], abs=0.51e-4)


def test_figure_8_as_one_sweep() -> None:
    """K_i = min(bw_i, BW) with BW swept: per-flow values with a sweep of their own."""
    link = np.array([5.0, 15.0, 30.0])
    BW = xr.DataArray(link, {"link": link}, ("link",))
    model = LotkaVolterraThroughput(capacity=per_flow([np.minimum(10.0, BW), np.minimum(20.0, BW)]), link=link)
    found = model.equilibrium()
    assert found.throughput.dims == ("flow", "link") and found.throughput.attrs["units"] == "packet/s"
    assert found.throughput.sel(flow=1).values == pytest.approx([2.5, 6.0, 10.0])
    system = compile_system(model.ode())
    assert system.grid.dims == ("link",) and "flow" not in system.grid.coords
    assert resting_states(model.ode())[0] == pytest.approx(found.N.values, rel=1e-12)


# ---------------------------------------------------------------- who survives


def complementary(R: Any, g: float) -> list[np.ndarray[Any, Any]]:
    """All N >= 0 with N_i = 0 or no room left, and no room for those at 0: brute force over who is alive."""
    R, n, found = np.asarray(R), len(R), []
    matrix = (1 - g) * np.eye(n) + g
    for m in range(n + 1):
        for alive in itertools.combinations(range(n), m):
            N, at = np.zeros(n), list(alive)
            N[at] = np.linalg.solve(matrix[np.ix_(at, at)], R[at])
            room = R - matrix @ N
            if (N[at] > 1e-12 * max(R)).all() and (np.delete(room, at) <= 1e-12 * max(R)).all():
                found.append(N)
    return found


@given(capacities, weights)
def test_survivors_against_all_subsets(K: list[float], g: float) -> None:
    found = survivors(np.array(K), np.array(g))
    exact = complementary(K, g)
    # A flow on the edge of survival counts as alive or dead by rounding: both are then the same point.
    assert exact and all(found == pytest.approx(N, abs=1e-10 * max(K) / (1 - g)) for N in exact)


@given(st.lists(st.floats(1.0, 100.0), min_size=2, max_size=4), weights)
def test_total_is_the_largest_over_all_subsets(K: list[float], g: float) -> None:
    """S = max over sets A of sum_A K/(1 + (|A|-1) gamma): why the rule is a formula, without a search."""
    bounds = [sum(A) / (1 + (m - 1) * g) for m in range(1, len(K) + 1) for A in itertools.combinations(K, m)]
    assert survivors(np.array(K), np.array(g)).sum() == pytest.approx(max(bounds), rel=1e-10)


@pytest.mark.parametrize("kind", READINGS)
@given(capacities, weights, st.floats(1.0, 400.0))
def test_equilibria_are_at_rest_and_cannot_be_invaded(kind: Any, K: Any, g: float, link: float) -> None:
    more = {} if kind is LotkaVolterraWindows else {"link": link}
    model = kind(flows=len(K), gamma=g, capacity=per_flow(K), **more)
    problem, N = model.ode(), model.equilibrium().N.values[:, None]
    size = 1e-12 * 1.95 * (max(K) + link) * max(K) / min(K) / (1 - g)
    system = compile_system(problem)
    assert system.slope(N) == pytest.approx(0, abs=size * len(K))
    for point in resting_states(problem):
        assert system.slope(point) == pytest.approx(0, abs=size * len(K))
    assert resting_states(problem)[0] == pytest.approx(N, abs=size * len(K))
    tiny = np.where(N > 0, N, 1e-9 * min(K))  # a flow that died out does not grow back
    assert (system.slope(tiny)[N == 0] <= 1e-20 + 1e-9 * min(K) * size).all()


def test_orders_that_change_within_a_sweep() -> None:
    """The survivors' formula then compares all sets of flows."""
    other = xr.DataArray(np.linspace(5, 20, 7), dims="other", name="other")
    other = other.assign_coords(other=other.values)
    model = LotkaVolterraWindows(flows=3, gamma=0.6, capacity=per_flow([10.0, other, 12.0]))
    expected = model.equilibrium().N.values
    assert resting_states(model.ode())[0] == pytest.approx(expected, abs=1e-12)
    many = LotkaVolterraWindows(flows=7, gamma=0.6, capacity=per_flow([10.0, other, 12.0, 9.0, 8.0, 7.0, 6.0]))
    assert len(many.ode().fixed_points) == 2  # too many sets: flow 1 alone and extinction are left


@pytest.mark.parametrize(
    "model",
    [
        LotkaVolterraWindows(flows=3, gamma=0.8, capacity=per_flow([10.0, 15.0, 14.0])),
        LotkaVolterraWindows(flows=2, gamma=0.7, capacity=per_flow([10.0, 12.0]), base_rtt=per_flow([0.5, 2.0])),
        LotkaVolterraLink(flows=3, capacity=per_flow([2.0, 15.0, 14.0]), link=18.0),
        LotkaVolterraLink(flows=2, capacity=per_flow([4.0, 5.0]), link=18.0),
        LotkaVolterraThroughput(flows=3, capacity=per_flow([2.0, 15.0, 14.0]), link=18.0),
        LotkaVolterraThroughput(flows=2, capacity=per_flow([4.0, 5.0]), link=18.0),
        LotkaVolterraErrors(flows=3, capacity=10.0, available_error=per_flow([-1.0, 0.0, 0.3]), capacity_error=0.05),
        LotkaVolterraQueue(flows=3, capacity=per_flow([6.0, 15.0, 9.0]), link=18.0, base_rtt=per_flow([0.3, 1, 2])),
    ],
    ids=lambda m: type(m).__name__,
)
def test_trajectories_end_where_the_formula_says(model: Any) -> None:
    system = compile_system(model.ode())
    start = system.start_values()[:, 0]
    done = solve_ivp(
        lambda t, y: system.slope(y[:, None])[:, 0], (0, 2000), start, method="LSODA", rtol=1e-10, atol=1e-12
    )
    found = model.equilibrium()
    assert done.y[: model.flows, -1] == pytest.approx(found.N.values, rel=1e-7, abs=1e-7)
    if "q" in system.labels:
        assert done.y[-1, -1] == pytest.approx(float(found.queue), rel=1e-7)


# ---------------------------------------------------------------- unequal round-trip times


@given(
    st.lists(st.tuples(st.floats(1, 100), st.floats(0.01, 1)), min_size=1, max_size=6), weights, st.floats(1.0, 300.0)
)
def test_common_queueing_delay(paths: Any, g: float, link: float) -> None:
    """R3: N_i = (1-gamma) K_i + gamma t_i, t_i = N_i b_i/(b_i + D), sum t = BW where the link is full."""
    K, b = (np.array(x) for x in zip(*paths, strict=True))
    model = LotkaVolterraThroughput(flows=len(K), gamma=g, capacity=per_flow(K), base_rtt=per_flow(b), link=link)
    found = model.equilibrium()
    N, t, D = found.N.values, found.throughput.values, float(found.queueing_delay)
    assert t == pytest.approx(N * b / (b + D), rel=1e-12)
    assert N == pytest.approx((1 - g) * K + g * t, rel=1e-9)
    assert t == pytest.approx((1 - g) * K * b / (D + (1 - g) * b), rel=1e-9)
    assert t.sum() == pytest.approx(min(link, K.sum()), rel=1e-9)
    if K.sum() > link:  # long paths are favoured
        order = np.argsort(b)
        assert (np.diff((t / K)[order]) >= -1e-12).all()


def test_queueing_delay_of_two_flows_in_closed_form() -> None:
    """Two flows with K_i = BW: D = (1-gamma) sqrt(b_1 b_2)."""
    model = LotkaVolterraQueue(capacity=100.0, gamma=0.9, base_rtt=per_flow([0.05, 0.1]))
    found = model.equilibrium()
    assert float(found.queueing_delay) == pytest.approx(0.1 * np.sqrt(0.005), rel=1e-14)
    assert found.queueing_delay.attrs["units"] == "s"
    delay = queueing_delay(np.array([[1e9, 1.0], [0.1, 0.2]]), np.array([1e-3, 1e3]), np.array([1.0, 1.0]))
    assert (1e6 / (1e-3 + delay[0]) + 1e3 / (1e3 + delay[0])) == pytest.approx(1.0) and delay[1] == 0


def test_queue_as_a_state_agrees_with_the_fixed_points() -> None:
    model = LotkaVolterraQueue(flows=3, capacity=per_flow([10.0, 20.0, 30.0]), base_rtt=0.2, link=[25.0, 45.0, 70.0])
    problem, found = model.ode(), model.equilibrium()
    first = resting_states(problem)[0]
    assert first[:3] == pytest.approx(found.N.values) and first[3] == pytest.approx(found.queue.values, abs=1e-12)
    for point in resting_states(problem):
        assert compile_system(problem).slope(point) == pytest.approx(0, abs=1e-12)
    assert LotkaVolterraQueue(flows=2, base_rtt=per_flow([0.1, 0.2])).ode().fixed_points == []


def test_linearisation_where_the_formula_says() -> None:
    """The solvers take an equilibrium as it is; the queue's roots then decay, with unequal paths too."""
    model = LotkaVolterraQueue(
        flows=3, gamma=[0.5, 0.9], base_rtt=per_flow([0.05, 0.1, 0.3]), capacity=80.0, link=100.0
    )
    found = eigenvalues(model, at=model.equilibrium())
    assert found.eigenvalue.sizes == {"gamma": 2, "root": 4} and (found.eigenvalue.real < 0).all()
    windows = LotkaVolterraWindows(flows=3, gamma=[0.5, 0.9], capacity=per_flow([80.0, 90.0, 100.0]))
    ours, theirs = windows.spectrum(), eigenvalues(windows).eigenvalue
    assert np.sort(theirs.real.values) == pytest.approx(np.sort(ours.values), abs=1e-12)


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize("kind", READINGS)
def test_gamma_of_one_is_refused(kind: Any) -> None:
    for gamma in (1.0, [0.5, 1.5]):
        with pytest.raises(DomainError, match=r"gamma must lie in \[0, 1\), got 1(\.5)?: from 1 on, flows of equal"):
            kind(gamma=gamma)


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: LotkaVolterraWindows(gamma=-0.1), r"gamma must lie in \[0, 1\)"),
        (lambda: LotkaVolterraWindows(gamma="high"), "gamma must be a number"),
        (lambda: LotkaVolterraWindows(flows=2.5), "flows must be a whole number"),
        (lambda: LotkaVolterraWindows(flows=0), "flows must be a whole number in"),
        (lambda: LotkaVolterraWindows(flows=3, capacity=per_flow([1.0, 2.0])), "capacity must hold one value for each"),
        (lambda: LotkaVolterraWindows(flows=[2, 3]).ode(), "flows must be one whole number here, got 2 values"),
        (lambda: LotkaVolterraLink(capacity=per_flow([1.0, 2.0])), "link must be given where the capacities differ"),
        (lambda: LotkaVolterraLink(link=per_flow([1.0, 2.0])), "link must be one number or a sweep"),
        (lambda: LotkaVolterraErrors(capacity=per_flow([1.0, 2.0])), "capacity must be the same for all flows"),
        (lambda: LotkaVolterraQueue(), "base_rtt must be given"),
        (lambda: LotkaVolterraWindows().lossless(-1.0), "buffer must be a finite number >= 0"),
        (lambda: per_flow([]), "give one value for each flow"),
    ],
)
def test_refusals(make: Any, says: str) -> None:
    with pytest.raises(DomainError, match=says):
        make()


def test_formulas_that_do_not_exist_say_so() -> None:
    unequal = LotkaVolterraWindows(capacity=per_flow([10.0, 15.0]))
    with pytest.raises(DynamicsError, match="has a closed form for flows alike only, and capacity differs"):
        unequal.fairness_time()
    far = LotkaVolterraThroughput(base_rtt=per_flow([0.1, 0.2]))
    for call in (far.ode, far.spectrum):
        with pytest.raises(DynamicsError, match="use LotkaVolterraQueue"):
            call()


def test_start() -> None:
    """By default every flow starts at a rate of its own; a list of starts is a sweep, `per_flow` is one each."""
    assert compile_system(LotkaVolterraWindows(flows=2).ode()).start_values()[:, 0] == pytest.approx([0.5, 1.0])
    swept = compile_system(LotkaVolterraWindows(flows=2, start=[1.0, 2.0]).ode())
    assert swept.grid.dims == ("start",) and swept.start_values().tolist() == [[1.0, 2.0], [1.0, 2.0]]
    each = compile_system(LotkaVolterraWindows(flows=2, start=per_flow([1.0, 2.0])).ode())
    assert each.start_values()[:, 0].tolist() == [1.0, 2.0] and each.size == 1
