"""`tcpdynamics validate`: models against packets, the simulator against ns-2, models against fluid simulations."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tcpdynamics.errors import shown
from tcpdynamics.json_values import of_dataset
from tcpdynamics.validation.comparisons import Command, commands

from ..files import check_netcdf_name, check_replaceable, marked, write_netcdf
from ..outputs import check_outputs, write_outputs
from .groups import SuggestingGroup
from .options import asked, flag, force_option, refusals, with_settings, wrote
from .progress import working

if TYPE_CHECKING:
    import xarray as xr

    from tcpdynamics.validation.comparisons.comparison import Comparison

#: What --quick means, in every command that has it.
QUICK = "Fewer cases and shorter runs, for a first look; verdicts are less certain."

_netcdf_option = click.option(
    "--output", type=click.Path(path_type=Path), metavar="FILE.nc", help="Write the comparison as NetCDF."
)


def _paper_today(result: xr.Dataset) -> list[str]:
    from tcpdynamics.paper_figures.sub_packet.today import table

    return table(result)


def _shares(result: xr.Dataset) -> list[str]:
    from tcpdynamics.validation.comparisons.linux_stacks import table

    return ["Share [%] of the row's sender beside the column's, with its 95 % interval:", "", *table(result)]


def _cases(result: xr.Dataset) -> list[str]:
    from tcpdynamics.validation.comparisons.models_vs_packets import table

    columns = {"case": str.ljust, "packets": str.rjust, "model": str.rjust}
    rows = [{"part": "", "case": "", "packets": "packets, 95 %", "model": "model", "verdict": ""}, *table(result)]
    widths = {name: max(len(row[name]) for row in rows) for name in columns}
    lines = []
    for before, row in pairwise([rows[0], *rows]):
        if row["part"] != before["part"]:
            lines.append(row["part"])
        cells = [justify(row[name], widths[name]) for name, justify in columns.items()]
        lines.append("  ".join(["", *cells, row["verdict"]]).rstrip())
    return lines


def _table_of(name: str, kind: type[Comparison], result: xr.Dataset) -> list[str]:
    """Lines of text after the words of a comparison."""
    if name == "linux-sub-packet":
        return _paper_today(result)
    if name == "linux-stacks":
        return _shares(result)
    return _cases(result) if hasattr(kind, "claims") else []


def _decided(kind: type[Comparison], setting: str) -> list[dict[str, Any]]:
    """Rows of the claims that packets decide of the comparison's paper, from runs of now."""
    claims = getattr(kind, "claims", "")
    if not claims:
        return []
    from .. import ledger_rows

    with working("deciding what the paper says"):
        return ledger_rows.in_packets(claims, setting)


def _claim_lines(rows: list[dict[str, Any]]) -> list[str]:
    """What the paper says, what came out, and the verdict."""
    lines = ["", "What the paper says of packets (tcpdynamics claims NAME has the rule, and the longer run on record)"]
    for row in rows:
        under = f" ({row['interpretations']})" if row["interpretations"] else ""
        lines.append(f"{row['id']}: {row['verdict']}{under}")
        lines += textwrap.wrap(
            f"{row['place']}: {row['quantity']}: {row['published']}; packets {row['packets']}", 110,
            initial_indent="  ", subsequent_indent="  ",
        )  # fmt: skip
    return lines


def _runner(name: str, command: Command) -> Callable[..., None]:
    def run(quick: bool, as_json: bool, output: tuple[Path, ...], force: bool, live: bool = False) -> None:
        for path in output:
            if path.suffix.lower() == ".zarr":
                raise click.UsageError(
                    f"cannot write {path}: a store holds sweeps, and this is a comparison; give x.nc, x.html or x.png"
                )
        what = marked(f"comparison {command.kind}", asked())
        check_outputs(output, 1, 0, 2, False, what, force)
        kind: Any = command.load()
        comparison = kind(**kind.quick) if quick else kind()
        with working("comparing"):
            result = comparison.run(live=True) if live else comparison.run()
        write_outputs(output, with_settings(result), lambda: comparison.figure(result), wrote=wrote)
        text = comparison.paragraph(result)
        claims = _decided(kind, "tiny" if quick else "quick")
        if as_json:
            click.echo(json.dumps(_document(result, text) | ({"claims": claims} if claims else {})))
        else:
            for part in text.split("\n\n"):
                click.echo(textwrap.fill(part, 110) + "\n")
            if quick:
                click.echo(textwrap.fill(f"--quick: {_quick_words(kind)}.", 110) + "\n")
            for line in _table_of(name, kind, result):
                click.echo(line)
            for line in _claim_lines(claims) if claims else ():
                click.echo(line)

    return run


