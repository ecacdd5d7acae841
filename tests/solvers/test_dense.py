"""Dense state reduction: exact answers, its NumPy twin, QuantEcon, and laws that leave the double range."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judges import exact_law
from strategies import matrix_over_decades

from tcpdynamics.solvers.markov import dense
from tcpdynamics.solvers.markov.dense import stationary_dense, stationary_dense_numpy

EPS = np.finfo(float).eps


def worst(pi: np.ndarray, reference) -> float:
    return max(float(abs(Fraction(a) / Fraction(b) - 1)) for a, b in zip(pi.tolist(), reference, strict=True))


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 9), st.integers(0, 2**32 - 1), st.sampled_from([0, 3, 15]), st.floats(0.2, 1))
def test_every_component_is_exact_to_rounding(n: int, seed: int, decades: float, density: float) -> None:
    P = matrix_over_decades(n, seed, decades, density)
    # O'Cinneide: the error grows at most like n**2 eps; this is its typical size with a margin.
    assert worst(stationary_dense(P), exact_law(P)) <= 10 * (n + 3) * EPS


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 60), st.integers(0, 2**32 - 1), st.sampled_from([0, 6, 14]), st.floats(0.05, 1))
def test_numpy_twin_agrees(n: int, seed: int, decades: float, density: float) -> None:
    P = matrix_over_decades(n, seed, decades, density)
    assert stationary_dense(P) == pytest.approx(stationary_dense_numpy(P), rel=20 * (n + 3) * EPS, abs=0)


@pytest.mark.parametrize("n", [200, 384, 385, 520])
def test_blocks_agree_with_the_twin_and_quantecon(n: int) -> None:
    from quantecon.markov.gth_solve import gth_solve

    P = matrix_over_decades(n, n, decades=8, density=0.3)
    pi = stationary_dense(P)
    assert pi == pytest.approx(stationary_dense_numpy(P), rel=20 * n * EPS, abs=0)
    assert pi == pytest.approx(gth_solve(P), rel=20 * n * EPS, abs=0)
    residual = np.abs(pi @ P - pi) / pi
    assert residual.max() <= n * EPS


def test_many_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    P = matrix_over_decades(150, 3, decades=8)
    pi = stationary_dense(P)
    monkeypatch.setattr(dense, "BLOCK", 7)
    monkeypatch.setattr(dense, "_STRIP", 11)
    assert stationary_dense(P) == pytest.approx(pi, rel=1e-13, abs=0)


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_order_of_states_does_not_matter(n: int, seed: int) -> None:
    P = matrix_over_decades(n, seed, decades=10, density=0.4)
    order = np.random.default_rng(seed + 1).permutation(n)
    permuted = stationary_dense(P[np.ix_(order, order)])
    assert permuted == pytest.approx(stationary_dense(P)[order], rel=40 * n * EPS, abs=0)


def birth_death(up: np.ndarray, down: np.ndarray) -> np.ndarray:
    P = np.diag(up, 1) + np.diag(down, -1)
    return P + np.diag(1 - P.sum(axis=1))


@pytest.mark.parametrize("direction", [1, -1])
def test_law_that_leaves_the_double_range_and_returns(direction: int) -> None:
    """Two equal peaks with a valley of 1e-400 between them: neither may be lost."""
    half = 40
    up = np.r_[np.full(half, 1e-10), np.full(half, 0.5)]
    down = np.r_[np.full(half, 0.5), np.full(half, 1e-10)]
    pi = stationary_dense(birth_death(up, down)[::direction, ::direction])
    assert pi[0] == pytest.approx(0.5, rel=1e-9) == pi[-1]
    assert pi[half] == 0.0
    # Detailed balance wherever both sides lie in the double range.
    pi = pi[::direction]
    keep = np.minimum(pi[1:], pi[:-1]) > 1e-290
    assert (pi[:-1] * up)[keep] == pytest.approx((pi[1:] * down)[keep], rel=1e-12, abs=0)


@pytest.mark.parametrize("first", [1e-200, 1.0])
def test_tails_of_hundreds_of_decades(first: float) -> None:
    n = 60
    ratio = 1e-20
    pi = stationary_dense(birth_death(np.full(n, 0.5 * ratio), np.full(n, 0.5)))
    expected = ratio ** np.arange(n + 1.0)
    keep = expected > 1e-290
    assert pi[keep] == pytest.approx(expected[keep], rel=1e-12, abs=0)
    assert (pi[~keep] <= 1e-289).all()


def test_connections_below_the_double_range_count() -> None:
    tiny = 1e-200
    P = np.array([[1.0, tiny, 0, 0], [0, 1, 0, tiny], [tiny, 0, 1, 0], [0, 0, tiny, 1]])
    assert stationary_dense(P) == pytest.approx(0.25)
    P = np.array([[1.0, tiny, 0], [0.0, 1 - 1e-200, tiny], [tiny, 0.0, 1.0]])
    assert stationary_dense(P) == pytest.approx(1 / 3)
    P = np.array([[0.5, 0, 0.5], [0, 1, tiny], [tiny, 1 - tiny, 0]])
    assert worst(stationary_dense(P)[1:], exact_law(P)[1:]) <= 1e-15  # the first lies below the normal range
    assert stationary_dense(P)[0] == pytest.approx(float(exact_law(P)[0]), rel=1e-15)


def test_input_is_left_alone_and_lists_are_accepted() -> None:
    P = np.array([[0.5, 0.5], [1.0, 0.0]])
    copy = P.copy()
    stationary_dense(P)
    assert (copy == P).all()
    assert stationary_dense([[0, 1], [1, 0]], aperiodic=False) == pytest.approx([0.5, 0.5])
