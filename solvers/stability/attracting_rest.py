"""Equilibria at which motions come to rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..equations import System
from ..problems import TIME, Map
from ..programs.straightline import Builder, Program
from .equilibria_search import newton
from .rest import at_rest_jacobian, rests

Array = NDArray[np.float64]

#: Relative distances: at rest; approaching; growth that still counts as none.
ARRIVED, NEAR, NEUTRAL = 1e-6, 0.1, 1e-8


def resting_points(
    system: System,
    first: Array,
    last: Array,
    reach: Array,
    transient: Array | float,
    keep: Array | float,
    noise: Array | float = 0.0,
) -> tuple[Array, NDArray[np.bool_]]:
    """Equilibria (states, size) near the ends of motions, and which motions come to rest there.

    Distances are relative to the equilibrium in each state, or to the motion's reach where that state rests at zero: a
    choice of units changes nothing.

    Parameters
    ----------
    first, last : (states, size) states at times transient and transient + keep
    reach : (states, size) largest absolute value of each state so far
    transient, keep : numbers or (size,) arrays
    noise : (states, size) array or number, what the states may be wrong by
    """
    equilibria = at_last(system, last, reach, transient + keep)
    exists = np.isfinite(equilibria).all(axis=0)
    equilibria = np.where(exists, equilibria, last)
    size = sizes(equilibria, reach)
    with np.errstate(invalid="ignore", over="ignore"):
        before, after = (np.abs((x - equilibria) / size).max(axis=0) for x in (first, last))
        slowest = np.where(np.asarray(transient) > 0, (transient / (transient + keep)) ** 0.25, 0.5)
    closer = (after <= NEAR) & (after <= slowest * before)
    if system.delayed:
        closer &= after <= NEAR**2  # what repels is not known here
    else:
        closer &= ~_repels(system, equilibria)
    exact = (np.abs(last - equilibria) <= noise).all(axis=0)
    return equilibria, exists & (closer | (after <= ARRIVED) | exact)


def at_last(system: System, last: Array, reach: Array, end: Array | float) -> Array:
    """(states, size) equilibria near the ends of motions: by Newton's method, or the end itself; NaN where none is."""
    finite = np.isfinite(last).all(axis=0)
    start, unit = np.where(finite, last, 0.0), units(np.where(finite, reach, 1.0))
    still, points = _without_time(system, end), np.arange(last.shape[1])
    timed = still is not system
    times = (end, 0.77 * end) if timed else (0.0,)
    equilibria, _ = newton(still, start, points, unit, times=(0.0,))
    equilibria[:, ~(np.abs(equilibria - start) <= 2 * unit).all(axis=0)] = np.nan
    if timed:
        equilibria[:, ~rests(system, equilibria, None, unit, times=times)] = np.nan
    there = rests(system, start, None, unit, times=times) & ~np.isfinite(equilibria).all(axis=0)
    equilibria[:, there] = start[:, there]
    equilibria[:, ~finite] = np.nan
    return equilibria


def refine(system: System, states: Array) -> Array:
    """Equilibria (states, size) by Newton's method from nearby states, NaN where it does not converge."""
    return at_last(system, states, np.abs(states), 0.0)


def units(reach: Array) -> Array:
    """(states, size) the size of a motion in each state; where it never left zero, that of the largest state, or 1."""
    largest = reach.max(axis=0)
    return np.where(reach > 0, reach, np.where(largest > 0, largest, 1.0))


def sizes(rest: Array, reach: Array) -> Array:
    """(states, size) what distances from an equilibrium are relative to."""
    magnitude, unit = np.abs(rest), units(reach)
    return np.where(magnitude > ARRIVED * unit, magnitude, unit)


def _repels(system: System, rest: Array) -> NDArray[np.bool_]:
    jacobian = at_rest_jacobian(system, rest)
    fine = np.asarray(np.isfinite(jacobian).all(axis=(1, 2)))
    roots = np.linalg.eigvals(np.where(fine[:, None, None], jacobian, 0.0))
    if isinstance(system.problem, Map):
        growth, rate = np.abs(roots + 1).max(axis=1) - 1, 1.0
    else:
        growth, rate = roots.real.max(axis=1), np.abs(roots).max(axis=1)
    return np.asarray(fine & (growth > NEUTRAL * rate))


def _without_time(system: System, end: Array | float) -> System:
    """The equations as they stand at the end, where they hold the time."""
    if TIME not in {*system.rhs.inputs, *system.outputs.inputs}:
        return system
    at = float(np.max(end))

    def at_end(program: Program) -> Program:
        builder = Builder()
        place = builder.extend(program, {TIME: builder.const(at)})
        return builder.build([place[i] for i in program.outputs])

    return system.with_programs(at_end(system.rhs), at_end(system.outputs))
