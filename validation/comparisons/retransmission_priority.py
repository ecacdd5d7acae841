"""A gateway that sends retransmissions first: section 6.2 and Fig. 12 of Chen et al., with its losses and its model.

A link of 1 Mbit/s, 200 ms, 25 packets of 1000 bytes, with drop-tail and with SFQ of five lanes. Without priority; with
priority and the buffer split as in the paper (5 places for retransmissions, SFQ: five lanes of 4); and with one buffer
for all, where a retransmission takes the place of a new packet. How many flows there are the paper does not say, and
Fig. 12 is a picture without numbers: what can be judged is its statement that priority improves both.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics.charts.comparisons import error_bars
from tcpdynamics.charts.look import BLACK, BLUE, GREEN, LEGEND_BELOW, RED
from tcpdynamics.errors import DomainError, shown
from tcpdynamics.limits import check_work
from tcpdynamics.models import SharedLink
from tcpdynamics.progress import listening, tracked
from tcpdynamics.solvers import self_consistent

from ..packet import Bottleneck, Flows, Scenario, replicate
from ..statistics import two_sample
from .comparison import TOLERANCE, Comparison, Verdict, check_length, counts, grade_tolerance, interval
from .lock_out import TWO_LOSSES, chain_says

if TYPE_CHECKING:
    import plotly.graph_objects as go

QUEUES = ("droptail", "sfq")
NONE, SPLIT, SHARED = "none", "split", "shared"
PRIORITIES = (NONE, SPLIT, SHARED)
#: The paper's buffers [packet]: of all, of retransmissions, of a lane without and with these.
BUFFER, OWN, LANE, LANE_BESIDE, LANES = 25, 5, 5, 4, 5
_COLOURS = {NONE: BLACK, SPLIT: RED, SHARED: BLUE}


@dataclass(frozen=True)
class RetransmissionPriorityVsPackets(Comparison):
    """Fairness in short slices with and without priority of retransmissions, beside what the chain says of either.

    Parameters
    ----------
    flows : sequence of int       Flows on the link, each >= 2.
    slice : float                 [s]
    jitter : float                Random delay before the queue [s], which breaks phases; the paper has none.
    duration, warm_up : float     [s]
    replications : int            Independent runs, >= 2.
    seed : int

    Examples
    --------
    >>> quick = RetransmissionPriorityVsPackets(flows=(50,), duration=300.0, replications=3)
    >>> result = quick.run()
    >>> result.gain.sel(queue="droptail", priority="split").item() > 0.05
    True
    """

    effect: ClassVar[tuple[str, str, str]] = ("gain", "gain_low", "gain_high")
    rule: ClassVar[str] = (
        "Jain's index with priority less that without, 95 % interval. agrees (with the paper, that priority "
        "improves): above zero; differs: below; else undecided"
    )
    quick: ClassVar[dict[str, Any]] = {"flows": (50,), "duration": 300.0, "replications": 4}

    flows: Sequence[int] = (25, 50, 100)
    slice: float = 20.0
    jitter: float = 0.0
    duration: float = 800.0
    warm_up: float = 200.0
    replications: int = 8
    seed: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_length("flows", self.flows)
        for n in self.flows:
            if isinstance(n, bool) or not isinstance(n, int) or n < 2:
                raise DomainError(f"flows must list whole numbers >= 2, got {shown(self.flows)}")
        self.scenario(max(self.flows), "droptail", NONE)

    def scenario(self, flows: int, queue: str, priority: str) -> Scenario:
        """One case: how many flows, on which queue, with which priority."""
        more: dict[str, Any] = {} if priority == NONE else {"priority": "retransmissions"}
        if priority == SPLIT:
            more["priority_buffer"] = OWN
        if queue == "sfq":
            lane = {NONE: LANE, SPLIT: LANE_BESIDE, SHARED: 0}[priority]
            more["queue_parameters"] = {"queues": LANES, "lane_limit": lane}
        flow = Flows(flows, "sack", rtt=0.2, packet_size=1000, jitter=self.jitter)
        return Scenario(
            (flow,), Bottleneck(1e6, BUFFER, queue=queue, **more), self.duration, self.warm_up,
            f"{queue}, priority {priority}, {flows} flows", self.seed, slice=self.slice,
            clock="grid" if self.jitter else "auto",
        )  # fmt: skip

    def run(self) -> xr.Dataset:
        """Simulate and compare.

        Returns
        -------
        xarray.Dataset over `flows`, `queue` and `priority` ("none", "split", "shared")
            `jain` (of slices), `starved`, `silent` (epochs without a packet), `loss`, `loss_new`, `loss_repeat` (of all
            retransmissions), `loss_timeout`, `utilisation`, each with the 95 % interval; `gain` of Jain's index by the
            priority, its interval and `verdict` about the paper's statement; `jain_predicted`, `starved_predicted` by
            the chain at the measured losses, with `jain_gap`, its interval and `model_verdict`; `jain_expected`: by
            the chain alone, at the losses that are consistent with the link.
        """
        cases = [(n, queue, priority) for n in self.flows for queue in QUEUES for priority in PRIORITIES]
        work = self.replications * sum(self.scenario(*case).work for case in cases)
        check_work("all cases", work, "give fewer flows or replications, or a shorter duration")
        parts = []
        runs: dict[Any, xr.Dataset] = {}
        for case in tracked(cases):
            with listening(lambda share: None):
                runs[case] = replicate(self.scenario(*case), self.replications)
            parts.append(self._case(runs[case], runs[*case[:2], NONE], case[2]))
        shape = (len(self.flows), len(QUEUES), len(PRIORITIES))
        result = _shaped(parts, shape, (list(self.flows), list(QUEUES), list(PRIORITIES)))
        result["verdict"] = result.gain.copy(data=_improves(result.gain_low.values, result.gain_high.values))
        model = grade_tolerance(result.jain_gap_low.values, result.jain_gap_high.values, TOLERANCE)
        result["model_verdict"] = result.gain.copy(data=model)
        result["jain_expected"] = (
            ("flows", "priority"),
            np.stack([self._expected(1.0 if name == NONE else 0.0) for name in PRIORITIES], axis=1),
            {"units": "1"},
        )
        result.attrs = self.attributes()
        return result

    def _case(self, data: xr.Dataset, without: xr.Dataset, priority: str) -> xr.Dataset:
        data, without = data.drop_vars("seed"), without.drop_vars("seed")
        arrived, lost = (data[f"{name}_by_kind"].sum("flow").astype(float) for name in ("arrived", "dropped"))
        repeats = {"kind": slice(1, None)}
        says = chain_says(data, self.slice, TWO_LOSSES)
        jain = data.slice_jain.mean("slice")
        measured = {
            "jain": jain,
            "starved": data.slice_starved.mean("slice"),
            "silent": data.epoch_share.isel(sent_in_epoch=0, drop=True),
            "loss": data.loss_rate,
            "loss_new": data.loss_rate_by_kind.isel(kind=0, drop=True),
            "loss_repeat": lost.isel(repeats).sum("kind") / arrived.isel(repeats).sum("kind"),
            "loss_timeout": data.loss_rate_timeout,
            "utilisation": data.utilisation,
            "jain_gap": jain - says.jain,
        }
        out: dict[str, Any] = {}
        for name, values in measured.items():
            out |= interval(values, name)
        difference = two_sample(jain, without.slice_jain.mean("slice"))
        apart = priority != NONE
        for end, which in (("", "difference"), ("_low", "low"), ("_high", "high")):
            out[f"gain{end}"] = ((), float(difference[which]) if apart else np.nan, {"units": "1"})
        for name, variable in (("jain_predicted", says.jain), ("starved_predicted", says.nothing)):
            out[name] = ((), float(variable.mean()), {"units": "1"})
        return xr.Dataset(out)

    def _expected(self, ratio: float) -> Any:
        link = SharedLink(
            flows=[float(n) for n in self.flows], capacity=1e6, base_rtt=0.2, buffer=BUFFER, packet_size=1000.0,
            retransmission_ratio=ratio, collapse=2,
        )  # fmt: skip
        epochs = max(1, round(self.slice / (0.2 + 8000 * BUFFER / 1e6)))
        return self_consistent(link.balance(), window=epochs).jain.values

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """A panel for each queue: Jain's index against flows, with and without priority; crosses: the chain."""
        from plotly.subplots import make_subplots

        panels = make_subplots(rows=1, cols=2, subplot_titles=["drop-tail", "SFQ, five lanes"], shared_yaxes=True)
        for column, queue in enumerate(QUEUES, 1):
            for name, colour in _COLOURS.items():
                part = result.sel(queue=queue, priority=name)
                panels.add_scatter(
                    x=part.flows.values, y=part.jain.values, mode="lines+markers", name=f"priority: {name}",
                    legendgroup=name, showlegend=column == 1, line={"color": colour}, row=1, col=column,
                    error_y=error_bars(part, "jain"),
                )  # fmt: skip
                panels.add_scatter(
                    x=part.flows.values, y=part.jain_predicted.values, mode="markers", legendgroup="chain",
                    name="chain at the measured losses", showlegend=column == 1 and name == NONE,
                    marker={"symbol": "x", "color": colour, "size": 9}, row=1, col=column,
                )  # fmt: skip
        panels.update_xaxes(title_text="flows")
        panels.update_yaxes(title_text="Jain's index in a slice", col=1, range=[0, 1])
        panels.update_layout(height=400, template="plotly_white", legend=LEGEND_BELOW, colorway=[GREEN])
        return panels

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """What the comparison says, in words made from its numbers."""
        own = json.loads(result.attrs["parameters"])
        after = result.sel(priority=[SPLIT, SHARED])
        words = []
        for queue, title in zip(QUEUES, ("drop-tail", "SFQ"), strict=True):
            for n in result.flows.values:
                part = result.sel(queue=queue, flows=n)
                cells = [
                    f"{name} {float(part.jain.sel(priority=name)):.2f} (new packets lost "
                    f"{float(part.loss_new.sel(priority=name)):.2f}, retransmissions "
                    f"{float(part.loss_repeat.sel(priority=name)):.2f}, nothing got "
                    f"{float(part.starved.sel(priority=name)):.1%})"
                    for name in PRIORITIES
                ]
                words.append(f"{title}, {n} flows: {'; '.join(cells)}")
        gains = f"{float(after.gain.min()):+.2f} to {float(after.gain.max()):+.2f}"
        modelled = result.jain_expected
        return (
            f"Priority of retransmissions changes Jain's index over {own['slice']:g} s by {gains}; that it "
            f"improves both queues, as the paper says: {counts(after.verdict)}.\n\n"
            f"{'. '.join(words)}.\n\n"
            "The chain alone, at the losses that are consistent with the link, says "
            + ", ".join(
                f"{float(modelled.sel(flows=n, priority=NONE)):.2f} without and "
                f"{float(modelled.sel(flows=n, priority=SPLIT)):.2f} with it for {n} flows"
                for n in result.flows.values
            )
            + f". Told the measured losses it is within {TOLERANCE} of Jain's index in: {counts(result.model_verdict)}."
        )


def _improves(low: Any, high: Any) -> Any:
    """Verdicts about "it improves": agrees above zero, differs below."""
    cases = [(~np.isfinite(low), Verdict.NO_ANSWER), (low > 0, Verdict.AGREES), (high < 0, Verdict.DIFFERS)]
    return np.select([case for case, _ in cases], [word.value for _, word in cases], Verdict.UNDECIDED.value)


def _shaped(parts: list[xr.Dataset], shape: tuple[int, ...], values: Any) -> xr.Dataset:
    """Cases in a row as an array over `flows`, `queue` and `priority`."""
    names = ("flows", "queue", "priority")
    row = xr.concat(parts, "case")
    return xr.Dataset(
        {str(k): (names, v.values.reshape(shape), v.attrs) for k, v in row.data_vars.items()},
        dict(zip(names, values, strict=True)),
    )
