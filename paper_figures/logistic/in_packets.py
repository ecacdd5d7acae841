"""Figures of the paper in packets: Fig. 4 to 8 and the gains of Fig. 1.

Curves over time are one run each, as in the paper: the first replication of the experiment that decides the claims.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tcpdynamics.charts.look import LEGEND_BELOW
from tcpdynamics.later import xr

from .. import ledger, rules
from ..curves import COLOURS
from ..experiments import Experiment
from ..registry import figure, figure_of
from .experiments import ALONE, AVAILABLE, CHANGES, GAINS, JOINS, SIZE, Array, rate_of, tcp, window

if TYPE_CHECKING:
    import plotly.graph_objects as go

MBIT = 1e6
#: Order of senders, each with its colour.
ORDER = ("Proposed", "Reno", "HSTCP", "Scalable")
#: Readings that are drawn beside the first one.
OTHER_START = "measured 5 % wrong each RTT, slow start until a loss"
OTHER_RATES = "others windows, measured 5 % wrong each RTT, buffer 2 RTT"


def _once(experiment: Experiment, label: str) -> xr.Dataset:
    from tcpdynamics.validation.packet import simulate
    from tcpdynamics.validation.packet.run import spawn_seeds

    scenario = experiment.build((label,), experiment.reading_labels(1)[0], "quick")
    return simulate(scenario, spawn_seeds(experiment.seed, 1)[0])


def _on(grid: Array, time: Array, values: Array) -> Array:
    """Values as they were at other times; NaN outside."""
    at = np.searchsorted(time, grid, side="right") - 1
    inside = (at >= 0) & (grid <= time[-1])
    return np.where(inside, values[np.clip(at, 0, None)], np.nan)


def gains() -> xr.Dataset:
    """Window over K base_rtt of one flow under the law of section 3.1, for the gains of Fig. 1."""
    labels = [label for label in GAINS.cases["gain"] if label != "1.95"]
    grid = np.linspace(0.0, 3.0, 301)
    windows = []
    for label in labels:
        result = _once(GAINS, label)
        windows.append(_on(grid, *window(result, 0)) / (rate_of(result) * float(result.base_rtt[0])))
    return xr.Dataset({"window": (("gain", "time"), np.array(windows))}, {"gain": labels, "time": grid})


def fig4() -> xr.Dataset:
    """Fig. 4: window of one flow [packet] over time [s], and when it loses packets, for each sender."""
    grid = np.linspace(0.0, 200.0, 2001)
    windows, losses = [], []
    for label in ORDER:
        result = _once(ALONE, label)
        (flow,) = tcp(result, 2)
        windows.append(_on(grid, *window(result, flow)))
        times = result.drop_time.values[result.drop_flow.values == flow]
        losses.append([np.count_nonzero((times >= t) & (times < t + 0.1)) for t in grid])
    return xr.Dataset(
        {"window": (("sender", "time"), np.array(windows)), "lost": (("sender", "time"), np.array(losses))},
        {"sender": list(ORDER), "time": grid},
    )


def fig6() -> xr.Dataset:
    """Fig. 6: throughput of one flow [Mbit/s] over time [s] for each sender, and what UDP leaves."""
    rates, times = [], np.arange(0.0)
    for label in ORDER:
        result = _once(CHANGES, label)
        (flow,) = tcp(result, 2)
        times = result.slice.values
        rates.append(result.slice_goodput.values[:, flow] * 8 * SIZE / MBIT / (times[1] - times[0]))
    quarter = (times[-1] + times[1]) / 4
    available = np.array([100 * AVAILABLE[min(int(t // quarter), 3)] for t in times])
    return xr.Dataset(
        {"throughput": (("sender", "time"), np.array(rates)), "available": ("time", available)},
        {"sender": list(ORDER), "time": times},
    )


def fig7() -> xr.Dataset:
    """Fig. 7: windows [packet] of five connections over time [s], Reno and proposed; K base_rtt of the first."""
    grid = np.arange(0.0, 700.0, 1.0)
    labels, windows, product = ["Reno", "Proposed"], [], 0.0
    for label in labels:
        result = _once(JOINS, label)
        flows = tcp(result, 10)
        windows.append([_on(grid, *window(result, i)) for i in flows])
        product = rate_of(result) * float(result.base_rtt[flows[0]])
    return xr.Dataset(
        {"window": (("sender", "connection", "time"), np.array(windows)), "product": product},
        {"sender": labels, "connection": np.arange(1, 6), "time": grid},
    )


@figure("logistic.fig1_packets", "The gains of Fig. 1 in packets: one flow under the law of section 3.1", gains)
def draw_gains(result: xr.Dataset) -> go.Figure:
    """Windows over K base_rtt."""
    from tcpdynamics.charts.drawing import go

    drawing = go.Figure()
    for gain, colour in zip(result.gain.values, COLOURS, strict=False):
        drawing.add_trace(go.Scatter(
            x=result.time.values, y=100 * result.window.sel(gain=gain).values, name=f"ε = {gain}",
            line={"color": colour, "width": 2},
        ))  # fmt: skip
    drawing.add_hline(y=100, line={"dash": "dash", "color": "#777777"}, annotation_text="K")
    return _titled(drawing, "time [s]", "window [% of K base_rtt]")


@figure("logistic.fig4", "Fig. 4: window of one flow beside UDP traffic of half the link; crosses: losses", fig4)
def draw_fig4(result: xr.Dataset) -> go.Figure:
    """One run for each sender."""
    from tcpdynamics.charts.drawing import go

    drawing = go.Figure()
    for sender, colour in zip(result.sender.values, COLOURS, strict=False):
        one = result.sel(sender=sender)
        drawing.add_trace(go.Scatter(
            x=one.time.values, y=one.window.values, name=str(sender), line={"color": colour, "width": 1.5},
            legendgroup=str(sender),
        ))  # fmt: skip
        lost = one.lost.values > 0
        drawing.add_trace(go.Scatter(
            x=one.time.values[lost], y=one.window.values[lost], mode="markers", name=f"{sender}, losses",
            marker={"color": colour, "symbol": "x", "size": 7}, legendgroup=str(sender), showlegend=False,
        ))  # fmt: skip
    return _titled(drawing, "time [s]", "window [packets]")


@figure_of("logistic.fig5", "Fig. 5: time until 99 % of the link is used, against its rate", "logistic.scaling")
def draw_fig5(result: xr.Dataset) -> go.Figure:
    """Means with 95 % intervals, under the first reading; dashed: another one. Reno is watched for 350 s at most."""
    from tcpdynamics.charts.drawing import go

    drawing = go.Figure()
    rates = [float(r) for r in result.rate.values]
    kinds = [(0, "solid", "")]
    names = [str(name) for name in result.reading.values]
    if OTHER_START in names:
        kinds.append((names.index(OTHER_START), "dash", ", slow start until a loss"))
    for sender in result.sender.values:
        colour = COLOURS[ORDER.index(str(sender))]
        for reading, dash, more in kinds:
            intervals = [
                rules.interval(v) for v in result.filled.sel(sender=sender).isel(reading=reading).values.tolist()
            ]
            drawing.add_trace(go.Scatter(
                x=rates, y=[i.mean for i in intervals], name=f"{sender}{more}", mode="lines+markers",
                line={"color": colour, "dash": dash}, error_y={"array": [i.high - i.mean for i in intervals]},
            ))  # fmt: skip
    drawing.update_xaxes(type="log", range=[1, 3], tickvals=[10, 30, 100, 300, 1000])
    drawing.update_yaxes(type="log", tickvals=[0.5, 0.6, 0.8, 1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100])
    return _titled(drawing, "bottleneck bandwidth [Mbit/s]", "convergence time [s]")


@figure("logistic.fig6", "Fig. 6: throughput while UDP leaves 80, 65, 50 and 80 Mbit/s", fig6)
def draw_fig6(result: xr.Dataset) -> go.Figure:
    """One run for each sender; black: what UDP leaves."""
    from tcpdynamics.charts.drawing import go

    drawing = go.Figure()
    drawing.add_trace(go.Scatter(
        x=result.time.values, y=result.available.values, name="available",
        line={"color": "black", "dash": "dash", "shape": "hv"},
    ))  # fmt: skip
    for sender, colour in zip(result.sender.values, COLOURS, strict=False):
        drawing.add_trace(go.Scatter(
            x=result.time.values, y=result.throughput.sel(sender=sender).values, name=str(sender),
            line={"color": colour, "width": 1.5},
        ))  # fmt: skip
    drawing.update_xaxes(range=[0, 200])
    drawing.update_yaxes(range=[0, 105])
    return _titled(drawing, "time [s]", "throughput [Mbit/s]")


@figure("logistic.fig7", "Fig. 7: windows of five connections that join and leave; (a) Reno, (b) proposed", fig7)
def draw_fig7(result: xr.Dataset) -> go.Figure:
    """Marks: the window of each by the paper's sum over their number."""
    from tcpdynamics.charts.drawing import go, make_subplots

    drawing = make_subplots(1, 2, subplot_titles=["(a) Reno", "(b) proposed"])
    for column, sender in enumerate(result.sender.values, start=1):
        for i, colour in zip(result.connection.values, COLOURS, strict=False):
            one = result.sel(sender=sender, connection=i)
            drawing.add_trace(
                go.Scatter(x=one.time.values, y=one.window.values, name=f"connection {i}",
                           line={"color": colour, "width": 1.5}, showlegend=column == 1),
                row=1, col=column,
            )  # fmt: skip
    claims = ledger.claims("logistic")
    printed = {n: claims[f"logistic.fig7.sum.{n}"].published for n in range(1, 6) if f"logistic.fig7.sum.{n}" in claims}
    marks = {100 * n - 50: float(v) * float(result["product"]) / n for n, v in printed.items() if isinstance(v, float)}
    drawing.add_trace(
        go.Scatter(x=list(marks), y=list(marks.values()), mode="markers", name="by the paper's sum",
                   marker={"symbol": "x", "size": 10, "color": "black"}),
        row=1, col=2,
    )  # fmt: skip
    drawing.update_xaxes(range=[0, 700], title_text="time [s]")
    drawing.update_yaxes(title_text="window [packets]", col=1)
    drawing.update_layout(height=460, template="plotly_white", legend=LEGEND_BELOW, margin={"t": 40, "r": 20})
    return drawing


