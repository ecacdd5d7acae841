"""The entries of a chain: as steps of a program, at each point of a grid, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import islice, pairwise
from numbers import Rational
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.errors import bare, shown
from tcpdynamics.limits import check_memory

from ..grid import Grid, make_grid
from ..problems import ChainError, ChainModel, Edge, Expression, MarkovChain
from ..problems.words import domain_text
from ..programs.straightline import RATIONAL, Builder, Program, Unfolded, run, run_blocks
from ..results import Status, raise_if_failed, reason

#: Rounding allowed when the transitions that leave a state are summed (a few hundred roundings).
SUM_TOLERANCE = 1e-13
_PRIME = 2**61 - 1
#: States of a chain whose holding times are written out.
MAX_HELD = 20_000


def as_chain(problem: MarkovChain | ChainModel, *more: Expression) -> MarkovChain:
    """A chain, or a model that has one.

    Raises ChainError for a parameter that neither the chain uses nor one of `more` expressions.
    """
    chain = problem if isinstance(problem, MarkovChain) else getattr(problem, "chain", lambda: None)()
    if not isinstance(chain, MarkovChain):
        raise TypeError(f"expected a MarkovChain or a model with .chain(), got {type(problem).__name__}")
    chain.check_parameters(*more)
    return chain


@dataclass(frozen=True, eq=False)
class Entries:
    """A symbolic chain's expressions as the first steps of a program.

    Attributes
    ----------
    builder : Builder, holding the steps
    rows : state index -> {target index: step}, off-diagonal and not identically zero
    loops : state index -> step, the self-loops that were listed
    holding : state index -> step
    """

    builder: Builder
    rows: dict[int, dict[int, int]]
    loops: dict[int, int]
    holding: dict[int, int]

    def checks(self) -> tuple[int, int, int]:
        """Steps: the least entry, the largest row sum, the largest listed row's distance from one."""
        b = self.builder
        one, zero = b.const(1), b.const(0)
        smallest, largest, off = one, zero, zero
        entries = [e for row in self.rows.values() for e in row.values()] + list(self.loops.values())
        for e in sorted({*entries, *self.holding.values()}):
            if b.ops[e].kind != "const":
                smallest = b.apply("min", smallest, e)
            elif b.ops[e].value < 0:
                smallest = e
        for i, row in self.rows.items():
            total = b.total(row.values())
            if total != one:
                largest = b.apply("max", largest, total)
            if i in self.loops:
                gap = b.sub(b.add(total, self.loops[i]), one)
                off = b.apply("max", off, b.mul(gap, gap))
        return smallest, largest, off


def check_status(
    chain: MarkovChain, grid: Grid, checks: NDArray[np.float64], finite: NDArray[np.bool_] | np.bool_
) -> NDArray[np.uint8]:
    """Why points failed: `checks` are the values of `Entries.checks`, `finite` says where the results are."""
    status = domain_status(chain, grid)
    mark_failed(status, checks, finite)
    return status


def mark_failed(status: NDArray[np.uint8], checks: NDArray[np.float64], finite: NDArray[np.bool_] | np.bool_) -> None:
    """Write into `status` why points failed that had not before: `checks` and `finite` as for `check_status`."""
    smallest, largest, off = checks
    with np.errstate(invalid="ignore"):
        status[(status == Status.OK) & ~(smallest >= 0)] = Status.NEGATIVE
        sums = (largest <= 1 + SUM_TOLERANCE) & (off <= SUM_TOLERANCE**2)
        status[(status == Status.OK) & ~sums] = Status.ROW_SUM
    status[(status == Status.OK) & ~finite] = Status.REDUCIBLE


class Expressions(NamedTuple):
    """What a compiled program depends on: a chain's states and expressions, not the values of its parameters."""

    labels: tuple[str, ...]
    transitions: tuple[tuple[Edge, Any], ...]
    holding: tuple[tuple[str, Any], ...]


