"""Equations of motion, compiled once: values, slopes and tangents at any points."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tcpdynamics.errors import digits, listed, shown
from tcpdynamics.limits import check_memory

from .grid import Grid, make_grid
from .problems import (
    DDE,
    ODE,
    TIME,
    ChainError,
    Delayed,
    DomainError,
    Dynamics,
    DynamicsError,
    Expression,
    Map,
    MotionModel,
    Parameter,
    StateValue,
)
from .problems.motion import ENTRY
from .problems.numbers import dimensions, is_float, is_symbolic, real_array
from .problems.words import domain_text
from .programs.straightline import (
    BLOCK,
    Builder,
    Program,
    _plan,
    _run_plan,
    differentiate,
    run_blocks,
    switching,
    with_partials,
)

Array = NDArray[np.float64]

_FEWER = "give fewer values, or sweep them in blocks to a store such as x.zarr"


Made = TypeVar("Made")

#: The one dimension of a system at points that span no grid.
POINT = "point"

#: states (n, m), delayed values (K, m), times (m,) -> rhs (n, m), partial derivatives (n, n + K, m)
Linearised = Callable[[Array, Array, Array], tuple[Array, Array]]


@dataclass(frozen=True, eq=False)
class Equations:
    """A problem's equations as straight-line programs, of parameters and states that may take any values.

    Attributes
    ----------
    labels, output_labels : states and outputs, in the order of every array's rows
    lagged : mapping delayed symbol -> Delayed
    rhs, outputs : Program
        Inputs: states, parameters, delayed symbols, "t". One output a state (an output).
    lags : Program
        Inputs: parameters. One delay a delayed symbol.
    """

    labels: tuple[str, ...]
    output_labels: tuple[str, ...]
    lagged: Mapping[str, Delayed]
    rhs: Program
    outputs: Program
    lags: Program
    _derived: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def delayed(self) -> tuple[str, ...]:
        """Delayed symbols."""
        return tuple(self.lagged)

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What `make` derives from these equations, made at the first call with this key."""
        if key not in self._derived:
            self._derived[key] = make()
        return self._derived[key]  # type: ignore[no-any-return]

    @cached_property
    def tangent(self) -> Program:
        """The right-hand side, then its derivatives by every state and by every delayed symbol."""
        return with_partials(self.rhs, (*self.labels, *self.delayed))

    @cached_property
    def output_tangent(self) -> Program:
        """The outputs, then their derivatives by every state."""
        return with_partials(self.outputs, self.labels)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Delayed symbols that share a delay, by index."""
        groups: dict[Any, list[int]] = {}
        for i, delayed in enumerate(self.lagged.values()):
            groups.setdefault(delayed.by, []).append(i)
        return tuple(tuple(g) for g in groups.values())

    @cached_property
    def rest(self) -> Program:
        builder, place = self._outputs_placed()
        return builder.build([place(d.of) for d in self.lagged.values()])

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Inputs of `composed`: states now, then at each distinct delay."""
        lags = range(len(self.groups))
        return (*self.labels, *(_past_name(label, k) for k in lags for label in self.labels))

    @cached_property
    def composed(self) -> Program:
        """The right-hand side in states alone, those of now and those at each lag; delayed outputs written out."""
        builder, place = Builder(), {}
        lag = {index: k for k, group in enumerate(self.groups) for index in group}
        for index, (symbol, delayed) in enumerate(self.lagged.items()):
            past = {label: builder.input(_past_name(label, lag[index])) for label in self.labels}
            if delayed.of in past:
                place[symbol] = past[delayed.of]
            else:
                row = self.outputs.outputs[self.output_labels.index(delayed.of)]
                place[symbol] = builder.extend(self.outputs, past)[row]
        steps = builder.extend(self.rhs, place)
        return builder.build([steps[i] for i in self.rhs.outputs])

    @cached_property
    def switches(self) -> tuple[int, ...]:
        """Steps of `composed` that switch on a state (Min, Max, Piecewise, ...)."""
        return tuple(switching(self.composed, self.variables))

    @cached_property
    def jacobian(self) -> Program:
        """Rows of A_0, then of each A_k."""
        n, builder = len(self.labels), Builder()
        columns = []
        for state in self.labels:
            slope = differentiate(self.rhs, state)
            placed = builder.extend(slope)
            columns.append([placed[row] for row in slope.outputs])
        entries = [columns[j][i] for i in range(n) for j in range(n)]
        lagged = list(self.lagged.items())
        for group in self.groups:
            matrix = [builder.const(0)] * (n * n)
            for index in group:
                symbol, delayed = lagged[index]
                by_past = differentiate(self.rhs, symbol)
                placed = builder.extend(by_past)
                for j, weight in self._source(builder, delayed.of):
                    for i in range(n):
                        term = builder.mul(placed[by_past.outputs[i]], weight)
                        matrix[i * n + j] = builder.add(matrix[i * n + j], term)
            entries += matrix
        return builder.build(entries)

    def _source(self, builder: Builder, of: str) -> list[tuple[int, int]]:
        """d(of)/d(state j) for each state j on which it depends."""
        if of in self.labels:
            return [(self.labels.index(of), builder.const(1))]
        row = list(self.output_labels).index(of)
        weights = []
        for j, state in enumerate(self.labels):
            slope = differentiate(self.outputs, state)
            placed = builder.extend(slope)[slope.outputs[row]]
            if placed != builder.const(0):
                weights.append((j, placed))
        return weights

    def _outputs_placed(self) -> tuple[Builder, Any]:
        builder = Builder()
        steps = builder.extend(self.outputs)
        rows = dict(zip(self.output_labels, (steps[i] for i in self.outputs.outputs), strict=True))
        return builder, lambda of: builder.input(of) if of in self.labels else rows[of]


