"""Figures of the paper, produced again; what it prints stands as marks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpdynamics.charts.look import LEGEND_BELOW

from .. import ledger, rules
from ..curves import COLOURS
from ..registry import figure, figure_of
from .courses import FEW, MANY, Course, courses, segments_sent, windows
from .experiments import RENO, SENDERS
from .values import improvement

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

COLOUR = dict(zip(SENDERS, COLOURS, strict=False))


def named(sender: str) -> str:
    """A sender in a legend."""
    return sender if sender == RENO else f"M/TCP, {sender}"


def printed(place: str, sender: str, loss: str) -> float:
    """An entry of Table 4."""
    key = sender.lower().replace(" and ", "_")
    published = ledger.claims("mtcp")[f"mtcp.{place}.{key}.{loss}"].published
    assert isinstance(published, float | int)
    return float(published)


@figure_of(
    "mtcp.table4",
    "Table 4: throughput, and improvement over Reno, against the loss of ACKs. Lines: packets, first reading, 95 % "
    "intervals; bands: means of all readings that were run; crosses: printed",
    "mtcp.table4",
)
def table4(result: xr.Dataset) -> go.Figure:
    """Lines: packets, with 95 % intervals of the mean. Bands: from reading to reading. Marks: the paper's numbers."""
    from tcpdynamics.charts.drawing import make_subplots

    drawing = make_subplots(1, 2, subplot_titles=["throughput", "improvement over Reno"])
    losses = result.ack_loss.values.tolist()
    for sender in result.sender.values.tolist():
        throughput = [result.throughput.sel(sender=sender, ack_loss=q) for q in losses]
        _row(drawing, 1, sender, losses, throughput, [printed("table4", sender, q) for q in losses])
        if sender != RENO:
            gains = [100 * improvement(result, sender, q) for q in losses]
            marks = [100 * printed("table4.arithmetic", sender, q) for q in losses]
            _row(drawing, 2, sender, losses, gains, marks)
    drawing.update_xaxes(title_text="lost ACKs [%]")
    drawing.update_yaxes(title_text="throughput [Mbit/s]", rangemode="tozero", col=1)
    drawing.update_yaxes(title_text="improvement [%]", rangemode="tozero", col=2)
    drawing.update_layout(height=520, template="plotly_white", legend=LEGEND_BELOW)
    return drawing


def _row(
    drawing: go.Figure, col: int, sender: str, losses: list[str], cells: list[xr.DataArray], marks: list[float]
) -> None:
    x, colour = [float(q) for q in losses], COLOUR[sender]
    common: dict[str, Any] = {"legendgroup": sender, "row": 1, "col": col}
    means = np.array([cell.mean("replication").values for cell in cells])
    drawing.add_scatter(
        x=[*x, *x[::-1]], y=[*means.max(1), *means.min(1)[::-1]], fill="toself", fillcolor=colour, opacity=0.12,
        mode="none", showlegend=False, hoverinfo="skip", **common,
    )  # fmt: skip
    intervals = [rules.interval(cell.isel(reading=0).values.tolist()) for cell in cells]
    drawing.add_scatter(
        x=x, y=[i.mean for i in intervals], name=named(sender), mode="lines", line={"color": colour},
        error_y={"array": [i.high - i.mean for i in intervals]}, showlegend=col == 1, **common,
    )  # fmt: skip
    drawing.add_scatter(
        x=x, y=marks, name=f"{named(sender)}, printed", mode="markers", showlegend=col == 1,
        marker={"color": colour, "symbol": "x", "size": 9}, **common,
    )  # fmt: skip


def sequence_numbers(quick: bool = True, progress: Callable[[float], None] | None = None) -> dict[str, Course]:
    """Of all four senders."""
    return courses(tuple(SENDERS), segments_sent, FEW if quick else MANY, progress, hold=True)


