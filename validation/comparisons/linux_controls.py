"""Congestion controls and queues one by one: Linux compared with the simulator, by the RFCs and by Linux's rules.

Each control has two flows on a drop-tail link (with marks, RED) and a single one on a link that loses at random; each
queue has four flows of Reno. Linux's later options are off.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics.charts.look import COLOURS, LEGEND_BELOW
from tcpdynamics.jain import measured_jain

from ..packet import Bottleneck, Flows, Scenario
from .comparison import check_length, counts
from .engines import LINUX, PACKETS, Cell, stored
from .packets_vs_linux import BY_LINUX
from .study import Study, difference, means

if TYPE_CHECKING:
    import plotly.graph_objects as go

RECORD = "linux_controls_recorded.json"
QUANTITIES = {"use of the link": "1", "loss rate": "1", "queueing delay": "s", "Jain's index": "1", "timeouts": "1/s"}
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
class Case:
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


def cases() -> list[Case]:
    """All of them.

    Examples
    --------
    >>> len(cases()), cases()[0].label
    (28, 'reno, two flows')
    """
    of_controls = [
        Case(kind, name, name, ours or None)
        for kind in ("two flows", "random losses")
        for name, ours in CONTROLS.items()
        if kind == "two flows" or name != "dctcp"  # without marks it is Reno
    ]
    of_queues = [
        Case("queue", name, ours=None if isinstance(how, str) else "reno", words=how if isinstance(how, str) else "")
        for name, how in QUEUES.items()
    ]
    return of_controls + of_queues


@dataclass(frozen=True)
class LinuxControls(Study):
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

    command: ClassVar[str] = "linux-controls"
    salt: ClassVar[int] = 18
    record_name: ClassVar[str] = RECORD
    quantities: ClassVar[Mapping[str, str]] = QUANTITIES

    seeds: int = 10
    duration: float = 60.0
    warm_up: float = 15.0
    seed: int = 1
    workers: int = 2
    timeout: float = 600.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_length("seeds", range(self.seeds))

    def cells(self) -> dict[tuple[str, str], Cell]:
        """(Label of a case, sender) -> what is run; without what the simulator has not."""
        cells = {}
        for case in cases():
            cells[case.label, "Linux"] = Cell(
                case.scenario(self.duration, self.warm_up), LINUX, controls=(case.control,), discipline=case.words,
                key_words=(case.control, case.words),
            )  # fmt: skip
        for case in cases():
            if case.ours is not None:
                for name, sender in OURS.items():
                    cells[case.label, name] = Cell(case.scenario(self.duration, self.warm_up, **sender), PACKETS)
        return cells

    def measure(self, run: xr.Dataset, label: tuple[str, str], cell: Cell) -> list[float]:
        values = quantities(run, cell.scenario)
        return self.packed(values) if cell.engine is LINUX else values

    def compare(self, runs: Mapping[tuple[str, str], xr.DataArray]) -> xr.Dataset:
        """Each control and queue in Linux less that in the simulator.

        Returns
        -------
        xarray.Dataset
            Over `cell`, `sender`, `quantity` (`QUANTITIES`): `mean` with its 95 % interval `mean_low`, `mean_high`.
            Over `cell`, `ours`, `quantity`: `difference`, Linux less ours, `low`, `high`, `verdict`. NaN and "no
            answer" where the simulator has no such control or queue.
        """
        senders = ("Linux", *OURS)
        parts = []
        for case in cases():
            of_case = {name: runs.get((case.label, name), self.absent()) for name in senders}
            ours = [difference(of_case["Linux"], of_case[name]) for name in OURS]
            parts.append(
                means(xr.concat(list(of_case.values()), xr.Variable("sender", list(senders))), QUANTITIES).merge(
                    xr.concat(ours, xr.Variable("ours", list(OURS)))
                )
            )
        result = xr.concat(parts, xr.Variable("cell", [case.label for case in cases()]))
        result = result.assign_coords(self.unit_coordinate | {"kind": ("cell", [case.kind for case in cases()])})
        same, of = stored(RECORD)["repeated"]
        return result.assign_attrs(repeated=f"{same} of {of}")

    def record(self) -> dict[str, Any]:
        """Run Linux alone, and the first seed of each case twice more; what the file `record_name` is to hold."""
        document, seed = super().record(), self.roots()[0]

        def repeats(cell: Cell) -> bool:
            first, second = (cell.engine.run(cell, seed, self.timeout) for _ in range(2))
            return all(first[name].values.tobytes() == second[name].values.tobytes() for name in first.data_vars)

        with ThreadPoolExecutor(self.workers) as pool:
            same = list(pool.map(repeats, [cell for cell in self.cells().values() if cell.engine is LINUX]))
        runs = document.pop("runs")
        return document | {"repeated": [sum(same), len(same)], "runs": runs}

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """Differences from Linux in loss, use of the link and queueing delay, cell by cell, with intervals."""
        from tcpdynamics.charts.drawing import make_subplots

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
            more = {"loss rate": {"type": "log"}, "use of the link": {"tickformat": "~%"}}.get(name, {})
            axis = {"title_text": f"{name} [ms]" if name == "queueing delay" else name} | more
            picture.update_xaxes(**axis, row=1, col=column)
        picture.update_layout(height=900, template="plotly_white", legend=LEGEND_BELOW, margin={"t": 30})
        return picture

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """The result in words, made from its numbers."""
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
        float(run["goodput_rate"].values.sum() / rate), float(run["dropped"].values.sum() / run["sent"].values.sum()),
        delay, float(measured_jain(goodput)), float(run["timeouts"].values.sum() / measured),
    ]  # fmt: skip


def _in_words(one: xr.Dataset) -> str:
    use, loss, delay = (one["mean"].sel(quantity=name).item() for name in list(QUANTITIES)[:3])
    return f"{use:.3f}, {loss:.4f}, {1e3 * delay:.1f} ms"
