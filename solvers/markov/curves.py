"""A quantity at a million values of one parameter: Chebyshev series on pieces, as exact as asked for.

Stationary laws, and what is observed of them, are rational functions of the parameters of their chain, with positive
denominators inside the domain: analytic on it. On a short enough interval a Chebyshev series of degree n then errs by
rho^-n, so that a few hundred laws, solved at Chebyshev points, give all others. Where a chain has hundreds of states
this is thousands of times cheaper than solving each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.errors import ChainError

Array = NDArray[np.float64]

#: Coefficients of a piece.
DEGREE = 25
#: Pieces of one curve, at most.
MOST_PIECES = 256
#: Values that are computed at a time.
_BLOCK = 65_536


@dataclass(frozen=True, eq=False)
class Curve:
    """Quantities along one parameter; made by `curve`.

    Attributes
    ----------
    edges : (k + 1,) array
        Ends of the pieces, ascending.
    coefficients : (k, DEGREE, m) array
        Chebyshev coefficients of m quantities on each piece.
    error : float
        Largest relative difference from the function between the points that made the series; measured at seven points
        of each piece, its ends among them.
    solved : int
        Values at which the function was computed.
    """

    edges: Array
    coefficients: Array
    error: float
    solved: int

    def __call__(self, x: Array) -> Array:
        """The quantities at values within the edges, as a (len(x), m) array; NaN outside."""
        x = np.asarray(x, dtype=np.float64)
        out = np.full((x.size, self.coefficients.shape[2]), np.nan)
        inside = (x >= self.edges[0]) & (x <= self.edges[-1])
        piece = np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, len(self.edges) - 2)
        piece[~inside] = -1
        order = np.argsort(piece, kind="stable")
        bounds = np.searchsorted(piece[order], np.arange(len(self.edges)))
        for k in range(len(self.edges) - 1):
            low, high = self.edges[k], self.edges[k + 1]
            for first in range(bounds[k], bounds[k + 1], _BLOCK):
                rows = order[first : min(first + _BLOCK, bounds[k + 1])]
                out[rows] = _basis((2.0 * x[rows] - low - high) / (high - low)) @ self.coefficients[k]
        return out


def curve(function: Callable[[Array], Array], low: float, high: float, tolerance: float = 2e-13) -> Curve:
    """Chebyshev series of a function on [low, high], halved into pieces until each is as exact as asked for.

    Parameters
    ----------
    function : array (n,) -> array (n, m)
        m quantities, computed at many values at a time.
    low, high : float
        low < high.
    tolerance : float
        Largest relative error of each quantity, beside rounding.

    Raises
    ------
    ChainError
        The function is not finite, or no such series is found with 256 pieces: it turns too often, or is not computed
        to this tolerance, as where it falls to 0 at an end that is not 0.

    References
    ----------
    .. [1] Trefethen, Approximation Theory and Approximation Practice, 2013, theorem 8.2

    Examples
    --------
    >>> made = curve(lambda x: np.stack([x**3 / (1 + x), 1 / x], axis=-1), 1e-6, 1.0)
    >>> x = np.linspace(1e-6, 1.0, 100_000)
    >>> bool(np.abs(made(x)[:, 0] / (x**3 / (1 + x)) - 1).max() < 1e-12)
    True
    """
    nodes = np.cos(np.pi * (np.arange(DEGREE) + 0.5) / DEGREE)
    to_series = (2.0 / DEGREE) * _basis(nodes).T
    to_series[0] /= 2.0
    between = np.array([-1.0, -0.991, -0.63, -0.06, 0.44, 0.987, 1.0])
    at_between = _basis(between)
    open_pieces = _halving(low, high)
    done: list[tuple[float, Array]] = []
    worst, solved = 0.0, 0
    while open_pieces:
        if len(done) + len(open_pieces) > MOST_PIECES:
            raise ChainError(
                f"no series of {MOST_PIECES:,} pieces follows this quantity within {tolerance:g} between {low:g} and "
                f"{high:g}; it turns too often or is not computed so exactly: take a shorter range, or fewer points"
            )
        ends = np.array(open_pieces)
        middle, half = ends.mean(axis=1)[:, None], np.diff(ends, axis=1) / 2.0
        points = middle + half * np.concatenate([nodes, between])
        points = np.clip(points, ends[:, :1], ends[:, 1:])
        values = function(points.ravel()).reshape(*points.shape, -1)
        if not np.isfinite(values).all():
            raise ChainError(f"the quantity is not finite everywhere between {low:g} and {high:g}")
        solved += points.size
        series = np.einsum("nj,kjm->knm", to_series, values[:, :DEGREE])
        direct = values[:, DEGREE:]
        difference = np.abs(np.einsum("jn,knm->kjm", at_between, series) - direct)
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = np.where(difference == 0.0, 0.0, difference / np.abs(direct)).max(axis=(1, 2))
        open_pieces = []
        for (left, right), coefficients, error in zip(ends.tolist(), series, errors, strict=True):
            if error <= tolerance:
                done.append((left, coefficients))
                worst = max(worst, float(error))
            else:
                open_pieces += [(left, (left + right) / 2.0), ((left + right) / 2.0, right)]
    done.sort(key=lambda item: item[0])
    return Curve(np.array([*(a for a, _ in done), high]), np.array([c for _, c in done]), worst, solved)


def _halving(low: float, high: float) -> list[tuple[float, float]]:
    """First pieces, each at most twice as far from 0 at its upper end as at its lower one."""
    edges = [low]
    while low > 0.0 and edges[-1] * 2.0 < high:
        edges.append(edges[-1] * 2.0)
    edges.append(high)
    return list(pairwise(edges))


def _basis(x: Array) -> Array:
    """Chebyshev polynomials T_0, ..., T_(DEGREE-1) at x: (len(x), DEGREE)."""
    out = np.empty((DEGREE, x.size))
    out[0] = 1.0
    out[1] = x
    for n in range(2, DEGREE):
        np.multiply(out[n - 1], 2.0 * x, out=out[n])
        out[n] -= out[n - 2]
    return out.T
