"""Figures of the paper from packets: Table III, Figs. 2, 3 and 5; first reading, 95 % intervals, printed numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tcpdynamics.charts.look import LEGEND_BELOW

from .. import ledger, rules
from ..curves import COLOURS
from ..registry import figure_of

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

LINKS = ("T3", "OC3", "OC12", "OC48")


def _cells(values: xr.DataArray) -> tuple[list[float], list[float]]:
    """Means of the first reading, and half their intervals."""
    intervals = [rules.interval(cell) for cell in values.isel(reading=0).transpose(..., "replication").values.tolist()]
    return [i.mean for i in intervals], [i.high - i.mean for i in intervals]


def _bars(drawing: go.Figure, panel: dict[str, int], name: str, x: Any, values: xr.DataArray, colour: str) -> None:
    mean, half = _cells(values)
    drawing.add_bar(
        x=x, y=mean, name=name, legendgroup=name, showlegend=panel["col"] == 1 and panel["row"] == 1,
        marker_color=colour, error_y={"array": half}, offsetgroup=name, **panel,
    )  # fmt: skip


@figure_of("t_refwa.table3", "Table III: fairness index and utilisation on four links", "t_refwa.one_link")
def table3(result: xr.Dataset) -> go.Figure:
    """Bars: packets. Crosses: the paper's 32 cells."""
    from tcpdynamics.charts.drawing import make_subplots

    panels = make_subplots(rows=1, cols=2, subplot_titles=("fairness index", "utilisation"))
    claims = ledger.claims("t_refwa").values()
    for column, measure in enumerate(("fairness", "utilisation"), 1):
        place = {"row": 1, "col": column}
        for protocol, colour in zip(result.protocol.values, COLOURS, strict=False):
            _bars(panels, place, str(protocol), LINKS, result[measure].sel(protocol=protocol), colour)
            printed = {
                c.case["link"]: c.number
                for c in claims
                if c.place == "Table III" and c.value == measure and c.case["protocol"] == protocol
            }
            panels.add_scatter(
                x=LINKS, y=[printed[link] for link in LINKS], mode="markers", name="printed", offsetgroup=str(protocol),
                marker={"symbol": "x", "color": "#000000", "size": 8}, legendgroup="printed", alignmentgroup="a",
                showlegend=column == 1 and protocol == "Reno", **place,
            )  # fmt: skip
    panels.update_yaxes(range=[0, 1.05]).update_yaxes(tickformat="~%", col=2)
    panels.update_layout(
        barmode="group", scattermode="group", template="plotly_white", height=480, legend=LEGEND_BELOW, showlegend=True,
        xaxis_title="link", xaxis2_title="link",
    )  # fmt: skip
    return panels


GROUPS = [f"group_{j + 1}" for j in range(8)]


def _groups(drawing: go.Figure, panel: dict[str, int], part: xr.Dataset, first: bool) -> None:
    """A line for each protocol: mean throughput of a flow of each group, from the shortest round-trip time on."""
    for protocol, colour in zip(part.protocol.values, COLOURS, strict=False):
        values = part[GROUPS].sel(protocol=protocol).to_array("group").transpose("group", "reading", "replication")
        mean, half = _cells(values)
        drawing.add_scatter(
            x=list(range(1, 9)), y=mean, name=str(protocol), legendgroup=str(protocol), showlegend=first,
            mode="lines+markers", line={"color": colour}, error_y={"array": half}, **panel,
        )  # fmt: skip


@figure_of("t_refwa.fig2", "Fig. 2: throughput of the eight groups on each link, drop-tail", "t_refwa.one_link")
def fig2(result: xr.Dataset) -> go.Figure:
    """Groups from the shortest round-trip time to the longest; mean of a group's flows."""
    from tcpdynamics.charts.drawing import make_subplots

    panels = make_subplots(rows=2, cols=2, subplot_titles=LINKS, vertical_spacing=0.16)
    for i, link in enumerate(LINKS):
        place = {"row": i // 2 + 1, "col": i % 2 + 1}
        _groups(panels, place, result.sel(link=link), i == 0)
        panels.update_xaxes(title_text="group" if i > 1 else "", **place)
        panels.update_yaxes(title_text="throughput [Mbit/s]" if i % 2 == 0 else "", rangemode="tozero", **place)
    panels.update_layout(template="plotly_white", height=680, legend={"orientation": "h", "y": -0.1}, showlegend=True)
    panels.layout.xaxis.title.text = "group"
    return panels


@figure_of(
    "t_refwa.fig3", "Fig. 3: throughput of the groups over RED on OC3, T-REFWA over drop-tail", "t_refwa.over_red"
)
def fig3(result: xr.Dataset) -> go.Figure:
    """Groups from the shortest round-trip time to the longest; mean of a group's flows."""
    from tcpdynamics.charts.drawing import make_subplots

    panels = make_subplots(rows=1, cols=1)
    _groups(panels, {"row": 1, "col": 1}, result.sel(link="OC3"), True)
    panels.update_layout(
        template="plotly_white", height=460, legend=LEGEND_BELOW, showlegend=True, xaxis_title="group",
        yaxis_title="throughput of a flow [Mbit/s]", yaxis_rangemode="tozero",
    )  # fmt: skip
    return panels


@figure_of("t_refwa.fig5", "Fig. 5: utilisation, loss, fairness and queues of two bottlenecks", "t_refwa.two_links")
def fig5(result: xr.Dataset) -> go.Figure:
    """With T-REFWA and with the others."""
    from tcpdynamics.charts.drawing import make_subplots

    titles = ("utilisation", "loss rate", "fairness index", "mean queue [packets]")
    panels = make_subplots(rows=2, cols=2, subplot_titles=titles, vertical_spacing=0.18)
    parts = (("use_1", "use_3"), ("loss",), ("fairness_1", "fairness_3"), ("queue_1", "queue_3"))
    names = {name: "all links" if name == "loss" else f"L{name[-1]}" for several in parts for name in several}
    for place, measures in enumerate(parts):
        panel = {"row": place // 2 + 1, "col": place % 2 + 1}
        values = result[list(measures)].to_array("measure").transpose("measure", ...)
        for protocol, colour in zip(result.protocol.values, COLOURS, strict=False):
            words = [names[m] for m in measures]
            _bars(panels, panel, str(protocol), words, values.sel(protocol=protocol), colour)
    panels.update_layout(
        barmode="group", template="plotly_white", height=620, legend={"orientation": "h", "y": -0.08}, showlegend=True,
        xaxis_title="link",
    )  # fmt: skip
    return panels.update_yaxes(tickformat="~%", row=1)
