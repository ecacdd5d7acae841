"""`tcpdynamics explore`: the interactive explorer."""

from __future__ import annotations

from pathlib import Path

import click

from tcpdynamics.errors import shown

from .progress import working


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to answer on.")
@click.option("--port", type=click.IntRange(1, 65535), default=8050, show_default=True, help="Port to answer on.")
@click.option("--open-to-others", is_flag=True, help="Allow an address that other machines reach.")
@click.option("--export", "folder", metavar="DIR", help="Write the pages as files that open from disk, and end.")
@click.option("--figures", is_flag=True, help="With --export: also draw the figures of the claims; a minute.")
@click.option("--address", metavar="URL", help="With --export: where the pages will stand, for pictures of links.")
def explore(host: str, port: int, open_to_others: bool, folder: str | None, figures: bool, address: str | None) -> None:
    """Open the interactive explorer in a browser: sliders, and pictures that follow them."""
    if figures and folder is None:
        raise click.UsageError("--figures is for --export; pages of a server draw a figure when it is opened")
    if address and folder is None:
        raise click.UsageError("--address is for --export; pages of a server are for this machine alone")
    if folder is not None:
        if not folder:
            raise click.UsageError("--export needs the name of a folder, got ''")
        from tcpdynamics.apps.explorer.export import export

        try:
            with working("writing the pages, with the figures of the claims" if figures else "writing the pages"):
                files = export(Path(folder), figures, address or "")
        except FileExistsError as error:
            raise click.UsageError(str(error)) from None
        except OSError as error:
            raise click.UsageError(
                f"--export {shown(folder, 80)} cannot be written ({error.strerror}); give another folder"
            ) from None
        click.echo(f"{len(files)} pages written; open {Path(folder) / 'index.html'}")
        return
    from tcpdynamics.apps.explorer.server import is_loopback, serve

    if not is_loopback(host) and not open_to_others:
        raise click.UsageError(
            f"--host {host} lets other machines in; add --open-to-others if that is meant, or leave --host out"
        )
    try:
        serve(host, port, lambda address: click.echo(f"the explorer is at {address} (Ctrl-C ends it)"))
    except OSError as error:
        raise click.UsageError(f"port {port} cannot be used ({error.strerror}); choose another with --port") from None
