"""`tcpdynamics simulate` and `tcpdynamics validate`: packets, and models held against them."""

from __future__ import annotations

import dataclasses
import json
import os
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from tcpdynamics.errors import shown

from ..files import check_netcdf_name, check_replaceable, write_netcdf
from ..outputs import force_option
from ..overrides import override
from ..packet_outputs import (
    as_json,
    check_outputs,
    goodput,
    print_summary,
    recording,
    write_page,
    write_sends,
)
from .progress import progress_line

if TYPE_CHECKING:
    import xarray as xr

    from tcpdynamics.validation.packet import Scenario

#: Replications before `--until` first looks, and at most by default.
_LEAST = 5
_MOST = 200


@click.command()
@click.argument("scenario", required=False, metavar="SCENARIO.toml")
@click.option("--seed", type=click.IntRange(0, 2**128), help="Default: the scenario's own.")
@click.option(
    "--replications",
    type=click.IntRange(1, 10_000),
    help="Independent runs; from two on with 95 % intervals.  [default: 1]",
)
@click.option(
    "--until",
    metavar="SHARE",
    help="Replicate until 95 % intervals of loss and goodput are this narrow, such as 2%: half-width over mean.",
)
@click.option(
    "--most",
    type=click.IntRange(2, 10_000),
    help=f"Replications that --until runs at most.  [default: {_MOST}]",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change one value, such as flows.0.sender=newreno or bottleneck.buffer=20; may be repeated.",
)
@click.option("--json", "in_json", is_flag=True, help="Print JSON instead of a summary.")
@click.option("--verbose", is_flag=True, help="With the summary, every setting and rule of what was run.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE.nc",
    help="Write everything recorded as NetCDF.",
)
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    metavar="FILE.csv",
    help="Write each data segment sent: time_s,flow,sequence,retransmission.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="FILE.html",
    help="Write a page with windows, queues, throughput and segments against time.",
)
@click.option("--list", "show_list", is_flag=True, help="List the ready scenarios and stop.")
@force_option
def simulate(
    scenario: str | None,
    seed: int | None,
    replications: int | None,
    until: str | None,
    most: int | None,
    settings: tuple[str, ...],
    in_json: bool,
    verbose: bool,
    output: Path | None,
    trace: Path | None,
    plot: Path | None,
    force: bool,
    show_list: bool,
) -> None:
    """Simulate packets on a bottleneck or a network.

    SCENARIO.toml describes links and flows (docs/scenarios.md lists the keys); a ready scenario's name will do.

    Ctrl-C ends a run; what it has recorded until then is still written to --output, --trace and --plot. A file that is
    there is replaced if tcpdynamics wrote it, any other with --force only.

    \b
    tcpdynamics simulate sub_packet --set flows.0.count=50 --set duration=200s
    tcpdynamics simulate mixed_rtt --until 2% --json
    """
    from tcpdynamics.validation.packet import ready_scenarios

    ready = ready_scenarios()
    if show_list:
        for name, path in ready.items():
            click.echo(f"{name:24s} {_first_comment(path)}")
        return
    if scenario is None:
        raise click.UsageError(
            "SCENARIO.toml is missing; `tcpdynamics simulate --list` shows ready scenarios"
        )
    _check_together(replications, until, most, trace, plot)
    path = ready.get(scenario, Path(scenario))
    share = None if until is None else _share(until)
    described = _load(path, settings)
    check_outputs(path, output, trace, plot, f"simulation of {described.name}", force)
    _check_recordings(described, replications, until)
    if seed is not None:
        described = dataclasses.replace(described, seed=seed)
    described = recording(described, trace is not None, plot is not None)
    described.check_size(replications or (1 if share is None else most or _MOST), os.cpu_count() or 1)
    writers = ((output, write_netcdf), (trace, write_sends), (plot, write_page))
    try:
        result = _run(described, replications or 1, share, most or _MOST)
    except KeyboardInterrupt as stop:
        _stopped(stop, writers)
    _write(result, writers)
    if in_json:
        click.echo(json.dumps(as_json(result), allow_nan=False))
        if described.record.anything and output is None:
            click.echo("recordings are not part of the JSON; --output FILE.nc writes them", err=True)
    else:
        print_summary(result, described, verbose)
    if share is not None:
        click.echo(_reached(result), err=True)
    if result.attrs["warning"]:
        click.echo(f"Warning: {result.attrs['warning']}", err=True)


