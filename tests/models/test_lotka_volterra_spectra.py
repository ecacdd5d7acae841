"""Spectra of the readings, and the buffer that the windows need."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pint
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics.models import (
    LotkaVolterraErrors,
    LotkaVolterraLink,
    LotkaVolterraThroughput,
    LotkaVolterraWindows,
    per_flow,
)
from tcpdynamics.solvers.equations import compile_system

READINGS = [LotkaVolterraWindows, LotkaVolterraLink, LotkaVolterraThroughput]
gains, weights = st.floats(0.05, 3.0), st.floats(0.0, 0.98)
EPS, G, K, BW, N_FLOWS = sympy.symbols("epsilon gamma capacity link n", positive=True)


def jacobian_at(model: Any, N: Any) -> np.ndarray[Any, Any]:
    return compile_system(model.ode()).jacobians(np.asarray(N, dtype=float)[:, None])[0][0]


# ---------------------------------------------------------------- in symbols


@pytest.mark.parametrize("n", [2, 4])
def test_flows_alike(n: int) -> None:
    """R1: the Jacobian at K/M times 1 is the aggregate eigenvalue, times (1, -1, 0, ...) the fairness eigenvalue."""
    problem = LotkaVolterraWindows(flows=n).ode()
    N = [sympy.Symbol(label, positive=True) for label in problem.labels]
    J = sympy.Matrix(list(problem.rhs.values())).jacobian(N).subs({s: problem.fixed_points[0][s.name] for s in N})
    model = LotkaVolterraWindows(flows=n, epsilon=EPS, gamma=G, capacity=K)
    one, difference = sympy.ones(n, 1), sympy.Matrix([1, -1, *[0] * (n - 2)])
    assert (J * one - model.aggregate_eigenvalue() * one).applyfunc(sympy.simplify) == sympy.zeros(n, 1)
    assert (J * difference - model.fairness_eigenvalue() * difference).applyfunc(sympy.simplify) == sympy.zeros(n, 1)
    assert sympy.simplify(model.fairness_time() - (1 + (n - 1) * G) / (EPS * (1 - G))) == 0


def test_throughput_reading() -> None:
    """R3, unequal K: N is the eigenvector of the sum, everything orthogonal to 1 decays with epsilon (1-gamma)."""
    Ks = sympy.symbols("K1 K2 K3", positive=True)
    N = sympy.symbols("N1 N2 N3", positive=True)
    total = sum(N)
    f = [EPS * N[i] * (1 - (N[i] + G * (Ks[i] - BW * N[i] / total)) / Ks[i]) for i in range(3)]
    S = (1 - G) * sum(Ks) + G * BW
    at = {N[i]: Ks[i] * (1 - G) / (1 - G * BW / S) for i in range(3)}
    J = sympy.Matrix(f).jacobian(N).subs(at).applyfunc(sympy.simplify)
    model = LotkaVolterraThroughput(flows=1, epsilon=EPS, gamma=G, capacity=sum(Ks), link=BW)
    slow, fast = (
        -EPS * (1 - G),
        sympy.simplify(model.aggregate_eigenvalue().replace(sympy.Max, lambda *a: a[-1] if a[0] == 0 else a[0])),
    )
    assert model.fairness_eigenvalue() == slow
    state = sympy.Matrix([at[x] for x in N])
    assert (J * state - fast * state).applyfunc(sympy.simplify) == sympy.zeros(3, 1)
    for difference in ([1, -1, 0], [0, 1, -1]):
        v = sympy.Matrix(difference)
        assert (J * v - slow * v).applyfunc(sympy.simplify) == sympy.zeros(3, 1)


def test_unequal_capacities_keep_the_aggregate_eigenvalue() -> None:
    """R1, any K_i: J N = -epsilon N. With gamma > 0 it is the largest in magnitude, by Perron and Frobenius."""
    N = sympy.symbols("N1 N2 N3", positive=True)
    matrix = (1 - G) * sympy.eye(3) + G * sympy.ones(3)
    Ks = matrix * sympy.Matrix(N)  # the capacities whose interior point is N
    J = -EPS * sympy.diag(*(N[i] / Ks[i] for i in range(3))) * matrix
    assert (J * sympy.Matrix(N) + EPS * sympy.Matrix(N)).applyfunc(sympy.simplify) == sympy.zeros(3, 1)


def test_lyapunov_function() -> None:
    """V = sum (K_i/epsilon)(N_i - N_i* ln N_i) falls: dV/dt = -(N - N*)'((1-gamma) I + gamma 11')(N - N*)."""
    N, at = (sympy.Matrix(sympy.symbols("N1:4", positive=True)), sympy.Matrix(sympy.symbols("s1:4", positive=True)))
    matrix = (1 - G) * sympy.eye(3) + G * sympy.ones(3)
    Ks = matrix * at
    slope = sympy.Matrix([EPS * N[i] * (1 - (matrix * N)[i] / Ks[i]) for i in range(3)])
    V = sum(Ks[i] / EPS * (N[i] - at[i] * sympy.log(N[i])) for i in range(3))
    change = sum(sympy.diff(V, N[i]) * slope[i] for i in range(3))
    assert sympy.simplify(change + ((N - at).T * matrix * (N - at))[0]) == 0


# ---------------------------------------------------------------- against the Jacobian of the equations


@pytest.mark.parametrize("kind", READINGS)
@given(st.lists(st.floats(5.0, 100.0), min_size=1, max_size=6), gains, weights, st.floats(4.0, 400.0), st.booleans())
def test_spectrum_against_the_jacobian(kind: Any, Ks: Any, eps: float, g: float, link: float, equal: bool) -> None:
    capacity = Ks[0] if equal else per_flow(Ks)
    more = {} if kind is LotkaVolterraWindows else {"link": link}
    model = kind(flows=len(Ks), epsilon=eps, gamma=g, capacity=capacity, **more)
    load = sum(Ks) if not equal else len(Ks) * Ks[0]
    if abs(load - link) < 1e-6 * link:
        return  # on the kink there are two Jacobians
    found = model.equilibrium()
    if ((found.N.values > 0) & (found.N.values < 1e-6)).any():
        return  # on the edge of survival
    expected = np.sort(np.linalg.eigvals(jacobian_at(model, found.N.values)).real)[::-1]
    spectrum = model.spectrum()
    assert spectrum.dims == ("root",) and spectrum.attrs["units"] == "1/RTT"
    # The Jacobian is similar to a symmetric one by sqrt(N): its eigenvalues lose the ratio of its entries.
    assert spectrum.values == pytest.approx(expected, abs=1e-11 * eps * max(Ks) / min(Ks) / (1 - g))
    assert (spectrum.values <= 1e-12 * eps).all()
    if equal:
        ends = [model.fairness_eigenvalue(), model.aggregate_eigenvalue()]
        rest = [ends[0]] * (len(Ks) - 1) + [ends[1]]
        assert spectrum.values == pytest.approx(rest, abs=1e-12 * eps)


@given(st.lists(st.tuples(st.floats(5, 9), st.floats(0.05, 1.0)), min_size=2, max_size=5), weights)
@settings(max_examples=25)
def test_spectrum_with_unequal_round_trip_times(paths: Any, g: float) -> None:
    Ks, b = zip(*paths, strict=True)
    for kind, more in ((LotkaVolterraWindows, {}), (LotkaVolterraLink, {"link": 12.0})):
        model = kind(flows=len(b), gamma=g, capacity=per_flow(Ks), base_rtt=per_flow(b), **more)
        N = model.equilibrium().N.values
        if ((N > 0) & (N < 1e-6)).any() or abs(sum(Ks) - 12.0) < 1e-6:
            continue
        expected = np.sort(np.linalg.eigvals(jacobian_at(model, N)).real)[::-1]
        assert model.spectrum().values == pytest.approx(expected, abs=1e-10 * 1.95 / min(b) / (1 - g))
        assert model.spectrum().attrs["units"] == "1/s"


@given(st.lists(st.floats(5.0, 100.0), min_size=2, max_size=5), weights)
def test_margin_tells_whether_all_survive(Ks: Any, g: float) -> None:
    model = LotkaVolterraWindows(flows=len(Ks), gamma=g, capacity=per_flow(Ks))
    margin = model.coexistence_margin()
    if abs(margin) > 1e-9:
        assert bool(model.equilibrium().survives.all()) == (margin > 0)
    assert LotkaVolterraWindows(flows=len(Ks), gamma=g).coexistence_margin() > 0
    # whoever survives, the point where the flows settle is stable
    N = model.equilibrium().N.values
    assert model.stability_margin() == pytest.approx(-np.linalg.eigvals(jacobian_at(model, N)).real.max(), abs=1e-9)
    assert model.stability_margin() > -1e-12


def test_sweeps() -> None:
    model = LotkaVolterraWindows(
        flows=3, gamma=[0.1, 0.5, 0.9], epsilon=[1.0, 1.95], capacity=per_flow([90.0, 95.0, 100.0])
    )
    assert model.spectrum().sizes == {"epsilon": 2, "gamma": 3, "root": 3}
    assert model.equilibrium().N.dims == ("flow", "gamma")
    for i, g in enumerate([0.1, 0.5, 0.9]):
        one = LotkaVolterraWindows(flows=3, gamma=g, capacity=per_flow([90.0, 95.0, 100.0]))
        assert model.equilibrium().N[:, i].values == pytest.approx(one.equilibrium().N.values)
        assert model.spectrum().sel(epsilon=1.95, gamma=g).values == pytest.approx(one.spectrum().values)
    throughput = LotkaVolterraThroughput(flows=3, gamma=[0.1, 0.5], capacity=per_flow([1.0, 2.0, 3.0]), link=[4.0, 8.0])
    assert throughput.spectrum().sel(gamma=0.5, link=8.0).values == pytest.approx([-1.95] * 3)
    link = LotkaVolterraLink(flows=2, gamma=[0.1, 0.5], capacity=per_flow([2.0, 3.0]), link=[4.0, 8.0])
    assert link.spectrum().sel(gamma=0.5, link=8.0).values == pytest.approx([-1.95] * 2)


# ---------------------------------------------------------------- numbers


def test_fairness_takes_longer_with_every_flow_or_does_not() -> None:
    """R1 against R3 at the paper's gains: 23.6 round trips for 5 flows, 462 for 100; 5.1 for any number."""
    windows = LotkaVolterraWindows(flows=[5, 100]).fairness_time()
    assert windows.values == pytest.approx([23.59, 462.05], abs=0.005)
    through = LotkaVolterraThroughput(flows=[5, 100]).fairness_time()
    assert np.broadcast_to(through, 2) == pytest.approx(1 / 0.195)


