"""Verdicts of statements: whether all cells hold under one and the same reading; and the marks of a paper.

A *reading* is one choice for all that a paper leaves open in an experiment, or in a finding. A statement's cells are
decided one by one (`deciding`); here they are put together, reading by reading.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from . import ledger as book
from .deciding import name_of
from .ledger import KINDS, WEIGHTS, Paper, Statement
from .rules import CONDITIONS, FAILS, HOLDS, OPEN, VERDICTS, on_both_sides, over_readings

#: Rows of decisions, as JSON has them: claim -> verdict, readings and numbers.
Rows = Mapping[str, Mapping[str, Any]]
#: A reading, or a part of one: axis -> label.
Labels = Mapping[str, str]
#: Weights that count for a mark.
COUNTED = ("central", "supporting")
#: Kinds of statements, several of them.
KINDS_IN_WORDS = dict(zip(KINDS, ("derivations", "comparisons", "numbers"), strict=True))
#: What `marks` counts, in the words that stand wherever a mark does.
MARKS = (
    "Marks count statements: those that hold, of those decided. One holds if its cells do under each interpretation "
    "that decides; under some only, it is decided and not held. If most decide nothing, or all fail on both sides of a "
    "printed number, it cannot be decided. Marks omit these, arithmetic and calibrating ones."
)
#: Verdicts of several statements, in the words that stand wherever statements are counted.
SEVERAL = {HOLDS: "hold", CONDITIONS: "hold with conditions", FAILS: "do not hold", OPEN: OPEN}
#: What failed on top.
_RANK = (FAILS, CONDITIONS, OPEN, HOLDS, "")
#: A condition in words has so many parts at most.
MOST_CONDITIONS = 3
#: What stands for a verdict where there is none.
NOT_YET = "not decided yet"
#: Axes whose names are short in experiments, in the words of the explorer's pages.
AXES = {
    "Upsilon(n-1)": "the total window of the interval before (Upsilon)",
    "most of Upsilon": "the largest total window (Upsilon)", "Westwood": "the version of Westwood",
    "beta": "the timeout over the estimated time (beta)", "floor": "the minimum timeout",
    "lists": "what removes a segment from a route's list", "age of A_i": "the age of the measurement",
    "others": "what is measured of the others", "measured": "the measured capacity", "packets": "the packet size",
    "nodes": "the traffic of the nodes", "LEAP on": "the sender with LEAP", "starts": "the time of all starts",
    "RED": "the setting of RED", "SFQ": "the drop of SFQ",
}  # fmt: skip
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
    labels : tuple of mappings            Axis -> label of each of these.
    """

    statement: Statement
    verdict: str
    condition: str = ""
    readings: tuple[tuple[str, str], ...] = ()
    labels: tuple[Labels, ...] = ()


def outcome(statement: Statement, rows: Rows) -> Outcome:
    """Put the cells of a statement together.

    Examples
    --------
    >>> first = book.ledger().statements["leap.mechanism"]
    >>> row = {"verdict": "holds", "readings": []}
    >>> outcome(first, dict.fromkeys(first.cells, row)).verdict, outcome(first, {}).verdict
    ('holds', '')
    """
    cells = deciding_cells(statement)
    if any(name not in rows for name in cells):
        return Outcome(statement, "")
    joint = [(labels, _together(several)) for labels, several in _joined([_readings(rows[name]) for name in cells])]
    verdict, _ = over_readings([verdict for _, verdict in joint])
    if verdict == FAILS and _may_lie_between(cells, rows):
        verdict = OPEN
    condition = _condition(joint) if verdict == CONDITIONS else ""
    named = tuple((name_of(labels) if labels else ONLY, verdict) for labels, verdict in joint)
    return Outcome(statement, verdict, condition, named, tuple(labels for labels, _ in joint))


def deciding_cells(statement: Statement) -> list[str]:
    """Cells of a statement but for those that calibrate."""
    return [name for name in statement.cells if not book.get_claim(name).calibrates]


def _readings(row: Mapping[str, Any]) -> list[tuple[Labels, Cell]]:
    """A decided cell under each of its readings, by their labels."""
    if not row["readings"]:
        return [({}, Cell(str(row["verdict"]), math.nan))]
    return [
        (labels, Cell(str(verdict), math.nan if mean is None else float(mean)))
        for labels, (_, verdict, mean) in zip(row["labels"], row["readings"], strict=True)
    ]


def _joined(cells: Iterable[list[tuple[Labels, Cell]]]) -> list[tuple[Labels, tuple[Cell, ...]]]:
    """Joint readings: all combinations in which an axis has one and the same label in each cell that has the axis."""
    joint: list[tuple[Labels, tuple[Cell, ...]]] = [({}, ())]
    for readings in cells:
        joint = [
            ({**labels, **others}, (*several, cell))
            for labels, several in joint
            for others, cell in readings
            if all(labels.get(axis, label) == label for axis, label in others.items())
        ]
    return joint


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


