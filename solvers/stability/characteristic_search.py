"""The rightmost characteristic roots of many linear DDEs, from their matrices; see `characteristic_roots`."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .characteristic_generator import candidates
from .characteristic_scalar import rightmost_first, scalar_roots
from .characteristic_split import balance, split

Array = NDArray[Any]

#: Points that one thread takes at a time; a point starts from its predecessor's roots inside a chunk.
_CHUNK = 2048
#: A root counts as polished when its relative backward error is below this.
TOLERANCE = 1e-12
#: Largest matrix of a discretisation.
_LARGEST = 1200
#: Shortest delay whose roots, some thousands divided by it, are floating-point numbers; shorter ones fail.
_SHORTEST = 1e-300
#: Candidates beyond those that are wanted: a discretisation also has eigenvalues that are no roots.
_SPARE = 40


def in_chunks(work: Callable[[slice], None], size: int, chunk: int = _CHUNK) -> None:
    """Run work on slices of range(size), on all processors where there are several slices."""
    parts = [slice(low, min(low + chunk, size)) for low in range(0, size, chunk)]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if len(parts) < 2 or cores < 2:
        for part in parts:
            work(part)
        return
    with ThreadPoolExecutor(min(cores, len(parts))) as pool:
        list(pool.map(work, parts))


def rightmost_roots(base: Array, past: Array, tau: Array, count: int = 1) -> tuple[Array, Array, Array]:
    """The `count` rightmost roots of det(z - A_0 - sum_k A_k e^(-z tau_k)) at each point, multiple roots repeated.

    Parameters
    ----------
    base : (m, n, n) float array, A_0
    past : (m, K, n, n) float array, A_k
    tau : (m, K) array of delays >= 0
    count : int >= 1

    Returns
    -------
    roots : (m, count) complex array, rightmost first; NaN behind the last root of a spectrum that is finite
    residuals : (m, count) array
        Relative backward error: the smallest relative change of the matrices that makes z a root.
    certain : (m,) bool array
        False where no discretisation led to roots that are proved to be the rightmost; such points are NaN.

    Examples
    --------
    >>> a0, a1 = np.zeros((1, 1, 1)), np.full((1, 1, 1, 1), -1.0)
    >>> z, _, certain = rightmost_roots(a0, a1, np.ones((1, 1)))
    >>> z[0].round(6), bool(certain[0])
    (array([-0.318132+1.337236j]), True)
    """
    m = base.shape[0]
    roots = np.full((m, count), complex(np.nan, np.nan))
    residuals = np.full((m, count), np.nan)
    certain = np.zeros(m, bool)

    def work(part: slice) -> None:
        roots[part], residuals[part], certain[part] = _chunk(base[part], past[part], tau[part], count)

    in_chunks(work, m)
    roots[~certain], residuals[~certain] = complex(np.nan, np.nan), np.nan
    return roots, residuals, certain


def _chunk(base: Array, past: Array, tau: Array, count: int) -> tuple[Array, Array, Array]:
    m, lags = tau.shape
    roots = np.full((m, count), complex(np.nan, np.nan))
    residuals = np.full((m, count), np.nan)
    stack = np.concatenate([base[:, None], past], axis=1).astype(float)
    finite = np.isfinite(stack).all(axis=(1, 2, 3)) & np.isfinite(tau).all(axis=1)
    certain = np.zeros(m, bool)
    stack[~finite] = 0.0
    now = (tau == 0) & (lags > 0)  # what is not delayed belongs to A_0
    stack[:, 0] += (stack[:, 1:] * now[:, :, None, None]).sum(axis=1)
    stack[:, 1:][now] = 0.0
    acts = (np.abs(stack[:, 1:]) > 0).any(axis=(2, 3))
    tau = np.where(acts, tau, 0.0)
    finite &= ((tau == 0) | (tau >= _SHORTEST)).all(axis=1)
    stack = balance(stack)
    without = finite & ~acts.any(axis=1)
    if without.any():
        roots[without], residuals[without] = _undelayed(stack[without, 0], count)
        certain[without] = True
    rest = np.flatnonzero(finite & ~without)
    if rest.size:
        diagonals, works = split(stack[rest])
        picked = rest[works]
        if picked.size:
            own, bad, sure = _decoupled(stack[picked], diagonals[works], tau[picked], count)
            roots[picked], residuals[picked], certain[picked] = own, bad, sure
        rest = rest[~certain[rest]] if stack.shape[-1] > 1 else rest[:0]
    if rest.size:
        roots[rest], residuals[rest], certain[rest] = certified(
            stack[rest, 0], stack[rest, 1:], tau[rest], count
        )
    return roots, residuals, certain


def _undelayed(matrices: Array, count: int) -> tuple[Array, Array]:
    """Eigenvalues, NaN behind the last; LAPACK's are exact for a matrix within rounding."""
    n = matrices.shape[-1]
    found = np.full((len(matrices), max(n, count)), complex(np.nan, np.nan))
    found[:, :n] = np.linalg.eigvals(matrices)
    found = rightmost_first(found)[:, :count]
    return found, np.where(np.isnan(found.real), np.nan, np.finfo(float).eps)


