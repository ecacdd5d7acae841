"""Where a quantity known on a grid changes sign: crossings between the nodes, found on the quantity itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Parameters, each (m,) -> (m,) values and (m,) bounds of their errors.
Measure = Callable[[dict[str, Array]], tuple[Array, Array]]


@dataclass(frozen=True)
class Boundary:
    """Crossings, one an edge of the grid.

    Attributes
    ----------
    inside, outside : (m,) flat indices of the nodes at the ends
    axis : (m,) dimension along which the edge runs
    fraction : (m,) where between the two nodes, 0 at `inside` and 1 at `outside`
    residual : (m,) value there: near 0, unless the quantity jumps or ends
    curve : (m,) number of the curve; curves lie one behind the other, their crossings in order
    closed : (m,) whether that curve comes back to its first crossing
    """

    inside: Integers
    outside: Integers
    axis: Integers
    fraction: Array
    residual: Array
    curve: Integers
    closed: NDArray[np.bool_]

    def at(self, values: Array) -> Array:
        """(m,) a quantity given at the nodes, linear along each edge."""
        a, b = values[self.inside], values[self.outside]
        return np.where(self.fraction == 1, b, a + self.fraction * (b - a))


def trace(
    measure: Measure,
    parameters: Mapping[str, Array],
    shape: Sequence[int],
    values: Array,
    error: Array,
    *,
    axes: Sequence[int] | None = None,
    tolerance: float = 1e-10,
) -> Boundary:
    """Find where a region ends in which a quantity is negative.

    A node is inside where value < -error, else outside; one that is NaN belongs to neither and its edges are left
    out. On each edge with one end inside and one outside, a bracket is narrowed by the ITP method [1]_ on the
    quantity itself, for all edges at once, until it is as narrow as `tolerance`: at most one step more than
    bisection needs, about eight where the quantity is smooth. A bracket whose outer end is zero within its
    error is probed next to that end and then bisected, so a boundary through a node costs one evaluation and the edge
    of a region of zeros is found as exactly as a sign change.

    Parameters
    ----------
    measure : callable
        From parameters, each (m,), to values (m,) and bounds of their errors (m,). Where it is NaN within an edge, that
        counts as outside.
    parameters : mapping name -> (size,) array
        What changes over the grid, last dimension fastest; linear along each edge.
    shape : sizes of the dimensions
    values, error : (size,) the quantity at the nodes
    axes : dimensions along which edges run; default all
    tolerance : float
        Width of the last bracket, in units of the edge.

    Returns
    -------
    Boundary
        With two dimensions the crossings are connected by marching squares: each has a neighbour in either cell
        beside its edge; a cell with four is decided by the quantity at its centre.

    References
    ----------
    .. [1] I. Oliveira, R. Takahashi, An enhancement of the bisection method average performance preserving minmax
       optimality, ACM TOMS 47(1), 2020; doi:10.1145/3423597

    Examples
    --------
    >>> x = np.linspace(0, 2, 6)
    >>> square = lambda p: (p["x"] ** 2 - 2, np.full(p["x"].shape, 1e-15))
    >>> found = trace(square, {"x": x}, (6,), *square({"x": x}))
    >>> float(abs(found.at(x).item() - 2**0.5)) < 1e-10
    True
    """
    axes = range(len(shape)) if axes is None else axes
    inside, outside, axis = _edges(values, error, shape, axes)
    fraction, residual = _narrow(
        lambda edge, f: measure(_between(parameters, inside[edge], outside[edge], f)),
        values[inside],
        values[outside],
        error[outside],
        tolerance,
    )
    alone = np.arange(len(inside), dtype=np.int64)
    boundary = Boundary(inside, outside, axis, fraction, residual, alone, np.zeros(len(inside), bool))
    if len(shape) != 2 or len(axes) != 2 or not len(inside):
        return boundary
    return _in_order(boundary, _neighbours(boundary, measure, parameters, shape))


def _between(parameters: Mapping[str, Array], a: Integers, b: Integers, f: Array) -> dict[str, Array]:
    return {k: np.where(f == 1, v[b], v[a] + f * (v[b] - v[a])) for k, v in parameters.items()}


def _edges(
    values: Array, error: Array, shape: Sequence[int], axes: Sequence[int]
) -> tuple[Integers, Integers, Integers]:
    """Nodes inside, nodes outside and dimension of each edge that leaves the region."""
    measured = (np.isfinite(values) & np.isfinite(error)).reshape(shape)
    within = (values < -error).reshape(shape)
    number = np.arange(values.size, dtype=np.int64).reshape(shape)
    ends = []
    for axis in axes:
        low, high = (
            tuple(s if d == axis else slice(None) for d in range(len(shape))) for s in (slice(None, -1), slice(1, None))
        )
        cut = (within[low] != within[high]) & measured[low] & measured[high]
        a, b, first = number[low][cut], number[high][cut], within[low][cut]
        ends.append(np.stack([np.where(first, a, b), np.where(first, b, a), np.full(a.size, axis)]))
    inside, outside, axis_ = np.concatenate(ends, axis=1) if ends else np.empty((3, 0), np.int64)
    return inside, outside, axis_


def _narrow(
    at: Callable[[Integers, Array], tuple[Array, Array]], inner: Array, outer: Array, error: Array, tolerance: float
) -> tuple[Array, Array]:
    """Fractions and values where each bracket [0, 1] closes: values < 0 on its left, not so on its right.

    Where the right end's value is zero within its error, or unknown, the left end's takes its place with the other
    sign: then the ITP step is that of bisection.
    """
    m = inner.size
    low, high = np.zeros(m), np.ones(m)
    g_low, g_high = inner.astype(float), np.where(outer > error, outer, -inner)
    value, zero = outer.astype(float), np.abs(outer) <= error  # at the right end
    probed = np.zeros(m, bool)
    eps, active = tolerance / 2, np.arange(m)
    bisections = int(np.ceil(np.log2(1 / tolerance))) + 1
    for step in range(2 * bisections + 4):  # probing may cost a step of its own, hence more than `most`
        active = active[high[active] - low[active] > tolerance]
        if not active.size:
            break
        a, b = low[active], high[active]
        x = _itp(a, b, g_low[active], g_high[active], max(eps * 2.0 ** (bisections - step), eps))
        probe = zero[active] & ~probed[active]
        probed[active[probe]] = True
        x[probe] = b[probe] - 0.75 * tolerance
        measured, bound = at(active, x)
        left = measured < -bound
        low[active[left]], g_low[active[left]] = x[left], measured[left]
        right = active[~left]
        high[right], value[right] = x[~left], measured[~left]
        positive = measured[~left] > bound[~left]
        g_high[right] = np.where(positive, measured[~left], -g_low[right])
        zero[right] = np.abs(measured[~left]) <= bound[~left]
        probed[right[positive]] = False
    nearer = ~(np.abs(value) <= np.abs(g_low))  # also where the quantity ends
    return np.where(nearer, low, high), np.where(nearer, g_low, value)


def _itp(a: Array, b: Array, ga: Array, gb: Array, radius: float) -> Array:
    """Interpolate, truncate towards the middle, project onto what bisection would still allow (k1 = 0.2, k2 = 2)."""
    middle, width = (a + b) / 2, b - a
    with np.errstate(invalid="ignore"):
        secant = (gb * a - ga * b) / (gb - ga)
    towards = np.sign(middle - secant)
    push = 0.2 * width**2
    x = np.where(push <= np.abs(middle - secant), secant + towards * push, middle)
    slack = np.maximum(radius - width / 2, 0)
    x = np.where(np.abs(x - middle) <= slack, x, middle - towards * slack)
    return np.where((x > a) & (x < b), x, middle)


def _neighbours(
    boundary: Boundary, measure: Measure, parameters: Mapping[str, Array], shape: Sequence[int]
) -> Integers:
    """(m, 2) crossings before and after each, -1 where there is none."""
    rows, columns = shape
    low = np.minimum(boundary.inside, boundary.outside)
    i, j = low // columns, low % columns
    on = [np.full((rows - 1, columns), -1), np.full((rows, columns - 1), -1)]
    for axis in (0, 1):
        mine = np.flatnonzero(boundary.axis == axis)
        on[axis][i[mine], j[mine]] = mine
    # the four edges of each cell in turn; corner k lies between edges k and k + 1
    cells = np.stack([on[0][:, :-1], on[1][:-1], on[0][:, 1:], on[1][1:]]).reshape(4, -1)
    count = (cells >= 0).sum(axis=0)
    two = np.sort(cells[:, count == 2], axis=0)[2:]
    joined = [two]
    saddle = np.flatnonzero(count == 4)
    if saddle.size:
        corner = (saddle // (columns - 1)) * columns + saddle % (columns - 1)
        corners = np.stack([corner, corner + 1, corner + columns + 1, corner + columns])
        value, error = measure({k: v[corners].mean(axis=0) for k, v in parameters.items()})
        edges = cells[:, saddle]
        first_inside = boundary.inside[edges[0]] == corners[0]
        # an inside centre joins the inside corners, and cuts off the others
        straight = first_inside != (value < -error)
        pairs = np.where(straight, edges, np.roll(edges, -1, axis=0))
        joined += [pairs[:2], pairs[2:]]
    return _links(np.concatenate(joined, axis=1), boundary.axis.size)


def _links(pairs: Integers, m: int) -> Integers:
    link = np.full((m, 2), -1, dtype=np.int64)
    ends = np.concatenate([pairs, pairs[::-1]], axis=1)
    ends = ends[:, np.argsort(ends[0], kind="stable")]
    second = np.zeros(ends.shape[1], dtype=np.int64)
    second[1:] = ends[0, 1:] == ends[0, :-1]
    link[ends[0], second] = ends[1]
    return link


def _in_order(boundary: Boundary, links: Integers) -> Boundary:
    """Sorted by curve: open ones from an end, then closed ones."""
    order: list[int] = []
    curve, closed = np.empty(len(links), np.int64), np.zeros(len(links), bool)
    visited = np.zeros(len(links), bool)
    starts = [*np.flatnonzero((links < 0).any(axis=1)), *range(len(links))]
    number = 0
    for start in starts:
        if visited[start]:
            continue
        chain = list(_walk(links, int(start), visited))
        curve[chain] = number
        closed[chain] = bool((links[start] >= 0).all())
        order += chain
        number += 1
    at = np.array(order)
    fields = ("inside", "outside", "axis", "fraction", "residual")
    return replace(boundary, **{k: getattr(boundary, k)[at] for k in fields}, curve=curve[at], closed=closed[at])


def _walk(links: Integers, at: int, visited: NDArray[np.bool_]) -> Iterator[int]:
    while at >= 0:
        visited[at] = True
        yield at
        at = next((int(n) for n in links[at] if n >= 0 and not visited[n]), -1)
