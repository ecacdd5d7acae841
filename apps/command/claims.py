"""`tcpdynamics claims`: what the papers say, and whether it holds, as recorded when all claims were decided last."""

from __future__ import annotations

import json
import shutil
import textwrap
from typing import TYPE_CHECKING, Any

import click

from tcpdynamics.errors import DomainError, shown, suggestion

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tcpdynamics.paper_figures.statements import Outcome, Summary

#: A line is never longer, however wide the terminal.
WIDEST = 110
#: Verdicts as the overview has them.
SHORT = {"holds": "holds", "holds with conditions": "if", "does not hold": "no", "cannot be decided": "open"}


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the numbers that decide.")
def claims(names: tuple[str, ...], as_json: bool) -> None:
    """List what the papers say and what came out: papers, their statements, the cells of a statement.

    A name is that of a paper, a statement, a figure or a cell. `tcpdynamics figures NAME --decide` decides a cell
    again.

    \b
    tcpdynamics claims
    tcpdynamics claims leap
    tcpdynamics claims leap.table1
    tcpdynamics claims leap.table1.reno.2_50
    tcpdynamics claims t-refwa --json
    """
    from tcpdynamics.paper_figures import protocol, statements

    for sentence in protocol.changed():
        click.echo(f"Warning: {sentence}", err=True)
    summaries = statements.summaries()
    chosen = [name.replace("-", "_") for name in names]
    if as_json:
        _print_json(chosen or summaries, summaries)
    elif chosen:
        click.echo("\n".join(line for name in chosen for line in _page(name, summaries)))
    else:
        click.echo("\n".join(_overview(summaries)))


def wrapped(text: str, first: str = "", rest: str | None = None) -> list[str]:
    """A text in lines of the terminal's width, behind `first` and then behind `rest`; a name stays in one piece."""
    return textwrap.wrap(
        text, min(WIDEST, shutil.get_terminal_size().columns), initial_indent=first,
        subsequent_indent=first if rest is None else rest, break_on_hyphens=False,
    )  # fmt: skip


def _overview(summaries: dict[str, Summary]) -> list[str]:
    """One screen: each paper, its marks, its central statements."""
    from tcpdynamics.paper_figures.statements import MARKS

    lines = []
    for name, summary in summaries.items():
        lines += wrapped(f"{name}: {summary.paper.says}", rest="  ")
        lines += wrapped(summary.marks_in_words, "  ")
        for one in summary.outcomes:
            if one.statement.weight == "central":
                lines += wrapped(one.statement.says, f"  {SHORT.get(one.verdict, '?'):6}", " " * 8)
    verdicts = {one.verdict for summary in summaries.values() for one in summary.outcomes}
    legend = "; ".join(f"{short}: {verdict}" for verdict, short in SHORT.items() if short != verdict)
    legend += f"{'; ?: not decided yet' * ('' in verdicts)}. "
    return lines + wrapped(f"{legend}{MARKS}")


def _page(name: str, summaries: dict[str, Summary]) -> list[str]:
    """The page of a paper, of a statement, or of each cell that a name stands for."""
    from tcpdynamics.paper_figures import ledger

    from .. import ledger_rows

    if name in summaries:
        return _paper(summaries[name])
    if name in ledger.ledger().statements:
        return _statement(next(o for s in summaries.values() for o in s.outcomes if o.statement.id == name))
    recorded = ledger.recorded()["rows"]
    rows = [ledger_rows.row(ledger.get_claim(cell), recorded.get(cell)) for cell in _cells(name, summaries)]
    return [line for row in rows for line in lines_of(row)]


def _cells(name: str, summaries: dict[str, Summary]) -> Sequence[str]:
    """Cells of a paper, a statement or a figure, or the one of that name. Raises DomainError where there is none."""
    from tcpdynamics.paper_figures import ledger

    if name in summaries:
        return summaries[name].order
    if name in ledger.ledger().statements:
        return ledger.ledger().statements[name].cells
    if name in ledger.claims():
        return [name]
    drawn = [one.id for one in ledger.claims().values() if name and one.figure == name]
    if not drawn:
        close = suggestion(name, (*summaries, *ledger.ledger().statements, *ledger.claims()))
        lists = "`tcpdynamics claims leap` lists the statements of a paper"
        raise DomainError(f"there is no paper, statement, figure or claim {shown(name)}{close}; {lists}")
    return drawn


