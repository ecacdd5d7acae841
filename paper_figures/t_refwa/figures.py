"""Taleb et al., *A Fair TCP-Based Congestion Avoidance Approach for One-to-Many Private Networks* (T-REFWA).

The paper shows no chart; it says that (1.5, 0.5) is stable under any conditions. The chart is drawn here for every
reading of its eq. (3), with those gains marked; its statements are in `claims`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tcpdynamics.errors import whole
from tcpdynamics.later import xr
from tcpdynamics.models import (
    TRefwaContinuous,
    TRefwaDelayed,
    TRefwaIntegrating,
    TRefwaIntegratingDelayed,
    TRefwaIntegratingSemiImplicit,
    TRefwaMeasured,
    TRefwaMixed,
    TRefwaQueueDelayed,
    TRefwaWindow,
)
from tcpdynamics.models.t_refwa.recursion import PHI as PHI
from tcpdynamics.models.t_refwa.recursion import PSI as PSI
from tcpdynamics.solvers import characteristic_roots, eigenvalues
from tcpdynamics.solvers.stability.stability_chart import boundary_curves, stability_chart

from ..registry import figure

if TYPE_CHECKING:
    import plotly.graph_objects as go


PAPER = "T. Taleb et al., A Fair TCP-Based Congestion Avoidance Approach for One-to-Many Private Networks"

#: Readings of eq. (3), by the name that the charts and the command line have for them.
READINGS: dict[str, tuple[Any, dict[str, Any]]] = {
    "window, no delay": (TRefwaWindow, {}),
    "window, one interval late": (TRefwaDelayed, {"delay": 1}),
    "window, mixed (0 and 1)": (TRefwaMixed, {"delays": (0, 1)}),
    "measured window, one late": (TRefwaMeasured, {"delay": 1}),
    "integrating queue": (TRefwaIntegrating, {}),
    "integrating, semi-implicit": (TRefwaIntegratingSemiImplicit, {}),
    "integrating, one late": (TRefwaIntegratingDelayed, {"delay": 1}),
    "continuous, both late": (TRefwaContinuous, {}),
    "continuous, queue late": (TRefwaQueueDelayed, {}),
}
COLOURS = ("#000000", "#0072B2", "#56B4E9", "#CC79A7", "#009E73", "#E69F00", "#D55E00", "#7A3E9D", "#8C8C8C")


def chart(reading: str, points: int = 61) -> xr.Dataset:
    """Stability of one reading over phi in (0, 3] and psi in (0, 2]."""
    kind, more = READINGS[reading]
    phi, psi = np.linspace(0.01, 3.0, points), np.linspace(0.01, 2.0, points)
    return stability_chart(kind(phi=phi, psi=psi, **more))


def charts(points: int = 61) -> dict[str, xr.Dataset]:
    """One chart for each reading."""
    points = whole("points", points, 2, 1000)
    return {name: chart(name, points) for name in READINGS}


def published() -> list[dict[str, Any]]:
    """Every reading at the published gains: radius or abscissa, and its verdict."""
    rows = []
    for name, (kind, more) in READINGS.items():
        model = kind(phi=PHI, psi=PSI, **more)
        if hasattr(model, "map"):
            root = complex(eigenvalues(model).eigenvalue.values.ravel()[0])
            value, edge, what = abs(root), 1.0, "radius"
        else:
            root = complex(characteristic_roots(model, count=1).characteristic_root.values.ravel()[0])
            value, edge, what = root.real, 0.0, "abscissa"
        off = value - edge
        verdict = "marginal" if abs(off) < 1e-12 else "stable" if off < 0 else "unstable"
        queue = model.equilibrium()["Q"] / model.buffer
        rows.append(
            {"reading": name, "what": what, "value": value, "root": root, "verdict": verdict, "rest": float(queue)}
        )
    return rows


@figure("t_refwa.stability", "Where each reading of eq. (3) is stable, over both gains", charts)
def draw(charts: dict[str, xr.Dataset]) -> go.Figure:
    """Traced boundaries of all readings, the region that is stable for every mix of delays, and the published gains."""
    from tcpdynamics.charts.drawing import go

    drawing = go.Figure()
    drawing.add_trace(
        go.Scatter(x=[0, 1, 2, 0], y=[0, 1, 0, 0], fill="toself", mode="none", fillcolor="rgba(0,158,115,0.18)",
                   name="|1-φ| + ψ < 1: every mix of delays")
    )  # fmt: skip
    for (name, result), colour in zip(charts.items(), COLOURS, strict=True):
        curves = boundary_curves(result)
        x, y = (np.concatenate([np.append(c[f"boundary_{k}"].values, np.nan) for c in curves]) for k in ("phi", "psi"))
        dash = "dash" if "boundary_residual" in result and "abscissa" in result else "solid"
        drawing.add_trace(
            go.Scatter(x=x, y=y, mode="lines", name=name, line={"color": colour, "width": 2.5, "dash": dash})
        )
    star = {"symbol": "star", "size": 17, "color": "#F0E442", "line": {"color": "#000000", "width": 1.5}}
    drawing.add_trace(go.Scatter(x=[PHI], y=[PSI], mode="markers", marker=star, name="published gains (1.5, 0.5)"))
    drawing.update_layout(
        height=620, template="plotly_white", margin={"t": 20, "r": 20}, legend={"orientation": "h", "y": -0.13},
        xaxis_title="φ, gain on spare bandwidth", yaxis_title="ψ, gain on free buffer",
    )  # fmt: skip
    drawing.update_xaxes(range=[0, 3])
    drawing.update_yaxes(range=[0, 2])
    return drawing
