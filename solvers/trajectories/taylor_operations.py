"""The tape's operations on rows of Taylor coefficients, `LANES` trajectories side by side.

Every row of `T` holds one Taylor coefficient of one value for all lanes: `T[slot, k, lane]`. Rows are passed by
address. The recurrences are those of A. Jorba, M. Zou, A software package for the numerical integration of ODEs by
means of high-order Taylor methods, Experimental Mathematics 14, 2005.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as _intrinsic

from tcpdynamics.linked import linked

intrinsic: Callable[..., Any] = _intrinsic

#: Of all compiled functions behind `taylor_kernel.integrate`; the inner ones have no cache of their own.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
inner: Callable[..., Any] = linked(**OPTIONS)

#: Trajectories side by side: two AVX-512 registers.
LANES = 16
ROW = LANES * 8  # bytes

ADD, SUB, MUL, DIV, EXP, LOG, POW, STEP, LAG, MULC, ADDC, SUBC, CSUB, DIVC = range(14)
SIN, COS, TANH, ATAN = range(14, 18)

#: Functions c(a) whose derivative by a is itself a value of the tape, `b`: c' = b a'.
WITH_SLOPE = (SIN, COS, TANH, ATAN)

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)


def _pointer(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, _VECTOR.as_pointer())


def _absolute(builder: Any) -> Any:
    """The function |row|."""
    kind = ir.FunctionType(_VECTOR, [_VECTOR])
    return cgutils.get_or_insert_function(builder.module, kind, f"llvm.fabs.v{LANES}f64")


def _vector_operation(name: str) -> Any:
    """An operation on two rows, given by their addresses: c = a op b."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        c, a, b = (_pointer(builder, x) for x in args)
        left, right = builder.load(a, align=8), builder.load(b, align=8)
        builder.store(getattr(builder, name)(left, right), c, align=8)
        return context.get_dummy_value()

    @intrinsic
    def operation(typing: Any, c: Any, a: Any, b: Any) -> Any:
        return types.void(types.intp, types.intp, types.intp), generate

    return operation


add_rows, subtract_rows, multiply_rows, divide_rows = (
    _vector_operation(name) for name in ("fadd", "fsub", "fmul", "fdiv")
)


@intrinsic
def copy_row(typing: Any, c: Any, a: Any) -> Any:
    """c = a, rows by address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        c, a = (_pointer(builder, x) for x in args)
        builder.store(builder.load(a, align=8), c, align=8)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp), generate


@intrinsic
def scale_row(typing: Any, c: Any, a: Any, factor: Any) -> Any:
    """c = factor a, for a number `factor`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        c, a = (_pointer(builder, x) for x in args[:2])
        row = cgutils.alloca_once_value(builder, ir.Constant(_VECTOR, ir.Undefined))
        value = builder.load(row)
        for i in range(LANES):
            value = builder.insert_element(value, args[2], ir.Constant(ir.IntType(32), i))
        builder.store(builder.fmul(builder.load(a, align=8), value), c, align=8)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.float64), generate