def _paper(summary: Summary) -> list[str]:
    """A paper's statements, what failed on top of each weight."""
    from tcpdynamics.paper_figures.ledger import WEIGHTS
    from tcpdynamics.paper_figures.statements import NOT_YET

    lines = wrapped(summary.paper.cite) + wrapped(f"It says: {summary.paper.says}")
    lines += wrapped(f"Marks: {summary.marks_in_words}.")
    if summary.marks_in_words != NOT_YET:
        lines += wrapped(f"Statements that hold under one joint interpretation: {summary.readings_in_words}.")
    for weight in WEIGHTS:
        lines += ["", weight]
        for one in (one for one in summary.in_order if one.statement.weight == weight):
            lines += wrapped(f"{one.statement.id}: {one.statement.says}", f"  {one.verdict or NOT_YET:22}", " " * 24)
            if one.condition:
                lines += wrapped(one.condition, " " * 24)
    return lines


def _statement(came: Outcome) -> list[str]:
    """A statement, its joint readings and its cells."""
    from tcpdynamics.paper_figures import ledger

    from .. import ledger_rows

    one = came.statement
    row_of = ledger_rows.statement(came, ledger.recorded()["rows"])
    lines = wrapped(f"{one.id}: {one.says}", rest="  ")
    words = {
        "verdict": (came.verdict or ledger_rows.NOT_YET) + (f": {came.condition}" if came.condition else ""),
        "weight": f"{one.weight} {row_of['kind']}", "not printed": one.missing, "reason": row_of["reason"],
        "check": row_of["sensitivity"],
    }  # fmt: skip
    for word, text in words.items():
        if text:
            lines += wrapped(text, f"  {word:12}", " " * 14)
    if len(came.readings) > 1:
        lines += ["", "joint interpretations"]
        for name, verdict in came.readings:
            lines += wrapped(name, f"  {verdict:22}", " " * 24)
    lines += ["", "cells"]
    recorded = ledger.recorded()["rows"]
    for cell in one.cells:
        row = ledger_rows.row(ledger.get_claim(cell), recorded.get(cell))
        numbers = [row[key] for key in ("packets", "model") if row[key] != ledger_rows.NONE][:1]
        lines += wrapped(f"{cell}: {row['quantity']}", f"  {row['verdict']:22}", " " * 24)
        lines += wrapped("; ".join([f"published {row['published']}", *(f"ours {x}" for x in numbers)]), " " * 24)
    return lines


def _print_json(names: Iterable[str], summaries: dict[str, Summary]) -> None:
    """What made the record; papers with their marks; statements; cells, each with its decision."""
    from tcpdynamics.paper_figures import ledger

    from .. import ledger_rows

    recorded = ledger.recorded()
    cells = list(dict.fromkeys(cell for name in names for cell in _cells(name, summaries)))
    decisions = {cell: recorded["rows"].get(cell) for cell in cells}
    rows = [ledger_rows.row(ledger.get_claim(cell), came) for cell, came in decisions.items()]
    several = {row["statement"] for row in rows}
    outcomes = [one for summary in summaries.values() for one in summary.outcomes if one.statement.id in several]
    papers = {
        name: {
            "title": one.paper.title, "says": one.paper.says, "cite": one.paper.cite, "marks": one.marks,
            "first": one.first, "best": one.best, "worst": one.worst,
        }
        for name, one in summaries.items() if any(row["paper"] == name for row in rows)
    }  # fmt: skip
    document = {
        "made": recorded["made"],
        "papers": papers,
        "statements": [ledger_rows.statement(one, recorded["rows"]) for one in outcomes],
        "cells": [
            row | {"decision": came and ledger_rows.published(came)}
            for row, came in zip(rows, decisions.values(), strict=True)
        ],
    }
    click.echo(json.dumps(document, indent=2))


def lines_of(row: dict[str, Any]) -> list[str]:
    """A row of the ledger for a terminal."""
    texts = {
        "where": row["place"], "quantity": row["quantity"], "published": row["published"], "model": row["model"],
        "packets": row["packets"], "under": row["shown"], "ns-2": row["ns2"], "Linux": row["linux"],
        "rule": row["rule"], "note": row["note"],
        "decided by": row["experiment"] + (f", {row['setting']} setting" if row["setting"] else ""),
        "case": row["case"], "scenario": row["scenario"], "ours": row["finding"],
        "verdict": row["verdict"] + (f" ({row['interpretations']})" if row["interpretations"] else ""),
        "again": row["command"],
    }  # fmt: skip
    lines = [row["id"]]
    for word, text in texts.items():
        if text and text != "\N{EM DASH}":
            lines += wrapped(text, f"  {word:12}", " " * 14)
    for one in row["each_interpretation"]:
        first = f"    {one['value']:>10}  {one['verdict']:22} "
        lines += wrapped(one["interpretation"], first, " " * len(first))
    return lines
