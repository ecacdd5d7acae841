"""What flows do in the end: rest, repeat or neither, from the maxima and minima of sampled motions."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from tcpdynamics.errors import listed, shown, tolerances, whole
from tcpdynamics.limits import check_memory

from ..equations import System
from ..problems import TIME, DynamicsError
from ..results import Status
from ..trajectories.trajectory import motions
from .attracting_rest import NEAR, at_last, sizes
from .time_scales import MAX_STEPS, Scales, check_motion, flow_times

Array = NDArray[np.float64]


#: Terms of a step's Taylor series, for estimates of the work.
_ORDER = 25
#: Times before the window at which the size of a motion is taken.
_EARLY = 32

#: How often motions that ran out of steps in default times are followed again, each time in a quarter of the time.
_SHORTER = 3

#: How often motions with corners too close for their samples are sampled again, each time four times as densely.
_DENSER = 3

#: Operations that denser samples may take: some minutes on one core. Beyond, the corners stay as they are.
_DENSER_WORK = 1e11

#: Sampled numbers that one block of points may hold, 160 MB.
BLOCK_NUMBERS = 20_000_000

#: A maximum is a corner where higher differences of its samples exceed so much of the second one.
ROUGH = 0.5

#: Corners are too close together where extrapolations from three and from five samples on each side differ, and by so
#: much of the motion's range.
CROWDED = 1e-3

UNDECIDED, EQUILIBRIUM, CYCLE = range(3)
ATTRACTORS = "undecided equilibrium cycle"


@dataclass(frozen=True)
class FlowOrbits:
    """Flows over a window of time after a transient.

    Attributes
    ----------
    highs, lows : (size, most) maxima and minima of one quantity, latest in the last column, NaN before the first
    attractor : (size,) UNDECIDED, EQUILIBRIUM or CYCLE
    period : (size,) maxima in one cycle, 0 without a cycle
    duration : (size,) of one cycle, NaN without one
    level : (size,) value of the quantity at the end
    rest : (size,) value of the quantity at the equilibrium that the motion approaches, NaN where it approaches none
    first, last : (states, size) at the ends of the window
    reach : (states, size) largest absolute values, before the window at some times only
    transient, keep : (size,) how long each ran before the window, and how long that is
    status : (size,) code of results.Status
    crowded : (size,) whether samples are too few: corners too close to be told apart, or a duration less exact than
        the motion
    """

    highs: Array
    lows: Array
    attractor: NDArray[np.int8]
    period: NDArray[np.int64]
    duration: Array
    level: Array
    rest: Array
    first: Array
    last: Array
    reach: Array
    transient: Array
    keep: Array
    status: NDArray[np.uint8]
    crowded: NDArray[np.bool_]


@dataclass(frozen=True)
class FlowSettings:
    """How flows are followed and judged.

    Attributes
    ----------
    of : state or output whose maxima are compared
    transient, keep : times before the window, and of the window; None: the flow's own
    samples : number of them in the window
    max_period : most maxima in one cycle
    rtol, atol : of the trajectories
    """

    of: str
    transient: float | None
    keep: float | None
    samples: int
    max_period: int
    rtol: float
    atol: float

    @property
    def own_times(self) -> bool:
        """Whether nobody asked for times."""
        return self.transient is None and self.keep is None


def flow_orbits(system: System, settings: FlowSettings) -> FlowOrbits:
    """Follow a flow from its start and look for cycles in the maxima of `of`, block by block.

    Points with the same times share a block. What neither repeats nor has arrived at rest, in default times that are
    too short for the slowest mode, has a status that says so. In default times, motions whose steps
    run out (a sawtooth of many switches) are followed in shorter ones.
    Rest is rest of all states (`rest.rests`), not of `of` alone.
    """
    problem, size, n = system.problem, system.size, len(system.labels)
    names = (*system.labels, *problem.outputs)
    if not isinstance(settings.of, str) or settings.of not in names:
        raise DynamicsError(
            f"of names {shown(settings.of)}, which is neither a state nor an output; there are {listed(names)}"
        )
    samples = whole("samples", settings.samples, 20)
    rtol, atol = tolerances(settings.rtol, settings.atol)
    settings = replace(settings, samples=samples, rtol=rtol, atol=atol)
    numbers = n + len(problem.outputs)
    what = f"motions at {size:,} points"
    check_memory(what, 8.0 * (numbers + 4) * samples, "give fewer samples")  # and the times with their steps
    check_memory(what, 24.0 * size * max(samples // 8, 1), "give fewer points, or fewer samples")  # extrema
    work = _ORDER**2 * system.rhs.arithmetic, 50.0 * numbers * samples
    check_motion(what, system, samples / 8, *work)  # before the roots are found that tell more
    before, recording, time_scales = flow_times(system, settings.transient, settings.keep)
    short = time_scales.too_short & (settings.transient is None or settings.keep is None)
    check_motion(what, system, np.minimum(time_scales.likely_steps(before + recording), MAX_STEPS) + samples / 8, *work)
    orbits = _in_blocks(system, np.arange(size), before, recording, time_scales, short, settings)
    for _ in range(_SHORTER if settings.own_times else 0):
        late = np.flatnonzero(orbits.status == Status.TOO_LONG)
        if not late.size:
            break
        # Nobody asked for these times: what repeats within shorter ones is as good an answer.
        before[late] /= 4
        recording[late] /= 4
        short[late] = True
        valid = np.flatnonzero(orbits.status != Status.TOO_LONG)
        again = _in_blocks(system, late, before, recording, time_scales, short, settings)
        orbits = _join([_select(orbits, valid), again], [valid, late])
    for _ in range(_DENSER):
        tight = np.flatnonzero(orbits.crowded)
        settings = replace(settings, samples=4 * settings.samples)
        each_point = float(numbers * settings.samples)
        if not tight.size or each_point > BLOCK_NUMBERS or 50.0 * each_point * tight.size > _DENSER_WORK:
            break
        again = _in_blocks(system, tight, before, recording, time_scales, short, settings)
        valid = np.flatnonzero(~orbits.crowded)
        orbits = _join([_select(orbits, valid), again], [valid, tight])
    return orbits


def _in_blocks(
    system: System,
    points: NDArray[np.int64],
    before: Array,
    kept: Array,
    own: Scales,
    short: NDArray[np.bool_],
    settings: FlowSettings,
) -> FlowOrbits:
    """The motions of some points, in their order, block by block."""
    samples = settings.samples
    block = max(1, BLOCK_NUMBERS // ((len(system.labels) + len(system.problem.outputs)) * samples))
    pairs, group = np.unique(np.stack([before, kept])[:, points], axis=1, return_inverse=True)
    parts, order = [], []
    for g, (time, span) in enumerate(pairs.T):
        times = time + span * np.arange(samples) / (samples - 1)
        members = points[group.ravel() == g]
        hopeless = own.steps(before + kept)[members] > MAX_STEPS
        for chosen, follow in ((members[~hopeless], True), (members[hopeless], False)):
            for low in range(0, chosen.size, block):
                part = chosen[low : low + block]
                order.append(part)
                parts.append(
                    _one_block(system.take(part), times, short[part], settings)
                    if follow
                    else _not_followed(len(system.labels), part.size, times)
                )
    return _join(parts, order)


def _join(parts: list[FlowOrbits], order: list[NDArray[np.int64]]) -> FlowOrbits:
    """Parts of a grid as one, in the order of their points."""
    back = np.argsort(np.concatenate(order), kind="stable")
    columns: dict[str, Any] = {}
    for field in fields(FlowOrbits):
        rows = [getattr(part, field.name) for part in parts]
        if field.name in ("highs", "lows"):
            columns[field.name] = _stack_latest(rows)[back]
        else:
            columns[field.name] = np.concatenate(rows, axis=-1)[..., back]
    return FlowOrbits(**columns)


def _select(orbits: FlowOrbits, points: NDArray[np.int64]) -> FlowOrbits:
    """Some points of a grid."""
    picked = {field.name: getattr(orbits, field.name) for field in fields(FlowOrbits)}
    wide = ("highs", "lows")
    return FlowOrbits(**{k: v[points] if k in wide else v[..., points] for k, v in picked.items()})


def _not_followed(n: int, m: int, times: Array) -> FlowOrbits:
    """m motions of n states that need more steps than they have."""
    nothing, lost, one = np.empty((m, 0)), np.full((n, m), np.nan), np.ones(m)
    return FlowOrbits(
        nothing, nothing, np.zeros(m, np.int8), np.zeros(m, np.int64), np.nan * one, np.nan * one, np.nan * one,
        lost, lost, lost,
        times[0] * one, (times[-1] - times[0]) * one, np.full(m, Status.TOO_LONG, np.uint8), one < 0,
    )  # fmt: skip


def _one_block(system: System, times: Array, short: NDArray[np.bool_], settings: FlowSettings) -> FlowOrbits:
    """The motions of all points of a system."""
    early = times[0] * np.arange(_EARLY) / _EARLY if times[0] > 0 else np.empty(0)
    values, status = motions(system, np.append(early, times), settings.rtol, settings.atol, MAX_STEPS)
    states = values[: len(system.labels)]
    samples = values[(*system.labels, *system.problem.outputs).index(settings.of), :, early.size :]
    status[status == Status.STEPS] = Status.TOO_LONG
    # advise what this solver offers
    status[(status == Status.STIFF) | (status == Status.STIFF_SWITCHED)] = Status.TOO_STIFF
    with np.errstate(invalid="ignore"):
        reach = np.fmax.reduce(np.abs(states), axis=2)
    reach = np.where(np.isfinite(reach), reach, 0.0)
    return _classify(system, samples, states[:, :, early.size :], reach, times, short, status, settings)


def _classify(
    system: System, samples: Array, states: Array, reach: Array, times: Array, short: NDArray[np.bool_],
    status: NDArray[np.uint8], settings: FlowSettings,
) -> FlowOrbits:  # fmt: skip
    rtol, atol, max_period = settings.rtol, settings.atol, settings.max_period
    step = times[1] - times[0]
    with np.errstate(invalid="ignore"):  # what was not followed to its end is not a number
        highs, places, doubt, above = _maxima(samples)
        lows, _, _, below = _maxima(-samples)
    ok = status == 0
    filled = np.where(ok[:, None], samples, 0.0)
    noise = 100 * (rtol * np.abs(filled).max(axis=1) + atol)
    spans = np.stack([np.ptp(part, axis=1) for part in np.array_split(filled, 3, axis=1)])
    still = ok & ((spans[2] <= noise) | vanishing(filled, highs, -lows))
    first, last = states[:, :, 0], states[:, :, -1]
    equilibria = at_last(system, last, reach, float(times[-1]))
    with np.errstate(invalid="ignore"):
        error = 100 * (rtol * reach + atol)
        close = np.abs(last - equilibria) <= NEAR * sizes(equilibria, reach) + error
        arrived = (np.abs(last - equilibria) <= error).all(axis=0)
    resting = still & close.all(axis=0)
    period = repetition(highs, noise + 2 * doubt, spans.max(axis=0), max_period)
    period[still | ~ok] = 0
    cycling = period > 0
    duration, sparse = np.full(len(samples), np.nan), np.zeros(len(samples), bool)
    if cycling.any():
        # Over half of the window: the place of one maximum on a plateau is anywhere on it.
        cycles = np.maximum(1, np.isfinite(places[cycling]).sum(axis=1) // (2 * period[cycling]))
        first_place = places[cycling, -1 - cycles * period[cycling]]
        late, unsure = return_times(samples[cycling], first_place, places[cycling, -1] - first_place, cycles)
        duration[cycling] = late / cycles * step
        sparse[cycling] = unsure > rtol * late
    attractor = np.where(resting, EQUILIBRIUM, np.where(cycling, CYCLE, UNDECIDED)).astype(np.int8)
    status[short & ok & ~cycling & ~(resting & arrived)] = Status.TOO_SHORT
    highs, lows = np.where(ok[:, None], highs, np.nan), np.where(ok[:, None], 0.0 - lows, np.nan)
    crowded = ok & ~still & (sparse | (np.maximum(above, below) > CROWDED * spans.max(axis=0)))
    return FlowOrbits(
        highs, lows, attractor, period, duration, np.where(ok, samples[:, -1], np.nan),
        np.where(attractor == EQUILIBRIUM, _quantity(system, settings.of, equilibria, float(times[-1])), np.nan),
        first, last, reach, np.full(len(samples), times[0]), np.full(len(samples), times[-1] - times[0]), status,
        crowded,
    )  # fmt: skip


def return_times(samples: Array, start: Array, late: Array, cycles: NDArray[np.int64]) -> tuple[Array, Array]:
    """After how many steps a cycle comes back to a sample, where it runs smoothly through it; else `late`.

    A maximum is flat, so its place is found to few digits. Of the samples of one cycle before `start`, that one is
    taken whose value comes back most sharply: on a slope, in the middle of the range, where high differences are
    small. When it comes back is read off the polynomial through the twelve samples around, and off that through
    ten; where the two differ by a thousandth of a step the motion is too rough between its samples.

    Parameters
    ----------
    samples : (m, N) array, evenly spaced
    start, late : (m,) arrays
        Place of a maximum, and how many steps later the same maximum comes again.
    cycles : (m,) array
        Cycles between the two.

    Returns
    -------
    times, unsure : (m,) arrays
        In steps, and how far the two polynomials differ (0 where `late` stays).

    Examples
    --------
    >>> t = np.arange(100)
    >>> times, _ = return_times(np.sin(0.3 * t)[None], np.array([36.6]), np.array([41.9]), np.array([2]))
    >>> bool(abs(times[0] * 0.3 - 4 * np.pi) < 1e-10)
    True
    """
    count = samples.shape[1]
    refined, unsure = late.copy(), np.zeros(late.size)
    for row, x in enumerate(samples):
        length = late[row] / cycles[row]
        low = max(int(start[row] - length), 4)
        high = int(min(start[row], count - 7 - late[row]))
        if high - low < 2:
            continue
        slope = np.abs(x[low + 1 : high + 1] - x[low - 1 : high - 1])
        rough = np.abs(np.diff(x[low - 4 : high + 4], n=8))
        bottom, top = x[low:high].min(), x[low:high].max()
        middle = np.abs(x[low:high] - 0.5 * (bottom + top)) < 0.3 * (top - bottom)
        cost = np.where(middle & (slope > 0), rough / np.where(slope > 0, slope, 1.0), np.inf)
        best = int(np.argmin(cost))
        if not np.isfinite(cost[best]):
            continue
        place = low + best
        back = [_meets(x, x[place], place + late[row], half) for half in (6, 5)]
        if abs(back[0] - back[1]) < 1e-3 and abs(back[0] - place - late[row]) < 0.5:
            refined[row], unsure[row] = back[0] - place, abs(back[0] - back[1])
    return refined, unsure


def _meets(x: Array, value: float, near: float, half: int) -> float:
    """Where the polynomial through 2 * half samples around `near` takes a value: secants from there; NaN if nowhere."""
    first = min(max(int(near) - half + 1, 0), x.size - 2 * half)
    nodes = np.arange(2 * half)
    weights = (-1.0) ** nodes * special.binom(2 * half - 1, nodes)
    heights = x[first : first + 2 * half] - value

    def at(s: float) -> float:
        gaps = s - nodes
        if not gaps.all():
            return float(heights[np.argmin(np.abs(gaps))])
        parts = weights / gaps
        return float(parts @ heights / parts.sum())

    a, b = near - first, near - first + 0.01
    low, high = at(a), at(b)
    for _ in range(30):
        if high == low or not 0 <= b <= 2 * half - 1:
            break
        a, b, low = b, b - high * (b - a) / (high - low), high
        high = at(b)
        if abs(b - a) < 1e-13 * x.size:
            return first + b
    return first + b if high == 0.0 or abs(b - a) < 1e-9 else math.nan


def _quantity(system: System, of: str, states: Array, end: float) -> Array:
    """(size,) a state or an output where nothing moves."""
    if of in system.labels:
        return np.asarray(states[system.labels.index(of)])
    past = system.at_rest(states, t=end)
    values = dict(zip((*system.labels, *system.delayed), (*states, *past), strict=True)) | {TIME: end}
    with np.errstate(all="ignore"):
        outputs = system.evaluate(system.outputs, values)
    return np.asarray(outputs[list(system.problem.outputs).index(of)])


def vanishing(samples: Array, highs: Array, lows: Array) -> NDArray[np.bool_]:
    """Does the motion shrink towards rest? Aitken's extrapolation of three sizes, equally far apart, to their limit.

    Sizes are the distances of a maximum and the minimum beside it, which fall off exactly as the envelope does; with
    fewer than five of either, the ranges over thirds of the window.

    Parameters
    ----------
    samples : (m, N); highs, lows : (m, ...) its maxima and minima, latest in the last column
    """
    third = samples.shape[1] // 3
    parts = samples[:, -3 * third :].reshape(-1, 3, third)
    a, b, c = np.ptp(parts, axis=2).T.copy()
    width = min(highs.shape[1], lows.shape[1])
    if width >= 5:
        envelope = highs[:, -width:] - lows[:, -width:]
        apart = (np.isfinite(envelope).sum(axis=1) - 1) // 2
        rows = np.flatnonzero(apart >= 2)
        for k, size in enumerate((c, b, a)):
            size[rows] = envelope[rows, -1 - k * apart[rows]]
    with np.errstate(all="ignore"):
        limit = c - (c - b) ** 2 / ((c - b) - (b - a))
        gone: NDArray[np.bool_] = (c < 0.98 * a) & (c < b) & (b < a) & (b - c < a - b) & (limit <= 0.1 * c)
    return gone


def _stack_latest(parts: list[Array]) -> Array:
    """Rows of different lengths below each other, latest in the last column."""
    columns = max(p.shape[1] for p in parts)
    return np.concatenate([np.pad(p, ((0, 0), (columns - p.shape[1], 0)), constant_values=np.nan) for p in parts])


def maxima(samples: Array) -> tuple[Array, Array, Array]:
    """Local maxima between the samples, where the quartic through five neighbours has its own.

    Parameters
    ----------
    samples : (m, N) array, evenly spaced

    Returns
    -------
    values, places : (m, most) arrays
        The maxima of each row, the last ones in the last column, NaN before the first; places in steps. Values are
        those of Stirling's interpolation through seven samples, whose error falls as step^7. Where the seven fit no
        smooth maximum (a corner, a plateau's edge, a jump), they are those of `corners`, with an error that falls as
        step^5 for one corner in eleven samples, else at worst as step^2; never below the largest sample.
    doubt : (m,) array
        How far they lie from the quartic's, of corners from Stirling's value, at most: a bound of their error once the
        samples are dense.

    Examples
    --------
    >>> t = np.linspace(0, 9, 91)
    >>> values, places, doubt = maxima(np.sin(t)[None])
    >>> np.abs(values - 1).max() < 1e-8, np.abs(places[0] / 10 - np.array([0.5, 2.5]) * np.pi).max() < 1e-5
    (np.True_, np.True_)
    """
    return _maxima(samples)[:3]


def _maxima(samples: Array) -> tuple[Array, Array, Array, Array]:
    """`maxima`, and how far extrapolations to its corners differ: (m,), 0 where corners lie apart."""
    m, count = samples.shape
    if count < 7:
        return np.empty((m, 0)), np.empty((m, 0)), np.zeros(m), np.zeros(m)
    x = samples[:, 3:-3]
    row, at = np.nonzero((x > samples[:, 2:-4]) & (x >= samples[:, 4:-2]))
    a, b, c, d, e = (samples[row, at + k] for k in range(1, 6))
    c1 = (a - 8 * b + 8 * d - e) / 12
    c2 = (-a + 16 * b - 30 * c + 16 * d - e) / 24
    c3 = (-a + 2 * b - 2 * d + e) / 12
    c4 = (a - 4 * b + 6 * c - 4 * d + e) / 24
    s = np.zeros_like(c)
    for _ in range(6):
        slope, bend = c1 + s * (2 * c2 + s * (3 * c3 + 4 * s * c4)), 2 * c2 + s * (6 * c3 + 12 * s * c4)
        s = np.clip(s - slope / np.where(bend < 0, bend, -np.inf), -1, 1)
    first, last = samples[row, at], samples[row, at + 6]
    fifth = (last - 4 * e + 5 * d - 5 * b + 4 * a - first) / 2
    sixth = last - 6 * e + 15 * d - 20 * c + 15 * b - 6 * a + first
    further = s * (s**2 - 1) * (s**2 - 4) * (fifth / 120 + s * sixth / 720)
    value = c + s * (c1 + s * (c2 + s * (c3 + s * c4))) + further
    bend = ROUGH * np.abs(b - 2 * c + d)
    rough = np.flatnonzero(np.maximum(np.maximum(np.abs(24 * c4), np.abs(fifth)), np.abs(sixth)) > bend)
    apart = np.zeros(m)
    if rough.size:
        further[rough] = value[rough]
        value[rough], s[rough], unlike = _meet(samples, row[rough], at[rough] + 3)
        further[rough] -= value[rough]
        np.maximum.at(apart, row[rough], unlike)
    counts = np.bincount(row, minlength=m)
    columns = int(counts.max()) if m else 0
    values, places, doubt = np.full((m, columns), np.nan), np.full((m, columns), np.nan), np.zeros(m)
    rank = np.arange(row.size) - np.repeat(np.cumsum(counts) - counts, counts)
    column = columns - counts[row] + rank
    values[row, column] = value
    places[row, column] = at + 3 + s
    np.maximum.at(doubt, row, np.abs(further))
    return values, places, doubt, apart


def corners(samples: Array) -> tuple[Array, Array]:
    """The largest values beside the middle samples, where two curves meet: the lower of both, each from its own side.

    The two meet between two samples. Each is the polynomial through the samples on its side of that gap. Of the gaps on
    both sides of the middle, the one that gives more is taken. On a plateau the middle sample is right. Two corners
    that share a gap are not told apart.

    Parameters
    ----------
    samples : (m, odd) array, evenly spaced, the largest in the middle

    Returns
    -------
    values, places : (m,) arrays
        At least the middle sample; steps from there, between -1 and 1.

    Examples
    --------
    >>> t = np.arange(-3, 4)
    >>> values, places = corners(np.stack([2 - np.abs(t - 0.25), np.minimum(t + 0.25, 0)]))
    >>> np.round(values, 12).tolist(), np.round(places, 12).tolist()
    ([2.0, 0.0], [0.25, -0.25])
    """
    count, middle = samples.shape[1], samples.shape[1] // 2
    top = samples[:, middle]
    heights = samples - top[:, None]
    best, place = np.zeros(len(samples)), np.zeros(len(samples))
    # Of both gaps the beginning, and the first sample behind it.
    for low, split in ((-1.0, middle), (0.0, middle + 1)):
        left, right = range(split), range(split, count)
        a = np.full(len(samples), low)
        z = a + 1
        for _ in range(60):  # the golden section
            part = (z - a) * (3 - 5**0.5) / 2
            rising = _lower(heights, left, right, a + part) < _lower(heights, left, right, z - part)
            a, z = np.where(rising, a + part, a), np.where(rising, z, z - part)
        s = (a + z) / 2
        value = _lower(heights, left, right, s)
        value = np.where(heights[:, middle + 1] < 0, value, np.minimum(value, 0))
        more = (value > best) | ((value == best) & (s < 0))
        best, place = np.where(more, value, best), np.where(more, s, place)
    return top + best, place


def _lower(samples: Array, left: range, right: range, s: Array) -> Array:
    """The lower of two polynomials through some of the samples each, `s` steps from the middle."""
    both = []
    for nodes in (left, right):
        total = np.zeros(len(samples))
        for i in nodes:
            factors = [(s + samples.shape[1] // 2 - j) / (i - j) for j in nodes if j != i]
            total += samples[:, i] * np.prod(factors, axis=0)
        both.append(total)
    return np.minimum(*both)


def _meet(samples: Array, row: NDArray[np.int64], at: NDArray[np.int64]) -> tuple[Array, Array, Array]:
    """Values and places of maxima at corners, `at` their samples: from five on each side, or from three.

    Third, how far the two differ where further corners make one of them fail.
    """
    value, place = corners(samples[row[:, None], at[:, None] + np.arange(-3, 4)])
    inner = np.flatnonzero((at >= 5) & (at < samples.shape[1] - 5))
    wide, wide_place = corners(samples[row[inner, None], at[inner, None] + np.arange(-5, 6)])
    rise = value[inner] - samples[row[inner], at[inner]]
    close = np.abs(wide - value[inner]) <= rise / 10  # further corners make the wide ones fail
    unlike = np.zeros(len(at))
    unlike[inner] = np.where(close, 0.0, np.abs(wide - value[inner]))
    value[inner], place[inner] = np.where(close, wide, value[inner]), np.where(close, wide_place, place[inner])
    return value, place, unlike


def repetition(values: Array, noise: Array, size: Array, max_period: int) -> NDArray[np.int64]:
    """The smallest p such that each of a sequence's later values is that of p places before.

    Accepted where the later half misses by no more than the noise; or by at most a hundredth of `size`, if at most
    half of what the earlier half misses by, which is a cycle being approached.

    Parameters
    ----------
    values : (m, most) array, NaN before the first
    noise, size : (m,) what a value may be wrong by, and how far values lie apart in general
    max_period : int

    Returns
    -------
    (m,) int, 0 where there is none
    """
    m, columns = values.shape
    count = np.isfinite(values).sum(axis=1)
    place = np.arange(columns)[None] - (columns - count)[:, None]  # from 0 at each row's first
    period = np.zeros(m, np.int64)
    for p in range(1, min(max_period, columns // 4) + 1):
        miss = np.abs(values[:, p:] - values[:, :-p])
        inside, late = place[:, :-p] >= 0, place[:, :-p] >= (count[:, None] - p) / 2
        second = np.where(inside & late, miss, 0).max(axis=1)
        first = np.where(inside & ~late, miss, 0).max(axis=1)
        good = (second <= noise) | ((second <= 0.01 * size) & (second <= first / 2))
        period[(period == 0) & (count >= 4 * p) & good] = p
    return period
