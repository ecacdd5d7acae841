"""Experiments in packets that decide claims: scenarios from files, over cases, readings and replications.

*Cases* are what the paper varies (senders, loads); *readings* what it leaves open and we must choose (a minimum RTO,
the delay of a link): every plausible choice is run, so that a claim cannot fail because we guessed otherwise. Each
point is a scenario file with some of its keys changed, simulated with seeds that are the same at all points.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from importlib import import_module, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpdynamics import __version__
from tcpdynamics.errors import DomainError, Ns2Error, ScenarioError, shown, suggestion
from tcpdynamics.later import xr

from .papers import PAPERS

if TYPE_CHECKING:
    from tcpdynamics.validation.packet import Scenario

#: Keys of a scenario -> what they become.
Changes = Mapping[str, Any]
#: Values of one axis: label -> changes.
Axis = Mapping[str, Changes]

SETTINGS = ("tiny", "quick", "full")
#: Runs of a judge.
JUDGE_RUNS = 5
#: Who sends the packets.
ENGINES = ("packets", "ns2", "linux")
#: Those beside the simulator, with their names.
JUDGES = {"ns2": "ns-2", "linux": "Linux"}


@dataclass(frozen=True)
class Setting:
    """How long an experiment runs: replications, readings (0: all of them), changes such as a shorter duration.

    `scale` multiplies duration, warm-up, slice and the time over which flows begin, of every case. What is not decided
    after `replications` is run on, twice as often each time, up to `limit` of them (0: it is not run on).
    """

    replications: int
    readings: int = 1
    changes: Changes = field(default_factory=dict)
    scale: float = 1.0
    limit: int = 0

    @property
    def looks(self) -> int:
        """How often the numbers are looked at while runs go on.

        >>> Setting(10).looks, Setting(10, limit=40).looks
        (1, 3)
        """
        return 1 + max(0, (self.limit // self.replications).bit_length() - 1)


@dataclass(frozen=True)
class Experiment:
    """Scenarios over cases and readings, and what is measured of each run.

    Attributes
    ----------
    name : str          Paper and a word, such as "leap.star".
    about : str         One sentence: what runs, and where the paper says so.
    scenario : str      File in the paper's folder `scenarios`.
    cases : mapping     Axis -> label -> changes of the scenario; their product is run.
    measures : mapping  Name -> function of what `simulate` gives, to one number.
    readings : mapping  Axis -> label -> changes; the first labels together are the first reading, the most likely one.
        Axes of one name in several experiments of a paper are one and the same choice.
    applies : mapping   Axis of readings -> axis of cases -> labels, where a choice touches some cases only.
    one_at_a_time : bool   Readings differ from the first one along a single axis; else every combination is one.
    tiny, quick, full : Setting
    judged : bool   Whether ns-2, and Linux as it comes, run the cases that they can, beside the full setting.
    """

    name: str
    about: str
    scenario: str
    cases: Mapping[str, Axis]
    measures: Mapping[str, Callable[[xr.Dataset], float]]
    readings: Mapping[str, Axis] = field(default_factory=dict)
    applies: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    one_at_a_time: bool = False
    tiny: Setting = Setting(2)
    quick: Setting = Setting(3)
    full: Setting = Setting(10, 0, limit=40)
    judged: bool = False
    seed: int = 1

    @property
    def paper(self) -> str:
        """The folder of the paper."""
        return self.name.partition(".")[0]

    @property
    def path(self) -> Path:
        """The scenario's file."""
        return Path(str(resources.files(__package__).joinpath(self.paper, "scenarios", self.scenario)))

    def setting(self, name: str) -> Setting:
        """The setting "tiny", "quick" or "full"."""
        if name not in SETTINGS:
            raise DomainError(f"setting must be one of {', '.join(SETTINGS)}, got {shown(name)}")
        chosen: Setting = getattr(self, name)
        return chosen

    def case_labels(self) -> list[tuple[str, ...]]:
        """Labels of every case, in the order of the axes."""
        return list(itertools.product(*(axis for axis in self.cases.values())))

    def reading_labels(self, most: int = 0) -> list[tuple[str, ...]]:
        """Labels of readings: the first, then others in an order that favours none; `most` of them, 0 for all."""
        first = tuple(next(iter(axis)) for axis in self.readings.values())
        every = list(itertools.product(*(axis for axis in self.readings.values())))
        if self.one_at_a_time:
            every = [one for one in every if sum(map(str.__ne__, one, first)) <= 1]
        order = np.random.default_rng(self.seed).permutation(len(every) - 1) + 1
        chosen = [every[0], *(every[i] for i in order)]
        return chosen[: most or None]

    def reading_name(self, labels: Sequence[str]) -> str:
        """A reading in words, such as "min_rto 1s, handshake no"; without any axis "as printed"."""
        return ", ".join(f"{axis} {label}" for axis, label in zip(self.readings, labels, strict=True)) or "as printed"

    def readings_by_name(self) -> dict[str, dict[str, str]]:
        """Labels, axis by axis, of each reading by its name."""
        return {self.reading_name(x): dict(zip(self.readings, x, strict=True)) for x in self.reading_labels()}

    def build(self, case: Sequence[str], reading: Sequence[str], setting: str = "full") -> Scenario:
        """The scenario of a point.

        Raises
        ------
        ScenarioError
            If the scenario is impossible.
        """
        from tcpdynamics.validation.packet import parse_scenario
        from tcpdynamics.validation.packet.scenario.changes import put
        from tcpdynamics.validation.packet.scenario.toml import load_table

        table = load_table(self.path)
        for changes in self._changes(case, reading, setting):
            for key, value in changes.items():
                put(table, key.split("."), copy.deepcopy(value))  # a later change may alter it
        return _scaled(parse_scenario(table), self.setting(setting).scale)

    def reading_of(self, case: Sequence[str], reading: Sequence[str]) -> tuple[str, ...]:
        """The labels of a reading for a case: the first one along each axis that does not touch it."""
        labels = dict(zip(self.cases, case, strict=True))
        return tuple(
            label if self.touches(name, labels) else next(iter(axis))
            for (name, axis), label in zip(self.readings.items(), reading, strict=True)
        )

    def touches(self, axis: str, case: Mapping[str, str]) -> bool:
        """Whether a choice of the readings changes the run of a case."""
        return all(case[name] in labels for name, labels in self.applies.get(axis, {}).items() if name in case)

    def _changes(self, case: Sequence[str], reading: Sequence[str], setting: str) -> Iterator[Changes]:
        yield self.setting(setting).changes
        yield from (axis[label] for axis, label in zip(self.cases.values(), case, strict=True))
        labels = dict(zip(self.cases, case, strict=True))
        for (name, axis), label in zip(self.readings.items(), reading, strict=True):
            if self.touches(name, labels):
                yield axis[label]

    def fingerprint(self, setting: str) -> str:
        """Changes with the scenario's file, cases, readings, seed and setting, and with the code that runs them."""
        what = [
            self.path.read_text(encoding="utf-8"), dict(self.cases), dict(self.readings), sorted(self.measures),
            dict(self.applies), self.one_at_a_time, vars(self.setting(setting)), self.seed, __version__,
            _code(self.paper),
        ]  # fmt: skip
        text = json.dumps(what, default=lambda m: dict(m) if isinstance(m, Mapping) else str(m), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def _scaled(scenario: Scenario, scale: float) -> Scenario:
    if scale == 1:
        return scenario
    flows = tuple(
        replace(f, start_spread=None if f.start_spread is None else scale * f.start_spread) for f in scenario.flows
    )
    times = {name: scale * getattr(scenario, name) for name in ("duration", "warm_up", "slice")}
    return replace(scenario, flows=flows, **times)


def experiments() -> dict[str, Experiment]:
    """All experiments by name, in the order of the papers.

    Examples
    --------
    >>> experiments()["leap.star"].scenario
    'star.toml'
    """
    modules = [import_module(f".{paper}.experiments", __package__) for paper in PAPERS]
    return {one.name: one for module in modules for one in module.EXPERIMENTS}


def get_experiment(name: str) -> Experiment:
    """The experiment of that name. Raises DomainError where there is none."""
    by_name = experiments()
    if name not in by_name:
        raise DomainError(
            f"there is no experiment {shown(name)}{suggestion(name, tuple(by_name))}; known: {', '.join(by_name)}"
        )
    return by_name[name]


@functools.cache
def _code(paper: str) -> str:
    """A digest of the simulator's source and of the paper's."""
    digest = hashlib.sha256()
    for folder in ("tcpdynamics.validation.packet", "tcpdynamics.models", f"{__package__}.{paper}"):
        root = Path(str(resources.files(folder)))
        for path in sorted(root.rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class ExperimentWork:
    """Work for `solvers.sweep`: runs the points of a block. Known by names, so that any process can run it."""

    experiment: str
    setting: str
    engine: str
    points: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    seeds: tuple[int, ...]

    def __call__(self, block: Mapping[str, Any]) -> dict[str, Any]:
        """Simulate the points of a block and measure each; NaN where a judge has no such scenario."""
        experiment = get_experiment(self.experiment)
        out: dict[str, list[float]] = {name: [] for name in experiment.measures}
        for point, replication in zip(block["run"], block["replication"], strict=True):
            scenario = experiment.build(*self.points[int(point)], self.setting)
            result = _run(self.engine, scenario, self.seeds[int(replication)])
            for name, function in experiment.measures.items():
                out[name].append(_measured(self.engine, function, result))
        return {name: np.array(values, float) for name, values in out.items()}


def _run(engine: str, scenario: Scenario, seed: int) -> xr.Dataset | None:
    if engine == "ns2":
        try:
            return _by_ns2(scenario, seed)
        except (ScenarioError, Ns2Error):
            return None
    if engine == "linux":
        from tcpdynamics.validation.linux import run_linux

        try:
            return run_linux(_for_linux(scenario), seed, timeout=1200.0)
        except ScenarioError:
            return None
    from tcpdynamics.validation.packet.run import _once

    return _once(scenario, seed, None, None)[1].dataset()


def _by_ns2(scenario: Scenario, seed: int) -> xr.Dataset:
    """A run in ns-2, with what our engine computes of the scenario: round trips, and the epochs that follow them."""
    from tcpdynamics.validation.ns2 import run_ns2
    from tcpdynamics.validation.packet.epochs import base_rtts
    from tcpdynamics.validation.packet.setup import build

    translated = _for_ns2(scenario)
    epoch = None
    if scenario.epoch == "auto" and (ours := _run("packets", scenario, seed)) is not None:
        epoch = ours.epoch.values  # of the round trips in the warm-up
    result = run_ns2(translated, seed, timeout=1200.0, epoch=epoch)
    return result.assign(base_rtt=("flow", base_rtts(build(scenario, seed), scenario))) if scenario.links else result


def _for_ns2(scenario: Scenario) -> Scenario:
    """The same on ns-2's terms.

    Senders delay packets at random where links do not, RED is ns-2's own, flows that never start are Reno's, and the
    first transmission of a segment is lost by its number on the link that only its flow takes first.
    """
    jitter = max((link.jitter for link in scenario.links), default=0.0)
    flows = []
    for f in scenario.flows:
        idle = f.start > scenario.duration and not f.open_loop
        sender = replace(f, sender="reno", control="reno", parameters=()) if idle else f
        flows.append(sender if f.open_loop or not jitter else replace(sender, overhead=jitter))
    sources = [f.source for f in scenario.flows for _ in range(f.count)]
    drops = []
    for drop in scenario.drops:
        source = sources[drop.flow] if drop.segment is not None and drop.transmission == 1 else None
        own = [link.name for link in scenario.links if link.source == source and sources.count(source) == 1]
        drops.append(replace(drop, segment=None, link=own[0], packet=drop.segment) if len(own) == 1 else drop)
    form: dict[str, bool | float | str] = {"ns2": 1.0}
    links = tuple(
        replace(link, jitter=0.0, queue_parameters=link.queue_parameters | (form if link.queue == "red" else {}))
        for link in scenario.links
    )
    return replace(scenario, flows=tuple(flows), links=links, drops=tuple(drops))


def _for_linux(scenario: Scenario) -> Scenario:
    """The same on Linux's terms: settings of a sender that Linux has of its own are left to it."""
    from tcpdynamics.validation.packet import Flows, Record

    if any(f.sender == "mtcp" for f in scenario.flows):
        raise ScenarioError("flows.sender: Linux's Multipath TCP is another protocol than M/TCP")
    flows = tuple(
        replace(
            f, rules="ns2", max_backoff=64, clear_rtt_after=8, initial_rto=None, clock_phase=None,
            limited_transmit=True, ack_size=Flows.ack_size, reorder=False, loss_probes=False, frto=False,
        )
        for f in scenario.flows
    )  # fmt: skip
    return replace(scenario, flows=flows, record=Record(sends=scenario.record.sends))


def _measured(engine: str, function: Callable[[xr.Dataset], float], result: xr.Dataset | None) -> float:
    if result is None:
        return float("nan")
    try:
        return float(function(result))
    except (KeyError, AttributeError):
        if engine in JUDGES:  # their records have fewer variables than the simulator's
            return float("nan")
        raise


def run(
    name: str,
    setting: str = "quick",
    *,
    engine: str = "packets",
    cases: Callable[[Mapping[str, str]], bool] | None = None,
    replications: range | None = None,
    store: Path | None = None,
    executor: Executor | None = None,
    progress: Callable[[float], None] | None = None,
) -> xr.Dataset:
    """Run an experiment.

    Parameters
    ----------
    name : str
    setting : "tiny", "quick" or "full"
    engine : "packets", "ns2" or "linux"
    cases : callable, optional
        Which cases to run, by their labels; the others are NaN in the result.
    replications : range, optional
        Which replications to run; by default those of the setting, from 0 on.
    store : path of a `.zarr`, optional
        Points are kept as they finish; called again, a run that was killed goes on.
    executor : concurrent.futures.Executor, optional
        Who shares the work. Default: threads, one a processor.
    progress : callable, optional
        Gets the share of the work that is done, in [0, 1].

    Returns
    -------
    Dataset
        Each measure over the axes of the cases, `reading` and `replication`; `runs` counts the replications of a case.
        A run that several readings have in common is run once. Attributes tell how to run it again.

    Raises
    ------
    DomainError, ScenarioError, StoreError
        For names that are not known, an impossible scenario, a store of another experiment.

    Examples
    --------
    >>> result = run("leap.star", "tiny", cases=lambda case: case == {"sender": "Reno", "density": "2.50"})
    >>> result.finished.dims
    ('sender', 'density', 'reading', 'replication')
    """
    from tcpdynamics.solvers import sweep
    from tcpdynamics.validation.packet.run import spawn_seeds

    if engine not in ENGINES:
        raise DomainError(f"engine must be one of {', '.join(ENGINES)}, got {shown(engine)}")
    experiment = get_experiment(name)
    length = experiment.setting(setting)
    every = experiment.case_labels()
    chosen = [c for c in every if cases is None or cases(dict(zip(experiment.cases, c, strict=True)))]
    if not chosen:
        raise DomainError(f"{name} has no such case")
    readings = experiment.reading_labels(length.readings if engine == "packets" else 1)
    count = length.replications if engine == "packets" else JUDGE_RUNS
    which = range(count) if replications is None else replications
    points = tuple(dict.fromkeys((case, experiment.reading_of(case, r)) for case in chosen for r in readings))
    work = ExperimentWork(name, setting, engine, points, tuple(spawn_seeds(experiment.seed, which.stop)[which.start :]))
    grid = {"run": np.arange(len(points)), "replication": np.arange(len(which))}
    total = len(points) * len(which)
    for case in chosen:
        experiment.build(case, readings[0], setting)  # refused before anything runs
    pool = ThreadPoolExecutor(os.cpu_count()) if executor is None else None
    try:
        data = sweep(
            work, grid, store=store, block=max(1, total // 4096), executor=executor or pool, throw=True, retry=True,
            about={"model": name, "fingerprint": experiment.fingerprint(setting)},
            progress=None if progress is None else lambda done, _, __: progress(done / total),
        )  # fmt: skip
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)
    return _labelled(experiment, data, chosen, readings, work, setting)


def _labelled(
    experiment: Experiment,
    data: xr.Dataset,
    chosen: Sequence[tuple[str, ...]],
    readings: Sequence[tuple[str, ...]],
    work: ExperimentWork,
    setting: str,
) -> xr.Dataset:
    """Cases along their own axes."""
    axes = {axis: list(labels) for axis, labels in experiment.cases.items()}
    sizes = tuple(len(labels) for labels in axes.values())
    places = [tuple(axes[a].index(label) for a, label in zip(axes, case, strict=True)) for case in chosen]
    rows = {point: i for i, point in enumerate(work.points)}
    at = [[rows[case, experiment.reading_of(case, r)] for r in readings] for case in chosen]
    out: dict[str, Any] = {}
    for measure in experiment.measures:
        values = np.full((*sizes, len(readings), len(work.seeds)), np.nan)
        for place, several in zip(places, at, strict=True):
            values[place] = data[measure].values[several]
        out[measure] = ((*axes, "reading", "replication"), values)
    runs = np.zeros(sizes, int)
    for place in places:
        runs[place] = len(work.seeds)
    coords: dict[str, Any] = {**axes, "reading": [experiment.reading_name(r) for r in readings]}
    coords |= {"seed": ("replication", [str(seed) for seed in work.seeds]), "runs": (tuple(axes), runs)}
    attrs = {
        "experiment": experiment.name, "setting": setting, "engine": work.engine, "version": __version__,
        "scenario": experiment.scenario, "fingerprint": experiment.fingerprint(setting),
        "run_again": f"tcpdynamics.paper_figures.experiments.run({experiment.name!r}, {setting!r})",
    }  # fmt: skip
    return xr.Dataset(out, coords, attrs)


def run_on(data: xr.Dataset, more: xr.Dataset) -> xr.Dataset:
    """A result with further replications of some of its cases; `runs` says of how many each case has."""
    runs = data.runs + more.runs
    joined = xr.concat([data.drop_vars("runs"), more.drop_vars("runs")], "replication", combine_attrs="override")
    return joined.assign_coords(runs=runs)


def partly(case: Mapping[str, str], *wanted: Mapping[str, str]) -> bool:
    """Whether a case has all labels of one of the `wanted`.

    >>> partly({"sender": "Reno", "density": "2.50"}, {"sender": "LEAP"}, {"density": "2.50"})
    True
    """
    return any(all(case.get(axis) == label for axis, label in labels.items()) for labels in wanted)


def scenario_place(name: str) -> str:
    """Where the scenario file of an experiment lies in the source.

    >>> scenario_place("leap.star")
    'paper_figures/leap/scenarios/star.toml'
    """
    one = get_experiment(name)
    return f"paper_figures/{one.paper}/scenarios/{one.scenario}"


@functools.cache
def scenario_text(name: str) -> str:
    """The scenario file of an experiment, as it is shown beside a claim."""
    return get_experiment(name).path.read_text(encoding="utf-8")
