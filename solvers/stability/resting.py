"""Equilibria at which motions come to rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dynamics import System
from ..problems import Map
from ..straightline import Builder

Array = NDArray[np.float64]

#: Relative distances: at rest; approaching; accuracy of a refined equilibrium; growth that still counts as none.
ARRIVED, NEAR, EXACT, NEUTRAL = 1e-6, 0.1, 1e-10, 1e-8


def closed_points(system: System) -> Array:
    """(equilibria, states, size) of the problem's closed forms."""
    from ..symbolic import emit

    points = system.problem.fixed_points
    if not points:
        return np.empty((0, len(system.labels), system.size))
    builder = Builder()
    program = builder.build([emit(builder, point[label]) for point in points for label in system.labels])
    return system.evaluate(program, {}).reshape(len(points), len(system.labels), system.size)


def resting_points(
    system: System, first: Array, last: Array, transient: float, keep: float, noise: Any = 0.0
) -> tuple[Array, NDArray[np.bool_]]:
    """Equilibria (states, size) near the ends of motions, and which motions come to rest there.

    Parameters
    ----------
    first, last : (states, size) states at times transient and transient + keep
    noise : (size,) array or number, what the states may be wrong by
    """
    rest, jacobian, found = _newton(system, last)
    size = np.maximum(np.abs(rest).max(axis=0), np.finfo(float).tiny)
    with np.errstate(invalid="ignore", over="ignore"):
        before, after = (np.abs(x - rest).max(axis=0) / size for x in (first, last))
    slowest = (transient / (transient + keep)) ** 0.25 if transient > 0 else 0.5
    closer = (after <= NEAR) & (after <= slowest * before)
    if system.delayed:
        closer &= after <= NEAR**2  # what repels is not known here
    else:
        roots = np.linalg.eigvals(np.where(found[:, None, None], jacobian, 0.0))
        growth = (
            np.abs(roots + 1).max(axis=1) - 1 if isinstance(system.problem, Map) else roots.real.max(axis=1)
        )
        closer &= growth <= NEUTRAL * np.maximum(1.0, np.abs(jacobian).max(axis=(1, 2)))
    # motion near zero rests relative to where it has been, not to the equilibrium
    gone = np.abs(last - rest).max(axis=0) <= ARRIVED * np.maximum(size, np.abs(first).max(axis=0))
    gone &= after <= before
    return rest, found & (gone | closer | (after <= ARRIVED) | (np.abs(last - rest).max(axis=0) <= noise))


def refine(system: System, states: Array) -> Array:
    """Equilibria (states, size) by Newton's method from nearby states, NaN where it does not converge."""
    rest, _, found = _newton(system, states)
    return np.where(found, rest, np.nan)


def _newton(system: System, start: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Roots of the equations at rest, Jacobians there (for a map, less one), and where the method converged."""
    x, one = start.copy(), np.eye(len(start))
    is_map = isinstance(system.problem, Map)
    reach = np.maximum(np.abs(start).max(axis=0), np.finfo(float).tiny)
    lost = ~np.isfinite(start).all(axis=0)
    x[:, lost] = 0.0
    with np.errstate(all="ignore"):
        for _ in range(40):
            value = system.slope(x) - (x if is_map else 0.0)
            own, past, _ = system.jacobians(x)
            jacobian = own + past.sum(axis=1) - (one if is_map else 0.0)
            bad = ~np.isfinite(jacobian).all(axis=(1, 2)) | ~np.isfinite(value).all(axis=0)
            bad |= np.abs(x - start).max(axis=0) > 2 * reach
            jacobian[bad | lost] = 0.0
            lost |= bad
            step = np.einsum("mij,jm->im", np.linalg.pinv(jacobian), value)
            step[:, lost] = 0.0
            x = x - step
            small = np.abs(step).max(axis=0) <= EXACT * np.maximum(np.abs(x).max(axis=0), ARRIVED * reach)
            if small.all():
                break
        value = system.slope(x) - (x if is_map else 0.0)
    scale = np.abs(jacobian).max(axis=(1, 2)) * np.maximum(np.abs(x).max(axis=0), ARRIVED * reach)
    found = ~lost & (small | (np.abs(value).max(axis=0) <= EXACT * scale))
    return x, jacobian, found
