"""Searching for equilibria: damped Newton from many starts, in every piece between switches, and at changes of sign."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.limits import check_memory, check_work

from ..equations import System
from .rest import TIMES, at_rest_jacobian, at_rest_rate, rests
from .switches.pieces import pieces
from .switches.surfaces import on_surfaces

Array = NDArray[np.float64]

_STEPS = 60
#: Where Newton's last correction is below this, relative to the box, an iteration has arrived.
_DONE = 1e-11
#: Residual of an iteration that rounding keeps from arriving: some fifty roundings.
_STUCK = 1e-14
#: Equilibria closer than this, relative to the box, are one.
_SAME = 1e-8
#: Directions in which the scaled linearisation is this much weaker than in others count as none, where changes of its
#: entries by as much could make it singular.
_SINGULAR = 1e-13
#: Numbers in the matrices of one block of lanes, 80 MB.
_NUMBERS = 10_000_000
#: Distinct results that are kept of one point.
MOST = 1000


def newton(
    system: System, x: Array, points: Any, width: Array, times: Any = TIMES, true: System | None = None
) -> tuple[Array, Array]:
    """Solve rate(x) = 0 from every start.

    The step is halved until the next simplified correction is smaller than the last, a test that does not depend on how
    the equations are scaled. Where the linearisation is singular the step is the shortest that solves what can be
    solved. An iteration has arrived where its correction is small and the equations are at rest (`rest.rests`). No
    start has any influence on another.

    Parameters
    ----------
    x : (n, lanes) array of starts
    points : (lanes,) index into the grid
    width : (n, lanes) array
        Size of the region in each state: the unit of corrections, and the longest step.
    times : see `rest.rests`
    true : System, optional
        Which equations must be at rest in the end, if `system` is a piece of them.

    Returns
    -------
    x : (n, lanes) array, NaN where the iteration did not arrive
    error : (n, lanes) array
        What rounding leaves uncertain: |J^-1| times the rounding error of the rate.
    """
    x = np.array(x, float)
    error = np.full(x.shape, np.nan)
    block = max(1, _NUMBERS // (x.shape[0] ** 2 + 1))
    with np.errstate(all="ignore"):
        for low in range(0, x.shape[1], block):
            part = slice(low, low + block)
            x[:, part], error[:, part] = _block(system, x[:, part], points[part], width[:, part], times)
        if true is not None:
            x[:, ~rests(true, x, points, width, times=times)] = np.nan
    return x, error


def _block(system: System, x: Array, points: Any, width: Array, times: Any) -> tuple[Array, Array]:
    x = x.copy()
    error = np.full(x.shape, np.nan)
    arrived = np.zeros(x.shape[1], bool)
    alive = np.arange(x.shape[1])
    for _ in range(_STEPS):
        if not alive.size:
            break
        at, unit, where = x[:, alive], width[:, alive], points[alive]
        inverse, spread = _inverse(system, at, where, unit)
        step = -_times(inverse, at_rest_rate(system, at, where))
        length = _length(step, unit)
        uncertain = spread + 4e-16 * np.abs(at)
        usable = np.isfinite(length) & np.isfinite(uncertain).all(axis=0)
        settled = usable & ((length <= _DONE) | (length <= 4 * _length(uncertain, unit)))
        short = np.flatnonzero(settled)
        if short.size:
            corrected = at[:, short] + step[:, short]
            settled[short] = rests(system, corrected, where[short], unit[:, short], times=times)
        new = np.where(settled, at + step, _damped(system, at, step, length, inverse, unit, where))
        x[:, alive], error[:, alive] = new, uncertain
        arrived[alive] = settled
        far = (np.abs(new) > 1e3 * unit + 1e3 * np.abs(at)).any(axis=0)
        alive = alive[usable & ~settled & ~far & (new != at).any(axis=0)]
    if alive.size:  # corrections that rounding keeps large
        last = x[:, alive], points[alive], width[:, alive]
        arrived[alive] = rests(system, *last, tolerance=_STUCK, times=times)
    x[:, ~arrived] = np.nan
    return x, error


def _damped(system: System, x: Array, step: Array, length: Array, inverse: Array, unit: Array, points: Any) -> Array:
    part = np.minimum(1.0, 1.0 / np.where(length > 0, length, 1.0))
    todo = np.ones(x.shape[1], bool)
    for _ in range(6):
        new = x[:, todo] + part[todo] * step[:, todo]
        next_step = _times(inverse[todo], at_rest_rate(system, new, points[todo]))
        good = _length(next_step, unit[:, todo]) <= (1 - 0.25 * part[todo]) * length[todo]
        index = np.flatnonzero(todo)
        todo[index[good]] = False
        if not todo.any():
            break
        part[todo] *= 0.5
    return x + part * step


def _inverse(system: System, x: Array, points: Any, unit: Array) -> tuple[Array, Array]:
    """Inverse Jacobians (pseudo-inverse where singular), and what rounding of the rates they let through."""
    jacobian = at_rest_jacobian(system, x, points)
    inverse, _ = inverses(jacobian, unit)
    noise = 1e-15 * np.einsum("lij,jl->il", np.abs(jacobian), np.abs(x))
    return inverse, np.einsum("lij,jl->il", np.abs(inverse), noise)


def inverses(jacobian: Array, unit: Array) -> tuple[Array, NDArray[np.bool_]]:
    """(lanes, n, n) inverses, each matrix by itself, and (lanes,) where a matrix has none.

    Such a matrix has its pseudo-inverse, in units of the states, with rows scaled to 1. NaN where it is not finite.
    """
    fine = np.asarray(np.isfinite(jacobian).all(axis=(1, 2)))
    scaled = np.where(fine[:, None, None], jacobian * unit.T[:, None, :], np.eye(jacobian.shape[1]))
    rows = np.abs(scaled).max(axis=2, keepdims=True)
    rows[~((rows > 0) & np.isfinite(rows))] = 1.0
    scaled = scaled / rows
    fine &= np.isfinite(scaled).all(axis=(1, 2))
    scaled[~fine] = np.eye(jacobian.shape[1])
    try:
        inverse = np.linalg.inv(scaled)
    except np.linalg.LinAlgError:  # one of them is singular; the others must not notice
        regular = np.linalg.slogdet(scaled)[0] != 0
        inverse = np.full(scaled.shape, np.inf)
        inverse[regular] = np.linalg.inv(scaled[regular])
    size = np.abs(inverse).sum(axis=2).max(axis=1) * np.abs(scaled).sum(axis=2).max(axis=1)
    singular = ~(size < 1 / _SINGULAR)
    suspect = np.flatnonzero(singular & np.isfinite(inverse).all(axis=(1, 2)))
    if suspect.size:
        singular[suspect] = ~(_nearness(inverse[suspect], scaled[suspect]) < 1 / _SINGULAR)
    if singular.any():
        inverse[singular] = np.linalg.pinv(scaled[singular], rcond=_SINGULAR)
    inverse = unit.T[:, :, None] * inverse / rows.transpose(0, 2, 1)
    inverse[~fine] = np.nan
    return inverse, singular


def _nearness(inverse: Array, matrix: Array) -> Array:
    """(m,) 1 / the least relative change of a matrix's entries that could make it singular.

    The spectral radius of |A^-1| |A|, which no choice of units changes (Rump, SIAM Review 41, 1999): a slow state that
    a large one drives, [[-1, 0], [1, -1e-6]], is as far from singular as the identity.
    """
    product = np.abs(inverse) @ np.abs(matrix)
    fine = np.isfinite(product).all(axis=(1, 2))
    radius = np.abs(np.linalg.eigvals(np.where(fine[:, None, None], product, 0.0))).max(axis=1)
    return np.where(fine, radius, np.inf)


def _times(matrices: Array, columns: Array) -> Array:
    return np.asarray(np.einsum("lij,jl->il", matrices, columns))


def _length(step: Array, unit: Array) -> Array:
    return np.asarray((np.abs(step) / unit).max(axis=0))


def distinct(x: Array, error: Array, width: Array) -> Array:
    """What is distinct among results, sorted by the first state, then the second, ...

    Parameters
    ----------
    x, error, width : (n, points, starts) arrays, NaN where there is no result

    Returns
    -------
    (n, points, K) array, NaN behind the last
    """
    candidates = np.asarray(np.isfinite(x).all(axis=0))
    tolerance = np.minimum(_SAME * width + 8 * np.where(np.isfinite(error), error, 0.0), 1e-3 * width)
    cost = np.where(candidates, (tolerance / width).max(axis=0), np.inf)
    columns: list[Array] = []
    while candidates.any() and len(columns) < MOST:
        best = np.where(candidates, cost, np.inf).argmin(axis=1)
        any_left = candidates.any(axis=1)
        pick = np.take_along_axis(x, best[None, :, None], axis=2)
        columns.append(np.where(any_left, pick[..., 0], np.nan))
        best_tolerance = np.take_along_axis(tolerance, best[None, :, None], axis=2)
        with np.errstate(invalid="ignore"):
            alike = (np.abs(x - pick) <= np.maximum(best_tolerance, tolerance)).all(axis=0)
        candidates &= ~alike
        candidates[np.arange(candidates.shape[0]), best] = False
    if not columns:
        return np.full((*x.shape[:2], 0), np.nan)
    out = np.stack(columns, axis=2)
    for row in range(x.shape[0] - 1, -1, -1):
        key = np.round(out[row] / (1e-6 * width[row, :, :1]))
        order = np.argsort(np.where(np.isnan(key), np.inf, key), axis=1, kind="stable")
        out = np.take_along_axis(out, order[None], axis=2)
    return out


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
    work = _TYPICAL * starts * step + n * starts * min(starts, MOST)
    check_work(what, size * work, "give fewer points or starts")
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
        ends, error = _from(system, x, points, width, bounds)
        part = distinct(ends, error, width)
        todo = np.arange(points.size) if more else np.flatnonzero(~np.isfinite(part).any(axis=(0, 2)))
        if todo.size:
            extra = _elsewhere(system, x[:, todo], points[todo], width[:, todo], bounds)
            if extra is not None:
                both = [np.concatenate([a[:, todo], b], axis=2) for a, b in zip((ends, error), extra, strict=True)]
                again = distinct(both[0], both[1], np.repeat(width[:, todo, :1], both[0].shape[2], axis=2))
                columns = max(part.shape[2], again.shape[2])
                part, again = _widen(part, columns), _widen(again, columns)
                part[:, todo] = again
        parts.append(part)
        lines.append(_continua(system, part, points, width[:, :, 0], bounds))
    columns = max(part.shape[2] for part in parts)
    return np.concatenate([_widen(part, columns) for part in parts], axis=1), np.concatenate(lines)


def _starts(bounds: Array | None, base: Array | None, unit: Array, points: NDArray[np.int64]) -> tuple[Array, Array]:
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
    system: System, x: Array, points: NDArray[np.int64], width: Array, bounds: Array | None, true: System | None = None
) -> tuple[Array, Array]:
    """Newton's results from (n, points, starts) starts, and their errors; NaN outside the bounds."""
    shape = x.shape
    lanes = np.repeat(points, shape[2])
    ends, error = newton(system, x.reshape(shape[0], -1), lanes, width.reshape(shape[0], -1), true=true)
    ends[:, _outside(ends, bounds)] = np.nan
    return ends.reshape(shape), error.reshape(shape)


