"""What maps do in the end: orbits after a transient, and the cycles on which they settle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tcpdynamics.errors import counted
from tcpdynamics.limits import check_memory, check_work

from ..equations import POINT, Linearised, System, compile_system
from ..problems import TIME, DomainError
from ..results import Status
from ..trajectories.maps import first_order
from .equilibria_search import inverses
from .rest import ROUNDING
from .time_scales import map_times

Array = NDArray[np.float64]

#: Newton steps towards a cycle; a fold halves the distance with each.
NEWTON_STEPS = 40
#: An orbit further than this from closing, relative to its size, is not taken for a slow approach.
NEAR = 0.1
#: Relative errors of a refined cycle, and of its multiplier (twice the digits are lost at a fold).
EXACT, NEUTRAL = 1e-10, 1e-8


def find_cycles(
    system: System, orbit: Array, points: NDArray[np.int64], transient: int, max_period: int
) -> tuple[NDArray[np.int64], Array]:
    """The attracting cycle that each orbit approaches.

    A period is accepted when Newton's method, from the orbit's end, finds a cycle of the map that does not repel
    (largest multiplier at most 1 in modulus) and to which the orbit has come closer within the kept steps: by at
    least the factor (transient / (transient + kept))^(1/4), since no cycle that is neutral in a generic way (flip,
    fold, Neimark-Sacker) attracts more slowly than t^(-1/2). So an orbit need not have arrived: at the flip of the
    logistic map the period is 1. Also accepted is an orbit that repeats itself to rounding.

    Parameters
    ----------
    system : System
        A map without delays.
    orbit : (states, m, kept) array
        Steps transient, transient + 1, ... of the orbits.
    points : (m,) indices into the system's grid
    transient : int
    max_period : int
        At most half of the kept steps.

    Returns
    -------
    period : (m,) int, 0 where none was found
    multiplier : (m,) largest modulus of an eigenvalue of the Jacobian along one period, NaN where none
    """
    size = np.maximum(np.abs(orbit).max(axis=2), np.finfo(float).tiny)
    period = np.zeros(orbit.shape[1], dtype=np.int64)
    multiplier = np.full(orbit.shape[1], np.nan)
    length = orbit.shape[2]
    autonomous = TIME not in system.rhs.inputs
    enough = ((transient + 1) / (transient + length)) ** 0.25
    for p in range(1, min(max_period, length // 2) + 1):
        open_ = np.flatnonzero((period == 0) & np.isfinite(size).all(axis=0))
        gap = np.abs(orbit[:, open_, -1 - p] - orbit[:, open_, -1]) / size[:, open_]
        open_ = open_[(gap <= NEAR).all(axis=0)]
        gap = np.abs(orbit[:, open_, p:] - orbit[:, open_, :-p]).max(axis=2) / size[:, open_]
        repeats = (gap <= 4 * np.finfo(float).eps).all(axis=0)
        if not autonomous:
            period[open_[repeats]] = p
            continue
        open_, repeats = open_[(gap <= NEAR).all(axis=0)], repeats[(gap <= NEAR).all(axis=0)]
        if not open_.size:
            continue
        s = size[:, open_]
        cycle, jacobian, exact = _newton(system.linearised(points[open_]), orbit[:, open_, -1], p, s)
        radius = np.abs(np.linalg.eigvals(jacobian)).max(axis=1)
        first, last = (_distance(orbit[:, open_], cycle, s, at, p) for at in (p - 1, length - 1))
        closer = (last <= EXACT) | (last <= enough * first)
        good = exact & ((radius <= 1 + NEUTRAL) & closer | repeats)
        shortest = _shortest(cycle, s)
        period[open_[good]] = shortest[good]
        multiplier[open_[good]] = (radius ** (shortest / p))[good]
    return period, multiplier


def _newton(at: Linearised, start: Array, p: int, size: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Cycles (p, states, m) from `start` on, Jacobians along them (m, states, states), and where it converged."""
    x, one = start.copy(), np.eye(len(start))
    with np.errstate(all="ignore"):
        for _ in range(NEWTON_STEPS):
            cycle, end, jacobian = _around(at, x, p)
            lost = ~(np.isfinite(jacobian).all(axis=(1, 2)) & (np.abs(x - start) <= size).all(axis=0))
            jacobian[lost] = 0.0
            inverse, _ = inverses(one - jacobian, size)
            step = np.einsum("mij,jm->im", inverse, end - x)
            step[:, lost] = 0.0
            small = (np.abs(step) <= EXACT * size).all(axis=0)
            # as in rest.rests, for p steps: where one - jacobian has no inverse, a small step says nothing
            terms = size + np.einsum("mij,jm->im", np.abs(jacobian), size)
            remainder = np.abs(end - x - _times(one - jacobian, step))
            closes = small & ~lost & (remainder <= p * ROUNDING * terms).all(axis=0)
            if (small | lost).all():
                break
            x = x + step
    cycle[:, :, ~closes] = jacobian[~closes] = 0.0
    return cycle, jacobian, closes


def _times(matrices: Array, columns: Array) -> Array:
    return np.asarray(np.einsum("mij,jm->im", matrices, columns))


def _around(at: Linearised, x: Array, p: int) -> tuple[Array, Array, Array]:
    cycle, n, m = np.empty((p, *x.shape)), *x.shape
    jacobian = np.broadcast_to(np.eye(n), (m, n, n))
    for k in range(p):
        cycle[k] = x
        x, partials = at(x, np.empty((0, m)), np.zeros(m))
        jacobian = partials.transpose(2, 0, 1) @ jacobian
    return cycle, x, jacobian


