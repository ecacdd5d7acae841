"""How far rounding, or an uncertain state, may move the values of a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..straightline import Op, Program, run

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
    >>> from ..straightline import Builder
    >>> b = Builder()
    >>> difference = b.build([b.sub(b.input("x"), b.const(1))])
    >>> value, error, _ = running_error(difference, {"x": 1.0}, {}, 1)
    >>> value.item(), error.item()
    (0.0, 2.0)
    """
    value: list[Array] = []
    error: list[Array] = []
    lost: list[NDArray[np.bool_]] = []
    one_step = {op.kind: _program(op) for op in program.ops if op.kind not in ("input", "const")}
    with np.errstate(all="ignore"):
        for op in program.ops:
            if op.kind in ("input", "const"):
                v = np.broadcast_to(np.float64(op.value if op.kind == "const" else values[op.value]), count)
                e = np.abs(v)
                if op.kind == "input" and op.value in sizes:
                    e = np.maximum(e, sizes[op.value])
                gone = np.zeros(count, bool)
            else:
                a, b = op.a, op.b if op.b >= 0 else op.a
                v = np.asarray(run(one_step[op.kind], {"a": value[a], "b": value[b]})[0], float)
                e = _error(op.kind, v, value[a], value[b], error[a], error[b] if op.b >= 0 else 0 * error[a])
                gone = _lost(op, v, value[a], value[b], lost[a], lost[b])
            value.append(v)
            error.append(e)
            lost.append(gone)
    shape = (len(program.outputs), count)
    return (
        np.array([value[i] for i in program.outputs]).reshape(shape),
        np.array([error[i] for i in program.outputs]).reshape(shape),
        np.array([lost[i] for i in program.outputs], bool).reshape(shape),
    )


def _program(op: Op) -> Program:
    """One step of this kind, of inputs a and b."""
    return Program(
        (Op("input", value="a"), Op("input", value="b"), Op(op.kind, 0, 1 if op.b >= 0 else -1)), (2,)
    )


def _error(kind: str, v: Array, x: Array, y: Array, dx: Array, dy: Array) -> Array:
    """The error of a step: what it adds itself, and what its operands bring."""
    own = np.abs(v)
    if kind == "mul":
        return own + np.abs(x) * dy + np.abs(y) * dx
    if kind == "div":
        return own + (dx + own * dy) / np.abs(y)
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
    return own + dx + dy  # sums, and functions whose slope is at most 1


def _lost(op: Op, v: Array, x: Array, y: Array, before: Any, after: Any) -> NDArray[np.bool_]:
    small = np.abs(v) < _TINY
    if op.kind in ("mul", "div", "pow"):
        exact = ((x == 0) & ~before) | ((y == 0) & ~after & (op.kind == "mul"))
        return np.asarray(small & ~exact)
    if op.kind == "exp":
        return small
    return np.asarray(small & (before | after))
