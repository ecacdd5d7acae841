"""A tape's recurrences as machine code: for sweeps large enough to pay for a tenth of a second of compiling.

The kernel reads a tape operation by operation; here the same operations are written out, order by order, as LLVM
instructions on the same rows of `T`. Nothing passes through source text. Worth a factor of two where products are few.
"""

from __future__ import annotations

from collections.abc import Container
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from . import taylor_operations as opcodes
from .taylor_tape import Tape

#: Products of rows that are written out at most: about half a second of compiling.
MAX_PRODUCTS = 12_000

_VECTOR = ir.VectorType(ir.DoubleType(), opcodes.LANES)
_WORD = ir.IntType(64)
_CONTRACT = ("contract",)

#: What needs arithmetic only at order 0 too.
_PLAIN = (opcodes.ADD, opcodes.SUB, opcodes.MUL, opcodes.DIV, opcodes.LAG, opcodes.STEP)

#: What reads one order of its operands: their other orders may never be stored.
_ONE_ORDER = (opcodes.ADD, opcodes.SUB, opcodes.MULC, opcodes.ADDC, opcodes.SUBC, opcodes.CSUB, opcodes.DIVC)

#: The code lives as long as its engine.
_ENGINES: list[Any] = []


class _Writer:
    """Rows by slot and order, of which only those of some slots are stored."""

    def __init__(self, builder: Any, base: Any, slot: int, stored: Container[int]) -> None:
        self.b, self.base, self.slot, self.stored = builder, base, slot, stored
        self.new: dict[tuple[int, int], Any] = {}

    def _at(self, slot: int, k: int) -> Any:
        address = self.b.add(self.base, ir.Constant(_WORD, slot * self.slot + k * opcodes.ROW))
        return self.b.inttoptr(address, _VECTOR.as_pointer())

    def load(self, slot: int, k: int) -> Any:
        return self.b.load(self._at(slot, k), align=8)

    def row(self, slot: int, k: int) -> Any:
        return self.new[slot, k] if (slot, k) in self.new else self.load(slot, k)

    def put(self, slot: int, k: int, value: Any) -> None:
        self.new[slot, k] = value
        if slot in self.stored:
            self.b.store(value, self._at(slot, k), align=8)

    def number(self, value: float) -> Any:
        return ir.Constant(_VECTOR, [value] * opcodes.LANES)

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """a b + c, rounded once where the processor can."""
        return self.b.fadd(self.b.fmul(a, b, flags=_CONTRACT), c, flags=_CONTRACT)

    def convolve(self, a: int, b: int, first: int, last: int, total: int) -> Any:
        """Sum of a_j b_(total - j), j = first..last; a square needs half of the products."""
        if a == b and first == 0 and last == total:
            half = self._sum(a, b, 0, (total - 1) // 2, total)
            half = self.b.fadd(half, half)
            if total % 2 == 0:
                middle = self.row(a, total // 2)
                half = self.fma(middle, middle, half)
            return half
        return self._sum(a, b, first, last, total)

    def _sum(self, a: int, b: int, first: int, last: int, total: int) -> Any:
        if last < first:
            return self.number(0.0)
        value = self.b.fmul(self.row(a, first), self.row(b, total - first))
        for j in range(first + 1, last + 1):
            value = self.fma(self.row(a, j), self.row(b, total - j), value)
        return value


def products(tape: Tape, order: int) -> int:
    """Row products that writing a tape out takes: a measure of compile time."""
    heavy = {opcodes.MUL: 1, opcodes.DIV: 1, opcodes.EXP: 1, opcodes.LOG: 1, opcodes.POW: 2}
    heavy |= dict.fromkeys(opcodes.WITH_SLOPE, 1)
    products_per_order = sum(heavy.get(int(kind), 0) for kind in tape.code2[:, 0])
    return (products_per_order * (order + 1) // 2 + len(tape.code2)) * (order + 1)


def native_code(tape: Tape, order: int, last: int) -> dict[str, int]:
    """Addresses of `values(T, lags, sides)`, `inside(V, lags, sides)`, `series(T, lags, sides)`, `advance(T, h, 0)`.

    `values` evaluates at the step's beginning, `inside` within it (0 where a function needs the kernel),
    `series` fills the coefficients, `advance` takes the step.

    Parameters
    ----------
    order : degree of the states' polynomials
    last : highest order that is wanted of other values
    """
    codes = (tuple(map(tuple, code.tolist())) for code in (tape.code1, tape.code2))
    read = (tape.states, tape.recorded, tape.past, tape.delayed, tape.guards[:, 0])
    stored = set(np.concatenate(read).tolist())
    for kind, *slots in tape.code2.tolist():
        if kind not in _ONE_ORDER:
            stored.update(slots[1:] if kind == opcodes.MUL else slots)
    addresses = _compile(*codes, tuple(tape.states.tolist()), tuple(tape.rhs.tolist()), frozenset(stored), order, last)
    return dict(zip(("values", "inside", "series", "advance"), addresses, strict=True))


@lru_cache(maxsize=64)
def _compile(
    zero: tuple[tuple[int, ...], ...],
    code: tuple[tuple[int, ...], ...],
    states: tuple[int, ...],
    rhs: tuple[int, ...],
    stored: frozenset[int],
    order: int,
    last: int,
) -> tuple[int, int, int, int]:
    module = ir.Module()
    slot = (order + 1) * opcodes.ROW
    kind = ir.FunctionType(ir.VoidType(), [_WORD] * 3)
    plain = all(operation[0] in _PLAIN for operation in zero)
    for name, stride in (("values", slot), ("inside", opcodes.ROW)):
        values = ir.Function(module, kind, name)
        w = _Writer(ir.IRBuilder(values.append_basic_block()), values.args[0], stride, {c for _, c, *_ in zero})
        for operation in zero if plain else ():
            _write(w, operation, 0, *values.args[1:])
        w.b.ret_void()
    series = ir.Function(module, kind, "series")
    w = _Writer(ir.IRBuilder(series.append_basic_block()), series.args[0], slot, stored)
    for state, slope in zip(states, rhs, strict=True):
        w.put(state, 1, w.row(slope, 0))
    for k in range(1, last + 1):
        w.new = {row: value for row, value in w.new.items() if row[1] >= k}
        for operation in code:
            _write(w, operation, k, *series.args[1:])
        for state, slope in zip(states, rhs, strict=True):
            if k < order:
                w.put(state, k + 1, w.b.fmul(w.row(slope, k), w.number(1.0 / (k + 1))))
    w.b.ret_void()
    advance = ir.Function(module, kind, "advance")
    w = _Writer(ir.IRBuilder(advance.append_basic_block()), advance.args[0], slot, states)
    h = w.b.load(w.b.inttoptr(advance.args[1], _VECTOR.as_pointer()), align=8)
    for state in states:
        value = w.row(state, order)
        for k in range(order - 1, -1, -1):
            value = w.fma(value, h, w.row(state, k))
        w.put(state, 0, value)
    w.b.ret_void()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    machine = llvm.Target.from_default_triple().create_target_machine(llvm.get_host_cpu_name(), features, opt=2)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(str(module)), machine)
    engine.finalize_object()
    _ENGINES.append(engine)
    zero_order = (engine.get_function_address(name) if plain else 0 for name in ("values", "inside"))
    return *zero_order, engine.get_function_address("series"), engine.get_function_address("advance")


def _write(w: _Writer, operation: tuple[int, ...], k: int, lags: Any, sides: Any) -> None:
    """One operation at order k: the recurrences of `taylor_operations.higher_order`."""
    kind, c, a, b, da, dc = operation
    if kind == opcodes.MUL:
        w.put(c, k, w.convolve(a, b, 0, k, k))
    elif kind == opcodes.MULC:
        w.put(c, k, w.b.fmul(w.row(a, k), w.row(b, 0)))
    elif kind in (opcodes.ADD, opcodes.SUB):
        w.put(c, k, (w.b.fadd if kind == opcodes.ADD else w.b.fsub)(w.row(a, k), w.row(b, k)))
    elif kind in (opcodes.ADDC, opcodes.SUBC):
        w.put(c, k, w.row(a, k))
    elif kind == opcodes.CSUB:
        w.put(c, k, w.b.fneg(w.row(b, k)))
    elif kind == opcodes.DIVC:
        w.put(c, k, w.b.fdiv(w.row(a, k), w.row(b, 0)))
    elif kind == opcodes.DIV:
        difference = w.b.fsub(w.row(a, k), w.convolve(b, c, 1, k, k))
        w.put(c, k, w.b.fdiv(difference, w.row(b, 0)))
    elif kind == opcodes.STEP:
        words = ir.VectorType(_WORD, opcodes.LANES)
        zero, up, down = (ir.Constant(words, [side] * opcodes.LANES) for side in (0, 1, -1))
        address = w.b.inttoptr(w.b.add(sides, ir.Constant(_WORD, b * opcodes.ROW)), words.as_pointer())
        side = w.b.load(address, align=8)
        fresh = w.b.select(w.b.fcmp_ordered(">=", w.row(a, 0), w.number(0.0)), up, down)
        side = w.b.select(w.b.icmp_signed("==", side, zero), fresh, side)
        w.b.store(side, address, align=8)
        w.put(c, 0, w.b.select(w.b.icmp_signed(">", side, zero), w.number(1.0), w.number(0.0)))
    elif kind == opcodes.LAG:
        address = w.b.add(lags, ir.Constant(_WORD, b * opcodes.ROW))
        lag = w.b.load(w.b.inttoptr(address, _VECTOR.as_pointer()), align=8)
        none = w.b.fcmp_ordered("==", lag, w.number(0.0))
        w.put(c, k, w.b.select(none, w.row(a, k), w.row(c, k)))
    elif kind in opcodes.WITH_SLOPE:
        w.put(da, k, w.b.fmul(w.row(a, k), w.number(float(k))))
        w.put(c, k, w.b.fmul(w.convolve(da, b, 1, k, k), w.number(1.0 / k)))
    else:
        w.put(da, k, w.b.fmul(w.row(a, k), w.number(float(k))))
        if kind == opcodes.EXP:
            value = w.b.fmul(w.convolve(da, c, 1, k, k), w.number(1.0 / k))
        elif kind == opcodes.LOG:
            inner = w.b.fmul(w.convolve(dc, a, 1, k - 1, k), w.number(1.0 / k))
            value = w.b.fdiv(w.b.fsub(w.row(a, k), inner), w.row(a, 0))
        else:
            up = w.b.fmul(w.convolve(da, c, 1, k, k), w.row(b, 0))
            inner = w.b.fmul(w.b.fsub(up, w.convolve(dc, a, 1, k - 1, k)), w.number(1.0 / k))
            value = w.b.fdiv(inner, w.row(a, 0))
        w.put(c, k, value)
        w.put(dc, k, w.b.fmul(value, w.number(float(k))))
