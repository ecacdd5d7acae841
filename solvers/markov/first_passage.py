"""How long until a chain first enters a set of states, and how long it then stays there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Sized
from functools import lru_cache
from numbers import Integral
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tcpdynamics.errors import MAX_SHOWN, bare, shown
from tcpdynamics.limits import check_memory, check_work

from ..grid import SINGLE
from ..problems import ChainError, ChainModel, DomainError, MarkovChain
from ..programs.straightline import Program, run_blocks
from ..programs.wide_floats import solve_blocks
from ..results import Status, as_dataset, solved
from . import entries
from .reduction import absorbing_solve, reduce_states

#: The largest time of a distribution: one vector product an epoch.
MAX_TIME = 1_000_000
#: The largest numeric chain: elimination on a dense matrix, a minute or so.
MAX_DENSE = 4_000
#: Relative rounding of a float.
EPS = 2.0**-53
#: Roundings that the second moment and the squared mean are taken to have, in all.
MOMENT_ERROR = 16.0
#: Unit of probabilities that are followed epoch by epoch: exact, and far above the smallest float.
SCALE = 2.0**900


def first_passage(
    problem: MarkovChain | ChainModel,
    target: str | Collection[str],
    *,
    times: Sequence[int] | None = None,
    throw: bool = False,
) -> xr.Dataset:
    """Time from each state to the first visit of `target`: mean, variance and, at `times`, the distribution.

    The mean comes from state reduction without subtraction, and the variance from squares of differences of means or
    from the second moment, whichever has fewer roundings; with holding times they count epochs, not visits.
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
        `mean_time` [epochs], `variance` [epochs^2] (*parameter dimensions, state), `status`, and `distribution` [1]
        (*parameter dimensions, state, time). A mean or a variance above 1.8e308 is inf and gives its point a status;
        all others are right.

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
    >>> float(wait.mean_time.sel(state="tails")), wait.distribution.sel(state="tails").values
    (4.0, array([0.25  , 0.4375]))
    """
    chain = entries.as_chain(problem)
    if not chain.is_symbolic:
        _check_dense(chain)
    if times is not None:
        whole_times(times)
    goal = _targets(chain, target)
    if chain.is_symbolic:
        program = _passage_program(entries.expressions_of(chain), goal)
        grid = entries.grid_of(chain, program.inputs)
        values = solve_blocks(program, grid.values, grid.size)
        n = len(chain.labels)
        mean, variance = values[:n], values[n : 2 * n]
        status = entries.check_status(chain, grid, values[2 * n :], ~np.isnan(values[: 2 * n]).any(axis=0))
        status[status == Status.REDUCIBLE] = Status.NEVER_REACHED
        values[:, status != Status.OK] = np.nan
    else:
        grid = SINGLE
        status = np.zeros(1, dtype=np.uint8)
        mean, variance = _numeric_passage(chain, goal)
    infinite = np.isinf(mean).any(axis=0) | np.isinf(variance).any(axis=0)
    status[(status == Status.OK) & infinite] = Status.TOO_LARGE
    if throw:
        entries.refuse_failed(chain, grid, status)
    result = solved(
        chain,
        grid,
        {
            "mean_time": grid.variable(mean.T, "epoch", "mean time to the target", "state"),
            "variance": grid.variable(variance.T, "epoch^2", "variance of the time to the target", "state"),
        },
        status,
        solver="first_passage",
        settings={"target": [chain.labels[i] for i in goal]},
        coords={"state": np.array(chain.labels)},
    )
    return result if times is None else result.merge(_distribution(chain, goal, times, status))


def _targets(chain: MarkovChain, target: str | Collection[str]) -> tuple[int, ...]:
    names = [target] if isinstance(target, str) else [t if isinstance(t, str) else bare(t, MAX_SHOWN) for t in target]
    index = {label: i for i, label in enumerate(chain.labels)}
    for name in names:
        if name not in index:
            raise ChainError(
                f"target {shown(name)} is not a state; the states are {bare(', '.join(chain.labels[:20]), 200)}"
            )
    if not names:
        raise ChainError("target is empty; name at least one state")
    return tuple(sorted({index[name] for name in names}))


@lru_cache(maxsize=64)
def _passage_program(expressions: entries.Expressions, goal: tuple[int, ...]) -> Program:
    """Mean and variance by state, then the checks.

    With m the mean and h the holding time, the variance v solves v_i = sum_j P_ij (v_j + (h_i + m_j - m_i)^2). These
    squares do not cancel, but each has the rounding of m, and 1e30 jumps add them up. The second moment
    s_i = h_i (2 m_i - h_i) + sum_j P_ij s_j has no rounding that adds up, but s - m^2 cancels where v is far below
    m^2. Both errors are estimated, the first by the same equations, and each state takes the better way.
    """
    labels = expressions.labels
    symbolic = entries.entries_of(expressions, ergodic=False)
    b = symbolic.builder
    zero, one = b.const(0), b.const(1)
    rows = {i: dict(row) for i, row in symbolic.rows.items() if i not in goal}
    edges = np.array([(i, j) for i, row in rows.items() for j in row], dtype=np.int64).reshape(-1, 2)
    _check_reachable(edges, goal, labels)
    removals = reduce_states(b, {i: dict(row) for i, row in rows.items()}, ())
    epochs = {i: symbolic.holding.get(i, one) for i in rows}
    mean = absorbing_solve(b, removals, epochs)
    spread, slack = {}, {}
    rounding = b.const(EPS)
    for i, row in rows.items():
        stay = symbolic.loops.get(i, b.sub(one, b.total(row.values())))
        terms, errors = [b.mul(stay, b.mul(epochs[i], epochs[i]))], []
        for j, rate in row.items():
            gap = b.sub(b.add(epochs[i], mean.get(j, zero)), mean[i])
            terms.append(b.mul(rate, b.mul(gap, gap)))
            # (gap + e)^2 - gap^2 where e is the rounding of the means
            error = b.mul(rounding, b.add(mean[i], b.add(epochs[i], mean.get(j, zero))))
            size = b.apply("max", gap, b.sub(zero, gap))
            errors.append(b.mul(rate, b.mul(error, b.add(error, b.add(size, size)))))
        spread[i], slack[i] = b.total(terms), b.total(errors)
    variance, doubt = absorbing_solve(b, removals, spread), absorbing_solve(b, removals, slack)
    earned = {i: b.mul(h, b.sub(b.add(mean[i], mean[i]), h)) for i, h in epochs.items()}
    second = absorbing_solve(b, removals, earned)
    for i in rows:
        square = b.mul(mean[i], mean[i])
        apart = b.apply("max", zero, b.sub(second[i], square))
        cancelled = b.mul(b.const(MOMENT_ERROR * EPS), b.add(second[i], square))
        direct = b.apply("step", b.sub(cancelled, doubt[i]))
        variance[i] = b.add(b.mul(direct, variance[i]), b.mul(b.sub(one, direct), apart))
    n = range(len(labels))
    return b.build([*(mean.get(i, zero) for i in n), *(variance.get(i, zero) for i in n), *symbolic.checks()])


def _check_reachable(edges: NDArray[np.int64], goal: Collection[int], labels: Sequence[str]) -> None:
    """Search backwards from the target along (source, target) pairs."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    n = len(labels)
    ends = np.array(sorted(goal))
    back = np.concatenate([edges[:, ::-1], np.column_stack([np.full(ends.size, n), ends])])
    graph = coo_array((np.ones(len(back)), back.T), shape=(n + 1, n + 1)).tocsr()
    reached = breadth_first_order(graph, n, return_predecessors=False)
    lost = np.setdiff1d(np.arange(n), reached)
    if lost.size:
        raise ChainError(f"the target cannot be reached from state {shown(labels[lost[0]])}: its time is infinite")


