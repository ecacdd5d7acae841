"""Functions of time alone, at every point of a grid: where they break, and spans on which polynomials follow them.

Samples alone miss what is narrow. Bounds by interval arithmetic tell where a function may leave the range of its
samples: there, and only there, it is looked at more closely, however narrow the place is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from ..equations import System
from ..problems import TIME
from ..programs.intervals import Interval, bounds
from ..programs.straightline import SWITCHES, Builder, Program, differentiate

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: What may hide between samples, as a share of a function's largest value.
HIDDEN = 1e-6

#: Error of samples that is rounding, as a share of a function's largest value.
ROUNDING = 2e-15

#: Shortest span, as a share of all of a point's.
SHORTEST = 1e-12

#: Where a span is looked at: in its middle and beside its ends, where breaks may be.
PLACES = np.array([[0.02], [0.5], [0.98]])

#: Values of a program that are held at a time.
BATCH = 4_000_000

#: Samples among which a switch's argument is searched for changes of sign, where it is no straight line.
CROSSINGS = 1024


@dataclass(frozen=True)
class Curves:
    """Functions of time: the outputs of a program in "t", the parameters and `fixed` values.

    Attributes
    ----------
    system : System
        Gives the parameters.
    program : Program
    fixed : mapping input name -> (size,) array
    """

    system: System
    program: Program
    fixed: Mapping[str, Array]

    def at(self, t: Array, points: Index, program: Program | None = None) -> Array:
        """(outputs, m) values at times `t` (m,), each at a point of the grid."""
        program = program or self.program
        out = np.empty((len(program.outputs), t.size))
        some = max(1, BATCH // max(1, len(program.ops)))
        for low in range(0, t.size, some):
            chunk = slice(low, low + some)
            values = {k: v[points[chunk]] for k, v in self.fixed.items()} | {TIME: t[chunk]}
            out[:, chunk] = self.system.evaluate(program, values, points[chunk])
        return out

    def within(self, low: Array, high: Array, points: Index, program: Program) -> tuple[Array, Array]:
        """Bounds (outputs, m) over spans of time."""
        values: dict[str, Any] = {k: v if np.ndim(v) == 0 else v[points] for k, v in self.system.grid.values.items()}
        values |= {k: v[points] for k, v in self.fixed.items()}
        return bounds(program, values | {TIME: Interval(low, high)}, low.size)

    @property
    def varies(self) -> bool:
        """Whether points of the grid differ."""
        arrays = {k for k, v in self.system.grid.values.items() if np.ndim(v)}
        arrays |= {k for k, v in self.fixed.items() if v.size and np.ptp(v) != 0}
        return bool(arrays & set(self.program.inputs))


@dataclass(frozen=True)
class Cells:
    """Spans of time, each at a point of the grid, in order of point and time.

    Attributes
    ----------
    points, low, high : (m,) arrays
    series : (outputs, order + 1, m) Chebyshev coefficients over each span
    missed : (m,) largest error as a multiple of what is allowed: above 1 where a span stayed unresolved
    cut : (m,) whether it stayed so for want of spans
    """

    points: Index
    low: Array
    high: Array
    series: Array
    missed: Array
    cut: NDArray[np.bool_]


def degrees(program: Program, wave: float = np.inf) -> list[float]:
    """Degree of each step as a polynomial in time between switches; infinite if it is none.

    Sine and cosine of a straight line count as of degree `wave`.
    """
    resolved: list[float] = []
    for op in program.ops:
        a, b = (resolved[i] if i >= 0 else 0.0 for i in (op.a, op.b))
        if op.kind == "input":
            resolved.append(float(op.value == TIME))
        elif op.kind in ("const", "step"):
            resolved.append(0.0)
        elif op.kind in ("add", "sub", "min", "max"):
            resolved.append(max(a, b))
        elif op.kind == "mul":
            resolved.append(a + b)
        elif op.kind == "div" and b == 0.0:
            resolved.append(a)
        elif op.kind in ("sin", "cos") and 0.0 < a <= 1.0:
            resolved.append(wave)
        else:
            resolved.append(0.0 if a == b == 0.0 else np.inf)
    return resolved


def breaks(curves: Curves, points: Index, low: Array, high: Array) -> tuple[Index, Array]:
    """Where the functions bend or jump strictly within (low, high): points and times, in no order."""
    guards, straight = _guards(curves.program)
    if not guards.outputs:
        return np.empty(0, np.int64), np.empty(0)
    where: list[Index] = []
    when: list[Array] = []
    with np.errstate(all="ignore"):
        level = curves.at(np.zeros(points.size), points, guards)
        slope = curves.at(np.zeros(points.size), points, differentiate(guards, TIME))
        for row in np.flatnonzero(straight):
            where.append(points)
            when.append(-level[row] / slope[row])
    for row in np.flatnonzero(~straight):
        one = Program(guards.ops, (guards.outputs[row],))
        at, times = _crossings(curves, one, points, low, high)
        where.append(at)
        when.append(times)
    place, times = np.concatenate(where), np.concatenate(when)
    first = np.zeros(points.max() + 1, np.int64)
    first[points] = np.arange(points.size)
    begin, end = low[first[place]], high[first[place]]
    margin = 1e-13 * (end - begin)
    inside = (times > begin + margin) & (times < end - margin)
    return place[inside], times[inside]


def _guards(program: Program) -> tuple[Program, NDArray[np.bool_]]:
    """The arguments of a program's switches, and which of them are straight lines in time."""
    builder = Builder()
    place = builder.extend(program)
    arguments = []
    bent: list[bool] = []
    for op in program.ops:
        bent.append(op.kind in SWITCHES or any(bent[i] for i in (op.a, op.b) if i >= 0))
        if op.kind in SWITCHES:
            nested = any(bent[i] for i in (op.a, op.b) if i >= 0)
            argument = place[op.a] if op.kind == "step" else builder.sub(place[op.a], place[op.b])
            arguments.append((argument, nested))
    guards = builder.build([argument for argument, _ in arguments])
    bend = differentiate(differentiate(guards, TIME), TIME)
    flat = [bend.ops[i].kind == "const" and bend.ops[i].value == 0 for i in bend.outputs]
    return guards, np.array([f and not nested for f, (_, nested) in zip(flat, arguments, strict=True)], bool)


