"""Taylor integration of many trajectories at once, compiled: the loop behind `trajectory`.

`LANES` trajectories advance side by side, each with its own time and step; a lane that ends takes the next
trajectory. The equations come as a tape (see `taylor_tape`), so this is compiled once for all models. Every row of
`T` holds one Taylor coefficient of one value for all lanes: `T[slot, k, lane]`.

The past of a delayed value is kept as the Taylor polynomials of the steps taken: re-expanded at the present, they
give the delayed value's coefficients, so that the past enters with the full order. A step ends where such a
polynomial ends, which carries discontinuities forward. A switch keeps its side for a whole step; the step is cut
where the switch's argument changes sign. Which side holds next is a matter of record, not of the argument's sign
there, which rounding decides: at the switch, the term that leaves rounding first tells where the motion heads.

Sources: A. Jorba, M. Zou, A software package for the numerical integration of ODEs by means of high-order Taylor
methods, Experimental Mathematics 14, 2005 (recurrences and step control); A. Bellen, M. Zennaro, Numerical methods
for delay differential equations, 2003, chapter 4 (propagated discontinuities).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic as _intrinsic

from tcpdynamics.compiled import kept_on_disk

from ..results import Status

intrinsic: Callable[..., Any] = _intrinsic

#: Trajectories side by side: two AVX-512 registers.
LANES = 16
ROW = LANES * 8  # bytes

ADD, SUB, MUL, DIV, EXP, LOG, POW, STEP, LAG, MULC, ADDC, SUBC, CSUB, DIVC = range(14)
SIN, COS, TANH, ATAN = range(14, 18)

#: Functions c(a) whose derivative by a is itself a value of the tape, `b`: c' = b a'.
WITH_SLOPE = (SIN, COS, TANH, ATAN)

#: Status of a trajectory, see solvers.results.Status; the last two are the kernel's own names of reasons there.
OK, STEPS, OVERFLOW = map(int, (Status.OK, Status.STEPS, Status.OVERFLOW))
SLIDES, SINGULAR = -1, -2

#: A switch that changes sides more often than this at one moment does not let go of the motion.
MOST_FLIPS = 4

#: Rounding errors of a switch's argument are below this many times what `_roundings` adds up.
ROUNDING = 8 * 2.0**-52

#: A smooth piece of the past may be read this far beyond its own step: so that later steps can grow again.
STRETCH = 1.15

#: A step is cut short to end where a piece of the past ends if it keeps this share of its length: read from its own
#: beginning, a piece needs no re-expansion and holds as far as the present's own series.
SNAP = 0.6

#: An exponential of a larger number, or a tanh of half of it, may be lost beside what it stands with.
FAR = 18.0

#: The end of a piece of the past is a discontinuity of this level (0: a jump of the slope), or none that matters.
SOFT = 1 << 30

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)


def _pointer(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, _VECTOR.as_pointer())


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


_add, _sub, _mul, _div = (_vector_operation(name) for name in ("fadd", "fsub", "fmul", "fdiv"))


@intrinsic
def _copy(typing: Any, c: Any, a: Any) -> Any:
    """c = a, rows by address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        c, a = (_pointer(builder, x) for x in args)
        builder.store(builder.load(a, align=8), c, align=8)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp), generate


@intrinsic
def _scale(typing: Any, c: Any, a: Any, factor: Any) -> Any:
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
def _convolve(typing: Any, c: Any, a: Any, b: Any, first: Any, last: Any, total: Any) -> Any:
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
def _beyond(typing: Any, a: Any, bound: Any) -> Any:
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
def _horner_pass(typing: Any, row: Any, shift: Any, top: Any, bottom: Any) -> Any:
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
            here = _pointer(builder, builder.add(row, builder.mul(j, step)))
            product = builder.fmul(by, builder.load(above), flags=("contract",))
            value = builder.fadd(builder.load(here, align=8), product, flags=("contract",))
            builder.store(value, above)
            builder.store(value, here, align=8)
        return context.get_dummy_value()

    return types.void(*[types.intp] * 4), generate


