"""Straight-line programs: formulas once, arithmetic of any kind.

A `Program` is a list of additions, subtractions, multiplications, divisions and elementary functions without
branches. It is built once (from a chain's expressions, by state reduction) and then run on floats in cache-sized
NumPy blocks, on JAX arrays, on exact rationals or on SymPy's rational functions: one set of formulas, several
arithmetics.
Programs are data: no source text is made, so none is ever evaluated.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Points that a block holds: small enough that a program's live values stay in the second-level cache.
BLOCK = 4096

_BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "min": np.minimum,
    "max": np.maximum,
    "pow": np.power,
}


def _step_function(x: Any, out: Any = None) -> Any:
    """1 where x >= 0, else 0."""
    return np.heaviside(x, 1.0, out=out)


_UNARY: dict[str, Callable[..., Any]] = {
    "exp": np.exp,
    "log": np.log,
    "step": _step_function,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "atan": np.arctan,
}

#: Kind of a step -> how many operands it has.
KINDS = {**dict.fromkeys(_BINARY, 2), **dict.fromkeys(_UNARY, 1)}

#: Steps that any field has; others need floating-point numbers.
RATIONAL = frozenset({"input", "const", "add", "sub", "mul", "div"})

#: Steps with a switch: they jump or bend where an argument passes zero.
SWITCHES = frozenset({"min", "max", "step"})


@dataclass(frozen=True)
class Op:
    """One step: `kind` applied to earlier steps `a` and `b` (or an input's name, or a constant's value)."""

    kind: str
    a: int = -1
    b: int = -1
    value: Any = None


@dataclass(frozen=True)
class Program:
    """Steps in order; step i may use steps before i only.

    Attributes
    ----------
    ops : tuple of Op
    outputs : tuple of int
        Steps whose values are the result.
    """

    ops: tuple[Op, ...]
    outputs: tuple[int, ...]
    _plans: dict[Any, _Plan] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the symbols that the program reads."""
        return tuple(op.value for op in self.ops if op.kind == "input")

    @property
    def arithmetic(self) -> int:
        """How many arithmetic operations one evaluation takes."""
        return sum(op.kind not in ("input", "const") for op in self.ops)


#: Digits in bits of a product of constants that is formed exactly; a longer one is left to the run.
MOST_DIGITS = 1 << 20


def _digits_of(constant: Fraction | float) -> int:
    if isinstance(constant, float):
        return 0
    return abs(constant.numerator).bit_length() + constant.denominator.bit_length()


