"""`tcpdynamics evaluate`: a table of a model's closed forms."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tcpdynamics import __version__
from tcpdynamics.errors import InputError

from ..choice import FORMS, Chosen, summary
from ..files import check_netcdf_name, check_replaceable, marked, write_netcdf
from ..outputs import MAX_PRINTED, document, subtitle, table
from .options import (
    ModelGroup,
    asked,
    choose_model,
    complete_grid,
    force_option,
    model_options,
    refusals,
    with_settings,
    wrote,
)

if TYPE_CHECKING:
    import xarray as xr


def build(name: str) -> click.Command:
    """`evaluate NAME`."""
    command = click.Command(
        name,
        callback=_runner(name),
        help=f"{summary(name, FORMS)}\n\nOne row a point: all that has a closed form.",
        short_help=summary(name, FORMS),
    )
    command.params += model_options(name, FORMS)
    command.params += [
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON instead of a table."),
        click.Option(
            ["--output"], type=click.Path(path_type=Path), metavar="FILE.nc", help="Write NetCDF instead of printing."
        ),
    ]
    return force_option(command)


#: Rows of a printed table at most.
MAX_ROWS = 10_000

evaluate = ModelGroup(
    "evaluate", build=build, views=FORMS, help="Closed forms of a model, at one point or over a grid."
)


def _runner(name: str) -> Callable[..., None]:
    def run(as_json: bool, output: Path | None, force: bool, **texts: Any) -> None:
        if output is not None:
            check_netcdf_name(output)
        with refusals():
            max_points = MAX_PRINTED if as_json or output is not None else MAX_ROWS
            try:
                chosen = choose_model(name, texts, views=FORMS, most=max_points)
            except InputError as error:
                hint = "; --output FILE.nc takes more" if f"at most {MAX_ROWS:,}" in str(error) else ""
                raise InputError(f"{error}{hint}") from None
        if output is not None:
            check_replaceable(output, force, marked(f"closed forms of {type(chosen.model).__name__}", asked()))
        attrs = {"version": __version__, "parameters": json.dumps(_plain(chosen))}
        result = complete_grid(chosen.problem.assign_attrs(attrs), chosen)
        if output is not None:
            write_netcdf(output, with_settings(result))
            wrote(output)
        if as_json:
            click.echo(json.dumps(document(chosen, result)))
        elif output is None:
            click.echo(subtitle(chosen))
            click.echo(table(_rows(chosen, result)))
            for form, variable in result.data_vars.items():
                click.echo(f"{form}: {variable.attrs['long_name']} [{variable.attrs['units']}]")

    return run


def _plain(chosen: Chosen) -> dict[str, Any]:
    return {k: v for k, v in chosen.model.provenance().items() if k not in chosen.swept}


def _rows(chosen: Chosen, result: xr.Dataset) -> list[list[str]]:
    """A heading and a row for each point of the grid, in the order of the words."""
    axes = [k for k in chosen.swept if k in result.dims]
    grid = [result[k].values for k in axes]
    rows = [[*axes, *map(str, result.data_vars)]]
    for point in itertools.product(*(range(len(values)) for values in grid)):
        where = dict(zip(axes, point, strict=True))
        cells = [float(v.isel({k: i for k, i in where.items() if k in v.dims})) for v in result.data_vars.values()]
        rows.append(
            [*(f"{grid[j][i]:g}" for j, i in enumerate(point)), *("none" if x != x else f"{x:.5g}" for x in cells)]
        )
    return rows