def _decoupled(stack: Array, diagonals: Array, tau: Array, count: int) -> tuple[Array, Array, Array]:
    """Roots of the scalar factors together; certain where they hold for the system as it was."""
    m, _, n = diagonals.shape
    a, b = diagonals[:, 0], diagonals[:, 1:]
    single = ((np.abs(b) > 0).sum(axis=1) <= 1).all(axis=1)
    found = np.full((m, n, count), complex(np.nan, np.nan))
    residuals = np.full((m, count), np.nan)
    sure = np.zeros(m, bool)
    if single.any():
        which = np.abs(b[single]).argmax(axis=1)
        own = np.take_along_axis(b[single], which[:, None], axis=1)[:, 0]
        lag = np.take_along_axis(np.broadcast_to(tau[single][:, :, None], b[single].shape), which[:, None], 1)
        roots, bad = scalar_roots(a[single].ravel(), own.ravel(), lag.ravel(), count)
        found[single] = roots.reshape(-1, n, count)
        sure[single] = (np.isnan(roots.real) | (bad <= TOLERANCE)).reshape(-1, n * count).all(axis=1)
        if n == 1:
            residuals[single] = bad
    several = ~single
    if several.any():
        ok = np.ones(several.sum(), bool)
        for i in range(n):
            line = diagonals[several][:, :, i, None, None]
            roots, bad, fine = certified(line[:, 0], line[:, 1:], tau[several], count)
            found[several, i], ok = roots, ok & fine
            if n == 1:
                residuals[several] = bad
        sure[several] = ok
    if n == 1:
        return found[:, 0], residuals, sure
    merged = rightmost_first(found.reshape(m, n * count))[:, :count]
    residuals = _measure(stack, tau, merged)
    sure &= (np.isnan(merged.real) | (residuals <= TOLERANCE)).all(axis=1)
    return merged, residuals, sure


def _measure(stack: Array, tau: Array, roots: Array) -> Array:
    from .characteristic_kernels import measure

    residuals = np.empty(roots.shape)
    base, past = _complex(stack[:, 0]), _complex(stack[:, 1:])
    measure(base, past, np.ascontiguousarray(tau, float), np.ascontiguousarray(roots), residuals)
    return residuals


def _complex(a: Array) -> Array:
    return np.ascontiguousarray(a, complex)


def certified(base: Array, past: Array, tau: Array, count: int) -> tuple[Array, Array, Array]:
    """The general case: candidates, Newton, and a count by the argument principle, point after point.

    A point first tries its predecessor's roots; where those do not pass the count, eigenvalues of the generator on 8,
    16, 32, ... nodes follow (more where many roots are wanted).
    """
    from .characteristic_kernels import sweep

    m, n = base.shape[:2]
    real = not (base.imag.any() or past.imag.any())
    if real:
        base, past = base.real, past.real
    room = count + 6
    roots = np.full((m, room), complex(np.nan, np.nan))
    residuals = np.full((m, room), np.nan)
    seeds = np.full((m, count + _SPARE), complex(np.nan, np.nan))
    found, level = np.zeros(m, np.int64), np.zeros(m, int)
    ladder = [8 + (3 * count) // (2 * n)]
    while 2 * n * ladder[-1] < _LARGEST:
        ladder.append(2 * ladder[-1])
    a, b, lags = _complex(base), _complex(past), np.ascontiguousarray(tau, float)
    at, burst, last = 0, 1, -100
    while at < m:
        fewer = level[at] >= 3
        end = at + 1 if fewer else m
        at = sweep(at, end, a, b, lags, real, count, fewer, TOLERANCE, seeds, roots, residuals, found)
        if at >= end:
            continue
        if level[at] == len(ladder):
            at += 1
            continue
        burst = min(2 * burst, 64) if at - last < 8 else 1
        last = at
        stop = at + 1
        if level[at] == 0:
            fresh = level[at : at + burst] > 0
            stop = at + int(fresh.argmax()) if fresh.any() else min(at + burst, m)
        part = slice(at, stop)
        keep = seeds.shape[1] if level[at] else count + 8
        seeds[part, :keep] = candidates(base[part], past[part], tau[part], ladder[level[at]], keep)
        level[part] += 1
    return roots[:, :count], residuals[:, :count], found > 0
