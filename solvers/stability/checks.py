"""Checks of the numbers that solvers are given: one sentence instead of an error from deep inside."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from tcpdynamics.limits import shown

from ..problems import DomainError


def real(
    name: str,
    value: Any,
    low: float,
    high: float = math.inf,
    *,
    above: bool = False,
    error: type[Exception] = DomainError,
) -> float:
    """A finite number in [low, high], or in (low, high] with `above`.

    Examples
    --------
    >>> real("rtol", 1e-6, 1e-13, 0.1)
    1e-06
    >>> real("keep", math.inf, 0, above=True)
    Traceback (most recent call last):
    ...
    tcpdynamics.solvers.problems.chain.DomainError: keep must be finite and > 0, got inf
    """
    found = _real(value)
    if not (math.isfinite(found) and low <= found <= high) or (above and found == low):
        bound = f"lie in {'(' if above else '['}{low:g}, {high:g}]"
        if high == math.inf:
            bound = f"be finite and {'>' if above else '>='} {low:g}"
        raise error(f"{name} must {bound}, got {shown(value)}")
    return found


def whole(
    name: str, value: Any, low: int, high: int | None = None, *, error: type[Exception] = DomainError
) -> int:
    """A whole number >= low, and <= high where that is given.

    Examples
    --------
    >>> whole("starts", 64.0, 1)
    64
    >>> whole("count", 0, 1, 1000)
    Traceback (most recent call last):
    ...
    tcpdynamics.solvers.problems.chain.DomainError: count must be a whole number in 1..1000, got 0
    """
    found = _real(value)
    exact = int(value) if math.isfinite(found) and found == math.floor(found) else None
    if exact is None or exact < low or (high is not None and exact > high):
        bound = f">= {low}" if high is None else f"in {low}..{high}"
        raise error(f"{name} must be a whole number {bound}, got {shown(value)}")
    return exact


def tolerances(rtol: Any, atol: Any) -> tuple[float, float]:
    """Those of a flow, in the bounds of `trajectory`."""
    return real("rtol", rtol, 1e-15, 1), real("atol", atol, 0, 1)


def _real(value: Any) -> float:
    """The value of a real number, NaN for anything else."""
    plain = np.ndim(value) == 0 and getattr(getattr(value, "dtype", None), "kind", "") in tuple("iuf")
    if isinstance(value, bool | np.ma.MaskedArray) or not (plain or isinstance(value, Real)):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf
