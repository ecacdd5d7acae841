"""The list of mutants fits the source; a few of them, run, turn the ledger."""

from __future__ import annotations

import json
import tomllib
from collections import Counter

import mutants
import pytest

from tcpdynamics.paper_figures import ledger
from tcpdynamics.paper_figures.experiments import get_experiment
from tcpdynamics.paper_figures.statements import COUNTED

EVERY = mutants.mutants()
#: One a paper that a model's claims notice, within seconds.
CHEAP = (
    "idle time without its p", "the equation has twice the gain", "gains of (1, 0.5)",
    "links of bytes instead of bits",
    "estimates step by all of the error",
)  # fmt: skip


@pytest.mark.parametrize("mutant", EVERY, ids=lambda m: m.name)
def test_each_mutant_breaks_one_place_and_names_statements(mutant: mutants.Mutant) -> None:
    mutants.check(mutant)
    known = ledger.ledger().statements
    assert mutant.statements and set(mutant.statements) <= set(known)
    cells = [ledger.get_claim(cell) for name in mutant.statements for cell in known[name].cells]
    used = [get_experiment(name) for name in {c.experiment for c in cells} - {""}]
    for axis, labels in mutant.instead.items():
        known_labels = {label for one in used for label in one.cases.get(axis, {})}
        assert {*labels, *labels.values()} <= known_labels, (mutant.name, axis)


def test_each_statement_that_counts_has_a_mutant_or_is_insensitive() -> None:
    counted = {name for name, one in ledger.ledger().statements.items() if one.weight in COUNTED}
    named, insensitive = {name for m in EVERY for name in m.statements}, set(mutants.insensitive())
    assert counted <= named | insensitive and insensitive <= counted


def test_there_are_enough_and_each_paper_has_some() -> None:
    assert len(EVERY) >= 60 and len({m.name for m in EVERY}) == len(EVERY)
    counts = Counter(m.paper for m in EVERY)
    assert set(counts) == set(ledger.ledger().papers) and min(counts.values()) >= 8


def test_what_came_out_is_of_mutants_in_the_list_and_stands_in_the_docs() -> None:
    known = json.loads((mutants.ROOT / "tests" / "mutants.json").read_text(encoding="utf-8"))["mutants"]
    by_name = {m.name: m for m in EVERY}
    assert {name: one["digest"] for name, one in known.items()} == {name: by_name[name].digest for name in known}
    counts = mutants.summary(known).partition("; not")[0]
    docs = (mutants.ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert ledger.sensitivity() == mutants.sensitivity(known)
    assert f"{len(known)} of the {len(EVERY)}" in docs and counts in docs


def test_each_of_the_audits_draws_and_mutants_is_answered() -> None:
    audit = tomllib.loads((mutants.ROOT / "paper_figures" / "audit.toml").read_text(encoding="utf-8"))
    first = json.loads((mutants.ROOT / "paper_figures" / "first_record.json").read_text(encoding="utf-8"))
    assert Counter(one["judged"] for one in audit["draws"]) == {"right": 35, "doubtful": 14, "wrong": 11}
    assert len({one["entry"] for one in audit["draws"]} & set(first)) == 60
    known = set(ledger.claims()) | set(ledger.ledger().statements)
    assert all(set(one["now"]) <= known and one["answer"] for one in audit["draws"])
    new = audit["new_draws"]
    assert Counter(one["entry"].partition(".")[0] for one in new) == dict.fromkeys(ledger.ledger().papers, 12)
    assert {one["entry"] for one in new} <= set(ledger.claims()) and all(one["why"] for one in new)
    assert Counter(one["judged"] for one in new) == {"right": 54, "doubtful": 6}
    assert all(("answer" in one) == (one["judged"] != "right") for one in new)
    assert {one["now"] for one in audit["mutants"]} <= {m.name for m in EVERY} and len(audit["mutants"]) == 8


@pytest.mark.slow
def test_cheap_mutants_are_noticed(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = mutants.copied(tmp_path_factory.mktemp("mutants") / "source")
    chosen = [m for m in EVERY if m.name in CHEAP]
    assert len(chosen) == len(CHEAP)
    for mutant in chosen:
        assert mutants.decided(root, mutant.statements) != mutants.broken(mutant, root), mutant.name
