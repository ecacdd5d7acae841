"""The list of mutants fits the source; a few of them, run, turn the ledger."""

from __future__ import annotations

from collections import Counter

import mutants
import pytest

from tcpdynamics.paper_figures import ledger
from tcpdynamics.paper_figures.experiments import get_experiment
from tcpdynamics.paper_figures.statements import COUNTED

EVERY = mutants.mutants()
#: One a paper that a model's claims notice, within seconds.
CHEAP = (
    "idle time without its p", "the map forgets K", "the multiplier has a sign wrong",
    "links of bytes instead of bits",
    "the round trip takes steps half as large",
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


@pytest.mark.slow
def test_cheap_mutants_are_noticed(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = mutants.copied(tmp_path_factory.mktemp("mutants") / "source")
    chosen = [m for m in EVERY if m.name in CHEAP]
    assert len(chosen) == len(CHEAP)
    for mutant in chosen:
        assert mutants.decided(root, mutant.statements) != mutants.broken(mutant, root), mutant.name
