"""`tcpdynamics claims`: what the papers say, and whether it holds."""

from __future__ import annotations

import json
import textwrap

import click

from .progress import working


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the numbers that decide.")
def claims(names: tuple[str, ...], as_json: bool) -> None:
    """List what the papers say, or decide it again: each statement is solved now.

    A name is that of a statement, or of a paper for all of its statements.

    \b
    tcpdynamics claims
    tcpdynamics claims logistic.eq9
    tcpdynamics claims t-refwa --json
    """
    from tcpdynamics import paper_figures

    known = paper_figures.statements()
    if not names:
        if as_json:
            rows = [{"name": s.name, "where": s.where, "published": s.published} for s in known.values()]
            click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
            return
        for one in known.values():
            click.echo(f"{one.name:32} {one.where}: {one.published}")
        return
    chosen = []
    for name in names:
        whole = [s for s in known.values() if s.paper == name.replace("-", "_")]
        chosen += whole or [paper_figures.get_statement(name)]
    rows = []
    for one in chosen:
        with working(f"deciding {one.name}"):
            claim = one()
        rows.append({"name": one.name} | claim.document())
        if not as_json:
            lines = {"where": one.where, "the paper says": one.published, "answer": claim.answer,
                     "computed": claim.computed, "verdict": claim.verdict}  # fmt: skip
            click.echo(one.name)
            for word, text in lines.items():
                click.echo(
                    textwrap.fill(text, 110, initial_indent=f"  {word:16}", subsequent_indent=" " * 18)
                )
    if as_json:
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
