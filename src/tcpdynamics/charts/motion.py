"""Figures of motion: trajectories, and where they end up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .drawing import go, make_subplots
from .look import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LAYOUT,
    MAX_LINES,
    ORANGE,
    PURPLE,
    RED,
    axis_range,
    axis_scale,
    axis_title,
    check_swept,
    image_figure,
    panel_figure,
    set_axis_titles,
    swept_dims,
)

if TYPE_CHECKING:
    import xarray as xr

#: Markers of one diagram.
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
    dims = check_swept(result, 1)
    names = [str(k) for k in result.data_vars if "time" in result[k].dims]
    names = [k for k in names if quantities is None or k in quantities]
    if dims and result.sizes[dims[0]] > MAX_LINES:
        first = result.isel(flow=0) if "flow" in result[names[0]].dims else result
        return image_figure(first, names[0], "time", dims[0])
    return panel_figure(result, names, "time")


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
        raise ValueError(f"a bifurcation diagram has one swept parameter, and {len(dims)} were swept; give one a range")
    dim = dims[0]
    rows = 1 if exponents is None else 2
    figure = make_subplots(rows=rows, cols=1, shared_xaxes=True, vertical_spacing=0.05, row_heights=[0.7, 0.3][:rows])
    iterated = [k for k in result.data_vars if "iterate" in result[k].dims]
    if iterated:
        panels = [(result[iterated[0]], "iterate", BLUE)]
    else:
        cycles = result.attractor == 2  # what rests has ripples of rounding only
        panels = [(result[k].where(cycles), "extremum", c) for k, c in (("maxima", BLUE), ("minima", RED))]
        panels += [(result[k].where(result.attractor == 0), "extremum", GREY) for k in ("maxima", "minima")]
    unsettled = "neither equilibrium nor cycle"
    for values, along, colour in panels:
        if "flow" in values.dims:
            values = values.isel(flow=0)
        extrema = _bounded(values.transpose(dim, along).values, result)
        x, y = _points(result[dim].values, extrema, MARKERS // len(panels))
        style = {"size": 2 if x.size > 5000 else 4, "color": colour}
        name = str(values.attrs.get("long_name", values.name)).partition(" of ")[0]
        name = unsettled if colour == GREY else name
        new = x.size > 0 and name not in [trace.name for trace in figure.data if trace.showlegend]
        figure.add_scattergl(x=x, y=y, mode="markers", marker=style, name=name, showlegend=new, row=1, col=1)
    if "level" in result:  # older stores have it as `rest`, or have the motion's end only
        solved = next((name for name in ("equilibrium", "rest") if name in result), "level")
        equilibria = result[solved].where(result.attractor == 1)
        named = "at the end, near equilibrium" if solved == "level" else "equilibrium (solved for)"
        style = {"color": BLACK, "width": 2}
        if np.isfinite(equilibria.values).any():
            figure.add_scatter(
                x=result[dim].values, y=equilibria.values, mode="lines", line=style, name=named, row=1, col=1
            )
    attrs = (result["level"] if "level" in result else panels[0][0]).attrs
    title = dict(attrs) | {"long_name": str(attrs.get("long_name", "")).removesuffix(" at the end")}
    figure.update_yaxes(title_text=axis_title("", title), row=1, col=1)
    if exponents is not None:
        largest = exponents.exponent.sel(direction=1)
        exponent = np.where(np.isfinite(largest.values), largest.values, np.nan)
        style = {"color": PURPLE, "width": 1}
        name = "Lyapunov exponent"
        figure.add_scatter(x=result[dim].values, y=exponent, line=style, mode="lines", name=name, row=2, col=1)
        figure.add_hline(0, line={"color": BLACK, "width": 1}, row=2, col=1)
        figure.update_yaxes(title_text=axis_title(name, largest.attrs), row=2, col=1)
    figure.update_xaxes(title_text=axis_title(dim, result[dim].attrs), row=rows, col=1)
    _whole_range(figure, result[dim].values)
    figure.update_layout(**LAYOUT, showlegend=len(figure.data) > 1)
    return figure


def _whole_range(figure: go.Figure, parameter: Any) -> None:
    """The axis shows all that was swept, also where nothing is drawn."""
    low, high = axis_range(parameter, edge=0.02)
    if low < high:
        figure.update_xaxes(range=[low, high], **axis_scale(parameter))


def _bounded(values: Any, result: xr.Dataset) -> Any:
    """Points of the attractors (parameter, point) without parameters that failed or whose orbit escapes."""
    size = np.abs(values).max(axis=1, initial=0.0, where=np.isfinite(values))
    settled = size[np.isin(result.attractor.values, (1, 2)) & (result.status.values == 0)]
    bound = ESCAPED * max(1.0, float(settled.max())) if settled.size else np.inf
    return np.where(((result.status.values == 0) & (size <= bound))[:, None], values, np.nan)


def _points(parameter: Any, values: Any, limit: int) -> tuple[Any, Any]:
    """Markers: each value once (a cycle repeats), and no more than a page can draw."""
    x, y = [], []
    for at, row in zip(parameter, values, strict=True):
        finite = row[np.isfinite(row)]
        if finite.size:
            scale = float(np.abs(finite).max()) or 1.0
            first = np.unique(np.round(finite / scale, 9), return_index=True)[1]
            x.append(np.full(first.size, at))
            y.append(finite[first])
    if not x:
        return np.empty(0), np.empty(0)
    xs, ys = np.concatenate(x), np.concatenate(y)
    if xs.size > limit:
        sample = np.sort(np.random.default_rng(0).choice(xs.size, limit, replace=False))
        xs, ys = xs[sample], ys[sample]
    return xs, ys


def lyapunov_figure(result: xr.Dataset) -> go.Figure:
    """Lyapunov exponents with their standard errors: against the swept parameter, or by direction.

    Raises
    ------
    ValueError
        More than one parameter was swept.
    """
    swept = check_swept(result, 1)
    x = swept[0] if swept else "direction"
    figure = go.Figure()
    exponents = result.exponent.where(np.isfinite(result.exponent))
    for colour, i in zip((PURPLE, BLUE, GREEN, ORANGE, RED), range(result.sizes["direction"]), strict=False):
        line, error = (v.isel(direction=i) if swept else v for v in (exponents, result.error))
        name = f"exponent {int(result.direction[i])}" if swept else "exponents"
        bars = {"array": error.values, "thickness": 1}
        figure.add_scatter(
            x=result[x].values, y=line.values, name=name, error_y=bars, marker={"color": colour, "size": 4},
            mode="lines+markers" if swept else "markers",
        )  # fmt: skip
        if not swept:
            break
    figure.add_hline(0, line={"color": BLACK, "width": 1})
    figure.update_layout(**LAYOUT | {"height": 480}, showlegend=True)
    figure.update_xaxes(**(axis_scale(result[x].values) if swept else {}))
    return set_axis_titles(figure, result, x, "exponent")


def basin_figure(result: xr.Dataset) -> go.Figure:
    """Where the motion ends, by its start: one start as a line of markers, two as a map.

    Raises
    ------
    ValueError
        More than two starts or parameters span the result.
    """
    dims = check_swept(result, 2)
    words = [str(w) for w in str(result.outcome.attrs["flag_meanings"]).split()]
    colours = (GREY, BLUE, ORANGE, RED)
    figure = go.Figure()
    labels, numbers = _ends(result, words)
    for number in np.unique(numbers.values):
        colour = colours[int(result.outcome.values.ravel()[np.argmax(numbers.values.ravel() == number)])]
        index = np.argwhere(numbers.transpose(*dims).values == number)
        x = result[dims[0]].values[index[:, 0]] if dims else np.zeros(1)
        y = result[dims[1]].values[index[:, 1]] if len(dims) > 1 else np.zeros(len(index))
        symbols = ("square", "diamond", "circle", "x", "cross", "star")
        style = {"color": colour, "symbol": symbols[int(number) % len(symbols)], "size": 9}
        figure.add_scatter(x=x, y=y, mode="markers", marker=style, name=labels[int(number)])
    figure.update_layout(**LAYOUT | {"height": 620 if len(dims) > 1 else 300}, showlegend=True)
    for axis, dim in ((figure.update_xaxes, dims[:1]), (figure.update_yaxes, dims[1:])):
        if dim:
            axis(title_text=axis_title(dim[0].replace("start_", "start of ", 1), _units_of_start(result, dim[0])))
        else:
            axis(showticklabels=False)
    return figure


def _units_of_start(result: xr.Dataset, dim: str) -> dict[str, str]:
    """The unit of the quantity that a start belongs to."""
    name = dim.removeprefix("start_").partition("[")[0]
    units = result[name].attrs.get("units", "1") if name in result else "1"
    return {**result[dim].attrs, "units": str(units)}


def _ends(result: xr.Dataset, words: list[str]) -> tuple[list[str], xr.DataArray]:
    """A label for each kind of end and each equilibrium or cycle, and which of them a start leads to."""
    outcome = result.outcome
    labels: list[str] = []
    numbers = outcome.astype(int).copy(data=np.zeros(outcome.shape, int))
    for code, word in enumerate(words):
        which = result[f"{word}_index"] if f"{word}_index" in result else outcome.astype(int) * 0
        for index in np.unique(which.values[outcome.values == code]):
            numbers = numbers.where(~((outcome == code) & (which == index)), len(labels))
            labels.append(word if f"{word}_index" not in result else f"{word} {int(index) + 1}")
    return labels, numbers
