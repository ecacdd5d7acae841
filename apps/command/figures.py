"""`tcpdynamics figures`: the papers' figures and claims, listed, drawn, decided, certified."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click

from tcpdynamics.errors import OutputError

from ..files import check_replaceable, check_writable, is_protected, marked, write_text
from ..outputs import check_charts, check_png, page, write_png
from ..overrides import override
from .claims import wrapped
from .options import asked, force_option, wrote
from .progress import progress_line, working

_ENDS = (".html", ".png")


@click.command()
@click.argument("name", required=False)
@click.option("--list", "listing", is_flag=True, help="List the figures; also without arguments.")
@click.option("--all", "every", is_flag=True, help="All figures and the whole ledger, into the folder of --output.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="PLACE",
    help="x.html or x.png for the figure; or a folder for its page, its data as NetCDF, and PNG and SVG "
    "if Chromium is installed.",
)
@click.option(
    "--quick", is_flag=True, help="Short simulations, seconds to a minute, all together minutes; the default."
)
@click.option("--full", is_flag=True, help="All replications and interpretations: all together hours.")
@click.option("--decide", "deciding", is_flag=True, help="NAME is a claim: decide it by its rule, now.")
@click.option("--json", "as_json", is_flag=True, help="With --decide: print JSON.")
@click.option("--ns2", is_flag=True, help="With --all: run ns-2, too, where it is installed and has the protocol.")
@click.option("--linux", is_flag=True, help="With --all: run Linux's TCP, too, where it is built and has the protocol.")
@click.option(
    "--processes",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="With --all: share the work among N; by default one a processor, 16 at most.",
)
@click.option("--certificate", is_flag=True, help="Hash the outputs in --output, chained, with what made them.")
@click.option(
    "--check", type=click.Path(path_type=Path), metavar="FILE", help="Verify a certificate and the files next to it."
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change one parameter of the figure, such as points=101 or w_max=8; may be repeated. An unknown "
    "name lists the valid ones.",
)
@force_option
def figures(
    name: str | None, listing: bool, every: bool, output: Path | None, quick: bool, full: bool, deciding: bool,
    as_json: bool,
    ns2: bool, linux: bool, processes: int | None, certificate: bool, check: Path | None,
    settings: tuple[str, ...], force: bool,
) -> None:  # fmt: skip
    """List the papers' figures, draw one or all, or decide a claim.

    \b
    tcpdynamics figures
    tcpdynamics figures logistic.fig8 --output fig8.html
    tcpdynamics figures leap.table1 --output DIR
    tcpdynamics figures sub_packet.fig9 --set w_max=8 --output fig9.html
    tcpdynamics figures leap.table1.reno.2_50 --decide
    tcpdynamics figures --all --output DIR
    tcpdynamics figures --certificate --output DIR
    tcpdynamics figures --check DIR
    """
    if quick and full:
        raise click.UsageError("--quick and --full are different settings; give one")
    quick = not full
    asks = [word for word, there in (
        ("--all", every), ("--decide", deciding), ("--certificate", certificate), ("--check", check is not None),
    ) if there]  # fmt: skip
    if len(asks) > 1:
        raise click.UsageError(f"{' and '.join(asks)} are different requests; give one")
    if name is not None and (every or certificate or check is not None):
        raise click.UsageError(f"{asks[0]} takes no name, got {name}")
    if deciding and (settings or output is not None):
        raise click.UsageError(
            f"--decide takes no {'--set' if settings else '--output'}: a claim is decided by its own scenario; to try "
            "another one, change its file, or give its experiment other interpretations"
        )
    if deciding and name is None:
        raise click.UsageError("--decide needs the name of a claim, such as leap.table1.reno.2_50")
    if check is not None:
        _check(check)
    elif certificate:
        _certify(output, force)
    elif every:
        _all(output, quick, tuple(j for j, on in (("ns2", ns2), ("linux", linux)) if on), processes, force)
    elif name is None or listing:
        _list()
    elif deciding:
        _decide(name, quick, as_json)
    else:
        _draw(name, output, quick, settings, force)


def _list() -> None:
    from tcpdynamics.paper_figures import registry

    for figure in registry.figures().values():
        click.echo("\n".join(wrapped(figure.caption, f"{figure.name:24} ", " " * 25)))


def _draw(name: str, output: Path | None, quick: bool, settings: tuple[str, ...], force: bool) -> None:
    from tcpdynamics.paper_figures import ledger, registry

    if name.replace("-", "_") in ledger.claims():
        raise click.UsageError(f"{name} is a claim; add --decide, or name a figure")
    chosen = registry.get_figure(name)
    if output is None:
        raise click.UsageError(f"--output is missing; give a folder or a file for {name}, such as --output {name}.html")
    suffix = output.suffix.lower()
    folder = output.is_dir() or not suffix
    if not folder and suffix not in _ENDS:
        raise OutputError(f"cannot write {output}: give a folder, or a name that ends in {' or '.join(_ENDS)}")
    holds = marked(f"figure {chosen.name}", asked())
    if not folder:
        check_writable(output)
        check_replaceable(output, force, holds)
    check_charts()
    if suffix == ".png":
        check_png(output)
    parameters: dict[str, Any] = {}
    for setting in settings:
        override(parameters, setting, "w_max=8")
    chosen.check(parameters)
    if folder:
        from ..paper_outputs import again, check_figures, write_figure, write_pictures

        how = again(chosen.name, quick) + "".join(f" --set {setting}" for setting in settings)
        _make(output)
        check_figures(output, [chosen.name], lambda name: how, force)
    short = {"quick": quick} if chosen.simulates else {}
    with working(f"computing {chosen.name}"):
        numbers = chosen.solve(**(parameters | short))
    if folder:
        drawing = write_figure(output, chosen, numbers, how, wrote)
        if not write_pictures(output, {chosen.name: drawing}, lambda name: how, wrote):
            click.echo("no PNG and SVG: they need a Chromium", err=True)
        return
    drawing = chosen.draw(numbers)
    if suffix == ".png":
        write_png(output, drawing, holds)
    else:
        write_text(output, page(drawing, chosen.caption, holds))
    wrote(output)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write into {folder}: {error.strerror or error}") from None


def _all(output: Path | None, quick: bool, judges: tuple[str, ...], processes: int | None, force: bool) -> None:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from tcpdynamics.interrupts import advising
    from tcpdynamics.paper_figures.registry import figures as known
    from tcpdynamics.paper_figures.whole import decide_all

    from ..paper_outputs import again, check_figures, check_ledger, write_all

    if output is None:
        raise click.UsageError("--output is missing; give a folder, such as --output papers")
    check_charts()
    _make(output)
    check_ledger(output, "quick" if quick else "full", judges, force)
    check_figures(output, known(), lambda name: again(name, quick), force)
    pool = ProcessPoolExecutor(processes or min(os.cpu_count() or 1, 16), get_context("spawn"))
    advice = f"what has run is kept in {output / 'stores'}; the same command goes on there"
    with advising(lambda: advice), pool as executor, progress_line("deciding") as line:

        def at(name: str, share: float) -> None:
            line.say(name)
            line(share)

        ledger_run = decide_all(
            "quick" if quick else "full", stores=output / "stores", judges=judges, executor=executor,
            progress=lambda name, share: at(name, 0.9 * share),
        )  # fmt: skip
        write_all(output, ledger_run, quick, progress=lambda name, share: at(name, 0.9 + 0.1 * share))
    from tcpdynamics.paper_figures.statements import MARKS, summaries

    for summary in summaries(ledger_run.document()["rows"]).values():
        click.echo(f"{summary.paper.title}: {summary.marks_in_words}")
    click.echo(MARKS)
    click.echo(f"wrote {output}: open {output / 'index.html'}")


def _decide(name: str, quick: bool, as_json: bool) -> None:
    from tcpdynamics.paper_figures import deciding, ledger, protocol
    from tcpdynamics.paper_figures.whole import run_until_decided

    from .. import ledger_rows
    from .claims import lines_of, wrapped

    claim = ledger.get_claim(name)
    for sentence in protocol.changed():
        click.echo(f"Warning: {sentence}", err=True)
    with working(f"deciding {claim.id}"):
        setting = "quick" if quick else "full"
        data = run_until_decided([claim], setting) if claim.decided_by != ledger.MODEL else None
        came = ledger.to_read(deciding.decide(claim, setting, data=data).document(), claim)
    if as_json:
        click.echo(json.dumps({"claim": claim.id, **ledger_rows.published(came)}))
        return
    click.echo("\n".join(lines_of(ledger_rows.row(claim, came))))
    click.echo("\n".join(wrapped(ledger_rows.how_decided(claim, came), rest="  ")))


def _certify(output: Path | None, force: bool) -> None:
    from tcpdynamics.errors import InputError
    from tcpdynamics.paper_figures.experiments import experiments
    from tcpdynamics.paper_figures.whole import made

    from .. import certificate

    if output is None:
        raise click.UsageError("--output is missing; give the folder that figures --all wrote")
    ledger = output / "ledger.json"
    setting = certificate.setting_of(ledger) if ledger.is_file() else "none"
    path = output / certificate.NAME
    check_writable(path)
    if path.exists() and not force:
        if is_protected(path):
            raise OutputError(f"{path} may not be written to; allow it with chmod u+w, or give --force")
        try:
            wrong = certificate.check(output)
        except InputError as error:
            raise OutputError(f"{error}; remove it, or give --force") from None
        if wrong:
            raise OutputError(
                f"{path} certifies other files than are there ({wrong[0]}); --force certifies them as they are now"
            )
    seeds = {name: one.seed for name, one in experiments().items()} if ledger.is_file() else {}
    path = certificate.certify(output, made(setting, 0.0), seeds)
    wrote(path)
    last = json.loads(path.read_text(encoding="utf-8"))["outputs"][-1]["chain"]
    click.echo(f"the chain ends in {last}: write it down elsewhere, and no number can change unnoticed")


def _check(path: Path) -> None:
    from .. import certificate

    wrong = certificate.check(path)
    for line in wrong:
        click.echo(line, err=True)
    if wrong:
        raise click.exceptions.Exit(1)
    click.echo("all files are as they were certified")