@dataclass(frozen=True, eq=False)
class System:
    """Equations at the points of a grid of parameters.

    Attributes
    ----------
    equations : Equations
        Compiled once; systems at other points share them.
    problem : ODE, DDE or Map
    grid : Grid
        Of the parameters, and of initial values that are arrays (named "start_" and the state's label).
    start : Program
        Inputs: parameters. Initial values, NaN for states that have none.
    """

    equations: Equations
    problem: Dynamics
    grid: Grid
    start: Program

    @property
    def rhs(self) -> Program:
        """The equations' right-hand side."""
        return self.equations.rhs

    @property
    def outputs(self) -> Program:
        """The equations' outputs."""
        return self.equations.outputs

    @property
    def labels(self) -> tuple[str, ...]:
        """States, in the order of every array's rows."""
        return self.equations.labels

    @property
    def delayed(self) -> tuple[str, ...]:
        """Delayed symbols."""
        return self.equations.delayed

    @property
    def size(self) -> int:
        """Points of the grid."""
        return self.grid.size

    @property
    def swept(self) -> dict[str, Array]:
        """What varies over the grid: name -> (size,) values; initial values are named "start_STATE"."""
        return {k: v for k, v in self.grid.values.items() if np.ndim(v)}

    def at(self, values: Mapping[str, float | Array]) -> System:
        """The same equations at the points of these values: floats, and arrays of one length for all that is swept.

        Examples
        --------
        >>> import sympy
        >>> w, r = sympy.symbols("w r")
        >>> system = compile_system(Map(rhs={"w": r * w}, parameters={"r": [1.0, 2.0]}))
        >>> system.at({"r": np.array([3.0, 4.0, 5.0])}).slope(np.ones((1, 3))).tolist()
        [[3.0, 4.0, 5.0]]
        """
        values = {**self.grid.values, **values}
        size = next((v.size for v in values.values() if isinstance(v, np.ndarray) and v.ndim), None)
        dims, shape = ((), ()) if size is None else ((POINT,), (size,))
        return replace(self, grid=Grid(dims, shape, {}, values))

    def take(self, points: Any) -> System:
        """The same equations at some points of the grid."""
        return self.at({k: v[points] for k, v in self.swept.items()})

    def with_one_start(self) -> System:
        """The same parameters with one initial value a state: of arrays the first, as a start for a search."""
        starts = {k: float(v[0]) for k, v in self.swept.items() if k not in self.problem.parameters}
        return self.at(starts) if starts else self

    def starting(self, start: Mapping[str, StateValue]) -> System:
        """The same points with other initial values, numbers or expressions; what is not named keeps its own."""
        problem = self.problem.starting(start)
        return replace(self, problem=problem, start=_start_program(problem))

    def with_programs(self, rhs: Program, outputs: Program) -> System:
        """Other equations of the same states and parameters, at the same points."""
        return replace(self, equations=replace(self.equations, rhs=rhs, outputs=outputs))

    def parameters_at(self, points: Any = None) -> dict[str, Any]:
        """Parameters at all points, or at some: floats and arrays."""
        pick = slice(None) if points is None else points
        return {k: v if np.ndim(v) == 0 else v[pick] for k, v in self.grid.values.items()}

    def lag_values(self) -> Array:
        """(delayed symbols, size) delays. Raises DomainError unless each is finite and >= 0 (whole, for a map)."""
        values = self.evaluate(self.equations.lags, {})
        whole = isinstance(self.problem, Map)
        for name, row in zip(self.delayed, values, strict=True):
            bad = ~(np.isfinite(row) & (row >= 0))
            bad |= (row != np.round(row)) if whole else False
            if bad.any():
                raise DomainError(
                    f"the delay of {name} must be a {'whole' if whole else 'finite'} number >= 0"
                    f" [{self.problem.time_units}], got {digits(row[bad][0])}"
                )
        return values

    def start_values(self) -> Array:
        """(states, size) initial values. Raises DynamicsError where a state has none."""
        missing = [label for label in self.labels if label not in self.problem.start]
        if missing:
            raise DynamicsError(f"no initial value for {listed(missing)}; give start={{{missing[0]!r}: ...}}")
        return self.evaluate(self.start, {})

    def evaluate(self, program: Program, values: Mapping[str, Any], points: Any = None) -> Array:
        """Run a program at all points of the grid, or at some.

        Parameters
        ----------
        values : mapping input name -> float or (m,) array, beside the parameters
        points : integer or boolean index into the grid, optional
            The m points; default all of them in order.

        Returns
        -------
        (outputs, m) array
        """
        size = self.size if points is None else np.arange(self.size)[points].size
        what = f"{len(program.outputs):,} numbers at each of {size:,} points"
        check_memory(what, 16.0 * len(program.outputs) * size, _FEWER)
        inputs = self.parameters_at(points) | dict(values)
        used = {name: inputs[name] for name in program.inputs}
        used = {k: float(v) if np.ndim(v) == 0 else np.ascontiguousarray(v, float) for k, v in used.items()}
        out = np.empty((len(program.outputs), size))
        run_blocks(program, used, size, out)
        return out

    def slope(self, states: Array, points: Any = None, t: float = 0.0, delayed: Array | None = None) -> Array:
        """(states, m) right-hand side; without `delayed`, at rest: the past is as the present."""
        now = dict(zip(self.labels, states, strict=True))
        past = self.at_rest(states, points) if delayed is None else delayed
        return self.evaluate(self.rhs, now | dict(zip(self.delayed, past, strict=True)) | {TIME: t}, points)

    def at_rest(self, states: Array, points: Any = None, t: float | Array = 0.0) -> Array:
        """(delayed symbols, m) values of the delayed symbols where nothing has moved."""
        if not self.delayed:
            return np.empty((0, states.shape[1]))
        now = dict(zip(self.labels, states, strict=True)) | {TIME: t}
        return self.evaluate(self.equations.rest, now, points)

    def jacobians(self, states: Array, points: Any = None, t: float | Array = 0.0) -> tuple[Array, Array, Array]:
        """Linearisation at rest: d(delta)/dt = A_0 delta(t) + sum_k A_k delta(t - tau_k).

        Parameters
        ----------
        states : (states, m) array

        Returns
        -------
        A_0 : (m, n, n) array
        A : (m, K, n, n) array, one matrix a distinct delay expression
        tau : (m, K) array of delays
        """
        n, m = states.shape
        now = dict(zip(self.labels, states, strict=True)) | {TIME: t}
        past = dict(zip(self.delayed, self.at_rest(states, points, t), strict=True))
        flat = self.evaluate(self.equations.jacobian, now | past, points)
        matrices = np.moveaxis(flat.reshape(-1, n, n, m), -1, 0)
        pick = slice(None) if points is None else points
        tau = self.lag_values()[[group[0] for group in self.equations.groups]][:, pick].T
        return (matrices[:, 0], matrices[:, 1:], np.ascontiguousarray(tau).reshape(m, len(self.equations.groups)))

    def linearised(self, points: Any) -> Linearised:
        """The right-hand side with its derivatives, prepared for a loop at some points of the grid.

        Examples
        --------
        >>> import sympy
        >>> w = sympy.Symbol("w")
        >>> at = compile_system(Map(rhs={"w": w**2})).linearised(np.arange(1))
        >>> value, slope = at(np.array([[3.0]]), np.empty((0, 1)), np.zeros(1))
        >>> value.item(), slope.item()
        (9.0, 6.0)
        """
        symbols = (*self.labels, *self.delayed)
        return self._prepared(self.equations.tangent, symbols, len(symbols), points)

    def prepared_slope(self) -> Callable[[Array, float], Array]:
        """`slope` of equations without delays, prepared for a loop: (states, time) -> (states,)."""
        at = self._prepared(self.rhs, self.labels, 0, slice(None))
        t, nothing = np.empty(self.size), np.empty((0, self.size))

        def slope(states: Array, time: float) -> Array:
            t.fill(time)
            return at(states, nothing, t)[0]

        return slope

    def _prepared(self, program: Program, symbols: tuple[str, ...], columns: int, points: Any) -> Linearised:
        rows, m = len(self.labels), np.arange(self.size)[points].size
        parameters = {
            k: np.ascontiguousarray(v) if np.ndim(v) else v
            for k, v in self.parameters_at(points).items()
            if k in program.inputs
        }
        plan = _plan(program, {**parameters, **dict.fromkeys((*symbols, TIME), np.empty(m))})

        def at(states: Array, past: Array, t: Array) -> tuple[Array, Array]:
            out = np.empty((len(program.outputs), m))
            values = {**parameters, **dict(zip(symbols, (*states, *past), strict=True)), TIME: t}
            _run_plan(plan, values, range(0, m, BLOCK), m, out)
            return out[:rows], out[rows:].reshape(rows, columns, m)

        return at


