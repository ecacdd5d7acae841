"""The packet simulator and the chains beside Linux's TCP where a flow's share is below a packet per round trip.

Each quantity is a mean over seeds with its interval. Of Linux and our senders by Linux's rules the difference is given,
which should be none; and that of Linux with the switches off and our sender by the RFCs, which are not the same sender
(Linux finds losses by time, and adds its least timeout to the round trip), so that "differs" is a measured size there
and no fault. What else Linux does is turned on one at a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics.charts.look import COLOURS, LEGEND_BELOW
from tcpdynamics.errors import DomainError
from tcpdynamics.limits import check_work
from tcpdynamics.progress import tracked

from ..linux import OLD, TODAY, LinuxSwitches, run_linux
from ..packet import Bottleneck, Flows, Record, Scenario, simulate
from ..statistics import mean_interval, two_sample
from .comparison import Comparison, Verdict, check_length, counts, grade
from .linux_record import kernel, key, recorded

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Of Linux: the switches and the control of each of the senders that are compared.
LINUX: dict[str, tuple[LinuxSwitches, str]] = {
    "Linux, switches off": (OLD, "reno"),
    "Linux as it comes, Reno": (TODAY, "reno"),
    "Linux as it comes, CUBIC": (TODAY, "cubic"),
    "Linux as it comes, BBR": (TODAY, "bbr"),
}
#: Senders by Linux's rules, their clock as a guest's; and with what Linux has on as it comes.
BY_LINUX: dict[str, Any] = {"rules": "linux", "clock_phase": 1.008}
AS_IT_COMES = BY_LINUX | {"timestamps": True, "loss_probes": True, "frto": True}
#: Seconds of a seed in Linux, as recorded, and of one of our senders; of the chains. They weigh the progress only.
LIVE, RECORDED, OURS, COMPILED = 45.0, 0.05, 1.0, 80.0
#: Of the simulator: what its flows are given beside the link.
SIMULATED: dict[str, dict[str, Any]] = {
    "simulator, Linux's rules, switches off": BY_LINUX | {"initial_window": 2},
    "simulator, Linux's rules": AS_IT_COMES,
    "simulator, Linux's rules, CUBIC": AS_IT_COMES | {"control": "cubic"},
    "simulator, RFCs": {"rules": "rfc", "min_rto": 0.2, "max_rto": 120.0, "max_backoff": 65536},
    "simulator, RFCs, timeouts of 0.6 s": {
        "rules": "rfc", "min_rto": 0.6, "max_rto": 120.0, "max_backoff": 65536,
    },
    "simulator, ns-2": {},
}  # fmt: skip
#: Of Linux, which sender of ours it is set against: the same rules three times, and the RFCs.
PAIRS = {
    "simulator, Linux's rules, switches off": "Linux, switches off",
    "simulator, Linux's rules": "Linux as it comes, Reno",
    "simulator, Linux's rules, CUBIC": "Linux as it comes, CUBIC",
    "simulator, RFCs": "Linux, switches off",
}
#: Of senders, in a table.
SHORT = {
    "Linux as it comes, Reno": "Reno",
    "Linux as it comes, CUBIC": "CUBIC",
    "Linux as it comes, BBR": "BBR",
    "simulator, Linux's rules, switches off": "Linux's: off",
    "simulator, Linux's rules": "Linux's: Reno",
    "simulator, Linux's rules, CUBIC": "Linux's: CUBIC",
    "simulator, RFCs, timeouts of 0.6 s": "RFCs, 0.6 s",
}
#: What is turned on alone, from the switches off.
SWITCHES: dict[str, dict[str, Any]] = {
    "tail loss probes": {"tlp": True},
    "F-RTO": {"frto": True},
    "time stamps": {"timestamps": True},
    "DSACK": {"dsack": True},
    "compressed acknowledgements": {"sack_compression": True},
    "first window of 10": {"initial_window": 10},
    "slow start after idle": {"slow_start_after_idle": True},
    "delayed acknowledgements": {"delayed_ack": True},
    "pacing": {"pacing": True},
    "least timeout of 1 s": {"min_rto": 1.0},
}
#: What is compared, with its unit.
QUANTITIES = {
    "loss rate": "1",
    "silent round trips": "1",
    "one packet sent": "1",
    "two sent": "1",
    "three sent": "1",
    "four or more sent": "1",
    "Jain's index, 20 s": "1",
    "locked out for 20 s": "1",
    "longest hang, median": "s",
    "longest hang, 90 %": "s",
    "timeouts": "1/s",
    "use of the link": "1",
}
#: A round trip with a full queue [s]: what packets are counted in.
EPOCH = 0.4


@dataclass(frozen=True)
class PacketsVsLinux(Comparison):
    """Long flows on a crowded drop-tail link: 1 Mbit/s, 0.2 s and 5 % to either side, 50 packets of 500 bytes.

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

    effect: ClassVar[tuple[str, str, str]] = ("difference", "low", "high")
    rule: ClassVar[str] = "agrees: the interval of the difference holds zero; differs: it misses zero"

    quick: ClassVar[dict[str, Any]] = {"seeds": 5}

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

    def run(self, live: bool = False) -> xr.Dataset:
        """Run both and compare.

        Parameters
        ----------
        live : bool
            Run Linux now; else take what it gave where it was last run.

        Returns
        -------
        xarray.Dataset
            Over `sender`, `flows`, `quantity`: `mean` with its interval `mean_low`, `mean_high`. Over `pair`,
            `flows`, `quantity`: `difference`, Linux less the sender of ours that `pair` names (`PAIRS`), with its
            interval `low`, `high` and its `verdict`. Over `switch`, `quantity`: `effect`, what a switch changes, with
            `effect_low`, `effect_high` and `effect_verdict`. Over `sender` and `flows`: `printed`, `compiled`, the
            share of silent round trips by the printed chain and by that of the simulator's sender at the loss that was
            measured.

        Raises
        ------
        LinuxError
            If the kernel is not built, fails or takes too long.
        NoRecordError
            If it is not to be run and there is no record of just these runs.
        """
        check_work(
            f"{self.seeds} replications of {len(LINUX) + len(SIMULATED)} senders",
            self.seeds * sum(self.scenario(n, {}).work for n in self.flows) * (len(LINUX) + len(SIMULATED)),
            "give fewer seeds or flows, or shorten them",
        )
        numbers = xr.Variable("flows", list(self.flows))
        senders: dict[str, xr.DataArray] = {}
        weights = (
            self.seeds * (LIVE if live else RECORDED),
            *[self.seeds * OURS for _ in SIMULATED],
            COMPILED,
        )
        for step in tracked(["Linux", *SIMULATED, ""], weights):  # one loop: the share that is done is of all
            if step == "Linux":
                theirs = self._runs(live)
                senders |= {name: xr.concat([theirs[name, n] for n in self.flows], numbers) for name in LINUX}
            elif step:
                ours = [self._ours(n, SIMULATED[step]) for n in tracked(self.flows, self.flows)]
                senders[step] = xr.concat(ours, numbers)
            else:
                runs = xr.concat(list(senders.values()), xr.Variable("sender", list(senders)))
                means = mean_interval(runs, level=self.level)
                silent = self._silent(means["mean"].sel(quantity="loss rate", drop=True))
        two = xr.concat(
            [two_sample(senders[linux], senders[ours], level=self.level) for ours, linux in PAIRS.items()],
            xr.Variable("pair", list(PAIRS)),
        )
        base = theirs[next(iter(LINUX)), self.switches_at]
        turned = xr.concat(
            [two_sample(theirs[name, self.switches_at], base, level=self.level) for name in SWITCHES],
            xr.Variable("switch", list(SWITCHES)),
        )
        result = xr.Dataset({
            "mean": means["mean"], "mean_low": means["low"], "mean_high": means["high"],
            "difference": two["difference"], "low": two["low"], "high": two["high"],
            "verdict": (two["low"].dims, grade(two["low"], two["high"])),
            "effect": turned["difference"], "effect_low": turned["low"], "effect_high": turned["high"],
            "effect_verdict": (turned["low"].dims, grade(turned["low"], turned["high"])), **silent,
        })  # fmt: skip
        result = result.assign_coords(quantity_unit=("quantity", list(QUANTITIES.values())))
        said = "run for this comparison" if live else f"as recorded with {kernel()}"
        result.attrs = self.attributes() | {"linux": said, "level": self.level}
        return result

    def _cells(self) -> dict[tuple[str, int], tuple[LinuxSwitches, str]]:
        """(Name, flows) -> what Linux is run with."""
        cells = {(name, n): how for name, how in LINUX.items() for n in self.flows}
        single = {
            (name, self.switches_at): (replace(OLD, **turned), "reno") for name, turned in SWITCHES.items()
        }
        return cells | single

    def _runs(self, live: bool) -> dict[tuple[str, int], xr.DataArray]:
        """Quantities of Linux's runs, over `replication`."""
        with ThreadPoolExecutor(self.workers if live else 1) as pool:
            jobs = {
                cell: [pool.submit(self._theirs, cell[1], *how, seed, live) for seed in self._seeds()]
                for cell, how in self._cells().items()
            }
            try:
                return {
                    cell: xr.concat([run.result() for run in runs], "replication")
                    for cell, runs in tracked(list(jobs.items()))
                }
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _seeds(self) -> list[int]:
        children = np.random.SeedSequence([self.seed, 15]).spawn(self.seeds)
        return [int(child.generate_state(1)[0]) for child in children]

    def _theirs(
        self, flows: int, switches: LinuxSwitches, control: str, seed: int, live: bool
    ) -> xr.DataArray:
        scenario = self.scenario(flows, {})
        if not live:
            return recorded(scenario, switches, (control,), seed, tuple(QUANTITIES))
        run = run_linux(scenario, seed, self.timeout, switches, (control,))
        return quantities(run, scenario)

    def _ours(self, flows: int, sender: dict[str, Any]) -> xr.DataArray:
        scenario = self.scenario(flows, sender)
        return xr.concat(
            [quantities(simulate(scenario, seed), scenario) for seed in self._seeds()], "replication"
        )

    def _silent(self, losses: xr.DataArray) -> dict[str, Any]:
        from tcpdynamics.models import SubPacketFull
        from tcpdynamics.solvers import stationary

        from ..sender_chain import sender_chain

        # Linux never forgets the round-trip time.
        compiled = sender_chain("sack", 6, rules="rfc", backoff_cap=8, clear_rtt_after=65536)

        def printed(loss: float) -> float:
            if not 0 < loss < 0.5:
                return float("nan")
            model = SubPacketFull(loss=loss)
            return float(model.observe(stationary(model.chain())).sent.sel(packets=0))

        functions: dict[str, Callable[[float], float]] = {
            "printed": printed,
            "compiled": lambda loss: float(compiled.at(loss)[0]),
        }
        return {
            name: xr.apply_ufunc(np.vectorize(function, otypes=[float]), losses).assign_attrs(units="1")
            for name, function in functions.items()
        }

    def record(self) -> dict[str, Any]:
        """Run Linux alone on all cases; what `linux_recorded.json` is to hold of them."""
        told: dict[str, str] = {}

        def one(flows: int, switches: LinuxSwitches, control: str, seed: int) -> list[float]:
            run = run_linux(self.scenario(flows, {}), seed, self.timeout, switches, (control,))
            told.update(kernel=run.attrs["simulator"], options=run.attrs["kernel"])
            return [float(f"{x:.9g}") for x in quantities(run, self.scenario(flows, {})).values]

        with ThreadPoolExecutor(self.workers) as pool:
            jobs = {
                key(self.scenario(n, {}), switches, (control,), seed): pool.submit(
                    one, n, switches, control, seed
                )
                for (_, n), (switches, control) in self._cells().items()
                for seed in self._seeds()
            }
            runs = {name: job.result() for name, job in tracked(list(jobs.items()))}
        return told | {"runs": dict(sorted(runs.items()))}

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """Loss and silence of each sender against the number of flows, with intervals."""
        import plotly.graph_objects as go
        from plotly.subplots import make_subplots

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
                        error_y={
                            "array": (part.mean_high - part["mean"]).values, "thickness": 1,
                            "arrayminus": (part["mean"] - part.mean_low).values,
                        },
                    ),
                    row=1, col=column,
                )  # fmt: skip
        panels.update_xaxes(title_text="flows on 1 Mbit/s")
        panels.update_yaxes(rangemode="tozero")
        panels.update_layout(
            height=460, template="plotly_white", legend=LEGEND_BELOW | {"y": -0.25}, margin={"t": 50}
        )
        return panels

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """What the comparison says, in words made from its numbers."""
        at = int(json.loads(result.attrs["parameters"])["switches_at"])
        parts = []
        for name in map(str, result.sender.values):
            one = result.sel(sender=name, flows=at)
            loss, silent = (_interval(one.sel(quantity=q)) for q in ("loss rate", "silent round trips"))
            parts.append(
                f"{name}: loss {loss}, silent {silent} (printed chain at that loss {float(one.printed):.3f}, the "
                f"simulator's sender's {float(one.compiled):.3f})."
            )
        moved = result.sel(quantity="loss rate")
        switches = [
            f"{name} {float(part.effect):+.4f} [{float(part.effect_low):+.4f}, {float(part.effect_high):+.4f}]"
            for name in map(str, result.switch.values)
            for part in [moved.sel(switch=name)]
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


def _interval(part: xr.Dataset) -> str:
    return f"{float(part['mean']):.4f} [{float(part.mean_low):.4f}, {float(part.mean_high):.4f}]"


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
                cells.append(
                    f"{float(one['mean']):.4g} \N{PLUS-MINUS SIGN}{half:.1g}{'*' if differs else ' '}"
                )
            lines.append(f"{quantity:23s}{unit:5s}" + "".join(f"{cell:>15s}" for cell in cells))
    return lines


def quantities(run: xr.Dataset, scenario: Scenario) -> xr.DataArray:
    """What is compared, of one run of either, over `quantity`."""
    measured = scenario.duration - scenario.warm_up
    epochs = run["epochs"].values.sum(0).astype(float)
    law = epochs / epochs.sum()
    each = run["slice_goodput"].transpose("slice", "flow").values.astype(float)
    whole = each.shape[0] // 4
    slices = each[: 4 * whole].reshape(whole, 4, -1).sum(axis=1)
    squares = (slices**2).sum(axis=1)
    gaps = hangs(run, scenario)
    values = [
        run["dropped"].values.sum() / run["sent"].values.sum(),
        *law[:4],
        law[4:].sum(),
        float((slices.sum(axis=1) ** 2 / (slices.shape[1] * squares))[squares > 0].mean()),
        float((slices == 0).mean()),
        float(np.median(gaps)),
        float(np.quantile(gaps, 0.9)),
        run["timeouts"].values.sum() / measured,
        round(float(run["link_utilisation"].values[0]), 4),
    ]
    return xr.DataArray(values, dims="quantity", coords={"quantity": list(QUANTITIES)})


def hangs(run: xr.Dataset, scenario: Scenario) -> np.ndarray:
    """Of each flow, the longest time [s] after the warm-up in which it sent nothing.

    Examples
    --------
    >>> scenario = PacketsVsLinux(flows=(2,), switches_at=2).scenario(2, {})
    >>> sends = {"send_time": ("send", [20.0, 21.0, 50.0]), "send_flow": ("send", [0, 0, 1])}
    >>> hangs(xr.Dataset(sends, {"flow": [0, 1]}), scenario).tolist()
    [199.0, 170.0]
    """
    times, flows = run["send_time"].values, run["send_flow"].values
    out = np.empty(run.sizes["flow"])
    for i in range(len(out)):
        mine = times[(flows == i) & (times >= scenario.warm_up) & (times < scenario.duration)]
        out[i] = np.diff(np.concatenate([[scenario.warm_up], mine, [scenario.duration]])).max()
    return out


def _looks(senders: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Colour and dash of each sender: ours by Linux's rules has its Linux's colour, others of ours are dotted."""
    colours = iter(COLOURS)
    looks: dict[str, tuple[str, str]] = {}
    for name in senders:
        linux = PAIRS.get(name, "") if "Linux's rules" in name else ""
        own = "dot" if name.startswith("simulator") else "solid"
        looks[name] = (looks[linux][0], "dash") if linux in looks else (next(colours), own)
    return looks