# ---------------------------------------------------------------- buffers


def test_buffer_in_symbols() -> None:
    """R1: sum of windows less the BDP is BDP (n-1)(1-gamma)/M, and tends to BDP (1-gamma)/gamma."""
    b = sympy.Symbol("base_rtt", positive=True)
    model = LotkaVolterraWindows(flows=N_FLOWS, gamma=G, capacity=K, base_rtt=b)
    M = 1 + (N_FLOWS - 1) * G
    windows = N_FLOWS * K / M * b
    queue = model.required_buffer().replace(sympy.Max, lambda *a: next(x for x in a if x != 0))
    assert sympy.simplify(windows - K * b - queue) == 0
    assert sympy.simplify(queue - K * b * (N_FLOWS - 1) * (1 - G) / M) == 0
    assert sympy.simplify(sympy.limit(queue, N_FLOWS, sympy.oo) - model.buffer_bound()) == 0


@pytest.mark.parametrize("kind", READINGS)
@given(st.integers(1, 30), weights, st.floats(1, 100), st.floats(0.2, 5.0), st.floats(0.01, 2.0))
def test_buffer_against_the_equilibrium(kind: Any, n: int, g: float, capacity: float, load: float, b: float) -> None:
    """The closed form is the queue that the windows leave on the link."""
    more = {} if kind is LotkaVolterraWindows else {"link": load * capacity}
    model = kind(flows=n, gamma=g, capacity=capacity, base_rtt=b, **more)
    found = model.equilibrium()
    assert model.required_buffer() == pytest.approx(float(found.queue), abs=1e-12 * n * capacity * b * max(1, load))
    buffer = model.required_buffer()
    if buffer > 1e-6 * capacity * b:
        flows = model.lossless_flows(buffer)
        # How well the number is determined: d(flows)/d(buffer) grows without bound as the bound is neared.
        assert math.isinf(flows) or kind(
            flows=max(1, int(flows * (1 - 1e-9))), gamma=g, capacity=capacity, base_rtt=b, **more
        ).lossless(buffer)
        assert model.lossless(buffer * (1 + 1e-9)) and not model.lossless(buffer * (1 - 1e-9))


