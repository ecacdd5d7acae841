"""The ledger: what the papers state, claim by claim, and the rule that decides each; read from `claims.toml`.

The file holds facts and rules only, fixed before anything was run by them: `committed` names the commit, and `sealed`
is a digest of all that decides, so that no rule changes quietly. What came out stands in `recorded.json`; reasons for
what does not hold in `reasons.toml`.
"""

from __future__ import annotations

import fnmatch
import functools
import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from importlib import resources
from typing import Any

from tcpdynamics.errors import DomainError, shown, suggestion

from .rules import BOUNDS, CONDITIONS, EXACT, FAILS, HOLDS, OPEN, RULES, VERDICTS, Range

#: Who decides a claim.
PACKETS, MODEL = "packets", "model"
#: How the measure of a case and that of the case it is compared with make one number.
FORMS = ("ratio", "difference")
#: Fields that decide, and are sealed.
_DECIDES = (
    "published", "rounding", "runs", "decided_by", "experiment", "value", "case", "compared_with", "form", "arguments",
    "finding", "rule", "tolerance", "widest",
)  # fmt: skip


class LedgerError(DomainError):
    """The file of claims says something that cannot be."""


@dataclass(frozen=True)
class Claim:
    """One published value or inequality, and how it is decided.

    Attributes
    ----------
    id : str            Paper and a name, such as "leap.table1.reno.2_50".
    place : str         Table, figure, section or equation.
    quantity : str      What the number is, in our words.
    published : float or mapping   The value, or bounds among "least", "most", "above", "below".
    unit : str
    decided_by : str    "packets": an experiment; "model": a finding.
    rule : str          One of `rules.RULES`.
    experiment, value : str   Name of the experiment, and of its measure or of a function of `values.py` of the paper.
    case, compared_with : mapping   Labels of the case; of the case that its measure is compared with.
    form : str          "ratio" or "difference" to `compared_with`.
    arguments : mapping Of the function that `value` names.
    finding : str       For a model: the finding whose number `value` decides. Else a finding that explains.
    model : str         Function of the paper's `values.py` that predicts the number, for the column "model".
    rounding : float    Half a unit of the last printed digit.
    runs : int          Runs of which the published number is the mean.
    tolerance : float   By how much the range is widened.
    widest : float      Half-width of the widest interval by which "one more run" may hold.
    figure : str        Name of the figure that shows it.
    """

    id: str
    place: str
    quantity: str
    published: float | Mapping[str, float]
    unit: str
    decided_by: str
    rule: str
    value: str
    experiment: str = ""
    case: Mapping[str, str] = field(default_factory=dict)
    compared_with: Mapping[str, str] = field(default_factory=dict)
    form: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    finding: str = ""
    model: str = ""
    rounding: float = 0.0
    runs: int = 1
    tolerance: float = 0.0
    widest: float = float("inf")
    figure: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        def refuse(key: str, what: str) -> None:
            raise LedgerError(f"claim {shown(self.id)}: {key} {what}, got {shown(getattr(self, key))}")

        if self.decided_by not in (PACKETS, MODEL):
            refuse("decided_by", f"must be {PACKETS} or {MODEL}")
        if self.rule not in RULES:
            refuse("rule", f"must be one of {', '.join(RULES)}")
        if (self.rule == EXACT) != (self.decided_by == MODEL):
            refuse("rule", f"must be {EXACT} for a model, and for a model only")
        if isinstance(self.published, Mapping) and not (self.published and set(self.published) <= set(BOUNDS)):
            refuse("published", f"must be a number, or bounds among {', '.join(BOUNDS)}")
        if (self.form and self.form not in FORMS) or bool(self.form) != bool(self.compared_with):
            refuse("form", f"must be one of {', '.join(FORMS)} where compared_with is there")
        if self.decided_by == PACKETS and not self.experiment:
            refuse("experiment", "must be there for packets")
        if self.decided_by == MODEL and not self.finding:
            refuse("finding", "must be there for a model")
        if not self.rounding >= 0 or not self.tolerance >= 0 or self.runs < 1 or not self.widest > 0:
            raise LedgerError(f"claim {shown(self.id)}: rounding, tolerance >= 0, runs >= 1, widest > 0 are needed")

    @property
    def paper(self) -> str:
        """The folder of the paper."""
        return self.id.partition(".")[0]

    @property
    def range(self) -> Range:
        """Numbers that bear it out."""
        return Range.of(self.published, self.rounding, self.tolerance)

    @property
    def published_text(self) -> str:
        """The published value or inequality.

        >>> claims()["leap.table1.reno.2_50"].published_text
        '0.993'
        """
        if not isinstance(self.published, Mapping):
            return f"{self.published:g}"
        signs = {"least": "≥", "most": "≤", "above": ">", "below": "<"}
        return " and ".join(f"{signs[k]} {v:g}" for k, v in self.published.items())

    @property
    def number(self) -> float:
        """The published number; NaN of an inequality."""
        return float("nan") if isinstance(self.published, Mapping) else self.published

    @property
    def command(self) -> str:
        """The command that decides it again."""
        return f"tcpdynamics figures {self.id} --decide"

    def deciding(self) -> dict[str, Any]:
        """All that decides it."""
        return {name: getattr(self, name) for name in _DECIDES}