class Builder:
    """Collects steps, writing each distinct value once and dropping x*1, x+0 and 0*x."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self._seen: dict[Op, int] = {}
        self._powers: dict[tuple[int, int], int] = {}
        self.expressions: dict[Any, int] = {}  # what a front end has already written

    def _emit(self, op: Op) -> int:
        if op not in self._seen:
            self._seen[op] = len(self.ops)
            self.ops.append(op)
        return self._seen[op]

    def _constant(self, i: int) -> Any:
        return self.ops[i].value if self.ops[i].kind == "const" else None

    def input(self, name: str) -> int:
        return self._emit(Op("input", value=name))

    def const(self, value: Fraction | int | float) -> int:
        return self._emit(Op("const", value=value if isinstance(value, float) else Fraction(value)))

    def add(self, a: int, b: int) -> int:
        x, y = self._constant(a), self._constant(b)
        if x is not None and y is not None:
            return self.const(x + y)
        if x == 0 or y == 0:
            return b if x == 0 else a
        return self._emit(Op("add", min(a, b), max(a, b)))

    def sub(self, a: int, b: int) -> int:
        x, y = self._constant(a), self._constant(b)
        if x is not None and y is not None:
            return self.const(x - y)
        return a if y == 0 else self._emit(Op("sub", a, b))

    def mul(self, a: int, b: int) -> int:
        x, y = self._constant(a), self._constant(b)
        if x is not None and y is not None and _digits_of(x) + _digits_of(y) <= MOST_DIGITS:
            return self.const(x * y)
        if x == 0 or y == 0:
            return self.const(0)
        if x == 1 or y == 1:
            return b if x == 1 else a
        return self._emit(Op("mul", min(a, b), max(a, b)))

    def div(self, a: int, b: int) -> int:
        x, y = self._constant(a), self._constant(b)
        if x is not None and y is not None and y != 0:
            return self.const(x / y)
        return a if y == 1 else self._emit(Op("div", a, b))

    def power(self, a: int, n: int) -> int:
        """a^n for an integer n; powers share their halves."""
        if n < 0:
            return self.div(self.const(1), self.power(a, -n))
        if n == 0:
            return self.const(1)
        if n == 1:
            return a
        if n.bit_length() > 64 and (a, n) not in self._powers:  # from below, since Python's stack is short
            for shift in range(n.bit_length() - 1, 0, -1):
                self.power(a, n >> shift)
                self.power(a, (n >> shift) + 1)
        if (a, n) not in self._powers:
            self._powers[a, n] = self.mul(self.power(a, n // 2), self.power(a, n - n // 2))
        return self._powers[a, n]

    def apply(self, kind: str, a: int, b: int = -1) -> int:
        """A step of another kind: min, max, pow, exp, log, sin, cos, tanh, atan, step (1 where a >= 0, else 0)."""
        return self._emit(Op(kind, a, b))

    def total(self, terms: Iterable[int]) -> int:
        result = self.const(0)
        for term in terms:
            result = self.add(result, term)
        return result

    def extend(self, program: Program, inputs: Mapping[str, int] | None = None) -> list[int]:
        """Append another program's steps, some of its inputs taken from earlier ones; returns where each now stands."""
        inputs = inputs or {}
        place: list[int] = []
        for op in program.ops:
            replaced = op.kind == "input" and op.value in inputs
            place.append(inputs[op.value] if replaced else self._replay(op, place))
        return place

    def _replay(self, op: Op, place: Sequence[int]) -> int:
        if op.kind == "input":
            return self.input(op.value)
        if op.kind == "const":
            return self.const(op.value)
        a = place[op.a]
        if op.b < 0:
            return self.apply(op.kind, a)
        method = getattr(self, op.kind, None)
        return method(a, place[op.b]) if method else self.apply(op.kind, a, place[op.b])

    def build(self, outputs: Sequence[int]) -> Program:
        """The program of these outputs, without the steps that none of them needs."""
        needed = set(outputs)
        for i in range(len(self.ops) - 1, -1, -1):
            if i in needed:
                needed.update(j for j in (self.ops[i].a, self.ops[i].b) if j >= 0)
        new = {old: at for at, old in enumerate(sorted(needed))}
        ops = tuple(
            Op(op.kind, new.get(op.a, -1), new.get(op.b, -1), op.value) for op in (self.ops[i] for i in sorted(needed))
        )
        return Program(ops, tuple(new[i] for i in outputs))


class Unfolded(Builder):
    """A builder that leaves arithmetic between float constants to the run, which notes what leaves their range.

    Folded while the program is written, 1e-200 * 1e-200 would be a zero that nobody notices. Fractions are folded, and
    zero and one still drop out.
    """

    def _constant(self, i: int) -> Any:
        value = super()._constant(i)
        return None if isinstance(value, float) and value not in (0.0, 1.0) else value


def switching(program: Program, names: Iterable[str]) -> list[int]:
    """Steps that switch (Min, Max, Piecewise, ...) and depend on some of these inputs."""
    inputs, depends = frozenset(names), list[bool]()
    for op in program.ops:
        depends.append(op.value in inputs if op.kind == "input" else any(i >= 0 and depends[i] for i in (op.a, op.b)))
    return [i for i, op in enumerate(program.ops) if op.kind in SWITCHES and depends[i]]


def hold(program: Program, sides: Mapping[int, bool]) -> tuple[Builder, list[int]]:
    """A program with some switches held: Max and Min at their first operand where True, a step at 1 where True.

    Returns
    -------
    builder : Builder, holding the steps
    place : where each step of the program now stands
    """
    builder, place = Builder(), list[int]()
    for i, op in enumerate(program.ops):
        if i not in sides:
            place.append(builder._replay(op, place))
        elif op.kind == "step":
            place.append(builder.const(int(sides[i])))
        else:
            place.append(place[op.a if sides[i] else op.b])
    return builder, place