@intrinsic
def convolve(typing: Any, c: Any, a: Any, b: Any, first: Any, last: Any, total: Any) -> Any:
    """c = sum of a_j b_(total - j) for j = first..last; a and b are addresses of rows 0."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        c, a, b, first, last, total = args
        row = ir.Constant(first.type, ROW)
        sum_ = cgutils.alloca_once(builder, _VECTOR)
        builder.store(ir.Constant(_VECTOR, [0.0] * LANES), sum_)
        count = builder.add(builder.sub(last, first), ir.Constant(first.type, 1))
        with cgutils.for_range(builder, count) as loop:
            j = builder.add(first, loop.index)
            x = builder.load(_pointer(builder, builder.add(a, builder.mul(j, row))), align=8)
            at = builder.mul(builder.sub(total, j), row)
            y = builder.load(_pointer(builder, builder.add(b, at)), align=8)
            product = builder.fmul(x, y, flags=("contract",))
            builder.store(builder.fadd(builder.load(sum_), product, flags=("contract",)), sum_)
        builder.store(builder.load(sum_), _pointer(builder, c), align=8)
        return context.get_dummy_value()

    return types.void(*[types.intp] * 6), generate


@intrinsic
def any_larger(typing: Any, a: Any, bound: Any) -> Any:
    """Whether any number of a row is larger than a bound, or smaller than the bound's negative."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row = builder.load(_pointer(builder, args[0]), align=8)
        bits = ir.VectorType(ir.IntType(1), LANES)
        no = ir.Constant(bits, [0] * LANES)
        rows = []
        for bound, sign in ((args[1], ">"), (builder.fneg(args[1]), "<")):
            limit = ir.Constant(_VECTOR, ir.Undefined)
            for i in range(LANES):
                limit = builder.insert_element(limit, bound, ir.Constant(ir.IntType(32), i))
            rows.append(builder.fcmp_ordered(sign, row, limit))
        far = builder.bitcast(builder.or_(*rows), ir.IntType(LANES))
        return builder.icmp_unsigned("!=", far, builder.bitcast(no, ir.IntType(LANES)))

    return types.boolean(types.intp, types.float64), generate


@intrinsic
def horner_pass(typing: Any, row: Any, shift: Any, top: Any, bottom: Any) -> Any:
    """c_j += shift c_(j+1) for j = top - 1, ..., bottom: one of the passes that move a polynomial's origin."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row, shift, top, bottom = args
        step = ir.Constant(top.type, ROW)
        by = builder.load(_pointer(builder, shift), align=8)
        above = cgutils.alloca_once(builder, _VECTOR)
        at = builder.add(row, builder.mul(top, step))
        builder.store(builder.load(_pointer(builder, at), align=8), above)
        with cgutils.for_range(builder, builder.sub(top, bottom)) as loop:
            j = builder.sub(builder.sub(top, loop.index), ir.Constant(top.type, 1))
            cell = _pointer(builder, builder.add(row, builder.mul(j, step)))
            product = builder.fmul(by, builder.load(above), flags=("contract",))
            value = builder.fadd(builder.load(cell, align=8), product, flags=("contract",))
            builder.store(value, above)
            builder.store(value, cell, align=8)
        return context.get_dummy_value()

    return types.void(*[types.intp] * 4), generate


@intrinsic
def series_at(typing: Any, value: Any, slope: Any, series: Any, at: Any, order: Any) -> Any:
    """The value and the slope of a series at times `at`, a row; all but `order` are addresses of rows."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value, slope, series, at, order = args
        step = ir.Constant(order.type, ROW)
        by = builder.load(_pointer(builder, at), align=8)
        sum_, slopes = cgutils.alloca_once(builder, _VECTOR), cgutils.alloca_once(builder, _VECTOR)
        top = _pointer(builder, builder.add(series, builder.mul(order, step)))
        builder.store(builder.load(top, align=8), sum_)
        builder.store(ir.Constant(_VECTOR, [0.0] * LANES), slopes)
        with cgutils.for_range(builder, order) as loop:
            k = builder.sub(builder.sub(order, loop.index), ir.Constant(order.type, 1))
            term = builder.load(_pointer(builder, builder.add(series, builder.mul(k, step))), align=8)
            for total, plus in ((slopes, builder.load(sum_)), (sum_, term)):
                product = builder.fmul(builder.load(total), by, flags=("contract",))
                builder.store(builder.fadd(product, plus, flags=("contract",)), total)
        builder.store(builder.load(sum_), _pointer(builder, value), align=8)
        builder.store(builder.load(slopes), _pointer(builder, slope), align=8)
        return context.get_dummy_value()

    return types.void(*[types.intp] * 5), generate


