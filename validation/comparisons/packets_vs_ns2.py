"""The packet simulator beside ns-2.35 where a run is random: means over seeds, differences with intervals.

One flow is compared send by send in the tests; there ns-2's and our times are equal. With many flows the random
choices are drawn differently, so only distributions can agree. Nine quantities of each case are compared. At
level 0.99 one interval in a hundred misses zero although nothing differs, so of 36 about one run in three has one
such.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics.charts.look import BLACK, VERDICT_COLOURS
from tcpdynamics.errors import NoRecordError
from tcpdynamics.limits import check_work
from tcpdynamics.progress import tracked
from tcpdynamics.solvers.problems import DomainError

from ..ns2 import installed, run_ns2, tcl
from ..packet import Bottleneck, Flows, Scenario, replicate
from ..packet.scenario import topologies
from ..statistics import two_sample
from .comparison import Comparison, counts, grade

if TYPE_CHECKING:
    import plotly.graph_objects as go


CASES = ("dumbbell_spread", "dumbbell_overhead", "wide", "star")
#: Cases in which exact ties decide; see `PacketsVsNs2`.
TIED = ("dumbbell_overhead_tied", "wide_tied")
#: What is compared, with its unit. An epoch has a fixed length in each case.
QUANTITIES = {
    "loss rate": "1",
    "timeouts": "1/s",
    "goodput": "packets/s",
    "Jain's index": "1",
    "P(0 sent)": "1",
    "P(1 sent)": "1",
    "P(2 sent)": "1",
    "P(3 sent)": "1",
    "P(4+ sent)": "1",
}


@dataclass(frozen=True)
class PacketsVsNs2(Comparison):
    """Both packet simulators on the same scenarios.

    Parameters
    ----------
    cases : sequence of str
        Of `CASES`. ``dumbbell_spread``: 100 SACK flows with RTTs of 190 to 210 ms share 1 Mbit/s; 500-byte
        packets, 50-packet buffer. ``dumbbell_overhead``: the same with equal RTTs and a random delay of up to one
        packet's sending time before each send, which breaks phase effects. ``wide``: 32 NewReno flows with RTTs
        of 20 to 160 ms share 155 Mbit/s. ``star``: short Reno transfers between the three hosts of Tamura,
        Takayasu and Takayasu's LEAP network, with delayed acknowledgements that wait and are lost too.
        ``dumbbell_overhead_tied``: RTTs of 200 ms, fifty times a packet's sending time, so that a segment that
        an acknowledgement releases at once arrives just as another leaves the queue; the other case has 201.7 ms.
        ``wide_tied``: RTTs from 20 to 160 ms in equal steps, multiples of half a sending time; the other case has
        RTTs from 20.0717 to 159.8613 ms. ns-2 leaves such ties to the rounding of its clock.
    exact : bool
        Run ours with plain double-precision time, as ns-2 does (the default of `Scenario.clock` for these flows).
        False: on the grid, where a departure goes first; ``wide_tied`` then comes to something else.
    scale : float
        Factor of all durations [1], > 0.
    seeds : int
        Runs of each simulator, at least two.
    level : float
        Of the intervals [1].
    seed : int
    workers : int
        Runs of ns-2 at a time.
    timeout : float
        Longest wall time of one run of ns-2 [s].

    Examples
    --------
    >>> comparison = PacketsVsNs2(cases=("wide",), scale=0.1)
    >>> comparison.scenario("wide").duration
    3.0
    """

    effect: ClassVar[tuple[str, str, str]] = ("difference", "low", "high")
    rule: ClassVar[str] = "agrees: the interval of the difference holds zero; differs: it misses zero"

    cases: Sequence[str] = CASES
    scale: float = 1.0
    seeds: int = 8
    level: float = 0.99
    seed: int = 1
    workers: int = 2
    timeout: float = 600.0
    exact: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = [case for case in self.cases if case not in CASES + TIED]
        if unknown or not self.cases:
            raise DomainError(f"cases must be among {', '.join(CASES + TIED)}, got {list(self.cases)}")
        if not self.scale > 0:
            raise DomainError(f"scale must be positive, got {self.scale}")

    def scenario(self, case: str) -> Scenario:
        """The scenario of one case."""
        if case.startswith("wide"):
            rtt = (0.02, 0.16) if case in TIED else (0.0200717, 0.1598613)
            flows = Flows(count=32, sender="newreno", rtt=rtt, packet_size=1000, window_limit=2000)
            return self._scenario(case, flows, 30.0, 10.0, 0.1, bottleneck=Bottleneck(155e6, 190))
        if case == "star":
            duration, rate = 400.0, 2.5
            nodes = ("n0", "n1", "n2")
            flows = Flows(
                # Half as many again as come on average; the rest never start.
                count=int(1.5 * rate * duration * self.scale) + 20, arrival_rate=rate, sender="reno",
                source=nodes, target=nodes, packet_size=576, delayed_ack=0.1, window_limit=100, segments=100,
            )  # fmt: skip
            return self._scenario(case, flows, duration, 50.0, 0.5, links=topologies.star(3))
        spread = case == "dumbbell_spread"
        equal = 0.2 if case in TIED else 0.2017
        flows = Flows(count=100, rtt=(0.19, 0.21) if spread else equal, overhead=0.0 if spread else 0.004)
        return self._scenario(case, flows, 1000.0, 100.0, 0.4, bottleneck=Bottleneck(1e6, 50))

    def _scenario(
        self, case: str, flows: Flows, duration: float, warm_up: float, epoch: float, **network: Any
    ) -> Scenario:
        return Scenario(
            (flows,), duration=self.scale * duration, warm_up=self.scale * warm_up, name=case, seed=self.seed,
            epoch=epoch, slice=self.scale * (duration - warm_up) / 4, clock="double" if self.exact else "grid",
            **network,
        )  # fmt: skip

    def run(self, live: bool | None = None) -> xr.Dataset:
        """Run both simulators and compare.

        Parameters
        ----------
        live : bool, optional
            Run ns-2 now, or take what it gave where it was last run. Default: now if it is installed.

        Returns
        -------
        xarray.Dataset over `case`, `quantity`
            `ours`, `theirs`: means over seeds; `ours_sd`, `theirs_sd`: of one run; `difference` = ours - theirs
            with Welch's interval from `low` to `high`; `verdict`: "agrees" where it contains zero, else
            "differs". Units are those of `quantity_unit`.

        Raises
        ------
        Ns2Error
            If ns-2 is missing, fails or takes too long.
        NoRecordError
            If it is not to be run and there is no record of just these runs.
        """
        live = installed() if live is None else live
        check_work(
            f"{self.seeds} replications of {len(self.cases)} cases",
            self.seeds * sum(self.scenario(case).work for case in self.cases),
            "give fewer cases or seeds, or shorten them",
        )
        parts = [self._case(self.scenario(case), live) for case in tracked(self.cases)]
        result = xr.concat(parts, xr.Variable("case", list(self.cases)))
        result = result.assign_coords(quantity_unit=("quantity", list(QUANTITIES.values())))
        provenance = "run for this comparison" if live else "as recorded with ns-2.35"
        result.attrs = self.attributes() | {"level": self.level, "ns2": provenance}
        return result

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """Differences in per cent of ns-2's mean, with their intervals; right if they cross zero."""
        import plotly.graph_objects as go
        from plotly.subplots import make_subplots

        cases = [str(case) for case in result["case"].values]
        panels = make_subplots(1, len(cases), subplot_titles=cases, shared_yaxes=True)
        for column, case in enumerate(cases, start=1):
            part = result.sel(case=case)
            size = part["theirs"].where(part["theirs"] != 0) / 100
            middle = part["difference"] / size
            colours = [VERDICT_COLOURS[verdict] for verdict in part["verdict"].values]
            panels.add_trace(
                go.Scatter(
                    x=middle.values, y=[str(name) for name in part["quantity"].values], mode="markers",
                    marker={"color": colours, "size": 9}, text=[str(verdict) for verdict in part["verdict"].values],
                    error_x={
                        "array": (part["high"] / size - middle).values,
                        "arrayminus": (middle - part["low"] / size).values,
                        "thickness": 1, "color": BLACK,
                    },
                    showlegend=False,
                ),
                row=1, col=column,
            )  # fmt: skip
            panels.add_vline(x=0.0, line={"width": 1}, row=1, col=column)
        panels.update_xaxes(title_text="ours - ns-2 [% of ns-2]")
        panels.update_yaxes(autorange="reversed")
        panels.update_layout(height=460, margin={"t": 60}, template="plotly_white")
        return panels

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """How many differences have an interval that holds zero, and in which cases others are."""
        level = float(result.attrs["level"])
        cases = [f"{case}: {counts(result.verdict.sel(case=case))}" for case in result["case"].values]
        return (
            f"Means of both simulators over seeds ({result.attrs['ns2']}): {counts(result.verdict)} by their "
            f"{level:.0%} intervals. {'; '.join(cases)}."
        )

    def record(self) -> dict[str, Any]:
        """Run ns-2 alone on all cases; what `ns2_recorded.json` is to hold."""
        runs = {}
        for case in self.cases:
            scenario = self.scenario(case)
            for seed, values in zip(self._seeds(), self._theirs(scenario, True), strict=True):
                runs[key(scenario, seed)] = [float(f"{value:.9g}") for value in values.values]
        return document(runs, tuple(QUANTITIES))

    def _seeds(self) -> list[int]:
        children = np.random.SeedSequence([self.seed, 2]).spawn(self.seeds)
        return [int(child.generate_state(1)[0]) for child in children]

    def _theirs(self, scenario: Scenario, live: bool) -> list[xr.DataArray]:
        if not live:
            return [recorded(scenario, seed, tuple(QUANTITIES)) for seed in self._seeds()]
        with ThreadPoolExecutor(self.workers) as pool:
            runs = pool.map(lambda seed: run_ns2(scenario, seed, self.timeout), self._seeds())
            return [quantities(run, scenario) for run in runs]

    def _case(self, scenario: Scenario, live: bool) -> xr.Dataset:
        runs = replicate(scenario, self.seeds)
        ours = [quantities(runs.isel(replication=i), scenario) for i in range(self.seeds)]
        return compare(ours, self._theirs(scenario, live), self.level)