@intrinsic
def _call(typing: Any, function: Any, a: Any, b: Any) -> Any:
    """Call void(int, int) at an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [word, word]).as_pointer()
        builder.call(builder.inttoptr(args[0], kind), args[1:])
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.intp), generate


_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_inner: Callable[..., Any] = njit(**_OPTIONS)
_entry: Callable[..., Any] = partial(kept_on_disk, **_OPTIONS)


@_inner
def _order_zero(code: Any, T: Any, sides: Any, lags: Any) -> None:
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
            _add(base + c * slot, base + a * slot, base + b * slot)
        elif kind == SUB:
            _sub(base + c * slot, base + a * slot, base + b * slot)
        elif kind == MUL:
            _mul(base + c * slot, base + a * slot, base + b * slot)
        elif kind == DIV:
            _div(base + c * slot, base + a * slot, base + b * slot)
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


@_inner
def _higher_order(code: Any, T: Any, base: Any, slot: Any, k: Any, lags: Any, tmp: Any) -> None:
    """Coefficient k of the operations in `code`, from lower ones and from coefficients k of their operands."""
    here = base + k * ROW
    for i in range(code.shape[0]):
        kind = code[i, 0]
        c, a, b = code[i, 1] * slot, code[i, 2] * slot, code[i, 3] * slot
        if kind == MUL:
            _convolve(here + c, base + a, base + b, 0, k, k)
        elif kind == MULC:
            _mul(here + c, here + a, base + b)
        elif kind == ADD:
            _add(here + c, here + a, here + b)
        elif kind == SUB:
            _sub(here + c, here + a, here + b)
        elif kind == ADDC or kind == SUBC:
            _copy(here + c, here + a)
        elif kind == CSUB:
            _scale(here + c, here + b, -1.0)
        elif kind == DIVC:
            _div(here + c, here + a, base + b)
        elif kind == DIV:  # c b = a
            _convolve(tmp, base + b, base + c, 1, k, k)
            _sub(tmp, here + a, tmp)
            _div(here + c, tmp, base + b)
        elif kind == LAG:
            for lane in range(LANES):
                if lags[code[i, 3], lane] == 0.0:
                    T[code[i, 1], k, lane] = T[code[i, 2], k, lane]
        elif kind >= SIN:  # c' = b a'
            da = base + code[i, 4] * slot
            _scale(da + k * ROW, here + a, float(k))
            _convolve(tmp, da, base + b, 1, k, k)
            _scale(here + c, tmp, 1.0 / k)
        else:
            da, dc = base + code[i, 4] * slot, base + code[i, 5] * slot  # j a_j and j c_j
            _scale(da + k * ROW, here + a, float(k))
            if kind == EXP:  # c' = a' c
                _convolve(tmp, da, base + c, 1, k, k)
                _scale(here + c, tmp, 1.0 / k)
            elif kind == LOG:  # a c' = a'
                _convolve(tmp, dc, base + a, 1, k - 1, k)
                _scale(tmp, tmp, -1.0 / k)
                _add(tmp, tmp, here + a)
                _div(here + c, tmp, base + a)
            else:  # a c' = b a' c, for a constant b
                _convolve(tmp, da, base + c, 1, k, k)
                _mul(tmp, tmp, base + b)
                _convolve(tmp + ROW, dc, base + a, 1, k - 1, k)
                _sub(tmp, tmp, tmp + ROW)
                _scale(tmp, tmp, 1.0 / k)
                _div(here + c, tmp, base + a)
            _scale(dc + k * ROW, here + c, float(k))


@_inner
def _value(T: Any, slot: Any, order: Any, lane: Any, h: Any) -> Any:
    value = T[slot, order, lane]
    for k in range(order - 1, -1, -1):
        value = value * h + T[slot, k, lane]
    return value


@_inner
def _bernstein(
    T: Any, slot: Any, first: Any, order: Any, lane: Any, h: Any, sign: Any, binomial: Any, out: Any
) -> None:
    """Bernstein coefficients on [0, h] of sign times the terms first..order of a series, divided by t^first."""
    degree, power = order - first, 1.0
    for k in range(degree + 1):
        out[k] = sign * T[slot, first + k, lane] * power / binomial[degree, k]
        power *= h
    for i in range(1, degree + 1):  # b_i = sum_k binomial(i, k) c_k, by repeated sums
        for k in range(degree, i - 1, -1):
            out[k] += out[k - 1]


@_inner
def _first_negative(b: Any, stack: Any, order: Any) -> Any:
    """First t in [0, 1] where a polynomial in Bernstein form goes below zero, 2 if it never does.

    Halves whose coefficients are all >= 0 hold no such point; the others are halved again (de Casteljau).
    """
    depth, low, width = 0, 0.0, 1.0
    stack[0, : order + 1] = b[: order + 1]
    lows = stack[:, order + 1]
    widths = stack[:, order + 2]
    lows[0], widths[0] = 0.0, 1.0
    while depth >= 0:
        low, width = lows[depth], widths[depth]
        negative = False
        for k in range(order + 1):
            if stack[depth, k] < 0.0:
                negative = True
                break
        if not negative:
            depth -= 1
            continue
        if stack[depth, 0] < 0.0:
            return low
        if width < 1e-15 or depth + 2 >= stack.shape[0]:
            return low + width
        left = depth + 1  # the right half replaces its parent, the left half comes first
        for k in range(order + 1):
            stack[left, k] = stack[depth, 0]
            for j in range(order - k):
                stack[depth, j] = 0.5 * (stack[depth, j] + stack[depth, j + 1])
        # the triangle's last column, read upwards, is what the array now holds
        lows[left], widths[left] = low, 0.5 * width
        lows[depth], widths[depth] = low + 0.5 * width, 0.5 * width
        depth = left
    return 2.0


@_inner
def _polished(T: Any, slot: Any, order: Any, lane: Any, t: Any, h: Any) -> Any:
    """Newton's steps from a zero that is nearly right, as long as they bring the series in [0, h] nearer to zero."""
    value = _value(T, slot, order, lane, t)
    for _ in range(8):
        slope = 0.0
        for k in range(order, 0, -1):
            slope = slope * t + k * T[slot, k, lane]
        at = min(max(t - value / slope, 0.0), h) if slope != 0.0 else t
        there = _value(T, slot, order, lane, at)
        if not (abs(at - t) <= 1e-3 * h and abs(there) < abs(value)):
            break
        t, value = at, there
    return t


@_inner
def _leaving(T: Any, slot: Any, order: Any, lane: Any, h: Any, near: Any) -> Any:
    """The term of a series that first exceeds `near` on its own, 0 if none does within h."""
    soonest, which = h, 0
    for k in range(1, order + 1):
        size = abs(T[slot, k, lane])
        if size > 0.0:
            at = (near / size) ** (1.0 / k)
            if at < soonest:
                soonest, which = at, k
    return which


@_inner
def _roundings(code: Any, T: Any, E: Any) -> None:
    """What rounding errors of values are in proportion to: each operation's own, and those of its operands.

    E : (slots, LANES), holds those of inputs and states; the others are written
    """
    for i in range(code.shape[0]):
        kind, c, a, b = code[i, 0], code[i, 1], code[i, 2], code[i, 3]
        if kind == LAG:
            continue
        for lane in range(LANES):
            value = abs(T[c, 0, lane])
            if kind == STEP:
                E[c, lane] = 0.0
            elif kind == ADD or kind == SUB:
                E[c, lane] = E[a, lane] + E[b, lane]
            elif kind == MUL:
                E[c, lane] = value + abs(T[b, 0, lane]) * E[a, lane] + abs(T[a, 0, lane]) * E[b, lane]
            elif kind == DIV:
                E[c, lane] = value + (E[a, lane] + value * E[b, lane]) / abs(T[b, 0, lane])
            elif kind == EXP:
                E[c, lane] = value + value * E[a, lane]
            elif kind == LOG:
                E[c, lane] = value + E[a, lane] / abs(T[a, 0, lane])
            elif kind == POW:
                E[c, lane] = value + value * abs(T[b, 0, lane]) * E[a, lane] / abs(T[a, 0, lane])
            elif kind == SIN or kind == COS or kind == TANH or kind == ATAN:
                E[c, lane] = value + abs(T[b, 0, lane]) * E[a, lane]
            else:
                E[c, lane] = value + E[a, lane]


