"""The packet simulator beside ns-2, in one run on one core: `python -m benchmarks.packet_simulator`

S1r: 100 SACK flows of 500-byte packets, 1 Mbit/s, RTTs of 190 to 210 ms, a queue of 50 packets, 1000 s.
S2: 32 NewReno flows of 1000-byte packets, 155 Mbit/s, RTTs of 20 to 160 ms, a queue of 190 packets, 30 s.

ns-2 and htsim on a dumbbell of six hops a round trip with finite access links, and nothing traced (htsim has no SACK:
its NewReno takes the place); ours on the same network ("six hops"); ours with the access links as pure delays and
acknowledgements that never wait, one event per packet ("one bottleneck", a network that is a little simpler); and both
with times on a grid (`clock="grid"`), which by default only senders by the RFCs have: flows by ns-2's rules keep
ns-2's clock. They take turns, pinned to one core; a row is the median of six runs with different seeds, in CPU
seconds, and in seconds by the clock beside them. A packet delivered is a segment acknowledged, repeats left out.
Start-up is the time of the same with 1 ms of simulated time (ns-2: a process that reads the script, makes the nodes
and finds the routes; ours: `simulate` in a process that has the loop compiled, arrays and result included) and is
taken off; "all in" is the ratio with it. What a new process and a first compilation cost is shown below the table,
with a rule of one's own and the memory of 10,000 flows.
"""

from __future__ import annotations

import dataclasses
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any, NamedTuple

from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, simulate
from tcpdynamics.validation.packet.engine import execute
from tcpdynamics.validation.packet.result import dataset
from tcpdynamics.validation.packet.scenario.topologies import dumbbell
from tcpdynamics.validation.packet.user_rules import congestion_control

from . import htsim_dumbbell, ns2_dumbbell
from .clocks import Taken, once
from .compare import line, store

RUNS = 6
#: Name of a peer in the tables, and what installs it.
PEERS = {
    "ns-2": ("ns-2.35, six hops", "apt install ns2"),
    "htsim": ("htsim, six hops, NewReno", htsim_dumbbell.MISSING),
}


class Case(NamedTuple):
    """A dumbbell, in the units of a scenario."""

    name: str
    sender: str
    flows: int
    rate: float
    rtt: tuple[float, float]
    buffer: int
    packet_size: int
    window: int
    duration: float


CASES = (
    Case("S1r", "sack", 100, 1e6, (0.19, 0.21), 50, 500, 64, 1000.0),
    Case("S2", "newreno", 32, 155e6, (0.02, 0.16), 190, 1000, 2000, 30.0),
)
AGENTS = {"sack": ("Agent/TCP/Sack1", "Agent/TCPSink/Sack1"), "newreno": ("Agent/TCP/Newreno", "Agent/TCPSink")}


def six_hops(case: Case) -> Scenario:
    """Sender - r1 - r2 - receiver and back, all links of finite rate."""
    flows = tuple(
        Flows(
            sender=case.sender,
            source=f"s{i}",
            target=f"d{i}",
            start_spread=1.0,
            packet_size=case.packet_size,
            window_limit=case.window,
            jitter=0.0,
        )
        for i in range(case.flows)
    )
    links = dumbbell(case.flows, case.rate, case.buffer, case.rtt)
    return Scenario(flows, duration=case.duration, warm_up=case.duration / 10, links=links)


def one_bottleneck(case: Case, control: str = "reno") -> Scenario:
    """The same with pure delays around one queue."""
    flows = Flows(
        count=case.flows,
        sender=case.sender,
        rtt=case.rtt,
        packet_size=case.packet_size,
        window_limit=case.window,
        control=control,
        jitter=0.0,
    )
    bottleneck = Bottleneck(case.rate, case.buffer)
    return Scenario((flows,), bottleneck, duration=case.duration, warm_up=case.duration / 10)


def ours(scenario: Scenario, seed: int) -> tuple[Taken, int]:
    """What one run with its result took, and the segments acknowledged in it.

    Not of `simulate`, which runs a scenario that bears marks of phase effects once more with a random delay.
    """
    taken, result = once(lambda: dataset(scenario, seed, execute(scenario, seed)))
    return taken, int(result["transferred"].sum())


def network_of(case: Case) -> tuple[object, ...]:
    """The arguments of a peer's program, but the seed."""
    return case.flows, case.rate, *case.rtt, case.buffer, case.packet_size, case.window, case.duration


