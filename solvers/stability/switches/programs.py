"""Programs that see switches: the composed equations, the arguments of their switches with errors, fixed sides.

A switch (a step min, max or step of a program) compares two numbers; its argument is their difference. A point lies on
it where the argument is zero within the error with which it is known. That error is followed through the program to
first order, as in a running error analysis: from what the states at rest may be wrong by, and one rounding for each
parameter and each step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...equations import Equations, System
from ...problems import TIME
from ...programs.straightline import Builder, Op, Program, differentiate, hold, with_partials

Array = NDArray[np.float64]

#: What a state at rest may be wrong by, relative and in its own unit, and a parameter or a step of arithmetic,
#: relative. Newton's last correction and closed forms leave a few roundings; 2^-40 allows for a condition number of
#: 10^3. A linearisation so near a switch would hold for deviations that are smaller still.
RELATIVE, ABSOLUTE, ROUNDING = 2.0**-40, 2.0**-50, 2.0**-52


def tied(system: System, states: Array, points: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(switches, m) whether the argument of each is zero within the error with which it is known."""
    equations = system.equations
    program = equations.once("errors of switches", lambda: _errors(equations))
    values = at_rest_values(system, states)
    errors = {f"error of {k}": RELATIVE * np.abs(v) + ABSOLUTE for k, v in values.items() if k != TIME}
    gap, bound = np.split(system.evaluate(program, values | errors, points), 2)
    return np.asarray((gap <= bound) | (gap == 0.0))


def at_rest_values(system: System, states: Array) -> dict[str, Any]:
    """Inputs of the composed equations: every state as it is and was."""
    return dict(zip(system.equations.variables, cycle(states), strict=False)) | {TIME: 0.0}


def _errors(equations: Equations) -> Program:
    """Size of the argument of each switch, then what each may be wrong by."""
    errors = _Errors(equations.composed, set(equations.variables))
    pairs = [errors.argument(i) for i in equations.switches]
    return errors.builder.build([gap for gap, _ in pairs] + [bound for _, bound in pairs])


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
        return (self._abs(b.sub(self.value[op.a], self.value[op.b])), b.add(self.error[op.a], self.error[op.b]))

    def _abs(self, i: int) -> int:
        b = self.builder
        return b.apply("max", i, b.sub(b.const(0), i))

    def _of(self, i: int) -> int:
        b, op = self.builder, self.program.ops[i]
        zero = b.const(0)
        if op.kind == "input" and op.value in self.variables:
            return b.input(f"error of {op.value}")
        rounding = b.mul(self.rounding, self._abs(self.value[i]))
        if op.kind == "const":
            return zero if Fraction(op.value).denominator == 1 else rounding
        if op.kind == "input":
            return zero if op.value == TIME else rounding
        ea, eb = self.error[op.a], self.error[op.b] if op.b >= 0 else zero
        if op.kind == "step":
            return zero
        if op.kind in ("min", "max"):
            return b.apply("max", ea, eb)
        if op.kind in ("add", "sub"):
            return b.add(rounding, b.add(ea, eb))
        total = rounding
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


def signed_arguments(program: Program, switches: Sequence[int]) -> Program:
    """The arguments of some switches: first operand less second, or the operand of a step."""
    builder = Builder()
    return builder.build(_arguments(program, switches, builder, builder.extend(program)))


def with_slopes(program: Program, side: Mapping[int, float], variables: Sequence[str]) -> Program:
    """Outputs and switches' arguments with these sides taken, then their derivatives by each variable."""
    builder, place = hold(program, {i: (s > 0) == (program.ops[i].kind != "min") for i, s in side.items()})
    arguments = _arguments(program, sorted(side), builder, place)
    return with_partials(builder.build([*(place[i] for i in program.outputs), *arguments]), variables)


def _arguments(program: Program, switches: Sequence[int], builder: Builder, place: Sequence[int]) -> list[int]:
    ops = [program.ops[i] for i in switches]
    return [place[op.a] if op.b < 0 else builder.sub(place[op.a], place[op.b]) for op in ops]
