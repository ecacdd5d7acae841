"""`tcpdynamics explain`: what is in a store."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import click


@click.command()
@click.argument("store", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def explain(store: Path, as_json: bool) -> None:
    """Say what STORE holds: model, parameters, version, points missing or failed.

    STORE is a Zarr folder or a NetCDF file, finished or not.

    \b
    tcpdynamics explain chart.zarr
    """
    from tcpdynamics.solvers.sweeps.explain import explain as look

    found = look(store)
    click.echo(json.dumps(dataclasses.asdict(found)) if as_json else str(found))