def _crossings(curves: Curves, guard: Program, points: Index, low: Array, high: Array) -> tuple[Index, Array]:
    """Changes of sign among evenly spread samples, each located by halving."""
    count = int(np.clip(BATCH // (8 * points.size), 64, CROSSINGS))
    shares = np.linspace(0.0, 1.0, count + 1)
    t = low[:, None] + (high - low)[:, None] * shares
    side = curves.at(t.ravel(), np.repeat(points, count + 1), guard)[0].reshape(t.shape) >= 0
    row, column = np.nonzero(side[:, 1:] != side[:, :-1])
    a, b, was, where = t[row, column], t[row, column + 1], side[row, column], points[row]
    for _ in range(60):
        middle = (a + b) / 2
        same = (curves.at(middle, where, guard)[0] >= 0) == was
        a, b = np.where(same, middle, a), np.where(same, b, middle)
    return where, b


def probes(curves: Curves, points: Index, low: Array, high: Array, most: int) -> tuple[Index, Array, Index]:
    """Places that have seen all of the functions: between them no bound leaves the range of the samples by much.

    That is by more than this range, where a span's own is meant, and more than HIDDEN of the largest value. No more
    than some `most` spans of one point are looked at.

    Returns
    -------
    points, times : (m,) arrays
    sharp : points where a function leaves its samples on the shortest span too: at a pole, or a jump without a switch
    """
    program, slope = curves.program, differentiate(curves.program, TIME)
    largest = np.zeros((len(program.outputs), int(points.max()) + 1))
    cells = int(np.clip(64 * np.unique(points).size // points.size, 2, 64))
    edges = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, cells + 1)
    p, a, b = np.repeat(points, cells), edges[:, :-1].ravel(), edges[:, 1:].ravel()
    where: list[Index] = []
    when: list[Array] = []
    sharp: list[Index] = []
    budget = np.full(largest.shape[1], most)
    spans, ends = np.bincount(points, high - low), np.union1d(low, high)
    for side in (low, high):
        sharp.append(points[~np.isfinite(curves.at(side, points)).all(axis=0)])
    for _ in range(60):
        if not p.size:
            break
        unclear = np.zeros(p.size, bool)
        some = max(1, BATCH // (2 * (len(program.ops) + len(slope.ops))))
        for begin in range(0, p.size, some):
            chunk = slice(begin, begin + some)
            unclear[chunk] = _unclear(curves, slope, p[chunk], a[chunk], b[chunk], spans, ends, largest)
        where.append(np.tile(p, PLACES.size))
        when.append((a + (b - a) * PLACES).ravel())
        np.subtract.at(budget, p, 1)
        long = b - a > SHORTEST * spans[p]
        sharp.append(p[unclear & ~long])
        again = unclear & (budget[p] > 0) & long
        p, a, b = _halves(p[again], a[again], b[again])
    return np.concatenate(where), np.concatenate(when), np.unique(np.concatenate(sharp))


def _unclear(
    curves: Curves, slope: Program, p: Index, a: Array, b: Array, whole: Any, ends: Array, largest: Array
) -> NDArray[np.bool_]:
    """Whether a function may leave the range of its samples on a span; `largest` grows with what they show."""
    t = a + (b - a) * PLACES
    samples = curves.at(t.ravel(), np.tile(p, PLACES.size)).reshape(-1, PLACES.size, p.size)
    middle = PLACES.size // 2
    return _hides(curves, slope, p, a, b, whole, ends, samples, samples[:, middle], largest)


def _hides(
    curves: Curves,
    slope: Program,
    p: Index,
    a: Array,
    b: Array,
    whole: Any,
    ends: Array,
    samples: Array,
    middle: Array,
    largest: Array,
) -> NDArray[np.bool_]:
    """Whether bounds of a function leave the range of its samples (outputs, places, m); `middle`: in the middle."""
    low, high = samples.min(axis=1), samples.max(axis=1)
    # Where a break is, is rounded: a span that ends there is bounded up to a little before.
    within = np.minimum(0.02 * (b - a), 0.1 * SHORTEST * whole[p])
    first, last = a + within * np.isin(a, ends), b - within * np.isin(b, ends)
    with np.errstate(all="ignore"):
        for row, values in zip(largest, np.nan_to_num(np.maximum(np.abs(low), np.abs(high)), posinf=0), strict=True):
            np.maximum.at(row, p, values)
        down, up = curves.within(first, last, p, curves.program)
        fall, rise = curves.within(first, last, p, slope)
        reach = np.maximum(np.abs(fall), np.abs(rise)) * (b - a) / 2  # the mean value theorem, about the middle
        down, up = np.fmax(down, middle - reach), np.fmin(up, middle + reach)
        margin = (high - low) + HIDDEN * largest[:, p]
        clear = (down >= low - margin) & (up <= high + margin)
    return np.asarray(~clear.all(axis=0) & np.isfinite(samples).all(axis=(0, 1)))


def _halves(p: Index, a: Array, b: Array) -> tuple[Index, Array, Array]:
    middle = (a + b) / 2
    return np.concatenate([p, p]), np.concatenate([a, middle]), np.concatenate([middle, b])


def resolve(
    curves: Curves,
    points: Index,
    low: Array,
    high: Array,
    order: int,
    relative: float,
    floor: float,
    most: int,
    in_powers: bool = False,
) -> Cells:
    """Spans on which polynomials of degree `order` follow the functions.

    Parameters
    ----------
    points, low, high : (m,) arrays
        Spans to begin with, on each of which the functions are smooth.
    relative, floor : float
        Allowed error, as a share of a function's size on the span, and of its largest value at the point.
    most : int
        Spans of one point.
    in_powers : bool
        Whether powers of the time since a span's beginning are to give the same values without cancelling.

    Returns
    -------
    Cells
    """
    polynomial = max((degrees(curves.program)[i] for i in curves.program.outputs), default=0.0) <= order
    where, when, sharp = np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64)
    if not polynomial:
        where, when, sharp = probes(curves, points, low, high, 2 * most)
    exact = curves.at(when, where)
    nodes = np.cos(np.pi * (np.arange(order + 1) + 0.5) / (order + 1))
    to_series = np.linalg.inv(chebyshev.chebvander(nodes, order))
    to_powers, reach = shifted_powers(order), 2.0 ** np.arange(order + 1)
    largest = np.zeros((len(curves.program.outputs), int(points.max()) + 1))
    for row, values in zip(largest, np.nan_to_num(np.abs(exact), posinf=0), strict=True):
        np.maximum.at(row, where, values)
    p, a, b, was = points, low, high, np.full(points.size, np.inf)
    order_of = np.lexsort((when, where))
    where, when, exact = where[order_of], when[order_of], exact[:, order_of]
    done: list[tuple[Any, ...]] = []
    count = np.bincount(points, minlength=largest.shape[1])
    spans, ends = np.bincount(points, high - low), np.union1d(low, high)
    slope = differentiate(curves.program, TIME)
    while p.size:
        ranks = np.lexsort((a, p))
        p, a, b, was = p[ranks], a[ranks], b[ranks], was[ranks]
        middle, half = (a + b) / 2, (b - a) / 2
        t = middle + half * nodes[:, None]
        samples = curves.at(t.ravel(), np.tile(p, order + 1)).reshape(-1, order + 1, p.size)
        with np.errstate(all="ignore"):
            series = np.einsum("kj,vjc->vkc", to_series, samples)
            for row, values in zip(largest, np.nan_to_num(np.abs(samples).max(axis=1), posinf=0), strict=True):
                np.maximum.at(row, p, values)
            size = np.abs(series).max(axis=1)
            allowed = np.maximum(relative * size, floor * largest[:, p]) + 1e-300
            missed = (np.abs(series[:, -2:]).max(axis=1) / allowed).max(axis=0)
            series = _without_rounding(series, a, b, largest[:, p])
            if in_powers:
                terms = (np.abs(np.einsum("ik,vkc->vic", to_powers, series)) * reach[:, None]).sum(axis=1)
                missed = np.maximum(missed, (np.finfo(float).eps * terms / allowed).max(axis=0))
            # Halving a span makes a smooth function's error smaller by far; what stays is rounding.
            rounded = (missed > was / 8) & (missed * np.maximum(relative, floor) < 1e-9)
            seems = ((missed <= 1.0) | rounded) & (half > 0)
            cell = _cell_of(p, a, b, where, when)
            inside = (cell >= 0) & seems[np.maximum(cell, 0)]
            if inside.any():
                c = cell[inside]
                x = (when[inside] - middle[c]) / np.where(half[c] > 0, half[c], 1.0)
                error = np.abs(_clenshaw(series[:, :, c], x) - exact[:, inside]) / allowed[:, c]
                np.maximum.at(missed, c, 0.1 * error.max(axis=0))
            missed = np.where(half > 0, missed, 0.0)
            small = half <= SHORTEST * spans[p]
            # Probes show one place of many that are alike: a span that polynomials seem to follow must hide none.
            some = np.flatnonzero(seems & ~small)
            if some.size and not polynomial:
                hides = _hides(
                    curves, slope, p[some], a[some], b[some], spans, ends, samples[:, :, some],
                    curves.at(middle[some], p[some]), largest,
                )  # fmt: skip
                missed[some[hides]] = np.inf
            good = (missed <= 1.0) | (rounded & (missed * np.maximum(relative, floor) < 1e-9))
            good |= small | ~np.isfinite(samples).all(axis=(0, 1))
            cut = ~good & (count[p] >= most)
            good |= cut
        done.append((p[good], a[good], b[good], series[:, :, good], missed[good], cut[good]))
        np.add.at(count, p[~good], 1)
        pending = (cell >= 0) & ~good[np.maximum(cell, 0)]
        where, when, exact = where[pending], when[pending], exact[:, pending]
        was = np.tile(missed[~good], 2)
        p, a, b = _halves(p[~good], a[~good], b[~good])
    return _gathered(done, sharp)


def _gathered(done: list[tuple[Any, ...]], sharp: Index) -> Cells:
    """Finished spans in the order of points and times; those of points with sharp places are not resolved."""
    p, a, b = (np.concatenate([d[i] for d in done]) for i in range(3))
    series, missed = np.concatenate([d[3] for d in done], axis=2), np.concatenate([d[4] for d in done])
    cut = np.concatenate([d[5] for d in done])
    ranks = np.lexsort((a, p))
    missed[np.isin(p, sharp)] = np.inf
    return Cells(p[ranks], a[ranks], b[ranks], series[:, :, ranks], missed[ranks], cut[ranks])


def _cell_of(p: Index, a: Array, b: Array, where: Index, when: Array) -> Index:
    """The span that holds each probe, -1 where none does; spans are sorted by point and time."""
    if not when.size:
        return np.empty(0, np.int64)
    starts = np.searchsorted(p, where, side="left")
    ends = np.searchsorted(p, where, side="right")
    cell = np.full(when.size, -1)
    while True:  # halving, all probes at once: the last span that begins before the probe
        open_ = ends - starts > 0
        if not open_.any():
            break
        middle = (starts + ends) // 2
        before = open_ & (a[np.minimum(middle, a.size - 1)] <= when)
        cell = np.where(before, middle, cell)
        starts = np.where(before, middle + 1, starts)
        ends = np.where(open_ & ~before, middle, ends)
    return np.where((cell >= 0) & (when <= b[np.maximum(cell, 0)]), cell, -1)


def _without_rounding(series: Array, a: Array, b: Array, largest: Array) -> Array:
    """Terms up to the last that is more than rounding, of values or of times: others would be large as powers."""
    steep = (np.arange(series.shape[1])[:, None] * np.abs(series)).sum(axis=1) * np.maximum(np.abs(a), np.abs(b))
    rounding = np.fmax(ROUNDING * largest, ROUNDING * steep / (b - a))
    large = ~(np.abs(series) <= rounding[:, None])
    return np.where(np.maximum.accumulate(large[:, ::-1], axis=1)[:, ::-1], series, 0.0)


def _clenshaw(series: Array, x: Array) -> Array:
    """Chebyshev series (v, k, m) at x (m,)."""
    one = np.zeros_like(series[:, 0])
    two = np.zeros_like(one)
    for k in range(series.shape[1] - 1, 0, -1):
        one, two = series[:, k] + 2 * x * one - two, one
    return np.asarray(series[:, 0] + x * one - two)


def shifted_powers(order: int) -> Array:
    """Column k: coefficients of T_k(u - 1) in powers of u."""
    columns = np.zeros((order + 1, order + 1))
    for k in range(order + 1):
        inside = np.polynomial.Polynomial(chebyshev.cheb2poly(np.eye(order + 1)[k]))
        coefficients = inside(np.polynomial.Polynomial([-1.0, 1.0])).coef
        columns[: coefficients.size, k] = coefficients
    return columns
