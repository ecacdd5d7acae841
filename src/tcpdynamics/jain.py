"""Jain's index of measured counts and rates: they are valid as counted, so nothing is checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def measured_jain(allocations: Any, present: NDArray[np.bool_] | bool = True) -> NDArray[np.float64]:
    """Jain's index along the last axis, of the users that are `present`; NaN where none of them has anything.

    Examples
    --------
    >>> float(measured_jain([1, 1, 0, 0])), float(measured_jain([1, 1, 0], np.array([True, True, False])))
    (0.5, 1.0)
    """
    x = np.where(present, allocations, 0).astype(float)
    count = np.broadcast_to(present, x.shape).sum(-1)
    # (sum x)^2 / (n sum x^2): those who are not there count only in n.
    squares = np.asarray(count * (x**2).sum(-1))
    index: NDArray[np.float64] = np.full(squares.shape, np.nan)
    np.divide(x.sum(-1) ** 2, squares, out=index, where=squares != 0)
    return index


def mean_jain(allocations: Any) -> float:
    """Jain's index along the last axis, the mean over where any user has something.

    Examples
    --------
    >>> mean_jain([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    0.75
    """
    index = measured_jain(allocations)
    return float(index[np.isfinite(index)].mean())
