"""`tcpdynamics simulate` and `tcpdynamics validate`: packets, and models held against them."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .files import check_netcdf_name, write_netcdf

if TYPE_CHECKING:
    import xarray as xr

#: Summary lines of a simulation: variable, label, digits.
_LINES = (
    ("loss_rate", "loss at the bottleneck", 4),
    ("loss_rate_timeout", "loss of timeout retransmissions", 4),
    ("utilisation", "utilisation", 4),
    ("mean_queue", "packets waiting (mean)", 2),
    ("rto_over_rtt", "base timeout over RTT", 3),
    ("jain", "Jain's index over a slice", 4),
    ("starved", "share of flows starved in a slice", 4),
)


@click.command()
@click.argument("scenario", required=False, metavar="SCENARIO.toml")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Default: the scenario's own.")
@click.option(
    "--replications",
    type=click.IntRange(1, 10_000),
    default=1,
    show_default=True,
    help="Independent runs; from two on with 95 % intervals.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a summary.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE.nc",
    help="Write everything recorded as NetCDF.",
)
@click.option("--list", "show_list", is_flag=True, help="List the ready scenarios and stop.")
def simulate(
    scenario: str | None,
    seed: int | None,
    replications: int,
    as_json: bool,
    output: Path | None,
    show_list: bool,
) -> None:
    """Simulate packets on one bottleneck.

    SCENARIO.toml describes links and flows (docs/scenarios.md lists the keys); a ready scenario's name will do.
    """
    from tcpdynamics.validation.packet import ready_scenarios, replicate
    from tcpdynamics.validation.packet import simulate as run

    ready = ready_scenarios()
    if show_list:
        for name, path in ready.items():
            click.echo(f"{name:24s} {_first_comment(path)}")
        return
    if scenario is None:
        raise click.UsageError(
            "SCENARIO.toml is missing; `tcpdynamics simulate --list` shows ready scenarios"
        )
    if output is not None:
        check_netcdf_name(output)
    described = _load(ready.get(scenario, Path(scenario)))
    if seed is not None:
        from dataclasses import replace

        described = replace(described, seed=seed)
    result = run(described) if replications == 1 else replicate(described, replications)
    if output is not None:
        write_netcdf(output, result)
        click.echo(f"wrote {output}", err=True)
    if as_json:
        click.echo(json.dumps(_as_json(result), allow_nan=False))
    elif output is None:
        _print_summary(result)
    if result.attrs["warning"]:
        click.echo(f"Warning: {result.attrs['warning']}", err=True)


def _load(path: Path) -> Any:
    from tcpdynamics.validation.packet import load_scenario

    try:
        return load_scenario(path)
    except UnicodeDecodeError:
        raise click.UsageError(f"cannot read {path}: it is not UTF-8 text") from None
    except OSError as error:
        raise click.UsageError(
            f"cannot read {path}: {error.strerror or error}; `tcpdynamics simulate --list` shows ready scenarios"
        ) from None


def _first_comment(path: Path) -> str:
    """The first sentence of the comment at the top."""
    words: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        words += line.lstrip("# ").split()
    first, stop, _ = " ".join(words).partition(". ")
    return first + ("." if stop else "")


def _as_json(result: xr.Dataset) -> dict[str, Any]:
    """Every recorded variable but per-packet traces, with its dimensions; NaN becomes null."""
    return {
        "name": result.attrs["name"],
        "seed": result.attrs["seed"] if "replication" not in result.dims else result.seed.values.tolist(),
        "version": result.attrs["version"],
        "what_you_ran": json.loads(result.attrs["what_you_ran"]),
        "warning": result.attrs["warning"],
        "coordinates": {str(k): v.values.tolist() for k, v in result.coords.items() if k != "seed"},
        "results": {
            str(name): {
                "dims": list(v.dims),
                "units": v.attrs.get("units", "1"),
                "values": _nulls(v.values.tolist()),
            }
            for name, v in result.data_vars.items()
        },
    }


def _nulls(values: Any) -> Any:
    if isinstance(values, list):
        return [_nulls(v) for v in values]
    return None if isinstance(values, float) and values != values else values


def _print_summary(result: xr.Dataset) -> None:
    from tcpdynamics.validation.statistics import mean_interval

    several = "replication" in result.dims
    result = result.assign(jain=result.slice_jain.mean("slice"), starved=result.slice_starved.mean("slice"))
    click.echo(
        f"{result.attrs['name']}: {result.sizes['flow']} flows, "
        + ("several seeds (--json lists them)" if several else f"seed {result.attrs['seed']}")
    )
    rows = [(label, result[name], digits) for name, label, digits in _LINES]
    last = result.sent_in_epoch.values[-1]
    for n in result.sent_in_epoch.values:
        packets = f"{n} or more packets" if n == last else f"{n} packet{'' if n == 1 else 's'}"
        rows.append((f"P({packets} in an epoch)", result.epoch_share.sel(sent_in_epoch=n), 4))
    for label, values, digits in rows:
        if several:
            found = mean_interval(values.drop_vars("seed"))
            half = float(found["high"] - found["low"]) / 2
            click.echo(f"  {label:36s} {_number(float(found['mean']), digits)} ± {_number(half, digits)}")
        else:
            click.echo(f"  {label:36s} {_number(float(values), digits)}")
    if several:
        click.echo(f"± half of Student's 95 % interval over {result.sizes['replication']} replications")


def _number(value: float, digits: int) -> str:
    return "none" if value != value else f"{value:.{digits}f}"


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
def validate_sub_packet(
    quick: bool, flows: str | None, sender: str, seed: int, as_json: bool, output: Path | None
) -> None:
    """The sub-packet chains against simulated flows: 1 Mbit/s, 200 ms, 50 packets (Fig. 9 of Chen et al.)."""
    if output is not None:
        check_netcdf_name(output)
    from dataclasses import replace

    from tcpdynamics.paper_figures.chen_sub_packet import fig9
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
    from .ranges import RangeError, parse_range

    try:
        counts = parse_range(text, 50)
    except RangeError as error:
        raise click.UsageError(f"--flows: {error}") from None
    if any(n.denominator != 1 or not 2 <= n <= 2000 for n in counts):
        raise click.UsageError(f"--flows must list whole numbers in [2, 2000], got {text}")
    return tuple(int(n) for n in counts)


def _print_verdicts(result: xr.Dataset) -> None:
    click.echo(
        f"Total-variation distance between packets sent per epoch, simulated and predicted; {result.attrs['verdicts']}"
    )
    click.echo(f"{'link':12s} {'chain':22s}" + "".join(f"{f'{n} flows':>15s}" for n in result.flows.values))
    for link in result.link.values:
        loss = result.loss.sel(link=link).values
        click.echo(f"{link:12s} {'(measured loss)':22s}" + "".join(f"{p:15.3f}" for p in loss))
        for chain in result.chain.values:
            part = result.sel(link=link, chain=chain)
            cells = zip(part.distance.values, part.verdict.values, strict=True)
            click.echo(f"{'':12s} {chain:22s}" + "".join(f"{f'{d:.3f} {v}':>15s}" for d, v in cells))
