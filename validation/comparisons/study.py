"""A study: the same quantities of runs by several engines; those of Linux and ns-2 are recorded, or run now."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics.errors import NoRecordError
from tcpdynamics.progress import tracked

from ..statistics import mean_interval, two_sample
from .comparison import Comparison, grade
from .engines import LINUX, PACKETS, Cell, Engine, stored


class Study(Comparison, listed=False):
    """A comparison of cells: a scenario and an engine each, run with several seeds.

    A new study implements `cells`, `measure`, `compare`, `figure` and `paragraph`; this base seeds the runs, records
    them and reads the record.

    Attributes
    ----------
    salt : int           Makes the seeds of studies differ.
    record_name : str    The file with the recorded runs.
    quantities : dict    Names of the numbers that `measure` returns, with units.
    digits : int         Of a recorded number.
    comparing : float    Duration of `compare` [s], for the progress.
    """

    effect: ClassVar[tuple[str, str, str]] = ("difference", "low", "high")
    rule: ClassVar[str] = "agrees: the interval of the difference holds zero; differs: it misses zero"
    salt: ClassVar[int]
    record_name: ClassVar[str] = "linux_recorded.json"
    quantities: ClassVar[Mapping[str, str]]
    digits: ClassVar[int] = 9
    comparing: ClassVar[float] = 0.0

    seed: int
    seeds: int
    timeout: float
    workers: int = 1

    @abstractmethod
    def cells(self) -> dict[Any, Cell]:
        """The cells by label."""

    @abstractmethod
    def measure(self, run: xr.Dataset, label: Any, cell: Cell) -> Any:
        """The numbers of one run of any engine, in the order of `quantities`."""

    @abstractmethod
    def compare(self, runs: Mapping[Any, Any]) -> xr.Dataset:
        """Effects, intervals and verdicts, from the quantities of each cell's runs."""

    def check_request(self) -> None:
        """Refuse more work than is allowed, before anything runs."""

    def run(self, live: bool = False) -> xr.Dataset:
        """Run the simulator; run Linux (`PacketsVsNs2`: ns-2) or read its record; compare.

        Parameters
        ----------
        live : bool
            Run it now; else read the record.

        Returns
        -------
        xarray.Dataset
            See `compare`.

        Raises
        ------
        LinuxError, Ns2Error
            If the other program is missing, fails or takes too long.
        NoRecordError
            Without `live`, if these runs are not in the record.
        """
        self.check_request()
        cells = self.cells()
        runs: dict[Any, Any] = {}
        with self._pool() as pool:
            jobs = {label: self._jobs(label, cell, live, pool) for label, cell in cells.items()}
            weights = [seconds(cell.engine, live) * len(self.roots(cell.engine)) for cell in cells.values()]
            for label in tracked([*cells, None], [*weights, self.comparing]):
                if label is not None:
                    runs[label] = self.gathered(jobs[label]())
                    continue
                result = self.compare(runs)
        result.attrs = self.attributes() | self.provenance(live) | result.attrs
        return result

    def record(self) -> dict[str, Any]:
        """Run the recorded cells only; the new content of the file `record_name`."""
        heading: dict[str, str] = {}
        runs: dict[str, Any] = {}
        with self._pool() as pool:
            jobs = {
                name: pool.submit(self._run_judge, label, cell, seed)
                for label, cell in self.cells().items()
                for name, seed in self.named_roots(cell)
            }
            for name, job in tracked(list(jobs.items())):
                measured, heading = job.result()
                runs[name] = self.packed(measured)
        return heading | {"runs": dict(sorted(runs.items()))}

    def provenance(self, live: bool) -> dict[str, str]:
        """Attribute of the result: whether Linux was run now."""
        kernel = "" if live else stored(self.record_name)["kernel"]
        return {"linux": "run for this comparison" if live else f"as recorded with {kernel}"}

    def roots(self, engine: Engine = LINUX) -> list[int]:
        """Seeds of an engine's runs."""
        children = np.random.SeedSequence([self.seed, self.salt]).spawn(self.replications_of(engine))
        return [int(child.generate_state(1)[0]) for child in children]

    def replications_of(self, engine: Engine) -> int:
        """How many runs of a cell an engine makes."""
        return self.seeds

    def named_roots(self, cell: Cell) -> list[tuple[str, int]]:
        """Key in the record, and seed, of each run of a cell."""
        roots = self.roots(cell.engine)
        return list(zip(cell.engine.keys(cell, roots), roots, strict=False))

    def recorded(self, cell: Cell) -> list[Any]:
        """The recorded numbers of each run of a cell. Raises NoRecordError."""
        runs, results = stored(self.record_name)["runs"], []
        for name, seed in self.named_roots(cell):
            if name not in runs:
                raise NoRecordError(
                    f"no record of {cell.engine.name} for {cell.name or cell.scenario.name} with seed {seed}; "
                    f"{cell.engine.advice}"
                )
            results.append(self.unpacked(runs[name]))
        return results

    def simulated(self, label: Any, cell: Cell) -> list[Any]:
        """The numbers of the simulator's runs of a cell."""
        return [self.measure(PACKETS.run(cell, seed, self.timeout), label, cell) for seed in self.roots(PACKETS)]

    def packed(self, measured: Any) -> Any:
        """One run in the form of the record."""
        return [float(f"{x:.{self.digits}g}") for x in measured]

    def unpacked(self, record: Any) -> Any:
        """One recorded run in the form of `measure`."""
        return record

    def gathered(self, runs: list[Any]) -> Any:
        """Quantities of runs, over `replication` and `quantity`."""
        return xr.DataArray(np.array(runs, float), {"quantity": list(self.quantities)}, ("replication", "quantity"))

    def absent(self) -> xr.DataArray:
        """Quantities of a cell that an engine cannot run: not a number."""
        missing: xr.DataArray = self.gathered([[np.nan] * len(self.quantities)] * self.seeds)
        return missing

    @property
    def unit_coordinate(self) -> dict[str, Any]:
        """Coordinate of a result: the unit of each quantity."""
        return {"quantity_unit": ("quantity", list(self.quantities.values()))}

    @contextmanager
    def _pool(self) -> Iterator[ThreadPoolExecutor]:
        """Threads for `workers` runs of the judge; no run starts after a failure."""
        with ThreadPoolExecutor(self.workers) as pool:
            try:
                yield pool
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _jobs(self, label: Any, cell: Cell, live: bool, pool: ThreadPoolExecutor) -> Callable[[], list[Any]]:
        """Start the runs of a cell; a function that waits for their results."""
        if cell.engine is PACKETS:
            return partial(self.simulated, label, cell)
        if not live:
            results = self.recorded(cell)
            return lambda: results
        begun = [pool.submit(self._run_judge, label, cell, seed) for seed in self.roots(cell.engine)]
        return lambda: [job.result()[0] for job in begun]

    def _run_judge(self, label: Any, cell: Cell, seed: int) -> tuple[Any, dict[str, str]]:
        run = cell.engine.run(cell, seed, self.timeout)
        return self.measure(run, label, cell), cell.engine.heading(run)


def seconds(engine: Engine, live: bool) -> float:
    """Approximate duration of a run [s], for the progress."""
    if engine is PACKETS:
        return 0.3
    return 2.0 if live else 0.002


def means(runs: xr.DataArray, quantities: Mapping[str, str], level: float = 0.95) -> xr.Dataset:
    """`mean` over runs with its interval, `mean_low` and `mean_high`; quantities of the unit "1" are fractions."""
    fraction = xr.DataArray([unit == "1" for unit in quantities.values()], {"quantity": list(quantities)})
    interval = mean_interval(runs, level=level, fraction=fraction)
    return interval[["mean", "low", "high"]].rename(low="mean_low", high="mean_high").drop_attrs(deep=False)


def difference(a: xr.DataArray, b: xr.DataArray, level: float = 0.95) -> xr.Dataset:
    """`difference` of means, a - b, with its interval, `low` and `high`, and the `verdict` on it."""
    two = two_sample(a, b, level=level)
    verdict = (two["low"].dims, grade(two["low"], two["high"]))
    return two[["difference", "low", "high"]].assign(verdict=verdict).drop_attrs(deep=False)
