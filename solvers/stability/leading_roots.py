"""Leading roots of a linearisation, whatever the kind of problem: arrays in, arrays out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.limits import check_memory, check_work

from ..equations import System
from ..problems import DynamicsError, Map
from .delay_roots import in_chunks, rightmost_first, rightmost_roots
from .switches.sides import Sides, on_switches
from .switches.verdict import growth, judge

Array = NDArray[Any]

#: Largest companion matrix of a map with delays.
_LARGEST = 2000


@dataclass(frozen=True)
class Switched:
    """Points of rest on a switch, where no single linearisation exists.

    Attributes
    ----------
    index : (m,) columns of the states
    value : (m,) growth of small deviations in the long run: an exponent, or a multiplier less one; NaN if not known
    verdict : (m,) stable -1, marginal 0, unstable 1, unknown 2
    exact : (m,) whether `value` is the growth itself, not only its sign
    error : (m,) bound of the error of `value`
    roots : (m, 2, count) roots of the linearisations below and above the switch; where more than two sides meet, of
        the least and of the most dangerous one
    certain : (m,) whether all of these roots are
    """

    index: Array
    value: Array
    verdict: Array
    exact: Array
    error: Array
    roots: Array
    certain: Array


def linearisation(system: System, states: Array, points: Any = None) -> tuple[tuple[Array, Array, Array], list[Sides]]:
    """`System.jacobians`, and the points whose linearisation is not the same on all sides of a switch, by groups.

    Parameters
    ----------
    states : (n, m) array, where the equations are at rest
    points : index into the grid, optional; default all points in order

    Returns
    -------
    matrices : A_0 (m, n, n), A (m, K, n, n), tau (m, K)
    groups : of `switches.on_switches`

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import ODE
    >>> from tcpdynamics.solvers.equations import compile_system
    >>> x = sympy.Symbol("x")
    >>> _, groups = linearisation(compile_system(ODE(rhs={"x": 3 * sympy.Max(-x, 0) - 2 * x})), np.zeros((1, 1)))
    >>> groups[0].base.ravel().tolist(), groups[0].cone.ravel().tolist()
    ([-5.0, -2.0], [-1.0, 1.0])
    """
    n, m = states.shape
    lags = len(system.equations.groups)
    if not m:
        return (np.empty((0, n, n)), np.empty((0, lags, n, n)), np.empty((0, lags))), []
    check_memory(
        f"linearisations of {n:,} states at {m:,} points", 24.0 * m * n**2 * (1 + lags), "ask for fewer points"
    )
    matrices = system.jacobians(states, points)
    if not system.equations.switches:
        return matrices, []
    picked = np.arange(system.size) if points is None else np.arange(system.size)[points]
    return matrices, on_switches(system, states, picked, matrices)


def sides(system: System, states: Array, points: Any = None) -> list[Sides]:
    """The second part of `linearisation`."""
    return linearisation(system, states, points)[1] if system.equations.switches else []


def leading_roots(
    system: System, states: Array, points: Any = None, count: int | None = 1
) -> tuple[Array, Array, Array]:
    """Roots that decide over stability, most dangerous first.

    Those of the linearisation; for a point on a switch one number, the growth of small deviations in the long run or
    what shares its sign (see `switches.verdict`), NaN and not certain where that is not known.

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
    matrices, groups = linearisation(system, states, points)
    roots, residuals, certain = linear_roots(system, *matrices, count)
    on = switched(system, groups, 1)
    if on is not None:
        alone = growth(on.value) + (1.0 if isinstance(system.problem, Map) else 0.0)
        roots[on.index], residuals[on.index] = complex(np.nan, np.nan), np.nan
        roots[on.index, 0], residuals[on.index, 0] = alone, np.finfo(float).eps
        certain = certain.copy()
        certain[on.index] = ~np.isnan(on.value)
    return roots, residuals, certain


def switched(system: System, groups: list[Sides], count: int | None = 1) -> Switched | None:
    """What is known of points on a switch; None where there is none.

    Parameters
    ----------
    groups : of `linearisation`
    count : roots of each side, or None for all (not for a DDE)
    """
    if not groups:
        return None
    is_map = isinstance(system.problem, Map)
    parts = []
    for group in groups:
        value, verdict, exact, error = judge(group, is_map)
        m, s = group.base.shape[:2]
        columns = []
        for side in range(s):
            base, past = (np.ascontiguousarray(x[:, side]) for x in (group.base, group.past))
            side_roots = linear_roots(system, base, past, group.tau, count)
            side_roots[0][group.jump[:, side].any(axis=1)] = complex(np.nan, np.nan)  # what jumps has no linearisation
            columns.append(side_roots)
        if not columns:
            nothing = np.full((m, 2, 1), complex(np.nan, np.nan))
            parts.append(Switched(group.index, value, verdict, exact, error, nothing, np.ones(m, bool)))
            continue
        width = max(c[0].shape[1] for c in columns)
        roots = np.stack([padded(c[0], width) for c in columns], axis=1)
        certain = np.asarray(np.stack([c[2] for c in columns], axis=1).all(axis=1))
        pair = _two(roots, group.cone, is_map)
        roots = np.take_along_axis(roots, pair[:, :, None], axis=1)
        parts.append(Switched(group.index, value, verdict, exact, error, roots, certain))
    width = max(part.roots.shape[2] for part in parts)
    names = ("index", "value", "verdict", "exact", "error", "certain")
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    together = [padded(p.roots.reshape(-1, p.roots.shape[2]), width).reshape(-1, 2, width) for p in parts]
    return Switched(roots=np.concatenate(together), **joined)


