"""The packet simulator and the chains beside Linux's TCP where a flow's share is below a packet per round trip.

Each quantity is a mean over seeds with its interval. Of Linux and our senders by Linux's rules the difference is given,
which should be none; and that of Linux with the switches off and our sender by the RFCs, which are not the same sender
(Linux finds losses by time, and adds its least timeout to the round trip), so that "differs" is a measured size there
and no fault. What else Linux does is turned on one at a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics.charts.comparisons import error_bars
from tcpdynamics.charts.look import COLOURS, LEGEND_BELOW
from tcpdynamics.errors import DomainError
from tcpdynamics.jain import mean_jain
from tcpdynamics.limits import check_work

from ..linux import OLD, TODAY, LinuxSwitches
from ..packet import Bottleneck, Flows, Record, Scenario
from .comparison import Verdict, check_length, counts, interval_text
from .crowded_laws import chain_of_sender, printed_law
from .crowded_links import hangs, twenty_seconds
from .engines import LINUX, PACKETS, Cell
from .study import Study, difference, means

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Of Linux: the switches and the control of each of the senders that are compared.
LINUX_SENDERS: dict[str, tuple[LinuxSwitches, str]] = {
    "Linux, switches off": (OLD, "reno"), "Linux as it comes, Reno": (TODAY, "reno"),
    "Linux as it comes, CUBIC": (TODAY, "cubic"), "Linux as it comes, BBR": (TODAY, "bbr"),
}  # fmt: skip
#: Senders by Linux's rules, their clock as a guest's; and with what Linux has on as it comes.
BY_LINUX: dict[str, Any] = {"rules": "linux", "clock_phase": 1.008}
AS_IT_COMES = BY_LINUX | {"timestamps": True, "loss_probes": True, "frto": True}
#: Of the simulator: what its flows are given beside the link.
SIMULATED: dict[str, dict[str, Any]] = {
    "simulator, Linux's rules, switches off": BY_LINUX | {"initial_window": 2},
    "simulator, Linux's rules": AS_IT_COMES,
    "simulator, Linux's rules, CUBIC": AS_IT_COMES | {"control": "cubic"},
    "simulator, RFCs": {"rules": "rfc", "min_rto": 0.2, "max_rto": 120.0, "max_backoff": 65536},
    "simulator, RFCs, timeouts of 0.6 s": {"rules": "rfc", "min_rto": 0.6, "max_rto": 120.0, "max_backoff": 65536},
    "simulator, ns-2": {},
}
#: Of Linux, which sender of ours it is set against: the same rules three times, and the RFCs.
PAIRS = {
    "simulator, Linux's rules, switches off": "Linux, switches off",
    "simulator, Linux's rules": "Linux as it comes, Reno",
    "simulator, Linux's rules, CUBIC": "Linux as it comes, CUBIC",
    "simulator, RFCs": "Linux, switches off",
}
#: Of senders, in a table.
SHORT = {
    "Linux as it comes, Reno": "Reno", "Linux as it comes, CUBIC": "CUBIC", "Linux as it comes, BBR": "BBR",
    "simulator, Linux's rules, switches off": "Linux's: off", "simulator, Linux's rules": "Linux's: Reno",
    "simulator, Linux's rules, CUBIC": "Linux's: CUBIC", "simulator, RFCs, timeouts of 0.6 s": "RFCs, 0.6 s",
}  # fmt: skip
#: What is turned on alone, from the switches off.
SWITCHES: dict[str, dict[str, Any]] = {
    "tail loss probes": {"tlp": True}, "F-RTO": {"frto": True}, "time stamps": {"timestamps": True},
    "DSACK": {"dsack": True}, "compressed acknowledgements": {"sack_compression": True},
    "first window of 10": {"initial_window": 10}, "slow start after idle": {"slow_start_after_idle": True},
    "delayed acknowledgements": {"delayed_ack": True}, "pacing": {"pacing": True},
    "least timeout of 1 s": {"min_rto": 1.0},
}  # fmt: skip
#: What is compared, with its unit.
QUANTITIES = {
    "loss rate": "1", "silent round trips": "1", "one packet sent": "1", "two sent": "1", "three sent": "1",
    "four or more sent": "1", "Jain's index, 20 s": "1", "locked out for 20 s": "1", "longest hang, median": "s",
    "longest hang, 90 %": "s", "timeouts": "1/s", "use of the link": "1",
}  # fmt: skip
#: A round trip with a full queue [s]: what packets are counted in.
EPOCH = 0.4


@dataclass(frozen=True)
class PacketsVsLinux(Study):
    """Long flows on a congested drop-tail link: 1 Mbit/s, 0.2 s and 5 % to either side, 50 packets of 500 bytes.

    Parameters
    ----------
    flows : sequence of int       Numbers of flows.
    switches_at : int             Flows with which single switches are turned on; one of `flows`.
    seeds : int                   Runs of each, at least two.
    duration, warm_up : float     [s]
    level : float                 Of the intervals [1].
    seed : int
    workers : int                 Guests of Linux at a time.
    timeout : float               Longest wall time of one of them [s].

    Examples
    --------
    >>> PacketsVsLinux().scenario(100, {}).count
    100
    """

    quick: ClassVar[dict[str, Any]] = {"seeds": 5}
    salt: ClassVar[int] = 15
    quantities: ClassVar[Mapping[str, str]] = QUANTITIES
    comparing: ClassVar[float] = 80.0

    flows: Sequence[int] = (40, 100, 200)
    switches_at: int = 100
    seeds: int = 20
    duration: float = 220.0
    warm_up: float = 20.0
    level: float = 0.95
    seed: int = 1
    workers: int = 2
    timeout: float = 600.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_length("flows", self.flows)
        if self.switches_at not in self.flows:
            raise DomainError(f"switches_at must be one of {list(self.flows)}, got {self.switches_at}")

    def scenario(self, flows: int, sender: dict[str, Any]) -> Scenario:
        """The link with so many flows."""
        group = Flows(flows, rtt=(0.19, 0.21), packet_size=500, jitter=0.0, **sender)
        return Scenario(
            (group,), Bottleneck(1e6, 50), self.duration, self.warm_up, f"{flows} flows", self.seed,
            epoch=EPOCH, slice=5.0, record=Record(sends=True), clock="grid",
        )  # fmt: skip

    def check_request(self) -> None:
        check_work(
            f"{self.seeds} replications of {len(LINUX_SENDERS) + len(SIMULATED)} senders",
            self.seeds * sum(self.scenario(n, {}).work for n in self.flows) * (len(LINUX_SENDERS) + len(SIMULATED)),
            "give fewer seeds or flows, or shorten them",
        )

    def cells(self) -> dict[tuple[str, int], Cell]:
        """(Sender or switch, flows) -> what is run."""
        linux = {(name, n): how for name, how in LINUX_SENDERS.items() for n in self.flows}
        linux |= {(name, self.switches_at): (replace(OLD, **turned), "reno") for name, turned in SWITCHES.items()}
        cells = {
            (name, n): Cell(self.scenario(n, {}), LINUX, switches, (control,))
            for (name, n), (switches, control) in linux.items()
        }
        ours = {(name, n): self.scenario(n, sender) for name, sender in SIMULATED.items() for n in self.flows}
        return cells | {label: Cell(scenario, PACKETS) for label, scenario in ours.items()}

    def measure(self, run: xr.Dataset, label: tuple[str, int], cell: Cell) -> list[float]:
        return quantities(run, cell.scenario)

    def compare(self, runs: Mapping[tuple[str, int], xr.DataArray]) -> xr.Dataset:
        """Linux less our senders, what switches change, and the chains.

        Returns
        -------
        xarray.Dataset
            Over `sender`, `flows`, `quantity`: `mean` with its interval `mean_low`, `mean_high`. Over `pair`,
            `flows`, `quantity`: `difference`, Linux less the sender of ours that `pair` names (`PAIRS`), with its
            interval `low`, `high` and its `verdict`. Over `switch`, `quantity`: `effect`, what a switch changes, with
            `effect_low`, `effect_high` and `effect_verdict`. Over `sender` and `flows`: `printed`, `compiled`, the
            fraction of silent round trips by the printed chain and by that of the simulator's sender at the measured
            loss.
        """
        numbers = xr.Variable("flows", list(self.flows))
        senders = {
            name: xr.concat([runs[name, n] for n in self.flows], numbers) for name in (*LINUX_SENDERS, *SIMULATED)
        }
        both = xr.concat(list(senders.values()), xr.Variable("sender", list(senders)))
        result = means(both, QUANTITIES, self.level)
        pairs = [difference(senders[linux], senders[ours], self.level) for ours, linux in PAIRS.items()]
        base = runs[next(iter(LINUX_SENDERS)), self.switches_at]
        turned = [difference(runs[name, self.switches_at], base, self.level) for name in SWITCHES]
        effects = xr.concat(turned, xr.Variable("switch", list(SWITCHES)))
        result = result.merge(xr.concat(pairs, xr.Variable("pair", list(PAIRS)))).merge(
            effects.rename(difference="effect", low="effect_low", high="effect_high", verdict="effect_verdict")
        )
        silent = self._silent(result["mean"].sel(quantity="loss rate", drop=True))
        return result.assign(silent).assign_coords(self.unit_coordinate).assign_attrs(level=self.level)

    def _silent(self, losses: xr.DataArray) -> dict[str, xr.DataArray]:
        """Share of silent round trips by the printed chain and by that of the simulator's sender."""
        chain = chain_of_sender()
        functions: dict[str, Callable[[np.ndarray], Any]] = {
            "printed": lambda loss: printed_law(loss)[:, 0],
            "compiled": lambda loss: [chain.at(p)[0] for p in loss.tolist()],
        }
        return {
            name: losses.copy(data=np.reshape(function(losses.values.ravel()), losses.shape)).assign_attrs(units="1")
            for name, function in functions.items()
        }

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """Loss and silence of each sender against the number of flows, with intervals."""
        from tcpdynamics.charts.drawing import go, make_subplots

        shown = ("loss rate", "silent round trips", "Jain's index, 20 s", "locked out for 20 s")
        panels = make_subplots(1, len(shown), subplot_titles=shown, horizontal_spacing=0.05)
        for name, (colour, dash) in _looks(map(str, result.sender.values)).items():
            for column, quantity in enumerate(shown, 1):
                part = result.sel(sender=name, quantity=quantity)
                panels.add_trace(
                    go.Scatter(
                        x=part.flows.values, y=part["mean"].values, name=name, mode="lines+markers",
                        showlegend=column == 1, legendgroup=name,
                        line={"color": colour, "dash": dash},
                        error_y=error_bars(part, "mean"),
                    ),
                    row=1, col=column,
                )  # fmt: skip
        panels.update_xaxes(title_text="flows on 1 Mbit/s")
        panels.update_yaxes(rangemode="tozero")
        for column in (1, 2, 4):
            panels.update_yaxes(tickformat="~%", col=column)
        panels.update_layout(height=460, template="plotly_white", legend=LEGEND_BELOW | {"y": -0.25}, margin={"t": 50})
        return panels

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """The result in words, made from its numbers."""
        at = int(json.loads(result.attrs["parameters"])["switches_at"])
        parts = []
        for name in map(str, result.sender.values):
            one = result.sel(sender=name, flows=at)
            loss, silent = (interval_text(one.sel(quantity=q), form=".4f") for q in ("loss rate", "silent round trips"))
            parts.append(
                f"{name}: loss {loss}, silent {silent} (printed chain at that loss {float(one.printed):.3f}, the "
                f"simulator's sender's {float(one.compiled):.3f})."
            )
        moved = result.sel(quantity="loss rate")
        switches = [
            f"{name} {interval_text(moved.sel(switch=name), 'effect', '+.4f')}"
            for name in map(str, result.switch.values)
        ]
        return (
            f"Linux {result.attrs['linux']}. {at} flows, means with {float(result.attrs['level']):.0%} intervals.\n\n"
            + "\n\n".join(parts)
            + f"\n\nEach switch of Linux alone, change of the loss rate: {'; '.join(switches)}.\n\n"
            + "\n\n".join(
                f"{PAIRS[name]} less {name}: {counts(result.verdict.sel(pair=name))}{_which(result, name)}."
                for name in PAIRS
            )
        )


