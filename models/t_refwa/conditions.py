"""Stability conditions of trinomials and quasi-polynomials, elementwise over arrays.

Each boundary is a curve on which a root crosses the unit circle (the imaginary axis) at an angle (frequency)
that solves one scalar equation; it has one solution in a known interval, so bisection finds it and the
sign of every margin is right up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Halvings of an interval of length 2 down to the spacing of floats.
_HALVINGS = 54

#: A reflection coefficient this close to 1 in modulus counts as 1.
_ON_CIRCLE = 1e-14


def bisect(falling: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Where a function turns from positive to negative, once, elementwise; the nearer end where it does not.

    Examples
    --------
    >>> bisect(lambda x: np.array([2.0, 0.5]) - x**2, np.zeros(2), np.full(2, 2.0)).round(12) ** 2
    array([2. , 0.5])
    """
    low, high = low.copy(), high.copy()
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        right = falling(middle) > 0
        low, high = np.where(right, middle, low), np.where(right, high, middle)
    return (low + high) / 2


def trinomial_margin(a: Array, b: Array, delay: Array) -> Array:
    """How far z^(d+1) - a z^d + b, b >= 0, is from having a root outside the unit disc: > 0 if all are inside.

    For d = 0, and for even d with a <= 0: b < 1 + a. Else |a| - 1 < b < sin(w)/sin(d w) where w in
    (0, pi/(d+1)) solves sin((d+1) w) = |a| sin(d w); for |a| > (d+1)/d there is no such w and no such b.

    Parameters
    ----------
    a, b, delay : (m,) arrays
        `delay` d holds whole numbers >= 0.

    References
    ----------
    .. [1] S. A. Kuruklis, The asymptotic stability of x(n+1) - a x(n) + b x(n-k) = 0, Journal of Mathematical
       Analysis and Applications 188, 1994, theorem 1; doi:10.1006/jmaa.1994.1457

    Examples
    --------
    >>> trinomial_margin(np.array([-0.5, 0.0]), np.array([0.5, 0.5]), np.array([2.0, 1.0]))
    array([0. , 0.5])
    """
    lower = np.where(delay == 0, a - 1, np.abs(a) - 1)
    even = (delay % 2 == 0) & (delay > 0) & (a <= 0)  # the root 1 is then far: p(1) = 1 + |a| + b
    return np.minimum(np.where(even, np.inf, b - lower), critical_gain(a, delay) - b)


def critical_gain(a: Array, delay: Array) -> Array:
    """The upper end of the b for which z^(d+1) - a z^d + b has all roots in the unit disc.

    Odd d: the same for a and -a, because the roots change their signs only.
    """
    d = np.maximum(delay, 1.0)  # d = 0 is a real crossing
    size = np.abs(a)
    high = np.pi / (d + 1)
    w = bisect(lambda w: np.sin((d + 1) * w) - size * np.sin(d * w), high * 1e-9, high)
    complex_crossing = np.where(size < (d + 1) / d, np.sin(w) / np.sin(d * w), 1 / d)
    real = (delay == 0) | ((delay % 2 == 0) & (a <= 0))
    return np.where(real, 1 + a, complex_crossing)


def schur_cohn_margin(coefficients: Array) -> Array:
    """How far a polynomial is from having a root outside the unit disc: the least of 1 - |reflection coefficient|.

    The recursion of Schur and Cohn (Jury's table): all roots lie inside iff all reflection coefficients do.
    It ends at the first that does not. Where that is 1 in modulus, the roots that are left have a product of 1: then
    either all of them lie on the circle, and the margin is 0, or some lie outside, and it is negative. All lie on the
    circle iff the polynomial is its own reverse up to the sign and its derivative has no root outside (Cohn).

    Parameters
    ----------
    coefficients : (degree + 1, m) array
        Highest power first.

    References
    ----------
    .. [1] E. I. Jury, Theory and application of the z-transform method, Wiley, 1964, chapter 3
    .. [2] A. Cohn, Ueber die Anzahl der Wurzeln einer algebraischen Gleichung in einem Kreise, Math. Zeitschrift 14,
       1922; doi:10.1007/BF01215894

    Examples
    --------
    >>> schur_cohn_margin(np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 3.0], [-0.25, -4.0, 1.0]]))
    array([ 0.75, -3.  , -0.5 ])
    """
    rest = coefficients / coefficients[0]
    margin = np.full(rest.shape[1], np.inf)
    for degree in range(len(rest) - 1, 0, -1):
        inside = margin > 0
        reflection = np.where(inside, rest[degree], 0.0)
        margin = np.where(inside, np.minimum(margin, 1 - np.abs(reflection)), margin)
        on = np.flatnonzero(inside & (np.abs(margin) <= _ON_CIRCLE) & (degree > 1))
        if on.size:
            margin[on] = _on_circle(rest[: degree + 1, on], np.sign(reflection[on]))
        reflection = np.where(margin > 0, reflection, 0.0)
        rest = (rest[:degree] - reflection * rest[degree:0:-1]) / (1 - reflection**2)
    return margin


def _on_circle(rest: Array, sign: Array) -> Array:
    """Zero where all roots of polynomials whose roots have a product of modulus 1 lie on the circle, else < 0."""
    uneven = np.abs(rest - sign * rest[::-1]).max(axis=0) / np.abs(rest).max(axis=0)
    powers = np.arange(len(rest) - 1, 0, -1)[:, None]
    inner = schur_cohn_margin(rest[:-1] * powers)  # the derivative
    return np.where(uneven > 64 * _ON_CIRCLE, -uneven, np.minimum(inner, 0.0))


def both_delayed_critical(x: Array) -> Array:
    """y at which z^2 + (x z + y) e^-z has its first roots on the imaginary axis: x = w sin w, y = w^2 cos w.

    For 0 < x < pi/2 all roots lie left iff 0 < y < w^2 cos w, w in (0, pi/2). From pi/2 on no y > 0 is stable, and
    the curve is continued by pi/2 - x.
    """
    w = bisect(lambda w: x - w * np.sin(w), np.zeros_like(x), np.full_like(x, np.pi / 2))
    for _ in range(2):  # small x: bisection's absolute error is not small beside w = sqrt(x)
        slope = np.sin(w) + w * np.cos(w)
        w = np.where(slope > 0, w - (w * np.sin(w) - x) / np.where(slope > 0, slope, 1.0), w)
    return np.where(x < np.pi / 2, w**2 * np.cos(w), np.pi / 2 - x)


def queue_delayed_critical(x: Array) -> Array:
    """y at which z^2 + x z + y e^-z has its first roots on the imaginary axis: x = w tan w, y = w^2/cos w.

    All roots lie left iff x > 0 and 0 < y < w^2/cos w, w in (0, pi/2).
    """
    w = bisect(lambda w: x * np.cos(w) - w * np.sin(w), np.zeros_like(x), np.full_like(x, np.pi / 2))
    for _ in range(2):
        slope = (1 + x) * np.sin(w) + w * np.cos(w)
        w = np.where(slope > 0, w - (w * np.sin(w) - x * np.cos(w)) / np.where(slope > 0, slope, 1.0), w)
    return x / np.sinc(w / np.pi)  # w^2/cos w = x w/sin w, without a small cosine
