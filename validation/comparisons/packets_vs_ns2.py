"""The packet simulator beside ns-2.35 where a run is random: means over seeds, differences with intervals.

One flow is compared send by send in the tests; there ns-2's and our times are equal. With many flows the random
choices are drawn differently, so only distributions can agree. Nine quantities of each case are compared. At
level 0.99 one interval in a hundred misses zero although nothing differs, so of 36 about one run in three has one
such.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import xarray as xr

from tcpdynamics.charts.look import BLACK, VERDICT_COLOURS
from tcpdynamics.jain import measured_jain
from tcpdynamics.limits import check_work
from tcpdynamics.solvers.problems import DomainError

from ..ns2 import installed
from ..packet import Bottleneck, Flows, Scenario, replicate
from ..packet.scenario import topologies
from .comparison import counts
from .engines import NS2, PACKETS, Cell
from .study import Study, difference

if TYPE_CHECKING:
    import plotly.graph_objects as go

CASES = ("dumbbell_spread", "dumbbell_overhead", "wide", "star")
#: Cases in which exact ties decide; see `PacketsVsNs2`.
TIED = ("dumbbell_overhead_tied", "wide_tied")
#: What is compared, with its unit. An epoch has a fixed length in each case.
QUANTITIES = {
    "loss rate": "1", "timeouts": "1/s", "goodput": "packets/s", "Jain's index": "1", "P(0 sent)": "1",
    "P(1 sent)": "1", "P(2 sent)": "1", "P(3 sent)": "1", "P(4+ sent)": "1",
}  # fmt: skip


@dataclass(frozen=True)
class PacketsVsNs2(Study):
    """Both packet simulators on the same scenarios.

    Parameters
    ----------
    cases : sequence of str
        Of `CASES`. ``dumbbell_spread``: 100 SACK flows with RTTs of 190 to 210 ms share 1 Mbit/s; 500-byte
        packets, 50-packet buffer. ``dumbbell_overhead``: the same with equal RTTs and a random delay of up to one
        packet's transmission time before each send, which breaks phase effects. ``wide``: 32 NewReno flows with RTTs
        of 20 to 160 ms share 155 Mbit/s. ``star``: short Reno transfers between the three hosts of Tamura,
        Takayasu and Takayasu's LEAP network, with delayed acknowledgements that wait and are lost too.
        ``dumbbell_overhead_tied``: RTTs of 200 ms, fifty times a packet's transmission time, so that a segment that
        an acknowledgement releases at once arrives just as another leaves the queue; the other case has 201.7 ms.
        ``wide_tied``: RTTs from 20 to 160 ms in equal steps, multiples of half a transmission time; the other case has
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

    salt: ClassVar[int] = 2
    record_name: ClassVar[str] = "ns2_recorded.json"
    quantities: ClassVar[Mapping[str, str]] = QUANTITIES

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

    def check_request(self) -> None:
        check_work(
            f"{self.seeds} replications of {len(self.cases)} cases",
            self.seeds * sum(self.scenario(case).work for case in self.cases),
            "give fewer cases or seeds, or shorten them",
        )

    def run(self, live: bool | None = None) -> xr.Dataset:
        """As of any study; by default ns-2 is run if it is installed."""
        return super().run(installed() if live is None else live)

    def cells(self) -> dict[tuple[str, str], Cell]:
        """(Case, "ours" or "theirs") -> what is run."""
        sides = {"ours": PACKETS, "theirs": NS2}
        return {(case, side): Cell(self.scenario(case), sides[side]) for case in self.cases for side in sides}

    def simulated(self, label: tuple[str, str], cell: Cell) -> list[list[float]]:
        runs = replicate(cell.scenario, self.seeds)
        return [self.measure(runs.isel(replication=i), label, cell) for i in range(self.seeds)]

    def measure(self, run: xr.Dataset, label: tuple[str, str], cell: Cell) -> list[float]:
        return quantities(run, cell.scenario)

    def compare(self, runs: Mapping[tuple[str, str], xr.DataArray]) -> xr.Dataset:
        """Ours less ns-2's.

        Returns
        -------
        xarray.Dataset over `case`, `quantity`
            `ours`, `theirs`: means over seeds; `ours_sd`, `theirs_sd`: of one run; `difference` = ours - theirs
            with Welch's interval from `low` to `high`; `verdict`: "agrees" where it contains zero, else
            "differs". Units are those of `quantity_unit`.
        """
        parts = [compare(runs[case, "ours"], runs[case, "theirs"], self.level) for case in self.cases]
        return xr.concat(parts, xr.Variable("case", list(self.cases))).assign_coords(self.unit_coordinate)

    def attributes(self) -> dict[str, Any]:
        return super().attributes() | {"level": self.level}

    def provenance(self, live: bool) -> dict[str, str]:
        return {"ns2": "run for this comparison" if live else "as recorded with ns-2.35"}

    def record(self) -> dict[str, Any]:
        """Run ns-2 alone on all cases; what `ns2_recorded.json` is to hold."""
        document = super().record()
        return {"simulator": document["simulator"], "quantities": list(QUANTITIES), "runs": document["runs"]}

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """Differences in per cent of ns-2's mean, with their intervals; right if they cross zero."""
        from tcpdynamics.charts.drawing import go, make_subplots

        cases = [str(case) for case in result["case"].values]
        panels = make_subplots(1, len(cases), subplot_titles=[c.replace("_", " ") for c in cases], shared_yaxes=True)
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


def quantities(run: xr.Dataset, scenario: Scenario) -> list[float]:
    """What is compared, of one run of either simulator, in the order of `QUANTITIES`."""
    measured = scenario.duration - scenario.warm_up
    sent, goodput = run["sent"].values.astype(float), run["goodput"].values.astype(float)
    epochs = run["epochs"].values.sum(0).astype(float)
    return [
        run["dropped"].values.sum() / sent.sum(), run["timeouts"].values.sum() / measured, goodput.sum() / measured,
        float(measured_jain(goodput)), *(epochs[:4] / epochs.sum()), epochs[4:].sum() / epochs.sum(),
    ]  # fmt: skip


def compare(ours: xr.DataArray, theirs: xr.DataArray, level: float) -> xr.Dataset:
    """Means, spreads and the interval of the difference over runs of two kinds.

    Examples
    --------
    >>> runs = xr.DataArray([[1.0], [1.2], [1.1]], {"quantity": ["loss rate"]}, ("replication", "quantity"))
    >>> compare(runs, runs, 0.99).verdict.values.tolist()
    ['agrees']
    """
    sides = {"ours": ours, "theirs": theirs}
    spreads = {f"{name}_sd": side.std("replication", ddof=1) for name, side in sides.items()}
    result = xr.Dataset({name: side.mean("replication") for name, side in sides.items()}).assign(spreads)
    return result.merge(difference(ours, theirs, level))


def table(result: xr.Dataset) -> list[dict[str, Any]]:
    """One row for each case and quantity, for a report."""
    columns = ("ours", "ours_sd", "theirs", "theirs_sd", "difference", "low", "high")
    rows = []
    for case in result["case"].values:
        for quantity in result["quantity"].values:
            row = result.sel(case=case, quantity=quantity)
            numbers = {name: float(row[name]) for name in columns}
            unit, verdict = str(row["quantity_unit"].values), str(row["verdict"].values)
            rows.append({"case": str(case), "quantity": str(quantity), "unit": unit, **numbers, "verdict": verdict})
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
