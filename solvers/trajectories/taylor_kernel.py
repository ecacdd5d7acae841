"""Taylor integration of many trajectories at once, compiled: the loop behind `trajectory`.

`LANES` trajectories advance side by side, each with its own time and step; a lane that ends takes the next
trajectory. The equations come as a tape (see `taylor_tape`), so this is compiled once for all models. All that the
phases of a step read and write lies in one record, see `taylor_lanes`.

`taylor_operations` has the recurrences, `taylor_past` delayed values, `taylor_switches` switches, `taylor_steps` the
step control, `taylor_beyond` what floating-point numbers do not hold.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tcpdynamics import addressed
from tcpdynamics.compiled import kept_with

from .. import results
from . import taylor_lanes as of
from .taylor_beyond import any_far, length_beyond, not_back
from .taylor_checks import check_steps, copy_values
from .taylor_operations import (
    LANES,
    OPTIONS,
    ROW,
    add_rows,
    call_at,
    copy_row,
    higher_order,
    inner,
    multiply_rows,
    order_zero,
    scale_row,
    terms_at,
    value_at,
)
from .taylor_past import SOFT, fill_past, later, length_within_past, look_back, remember
from .taylor_steps import OVERFLOW, SINGULAR, SLIDES, STEPS, reason_of_end, step_lengths
from .taylor_switches import next_switch, roundings

#: A switch that changes sides more often than this at one moment does not let go of the motion.
MOST_FLIPS = 4
#: As many steps in a row that are shorter than the rounding of time end at a pole or a jump of the equations.
MOST_STUCK = 100

_SOURCES = (addressed.__file__, results.__file__, *map(str, Path(__file__).parent.glob("taylor_*.py")))
_entry: Callable[..., Any] = kept_with(*_SOURCES, **OPTIONS)


@_entry
def integrate(records: Any) -> None:
    """Integrate the trajectories low..high-1 of a record (1,) of `taylor_lanes.RECORD`."""
    lanes = records[0]
    stop = of.stop(lanes)
    lanes.upcoming, lanes.active = lanes.low, 0
    while stop[0] == 0:
        fresh = _begin(lanes)
        if lanes.active == 0:
            break
        if fresh:
            order_zero(of.code0(lanes), of.T(lanes), of.sides(lanes), of.lags(lanes))
            copy_values(of.T(lanes), of.V(lanes))
        _write_series(lanes)
        if fresh:
            _first_strides(lanes)
        _choose_lengths(lanes)
        check_steps(lanes)
        _take_steps(lanes)
        if lanes.advance:
            call_at(lanes.advance, lanes.at_T, lanes.at_h, 0)
        else:
            _advance(lanes)


@inner
def _begin(lanes: Any) -> Any:
    """Give each lane that is free the next trajectory; returns whether any was given."""
    running, T, E = of.running(lanes), of.T(lanes), of.E(lanes)
    states, inputs, guards = of.states(lanes), of.inputs(lanes), of.guards(lanes)
    params, start = of.params(lanes), of.start(lanes)
    fresh = False
    for lane in range(LANES):
        if running[lane] or lanes.upcoming >= lanes.high:
            continue
        m = lanes.upcoming
        lanes.upcoming += 1
        lanes.active += 1
        fresh = running[lane] = True
        of.trajectory(lanes)[lane] = m
        of.now(lanes)[lane], of.carry(lanes)[lane], of.stride(lanes)[lane] = lanes.begin, 0.0, 0.0
        of.steps(lanes)[lane] = of.stuck(lanes)[lane] = 0
        of.next_time(lanes)[lane] = of.next_stop(lanes)[lane] = 0
        for i in range(inputs.shape[0]):
            T[inputs[i], 0, lane], E[inputs[i], lane] = params[i, m], abs(params[i, m])
        for i in range(states.shape[0]):
            T[states[i], 0, lane], E[states[i], lane] = start[i, m], abs(start[i, m])
        for g in range(guards.shape[0]):
            of.sides(lanes)[g, lane] = 0
            if guards[g, 1] >= 0 and T[guards[g, 1], 0, lane] % 1.0 != 0.0:
                of.sides(lanes)[g, lane] = 1
            of.near(lanes)[g, lane], of.flipped(lanes)[g, lane] = 0.0, np.nan
        fill_past(lanes, lane, m)
    return fresh


@inner
def _write_series(lanes: Any) -> None:
    """The series of all values at the present."""
    T, lags, now = of.T(lanes), of.lags(lanes), of.now(lanes)
    base, slot, lag_row = lanes.at_T, T.shape[1] * ROW, lanes.at_lags
    if lanes.clock >= 0:
        for lane in range(LANES):
            T[lanes.clock, 0, lane], T[lanes.clock, 1, lane] = now[lane], 1.0
    if lanes.delays:
        look_back(lanes)
    if lanes.values:
        call_at(lanes.values, base, lag_row, lanes.at_sides)
    else:
        order_zero(of.code1(lanes), T, of.sides(lanes), lags)
    if lanes.series:
        call_at(lanes.series, base, lag_row, lanes.at_sides)
        return
    states, rhs, code2, tmp = of.states(lanes), of.rhs(lanes), of.code2(lanes), of.tmp(lanes).ctypes.data
    for i in range(states.shape[0]):
        copy_row(base + states[i] * slot + ROW, base + rhs[i] * slot)
    for k in range(1, lanes.final_order + 1):
        higher_order(code2, T, base, slot, k, lags, tmp)
        if k < lanes.order:
            for i in range(states.shape[0]):
                row = base + rhs[i] * slot + k * ROW
                scale_row(base + states[i] * slot + (k + 1) * ROW, row, 1.0 / (k + 1))


@inner
def _first_strides(lanes: Any) -> None:
    """Where no step was taken yet: the states' own time scale, or the whole way."""
    T, states, running, stride = of.T(lanes), of.states(lanes), of.running(lanes), of.stride(lanes)
    final = of.times(lanes)[lanes.ticks - 1]
    for lane in range(LANES):
        if running[lane] and stride[lane] == 0.0:
            stride[lane] = final - of.now(lanes)[lane]
            for i in range(states.shape[0]):
                slope, bend = abs(T[states[i], 1, lane]), abs(T[states[i], 2, lane])
                if slope > 0.0 and bend > 0.0:
                    stride[lane] = min(stride[lane], max(1e-30, slope / bend))


