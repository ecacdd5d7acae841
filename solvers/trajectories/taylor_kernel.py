"""Taylor integration of many trajectories at once, compiled: the loop behind `trajectory`.

`LANES` trajectories advance side by side, each with its own time and step; a lane that ends takes the next
trajectory. The equations come as a tape (see `taylor_tape`), so this is compiled once for all models. Every row of
`T` holds one Taylor coefficient of one value for all lanes: `T[slot, k, lane]`.

`taylor_operations` has the recurrences, `taylor_past` delayed values, `taylor_switches` switches, `taylor_steps` the
step control, `taylor_beyond` what floating-point numbers do not hold.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tcpdynamics.compiled import kept_on_disk, stamp_of

from .taylor_beyond import any_far, length_beyond, not_back
from .taylor_checks import check_steps, copy_values, moving_slots, watched_slots
from .taylor_operations import (
    EXP,
    LANES,
    OPTIONS,
    ROW,
    TANH,
    add_rows,
    call_at,
    copy_row,
    higher_order,
    multiply_rows,
    order_zero,
    scale_row,
    value_at,
)  # fmt: skip
from .taylor_past import SHARE, SOFT, STRETCH, later, look_back, shortest, snap
from .taylor_steps import OVERFLOW, SINGULAR, SLIDES, STEPS, reason_of_end, step_lengths
from .taylor_switches import next_switch, roundings

#: A switch that changes sides more often than this at one moment does not let go of the motion.
MOST_FLIPS = 4
#: As many steps in a row that are shorter than the rounding of time end at a pole or a jump of the equations.
MOST_STUCK = 100

_SOURCES = stamp_of(Path(__file__).parent.glob("taylor_*.py"))
_entry: Callable[..., Any] = partial(kept_on_disk, stamp=_SOURCES, **OPTIONS)


@_entry
def integrate(
    code0: Any, code1: Any, code2: Any, slots: Any, states: Any, rhs: Any, outputs: Any, inputs: Any, followed: Any,
    clock: Any, guards: Any, delayed: Any, ages: Any, past: Any, history: Any, edges: Any, ends_in: Any, stops: Any,
    params: Any, start: Any, all_lags: Any, times: Any, begin: Any, out: Any, status: Any, taken: Any, low: Any,
    high: Any, order: Any, rtol: Any, atol: Any, max_steps: Any, max_step: Any, capacity: Any, final_order: Any,
    values: Any, inside: Any, series: Any, advance: Any, stop: Any, end: Any,
) -> None:  # fmt: skip
    """Integrate trajectories low..high-1. One loop, since a call would pass some fifty arrays of the lanes' state.

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
    values, inside, series, advance : addresses of machine code for this tape (see `taylor_native`), or 0
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
    fixed = np.zeros(slots, np.bool_)
    for i in range(code1.shape[0]):
        fixed[code1[i, 1]] = True
    fading, count = np.zeros((code2.shape[0], 2), np.int64), 0
    for i in range(code2.shape[0]):
        fixed[code2[i, 1]] = False
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
    steps, stuck = np.zeros(LANES, np.int64), np.zeros(LANES, np.int64)
    H = np.zeros((capacity, LANES, past.shape[0], order + 1))
    begins, lengths = np.zeros((capacity, LANES)), np.zeros((capacity, LANES))
    rests = np.zeros((capacity, LANES))
    radii, valid = np.zeros((capacity, LANES)), np.zeros((capacity, LANES))
    natural, behind = np.zeros((capacity, LANES)), np.zeros((capacity, LANES))
    by_terms, asked, back = np.zeros(LANES), np.zeros(LANES), np.zeros(LANES)
    several = delayed.shape[0] > 1
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
    moves = moving_slots(code2, slots, states, clock, delayed)
    watched, of_switches = watched_slots(states, followed, guards, moves)
    V, R, rows = np.zeros((slots, 1, LANES)), np.zeros((slots, LANES)), np.zeros((5 + states.shape[0], LANES))
    checks, suspect = np.zeros((3, states.shape[0] + watched.shape[0], LANES)), np.zeros(LANES, np.bool_)
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
            stuck[lane] = 0
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
                natural[p, lane], behind[p, lane] = radii[p, lane], 0.0
                levels[p, lane] = ends_in[p, column]
            newest[lane] = hard[lane] = pieces - 1
            next_stop[lane] = 0
        if active == 0:
            break
        if fresh:
            order_zero(code0, T, sides, lags)
            copy_values(T, V)
        if clock >= 0:
            for lane in range(LANES):
                T[clock, 0, lane], T[clock, 1, lane] = now[lane], 1.0
        if delayed.shape[0]:
            look_back(
                T, delayed, ages, lags, now, rest, running, order, H, begins, rests, lengths, radii, natural, behind,
                valid, levels, newest, hard, pointer, shift, reach, back, cut, exact,
            )  # fmt: skip
        if values:
            call_at(values, base, lags.ctypes.data)
        else:
            order_zero(code1, T, sides, lags)
        if series:
            call_at(series, base, lags.ctypes.data)
        else:
            for i in range(states.shape[0]):
                copy_row(base + states[i] * slot + ROW, base + rhs[i] * slot)
            for k in range(1, final_order + 1):
                higher_order(code2, T, base, slot, k, lags, tmp.ctypes.data)
                if k < order:
                    for i in range(states.shape[0]):
                        row = base + rhs[i] * slot + k * ROW
                        scale_row(base + states[i] * slot + (k + 1) * ROW, row, 1.0 / (k + 1))
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
            roundings(code0, T, E)
            roundings(code1, T, E)
        step_lengths(
            T, E, followed, guards, running, order, rtol, atol, stride, last, before, total, lengths_now,
        )  # fmt: skip
        if fading.shape[0] and any_far(fading, T):
            for lane in range(LANES):
                if running[lane] and lengths_now[lane] > 0.0:
                    lengths_now[lane] = not_back(fading, T, order, lane, lengths_now[lane])
        for lane in range(LANES):
            suspect[lane] = False
            if running[lane] and lengths_now[lane] < 0.0:
                lengths_now[lane] = length_beyond(
                    code0, code1, code2, T, E, W, sizes, nothing, states, rhs, inputs, fixed, fading, followed,
                    guards, order, rtol, atol, stride, lane,
                )  # fmt: skip
            if running[lane] and lengths_now[lane] > 0.0:
                length = min(lengths_now[lane], max_step)
                column = min(mine[lane], stops.shape[1] - 1)
                for i in range(next_stop[lane], stops.shape[0]):
                    if stops[i, column] > now[lane]:
                        length = min(length, stops[i, column] - now[lane] - rest[lane])
                        break
                by_terms[lane] = length
                length = min(length, times[times.shape[0] - 1] - now[lane] - rest[lane])
                if delayed.shape[0]:
                    length = min(length, reach[lane])
                if length > 0.0:
                    suspect[lane], lengths_now[lane] = True, length
            asked[lane] = lengths_now[lane]
        check_steps(
            code0, code1, inside, T, V, E, R, sides, lags, inputs, states, rhs, watched, of_switches, moves, delayed,
            clock, order, rtol, atol, suspect, lengths_now, rows, checks,
        )  # fmt: skip
        for lane in range(LANES):
            h[lane] = 0.0
            if not running[lane]:
                continue
            m = mine[lane]
            length = lengths_now[lane] if stuck[lane] < MOST_STUCK else -1.0
            level, radius = SOFT, length
            if length < asked[lane]:
                by_terms[lane] = length
            if length < 0.0 or (delayed.shape[0] and reach[lane] <= 0.0) or steps[lane] >= max_steps:
                status[m] = reason_of_end(T, states, stride, lane) if length < 0.0 else STEPS
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
                if level == SOFT and several:
                    length = SHARE * radius
            elif delayed.shape[0] and lags[0, lane] > 0.0:
                length = snap(
                    length, lags[0, lane], lane, now, rest, begins, rests, lengths, newest, pointer[0, lane]
                )
            if level == SOFT and several:
                radius, lag = min(by_terms[lane], reach[lane]), shortest(lags, lane)
                length = lag if radius >= lag else length
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
                length, guard = next_switch(
                    T, E, guards, sides, near, flipped, flips, now[lane], order, lane, length, binomial, work, stack,
                )  # fmt: skip
                if guard >= 0:
                    sides[guard, lane] = -sides[guard, lane]
                    then = now[lane] + length
                    if past.shape[0]:
                        then, _ = later(now[lane], rest[lane], length)
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
                    out[i, m, j] = value_at(T, outputs[i], order, lane, times[j] - now[lane] - rest[lane])
                    if i < states.shape[0] and not abs(out[i, m, j]) < np.inf:
                        out[i, m, j], status[m] = np.nan, OVERFLOW
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
                radii[p, lane], natural[p, lane] = radius, max(radius, by_terms[lane])
                smooth = levels[(newest[lane] - 1) & (capacity - 1), lane] == SOFT
                behind[p, lane] = min(radius, back[lane]) if smooth else 0.0
                if level != SOFT:
                    hard[lane] = newest[lane]
                valid[p, lane] = np.inf if exact[lane] else radius
                for v in range(past.shape[0]):
                    for k in range(order + 1):
                        H[p, lane, v, k] = T[past[v], k, lane]
            h[lane] = length
            stuck[lane] = stuck[lane] + 1 if guard < 0 and now[lane] + length == now[lane] else 0
            if past.shape[0]:
                now[lane], rest[lane] = later(now[lane], rest[lane], length)
            else:
                now[lane] += length
            if length > 0.0:
                stride[lane] = length
        if advance:
            call_at(advance, base, h.ctypes.data)
        else:
            for i in range(states.shape[0]):
                row = base + states[i] * slot
                at = tmp.ctypes.data
                copy_row(at, row + order * ROW)
                for k in range(order - 1, -1, -1):
                    multiply_rows(at, at, h.ctypes.data)
                    add_rows(at, at, row + k * ROW)
                copy_row(row, at)