def as_problem(problem: Dynamics | MotionModel, *kinds: type[Dynamics]) -> Dynamics:
    """A problem as it is, or the view of a model: `.dde()`, `.ode()` or `.map()`, whichever is wanted and there first.

    Raises
    ------
    TypeError
        Neither a problem of these kinds nor a model with such a view.
    """
    kinds = kinds or (DDE, ODE, Map)
    if isinstance(problem, kinds):
        return problem
    for kind in kinds:
        view = getattr(problem, kind.__name__.lower(), None)
        if callable(view):
            problem_view: Dynamics = view()
            return problem_view
    names = ", ".join(kind.__name__ for kind in kinds)
    raise TypeError(f"expected {names} or a model with such a view, got {type(problem).__name__}")


def compile_system(problem: Dynamics | MotionModel, *kinds: type[Dynamics]) -> System:
    """Compile a problem (or a model's view) and span its grid.

    Raises
    ------
    DomainError
        Parameters that are not finite, lie outside their domain, or span too large a grid.
    LimitError
        More points times states than memory holds.
    DynamicsError
        A function that cannot be computed.

    Examples
    --------
    >>> import sympy
    >>> w, r = sympy.symbols("w r")
    >>> system = compile_system(ODE(rhs={"w": r * w * (1 - w)}, parameters={"r": [1.0, 2.0]}))
    >>> system.jacobians(np.array([[1.0, 1.0]]))[0].ravel().tolist()
    [-1.0, -2.0]
    """
    problem = as_problem(problem, *kinds)
    grid = _labelled(make_grid({**problem.parameters, **_swept_starts(problem)}), problem)
    _check_values(problem, grid)
    # Four arrays of states are alive at a time, in every solver.
    states = len(problem.labels)
    check_memory(f"{grid.size:,} points of {states:,} states", 32.0 * grid.size * states, _FEWER)
    return System(equations_of(problem), problem, grid, _start_program(problem))


