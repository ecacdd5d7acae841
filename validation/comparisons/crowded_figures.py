"""Figures of `LinuxSubPacket`: the paper's Figs. 2, 3 and 8 to 12 with its senders of today."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from tcpdynamics.charts.comparisons import error_bars
from tcpdynamics.charts.look import BLACK, COLOURS, LEGEND_BELOW

from .crowded_laws import CHAINS, compiled_law, printed_law
from .crowded_links import GOODPUT_PERCENTS, GOODPUTS, HANG_PERCENTS, HANGS, LAW

if TYPE_CHECKING:
    import plotly.graph_objects as go


def fairness(result: xr.Dataset) -> go.Figure:
    """Fig. 2: Jain's index in 20 s against a flow's fair share, a panel a link; dotted: the simulator."""
    rates = [float(rate) for rate in np.unique(result.rate.values)[::-1]]
    panels = _panels(1, [f"{rate / 1e3:g} kbit/s" for rate in rates], shared_yaxes=True)
    for column, rate in enumerate(rates, 1):
        part = _of_figure(result, 2)
        part = part.isel(link=np.flatnonzero(part.rate.values == rate)).sortby("share")
        if part.sizes["link"]:
            _lines(panels, part, "share", "Jain's index, 20 s", column)
            _crosses(panels, part.share.values, part.jain_predicted.mean("sender").values, column)
    panels.update_xaxes(
        title_text="fair share of a flow [kbit/s]", type="log", tickvals=[5, 10, 25, 50], range=[0.6, 1.8]
    )
    panels.update_yaxes(title_text="Jain's index in 20 s", range=[0, 1.02], col=1)
    return panels


def goodputs(result: xr.Dataset) -> go.Figure:
    """Fig. 3: how goodput in 20 s is distributed among 100 flows, a panel for each way to keep them out of step.

    Points stand at each tenth of the flows; dashed: the groups of flows that the paper tells of, with their shares.
    """
    part = _of_figure(result, 3)
    panels = _panels(1, [str(name) for name in part.link.values], shared_yaxes=True)
    for column, link in enumerate(part.link.values, 1):
        for name, look in _looks(part):
            one = part.sel(link=link, sender=name, quantity=list(GOODPUTS))
            panels.add_scatter(
                x=one["mean"].values, y=np.array(GOODPUT_PERCENTS) / 100, name=name, mode="lines+markers",
                error_x=error_bars(one, "mean"), showlegend=column == 1, legendgroup=name, row=1, col=column, **look,
            )  # fmt: skip
        panels.add_scatter(
            x=[0, 0, 2 / 3, 2 / 3, 2, 2], y=[0, 0.3, 0.3, 0.6, 0.6, 1], name="printed", legendgroup="printed",
            line={"color": BLACK, "dash": "dash", "width": 1}, mode="lines", showlegend=column == 1, row=1, col=column,
        )  # fmt: skip
    panels.update_xaxes(title_text="goodput in 20 s over the fair share", rangemode="tozero")
    return panels.update_yaxes(tickformat="~%").update_yaxes(
        title_text="fraction of flows below", range=[0, 1.02], col=1
    )


def laws(result: xr.Dataset) -> go.Figure:
    """Figs. 8 to 11: P(n packets sent in a round trip) against the loss; lines: the printed chain and the sender's."""
    numbers = range(len(LAW) - 1)
    panels = _panels(2, [f"{n} sent" for n in numbers])
    part = result.isel(link=[i for i, f in enumerate(result.figures.values) if {"9", "10", "11"} & set(f.split())])
    loss = np.linspace(0.01, 0.4, 40)
    for name, law, dash in zip(CHAINS, (printed_law(loss), compiled_law(loss)), ("solid", "dash"), strict=True):
        for n in numbers:
            panels.add_scatter(
                x=loss, y=law[:, n], name=name, line={"color": BLACK, "dash": dash, "width": 1.5}, mode="lines",
                showlegend=n == 0, legendgroup=name, row=n // 3 + 1, col=n % 3 + 1,
            )  # fmt: skip
    for name, look in _looks(result):
        one = part.sel(sender=name)
        symbols = [_symbol(str(f)) for f in one.figures.values]
        for n in numbers:
            at = one.sel(quantity=LAW[n])
            panels.add_scatter(
                x=one["mean"].sel(quantity="loss rate").values, y=at["mean"].values, name=name, mode="markers",
                error_y=error_bars(at, "mean"), marker={"color": look["line"]["color"], "symbol": symbols, "size": 7},
                showlegend=n == 0, legendgroup=name, row=n // 3 + 1, col=n % 3 + 1,
            )  # fmt: skip
    panels.update_xaxes(tickformat="~%").update_xaxes(title_text="packet-loss probability", row=2)
    panels.update_yaxes(rangemode="tozero", tickformat="~%")
    return panels.update_layout(height=640, legend=LEGEND_BELOW | {"y": -0.14})


