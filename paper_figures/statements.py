"""Verdicts of statements: whether all cells hold under one and the same reading; and the marks of a paper.

A *reading* is one choice for all that a paper leaves open in an experiment, or in a finding. A statement's cells are
decided one by one (`deciding`); here they are put together, reading by reading.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from . import ledger as book
from .experiments import experiments
from .ledger import KINDS, MODEL, WEIGHTS, Paper, Statement
from .rules import CONDITIONS, FAILS, HOLDS, OPEN, VERDICTS, on_both_sides, over_readings

#: Rows of decisions, as JSON has them: claim -> verdict, readings and numbers.
Rows = Mapping[str, Mapping[str, Any]]
#: Weights that count for a mark.
COUNTED = ("central", "supporting")
#: Kinds of statements, several of them.
KINDS_IN_WORDS = dict(zip(KINDS, ("derivations", "directions", "numbers"), strict=True))
#: What `marks` counts, in the words that stand wherever a mark does.
MARKS = (
    "Marks count statements: those that hold, of those that are decided. A statement holds if all its cells hold under "
    "every reading that decides. With conditions (under some readings only) it is decided and not held. What cannot be "
    "decided counts on neither side, arithmetic for no mark."
)
#: What failed on top.
_RANK = (FAILS, CONDITIONS, OPEN, HOLDS, "")
#: A condition in words has so many parts at most.
MOST_CONDITIONS = 3
#: Name of the only reading of what has no other.
ONLY = "as decided"


class Cell(NamedTuple):
    """A cell under one reading: its verdict and its number."""

    verdict: str
    value: float


@dataclass(frozen=True)
class Outcome:
    """What came out for a statement.

    Attributes
    ----------
    statement : Statement
    verdict : str       One of `rules.VERDICTS`; empty where a cell was not decided yet.
    condition : str     Of one that holds with conditions: where, or under how many readings, it does.
    readings : tuple of (name, verdict)   Joint readings; those with the same runs stand there once.
    """

    statement: Statement
    verdict: str
    condition: str = ""
    readings: tuple[tuple[str, str], ...] = ()


def outcome(statement: Statement, rows: Rows) -> Outcome:
    """Put the cells of a statement together.

    Examples
    --------
    >>> first = book.ledger().statements["leap.mechanism"]
    >>> row = {"verdict": "holds", "readings": []}
    >>> outcome(first, dict.fromkeys(first.cells, row)).verdict, outcome(first, {}).verdict
    ('holds', '')
    """
    if any(name not in rows for name in statement.cells):
        return Outcome(statement, "")
    sources = _merged(_by_source(statement.cells, rows))
    joint = []
    for choice in itertools.product(*sources.values()):
        cells = [cell for _, several in choice for cell in several]
        joint.append((", ".join(name for name, _ in choice if name != ONLY) or ONLY, _together(cells)))
    verdict, _ = over_readings([verdict for _, verdict in joint])
    if verdict == FAILS and _may_lie_between(statement.cells, rows):
        verdict = OPEN
    condition = _condition(sources, joint) if verdict == CONDITIONS else ""
    return Outcome(statement, verdict, condition, tuple(joint))


def _by_source(claims: Iterable[str], rows: Rows) -> dict[str, dict[str, dict[str, Cell]]]:
    """Source (experiment or finding) -> reading -> claim -> what came out."""
    out: dict[str, dict[str, dict[str, Cell]]] = {}
    for name in claims:
        claim, row = book.get_claim(name), rows[name]
        readings = row["readings"] or [(ONLY, row["verdict"], math.nan)]
        source = claim.finding if claim.decided_by == MODEL else claim.experiment
        if claim.decided_by == MODEL:  # numbers of one finding may have readings of their own
            source += f"/{len(readings)}"
        for reading, verdict, value in readings:
            number = math.nan if value is None else float(value)
            out.setdefault(source, {}).setdefault(str(reading), {})[name] = Cell(str(verdict), number)
    return out


def _merged(sources: dict[str, dict[str, dict[str, Cell]]]) -> dict[str, list[tuple[str, tuple[Cell, ...]]]]:
    """Readings of each source; of those whose runs are the same the first alone."""
    out = {}
    for source, readings in sources.items():
        once: dict[str, tuple[str, tuple[Cell, ...]]] = {}
        for name, cells in readings.items():
            once.setdefault(repr(tuple(cells.values())), (name, tuple(cells.values())))
        out[source] = list(once.values())
    return out


def _together(cells: Sequence[Cell]) -> str:
    """The verdict of one reading over several cells."""
    verdicts = {cell.verdict for cell in cells}
    if FAILS in verdicts:
        return FAILS
    return HOLDS if verdicts == {HOLDS} else OPEN


def _may_lie_between(claims: Iterable[str], rows: Rows) -> bool:
    """Whether each cell that fails under every reading has readings on both sides of what is published."""
    failing = [
        name
        for name in claims
        if rows[name]["readings"] and all(verdict == FAILS for _, verdict, _ in rows[name]["readings"])
    ]
    single = [name for name in claims if not rows[name]["readings"] and rows[name]["verdict"] == FAILS]
    return bool(failing) and not single and all(_on_both_sides(name, rows) for name in failing)


def _on_both_sides(name: str, rows: Rows) -> bool:
    means = [math.nan if value is None else value for _, _, value in rows[name]["readings"]]
    return on_both_sides(means, book.get_claim(name).range)


def _condition(sources: Mapping[str, Any], joint: Sequence[tuple[str, str]]) -> str:
    """Where a statement holds: the label of an axis, or of two, that tells those readings from the others."""
    labels = _labels(sources)
    decided = [(labels[name], verdict) for name, verdict in joint if verdict != OPEN and name in labels]
    axes = sorted({axis for one, _ in decided for axis in one})
    for count in (1, 2):
        for chosen in itertools.combinations(axes, count):
            by_label: dict[tuple[str, ...], set[str]] = {}
            for one, verdict in decided:
                by_label.setdefault(tuple(one.get(axis, "") for axis in chosen), set()).add(verdict)
            if decided and all(len(verdicts) == 1 for verdicts in by_label.values()):
                there = [
                    ", ".join(f'{axis} "{label}"' for axis, label in zip(chosen, one, strict=True))
                    for one, verdicts in by_label.items()
                    if verdicts == {HOLDS}
                ]
                if len(there) <= MOST_CONDITIONS:
                    return "where " + "; or ".join(there)
    held = [name for name, verdict in joint if verdict == HOLDS]
    return f"under {len(held)} of {len(joint)} readings, such as {held[0]}"


def _labels(sources: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Joint reading -> axis -> label."""
    several = []
    for source, readings in sources.items():
        one = experiments().get(source)
        if one is None:
            several.append([(name, {"reading": name}) for name, _ in readings])
            continue
        known = {one.reading_name(x): dict(zip(one.readings, x, strict=True)) for x in one.reading_labels()}
        several.append([(name, known.get(name, {"reading": name})) for name, _ in readings])
    return {
        ", ".join(name for name, _ in choice if name != ONLY) or ONLY: {k: v for _, x in choice for k, v in x.items()}
        for choice in itertools.product(*several)
    }


