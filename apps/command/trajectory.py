"""`tcpdynamics trajectory`: a model's equations followed through time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tcpdynamics.errors import suggestion
from tcpdynamics.limits import check_memory
from tcpdynamics.quantities import MAX_POINTS, check_points, count_values, only_number, read_numbers

from ..choice import MAX_STORED, Chosen, check_steps, summary
from ..files import marked
from ..outputs import check_outputs, document, heading, reason, subtitle, table, without_advice, write_outputs
from . import options
from .progress import sweep_to_store, working

if TYPE_CHECKING:
    import numpy as np
    import plotly.graph_objects as go
    import xarray as xr
    from numpy.typing import NDArray

    from tcpdynamics.models.model import Model

#: Rows of a table, and columns of one trajectory.
ROWS = 25
COLUMNS = 8

_OUTSIDE = "a parameter is outside its domain"

_START = click.Option(
    ["--start"],
    multiple=True,
    metavar="NAME=RANGE",
    help="Initial value of a state, such as w=5, N[1]=2 or N=1 for all flows; may be repeated.",
)


def build(name: str) -> click.Command:
    """`trajectory NAME`."""
    text = (
        f"{summary(name)}\n\nRanges are start:stop:count or comma lists; each spans a dimension of the result."
        f"\n\n\b\ntcpdynamics trajectory {name}{options.required_words(name)} --until 50"
    )
    command = options.ModelCommand(name, callback=_runner(name), help=text, short_help=summary(name))
    command.params += [
        *options.model_options(name),
        _START,
        click.Option(["--time"], metavar="RANGE", help="Times of the result, such as 0:100:501."),
        click.Option(["--until"], metavar="T", help="Last time, in the model's unit of time.  [default: 100]"),
        click.Option(
            ["--points"],
            type=click.IntRange(2, MAX_POINTS),
            help="Times from 0 to --until.  [default: 501; of a map, each step]",
        ),
    ]
    return options.common_options(command)


trajectory = options.ModelGroup(
    "trajectory",
    build=build,
    help="""Follow a model through time, from one start or many, over a grid of parameters.

    MODEL is a family, of which --interpretation selects a member, or a class. Prints a table; for a sweep, the last row
    of each trajectory.""",
)


def _runner(name: str) -> Callable[..., None]:
    def run(**texts: Any) -> None:
        from tcpdynamics.solvers import Map

        paths: tuple[Path, ...] = texts.pop("output")
        force: bool = texts.pop("force")
        in_json = texts.pop("as_json")
        starts, times = texts.pop("start"), {k: texts.pop(k) for k in ("time", "until", "points")}
        stores = any(path.suffix.lower() == ".zarr" for path in paths)
        max_points = MAX_STORED if stores else MAX_POINTS
        chosen = starting(options.choose_model(name, texts, most=max_points), starts, max_points)
        many = count_values(times["time"]) if times["time"] is not None else times["points"] or 1
        if many <= MAX_POINTS:  # else the reader of times refuses
            size = 8.0 * chosen.points * many
            check_memory(f"a grid of {chosen.points:,} and {many:,} times", size, "ask for fewer of them")
        ticks = _times(chosen, times)
        if isinstance(chosen.problem, Map) and ticks.size:
            check_steps(chosen, float(ticks[-1]), "--time or --until", stores)
        what = marked(f"trajectory of {chosen.problem.name}", options.asked())
        store = check_outputs(paths, chosen.points, len(chosen.swept), 1, in_json, what, force)
        result = _solve(chosen, ticks, store)
        _check_single(result)
        if starts:
            result.attrs["start"] = json.dumps(list(starts))

        def draw() -> go.Figure:
            from tcpdynamics.charts.motion import trajectory_figure

            return trajectory_figure(result)

        write_outputs(paths, options.with_settings(result), draw, heading(chosen), options.wrote)
        if in_json:
            more = {"start": list(starts)} if starts else {}
            click.echo(json.dumps(document(chosen, result, **more)))
        elif not paths:
            _print(chosen, result)
        _say_failures(result)

    return run


def starting(chosen: Chosen, starts: tuple[str, ...], most: int = MAX_POINTS) -> Chosen:
    """The choice with other initial values; ranges of them are swept as "start_" and the state."""
    import numpy as np

    from tcpdynamics.solvers.equations import quantities

    problem = chosen.problem
    vectors = quantities(problem.labels)
    values: dict[str, float | NDArray[np.float64]] = {}
    swept = dict(chosen.swept)
    for text in starts:
        name, equals, word = text.partition("=")
        name = name.strip()
        labels = [name] if name in problem.labels else [problem.labels[i] for i in vectors.get(name, ())]
        if not equals or not labels:
            raise click.UsageError(
                f"--start takes NAME=VALUE with a state, one of {', '.join(problem.labels)}, got {text!r}"
                + suggestion(name, [*vectors, *problem.labels])
            )
        unit = problem.units.get(name.partition("[")[0], "1")
        numbers = read_numbers(f"--start {name}", word, unit, most)
        _check_start(chosen.model, name, numbers)
        if len(numbers) > 1 and len(labels) > 1:
            raise click.UsageError(f"--start {name} stands for {len(labels)} states: give one number, not a range")
        for label in labels:
            values[label] = np.asarray(numbers) if len(numbers) > 1 else numbers[0]
        if len(numbers) > 1:
            if len(set(numbers)) < len(numbers):
                raise click.UsageError(f"--start {name} gives a value more than once; give each value once")
            swept[f"start_{name}"] = np.asarray(numbers)
    check_points({k: len(v) for k, v in swept.items()}, most)
    if not values:
        return chosen
    started = problem.starting(values)
    return replace(chosen, view=lambda: started, swept=swept, whole=False)


def _check_start(model: Model, name: str, values: list[float]) -> None:
    """Refuse an initial value outside the interval that the model states."""
    from tcpdynamics.models.parameters import describe

    for row in describe(model):
        if row["name"] == "start" and row["low"] is not None:
            bad = [v for v in values if v < row["low"] or (row["low_open"] and v == row["low"])]
            if bad:
                raise click.UsageError(f"--start {name} must lie in {row['interval']}, got {bad[0]:g}")


def _times(chosen: Chosen, texts: Mapping[str, Any]) -> NDArray[np.float64]:
    import numpy as np

    from tcpdynamics.solvers import Map

    unit = chosen.problem.time_units
    is_map = isinstance(chosen.problem, Map)
    if texts["time"] is not None:
        if texts["until"] is not None or texts["points"] is not None:
            raise click.UsageError("--time has all times: leave out --until and --points")
        return np.asarray(read_numbers("--time", texts["time"], unit))
    until = 100.0 if texts["until"] is None else only_number("--until", texts["until"], unit)
    if not until > 0:
        raise click.UsageError(f"--until must be > 0 [{unit}], got {texts['until']}")
    if not is_map:
        return np.linspace(0.0, until, texts["points"] or 501)
    if until != int(until) or until > MAX_POINTS:
        raise click.UsageError(
            f"--until counts the steps of a map: give a whole number up to {MAX_POINTS:,}, got {texts['until']}"
        )
    return np.unique(np.linspace(0.0, until, texts["points"] or int(until) + 1).round())


def _solve(chosen: Chosen, ticks: NDArray[np.float64], store: Path | None) -> xr.Dataset:
    from tcpdynamics.solvers import trajectory as solve

    if store is not None:
        return sweep_to_store(store, chosen.problem, solve, chosen, times=ticks)
    with working(f"integrating {chosen.points:,} trajector{'ies' if chosen.points > 1 else 'y'}"):
        result = solve(chosen.problem, ticks)
    return options.complete_grid(result, chosen)


def _columns(result: xr.Dataset) -> dict[str, xr.DataArray]:
    """Each quantity over time (and the grid), those of a vector one by one."""
    out: dict[str, xr.DataArray] = {}
    for name, values in result.data_vars.items():
        if "time" in values.dims:
            flows = values.flow.values if "flow" in values.dims else ()
            out |= {f"{name}[{n}]": values.sel(flow=n) for n in flows} or {str(name): values}
    return out


def _print(chosen: Chosen, result: xr.Dataset) -> None:
    click.echo(subtitle(chosen))
    columns = _columns(result)
    if len(columns) > COLUMNS:
        click.echo(f"the first {COLUMNS} of {len(columns)} quantities; --json or --output has all")
    first_columns = dict(list(columns.items())[:COLUMNS])
    heads = [f"{k} [{v.attrs['units']}]" if v.attrs["units"] != "1" else k for k, v in first_columns.items()]
    dims = [str(d) for d in result["status"].dims]
    rows = _sweep_rows(result, dims, heads, first_columns) if dims else _time_rows(result, heads, first_columns)
    click.echo(table(rows))


def _picked(size: int) -> list[int]:
    """Rows of a table: all, or evenly spaced ones and the last.

    Their distance is odd, so that a motion that alternates is seen to do so.
    """
    if size <= ROWS:
        return list(range(size))
    step = -(-(size - 1) // ROWS) | 1
    even = (s for s in range(step, 2 * step, 2) if (size - 1) % s == 0)
    rows = list(range(0, size, next(even, step)))
    rows += [size - 1] if rows[-1] != size - 1 else []
    click.echo(f"{len(rows)} of {size:,} rows; --json or --output has all")
    return rows


def _time_rows(result: xr.Dataset, heads: list[str], shown: Mapping[str, xr.DataArray]) -> list[list[str]]:
    time = result.time
    rows = [[f"time [{time.attrs['units']}]", *heads]]
    for i in _picked(time.size):
        rows.append([f"{time.values[i]:.6g}", *(f"{v.values[i]:.6g}" for v in shown.values())])
    return rows


def _sweep_rows(
    result: xr.Dataset, dims: list[str], heads: list[str], shown: Mapping[str, xr.DataArray]
) -> list[list[str]]:
    import numpy as np

    time = result.time
    click.echo(f"At the end, {time.values[-1]:.6g} {time.attrs['units']}:")
    rows = [[*dims, *heads]]
    for flat in _picked(int(result["status"].size)):
        index = dict(zip(dims, np.unravel_index(flat, result["status"].shape), strict=True))
        place = [f"{result[d].values[i]:.6g}" for d, i in index.items()]
        rows.append([*place, *(f"{float(v.isel(index).values[-1]):.6g}" for v in shown.values())])
    return rows


def _check_single(result: xr.Dataset) -> None:
    """A single trajectory that failed is an error: there is nothing to show."""
    import numpy as np

    if result["status"].dims or not int(result["status"]):
        return
    finite = [
        np.isfinite(v.transpose("time", ...).values.reshape(v.sizes["time"], -1)).all(axis=1)
        for v in _columns(result).values()
    ]
    times, unit = result.time.values[np.logical_and.reduce(finite)], result.time.attrs["units"]
    reached = f"after {times[-1]:.6g} {unit}" if times.size else f"before {result.time.values[0]:.6g} {unit}"
    raise click.UsageError(
        f"the trajectory failed {reached}: {reason(int(result['status']))}; ask for an earlier last time, or "
        "change the parameters or the start"
    )


def _say_failures(result: xr.Dataset) -> None:
    """Warn of trajectories that failed; a note has named the points outside their domain."""
    from tcpdynamics.solvers import failures

    failed = [f for f in failures(result) if f[1] != _OUTSIDE]
    if not failed:
        return
    where = ", ".join(f"{k} = {v:g}" for k, v in failed[0][0].items() if k in result["status"].dims)
    many = f"{len(failed):,} of {result['status'].size:,} trajectories"
    click.echo(
        f"Warning: {many} failed{f', first at {where}' if where else ''}: {without_advice(failed[0][1])}", err=True
    )
