"""Figures: functions from labelled results to Plotly figures. They never show, write or serve.

`plot(result)` draws every result; it asks the attributes of the Dataset what it is.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

__all__ = ["plot"]

#: Solver -> module and function that draw its results.
_FIGURES = {
    "stationary": "chains.law_figure",
    "sensitivity": "chains.law_figure",
    "transient": "chains.transient_figure",
    "first_passage": "chains.first_passage_figure",
    "sojourn": "chains.sojourn_figure",
    "windowed": "look.quantity_figure",
    "spectral_gap": "look.quantity_figure",
    "self_consistent": "look.quantity_figure",
    "convergence": "look.quantity_figure",
    "spectral_abscissa": "look.quantity_figure",
    "spectral_radius": "look.quantity_figure",
    "equilibria": "stability.equilibria_figure",
    "eigenvalues": "stability.spectrum_figure",
    "characteristic_roots": "stability.spectrum_figure",
    "stability_chart": "stability.stability_figure",
    "chart_points": "stability.stability_figure",  # in stores that the command writes
    "continuation": "stability.continuation_figure",
    "trajectory": "motion.trajectory_figure",
    "bifurcation": "motion.bifurcation_figure",
    "basin": "motion.basin_figure",
    "lyapunov": "motion.lyapunov_figure",
}


def plot(result: xr.Dataset | xr.DataArray, what: str = "") -> go.Figure:
    """The figure of a result: of any solver, simulation or comparison, also one that was read back from a file.

    Parameters
    ----------
    result : Dataset, or DataArray
        Its attributes say what it is: `solver`, `comparison`, or the scenario of a simulation.
    what : str
        Of one simulation: "windows", "queues", "throughput", "drops", "segments" or "epochs", as far as it was
        recorded. By default what comes first in this order; `simulate --output x.html` draws several.

    Returns
    -------
    plotly.graph_objects.Figure
        Axes bear names and units. `figure.show()` opens it, `figure.write_html("x.html")` writes a page.

    Raises
    ------
    ValueError
        No figure is known for the result, or more parameters were swept than its figure can show.

    Examples
    --------
    >>> from tcpdynamics import models, solvers
    >>> figure = plot(solvers.stationary(models.SubPacketFull(loss=[0.1, 0.2, 0.3]).chain()))
    >>> figure.layout.xaxis.title.text
    'packet-loss probability'
    """
    attrs = getattr(result, "attrs", {})
    if "comparison" in attrs and not what:
        comparison = import_module("tcpdynamics.validation.comparisons.comparison")
        drawn: go.Figure = comparison.kind_of(result).figure(result)
        return drawn
    if "what_you_ran" in attrs:
        drawn = import_module(f"{__name__}.packets").simulation_figure(result, what)
        return drawn
    if what:
        raise ValueError(f"what = {what!r} belongs to a simulation, and result is none; leave it out")
    kind = attrs.get("solver")
    if kind not in _FIGURES:
        described = f"solver {kind!r}" if kind else f"a {type(result).__name__} without it"
        raise ValueError(
            "result must be what a solver, a simulation or a comparison returned, with its attributes (solver: "
            f"{', '.join(_FIGURES)}), got {described}; sums and means drop attributes: take them of the whole Dataset, "
            "with keep_attrs=True, as in result.sum('state', keep_attrs=True)"
        )
    module, _, function = _FIGURES[kind].partition(".")
    if not hasattr(result, "data_vars"):  # a DataArray, as spectral_radius gives
        result = result.to_dataset(name=result.name or kind).assign_attrs(attrs)
    drawn = getattr(import_module(f"{__name__}.{module}"), function)(result)
    look = import_module(f"{__name__}.look")
    fixed = look.fixed_words(result)
    return look.titled(drawn, fixed) if fixed else drawn