def quantities(run: xr.Dataset, scenario: Scenario) -> xr.DataArray:
    """What is compared, of one run of either simulator, over `quantity`."""
    measured = scenario.duration - scenario.warm_up
    sent, goodput = run["sent"].values.astype(float), run["goodput"].values.astype(float)
    epochs = run["epochs"].values.sum(0).astype(float)
    values = [
        run["dropped"].values.sum() / sent.sum(),
        run["timeouts"].values.sum() / measured,
        goodput.sum() / measured,
        goodput.sum() ** 2 / (len(goodput) * (goodput**2).sum()),
        *(epochs[:4] / epochs.sum()),
        epochs[4:].sum() / epochs.sum(),
    ]
    return xr.DataArray(values, dims="quantity", coords={"quantity": list(QUANTITIES)})


def compare(ours: Sequence[xr.DataArray], theirs: Sequence[xr.DataArray], level: float) -> xr.Dataset:
    """Means, spreads and the interval of the difference over runs of two kinds.

    Examples
    --------
    >>> runs = [xr.DataArray([x], dims="quantity", coords={"quantity": ["loss rate"]}) for x in (1.0, 1.2, 1.1)]
    >>> compare(runs, runs, 0.99).verdict.values.tolist()
    ['agrees']
    """
    a, b = (xr.concat(list(runs), "replication") for runs in (ours, theirs))
    two = two_sample(a, b, level=level)
    return xr.Dataset(
        {
            "ours": a.mean("replication"),
            "theirs": b.mean("replication"),
            "ours_sd": a.std("replication", ddof=1),
            "theirs_sd": b.std("replication", ddof=1),
            "difference": two["difference"],
            "low": two["low"],
            "high": two["high"],
            "verdict": (two["low"].dims, grade(two["low"], two["high"])),
        }
    )


