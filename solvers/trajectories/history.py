"""The past of a delay equation as piecewise polynomials: what the Taylor kernel starts from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.limits import check_memory

from ..equations import System, write
from ..problems import TIME, DynamicsError
from ..programs.straightline import Builder, Program
from .curves import ROUNDING, Curves, breaks, resolve, shifted_powers

Array = NDArray[np.float64]

#: Pieces of one point's history.
MAX_PIECES = 4096

#: Error at which a history is taken to be met, and above which it is refused, as shares of a piece's size.
ROUGH, MISSED = 1e-12, 1e-9

#: Levels of discontinuities, as in the kernel: a jump of the value, a jump of the slope, none.
JUMP, KINK, SOFT = -1, 0, 1 << 30


@dataclass(frozen=True)
class Past:
    """Polynomials that follow what is looked back at, for t <= 0; the last axis is 1 where all points agree.

    Attributes
    ----------
    coefficients : (names, pieces, order + 1, size or 1) array
        In powers of the time since the piece's beginning.
    edges : (pieces + 1, size or 1) array
        From -(longest delay) to 0; pieces may be empty.
    levels : (pieces, size or 1) array of int
        The discontinuity at each piece's end.
    """

    coefficients: Array
    edges: Array
    levels: NDArray[np.int64]


def past_polynomials(system: System, names: tuple[str, ...], beginning: Array, lags: Array, order: int) -> Past:
    """Taylor coefficients of states and outputs before time 0, over the longest delay of each point.

    The past is cut where the history, or an output of it, bends or jumps, and then until a polynomial follows it on
    every piece: to ROUGH of its size there, or to the rounding of its largest value.

    Parameters
    ----------
    names : what is looked back at
    beginning : (states, size) initial values, the constant past where no history is given
    lags : (delayed symbols, size)
    order : degree of the polynomials

    Raises
    ------
    DynamicsError
        A history that is not a finite number everywhere, or one that no number of pieces follows.
    LimitError
        More polynomials than memory should hold.
    """
    longest = lags.max(axis=0) if len(lags) else np.zeros(beginning.shape[1])
    if not names:
        return Past(np.zeros((0, 1, order + 1, 1)), np.zeros((2, 1)), np.full((1, 1), SOFT))
    history = getattr(system.problem, "history", {})
    fixed = dict(zip(system.labels, beginning, strict=True))
    curves = Curves(system, _program(system, history, names), fixed)
    alike = not curves.varies and np.ptp(longest) == 0
    points = np.arange(1 if alike else longest.size)
    longest = longest[: points.size]
    if TIME not in curves.program.inputs:
        flat = np.zeros((len(names), 1, order + 1, points.size))
        flat[:, 0, 0] = curves.at(np.zeros(points.size), points)
        level = JUMP if history else KINK
        return Past(flat, np.stack([-longest, np.zeros_like(longest)]), np.full((1, points.size), level))
    where, when = breaks(curves, points, -longest, np.zeros_like(longest))
    p, low, high = _segments(points, -longest, where, when)
    cells = resolve(curves, p, low, high, order, ROUGH, ROUNDING, MAX_PIECES, in_powers=True)
    _check(cells.series, cells.missed * ROUGH, cells.points, longest, order)
    hard = (cells.high == 0.0) | _is_among(cells.points, cells.high, where, when)
    return _arranged(cells.points, cells.low, cells.high, _powers(cells.series, cells.low, cells.high), hard, longest)


def _program(system: System, history: Mapping[str, Any], names: tuple[str, ...]) -> Program:
    """What is looked back at, in terms of time, parameters and the states that stay at their beginning."""
    builder = _Replacing()
    states = {s: write(builder, f"history of {s}", history[s]) for s in history}
    builder.place = states
    placed = builder.extend(system.outputs)
    rows = dict(zip(system.problem.outputs, (placed[i] for i in system.outputs.outputs), strict=True))
    return builder.build([rows[name] if name in rows else builder.input(name) for name in names])


class _Replacing(Builder):
    """Writes steps in the place of inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.place: Mapping[str, int] = {}

    def input(self, name: str) -> int:
        return self.place[name] if name in self.place else super().input(name)


def _segments(points: Any, low: Array, where: Any, when: Array) -> tuple[Any, Array, Array]:
    """From each point's beginning to 0, cut at its breaks: points, beginnings and ends."""
    p, begins = np.concatenate([points, where]), np.concatenate([low, when])
    ranks = np.lexsort((begins, p))
    p, begins = p[ranks], begins[ranks]
    ends = np.append(begins[1:], 0.0)
    ends[np.append(p[1:] != p[:-1], True)] = 0.0
    long = (ends > begins + 1e-13 * -low[p]) | (low[p] == 0.0)  # breaks that coincide make one
    p, begins = p[long], begins[long]
    ends = np.append(begins[1:], 0.0)
    ends[np.append(p[1:] != p[:-1], True)] = 0.0
    return p, begins, ends


def _is_among(p: Any, t: Array, where: Any, when: Array) -> NDArray[np.bool_]:
    times = set(zip(where.tolist(), when.tolist(), strict=True))
    return np.array([key in times for key in zip(p.tolist(), t.tolist(), strict=True)], bool)


def _check(series: Array, missed: Array, points: Any, longest: Array, order: int) -> None:
    if not np.isfinite(series).all():
        raise DynamicsError("the history is not a finite number everywhere within the delay before time 0")
    worst = int(np.argmax(missed))
    if missed[worst] > MISSED:
        pieces = int(np.count_nonzero(points == points[worst]))
        raise DynamicsError(
            f"the history changes too fast for its delay {longest[points[worst]]:g}: polynomials of degree {order} on "
            f"{pieces} pieces still miss it by {missed[worst]:.1g} of its size; give a smoother one, or begin later"
        )


def _powers(series: Array, low: Array, high: Array) -> Array:
    """Chebyshev series over spans as (outputs, order + 1, m) coefficients in powers of the time since `low`."""
    order = series.shape[1] - 1
    half = (high - low) / 2  # x = -1 + u: powers of u, then of the time u half
    with np.errstate(over="ignore"):
        scale = np.where(half > 0, half, 1.0) ** -np.arange(order + 1)[:, None]
    powers = np.einsum("ik,vkm->vim", shifted_powers(order), series)
    powers[:, 1:, half == 0] = 0.0
    return np.where(powers == 0.0, 0.0, powers * scale)


def _arranged(p: Any, low: Array, high: Array, powers: Array, hard: Any, longest: Array) -> Past:
    """Pieces point by point, their ends aligned: a point that has fewer begins with empty ones."""
    count = np.bincount(p, minlength=longest.size)
    pieces, (names, terms, _) = int(count.max()), powers.shape
    check_memory(
        f"histories of {longest.size:,} points in {pieces:,} pieces", 16.0 * names * pieces * terms * longest.size,
        "take fewer points at a time, or a smoother history",
    )  # fmt: skip
    row = np.arange(p.size) - np.cumsum(count)[p] + pieces
    coefficients = np.zeros((names, pieces, terms, longest.size))
    edges = np.tile(-longest, (pieces + 1, 1))
    levels = np.full((pieces, longest.size), SOFT)
    for k in range(terms):
        coefficients[:, row, k, p] = powers[:, k]
    edges[row + 1, p] = high
    levels[row, p] = np.where(hard, JUMP, SOFT)
    return Past(coefficients, edges, levels)
