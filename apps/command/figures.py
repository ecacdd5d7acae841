"""`tcpdynamics figures`: the papers' figures, listed or drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tcpdynamics.errors import OutputError

from ..files import check_replaceable, check_writable, marked, write_text
from ..outputs import check_png, page, write_png
from ..overrides import override
from .options import asked, force_option
from .progress import working

_ENDS = (".html", ".png")


@click.command()
@click.argument("name", required=False)
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="Draw it: x.html or x.png.")
@click.option("--quick", is_flag=True, help="Of figures with simulations: fewer, shorter runs.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change one parameter of the figure, such as points=101 or w_max=8; may be repeated. A name that it has not "
    "lists those that it has.",
)
@force_option
def figures(
    name: str | None, output: Path | None, quick: bool, settings: tuple[str, ...], force: bool
) -> None:
    """List the papers' figures, or draw one.

    \b
    tcpdynamics figures
    tcpdynamics figures logistic.fig8 --output fig8.html
    tcpdynamics figures sub_packet.fig9 --quick --set w_max=8 --output fig9.html
    """
    from tcpdynamics.paper_figures import registry

    if name is None:
        for known in registry.figures().values():
            click.echo(f"{known.name:20} {known.caption}")
        return
    chosen = registry.get_figure(name)
    if output is None:
        raise click.UsageError(f"--output is missing; give a file for {name}, such as --output {name}.html")
    if output.suffix.lower() not in _ENDS:
        raise OutputError(f"cannot write {output}: give a name that ends in {' or '.join(_ENDS)}")
    check_writable(output)
    holds = marked(f"figure {chosen.name}", asked())
    check_replaceable(output, force, holds)
    if output.suffix.lower() == ".png":
        check_png(output)
    parameters: dict[str, Any] = {}
    for setting in settings:
        override(parameters, setting, "w_max=8")
    short = {"quick": True} if quick and chosen.simulates else {}
    with working(f"computing {chosen.name}"):
        drawing = chosen(**(parameters | short))
    if output.suffix.lower() == ".png":
        write_png(output, drawing, holds)
    else:
        write_text(output, page(drawing, chosen.caption, holds))
    click.echo(f"wrote {output}")