def table(result: xr.Dataset) -> list[dict[str, Any]]:
    """One row for each case and quantity, for a report."""
    columns = ("ours", "ours_sd", "theirs", "theirs_sd", "difference", "low", "high")
    rows = []
    for case in result["case"].values:
        for quantity in result["quantity"].values:
            row = result.sel(case=case, quantity=quantity)
            numbers = {name: float(row[name]) for name in columns}
            unit, verdict = str(row["quantity_unit"].values), str(row["verdict"].values)
            rows.append(
                {"case": str(case), "quantity": str(quantity), "unit": unit, **numbers, "verdict": verdict}
            )
    return rows


#: Chance of a table with so many intervals beside zero, below which chance is no explanation.
_CHANCE = 0.01


def conclusion(agree: int, intervals: int, level: float) -> str:
    """How many agree, and what that says: as many miss zero by chance, or more than chance explains.

    Examples
    --------
    >>> conclusion(35, 36, 0.99)
    '35 of 36 agree; one interval in a hundred misses zero although nothing differs'
    >>> conclusion(31, 36, 0.99)
    '31 of 36 agree; chance alone gives 5 or more that miss zero in one table of 34,349'
    """
    from scipy.stats import binom

    apart = intervals - agree
    chance = float(binom.sf(apart - 1, intervals, 1.0 - level))
    text = f"{agree} of {intervals} agree; "
    if chance >= _CHANCE:
        often = "one interval in a hundred" if level == 0.99 else f"a share {1.0 - level:.2g} of intervals"
        return f"{text}{often} misses zero although nothing differs"
    return f"{text}chance alone gives {apart} or more that miss zero in one table of {1.0 / chance:,.0f}"


NAME = "ns2_recorded.json"


def key(scenario: Scenario, seed: int) -> str:
    """Hash of the Tcl that ns-2 would run."""
    return hashlib.sha256(tcl(scenario, seed).encode()).hexdigest()[:16]


@lru_cache(maxsize=1)
def _stored() -> dict[str, list[float]]:
    text = (resources.files("tcpdynamics.validation.comparisons") / NAME).read_text(encoding="utf-8")
    runs: dict[str, list[float]] = json.loads(text)["runs"]
    return runs


def recorded(scenario: Scenario, seed: int, names: tuple[str, ...]) -> xr.DataArray:
    """The recorded quantities of one run.

    Raises
    ------
    NoRecordError
        If this run was not recorded.
    """
    values = _stored().get(key(scenario, seed))
    if values is None:
        raise NoRecordError(
            f"no record of ns-2 for {scenario.name} with seed {seed}; install the Debian package ns2 to run it"
        )
    return xr.DataArray(values, dims="quantity", coords={"quantity": list(names)})


def document(runs: dict[str, list[float]], names: tuple[str, ...]) -> dict[str, Any]:
    """What the file holds."""
    return {
        "simulator": "ns-2.35 (Debian package ns2)",
        "quantities": list(names),
        "runs": dict(sorted(runs.items())),
    }