@figure_of("logistic.fig8_packets", "Fig. 8 in packets: throughput over unlike access links", "logistic.access")
def draw_fig8(result: xr.Dataset) -> go.Figure:
    """Shares times the link, with 95 % intervals; crosses: eq. (9) as the ledger has it."""
    from tcpdynamics.charts.drawing import go

    drawing = go.Figure()
    links = np.array([float(r) for r in result.rate.values])
    used = np.minimum(links, 30.0)
    for sender, colours in (("Proposed", COLOURS[:2]), ("Reno", COLOURS[2:4])):
        cells = result.share.sel(sender=sender).isel(reading=0).values.tolist()
        intervals = [rules.interval(cell) for cell in cells]
        for i, colour in enumerate(colours, start=1):
            shares = np.array([j.mean if i == 1 else 1 - j.mean for j in intervals])
            drawing.add_trace(go.Scatter(
                x=links, y=shares * used, name=f"{sender}, connection {i}", mode="lines+markers",
                line={"color": colour, "dash": "solid" if sender == "Proposed" else "dot"},
                error_y={"array": [(j.high - j.mean) * u for j, u in zip(intervals, used, strict=True)]},
            ))  # fmt: skip
    printed = {
        float(c.case["rate"]): float(c.published)
        for c in ledger.claims("logistic").values()
        if c.id.startswith("logistic.fig8.share.") and isinstance(c.published, float)
    }
    for i in (1, 2):
        drawing.add_trace(go.Scatter(
            x=list(printed), y=[link * (v if i == 1 else 1 - v) for link, v in printed.items()], mode="markers",
            name=f"eq. (9), connection {i}", marker={"symbol": "x", "size": 10, "color": COLOURS[i - 1]},
        ))  # fmt: skip
    drawing.update_xaxes(range=[4, 31])
    return _titled(drawing, "bottleneck BW [Mbit/s]", "throughput [Mbit/s]")