@dataclass(frozen=True)
class Summary:
    """What came out for a paper.

    Attributes
    ----------
    paper : Paper
    outcomes : tuple of Outcome   Of each statement, in the order of the file.
    verdicts : mapping            Claim -> verdict of the cell.
    first, best, worst : (held, decided)
        Of the statements that count, those that hold under one joint reading: the first, which is the most likely one,
        and those under which most and fewest hold. A joint reading takes one reading for each experiment and finding.
    """

    paper: Paper
    outcomes: tuple[Outcome, ...]
    verdicts: Mapping[str, str]
    first: tuple[int, int]
    best: tuple[int, int]
    worst: tuple[int, int]

    @property
    def in_order(self) -> list[Outcome]:
        """Statements, those of most weight first, and of each weight what failed on top."""
        return sorted(self.outcomes, key=lambda one: (WEIGHTS.index(one.statement.weight), _RANK.index(one.verdict)))

    @property
    def order(self) -> list[str]:
        """Claims, what failed on top."""
        return sorted(self.verdicts, key=lambda name: _RANK.index(self.verdicts[name]))

    @property
    def marks(self) -> dict[str, tuple[int, int]]:
        """Kind -> statements that hold, and those that are decided."""
        return marks(self.outcomes)

    @property
    def marks_in_words(self) -> str:
        """The marks, such as "derivations 5 of 8, directions 4 of 11, numbers 0 of 4"."""
        return ", ".join(f"{KINDS_IN_WORDS[kind]} {held} of {of}" for kind, (held, of) in self.marks.items())

    @property
    def readings_in_words(self) -> str:
        """The three joint readings, such as "first reading 12 of 19, best 15 of 20, worst 7 of 19"."""
        several = {"first reading": self.first, "best": self.best, "worst": self.worst}
        return ", ".join(f"{name} {held} of {of}" for name, (held, of) in several.items())


