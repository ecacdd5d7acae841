"""Equations with switches (Max, Min, Piecewise, ...) piece by piece: in each, every switch is held on one side."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...equations import System
from ...problems import TIME
from ...programs.straightline import Program, hold, switching
from .programs import signed_arguments

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
    names = {*system.labels, *system.delayed, TIME}
    equations, outputs = switching(system.rhs, names), switching(system.outputs, names)
    count = len(equations) + len(outputs)
    if not count:
        return []
    programs: dict[tuple[Program, Program], None] = {}
    for sides in _combinations(system, equations, outputs, states, points):
        rhs_sides = dict(zip(equations, sides, strict=False))
        output_sides = dict(zip(outputs, sides[len(equations) :], strict=True))
        programs[_held(system.rhs, rhs_sides), _held(system.outputs, output_sides)] = None
    return [system.with_programs(rhs, of) for rhs, of in programs]


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
    of_rates = _first_operands(system, system.rhs, equations, now | past, points)
    sides = np.concatenate([of_rates, _first_operands(system, system.outputs, outputs, now, points)])
    patterns, often = np.unique(sides, axis=1, return_counts=True)
    common = patterns[:, np.argsort(-often, kind="stable")].T.tolist()
    patterns_tried: dict[tuple[bool, ...], None] = {tuple(row): None for row in common[: MOST // 2]}
    for flips in (1, 2):
        for row in common[: MOST // 2]:
            for changed in itertools.combinations(range(count), flips):
                if len(patterns_tried) >= MOST:
                    break
                patterns_tried[tuple(side != (j in changed) for j, side in enumerate(row))] = None
    yield from patterns_tried


def _first_operands(
    system: System, program: Program, switches: list[int], values: Mapping[str, Any], points: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """(switches, m) whether each takes its first operand, or is on."""
    arguments = system.evaluate(signed_arguments(program, switches), values, points)
    smaller = np.array([program.ops[i].kind == "min" for i in switches], bool)
    arguments[smaller] *= -1
    return np.asarray(arguments >= 0)
