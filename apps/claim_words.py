"""What came out for a claim in one sentence, as an article's chip shows it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tcpdynamics.paper_figures import ledger, rules, statements
from tcpdynamics.paper_figures.ledger import Claim

from .ledger_rows import in_words

_BOUNDS = {"≥": "at least", "≤": "at most", ">": "above", "<": "below"}


def chosen_cell(cells: Sequence[str], verdict: str, rows: statements.Rows) -> str:
    """The cell that shows a statement's verdict: it came out so, under most interpretations, else under some at least.

    >>> rows = ledger.recorded()["rows"]
    >>> chosen_cell(["leap.sec4.caused.reno", "leap.sec4.kept.reno"], "cannot be decided", rows)
    'leap.sec4.kept.reno'
    """
    decisive = rules.FAILS if verdict == rules.CONDITIONS else verdict

    def fits(cell: str) -> tuple[bool, int]:
        under = [one for _, one, _ in rows[cell]["readings"]]
        same = rows[cell]["verdict"] == verdict
        return same, under.count(decisive) if verdict == rules.CONDITIONS or not same else 0

    return max((cell for cell in cells if not ledger.get_claim(cell).calibrates), key=fits)


def measured(claim: Claim, decision: Mapping[str, Any], verdict: str = "") -> str:
    r"""What came out for a claim where it has a verdict, and what would fulfil it, in a sentence.

    Parameters
    ----------
    claim : Claim
    decision : mapping
        A `Decision` as JSON has it.
    verdict : str
        Only numbers of interpretations with this verdict are shown; with conditions, those that hold, then the others.

    Examples
    --------
    >>> came = {"packets": {"mean": 0.99, "low": 0.978, "high": 1.01, "n": 20}, "shown": "a"}
    >>> came["readings"] = [["a", "holds", 0.99], ["b", "holds", 0.97]]
    >>> text = measured(ledger.get_claim("sub_packet.s1.repetitive"), came, "holds")
    >>> print(*text[87:].split("; "), sep="\n")
    99 % (95 % interval 97.8 to 100 %, 20 runs), under one interpretation
    the claim holds under each of 2 interpretations. The claim needs at least 50 %.
    """
    who = "Measured" if decision.get("packets") else "Computed"
    return f"{who}: {claim.quantity.partition('; ')[0]}: {_result(claim, decision, verdict)}. {needed(claim)}"


def needed(claim: Claim) -> str:
    """The numbers that would fulfil a claim.

    >>> needed(ledger.get_claim("leap.table1.reno.2_50"))
    'The claim has 99.3 %, with a tolerance of 0.05 points.'
    """
    bounds = re.sub(
        r"\d[\d.e+-]*", lambda one: _with_unit(claim, f"{_factor(claim) * float(one[0]):g}"), claim.published_text
    )
    for sign, word in _BOUNDS.items():
        bounds = bounds.replace(sign, word)
    inequality = isinstance(claim.published, Mapping)
    allowed = claim.tolerance + (0 if inequality else claim.rounding)
    if allowed:
        bounds += f", with a tolerance of {_factor(claim) * allowed:.3g}{' points' * claim.percent}"
    return f"The claim {'needs' if inequality else 'has'} {bounds}."


def _factor(claim: Claim) -> int:
    return 100 if claim.percent else 1


def _with_unit(claim: Claim, number: str) -> str:
    unit = " %" if claim.percent else "" if claim.unit == "1" else f" {claim.unit}"
    return number + (unit.removesuffix("s") if number == "1" else unit)


def _result(claim: Claim, decision: Mapping[str, Any], verdict: str) -> str:
    """The number with its interval, or the range over the interpretations that have the verdict."""
    by_model, readings = not decision.get("packets"), decision["readings"]
    wanted = rules.HOLDS if verdict == rules.CONDITIONS else verdict
    with_verdict = [x for _, came, x in readings if came == wanted and x is not None]
    same, on_show = len(with_verdict) == len(readings), decision.get("shown")
    if wanted == rules.OPEN and readings and not with_verdict:  # all fail, on both sides of what is published
        every = [x for *_, x in readings if x is not None]
        return f"{_ends(claim, every)}, over {len(readings)} interpretations"
    under = f"{len(readings)} interpretations"
    if not same:
        under = f"{len(with_verdict)} out of {under}, where the claim {wanted}"
    if not with_verdict or (by_model and same):
        text = _with_interval(claim, decision["model" if by_model else "packets"] or {}, by_model)
    elif not by_model and wanted != rules.OPEN and [on_show, wanted] in [list(one[:2]) for one in readings]:
        holding = f"each of {len(readings)}" if same else f"{len(with_verdict)} of {len(readings)}"
        number = _with_interval(claim, decision["packets"], by_model)
        text = f"{number}, under one interpretation; the claim {wanted} under {holding} interpretations"
    else:
        text = f"{_ends(claim, with_verdict)}, under {under}"
    if verdict == rules.CONDITIONS:
        failing = [x for _, came, x in readings if came == rules.FAILS]
        numbers = [x for x in failing if x is not None]
        ends = _ends(claim, numbers) if numbers else "no such number"
        text += f"; {ends}, under {len(failing)}, where it {rules.FAILS}"
    return text


def _with_interval(claim: Claim, interval: Mapping[str, Any], by_model: bool) -> str:
    """A number with its unit, its interval and the number of its runs."""
    top = 1 if claim.percent and " less " not in claim.quantity else math.inf  # a fraction; a difference may be larger
    cut = {k: v if k == "n" or v is None else _factor(claim) * min(v, top) for k, v in interval.items()}
    number = re.sub(r"-?\d+\.\d+", lambda one: f"{float(one[0]):.4g}", in_words(cut, spread=by_model))
    number, _, ends = number.partition(" [")
    number = re.sub(r"^(.+) to \1$", r"\1", number)
    inside = re.sub(r"(.+), (.+)\], n = (\d+)", rf" (95 % interval \1 to \2{' %' * claim.percent}, \3 runs)", ends)
    alike = f" {number} to {number}" in inside  # all runs agree to the digits that are shown
    return _with_unit(claim, number) + ("" if alike else inside)


def _ends(claim: Claim, values: Sequence[float]) -> str:
    """Numbers of several interpretations: the least and the greatest."""
    low, high = (f"{_factor(claim) * end:.4g}" for end in (min(values), max(values)))
    return _with_unit(claim, low if low == high else f"{low} to {high}")
