"""The sub-packet chain beside packets: Figs. 9, 10 and 11 of Chen et al., with intervals and verdicts.

For each number of flows one link is simulated four ways, so that a reader sees which part of a gap is the
chain's and which the
queue's:

* ``drop-tail``: the paper's scenario. Equal RTTs on a drop-tail queue are prone to phase effects;
* ``spread``: the same with RTTs spread by 5 % to either side;
* ``jitter``: drop-tail with a random delay of up to one packet's sending time on each packet, which breaks them;
* ``independent``: no queue. Each packet is lost with the probability measured under drop-tail, the RTT is constant
  and the timeout is 2 RTT, without limited transmit: what the chain assumes, with real senders.

Four predictions stand beside each, all evaluated at the loss that was measured in the same replication:

* ``full``: Fig. 8 as printed;
* ``exact``: every backoff level a state (by default K = 6, collapse after three successes);
* ``exact, two successes``: the same, the backoff ending with the first new segment acknowledged (Karn's
  rule, which the senders follow);
* ``exact, measured timer``: the latter with the measured T_0/RTT and the measured loss of timeout retransmissions.

Their other parameters are fields of the comparison, with the names of `SubPacketFull` and `SubPacketExact`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import xarray as xr

from tcpdynamics.charts.look import BLACK, BLUE, COLOURS, GREEN, LEGEND_BELOW, ORANGE, PURPLE, RED, SKY
from tcpdynamics.errors import shown
from tcpdynamics.limits import check_work
from tcpdynamics.models import SharedLink, SubPacketExact, SubPacketFull
from tcpdynamics.progress import listening, tracked
from tcpdynamics.solvers import self_consistent, stationary, windowed
from tcpdynamics.solvers.problems import DomainError

from ..packet import Bottleneck, Flows, Scenario, replicate
from ..packet.scenario.fields import key, read_texts
from ..statistics import distribution_distance
from .comparison import AGREES, CLOSE, Comparison, Verdict, check_length, grade_distance, interval

if TYPE_CHECKING:
    import plotly.graph_objects as go

LINKS = ("drop-tail", "spread", "jitter", "independent")
CHAINS = ("full", "exact", "exact, two successes", "exact, measured timer")
#: Parameters of the chains that are fields of the comparison; the loss is measured.
PARAMETERS = (
    "w_max", "base_timeout", "retransmission_loss", "early_retransmit", "suffix_losses", "stages", "backoff_cap",
    "collapse",
)  # fmt: skip
#: Numbers of packets that have a panel of their own in the figure.
PANELS = 30
#: Doublings of the timeout that senders know at most.
MOST_DOUBLINGS = 16
_SUCCESSES = {1: "one success", 2: "two successes", 3: "three successes"}
#: Groups of flows with RTTs of their own, where RTTs are mixed.
GROUPS = 8
#: Silences are compared up to this length [epochs].
LONGEST = 256


#: Colours of the chains, and symbols and colours of the links.
CHAIN_COLOURS = {"full": BLACK, "exact": BLUE, "exact, two successes": GREEN}
MARKERS = {
    "drop-tail": ("circle", RED),
    "spread": ("square", PURPLE),
    "jitter": ("diamond", ORANGE),
    "independent": ("x", SKY),
}
#: Layout of the figures with one panel.
FIGURE_LAYOUT: dict[str, Any] = {"template": "plotly_white", "colorway": COLOURS, "margin": {"t": 30, "r": 20},
                                 "legend": LEGEND_BELOW}  # fmt: skip


Chain = TypeVar("Chain", SubPacketFull, SubPacketExact)


@dataclass(frozen=True)
class SubPacketChainVsPackets(Comparison):
    """Packets sent per epoch: sub-packet chains against simulated flows.

    Parameters
    ----------
    flows : sequence of int
        Numbers of flows N that share the link.
    rate : float
        Link rate [bit/s].
    base_rtt : float or (float, float)
        Round-trip propagation time [s]; a pair spreads the flows evenly between the two.
    buffer : int
        Packets that the link holds.
    packet_size : int
        [bytes]
    sender : "sack" or "newreno"
    duration, warm_up : float
        [s]
    replications : int
        Independent runs of each case, at least two.
    seed : int
    slice : float
        Length of the slices in which fairness is measured [s].
    w_max : int
        Largest window of the chains, in [4, 1000]. Packets are counted 0, 1, ..., `w_max` or more; senders on the
        independent link have this window limit. The figure has panels for up to 30 numbers of packets.
    base_timeout : float
        Timeout before backoff, in RTTs, >= 2; of the chains, and of the senders on the independent link.
    retransmission_loss : float, optional
        Loss of timeout retransmissions in the chains, below 0.5; by default the measured loss. The links lose all
        packets alike.
    early_retransmit : bool
        Whether windows of 2 and 3 repair one loss in the chains (RFC 5827); the senders do not.
    suffix_losses : bool
        Whether a loss takes what follows it in the window too, in the chains; the links decide for themselves.
    stages : int
        Repeated-timeout stages of the chain "full".
    backoff_cap : int
        Doublings of the timeout at most, of the exact chains and of the senders on the independent link (there up
        to 16).
    collapse : int
        Successes in a row that collapse the backoff, 1 to 3, of the chain "exact"; those named after two keep two.

    Raises
    ------
    DomainError
        A field that the chains or `validation.packet.Scenario` refuse (then a ScenarioError).

    Examples
    --------
    >>> quick = SubPacketChainVsPackets(flows=(100,), duration=120.0, warm_up=40.0, replications=2)
    >>> result = quick.run()
    >>> result.sizes["link"], result.sizes["chain"], sorted(set(result.verdict.values.ravel()))  # doctest: +SKIP
    (3, 4, ['close', 'differs'])
    """

    effect: ClassVar[tuple[str, str, str]] = ("distance", "distance_low", "distance_high")
    rule: ClassVar[str] = (
        f"95 % interval of the distance (not shown here): agrees up to {AGREES}, close up to {CLOSE}, differs beyond; "
        f"undecided: it reaches both sides of {CLOSE}"
    )

    flows: Sequence[int] = (20, 40, 60, 80, 100, 150, 200, 300)
    rate: float = key(1e6, unit="bit/s")
    base_rtt: float | tuple[float, float] = key(0.2, unit="s")
    buffer: int = 50
    packet_size: int = key(500, unit="B")
    sender: str = "sack"
    duration: float = key(5000.0, unit="s")
    warm_up: float = key(200.0, unit="s")
    replications: int = 8
    seed: int = 1
    slice: float = key(20.0, unit="s")
    w_max: int = 6
    base_timeout: float = 2.0
    retransmission_loss: float | None = key(None, unit="1")
    early_retransmit: bool = False
    suffix_losses: bool = False
    stages: int = 3
    backoff_cap: int = 6
    collapse: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        read_texts(self)
        if hasattr(self.flows, "__len__"):
            check_length("flows", self.flows)
        if np.ndim(self.flows) != 1 or not all(map(_is_count, self.flows)):
            raise DomainError(f"flows must list whole numbers >= 1, got {shown(self.flows)}")
        object.__setattr__(self, "flows", tuple(int(n) for n in self.flows))
        if isinstance(self.base_rtt, tuple) and len(self.base_rtt) != 2:
            raise DomainError(
                f"base_rtt must be one time, or a pair of the lowest and the highest, got {shown(self.base_rtt)}"
            )
        for name in ("base_timeout", "retransmission_loss"):
            if np.ndim(getattr(self, name)):
                raise DomainError(f"{name} must be one number, got {shown(getattr(self, name))}; compare once for each")
        self.chain_model(SubPacketFull, 0.1)
        self.chain_model(SubPacketExact, 0.1)
        self.scenario("drop-tail", max(self.flows))

    def chain_model(self, kind: type[Chain], loss: Any, **changes: Any) -> Chain:
        """A chain at a loss, with the parameters of this comparison except for the `changes`.

        Examples
        --------
        >>> SubPacketChainVsPackets(w_max=8).chain_model(SubPacketExact, 0.1, collapse=2).w_max
        8
        """
        own = {f.name: getattr(self, f.name) for f in fields(kind) if f.name in PARAMETERS}
        return kind(**(own | changes), loss=loss)

    def changed(self) -> str:
        """The chains' parameters that are not the default ones, as in "w_max = 8, collapse = 2"; "" if none is.

        Examples
        --------
        >>> SubPacketChainVsPackets(w_max=8, collapse=2).changed()
        'w_max = 8, collapse = 2'
        """
        defaults = {f.name: f.default for f in fields(self)}
        values = {name: getattr(self, name) for name in PARAMETERS}
        return ", ".join(f"{name} = {value}" for name, value in values.items() if value != defaults[name])

    def scenario(self, link: str, flows: int, measured: xr.Dataset | None = None) -> Scenario:
        """The scenario of one case; "independent" takes its loss and RTT from the `measured` drop-tail result."""
        groups = [
            Flows(count=count, sender=self.sender, rtt=rtt, packet_size=self.packet_size)
            for rtt, count in zip(*self._groups(flows), strict=True)
        ]
        bottleneck = Bottleneck(self.rate, self.buffer)
        if link == "spread":
            groups = [replace(g, rtt=(0.95 * g.rtts()[0], 1.05 * g.rtts()[0])) for g in groups]
        elif link == "jitter":
            groups = [replace(group, jitter=8 * self.packet_size / self.rate) for group in groups]
        elif link == "independent":
            if measured is None:
                raise ValueError("the independent link needs the drop-tail result for its loss and its RTT")
            waiting = float((measured.mean_rtt - measured.base_rtt).mean())
            groups = [
                replace(
                    g,
                    rtt=rtt,
                    min_rto=self.base_timeout * rtt,
                    max_backoff=2 ** min(self.backoff_cap, MOST_DOUBLINGS),
                    window_limit=self.w_max,
                    timer_granularity=1e-6,
                    limited_transmit=False,
                )
                for g, rtt in ((g, g.rtts()[0] + waiting) for g in groups)
            ]
            bottleneck = Bottleneck(rate=1e12, buffer=None, loss=float(measured.loss_rate.mean()))
        return Scenario(
            tuple(groups), bottleneck, self.duration, self.warm_up, f"{link}, {flows} flows", self.seed,
            slice=self.slice, most_in_epoch=max(7, self.w_max),
            # Flows in step need ns-2's clock, which decides their ties; the others lose the same on the grid, sooner.
            clock="auto" if link == "drop-tail" else "grid",
        )  # fmt: skip

    def _check_work(self) -> None:
        """Refuse what takes too long in all, before the first run. The independent link sends what
        drop-tail sends."""
        once = sum(
            self.scenario(link if link != "independent" else "drop-tail", n).work for n in self.flows for link in LINKS
        )
        check_work(
            f"{self.replications} replications of {len(self.flows)} loads on {len(LINKS)} links",
            self.replications * once,
            "shorten duration, lower rate, or give fewer flows or replications",
        )

    def _groups(self, flows: int) -> tuple[list[float], list[int]]:
        """Round-trip times and how many flows have each: eight groups where RTTs are mixed, as in Fig. 11."""
        if not isinstance(self.base_rtt, tuple):
            return [self.base_rtt], [flows]
        n = min(GROUPS, flows)
        counts = [flows // n + (i < flows % n) for i in range(n)]
        return [float(r) for r in np.linspace(*self.base_rtt, n)], counts

    def run(self, progress: Callable[[float], None] | None = None) -> xr.Dataset:
        """Simulate, predict, compare.

        Parameters
        ----------
        progress : callable, optional
            Called with the fraction of the work that is done, in [0, 1], as by `simulate`.

        Returns
        -------
        xarray.Dataset over `link`, `flows`, `chain` and `packets` (0, 1, ..., `w_max` or more)
            `simulated`, `simulated_low`, `simulated_high`: P(n packets sent in an epoch), Student's 95 %
            interval over replications;
            `predicted`; `gap`, `gap_low`, `gap_high`: simulated - predicted; `distance`, `distance_low`,
            `distance_high`: total-variation distance of the mean (`statistics.distribution_distance`); `verdict`:
            agrees, close, differs or undecided (`AGREES`, `CLOSE`); and what was measured: `loss`, `loss_timeout`,
            `loss_other`, `timeout_over_rtt`, `jain`, `starved`, `utilisation`, with the chain's `loss_predicted`,
            `jain_predicted`, `starved_predicted`.
        """
        self._check_work()
        with listening(progress) if progress is not None else nullcontext():
            cases = self._cases()
        result = xr.concat(cases, xr.Variable("flows", list(self.flows)))
        result = result.merge(self._predicted_loss())
        result.attrs = self.attributes()
        return result

    def _cases(self) -> list[xr.Dataset]:
        cases = []
        for n in tracked(self.flows):
            drop_tail = replicate(self.scenario("drop-tail", n), self.replications)
            runs = {"drop-tail": drop_tail} | {
                link: replicate(self.scenario(link, n, drop_tail), self.replications) for link in tracked(LINKS[1:])
            }
            cases.append(xr.concat([self._case(runs[link]) for link in LINKS], xr.Variable("link", list(LINKS))))
        return cases

    def _case(self, runs: xr.Dataset) -> xr.Dataset:
        """One link and number of flows: every prediction at the loss of its own replication."""
        share, w_max = runs.epoch_fraction.values, self.w_max  # (replication, 8 or more)
        shares = np.concatenate([share[:, :w_max], share[:, w_max:].sum(axis=1, keepdims=True)], axis=1)
        simulated = xr.DataArray(shares, dims=("replication", "packets"), coords={"packets": np.arange(w_max + 1)})
        predicted = xr.concat([self._predict(chain, runs) for chain in CHAINS], xr.Variable("chain", list(CHAINS)))
        gap = simulated - predicted
        far = distribution_distance(gap, "packets")
        out = interval(simulated, "simulated", True) | interval(gap, "gap")
        for name, part in zip(self.effect, ("distance", "low", "high"), strict=True):
            out[name] = far[part].assign_attrs(units="1")
        out["predicted"] = predicted.mean("replication")
        low, high = out["distance_low"], out["distance_high"]
        out["verdict"] = high.copy(data=grade_distance(low, high, AGREES, CLOSE))
        measured = {
            "loss": runs.loss_rate,
            "loss_timeout": runs.loss_rate_timeout,
            "loss_other": runs.loss_rate_other,
            "timeout_over_rtt": runs.rto_over_rtt,
            "jain": runs.slice_jain.mean("slice"),
            "starved": runs.slice_starved.mean("slice"),
            "utilisation": runs.utilisation,
        }
        for name, values in measured.items():
            out |= interval(values, name, name != "timeout_over_rtt")
        out |= interval(_silence_tail(runs), "silence_tail", True)
        return xr.Dataset({**out, **self._fairness(runs)})

    def _predict(self, chain: str, runs: xr.Dataset) -> xr.DataArray:
        loss = runs.loss_rate.drop_vars("seed")
        if chain == "full":
            model: Any = self.chain_model(SubPacketFull, 0.1)
            problem = model.chain().at(p=loss)
        elif chain == "exact, measured timer":
            p = runs.loss_rate_other.drop_vars("seed")
            # A run without timeouts has none to measure.
            p_r = runs.loss_rate_timeout.drop_vars("seed").fillna(p)
            timer = np.maximum(runs.rto_over_rtt.drop_vars("seed").fillna(self.base_timeout), 1.0)
            model = self.chain_model(SubPacketExact, p, retransmission_loss=p_r, base_timeout=timer, collapse=2)
            problem = model.chain()
        else:
            model = self.chain_model(SubPacketExact, loss, collapse=2 if "two" in chain else self.collapse)
            problem = model.chain()
        sent: xr.DataArray = model.observe(stationary(problem)).sent
        return sent.drop_vars([c for c in sent.coords if c != "packets"])

    def _fairness(self, runs: xr.Dataset) -> dict[str, Any]:
        """Jain's index and the share of starved flows over a slice, from the exact chain at the mean
        measured loss."""
        model = self.chain_model(SubPacketExact, float(runs.loss_rate.mean()))
        epochs = max(1, round(self.slice / float(runs.mean_rtt.mean())))
        over = windowed(model.chain(), model.delivered(), epochs)
        return {
            "jain_predicted": ((), float(over.jain), {"units": "1"}),
            "starved_predicted": ((), float(over.nothing), {"units": "1"}),
        }

    def _predicted_loss(self) -> xr.Dataset:
        link, flow = self._link(list(self.flows)), self.chain_model(SubPacketExact, 0.1)
        root = self_consistent(link.balance(flow)).root
        return xr.Dataset(
            {"loss_predicted": ("flows", root.values, {"units": "1", "long_name": "self-consistent loss"})}
        )

    def _link(self, flows: Any) -> SharedLink:
        return SharedLink(
            flows=flows, capacity=self.rate, base_rtt=float(np.mean(self.base_rtt)), buffer=self.buffer,
            packet_size=self.packet_size,
        )  # fmt: skip

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """Fig. 9 of Chen et al.: a panel for each number of packets, chains as lines, simulations with intervals."""
        from tcpdynamics.charts.drawing import go, make_subplots

        own = comparison_of(result)
        numbers = range(min(own.w_max, PANELS))
        rows = -(-len(numbers) // 3)
        titles = [f"{n} packet{'' if n == 1 else 's'} sent" for n in numbers]
        panels = make_subplots(
            rows, 3, subplot_titles=titles, shared_xaxes=True, vertical_spacing=0.24 / rows, horizontal_spacing=0.06
        )
        loss = np.linspace(0.005, 0.48, 200)
        lines: dict[str, Any] = {
            "full": own.chain_model(SubPacketFull, loss),
            "exact": own.chain_model(SubPacketExact, loss),
            "exact, two successes": own.chain_model(SubPacketExact, loss, collapse=2),
        }
        for name, model in lines.items():
            sent = model.observe(stationary(model.chain())).sent.values
            for n in numbers:
                panels.add_trace(
                    go.Scatter(x=loss, y=sent[:, n], name=f"chain: {name}", legendgroup=name, showlegend=n == 0,
                               line={"color": CHAIN_COLOURS[name], "dash": "solid" if name == "full" else "dash"}),
                    row=n // 3 + 1, col=n % 3 + 1,
                )  # fmt: skip
        for link in LINKS:
            part = result.sel(link=link)
            symbol, colour = MARKERS[link]
            for n in numbers:
                points = part.isel(packets=n)
                panels.add_trace(
                    go.Scatter(
                        x=points.loss.values, y=points.simulated.values, mode="markers", name=f"simulated: {link}",
                        legendgroup=link, showlegend=n == 0, marker={"symbol": symbol, "color": colour, "size": 8},
                        error_y={"array": points.simulated_high.values - points.simulated.values, "thickness": 1},
                        text=[f"{m} flows" for m in part.flows.values],
                    ),
                    row=n // 3 + 1, col=n % 3 + 1,
                )  # fmt: skip
        panels.update_xaxes(title_text="packet-loss probability", row=rows)
        for column in range(len(numbers) % 3 or 3, 3):  # whose lowest panel stands a row higher
            lowest = {"title_text": "packet-loss probability", "showticklabels": True}
            panels.update_xaxes(lowest, row=rows - 1, col=column + 1)
        panels.update_yaxes(title_text="probability of an epoch", col=1)
        panels.update_yaxes(rangemode="tozero", tickformat="~%").update_xaxes(tickformat="~%")
        panels.update_layout(
            height=310 * rows, legend={"orientation": "h", "y": -0.28 / rows}, margin={"t": 70}, template="plotly_white"
        )
        if own.changed():
            panels.update_layout(title=f"Chains with {own.changed()}", margin={"t": 100})
        return panels

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """The result in words, made from its numbers; an empty line separates paragraphs."""
        rows = {(row["link"], row["chain"]): row for row in summary(result)}
        total, own = result.sizes["flows"], comparison_of(result)

        def near(link: str, chain: str) -> str:
            row = rows[link, chain]
            low, high = row["distance"]
            return f"{len(row['agrees']) + len(row['close'])} of {total} loads (distances {low:.2f} to {high:.2f})"

        worst = rows["drop-tail", "full"]
        low, high = worst["gap_interval"]
        tail, ideal = result.sel(link="drop-tail"), result.sel(link="independent")
        ratio = tail.loss_timeout / tail.loss_other
        by_link = result.distance.sel(chain="exact").mean("flows")
        cancel = (
            ", nearer than where its assumptions hold: errors that cancel, not a better model"
            if by_link.sel(link="spread") < by_link.sel(link="independent")
            else ""
        )
        return (
            (f"The chains have {own.changed()}. " if own.changed() else "")
            + f"Within {CLOSE:g} of the packets, the chain as printed is under drop-tail with equal RTTs at "
            f"{near('drop-tail', 'full')}, with RTTs spread by 5 % at {near('spread', 'full')}, with jitter at "
            f"{near('jitter', 'full')}. Its largest gap with equal RTTs is {worst['largest_gap']:+.3f} "
            f"[{low:+.3f}, {high:+.3f}], in the probability of {worst['gap_packets']} packets an epoch, with "
            f"{worst['gap_flows']} flows.\n\n"
            f"Is an agreement the chain's merit? Where the loss is independent, the RTT constant and the "
            f"timeout {own.base_timeout:g} RTT, "
            f"which is all that the chain assumes of a network, the same chain is at {near('independent', 'full')}, "
            f"the exact chain at {near('independent', 'exact')}, and the exact chain whose backoff ends with "
            f"the first new "
            f"segment acknowledged (Karn's rule) at {near('independent', 'exact, two successes')}. What remains "
            f"there is the chain's simplification of a sender; what differs from it elsewhere is the queue's and the "
            f"timer's doing. "
            f"With spread RTTs the exact chain with {_SUCCESSES[own.collapse]} is at "
            f"{near('spread', 'exact')}{cancel}.\n\n"
            f"With equal RTTs the timer is {float(tail.timeout_over_rtt.min()):.2f} to "
            f"{float(tail.timeout_over_rtt.max()):.2f} RTT, not {own.base_timeout:g}, and timeout "
            f"retransmissions are lost "
            f"{float(ratio.min()):.2f} to {float(ratio.max()):.2f} times as often as other packets "
            f"(independent loss: "
            f"{float((ideal.loss_timeout / ideal.loss_other).mean()):.2f} times). With the measured timer "
            f"and both losses, the exact chain is near at {near('drop-tail', 'exact, measured timer')} with equal "
            f"RTTs, at {near('spread', 'exact, measured timer')} with spread RTTs and at "
            f"{near('jitter', 'exact, measured timer')} with jitter.{_low_loss(result, own.w_max)}"
        )

    @staticmethod
    def silence_figure(result: xr.Dataset, flows: int) -> go.Figure:
        """P(a silence lasts at least t epochs): simulated with intervals, and by the exact chain at the measured
        loss."""
        from tcpdynamics.charts.drawing import go

        figure = go.Figure()
        for link in result.link.values:
            colour = MARKERS[str(link)][1]
            part = result.sel(link=link, flows=flows)
            x = part.length.values
            shown = np.flatnonzero(part.silence_tail.values > 0)
            for edge, fill in (("high", None), ("low", "tonexty")):
                figure.add_trace(
                    go.Scatter(
                        x=x[shown], y=np.maximum(part[f"silence_tail_{edge}"].values[shown], 1e-7),
                        fill=fill, mode="lines",
                        line={"width": 0, "color": colour, "shape": "hv"},
                        showlegend=False, hoverinfo="skip", legendgroup=str(link),
                    )
                )  # fmt: skip
            figure.add_trace(
                go.Scatter(
                    x=x[shown], y=part.silence_tail.values[shown],
                    name=f"simulated: {link} (loss {float(part.loss):.3f})",
                    line={"color": colour, "shape": "hv"}, legendgroup=str(link),
                )
            )  # fmt: skip
        loss = float(result.loss.sel(link="independent", flows=flows))
        own = comparison_of(result)
        for j, m in enumerate(dict.fromkeys((own.collapse, 2))):
            law = own.chain_model(SubPacketExact, loss, collapse=m).silence_lengths()
            t = result.length.values
            tail = (law.probability.values[:, None] * (law.length.values[:, None] >= t)).sum(axis=0)
            figure.add_trace(
                go.Scatter(
                    x=t[tail > 0], y=tail[tail > 0], name=f"exact chain, {_SUCCESSES[m]}, loss {loss:.3f}",
                    line={"color": BLACK, "dash": ("solid", "dot")[j], "shape": "hv"},
                )
            )  # fmt: skip
        figure.update_layout(**FIGURE_LAYOUT, height=460)
        figure.update_xaxes(type="log", title_text="length of a silence, t [epochs]", range=[0, 2.4])
        figure.update_yaxes(
            type="log", title_text="P(silence lasts at least t)", range=[-4, 0.05], dtick=1, exponentformat="power"
        )
        return figure

    @staticmethod
    def loss_figure(result: xr.Dataset) -> go.Figure:
        """Loss against the number of flows: the mean-field prediction for three timers, and the simulations."""
        from tcpdynamics.charts.drawing import go

        own = comparison_of(result)
        flows = np.unique(np.geomspace(15, 400, 60).round())
        link = own._link(flows)
        figure = go.Figure()
        for m_0 in (1, 2, 3):
            flow = own.chain_model(SubPacketExact, 0.1, base_timeout=m_0)
            root = self_consistent(link.balance(flow)).root
            figure.add_trace(go.Scatter(x=flows, y=root.values, name=f"self-consistent chain, T0 = {m_0} RTT"))
        for name in ("drop-tail", "spread", "jitter"):
            part = result.sel(link=name)
            symbol, colour = MARKERS[name]
            figure.add_trace(
                go.Scatter(
                    x=part.flows.values, y=part.loss.values, name=f"simulated: {name}", mode="markers",
                    marker={"symbol": symbol, "color": colour, "size": 8},
                    error_y={"array": part.loss_high.values - part.loss.values},
                )
            )  # fmt: skip
        figure.update_layout(
            **FIGURE_LAYOUT,
            height=420,
            xaxis_title="flows on the link, N",
            yaxis_title="packet-loss probability",
            yaxis_tickformat="~%",
        )
        return figure


def comparison_of(result: xr.Dataset) -> SubPacketChainVsPackets:
    """The comparison that made a result, from its attributes; what an older result does not say is as by default.

    Examples
    --------
    >>> made = SubPacketChainVsPackets(flows=(20,), w_max=8)
    >>> comparison_of(xr.Dataset(attrs=made.attributes())) == made
    True
    """
    return SubPacketChainVsPackets(**json.loads(result.attrs["parameters"]))


def _is_count(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 1)


#: Loss below which windows may reach the chains' largest, and a share of the epochs that is often.
_LOW_LOSS, _OFTEN = 0.1, 0.05


def _low_loss(result: xr.Dataset, w_max: int) -> str:
    """How often windows reach the chains' largest at low loss, and how near the chains are there; queues only."""
    queues = [link for link in result.link.values if link != "independent"]
    cases = [
        result.sel(link=link, flows=flows, packets=w_max)
        for link in queues
        for flows in result.flows.values
        if result.loss.sel(link=link, flows=flows) < _LOW_LOSS
    ]
    if not cases:
        return ""
    shares = [float(case.simulated) for case in cases]
    exact = [float(case.predicted.sel(chain="exact")) for case in cases]
    often = [case for case in cases if case.simulated > _OFTEN]
    by_link = {link: [str(c.flows.item()) for c in often if c.link == link] for link in queues}
    where = "; ".join(f"{link} with {', '.join(flows)} flows" for link, flows in by_link.items() if flows)
    near = sum(int(case.verdict.isin([Verdict.AGREES, Verdict.CLOSE]).sum()) for case in cases)
    return (
        f" Where there is a queue and the loss is below {_LOW_LOSS:g} ({len(cases)} cases), an epoch has the chains' "
        f"largest window, {w_max} packets, or more with probability {min(shares):.2g} to {max(shares):.2g}"
        f" (in more than {_OFTEN:.0%} of the epochs: {where or 'nowhere'}); the exact chain says {min(exact):.2g} to "
        f"{max(exact):.2g}. A chain is within {CLOSE:g} there in {near} of {len(cases) * result.sizes['chain']} "
        "comparisons."
    )


