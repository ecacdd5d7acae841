"""Searching for equilibria: Newton from many starts, in every piece between switches, and at changes of sign."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.limits import check_memory, check_work

from ..dynamics import System
from .equilibria_newton import MOST, distinct, inverses, newton
from .operating_point import at_rest_jacobian, at_rest_rate
from .pieces import pieces

Array = NDArray[np.float64]

#: Newton iterations under way at once.
LANES = 1 << 16
#: Starts in each piece between switches.
PER_PIECE = 8
#: Steps of Newton's method from one start.
_TYPICAL = 20
#: How far beside an equilibrium others are looked for, relative to the box.
_ASIDE = 1e-3
#: Halvings of an interval in which the rate changes its sign.
_HALVINGS = 60


def check_search(system: System, starts: int) -> None:
    """Refuse a search that would take too long or too much memory, before it begins."""
    n, size = len(system.labels), system.size
    what = f"{starts:,} starts at {size:,} points with {n} state{'s' * (n > 1)}"
    step = (1 + n) * system.rhs.arithmetic + 20 * n**3
    each = _TYPICAL * starts * step + n * starts * min(starts, MOST)
    check_work(what, size * each, "give fewer points or starts")
    at_once = 80.0 * n * max(starts, min(LANES, starts * size))
    check_memory(what, at_once + 8.0 * n * size * min(starts, PER_PIECE), "give fewer points or starts")


def search(
    system: System, bounds: Array | None, starts: int, seed: int, more: bool = True
) -> tuple[Array, NDArray[np.bool_]]:
    """(n, size, K) equilibria at each point, NaN behind the last, and (size,) where they are not isolated.

    K is the most of any point. With `more`, pieces between switches and changes of sign are searched at every point;
    else where nothing else was found.
    """
    from scipy.stats import qmc

    n = len(system.labels)
    power = max(starts - 1, 1).bit_length()
    unit = qmc.Sobol(n, scramble=True, seed=seed).random_base2(power)[:starts].T
    if bounds is not None:
        unit[:, 0] = 0.5
    base = system.start_values() if bounds is None else None
    block = max(1, LANES // starts)
    parts, lines = [], []
    for low in range(0, system.size, block):
        points = np.arange(low, min(low + block, system.size))
        x, width = _starts(bounds, base, unit, points)
        found, error = _from(system, x, points, width, bounds)
        part = distinct(found, error, width)
        todo = np.arange(points.size) if more else np.flatnonzero(~np.isfinite(part).any(axis=(0, 2)))
        if todo.size:
            extra = _elsewhere(system, x[:, todo], points[todo], width[:, todo], bounds)
            if extra is not None:
                both = [
                    np.concatenate([a[:, todo], b], axis=2)
                    for a, b in zip((found, error), extra, strict=True)
                ]
                again = distinct(both[0], both[1], np.repeat(width[:, todo, :1], both[0].shape[2], axis=2))
                most = max(part.shape[2], again.shape[2])
                part, again = _widened(part, most), _widened(again, most)
                part[:, todo] = again
        parts.append(part)
        lines.append(_continua(system, part, points, width[:, :, 0]))
    most = max(part.shape[2] for part in parts)
    return np.concatenate([_widened(part, most) for part in parts], axis=1), np.concatenate(lines)


def _starts(
    bounds: Array | None, base: Array | None, unit: Array, points: NDArray[np.int64]
) -> tuple[Array, Array]:
    """(n, points, starts) starts, and the size of the region in each state."""
    shape = (unit.shape[0], points.size, unit.shape[1])
    if base is None:
        assert bounds is not None
        low, high = bounds[:, 0], bounds[:, 1]
        x = low[:, None] + (high - low)[:, None] * unit
        return np.broadcast_to(x[:, None], shape), np.broadcast_to((high - low)[:, None, None], shape)
    factor = 4.0 ** (6 * unit - 3)
    factor[:, 0] = 1.0
    around = base[:, points, None]
    zero = around == 0
    x = around * factor[:, None] + np.where(zero, factor[:, None] - 1, 0.0)
    return x, np.broadcast_to(np.where(zero, 1.0, np.abs(around)), shape)


def _from(
    system: System,
    x: Array,
    points: NDArray[np.int64],
    width: Array,
    bounds: Array | None,
    true: System | None = None,
) -> tuple[Array, Array]:
    """Newton's results from (n, points, starts) starts, and their errors; NaN outside the bounds."""
    shape = x.shape
    lanes = np.repeat(points, shape[2])
    found, error = newton(system, x.reshape(shape[0], -1), lanes, width.reshape(shape[0], -1), true=true)
    if bounds is not None:
        slack = 1e-9 * (bounds[:, 1] - bounds[:, 0])
        outside = (found < (bounds[:, 0] - slack)[:, None]) | (found > (bounds[:, 1] + slack)[:, None])
        found[:, outside.any(axis=0)] = np.nan
    return found.reshape(shape), error.reshape(shape)