def distances(result: xr.Dataset) -> go.Figure:
    """Figs. 9 to 11: the distance of each sender's law from the printed chain, and from the simulator's sender's."""
    panels = _panels(1, [f"from the {name}" for name in map(str, result.chain.values)], shared_yaxes=True)
    part = result.isel(link=[i for i, f in enumerate(result.figures.values) if {"9", "10", "11"} & set(f.split())])
    for column, chain in enumerate(map(str, result.chain.values), 1):
        for name, look in _looks(result):
            one = part.sel(sender=name, chain=chain)
            panels.add_scatter(
                x=one["mean"].sel(quantity="loss rate").values, y=one.distance.values, name=name, mode="markers",
                error_y=error_bars(one, "distance"),
                marker={
                    "color": look["line"]["color"], "symbol": [_symbol(str(f)) for f in one.figures.values], "size": 8,
                },
                showlegend=column == 1, legendgroup=name, row=1, col=column,
            )  # fmt: skip
        panels.add_hline(y=0.1, line={"dash": "dot", "width": 1}, row=1, col=column)
    panels.update_xaxes(title_text="packet-loss probability", tickformat="~%")
    return panels.update_yaxes(title_text="total-variation distance", range=[0, 1], col=1)


def longest_hangs(result: xr.Dataset) -> go.Figure:
    """How long the longest hang of a flow is: quantiles over flows, a panel a load of 1 Mbit/s with runs of 200 s."""
    links = [str(one.link.values) for one in _of_figure(result, 9).transpose("link", ...).link if one.measured >= 200]
    links.sort(key=lambda name: float(result.flows.sel(link=name)))
    panels = _panels(1, links, shared_yaxes=True)
    for column, link in enumerate(links, 1):
        for name, look in _looks(result):
            part = result.sel(link=link, sender=name, quantity=list(HANGS))
            panels.add_scatter(
                x=HANG_PERCENTS, y=part["mean"].values, error_y=error_bars(part, "mean"), name=name,
                mode="lines+markers", showlegend=column == 1, legendgroup=name, row=1, col=column, **look,
            )  # fmt: skip
    panels.update_xaxes(title_text="flows [%]", tickvals=HANG_PERCENTS)
    panels.update_yaxes(type="log", dtick=1)
    return panels.update_yaxes(title_text="longest hang [s]", col=1)


def gateways(result: xr.Dataset) -> go.Figure:
    """Fig. 12: Jain's index in 20 s at each gateway; those with priority are the simulator's alone."""
    picture = _blank("", "Jain's index in 20 s").update_layout(barmode="group")
    part = _of_figure(result, 12).sel(quantity="Jain's index, 20 s")
    words = [str(name).removeprefix("gateway, ") for name in part.link.values]
    for name, look in _looks(result):
        one = part.sel(sender=name)
        picture.add_bar(
            x=words, y=one["mean"].values, name=name, error_y=error_bars(one, "mean"),
            marker={"color": look["line"]["color"], "pattern": {"shape": "/" if look["line"]["dash"] == "dot" else ""}},
        )  # fmt: skip
    return picture.update_yaxes(range=[0, 1])


def _of_figure(result: xr.Dataset, number: int) -> xr.Dataset:
    """The links of one of the paper's figures."""
    return result.isel(link=[i for i, f in enumerate(result.figures.values) if str(number) in f.split()])


def _looks(result: xr.Dataset) -> list[tuple[str, dict[str, Any]]]:
    """Each sender with the look of its lines."""
    return [
        (name, {"line": {"color": colour, "dash": "dot" if name.startswith("simulator") else "solid"}})
        for name, colour in zip(map(str, result.sender.values), COLOURS, strict=False)
    ]


def _symbol(figures: str) -> str:
    """Of points of Figs. 9, 10 and 11."""
    symbols = {"9": "circle", "10": "square", "11": "x"}
    return next(symbols[f] for f in figures.split() if f in symbols)


def _lines(panels: go.Figure, part: xr.Dataset, x: str, quantity: str, column: int) -> None:
    for name, look in _looks(part):
        one = part.sel(sender=name, quantity=quantity)
        panels.add_scatter(
            x=one[x].values, y=one["mean"].values, name=name, error_y=error_bars(one, "mean"), mode="lines+markers",
            showlegend=column == 1, legendgroup=name, row=1, col=column, **look,
        )  # fmt: skip


def _crosses(panels: go.Figure, x: Any, y: Any, column: int) -> None:
    panels.add_scatter(
        x=x, y=y, name="exact chain, mean of the losses", mode="markers", legendgroup="chain", showlegend=column == 1,
        marker={"symbol": "x", "color": BLACK, "size": 9}, row=1, col=column,
    )  # fmt: skip


def _panels(rows: int, titles: Sequence[str], **more: Any) -> go.Figure:
    from tcpdynamics.charts.drawing import make_subplots

    panels = make_subplots(
        rows, -(-len(titles) // rows), subplot_titles=titles, horizontal_spacing=0.05, vertical_spacing=0.12, **more
    )
    return panels.update_layout(
        template="plotly_white", height=460, legend=LEGEND_BELOW | {"y": -0.25}, margin={"t": 50, "r": 20}
    )


def _blank(x: str, y: str) -> go.Figure:
    from tcpdynamics.charts.drawing import go

    layout = {"template": "plotly_white", "xaxis_title": x, "yaxis_title": y, "height": 460, "margin": {"t": 30}}
    return go.Figure(layout=layout | {"legend": LEGEND_BELOW | {"y": -0.25}})
