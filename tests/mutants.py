"""Break the models and mechanisms on purpose, one at a time, and see whether the ledger turns.

    python tests/mutants.py [--only NAME ...] [--workers N] [--output FILE]

Each mutant of `mutants.toml` is one replaced text in a copy of the source; the claims that it names are decided there
at the quick setting and beside those of the unbroken source, with the same seeds. A claim notices it if its verdict
turns or its finding is no longer borne out; else, and counted apart, if its number leaves the interval that it had. A
mutant that no claim notices is listed: the ledger does not prove what it broke.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FILE = Path(__file__).with_name("mutants.toml")
#: What a copy needs; the links in `src` lead to the others.
FOLDERS = ("apps", "models", "paper_figures", "solvers", "src", "validation")
#: Decides claims and prints what came out; the folder that holds the source stands first on the path.
CODE = """
import json, sys
from tcpdynamics.paper_figures import deciding, ledger
out = {}
for name in sys.argv[1:]:
    try:
        came = deciding.decide(ledger.get_claim(name), "quick")
        number = came.packets or came.model
        out[name] = [came.verdict, came.supported, number.low, number.high]
    except Exception as error:
        out[name] = ["error: " + type(error).__name__, None, 0.0, 0.0]
print(json.dumps(out))
"""


#: How a note begins that a number has left its interval, while the verdict stays.
MOVED = "number was"


@dataclass(frozen=True)
class Mutant:
    """One break.

    Attributes
    ----------
    name : str        A few words.
    paper : str
    file : str        From the root of the source.
    old, new : str    The text that is replaced, once in the file, and what stands there instead.
    claims : tuple    Claims that are decided; they should turn.
    """

    name: str
    paper: str
    file: str
    old: str
    new: str
    claims: tuple[str, ...]


def mutants() -> list[Mutant]:
    """The list in `mutants.toml`."""
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return [Mutant(**(one | {"claims": tuple(one["claims"])})) for one in table["mutants"]]


def check(mutant: Mutant) -> None:
    """Raise ValueError if the text to replace does not stand once in its file."""
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    if text.count(mutant.old) != 1 or mutant.old == mutant.new:
        raise ValueError(
            f"{mutant.name}: the text stands {text.count(mutant.old)} times in {mutant.file}, must be once"
        )


def decided(root: Path, claims: tuple[str, ...]) -> dict[str, list[Any]]:
    """Verdicts of claims, by the source in a folder; what is compiled is kept in it."""
    environment = os.environ | {"PYTHONPATH": str(root / "src"), "NUMBA_CACHE_DIR": str(root / "numba")}
    done = subprocess.run(
        [sys.executable, "-c", CODE, *claims],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=3000,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {name: [f"error: {last[:100]}", None, 0.0, 0.0] for name in claims}
    out: dict[str, list[Any]] = json.loads(done.stdout.splitlines()[-1])
    return out


def copied(place: Path) -> Path:
    """A copy of the source. Machine code is kept by the path of its source: a worker's copy stays where it is."""
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, place / folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    return place


def broken(mutant: Mutant, root: Path) -> dict[str, list[Any]]:
    """Verdicts with a mutant in a copy of the source, which is mended after."""
    path = root / mutant.file
    text, times = path.read_text(encoding="utf-8"), path.stat()
    try:
        path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
        return decided(root, mutant.claims)
    finally:
        path.write_text(text, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def turned(before: list[Any], after: list[Any]) -> str:
    """What a claim notices: "" for nothing."""
    (old, bore, low, high), (new, bears, lowest, highest) = before, after
    if old != new:
        return f"{old} -> {new}"
    if bore is not bears:
        return "its finding is not borne out"
    slack = 1e-9 * (abs(low) + abs(high))
    if lowest > high + slack or highest < low - slack:
        return f"{MOVED} {low:.4g} to {high:.4g}, now {lowest:.4g} to {highest:.4g}"
    return ""


def main() -> None:
    """Run mutants and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], help="names of mutants, or of papers")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path, help="JSON of what came out; what stands there already is not run again")
    words = parser.parse_args()
    chosen = [m for m in mutants() if not words.only or m.name in words.only or m.paper in words.only]
    for mutant in chosen:
        check(mutant)
    known: dict[str, Any] = {}
    if words.output and words.output.is_file():
        known = json.loads(words.output.read_text())
    with tempfile.TemporaryDirectory(prefix="mutants") as place:
        copies: queue.Queue[Path] = queue.Queue()
        for i in range(words.workers):
            copies.put(copied(Path(place, str(i))))
        every = tuple(dict.fromkeys(claim for m in chosen if m.name not in known for claim in m.claims))
        before = decided(copies.queue[0], every) if every else {}

        def one(mutant: Mutant) -> tuple[Mutant, dict[str, Any]]:
            if mutant.name in known:
                return mutant, known[mutant.name]
            root = copies.get()
            after = broken(mutant, root)
            copies.put(root)
            noticed = {c: note for c in mutant.claims if (note := turned(before[c], after[c]))}
            return mutant, {"paper": mutant.paper, "turned": noticed}

        with ThreadPoolExecutor(words.workers) as pool:
            for mutant, came in pool.map(one, chosen):
                known[mutant.name] = came
                notes = came["turned"]
                said = "NOT NOTICED" if not notes else "moved" if _only_moved(notes) else "turned"
                listed = "; ".join(f"{c}: {note}" for c, note in notes.items())
                print(f"{said:12} {mutant.paper:10} {mutant.name}: {listed}", flush=True)
                if words.output:
                    words.output.write_text(json.dumps(known, indent=1))
    every = [known[m.name]["turned"] for m in chosen]
    noticed, moved = sum(map(bool, every)), sum(bool(notes) and _only_moved(notes) for notes in every)
    print(f"{noticed} of {len(chosen)} mutants noticed, {moved} of them only by a number that left its interval")


def _only_moved(notes: dict[str, str]) -> bool:
    return all(note.startswith(MOVED) for note in notes.values())


if __name__ == "__main__":
    main()
