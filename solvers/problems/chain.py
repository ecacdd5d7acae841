"""Chains and their rewards."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard

from tcpdynamics.errors import ChainError, as_float, bare, shown

from .kinds import check_domain, check_mapping, check_name, check_text
from .numbers import Expression, Parameter, check_digits, check_symbolic, real_array
from .used import check_used
from .words import expression_text, problem_text, value_text

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

#: A transition is named by the labels of the states that it leaves and enters.
Edge = tuple[str, str]

#: Probabilities by edge, or all of them as a square matrix.
Transitions: TypeAlias = "Mapping[Edge, Expression] | NDArray[Any] | Sequence[Sequence[float]] | sparse.sparray"


#: Largest reward of one transition, in its unit.
MOST_REWARD = 10**9


@dataclass(frozen=True)
class Reward:
    """What a chain earns at each step: the joint distribution of the next transition and an integer reward.

    Attributes
    ----------
    joint : mapping (source, target) -> {reward: expression}
        `joint[i, j][r]` is the probability, given state i, of moving to j *and* earning r. Self-loops
        are listed too: the expressions of one source sum to one.
    name, units : str
        For the labels of results.

    Examples
    --------
    >>> import sympy
    >>> p = sympy.Symbol("p")
    >>> delivered = Reward({("up", "up"): {1: 1 - p}, ("up", "down"): {0: p}, ("down", "up"): {0: 1}})
    >>> delivered.mean()
    {'up': 1 - p}
    """

    joint: Mapping[Edge, Mapping[int, Expression]]
    name: str = "reward"
    units: str = "1"

    def __post_init__(self) -> None:
        known_depths: dict[int, int] = {}
        check_mapping("joint", self.joint, ChainError)
        check_text("name", self.name, ChainError)
        check_text("units", self.units, ChainError)
        for edge, law in self.joint.items():
            check_mapping(f"joint of {bare(edge)}", law, ChainError)
            for reward, chance in law.items():
                integral = isinstance(reward, Integral) and not isinstance(reward, bool)
                if not integral or abs(reward) > MOST_REWARD:
                    raise ChainError(f"a reward must be a whole number from -1e9 to 1e9, got {shown(reward)}")
                _check_expression(edge, chance, known_depths)
        if any(type(reward) is not int for law in self.joint.values() for reward in law):  # NumPy's, SymPy's
            plain = {edge: {int(r): chance for r, chance in law.items()} for edge, law in self.joint.items()}
            object.__setattr__(self, "joint", plain)

    def mean(self) -> dict[str, Expression]:
        """Expected reward of the next step, state by state."""
        total: dict[str, Expression] = {}
        for (source, _), law in self.joint.items():
            for reward, chance in law.items():
                if reward:
                    total[source] = total.get(source, 0) + reward * chance
        return total


@dataclass(frozen=True, eq=False)
class MarkovChain:
    """A discrete-time Markov chain, symbolic or numeric.

    Attributes
    ----------
    transitions : mapping (source, target) -> SymPy expression, or (n, n) array, list of rows or SciPy sparse matrix
        Symbolic: non-negative *off-diagonal* expressions in named parameters; the diagonal is what is
        left, so that no entry is ever formed by a cancelling subtraction. A self-loop may be listed and
        is then checked. Numeric: all entries, rows summing to one.
    parameters : mapping symbol name -> number, 1-D array or xarray.DataArray
        Values of the symbols. Each 1-D array spans a dimension named like its symbol; a DataArray brings its own.
    states : sequence of str, optional
        Labels in the order of results. Default: order of first appearance, or 0..n-1.
    holding : mapping state -> expression, optional
        Mean number of epochs spent in a state at each visit, where it is not one (a semi-Markov chain). Stationary
        probabilities are then fractions of *time*.
    domain : mapping symbol name -> (low, high), optional
        Open interval in which a parameter must lie.
    name : str
        The model, for labels and provenance.
    provenance : mapping, optional
        What is needed to build the chain again; stored with each result.

    Examples
    --------
    >>> import sympy
    >>> p = sympy.Symbol("p")
    >>> chain = MarkovChain({("up", "down"): p, ("down", "up"): 1 - p}, {"p": 0.25})
    >>> chain
    MarkovChain: 2 states, 2 transitions
      up -> down: p
      down -> up: 1 - p
      p = 0.25
    """

    transitions: Transitions
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    states: Sequence[str] | None = None
    holding: Mapping[str, Expression] = field(default_factory=dict)
    domain: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    name: str = "MarkovChain"
    provenance: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._check_kinds()
        if isinstance(self.transitions, list | tuple):
            matrix = real_array("transitions", self.transitions, error=ChainError)
            object.__setattr__(self, "transitions", matrix)
        if not self.is_symbolic:
            shape = getattr(self.transitions, "shape", None)
            if shape is None:
                raise ChainError("transitions must be a mapping, a 2-D array, a list of rows or a SciPy sparse matrix")
            if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
                raise ChainError(f"transitions must be a square matrix, got shape {tuple(shape)}")
            if self.states is not None and len(self.states) != shape[0]:
                raise ChainError(f"{len(self.states)} labels given for {shape[0]} states")
            check_matrix_kind(self._matrix)
            if self.parameters or self.holding:
                raise ChainError("a numeric chain has neither parameters nor holding times")
        elif not self.transitions:
            raise ChainError("a chain needs at least one transition")
        else:
            for edge in self._expressions:
                if not (isinstance(edge, tuple) and len(edge) == 2 and all(isinstance(s, str) for s in edge)):
                    raise ChainError(f"a transition is named by two labels (source, target), got {shown(edge)}")
            known_depths: dict[int, int] = {}
            for name, expression in (*self._expressions.items(), *self.holding.items()):
                _check_expression(name, expression, known_depths)
            labels = set(self.labels)
            for source, target in self._expressions:
                for state in (source, target):
                    if state not in labels:
                        raise ChainError(
                            f"transition {bare(source)} -> {bare(target)} names {shown(state, 60)}, "
                            "which is not in states"
                        )
            unknown = set(self.holding) - labels
            if self.holding and all(self._takes_no_time(s) for s in labels):
                raise ChainError("every state is held for no time, so no time passes; give a holding time above zero")
            if unknown:
                raise ChainError(f"holding names {shown(sorted(unknown)[0])}, which is not a state")
        if self.states is not None and len(set(self.states)) != len(self.states):
            twice = next(s for i, s in enumerate(self.states) if s in self.states[:i])
            raise ChainError(f"state {shown(twice)} is listed twice")

    def _check_kinds(self) -> None:
        """Raise ChainError unless mappings are mappings, texts are texts, and labels are a list."""
        for name in ("parameters", "holding", "provenance"):
            check_mapping(name, getattr(self, name), ChainError)
        for name in self.parameters:
            check_name("parameter", name, ChainError)
        check_text("name", self.name, ChainError)
        check_domain(self.domain, ChainError)
        states = self.states
        if states is not None and (isinstance(states, str) or not getattr(states, "__len__", None)):
            raise ChainError(f"states must be a list of labels, got {shown(states)}")
        if states is not None and getattr(states, "ndim", 1) != 1:
            raise ChainError(f"states must be a list of labels, got {shown(states)}")

    def __repr__(self) -> str:
        if not self.is_symbolic:
            n = len(self.labels)
            return problem_text("MarkovChain", self.name, f"a matrix of {n:,} x {n:,} probabilities")
        return problem_text(
            "MarkovChain",
            self.name,
            f"{len(self.labels):,} states, {len(self._expressions):,} transitions",
            (f"{left}: {expression_text(right)}" for left, right in self.equations.items()),
            (f"{name} = {value_text(value)}" for name, value in self.parameters.items()),
        )

    @property
    def equations(self) -> dict[str, Expression]:
        """What defines a symbolic chain: transition -> probability, holding time -> epochs."""
        if not self.is_symbolic:
            return {}
        moves = {f"{source} -> {target}": e for (source, target), e in self._expressions.items()}
        return moves | {f"epochs in {state}": e for state, e in self.holding.items()}

    @property
    def is_symbolic(self) -> bool:
        """True when transitions are expressions, False when they are a matrix."""
        return _has_edges(self.transitions)

    @property
    def _expressions(self) -> Mapping[Edge, Expression]:
        """Transitions of a symbolic chain, none of a numeric one."""
        return self.transitions if _has_edges(self.transitions) else {}

    @property
    def _matrix(self) -> sparse.sparray | NDArray[Any]:
        """Transitions of a numeric chain."""
        matrix: Any = self.transitions
        return matrix

    @property
    def labels(self) -> tuple[str, ...]:
        """State labels in the order of results."""
        if self.states is not None:
            return tuple(self.states)
        if self.is_symbolic:
            return tuple(dict.fromkeys(state for edge in self._expressions for state in edge))
        return tuple(str(i) for i in range(self._matrix.shape[0]))

    def _takes_no_time(self, state: str) -> bool:
        return bool(self.holding.get(state, 1) == 0)

    def check_parameters(self, *more: Expression) -> None:
        """Raise ChainError for a parameter that no entry uses, nor one of `more` expressions, nor the domain."""
        if self.is_symbolic:
            used = (*self._expressions.values(), *self.holding.values(), *more)
            check_used(self.parameters, self.domain, used, ChainError)

    def declared(self, parameters: Iterable[str]) -> MarkovChain:
        """The same chain, that keeps these parameters as labels of its points though its entries do not use them."""
        used = {s.name for e in self._expressions.values() for s in getattr(e, "free_symbols", ())}
        labels = {k: (-math.inf, math.inf) for k in parameters if k not in used}
        return replace(self, domain={**labels, **self.domain})

    def at(self, **parameters: Parameter) -> MarkovChain:
        """The same chain with other values of its parameters, by symbol name."""
        return replace(self, parameters={**self.parameters, **parameters})


class ChainModel(Protocol):
    """A model that has a chain."""

    def chain(self) -> MarkovChain:
        """The chain at the model's parameters."""


