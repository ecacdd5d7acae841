"""Congestion controls and queues one by one: Linux beside the simulator, by the RFCs and by Linux's rules.

Each control has two flows on a drop-tail link (with marks, RED) and a single one on a link that loses at random; each
queue has four flows of Reno. Linux's later options are off.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics.charts.look import COLOURS, LEGEND_BELOW
from tcpdynamics.errors import NoRecordError
from tcpdynamics.progress import tracked

from ..linux import OLD, run_linux
from ..packet import Bottleneck, Flows, Scenario, simulate
from ..statistics import mean_interval, two_sample
from .comparison import Comparison, check_length, counts, grade
from .linux_record import kernel, key, stored
from .packets_vs_linux import BY_LINUX

if TYPE_CHECKING:
    import plotly.graph_objects as go

RECORD = "linux_controls_recorded.json"
QUANTITIES = {
    "use of the link": "1",
    "loss rate": "1",
    "queueing delay": "s",
    "Jain's index": "1",
    "timeouts": "1/s",
}
#: Of the simulator: what its flows are given.
OURS: dict[str, dict[str, Any]] = {
    "simulator, RFCs": {"rules": "rfc", "min_rto": 0.2, "max_rto": 120.0, "max_backoff": 65536},
    "simulator, Linux's rules": BY_LINUX,
}
#: Linux's control -> the simulator's; "": it has none.
CONTROLS = {
    "reno": "reno", "cubic": "cubic", "highspeed": "hstcp", "scalable": "scalable", "westwood": "westwood",
    "vegas": "vegas", "dctcp": "dctcp", "bbr": "", "veno": "", "htcp": "", "illinois": "",
}  # fmt: skip
#: RED that marks early, as DCTCP wants it, and as it was made for; both in packets.
_EARLY = {"min_threshold": 8, "max_threshold": 24, "p_max": 0.5, "weight": 0.125}
_RED = {"min_threshold": 10, "max_threshold": 40, "p_max": 0.1, "weight": 0.002}
#: Linux's queue -> the simulator's and its parameters; or words for `tc` of one that the simulator has not.
QUEUES: dict[str, dict[str, Any] | str] = {
    "drop-tail": {}, "RED": {"queue": "red", "queue_parameters": _RED},
    "SFQ": {"queue": "sfq", "queue_parameters": {"queues": 16}},
    "CoDel": {"queue": "codel"}, "FQ-CoDel": {"queue": "fq_codel"}, "PIE": {"queue": "pie"},
    "DualPI2": "dualpi2 limit 83 any_ect",
}  # fmt: skip
#: Queues of the simulator that have Linux's law beside their own.
AS_LINUX = ("red", "codel", "fq_codel", "pie")
#: Size of a packet [byte]; of what every flow has.
SIZE = 1500
_FLOW: dict[str, Any] = {"packet_size": SIZE, "window_limit": 1000, "initial_window": 2}


@dataclass(frozen=True)
class Cell:
    """One control or queue on one link.

    Attributes
    ----------
    kind : {"two flows", "random losses", "queue"}
    name : str          Of Linux's control or queue.
    control : str       Linux's.
    ours : str or None  The simulator's control; None: it has no such control or queue.
    words : str         For `tc`, where the simulator has no such queue.
    """

    kind: str
    name: str
    control: str = "reno"
    ours: str | None = "reno"
    words: str = ""

    @property
    def label(self) -> str:
        return f"{self.name}, {self.kind}" if self.kind != "queue" else self.name

    def scenario(self, duration: float, warm_up: float, **sender: Any) -> Scenario:
        """What is run; the simulator's flows are given more, and by Linux's rules its queue is Linux's, too."""
        ecn = self.name == "dctcp"
        rules = {"linux": 1} if sender.get("rules") == "linux" else {}
        flow = _FLOW | {"control": self.ours or "reno", "ecn": ecn, "jitter": 0.0} | sender
        if self.kind == "random losses":
            flows, link = Flows(1, rtt=0.05, start_spread=1.0, **flow), Bottleneck(4e7, 1000, loss=1e-3)
        elif self.kind == "two flows":
            queue: dict[str, Any] = {"queue": "red", "queue_parameters": _EARLY | rules} if ecn else {}
            flows, link = Flows(2, rtt=(0.05, 0.0525), **flow), Bottleneck(1e7, 42, **queue)
        else:
            known = QUEUES[self.name]
            flows = Flows(4, rtt=(0.045, 0.055), **flow)
            queue = {} if isinstance(known, str) else dict(known)
            if queue.get("queue") in AS_LINUX:
                queue["queue_parameters"] = queue.get("queue_parameters", {}) | rules
            link = Bottleneck(1e7, 84, **queue)
        return Scenario((flows,), link, duration, warm_up, self.label, epoch=1.0)


