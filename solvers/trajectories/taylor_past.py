"""The past of a delayed value: the Taylor polynomials of the steps taken, re-expanded at the present.

So the past enters with the full order. A step ends where such a polynomial ends, which carries discontinuities forward:
A. Bellen, M. Zennaro, Numerical methods for delay differential equations, 2003, chapter 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .taylor_operations import LANES, ROW, horner_pass, inner

#: A smooth piece of the past may be read this far beyond its own step: so that later steps can grow again.
STRETCH = 1.15

#: A step is cut short to end where a piece of the past ends if it keeps this share of its length: read from its own
#: beginning, a piece needs no re-expansion and holds as far as the present's own series.
SNAP = 0.6

#: Where several delays look at pieces of the past that end at different places, a step takes this share of how far
#: they hold, or else each step would end at every end of a piece, of ever more and shorter pieces.
SHARE = 0.5

#: With several delays, a piece is taken to hold this many times as far as is known, within what its own last terms
#: say: terms that are small at twice the distance are smaller still here, and lengths that only shrink never recover.
GROW = 2.0

#: The end of a piece of the past is a discontinuity of this level (0: a jump of the slope), or none that matters.
SOFT = 1 << 30


@inner
def later(now: Any, rest: Any, length: Any) -> Any:
    """The time now + rest, later by a step: the nearest number, and what rounding it left out.

    The states are those of the exact time. A clock that is rounded shifts a motion against its own past, at each step
    of a periodic one in the same direction.
    """
    time = now + length
    step = time - now
    rest += (now - (time - step)) + (length - step)
    now = time + rest
    return now, rest - (now - time)


@inner
def _since(now: Any, rest: Any, begin: Any, began: Any, lag: Any) -> Any:
    """How long before the delayed time now + rest - lag a piece began, at begin + began."""
    return ((now - begin) - lag) + (rest - began)


@inner
def look_back(
    T: Any, delayed: Any, ages: Any, lags: Any, now: Any, rest: Any, running: Any, order: Any,
    H: Any, begins: Any, rests: Any, lengths: Any, radii: Any, natural: Any, behind: Any, valid: Any, levels: Any,
    newest: Any, hard: Any, pointer: Any, shift: Any, reach: Any, back: Any, cut: Any, exact: Any,
) -> None:  # fmt: skip
    """Coefficients of the delayed values at the present, how far they hold, and the discontinuity that ends them.

    `reach` and `back` are how far after and before the present; `behind` is the latter of pieces of the past: 0 where
    one begins at a discontinuity, or is of a history, of which each piece is a fit that holds nowhere else.
    """
    mask = begins.shape[0] - 1
    several = delayed.shape[0] > 1
    for lane in range(LANES):
        reach[lane], back[lane], cut[lane], exact[lane] = np.inf, np.inf, SOFT, True
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
            if several and at < newest[lane]:  # the next piece may be nearer
                q = (at + 1) & mask
                ahead = -_since(now[lane], rest[lane], begins[q, lane], rests[q, lane], lag)
                if ahead < min(since, 0.5 * radii[q, lane], behind[q, lane]):
                    at, p, since = at + 1, q, -ahead
                    for k in range(order + 1):
                        T[delayed[d], k, lane] = H[p, lane, ages[d], k]
            back[lane] = min(back[lane], behind[p, lane] + since)
            if abs(since) > near:
                shift[lane] = since
                moved = True
            holds, level = lengths[p, lane] - since, levels[p, lane]
            if level != SOFT:
                exact[lane] = exact[lane] and shift[lane] == 0.0 and valid[p, lane] == np.inf
            else:
                holds = valid[p, lane] - since
                if several and (holds < np.inf or shift[lane] != 0.0):
                    known = min(valid[p, lane], radii[p, lane])
                    holds = min(GROW * known, STRETCH * natural[p, lane]) - since
                elif shift[lane] != 0.0:
                    holds = STRETCH * min(valid[p, lane], radii[p, lane]) - since
                elif holds < np.inf:
                    holds *= STRETCH
                exact[lane] = exact[lane] and holds == np.inf
                while at < hard[lane]:  # but not across a discontinuity
                    at += 1
                    p = at & mask
                    end = lengths[p, lane] - _since(
                        now[lane], rest[lane], begins[p, lane], rests[p, lane], lag
                    )
                    if end > holds + near:
                        break
                    if levels[p, lane] != SOFT:
                        holds, level = end, levels[p, lane]
                        break
            if holds < reach[lane] - near:
                reach[lane], cut[lane] = holds, level
            elif holds < reach[lane] + near:
                cut[lane] = min(cut[lane], level)
        if moved:
            row = base + delayed[d] * slot
            for i in range(order):
                horner_pass(row, shift.ctypes.data, order, i)


@inner
def snap(
    length: Any, lag: Any, lane: Any, now: Any, rest: Any, begins: Any, rests: Any, lengths: Any, newest: Any, at: Any
) -> Any:  # fmt: skip
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


@inner
def shortest(lags: Any, lane: Any) -> Any:
    """The shortest delay that is not zero, or infinity."""
    best = np.inf
    for d in range(lags.shape[0]):
        if lags[d, lane] > 0.0:
            best = min(best, lags[d, lane])
    return best
