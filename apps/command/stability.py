"""`tcpdynamics stability`: where a law is stable, where exactly that ends, and how fast it settles."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tcpdynamics.quantities import MAX_POINTS

from ..choice import MAX_STORED, Chosen, summary
from ..files import marked
from ..outputs import check_outputs, document, heading, subtitle, write_outputs
from . import options
from .progress import sweep_to_store, working

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

    from tcpdynamics.solvers.problems import DDE, ODE, Map, MotionModel
    from tcpdynamics.solvers.stability.operating_point import At

_EXAMPLES = {
    "logistic": ["--epsilon 0.1:3:300 --delay 0:2:300", "--epsilon 1.95 --delay 0.8 --verdict"],
    "lotka-volterra": [
        "--flows 5 --epsilon 0.1:3:300 --gamma 0:0.95:300 --interpretation stale",
        "--flows 2 --capacity 10 --capacity 15",
    ],
    "t-refwa": [
        "--phi 0:3:300 --psi 0:2:300 --interpretation delayed --delay 1 --output chart.html",
        "--phi 1.5 --psi 0.5 --interpretation window --verdict",
    ],
    "fluid-tcp": ["--flows 10:200:100 --capacity 10Mbit/s --packet-size 1250B --base-rtt 100ms --buffer 100"],
}


def build(name: str) -> click.Command:
    """`stability NAME`."""
    text = summary(name) + "\n\nRanges are start:stop:count or comma lists; with one or more, a chart."
    if name in _EXAMPLES:
        text += "\n\n\b\n" + "\n".join(f"tcpdynamics stability {name} {words}" for words in _EXAMPLES[name])
    command = options.ModelCommand(name, callback=_runner(name), help=text, short_help=summary(name))
    command.params += options.model_options(name)
    command.params.append(
        click.Option(["--verdict"], is_flag=True, help="One line on one point: stable, marginal, unstable or unknown.")
    )
    return options.common_options(command)


stability = options.ModelGroup(
    "stability",
    build=build,
    help="""Where a model is stable under delay, and how fast it settles.

    MODEL is a family, of which --interpretation selects a member, or a class. One point gets a verdict; ranges give a
    chart with the exact stability boundary, compared with the condition in closed form.""",
)


def _runner(name: str) -> Callable[..., None]:
    def run(**texts: Any) -> None:
        paths: tuple[Path, ...] = texts.pop("output")
        force: bool = texts.pop("force")
        in_json, verdict = texts.pop("as_json"), texts.pop("verdict")
        stores = any(path.suffix.lower() == ".zarr" for path in paths)
        chosen = options.choose_model(name, texts, most=MAX_STORED if stores else MAX_POINTS)
        if verdict and chosen.swept:
            key, values = next(iter(chosen.swept.items()))
            raise click.UsageError(
                f"--verdict judges one point, and {options.flag(key)} has {len(values):,} values; give one, or "
                "leave --verdict out"
            )
        chosen = _linearisable(chosen)
        what = marked(f"stability of {chosen.problem.name}", options.asked())
        store = check_outputs(paths, chosen.points, len(chosen.swept), 2, in_json, what, force)
        if chosen.swept:
            _chart(chosen, paths, store, in_json)
        else:
            _point(chosen, paths, in_json, verdict)

    return run


def _point(chosen: Chosen, paths: tuple[Path, ...], in_json: bool, verdict: bool) -> None:
    from ..stability_words import judge, point_lines

    with working("finding the roots"):
        point = judge(chosen, _at(chosen))

    def draw() -> go.Figure:
        from tcpdynamics.charts.stability import spectrum_figure

        return spectrum_figure(point.roots)

    write_outputs(paths, options.with_settings(_without_complex(point.roots)), draw, heading(chosen), options.wrote)
    if in_json:
        extra = {"at": point.at, "margin": point.margin, "on_switch": point.on_switch}
        click.echo(json.dumps(document(chosen, point.roots, verdict=point.verdict, summary=point.line(), **extra)))
    elif verdict:
        click.echo(point.line())
    elif not paths:
        click.echo("\n".join(point_lines(point, subtitle(chosen))))


def chart_points(problem: ODE | DDE | Map | MotionModel) -> xr.Dataset:
    """A chart without what belongs to no point: work for a sweep."""
    from tcpdynamics.solvers.stability.stability_chart import stability_chart

    return stability_chart(problem, trace=False).drop_vars("disagreements", errors="ignore")


def _chart(chosen: Chosen, paths: tuple[Path, ...], store: Path | None, in_json: bool) -> None:
    from ..stability_words import chart_lines

    if store is not None:
        # A value for each flow is a dimension of the model's, but separate parameters of its equations.
        by_flow = any("flow" in getattr(v, "dims", ()) for v in vars(chosen.model).values())
        target = chosen.problem if by_flow else chosen.target
        result = sweep_to_store(store, target, chart_points, chosen)
    else:
        from tcpdynamics.solvers.stability.stability_chart import stability_chart

        with working(f"judging {chosen.points:,} points"):
            chart = stability_chart(chosen.target, at=_at(chosen))
        result = options.complete_grid(chart, chosen)

    def draw() -> go.Figure:
        from tcpdynamics.charts.stability import stability_figure

        return stability_figure(result, marks=_marks(chosen))

    write_outputs(paths, options.with_settings(result), draw, heading(chosen), options.wrote)
    if in_json:
        click.echo(json.dumps(document(chosen, result)))
    else:
        click.echo("\n".join(chart_lines(chosen, result)))


def _linearisable(chosen: Chosen) -> Chosen:
    """With a full buffer the queue of the drop-tail model has a root of its own at zero; what decides is the rest."""
    from dataclasses import fields, replace

    from tcpdynamics.models import FluidTcpDropTail, FluidTcpFullQueue

    if type(chosen.model) is not FluidTcpDropTail:
        return chosen
    model = FluidTcpFullQueue(**{f.name: getattr(chosen.model, f.name) for f in fields(chosen.model)})
    return replace(chosen, model=model, view=model.dde)


def _at(chosen: Chosen) -> At | None:
    """The model's own equilibrium, where its equations do not bring one and have one state."""
    if chosen.problem.fixed_points or len(chosen.problem.labels) != 1:
        return None
    equilibrium: Any = getattr(chosen.model, "equilibrium", None)
    value = equilibrium() if callable(equilibrium) else None
    if isinstance(value, float) or hasattr(value, "dims"):
        label: str = chosen.problem.labels[0]
        return {label: value}
    return None


def _marks(chosen: Chosen) -> list[dict[str, Any]]:
    """The published values, where all that is swept has one."""
    from tcpdynamics.models.parameters import describe

    rows = {row["name"]: row for row in describe(chosen.model)}
    if not all(rows[k]["source"] and rows[k]["default"] is not None for k in chosen.swept):
        return []
    values = {k: float(rows[k]["default"]) for k in chosen.swept}
    if not all(v.min() <= values[k] <= v.max() for k, v in chosen.swept.items()):
        return []
    numbers = ", ".join(f"{v:g}" for v in values.values())
    return [{**values, "name": f"published ({numbers})"}]


def _without_complex(result: xr.Dataset) -> xr.Dataset:
    """NetCDF has no complex numbers: real and imaginary parts along a dimension."""
    import xarray as xr

    out = result.copy()
    for name, values in result.data_vars.items():
        if values.dtype.kind == "c":
            parts = xr.concat([values.real, values.imag], dim="part").assign_coords(part=["real", "imag"])
            out[name] = parts.transpose(..., "part").assign_attrs(values.attrs)
    return out