def _elsewhere(
    system: System, x: Array, points: NDArray[np.int64], width: Array, bounds: Array | None
) -> tuple[Array, Array] | None:
    """What Newton's method does not come to: rest between switches, and where one rate changes its sign."""
    n, _, starts = x.shape
    few = min(starts, PER_PIECE)
    parts = []
    for piece in pieces(system, x.reshape(n, -1), np.repeat(points, starts)):
        parts.append(_from(piece, x[..., :few], points, width[..., :few], bounds, true=system))
    if n == 1:
        x = _sign_changes(system, x, points)
        parts.append(_from(system, x, points, width[..., : x.shape[2]], bounds))
    if not parts:
        return None
    return np.concatenate([p for p, _ in parts], axis=2), np.concatenate([e for _, e in parts], axis=2)


def _continua(system: System, states: Array, points: NDArray[np.int64], width: Array) -> NDArray[np.bool_]:
    """Where equilibria have others in any neighbourhood, on a line or in a region; also where there are too many."""
    joined = np.isfinite(states[0]).sum(axis=1) >= MOST
    there = np.argwhere(np.isfinite(states).all(axis=0))
    if not there.size:
        return np.asarray(joined)
    at, slot = there.T
    x, unit, where = states[:, at, slot], width[:, at], points[at]
    with np.errstate(all="ignore"):
        jacobian = at_rest_jacobian(system, x, where)
        suspect = np.flatnonzero(inverses(jacobian, unit)[1] & np.isfinite(jacobian).all(axis=(1, 2)))
    x, unit, where = x[:, suspect], unit[:, suspect], where[suspect]
    if suspect.size:
        flat = _null_direction(jacobian[suspect], unit)
        for side in (_ASIDE, -_ASIDE):
            beside, _ = newton(system, x + side * flat * unit, where, unit)
            apart = (np.abs(beside - x) / unit).max(axis=0)  # NaN: none there
            joined[at[suspect[apart >= 0.5 * _ASIDE]]] = True
    return np.asarray(joined)


def _widened(part: Array, most: int) -> Array:
    out = np.full((*part.shape[:2], most), np.nan)
    out[..., : part.shape[2]] = part
    return out


def _null_direction(jacobian: Array, unit: Array) -> Array:
    """(n, m) directions, in units of the states, in which the rates change least."""
    scaled = jacobian * unit.T[:, None, :]
    rows = np.abs(scaled).max(axis=2, keepdims=True)
    rows[rows == 0] = 1.0
    return np.asarray(np.linalg.svd(scaled / rows)[2][:, -1].T)


def _sign_changes(system: System, x: Array, points: NDArray[np.int64]) -> Array:
    """(1, points, starts - 1) where the rate of the only state changes its sign between starts; NaN where it does not.

    Bisection needs no slope. What it ends at may also be a jump or a pole, which is none of rest.
    """
    x = np.sort(x, axis=2)
    low, high = x[:, :, :-1], x[:, :, 1:]
    shape = low.shape
    lanes = np.repeat(points, shape[2])
    with np.errstate(all="ignore"):
        below = at_rest_rate(system, low.reshape(1, -1), lanes)
        above = at_rest_rate(system, high.reshape(1, -1), lanes)
        change = np.flatnonzero((below * above < 0)[0])
        a, b = low.reshape(1, -1)[:, change], high.reshape(1, -1)[:, change]
        sign = np.sign(below[:, change])
        for _ in range(_HALVINGS if change.size else 0):
            middle = 0.5 * (a + b)
            left = sign * at_rest_rate(system, middle, lanes[change]) > 0
            a, b = np.where(left, middle, a), np.where(left, b, middle)
    out = np.full((1, lanes.size), np.nan)
    out[:, change] = 0.5 * (a + b)
    return out.reshape(shape)
