"""Equations and their partial derivatives in one program, for solvers that follow small deviations along an orbit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dynamics import System
from ..problems import TIME
from ..straightline import BLOCK, Builder, Program, _plan, _run_plan, differentiate

Array = NDArray[np.float64]

#: states (n, m), delayed values (K, m), times (m,) -> rhs (n, m), partial derivatives (n, n + K, m)
Linearised = Callable[[Array, Array, Array], tuple[Array, Array]]


class Tangent:
    """The right-hand side with its derivatives by every state, then by every delayed symbol.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers.dynamics import compile_system
    >>> from tcpdynamics.solvers.problems import Map
    >>> w = sympy.Symbol("w")
    >>> at = Tangent(compile_system(Map(rhs={"w": w**2}))).bind(np.arange(1))
    >>> value, slope = at(np.array([[3.0]]), np.empty((0, 1)), np.zeros(1))
    >>> value.item(), slope.item()
    (9.0, 6.0)
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self.symbols = (*system.labels, *system.delayed)
        self.rhs = _with_partials(system.rhs, self.symbols)
        self.outputs = _with_partials(system.outputs, system.labels)

    def bind(self, points: Any) -> Linearised:
        """The equations at some points of the grid."""
        return _bound(self.system, self.rhs, self.symbols, len(self.system.labels), points)

    def bind_outputs(self, points: Any) -> Linearised:
        """The outputs at some points of the grid, in the states alone."""
        system = self.system
        return _bound(system, self.outputs, system.labels, len(system.problem.outputs), points)


def bound_slope(system: System) -> Callable[[Array, float], Array]:
    """`System.slope` of equations without delays, prepared for a loop: (states, time) -> (states,)."""
    at = _bound(system, system.rhs, system.labels, len(system.labels), slice(None), partials=False)
    t, nothing = np.empty(system.size), np.empty((0, system.size))

    def slope(states: Array, time: float) -> Array:
        t.fill(time)
        return at(states, nothing, t)[0]

    return slope


def _bound(
    system: System, program: Program, symbols: tuple[str, ...], rows: int, points: Any, partials: bool = True
) -> Linearised:
    grid = system.grid
    m = np.arange(grid.size)[points].size
    parameters = {
        k: v if np.ndim(v) == 0 else np.ascontiguousarray(v[points])
        for k, v in grid.values.items()
        if k in program.inputs
    }
    plan = _plan(
        program, {**parameters, **dict.fromkeys((*symbols, TIME), np.empty(m))}
    )  # once, not at every step
    columns = len(symbols) if partials else 0

    def at(states: Array, past: Array, t: Array) -> tuple[Array, Array]:
        out = np.empty((len(program.outputs), m))
        values = {**parameters, **dict(zip(symbols, (*states, *past), strict=True)), TIME: t}
        _run_plan(plan, values, range(0, m, BLOCK), m, out)
        return out[:rows], out[rows:].reshape(rows, columns, m)

    return at


def _with_partials(program: Program, symbols: tuple[str, ...]) -> Program:
    builder = Builder()
    placed = builder.extend(program)
    values = [placed[i] for i in program.outputs]
    columns = []
    for symbol in symbols:
        slope = differentiate(program, symbol)
        placed = builder.extend(slope)
        columns.append([placed[i] for i in slope.outputs])
    return builder.build([*values, *(c[i] for i in range(len(values)) for c in columns)])
