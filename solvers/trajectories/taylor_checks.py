"""Steps that the last terms of a series say nothing about, checked on the equations before they are taken.

The series of y^30 at y = 0 has no term up to order 29: a step by its last terms would be as long as the motion. Where
terms vanish, and where a step is far longer than the last or than what is left of the motion, the slopes of the
series are compared with those of the equations at places all over the step, and the step is halved until they agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .taylor_operations import LANES, call_at, inner, order_zero, value_at

#: Places of a step at which slopes are compared: where terms vanish, and where the last terms may lie in a gap.
PLACES, FEW = 16, 2
#: Slopes may differ by as many tolerances; the slopes of a good step, by about its order.
AGREEMENT = 100.0
#: Most halvings of a step; the tolerance is relative to what a state changes by in the first, so that few are needed.
MOST_HALVINGS = 40
#: A step is looked at where it is as many times the last, or as many times what is left of the motion.
GROWTH, BEYOND = 16.0, 4.0


@inner
def moving_slots(code2: Any, slots: Any, states: Any, clock: Any, delayed: Any) -> Any:
    """(slots,) whether a value changes along a motion: of those that do not, series without terms are right."""
    moves = np.zeros(slots, np.bool_)
    for i in range(code2.shape[0]):
        moves[code2[i, 1]] = True
    for i in range(states.shape[0]):
        moves[states[i]] = True
    for i in range(delayed.shape[0]):
        moves[delayed[i]] = True
    if clock >= 0:
        moves[clock] = True
    return moves


@inner
def _vanishes(T: Any, slot: Any, order: Any, lane: Any) -> Any:
    """Whether the upper half of a series has no term."""
    for k in range(order // 2, order + 1):
        if T[slot, k, lane] != 0.0:
            return False
    return True


@inner
def is_blind(
    T: Any, states: Any, rhs: Any, guards: Any, moves: Any, clock: Any, order: Any, lane: Any
) -> Any:  # fmt: skip
    """Whether the upper half of a series that moves has no term: of a state, or of the argument of a switch."""
    for i in range(states.shape[0]):
        if moves[rhs[i]] and _vanishes(T, states[i], order, lane):
            at_rest = clock < 0
            for j in range(states.shape[0]):
                at_rest = at_rest and T[states[j], 1, lane] == 0.0
            return not at_rest
    for g in range(guards.shape[0]):
        if guards[g, 1] < 0 and moves[guards[g, 0]] and _vanishes(T, guards[g, 0], order, lane):
            return True
    return False


@inner
def _evaluate(code1: Any, values: Any, base: Any, T: Any, sides: Any, lags: Any) -> None:
    """All values, from those of states, time and delayed values."""
    if values:
        call_at(values, base, lags.ctypes.data)
    else:
        order_zero(code1, T, sides, lags)


@inner
def _note(work: Any, row: Any, lane: Any, value: Any, of_series: Any) -> None:
    """The largest difference of a round, and the largest values; NaN is a difference without end."""
    apart = abs(value - of_series)
    if not apart <= work[0, row, lane]:
        work[0, row, lane] = apart if apart < np.inf else np.inf
    if abs(value) < np.inf:
        work[1, row, lane] = max(work[1, row, lane], abs(value))
    work[2, row, lane] = max(work[2, row, lane], abs(of_series))


@inner
def _disagrees(
    work: Any, kept: Any, n: Any, switches: Any, length: Any, rtol: Any, atol: Any, scales: Any, lane: Any
) -> Any:  # fmt: skip
    """Whether slopes or arguments of switches differ by more than their tolerance.

    It is relative to a state and to what its series changes by. A state that is zero and whose series stays so is
    measured by what the equations change it by, in the first step on whose other states they agree.
    """
    wrong = False
    for g in range(switches):
        wrong = wrong or not work[0, n + g, lane] <= AGREEMENT * rtol * work[1, n + g, lane]
    for i in range(n):
        scale = abs(kept[i, lane]) + length * work[2, i, lane]
        if scale > 0.0:
            wrong = wrong or not work[0, i, lane] * length <= AGREEMENT * (atol + rtol * scale)
    if wrong:
        return True
    for i in range(n):
        if kept[i, lane] == 0.0 and work[2, i, lane] == 0.0:
            if scales[i, lane] < 0.0:
                scales[i, lane] = length * work[1, i, lane]
            wrong = wrong or not work[0, i, lane] * length <= AGREEMENT * (atol + rtol * scales[i, lane])
    return wrong


@inner
def check_steps(
    code1: Any, values: Any, base: Any, T: Any, sides: Any, lags: Any, states: Any, rhs: Any, guards: Any,
    delayed: Any, clock: Any, order: Any, rtol: Any, atol: Any, suspect: Any, lengths: Any, kept: Any, work: Any,
    places: Any,
) -> None:  # fmt: skip
    """Halve steps of suspect lanes until the slopes of their series, and arguments of switches, are the equations'.

    Parameters
    ----------
    suspect (LANES,), lengths (LANES,) : which lanes are checked, and their steps, shortened here
    kept (states + delayed + 1 + guards, LANES) : room for the values at the beginning of the step
    work (4, states + guards, LANES) : room for the largest differences, values, values of series, and for scales
    places : how many places of the step are looked at
    """
    n, many = states.shape[0], delayed.shape[0]
    for lane in range(LANES):
        for i in range(n):
            kept[i, lane] = T[states[i], 0, lane]
        for d in range(many):
            kept[n + d, lane] = T[delayed[d], 0, lane]
        if clock >= 0:
            kept[n + many, lane] = T[clock, 0, lane]
        for g in range(guards.shape[0]):
            kept[n + many + 1 + g, lane] = T[guards[g, 0], 0, lane]
    scales = work[3]
    scales[:, :] = -1.0
    for _ in range(MOST_HALVINGS):
        work[:3, :, :] = 0.0
        for place in range(1, places + 1):
            for lane in range(LANES):
                if not suspect[lane]:
                    continue
                at = lengths[lane] * place / places
                for i in range(n):
                    T[states[i], 0, lane] = kept[i, lane]
                    T[states[i], 0, lane] = value_at(T, states[i], order, lane, at)
                for d in range(many):
                    T[delayed[d], 0, lane] = kept[n + d, lane]
                    T[delayed[d], 0, lane] = value_at(T, delayed[d], order, lane, at)
                if clock >= 0:
                    T[clock, 0, lane] = kept[n + many, lane] + at
            _evaluate(code1, values, base, T, sides, lags)
            for lane in range(LANES):
                if not suspect[lane]:
                    continue
                at = lengths[lane] * place / places
                for i in range(n):
                    slope = 0.0
                    for k in range(order, 0, -1):
                        slope = slope * at + k * T[states[i], k, lane]
                    _note(work, i, lane, T[rhs[i], 0, lane], slope)
                for g in range(guards.shape[0]):
                    argument = 0.0
                    for k in range(order, 0, -1):
                        argument = (argument + T[guards[g, 0], k, lane]) * at
                    if guards[g, 1] < 0:
                        argument += kept[n + many + 1 + g, lane]
                        _note(work, n + g, lane, T[guards[g, 0], 0, lane], argument)
        again = False
        for lane in range(LANES):
            if suspect[lane]:
                wrong = _disagrees(work, kept, n, guards.shape[0], lengths[lane], rtol, atol, scales, lane)
                suspect[lane] = wrong
                again = again or wrong
                if wrong:
                    lengths[lane] *= 0.5
        if not again:
            break
    for lane in range(LANES):
        for i in range(n):
            T[states[i], 0, lane] = kept[i, lane]
        for d in range(many):
            T[delayed[d], 0, lane] = kept[n + d, lane]
        if clock >= 0:
            T[clock, 0, lane] = kept[n + many, lane]
    _evaluate(code1, values, base, T, sides, lags)