@dataclass(frozen=True)
class Paper:
    """A paper: how pages call it, and how it is cited."""

    name: str
    title: str
    cite: str


@dataclass(frozen=True)
class Ledger:
    """The file, read: papers, claims, the commit that fixed the rules, and the digest of all that decides."""

    papers: Mapping[str, Paper]
    claims: Mapping[str, Claim]
    committed: str
    sealed: str


@functools.cache
def ledger() -> Ledger:
    """The ledger of this version.

    Raises
    ------
    LedgerError
        The file says something that cannot be; the message names the claim and the key.
    """
    text = resources.files(__package__).joinpath("claims.toml").read_text(encoding="utf-8")
    return read_ledger(tomllib.loads(text))


def read_ledger(table: Mapping[str, Any]) -> Ledger:
    """A ledger from the table of a file: `[ledger]`, `[papers.NAME]`, and `[[groups]]` of claims with shared facts."""
    papers = {name: Paper(name, **facts) for name, facts in table["papers"].items()}
    claims: dict[str, Claim] = {}
    keys = {f.name for f in fields(Claim)}
    for group in table["groups"]:
        shared = {k: v for k, v in group.items() if k not in ("paper", "claims")}
        if group["paper"] not in papers:
            raise LedgerError(f"group at {shown(group.get('place'))}: paper {shown(group['paper'])} is not known")
        for claim_facts in group["claims"]:
            facts = shared | claim_facts
            for name in ("case", "compared_with", "arguments"):  # what a group has in common stays
                if name in shared and name in claim_facts:
                    facts[name] = shared[name] | claim_facts[name]
            name = f"{group['paper']}.{claim_facts.get('id')}"
            for key in facts.keys() - keys:
                raise LedgerError(f"claim {shown(name)}: key {shown(key)} is not known{suggestion(key, tuple(keys))}")
            missing = [k for k in ("id", "place", "quantity", "published", "unit", "rule", "value") if k not in facts]
            if missing:
                raise LedgerError(f"claim {shown(name)}: {', '.join(missing)} missing")
            if name in claims:
                raise LedgerError(f"claim {shown(name)} is there twice")
            claims[name] = Claim(**(facts | {"id": name}))
    top = table["ledger"]
    return Ledger(papers, claims, top["committed"], top["sealed"])


def claims(paper: str = "") -> dict[str, Claim]:
    """All claims by id, or those of one paper.

    Raises
    ------
    DomainError
        There is no such paper.

    Examples
    --------
    >>> "leap.table1.reno.2_50" in claims("leap")
    True
    """
    all_claims = ledger()
    if paper and paper not in all_claims.papers:
        raise DomainError(f"paper must be one of {', '.join(all_claims.papers)}, got {shown(paper)}")
    return {name: one for name, one in all_claims.claims.items() if not paper or one.paper == paper}


def get_claim(name: str) -> Claim:
    """The claim of that id.

    Raises
    ------
    DomainError
        There is none; the message names one that is close.
    """
    by_name = claims()
    name = name.replace("-", "_")
    if name not in by_name:
        close = suggestion(name, tuple(by_name))
        raise DomainError(f"there is no claim {shown(name)}{close}; `tcpdynamics claims` lists them all")
    return by_name[name]


def seal(several: Iterable[Claim]) -> str:
    """A digest of all that decides claims, whatever their order in the file.

    >>> seal([]) == seal([])
    True
    """
    facts = sorted((one.id, json.dumps(one.deciding(), default=dict, sort_keys=True)) for one in several)
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def changed() -> list[str]:
    """What is not as it was fixed or recorded, a sentence each: rules beside the seal, numbers beside the record.

    >>> changed()
    []
    """
    out = []
    if seal(ledger().claims.values()) != ledger().sealed:
        out.append(
            f"claims.toml decides by other facts or rules than those that commit {ledger().committed} fixed; verdicts "
            "below are not the ledger's"
        )
    if recorded()["rows"] and recorded()["made"].get("digest") != digest(recorded()["rows"]):
        out.append("recorded.json holds other numbers than those that were recorded")
    return out


