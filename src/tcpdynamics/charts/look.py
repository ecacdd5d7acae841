"""The look of every figure: one palette, one layout, axes with names and units, panels of quantities."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

#: Okabe and Ito's colours, which colour-blind readers tell apart.
BLUE, RED, GREEN, PURPLE, ORANGE, SKY, BLACK = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000",
)  # fmt: skip
COLOURS = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, BLACK)
GREY = "#999999"
#: Colours of the verdicts of comparisons.
VERDICT_COLOURS = {"agrees": GREEN, "close": SKY, "differs": RED, "undecided": ORANGE, "no answer": GREY}
LAYOUT: dict[str, Any] = {
    "template": "plotly_white",
    "margin": {"t": 50, "r": 20},
    "legend": {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0},
    "height": 620,
}
#: The legend below the panels, for figures whose panels have titles.
LEGEND_BELOW: dict[str, Any] = {"orientation": "h", "y": -0.22}
#: Lines of one panel.
MAX_LINES = 10
#: Points of a parameter that have a tick each.
MAX_TICKS = 10
#: Values that a line joins whose places are shown.
FEW = 20
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


def fixed_words(result: xr.Dataset) -> str:
    """What was chosen of a result: its coordinates that are one value each.

    >>> import xarray as xr
    >>> fixed_words(xr.Dataset(coords={"state": "b0", "loss": ((), 0.1, {"symbol": "p", "units": "1"})}))
    'state b0, p = 0.1'
    """
    words = []
    for name, value in result.coords.items():
        if value.ndim or name == "status" or value.dtype.kind not in "OUTiuf":
            continue
        text = f"{value.item():.4g}" if value.dtype.kind in "iuf" else str(value.item())
        unit = str(value.attrs.get("units", "1"))
        label = axis_title(str(name), {"symbol": value.attrs.get("symbol", "")})
        is_word = value.dtype.kind in "OUT"
        words.append(f"{label} {text}" if is_word else f"{label} = {text}" + (f" {unit}" if unit != "1" else ""))
    return ", ".join(words)


def axis_scale(values: Any) -> dict[str, Any]:
    """A logarithmic axis for values in a geometric sequence.

    >>> axis_scale([0.001, 0.01, 0.1, 1.0]), axis_scale([0.1, 0.2, 0.3])
    ({'type': 'log', 'exponentformat': 'power'}, {})
    """
    x = np.asarray(values)
    if x.dtype.kind not in "iuf" or x.ndim != 1 or x.size < 3 or not (np.isfinite(x) & (x > 0)).all():
        return {}
    steps = np.diff(np.log(x))
    even = np.allclose(steps, steps[0], rtol=1e-4, atol=0) and abs(steps.sum()) > np.log(3)
    return {"type": "log", "exponentformat": "power"} if even else {}


def axis_ticks(values: Any) -> dict[str, Any]:
    """Ticks at the values themselves where they are few and apart.

    >>> axis_ticks([5, 20, 80])
    {'tickvals': [5, 20, 80], 'ticktext': ['5', '20', '80']}
    >>> axis_ticks([1e6, 2e6])  # Plotly writes these better
    {'tickvals': [1000000.0, 2000000.0]}
    >>> axis_ticks([5, 5.1, 80])
    {}
    """
    x = np.asarray(values)
    if x.dtype.kind not in "iuf" or not 1 < x.size <= MAX_TICKS or not np.isfinite(x).all():
        return {}
    places = np.sort(np.log(x) if axis_scale(x) else x.astype(float))
    if np.diff(places).min() < np.ptp(places) / (2 * MAX_TICKS):  # their words would overlap
        return {}
    words = [f"{value:.6g}" for value in x.tolist()]
    short = not any("e" in word for word in words)
    return {"tickvals": x.tolist()} | ({"ticktext": words} if short else {})


def axis_range(values: Any, edge: float = 0.0) -> list[float]:
    """From the least to the largest value, in the units of the axis that `axis_scale` gives, and a share more."""
    x = np.log10(values) if axis_scale(values) else np.asarray(values, float)
    low, high = float(np.min(x)), float(np.max(x))
    return [low - edge * (high - low), high + edge * (high - low)]


def titled(figure: go.Figure, text: str) -> go.Figure:
    """The figure with a small title above its legend, in lines that fit into 900 pixels."""
    lines = textwrap.wrap(text, 130)
    title = {"text": break_lines(text, 130), "font": {"size": 13}, "x": 0.01, "y": 1, "yref": "container"}
    more = 20 * len(lines)
    return figure.update_layout(
        title=title | {"yanchor": "top", "pad": {"t": 8 if len(lines) < 2 else 18}},  # several lines stand higher
        margin={"t": LAYOUT["margin"]["t"] + more},
        height=(figure.layout.height or LAYOUT["height"]) + more,
    )


#: Senders that take a window rule; "": one that differs from point to point of a sweep.
_WITH_RULES = ("tahoe", "reno", "newreno", "sack", "")


def words_of_groups(groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """What tells groups of flows apart: how they repair, and their window rule where one is not Reno's.

    >>> words_of_groups([{"sender": "tfrc"}, {"sender": "sack"}])
    ['tfrc', 'sack']
    >>> words_of_groups([{"sender": "sack", "control": "cubic"}, {"sender": "sack", "control": "reno"}])
    ['sack, cubic', 'sack, reno']
    """
    senders = [str(group.get("sender", "")) for group in groups]
    rules = [
        str(group.get("control", "reno")) if sender in _WITH_RULES else ""
        for group, sender in zip(groups, senders, strict=True)
    ]
    if set(rules) <= {"reno", ""}:
        return senders
    return [", ".join(filter(None, words)) for words in zip(senders, rules, strict=True)]


def swept_dims(result: xr.Dataset) -> tuple[str, ...]:
    """Dimensions of the parameters: those of the status, or those that all quantities have."""
    if "status" in result:
        return tuple(str(d) for d in result["status"].dims)
    first, *more = [v.dims for v in result.data_vars.values()]
    return tuple(str(d) for d in first if all(d in dims for dims in more))


def coordinate(result: xr.Dataset | xr.DataArray, dim: str) -> Any:
    """Values along a dimension: its coordinate, or 0, 1, 2, ... where it has none."""
    return result[dim].values if dim in result.coords else np.arange(result.sizes[dim])


def set_axis_titles(figure: go.Figure, result: xr.Dataset, x: str, y: str) -> go.Figure:
    """Name both axes after two variables or coordinates of a result."""
    figure.update_xaxes(title_text=axis_title(x, result[x].attrs if x in result else {}))
    return figure.update_yaxes(title_text=axis_title(y, result[y].attrs if y in result else {}))


def panel_figure(result: xr.Dataset, names: Sequence[str], x: str) -> go.Figure:
    """Quantities against `x`, those with one unit in one panel, a line for each index of their other dimensions.

    Of more than 10 lines of one quantity the 10 largest are drawn, and the legend says of how many.

    Parameters
    ----------
    result : Dataset
    names : sequence of str
        Variables that have the dimension `x`.
    x : str
        Dimension along which lines run. Where its coordinate holds words, bars stand in the place of lines.

    Examples
    --------
    >>> import xarray as xr
    >>> result = xr.Dataset({"queue": ("time", [0.0, 1.0], {"units": "packet"})}, {"time": [0.0, 0.5]})
    >>> panel_figure(result, ["queue"], "time").layout.yaxis.title.text
    'queue [packet]'
    """
    from .drawing import make_subplots

    units = list(dict.fromkeys(str(result[k].attrs.get("units", "1")) for k in names))
    figure = make_subplots(rows=len(units), cols=1, shared_xaxes=True, vertical_spacing=0.06)
    along, drawn = coordinate(result, x), 0
    counts = {name: result[name].size // len(along) for name in names}
    short = [f"{MAX_LINES} of {n} lines of {name}" for name, n in counts.items() if n > MAX_LINES]
    if short:
        figure.update_layout(legend_title_text=", ".join(short))
    for row, unit in enumerate(units, start=1):
        members = [k for k in names if str(result[k].attrs.get("units", "1")) == unit]
        for name in members:
            for label, y in _lines(result[name], x):
                colour = COLOURS[drawn % len(COLOURS)]
                place: dict[str, Any] = {"x": along, "y": y, "name": label, "row": row, "col": 1}
                if np.asarray(along).dtype.kind in "OUT":
                    figure.add_bar(**place, marker_color=colour)
                else:
                    mode = "lines+markers" if len(along) <= FEW else "lines"
                    figure.add_scatter(**place, line={"color": colour, "dash": dash_of(drawn)}, mode=mode)
                drawn += 1
        title = {"units": unit, "long_name": ", ".join(members)}
        if len(members) == 1:
            title["long_name"] = break_lines(_meaning(result[members[0]]), 30)
        figure.update_yaxes(title_text=axis_title("", title), row=row, col=1)
    attrs = result[x].attrs if x in result.coords else {}
    figure.update_xaxes(title_text=axis_title(x, attrs), row=len(units), col=1)
    if x != "time":
        figure.update_xaxes(**axis_scale(along))
    return figure.update_layout(**LAYOUT | {"height": 300 + 180 * len(units)}, showlegend=True)


def break_lines(text: str, width: int) -> str:
    """Text in lines of at most so many characters, for titles.

    >>> break_lines("data packets lost over data packets that arrived", 30)
    'data packets lost over data<br>packets that arrived'
    """
    return "<br>".join(textwrap.wrap(text, width))


def _meaning(values: xr.DataArray) -> str:
    return str(values.attrs.get("long_name", values.name))


def dash_of(number: int) -> str:
    return ("solid", "dash", "dot", "dashdot")[number // len(COLOURS) % 4]


def _lines(values: xr.DataArray, x: str) -> list[tuple[str, Any]]:
    """Each line of a quantity along `x`, with its label."""
    lines = []
    more_dims = sorted((str(d) for d in values.dims if d != x), key=lambda d: d != "flow")
    shape = tuple(values.sizes[d] for d in more_dims)
    for index in np.ndindex(*shape):
        line = values.isel(dict(zip(more_dims, index, strict=True)))
        words = [f"{values.name}" + (f"[{int(line.flow)}]" if "flow" in more_dims else "")]
        words += [_label(d, coordinate(values, d)[i]) for d, i in zip(more_dims, index, strict=True) if d != "flow"]
        text = ", ".join(words[1:] if more_dims == ["state"] else words)
        lines.append((text if set(more_dims) - {"flow"} else f"{text}: {_meaning(values)}", line.values))
    if len(lines) <= MAX_LINES:
        return lines
    sizes = np.array([np.nan_to_num(np.abs(y)).max(initial=0.0) for _, y in lines])
    return [lines[i] for i in np.sort(np.argsort(-sizes, kind="stable")[:MAX_LINES])]


def _label(dim: str, value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    return f"{dim} {value}" if dim in ("group", "link") else f"{dim} = {float(value):.4g}"


def image_figure(result: xr.Dataset, name: str, x: str, y: str) -> go.Figure:
    """One quantity over two dimensions as an image with a colour bar."""
    from .drawing import go

    values = result[name]
    bar = {"title": {"text": axis_title(name, values.attrs), "side": "right"}}
    figure = go.Figure()
    figure.add_heatmap(
        x=coordinate(result, x), y=coordinate(result, y), z=values.transpose(y, x).values,
        colorscale="Cividis", colorbar=bar,
    )  # fmt: skip
    figure.update_layout(**LAYOUT)
    for update, dim in ((figure.update_xaxes, x), (figure.update_yaxes, y)):
        update(**axis_scale(coordinate(result, dim)))
    return set_axis_titles(figure, result, x, y)


def quantity_figure(result: xr.Dataset) -> go.Figure:
    """All quantities of a result against its swept parameter; of two parameters, the first quantity as an image.

    Raises
    ------
    ValueError
        More than two parameters were swept.
    """
    swept = swept_dims(result)
    names = [str(k) for k, v in result.data_vars.items() if k != "status" and v.dtype.kind in "fiub"]
    if len(swept) == 1:
        return panel_figure(result, names, swept[0])
    if len(swept) == 2:
        name = next((k for k in names if set(result[k].dims) == set(swept)), None)
        if name is not None:
            return image_figure(result, name, *swept)
    check_swept(result, 1)
    return point_figure(result, [k for k in names if result[k].size == 1])


def array_figure(values: xr.DataArray) -> go.Figure:
    """A labelled quantity: a line over one dimension, an image over two.

    Lines where one of the two holds words, or has no coordinate and at most 10 members, such as groups of flows.

    Raises
    ------
    ValueError
        No numbers, or more than two dimensions.

    Examples
    --------
    >>> import xarray as xr
    >>> rate = xr.DataArray([2.0, 1.0], {"loss": [0.1, 0.2]}, "loss", "rate", {"units": "packet/s"})
    >>> array_figure(rate).layout.yaxis.title.text
    'rate [packet/s]'
    """
    if values.dtype.kind not in "fiub" or values.ndim > 2:
        dims = ", ".join(map(str, values.dims)) or "none"
        raise ValueError(
            f"a figure of one quantity needs numbers over one or two dimensions, got {values.dtype} over {dims}; "
            "choose values with isel or sel"
        )
    name = str(values.name or "value")
    result = values.drop_vars("status", errors="ignore").to_dataset(name=name)
    words = [
        d for d in values.dims if np.asarray(coordinate(result, str(d))).dtype.kind in "OUT" or _is_list(values, str(d))
    ]
    if values.ndim == 2 and not words:
        return image_figure(result, name, *(str(d) for d in values.dims))
    if values.ndim == 0:
        return point_figure(result, [name])
    along = next((d for d in values.dims if d not in words), values.dims[0])
    return panel_figure(result, [name], str(along))


def _is_list(values: xr.DataArray, dim: str) -> bool:
    """Whether a dimension only numbers a few things, such as groups of flows, beside one that is a scale."""
    more_dims = [d for d in values.dims if d != dim]
    return dim not in values.coords and values.sizes[dim] <= MAX_LINES and all(d in values.coords for d in more_dims)


def point_figure(result: xr.Dataset, names: Sequence[str]) -> go.Figure:
    """The numbers of one point: a bar with its value for each quantity, side by side."""
    from .drawing import make_subplots

    figure = make_subplots(rows=1, cols=max(1, len(names)), horizontal_spacing=0.3 / max(1, len(names)))
    for column, name in enumerate(names, start=1):
        value = float(result[name].values.ravel()[0])
        figure.add_bar(
            x=[name], y=[value], text=[f"{value:.6g}"], marker_color=COLOURS[(column - 1) % len(COLOURS)],
            row=1, col=column,
        )  # fmt: skip
        meaning = break_lines(_meaning(result[name]), 40)
        title = axis_title("", {"units": result[name].attrs.get("units", "1"), "long_name": meaning})
        figure.update_yaxes(title_text=title, row=1, col=column)
    return figure.update_layout(**LAYOUT | {"height": 420}, showlegend=False)


def check_swept(result: xr.Dataset, limit: int, instead: str = "") -> tuple[str, ...]:
    """The swept parameters, at most so many; `instead` says what else may be done.

    Raises
    ------
    ValueError
        More were swept.
    """
    swept = swept_dims(result)
    if len(swept) > limit:
        numbers = ("one point", "one swept parameter", "two swept parameters")[limit]
        kind = result.attrs.get("solver", "this result")
        count = f"{len(swept)} were" if len(swept) > 1 else "1 was"
        index = ", ".join(f"{d}=0" for d in swept[limit:])
        raise ValueError(
            f"the figure of {kind} shows {numbers}, and {count} swept ({', '.join(swept)}); "
            f"choose values with result.isel({index}){instead}"
        )
    return swept
