"""Characteristic roots against Lambert's W, large discretisations, the argument principle and known conditions."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tcpdynamics.solvers import DDE, ODE, Delayed, DynamicsError, characteristic_roots, failures, spectral_abscissa
from tcpdynamics.solvers.stability.delay_roots import (
    TOLERANCE,
    balance,
    certified,
    chebyshev,
    decoupled,
    generator,
    rightmost_roots,
    split,
)

Array = NDArray[Any]


def scalar_roots(a: Array, b: Array, tau: Array, count: int) -> tuple[Array, Array]:
    """Roots of z = a + b e^(-z tau), rightmost first, and their residuals."""
    diagonals = np.stack([a, b], axis=1)[:, :, None]
    return decoupled(diagonals, diagonals, tau[:, None], count)[:2]


def linear(base: Array, past: Array, tau: Array, at: complex) -> Array:
    """Delta(z) of one point."""
    return at * np.eye(len(base)) - base - sum(a * np.exp(-at * t) for a, t in zip(past, tau, strict=True))


def backward_error(base: Array, past: Array, tau: Array, at: complex) -> float:
    terms = [np.linalg.norm(a, 2) * abs(np.exp(-at * t)) for a, t in zip(past, tau, strict=True)]
    scale = abs(at) + np.linalg.norm(base, 2) + sum(terms)
    return float(np.linalg.svd(linear(base, past, tau, at), compute_uv=False)[-1] / scale)


def count_right(base: Array, past: Array, tau: Array, line: float) -> int:
    """Argument principle by brute force: the determinant's winding on a fine, even grid of the vertical line."""
    radius = np.linalg.norm(base, 2) + sum(
        np.linalg.norm(a, 2) * np.exp(-line * t) for a, t in zip(past, tau, strict=True)
    )
    top = 40.0 * radius + 40.0
    y = np.sinh(np.linspace(-1, 1, 60_001) * np.arcsinh(top * 100)) / 100
    z = line + 1j * y
    n = len(base)
    delta = z[:, None, None] * np.eye(n) - base
    for a, t in zip(past, tau, strict=True):
        delta = delta - a * np.exp(-z * t)[:, None, None]
    values = np.linalg.det(delta / (np.abs(z) + radius)[:, None, None])
    turned = np.angle(values[1:] / values[:-1]).sum()
    ends = n * (np.pi / 2 - np.angle(z[-1])) * 2  # what the power z^n has yet to turn at both ends
    return round((n * np.pi - turned - ends) / (2 * np.pi))


def random_system(seed: int, n: int, lags: int, m: int = 1) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.uniform(-1, 0.7)
    base, past = size * rng.normal(size=(m, n, n)), size * rng.normal(size=(m, lags, n, n))
    return base, past, rng.uniform(0.05, 2.0, (m, lags))


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 3), st.integers(1, 8))
def test_roots_solve_the_characteristic_equation(seed: int, n: int, lags: int, count: int) -> None:
    base, past, tau = random_system(seed, n, lags)
    roots, residuals, certain = rightmost_roots(base, past, tau, count)
    assert certain.all() and np.isfinite(roots.real).all()
    assert (np.diff(roots.real[0]) <= 1e-12 * np.abs(roots[0, 1:])).all()  # rightmost first
    for z, residual in zip(roots[0], residuals[0], strict=True):
        true = backward_error(base[0], past[0], tau[0], complex(z))
        assert true <= 1e-12
        # the bound is taken after balancing, so it need not be below the error in the given coordinates
        assert residual <= TOLERANCE


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 3))
def test_no_root_lies_right_of_the_rightmost(seed: int, n: int, lags: int) -> None:
    base, past, tau = random_system(seed, n, lags)
    roots, _, _ = rightmost_roots(base, past, tau, 6)
    real = roots.real[0]
    gaps = real[:-1] - real[1:]
    j = int(gaps.argmax())
    assert count_right(base[0], past[0], tau[0], float(real[j] - gaps[j] / 2)) == j + 1
    assert count_right(base[0], past[0], tau[0], float(real[0]) + 0.5) == 0


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_agrees_with_a_large_discretisation(n: int) -> None:
    """A discretisation also has eigenvalues that are no roots: those with a large residual are left out."""
    base, past, tau = random_system(n, n, 2, 12)
    roots, _, certain = rightmost_roots(base, past, tau, 4)
    assert certain.all()
    nodes = 40
    for p in range(12):
        found = np.linalg.eigvals(generator(base[p : p + 1], past[p : p + 1], tau[p : p + 1], nodes)[0])
        true = [z for z in found if backward_error(base[p], past[p], tau[p], z) < 1e-8]
        best = max(true, key=lambda z: z.real)
        # the discretisation's matrix has norm ~ N^2/tau: its eigenvalues are that much rounded
        assert abs(best.real - roots[p, 0].real) <= 1e-15 * nodes**2 * 100 / tau[p].max()


