"""Where a chain is after t epochs, and how fast it forgets where it began."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tcpdynamics.errors import bare, shown
from tcpdynamics.limits import MAX_WORK, check_work

from ..grid import SINGLE, Grid
from ..problems import ChainError, ChainModel, MarkovChain
from ..results import Status, solved
from .entries import Entrywise, as_chain, checked_matrix, entrywise, explicit, numeric_states, refuse_failed
from .first_passage import MAX_TIME, SCALE, check_epochs, check_numeric_epochs, whole_times

#: Chains up to this size get all their eigenvalues; larger sparse ones the few largest.
DENSE_EIGENVALUES = 2000
#: Smallest gap that eigenvalues of such a chain resolve.
LEAST_GAP = 1e-12
_UNIT = 2.0**480


def transient(
    problem: MarkovChain | ChainModel, start: str | Mapping[str, float], times: Sequence[int], *, throw: bool = False
) -> xr.Dataset:
    """The distribution over states at given epochs.

    Parameters
    ----------
    problem : MarkovChain, or a model with `.chain()`; holding times must be whole numbers
    start : state label, or mapping label -> probability (summing to one)
    times : increasing whole numbers of epochs

    Returns
    -------
    xarray.Dataset
        `probability` (*parameter dimensions, time, state) [1], `status`. States with a holding time appear
        epoch by epoch, as
        `b`, `b+1`, ...

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import MarkovChain, transient
    >>> p = sympy.Symbol("p")
    >>> chain = MarkovChain({("up", "down"): p, ("down", "up"): 1 - p}, {"p": 0.25})
    >>> transient(chain, "up", [0, 1, 2]).probability.sel(state="up").values
    array([1.  , 0.75, 0.75])
    """
    chain = as_chain(problem)
    t = whole_times(times)
    if not chain.is_symbolic:
        n = numeric_states(chain)
        check_numeric_epochs(chain, min(int(t[-1]), _one_by_one(n)), t.size)
    labels = explicit(chain).labels
    e = entrywise(chain)
    if throw:
        refuse_failed(chain, e.grid, e.status)
    check_epochs(e, min(int(t[-1]), _one_by_one(len(labels))), t.size)
    now = np.repeat(SCALE * _start(start, labels)[:, None], e.grid.size, axis=1)
    rows = np.empty((t.size, len(labels), e.grid.size))
    elapsed = 0
    for k, at in enumerate(t):
        now = _advance(e, now, int(at) - elapsed)
        elapsed = int(at)
        rows[k] = now / SCALE
    rows[..., e.status != Status.OK] = np.nan
    probability = e.grid.variable(np.moveaxis(rows, -1, 0), "1", "probability", "time", "state")
    return solved(
        chain,
        e.grid,
        {"probability": probability},
        e.status,
        solver="transient",
        settings={"start": start},
        coords={"time": ("time", t, {"units": "epoch"}), "state": np.array(labels)},
    )


def _one_by_one(states: int) -> int:
    """Most epochs that are taken one by one: small chains have powers of their matrix."""
    return 64 if states <= 500 else MAX_TIME


def _start(start: str | Mapping[str, float], labels: Sequence[str]) -> NDArray[np.float64]:
    if not isinstance(start, str | Mapping):
        raise ChainError(f"start must be a state or a mapping state -> probability, got {shown(start)}")
    chances = {start: 1.0} if isinstance(start, str) else dict(start)
    pi = np.zeros(len(labels))
    for state, chance in chances.items():
        if state not in labels:
            raise ChainError(f"start {shown(state)} is not a state; the states are {bare(', '.join(labels[:20]), 200)}")
        if not 0 <= chance <= 1e300:
            raise ChainError(f"start gives {shown(state)} the probability {shown(chance)}; it must be >= 0")
        pi[labels.index(state)] = chance
    if abs(pi.sum() - 1) > 1e-12:
        raise ChainError(f"start must sum to one, it sums to {pi.sum():.12g}")
    return pi


def _advance(e: Entrywise, pi: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """`steps` epochs on: one by one, or by repeated squaring where that is less work."""
    n = e.stay.shape[0]
    if steps <= 64 or n > 500 or steps * e.sources.size < n**3 * np.log2(steps) / 4:
        for _ in range(steps):
            pi = e.push(pi)
        return pi
    # Powers in units of 2**-480, so that what underflows could not become a normal number.
    square: NDArray[np.float64] = e.matrices() * _UNIT
    power = np.broadcast_to(np.eye(n) * _UNIT, square.shape)
    while steps:
        if steps & 1:
            power = power @ square / _UNIT
        steps >>= 1
        square = square @ square / _UNIT if steps else square
    out: NDArray[np.float64] = np.einsum("is,sij->js", pi / _UNIT, power)
    return out


def spectral_gap(problem: MarkovChain | ChainModel, *, throw: bool = False) -> xr.Dataset:
    """Distance of the second largest eigenvalue modulus from one, and the relaxation time that follows.

    Parameters
    ----------
    problem : MarkovChain, or a model with `.chain()`; holding times must be whole numbers

    Returns
    -------
    xarray.Dataset
        `second_eigenvalue` |lambda_2| [1], `gap` 1 - |lambda_2| [1], `relaxation_time` -1/ln|lambda_2|
        [epochs], `status`.
        Absolute error about 1e-13 for chains far from defective; a gap below 1e-12 is not resolved and gives a status,
        unless the chain never forgets (a periodic chain, or one with two closed classes: gap 0).

    Raises
    ------
    ChainError
        Holding times that are no whole numbers, or, with `throw`, a point that failed.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import MarkovChain, spectral_gap
    >>> p = sympy.Symbol("p")
    >>> chain = MarkovChain({("up", "down"): p, ("down", "up"): p}, {"p": 0.25})  # eigenvalues 1, 1 - 2p
    >>> float(spectral_gap(chain).gap.round(12))
    0.5
    """
    chain = as_chain(problem)
    if not chain.is_symbolic and chain._matrix.shape[0] > DENSE_EIGENVALUES:
        second, grid, status = _largest_of_sparse(chain)
        if throw and status.any():
            raise ChainError(f"{Status.NOT_CONVERGED.sentence}: the largest eigenvalues lie too close")
    else:
        e = entrywise(chain)
        grid, status = e.grid, e.status
        if throw:
            refuse_failed(chain, grid, status)
        second = np.full(grid.size, np.nan)
        good = np.flatnonzero(status == Status.OK)
        n = e.stay.shape[0]
        if n > DENSE_EIGENVALUES:
            status = status.copy()
            second[good], status[good] = _second_of_sparse_points(e, good)
        else:
            second[good] = _second_of_dense_points(e, good)
    second = np.minimum(second, 1.0)
    unresolved = (status == Status.OK) & (second > 1 - LEAST_GAP)
    if unresolved.any() and _forgets(chain):
        status = np.where(unresolved, Status.TOO_SLOW, status).astype(np.uint8)
        second = np.where(unresolved, np.nan, second)
    with np.errstate(divide="ignore"):
        relaxation = 1 / np.abs(np.log(second))
    return solved(
        chain,
        grid,
        {
            "second_eigenvalue": grid.variable(second, "1", "second largest eigenvalue modulus"),
            "gap": grid.variable(1 - second, "1", "spectral gap"),
            "relaxation_time": grid.variable(relaxation, "epoch", "relaxation time"),
        },
        status,
        solver="spectral_gap",
        throw=throw,
        describe=lambda i: Status(status[i]).reason,
    )


def _second_of_dense_points(e: Entrywise, good: NDArray[np.intp]) -> NDArray[np.float64]:
    """The second largest modulus of all eigenvalues, point by point."""
    n = e.stay.shape[0]
    what = f"eigenvalues of {n:,} states at {good.size:,} points"
    check_work(what, 25.0 * n**3 * good.size, "ask for fewer points")
    second = np.zeros(good.size)
    block = max(1, 20_000_000 // n**2)
    for low in range(0, good.size, block):
        points = good[low : low + block]
        part = Entrywise(e.grid, e.sources, e.targets, e.rates[:, points], e.stay[:, points], e.status[points])
        moduli = np.sort(np.abs(np.linalg.eigvals(part.matrices())), axis=-1)
        if moduli.shape[1] > 1:
            second[low : low + block] = moduli[:, -2]
    return second


def _second_of_sparse_points(e: Entrywise, good: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """The same of chains with too many states for all eigenvalues: the few largest at each point, and a status."""
    import scipy.sparse as sp

    n = e.stay.shape[0]
    what = f"the largest eigenvalues of {n:,} states at {good.size:,} points"
    check_work(what, 1e4 * (e.sources.size + 20.0 * n) * good.size, "ask for fewer points")
    second, status = np.empty(good.size), np.zeros(good.size, dtype=np.uint8)
    for i, point in enumerate(good):
        moves = sp.csr_array((e.rates[:, point], (e.sources, e.targets)), shape=(n, n))
        second[i], status[i] = _second_largest(moves + sp.diags_array(e.stay[:, point]))
    return second, status


def _forgets(chain: MarkovChain) -> bool:
    """Whether a chain has one closed class without a period, so that its gap is not zero."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    from .structure import check_edges

    e = entrywise(chain)
    n = e.stay.shape[0]
    loops = np.flatnonzero((e.stay > 0).any(axis=1))
    sources, targets = np.r_[e.sources, loops], np.r_[e.targets, loops]
    graph = coo_array((np.ones(sources.size), (sources, targets)), shape=(n, n))
    count, member = connected_components(graph, directed=True, connection="strong")
    leaving = member[sources] != member[targets]
    closed = np.setdiff1d(np.arange(count), member[sources[leaving]])
    if closed.size != 1:
        return False
    inside = np.flatnonzero(member == closed[0])
    place = np.full(n, -1)
    place[inside] = np.arange(inside.size)
    within = (member[sources] == closed[0]) & ~leaving
    try:
        check_edges(inside.size, place[sources[within]], place[targets[within]], aperiodic=True)
    except ChainError:
        return False
    return True


def _largest_of_sparse(chain: MarkovChain) -> tuple[NDArray[Any], Grid, NDArray[np.uint8]]:
    second, status = _second_largest(checked_matrix(chain))
    return np.array([second]), SINGLE, np.array([status], dtype=np.uint8)


def _second_largest(matrix: Any) -> tuple[float, int]:
    """The second largest modulus of a sparse matrix's eigenvalues, and a status."""
    import scipy.sparse as sp
    from scipy.sparse.linalg import ArpackNoConvergence, eigs

    try:
        # A restart multiplies some 20 vectors; where that many do not suffice, more would take hours.
        restarts = int(MAX_WORK / (20.0 * (matrix.nnz + 20 * matrix.shape[0])))
        restarts = min(max(restarts, 1), 10 * matrix.shape[0])
        values = eigs(sp.csr_array(matrix).T, k=4, which="LM", return_eigenvectors=False, maxiter=restarts)
    except ArpackNoConvergence:
        return np.nan, int(Status.NOT_CONVERGED)
    return float(np.sort(np.abs(values))[-2]), 0
