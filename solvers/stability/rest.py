"""What it means to be at rest: the one test that every solver of equilibria, basins and diagrams applies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..equations import System
from ..problems import TIME, Map
from ..programs.running_error import running_error
from ..programs.straightline import Builder, Program

Array = NDArray[np.float64]

#: Largest residual of a state that is at rest, relative to the terms of its equation: some thousand roundings.
ROUNDING = 1e-12
#: How far beside a state the slopes are taken too, relative to its size.
_ASIDE = 1e-6
#: Times at which equations that hold the time must be at rest; no period divides their differences.
TIMES = (0.0, 0.01234, 0.1732, 0.5772, 1.6180, 4.669, 27.18, 314.2)
#: How far a closed form may be off, relative to the terms of the equations; far above rounding.
_CLOSED = 1e-7


def rests(
    system: System,
    states: Array,
    points: Any = None,
    size: Array | None = None,
    tolerance: float = ROUNDING,
    times: Sequence[float | Array] = TIMES,
) -> NDArray[np.bool_]:
    """Whether the equations are at rest at states, with the past of a delay equation held there.

    The residual of equation i, the rate of change f_i (of a map: the change in a step), must be at most `tolerance`
    times E_i, the sum of the absolute values of all that is added up in f_i, each weighted with how it enters:

        E_i = sum over steps of the computation |value|, carried to f_i, + sum over states |df_i/dx_j| s_j,

    with s_j the larger of |x_j| and `size`. In words: f_i is zero within rounding, or the state is within `tolerance`
    of its size of a place where f_i vanishes to first order.
    With `size`, E_i is the lesser of that at the state and that a millionth of the size further from zero: beside a
    pole the slopes are steep, but only there. f_i and E_i scale alike: in other units of a state, or of time, the same
    states are at rest. No slope is inverted, so a singular linearisation changes nothing: x' = -1 rests nowhere, x' = 0
    everywhere. A rate that is zero only because it is too small for floating-point numbers (exp(-800)) is none.

    Parameters
    ----------
    states : (n, m) array
    points : index into the grid, optional; default all points in order
    size : (n, m) array, optional
        Of the box or the motion, in each state: where a state is zero but for rounding, relative to this.
    tolerance : float
    times : numbers or (m,) arrays
        Where the equations hold the time; they must be at rest at each.

    Returns
    -------
    (m,) bool array, False where a state or a rate is not finite

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers.equations import compile_system
    >>> from tcpdynamics.solvers.problems import ODE
    >>> x = sympy.Symbol("x")
    >>> rests(compile_system(ODE(rhs={"x": 3 - x})), np.array([[3.0]])).tolist()
    [True]
    >>> rests(compile_system(ODE(rhs={"x": sympy.Integer(-1)})), np.array([[1e9]])).tolist()
    [False]
    """
    with np.errstate(all="ignore"):
        fine = np.asarray(np.isfinite(states).all(axis=0))
        safe = np.where(fine, states, 0.0)
        timed = TIME in system.rhs.inputs or (system.delayed and TIME in system.equations.rest.inputs)
        for t in times if timed else times[:1]:
            rate, error, lost = residual(system, safe, points, size, t)
            if size is not None:
                beside = safe + _ASIDE * np.where(safe < 0, -1.0, 1.0) * np.abs(size)
                error = np.fmin(error, residual(system, beside, points, size, t)[1])
            small = (np.abs(rate) <= tolerance * error) | ((rate == 0) & np.isnan(error))
            fine &= (small & np.isfinite(rate) & ~lost).all(axis=0)
    return fine


def residual(
    system: System, states: Array, points: Any = None, size: Array | None = None, t: float | Array = 0.0
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """(n, m) rates at rest (of a map: changes in a step), the E_i of `rests`, and where a rate is lost to underflow."""
    count = states.shape[1]
    values = system.parameters_at(points) | dict(zip(system.labels, states, strict=True)) | {TIME: t}
    sizes: dict[str, Any] = {} if size is None else dict(zip(system.labels, np.abs(size), strict=True))
    if system.delayed:
        past, doubt, _ = running_error(system.equations.rest, values, sizes, count)
        values |= dict(zip(system.delayed, past, strict=True))
        sizes |= dict(zip(system.delayed, doubt, strict=True))
    rate, error, lost = running_error(system.rhs, values, sizes, count)
    if isinstance(system.problem, Map):
        own = np.abs(states) if size is None else np.maximum(np.abs(states), np.abs(size))
        rate, error, lost = rate - states, error + own, lost & (states == 0)
    return rate, error, lost


def closed_forms(system: System) -> tuple[Array, NDArray[np.bool_]]:
    """(n, size, points) states of the problem's fixed points, and (size, points) whether they solve the equations."""
    points, labels = system.problem.fixed_points, system.labels
    formulas = tuple(point[label] for label in labels for point in points)
    key = ("closed forms", *((type(e), e) for e in formulas))
    program = system.equations.once(key, lambda: _program(formulas))
    values = system.evaluate(program, {}).reshape(len(labels), len(points), system.size)
    valid = np.stack([solves(system, np.ascontiguousarray(values[:, k])) for k in range(len(points))], axis=1)
    return np.moveaxis(values, 1, 2), valid


def _program(formulas: tuple[Any, ...]) -> Program:
    from ..programs.from_sympy import emit

    builder = Builder()
    return builder.build([emit(builder, formula) for formula in formulas])


def at_rest_rate(system: System, states: Array, points: Any = None) -> Array:
    """(n, m) what must vanish at an equilibrium: the slope, for a map its change of state."""
    rate = system.slope(states, points)
    return rate - states if isinstance(system.problem, Map) else rate


def at_rest_jacobian(system: System, states: Array, points: Any = None) -> Array:
    """(m, n, n) derivative of `at_rest_rate` with the past moving along."""
    base, past, _ = system.jacobians(states, points)
    total: Array = base + past.sum(axis=1)
    return total - np.eye(len(states)) if isinstance(system.problem, Map) else total


def solves(system: System, states: Array, points: Any = None) -> NDArray[np.bool_]:
    """Whether the equations are at rest there, as far as closed forms are exact."""
    return rests(system, states, points, tolerance=_CLOSED)