def _silence_tail(runs: xr.Dataset) -> xr.DataArray:
    """P(a silence lasts at least t epochs), t = 1 ... LONGEST, by replication."""
    count = runs.silences.sum("flow").values[:, 1:].astype(float)  # silences of less than an epoch are none
    at_least = count[:, ::-1].cumsum(axis=1)[:, ::-1][:, :LONGEST]
    total = count.sum(axis=1, keepdims=True)
    tail = np.divide(at_least, total, out=np.full_like(at_least, np.nan), where=total > 0)
    length = ("length", np.arange(1, LONGEST + 1), {"units": "epoch", "long_name": "length of a silence"})
    return xr.DataArray(tail, dims=("replication", "length"), coords={"length": length}, attrs={"units": "1"})


def summary(result: xr.Dataset) -> list[dict[str, Any]]:
    """One row for each link and chain: over which measured losses it agrees, is close, differs; and its
    largest gap."""
    rows = []
    for link in LINKS:
        for chain in CHAINS:
            part = result.sel(link=link, chain=chain)
            at: dict[str, list[float]] = {
                str(verdict): sorted(part.loss.values[part.verdict.values == verdict].tolist()) for verdict in Verdict
            }
            worst = part.gap.isel(packets=slice(0, -1))
            where = np.unravel_index(np.nanargmax(np.abs(worst.values)), worst.shape)
            at_worst = dict(zip(worst.dims, where, strict=True))
            n, k = part.flows.values[at_worst["flows"]], int(worst.packets.values[at_worst["packets"]])
            low, high = (float(part[f"gap_{e}"].isel(at_worst)) for e in ("low", "high"))
            rows.append(
                {
                    "link": link, "chain": chain, **at, "largest_gap": float(worst.isel(at_worst)),
                    "gap_interval": [low, high], "gap_packets": k, "gap_flows": int(n),
                    "distance": [float(part.distance.min()), float(part.distance.max())],
                }
            )  # fmt: skip
    return rows
