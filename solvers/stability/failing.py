"""A warning where most points of a result failed."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.errors import FailureWarning

from ..results import NOT_YET, reason


def warn_if_most_failed(what: str, status: NDArray[np.uint8]) -> None:
    """Warn where more than half of all points failed, with the commonest reason.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_if_most_failed("bifurcation of a map", np.array([0, 9, 9], np.uint8))
    >>> print(caught[0].message)
    bifurcation of a map: 2 of 3 points failed; most often: the state grew beyond floating-point numbers
    """
    text = most_failed(what, status)
    if text:
        warnings.warn(text, FailureWarning, stacklevel=3)


def most_failed(what: str, status: NDArray[np.uint8]) -> str:
    """The sentence of `warn_if_most_failed`; empty where at most half of the points failed."""
    codes = np.asarray(status).ravel()
    failed = codes[(codes != 0) & (codes != NOT_YET)]
    if 2 * failed.size <= codes.size:
        return ""
    code, _ = Counter(failed.tolist()).most_common(1)[0]
    return f"{what}: {failed.size:,} of {codes.size:,} points failed; most often: {reason(code)}"