def slope_of(builder: Builder, kind: str, a: int, value: int) -> int:
    """The derivative of an elementary function (exp, log, sin, cos, tanh, atan) at step `a`, where it is `value`."""
    one = builder.const(1)
    if kind == "exp":
        return value
    if kind == "log":
        return builder.div(one, a)
    if kind == "sin":
        return builder.apply("cos", a)
    if kind == "cos":
        return builder.sub(builder.const(0), builder.apply("sin", a))
    if kind == "tanh":
        return builder.sub(one, builder.mul(value, value))
    if kind == "atan":
        return builder.div(one, builder.add(one, builder.mul(a, a)))
    raise ValueError(f"no derivative of {kind}")


def differentiate(program: Program, wrt: str) -> Program:
    """The program of d(output)/d(input `wrt`), output by output (forward mode).

    Examples
    --------
    >>> b = Builder()
    >>> x = b.input("x")
    >>> cube = b.build([b.power(x, 3)])
    >>> float(run(differentiate(cube, "x"), {"x": 2.0})[0])
    12.0
    """
    builder = Builder()
    value = builder.extend(program)
    zero, one = builder.const(0), builder.const(1)
    slope: list[int] = []
    for i, op in enumerate(program.ops):
        da = slope[op.a] if op.a >= 0 else zero
        db = slope[op.b] if op.b >= 0 else zero
        a, b = (value[op.a] if op.a >= 0 else zero), (value[op.b] if op.b >= 0 else zero)
        if op.kind == "input":
            slope.append(one if op.value == wrt else zero)
        elif op.kind == "const" or (da == zero and db == zero):
            slope.append(zero)
        elif op.kind == "add":
            slope.append(builder.add(da, db))
        elif op.kind == "sub":
            slope.append(builder.sub(da, db))
        elif op.kind == "mul":
            slope.append(builder.add(builder.mul(da, b), builder.mul(a, db)))
        elif op.kind == "div":
            slope.append(builder.div(builder.sub(da, builder.mul(value[i], db)), b))
        elif op.kind == "log":
            slope.append(builder.div(da, a))
        elif op.kind in ("exp", "sin", "cos", "tanh", "atan"):
            slope.append(builder.mul(slope_of(builder, op.kind, a, value[i]), da))
        elif op.kind == "pow":  # d(a^b) = a^b (b da/a + log(a) db)
            steps = builder.div(builder.mul(b, da), a)
            if db != zero:
                steps = builder.add(steps, builder.mul(builder.apply("log", a), db))
            slope.append(builder.mul(value[i], steps))
        elif op.kind == "step":
            slope.append(zero)
        else:  # min, max: that of the side which is taken; a switch's own jump has none
            side = builder.apply("step", builder.sub(a, b) if op.kind == "max" else builder.sub(b, a))
            slope.append(builder.add(db, builder.mul(side, builder.sub(da, db))))
    return builder.build([slope[i] for i in program.outputs])


def differentiate_unfolded(program: Program, wrt: str) -> Program:
    """`differentiate`, with float constants as inputs meanwhile, so that it folds none of them."""
    values: dict[tuple[str, int], float] = {}
    ops = list(program.ops)
    for i, op in enumerate(ops):
        if op.kind == "const" and isinstance(op.value, float) and op.value not in (0.0, 1.0):
            name = "constant", len(values)  # never the name of a symbol
            values[name] = op.value
            ops[i] = Op("input", value=name)
    slope = differentiate(Program(tuple(ops), program.outputs), wrt)
    back = (
        Op("const", value=values[op.value]) if op.kind == "input" and op.value in values else op for op in slope.ops
    )
    return Program(tuple(back), slope.outputs)


