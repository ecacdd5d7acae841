"""Interval arithmetic on arrays: bounds of a program's values over whole spans of its inputs.

Bounds are not rounded outwards: they are used to look for what samples have missed, not as a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .straightline import Program, run

Array = NDArray[np.float64]


class Interval:
    """Arrays `low` and `high`: anything between them, elementwise.

    Examples
    --------
    >>> span = Interval(np.array(-1.0), np.array(2.0))
    >>> square = span * span
    >>> float(square.low), float(square.high)
    (0.0, 4.0)
    """

    __slots__ = ("high", "low")

    def __init__(self, low: Any, high: Any) -> None:
        self.low, self.high = low, high

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Interval) -> Interval:
        if self is other:
            ends = np.square(self.low), np.square(self.high)
            crosses = (self.low <= 0) & (self.high >= 0)
            return Interval(np.where(crosses, 0.0, np.minimum(*ends)), np.maximum(*ends))
        products = (self.low * other.low, self.low * other.high, self.high * other.low, self.high * other.high)
        # Nothing times an unbounded number is nothing: the other products hold that zero.
        return Interval(np.fmin.reduce(products), np.fmax.reduce(products))

    def __truediv__(self, other: Interval) -> Interval:
        # Where only an end is zero, as of an exponential too small for numbers, the sign is known.
        crosses = (other.low < 0) & (other.high > 0)
        high = np.where(crosses | ((other.high == 0) & (other.low < 0)), -0.0, other.high)
        low = np.where(crosses | (other.low == 0), 0.0, other.low)
        # By the ends themselves: the inverse of a number close to zero is infinite where a ratio to it is not.
        ratios = (self.low / low, self.low / high, self.high / low, self.high / high)
        lowest, highest = np.fmin.reduce(ratios), np.fmax.reduce(ratios)
        # The infinite over the infinite, which overflow brings about, is anything of its sign.
        for top in (self.low, self.high):
            for bottom in (low, high):
                lost = np.isinf(top) & np.isinf(bottom)
                same = np.signbit(top) == np.signbit(bottom)
                lowest = np.where(lost, np.fmin(lowest, np.where(same, 0.0, -np.inf)), lowest)
                highest = np.where(lost, np.fmax(highest, np.where(same, np.inf, 0.0)), highest)
        return Interval(np.where(crosses, -np.inf, lowest), np.where(crosses, np.inf, highest))

    def __pow__(self, other: Interval) -> Interval:
        power = _rising(np.exp)(other * _rising(np.log)(self))
        # Zero to a positive power is zero, though its logarithm is none.
        zero = (self.low == 0) & (other.low > 0)
        return Interval(np.where(zero, 0.0, power.low), power.high)


def _rising(function: Callable[[Any], Any]) -> Callable[[Interval], Interval]:
    return lambda x: Interval(function(x.low), function(x.high))


def _cos(x: Interval) -> Interval:
    ends = np.cos(x.low), np.cos(x.high)
    turn = 2 * np.pi
    top = np.ceil(x.low / turn) * turn <= x.high
    bottom = (np.ceil(x.low / turn - 0.5) + 0.5) * turn <= x.high
    return Interval(np.where(bottom, -1.0, np.minimum(*ends)), np.where(top, 1.0, np.maximum(*ends)))


def _sin(x: Interval) -> Interval:
    return _cos(Interval(x.low - np.pi / 2, x.high - np.pi / 2))


_FUNCTIONS: dict[str, Callable[..., Interval]] = {
    "min": lambda a, b: Interval(np.minimum(a.low, b.low), np.minimum(a.high, b.high)),
    "max": lambda a, b: Interval(np.maximum(a.low, b.low), np.maximum(a.high, b.high)),
    "exp": _rising(np.exp),
    "log": _rising(np.log),
    "tanh": _rising(np.tanh),
    "atan": _rising(np.arctan),
    "step": _rising(lambda x: np.heaviside(x, 1.0)),
    "sin": _sin,
    "cos": _cos,
}


def bounds(program: Program, values: Mapping[str, Interval | Array | float], size: int) -> tuple[Array, Array]:
    """Lower and upper bounds (outputs, size) of a program's values; NaN or infinite where there are none."""
    inputs = {
        name: values[name] if isinstance(values[name], Interval) else Interval(values[name], values[name])
        for name in program.inputs
    }

    def number(value: Any) -> Interval:
        return Interval(float(value), float(value))

    with np.errstate(all="ignore"):
        spans = run(program, inputs, number, _FUNCTIONS)
        low = np.array([np.broadcast_to(span.low, size) for span in spans], dtype=np.float64)
        high = np.array([np.broadcast_to(span.high, size) for span in spans], dtype=np.float64)
    return low.reshape(-1, size), high.reshape(-1, size)
