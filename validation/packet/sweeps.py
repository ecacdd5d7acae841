"""A grid of scenarios, each simulated with several seeds, on the sweep engine: resumable, in threads or processes."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tcpdynamics import __version__
from tcpdynamics.errors import ScenarioError, check, shown, suggestion
from tcpdynamics.later import xr
from tcpdynamics.limits import check_memory, check_work, parts_of_sweep
from tcpdynamics.quantities import TABLES, quantity

from ..statistics import mean_interval
from . import user_queues, user_rules
from .kernel.windows import RULES
from .measures import FRACTIONS, MEASURES, OF_GROUPS, check_quantities, measure
from .result import Column, Table, table
from .run import _once, seeds_of, tables, threads_for
from .scenario.changes import changed, check_keys, put, unit_of, words_of
from .scenario.scenario import Scenario
from .scenario.toml import load_scenario, parse_scenario
from .scenario.unusual import unusual_values, warn_of

#: Scenarios of one sweep; each is made and checked before the first is simulated.
MAX_SCENARIOS = 20_000
#: Operations of a block, which is what a kill loses on each worker: half a minute. Blocks of one sweep, at most.
_BLOCK, _BLOCKS = 3e10, 4096

#: Keys that a sweep sets itself, or that a result has no room for.
_NOT_SWEPT: dict[str, str] = {
    "seed": "give seeds=, or --replications", "name": "all scenarios of a sweep have one name",
    "record": "recordings are for single runs",
}  # fmt: skip


#: Values of a key.
Values: TypeAlias = "Sequence[object] | NDArray[Any]"


class DaskClient(Protocol):
    """What is needed of `dask.distributed.Client`."""

    def get_executor(self) -> Executor:
        """Its workers as an executor."""


@dataclasses.dataclass(frozen=True)
class Axis:
    """The values of one key. `labels` where they are words: the engine's grid then holds their places."""

    key: str
    values: tuple[Any, ...]
    labels: tuple[str, ...] = ()

    @property
    def column(self) -> xr.DataArray:
        """What the engine's grid holds."""
        numbers = np.arange(len(self.values)) if self.labels else np.array(self.values)
        attrs: dict[str, Any] = {"long_name": self.key, "units": "1" if self.labels else unit_of(self.key)}
        if self.labels:
            attrs |= {"flag_values": list(range(len(self.labels))), "flag_meanings": " ".join(self.labels)}
        return xr.DataArray(numbers, {self.key: (self.key, numbers, attrs)}, self.key, name=self.key)

    def value(self, number: Any) -> Any:
        """The value of the key at a number of the grid."""
        return self.values[int(number)] if self.labels else _plain(number.item(), unit_of(self.key))


@dataclasses.dataclass(frozen=True)
class ScenarioWork:
    """Work for `solvers.sweep`: simulates the scenarios of a block of points, one replication each.

    `base` is a scenario, or the nested table of a file where a topology is swept. `own_rules`: fingerprints of rules
    and queues of one's own, which set one store apart from another.
    """

    base: Scenario | dict[str, Any]
    axes: tuple[Axis, ...]
    seeds: tuple[int, ...]
    quantities: tuple[str, ...]
    own_rules: str = ""

    #: Set where a run in a thread is to end early.
    stop: ClassVar[threading.Event | None] = None

    def scenario(self, values: Mapping[str, Any]) -> Scenario:
        """The scenario with these values of the swept keys."""
        if isinstance(self.base, Scenario):
            return changed(self.base, values)
        whole = _copied(self.base)
        for key, value in values.items():
            put(whole, key.split("."), value)
        return parse_scenario(whole)

    def __call__(self, block: Mapping[str, Any]) -> xr.Dataset:
        """Simulate the points of a block; its replications have the dimension "point"."""
        results: list[dict[str, Column]] = []
        for result in tables(self._jobs(block), self.stop):
            measures = measure(result)
            results.append({name: _column(name, measures, result) for name in self.quantities})
        first = results[0]
        data: dict[str, Any] = {}
        coords: dict[Any, Any] = {}
        for name in self.quantities:
            dims, attrs = first[name].dims, first[name].attrs
            data[name] = (("point", *dims), np.concatenate([r[name].values for r in results]), attrs)
            coords |= {d: result.coords[d] for d in dims if d in result.coords and result[d].dims == (d,)}
        return xr.Dataset(data, coords)

    def _jobs(self, block: Mapping[str, Any]) -> Iterator[tuple[Scenario, int]]:
        """Scenario and seed of each point."""
        cached: tuple[Any, Scenario] | None = None
        for i, replication in enumerate(block["replication"]):
            values = {axis.key: axis.value(block[axis.key][i]) for axis in self.axes}
            if cached is None or cached[0] != values:
                cached = values, self.scenario(values)
            yield cached[1], self.seeds[int(replication)]