def with_partials(program: Program, inputs: Sequence[str]) -> Program:
    """The outputs, then the derivatives of each of them by these inputs.

    Examples
    --------
    >>> b = Builder()
    >>> product = b.build([b.mul(b.input("x"), b.input("y"))])
    >>> run(with_partials(product, "xy"), {"x": 2.0, "y": 3.0})
    [6.0, 3.0, 2.0]
    """
    builder = Builder()
    placed = builder.extend(program)
    values = [placed[i] for i in program.outputs]
    columns = []
    for name in inputs:
        slope = differentiate(program, name)
        placed = builder.extend(slope)
        columns.append([placed[i] for i in slope.outputs])
    return builder.build([*values, *(c[i] for i in range(len(values)) for c in columns)])


def run(
    program: Program,
    values: Mapping[str, Any],
    number: Callable[[Any], Any] = float,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> list[Any]:
    """Evaluate with any arithmetic that knows + - * /: Fractions, SymPy, JAX arrays, NumPy arrays.

    Parameters
    ----------
    values : mapping input name -> value
    number : callable
        Turns a constant (Fraction or float) into that arithmetic.
    functions : mapping, optional
        Its min, max, exp, log, sin, cos, tanh, atan and step; NumPy's when left out.
    """
    functions = functions or {**_BINARY, **_UNARY}
    done: list[Any] = []
    for op in program.ops:
        if op.kind == "input":
            done.append(values[op.value])
        elif op.kind == "const":
            done.append(number(op.value))
        else:
            a = done[op.a]
            done.append(_step(op.kind, a, done[op.b] if op.b >= 0 else None, functions))
    return [done[i] for i in program.outputs]


def _step(kind: str, a: Any, b: Any, functions: Mapping[str, Callable[..., Any]] = {**_BINARY, **_UNARY}) -> Any:
    if kind == "add":
        return a + b
    if kind == "sub":
        return a - b
    if kind == "mul":
        return a * b
    if kind == "div":
        return a / b
    if kind == "pow":
        return a**b
    return functions[kind](a) if kind in _UNARY else functions[kind](a, b)


def run_blocks(
    program: Program,
    values: Mapping[str, float | Array],
    size: int,
    out: Array,
    strained: NDArray[np.bool_] | None = None,
) -> None:
    """Evaluate on floats, block by block, in as many threads as there are processors.

    Parameters
    ----------
    values : mapping input name -> float or (size,) float array
    size : int
        Number of points.
    out : (len(outputs), size) float array
        Where the outputs go.
    strained : (size,) bool array, optional
        Set at all points of a block in which a step under- or overflowed.
    """
    plan = _plan(program, values)
    if strained is not None and plan.strained:
        strained[:] = True
        strained = None
    starts = range(0, size, BLOCK)
    workers = min(processors(), len(starts))
    if workers < 2 or size < 8 * BLOCK:
        _run_plan(plan, values, starts, size, out, strained)
        return
    shares = [starts[i::workers] for i in range(workers)]
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda share: _run_plan(plan, values, share, size, out, strained), shares))


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class _Plan:
    """A program with its values assigned to slots: constants, inputs, outputs, scratch rows."""

    fixed: tuple[tuple[int, float], ...]  # slot, value: constants and what depends on scalars only
    inputs: tuple[tuple[int, str], ...]
    outputs: tuple[tuple[int, int], ...]  # slot, row of out
    copies: tuple[tuple[int, int], ...]  # row of out, slot: outputs that no step writes
    steps: tuple[tuple[Callable[..., Any], int, int, int], ...]
    slots: int
    scratch: int
    strained: bool  # whether a constant or a folded step left the range of floats


#: Plans that a program remembers: steps of a map ask for the same one each time.
_PLANS = 4


def _plan(program: Program, values: Mapping[str, float | Array]) -> _Plan:
    """The plan for these scalars; which inputs are arrays, not what they hold, shapes it as well."""
    key = tuple("" if np.ndim(values[name]) else float(values[name]).hex() for name in program.inputs)
    plan = program._plans.get(key)  # threads may share the program
    if plan is None:
        plan = _make_plan(program, values)
        if len(program._plans) >= _PLANS:
            program._plans.clear()
        program._plans[key] = plan
    return plan