def _outside(x: Array, bounds: Array | None) -> NDArray[np.bool_]:
    """Which of (n, m) points lie outside the bounds."""
    if bounds is None:
        return np.zeros(x.shape[1], bool)
    slack = 1e-9 * (bounds[:, 1] - bounds[:, 0])
    beyond = (x < (bounds[:, 0] - slack)[:, None]) | (x > (bounds[:, 1] + slack)[:, None])
    return np.asarray(beyond.any(axis=0))


def _elsewhere(
    system: System, x: Array, points: NDArray[np.int64], width: Array, bounds: Array | None
) -> tuple[Array, Array] | None:
    """What Newton's method does not come to: rest between and on switches, and where one rate changes its sign."""
    n, _, starts = x.shape
    few = min(starts, PER_PIECE)
    flat = x[..., :few].reshape(n, -1), np.repeat(points, few), width[..., :few].reshape(n, -1)
    parts = []
    for piece in pieces(system, x.reshape(n, -1), np.repeat(points, starts)):
        parts.append(_from(piece, x[..., :few], points, width[..., :few], bounds, true=system))
        for ends in on_surfaces(system, piece, *flat):
            ends[:, _outside(ends, bounds)] = np.nan
            parts.append((ends.reshape(n, -1, few), np.zeros((n, points.size, few))))
    if n == 1:
        x = _sign_changes(system, x, points)
        parts.append(_from(system, x, points, width[..., : x.shape[2]], bounds))
    if not parts:
        return None
    return np.concatenate([p for p, _ in parts], axis=2), np.concatenate([e for _, e in parts], axis=2)


def _continua(
    system: System, states: Array, points: NDArray[np.int64], width: Array, bounds: Array | None
) -> NDArray[np.bool_]:
    """Where equilibria have others in any neighbourhood within the bounds, on a line or in a region.

    Also where there are too many.
    """
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
            beside[:, _outside(beside, bounds)] = np.nan
            apart = (np.abs(beside - x) / unit).max(axis=0)  # NaN: none there
            joined[at[suspect[apart >= 0.5 * _ASIDE]]] = True
    return np.asarray(joined)


def _widen(part: Array, most: int) -> Array:
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
            before_root = sign * at_rest_rate(system, middle, lanes[change]) > 0
            a, b = np.where(before_root, middle, a), np.where(before_root, b, middle)
    out = np.full((1, lanes.size), np.nan)
    out[:, change] = 0.5 * (a + b)
    return out.reshape(shape)