def _distance(orbit: Array, cycle: Array, size: Array, last: int, p: int) -> Array:
    """Largest distance of the p steps up to `last`; the cycle's first point belongs to the orbit's end."""
    length = orbit.shape[2]
    steps = np.arange(last - p + 1, last + 1)
    there = np.moveaxis(cycle[(steps - (length - 1)) % p], 0, -1)
    gap: Array = (np.abs(orbit[:, :, steps] - there) / size[:, :, None]).max(axis=(0, 2))
    return gap


def _shortest(cycle: Array, size: Array) -> NDArray[np.int64]:
    """A cycle of p steps may be a shorter one run through several times."""
    p = len(cycle)
    period = np.full(cycle.shape[2], p, dtype=np.int64)
    for q in (q for q in range(p - 1, 0, -1) if p % q == 0):
        same = (np.abs(np.roll(cycle, -q, axis=0) - cycle) <= 1e3 * EXACT * size).all(axis=(0, 1))
        period[same] = q
    return period


#: Numbers of one result, 2 GB.
MAX_NUMBERS = 250_000_000
#: Steps of the transient of which one is taken into a motion's reach.
_SEEN = 16


@dataclass(frozen=True)
class Orbits:
    """What maps do in the end.

    Attributes
    ----------
    states : (states, size, kept) array, NaN where the orbit left the floating-point numbers
    period : (size,) steps of the cycle, 0 where none was found
    multiplier : (size,) its largest multiplier in modulus
    status : (size,) code of results.Status
    reach : (states, size) largest absolute value of each state
    transient, keep : steps before, and steps kept
    """

    states: Array
    period: NDArray[np.int64]
    multiplier: Array
    status: NDArray[np.uint8]
    reach: Array
    transient: int
    keep: int


def map_orbits(system: System, transient: float | None, keep: float | None, max_period: int) -> Orbits:
    """Run a map, delays and all, from its start."""
    transient, keep = map_times(system, transient, keep)
    size, n = system.size, len(system.labels)
    if n * size * keep > MAX_NUMBERS:
        raise DomainError(
            f"{n} states at {size:,} points and {counted(keep)} kept steps are too many numbers: at most "
            f"{MAX_NUMBERS:,}; keep fewer steps, or sweep in blocks"
        )
    lag = int(system.lag_values().max(initial=0)) if system.delayed else 0
    longest = min(max_period, keep // 2)
    what = f"{counted(transient + keep)} steps of a map at {size:,} points, and cycles of up to {longest:,} steps"
    work = (transient + keep + NEWTON_STEPS * longest**2 / 2) * (system.rhs.arithmetic + 4 * n * (1 + lag))
    check_work(what, size * work, "give fewer points, a shorter transient and keep, or a smaller max_period")
    check_memory(what, 16.0 * size * keep * n * (1 + lag), "give fewer points, or keep fewer steps")
    states, reach = np.empty((n, size, keep)), np.zeros((n, size))
    period, multiplier = np.zeros(size, np.int64), np.full(size, np.nan)
    for points in _alike(system):
        plain = _without_delays(system, points)
        x = plain.start_values()
        orbit = np.empty((len(x), points.size, keep))
        slope = plain.prepared_slope()
        largest = np.abs(x[:n])
        for step in range(transient + keep):
            if step >= transient:
                orbit[:, :, step - transient] = x
            elif step % _SEEN == 0:
                np.fmax(largest, np.abs(x[:n]), out=largest)
            x = slope(x, float(step))
        states[:, points] = orbit[:n]
        with np.errstate(invalid="ignore"):
            reach[:, points] = np.fmax(largest, np.fmax.reduce(np.abs(orbit[:n]), axis=2))
        cycles = find_cycles(plain, orbit, np.arange(points.size), transient, max_period)
        period[points], multiplier[points] = cycles
    lost = ~np.isfinite(states).all(axis=(0, 2))
    states[:, lost] = np.nan
    status = np.where(lost, Status.OVERFLOW, 0).astype(np.uint8)
    return Orbits(states, period, multiplier, status, reach, transient, keep)


def _alike(system: System) -> list[NDArray[np.int64]]:
    """Points whose delays agree."""
    if not system.delayed:
        return [np.arange(system.size)]
    _, group = np.unique(system.lag_values(), axis=1, return_inverse=True)
    return [np.flatnonzero(group.ravel() == g) for g in range(int(group.max()) + 1)]


def _without_delays(system: System, points: NDArray[np.int64]) -> System:
    """The first-order map at some points; its registers hold what was there before anything moved."""
    local = system.take(points)
    if not system.delayed:
        return local
    values = {k: xr.DataArray(v, dims=POINT, name=f"value_of_{k}") for k, v in local.swept.items()}
    parameters = {k: v for k, v in values.items() if k in system.problem.parameters}
    starts = {k.removeprefix("start_"): v for k, v in values.items() if k not in parameters}
    problem = system.problem.at(**parameters).starting(starts)
    registers = first_order(problem)  # type: ignore[arg-type]
    missing = [label for label in registers.labels if label not in registers.start]
    if missing:
        now = dict(zip(local.labels, local.start_values(), strict=True)) | {TIME: 0.0}
        rows = dict(zip(problem.outputs, local.evaluate(local.outputs, now), strict=True))
        first = {k: xr.DataArray(v, dims=POINT) if local.grid.dims else v.item() for k, v in rows.items()}
        registers = registers.starting({label: first[label.rpartition("(-")[0]] for label in missing})
    return compile_system(registers)
