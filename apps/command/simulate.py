"""`tcpdynamics simulate`: packets on a bottleneck or a network."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.shell_completion import CompletionItem

from tcpdynamics.errors import OutputError, ScenarioError, shown, suggestion

from .. import packet_outputs as outputs
from ..files import NETCDF, beside, marked, settings_mark, write_netcdf
from ..overrides import grid_of, key_of, override
from .options import force_option, wrote
from .progress import progress_line
from .scenario_sweep import complete_quantity, complete_setting, sweep

if TYPE_CHECKING:
    import xarray as xr

    from tcpdynamics.validation.packet import Scenario
    from tcpdynamics.validation.packet.result import Table

#: Replications before `--precision` is first judged, and at most by default.
_LEAST = 5
_MOST = 200


def complete_scenario(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ready scenarios, then files."""
    from tcpdynamics.validation.packet import ready_scenarios

    names = [CompletionItem(name) for name in ready_scenarios() if name.startswith(incomplete.replace("-", "_"))]
    return [*names, CompletionItem(incomplete, type="file")]


@click.command()
@click.argument("scenario", required=False, metavar="SCENARIO", shell_complete=complete_scenario)
@click.option("--seed", type=click.IntRange(0, 2**128), help="Default: the scenario's own.")
@click.option(
    "--replications",
    type=click.IntRange(1, 10_000),
    help="Independent runs; from two on with 95 % intervals.  [default: 1; of a sweep, 5 at each point]",
)
@click.option(
    "--precision",
    metavar="FRACTION",
    help="Replicate until the half-widths of the 95 % intervals of loss and goodput are this fraction of the mean, "
    "such as 2%.",
)
@click.option(
    "--most", type=click.IntRange(2, 10_000), help=f"Replications that --precision runs at most.  [default: {_MOST}]"
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=complete_setting,
    help="Change one value, such as flows.0.sender=newreno or bottleneck.buffer=20; may be repeated. A range "
    "start:stop:count or a list a,b,c sweeps the key; several make a grid.",
)
@click.option(
    "--quantity",
    "quantities",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_quantity,
    help="Of a sweep: keep and show this quantity, such as loss_rate; may be repeated.  [default: all]",
)
@click.option(
    "--processes",
    type=click.IntRange(1, 1024),
    help="Of a sweep: processes that share the work.  [default: threads, one per processor, or one for short runs]",
)
@click.option("--json", "in_json", is_flag=True, help="Print JSON instead of a summary.")
@click.option("--verbose", is_flag=True, help="With the summary, every setting and rule of what was run.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="Write x.nc (everything recorded), x.html (windows, queues, throughput and segments against time) or x.csv "
    "(each data segment sent: time_s,flow,sequence,retransmission); may be repeated. Of a sweep x.nc, x.csv (a row a "
    "point), x.html or x.png (means with intervals), x.zarr (an interrupted sweep resumes there).",
)
@click.option("--list", "show_list", is_flag=True, help="List the ready scenarios and stop.")
@force_option
def simulate(
    scenario: str | None,
    seed: int | None,
    replications: int | None,
    precision: str | None,
    most: int | None,
    settings: tuple[str, ...],
    quantities: tuple[str, ...],
    processes: int | None,
    in_json: bool,
    verbose: bool,
    output: tuple[Path, ...],
    force: bool,
    show_list: bool,
) -> None:
    """Simulate packets on a bottleneck or a network.

    SCENARIO is a file x.toml that describes links and flows, or the name of a ready scenario (--list shows them).
    `python -m pydoc tcpdynamics.validation.packet.Scenario` lists the keys.

    Ctrl-C ends a run; what it has recorded until then is still written to --output, next to a file that is there. A
    file that holds the same simulation is replaced; a table x.csv, which cannot say so, and any other file with --force
    only.

    \b
    tcpdynamics simulate sub_packet --set flows.0.count=50 --set duration=200s
    tcpdynamics simulate mixed_rtt --precision 2% --json
    tcpdynamics simulate wide --output wide.html --output wide.nc
    tcpdynamics simulate wide --set bottleneck.buffer=10:100:10 --output buffers.zarr --output buffers.html
    """
    from tcpdynamics.validation.packet import ready_scenarios

    ready = ready_scenarios()
    if show_list:
        for name, path in ready.items():
            click.echo(f"{name:24s} {outputs.about_file(path)}")
        return
    if scenario is None:
        raise click.UsageError("SCENARIO is missing; give x.toml, or a name that `tcpdynamics simulate --list` shows")
    grid, settings = _grid(settings)
    if quantities and settings and not grid:  # a table with one row
        grid, settings = {key_of(settings[-1]): [_value(settings[-1])]}, settings[:-1]
    if grid:
        _check_sweep(precision, most, verbose)
        table = _table(_path_of(scenario, ready), settings, ready, grid)
        sweep(table, grid, replications, seed, quantities, processes, output, in_json, force)
        return
    if quantities or processes is not None:
        name, one = ("--quantity", "one value (bottleneck.buffer=20) or ") if quantities else ("--processes", "")
        raise click.UsageError(
            f"{name} belongs to a sweep; give --set {one}a range (start:stop:count), such as "
            "bottleneck.buffer=10:100:10"
        )
    netcdf, trace, plot = _by_kind(output)
    _check_together(replications, precision, most, trace, plot)
    path = _path_of(scenario, ready)
    share = None if precision is None else _share(precision)
    described = _load(path, settings, ready)
    if seed is not None:
        described = dataclasses.replace(described, seed=seed)
    mark = _mark(described, replications, share, most)
    what = marked(f"simulation of {described.name}", mark)
    outputs.check_outputs(path, netcdf, trace, plot, what, force)
    _check_recordings(described, replications, precision)
    described = outputs.recording(described, trace is not None, plot is not None)
    described.check_size(replications or (1 if share is None else most or _MOST), os.cpu_count() or 1)
    writers = ((netcdf, write_netcdf), (trace, outputs.write_sends), (plot, outputs.write_page))
    try:
        result = _run(described, replications or 1, share, most or _MOST)
    except KeyboardInterrupt as stop:
        _stopped(stop, writers, mark)
    if output or in_json:  # else nothing needs xarray, whose import takes longer than many a run
        from tcpdynamics.validation.packet.result import Table

        labelled = result.dataset() if isinstance(result, Table) else result
        _write(labelled.assign_attrs(settings=mark), writers)
    if in_json:
        click.echo(json.dumps(outputs.as_json(labelled), allow_nan=False))
        if described.record.anything and netcdf is None:
            click.echo("JSON has no recordings; --output FILE.nc writes them", err=True)
    else:
        click.echo("\n".join(outputs.summary_lines(result, described, verbose)))
    if share is not None:
        click.echo(_reached(result), err=True)
    if result.attrs["warning"]:
        click.echo(f"Warning: {result.attrs['warning']}", err=True)


