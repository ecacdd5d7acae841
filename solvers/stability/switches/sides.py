"""Points of rest on a switch (Min, Max, Abs, Heaviside, Piecewise), and how the equations go on on each side.

Deviations from such a point fall into cones, one for each set of sides that the switches can take together, and in each
cone the equations have a linearisation of their own. `programs` says which points lie on a switch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...equations import System
from ...problems import TIME, Map
from .programs import ABSOLUTE, RELATIVE, at_rest_values, signed_arguments, tied, with_slopes

Array = NDArray[np.float64]

#: Matrices of two sides that differ by less, relative to the largest, are one.
SAME = 2.0**-36

#: Switches that may meet in a point: all 2^6 sets of sides are tried. With more of them, sets that random small
#: deviations of this relative size take: enough to see that they are all alike, not to know them all.
MOST, SAMPLES, NEARBY = 6, 64, 2.0**-12

#: Unit rows that leave each other no room, and rows that ask for the same; both below what a cone's inside needs, 1e-9.
_OPPOSITE, _ALIKE = 1e-10, 1e-12


@dataclass(frozen=True)
class Sides:
    """The S linearisations around m points that lie on the same switches in the same way.

    In the cone of side s, where `cone[s] @ h > 0` for deviations h = (now, at lag 1, ..., at lag K), the rate of change
    (of a map: the change in a step) is jump[s] + base[s] h_0 + sum_k past[s, k] h_k.

    Attributes
    ----------
    index : (m,) columns of the states
    base : (m, S, n, n)
    past : (m, S, K, n, n)
    tau : (m, K) delays
    jump : (m, S, n) limit of the rate, where it is not the same on all sides; else zero
    cone : (m, S, c, n (1 + K)) rows; a row of zeros says that the argument is flat there, so that the side is not known
    """

    index: NDArray[np.int64]
    base: Array
    past: Array
    tau: Array
    jump: Array
    cone: Array

    def take(self, points: NDArray[Any]) -> Sides:
        """The same at some of the points."""
        return Sides(*(getattr(self, field.name)[points] for field in fields(self)))


def on_switches(
    system: System, states: Array, points: NDArray[np.int64], matrices: tuple[Array, Array, Array]
) -> list[Sides]:
    """The points on a switch whose linearisation is not the same on all sides, by groups of the same shape.

    Where switches meet a point without a change of the linearisation, the derivative of each switch by itself may be
    that of a side which does not exist; such points get the derivatives of one that does, in place.

    Parameters
    ----------
    matrices : of `System.jacobians`

    Returns
    -------
    list of Sides; S = 0 where too many switches meet
    """
    base, past, tau = matrices
    on_each = tied(system, states, points)
    on = np.flatnonzero(on_each.any(axis=0))
    out: list[Sides] = []
    if not on.size:
        return out
    for pattern in _patterns(on_each[:, on].T):
        index = on[(on_each[:, on].T == pattern).all(axis=1)]
        switches = tuple(system.equations.switches[j] for j in np.flatnonzero(pattern))
        tied_points = _Tied(system, states[:, index], points[index], index, tau[index], switches)
        for group, differ in _sides_at(tied_points):
            if group.base.shape[1]:
                base[group.index], past[group.index] = group.base[:, 0], group.past[:, 0]
            if differ.any():
                out.append(group.take(differ))
    return out


def _patterns(rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The different rows, in order; those of a chart are mostly the same."""
    return rows[:1] if (rows == rows[:1]).all() else np.unique(rows, axis=0)


@dataclass(frozen=True)
class _Tied:
    """Points on the same switches.

    Attributes
    ----------
    states : (n, m) array
    points, index : (m,) places in the system's grid, and among the states that are asked for
    tau : (m, K) delays
    switches : steps of the composed program
    """

    system: System
    states: Array
    points: NDArray[np.int64]
    index: NDArray[np.int64]
    tau: Array
    switches: tuple[int, ...]


def _sides_at(on: _Tied) -> Iterator[tuple[Sides, NDArray[np.bool_]]]:
    """The sides that deviations from these points can take, and where they differ."""
    if len(on.switches) <= MOST:
        yield from _compare_sides(on, product((-1.0, 1.0), repeat=len(on.switches)))
        return
    for i in range(on.index.size):
        one = slice(i, i + 1)
        states, points, index, tau = on.states[:, one], on.points[one], on.index[one], on.tau[one]
        yield from _sample_sides(_Tied(on.system, states, points, index, tau, on.switches))


def _sample_sides(on: _Tied) -> Iterator[tuple[Sides, NDArray[np.bool_]]]:
    """One point on many switches: what random deviations find if that is all there is, else no sides."""
    system, states, switches = on.system, on.states, on.switches
    n, lags = len(states), on.tau.shape[1]
    equations, variables = system.equations, system.equations.variables
    program = equations.once(("signs", switches), lambda: signed_arguments(equations.composed, switches))
    shape = (len(variables), SAMPLES)
    size = np.where(states == 0, 1.0, np.abs(states))
    moved = np.tile(states, (1 + lags, 1)) + NEARBY * np.tile(size, (1 + lags, 1)) * np.random.default_rng(0).normal(
        size=shape
    )
    values = dict(zip(variables, moved, strict=True)) | {TIME: 0.0}
    arguments = system.evaluate(program, values, np.repeat(on.points, SAMPLES))
    signs = np.unique(np.where(arguments >= 0, 1.0, -1.0).T, axis=0)
    compared = list(_compare_sides(on, map(tuple, signs)))
    alike = len(compared) == 1 and not compared[0][1].any()
    if alike or shape[0] == 1:  # of one state without delays the random deviations take both sides there are
        yield from compared
        return
    empty, none = np.empty((1, 0, n, n)), np.empty((1, 0, 0, n * (1 + lags)))
    past = np.empty((1, 0, lags, n, n))
    yield Sides(on.index, empty, past, on.tau, np.empty((1, 0, n)), none), np.ones(1, bool)