def _two(roots: Array, cone: Array, is_map: bool) -> Array:
    """(m, 2) which sides stand for all: below and above the switch, or the least and the most dangerous one."""
    if roots.shape[1] == 2:
        rows = np.take_along_axis(cone[:, 1, 0], (cone[:, 1, 0] != 0).argmax(axis=1)[:, None], axis=1)
        return np.where(rows >= 0, [0, 1], [1, 0])
    danger = np.abs(roots[:, :, 0]) if is_map else roots[:, :, 0].real
    order = np.argsort(np.where(np.isnan(danger), -np.inf, danger), axis=1)
    return order[:, [0, -1]]


def linear_roots(system: System, base: Array, past: Array, tau: Array, count: int | None) -> tuple[Array, Array, Array]:
    """Leading roots of linearisations with these matrices; as `leading_roots`."""
    _check_roots(system, base, past, tau)
    if isinstance(system.problem, Map):
        return multipliers(base, past, tau, count)
    if past.shape[1] == 0:
        return _exponents(base, count)
    if count is None:
        raise DynamicsError("a delay equation has infinitely many roots: say how many are wanted")
    return rightmost_roots(base, past, tau, count)


def _check_roots(system: System, base: Array, past: Array, tau: Array) -> None:
    """Refuse more eigenvalues than one request may take. Raises LimitError."""
    m, n = base.shape[:2]
    rows = np.full(m, float(n))
    if isinstance(system.problem, Map) and past.shape[1]:
        rows *= 1 + np.where((past != 0).any(axis=(2, 3)), tau, 0).max(axis=1)
    what = f"roots of {n:,} states at {m:,} points"
    check_work(what, 25.0 * float((rows**3).sum()), "ask for fewer points, or sweep them in blocks to a store")


def margin(system: System, roots: Array) -> Array:
    """What must be negative for stability: real part, or modulus minus one."""
    return np.abs(roots) - 1.0 if isinstance(system.problem, Map) else roots.real


def _eigenvalues(matrices: Array) -> tuple[Array, Array]:
    """(m, n) eigenvalues, NaN where a matrix is not finite; a block a thread, as LAPACK releases the interpreter."""
    finite = np.asarray(np.isfinite(matrices).all(axis=(1, 2)))
    safe = np.where(finite[:, None, None], matrices, 0.0)
    values = np.empty(matrices.shape[:2], complex)

    def work(part: slice) -> None:
        values[part] = np.linalg.eigvals(safe[part])

    in_chunks(work, len(matrices))
    values[~finite] = complex(np.nan, np.nan)
    return values, finite


def _exponents(base: Array, count: int | None) -> tuple[Array, Array, Array]:
    values, finite = _eigenvalues(base)
    roots = rightmost_first(values)[:, :count]
    return padded(roots, count), padded(_rounding(roots), count), finite


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
    order = n * (1 + (longest.max() if m else 0))
    if order > _LARGEST:
        raise DynamicsError(
            f"the map reaches back {longest.max()} steps with {n} states: its companion matrix of {order} rows is too "
            f"large, at most {_LARGEST}"
        )
    roots = np.full((m, order if count is None else max(count, 1)), complex(np.nan, np.nan))
    finite = np.ones(m, bool)
    for back in np.unique(longest):
        rows = np.flatnonzero(longest == back)
        size = n * (back + 1)
        matrix = np.zeros((rows.size, size, size))
        matrix[:, np.arange(n, size), np.arange(size - n)] = 1.0
        matrix[:, :n, :n] = base[rows]
        for k in range(past.shape[1]):
            for lag in np.unique(tau[rows, k][acts[rows, k]]).astype(int):
                at = (tau[rows, k] == lag) & acts[rows, k]
                matrix[at, :n, n * lag : n * (lag + 1)] += past[rows[at], k]
        values, finite[rows] = _eigenvalues(matrix)
        values = _largest_first(values)[:, : roots.shape[1]]
        roots[rows, : values.shape[1]] = values
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


def padded(values: Array, count: int | None) -> Array:
    """(m, count) array with NaN behind the last column."""
    if count is None or values.shape[1] == count:
        return values
    out = np.full((values.shape[0], count), np.nan, values.dtype)
    out[:, : values.shape[1]] = values
    return out
