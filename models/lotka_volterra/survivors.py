"""Numbers for Lotka-Volterra control: who survives, the spectrum there, and the queue that windows leave.

All work on arrays with the flows on the last axis, one row a point of the parameter grid.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..parameters import Value

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]


def survivors(resources: Array, gamma: Array) -> Array:
    """Rates N >= 0 with N_i > 0 only where R_i - N_i - gamma sum_{j != i} N_j = 0, and <= 0 elsewhere.

    N_i = max(0, (R_i + gamma sum_j (R_i - R_j)/(1 - gamma))/(1 + (m-1) gamma) with the sum over the m survivors, the
    largest by R. Equal R_i leave no difference, so nothing cancels as gamma nears 1.

    Parameters
    ----------
    resources : (..., n) array
        R_i; at least one is positive.
    gamma : (...) array, in [0, 1)

    Returns
    -------
    (..., n) array
    """
    return np.asarray(np.maximum(0.0, _balance(resources, gamma)))


def _balance(resources: Array, gamma: Array) -> Array:
    """(R_i - gamma S)/(1 - gamma) with the survivors' total S: their rates, and <= 0 for the others."""
    resources, g = np.broadcast_arrays(resources, gamma[..., None])
    g = g[..., :1]
    order = np.argsort(-resources, axis=-1, kind="stable")
    ranked = np.take_along_axis(resources, order, axis=-1)
    above = np.arange(1, resources.shape[-1])
    gaps = ranked[..., :-1] - ranked[..., 1:]
    behind = _cumulated(gaps * above)  # sum of R_j - R_i over all larger ones
    alive = ((1 - g) * ranked > g * behind).sum(axis=-1, keepdims=True)
    behind = _cumulated(gaps * np.minimum(above, alive))
    ahead = _cumulated((gaps * np.maximum(alive - above, 0))[..., ::-1])[..., ::-1]
    rates = (ranked + g * (ahead - behind) / (1 - g)) / (1 + (alive - 1) * g)
    return np.asarray(np.take_along_axis(rates, np.argsort(order, axis=-1), axis=-1))


def _cumulated(values: Array) -> Array:
    """(..., n) sums of none, one, ... of the n - 1 values."""
    start = np.zeros((*values.shape[:-1], 1))
    return np.concatenate([start, np.cumsum(values, axis=-1)], axis=-1)


def competition_spectrum(resources: Array, gamma: Array, slope: Array) -> Array:
    """Eigenvalues of N_i' = slope_i N_i (R_i - N_i - gamma sum_{j != i} N_j) at the survivors' rates.

    The survivors' block -diag(slope N) ((1-gamma) I + gamma 11') is similar to a symmetric one, so all are real; a flow
    that died out adds its growth rate, which is negative.

    Returns
    -------
    (..., n) array, falling
    """
    g = gamma[..., None]
    balance, slope = np.broadcast_arrays(_balance(resources, gamma), slope)
    speed = slope * np.maximum(balance, 0.0)
    order = np.argsort(speed, axis=-1)
    ranked = np.take_along_axis(speed, order, axis=-1)
    growth = np.take_along_axis(slope * np.minimum(balance, 0.0), order, axis=-1)
    roots = (1 - g) * np.where(ranked > 0, -_secular_roots(ranked, g / (1 - g)), growth)
    return np.asarray(-np.sort(-roots, axis=-1), dtype=np.float64)


def _secular_roots(poles: Array, weight: Array) -> Array:
    """Eigenvalues of diag(s) + weight sqrt(s) sqrt(s)' for rising s >= 0, each to rounding of itself.

    One lies between each two neighbours and one beyond the last, where weight sum s_i/(x - s_i) = 1; bisected by ratio.
    """
    last, bulk = poles[..., -1:], weight * poles.sum(axis=-1, keepdims=True)
    low = np.concatenate([poles[..., :-1], np.maximum(last, bulk)], axis=-1)
    high = np.concatenate([poles[..., 1:], last + bulk], axis=-1)
    for _ in range(64):
        middle = np.clip(np.sqrt(low) * np.sqrt(high), low, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = poles[..., None, :] / (middle[..., :, None] - poles[..., None, :])
            right = weight * terms.sum(axis=-1) > 1
        low, high = np.where(right, middle, low), np.where(right, high, middle)
    return low


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
        step = np.where(carried > link, carried * (carried - link) / (link * np.where(slope > 0, slope, 1.0)), 0.0)
        delay = delay + step
        if not (step > 4e-16 * delay).any():
            break
    return delay


def along_flows(
    kernel: Callable[..., Array], *arrays: Value, out: tuple[str, ...] = ("flow",), flows: tuple[bool, ...]
) -> xr.DataArray:
    """A kernel on DataArrays: `flows` says which of them have the dimension `flow`."""
    import xarray as xr

    core = [["flow"] if has else [] for has in flows]
    labelled: xr.DataArray = xr.apply_ufunc(
        kernel, *(xr.DataArray(a) for a in arrays), input_core_dims=core, output_core_dims=[list(out)]
    )
    return labelled
