"""Has this chain a unique stationary law? Checks that name the state when it has not.

In a sparse matrix a *stored* zero is read as a probability below the double range: it connects states, and is
not a missing transition. In a dense matrix a zero is a missing transition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tcpdynamics.errors import shown

from ..problems import ChainError
from ..problems.chain import check_matrix_kind

#: Rows may miss one by this much plus ROW_PER_ENTRY for each entry: rounding of the entries and of their sum
#: stays below 4 eps per entry, and probabilities typed with twelve digits pass.
ROW_FLOOR = 1e-12
ROW_PER_ENTRY = 4 * float(np.finfo(float).eps)

Labels = Sequence[str] | None
IntArray = npt.NDArray[np.int64]


def checked_csr(P: Any) -> Any:
    """A SciPy sparse matrix as CSR of floats whose indices all lie inside it; compiled code relies on that.

    CSR is used without a copy. Duplicate entries stay as they are.

    Raises
    ------
    ChainError
        Not a square matrix of real numbers, or index arrays that do not fit together.
    """
    check_matrix_kind(P)
    if len(P.shape) != 2 or P.shape[0] != P.shape[1] or P.shape[0] == 0:
        raise ChainError(f"transitions must be a square matrix, got shape {P.shape}")
    try:
        _check_format(P)
        csr = P.tocsr()
        _check_format(csr)
    except (ValueError, TypeError, IndexError, AttributeError, OverflowError) as error:
        raise ChainError(
            f"the sparse matrix is malformed: {shown(' '.join(str(error).split()))}; build it anew from its entries"
        ) from None
    return csr.astype(np.float64, copy=False)


def _check_format(P: Any) -> None:
    """Raise ValueError for arrays of a sparse matrix that SciPy's own compiled code would read beyond."""
    n, m = P.shape
    if hasattr(P, "check_format"):  # CSR, CSC, BSR
        if P.indptr.ndim != 1 or P.indices.ndim != 1 or P.indptr.dtype.kind != "i" or P.indices.dtype.kind != "i":
            raise ValueError("indptr and indices must be one row of integers each")
        if P.indptr.size and (P.indptr[0] != 0 or P.indptr[-1] > len(P.indices) or (np.diff(P.indptr) < 0).any()):
            raise ValueError("indptr must start with 0, not fall, and end within the indices")
        P.check_format(full_check=True)
    elif P.format == "coo":
        row, column = P.row, P.col
        if not row.shape == column.shape == P.data.shape or row.ndim != 1:
            raise ValueError("row, column and data must be of one length")
        if row.size and (row.min() < 0 or row.max() >= n or column.min() < 0 or column.max() >= m):
            raise ValueError("an index lies outside the matrix")
    elif P.format == "dia":
        if P.data.ndim != 2 or P.offsets.ndim != 1 or P.data.shape[0] != P.offsets.size:
            raise ValueError("one offset a diagonal is needed")
        if np.unique(P.offsets).size != P.offsets.size:
            raise ValueError("an offset is listed twice")
    elif P.format == "lil":
        for columns, values in zip(P.rows, P.data, strict=True):
            if len(columns) != len(values) or any(not 0 <= j < m for j in columns):
                raise ValueError("an index lies outside the matrix")
        if len(P.rows) != n:
            raise ValueError("one list a row is needed")
    elif P.format == "dok":
        if any(not (0 <= i < n and 0 <= j < m) for i, j in P.keys()):
            raise ValueError("an index lies outside the matrix")


