"""`tcpdynamics explain`: what is in a store."""

from __future__ import annotations

import dataclasses
import json

import click


@click.command()
@click.argument("store", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option("--verify", is_flag=True, help="Read every block and check its hash.")
def explain(store: str, as_json: bool, verify: bool) -> None:
    """Show what STORE holds: model, parameters, version, points missing, failed or damaged.

    STORE is a Zarr folder or a NetCDF file, finished or not. The exit code is 1 if something in it is damaged.

    \b
    tcpdynamics explain chart.zarr
    tcpdynamics explain chart.zarr --verify
    """
    from tcpdynamics.solvers.sweeps.explain import explain as look

    contents = look(store, verify=verify)
    click.echo(json.dumps(dataclasses.asdict(contents)) if as_json else str(contents))
    if contents.damaged:
        raise click.exceptions.Exit(1)
