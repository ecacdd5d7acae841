"""Motion: ordinary and delay differential equations and maps, as expressions in named symbols."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from numbers import Real
from typing import Any, Protocol, Self, TypeAlias

from tcpdynamics.errors import DynamicsError, as_float, bare, listed, shown

from .kinds import check_domain, check_mapping, check_name, check_text
from .numbers import Expression, Parameter, StateValue, check_digits, check_symbolic, is_symbolic, real_array
from .used import check_used
from .words import expression_text, problem_text, value_text

#: The symbol of time (of the step's number, for a map).
TIME = "t"

#: The heading of a docstring's section.
_ATTRIBUTES = "Attributes\n----------\n"

#: An entry of a vector: "N[2]".
ENTRY = re.compile(r"(.+)\[(\d{1,18})\]")


@dataclass(frozen=True)
class Delayed:
    """What a delay symbol stands for: the value that `of` had a time `by` ago.

    Attributes
    ----------
    of : str
        Label of a state or of an output.
    by : number or SymPy expression in the parameters
        The delay, >= 0, in the problem's unit of time; whole steps for a map.

    Examples
    --------
    >>> import sympy
    >>> Delayed("w", 2 * sympy.Symbol("delay"))
    Delayed(of='w', by=2*delay)
    """

    of: str
    by: Expression

    def __post_init__(self) -> None:
        if not isinstance(self.of, str):
            raise DynamicsError(f"Delayed(of, by) needs the label of a state or an output, got {shown(self.of)}")


def _with_attributes(doc: str, base: str) -> str:
    """A docstring with the attributes of the base class before its own."""
    inherited = inspect.cleandoc(base).partition(_ATTRIBUTES)[2].rstrip()
    text = inspect.cleandoc(doc)
    if _ATTRIBUTES in text:
        return text.replace(_ATTRIBUTES, f"{_ATTRIBUTES}{inherited}\n", 1)
    head, examples, tail = text.partition("Examples\n--------\n")
    return f"{head.rstrip()}\n\n{_ATTRIBUTES}{inherited}\n\n{examples}{tail}"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Dynamics:
    """Motion in named states: the base of ODE, DDE and Map; use one of them.

    Symbols are told apart by name alone: `sympy.Symbol("w")` is the state "w" whatever is assumed of it.

    Attributes
    ----------
    rhs : mapping state label -> SymPy expression
        Rate of change of each state (its next value, for a map) in the symbols of states, parameters and
        delayed values, and in "t". A label such as "N[2]" is the second entry of the vector N: results hold one
        variable N with the dimension `flow`, counted from one. Max, Min, Abs, Heaviside and Piecewise make
        switches, which trajectories locate as events.
    parameters : mapping symbol name -> number, 1-D array or xarray.DataArray
        Each 1-D array spans a dimension named like its symbol; a DataArray brings its own.
    start : mapping state label -> number, array, DataArray, or SymPy expression in the parameters
        Initial values; for a DDE also the constant history, where `history` gives none.
    outputs : mapping label -> SymPy expression
        Further quantities to be reported, in the same symbols as `rhs`.
    units, meanings : mapping name -> str
        Unit and long name of states, outputs and parameters; a vector is named without its index.
    time_units : str
        Unit of time: "s", "RTT", "step".
    fixed_points : sequence of mappings state label -> SymPy expression
        Equilibria in closed form, where the model has them.
    domain : mapping symbol name -> (low, high)
        Open interval in which a parameter must lie.
    name : str
        The model, for labels and provenance.
    provenance : mapping
        What is needed to build the problem again; stored with each result.
    """

    rhs: Mapping[str, Expression]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    start: Mapping[str, StateValue] = field(default_factory=dict)
    outputs: Mapping[str, Expression] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    time_units: str = "s"
    fixed_points: Sequence[Mapping[str, Expression]] = ()
    domain: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    name: str = ""
    provenance: Mapping[str, object] = field(default_factory=dict)

    def __init_subclass__(cls, **more: object) -> None:
        super().__init_subclass__(**more)
        if cls.__doc__ and Dynamics.__doc__:
            cls.__doc__ = _with_attributes(cls.__doc__, Dynamics.__doc__)

    def __post_init__(self) -> None:
        self._check_kinds()
        if not self.rhs:
            raise DynamicsError("at least one state is needed: rhs is empty")
        if TIME in self.parameters:
            raise DynamicsError(f"{TIME!r} is the symbol of time and cannot be a parameter")
        _distinct({"state": self.rhs, "parameter": self.parameters, "delayed value": self._lagged})
        for label in self.outputs:
            check_name("output", label, DynamicsError)
            if label in self.rhs:
                raise DynamicsError(f"{shown(label)} is both a state and an output")
        _check_vectors((*self.rhs, *self.outputs))
        if not self.provenance:  # a model's variables are those of all of its equations
            self._check_named("units")
            self._check_named("meanings")
        self._check_equations()
        self._check_starts()
        self._check_delays()
        check_domain(self.domain, DynamicsError)
        self._check_parameters()

    def _check_kinds(self) -> None:
        """Raise DynamicsError unless mappings are mappings and texts are texts."""
        mappings = ("rhs", "parameters", "start", "outputs", "units", "meanings", "domain", "provenance")
        for name in (*mappings, "delayed", "history"):
            check_mapping(name, getattr(self, name, {}), DynamicsError)
        for name in ("units", "meanings"):
            for key, text in getattr(self, name).items():
                check_text(f"{name} of {bare(key)}", text, DynamicsError)
        check_text("time_units", self.time_units, DynamicsError)
        check_text("name", self.name, DynamicsError)
        points = self.fixed_points
        if isinstance(points, str | Mapping) or not isinstance(points, Sequence):
            raise DynamicsError(f"fixed_points must be a list of mappings, one a point, got {shown(points)}")
        for point in points:
            if not isinstance(point, Mapping):
                raise DynamicsError(f"a fixed point must be a mapping state -> value, got {shown(point)}")

    def _check_named(self, name: str) -> None:
        """Raise DynamicsError where `units` or `meanings` name what is not there."""
        there = [*self.rhs, *self.outputs, *self.parameters]
        vectors = {match[1] for match in map(ENTRY.fullmatch, there) if match}
        wrong = [key for key in getattr(self, name) if key not in vectors.union(there)]
        if wrong:
            raise DynamicsError(
                f"{name} names {shown(wrong[0])}, which is no state, output or parameter; there are {listed(there)}"
            )

    def _check_equations(self) -> None:
        allowed = {*self.rhs, *self.parameters, *self._lagged, TIME}
        for label, expression in (*self.rhs.items(), *self.outputs.items()):
            _check(label, expression, allowed, "states, parameters, delayed values and t")

    def _check_starts(self) -> None:
        """Initial values, fixed points and histories."""
        parameters = set(self.parameters)
        for label, expression in self.start.items():
            if label not in self.rhs:
                raise DynamicsError(f"start names {shown(label)}, which is not a state")
            if is_symbolic(expression):
                _check(f"start of {label}", expression, parameters, "parameters", absent=True)
            else:
                real_array(f"start of {label}", expression)
        for point in self.fixed_points:
            if set(point) != set(self.rhs):
                raise DynamicsError("a fixed point must give a value to every state and to nothing else")
            for label, expression in point.items():
                _check(f"fixed point of {label}", expression, parameters, "parameters", absent=True)
        for label, expression in getattr(self, "history", {}).items():
            if label not in self.rhs:
                raise DynamicsError(f"history names {shown(label)}, which is not a state")
            _check(f"history of {label}", expression, {*parameters, TIME}, "parameters and t")

    def _check_delays(self) -> None:
        for label, delayed in self._lagged.items():
            if not isinstance(delayed, Delayed):
                raise DynamicsError(
                    f"{label} must be Delayed(of, by), the label of a state or an output and how long ago, got "
                    f"{shown(delayed)}"
                )
            if delayed.of not in self.rhs and delayed.of not in self.outputs:
                raise DynamicsError(f"{label} is delayed {shown(delayed.of)}, which is neither a state nor an output")
            _check(f"delay of {label}", delayed.by, set(self.parameters), "parameters")
            if delayed.of in self.outputs:
                names = {s.name for s in getattr(self.outputs[delayed.of], "free_symbols", ())}
                if names & set(self._lagged):
                    raise DynamicsError(
                        f"{label} delays the output {shown(delayed.of)}, which itself holds delayed values; "
                        "make it a state or write it out"
                    )

    def __repr__(self) -> str:
        start = (f"{label} = {value_text(value)}" for label, value in self.start.items())
        return problem_text(
            type(self).__name__,
            self.name,
            f"{len(self.rhs):,} state{'s' * (len(self.rhs) > 1)}, time in {self.time_units}",
            (f"{left} = {expression_text(right)}" for left, right in self.equations.items()),
            (f"{name} = {value_text(value)}" for name, value in self.parameters.items()),
            (f"start: {row}" for row in start),
        )

    @property
    def equations(self) -> dict[str, Expression | str]:
        """What defines the motion: rate of change (next value, for a map), delayed value, output -> expression."""
        next_value = isinstance(self, Map)
        rates = {f"{s}(n + 1)" if next_value else f"d{s}/dt": e for s, e in self.rhs.items()}
        now = "n" if next_value else TIME
        delayed = {k: f"{lag.of}({now} - {expression_text(lag.by)})" for k, lag in self._lagged.items()}
        return rates | delayed | dict(self.outputs)

    def _check_parameters(self) -> None:
        """Raise DynamicsError for a parameter that nothing uses and that has no domain."""
        delays = (delayed.by for delayed in self._lagged.values())
        points = (value for point in self.fixed_points for value in point.values())
        mappings = (self.rhs, self.outputs, self.start, getattr(self, "history", {}))
        more_names = (*self.rhs, *self._lagged, TIME)
        used = chain(*(m.values() for m in mappings), delays, points)
        check_used(self.parameters, self.domain, used, DynamicsError, more_names)

    @property
    def _lagged(self) -> Mapping[str, Delayed]:
        return getattr(self, "delayed", {})

    @property
    def labels(self) -> tuple[str, ...]:
        """State labels in the order of results."""
        return tuple(self.rhs)

    def at(self, **parameters: Parameter) -> Self:
        """The same problem with other values of its parameters, by symbol name."""
        unknown = set(parameters) - set(self.parameters)
        if unknown:
            raise DynamicsError(f"no parameter {shown(min(unknown))}; there are {listed(self.parameters)}")
        return replace(self, parameters={**self.parameters, **parameters})

    def starting(self, start: Mapping[str, StateValue]) -> Self:
        """The same problem from other initial values; what is not named keeps its own."""
        check_mapping("start", start, DynamicsError)
        return self.changed(start={**self.start, **start})

    def changed(self, **attributes: object) -> Self:
        """The same problem with other attributes; parameters that are then used nowhere stay as labels."""
        labels = {name: (-math.inf, math.inf) for name in self.parameters if name not in self.domain}
        changes_and_domain: dict[str, Any] = {"domain": {**labels, **self.domain}, **attributes}
        return replace(self, **changes_and_domain)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ODE(Dynamics):
    """d(state)/dt = rhs.

    Examples
    --------
    >>> import sympy
    >>> w, r = sympy.symbols("w r")
    >>> ODE(rhs={"w": r * w * (1 - w)}, parameters={"r": 2.0}, start={"w": 0.1})
    ODE: 1 state, time in s
      dw/dt = r*w*(1 - w)
      r = 2.0
      start: w = 0.1
    """

    name: str = "ODE"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class DDE(Dynamics):
    """d(state)/dt = rhs, with values of the past on the right.

    Attributes
    ----------
    delayed : mapping symbol name -> Delayed
        What each delayed symbol of `rhs` stands for. An output may be delayed too (a queue's loss probability, say).
    history : mapping state label -> SymPy expression in "t" and parameters
        States for t <= 0. A state that is left out keeps its initial value.

    Examples
    --------
    >>> import sympy
    >>> w, w_d, r, delay = sympy.symbols("w w_d r delay")
    >>> hutchinson = DDE(
    ...     rhs={"w": r * w * (1 - w_d)},
    ...     delayed={"w_d": Delayed("w", delay)},
    ...     parameters={"r": 1.0, "delay": [0.5, 1.0]},
    ...     start={"w": 0.1},
    ... )
    >>> hutchinson.delayed["w_d"].of
    'w'
    """

    delayed: Mapping[str, Delayed] = field(default_factory=dict)
    history: Mapping[str, Expression] = field(default_factory=dict)
    name: str = "DDE"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Map(Dynamics):
    """state(n + 1) = rhs at n; `delayed` reaches back a whole number of further steps.

    Examples
    --------
    >>> import sympy
    >>> w, r = sympy.symbols("w r")
    >>> Map(rhs={"w": w + r * w * (1 - w)}, parameters={"r": 1.95}, start={"w": 0.1}).time_units
    'step'
    """

    delayed: Mapping[str, Delayed] = field(default_factory=dict)
    time_units: str = "step"
    name: str = "Map"


class OdeModel(Protocol):
    """A model that has an ordinary differential equation."""

    def ode(self) -> ODE:
        """The equation at the model's parameters."""


class DdeModel(Protocol):
    """A model that has a delay differential equation."""

    def dde(self) -> DDE:
        """The equation at the model's parameters."""


class MapModel(Protocol):
    """A model that has a map."""

    def map(self) -> Map:
        """The map at the model's parameters."""


#: A model that has a problem of motion.
MotionModel: TypeAlias = OdeModel | DdeModel | MapModel


def _distinct(kinds: Mapping[str, Mapping[str, object]]) -> None:
    kind_of: dict[str, str] = {}
    for kind, names in kinds.items():
        for name in names:
            check_name(kind, name, DynamicsError)
            if name in kind_of or name == TIME:
                raise DynamicsError(f"{shown(name)} is both a {kind_of.get(name, 'symbol of time')} and a {kind}")
            kind_of[name] = kind


def _check_vectors(labels: Iterable[str]) -> None:
    """A result holds one variable a name, with one value an entry."""
    entries: dict[tuple[str, int | None], str] = {}
    for label in labels:
        match = ENTRY.fullmatch(label)
        name, index = (match[1], int(match[2])) if match else (label, None)
        if (name, index) in entries:
            raise DynamicsError(f"{shown(label)} and {shown(entries[name, index])} are the same entry; rename one")
        entries[name, index] = label
    for (name, index), label in entries.items():
        if index is not None and (name, None) in entries:
            raise DynamicsError(f"{shown(name)} is both a scalar and, by {shown(label)}, a vector; rename one of them")


def _check(label: str, expression: object, allowed: set[str], what: str, absent: bool = False) -> None:
    """Numbers and SymPy expressions only: a string is never evaluated. NaN stands where a point is `absent`."""
    if isinstance(expression, Real) and not isinstance(expression, bool):
        number: Any = expression
        if absent and number != number:
            return
        if not math.isfinite(as_float(number)):
            raise DynamicsError(f"{label} must be a finite number, got {shown(expression)}")
        check_digits(label, number, DynamicsError)
        return
    if not hasattr(type(expression), "free_symbols"):
        raise DynamicsError(f"{label} must be a number or a SymPy expression, got {shown(expression)}")
    symbolic: Any = expression
    check_symbolic(label, symbolic, {}, DynamicsError, absent)
    unknown = {s.name for s in symbolic.free_symbols} - allowed
    if unknown:
        raise DynamicsError(f"{label} holds the symbol {shown(min(unknown))}; known are {what}")