def _check_dense(chain: MarkovChain) -> None:
    """Refuse a numeric chain whose elimination would take too long. Raises ChainError."""
    n = entries.numeric_states(chain)
    if n > MAX_DENSE:
        raise ChainError(f"passage times of a numeric chain fill its matrix: at most {MAX_DENSE:,} states, got {n:,}")


def _numeric_passage(chain: MarkovChain, goal: tuple[int, ...]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The same elimination on rows of numbers that neither under- nor overflow."""
    from scipy.sparse import csr_array

    from .elimination import Chain
    from .wide import absorb_wide, as_floats, eliminate_wide, wide_choice, wide_spread, zeros

    e = entries.entrywise(chain)
    n = e.stay.shape[0]
    outside = np.setdiff1d(np.arange(n), goal)
    _check_reachable(np.column_stack([e.sources, e.targets]), goal, chain.labels)
    mean, variance = np.zeros((n, 1)), np.zeros((n, 1))
    # The target is one state, the first.
    place = np.zeros(n, dtype=np.int64)
    place[outside] = np.arange(1, outside.size + 1)
    off = (place[e.sources] > 0) & (place[e.sources] != place[e.targets])
    shape = (outside.size + 1, outside.size + 1)
    Q = csr_array((e.rates[off, 0], (place[e.sources[off]], place[e.targets[off]])), shape=shape)
    factors = eliminate_wide(Q, 40 * MAX_DENSE**2)
    if isinstance(factors, int):
        raise ChainError(f"state {shown(chain.labels[outside[factors - 1]])} is left with probability zero")
    average = absorb_wide(factors, zeros(shape[0])._replace(value=np.ones(shape[0])))
    stay = np.r_[0.0, e.stay[outside, 0]]
    sources = tuple(zeros(shape[0]) for _ in range(3))  # of the variance, its error and the second moment
    wide_spread(Chain(Q.indptr, Q.indices, Q.data), stay, average, EPS, *sources)
    squares, doubt, second = (absorb_wide(factors, source) for source in sources)
    wide_choice(average, squares, doubt, second, MOMENT_ERROR * EPS)
    mean[outside, 0] = as_floats(*average)[1:]
    variance[outside, 0] = as_floats(*squares)[1:]
    return mean, variance


def number_of(times: Any) -> int:
    """How many times there are, without an array of them."""
    return len(times) if isinstance(times, Sized) and not hasattr(times, "dtype") else int(np.size(times))


def whole_times(times: Sequence[int]) -> NDArray[np.int64]:
    """Check a list of epochs: whole numbers, none missing, increasing, within MAX_TIME."""
    if isinstance(times, np.ma.MaskedArray):
        raise DomainError("times are a masked array, and no time may be missing; give times.compressed()")
    if number_of(times) > MAX_TIME + 1:  # looked at before anything is made of them
        raise DomainError(f"times must be at most {MAX_TIME + 1:,} numbers, got {number_of(times):,}; ask for fewer")
    t = np.atleast_1d(np.asarray(times))
    truths = isinstance(times, Sequence) and any(isinstance(x, bool | np.bool_) for x in times)
    if truths or t.size == 0 or t.dtype.kind not in "iu" or (t < 0).any() or (np.diff(t) <= 0).any():
        raise DomainError(f"times must be increasing whole numbers of epochs >= 0, got {shown(times)}")
    if t[-1] > MAX_TIME:
        raise DomainError(f"times must not exceed {MAX_TIME:,} epochs, got {t[-1]:,}; use the stationary law")
    return t.astype(np.int64)


def _distribution(
    chain: MarkovChain, goal: Collection[int], times: Sequence[int], status: NDArray[np.uint8]
) -> xr.Dataset:
    t = whole_times(times)
    names = [chain.labels[i] for i in goal]
    labels = entries.explicit(chain).labels
    e = entries.entrywise(chain)
    check_epochs(e, int(t[-1]), t.size)
    inside = np.array([entries.origin(s, chain) in names for s in labels])
    named = [i for i, s in enumerate(labels) if s in set(chain.labels)]
    done = np.zeros((len(labels), e.grid.size))
    done[inside] = SCALE  # what trickles in below the normal range may add up to a number inside it
    rows = np.empty((t.size, len(named), e.grid.size))
    now = 0
    for k, at in enumerate(t):
        for _ in range(at - now):
            done = e.expect(done)
            done[inside] = SCALE
        now = at
        rows[k] = done[named] / SCALE
    rows[..., (status != Status.OK) & (status != Status.TOO_LARGE)] = np.nan
    meaning = "probability of having reached the target by then"
    dims, data, attrs = e.grid.variable(rows.T, "1", meaning, "state", "time")
    coords = {"state": np.array(labels)[named], "time": ("time", t, {"units": "epoch"})}
    array = xr.DataArray(data, coords, dims, attrs=attrs)
    array = array.reindex(state=np.array(chain.labels))
    for state in [s for s in chain.labels if s not in labels]:  # held for no time: what follows decides
        array.loc[{"state": state}] = _onward(chain, state, array)
    return as_dataset({"distribution": array})


def check_epochs(e: entries.Entrywise, epochs: int, times: int) -> None:
    """Refuse more epoch-by-epoch work, or more rows to keep, than one request may take."""
    states, size = e.stay.shape
    check_epochs_of(states, e.sources.size, size, epochs, times)


def check_numeric_epochs(chain: MarkovChain, epochs: int, times: int) -> None:
    """As `check_epochs`, before the entries of a large matrix are looked at one by one."""
    if not chain.is_symbolic:
        check_epochs_of(entries.numeric_states(chain), entries.stored(chain), 1, epochs, times)


def check_epochs_of(states: int, transitions: int, size: int, epochs: int, times: int) -> None:
    """What `check_epochs` refuses, by the sizes alone. Raises LimitError."""
    what = f"{epochs:,} epochs of a chain with {states:,} states at {size:,} points"
    check_work(what, 4.0 * epochs * (transitions + states) * size, "ask for fewer points or earlier times")
    check_memory(
        f"{times:,} times of {states:,} states at {size:,} points", 16.0 * times * states * size, "ask for fewer"
    )


def _onward(chain: MarkovChain, state: str, array: xr.DataArray) -> Any:
    """The distribution from a state that is left at once: the mean over where it leads."""
    index = chain.labels.index(state)
    program, edges, _ = entries.entry_program(entries.expressions_of(chain))
    grid = entries.grid_of(chain, program.inputs)
    rates = np.empty((len(program.outputs), grid.size))
    run_blocks(program, grid.values, grid.size, rates)
    out = [(rates[k], j) for k, (i, j) in enumerate(edges) if i == index]
    total = sum(rate for rate, _ in out)
    shares = [xr.DataArray(grid.unflatten(rate / total), dims=grid.dims) for rate, _ in out]
    return sum(share * array.sel(state=chain.labels[j], drop=True) for share, (_, j) in zip(shares, out, strict=True))


def sojourn(problem: MarkovChain | ChainModel, states: Collection[str], *, longest: int) -> xr.Dataset:
    """The distribution of the stays of a stationary chain in a set of states, such as silences in silent states.

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

    Raises
    ------
    ChainError
        States that are not in the chain, or all of them.
    DomainError
        A longest length that is no whole number of epochs from 1 to 10^6.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import MarkovChain
    >>> p = sympy.Symbol("p")
    >>> chain = MarkovChain({("on", "off"): p, ("off", "on"): 2 * p}, {"p": 0.25})
    >>> sojourn(chain, ["off"], longest=2).probability.values.tolist()
    [0.5, 0.25]
    """
    from .stationary import stationary

    chain = entries.as_chain(problem)
    if isinstance(states, str) or not isinstance(states, Iterable) or getattr(states, "ndim", 1) == 0:
        raise ChainError(f"states must be a list of labels, got {shown(states)}")
    names = {chain.labels[i] for i in _targets(chain, list(states))}
    if isinstance(longest, bool) or not isinstance(longest, Integral) or not 1 <= longest <= MAX_TIME:
        raise DomainError(f"longest must be a whole number of epochs in [1, {MAX_TIME:,}], got {shown(longest)}")
    expanded = entries.explicit(chain)
    e = entries.entrywise(chain)
    check_epochs(e, int(longest), 1)
    law = stationary(expanded)
    pi = np.moveaxis(law.probability.values, -1, 0).reshape(len(expanded.labels), -1)
    inside = np.array([entries.origin(s, chain) in names for s in expanded.labels])
    outside = np.where(inside[:, None], 0.0, pi)
    staying = np.where(inside[:, None], e.push(outside * SCALE), 0.0)
    visits = staying.sum(axis=0)
    status = np.maximum(e.status, law.status.values.reshape(-1))
    status[(status == Status.OK) & ~(visits >= 2.0**-960 * SCALE)] = Status.TOO_RARE
    with np.errstate(invalid="ignore", divide="ignore"):  # states that are never visited have no stays: NaN
        staying = staying / visits * SCALE
    visits = visits / SCALE
    staying[:, status != Status.OK] = np.nan
    visits[(status != Status.OK) & (status != Status.TOO_RARE)] = np.nan
    ended = np.empty((longest, e.grid.size))
    for k in range(longest):
        onward = e.push(staying)
        ended[k] = np.where(inside[:, None], 0.0, onward).sum(axis=0)
        staying = np.where(inside[:, None], onward, 0.0)
    longer = (staying / SCALE).sum(axis=0)
    length = ("length", np.arange(1, longest + 1), {"units": "epoch", "long_name": "length of a stay"})
    beyond = f"probability of a stay of more than {longest} epochs"
    return solved(
        chain,
        e.grid,
        {
            "probability": e.grid.variable((ended / SCALE).T, "1", "probability of a stay", "length"),
            "longer": e.grid.variable(longer, "1", beyond),
            "visits": e.grid.variable(visits, "1/epoch", "how often a stay begins"),
        },
        status,
        solver="sojourn",
        settings={"states": sorted(names)},
        coords={"length": length},
    )
