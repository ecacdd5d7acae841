"""How long until a chain first enters a set of states, and how long it then stays there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from numbers import Integral
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ..grid import Grid
from ..problems import ChainError, DomainError, MarkovChain
from ..results import provenance, raise_if_failed, status_variable
from ..straightline import Program, run_blocks
from .chains import (
    SUM_TOLERANCE,
    _entry_program,
    as_chain,
    chain_key,
    describe_point,
    domain_status,
    entries_of,
    entrywise,
    explicit,
    grid_of,
    origin,
)
from .reduction import absorbing_solve, reduce_states

#: The largest time of a distribution: one vector product an epoch.
MAX_TIME = 1_000_000
#: The largest numeric chain: elimination on a dense matrix, a minute or so.
MAX_DENSE = 4_000


def first_passage(
    problem: Any, target: str | Collection[str], *, times: Sequence[int] | None = None, throw: bool = False
) -> xr.Dataset:
    """Time from each state to the first visit of `target`: mean, variance and, at `times`, the distribution.

    The mean and the variance come from state reduction without subtraction; with holding times they count
    epochs, not visits.
    A start inside the target takes no time.

    Parameters
    ----------
    problem : MarkovChain, or a model with `.chain()`
    target : state label, or several
    times : increasing whole numbers of epochs, optional
        Where to give P(T <= t); holding times must then be whole numbers.
    throw : bool
        Raise ChainError at the first failed point instead of marking it.

    Returns
    -------
    xarray.Dataset
        `mean` [epochs], `variance` [epochs^2] (*parameter dimensions, state), `status`, and `distribution` [1]
        (*parameter dimensions, state, time).

    Raises
    ------
    ChainError
        `target` is empty, unknown, or cannot be reached from some state.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import MarkovChain, first_passage
    >>> p = sympy.Symbol("p")
    >>> coin = MarkovChain({("tails", "heads"): p, ("heads", "tails"): 1 - p}, {"p": 0.25})
    >>> wait = first_passage(coin, "heads", times=[1, 2])
    >>> float(wait["mean"].sel(state="tails")), wait.distribution.sel(state="tails").values
    (4.0, array([0.25  , 0.4375]))
    """
    chain = as_chain(problem)
    goal = _targets(chain, target)
    if chain.is_symbolic:
        program = _passage_program(chain_key(chain), goal)
        grid = grid_of(chain, program.inputs)
        values = np.empty((len(program.outputs), grid.size))
        run_blocks(program, grid.values, grid.size, values)
        n = len(chain.labels)
        mean, variance, status = values[:n], values[n : 2 * n], domain_status(chain, grid)
        least, most, off = values[2 * n :]
        status[(status == 0) & ~(least >= 0)] = 2
        status[(status == 0) & ~((most <= 1 + SUM_TOLERANCE) & (off <= SUM_TOLERANCE**2))] = 3
        status[(status == 0) & ~np.isfinite(mean.sum(axis=0) + variance.sum(axis=0))] = 4
        if throw:
            raise_if_failed(status, lambda i: describe_point(chain, grid.point(i), int(status[i])))
        mean[:, status != 0] = variance[:, status != 0] = np.nan
    else:
        grid = Grid((), (), {}, {})
        status = np.zeros(1, dtype=np.uint8)
        mean, variance = _numeric_passage(chain, goal)
    result = xr.Dataset(
        {
            "mean": _over_states(grid, mean, "epoch", "mean time to the target"),
            "variance": _over_states(grid, variance, "epoch^2", "variance of the time to the target"),
            "status": status_variable(grid, status),
        },
        coords={**grid.coords, "state": np.array(chain.labels)},
        attrs=provenance(chain, "first_passage", target=[chain.labels[i] for i in goal]),
    )
    return result if times is None else result.merge(_distribution(chain, goal, times, status))


def _targets(chain: MarkovChain, target: str | Collection[str]) -> tuple[int, ...]:
    names = [target] if isinstance(target, str) else [str(t) for t in target]
    index = {label: i for i, label in enumerate(chain.labels)}
    for name in names:
        if name not in index:
            raise ChainError(f"target {name!r} is not a state; the states are {', '.join(chain.labels[:20])}")
    if not names:
        raise ChainError("target is empty; name at least one state")
    return tuple(sorted({index[name] for name in names}))


@lru_cache(maxsize=64)
def _passage_program(key: Any, goal: tuple[int, ...]) -> Program:
    """Mean and variance by state, then the checks.

    With m the mean and h the holding time, the variance solves v_i = sum_j P_ij (v_j + (h_i + m_j - m_i)^2):
    squares, not a
    difference of moments.
    """
    labels, transitions, holding = key
    entries = entries_of(MarkovChain(dict(transitions), states=labels, holding=dict(holding)), ergodic=False)
    b = entries.builder
    zero, one = b.const(0), b.const(1)
    rows = {i: dict(row) for i, row in entries.rows.items() if i not in goal}
    edges = np.array([(i, j) for i, row in rows.items() for j in row], dtype=np.int64).reshape(-1, 2)
    _check_reachable(edges, goal, labels)
    removals = reduce_states(b, {i: dict(row) for i, row in rows.items()}, ())
    held = {i: entries.holding.get(i, one) for i in rows}
    mean = absorbing_solve(b, removals, held)
    spread = {}
    for i, row in rows.items():
        stay = entries.loops.get(i, b.sub(one, b.total(row.values())))
        terms = [b.mul(stay, b.mul(held[i], held[i]))]
        for j, rate in row.items():
            gap = b.sub(b.add(held[i], mean.get(j, zero)), mean[i])
            terms.append(b.mul(rate, b.mul(gap, gap)))
        spread[i] = b.total(terms)
    variance = absorbing_solve(b, removals, spread)
    n = range(len(labels))
    return b.build([*(mean.get(i, zero) for i in n), *(variance.get(i, zero) for i in n), *entries.checks()])


def _check_reachable(edges: NDArray[np.int64], goal: Collection[int], labels: Sequence[str]) -> None:
    """Search backwards from the target along (source, target) pairs."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    n = len(labels)
    ends = np.array(sorted(goal))
    back = np.concatenate([edges[:, ::-1], np.column_stack([np.full(ends.size, n), ends])])
    graph = coo_array((np.ones(len(back)), back.T), shape=(n + 1, n + 1)).tocsr()
    found = breadth_first_order(graph, n, return_predecessors=False)
    lost = np.setdiff1d(np.arange(n), found)
    if lost.size:
        raise ChainError(f"the target cannot be reached from state {labels[lost[0]]!r}: its time is infinite")


