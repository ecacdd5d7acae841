"""All benchmarks, one after the other: `python -m benchmarks [NAME ...]`."""

from __future__ import annotations

import runpy
import sys

NAMES = (
    "sub_packet_sweep",
    "large_chain",
    "packet_simulator",
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
    names = sys.argv[1:] or NAMES
    unknown = [name for name in names if name not in NAMES + ON_DEMAND]
    if unknown:
        sys.exit(f"no benchmark {unknown[0]!r}; there are {', '.join(NAMES + ON_DEMAND)}")
    for name in names:
        print(f"\n== {name}", flush=True)
        sys.argv = [name]
        runpy.run_module(f"benchmarks.{name}", run_name="__main__")


if __name__ == "__main__":
    main()
