"""Numbers for Lotka-Volterra control: who survives, the spectrum there, and the queue that windows leave.

All work on arrays with the flows on the last axis, one row a point of the parameter grid.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def survivors(resources: Array, gamma: Array) -> Array:
    """Rates N >= 0 with N_i > 0 only where R_i - N_i - gamma sum_{j != i} N_j = 0, and <= 0 elsewhere.

    N_i = max(0, (R_i - gamma S)/(1 - gamma)) with the total S = max_m sum(top m of R)/(1 + (m-1) gamma): every set of
    flows bounds S from below, the survivors' attains it, and they are the largest by R.

    Parameters
    ----------
    resources : (..., n) array
        R_i; at least one is positive.
    gamma : (...) array, in [0, 1)

    Returns
    -------
    (..., n) array
    """
    total = survivors_total(resources, gamma)[..., None]
    g = gamma[..., None]
    return np.asarray(np.maximum(0.0, (resources - g * total) / (1 - g)))


def survivors_total(resources: Array, gamma: Array) -> Array:
    """(...) the total S of `survivors`."""
    ranked = -np.sort(-resources, axis=-1)
    others = np.arange(resources.shape[-1])
    totals = np.cumsum(ranked, axis=-1) / (1 + others * gamma[..., None])
    return np.asarray(np.maximum(0.0, totals.max(axis=-1)))


def competition_spectrum(resources: Array, gamma: Array, slope: Array) -> Array:
    """Eigenvalues of N_i' = slope_i N_i (R_i - N_i - gamma sum_{j != i} N_j) at the survivors' rates.

    The survivors' block -diag(slope N) ((1-gamma) I + gamma 11') is similar to a symmetric one, so all are real; a flow
    that died out adds its growth rate, which is negative.

    Returns
    -------
    (..., n) array, falling
    """
    rates = survivors(resources, gamma)
    g, total = gamma[..., None], survivors_total(resources, gamma)[..., None]
    alive = rates > 0
    root = np.sqrt(slope * rates)  # 0 for the dead: their rows fall apart from the others
    matrix = -g[..., None] * root[..., :, None] * root[..., None, :]
    n = resources.shape[-1]
    alone = np.where(alive, -(1 - g) * slope * rates, slope * (resources - g * total))
    matrix[..., np.arange(n), np.arange(n)] += alone
    return np.asarray(np.linalg.eigvalsh(matrix)[..., ::-1], dtype=np.float64)


def queueing_delay(rates: Array, rtt: Array, link: Array) -> Array:
    """D >= 0 with sum N_i b_i/(b_i + D) = BW; 0 where sum N_i <= BW.

    Newton's method on 1/sum - 1/BW, which is concave and rising in D: from 0 it rises to the root without passing it,
    in one step where all b_i are equal.

    Parameters
    ----------
    rates, rtt : (..., n) arrays
        N_i = w_i/b_i and b_i > 0.
    link : (...) array
        BW > 0.
    """
    rates, rtt, link = (np.asarray(x, dtype=float) for x in (rates, rtt, link))
    windows = rates * rtt
    delay = np.zeros(np.broadcast_shapes(windows.shape[:-1], link.shape))
    for _ in range(100):
        terms = windows / (rtt + delay[..., None])
        carried = terms.sum(axis=-1)
        slope = (terms / (rtt + delay[..., None])).sum(axis=-1)
        step = np.where(
            carried > link, carried * (carried - link) / (link * np.where(slope > 0, slope, 1.0)), 0.0
        )
        delay = delay + step
        if not (step > 4e-16 * delay).any():
            break
    return delay


def along_flows(kernel: Any, *arrays: Any, out: tuple[str, ...] = ("flow",), flows: tuple[bool, ...]) -> Any:
    """A kernel on DataArrays: `flows` says which of them have the dimension `flow`."""
    import xarray as xr

    core = [["flow"] if has else [] for has in flows]
    return xr.apply_ufunc(
        kernel, *(xr.DataArray(a) for a in arrays), input_core_dims=core, output_core_dims=[list(out)]
    )
