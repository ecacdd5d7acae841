"""Logistic growth over a time in which a measurement is held."""

from __future__ import annotations

from typing import Any


def held_growth(x: Any, left: Any, rate: Any) -> Any:
    """Where x' = rate (left - x) x stands after a unit of time: left x/(x + (left - x) e^(-rate left)), in symbols.

    Written as x/(e^(-z) + rate x (1 - e^(-z))/z) with z = rate left, which has a value at left = 0.
    """
    import sympy

    z = rate * left
    size = sympy.Abs(z, evaluate=False)
    return x / (sympy.exp(-z) + rate * x * sympy.exp(-z / 2) * _sinh_ratio(size))


def _sinh_ratio(z: Any) -> Any:
    """sinh(z/2)/(z/2) for z >= 0: a series below 1/2, where its first missing term is below 1e-17."""
    import sympy

    half = sympy.Rational(1, 2)
    series = sum(z ** (2 * k) / (4**k * sympy.factorial(2 * k + 1)) for k in range(6))
    # Both pieces are computed at every point: neither may overflow. From 600 on the flow is extinct anyway.
    large = sympy.Min(sympy.Max(z, half, evaluate=False), 600, evaluate=False)
    ratio = (sympy.exp(large / 2) - sympy.exp(-large / 2)) / large
    return sympy.Piecewise((series, z < half), (ratio, True), evaluate=False)
