"""Flows that join or leave during the motion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

from tcpdynamics.models import (
    LotkaVolterraCrossDelayed,
    LotkaVolterraDelayed,
    LotkaVolterraMap,
    LotkaVolterraStale,
    LotkaVolterraWindows,
    per_flow,
)
from tcpdynamics.models.lotka_volterra.presence import joining
from tcpdynamics.solvers import DynamicsError, trajectory

KINDS = [
    (LotkaVolterraWindows, "ode", {}), (LotkaVolterraDelayed, "dde", {"delay": 0.5}),
    (LotkaVolterraCrossDelayed, "dde", {"delay": 0.5}), (LotkaVolterraMap, "map", {}),
    (LotkaVolterraMap, "map", {"lag": 2}), (LotkaVolterraStale, "map", {}),
]  # fmt: skip


@pytest.mark.parametrize(("cls", "kind", "more"), KINDS)
def test_flows_that_are_always_there_move_as_without(cls: Any, kind: str, more: dict[str, Any]) -> None:
    problem = getattr(cls(flows=3, epsilon=0.7, **more), kind)()
    same = joining(problem, {"N[3]": (0.0, 1e9), "N[1]": (-5.0, sympy.oo)})
    times = np.arange(0.0, 40.0)
    expected, got = trajectory(problem, times), trajectory(same, times)
    np.testing.assert_allclose(got.sent.values, expected.N.values, rtol=1e-6)
    np.testing.assert_allclose(got.total.values, expected.total.values, rtol=1e-6)


@pytest.mark.parametrize(("cls", "kind", "more"), KINDS)
def test_a_flow_is_alone_until_another_joins_and_after_it_left(cls: Any, kind: str, more: dict[str, Any]) -> None:
    start = per_flow([2.0, 30.0])
    problem = getattr(cls(flows=2, epsilon=0.4, start=start, **more), kind)()
    motion = trajectory(joining(problem, {"N[2]": (10.0, 25.0)}), np.arange(0.0, 120.0))
    alone = trajectory(getattr(cls(flows=1, epsilon=0.4, start=2.0, **more), kind)(), np.arange(0.0, 120.0))
    np.testing.assert_allclose(motion.sent.sel(flow=1)[:10], alone.N.sel(flow=1)[:10], rtol=1e-6)
    absent = motion.sent.sel(flow=2).values
    assert (absent[:10] == 0).all() and (absent[11:25] > 0).all() and (absent[26:] == 0).all()
    assert float(motion.N.sel(flow=2)[10]) == pytest.approx(30.0)
    assert float(motion.sent.sel(flow=1)[20]) < float(alone.N.sel(flow=1)[20])
    assert float(motion.sent.sel(flow=1)[-1]) == pytest.approx(100.0, rel=1e-3)


def test_times_may_be_parameters() -> None:
    joins = sympy.Symbol("joins", real=True)
    problem = joining(LotkaVolterraWindows(flows=2).ode(), {"N[2]": (joins, sympy.oo)}, joins=[5.0, 15.0])
    sent = trajectory(problem, [10.0, 20.0]).sent.sel(flow=2)
    assert (sent.sel(joins=15.0).values > 0).tolist() == [False, True]
    assert (sent.sel(joins=5.0).values > 0).all()


def test_a_flow_that_is_not_there_is_refused() -> None:
    with pytest.raises(DynamicsError, match=r"'N\[3\]' is not a state; states are N\[1\], N\[2\]"):
        joining(LotkaVolterraWindows(flows=2).ode(), {"N[3]": (1.0, 2.0)})
