"""Break models and mechanisms on purpose, one at a time, and see whether the ledger's statements turn.

    python tests/mutants.py [--only NAME ...] [--workers N] [--output FILE]

Each mutant of `mutants.toml` is a replaced text in a copy of the source, or other keys of scenarios (`changes`), or one
case run as another (`instead`). The statements that it names are decided there at the quick setting and beside those of
the unbroken source, with the same seeds. A statement turns if its verdict does; counted apart are those of which only a
cell's verdict turns (a statement that fails in several cells cannot do more), and those of which only a number leaves
the interval that it had. A statement that no mutant turns is listed: the ledger does not prove it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FILE = Path(__file__).with_name("mutants.toml")
#: What breaks turn, for whoever reads the ledger.
SENSITIVITY = ROOT / "paper_figures" / "sensitivity.json"
#: What a copy needs; the links in `src` lead to the others.
FOLDERS = ("apps", "models", "paper_figures", "solvers", "src", "validation")
#: Decides statements and prints what came out; the folder that holds the source stands first on the path.
CODE = """
import json, sys
from dataclasses import replace
from tcpdynamics.paper_figures import deciding, experiments, ledger, statements

asked = json.loads(sys.argv[1])
unbroken = experiments.get_experiment

def get_experiment(name):
    one = unbroken(name)
    instead = lambda axis, label: asked["instead"].get(axis, {}).get(label, label)
    cases = {axis: {x: labels[instead(axis, x)] for x in labels} for axis, labels in one.cases.items()}
    touched = lambda axis, labels: tuple(x for x in one.cases.get(axis, ()) if instead(axis, x) in labels)
    applies = {name: {axis: touched(axis, x) for axis, x in one.applies[name].items()} for name in one.applies}
    if not cases:
        quick = replace(one.quick, changes={**one.quick.changes, **asked["changes"]})
        return replace(one, quick=quick)
    last = list(cases)[-1]
    cases[last] = {label: {**keys, **asked["changes"]} for label, keys in cases[last].items()}
    return replace(one, cases=cases, applies=applies)

experiments.get_experiment = deciding.get_experiment = get_experiment
known = ledger.ledger().statements
claims = {}
for name in asked["statements"]:
    for cell in known[name].cells:
        claims[cell] = ledger.get_claim(cell)
data = {}
for name in dict.fromkeys(one.experiment for one in claims.values() if one.experiment):
    several = [one for one in claims.values() if one.experiment == name]
    several += [one for c in several for one in deciding._calibrating(c)]
    data[name] = experiments.run(name, "quick", cases=deciding.wanted_cases(*several))
rows = {}
for name, one in claims.items():
    rows[name] = deciding.decide(one, "quick", data=data.get(one.experiment)).document()
out = {}
for name in asked["statements"]:
    numbers = {c: rows[c]["packets"] or rows[c]["model"] for c in known[name].cells}
    cells = {c: [rows[c]["verdict"], x and x["low"], x and x["high"]] for c, x in numbers.items()}
    out[name] = [statements.outcome(known[name], rows).verdict, cells]
