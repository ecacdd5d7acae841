"""What tests draw: chains, loss rates, equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy
from hypothesis import strategies as st

from tcpdynamics.solvers import Map

#: Seeds of NumPy's generators.
seeds = st.integers(0, 2**32 - 1)


def near_ends(high: float = 1.0) -> st.SearchStrategy[float]:
    """Loss rates in [1e-12, high - 1e-12]: as many decades near each end as there are in between."""
    small = st.floats(-12, np.log10(high / 2)).map(lambda x: 10.0**x)
    return st.one_of(small, small.map(lambda x: high - max(x, 1e-12)), st.floats(1e-12, high - 1e-12))


def random_matrix(n: int, seed: int, density: float = 0.6) -> np.ndarray:
    """(n, n) transition matrix, irreducible by a ring."""
    rng = np.random.default_rng(seed)
    P = rng.random((n, n)) * (rng.random((n, n)) < density) + 0.1 * np.eye(n)
    P[np.arange(n), (np.arange(n) + 1) % n] += 0.2
    return P / P.sum(axis=1, keepdims=True)


def matrix_over_decades(n: int, seed: int, decades: float = 0.0, density: float = 1.0) -> np.ndarray:
    """(n, n) transition matrix with entries over `decades`, irreducible by a ring."""
    rng = np.random.default_rng(seed)
    A = 10 ** -(decades * rng.random((n, n))) * (rng.random((n, n)) < density)
    A[np.arange(n), (np.arange(n) + 1) % n] += 10 ** -(decades * rng.random(n))
    A[0, 0] += 0.1
    return A / A.sum(axis=1, keepdims=True)


def logistic_map(growth: Any, start: Any = 0.1) -> Map:
    """w(n + 1) = w + r w (1 - w)."""
    w, r = sympy.symbols("w r")
    return Map(rhs={"w": w + r * w * (1 - w)}, parameters={"r": growth}, start={"w": start})
