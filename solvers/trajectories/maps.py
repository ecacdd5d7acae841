"""Maps: iterating them over a grid, and writing delayed ones as first-order ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.errors import counted
from tcpdynamics.limits import check_memory

from ..equations import System, compile_system
from ..problems import TIME, DynamicsError, Map
from ..problems.numbers import dimensions

Array = NDArray[np.float64]


class Iteration:
    """All points of a map, advanced together. Before the first step nothing has ever moved.

    Attributes
    ----------
    states : (states, m) array, replaced at each step
    step : int, steps taken

    Examples
    --------
    >>> import sympy
    >>> w = sympy.Symbol("w")
    >>> orbit = Iteration(compile_system(Map(rhs={"w": w / 2})), np.array([[8.0]]))
    >>> orbit.advance(3).states.item()
    1.0
    """

    def __init__(self, system: System, states: Array, points: Any = None) -> None:
        self.system, self.points, self.step = system, points, 0
        self.states = np.array(states, dtype=np.float64)
        self._lags: NDArray[np.int64] = np.empty((0, 0), np.int64)
        if system.delayed:
            lags = system.lag_values()
            lags = lags if points is None else lags[:, points]
            longest = float(lags.max())  # a float: it may lie beyond the whole numbers of NumPy
            check_memory(
                f"a delay of {counted(longest)} steps at {lags.shape[1]:,} points",
                16.0 * (longest + 1) * lags.size,
                "give shorter delays or fewer points",
            )
            self._lags, depth = lags.astype(np.int64), int(longest) + 1
            self._past = np.repeat(system.at_rest(self.states, points)[:, None], depth, axis=1)

    def advance(self, steps: int = 1) -> Iteration:
        """Take some steps; returns itself."""
        for _ in range(steps):
            self.states = self.system.slope(self.states, self.points, float(self.step), self._delayed())
            self.step += 1
        return self

    def outputs(self) -> Array:
        """(outputs, m) at the present step."""
        past = dict(zip(self.system.delayed, self._delayed(), strict=True))
        now = dict(zip(self.system.labels, self.states, strict=True)) | {TIME: float(self.step)}
        return self.system.evaluate(self.system.outputs, now | past, self.points)

    def _delayed(self) -> Array:
        """Remember the present, then look back."""
        if not self.system.delayed:
            return np.empty((0, self.states.shape[1]))
        depth = self._past.shape[1]
        self._past[:, self.step % depth] = self.system.at_rest(self.states, self.points, float(self.step))
        slots = (self.step - self._lags) % depth
        return np.take_along_axis(self._past, slots[:, None], axis=1)[:, 0]


def iterate(system: System, states: Array, steps: int, points: Any = None) -> Array:
    """(states, m) after some steps from `states`. For what happens on the way, use `Iteration`."""
    return Iteration(system, states, points).advance(steps).states


def first_order(problem: Map) -> Map:
    """The same map without delays: registers "of(-k)" carry what it looks back at.

    Raises
    ------
    DynamicsError
        Delays that differ between points: each would need a number of states of its own.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers.problems import Delayed
    >>> w, w_d = sympy.symbols("w w_d")
    >>> first_order(Map(rhs={"w": w - w_d}, delayed={"w_d": Delayed("w", 2)})).labels
    ('w', 'w(-1)', 'w(-2)')
    """
    import sympy

    if not problem.delayed:
        return problem
    system = compile_system(problem, Map)
    depth: dict[str, int] = {}
    values: dict[str, Any] = {}
    for (name, delayed), row in zip(problem.delayed.items(), system.lag_values(), strict=True):
        lag = int(row[0])
        if (row != lag).any():
            raise DynamicsError(f"the delay of {name} differs between points; solve for one delay at a time")
        values[name] = sympy.Symbol(_register(delayed.of, lag)) if lag else _now(problem, delayed.of)
        depth[delayed.of] = max(lag, depth.get(delayed.of, 0))
    rhs = {label: _put(e, values) for label, e in problem.rhs.items()}
    start, points = dict(problem.start), [dict(p) for p in problem.fixed_points]
    for of, lags in depth.items():
        for k in range(1, lags + 1):
            rhs[_register(of, k)] = sympy.Symbol(_register(of, k - 1)) if k > 1 else _now(problem, of)
            for point in (start, *points):
                if of in problem.outputs:  # a fixed point gives every state, `start` perhaps not
                    if all(dimensions(v) == 0 for v in point.values()):
                        point[_register(of, k)] = _put(problem.outputs[of], point)
                elif of in point:
                    point[_register(of, k)] = point[of]
    outputs = {label: _put(e, values) for label, e in problem.outputs.items()}
    return problem.changed(rhs=rhs, outputs=outputs, start=start, fixed_points=points, delayed={})


def _register(of: str, k: int) -> str:
    return f"{of}(-{k})"


def _now(problem: Map, of: str) -> Any:
    import sympy

    return sympy.Symbol(of) if of in problem.rhs else problem.outputs[of]


def _put(expression: Any, values: dict[str, Any]) -> Any:
    """Symbols by name, whatever is assumed of them, replaced by expressions or numbers."""
    import sympy

    e = sympy.sympify(expression)
    return e.xreplace({s: sympy.sympify(values[s.name]) for s in e.free_symbols if s.name in values})
