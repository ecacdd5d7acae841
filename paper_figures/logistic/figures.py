"""Iguchi, Hasegawa, Murata, *A New Congestion Control Mechanism of TCP with Inline Network Measurement*.

Its first two figures and Fig. 8 are drawn again from solving the models; those in packets are in `in_packets`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tcpdynamics.errors import whole
from tcpdynamics.later import xr
from tcpdynamics.models import (
    Logistic,
    LogisticDelayed,
    LogisticMap,
    LotkaVolterraLink,
    LotkaVolterraMap,
    LotkaVolterraStale,
    LotkaVolterraThroughput,
    LotkaVolterraWindows,
    per_flow,
)
from tcpdynamics.models.parameters import describe
from tcpdynamics.solvers import trajectory
from tcpdynamics.solvers.stability.stability_chart import stability_chart

from ..registry import figure

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from tcpdynamics.models.lotka_volterra.equilibrium import Reading

PAPER = "T. Iguchi, G. Hasegawa, M. Murata, A New Congestion Control Mechanism of TCP with Inline Network Measurement"

#: The paper's gains, and what its figures take.
EPSILON, GAMMA, CAPACITY = 1.95, 0.9, 100.0
FIG1 = (0.6, 1.8, 2.4, 3.0)
#: Fig. 1 does not say where it starts nor how long it runs; with this start the curves look like the paper's.
START, STEPS = 1.0, 30
#: Fig. 2: species 2 joins after that many units of time; where the figure ends is not said.
JOINS, END = 10.0, 80.0
#: Fig. 8: access links [Mbit/s].
ACCESS = (10.0, 20.0)

COLOURS = ("#0072B2", "#009E73", "#E69F00", "#D55E00")


def fig1() -> xr.Dataset:
    """Fig. 1: N against time for four epsilon, as the map per unit of time and as the differential equation.

    Returns
    -------
    xarray.Dataset
        `map` over `epsilon` and `step`, `ode` over `epsilon` and `time`.
    """
    setting: dict[str, Any] = {"epsilon": list(FIG1), "capacity": CAPACITY, "start": START}
    steps, times = np.arange(STEPS + 1), np.linspace(0, STEPS, 301)
    by_map = trajectory(LogisticMap(**setting), steps).w.rename(time="step")
    by_ode = trajectory(Logistic(**setting), times).w
    return xr.Dataset({"map": by_map, "ode": by_ode})


def fig2() -> xr.Dataset:
    """Fig. 2: two species, the second from time 10 on; as the differential equation and as the map.

    Returns
    -------
    xarray.Dataset
        `ode` over `flow` and `time`, `map` over `flow` and `step`; NaN before species 2 is there.
    """
    gains: dict[str, Any] = {"epsilon": EPSILON, "gamma": GAMMA, "capacity": CAPACITY}
    runs = {}
    for name, kind, alone in (("ode", LotkaVolterraWindows, Logistic), ("map", LotkaVolterraMap, LogisticMap)):
        spacing = 0.1 if name == "ode" else 1.0
        before = np.arange(0, JOINS + spacing / 2, spacing)
        first = trajectory(alone(epsilon=EPSILON, capacity=CAPACITY, start=START), before).w.values
        after = np.arange(0, END - JOINS + spacing / 2, spacing)
        joined = kind(flows=2, **gains, start=per_flow([float(first[-1]), START]))
        both = trajectory(joined, after, method="taylor" if name == "ode" else "auto").N.values
        values = np.concatenate([np.stack([first[:-1], np.full(first.size - 1, np.nan)]), both], axis=1)
        time = np.concatenate([before[:-1], JOINS + after])
        dim = "time" if name == "ode" else "step"
        runs[name] = xr.DataArray(values, {"flow": [1, 2], dim: time}, ("flow", dim), attrs={"units": "1"})
    return xr.Dataset(runs)


def fig8(points: int = 51) -> xr.Dataset:
    """Fig. 8: throughputs of two connections with access links of 10 and 20 Mbit/s, against the bottleneck.

    Returns
    -------
    xarray.Dataset over `flow`, `link` [Mbit/s] and `reading` (R1, R2, R3)
        `throughput` where the flows settle, and `proportional`, eq. (9) [Mbit/s].
    """
    links = np.linspace(5.0, 30.0, whole("points", points, 2, 100_000))
    K = per_flow([xr.DataArray(np.minimum(a, links), {"link": links}, "link") for a in ACCESS])
    bottleneck = xr.DataArray(links, {"link": links}, "link")
    common = {"flows": 2, "epsilon": EPSILON, "gamma": GAMMA, "capacity": K}
    models: dict[str, Reading] = {
        "R1": LotkaVolterraWindows(**common),
        "R2": LotkaVolterraLink(**common, link=bottleneck),
        "R3": LotkaVolterraThroughput(**common, link=bottleneck),
    }
    rates = xr.concat(
        [m.equilibrium()["throughput" if k == "R3" else "N"] for k, m in models.items()],
        xr.Variable("reading", list(models)),
    )
    eq9 = K / K.sum("flow") * np.minimum(bottleneck, K.sum("flow"))
    return xr.Dataset({"throughput": rates.reset_coords(drop=True), "proportional": eq9.reset_coords(drop=True)})


def charts(points: int = 61) -> dict[str, xr.Dataset]:
    """Stability charts, with the paper's gains inside: delayed logistic; five flows with stale measurements."""
    epsilon = np.linspace(0.1, 3.0, points)
    models: dict[str, LogisticDelayed | LotkaVolterraStale] = {
        "logistic": LogisticDelayed(epsilon=epsilon, delay=np.linspace(0.02, 2.0, points)),
        "lotka_volterra": LotkaVolterraStale(flows=5, epsilon=epsilon, gamma=np.linspace(0.02, 0.98, points)),
    }
    results = {name: stability_chart(model) for name, model in models.items()}
    for name, result in results.items():
        for row in describe(models[name]):
            if row["name"] in result.coords:
                labels = {"symbol": row["symbol"], "long_name": row["meaning"], "units": row["unit"]}
                result[row["name"]].attrs |= labels
    return results


