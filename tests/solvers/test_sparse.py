"""Sparse stationary laws against dense state reduction, high precision, and themselves in other orders."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from strategies import seeds

from tcpdynamics.solvers.markov import sparse as module
from tcpdynamics.solvers.markov.dense import stationary_dense
from tcpdynamics.solvers.markov.sparse import stationary_sparse
from tcpdynamics.solvers.problems import ChainError


def from_edges(n: int, *edges) -> sparse.csr_array:
    """CSR matrix from (sources, targets, weights) triples; rows are normalised."""
    i, j, v = (np.concatenate([np.broadcast_to(e[q], np.shape(e[0])) for e in edges]) for q in range(3))
    A = sparse.coo_array((v.astype(float), (i, j)), shape=(n, n)).tocsr()
    return sparse.csr_array(sparse.diags_array(1 / A.sum(axis=1)) @ A)


def window(n: int, loss: float = 0.01, timeouts: float = 0.3) -> sparse.csr_array:
    """w -> w+1, else halve, or go back to the start on a timeout."""
    w = np.arange(n)
    fall = np.where(w < n - 1, loss, 1.0)
    return from_edges(
        n,
        (w[:-1], w[1:], 1 - loss),
        (w, w // 2, fall * (1 - timeouts / (w + 1))),
        (w, 0 * w, fall * timeouts / (w + 1)),
    )


def climber(n: int, seed: int, head: int, decades: float) -> sparse.csr_array:
    """Climbs by one, falls to random states, jumps inside its head; probabilities over many decades."""
    rng = np.random.default_rng(seed)
    w = np.arange(n)
    edges = [(w[:-1], w[1:], 10 ** (-decades * rng.random(n - 1)))]
    for _ in range(2):
        edges.append((w, (w * rng.random(n)).astype(int), 10 ** (-decades * rng.random(n))))
    if head:
        edges.append((w, rng.integers(0, head + 1, n), 10 ** (-decades * rng.random(n))))
    keep = rng.random(n) < 0.7  # some states cannot fall at all
    keep[-1] = True
    edges[1:] = [(i[keep], j[keep], v[keep]) for i, j, v in edges[1:]]
    return from_edges(n, *edges)


def banded(n: int, below: int, above: int, seed: int) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    w = np.arange(n)
    return from_edges(
        n,
        *[
            (w[max(0, -d) : n - max(0, d)], w[max(0, d) : n - max(0, -d)], rng.random(n - abs(d)) + 0.01)
            for d in range(-below, above + 1)
        ],
    )


def random_graph(n: int, degree: int, seed: int) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    w = np.arange(n)
    ring = rng.permutation(n)
    return from_edges(
        n,
        (ring, np.roll(ring, 1), 0.01),
        (np.repeat(w, degree), rng.integers(0, n, n * degree), 10 ** (-4 * rng.random(n * degree))),
        ([0], [0], 0.1),
    )


def assert_close(P: sparse.csr_array, rel: float = 1e-12) -> np.ndarray:
    """Agreement with dense state reduction in every state that doubles can hold."""
    pi, reference = stationary_sparse(P), stationary_dense(P.toarray())
    keep = reference > 1e-290
    assert pi[keep] == pytest.approx(reference[keep], rel=rel, abs=0)
    assert (pi[~keep] <= 1e-289).all()
    assert pi.sum() == pytest.approx(1, rel=1e-13)
    return pi


def residual(P: sparse.csr_array, pi: np.ndarray) -> float:
    """Largest relative residual of pi P = pi, summed in extended precision: all states enter state 0."""
    keep = pi > 1e-290
    gap = np.abs(P.T.tocsr().astype(np.longdouble) @ pi.astype(np.longdouble) - pi)
    return float(np.max(gap[keep] / pi[keep]))


@settings(max_examples=25, deadline=None)
@given(st.integers(110, 260), seeds, st.sampled_from([0, 3, 90]), st.sampled_from([3, 30]), st.booleans())
def test_climbing_chains(n: int, seed: int, head: int, decades: float, reverse: bool) -> None:
    P = climber(n, seed, head, decades)
    pi = assert_close(P[::-1][:, ::-1].tocsr() if reverse else P)
    if reverse:
        assert pi[::-1] == pytest.approx(stationary_sparse(P), rel=1e-13, abs=0)


@settings(max_examples=10, deadline=None)
@given(st.integers(110, 200), st.integers(2, 6), st.integers(2, 6), seeds)
def test_banded_chains(n: int, below: int, above: int, seed: int) -> None:
    assert_close(banded(n, below, above, seed))


@settings(max_examples=15, deadline=None)
@given(st.integers(110, 250), st.integers(1, 4), seeds)
def test_any_sparse_chain(n: int, degree: int, seed: int) -> None:
    P = random_graph(n, degree, seed)
    pi = assert_close(P)
    order = np.random.default_rng(seed).permutation(n)
    permuted = stationary_sparse(P[order][:, order].tocsr())
    assert permuted == pytest.approx(pi[order], rel=1e-12, abs=0)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 30), seeds)
def test_elimination_with_fill_in_on_small_chains(n: int, seed: int) -> None:
    """The general way, with pools that overflow and without help from the dense solver."""
    P = random_graph(n, 2, seed)
    flow, level = module._with_fill_in(P, 2**30)
    pi = module.normalised(flow, level)
    assert pi == pytest.approx(stationary_dense(P.toarray()), rel=1e-12, abs=0)


@pytest.mark.parametrize("n", [1000, pytest.param(4000, marks=pytest.mark.slow)])
def test_window_chain_against_dense(n: int) -> None:
    assert_close(window(n), rel=1e-13)


@pytest.mark.parametrize(("loss", "n"), [(0.5, 300), (0.8, 300), (0.01, 300)])
def test_tails_of_hundreds_of_decades(loss: float, n: int) -> None:
    """Cut equations written out in 60 digits."""
    import mpmath

    P = window(n, loss)
    rows = [dict(zip(P[[i]].indices.tolist(), P[[i]].data.tolist(), strict=True)) for i in range(n)]
    with mpmath.workdps(60):
        pi = [mpmath.mpf(0)] * (n - 1) + [mpmath.mpf(1)]
        for k in range(n - 1, 0, -1):
            down = mpmath.fsum(pi[i] * v for i in range(k, n) for t, v in rows[i].items() if t < k)
            pi[k - 1] = down / rows[k - 1][k]
        total = mpmath.fsum(pi)
        result = stationary_sparse(P).tolist()
        error = max(abs(a * total / b - 1) for a, b in zip(result, pi, strict=True) if b > total * 1e-290)
    assert error < 1e-14
    if loss == 0.8:
        assert 0 < result[-1] < 1e-200


@pytest.mark.slow
@pytest.mark.parametrize("loss", [1e-2, 1e-4])
def test_ten_thousand_states_in_thirty_digits(loss: float) -> None:
    """Rounding does not pile up along the recursion: cut equations over a Fenwick tree of long floats."""
    import mpmath

    n = 10_000
    P = window(n, loss)
    bounds, targets, chances = P.indptr.tolist(), P.indices.tolist(), P.data.tolist()
    with mpmath.workdps(30):
        tree = [mpmath.mpf(0)] * (n + 1)
        pi = [mpmath.mpf(0)] * (n - 1) + [mpmath.mpf(1)]
        for k in range(n - 1, 0, -1):
            for p in range(bounds[k], bounds[k + 1]):
                node = targets[p] + 1
                while targets[p] < k and node <= n:
                    tree[node] += pi[k] * chances[p]
                    node += node & -node
            down, node = mpmath.mpf(0), k
            while node > 0:
                down += tree[node]
                node -= node & -node
            up = next(chances[p] for p in range(bounds[k - 1], bounds[k]) if targets[p] == k)
            pi[k - 1] = down / up
        total = mpmath.fsum(pi)
        result = stationary_sparse(P).tolist()
        error = max(abs(a * total / b - 1) for a, b in zip(result, pi, strict=True) if b > total * 1e-290)
    assert error < 5e-15


@pytest.mark.parametrize("loss", [1e-3, 1e-2, 0.5])
def test_climbing_probability_that_vanishes(loss: float) -> None:
    """All packets must survive: (1 - p)**w underflows, and states beyond are zero, not an error."""
    n = 200_000
    w = np.arange(n)
    up = np.where(w < n - 1, (1 - loss) ** (w + 1.0), 0.0)
    i, j = np.r_[w[:-1], w], np.r_[w[1:], w // 2]
    P = sparse.coo_array((np.r_[up[:-1], 1 - up], (i, j)), shape=(n, n)).tocsr()
    pi = stationary_sparse(P)
    assert np.isfinite(pi).all()
    assert pi[-1] == 0.0
    assert residual(P, pi) < 1e-14
    small = P[:800, :800].toarray()
    small[-1, -1] += 1 - small[-1].sum()
    if loss < 0.5:
        reference = stationary_dense(small)
        keep = reference > 1e-290
        keep[-1] = False
        assert pi[:800][keep] / pi[0] == pytest.approx(reference[keep] / reference[0], rel=1e-12, abs=0)


def test_two_peaks_with_a_valley_below_the_double_range() -> None:
    half = 200
    up = np.r_[np.full(half, 1e-3), np.full(half, 0.5)]
    down = np.r_[np.full(half, 0.5), np.full(half, 1e-3)]
    stay = 1 - np.r_[up, 0] - np.r_[0, down]
    pi = stationary_sparse(sparse.diags_array([up, stay, down], offsets=[1, 0, -1]))
    assert pi[0] == pytest.approx(pi[-1], rel=1e-12)
    assert pi[half] == 0.0
    P = sparse.diags_array([up, stay, down], offsets=[1, 0, -1]).tocsr()
    for solved in (module._banded(P, 1, 1), module._with_fill_in(P, 2**30)):
        other = module.normalised(*solved)
        keep = pi > 1e-290
        assert other[keep] == pytest.approx(pi[keep], rel=1e-12, abs=0)


def test_the_head_may_be_far_less_likely_than_the_tail() -> None:
    """The last head state is left at rate 1e-290 of the tail's."""
    n = 150
    w = np.arange(n)
    P = from_edges(
        n,
        (w[:-1], w[1:], np.where(w[:-1] < 80, 0.9, 0.5)),
        (w, w // 2, np.where(w < 80, 0.1, 1e-9)),
        ([5], [30], [0.1]),
        (w[1:], w[:-1], 1e-3),
    )
    assert_close(P)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "dia", "matrix"])
