"""Many runs of the packet simulator: in two threads beside one, and short ones in a sweep beside each by itself.

Compiled code holds no lock: two threads need half of the time of one by the clock, where a processor is free for each.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, replicate, sweep_scenarios
from tcpdynamics.validation.packet.engine import execute
from tcpdynamics.validation.packet.run import spawn_seeds

from .compare import Route, compare
from .packet_simulator import CASES, one_bottleneck

BUFFERS, SEEDS = range(5, 255), 4
SHORT = Scenario(
    (Flows(count=4, rtt=0.05),), Bottleneck(2e6, 20), duration=4.0, warm_up=1.0, slice=1.0, name="four flows"
)


def runs_alone() -> Any:
    """The same runs, one after the other, without a table of what they gave."""
    for buffer in BUFFERS:
        scenario = dataclasses.replace(SHORT, bottleneck=Bottleneck(2e6, buffer))
        for seed in spawn_seeds(scenario.seed, SEEDS):
            execute(scenario, seed)


def main() -> None:
    long = one_bottleneck(next(case for case in CASES if case.name == "S2"))
    routes = [
        Route(f"ours, {name}", partial(replicate, long, 32, workers=workers), 32)
        for name, workers in (("two threads", 2), ("one thread", 1))
    ]
    compare(f"32 replications of 32 newreno flows on 155 Mbit/s, {long.duration:g} s", "a replication", routes)
    swept = partial(sweep_scenarios, SHORT, {"bottleneck.buffer": list(BUFFERS)}, SEEDS)
    count = len(BUFFERS) * SEEDS
    routes = [Route("ours, a sweep", swept, count), Route("ours, each run by itself", runs_alone, count)]
    compare("1,000 runs of four flows for 4 s", "a run", routes)


if __name__ == "__main__":
    main()
