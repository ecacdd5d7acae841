"""Why a third of the flows get nothing for 20 seconds: section 2.3 and Fig. 3 of Chen et al., taken apart.

100 flows share a link with room for one packet each. In 20 seconds some 30 get nothing, in the paper and in ns-2;
the chain of a flow whose packets are lost independently, at the loss that is consistent with such a link, says 6 %.
Here each run takes away one thing, and beside each stand two chains at the losses that were measured in that run:
one loses all packets alike, the other the packets that a timeout sends again at the rate of their own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics.charts.comparisons import error_bars
from tcpdynamics.charts.look import BLACK, BLUE, LEGEND_BELOW, PURPLE, RED, SKY
from tcpdynamics.errors import DomainError, shown
from tcpdynamics.jain import measured_jain
from tcpdynamics.limits import check_work
from tcpdynamics.models import SharedLink, SubPacketExact
from tcpdynamics.progress import listening, tracked
from tcpdynamics.solvers import self_consistent, windowed

from ..ns2 import run_ns2
from ..packet import Bottleneck, Flows, Scenario, replicate
from ..packet.kernel.records import TIMEOUT
from ..packet.run import spawn_seeds
from ..statistics import mean_interval
from .comparison import TOLERANCE, Comparison, check_length, counts, grade_tolerance, interval

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Name of a run -> what it takes away.
RUNS = {
    "as in the paper": "nothing: equal RTTs, drop-tail",
    "spread RTTs": "equal RTTs: they differ by 5 % to either side",
    "very different RTTs": "equal RTTs: 100 to 300 ms",
    "jitter": "phase: a random delay of up to one sending time before the queue",
    "more jitter": "phase: of up to ten sending times",
    "priority": "losses of retransmissions: they take the places of new packets",
    "long timeout": "short timeouts: they are at least 1 s (RFC 6298)",
    "no backoff": "backoff: no timeout is longer than the first",
    "independent": "the queue: the paper's loss rate and RTT, each packet lost by itself",
}
PAPER, INDEPENDENT = "as in the paper", "independent"
#: Runs whose flows stay in step.
IN_STEP = (PAPER, "priority", "long timeout", "no backoff")
ONE_LOSS, TWO_LOSSES, OWN_LOSSES = "one loss", "two losses", "two losses of each flow"
#: Chains beside each run: all packets are lost alike; those that a timeout sends again have a loss of their own; and
#: each flow has its own two.
CHAINS = (ONE_LOSS, TWO_LOSSES, OWN_LOSSES)
#: Timers that differ, where timeouts are long.
TIMERS = 10
#: Share that the paper reads off Fig. 3, "about 30 %".
PRINTED = 0.30
#: What ns-2.35 says (mean and 95 % interval, 8 seeds, `LockOut().beside_ns2()`).
NS2 = {PAPER: (0.3578, 0.3370, 0.3787), "spread RTTs": (0.2773, 0.2730, 0.2816)}


@dataclass(frozen=True)
class LockOut(Comparison):
    """Share of flows that get nothing in a slice, with one thing taken away at a time.

    Parameters
    ----------
    runs : sequence of str        Among `RUNS`; "independent" needs "as in the paper", whose loss it takes.
    flows : int                   Flows on the link, >= 2.
    rate, rtt, buffer, packet_size : float, float, int, int
        Of the link [bit/s], [s], [packet], [B].
    slice : float                 [s]
    duration, warm_up : float     [s]
    replications : int            Independent runs, >= 2.
    seed : int

    Examples
    --------
    >>> quick = LockOut(runs=("as in the paper", "priority"), duration=300.0, replications=3)
    >>> result = quick.run()
    >>> bool(result.locked_out.sel(run="priority") < 0.5 * result.locked_out.sel(run="as in the paper"))
    True
    """

    command: ClassVar[str] = "lock-out"
    rule: ClassVar[str] = (
        f"locked out less what a chain says: agrees within {TOLERANCE}, differs beyond; undecided: the interval "
        "reaches both sides"
    )
    quick: ClassVar[dict[str, Any]] = {"duration": 400.0, "replications": 4}

    runs: Sequence[str] = tuple(RUNS)
    flows: int = 100
    rate: float = 1e6
    rtt: float = 0.2
    buffer: int = 50
    packet_size: int = 500
    slice: float = 20.0
    duration: float = 1000.0
    warm_up: float = 200.0
    replications: int = 8
    seed: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_length("runs", self.runs)
        if "no back-off" in self.runs:  # the former name
            object.__setattr__(self, "runs", tuple("no backoff" if run == "no back-off" else run for run in self.runs))
        for name in self.runs:
            if name not in RUNS:
                raise DomainError(f"runs must list some of {', '.join(RUNS)}, got {shown(name)}")
        if self.runs[0] != PAPER:
            raise DomainError(f"runs must begin with {PAPER}, to which others are compared, got {shown(self.runs[0])}")
        if self.flows < 2:
            raise DomainError(f"flows must be at least 2, got {shown(self.flows)}")
        self.scenario(PAPER)

    def scenario(self, run: str, paper: xr.Dataset | None = None) -> Scenario:
        """The scenario of one run; `no backoff` and `independent` take numbers from the `paper`'s result.

        A timer's place among departures decides much: with one `min_rto` of 1 s for all, 250 transmission times,
        retransmissions come just as a place becomes free and 6 % are locked out, with 1.0013 s 30 %. So the timers of
        `long timeout` differ by parts of a transmission time.
        """
        flow = Flows(self.flows, "sack", rtt=self.rtt, packet_size=self.packet_size)
        link = Bottleneck(self.rate, self.buffer)
        sending = 8 * self.packet_size / self.rate
        groups: tuple[Flows, ...] = ()
        if run == "spread RTTs":
            flow = replace(flow, rtt=(0.95 * self.rtt, 1.05 * self.rtt))
        elif run == "very different RTTs":
            flow = replace(flow, rtt=(0.5 * self.rtt, 1.5 * self.rtt))
        elif run in ("jitter", "more jitter"):
            flow = replace(flow, jitter=sending if run == "jitter" else 10 * sending)
        elif run == "priority":
            link = replace(link, priority="retransmissions")
        elif run == "long timeout":
            parts = min(TIMERS, self.flows)
            sizes = [self.flows // parts + (i < self.flows % parts) for i in range(parts)]
            groups = tuple(
                replace(flow, count=count, min_rto=1.0 + (i + 0.5) / parts * sending) for i, count in enumerate(sizes)
            )
        elif run == "no backoff":
            assert paper is not None
            first = float((paper.rto_over_rtt * paper.mean_rtt.mean("flow")).mean())
            if not np.isfinite(first):
                raise DomainError(
                    f"flows = {self.flows} never time out at rate {self.rate:g} bit/s, so that nobody is locked out; "
                    "give more flows, or a lower rate"
                )
            longest = np.ceil(10 * first) / 10 + sending / 3
            flow = replace(flow, max_rto=longest, initial_rto=longest)
        elif run == INDEPENDENT:
            assert paper is not None
            flow = replace(flow, rtt=float(paper.mean_rtt.mean()))
            link = Bottleneck(1e12, loss=float(paper.loss_rate.mean()))
        return Scenario(
            groups or (flow,), link, self.duration, self.warm_up, run, self.seed, slice=self.slice,
            # In step, only ns-2's clock gives ns-2's order of ties.
            clock="auto" if run in IN_STEP else "grid",
        )  # fmt: skip

    def run(self) -> xr.Dataset:
        """Simulate and compare.

        Returns
        -------
        xarray.Dataset over `run` and `chain` (`CHAINS`)
            `locked_out`, `locked_out_low`, `locked_out_high` [1]: fraction of flows with nothing in a slice, with the
            95 % interval; `predicted`; `gap` with its interval and `verdict`; `loss`, `loss_timeout`, `loss_new`,
            `repeat` (timeouts after a first that are followed by another), `jain` (of slices), `jain_whole` (of the
            whole run), `timeout_over_rtt`; `expected`: the chain's, at the loss consistent with the link; `printed`.
        """
        work = len(self.runs) * self.replications * self.scenario(PAPER).work
        check_work("all runs", work, "give fewer runs or replications, or a shorter duration")
        cases, paper = [], None
        for name in tracked(self.runs):
            with listening(lambda share: None):
                data = replicate(self.scenario(name, paper), self.replications)
            paper = data if paper is None else paper
            cases.append(self._case(name, data))
        result = xr.concat(cases, xr.Variable("run", list(self.runs)))
        result["verdict"] = (result.gap.dims, grade_tolerance(result.gap_low.values, result.gap_high.values, TOLERANCE))
        result["expected"] = ((), self._expected(), {"units": "1"})
        result["printed"] = ((), PRINTED, {"units": "1"})
        for i, end in enumerate(("", "_low", "_high")):
            values = [NS2.get(name, (np.nan,) * 3)[i] if self._as_recorded() else np.nan for name in self.runs]
            result[f"ns2{end}"] = ("run", values, {"units": "1"})
        result.attrs = self.attributes()
        return result

    def _as_recorded(self) -> bool:
        """Are these the flows and the link for which ns-2's numbers were written down?"""
        link = (self.flows, self.rate, self.rtt, self.buffer, self.packet_size, self.slice)
        return link == (100, 1e6, 0.2, 50, 500, 20.0)

    def _case(self, name: str, data: xr.Dataset) -> xr.Dataset:
        locked = data.slice_starved.mean("slice")
        cap = 0 if name == "no backoff" else 6
        says = [by_chain(data, self.slice, chain, cap).nothing for chain in CHAINS]
        predicted = xr.concat(says, xr.Variable("chain", list(CHAINS)))
        levels = data.timeouts_by_backoff.sum("flow").astype(float)
        goodput = data.goodput.astype(float)
        measured = {
            "locked_out": locked,
            "gap": locked.drop_vars("seed") - predicted,
            "loss": data.loss_rate,
            "loss_timeout": data.loss_rate_timeout,
            "loss_new": data.loss_rate_by_kind.isel(kind=0, drop=True),
            "repeat": levels.isel(backoff=slice(2, None)).sum("backoff")
            / levels.isel(backoff=slice(1, None)).sum("backoff"),
            "jain": data.slice_jain.mean("slice"),
            "jain_whole": xr.apply_ufunc(measured_jain, goodput, input_core_dims=[["flow"]]),
            "timeout_over_rtt": data.rto_over_rtt,
        }
        out = {"predicted": predicted.mean("replication").assign_attrs(units="1")}
        for quantity, values in measured.items():
            out |= interval(values, quantity, quantity not in ("gap", "timeout_over_rtt"))
        return xr.Dataset(out)

    def _expected(self) -> float:
        """What the chain with `backoff_cap=5` says of the link alone: 5.8 % at 100 flows on 1 Mbit/s."""
        link = SharedLink(
            flows=self.flows, capacity=self.rate, base_rtt=self.rtt, buffer=self.buffer,
            packet_size=self.packet_size, backoff_cap=5,
        )  # fmt: skip
        rtt = self.rtt + 8 * self.packet_size * self.buffer / self.rate
        return float(self_consistent(link.balance(), window=max(1, round(self.slice / rtt))).nothing)

    def beside_ns2(self, seeds: int = 8) -> dict[str, tuple[float, float, float]]:
        """The same measured in ns-2, where it has what the run needs: mean and ends of the 95 % interval.

        Raises
        ------
        Ns2Error
            If ns-2 is not installed.
        """
        out = {}
        for name in NS2:
            made = self.scenario(name)
            runs = [run_ns2(made, seed, 600.0).slice_goodput for seed in spawn_seeds(self.seed, seeds)]
            found = mean_interval((xr.concat(runs, "replication") == 0).mean(("slice", "flow")), fraction=True)
            out[name] = (float(found["mean"]), float(found["low"]), float(found["high"]))
        return out

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """Bars: the share locked out in each run, with intervals. Points: two chains, the paper and ns-2."""
        from tcpdynamics.charts.drawing import go

        names = [str(name) for name in result.run.values]
        picture = go.Figure()
        picture.add_bar(
            x=names, y=result.locked_out.values, name="packets", marker_color=SKY,
            error_y=error_bars(result, "locked_out"),
        )  # fmt: skip
        for chain, symbol, colour in (
            (ONE_LOSS, "circle-open", BLACK),
            (TWO_LOSSES, "diamond", RED),
            (OWN_LOSSES, "square-open", PURPLE),
        ):
            picture.add_scatter(
                x=names, y=result.predicted.sel(chain=chain).values, mode="markers", name=f"chain, {chain}",
                marker={"symbol": symbol, "color": colour, "size": 10},
            )  # fmt: skip
        if np.isfinite(result.ns2).any():
            picture.add_scatter(
                x=names, y=result.ns2.values, mode="markers", name="ns-2",
                marker={"symbol": "x", "color": BLUE, "size": 10},
            )  # fmt: skip
        picture.add_hline(y=PRINTED, line={"dash": "dot", "color": BLACK}, annotation_text="the paper")
        picture.update_layout(height=420, template="plotly_white", legend=LEGEND_BELOW | {"y": -0.45}, margin={"t": 30})
        picture.update_yaxes(title_text="flows with nothing in a slice", tickformat=".0%")
        return picture

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """The result in words, made from its numbers."""
        own = json.loads(result.attrs["parameters"])
        first = result.sel(run=PAPER)
        one, two, own_two = (first.predicted.sel(chain=chain) for chain in CHAINS)
        verdicts = [f"{chain} {counts(result.verdict.sel(chain=chain))}" for chain in CHAINS]
        ns2 = f"{_percent(first, 'ns2')} in ns-2, " if np.isfinite(first.ns2) else ""
        text = (
            f"{own['flows']} flows: in {own['slice']:g} s {_percent(first, 'locked_out')} get nothing; {ns2}"
            f"about {PRINTED:.0%} in the paper, {float(result.expected):.1%} by independent losses at the rate that is "
            f"consistent with the link. A packet that a timeout sends again is lost with probability "
            f"{float(first.loss_timeout):.2f}, a new one with {float(first.loss_new):.2f}: who is clocked by "
            f"acknowledgements finds the place that its own packet has left, who comes by a timer finds a full queue. "
            f"The chain with one loss for all says {float(one):.1%}, with both losses {float(two):.1%}, with each "
            f"flow's own two {float(own_two):.1%}, which leaves {_percent(first.sel(chain=OWN_LOSSES), 'gap')}. "
            f"Verdicts on the chain in all runs: {'; '.join(verdicts)}.\n\n"
        )
        others = [
            f"{RUNS[name].split(':')[0]} ({name}): {_percent(result.sel(run=name), 'locked_out')}, "
            f"p {float(result.loss.sel(run=name)):.2f}, p_r {float(result.loss_timeout.sel(run=name)):.2f}, Jain of "
            f"the whole run {float(result.jain_whole.sel(run=name)):.2f}"
            for name in map(str, result.run.values[1:])
        ]
        return text + ("Without " + "; without ".join(others) + "." if others else "")