def test_the_discretisation_converges_spectrally() -> None:
    """Faster than any power: every further four nodes gain more than the last, until rounding is reached."""
    base, past, tau = np.zeros((1, 1, 1)), np.full((1, 1, 1, 1), -20.0), np.ones((1, 1))
    exact = rightmost_roots(base, past, tau, 5)[0][0, 4]  # the third pair, |z| = 14
    errors = []
    for nodes in (12, 16, 20, 24, 28):
        found = np.linalg.eigvals(generator(base, past, tau, nodes)[0])
        errors.append(float(np.abs(found - exact).min()))
    drops = [b / a for a, b in pairwise(errors) if b > 1e-11]
    assert len(drops) >= 3 and max(drops) < 1 / 30 and drops == sorted(drops, reverse=True)


def test_differentiation_on_chebyshev_nodes_is_exact_for_polynomials() -> None:
    x, d, _ = chebyshev(9)
    for power in range(10):
        expected = power * x ** max(power - 1, 0)
        assert np.abs(d @ x**power - expected).max() < 1e-12


reals = st.floats(-4, 4).filter(lambda v: v == 0 or abs(v) > 1e-6)


@settings(max_examples=60)
@given(reals, reals, reals, reals, st.floats(0.01, 5.0))
def test_scalar_roots_are_branches_of_lambert_w(a: float, ai: float, b: float, bi: float, tau: float) -> None:
    if b == bi == 0:
        return
    ca, cb = complex(a, ai), complex(b, bi)
    roots, residuals = scalar_roots(np.array([ca]), np.array([cb]), np.array([tau]), 5)
    assert (residuals <= TOLERANCE).all()
    with mpmath.workdps(30):
        argument = mpmath.mpc(cb) * tau * mpmath.exp(-mpmath.mpc(ca) * tau)
        w = [mpmath.lambertw(argument, k) for k in range(-6, 7)]
        exact = sorted((complex(mpmath.mpc(ca) + v / tau) for v in w), key=lambda z: -z.real)[:5]
    condition = min(abs(complex(v) + 1) for v in w)  # 0 where two branches meet
    for z, e in zip(sorted(roots[0].real, reverse=True), (e.real for e in exact), strict=True):
        assert abs(z - e) <= 1e-13 * (abs(ca) + 1 / tau) / min(1.0, condition) * 100


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_general_search_agrees_with_lambert_w(seed: int) -> None:
    rng = np.random.default_rng(seed)
    base, past = rng.normal(size=(8, 1, 1)) * 2, rng.normal(size=(8, 1, 1, 1)) * 3
    tau = rng.uniform(0.1, 3, (8, 1))
    by_branch = rightmost_roots(base, past, tau, 4)[0]
    by_search, _, certain = certified(base, past, tau, 4)
    assert certain.all()
    assert np.abs(by_branch - by_search).max() <= 1e-11


@pytest.mark.parametrize("part", [0.0, 1e-15, -1e-15, 1e-12, -1e-12, 1e-6, -1e-6, 1e-3])
def test_double_roots(part: float) -> None:
    """z = -e^-1 (1 + part) e^-z has a double root -1 at part = 0; near it, -1 +- sqrt(-2 part)."""
    b = -np.exp(-1) * (1 + part)
    for solve in (rightmost_roots, certified):
        roots, _, certain = solve(np.zeros((1, 1, 1)), np.full((1, 1, 1, 1), b), np.ones((1, 1)), 3)
        assert certain.all()
        expected = [complex(mpmath.lambertw(mpmath.mpf(b), k)) for k in (0, -1)]
        # a double root moves by the square root of a perturbation
        assert np.abs(roots[0, :2].real - np.real(expected)).max() <= 1e-7
        assert abs(roots[0, 2] - complex(-3.0888430156130438, 7.461489285654254)) < 1e-2


def test_a_double_root_at_zero_is_zero() -> None:
    """z = (1 - e^(-z tau))/tau: a rounding of b tau would move its root by 1e-8, to either side."""
    tau = np.linspace(1e-3, 5.0, 2000)
    roots, _, certain = rightmost_roots(1 / tau[:, None, None], -1 / tau[:, None, None, None], tau[:, None])
    assert certain.all() and not roots.any()