print(json.dumps(out))
"""
#: How a note begins where the verdict of a statement stays: that of a cell turned, or a number left its interval.
CELL, MOVED = "a cell's verdict:", "only a number:"
#: How one begins of a source that no longer runs.
ERROR = "error:"


@dataclass(frozen=True)
class Mutant:
    """One break.

    Attributes
    ----------
    name : str        A few words.
    statements : tuple   Statements that are decided; they should turn.
    file : str        From the root of the source; empty for a mutant of scenarios.
    old, new : str    The text that is replaced, once in the file, and what stands there instead.
    changes : mapping Keys of the scenarios of the statements -> what they become, in every case.
    instead : mapping Axis of cases -> label -> the label that is run in its place.
    """

    name: str
    statements: tuple[str, ...]
    file: str = ""
    old: str = ""
    new: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)
    instead: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def paper(self) -> str:
        return self.statements[0].partition(".")[0]

    @property
    def digest(self) -> str:
        """Changes with what is broken and what is decided."""
        return hashlib.sha256(json.dumps(vars(self), sort_keys=True).encode()).hexdigest()[:12]


def mutants() -> list[Mutant]:
    """The list in `mutants.toml`."""
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return [Mutant(**(one | {"statements": tuple(one["statements"])})) for one in table["mutants"]]


def insensitive() -> dict[str, str]:
    """Statements that nothing turns, and why."""
    return dict(tomllib.loads(FILE.read_text(encoding="utf-8"))["insensitive"])


def check(mutant: Mutant) -> None:
    """Raise ValueError if it changes nothing, or if the text to replace does not stand once in its file."""
    if not mutant.file and not mutant.changes and not mutant.instead:
        raise ValueError(f"{mutant.name} changes nothing")
    if mutant.file:
        text = (ROOT / mutant.file).read_text(encoding="utf-8")
        if text.count(mutant.old) != 1 or mutant.old == mutant.new:
            raise ValueError(
                f"{mutant.name}: the text stands {text.count(mutant.old)} times in {mutant.file}, must be once"
            )


def decided(root: Path, statements: tuple[str, ...], mutant: Mutant | None = None) -> dict[str, list[Any]]:
    """Verdict and cells of statements, by the source in a folder; what is compiled is kept in it."""
    path = os.pathsep.join([str(root / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(root / "numba")}
    asked = {
        "statements": statements,
        "changes": dict(mutant.changes) if mutant else {},
        "instead": dict(mutant.instead) if mutant else {},
    }
    done = subprocess.run(
        [sys.executable, "-c", CODE, json.dumps(asked)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=3000,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {name: [f"{ERROR} {last[:100]}", {}] for name in statements}
    out: dict[str, list[Any]] = json.loads(done.stdout.splitlines()[-1])
    return out


def copied(place: Path) -> Path:
    """A copy of the source. Machine code is kept by the path of its source: a worker's copy stays where it is."""
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, place / folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    return place


