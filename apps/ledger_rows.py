"""Rows of the ledger as people read them: the command, the report, the explorer and the exported page show the same."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from tcpdynamics.paper_figures import deciding, experiments, ledger, reasons, rules, statements
from tcpdynamics.paper_figures.ledger import Claim
from tcpdynamics.paper_figures.statements import Outcome, Summary
from tcpdynamics.progress import tracked

#: Columns of numbers, in order, and their heads.
COLUMNS = {"published": "published", "model": "model", "packets": "packets", "ns2": "ns-2", "linux": "Linux"}
#: Where a claim has no number of a kind.
NONE = "\N{EM DASH}"
NOT_YET = statements.NOT_YET


def row(claim: Claim, decision: Mapping[str, Any] | None) -> dict[str, Any]:
    """One claim with what came out, in words.

    Parameters
    ----------
    claim : Claim
    decision : mapping, optional
        A `Decision` as JSON has it; None where it was not decided yet.

    Examples
    --------
    >>> shown = row(ledger.get_claim("leap.table1.reno.2_50"), None)
    >>> shown["published"], shown["verdict"], shown["command"]
    ('0.993', 'not decided yet', 'tcpdynamics figures leap.table1.reno.2_50 --decide')
    """
    came = decision or {}
    verdict = str(came.get("verdict", NOT_YET))
    by_model = claim.decided_by == ledger.MODEL
    return {
        "id": claim.id,
        "paper": claim.paper,
        "statement": claim.statement,
        "place": claim.place,
        "quantity": claim.quantity + (f" [{claim.unit}]" if claim.unit not in ("", "1") else ""),
        "published": claim.published_text,
        "model": in_words(came.get("model"), spread=by_model),
        "packets": in_words(came.get("packets")),
        "ns2": in_words(came.get("ns2")) + _beside_first(came, "ns2"),
        "linux": in_words(came.get("linux")) + _beside_first(came, "linux"),
        "verdict": verdict,
        "interpretations": readings_in_words(came),
        "shown": str(came.get("shown", "")),
        "each_interpretation": [
            {"interpretation": name, "verdict": verdict, "value": NONE if value is None else f"{value:.4g}"}
            for name, verdict, value in came.get("readings", ())
        ],
        "finding": str(came.get("text", "")),
        "supported": came.get("supported"),
        "rule": rule_in_words(claim),
        "experiment": claim.experiment or claim.finding,
        "scenario": experiments.scenario_place(claim.experiment) if claim.experiment else "",
        "case": case_in_words(claim),
        "command": claim.command,
        "figure": claim.figure,
        "note": claim.note,
        "setting": str(came.get("setting", "")),
    }


def published(decision: Mapping[str, Any]) -> dict[str, Any]:
    """A decision as JSON shows it. The sealed record calls an interpretation a reading.

    >>> published({"share": 1.0, "readings": []})
    {'share': 1.0, 'interpretations': []}
    """
    return {{"readings": "interpretations"}.get(key, key): value for key, value in decision.items()}


def _beside_first(came: Mapping[str, Any], judge: str) -> str:
    """Where our number on show is not of the first reading, as a judge's is: that, and ours there."""
    several = came.get("readings") or [("", "", None)]
    first, _, mean = several[0]
    if not came.get(judge) or came.get("shown") in ("", first) or mean is None:
        return ""
    return f"; first interpretation, ours there {mean:.4g}"


def in_words(interval: Mapping[str, Any] | None, spread: bool = False) -> str:
    """A mean with its interval; `spread`: numbers of a model, whose ends are the least and the greatest.

    Examples
    --------
    >>> in_words({"mean": 0.8057, "low": 0.79, "high": 0.82, "n": 10})
    '0.8057 [0.7900, 0.8200], n = 10'
    >>> in_words({"mean": 2.0, "low": 2.0, "high": 2.0, "n": 1}), in_words(None)
    ('2', '—')
    """
    if not interval or interval.get("mean") is None:
        return NONE
    mean, low, high, n = (interval[k] for k in ("mean", "low", "high", "n"))
    if low is None or high is None:
        return f"{mean:.4g}, n = {n}"
    if low == high:
        return f"{mean:.4g}"
    if spread:
        return f"{low:.4g} to {high:.4g}"
    digits = max(0, 2 - math.floor(math.log10(max(high - low, 1e-12))))
    if digits > 9 or abs(mean) >= 1e6:
        return f"{mean:.4g} [{low:.4g}, {high:.4g}], n = {n}"
    digits = max(0, digits - 1) if high - low >= 10 else min(digits, 4)
    return f"{mean:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}], n = {n}"


