"""Stability of points of rest on a switch, from the linearisations on its sides.

Two stable sides do not make a stable point, nor do unstable ones make an unstable point: motions that go from side to
side may grow or shrink in both. What is known, and used here:

One state. Deviations have two sides. A flow cannot change sides: both must be stable. A map with slopes a and b that
have different signs ends on the side whose slope is >= 0; with two negative slopes it changes sides at every step. So
motions grow in the long run by max(a, b), the slope >= 0, or sqrt(a b) a step, and the point is stable iff that is < 1.

Two states of a flow, one line between the sides. A real eigenvalue has its direction in its cone, and motions end
along such directions: the largest decides. Without any the motion turns, half a turn on each side takes pi/w, and the
product of the growths decides [1]_.

Any number of states. Unstable where a motion along one direction that stays in its cone (or, of a map, comes back to it
through a sequence of cones) grows; not stable where it does not die out. Stable where one quadratic form falls on all
sides. Of two Hurwitz matrices whose difference has rank one there is such a form iff their product has no real negative
eigenvalue [2]_; maps are carried over by (A - 1)(A + 1)^-1. A map that jumps away from its point is unstable. Otherwise
it is not known.

References
----------
.. [1] V. Carmona, E. Freire, E. Ponce, F. Torres, On simplifying and classifying piecewise-linear systems, IEEE Trans.
   Circuits and Systems I 49, 2002; doi:10.1109/TCSI.2002.1001950
.. [2] R. Shorten, K. Narendra, On common quadratic Lyapunov functions for pairs of stable LTI systems whose system
   matrices are in companion form, IEEE Trans. Automatic Control 48, 2003; doi:10.1109/TAC.2003.809795; for all pairs
   of rank one: C. King, M. Nathanson, On the existence of a common quadratic Lyapunov function for a rank one
   difference, Linear Algebra and its Applications 419, 2006; doi:10.1016/j.laa.2006.05.010
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .sides import Sides

Array = NDArray[Any]

STABLE, MARGINAL, UNSTABLE, UNKNOWN = -1, 0, 1, 2

#: Growth of a motion that comes to the point, or leaves it, in a finite time; finite, to be compared and interpolated.
AT_ONCE = 1e100

#: Longest sequence of cones that is followed, and the most matrices that are multiplied for it.
_LONGEST, _MOST_WORDS = 6, 256

#: A direction this close to the border of its cone, relative to its length, is not taken to lie inside.
_INSIDE = 1e-9

#: Largest matrices that are looked at: eigenvalues of products of companion matrices take time.
_LARGEST = 200


def judge(group: Sides, is_map: bool) -> tuple[Array, Array, Array, Array]:
    """Stability of points on a switch.

    Returns
    -------
    value : (m,) growth of small deviations in the long run, exponents or multipliers less one, where that is known;
        where only its sign is known, the nearest of the sides' (< 0) or that of a motion that grows (> 0); 0 where
        some motion neither grows nor dies out, which leaves marginal and unstable; NaN where nothing is known
    verdict : (m,) stable -1, marginal 0, unstable 1, unknown 2
    exact : (m,) whether `value` is the growth itself
    error : (m,) bound of the error of `value`
    """
    m = len(group.index)
    value, error, exact = np.full(m, np.nan), np.zeros(m), np.zeros(m, bool)
    if group.base.shape[1]:
        late = np.any(group.past != 0, axis=(1, 3, 4)) | _watched(group)  # (m, K) lags that act
        lags = np.where(late, group.tau, 0.0)
        parts = lags if is_map and lags.size else np.any(lags > 0, axis=1, keepdims=True)
        for kind in np.unique(parts, axis=0):
            rows = np.flatnonzero((parts == kind).all(axis=1))
            part = group.take(rows)
            if kind.any() and not is_map:
                value[rows] = _growing_history(part)
                continue
            matrices, cone, jump = _first_order(part, kind.astype(int))
            error[rows] = _rounding(matrices, is_map)
            value[rows], exact[rows] = _of_matrices(matrices, cone, jump, error[rows], is_map)
    within_error = np.abs(value) <= error
    verdict = np.where(within_error & exact, MARGINAL, np.sign(value))
    verdict[np.isnan(value) | (within_error & ~exact)] = UNKNOWN
    return value, verdict.astype(np.int8), exact & ~np.isnan(value), error


def growth(value: Array) -> Array:
    """Values with infinity for what grows or dies out at once.

    >>> growth(np.array([-1e100, 0.5])).tolist()
    [-inf, 0.5]
    """
    return np.where(value == AT_ONCE, np.inf, np.where(value == -AT_ONCE, -np.inf, value))


def _watched(group: Sides) -> NDArray[np.bool_]:
    """(m, K) whether a switch looks at the states at that lag."""
    n = group.base.shape[2]
    rows = group.cone.reshape(*group.cone.shape[:3], -1, n)
    return np.asarray((rows[:, :, :, 1:] != 0).any(axis=(1, 2, 4)))


def _first_order(group: Sides, lags: Array) -> tuple[Array, Array, Array]:
    """Companion matrices (m, S, N, N), cones (m, S, c, N) and jumps (m, S, N) of a map, or of a flow without delays."""
    m, s, n = group.base.shape[:3]
    size = n * (1 + int(lags.max(initial=0)))
    matrices = np.zeros((m, s, size, size))
    matrices[:, :, np.arange(n, size), np.arange(size - n)] = 1.0
    matrices[:, :, :n, :n] = group.base
    cone = np.zeros((*group.cone.shape[:3], size))
    cone[..., :n] = group.cone[..., :n]
    for k in range(group.past.shape[2]):
        back = n * int(lags[k]) if len(lags) == group.past.shape[2] else 0
        at = slice(back, back + n)
        matrices[:, :, :n, at] += group.past[:, :, k]
        cone[..., at] += group.cone[..., n * (1 + k) : n * (2 + k)]
    jump = np.zeros((m, s, size))
    jump[..., :n] = group.jump
    return matrices, cone, jump


def _rounding(matrices: Array, is_map: bool) -> Array:
    """(m,) error of a root, for simple roots."""
    size = np.abs(matrices).sum(axis=3).max(axis=(1, 2))
    return np.asarray(4 * matrices.shape[2] * np.finfo(float).eps * (size + (1.0 if is_map else 0.0)))


def _of_matrices(a: Array, cone: Array, jump: Array, error: Array, is_map: bool) -> tuple[Array, Array]:
    """(m,) values, and whether they are exact; NaN where nothing is known."""
    m, s, n = a.shape[:3]
    if n == 1:
        value = _one_state(a[..., 0, 0], jump[..., 0], cone[..., 0], is_map)
        return value, np.isfinite(value)
    jumps = np.asarray((jump != 0).any(axis=(1, 2)))
    finite = np.asarray(np.isfinite(a).all(axis=(1, 2, 3)))
    value = np.full(m, np.nan)
    if is_map:
        value[jumps] = AT_ONCE
    plane = np.zeros(m, bool)
    if n == 2 and s == 2 and not is_map:
        plane = ~jumps & (cone[:, 0] != 0).any(axis=2).all(axis=1)
        plane &= np.abs(cone[:, 0] + cone[:, 1]).max(axis=(1, 2)) < _INSIDE
        value[plane] = _plane(a[plane])
    plane &= np.isfinite(value)
    todo = np.flatnonzero(~plane & ~jumps & finite)
    if n > _LARGEST or not todo.size:
        return value, plane
    roots = np.linalg.eigvals(a[todo])
    worst = (np.abs(roots) - 1 if is_map else roots.real).max(axis=(1, 2))
    both = np.flatnonzero(worst < -error[todo])
    falls = both[_one_form_falls(a[todo[both]], is_map)]
    value[todo[falls]] = worst[falls]
    for length in range(1, (_LONGEST if is_map and n <= 20 else 1) + 1):
        todo = np.flatnonzero(np.isnan(value) & ~jumps & finite)
        if not todo.size or s**length > _MOST_WORDS:
            break
        for word in filter(_is_first, product(range(s), repeat=length)):
            grown = _growing_direction(a[todo], cone[todo], word, 64 * error[todo], is_map)
            value[todo] = np.fmax(value[todo], grown)
    return value, plane


def _one_state(slope: Array, jump: Array, cone: Array, is_map: bool) -> Array:
    """(m,) growth from the (m, S) slopes of one state."""
    on_side = []
    for h in (-1.0, 1.0):
        covers = ((cone * h > 0) | (cone == 0)).all(axis=2)
        away = AT_ONCE if is_map else AT_ONCE * np.sign(jump * h)
        out = np.where(jump != 0, away, slope)
        low, high = np.where(covers, out, np.inf).min(axis=1), np.where(covers, out, -np.inf).max(axis=1)
        sure = np.isfinite(low) & (high - low <= 2.0**-36 * np.maximum(np.abs(low), np.abs(high)))
        on_side.append(np.where(sure, high, np.nan))
    left, right = on_side
    if not is_map:
        return np.asarray(np.maximum(left, right))
    with np.errstate(invalid="ignore"):
        turning = np.sqrt(np.abs(left)) * np.sqrt(np.abs(right))
        both = (left < 0) & (right < 0)
        return np.where(np.isnan(left + right), np.nan, np.where(both, turning, np.maximum(left, right))) - 1


def _plane(a: Array) -> Array:
    """(m,) growth of a continuous flow of two states with one line between its (m, 2, 2, 2) sides."""
    half_trace = (a[..., 0, 0] + a[..., 1, 1]) / 2
    disc = ((a[..., 0, 0] - a[..., 1, 1]) / 2) ** 2 + a[..., 0, 1] * a[..., 1, 0]
    unsure = np.abs(disc) <= 1e-12 * np.abs(a).max(axis=(2, 3)) ** 2
    real = disc >= 0
    largest = np.where(real, half_trace + np.sqrt(np.maximum(disc, 0)), -np.inf).max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        time = 1 / np.sqrt(np.maximum(-disc, 0))
        turning = (half_trace * time).sum(axis=1) / time.sum(axis=1)
    value = np.where(real.any(axis=1), largest, turning)
    # A double root: whether its direction exists is a matter of rounding.
    either = (unsure & (half_trace >= 0)).any(axis=1) & ~((real & ~unsure).any(axis=1) & (value > 0))
    return np.where(either, np.nan, value)


def _one_form_falls(a: Array, is_map: bool) -> NDArray[np.bool_]:
    """(m,) whether one quadratic form falls on all sides, of (m, S, n, n) matrices that are stable each."""
    m, s, n = a.shape[:3]
    sure: NDArray[np.bool_] = np.zeros(m, bool)
    if not m:
        return sure
    one = np.eye(n)
    if is_map:
        a = (a - one) @ np.linalg.inv(a + one)
    if s == 2:
        size = np.linalg.svd(a[:, 1] - a[:, 0], compute_uv=False)
        rank_one = size[:, 1] <= 1e-9 * size[:, 0]
        roots = np.linalg.eigvals(a[:, 0] @ a[:, 1])
        norm = np.linalg.norm(a[:, 0], axis=(1, 2)) * np.linalg.norm(a[:, 1], axis=(1, 2))
        on_axis = (roots.real <= 0) & (np.abs(roots.imag) <= 1e-6 * norm[:, None])
        sure = np.asarray(rank_one & ~on_axis.any(axis=1))
    for i in np.flatnonzero(~sure):
        sure[i] = _tried(a[i])
    return sure


def _tried(a: Array) -> bool:
    """Whether the form of one side, or the mean of all, falls on all (S, n, n) sides."""
    from scipy.linalg import solve_continuous_lyapunov

    forms = [solve_continuous_lyapunov(x.T, -np.eye(len(x))) for x in a]
    forms = [p / np.linalg.norm(p) for p in forms]
    for p in [*forms, sum(forms)]:
        change = [x.T @ p + p @ x for x in a]
        largest = max(float(np.linalg.eigvalsh(q)[-1] / np.linalg.norm(q)) for q in change)
        if largest < -1e-10 and np.linalg.eigvalsh(p)[0] > 0:
            return True
    return False


def _is_first(word: tuple[int, ...]) -> bool:
    """Whether a sequence comes before all of its rotations: one of each closed sequence, and no repetitions.

    >>> [w for w in product((0, 1), repeat=3) if _is_first(w)]
    [(0, 0, 1), (0, 1, 1)]
    """
    return all(word < word[i:] + word[:i] for i in range(1, len(word)))


def _growing_direction(a: Array, cone: Array, word: tuple[int, ...], error: Array, is_map: bool) -> Array:
    """(m,) growth (0: none) along a direction that comes back to itself through a sequence of cones; else NaN."""
    total = a[:, word[0]]
    for side in word[1:]:
        total = a[:, side] @ total
    roots, vectors = np.linalg.eig(total)
    with np.errstate(invalid="ignore"):
        growth = np.where(roots.real > 0, np.abs(roots.real), np.nan) ** (1 / len(word)) - 1 if is_map else roots.real
    grows = (roots.imag == 0) & (growth >= -error[:, None])
    growth = np.where(growth <= error[:, None], 0.0, growth)
    out = np.full(len(a), np.nan)
    for column in np.flatnonzero(grows.any(axis=0)):
        for sign in (1.0, -1.0):
            h, stays = sign * vectors[:, :, column].real, grows[:, column].copy()
            for side in word:
                along = np.einsum("mcn,mn->mc", cone[:, side], h)
                stays &= (along > _INSIDE * np.linalg.norm(h, axis=1)[:, None]).all(axis=1)
                h = np.einsum("mij,mj->mi", a[:, side], h)
            out = np.where(stays, np.fmax(out, growth[:, column]), out)
    return out


def _growing_history(group: Sides) -> Array:
    """(m,) real root z >= 0 of a delay equation whose motion e^(z t) v stays in its cone; NaN without one."""
    from ..delay_roots import rightmost_roots

    m, s, n = group.base.shape[:3]
    out = np.full(m, np.nan)
    for side in range(s):
        base, past = (np.ascontiguousarray(x[:, side]) for x in (group.base, group.past))
        roots, residuals, certain = rightmost_roots(base, past, group.tau, n + 2)
        size = np.abs(base).sum(axis=(1, 2)) + np.abs(past).sum(axis=(1, 2, 3))
        real = np.abs(roots.imag) <= 1e-12 * np.abs(roots.real)
        error = 64 * np.fmax(residuals, 1e-15) * size[:, None]
        grows = certain[:, None] & (real | (np.abs(roots) <= error)) & (roots.real >= -error)
        smooth = (group.jump == 0).all(axis=(1, 2))
        for i, j in np.argwhere(grows & np.asarray(smooth)[:, None]):
            z = float(roots[i, j].real) if roots[i, j].real > error[i, j] else 0.0
            fade = np.exp(-z * group.tau[i])
            delta = z * np.eye(n) - base[i] - np.einsum("k,kij->ij", fade, past[i])
            v = np.linalg.svd(delta)[2][-1]
            h = np.concatenate([v, *(f * v for f in fade)])
            along = group.cone[i, side] @ h
            inside = (along > _INSIDE * np.linalg.norm(h)).all() or (along < -_INSIDE * np.linalg.norm(h)).all()
            if inside:
                out[i] = np.fmax(out[i], z)
    return out