def _which(result: xr.Dataset, pair: str) -> str:
    """The quantities that differ, where they are few."""
    verdicts = result.verdict.sel(pair=pair)
    found = [
        f"{quantity} of {flows} flows"
        for flows in verdicts.flows.values
        for quantity in verdicts["quantity"].values
        if verdicts.sel(flows=flows, quantity=quantity) == Verdict.DIFFERS.value
    ]
    return f" ({'; '.join(found)})" if 0 < len(found) <= 6 else ""


def table(result: xr.Dataset, flows: int) -> list[str]:
    """Lines of text: a row a quantity, a column a sender; Linux, then the simulator, whose differences have a star."""
    part = result.sel(flows=flows)
    lines = []
    for start, head in (("Linux", "Linux"), ("simulator", "simulator")):
        names = [name for name in map(str, result.sender.values) if name.startswith(start)]
        short = [SHORT.get(name, name.removeprefix(f"{start}, ")) for name in names]
        lines += ["", f"{head:23s}{'unit':5s}" + "".join(f"{name:>15s}" for name in short)]
        for quantity, unit in QUANTITIES.items():
            cells = []
            for name in names:
                one = part.sel(sender=name, quantity=quantity)
                half = (float(one.mean_high) - float(one.mean_low)) / 2
                differs = name in PAIRS and one.verdict.sel(pair=name) == Verdict.DIFFERS.value
                cells.append(f"{float(one['mean']):.4g} \N{PLUS-MINUS SIGN}{half:.1g}{'*' if differs else ' '}")
            lines.append(f"{quantity:23s}{unit:5s}" + "".join(f"{cell:>15s}" for cell in cells))
    return lines


def quantities(run: xr.Dataset, scenario: Scenario) -> list[float]:
    """What is compared, of one run of either, in the order of `QUANTITIES`."""
    epochs = run["epochs"].values.sum(0).astype(float)
    law = epochs / epochs.sum()
    slices, gaps = twenty_seconds(run), hangs(run, scenario)
    return [
        run["dropped"].values.sum() / run["sent"].values.sum(), *law[:4], law[4:].sum(), mean_jain(slices),
        float((slices == 0).mean()), float(np.median(gaps)), float(np.quantile(gaps, 0.9)),
        run["timeouts"].values.sum() / (scenario.duration - scenario.warm_up),
        round(float(run["link_utilisation"].values[0]), 4),
    ]  # fmt: skip


def _looks(senders: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and dash of each sender: ours by Linux's rules has its Linux's colour, others of ours are dotted."""
    colours = iter(COLOURS)
    looks: dict[str, tuple[str, str]] = {}
    for name in senders:
        linux = PAIRS.get(name, "") if "Linux's rules" in name else ""
        own = "dot" if name.startswith("simulator") else "solid"
        looks[name] = (looks[linux][0], "dash") if linux in looks else (next(colours), own)
    return looks
