"""`tcpdynamics report`: the page that `make report` writes."""

from __future__ import annotations

import time
from pathlib import Path

import click

from tcpdynamics.errors import OutputError

from ..files import check_replaceable, check_writable, write_text
from ..outputs import check_charts
from .options import force_option
from .progress import Steps


@click.command()
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=Path("report/index.html"),
    show_default=True,
    metavar="FILE.html",
    help="Where the page goes.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="A first look: fewer loads, 5 runs of 300 s each instead of 8 of 5000 s, fewer seeds against ns-2, "
    "shorter comparisons with fluids, coarser charts, no runs of Linux, LEAP or M/TCP.",
)
@force_option
def report(output: Path, quick: bool, force: bool) -> None:
    """Write the report: one self-contained HTML page.

    It solves the models and runs the comparisons: some four minutes on two idle cores, more on a busy machine, and
    about another minute the first time, to compile.
    """
    if output.suffix.lower() not in (".html", ".htm"):
        raise OutputError(f"cannot write {output}: the report is a page; give a name that ends in .html")
    check_charts()
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot make the folder {output.parent}: {error.strerror or error}") from None
    check_writable(output)
    from ..report.steps import Progress, holds

    check_replaceable(output, force, holds(quick))
    from ..report.process import beside

    began, tell = time.perf_counter(), Progress(quick, Steps())
    with beside(quick, tell) as sections:
        from ..report.build import page  # loads for a second, while the sections are begun

        text = page(quick, tell, sections, began)
    write_text(output, text)
    click.echo(f"wrote {output.resolve()}; open it in a browser")
