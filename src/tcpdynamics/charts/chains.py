"""Figures of the report: functions from results to plotly figures. They never show, write or serve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from tcpdynamics.models import SharedLink, SubPacketExact
from tcpdynamics.solvers import self_consistent
from tcpdynamics.validation.comparisons.sub_packet import MARKERS

if TYPE_CHECKING:
    import xarray as xr

#: Okabe and Ito's colours, which colour-blind readers tell apart.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_LAYOUT: dict[str, Any] = {
    "template": "plotly_white",
    "colorway": PALETTE,
    "margin": {"t": 30, "r": 20},
    "legend": {"orientation": "h", "y": -0.2},
}


def sent_against_loss(seen: xr.Dataset) -> go.Figure:
    """P(n packets sent in an epoch) against loss, one line for each n; from `model.observe(...)`."""
    figure = go.Figure()
    for n in seen.packets.values:
        figure.add_trace(go.Scatter(x=seen.loss.values, y=seen.sent.sel(packets=n).values, name=f"{n} sent"))
    figure.update_layout(
        **_LAYOUT, height=420, xaxis_title="packet-loss probability", yaxis_title="probability of an epoch"
    )
    return figure


def silence_tail(result: xr.Dataset, flows: int) -> go.Figure:
    """P(a silence lasts at least t epochs): simulated with intervals, and by the exact chain at the measured loss."""
    figure = go.Figure()
    for link in result.link.values:
        colour = MARKERS[str(link)][1]
        part = result.sel(link=link, flows=flows)
        x = part.length.values
        seen = np.flatnonzero(part.silence_tail.values > 0)
        for edge, fill in (("high", None), ("low", "tonexty")):
            figure.add_trace(
                go.Scatter(
                    x=x[seen], y=np.maximum(part[f"silence_tail_{edge}"].values[seen], 1e-7),
                    fill=fill, mode="lines",
                    line={"width": 0, "color": colour, "shape": "hv"},
                    showlegend=False, hoverinfo="skip", legendgroup=str(link),
                )
            )  # fmt: skip
        figure.add_trace(
            go.Scatter(
                x=x[seen], y=part.silence_tail.values[seen], name=f"simulated: {link} (loss {float(part.loss):.3f})",
                line={"color": colour, "shape": "hv"}, legendgroup=str(link),
            )
        )  # fmt: skip
    loss = float(result.loss.sel(link="independent", flows=flows))
    for j, (m, name) in enumerate(((3, "three successes"), (2, "two successes"))):
        law = SubPacketExact(loss=loss, collapse=m).silence_lengths()
        t = result.length.values
        tail = (law.probability.values[:, None] * (law.length.values[:, None] >= t)).sum(axis=0)
        figure.add_trace(
            go.Scatter(
                x=t[tail > 0], y=tail[tail > 0], name=f"exact chain, {name}, loss {loss:.3f}",
                line={"color": PALETTE[6], "dash": ("solid", "dot")[j], "shape": "hv"},
            )
        )  # fmt: skip
    figure.update_layout(**_LAYOUT, height=460)
    figure.update_xaxes(type="log", title_text="length of a silence, t [epochs]", range=[0, 2.4])
    figure.update_yaxes(
        type="log",
        title_text="P(silence lasts at least t)",
        range=[-4, 0.05],
        dtick=1,
        exponentformat="power",
    )
    return figure


def self_consistent_loss(result: xr.Dataset, **link: Any) -> go.Figure:
    """Loss against the number of flows: the mean-field prediction for three timers, and the simulations."""
    flows = np.unique(np.geomspace(15, 400, 60).round())
    figure = go.Figure()
    for m_0 in (1, 2, 3):
        root = self_consistent(SharedLink(flows=flows, base_timeout=m_0, **link).balance()).root
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
        **_LAYOUT, height=420, xaxis_title="flows on the link, N", yaxis_title="packet-loss probability"
    )
    return figure
