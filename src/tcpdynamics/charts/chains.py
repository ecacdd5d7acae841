"""Figures of Markov chains: laws over states, motion towards them, times to reach them, what is seen on the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .drawing import go
from .look import (
    COLOURS,
    LAYOUT,
    axis_scale,
    axis_title,
    check_swept,
    dash_of,
    image_figure,
    panel_figure,
    quantity_figure,
    set_axis_titles,
    swept_dims,
)

if TYPE_CHECKING:
    import xarray as xr


def law_figure(result: xr.Dataset) -> go.Figure:
    """A stationary law or its derivative: bars over the states, or a line of each state against the parameter.

    What a model observes (`model.observe(result)`) is drawn as `sent_against_loss` does, or by all its quantities.

    Raises
    ------
    ValueError
        More than one parameter was swept (more than two, where one state was chosen).
    """
    if "sent" in result and len(swept_dims(result)) == 1:
        return sent_against_loss(result)
    name = "probability" if "probability" in result else "derivative"
    if name not in result:
        return quantity_figure(result)
    chosen = "state" not in result[name].dims
    instead = ", or one state: result.sel(state=...)" if len(swept_dims(result)) == 2 else ""
    swept = check_swept(result, 2 if chosen else 1, instead)
    if len(swept) == 2:
        return image_figure(result, name, *swept)
    return panel_figure(result, [name], swept[0] if swept else "state")


def sent_against_loss(observed: xr.Dataset) -> go.Figure:
    """P(n packets sent in an epoch) against loss, one line for each n; from `model.observe(...)`."""
    figure = go.Figure()
    (x,) = check_swept(observed, 1)
    for i, n in enumerate(observed.packets.values):
        figure.add_scatter(
            x=observed[x].values, y=observed.sent.sel(packets=n).values, name=f"{n} sent",
            line={"color": COLOURS[i % len(COLOURS)], "dash": dash_of(i)}, mode="lines",
        )  # fmt: skip
    figure.update_layout(**LAYOUT | {"height": 420})
    figure.update_yaxes(title_text="probability of an epoch", tickformat="~%")
    figure.update_xaxes(**axis_scale(observed[x].values))
    return figure.update_xaxes(title_text=axis_title(x, observed[x].attrs))


def transient_figure(result: xr.Dataset) -> go.Figure:
    """Probabilities of states against time.

    Raises
    ------
    ValueError
        A parameter was swept.
    """
    check_swept(result, 0)
    return panel_figure(result, ["probability"], "time")


def first_passage_figure(result: xr.Dataset) -> go.Figure:
    """Time to the target: its distribution where times were asked for, else its mean, by the state of the start.

    Raises
    ------
    ValueError
        More than one parameter was swept (more than two, where one state was chosen).
    """
    chosen = "state" not in result["mean_time"].dims
    instead = ", or one state: result.sel(state=...)" if len(swept_dims(result)) == 2 else ""
    swept = check_swept(result, 2 if chosen else 1, instead)
    if len(swept) == 2:
        return image_figure(result, "mean_time", *swept)
    if swept:
        return panel_figure(result, ["mean_time"], swept[0])
    if "distribution" in result:
        return panel_figure(result, ["distribution"], "time")
    return panel_figure(result, ["mean_time"], "state")


def sojourn_figure(result: xr.Dataset) -> go.Figure:
    """P(a stay lasts so many epochs) against its length, a line for each value of the swept parameter.

    Raises
    ------
    ValueError
        More than one parameter was swept.
    """
    check_swept(result, 1)
    figure = panel_figure(result, ["probability"], "length")
    figure.update_yaxes(type="log", exponentformat="power")
    return set_axis_titles(figure, result, "length", "probability")
