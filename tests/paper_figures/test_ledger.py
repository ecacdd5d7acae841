"""The ledger: every claim has a verdict by its rule, rules are sealed, and what is recorded belongs to the claims."""

from __future__ import annotations

import math
import re
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcpdynamics.errors import ScenarioError
from tcpdynamics.paper_figures import all_findings, ledger, rules
from tcpdynamics.paper_figures.deciding import decide, measured, prediction
from tcpdynamics.paper_figures.experiments import experiments, run
from tcpdynamics.paper_figures.ledger import LedgerError, read_ledger
from tcpdynamics.paper_figures.registry import figures
from tcpdynamics.paper_figures.rules import FAILS, HOLDS, OPEN, RULES, VERDICTS, Interval, Range
from tcpdynamics.paper_figures.whole import Whole, decide_all

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "paper_figures/claims.toml"
NUMBERS = st.floats(-1e6, 1e6)


@pytest.fixture(scope="module")
def tiny() -> Whole:
    """The whole ledger at the tiny setting."""
    return decide_all("tiny")


def test_every_claim_has_a_verdict(tiny: Whole) -> None:
    assert list(tiny.decisions) == list(ledger.claims())
    for name, one in tiny.decisions.items():
        assert one.verdict in VERDICTS, name
        number = one.model if one.packets is None else one.packets
        assert number is not None and math.isfinite(number.mean), f"{name} has no number"


def test_every_experiment_and_finding_decides_or_explains_something() -> None:
    claims = ledger.claims().values()
    assert {c.experiment for c in claims} - {""} == set(experiments())
    assert {c.finding for c in claims} - {""} <= set(all_findings())


def test_every_claim_names_a_figure_that_there_is() -> None:
    known = figures()
    for claim in ledger.claims().values():
        assert not claim.figure or (claim.figure in known and claim.figure.startswith(f"{claim.paper}.")), claim.id


def test_predictions_are_numbers() -> None:
    for claim in ledger.claims().values():
        if claim.model:
            number = prediction(claim)
            assert number is not None and math.isfinite(number.mean), claim.id


def test_the_seal_is_that_of_the_rules() -> None:
    book = ledger.ledger()
    assert book.sealed == ledger.seal(book.claims.values()), "rules changed: say so in the claim's note, and seal anew"


