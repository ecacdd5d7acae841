"""What each sender, window rule, queue and link costs in the packet simulator: `python -m benchmarks mechanisms`

Twenty SACK flows by the RFCs on 50 Mbit/s, RTTs of 40 to 160 ms, a queue of 200 packets, 60 s; a row changes one thing.
Cost is CPU time for a packet that the link has accepted or lost, by the least of five runs, and wall time likewise,
beside Reno with drop-tail. Set-up is not in it. One core; the machine should be idle.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario
from tcpdynamics.validation.packet.engine import execute
from tcpdynamics.validation.packet.kernel.queues import DISCIPLINES
from tcpdynamics.validation.packet.kernel.windows import RULES

from .clocks import Taken, once

RUNS = 5
DURATION = 60.0

FLOWS = Flows(20, "sack", rules="rfc", rtt=(0.04, 0.16), packet_size=1000, window_limit=1000, jitter=1e-4)
LINK = Bottleneck(50e6, 200)


def cases() -> dict[str, Scenario]:
    """Name -> scenario; the first is what the others are compared with."""
    made = {"reno, droptail": _scenario()}
    for rule in RULES:
        if rule == "dctcp":
            marks = dataclasses.replace(LINK, queue="step")
            made["window dctcp, queue step"] = _scenario({"control": rule, "ecn": True}, marks)
        elif rule != "reno":
            made[f"window {rule}"] = _scenario({"control": rule})
    for queue in DISCIPLINES:
        if queue not in ("droptail", "step", "proportional"):
            made[f"queue {queue}"] = _scenario({}, dataclasses.replace(LINK, queue=queue))
    red = dataclasses.replace(LINK, queue="red")
    made["queue red, ECN"] = _scenario({"ecn": True}, red)
    made["queue proportional, ECN"] = _scenario({"ecn": True}, dataclasses.replace(LINK, queue="proportional"))
    bursts: dict[str, Any] = {"model": "gilbert-elliott", "p": 0.001, "r": 0.3}
    made["losses in bursts"] = _scenario({}, dataclasses.replace(LINK, loss=bursts))
    steps = tuple((float(t), 50e6 if t % 2 else 40e6) for t in range(1, 60))
    made["rate changes each second"] = _scenario({}, dataclasses.replace(LINK, changes=steps))
    made["sender tfrc"] = Scenario(
        (Flows(20, "tfrc", rules="rfc", rtt=(0.04, 0.16), packet_size=1000, jitter=1e-4),), LINK, DURATION, 5.0
    )
    made["web users"] = _scenario({"count": 200, "segments": 100, "think": 1.0, "pool": 4, "rtt": 0.1})
    return made


def _scenario(flows: dict[str, Any] | None = None, link: Bottleneck = LINK) -> Scenario:
    return Scenario((dataclasses.replace(FLOWS, **(flows or {})),), link, DURATION, 5.0)


def cost(scenario: Scenario, seed: int) -> Taken:
    """Nanoseconds for a packet that came to the first link."""
    taken, run = once(lambda: execute(scenario, seed))
    return taken.over(max(float(run.links["arrived"][0]), 1.0) / 1e9)


def least(scenario: Scenario) -> Taken:
    """The least of each clock."""
    runs = [cost(scenario, seed) for seed in range(1, RUNS + 1)]
    return Taken(min(run.cpu for run in runs), min(run.wall for run in runs))


def main() -> None:
    made = cases()
    for scenario in made.values():
        execute(dataclasses.replace(scenario, duration=1.0, warm_up=0.1), 1)
    costs = {name: least(scenario) for name, scenario in made.items()}
    base = next(iter(costs.values()))
    print("mechanism                    CPU ns a packet   beside reno, droptail   wall ns   beside")
    for name, each in costs.items():
        ratios = each.cpu / base.cpu, each.wall / base.wall
        print(f"{name:28s} {each.cpu:15.0f} {ratios[0]:23.2f} {each.wall:9.0f} {ratios[1]:8.2f}")


if __name__ == "__main__":
    main()
