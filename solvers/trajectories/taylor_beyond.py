"""Taylor series in which some numbers are not finite, or far beyond those that they are added to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import taylor_lanes as of
from .taylor_operations import (
    ADD,
    ADDC,
    ATAN,
    COS,
    CSUB,
    DIV,
    DIVC,
    EXP,
    LAG,
    LOG,
    MUL,
    MULC,
    POW,
    ROW,
    SIN,
    STEP,
    SUB,
    SUBC,
    TANH,
    any_larger,
    inner,
)
from .taylor_steps import careful_length, length_of_guards

#: An exponential of a larger number, or a tanh of half of it, may be lost beside what it stands with.
FAR = 18.0


@inner
def _magnitude(x: Any) -> Any:
    """log2 |x|"""
    return math.log2(abs(x)) if x != 0.0 else -np.inf


@inner
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
        size = -np.inf if value == 0.0 and (sizes[a] == -np.inf or sizes[b] == -np.inf) else sizes[a] + sizes[b]
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


@inner
def _beyond_numbers(lanes: Any, lane: Any) -> Any:
    """Series of one lane once more, where some values are too large for floating-point numbers: 0 if there is none.

    What is divided by an infinite number is zero, and stays so; so do exp(-inf), a negative power of an infinite base,
    and the slopes of tanh and atan far out. A branch that is not taken counts for nothing, however large. What else an
    infinite number enters has no value. Terms are those of a time in units in which they are small: a function next to
    the largest number still has its series.

    Returns how long a step may be: beyond that, terms would matter that are too small for numbers in these units.
    """
    code1, code2, T, W = of.code1(lanes), of.code2(lanes), of.T(lanes), of.W(lanes)
    sizes, nothing, inputs, fixed = of.sizes(lanes), of.nothing(lanes), of.inputs(lanes), of.fixed(lanes)
    states, rhs, followed, order = of.states(lanes), of.rhs(lanes), of.followed(lanes), lanes.order
    slots = T.shape[0]
    smallest = 2.0 ** (-900.0 / order)
    scale = min(max(of.stride(lanes)[lane], smallest), 2.0 ** (600.0 / order))
    while scale >= smallest:
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
            nothing[c] = nothing[c] or (fixed[c] and W[c, 0] == 0.0)
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


@inner
def _term(kind: Any, c: Any, a: Any, b: Any, W: Any, nothing: Any, k: Any) -> None:
    """Term k of one operation, of one lane: the recurrences of `higher_order`, and those of infinite numbers."""
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


@inner
def any_far(fading: Any, T: Any) -> Any:
    base, slot = T.ctypes.data, T.shape[1] * ROW
    for i in range(fading.shape[0]):
        if any_larger(base + fading[i, 0] * slot, 0.5 * FAR):
            return True
    return False


@inner
def not_back(fading: Any, T: Any, order: Any, lane: Any, h: Any) -> Any:
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


@inner
def _roundings_of_one(code: Any, T: Any, E: Any, lane: Any) -> None:
    """What `roundings` could not tell of a lane: a value that an infinite number has made so is not wrong at all."""
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


@inner
def length_beyond(lanes: Any, lane: Any) -> Any:
    """The step of a lane in which some number is not finite, its series written anew; -1 where there is none."""
    longest = _beyond_numbers(lanes, lane)
    if longest == 0.0:
        return -1.0
    h = min(longest, careful_length(lanes, lane))
    if h > 0.0:
        h = not_back(of.fading(lanes), of.T(lanes), lanes.order, lane, h)
    if lanes.switches and h > 0.0:
        _roundings_of_one(of.code1(lanes), of.T(lanes), of.E(lanes), lane)
        safe = length_of_guards(lanes, lane, h)
        h = safe if safe > 0.0 else h
    return h