@_inner
def _magnitude(x: Any) -> Any:
    """log2 |x|"""
    return math.log2(abs(x)) if x != 0.0 else -np.inf


@_inner
def _value_beyond(kind: Any, c: Any, a: Any, b: Any, W: Any, sizes: Any, nothing: Any) -> None:
    """Value of one operation, of one lane, and log2 of its size where floating-point numbers do not hold it.

    A zero or an infinite number counts as what it is only if its size says so: below 2^-512, above 2^512; else, and at
    a pole, it is not a number.
    """
    x, y = W[a, 0], W[b, 0] if kind <= POW and kind != EXP and kind != LOG else 0.0
    size = np.nan
    if kind == STEP or kind == LAG:
        value = W[c, 0]
        nothing[c] = kind == STEP and value == 0.0
        size = _magnitude(value)
    elif kind == ADD or kind == SUB:
        value = x + y if kind == ADD else x - y
        nothing[c] = nothing[a] and nothing[b]
        size = max(sizes[a], sizes[b]) if (x == 0.0 and y == 0.0) or abs(value) == np.inf else -np.inf
    elif kind == MUL:
        nothing[c] = nothing[a] or nothing[b]
        value = 0.0 if nothing[c] else x * y
        size = (
            -np.inf if value == 0.0 and (sizes[a] == -np.inf or sizes[b] == -np.inf) else sizes[a] + sizes[b]
        )
    elif kind == DIV:
        value, size = x / y, sizes[a] - sizes[b]
    elif kind == EXP:
        value = math.exp(x)
        size = 2.0**60 if x == np.inf else max(x, -(2.0**60)) * 1.4426950408889634
    elif kind == LOG:
        value = math.log(x) if 0.0 < x < np.inf else np.nan
        size = -np.inf
    elif kind == SIN or kind == COS:
        value = math.sin(x) if kind == SIN else math.cos(x)
        size = -np.inf
    elif kind == TANH or kind == ATAN:
        value = math.tanh(x) if kind == TANH else math.atan(x)
        size = -np.inf
    else:
        value, size = x**y, y * sizes[a]
    if 0.0 < abs(value) < np.inf:
        size = _magnitude(value)
    elif abs(value) == np.inf and not 512.0 < size < np.inf:
        value = np.nan
    elif value == 0.0 and not nothing[c] and not size < -512.0:
        value = np.nan
    W[c, 0], sizes[c] = value, size


@_inner
def _beyond_numbers(
    code1: Any, code2: Any, T: Any, W: Any, sizes: Any, nothing: Any, inputs: Any, held: Any, states: Any, rhs: Any,
    order: Any, lane: Any, stride: Any, followed: Any,
) -> Any:  # fmt: skip
    """Series of one lane once more, where some values are too large for floating-point numbers: 0 if there is none.

    What is divided by an infinite number is zero, and stays so; so do exp(-inf), a negative power of an infinite base,
    and the slopes of tanh and atan far out. A branch that is not taken counts for nothing, however large. What else an
    infinite number enters has no value. Terms are those of a time in units in which they are small: a function next to
    the largest number still has its series.

    Parameters
    ----------
    W, sizes, nothing : (slots, order + 1), (slots,), (slots,) room
    inputs : slots of parameters
    held : (slots,) whether a value depends on parameters and sides of switches only
    stride : length of the last step
    followed : slots which must be finite

    Returns
    -------
    float
        How long a step may be: beyond that, terms would matter that are too small for numbers in these units.
    """
    slots = T.shape[0]
    least = 2.0 ** (-900.0 / order)
    scale = min(max(stride, least), 2.0 ** (600.0 / order))
    while scale >= least:
        for s in range(slots):
            nothing[s] = False
            power = 1.0
            for k in range(order + 1):
                W[s, k] = T[s, k, lane] * power
                power *= scale
            sizes[s] = _magnitude(W[s, 0])
        for i in range(inputs.shape[0]):
            nothing[inputs[i]] = W[inputs[i], 0] == 0.0
        for i in range(code1.shape[0]):
            c = code1[i, 1]
            _value_beyond(code1[i, 0], c, code1[i, 2], code1[i, 3], W, sizes, nothing)
            nothing[c] = nothing[c] or (held[c] and W[c, 0] == 0.0)
        for i in range(states.shape[0]):
            W[states[i], 1] = W[rhs[i], 0] * scale
        for k in range(1, order + 1):
            for i in range(code2.shape[0]):
                _term(code2[i, 0], code2[i, 1], code2[i, 2], code2[i, 3], W, nothing, k)
            for i in range(states.shape[0]):
                if k < order:
                    W[states[i], k + 1] = W[rhs[i], k] * scale / (k + 1)
        fine = True
        for i in range(followed.shape[0]):
            for k in range(order + 1):
                fine = fine and abs(W[followed[i], k]) < np.inf
        if fine:
            for s in range(slots):
                power = 1.0
                for k in range(order + 1):
                    T[s, k, lane] = W[s, k] / power
                    power *= scale
            return scale * 2.0 ** (500.0 / order)
        scale /= 32.0
    return 0.0


@_inner
def _term(kind: Any, c: Any, a: Any, b: Any, W: Any, nothing: Any, k: Any) -> None:
    """Term k of one operation, of one lane: the recurrences of `_higher_order`, and those of infinite numbers."""
    if kind == LAG:
        return
    value, x = W[c, 0], W[a, 0]
    y = W[b, 0] if kind != EXP and kind != LOG else 0.0
    if not abs(value) < np.inf:
        W[c, k] = np.nan if value != value else 0.0
        return
    if nothing[c] or ((kind == DIV or kind == DIVC) and abs(y) == np.inf):
        W[c, k] = 0.0
        return
    if abs(x) == np.inf and kind != CSUB:  # finite in spite of it: exp, tanh, atan, or a power
        W[c, k] = 0.0
        return
    total = 0.0
    if kind == MUL:
        for j in range(k + 1):
            total += W[a, j] * W[b, k - j]
    elif kind == MULC:
        total = W[a, k] * y
    elif kind == ADD:
        total = W[a, k] + W[b, k]
    elif kind == SUB:
        total = W[a, k] - W[b, k]
    elif kind == ADDC or kind == SUBC:
        total = W[a, k]
    elif kind == CSUB:
        total = -W[b, k]
    elif kind == DIVC:
        total = W[a, k] / y
    elif kind == DIV:
        for j in range(1, k + 1):
            total += (W[b, j] / y) * W[c, k - j]
        total = W[a, k] / y - total
    elif kind == EXP:
        for j in range(1, k + 1):
            total += j * W[a, j] * W[c, k - j]
        total /= k
    elif kind == LOG:
        for j in range(1, k):
            total += j * W[c, j] * (W[a, k - j] / x)
        total = W[a, k] / x - total / k
    elif kind == POW:
        for j in range(1, k + 1):
            total += j * y * (W[a, j] / x) * W[c, k - j]
        for j in range(1, k):
            total -= j * W[c, j] * (W[a, k - j] / x)
        total /= k
    else:
        for j in range(1, k + 1):
            total += j * W[a, j] * W[b, k - j]
        total /= k
    W[c, k] = total


