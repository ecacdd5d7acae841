"""The ledger: every claim has a verdict by its rule, rules are sealed, and what is recorded belongs to the claims."""

from __future__ import annotations

import math
import re
import subprocess
import tomllib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from explorer_tabs import FRACTION
from hypothesis import given
from hypothesis import strategies as st

from tcpdynamics.errors import ScenarioError
from tcpdynamics.paper_figures import all_findings, ledger, protocol, reasons, record, rules
from tcpdynamics.paper_figures.deciding import beside, decide, measured, prediction, wanted_cases
from tcpdynamics.paper_figures.experiments import experiments, get_experiment, run
from tcpdynamics.paper_figures.leap import measures as leap
from tcpdynamics.paper_figures.ledger import LedgerError, read_ledger
from tcpdynamics.paper_figures.papers import PAPERS
from tcpdynamics.paper_figures.registry import figures
from tcpdynamics.paper_figures.rules import FAILS, HOLDS, OPEN, RULES, VERDICTS, Interval, Range
from tcpdynamics.paper_figures.t_refwa.experiments import least_over_most
from tcpdynamics.paper_figures.whole import Whole, decide_all
from tcpdynamics.validation.packet import simulate

ROOT = Path(__file__).resolve().parents[2]
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


def test_a_fraction_is_marked_as_one() -> None:
    fractions = [
        one for one in ledger.claims().values() if one.unit == "1" and not one.form and FRACTION.match(one.quantity)
    ]
    assert len(fractions) > 80
    assert {one.id for one in fractions if not (one.percent or re.search(" over | less ", one.quantity))} == set()


def test_predictions_are_numbers() -> None:
    for claim in ledger.claims().values():
        if claim.model:
            number = prediction(claim)
            assert number is not None and math.isfinite(number.mean), claim.id


def test_the_seal_is_that_of_the_protocol() -> None:
    for paper, fixed in ledger.ledger().fixed.items():
        assert fixed["sealed"] == protocol.seal(paper), f"the protocol of {paper} changed: amend it, then seal it anew"


def test_the_seal_holds_the_code_of_each_rule_and_not_its_words() -> None:
    code = protocol.facts("leap")["code"]
    assert {module: set(names) for module, names in protocol.SEALED.items()} == {m: set(c) for m, c in code.items()}
    source = (ROOT / "paper_figures/rules.py").read_text(encoding="utf-8")
    for old, new, same in (("1 / n", "2 / n", False), ("Student's interval", "The interval", True)):
        assert source.count(old) == 1
        assert (protocol._code(source.replace(old, new), protocol.SEALED["rules"]) == code["rules"]) == same


def git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("paper", PAPERS)
def test_the_protocol_stood_before_the_record(paper: str) -> None:
    """Where there is a history: its commit holds the seal and no record, and the record was made by a later one."""
    fixed, made = ledger.ledger().fixed[paper], ledger.record(paper)["made"]
    last = fixed.get("amended", fixed["committed"])
    then = git("show", f"{last}:paper_figures/seal.toml")
    if then.returncode:
        return  # a source without its history
    after = any(one["after"] for one in protocol.amendments() if one["paper"] == paper)
    assert after == ("amended" in fixed) and tomllib.loads(then.stdout)[paper]["sealed"] == fixed["sealed"]
    assert not git("ls-tree", fixed["committed"], f"paper_figures/{paper}/recorded.json").stdout
    first, *added = [made["commit"], *(one["commit"] for one in made.get("added", ()))]
    assert git("merge-base", "--is-ancestor", fixed["committed"], first).returncode == 0
    assert git("merge-base", "--is-ancestor", last, (added or [first])[-1]).returncode == 0