def _compare_sides(on: _Tied, sets: Iterable[tuple[float, ...]]) -> Iterator[tuple[Sides, NDArray[np.bool_]]]:
    """These sets of sides as far as there are deviations on them, and where they differ."""
    n, lags = len(on.states), on.tau.shape[1]
    rates, slopes, cones, possible = [], [], [], []
    for signs in sets:
        rate, slope, directions = _one_sided(on, signs)
        rates.append(rate)
        slopes.append(slope)
        cones.append(directions)
        possible.append(_feasible(directions))
    rate, slope, cone = (np.stack(x, axis=1) for x in (rates, slopes, cones))  # (m, sides, ...)
    reachable = np.stack(possible, axis=1)
    for mask in _patterns(reachable):
        rows = np.flatnonzero((reachable == mask).all(axis=1))
        if not mask.any():
            continue
        r, s, c = (x[rows][:, mask] for x in (rate, slope, cone))
        jump = _jumps(r, s, on.states[:, rows], isinstance(on.system.problem, Map))
        shaped = s.reshape(*s.shape[:3], 1 + lags, n)
        by_lag = np.ascontiguousarray(np.moveaxis(shaped, 3, 2))  # (m, sides, 1 + lags, n, n)
        group = Sides(on.index[rows], by_lag[:, :, 0], by_lag[:, :, 1:], on.tau[rows], jump, c)
        yield group, _differ(jump, s)


def _one_sided(on: _Tied, signs: Sequence[float]) -> tuple[Array, Array, Array]:
    """(m, n) rate, (m, n, N) slopes and (m, c, N) rows of the cone where the switches take these sides."""
    system, states, switches = on.system, on.states, on.switches
    n, m = states.shape
    equations, side = system.equations, dict(zip(switches, signs, strict=True))
    key = ("one-sided", switches, tuple(signs))
    program = equations.once(key, lambda: with_slopes(equations.composed, side, equations.variables))
    values = system.evaluate(program, at_rest_values(system, states), on.points)
    rows = n + len(switches)
    slopes = np.moveaxis(values[rows:].reshape(rows, -1, m), 2, 0)  # (m, rows, N)
    rate = values[:n].T - (states.T if isinstance(system.problem, Map) else 0.0)
    arguments = slopes[:, n:] * np.asarray(signs)[:, None]
    size = np.linalg.norm(arguments, axis=2, keepdims=True)
    return rate, slopes[:, :n], arguments / np.where(size > 0, size, 1.0)


def _feasible(cone: Array) -> NDArray[np.bool_]:
    """(m,) whether a cone has an inside, from its (m, c, N) unit rows; flat ones ask for nothing."""
    m, c, n = cone.shape
    flat = (cone == 0).all(axis=2)
    if n == 1 or c == 1:
        up = ((cone[:, :, 0] > 0) | flat).all(axis=1)
        down = ((cone[:, :, 0] < 0) | flat).all(axis=1)
        return np.asarray(up | down) if n == 1 else np.ones(m, bool)
    out, alike = np.ones(m, bool), flat.copy()
    for i in range(c):
        for j in range(i):
            both = ~(flat[:, i] | flat[:, j])
            out &= ~(both & (np.linalg.norm(cone[:, i] + cone[:, j], axis=1) <= _OPPOSITE))
            alike[:, i] |= both & (np.linalg.norm(cone[:, i] - cone[:, j], axis=1) <= _ALIKE)
    for mask in _patterns(~alike[out]):
        points = np.flatnonzero(out & (~alike == mask).all(axis=1))
        rows, count = cone[points][:, mask], int(mask.sum())
        if 1 < count <= n:  # independent rows allow every side
            points = points[np.linalg.svd(rows, compute_uv=False)[:, -1] < 1e-9]
        if count > 1:
            out[points] = [_has_inside(cone[i, mask]) for i in points]
    return out


def _has_inside(rows: Array) -> bool:
    """Whether some h has rows @ h > 0, of unit rows."""
    from scipy.optimize import linprog

    c, n = rows.shape
    matrix = np.hstack([-rows, np.ones((c, 1))])  # the largest t with rows @ h >= t in a box
    result = linprog(np.append(np.zeros(n), -1.0), matrix, np.zeros(c), bounds=[(-1, 1)] * n + [(None, 1)])
    return bool(result.status == 0 and -result.fun > 1e-9)


def _jumps(rate: Array, slope: Array, states: Array, is_map: bool) -> Array:
    """(m, S, n) the rates where they differ between the sides by more than the point's error explains, else zero."""
    n = states.shape[0]
    error = (RELATIVE * np.abs(states) + ABSOLUTE).T  # (m, n)
    size = np.abs(slope).max(axis=1) @ np.tile(error, slope.shape[3] // n)[:, :, None]  # (m, n, 1)
    noise = 16 * (size[:, None, :, 0] + (error[:, None, :] if is_map else 0.0))
    differ = rate.max(axis=1, keepdims=True) - rate.min(axis=1, keepdims=True) > noise
    return np.where(differ & (np.abs(rate) > noise), rate, 0.0)


def _differ(jump: Array, slope: Array) -> NDArray[np.bool_]:
    """(m,) whether the sides differ by more than the errors of a point explain."""
    largest = np.abs(slope).max(axis=(1, 2, 3))
    slopes = np.abs(slope - slope[:, :1]).max(axis=(1, 2, 3)) > SAME * largest
    return np.asarray(slopes | jump.any(axis=(1, 2)))
