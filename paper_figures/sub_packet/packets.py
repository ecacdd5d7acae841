"""Figures of the paper from packets: axes as in the original as far as its text says; printed numbers as marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tcpdynamics.charts.look import LEGEND_BELOW
from tcpdynamics.models import SubPacketFull
from tcpdynamics.solvers import stationary

from .. import ledger, rules
from ..curves import COLOURS
from ..registry import figure, figure_of
from .experiments import LINKS, LOADS, PER_FLOW, RATES, SHARES
from .measures import PERCENTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    import plotly.graph_objects as go
    import xarray as xr

#: Where the paper has unfairness set in [kbit/s].
EDGE = 30


def published(claim: str) -> float:
    """The number or bound of a claim of this paper.

    >>> published("fig3.locked_out")
    0.3
    """
    value = ledger.get_claim(f"sub_packet.{claim}").published
    return float(value) if isinstance(value, int | float) else float(next(iter(value.values())))


def trace(x: Iterable[Any], cells: Iterable[np.ndarray], name: str, colour: str, **look: Any) -> go.Scatter:
    """Means of replications with 95 % intervals."""
    from tcpdynamics.charts.drawing import go

    intervals = [rules.interval(np.asarray(cell).tolist()) for cell in cells]
    return go.Scatter(
        x=list(x), y=[i.mean for i in intervals], name=name, mode=look.pop("mode", "lines+markers"),
        line={"color": colour, "dash": look.pop("dash", "solid")}, marker={"color": colour},
        error_y={"array": [i.high - i.mean for i in intervals], "thickness": 1}, **look,
    )  # fmt: skip


def _blank(x: str, y: str, **more: Any) -> go.Figure:
    from tcpdynamics.charts.drawing import go

    return go.Figure(
        layout={"template": "plotly_white", "xaxis_title": x, "yaxis_title": y, "legend": LEGEND_BELOW, "height": 460}
        | more
    )


def _mark(drawing: go.Figure, x: list[float], y: list[float], name: str) -> None:
    drawing.add_scatter(x=x, y=y, name=name, mode="markers", marker={"symbol": "x", "size": 11, "color": "black"})


@figure_of(
    "sub_packet.fig2", "Fig. 2: Jain's index of 20 s and of the whole run against the fair share", "sub_packet.fairness"
)
def fig2(result: xr.Dataset) -> go.Figure:
    """Lines: links. Dotted: the share below which, in the paper, unfairness sets in."""
    drawing = _blank("ideal share of a flow [kbit/s]", "Jain's index", yaxis_range=[0, 1.05])
    first = result.isel(reading=0)
    for rate, colour in zip(RATES, COLOURS, strict=False):
        part = first.sel(load=[f"{rate}k, {share}k" for share in SHARES])
        drawing.add_trace(trace(SHARES, part.jain_20.values, f"{rate} kbit/s, 20 s", colour))
        drawing.add_trace(trace(SHARES, part.jain_whole.values, f"{rate} kbit/s, whole run", colour, dash="dash"))
    drawing.add_vline(x=EDGE, line={"dash": "dot"}, annotation_text="the paper: unfair below", annotation_y=0.1)
    return drawing


@figure_of("sub_packet.fig3", "Fig. 3: goodput of 100 flows in slices of 20 s", "sub_packet.slices")
def fig3(result: xr.Dataset) -> go.Figure:
    """Lines: each percentile's mean over slices; points: the fraction that gets nothing. Mark: that of the paper."""
    share = 10.0  # kbit/s, of 100 flows on 1 Mbit/s
    drawing = _blank(
        "goodput in 20 s, mean over slices [kbit/s]", "fraction of flows (points: that get nothing)",
        yaxis_range=[0, 1.02], yaxis_tickformat="~%", height=560,
    )  # fmt: skip
    part = result.sel(flows="100").mean("replication")
    for i, reading in enumerate(part.reading.values):
        values = [float(part[f"slice_{p}"].isel(reading=i)) * share for p in PERCENTS]
        colour = COLOURS[i % len(COLOURS)] if i < len(COLOURS) else "lightgrey"
        drawing.add_scatter(
            x=values, y=[p / 100 for p in PERCENTS], name=str(reading), mode="lines",
            line={"color": colour, "width": 3 if i == 0 else 1},
        )  # fmt: skip
        nothing = [float(part.locked_out.isel(reading=i))]
        drawing.add_scatter(x=[0.0], y=nothing, mode="markers", marker={"color": colour}, showlegend=False)
    low, high = (published("fig3.locked_out"), published("fig3.locked_out") + published("fig3.next_thirty") * 1.5)
    _mark(drawing, [0.0], [low], "printed: get nothing")
    drawing.add_hline(y=high, line={"dash": "dot"}, annotation_text="the paper: above, 80 % of the link")
    return drawing