def test_a_record_takes_claims_that_it_lacks_and_no_other_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for two claims of a finding it is as it was; it refuses where a rule of another one differs."""
    whole = ledger.record("leap")
    new = ("leap.sec52.again", "leap.sec52.timer")
    rows = {name: row for name, row in whole["rows"].items() if name not in new}
    made = whole["made"] | {"protocol": {"leap": protocol.seal("leap", new)}, "digest": ledger.digest(rows)}
    monkeypatch.setattr(record, "record", lambda paper: {"made": made, "rows": dict(rows)})
    (document,) = record._with_added("leap", (), Path(), ThreadPoolExecutor(1))
    assert list(document["rows"]) == list(whole["rows"]) and document["made"]["protocol"] == whole["made"]["protocol"]
    for name in new:
        assert document["rows"][name]["verdict"] == whole["rows"][name]["verdict"]
        assert document["rows"][name]["model"] == pytest.approx(whole["rows"][name]["model"])
    assert document["made"]["added"][-1]["claims"] == new and document["made"]["probes"] == whole["made"]["probes"]
    made["digest"] = "another"
    with pytest.raises(SystemExit, match=r"leap/recorded\.json holds other numbers than those that were recorded"):
        list(record._with_added("leap", (), Path(), ThreadPoolExecutor(1)))
    made |= {"digest": ledger.digest(rows), "protocol": {"leap": protocol.seal("leap", new[:1])}}
    with pytest.raises(SystemExit, match="more than new claims changed since leap was recorded"):
        list(record._with_added("leap", (), Path(), ThreadPoolExecutor(1)))
    monkeypatch.setattr(record, "record", lambda paper: whole)
    with pytest.raises(SystemExit, match="--added is for claims that leap's record lacks"):
        list(record._with_added("leap", (), Path(), ThreadPoolExecutor(1)))


def test_a_cell_looks_at_the_measure_of_its_case_and_compares_as_it_says(tiny: Whole) -> None:
    compared = 0
    for one in (c for c in ledger.claims().values() if c.experiment and c.value in tiny.results[c.experiment]):
        data = tiny.results[one.experiment][one.value]
        expected = data.sel(one.case).values
        if one.compared_with:
            other = data.sel(one.compared_with).values
            expected = expected - other if one.form == "difference" else expected / other
            compared += 1
        assert np.array_equal(measured(one, tiny.results[one.experiment]).values, expected, equal_nan=True), one.id
    assert compared > 100


def test_a_judge_has_no_number_where_it_lacks_a_measure(tiny: Whole) -> None:
    data, claim = tiny.results["sub_packet.chain"], ledger.get_claim("sub_packet.fig9.agreement")
    assert beside(claim, data) is not None and beside(claim, data.assign(distance=np.nan * data.distance)) is None


def test_a_judge_without_a_case_has_no_minimum_of_several(tiny: Whole) -> None:
    data, claim = tiny.results["t_refwa.one_link"], ledger.get_claim("t_refwa.fig2.greedy.oc3")
    assert beside(claim, data) is not None and beside(claim, data.where(data.protocol != "Westwood")) is None


def test_a_slip_in_a_file_is_one_sentence_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "star.toml"
    path.write_text("buffer = \n")
    with pytest.raises(ledger.LedgerError, match=r"star\.toml is not TOML: .*take it from git"):
        ledger.read_table(path)
    with pytest.raises(ValueError, match="setting must be one of tiny, quick, full, got 'fast'"):
        decide(ledger.get_claim("sub_packet.eq8.idle_time"), "fast")


def test_what_changed_since_the_first_protocol_is_amended() -> None:
    known = {*ledger.claims(), *ledger.ledger().statements, *experiments(), *protocol.first_record()}
    for one in protocol.amendments():
        assert date.fromisoformat(one["date"]) and one["old"] and one["new"] and one["why"]
        for pattern in one["claims"]:
            assert one["after"] or any(fnmatchcase(name, pattern) for name in protocol.first_record()), pattern
        for pattern in re.findall(rf"\b{one['paper']}\.[\w.*]*[\w*]", one["new"]):  # what an amendment names is there
            assert any(fnmatchcase(name, pattern) for name in known), pattern
    gone = set(protocol.first_record()) - set(ledger.claims())
    patterns = [pattern for one in protocol.amendments() for pattern in one["claims"]]
    assert [name for name in gone if not any(fnmatchcase(name, pattern) for pattern in patterns)] == []


def test_the_record_is_of_the_protocol_and_the_code_of_today(tiny: Whole) -> None:
    """Numbers of the tiny setting, and those of models, are those that stood when the record was made."""
    recorded, known = ledger.recorded(), ledger.claims()
    assert protocol.changed() == []
    papers = recorded["made"]  # others are not run yet
    assert set(recorded["rows"]) == {name for name, one in known.items() if one.paper in papers}
    for name, numbers in protocol.probes(tiny.results).items():
        paper = name.partition(".")[0]
        if paper in papers:
            assert numbers == pytest.approx(papers[paper]["probes"][name], rel=1e-9, nan_ok=True), name
    for name, one in tiny.decisions.items():
        if known[name].decided_by == ledger.MODEL and name in recorded["rows"]:
            then = recorded["rows"][name]
            assert one.verdict == then["verdict"], name
            assert one.model is None or one.model.mean == pytest.approx(then["model"]["mean"], rel=1e-6, abs=1e-9), name


def test_numbers_of_reasons_are_those_of_the_record() -> None:
    rows, known = ledger.recorded()["rows"], ledger.ledger().statements
    assert rows or not reasons.reasons()
    for name, one in reasons.reasons().items():
        assert name in known and one.kind in ("reading", "erratum", "itself", "scale", "packets")
        for place, evidence in one.numbers.items():
            assert evidence.least <= evidence.value(rows) <= evidence.most, (name, place, evidence.value(rows))
        assert one.numbers, f"the reason of {name} names no number"
    for paper in ledger.ledger().papers:
        assert all(one["said"] and one["true"] and one["run"] for one in reasons.ours(paper))


def ran(name: str, case: tuple[str, ...], changes: Mapping[str, Any], open_: Mapping[str, str] | None = None) -> Any:
    """A run of an experiment's case with changes, under its first interpretation but for the labels given."""
    one = get_experiment(name)
    cases = {axis: {label: {**was, **changes} for label, was in labels.items()} for axis, labels in one.cases.items()}
    labels = tuple((open_ or {}).get(axis, next(iter(several))) for axis, several in one.readings.items())
    return simulate(replace(one, cases=cases).build(case, labels))