def test_buffers_of_the_paper() -> None:
    """gamma = 0.9: 11.1 % of the BDP at most under R1; under R3 10 % a flow, so that 2 BDP are full with 21 flows."""
    windows, through = LotkaVolterraWindows(capacity=100.0), LotkaVolterraThroughput(capacity=100.0)
    assert windows.buffer_bound() == pytest.approx(11.111, abs=5e-4)
    assert math.isinf(windows.lossless_flows(11.2)) and windows.lossless_flows(8.7) == pytest.approx(5.017, abs=0.01)
    assert through.lossless_flows(200.0) == pytest.approx(21)
    counts = LotkaVolterraThroughput(flows=[1, 2, 21, 22], capacity=100.0, gamma=[0.5, 0.9])
    assert counts.required_buffer().sel(gamma=0.9).values == pytest.approx([0, 10, 200, 210])
    assert counts.lossless(200.0001).sel(gamma=0.9).values.tolist() == [True, True, True, False]
    assert math.isinf(LotkaVolterraWindows(gamma=0.0).buffer_bound())


def test_buffer_with_unequal_paths() -> None:
    """One link of 30, K = (10, 20, 30): the queue D BW that the windows leave, not the sum of windows less one BDP."""
    model = LotkaVolterraThroughput(
        flows=3, capacity=per_flow([10.0, 20.0, 30.0]), link=30.0, base_rtt=per_flow([0.1, 0.2, 0.4])
    )
    found = model.equilibrium()
    packets = float((found.throughput * found.queueing_delay).sum())
    assert model.required_buffer().item() == pytest.approx(packets)
    waiting = float((found.N * model.base_rtt).sum() - (found.throughput * model.base_rtt).sum())
    assert packets == pytest.approx(waiting)