@figure_of("sub_packet.fig4", "Fig. 4: longest hangs of users in 10 minutes, sorted", "sub_packet.hangs")
def fig4(result: xr.Dataset) -> go.Figure:
    """Lines: users and flows a user. Marks: all of 200 users above 20 s, almost half of 400 above 60 s."""
    drawing = _blank("users, sorted [%]", "longest hang [s]")
    part = result.isel(reading=0)
    for i, load in enumerate(part["load"].values):
        users, pool = str(load).split(", ")
        cells = [part[f"hang_{p}"].sel(load=load).values for p in PERCENTS]
        dash = "solid" if users == "200" else "dash"
        drawing.add_trace(
            trace(PERCENTS, cells, f"{users} users, {pool} flows each", COLOURS[i % 3], dash=dash, mode="lines")
        )
    _mark(drawing, [0.0], [20.0], "printed: all of 200 users (4 flows) above")
    _mark(drawing, [100 * (1 - published("fig4.users_400"))], [60.0], "printed: almost half of 400 users above")
    return drawing


@figure_of("sub_packet.fig5", "Fig. 5: the buffer that fairness in 20 s needs", "sub_packet.buffers")
def fig5(result: xr.Dataset) -> go.Figure:
    """Lines: numbers of flows. Mark: ten packets a flow, which restore fairness in the paper."""
    drawing = _blank("buffer [packets a flow]", "Jain's index in 20 s", xaxis_type="log", yaxis_range=[0, 1.05])
    part = result.isel(reading=0)
    for (n, (rate, _)), colour in zip(LINKS.items(), COLOURS, strict=False):
        cells = [part.jain_20.sel(load=f"{n}, {k}").values for k in PER_FLOW]
        drawing.add_trace(trace(PER_FLOW, cells, f"{n} flows, {rate / 1e6:g} Mbit/s", colour))
    _mark(drawing, [10.0], [published("fig5.ten.800")], "the paper: fair from here on")
    return drawing


@figure_of("sub_packet.fig6", "Fig. 6: goodput of TFRC and TCP in 20 s, over loads", "sub_packet.tfrc")
def fig6(result: xr.Dataset) -> go.Figure:
    """Lines: medians; dashed: 10th and 90th percentiles, in shares of the mean."""
    drawing = _blank("flows on 1 Mbit/s", "goodput in 20 s over the fair share", yaxis_rangemode="tozero")
    part = result.isel(reading=0)
    flows = [int(n) for n in part.flows.values]
    for sender, colour in zip(part.sender.values, COLOURS, strict=False):
        for percent, dash in ((50, "solid"), (10, "dot"), (90, "dash")):
            cells = part[f"slice_{percent}"].sel(sender=sender).values
            drawing.add_trace(trace(flows, cells, f"{sender}, {percent} %", colour, dash=dash))
    return drawing


