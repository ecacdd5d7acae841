"""Steps checked on the equations before they are taken: the last terms of a series do not always tell its error.

The series of y^30 at y = 0 has no term up to order 29: a step by its last terms would be as long as the motion. So the
slopes of a series are compared with those of the equations at the end of each step, and at places all over it where
the upper half of the terms vanishes; a step is halved until they agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import taylor_lanes as of
from .taylor_operations import (
    ADD,
    ADDC,
    CSUB,
    DIV,
    DIVC,
    LAG,
    LANES,
    MUL,
    MULC,
    ROW,
    SUB,
    add_rows,
    call_at,
    copy_row,
    count_apart,
    inner,
    order_zero,
    series_at,
)
from .taylor_switches import ROUNDING, roundings

#: Places of a step at which slopes are compared where the upper half of the terms vanishes; else one, its end.
PLACES = 16
#: Slopes may differ by as many tolerances; the slopes of a good step, by about its order.
AGREEMENT = 100.0
#: Most halvings of a step: numbers have no more. One that changes no state has had enough of them: where slopes still
#: differ then, the equations have no value there, and the step keeps its first length.
MOST_HALVINGS = 1000
#: Most halvings of a step at whose end the equations have no finite value: there, they are no judge of the series.
MOST_BEYOND = 12
#: Where a series says nothing of a state that leaves zero, a step is this share of the whole way.
FIRST_SHARE = 2.0**-40
#: Added to tolerances, as in `step_lengths`: numbers below it have few digits.
FLOOR = 1e-280
#: Rows of the room that checks need: differences, slopes of the series, rounding errors.
APART, SLOPE, BLUR = range(3)


@inner
def copy_values(T: Any, V: Any) -> None:
    """Values of all slots, constants among them."""
    for slot in range(T.shape[0]):
        copy_row(V.ctypes.data + slot * ROW, T.ctypes.data + slot * T.shape[1] * ROW)


@inner
def _vanishes(T: Any, slot: Any, order: Any, lane: Any) -> Any:
    """Whether the upper half of a series has no term."""
    for k in range(order, order // 2 - 1, -1):
        if T[slot, k, lane] != 0.0:
            return False
    return True


@inner
def _note_degrees(lanes: Any, lane: Any) -> None:
    """Degrees of values that are polynomials of time along this step, whatever the others do; else `order`.

    A switch or a parameter that is zero makes them so: a queue that stays empty, a window while nothing is lost.
    """
    T, code2, states, rhs, order = of.T(lanes), of.code2(lanes), of.states(lanes), of.rhs(lanes), lanes.order
    degree, delayed, zeros, other = of.degree(lanes), of.delayed(lanes), of.zeros(lanes), 0
    for d in range(delayed.shape[0]):
        past, highest = delayed[d], order
        while of.lags(lanes)[d, lane] > 0.0 and highest > 0 and T[past, highest, lane] == 0.0:
            highest -= 1
        other |= degree[lane, past] ^ highest
        degree[lane, past] = highest
    for s in range(T.shape[0]):
        zero = 2 if T[s, 0, lane] == 0.0 else 1
        other |= zeros[lane, s] ^ zero
        zeros[lane, s] = zero
    if other == 0:  # degrees depend on nothing else
        return
    if lanes.clock >= 0:
        degree[lane, lanes.clock] = order
    for i in range(states.shape[0]):
        degree[lane, states[i]] = order
    for _ in range(states.shape[0]):
        for i in range(code2.shape[0]):
            kind, c, a, b = code2[i, 0], code2[i, 1], code2[i, 2], code2[i, 3]
            first = degree[lane, a]
            second = degree[lane, b] if b >= 0 else 0
            if kind == LAG:
                continue
            nothing = (kind == MUL or kind == MULC) and second == 0 and T[b, 0, lane] == 0.0
            if kind == MUL or kind == DIV or kind == DIVC:
                nothing = nothing or (first == 0 and T[a, 0, lane] == 0.0)
            if nothing and T[c, 0, lane] == 0.0:
                degree[lane, c] = 0
            elif kind == MUL:
                degree[lane, c] = min(first + second, order)
            elif kind == MULC or kind == DIVC or ADDC <= kind <= CSUB or kind == ADD or kind == SUB:
                degree[lane, c] = max(first, second)
            else:
                degree[lane, c] = first if second == 0 and (first == 0 or kind == DIV) else order
        more = False
        for i in range(states.shape[0]):
            linear = 1 if T[rhs[i], 0, lane] != 0.0 else 0
            integral = min(degree[lane, rhs[i]] + 1 if degree[lane, rhs[i]] > 0 else linear, order)
            more = more or integral < degree[lane, states[i]]
            degree[lane, states[i]] = integral
        if not more:
            return


@inner
def _is_blind(lanes: Any, lane: Any) -> Any:
    """Whether the upper half of a series that moves has no term: of a state, or of a value that is watched."""
    T, states, watched, order, degree = of.T(lanes), of.states(lanes), of.watched(lanes), lanes.order, of.degree(lanes)
    _note_degrees(lanes, lane)
    for i in range(states.shape[0]):
        if degree[lane, states[i]] == order and _vanishes(T, states[i], order, lane):
            at_rest = lanes.clock < 0
            for j in range(states.shape[0]):
                at_rest = at_rest and T[states[j], 1, lane] == 0.0
            return not at_rest
    for i in range(watched.shape[0]):
        if degree[lane, watched[i]] == order and _vanishes(T, watched[i], order, lane):
            return True
    return False


@inner
def _values_within(lanes: Any, slope: Any) -> None:
    """All values within a step, where V holds those of the states; `slope` is the address of a row of room."""
    V, delayed, slot = of.V(lanes), of.delayed(lanes), lanes.terms * ROW
    series, there, at = lanes.at_T, lanes.at_V, lanes.at_rows
    for d in range(delayed.shape[0]):
        series_at(there + delayed[d] * ROW, slope, series + delayed[d] * slot, at, lanes.order)
    if lanes.clock >= 0:
        add_rows(there + lanes.clock * ROW, series + lanes.clock * slot, at)
    if lanes.inside:
        call_at(lanes.inside, there, lanes.at_lags, lanes.at_sides)
    else:
        order_zero(of.code1(lanes), V, of.sides(lanes), of.lags(lanes))


@inner
def _differences(lanes: Any, places: Any) -> None:
    """The largest differences of slopes and of watched values at places of a step; NaN is one without end."""
    T, V, states, rhs, watched = of.T(lanes), of.V(lanes), of.states(lanes), of.rhs(lanes), of.watched(lanes)
    suspect, lengths, rows, work = of.suspect(lanes), of.lengths(lanes), of.rows(lanes), of.checks(lanes)
    n, order, slot = states.shape[0], lanes.order, lanes.terms * ROW
    at, slope, value = rows.ctypes.data, rows.ctypes.data + ROW, rows.ctypes.data + 2 * ROW
    work[:, :, :] = 0.0
    for place in range(1, places + 1):
        for lane in range(LANES):
            rows[0, lane] = lengths[lane] * place / places if suspect[lane] else 0.0
        for i in range(n):
            series_at(V.ctypes.data + states[i] * ROW, slope, T.ctypes.data + states[i] * slot, at, order)
        _values_within(lanes, slope)
        for i in range(n + watched.shape[0]):
            s = states[i] if i < n else watched[i - n]
            series_at(value, slope, T.ctypes.data + s * slot, at, order)
            derivative, theirs = (rhs[i], 1) if i < n else (s, 2)
            for lane in range(LANES):
                apart = abs(V[derivative, 0, lane] - rows[theirs, lane])
                work[APART, i, lane] = apart if not apart <= work[APART, i, lane] else work[APART, i, lane]
                work[SLOPE, i, lane] = max(work[SLOPE, i, lane], abs(rows[1, lane]))


@inner
def _disagrees(lanes: Any, lane: Any) -> Any:
    """Whether slopes or watched values differ by more than their tolerance and their rounding errors.

    The tolerance is relative to a state and to what its series changes by, and to the terms of a switch's argument. A
    state that is zero and whose series stays so has no size: the step is then a small share of the first one, after
    which the state is not zero any more.
    """
    T, E, states, watched, work = (of.T(lanes), of.E(lanes), of.states(lanes), of.watched(lanes), of.checks(lanes))
    n, length, first = states.shape[0], of.lengths(lanes)[lane], of.rows(lanes)[3, lane]
    for i in range(n + watched.shape[0]):
        s = states[i] if i < n else watched[i - n]
        scale = abs(T[s, 0, lane]) + length * work[SLOPE, i, lane]
        if n <= i < n + lanes.of_switches:
            scale = max(scale, E[s, lane])
        apart = max(work[APART, i, lane] - work[BLUR, i, lane], 0.0) if work[APART, i, lane] < np.inf else np.inf
        if i < n and scale == 0.0 and apart < np.inf and length <= FIRST_SHARE * first:
            continue
        if not apart * (length if i < n else 1.0) <= AGREEMENT * (lanes.atol + lanes.rtol * scale) + FLOOR:
            return True
    return False


@inner
def _moves_nothing(T: Any, states: Any, length: Any, lane: Any) -> Any:
    """Whether a step is so short that no state changes but for rounding."""
    for i in range(states.shape[0]):
        if length * abs(T[states[i], 1, lane]) > 2.0**-50 * abs(T[states[i], 0, lane]):
            return False
    return True


@inner
def _note_roundings(lanes: Any) -> None:
    """Rounding errors of the equations at the end of a step, and of the terms of the series there."""
    T, V, R, inputs, states = of.T(lanes), of.V(lanes), of.R(lanes), of.inputs(lanes), of.states(lanes)
    rhs, watched, delayed, clock = of.rhs(lanes), of.watched(lanes), of.delayed(lanes), lanes.clock
    rows, work, order, n = of.rows(lanes), of.checks(lanes), lanes.order, lanes.dimension
    for lane in range(LANES):
        for i in range(inputs.shape[0]):
            R[inputs[i], lane] = abs(T[inputs[i], 0, lane])
        for i in range(n):
            R[states[i], lane] = _terms(T, states[i], order, rows[0, lane], lane, 0)
        if clock >= 0:
            R[clock, lane] = abs(V[clock, 0, lane])
        for d in range(delayed.shape[0]):
            blur = 450.0 * max(1.0, abs(V[clock, 0, lane]) if clock >= 0 else 1.0) * abs(T[delayed[d], 1, lane])
            R[delayed[d], lane] = _terms(T, delayed[d], order, rows[0, lane], lane, 0) + blur
    roundings(of.code0(lanes), V, R)
    roundings(of.code1(lanes), V, R)
    for lane in range(LANES):
        for i in range(n + watched.shape[0]):
            s = states[i] if i < n else watched[i - n]
            of_equations = R[rhs[i] if i < n else s, lane]
            of_series = _terms(T, s, order, rows[0, lane], lane, 1 if i < n else 0)
            blur = ROUNDING * (of_equations + of_series)
            work[BLUR, i, lane] = blur if blur < np.inf else 0.0


@inner
def _terms(T: Any, slot: Any, order: Any, h: Any, lane: Any, derivative: Any) -> Any:
    """The terms of a series, or of its derivative, added up without their signs."""
    total = 0.0
    for k in range(order, derivative - 1, -1):
        total = total * h + abs(T[slot, k, lane]) * (k if derivative else 1)
    return total


@inner
def _ends_agree(lanes: Any) -> Any:
    """Whether slopes and watched values agree at the ends of all steps, and no series that ends there is blind.

    Lanes where they do not stay `suspect`. Most steps end here, so this is one pass over rows, without roundings.
    """
    states, rhs, watched, moves = of.states(lanes), of.rhs(lanes), of.watched(lanes), of.moves(lanes)
    rows, suspect, lengths, order = of.rows(lanes), of.suspect(lanes), of.lengths(lanes), lanes.order
    n, slot, top = states.shape[0], (order + 1) * ROW, order * ROW
    series, there, at = lanes.at_T, lanes.at_V, lanes.at_rows
    floor, share = AGREEMENT * lanes.atol + FLOOR, AGREEMENT * lanes.rtol
    count, one, value, slopes = at + ROW, at + 2 * ROW, at + 3 * ROW, at + 4 * ROW
    for lane in range(LANES):
        rows[0, lane] = lengths[lane] if suspect[lane] else 0.0
        rows[1, lane], rows[2, lane] = 0.0, 1.0
    for i in range(n):
        series_at(there + states[i] * ROW, slopes + i * ROW, series + states[i] * slot, at, order)
    _values_within(lanes, value)
    for i in range(n):
        s, slope = series + states[i] * slot, slopes + i * ROW
        last = s + top if moves[rhs[i]] else one
        count_apart(count, there + rhs[i] * ROW, slope, at, s, slope, at, last, floor, share)
    for i in range(watched.shape[0]):
        s, mine = series + watched[i] * slot, there + watched[i] * ROW
        size = lanes.at_E + watched[i] * ROW if i < lanes.of_switches else s
        series_at(value, slopes, s, at, order)
        count_apart(count, mine, value, one, size, slopes, at, s + top, floor, share)
    again = False
    for lane in range(LANES):
        suspect[lane] = suspect[lane] and rows[1, lane] > 0.0 and (rows[1, lane] >= 1.0 or _is_blind(lanes, lane))
        again = again or suspect[lane]
    return not again


@inner
def check_steps(lanes: Any) -> None:
    """Halve steps until the slopes of their series, and the values that are watched, are the equations'."""
    if _ends_agree(lanes):
        return
    T, states, watched, order = of.T(lanes), of.states(lanes), of.watched(lanes), lanes.order
    suspect, lengths, rows, work = of.suspect(lanes), of.lengths(lanes), of.rows(lanes), of.checks(lanes)
    places = 1
    for lane in range(LANES):
        rows[3, lane] = lengths[lane]
        blank = False
        for i in range(states.shape[0]):
            blank = blank or T[states[i], order, lane] == 0.0
        for i in range(watched.shape[0]):
            blank = blank or T[watched[i], order, lane] == 0.0
        if blank and suspect[lane] and _is_blind(lanes, lane):
            places = PLACES
    for halving in range(MOST_HALVINGS):
        _differences(lanes, places)
        for blurred in range(2):
            wrong = False
            for lane in range(LANES):
                if suspect[lane]:
                    suspect[lane] = _disagrees(lanes, lane)
                    wrong = wrong or suspect[lane]
            if not wrong:
                return
            if not blurred:
                _note_roundings(lanes)
        for lane in range(LANES):
            if suspect[lane]:
                lengths[lane] *= 0.5
                enough = halving + 1 == MOST_HALVINGS or _moves_nothing(T, states, lengths[lane], lane)
                for i in range(work.shape[1]):
                    enough = enough or (halving + 1 >= MOST_BEYOND and not work[APART, i, lane] < np.inf)
                if enough:
                    suspect[lane], lengths[lane] = False, rows[3, lane]
