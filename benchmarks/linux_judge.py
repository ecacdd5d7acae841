"""What a simulated second costs: Linux in virtual time, ns-2, and the simulator, on the same scenarios in one run.

`python benchmarks/linux_judge.py` prints wall and CPU seconds and simulated seconds a CPU second. Each case is run once
before it is timed, so that nothing is compiled. ns-2 and Linux are left out where they are not installed.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tcpdynamics.validation import linux, ns2
from tcpdynamics.validation.comparisons.packets_vs_linux import AS_IT_COMES
from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, simulate


def cases() -> dict[str, Scenario]:
    """Scenarios by what they are."""
    crowd = Flows(40, rtt=(0.191, 0.201), packet_size=500, initial_window=2, jitter=0.0)
    wide = Flows(10, rtt=0.04, packet_size=1500, window_limit=1000, jitter=0.0)
    many = Flows(200, rtt=(0.19, 0.21), packet_size=500, jitter=0.0)
    return {
        "40 flows, 400 kbit/s": Scenario((crowd,), Bottleneck(4e5, 20), 200.0, 50.0),
        "10 flows, 100 Mbit/s": Scenario((wide,), Bottleneck(1e8, 333), 30.0, 10.0),
        "200 flows, 1 Mbit/s": Scenario((many,), Bottleneck(1e6, 50), 60.0, 20.0),
    }


def timed(run: Callable[[], Any]) -> tuple[float, float]:
    """Wall and CPU seconds, those of processes that were started included."""

    def cpu() -> float:
        own, theirs = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return own.ru_utime + own.ru_stime + theirs.ru_utime + theirs.ru_stime

    run()
    wall, used = time.perf_counter(), cpu()
    run()
    return time.perf_counter() - wall, cpu() - used


def main() -> None:
    """Print the table."""
    print("| case | engine | wall [s] | CPU [s] | simulated seconds a CPU second |")
    print("|---|---|---|---|---|")
    for name, scenario in cases().items():
        theirs = replace(scenario, flows=tuple(replace(f, **AS_IT_COMES) for f in scenario.flows))
        engines: dict[str, Callable[[], Any]] = {
            "simulator": lambda s=scenario: simulate(s, 1),  # type: ignore[misc]
            "simulator, Linux's rules": lambda s=theirs: simulate(s, 1),  # type: ignore[misc]
        }
        if ns2.installed():
            engines["ns-2"] = lambda s=scenario: ns2.run_ns2(s, 1)  # type: ignore[misc]
        if linux.installed():
            engines["Linux"] = lambda s=scenario: linux.run_linux(s, 1)  # type: ignore[misc]
        for engine, run in engines.items():
            wall, used = timed(run)
            print(f"| {name} | {engine} | {wall:.2f} | {used:.2f} | {scenario.duration / used:,.0f} |")


if __name__ == "__main__":
    main()
