"""The protocol: all that decides claims, sealed before the runs; what was amended since; and whether the record fits.

Sealed are the statements and their cells, the experiments (scenarios, cases, readings, settings), and the code of the
rules. What code measures is compared by its numbers: the record holds those of the setting "tiny" (`probes`).
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import tomllib
from collections.abc import Collection, Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from . import ledger as book
from . import rules
from .experiments import SETTINGS, Experiment, experiments
from .papers import PAPERS
from .statements import COUNTED

if TYPE_CHECKING:
    import xarray as xr

#: Functions and classes whose code is sealed: rules of a cell, of a claim over readings, of a statement over cells.
SEALED = {
    "rules": ("Range", "interval", "width", "enough", "decided", "verdict", "over_readings", "on_both_sides"),
    "deciding": ("by_readings", "_judged", "_merged", "_allowed", "_calibrating", "wanted_cases"),
    "statements": (
        "outcome", "deciding_cells", "_readings", "_joined", "_together", "_may_lie_between", "_on_both_sides", "marks",
    ),
}  # fmt: skip


@functools.cache
def seal(paper: str, without: Collection[str] = ()) -> str:
    """A digest of all that decides the claims of a paper, whatever its order in the files; `without` some of them.

    >>> len(seal("leap"))
    64
    """
    text = json.dumps(facts(paper, without), default=_plain, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def facts(paper: str, without: Collection[str] = ()) -> dict[str, Any]:
    """All that is sealed of a paper, by kind and name; `without` some claims, and what is there for them only."""
    ledger = book.ledger()
    claims = {name: one for name, one in book.claims(paper).items() if name not in without}
    gone = {book.get_claim(name).experiment for name in without} - {one.experiment for one in claims.values()}
    statements = {name: (one, sorted(set(one.cells) - set(without))) for name, one in ledger.statements.items()}
    return {
        "claims": {name: one.deciding() for name, one in claims.items()},
        "statements": {
            name: [one.says, one.weight, one.kind, cells]
            for name, (one, cells) in statements.items()
            if one.paper == paper and cells
        },
        "experiments": {
            name: _experiment(one) for name, one in experiments().items() if one.paper == paper and name not in gone
        },
        "constants": [rules.ERRORS, rules.WIDER, COUNTED],
        "code": {
            name: _code(resources.files(__package__).joinpath(f"{name}.py").read_text("utf-8"), functions)
            for name, functions in SEALED.items()
        },
    }


def _experiment(one: Experiment) -> list[Any]:
    scenario = book.read_table(one.path)
    settings = [vars(one.setting(name)) for name in SETTINGS]
    return [
        scenario, one.cases, one.readings, one.applies, one.one_at_a_time, sorted(one.measures), settings, one.seed,
    ]  # fmt: skip


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)


def _code(source: str, names: Sequence[str]) -> dict[str, str]:
    """The text of some functions and classes of a module, without their docstrings and white space.

    >>> _code("def f():\\n    return 1", ["f"]) == _code("def f(): return  1", ["f"])
    True
    """
    out, lines = {}, source.encode().splitlines(keepends=True)

    def text_of(node: ast.stmt) -> str:
        """As `ast.get_source_segment`, which splits the whole source into lines each time."""
        part = lines[node.lineno - 1 : node.end_lineno]
        part[-1] = part[-1][: node.end_col_offset]
        part[0] = part[0][node.col_offset :]
        return b"".join(part).decode()

    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in names:
            text = text_of(node)
            for one in (node, *node.body):
                if isinstance(one, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(one):
                    text = text.replace(text_of(one.body[0]), "")
            out[node.name] = "".join(text.split())
    return out


def changed() -> list[str]:
    """What is not as it was fixed or recorded, a sentence each: the protocol, the record.

    >>> changed()
    []
    """
    out = []
    for paper, fixed in book.ledger().fixed.items():
        record = book.record(paper)
        if seal(paper) != fixed["sealed"]:
            out.append(
                f"{paper}: claims, experiments or rules are other ones than those that commit "
                f"{fixed.get('amended', fixed['committed'])} fixed: the record was made with those, and "
                "what is decided now is not the ledger's"
            )
        elif record["rows"] and record["made"]["protocol"] != {paper: fixed["sealed"]}:
            out.append(f"{paper}: recorded.json was made by another protocol than this one")
        if record["rows"] and record["made"].get("digest") != book.digest(record["rows"]):
            out.append(f"{paper}: recorded.json holds other numbers than those that were recorded")
    return out


def amendments() -> list[dict[str, Any]]:
    """What was changed against the first protocol, or after results were known: an entry each, by paper.

    Each has `date`, `claims` (ids or patterns), `old`, `new` and `why`; `after` is true where results of the second
    protocol were known.

    >>> {"date", "claims", "old", "new", "why"} <= set(amendments()[0])
    True
    """
    out = []
    for paper in PAPERS:
        path = resources.files(__package__).joinpath(paper, "amendments.toml")
        table = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        out += [{"paper": paper, "after": False} | one for one in table.get("amendments", ())]
    return out


@functools.cache
def first_record() -> dict[str, str]:
    """What came out by the first protocol: claim -> verdict.

    >>> first_record()["leap.fig5.leap.timeout"]
    'holds'
    """
    path = resources.files(__package__).joinpath("first_record.json")
    table: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return table


def probes(results: Mapping[str, xr.Dataset]) -> dict[str, dict[str, float | None]]:
    """Numbers by which the code that measures is compared: each measure's mean over a run of all cases."""
    return {
        name: {measure: _mean(data[measure].values) for measure in sorted(map(str, data.data_vars))}
        for name, data in results.items()
    }


def _mean(values: np.ndarray) -> float | None:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else None
