"""Figures of a few curves, which show what decides a statement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .registry import figure

if TYPE_CHECKING:
    import plotly.graph_objects as go

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


@dataclass(frozen=True)
class Curve:
    """One curve: its name, its points, and `mode` "lines", "dash" or "markers"."""

    name: str
    x: Any
    y: Any
    mode: str = "lines"


@dataclass(frozen=True)
class Curves:
    """What one figure shows.

    Attributes
    ----------
    x, y : str            Titles of the axes, with units.
    curves : tuple of Curve
    log : str             Axes in decades: "", "x", "y" or "xy".
    percent : str         Axes of fractions, which the picture has in per cent: "", "x", "y" or "xy".
    """

    x: str
    y: str
    curves: tuple[Curve, ...]
    log: str = ""
    percent: str = ""


def evidence(name: str, caption: str) -> Callable[[Callable[[], Curves]], Callable[[], Curves]]:
    """Register a function that solves for curves as a figure of its paper."""

    def register(solve: Callable[[], Curves]) -> Callable[[], Curves]:
        figure(name, caption, solve)(drawn)
        return solve

    return register


def drawn(what: Curves) -> go.Figure:
    """The curves in one picture.

    Examples
    --------
    >>> drawn(Curves("time [s]", "window [packet]", (Curve("flow 1", [0, 1], [1, 2]),))).layout.xaxis.title.text
    'time [s]'
    """
    from tcpdynamics.charts.drawing import go

    drawing = go.Figure()
    for curve, colour in zip(what.curves, COLOURS, strict=False):
        markers = curve.mode == "markers"
        style: dict[str, Any] = {"marker": {"color": colour, "size": 7 if len(curve.x) < 500 else 3}} if markers else {
            "line": {"color": colour, "width": 2.5, "dash": "dash" if curve.mode == "dash" else "solid"}
        }  # fmt: skip
        drawing.add_trace(
            go.Scatter(x=curve.x, y=curve.y, name=curve.name, mode="markers" if markers else "lines", **style)
        )
    drawing.update_layout(
        height=440, template="plotly_white", margin={"t": 20, "r": 20}, legend={"orientation": "h", "y": -0.2},
        xaxis={"title": what.x, "type": "log" if "x" in what.log else "linear", "exponentformat": "power"},
        yaxis={"title": what.y, "type": "log" if "y" in what.log else "linear", "exponentformat": "power"},
        showlegend=True,
    )  # fmt: skip
    for way in what.percent:
        drawing.update_layout({f"{way}axis_tickformat": "~%"})
    return drawing