def readings_in_words(decision: Mapping[str, Any]) -> str:
    """For what percentage of the interpretations a claim holds; empty where there is one only.

    >>> readings_in_words({"share": 0.75, "readings": [["a", "holds", 1.0]] * 4})
    'holds for 75 % of 4 interpretations'
    """
    several = decision.get("readings") or []
    if len(several) < 2:
        return ""
    return f"holds for {100 * float(decision['share'] or 0):.0f} % of {len(several)} interpretations"


def rule_in_words(claim: Claim) -> str:
    """The rule that decides a claim.

    >>> rule_in_words(ledger.get_claim("leap.table1.reno.2_50"))[:41]
    'the 95 % interval for one more run reache'
    """
    within = claim.range
    if isinstance(claim.published, Mapping):
        bounds = claim.published_text + (f" (widened by {claim.tolerance:g})" if claim.tolerance else "")
    else:
        bounds = f"[{within.low:g}, {within.high:g}]"
    if claim.rule == rules.EXACT:
        return f"the model's number lies in {bounds}"
    if claim.rule == rules.MEAN:
        return f"the 95 % interval of the mean lies in {bounds}; beyond it: does not hold; both: cannot be decided"
    if claim.rule == rules.SAME:
        return f"the 90 % interval of the mean lies in {bounds}; beyond it: does not hold; both: cannot be decided"
    least = next(n for n in range(2, 1000) if rules.enough(n, claim.runs))
    several = f"the mean of {claim.runs} more runs" if claim.runs > 1 else "one more run"
    return (
        f"the 95 % interval for {several} reaches {bounds}, with at least {least} runs of ours; with fewer it cannot "
        "be decided, and where the interval does not reach it, it does not hold"
    )


def case_in_words(claim: Claim) -> str:
    """What runs for a claim: the labels of its case, and flows, rates and duration of the first reading in full.

    >>> case_in_words(ledger.get_claim("leap.table1.reno.2_50"))
    'sender Reno, density 2.50: 11200 flows, 500 kbit/s, 3000 s'
    """
    if not claim.experiment:
        return ""
    one = experiments.get_experiment(claim.experiment)
    if set(claim.case) != set(one.cases):
        return ", ".join(f"{axis} {label}" for axis, label in claim.case.items()) or "all cases"
    flows, rate, duration = _run_of(claim.experiment, tuple(claim.case[axis] for axis in one.cases))
    return f"{deciding.name_of(claim.case)}: {flows} flow{'s' * (flows > 1)}, {_rate(rate)}, {duration:g} s"


@cache
def _run_of(experiment: str, labels: tuple[str, ...]) -> tuple[int, float, float]:
    """Flows, least rate and duration of a case, which several claims share."""
    one = experiments.get_experiment(experiment)
    scenario = one.build(list(labels), one.reading_labels(1)[0])
    rates = [link.rate for link in scenario.links if link.rate is not None]
    rates += [scenario.bottleneck.rate] if scenario.bottleneck else []
    return sum(flow.count for flow in scenario.flows), min(rates), scenario.duration


def _rate(rate: float) -> str:
    return f"{rate / 1e6:g} Mbit/s" if rate >= 1e6 else f"{rate / 1e3:g} kbit/s"