@intrinsic
def terms_at(typing: Any, total: Any, series: Any, at: Any, order: Any) -> Any:
    """The terms of a series at times `at` added up without their signs; all but `order` are addresses of rows."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        total, series, at, order = args
        by, row = builder.load(_pointer(builder, at), align=8), ir.Constant(order.type, ROW)
        sum_ = cgutils.alloca_once_value(builder, ir.Constant(_VECTOR, [0.0] * LANES))
        with cgutils.for_range(builder, builder.add(order, ir.Constant(order.type, 1))) as loop:
            at = builder.add(series, builder.mul(builder.sub(order, loop.index), row))
            term = builder.call(_absolute(builder), [builder.load(_pointer(builder, at), align=8)])
            builder.store(builder.fadd(builder.fmul(builder.load(sum_), by), term), sum_)
        builder.store(builder.load(sum_), _pointer(builder, total), align=8)
        return context.get_dummy_value()

    return types.void(*[types.intp] * 4), generate


@intrinsic
def count_apart(
    typing: Any, count: Any, x: Any, y: Any, by: Any, size: Any, slope: Any, at: Any, top: Any, atol: Any, rtol: Any
) -> Any:
    """Add 1 to lanes where |x - y| by > atol + rtol (size + at |slope|), else 2^-30 where `top` is zero; by address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        x, y, by, size, slope, at, top = (builder.load(_pointer(builder, a), align=8) for a in args[1:8])
        positive = _absolute(builder)
        floor, share = (ir.Constant(_VECTOR, ir.Undefined) for _ in range(2))
        for i in range(LANES):
            floor = builder.insert_element(floor, args[8], ir.Constant(ir.IntType(32), i))
            share = builder.insert_element(share, args[9], ir.Constant(ir.IntType(32), i))
        apart = builder.fmul(builder.call(positive, [builder.fsub(x, y)]), by)
        scale = builder.fadd(builder.call(positive, [size]), builder.fmul(at, builder.call(positive, [slope])))
        agrees = builder.fcmp_ordered("<=", apart, builder.fadd(floor, builder.fmul(share, scale)))
        full = builder.fcmp_unordered("!=", top, ir.Constant(_VECTOR, [0.0] * LANES))
        counted = builder.load(_pointer(builder, args[0]), align=8)
        more = (ir.Constant(_VECTOR, [x] * LANES) for x in (0.0, 2.0**-30, 1.0))
        none, little, one = more
        added = builder.select(agrees, builder.select(full, none, little), one)
        builder.store(builder.fadd(counted, added), _pointer(builder, args[0]), align=8)
        return context.get_dummy_value()

    return types.void(*[types.intp] * 8, types.float64, types.float64), generate