@given(st.integers(1, 12), st.floats(0.05, 0.95), st.floats(-0.2, 0.2), st.floats(-3.0, 3.0))
def test_buffer_with_errors_alike(n: int, g: float, kappa: float, delta: float) -> None:
    model = LotkaVolterraErrors(flows=n, gamma=g, capacity_error=kappa, available_error=delta, base_rtt=0.1)
    assert model.required_buffer() == pytest.approx(float(model.equilibrium().queue), abs=1e-11)
    assert model.required_buffer() <= max(model.buffer_bound(), 0) + 1e-12
    if model.required_buffer() > 1e-6:
        assert model.lossless_flows(model.required_buffer()) == pytest.approx(n, rel=1e-6)


# ---------------------------------------------------------------- gamma near 1, in fractions

near_one = st.floats(1e-12, 1.0, exclude_max=True).map(lambda idle: 1 - idle) | st.integers(1, 12).map(
    lambda k: 1 - 10.0**-k
)
spreads = st.lists(st.integers(0, 4), min_size=2, max_size=5)


def exact_rates(capacity: list[Fraction], gamma: Fraction) -> list[Fraction]:
    ranked = sorted(capacity, reverse=True)
    total = max(sum(ranked[:m], Fraction()) / (1 + (m - 1) * gamma) for m in range(1, len(ranked) + 1))
    return [max(Fraction(), (K - gamma * total) / (1 - gamma)) for K in capacity]