@_inner
def _any_far(fading: Any, T: Any) -> Any:
    base, slot = T.ctypes.data, T.shape[1] * ROW
    for i in range(fading.shape[0]):
        if _beyond(base + fading[i, 0] * slot, 0.5 * FAR):
            return True
    return False


@_inner
def _not_back(fading: Any, T: Any, order: Any, lane: Any, h: Any) -> Any:
    """The step h, or a shorter one over which no exponential or tanh comes back from far out.

    There it is constant (or infinite) but for rounding, and its polynomial knows nothing of what comes: the argument
    tells it. So a switch that is smooth but steep, or a pulse, that a state drives is met however far away it is.
    """
    for i in range(fading.shape[0]):
        a = fading[i, 0]
        x, out = T[a, 0, lane], FAR if fading[i, 1] == EXP else 0.5 * FAR
        if not out < abs(x) < np.inf:
            continue
        sign = -1.0 if x > 0.0 else 1.0
        for _ in range(1100):
            back, power = 0.0, 1.0
            for k in range(1, order + 1):
                power *= h
                back += max(0.0, sign * T[a, k, lane] * power)
            if not back > max(abs(x) - out, 0.5 * out):
                break
            h *= 0.5
    return h


@_inner
def _roundings_of_one(code: Any, T: Any, E: Any, lane: Any) -> None:
    """What `_roundings` could not tell of a lane: a value that an infinite number has made so is not wrong at all."""
    for i in range(code.shape[0]):
        kind, c, a, b = code[i, 0], code[i, 1], code[i, 2], code[i, 3]
        value = abs(T[c, 0, lane])
        if kind == ADD or kind == SUB:
            E[c, lane] = E[a, lane] + E[b, lane]
        elif kind == MUL:
            E[c, lane] = value + abs(T[b, 0, lane]) * E[a, lane] + abs(T[a, 0, lane]) * E[b, lane]
        elif kind == EXP or kind == STEP or kind == LAG:
            E[c, lane] = E[c, lane] if value == np.inf or kind != EXP else value + value * E[a, lane]
        if not E[c, lane] < np.inf and value < np.inf:
            E[c, lane] = value


@_inner
def _length_beyond(
    code0: Any, code1: Any, code2: Any, T: Any, E: Any, W: Any, sizes: Any, nothing: Any, states: Any, rhs: Any,
    inputs: Any, held: Any, fading: Any, followed: Any, guards: Any, order: Any, rtol: Any, atol: Any, stride: Any,
    lane: Any,
) -> Any:  # fmt: skip
    """The step of a lane in which some number is not finite, its series written anew; -1 where there is none."""
    longest = _beyond_numbers(
        code1, code2, T, W, sizes, nothing, inputs, held, states, rhs, order, lane, stride[lane], followed
    )
    if longest == 0.0:
        return -1.0
    h = min(longest, _careful_length(T, followed, order, rtol, atol, stride[lane], lane))
    if h > 0.0:
        h = _not_back(fading, T, order, lane, h)
    if guards.shape[0] and h > 0.0:
        _roundings_of_one(code1, T, E, lane)
        safe = _length_of_guards(T, E, guards, order, rtol, atol, stride[lane], lane, h)
        h = safe if safe > 0.0 else h
    return h


@_inner
def _next_switch(
    T: Any, E: Any, guards: Any, sides: Any, near: Any, flipped: Any, flips: Any, now_t: Any, order: Any,
    lane: Any, h: Any, binomial: Any, work: Any, stack: Any,
) -> Any:  # fmt: skip
    """When the first switch changes its side within h, and which: (time, guard), or (h, -1).

    near : (switches, LANES) arguments smaller than this may be rounding errors; kept as long as the motion stays there
    flipped, flips : (switches, LANES) when each changed its side last, and how often at that moment
    """
    when, which = h, -1
    urgent, fewest = -1, 0
    for g in range(guards.shape[0]):
        slot, sign = guards[g, 0], float(sides[g, lane])
        if sides[g, lane] == 0:
            continue  # a whole power
        now = sign * T[slot, 0, lane]
        rest, power = 0.0, 1.0
        for k in range(1, order + 1):
            power *= when
            rest += abs(T[slot, k, lane]) * power
        fresh = ROUNDING * E[slot, lane]
        if not abs(now) <= near[g, lane] or fresh > near[g, lane]:
            near[g, lane] = fresh
        if now > rest:
            continue  # far from the switch
        first, back = 0, now < -near[g, lane]  # on the wrong side: something else has jumped
        just = flipped[g, lane] == now_t
        if abs(now) <= near[g, lane]:
            first = _leaving(T, slot, order, lane, when, near[g, lane])
            if first == 0:
                continue  # it rests at the switch
            if sign * T[slot, first, lane] < 0.0:
                back, first = just or now <= 0.0, 0
        if back:
            times = flips[g, lane] if just else 0
            if urgent < 0 or times < fewest:
                urgent, fewest = g, times
        elif urgent < 0:
            # A zero at the present is divided out: that the side has changed is known.
            _bernstein(T, slot, first, order, lane, when, sign, binomial, work)
            at = _first_negative(work, stack, order - first)
            if at < 1.0:
                when, which = _polished(T, slot, order, lane, at * when, when), g
    return (when, which) if urgent < 0 else (0.0, urgent)


