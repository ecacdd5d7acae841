"""How long a step of a Taylor series may be, and why there is none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from ..results import Status
from . import taylor_lanes as of
from .taylor_operations import LANES, inner, intrinsic

#: Status of a trajectory, see solvers.results.Status; the last two are the kernel's own names of reasons there.
OK, STEPS, OVERFLOW = map(int, (Status.OK, Status.STEPS, Status.OVERFLOW))
SLIDES, SINGULAR = -1, -2


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


@inner
def _log2(x: Any) -> Any:
    """log2 x to a few thousandths, from the bits of x."""
    bits = _bits(x)
    mantissa = _from_bits((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000)  # in [1, 2)
    return float((bits >> 52) - 1023) + (mantissa - 1.0) * (1.3465 - 0.3465 * (mantissa - 1.0))


@inner
def _exp2(y: Any) -> Any:
    """2^y to a few thousandths."""
    exponent = math.floor(y)
    part = y - exponent
    return _from_bits((int(exponent) + 1023) << 52) * (1.0 + part * (0.6565 + 0.3435 * part))


@inner
def _log2_of_sum(x: Any, y: Any) -> Any:
    """log2(2^x + 2^y)."""
    large = max(x, y)
    return large if large == -np.inf else large + math.log2(2.0 ** (x - large) + 2.0 ** (y - large))


@inner
def careful_length(lanes: Any, lane: Any) -> Any:
    """The same step for one lane, in logarithms, where the last step says little of this one; -1: not finite.

    A state at zero changes by its first terms that are not zero; a state that stays at zero asks for nothing. A step
    that comes out far shorter than the last is sought again with what the states change by in such a step.
    """
    T, states, order, stride = of.T(lanes), of.followed(lanes), lanes.order, of.stride(lanes)[lane]
    for i in range(states.shape[0]):
        for k in range(order + 1):
            if not abs(T[states[i], k, lane]) < np.inf:
                return -1.0
    floor = math.log2(lanes.atol) if lanes.atol > 0.0 else -np.inf
    while True:
        length = 1023.0  # log2
        reach = math.log2(stride) if stride > 0.0 else -np.inf
        for i in range(states.shape[0]):
            s = states[i]
            size = math.log2(abs(T[s, 0, lane])) if T[s, 0, lane] != 0.0 else -np.inf
            for k in range(1, order + 1):
                if T[s, k, lane] != 0.0 and (k == 1 or size == -np.inf):
                    size = _log2_of_sum(size, math.log2(abs(T[s, k, lane])) + k * reach)
            bound = _log2_of_sum(floor, math.log2(lanes.rtol) + size)
            for k in (order - 1, order):
                if T[s, k, lane] != 0.0:
                    length = min(length, (bound - math.log2(abs(T[s, k, lane]))) / k)
        h = 2.0**length
        if h >= 0.25 * stride:
            return h
        stride = h


@inner
def length_of_guards(lanes: Any, lane: Any, h: Any) -> Any:
    """The step `h`, or a shorter one in which each argument of a switch is the polynomial that is searched for zeros.

    The tolerance is relative to the terms that the argument is made of, and to what it changes by in such a step.
    """
    T, E, guards, order = of.T(lanes), of.E(lanes), of.guards(lanes), lanes.order
    reach = min(of.stride(lanes)[lane], h)
    while True:
        last, before = 1e-300, 1e-300
        for g in range(guards.shape[0]):
            if guards[g, 1] >= 0:
                continue  # of a root: its zero is where the motion ends
            s = guards[g, 0]
            scale = 1.0 / (lanes.atol + lanes.rtol * (E[s, lane] + reach * abs(T[s, 1, lane])) + 1e-280)
            x, y = abs(T[s, order, lane]) * scale, abs(T[s, order - 1, lane]) * scale
            if not x + y < 1e300:
                return -1.0
            last, before = max(last, x), max(before, y)
        length = min(h, _exp2(-max(_log2(last) / order, _log2(before) / (order - 1))))
        if length >= 0.25 * reach:
            return length
        reach = length


@inner
def reason_of_end(T: Any, states: Any, stride: Any, lane: Any) -> Any:
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


@inner
def step_lengths(lanes: Any) -> None:
    """Steps at which the last two terms of what is followed are below its tolerance; -1 where a number is not finite.

    The same holds for arguments of switches, relative to the terms that they are made of: a zero of their polynomials
    is one of the arguments.

    The tolerance is relative to the state and to what it changes by in a step as long as the last (`stride`): a
    population that almost dies out keeps its digits, and a state that passes zero does not stop the motion.

    One per cent of accuracy is enough, so that the library's exp and log are not called.
    """
    T, states, running, stride = of.T(lanes), of.followed(lanes), of.running(lanes), of.stride(lanes)
    last, before, total = of.last_term(lanes), of.term_before(lanes), of.total_terms(lanes)
    order, rtol, atol, h = lanes.order, lanes.rtol, lanes.atol, of.lengths(lanes)
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
        length = _exp2(-max(_log2(last[lane]) / order, _log2(before[lane]) / (order - 1)))
        h[lane] = length if total[lane] < 1e300 else -1.0
    for lane in range(LANES):
        if running[lane] and not h[lane] >= 0.25 * stride[lane]:
            h[lane] = careful_length(lanes, lane)
        if running[lane] and lanes.switches and h[lane] > 0.0:
            h[lane] = length_of_guards(lanes, lane, h[lane])
