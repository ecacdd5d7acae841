"""`tcpdynamics claims`: what the papers say, and whether it holds, as recorded when all claims were decided last."""

from __future__ import annotations

import json

import click


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the numbers that decide.")
def claims(names: tuple[str, ...], as_json: bool) -> None:
    """List what the papers say and what came out; what does not hold stands on top of its paper.

    A name is that of a claim, or of a paper or a figure for all of its claims. `tcpdynamics figures NAME --decide`
    decides one again.

    \b
    tcpdynamics claims
    tcpdynamics claims leap.table1.reno.2_50
    tcpdynamics claims leap.table1
    tcpdynamics claims t-refwa --json
    """
    from tcpdynamics.paper_figures import ledger

    from .. import ledger_rows
    from .figures import lines_of

    for sentence in ledger.changed():
        click.echo(f"Warning: {sentence}", err=True)
    recorded, summaries = ledger.recorded()["rows"], ledger.summaries()
    all_names = [name for summary in summaries.values() for name in summary.order]
    chosen: list[str] = []
    for name in names:
        paper = summaries.get(name.replace("-", "_"))
        drawn = [one.id for one in ledger.claims().values() if one.figure == name]
        chosen += paper.order if paper else drawn or [ledger.get_claim(name).id]
    if as_json:
        rows = [
            ledger_rows.row(ledger.get_claim(name), recorded.get(name)) | {"decision": recorded.get(name)}
            for name in chosen or all_names
        ]
        click.echo(json.dumps(rows, indent=2))
    elif names:
        for name in chosen:
            click.echo("\n".join(lines_of(ledger_rows.row(ledger.get_claim(name), recorded.get(name)))))
    else:
        for summary in summaries.values():
            click.echo(f"{summary.title}: {ledger.in_words(v for v in summary.verdicts.values() if v)}")
            for name in summary.order:
                one = ledger.get_claim(name)
                verdict = summary.verdicts[name] or "not decided yet"
                click.echo(f"  {name:44} {verdict:22} {one.published_text:14} {one.place}: {one.quantity}")
        click.echo(ledger.MARKS)
