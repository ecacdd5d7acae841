"""Damped Newton on many starts at once, and what is distinct among its results."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dynamics import System
from .at_rest import TIMES, rests
from .operating_point import at_rest_jacobian, at_rest_rate

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
    solved. An iteration has arrived where its correction is small and the equations are at rest (`at_rest.rests`). No
    start has any influence on another.

    Parameters
    ----------
    x : (n, lanes) array of starts
    points : (lanes,) index into the grid
    width : (n, lanes) array
        Size of the region in each state: the unit of corrections, and the longest step.
    times : see `at_rest.rests`
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
            near = at[:, short] + step[:, short]
            settled[short] = rests(system, near, where[short], unit[:, short], times=times)
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


def _damped(
    system: System, x: Array, step: Array, length: Array, inverse: Array, unit: Array, points: Any
) -> Array:
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
    left = np.asarray(np.isfinite(x).all(axis=0))
    tolerance = np.minimum(_SAME * width + 8 * np.where(np.isfinite(error), error, 0.0), 1e-3 * width)
    cost = np.where(left, (tolerance / width).max(axis=0), np.inf)
    found: list[Array] = []
    while left.any() and len(found) < MOST:
        best = np.where(left, cost, np.inf).argmin(axis=1)
        any_left = left.any(axis=1)
        pick = np.take_along_axis(x, best[None, :, None], axis=2)
        found.append(np.where(any_left, pick[..., 0], np.nan))
        own = np.take_along_axis(tolerance, best[None, :, None], axis=2)
        with np.errstate(invalid="ignore"):
            near = (np.abs(x - pick) <= np.maximum(own, tolerance)).all(axis=0)
        left &= ~near
        left[np.arange(left.shape[0]), best] = False
    if not found:
        return np.full((*x.shape[:2], 0), np.nan)
    out = np.stack(found, axis=2)
    for row in range(x.shape[0] - 1, -1, -1):
        key = np.round(out[row] / (1e-6 * width[row, :, :1]))
        order = np.argsort(np.where(np.isnan(key), np.inf, key), axis=1, kind="stable")
        out = np.take_along_axis(out, order[None], axis=2)
    return out