@pytest.mark.slow
def test_t_refwa_holds_where_no_flow_is_missed_and_the_start_is_left_out() -> None:
    measures = get_experiment("t_refwa.in_the_router").measures
    changes = {"links.1.router_parameters": {"idle": 4}, "warm_up": "20s"}
    late = {"measured time": "without its first tenth"}
    run = ran("t_refwa.in_the_router", ("OC3",), changes, late)
    came = {name: measure(run) for name, measure in measures.items()}
    assert came["counted"] > 0.95 and came["swing"] < 0.1 and abs(came["flight_over_upsilon"] - 1) < 0.1
    assert came["flight_over_product"] > 1 and least_over_most(run) > 0.8
    late_alone = ran("t_refwa.in_the_router", ("OC3",), {"warm_up": "20s"}, late)
    assert measures["swing"](late_alone) > 0.2 and measures["flight_over_product"](late_alone) < 1
    few = ran("t_refwa.in_the_router", ("T3",), changes, late)
    assert measures["counted"](few) > 0.95 and measures["swing"](few) > 0.1  # the reason says so


def test_reno_flows_are_equal_behind_equal_access_links() -> None:
    share = get_experiment("logistic.access").measures["share"]
    alike = {"links.7.rate": "10Mbit/s", "links.8.rate": "10Mbit/s"}
    shares = {
        name: np.mean([share(ran("logistic.access", ("Reno", "5"), {**changes, "seed": n})) for n in range(1, 7)])
        for name, changes in (("as printed", {}), ("alike", alike))
    }
    assert shares["as printed"] > 0.58 and abs(shares["alike"] - 0.5) < 0.04, shares


def test_a_new_window_needs_more_than_twenty_round_trips_beside_a_full_link() -> None:
    """Eq. (8) with the gains of section 4, from one packet to half of a flow's window on 100 Mbit/s over 100 ms."""
    epsilon, gamma, packets = 1.95, 0.9, 1250
    assert np.log(0.5 * packets / (1 + gamma)) / (epsilon * (1 - gamma)) > 20