def test_formats(kind: str) -> None:
    P = banded(150, 1, 1, 0)
    given = sparse.csr_matrix(P) if kind == "matrix" else P.asformat(kind)
    assert np.array_equal(stationary_sparse(given), stationary_sparse(P))


def test_duplicates_and_unsorted_entries() -> None:
    P = window(300)
    doubled = sparse.csr_array(
        (np.repeat(P.data / 2, 2)[::-1], np.repeat(P.indices, 2)[::-1], (P.indptr[-1] - P.indptr[::-1]) * 2),
        shape=P.shape,
    )  # rows reversed, entries unsorted, each given twice
    backwards = sparse.csr_array(P[::-1])
    assert abs(doubled - backwards).max() < 1e-16
    doubled = doubled[::-1]
    assert stationary_sparse(doubled) == pytest.approx(stationary_sparse(P), rel=1e-13, abs=0)


def test_memory_bound_is_explained() -> None:
    P = random_graph(600, 4, 0)
    with pytest.raises(ChainError, match="exceeds memory=100000 bytes: raise memory"):
        stationary_sparse(P, memory=100_000)


def test_hand_over_to_the_dense_solver() -> None:
    assert_close(random_graph(900, 3, 1))


@pytest.mark.parametrize("loss", [1e-9, 1e-4, 0.3])
def test_a_million_states(loss: float) -> None:
    P = window(10**6, loss)
    pi = stationary_sparse(P)
    assert pi.sum() == pytest.approx(1, rel=1e-14)
    assert residual(P, pi) < 3e-15


def test_square_root_law_of_aimd() -> None:
    """Loss strikes each packet with probability p: the mean window tends to 1.3098 / sqrt(p).

    T. J. Ott, J. H. B. Kemperman, M. Mathis, "The stationary behavior of ideal TCP congestion avoidance",
    1996; the chain counts whole packets, so that the limit is approached from a distance of order sqrt(p).
    """
    gaps = []
    for loss in (1e-6, 2.5e-7):
        n = round(12 / loss**0.5)
        size = np.arange(1, n + 1)
        up = (1 - loss) ** size
        up[-1] = 0
        i = np.arange(n)
        P = sparse.coo_array((np.r_[up[:-1], 1 - up], (np.r_[i[:-1], i], np.r_[i[1:], size // 2 - (size > 1)])))
        gaps.append(stationary_sparse(P) @ size * loss**0.5 - 1.30982)
    assert abs(gaps[0]) < 1e-3
    assert gaps[1] / gaps[0] == pytest.approx(0.5, abs=0.02)