def _has_edges(transitions: object) -> TypeGuard[Mapping[Edge, Expression]]:
    """Whether transitions stand by their edges; a sparse matrix may be a mapping too."""
    return isinstance(transitions, Mapping) and not hasattr(transitions, "shape")


def check_matrix_kind(matrix: Any) -> None:
    """Raise ChainError for a matrix that is masked or does not hold real numbers."""
    if hasattr(matrix, "mask") and hasattr(matrix, "filled"):
        raise ChainError("transitions are a masked array, and a chain has no missing entries; fill it first")
    kind = getattr(getattr(matrix, "dtype", None), "kind", "f")
    if kind not in "iuf":
        raise ChainError(
            f"transitions must be real numbers, got a matrix of {shown(str(matrix.dtype))}; convert it to float"
        )


def _check_expression(name: object, expression: object, depth: dict[int, int]) -> None:
    """Finite numbers and SymPy expressions of numbers only: a string is never evaluated."""
    if isinstance(expression, Real) and not isinstance(expression, bool):
        number: Any = expression
        if not math.isfinite(as_float(number)):
            raise ChainError(f"{shown(name)} must have a finite number, got {shown(expression)}")
        check_digits(f"the number of {bare(name)}", number, ChainError)
    elif hasattr(type(expression), "free_symbols"):
        check_symbolic(name, expression, depth, ChainError)
    else:
        raise ChainError(f"{shown(name)} must have a number or a SymPy expression, got {shown(expression)}")


