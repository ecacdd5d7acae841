"""Run a scenario once, or many times in threads."""

from __future__ import annotations

import dataclasses
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from tcpdynamics.errors import DynamicsError, ScenarioError, check
from tcpdynamics.later import xr

from .engine import counted, execute, finished
from .phases import is_of_phases
from .remedies import measured_remedy
from .result import Table, dataset_of_replications, shape_of_table, tabulated
from .run_record import Counted, Run, together
from .scenario.scenario import Scenario
from .scenario.toml import load_scenario
from .scenario.unusual import warn_of_unusual_values
from .setup import Blank, differs_in_draws


class Interrupted(KeyboardInterrupt):
    """A run was stopped by Ctrl-C; `result` holds what was measured until then.

    Of replications, those that were complete.
    """

    def __init__(self, result: xr.Dataset) -> None:
        super().__init__("stopped; the result until then is in .result")
        self.result = result


def simulate(
    scenario: Scenario | str | Path, seed: int | None = None, progress: Callable[[float], None] | None = None
) -> xr.Dataset:
    """Simulate a scenario once.

    Parameters
    ----------
    scenario : Scenario, or path of a TOML file
    seed : int, optional
        Default: the scenario's own.
    progress : callable, optional
        Called now and then with the fraction of simulated time that is done, in [0, 1].

    Returns
    -------
    xarray.Dataset
        Dimensions `flow`, `link`, `kind` (of transmission), `backoff`, `sent_in_epoch`, `silence`, `slice` and,
        as `record` selects, `send`, `receive`, `drop`, `window_sample`, `queue_sample`; all but these recordings
        (whole run), `start`, `finish` and `completion_time` (whole run; NaN where a flow did not start or finish),
        `transferred` and `in_flight` (at the end) of the time after the warm-up. `attrs` hold the
        scenario, the seed, the version, `what_you_ran` (JSON) and a `warning`.

    Raises
    ------
    ScenarioError
        If the scenario is impossible or needs too much memory.
    ConservationError
        If the engine lost sight of a packet; checked at the end of every run.
    Interrupted
        On Ctrl-C; its `result` is the part that was done.

    Warns
    -----
    UnusualValueWarning
        Where a value is far outside what networks have, with what was probably meant.

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
    return measured(scenario if isinstance(scenario, Scenario) else load_scenario(scenario), seed, progress).dataset()


def measured(
    scenario: Scenario, seed: int | None = None, progress: Callable[[float], None] | None = None, remedy: bool = True
) -> Table:
    """As `simulate`, without labels; without `remedy`, no second run measures what a warning advises."""
    warn_of_unusual_values(scenario)
    run, result = _once(scenario, seed, progress, None)
    if run.interrupted:
        raise Interrupted(result.dataset())
    if not (remedy and is_of_phases(result.warnings[0])):
        return result
    return dataclasses.replace(result, warnings=(result.warnings[0] + measured_remedy(scenario, result.seeds[0], run),))


def _once(
    scenario: Scenario, seed: int | None, progress: Callable[[float], None] | None, stop: threading.Event | None
) -> tuple[Run, Table]:
    seed = scenario.seed if seed is None else seed
    check("seed", seed, 0, 2**128, "give a whole number", whole=True)
    run = execute(scenario, seed, progress, stop)
    return run, tabulated([(scenario, seed)], together([run])).first


#: Operations of short runs that have one table, at most, and their bytes: tens of milliseconds.
_TOGETHER = 1e8
#: Operations of a run that is too short for two threads: the interpreter, which runs one at a time, takes longer.
_SHORT = 5e6


def threads_for(work: float) -> int:
    """How many threads make runs of so many operations soonest: one per processor, and one of short runs."""
    return (os.cpu_count() or 1) if work > _SHORT else 1


def tables(jobs: Iterable[tuple[Scenario, int]], stop: threading.Event | None) -> Iterator[Table]:
    """Run scenarios with their seeds, in order; short runs whose tables have the same shape in a row make one.

    Raises
    ------
    DynamicsError
        Where `stop` has ended a run.
    """
    done: list[tuple[Scenario, int, Counted]] = []
    shape: tuple[Any, ...] | None = None
    cost = 0.0
    for scenario, seed, run in _runs(jobs, stop):
        shape_before, shape = shape, shape_of_table(scenario, run.sim)
        cost += scenario.work + scenario.memory
        if done and (shape is None or shape != shape_before or cost > _TOGETHER):
            yield _table(done)
            done, cost = [], scenario.work + scenario.memory
        done.append((scenario, seed, run))
    if done:
        yield _table(done)


def _table(done: list[tuple[Scenario, int, Counted]]) -> Table:
    return tabulated([(scenario, seed) for scenario, seed, _ in done], finished(together([run for *_, run in done])))


def _runs(
    jobs: Iterable[tuple[Scenario, int]], stop: threading.Event | None
) -> Iterator[tuple[Scenario, int, Counted]]:
    for _, group in groupby(jobs, lambda job: id(job[0])):
        several = list(group)
        scenario = several[0][0]
        short = len(several) > 1 and scenario.work + scenario.memory < _TOGETHER
        blank = Blank(scenario) if short and differs_in_draws(scenario) else None
        for _, seed in several:
            run = counted(scenario, seed, None, stop, blank)
            if run.interrupted:
                raise DynamicsError("the simulation was interrupted")
            yield scenario, seed, run


def replicate(
    scenario: Scenario | str | Path,
    seeds: int | Sequence[int] = 5,
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> xr.Dataset:
    """Simulate a scenario with several seeds.

    Parameters
    ----------
    scenario : Scenario, or path of a TOML file
    seeds : int or sequence of int
        A count: that many seeds spawned from the scenario's own (the first n are the same for any count).
        A sequence: those seeds, each once; also as texts, as `seed` of a result has them.
    workers : int, optional
        Threads. Default: one per processor, and one for short runs. The result does not depend on it.
    progress : callable, optional
        Called with the fraction of replications that are done, in [0, 1].

    Returns
    -------
    xarray.Dataset
        As `simulate`, each variable with a leading dimension `replication`; the coordinate `seed` makes each
        replication repeatable with `simulate(scenario, seed)`; the attribute of that name is left out.

    Raises
    ------
    ScenarioError
        As `simulate`; also with `record`, for recordings differ in length, and without any seed.
    Interrupted
        On Ctrl-C, once a replication is complete; its `result` holds these.

    Examples
    --------
    >>> from tcpdynamics.validation.packet import Bottleneck, Flows
    >>> scenario = Scenario((Flows(rtt=0.2),), Bottleneck(1e6, 50), duration=20.0, warm_up=2.0)
    >>> dict(replicate(scenario, seeds=2).goodput.sizes)
    {'replication': 2, 'flow': 1}
    """
    if not isinstance(scenario, Scenario):
        scenario = load_scenario(scenario)
    if scenario.record.anything:
        raise ScenarioError(
            f"record must be empty in replications, whose recordings differ in length, got "
            f"{', '.join(scenario.record.names)}; leave record out, or simulate one replication by its seed"
        )
    count = _count(seeds, 1_000_000)
    if workers is not None:
        check("workers", workers, 1, 1024, "count threads; leave out for one per processor", whole=True)
    scenario.check_size(count, workers or os.cpu_count() or 1)
    warn_of_unusual_values(scenario)
    several = seeds_of(scenario.seed, seeds)
    done, stopped = _in_threads(scenario, several, workers, progress)
    replications = dataset_of_replications(done)
    if stopped:
        raise Interrupted(replications)
    return replications


def _in_threads(
    scenario: Scenario, seeds: list[int], workers: int | None, progress: Callable[[float], None] | None
) -> tuple[list[Table], bool]:
    """Results in the order of the seeds; with True, Ctrl-C has cut them short."""
    stop = threading.Event()
    done: list[Table] = []
    finished = False
    threads = workers or threads_for(scenario.work)
    pool = ThreadPoolExecutor(threads)
    size = max(1, min(int(_TOGETHER / scenario.work), len(seeds) // threads))
    parts = [[(scenario, seed) for seed in seeds[i : i + size]] for i in range(0, len(seeds), size)]
    try:
        for several in pool.map(lambda part: list(tables(part, stop)), parts):
            done += several
            if progress is not None:
                progress(sum(len(one.seeds) for one in done) / len(seeds))
        finished = True
    except KeyboardInterrupt:
        if not done:
            raise
        return done, True
    finally:
        stop.set()  # after Ctrl-C or an error the others need not go on
        pool.shutdown(wait=finished, cancel_futures=True)  # nobody waits for a run that is still being set up
    return done, False


def seeds_of(seed: int, seeds: int | Sequence[int], most: int = 1_000_000) -> list[int]:
    """The seeds that a caller counts (spawned from `seed`) or lists.

    Raises
    ------
    ScenarioError
        For none, for too many, for a seed that is no whole number in [0, 2**128], and for one that is listed twice:
        its runs are equal, and would count as independent.

    Examples
    --------
    >>> seeds_of(1, [5, "7"]), seeds_of(1, 3) == spawn_seeds(1, 3)
    ([5, 7], True)
    """
    count = _count(seeds, most)
    if not isinstance(seeds, Sequence | np.ndarray):
        return spawn_seeds(seed, count)
    several = [_whole(one) for one in seeds]
    for one in several:
        check("seeds", one, 0, 2**128, "give whole numbers", whole=True)
    twice = next((one for one, count in Counter(several).items() if count > 1), None)
    if twice is not None:
        raise ScenarioError(
            f"seeds must be different, got {twice} more than once; equal seeds give equal runs, so list each once"
        )
    return several


def _count(seeds: Any, most: int) -> int:
    count = len(seeds) if isinstance(seeds, Sequence | np.ndarray) and not isinstance(seeds, str) else seeds
    check("seeds", count, 1, most, "give a count or a list of seeds", whole=True)
    return int(count)


def _whole(value: object) -> Any:
    """NumPy's whole numbers, and whole numbers as texts, as plain ones; anything else as it is."""
    if isinstance(value, np.integer) or (isinstance(value, str) and value.isascii() and value.isdecimal()):
        return int(value) if len(str(value)) < 50 else value
    return value


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
