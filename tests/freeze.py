"""Store all that a user sees, to compare it before and after a change.

    python tests/freeze.py FOLDER [--only PART ...]     write the parts into FOLDER
    python tests/freeze.py --compare BEFORE AFTER       list what differs; exit code 1 if something does

The parts: `commands` (text and files of the command line), `ledger` (all claims at the smallest setting), `report`
(the quick page), `pages` (the explorer's exported pages, with the JavaScript printed for each), `stores` (files and
folders of sweeps), `refusals` (each sentence with which a test is refused) and `traces` (all packets of the ready
scenarios). Twice run, they are twice equal: nothing in them depends on the time, the folder or the machine's load.
"""

from __future__ import annotations

import argparse
import dataclasses
import filecmp
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
#: Numbers and dates of a page that depend on the machine.
MEASURED = (r"\d{4}-\d\d-\d\d( \d\d:\d\d)?( UTC)?", r"[\d.,]+ (s|ms|us|seconds|million)\b", r"commit [0-9a-f]+")
#: Folders and addresses in sentences.
PLACES = r"(/tmp|/work|/root|/home)/[^\s'\"]*|0x[0-9a-f]+|\bpid \d+"
#: Lines of standard error that a slow machine, or the first run on one, has time for.
PROGRESS = rb" s so far$|only this first time$"
#: Tests of refusals that need no browser.
REFUSING = "not browser and not explorer and not kill"
#: Files "x.EXT" that a command writes are stored beside its output.
COMMANDS = """
--help
--version
stationary --help
stationary sub-packet --help
stationary sub-packet --loss 0.05:0.45:9
stationary sub-packet --loss 0.1,0.6 --model exact --json
stationary sub-packet --loss 1/4 --exact
stationary sub-packet --loss 0.1,0.2 --output x.nc
stationary sub-packet --loss 0.05:0.45:9 --output x.html
stationary sub-packet --loss 0.1,0.2 --output x.csv
stationary sender --sender tahoe --rules rfc --window 2 --loss 0.05:0.45:9
stability --help
stability t-refwa --help
stability t-refwa --phi 1.5 --psi 0.5 --interpretation window --verdict
stability logistic --epsilon 0.1:3:30 --delay 0:2:30 --output x.html
stability logistic --epsilon 0.5:2:4 --delay 0:1:4 --output x.nc
stability logistic --epsilon 0.5:2:4 --delay 0:1:4 --output x.csv
stability fluid-tcp --json
stability logistic --epsilon 1 --delay 1 --output x.html
trajectory --help
trajectory lotka-volterra --flows 5 --time 0:100:21 --output x.html
trajectory lotka-volterra --flows 2 --time 0:10:11 --output x.nc
trajectory logistic --epsilon 0.5,1 --time 0:10:3 --json
bifurcation --help
bifurcation logistic-map --epsilon 1.8:2.8:21 --output x.html
bifurcation logistic-map --epsilon 1.8:2.2:5 --json
evaluate --help
evaluate leap-transfer --data-loss 0.1 --ack-loss 0.05:0.3:6
evaluate one-way-times --json
evaluate overloaded-star --output x.html
explain --help
simulate --help
simulate --list
simulate one_loss
simulate one_loss --verbose
simulate one_loss --json
simulate one_loss --output x.html
simulate one_loss --output x.csv
simulate one_loss --output x.nc
simulate sub_packet --set duration=60s --replications 3
simulate sub_packet --set duration=20s --set bottleneck.buffer=10:30:3 --output x.csv
simulate sub_packet --set duration=20s --set bottleneck.buffer=10:30:3 --output x.html
simulate two_paths --set duration=20s --json
validate --help
validate ladder --help
validate sub-packet --help
validate leap --help
validate mtcp --help
validate linux
validate linux --json
validate linux-sends --output x.nc
validate linux-controls --output x.html
validate linux-sub-packet --json
validate bbr-cubic --output x.html
validate bbr-cubic --output x.nc
figures
figures --help
figures logistic.fig8 --output x.html
figures leap.table1.reno.2_50
claims
claims --help
claims leap.table1 --json
claims sub_packet.eq8.idle_time
report --help
explore --help
"""
#: Refused with one sentence and exit code 2.
MISTAKES = """
stationary sub-packet --loss 1.5
stationary sub-packet --loss 0.1:0.2
stationary cat
stability logistic --epsilon -1
stability logistic --epsilon 0.1:3:1000000 --delay 0:2:1000000
trajectory lotka-volterra --time 0
bifurcation logistic-map
evaluate leap-transfer --data-loss 2
simulate nowhere
simulate one_loss --set flows.0.sender=cat
simulate one_loss --set flows.0.min_rto=-1
simulate one_loss --set bottleneck=1,2 --set bottleneck.rate=3
simulate one_loss --output x.exe
validate linux --seeds 1
validate cat
figures cat
claims cat
explain nowhere.zarr
explore --port 0
report --output x.pdf
"""