@inner
def _blur(lanes: Any) -> None:
    """What rounding errors of all values are in proportion to."""
    T, E, delayed, now = of.T(lanes), of.E(lanes), of.delayed(lanes), of.now(lanes)
    for lane in range(LANES):
        if lanes.clock >= 0:
            E[lanes.clock, lane] = abs(now[lane])
        for d in range(delayed.shape[0]):  # a time in the past is known to some 1e-13 of the present
            blur = 450.0 * max(1.0, abs(now[lane])) * abs(T[delayed[d], 1, lane])
            E[delayed[d], lane] = abs(T[delayed[d], 0, lane]) + blur
    roundings(of.code0(lanes), T, E)
    roundings(of.code1(lanes), T, E)


@inner
def _choose_lengths(lanes: Any) -> None:
    """Steps that the series allow, up to the next stop and the end of the past; -1 where there is none."""
    T, fading, running, lengths = of.T(lanes), of.fading(lanes), of.running(lanes), of.lengths(lanes)
    asked, by_terms, suspect, reach = of.asked(lanes), of.by_terms(lanes), of.suspect(lanes), of.reach(lanes)
    now, carry, stops, next_stop = of.now(lanes), of.carry(lanes), of.stops(lanes), of.next_stop(lanes)
    final, order, max_step = of.times(lanes)[lanes.ticks - 1], lanes.order, lanes.max_step
    if lanes.switches:
        _blur(lanes)
    step_lengths(lanes)
    if fading.shape[0] and any_far(fading, T):
        for lane in range(LANES):
            if running[lane] and lengths[lane] > 0.0:
                lengths[lane] = not_back(fading, T, order, lane, lengths[lane])
    for lane in range(LANES):
        suspect[lane] = False
        if running[lane] and lengths[lane] < 0.0:
            lengths[lane] = length_beyond(lanes, lane)
        if running[lane] and lengths[lane] > 0.0:
            length = min(lengths[lane], max_step)
            column = min(of.trajectory(lanes)[lane], stops.shape[1] - 1)
            for i in range(next_stop[lane], stops.shape[0]):
                if stops[i, column] > now[lane]:
                    length = min(length, stops[i, column] - now[lane] - carry[lane])
                    break
            by_terms[lane] = length
            length = min(length, final - now[lane] - carry[lane])
            if lanes.delays:
                length = min(length, reach[lane])
            if length > 0.0:
                suspect[lane], lengths[lane] = True, length
        asked[lane] = lengths[lane]


