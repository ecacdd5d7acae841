"""Large sparse chains: cut equations beside sparse LU and dense state reduction.

The chain is an AIMD window with timeouts: w -> w+1, else w -> w//2, or w -> 0 on a timeout, rarer for larger
windows. `python -m benchmarks.large_chain [largest n]` also prints the largest relative error of any state whose
probability is above 1e-290: against dense state reduction up to 4000 states, beyond that the residual |pi P - pi| / pi.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import spsolve

from tcpdynamics.solvers.markov.dense import stationary_dense
from tcpdynamics.solvers.markov.sparse import stationary_sparse

from .compare import Route, compare

Vector = npt.NDArray[np.float64]
Chain = sparse.csr_array


def window_chain(n: int, loss: float = 0.01) -> Chain:
    """States w = 0..n-1; a loss is a timeout with probability min(1, 3/w) as in Padhye et al. (1998)."""
    w = np.arange(n)
    fall = np.where(w < n - 1, loss, 1.0)
    timeout = fall * np.minimum(1.0, 3.0 / (w + 1))
    rows = np.concatenate([w[:-1], w, w])
    targets = np.concatenate([w[1:], w // 2, 0 * w])
    chances = np.concatenate([1 - fall[:-1], fall - timeout, timeout])
    return sparse.coo_array((chances, (rows, targets)), shape=(n, n)).tocsr()


def replaced_row(P: Chain) -> Vector:
    """(P^T - I) pi = 0 with its last equation replaced by sum(pi) = 1."""
    n = P.shape[0]
    A = (P.T - sparse.eye_array(n)).tocsr()
    A = sparse.vstack([A[:-1], sparse.csr_array(np.ones((1, n)))]).tocsc()
    b = np.zeros(n)
    b[-1] = 1
    return spsolve(A, b)


def pinned_first(P: Chain) -> Vector:
    """pi[0] = 1, the other equations solved for the other states, then normalised."""
    n = P.shape[0]
    A = (P.T - sparse.eye_array(n)).tocsc()
    x = np.concatenate([[1.0], spsolve(A[1:, 1:], -A[1:, [0]].toarray().ravel())])
    return x / x.sum()


def pinned_last(P: Chain) -> Vector:
    """The same with pi[n-1] = 1: nothing but the choice of the state differs."""
    return pinned_first(P[::-1][:, ::-1].tocsr())[::-1]


def quantecon_gth(P: Chain) -> Vector:
    """QuantEcon makes the matrix dense."""
    from quantecon.markov.gth_solve import gth_solve

    return gth_solve(P.toarray())


def ours_dense(P: Chain) -> Vector:
    """Blocked state reduction."""
    return stationary_dense(P.toarray())


def error(P: Chain, reference: Vector | None, pi: Vector) -> float:
    """Largest relative error of states above 1e-290, or residual in extended precision."""
    if reference is not None:
        keep = reference > 1e-290
        return float(np.max(np.abs(pi - reference)[keep] / reference[keep]))
    keep = pi > 1e-290
    gap = np.abs(P.T.tocsr().astype(np.longdouble) @ pi.astype(np.longdouble) - pi)
    return float(np.max(gap[keep] / pi[keep]))


def pydtmc_chain(P: Chain) -> Vector:
    """PyDTMC, from the matrix to the distribution."""
    import pydtmc

    return np.asarray(pydtmc.MarkovChain(P.toarray()).stationary_distributions[0])


#: Route, the largest chain that it can take, and what pip installs.
METHODS: tuple[tuple[str, Callable[[Chain], Vector], int, str], ...] = (
    ("ours, sparse", stationary_sparse, 10**6, ""),
    ("ours, dense", ours_dense, 4000, ""),
    ("SciPy sparse LU, a row replaced", replaced_row, 10**4, ""),
    ("SciPy sparse LU, first state pinned", pinned_first, 10**6, ""),
    ("SciPy sparse LU, last state pinned", pinned_last, 10**6, ""),
    ("QuantEcon gth_solve", quantecon_gth, 4000, "quantecon"),
    ("PyDTMC", pydtmc_chain, 1000, "PyDTMC"),
)


def main(largest: int = 10**6) -> None:
    """Print and store the table."""
    warnings.simplefilter("ignore")  # of peers that divide by nothing
    for n in (n for n in (1000, 4000, 10**5, 10**6) if n <= largest):
        P = window_chain(n)
        reference = stationary_dense(P.toarray()) if n <= 4000 else None
        wrong = partial(error, P, reference)
        routes = [
            Route(name, partial(method, P), 1, wrong, package) for name, method, top, package in METHODS if n <= top
        ]
        compare(f"AIMD window chain with timeouts, {n:,} states", "a chain", routes)


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**6)
