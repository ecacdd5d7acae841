"""The picture and the words of the comparison of T-REFWA's maps with fluids."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from .pictures import COLOURS
from .verdicts import counts

if TYPE_CHECKING:
    import plotly.graph_objects as go


def figure(result: xr.Dataset) -> go.Figure:
    """Which reading describes which fluid (largest distance of multipliers over the gains), and the map's reach."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    panels = make_subplots(
        1, 2, column_widths=[0.66, 0.34], horizontal_spacing=0.12,
        subplot_titles=("distance of multipliers, largest over the gains", "reach of the window reading"),
    )  # fmt: skip
    worst = result.distance.max("gains").transpose("fluid", "reading")
    holds = (result.verdict == "agrees").all("gains").transpose("fluid", "reading").values
    text = [
        [("agrees" if ok else f"{d:.2f}") for ok, d in zip(*row, strict=True)]
        for row in zip(holds, worst.values, strict=True)
    ]
    panels.add_trace(
        go.Heatmap(
            x=list(worst.reading.values), y=list(worst.fluid.values),
            z=np.where(holds, -0.25, np.minimum(worst.values, 1.5)),
            zmin=-0.25, zmax=1.5, showscale=False, text=text, texttemplate="%{text}",
            colorscale=[[0, "#9ADBC0"], [0.14, "#9ADBC0"], [0.15, "#FFF6E5"], [1, "#F3B58F"]],
        ),
        row=1, col=1,
    )  # fmt: skip
    panels.update_yaxes(autorange="reversed", automargin=True, row=1, col=1)
    panels.update_xaxes(tickangle=-35, row=1, col=1)
    panels.add_trace(
        go.Scatter(x=result.lag.values, y=result.reach_predicted.values, mode="lines", name="what the link can drain",
                   line={"color": "#000000", "width": 1.5}),
        row=1, col=2,
    )  # fmt: skip
    panels.add_trace(
        go.Scatter(x=result.lag.values, y=result.reach.values, mode="markers", name="from simulations",
                   marker={"color": COLOURS[2], "size": 9}),
        row=1, col=2,
    )  # fmt: skip
    panels.update_xaxes(title_text="lag of the command [RTT]", range=[0, 1], row=1, col=2)
    panels.update_yaxes(title_text="start above Q* [B]", rangemode="tozero", row=1, col=2)
    panels.update_layout(
        height=470, template="plotly_white", margin={"t": 50, "r": 20},
        legend={"orientation": "h", "y": -0.3, "x": 1, "xanchor": "right"},
    )  # fmt: skip
    return panels


def paragraph(result: xr.Dataset) -> str:
    """What the comparison says, in words made from its numbers; paragraphs are apart by an empty line."""
    told = []
    for name in result.fluid.values:
        here = result.sel(fluid=name)
        described = "no reading" if here.best == "none" else f"the reading “{here.best.item()}”"
        told.append(
            f"{name}: {described} (critical phi {float(here.critical):.3f}, "
            f"expected {float(here.critical_predicted):.3f})"
        )
    gap = float(abs(result.reach - result.reach_predicted).max())
    first, last = (float(x) for x in result.cycle.values[-2:])
    parameters = json.loads(result.attrs["parameters"])
    paced = [n for n in result.fluid.values if n.startswith("rates")]
    lost = ", ".join(f"{float(result.lost.sel(fluid=n)):.2f} ({n})" for n in paced)
    window = result.sel(fluid="windows, half an RTT")
    published = [f"({a:g}, {b:g})" for a, b in parameters["gains"]].index("(1.5, 0.5)") if [1.5, 0.5] in [
        list(g) for g in parameters["gains"]
    ] else None  # fmt: skip
    at_published = ""
    if published is not None:
        multiplier = float(window.measured.sel(part="real")[published])
        at_published = (
            f"At (1.5, 0.5) the measured multiplier is {multiplier:+.4f}, and an empty network ends in a queue that "
            f"alternates between {min(first, last):.3f} B and {max(first, last):.3f} B. "
        )
    return (
        f"Which reading of eq. (3) holds depends on what a command is and when it acts: {'; '.join(told)}. Critical "
        f"gains: {counts(result.critical_verdict)}.\n\n"
        f"Windows in flight leave their excess in the queue, so that it settles at {float(window.settled):.3f} B "
        f"(phi = 1, psi = 1/2); rates add theirs up, and it settles at "
        f"{float(result.settled.sel(fluid='rates, a full RTT')):.3f} B, at the buffer's end. {at_published}From a "
        f"half-full buffer of B, rates lose, at the published gains and in units of the bandwidth-delay "
        f"product: {lost}. "
        f"The window reading stops holding where a command takes back more than the link drains between its "
        f"effect and the "
        f"next reading, (1 - lag) BDP: measured reach and this bound are apart by at most {gap:.1e} B."
    )
