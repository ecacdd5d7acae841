"""Programs that see switches: the composed equations, the arguments of their switches with errors, fixed sides.

A switch (a step min, max or step of a program) compares two numbers; its argument is their difference. A point lies on
it where the argument is zero within the error with which it is known. That error is followed through the program to
first order, as in a running error analysis: from what the states at rest may be wrong by, and one rounding for each
parameter and each step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..equations import Equations, System
from ..problems import TIME
from ..programs.straightline import Builder, Op, Program, differentiate

Array = NDArray[np.float64]

#: What a state at rest may be wrong by, relative and in its own unit, and a parameter or a step of arithmetic,
#: relative. Newton's last correction and closed forms leave a few roundings; 2^-40 allows for a condition number of
#: 10^3. A linearisation so near a switch would hold for deviations that are smaller still.
RELATIVE, ABSOLUTE, ROUNDING = 2.0**-40, 2.0**-50, 2.0**-52

_KINDS = ("min", "max", "step")


def has_switches(system: System) -> bool:
    """Whether any switch of the equations depends on the states."""
    return bool(switches_of(system)[0])


def tied(system: System, states: Array, points: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(switches, m) whether the argument of each is zero within the error with which it is known."""
    number, program = switches_of(system)
    rows = system.evaluate(program, with_errors(system, states), points)
    gap, bound = rows[: len(number)], rows[len(number) :]
    return np.asarray((gap <= bound) | (gap == 0.0))


def at_rest_values(system: System, states: Array) -> dict[str, Any]:
    values: dict[str, Any] = {TIME: 0.0}
    for row, label in zip(states, system.labels, strict=True):
        values[label] = row
        values |= {past_name(label, k): row for k in range(len(system.equations.groups))}
    return values


def with_errors(system: System, states: Array) -> dict[str, Any]:
    values = at_rest_values(system, states)
    errors = {f"error of {k}": RELATIVE * np.abs(v) + ABSOLUTE for k, v in values.items() if k != TIME}
    return values | errors


def past_name(label: str, lag: int) -> str:
    """Input of the composed equations: a state as it was, one for each distinct delay."""
    return f"{label} at lag {lag}"


def composed(system: System) -> Program:
    """The right-hand side in states alone, those of now and those at each lag; delayed outputs written out."""
    return system.equations.once("composed", lambda: _compose(system.equations))


def _compose(equations: Equations) -> Program:
    builder, labels = Builder(), equations.labels
    lag = {index: k for k, group in enumerate(equations.groups) for index in group}
    place: dict[str, int] = {}
    for index, (symbol, delayed) in enumerate(equations.lagged.items()):
        past = {label: builder.input(past_name(label, lag[index])) for label in labels}
        if delayed.of in past:
            place[symbol] = past[delayed.of]
        else:
            steps = builder.extend(equations.outputs, past)
            place[symbol] = steps[equations.outputs.outputs[list(equations.output_labels).index(delayed.of)]]
    steps = builder.extend(equations.rhs, place)
    return builder.build([steps[i] for i in equations.rhs.outputs])


def variables_of(system: System) -> list[str]:
    """States now, then at each lag."""
    lags = range(len(system.equations.groups))
    return [*system.labels, *(past_name(label, k) for k in lags for label in system.labels)]


def switches_of(system: System) -> tuple[tuple[int, ...], Program]:
    """Steps of the composed program that switch on a state; size of each argument, then what it may be wrong by."""
    return system.equations.once("switches", lambda: _arguments(composed(system), set(variables_of(system))))


def _arguments(program: Program, variables: set[str]) -> tuple[tuple[int, ...], Program]:
    depends: list[bool] = []
    for op in program.ops:
        depends.append(op.value in variables or any(j >= 0 and depends[j] for j in (op.a, op.b)))
    number = tuple(i for i, op in enumerate(program.ops) if op.kind in _KINDS and depends[i])
    if not number:
        return (), Program((), ())
    errors = _Errors(program, variables)
    pairs = [errors.argument(i) for i in number]
    return number, errors.builder.build([gap for gap, _ in pairs] + [bound for _, bound in pairs])


