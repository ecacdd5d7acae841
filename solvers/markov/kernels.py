"""Compiled loops of the stationary solvers; `dense` and `sparse` hold the explanations.

`elimination` and `wide` call some of these kernels; no kernel here calls one of another file.

**Levels.** A stationary law may span thousands of decades. Unnormalised probabilities are therefore
kept as `value * 2**(500 * level)` with an integer level; `combine` turns them into doubles at the end and
lets what lies below the double range become zero. Every operation is an addition, multiplication or division
of non-negative numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tcpdynamics.compiled import kept_with

Array = Any  # Numba sees the element type; here it would only be noise.

LEVEL_BITS = 500
DOWN = 2.0**-LEVEL_BITS
UP = 2.0**LEVEL_BITS
LOW, HIGH = 2.0**-250, 2.0**250  # band of values kept beside a level
_TAIL_LOW, _TAIL_HIGH = 2.0**-100, 2.0**900  # the same where flows of all sizes share one level
SMALLEST_FACTOR = 2.0**-480  # products of two factors from here on are normal doubles


#: Compiled functions release the GIL; division by zero gives inf as in NumPy.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
jit = kept_with(__file__, **OPTIONS)


@jit
def _rescaled(value: float, steps: int) -> float:
    """`value * 2**(500 * steps)`, zero where that lies below the double range."""
    if steps < -4:
        return 0.0
    for _ in range(-steps):
        value *= DOWN
    for _ in range(steps):
        value *= UP
    return value


@jit
def deposit(flow: Array, level: Array, j: int, value: float, at: int) -> None:
    """Add `value` at level `at` to flow[j]."""
    if level[j] == at:
        flow[j] += value
    elif flow[j] == 0.0:
        flow[j] = value
        level[j] = at
    elif at > level[j]:
        flow[j] = _rescaled(flow[j], level[j] - at) + value
        level[j] = at
    else:
        flow[j] += _rescaled(value, at - level[j])


@jit
def settled(value: float, level: int) -> tuple[float, int]:
    """The same number with its value inside the band."""
    while value > HIGH:
        value *= DOWN
        level += 1
    while 0.0 < value < LOW:
        value *= UP
        level -= 1
    return value, level


@jit
def settle(flow: Array, level: Array, k: int, outflow: float) -> None:
    """Turn the flow into state k into its probability flow / outflow, with the value inside the band."""
    if outflow < DOWN:
        outflow *= UP
        level[k] += 1
    flow[k], level[k] = settled(flow[k] / outflow, level[k])


@jit
def combine(value: Array, level: Array) -> Array:
    """Doubles proportional to value * 2**(500 * level), the largest between 1/2 and 1."""
    n = value.size
    top = -(1 << 60)
    for k in range(n):
        if value[k] > 0.0 and level[k] > top:
            top = level[k]
    largest = 0.0
    for k in range(n):
        if level[k] >= top - 3:
            scaled = _rescaled(value[k], level[k] - top)
            if scaled > largest:
                largest = scaled
    shift = 0
    while largest >= 1.0:
        largest *= 0.5
        shift -= 1
    while 0.0 < largest < 0.5:
        largest *= 2.0
        shift += 1
    out = np.empty(n)
    last_level = level[0] + 1
    first = second = 0.0
    for k in range(n):
        if level[k] != last_level:
            last_level = level[k]
            # Two factors, because a single one can lie outside the double range while the product does not.
            bits = max(LEVEL_BITS * (last_level - top) + shift, -2000)
            first = 2.0 ** (bits // 2)
            second = 2.0 ** (bits - bits // 2)
        out[k] = value[k] * first * second
    return out


# ------------------------------------------------------------------------------------------ dense elimination


@jit
def gth_panel(A: Array, first: int, last: int) -> int:
    """Eliminate states last-1, ..., first of A[:last, :last], except for the update of A[:first, :first].

    Afterwards row k of the panel holds the transition probabilities of state k into lower states given that
    it leaves, A[k, k] its outflow, and column k the flow into state k from lower states. Returns a state
    without outflow, or -1.
    """
    for k in range(last - 1, first - 1, -1):
        # Rows above have been eliminated: what goes to them comes back to lower states.
        for m in range(last - 1, k, -1):
            weight = A[k, m]
            if weight != 0.0:
                for j in range(m):
                    A[k, j] += weight * A[m, j]
        if k == 0:
            continue
        outflow = 0.0
        for j in range(k):
            outflow += A[k, j]
        A[k, k] = outflow
        if not outflow > 0.0:
            return k
        for j in range(k):
            A[k, j] /= outflow
    for i in range(first):
        for m in range(last - 1, first - 1, -1):
            weight = A[i, m]
            if weight != 0.0:
                for j in range(first, m):
                    A[i, j] += weight * A[m, j]
    return -1


@jit
def gth_back(A: Array, flow: Array, level: Array) -> None:
    """Probabilities relative to state 0 from an eliminated matrix: flow into k over outflow, k after k."""
    n = A.shape[0]
    flow[:] = 0.0
    level[:] = 0
    flow[0] = 1.0
    for k in range(n):
        if k > 0:
            settle(flow, level, k, A[k, k])
        if flow[k] > 0.0:
            for j in range(k + 1, n):
                if A[k, j] > 0.0:
                    deposit(flow, level, j, flow[k] * A[k, j], level[k])


@jit
def too_small(A: Array) -> int:
    """How many flows and shares of an eliminated matrix are so small that a product of two may underflow.

    Every product of `gth_panel`, of the matrix products between panels and of `gth_back` is that of a flow into a
    higher state (above the diagonal) with a share below it, or with a value of the band.
    """
    count = 0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            count += (A[i, j] > 0.0) & (A[i, j] < SMALLEST_FACTOR)
        count -= (A[i, i] > 0.0) & (A[i, i] < SMALLEST_FACTOR)
    return count


# ----------------------------------------------------------------------------------------- sparse: first look


@jit
def scan_rows(indptr: Array, indices: Array, data: Array, floor: float, per_entry: float) -> tuple[int, ...]:
    """Check the rows and find the shape in one pass.

    Returns (a bad row or -1, largest target above i+1, smallest target below i-1, lower bandwidth, upper
    bandwidth, number of positive diagonal entries).
    """
    n = indptr.size - 1
    head, foot, below, above, loops = 0, n - 1, 0, 0, 0
    for i in range(n):
        total = 0.0
        start, stop = indptr[i], indptr[i + 1]
        for p in range(start, stop):
            j = indices[p]
            v = data[p]
            if not v >= 0.0:
                return i, head, foot, below, above, loops
            total += v
            d = j - i
            if d > 0:
                above = max(above, d)
                if d > 1:
                    head = max(head, j)
            elif d < 0:
                below = max(below, -d)
                if d < -1:
                    foot = min(foot, j)
            elif v > 0.0:
                loops += 1
        if not abs(total - 1.0) <= floor + per_entry * (stop - start):
            return i, head, foot, below, above, loops
    return -1, head, foot, below, above, loops


# ---------------------------------------------------------------------------- sparse: nearly skip-free chains
# In both kernels state r is row origin + step * r of the matrix: (0, 1) for the given order, (n-1, -1) for
# the reverse.


@jit
def tail_top(indptr: Array, indices: Array, data: Array, head: int, origin: int, step: int) -> tuple[int, int]:
    """(last state that is not certainly below 2**-2000 of the largest, an unverified state or -1).

    Unverified: only states above can enter it, or only with a stored probability of zero.

    The cut below k carries pi[k-1] P[k-1,k] upwards and at least pi[k] d[k] downwards, d[k] being the total
    downward probability of k; so pi[k] <= pi[k-1] P[k-1,k] / d[k]: products of these ratios bound the tail.
    """
    n = indptr.size - 1
    top = head
    bound, depth = 1.0, 0
    up = 0.0
    for k in range(head, n):
        down, next_up, stored = 0.0, 0.0, False
        i = origin + step * k
        for p in range(indptr[i], indptr[i + 1]):
            t = origin + step * indices[p]
            if t < k:
                down += data[p]
            elif t == k + 1:
                next_up += data[p]
                stored = True
        if k > head:
            if up == 0.0:  # an underflown probability: all states above are out of reach
                return top, k
            if down == 0.0:
                bound, depth = 1.0, 0
            else:
                ratio = up / down
                bound *= min(ratio, UP)
                if depth == 0:
                    bound = min(bound, 1.0)
                elif bound > 1.0:
                    bound *= DOWN
                    depth -= 1
                if bound == 0.0:
                    bound = DOWN * DOWN
                while bound < DOWN:
                    bound *= UP
                    depth += 1
            if depth < 4:
                top = k
        if not stored and k < n - 1:
            return top, k + 1
        up = next_up
    return top, -1


@jit
def tail_period(indptr: Array, indices: Array, data: Array, head: int, origin: int, step: int) -> int:
    """Greatest common divisor of the cycles of one fall and a climb inside the tail; 0 if none."""
    n = indptr.size - 1
    g = 0
    for k in range(head + 1, n):
        i = origin + step * k
        for p in range(indptr[i], indptr[i + 1]):
            t = origin + step * indices[p]
            if data[p] > 0.0 and head <= t <= k:
                a, b = g, k + 1 - t
                while b:
                    a, b = b, a % b
                g = a
                if g == 1:
                    return 1
    return g


@jit
def tail_flow(
    indptr: Array, indices: Array, data: Array, head: int, top: int, origin: int, step: int, value: Array, level: Array
) -> tuple[int, Array, Array, float]:
    """Cut equations from `top` down to `head`: fills value, level.

    Returns (a state that failed or -1, flows, which flows were lost, bound on those).

    `flows[j]`, j <= head, is the flow from the tail into head state j at level[head].

    Each cut needs the sum of all flows, from states above it, into states t <= c; c falls by one per step.
    Taking flows out again would cancel, so partial sums are kept over blocks of 1, 8, 512 and 32768 targets:
    `sum_0` covers c's block of 8 up to c, `sum_1` the blocks of 8 before it inside its block of 512, and so
    on. A sum is formed anew when c moves past a block, which costs about 10 additions per step. Sums that
    thousands of flows enter are compensated, or their rounding would be seen at 1e6 states.

    What fell below the range of doubles so far is at most 2**-50 times `floor`: half of 2**-1074 for each flow at each
    scaling. A cut that is not above `floor` fails, and a flow into the head is lost. Entries must be zero or at least
    2**-700.
    """
    flow_0 = np.zeros(top + 8)
    flow_1 = np.zeros((top >> 3) + 2)
    flow_2 = np.zeros(((top >> 9) + 2, 2))
    flow_3 = np.zeros(((top >> 15) + 2, 2))
    block_level = np.zeros((top >> 9) + 2, np.int64)
    into_head = np.zeros((head + 1, 2))
    enters = np.zeros(head + 1, np.bool_)
    rounding = (indptr[indptr.size - 1] + 1024.0) * 2.0**-1024
    floor = rounding
    sum_1 = sum_2 = sum_3 = sum_head = 0.0
    lost_2 = lost_3 = lost_head = 0.0
    at = 0
    previous = 2.0**400
    value[top] = previous
    level[top] = 0
    c9 = -1
    for c in range(top - 1, head - 1, -1):
        c3, c15 = c >> 3, c >> 15
        if c9 != c >> 9:
            c9 = c >> 9
            if block_level[c9] != at:
                _relevel(flow_0, flow_1, block_level, c9, at)
            sum_2 = sum_3 = lost_2 = lost_3 = 0.0
            for b in range(c15 << 6, c9):
                sum_2 += flow_2[b, 0] + flow_2[b, 1]
            for b in range(c15):
                sum_3 += flow_3[b, 0] + flow_3[b, 1]
        if c & 7 == 7 or c == top - 1:
            sum_1 = 0.0
            for b in range(c9 << 6, c3):
                sum_1 += flow_1[b]
        sum_0 = 0.0
        for t in range(c3 << 3, c + 1):
            sum_0 += flow_0[t]

        # Flows out of state c + 1, whose probability is known by now.
        i = origin + step * (c + 1)
        for p in range(indptr[i], indptr[i + 1]):
            t = origin + step * indices[p]
            if t <= head:
                x = previous * data[p]
                enters[t] = True
                _add(into_head, t, x)
                sum_head, error = _two_sum(sum_head, x)
                lost_head += error
            elif t <= c:
                x = previous * data[p]
                t9 = t >> 9
                if block_level[t9] != at:
                    _relevel(flow_0, flow_1, block_level, t9, at)
                flow_0[t] += x
                if t >> 3 == c3:
                    sum_0 += x
                else:
                    flow_1[t >> 3] += x
                    if t9 == c9:
                        sum_1 += x
                    else:
                        _add(flow_2, t9, x)
                        if t >> 15 == c15:
                            sum_2, error = _two_sum(sum_2, x)
                            lost_2 += error
                        else:
                            _add(flow_3, t >> 15, x)
                            sum_3, error = _two_sum(sum_3, x)
                            lost_3 += error
        up = 0.0
        i -= step
        for p in range(indptr[i], indptr[i + 1]):
            if origin + step * indices[p] == c + 1:
                up += data[p]

        lost = (lost_2 + lost_3) + lost_head
        down = (((sum_0 + sum_1) + sum_2) + sum_3) + (sum_head + lost)
        if not down > floor:
            return c + 1, into_head[:, 0], enters, floor
        previous = down / up
        # Everything still alive is part of `down` <= previous, so that scaling up cannot overflow either.
        while not _TAIL_LOW <= previous <= _TAIL_HIGH:
            factor, change = (DOWN, 1) if previous > _TAIL_HIGH else (UP, -1)
            at += change
            floor = floor * factor + rounding
            _scale(flow_2, c9 + 1, factor)
            _scale(flow_3, c15 + 1, factor)
            _scale(into_head, head + 1, factor)
            _relevel(flow_0, flow_1, block_level, c9, at)
            sum_1 *= factor
            sum_2 *= factor
            sum_3 *= factor
            sum_head *= factor
            lost_2 *= factor
            lost_3 *= factor
            lost_head *= factor
            down *= factor
            previous = down / up
            if not down > floor:
                return c + 1, into_head[:, 0], enters, floor
        value[c] = previous
        level[c] = at
    for t in range(head + 1):
        enters[t] = enters[t] and not into_head[t, 0] > floor
    return -1, into_head[:, 0] + into_head[:, 1], enters, floor * 2.0**-50


@jit
def _two_sum(a: float, b: float) -> tuple[float, float]:
    """Rounded sum and what rounding lost, exactly (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@jit
def _add(sums: Array, i: int, x: float) -> None:
    """Add x to the compensated sum sums[i] = (rounded sum, what rounding lost)."""
    sums[i, 0], error = _two_sum(sums[i, 0], x)
    sums[i, 1] += error


@jit
def _scale(sums: Array, stop: int, factor: float) -> None:
    """Multiply the first `stop` compensated sums."""
    for i in range(stop):
        sums[i, 0] *= factor
        sums[i, 1] *= factor


@jit
def _relevel(flow_0: Array, flow_1: Array, block_level: Array, block: int, at: int) -> None:
    """Bring a block of 512 targets to level `at`; blocks wait until needed, so that scaling stays cheap."""
    steps = block_level[block] - at
    block_level[block] = at
    if steps == 0:
        return
    for t in range(block << 9, min((block + 1) << 9, flow_0.size)):
        if flow_0[t] != 0.0:
            flow_0[t] = _rescaled(flow_0[t], steps)
    for b in range(block << 6, min((block + 1) << 6, flow_1.size)):
        if flow_1[b] != 0.0:
            flow_1[b] = _rescaled(flow_1[b], steps)


# -------------------------------------------------------------------------------------- sparse: banded chains


@jit
def band_fill(indptr: Array, indices: Array, data: Array, below: int, band: Array) -> None:
    """band[i, j - i + below] = P[i, j]."""
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            band[i, indices[p] - i + below] += data[p]


@jit
def band_solve(band: Array, below: int, flow: Array, level: Array) -> int:
    """GTH inside the band, which elimination from above never leaves.

    Returns a stuck state, -1, or -2 where a product may have been too small for doubles.
    """
    n = band.shape[0]
    above = band.shape[1] - below - 1
    for k in range(n - 1, 0, -1):
        reach = min(below, k)
        outflow = 0.0
        for q in range(below - reach, below):
            outflow += band[k, q]
        if not outflow > 0.0:
            return k
        band[k, below] = outflow
        for q in range(below - reach, below):
            band[k, q] /= outflow
        for i in range(max(0, k - above), k):
            weight = band[i, k - i + below]
            if weight != 0.0:
                shift = k - i
                for q in range(below - reach, below):
                    band[i, q + shift] += weight * band[k, q]
    flow[:] = 0.0
    level[:] = 0
    flow[0] = 1.0
    for k in range(n):
        if k > 0:
            settle(flow, level, k, band[k, below])
        for j in range(k + 1, min(n, k + above + 1)):
            weight = band[k, j - k + below]
            if weight > 0.0:
                deposit(flow, level, j, flow[k] * weight, level[k])
    count = 0
    for k in range(n):
        for q in range(band.shape[1]):
            count += (band[k, q] > 0.0) & (band[k, q] < SMALLEST_FACTOR)
        count -= (band[k, below] > 0.0) & (band[k, below] < SMALLEST_FACTOR)
    return -2 if count else -1
