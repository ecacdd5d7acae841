"""Judges: the same answers by other methods than those of the package."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint
import numpy as np


def rational(x: float) -> Any:
    """A float at its exact binary value, as python-flint's rational."""
    exact = Fraction(float(x))
    return flint.fmpq(exact.numerator, exact.denominator)


def as_fraction(x: Any) -> Fraction:
    return Fraction(int(x.p), int(x.q))


def exact_law(P: np.ndarray) -> list[Fraction]:
    """The stationary law of a matrix by state reduction in rationals; only entries off the diagonal are used."""
    A = [[rational(x) for x in row] for row in P]
    n = len(A)
    out = [rational(1)] * n
    for k in range(n - 1, 0, -1):
        out[k] = sum(A[k][:k], rational(0))
        for i in (i for i in range(k) if A[i][k] != 0):
            for j in (j for j in range(k) if j != i):
                A[i][j] += A[i][k] * A[k][j] / out[k]
    x = [rational(1)]
    for k in range(1, n):
        x.append(sum((x[i] * A[i][k] for i in range(k)), rational(0)) / out[k])
    total = sum(x, rational(0))
    return [as_fraction(v / total) for v in x]


def exact_passage(P: np.ndarray) -> tuple[list[Fraction], list[Fraction]]:
    """Mean and variance of the time to state 0, by solving their equations in rationals."""
    n, zero, one = len(P), rational(0), rational(1)
    off = {(i, j): rational(P[i, j]) for i in range(n) for j in range(n) if i != j}
    out = [sum((off[i, k] for k in range(n) if k != i), zero) for i in range(n)]
    M = flint.fmpq_mat(n - 1, n - 1)
    for i in range(1, n):
        for j in range(1, n):
            M[i - 1, j - 1] = -off[i, j] if i != j else out[i]
    mean = M.solve(flint.fmpq_mat(n - 1, 1, [one] * (n - 1)))
    m = [zero] + [mean[i, 0] for i in range(n - 1)]
    squares = [
        one - out[i] + sum((off[i, j] * (m[j] + 1 - m[i]) ** 2 for j in range(n) if j != i), zero) for i in range(1, n)
    ]
    variance = M.solve(flint.fmpq_mat(n - 1, 1, squares))
    return [as_fraction(x) for x in m[1:]], [as_fraction(variance[i, 0]) for i in range(n - 1)]


def roots_right(a: float, b: float, delay: float, points: int = 40001) -> int:
    """How many roots lambda = a + b e^(-lambda delay) has in the right half-plane, by the winding number."""
    radius = abs(a) + abs(b) + 1  # no root with Re >= 0 is larger
    axis = 1j * np.linspace(radius, -radius, points)
    arc = radius * np.exp(1j * np.linspace(-np.pi / 2, np.pi / 2, 4001))
    path = np.concatenate([axis, arc])
    values = path - a - b * np.exp(-path * delay)
    return round(float(np.angle(values[1:] / values[:-1]).sum()) / (2 * np.pi))
