"""`tcpdynamics bifurcation`: where a model ends up, for every value of a parameter."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tcpdynamics.quantities import MAX_POINTS

from ..choice import MAX_STORED, Chosen, check_steps, summary
from ..files import marked
from ..outputs import check_outputs, document, heading, reason, subtitle, table, without_advice, write_outputs
from . import options
from .progress import sweep_to_store, working
from .trajectory import _START, starting

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

#: Rows of the table of periods.
ROWS = 40


def build(name: str) -> click.Command:
    """`bifurcation NAME`."""
    text = f"{summary(name)}\n\nRanges are start:stop:count or comma lists; one parameter at least needs one."
    if name == "logistic-map":
        text += "\n\n\b\ntcpdynamics bifurcation logistic-map --epsilon 1.8:3:1200 --output diagram.html"
    command = options.ModelCommand(name, callback=_runner(name), help=text, short_help=summary(name))
    command.params += [
        *options.model_options(name),
        _START,
        click.Option(
            ["--transient"],
            type=click.FloatRange(0, 1e9),
            help="Time before recording, in the model's unit.  [default: 1000 steps of a map, else 500 own times]",
        ),
        click.Option(
            ["--keep"],
            type=click.FloatRange(0, 1e9, min_open=True),
            help="Time that is recorded after it.  [default: 256 steps of a map, else 200 own times]",
        ),
        click.Option(
            ["--max-period"],
            type=click.IntRange(1, 100_000),
            default=64,
            show_default=True,
            help="Longest period that is recognised.",
        ),
        click.Option(
            ["--of"], metavar="NAME", help="The quantity whose extrema are recorded, where time is continuous."
        ),
        click.Option(["--lyapunov"], is_flag=True, help="Also the largest Lyapunov exponent."),
    ]
    return options.common_options(command)


bifurcation = options.ModelGroup(
    "bifurcation",
    build=build,
    help="""Where a model ends up (equilibrium, cycle or neither), for every value of a parameter.

    MODEL is a family, of which --interpretation selects a member, or a class. Prints the periods by range of the
    parameter. A model's own time is its longest delay, or the time constant of its slowest mode at equilibrium.""",
)


def _runner(name: str) -> Callable[..., None]:
    def run(**texts: Any) -> None:
        paths: tuple[Path, ...] = texts.pop("output")
        force: bool = texts.pop("force")
        in_json, exponents, starts = texts.pop("as_json"), texts.pop("lyapunov"), texts.pop("start")
        settings = {k: texts.pop(k) for k in ("transient", "keep", "max_period", "of")}
        stores = any(path.suffix.lower() == ".zarr" for path in paths)
        max_points = MAX_STORED if stores else MAX_POINTS
        chosen = starting(options.choose_model(name, texts, most=max_points), starts, max_points)
        if not chosen.swept:
            raise click.UsageError("give one parameter a range such as 1.8:3:1200")
        if stores and exponents:
            raise click.UsageError("--lyapunov does not go into a store; leave one of them out")
        _check_lengths(chosen, settings, stores)
        what = marked(f"bifurcation of {chosen.problem.name}", options.asked())
        store = check_outputs(paths, chosen.points, len(chosen.swept), 1, in_json, what, force)
        result, growth = _solve(chosen, settings, store, exponents)
        _warn_of_failures(result, growth)

        def draw() -> go.Figure:
            from tcpdynamics.charts.motion import bifurcation_figure

            return bifurcation_figure(result, growth)

        combined = result
        if growth is not None:
            combined = result.assign_coords(growth.coords).assign(_rename(growth).data_vars)
        write_outputs(paths, options.with_settings(combined), draw, heading(chosen), options.wrote)
        if in_json:
            click.echo(json.dumps(document(chosen, combined)))
        elif not paths or store is not None:
            _print(chosen, result)

    return run


def _check_lengths(chosen: Chosen, settings: dict[str, Any], stores: bool) -> None:
    """Lengths that are numbers, and no more steps of a map than one command should take."""
    from tcpdynamics.solvers import Map
    from tcpdynamics.solvers.equations import compile_system
    from tcpdynamics.solvers.stability.time_scales import map_times

    for key in ("transient", "keep"):
        if settings[key] is not None and not math.isfinite(settings[key]):
            raise click.UsageError(f"--{key} must be a finite number, got {settings[key]}; give such as 1000")
    if isinstance(chosen.problem, Map):
        defaults = map_times(compile_system(chosen.problem), None, None)
        transient, keep = (
            default if settings[key] is None else settings[key]
            for key, default in zip(("transient", "keep"), defaults, strict=True)
        )
        check_steps(chosen, transient + keep, "--transient or --keep", stores)