@intrinsic
def _bits(typing: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def _from_bits(typing: Any, n: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), generate


@_inner
def _log2(x: Any) -> Any:
    """log2 x to a few thousandths, from the bits of x."""
    bits = _bits(x)
    mantissa = _from_bits((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000)  # in [1, 2)
    return float((bits >> 52) - 1023) + (mantissa - 1.0) * (1.3465 - 0.3465 * (mantissa - 1.0))


@_inner
def _exp2(y: Any) -> Any:
    """2^y to a few thousandths."""
    whole = math.floor(y)
    part = y - whole
    return _from_bits((int(whole) + 1023) << 52) * (1.0 + part * (0.6565 + 0.3435 * part))


@_inner
def _log2_of_sum(x: Any, y: Any) -> Any:
    """log2(2^x + 2^y)."""
    large = max(x, y)
    return large if large == -np.inf else large + math.log2(2.0 ** (x - large) + 2.0 ** (y - large))


@_inner
def _careful_length(T: Any, states: Any, order: Any, rtol: Any, atol: Any, stride: Any, lane: Any) -> Any:
    """The same step for one lane, in logarithms, where the last step says little of this one; -1: not finite.

    A state at zero changes by its first terms that are not zero; a state that stays at zero asks for nothing. A step
    that comes out far shorter than the last is sought again with what the states change by in such a step.
    """
    for i in range(states.shape[0]):
        for k in range(order + 1):
            if not abs(T[states[i], k, lane]) < np.inf:
                return -1.0
    floor = math.log2(atol) if atol > 0.0 else -np.inf
    while True:
        length = 1023.0  # log2
        reach = math.log2(stride) if stride > 0.0 else -np.inf
        for i in range(states.shape[0]):
            s = states[i]
            size = math.log2(abs(T[s, 0, lane])) if T[s, 0, lane] != 0.0 else -np.inf
            for k in range(1, order + 1):
                if T[s, k, lane] != 0.0 and (k == 1 or size == -np.inf):
                    size = _log2_of_sum(size, math.log2(abs(T[s, k, lane])) + k * reach)
            bound = _log2_of_sum(floor, math.log2(rtol) + size)
            for k in (order - 1, order):
                if T[s, k, lane] != 0.0:
                    length = min(length, (bound - math.log2(abs(T[s, k, lane]))) / k)
        h = 2.0**length
        if h >= 0.25 * stride:
            return h
        stride = h


@_inner
def _length_of_guards(
    T: Any, E: Any, guards: Any, order: Any, rtol: Any, atol: Any, stride: Any, lane: Any, h: Any
) -> Any:  # fmt: skip
    """The step `h`, or a shorter one in which each argument of a switch is the polynomial that is searched for zeros.

    The tolerance is relative to the terms that the argument is made of, and to what it changes by in such a step.
    """
    reach = min(stride, h)
    while True:
        last, before = 1e-300, 1e-300
        for g in range(guards.shape[0]):
            if guards[g, 1] >= 0:
                continue  # of a root: its zero is where the motion ends
            s = guards[g, 0]
            scale = 1.0 / (atol + rtol * (E[s, lane] + reach * abs(T[s, 1, lane])) + 1e-280)
            x, y = abs(T[s, order, lane]) * scale, abs(T[s, order - 1, lane]) * scale
            if not x + y < 1e300:
                return -1.0
            last, before = max(last, x), max(before, y)
        length = min(h, _exp2(-max(_log2(last) / order, _log2(before) / (order - 1))))
        if length >= 0.25 * reach:
            return length
        reach = length


@_inner
def _reason(T: Any, states: Any, stride: Any, lane: Any) -> Any:
    """Why a series is not finite: the state runs away, or the equations have no value there.

    Towards a pole, a state grows by some share of itself in every step, however short; towards a place where only the
    slope is not finite, by less and less of itself.
    """
    for i in range(states.shape[0]):
        x, slope = T[states[i], 0, lane], T[states[i], 1, lane]
        if not abs(x) < np.inf or (abs(x) > 1e10 and not x * slope <= 0.0):
            return OVERFLOW
        if x * slope > 0.0 and abs(slope) * stride[lane] > 1e-3 * abs(x):
            return OVERFLOW
    return SINGULAR


@_inner
def _step_lengths(
    T: Any, E: Any, states: Any, guards: Any, running: Any, order: Any, rtol: Any, atol: Any, stride: Any,
    last: Any, before: Any, total: Any, h: Any
) -> None:  # fmt: skip
    """Steps at which the last two terms of every state are below its tolerance; -1 where a number is not finite.

    The same holds for arguments of switches, relative to the terms that they are made of: a zero of their polynomials
    is one of the arguments.

    The tolerance is relative to the state and to what it changes by in a step as long as the last (`stride`): a
    population that almost dies out keeps its digits, and a state that passes zero does not stop the motion.

    One per cent of accuracy is enough, so that the library's exp and log are not called.
    """
    for lane in range(LANES):
        last[lane], before[lane], total[lane] = 1e-300, 1e-300, 0.0
    for i in range(states.shape[0]):
        s = states[i]
        for lane in range(LANES):
            size = abs(T[s, 0, lane]) + stride[lane] * abs(T[s, 1, lane])
            scale = 1.0 / (atol + rtol * size + 1e-280)
            x, y = abs(T[s, order, lane]) * scale, abs(T[s, order - 1, lane]) * scale
            last[lane] = max(last[lane], x)
            before[lane] = max(before[lane], y)
            total[lane] += x + y
    for lane in range(LANES):
        h[lane] = -1.0
        if total[lane] < 1e300:
            h[lane] = _exp2(-max(_log2(last[lane]) / order, _log2(before[lane]) / (order - 1)))
        if running[lane] and not h[lane] >= 0.25 * stride[lane]:
            h[lane] = _careful_length(T, states, order, rtol, atol, stride[lane], lane)
        if running[lane] and guards.shape[0] and h[lane] > 0.0:
            h[lane] = _length_of_guards(T, E, guards, order, rtol, atol, stride[lane], lane, h[lane])


@_inner
def _later(now: Any, rest: Any, length: Any) -> Any:
    """The time now + rest, later by a step: the nearest number, and what rounding it left out.

    The states are those of the exact time. A clock that is rounded shifts a motion against its own past, at each step
    of a periodic one in the same direction.
    """
    time = now + length
    step = time - now
    rest += (now - (time - step)) + (length - step)
    now = time + rest
    return now, rest - (now - time)


@_inner
def _since(now: Any, rest: Any, begin: Any, began: Any, lag: Any) -> Any:
    """How long before the delayed time now + rest - lag a piece began, at begin + began."""
    return ((now - begin) - lag) + (rest - began)


@_inner
def _look_back(
    T: Any, delayed: Any, ages: Any, lags: Any, now: Any, rest: Any, running: Any, order: Any,
    H: Any, begins: Any, rests: Any, lengths: Any, radii: Any, valid: Any, levels: Any, newest: Any,
    hard: Any, pointer: Any, shift: Any, reach: Any, cut: Any, exact: Any,
) -> None:  # fmt: skip
    """Coefficients of the delayed values at the present, how far they hold, and the discontinuity that ends them."""
    mask = begins.shape[0] - 1
    for lane in range(LANES):
        reach[lane], cut[lane], exact[lane] = np.inf, SOFT, True
    base = T.ctypes.data
    slot = T.shape[1] * ROW
    for d in range(delayed.shape[0]):
        moved = False
        for lane in range(LANES):
            shift[lane] = 0.0
            if not running[lane] or lags[d, lane] == 0.0:
                continue
            lag = lags[d, lane]
            s = now[lane] - lag
            near = 1e-13 * max(1.0, abs(now[lane]))
            at = pointer[d, lane]
            while at < newest[lane] and begins[(at + 1) & mask, lane] <= s + near:
                at += 1
            pointer[d, lane] = at
            p = at & mask
            if newest[lane] - at > mask:
                reach[lane] = -1.0  # the past that is needed was overwritten
                continue
            for k in range(order + 1):
                T[delayed[d], k, lane] = H[p, lane, ages[d], k]
            since = _since(now[lane], rest[lane], begins[p, lane], rests[p, lane], lag)
            if abs(since) > near:
                shift[lane] = since
                moved = True
            left, level = lengths[p, lane] - since, levels[p, lane]
            if level != SOFT:
                exact[lane] = exact[lane] and shift[lane] == 0.0 and valid[p, lane] == np.inf
            else:
                left = valid[p, lane] - since
                if shift[lane] != 0.0:
                    left = STRETCH * min(valid[p, lane], radii[p, lane]) - since
                elif left < np.inf:
                    left *= STRETCH
                exact[lane] = exact[lane] and left == np.inf
                while at < hard[lane]:  # but not across a discontinuity
                    at += 1
                    p = at & mask
                    end = lengths[p, lane] - _since(
                        now[lane], rest[lane], begins[p, lane], rests[p, lane], lag
                    )
                    if end > left + near:
                        break
                    if levels[p, lane] != SOFT:
                        left, level = end, levels[p, lane]
                        break
            if left < reach[lane] - near:
                reach[lane], cut[lane] = left, level
            elif left < reach[lane] + near:
                cut[lane] = min(cut[lane], level)
        if moved:
            row = base + delayed[d] * slot
            for i in range(order):
                _horner_pass(row, shift.ctypes.data, order, i)


@_inner
def _snap(
    length: Any,
    lag: Any,
    lane: Any,
    now: Any,
    rest: Any,
    begins: Any,
    rests: Any,
    lengths: Any,
    newest: Any,
    at: Any,
) -> Any:
    """The last end of a piece of the past within a step that starts a lag before now, if one is far enough."""
    mask = begins.shape[0] - 1
    s, best, last = now[lane] - lag, 0.0, -1
    while at <= newest[lane]:
        p = at & mask
        end = begins[p, lane] + lengths[p, lane] - s
        if end > length:
            break
        best, last = end, p
        at += 1
    if last < 0 or best < SNAP * length:
        return length
    return lengths[last, lane] - _since(now[lane], rest[lane], begins[last, lane], rests[last, lane], lag)


@_entry
def integrate(
    code0: Any, code1: Any, code2: Any, slots: Any, states: Any, rhs: Any, outputs: Any, inputs: Any, followed: Any,
    clock: Any,
    guards: Any, delayed: Any, ages: Any, past: Any, history: Any, edges: Any, ends_in: Any, stops: Any, params: Any,
    start: Any, all_lags: Any, times: Any, begin: Any, out: Any, status: Any, taken: Any, low: Any, high: Any,
    order: Any, rtol: Any, atol: Any, max_steps: Any, max_step: Any, capacity: Any, final_order: Any,
    values: Any,
    series: Any,
    advance: Any,
    stop: Any,
    end: Any,
) -> None:  # fmt: skip
    """Integrate trajectories low..high-1.

    Parameters
    ----------
    code0, code1, code2 : (m, 6) operations on constants; on values; on higher coefficients
    slots : number of slots
    states, rhs, outputs, inputs : slots of states, of their slopes, of what is recorded, of parameters
    followed : slots that set the steps: states, what is looked back at, outputs that are recorded from their series
    clock : slot of time, or -1
    guards : (switches, 2) slots of their arguments, and -1; or of roots (or what they are of) and their exponents:
        where it changes its sign, the root has left its branch, and the motion ends there
    delayed, ages : slots of delayed values; which entry of `past` each of them looks back at
    past : slots whose polynomials are remembered
    history : (past, pieces, order + 1, size or 1) Taylor coefficients of the past before `begin`, one set for all
        trajectories where its last axis has length 1; the same holds for the next three
    edges : (pieces + 1, size or 1) where pieces of the past begin and end, from -(longest delay) to 0
    ends_in : (pieces, size or 1) level of the discontinuity at a piece's end, or SOFT
    stops : (m, size or 1) times, increasing, at which a step must end though nothing happens there; inf where none
    params (P, size), start (n, size), all_lags (D, size), times (nt,)
    out : (recorded, size, nt), written here; `status` (size,), `taken` (size,) steps as well
    max_step : longest step
    capacity : pieces of the past that a lane remembers at least; the next power of two that holds the history is taken
    final_order : highest order that is wanted of values other than states
    values, series, advance : addresses of machine code for this tape (see `taylor_native`), or 0
    stop : (1,) what another thread makes 1 to have this one return at once
    end : (2 n + 2, size) states and slopes where a trajectory failed, the time and the last step, written here
    """
    room = 1
    while room < capacity or room < history.shape[1]:
        room *= 2
    capacity = room
    T = np.zeros((slots, order + 1, LANES))
    tmp = np.zeros((2, LANES))
    sides = np.zeros((max(1, guards.shape[0]), LANES), np.int64)
    near = np.zeros((max(1, guards.shape[0]), LANES))
    flipped = np.full((max(1, guards.shape[0]), LANES), np.nan)
    flips = np.zeros((max(1, guards.shape[0]), LANES), np.int64)
    E = np.zeros((slots if guards.shape[0] else 1, LANES))
    held = np.zeros(slots, np.bool_)
    for i in range(code1.shape[0]):
        held[code1[i, 1]] = True
    fading, count = np.zeros((code2.shape[0], 2), np.int64), 0
    for i in range(code2.shape[0]):
        held[code2[i, 1]] = False
        if code2[i, 0] == EXP or code2[i, 0] == TANH:
            fading[count, 0], fading[count, 1] = code2[i, 2], code2[i, 0]
            count += 1
    fading = fading[:count]
    W, sizes, nothing = np.zeros((slots, order + 1)), np.zeros(slots), np.zeros(slots, np.bool_)
    lags = np.zeros((max(1, delayed.shape[0]), LANES))
    now, rest = np.zeros(LANES), np.zeros(LANES)  # the time is their sum, where the past counts
    h, lengths_now = np.zeros(LANES), np.zeros(LANES)
    last, before, total, stride = np.zeros(LANES), np.zeros(LANES), np.zeros(LANES), np.zeros(LANES)
    mine = np.full(LANES, -1)
    running = np.zeros(LANES, np.bool_)
    next_time = np.zeros(LANES, np.int64)
    steps = np.zeros(LANES, np.int64)
    H = np.zeros((capacity, LANES, past.shape[0], order + 1))
    begins, lengths = np.zeros((capacity, LANES)), np.zeros((capacity, LANES))
    rests = np.zeros((capacity, LANES))
    radii, valid = np.zeros((capacity, LANES)), np.zeros((capacity, LANES))
    exact = np.ones(LANES, np.bool_)
    levels = np.full((capacity, LANES), SOFT)
    newest, hard = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64)
    pointer = np.zeros((max(1, delayed.shape[0]), LANES), np.int64)
    next_stop = np.zeros(LANES, np.int64)
    shift, reach, cut = np.zeros(LANES), np.full(LANES, np.inf), np.full(LANES, SOFT)
    work, stack = np.zeros(order + 1), np.zeros((128, order + 3))
    binomial = np.zeros((order + 1, order + 1))
    for i in range(order + 1):
        binomial[i, 0] = 1.0
        for j in range(1, i + 1):
            binomial[i, j] = binomial[i - 1, j - 1] + (binomial[i - 1, j] if j < i else 0.0)
    base, slot = T.ctypes.data, (order + 1) * ROW
    upcoming, active = low, 0
    while stop[0] == 0:
        fresh = False
        for lane in range(LANES):
            if running[lane] or upcoming >= high:
                continue
            m = upcoming
            upcoming += 1
            mine[lane], running[lane], now[lane], steps[lane], next_time[lane] = m, True, begin, 0, 0
            rest[lane] = 0.0
            active += 1
            fresh = True
            stride[lane] = 0.0
            for i in range(inputs.shape[0]):
                T[inputs[i], 0, lane] = params[i, m]
            for i in range(states.shape[0]):
                T[states[i], 0, lane] = start[i, m]
            for g in range(guards.shape[0]):
                sides[g, lane], near[g, lane], flipped[g, lane] = 0, 0.0, np.nan
                if guards[g, 1] >= 0 and T[guards[g, 1], 0, lane] % 1.0 != 0.0:
                    sides[g, lane] = 1
            if guards.shape[0]:
                for i in range(inputs.shape[0]):
                    E[inputs[i], lane] = abs(params[i, m])
                for i in range(states.shape[0]):
                    E[states[i], lane] = abs(start[i, m])
            for d in range(delayed.shape[0]):
                lags[d, lane] = all_lags[d, m]
                pointer[d, lane] = 0
            pieces, column = history.shape[1], min(m, history.shape[3] - 1)
            for p in range(pieces):
                for v in range(past.shape[0]):
                    for k in range(order + 1):
                        H[p, lane, v, k] = history[v, p, k, column]
                begins[p, lane], rests[p, lane] = begin + edges[p, column], 0.0
                lengths[p, lane] = edges[p + 1, column] - edges[p, column]
                radii[p, lane] = valid[p, lane] = lengths[p, lane] / STRETCH  # a fit holds nowhere else
                levels[p, lane] = ends_in[p, column]
            newest[lane] = hard[lane] = pieces - 1
            next_stop[lane] = 0
        if active == 0:
            break
        if fresh:
            _order_zero(code0, T, sides, lags)
        if clock >= 0:
            for lane in range(LANES):
                T[clock, 0, lane], T[clock, 1, lane] = now[lane], 1.0
        if delayed.shape[0]:
            _look_back(
                T, delayed, ages, lags, now, rest, running, order, H, begins, rests, lengths, radii, valid, levels,
                newest, hard, pointer, shift, reach, cut, exact,
            )  # fmt: skip
        if values:
            _call(values, base, lags.ctypes.data)
        else:
            _order_zero(code1, T, sides, lags)
        if series:
            _call(series, base, lags.ctypes.data)
        else:
            for i in range(states.shape[0]):
                _copy(base + states[i] * slot + ROW, base + rhs[i] * slot)
            for k in range(1, final_order + 1):
                _higher_order(code2, T, base, slot, k, lags, tmp.ctypes.data)
                if k < order:
                    for i in range(states.shape[0]):
                        row = base + rhs[i] * slot + k * ROW
                        _scale(base + states[i] * slot + (k + 1) * ROW, row, 1.0 / (k + 1))
        if fresh:  # no step was taken yet: the states' own time scale, or the whole way
            for lane in range(LANES):
                if running[lane] and stride[lane] == 0.0:
                    stride[lane] = times[times.shape[0] - 1] - now[lane]
                    for i in range(states.shape[0]):
                        slope, bend = abs(T[states[i], 1, lane]), abs(T[states[i], 2, lane])
                        if slope > 0.0 and bend > 0.0:
                            stride[lane] = min(stride[lane], max(1e-30, slope / bend))
        if guards.shape[0]:
            for lane in range(LANES):
                if clock >= 0:
                    E[clock, lane] = abs(now[lane])
                for d in range(delayed.shape[0]):  # a time in the past is known to some 1e-13 of the present
                    blur = 450.0 * max(1.0, abs(now[lane])) * abs(T[delayed[d], 1, lane])
                    E[delayed[d], lane] = abs(T[delayed[d], 0, lane]) + blur
            _roundings(code0, T, E)
            _roundings(code1, T, E)
        _step_lengths(
            T,
            E,
            followed,
            guards,
            running,
            order,
            rtol,
            atol,
            stride,
            last,
            before,
            total,
            lengths_now,
        )
        if fading.shape[0] and _any_far(fading, T):
            for lane in range(LANES):
                if running[lane] and lengths_now[lane] > 0.0:
                    lengths_now[lane] = _not_back(fading, T, order, lane, lengths_now[lane])
        for lane in range(LANES):
            h[lane] = 0.0
            if not running[lane]:
                continue
            m = mine[lane]
            if lengths_now[lane] < 0.0:
                lengths_now[lane] = _length_beyond(
                    code0, code1, code2, T, E, W, sizes, nothing, states, rhs, inputs, held, fading, followed,
                    guards, order, rtol, atol, stride, lane,
                )  # fmt: skip
            length = lengths_now[lane]
            level, radius = SOFT, length
            if length < 0.0 or (delayed.shape[0] and reach[lane] <= 0.0) or steps[lane] >= max_steps:
                status[m] = _reason(T, states, stride, lane) if length < 0.0 else STEPS
                for i in range(states.shape[0]):
                    end[i, m], end[states.shape[0] + i, m] = T[states[i], 0, lane], T[states[i], 1, lane]
                end[2 * states.shape[0], m], end[2 * states.shape[0] + 1, m] = now[lane], stride[lane]
                running[lane] = False
                active -= 1
                for j in range(next_time[lane], times.shape[0]):
                    for i in range(outputs.shape[0]):
                        out[i, m, j] = np.nan
                continue
            if delayed.shape[0] and reach[lane] <= length:
                length = radius = reach[lane]
                level = SOFT if cut[lane] >= order else cut[lane] + 1
            elif delayed.shape[0] and lags[0, lane] > 0.0:
                length = _snap(
                    length, lags[0, lane], lane, now, rest, begins, rests, lengths, newest, pointer[0, lane]
                )
            length = min(length, max_step)
            if stops.shape[0]:
                column = min(m, stops.shape[1] - 1)
                while next_stop[lane] < stops.shape[0] and stops[next_stop[lane], column] <= now[lane]:
                    next_stop[lane] += 1
                if next_stop[lane] < stops.shape[0]:
                    length = min(length, stops[next_stop[lane], column] - now[lane] - rest[lane])
            final = times[times.shape[0] - 1] - now[lane] - rest[lane]
            ends = length >= final
            length = min(length, final) if not ends else final
            guard = -1
            if guards.shape[0]:
                length, guard = _next_switch(
                    T,
                    E,
                    guards,
                    sides,
                    near,
                    flipped,
                    flips,
                    now[lane],
                    order,
                    lane,
                    length,
                    binomial,
                    work,
                    stack,
                )
                if guard >= 0:
                    sides[guard, lane] = -sides[guard, lane]
                    then = now[lane] + length
                    if past.shape[0]:
                        then, _ = _later(now[lane], rest[lane], length)
                    again = flipped[guard, lane] == then
                    flips[guard, lane] = flips[guard, lane] + 1 if again else 1
                    flipped[guard, lane] = then
                    ends, level = False, 0
                if length > 0.0:  # what a state is added up of rounds it
                    for i in range(states.shape[0]):
                        size = 0.0
                        for k in range(order, -1, -1):
                            size = size * length + abs(T[states[i], k, lane])
                        E[states[i], lane] = size
            while next_time[lane] < times.shape[0] and (ends or times[next_time[lane]] <= now[lane] + length):
                j = next_time[lane]
                for i in range(outputs.shape[0]):
                    out[i, m, j] = _value(T, outputs[i], order, lane, times[j] - now[lane] - rest[lane])
                next_time[lane] += 1
            steps[lane] += 1
            taken[m] = steps[lane]
            if guard >= 0 and (flips[guard, lane] > MOST_FLIPS or guards[guard, 1] >= 0):
                status[m] = SLIDES if guards[guard, 1] < 0 else SINGULAR
                running[lane] = False
                active -= 1
                for j in range(next_time[lane], times.shape[0]):
                    for i in range(outputs.shape[0]):
                        out[i, m, j] = np.nan
                continue
            if ends:
                running[lane] = False
                active -= 1
                continue
            if past.shape[0] and length > 0.0:
                newest[lane] += 1
                p = newest[lane] & (capacity - 1)
                begins[p, lane], lengths[p, lane], levels[p, lane] = now[lane], length, level
                rests[p, lane] = rest[lane]
                radii[p, lane] = radius
                if level != SOFT:
                    hard[lane] = newest[lane]
                valid[p, lane] = np.inf if exact[lane] else radius
                for v in range(past.shape[0]):
                    for k in range(order + 1):
                        H[p, lane, v, k] = T[past[v], k, lane]
            h[lane] = length
            if past.shape[0]:
                now[lane], rest[lane] = _later(now[lane], rest[lane], length)
            else:
                now[lane] += length
            if length > 0.0:
                stride[lane] = length
        if advance:
            _call(advance, base, h.ctypes.data)
        else:
            for i in range(states.shape[0]):
                row = base + states[i] * slot
                at = tmp.ctypes.data
                _copy(at, row + order * ROW)
                for k in range(order - 1, -1, -1):
                    _mul(at, at, h.ctypes.data)
                    _add(at, at, row + k * ROW)
                _copy(row, at)
