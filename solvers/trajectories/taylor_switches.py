"""Where a switch changes its side within a step of a Taylor series.

A switch keeps its side for a whole step; the step is cut where the switch's argument changes sign. Which side is next
is recorded, and not read from the argument's sign there, which rounding decides: at the switch, the term that leaves
rounding first tells where the motion heads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import taylor_lanes as of
from .taylor_operations import (
    ADD,
    ATAN,
    COS,
    DIV,
    EXP,
    LAG,
    LANES,
    LOG,
    MUL,
    POW,
    SIN,
    STEP,
    SUB,
    TANH,
    inner,
    value_at,
)

#: Rounding errors of a switch's argument are below this many times what `roundings` adds up.
ROUNDING = 8 * 2.0**-52


#: A part of a step, of its length, in which Newton's steps find the zero of what is nearly a line.
NEAR = 1e-3


@inner
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


@inner
def _first_negative(b: Any, stack: Any, order: Any) -> Any:
    """First t in [0, 1] where a polynomial in Bernstein form goes below zero, 2 if it never does.

    Halves whose coefficients are all >= 0 hold no such point; the others are halved again (de Casteljau).
    """
    depth, low, width = 0, 0.0, 1.0
    for k in range(order + 1):  # of slices Numba compiles the words of an error: three seconds
        stack[0, k] = b[k]
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
        if width < NEAR and stack[depth, order] < 0.0:
            flattest, steepest = np.inf, 0.0
            for k in range(order):
                fall = stack[depth, k] - stack[depth, k + 1]
                flattest, steepest = min(flattest, fall), max(steepest, fall)
            if steepest < 2.0 * flattest:  # nearly a line, with one zero
                return low + width * stack[depth, 0] / (stack[depth, 0] - stack[depth, order])
        child = depth + 1  # the right half replaces its parent, the left half comes first
        for k in range(order + 1):
            stack[child, k] = stack[depth, 0]
            for j in range(order - k):
                stack[depth, j] = 0.5 * (stack[depth, j] + stack[depth, j + 1])
        # the triangle's last column, read upwards, is what the array now holds
        lows[child], widths[child] = low, 0.5 * width
        lows[depth], widths[depth] = low + 0.5 * width, 0.5 * width
        depth = child
    return 2.0


@inner
def _newton_to_zero(T: Any, slot: Any, order: Any, lane: Any, t: Any, h: Any) -> Any:
    """Newton's steps from a zero that is nearly right, as long as they bring the series in [0, h] nearer to zero."""
    value = value_at(T, slot, order, lane, t)
    for _ in range(8):
        slope = 0.0
        for k in range(order, 0, -1):
            slope = slope * t + k * T[slot, k, lane]
        at = min(max(t - value / slope, 0.0), h) if slope != 0.0 else t
        there = value_at(T, slot, order, lane, at)
        if not (abs(at - t) <= 1e-3 * h and abs(there) < abs(value)):
            break
        t, value = at, there
    return t


@inner
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


@inner
def roundings(code: Any, T: Any, E: Any) -> None:
    """What rounding errors of values are in proportion to: each operation's own, and those of its operands.

    E : (slots, LANES), holds those of inputs and states; the others are written
    """
    for i in range(code.shape[0]):
        kind, c, a, b = code[i, 0], code[i, 1], code[i, 2], code[i, 3]
        if kind == LAG:
            continue
        if kind == MUL:
            for lane in range(LANES):
                value = abs(T[c, 0, lane])
                E[c, lane] = value + abs(T[b, 0, lane]) * E[a, lane] + abs(T[a, 0, lane]) * E[b, lane]
        elif kind == DIV:
            for lane in range(LANES):
                value = abs(T[c, 0, lane])
                E[c, lane] = value + (E[a, lane] + value * E[b, lane]) / abs(T[b, 0, lane])
        elif kind == ADD or kind == SUB:
            for lane in range(LANES):
                E[c, lane] = E[a, lane] + E[b, lane]
        else:
            for lane in range(LANES):
                value = abs(T[c, 0, lane])
                if kind == STEP:
                    E[c, lane] = 0.0
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


@inner
def next_switch(lanes: Any, lane: Any, h: Any) -> Any:
    """When the first switch changes its side within h, and which: (time, guard), or (h, -1).

    An argument smaller than `near` may be a rounding error; that is kept as long as the motion stays there.
    """
    T, E, guards, sides, near = of.T(lanes), of.E(lanes), of.guards(lanes), of.sides(lanes), of.near(lanes)
    flipped, flips, order, work = of.flipped(lanes), of.flips(lanes), lanes.order, of.work(lanes)
    reaches = of.reaches(lanes)
    when, which = h, -1
    urgent, fewest = -1, 0
    for g in range(guards.shape[0]):
        slot, sign = guards[g, 0], float(sides[g, lane])
        if sides[g, lane] == 0:
            continue  # a whole power
        now = sign * T[slot, 0, lane]
        fresh = ROUNDING * E[slot, lane]
        if not abs(now) <= near[g, lane] or fresh > near[g, lane]:
            near[g, lane] = fresh
        if 2.0 * now > reaches[g, lane]:
            continue  # far from the switch, whatever the terms' signs
        change, power = 0.0, 1.0
        for k in range(1, order + 1):
            power *= when
            change += max(0.0, -sign * T[slot, k, lane]) * power
        if now > change:
            continue
        first, back = 0, now < -near[g, lane]  # on the wrong side: something else has jumped
        just = flipped[g, lane] == of.now(lanes)[lane]
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
            _bernstein(T, slot, first, order, lane, when, sign, of.binomial(lanes), work)
            at = _first_negative(work, of.stack(lanes), order - first)
            if at < 1.0:
                when, which = _newton_to_zero(T, slot, order, lane, at * when, when), g
    return (when, which) if urgent < 0 else (0.0, urgent)
