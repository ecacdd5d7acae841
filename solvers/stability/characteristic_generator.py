"""The infinitesimal generator of a linear DDE on Chebyshev nodes: candidates for its characteristic roots."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@lru_cache(maxsize=32)
def chebyshev(nodes: int) -> tuple[Array, Array, Array]:
    """Points cos(j pi/N), j = 0..N, their differentiation matrix, and barycentric weights.

    Examples
    --------
    >>> x, d, _ = chebyshev(4)
    >>> float(np.abs(d @ x**3 - 3 * x**2).max()) < 1e-14
    True
    """
    n = nodes
    # sines rather than cosines: exactly odd around 0
    x = np.sin(np.pi * np.arange(n, -n - 1, -2) / (2 * n))
    weight = np.where(np.arange(n + 1) % 2, -1.0, 1.0)
    weight[[0, -1]] *= 0.5
    gaps = x[:, None] - x + np.eye(n + 1)
    d = weight / weight[:, None] / gaps
    np.fill_diagonal(d, 0.0)
    np.fill_diagonal(d, -d.sum(axis=1))
    return x, d, weight


def generator(base: Array, past: Array, tau: Array, nodes: int) -> Array:
    """Matrices whose eigenvalues approach the characteristic roots, spectrally in `nodes`.

    The generator of y' = A_0 y(t) + sum_k A_k y(t - tau_k) takes a function on [-tau_max, 0] to its derivative, with
    the equation itself as the condition at 0. Collocation on N + 1 Chebyshev points [1]_.

    Parameters
    ----------
    base : (m, n, n) array, A_0
    past : (m, K, n, n) array, A_k
    tau : (m, K) array of delays; the longest of each point > 0
    nodes : int, N

    Returns
    -------
    (m, n(N+1), n(N+1)) array

    References
    ----------
    .. [1] D. Breda, S. Maset and R. Vermiglio, Pseudospectral differencing methods for characteristic roots of delay
       differential equations, SIAM J. Sci. Comput. 27, 2005, doi:10.1137/030601600
    """
    m, n = base.shape[:2]
    x, d, weight = chebyshev(nodes)
    longest = tau.max(axis=1)
    matrix = np.zeros((m, nodes + 1, n, nodes + 1, n), np.result_type(base, past))
    eye = np.eye(n)
    matrix[:, 1:] = (2.0 / longest)[:, None, None, None, None] * (
        d[1:, None, :, None] * eye[None, :, None, :]
    )
    matrix[:, 0, :, 0, :] = base
    for k in range(past.shape[1]):
        ell = _interpolation(1.0 - 2.0 * tau[:, k] / longest, x, weight)
        matrix[:, 0] += past[:, k, :, None, :] * ell[:, None, :, None]
    return matrix.reshape(m, n * (nodes + 1), n * (nodes + 1))


def _interpolation(s: Array, x: Array, weight: Array) -> Array:
    """(m, N+1) values at s of the polynomials that are 1 at one point and 0 at the others."""
    gap = s[:, None] - x
    hit = np.abs(gap) < 1e-15
    terms = weight / np.where(hit, 1.0, gap)
    ell = terms / terms.sum(axis=1, keepdims=True)
    return np.asarray(np.where(hit.any(axis=1, keepdims=True), hit.astype(float), ell))


def candidates(base: Array, past: Array, tau: Array, nodes: int, keep: int) -> Array:
    """(m, keep) rightmost eigenvalues of the generator, NaN-filled; for real matrices the upper half plane only."""
    real = not np.iscomplexobj(base) and not np.iscomplexobj(past)
    found = np.linalg.eigvals(generator(base, past, tau, nodes)).astype(complex)
    if real:
        found = np.where(found.imag < 0, complex(np.nan, np.nan), found)
    key = np.where(np.isnan(found.real), np.inf, -found.real)
    order = np.argsort(key, axis=1)[:, :keep]
    out = np.full((base.shape[0], keep), complex(np.nan, np.nan))
    out[:, : order.shape[1]] = np.take_along_axis(found, order, axis=1)
    return out