class _Errors:
    """A program with a bound of the error of each step, to first order, from those of its inputs."""

    def __init__(self, program: Program, variables: set[str]) -> None:
        self.program, self.variables = program, variables
        self.builder = builder = Builder()
        self.value = builder.extend(program)
        self.error: list[int] = []
        self.rounding = builder.const(ROUNDING)
        for i in range(len(program.ops)):
            self.error.append(self._of(i))

    def argument(self, i: int) -> tuple[int, int]:
        """Size of a switch's argument, and its error."""
        b, op = self.builder, self.program.ops[i]
        if op.b < 0:
            return self._abs(self.value[op.a]), self.error[op.a]
        return (
            self._abs(b.sub(self.value[op.a], self.value[op.b])),
            b.add(self.error[op.a], self.error[op.b]),
        )

    def _abs(self, i: int) -> int:
        b = self.builder
        return b.apply("max", i, b.sub(b.const(0), i))

    def _of(self, i: int) -> int:
        b, op = self.builder, self.program.ops[i]
        zero = b.const(0)
        if op.kind == "input" and op.value in self.variables:
            return b.input(f"error of {op.value}")
        own = b.mul(self.rounding, self._abs(self.value[i]))
        if op.kind == "const":
            return zero if Fraction(op.value).denominator == 1 else own
        if op.kind == "input":
            return zero if op.value == TIME else own
        ea, eb = self.error[op.a], self.error[op.b] if op.b >= 0 else zero
        if op.kind == "step":
            return zero
        if op.kind in ("min", "max"):
            return b.apply("max", ea, eb)
        if op.kind in ("add", "sub"):
            return b.add(own, b.add(ea, eb))
        total = own
        for slope, error in zip(self._slopes(op), (ea, eb), strict=False):
            if error != zero:
                total = b.add(total, b.mul(self._abs(slope), error))
        return total

    def _slopes(self, op: Op) -> list[int]:
        """d(step)/d(operand) for each operand."""
        names = ["a", "b"][: 1 + (op.b >= 0)]
        one = Builder()
        inputs = [one.input(name) for name in names]
        method = getattr(one, op.kind, None)
        alone = one.build([method(*inputs) if method and len(inputs) > 1 else one.apply(op.kind, *inputs)])
        place = dict(zip(names, (self.value[op.a], self.value[op.b]), strict=False))
        slopes = []
        for name in names:
            slope = differentiate(alone, name)
            slopes.append(self.builder.extend(slope, place)[slope.outputs[0]])
        return slopes


def signed_arguments(system: System, switches: Sequence[int]) -> Program:
    """The arguments of some switches: first operand less second, or the operand of a step."""
    builder, program = Builder(), composed(system)
    steps = builder.extend(program)
    rows = []
    for op in (program.ops[i] for i in switches):
        rows.append(steps[op.a] if op.b < 0 else builder.sub(steps[op.a], steps[op.b]))
    return builder.build(rows)


def with_slopes(program: Program, side: Mapping[int, float], variables: Sequence[str]) -> Program:
    """Outputs and switches' arguments with these sides taken, then their derivatives by each variable."""
    builder = Builder()
    place: list[int] = []
    arguments: list[int] = []
    for i, op in enumerate(program.ops):
        if i not in side:
            place.append(builder._replay(op, place))
            continue
        a = place[op.a]
        if op.kind == "step":
            place.append(builder.const(1 if side[i] > 0 else 0))
            arguments.append(a)
        else:
            b = place[op.b]
            place.append(a if (side[i] > 0) == (op.kind == "max") else b)
            arguments.append(builder.sub(a, b))
    fixed = builder.build([*(place[i] for i in program.outputs), *arguments])
    whole = Builder()
    steps = whole.extend(fixed)
    rows = [steps[i] for i in fixed.outputs]
    for name in variables:
        slope = differentiate(fixed, name)
        steps = whole.extend(slope)
        rows += [steps[i] for i in slope.outputs]
    return whole.build(rows)
