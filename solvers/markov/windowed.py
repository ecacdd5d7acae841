"""Sums of a reward over L epochs: mean, variance, and the chance that nothing is earned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral, Real
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tcpdynamics.errors import bare, shown
from tcpdynamics.limits import check_memory, check_work

from ..grid import Grid
from ..problems import ChainError, ChainModel, DomainError, MarkovChain, Reward
from ..programs.straightline import Builder, Program, run_blocks
from ..results import Status, solved
from . import entries
from .stationary import stationary

MAX_LENGTH = 1_000_000
#: Points worked on together: bounds memory at a few hundred MB for chains of a thousand events.
POINTS = 4096


def windowed(
    problem: MarkovChain | ChainModel, reward: Reward | Mapping[str, float], length: int, *, throw: bool = False
) -> xr.Dataset:
    """Statistics of a reward summed over `length` epochs of a stationary chain.

    Exact second moments by recursion, with rewards measured from their mean so that no digits cancel.

    Parameters
    ----------
    problem : MarkovChain, or a model with `.chain()`; holding times must be whole numbers
    reward : Reward, or mapping state -> number earned per epoch there (states left out earn nothing)
    length : int
        L, epochs.

    Returns
    -------
    xarray.Dataset over the parameters
        `mean`, `variance` of the sum; `nothing` [1]: probability that nothing is earned in L epochs;
        `jain` [1]: mean^2 / E[sum^2], Jain's index among many independent copies of the chain over L epochs; `status`.

    Raises
    ------
    ChainError
        The reward names a transition that the chain does not have.
    DomainError
        A reward is not a finite real number.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import MarkovChain, windowed
    >>> p = sympy.Symbol("p")
    >>> coin = MarkovChain({("tails", "heads"): p, ("heads", "tails"): 1 - p}, {"p": 0.25})
    >>> tosses = windowed(coin, {"heads": 1}, 10)
    >>> float(tosses["mean"].round(9)), float(tosses.variance.round(9)), round(float(tosses.nothing), 9)
    (2.5, 1.875, 0.056313515)
    """
    joint = getattr(reward, "joint", {})
    chain = entries.as_chain(problem, *(chance for law in joint.values() for chance in law.values()))
    check_length("length", length)
    _check_reward(reward)
    if not chain.is_symbolic:
        _check_numeric(chain, length)
    law = _laws(chain, reward)
    grid, status = law.grid, law.status
    if throw:
        entries.refuse_failed(chain, grid, status)
    check_work(
        f"a window of {length:,} epochs of {law.sources.size:,} events at {grid.size:,} points",
        12.0 * length * law.sources.size * grid.size, "ask for a shorter window or fewer points",
    )  # fmt: skip
    mean, variance, nothing = (np.full(grid.size, np.nan) for _ in range(3))
    good = np.flatnonzero(status == Status.OK)
    for low in range(0, good.size, POINTS):
        at = good[low : low + POINTS]
        mean[at], variance[at], nothing[at] = _accumulate(law, at, length)
    units = reward.units if isinstance(reward, Reward) else "1"
    with np.errstate(invalid="ignore", divide="ignore", over="ignore", under="ignore"):
        deviation = np.sqrt(variance)
        larger = np.maximum(abs(mean), deviation)  # squares of shares neither over- nor underflow
        jain = (mean / larger) ** 2 / ((mean / larger) ** 2 + (deviation / larger) ** 2)
        mean, variance = mean * law.unit, variance * law.unit * law.unit
    infinite = np.isinf(mean) | np.isinf(variance)
    status = np.where(infinite & (status == Status.OK), Status.TOO_LARGE, status).astype(np.uint8)
    squared = f"{units}^2" if units != "1" else "1"
    window = f"{length} epoch" + ("s" if length != 1 else "")
    return solved(
        chain,
        grid,
        {
            "mean": grid.variable(mean, units, f"mean reward in {window}"),
            "variance": grid.variable(variance, squared, f"variance over {window}"),
            "nothing": grid.variable(nothing, "1", f"probability of nothing in {window}"),
            "jain": grid.variable(jain, "1", f"Jain's index over {window}"),
        },
        status,
        solver="windowed",
        settings={"length": length},
    )


@dataclass(frozen=True, eq=False)
class _Law:
    """Events of a chain: (source, target, reward), with their probabilities at each point."""

    grid: Grid
    status: NDArray[np.uint8]
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    rewards: NDArray[np.float64]
    chances: NDArray[np.float64]  # (events, size)
    pi: NDArray[np.float64]  # (states, size)
    unit: float  # power of two that rewards are counted in, so that the largest is about one


def check_length(name: str, length: Any) -> None:
    """Refuse what is no number of epochs, in the caller's word for it. Raises DomainError."""
    counts = isinstance(length, Integral) and not isinstance(length, bool)
    if not counts or not 1 <= length <= MAX_LENGTH:
        raise DomainError(f"{name} must be a whole number of epochs in [1, {MAX_LENGTH:,}], got {shown(length)}")


