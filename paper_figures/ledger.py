"""The ledger: what the papers state, claim by claim, and the rule that decides each; from each paper's `claims.toml`.

The files hold facts and rules only. What came out stands in each paper's `recorded.json`, reasons for what does
not hold in `reasons.toml`, what was changed and why in each paper's `amendments.toml`.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any

from tcpdynamics.errors import DomainError, shown, suggestion

from .papers import PAPERS
from .rules import BOUNDS, EXACT, MEAN, RULES, SAME, Range

#: Who decides a claim.
PACKETS, MODEL = "packets", "model"
#: How the measure of a case and that of the case it is compared with make one number.
FORMS = ("ratio", "difference")
#: How much a statement weighs, and what kind of statement it is.
WEIGHTS = ("central", "supporting", "arithmetic")
KINDS = ("derivation", "direction", "number")
#: Keys of a statement; the others are facts that its cells share.
_STATED = ("id", "says", "weight", "kind", "missing")
#: Facts in which "{axis}" stands for a label.
_TEMPLATES = ("id", "quantity", "case", "compared_with", "arguments")
#: Fields that decide, and are sealed.
DECIDES = (
    "published", "rounding", "runs", "decided_by", "experiment", "value", "case", "compared_with", "form", "arguments",
    "finding", "rule", "tolerance", "calibrates",
)  # fmt: skip


class LedgerError(DomainError):
    """The file of claims says something that cannot be."""


@dataclass(frozen=True)
class Claim:
    """One published value or inequality: a cell of a statement, and how it is decided.

    Attributes
    ----------
    id : str            Paper and a name, such as "leap.table1.reno.2_50".
    statement : str     The statement that it is a cell of.
    place : str         Table, figure, section or equation.
    quantity : str      What the number is, in our words.
    published : float or mapping   The value, or bounds among "least", "most", "above", "below".
    unit : str
    percent : bool      The number is a fraction that sentences write in per cent.
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
    calibrates : str    An axis of readings whose label this cell chooses; it decides nothing then.
    figure : str        Name of the figure that shows it.
    """

    id: str
    statement: str
    place: str
    quantity: str
    published: float | Mapping[str, float]
    decided_by: str
    rule: str
    value: str
    unit: str = "1"
    percent: bool = False
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
    calibrates: str = ""
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
        if self.rule == MEAN and not isinstance(self.published, Mapping):
            refuse("published", f"must be bounds for the rule {MEAN}")
        if self.rule == SAME and (isinstance(self.published, Mapping) or not self.tolerance > 0):
            refuse("published", f"must be a number, with a tolerance above 0, for the rule {SAME}")
        if not self.rounding >= 0 or not self.tolerance >= 0 or self.runs < 1:
            raise LedgerError(f"claim {shown(self.id)}: rounding, tolerance >= 0, runs >= 1 are needed")

    @property
    def of_fraction(self) -> bool:
        """Whether the number is itself a fraction from 0 to 1, not a difference or a ratio."""
        itself = self.quantity.startswith(("fraction", "loss rate", "utilisation"))
        return itself and not self.form and " less " not in self.quantity

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
        return {name: getattr(self, name) for name in DECIDES}


@dataclass(frozen=True)
class Paper:
    """A paper: how pages call it, what it says in a sentence, how it is cited, and how it was reproduced.

    `parameters` are (name, value, source) of the main setting, the source such as "section 4"; `deviations` are
    sentences on what our runs do otherwise.
    """

    name: str
    title: str
    says: str
    cite: str
    parameters: Sequence[tuple[str, str, str]] = ()
    deviations: Sequence[str] = ()


@dataclass(frozen=True)
class Statement:
    """A sentence, table or figure of a paper, and the cells that decide it.

    Attributes
    ----------
    id : str            Paper and a name, such as "leap.no_duplicates".
    says : str          What the paper states, in our words.
    weight : str        One of `WEIGHTS`: "arithmetic" follows from the setting and counts for no mark.
    kind : str          One of `KINDS`, each with a mark of its own.
    cells : tuple of str   Claims, by id.
    missing : str       What the paper does not print, and what a verdict hangs on.
    """

    id: str
    says: str
    weight: str
    kind: str
    cells: tuple[str, ...]
    missing: str = ""

    def __post_init__(self) -> None:
        for key, known in (("weight", WEIGHTS), ("kind", KINDS)):
            if getattr(self, key) not in known:
                raise LedgerError(
                    f"statement {shown(self.id)}: {key} must be one of {', '.join(known)}, "
                    f"got {shown(getattr(self, key))}"
                )
        if not self.cells:
            raise LedgerError(f"statement {shown(self.id)}: cells must have a row at least")

    @property
    def paper(self) -> str:
        """The folder of the paper."""
        return self.id.partition(".")[0]


@dataclass(frozen=True)
class Ledger:
    """The files, read: papers, statements, claims.

    `fixed` has of each paper what fixed its protocol: `committed`, the commit, `sealed`, the digest, and, where results
    were known when it changed, `amended`, the commit of that.
    """

    papers: Mapping[str, Paper]
    statements: Mapping[str, Statement]
    claims: Mapping[str, Claim]
    fixed: Mapping[str, Mapping[str, str]]


@functools.cache
def ledger() -> Ledger:
    """The ledger of this version.

    Raises
    ------
    LedgerError
        The file says something that cannot be; the message names the claim and the key.
    """
    tables = {paper: _table(f"{paper}/claims.toml") for paper in PAPERS}
    for paper, table in tables.items():
        table["paper"] |= _table(f"{paper}/setup.toml")
    return read_ledger(tables, _table("seal.toml"))


def _table(name: str) -> dict[str, Any]:
    return read_table(Path(str(resources.files(__package__).joinpath(name))))


def read_table(path: Path) -> dict[str, Any]:
    """A TOML file. Raises LedgerError, which names the file, where it is none."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise LedgerError(
            f"{path.parent.name}/{path.name} is not TOML: {error}; mend it, or take it from git"
        ) from error