def _panels(result: xr.Dataset, links: tuple[str, ...]) -> go.Figure:
    """P(n packets sent in an epoch) against loss: the printed chain, and packets on some links."""
    from tcpdynamics.charts.drawing import make_subplots

    drawing = make_subplots(2, 3, subplot_titles=[f"{n} sent" for n in range(6)], shared_xaxes=True)
    loss = np.linspace(0.005, 0.4, 120)
    model = SubPacketFull(loss=loss)
    says = model.observe(stationary(model.chain())).sent.values
    part = result.isel(reading=0)
    for n in range(6):
        at: dict[str, Any] = {"row": n // 3 + 1, "col": n % 3 + 1}
        drawing.add_scatter(
            x=loss, y=says[:, n], name="chain (Fig. 8)", line={"color": "black"}, showlegend=n == 0, **at
        )
        for link, colour in zip(links, COLOURS, strict=False):
            points = part.sel(load=[f"{link}, {m}" for m in LOADS])
            drawing.add_trace(
                trace(
                    points.loss.mean("replication").values, points[f"sent_{n}"].values, link, colour,
                    mode="markers", showlegend=n == 0, legendgroup=link,
                ),
                **at,
            )  # fmt: skip
    drawing.update_xaxes(title_text="packet-loss probability", tickformat="~%")
    drawing.update_yaxes(rangemode="tozero", tickformat="~%")
    drawing.update_layout(template="plotly_white", height=620, legend=LEGEND_BELOW)
    return drawing


#: Where Fig. 8 has its states.
PLACES = {
    **{f"S{n}": (n - 2.0, 3.0) for n in range(2, 7)},
    "b0": (3.0, 2.0), "b*": (0.0, 2.0),
    **{f"S1({k}r)": (2.0 * k - 2, 1.0) for k in (1, 2, 3)},
    **{f"S2({k}r)": (2.0 * k - 1, 1.0) for k in (1, 2, 3)},
    **{f"b*({k}r)": (2.0 * k - 1.5, 0.0) for k in (1, 2, 3)},
}  # fmt: skip


def solve_fig8(loss: float = 0.2) -> xr.Dataset:
    """Stationary probabilities of the printed chain at a loss in (0, 0.5)."""
    return stationary(SubPacketFull(loss=loss).chain())


@figure("sub_packet.fig8", "Fig. 8: the full model, with stationary probabilities", solve_fig8)
def fig8(result: xr.Dataset) -> go.Figure:
    """Arrows: transitions. Discs: states, their areas the probabilities."""
    drawing = _blank("states by window; below, timeouts and repeated ones", "", showlegend=False)
    xs: list[float | None] = []
    ys: list[float | None] = []
    for before, after in SubPacketFull(loss=float(result.loss)).chain().transitions:
        (x, y), (to_x, to_y) = PLACES[str(before)], PLACES[str(after)]
        xs += [x, to_x, None]
        ys += [y, to_y, None]
        drawing.add_annotation(
            ax=x, ay=y, x=to_x, y=to_y, axref="x", ayref="y", showarrow=True, arrowhead=2, arrowcolor="grey",
            standoff=14, startstandoff=14, text="",
        )  # fmt: skip
    drawing.add_scatter(x=xs, y=ys, mode="lines", line={"color": "lightgrey", "width": 1}, name="transitions")
    names = [str(s) for s in result.state.values]
    shares = result.probability.values
    drawing.add_scatter(
        x=[PLACES[n][0] for n in names], y=[PLACES[n][1] for n in names], mode="markers+text",
        textposition="top center", text=[f"{n}: {p:.3f}" for n, p in zip(names, shares, strict=True)],
        marker={"size": 12 + 80 * np.sqrt(shares), "color": COLOURS[0], "opacity": 0.5},
    )  # fmt: skip
    drawing.update_xaxes(showticklabels=False, showgrid=False).update_yaxes(visible=False, range=[-0.6, 3.6])
    return drawing


@figure_of("sub_packet.fig10", "Fig. 10: chain and packets on links of other rates", "sub_packet.chain")
def fig10(result: xr.Dataset) -> go.Figure:
    """Line: the printed chain. Points: packets."""
    return _panels(result, ("250k", "500k", "1000k"))


@figure_of("sub_packet.fig11", "Fig. 11: chain and packets with RTTs of 200 to 400 ms", "sub_packet.chain")
def fig11(result: xr.Dataset) -> go.Figure:
    """Line: the printed chain. Points: packets."""
    return _panels(result, ("mixed RTTs",))


@figure_of("sub_packet.fig12", "Fig. 12: fairness with retransmissions sent first", "sub_packet.priority")
def fig12(result: xr.Dataset) -> go.Figure:
    """Bars: Jain's index in 20 s at each gateway, a colour for each reading."""
    drawing = _blank("gateway", "Jain's index in 20 s", yaxis_range=[0, 1], barmode="group", height=520)
    for i, reading in enumerate(result.reading.values[:6]):
        intervals = [
            rules.interval(cell.tolist()) for cell in result.jain_20.isel(reading=i).transpose("gateway", ...).values
        ]
        drawing.add_bar(
            x=[str(g) for g in result.gateway.values], y=[e.mean for e in intervals], name=str(reading),
            error_y={"array": [e.high - e.mean for e in intervals]}, marker_color=COLOURS[i % len(COLOURS)],
        )  # fmt: skip
    return drawing