def cells() -> list[Cell]:
    """All of them.

    Examples
    --------
    >>> len(cells()), cells()[0].label
    (28, 'reno, two flows')
    """
    of_controls = [
        Cell(kind, name, name, ours or None)
        for kind in ("two flows", "random losses")
        for name, ours in CONTROLS.items()
        if kind == "two flows" or name != "dctcp"  # without marks it is Reno
    ]
    of_queues = [
        Cell(
            "queue",
            name,
            ours=None if isinstance(how, str) else "reno",
            words=how if isinstance(how, str) else "",
        )
        for name, how in QUEUES.items()
    ]
    return of_controls + of_queues


@dataclass(frozen=True)
class LinuxControls(Comparison):
    """Each control and each queue in Linux and in the simulator.

    Parameters
    ----------
    seeds : int                 Runs of each, at least two.
    duration, warm_up : float   [s]
    seed : int
    workers : int               Guests of Linux at a time.
    timeout : float             Longest wall time of one of them [s].

    Examples
    --------
    >>> LinuxControls(seeds=2).seeds
    2
    """

    effect: ClassVar[tuple[str, str, str]] = ("difference", "low", "high")
    rule: ClassVar[str] = "agrees: the interval of the difference holds zero; differs: it misses zero"

    seeds: int = 10
    duration: float = 60.0
    warm_up: float = 15.0
    seed: int = 1
    workers: int = 2
    timeout: float = 600.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_length("seeds", range(self.seeds))

    def run(self, live: bool = False) -> xr.Dataset:
        """Run the simulator; run Linux, or take what it gave.

        Parameters
        ----------
        live : bool
            Run Linux now; else take what it gave where it was last run.

        Returns
        -------
        xarray.Dataset
            Over `cell`, `sender`, `quantity` (`QUANTITIES`): `mean` with its 95 % interval `mean_low`, `mean_high`.
            Over `cell`, `ours`, `quantity`: `difference`, Linux less ours, `low`, `high`, `verdict`. NaN and "no
            answer" where the simulator has no such control or queue.

        Raises
        ------
        LinuxError
            If the kernel is not built, fails or takes too long.
        NoRecordError
            If it is not to be run and there is no record of just these runs.
        """
        theirs = self._linux(live)
        parts = []
        for one in tracked(cells()):
            linux = theirs[one.label]
            ours = {name: self._ours(one, how) for name, how in OURS.items()}
            means = mean_interval(xr.concat([linux, *ours.values()], xr.Variable("sender", ["Linux", *OURS])))
            two = xr.concat(
                [two_sample(linux, runs) for runs in ours.values()], xr.Variable("ours", list(OURS))
            )
            parts.append(xr.Dataset({
                "mean": means["mean"], "mean_low": means["low"], "mean_high": means["high"],
                "difference": two["difference"], "low": two["low"], "high": two["high"],
                "verdict": (two["low"].dims, grade(two["low"], two["high"])),
            }))  # fmt: skip
        result = xr.concat(parts, xr.Variable("cell", [one.label for one in cells()]))
        result = result.assign_coords(
            quantity_unit=("quantity", list(QUANTITIES.values())),
            kind=("cell", [one.kind for one in cells()]),
        )
        said = "run for this comparison" if live else f"as recorded with {kernel(RECORD)}"
        same, of = stored(RECORD)["repeated"]
        return result.assign_attrs(self.attributes() | {"linux": said, "repeated": f"{same} of {of}"})

    def _seeds(self) -> list[int]:
        children = np.random.SeedSequence([self.seed, 18]).spawn(self.seeds)
        return [int(child.generate_state(1)[0]) for child in children]

    def _ours(self, cell: Cell, how: dict[str, Any]) -> xr.DataArray:
        if cell.ours is None:
            return _of_runs(np.full((self.seeds, len(QUANTITIES)), np.nan))
        scenario = cell.scenario(self.duration, self.warm_up, **how)
        return _of_runs([quantities(simulate(scenario, seed), scenario) for seed in self._seeds()])

    def _key(self, cell: Cell, seed: int) -> str:
        return key(cell.scenario(self.duration, self.warm_up), OLD, (cell.control, cell.words), seed)

    def _linux(self, live: bool) -> dict[str, xr.DataArray]:
        """Quantities of Linux's runs of each cell."""
        if live:
            with ThreadPoolExecutor(self.workers) as pool:
                jobs = [
                    (one.label, [pool.submit(self._live, one, s) for s in self._seeds()]) for one in cells()
                ]
                return {
                    label: _of_runs([job.result()[0] for job in of_cell]) for label, of_cell in tracked(jobs)
                }
        runs = stored(RECORD)["runs"]
        found = {}
        for one in cells():
            values = [runs.get(self._key(one, seed)) for seed in self._seeds()]
            if None in values:
                raise NoRecordError(
                    f"no record of Linux for {one.label} with these settings; "
                    "`python -m tcpdynamics.validation.linux build` makes what runs it, --live runs it"
                )
            found[one.label] = _of_runs(values)
        return found

    def _live(self, cell: Cell, seed: int) -> tuple[list[float], str, dict[str, str]]:
        """Quantities of a run of Linux, a digest of all that it gave, and what is told of the kernel."""
        scenario = cell.scenario(self.duration, self.warm_up)
        queues = {"bottleneck": cell.words} if cell.words else None
        run = run_linux(scenario, seed, self.timeout, OLD, (cell.control,), queues)
        digest = hashlib.sha256(
            b"".join(run[name].values.tobytes() for name in sorted(map(str, run.data_vars)))
        ).hexdigest()
        told = {"kernel": run.attrs["simulator"], "options": run.attrs["kernel"]}
        return [float(f"{x:.9g}") for x in quantities(run, scenario)], digest, told

    def record(self) -> dict[str, Any]:
        """Run Linux alone; what `linux_controls_recorded.json` is to hold. The first run of each cell is run twice."""
        runs: dict[str, list[float]] = {}
        same, told = [], {}
        with ThreadPoolExecutor(self.workers) as pool:
            jobs = [
                (one, [(s, pool.submit(self._live, one, s)) for s in (self._seeds()[0], *self._seeds())])
                for one in cells()
            ]
            for one, of_cell in tracked(jobs):
                results = [(seed, job.result()) for seed, job in of_cell]
                same.append(results[0][1][1] == results[1][1][1])
                runs |= {self._key(one, seed): values for seed, (values, _, _) in results}
                told = results[0][1][2]
        return told | {"repeated": [sum(same), len(same)], "runs": dict(sorted(runs.items()))}

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """Differences from Linux in loss, use of the link and queueing delay, cell by cell, with intervals."""
        from plotly.subplots import make_subplots

        shown = ("use of the link", "loss rate", "queueing delay")
        picture = make_subplots(1, len(shown), shared_yaxes=True, horizontal_spacing=0.03)
        labels = [str(x) for x in result.cell.values][::-1]
        for column, name in enumerate(shown, 1):
            for place, sender in enumerate(map(str, result.sender.values)):
                one = result.sel(quantity=name, sender=sender).isel(cell=slice(None, None, -1))
                scale = 1e3 if name == "queueing delay" else 1.0
                picture.add_scatter(
                    x=scale * one["mean"].values, y=labels, mode="markers", name=sender, legendgroup=sender,
                    showlegend=column == 1, marker={"color": COLOURS[place], "size": 7, "symbol": place},
                    error_x={"array": scale * (one.mean_high - one["mean"]).values}, row=1, col=column,
                )  # fmt: skip
            unit = " [ms]" if name == "queueing delay" else " [1]"
            axis = {"title_text": name + unit} | ({"type": "log"} if name == "loss rate" else {})
            picture.update_xaxes(**axis, row=1, col=column)
        picture.update_layout(height=900, template="plotly_white", legend=LEGEND_BELOW, margin={"t": 30})
        return picture

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """What the comparison says, in words made from its numbers."""
        parts = []
        for name in map(str, result.cell.values):
            one = result.sel(cell=name)
            linux = _in_words(one.sel(sender="Linux"))
            if not np.isfinite(one.difference).any():
                parts.append(f"{name}: Linux alone, {linux}")
                continue
            ours = "; ".join(
                f"{sender} {_in_words(one.sel(sender=sender))}, {counts(one.verdict.sel(ours=sender))}"
                for sender in OURS
            )
            parts.append(f"{name}: Linux {linux}; {ours}")
        return (
            f"Linux {result.attrs['linux']}. Use of the link, loss, queueing delay.\n\n"
            + "\n\n".join(f"{part}." for part in parts)
            + f"\n\nRuns of Linux that gave the same bytes when they were run again: {result.attrs['repeated']}."
        )