def test_the_rules_are_those_of_the_commit_that_fixed_them() -> None:
    """Where there is a repository; a claim that is newer, or changed, says so in its note."""
    book = ledger.ledger()
    done = subprocess.run(
        ["git", "-C", str(ROOT), "show", f"{book.committed}:paper_figures/claims.toml"],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        return  # a source without its history
    table = tomllib.loads(done.stdout.decode())
    before = {name: facts for group in table["groups"] for name, facts in _first_form(group)}
    for name, claim in book.claims.items():
        same = name in before and before[name] == claim.deciding()
        assert same or claim.note, f"{name} differs from commit {book.committed} and has no note"


def _first_form(group: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """All that decides the claims of a group, as the file had them before statements."""
    defaults = {f.name: f.default_factory() if callable(f.default_factory) else f.default for f in fields(ledger.Claim)}
    for claim in group["claims"]:
        facts = group | claim
        for name in ("case", "compared_with", "arguments"):
            if name in group and name in claim:
                facts[name] = group[name] | claim[name]
        yield f"{group['paper']}.{claim['id']}", {key: facts.get(key, defaults[key]) for key in ledger.DECIDES}


def test_what_is_recorded_belongs_to_the_claims() -> None:
    recorded, known = ledger.recorded(), ledger.claims()
    assert set(recorded["rows"]) == set(known)
    reasons = ledger.reasons()
    assert set(reasons) - {"ours"} <= set(known)
    for name, one in recorded["rows"].items():
        if one["verdict"] == FAILS:
            assert reasons[name]["reason"] and reasons[name]["run"], f"{name} does not hold, for no reason"
    for one in reasons["ours"]:
        assert one["paper"] in ledger.ledger().papers and one["said"] and one["true"] and one["run"]


def test_reasons_name_runs_that_are_there_and_every_finding_decides_or_explains_a_claim() -> None:
    reasons = ledger.reasons()
    several = [*reasons.pop("ours"), *reasons.values()]
    named = {
        w for one in several for w in re.findall(rf"\b(?:{'|'.join(ledger.ledger().papers)})\.[\w.]*\w", one["run"])
    }
    found = set(all_findings())
    assert named <= found | set(experiments()) | set(figures()) | set(ledger.claims())
    assert found <= named | {one.finding for one in ledger.claims().values()}


@pytest.mark.parametrize("name", experiments())
def test_scenarios_can_be_made_in_all_cases_and_readings(name: str) -> None:
    experiment = experiments()[name]
    assert experiment.path.is_file() and experiment.about
    first = experiment.reading_labels(1)[0]
    for case in experiment.case_labels():
        experiment.build(case, first)
    case = experiment.case_labels()[0]
    for setting in ("tiny", "quick", "full"):
        for reading in experiment.reading_labels(experiment.setting(setting).readings):
            experiment.build(case, reading, setting)


def test_readings_of_a_shorter_setting_are_among_those_of_a_longer() -> None:
    for experiment in experiments().values():
        every = experiment.reading_labels()
        for count in range(1, len(every) + 1, 7):
            assert experiment.reading_labels(count) == every[:count]
        assert len(set(every)) == len(every)


@given(NUMBERS, st.floats(0, 1e3), NUMBERS, st.floats(0, 1e3), st.sampled_from(RULES[1:]))
def test_a_verdict_follows_from_where_an_interval_lies(
    centre: float, half: float, published: float, slack: float, rule: str
) -> None:
    measured = Interval(centre, centre - half, centre + half, 5)
    within = Range.of(published, slack, 0.0)
    verdict = rules.verdict(rule, within, measured)
    apart = measured.high < within.low or measured.low > within.high
    assert (verdict == FAILS) == apart
    if rule == rules.MEAN:
        inside = within.low <= measured.low and measured.high <= within.high
        assert (verdict == HOLDS) == inside and (verdict == OPEN) == (not inside and not apart)


@given(st.lists(st.sampled_from([HOLDS, FAILS, OPEN]), min_size=1, max_size=30))
def test_readings_make_one_verdict_whatever_their_order(verdicts: list[str]) -> None:
    verdict, share = rules.over_readings(verdicts)
    assert rules.over_readings(verdicts[::-1]) == (verdict, share) and 0 <= share <= 1
    assert (verdict == HOLDS) <= (FAILS not in verdicts) and (verdict == FAILS) <= (HOLDS not in verdicts)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20), st.floats(-900, 900))
def test_readings_on_both_sides_decide_nothing(means: list[float], published: float) -> None:
    within = rules.Range(published - 1, published + 1)
    fails = [m for m in means if not within.holds(m)] or [published + 2]
    verdict, _ = rules.over_readings([FAILS] * len(fails), fails, within)
    assert (verdict == OPEN) == (min(fails) < published < max(fails))
    assert rules.over_readings([FAILS, FAILS], [-1.0, 5.0], rules.Range(low=0.0))[0] == FAILS  # no upper end