def ns2(case: Case, seed: int) -> tuple[Taken, int]:
    """The same of ns-2, its start-up included."""
    return ns2_dumbbell.run(*AGENTS[case.sender], *network_of(case), seed)


def htsim(case: Case, seed: int) -> tuple[Taken, int]:
    """The same of htsim."""
    return htsim_dumbbell.run(*network_of(case), seed)


def peers() -> dict[str, Callable[[Case, int], tuple[Taken, int]]]:
    """The programs that this machine has."""
    have = {"ns-2": (ns2, ns2_dumbbell.installed()), "htsim": (htsim, htsim_dumbbell.installed())}
    return {name: run for name, (run, there) in have.items() if there}


def events(scenario: Scenario) -> int:
    """Events of a run with seed 1: the heap numbers them, and gives the same run as the calendar."""
    return int(execute(dataclasses.replace(scenario, scheduler="heap"), 1).sim.world["order"][0])


class Timing(NamedTuple):
    """One run: CPU seconds without and for start-up, the same by the clock, segments acknowledged."""

    run: float
    start_up: float
    wall: float
    wall_start_up: float
    acked: int

    @classmethod
    def of(cls, start_up: Taken, whole: Taken, acked: int) -> Timing:
        return cls(whole.cpu - start_up.cpu, start_up.cpu, whole.wall - start_up.wall, start_up.wall, acked)


def compare(case: Case) -> None:
    """Print the rows of one case."""
    networks = {
        "six hops": six_hops,
        "one bottleneck": one_bottleneck,
        "six hops, grid": lambda case: dataclasses.replace(six_hops(case), clock="grid"),
        "one bottleneck, grid": lambda case: dataclasses.replace(one_bottleneck(case), clock="grid"),
    }
    timings: dict[str, list[Timing]] = {name: [] for name in (*PEERS, *networks)}
    instant = case._replace(duration=0.001)
    for network in networks.values():
        ours(network(instant), 1)  # what is imported or loaded once
    for seed in range(1, RUNS + 1):
        for name, run in peers().items():
            timings[name].append(Timing.of(run(instant, seed)[0], *run(case, seed)))
        for name, network in networks.items():
            timings[name].append(Timing.of(ours(network(instant), seed)[0], *ours(network(case), seed)))
    for name, (title, how) in PEERS.items():
        if timings[name]:
            row(case, title, timings[name], timings["ns-2"])
        else:
            print(f"{case.name:5}{title:28} missing: {how}")
    for name, network in networks.items():
        row(case, f"ours, {name}", timings[name], timings["ns-2"], events(network(case)))
    keep(case, timings)


def keep(case: Case, timings: dict[str, list[Timing]]) -> None:
    """Store seconds a segment, with and without what comes before the first packet."""
    for title, whole in (("", False), (", set-up included", True)):
        calls = {
            name: [Taken(t.run + whole * t.start_up, t.wall + whole * t.wall_start_up).over(t.acked) for t in runs]
            for name, runs in timings.items()
        }
        first = calls["six hops"]
        rows = [line(f"ours, {name}", runs, first, None) for name, runs in calls.items() if name not in PEERS]
        for name, (route, how) in PEERS.items():
            rows.append(line(route, calls[name], first, None) if calls[name] else {"route": route, "missing": how})
        store(f"{case.flows} {case.sender} flows on {case.rate / 1e6:g} Mbit/s{title}", "a segment", rows)


def row(case: Case, what: str, timings: list[Timing], peer: list[Timing], happened: int = 0) -> None:
    """One line of the table."""
    run = statistics.median(t.run for t in timings)
    start_up = statistics.median(t.start_up for t in timings)
    speed = rates(timings)
    ratios = [f"{ours / theirs:.1f}" for ours, theirs in zip(speed, rates(peer), strict=True)] if peer else "----"
    print(
        f"{case.name:5}{what:28}{statistics.mean(t.acked for t in timings):9,.0f}{start_up:9.3f}{run:8.3f}"
        f"{speed[0] / 1e6:13.2f}{ratios[0]:>7}{ratios[1]:>8}{speed[2] / 1e6:13.2f}{ratios[2]:>7}{ratios[3]:>8}"
        f"{f'{happened / run / 1e6:.1f}' if happened else '-':>12}",
        flush=True,
    )


