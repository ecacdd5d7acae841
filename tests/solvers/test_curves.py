"""Chebyshev series on pieces: as exact as they say, refused where nothing smooth is followed."""

from __future__ import annotations

import numpy as np
import pytest

from tcpdynamics.errors import ChainError
from tcpdynamics.solvers.markov.curves import curve


def rational(x: np.ndarray) -> np.ndarray:
    """Poles near the interval and far from it, values of 1e-24 beside others of 1e6."""
    return np.stack([x**4 / (1.05 - x), 1 / x, (1 - x) ** 6 / ((x - 0.3) ** 2 + 1e-3), 0 * x], axis=-1)


@pytest.mark.parametrize("low, high", [(1e-6, 0.9), (0.01, 0.5), (0.25, 0.26)])
def test_each_quantity_is_right_to_its_own_size(low: float, high: float) -> None:
    made = curve(rational, low, high)
    x = np.random.default_rng(1).uniform(low, high, 20_000)
    expected = rational(x)
    np.testing.assert_allclose(made(x), expected, rtol=1e-12)
    assert made.error <= 2e-13
    np.testing.assert_allclose(made(np.array([low, high])), rational(np.array([low, high])), rtol=1e-12)


def test_outside_there_is_nothing() -> None:
    made = curve(rational, 0.1, 0.2)
    assert np.isnan(made(np.array([0.05, 0.25, np.nan]))).all()


@pytest.mark.parametrize(
    "function, says",
    [
        (lambda x: 2 + np.sin(1e5 * x)[:, None], "no series of 256 pieces"),
        (lambda x: (1 / (x > 0.3))[:, None], "not finite"),
    ],
)
def test_what_is_not_smooth_is_refused(function: object, says: str) -> None:
    with np.errstate(divide="ignore"), pytest.raises(ChainError, match=says):
        curve(function, 0.1, 0.9)  # type: ignore[arg-type]
