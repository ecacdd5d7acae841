"""What a random delay changes in a run that bears marks of phase effects: measured, by running it once more."""

from __future__ import annotations

import dataclasses

import numpy as np

from tcpdynamics.jain import measured_jain

from .engine import execute
from .kernel import records as k
from .phases import cells
from .run_record import Run, together
from .scenario.scenario import Scenario

#: Random delay that is tried: so many sending times of the largest packet at the busiest link.
STEPS = 10
#: Operations of a run that is worth running twice for a sentence: some seconds.
WORTH = 2e9


def measured_remedy(scenario: Scenario, seed: int, run: Run) -> str:
    """A sentence on the same run with `jitter`; empty where that is long, or the flows have as much already.

    Jain's index is that of the largest set of flows that ought to fare alike.
    """
    link = scenario.ways[int(np.argmax(run.links["work"]))]
    alike = cells([scenario], together([run]))[0]
    if scenario.work > WORTH or link.rate is None or not alike:
        return ""
    sizes = [group.packet_size for group in scenario.flows]
    jitter = float(f"{STEPS * 8.0 * max(sizes) / link.rate:.1g}")
    if any(scenario.jitters(group)[1] >= jitter for group in scenario.flows):
        return ""
    flows = tuple(dataclasses.replace(group, jitter=jitter) for group in scenario.flows)
    other = execute(dataclasses.replace(scenario, flows=flows), seed)
    mine = max(alike, key=lambda cell: len(cell.flows)).flows
    if other.interrupted:
        return ""
    before, after = (float(measured_jain(r.counts[mine, k.GOODPUT].astype(float))) for r in (run, other))
    return (
        f'. Measured: with flows.jitter = "{jitter * 1e3:g}ms" these {len(mine)} flows have a Jain index of '
        f"{after:.2f} instead of {before:.2f}, and the run a loss rate of {_loss(other):.4f} instead of "
        f"{_loss(run):.4f}"
    )


def _loss(run: Run) -> float:
    return float(run.counts[:, k.DROPPED].sum() / max(run.counts[:, k.ARRIVED].sum(), 1))
