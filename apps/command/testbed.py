"""`tcpdynamics testbed`: unmodified programs of Linux as flows, in virtual time."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tcpdynamics.errors import OutputError, listed, shown

from ..files import write_netcdf
from ..outputs import check_charts
from .options import wrote
from .progress import progress_line

if TYPE_CHECKING:
    from tcpdynamics.validation.linux.testbed import Run
    from tcpdynamics.validation.packet import Scenario

#: Of the figure of goodput against time.
LEAST_SLICES = 20


@click.command()
@click.argument("scenario", metavar="SCENARIO")
@click.option("--seed", type=click.IntRange(0, 2**128), help="Default: the scenario's own.")
@click.option("--twice", is_flag=True, help="Run it again with the same seed, and show the first packet that differs.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="A new folder for the result (NetCDF), a figure, each program's packets (pcap) and what the programs wrote.",
)
@click.option(
    "--timeout", type=click.FloatRange(1, 1e6), default=600.0, show_default=True, help="Longest wall time [s]."
)
@click.option(
    "--view",
    multiple=True,
    metavar="DIR",
    help="A folder that programs see, besides those of the system and of ready stacks; repeatable. Default: all.",
)
def testbed(
    scenario: str, seed: int | None, twice: bool, output: Path | None, timeout: float, view: tuple[str, ...]
) -> None:
    """Run programs of Linux as flows through one network, in virtual time.

    SCENARIO is a file x.toml whose flows may be programs: program = { server = [...], client = [...] }. Or it is the
    name of a ready stack (`python -m tcpdynamics.validation.linux stack` lists and builds them), which runs against the
    kernel's CUBIC. It needs the kernel of `python -m tcpdynamics.validation.linux build`, and iproute2.

    \b
    tcpdynamics testbed quinn
    tcpdynamics testbed pair.toml
    tcpdynamics testbed pair.toml --twice --output DIR
    """
    from tcpdynamics.validation.linux.stacks import beside_cubic, stacks
    from tcpdynamics.validation.linux.testbed import conditions, difference, run_testbed
    from tcpdynamics.validation.packet import load_scenario

    if scenario not in stacks() and not Path(scenario).exists():
        raise click.UsageError(
            f"there is no file {shown(scenario)}, and no ready stack of that name; ready are {listed(stacks())}"
        )
    described = beside_cubic(scenario) if scenario in stacks() else load_scenario(scenario)
    if described.slices < LEAST_SLICES:
        described = replace(described, slice=(described.duration - described.warm_up) / LEAST_SLICES)
    if output is not None:
        _check(output)

    def once() -> Run:
        with progress_line("in virtual time") as progress:
            return run_testbed(described, seed, timeout, progress, view or None)

    run = once()
    click.echo("\n".join(_lines(run, described)))
    if output is not None:
        _write(run, output)
        wrote(output)
    if twice:
        second = once()
        parts = difference(run, second)
        click.echo(f"Repeated: {parts or 'every packet and every byte that programs wrote is the same'}")
        if parts:
            click.echo(conditions(run, second))
            click.echo("Not seen: reads of the processor's time stamp counter and of its random instructions.")
            raise SystemExit(1)


def _lines(run: Run, scenario: Scenario) -> Iterator[str]:
    from tcpdynamics.charts.packets import program_name

    result = run.result
    rates = result.goodput_rate.values
    total = max(float(rates.sum()), 1e-300)
    groups = [group for group in scenario.flows for _ in range(group.count)]
    yield f"{'flow':28} {'Mbit/s':>8} {'share':>7} {'loss':>7}  queueing delay [ms]: median, 95 %, 99 %  sent again"
    for i, group in enumerate(groups):
        name = f"{i} {program_name(asdict(group.program)) if group.program else group.control}"
        sent = max(int(result.sent[i]), 1)
        delays = "  ".join(f"{1e3 * x:8.2f}" for x in result.queueing_delay.values[i])
        again = result.retransmissions.values[i]
        hidden = "hidden" if again != again else f"{int(again)}"
        shares = f"{rates[i] / 1e6:8.4f} {rates[i] / total:7.1%} {int(result.dropped[i]) / sent:7.2%}"
        yield f"{name:28} {shares}  {delays:>40}  {hidden:>10}"
    seconds = scenario.duration
    yield f"{seconds:g} s of virtual time in {run.wall:.1f} s: {seconds / run.wall:.1f} times real time"


def _check(output: Path) -> None:
    """Refuse a folder that holds something, before the work."""
    if output.exists() and any(output.iterdir()):
        raise OutputError(f"cannot write {output}: it is not empty; give another name")
    if not output.absolute().parent.is_dir():
        raise OutputError(f"cannot write {output}: there is no folder {output.absolute().parent}")
    check_charts()


def _write(run: Run, output: Path) -> None:
    """Write the folder under a temporary name, then rename it."""
    from tcpdynamics.charts.packets import throughput_figure

    part = Path(tempfile.mkdtemp(prefix=f".{output.name}-", dir=output.absolute().parent))
    try:
        write_netcdf(part / "result.nc", run.result)
        throughput_figure(run.result).write_html(part / "figure.html", include_plotlyjs=True)
        run.write(part)
        part.chmod(0o755)
        os.replace(part, output)
    except OSError as error:
        raise OutputError(f"cannot write {output}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
