"""Figures of the paper, produced again: same axes, printed numbers as crosses; first reading, 95 % intervals."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tcpdynamics.charts.look import LEGEND_BELOW

from .. import ledger, rules
from ..curves import COLOURS
from ..registry import figure_of

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

PLAIN = ("Reno", "NewReno", "SACK")
DENSITY = "flow density [1/s]"
#: Generated transfers of 3000 s at a density of one a second.
GENERATED = 3000


def _lines(
    x: Sequence[float], rows: Iterable[tuple[str, xr.DataArray]], title: str, axis: str, scale: float = 1.0
) -> go.Figure:
    """A line with intervals for each row, an array over `reading`, `replication` and one axis more."""
    from tcpdynamics.charts.drawing import go

    drawing = go.Figure()
    for (name, values), colour in zip(rows, itertools.cycle(COLOURS), strict=False):
        cells = values.isel(reading=0).transpose(..., "replication").values.tolist()
        intervals = [rules.interval(cell) for cell in cells]
        drawing.add_trace(go.Scatter(
            x=list(x), y=[scale * i.mean for i in intervals], name=name, mode="lines+markers", line={"color": colour},
            error_y={"array": [scale * (i.high - i.mean) for i in intervals]}, marker={"size": 6},
        ))  # fmt: skip
    drawing.update_layout(
        height=460, template="plotly_white", legend=LEGEND_BELOW, xaxis_title=axis, yaxis_title=title, showlegend=True
    )
    return drawing


def _densities(result: xr.Dataset) -> list[float]:
    return [float(d) for d in result.density.values]


def _mark(drawing: go.Figure, scale: dict[float, float] | None = None) -> go.Figure:
    """Add the cells of Table 1 as crosses, in the colour of their sender; `scale` by density."""
    by_sender: dict[str, dict[float, float]] = {}
    for claim in ledger.claims("leap").values():
        if claim.id.startswith("leap.table1.") and "density" in claim.case:
            density = float(claim.case["density"])
            by_sender.setdefault(claim.case["sender"], {})[density] = claim.number * (scale or {}).get(density, 1.0)
    for trace in list(drawing.data):
        printed = by_sender.get(trace.name, {})
        if printed:
            drawing.add_scatter(
                x=list(printed), y=list(printed.values()), name=f"{trace.name}, Table 1", mode="markers",
                marker={"color": trace.line.color, "symbol": "x", "size": 10},
            )  # fmt: skip
    return drawing


@figure_of("leap.table1", "Table 1: share of the generated transfers that finish, against the density", "leap.star")
def table1(result: xr.Dataset) -> go.Figure:
    """Lines: packets. Crosses: the paper's 20 cells."""
    rows = [(str(s), result.finished.sel(sender=s)) for s in result.sender.values]
    return _mark(_lines(_densities(result), rows, "fraction of transfers that finish", DENSITY)).update_yaxes(
        tickformat="~%"
    )


def _number(result: xr.Dataset, senders: Sequence[str]) -> go.Figure:
    """Finished transfers in 3000 s, with the line of those that are generated."""
    x = _densities(result)
    generated = {d: GENERATED * d for d in x}
    numbers = result.finished * [[[[generated[d]]] for d in x]]
    drawing = _lines(x, [(s, numbers.sel(sender=s)) for s in senders], "finished transfers in 3000 s", DENSITY)
    drawing.add_scatter(
        x=x, y=list(generated.values()), name="generated", mode="lines", line={"color": "#000000", "dash": "dot"}
    )
    return _mark(drawing, generated)


@figure_of("leap.fig2", "Fig. 2: finished transfers against the density, three conventional senders", "leap.star")
def fig2(result: xr.Dataset) -> go.Figure:
    """Lines: packets. Crosses: Table 1."""
    return _number(result, PLAIN)


@figure_of("leap.fig8", "Fig. 8: finished transfers against the density, with LEAP", "leap.star")
def fig8(result: xr.Dataset) -> go.Figure:
    """Lines: packets. Crosses: Table 1."""
    return _number(result, (*PLAIN, "LEAP"))


def _segments(result: xr.Dataset, senders: Sequence[str], measures: Sequence[str]) -> go.Figure:
    rows = [(f"{s}, {m}", result[m].sel(sender=s)) for m in measures for s in senders]
    drawing = _lines(_densities(result), rows, "segments a finished transfer", DENSITY)
    for trace in drawing.data:
        trace.line.dash = "dash" if trace.name.endswith("received") else "solid"
        trace.line.color = COLOURS[senders.index(trace.name.split(",")[0])]
    return drawing


@figure_of("leap.fig3", "Fig. 3: segments sent and received for a transfer, three conventional senders", "leap.star")
def fig3(result: xr.Dataset) -> go.Figure:
    """Solid: sent. Dashed: received, 100 without duplicates."""
    return _segments(result, PLAIN, ("sent", "received"))


@figure_of("leap.fig6", "Fig. 6: segments sent and received for a transfer, with LEAP", "leap.star")
def fig6(result: xr.Dataset) -> go.Figure:
    """Solid: sent. Dashed: received."""
    return _segments(result, (*PLAIN, "LEAP"), ("sent", "received"))


@figure_of("leap.fig7", "Fig. 7: duplicates that a transfer receives, against the density", "leap.star")
def fig7(result: xr.Dataset) -> go.Figure:
    """Segments received once more, for a finished transfer of 100."""
    rows = [(str(s), result.duplicates.sel(sender=s)) for s in result.sender.values]
    return _lines(_densities(result), rows, "duplicates a finished transfer", DENSITY)


@figure_of("leap.fig9", "Fig. 9: goodput of flows on one link against the share of LEAP flows", "leap.shared")
def fig9(result: xr.Dataset) -> go.Figure:
    """Over the mean goodput without LEAP: all 100 flows, and those that do not leap."""
    shares = [float(n) for n in result.leaping.values]
    rows: list[tuple[str, Any]] = []
    for sender in result.sender.values:
        part = result.sel(sender=sender)
        none = part["all"].sel(leaping="0")
        rows.append((f"{sender}: all flows", part["all"] / none))
        rows.append((f"{sender}: those without LEAP", (part["plain"] / none).where(part.leaping != "100")))
    return _lines(shares, rows, "goodput over that without LEAP", "LEAP flows among 100")