@inner
def _take_steps(lanes: Any) -> None:
    """Decide each lane's step `h`, record what it passes, and end the trajectories that have arrived or failed."""
    running, h, now, carry = of.running(lanes), of.h(lanes), of.now(lanes), of.carry(lanes)
    lengths, asked, by_terms, stride = (of.lengths(lanes), of.asked(lanes), of.by_terms(lanes), of.stride(lanes))
    stuck, steps, times, next_time = of.stuck(lanes), of.steps(lanes), of.times(lanes), of.next_time(lanes)
    trajectory, taken, guards, flips = (of.trajectory(lanes), of.taken(lanes), of.guards(lanes), of.flips(lanes))
    states, E, tmp = of.states(lanes), of.E(lanes), of.tmp(lanes)
    reach, final = of.reach(lanes), times[times.shape[0] - 1]
    base, slot = lanes.at_T, lanes.terms * ROW
    for g in range(guards.shape[0]):
        terms_at(lanes.at_reaches + g * ROW, base + guards[g, 0] * slot, lanes.at_lengths, lanes.order)
    for lane in range(LANES):
        h[lane] = 0.0
        if not running[lane]:
            continue
        m = trajectory[lane]
        length = lengths[lane] if stuck[lane] < MOST_STUCK else -1.0
        level, radius, guard = SOFT, length, -1
        if length < asked[lane]:
            by_terms[lane] = length
        if length < 0.0 or (lanes.delays and reach[lane] <= 0.0) or steps[lane] >= lanes.max_steps:
            _note_end(lanes, lane, length < 0.0)
            _finish(lanes, lane)
            continue
        if lanes.delays:
            length, radius, level = length_within_past(lanes, lane, length)
        length = min(length, lanes.max_step)
        if lanes.stop_count:
            length = _length_to_stop(lanes, lane, length)
        ends = length >= final - now[lane] - carry[lane]
        if ends:
            length = final - now[lane] - carry[lane]
        if lanes.switches:
            length, guard = _length_to_switch(lanes, lane, length)
            if guard >= 0:
                ends, level = False, 0
        if next_time[lane] < times.shape[0] and (ends or times[next_time[lane]] <= now[lane] + length):
            _record(lanes, lane, length, ends)
        steps[lane] += 1
        taken[m] = steps[lane]
        if guard >= 0 and (flips[guard, lane] > MOST_FLIPS or guards[guard, 1] >= 0):
            of.status(lanes)[m] = SLIDES if guards[guard, 1] < 0 else SINGULAR
            _finish(lanes, lane)
            continue
        if ends:
            _finish(lanes, lane)
            continue
        if lanes.remembered and length > 0.0:
            remember(lanes, lane, length, radius, level)
        h[lane] = length
        stuck[lane] = stuck[lane] + 1 if guard < 0 and now[lane] + length == now[lane] else 0
        if lanes.remembered:
            now[lane], carry[lane] = later(now[lane], carry[lane], length)
        else:
            now[lane] += length
        if length > 0.0:
            stride[lane] = length
    if lanes.switches:
        for i in range(states.shape[0]):  # what a state is added up of rounds it
            terms_at(lanes.at_tmp, base + states[i] * slot, lanes.at_h, lanes.order)
            for lane in range(LANES):
                if h[lane] > 0.0:
                    E[states[i], lane] = tmp[0, lane]