def read_ledger(tables: Mapping[str, Mapping[str, Any]], fixed: Mapping[str, Mapping[str, str]]) -> Ledger:
    """A ledger from the tables of the papers' files: `[paper]`, and `[[statements]]` with their cells."""
    papers = {name: Paper(name, **table["paper"]) for name, table in tables.items()}
    claims: dict[str, Claim] = {}
    statements: dict[str, Statement] = {}
    for given in (one for table in tables.values() for one in table["statements"]):
        shared = {key: fact for key, fact in given.items() if key not in (*_STATED, "cells")}
        stated = {key: given[key] for key in _STATED if key in given}
        if missing := [key for key in ("id", "says", "weight", "kind") if key not in stated]:
            raise LedgerError(f"statement {shown(stated.get('id'))}: {', '.join(missing)} missing")
        paper = stated["id"].partition(".")[0]
        if paper not in papers:
            raise LedgerError(f"statement {shown(stated['id'])}: paper {shown(paper)} is not known")
        if stated["id"] in statements:
            raise LedgerError(f"statement {shown(stated['id'])} is there twice")
        rows = [row for cell in given["cells"] for row in _expanded(paper, cell, shared)]
        for facts in rows:
            claim = _claim(paper, stated["id"], facts)
            if claim.id in claims:
                raise LedgerError(f"claim {shown(claim.id)} is there twice")
            claims[claim.id] = claim
        cells = tuple(f"{paper}.{facts['id']}" for facts in rows)
        statements[stated["id"]] = Statement(**stated, cells=cells)
    return Ledger(papers, statements, claims, fixed)


def _claim(paper: str, statement: str, facts: Mapping[str, Any]) -> Claim:
    """A cell with all its facts. Raises LedgerError by the name of the claim."""
    name = f"{paper}.{facts.get('id')}"
    keys = tuple(f.name for f in fields(Claim) if f.name != "statement")
    for key in facts.keys() - set(keys):
        raise LedgerError(f"claim {shown(name)}: key {shown(key)} is not known{suggestion(key, keys)}")
    missing = [k for k in ("id", "place", "quantity", "published", "rule", "value") if k not in facts]
    if missing:
        raise LedgerError(f"claim {shown(name)}: {', '.join(missing)} missing")
    by = MODEL if facts["rule"] == EXACT else PACKETS
    return Claim(**({"decided_by": by} | dict(facts) | {"id": name, "statement": statement}))


