"""Make the record: decide the claims of papers at the full setting, and write the `recorded.json` of each.

    python -m tcpdynamics.paper_figures.record [--added | --ns2] STORES [PAPER | EXPERIMENT ...]

It takes hours. What has run is kept in the folder STORES; killed, the same command goes on there. It needs a commit
without changes beside it, later than the one that fixed the paper's protocol. With --added it decides the claims that
the record lacks and keeps the others, which it does where the protocol is the recorded one but for what is new; that
the code still has the recorded numbers is what the tests compare. With --ns2 it fills the column of ns-2 in
what is recorded, an experiment at a time (of papers those that changed, or those that are named): runs of the first
reading, which decide nothing.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from importlib import resources
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from .deciding import beside
from .experiments import experiments, run
from .ledger import claims, digest, ledger, record
from .papers import PAPERS
from .protocol import seal
from .whole import commit, decide_all, made, store_of


def main(*words: str) -> None:
    """Run the papers, all of them where none is named."""
    stores, *names = [word for word in words if word not in _WAYS] or [""]
    if not stores:
        sys.exit("record: STORES is missing; give a folder")
    if all(word in words for word in _WAYS):
        sys.exit(f"record: {' and '.join(_WAYS)} are different runs; give one")
    named = experiments() if "--ns2" in words else ()
    if unknown := [name for name in names if name not in (*PAPERS, *named)]:
        sys.exit(f"record: PAPER must be one of {', '.join(PAPERS)}, or with --ns2 an experiment, got {unknown[0]!r}")
    if not commit() or commit().endswith("+"):
        sys.exit("record: files differ from the commit, or there is none; commit first")
    make = next((way for word, way in _WAYS.items() if word in words), _decided)
    for paper in dict.fromkeys(name.partition(".")[0] for name in names or PAPERS):
        if seal(paper) != ledger().fixed[paper]["sealed"]:
            sys.exit(f"record: the protocol of {paper} is not sealed (python -m tcpdynamics.paper_figures.seal)")
        path = Path(str(resources.files(__package__).joinpath(paper, "recorded.json")))
        with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as executor:
            for document in make(paper, [name for name in names if name in named], Path(stores), executor):
                path.write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")


def _decided(paper: str, _: Sequence[str], stores: Path, executor: Executor) -> Iterable[dict[str, Any]]:
    yield decide_all("full", [paper], stores=stores, executor=executor, progress=_say).document()


def _unharmed(paper: str) -> dict[str, Any]:
    """What is recorded, or the end of the command where a number of it was changed since."""
    document = record(paper)
    if document["made"]["digest"] != digest(document["rows"]):
        sys.exit(f"record: {paper}/recorded.json holds other numbers than those that were recorded; take it from git")
    return document


def _with_added(paper: str, _: Sequence[str], stores: Path, executor: Executor) -> Iterable[dict[str, Any]]:
    """What is recorded, with the claims that it lacks; `made.added` has date and commit of the run."""
    document = _unharmed(paper)
    rows, before = document["rows"], document["made"]
    new = tuple(name for name in claims(paper) if name not in rows)
    if not new or set(rows) - set(claims(paper)):
        sys.exit(f"record: --added is for claims that {paper}'s record lacks, where it has all others")
    if before["protocol"] != {paper: seal(paper, new)}:
        sys.exit(f"record: more than new claims changed since {paper} was recorded; record it without --added")
    done = decide_all("full", [paper], only=new, stores=stores, executor=executor, progress=_say).document()
    rows |= done["rows"]
    made = before | {
        "protocol": done["made"]["protocol"],
        "probes": done["made"]["probes"] | before["probes"],  # those of before are what the kept rows were made with
        "added": [*before.get("added", ()), {k: done["made"][k] for k in _MADE} | {"claims": new}],
        "digest": digest(rows),
    }
    yield {"made": made, "rows": {name: rows[name] for name in claims(paper)}}


def _with_ns2(paper: str, names: Sequence[str], stores: Path, executor: Executor) -> Iterable[dict[str, Any]]:
    """What is recorded, with what ns-2 has for the claims of one more experiment each time; those of today are kept."""
    document = _unharmed(paper)
    stores.mkdir(parents=True, exist_ok=True)
    known = document["made"].setdefault("ns2", {})
    for name, one in experiments().items():
        fingerprint = one.fingerprint("full")
        if one.paper != paper or known.get(name, {}).get("fingerprint") == fingerprint or (names and name not in names):
            continue
        store = store_of(stores, name, "full", "ns2")
        data = run(name, "full", engine="ns2", store=store, executor=executor, progress=partial(_say, name)).load()
        for claim in [one for one in claims(paper).values() if one.experiment == name]:
            number = beside(claim, data)
            document["rows"][claim.id]["ns2"] = number and asdict(number)
        how = made("full", 0.0, [paper])
        known[name] = {key: how[key] for key in ("date", "commit")} | {"fingerprint": fingerprint}
        yield document | {"made": document["made"] | {"digest": digest(document["rows"])}}


#: Facts of the run that added claims.
_MADE = ("date", "commit", "seconds", "machine", "libraries")
Way = Callable[[str, Sequence[str], Path, Executor], Iterable[dict[str, Any]]]
_WAYS: Mapping[str, Way] = {"--added": _with_added, "--ns2": _with_ns2}


def _say(name: str, share: float) -> None:
    print(f"\r{share:6.1%} {name:40}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
