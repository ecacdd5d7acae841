"""In which epochs a flow is there: from the one in which it starts to the one in which it finishes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def epochs_there(
    start: ArrayLike, finish: ArrayLike, latest: ArrayLike, length: ArrayLike, begin: float, end: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First epoch of each flow, and the one behind its last. A flow that has nothing to send is not silent.

    Parameters
    ----------
    start, finish : (flow,) array_like
        Times [s]; infinity for a flow that does not start or finish.
    latest : (flow,) array_like
        The last epoch in which it sent, -1 for none; it counts, though it finished before.
    length : (flow,) array_like
        Of its epochs [s], > 0. A part of an epoch at the end is left out.
    begin, end : float
        What is measured [s].

    Returns
    -------
    (flow,) int array, (flow,) int array
        0 <= first <= behind last <= whole epochs.

    Examples
    --------
    >>> epochs_there([0.0, 11.2], [12.1, np.inf], [1, 9], [0.5, 1.0], begin=10.0, end=20.0)
    (array([0, 1]), array([ 5, 10]))
    """
    lengths = np.asarray(length, float)
    whole = ((end - begin) / lengths).astype(np.int64)
    before = np.maximum((np.minimum(start, end) - begin) / lengths, 0.0).astype(np.int64)
    until = np.ceil((np.clip(finish, begin, end) - begin) / lengths).astype(np.int64)
    first = np.minimum(before, whole)
    return first, np.clip(np.maximum(until, np.asarray(latest) + 1), first, whole)
