"""Equations with switches (Max, Min, Piecewise, ...) piece by piece: in each, every switch is held on one side."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ..equations import System
from ..problems import TIME
from ..programs.straightline import SWITCHES, Builder, Program, hold

Array = NDArray[np.float64]

#: Pieces that are searched, at most.
MOST = 64


def pieces(system: System, states: Array, points: NDArray[np.int64]) -> list[System]:
    """Systems without switches, each equal to the given one where its switches are on certain sides.

    All combinations of sides, or, where those are more than MOST, the ones that prevail at some states and what one
    further switch makes of them. Different combinations may give the same equations: those come once.

    Parameters
    ----------
    states : (n, m) array, where to look which sides there are
    points : (m,) index into the grid

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers.equations import compile_system
    >>> from tcpdynamics.solvers.problems import ODE
    >>> x = sympy.Symbol("x")
    >>> clipped = compile_system(ODE(rhs={"x": 1 - sympy.Min(1, sympy.Max(0, x))}))
    >>> found = pieces(clipped, np.zeros((1, 1)), np.zeros(1, int))
    >>> sorted(piece.slope(np.array([[7.0]])).item() for piece in found)
    [-6.0, 0.0, 1.0]
    """
    equations, outputs = _switches(system, system.rhs), _switches(system, system.outputs)
    count = len(equations) + len(outputs)
    if not count:
        return []
    programs: dict[tuple[Program, Program], None] = {}
    for sides in _combinations(system, equations, outputs, states, points):
        rhs_sides = dict(zip(equations, sides, strict=False))
        output_sides = dict(zip(outputs, sides[len(equations) :], strict=True))
        programs[_held(system.rhs, rhs_sides), _held(system.outputs, output_sides)] = None
    return [system.with_programs(rhs, of) for rhs, of in programs]


def _switches(system: System, program: Program) -> list[int]:
    """Steps that switch with the state (or the time)."""
    moving: set[int] = set()
    switches = []
    names = {*system.labels, *system.delayed, TIME}
    for i, op in enumerate(program.ops):
        if op.value in names if op.kind == "input" else op.a in moving or op.b in moving:
            moving.add(i)
            if op.kind in SWITCHES:
                switches.append(i)
    return switches


def _held(program: Program, sides: Mapping[int, bool]) -> Program:
    builder, place = hold(program, sides)
    return builder.build([place[i] for i in program.outputs])


def _combinations(
    system: System, equations: list[int], outputs: list[int], states: Array, points: NDArray[np.int64]
) -> Iterator[tuple[bool, ...]]:
    count = len(equations) + len(outputs)
    if 2**count <= MOST:
        yield from itertools.product((False, True), repeat=count)
        return
    now = dict(zip(system.labels, states, strict=True)) | {TIME: 0.0}
    past = dict(zip(system.delayed, system.at_rest(states, points), strict=True))
    rows = system.evaluate(_sides(system.rhs, equations), now | past, points)
    more = system.evaluate(_sides(system.outputs, outputs), now, points)
    sides = np.concatenate([rows, more]) >= 0
    patterns, often = np.unique(sides, axis=1, return_counts=True)
    common = patterns[:, np.argsort(-often, kind="stable")].T.tolist()
    known: dict[tuple[bool, ...], None] = {tuple(row): None for row in common[: MOST // 2]}
    for flips in (1, 2):
        for row in common[: MOST // 2]:
            for changed in itertools.combinations(range(count), flips):
                if len(known) >= MOST:
                    break
                known[tuple(side != (j in changed) for j, side in enumerate(row))] = None
    yield from known


def _sides(program: Program, switches: list[int]) -> Program:
    """>= 0 where a switch takes its first operand, or is on."""
    builder = Builder()
    place = builder.extend(program)
    rows = []
    for i in switches:
        op = program.ops[i]
        if op.kind == "step":
            rows.append(place[op.a])
        else:
            first, second = (op.a, op.b) if op.kind == "max" else (op.b, op.a)
            rows.append(builder.sub(place[first], place[second]))
    return builder.build(rows)