def _accumulate(law: _Law, at: NDArray[Any], length: int) -> tuple[Any, Any, Any]:
    """The recursion, backwards in time: what is still to be earned from each state."""
    chance, pi = law.chances[:, at], law.pi[:, at]
    earned = law.rewards[:, None]
    per_epoch = (pi[law.sources] * chance * earned).sum(axis=0)
    centred = _from_the_mean(law, pi[law.sources] * chance)
    dry = law.rewards == 0
    first = np.zeros_like(pi)  # E[sum of centred rewards | state]
    second = np.zeros_like(pi)
    nothing = np.ones_like(pi)
    for _ in range(length):
        ahead = first[law.targets]
        second = _collect(pi, law.sources, chance * (centred * (centred + 2 * ahead) + second[law.targets]))
        first = _collect(pi, law.sources, chance * (centred + ahead))
        nothing = _collect(pi, law.sources[dry], chance[dry] * nothing[law.targets[dry]])
    variance = (pi * second).sum(axis=0) - (pi * first).sum(axis=0) ** 2
    return length * per_epoch, np.maximum(variance, 0.0), (pi * nothing).sum(axis=0)


def _from_the_mean(law: _Law, share: NDArray[Any]) -> NDArray[Any]:
    """Rewards of the events less their mean, (events, points), by way of the reward that is earned most often.

    What that reward lacks of the mean is then a sum over the others, and right even where they have a share of 1e-200.
    """
    values, which = np.unique(law.rewards, return_inverse=True)
    weight = np.zeros((values.size, share.shape[1]))
    np.add.at(weight, which, share)
    offset = law.rewards[:, None] - values[weight.argmax(axis=0)]
    centred: NDArray[Any] = offset - (share * offset).sum(axis=0)
    return centred


def _collect(like: NDArray[Any], rows: NDArray[np.int64], values: NDArray[Any]) -> NDArray[Any]:
    out = np.zeros_like(like)
    entries.add_runs(out, rows, values)
    return out


def _laws(chain: MarkovChain, reward: Reward | Mapping[str, float]) -> _Law:
    if not chain.is_symbolic:
        return _numeric_law(chain, reward)
    joint = _joint(chain, reward)
    explicit_chain = entries.explicit(chain).declared(chain.parameters)  # some are the reward's, or became numbers
    states = explicit_chain.labels
    program, events = _event_program(entries.expressions_of(chain), entries.scalars_of(chain), joint)
    grid = entries.grid_of(chain, program.inputs)
    check_memory(
        f"{len(program.outputs):,} events at {grid.size:,} points", 24.0 * len(program.outputs) * grid.size,
        "ask for fewer points",
    )  # fmt: skip
    chances = np.empty((len(program.outputs), grid.size))
    run_blocks(program, grid.values, grid.size, chances)
    stationary_law = stationary(explicit_chain)
    pi = np.moveaxis(stationary_law.probability.values, -1, 0).reshape(len(states), -1)
    status = np.maximum(entries.domain_status(chain, grid), stationary_law.status.values.reshape(-1))
    stay = 1 - _sum_by_source(events, chances, len(states))
    _check_consistent(events, chances, stay, pi, status, states)
    impossible = (chances < 0).any(axis=0) | (stay < -1e-12).any(axis=0)
    status[(status == Status.OK) & impossible] = Status.NEGATIVE
    return _with_stays(grid, status, events, chances, stay, pi, reward, [entries.origin(s, chain) for s in states])


def _check_reward(reward: Any) -> None:
    """Raise TypeError for what is neither a Reward nor a mapping, DomainError for rewards that are no real numbers."""
    if isinstance(reward, Reward):
        return
    if not isinstance(reward, Mapping):
        raise TypeError(
            f"reward must be a Reward or a mapping state -> number, got {type(reward).__name__}: give "
            "dict(zip(chain.labels, values)) for an array"
        )
    for state, earned in reward.items():
        plain = np.ndim(earned) == 0 and not isinstance(earned, np.ma.MaskedArray)
        kind = getattr(getattr(earned, "dtype", None), "kind", "")
        real = isinstance(earned, Real) or getattr(earned, "is_real", False) or kind in tuple("biuf")
        if not (plain and real):
            raise DomainError(f"the reward of state {shown(state, 60)} must be a real number, got {shown(earned)}")