def check_rows(P: Any, labels: Labels = None, tolerance: float | None = None) -> None:
    """Raise unless every entry is a probability and every row sums to one.

    Parameters
    ----------
    P : (n, n) float array or SciPy sparse matrix
    labels : sequence of n str, optional
        Names of the states for the message; default their positions.
    tolerance : float, optional
        Largest |row sum - 1|; default 1e-12 + 4 eps times the number of entries of the row.

    Raises
    ------
    ChainError
        Naming the first bad entry, else the first bad row, and its value.

    Examples
    --------
    >>> check_rows(np.array([[0.5, 0.48], [1.0, 0.0]]), ["up", "down"])
    Traceback (most recent call last):
    ...
    tcpdynamics.errors.ChainError: row 'up' sums to 0.98, not 1: add the missing 0.02 (a self-loop?)
    """
    if hasattr(P, "tocsr"):
        csr = checked_csr(P)
        values, counts = csr.data, np.diff(csr.indptr)
        bad = np.flatnonzero(~((values >= 0) & (values < np.inf)))
        if bad.size:
            source = int(np.searchsorted(csr.indptr, bad[0], side="right")) - 1
            _bad_entry(source, int(csr.indices[bad[0]]), float(values[bad[0]]), labels)
        sums = np.asarray(csr.sum(axis=1)).ravel()
    else:
        P = np.asarray(P)
        sums, counts = P.sum(axis=1), P.shape[1]
        # The sums reveal NaN and inf, the minimum a negative entry; only then is the place looked for.
        if not (np.isfinite(sums).all() and P.min() >= 0):
            source, target = (int(i) for i in np.argwhere(~((P >= 0) & (P < np.inf)))[0])
            _bad_entry(source, target, float(P[source, target]), labels)
    allowed = ROW_FLOOR + ROW_PER_ENTRY * counts if tolerance is None else tolerance
    wrong = np.flatnonzero(~(np.abs(sums - 1) <= allowed))
    if wrong.size:
        row, total = int(wrong[0]), float(sums[wrong[0]])
        gap = f"{abs(1 - total):.6g}"
        advice = f"add the missing {gap} (a self-loop?)" if total < 1 else f"it is {gap} too large"
        raise ChainError(f"row {_name(row, labels)} sums to {total:.15g}, not 1: {advice}")


def check_irreducible(P: Any, labels: Labels = None) -> None:
    """Raise unless every state can be reached from every other.

    Parameters and labels as in `check_rows`; O(entries).

    Raises
    ------
    ChainError
        Naming an absorbing state, two closed classes, or a state that cannot be reached again.

    Examples
    --------
    >>> check_irreducible(np.array([[0.5, 0.5], [0.0, 1.0]]), ["on", "off"])
    Traceback (most recent call last):
    ...
    tcpdynamics.errors.ChainError: state 'off' is absorbing, so 'on' cannot be reached \
from it: add a transition out of 'off'
    """
    _irreducible(*_edges(P), labels)


def check_aperiodic(P: Any, labels: Labels = None) -> None:
    """Raise if an irreducible chain visits its states in a fixed cycle of classes.

    A positive diagonal entry settles it; otherwise the period is the greatest common divisor of
    `level[i] + 1 - level[j]` over all transitions i -> j, with levels counted from state 0 breadth first.
    Stored zeros do not count here.

    Raises
    ------
    ChainError
        Naming the period and one state of each of the first classes.

    Examples
    --------
    >>> check_aperiodic(np.array([[0.0, 1.0], [1.0, 0.0]]))
    Traceback (most recent call last):
    ...
    tcpdynamics.errors.ChainError: the chain has period 2: it visits states 0 -> 1 and so on \
in a fixed cycle; a self-loop would break it
    """
    P = checked_csr(P) if hasattr(P, "tocsr") else P
    if (P.diagonal() if hasattr(P, "diagonal") else np.diagonal(P)).any():
        return
    _aperiodic(*_edges(P, positive=True), labels)


def check_edges(
    n: int, sources: npt.ArrayLike, targets: npt.ArrayLike, labels: Labels = None, *, aperiodic: bool = False
) -> None:
    """`check_irreducible`, and on request `check_aperiodic`, for a list of edges, as of a symbolic chain.

    Parameters
    ----------
    n : int
        Number of states, > 0.
    sources, targets : (m,) int arrays
        Edge e goes from sources[e] to targets[e].
    labels : sequence of n str, optional
    aperiodic : bool
        Ask for it only where self-loops are listed: a diagonal left to be filled in would not be seen.

    Raises
    ------
    ChainError

    Examples
    --------
    >>> check_edges(3, [0, 1, 2], [1, 2, 0])
    >>> check_edges(2, [0], [1], ["start", "stop"])
    Traceback (most recent call last):
    ...
    tcpdynamics.errors.ChainError: state 'stop' is absorbing, so 'start' cannot be reached \
from it: add a transition out of 'stop'
    """
    edges = np.asarray(sources, np.int64), np.asarray(targets, np.int64)
    _irreducible(n, *edges, labels)
    if aperiodic and not (edges[0] == edges[1]).any():
        _aperiodic(n, *edges, labels)


