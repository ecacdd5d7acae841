"""Figures of stability: functions from results to plotly figures. They never show, write or serve.

Axes are named by what the result says of them: the attributes "symbol", "long_name" and "units" of its coordinates.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import map_coordinates

from tcpdynamics.solvers.results import NOT_YET, Status
from tcpdynamics.solvers.stability.boundary import Boundary
from tcpdynamics.solvers.stability.boundary import trace as find_boundary
from tcpdynamics.solvers.stability.stability_chart import VERDICTS, boundary_curves

from .drawing import go, make_subplots
from .look import (
    BLACK,
    BLUE,
    COLOURS,
    LAYOUT,
    PURPLE,
    RED,
    axis_range,
    axis_scale,
    axis_title,
    check_swept,
    image_figure,
    quantity_figure,
)

if TYPE_CHECKING:
    import xarray as xr

#: Light tints of blue and orange, which colour-blind readers tell apart.
_FILLS = {"stable": "#BFE0F2", "marginal": "#7F7F7F", "unstable": "#FBD9B5", "unknown": "#FFFFFF"}

#: A crossing whose abscissa is above this share of the chart's largest is a jump: others are exact to 1e-10 of an edge.
_JUMP = 1e-5


def stability_figure(chart: xr.Dataset, *, marks: Sequence[Mapping[str, Any]] = ()) -> go.Figure:
    """A stability chart of one or two parameters.

    Parameters
    ----------
    chart : Dataset
        From `stability_chart`.
    marks : sequence of mappings
        Points to be marked: a value for each swept parameter, and "name".

    Raises
    ------
    ValueError
        More than two parameters were swept.
    """
    dims = check_swept(chart, 2)
    if not dims:
        return quantity_figure(chart)
    figure = _regions(chart, *dims) if len(dims) == 2 else _along(chart, *dims)
    for mark in marks:
        _mark(figure, chart, dims, mark)
    # Plotly leaves a legend of one entry out.
    figure.update_layout(**LAYOUT, title=None, showlegend=True)
    figure.update_xaxes(title_text=axis_title(dims[0], chart[dims[0]].attrs))
    return figure


def _regions(chart: xr.Dataset, across: str, up: str) -> go.Figure:
    x, y = chart[across].values, chart[up].values
    verdict = _verdicts(chart).transpose(up, across).values
    levels = len(VERDICTS)
    colours = [_FILLS[name] for name in VERDICTS.values()]
    scale = [(edge / levels, c) for i, c in enumerate(colours) for edge in (i, i + 1)]
    figure = go.Figure()
    figure.add_heatmap(
        x=x, y=y, z=verdict, zmin=-1.5, zmax=levels - 1.5, colorscale=scale, showscale=False,
        hovertemplate="%{x:.6g}, %{y:.6g}<extra></extra>",
    )  # fmt: skip
    for value, name in VERDICTS.items():
        if (verdict == value).any():
            why = " everywhere" if (verdict == value).all() else ""
            why += _why_unknown(chart) if name == "unknown" else ""
            box = {"symbol": "square", "size": 12, "color": _FILLS[name], "line": {"color": "#444", "width": 1}}
            figure.add_scatter(x=[None], y=[None], mode="markers", marker=box, name=name + why)
    if "boundary_curve" in chart:
        _boundary(figure, chart, across, up)
    if "margin" in chart:
        _closed_form(figure, chart, across, up)
    figure.update_yaxes(title_text=axis_title(up, chart[up].attrs), range=axis_range(y), **axis_scale(y))
    figure.update_xaxes(range=axis_range(x), **axis_scale(x))
    return figure


def _verdicts(chart: xr.Dataset) -> xr.DataArray:
    """Codes; unknown where a point failed, of which a store holds 0."""
    verdict: xr.DataArray = chart.verdict
    return verdict.where(chart.status.isin((0, Status.ON_SWITCH)), 2) if "status" in chart else verdict


def _why_unknown(chart: xr.Dataset) -> str:
    """The commonest reason of points without a verdict."""
    if "status" not in chart:
        return ""
    codes = chart.status.values[_verdicts(chart).values == 2]
    codes, counts = np.unique(codes[(codes != 0) & (codes != NOT_YET)], return_counts=True)
    codes_of_status = set(Status)
    reasons = [
        Status(int(c)).sentence.partition(":")[0] for c in codes[np.argsort(-counts)] if int(c) in codes_of_status
    ]
    return (": " if len(reasons) == 1 else ", mostly: ") + reasons[0] if reasons else ""


def _boundary(figure: go.Figure, chart: xr.Dataset, across: str, up: str) -> None:
    """The traced curves, where roots pass and where stability jumps; crossings that no curve joins as dots."""
    value = chart["radius"] - 1 if "radius" in chart else chart["abscissa"]
    size = np.abs(value.values[np.isfinite(value.values)]).max(initial=0.0)
    curves = [
        (c[f"boundary_{across}"].values, c[f"boundary_{up}"].values, _jumps(c, size)) for c in boundary_curves(chart)
    ]
    for at_jumps, name, dash in ((False, "from the roots", "solid"), (True, "at a jump", "dot")):
        legend_names = set()
        for single, mode in ((False, "lines"), (True, "markers")):
            parts = [c for c in curves if (len(c[0]) == 1) == single]
            shown_parts = [_with_neighbours(jump) if at_jumps else ~jump for *_, jump in parts]
            x, y = (
                np.concatenate(
                    [np.append(np.where(k, c[i], np.nan), np.nan) for c, k in zip(parts, shown_parts, strict=True)]
                )
                if parts
                else np.empty(0)
                for i in (0, 1)
            )
            if not np.isfinite(x).any():
                continue
            look: dict[str, Any] = {"marker": {"color": BLACK, "size": 4}}
            if mode == "lines":
                look = {"line": {"color": BLACK, "width": 5, "dash": dash}}
            first = name not in legend_names
            figure.add_scatter(x=x, y=y, mode=mode, name=f"boundary, {name}", showlegend=first, **look)
            legend_names.add(name)


def _jumps(curve: xr.Dataset, size: float) -> Any:
    """Crossings at which the number that decides does not pass through zero, beside the largest of the chart."""
    if "boundary_residual" not in curve:
        return np.zeros(curve.sizes["crossing"], bool)
    residual = np.abs(curve.boundary_residual.values)
    return ~(residual <= _JUMP * size)


def _with_neighbours(where: Any) -> Any:
    """The same with the points before and behind, so that lines meet."""
    out = where.copy()
    out[1:] |= where[:-1]
    out[:-1] |= where[1:]
    return out


def _closed_form(figure: go.Figure, chart: xr.Dataset, across: str, up: str) -> None:
    """Where the margin changes sign, on straight lines between the points of the grid."""
    margin = chart.margin.transpose(across, up).values
    finite = np.isfinite(margin)
    if not (margin[finite] < 0).any() or not (margin[finite] > 0).any():
        return
    largest = float(np.abs(margin[finite]).max())
    value = -np.where(np.isinf(margin), np.sign(margin) * largest, margin)
    rows, columns = np.indices(margin.shape, float)
    nodes = {"row": rows.ravel(), "column": columns.ravel()}
    rounding = 1e-14 * largest

    def between(at: dict[str, Any]) -> tuple[Any, Any]:
        margins = map_coordinates(value, [at["row"], at["column"]], order=1, mode="nearest")
        return margins, np.full(margins.shape, rounding)

    edge = find_boundary(between, nodes, margin.shape, value.ravel(), np.full(value.size, rounding), tolerance=1e-6)
    style = {"color": RED, "width": 2, "dash": "dash"}
    lines = _joined(edge, *(edge.at(np.broadcast_to(v, margin.shape).ravel()) for v in _axes(chart, across, up)))
    figure.add_scatter(x=lines[0], y=lines[1], mode="lines", line=style, name="boundary, in closed form")


def _axes(chart: xr.Dataset, across: str, up: str) -> tuple[Any, Any]:
    return chart[across].values[:, None], chart[up].values[None, :]


def _joined(edge: Boundary, x: Any, y: Any) -> tuple[Any, Any]:
    """Curves one behind the other with gaps between them; closed ones end where they began."""
    xs, ys = [], []
    for number in np.unique(edge.curve):
        index = np.flatnonzero(edge.curve == number)
        if edge.closed[index[0]]:
            index = np.append(index, index[0])
        xs += [x[index], [np.nan]]
        ys += [y[index], [np.nan]]
    return np.concatenate(xs), np.concatenate(ys)


def _along(chart: xr.Dataset, dim: str) -> go.Figure:
    x, verdict = chart[dim].values, _verdicts(chart).values
    name = "radius" if "radius" in chart else "abscissa"
    value = chart[name]
    figure = go.Figure()
    order = np.argsort(x)
    figure.add_scatter(x=x[order], y=value.values[order], mode="lines", line={"color": "#444444"}, showlegend=False)
    colours = {"stable": BLUE, "marginal": BLACK, "unstable": RED}
    symbols = {"stable": "circle", "marginal": "diamond", "unstable": "x"}
    for code, word in VERDICTS.items():
        at = verdict == code
        if word in colours and at.any():
            style = {"color": colours[word], "symbol": symbols[word], "size": 6}
            label = f"{word} everywhere" if at.all() else word
            figure.add_scatter(x=x[at], y=value.values[at], mode="markers", marker=style, name=label)
    edge = 1.0 if name == "radius" else 0.0
    figure.add_hline(edge, line={"color": BLACK, "width": 1})
    crossings = chart[f"boundary_{dim}"].values if f"boundary_{dim}" in chart else ()
    for at in crossings[:20]:
        place = np.log10(at) if axis_scale(x) else at  # annotations take exponents, lines take values
        line = {"color": BLACK, "width": 4}
        figure.add_vline(at, line=line, annotation_text=f"{at:.6g}", annotation_x=place)
    if "margin" in chart:
        for at in _zeros(x[order], chart.margin.values[order])[:20]:
            figure.add_vline(at, line={"color": RED, "width": 2, "dash": "dash"})
    figure.update_yaxes(title_text=axis_title(name, value.attrs))
    return figure.update_xaxes(**axis_scale(x))


def _zeros(x: Any, y: Any) -> Any:
    """Where straight lines between the points cross zero."""
    with np.errstate(invalid="ignore"):
        i = np.flatnonzero(np.isfinite(y[:-1] * y[1:]) & ((y[:-1] > 0) != (y[1:] > 0)))
    return x[i] + (x[i + 1] - x[i]) * y[i] / (y[i] - y[i + 1])


def _mark(figure: go.Figure, chart: xr.Dataset, dims: tuple[str, ...], mark: Mapping[str, Any]) -> None:
    x = mark[dims[0]]
    if len(dims) == 2:
        y = mark[dims[1]]
    else:
        name = "radius" if "radius" in chart else "abscissa"
        order = np.argsort(chart[dims[0]].values)
        y = float(np.interp(x, chart[dims[0]].values[order], chart[name].values[order]))
    style = {"symbol": "star", "size": 15, "color": PURPLE, "line": {"color": BLACK, "width": 1}}
    name = str(mark.get("name", "marked"))
    figure.add_scatter(x=[x], y=[y], mode="markers", marker=style, name=name, cliponaxis=False)


def spectrum_figure(roots: xr.Dataset) -> go.Figure:
    """The roots in the complex plane, with the line (of a map: the circle) that they must not cross.

    Parameters
    ----------
    roots : Dataset
        From `eigenvalues` or `characteristic_roots`, at one point or along one parameter, whose value is the colour.

    Raises
    ------
    ValueError
        More than one parameter was swept.
    """
    swept = check_swept(roots, 1)
    name, z = _roots(roots)
    attrs = roots[name if name in roots else f"{name}_real"].attrs
    figure = go.Figure()
    if attrs["units"] == "1":
        turn = np.linspace(0, 2 * np.pi, 361)
        line = {"color": BLACK, "width": 1}
        figure.add_scatter(x=np.cos(turn), y=np.sin(turn), mode="lines", line=line, name="unit circle")
        figure.update_yaxes(scaleanchor="x")
    else:
        figure.add_vline(0, line={"color": BLACK, "width": 1})
    if swept:
        values = np.broadcast_to(roots[swept[0]].values[:, None], z.shape).ravel()
        bar = {"title": {"text": axis_title(swept[0], roots[swept[0]].attrs), "side": "right"}}
        style: dict[str, Any] = {"color": values, "colorscale": "Cividis", "colorbar": bar, "size": 7}
        figure.add_scatter(x=z.real.ravel(), y=z.imag.ravel(), mode="markers", marker=style, name="roots")
    else:
        kinds = {"roots": (z, "x", RED)}
        if f"{name}_side" in roots and np.isnan(z.real).all():  # on a switch
            below, above = roots[f"{name}_side"].values.reshape(2, -1)
            kinds = {"roots below the switch": (below, "x", RED), "roots above it": (above, "cross", BLUE)}
        for label, (values, symbol, colour) in kinds.items():
            style = {"symbol": symbol, "size": 10, "color": colour}
            figure.add_scatter(x=values.real, y=values.imag, mode="markers", marker=style, name=label)
    figure.update_layout(**LAYOUT)
    for axis, part in ((figure.update_xaxes, "real part"), (figure.update_yaxes, "imaginary part")):
        axis(title_text=axis_title(part, {"long_name": part, "units": attrs["units"]}))
    return figure


def _roots(result: xr.Dataset) -> tuple[str, Any]:
    """Name and complex values, the roots of a point along the last axis; a store holds them as two variables."""
    name = next(k for k in ("eigenvalue", "characteristic_root") if k in result or f"{k}_real" in result)
    if name in result:
        return name, result[name].transpose(..., "root").values
    parts = [result[f"{name}_{part}"].transpose(..., "root").values for part in ("real", "imag")]
    return name, parts[0] + 1j * parts[1]


def equilibria_figure(result: xr.Dataset) -> go.Figure:
    """Equilibria against the swept parameter: stable discs, unstable rings, undecided diamonds; of two, their number.

    Raises
    ------
    ValueError
        More than two parameters were swept.
    """
    swept = check_swept(result, 2)
    if len(swept) == 2:
        return image_figure(result, "count", *swept)
    beside = {"residual", "abscissa", "radius", "stable", "undecided", "count", "status"}
    stable = result.stable == 1
    undecided = result.undecided == 1 if "undecided" in result else stable & False
    why = "on a switch: undecided" if (result.status == Status.ON_SWITCH).any() else "undecided"
    kinds = (
        ("stable", stable, "circle"),
        ("unstable", ~stable & ~undecided, "circle-open"),
        (why, undecided, "diamond-open"),
    )
    names = [str(k) for k, v in result.data_vars.items() if k not in beside and "equilibrium" in v.dims]
    figure, rows = _panels(result, names)
    for colour, name in zip(COLOURS, names, strict=False):
        values, label = _first_flow(result[name])
        x = values * 0 + (result[swept[0]] if swept else np.arange(1, values.sizes["equilibrium"] + 1))
        for word, kind, symbol in kinds:
            if word not in ("stable", "unstable") and not bool((kind & values.notnull()).any()):
                continue
            style = {"color": colour, "symbol": symbol, "size": 8}
            figure.add_scatter(
                x=x.where(kind).values.ravel(), y=values.where(kind).values.ravel(), mode="markers", marker=style,
                name=f"{label}, {word}", row=rows[name], col=1,
            )  # fmt: skip
    if swept:
        figure.update_xaxes(**axis_scale(result[swept[0]].values))
    return _named_panels(figure, result, swept[0] if swept else "equilibrium", rows)


def _panels(result: xr.Dataset, names: Sequence[str]) -> tuple[go.Figure, dict[str, int]]:
    """Panels below each other, one for each unit, and the row of each quantity."""
    of = {name: str(result[name].attrs.get("units", "1")) for name in names}
    units = list(dict.fromkeys(of.values()))
    figure = make_subplots(rows=max(1, len(units)), cols=1, shared_xaxes=True, vertical_spacing=0.06)
    figure.update_layout(**LAYOUT | {"height": 440 + 180 * max(1, len(units))}, showlegend=True)
    return figure, {name: units.index(unit) + 1 for name, unit in of.items()}


def _named_panels(figure: go.Figure, result: xr.Dataset, x: str, rows: Mapping[str, int]) -> go.Figure:
    """The axes of `_panels` with the names and the unit of what they show."""
    for row in sorted(set(rows.values())):
        members = [name for name, its in rows.items() if its == row]
        attrs = dict(result[members[0]].attrs)
        if len(members) > 1:
            attrs = {"long_name": ", ".join(members), "units": attrs.get("units", "1")}
        figure.update_yaxes(title_text=axis_title(members[0], attrs), row=row, col=1)
    last = max(rows.values(), default=1)
    title = axis_title(x, result[x].attrs if x in result else {})
    return figure.update_xaxes(title_text=title, row=last, col=1)


def _first_flow(values: xr.DataArray) -> tuple[xr.DataArray, str]:
    """A quantity, of several flows that of the first, and its name."""
    meaning = str(values.attrs.get("long_name", values.name))
    if "flow" not in values.dims:
        return values, meaning
    first = values.isel(flow=0)
    number = int(first["flow"]) if "flow" in first.coords else 0
    return first, f"{meaning}, flow {number}"


def continuation_figure(result: xr.Dataset) -> go.Figure:
    """The branch of equilibria: stable solid, unstable dotted, with the points where roots cross."""
    parameter = json.loads(result.attrs["settings"])["parameter"]
    beside = {"abscissa", "radius", "stable", "unstable", "status", parameter}
    names = [str(k) for k, v in result.data_vars.items() if k not in beside and "step" in v.dims]
    figure, rows = _panels(result, names)
    for colour, name in zip(COLOURS, names, strict=False):
        branch, label = _first_flow(result[name])
        stable = result.stable.values.astype(bool)
        # The step at which stability changes belongs to both lines, so that they meet.
        ends = np.diff(stable, append=stable[-1:]) | np.diff(stable, prepend=stable[:1])
        for word, kind, dash in (("stable", stable, "solid"), ("unstable", ~stable, "dot")):
            figure.add_scatter(
                x=result[parameter].values, y=np.where(kind | ends, branch.values, np.nan), mode="lines",
                line={"color": colour, "dash": dash}, name=f"{label}, {word}", row=rows[name], col=1,
            )  # fmt: skip
        special = result[f"special_{name}"]
        special = special.isel(flow=0) if "flow" in special.dims else special
        figure.add_scatter(
            x=result[f"special_{parameter}"].values, y=special.values, mode="markers+text", name="special points",
            text=[str(kind) for kind in result.special_kind.values], textposition="top center",
            marker={"color": BLACK, "symbol": "star", "size": 11}, showlegend=name == names[0],
            row=rows[name], col=1,
        )  # fmt: skip
    return _named_panels(figure, result, parameter, rows)
