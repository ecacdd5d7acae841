"""What it means to be at rest: the one test that every solver of equilibria, basins and diagrams applies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..equations import System
from ..problems import TIME, Map
from ..programs.straightline import Builder, Op, Program, run

Array = NDArray[np.float64]

#: Largest residual of a state that is at rest, relative to the terms of its equation: some thousand roundings.
ROUNDING = 1e-12
#: How far beside a state the slopes are taken too, relative to its size.
_ASIDE = 1e-6
#: Times at which equations that hold the time must be at rest; no period divides their differences.
TIMES = (0.0, 0.01234, 0.1732, 0.5772, 1.6180, 4.669, 27.18, 314.2)
#: How far a closed form may be off, relative to the terms of the equations; far above rounding.
_CLOSED = 1e-7
#: Below this a product of numbers that are not zero has lost its digits.
_TINY = float(np.finfo(float).tiny)


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
        magnitude = np.abs(states) if size is None else np.maximum(np.abs(states), np.abs(size))
        rate, error, lost = rate - states, error + magnitude, lost & (states == 0)
    return rate, error, lost


def closed_forms(system: System) -> tuple[Array, NDArray[np.bool_]]:
    """(n, size, points) states of the problem's fixed points, and (size, points) whether they solve the equations."""
    values = _closed_forms(system)
    valid = np.stack([solves(system, np.ascontiguousarray(form)) for form in np.moveaxis(values, 1, 0)], axis=1)
    return np.moveaxis(values, 1, 2), valid


def first_closed_form(system: System) -> tuple[Array, NDArray[np.bool_]]:
    """(n, size) the first closed form that solves the equations at each point, and (size,) whether one does."""
    forms = np.moveaxis(_closed_forms(system), 1, 0)
    chosen = np.ascontiguousarray(forms[0])
    valid = solves(system, chosen)
    for form in forms[1:]:
        points = np.flatnonzero(~valid)
        if not points.size:
            break
        states = np.ascontiguousarray(form[:, points])
        solved = solves(system, states, points)
        chosen[:, points[solved]], valid[points[solved]] = states[:, solved], True
    return chosen, valid


def _closed_forms(system: System) -> Array:
    """(n, points, size) states of the problem's fixed points."""
    points, labels = system.problem.fixed_points, system.labels
    formulas = tuple(point[label] for label in labels for point in points)
    key = ("closed forms", *((type(e), e) for e in formulas))
    program = system.equations.once(key, lambda: _program(formulas))
    return system.evaluate(program, {}).reshape(len(labels), len(points), system.size)


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


def running_error(
    program: Program, values: Mapping[str, Any], sizes: Mapping[str, Any], count: int
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Values of a program, what a relative error of 1 in every step and input adds up to, and where digits were lost.

    A first-order bound, step by step as in Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.3:
    times the unit roundoff it bounds the rounding error. It scales as the values do.

    Parameters
    ----------
    values : mapping input name -> number or (count,) array
    sizes : mapping input name -> number or (count,) array
        What an error of 1 in an input is relative to, if more than its own value.
    count : int

    Returns
    -------
    values, errors : (outputs, count) arrays
    lost : (outputs, count) array
        Whether a value is zero (or nearly) only because it is too small for floating-point numbers.

    Examples
    --------
    >>> from tcpdynamics.solvers.programs.straightline import Builder
    >>> b = Builder()
    >>> difference = b.build([b.sub(b.input("x"), b.const(1))])
    >>> value, error, _ = running_error(difference, {"x": 1.0}, {}, 1)
    >>> value.item(), error.item()
    (0.0, 2.0)
    """
    value: list[Array] = []
    error: list[Array] = []
    lost: list[NDArray[np.bool_]] = []
    none = np.zeros(count, bool)
    with np.errstate(all="ignore"):
        for op in program.ops:
            gone = none
            if op.kind in ("input", "const"):
                v = np.broadcast_to(np.asarray(op.value if op.kind == "const" else values[op.value], float), count)
                e = np.abs(v)
                if op.kind == "input" and op.value in sizes:
                    e = np.maximum(e, sizes[op.value])
            else:
                a, b = op.a, op.b if op.b >= 0 else op.a
                v = _value(op, value[a], value[b])
                magnitude = np.abs(v)
                e = _error(op.kind, v, magnitude, value[a], value[b], error[a], error[b] if op.b >= 0 else 0.0)
                small = magnitude < _TINY
                if small.any():
                    gone = _lost(op, small, value[a], value[b], lost[a], lost[b])
            value.append(v)
            error.append(e)
            lost.append(gone)
    shape = (len(program.outputs), count)
    return (
        np.array([value[i] for i in program.outputs]).reshape(shape),
        np.array([error[i] for i in program.outputs]).reshape(shape),
        np.array([lost[i] for i in program.outputs], bool).reshape(shape),
    )


_FAST = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}


def _value(op: Op, x: Array, y: Array) -> Array:
    """One step, by the same arithmetic as every other evaluation."""
    if op.kind in _FAST:
        return np.asarray(_FAST[op.kind](x, y))
    step = Program((Op("input", value="a"), Op("input", value="b"), Op(op.kind, 0, 1 if op.b >= 0 else -1)), (2,))
    return np.asarray(run(step, {"a": x, "b": y})[0], float)


def _error(kind: str, v: Array, own: Array, x: Array, y: Array, dx: Array, dy: Any) -> Array:
    """The error of a step of value v, |v| = own: what it adds itself, and what its operands bring."""
    if kind == "mul":
        return np.asarray(own + np.abs(x) * dy + np.abs(y) * dx)
    if kind == "div":
        return np.asarray(own + (dx + own * dy) / np.abs(y))
    if kind in ("min", "max"):
        return np.asarray(np.where(v == x, dx, dy))
    if kind == "pow":
        steps = np.where(dx == 0, 0.0, np.abs(y / x) * dx)
        return np.asarray(own + own * (steps + np.where(dy == 0, 0.0, np.abs(np.log(np.abs(x))) * dy)))
    if kind == "exp":
        return own + own * dx
    if kind == "log":
        return own + dx / np.abs(x)
    if kind == "step":
        return np.zeros_like(own)
    return np.asarray(own + dx + dy)  # sums, and functions whose slope is at most 1


def _lost(op: Op, small: NDArray[np.bool_], x: Array, y: Array, before: Any, after: Any) -> NDArray[np.bool_]:
    """Which of the small values of a step are so by underflow."""
    if op.kind in ("mul", "div", "pow"):
        exact = ((x == 0) & ~before) | ((y == 0) & ~after & (op.kind == "mul"))
        return np.asarray(small & ~exact)
    if op.kind == "exp":
        return small
    return np.asarray(small & (before | after))
