"""Run a scenario once, or many times in threads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import xarray as xr

from .engine import execute
from .result import dataset
from .scenario import Scenario, load_scenario
from .units import ScenarioError, check


def simulate(scenario: Scenario | str | Path, seed: int | None = None) -> xr.Dataset:
    """Simulate a scenario once.

    Parameters
    ----------
    scenario : Scenario, or path of a TOML file
    seed : int, optional
        Default: the scenario's own.

    Returns
    -------
    xarray.Dataset
        Dimensions `flow`, `kind` (of transmission), `backoff`, `sent_in_epoch`, `silence`, `slice` and, with
        `trace`, `transmission`; all but the trace (whole run) and `in_flight` (at the end) of the time after
        the warm-up. `attrs` hold the scenario, the seed, the version, `what_you_ran` (JSON) and a `warning`.

    Raises
    ------
    ScenarioError
        If the scenario is impossible or needs too much memory.
    ConservationError
        If the engine lost sight of a packet; checked at the end of every run.

    Examples
    --------
    One flow alone on an idle link sends a full window (here 4) per round trip:

    >>> from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, simulate
    >>> flow = Flows(rtt=0.1, window_limit=4, start_spread=0.0)
    >>> link = Bottleneck(rate=1e9)
    >>> result = simulate(Scenario((flow,), link, duration=11.0, warm_up=1.0, epoch=0.1, slice=1.0))
    >>> int(result["timeouts"].sum()), bool(abs(result["goodput"].item() - 400) <= 4)
    (0, True)
    """
    if not isinstance(scenario, Scenario):
        scenario = load_scenario(scenario)
    seed = scenario.seed if seed is None else seed
    check("seed", seed, 0, 2**128, "give a whole number", whole=True)
    return dataset(scenario, seed, execute(scenario, seed))


def replicate(
    scenario: Scenario | str | Path, seeds: int | Sequence[int] = 5, workers: int | None = None
) -> xr.Dataset:
    """Simulate a scenario with several seeds.

    Parameters
    ----------
    scenario : Scenario, or path of a TOML file
    seeds : int or sequence of int
        A count: that many seeds spawned from the scenario's own (the first n are the same for any count).
        A sequence: those seeds.
    workers : int, optional
        Threads. Default: one per processor. The result does not depend on it.

    Returns
    -------
    xarray.Dataset
        As `simulate`, each variable with a leading dimension `replication`; the coordinate `seed` makes each
        replication repeatable with `simulate(scenario, seed)`.

    Raises
    ------
    ScenarioError
        As `simulate`; also with `trace`, for traces differ in length, and without any seed.
    """
    if not isinstance(scenario, Scenario):
        scenario = load_scenario(scenario)
    if scenario.trace:
        raise ScenarioError(
            "trace must be false in replications, whose traces differ in length; call simulate instead"
        )
    several = spawn_seeds(scenario.seed, seeds) if isinstance(seeds, int) else [int(seed) for seed in seeds]
    check("seeds", len(several), 1, 1_000_000, "give a count or a list of seeds", whole=True)
    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        runs = list(pool.map(lambda seed: simulate(scenario, seed), several))
    together = xr.concat(
        runs,
        "replication",
        data_vars="all",
        combine_attrs="override",
        join="exact",
        coords="minimal",
        compat="override",
    )
    # As text, for a seed may be larger than any integer that a file format knows.
    return together.assign_coords(seed=("replication", [str(seed) for seed in several]))


def spawn_seeds(seed: int, count: int) -> list[int]:
    """`count` independent seeds from one.

    Examples
    --------
    >>> spawn_seeds(1, 3)[:2] == spawn_seeds(1, 2)
    True
    """
    check("seeds", count, 1, 1_000_000, "give a count or a list of seeds", whole=True)
    children = np.random.SeedSequence(seed).spawn(count)
    return [int(child.generate_state(1, np.uint64)[0]) for child in children]