def entries_of(expressions: Expressions, *, ergodic: bool = True) -> Entries:
    """Write a symbolic chain's transitions into a new program.

    Raises ChainError for a reducible or periodic structure, where an `ergodic` one is asked for.
    """
    from ..programs.from_sympy import emit

    index = {label: i for i, label in enumerate(expressions.labels)}
    builder = Unfolded()
    rows: dict[int, dict[int, int]] = {i: {} for i in index.values()}
    loops: dict[int, int] = {}
    for (source, target), expression in expressions.transitions:
        step = emit(builder, expression)
        i, j = index[source], index[target]
        if builder.ops[step].kind == "const" and builder.ops[step].value == 0:
            continue
        if i == j:
            loops[i] = step
        else:
            rows[i][j] = step
    holding = {index[s]: emit(builder, h) for s, h in expressions.holding}
    if ergodic:
        _check_ergodic(builder, rows, loops, expressions.labels)
    return Entries(builder, rows, loops, holding)


def _check_ergodic(
    builder: Builder, rows: dict[int, dict[int, int]], loops: Mapping[int, int], labels: tuple[str, ...]
) -> None:
    from .structure import check_edges

    edges = [(i, j) for i, row in rows.items() for j in row]
    # One state that may stay makes an irreducible chain aperiodic; more need not be looked for.
    edges += list(islice(((i, i) for i in rows if _may_stay(builder, rows[i], i in loops)), 1))
    sources, targets = (np.array(e, dtype=np.int64) for e in zip(*edges, strict=True))
    check_edges(len(rows), sources, targets, labels, aperiodic=True)


def _may_stay(builder: Builder, row: Mapping[int, int], listed: bool) -> bool:
    """Whether a state has a self-loop: only a row that sums to one identically has none."""
    if listed:
        return True
    return not _is_one(builder, list(row.values()))


def _is_one(builder: Builder, steps: list[int]) -> bool:
    """Whether a sum of steps is one identically: it is at three arbitrary points of a large prime field."""
    from sympy import GF

    program = builder.build(steps)
    if not steps or any(op.kind not in RATIONAL for op in program.ops):
        return False

    field = GF(_PRIME)

    def residue(value: Fraction | float) -> Any:
        exact = Fraction(value)
        return field(exact.numerator) / field(exact.denominator)

    for k in (3, 5, 7):
        point = {name: residue(Fraction(k, 101 + 10 * n)) for n, name in enumerate(sorted(program.inputs))}
        if sum(run(program, point, residue), residue(0)) != residue(1):
            return False
    return True


def expressions_of(chain: MarkovChain) -> Expressions:
    """The expressions of a symbolic chain, by which its programs are kept."""
    return Expressions(chain.labels, _distinct(chain._expressions), _distinct(chain.holding))


def _distinct(expressions: Mapping[Any, Any]) -> tuple[Any, ...]:
    """Items in which 0.5 and Fraction(1, 2), equal in Python, stay apart: one of them is exact."""
    import sympy

    def as_sympy(e: Any) -> Any:
        if hasattr(e, "free_symbols"):
            return e
        return sympy.Rational(e.numerator, e.denominator) if isinstance(e, Rational) else sympy.Float(float(e))

    return tuple((k, as_sympy(e)) for k, e in expressions.items())


def grid_of(chain: MarkovChain, program_inputs: Any) -> Grid:
    """The grid of a chain's parameters. Raises ChainError when a symbol has no value."""
    missing = sorted(set(program_inputs) - set(chain.parameters))
    if missing:
        raise ChainError(
            f"parameter {shown(missing[0], 60)} has no value; give it with chain.at({bare(missing[0])}=...) "
            "or ask for the closed form"
        )
    return make_grid(chain.parameters)


def domain_status(chain: MarkovChain, grid: Grid) -> NDArray[np.uint8]:
    """`Status.OUTSIDE` where a parameter is outside the chain's declared domain."""
    status = np.zeros(grid.size, dtype=np.uint8)
    for name, (low, high) in chain.domain.items():
        if name in grid.values:
            value = np.asarray(grid.values[name])
            status[~((value > low) & (value < high))] = Status.OUTSIDE
    return status


