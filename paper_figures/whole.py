"""The whole ledger at once: every experiment is run, every finding solved, every claim decided."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import subprocess
import time
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpdynamics import __version__
from tcpdynamics.later import xr

from . import ledger as book
from .deciding import Decision, _calibrating, decide, solve_aside, solved, undecided, wanted_cases
from .experiments import JUDGES, get_experiment, run, run_on
from .ledger import Claim
from .papers import PAPERS
from .protocol import probes, seal

if TYPE_CHECKING:
    from concurrent.futures import Executor

#: Libraries whose versions stand beside results.
_LIBRARIES = ("numpy", "scipy", "numba", "xarray", "sympy")


@dataclass(frozen=True)
class Whole:
    """Decisions by claim, results by experiment (those of each judge apart), and what made them."""

    decisions: dict[str, Decision]
    results: dict[str, xr.Dataset]
    judges: dict[str, dict[str, xr.Dataset]] = field(default_factory=dict)
    made: dict[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """As JSON has it: the file `ledger.json` of an output folder, and `recorded.json` of a paper."""
        rows = {name: one.document() for name, one in self.decisions.items()}
        return {"made": self.made | {"digest": book.digest(rows)}, "rows": rows}


def decide_all(
    setting: str = "quick",
    papers: Iterable[str] = (),
    *,
    only: Container[str] | None = None,
    stores: Path | None = None,
    judges: Sequence[str] = (),
    executor: Executor | None = None,
    progress: Callable[[str, float], None] = lambda name, share: None,
) -> Whole:
    """Decide all claims, or those of some papers.

    Parameters
    ----------
    setting : "tiny", "quick" or "full"
    papers : names, optional
    only : claims to decide, by id, optional
    stores : folder, optional
        Each experiment has a store in it, and a run that was killed goes on where it was.
    judges : sequence of "ns2", "linux"
        Who runs the packets beside the simulator, where an experiment asks for it and they can.
    executor : concurrent.futures.Executor, optional
        Who shares the work of an experiment and solves findings; by default threads, and this one.
    progress : callable
        Gets the name of what is running and the share of all experiments that is done, in [0, 1].

    Raises
    ------
    DomainError, StoreError
        A setting or a paper that is not known; a store of something else.

    Examples
    --------
    >>> whole = decide_all("tiny", ["mtcp"])
    >>> set(whole.decisions) == set(book.claims("mtcp"))
    True
    """
    began = time.perf_counter()
    chosen = set(papers)
    for paper in chosen:
        book.claims(paper)
    claims = {n: c for n, c in book.claims().items() if not chosen or c.paper in chosen}
    claims = {n: c for n, c in claims.items() if only is None or n in only}
    names = list(dict.fromkeys(c.experiment for c in claims.values() if c.experiment))
    judged = [n for n in names if get_experiment(n).judged]
    rounds = [(name, "packets") for name in names] + [(name, judge) for judge in judges for name in judged]
    results: dict[tuple[str, str], xr.Dataset] = {}
    if stores is not None:
        stores.mkdir(parents=True, exist_ok=True)
    findings = list(dict.fromkeys(c.finding for c in claims.values() if c.finding))
    wait = None if executor is None else solve_aside(findings, executor)
    for i, (name, engine) in enumerate(rounds):
        label = f"{name} in {JUDGES[engine]}" if engine in JUDGES else name
        progress(label, i / len(rounds))

        def part(share: float, i: int = i, label: str = label) -> None:
            progress(label, (i + share) / len(rounds))

        results[name, engine] = _kept(name, setting, engine, stores, executor, part)
        if engine == "packets":
            of_run = [c for c in claims.values() if c.experiment == name]
            results[name, engine] = _until_decided(of_run, results[name, engine], setting, stores, executor)
    if wait is not None:
        wait()
    for name in findings:
        progress(name, 1.0)
        solved(name)
    decisions = {
        name: decide(
            claim, setting, data=results.get((claim.experiment, "packets")),
            ns2=results.get((claim.experiment, "ns2")), linux=results.get((claim.experiment, "linux")),
        )
        for name, claim in claims.items()
    }  # fmt: skip
    packets, *by_judge = (
        {n: data for (n, e), data in results.items() if e == engine} for engine in ("packets", *judges)
    )
    beside = dict(zip(judges, by_judge, strict=True))
    how = made(setting, time.perf_counter() - began, chosen)
    if setting == "full":
        how["probes"] = probes({name: run(name, "tiny", executor=executor) for name in names})
    return Whole(decisions, packets, beside, how)


def _kept(
    name: str,
    setting: str,
    engine: str,
    stores: Path | None,
    executor: Executor | None,
    progress: Callable[[float], None],
) -> xr.Dataset:
    """Run an experiment, with a store of its own."""
    store = store_of(stores, name, setting, engine)
    return run(name, setting, engine=engine, store=store, executor=executor, progress=progress).load()


def run_until_decided(claims: Sequence[Claim], setting: str) -> xr.Dataset:
    """Runs of what some claims of one experiment need, as the record has them: until they are decided, or to the limit.

    >>> run_until_decided([book.get_claim("leap.sec4.caused.sack")], "tiny").sizes["replication"]
    2
    """
    needed = [*claims, *(other for claim in claims for other in _calibrating(claim))]
    data = run(claims[0].experiment, setting, cases=wanted_cases(*needed)).load()
    return _until_decided(claims, data, setting, None, None)


def _until_decided(
    claims: Sequence[Claim], data: xr.Dataset, setting: str, stores: Path | None, executor: Executor | None
) -> xr.Dataset:
    """Run on the cases of claims that are undecided, or so in their first reading: twice as many each time."""
    name = claims[0].experiment
    length = get_experiment(name).setting(setting)
    count = length.replications
    while 2 * count <= length.limit:
        several = [c for c in claims if undecided(c, data, setting)]
        if not several:
            break
        cases = wanted_cases(*several)
        mark = hashlib.sha256("".join(sorted(c.id for c in several)).encode()).hexdigest()[:8]
        store = store_of(stores, name, setting, f"from-{count}-{mark}")
        more = run(name, setting, cases=cases, replications=range(count, 2 * count), store=store, executor=executor)
        data = run_on(data, more.load())
        count *= 2
    return data


def store_of(stores: Path | None, name: str, setting: str, what: str) -> Path | None:
    """The store of a run: its name tells what it is of, so that another is not met."""
    mark = get_experiment(name).fingerprint(setting)[:12]
    return None if stores is None else stores / f"{name}-{setting}-{what}-{mark}.zarr"


def made(setting: str, seconds: float, papers: Iterable[str] = ()) -> dict[str, Any]:
    """What made a result: versions, machine, commit, date; the protocols of some papers, by default of all."""
    return {
        "setting": setting,
        "protocol": {paper: seal(paper) for paper in papers or PAPERS},
        "version": __version__,
        "commit": commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "libraries": {name: metadata.version(name) for name in _LIBRARIES},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "seconds": round(seconds, 1),
    }


@functools.cache
def commit() -> str:
    """The commit of the source, with "+" behind it where files differ from it; empty without a repository.

    It is that of the first call: a record that is written later does not change it.
    """
    folder = Path(__file__).resolve().parent
    words = ["git", "-C", str(folder)]
    try:
        head = subprocess.run([*words, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        repository = subprocess.run(
            [*words, "ls-files", "--error-unmatch", str(Path(__file__).resolve())], capture_output=True, check=False
        )
        if repository.returncode:  # another project's repository, in which this package is installed
            return ""
        changed = subprocess.run([*words, "status", "--porcelain", "-uno"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return head + ("+" if changed.stdout.strip() else "")
