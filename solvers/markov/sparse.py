"""Stationary law of a large sparse chain, right in every component.

Three ways, tried in this order; none subtracts, so small probabilities are as exact as large ones:

1. *Nearly skip-free* chains, which climb one state at a time apart from jumps into a few states at the head
   of the order: TCP windows, with or without timeouts. Cut equations need O(n) additions, without fill-in.
2. *Banded* chains: state reduction inside the band.
3. Any other: state reduction row by row in an order that keeps fill-in small.

Chains of up to `SMALL` states are made dense. State reduction is that of Grassmann, Taksar and Heyman, see
`dense`. Cut equations, as for birth-death processes: the flow up across each cut equals the flow down.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..problems import ChainError
from . import structure
from .dense import Diagnosis, Vector, eliminate, normalised, refuse

Levels = npt.NDArray[np.int64]
Solved = tuple[Vector, Levels]

SMALL = 100
#: Smallest and largest head block of a nearly skip-free chain. It is made dense, and flows into it are
#: compensated.
HEAD = 64, 1000
#: Largest (lower bandwidth) x (upper bandwidth) solved inside the band without looking for a better order.
BAND = 1000
#: Smallest entry that cut equations take.
LEAST = 2.0**-700
#: Smallest flow from the tail into the head that is used, relative to the probability of the last head state.
SMALLEST_FLOW = 2.0**-480
#: More operations than any elimination takes.
ALL_AT_ONCE = 2**62


def stationary_sparse(
    P: Any, labels: structure.Labels = None, *, aperiodic: bool = True, memory: int = 2**30
) -> Vector:
    """Stationary law of an irreducible sparse chain.

    Parameters
    ----------
    P : (n, n) SciPy sparse matrix or array of any format, rows sum to 1
        CSR is used without a copy. A stored zero counts as a probability below the double range.
    labels : sequence of n str, optional
        Names of the states for error messages.
    aperiodic : bool
        Also refuse periodic chains, whose law is a time average but not a limit.
    memory : int
        Bound on the work space for fill-in [byte].

    Returns
    -------
    (n,) float array
        Sums to 1. Components are right to about 1e-15, as measured against 36 digits up to 2e5 states, whatever the
        sizes of the entries; what lies below 2.2e-308 is zero.

    Raises
    ------
    ChainError
        For rows that are not probabilities, reducible or periodic chains, and fill-in beyond `memory`.

    Examples
    --------
    A walk on five states that climbs with probability 0.2 and falls with 0.3.

    >>> from scipy.sparse import diags_array
    >>> P = diags_array([[0.2] * 4, [0.8, 0.5, 0.5, 0.5, 0.7], [0.3] * 4], offsets=[1, 0, -1])
    >>> pi = stationary_sparse(P)
    >>> pi[1:] / pi[:-1]
    array([0.66666667, 0.66666667, 0.66666667, 0.66666667])
    """
    from .kernels import scan_rows

    csr = _csr(P)
    n = csr.shape[0]
    bad, head, foot, below, above, loops = scan_rows(
        csr.indptr, csr.indices, csr.data, structure.ROW_FLOOR, structure.ROW_PER_ENTRY
    )
    if bad >= 0:
        structure.check_rows(csr, labels)
    diagnose = partial(structure.check_irreducible, csr, labels)
    order = 0, 1
    largest_head = min(HEAD[1], n - 2) if n > SMALL else -1
    if head > largest_head and n - 1 - foot <= largest_head:
        head, order = n - 1 - foot, (n - 1, -1)
    if aperiodic and not loops and not (head <= largest_head and _tail_is_aperiodic(csr, head, order)):
        diagnose()
        structure.check_aperiodic(csr, labels)

    if n <= SMALL:
        solved = eliminate(csr.toarray())
    elif head <= largest_head:
        solved = _by_cuts(csr, head, order, diagnose)
    elif below * above <= BAND and 8 * n * (below + above + 1) <= memory:
        solved = _banded(csr, below, above)
    else:
        solved = _with_fill_in(csr, memory)
    if solved is None:
        solved = _in_wide_numbers(csr, below * above <= BAND or n <= SMALL, memory, diagnose)
    flow, level = solved
    if not flow.all():  # underflow, or a state that nothing enters
        diagnose()
    return normalised(flow, level)


def _in_wide_numbers(csr: Any, in_place: bool, memory: int, diagnose: Diagnosis) -> Solved:
    """Where doubles do not do: a product fell below their range, or a state has no way to lower ones."""
    from .wide import stationary_wide

    n = csr.shape[0]
    order = np.arange(n) if in_place else _fill_reducing_order(csr)
    solved = stationary_wide(csr if in_place else csr[order][:, order], memory)
    if isinstance(solved, int):
        refuse(diagnose)
    flow, level = np.empty(n), np.empty(n, np.int64)
    flow[order], level[order] = solved
    return flow, level


def _csr(P: Any) -> Any:
    if not hasattr(P, "tocsr"):
        kind = type(P).__name__
        raise ChainError(f"transitions must be a SciPy sparse matrix, got {kind}: use stationary_dense")
    return structure.checked_csr(P)


# ------------------------------------------------------------------------------------------- nearly skip-free


def _tail_is_aperiodic(csr: Any, head: int, order: tuple[int, int]) -> bool:
    """True as soon as cycles inside the tail settle it; usually after a few rows."""
    from .kernels import tail_period

    return bool(tail_period(csr.indptr, csr.indices, csr.data, head, *order) == 1)


def _by_cuts(csr: Any, head: int, order: tuple[int, int], diagnose: Diagnosis) -> Solved | None:
    """Tail by cut equations from the top down, head by state reduction; states in their given order."""
    from .kernels import LEVEL_BITS, tail_flow, tail_top

    n = csr.shape[0]
    head = max(head, HEAD[0])
    arrays = csr.indptr, csr.indices, csr.data
    top, unverified = tail_top(*arrays, head, *order)
    if unverified >= 0:
        diagnose()
    entries = csr.data[: csr.indptr[top + 1]] if order[1] == 1 else csr.data[csr.indptr[n - 1 - top] :]
    smallest = entries.min()
    if (smallest or entries[entries > 0].min(initial=1.0)) < LEAST:
        return None
    value, level = np.empty(n), np.zeros(n, np.int64)
    value[top + 1 :] = 5e-324  # zero after scaling, and told apart from a state that nothing enters
    level[top + 1 :] = -(1 << 40)
    stuck, flows, lost, bound = tail_flow(*arrays, head, top, *order, value, level)
    if stuck >= 0:
        return None

    # The head as seen while the chain is in it: what state `head` sends into the tail comes back with
    # `flows`.
    origin, step = order
    rows = csr[origin : origin + head + 1] if step == 1 else csr[origin - head :][::-1]
    H = rows[:, : head + 1].toarray() if step == 1 else rows[:, origin - head :].toarray()[:, ::-1]
    back = flows / value[head]
    lost |= (flows > 0) & (back < SMALLEST_FLOW)
    back[lost] = 0.0
    H[head] += back
    # State `head` comes first, because the probabilities relative to it are wanted.
    A = np.ascontiguousarray(H[::-1, ::-1])
    out = A.sum(axis=1) - np.diagonal(A) if lost.any() else None
    solved = eliminate(A)
    if solved is None:
        return None
    if out is not None:  # harmless where much more comes from elsewhere
        with np.errstate(divide="ignore", invalid="ignore"):
            flow = np.log2(solved[0]) + LEVEL_BITS * solved[1] + np.log2(out)
            largest = max(np.log2(SMALLEST_FLOW), np.log2(bound) - np.log2(value[head]))
        if not (flow[::-1][lost] > largest + 52).all():
            return None
    ratio, ratio_level = solved
    fraction, exponent = np.frexp(value[head])
    levels, bits = divmod(int(exponent), LEVEL_BITS)  # leaves the product inside the double range
    value[: head + 1] = np.ldexp(ratio[::-1] * fraction, bits)
    level[: head + 1] = ratio_level[::-1] + level[head] + levels
    return value[::step], level[::step]


# ------------------------------------------------------------------------------------------------ elimination


def _with_fill_in(csr: Any, memory: int) -> Solved | None:
    n = csr.shape[0]
    order = _fill_reducing_order(csr)
    solved = _by_rows(csr[order][:, order], memory)
    if solved is None:
        return None
    flow, level = np.empty(n), np.empty(n, np.int64)
    flow[order], level[order] = solved
    return flow, level


def _banded(csr: Any, below: int, above: int) -> Solved | None:
    from .kernels import band_fill, band_solve

    n = csr.shape[0]
    band = np.zeros((n, below + above + 1))
    band_fill(csr.indptr, csr.indices, csr.data, below, band)
    flow, level = np.empty(n), np.empty(n, np.int64)
    return (flow, level) if band_solve(band, below, flow, level) == -1 else None


def _by_rows(csr: Any, memory: int) -> Solved | None:
    """State reduction with fill-in; the last states, once they are densely connected, by the dense solver."""
    from .elimination import Chain, check_fill_in, empty_rows, rows_back
    from .elimination import eliminate as eliminate_rows

    n = csr.shape[0]
    rows, room = empty_rows(n, 2 * csr.nnz, False)
    chain, dense = Chain(csr.indptr, csr.indices, csr.data), np.zeros((0, 0))
    state, used = n - 1, 0
    while True:
        status, state, used = eliminate_rows(chain, rows, room, False, state, used, dense, ALL_AT_ONCE)
        if status == 0:
            break
        if status == 2:
            return None
        if status == 3:
            if 16 * state**2 + 12 * rows.value.size <= memory:
                dense = np.zeros((state, state))
            state -= 1
            continue
        check_fill_in(n, 24 * rows.value.size + 16 * dense.size, memory)
        rows = rows.doubled()
    stop = max(len(dense), 1)
    flow, level = np.zeros(n), np.zeros(n, np.int64)
    solved = eliminate(dense if dense.size else np.zeros((1, 1)))
    if solved is None:
        return None
    flow[:stop], level[:stop] = solved
    return (flow, level) if rows_back(rows, stop, flow, level) else None


def _fill_reducing_order(csr: Any) -> Levels:
    """Minimum-degree order of the symmetrised pattern; hubs come first, so that they are eliminated last."""
    from scipy.sparse import csc_array, eye_array
    from scipy.sparse.linalg import spilu

    n = csr.shape[0]
    pattern = csc_array((np.ones(csr.nnz), csr.indices, csr.indptr), shape=(n, n))
    pattern = (pattern + pattern.T).tocsc()
    degree = np.diff(pattern.indptr)
    hub = degree > max(16, 10 * np.sqrt(n))  # as in AMD: such states fill everything when they go early
    inner = np.flatnonzero(~hub)
    subgraph = pattern[:, inner][inner]
    subgraph.data[:] = 1.0
    # SuperLU orders before it factorises; a diagonally dominant matrix and an incomplete factorisation keep
    # the rest cheap.
    dominant = (subgraph + eye_array(inner.size) * (2.0 * degree.max() + 1)).tocsc()
    factor = spilu(
        dominant,
        drop_tol=1.0,
        fill_factor=1.0,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    position = np.asarray(factor.perm_c)  # state rest[i] is eliminated as number position[i]
    eliminated = np.empty(inner.size, np.int64)
    eliminated[position] = inner
    return np.concatenate([np.flatnonzero(hub), eliminated[::-1]]).astype(np.int64)
