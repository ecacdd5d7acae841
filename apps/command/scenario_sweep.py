"""`tcpdynamics simulate SCENARIO --set key=10:100:10`: a grid of scenarios, with a store that resumes."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from tcpdynamics.errors import NEAR_WORDS, OutputError
from tcpdynamics.interrupts import advising
from tcpdynamics.json_values import of_dataset

from .. import files
from ..outputs import KINDS, check_outputs, interval_note, plus_or_minus, write_outputs
from ..outputs import table as columns_of
from .options import wrote
from .progress import progress_line

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

    from tcpdynamics.validation.packet.sweeps import ScenarioWork

#: Replications at each point where nobody says how many, and rows of a printed table.
REPLICATIONS = 5
ROWS = 50
#: Groups of flows that have columns, and numbers of one quantity that have columns in a file.
GROUPS = 6
CSV_COLUMNS = 100
#: Columns of a printed table where no quantity is chosen.
_COLUMNS = ("loss_rate", "goodput_bits", "fairness", "utilisation", "mean_queue", "timeouts")


def sweep(
    base: dict[str, Any],
    grid: dict[str, list[Any]],
    replications: int | None,
    seed: int | None,
    quantities: tuple[str, ...],
    processes: int | None,
    paths: tuple[Path, ...],
    in_json: bool,
    force: bool,
) -> None:
    """Simulate a grid of scenarios, write and print it."""
    from tcpdynamics.validation.packet.sweeps import scenario_work

    if seed is not None:
        base = {**base, "seed": seed}
    count = replications or REPLICATIONS
    work = scenario_work(base, grid, count, quantities)
    points = math.prod(len(axis.values) for axis in work.axes)
    swept = sum(len(axis.values) > 1 for axis in work.axes)
    mark = _mark(work)
    what = files.marked(f"sweep of {base.get('name', 'scenario')}", mark)
    tables = [path for path in paths if path.suffix.lower() == ".csv"]
    other_paths = [path for path in paths if path not in tables]
    for path in tables:
        files.check_writable(path)
        files.check_replaceable(path, force, what)
    kinds = (*KINDS[:-1], ".csv", KINDS[-1])
    store = check_outputs(other_paths, points, swept, 2, in_json, what, force, kinds)
    if any(path.suffix.lower() in (".html", ".png") for path in other_paths) and not swept:
        raise OutputError("a picture of a sweep needs a key with two values at least")
    result = _run(base, grid, count, quantities, store, processes).assign_attrs(settings=mark)

    def draw() -> go.Figure:
        from tcpdynamics.charts.sweeps import quantities_of, sweep_figure

        measured = quantities_of(result)
        return sweep_figure(result, [name for name in quantities if name in measured])

    title = f"{result.attrs['model']}: means over {count} replications" + (" and 95 % intervals" if count > 1 else "")
    write_outputs(other_paths, result, draw, title, wrote)
    for path in tables:
        files.write_text(path, "".join(csv_lines(result)))
        wrote(path)
        if missing := _left_out(result):
            click.echo(f"without {', '.join(missing)}: too many numbers a run; x.nc and x.zarr have them", err=True)
    if in_json:
        click.echo(json.dumps(_document(result), allow_nan=False))
    else:
        click.echo("\n".join(_printed(result, quantities, count)))
    _warn(result, count)


def _run(
    base: dict[str, Any],
    grid: dict[str, list[Any]],
    count: int,
    quantities: tuple[str, ...],
    store: Path | None,
    processes: int | None,
) -> xr.Dataset:
    from tcpdynamics.validation.packet import sweep_scenarios

    def advice() -> str:
        resumable = store is not None and store.is_dir()
        return f"the finished simulations are kept in {store}; the same command resumes there" if resumable else ""

    try:
        with advising(advice), progress_line("sweeping") as line:
            return sweep_scenarios(
                base, grid, count, quantities=quantities, store=store, processes=processes, progress=line
            )
    except KeyboardInterrupt:
        if advice():
            click.echo(advice(), err=True)
        raise


def _mark(work: ScenarioWork) -> str:
    from tcpdynamics.validation.packet.sweeps import about

    grid = {axis.key: axis.values for axis in work.axes}
    return files.settings_mark({**about(work), "grid": grid})


def keys_of(result: xr.Dataset) -> list[str]:
    """The swept keys."""
    return [str(d) for d in result["status"].dims if d != "replication"]


def _scalars(result: xr.Dataset) -> list[str]:
    keys = keys_of(result)
    return [str(n)[:-5] for n, v in result.data_vars.items() if str(n).endswith("_mean") and list(v.dims) == keys]


def _points(result: xr.Dataset) -> Iterator[dict[str, int]]:
    import numpy as np

    keys = keys_of(result)
    for index in np.ndindex(*(result.sizes[key] for key in keys)):
        yield dict(zip(keys, index, strict=True))


def _value(result: xr.Dataset, key: str, index: int) -> str:
    value = result[key].values[index].item()
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def csv_lines(result: xr.Dataset) -> Iterator[str]:
    """A row for each point: its values, then mean and limits of each quantity.

    A quantity with a number for each group, flow or link has columns for each, such as `group_share_0_mean`.
    """
    columns = {}
    for name, index, label in _csv_quantities(result):
        for part in ("mean", "low", "high"):
            column = result[f"{name}_{part}"].transpose(*keys_of(result), ...).values
            columns[f"{label}_{part}"] = column if index is None else column[..., index]
    yield f"{files.SWEEP_TABLE}{','.join(map(_quoted, [*keys_of(result), *columns]))}\n"
    for number, point in enumerate(_points(result)):
        values = [_quoted(_value(result, key, i)) for key, i in point.items()]
        numbers = [f"{column[tuple(point.values())]:.15g}" for column in columns.values()]
        yield f"{number},{','.join([*values, *numbers])}\n"


def _csv_quantities(result: xr.Dataset) -> Iterator[tuple[str, int | None, str]]:
    """Name, index in its further dimension, and label of what a table has a column for."""
    keys = {*keys_of(result)}
    for mean in map(str, result.data_vars):
        name = mean.removesuffix("_mean")
        more = [str(d) for d in result[mean].dims if d not in keys]
        if name == mean or name not in result or len(more) > 1:
            continue
        if not more:
            yield name, None, name
        elif (size := result.sizes[more[0]]) <= CSV_COLUMNS:
            words = result[more[0]].values.tolist() if more[0] in result.coords else range(size)
            yield from ((name, index, f"{name}_{word}") for index, word in enumerate(words))


def _left_out(result: xr.Dataset) -> list[str]:
    """Quantities that a table has no columns for."""
    there = {name for name, _, _ in _csv_quantities(result)}
    names = [str(name).removesuffix("_mean") for name in result.data_vars if str(name).endswith("_mean")]
    return [name for name in names if name in result and name not in there]


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\n') else text


def _printed(result: xr.Dataset, quantities: Sequence[str], count: int) -> Iterator[str]:
    keys, columns = keys_of(result), _columns(result, quantities)
    names = {name for name, _ in columns}
    heads = []
    for name, group in columns:
        unit = result[name].attrs.get("units", "1")
        head = name + (f" [{unit}]" if unit != "1" else "")
        heads.append(head if group is None else f"group {group}: {head.removeprefix('group_')}")
    rows = [[*(_head(result, key) for key in keys), *heads]]
    for number, point in enumerate(_points(result)):
        if number == ROWS:
            break
        rows.append(
            [_short(result, key, i) for key, i in point.items()]
            + [_cell(result.isel(point if group is None else {**point, "group": group}), n) for n, group in columns]
        )
    yield f"{result.attrs['model']}: {result['status'][..., 0].size:,} scenarios, {count} replications each"
    yield columns_of(rows)
    if result["status"][..., 0].size > ROWS:
        yield f"the first {ROWS} rows; --json or --output has all"
    if beside := [name for name in quantities if name not in names]:
        from tcpdynamics.validation.packet.measures import MEASURES

        which = "are several numbers a run and stand" if len(beside) > 1 else "is several numbers a run and stands"
        scalars = [scalar for name in beside for scalar in NEAR_WORDS.get(name, ()) if scalar in MEASURES]
        also = f"; a number a run: {', '.join(scalars)}" if scalars else ""
        yield f"{', '.join(beside)} {which} in --output x.nc, x.zarr or --json{also}"
    if count > 1 and columns:
        yield interval_note(count, itertools.chain.from_iterable(rows[1:]))


def _columns(result: xr.Dataset, quantities: Sequence[str]) -> list[tuple[str, int | None]]:
    """What a printed table shows: quantities of all flows, and those of groups of flows with the group."""
    scalars, columns = _scalars(result), list[tuple[str, int | None]]()
    for name in quantities or _COLUMNS:
        if name in scalars:
            columns.append((name, None))
        elif name in result and set(result[name].dims) == {*result["status"].dims, "group"}:
            columns += [(name, group) for group in range(min(result.sizes["group"], GROUPS))]
    return columns or [(name, None) for name in scalars[:6]]


def _head(result: xr.Dataset, key: str) -> str:
    unit = result[key].attrs.get("units", "1")
    return f"{key} [{unit}]" if unit not in ("", "1") else key


def _short(result: xr.Dataset, key: str, index: int) -> str:
    value = result[key].values[index].item()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _cell(point: xr.Dataset, name: str) -> str:
    mean, low, high = (float(point[f"{name}_{end}"]) for end in ("mean", "low", "high"))
    half = (high - low) / 2
    if math.isnan(mean):
        return "none"
    # As many digits as the interval bears out: two of its own.
    digits = 4 if not half > 0 else max(0, 1 - math.floor(math.log10(half)))
    if math.isnan(half):
        return f"{mean:.5g}"
    return plus_or_minus(mean, low, high, min(digits, 6))


def _document(result: xr.Dataset) -> dict[str, Any]:
    return {
        "name": result.attrs["model"],
        "version": result.attrs["version"],
        "parameters": json.loads(result.attrs["parameters"]),
        **of_dataset(result),
    }


def _warn(result: xr.Dataset, count: int) -> None:
    """Warn of runs that failed, and of phase effects."""
    if "failure_reason" in result:
        many = result.sizes["failure"]
        click.echo(f"Warning: {many:,} simulations failed, first: {result.failure_reason.values[0]}", err=True)
    if "phase_warning" not in result:
        return
    share = result.phase_warning_mean.values
    if (share > 0).any():
        worst = next(point for point in _points(result) if share[tuple(point.values())] == share.max())
        at = ", ".join(f"{key} = {_short(result, key, i)}" for key, i in worst.items())
        click.echo(
            f"Warning: phase effects at {(share > 0).sum():,} of {share.size:,} points, most at {at} "
            f"({share.max():.0%} of the runs); `simulate` with these values describes them; remedies: random delays, "
            "several seeds (the documentation has a page on phase effects)",
            err=True,
        )


def complete_setting(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Keys of the scenario that is named, and the words that a key takes."""
    from tcpdynamics.validation.packet import ready_scenarios
    from tcpdynamics.validation.packet.scenario.changes import keys_of, words_of
    from tcpdynamics.validation.packet.scenario.toml import load_table

    key, equals, value = incomplete.partition("=")
    if equals:
        before, comma, word = value.rpartition(",")
        words = [w for w in words_of(key) if w.startswith(word)]
        return [CompletionItem(f"{key}={before}{comma}{w}") for w in words]
    named = str(ctx.params.get("scenario") or "")
    try:
        table = load_table(ready_scenarios().get(named.replace("-", "_"), Path(named)))
    except Exception:  # no scenario yet: keys of any
        table = {"flows": [{}]}
    keys = [k for k in keys_of(table) if k.startswith(incomplete)]
    depth = incomplete.count(".")
    # One level at a time: of hundreds of keys those that begin alike are one.
    short = dict.fromkeys(".".join(k.split(".")[: depth + 1]) for k in keys)
    complete = set(keys)
    return [CompletionItem(f"{k}=" if k in complete else f"{k}.") for k in short]


def complete_quantity(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Quantities that a sweep keeps."""
    from tcpdynamics.validation.packet.measures import MEASURES, OF_GROUPS

    quantities = {**MEASURES, **OF_GROUPS}
    return [CompletionItem(n, help=quantities[n][1]) for n in quantities if n.startswith(incomplete)]
