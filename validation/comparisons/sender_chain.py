"""The chain that is compiled from a sender, compared with its simulator: the distance must be zero.

Both are the same code. What could differ is what the chain leaves out of a state, makes relative, lumps, or sets
otherwise than the simulator does by default; so a distance that is not zero is a fault in one of them. The packets'
scenario is therefore made here, without the chain's `Setting.flows`. Losses are independent and round trips constant,
as the chain has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics.charts.comparisons import error_bars
from tcpdynamics.charts.look import COLOURS, LEGEND_BELOW
from tcpdynamics.errors import DomainError, shown
from tcpdynamics.limits import check_work
from tcpdynamics.progress import listening, tracked

from ..packet import Flows, Link, Scenario, replicate
from ..sender_chain import SenderChain, Setting, sender_chain
from ..sender_chain.setting import START
from ..statistics import distribution_distance
from .comparison import WIDEST, Comparison, check_length, counts, grade

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Name -> fields of `validation.sender_chain.Setting`.
SENDERS: Mapping[str, Mapping[str, Any]] = {
    f"{sender}, {rules}": {"sender": sender, "rules": rules}
    for rules in ("rfc", "ns2")
    for sender in ("tahoe", "reno", "newreno", "sack")
} | {
    "sack, rfc, limited transmit": {"sender": "sack", "rules": "rfc", "limited_transmit": True},
    "newreno, rfc, LEAP": {"sender": "newreno", "rules": "rfc", "leap": True},
}


@dataclass(frozen=True)
class SenderChainVsPackets(Comparison):
    """Packets sent per round trip by a sender's own chain, and by the simulator with independent losses.

    Parameters
    ----------
    senders : sequence of str     Among `SENDERS`.
    losses : sequence of float    Chances that a packet is lost, in (0, 1).
    window : int                  Advertised window [packet].
    backoff_cap : int             Doublings of the timeout at most.
    duration, warm_up : float     [RTT]
    replications : int            Independent runs, >= 2.
    seed : int

    Examples
    --------
    >>> quick = SenderChainVsPackets(senders=("sack, rfc",), losses=(0.1,), window=2, duration=2000.0, replications=5)
    >>> result = quick.run()
    >>> result.distance_low.item(), "differs" in result.verdict.values
    (0.0, False)
    """

    command: ClassVar[str] = "sender-chain"
    effect: ClassVar[tuple[str, str, str]] = ("distance", "distance_low", "distance_high")
    rule: ClassVar[str] = (
        "intervals of the distance that hold together at 95 % (Bonferroni over senders and losses); differs: the "
        f"interval misses zero; agrees: it begins at zero and reaches {WIDEST} at most; undecided: it reaches further"
    )
    quick: ClassVar[dict[str, Any]] = {"senders": tuple(SENDERS)[3:8:4], "losses": (0.05, 0.2, 0.4), "duration": 5000.0}

    senders: Sequence[str] = tuple(SENDERS)
    losses: Sequence[float] = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
    window: int = 4
    backoff_cap: int = 6
    duration: float = 80_000.0
    warm_up: float = 500.0
    replications: int = 30
    seed: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("senders", "losses"):
            check_length(name, getattr(self, name))
        for sender in self.senders:
            if sender not in SENDERS:
                raise DomainError(f"senders must list some of {'; '.join(SENDERS)}, got {shown(sender)}")
        for loss in self.losses:
            if not 0.0 < loss < 1.0:
                raise DomainError(f"losses must lie in (0, 1), got {shown(loss)}")

    def run(self) -> xr.Dataset:
        """Compile, simulate, compare.

        Returns
        -------
        xarray.Dataset over `sender`, `loss` and `packets` (0, 1, ... sent in a round trip)
            `predicted`, `simulated` [1]; over `sender` and `loss` `distance` with its interval (total variation of the
            mean, `statistics.distribution_distance`), `noise` (the distance that chance alone makes), `verdict`;
            over `sender` `states`, those of the chain.

        Raises
        ------
        SenderChainError
            A sender whose states cannot be explored with that window.
        """
        cases = len(self.senders) * len(self.losses)
        work = cases * self.replications * self.duration * self.window
        check_work("all runs", work, "give fewer senders, losses or replications, or a shorter duration")
        parts = []
        for name in tracked(self.senders):
            chain = sender_chain(window=self.window, backoff_cap=self.backoff_cap, **SENDERS[name])
            with listening(lambda share: None):
                each = [self._case(chain, loss, 1 - 0.05 / cases) for loss in self.losses]
            part = xr.concat(each, xr.Variable("loss", list(self.losses)), join="outer", fill_value=0.0)
            parts.append(part.assign(states=((), len(chain.instants))))
        result = xr.concat(parts, xr.Variable("sender", list(self.senders)), join="outer", fill_value=0.0)
        low, high = result.distance_low.values, result.distance_high.values
        # A distance is never negative: an interval that begins at zero holds zero.
        result["verdict"] = (result.distance.dims, grade(low, high, WIDEST / 2))
        result.attrs = self.attributes()
        return result

    def _case(self, chain: SenderChain, loss: float, level: float) -> xr.Dataset:
        law = chain.at(loss)
        shares = replicate(self.scenario(chain.setting, loss), self.replications).epoch_fraction.values
        predicted = np.zeros(shares.shape[1])
        predicted[: len(law)] = law
        coords = {"packets": np.arange(shares.shape[1])}
        gap = xr.DataArray(shares - predicted, dims=("replication", "packets"), coords=coords)
        found = distribution_distance(gap, "packets", level=level)
        out = {
            "predicted": ("packets", predicted, {"units": "1"}),
            "simulated": ("packets", shares.mean(axis=0), {"units": "1"}),
            "distance": found["distance"],
            "distance_low": found["low"],
            "distance_high": found["high"],
            "noise": found["noise"],
        }
        return xr.Dataset(out, coords)

    def scenario(self, sender: Setting, loss: float) -> Scenario:
        """The packets: a sender by the defaults of `Flows`, except for the keys that users of a chain choose."""
        flow = Flows(
            sender=sender.sender, rules=sender.rules, source="sender", target="receiver", window_limit=sender.window,
            limited_transmit=sender.limited_transmit, leap=sender.leap, min_rto=sender.timeout,
            initial_rto=sender.timeout, max_rto=sender.timeout * 2**sender.backoff_cap,
            max_backoff=2**sender.backoff_cap, timer_granularity=sender.tick, start=START,
        )  # fmt: skip
        there = Link("sender", "receiver", rate=None, delay=0.5, loss=loss, duplex=False)
        back = Link("receiver", "sender", rate=None, delay=0.5, duplex=False)
        return Scenario(
            (flow,), links=(there, back), duration=self.warm_up + self.duration, warm_up=self.warm_up, epoch=1.0,
            slice=self.duration, seed=self.seed, clock="grid", most_in_epoch=2 * sender.window,
        )  # fmt: skip

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """Distances with their intervals, and the distance that chance alone makes."""
        from tcpdynamics.charts.drawing import go

        picture = go.Figure()
        for i, name in enumerate(map(str, result.sender.values)):
            part, colour = result.sel(sender=name), COLOURS[i % len(COLOURS)]
            picture.add_scatter(
                x=part.loss.values, y=part.distance.values, name=name, mode="markers",
                marker={"color": colour, "symbol": ("circle", "x")[i // len(COLOURS) % 2]},
                error_y=error_bars(part, "distance"),
            )  # fmt: skip
        noise = result.noise.mean("sender")
        picture.add_scatter(
            x=result.loss.values, y=noise.values, name="by chance alone", line={"dash": "dot", "color": "#555555"}
        )
        picture.update_layout(height=420, template="plotly_white", legend=LEGEND_BELOW, margin={"t": 30})
        picture.update_xaxes(title_text="packet-loss probability", tickformat="~%")
        picture.update_yaxes(title_text="total-variation distance", rangemode="tozero")
        return picture

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """The result in words, made from its numbers."""
        worst = float((result.distance / result.noise).max())
        states = ", ".join(
            f"{name} {int(part)}" for name, part in zip(result.sender.values, result.states, strict=True)
        )
        return (
            f"Chains compiled from the simulator's senders beside the simulator, losses "
            f"{float(result.loss.min()):g} to {float(result.loss.max()):g}: {counts(result.verdict)}. The largest "
            f"distance is {float(result.distance.max()):.4f}, {worst:.1f} times what chance alone makes of so many "
            f"runs; the widest interval reaches {float(result.distance_high.max()):.4f}. States: {states}."
        )
