"""Errors in the available bandwidth and in the capacity: how they are amplified, and when they kill a flow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics.models import LotkaVolterraErrors, LotkaVolterraWindows, per_flow
from tcpdynamics.solvers.equations import compile_system

weights = st.floats(0.05, 0.97)


def one(n: int, value: float) -> Any:
    return per_flow([value, *[0.0] * (n - 1)])


def test_equation_with_errors() -> None:
    """Eq. (7) with K (1 + kappa_i) for K and A_i + delta_i for A_i."""
    model = LotkaVolterraErrors(flows=3, capacity_error=one(3, 0.1), available_error=one(3, -2.0))
    rhs = model.ode().rhs["N[1]"]
    eps, g, K, N1, N2, N3 = sympy.symbols("epsilon gamma capacity N[1] N[2] N[3]", positive=True)
    delta, kappa = sympy.symbols("available_error[1] capacity_error[1]", real=True)
    wrong, available = K * (1 + kappa), K - N2 - N3 + delta
    assert sympy.simplify(rhs - eps * (1 - (N1 + g * (wrong - available)) / wrong) * N1) == 0


@pytest.mark.parametrize("n", [1, 2, 4])
def test_gains_in_symbols(n: int) -> None:
    """dN/d(delta) and dN/d(kappa) of the interior point, by implicit differentiation of eq. (7)."""
    g, K = sympy.symbols("gamma K", positive=True)
    model = LotkaVolterraErrors(flows=n, gamma=g, capacity=K)
    matrix = (1 - g) * sympy.eye(n) + g * sympy.ones(n)
    first = sympy.Matrix([1, *[0] * (n - 1)])
    by_delta, by_kappa = matrix.solve(g * first), matrix.solve(K * (1 - g) * first)
    share = K / (1 + (n - 1) * g)
    assert sympy.simplify(by_delta[0] - model.own_gain()) == 0
    assert sympy.simplify(by_kappa[0] / share - model.capacity_gain()) == 0
    if n > 1:
        assert sympy.simplify(by_delta[1] - model.cross_gain()) == 0


def test_amplification_at_the_papers_gamma() -> None:
    """gamma = 0.9: an error of A is amplified 4.7-fold for two flows, 7.2-fold for five, 9-fold for many."""
    gain = LotkaVolterraErrors(flows=[2, 5, 10**6]).own_gain()
    assert gain.values == pytest.approx([4.737, 7.239, 9.0], abs=5e-4)


@given(st.integers(2, 8), weights, st.booleans())
@settings(max_examples=25)
def test_tolerances_are_where_the_flow_dies(n: int, g: float, sum_known: bool) -> None:
    model = LotkaVolterraErrors(flows=n, gamma=g)
    limit = model.capacity_tolerance_of_sum() if sum_known else model.capacity_tolerance()
    for factor, lives in ((1 - 1e-9, True), (1 + 1e-9, False)):
        if factor * limit >= 1:
            continue  # a capacity below zero
        if sum_known:  # eq. (6): the error is in K alone
            found = LotkaVolterraWindows(
                flows=n, gamma=g, capacity=per_flow([100 * (1 - factor * limit), *[100.0] * (n - 1)])
            )
        else:
            found = LotkaVolterraErrors(flows=n, gamma=g, capacity_error=one(n, -factor * limit))
        assert bool(found.equilibrium().survives[0]) == lives and found.equilibrium().survives[1:].all()
    short = model.available_tolerance()
    for factor, lives in ((1 - 1e-9, True), (1 + 1e-9, False)):
        found = LotkaVolterraErrors(flows=n, gamma=g, available_error=one(n, -factor * short))
        assert bool(found.equilibrium().survives[0]) == lives


def test_tolerances_at_the_papers_gamma() -> None:
    """10 %, 2.7 %, 1.2 %, 0.11 % if the sum of the others is known; ten times as much if A_i is measured."""
    model = LotkaVolterraErrors(flows=[2, 5, 10, 100])
    of_sum = [0.1, 0.0270, 0.0122, 0.00112]
    assert model.capacity_tolerance_of_sum().values == pytest.approx(of_sum, abs=5e-5)
    assert model.capacity_tolerance().values == pytest.approx([10 * x for x in of_sum], abs=5e-4)
    assert model.capacity_gain().values == pytest.approx([1.0, 3.7, 8.2, 89.2])


@given(st.lists(st.tuples(st.floats(-0.3, 0.3), st.floats(-20, 20)), min_size=1, max_size=5), weights)
@settings(max_examples=25)
def test_spectrum_and_rest(errors: Any, g: float) -> None:
    kappa, delta = zip(*errors, strict=True)
    n = len(errors)
    model = LotkaVolterraErrors(flows=n, gamma=g, capacity_error=per_flow(kappa), available_error=per_flow(delta))
    system, N = compile_system(model.ode()), model.equilibrium().N.values
    assert system.slope(N[:, None]) == pytest.approx(0, abs=1e-10 / (1 - g))
    if not ((N > 0) & (N < 1e-4)).any():
        expected = np.sort(np.linalg.eigvals(system.jacobians(N[:, None])[0][0]).real)[::-1]
        assert model.spectrum().values == pytest.approx(expected, abs=1e-10 / (1 - g))
    alike = LotkaVolterraErrors(flows=n, gamma=g, capacity_error=kappa[0], available_error=delta[0])
    N = alike.equilibrium().N.values
    expected = np.sort(np.linalg.eigvals(compile_system(alike.ode()).jacobians(N[:, None])[0][0]).real)[::-1]
    assert alike.spectrum().values == pytest.approx(expected, abs=1e-10)
    assert alike.aggregate_eigenvalue() == pytest.approx(expected[-1])
    assert n == 1 or alike.fairness_eigenvalue() == pytest.approx(expected[0])
    assert alike.stability_margin() > 0