def _path_of(scenario: str, ready: Mapping[str, Path]) -> Path:
    path = Path(scenario)
    if not os.path.exists(path):  # unlike Path.exists, this is False for a name that is too long
        path = ready.get(scenario.replace("-", "_"), path)
    return path


def _grid(settings: tuple[str, ...]) -> tuple[dict[str, list[Any]], tuple[str, ...]]:
    """Keys with several values, and the settings that have one."""
    from tcpdynamics.validation.packet.scenario.changes import hangs_on
    from tcpdynamics.validation.packet.sweeps import MAX_SCENARIOS

    grid: dict[str, list[Any]] = {}
    single = []
    for setting in settings:
        several = grid_of(setting, MAX_SCENARIOS)
        if several is None:
            single.append(setting)
        elif several[0] in grid:
            raise click.UsageError(f"--set {several[0]} has several values twice; give one list or range")
        else:
            grid[several[0]] = several[1]
    for setting in single:
        if (key := key_of(setting)) in grid:
            raise click.UsageError(f"--set {key} has one value and several; give one of them")
    # A parameter of what the grid chooses is set together with the choice: the file's own may not have it.
    late = [text for text in single if hangs_on(key_of(text), grid)]
    for setting in late:
        grid[key_of(setting)] = [_value(setting)]
    return grid, tuple(setting for setting in single if setting not in late)


