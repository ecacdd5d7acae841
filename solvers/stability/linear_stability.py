"""Leading roots of a linearisation, whatever the kind of problem: arrays in, arrays out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dynamics import System
from ..problems import DynamicsError, Map
from .characteristic_scalar import rightmost_first
from .characteristic_search import in_chunks, rightmost_roots

Array = NDArray[Any]

#: Largest companion matrix of a map with delays.
_LARGEST = 2000


def leading_roots(
    system: System, states: Array, points: Any = None, count: int | None = 1
) -> tuple[Array, Array, Array]:
    """Roots of the linearisation that decide over stability, most dangerous first.

    Parameters
    ----------
    system : System
    states : (n, m) array, where to linearise
    points : index into the grid, optional; default all points in order
    count : int, or None for all (not for a DDE)

    Returns
    -------
    roots : (m, count) complex array
        ODE, DDE: exponents by falling real part. Map: multipliers by falling modulus.
    residuals : (m, count) array of relative backward errors
    certain : (m,) bool array
    """
    if states.shape[1] == 0:
        none = np.empty((0, count or len(states)))
        return none.astype(complex), none, np.empty(0, bool)
    base, past, tau = system.jacobians(states, points)
    if isinstance(system.problem, Map):
        return multipliers(base, past, tau, count)
    if past.shape[1] == 0:
        return _exponents(base, count)
    if count is None:
        raise DynamicsError("a delay equation has infinitely many roots: say how many are wanted")
    return rightmost_roots(base, past, tau, count)


def margin(system: System, roots: Array) -> Array:
    """What must be negative for stability: real part, or modulus minus one."""
    return np.abs(roots) - 1.0 if isinstance(system.problem, Map) else roots.real


def _eigenvalues(matrices: Array) -> tuple[Array, Array]:
    """(m, n) eigenvalues, NaN where a matrix is not finite; a block a thread, as LAPACK releases the interpreter."""
    finite = np.asarray(np.isfinite(matrices).all(axis=(1, 2)))
    safe = np.where(finite[:, None, None], matrices, 0.0)
    found = np.empty(matrices.shape[:2], complex)

    def work(part: slice) -> None:
        found[part] = np.linalg.eigvals(safe[part])

    in_chunks(work, len(matrices))
    found[~finite] = complex(np.nan, np.nan)
    return found, finite


def _exponents(base: Array, count: int | None) -> tuple[Array, Array, Array]:
    found, finite = _eigenvalues(base)
    roots = rightmost_first(found)[:, :count]
    return _padded(roots, count), _padded(_rounding(roots), count), finite


def multipliers(base: Array, past: Array, tau: Array, count: int | None = None) -> tuple[Array, Array, Array]:
    """Eigenvalues of x(n + 1) = A_0 x(n) + sum_k A_k x(n - tau_k) by its companion matrix, largest modulus first.

    Parameters
    ----------
    base : (m, n, n) array
    past : (m, K, n, n) array
    tau : (m, K) array of whole numbers >= 0
    count : int, optional; default all, n (1 + the longest delay of any point)

    Returns
    -------
    roots : (m, count) complex array, NaN behind the last
    residuals : (m, count) array
    certain : (m,) bool array, False where a matrix is not finite

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> roots, _, _ = multipliers(0 * one, 0.25 * one[None], np.ones((1, 1)))  # x(n + 1) = x(n - 1)/4
    >>> roots.real.round(12).tolist()
    [[0.5, -0.5]]
    """
    m, n = base.shape[:2]
    acts = (past != 0).any(axis=(2, 3))
    longest = np.where(acts, tau, 0).max(axis=1, initial=0).astype(int)
    most = n * (1 + (longest.max() if m else 0))
    if most > _LARGEST:
        raise DynamicsError(
            f"the map reaches back {longest.max()} steps with {n} states: its companion matrix of {most} rows is too "
            f"large, at most {_LARGEST}"
        )
    roots = np.full((m, most if count is None else max(count, 1)), complex(np.nan, np.nan))
    finite = np.ones(m, bool)
    for back in np.unique(longest):
        here = np.flatnonzero(longest == back)
        size = n * (back + 1)
        matrix = np.zeros((here.size, size, size))
        matrix[:, np.arange(n, size), np.arange(size - n)] = 1.0
        matrix[:, :n, :n] = base[here]
        for k in range(past.shape[1]):
            for lag in np.unique(tau[here, k][acts[here, k]]).astype(int):
                at = (tau[here, k] == lag) & acts[here, k]
                matrix[at, :n, n * lag : n * (lag + 1)] += past[here[at], k]
        found, finite[here] = _eigenvalues(matrix)
        found = _largest_first(found)[:, : roots.shape[1]]
        roots[here, : found.shape[1]] = found
    return roots, _rounding(roots), finite


def _largest_first(roots: Array) -> Array:
    """Sort by falling modulus; of a conjugate pair the upper first."""
    key = np.where(np.isnan(roots.real), np.inf, -np.abs(roots))
    out: Array = np.take_along_axis(roots, np.argsort(key, axis=1, kind="stable"), axis=1)
    for i in range(out.shape[1] - 1):
        x, y = out[:, i], out[:, i + 1]
        close = np.abs(np.abs(x) - np.abs(y)) <= 1e-12 * np.abs(x)
        swap = close & ((x.imag < y.imag) | ((x.imag == y.imag) & (x.real < y.real)))
        out[swap, i], out[swap, i + 1] = out[swap, i + 1], out[swap, i]
    return out


def _rounding(roots: Array) -> Array:
    """LAPACK's eigenvalues are exact for a matrix within rounding."""
    return np.where(np.isnan(roots.real), np.nan, np.finfo(float).eps)


def _padded(values: Array, count: int | None) -> Array:
    if count is None or values.shape[1] == count:
        return values
    out = np.full((values.shape[0], count), np.nan, values.dtype)
    out[:, : values.shape[1]] = values
    return out