def _labelled(grid: Grid, problem: Dynamics) -> Grid:
    """The grid with the units and meanings that a problem gives its parameters; those of a DataArray stay."""
    coords = dict(grid.coords)
    for name in problem.parameters:
        texts = {"units": problem.units.get(name), "long_name": problem.meanings.get(name)}
        attrs = {k: v for k, v in texts.items() if v is not None}
        if attrs and name in coords:
            coords[name] = coords[name].assign_attrs({**attrs, **coords[name].attrs})
    return replace(grid, coords=coords)


def equations_of(problem: Dynamics) -> Equations:
    """The compiled equations of a problem; problems with the same expressions share them.

    Examples
    --------
    >>> import sympy
    >>> w, r = sympy.symbols("w r")
    >>> decay = ODE(rhs={"w": -r * w}, parameters={"r": 1.0})
    >>> equations_of(decay) is equations_of(decay.at(r=[2.0, 3.0]))
    True
    """
    parts = (problem.rhs, problem.outputs, problem._lagged)
    try:  # 1 and 1.0 are equal and compile to different constants, hence the types
        key = tuple(tuple((label, type(e), e) for label, e in part.items()) for part in parts)
        return _kept_equations(key)
    except TypeError:  # an expression without a hash
        return compile_equations(*parts)


@lru_cache(maxsize=16)
def _kept_equations(key: tuple[tuple[tuple[str, type, Any], ...], ...]) -> Equations:
    rhs, outputs, lagged = ({label: e for label, _, e in part} for part in key)
    return compile_equations(rhs, outputs, lagged)


