"""Parts of the figures of comparisons: predicted lines, and measured points with intervals coloured by verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .look import BLACK, COLOURS, LEGEND_BELOW, VERDICT_COLOURS

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr


def error_bars(part: xr.Dataset, name: str, **look: Any) -> dict[str, Any]:
    """Thin bars from `<name>_low` to `<name>_high` around the points of a variable."""
    middle = part[name]
    bars = {"array": (part[f"{name}_high"] - middle).values, "arrayminus": (middle - part[f"{name}_low"]).values}
    return bars | {"thickness": 1} | look


def two_panels(first: str, second: str) -> go.Figure:
    from .drawing import make_subplots

    panels = make_subplots(1, 2, subplot_titles=(first, second), horizontal_spacing=0.12)
    panels.update_layout(height=430, template="plotly_white", margin={"t": 50, "r": 20}, legend=LEGEND_BELOW)
    return panels


def spectrum_lines(panels: Any, x: Any, roots: Any, name: str, colour: int) -> None:
    """Decay rate (solid) and frequency (dashed) of predicted exponents in the left panel."""
    from .drawing import go

    for values, dash, what in ((-roots.real, "solid", "decay"), (np.abs(roots.imag), "dash", "frequency")):
        panels.add_trace(
            go.Scatter(
                x=x, y=values, name=f"{what}, {name}", mode="lines", legendgroup=name,
                line={"color": COLOURS[colour % len(COLOURS)], "dash": dash, "width": 1.5},
            ),
            row=1, col=1,
        )  # fmt: skip


def measured_points(panels: Any, x: Any, part: xr.Dataset, colour: int) -> None:
    """Measured decay (disc) and frequency (ring), with intervals, in the left panel."""
    from .drawing import go

    for quantity, symbol in (("decay", "circle"), ("frequency", "circle-open")):
        points = part.sel(quantity=quantity)
        panels.add_trace(
            go.Scatter(
                x=x, y=points.measured.values, mode="markers", showlegend=False,
                marker={"color": COLOURS[colour % len(COLOURS)], "symbol": symbol, "size": 9},
                error_y={"array": part.error.values, "thickness": 1},
                text=[
                    f"{quantity}: {v}, gap {g:.1e}"
                    for v, g in zip(points.verdict.values, points.gap.values, strict=True)
                ],
            ),
            row=1, col=1,
        )  # fmt: skip


def critical_points(panels: Any, x: Any, part: xr.Dataset, line_x: Any, line_y: Any, name: str) -> None:
    """Critical values from simulations, with intervals, and a predicted line, in the right panel."""
    from .drawing import go

    panels.add_trace(
        go.Scatter(x=line_x, y=line_y, name=name, mode="lines", line={"color": BLACK, "width": 1.5}), row=1, col=2
    )
    panels.add_trace(
        go.Scatter(
            x=x, y=part.critical.values, name="from simulations", mode="markers",
            marker={"color": [VERDICT_COLOURS[v] for v in part.critical_verdict.values], "size": 10},
            error_y={
                "array": (part.critical_high - part.critical).values,
                "arrayminus": (part.critical - part.critical_low).values, "symmetric": False, "color": BLACK,
            },
            text=[str(v) for v in part.critical_verdict.values],
        ),
        row=1, col=2,
    )  # fmt: skip