def test_the_record_follows_the_rules_over_readings() -> None:
    several = 0
    for name, row in ledger.recorded()["rows"].items():
        claim = ledger.get_claim(name)
        if row["readings"] and claim.experiment:
            means = [math.nan if mean is None else mean for _, _, mean in row["readings"]]
            verdicts = [verdict for _, verdict, _ in row["readings"]]
            assert rules.over_readings(verdicts, means, claim.range)[0] == row["verdict"], name
            several += 1
    assert several > 200


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20), st.integers(1, 20))
def test_one_more_run_is_less_certain_than_the_mean(values: list[float], runs: int) -> None:
    mean, more = rules.interval(values), rules.interval(values, runs)
    assert more.low <= mean.low <= mean.high <= more.high


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "rule": ({"rule": "guess"}, "rule must be one of exact, mean, one more run"),
    "key": ({"publishd": 1}, "key 'publishd' is not known (did you mean 'published'?)"),
    "bound": ({"published": {"about": 1}}, "published must be a number, or bounds among least, most, above, below"),
    "model": ({"decided_by": "model"}, "rule must be exact for a model"),
    "number of numbers": ({"each": {"a": ["x", "y"]}, "printed": [1.0]}, "printed has 1 of 2 numbers"),
    "form": ({"form": "ratio"}, "form must be one of ratio, difference where compared_with is there"),
    "experiment": ({"experiment": ""}, "experiment must be there for packets"),
    "rounding": ({"rounding": -1.0}, "rounding, tolerance >= 0"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_cannot_be_is_refused_by_claim_and_key(case: str) -> None:
    changes, message = BAD[case]
    one = {
        "id": "a.b", "place": "Table 1", "quantity": "x", "published": 1.0, "unit": "1", "rule": "mean", "value": "x",
        "decided_by": "packets", "experiment": "leap.star",
    } | changes  # fmt: skip
    table = {
        "ledger": {"committed": "", "sealed": ""}, "papers": {"leap": {"title": "x", "says": "x", "cite": "x"}},
        "statements": [{"id": "leap.a", "says": "x", "weight": "central", "kind": "number", "cells": [one]}],
    }  # fmt: skip
    with pytest.raises(LedgerError) as refusal:
        read_ledger(table)
    assert message in str(refusal.value) and "leap.a.b" in str(refusal.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weight": "heavy"}, "weight must be one of central, supporting, arithmetic, got 'heavy'"),
        ({"kind": "table"}, "kind must be one of derivation, direction, number, got 'table'"),
        ({"cells": []}, "cells must have a row at least"),
        ({"id": "nobody.a"}, "paper 'nobody' is not known"),
        ({"says": None}, "says missing"),
    ],
)
def test_a_statement_that_cannot_be_is_refused(changes: dict[str, Any], message: str) -> None:
    cell = {"id": "b", "place": "x", "quantity": "x", "published": 1.0, "rule": "exact", "value": "x", "finding": "x"}
    one = {"id": "leap.a", "says": "x", "weight": "central", "kind": "number", "cells": [cell]} | changes
    table = {
        "ledger": {"committed": "", "sealed": ""}, "papers": {"leap": {"title": "x", "says": "x", "cite": "x"}},
        "statements": [{key: fact for key, fact in one.items() if fact is not None}],
    }  # fmt: skip
    with pytest.raises(LedgerError) as refusal:
        read_ledger(table)
    assert message in str(refusal.value)


def test_results_are_the_same_whoever_runs_them_and_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed in the middle, and taken up again: the same numbers."""
    from concurrent.futures import ThreadPoolExecutor

    from tcpdynamics.paper_figures import experiments as module

    def reno(case: Any) -> bool:
        return bool(case == {"sender": "Reno", "density": "2.50"})

    whole = run("leap.star", "tiny", cases=reno)
    calls = 0
    work = module._run

    def killed(*words: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise ScenarioError("killed")
        return work(*words)

    store = tmp_path / "a.zarr"
    monkeypatch.setattr(module, "_run", killed)
    with ThreadPoolExecutor(1) as pool, pytest.raises(Exception, match="killed"):
        run("leap.star", "tiny", cases=reno, store=store, executor=pool)
    monkeypatch.undo()
    assert run("leap.star", "tiny", cases=reno, store=store).equals(whole)


def test_what_a_judge_lacks_is_left_empty(tiny: Whole) -> None:
    for claim in ledger.claims().values():
        if claim.experiment:
            data = tiny.results[claim.experiment]
            without = decide(claim, "tiny", data=data, ns2=data.where(False), linux=data.where(False))
            assert without.ns2 is None and without.linux is None
    one = ledger.get_claim("sub_packet.fig3.locked_out")
    data = tiny.results[one.experiment]
    beside = decide(one, "tiny", data=data, ns2=data, linux=data)
    assert beside.ns2 is not None and beside.linux == beside.ns2


def test_a_value_is_over_readings_and_replications(tiny: Whole) -> None:
    for claim in ledger.claims().values():
        if claim.experiment:
            assert measured(claim, tiny.results[claim.experiment]).dims == ("reading", "replication")
