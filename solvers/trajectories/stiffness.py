"""Whether a problem is stiff where its steps ran out: stability, not accuracy, held them small."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..dynamics import System

Array = NDArray[np.float64]

#: A step of a Taylor method of degree 8 to 40 is stable up to 4 to 16 times the time in which a mode decays.
LIMIT = 1.0

#: Share of a state that its fast modes may still make up.
AT_REST = 0.1


def is_stiff(system: System, points: NDArray[np.intp], ends: Array) -> NDArray[np.bool_]:
    """At which points the last step was long for the fastest decay, although that decay is over.

    Parameters
    ----------
    points : (m,) points of the grid
    ends : (2 n + 2, m) states and slopes where the steps ran out, time, last step

    Notes
    -----
    A mode exp(lambda t) of the linearised equations that decays holds an explicit method's step below a few 1/|lambda|,
    whether or not the mode is there. It is not needed for accuracy once what is left of it, the part of the slope in
    its direction over lambda, is a small share of every state. Delayed values are held fixed, at the present's.
    """
    n, t, step = len(system.labels), ends[-2], ends[-1]
    states, slopes = ends[:n], ends[n : 2 * n]
    with np.errstate(all="ignore"):
        matrices = system.jacobians(states, points, t)[0]
    out = np.zeros(points.size, bool)
    for i in np.flatnonzero(np.isfinite(matrices).all(axis=(1, 2)) & np.isfinite(slopes).all(axis=0)):
        values, vectors = np.linalg.eig(matrices[i])
        fast = (-values.real * step[i] >= LIMIT) & (-values.real >= abs(values.imag))
        if not fast.any() or np.linalg.cond(vectors) > 1e12:
            continue
        share = np.linalg.solve(vectors, slopes[:, i].astype(complex))
        left = abs((vectors[:, fast] * (share[fast] / values[fast])).sum(axis=1))
        out[i] = bool((left <= AT_REST * abs(states[:, i])).all())
    return out
