"""`tcpdynamics bifurcation`: where a model ends up, for every value of a parameter."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tcpdynamics.quantities import MAX_POINTS

from ..choice import MAX_STORED, Chosen, ModelGroup, check_steps, choose, options
from ..choice import about as about_model
from ..outputs import about, check_outputs, common_options, document, heading, table, write_outputs
from .trajectory import _START, starting

if TYPE_CHECKING:
    import xarray as xr

#: Rows of the table of periods.
ROWS = 40


def build(name: str) -> click.Command:
    """`bifurcation NAME`."""
    text = f"{about_model(name)}\n\nRanges are start:stop:count or comma lists; one parameter at least needs one."
    if name == "logistic-map":
        text += "\n\n\b\ntcpdynamics bifurcation logistic-map --epsilon 1.8:3:1200 --output diagram.html"
    command = click.Command(name, callback=_runner(name), help=text, short_help=about_model(name))
    command.params += [
        *options(name),
        _START,
        click.Option(
            ["--transient"],
            type=click.FloatRange(0, 1e9),
            help="Time before, in the model's unit.  [default: 1000 steps of a map, else 500 of its own times]",
        ),
        click.Option(
            ["--keep"],
            type=click.FloatRange(0, 1e9, min_open=True),
            help="Time looked at.  [default: 256 steps of a map, else 200 of its own times]",
        ),
        click.Option(
            ["--max-period"],
            type=click.IntRange(1, 100_000),
            default=64,
            show_default=True,
            help="Longest cycle.",
        ),
        click.Option(["--of"], metavar="NAME", help="Of a flow, the quantity whose extrema are taken."),
        click.Option(["--lyapunov"], is_flag=True, help="Also the largest Lyapunov exponent."),
    ]
    return common_options(command)


bifurcation = ModelGroup(
    "bifurcation",
    build=build,
    help="""Where a model ends up (equilibrium, cycle or neither), for every value of a parameter.

    MODEL is a law, of which --reading chooses the reading, or the name of a class. Prints the periods by range of the
    parameter. A model's own time is its longest delay, or that of its slowest mode at the point of rest.""",
)


def _runner(name: str) -> Callable[..., None]:
    def run(**given: Any) -> None:
        paths: tuple[Path, ...] = given.pop("output")
        force: bool = given.pop("force")
        in_json, exponents, starts = given.pop("as_json"), given.pop("lyapunov"), given.pop("start")
        settings = {k: given.pop(k) for k in ("transient", "keep", "max_period", "of")}
        stores = any(path.suffix.lower() == ".zarr" for path in paths)
        most = MAX_STORED if stores else MAX_POINTS
        chosen = starting(choose(name, given, most=most), starts, most)
        if not chosen.swept:
            raise click.UsageError("give one parameter a range, such as 1.8:3:1200, along which to look")
        if stores and exponents:
            raise click.UsageError("--lyapunov does not go into a store; leave one of them out")
        _check_lengths(chosen, settings, stores)
        what = f"bifurcation of {chosen.problem.name}"
        store = check_outputs(paths, chosen.points, len(chosen.swept), 1, in_json, what, force)
        result, growth = _solve(chosen, settings, store, exponents)
        _tell_failures(result, growth)

        def draw() -> Any:
            from tcpdynamics.charts.stability import bifurcation_figure

            return bifurcation_figure(result, growth)

        told = (
            result
            if growth is None
            else result.assign_coords(growth.coords).assign(_renamed(growth).data_vars)
        )
        write_outputs(paths, told, draw, heading(chosen))
        if in_json:
            click.echo(json.dumps(document(chosen, told)))
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
        plain = map_times(compile_system(chosen.problem), None, None)
        transient, keep = (
            default if settings[key] is None else settings[key]
            for key, default in zip(("transient", "keep"), plain, strict=True)
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

    from ..outputs import completed, named, stored

    if isinstance(chosen.problem, Map) and settings["of"] is not None:
        raise click.UsageError(
            "--of chooses the quantity of a flow, and this is a map: all of its states are kept"
        )
    used = {k: v for k, v in settings.items() if v is not None}
    with (
        np.errstate(all="ignore"),
        warnings.catch_warnings(),
    ):  # what escapes to infinity is told of by `status`
        warnings.simplefilter("ignore", FailureWarning)  # see _tell_failures
        if store is not None:
            return named(stored(store, chosen.problem, solve, chosen, **used), chosen), None
        result = completed(solve(chosen.problem, **used), chosen)
        if not exponents:
            return result, None
        growth = lyapunov(chosen.problem).drop_attrs(deep=False)
    return result, growth.reindex({k: chosen.swept[k] for k in chosen.outside}, fill_value={"status": 1})


def _tell_failures(result: xr.Dataset, growth: xr.Dataset | None) -> None:
    """A line where most points failed."""
    from tcpdynamics.solvers.stability.failing import most_failed

    from ..outputs import without_advice

    parts = {"the diagram": result} | ({} if growth is None else {"the Lyapunov exponents": growth})
    for what, part in parts.items():
        text = most_failed(what, part["status"].values)
        if text:
            click.echo(f"Warning: {without_advice(text)}", err=True)


def _renamed(growth: xr.Dataset) -> xr.Dataset:
    names = {"exponent": "lyapunov_exponent", "error": "lyapunov_error", "status": "lyapunov_status"}
    return growth.rename(names)


def _print(chosen: Chosen, result: xr.Dataset) -> None:
    from ..outputs import units_of

    click.echo(about(chosen, units_of(chosen)))
    dims = [str(d) for d in result["status"].dims]
    rows = list(_runs(result, dims[0])) if len(dims) == 1 else list(_counts(result))
    if len(rows) > ROWS:
        click.echo(f"the {ROWS} longest of {len(rows):,} ranges; --json or --output has all")
        longest = sorted(range(len(rows)), key=lambda i: -int(rows[i][-2].replace(",", "")))
        rows = [rows[i] for i in sorted(longest[:ROWS])]
    table([["from", "to", "points", "ends in"] if len(dims) == 1 else ["points", "ends in"], *rows])


def _kind(result: xr.Dataset) -> Any:
    """What each point ends in, as text."""
    import numpy as np

    from ..outputs import reason

    flow = "maxima" in result

    def told(attractor: int, period: int, status: int) -> str:
        if status:
            return f"no answer: {reason(status)}"
        if attractor == 1:
            return "equilibrium"
        if attractor != 2:
            return "neither equilibrium nor cycle found"
        return f"cycle with {period} {'maxima' if period > 1 else 'maximum'}" if flow else f"period {period}"

    flat = (result[k].values.ravel() for k in ("attractor", "cycle_length", "status"))
    words = [told(int(a), int(p), int(s)) for a, p, s in zip(*flat, strict=True)]
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