def _percent(part: xr.Dataset, name: str) -> str:
    low, high = float(part[f"{name}_low"]), float(part[f"{name}_high"])
    return f"{100 * float(part[name]):.1f} [{100 * low:.1f}, {100 * high:.1f}] %"


def by_chain(data: xr.Dataset, slice: float, chain: str, backoff_cap: int = 6) -> xr.Dataset:
    """`jain` and `nothing` of a slice [s] by the exact chain, at the losses of each replication.

    The backoff ends with the first new segment acknowledged (Karn's rule); the timeout is the measured one in whole
    RTTs, of which the least with an idle epoch is two. See `CHAINS` for `chain`.
    """
    epochs = max(1, round(slice / float(data.mean_rtt.mean())))
    timer = data.rto_over_rtt.values
    timeout = max(2, round(float(np.nanmean(timeout_or_two(timer)))))
    if chain == OWN_LOSSES:
        arrived, dropped = (data[f"{name}_by_kind"].values.astype(float) for name in ("arrived", "dropped"))
        resent = _share(dropped[..., TIMEOUT], arrived[..., TIMEOUT])
        p = _share(dropped.sum(-1) - dropped[..., TIMEOUT], arrived.sum(-1) - arrived[..., TIMEOUT])
    else:
        two = chain == TWO_LOSSES
        p = (data.loss_rate_other if two else data.loss_rate).values[:, None]
        resent = data.loss_rate_timeout.values[:, None] if two else p
    p = np.where(np.isfinite(p), p, data.loss_rate_other.values[:, None])  # a flow that only sends again
    resent = np.where(np.isfinite(resent), resent, p)
    inside = (1e-9, 1 - 1e-9)
    pairs = xr.Dataset({"p": ("point", np.clip(p, *inside).ravel()), "r": ("point", np.clip(resent, *inside).ravel())})
    model = SubPacketExact(
        loss=pairs.p, retransmission_loss=pairs.r, collapse=2, base_timeout=timeout, backoff_cap=backoff_cap
    )
    solved = windowed(model.chain(), model.delivered(), epochs)
    parts = {
        name: ("replication", solved[name].transpose("point").values.reshape(p.shape).mean(axis=1))
        for name in ("jain", "nothing")
    }
    return xr.Dataset(parts)


def timeout_or_two(timer: Any) -> Any:
    """Measured timeouts [RTT]; two where none was measured."""
    return np.where(np.isfinite(timer), timer, 2.0)


def _share(lost: Any, of: Any) -> Any:
    return np.divide(lost, of, out=np.full(lost.shape, np.nan), where=of > 0)