def _column(name: str, measures: Mapping[str, Any], result: Table) -> Column:
    """A quantity, of runs together."""
    if name not in measures:
        return result[name]
    units, meaning = MEASURES.get(name) or OF_GROUPS[name]
    return Column(("group",) if name in OF_GROUPS else (), measures[name], {"units": units, "long_name": meaning})


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _copied(v) for k, v in value.items()}
    return [_copied(v) for v in value] if isinstance(value, list | tuple) else value


def sweep_scenarios(
    scenario: Scenario | Mapping[str, object] | str | Path,
    grid: Mapping[str, Values],
    seeds: int | Sequence[int] = 5,
    *,
    quantities: Sequence[str] = (),
    store: str | Path | None = None,
    processes: int | None = None,
    executor: Executor | DaskClient | None = None,
    progress: Callable[[float], None] | None = None,
) -> xr.Dataset:
    """Simulate a scenario at every point of a grid of its keys, with several seeds each.

    Parameters
    ----------
    scenario : Scenario, the nested table of a file, or path of a TOML file
    grid : mapping of a dotted key to a list of values
        Such as `{"bottleneck.buffer": [10, 20, 50], "bottleneck.queue": ["droptail", "red"]}`: numbers in SI units,
        texts with a unit, words or truth values, each once. Several keys make a product. Keys are those of files
        (docs/scenarios.md); indices of lists count from 0.
    seeds : int or sequence of int
        As of `replicate`, the same at every point: differences between points are not those between seeds.
    quantities : sequence of str, optional
        Which measures to keep (`measures.MEASURES`, by default all), or variables of `simulate`'s result that have
        the same shape at all points.
    store : path, optional
        `x.zarr`, written as simulations finish: called again with the same arguments, a sweep that was killed goes on.
    processes : int, optional
        Processes that share the work. Default: threads of this process, one per processor, and one for short runs.
    executor : concurrent.futures.Executor or Dask client, optional
        Instead.
    progress : callable, optional
        Called with the fraction of simulations that are done, in [0, 1].

    Returns
    -------
    xarray.Dataset
        Each quantity over the grid's keys and `replication`, and with `_mean`, `_low` and `_high` behind its name the
        mean and Student's 95 % interval over the replications (NaN of a single one). A coordinate `seed` makes each
        repeatable: the quantity of `simulate(scenario with the point's values, seed)`, to the last bit.

    Raises
    ------
    ScenarioError
        For a key, a value or a quantity that is not known, or a point whose scenario is impossible; before anything
        is simulated.
    LimitError
        More work than a day's, or three hours' without a store; before anything is simulated.
    StoreError
        A store that holds another sweep; nothing is overwritten.

    Examples
    --------
    >>> from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario
    >>> base = Scenario((Flows(5, rtt=(0.1, 0.12)),), Bottleneck(1e6, 20), duration=10.0, warm_up=1.0)
    >>> result = sweep_scenarios(base, {"bottleneck.buffer": [5, 50]}, seeds=3)
    >>> loss = result.loss_rate_mean.values
    >>> bool(loss[0] > loss[1])
    True
    """
    work = scenario_work(scenario, grid, seeds, quantities)
    workers = processes or os.cpu_count() or 1
    if processes is not None:
        check("processes", processes, 1, 1024, "count processes; leave out for threads", whole=True)
        if executor is not None:
            raise ScenarioError("processes and executor are both there; give one")
    mean_work = check_points(work, store is not None, workers)
    from tcpdynamics.solvers import sweep

    parameters: dict[str, Any] = {axis.key: axis.column for axis in work.axes}
    parameters["replication"] = np.arange(len(work.seeds))
    runs = len(work.seeds) * math.prod(len(axis.values) for axis in work.axes)
    block = max(1, min(-(-runs // 64), int(_BLOCK / mean_work)), -(-runs // _BLOCKS))
    with _executor(work, processes, executor, threads_for(mean_work)) as chosen:
        data = sweep(
            work, parameters, store=store, block=block, executor=chosen, about=about(work),
            progress=None if progress is None else lambda done, points, _: progress(done / points),
        )  # fmt: skip
    return with_intervals(_labelled(data, work))


def scenario_work(
    scenario: Scenario | Mapping[str, object] | str | Path,
    grid: Mapping[str, Values],
    seeds: int | Sequence[int],
    quantities: Sequence[str] = (),
) -> ScenarioWork:
    """What `sweep_scenarios` hands to the engine, its arguments checked."""
    in_topology = any(str(key).startswith("topology") for key in grid) if isinstance(grid, Mapping) else False
    base: Any = scenario
    if isinstance(base, str | Path):
        from .scenario.toml import load_table

        base = load_table(base) if in_topology else load_scenario(base)
    elif isinstance(base, Mapping) and not in_topology:
        # A value may be valid only together with the grid's: then each point is checked as a whole.
        with contextlib.suppress(ScenarioError):
            base = parse_scenario(base)
    base = base if isinstance(base, Scenario) or not isinstance(base, Mapping) else dict(base)
    if not isinstance(base, Scenario | dict):
        raise ScenarioError(f"scenario must be a Scenario, a table or a path, got {shown(base)}")
    if not isinstance(grid, Mapping) or not grid:
        raise ScenarioError(
            f"grid must name a key and its values, such as {{'bottleneck.buffer': [10, 20]}}, got {shown(grid)}"
        )
    axes = tuple(axis(str(key), values) for key, values in grid.items())
    check_keys(grid)
    points = math.prod(len(a.values) for a in axes)
    if points > MAX_SCENARIOS:
        sides = " x ".join(f"{a.key} {len(a.values):,}" for a in axes)
        raise ScenarioError(
            f"the grid has {points:,} scenarios ({sides}), at most {MAX_SCENARIOS:,} are simulated in one sweep; give "
            "fewer values"
        )
    work = ScenarioWork(base, axes, (), tuple(quantities))
    first = work.scenario({a.key: a.values[0] for a in axes})
    if first.record.anything:
        raise ScenarioError(
            f"record must be empty in a sweep, whose recordings differ in length, got {', '.join(first.record.names)}; "
            "leave record out, or set record={}"
        )
    several = seeds_of(first.seed, seeds, 10_000)
    if isinstance(quantities, str):
        raise ScenarioError(f"quantities must be a list of names, got {shown(quantities)}")
    recorded = tuple(quantities) or (*MEASURES, *(OF_GROUPS if len(first.flows) > 1 else ()))
    more = [name for name in recorded if name not in MEASURES and name not in OF_GROUPS]
    check_quantities(recorded, _names_in(first) if more else ())
    return dataclasses.replace(work, seeds=tuple(several), quantities=recorded, own_rules=_own_rules(first, axes))


def axis(key: str, values: Any) -> Axis:
    """The values of a key, texts with a unit read, each once.

    Examples
    --------
    >>> axis("flows.0.rtt", ["50ms", 0.1]).values, axis("bottleneck.queue", ["red", "droptail"]).labels
    ((0.05, 0.1), ('red', 'droptail'))
    """
    names = key.split(".")
    if not all(names) or len(names) > 16:
        raise ScenarioError(f"a key such as bottleneck.buffer is swept, got {shown(key)}")
    if names[0] in _NOT_SWEPT:
        raise ScenarioError(f"{key} cannot be swept: {_NOT_SWEPT[names[0]]}")
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray | xr.DataArray):
        raise ScenarioError(f"{key} needs a list of values in a sweep, got {shown(values)}")
    several = np.asarray(values).tolist() if isinstance(values, np.ndarray | xr.DataArray) else list(values)
    if not several:
        raise ScenarioError(f"{key} has no values; give one at least")
    unit = unit_of(key)
    if unit in TABLES:
        several = [_read(value, unit, key) for value in several]
    plain = tuple(value.item() if isinstance(value, np.generic) else value for value in several)
    numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in plain)
    if numeric:
        if not all(math.isfinite(v) and abs(v) < 2**53 for v in plain):
            raise ScenarioError(f"{key} must be finite numbers below 9e15, got {shown(several)}")
        plain = tuple(_plain(v, unit) for v in plain)
    labels = () if numeric else tuple(_label(v) for v in plain)
    if len(set(labels or plain)) < len(plain):
        raise ScenarioError(f"{key} has a value more than once; give each value once")
    words = words_of(key)
    for label in labels:
        if words and names[-1] != "control" and label not in words:
            raise ScenarioError(
                f"{key}: {shown(label)} is not known{suggestion(label, words)}; known: {', '.join(words)}"
            )
    return Axis(key, plain, labels)


def _read(value: Any, unit: str, key: str) -> Any:
    if not isinstance(value, str) or value == "auto" or (unit == "1" and not value.rstrip().endswith("%")):
        return value
    return quantity(value, unit, key)


def _plain(number: float, unit: str) -> float:
    """A number as a key takes it: counts are whole numbers."""
    return float(number) if unit in ("s", "bit/s") or not float(number).is_integer() else int(number)


def _label(value: Any) -> str:
    """A word of an axis, without blanks, which separate them in a store."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return "_".join(text.split())[:60] or "_"


def check_points(work: ScenarioWork, stored: bool, workers: int) -> float:
    """Make every scenario, and refuse more work or memory than a sweep may take; mean operations of a simulation.

    Raises
    ------
    ScenarioError, LimitError
    """
    total, memory, points = 0.0, 0.0, 0
    unusual: dict[str, None] = {}
    for values in product(*(axis.values for axis in work.axes)):
        point = dict(zip((axis.key for axis in work.axes), values, strict=True))
        try:
            scenario = work.scenario(point)
            for group in scenario.flows:
                user_rules.check_known(group.control)
        except ScenarioError as error:
            at = ", ".join(f"{key} = {shown(value, 40)}" for key, value in point.items())
            raise ScenarioError(f"{error} (at {at})") from None
        unusual |= dict.fromkeys(unusual_values(scenario))
        total += scenario.work
        memory = max(memory, scenario.memory)
        points += 1
    warn_of(unusual)
    mean = total / points
    runs = points * len(work.seeds)
    advice = "give fewer values or replications, or shorten the runs"
    if stored:
        with parts_of_sweep(runs):
            check_work("a simulation of the sweep", mean, advice)
    else:
        check_work(f"{runs:,} simulations", mean * runs, f"{advice}; with a store x.zarr ten times as much is possible")
    check_memory(
        f"{workers} simulations at a time", min(workers, runs) * memory, "use fewer processes, or lower flows.count"
    )
    return max(mean, 1.0)


def with_intervals(data: xr.Dataset) -> xr.Dataset:
    """A sweep with mean and 95 % interval of each quantity over its replications, as of a store opened again.

    A store holds numbers in place of words (`flag_values` and `flag_meanings`, as in the CF conventions); they become
    words again.

    Examples
    --------
    >>> data = xr.Dataset({"loss_rate": (("buffer", "replication"), [[0.1, 0.2, 0.3]], {"units": "1"})})
    >>> with_intervals(data).loss_rate_mean.values
    array([0.2])
    """
    names = [name for name, values in data.data_vars.items() if "replication" in values.dims and name != "status"]
    more: dict[Any, dict[str, Any]] = {name: {} for name in names}
    together: dict[Any, list[Any]] = {}  # labels take longer than few numbers; of many each takes memory enough
    for name in names:
        together.setdefault((data[name].dims, name if data[name].size > 1_000_000 else None), []).append(name)
    for (dims, _), alike in together.items():
        plain = xr.DataArray(np.stack([data[name].values.astype(float) for name in alike]), dims=("quantity", *dims))
        if plain.sizes["replication"] > 1:
            fraction = xr.DataArray([name in FRACTIONS for name in alike], dims="quantity")
            interval = mean_interval(plain, fraction=fraction)
        else:
            mean = plain.isel(replication=0)
            interval = xr.Dataset({"mean": mean, "low": mean * np.nan, "high": mean * np.nan})
        for part, words in (
            ("mean", "mean of {}"),
            ("low", "lower 95 % limit of {}"),
            ("high", "upper 95 % limit of {}"),
        ):
            of_part = interval[part].transpose("quantity", ...)
            for name, values in zip(alike, of_part.values, strict=True):
                meaning = data[name].attrs.get("long_name", str(name))
                attrs = {**data[name].attrs, "long_name": words.format(meaning)}
                more[name][f"{name}_{part}"] = (of_part.dims[1:], values, attrs)
    more = {key: column for parts in more.values() for key, column in parts.items()}
    return data.assign(more).assign_coords(_words(data))


def _words(data: xr.Dataset) -> dict[str, Any]:
    """Axes whose numbers stand for words, as words."""
    out = {}
    for name, column in data.coords.items():
        words = np.array(str(column.attrs.get("flag_meanings", "")).split())
        flags = np.atleast_1d(column.attrs.get("flag_values", []))
        if column.dims != (name,) or not words.size or len(words) != len(flags):
            continue
        places = np.argmax(column.values[:, None] == flags, axis=1)
        if np.array_equal(flags[places], column.values):
            attributes = {k: v for k, v in column.attrs.items() if k not in ("flag_values", "flag_meanings", "units")}
            out[str(name)] = (name, words[places], attributes)
    return out


def _labelled(data: xr.Dataset, work: ScenarioWork) -> xr.Dataset:
    """Words on their axes, and seeds as text, for they may be larger than any integer of a file."""
    words = {a.key: (a.key, np.array(a.labels), {"long_name": a.key}) for a in work.axes if a.labels}
    seeds = ("replication", np.array([str(seed) for seed in work.seeds]))
    attrs = {a.key: dict(data[a.key].attrs) for a in work.axes}
    data = data.assign_coords(words).assign_coords(seed=seeds)
    for key, attributes in attrs.items():
        if key not in words:
            data[key].attrs = attributes
    return data


def about(work: ScenarioWork) -> dict[str, Any]:
    """Attributes of the result, by which a store of another sweep is refused in words."""
    base = table(work.base) if isinstance(work.base, Scenario) else work.base
    swept = {axis.key for axis in work.axes}
    settings = {k: v for k, v in _flat(base) if k not in swept and v is not None}
    return {
        "model": str(base.get("name", "scenario")),
        "solver": "sweep_scenarios",
        "version": __version__,
        "parameters": json.dumps(settings, default=str),
        "settings": json.dumps(
            {
                "seeds": [str(seed) for seed in work.seeds],
                "quantities": list(work.quantities),
                **{a.key: list(a.labels) for a in work.axes if a.labels},
            }
        ),
    }


def _flat(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    entries = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else None
    if entries is None or not value:
        yield key, value
        return
    for name, item in entries:
        yield from _flat(item, f"{key}.{name}" if key else str(name))


def _names_in(scenario: Scenario) -> tuple[str, ...]:
    """Variables of the result of a scenario, from a thousandth of a second of it."""
    brief = dataclasses.replace(scenario, duration=2e-3, warm_up=1e-3, slice=1e-3)
    return tuple(_once(brief, 1, None, None)[1].variables)


def _own_rules(scenario: Scenario, axes: tuple[Axis, ...]) -> str:
    """Fingerprints of the rules and queues of one's own that the scenarios use."""
    swept = {label for a in axes if a.key.endswith(".control") for label in a.labels}
    names = ({group.control for group in scenario.flows} | swept) - set(RULES)
    rules = [
        f"{name}.{hook}: {rule[3]}"
        for name in sorted(names)
        for hook, rule in sorted(user_rules._RULES.get(name, {}).items())
    ]
    swept = {label for a in axes if a.key.endswith(".queue") for label in a.labels}
    queues = {way.queue for way in scenario.ways} | swept
    marks = sorted(user_queues.own_queues().items())
    return "\n".join([*rules, *(f"queue {name}: {mark}" for name, mark in marks if name in queues)])


@contextmanager
def _executor(work: ScenarioWork, processes: int | None, executor: Any, in_threads: int) -> Iterator[Executor]:
    if work.own_rules and (processes is not None or executor is not None):
        raise ScenarioError(
            "a rule or queue of one's own lives in this process alone; leave out processes and executor"
        )
    if executor is not None:
        yield executor.get_executor() if hasattr(executor, "get_executor") else executor
        return
    if processes is not None:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        spawn = get_context("spawn")
        pool = ProcessPoolExecutor(processes, spawn, initializer=_leave_interrupts_to_the_parent)
        try:
            yield pool
        except BaseException:
            for process in list(pool._processes.values()):  # what runs need not go on
                process.terminate()
            pool.shutdown(cancel_futures=True)
            raise
        pool.shutdown()
        return
    stop = threading.Event()
    object.__setattr__(work, "stop", stop)
    threads = ThreadPoolExecutor(in_threads)
    try:
        yield threads
    except BaseException:
        stop.set()  # what runs need not go on
        threads.shutdown(wait=False, cancel_futures=True)
        raise
    threads.shutdown()


def _leave_interrupts_to_the_parent() -> None:
    """Ctrl-C reaches all processes of a terminal; the one that asked for the work ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