def test_multiple_roots_of_equal_flows_are_repeated() -> None:
    """n equal flows whose differences obey one scalar equation: its roots occur n - 1 times."""
    n, rho, a = 4, 0.3, 0.9
    base, past = -rho * np.eye(n)[None], -rho * a * (np.ones((n, n)) - np.eye(n))[None, None]
    tau = np.full((1, 1), 1.5)
    both = [solve(base, past, tau, 6) for solve in (rightmost_roots, certified)]
    sums = scalar_roots(np.array([-rho]), np.array([-rho * a * (n - 1)]), tau[0], 6)[0][0]
    differences = scalar_roots(np.array([-rho]), np.array([rho * a]), tau[0], 6)[0][0]
    expected = np.sort(np.concatenate([sums.real, *[differences.real] * (n - 1)]))[::-1][:6]
    for roots, _, certain in both:
        assert certain.all()
        assert np.abs(roots[0].real - expected).max() < 1e-12


def test_extreme_delays_and_gains() -> None:
    """Roots by mpmath where e^(-a tau) is beyond floating point or the delay is next to nothing."""
    cases = [
        (0.0, -1.0, 1e-9),
        (0.0, -1e4, 1.0),
        (-1.0, -0.9, 1e3),
        (-1e4, -0.9, 1.0),
        (1e4, -0.9, 1.0),
        (-2.0, 3.0, 50.0),
    ]
    a, b, tau = (np.array(column) for column in zip(*cases, strict=True))
    roots, residuals = scalar_roots(a, b, tau, 3)
    assert (residuals <= TOLERANCE).all()
    for i, (x, y, t) in enumerate(cases):
        with mpmath.workdps(50):
            z = mpmath.mpf(y) * t * mpmath.exp(-mpmath.mpf(x) * t)
            exact = complex(x + mpmath.lambertw(z, 0) / t)
        assert abs(roots[i, 0] - exact) <= 1e-13 * (abs(x) + abs(exact) + 1 / t)
        general, _, certain = certified(a[i].reshape(1, 1, 1), b[i].reshape(1, 1, 1, 1), tau[i].reshape(1, 1), 1)
        assert certain.all() and abs(general[0, 0].real - exact.real) <= 1e-12 * (abs(x) + 1 / t)


def test_a_finite_spectrum_is_padded() -> None:
    """A delayed path that feeds nothing back adds no root."""
    base, past = np.diag([-1.0, -2.0])[None], np.array([[[[0.0, 1.0], [0.0, 0.0]]]])
    for solve in (rightmost_roots, certified):
        roots, _, certain = solve(base, past, np.ones((1, 1)), 4)
        assert certain.all()
        assert roots[0, :2].tolist() == [-1, -2] and np.isnan(roots[0, 2:].real).all()


def test_strong_coupling_in_one_direction_is_no_coupling() -> None:
    """A triangular system has the roots of its diagonal, however large what lies below."""
    base = np.array([[[-0.5, 0.0], [0.0, 0.0]]])
    past = np.array([[[[0.0, 0.0], [-5e6, -1.0]], [[0.0, 0.0], [1e7, 0.7]]]])
    tau = np.array([[1.6, 0.4]])
    alone = rightmost_roots(base[:, 1:, 1:], past[:, :, 1:, 1:], tau, 3)[0]
    expected = np.sort(np.append(alone.real, -0.5))[::-1][:3]
    roots, _, certain = rightmost_roots(base, past, tau, 3)
    assert certain.all() and np.abs(roots[0].real - expected).max() < 1e-12
    stack = balance(np.concatenate([base[:, None], past], axis=1))
    roots, _, certain = certified(stack[:, 0], stack[:, 1:], tau, 3)
    assert certain.all() and np.abs(roots[0].real - expected).max() < 1e-12


def test_a_close_neighbour_is_not_a_second_occurrence() -> None:
    """Two real roots 0.16 apart, of which a start finds one: the count must not pass it off as a double root."""
    base = np.diag([-0.5, -0.66])[None] + 1e-3 * np.array([[[0.0, 1.0], [-1.0, 0.0]]])
    past = np.array([[[[0.1, 0.02], [-0.03, 0.1]]]])
    whole = rightmost_roots(base, past, np.ones((1, 1)), 2)[0][0]
    from tcpdynamics.solvers.stability.delay_roots_kernel import Roots, Systems, sweep

    nan = complex(np.nan, np.nan)
    out = Roots(np.full((1, 8), nan), np.full((1, 8), np.nan), np.zeros(1, np.int64))
    seeds = np.array([[whole[1]]])
    systems = Systems(base + 0j, past + 0j, np.ones((1, 1)), True)
    assert sweep(0, 1, systems, 1, False, TOLERANCE, seeds, out) == 0  # refused
    seeds = np.array([[whole[1], whole[0]]])
    assert sweep(0, 1, systems, 1, False, TOLERANCE, seeds, out) == 1
    assert out.value[0, 0] == pytest.approx(whole[0])


