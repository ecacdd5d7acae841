"""What flows do in the end: rest, repeat or neither."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dynamics import System, compile_system, quantities
from ..problems import DynamicsError
from ..trajectories.trajectory import trajectory
from .checks import real, tolerances, whole
from .extrema import maxima, repetition
from .points import take

Array = NDArray[np.float64]

#: Sampled numbers that one block of points may hold, 160 MB.
BLOCK_NUMBERS = 20_000_000

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
    first, last : (states, size) at the ends of the window
    status : (size,) code of results.REASONS
    """

    highs: Array
    lows: Array
    attractor: NDArray[np.int8]
    period: NDArray[np.int64]
    duration: Array
    level: Array
    first: Array
    last: Array
    status: NDArray[np.uint8]


def flow_orbits(
    system: System,
    of: str,
    transient: float,
    keep: float,
    samples: int,
    max_period: int,
    rtol: float,
    atol: float,
) -> FlowOrbits:
    """Follow a flow from its start and look for cycles in the maxima of `of`, block by block."""
    problem, size, n = system.problem, system.size, len(system.labels)
    if of not in (*system.labels, *problem.outputs):
        raise DynamicsError(
            f"of names {of!r}, which is neither a state nor an output; there are "
            f"{', '.join((*system.labels, *problem.outputs))}"
        )
    transient, keep = real("transient", transient, 0), real("keep", keep, 0, above=True)
    samples = whole("samples", samples, 20)
    rtol, atol = tolerances(rtol, atol)
    times = transient + keep * np.arange(samples) / (samples - 1)
    block = max(1, BLOCK_NUMBERS // ((n + len(problem.outputs)) * samples))
    parts = [
        _one_block(system, np.arange(low, min(low + block, size)), of, times, max_period, rtol, atol)
        for low in range(0, size, block)
    ]
    joined: dict[str, Any] = {}
    for field in fields(FlowOrbits):
        rows = [getattr(part, field.name) for part in parts]
        if field.name in ("highs", "lows"):
            joined[field.name] = _wide(rows)
        else:
            joined[field.name] = np.concatenate(rows, axis=1 if field.name in ("first", "last") else 0)
    return FlowOrbits(**joined)


def _one_block(
    system: System,
    points: NDArray[np.int64],
    of: str,
    times: Array,
    max_period: int,
    rtol: float,
    atol: float,
) -> FlowOrbits:
    local = compile_system(take(system, points))
    done = trajectory(local.problem, times, rtol=rtol, atol=atol)
    rows = {}
    for name, indices in quantities(local.labels).items():
        values = done[name].values
        for row, index in enumerate(indices):
            rows[local.labels[index]] = values[row] if "flow" in done[name].dims else values
    states = np.stack([rows[label].reshape(points.size, times.size) for label in local.labels])
    samples = rows.get(of)
    if samples is None:
        name = next(q for q in quantities([of]))
        found = done[name]
        index = int(of[len(name) + 1 : -1]) if "flow" in found.dims else 0
        samples = (found.sel(flow=index) if index else found).values
    samples = samples.reshape(points.size, times.size)
    return _classify(samples, states, times, done.status.values.ravel(), max_period, rtol, atol)


def _classify(
    samples: Array, states: Array, times: Array, status: Array, max_period: int, rtol: float, atol: float
) -> FlowOrbits:
    step = times[1] - times[0]
    highs, places, doubt = maxima(samples)
    lows, _, _ = maxima(-samples)
    ok = status == 0
    filled = np.where(ok[:, None], samples, 0.0)
    noise = 100 * (rtol * np.abs(filled).max(axis=1) + atol)
    spans = np.stack([np.ptp(part, axis=1) for part in np.array_split(filled, 3, axis=1)])
    resting = (spans[2] <= noise) | vanishing(filled, highs, -lows)
    period = repetition(highs, noise + 2 * doubt, spans.max(axis=0), max_period)
    period[resting | ~ok] = 0
    cycling = period > 0
    duration = np.full(len(samples), np.nan)
    if cycling.any():
        late = places[cycling, -1] - places[cycling, -1 - period[cycling]]
        duration[cycling] = late * step
    attractor = np.where(resting & ok, EQUILIBRIUM, np.where(cycling, CYCLE, UNDECIDED)).astype(np.int8)
    highs, lows = np.where(ok[:, None], highs, np.nan), np.where(ok[:, None], -lows, np.nan)
    return FlowOrbits(
        highs, lows, attractor, period, duration, np.where(ok, samples[:, -1], np.nan),
        states[:, :, 0], states[:, :, -1], status.astype(np.uint8),
    )  # fmt: skip


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


def _wide(parts: list[Array]) -> Array:
    """Rows of different lengths below each other, latest in the last column."""
    most = max(p.shape[1] for p in parts)
    return np.concatenate(
        [np.pad(p, ((0, 0), (most - p.shape[1], 0)), constant_values=np.nan) for p in parts]
    )
