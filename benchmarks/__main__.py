"""All benchmarks, one after the other: `python -m benchmarks [NAME ...]`."""

from __future__ import annotations

import subprocess
import sys

NAMES = (
    "sub_packet_sweep",
    "large_chain",
    "packet_simulator",
    "replications",
    "mechanisms",
    "trajectories",
    "delay_roots",
    "sweep_overhead",
    "import_time",
    "explorer",
)
#: Not among all: ten minutes under valgrind.
ON_DEMAND = ("counters",)


def main() -> None:
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(f"{__doc__}\n\nNames: {', '.join(NAMES)}; on demand {', '.join(ON_DEMAND)}.")
        print("Each writes its rows of benchmarks/measured.json, from which the table of the documents is made.")
        return
    names = sys.argv[1:] or NAMES
    unknown = [name for name in names if name not in NAMES + ON_DEMAND]
    if unknown:
        sys.exit(f"no benchmark {unknown[0]!r}; there are {', '.join(NAMES + ON_DEMAND)}")
    failed = [name for name in names if not _ran(name)]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def _ran(name: str) -> bool:
    """Run one in a process of its own, whose functions other processes can load, and which may pin itself."""
    print(f"\n== {name}", flush=True)
    code = subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode
    if code:
        print(f"{name} failed with code {code}", file=sys.stderr, flush=True)
    return code == 0


if __name__ == "__main__":
    main()