def test_many_roots_with_almost_equal_real_parts() -> None:
    """A fast loop seen through a long delay: hundreds of roots next to one vertical line."""
    base, past, tau = np.full((1, 1, 1), -0.1), np.array([[[[-500.0]], [[-0.5]]]]), np.array([[1e-3, 10.0]])
    roots, residuals, certain = rightmost_roots(base, past, tau, 2)
    assert certain.all() and residuals.max() <= TOLERANCE
    assert roots[0, 0].real == pytest.approx(np.log(0.5 / 500) / 10, abs=1e-3)  # |500| = 0.5 e^(-10 Re z)


def test_splitting_and_balancing_keep_the_spectrum() -> None:
    rng = np.random.default_rng(1)
    basis = rng.normal(size=(20, 4, 4))
    diagonal = rng.normal(size=(20, 3, 4))
    stack = basis[:, None] @ (diagonal[..., None] * np.eye(4)) @ np.linalg.inv(basis)[:, None]
    diagonals, works = split(stack)
    assert works.mean() > 0.8  # the rest have an ill-conditioned basis and take the general way
    for p in np.flatnonzero(works):
        order, expected = np.argsort(diagonals[p, 0].real), np.argsort(diagonal[p, 0])
        assert np.abs(diagonals[p][:, order] - diagonal[p][:, expected]).max() < 1e-9
    assert not split(rng.normal(size=(5, 2, 3, 3)))[1].any()
    bad = np.array([[[[1.0, 1e8], [1e-8, 2.0]]]])
    assert np.abs(balance(bad)).max() < 10
    assert np.sort(np.linalg.eigvals(balance(bad)[0, 0])) == pytest.approx(np.sort(np.linalg.eigvals(bad[0, 0])))


w, q, past_w, past_q, epsilon, delay, phi, psi = sympy.symbols("w q past_w past_q epsilon delay phi psi")


def hutchinson(**parameters: Any) -> DDE:
    return DDE(
        rhs={"w": epsilon * w * (1 - past_w)},
        delayed={"past_w": Delayed("w", delay)},
        parameters=parameters,
        fixed_points=[{"w": 1}],
        name="delayed logistic",
    )


def test_delayed_logistic_is_stable_up_to_half_pi() -> None:
    problem = hutchinson(epsilon=np.linspace(0.05, 3, 60), delay=np.linspace(0, 2, 50))
    abscissa = spectral_abscissa(problem)
    product = abscissa.epsilon * abscissa.delay
    away = np.abs(product - np.pi / 2) > 1e-9
    assert ((abscissa < 0) == (product < np.pi / 2)).values[away.values].all()
    assert (abscissa.status == 0).all()
    at_hopf = spectral_abscissa(hutchinson(epsilon=1.95, delay=np.pi / 2 / 1.95))
    assert abs(float(at_hopf)) < 1e-15


def chart(at: bool) -> DDE:
    """z^2 + (phi z + psi) e^-z, or with the queue alone delayed z^2 + phi z + psi e^-z."""
    change = -phi * past_w - psi * past_q if at else -phi * w - psi * past_q
    delayed = {"past_q": Delayed("q", 1)} | ({"past_w": Delayed("w", 1)} if at else {})
    return DDE(
        rhs={"w": change, "q": w}, delayed=delayed, parameters={"phi": 1.0, "psi": 1.0}, fixed_points=[{"w": 0, "q": 0}]
    )


def test_curves_of_marginal_stability() -> None:
    """phi = w sin w, psi = w^2 cos w; and psi = w^2/cos w with phi = w tan w: the abscissa vanishes on both."""
    import xarray as xr

    turn = np.linspace(0.05, 1.5, 30)
    both = xr.DataArray(turn * np.sin(turn), dims="turn"), xr.DataArray(turn**2 * np.cos(turn), dims="turn")
    on = spectral_abscissa(chart(True).at(phi=both[0], psi=both[1]))
    assert np.abs(on).max() < 1e-14
    both = xr.DataArray(turn * np.tan(turn), dims="turn"), xr.DataArray(turn**2 / np.cos(turn), dims="turn")
    on = spectral_abscissa(chart(False).at(phi=both[0], psi=both[1]))
    assert np.abs(on).max() < 1e-14