def nearly_alike(gamma: float, steps: list[int]) -> list[float]:
    """Capacities so close that gamma leaves some of the flows alive."""
    return [100.0 * (1 + k * (1 - gamma) / 8) for k in steps]


@given(gamma=near_one, steps=spreads, alike=st.booleans())
@settings(max_examples=100, deadline=None)
def test_survivors_near_one(gamma: float, steps: list[int], alike: bool) -> None:
    K = [100.0] * len(steps) if alike else nearly_alike(gamma, steps)
    exact = [float(N) for N in exact_rates([Fraction(k) for k in K], Fraction(gamma))]
    model = LotkaVolterraWindows(flows=len(K), gamma=gamma, capacity=per_flow(K))
    assert model.equilibrium().N.values == pytest.approx(exact, rel=1e-13, abs=1e-13 * max(K))


@given(gamma=near_one, steps=spreads)
@settings(max_examples=60, deadline=None)
def test_spectrum_near_one(gamma: float, steps: list[int]) -> None:
    """Trace and determinant of the survivors' block, and the growth rates of the dead."""
    K = nearly_alike(gamma, steps)
    g, exact_K = Fraction(gamma), [Fraction(k) for k in K]
    rates = exact_rates(exact_K, g)
    alive = [N / k for N, k in zip(rates, exact_K, strict=True) if N > 0]
    dead = [(k - g * sum(rates)) / k for N, k in zip(rates, exact_K, strict=True) if N == 0]
    if any(abs(x) < Fraction(1, 10**4) for x in alive) or any(abs(x) < (1 - g) / 10**4 for x in dead):
        return  # about to die: which block it belongs to is left to rounding
    determinant = math.prod(alive) * (1 - g) ** (len(alive) - 1) * (1 + (len(alive) - 1) * g)
    model = LotkaVolterraWindows(flows=len(K), epsilon=1.0, gamma=gamma, capacity=per_flow(K))
    found = [Fraction(x) for x in model.spectrum().values.tolist()]
    assert all(x < 0 for x in found)
    assert float(sum(found, Fraction())) == pytest.approx(float(sum(dead) - sum(alive)), rel=1e-12)
    product = math.prod(found, start=Fraction(1)) * (-1) ** len(found)
    expected = determinant * math.prod((-x for x in dead), start=Fraction(1))
    assert float(product / expected) == pytest.approx(1.0, rel=1e-8)


@pytest.mark.parametrize("flows, gamma", [(1, 1 - 1e-16), (2, 1 - 1e-12), (3, 1 - 1e-12)])
def test_flows_alike_near_one(flows: int, gamma: float) -> None:
    model = LotkaVolterraWindows(flows=flows, gamma=gamma)
    assert model.equilibrium().N.values == pytest.approx(100.0 / flows, rel=1e-11)
    if flows > 1:
        assert model.spectrum().values[0] == pytest.approx(model.fairness_eigenvalue(), rel=1e-12)


@pytest.mark.parametrize("kind", [*READINGS, LotkaVolterraErrors])
def test_buffers_beside_quantities(kind: Any) -> None:
    units = pint.UnitRegistry()
    units.define("packet = [packet]")
    plain = kind(flows=3, gamma=0.5, capacity=100.0, base_rtt=0.2)
    model = kind(flows=3, gamma=0.5, capacity=100 * units("packet/s"), base_rtt=200 * units.ms)
    for size in (2.0, 100.0):
        for buffer in (size, size * units.packet):
            assert model.lossless(buffer) is plain.lossless(size)
            assert model.lossless_flows(buffer) == pytest.approx(plain.lossless_flows(size))