def marks(outcomes: Iterable[Outcome]) -> dict[str, tuple[int, int]]:
    """Kind -> statements that hold, and those that are decided, of those that count.

    >>> marks([])
    {'derivation': (0, 0), 'direction': (0, 0), 'number': (0, 0)}
    """
    counted = [one for one in outcomes if one.statement.weight in COUNTED]
    out = {}
    for kind in KINDS:
        verdicts = [one.verdict for one in counted if one.statement.kind == kind]
        out[kind] = (verdicts.count(HOLDS), sum(v in (HOLDS, CONDITIONS, FAILS) for v in verdicts))
    return out


def summaries(rows: Rows | None = None) -> dict[str, Summary]:
    """Summaries by paper, from decisions as JSON has them; by default from those recorded.

    Examples
    --------
    >>> list(summaries())
    ['sub_packet', 'logistic', 't_refwa', 'leap', 'mtcp']
    """
    rows = book.recorded()["rows"] if rows is None else rows
    out = {}
    for name, paper in book.ledger().papers.items():
        statements = [one for one in book.ledger().statements.values() if one.paper == name]
        outcomes = tuple(outcome(one, rows) for one in statements)
        verdicts = {c: str(rows.get(c, {}).get("verdict", "")) for c in book.claims(name)}
        decided = [one for one in statements if all(cell in rows for cell in one.cells)]
        out[name] = Summary(paper, outcomes, verdicts, *_joint(decided, rows))
    return out


def _joint(statements: Sequence[Statement], rows: Rows) -> list[tuple[int, int]]:
    """Statements that hold, and those decided, under the first, the best and the worst joint reading."""
    counted = [one for one in statements if one.weight in COUNTED]
    sources = _by_source([cell for one in counted for cell in one.cells], rows)

    def under(choice: Mapping[str, str], within: str = "") -> tuple[int, int]:
        verdicts = []
        for one in counted:
            cells = [(s, sources[s][r][cell]) for cell in one.cells for s, r in choice.items() if cell in sources[s][r]]
            if len(cells) == len(one.cells) and (not within or {s for s, _ in cells} == {within}):
                verdicts.append(_together([cell for _, cell in cells]))
        return verdicts.count(HOLDS), len(verdicts) - verdicts.count(OPEN)

    def score(source: str, reading: str) -> tuple[int, int]:
        held, decided = under({source: reading}, source)
        return held, held - decided

    first = {source: next(iter(readings)) for source, readings in sources.items()}
    best, worst = dict(first), dict(first)
    for source, readings in sources.items():
        scores = {reading: score(source, reading) for reading in readings}
        best[source], worst[source] = max(scores, key=scores.__getitem__), min(scores, key=scores.__getitem__)
    return [under(first), under(best), under(worst)]


def counts(verdicts: Iterable[str]) -> dict[str, int]:
    """How many have which verdict, in the order of `rules.VERDICTS`; verdicts that none has are left out.

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
    several = {HOLDS: "hold", CONDITIONS: "hold with conditions", FAILS: "do not hold"}
    return ", ".join(f"{n} {several.get(v, v) if n > 1 else v}" for v, n in counts(verdicts).items())
