"""What an event of the packet simulator costs, counted by cachegrind: `python -m benchmarks counters`

Instructions, accesses to memory, misses of a first-level (the machine's) and a second-level cache (2 MB) and branches
that a simple predictor misses, per event and per segment sent. Each is the difference between a long run and a short
one of the same scenario, so that start-up and loading compiled code drop out. Needs valgrind, which knows no AVX-512:
the simulator is compiled for an older processor here, into a cache of its own. Takes about ten minutes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile

from tcpdynamics.validation.packet.engine import execute

from .packet_simulator import CASES, events, one_bottleneck, six_hops

#: Case, network, seconds of the short and the long run.
RUNS = (("S1r", "one", 100, 700), ("S2", "one", 2, 22), ("S1r", "six", 50, 350), ("S2", "six", 2, 12))
COUNTERS = {
    "instructions": r"I\s+refs: +([\d,]+)", "accesses": r"D\s+refs: +([\d,]+)", "D1 misses": r"D1\s+misses: +([\d,]+)",
    "L2 misses": r"LLd misses: +([\d,]+)", "mispredicted": r"Mispredicts: +([\d,]+)",
}  # fmt: skip
#: A processor that valgrind knows.
OLDER = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2,+fma,+bmi,+bmi2,+popcnt,+sse4.2"}


def run(name: str, network: str, duration: float, count: bool) -> None:
    """Simulate one case, and print events and segments sent where they are to be counted."""
    case = next(case for case in CASES if case.name == name)._replace(duration=duration)
    scenario = (one_bottleneck if network == "one" else six_hops)(case)
    sent = int(execute(scenario, 1).counts[:, 0].sum())
    if count:
        print(events(scenario), sent)


def main() -> None:
    if shutil.which("valgrind") is None:
        sys.exit("there is no valgrind here: install it")
    print(f"{'case':<20}{'events a segment':>18}", *(f"{name:>14}" for name in COUNTERS), " per event")
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | OLDER | {"NUMBA_CACHE_DIR": folder}
        for name, network, *durations in RUNS:
            happened, counted = [], []
            for duration in durations:
                command = [sys.executable, "-m", "benchmarks.counters", name, network, str(duration)]
                happened.append([int(n) for n in _output([*command, "count"], env).split()])
                valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--branch-sim=yes"]
                options = ["--LL=2097152,16,64", "--cachegrind-out-file=/dev/null"]
                text = _output([*valgrind, *options, *command], env)
                counted.append([_number(pattern, text) for pattern in COUNTERS.values()])
            of_events, sent = (late - early for early, late in zip(*happened, strict=True))
            each = [(late - early) / of_events for early, late in zip(*counted, strict=True)]
            what = f"{name}, {'one bottleneck' if network == 'one' else 'six hops'}"
            print(f"{what:<20}{of_events / sent:>18.2f}", *(f"{value:>14.2f}" for value in each), flush=True)


def _output(command: list[str], env: dict[str, str]) -> str:
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return done.stdout + (done.stderr if command[0] == "valgrind" else "")


def _number(pattern: str, text: str) -> int:
    match = re.search(pattern, text)
    if match is None:
        sys.exit("cachegrind prints no such counter; is it another version?")
    return int(match[1].replace(",", ""))


if __name__ == "__main__":
    if len(sys.argv) > 3:
        run(sys.argv[1], sys.argv[2], float(sys.argv[3]), "count" in sys.argv)
    else:
        main()
