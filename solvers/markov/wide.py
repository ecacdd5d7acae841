"""State reduction for chains whose probabilities, or products of them, leave the range of floats.

The fast routes of `dense` and `sparse` work on doubles and say when a product may have fallen below the normal range.
Then this one takes over: the same elimination without subtraction, row by row, on numbers `value * 2**(500 * level)`
with a value inside [2**-250, 2**250] and an integer level. Nothing underflows, so every component keeps its relative
error whatever the sizes of the entries. Three to ten times slower than doubles.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcpdynamics.compiled import kept_with

from . import elimination, kernels
from .elimination import Chain, Rows, check_fill_in, eliminate, empty_rows, plus
from .kernels import DOWN, LEVEL_BITS, OPTIONS, settled

Vector = npt.NDArray[np.float64]
Levels = npt.NDArray[np.int64]
Array = Any  # Numba sees the element type; here it would only be noise.

jit = kept_with(kernels.__file__, elimination.__file__, __file__, **OPTIONS)

#: Operations of one call of a kernel: some 0.2 s, so that Ctrl-C is answered.
SLICE = 30_000_000


class Wide(NamedTuple):
    """Numbers value * 2**(500 * level)."""

    value: Array
    level: Array


def zeros(n: int) -> Wide:
    """n wide zeros."""
    return Wide(np.zeros(n), np.zeros(n, np.int64))


def eliminate_wide(csr: Any, memory: int = 2**30) -> Rows | int:
    """Eliminate the states of a CSR matrix from the last to 1; the number of a state without outflow if there is one.

    Raises ChainError where fill-in takes more than `memory` bytes.
    """
    n = csr.shape[0]
    rows, room = empty_rows(n, max(2 * csr.nnz, 16), True)
    data = np.ascontiguousarray(csr.data, np.float64)
    chain = Chain(csr.indptr.astype(np.int64), csr.indices.astype(np.int64), data)
    k, used, dense = n - 1, 0, np.zeros((0, 0))
    while True:
        status, k, used = eliminate(chain, rows, room, True, k, used, dense, SLICE)
        if status == 0:
            return rows
        if status == 2:
            return int(k)
        if status == 1:
            check_fill_in(n, 32 * rows.value.size, memory)
            rows = rows.doubled()


def stationary_wide(csr: Any, memory: int = 2**30) -> Wide | int:
    """Unnormalised stationary law; the number of a state without a way to lower ones."""
    rows = eliminate_wide(csr, memory)
    if isinstance(rows, int):
        return rows
    law = zeros(csr.shape[0])
    wide_back(rows, law)
    return law


def absorb_wide(rows: Rows, source: Wide) -> Wide:
    """Solve x_i = source_i + sum_j P_ij x_j, the self-loop left out and weighed, with x = 0 in state 0."""
    x = zeros(source.value.size)
    wide_solve(rows, source, x)
    return x


def as_floats(value: Vector, level: Levels) -> Vector:
    """The nearest floats: inf above their range, zero (or a subnormal number) below it."""
    with np.errstate(over="ignore", under="ignore"):
        floats: Vector = np.ldexp(value, np.clip(level, -10, 10) * LEVEL_BITS)
    return floats


# -------------------------------------------------------------------------------------------------- arithmetic


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


# ----------------------------------------------------------------------------------------------- back in the rows


@jit
def wide_back(rows: Rows, law: Wide) -> None:
    """Probabilities relative to state 0: flow into k from lower states over its outflow, k after k."""
    flow, level = law
    state, value, levels, bounds, out, out_level = rows
    flow[0] = 1.0
    for k in range(flow.size):
        if k > 0:
            flow[k], level[k] = settled(flow[k] / out[k], level[k] - out_level[k])
        for p in range(bounds[k, 0], bounds[k, 1]):
            j = state[p]
            v, e = settled(flow[k] * value[p], level[k] + levels[p])
            flow[j], level[j] = plus(flow[j], level[j], v, e)


@jit
def wide_solve(rows: Rows, source: Wide, solution: Wide) -> None:
    """x_k out_k = source_k + sum_j a_kj x_j: first what higher states send down, then up from state 0."""
    x, level = solution
    state, value, levels, bounds, out, out_level = rows
    earned, earned_level = source
    n = x.size
    for k in range(n - 1, 0, -1):
        v, e = settled(earned[k], earned_level[k])
        for p in range(bounds[k, 0], bounds[k, 1]):
            m = state[p]
            w, f = settled(value[p] * x[m], levels[p] + level[m])
            v, e = plus(v, e, w, f)
        x[k], level[k] = settled(v / out[k], e - out_level[k])
    x[0] = 0.0
    level[0] = 0
    for k in range(1, n):
        v, e = x[k], level[k]
        for p in range(bounds[k, 1], bounds[k, 2]):
            j = state[p]
            w, f = settled(value[p] * x[j], levels[p] + level[j])
            v, e = plus(v, e, w, f)
        x[k], level[k] = v, e


@jit
def wide_spread(
    chain: Chain, stay: Array, average: Wide, rounding: float, source: Wide, slack: Wide, twice: Wide
) -> None:
    """What the variance, its error and the second moment earn at each step.

    source_i = stay_i + sum_j P_ij g_ij^2 with the gap g_ij = 1 + mean_j - mean_i, the self-loop counted in `stay`;
    slack_i = sum_j P_ij e_ij (e_ij + 2 |g_ij|) with e_ij = rounding * (1 + mean_j + mean_i); twice_i = 2 mean_i - 1.
    """
    mean, level = average.value, average.level
    for i in range(1, mean.size):
        v, e = settled(stay[i], 0)
        total, total_level = 0.0, 0
        for p in range(chain.indptr[i], chain.indptr[i + 1]):
            j = chain.indices[p]
            if j == i or chain.data[p] == 0.0:
                continue
            w, f = settled(chain.data[p], 0)
            g, at = plus(1.0, 0, mean[j], level[j])
            error, error_at = plus(g, at, mean[i], level[i])
            error, error_at = settled(rounding * error, error_at)
            g, at = _distance(g, at, mean[i], level[i])
            both, both_at = plus(error, error_at, 2.0 * g, at)
            both, both_at = settled(both * error, both_at + error_at)
            both, both_at = settled(w * both, f + both_at)
            total, total_level = plus(total, total_level, both, both_at)
            g, at = settled(g * g, 2 * at)
            w, f = settled(w * g, f + at)
            v, e = plus(v, e, w, f)
        source.value[i], source.level[i] = v, e
        slack.value[i], slack.level[i] = total, total_level
        twice.value[i], twice.level[i] = _distance(2.0 * mean[i], level[i], 1.0, 0)


@jit
def _share(value: float, level: int, largest: float) -> float:
    """value * 2**(500 * level) / largest for a level <= 0."""
    return value / largest if level == 0 else (value * DOWN / largest if level == -1 else 0.0)


@jit
def wide_choice(average: Wide, variance: Wide, doubt: Wide, second: Wide, rounding: float) -> None:
    """Replace a variance by second - mean^2 where that has the smaller error; `doubt` is that of the variance."""
    mean = average.value
    for i in range(1, mean.size):
        square, at = settled(mean[i] * mean[i], 2 * average.level[i])
        error, error_at = plus(second.value[i], second.level[i], square, at)
        error, error_at = settled(rounding * error, error_at)
        largest, top = plus(error, error_at, doubt.value[i], doubt.level[i])
        if _share(doubt.value[i], doubt.level[i] - top, largest) > _share(error, error_at - top, largest):
            variance.value[i], variance.level[i] = _distance(second.value[i], second.level[i], square, at)
