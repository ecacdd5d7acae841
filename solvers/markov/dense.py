"""Stationary law of a dense chain, right in every component.

State reduction after Grassmann, Taksar and Heyman [1]_: states are eliminated one by one, each leaving a
smaller chain that watches the process only while it is in the states that remain. Nothing is ever subtracted,
so every component has a small *relative* error, however small it is itself [2]_.

.. [1] W. K. Grassmann, M. I. Taksar, D. P. Heyman, "Regenerative analysis and steady state distributions for
   Markov chains", Operations Research 33(5), 1985; doi 10.1287/opre.33.5.1107
.. [2] C. A. O'Cinneide, "Entrywise perturbation theory and error analysis for Markov chains", Numerische
   Mathematik 65, 1993; doi 10.1007/BF01385735
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from tcpdynamics.limits import check_work

from ..problems import ChainError
from ..problems.chain import check_matrix_kind
from .structure import Labels, check_aperiodic, check_irreducible, check_rows

Vector = npt.NDArray[np.float64]
Diagnosis = Callable[[], None]

#: States eliminated at a time; their effect on the rest is one matrix product. Chains of up to three blocks
#: go at once.
BLOCK = 128
_STRIP = 1024  # rows of the product formed at a time: bounds its memory, and keeps calls of threaded BLAS few


def stationary_dense(P: npt.ArrayLike, labels: Labels = None, *, aperiodic: bool = True) -> Vector:
    """Stationary law of an irreducible chain.

    Eliminates blocks of states: the update of the remaining chain is a product of non-negative matrices and
    goes through BLAS, which changes the order of the additions of [1]_ and nothing else.

    Parameters
    ----------
    P : (n, n) float array, rows sum to 1
        The diagonal is checked with its row but not used otherwise.
    labels : sequence of n str, optional
        Names of the states for error messages.
    aperiodic : bool
        Also refuse periodic chains, whose law is a time average but not a limit.

    Returns
    -------
    (n,) float array
        Sums to 1. The relative error of each component is of order n**2 eps at worst, a few eps typically, whatever
        the sizes of the entries. Components below 2.2e-308 are zero.

    Raises
    ------
    ChainError
        For rows that are not probabilities, reducible chains, periodic chains.

    Examples
    --------
    >>> stationary_dense([[0.9, 0.1], [0.3, 0.7]])
    array([0.75, 0.25])
    """
    check_matrix_kind(np.asanyarray(P))
    A = np.array(P, dtype=np.float64, order="C")
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.size == 0:
        raise ChainError(f"transitions must be a square matrix, got shape {A.shape}")
    check_work(f"elimination of {A.shape[0]:,} states", A.shape[0] ** 3.0 / 3, "give it as a sparse matrix")
    check_rows(A, labels)
    if aperiodic and not np.diagonal(A).any():
        check_irreducible(A, labels)
        check_aperiodic(A, labels)
    solved = eliminate(A)
    if solved is None:
        solved = _in_wide_numbers(np.asarray(P, dtype=np.float64), labels)
    if not solved[0].all():  # a state that nothing enters
        check_irreducible(np.asarray(P), labels)
    return normalised(*solved)


def _in_wide_numbers(P: Vector, labels: Labels) -> tuple[Vector, npt.NDArray[np.int64]]:
    from scipy.sparse import csr_array

    from .wide import stationary_wide

    solved = stationary_wide(csr_array(P), memory=max(2**30, 40 * P.size))
    if isinstance(solved, int):
        refuse(lambda: check_irreducible(P, labels))
    return solved


def stationary_dense_numpy(P: npt.ArrayLike) -> Vector:
    """The readable twin of `stationary_dense`: the algorithm of [1]_ in five lines of NumPy.

    Checks nothing, and needs all of its intermediate ratios to lie within the double range.

    Examples
    --------
    >>> stationary_dense_numpy([[0.9, 0.1], [0.3, 0.7]])
    array([0.75, 0.25])
    """
    A = np.array(P, dtype=np.float64)
    n = A.shape[0]
    # Elimination: what enters state k leaves it to lower states in the proportions of row k.
    for k in range(n - 1, 0, -1):
        A[:k, k] /= A[k, :k].sum()
        A[:k, :k] += np.outer(A[:k, k], A[k, :k])
    # Back-substitution: flow into state k from lower states, over its outflow.
    x = np.ones(n)
    for k in range(1, n):
        x[k] = x[:k] @ A[:k, k]
    x /= x.sum()
    return x


def eliminate(A: Vector) -> tuple[Vector, npt.NDArray[np.int64]] | None:
    """Probabilities relative to state 0 as value * 2**(500 * level); overwrites A.

    None where doubles do not do: a state has no way to lower ones, or a product may have fallen below their range.
    """
    from .kernels import gth_back, gth_panel, too_small

    last = n = A.shape[0]
    while last > 0:
        first = 0 if last <= 3 * BLOCK else last - BLOCK
        if gth_panel(A, first, last) >= 0:
            return None
        for top in range(0, first, _STRIP):
            rows = slice(top, min(top + _STRIP, first))
            A[rows, :first] += A[rows, first:last] @ A[first:last, :first]
        last = first
    if too_small(A):
        return None
    flow, level = np.empty(n), np.empty(n, np.int64)
    gth_back(A, flow, level)
    return flow, level


def refuse(diagnose: Diagnosis) -> NoReturn:
    """A state has no way out: say which if that is the structure, else blame probabilities that are stored as zero."""
    diagnose()
    raise ChainError("states are connected only by probabilities that are stored as zero: merge or remove them")


def normalised(flow: Vector, level: npt.NDArray[np.int64]) -> Vector:
    """The law that value * 2**(500 * level) is proportional to."""
    from .kernels import combine

    pi: Vector = combine(flow, level)
    pi /= pi.sum()
    pi[pi < np.finfo(np.float64).tiny] = 0.0  # a subnormal number has lost digits
    return pi
