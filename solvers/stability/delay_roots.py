"""Characteristic roots of linearised delay equations: candidates from the generator, Newton, and proof by counting.

One state with one delay, z = a + b e^(-z tau), has the branches of Lambert's W.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..programs.straightline import processors

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


def in_chunks(work: Callable[[slice], None], size: int) -> None:
    """Run work on slices of range(size), on all processors where there are several slices."""
    parts = [slice(low, min(low + _CHUNK, size)) for low in range(0, size, _CHUNK)]
    cores = processors()
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
    from .delay_roots_kernel import prepare

    m = len(base)
    roots = np.full((m, count), complex(np.nan, np.nan))
    residuals = np.full((m, count), np.nan)
    stack = np.concatenate([base[:, None], past], axis=1).astype(float)
    tau, kind = np.array(tau, float), np.empty(m, np.int8)
    prepare(stack, tau, _SHORTEST, kind)
    certain, without = np.zeros(m, bool), kind == 1
    if without.any():
        roots[without], residuals[without] = _undelayed(stack[without, 0], count)
        certain[without] = True
    pending = np.flatnonzero(kind == 2)
    if pending.size:
        diagonals, works = split(stack[pending])
        picked = pending[works]
        if picked.size:
            part_roots, bad, sure = decoupled(stack[picked], diagonals[works], tau[picked], count)
            roots[picked], residuals[picked], certain[picked] = part_roots, bad, sure
        pending = pending[~certain[pending]] if stack.shape[-1] > 1 else pending[:0]
    if pending.size:
        roots[pending], residuals[pending], certain[pending] = certified(
            stack[pending, 0], stack[pending, 1:], tau[pending], count
        )
    return roots, residuals, certain


def _undelayed(matrices: Array, count: int) -> tuple[Array, Array]:
    """Eigenvalues, NaN behind the last; LAPACK's are exact for a matrix within rounding."""
    n = matrices.shape[-1]
    roots = np.full((len(matrices), max(n, count)), complex(np.nan, np.nan))
    roots[:, :n] = np.linalg.eigvals(matrices)
    roots = rightmost_first(roots)[:, :count]
    return roots, np.where(np.isnan(roots.real), np.nan, np.finfo(float).eps)


def decoupled(stack: Array, diagonals: Array, tau: Array, count: int) -> tuple[Array, Array, Array]:
    """Roots of the scalar factors together, their residuals, and whether they hold for the system as it was.

    A factor z = a + b e^(-z tau) reads w e^w = b tau e^(-a tau) with w = (z - a) tau, so z = a + W_k(...)/tau. The
    branch k = 0 holds its rightmost root for every complex argument [1]_, and real parts fall with |k|.

    References
    ----------
    .. [1] H. Shinozaki and T. Mori, Robust stability analysis of linear time-delay systems by Lambert W function:
       some extreme point results, Automatica 42, 2006, doi:10.1016/j.automatica.2006.05.008
    """
    from .delay_roots_kernel import branches

    m, _, n = diagonals.shape
    reach = count // 2 + 1 if count > 1 else 0
    roots = np.empty((m, n, 2 * reach + 1), complex)
    errors, single = np.empty(roots.shape), np.empty(m, bool)
    branches(_complex(diagonals), np.ascontiguousarray(tau, float), reach, roots, errors, single)
    several = ~single
    if several.any():
        roots[several], errors[several] = complex(np.nan, np.nan), np.nan
        for i in range(n):
            line = diagonals[several][:, :, i, None, None]
            roots[several, i, :count], bad, fine = certified(line[:, 0], line[:, 1:], tau[several], count)
            errors[several, i, :count] = np.where(fine[:, None], bad, np.inf)
    sure = ~(errors > TOLERANCE).any(axis=(1, 2))
    merged, residuals = roots.reshape(m, -1), errors.reshape(m, -1)
    if merged.shape[1] > 1:
        order = rightmost_order(merged)[:, :count]
        merged, residuals = np.take_along_axis(merged, order, 1), np.take_along_axis(residuals, order, 1)
    if n > 1:
        residuals = _measure(stack, tau, merged)
        sure &= (np.isnan(merged.real) | (residuals <= TOLERANCE)).all(axis=1)
    return merged, residuals, np.asarray(sure)


def _measure(stack: Array, tau: Array, roots: Array) -> Array:
    from .delay_roots_kernel import Systems, measure

    residuals = np.empty(roots.shape)
    base, past = _complex(stack[:, 0]), _complex(stack[:, 1:])
    measure(Systems(base, past, np.ascontiguousarray(tau, float), False), np.ascontiguousarray(roots), residuals)
    return residuals


def _complex(a: Array) -> Array:
    return np.ascontiguousarray(a, complex)