@pytest.mark.slow
def test_no_leap_is_right_where_no_acknowledgement_is_lost_and_the_goodput_hardly_falls() -> None:
    plain, leaping = (ran("leap.shared", ("Reno", n), {}) for n in ("0", "100"))
    assert leaping.leaps.sum() > 1000 and leaping.leaps_right.sum() == leaping.acks_dropped.sum() == 0
    assert 0.985 < leap.every(leaping) / leap.every(plain) < 1


@pytest.mark.slow
def test_acknowledgements_are_lost_as_bursts_and_not_sizes_have_it() -> None:
    plain, ones, large = (
        leap.ack_over_data(ran("leap.star", ("Reno", "3.50"), changes))
        for changes in ({}, {"flows.0.window_limit": 1}, {"flows.0.ack_size": 576})
    )
    assert 1.7 < ones / plain < 2.3 and large < 1.5 * plain


@pytest.mark.slow
def test_few_duplicates_below_the_transition_follow_a_lost_acknowledgement() -> None:
    assert leap.ack_caused(ran("leap.traced", ("Reno, 2.25 a second",), {})) < 0.1


@pytest.mark.slow
def test_the_duplicates_that_leap_leaves_are_repeats_in_order_after_a_first_one() -> None:
    run = ran("leap.traced", ("LEAP",), {})
    flow, segment, at = leap._repeated(run)
    special = (segment == 0) | (segment == int(run.goodput.max()) - 1)
    other = ~special & ~np.isin(flow * 128 + segment, leap._leap_segments(run))
    again = leap._last_send(run, flow, segment, at)
    key = (run.send_flow.values * 128 + run.send_segment.values) * 4096.0 + run.send_time.values
    order = np.argsort(key)
    sent = order[np.searchsorted(key[order], ((flow * 128 + segment) * 4096.0 + again)[other] - 1e-6)]
    assert other.any() and np.mean(run.send_kind.values[sent] == leap.REPEAT) > 0.85


def test_lost_acknowledgements_raise_renos_timeouts_by_about_a_half() -> None:
    often = {
        loss: sum(float(ran("mtcp.table4", ("Reno", loss), {"seed": n}).timeouts.sum()) for n in range(1, 21))
        for loss in ("0", "13")
    }
    assert 1.3 < often["13"] / often["0"] < 1.8, often


def test_findings_that_claims_name_are_there() -> None:
    assert {one.finding for one in ledger.claims().values()} - {""} <= set(all_findings())


@pytest.mark.parametrize("name", experiments())
def test_a_run_that_readings_share_is_run_once(name: str) -> None:
    """Readings along an axis that does not touch a case are that of the first label; all others are other scenarios."""
    one = experiments()[name]
    for case in (one.case_labels()[0], one.case_labels()[-1]):
        effective = {one.reading_of(case, labels) for labels in one.reading_labels()}
        scenarios = {str(one.build(case, labels)) for labels in effective}
        assert len(scenarios) == len(effective), (name, case)


def test_a_claim_has_each_reading_once_by_the_axes_that_touch_it(tiny: Whole) -> None:
    for name, one in tiny.decisions.items():
        labels = [tuple(sorted(several.items())) for several in one.labels]
        assert len(set(labels)) == len(labels) == len(one.readings), name


@pytest.mark.slow
def test_a_cell_that_calibrates_leaves_the_labels_under_which_it_holds() -> None:
    """Of a made result: others of the experiment are decided under these labels only."""
    for one in ledger.claims().values():
        if not one.calibrates:
            continue
        experiment = experiments()[one.experiment]
        others = [c for c in ledger.claims(one.paper).values() if c.experiment == one.experiment and not c.calibrates]
        assert one.calibrates in experiment.readings and others
        data = run(one.experiment, "tiny")
        for other in others:
            for labels in decide(other, "tiny", data=data).labels:
                assert labels.get(one.calibrates) in (None, *experiment.readings[one.calibrates])


@pytest.mark.slow
def test_a_claim_needs_no_other_cases_than_it_names(tiny: Whole) -> None:
    for claim in ledger.claims().values():
        if claim.experiment:
            data, wanted = tiny.results[claim.experiment], wanted_cases(claim)
            axes = list(experiments()[claim.experiment].cases)
            keep = xr.zeros_like(data.runs, bool)
            for labels in experiments()[claim.experiment].case_labels():
                case = dict(zip(axes, labels, strict=True))
                keep.loc[case] = wanted(case)
            part = measured(claim, data.where(keep)).values
            np.testing.assert_array_equal(part, measured(claim, data).values, err_msg=claim.id)


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
    if rule != rules.RUN:
        inside = within.low <= measured.low and measured.high <= within.high
        assert (verdict == HOLDS) == inside and (verdict == OPEN) == (not inside and not apart)