def how_decided(claim: Claim, decision: Mapping[str, Any]) -> str:
    """With what a claim was decided now, beside the record: setting, readings, replications.

    >>> how_decided(ledger.get_claim("leap.fig5.leap.timeout"), {"setting": "quick"})
    'decided by a model, at no setting'
    """
    if not claim.experiment:
        return "decided by a model, at no setting"

    def words(came: Mapping[str, Any]) -> str:
        runs = (came.get("packets") or {}).get("n", 0)
        several = len(came["readings"])
        first = experiments.get_experiment(claim.experiment)
        only = f"1 interpretation ({first.reading_name(first.reading_labels()[0])})"
        readings = f"{several} interpretations" if several else only
        return f"{came['setting']} setting, {readings}, {runs} replications"

    recorded = ledger.recorded()["rows"].get(claim.id)
    beside = "the record has none"
    if recorded:
        beside = f"the record: {words(recorded)}, {in_words(recorded['packets'])}, {recorded['verdict']}"
    runs = (decision.get("packets") or {}).get("n", 0)
    few = claim.rule == rules.RUN and not rules.enough(runs, claim.runs)
    hint = f" {runs} runs are too few for this rule; `{claim.command} --full` makes more." if few else ""
    return f"decided now: {words(decision)}; {beside}.{hint}"


def tables(record: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """A table for each paper: its title and marks, its statements, the rows of their cells, and what we had wrong."""
    came = ledger.recorded() if record is None else record
    out = []
    for name, summary in statements.summaries(came["rows"]).items():
        claims = ledger.claims(name)
        out.append(
            {
                "id": name,
                "title": summary.paper.title,
                "says": summary.paper.says,
                "marks": _marks(summary),
                "interpretations": summary.readings_in_words,
                "statements": [statement(one, came["rows"]) for one in summary.in_order],
                "cite": summary.paper.cite,
                "counts": _counts(summary),
                "rows": [row(claims[claim], came["rows"].get(claim)) for claim in summary.order],
                "ours": reasons.ours(name),
            }
        )
    return out


#: What errors put into the source on purpose change of a statement, in words; nothing for a verdict, as it should be.
SENSITIVITY = {
    "": "no error was put into the source to check this verdict", "verdict": "",
    "cell": "an error put into the source changes the verdict of a cell, but not this one",
    "number": "an error put into the source changes a number, but no verdict",
    "nothing": "no error put into the source moves a number out of its interval",
}  # fmt: skip


def statement(came: Outcome, rows: statements.Rows) -> dict[str, Any]:
    """A statement with what came out, in words; why it does not hold, or its condition alone where no reason is known.

    >>> statement(statements.outcome(ledger.ledger().statements["leap.mechanism"], {}), {})["verdict"]
    'not decided yet'
    """
    why = came.verdict == rules.FAILS or (came.verdict == rules.CONDITIONS and came.statement.id in reasons.reasons())
    return {
        "id": came.statement.id, "says": came.statement.says, "weight": came.statement.weight,
        "kind": statements.KINDS_IN_WORDS[came.statement.kind].removesuffix("s"),
        "verdict": came.verdict or NOT_YET, "condition": came.condition,
        "missing": came.statement.missing, "cells": list(came.statement.cells),
        "sensitivity": SENSITIVITY[ledger.sensitivity().get(came.statement.id, "")],
        "reason": reasons.reason(came.statement.id, rows) if why else "",
    }  # fmt: skip


def _marks(summary: Summary) -> str:
    """The marks with what they are counted of."""
    holding, of = map(sum, zip(*summary.marks.values(), strict=True))
    return f"{holding} of {of} decided central and supporting statements hold: {summary.marks_in_words}"


def _counts(summary: Summary) -> str:
    decided = [one.verdict for one in summary.outcomes if one.verdict]
    missing = len(summary.outcomes) - len(decided)
    words = statements.in_words(decided) or "none decided"
    return f"{len(summary.outcomes)} statements: {words}" + (f", {missing} {NOT_YET}" if missing else "")


def in_packets(name: str, setting: str) -> list[dict[str, Any]]:
    """Rows of a paper's claims, or of one experiment's, that packets decide: each experiment is run now."""
    claims = [c for c in ledger.claims().values() if c.experiment and name in (c.paper, c.experiment)]
    rows = []
    for name in tracked(list(dict.fromkeys(claim.experiment for claim in claims))):
        data = experiments.run(name, setting)
        for claim in (claim for claim in claims if claim.experiment == name):
            came = deciding.decide(claim, setting, data=data).document()
            rows.append(row(claim, ledger.to_read(came, claim)))
    return rows


def scenario_of(claim: Claim) -> str:
    """The scenario file that decides a claim, as text; empty where a model does."""
    return experiments.scenario_text(claim.experiment) if claim.experiment else ""
