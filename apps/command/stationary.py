"""`tcpdynamics stationary`: where a chain settles."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tcpdynamics.errors import RangeError
from tcpdynamics.limits import check_work
from tcpdynamics.quantities import MAX_POINTS, parse_range

from ..files import check_netcdf_name, check_replaceable, write_netcdf
from ..outputs import force_option

if TYPE_CHECKING:
    import xarray as xr

#: Points that a table, JSON or exact arithmetic can carry.
MAX_PRINTED = 100_000
MAX_EXACT = 2_000
MAX_EXACT_WINDOW = 60
#: Digits that an exact result may have in all: 200 MB.
MAX_DIGITS = 200_000_000
#: States x points of one sweep (16 bytes each while it is written): about 4 GB.
MAX_CELLS = 250_000_000


@click.group()
def stationary() -> None:
    """Stationary distribution of a model, at one loss rate or many."""


@stationary.command("sub-packet")
@click.option(
    "--loss",
    required=True,
    metavar="RANGE",
    help="Packet-loss probability: start:stop:count or a comma list, such as 0.1 or 10%.",
)
@click.option(
    "--model",
    type=click.Choice(["approximate", "full", "exact"]),
    default="full",
    show_default=True,
    help="Fig. 7, Fig. 8, or every backoff level a state of its own.",
)
@click.option(
    "--reading",
    type=click.Choice(["A", "B", "L"]),
    default="A",
    show_default=True,
    help="Reading of Fig. 8 (full only): as printed, fresh timeouts, exact levels.",
)
@click.option(
    "--w-max", type=click.IntRange(4, 300), default=6, show_default=True, help="Largest window [packets]."
)
@click.option(
    "--stages", type=click.IntRange(1, 100), help="Repeated-timeout stages (full only).  [default: 3]"
)
@click.option(
    "--backoff-cap",
    type=click.IntRange(0, 60),
    metavar="K",
    help="Timeouts last at most 2^K T0 (exact only).  [default: 6]",
)
@click.option(
    "--collapse",
    type=click.IntRange(1, 3),
    help="Successes in a row that end a backoff (exact only).  [default: 3]",
)
@click.option(
    "--base-timeout", default="2", show_default=True, metavar="M0", help="Timeout before backoff, in RTTs."
)
@click.option(
    "--retransmission-loss", metavar="P", help="Loss of what a timeout resends.  [default: as --loss]"
)
@click.option("--early-retransmit", is_flag=True, help="Windows of 2 and 3 repair one loss too (RFC 5827).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option(
    "--output", type=click.Path(path_type=Path), metavar="FILE.nc", help="Write NetCDF instead of printing."
)
@click.option("--exact", is_flag=True, help="Rationals a/b instead of floating-point numbers.")
@force_option
def sub_packet(**options: Any) -> None:
    """TCP at high loss: packets sent per round-trip time.

    The chains of Chen, Iyengar, Subramanian and Ford, "TCP Behavior in Sub-Packet Regimes".

    One row a loss rate: the probability that 0, 1, ..., W packets are sent in an epoch (one RTT), and their mean.

    \b
    tcpdynamics stationary sub-packet --loss 0.05:0.45:9
    tcpdynamics stationary sub-packet --loss 0.1,0.6 --model exact --json
    """
    output: Path | None = options["output"]
    if output is not None:
        check_netcdf_name(output)
    loss = _read("--loss", options["loss"], _most_points(options), shares=True)
    if options["exact"]:
        _check_digits(loss, options["w_max"])
    if options["exact"] and options["w_max"] > MAX_EXACT_WINDOW:
        raise click.UsageError(
            f"--exact takes --w-max up to {MAX_EXACT_WINDOW}: beyond, rationals have millions of digits"
        )
    model = build_model(options, loss)
    from tcpdynamics.solvers import stationary as solve

    if output is not None:
        check_replaceable(output, options["force"], f"stationary of {model.chain().name}")
    states = len(model.chain().labels)
    if states * len(loss) > MAX_CELLS:
        raise click.BadParameter(
            f"{len(loss):,} points of a chain with {states} states are {states * len(loss):,} numbers, at most "
            f"{MAX_CELLS:,} fit; ask for fewer points"
        )
    result = solve(model.chain(), exact=options["exact"], throw=True)
    seen = model.observe(result)
    if output is not None:
        write_netcdf(output, _as_floats(result.merge(seen, combine_attrs="override")))
        click.echo(f"wrote {output}", err=True)
    if options["as_json"]:
        click.echo(json.dumps(as_json(options["model"], model, loss, result, seen, options["exact"])))
    elif output is None:
        _print_table(options["model"], model, loss, seen, options["exact"])


def _check_digits(loss: list[Fraction], w_max: int) -> None:
    """Refuse exact results that take too long, or would be too much to print; the digits of a law grow with W^2."""
    bits = max(max(x.numerator, x.denominator).bit_length() for x in loss) * (w_max**2 / 1.9 + 3 * w_max)
    digits = int(0.30103 * bits)
    numbers = 2 * (w_max + 12) * len(loss)
    if 2 * digits * numbers > MAX_DIGITS:
        raise click.UsageError(
            f"--exact would give {numbers:,} rationals of up to {digits:,} digits each, at most {MAX_DIGITS:,} digits "
            "are allowed in all; ask for fewer points, a smaller --w-max or shorter loss rates"
        )
    check_work(
        f"{len(loss):,} exact points", 0.6 * numbers * bits**2, "ask for fewer points or a smaller --w-max"
    )


def _most_points(options: dict[str, Any]) -> int:
    if options["exact"]:
        return MAX_EXACT
    return MAX_POINTS if options["output"] is not None else MAX_PRINTED


def _read(option: str, text: str, most: int = 1, shares: bool = False) -> list[Fraction]:
    try:
        return parse_range(text, most, shares=shares)
    except RangeError as error:
        hint = "; --output FILE.nc takes more" if "at most 100,000" in str(error) else ""
        raise click.UsageError(f"{option}: {error}{hint}") from None


def build_model(options: dict[str, Any], loss: list[Fraction]) -> Any:
    """The model that the options describe. Raises click.UsageError naming the option that is wrong."""
    from tcpdynamics import models
    from tcpdynamics.solvers import DomainError

    kind = options["model"]
    exact = options["exact"]
    given: dict[str, Any] = {
        "loss": loss if exact else [float(x) for x in loss],
        "w_max": options["w_max"],
        "base_timeout": _whole_or_float(_read("--base-timeout", options["base_timeout"])[0]),
        "early_retransmit": options["early_retransmit"],
    }
    if options["retransmission_loss"] is not None:
        value = _read("--retransmission-loss", options["retransmission_loss"], shares=True)[0]
        given["retransmission_loss"] = value if exact else float(value)
    for name, only in (("stages", "full"), ("backoff_cap", "exact"), ("collapse", "exact")):
        if options[name] is not None:
            if kind != only:
                raise click.UsageError(f"--{name.replace('_', '-')} belongs to --model {only}, not to {kind}")
            given[name] = options[name]
    if options["reading"] != "A" and kind != "full":
        raise click.UsageError(f"--reading belongs to --model full, not to {kind}")
    full = {"A": models.SubPacketFull, "B": models.SubPacketFresh, "L": models.SubPacketLevels}[
        options["reading"]
    ]
    classes = {"approximate": models.SubPacketApproximate, "full": full, "exact": models.SubPacketExact}
    try:
        return classes[kind](**given)
    except DomainError as error:
        text = str(error)
        if "%" in str(options.get(text.partition(" ")[0])):
            text = text.removesuffix("; a percentage? divide by 100")  # it was one
        raise click.UsageError(_explain(text, kind, loss)) from None


def _explain(message: str, kind: str, loss: list[Fraction]) -> str:
    name, _, rest = message.partition(" ")
    hint = ""
    if name == "loss" and kind != "exact" and any(Fraction(1, 2) <= x < 1 for x in loss):
        hint = f"; the {kind} model has no backoff limit and no answer there, --model exact has"
    return f"--{name.replace('_', '-')} {rest}{hint}"


def _whole_or_float(value: Fraction) -> int | Fraction:
    return int(value) if value.denominator == 1 else value


def _text(value: Any) -> str:
    rational = Fraction(int(value.p), int(value.q)) if hasattr(value, "p") else Fraction(value)
    return f"{_digits(rational.numerator)}/{_digits(rational.denominator)}"


def _digits(number: int) -> str:
    """All digits: Python itself stops at 4,300."""
    import flint

    return str(flint.fmpz(number))


def as_json(
    kind: str, model: Any, loss: list[Fraction], result: xr.Dataset, seen: xr.Dataset, exact: bool
) -> dict[str, Any]:
    """The documented JSON: one row a loss rate, in the order given."""

    def plain(values: Any) -> Any:
        if isinstance(values, list):
            return [plain(v) for v in values]
        return _text(values) if exact else values

    parameters = {k: v for k, v in model.provenance().items() if k != "loss"}
    parameters = {k: float(v) if isinstance(v, Fraction) else v for k, v in parameters.items()}
    return {
        "model": kind,
        "parameters": {"class": type(model).__name__, **parameters},
        "loss": plain(loss) if exact else [float(x) for x in loss],
        "states": [str(s) for s in result.state.values],
        "probability": plain(result.probability.transpose("loss", "state").values.tolist()),
        "sent": plain(seen.sent.transpose("loss", "packets").values.tolist()),
        "packets_per_rtt": plain(seen.packets_per_rtt.values.tolist()),
    }


def _print_table(kind: str, model: Any, loss: list[Fraction], seen: xr.Dataset, exact: bool) -> None:
    extra = [f"W_max = {model.w_max}", f"T0 = {float(model.base_timeout):g} RTT"]
    for field, label in (
        ("stages", "stages"),
        ("backoff_cap", "backoff cap"),
        ("collapse", "collapse after"),
    ):
        if hasattr(model, field):
            extra.append(f"{label} {getattr(model, field)}")
    click.echo(f"Sub-packet chain, {kind} model ({type(model).__name__}; {', '.join(extra)})")
    click.echo(
        "Probability of n packets sent in an epoch (one RTT), and the mean number of packets sent per RTT"
    )
    show = _text if exact else (lambda x: f"{x:.4f}")
    rows = [["loss", *(f"{n} sent" for n in range(model.w_max + 1)), "packets/RTT"]]
    sent, mean = seen.sent.transpose("loss", "packets").values, seen.packets_per_rtt.values
    for x, row, rate in zip(loss, sent, mean, strict=True):
        rows.append([_text(x) if exact else f"{float(x):.6g}", *(show(v) for v in row), show(rate)])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        click.echo("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


def _as_floats(result: xr.Dataset) -> xr.Dataset:
    """NetCDF holds no rationals: exact results are stored as the nearest floats and as text."""
    out = result
    for name, variable in result.data_vars.items():
        if variable.dtype == object:
            out = out.assign({name: variable.astype(float).assign_attrs(variable.attrs)})
            if name == "probability":
                out["probability_exact"] = variable.copy(data=_texts(variable.values))
    return out


def _texts(values: Any) -> Any:
    import numpy as np

    return np.vectorize(_text, otypes=[str])(values)
