"""The parameter at which a chain's mean reward meets a target: self-consistent loss, for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tcpdynamics.errors import shown
from tcpdynamics.limits import check_work

from ..grid import make_grid
from ..problems import BalanceModel, ChainError, DomainError, MarkovChain, RewardBalance
from ..problems.numbers import dimensions
from ..programs.straightline import Program
from ..programs.wide_floats import solve_blocks
from ..results import Status, raise_if_failed, solved
from .entries import Expressions, entries_of, expressions_of
from .reduction import stationary_steps
from .windowed import check_length, windowed

#: Places between the bounds at which the reward is looked at, and points of the grid that are looked at together.
PLACES, POINTS_AT_ONCE = 257, 4096
#: Rounding of a reward, relative to the largest one between the bounds; roots this near in log-odds are one.
TOUCHING, ALIKE = 1e-14, 1e-7
#: At a corner the minimiser stops up to about 1e-11 short of the tip [log-odds]; steps of these lengths end the search.
STEPS = 5e-12, 5e-14, 5e-16
#: A crossing is a jump if the relative distance of the reward from the target exceeds this.
JUMP = 1e-6


def self_consistent(
    problem: RewardBalance | BalanceModel, *, window: int | None = None, throw: bool = False
) -> xr.Dataset:
    """Solve mean reward(unknown) = target at every point of the target's grid.

    Bracketed root finding (Chandrupatla) on the log-odds of the unknown, so small roots keep their relative accuracy.
    The reward need not be monotone. It is evaluated at 257 places between the bounds, evenly spaced in log-odds, and
    each turn that three neighbouring places show is followed to its tip. A jump across the target is not a root. An
    interval in which the reward equals the target counts as two roots, its ends. Roots within 1e-7 in log-odds count
    once. Two roots between neighbouring places are missed if no turn shows there, as with a narrow spike.

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
        `root` [1] (0 where the chain earns less than the target even at the low bound); `reward` reached there; `idle`
        [1], time in the idle states; with `window`, `jain` and `nothing`; `roots`, how many values meet the target,
        that of 0 among them, and `highest_root`; `status`. Where several do, the status reports it, and `root` is the
        lowest.

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
    parameters = {k: v for k, v in chain.parameters.items() if k != balance.unknown}
    grid = make_grid({"target": balance.target, **parameters})
    target = np.broadcast_to(grid.values["target"], grid.size)
    if not (np.isfinite(target) & (target > 0)).all():
        bad = target[~(np.isfinite(target) & (target > 0))][0]
        raise DomainError(f"target must be a finite number > 0, got {bad:g}")
    if window is not None:
        _check_window(chain, window, grid.size)
    program = _reward_program(expressions_of(chain), _mean_key(balance), frozenset(balance.idle))
    fixed = {k: np.broadcast_to(v, grid.size) for k, v in grid.values.items() if k != "target"}
    root, highest, roots, status = _roots(program, balance, fixed, target)
    if throw:
        raise_if_failed(
            chain,
            grid,
            status,
            lambda i: (
                f"{int(roots[i]) or 'no'} value{'' if roots[i] == 1 else 's'} of {balance.unknown} in {balance.bounds} "
                f"meet{'s' if roots[i] == 1 else ''} the target {target[i]:g}"
            ),
        )
    values = _evaluate(program, balance.unknown, np.where(root > 0, root, balance.bounds[0]), fixed)
    idle = np.where(root == 0, 0.0, values[1])
    values[0, np.isnan(root)] = idle[np.isnan(root)] = np.nan
    data = {
        "root": grid.variable(root, "1", f"{balance.unknown} that meets the target"),
        "highest_root": grid.variable(highest, "1", f"highest {balance.unknown} that meets the target"),
        "roots": grid.variable(roots, "1", f"how many values of {balance.unknown} meet the target"),
        "reward": grid.variable(values[0], balance.reward.units, f"mean {balance.reward.name} per epoch"),
        "idle": grid.variable(idle, "1", "fraction of time in the idle states"),
    }
    if window is not None:
        fine = ~np.isnan(root)
        jain, nothing = np.where(fine, 1.0, np.nan), np.where(fine, 0.0, np.nan)
        busy = np.flatnonzero((root > 0) & fine)
        if busy.size:
            swept = {k: v for k, v in fixed.items() if dimensions(parameters[k]) > 0} | {balance.unknown: root}
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
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], NDArray[np.uint8]]:
    """Lowest and highest root, how many there are, and the status of each point."""
    from scipy.optimize.elementwise import find_root

    low, high = balance.bounds
    if not 0 < low < high < 1:
        raise DomainError(f"bounds must satisfy 0 < low < high < 1, got {shown(balance.bounds)}")
    names = list(fixed)

    def excess(log_odds: Any, goal: Any, *rest: Any) -> Any:
        x = 1 / (1 + np.exp(-log_odds.ravel()))
        inputs = {
            k: np.ascontiguousarray(np.broadcast_to(v, log_odds.shape).ravel())
            for k, v in zip(names, rest, strict=True)
        }
        return (_evaluate(program, balance.unknown, x, inputs)[0].reshape(log_odds.shape) - goal) / goal

    def curves() -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Mean reward at all places, a row for each setting of the other parameters, and the row of each point."""
        fixed_values = np.stack([fixed[k] for k in names]) if names else np.zeros((1, target.size))
        settings, row = np.unique(fixed_values, axis=1, return_inverse=True)
        rows = settings.shape[1]
        inputs = {k: np.repeat(settings[i], places.size) for i, k in enumerate(names)}
        x = np.tile(1 / (1 + np.exp(-places)), rows)
        return _evaluate(program, balance.unknown, x, inputs)[0].reshape(rows, places.size), row.reshape(-1)

    places = np.linspace(np.log(low / (1 - low)), np.log(high / (1 - high)), PLACES)
    earned, row = curves()
    if not np.isfinite(earned[:, [0, -1]]).all():
        raise ChainError(f"the chain cannot be solved at the ends of {balance.unknown}'s bounds {balance.bounds}")
    lowest, highest = np.full(target.size, np.nan), np.full(target.size, np.nan)
    status, roots = np.zeros(target.size, dtype=np.uint8), np.zeros(target.size, dtype=np.int64)
    rounding = TOUCHING * np.maximum(np.abs(earned).max(axis=1)[row], target)
    nothing = earned[row, 0] < target - rounding  # no cost at all: what is earned does not reach the target
    roots[nothing], lowest[nothing], highest[nothing] = 1, 0.0, 0.0
    rewards = Curves(earned, row, target, rounding, places, excess, [fixed[k] for k in names])
    point, left, right, tip_points, tips = _brackets(rewards)
    for end, place in ((0, places[0]), (-1, places[-1])):
        exact = np.flatnonzero(np.abs(earned[row, end] - target) <= rounding)
        tip_points, tips = np.concatenate([tip_points, exact]), np.concatenate([tips, np.full(exact.size, place)])
    if point.size:
        search = find_root(excess, (left, right), args=(target[point], *(fixed[k][point] for k in names)))
        status[point[~search.success]] = Status.NOT_CONVERGED
        meets = ~(np.abs(search.f_x) > JUMP)
        tip_points, tips = np.concatenate([tip_points, point[meets]]), np.concatenate([tips, search.x[meets]])
    for ends in _plateaus(rewards):
        tip_points, tips = np.concatenate([tip_points, ends[0]]), np.concatenate([tips, ends[1]])
    order = np.lexsort((tips, tip_points))
    tip_points, tips = tip_points[order], tips[order]
    same = np.r_[False, (tip_points[1:] == tip_points[:-1]) & (np.diff(tips) <= ALIKE)][: tip_points.size]
    tip_points, solutions = tip_points[~same], 1 / (1 + np.exp(-tips[~same]))
    np.add.at(roots, tip_points, 1)
    np.fmin.at(lowest, tip_points, solutions)
    np.fmax.at(highest, tip_points, solutions)
    status[roots == 0] = Status.NO_ROOT
    status[(roots > 1) & (status == Status.OK)] = Status.SEVERAL_ROOTS
    lowest[status == Status.NOT_CONVERGED] = highest[status == Status.NOT_CONVERGED] = np.nan
    return lowest, highest, roots, status


class Curves(NamedTuple):
    """Mean rewards over the unknown.

    Attributes
    ----------
    earned : (rows, places) array   A row for each setting of the other parameters.
    row : (points,) array           Row of each point.
    target, rounding : (points,) arrays   A reward this near the target equals it.
    places : (places,) array        Log-odds of the unknown.
    excess : callable(log-odds, target, *others)   Reward over target, less 1.
    others : list of (points,) array   The other parameters.
    """

    earned: NDArray[np.float64]
    row: NDArray[np.intp]
    target: NDArray[np.float64]
    rounding: NDArray[np.float64]
    places: NDArray[np.float64]
    excess: Callable[..., Any]
    others: list[NDArray[np.float64]]


def _brackets(
    curves: Curves,
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64], NDArray[np.intp], NDArray[np.float64]]:
    """Intervals of log-odds, each with one root: the point, and the ends. Then the points that a tip meets, and where.

    Where all places lie on one side of the target, the curve may still cross it twice between them: so each turn that
    comes near is followed to its tip.
    """
    from scipy.optimize.elementwise import find_minimum

    earned, row, target, rounding, places, excess, fixed_values = curves
    points, lefts, rights = [], [], []
    tip_points, tips = [np.zeros(0, np.intp)], [np.zeros(0)]
    for start in range(0, target.size, POINTS_AT_ONCE):
        some = np.arange(start, min(start + POINTS_AT_ONCE, target.size))
        over = earned[row[some]] > target[some, None]
        level = _is_level(earned[row[some]], target[some], rounding[some])
        i, j = np.nonzero((over[:, 1:] != over[:, :-1]) & ~level[:, 1:] & ~level[:, :-1])
        points.append(some[i])
        lefts.append(places[j])
        rights.append(places[j + 1])
    turns = np.diff(np.sign(np.diff(earned, axis=1)), axis=1)
    for which, sign in ((turns > 0, 1.0), (turns < 0, -1.0)):  # valleys, then hills
        curve, j = np.nonzero(which)
        for c, k in zip(curve, j, strict=True):
            three = earned[c, k : k + 3]
            reach = 2.0 * np.abs(np.diff(three)).max()  # no smooth curve turns further beyond its middle place
            if reach < 1e-12 * abs(three[1]):
                continue
            some = np.flatnonzero(row == c)
            some = some[(sign * (three[::2, None] - target[some]) > 0).all(axis=0)]
            some = some[sign * (three[1] - target[some]) >= 0]
            some = some[sign * (three[1] - target[some]) < reach]
            # A plateau has its own ends; rounding may make it turn.
            some = some[~_is_level(np.broadcast_to(three, (some.size, 3)), target[some], rounding[some])[:, 1]]
            if not some.size:
                continue
            ends = [np.full(some.size, places[k + n]) for n in range(3)]
            tip = find_minimum(
                lambda x, goal, *rest: sign * excess(x, goal, *rest), ends,  # noqa: B023
                args=(target[some], *(v[some] for v in fixed_values)), tolerances={"xatol": 0.0, "xrtol": 1e-15},
            )  # fmt: skip
            x = tip.x
            for step in STEPS:
                around = x[:, None] + step * np.arange(-200, 201)
                heights = sign * excess(around, target[some, None], *(v[some, None] for v in fixed_values))
                lowest = np.arange(some.size), heights.argmin(axis=1)
                x, height = around[lowest], heights[lowest]
            touching = np.abs(height) * target[some] <= rounding[some]
            tip_points.append(some[touching])
            tips.append(x[touching])
            crossed = (height < 0) & ~touching
            for left, right in ((ends[0], x), (x, ends[2])):
                points.append(some[crossed])
                lefts.append(left[crossed])
                rights.append(right[crossed])
    return tuple(np.concatenate(part) for part in (points, lefts, rights, tip_points, tips))  # type: ignore[return-value]


def _is_level(
    earned: NDArray[np.float64], target: NDArray[np.float64], rounding: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """(points, places): whether the reward equals the target here and at a neighbouring place."""
    meets = np.abs(earned - target[:, None]) <= rounding[:, None]
    neighbours = np.zeros_like(meets)
    neighbours[:, 1:] |= meets[:, :-1]
    neighbours[:, :-1] |= meets[:, 1:]
    return meets & neighbours


def _plateaus(curves: Curves) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]:
    """Points, and log-odds at an end of an interval in which the reward equals the target."""
    earned, row, target, rounding, places, excess, fixed_values = curves
    for start in range(0, target.size, POINTS_AT_ONCE):
        some = np.arange(start, min(start + POINTS_AT_ONCE, target.size))
        level = _is_level(earned[row[some]], target[some], rounding[some])
        for end, place in ((0, places[0]), (-1, places[-1])):
            at_end = some[level[:, end]]
            yield at_end, np.full(at_end.size, place)
        i, j = np.nonzero(level[:, 1:] != level[:, :-1])
        if not i.size:
            continue
        inside = np.where(level[i, j], places[j], places[j + 1])
        outside = np.where(level[i, j], places[j + 1], places[j])
        for _ in range(52):  # bisection, to the last bit of the step between two places
            middle = 0.5 * (inside + outside)
            away = excess(middle, target[some[i]], *(v[some[i]] for v in fixed_values))
            meets = np.abs(away) * target[some[i]] <= rounding[some[i]]
            inside, outside = np.where(meets, middle, inside), np.where(meets, outside, middle)
        yield some[i], inside