def broken(mutant: Mutant, root: Path) -> dict[str, list[Any]]:
    """Verdicts with a mutant in a copy of the source, which is mended after."""
    if not mutant.file:
        return decided(root, mutant.statements, mutant)
    path = root / mutant.file
    text, times = path.read_text(encoding="utf-8"), path.stat()
    try:
        path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
        return decided(root, mutant.statements, mutant)
    finally:
        path.write_text(text, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def turned(before: list[Any], after: list[Any]) -> str:
    """What a statement notices: "" for nothing."""
    (old, cells), (new, others) = before, after
    if old != new:
        return f"{old} -> {new}"
    for name, (was, low, high) in cells.items():
        now, lowest, highest = others[name]
        if was != now:
            return f"{CELL} {name}: {was} -> {now}"
        if None not in (low, high, lowest, highest):
            slack = 1e-9 * (abs(low) + abs(high))
            if lowest > high + slack or highest < low - slack:
                return f"{MOVED} {name}: {low:.4g} to {high:.4g} -> {lowest:.4g} to {highest:.4g}"
    return ""


def is_turned(note: str) -> bool:
    """Whether a note is of a statement's verdict that turned.

    >>> is_turned("holds -> does not hold"), is_turned("only a number: x"), is_turned("holds -> error: TypeError")
    (True, False, False)
    """
    return bool(note) and not note.startswith((CELL, MOVED)) and ERROR not in note


def main() -> None:
    """Run mutants and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], help="names of mutants, statements or papers")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path, help="JSON of what came out; what stands there already is not run again")
    words = parser.parse_args()
    chosen = [m for m in mutants() if not words.only or {m.name, m.paper, *m.statements} & set(words.only)]
    for mutant in chosen:
        check(mutant)
    kept: dict[str, Any] = {"unbroken": {}, "mutants": {}}
    if words.output and words.output.is_file():
        kept = json.loads(words.output.read_text())
    before, known = kept["unbroken"], kept["mutants"]

    def keep() -> None:
        if words.output:
            words.output.write_text(json.dumps(kept, indent=1))

    with tempfile.TemporaryDirectory(prefix="mutants") as place, ThreadPoolExecutor(words.workers) as pool:
        copies: queue.Queue[Path] = queue.Queue()
        for i in range(words.workers):
            copies.put(copied(Path(place, str(i))))
        to_run = [m for m in chosen if known.get(m.name, {}).get("digest") != m.digest]
        wanted = dict.fromkeys(s for m in to_run for s in m.statements if s not in before)
        by_paper: dict[str, list[str]] = {}
        for statement in wanted:
            by_paper.setdefault(statement.partition(".")[0], []).append(statement)

        def with_copy(task: Callable[[Path], dict[str, list[Any]]]) -> dict[str, list[Any]]:
            root = copies.get()
            try:
                return task(root)
            finally:
                copies.put(root)

        for came in pool.map(lambda names: with_copy(lambda root: decided(root, tuple(names))), by_paper.values()):
            before.update(came)
            keep()
        results = pool.map(lambda mutant: with_copy(lambda root: broken(mutant, root)), to_run)
        for mutant, after in zip(to_run, results, strict=True):
            notes = {name: turned(before[name], after[name]) for name in mutant.statements}
            known[mutant.name] = {"digest": mutant.digest, "notes": notes}
            listed = "; ".join(f"{name}: {note or 'nothing'}" for name, note in notes.items())
            print(f"{mutant.name}: {listed}", flush=True)
            keep()
    if words.output:
        SENSITIVITY.write_text(json.dumps(sensitivity(known), indent=1) + "\n")
    print(summary({m.name: known[m.name] for m in chosen}))


def sensitivity(known: Mapping[str, Any]) -> dict[str, str]:
    """Statement -> the most that turns: its verdict, that of a cell, a number, or nothing (insensitive).

    >>> notes = [{"a": "holds -> does not hold", "b": ""}, {"b": "only a number: b"}]
    >>> list(sensitivity({str(i): {"notes": one} for i, one in enumerate(notes)}).values())
    ['verdict', 'number', 'nothing']
    """
    most = dict.fromkeys((*insensitive(), *(name for one in known.values() for name in one["notes"])), 0)
    for name, note in (pair for one in known.values() for pair in one["notes"].items()):
        rank = 3 if is_turned(note) else 2 * note.startswith(CELL) + note.startswith(MOVED)
        most[name] = max(most[name], rank)
    return {name: ("nothing", "number", "cell", "verdict")[rank] for name, rank in sorted(most.items())}


def summary(known: Mapping[str, Any]) -> str:
    """How many statements turned, by what, and which did not.

    >>> summary({"x": {"notes": {"a": "holds -> does not hold", "b": ""}}, "y": {"notes": {"b": "only a number: b"}}})
    '1 of 2 statements turned; of 0 more a cell, of 1 more a number alone; not turned: b (a number)'
    """
    notes = [pair for one in known.values() for pair in one["notes"].items()]
    every = dict.fromkeys(name for name, _ in notes)
    turning = {name for name, note in notes if is_turned(note)}
    by_cell = {name for name, note in notes if note.startswith(CELL)} - turning
    by_number = {name for name, note in notes if note.startswith(MOVED)} - turning - by_cell
    named = [f"{s}{' (a cell)' * (s in by_cell)}{' (a number)' * (s in by_number)}" for s in every if s not in turning]
    return (
        f"{len(turning)} of {len(every)} statements turned; of {len(by_cell)} more a cell, of {len(by_number)} more a "
        f"number alone; not turned: {', '.join(named) or 'none'}"
    )


if __name__ == "__main__":
    main()