@figure("logistic.fig1", "Window against time for four gains: map and differential equation", fig1)
def draw_fig1(result: xr.Dataset) -> go.Figure:
    """The map (points joined) and the differential equation (dashed)."""
    from tcpdynamics.charts.drawing import go

    drawing = go.Figure()
    for e, colour in zip(result.epsilon.values, COLOURS, strict=True):
        drawing.add_trace(
            go.Scatter(
                x=result.step.values, y=result["map"].sel(epsilon=e).values, name=f"ε = {e:g}, map",
                line={"color": colour}, mode="lines+markers", marker={"size": 4}, legendgroup=f"{e:g}",
            )
        )  # fmt: skip
        drawing.add_trace(
            go.Scatter(
                x=result.time.values, y=result.ode.sel(epsilon=e).values, name=f"ε = {e:g}, ODE",
                line={"color": colour, "dash": "dash", "width": 1.5}, mode="lines", legendgroup=f"{e:g}",
            )
        )  # fmt: skip
    return _laid_out(drawing, "time", "population N", 460)


@figure("logistic.fig2", "Two species, the second joining at time 10", fig2)
def draw_fig2(result: xr.Dataset) -> go.Figure:
    """Both species, as the differential equation (lines) and as the map (points)."""
    from tcpdynamics.charts.drawing import go

    drawing = go.Figure()
    for flow, colour in zip(result.flow.values, COLOURS[::3], strict=False):
        line = {"color": colour}
        drawing.add_trace(
            go.Scatter(
                x=result.time.values, y=result.ode.sel(flow=flow).values, name=f"species {flow}, ODE",
                line=line, mode="lines",
            )
        )  # fmt: skip
        drawing.add_trace(
            go.Scatter(
                x=result.step.values, y=result["map"].sel(flow=flow).values, name=f"species {flow}, map",
                marker={"color": colour, "symbol": "circle-open", "size": 6}, mode="markers",
            )
        )  # fmt: skip
    return _laid_out(drawing, "time", "population N", 420)


@figure("logistic.fig8", "Throughput of two connections against the bottleneck, three readings", fig8)
def draw_fig8(result: xr.Dataset) -> go.Figure:
    """Throughput of both connections under the three readings, and eq. (9)."""
    from tcpdynamics.charts.drawing import go

    drawing = go.Figure()
    for i, reading in enumerate(result.reading.values):
        for flow, dash in zip(result.flow.values, ("solid", "dash"), strict=True):
            y = result.throughput.sel(reading=reading, flow=flow).values
            drawing.add_trace(
                go.Scatter(x=result.link.values, y=y, name=f"{reading}, connection {flow}",
                           line={"color": COLOURS[i], "dash": dash, "width": 4 if reading == "R3" else 2})
            )  # fmt: skip
    for flow in result.flow.values:
        drawing.add_trace(
            go.Scatter(x=result.link.values[::3], y=result.proportional.sel(flow=flow).values[::3], mode="markers",
                       name="eq. (9)", showlegend=bool(flow == 1), marker={"color": "#000000", "size": 6})
        )  # fmt: skip
    return _laid_out(drawing, "bottleneck BW [Mbit/s]", "rate [Mbit/s]", 460)


def _laid_out(drawing: go.Figure, x: str, y: str, height: int) -> go.Figure:
    drawing.update_layout(
        height=height, template="plotly_white", margin={"t": 20, "r": 20}, legend={"orientation": "h", "y": -0.2},
        xaxis_title=x, yaxis_title=y,
    )  # fmt: skip
    drawing.update_yaxes(rangemode="tozero")
    return drawing


from . import in_packets as in_packets  # noqa: E402  (registers its figures)