def rates(timings: list[Timing]) -> tuple[float, float, float, float]:
    """Packets delivered per CPU second without and with start-up, then per second by the clock: medians."""
    return (
        statistics.median(t.acked / t.run for t in timings),
        statistics.median(t.acked / (t.run + t.start_up) for t in timings),
        statistics.median(t.acked / t.wall for t in timings),
        statistics.median(t.acked / (t.wall + t.wall_start_up) for t in timings),
    )


def own_rule() -> None:
    """Print what Reno costs when it is written by a user; it must give the very same run."""

    @congestion_control("reno_by_hand")
    def on_ack(f: Any, now: float, acked: int) -> None:
        f.cwnd += 1.0 if f.cwnd < f.ssthresh else 1.0 / f.cwnd

    @congestion_control("reno_by_hand")
    def on_loss(f: Any, now: float) -> None:
        half = min(f.cwnd + f.inflation, float(f.window)) / 2.0
        f.ssthresh = float(int(half))
        f.cwnd = half

    @congestion_control("reno_by_hand")
    def on_timeout(f: Any, now: float) -> None:
        f.ssthresh = float(int(min(f.cwnd + f.inflation, float(f.window)) / 2.0))
        f.cwnd = 1.0

    for case in CASES:
        pairs = [
            (ours(one_bottleneck(case), seed), ours(one_bottleneck(case, "reno_by_hand"), seed))
            for seed in range(1, 2 * RUNS + 1)
        ]
        same = all(built_in[1] == own[1] for built_in, own in pairs)
        ratio = statistics.median(own[0].cpu / built_in[0].cpu for built_in, own in pairs)
        wall = statistics.median(own[0].wall / built_in[0].wall for built_in, own in pairs)
        print(
            f"{case.name:5}Reno as a rule of one's own: {ratio:.2f} of the CPU time of the built-in, {wall:.2f} of its "
            f"wall time, same run: {same}"
        )


def fresh(code: str, cache: str) -> list[float]:
    """The numbers that `code` prints in a process of its own, with compiled code kept in `cache`."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


FIRST_RESULT = """
import time
began = time.perf_counter()
from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, simulate
imported = time.perf_counter()
simulate(Scenario((Flows(count=2),), Bottleneck(buffer=10), duration=2.0, warm_up=1.0))
print(imported - began, time.perf_counter() - began)
"""

MANY = """
import resource, time
from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, simulate
simulate(Scenario((Flows(count=2),), Bottleneck(buffer=10), duration=2.0, warm_up=1.0))
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before = peak()
many = Flows(count=10_000, rtt=(0.05, 0.25))
began = time.process_time()
result = simulate(Scenario((many,), Bottleneck(1e8, 5000), duration=20.0, warm_up=2.0))
print(before, peak(), time.process_time() - began, result["transferred"].sum().item())
"""


def fresh_processes() -> None:
    """Print the time to a first result without and with compiled code on disk, and the memory of many flows."""
    with tempfile.TemporaryDirectory(prefix="cache-") as cache:
        for what in ("nothing compiled yet", "compiled before"):
            imported, done = fresh(FIRST_RESULT, cache)
            print(f"first result of a new process, {what}: {done:.2f} s, {imported:.2f} s of it imports")
        before, after, seconds, acked = fresh(MANY, cache)
    print(
        f"10,000 flows on 100 Mbit/s for 20 s: peak {after:.0f} MB, {before:.0f} MB of it before the run; "
        f"{seconds:.2f} s, {acked / seconds / 1e6:.1f} M packets/s"
    )


def pin() -> None:
    """Keep this process and its children on one core, the last that it may use."""
    if hasattr(os, "sched_setaffinity"):
        core = max(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {core})
        print(f"pinned to core {core}")


def main() -> None:
    """Print everything."""
    pin()
    if ns2_dumbbell.installed():
        print(ns2_dumbbell.version(), "against this package; start-up and run in CPU seconds, medians of", RUNS)
    for network in (six_hops, one_bottleneck):
        simulate(network(CASES[1]._replace(duration=1.0)))  # compiles, or loads what was compiled
    print(f"{'':33} segments start-up     run   M/s by CPU  ratio  all in  M/s by wall  ratio  all in  M events/s")
    for case in CASES:
        compare(case)
    own_rule()
    fresh_processes()


if __name__ == "__main__":
    main()
