"""What figures of stability share: colours, layout, and axes named by what a result says of them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

#: Okabe and Ito's colours, which colour-blind readers tell apart.
BLUE, RED, GREEN, PURPLE, ORANGE, SKY, BLACK = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000",
)  # fmt: skip
COLOURS = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, BLACK)
LAYOUT: dict[str, Any] = {
    "template": "plotly_white",
    "margin": {"t": 50, "r": 20},
    "legend": {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0},
    "height": 620,
}
_GREEK = {
    "phi": "φ",
    "psi": "ψ",
    "varepsilon": "ε",
    "epsilon": "ε",
    "gamma": "\u03b3",
    "tau": "τ",
    "delta": "δ",
    "kappa": "κ",
}


def axis_title(name: str, attrs: Mapping[str, Any]) -> str:
    """Symbol, meaning and unit of an axis.

    >>> axis_title("phi", {"symbol": "\\\\phi", "long_name": "gain on spare bandwidth", "units": "1"})
    'φ, gain on spare bandwidth'
    >>> axis_title("low_p", {"symbol": "P_{low}", "units": "1"})
    'P<sub>low</sub>'
    """
    symbol = re.sub(r"\\([a-z]+)", lambda m: _GREEK.get(m[1], m[1]), str(attrs.get("symbol", "")))
    symbol = re.sub(r"_\{([^}]*)\}|_(\w)", lambda m: f"<sub>{m[1] or m[2]}</sub>", symbol)
    meaning = str(attrs.get("long_name", "")) or (name if not symbol else "")
    unit = str(attrs.get("units", "1"))
    return ", ".join(x for x in (symbol, meaning) if x) + (f" [{unit}]" if unit not in ("", "1") else "")


def titled(figure: go.Figure, text: str) -> go.Figure:
    """The figure with a small title above its legend."""
    lines = textwrap.wrap(text, 130)
    title = {"text": "<br>".join(lines), "font": {"size": 13}, "x": 0.01, "y": 1, "yref": "container"}
    more = 20 * len(lines)
    return figure.update_layout(
        title=title | {"yanchor": "top", "pad": {"t": 8}},
        margin={"t": LAYOUT["margin"]["t"] + more},
        height=(figure.layout.height or LAYOUT["height"]) + more,
    )


def swept_dims(result: xr.Dataset) -> tuple[str, ...]:
    """Dimensions of the parameters."""
    return tuple(str(d) for d in result["status"].dims)