@intrinsic
def call_at(typing: Any, function: Any, a: Any, b: Any, c: Any) -> Any:
    """Call void(int, int, int) at an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [word] * 3).as_pointer()
        builder.call(builder.inttoptr(args[0], kind), args[1:])
        return context.get_dummy_value()

    return types.void(*[types.intp] * 4), generate


@inner
def order_zero(code: Any, T: Any, sides: Any, lags: Any) -> None:
    """Values of the operations in `code`, from the values of their operands."""
    base, slot = T.ctypes.data, T.shape[1] * ROW
    for i in range(code.shape[0]):
        kind, c, a, b = code[i, 0], code[i, 1], code[i, 2], code[i, 3]
        if kind == STEP:
            for lane in range(LANES):
                if sides[b, lane] == 0:
                    sides[b, lane] = 1 if T[a, 0, lane] >= 0 else -1
                T[c, 0, lane] = 1.0 if sides[b, lane] > 0 else 0.0
        elif kind == LAG:
            for lane in range(LANES):
                if lags[b, lane] == 0.0:
                    T[c, 0, lane] = T[a, 0, lane]
        elif kind == ADD:
            add_rows(base + c * slot, base + a * slot, base + b * slot)
        elif kind == SUB:
            subtract_rows(base + c * slot, base + a * slot, base + b * slot)
        elif kind == MUL:
            multiply_rows(base + c * slot, base + a * slot, base + b * slot)
        elif kind == DIV:
            divide_rows(base + c * slot, base + a * slot, base + b * slot)
        else:
            for lane in range(LANES):
                x = T[a, 0, lane]
                if kind == EXP:
                    T[c, 0, lane] = math.exp(x)
                elif kind == LOG:
                    T[c, 0, lane] = math.log(x)
                elif kind == SIN:
                    T[c, 0, lane] = math.sin(x)
                elif kind == COS:
                    T[c, 0, lane] = math.cos(x)
                elif kind == TANH:
                    T[c, 0, lane] = math.tanh(x)
                elif kind == ATAN:
                    T[c, 0, lane] = math.atan(x)
                else:
                    T[c, 0, lane] = x ** T[b, 0, lane]


@inner
def higher_order(code: Any, T: Any, base: Any, slot: Any, k: Any, lags: Any, tmp: Any) -> None:
    """Coefficient k of the operations in `code`, from lower ones and from coefficients k of their operands."""
    row = base + k * ROW
    for i in range(code.shape[0]):
        kind = code[i, 0]
        c, a, b = code[i, 1] * slot, code[i, 2] * slot, code[i, 3] * slot
        if kind == MUL:
            convolve(row + c, base + a, base + b, 0, k, k)
        elif kind == MULC:
            multiply_rows(row + c, row + a, base + b)
        elif kind == ADD:
            add_rows(row + c, row + a, row + b)
        elif kind == SUB:
            subtract_rows(row + c, row + a, row + b)
        elif kind == ADDC or kind == SUBC:
            copy_row(row + c, row + a)
        elif kind == CSUB:
            scale_row(row + c, row + b, -1.0)
        elif kind == DIVC:
            divide_rows(row + c, row + a, base + b)
        elif kind == DIV:  # c b = a
            convolve(tmp, base + b, base + c, 1, k, k)
            subtract_rows(tmp, row + a, tmp)
            divide_rows(row + c, tmp, base + b)
        elif kind == LAG:
            for lane in range(LANES):
                if lags[code[i, 3], lane] == 0.0:
                    T[code[i, 1], k, lane] = T[code[i, 2], k, lane]
        elif kind >= SIN:  # c' = b a'
            da = base + code[i, 4] * slot
            scale_row(da + k * ROW, row + a, float(k))
            convolve(tmp, da, base + b, 1, k, k)
            scale_row(row + c, tmp, 1.0 / k)
        else:
            da, dc = base + code[i, 4] * slot, base + code[i, 5] * slot  # j a_j and j c_j
            scale_row(da + k * ROW, row + a, float(k))
            if kind == EXP:  # c' = a' c
                convolve(tmp, da, base + c, 1, k, k)
                scale_row(row + c, tmp, 1.0 / k)
            elif kind == LOG:  # a c' = a'
                convolve(tmp, dc, base + a, 1, k - 1, k)
                scale_row(tmp, tmp, -1.0 / k)
                add_rows(tmp, tmp, row + a)
                divide_rows(row + c, tmp, base + a)
            else:  # a c' = b a' c, for a constant b
                convolve(tmp, da, base + c, 1, k, k)
                multiply_rows(tmp, tmp, base + b)
                convolve(tmp + ROW, dc, base + a, 1, k - 1, k)
                subtract_rows(tmp, tmp, tmp + ROW)
                scale_row(tmp, tmp, 1.0 / k)
                divide_rows(row + c, tmp, base + a)
            scale_row(dc + k * ROW, row + c, float(k))


@inner
def value_at(T: Any, slot: Any, order: Any, lane: Any, h: Any) -> Any:
    value = T[slot, order, lane]
    for k in range(order - 1, -1, -1):
        value = value * h + T[slot, k, lane]
    return value
