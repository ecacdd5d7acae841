"""How far rounding, or an uncertain state, may move the values of a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .straightline import Op, Program, run

Array = NDArray[np.float64]

#: Below this a product of numbers that are not zero has lost its digits.
_TINY = float(np.finfo(float).tiny)


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
                v = np.broadcast_to(
                    np.asarray(op.value if op.kind == "const" else values[op.value], float), count
                )
                e = np.abs(v)
                if op.kind == "input" and op.value in sizes:
                    e = np.maximum(e, sizes[op.value])
            else:
                a, b = op.a, op.b if op.b >= 0 else op.a
                v = _value(op, value[a], value[b])
                own = np.abs(v)
                e = _error(op.kind, v, own, value[a], value[b], error[a], error[b] if op.b >= 0 else 0.0)
                small = own < _TINY
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
    step = Program(
        (Op("input", value="a"), Op("input", value="b"), Op(op.kind, 0, 1 if op.b >= 0 else -1)), (2,)
    )
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