@inner
def _length_to_stop(lanes: Any, lane: Any, length: Any) -> Any:
    stops, next_stop, now = of.stops(lanes), of.next_stop(lanes), of.now(lanes)
    column = min(of.trajectory(lanes)[lane], stops.shape[1] - 1)
    while next_stop[lane] < stops.shape[0] and stops[next_stop[lane], column] <= now[lane]:
        next_stop[lane] += 1
    if next_stop[lane] < stops.shape[0]:
        length = min(length, stops[next_stop[lane], column] - now[lane] - of.carry(lanes)[lane])
    return length


@inner
def _length_to_switch(lanes: Any, lane: Any, length: Any) -> Any:
    """A step up to the first switch, and which it is, or -1; the switch has changed its side."""
    sides, flipped, flips, now = of.sides(lanes), of.flipped(lanes), of.flips(lanes), of.now(lanes)
    length, guard = next_switch(lanes, lane, length)
    if guard >= 0:
        sides[guard, lane] = -sides[guard, lane]
        then = now[lane] + length
        if lanes.remembered:
            then, _ = later(now[lane], of.carry(lanes)[lane], length)
        again = flipped[guard, lane] == then
        flips[guard, lane] = flips[guard, lane] + 1 if again else 1
        flipped[guard, lane] = then
    return length, guard


@inner
def _record(lanes: Any, lane: Any, length: Any, ends: Any) -> None:
    """Write what is recorded at the times within a step."""
    T, outputs, times, out = of.T(lanes), of.outputs(lanes), of.times(lanes), of.out(lanes)
    now, carry, next_time, m = of.now(lanes), of.carry(lanes), of.next_time(lanes), of.trajectory(lanes)[lane]
    while next_time[lane] < times.shape[0] and (ends or times[next_time[lane]] <= now[lane] + length):
        j = next_time[lane]
        for i in range(outputs.shape[0]):
            out[i, m, j] = value_at(T, outputs[i], lanes.order, lane, times[j] - now[lane] - carry[lane])
            if i < lanes.dimension and not abs(out[i, m, j]) < np.inf:
                out[i, m, j], of.status(lanes)[m] = np.nan, OVERFLOW
        next_time[lane] += 1


@inner
def _note_end(lanes: Any, lane: Any, without_length: Any) -> None:
    """Write why and where a trajectory fails."""
    T, states, end, m = of.T(lanes), of.states(lanes), of.end(lanes), of.trajectory(lanes)[lane]
    stride = of.stride(lanes)
    of.status(lanes)[m] = reason_of_end(T, states, stride, lane) if without_length else STEPS
    for i in range(states.shape[0]):
        end[i, m], end[states.shape[0] + i, m] = T[states[i], 0, lane], T[states[i], 1, lane]
    end[2 * states.shape[0], m], end[2 * states.shape[0] + 1, m] = of.now(lanes)[lane], stride[lane]


@inner
def _finish(lanes: Any, lane: Any) -> None:
    """Free a lane; there are no values behind the end of its trajectory."""
    out, m = of.out(lanes), of.trajectory(lanes)[lane]
    of.running(lanes)[lane] = False
    lanes.active -= 1
    for j in range(of.next_time(lanes)[lane], lanes.ticks):
        for i in range(lanes.recorded):
            out[i, m, j] = np.nan


@inner
def _advance(lanes: Any) -> None:
    """The states at the end of the steps `h`."""
    states, base, slot = of.states(lanes), lanes.at_T, lanes.terms * ROW
    at, h = of.tmp(lanes).ctypes.data, of.h(lanes).ctypes.data
    for i in range(states.shape[0]):
        row = base + states[i] * slot
        copy_row(at, row + lanes.order * ROW)
        for k in range(lanes.order - 1, -1, -1):
            multiply_rows(at, at, h)
            add_rows(at, at, row + k * ROW)
        copy_row(row, at)