def _value(setting: str) -> Any:
    value: dict[str, Any] = {}
    override(value, f"value={setting.partition('=')[2]}")
    return value["value"]


def _check_sweep(precision: str | None, most: int | None, verbose: bool) -> None:
    for name, value in (("--precision", precision), ("--most", most), ("--verbose", verbose or None)):
        if value is not None:
            raise click.UsageError(f"{name} belongs to one scenario, and --set asks for a grid; leave one of them out")


def _mark(scenario: Scenario, replications: int | None, share: float | None, most: int | None) -> str:
    """The mark of what is simulated, wherever its scenario came from."""
    from tcpdynamics.validation.packet.result import table

    runs = {"replications": replications or 1} if share is None else {"precision": share, "most": most or _MOST}
    return settings_mark({"scenario": table(scenario), **runs})


def _by_kind(output: tuple[Path, ...]) -> tuple[Path | None, Path | None, Path | None]:
    """Where NetCDF, the table of segments and the page go."""
    kinds: dict[str, Path | None] = {".nc": None, ".csv": None, ".html": None}
    for path in output:
        suffix = path.suffix.lower()
        kind = suffix if suffix in (".csv", ".html") else ".nc"
        if kind == ".nc" and suffix not in NETCDF:
            raise OutputError(
                f"cannot write {path}: give a name that ends in .nc (the result), .csv (a table of its "
                "segments) or .html (a page of figures)"
            )
        if kinds[kind] is not None:
            raise OutputError(f"cannot write {path}: {kinds[kind]} has the same content; give one of them")
        kinds[kind] = path
    return kinds[".nc"], kinds[".csv"], kinds[".html"]


def _check_together(
    replications: int | None, precision: str | None, most: int | None, trace: Path | None, plot: Path | None
) -> None:
    if precision is not None and replications is not None:
        raise click.UsageError("--precision chooses the number of replications itself; leave out --replications")
    if most is not None and precision is None:
        raise click.UsageError("--most belongs to --precision; give both, or --replications")
    for path in (trace, plot):
        if path is not None and (precision is not None or (replications or 1) > 1):
            raise click.UsageError(
                f"--output {path} shows one run; leave out "
                f"{'--precision' if precision is not None else '--replications'}, or repeat one replication with its "
                "--seed (--json lists them)"
            )


def _check_recordings(scenario: Scenario, replications: int | None, precision: str | None) -> None:
    if scenario.record.anything and (precision is not None or (replications or 1) > 1):
        option = "--replications" if precision is None else "--precision"
        raise click.UsageError(
            f"{option} keeps no recordings, whose lengths differ from run to run, and the scenario's [record] asks for "
            f"{', '.join(scenario.record.names)}; switch them off with --set record={{}}, or leave out {option} and "
            "record one run at a time, each with a --seed of its own"
        )


def _share(text: str) -> float:
    from tcpdynamics.errors import check
    from tcpdynamics.quantities import quantity

    share = quantity(text, "1", "--precision")
    check("--precision", share, 1e-4, 0.5, "such as 2% or 0.02")
    return share


def _run(scenario: Scenario, replications: int, share: float | None, most: int) -> xr.Dataset | Table:
    from tcpdynamics.validation.packet import replicate
    from tcpdynamics.validation.packet.run import measured as run
    from tcpdynamics.validation.statistics import joined, until

    with progress_line("simulating") as progress:
        if share is None and replications == 1:
            return run(scenario, progress=progress)
        if share is None:
            return replicate(scenario, replications, progress=progress)
        done: list[xr.Dataset] = []

        def batch(seeds: list[int]) -> xr.Dataset:
            progress.say(f"{len(seeds)} replications after {sum(x.sizes['replication'] for x in done)}")
            done.append(replicate(scenario, seeds, progress=progress))
            return done[-1]

        def measure(result: xr.Dataset) -> xr.Dataset:
            goodput = result.goodput.sum("flow") / outputs.measured_time(result, scenario)
            arrivals = result[[]].assign(goodput_packets=goodput)
            # Where nothing arrives, there is no loss rate to wait for.
            measured = result.loss_rate.notnull().all()
            return arrivals.assign(loss_rate=result.loss_rate) if measured else arrivals

        fewest = min(_LEAST, most)
        try:
            return until(batch, measure, share, least=fewest, most=most, seed=scenario.seed)
        except KeyboardInterrupt as stop:
            if done:
                stop.result = joined(done)  # type: ignore[attr-defined]
            raise


