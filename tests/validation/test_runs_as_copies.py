"""A run that begins as a copy of a blank one is the run that is built for its seed, whatever ran before it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, load_scenario, replicate, simulate
from tcpdynamics.validation.packet.engine import counted, execute
from tcpdynamics.validation.packet.kernel import loop
from tcpdynamics.validation.packet.kernel import records as k
from tcpdynamics.validation.packet.run import spawn_seeds
from tcpdynamics.validation.packet.scenario.toml import ready_scenarios
from tcpdynamics.validation.packet.setup import Blank, build, differs_in_draws

ALIKE = [path for path in ready_scenarios().values() if differs_in_draws(load_scenario(path))]


def state(sim: k.Sim) -> dict[str, bytes]:
    """All that a run begins with, but for where its arrays are."""
    world = sim.world.copy()
    for name in k.ARRAYS:
        world[f"at_{name}"] = 0
    return {"world": world.tobytes()} | {name: getattr(sim, name).tobytes() for name in k.ARRAYS}


def has_run(sim: k.Sim, until: float) -> bool:
    loop.start(sim.world)
    loop.advance(sim.world, until, np.int64(100_000))
    return bool(sim.counts.any())


@pytest.mark.parametrize("path", ALIKE, ids=lambda path: path.stem)
def test_a_copy_begins_as_what_is_built(path: Path) -> None:
    scenario = load_scenario(path)
    blank = Blank(scenario)
    for seed in (1, 2, 1):
        sim = blank.begin(seed)
        assert state(sim) == state(build(scenario, seed, keyed=True))
        assert has_run(sim, 5.0)


@pytest.mark.parametrize("scheduler", ["calendar", "heap"])
@pytest.mark.parametrize("sender", ["tahoe", "reno", "newreno", "sack"])
@pytest.mark.parametrize("rules", ["ns2", "rfc"])
def test_so_do_copies_of_all_senders(rules: str, sender: str, scheduler: str) -> None:
    flows = (Flows(2, sender, rules=rules, rtt=0.05, jitter=0.001), Flows(3, sender, rules=rules, rtt=(0.02, 0.2)))
    scenario = Scenario(flows, Bottleneck(2e6, 9), duration=9.0, warm_up=1.0, scheduler=scheduler, seed=7)
    assert differs_in_draws(scenario)
    blank = Blank(scenario)
    for seed in (3, 2**64, 3):
        assert state(blank.begin(seed)) == state(build(scenario, seed, keyed=True))
        run = counted(scenario, seed, blank=blank)
        assert run.sim.epochs.any() and run.sim.silences.any()


def test_runs_whose_memory_grows_have_tables_of_their_own() -> None:
    flows = Flows(80, rtt=(1.0, 2.0), window_limit=60, start_spread=6.0, jitter=0.01)
    scenario = Scenario((flows,), Bottleneck(20e6, 100_000), duration=7.0, warm_up=1.0, slice=1.0)
    seeds = spawn_seeds(scenario.seed, 6)
    assert len({len(execute(scenario, seed).sim.events) for seed in seeds}) > 1
    for several, seed in zip(replicate(scenario, seeds).in_flight, seeds, strict=True):
        assert several.values.tolist() == simulate(scenario, seed=seed).in_flight.values.tolist()


def test_ready_scenarios_are_among_them() -> None:
    assert len(ALIKE) > 3
