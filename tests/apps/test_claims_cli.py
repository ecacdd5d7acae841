"""`tcpdynamics claims`: one screen, then a paper, a statement, a cell; nothing is wider than the terminal."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from marks import marks_by_the_sentence

from tcpdynamics.paper_figures import ledger
from tcpdynamics.paper_figures.papers import PAPERS
from tcpdynamics.paper_figures.statements import KINDS_IN_WORDS, NOT_YET


def test_printed_marks_follow_from_the_printed_verdicts(answer: Any) -> None:
    """The page of a paper: its marks from its lists, by the sentence."""
    for paper in ledger.ledger().papers:
        text = answer("claims", paper)
        printed, weight = [], ""
        for line in text.splitlines():
            if line in ledger.WEIGHTS:
                weight = line
            elif found := re.match(rf"  (\S.{{21}})({paper}\.\w+):", line):
                printed.append(
                    (weight, ledger.ledger().statements[found[2]].kind, found[1].strip().replace(NOT_YET, ""))
                )
        assert len(printed) == sum(one.paper == paper for one in ledger.ledger().statements.values())
        marks = ", ".join(
            f"{KINDS_IN_WORDS[k]} {a} of {b}" for k, (a, b) in marks_by_the_sentence(printed).items() if b
        )
        marks = marks if any(verdict for _, _, verdict in printed) else NOT_YET
        assert marks in re.sub(r"\s+", " ", text)


def test_names_of_every_depth_are_taken_and_others_refused(answer: Any, refused: Any) -> None:
    for name, count in {"leap": len(ledger.claims("leap")), "leap.times": 3, "leap.fig8.higher.reno.3_00": 1}.items():
        assert len(json.loads(answer("claims", name, "--json"))["cells"]) == count
    whole = json.loads(answer("claims", "--json"))
    assert [one["id"] for one in whole["statements"]] == list(ledger.ledger().statements)
    assert {one["id"] for one in whole["cells"]} == set(ledger.claims()) and set(whole["papers"]) == set(PAPERS)
    keys = {key for one in whole["cells"] for key in [*one, *(one["decision"] or ())]}
    assert "interpretations" in keys and not any("reading" in key for key in keys)
    sentence = refused("claims", "leap.unharmd")
    assert "no paper, statement, figure or claim 'leap.unharmd' (did you mean 'leap.unharmed'?)" in sentence


@pytest.mark.parametrize("columns", [60, 80, 110, 200])
def test_no_line_of_the_command_is_wider_than_the_terminal(answer: Any, monkeypatch: Any, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    overview = answer("claims").splitlines()
    assert columns < 80 or len(overview) <= 40
    assert all(one.says in re.sub(r"\s+", " ", " ".join(overview)) for one in ledger.ledger().papers.values())
    for names in ("leap", "mtcp", "leap.table1", "sub_packet.active", "logistic.fig5.constant.30"):
        overview += answer("claims", names).splitlines()
    assert max(map(len, overview)) <= columns


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["claims", ""], "there is no paper, statement, figure or claim ''"),
        (["figures", "--decide"], "--decide needs the name of a claim"),
        (["figures", "leap.table1", "--decide"], "leap.table1 is a statement; name one of its cells"),
    ],
)
def test_names_that_decide_nothing_are_refused_in_a_sentence(refused: Any, words: list[str], sentence: str) -> None:
    assert sentence in refused(*words)


def test_decide_says_which_reading_it_used_within_the_width(answer: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    lines = answer("figures", "leap.sec4.right.3_50", "--decide").splitlines()
    assert "1 interpretation (nodes alike, limited transmit with" in " ".join(line.strip() for line in lines)
    assert max(map(len, lines)) <= 70