def _check_together(
    replications: int | None, until: str | None, most: int | None, trace: Path | None, plot: Path | None
) -> None:
    if until is not None and replications is not None:
        raise click.UsageError("--until finds the number of replications itself; leave out --replications")
    if most is not None and until is None:
        raise click.UsageError("--most belongs to --until; give both, or --replications")
    for option, path in (("--trace", trace), ("--plot", plot)):
        if path is not None and (until is not None or (replications or 1) > 1):
            raise click.UsageError(
                f"{option} shows one run; leave out {'--until' if until is not None else '--replications'}, or "
                f"repeat one replication with its --seed (--json lists them)"
            )


def _check_recordings(scenario: Scenario, replications: int | None, until: str | None) -> None:
    if scenario.record.anything and (until is not None or (replications or 1) > 1):
        option = "--replications" if until is None else "--until"
        raise click.UsageError(
            f"{option} keeps no recordings, whose lengths differ from run to run, and the scenario's [record] asks for "
            f"{', '.join(scenario.record.names)}; remove [record] from the scenario, or leave out {option} and record "
            "one run at a time, each with a --seed of its own"
        )


def _share(text: str) -> float:
    from tcpdynamics.errors import check
    from tcpdynamics.quantities import quantity

    share = quantity(text, "1", "--until")
    check("--until", share, 1e-4, 0.5, "such as 2% or 0.02")
    return share


def _run(scenario: Scenario, replications: int, share: float | None, most: int) -> xr.Dataset:
    from tcpdynamics.validation.packet import replicate
    from tcpdynamics.validation.packet import simulate as run
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
            found = goodput(result, scenario)[["goodput_packets"]]
            # Where nothing arrives, there is no loss rate to wait for.
            known = result.loss_rate.notnull().all()
            return found.assign(loss_rate=result.loss_rate) if known else found

        least = min(_LEAST, most)
        try:
            return until(batch, measure, share, least=least, most=most, seed=scenario.seed)
        except KeyboardInterrupt as stop:
            if done:
                stop.result = joined(done)  # type: ignore[attr-defined]
            raise


def _write(result: xr.Dataset, writers: Any) -> None:
    for path, write in writers:
        if path is not None:
            write(path, result)
            click.echo(f"wrote {path}", err=True)


def _stopped(stop: KeyboardInterrupt, writers: Any) -> NoReturn:
    """Save what there is, say until when it goes, and end with 130."""
    result = getattr(stop, "result", None)
    if result is None:
        click.echo("Error: interrupted; nothing was written", err=True)
    else:
        if "replication" in result.dims:
            until = f"after {result.sizes['replication']} replications"
        else:
            until = f"at {float(result.attrs['interrupted_at']):g} s of simulated time"
        click.echo(f"Error: interrupted {until}", err=True)
        _write(result, writers)
    click.get_current_context().exit(130)


def _reached(result: xr.Dataset) -> str:
    a = result.attrs
    held = (
        f"{a['until_replications']} replications, half-width {a['until_relative_half_width']:.2%} of the mean"
    )
    return (
        held
        if a["until_reached"]
        else f"Warning: {held}, {a['until_precision']:.2%} was wanted; raise --most"
    )


def _load(path: Path, settings: tuple[str, ...] = ()) -> Scenario:
    from tcpdynamics.validation.packet.scenario.toml import load_table, parse_scenario

    try:
        table = load_table(path)
    except OSError as error:
        raise click.UsageError(
            f"cannot read {shown(str(path))}: {error.strerror or error}; "
            "`tcpdynamics simulate --list` shows ready scenarios"
        ) from None
    for setting in settings:
        override(table, setting)
    return parse_scenario(table)


def _first_comment(path: Path) -> str:
    """The first sentence of the comment at the top."""
    words: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        words += line.lstrip("# ").split()
    first, stop, _ = " ".join(words).partition(". ")
    return first + ("." if stop else "")


@click.group()
def validate() -> None:
    """Hold a model against packets, with intervals and verdicts."""