def _name(state: int, labels: Labels) -> str:
    return str(state) if labels is None else shown(labels[state], 100)


def _bad_entry(source: int, target: int, value: float, labels: Labels) -> None:
    problem = "a probability is finite" if not np.isfinite(value) else "a probability is not negative"
    transition = f"{_name(source, labels)} -> {_name(target, labels)}"
    raise ChainError(f"transition {transition} has value {value:.6g}: {problem}")


def _edges(P: Any, positive: bool = False) -> tuple[int, IntArray, IntArray]:
    """Number of states, sources and targets."""
    if not hasattr(P, "tocoo"):
        sources, targets = np.nonzero(np.asarray(P))
    else:
        coo = checked_csr(P).tocoo()
        keep = coo.data > 0 if positive else slice(None)
        sources, targets = coo.row[keep], coo.col[keep]
    return int(P.shape[0]), sources, targets


def _pattern(n: int, sources: IntArray, targets: IntArray) -> Any:
    from scipy.sparse import coo_array

    return coo_array((np.ones(sources.size, np.int8), (sources, targets)), shape=(n, n)).tocsr()


def _irreducible(n: int, sources: IntArray, targets: IntArray, labels: Labels) -> None:
    from scipy.sparse.csgraph import connected_components

    classes, member = connected_components(_pattern(n, sources, targets), directed=True, connection="strong")
    if classes == 1:
        return
    leaving = member[sources] != member[targets]
    closed = np.setdiff1d(np.arange(classes), member[sources[leaving]])
    inside = int(np.argmax(member == closed[0]))
    name = _name(inside, labels)
    if closed.size > 1:
        other = _name(int(np.argmax(member == closed[1])), labels)
        raise ChainError(
            f"states {name} and {other} lie in two closed classes, neither reachable from the other: "
            "solve each class as a chain of its own, or add a transition between them"
        )
    outside = _name(int(np.argmax(member != closed[0])), labels)
    if (member == closed[0]).sum() == 1:
        raise ChainError(
            f"state {name} is absorbing, so {outside} cannot be reached from it: add a transition out of {name}"
        )
    raise ChainError(
        f"state {outside} cannot be reached from {name}: it is transient; remove it or add a transition to it"
    )


def _aperiodic(n: int, sources: IntArray, targets: IntArray, labels: Labels) -> None:
    level = _levels(n, sources, targets)
    reached = level[sources] >= 0
    period = int(np.gcd.reduce(np.abs(level[sources[reached]] + 1 - level[targets[reached]]), initial=0))
    if period > 1:
        some = " -> ".join(_name(int(np.argmax(level == c)), labels) for c in range(min(period, 3)))
        raise ChainError(
            f"the chain has period {period}: it visits states {some} and so on in a fixed cycle; "
            "a self-loop would break it"
        )


def _levels(n: int, sources: IntArray, targets: IntArray) -> IntArray:
    """Breadth-first distance of each state from state 0; -1 where there is no path."""
    from scipy.sparse.csgraph import breadth_first_order

    order, parent = breadth_first_order(_pattern(n, sources, targets), 0, directed=True)
    reached = np.zeros(n, bool)
    reached[order] = True
    jump = np.where(reached, parent, 0).astype(np.int64)
    jump[0] = 0
    level = np.where(reached, 1, 0).astype(np.int64)
    level[0] = 0
    while jump.any():  # doubling: each round looks twice as far up the tree
        level += level[jump]
        jump = jump[jump]
    level[~reached] = -1
    return level