def write(path: Path, data: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)


def commands(folder: Path) -> None:
    """Text, exit code and files of each command, in an empty folder, 100 columns wide."""
    os.environ["COLUMNS"] = "100"
    lines = [*COMMANDS.split("\n"), *MISTAKES.split("\n")]
    for number, line in enumerate(filter(None, lines)):
        name = f"{number:02} " + "".join(c if c.isalnum() or c in "-._" else " " for c in line)[:80].strip()
        with tempfile.TemporaryDirectory() as place:
            command = [sys.executable, "-m", "tcpdynamics", *shlex.split(line)]
            done = subprocess.run(command, cwd=place, capture_output=True, check=False, timeout=1200)
            write(folder / f"{name}.out", done.stdout)
            printed = done.stderr.replace(place.encode(), b"").splitlines(keepends=True)
            errors = b"".join(line for line in printed if not re.search(PROGRESS, line))
            write(folder / f"{name}.err", errors + b"\nexit code %d\n" % done.returncode)
            for path in sorted(Path(place).rglob("*")):
                if path.is_file():
                    write(folder / name / path.relative_to(place), path.read_bytes())


def ledger(folder: Path) -> None:
    """Each claim's decision at the setting "tiny"."""
    from tcpdynamics.paper_figures.whole import decide_all

    for name, row in decide_all("tiny").document()["rows"].items():
        write(folder / f"{name}.json", json.dumps(row, indent=1, sort_keys=True))


def report(folder: Path) -> None:
    """The quick page, one tag per line, without seconds, speeds and dates."""
    from tcpdynamics.apps.report.build import build

    page = build(quick=True)
    for pattern in MEASURED:
        page = re.sub(pattern, "(measured)", page)
    write(folder / "report.html", page.replace("><", ">\n<"))


def pages(folder: Path) -> None:
    """The explorer as files that open from disk; each page's JavaScript among them."""
    from tcpdynamics.apps.explorer.export import export

    export(folder)


def stores(folder: Path) -> None:
    """Sweeps by several solvers and of scenarios, in small blocks and in one, as folders and as files."""
    import numpy as np

    from tcpdynamics import models, solvers
    from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, sweep_scenarios

    folder.mkdir(parents=True)
    epsilon, loss = np.linspace(0.1, 3, 7), np.linspace(0.05, 0.45, 11)
    delayed = models.LogisticDelayed(epsilon=epsilon, delay=np.linspace(0, 2, 5))
    windows = models.LotkaVolterraWindows(flows=3, epsilon=epsilon, gamma=np.linspace(0.1, 0.9, 4))
    chain = models.SubPacketFull(loss=loss)
    works: dict[str, tuple[Any, Any]] = {
        "spectral_abscissa": (delayed, solvers.spectral_abscissa), "chart": (delayed, solvers.stability_chart),
        "equilibria": (windows, solvers.equilibria), "stationary": (chain, solvers.stationary),
        "spectral_gap": (chain, solvers.spectral_gap),
    }  # fmt: skip
    two = Scenario((Flows(count=2, rtt=0.2),), Bottleneck(1e6, 20), duration=20.0, warm_up=5.0)
    for ending in ("zarr", "nc"):
        for block in (3, None):
            for name, (model, solver) in works.items():
                work = solvers.sweep_of(model, solver)
                solvers.sweep(work, store=folder / f"{name}-{block}.{ending}", block=block)
        path = folder / f"scenario.{ending}"
        sweep_scenarios(two, {"bottleneck.buffer": [5, 10], "flows.0.count": [1, 3]}, seeds=2, store=path)
    for path in sorted(folder.iterdir()):
        write(folder / "explained" / f"{path.name}.txt", str(solvers.explain(path)).replace(str(folder), ""))