@figure(
    "mtcp.fig14",
    "Fig. 14: sequence number against time, 2 % of the data and 5 % of the ACKs lost. Lines: one run, first reading; "
    "bands: the middle 80 % of the runs; crosses: the ends of transfers at the throughputs of Table 4",
    sequence_numbers,
)
def fig14(of: dict[str, Course]) -> go.Figure:
    """Segments sent by time."""
    from tcpdynamics.charts.drawing import go

    drawing = go.Figure()
    for sender, course in of.items():
        _band(drawing, course, COLOUR[sender], {"legendgroup": sender})
        drawing.add_scatter(
            x=course.time, y=course.value, name=named(sender), mode="lines", legendgroup=sender,
            line={"color": COLOUR[sender], "shape": "hv"},
        )  # fmt: skip
        drawing.add_scatter(
            x=[16.0 / printed("table4", sender, "5")], y=[2000], name=f"{named(sender)}, printed", mode="markers",
            marker={"color": COLOUR[sender], "symbol": "x", "size": 10}, legendgroup=sender,
        )  # fmt: skip
    drawing.update_layout(
        xaxis={"title": "time [s]", "range": [0, 25]}, yaxis_title="sequence number [segment]", height=520,
        template="plotly_white", legend=LEGEND_BELOW,
    )  # fmt: skip
    return drawing


def _band(drawing: go.Figure, course: Course, colour: str, where: dict[str, Any]) -> None:
    drawing.add_scatter(
        x=[*course.grid, *course.grid[::-1]], y=[*course.high, *course.low[::-1]], fill="toself", fillcolor=colour,
        opacity=0.15, mode="none", showlegend=False, hoverinfo="skip", **where,
    )  # fmt: skip


def _solve(sender: str) -> Callable[..., dict[str, Course]]:
    def window_courses(quick: bool = True, progress: Callable[[float], None] | None = None) -> dict[str, Course]:
        return courses((sender,), windows, FEW if quick else MANY, progress)

    return window_courses


def draw_windows(of: dict[str, Course]) -> go.Figure:
    """The window, and for M/TCP how many packets each route has carried: level where it waits for its timer."""
    from tcpdynamics.charts.drawing import make_subplots

    ((sender, course),) = of.items()
    several = sender != RENO
    drawing = make_subplots(2 if several else 1, 1, shared_xaxes=True, vertical_spacing=0.08)
    _band(drawing, course, COLOUR[sender], {"row": 1, "col": 1})
    drawing.add_scatter(
        x=course.time, y=course.value, mode="lines", line={"color": COLOUR[sender], "shape": "hv", "width": 1.5},
        name="windows of both routes together" if several else "window", row=1, col=1,
    )  # fmt: skip
    for (route, times), colour in zip(course.routes.items() if several else (), COLOURS[5:], strict=False):
        drawing.add_scatter(
            x=times, y=np.arange(len(times)) + 1, mode="lines", line={"color": colour, "shape": "hv"}, name=route,
            row=2, col=1,
        )  # fmt: skip
    drawing.update_yaxes(title_text="congestion window [packet]", rangemode="tozero", row=1)
    if several:
        drawing.update_yaxes(title_text="packets carried", row=2)
    drawing.update_xaxes(title_text="time [s]", row=2 if several else 1)
    drawing.update_layout(
        height=620 if several else 420, template="plotly_white", legend={"orientation": "h", "y": -0.15},
        showlegend=True,
    )  # fmt: skip
    return drawing


for _number, _sender in zip((15, 16, 17, 18), SENDERS, strict=True):
    _what = (
        "its window" if _sender == RENO else "the windows of both routes together, and packets carried by each route"
    )
    figure(
        f"mtcp.fig{_number}",
        f"Fig. {_number}: {named(_sender)}, 2 % of the data and 5 % of the ACKs lost: {_what}. Line: one run, first "
        "reading; band: the middle 80 % of the runs",
        _solve(_sender),
    )(draw_windows)
