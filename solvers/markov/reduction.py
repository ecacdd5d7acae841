"""State reduction without subtraction (Grassmann, Taksar, Heyman 1985), written down as a straight-line program.

A state k is removed by sending each of its visitors on to where k would have sent them:
``a[i, j] += a[i, k] * a[k, j] / sum_j a[k, j]``. Off-diagonal entries only ever grow by products of
non-negative numbers, so that every component keeps its full relative accuracy, however rare.
The order of removal is chosen to make the fewest new entries (Markowitz), so a sparse chain stays sparse.

References
----------
.. [1] W. K. Grassmann, M. I. Taksar, D. P. Heyman, Regenerative analysis and steady state distributions for
   Markov chains, Operations Research 33(5), 1985; doi 10.1287/opre.33.5.1107
.. [2] C. A. O'Cinneide, Entrywise perturbation theory and error analysis for Markov chains,
   Numerische Mathematik 65, 1993; doi 10.1007/BF01385735
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from ..programs.straightline import Builder

#: rows[i][j] is the step that computes the rate from i to j; no diagonal, no zero entries.
Rows = dict[int, dict[int, int]]


@dataclass(frozen=True)
class Removal:
    """One removed state: its total outflow, where it leads and who led to it, as steps of the program."""

    state: int
    outflow: int
    leads: Mapping[int, int]
    visitors: Mapping[int, int]


def reduce_states(builder: Builder, rows: Rows, keep: Sequence[int]) -> list[Removal]:
    """Remove every state that is not in `keep`, cheapest first. `rows` becomes the reduced chain."""
    visitors: dict[int, set[int]] = {i: set() for i in rows}
    for i, row in rows.items():
        for j in row:
            visitors.setdefault(j, set()).add(i)
    waiting = set(rows) - set(keep)
    costs = {s: len(visitors[s]) * len(rows[s]) for s in waiting}
    cheapest = [(cost, s) for s, cost in costs.items()]
    heapify(cheapest)
    removals = []
    while waiting:
        cost, k = heappop(cheapest)
        if costs.get(k) != cost:
            continue  # its cost has changed since, and stands in another entry
        waiting.remove(k)
        del costs[k]
        leads = rows.pop(k)
        into = {i: rows[i].pop(k) for i in visitors[k] if i in rows}
        outflow = builder.total(leads.values())
        for i, rate in sorted(into.items()):
            share = rate if len(leads) == 1 else builder.div(rate, outflow)
            for j, onward in leads.items():
                if j == i:
                    continue  # a return to where it came from is no transition
                step = rate if len(leads) == 1 else builder.mul(share, onward)
                rows[i][j] = builder.add(rows[i][j], step) if j in rows[i] else step
                visitors.setdefault(j, set()).add(i)
        for j in leads:
            visitors[j].discard(k)
        for s in waiting.intersection((*into, *leads)):
            cost = len(visitors[s]) * len(rows[s])
            if cost != costs[s]:
                costs[s] = cost
                heappush(cheapest, (cost, s))
        removals.append(Removal(k, outflow, leads, into))
    return removals


def stationary_steps(builder: Builder, rows: Rows, holding: Mapping[int, int]) -> dict[int, int]:
    """Steps of the stationary distribution of an irreducible chain, state by state, summing to one."""
    order = sorted(rows)
    ways_in = Counter(j for row in rows.values() for j in row)
    root = max(order, key=lambda i: (ways_in[i], -i))  # a hub: weights relative to a rare state could overflow
    removals = reduce_states(builder, rows, [root])
    weight = {root: builder.const(1)}
    for removal in reversed(removals):
        inflow = builder.total(builder.mul(weight[i], rate) for i, rate in sorted(removal.visitors.items()))
        weight[removal.state] = builder.div(inflow, removal.outflow)
    time = {i: builder.mul(weight[i], holding[i]) if i in holding else weight[i] for i in order}
    scale = builder.div(builder.const(1), builder.total(time.values()))
    return {i: builder.mul(time[i], scale) for i in order}


def absorbing_solve(builder: Builder, removals: Sequence[Removal], source: Mapping[int, int]) -> dict[int, int]:
    """Solve x_i * outflow_i = source_i + sum_j a_ij x_j with x = 0 on the states that were kept.

    `removals` comes from `reduce_states` with the target states kept; every state of `source` was removed.
    """
    total = dict(source)
    zero = builder.const(0)
    for removal in removals:
        earned = total.get(removal.state, zero)
        for i, rate in sorted(removal.visitors.items()):
            if i in total or earned != zero:
                passed = builder.mul(rate, builder.div(earned, removal.outflow))
                total[i] = builder.add(total.get(i, zero), passed)
    x: dict[int, int] = {}
    for removal in reversed(removals):
        ahead = builder.total(builder.mul(rate, x[j]) for j, rate in sorted(removal.leads.items()) if j in x)
        x[removal.state] = builder.div(builder.add(total.get(removal.state, zero), ahead), removal.outflow)
    return x