def test_a_point_in_a_chart_is_the_point_alone() -> None:
    """Roots of neighbours are only a start: a chart's values do not depend on what is beside them."""
    problem = chart(True).at(phi=np.linspace(0.01, 3, 70), psi=np.linspace(0.01, 2, 60))
    whole = spectral_abscissa(problem)
    rng = np.random.default_rng(0)
    for i, j in rng.integers(0, 60, (40, 2)):
        one = spectral_abscissa(problem.at(phi=float(whole.phi[i]), psi=float(whole.psi[j])))
        assert float(one) == pytest.approx(float(whole[i, j]), abs=1e-13)


def test_delayed_outputs_and_shared_delays() -> None:
    """A delayed loss probability p = q/10 is the delayed queue with a tenth of the gain."""
    p_lag = sympy.Symbol("p_lag")
    direct = DDE(rhs={"q": -past_q - q / 2}, delayed={"past_q": Delayed("q", 1)}, fixed_points=[{"q": 0}])
    through = DDE(
        rhs={"q": -10 * p_lag - q / 2},
        outputs={"p": q / 10},
        delayed={"p_lag": Delayed("p", 1)},
        fixed_points=[{"q": 0}],
    )
    roots = [characteristic_roots(problem, count=4).characteristic_root.values for problem in (direct, through)]
    assert np.abs(roots[0] - roots[1]).max() < 1e-14


def test_labelled_result_and_zero_delay() -> None:
    result = characteristic_roots(hutchinson(epsilon=1.0, delay=[0.0, 1.0]), count=3)
    assert result.characteristic_root.dims == ("delay", "root") and result.sizes["root"] == 3
    assert result.characteristic_root.sel(delay=0.0).values[0] == -1
    assert np.isnan(result.characteristic_root.sel(delay=0.0).values[1:].real).all()
    assert (result.status == 0).all() and float(result.residual.max()) <= TOLERANCE
    assert result.attrs["solver"] == "characteristic_roots"
    ode = ODE(rhs={"w": -w}, fixed_points=[{"w": 0}])
    assert characteristic_roots(ode, count=2).characteristic_root.values[0] == -1


def test_bad_input_in_one_sentence() -> None:
    with pytest.raises(DynamicsError, match=r"count must be a whole number in 1\.\.1000, got 0"):
        characteristic_roots(hutchinson(epsilon=1.0, delay=1.0), count=0)
    with pytest.raises(DynamicsError, match="at names 'v', which is not a state"):
        characteristic_roots(hutchinson(epsilon=1.0, delay=1.0), {"v": 1})
    with pytest.raises(TypeError, match="expected DDE, ODE or a model"):
        characteristic_roots(3)
    nowhere = hutchinson(epsilon=[1.0, 2.0], delay=1.0)
    result = characteristic_roots(nowhere, {"w": np.nan * epsilon})
    assert np.isnan(result.characteristic_root.values.real).all() and len(failures(result)) == 2
    with pytest.raises(DynamicsError, match="at epsilon = 1"):
        characteristic_roots(nowhere, {"w": np.nan * epsilon}, throw=True)
    for bad in (10**6, 1.5, "a", np.nan, True):
        with pytest.raises(DynamicsError, match=r"count must be a whole number in 1\.\.1000, got"):
            characteristic_roots(nowhere, count=bad)  # type: ignore[arg-type]


def test_a_point_that_failed_is_not_a_number() -> None:
    """A delay near the smallest floating-point number: no root, or the undelayed one, but never -inf."""
    result = characteristic_roots(hutchinson(epsilon=1.0, delay=[5e-324, 1.0]))
    failed = result.status.values != 0
    assert np.isnan(result.characteristic_root.values[failed].real).all()
    assert np.isnan(result.residual.values[failed]).all()
    assert not failed[1] and not np.isinf(result.characteristic_root.values.real).any()
    abscissa = spectral_abscissa(hutchinson(epsilon=1.0, delay=[5e-324, 1.0]))
    assert (np.isnan(abscissa.values) == (abscissa.status.values != 0)).all()
    shortest = np.array([5e-324, 1e-310])
    base, past = np.array([[-1.0, 1.0], [-1.0, -2.0]]), np.array([[[-1.0, 0.0], [0.0, 0.0]]])
    roots, _, certain = rightmost_roots(np.stack([base] * 2), np.stack([past] * 2), shortest[:, None])
    assert not certain.any() and np.isnan(roots.real).all()
