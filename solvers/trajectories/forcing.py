"""What time alone drives: where a step must end so that no pulse is jumped over."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.errors import shown

from ..equations import System
from ..problems import TIME, DynamicsError
from ..programs.straightline import Builder, Program
from .curves import Curves, breaks, degrees, resolve

Array = NDArray[np.float64]

#: Spans into which the motions of all points together are cut at most, by what time alone drives; and of one, at least.
MAX_SPANS, LEAST_SPANS = 2**16, 2**11

#: Points that are looked at together.
BLOCK = 4096


def stops(system: System, end: float, order: int, rtol: float, longest: float = math.inf) -> Array:
    """Times at which steps must end, so that polynomials follow each term that depends on time alone.

    A Taylor series knows a function at one place: it does not see a pulse far away. So these terms are looked at
    beforehand, over all of the motion (see `curves`).

    Parameters
    ----------
    longest : longest step that is asked for: where it is given, more places than can be looked at are no error

    Returns
    -------
    (m, size or 1) array
        Increasing, filled up with inf; (0, 1) where no such term needs a look, so that nothing is paid.

    Raises
    ------
    DynamicsError
        More places of a motion need a look than there are spans for, and no longest step is given.
    """
    program = _driven(system, order)
    if not program.outputs or end <= 0:
        return np.empty((0, 1))
    curves = Curves(system, program, {})
    size = system.size if curves.varies else 1
    max_spans = max(LEAST_SPANS, MAX_SPANS // size)
    pieces = [
        _stops(curves, np.arange(i, min(i + BLOCK, size)), end, order, rtol, max_spans, longest)
        for i in range(0, size, BLOCK)
    ]
    out = np.full((max(piece.shape[0] for piece in pieces), size), np.inf)
    for i, piece in enumerate(pieces):
        out[: piece.shape[0], i * BLOCK : i * BLOCK + piece.shape[1]] = piece
    return out


def _stops(
    curves: Curves, points: NDArray[np.int64], end: float, order: int, rtol: float, most: int, longest: float
) -> Array:
    first = points[0]
    low, high = np.zeros(points.size), np.full(points.size, end)
    where, when = breaks(curves, points, low, high)
    p = np.concatenate([points, where])
    begins = np.concatenate([low, when])
    ranks = np.lexsort((begins, p))
    p, begins = p[ranks], begins[ranks]
    ends = np.append(begins[1:], end)
    ends[np.append(p[1:] != p[:-1], True)] = end
    cells = resolve(curves, p, begins, ends, order, 0.0, max(0.1 * rtol, 1e-13), most)
    if cells.cut.any() and longest >= end:
        point = curves.system.grid.point(int(cells.points[cells.cut][0]))
        place = f", here at {shown(point)}" if point else ""
        raise DynamicsError(
            f"what time drives changes at too many places in [0, {end:g}] to look at them all{place}: "
            f"more than {most:,} spans; give a max_step shorter than the narrowest change, or end earlier"
        )
    inner = ~np.isin(cells.low, begins)  # where the functions themselves break, the kernel's switches find the place
    p, t = cells.points[inner] - first, cells.low[inner]
    count = np.bincount(p, minlength=points.size)
    out = np.full((int(count.max()), points.size), np.inf)
    out[np.arange(p.size) - (np.cumsum(count) - count)[p], p] = t
    return out


def _driven(system: System, order: int) -> Program:
    """The terms of the equations and outputs that depend on time and parameters alone.

    Terms of a sum are told apart, so that a small one does not hide behind a large one. Polynomials in time are left
    out, and waves of low degree that no switch depends on: their series tells everywhere what they do.
    """
    builder = Builder()
    steps = [builder.extend(program) for program in (system.rhs, system.outputs)]
    results = [
        place[i] for place, program in zip(steps, (system.rhs, system.outputs), strict=True) for i in program.outputs
    ]
    whole = Program(tuple(builder.ops), tuple(results))
    ours: list[bool] = []
    timed: list[bool] = []
    for op in whole.ops:
        operands = [i for i in (op.a, op.b) if i >= 0]
        moving = op.kind == "input" and (op.value in system.labels or op.value in system.delayed)
        ours.append(not moving and all(ours[i] for i in operands))
        timed.append(op.value == TIME if op.kind == "input" else any(timed[i] for i in operands))
    largest = {i for i in whole.outputs if ours[i]}
    for i, op in enumerate(whole.ops):
        if not ours[i] or op.kind in ("step", "min", "max"):  # what a switch depends on must be followed too
            largest |= {j for j in (op.a, op.b) if j >= 0 and ours[j]}
    terms: set[int] = set()
    pending = [i for i in largest if timed[i]]
    done: set[int] = set()
    while pending:
        i = pending.pop()
        if i in done or not timed[i]:
            continue
        done.add(i)
        op = whole.ops[i]
        sum_ = op.kind in ("add", "sub", "min", "max")
        scaled = (op.kind == "mul" and timed[op.a] != timed[op.b]) or (op.kind == "div" and not timed[op.b])
        if sum_ or scaled:
            pending += [j for j in (op.a, op.b) if timed[j]]
        elif op.kind not in ("input", "step"):
            terms.add(i)
    switched: set[int] = set()
    for i in reversed(range(len(whole.ops))):
        op = whole.ops[i]
        if i in switched or op.kind in ("step", "min", "max"):
            switched |= {op.a, op.b}
    strict, degree = (degrees(whole), degrees(whole, wave=3.0))  # order 14 sees the fourth power of a wave at its zero
    return builder.build(sorted(i for i in terms if (strict if i in switched else degree)[i] > order))