def digest(rows: Mapping[str, Any]) -> str:
    """A digest of recorded rows.

    >>> digest({}) == digest({})
    True
    """
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


def counts(verdicts: Iterable[str]) -> dict[str, int]:
    """How many claims have which verdict, in the order of `VERDICTS`; verdicts without a claim are left out.

    >>> counts(["holds", "cannot be decided", "holds"])
    {'holds': 2, 'cannot be decided': 1}
    """
    every = list(verdicts)
    return {v: every.count(v) for v in VERDICTS if v in every}


def in_words(verdicts: Iterable[str]) -> str:
    """`counts` as a sentence's part.

    >>> in_words(["holds", "holds"])
    '2 hold'
    """
    several = {"holds": "hold", "holds with conditions": "hold with conditions", "does not hold": "do not hold"}
    return ", ".join(f"{n} {several.get(v, v) if n > 1 else v}" for v, n in counts(verdicts).items())


#: A paper is reproduced if so many of its claims hold, with or without conditions; else it is not. The number was fixed
#: before any claim was decided.
REPRODUCED = 0.75


@dataclass(frozen=True)
class Summary:
    """What came out for a paper.

    Attributes
    ----------
    paper : Paper
    mark : str          "[Re]", "[not Re]" or "[undecided]", in the manner of replication journals.
    verdicts : mapping  Claim -> verdict.
    """

    paper: Paper
    mark: str
    verdicts: Mapping[str, str]

    @property
    def title(self) -> str:
        """The paper's title with its mark before it."""
        return f"{self.mark} {self.paper.title}"

    @property
    def order(self) -> list[str]:
        """Claims, what failed on top."""
        rank = [FAILS, CONDITIONS, OPEN, HOLDS, ""]
        return sorted(self.verdicts, key=lambda name: rank.index(self.verdicts[name]))


def mark(verdicts: Iterable[str]) -> str:
    """The mark of a paper: undecided where most of its claims are.

    >>> mark(["holds", "holds", "holds with conditions", "does not hold"]), mark(["holds", "", ""])
    ('[Re]', '[undecided]')
    """
    every = list(verdicts)
    confirmed, failed = (sum(v in words for v in every) for words in ((HOLDS, CONDITIONS), (FAILS,)))
    if 2 * (confirmed + failed) < len(every) or not every:
        return "[undecided]"
    return "[Re]" if confirmed >= REPRODUCED * len(every) else "[not Re]"


#: What `mark` computes, in the words that stand wherever a mark does.
MARKS = (
    "[undecided]: fewer than half of a paper's claims are decided. "
    f"[Re]: of all its claims, the undecided ones included, at least {REPRODUCED:.0%} hold, with or without "
    "conditions. "
    "[not Re]: fewer hold; an undecided claim counts against the mark, though it did not fail."
).replace("%", " %")


def summaries(rows: Mapping[str, Mapping[str, Any]] | None = None) -> dict[str, Summary]:
    """Summaries by paper, from decisions as JSON has them; by default from those recorded."""
    rows = recorded()["rows"] if rows is None else rows
    out = {}
    for name, paper in ledger().papers.items():
        verdicts = {c: str(rows.get(c, {}).get("verdict", "")) for c in claims(name)}
        out[name] = Summary(paper, mark(verdicts.values()), verdicts)
    return out


@functools.cache
def recorded() -> dict[str, Any]:
    """What came out last time: `made` (setting, versions, commit, date), and `rows` by claim."""
    path = resources.files(__package__).joinpath("recorded.json")
    table: dict[str, Any] = {"made": {}, "rows": {}}
    if path.is_file():
        table = json.loads(path.read_text(encoding="utf-8"))
    return table


@functools.cache
def reasons() -> dict[str, Any]:
    """Why claims do not hold, or hold with conditions: claim -> {kind, reason, run}; and "ours": what we had wrong.

    In the file a reason names claims by patterns such as "leap.table1.*"; the first that fits a claim is its own.
    """
    path = resources.files(__package__).joinpath("reasons.toml")
    table = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    out: dict[str, Any] = {"ours": table.get("ours", [])}
    for one in table.get("reasons", ()):
        facts = {key: text for key, text in one.items() if key != "claims"}
        for pattern in one["claims"]:
            for name in fnmatch.filter(ledger().claims, pattern):
                out.setdefault(name, facts)
    return out