def _make_plan(program: Program, values: Mapping[str, float | Array]) -> _Plan:
    """Fold what depends on scalars only and reuse scratch rows as soon as their last reader is done."""
    constants: dict[int, float] = {}
    noted: list[Any] = []
    with np.errstate(all="ignore", under="call", over="call", call=lambda *what: noted.append(what)):
        for i, op in enumerate(program.ops):
            if op.kind == "const":
                constants[i] = _nearest(op.value, noted)
            elif op.kind == "input":
                if np.ndim(values[op.value]) == 0:
                    constants[i] = float(values[op.value])
            elif op.a in constants and (op.b < 0 or op.b in constants):
                a = np.float64(constants[op.a])
                constants[i] = float(_step(op.kind, a, np.float64(constants[op.b]) if op.b >= 0 else None))
    last = {i: len(program.ops) for i in program.outputs}
    for i, op in enumerate(program.ops):
        for j in (op.a, op.b):
            if j >= 0 and i not in constants:
                last[j] = max(i, last.get(j, 0))
    slot: dict[int, int] = {}
    fixed, inputs, steps = [], [], []
    first_row: dict[int, int] = {}
    copies = []
    for row, i in enumerate(program.outputs):
        if i in constants or program.ops[i].kind == "input" or i in first_row:
            copies.append((row, i))
        else:
            first_row[i] = row
    count, free = 0, []
    for i, op in enumerate(program.ops):
        if i not in last:
            continue
        if i in constants or op.kind == "input" or i in first_row:
            slot[i] = count
            count += 1
            if i in constants:
                fixed.append((slot[i], constants[i]))
            elif op.kind == "input":
                inputs.append((slot[i], op.value))
    scratch_from = count
    for i, op in enumerate(program.ops):
        if i in constants or op.kind in ("input", "const") or i not in last:
            continue
        done = [j for j in {op.a, op.b} if j >= 0 and last[j] == i and slot[j] >= scratch_from]
        free += [slot[j] for j in done]  # a ufunc may write over an operand: each element is read before
        if i not in slot:
            if free:
                slot[i] = free.pop()
            else:
                slot[i] = count
                count += 1
        function = _BINARY.get(op.kind) or _UNARY[op.kind]
        steps.append((function, slot[op.a], slot[op.b] if op.b >= 0 else -1, slot[i]))
    return _Plan(
        tuple(fixed),
        tuple(inputs),
        tuple((slot[i], row) for i, row in first_row.items()),
        tuple((row, slot[i]) for row, i in copies),
        tuple(steps),
        count,
        scratch_from,
        bool(noted),
    )


def _nearest(value: Any, noted: list[Any]) -> float:
    """The float nearest to a constant; one outside their range is noted."""
    try:
        nearest = float(value)
    except OverflowError:
        nearest = math.inf if value > 0 else -math.inf
    if (nearest == 0 and value != 0) or (math.isinf(nearest) and not isinstance(value, float)):
        noted.append(value)
    return nearest


def _run_plan(
    plan: _Plan,
    values: Mapping[str, Any],
    starts: Iterable[int],
    size: int,
    out: Array,
    strained: NDArray[np.bool_] | None = None,
) -> None:
    scratch = np.empty((plan.slots - plan.scratch, min(BLOCK, size)))
    place: list[Any] = [None] * plan.slots
    for slot, value in plan.fixed:
        place[slot] = np.array(value)
    noted: list[Any] = []
    watch: Any = {} if strained is None else {"under": "call", "over": "call", "call": lambda *_: noted.append(1)}
    with np.errstate(**({"all": "ignore"} | watch)):
        for low in starts:
            high = min(low + BLOCK, size)
            for slot, name in plan.inputs:
                place[slot] = values[name][low:high]
            for slot, row in plan.outputs:
                place[slot] = out[row, low:high]
            for i, buffer in enumerate(scratch):
                place[plan.scratch + i] = buffer[: high - low]
            for function, a, b, to in plan.steps:
                if b < 0:
                    function(place[a], out=place[to])
                else:
                    function(place[a], place[b], out=place[to])
            for row, slot in plan.copies:
                out[row, low:high] = place[slot]
            if noted and strained is not None:
                strained[low:high] = True
                noted.clear()