def _joint(chain: MarkovChain, reward: Reward | Mapping[str, float]) -> tuple[Any, ...]:
    """The chain's transitions as events; those that the reward does not mention earn nothing."""
    events: entries.Events = {edge: {0: e} for edge, e in chain._expressions.items()}
    if isinstance(reward, Reward):
        for edge, law in reward.joint.items():
            if edge not in events and edge[0] != edge[1]:
                raise ChainError(
                    f"the reward names {bare(edge[0])} -> {bare(edge[1])}, which is not a transition of the chain"
                )
            events[edge] = dict(law)
    else:
        unknown = set(reward) - set(chain.labels)
        if unknown:
            raise ChainError(f"the reward names {shown(min(map(str, unknown)))}, which is not a state")
    return tuple((edge, tuple(law.items())) for edge, law in events.items())


@lru_cache(maxsize=32)
def _event_program(
    expressions: entries.Expressions, scalars: tuple[tuple[str, float], ...], joint: Any
) -> tuple[Program, tuple[tuple[int, int, int], ...]]:
    """Probabilities of the events of the explicit chain, and its events: (source, target, reward)."""
    from ..programs.from_sympy import emit

    events, states = entries.explicit_events(expressions, scalars, {edge: dict(law) for edge, law in joint})
    index = {s: i for i, s in enumerate(states)}
    builder = Builder()
    steps = {(index[s], index[t], r): emit(builder, e) for (s, t), law in events.items() for r, e in law.items()}
    return builder.build(list(steps.values())), tuple(steps)


def _sum_by_source(events: Any, chances: NDArray[Any], n: int) -> NDArray[Any]:
    total = np.zeros((n, chances.shape[1]))
    np.add.at(total, np.array([e[0] for e in events]), chances)
    return total


def _check_consistent(
    events: Any, chances: NDArray[Any], stay: NDArray[Any], pi: NDArray[Any], status: NDArray[Any], states: Any
) -> None:
    """A reward's events must move the chain as its transitions do: then its law is stationary under them."""
    sources, targets = np.array(events)[:, :2].T
    inflow = stay * pi
    np.add.at(inflow, targets, chances * pi[sources])
    wrong = (abs(inflow - pi) > 1e-9) & (status == Status.OK)
    if wrong.any():
        state = states[int(np.argwhere(wrong)[0][0])]
        raise ChainError(f"the reward's probabilities into state {state!r} are not those of the chain's transitions")


def _with_stays(
    grid: Grid,
    status: NDArray[np.uint8],
    events: Any,
    chances: NDArray[Any],
    stay: NDArray[Any],
    pi: NDArray[Any],
    reward: Reward | Mapping[str, float],
    states: Any,
) -> _Law:
    """Add what is left of each row as a self-loop, and rewards by state: `states` names them as the reward does."""
    n = len(states)
    stays: NDArray[np.bool_] = np.asarray((stay > 1e-15).any(axis=1))
    rows = np.array([*events, *((i, i, 0) for i in range(n) if stays[i])], dtype=np.int64)
    chances = np.concatenate([chances, np.maximum(stay[stays], 0.0)])
    order = np.argsort(rows[:, 0], kind="stable")
    rows, chances = rows[order], chances[order]
    rewards = rows[:, 2].astype(np.float64)
    if not isinstance(reward, Reward):
        by_state = np.array([float(reward.get(str(s), 0.0)) for s in states])
        rewards = by_state[rows[:, 0]]
    largest = float(np.abs(rewards).max(initial=0.0))
    if not np.isfinite(largest):
        raise DomainError(f"rewards must be finite numbers, got {largest:g}")
    unit = 2.0 ** min(int(np.frexp(largest)[1]), 1023) if largest else 1.0
    return _Law(grid, status, rows[:, 0], rows[:, 1], rewards / unit, chances, pi, unit)


def _check_numeric(chain: MarkovChain, length: int) -> None:
    """Refuse a matrix of too many transitions before they are looked at one by one. Raises LimitError."""
    from .entries import stored

    events = stored(chain)
    what = f"a window of {length:,} epochs of a matrix of {events:,} entries"
    check_memory(what, 400.0 * events, "ask for a smaller chain")
    check_work(what, 12.0 * length * events, "ask for a shorter window or a smaller chain")


def _numeric_law(chain: MarkovChain, reward: Reward | Mapping[str, float]) -> _Law:
    if isinstance(reward, Reward):
        raise ChainError("a numeric chain takes rewards by state: a mapping state -> number")
    e = entries.entrywise(chain)
    events = [(int(i), int(j), 0) for i, j in zip(e.sources, e.targets, strict=True)]
    pi = stationary(chain).probability.values[:, None]
    return _with_stays(e.grid, e.status, events, e.rates, e.stay, pi, reward, chain.labels)