def _condition(joint: Sequence[tuple[Labels, str]]) -> str:
    """Where a statement holds, or where alone it does not: labels of up to three axes that separate these readings.

    Where none do, how many readings hold, and labels of up to two axes with which all hold, or none.
    """
    decided = [(labels, verdict) for labels, verdict in joint if verdict != OPEN]
    axes = sorted({axis for one, _ in decided for axis in one})
    certain: dict[str, str] = {}
    most = dict.fromkeys((HOLDS, FAILS), 0)
    for count in (1, 2, 3):
        for chosen in itertools.combinations(axes, count):
            by_label: dict[tuple[str, ...], list[str]] = {}
            for one, verdict in decided:
                by_label.setdefault(tuple(one.get(axis, "") for axis in chosen), []).append(verdict)
            named = {
                ", ".join(
                    label_in_words(axis, label) for axis, label in zip(chosen, one, strict=True) if label
                ): verdicts
                for one, verdicts in by_label.items()
            }
            if "" not in named and all(len({*verdicts}) == 1 for verdicts in by_label.values()):
                for begin, wanted in (("where ", HOLDS), ("except where ", FAILS)):
                    there = [words for words, verdicts in named.items() if verdicts[0] == wanted]
                    if len(there) <= MOST_CONDITIONS:
                        return begin + "; or ".join(there)
            for words, verdicts in named.items():
                if words and count < 3 and len({*verdicts}) == 1 and len(verdicts) > most[verdicts[0]]:
                    most[verdicts[0]], certain[verdicts[0]] = len(verdicts), words
    parts = [f"under {sum(verdict == HOLDS for _, verdict in joint)} of {len(joint)} interpretations"]
    parts += [f"{often} where {certain[v]}" for often, v in (("always", HOLDS), ("never", FAILS)) if v in certain]
    return ", ".join(parts)


def label_in_words(axis: str, label: str) -> str:
    """What a condition says of one axis.

    >>> label_in_words("one-way times", "alike"), label_in_words("floor", "none")
    ('one-way times are "alike"', 'the minimum timeout is "none"')
    """
    words = AXES.get(axis, axis)
    several = re.split(" of | and | without | removes ", words)[0].endswith("s")
    return f'{words} {"are" if several else "is"} "{label}"'


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
        and the best and the worst that were found. A joint reading has one label for each axis of the paper.
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
        """The marks, such as "derivations 5 of 8, comparisons 4 of 11, numbers 0 of 4"; `NOT_YET` without a verdict."""
        if not any(one.verdict for one in self.outcomes):
            return NOT_YET
        return ", ".join(f"{KINDS_IN_WORDS[kind]} {held} of {of}" for kind, (held, of) in self.marks.items() if of)

    @property
    def readings_in_words(self) -> str:
        """The three joint interpretations, such as "first interpretation 12 of 19, best 15 of 20, worst 7 of 19"."""
        several = {"first interpretation": self.first, "best": self.best, "worst": self.worst}
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
        out[name] = Summary(paper, outcomes, verdicts, *_joint(outcomes))
    return out


def _joint(outcomes: Sequence[Outcome]) -> tuple[tuple[int, int], ...]:
    """Statements that hold, and those decided, under the first, the best and the worst joint reading.

    The best and the worst are searched from the first one on, an axis at a time, until no other label is better; under
    each of them all these statements were run.
    """
    counted = [
        list(zip(one.labels, (verdict for _, verdict in one.readings), strict=True))
        for one in outcomes
        if one.statement.weight in COUNTED and one.verdict
    ]
    axes: dict[str, dict[str, None]] = {}
    for labels in (labels for readings in counted for labels, _ in readings):
        for axis, label in labels.items():
            axes.setdefault(axis, {})[label] = None

    def under(choice: Labels) -> tuple[int, int]:
        verdicts = [_under(choice, readings) for readings in counted]
        return verdicts.count(HOLDS), sum(verdict in (HOLDS, FAILS) for verdict in verdicts)

    def searched(sign: int) -> tuple[int, int]:
        best = {axis: next(iter(labels)) for axis, labels in axes.items()}

        def score(choice: Labels) -> tuple[float, int]:
            if any(_under(choice, readings) == "" for readings in counted):
                return -math.inf, 0  # not run
            held, decided = under(choice)
            return sign * held, sign * (held - decided)

        while True:
            near = [best | {axis: label} for axis, labels in axes.items() for label in labels]
            better = max(near, key=score, default=best)
            if not near or score(better) <= score(best):
                return under(best)
            best = better

    return under({axis: next(iter(labels)) for axis, labels in axes.items()}), searched(1), searched(-1)


def _under(choice: Labels, readings: Sequence[tuple[Labels, str]]) -> str:
    """The verdict of a statement under a joint reading of the paper; empty where that was not run."""
    fits = (verdict for labels, verdict in readings if all(choice[axis] == label for axis, label in labels.items()))
    return next(fits, "")


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
    return ", ".join(f"{n} {v if n == 1 else SEVERAL[v]}" for v, n in counts(verdicts).items())