def quantities(run: xr.Dataset, scenario: Scenario) -> list[float]:
    """What is compared, of one run of either.

    The queueing delay is that before a packet begins to be sent, of those that are: in Linux what packets take beyond
    the link without a queue, in the simulator what round trips do.
    """
    assert scenario.bottleneck is not None
    (group,) = scenario.flows
    measured = scenario.duration - scenario.warm_up
    goodput = run["goodput"].values.astype(float)
    rate = scenario.bottleneck.rate
    rtt = np.linspace(*group.rtts(), group.count)
    taken = run["transit_time"] - rtt / 2 if "transit_time" in run else run["mean_rtt"] - rtt
    delay = float(np.average(taken.values - 8 * group.packet_size / rate, weights=goodput))
    return [
        float(run["goodput_rate"].values.sum() / rate),
        float(run["dropped"].values.sum() / run["sent"].values.sum()),
        delay,
        float(goodput.sum() ** 2 / (goodput.size * (goodput**2).sum())),
        float(run["timeouts"].values.sum() / measured),
    ]


def _in_words(one: xr.Dataset) -> str:
    use, loss, delay = (one["mean"].sel(quantity=name).item() for name in list(QUANTITIES)[:3])
    return f"{use:.3f}, {loss:.4f}, {1e3 * delay:.1f} ms"


def _of_runs(runs: Sequence[Any] | np.ndarray) -> xr.DataArray:
    return xr.DataArray(np.array(runs, float), {"quantity": list(QUANTITIES)}, ("replication", "quantity"))
