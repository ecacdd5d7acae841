"""Transfers of Figs. 14 to 18 as they go on: one run, and where most of several lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..experiments import get_experiment

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

#: Runs for a band, at the quick setting and else.
FEW, MANY = 10, 40
STEP = 0.1
FIRST_HOPS = {"route #0": "a1->a2", "route #1": "b1->b2"}


@dataclass(frozen=True)
class Course:
    """One transfer by time [s], and a band of several.

    Attributes
    ----------
    time, value : array       Of one run: segments sent, or the windows of all routes together [packet].
    grid, low, high : array   The middle 80 % of the runs, where at least half of them are under way.
    routes : dict             Name -> times [s] at which a packet goes over that route, of the one run.
    """

    time: NDArray[np.float64]
    value: NDArray[np.float64]
    grid: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    routes: dict[str, NDArray[np.float64]]


def courses(
    senders: tuple[str, ...],
    look: Callable[[xr.Dataset], tuple[NDArray[np.float64], NDArray[np.float64]]],
    runs: int,
    progress: Callable[[float], None] | None = None,
    hold: bool = False,
) -> dict[str, Course]:
    """Run the first reading of `mtcp.course`; `look` gives times and values of a run, the last of which may `hold`."""
    from tcpdynamics.validation.packet import simulate
    from tcpdynamics.validation.packet.run import spawn_seeds

    experiment = get_experiment("mtcp.course")
    reading = experiment.reading_labels(1)[0]
    out = {}
    for place, sender in enumerate(senders):
        scenario = experiment.build((sender,), reading)
        results = []
        for number, seed in enumerate(spawn_seeds(experiment.seed, runs)):
            results.append(simulate(scenario, seed=seed))
            if progress is not None:
                progress((place * runs + number + 1) / (len(senders) * runs))
        paths = [look(result) for result in results]
        grid = np.arange(0.0, max(time[-1] for time, _ in paths) + STEP, STEP)
        values = np.array([step_values(*pair, grid, hold) for pair in paths])
        under_way = np.isfinite(values).mean(0) >= 0.5
        low, high = np.nanquantile(values[:, under_way], [0.1, 0.9], axis=0)
        out[sender] = Course(*paths[0], grid[under_way], low, high, routes_of(results[0]))
    return out


def step_values(
    time: NDArray[np.float64], value: NDArray[np.float64], grid: NDArray[np.float64], hold: bool = False
) -> NDArray[np.float64]:
    """The last value before each point of a grid; NaN before the first and, unless it is to `hold`, after the end.

    >>> step_values(np.array([1.0, 2.0]), np.array([5.0, 6.0]), np.array([0.0, 1.5, 3.0])).tolist()
    [nan, 5.0, nan]
    """
    at = np.searchsorted(time, grid, side="right") - 1
    out: NDArray[np.float64] = np.where((at >= 0) & (hold | (grid <= time[-1])), value[np.maximum(at, 0)], np.nan)
    return out


def routes_of(result: xr.Dataset) -> dict[str, NDArray[np.float64]]:
    """When data goes over each route."""
    names = result.link.values.tolist()
    return {
        route: result.queue_time.values[result.queue_link.values == names.index(hop)]
        for route, hop in FIRST_HOPS.items()
    }


def segments_sent(result: xr.Dataset) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sequence number [segment], which never falls here: the highest that was sent."""
    return result.send_time.values, np.maximum.accumulate(result.send_segment.values).astype(float) + 1


def windows(result: xr.Dataset) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Congestion window [packet], of M/TCP that of all routes together."""
    return result.window_time.values, result.window_cwnd.values