@validate.command("sub-packet")
@click.option(
    "--quick", is_flag=True, help="A few seconds: fewer loads, 600 s instead of 5000 s, 5 runs instead of 8."
)
@click.option("--flows", metavar="LIST", help="Numbers of flows, such as 20,100,300.  [default: 20 to 300]")
@click.option("--sender", type=click.Choice(["sack", "newreno"]), default="sack", show_default=True)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=1, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option(
    "--output", type=click.Path(path_type=Path), metavar="FILE.nc", help="Write the comparison as NetCDF."
)
@force_option
def validate_sub_packet(
    quick: bool, flows: str | None, sender: str, seed: int, as_json: bool, output: Path | None, force: bool
) -> None:
    """The sub-packet chains against simulated flows: 1 Mbit/s, 200 ms, 50 packets (Fig. 9 of Chen et al.)."""
    if output is not None:
        check_netcdf_name(output)
        check_replaceable(output, force, "comparison SubPacketChainVsPackets")
    from dataclasses import replace

    from tcpdynamics.paper_figures.sub_packet.figures import fig9
    from tcpdynamics.validation.comparisons.sub_packet import paragraph, summary

    comparison = replace(fig9(quick), sender=sender, seed=seed)
    if flows is not None:
        comparison = replace(comparison, flows=_flow_counts(flows))
    result = comparison.run()
    if output is not None:
        write_netcdf(output, result)
        click.echo(f"wrote {output}", err=True)
    if as_json:
        document = {
            "parameters": json.loads(result.attrs["parameters"]),
            "verdicts": summary(result),
            "paragraph": paragraph(result),
        }
        click.echo(json.dumps(document))
    elif output is None:
        _print_verdicts(result)
        for part in paragraph(result).split("\n\n"):
            click.echo("\n" + textwrap.fill(part, 110))


def _flow_counts(text: str) -> tuple[int, ...]:
    from tcpdynamics.errors import RangeError
    from tcpdynamics.quantities import parse_range

    try:
        counts = parse_range(text, 50)
    except RangeError as error:
        raise click.UsageError(f"--flows: {error}") from None
    if any(n.denominator != 1 or not 2 <= n <= 2000 for n in counts):
        raise click.UsageError(f"--flows must list whole numbers in [2, 2000], got {text}")
    return tuple(int(n) for n in counts)


def _print_verdicts(result: xr.Dataset) -> None:
    click.echo(
        "Total-variation distance between packets sent per epoch, simulated and predicted. Verdicts by the "
        f"{result.attrs['verdicts']}"
    )
    click.echo(f"{'link':12s} {'chain':22s}" + "".join(f"{f'{n} flows':>15s}" for n in result.flows.values))
    for link in result.link.values:
        loss = result.loss.sel(link=link).values
        click.echo(f"{link:12s} {'(measured loss)':22s}" + "".join(f"{p:15.3f}" for p in loss))
        for chain in result.chain.values:
            part = result.sel(link=link, chain=chain)
            cells = zip(part.distance.values, part.verdict.values, strict=True)
            click.echo(f"{'':12s} {chain:22s}" + "".join(f"{f'{d:.3f} {v}':>15s}" for d, v in cells))


@validate.command("ns2")
@click.option("--live", is_flag=True, help="Run ns-2 now (minutes) instead of taking its recorded results.")
@click.option(
    "--tied", is_flag=True, help="The cases in which exact ties decide, by the rounding of the clock."
)
@click.option(
    "--grid",
    is_flag=True,
    help="Ours with times on a grid, where rounding decides nothing; the tied cases then differ.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option(
    "--output", type=click.Path(path_type=Path), metavar="FILE.nc", help="Write the comparison as NetCDF."
)
@force_option
def validate_ns2(live: bool, tied: bool, grid: bool, as_json: bool, output: Path | None, force: bool) -> None:
    """The packet simulator against ns-2.35 on crowded links: eight seeds each, 99 % intervals."""
    if output is not None:
        check_netcdf_name(output)
        check_replaceable(output, force, "comparison PacketsVsNs2")
    from tcpdynamics.validation.comparisons import packets_vs_ns2 as ns2
    from tcpdynamics.validation.ns2 import Ns2Error

    comparison = ns2.PacketsVsNs2(cases=ns2.TIED if tied else ns2.CASES, exact=not grid)
    try:
        result = comparison.run(live=live)
    except Ns2Error as error:
        raise click.UsageError(str(error)) from None
    rows = ns2.table(result)
    if output is not None:
        write_netcdf(output, result)
        click.echo(f"wrote {output}", err=True)
    if as_json:
        click.echo(json.dumps(rows))
    elif output is None:
        click.echo(
            f"ns-2: {result.attrs['ns2']}; means over {comparison.seeds} seeds, 99 % interval of ours - ns-2"
        )
        heads = (
            f"{'case':24s}{'quantity':14s}{'ours':>11s}{'ns-2':>11s} {'unit':10s}{'interval':>24s}  verdict"
        )
        click.echo(heads)
        for row in rows:
            interval = f"[{row['low']:.3g}, {row['high']:.3g}]"
            click.echo(
                f"{row['case']:24s}{row['quantity']:14s}{row['ours']:11.5g}{row['theirs']:11.5g} {row['unit']:10s}"
                f"{interval:>24s}  {row['verdict']}"
            )
        agree = sum(row["verdict"] == "agrees" for row in rows)
        click.echo(ns2.conclusion(agree, len(rows), comparison.level))
