"""Window rules in packets compared with their published formulas: mean windows under random losses."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics.charts.comparisons import error_bars
from tcpdynamics.charts.look import BLACK, BLUE, LEGEND_BELOW, RED
from tcpdynamics.errors import DomainError, shown
from tcpdynamics.limits import check_work
from tcpdynamics.models import AimdTcp, HighSpeedTcp, ScalableTcp
from tcpdynamics.progress import listening, tracked

from ..packet import Flows, Link, Scenario, replicate
from ..statistics import mean_interval
from .comparison import TOLERANCE, Comparison, check_length, counts, grade_tolerance

if TYPE_CHECKING:
    import plotly.graph_objects as go

PUBLISHED, FLUID = "published formula", "fluid equilibrium"

_LOSS_UNITS = {"units": "1", "long_name": "loss probability of a packet"}


def _cubic(loss: float, rtt: float) -> float:
    """CUBIC's mean window [packet] (RFC 9438, section 5.1), Reno's where that is larger (section 4.3)."""
    c, beta = 0.4, 0.7
    return float(max((c * (3 + beta) / (4 * (1 - beta))) ** 0.25 * (rtt / loss) ** 0.75, np.sqrt(1.5 / loss)))


#: Rule -> formula -> window [packet] from the loss rate and the RTT [s].
_PREDICTED: dict[str, dict[str, Callable[[float, float], float]]] = {
    "reno": {
        PUBLISHED: lambda p, rtt: float(AimdTcp(loss=p).response()),
        FLUID: lambda p, rtt: float(AimdTcp(loss=p).equilibrium()),
    },
    "hstcp": {
        PUBLISHED: lambda p, rtt: float(HighSpeedTcp(loss=p).response()),
        FLUID: lambda p, rtt: float(HighSpeedTcp(loss=p).equilibrium()),
    },
    "scalable": {
        PUBLISHED: lambda p, rtt: float(ScalableTcp(loss=p).response()),
        FLUID: lambda p, rtt: float(ScalableTcp(loss=p).equilibrium()),
    },
    "cubic": {PUBLISHED: _cubic},
}


@dataclass(frozen=True)
class WindowRulesVsFormulas(Comparison):
    """One flow on a path that loses each packet with the same probability: its mean window and two formulas.

    `published formula`: the response function w(p) that the rule is published with, made for one loss every 1/p
    packets. `fluid equilibrium`: where w' = a(w) - b(w) p w^2 is zero, losses at the rate p w per round trip. Packets
    lie between the two: after a random loss the next one may come soon or late, but a window falls once a round trip.

    Parameters
    ----------
    rules : sequence of str       Among "reno", "hstcp", "scalable", "cubic".
    loss : sequence of float      Loss probability of a packet [1], in [1e-5, 0.01].
    rtt : float                   Round-trip time [s], > 0.
    duration : float              Of a run [s], its first fifth left out.
    replications : int            Independent runs, >= 2.
    seed : int

    Examples
    --------
    >>> result = WindowRulesVsFormulas(rules=("reno",), loss=(0.01,), duration=100.0, replications=3).run()
    >>> 10 < float(result.measured.squeeze()) < 16
    True
    """

    command: ClassVar[str] = "window-rules"
    rule: ClassVar[str] = f"agrees: the interval lies within {TOLERANCE:.0%}; differs: beyond; else undecided"
    quick: ClassVar[dict[str, Any]] = {"loss": (3e-3, 1e-3), "duration": 60.0, "replications": 3}

    rules: Sequence[str] = tuple(_PREDICTED)
    loss: Sequence[float] = (3e-3, 1e-3, 3e-4)
    rtt: float = 0.1
    duration: float = 150.0
    replications: int = 8
    seed: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_length("rules", self.rules)
        check_length("loss", self.loss)
        for name in self.rules:
            if name not in _PREDICTED:
                raise DomainError(f"rules must list some of {', '.join(_PREDICTED)}, got {shown(name)}")
        if not 0.0 < self.rtt < float("inf"):
            raise DomainError(f"rtt must be a number > 0 s, got {shown(self.rtt)}")
        if not all(1e-5 <= p <= 0.01 for p in self.loss):
            raise DomainError(f"loss must list numbers in [1e-05, 0.01], got {shown(list(self.loss))}")

    def scenario(self, rule: str, loss: float) -> Scenario:
        """One flow, a fast link that loses packets at random, the receiver's window out of the way."""
        flow = Flows(
            sender="sack", rules="rfc", control=rule, source="sender", target="receiver", packet_size=1000,
            window_limit=60_000, handshake=False, start_spread=1.0,
        )  # fmt: skip
        path = Link("sender", "receiver", 1e12, self.rtt / 2, loss=loss)
        return Scenario(
            (flow,), None, self.duration, self.duration / 5, links=(path,), epoch=1.0, slice=self.duration,
            clock="grid", seed=self.seed, name=f"{rule}, loss {loss:g}",
        )  # fmt: skip

    def run(self) -> xr.Dataset:
        """Simulate and compare.

        Returns
        -------
        xarray.Dataset over `rule`, `loss` and `formula`
            `measured`, `measured_low`, `measured_high` [packet]: sent per round trip, with the 95 % interval of the
            mean; `predicted`; `gap` = measured/predicted - 1 with `gap_low`, `gap_high`; `verdict`.
        """
        self._check_work()
        cases = [(rule, p) for rule in self.rules for p in self.loss]
        means = [self._mean_window(rule, p) for rule, p in tracked(cases)]
        shape = (len(self.rules), len(self.loss))
        mean, low, high = (np.array([m[i] for m in means]).reshape(shape) for i in range(3))
        formulas = (PUBLISHED, FLUID)
        predicted = np.array([
            [[_predicted(rule, formula, p, self.rtt) for formula in formulas] for p in self.loss]
            for rule in self.rules
        ])  # fmt: skip
        packets = {"units": "packet"}
        parts = {
            name: (("rule", "loss", "formula"), values[..., None] / predicted - 1.0, {"units": "1"})
            for name, values in (("gap", mean), ("gap_low", low), ("gap_high", high))
        }
        result = xr.Dataset(
            {
                "measured": (("rule", "loss"), mean, packets | {"long_name": "mean window"}),
                "measured_low": (("rule", "loss"), low, packets),
                "measured_high": (("rule", "loss"), high, packets),
                "predicted": (("rule", "loss", "formula"), predicted, packets),
                **parts,
            },
            {"rule": list(self.rules), "loss": ("loss", list(self.loss), _LOSS_UNITS), "formula": list(formulas)},
        )
        verdicts = grade_tolerance(result.gap_low.values, result.gap_high.values, TOLERANCE)
        result["verdict"] = (("rule", "loss", "formula"), verdicts)
        result.attrs = self.attributes()
        return result

    def _mean_window(self, rule: str, loss: float) -> tuple[float, float, float]:
        with listening(lambda share: None):
            runs = replicate(self.scenario(rule, loss), self.replications)
        windows = runs["sent"].isel(flow=0) / (0.8 * self.duration) * self.rtt
        interval = mean_interval(windows)
        return float(interval["mean"]), float(interval["low"]), float(interval["high"])

    def _check_work(self) -> None:
        work = sum(
            min(self.scenario(rule, p).work, 40 * _PREDICTED[rule][PUBLISHED](p, self.rtt) / self.rtt * self.duration)
            for rule in self.rules
            for p in self.loss
        )
        check_work(
            f"{self.replications} replications of {len(self.rules)} rules at {len(self.loss)} losses",
            self.replications * work,
            "give fewer rules, losses or replications, or a shorter duration",
        )

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """A panel for each rule. Lines: its formula, dashed the fluid's equilibrium. Points: packets with intervals."""
        from tcpdynamics.charts.drawing import make_subplots

        rules = [str(rule) for rule in result.rule.values]
        panels = make_subplots(rows=1, cols=len(rules), subplot_titles=rules, shared_yaxes=True)
        rtt, edge = _rtt(result), 1.15
        fine = np.geomspace(float(result.loss.min()) / edge, float(result.loss.max()) * edge, 60)
        for column, rule in enumerate(rules, 1):
            part, first = result.sel(rule=rule), column == 1
            for formula, dash, colour in ((PUBLISHED, "solid", BLACK), (FLUID, "dash", RED)):
                panels.add_scatter(
                    x=fine, y=[_predicted(rule, formula, float(p), rtt) for p in fine], mode="lines", name=formula,
                    line={"color": colour, "dash": dash, "width": 1.5}, showlegend=first, legendgroup=formula,
                    row=1, col=column,
                )  # fmt: skip
            panels.add_scatter(
                x=part.loss.values, y=part.measured.values, mode="markers", name="packets", showlegend=first,
                legendgroup="packets", marker={"color": BLUE, "size": 8}, row=1, col=column,
                error_y=error_bars(part, "measured"),
            )  # fmt: skip
        ticks = [float(p) for p in result.loss.values]
        panels.update_xaxes(
            title_text="loss probability", type="log", tickvals=ticks, ticktext=[f"{p:g}" for p in ticks]
        )
        panels.update_yaxes(type="log", tickvals=[n * 10**e for e in range(6) for n in (1, 2, 5)])
        panels.update_yaxes(title_text="mean window [packet]", col=1)
        panels.update_layout(height=380, legend=LEGEND_BELOW)
        return panels

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """The result in words, made from its numbers."""
        published, fluid = result.sel(formula=PUBLISHED), result.sel(formula=FLUID).dropna("rule")
        gaps = {rule: published.gap.sel(rule=rule) for rule in result.rule.values}
        parts = [f"{rule}: {float(gap.min()):+.1%} to {float(gap.max()):+.1%}" for rule, gap in gaps.items()]
        between = ""
        if fluid.sizes["rule"]:
            between = (
                f" Against the fluid's equilibrium the gaps are {float(fluid.gap.min()):+.1%} to "
                f"{float(fluid.gap.max()):+.1%} ({counts(fluid.verdict)})."
            )
        return (
            "Mean windows under random losses against the published formula of each rule, which is made for "
            f"losses at equal distances: {'; '.join(parts)} ({counts(published.verdict)}).{between}"
        )


def _predicted(rule: str, formula: str, loss: float, rtt: float) -> float:
    """Window [packet]; NaN where the rule has no such formula."""
    predict = _PREDICTED[rule].get(formula)
    return float("nan") if predict is None else predict(loss, rtt)


def _rtt(result: xr.Dataset) -> float:
    return float(json.loads(result.attrs["parameters"])["rtt"])