def _numeric_passage(chain: MarkovChain, goal: tuple[int, ...]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The same elimination on a dense array, one rank-one update a state."""
    e = entrywise(chain)
    n = e.stay.shape[0]
    if n > MAX_DENSE:
        raise ChainError(
            f"passage times of a numeric chain need a dense matrix: at most {MAX_DENSE:,} states, got {n:,}"
        )
    others = np.setdiff1d(np.arange(n), goal)
    P = np.zeros((n, n))
    P[e.sources, e.targets] = e.rates[:, 0]
    _check_reachable(np.column_stack([e.sources, e.targets]), goal, chain.labels)
    mean, variance = np.zeros((n, 1)), np.zeros((n, 1))
    mean[others, 0] = _eliminate(P, others, np.ones(others.size))
    gap = 1 + mean[:, 0][None, :] - mean[others]
    spread = e.stay[others, 0] + (P[others] * gap**2).sum(axis=1)
    variance[others, 0] = _eliminate(P, others, spread)
    return mean, variance


def _eliminate(P: NDArray[Any], others: NDArray[Any], source: NDArray[Any]) -> NDArray[Any]:
    Q = P[np.ix_(others, others)].copy()
    np.fill_diagonal(Q, 0.0)
    goal = np.setdiff1d(np.arange(P.shape[0]), others)
    exits = P[np.ix_(others, goal)].sum(axis=1)
    r = source.copy()
    m = others.size
    outflow = np.empty(m)
    for k in range(m - 1, -1, -1):
        outflow[k] = exits[k] + Q[k, :k].sum()
        share = Q[:k, k] / outflow[k]
        Q[:k, :k] += share[:, None] * Q[k, :k]
        exits[:k] += share * exits[k]
        r[:k] += share * r[k]
        Q[np.arange(k), np.arange(k)] = 0.0
    x = np.empty(m)
    for k in range(m):
        x[k] = (r[k] + Q[k, :k] @ x[:k]) / outflow[k]
    return x


def _over_states(grid: Grid, values: NDArray[Any], units: str, name: str) -> xr.DataArray:
    data = np.moveaxis(grid.unflatten(values), 0, -1)
    return xr.DataArray(data, dims=(*grid.dims, "state"), attrs={"units": units, "long_name": name})


def whole_times(times: Sequence[int]) -> NDArray[np.int64]:
    """Check a list of epochs: whole, increasing, within MAX_TIME."""
    t = np.atleast_1d(np.asarray(times))
    if t.size == 0 or t.dtype.kind not in "iu" or (t < 0).any() or (np.diff(t) <= 0).any():
        raise DomainError(f"times must be increasing whole numbers of epochs >= 0, got {times!r}")
    if t[-1] > MAX_TIME:
        raise DomainError(f"times must not exceed {MAX_TIME:,} epochs, got {t[-1]:,}; use the stationary law")
    return t.astype(np.int64)


def _distribution(
    chain: MarkovChain, goal: Collection[int], times: Sequence[int], status: NDArray[np.uint8]
) -> xr.Dataset:
    t = whole_times(times)
    names = [chain.labels[i] for i in goal]
    labels = explicit(chain).labels
    e = entrywise(chain)
    inside = np.array([origin(s, chain) in names for s in labels])
    kept = [i for i, s in enumerate(labels) if s in set(chain.labels)]
    done = np.zeros((len(labels), e.grid.size))
    done[inside] = 1.0
    rows = np.empty((t.size, len(kept), e.grid.size))
    now = 0
    for k, at in enumerate(t):
        for _ in range(at - now):
            done = e.expect(done)
            done[inside] = 1.0
        now = at
        rows[k] = done[kept]
    rows[..., status != 0] = np.nan
    data = np.moveaxis(e.grid.unflatten(rows), (0, 1), (-1, -2))
    array = xr.DataArray(
        data,
        dims=(*e.grid.dims, "state", "time"),
        coords={"state": np.array(labels)[kept], "time": ("time", t, {"units": "epoch"})},
        attrs={"units": "1", "long_name": "probability of having reached the target by then"},
    )
    array = array.reindex(state=np.array(chain.labels))
    for state in [s for s in chain.labels if s not in labels]:  # held for no time: what follows decides
        array.loc[{"state": state}] = _onward(chain, state, array)
    return xr.Dataset({"distribution": array})


def _onward(chain: MarkovChain, state: str, array: xr.DataArray) -> Any:
    """The distribution from a state that is left at once: the mean over where it leads."""
    index = chain.labels.index(state)
    program, edges, _ = _entry_program(chain_key(chain))
    grid = grid_of(chain, program.inputs)
    rates = np.empty((len(program.outputs), grid.size))
    run_blocks(program, grid.values, grid.size, rates)
    out = [(rates[k], j) for k, (i, j) in enumerate(edges) if i == index]
    total = sum(rate for rate, _ in out)
    shares = [xr.DataArray(grid.unflatten(rate / total), dims=grid.dims) for rate, _ in out]
    return sum(
        share * array.sel(state=chain.labels[j], drop=True) for share, (_, j) in zip(shares, out, strict=True)
    )


def sojourn(problem: Any, states: Collection[str], *, longest: int) -> xr.Dataset:
    """How long a stationary chain stays in a set of states, visit by visit: the law of silences, for silent states.

    Parameters
    ----------
    problem : MarkovChain, or a model with `.chain()`; holding times must be whole numbers
    states : labels
    longest : int
        Lengths 1..longest are given one by one, longer ones together in `longer`.

    Returns
    -------
    xarray.Dataset
        `probability` (*parameter dimensions, length), `longer` (*parameter dimensions) [1], `visits`
        [1/epoch]: how often such a
        stay begins.
    """
    from .stationary import stationary

    chain = as_chain(problem)
    names = {chain.labels[i] for i in _targets(chain, list(states))}
    if not isinstance(longest, Integral) or not 1 <= longest <= MAX_TIME:
        raise DomainError(f"longest must be a whole number of epochs in [1, {MAX_TIME:,}], got {longest}")
    whole = explicit(chain)
    e = entrywise(chain)
    pi = stationary(whole).probability
    flat = np.moveaxis(pi.values, -1, 0).reshape(len(whole.labels), -1)
    inside = np.array([origin(s, chain) in names for s in whole.labels])
    outside = np.where(inside[:, None], 0.0, flat)
    there = np.where(inside[:, None], e.push(outside), 0.0)
    visits = there.sum(axis=0)
    with np.errstate(invalid="ignore"):  # states that are never visited have no stays: NaN
        there = there / visits
    law = np.empty((longest, e.grid.size))
    for k in range(longest):
        onward = e.push(there)
        onward_inside = np.where(inside[:, None], onward, 0.0)
        law[k] = np.where(inside[:, None], 0.0, onward).sum(axis=0)
        there = onward_inside
    data = np.moveaxis(e.grid.unflatten(law), 0, -1)
    length = ("length", np.arange(1, longest + 1), {"units": "epoch", "long_name": "length of a stay"})
    return xr.Dataset(
        {
            "probability": (
                (*e.grid.dims, "length"),
                data,
                {"units": "1", "long_name": "probability of a stay"},
            ),
            "longer": (
                e.grid.dims,
                e.grid.unflatten(there.sum(axis=0)),
                {"units": "1", "long_name": f"probability of a stay of more than {longest} epochs"},
            ),
            "visits": (
                e.grid.dims,
                e.grid.unflatten(visits),
                {"units": "1/epoch", "long_name": "how often a stay begins"},
            ),
            "status": status_variable(e.grid, e.status),
        },
        coords={**e.grid.coords, "length": length},
        attrs=provenance(chain, "sojourn", states=sorted(names)),
    )
