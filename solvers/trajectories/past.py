"""The past of a delay equation as piecewise polynomials: what the Taylor kernel starts from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from ..dynamics import System
from ..problems import TIME, DynamicsError
from ..straightline import Builder, Program

Array = NDArray[np.float64]

#: Pieces of a given history; halved until its polynomials have converged.
MAX_PIECES = 128

#: Relative error at which a history is taken to be met, and above which it is refused.
ROUGH, MISSED = 1e-12, 1e-9

#: Values of a history that are compared with its polynomials, over all points of the grid.
CHECKS = 2_000_000


def past_polynomials(
    system: System, names: tuple[str, ...], beginning: Array, lags: Array, order: int
) -> Array:
    """Taylor coefficients of states and outputs before time 0, over the longest delay of each point.

    Parameters
    ----------
    names : what is looked back at
    beginning : (states, size) initial values, the constant past where no history is given
    lags : (delayed symbols, size)
    order : degree of the polynomials

    Returns
    -------
    (len(names), pieces, order + 1, size) array
        Each piece about its own beginning; pieces are evenly spaced.

    Raises
    ------
    DynamicsError
        A history with a switch, or one too rough for a polynomial of this degree on a hundredth of the delay.
    """
    size = beginning.shape[1]
    if not names:
        return np.empty((0, 1, order + 1, size))
    history = getattr(system.problem, "history", {})
    if not history:
        flat = np.zeros((len(names), 1, order + 1, size))
        flat[:, 0, 0] = _observe(system, names, beginning, 0.0)
        return flat
    past = _history_program(system)
    if any(op.kind in ("min", "max", "step") for op in past.ops):
        raise DynamicsError(
            "a history must be smooth, without Max, Min, Abs, Heaviside or Piecewise; begin earlier, from a smooth "
            "history, and let the equations make the jump or the kink (a Piecewise in t will do)"
        )
    longest = lags.max(axis=0)
    pieces = 1
    while True:
        fitted, rough = _fit(system, names, past, beginning, longest, pieces, order)
        if rough < ROUGH:
            rough = _missed(system, names, past, beginning, longest, fitted)
        if rough < ROUGH or pieces == MAX_PIECES:
            break
        pieces *= 2
    if rough > MISSED:
        raise DynamicsError(
            f"the history changes too fast for its delay {longest.max():g}: polynomials of degree {order} on "
            f"{pieces} pieces still miss it by {rough:.1g} of its size; give a smoother one, or begin later"
        )
    return fitted


def _observe(
    system: System, names: tuple[str, ...], states: Array, t: float | Array, points: Any = None
) -> Array:
    now = dict(zip(system.labels, states, strict=True)) | {TIME: t}
    rows = dict(zip(system.labels, states, strict=True))
    if any(name in system.problem.outputs for name in names):
        values = system.evaluate(system.outputs, now | {d: np.zeros(states.shape[1]) for d in system.delayed})
        rows |= dict(zip(system.problem.outputs, values, strict=True))
    return np.stack([rows[name] for name in names])


def _history_program(system: System) -> Program:
    from ..symbolic import emit

    builder = Builder()
    history = getattr(system.problem, "history", {})
    return builder.build(
        [emit(builder, history[s]) if s in history else builder.input(s) for s in system.labels]
    )


def _fit(
    system: System,
    names: tuple[str, ...],
    past: Program,
    beginning: Array,
    longest: Array,
    pieces: int,
    order: int,
) -> tuple[Array, float]:
    """Interpolation at Chebyshev points, piece by piece, and the relative size of the last two terms."""
    nodes = np.cos(np.pi * (np.arange(order + 1) + 0.5) / (order + 1))
    to_series = np.linalg.inv(chebyshev.chebvander(nodes, order))
    out = np.zeros((len(names), pieces, order + 1, longest.size))
    fixed = dict(zip(system.labels, beginning, strict=True))
    half = longest / (2 * pieces)
    rough = 0.0
    for p in range(pieces):
        middle = -longest + (2 * p + 1) * half
        samples = []
        for node in nodes:
            t = middle + node * half
            states = system.evaluate(past, fixed | {TIME: t})
            samples.append(_observe(system, names, states, t))
        series = np.einsum("kj,jvs->kvs", to_series, np.stack(samples))
        size = np.abs(series).max(axis=0) + 1e-300
        rough = max(rough, float((np.abs(series[-2:]).max(axis=0) / size).max()))
        powers = _shifted_powers(order)  # Chebyshev in x = -1 + u: powers of u, the time since the beginning
        scale = np.where(half > 0, half, 1.0)[None, None, :] ** -np.arange(order + 1)[:, None, None]
        out[:, p] = np.moveaxis(np.einsum("ik,kvs->ivs", powers, series) * scale, 0, 1)
    return out, rough


def _missed(
    system: System, names: tuple[str, ...], past: Program, beginning: Array, longest: Array, fitted: Array
) -> float:
    """Largest relative distance from the history at many other places: what falls between nodes is seen there."""
    pieces, size = fitted.shape[1], longest.size
    count = int(np.clip(CHECKS // size, 64, 4096))
    # Multiples of the golden section: spread evenly, aligned with no node.
    shares = (np.arange(1, count + 1) * 0.6180339887498949) % 1.0
    worst, scale = np.zeros(len(names)), np.abs(fitted[:, :, 0]).max(axis=(1, 2)) + 1e-300
    for some in np.array_split(shares, -(-count * size // CHECKS)):
        points = np.tile(np.arange(size), some.size)
        share, span = np.repeat(some, size), longest[points]
        p = np.minimum((share * pieces).astype(int), pieces - 1)
        t, since = (share - 1.0) * span, (share - p / pieces) * span
        values = np.zeros((len(names), points.size))
        for k in range(fitted.shape[2] - 1, -1, -1):
            values = values * since + fitted[:, p, k, points]
        fixed = dict(zip(system.labels, beginning[:, points], strict=True))
        states = system.evaluate(past, fixed | {TIME: t}, points)
        exact = _observe(system, names, states, t, points)
        scale = np.maximum(scale, np.abs(exact).max(axis=1))
        worst = np.maximum(worst, np.abs(values - exact).max(axis=1))
    return float((worst / scale).max()) * 0.1  # rounding of the powers costs a digit


def _shifted_powers(order: int) -> Array:
    """Column k: coefficients of T_k(u - 1) in powers of u."""
    columns = np.zeros((order + 1, order + 1))
    for k in range(order + 1):
        inside = np.polynomial.Polynomial(chebyshev.cheb2poly(np.eye(order + 1)[k]))
        coefficients = inside(np.polynomial.Polynomial([-1.0, 1.0])).coef
        columns[: coefficients.size, k] = coefficients
    return columns
