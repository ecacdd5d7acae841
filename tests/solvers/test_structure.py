"""Bad chains are refused with one sentence that names the state; good ones pass."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tcpdynamics.solvers.markov.dense import stationary_dense
from tcpdynamics.solvers.markov.sparse import stationary_sparse
from tcpdynamics.solvers.markov.structure import check_aperiodic, check_edges, check_irreducible, check_rows
from tcpdynamics.solvers.problems import ChainError

LABELS = ["S1", "S2", "S3"]
BAD = {
    "row sum": ([[0.5, 0.5, 0], [0, 0.5, 0.5], [0.5, 0.48, 0]], "row 'S3' sums to 0.98, not 1: add the missing 0.02"),
    "row too large": ([[0.5, 0.5, 0], [0, 1, 0.5], [0.5, 0.5, 0]], "row 'S2' sums to 1.5, not 1: it is 0.5 too large"),
    "negative": ([[0.5, 0.5, 0], [0, 1.5, -0.5], [0.5, 0.5, 0]], "transition 'S2' -> 'S3' has value -0.5"),
    "NaN": ([[0.5, 0.5, 0], [0, np.nan, 0.5], [0.5, 0.5, 0]], "transition 'S2' -> 'S2' has value nan"),
    "infinite": ([[0.5, 0.5, 0], [0, 0.5, 0.5], [np.inf, 0.5, 0]], "transition 'S3' -> 'S1' has value inf"),
    "absorbing": ([[0.5, 0.5, 0], [0, 0.5, 0.5], [0, 0, 1]], "state 'S3' is absorbing, so 'S1' cannot be reached"),
    "transient": ([[0.5, 0.5, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]], "state 'S1' cannot be reached from 'S2'"),
    "unreachable above": ([[0.5, 0.5, 0], [0.5, 0.5, 0], [0.5, 0, 0.5]], "state 'S3' cannot be reached from 'S1'"),
    "two classes": ([[1, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]], "states 'S1' and 'S2' lie in two closed classes"),
    "periodic": ([[0, 1, 0], [0.5, 0, 0.5], [0, 1, 0]], "has period 2: it visits states 'S1' -> 'S2'"),
}


def embed(P: np.ndarray, n: int) -> sparse.csr_array:
    """The same fault in a chain of n states: a ladder from 'S2' up that falls back to 'S2'."""
    k = P.shape[0]
    half = np.where(np.arange(n) >= k, 0.5, 0.0)
    A = sparse.lil_array((n, n))
    A[:k, :k] = P
    for i in range(k, n):
        A[i, 1] = 1 - half[i] if i < n - 1 else 1.0
        if i < n - 1:
            A[i, i + 1] = half[i]
    A[1] = A[1] * 0.5
    A[1, k] = 0.5
    return A.tocsr()


@pytest.mark.parametrize("fault", BAD)
@pytest.mark.parametrize("solve", [stationary_dense, lambda P, labels: stationary_sparse(sparse.csr_array(P), labels)])
def test_bad_chain_is_refused_by_name(fault: str, solve) -> None:
    P, message = BAD[fault]
    with pytest.raises(ChainError) as caught:
        solve(np.array(P, float), LABELS)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("fault", ["negative", "NaN", "absorbing", "transient", "two classes"])
def test_bad_chain_inside_a_large_one(fault: str, reverse: bool) -> None:
    P = np.array(BAD[fault][0], float)
    P[1] *= 2  # halved by embed
    big = embed(P, 300)
    big[1, 1] += 1 - big[1].sum() if fault not in ("NaN", "negative") else 0
    if reverse:
        big = big[::-1][:, ::-1]
    with pytest.raises(ChainError):
        stationary_sparse(big.tocsr())


@pytest.mark.parametrize("order", [1, -1])
def test_faults_of_a_ladder(order: int) -> None:
    """Every way in which the cut equations can break down is explained."""
    n = 200
    up = np.full(n - 1, 0.5)
    down = np.full(n - 1, 0.5)
    stay = np.zeros(n)
    stay[0] = stay[-1] = 0.5

    def ladder(up, stay, down):
        P = sparse.diags_array([up, stay, down], offsets=[1, 0, -1]).tocsr()
        P.eliminate_zeros()
        return P[::order][:, ::order].tocsr()

    stationary_sparse(ladder(up, stay, down))
    cut_up, filled = up.copy(), stay.copy()
    cut_up[120], filled[120] = 0, 0.5
    with pytest.raises(ChainError, match="cannot be reached from"):
        stationary_sparse(ladder(cut_up, filled, down))
    cut_down, filled = down.copy(), stay.copy()
    cut_down[120], filled[121] = 0, 0.5
    with pytest.raises(ChainError, match="cannot be reached from"):
        stationary_sparse(ladder(up, filled, cut_down))
    both = stay.copy()
    both[120] = both[121] = 0.5
    with pytest.raises(ChainError, match="two closed classes"):
        stationary_sparse(ladder(cut_up, both, cut_down))
    up[0] = down[-1] = 1.0
    with pytest.raises(ChainError, match="period 2"):
        stationary_sparse(ladder(up, 0 * stay, down))
    pi = stationary_sparse(ladder(up, 0 * stay, down), aperiodic=False)
    assert pi[1:-1] == pytest.approx(1 / (n - 1), rel=1e-13)


def test_rows_may_miss_one_by_rounding_only() -> None:
    rng = np.random.default_rng(0)
    P = rng.random((400, 400))
    P /= P.sum(axis=1, keepdims=True)
    check_rows(P)
    check_rows(sparse.csr_array(P))
    P[7, 7] += 1e-11
    with pytest.raises(ChainError, match=r"row 7 sums to 1\.00000000001"):
        check_rows(P)
    check_rows(P, tolerance=1e-10)


@given(st.integers(1, 12), st.integers(0, 2**32 - 1), st.floats(0.05, 0.6))
def test_verdicts_agree_with_matrix_powers(n: int, seed: int, density: float) -> None:
    """Irreducible: (I + A)**(n-1) > 0. Aperiodic as well: A**((n-1)**2 + 1) > 0 (Wielandt)."""
    A = np.random.default_rng(seed).random((n, n)) < density
    reach = np.linalg.matrix_power(np.eye(n) + A, max(n - 1, 1)) > 0
    power, primitive = np.eye(n, dtype=bool), A.copy()
    for _ in range((n - 1) ** 2 + 1):
        power = power.astype(int) @ A > 0
    primitive = power.all()

    def accepts(check, *args, **kwargs) -> bool:
        try:
            check(*args, **kwargs)
        except ChainError:
            return False
        return True

    sources, targets = np.nonzero(A)
    irreducible = bool(reach.all())
    for P in (A.astype(float), sparse.csr_array(A.astype(float))):
        assert accepts(check_irreducible, P) == irreducible
        if irreducible and A.any():
            assert accepts(check_aperiodic, P) == primitive
    assert accepts(check_edges, n, sources, targets) == irreducible
    if A.any():
        assert accepts(check_edges, n, sources, targets, aperiodic=True) == (irreducible and primitive)


def test_period_of_a_long_ring() -> None:
    n = 3000
    ring = sparse.coo_array((np.ones(n), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n))
    with pytest.raises(ChainError, match="period 3000"):
        check_aperiodic(ring)
    assert stationary_sparse(ring, aperiodic=False) == pytest.approx(1 / n)


def test_one_state() -> None:
    assert stationary_dense([[1.0]]) == [1.0]
    assert stationary_sparse(sparse.csr_array([[1.0]])) == [1.0]
    with pytest.raises(ChainError, match="row 0 sums to 0"):
        stationary_dense([[0.0]])


@pytest.mark.parametrize("shape", [(2, 3), (0, 0)])
def test_shape(shape: tuple[int, int]) -> None:
    with pytest.raises(ChainError, match="square"):
        stationary_dense(np.ones(shape))
    with pytest.raises(ChainError, match="use stationary_dense"):
        stationary_sparse(np.ones(shape))
