"""What `stability`, `trajectory` and `bifurcation` write: NetCDF, a page, a picture, or a store that can be resumed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .dynamic_values import Chosen
from .figure_parts import titled
from .files import OutputError, check_netcdf_name, check_replaceable, check_writable, write_netcdf, write_text
from .pictures import check_png, page, write_png

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

#: Numbers that JSON can carry, and points that a picture can.
MAX_PRINTED = 1_000_000
MAX_DRAWN = 1_000_000


#: --force, the same for every command that writes files.
force_option = click.option(
    "--force",
    is_flag=True,
    help="Replace files, too, that tcpdynamics did not write, or that hold another model.",
)


def common_options(command: click.Command) -> click.Command:
    """--json, --output and --force."""
    command.params += [
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON instead of a table."),
        click.Option(
            ["--output"],
            type=click.Path(path_type=Path),
            multiple=True,
            metavar="FILE",
            help="Write x.nc, x.html, x.png, or x.zarr, which goes on where a run was killed; may be repeated.",
        ),
    ]
    return force_option(command)


def check_outputs(
    paths: Sequence[Path],
    points: int,
    swept: int,
    most_swept: int,
    in_json: bool,
    model: str = "",
    force: bool = False,
) -> Path | None:
    """Refuse what cannot be written before anything is computed; the store among the paths, if there is one.

    Parameters
    ----------
    points : int, of the grid
    swept, most_swept : int
        Parameters that are swept, and how many a picture can show.
    in_json : bool
        Whether all is to be printed.
    model : str, optional
        Whose result it is.
    force : bool
        Whether files that are there and not of this package, or of another model, may be replaced.
    """
    if in_json:
        _check_printed(points)
    store = None
    taken: set[str] = set()
    for path in paths:
        suffix = path.suffix.lower()
        if os.path.realpath(path) in taken:
            raise OutputError(f"cannot write {path}: it is given twice; give another name")
        taken.add(os.path.realpath(path))
        if suffix == ".nc":
            check_netcdf_name(path)
            check_replaceable(path, force, model)
        elif suffix in (".html", ".png"):
            check_writable(path)
            check_replaceable(path, force)
            if swept > most_swept or points > MAX_DRAWN:
                raise OutputError(
                    f"cannot draw {path}: a picture shows at most {most_swept} ranges and {MAX_DRAWN:,} points, got "
                    f"{swept} and {points:,}; write x.nc, or give single values"
                )
            if suffix == ".png":
                check_png(path)
        elif suffix == ".zarr":
            if store is not None:
                raise OutputError(f"cannot write {path}: one store is enough, {store} is given too")
            if not swept:
                raise OutputError(f"cannot write {path}: a store holds a sweep; give one parameter a range")
            _check_store(path)
            store = path
        else:
            raise OutputError(f"cannot write {path}: give a name that ends in .nc, .html, .png or .zarr")
    return store


def _check_store(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise OutputError(f"cannot write {path}: it is a file, and a store is a folder; give another name")
    at = path if path.exists() else path.parent
    if not at.is_dir():
        raise OutputError(f"cannot write {path}: the folder {at} does not exist; create it first")
    if not os.access(at, os.W_OK):
        raise OutputError(f"cannot write {path}: the folder {at} cannot be written to")


def write_outputs(
    paths: Sequence[Path], result: xr.Dataset, draw: Callable[[], go.Figure], title: str = ""
) -> None:
    """Write what was asked for, pictures with a title; stores have been written already."""
    figure: go.Figure | None = None
    for path in paths:
        suffix = path.suffix.lower()
        if suffix == ".nc":
            write_netcdf(path, result)
        elif suffix in (".html", ".png"):
            figure = _drawn(draw, title) if figure is None else figure
            if suffix == ".html":
                write_text(path, page(figure, title or path.stem))
            else:
                write_png(path, figure)
        click.echo(f"wrote {path}", err=True)


def document(chosen: Chosen, result: xr.Dataset, **more: Any) -> dict[str, Any]:
    """JSON of a result: what was asked, coordinates, and every variable with dimensions and unit.

    What is not finite becomes null, complex numbers become pairs.
    """
    _check_printed(sum(v.size for v in result.data_vars.values()))
    return {
        "model": chosen.name,
        **({"reading": chosen.reading} if chosen.reading else {}),
        "class": type(chosen.model).__name__,
        "version": result.attrs["version"],
        "parameters": json.loads(result.attrs.get("parameters", "{}")),
        **more,
        "coordinates": {str(k): finite(v.values) for k, v in result.coords.items()},
        "results": {
            str(k): {"dims": list(v.dims), "units": v.attrs.get("units", "1"), "values": _values(v)}
            for k, v in result.data_vars.items()
        },
    }


def _check_printed(numbers: int) -> None:
    if numbers > MAX_PRINTED:
        raise click.UsageError(
            f"--json would print {numbers:,} numbers, at most {MAX_PRINTED:,}; --output FILE.nc takes more"
        )


def _values(variable: xr.DataArray) -> Any:
    """Codes as their meanings, but for `status`, numbers as they are."""
    if "flag_meanings" in variable.attrs and variable.name not in ("status", "boundary_axis"):
        import numpy as np

        words = np.array(variable.attrs["flag_meanings"].split(), dtype=object)
        order = np.asarray(variable.attrs["flag_values"])
        return np.asarray(words[np.searchsorted(order, variable.values)], dtype=object).tolist()
    return finite(variable.values)


def finite(values: Any) -> Any:
    """Lists of numbers that JSON knows."""
    import numpy as np

    array = np.asarray(values)
    if array.dtype.kind == "c":
        return finite(np.stack([array.real, array.imag], axis=-1))
    if array.dtype.kind != "f":
        return array.tolist()
    out = array.astype(object)
    out[~np.isfinite(array)] = None
    return out.tolist()


def table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows with columns that stand under each other, numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        click.echo("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _drawn(draw: Callable[[], go.Figure], title: str) -> go.Figure:
    return titled(draw(), title) if title else draw()


def heading(chosen: Chosen) -> str:
    """Title of a picture: the model, its reading and the parameters that are single numbers."""
    from .dynamic_results import units_of

    reading = f"{chosen.name}, {chosen.reading}: " if chosen.reading else ""
    return reading + about(chosen, units_of(chosen))


def about(chosen: Chosen, units: Mapping[str, str]) -> str:
    """The class and the parameters that are single numbers."""
    import numpy as np

    told = []
    for name, unit in units.items():
        value = getattr(chosen.model, name)
        if name in chosen.swept or value is None or name == "start":
            continue
        values = ", ".join(f"{v:g}" for v in np.atleast_1d(np.asarray(value, float)))
        told.append(f"{name.replace('_', ' ')} = {values}" + (f" {unit}" if unit != "1" else ""))
    return f"{type(chosen.model).__name__}" + (f" ({', '.join(told)})" if told else "")
