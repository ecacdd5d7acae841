"""State reduction without subtraction (GTH), row by row, for chains of any shape: with floats, or with wide numbers.

A wide number is `value * 2**(500 * level)`, see `kernels`; `wide` holds what else is done with them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tcpdynamics.compiled import kept_with

from ..problems import ChainError
from . import kernels
from .kernels import DOWN, OPTIONS, SMALLEST_FACTOR, deposit, settle, settled

Array = Any  # Numba sees the element type; here it would only be noise.

jit = kept_with(kernels.__file__, __file__, **OPTIONS)


def check_fill_in(n: int, size: int, memory: int) -> None:
    """Raise ChainError where rows of n states need more bytes than `memory`."""
    if size > memory:
        raise ChainError(
            f"fill-in of this chain of {n} states exceeds memory={memory} bytes: raise memory, or "
            "number the states so that transitions stay close to the diagonal"
        )


class Chain(NamedTuple):
    """The arrays of a CSR matrix."""

    indptr: Array
    indices: Array
    data: Array


class Rows(NamedTuple):
    """A chain with states eliminated, as `eliminate` leaves it.

    Attributes
    ----------
    state, value, level : (entries,) arrays
        Row k holds the flows into higher states at bounds[k, 0]:bounds[k, 1], and where it goes below given that it
        leaves, at bounds[k, 1]:bounds[k, 2]. Levels are those of wide numbers; of floats there are none.
    bounds : (n, 3) int array
    out, out_level : (n,) arrays
        Outflow of each row into lower states.
    """

    state: Array
    value: Array
    level: Array
    bounds: Array
    out: Array
    out_level: Array

    def doubled(self) -> Rows:
        """The same with room for twice as many entries."""
        state, value, level = (np.concatenate([x, np.empty_like(x)]) for x in (self.state, self.value, self.level))
        return self._replace(state=state, value=value, level=level)


class Room(NamedTuple):
    """Scratch arrays of `eliminate`: a row, which of its entries are in use, states to follow, states below."""

    row: Array
    level: Array
    mark: Array
    heap: Array
    lower: Array


def empty_rows(n: int, entries: int, wide: bool) -> tuple[Rows, Room]:
    """Room for the rows of n states with so many entries in all, and to work in."""
    level = np.empty(entries if wide else 0, np.int32)
    bounds, out, out_level = np.zeros((n, 3), np.int64), np.zeros(n), np.zeros(n if wide else 0, np.int64)
    rows = Rows(np.empty(entries, np.int32), np.empty(entries), level, bounds, out, out_level)
    heap, lower = np.empty(n, np.int64), np.empty(n, np.int64)
    return rows, Room(np.empty(n), np.empty(n, np.int64), np.full(n, -1, np.int64), heap, lower)


@jit
def plus(a: float, at: int, b: float, bt: int) -> tuple[float, int]:
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
def push(heap: Array, size: int, key: int) -> int:
    """Put a key on a max-heap; returns the new size."""
    child = size
    while child > 0:
        parent = (child - 1) >> 1
        if heap[parent] >= key:
            break
        heap[child] = heap[parent]
        child = parent
    heap[child] = key
    return size + 1


@jit
def pop(heap: Array, size: int) -> int:
    """Take the largest key, heap[0], off a heap of `size` > 0 keys; returns the new size."""
    size -= 1
    key = heap[size]
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= key:
            break
        heap[parent] = heap[child]
        parent = child
    heap[parent] = key
    return size


@jit
def _form(chain: Chain, rows: Rows, room: Room, wide: bool, k: int, pivot: int, used: int) -> tuple[int, int, int]:
    """Row k, transitions to states from `pivot` on followed: entries used (-1: full), states below, operations."""
    indptr, indices, data = chain.indptr, chain.indices, chain.data
    row, level, mark, heap, lower = room.row, room.level, room.mark, room.heap, room.lower
    state, value, levels, bounds = rows.state, rows.value, rows.level, rows.bounds
    size = n_lower = work = 0
    for p in range(indptr[k], indptr[k + 1]):
        j = indices[p]
        if j == k or data[p] == 0.0:
            continue
        if mark[j] != k:
            mark[j], row[j], level[j] = k, 0.0, 0
            if j >= pivot:
                size = push(heap, size, j)
            else:
                lower[n_lower] = j
                n_lower += 1
        if wide:
            v, e = settled(data[p], 0)
            row[j], level[j] = plus(row[j], level[j], v, e)
        else:
            row[j] += data[p]
    while size > 0:
        m = heap[0]
        size = pop(heap, size)
        if used >= value.size:
            return -1, n_lower, work
        weight, at = row[m], level[m]
        state[used], value[used] = m, weight
        if wide:
            levels[used] = at
        used += 1
        work += bounds[m, 2] - bounds[m, 1] + 8
        for p in range(bounds[m, 1], bounds[m, 2]):
            j = state[p]
            if j == k:
                continue
            if mark[j] != k:
                mark[j], row[j], level[j] = k, 0.0, 0
                if j >= pivot:
                    size = push(heap, size, j)
                else:
                    lower[n_lower] = j
                    n_lower += 1
            if wide:
                v, e = settled(weight * value[p], at + levels[p])
                row[j], level[j] = plus(row[j], level[j], v, e)
            else:
                row[j] += weight * value[p]
    return used, n_lower, work


@jit
def _normalise(rows: Rows, room: Room, wide: bool, k: int, used: int, n_lower: int) -> bool:
    """Store where row k goes below given that it leaves, from entry `used` on; whether it leaves."""
    row, level, lower, state, value, levels = (room.row, room.level, room.lower, rows.state, rows.value, rows.level)
    total, at = 0.0, 0
    for q in range(n_lower):
        if wide:
            total, at = plus(total, at, row[lower[q]], level[lower[q]])
        else:
            total += row[lower[q]]
    if not total > 0.0:
        return False
    rows.out[k] = total
    if wide:
        rows.out_level[k] = at
    for q in range(n_lower):
        j = lower[q]
        state[used + q] = j
        if wide:
            value[used + q], levels[used + q] = settled(row[j] / total, level[j] - at)
        else:
            value[used + q] = row[j] / total
    return True


@jit
def eliminate(
    chain: Chain, rows: Rows, room: Room, wide: bool, start: int, used: int, dense: Array, most: int
) -> tuple[int, int, int]:
    """GTH row by row, from state `start` down; returns (status, state reached, entries used).

    Row k first follows its transitions to higher states, highest first, through their finished rows. Rows of states
    that have a row in the matrix `dense` follow only transitions to states above those; their other flows go to the
    matrix, the chain restricted to these states.

    Status 0: done; 1: no room for row `state` (double it and repeat); 2: `state` has no outflow; 3: rows of floats have
    become so full that the states below `state` are better dense (while none is); 4: `most` operations are done, go on
    with row `state`.
    """
    stop = dense.shape[0]
    crowded = work = 0
    for k in range(start, -1, -1):
        if work > most:
            return 4, k, used
        n_upper, n_lower, steps = _form(chain, rows, room, wide, k, max(k + 1, stop), used)
        work += steps
        if n_upper < 0 or (k >= stop and n_upper + n_lower > rows.value.size):
            room.mark[room.mark == k] = -1  # the row will be formed anew
            return 1, k, used
        rows.bounds[k, 0] = used
        rows.bounds[k, 1] = n_upper
        used = n_upper
        if k < stop:
            for q in range(n_lower):
                dense[k, room.lower[q]] = room.row[room.lower[q]]
        elif k > 0:
            if not _normalise(rows, room, wide, k, used, n_lower):
                return 2, k, used
            used += n_lower
        rows.bounds[k, 2] = used
        crowded = crowded + 1 if 5 * n_lower > k else 0
        if stop == 0 and not wide and crowded > 16 and k > 64:
            return 3, k, used
    return 0, 0, used


@jit
def rows_back(rows: Rows, stop: int, flow: Array, level: Array) -> bool:
    """Probabilities relative to state 0 from rows of floats, given those below `stop` > 0.

    Returns whether no product, there or here, was too small for doubles.
    """
    bounds, value, state, out = rows.bounds, rows.value, rows.state, rows.out
    count = 0
    for p in range(bounds[0, 2]):  # row 0 was the last to be stored
        count += (value[p] > 0.0) & (value[p] < SMALLEST_FACTOR)
    if count:
        return False
    for k in range(flow.size):
        if k >= stop:
            settle(flow, level, k, out[k])
        for p in range(bounds[k, 0], bounds[k, 1]):
            deposit(flow, level, state[p], flow[k] * value[p], level[k])
    return True
