"""Maxima and minima of sampled motions, and whether they repeat."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def maxima(samples: Array) -> tuple[Array, Array, Array]:
    """Local maxima between the samples, where the quartic through five neighbours has its own.

    Parameters
    ----------
    samples : (m, N) array, evenly spaced

    Returns
    -------
    values, places : (m, most) arrays
        The maxima of each row, the last ones in the last column, NaN before the first; places in steps. Values are
        those of Stirling's interpolation through seven samples, whose error falls as step^7.
    doubt : (m,) array
        How far they lie from the quartic's, at most: a bound of their error once the samples are dense.

    Examples
    --------
    >>> t = np.linspace(0, 9, 91)
    >>> values, places, doubt = maxima(np.sin(t)[None])
    >>> np.abs(values - 1).max() < 1e-8, np.abs(places[0] / 10 - np.array([0.5, 2.5]) * np.pi).max() < 1e-5
    (np.True_, np.True_)
    """
    m, count = samples.shape
    if count < 7:
        return np.empty((m, 0)), np.empty((m, 0)), np.zeros(m)
    x = samples[:, 3:-3]
    row, at = np.nonzero((x > samples[:, 2:-4]) & (x >= samples[:, 4:-2]))
    a, b, c, d, e = (samples[row, at + k] for k in range(1, 6))
    c1 = (a - 8 * b + 8 * d - e) / 12
    c2 = (-a + 16 * b - 30 * c + 16 * d - e) / 24
    c3 = (-a + 2 * b - 2 * d + e) / 12
    c4 = (a - 4 * b + 6 * c - 4 * d + e) / 24
    s = np.zeros_like(c)
    for _ in range(6):
        slope, bend = c1 + s * (2 * c2 + s * (3 * c3 + 4 * s * c4)), 2 * c2 + s * (6 * c3 + 12 * s * c4)
        s = np.clip(s - slope / np.where(bend < 0, bend, -np.inf), -1, 1)
    first, last = samples[row, at], samples[row, at + 6]
    fifth = (last - 4 * e + 5 * d - 5 * b + 4 * a - first) / 2
    sixth = last - 6 * e + 15 * d - 20 * c + 15 * b - 6 * a + first
    further = s * (s**2 - 1) * (s**2 - 4) * (fifth / 120 + s * sixth / 720)
    counts = np.bincount(row, minlength=m)
    most = int(counts.max()) if m else 0
    values, places, doubt = np.full((m, most), np.nan), np.full((m, most), np.nan), np.zeros(m)
    rank = np.arange(row.size) - np.repeat(np.cumsum(counts) - counts, counts)
    column = most - counts[row] + rank
    values[row, column] = c + s * (c1 + s * (c2 + s * (c3 + s * c4))) + further
    places[row, column] = at + 3 + s
    np.maximum.at(doubt, row, np.abs(further))
    return values, places, doubt


def repetition(values: Array, noise: Array, size: Array, max_period: int) -> NDArray[np.int64]:
    """The smallest p such that each of a sequence's later values is that of p places before.

    Accepted where the later half misses by no more than the noise; or by at most a hundredth of `size`, if at most
    half of what the earlier half misses by, which is a cycle being approached.

    Parameters
    ----------
    values : (m, most) array, NaN before the first
    noise, size : (m,) what a value may be wrong by, and how far values lie apart in general
    max_period : int

    Returns
    -------
    (m,) int, 0 where there is none
    """
    m, most = values.shape
    count = np.isfinite(values).sum(axis=1)
    place = np.arange(most)[None] - (most - count)[:, None]  # from 0 at each row's first
    period = np.zeros(m, np.int64)
    for p in range(1, min(max_period, most // 4) + 1):
        miss = np.abs(values[:, p:] - values[:, :-p])
        known, late = place[:, :-p] >= 0, place[:, :-p] >= (count[:, None] - p) / 2
        second = np.where(known & late, miss, 0).max(axis=1)
        first = np.where(known & ~late, miss, 0).max(axis=1)
        good = (second <= noise) | ((second <= 0.01 * size) & (second <= first / 2))
        period[(period == 0) & (count >= 4 * p) & good] = p
    return period