def _write(result: xr.Dataset, writers: Iterable[tuple[Path | None, Callable[[Path, xr.Dataset], None]]]) -> None:
    for path, write in writers:
        if path is not None:
            write(path, result)
            wrote(path)


def _stopped(
    stop: KeyboardInterrupt, writers: Sequence[tuple[Path | None, Callable[[Path, xr.Dataset], None]]], mark: str
) -> NoReturn:
    """Save what is recorded, say where the run ended, and end with 130.

    A part replaces no file: where one is, it goes to a name of its own beside it.
    """
    result = getattr(stop, "result", None)
    if result is None:
        click.echo("Error: interrupted; nothing was written", err=True)
    else:
        if "replication" in result.dims:
            until = f"after {result.sizes['replication']} replications"
        else:
            until = f"at {float(result.attrs['interrupted_at']):g} s of simulated time"
        click.echo(f"Error: interrupted {until}", err=True)
        written = [path is not None and path.is_file() and path.stat().st_size > 0 for path, _ in writers]
        parts = [
            (beside(path) if path is not None and there else path, write)
            for (path, write), there in zip(writers, written, strict=True)
        ]
        _write(result.assign_attrs(settings=mark), parts)
        for (path, _), (part, _), there in zip(writers, parts, written, strict=True):
            if there:
                click.echo(f"{path} stays as it was; what was simulated until then is in {part}", err=True)
    click.get_current_context().exit(130)


def _reached(result: xr.Dataset | Table) -> str:
    a = result.attrs
    text = f"{a['until_replications']} replications, half-width {a['until_relative_half_width']:.2%} of the mean"
    if a["until_reached"]:
        return text
    return f"Warning: {text}, {a['until_precision']:.2%} was wanted; raise --most"


#: A range as other tools write it.
_DASH = re.compile(r"(\d[\w./]*)-(\d[\w./]*)")


def _load(path: Path, settings: tuple[str, ...], ready: Iterable[str]) -> Scenario:
    from tcpdynamics.validation.packet.scenario.toml import parse_scenario

    table = _table(path, settings, ready)
    try:
        return parse_scenario(table)
    except ScenarioError as error:
        dashes = [dash for text in settings if (dash := _DASH.fullmatch(text.partition("=")[2].strip()))]
        if not dashes or repr(dashes[0][0]) not in str(error):
            raise
        start, stop = dashes[0].groups()
        raise ScenarioError(f"{error}; a range is {start}:{stop}:10 (start:stop:count)") from None


def _table(path: Path, settings: tuple[str, ...], ready: Iterable[str], swept: Iterable[str] = ()) -> dict[str, Any]:
    """What stands in a file, with the values that are set; a warning where neither it nor `swept` has a link."""
    from tcpdynamics.validation.packet.scenario.toml import load_table

    try:
        table = load_table(path)
    except OSError as error:
        raise click.UsageError(
            f"cannot read {shown(str(path))}: {error.strerror or error}{suggestion(str(path), ready)}; "
            "`tcpdynamics simulate --list` shows ready scenarios"
        ) from None
    for setting in settings:
        override(table, setting)
    if not {"bottleneck", "links", "topology"} & {*table, *(key.partition(".")[0] for key in swept)}:
        click.echo(
            "Warning: there is no [bottleneck] and no [[links]]; a bottleneck of 1 Mbit/s with an unlimited buffer is "
            "assumed. Add [bottleneck] with rate and buffer",
            err=True,
        )
    return table
