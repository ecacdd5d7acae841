"""The past of a delayed value: the Taylor polynomials of the steps taken, re-expanded at the present.

So the past enters with the full order. A step ends where such a polynomial ends, which carries discontinuities forward:
A. Bellen, M. Zennaro, Numerical methods for delay differential equations, 2003, chapter 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import taylor_lanes as of
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
def fill_past(lanes: Any, lane: Any, m: Any) -> None:
    """The delays of trajectory m, and its past before it begins."""
    lags, pointer, newest, all_lags = of.lags(lanes), of.pointer(lanes), of.newest(lanes), of.all_lags(lanes)
    H, history, edges, ends_in = of.H(lanes), of.history(lanes), of.edges(lanes), of.ends_in(lanes)
    begins, lengths, radii, valid = (of.begins(lanes), of.piece_lengths(lanes), of.radii(lanes), of.valid(lanes))
    for d in range(lags.shape[0]):
        lags[d, lane], pointer[d, lane] = all_lags[d, m], 0
    column = min(m, history.shape[3] - 1)
    for p in range(history.shape[1]):
        for v in range(history.shape[0]):
            for k in range(history.shape[2]):
                H[p, lane, v, k] = history[v, p, k, column]
        begins[p, lane], of.carries(lanes)[p, lane] = lanes.begin + edges[p, column], 0.0
        lengths[p, lane] = edges[p + 1, column] - edges[p, column]
        radii[p, lane] = valid[p, lane] = lengths[p, lane] / STRETCH  # a fit holds nowhere else
        of.natural(lanes)[p, lane], of.behind(lanes)[p, lane] = radii[p, lane], 0.0
        of.levels(lanes)[p, lane] = ends_in[p, column]
    newest[lane] = of.hard(lanes)[lane] = history.shape[1] - 1


@inner
def remember(lanes: Any, lane: Any, length: Any, radius: Any, level: Any) -> None:
    """Keep the polynomials of a step; they hold over `radius`, a discontinuity of this level ends them."""
    H, T, past, newest, levels = of.H(lanes), of.T(lanes), of.past(lanes), of.newest(lanes), of.levels(lanes)
    newest[lane] += 1
    mask = lanes.capacity - 1
    p = newest[lane] & mask
    of.begins(lanes)[p, lane], of.carries(lanes)[p, lane] = of.now(lanes)[lane], of.carry(lanes)[lane]
    of.piece_lengths(lanes)[p, lane], levels[p, lane] = length, level
    of.radii(lanes)[p, lane], of.natural(lanes)[p, lane] = radius, max(radius, of.by_terms(lanes)[lane])
    smooth = levels[(newest[lane] - 1) & mask, lane] == SOFT
    of.behind(lanes)[p, lane] = min(radius, of.reach_back(lanes)[lane]) if smooth else 0.0
    if level != SOFT:
        of.hard(lanes)[lane] = newest[lane]
    of.valid(lanes)[p, lane] = np.inf if of.exact(lanes)[lane] else radius
    for v in range(past.shape[0]):
        for k in range(H.shape[3]):
            H[p, lane, v, k] = T[past[v], k, lane]


@inner
def _since(lanes: Any, lane: Any, p: Any, lag: Any) -> Any:
    """How long before the delayed time piece p began."""
    ahead = (of.now(lanes)[lane] - of.begins(lanes)[p, lane]) - lag
    return ahead + (of.carry(lanes)[lane] - of.carries(lanes)[p, lane])


@inner
def look_back(lanes: Any) -> None:
    """Coefficients of the delayed values at the present, how far they hold, and the discontinuity that ends them.

    `reach` and `reach_back` are how far after and before the present; `behind` is the latter of pieces of the past: 0
    where one begins at a discontinuity, or is of a history, of which each piece is a fit that holds nowhere else.
    """
    delayed, running, lags, shift = of.delayed(lanes), of.running(lanes), of.lags(lanes), of.shift(lanes)
    reach, reach_back, cut, exact = of.reach(lanes), of.reach_back(lanes), of.cut(lanes), of.exact(lanes)
    piece = of.piece(lanes)
    for lane in range(LANES):
        reach[lane], reach_back[lane], cut[lane], exact[lane] = np.inf, np.inf, SOFT, True
    for d in range(delayed.shape[0]):
        moved = False
        for lane in range(LANES):
            if d == 0 or lags[d, lane] != lags[d - 1, lane]:
                shift[lane], piece[lane] = 0.0, -1
                if running[lane] and lags[d, lane] != 0.0:
                    _find_past(lanes, lane, d)
            if piece[lane] >= 0:
                _copy_piece(lanes, lane, d, piece[lane])
            moved = moved or shift[lane] != 0.0
        if moved:
            row = lanes.at_T + delayed[d] * lanes.terms * ROW
            for i in range(lanes.order):
                horner_pass(row, shift.ctypes.data, lanes.order, i)


@inner
def _copy_piece(lanes: Any, lane: Any, d: Any, p: Any) -> None:
    """The polynomial of piece p in the place of delayed value d."""
    H, T, slot, v = of.H(lanes), of.T(lanes), of.delayed(lanes)[d], of.ages(lanes)[d]
    for k in range(lanes.terms):
        T[slot, k, lane] = H[p, lane, v, k]


@inner
def _find_past(lanes: Any, lane: Any, d: Any) -> None:
    """The piece of the past of delayed value d of one lane, how far back that began (`shift`), and how far it holds."""
    begins, radii, behind = of.begins(lanes), of.radii(lanes), of.behind(lanes)
    newest, pointer, reach, shift = of.newest(lanes), of.pointer(lanes), of.reach(lanes), of.shift(lanes)
    reach_back, mask, lag, now = (
        of.reach_back(lanes),
        lanes.capacity - 1,
        of.lags(lanes)[d, lane],
        of.now(lanes)[lane],
    )
    s = now - lag
    slack = 1e-13 * max(1.0, abs(now))
    at = pointer[d, lane]
    while at < newest[lane] and begins[(at + 1) & mask, lane] <= s + slack:
        at += 1
    pointer[d, lane] = at
    p = at & mask
    if newest[lane] - at > mask:
        reach[lane] = -1.0  # the past that is needed was overwritten
        return
    since = _since(lanes, lane, p, lag)
    if lanes.delays > 1 and at < newest[lane]:  # the next piece may be nearer
        q = (at + 1) & mask
        ahead = -_since(lanes, lane, q, lag)
        if ahead < min(since, 0.5 * radii[q, lane], behind[q, lane]):
            at, p, since = at + 1, q, -ahead
    of.piece(lanes)[lane] = p
    reach_back[lane] = min(reach_back[lane], behind[p, lane] + since)
    if abs(since) > slack:
        shift[lane] = since
    _note_reach(lanes, lane, at, lag, since, slack)


@inner
def _note_reach(lanes: Any, lane: Any, at: Any, lag: Any, since: Any, near: Any) -> None:
    """How far from the present piece `at` of the past holds, and the discontinuity that ends it."""
    lengths, radii, valid = of.piece_lengths(lanes), of.radii(lanes), of.valid(lanes)
    levels, hard, exact = of.levels(lanes), of.hard(lanes), of.exact(lanes)
    reach, cut, mask = of.reach(lanes), of.cut(lanes), lanes.capacity - 1
    several, shift, p = lanes.delays > 1, of.shift(lanes)[lane], at & mask
    holds, level = lengths[p, lane] - since, levels[p, lane]
    if level != SOFT:
        exact[lane] = exact[lane] and shift == 0.0 and valid[p, lane] == np.inf
    else:
        holds = valid[p, lane] - since
        within = min(valid[p, lane], radii[p, lane])
        if several and (holds < np.inf or shift != 0.0):
            holds = min(GROW * within, STRETCH * of.natural(lanes)[p, lane]) - since
        elif shift != 0.0:
            holds = STRETCH * within - since
        elif holds < np.inf:
            holds *= STRETCH
        exact[lane] = exact[lane] and holds == np.inf
        while at < hard[lane]:  # but not across a discontinuity
            at += 1
            p = at & mask
            end = lengths[p, lane] - _since(lanes, lane, p, lag)
            if end > holds + near:
                break
            if levels[p, lane] != SOFT:
                holds, level = end, levels[p, lane]
                break
    if holds < reach[lane] - near:
        reach[lane], cut[lane] = holds, level
    elif holds < reach[lane] + near:
        cut[lane] = min(cut[lane], level)


@inner
def length_within_past(lanes: Any, lane: Any, length: Any) -> Any:
    """(length, radius, level): a step as far as the past holds, how far its series hold, what ends them there."""
    reach, cut, lags = of.reach(lanes)[lane], of.cut(lanes)[lane], of.lags(lanes)
    several, level, radius = lanes.delays > 1, SOFT, length
    if reach <= length:
        length = radius = reach
        level = SOFT if cut >= lanes.order else cut + 1
        if level == SOFT and several:
            length = SHARE * radius
    elif lags[0, lane] > 0.0:
        length = _snap(lanes, lane, length)
    if level == SOFT and several:
        radius, lag = min(of.by_terms(lanes)[lane], reach), _shortest(lags, lane)
        length = lag if radius >= lag else length
    return length, radius, level


@inner
def _snap(lanes: Any, lane: Any, length: Any) -> Any:
    """The last end of a piece of the past within a step that starts a lag before now, if one is far enough."""
    begins, lengths, newest = of.begins(lanes), of.piece_lengths(lanes), of.newest(lanes)[lane]
    mask, lag, at = lanes.capacity - 1, of.lags(lanes)[0, lane], of.pointer(lanes)[0, lane]
    s, farthest, last = of.now(lanes)[lane] - lag, 0.0, -1
    while at <= newest:
        p = at & mask
        end = begins[p, lane] + lengths[p, lane] - s
        if end > length:
            break
        farthest, last = end, p
        at += 1
    if last < 0 or farthest < SNAP * length:
        return length
    return lengths[last, lane] - _since(lanes, lane, last, lag)


@inner
def _shortest(lags: Any, lane: Any) -> Any:
    """The shortest delay that is not zero, or infinity."""
    shortest = np.inf
    for d in range(lags.shape[0]):
        if lags[d, lane] > 0.0:
            shortest = min(shortest, lags[d, lane])
    return shortest