@lru_cache(maxsize=64)
def entry_program(expressions: Expressions) -> tuple[Program, tuple[tuple[int, int], ...], tuple[int, ...]]:
    """The entries, edge by edge and then the listed self-loops; the edges; the states with a self-loop."""
    entries = entries_of(expressions, ergodic=False)
    edges = [(i, j) for i, row in entries.rows.items() for j in row]
    steps = [entries.rows[i][j] for i, j in edges]
    program = entries.builder.build(steps + list(entries.loops.values()))
    return program, tuple(edges), tuple(entries.loops)


@dataclass(frozen=True, eq=False)
class Entrywise:
    """A chain's off-diagonal entries at each point of its grid, edge by edge.

    Attributes
    ----------
    sources, targets : (edges,) int arrays, off-diagonal, sorted by source
    rates : (edges, size) float array
    stay : (states, size) float array, the diagonal
    """

    grid: Grid
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    rates: NDArray[np.float64]
    stay: NDArray[np.float64]
    status: NDArray[np.uint8]

    def expect(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        """P v for (states, size) columns: the expectation of v one step on."""
        out: NDArray[np.float64] = self.stay * v
        add_runs(out, self.sources, self.rates * v[self.targets])
        return out

    def push(self, pi: NDArray[np.float64]) -> NDArray[np.float64]:
        """pi P for (states, size) columns: the distribution one step on."""
        out: NDArray[np.float64] = self.stay * pi
        order = self.by_target
        add_runs(out, self.targets[order], (self.rates * pi[self.sources])[order])
        return out

    @cached_property
    def by_target(self) -> NDArray[np.intp]:
        """The edges sorted by where they lead."""
        return np.argsort(self.targets, kind="stable")

    def matrices(self) -> NDArray[np.float64]:
        """(size, states, states) transition matrices."""
        n, size = self.stay.shape
        P = np.zeros((size, n, n))
        P[:, self.sources, self.targets] = self.rates.T
        P[:, np.arange(n), np.arange(n)] = self.stay.T
        return P


def add_runs(out: NDArray[np.float64], rows: NDArray[np.int64], values: NDArray[np.float64]) -> None:
    """out[rows] += values for sorted rows, runs of equal rows summed first."""
    if rows.size:
        first = np.flatnonzero(np.r_[True, rows[1:] != rows[:-1]])
        out[rows[first]] += np.add.reduceat(values, first, axis=0)


def numeric_states(chain: MarkovChain) -> int:
    """States of a numeric chain, before its matrix is read."""
    matrix: Any = chain.transitions
    return int(matrix.shape[0])


def stored(chain: MarkovChain) -> int:
    """Entries that a numeric chain's matrix holds; of a malformed one, all."""
    matrix: Any = chain.transitions
    try:
        return int(matrix.nnz)
    except (AttributeError, ValueError):
        return numeric_states(chain) ** 2


def entrywise(chain: MarkovChain) -> Entrywise:
    """Evaluate a chain's entries over its grid. Chains with holding times are made explicit first."""
    if not chain.is_symbolic:
        return _numeric_entries(chain)
    expanded = explicit(chain)
    program, edges, looped = entry_program(expressions_of(expanded))
    grid = grid_of(chain, program.inputs)
    order = np.lexsort(np.array(edges).T[::-1])
    check_memory(
        f"{len(edges):,} transitions at {grid.size:,} points", 24.0 * (len(edges) + len(expanded.labels)) * grid.size,
        "ask for fewer points, or sweep them in blocks to a store",
    )  # fmt: skip
    entries = np.empty((len(edges) + len(looped), grid.size))
    run_blocks(program, grid.values, grid.size, entries)
    sources, targets = np.array(edges)[order].T
    rates, loops = entries[order], entries[len(edges) :]
    n = len(expanded.labels)
    stay = np.ones((n, grid.size))
    np.subtract.at(stay, sources, rates)
    status = domain_status(chain, grid)
    status[(status == Status.OK) & ~(rates >= 0).all(axis=0)] = Status.NEGATIVE
    off = (stay < -SUM_TOLERANCE).any(axis=0) | (abs(stay[list(looped)] - loops) > SUM_TOLERANCE).any(axis=0)
    status[(status == Status.OK) & off] = Status.ROW_SUM
    return Entrywise(grid, sources, targets, rates, np.maximum(stay, 0.0), status)


def _numeric_entries(chain: MarkovChain) -> Entrywise:
    import scipy.sparse as sp

    coo = sp.coo_array(checked_matrix(chain))
    coo.sum_duplicates()
    off = (coo.row != coo.col) & (coo.data != 0)
    stay = np.zeros((coo.shape[0], 1))
    stay[:, 0] = coo.diagonal()
    order = np.lexsort((coo.col[off], coo.row[off]))
    return Entrywise(
        make_grid({}),
        coo.row[off][order].astype(np.int64),
        coo.col[off][order].astype(np.int64),
        coo.data[off][order].astype(np.float64)[:, None],
        stay,
        np.zeros(1, dtype=np.uint8),
    )


def checked_matrix(chain: MarkovChain) -> Any:
    """A numeric chain's matrix, CSR or dense floats, after all checks of its rows."""
    from .structure import check_rows, checked_csr

    matrix = chain._matrix
    matrix = checked_csr(matrix) if hasattr(matrix, "tocsr") else np.asarray(matrix, dtype=np.float64)
    check_rows(matrix, chain.labels)
    return matrix


#: (source, target) -> {reward: probability expression}
Events = dict[Edge, dict[int, Any]]


def explicit(chain: MarkovChain) -> MarkovChain:
    """The same chain with each integer holding time written as that many states in a row.

    A state `b` held for three epochs becomes ``b, b+1, b+2``; one held for no time is passed through. Needed wherever
    time matters and not only fractions of time. Raises ChainError for a holding time that is not a whole number.
    """
    if not chain.holding:
        return chain
    transitions, states = _explicit_transitions(expressions_of(chain), scalars_of(chain))
    expanded = replace(chain, transitions=dict(transitions), states=states, holding={})
    return expanded.declared(chain.parameters)  # times that were written out stand in no entry


def scalars_of(chain: MarkovChain) -> tuple[tuple[str, float], ...]:
    """The parameters that holding times may depend on: those with one value."""
    if not chain.holding:
        return ()
    parameters: Mapping[str, Any] = chain.parameters
    return tuple(sorted((k, float(v)) for k, v in parameters.items() if np.ndim(v) == 0))


@lru_cache(maxsize=32)
def _explicit_transitions(
    expressions: Expressions, scalars: tuple[tuple[str, float], ...]
) -> tuple[tuple[tuple[Edge, Any], ...], tuple[str, ...]]:
    events: Events = {edge: {0: e} for edge, e in expressions.transitions}
    events, states = explicit_events(expressions, scalars, events)
    return tuple((edge, law[0]) for edge, law in events.items()), states


def explicit_events(
    expressions: Expressions, scalars: tuple[tuple[str, float], ...], events: Events
) -> tuple[Events, tuple[str, ...]]:
    """`events` of a chain's transitions, with holding times written out; and the labels of all states."""
    import sympy

    if not expressions.holding:
        return events, expressions.labels
    values, holding = dict(scalars), dict(expressions.holding)
    states: list[str] = []
    for state in expressions.labels:
        epochs = (sympy.S(1) * holding.get(state, 1)).subs(values)
        epochs = sympy.nsimplify(epochs) if epochs.is_Number else epochs
        if not (epochs.is_Integer and epochs >= 0):
            raise ChainError(
                f"state {shown(state, 60)} is held for {bare(epochs)} epochs; epoch by epoch this needs one whole "
                "number: choose a base timeout that is a whole number of RTTs, one at a time"
            )
        if epochs == 0:
            _bypass(events, state)
            continue
        if epochs > MAX_HELD - len(states):
            raise ChainError(
                f"state {shown(state, 60)} is held for {bare(epochs)} epochs; epoch by epoch a chain may have at most "
                f"{MAX_HELD:,} states: choose shorter timeouts"
            )
        steps = [state] + [f"{state}+{i}" for i in range(1, int(epochs))]
        states += steps
        if len(steps) > 1:
            leaving = {t: events.pop((s, t)) for s, t in list(events) if s == state}
            again = leaving.pop(state, None)
            out = sum(e for law in leaving.values() for e in law.values())
            for step, onward in pairwise(steps):
                events[step, onward] = {0: sympy.Integer(1)}
            events |= {(steps[-1], t): law for t, law in leaving.items()}
            # A visit may repeat: the next starts afresh.
            if again is not None or sympy.simplify(out - 1) != 0:
                events[steps[-1], state] = again or {0: 1 - out}
    if len(states) < 2:
        raise ChainError("fewer than two states are left in which time passes; give holding times above zero")
    return events, tuple(states)


def origin(label: str, chain: MarkovChain) -> str:
    """The state of `chain` that a label of `explicit(chain)` belongs to."""
    return label if label in chain.labels else label.rsplit("+", 1)[0]


def _bypass(events: Events, state: str) -> None:
    """Take out a state in which no time is spent and nothing is earned."""
    import sympy

    onward: dict[str, Any] = {t: sum(law.values()) for (s, t), law in events.items() if s == state and t != state}
    leaving = sum(onward.values())
    if sympy.simplify(leaving - 1) != 0:  # it may stay, for no time, as often as it likes
        onward = {t: share / leaving for t, share in onward.items()}
    for source, target in list(events):
        if target == state and source != state:
            law = events.pop((source, target))
            for t, share in onward.items():
                cell = events.setdefault((source, t), {})
                for reward, chance in law.items():
                    cell[reward] = cell.get(reward, 0) + share * chance
    for edge in [edge for edge in events if state in edge]:
        del events[edge]


def refuse_failed(chain: MarkovChain, grid: Grid, status: NDArray[np.uint8]) -> None:
    """Raise ChainError if a point failed, with the state or value that is wrong at the first."""
    raise_if_failed(chain, grid, status, lambda i: describe_point(chain, grid.point(i), int(status[i])))


def describe_point(chain: MarkovChain, point: Mapping[str, float], status: int) -> str:
    """One sentence that names the state or value that is wrong at a failed point."""
    where = bare(", ".join(f"{k} = {v:g}" for k, v in point.items()), 200)
    for name, (low, high) in chain.domain.items():
        if name in point and not low < point[name] < high:
            return f"{bare(name)} must lie in {domain_text(low, high)}, got {point[name]:g}"
    entries = entries_of(expressions_of(chain), ergodic=False)
    moves = [(i, j, step) for i, row in entries.rows.items() for j, step in row.items()]
    moves += [(i, i, step) for i, step in entries.loops.items()]
    steps = [step for *_, step in moves]
    program = entries.builder.build([*steps, *entries.holding.values()])
    with np.errstate(all="ignore"):
        values = run(program, {k: np.float64(v) for k, v in point.items()})
    sums: dict[int, float] = {}
    for (i, j, _), rate in zip(moves, values, strict=False):
        sums[i] = sums.get(i, 0.0) + rate
        if not rate >= 0:
            move = f"{bare(chain.labels[i])} -> {bare(chain.labels[j])}"
            return f"transition {move} is {rate:g} at {where}; it must be >= 0"
    for i, total in sums.items():
        if total > 1 + SUM_TOLERANCE:
            return f"the transitions that leave {bare(chain.labels[i])} sum to {total:.12g} > 1 at {where}"
        if i in entries.loops and total < 1 - SUM_TOLERANCE:
            return (
                f"the transitions that leave {bare(chain.labels[i])}, self-loop included, sum to {total:.12g}, "
                f"not 1, at {where}"
            )
        if total == 0:
            return f"state {bare(chain.labels[i])} cannot be left at {where}: the chain is reducible"
    for i, time in zip(entries.holding, values[len(moves) :], strict=True):
        if not time >= 0:
            return f"state {bare(chain.labels[i])} is held for {time:g} epochs at {where}; it must be >= 0"
    return f"{reason(status)} at {where or 'the given transitions'}"