def _expanded(paper: str, cell: Mapping[str, Any], shared: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The claims of a row of `cells`: one, or with `each` one for each combination of its labels.

    Texts of the row name a label as "{axis}"; in the id it is written in lower case, with "_" for other signs.
    `printed` lists the published numbers in the order of the combinations.

    >>> row = {"id": "table1.{sender}", "each": {"sender": ["Reno", "T-REFWA"]}, "printed": [0.7, 0.9]}
    >>> [(one["id"], one["published"]) for one in _expanded("leap", row, {"quantity": "{sender}"})]
    [('table1.reno', 0.7), ('table1.t_refwa', 0.9)]
    """
    facts = dict(shared) | dict(cell)
    for name in ("case", "compared_with", "arguments"):  # what a statement has in common stays
        if name in shared and name in cell:
            facts[name] = shared[name] | cell[name]
    each, printed = facts.pop("each", {}), facts.pop("printed", None)
    combinations = [dict(zip(each, labels, strict=True)) for labels in itertools.product(*each.values())]
    if printed is not None and len(printed) != len(combinations):
        name = f"{paper}.{cell.get('id')}"
        raise LedgerError(f"claim {shown(name)}: printed has {len(printed)} of {len(combinations)} numbers")
    for place, labels in enumerate(combinations):
        names = {axis: re.sub(r"[^a-z0-9]+", "_", label.lower()) for axis, label in labels.items()}
        one = {
            key: _filled(fact, names if key == "id" else labels) if key in _TEMPLATES else fact
            for key, fact in facts.items()
        }
        yield one if printed is None else one | {"published": printed[place]}


def _filled(fact: Any, labels: Mapping[str, str]) -> Any:
    """A text, or the texts of a table, with "{axis}" replaced by the axis's label."""
    if isinstance(fact, Mapping):
        return {key: _filled(text, labels) for key, text in fact.items()}
    if isinstance(fact, str):
        for axis, label in labels.items():
            fact = fact.replace(f"{{{axis}}}", label)
    return fact


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
    if name in ledger().statements:
        cells = ", ".join(ledger().statements[name].cells[:3])
        raise DomainError(f"{name} is a statement; name one of its cells, such as {cells}")
    if name not in by_name:
        close = suggestion(name, tuple(by_name))
        raise DomainError(f"there is no claim {shown(name)}{close}; `tcpdynamics claims --json` lists them all")
    return by_name[name]


@functools.cache
def sensitivity() -> dict[str, str]:
    """Statement -> the most that a break of the source turns: "verdict", "cell", "number" or "nothing".

    What breaks are, and how they are run, stands in `tests/mutants.py`, which writes the file.

    >>> sensitivity()["leap.possible"]
    'verdict'
    """
    words: dict[str, str] = json.loads(resources.files(__package__).joinpath("sensitivity.json").read_text("utf-8"))
    return words


def digest(rows: Mapping[str, Any]) -> str:
    """A digest of recorded rows.

    >>> digest({}) == digest({})
    True
    """
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


#: How the rules and the record came about, as the history of the repository shows it; shown with the verdicts.
HISTORY = (
    "This is the second protocol. Its statements, rules, interpretations and scenarios stand in a commit without "
    "results (537b45b; the sub-packet paper's in 83d096c). T-REFWA's were amended in c884dbe after its first results "
    "(930e4d8), and run again. Two statements, and five cells of a third, were added after all results were known "
    "(0df0296 and later; amendments of T-REFWA, LEAP and M/TCP). "
    "Of the first protocol rules and results came in one commit (ec8c3e0), so the repository does not show that the "
    "rules came first; three rules above the cells were changed after its results were known: 709e601 (interpretations "
    "on both sides of a number decide nothing; a mark counts all claims) and c10146b (marks of statements). Who wrote "
    "the second protocol knew the results of the first."
)


@functools.cache
def recorded() -> dict[str, Any]:
    """What came out last time: `made` by paper (setting, versions, commit, date), and `rows` by claim."""
    records = {paper: record(paper) for paper in PAPERS}
    rows = {claim: row for one in records.values() for claim, row in one["rows"].items()}
    return {
        "made": {paper: one["made"] for paper, one in records.items() if one["made"]},
        "rows": {claim: to_read(row, claims()[claim]) for claim, row in rows.items()},
    }


def to_read(row: dict[str, Any], claim: Claim) -> dict[str, Any]:
    """A row whose intervals of a fraction end at 0 and 1; the record and verdicts have the whole ones."""
    out = dict(row)
    for name in ("packets", "ns2", "linux") if claim.of_fraction else ():
        if (one := row.get(name)) and one["low"] is not None and one["high"] is not None:
            out[name] = one | {"low": max(one["low"], 0.0), "high": min(one["high"], 1.0)}
    return out


@functools.cache
def record(paper: str) -> dict[str, Any]:
    """`made` and `rows` of a paper; both empty where it has not been run."""
    path = resources.files(__package__).joinpath(paper, "recorded.json")
    table: dict[str, Any] = {"made": {}, "rows": {}}
    if path.is_file():
        try:
            table = json.loads(path.read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            raise LedgerError(f"{paper}/recorded.json is not JSON: {error}; take it from git") from error
    return table
