"""Orbits of maps after a transient, and the cycles on which they settle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.limits import check_memory, check_work

from ..dynamics import System, compile_system
from ..problems import DomainError
from ..results import REASONS
from ..trajectories.maps import first_order
from .cycles import NEWTON_STEPS, find_cycles
from .own_times import map_times
from .points import take
from .tangent import bound_slope

Array = NDArray[np.float64]

#: Numbers of one result, 2 GB.
MAX_NUMBERS = 250_000_000
#: Steps of the transient of which one is taken into a motion's reach.
_SEEN = 16
OVERFLOW = REASONS.index("the state grew beyond floating-point numbers")


@dataclass(frozen=True)
class Orbits:
    """What maps do in the end.

    Attributes
    ----------
    states : (states, size, kept) array, NaN where the orbit left the floating-point numbers
    period : (size,) steps of the cycle, 0 where none was found
    multiplier : (size,) its largest multiplier in modulus
    status : (size,) code of results.REASONS
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
            f"{n} states at {size:,} points and {keep:,} kept steps are too many numbers: at most {MAX_NUMBERS:,}; "
            "keep fewer steps, or sweep in blocks"
        )
    lag = int(system.lag_values().max(initial=0)) if system.delayed else 0
    longest = min(max_period, keep // 2)
    what = f"{transient + keep:,} steps of a map at {size:,} points, and cycles of up to {longest:,} steps"
    each = (transient + keep + NEWTON_STEPS * longest**2 / 2) * (system.rhs.arithmetic + 4 * n * (1 + lag))
    check_work(what, size * each, "give fewer points, a shorter transient and keep, or a smaller max_period")
    check_memory(what, 16.0 * size * keep * n * (1 + lag), "give fewer points, or keep fewer steps")
    states, reach = np.empty((n, size, keep)), np.zeros((n, size))
    period, multiplier = np.zeros(size, np.int64), np.full(size, np.nan)
    for points in _alike(system):
        plain = _without_delays(system, points)
        x = plain.start_values()
        orbit = np.empty((len(x), points.size, keep))
        slope = bound_slope(plain)
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
        found = find_cycles(plain, orbit, np.arange(points.size), transient, max_period)
        period[points], multiplier[points] = found
    lost = ~np.isfinite(states).all(axis=(0, 2))
    states[:, lost] = np.nan
    status = np.where(lost, OVERFLOW, 0).astype(np.uint8)
    return Orbits(states, period, multiplier, status, reach, transient, keep)


def _alike(system: System) -> list[NDArray[np.int64]]:
    """Points whose delays agree."""
    if not system.delayed:
        return [np.arange(system.size)]
    _, group = np.unique(system.lag_values(), axis=1, return_inverse=True)
    return [np.flatnonzero(group.ravel() == g) for g in range(int(group.max()) + 1)]


def _without_delays(system: System, points: NDArray[np.int64]) -> System:
    """The first-order map at some points; its registers hold what was there before anything moved."""
    problem = take(system, points)
    plain = first_order(problem)  # type: ignore[arg-type]
    missing = [label for label in plain.labels if label not in plain.start]
    if missing:
        import xarray as xr

        local = compile_system(problem)
        now = dict(zip(local.labels, local.start_values(), strict=True)) | {"t": 0.0}
        rows = dict(zip(problem.outputs, local.evaluate(local.outputs, now), strict=True))
        rows = {k: xr.DataArray(v, dims="point") if local.grid.dims else v.item() for k, v in rows.items()}
        plain = plain.starting({label: rows[label.rpartition("(-")[0]] for label in missing})
    return compile_system(plain)
