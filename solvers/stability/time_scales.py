"""How long a system is to be followed, where nobody says: from its delays and from the roots at its point of rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.errors import real, whole
from tcpdynamics.limits import check_work

from ..equations import System
from ..problems import DomainError, DynamicsError
from .equilibria_search import inverses
from .leading_roots import leading_roots
from .operating_point import operating_point
from .rest import at_rest_jacobian, at_rest_rate

Array = NDArray[np.float64]

#: Points whose roots are found at a time.
_BLOCK = 4096
#: Longest unit of time, in shortest delays and in times in which the fastest mode of the equations changes.
_DELAYS, _MODES = 100.0, 256.0
#: Default times of a flow, in its own units: before the window, and of the window.
_TRANSIENT, _KEEP = 500.0, 200.0
#: Change of a mode, relative, by Newton's next correction of the point of rest, above which it is not known.
_KNOWN = 0.1
#: Modes this much slower than the fastest one are none: rounding of eigenvalues, and of a slope's numbers.
_NONE, _DIGITS = 2.0**-50, 2.0**-44
_TINY = float(np.finfo(float).tiny)
#: Steps that one motion may take.
MAX_STEPS = 100_000


@dataclass(frozen=True)
class Scales:
    """Times that a flow has of its own, one a point of the grid; infinite where there is none.

    Attributes
    ----------
    longest, shortest : (size,) delays that are not zero
    slowest, fastest : (size,) 1/|z| of the slowest and the fastest mode at the point of rest
    """

    longest: Array
    shortest: Array
    slowest: Array
    fastest: Array

    @property
    def unit(self) -> Array:
        """(size,) the unit of time: see `own_unit`."""
        cap = np.minimum(_DELAYS * self.shortest, _MODES * self.fastest)
        # Where the slowest mode is not known (the leading root is zero: a full queue), the fastest is all there is.
        slow = np.minimum(np.where(np.isfinite(self.slowest), self.slowest, self.fastest), cap)
        delay = np.where(np.isfinite(self.longest), self.longest, 0.0)
        unit = np.maximum(np.where(np.isfinite(slow), slow, 0.0), delay)
        return np.where(unit > 0, 2.0 ** np.round(np.log2(np.where(unit > 0, unit, 1.0))), 1.0)

    @property
    def too_short(self) -> NDArray[np.bool_]:
        """(size,) whether default times let the slowest mode die out by less than e^-20."""
        return np.asarray(np.isfinite(self.slowest) & (_TRANSIENT * self.unit < 20 * self.slowest))

    def steps(self, duration: Array) -> Array:
        """(size,) steps that a motion takes at least: half of one a shortest delay."""
        return np.where(np.isfinite(self.shortest), 0.5 * duration / self.shortest, 0.0)

    def likely_steps(self, duration: Array) -> Array:
        """(size,) steps that a motion near rest takes, roughly: one in ten times of the fastest mode."""
        return np.maximum(self.steps(duration), 0.1 * duration / self.fastest)


def own_unit(system: System) -> Array:
    """(size,) the unit in which a flow's times are counted at each point of the grid, where nobody says.

    The longest delay, or the time 1/|z| of the slowest mode at the operating point (that of `eigenvalues`; of delay
    equations the leading root) where that is longer, at most 100 shortest delays and 256 times that of the fastest
    mode, so that the steps suffice: `Scales.too_short` says where that is too short for the slowest mode. A mode that
    Newton's next correction of the point of rest would change, as at the rest of x' = -x^3, is replaced by the slowest
    at the start. Rounded to a power of two. Without delays and
    without a mode at a point of rest, 1.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers.equations import compile_system
    >>> from tcpdynamics.solvers import ODE
    >>> x, rate = sympy.symbols("x rate")
    >>> slow = ODE(rhs={"x": rate * (1 - x)}, parameters={"rate": [0.001, 8.0]}, start={"x": 3.0})
    >>> own_unit(compile_system(slow)).tolist()
    [1024.0, 0.125]
    """
    return scales(system).unit


def scales(system: System) -> Scales:
    """The times that a flow has of its own."""
    size = system.size
    longest, shortest = np.full(size, np.inf), np.full(size, np.inf)
    if system.delayed:
        lags = system.lag_values()
        acts = lags > 0
        longest = np.where(acts.any(axis=0), lags.max(axis=0), np.inf)
        shortest = np.where(acts, lags, np.inf).min(axis=0)
    blocks = [np.arange(low, min(low + _BLOCK, size)) for low in range(0, size, _BLOCK)]
    slow, fast, vague = np.concatenate([_modes(system, points) for points in blocks], axis=1)
    some = np.flatnonzero(vague)
    if some.size and not system.delayed and set(system.problem.start) >= set(system.problem.rhs):
        at_start = _at_start(system, some)
        slow[some] = np.where(np.isfinite(slow[some]), np.maximum(slow[some], at_start), at_start)
        slow[some[slow[some] == 0]] = np.inf
    return Scales(longest, shortest, slow, fast)


def _modes(system: System, points: NDArray[np.int64]) -> Array:
    """(3, m) times of the slowest and the fastest mode at some points of the grid; whether a mode is not known."""
    none = np.full((3, points.size), np.inf)
    none[2] = 0.0
    try:
        local, states, status = operating_point(system.take(points))
        fine = np.flatnonzero(status == 0)
        if not fine.size:
            return none
        resting_states = np.ascontiguousarray(states[:, fine])
        roots = np.abs(leading_roots(local, resting_states, fine, 1 if local.delayed else None)[0])
        now = np.abs(np.linalg.eigvals(np.nan_to_num(local.jacobians(resting_states, fine)[0]))).max(axis=1)
        vague, lacking = _unknown(local, resting_states, fine)
    except (DynamicsError, DomainError, np.linalg.LinAlgError):
        return none
    times = np.full((3, local.size), np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        largest = np.nanmax(np.where(np.isfinite(roots), roots, 0.0), axis=1, initial=0.0)
        fastest = np.maximum(largest, now)
        moving = (roots > _NONE * fastest[:, None]) & (roots > 2 * vague[:, None])
        times[0, fine] = 1 / np.where(moving, roots, np.inf).min(axis=1)
        times[1, fine] = 1 / np.where(fastest > 2 * vague, fastest, 0.0)
    times[times == 0] = np.inf
    times[2] = 0.0
    times[2, fine] = lacking
    return np.array(np.broadcast_to(times, (3, points.size)))  # without swept parameters all points share one


def _unknown(system: System, states: Array, points: NDArray[np.int64]) -> tuple[Array, NDArray[np.bool_]]:
    """(m,) below what the modes at a point of rest are not known, and (m,) whether one is not, or is zero.

    Newton's next correction, or rounding, changes those.

    At a root of higher order (x' = -x^3) a search ends beside the point of rest, at a slope that is left over from it;
    where something is conserved, a mode is zero but for rounding.
    """
    with np.errstate(all="ignore"):
        slope = at_rest_jacobian(system, states, points)
        inverse = inverses(slope, np.where(states == 0, 1.0, np.abs(states)))[0]
        step = np.einsum("lij,jl->il", inverse, at_rest_rate(system, states, points))
        next_ = at_rest_jacobian(system, states - np.nan_to_num(step), points)
        number = np.arange(len(states))
        next_ = next_ * (
            1 + _DIGITS * np.cos(3 * number[:, None] + 5 * number)
        )  # all rows and columns by different parts
        one, two = (np.sort(np.abs(np.linalg.eigvals(np.nan_to_num(j))), axis=1) for j in (slope, next_))
        vague = np.abs(one - two) > _KNOWN * one
        none = (one <= _NONE * one[:, -1:]).any(axis=1)
    return np.where(vague, np.maximum(one, two), 0.0).max(axis=1), np.asarray(vague.any(axis=1) | none)


def _at_start(system: System, points: NDArray[np.int64]) -> Array:
    """(m,) times of the slowest mode at the start; 0 where there is none."""
    with np.errstate(all="ignore"):
        slope = system.jacobians(np.ascontiguousarray(system.start_values()[:, points]), points)[0]
        rates = np.abs(np.linalg.eigvals(np.nan_to_num(slope)))
        moving = rates > np.maximum(_DIGITS * rates.max(axis=1, keepdims=True), _TINY)
    return np.asarray(1 / np.where(moving, rates, np.inf).min(axis=1))


def flow_times(system: System, transient: Any, keep: Any) -> tuple[Array, Array, Scales]:
    """(size,) transients and windows of a flow: as they are, or 500 and 200 of its own units."""
    units_of_time = scales(system)
    before = (
        _TRANSIENT * units_of_time.unit if transient is None else np.full(system.size, real("transient", transient, 0))
    )
    recording = _KEEP * units_of_time.unit if keep is None else np.full(system.size, real("keep", keep, 0, above=True))
    return before, recording, units_of_time


def map_times(system: System, transient: Any, keep: Any) -> tuple[int, int]:
    """Steps of a map before, and those kept: as they are, or 1000 times the longest delay (at least 1), and 256."""
    lag = int(system.lag_values().max(initial=0)) if system.delayed and transient is None else 0
    before = 1000 * max(lag, 1) if transient is None else whole("transient of a map", transient, 0)
    return before, 256 if keep is None else whole("keep of a map", keep, 2)


def check_motion(what: str, system: System, steps: Array | float, operations: float, samples: float = 0.0) -> None:
    """Refuse motions that would take too long, before the first starts.

    Parameters
    ----------
    steps : (size,) array or number, of each motion
    operations : float, of one step
    samples : float, operations on what is recorded of each
    """
    steps_each = np.broadcast_to(np.asarray(steps, float), system.size)
    check_work(
        what, float(steps_each.sum()) * operations + samples * system.size, "give fewer points, or shorter times"
    )


def one_or_range(times: Array) -> float | list[float]:
    """For a result's settings: the time of all points, or the least and the most."""
    low, high = float(times.min()), float(times.max())
    return low if low == high else [low, high]
