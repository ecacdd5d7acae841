"""Figures of sweeps of scenarios: means with 95 % intervals against a parameter, maps over two."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpdynamics.errors import shown, suggestion

from .look import (
    BLACK,
    COLOURS,
    FEW,
    LAYOUT,
    MAX_LINES,
    axis_scale,
    axis_ticks,
    axis_title,
    break_lines,
    words_of_groups,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

#: What a figure shows where nobody chooses, as far as it is there.
_FIRST = ("loss_rate", "goodput_bits", "fairness", "utilisation", "mean_queue", "timeouts")


def quantities_of(result: xr.Dataset) -> list[str]:
    """Quantities of a sweep that have one number a replication, or one for each group of flows, flow or link."""
    dims = {*_dims(result), "replication"}
    return [
        str(name)
        for name, values in result.data_vars.items()
        if f"{name}_mean" in result and len(set(values.dims) - dims) < 2
    ]


def _chosen(result: xr.Dataset, known: list[str]) -> list[str]:
    """What is drawn where nobody says what: all that somebody chose to keep, or the usual ones of a whole sweep."""
    from tcpdynamics.validation.packet.measures import MEASURES

    # A store of another version has a few more or fewer.
    if known and len(set(MEASURES) & set(known)) < 0.8 * len(MEASURES):
        return known
    return [name for name in _FIRST if name in known]


def sweep_figure(result: xr.Dataset, quantities: Sequence[str] = ()) -> go.Figure:
    """Each quantity in a panel: against one parameter its mean with its 95 % interval, over two a map of the mean.

    Where one of two parameters holds words, a line for each word.

    Parameters
    ----------
    result : Dataset
        Of `sweep_scenarios`; of a store that was opened again, what `with_intervals` gives.
    quantities : sequence of str, optional
        By default those that the sweep was asked for; if it was asked for none, loss, goodput, fairness, utilisation,
        queue and timeouts.

    Raises
    ------
    ValueError
        More than two parameters were swept, or a quantity is not there.
    """
    from .drawing import make_subplots

    keys, measured = _keys(result), quantities_of(result)
    for name in quantities:
        if name not in measured:
            raise ValueError(
                f"no quantity {shown(name)}{suggestion(name, measured)}; the sweep has {', '.join(measured)}"
            )
    if not 1 <= len(keys) <= 2:
        raise ValueError(
            f"the figure of a sweep shows one or two swept keys, got {len(keys)}; choose values with result.isel"
        )
    names = list(quantities) or _chosen(result, measured)
    if not names:
        raise ValueError("the sweep has no quantity with means; with_intervals(result) makes them")
    words = [key for key in keys if result[key].dtype.kind in "OUT"]
    as_map = len(keys) == 2 and not words
    panels = [panel for name in names for panel in (_indices(result, name, keys) if as_map else [(name, {})])]
    columns = min(2, len(panels))
    rows = math.ceil(len(panels) / columns)
    titles = [_panel_title(result, name, index) for name, index in panels] if as_map else None
    figure = make_subplots(
        rows, columns, horizontal_spacing=0.16, vertical_spacing=(0.42 if as_map else 0.3) / rows, subplot_titles=titles
    )
    along = next((key for key in keys if key not in words), keys[0])
    colours: dict[str, str] = {}
    for number, (name, index) in enumerate(panels):
        place = {"row": number // columns + 1, "col": number % columns + 1}
        if as_map:
            _map(figure, result[f"{name}_mean"].isel(index), result, keys, place)
        else:
            _lines(figure, result, name, along, place, colours)
        figure.update_xaxes(title_text=axis_title(along, result[along].attrs), **place)
        if result[along].dtype.kind not in "OUT":
            figure.update_xaxes(**_scale(result[along].values), **place)
    if colours:  # lines that the legend does not name have none of its colours
        figure.update_traces(line_color=BLACK, selector=lambda trace: trace.name not in colours)
    height = 60 + (340 if as_map else 300) * rows
    return figure.update_layout(**LAYOUT | {"height": height}, showlegend=bool(colours))


def _keys(result: xr.Dataset) -> list[str]:
    """Dimensions of the parameters, those with one value left out."""
    dims = _dims(result)
    return [str(d) for d in dims if d != "replication" and (result.sizes[d] > 1 or len(dims) <= 2)]


def _dims(result: xr.Dataset) -> list[str]:
    first = result["status"] if "status" in result else next(iter(result.data_vars.values()))
    return [str(d) for d in first.dims]


def _scale(values: Any) -> dict[str, Any]:
    return {**axis_scale(values), **axis_ticks(values)}


def _title(values: xr.DataArray, more: str = "") -> str:
    meaning = str(values.attrs.get("long_name", values.name)) + more
    return axis_title("", {**values.attrs, "long_name": break_lines(meaning, 34)})


def _indices(result: xr.Dataset, name: str, keys: list[str]) -> list[tuple[str, dict[str, int]]]:
    """Maps of a quantity: one, or one for each group, flow or link."""
    mean = result[f"{name}_mean"].squeeze()
    more_dims = [str(d) for d in mean.dims if d not in keys]
    shape = tuple(mean.sizes[d] for d in more_dims)
    return [(name, dict(zip(more_dims, index, strict=True))) for index in list(np.ndindex(*shape))[:MAX_LINES]]


def _panel_title(result: xr.Dataset, name: str, index: dict[str, int]) -> str:
    more = "".join(f", {_word(result, dim, i)}" for dim, i in index.items())
    return _title(result[name], more)


def _lines(
    figure: Any, result: xr.Dataset, name: str, along: str, place: dict[str, int], colours: dict[str, str]
) -> None:
    """The lines of a panel, in `colours` by their names, which the legend has once; a line alone has no name."""
    mean, low, high = (result[f"{name}_{part}"].squeeze() for part in ("mean", "low", "high"))
    mean = mean.expand_dims(along) if along not in mean.dims else mean
    low, high = low.broadcast_like(mean), high.broadcast_like(mean)
    more_dims = [str(d) for d in mean.dims if d != along]
    x = result[along].values
    lines = list(np.ndindex(*(mean.sizes[d] for d in more_dims)))
    mode = "markers" if x.dtype.kind in "OUT" else "lines+markers" if len(x) <= FEW else "lines"
    for index in lines[:MAX_LINES]:
        chosen = dict(zip(more_dims, index, strict=True))
        label = ", ".join(_word(result, d, i) for d, i in chosen.items())
        new = bool(label) and label not in colours
        if new:
            colours[label] = COLOURS[len(colours) % len(COLOURS)]
        y, up, down = (values.isel(chosen).values for values in (mean, high, low))
        figure.add_scatter(
            x=x, y=y, name=label or name, legendgroup=label or name, showlegend=new,
            mode=mode,
            line={"color": colours.get(label, COLOURS[0])},
            error_y={"type": "data", "array": up - y, "arrayminus": y - down, "thickness": 1, "width": 3},
            **place,
        )  # fmt: skip
    more = f" ({MAX_LINES} of {len(lines)} lines)" if len(lines) > MAX_LINES else ""
    figure.update_yaxes(title_text=_title(result[name], more), **place)


def _word(result: xr.Dataset, dim: str, index: int) -> str:
    if dim == "group":
        words = _group_words(result)
        return f"group {index} ({words[index]})" if index < len(words) and words[index] else f"group {index}"
    if dim not in result.coords:
        return f"{dim} {index}"
    value = result[dim].values[index]
    if isinstance(value, str):
        return str(value)
    return f"{dim} {value}" if dim == "flow" else f"{dim} = {float(value):.4g}"


def _group_words(result: xr.Dataset) -> list[str]:
    """What each group of flows is, as far as all scenarios of the sweep have it."""
    try:
        settings = dict(json.loads(result.attrs.get("parameters", "{}")))
    except (ValueError, TypeError):
        return []
    count = result.sizes["group"]
    return words_of_groups(
        [{k: str(settings.get(f"flows.{i}.{k}", "")) for k in ("sender", "control")} for i in range(count)]
    )


def _map(figure: Any, mean: xr.DataArray, result: xr.Dataset, keys: list[str], place: dict[str, int]) -> None:
    x, y = keys
    axes = figure.get_subplot(place["row"], place["col"])
    across, up = axes.xaxis.domain, axes.yaxis.domain
    bar = {"x": across[1] + 0.01, "len": up[1] - up[0], "y": (up[0] + up[1]) / 2, "thickness": 12}
    z = mean.squeeze().transpose(y, x).values
    figure.add_heatmap(x=result[x].values, y=result[y].values, z=z, colorscale="Cividis", colorbar=bar, **place)
    figure.update_yaxes(title_text=axis_title(y, result[y].attrs), **_scale(result[y].values), **place)
