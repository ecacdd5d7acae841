"""Trajectories by SciPy's integrators: a second opinion, the method for stiff equations, and the test for stiffness."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..equations import System
from ..results import Status

Array = NDArray[np.float64]

#: SciPy's integrators by our names of them.
METHODS = {"scipy": "DOP853", "radau": "Radau"}

_UNKNOWN = -1

#: SciPy divides by a state's tolerance: what is used where a state is zero and no `atol` is asked for.
SMALLEST = 1e-100


class _StepsRanOut(Exception):
    """SciPy has no bound on its steps; this is how one is kept."""


def follow(
    system: System,
    point: int,
    start: Array,
    ticks: Array,
    method: str,
    rtol: float,
    atol: float,
    max_steps: int,
    max_step: float,
    halts: Array,
) -> tuple[Array, int, Array]:
    """One trajectory of an ODE without switches; a step ends at each time of the result, so that none is interpolated.

    Parameters
    ----------
    start : (n,) array
    ticks : (nt,) increasing times >= 0
    method : a key of METHODS
    max_step : float
    halts : (m,) increasing times at which a step must end too, inf behind the last (see `forcing`)

    Returns
    -------
    states : (n, reached) array
        At as many times as were reached.
    status : code of results.Status
    end : (2 n + 2,) array
        States and slopes where it ended, the time, and the last step.
    """
    from scipy import integrate

    calls = itertools.count(1)

    def slope(t: float, y: Array) -> Array:
        if next(calls) > 12 * max_steps:  # evaluations of one step
            raise _StepsRanOut
        return system.slope(y[:, None], [point], t)[:, 0]

    def jacobian(t: float, y: Array) -> Array:
        matrix: Array = system.jacobians(y[:, None], [point], t)[0][0]
        return matrix

    states = np.empty((start.size, ticks.size))
    states[:, 0], reached = start, int(ticks[0] == 0.0)
    status: int = Status.OK
    solver: Any = None
    with np.errstate(all="ignore"):
        if reached < ticks.size:
            if not np.isfinite(slope(0.0, start)).all():
                return states[:, :reached], Status.SINGULAR, np.zeros(2 * start.size + 2)
            try:
                more: dict[str, Any] = {"jac": jacobian} if method == "radau" else {}
                solver = getattr(integrate, METHODS[method])(
                    slope,
                    0.0,
                    start,
                    ticks[-1],
                    rtol=max(rtol, 1e-13),
                    atol=max(atol, SMALLEST),
                    max_step=max_step,
                    **more,
                )
                while reached < ticks.size and status == Status.OK:
                    between = halts[(halts > solver.t) & (halts < ticks[reached])]
                    if all(_steps_to(solver, t) for t in [*between, ticks[reached]]):
                        states[:, reached] = solver.y
                        reached += 1
                    else:
                        status = _UNKNOWN
            except _StepsRanOut:
                status = Status.STEPS
            except (ValueError, np.linalg.LinAlgError):  # a matrix that is not finite
                status = _UNKNOWN
        y, t, step = (solver.y, solver.t, solver.step_size or 0.0) if solver else (start, 0.0, 0.0)
        last = system.slope(y[:, None], [point], t)[:, 0]
        status = _reason(y, last, step) if status == _UNKNOWN else status
    return states[:, :reached], status, np.array([*y, *last, t, step])


def _steps_to(solver: Any, tick: float) -> bool:
    """Steps that end at a time; false if they cannot be made small enough, or the state is no number any more."""
    solver.t_bound, solver.status = tick, "running"
    if hasattr(solver, "LU_real"):  # made for a step of another length
        solver.LU_real = solver.LU_complex = None
    while solver.status == "running":
        solver.step()
    return solver.status == "finished" and bool(np.isfinite(solver.y).all())


def _reason(y: Array, slope: Array, step: float) -> int:
    """Why no step is small enough: the state runs away, or the equations have no value there (as in the kernel)."""
    grows = ~np.isfinite(y) | ((abs(y) > 1e10) & ~(y * slope <= 0))
    grows |= (y * slope > 0) & (abs(slope) * step > 1e-3 * abs(y))
    return Status.OVERFLOW if grows.any() else Status.SINGULAR


#: A step of a Taylor method of degree 8 to 40 is stable up to 4 to 16 times the time in which a mode decays.
LIMIT = 1.0

#: Share of a state that its fast modes may still make up.
AT_REST = 0.1


def is_stiff(system: System, points: NDArray[np.intp], ends: Array) -> NDArray[np.bool_]:
    """At which points the last step was long for the fastest decay, although that decay is over.

    Parameters
    ----------
    points : (m,) points of the grid
    ends : (2 n + 2, m) states and slopes where the steps ran out, time, last step

    Notes
    -----
    A mode exp(lambda t) of the linearised equations that decays holds an explicit method's step below a few 1/|lambda|,
    whether or not the mode is there. It is not needed for accuracy once what is left of it, the part of the slope in
    its direction over lambda, is a small share of every state. Delayed values are held fixed, at the present's.
    """
    n, t, step = len(system.labels), ends[-2], ends[-1]
    states, slopes = ends[:n], ends[n : 2 * n]
    with np.errstate(all="ignore"):
        matrices = system.jacobians(states, points, t)[0]
    out = np.zeros(points.size, bool)
    for i in np.flatnonzero(np.isfinite(matrices).all(axis=(1, 2)) & np.isfinite(slopes).all(axis=0)):
        values, vectors = np.linalg.eig(matrices[i])
        fast = (-values.real * step[i] >= LIMIT) & (-values.real >= abs(values.imag))
        if not fast.any() or np.linalg.cond(vectors) > 1e12:
            continue
        share = np.linalg.solve(vectors, slopes[:, i].astype(complex))
        remainder = abs((vectors[:, fast] * (share[fast] / values[fast])).sum(axis=1))
        out[i] = bool((remainder <= AT_REST * abs(states[:, i])).all())
    return out
