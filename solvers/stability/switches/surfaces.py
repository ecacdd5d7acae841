"""Points of rest on the surface of a switch, where equations that are held on one side rest along a line or a region.

A queue whose rate is zero wherever it is full rests, by the piece of the equations that says so, at any length above
the buffer. Newton's method ends wherever it began; what is wanted is the point on the switch. So beside the rates of
such a piece the switch's argument must vanish.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...equations import Equations, System
from ...programs.straightline import Program, with_partials
from ..rest import at_rest_jacobian, at_rest_rate, rests
from .programs import at_rest_values, signed_arguments

Array = NDArray[np.float64]

_STEPS = 40
#: Different arguments of switches that are searched, at most.
_MOST = 32
#: A direction in which the scaled equations are this much weaker than in others counts as none.
_SINGULAR = 1e-13
#: Where a correction is below this, relative to the box, an iteration has arrived.
_DONE = 1e-11
#: Relative distances from a surface at which a point may be on its right side for rounding alone.
_BESIDE = (0.0, 2.0**-52, -(2.0**-52), 2.0**-50, -(2.0**-50))


def on_surfaces(system: System, piece: System, x: Array, points: NDArray[np.int64], width: Array) -> list[Array]:
    """Rest of the whole equations on each of their switches, by one piece; NaN where there is none.

    Nothing where the piece's own rates decide: then Newton's method alone comes to its points of rest.

    Parameters
    ----------
    piece : System, of `pieces`
    x : (n, m) starts
    points : (m,) index into the grid
    width : (n, m) size of the region in each state

    Returns
    -------
    list of (n, m) arrays, one a switch
    """
    with np.errstate(all="ignore"):
        undecided = _undecided(piece, x, points, width)
        if not undecided.any():
            return []
        out = []
        for argument in _arguments(system.equations):
            solutions = np.full(x.shape, np.nan)
            solutions[:, undecided] = _solve(
                system, piece, argument, x[:, undecided], points[undecided], width[:, undecided]
            )
            out.append(solutions)
    return out


def _undecided(piece: System, x: Array, points: NDArray[np.int64], width: Array) -> NDArray[np.bool_]:
    """(m,) whether the rates can all vanish and leave a direction open."""
    jacobian = at_rest_jacobian(piece, x, points)
    constant = (jacobian == 0).all(axis=2).T
    scaled, finite = _scaled(jacobian, width)
    open_ = finite & ~(constant & (at_rest_rate(piece, x, points) != 0)).any(axis=0)
    if open_.any():
        size = np.linalg.svd(scaled[open_], compute_uv=False)
        open_[open_] = size[:, -1] <= _SINGULAR * size[:, 0]
    return np.asarray(open_)


def _arguments(equations: Equations) -> list[Program]:
    """What the switches look at, each once: its value, and its slopes by all variables."""

    def make() -> list[Program]:
        alone = (signed_arguments(equations.composed, (i,)) for i in equations.switches)
        return [with_partials(program, equations.variables) for program in dict.fromkeys(alone)][:_MOST]

    return equations.once("arguments of switches", make)


def _scaled(rows: Array, width: Array) -> tuple[Array, NDArray[np.bool_]]:
    """(m, r, n) rows in units of the states, each of size 1, zero where a matrix is not finite."""
    scaled = rows * width.T[:, None, :]
    size = np.abs(scaled).max(axis=2, keepdims=True)
    scaled = scaled / np.where(size > 0, size, 1.0)
    finite = np.asarray(np.isfinite(scaled).all(axis=(1, 2)))
    return np.where(finite[:, None, None], scaled, 0.0), finite


def _solve(system: System, piece: System, switch: Program, x: Array, points: NDArray[np.int64], width: Array) -> Array:
    """(n, m) where the rates of a piece and the argument of a switch vanish together and the whole equations rest."""
    x = x.copy()
    arrived = np.zeros(x.shape[1], bool)
    for _ in range(_STEPS):
        rate = at_rest_rate(piece, x, points)
        argument, slope = _argument(system, switch, x, points)
        rows = np.concatenate([at_rest_jacobian(piece, x, points), slope[:, None]], axis=1)
        value = np.concatenate([rate, argument[None]]).T
        size = np.abs(rows * width.T[:, None, :]).max(axis=2)
        scaled, finite = _scaled(rows, width)
        right = value / np.where(size > 0, size, 1.0)
        finite &= np.isfinite(right).all(axis=1)
        step = np.einsum("mnr,mr->nm", np.linalg.pinv(scaled, rcond=_SINGULAR), np.where(finite[:, None], right, 0.0))
        x = x - step * width
        x[:, ~finite] = np.nan
        arrived = np.asarray(np.abs(step).max(axis=0) <= _DONE) & finite
        if (arrived | np.isnan(x).any(axis=0)).all():
            break
    x[:, ~arrived] = np.nan
    side = np.sign(_argument(system, switch, x, points)[1].T)
    out = np.full(x.shape, np.nan)
    for beside in _BESIDE:
        moved = x + beside * side * np.maximum(np.abs(x), 1e-3 * width)
        fine = rests(system, moved, points, width) & np.isnan(out).any(axis=0)
        out[:, fine] = moved[:, fine]
    return out


def _argument(system: System, switch: Program, x: Array, points: NDArray[Any]) -> tuple[Array, Array]:
    """(m,) argument of a switch at rest, and its (m, n) slopes."""
    values = system.evaluate(switch, at_rest_values(system, x), points)
    return values[0], values[1:].reshape(-1, *x.shape).sum(axis=0).T