def compile_equations(
    rhs: Mapping[str, Expression], outputs: Mapping[str, Expression], lagged: Mapping[str, Delayed]
) -> Equations:
    """Compile right-hand sides, outputs and delays. Raises DynamicsError for a function that cannot be computed."""
    programs = (rhs, outputs, {f"delay of {name}": delayed.by for name, delayed in lagged.items()})
    return Equations(tuple(rhs), tuple(outputs), dict(lagged), *map(_program, programs))


def _program(expressions: Mapping[str, Expression]) -> Program:
    builder = Builder()
    rows = []
    for label, e in expressions.items():
        before = len(builder.ops)
        rows.append(write(builder, label, e))
        if not all(is_float(op.value) for op in builder.ops[before:] if op.kind == "const"):
            raise DynamicsError(
                f"{label} holds numbers that give one beyond 1.8e308 together; choose other units or divide them"
            )
    return builder.build(rows)


def _swept_starts(problem: Dynamics) -> dict[str, Parameter]:
    starts = problem.start.items()
    return {f"start_{k}": v for k, v in starts if not is_symbolic(v) and dimensions(v)}


def _start_program(problem: Dynamics) -> Program:
    builder, swept, rows = Builder(), _swept_starts(problem), []
    for label in problem.labels:
        if f"start_{label}" in swept:
            rows.append(builder.input(f"start_{label}"))
            continue
        value = problem.start.get(label, float("nan"))
        if not is_symbolic(value) and not isinstance(value, int | float | Fraction):
            value = float(real_array(f"start of {label}", value))  # NumPy's numbers
        rows.append(write(builder, f"start of {label}", value))
    return builder.build(rows)


def write(builder: Builder, label: str, expression: Expression) -> int:
    """An expression's steps. Raises DynamicsError, which names the state, for functions that are not known."""
    from .programs.from_sympy import emit

    try:
        return emit(builder, expression)
    except ChainError as error:
        raise DynamicsError(f"{label}: {error}") from None


def _check_values(problem: Dynamics, grid: Grid) -> None:
    for name, value in grid.values.items():
        low, high = (float(end) for end in problem.domain.get(name, (-np.inf, np.inf)))
        values = np.atleast_1d(value)
        bad = ~(np.isfinite(values) & (values > low) & (values < high))
        if bad.any():
            bounds = f" in {domain_text(low, high)}" if np.isfinite([low, high]).any() else ""
            raise DomainError(f"{name} must be a finite number{bounds}, got {digits(values[bad][0])}")


def quantities(labels: Sequence[str]) -> dict[str, list[int]]:
    """Rows by quantity: "N[1]", "N[2]" and "q" give {"N": [0, 1], "q": [2]}.

    >>> quantities(["N[1]", "N[2]", "q"])
    {'N': [0, 1], 'q': [2]}
    """
    rows: dict[str, list[int]] = {}
    for row, label in enumerate(labels):
        match = ENTRY.fullmatch(label)
        rows.setdefault(match[1] if match else label, []).append(row)
    return rows


class Variables(dict[str, Any]):
    """Variables of a result by name. A name that is taken is refused, so that none replaces another."""

    def __setitem__(self, name: str, value: Any) -> None:
        if name in self:
            raise DomainError(f"the problem calls a quantity {shown(name)}, and so is one of the results; rename it")
        super().__setitem__(name, value)

    def __ior__(self, more: Any) -> Variables:  # type: ignore[override,misc]
        for name, value in dict(more).items():
            self[name] = value
        return self


def to_variables(system: System, labels: Sequence[str], values: NDArray[Any], *extra: str) -> Variables:
    """Rows of numbers as variables, vectors with the dimension `flow`.

    Parameters
    ----------
    labels : states or outputs, one a row
    values : (len(labels), size, ...) array
    extra : names of the dimensions behind `size`
    """
    problem, grid = system.problem, system.grid
    out = Variables()
    for name, rows in quantities(labels).items():
        span = slice(rows[0], rows[-1] + 1)  # neighbours are not copied
        block = values[span if rows == [*range(span.start, span.stop)] else rows]
        block = block.reshape(len(rows), *grid.shape, *values.shape[2:])
        attrs = {"units": problem.units.get(name, "1"), "long_name": problem.meanings.get(name, name)}
        if ENTRY.fullmatch(labels[rows[0]]):
            flow = np.array([int(ENTRY.fullmatch(labels[r])[2]) for r in rows])  # type: ignore[index]
            coords = {"flow": ("flow", flow, {"long_name": "flow"})}
            out[name] = xr.DataArray(block, coords, ("flow", *grid.dims, *extra), name, attrs)
        else:
            out[name] = xr.DataArray(block[0], {}, (*grid.dims, *extra), name, attrs)
    return out


def _past_name(label: str, lag: int) -> str:
    return f"{label} at lag {lag}"