def _quick_words(kind: Any) -> str:
    """What a quick comparison is made of, where that is not what it is else."""
    fields = kind.__dataclass_fields__
    return "; ".join(
        f"{name} {shown(value)} instead of {shown(fields[name].default)}" for name, value in kind.quick.items()
    )


def _document(result: xr.Dataset, text: str) -> dict[str, Any]:
    """Everything but the trajectories."""
    numbers = result.drop_vars("deviation", errors="ignore")
    return {
        "comparison": result.attrs["comparison"],
        "parameters": json.loads(result.attrs["parameters"]),
        "rule": result.attrs["verdicts"],
        "paragraph": text,
        **of_dataset(numbers),
    }


#: Parameters of the sub-packet chains -> type and help, with the defaults of the comparison.
_CHAINS: dict[str, tuple[Any, str]] = {
    "w_max": (int, "Largest window of the chains, and of senders on the link without a queue.  [default: 6]"),
    "base_timeout": (float, "Timeout before backoff, in RTTs.  [default: 2]"),
    "retransmission_loss": (str, "Loss of timeout retransmissions, such as 0.1 or 10%.  [default: as measured]"),
    "early_retransmit": (bool, "Windows of 2 and 3 repair one loss too (RFC 5827)."),
    "suffix_losses": (bool, "A drop also drops all later packets of the same window."),
    "stages": (int, "Repeated-timeout stages of the chain “full”.  [default: 3]"),
    "backoff_cap": (int, "Doublings of the timeout at most.  [default: 6]"),
    "collapse": (int, "Successes in a row that collapse the backoff of the chain “exact”, 1 to 3.  [default: 3]"),
}


def _chain_options(command: Callable[..., None]) -> Callable[..., None]:
    for name, (kind, about) in reversed(_CHAINS.items()):
        options: dict[str, Any] = {"is_flag": True, "default": None} if kind is bool else {"type": kind}
        command = click.option(flag(name), name, help=about, **options)(command)
    return command


@click.group(cls=SuggestingGroup)
def validate() -> None:
    """Compare models with simulations, with intervals and verdicts."""


@validate.command("sub-packet")
@click.option("--quick", is_flag=True, help=QUICK)
@click.option("--flows", metavar="LIST", help="Numbers of flows, such as 20,100,300.  [default: 20 to 300]")
@click.option("--sender", type=click.Choice(["sack", "newreno"]), default="sack", show_default=True)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=1, show_default=True)
@_chain_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@_netcdf_option
@force_option
def validate_sub_packet(
    quick: bool,
    flows: str | None,
    sender: str,
    seed: int,
    as_json: bool,
    output: Path | None,
    force: bool,
    **chains: Any,
) -> None:
    """Compare the sub-packet chains with simulated flows: 1 Mbit/s, 200 ms, 50 packets (Fig. 9 of Chen et al.)."""
    if output is not None:
        check_netcdf_name(output)
        check_replaceable(output, force, marked("comparison SubPacketChainVsPackets", asked()))
    from tcpdynamics.errors import InputError
    from tcpdynamics.paper_figures.sub_packet.figures import fig9
    from tcpdynamics.validation.comparisons.sub_packet import summary

    more = {} if flows is None else {"flows": _flow_counts(flows)}
    more |= {name: value for name, value in chains.items() if value is not None}
    with refusals():
        try:
            comparison = fig9(quick, sender=sender, seed=seed, **more)
        except InputError as error:
            parameter, _, rest = str(error).partition(" ")
            raise InputError(f"`{parameter}` {rest}" if parameter in chains else str(error)) from None
    with working("comparing chains with simulated flows"):
        result = comparison.run()
    if output is not None:
        write_netcdf(output, with_settings(result))
        wrote(output)
    if as_json:
        document = {
            "parameters": json.loads(result.attrs["parameters"]),
            "verdicts": summary(result),
            "paragraph": comparison.paragraph(result),
        }
        click.echo(json.dumps(document))
    else:
        _print_verdicts(result)
        for part in comparison.paragraph(result).split("\n\n"):
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
    click.echo(f"{'link':12s} {'chain':22s}" + "".join(f"{f'{n} flows':>16s}" for n in result.flows.values))
    for link in result.link.values:
        loss = result.loss.sel(link=link).values
        click.echo(f"{link:12s} {'(measured loss)':22s}" + "".join(f"{p:16.3f}" for p in loss))
        for chain in result.chain.values:
            part = result.sel(link=link, chain=chain)
            cells = zip(part.distance.values, part.verdict.values, strict=True)
            click.echo(f"{'':12s} {chain:22s}" + "".join(f"{f'{d:.3f} {v}':>16s}" for d, v in cells))


