"""Send by send as ns-2: what the tests of senders, queues and window rules have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import xarray as xr
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tcpdynamics.validation.ns2 import run_ns2
from tcpdynamics.validation.packet import Drop, Scenario, simulate

#: ns-2 prints 15 digits and both simulators add plain doubles: far below one bit's sending time.
TOLERANCE = 1e-9
SENDERS = ("tahoe", "reno", "newreno", "sack")


class HasScenario(Protocol):
    """A case of a test, which its repr writes down."""

    def scenario(self) -> Scenario: ...


def chooser(draw: st.DrawFn) -> Callable[..., Any]:
    """A function that draws one of its arguments."""
    return lambda *values: draw(st.sampled_from(values))


def drops(data: tuple[int, ...], acks: tuple[int, ...]) -> tuple[Drop, ...]:
    """The packets to lose on r1->r2 (data) and r2->r1 (acknowledgements)."""
    return tuple(Drop(link=link, packet=n) for link, lost in (("r1->r2", data), ("r2->r1", acks)) for n in lost)


def difference(ours: xr.Dataset, theirs: xr.Dataset) -> str:
    """The first send that is not the same, in one line; empty if there is none."""
    rows = [list(zip(r.send_time.values, r.send_segment.values, strict=True)) for r in (ours, theirs)]
    for i, (a, b) in enumerate(zip(*rows, strict=False)):
        if a[1] != b[1] or abs(a[0] - b[0]) > TOLERANCE:
            return f"send {i}: ours {a[0]:.12g} s segment {a[1]}, ns-2 {b[0]:.12g} s segment {b[1]}"
    n, m = len(rows[0]), len(rows[1])
    if n == m:
        return ""
    extra = rows[0][m] if n > m else rows[1][n]
    return f"send {min(n, m)}: only {'ours' if n > m else 'ns-2'} has {extra[0]:.12g} s segment {extra[1]}"


def compare(case: HasScenario) -> None:
    """Each flow's sends are those of ns-2."""
    scenario = case.scenario()
    both = simulate(scenario), run_ns2(scenario)
    for flow in range(scenario.count):
        wrong = difference(*(part.isel(send=np.flatnonzero(part.send_flow == flow)) for part in both))
        assert not wrong, f"flow {flow}, {wrong}\n{case}"


def check(cases: st.SearchStrategy[Any], examples: int) -> None:
    """Compare drawn cases, the same in each run."""

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        # Explaining which parts matter would run ns-2 hundreds of times more.
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
    )
    @given(cases)
    def run(case: HasScenario) -> None:
        compare(case)

    run()