def certified(base: Array, past: Array, tau: Array, count: int) -> tuple[Array, Array, Array]:
    """The general case: candidates, Newton, and a count by the argument principle, point after point.

    A point first tries its predecessor's roots; where those do not pass the count, eigenvalues of the generator on 8,
    16, 32, ... nodes follow (more where many roots are wanted).
    """
    from .delay_roots_kernel import Roots, Systems, sweep

    m, n = base.shape[:2]
    real = not (base.imag.any() or past.imag.any())
    if real:
        base, past = base.real, past.real
    room = count + 6
    roots = np.full((m, room), complex(np.nan, np.nan))
    residuals = np.full((m, room), np.nan)
    seeds = np.full((m, count + _SPARE), complex(np.nan, np.nan))
    settled, level = np.zeros(m, np.int64), np.zeros(m, int)
    ladder = [8 + (3 * count) // (2 * n)]
    while 2 * n * ladder[-1] < _LARGEST:
        ladder.append(2 * ladder[-1])
    systems = Systems(_complex(base), _complex(past), np.ascontiguousarray(tau, float), real)
    out = Roots(roots, residuals, settled)
    at, burst, last = 0, 1, -100
    while at < m:
        fewer = level[at] >= 3
        end = at + 1 if fewer else m
        at = sweep(at, end, systems, count, fewer, TOLERANCE, seeds, out)
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
    return roots[:, :count], residuals[:, :count], settled > 0


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
    matrix[:, 1:] = (2.0 / longest)[:, None, None, None, None] * (d[1:, None, :, None] * eye[None, :, None, :])
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
    values = np.linalg.eigvals(generator(base, past, tau, nodes)).astype(complex)
    if real:
        values = np.where(values.imag < 0, complex(np.nan, np.nan), values)
    key = np.where(np.isnan(values.real), np.inf, -values.real)
    order = np.argsort(key, axis=1)[:, :keep]
    out = np.full((base.shape[0], keep), complex(np.nan, np.nan))
    out[:, : order.shape[1]] = np.take_along_axis(values, order, axis=1)
    return out


#: What may be left below the diagonal, relative to a matrix's norm: rounding of a few similarity transforms.
_LEFT = 2e-14


def balance(stack: Array) -> Array:
    """One diagonal similarity, in powers of two, that evens out the rows and columns of all matrices of a point.

    A coupling in one direction only is scaled down to a tenth of the diagonal, where it no longer matters.

    Parameters
    ----------
    stack : (m, K, n, n) array

    Returns
    -------
    (m, K, n, n) array of the same spectra
    """
    from .delay_roots_kernel import prepare

    stack = np.array(stack, float)
    prepare(stack, np.ones((len(stack), stack.shape[1] - 1)), _SHORTEST, np.empty(len(stack), np.int8))
    return stack


def split(stack: Array) -> tuple[Array, Array]:
    """Diagonals of the matrices in a common triangular form, where they have one.

    The Schur vectors of a generic combination make every matrix triangular if all of them commute; then
    det(z - A_0 - sum A_k e^(-z tau_k)) is the product of the scalar functions of the diagonal entries, each multiple
    root as often as it occurs. Whether it worked is seen from what is left below the diagonals.

    Parameters
    ----------
    stack : (m, K, n, n) real array of finite numbers

    Returns
    -------
    diagonals : (m, K, n) complex array
    works : (m,) bool array

    Examples
    --------
    >>> one = np.array([[[[2.0, 1.0], [1.0, 2.0]], [[0.0, 5.0], [5.0, 0.0]]]])
    >>> diagonals, works = split(one)
    >>> bool(works[0]), sorted(map(tuple, diagonals[0].T.real.round(12).tolist()))
    (True, [(1.0, -5.0), (3.0, 5.0)])
    """
    from .delay_roots_kernel import rotate

    m, count, n, _ = stack.shape
    diagonals, works = np.empty((m, count, n), complex), np.empty(m, bool)
    if n == 1:
        return stack[..., 0].astype(complex), np.ones(m, bool)
    rotate(stack, _bases(stack[:1]), _LEFT, diagonals, works)
    other = np.flatnonzero(~works)
    if other.size and count > 1:  # triangular matrices have a commutator whose square has no trace
        one, two = stack[other, 0], stack[other, 1]
        turned = one @ two - two @ one
        sizes = (one**2).sum(axis=(1, 2)) * (two**2).sum(axis=(1, 2))
        other = other[~(np.abs(np.einsum("mij,mji->m", turned, turned)) > 1e-9 * sizes)]
    if other.size:
        factors, fine = np.empty((other.size, count, n), complex), np.empty(other.size, bool)
        rotate(stack[other], _bases(stack[other]), _LEFT, factors, fine)
        diagonals[other], works[other] = factors, fine
    return diagonals, works


def _bases(stack: Array) -> Array:
    """(m, n, n) Schur vectors of a generic combination of each point's matrices."""
    norm = np.sqrt((stack**2).sum(axis=(2, 3)))
    mix = np.sqrt(np.arange(2.0, 2.0 + stack.shape[1])) % 1.0 + 0.5
    combined = ((mix / np.where(norm > 0, norm, 1.0))[:, :, None, None] * stack).sum(axis=1)
    asymmetry = np.abs(stack - np.swapaxes(stack, 2, 3)).max(axis=(2, 3))
    if (asymmetry <= 4e-16 * norm).all():
        return np.asarray(np.linalg.eigh(combined)[1])
    return np.asarray(np.linalg.qr(np.linalg.eig(combined)[1])[0])


def rightmost_first(roots: Array) -> Array:
    """Sort (m, r) roots by falling real part, of a conjugate pair the upper first; NaN last."""
    return np.asarray(np.take_along_axis(roots, rightmost_order(roots), axis=1))


def rightmost_order(roots: Array) -> Array:
    """(m, r) columns in the order of `rightmost_first`."""
    key = np.where(np.isnan(roots.real), np.inf, -roots.real)
    order: Array = np.argsort(key, axis=1, kind="stable")
    out = np.take_along_axis(roots, order, axis=1)
    for i in range(order.shape[1] - 1):
        x, y = out[:, i], out[:, i + 1]
        with np.errstate(invalid="ignore"):
            pair = (np.abs(x - np.conj(y)) <= 1e-9 * np.abs(x)) & (x.imag < y.imag)
        for array in (out, order):
            array[pair, i], array[pair, i + 1] = array[pair, i + 1], array[pair, i]
    return order
