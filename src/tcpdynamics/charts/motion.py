"""Figures of motion: trajectories, and where they end up."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from .look import BLACK, BLUE, COLOURS, LAYOUT, PURPLE, RED, axis_title, swept_dims

if TYPE_CHECKING:
    import xarray as xr

#: Lines of one panel, and markers of one diagram.
SHOWN = 10
MARKERS = 150_000

#: Orbits that go beyond this many times the largest value of those that settled have escaped.
ESCAPED = 1e3


def trajectory_figure(result: xr.Dataset, quantities: Sequence[str] | None = None) -> go.Figure:
    """Quantities against time, those with one unit in one panel.

    A sweep of one parameter gives a line for each of up to 10 values; for more, the first quantity as an image.

    Parameters
    ----------
    result : Dataset
        From `trajectory`.
    quantities : sequence of str, optional
        Default: all.

    Raises
    ------
    ValueError
        More than one parameter was swept.
    """
    dims = swept_dims(result)
    if len(dims) > 1:
        raise ValueError(
            f"trajectories are drawn for one swept parameter, and {len(dims)} were swept ({', '.join(dims)}); "
            "give the others one value"
        )
    names = [str(k) for k in result.data_vars if "time" in result[k].dims]
    names = [k for k in names if quantities is None or k in quantities]
    if dims and result.sizes[dims[0]] > SHOWN:
        return _image(result, names[0], dims[0])
    units = list(dict.fromkeys(str(result[k].attrs.get("units", "1")) for k in names))
    figure = make_subplots(rows=len(units), cols=1, shared_xaxes=True, vertical_spacing=0.06)
    drawn = 0
    for row, unit in enumerate(units, start=1):
        members = [k for k in names if str(result[k].attrs.get("units", "1")) == unit]
        for name in members:
            for label, line in _lines(result[name], dims):
                style = {"color": COLOURS[drawn % len(COLOURS)], "dash": _dash(drawn)}
                figure.add_scatter(
                    x=result.time.values, y=line, name=label, line=style, mode="lines", row=row, col=1
                )
                drawn += 1
        title = {"units": unit, "long_name": ", ".join(members)}
        if len(members) == 1:
            title["long_name"] = textwrap.fill(_meaning(result[members[0]]), 30).replace("\n", "<br>")
        figure.update_yaxes(title_text=axis_title("", title), row=row, col=1)
    figure.update_xaxes(title_text=axis_title("time", result.time.attrs), row=len(units), col=1)
    figure.update_layout(**LAYOUT | {"height": 300 + 180 * len(units)}, showlegend=True)
    return figure


def _meaning(values: xr.DataArray) -> str:
    return str(values.attrs.get("long_name", values.name))


def _dash(number: int) -> str:
    return ("solid", "dash", "dot", "dashdot")[number // len(COLOURS) % 4]


def _lines(values: xr.DataArray, dims: tuple[str, ...]) -> list[tuple[str, Any]]:
    """Each line of a quantity with its label."""
    found = []
    over = [d for d in ("flow", *dims) if d in values.dims]
    for index in np.ndindex(*(values.sizes[d] for d in over)):
        one = values.isel(dict(zip(over, index, strict=True)))
        told = [f"{values.name}" + (f"[{int(one.flow)}]" if "flow" in over else "")]
        told += [f"{d} = {float(one[d]):.4g}" for d in dims]
        text = ", ".join(told)
        found.append((text if dims else f"{text}: {_meaning(values)}", one.values))
    return found


def _image(result: xr.Dataset, name: str, dim: str) -> go.Figure:
    values = result[name]
    if "flow" in values.dims:
        values = values.isel(flow=0)
    figure = go.Figure()
    bar = {"title": {"text": axis_title(name, values.attrs), "side": "right"}}
    z = values.transpose(dim, "time").values
    figure.add_heatmap(x=result.time.values, y=result[dim].values, z=z, colorscale="Cividis", colorbar=bar)
    figure.update_layout(**LAYOUT)
    figure.update_xaxes(title_text=axis_title("time", result.time.attrs))
    figure.update_yaxes(title_text=axis_title(dim, result[dim].attrs))
    return figure


def bifurcation_figure(result: xr.Dataset, exponents: xr.Dataset | None = None) -> go.Figure:
    """Points of the attractor against the swept parameter.

    Parameters
    ----------
    result : Dataset
        From `bifurcation`, with one swept parameter. Of a map, its first state; of a flow, maxima and minima.
    exponents : Dataset, optional
        From `lyapunov` on the same grid; a second panel.

    Raises
    ------
    ValueError
        Not one parameter was swept.
    """
    dims = swept_dims(result)
    if len(dims) != 1:
        raise ValueError(
            f"a bifurcation diagram has one swept parameter, and {len(dims)} were swept; give one a range"
        )
    dim = dims[0]
    rows = 1 if exponents is None else 2
    figure = make_subplots(
        rows=rows, cols=1, shared_xaxes=True, vertical_spacing=0.05, row_heights=[0.7, 0.3][:rows]
    )
    iterated = [k for k in result.data_vars if "iterate" in result[k].dims]
    if iterated:
        panels = [(result[iterated[0]], "iterate", BLUE)]
    else:
        swings = result.attractor != 1  # what rests has ripples of rounding only
        panels = [(result[k].where(swings), "extremum", c) for k, c in (("maxima", BLUE), ("minima", RED))]
    for values, along, colour in panels:
        if "flow" in values.dims:
            values = values.isel(flow=0)
        kept = _bounded(values.transpose(dim, along).values, result)
        x, y = _points(result[dim].values, kept, MARKERS // len(panels))
        style = {"size": 2 if x.size > 5000 else 4, "color": colour}
        name = str(values.attrs.get("long_name", values.name)).partition(" of ")[0]
        figure.add_scattergl(x=x, y=y, mode="markers", marker=style, name=name, row=1, col=1)
    if "level" in result:
        rest = result.level.where(result.attractor == 1)
        style = {"color": BLACK, "width": 2}
        figure.add_scatter(
            x=result[dim].values, y=rest.values, mode="lines", line=style, name="equilibrium", row=1, col=1
        )
    attrs = (result["level"] if "level" in result else panels[0][0]).attrs
    title = dict(attrs) | {"long_name": str(attrs.get("long_name", "")).removesuffix(" at the end")}
    figure.update_yaxes(title_text=axis_title("", title), row=1, col=1)
    if exponents is not None:
        largest = exponents.exponent.sel(direction=1)
        exponent = np.where(np.isfinite(largest.values), largest.values, np.nan)
        style = {"color": PURPLE, "width": 1}
        name = "Lyapunov exponent"
        figure.add_scatter(
            x=result[dim].values, y=exponent, line=style, mode="lines", name=name, row=2, col=1
        )
        figure.add_hline(0, line={"color": BLACK, "width": 1}, row=2, col=1)
        figure.update_yaxes(title_text=axis_title(name, largest.attrs), row=2, col=1)
    figure.update_xaxes(title_text=axis_title(dim, result[dim].attrs), row=rows, col=1)
    _whole_range(figure, result[dim].values)
    figure.update_layout(**LAYOUT, showlegend=len(figure.data) > 1)
    return figure


def _whole_range(figure: go.Figure, parameter: Any) -> None:
    """The axis shows all that was swept, also where nothing is drawn."""
    low, high = float(np.min(parameter)), float(np.max(parameter))
    edge = 0.02 * (high - low)
    if edge > 0:
        figure.update_xaxes(range=[low - edge, high + edge])


def _bounded(values: Any, result: xr.Dataset) -> Any:
    """Points of the attractors (parameter, point) without parameters that failed or whose orbit escapes."""
    size = np.abs(values).max(axis=1, initial=0.0, where=np.isfinite(values))
    settled = size[np.isin(result.attractor.values, (1, 2)) & (result.status.values == 0)]
    most = ESCAPED * max(1.0, float(settled.max())) if settled.size else np.inf
    return np.where(((result.status.values == 0) & (size <= most))[:, None], values, np.nan)


def _points(parameter: Any, values: Any, most: int) -> tuple[Any, Any]:
    """Markers: each value once (a cycle repeats), and no more than a page can draw."""
    x, y = [], []
    for at, row in zip(parameter, values, strict=True):
        known = row[np.isfinite(row)]
        if known.size:
            scale = float(np.abs(known).max()) or 1.0
            first = np.unique(np.round(known / scale, 9), return_index=True)[1]
            x.append(np.full(first.size, at))
            y.append(known[first])
    if not x:
        return np.empty(0), np.empty(0)
    xs, ys = np.concatenate(x), np.concatenate(y)
    if xs.size > most:
        kept = np.sort(np.random.default_rng(0).choice(xs.size, most, replace=False))
        xs, ys = xs[kept], ys[kept]
    return xs, ys