def _solve(
    chosen: Chosen, settings: dict[str, Any], store: Path | None, exponents: bool
) -> tuple[xr.Dataset, xr.Dataset | None]:
    import warnings

    import numpy as np

    from tcpdynamics.errors import FailureWarning
    from tcpdynamics.solvers import Map
    from tcpdynamics.solvers.stability.bifurcation import bifurcation as solve
    from tcpdynamics.solvers.stability.lyapunov import lyapunov

    if isinstance(chosen.problem, Map) and settings["of"] is not None:
        raise click.UsageError(
            "--of chooses a quantity where time is continuous, and this is a map: it records all of its states"
        )
    used = {k: v for k, v in settings.items() if v is not None}
    with np.errstate(all="ignore"), warnings.catch_warnings():  # `status` marks what grows to infinity
        warnings.simplefilter("ignore", FailureWarning)  # see _warn_of_failures
        if store is not None:
            return sweep_to_store(store, chosen.problem, solve, chosen, **used), None
        with working(f"following {chosen.points:,} points"):
            diagram = solve(chosen.problem, **used)
        result = options.complete_grid(diagram, chosen)
        if not exponents:
            return result, None
        with working("measuring Lyapunov exponents"):
            growth = lyapunov(chosen.problem).drop_attrs(deep=False)
    return result, growth.reindex({k: chosen.swept[k] for k in chosen.outside}, fill_value={"status": 1})


def _warn_of_failures(result: xr.Dataset, growth: xr.Dataset | None) -> None:
    """A line where most points failed."""
    from tcpdynamics.solvers.results import most_failed

    parts = {"the diagram": result} | ({} if growth is None else {"the Lyapunov exponents": growth})
    for what, part in parts.items():
        text = most_failed(what, part["status"].values)
        if text:
            click.echo(f"Warning: {without_advice(text)}", err=True)


def _rename(growth: xr.Dataset) -> xr.Dataset:
    names = {"exponent": "lyapunov_exponent", "error": "lyapunov_error", "status": "lyapunov_status"}
    return growth.rename(names)


def _print(chosen: Chosen, result: xr.Dataset) -> None:
    click.echo(subtitle(chosen))
    dims = [str(d) for d in result["status"].dims]
    rows = list(_runs(result, dims[0])) if len(dims) == 1 else list(_counts(result))
    if len(rows) > ROWS:
        click.echo(f"the {ROWS} longest of {len(rows):,} ranges; --json or --output has all")
        longest = sorted(range(len(rows)), key=lambda i: -int(rows[i][-2].replace(",", "")))
        rows = [rows[i] for i in sorted(longest[:ROWS])]
    heads = ["from", "to", "points", "ends in"] if len(dims) == 1 else ["points", "ends in"]
    click.echo(table([heads, *rows]))


def _kind(result: xr.Dataset) -> Any:
    """What each point ends in, as text."""
    import numpy as np

    flow = "maxima" in result

    def words_for(attractor: int, period: int, status: int) -> str:
        if status:
            return f"no answer: {reason(status)}"
        if attractor == 1:
            return "equilibrium"
        if attractor != 2:
            return "neither equilibrium nor cycle"
        return f"cycle with {period} {'maxima' if period > 1 else 'maximum'}" if flow else f"period {period}"

    flat = (result[k].values.ravel() for k in ("attractor", "cycle_length", "status"))
    words = [words_for(int(a), int(p), int(s)) for a, p, s in zip(*flat, strict=True)]
    return np.array(words, dtype=object)


def _runs(result: xr.Dataset, dim: str) -> Iterator[list[str]]:
    """Stretches of the parameter with the same end."""
    import numpy as np

    x, kind = result[dim].values, _kind(result)
    order = np.argsort(x, kind="stable")
    x, kind = x[order], kind[order]
    first = 0
    for i in range(1, len(x) + 1):
        if i == len(x) or kind[i] != kind[first]:
            yield [f"{x[first]:.6g}", f"{x[i - 1]:.6g}", f"{i - first:,}", kind[first]]
            first = i


def _counts(result: xr.Dataset) -> Iterator[list[str]]:
    from collections import Counter

    for word, count in Counter(_kind(result).tolist()).most_common():
        yield [f"{count:,}", word]