@validate.command("ns2")
@click.option("--live", is_flag=True, help="Run ns-2 now (minutes) instead of taking its recorded results.")
@click.option("--tied", is_flag=True, help="Cases with packets at the same instant, whose order rounding decides.")
@click.option(
    "--grid",
    is_flag=True,
    help="Run our simulator with times on a grid, where rounding decides nothing; the tied cases then differ.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@_netcdf_option
@force_option
def validate_ns2(live: bool, tied: bool, grid: bool, as_json: bool, output: Path | None, force: bool) -> None:
    """Compare the packet simulator with ns-2.35 on congested links: eight seeds each, 99 % intervals."""
    if output is not None:
        check_netcdf_name(output)
        check_replaceable(output, force, marked("comparison PacketsVsNs2", asked()))
    from tcpdynamics.validation.comparisons import packets_vs_ns2 as ns2

    comparison = ns2.PacketsVsNs2(cases=ns2.TIED if tied else ns2.CASES, exact=not grid)
    with working("comparing the simulator with ns-2"):
        result = comparison.run(live=live)
    rows = ns2.table(result)
    if output is not None:
        write_netcdf(output, with_settings(result))
        wrote(output)
    if as_json:
        click.echo(json.dumps(rows))
    else:
        click.echo(f"ns-2: {result.attrs['ns2']}; means over {comparison.seeds} seeds, 99 % interval of ours - ns-2")
        heads = f"{'case':24s}{'quantity':14s}{'ours':>11s}{'ns-2':>11s} {'unit':10s}{'interval':>24s}  verdict"
        click.echo(heads)
        for row in rows:
            interval = f"[{row['low']:.3g}, {row['high']:.3g}]"
            click.echo(
                f"{row['case']:24s}{row['quantity']:14s}{row['ours']:11.5g}{row['theirs']:11.5g} {row['unit']:10s}"
                f"{interval:>24s}  {row['verdict']}"
            )
        agree = sum(row["verdict"] == "agrees" for row in rows)
        click.echo(ns2.conclusion(agree, len(rows), comparison.level))


@validate.command("linux")
@click.option(
    "--live", is_flag=True, help="Run Linux now (15 minutes on two cores) instead of taking its recorded results."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@_netcdf_option
@force_option
def validate_linux(live: bool, as_json: bool, output: Path | None, force: bool) -> None:
    """Compare the packet simulator and the chains with Linux's TCP on a congested link: 20 seeds, 95 % intervals."""
    if output is not None:
        check_netcdf_name(output)
        check_replaceable(output, force, marked("comparison PacketsVsLinux", asked()))
    from tcpdynamics.validation.comparisons import packets_vs_linux as linux

    comparison = linux.PacketsVsLinux()
    with working("comparing with Linux"):
        result = comparison.run(live=live)
    if output is not None:
        write_netcdf(output, with_settings(result))
        wrote(output)
    text = comparison.paragraph(result)
    if as_json:
        click.echo(json.dumps(_document(result, text)))
        return
    for n in result.flows.values:
        click.echo(
            f"{n} flows; each quantity: mean, half the width of its 95 % interval; *: the simulator differs from Linux "
            "(Linux's: by its rules)"
        )
        for line in linux.table(result, int(n)):
            click.echo(line)
        click.echo()
    for part in text.split("\n\n"):
        click.echo(textwrap.fill(part, 110) + "\n")


def _command_of(name: str, about: Command) -> click.Command:
    live = click.Option(
        ["--live"], is_flag=True, help="Run Linux now (10 to 45 minutes) instead of taking its recorded results."
    )
    command = click.Command(
        name,
        callback=_runner(name, about),
        help=about.about + "\n\nPrints effects with intervals, and verdicts, in words.",
        short_help=about.about,
        params=[
            click.Option(["--quick"], is_flag=True, help=QUICK),
            click.Option(["--json", "as_json"], is_flag=True, help="Print JSON with all numbers."),
            click.Option(
                ["--output"],
                type=click.Path(path_type=Path),
                multiple=True,
                metavar="FILE",
                help="Write x.nc, x.html or x.png; may be repeated.",
            ),
            *([live] if about.recorded else []),
        ],
    )
    return force_option(command)


for _name, _about in commands().items():
    validate.add_command(_command_of(_name, _about))
