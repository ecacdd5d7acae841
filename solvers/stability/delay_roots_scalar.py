"""Roots of z = a + b e^(-z tau), one delay and one state: the branches of Lambert's W."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: |log| beyond which a e^x would leave the double range and Lambert's W is solved in its logarithmic form.
_EXTREME = 500.0


def scalar_roots(a: Array, b: Array, tau: Array, count: int) -> tuple[Array, Array]:
    """The `count` rightmost roots of z = a + b e^(-z tau) at each point.

    With w = (z - a) tau the equation reads w e^w = b tau e^(-a tau), so z = a + W_k(b tau e^(-a tau))/tau. The
    branch k = 0 holds the rightmost root for every complex argument [1]_, and real parts fall with |k|.

    Parameters
    ----------
    a, b : (m,) float or complex array
    tau : (m,) array, > 0 where b is not 0

    Returns
    -------
    roots : (m, count) complex array, rightmost first, NaN where there are no more (b = 0: a alone)
    residuals : (m, count) array
        |z - a - b e^(-z tau)| relative to the sum of its terms' magnitudes.

    References
    ----------
    .. [1] H. Shinozaki and T. Mori, Robust stability analysis of linear time-delay systems by Lambert W function:
       some extreme point results, Automatica 42, 2006, doi:10.1016/j.automatica.2006.05.008

    Examples
    --------
    >>> z, _ = scalar_roots(np.array([0.0]), np.array([-np.pi / 2]), np.array([1.0]), 2)
    >>> abs(z.imag[0] / (np.pi / 2)).round(12).tolist()  # Hopf: roots at +-i pi/2
    [1.0, 1.0]
    """
    a, b, tau = (np.asarray(v) for v in (a, b, tau))
    live = (b != 0) & (tau > 0)
    alone = a + np.where(tau > 0, 0.0, b)
    safe_b, safe_tau = np.where(live, b, 1.0), np.where(live, tau, 1.0)
    reach = count // 2 + 1 if count > 1 else 0
    roots = np.empty((a.size, 2 * reach + 1), complex)
    for column, k in enumerate(range(-reach, reach + 1)):
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # a delay so short that roots overflow: not certain
            z = a + _lambert(safe_b, safe_tau, a, k) / safe_tau
            z = _newton(z, a, safe_b, safe_tau)
        roots[:, column] = np.where(live, z, alone if k == 0 else np.nan)
    roots = rightmost_first(roots)[:, :count]
    return roots, _residual(roots, a[:, None], b[:, None], tau[:, None])


def rightmost_first(roots: Array) -> Array:
    """Sort (m, r) roots by falling real part, of a conjugate pair the upper first; NaN last."""
    key = np.where(np.isnan(roots.real), np.inf, -roots.real)
    out: Array = np.take_along_axis(roots, np.argsort(key, axis=1, kind="stable"), axis=1)
    for i in range(out.shape[1] - 1):
        x, y = out[:, i], out[:, i + 1]
        with np.errstate(invalid="ignore"):
            pair = (np.abs(x - np.conj(y)) <= 1e-9 * np.abs(x)) & (x.imag < y.imag)
        out[pair, i], out[pair, i + 1] = out[pair, i + 1], out[pair, i]
    return out


def _lambert(b: Array, tau: Array, a: Array, k: int) -> Array:
    """W_k(b tau e^(-a tau)), without forming an argument that overflows."""
    from scipy.special import lambertw

    turns = np.log(np.abs(b * tau)) - (a * tau).real + 1j * (np.angle(b) - (a * tau).imag)
    extreme = np.abs(turns.real) > _EXTREME
    exponent = np.where(extreme, 0.0, -a * tau)
    w: Array = np.asarray(lambertw(b * tau * np.exp(exponent), k))
    if abs(k) < 2:
        w = _near_branch_point(turns, w, k)
    if extreme.any():
        w[extreme] = _logarithmic(turns[extreme], k)
    return w


def _near_branch_point(log_z: Array, w: Array, k: int) -> Array:
    """W_0 and its partner (k = -1 above the cut and on it, k = 1 below) by their series in p = sqrt(2 (e z + 1))."""
    turned = log_z.imag - 2 * np.pi * np.ceil((log_z.imag - np.pi) / (2 * np.pi))
    distance = 1 + log_z.real + 1j * (turned - np.copysign(np.pi, turned))
    near = np.abs(distance) < 1e-3
    if k:
        near &= (turned > 0) == (k < 0)
    if not near.any():
        return w
    p = np.sqrt(-2 * np.expm1(distance[near]) + 0j)
    p = p if k == 0 else -p
    w[near] = -1 + p * (1 + p * (-1 / 3 + p * (11 / 72 + p * (-43 / 540 + p * 769 / 17280))))
    return w


def _logarithmic(log_z: Array, k: int) -> Array:
    """w + log w = log z + 2 pi i k by Newton, |log z| large; W_0 is z itself where z is tiny."""
    turned = log_z.imag - 2 * np.pi * np.ceil((log_z.imag - np.pi) / (2 * np.pi))
    target = log_z.real + 1j * (turned + 2 * np.pi * k)
    falling = (turned == np.pi) & (k == -1) & (log_z.real < 0)  # the real branch between -1/e and 0
    target = np.where(falling, log_z.real, target)
    sign = np.where(falling, -1.0, 1.0)
    with np.errstate(all="ignore"):
        w = target - np.log(sign * target)
        for _ in range(8):
            w = w * (1 + target - np.log(sign * w)) / (1 + w)
    if k == 0:
        w = np.where(log_z.real < 0, np.exp(np.clip(log_z.real, -745.0, 0.0) + 1j * turned), w)
    return np.asarray(w)


def _residual(z: Array, a: Array, b: Array, tau: Array) -> Array:
    with np.errstate(all="ignore"):
        past = np.where(b == 0, 0.0, b * np.exp(-z * tau))
        scale = np.abs(z) + np.abs(a) + np.abs(past)
        return np.asarray(np.where(scale == 0, 0.0, np.abs(z - a - past) / np.where(scale == 0, 1.0, scale)))


def _newton(z: Array, a: Array, b: Array, tau: Array) -> Array:
    """Two steps on the equation itself, each kept where it lowers the residual."""
    best = _residual(z, a, b, tau)
    for _ in range(2):
        if not (best > 1e-16).any():
            break
        with np.errstate(all="ignore"):
            past = b * np.exp(-z * tau)
            new = z - (z - a - past) / (1 + tau * past)
        residual = _residual(new, a, b, tau)
        better = residual < best
        z, best = np.where(better, new, z), np.where(better, residual, best)
    return z
