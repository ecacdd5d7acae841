"""Why statements do not hold: a sentence whose numbers are those of runs and findings, read from the record.

In `reasons.toml` a reason names statements, its sentence has places such as {loss}, and each place names the number
that stands there: of a claim (under one reading, where `reading` names labels) or of a finding. A test asserts that
each number lies within the bounds for which the sentence was written.
"""

from __future__ import annotations

import functools
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from . import ledger as book

#: What stands where no run of ours explains a verdict.
NONE = "not explained"


@dataclass(frozen=True)
class Evidence:
    """A number of the record, and the bounds between which the sentence around it is true.

    Attributes
    ----------
    claim : str          The claim whose number it is.
    least, most : float  Bounds.
    reading : mapping    Labels of the reading whose number it is; by default the one on show.
    form : str           How it is written.
    """

    claim: str
    least: float
    most: float
    reading: Mapping[str, str]
    form: str = ".3g"

    def value(self, rows: Mapping[str, Mapping[str, Any]]) -> float:
        """The number; NaN where it was not decided.

        Examples
        --------
        >>> one = Evidence("leap.fig5.leap.timeout", 5.0, 5.0, {})
        >>> one.value({"leap.fig5.leap.timeout": {"model": {"mean": 5.0}, "readings": []}}), one.value({})
        (5.0, nan)
        """
        row = rows.get(self.claim, {})
        if self.reading:
            several = zip(row.get("labels", ()), row.get("readings", ()), strict=True)
            means = (mean for labels, (_, _, mean) in several if self.reading.items() <= labels.items())
            mean = next(means, None)
        else:
            mean = (row.get("packets") or row.get("model") or {}).get("mean")
        return math.nan if mean is None else float(mean)


@dataclass(frozen=True)
class Reason:
    """Why a statement does not hold, or holds with conditions.

    Attributes
    ----------
    statements : tuple of str
    kind : str    "reading" (what the paper leaves open), "erratum" (docs/theory.md), "itself" (the paper contradicts
        itself), "scale" (the law is an approximation), "packets" (an effect that the paper's model leaves out).
    reason : str  A sentence with a place in braces for each number.
    numbers : mapping   Place -> evidence.
    """

    statements: tuple[str, ...]
    kind: str
    reason: str
    numbers: Mapping[str, Evidence]

    def sentence(self, rows: Mapping[str, Mapping[str, Any]]) -> str:
        """The sentence with the numbers of a record, in per cent where the form says so."""
        written = {k: format(one.value(rows), one.form).replace("%", " %") for k, one in self.numbers.items()}
        return self.reason.format(**written)


@functools.cache
def reasons() -> dict[str, Reason]:
    """Reasons by statement; of a statement that several name, the first.

    >>> isinstance(reasons(), dict)
    True
    """
    out: dict[str, Reason] = {}
    for given in _table().get("reasons", ()):
        numbers = {place: Evidence(**({"reading": {}} | facts)) for place, facts in given.get("numbers", {}).items()}
        one = Reason(tuple(given["statements"]), given["kind"], given["reason"], numbers)
        for statement in one.statements:
            out.setdefault(statement, one)
    return out


def reason(statement: str, rows: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """Why a statement does not hold, with the numbers of a record (by default the package's); `NONE` without a reason.

    >>> reason("leap.mechanism")
    'not explained'
    """
    one = reasons().get(statement)
    return one.sentence(book.recorded()["rows"] if rows is None else rows) if one else NONE


def ours(paper: str) -> list[dict[str, str]]:
    """What we had wrong about a paper: `said`, `true` and the `run` that shows it.

    >>> sorted(ours("leap")[0])
    ['paper', 'run', 'said', 'true']
    """
    return [one for one in _table().get("ours", ()) if one["paper"] == paper]


@functools.cache
def _table() -> dict[str, Any]:
    path = resources.files(__package__).joinpath("reasons.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))
