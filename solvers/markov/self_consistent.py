"""The parameter at which a chain's mean reward meets a target: self-consistent loss, for one."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tcpdynamics.errors import shown
from tcpdynamics.limits import check_work

from ..grid import make_grid
from ..problems import BalanceModel, ChainError, DomainError, MarkovChain, RewardBalance
from ..problems.numbers import dimensions
from ..programs.straightline import Program, solve_blocks
from ..results import Status, raise_if_failed, solved
from .entries import Expressions, entries_of, expressions_of
from .reduction import stationary_steps
from .windowed import check_length, windowed


def self_consistent(
    problem: RewardBalance | BalanceModel, *, window: int | None = None, throw: bool = False
) -> xr.Dataset:
    """Solve mean reward(unknown) = target at every point of the target's grid.

    Bracketed root finding (Chandrupatla) on the log-odds of the unknown, so small roots keep their relative accuracy.

    Parameters
    ----------
    problem : RewardBalance, or a model with `.balance()`
    window : int, optional
        L epochs: also give Jain's index and the probability of nothing over L.
    throw : bool
        Raise ChainError at the first point without a root instead of marking it.

    Returns
    -------
    xarray.Dataset over the target's dimensions
        `root` [1] (0 where the target is above what the chain can earn); `reward` reached there; `idle` [1],
        time in the idle
        states; with `window`, `jain` and `nothing`; `status`.

    Raises
    ------
    DomainError
        A target that is not a finite positive number; a window that is not a whole number of epochs.
    LimitError
        A window over more epochs, transitions and points than one request may take, before the roots are searched for.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import MarkovChain, Reward, RewardBalance
    >>> p = sympy.Symbol("p")
    >>> chain = MarkovChain({("up", "down"): p, ("down", "up"): 1})
    >>> reward = Reward({("up", "up"): {1: 1 - p}, ("up", "down"): {0: p}, ("down", "up"): {0: 1}})
    >>> balance = RewardBalance(chain, "p", reward, target=[0.25, 0.5], bounds=(1e-9, 1 - 1e-9))
    >>> self_consistent(balance).root.values.round(9).tolist()  # (1 - p)/(1 + p)
    [0.6, 0.333333333]
    """
    balance = problem if isinstance(problem, RewardBalance) else getattr(problem, "balance", lambda: None)()
    if not isinstance(balance, RewardBalance):
        raise TypeError(f"expected a RewardBalance or a model with .balance(), got {type(problem).__name__}")
    chain = balance.chain
    chain.check_parameters(*balance.reward.mean().values())
    others = {k: v for k, v in chain.parameters.items() if k != balance.unknown}
    grid = make_grid({"target": balance.target, **others})
    target = np.broadcast_to(grid.values["target"], grid.size)
    if not (np.isfinite(target) & (target > 0)).all():
        bad = target[~(np.isfinite(target) & (target > 0))][0]
        raise DomainError(f"target must be a finite number > 0, got {bad:g}")
    if window is not None:
        _check_window(chain, window, grid.size)
    program = _reward_program(expressions_of(chain), _mean_key(balance), frozenset(balance.idle))
    fixed = {k: np.broadcast_to(v, grid.size) for k, v in grid.values.items() if k != "target"}
    root, status = _roots(program, balance, fixed, target)
    if throw:
        raise_if_failed(
            chain,
            grid,
            status,
            lambda i: f"no {balance.unknown} in {balance.bounds} meets the target {target[i]:g}",
        )
    values = _evaluate(program, balance.unknown, np.where(root > 0, root, balance.bounds[0]), fixed)
    idle = np.where(root == 0, 0.0, values[1])
    values[0, status != Status.OK] = idle[status != Status.OK] = np.nan
    data = {
        "root": grid.variable(root, "1", f"{balance.unknown} that meets the target"),
        "reward": grid.variable(values[0], balance.reward.units, f"mean {balance.reward.name} per epoch"),
        "idle": grid.variable(idle, "1", "fraction of time in the idle states"),
    }
    if window is not None:
        fine = status == Status.OK
        jain, nothing = np.where(fine, 1.0, np.nan), np.where(fine, 0.0, np.nan)
        busy = np.flatnonzero((root > 0) & fine)
        if busy.size:
            swept = {k: v for k, v in fixed.items() if dimensions(others[k]) > 0} | {balance.unknown: root}
            points = {k: xr.DataArray(v[busy], dims="point") for k, v in swept.items()}
            sums = windowed(chain.at(**points), balance.reward, window)
            jain[busy], nothing[busy] = sums.jain.values, sums.nothing.values
        data["jain"] = grid.variable(jain, "1", f"Jain's index over {window} epochs")
        data["nothing"] = grid.variable(nothing, "1", f"probability of nothing in {window} epochs")
    grid.coords.pop("target", None)
    return solved(chain, grid, data, status, solver="self_consistent", settings={"window": window})


def _check_window(chain: MarkovChain, window: int, points: int) -> None:
    """Refuse a window before the roots are searched for, which may take long. Raises DomainError, LimitError."""
    check_length("window", window)
    check_work(
        f"a window of {window:,} epochs of {len(chain._expressions):,} transitions at {points:,} points",
        12.0 * window * len(chain._expressions) * points,
        "give a shorter window or fewer targets",
    )


def _mean_key(balance: RewardBalance) -> Any:
    return tuple(sorted(balance.reward.mean().items()))


@lru_cache(maxsize=32)
def _reward_program(expressions: Expressions, mean: Any, idle: frozenset[str]) -> Program:
    """Mean reward per epoch and idle time, as functions of the chain's parameters.

    A state that is held for h epochs earns its reward once a visit, so its share of time counts 1/h.
    """
    from ..programs.from_sympy import emit

    entries = entries_of(expressions)
    b = entries.builder
    pi = stationary_steps(b, {i: dict(r) for i, r in entries.rows.items()}, entries.holding)
    index = {s: i for i, s in enumerate(expressions.labels)}
    earned = []
    for state, expression in mean:
        share = pi[index[state]]
        if index[state] in entries.holding:
            share = b.div(share, entries.holding[index[state]])
        earned.append(b.mul(share, emit(b, expression)))
    return b.build([b.total(earned), b.total(pi[index[s]] for s in idle)])


def _evaluate(
    program: Program, unknown: str, x: NDArray[np.float64], fixed: dict[str, NDArray[np.float64]]
) -> NDArray[np.float64]:
    return solve_blocks(program, {**fixed, unknown: np.ascontiguousarray(x)}, x.size)


def _roots(
    program: Program, balance: RewardBalance, fixed: dict[str, Any], target: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    from scipy.optimize.elementwise import find_root

    low, high = balance.bounds
    if not 0 < low < high < 1:
        raise DomainError(f"bounds must satisfy 0 < low < high < 1, got {shown(balance.bounds)}")
    names = list(fixed)

    def excess(log_odds: Any, goal: Any, *rest: Any) -> Any:
        x = 1 / (1 + np.exp(-log_odds.ravel()))
        known = {
            k: np.ascontiguousarray(np.broadcast_to(v, log_odds.shape).ravel())
            for k, v in zip(names, rest, strict=True)
        }
        return (_evaluate(program, balance.unknown, x, known)[0].reshape(log_odds.shape) - goal) / goal

    def limit(x: float) -> NDArray[np.float64]:
        values: NDArray[np.float64] = _evaluate(program, balance.unknown, np.full(target.size, x), fixed)[0]
        return values

    root, status = np.zeros(target.size), np.zeros(target.size, dtype=np.uint8)
    demand, floor = limit(low), limit(high)
    if not np.isfinite(demand + floor).all():
        raise ChainError(
            f"the chain cannot be solved at the ends of {balance.unknown}'s bounds {balance.bounds}"
        )
    status[target < floor] = Status.NO_ROOT
    root[target < floor] = np.nan
    open_ = np.flatnonzero((target < demand) & (target >= floor))
    if open_.size:
        ends = [np.log(x / (1 - x)) for x in (low, high)]
        args = (target[open_], *(v[open_] for v in fixed.values()))
        search = find_root(excess, ends, args=args)
        root[open_] = 1 / (1 + np.exp(-search.x))
        status[open_[~search.success]] = Status.NOT_CONVERGED
        root[open_[~search.success]] = np.nan
    return root, status
