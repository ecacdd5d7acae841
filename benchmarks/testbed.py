"""Programs in virtual time: virtual over wall time and memory, pair by pair, by default and for programs not trusted.

`python benchmarks/testbed.py` needs the judge's kernel and the ready stacks (docs/testbed.md). `--equal N` runs each
stack beside CUBIC N times with one seed, and counts the runs that are equal to the first; `--load` adds busy loops.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from tcpdynamics.validation.linux.stacks import flow, stacks
from tcpdynamics.validation.linux.testbed import Run, difference, run_testbed
from tcpdynamics.validation.packet import Bottleneck, Scenario

#: What is timed.
PAIRS = (
    ("cubic", "cubic"), ("quinn", "quinn"), ("quinn", "quic-go"), ("quic-go", "quic-go"), ("ngtcp2", "ngtcp2"),
    ("quinn", "ngtcp2", "quic-go", "cubic"), ("aioquic", "cubic"),
)  # fmt: skip


def scenario(senders: tuple[str, ...], duration: float) -> Scenario:
    """Ready stacks, and controls of the kernel, on 10 Mbit/s and 40 ms."""
    groups = [flow(name) if name in stacks() else flow(name, control=name) for name in senders]
    return Scenario(tuple(groups), Bottleneck(1e7, 67), duration, 1.0, epoch=1.0)


def memory() -> int:
    """Memory of all guests [byte]: private pages, and each process's part of those that it shares."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/smaps_rollup"):
        try:
            if "linux" in os.readlink(path.parent / "exe") or "uml" in (path.parent / "comm").read_text():
                total += 1024 * int(path.read_text().split("Pss:")[1].split()[0])
        except (OSError, IndexError):
            continue
    return total


def timed(senders: tuple[str, ...], view: list[str] | None) -> tuple[float, float]:
    """Virtual over wall time, and the largest memory [byte], looked at ten times a second."""
    over, largest = threading.Event(), [0]

    def look() -> None:
        while not over.wait(0.1):
            largest[0] = max(largest[0], memory())

    watcher = threading.Thread(target=look)
    watcher.start()
    began = time.perf_counter()
    run_testbed(scenario(senders, 20.0), 1, view=view)
    wall = time.perf_counter() - began
    over.set()
    watcher.join()
    return 20.0 / wall, largest[0]


def equal(name: str, count: int) -> int:
    """How many of so many runs are equal to the first, itself included."""
    runs: list[Run] = [run_testbed(scenario((name, "cubic"), 6.0), 1) for _ in range(count)]
    return sum(difference(runs[0], run) == "" for run in runs)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--equal", type=int, default=0)
    parser.add_argument("--load", action="store_true")
    arguments = parser.parse_args()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3 * arguments.load)]
    try:
        if arguments.equal:
            for name in stacks():
                print(f"| {name} | {equal(name, arguments.equal)} of {arguments.equal} |", flush=True)
            return
        print("| senders | virtual over wall | not trusted | memory [MB] |\n|---|---|---|---|")
        for senders in PAIRS:
            fast, used = timed(senders, None)
            slow, _ = timed(senders, ["/"])
            print(f"| {', '.join(senders)} | {fast:.1f} | {slow:.1f} | {used / 1e6:.0f} |", flush=True)
    finally:
        for process in busy:
            process.kill()


if __name__ == "__main__":
    main()