def refusals(folder: Path) -> None:
    """The sentences of all exceptions that tests await, once each; Hypothesis draws the same examples each time."""
    with tempfile.TemporaryDirectory() as place:
        log = Path(place, "sentences")
        environment = os.environ | {"TCPDYNAMICS_REFUSALS": str(log), "PYTHONPATH": str(HERE)}
        files = [str(p) for p in sorted(HERE.rglob("test_*.py")) if re.search(r"raises\(|refused\(", p.read_text())]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "freeze", "--hypothesis-seed=0", "-k", REFUSING, *files]
        subprocess.run(command, cwd=HERE.parent, env=environment, check=False, stdout=sys.stderr)
        sentences = {re.sub(PLACES, "(place)", json.loads(line)) for line in log.read_text().splitlines()}
    write(folder / "sentences.txt", "\n".join(sorted(sentences)) + "\n")


def traces(folder: Path) -> None:
    """Each data segment sent in the ready scenarios, and all that is counted; 100 s of each at most."""
    from tcpdynamics.validation.packet import Record, load_scenario, ready_scenarios, simulate

    for name, path in ready_scenarios().items():
        scenario = load_scenario(path)
        short = min(scenario.duration, 100.0)
        changes: dict[str, Any] = {"duration": short, "warm_up": min(scenario.warm_up, short / 2)}
        run = simulate(dataclasses.replace(scenario, record=Record(sends=True), **changes))
        counted = {n: hashlib.sha256(run[n].values.tobytes()).hexdigest()[:16] for n in sorted(map(str, run.variables))}
        write(folder / f"{name}.json", json.dumps(counted, indent=1))


PARTS: dict[str, Callable[[Path], None]] = {
    part.__name__: part for part in (commands, ledger, report, pages, stores, refusals, traces)
}


def pytest_configure() -> None:
    """As a plugin of pytest: write down what each `pytest.raises` has caught and each `refused` has printed."""
    import _pytest.raises

    plain = _pytest.raises.RaisesExc.__exit__
    log = os.environ["TCPDYNAMICS_REFUSALS"]

    def leave(context: Any, kind: Any, value: Any, trace: Any) -> bool:
        if value is not None:
            with open(log, "a", encoding="utf-8") as file:
                file.write(json.dumps(f"{kind.__name__}: {value}") + "\n")
        return plain(context, kind, value, trace)

    _pytest.raises.RaisesExc.__exit__ = leave  # type: ignore[method-assign]


def differences(before: Path, after: Path) -> list[str]:
    """Files that only one of the folders has, or whose bytes differ."""
    names = {p.relative_to(folder) for folder in (before, after) for p in folder.rglob("*") if p.is_file()}
    lines = []
    for name in sorted(names):
        one, other = before / name, after / name
        if not (one.is_file() and other.is_file()):
            lines.append(f"{name}: stands in one of them only")
        elif not filecmp.cmp(one, other, shallow=False):
            lines.append(f"{name}: differs")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--compare", action="store_true")
    options = parser.parse_args()
    if options.compare:
        lines = differences(*options.folders)
        print(*lines, f"{len(lines)} files differ", sep="\n")
        sys.exit(bool(lines))
    warnings.simplefilter("ignore")
    for part in options.only:
        print(part, flush=True)
        PARTS[part](options.folders[0] / part)


if __name__ == "__main__":
    main()
