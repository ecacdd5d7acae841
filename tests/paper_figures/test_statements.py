"""Statements: one and the same reading bears out all cells, or the statement does not hold; marks count statements."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from marks import marks_by_the_sentence, verdict_by_the_sentence

from tcpdynamics.paper_figures import ledger, statements
from tcpdynamics.paper_figures.experiments import experiments
from tcpdynamics.paper_figures.rules import CONDITIONS, FAILS, HOLDS, OPEN
from tcpdynamics.paper_figures.statements import COUNTED, MARKS, Outcome, outcome

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))
import tables  # noqa: E402

VERDICTS = st.sampled_from([HOLDS, FAILS, OPEN])
#: Statements of one experiment, with several cells and more readings than two.
SEVERAL = [
    one
    for one in ledger.ledger().statements.values()
    if len(one.cells) > 1
    and not any(ledger.get_claim(cell).calibrates for cell in one.cells)
    and len({ledger.get_claim(c).experiment for c in one.cells}) == 1
    and ledger.get_claim(one.cells[0]).experiment
    and len(experiments()[ledger.get_claim(one.cells[0]).experiment].reading_labels()) > 2
]


def rows_of(cells: tuple[str, ...], table: list[list[str]], names: list[str]) -> dict[str, dict[str, Any]]:
    """Decisions whose verdicts are `table`: reading by reading, cell by cell; every number another."""
    experiment = experiments()[ledger.get_claim(cells[0]).experiment]
    labels = [experiment.readings_by_name()[name] for name in names]
    return {
        cell: {
            "verdict": "",
            "labels": labels,
            "readings": [
                [name, row[i], float(100 * r + i)] for r, (name, row) in enumerate(zip(names, table, strict=True))
            ],
        }
        for i, cell in enumerate(cells)
    }


def drawn(data: Any, shortest: int = 1) -> tuple[Any, list[list[str]], list[str]]:
    """A statement with drawn verdicts, under the first readings of its experiment."""
    one = data.draw(st.sampled_from(SEVERAL))
    experiment = experiments()[ledger.get_claim(one.cells[0]).experiment]
    names = [experiment.reading_name(labels) for labels in experiment.reading_labels()]
    count = data.draw(st.integers(shortest, min(len(names), 6)))
    width = len(one.cells)
    table = data.draw(st.lists(st.lists(VERDICTS, min_size=width, max_size=width), min_size=count, max_size=count))
    return one, table, names[:count]


@given(st.data())
def test_a_statement_holds_only_where_one_reading_bears_out_all_cells(data: Any) -> None:
    one, table, names = drawn(data)
    came = outcome(one, rows_of(one.cells, table, names))
    borne_out = [name for name, row in zip(names, table, strict=True) if set(row) == {HOLDS}]
    failed = [name for name, row in zip(names, table, strict=True) if FAILS in row]
    if came.verdict in (HOLDS, CONDITIONS):
        assert borne_out and (came.verdict == HOLDS) == (not failed)
    if came.verdict == FAILS:
        assert not borne_out and failed
    assert (came.verdict == OPEN) >= (2 * (len(borne_out) + len(failed)) < len(table))
    assert bool(came.condition) == (came.verdict == CONDITIONS)


def test_an_axis_has_one_label_in_all_cells_of_a_joint_reading() -> None:
    """Two cells of which one has an axis more: each joint reading is a reading of both."""
    one = next(s for s in ledger.ledger().statements.values() if len(statements.deciding_cells(s)) == 2)
    first, second = statements.deciding_cells(one)
    rows = {
        first: {"verdict": "", "readings": [["", HOLDS, 1.0], ["", FAILS, 2.0]], "labels": [{"a": "1"}, {"a": "2"}]},
        second: {
            "verdict": "", "readings": [["", HOLDS, 1.0], ["", FAILS, 2.0], ["", HOLDS, 3.0]],
            "labels": [{"a": "1", "b": "x"}, {"a": "1", "b": "y"}, {"a": "2", "b": "x"}],
        },
    }  # fmt: skip
    came = outcome(one, rows)
    verdicts = [verdict for _, verdict in came.readings]
    assert list(came.labels) == [{"a": "1", "b": "x"}, {"a": "1", "b": "y"}, {"a": "2", "b": "x"}]
    assert verdicts == [HOLDS, FAILS, FAILS] and came.verdict == CONDITIONS
    assert came.condition == 'where a is "1", b is "x"'


def test_the_best_joint_reading_is_no_worse_than_the_first_and_the_worst_no_better() -> None:
    for summary in statements.summaries().values():
        assert summary.worst[0] <= summary.first[0] <= summary.best[0]
        assert all(held <= decided for held, decided in (summary.first, summary.best, summary.worst))


@given(st.data())
def test_a_cell_more_that_fails_takes_the_verdict_down(data: Any) -> None:
    one, table, names = drawn(data)
    worse = [[FAILS, *row[1:]] for row in table]
    assert outcome(one, rows_of(one.cells, worse, names)).verdict in (FAILS, OPEN)


def test_a_statement_without_a_decision_has_no_verdict() -> None:
    for one in ledger.ledger().statements.values():
        assert outcome(one, {}).verdict == ""


def test_conditions_tell_the_readings_that_hold_from_those_that_do_not() -> None:
    """By the words of the condition alone: each reading that holds has a part of it whole, none that fails has."""
    count = 0
    for came in [one for summary in statements.summaries().values() for one in summary.outcomes]:
        if not came.condition.startswith("where "):
            continue
        parts = [part.split(", ") for part in came.condition.removeprefix("where ").split("; or ")]
        for labels, (_, verdict) in zip(came.labels, came.readings, strict=True):
            words = ", ".join(statements.label_in_words(axis, label) for axis, label in sorted(labels.items()))
            if verdict != OPEN:
                borne_out = any(all(word in words for word in part) for part in parts)
                assert borne_out == (verdict == HOLDS), (came.statement.id, words)
                count += 1
    assert count > 20 or not ledger.recorded()["rows"]


#: Axes of one word that pages have, too.
PLAIN = {"RTTs", "senders", "transfers", "equations", "buffer", "handshake", "links"}


def test_conditions_name_what_is_open_in_words_of_the_pages() -> None:
    """No letter of a paper and no name of a setting stands alone; such a letter follows its words, in parentheses."""
    axes = {axis for row in ledger.recorded()["rows"].values() for one in row.get("labels", ()) for axis in one}
    assert len(axes) > 40 and statements.AXES.keys() <= axes
    for axis in sorted(axes):
        name, verb = re.split('( is| are) "', statements.label_in_words(axis, "x"))[:2]
        assert verb == " is" or axis not in statements.AXES
        assert name in PLAIN or " " in name, name
        assert not re.search(r"_|\b(beta|Upsilon|floor)\b", re.sub(r"\(.*?\)", "", name)), name


@pytest.mark.parametrize("paper", ledger.ledger().papers)
def test_statements_and_their_cells_are_those_of_the_file(paper: str) -> None:
    book = ledger.ledger()
    cells = [cell for one in book.statements.values() if one.paper == paper for cell in one.cells]
    assert cells == list(ledger.claims(paper)) and len(set(cells)) == len(cells)
    central = [one for one in book.statements.values() if one.paper == paper and one.weight == "central"]
    assert 3 <= len(central) <= 5  # the first screen has forty lines
    assert all(book.claims[cell].statement == one.id for one in book.statements.values() for cell in one.cells)


# ---- marks ------------------------------------------------------------------------------------------------------


@given(st.data())
def test_marks_are_those_of_the_printed_sentence(data: Any) -> None:
    every = list(ledger.ledger().statements.values())
    chosen = data.draw(st.lists(st.sampled_from(every), max_size=30))
    verdict = st.sampled_from([HOLDS, CONDITIONS, FAILS, OPEN, ""])
    outcomes = [Outcome(one, data.draw(verdict)) for one in chosen]
    printed = [(one.statement.weight, one.statement.kind, one.verdict) for one in outcomes]
    assert statements.marks(outcomes) == marks_by_the_sentence(printed)
    assert set(COUNTED) == set(ledger.WEIGHTS) - {"arithmetic"}


@pytest.mark.parametrize("name", ledger.ledger().statements)
def test_verdicts_are_those_of_the_printed_sentence(name: str) -> None:
    """From the joint readings of the record, as the command prints them."""
    rows = ledger.recorded()["rows"]
    came = outcome(ledger.ledger().statements[name], rows)
    sides = statements._may_lie_between(statements.deciding_cells(came.statement), rows)
    if came.verdict:
        assert came.verdict == verdict_by_the_sentence([verdict for _, verdict in came.readings], sides)


def _claims_page() -> str:
    """The page with the table that the build writes into it."""
    text = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    return text.replace("```{include} reference/written/parts/marks.inc", "\n".join(tables.marks()))


def test_the_docs_have_the_sentence_and_the_marks_of_the_record() -> None:
    text = _claims_page()
    assert MARKS in text
    for name, summary in statements.summaries().items():
        if name not in ledger.recorded()["made"]:
            assert f"| {summary.paper.title} | not run yet" in text
            continue
        cells = " | ".join(f"{held} of {of}" for held, of in summary.marks.values())
        joint = " | ".join(f"{held} of {of}" for held, of in (summary.first, summary.best, summary.worst))
        assert f"| {summary.paper.title} | {cells} | {joint} |" in text


def test_the_docs_count_cells_and_those_of_ns2_as_the_record_has_them() -> None:
    text = _claims_page()
    rows = ledger.recorded()["rows"]
    counts = Counter(row["verdict"] for row in rows.values())
    hold, conditions, fail, undecided = (counts[verdict] for verdict in (HOLDS, CONDITIONS, FAILS, OPEN))
    assert f"Of {len(rows)} cells {hold} hold, {conditions} hold with conditions, {fail} do not hold" in text
    assert f"and {undecided} cannot be decided" in text
    by_paper = Counter(ledger.get_claim(name).paper for name, row in rows.items() if row["ns2"])
    names = {"sub_packet": "sub-packet", "logistic": "logistic", "t_refwa": "T-REFWA", "leap": "LEAP", "mtcp": "M/TCP"}
    listed = ", ".join(f"{name} {by_paper[paper]}" for paper, name in names.items())
    assert f"{by_paper.total()} cells ({listed})" in text


def test_the_docs_count_the_cells_in_which_ns2_agrees_with_the_first_reading() -> None:
    """Where the number on show is of another reading, by the mean of the first, which ns-2's interval holds or not."""
    text = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    apart = []
    for name, row in ledger.recorded()["rows"].items():
        if row["ns2"]:
            first = row["readings"][0] if row["readings"] else ["", "", row["packets"]["mean"]]
            half = row["packets"]["high"] - row["packets"]["mean"] if row["shown"] in ("", first[0]) else 0.0
            near = row["ns2"]["low"] - half - 1e-9 <= first[2] <= row["ns2"]["high"] + half + 1e-9
            apart += [] if near else [name]
    known = {"sub_packet.fig5.ten.100"}  # by its own interval, which the record lacks, it agrees
    assert {name.partition(".")[0] for name in set(apart) - known} == {"logistic"}
    cells = sum(row["ns2"] is not None for row in ledger.recorded()["rows"].values())
    assert len(set(apart) - known) == 6 and f"{cells - 6} cells agree" in text