@pytest.mark.parametrize("rule", [rules.MEAN, rules.SAME])
def test_verdicts_are_false_no_more_often_than_the_error_allows(rule: str) -> None:
    """A true mean on the very bound, runs of 10 that go on to 40: either verdict there is false."""
    rng, false, count = np.random.default_rng(5), 0, 2000
    within = Range(low=0.0) if rule == rules.MEAN else Range(0.0, 2.0)
    for _ in range(count):
        values, n = rng.normal(size=40), 10
        while (verdict := rules.decided(rule, within, values[:n].tolist(), looks=3)) == OPEN and n < 40:
            n *= 2
        false += verdict == HOLDS
    allowed = rules.ERRORS[rule] / 2
    assert false / count < allowed + 3 * math.sqrt(allowed / count)


def test_one_more_run_is_that_of_the_printed_size() -> None:
    """A printed mean of `runs` of the same law is refused as often as the error says, whatever our own count."""
    rng = np.random.default_rng(6)
    for runs, n in ((1, 9), (10, 25), (1, 40)):
        came = [
            rules.decided(
                rules.RUN, Range.of(float(rng.normal(size=runs).mean()), 0, 0), rng.normal(size=n).tolist(), runs
            )
            for _ in range(2000)
        ]
        assert came.count(OPEN) == 0 and 0.03 < came.count(FAILS) / 2000 < 0.07
    assert rules.decided(rules.RUN, Range.of(0.0, 0, 0), rng.normal(size=8).tolist(), 1) == OPEN


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
    assert several >= 20 * len(ledger.recorded()["made"])


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20), st.integers(1, 20))
def test_one_more_run_is_less_certain_than_the_mean(values: list[float], runs: int) -> None:
    mean, more = rules.interval(values), rules.interval(values, runs)
    assert more.low <= mean.low <= mean.high <= more.high


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "rule": ({"rule": "guess"}, "rule must be one of exact, mean, same, one more run"),
    "key": ({"publishd": 1}, "key 'publishd' is not known (did you mean 'published'?)"),
    "bound": ({"published": {"about": 1}}, "published must be a number, or bounds among least, most, above, below"),
    "bounds": ({"published": 1.0}, "published must be bounds for the rule mean"),
    "tolerance": ({"rule": "same"}, "published must be a number, with a tolerance above 0, for the rule same"),
    "model": ({"decided_by": "model"}, "rule must be exact for a model"),
    "number of numbers": ({"each": {"a": ["x", "y"]}, "printed": [1.0]}, "printed has 1 of 2 numbers"),
    "form": ({"form": "ratio"}, "form must be one of ratio, difference where compared_with is there"),
    "experiment": ({"experiment": ""}, "experiment must be there for packets"),
    "rounding": ({"rounding": -1.0}, "rounding, tolerance >= 0"),
}


def tables(statement: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Files with one statement."""
    paper = {"title": "x", "says": "x", "cite": "x"}
    return {"leap": {"paper": paper, "statements": [statement]}}, {}


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_cannot_be_is_refused_by_claim_and_key(case: str) -> None:
    changes, message = BAD[case]
    one = {
        "id": "a.b", "place": "Table 1", "quantity": "x", "published": {"least": 1.0}, "unit": "1", "rule": "mean",
        "value": "x", "decided_by": "packets", "experiment": "leap.star",
    } | changes  # fmt: skip
    statement = {"id": "leap.a", "says": "x", "weight": "central", "kind": "number", "cells": [one]}
    with pytest.raises(LedgerError) as refusal:
        read_ledger(*tables(statement))
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
    with pytest.raises(LedgerError) as refusal:
        read_ledger(*tables({key: fact for key, fact in one.items() if fact is not None}))
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


@pytest.mark.slow
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
