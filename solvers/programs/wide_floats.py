"""Straight-line programs on floats, and on numbers without a smallest or a largest where floats do not do.

A program runs on doubles. NumPy tells, at no cost, in which blocks of points a step left the range of floats; these
points are computed again with `Extended` numbers, ten to thirty times slower, and rounded to doubles at the end. So a
result that a double can hold is right whatever happened on the way to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from .straightline import BLOCK, Program, run, run_blocks

Vector = npt.NDArray[np.float64]

#: Values whose products and quotients stay inside the normal range.
_LOW, _HIGH = 2.0**-480, 2.0**480


class Extended:
    """Arrays of numbers m * 2**e: m double, e integer; the arithmetic of doubles without underflow and overflow."""

    __slots__ = ("e", "m")

    def __init__(self, m: Any, e: Any = 0) -> None:
        size = np.abs(m)
        out = (size > 0) & ((size < _LOW) | (size > _HIGH)) & np.isfinite(size)
        if np.any(out):
            fraction, exponent = np.frexp(m)
            m = np.where(out, fraction, m)
            e = e + np.where(out, exponent.astype(np.int64), 0)
        self.m, self.e = m, e

    def floats(self) -> Any:
        """The nearest doubles; inf above their range, subnormal numbers or zero below."""
        return np.ldexp(self.m, np.clip(self.e, -4000, 4000)) if _moved(self.e) else self.m

    def __add__(self, other: Extended) -> Extended:
        a, b, e = _aligned(self, other)
        return Extended(a + b, e)

    def __sub__(self, other: Extended) -> Extended:
        a, b, e = _aligned(self, other)
        return Extended(a - b, e)

    def __mul__(self, other: Extended) -> Extended:
        return Extended(self.m * other.m, self.e + other.e)

    def __truediv__(self, other: Extended) -> Extended:
        return Extended(self.m / other.m, self.e - other.e)

    def __pow__(self, other: Extended) -> Extended:
        """a**b as (a**(b / 2**k))**(2**k), with k so large that the inner power is a double."""
        b = other.floats()
        bits = np.abs(b * (np.log2(np.abs(self.m)) + self.e))
        halvings = _halvings(bits / 480)
        b = b / 2.0**halvings
        # (m 2**e)**b, the fraction of e b apart, for e b need not be whole.
        shift = self.e * b
        rounded = np.round(shift)
        power = Extended(
            self.m**b * 2.0 ** (shift - rounded), np.where(np.isfinite(rounded), rounded, 0).astype(np.int64)
        )
        for _ in range(halvings):
            power = power * power
        return power


def _moved(e: Any) -> bool:
    return not (isinstance(e, int) and e == 0)


def _halvings(ratio: Any) -> int:
    """How often to halve until 1 is the largest of `ratio`."""
    finite = np.where(np.isfinite(ratio), ratio, 0)
    largest = float(np.max(finite, initial=1.0))
    return min(int(np.ceil(np.log2(largest))), 64)


def _aligned(a: Extended, b: Extended) -> tuple[Any, Any, Any]:
    """Both with one exponent, that of the one with the larger exponent unless it is zero."""
    if not _moved(a.e) and not _moved(b.e):
        return a.m, b.m, 0
    lowest = -(1 << 40)
    ea, eb = np.where(a.m == 0, lowest, a.e), np.where(b.m == 0, lowest, b.e)
    top = np.maximum(np.maximum(ea, eb), -(1 << 39))
    # The larger exponent may belong to the smaller number, by 960 bits at most: both stay inside the range.
    return (
        np.ldexp(a.m, np.maximum(ea - top, -4000)),
        np.ldexp(b.m, np.maximum(eb - top, -4000)),
        np.where(top > -(1 << 39), top, 0),
    )


def _smaller(a: Extended, b: Extended, sign: float) -> Extended:
    first, second, _ = _aligned(a, b)
    pick = (sign * (first - second) <= 0) | np.isnan(first)
    return Extended(np.where(pick, a.m, b.m), np.where(pick, a.e, b.e))


def _exp(x: Extended) -> Extended:
    value = x.floats()
    halvings = _halvings(np.abs(value) / 300)
    power = Extended(np.exp(value / 2.0**halvings))
    for _ in range(halvings):
        power = power * power
    return power


_FUNCTIONS: dict[str, Any] = {
    "min": lambda a, b: _smaller(a, b, 1.0),
    "max": lambda a, b: _smaller(a, b, -1.0),
    "exp": _exp,
    "log": lambda x: Extended(np.log(x.m) + x.e * np.log(2.0)),
    "step": lambda x: Extended(np.heaviside(x.m, 1.0)),
}


def constant(value: Any) -> Extended:
    """A Fraction or a float, whatever its size."""
    if isinstance(value, float):
        return Extended(np.float64(value))
    exact = Fraction(value)
    shift = abs(exact.numerator).bit_length() - exact.denominator.bit_length()
    scaled = exact / Fraction(2) ** shift
    return Extended(np.float64(float(scaled)), shift)


def run_extended(program: Program, values: Mapping[str, Any]) -> list[Extended]:
    """The outputs of a program at all points of `values` (numbers or arrays of one size)."""
    with np.errstate(all="ignore"):
        return run(
            program, {k: Extended(np.asarray(v, dtype=np.float64)) for k, v in values.items()}, constant, _FUNCTIONS
        )


def solve_blocks(program: Program, values: Mapping[str, Any], size: int) -> Vector:
    """(outputs, size) floats: `run_blocks`, and once more with `Extended` numbers where a step left their range."""
    out = np.empty((len(program.outputs), size))
    strained = np.zeros(size, dtype=np.bool_)
    run_blocks(program, values, size, out, strained)
    if strained.any():
        redo(program, values, np.flatnonzero(strained), out)
    return out


def redo(program: Program, values: Mapping[str, Any], points: npt.NDArray[np.intp], out: Vector) -> None:
    """Compute some points again with `Extended` numbers, in place."""
    for low in range(0, points.size, BLOCK):
        at = points[low : low + BLOCK]
        local = {k: values[k] if np.ndim(values[k]) == 0 else values[k][at] for k in program.inputs}
        with np.errstate(all="ignore"):
            for row, value in zip(out, run_extended(program, local), strict=True):
                row[at] = value.floats()