@figure_of("logistic.sums", "Sum of the windows of flows that begin together, in packets", "logistic.many")
def draw_sums(result: xr.Dataset) -> go.Figure:
    """Packets with 95 % intervals, by reading; lines: models; dashed: the paper's bound."""
    from tcpdynamics.charts.drawing import go

    drawing = go.Figure()
    flows = [float(n) for n in result.flows.values]
    readings = [str(name) for name in result.reading.values]
    drawn_readings = [0, *([readings.index(OTHER_RATES)] if OTHER_RATES in readings else [])]
    for i, colour in zip(drawn_readings, COLOURS, strict=False):
        intervals = [rules.interval(v) for v in result["sum"].isel(reading=i).values.tolist()]
        drawing.add_trace(go.Scatter(
            x=flows, y=[j.mean for j in intervals], name=f"packets: {readings[i]}", mode="lines+markers",
            line={"color": colour}, error_y={"array": [j.high - j.mean for j in intervals]},
        ))  # fmt: skip
    gamma, n = 0.9, np.arange(2, 21)
    for name, sums in (
        ("n/(1 + (n-1) gamma)", n / (1 + (n - 1) * gamma)),
        ("n (1-gamma) + gamma", n * (1 - gamma) + gamma),
    ):
        drawing.add_trace(go.Scatter(x=n, y=sums, name=name, mode="lines", line={"color": "#777777", "width": 1}))
    bound = ledger.get_claim("logistic.sec32.packets.bound.2").published
    top = float(bound["below"]) if isinstance(bound, dict) else 1 / gamma
    drawing.add_hline(y=top, line={"dash": "dash", "color": "black"}, annotation_text="1/gamma")
    return _titled(drawing, "flows", "sum of windows [K base_rtt]")


def _titled(drawing: go.Figure, x: str, y: str) -> go.Figure:
    drawing.update_layout(
        height=460, template="plotly_white", xaxis_title=x, yaxis_title=y, legend=LEGEND_BELOW,
        margin={"t": 30, "r": 20},
    )  # fmt: skip
    return drawing
