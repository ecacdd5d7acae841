"""Damped Newton on many starts at once, and what is distinct among its results."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dynamics import System
from .operating_point import at_rest_jacobian, at_rest_rate

Array = NDArray[np.float64]

_STEPS = 60
#: Where Newton's last correction is below this, relative to the box, an iteration has arrived.
_DONE = 1e-11
#: Equilibria closer than this, relative to the box, are one.
_SAME = 1e-8


def newton(system: System, x: Array, points: Any, width: Array) -> tuple[Array, Array]:
    """Solve rate(x) = 0 from every start.

    The step is halved until the next simplified correction is smaller than the last, a test that does not depend on how
    the equations are scaled.

    Parameters
    ----------
    x : (n, lanes) array of starts
    points : (lanes,) index into the grid
    width : (n, lanes) array
        Size of the region in each state: the unit of corrections, and the longest step.

    Returns
    -------
    x : (n, lanes) array, NaN where the iteration did not arrive
    error : (n, lanes) array
        What rounding leaves uncertain: |J^-1| times the rounding error of the rate.
    """
    x = np.array(x, float)
    error = np.full(x.shape, np.nan)
    arrived = np.zeros(x.shape[1], bool)
    alive = np.arange(x.shape[1])
    with np.errstate(all="ignore"):
        for _ in range(_STEPS):
            if not alive.size:
                break
            at, unit, where = x[:, alive], width[:, alive], points[alive]
            inverse, jacobian, spread = _inverse(system, at, where)
            rate = at_rest_rate(system, at, where)
            step = -_times(inverse, rate)
            left = np.abs(_times(jacobian, step) + rate)  # of a singular Jacobian that allows no solution
            solved = (left <= 1e-3 * (_times(np.abs(jacobian), np.abs(step)) + np.abs(rate))).all(axis=0)
            length = _length(step, unit)
            uncertain = spread + 4e-16 * np.abs(at)
            usable = np.isfinite(length) & np.isfinite(uncertain).all(axis=0)
            settled = usable & solved & ((length <= _DONE) | (length <= 4 * _length(uncertain, unit)))
            new = np.where(settled, at + step, _damped(system, at, step, length, inverse, unit, where))
            x[:, alive], error[:, alive] = new, uncertain
            arrived[alive] = settled
            far = (np.abs(new) > 1e3 * unit + 1e3 * np.abs(at)).any(axis=0)
            alive = alive[usable & ~settled & ~far]
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


def _inverse(system: System, x: Array, points: Any) -> tuple[Array, Array, Array]:
    """Inverse Jacobians (pseudo-inverse where singular), the Jacobians, and the rounding that is let through."""
    jacobian = at_rest_jacobian(system, x, points)
    fine = np.asarray(np.isfinite(jacobian).all(axis=(1, 2)))
    safe = np.where(fine[:, None, None], jacobian, np.eye(x.shape[0]))
    try:
        inverse = np.linalg.inv(safe)
    except np.linalg.LinAlgError:
        inverse = np.linalg.pinv(safe)
    inverse[~fine] = np.nan
    noise = 1e-15 * np.einsum("lij,jl->il", np.abs(safe), np.abs(x))
    return inverse, safe, np.einsum("lij,jl->il", np.abs(inverse), noise)


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
    found = []
    while left.any():
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
