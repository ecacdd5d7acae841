"""One BBR flow against CUBIC over the buffer size, in Linux, compared with the model of Ware et al. (IMC 2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics.charts.comparisons import error_bars
from tcpdynamics.charts.look import COLOURS, LEGEND_BELOW
from tcpdynamics.errors import DomainError

from ..linux import TODAY
from ..packet import Bottleneck, Flows, Scenario
from ..statistics import mean_interval
from .comparison import AGREES, CLOSE, check_length, counts, grade_distance, interval_text
from .engines import LINUX, Cell
from .study import Study

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Bits of a packet.
PACKET = 12_000.0


def published_share(buffer: float, rate: float, rtt: float, flows: int = 1) -> float:
    """Share of the link that BBR flows have against any number of loss-based flows [1].

    BBR is limited by its window, two bandwidth-delay products by its own estimates. It sees the rate (1-p) c, and, when
    it has drained its own packets but four a flow, the round trip (p q + 4 N)/c + l, where p is the others' share of
    the full buffer of q packets. Two such products are what it holds, (1-p)(q + c l), so that
    p = 1/2 - 1/(2 X) - 4 N/q with X = q/(c l). Every ten seconds it drains for q/c + l + 0.2 s.

    Parameters
    ----------
    buffer : float    X, in bandwidth-delay products [1].
    rate : float      c [packet/s].
    rtt : float       l, without queueing [s].
    flows : int       N, of BBR.

    References
    ----------
    .. [1] Ware, Mukerjee, Seshan and Sherry, Modeling BBR's interactions with loss-based congestion control, IMC 2019

    Examples
    --------
    >>> round(published_share(0.5, 833.3, 0.04), 3), round(published_share(20.0, 833.3, 0.04), 3)
    (0.974, 0.476)
    """
    queue = buffer * rate * rtt
    others = 0.5 - 0.5 / buffer - 4.0 * flows / queue
    draining = (queue / rate + rtt + 0.2) / 10.0
    return float((1.0 - np.clip(others, 0.0, 1.0)) * (1.0 - draining))


@dataclass(frozen=True)
class BbrVsCubic(Study):
    """One flow each on a drop-tail link, in Linux as it comes.

    Parameters
    ----------
    buffers : sequence of float   In bandwidth-delay products [1].
    rate : float                  [bit/s]
    rtt : float                   Without queueing [s].
    cubic : int                   Flows of CUBIC.
    seeds : int                   Runs of each, at least two.
    duration, warm_up : float     [s]
    seed : int
    workers : int                 Guests of Linux at a time.
    timeout : float               Longest wall time of one of them [s].

    Examples
    --------
    >>> BbrVsCubic().scenario(2.0).bottleneck.buffer
    67
    """

    command: ClassVar[str] = "bbr-cubic"
    rule: ClassVar[str] = (
        f"95 % interval of |measured - published|: agrees up to {AGREES}, close up to {CLOSE}, differs beyond; "
        f"undecided: it reaches both sides of {CLOSE}"
    )
    salt: ClassVar[int] = 16
    quantities: ClassVar[Mapping[str, str]] = dict.fromkeys(("share of BBR", "loss rate", "use of the link"), "1")

    buffers: Sequence[float] = (0.5, 1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 20.0)
    rate: float = 1e7
    rtt: float = 0.04
    cubic: int = 1
    seeds: int = 10
    duration: float = 240.0
    warm_up: float = 60.0
    seed: int = 1
    workers: int = 2
    timeout: float = 600.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_length("buffers", self.buffers)
        if not min(self.buffers) > 0:
            raise DomainError(f"buffers must be positive, got {min(self.buffers)}")

    def scenario(self, buffer: float) -> Scenario:
        """The link with a buffer of so many bandwidth-delay products; BBR's flow is the first."""
        packets = max(2, round(buffer * self.rate * self.rtt / PACKET))
        one: dict[str, Any] = {
            "rtt": self.rtt, "packet_size": int(PACKET / 8), "window_limit": 4000, "start_spread": 1.0,
        }  # fmt: skip
        groups = (Flows(1, **one), Flows(self.cubic, control="cubic", **one))
        return Scenario(
            groups, Bottleneck(self.rate, packets), self.duration, self.warm_up,
            f"BBR and CUBIC, buffer of {buffer:g} bandwidth-delay products", self.seed,
        )  # fmt: skip

    def cells(self) -> dict[Any, Cell]:
        return {x: Cell(self.scenario(x), LINUX, TODAY, ("bbr", "cubic")) for x in self.buffers}

    def measure(self, run: xr.Dataset, label: Any, cell: Cell) -> list[float]:
        goodput = run["goodput"].values.astype(float)
        lost = run["dropped"].values.sum() / run["sent"].values.sum()
        return [goodput[0] / goodput.sum(), lost, float(run["link_utilisation"].values[0])]

    def compare(self, runs: Mapping[Any, xr.DataArray]) -> xr.Dataset:
        """Over `buffer`: BBR's share and the published model's.

        Returns
        -------
        xarray.Dataset over `buffer`
            `share`, of the goodput [1], with its 95 % interval `share_low`, `share_high`; `loss` and `use` [1];
            `published` [1]; `difference` with `low`, `high`, and `verdict`.
        """
        buffers = list(self.buffers)
        measured = mean_interval(xr.concat([runs[x] for x in buffers], xr.Variable("buffer", buffers)))
        share, loss, use = (measured.sel(quantity=name, drop=True) for name in self.quantities)
        expected = [published_share(x, self.rate / PACKET, self.rtt) for x in buffers]
        published = xr.DataArray(expected, {"buffer": buffers}, ("buffer",))
        low, high = share["low"] - published, share["high"] - published
        least = np.maximum(np.maximum(low.values, -high.values), 0.0)
        most = np.maximum(abs(low.values), abs(high.values))
        return xr.Dataset({
            "share": share["mean"], "share_low": share["low"].clip(0.0), "share_high": share["high"].clip(max=1.0),
            "loss": loss["mean"], "use": use["mean"],
            "published": published, "difference": share["mean"] - published, "low": low, "high": high,
            "verdict": ("buffer", grade_distance(least, most, AGREES, CLOSE)),
        })  # fmt: skip

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """BBR's share against the buffer: measured with intervals, and published."""
        from tcpdynamics.charts.drawing import go

        picture = go.Figure()
        picture.add_scatter(
            x=result.buffer.values, y=result.share.values, name="Linux", mode="lines+markers",
            line={"color": COLOURS[0]},
            error_y=error_bars(result, "share", thickness=None),
        )  # fmt: skip
        picture.add_scatter(
            x=result.buffer.values, y=result.published.values, name="published model", mode="lines+markers",
            line={"color": COLOURS[1], "dash": "dash"},
        )  # fmt: skip
        picture.add_hline(y=0.5, line={"width": 1, "color": "#777777"})
        picture.update_layout(height=420, template="plotly_white", legend=LEGEND_BELOW, margin={"t": 30})
        picture.update_xaxes(
            title_text="buffer [bandwidth-delay products]", type="log", tickvals=result.buffer.values,
            ticktext=[f"{x:g}" for x in result.buffer.values],
        )  # fmt: skip
        picture.update_yaxes(title_text="BBR's fraction of the goodput", range=[0, 1], tickformat="~%")
        return picture

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """The result in words, made from its numbers."""
        parts = [
            f"{float(one.buffer):g}: {interval_text(one, 'share')}, published {float(one.published):.3f}"
            for one in (result.isel(buffer=i) for i in range(result.sizes["buffer"]))
        ]
        return (
            f"Linux {result.attrs['linux']}: the share of one BBR flow against CUBIC, by the buffer in bandwidth-delay "
            f"products: {'; '.join(parts)}. Verdicts: {counts(result.verdict)}."
        )
