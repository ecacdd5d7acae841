"""Figures: functions from labelled results to Plotly figures. They never show, write or serve.

`plot(result)` draws every result; it asks the attributes of the Dataset what it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from numbers import Rational
from typing import TYPE_CHECKING, Any

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
    "sweep_scenarios": "sweeps.sweep_figure",
}

#: Names of problems that nobody named.
_UNNAMED = {"", "ODE", "DDE", "Map", "MarkovChain"}


def plot(result: xr.Dataset | xr.DataArray, what: str = "") -> go.Figure:
    """The figure of a result: of any solver, simulation or comparison, also one that was read back from a file.

    Parameters
    ----------
    result : Dataset, or DataArray
        Its attributes say what it is: `solver`, `comparison`, or the scenario of a simulation. A DataArray of your own,
        over one or two labelled dimensions, is drawn with its own name, `long_name` and `units`.
    what : str
        Of one simulation: "windows", "queues", "throughput", "drops", "segments" or "epochs", as far as it was
        recorded. By default what comes first in this order; `simulate --output x.html` draws several.
        Of a sweep of scenarios: one of its quantities. By default those that were requested.

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
    result = _as_floats(result)
    attrs = getattr(result, "attrs", {})
    if "comparison" in attrs and not what:
        comparisons = import_module("tcpdynamics.validation.comparisons")
        drawn: go.Figure = comparisons.kind_of(result).figure(result)
        return drawn
    if "what_you_ran" in attrs:
        drawn = import_module(f"{__name__}.packets").simulation_figure(result, what)
        return drawn
    kind = attrs.get("solver")
    if what and kind == "sweep_scenarios":
        drawn = import_module(f"{__name__}.sweeps").sweep_figure(result, [what])
        return _with_fixed(drawn, result)
    if what:
        raise ValueError(
            f"what = {what!r} belongs to a simulation or a sweep of scenarios, and result is neither; leave it out"
        )
    look = import_module(f"{__name__}.look")
    is_array = hasattr(result, "dims") and not hasattr(result, "data_vars")
    if kind not in _FIGURES and is_array:
        return _with_fixed(look.array_figure(result), result)
    if kind not in _FIGURES:
        described = f"solver {kind!r}" if kind else f"a {type(result).__name__} without it"
        raise ValueError(
            "result must be what a solver, a simulation or a comparison returned, with its attributes (solver: "
            f"{', '.join(_FIGURES)}), got {described}; a quantity of your own is drawn as a DataArray over one or two "
            "dimensions, such as result.x.sum('state').assign_attrs(long_name='throughput', units='packet/s')"
        )
    module, _, function = _FIGURES[kind].partition(".")
    if not hasattr(result, "data_vars"):  # a DataArray, as spectral_radius gives
        result = result.to_dataset(name=result.name or kind).assign_attrs(attrs)
    return _with_fixed(getattr(import_module(f"{__name__}.{module}"), function)(result), result)


def _with_fixed(figure: go.Figure, result: xr.Dataset | xr.DataArray) -> go.Figure:
    """The figure with what was chosen of the result as its title."""
    look = import_module(f"{__name__}.look")
    fixed = "; ".join(words for words in (_about(result.attrs), look.fixed_words(result)) if words)
    titled: go.Figure = look.titled(figure, fixed) if fixed else figure
    return titled


def _about(attrs: Mapping[str, Any]) -> str:
    """The name that a problem has of its own, and the target of a first passage."""
    model = str(attrs.get("model", ""))
    words = [model] if model not in _UNNAMED and "parameters" not in attrs else []
    try:
        target = json.loads(str(attrs.get("settings", "{}"))).get("target", [])
    except (ValueError, AttributeError):
        target = []
    if attrs.get("solver") == "first_passage" and isinstance(target, list) and target:
        words.append(f"target {', '.join(map(str, target[:8]))}" + (", ..." if len(target) > 8 else ""))
    return "; ".join(words)


def _as_floats(result: Any) -> Any:
    """Exact numbers, of `stationary(..., exact=True)`, as floats."""
    if getattr(result, "data_vars", None) is None:
        return result.astype(float) if _is_exact(result) else result
    exact = [name for name, values in result.variables.items() if _is_exact(values)]
    changed = {name: result[name].astype(float, keep_attrs=True) for name in exact}
    return result.assign({k: v for k, v in changed.items() if k in result.data_vars}).assign_coords(
        {k: v for k, v in changed.items() if k not in result.data_vars}
    )


def _is_exact(values: Any) -> bool:
    if getattr(getattr(values, "dtype", None), "kind", "") != "O" or not values.size:
        return False
    numbers = values.values.ravel()
    return all(getattr(x, "is_Rational", isinstance(x, Rational)) or x != x for x in numbers)