@dataclass(frozen=True, eq=False)
class RewardBalance:
    """Find the parameter at which a chain's mean reward per epoch meets a target.

    Attributes
    ----------
    chain : MarkovChain
        Symbolic; its parameter `unknown` need not have a value.
    unknown : str
        Name of the symbol to solve for. The mean reward must fall as it grows.
    reward : Reward
    target : number, array or DataArray
        Mean reward per epoch to be met.
    bounds : (low, high)
        Bracket of the unknown, inside its domain. Where the target exceeds the reward at `low`, the
        unknown is zero: demand never fills the supply.
    idle : iterable of str
        States in which the chain is silent; their total time is reported.

    Examples
    --------
    >>> import sympy
    >>> p = sympy.Symbol("p")
    >>> chain = MarkovChain({("up", "down"): p, ("down", "up"): 1})
    >>> reward = Reward({("up", "up"): {1: 1 - p}, ("up", "down"): {0: p}, ("down", "up"): {0: 1}})
    >>> RewardBalance(chain, "p", reward, target=0.5, bounds=(1e-9, 1 - 1e-9)).unknown
    'p'
    """

    chain: MarkovChain
    unknown: str
    reward: Reward
    target: Parameter
    bounds: tuple[float, float]
    idle: Iterable[str] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.chain, MarkovChain) or not isinstance(self.reward, Reward):
            raise ChainError(
                f"a balance needs a MarkovChain and a Reward, got {shown(self.chain, 80)} and {shown(self.reward, 80)}"
            )
        check_name("parameter", self.unknown, ChainError)
        ends = real_array("bounds", self.bounds, error=ChainError)
        if ends.shape != (2,):
            raise ChainError(f"bounds must be two numbers (low, high), got {shown(self.bounds)}")
        object.__setattr__(self, "bounds", (float(ends[0]), float(ends[1])))
        if isinstance(self.idle, str) or not isinstance(self.idle, Iterable) or getattr(self.idle, "ndim", 1) == 0:
            raise ChainError(f"idle must be a list of states, got {shown(self.idle)}")
        object.__setattr__(self, "idle", tuple(self.idle))
        labels = set(self.chain.labels)
        for state in self.idle:
            if not isinstance(state, str) or state not in labels:
                raise ChainError(f"idle names {shown(state)}, which is not a state of the chain")


class BalanceModel(Protocol):
    """A model that has a balance."""

    def balance(self) -> RewardBalance:
        """The balance at the model's parameters."""
