"""State reduction for chains whose probabilities, or products of them, leave the range of floats.

The fast routes of `dense` and `sparse` work on doubles and say when a product may have fallen below the normal range.
Then this one takes over: the same elimination without subtraction, row by row, on numbers `value * 2**(500 * level)`
with a value inside [2**-250, 2**250] and an integer level. Nothing underflows, so every component keeps its relative
error whatever the sizes of the entries. Three to ten times slower than doubles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tcpdynamics.compiled import kept_with

from ..problems import ChainError
from . import kernels
from .kernels import DOWN, LEVEL_BITS, OPTIONS, pop, push, settled

Vector = npt.NDArray[np.float64]
Levels = npt.NDArray[np.int64]
Array = Any  # Numba sees the element type; here it would only be noise.

jit = kept_with(kernels.__file__, __file__, **OPTIONS)

#: Operations of one call of a kernel: some 0.2 s, so that Ctrl-C is answered.
SLICE = 30_000_000


@dataclass(frozen=True, eq=False)
class Factors:
    """A chain with all states but 0 eliminated, as `eliminate_wide` leaves it.

    Attributes
    ----------
    state, value, level : (entries,) arrays
        Row k holds the flows into higher states at bounds[k, 0]:bounds[k, 1], and where it goes below given that it
        leaves, at bounds[k, 1]:bounds[k, 2].
    bounds : (n, 3) int array
    out, out_level : (n,) arrays
        Outflow of each row into lower states.
    """

    state: npt.NDArray[np.int32]
    value: Vector
    level: npt.NDArray[np.int32]
    bounds: Levels
    out: Vector
    out_level: Levels


def eliminate_wide(csr: Any, memory: int = 2**30) -> Factors | int:
    """Eliminate the states of a CSR matrix from the last to 1; the number of a state without outflow if there is one.

    Raises ChainError where fill-in takes more than `memory` bytes.
    """
    n = csr.shape[0]
    room = max(2 * csr.nnz, 16)
    state, value, level = np.empty(room, np.int32), np.empty(room), np.empty(room, np.int32)
    bounds, out, out_level = np.zeros((n, 3), np.int64), np.zeros(n), np.zeros(n, np.int64)
    row, row_level, mark = np.empty(n), np.empty(n, np.int64), np.full(n, -1, np.int64)
    heap, lower = np.empty(n, np.int64), np.empty(n, np.int64)
    indptr, indices = csr.indptr.astype(np.int64), csr.indices.astype(np.int64)
    data = np.ascontiguousarray(csr.data, np.float64)
    k, used = n - 1, 0
    while True:
        status, k, used = wide_rows(
            indptr, indices, data, k, used, state, value, level, bounds, out, out_level, row, row_level, mark, heap,
            lower, SLICE,
        )  # fmt: skip
        if status == 0:
            return Factors(state, value, level, bounds, out, out_level)
        if status == 2:
            return int(k)
        if status == 1:
            if 32 * value.size > memory:
                raise ChainError(
                    f"fill-in of this chain of {n} states exceeds memory={memory} bytes: raise memory, or "
                    "number the states so that transitions stay close to the diagonal"
                )
            state = np.concatenate([state, np.empty_like(state)])
            value = np.concatenate([value, np.empty_like(value)])
            level = np.concatenate([level, np.empty_like(level)])


def stationary_wide(csr: Any, memory: int = 2**30) -> tuple[Vector, Levels] | int:
    """Unnormalised stationary law as value * 2**(500 * level); the number of a state without a way to lower ones."""
    factors = eliminate_wide(csr, memory)
    if isinstance(factors, int):
        return factors
    flow, level = np.zeros(csr.shape[0]), np.zeros(csr.shape[0], np.int64)
    f = factors
    wide_back(f.state, f.value, f.level, f.bounds, f.out, f.out_level, flow, level)
    return flow, level


def absorb_wide(factors: Factors, source: Vector, source_level: Levels) -> tuple[Vector, Levels]:
    """Solve x_i = source_i + sum_j P_ij x_j, the self-loop left out and weighed, with x = 0 in state 0."""
    x, level = np.zeros(source.size), np.zeros(source.size, np.int64)
    f = factors
    wide_solve(f.state, f.value, f.level, f.bounds, f.out, f.out_level, source, source_level, x, level)
    return x, level


def as_floats(value: Vector, level: Levels) -> Vector:
    """The nearest floats: inf above their range, zero (or a subnormal number) below it."""
    with np.errstate(over="ignore", under="ignore"):
        floats: Vector = np.ldexp(value, np.clip(level, -10, 10) * LEVEL_BITS)
    return floats


# -------------------------------------------------------------------------------------------------- arithmetic


@jit
def _plus(a: float, at: int, b: float, bt: int) -> tuple[float, int]:
    if b == 0.0:
        return a, at
    if a == 0.0:
        return b, bt
    if at == bt:
        return settled(a + b, at)
    if at < bt:
        a, at, b, bt = b, bt, a, at
    if at - bt == 1:  # further apart, the smaller lies below half a unit in the last place
        return settled(a + b * DOWN, at)
    return a, at


@jit
def _distance(a: float, at: int, b: float, bt: int) -> tuple[float, int]:
    """|a - b|."""
    if b == 0.0:
        return a, at
    if a == 0.0:
        return b, bt
    if at < bt:
        a, at, b, bt = b, bt, a, at
    if at == bt:
        return settled(abs(a - b), at)
    if at - bt == 1:
        return settled(abs(a - b * DOWN), at)
    return a, at


# ------------------------------------------------------------------------------------------------- elimination


@jit
def wide_rows(
    indptr: Array,
    indices: Array,
    data: Array,
    start: int,
    used: int,
    pool_state: Array,
    pool_value: Array,
    pool_level: Array,
    bounds: Array,
    out: Array,
    out_level: Array,
    row: Array,
    row_level: Array,
    mark: Array,
    heap: Array,
    lower: Array,
    most: int,
) -> tuple[int, int, int]:
    """Rows from `start` down to 0, as in `kernels.eliminate_rows`; returns (status, state reached, entries used).

    Status 0: done; 1: the pool is full before row `state`; 2: `state` has no outflow; 4: `most` operations are done,
    go on with row `state`.
    """
    work = 0
    for k in range(start, -1, -1):
        if work > most:
            return 4, k, used
        size = n_lower = 0
        n_upper = used
        for p in range(indptr[k], indptr[k + 1]):
            j = indices[p]
            if j == k or data[p] == 0.0:
                continue
            if mark[j] != k:
                mark[j] = k
                row[j] = 0.0
                row_level[j] = 0
                if j > k:
                    size = push(heap, size, j)
                else:
                    lower[n_lower] = j
                    n_lower += 1
            v, e = settled(data[p], 0)
            row[j], row_level[j] = _plus(row[j], row_level[j], v, e)
        full = False
        while size > 0:
            m = heap[0]
            size = pop(heap, size)
            if n_upper >= pool_value.size:
                full = True
                break
            weight, at = row[m], row_level[m]
            pool_state[n_upper] = m
            pool_value[n_upper] = weight
            pool_level[n_upper] = at
            n_upper += 1
            work += bounds[m, 2] - bounds[m, 1] + 8
            for p in range(bounds[m, 1], bounds[m, 2]):
                j = pool_state[p]
                if j == k:
                    continue
                if mark[j] != k:
                    mark[j] = k
                    row[j] = 0.0
                    row_level[j] = 0
                    if j > k:
                        size = push(heap, size, j)
                    else:
                        lower[n_lower] = j
                        n_lower += 1
                v, e = settled(weight * pool_value[p], at + pool_level[p])
                row[j], row_level[j] = _plus(row[j], row_level[j], v, e)
        if full or n_upper + n_lower > pool_value.size:
            mark[mark == k] = -1  # the row will be formed anew
            return 1, k, used
        bounds[k, 0] = used
        bounds[k, 1] = n_upper
        used = n_upper
        if k > 0:
            total, at = 0.0, 0
            for q in range(n_lower):
                total, at = _plus(total, at, row[lower[q]], row_level[lower[q]])
            if not total > 0.0:
                return 2, k, used
            out[k] = total
            out_level[k] = at
            for q in range(n_lower):
                j = lower[q]
                v, e = settled(row[j] / total, row_level[j] - at)
                pool_state[used + q] = j
                pool_value[used + q] = v
                pool_level[used + q] = e
            used += n_lower
        bounds[k, 2] = used
    return 0, 0, used


@jit
def wide_back(
    pool_state: Array, pool_value: Array, pool_level: Array, bounds: Array, out: Array, out_level: Array, flow: Array,
    level: Array,
) -> None:  # fmt: skip
    """Probabilities relative to state 0: flow into k from lower states over its outflow, k after k."""
    flow[0] = 1.0
    for k in range(flow.size):
        if k > 0:
            flow[k], level[k] = settled(flow[k] / out[k], level[k] - out_level[k])
        for p in range(bounds[k, 0], bounds[k, 1]):
            j = pool_state[p]
            v, e = settled(flow[k] * pool_value[p], level[k] + pool_level[p])
            flow[j], level[j] = _plus(flow[j], level[j], v, e)


@jit
def wide_solve(
    pool_state: Array, pool_value: Array, pool_level: Array, bounds: Array, out: Array, out_level: Array,
    source: Array, source_level: Array, x: Array, level: Array,
) -> None:  # fmt: skip
    """x_k out_k = source_k + sum_j a_kj x_j: first what higher states send down, then up from state 0."""
    n = x.size
    for k in range(n - 1, 0, -1):
        v, e = settled(source[k], source_level[k])
        for p in range(bounds[k, 0], bounds[k, 1]):
            m = pool_state[p]
            w, f = settled(pool_value[p] * x[m], pool_level[p] + level[m])
            v, e = _plus(v, e, w, f)
        x[k], level[k] = settled(v / out[k], e - out_level[k])
    x[0] = 0.0
    level[0] = 0
    for k in range(1, n):
        v, e = x[k], level[k]
        for p in range(bounds[k, 1], bounds[k, 2]):
            j = pool_state[p]
            w, f = settled(pool_value[p] * x[j], pool_level[p] + level[j])
            v, e = _plus(v, e, w, f)
        x[k], level[k] = v, e


@jit
def wide_spread(
    indptr: Array, indices: Array, data: Array, stay: Array, mean: Array, mean_level: Array, rounding: float,
    source: Array, source_level: Array, slack: Array, slack_level: Array, twice: Array, twice_level: Array,
) -> None:  # fmt: skip
    """What the variance, its error and the second moment earn at each step.

    source_i = stay_i + sum_j P_ij g_ij^2 with the gap g_ij = 1 + mean_j - mean_i, the self-loop counted in `stay`;
    slack_i = sum_j P_ij e_ij (e_ij + 2 |g_ij|) with e_ij = rounding * (1 + mean_j + mean_i); twice_i = 2 mean_i - 1.
    """
    for i in range(1, mean.size):
        v, e = settled(stay[i], 0)
        total, total_level = 0.0, 0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j == i or data[p] == 0.0:
                continue
            w, f = settled(data[p], 0)
            g, at = _plus(1.0, 0, mean[j], mean_level[j])
            error, error_at = _plus(g, at, mean[i], mean_level[i])
            error, error_at = settled(rounding * error, error_at)
            g, at = _distance(g, at, mean[i], mean_level[i])
            both, both_at = _plus(error, error_at, 2.0 * g, at)
            both, both_at = settled(both * error, both_at + error_at)
            both, both_at = settled(w * both, f + both_at)
            total, total_level = _plus(total, total_level, both, both_at)
            g, at = settled(g * g, 2 * at)
            w, f = settled(w * g, f + at)
            v, e = _plus(v, e, w, f)
        source[i] = v
        source_level[i] = e
        slack[i] = total
        slack_level[i] = total_level
        twice[i], twice_level[i] = _distance(2.0 * mean[i], mean_level[i], 1.0, 0)


@jit
def _ratio(value: float, level: int, whole: float) -> float:
    """value * 2**(500 * level) / whole for a level <= 0."""
    return value / whole if level == 0 else (value * DOWN / whole if level == -1 else 0.0)


@jit
def wide_choice(
    mean: Array, mean_level: Array, variance: Array, level: Array, doubt: Array, doubt_level: Array, second: Array,
    second_level: Array, rounding: float,
) -> None:  # fmt: skip
    """Replace a variance by second - mean^2 where that has the smaller error; `doubt` is that of the variance."""
    for i in range(1, mean.size):
        square, at = settled(mean[i] * mean[i], 2 * mean_level[i])
        error, error_at = _plus(second[i], second_level[i], square, at)
        error, error_at = settled(rounding * error, error_at)
        largest, largest_at = _plus(error, error_at, doubt[i], doubt_level[i])
        if _ratio(doubt[i], doubt_level[i] - largest_at, largest) > _ratio(
            error, error_at - largest_at, largest
        ):
            variance[i], level[i] = _distance(second[i], second_level[i], square, at)
