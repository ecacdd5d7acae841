"""`tcpdynamics validate logistic | lotka-volterra | t-refwa | misra`: models against fluid simulations."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from ..outputs import check_outputs, finite, force_option, write_outputs

#: Command -> module, class, one line, and what the quick setting changes.
_COMPARISONS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "logistic": (
        "logistic",
        "LogisticVsFluid",
        "Delayed logistic control: trajectories against spectrum and chart.",
        {"epsilon": (1.95,), "rounds": 2},
    ),
    "lotka-volterra": (
        "lotka_volterra",
        "LotkaVolterraVsFluid",
        "Lotka-Volterra control: n flows, old measurements, a real queue.",
        {"flows": (2, 5), "rounds": 2},
    ),
    "t-refwa": (
        "t_refwa",
        "TRefwaMapVsFluid",
        "Readings of T-REFWA's eq. (3) against a router on a real queue.",
        {"gains": ((1.5, 0.5), (1.0, 0.5)), "rounds": 2},
    ),
    "misra": (
        "fluid_tcp",
        "MisraVsLinearisation",
        "Fluid TCP on a marking link against two linearisations.",
        {"ratio": (0.8, 1.1), "rounds": 2, "horizon": 25.0},
    ),
}


def _runner(name: str) -> Callable[..., None]:
    module, kind, _, short = _COMPARISONS[name]

    def run(quick: bool, as_json: bool, output: tuple[Path, ...], force: bool) -> None:
        for path in output:
            if path.suffix.lower() == ".zarr":
                raise click.UsageError(
                    f"cannot write {path}: a comparison is no sweep; give x.nc, x.html or x.png"
                )
        check_outputs(output, 1, 0, 2, False, f"comparison {kind}", force)
        compared = import_module(f"tcpdynamics.validation.comparisons.{module}")
        comparison = getattr(compared, kind)(**(short if quick else {}))
        result = comparison.run()
        write_outputs(output, result, lambda: comparison.figure(result))
        text = compared.paragraph(result)
        if as_json:
            click.echo(json.dumps(_document(result, text)))
        elif not output:
            for part in text.split("\n\n"):
                click.echo(textwrap.fill(part, 110) + "\n")

    return run


def _document(result: Any, text: str) -> dict[str, Any]:
    """Everything but the trajectories."""
    kept = result.drop_vars("deviation", errors="ignore")
    return {
        "comparison": result.attrs["comparison"],
        "parameters": json.loads(result.attrs["parameters"]),
        "rule": result.attrs["verdicts"],
        "paragraph": text,
        "coordinates": {str(k): finite(v.values) for k, v in kept.coords.items()},
        "results": {
            str(k): {"dims": list(v.dims), "units": v.attrs.get("units", "1"), "values": finite(v.values)}
            for k, v in kept.data_vars.items()
        },
    }


def commands() -> Sequence[click.Command]:
    """One command for each comparison."""
    return [
        force_option(
            click.Command(
                name,
                callback=_runner(name),
                help=text
                + "\n\nMeasures how small disturbances die out or grow, and prints verdicts in words.",
                short_help=text,
                params=[
                    click.Option(["--quick"], is_flag=True, help="Fewer cases and coarser critical values."),
                    click.Option(["--json", "as_json"], is_flag=True, help="Print JSON with all numbers."),
                    click.Option(
                        ["--output"],
                        type=click.Path(path_type=Path),
                        multiple=True,
                        metavar="FILE",
                        help="Write x.nc, x.html or x.png; may be repeated.",
                    ),
                ],
            )
        )
        for name, (_, _, text, _) in _COMPARISONS.items()
    ]
