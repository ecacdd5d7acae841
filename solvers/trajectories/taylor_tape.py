"""Equations as a tape for the Taylor kernel: straight-line steps, sorted by how they vary along a trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..equations import System
from ..problems import TIME
from ..programs.straightline import Builder, Program, slope_of

#: How a value varies: with the parameters only; also with the sides of switches; along the trajectory.
FIXED, HELD, MOVING = range(3)


@dataclass(frozen=True, eq=False)
class Tape:
    """What `taylor_kernel.integrate` reads; every field but `inputs` holds slots. See there."""

    code0: NDArray[np.int64]
    code1: NDArray[np.int64]
    code2: NDArray[np.int64]
    slots: int
    states: NDArray[np.int64]
    rhs: NDArray[np.int64]
    recorded: NDArray[np.int64]
    inputs: NDArray[np.int64]
    names: tuple[str, ...]
    constants: tuple[float, ...]
    clock: int
    guards: NDArray[np.int64]
    delayed: NDArray[np.int64]
    ages: NDArray[np.int64]
    past: NDArray[np.int64]
    past_names: tuple[str, ...]

    def __post_init__(self) -> None:
        """Machine code reads rows by address: no slot may lie outside. Raises ValueError."""
        from . import taylor_operations as opcodes

        two = (
            opcodes.ADD, opcodes.SUB, opcodes.MUL, opcodes.DIV, opcodes.POW, opcodes.MULC, opcodes.ADDC, opcodes.SUBC,
            opcodes.CSUB, opcodes.DIVC,
        )  # fmt: skip
        self._within("states", np.concatenate([self.states, self.rhs, self.recorded, self.inputs]))
        self._within("what is looked back at", np.concatenate([self.delayed, self.past]))
        self._within("guards", self.guards[:, 0] if self.guards.ndim == 2 else self.guards)
        self._within("ages", self.ages, self.past.size)
        self._within("the clock", np.array([max(self.clock, 0)]))
        for code in (self.code0, self.code1, self.code2):
            kind = code[:, 0]
            self._within("operations", code[:, 1:3])
            read = two if code is not self.code2 else (*two, *opcodes.WITH_SLOPE)
            self._within("operands", code[np.isin(kind, read), 3])
            self._within("switches", code[kind == opcodes.STEP, 3], len(self.guards))
            self._within("delays", code[kind == opcodes.LAG, 3], self.delayed.size)
        moving = self.code2[:, 0]
        roots = (opcodes.EXP, opcodes.LOG, opcodes.POW)
        self._within("derivatives", self.code2[np.isin(moving, (*roots, *opcodes.WITH_SLOPE)), 4])
        self._within("derivatives", self.code2[np.isin(moving, roots), 5])

    def _within(self, what: str, slots: NDArray[np.int64], bound: int | None = None) -> None:
        bound = self.slots if bound is None else bound
        if slots.size and (slots.min() < 0 or slots.max() >= bound):
            raise ValueError(f"a slot of {what} lies outside of the {bound} there are")


def write_tape(system: System) -> Tape:
    """The tape of a system: its parameters and constants are inputs, one slot each.

    Minima, maxima and absolute values become a choice between two sides by a switch; general powers become
    exponentials.
    """
    from . import taylor_operations as opcodes

    program, slopes, rhs, recorded, of, lagged = _one_program(system)
    kinds = _kinds(program, set(system.labels), set(system.delayed))
    ops = program.ops
    count = len(ops)
    code0: list[list[int]] = []
    code1: list[list[int]] = []
    code2: list[list[int]] = []
    names: list[str] = []
    inputs: list[int] = []
    constants: list[float] = []
    guards: list[list[int]] = []
    states: dict[str, int] = {}
    delayed: dict[str, int] = {}
    clock = -1
    for i, op in enumerate(ops):
        if op.kind == "const":
            inputs.append(i)
            names.append("")
            constants.append(float(op.value))
            continue
        if op.kind == "input":
            if op.value in system.labels:
                states[op.value] = i
            elif op.value == TIME:
                clock = i
            elif op.value in system.delayed:
                delayed[op.value] = i
                step = [opcodes.LAG, i, of[op.value], list(lagged).index(op.value), -1, -1]
                code1.append(step)
                code2.append(step)
            else:
                inputs.append(i)
                names.append(op.value)
                constants.append(0.0)
            continue
        if op.kind == "step":
            step = [opcodes.STEP, i, op.a, len(guards), -1, -1]
            guards.append([op.a, -1])
            code1.append(step)
            continue
        kind = getattr(opcodes, op.kind.upper())
        a, b, first, second = op.a, op.b, -1, -1
        if op.kind not in ("add", "sub", "mul", "div"):
            b = slopes.get(i, b)
        step = [kind, i, a, b, -1, -1]
        if kinds[i] == FIXED:
            code0.append(step)
            continue
        code1.append(step)
        if kinds[i] == HELD:
            continue
        if kind == opcodes.POW:
            guards += [[i, b], [a, b]]  # behind a zero of even order of the one, the other changes its sign
        if kind in opcodes.WITH_SLOPE:
            first, count = count, count + 1
        elif kind in (opcodes.EXP, opcodes.LOG, opcodes.POW):
            first, second, count = count, count + 1, count + 2
        else:
            kind, a, b = _beside_a_constant(kind, a, b, kinds)
        code2.append([kind, i, a, b, first, second])
    past = list(dict.fromkeys(d.of for d in lagged.values()))
    source_slot = {d.of: of[name] for name, d in lagged.items()}
    used = [name for name in lagged if name in delayed]

    def array(rows: Any, width: int = 0) -> NDArray[np.int64]:
        return np.array(rows, np.int64).reshape((-1, width) if width else (-1,))

    return Tape(
        array(code0, 6), array(code1, 6), array(code2, 6), count,
        array([states[s] for s in system.labels]), array(rhs), array(recorded), array(inputs), tuple(names),
        tuple(constants), clock, array(guards, 2),
        array([delayed[n] for n in used]), array([past.index(lagged[n].of) for n in used]),
        array([source_slot[p] for p in past]), tuple(past),
    )  # fmt: skip


def _beside_a_constant(kind: int, a: int, b: int, kinds: Sequence[int]) -> tuple[int, int, int]:
    """The cheaper operation where one of two operands does not move, with its operands in order."""
    from . import taylor_operations as opcodes

    either_side = {opcodes.ADD: opcodes.ADDC, opcodes.MUL: opcodes.MULC}
    if kinds[b] < MOVING:
        return (either_side | {opcodes.SUB: opcodes.SUBC, opcodes.DIV: opcodes.DIVC})[kind], a, b
    if kinds[a] < MOVING and kind in either_side:
        return either_side[kind], b, a
    if kinds[a] < MOVING and kind == opcodes.SUB:
        return opcodes.CSUB, a, b
    return kind, a, b


def _one_program(
    system: System,
) -> tuple[Program, dict[int, int], list[int], list[int], dict[str, int], dict[str, Any]]:
    """Outputs that are looked back at first, then the delayed values, then the equations: slots in that order."""
    lagged = dict(system.problem._lagged)
    builder = _Lowering({*system.labels, *lagged, TIME})
    states = {label: builder.input(label) for label in system.labels}
    outputs = list(system.problem.outputs)
    wanted = [d.of for d in lagged.values() if d.of in outputs]
    first = _only(system.outputs, [outputs.index(name) for name in wanted])
    placed = builder.extend(first)
    source = states | {name: placed[row] for name, row in zip(wanted, first.outputs, strict=True)}
    for name in lagged:
        builder.input(name)
    slopes = builder.extend(system.rhs)
    others = builder.extend(system.outputs)
    rhs = [slopes[i] for i in system.rhs.outputs]
    recorded = [*states.values(), *(others[i] for i in system.outputs.outputs)]
    of = {name: source[d.of] for name, d in lagged.items()}
    return Program(tuple(builder.ops), ()), builder.slopes, rhs, recorded, of, lagged


def _only(program: Program, rows: list[int]) -> Program:
    builder = Builder()
    placed = builder.extend(program)
    return builder.build([placed[program.outputs[r]] for r in rows])


class _Lowering(Builder):
    """Writes what the kernel does not know in terms of what it does."""

    def __init__(self, moving: set[str]) -> None:
        super().__init__()
        self._moving = moving
        self.slopes: dict[int, int] = {}  # functions whose derivative is a step of its own

    def sub(self, a: int, b: int) -> int:
        if self._constant(a) == 0 and self.ops[b].kind == "sub":  # exact; Max(x, y) and Max(0, x - y) are one switch
            return self.sub(self.ops[b].b, self.ops[b].a)
        return super().sub(a, b)

    def apply(self, kind: str, a: int, b: int = -1) -> int:
        if kind in ("min", "max"):
            gap = self.sub(a, b)
            chosen = self.mul(self.apply("step", gap), gap)
            return self.add(b, chosen) if kind == "max" else self.sub(a, chosen)
        exponent = self.ops[b] if kind == "pow" else None
        if exponent and not (exponent.kind == "const" or exponent.value not in {None, *self._moving}):
            return self.apply("exp", self.mul(b, self.apply("log", a)))
        step = super().apply(kind, a, b)
        if step in self.slopes:
            return step
        if kind in ("sin", "cos"):  # each is the other's derivative, so that both are needed
            sine, cosine = super().apply("sin", a), super().apply("cos", a)
            self.slopes |= {sine: cosine, cosine: self.sub(self.const(0), sine)}
        elif kind in ("tanh", "atan"):
            self.slopes[step] = slope_of(self, kind, a, step)
        return step


def _kinds(program: Program, states: set[str], delayed: set[str]) -> list[int]:
    kinds: list[int] = []
    for op in program.ops:
        if op.kind == "const":
            kinds.append(FIXED)
        elif op.kind == "input":
            moving = op.value in states or op.value in delayed or op.value == TIME
            kinds.append(MOVING if moving else FIXED)
        elif op.kind == "step":
            kinds.append(HELD)
        else:
            kinds.append(max(kinds[op.a], kinds[op.b] if op.b >= 0 else FIXED))
    return kinds
