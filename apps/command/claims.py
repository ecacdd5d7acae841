"""`tcpdynamics claims`: what the papers say, and whether it holds, as recorded when all claims were decided last."""

from __future__ import annotations

import json
import shutil
import textwrap
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
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
    from tcpdynamics.paper_figures import ledger, statements

    for sentence in ledger.changed():
        click.echo(f"Warning: {sentence}", err=True)
    summaries = statements.summaries()
    if as_json:
        _print_json(names, summaries)
        return
    if not names:
        click.echo("\n".join(_overview(summaries)))
    for name in names:
        lines = _page(name.replace("-", "_"), summaries)
        click.echo("\n".join(lines))


def _width() -> int:
    return min(WIDEST, shutil.get_terminal_size().columns)


def _wrapped(text: str, first: str = "", rest: str | None = None) -> list[str]:
    """A text in lines of the terminal's width; ids may not be broken at their dots."""
    return textwrap.wrap(
        text, _width(), initial_indent=first, subsequent_indent=first if rest is None else rest, break_on_hyphens=False
    )


def _overview(summaries: dict[str, Summary]) -> list[str]:
    """One screen: each paper, its marks, its central statements."""
    from tcpdynamics.paper_figures.statements import MARKS

    lines = []
    for name, summary in summaries.items():
        lines += _wrapped(f"{name}: {summary.paper.says}", rest="  ")
        lines += _wrapped(summary.marks_in_words, "  ")
        for one in summary.outcomes:
            if one.statement.weight == "central":
                lines += _wrapped(one.statement.says, f"  {SHORT.get(one.verdict, '?'):6}", " " * 8)
    legend = "if: under some readings of what a paper leaves open; no: under none; open: cannot be decided. "
    return lines + _wrapped(f"{legend}{MARKS}")


def _page(name: str, summaries: dict[str, Summary]) -> list[str]:
    """The page of a paper, a statement, a figure or a cell."""
    from tcpdynamics.paper_figures import ledger

    from .. import ledger_rows
    from .figures import lines_of

    if name in summaries:
        return _paper(summaries[name])
    for summary in summaries.values():
        for one in summary.outcomes:
            if one.statement.id == name:
                return _statement(one)
    drawn = [one.id for one in ledger.claims().values() if one.figure == name]
    recorded = ledger.recorded()["rows"]
    lines = []
    for cell in drawn or [ledger.get_claim(name).id]:
        lines += lines_of(ledger_rows.row(ledger.get_claim(cell), recorded.get(cell)), _width())
    return lines


def _paper(summary: Summary) -> list[str]:
    """A paper's statements, what failed on top of each weight."""
    from tcpdynamics.paper_figures.ledger import WEIGHTS

    lines = _wrapped(summary.paper.cite) + _wrapped(f"It says: {summary.paper.says}")
    lines += _wrapped(f"Marks: {summary.marks_in_words}.")
    lines += _wrapped(f"Statements that hold under one joint reading: {summary.readings_in_words}.")
    for weight in WEIGHTS:
        lines += ["", weight]
        for one in (one for one in summary.in_order if one.statement.weight == weight):
            lines += _wrapped(f"{one.statement.id}: {one.statement.says}", f"  {one.verdict or '?':22}", " " * 24)
            if one.condition:
                lines += _wrapped(one.condition, " " * 24)
    return lines


def _statement(came: Outcome) -> list[str]:
    """A statement, its joint readings and its cells."""
    from tcpdynamics.paper_figures import ledger

    from .. import ledger_rows

    one = came.statement
    lines = _wrapped(f"{one.id}: {one.says}", rest="  ")
    words = {
        "verdict": (came.verdict or ledger_rows.NOT_YET) + (f": {came.condition}" if came.condition else ""),
        "weight": f"{one.weight} {one.kind}", "not printed": one.missing,
    }  # fmt: skip
    for word, text in words.items():
        if text:
            lines += _wrapped(text, f"  {word:12}", " " * 14)
    if len(came.readings) > 1:
        lines += ["", "joint readings"]
        for name, verdict in came.readings:
            lines += _wrapped(name, f"  {verdict or '?':22}", " " * 24)
    lines += ["", "cells"]
    recorded = ledger.recorded()["rows"]
    for cell in one.cells:
        row = ledger_rows.row(ledger.get_claim(cell), recorded.get(cell))
        numbers = [row[key] for key in ("packets", "model") if row[key] != ledger_rows.NONE][:1]
        lines += _wrapped(f"{cell}: {row['quantity']}", f"  {row['verdict']:22}", " " * 24)
        lines += _wrapped("; ".join([f"published {row['published']}", *(f"here {x}" for x in numbers)]), " " * 24)
    return lines


def _print_json(names: tuple[str, ...], summaries: dict[str, Summary]) -> None:
    """Rows of cells with their decisions; of a paper or of all, with statements and marks."""
    from tcpdynamics.paper_figures import ledger

    from .. import ledger_rows

    recorded = ledger.recorded()["rows"]
    by_statement = {one.statement.id: one for summary in summaries.values() for one in summary.outcomes}

    def rows(cells: Any) -> list[dict[str, Any]]:
        return [
            ledger_rows.row(ledger.get_claim(cell), recorded.get(cell)) | {"decision": recorded.get(cell)}
            for cell in cells
        ]

    chosen: list[str] = []
    for name in (name.replace("-", "_") for name in names):
        paper, statement = summaries.get(name), by_statement.get(name)
        drawn = [one.id for one in ledger.claims().values() if one.figure == name]
        chosen += paper.order if paper else statement.statement.cells if statement else drawn
        if not paper and not statement and not drawn:
            chosen.append(ledger.get_claim(name).id)
    every = [name for summary in summaries.values() for name in summary.order]
    click.echo(json.dumps(rows(chosen or every), indent=2))
