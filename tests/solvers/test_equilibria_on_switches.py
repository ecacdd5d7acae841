"""Points of rest on a switch: a full buffer and a clipped signal are found, and an open stability is called so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Max, Min, Piecewise

import tcpdynamics
from tcpdynamics.models import FluidTcpProportional
from tcpdynamics.solvers import DDE, ODE, Delayed, equilibria, failures, spectral_abscissa, stability_chart, trajectory
from tcpdynamics.solvers.results import Status

w, q, v = sympy.symbols("w q v")


def queue(**more: Any) -> DDE:
    """The queue of the guide: windows that halve at a mark, a queue between empty and full."""
    w_d, q_d, C, R, N, full, gain = sympy.symbols("w_d q_d C R N full gain")
    surplus = N * w / R - C
    return DDE(
        rhs={
            "w": 1 / R - w / 2 * (w_d / R) * Min(1, gain * q_d),
            "q": Piecewise((Max(0, surplus), q <= 0), (Min(0, surplus), q >= full), (surplus, True)),
        },
        delayed={"w_d": Delayed("w", R), "q_d": Delayed("q", R)},
        parameters={"C": 1000.0, "R": 0.1, "N": 80, "full": 100.0, "gain": 0.05},
        start={"w": 1.0, "q": 0.0},
        **more,
    )


def clipped() -> DDE:
    """A window and a smoothed window, which rest where the marking is just clipped."""
    w_d, v_d = sympy.symbols("w_d v_d")
    m, c, g, k, R = 10, 10, 5, 0.2414213562373095, 0.05
    return DDE(
        rhs={"w": (m - w * w_d * Max(0, Min(1, k * (v_d - c))) / (2 * m)) / R, "v": g * (w - v)},
        delayed={"w_d": Delayed("w", R), "v_d": Delayed("v", R)},
        fixed_points=[{"w": 10 * np.sqrt(2), "v": 10 * np.sqrt(2)}],
        start={"w": 14.0, "v": 14.0},
    )


@pytest.mark.parametrize("box", [None, {"w": (0.1, 50), "q": (0, 100)}, {"w": (0.1, 50), "q": (0, 200)}])
def test_a_full_buffer_is_found(box: Any) -> None:
    """W = sqrt(2) where every packet is marked; a motion comes to rest there."""
    rest = equilibria(queue(), box)
    at = int(np.abs(rest.q.values - 100).argmin())
    assert rest.q.values[at] == 100 and rest.w.values[at] == pytest.approx(np.sqrt(2), rel=1e-12)
    assert rest.undecided.values[at] and not rest.stable.values[at]
    # above the buffer the equations rest too, which is a line of equilibria where the box does not end it
    inside = box is not None and box["q"][1] == 100
    assert int(rest.status) == (Status.ON_SWITCH if inside else Status.NOT_ISOLATED)
    assert int(rest["count"]) == 1 or not inside


def test_a_motion_comes_to_rest_at_the_full_buffer() -> None:
    end = trajectory(queue(), [40.0])
    assert end.q.item() == 100 and end.w.item() == pytest.approx(np.sqrt(2), rel=1e-6)  # the tolerance


@pytest.mark.parametrize("gain", [0.0005, 0.05])
def test_a_search_finds_the_full_buffer_of_a_model(gain: float) -> None:
    model = FluidTcpProportional(flows=150.0, capacity=1000.0, base_rtt=0.1, buffer=100.0, gain=gain)
    known, rest = equilibria(model), equilibria(model, {"W": (0.1, 50), "q": (0, 150)})
    at = int(np.abs(rest.q.values - 100).argmin())
    assert rest.q.values[at] == 100.0
    assert rest.W.values[at] == pytest.approx(float(known.W.max()), rel=1e-12)


def test_a_rate_that_vanishes_on_one_side_rests_on_the_switch() -> None:
    x = sympy.Symbol("x")
    held = ODE(rhs={"x": Piecewise((0, x >= 3), (1, True))}, start={"x": 1.0})
    rest = equilibria(held, {"x": (0, 3)})
    assert rest.x.values.tolist() == [3.0]
    nowhere = ODE(rhs={"x": Piecewise((0, x >= 3), (1, True))})
    assert int(equilibria(nowhere, {"x": (0, 2.9)})["count"]) == 0


def test_an_open_stability_is_said() -> None:
    """Both sides are stable, which decides nothing for two states with a delay."""
    for rest in (equilibria(clipped()), equilibria(clipped(), {"w": (1, 30), "v": (1, 30)})):
        assert int(rest["count"]) == 1 and rest.undecided.values.tolist() == [True]
        assert not rest.stable.values.any() and np.isnan(rest.abscissa.values).all()
        assert int(rest.status) == Status.ON_SWITCH and "lies on a switch" in failures(rest)[0][1]
        figure = tcpdynamics.plot(rest)
        names = {str(trace.name) for trace in figure.data if np.isfinite(np.asarray(trace.y, float)).any()}
        assert names == {"w, on a switch: undecided", "v, on a switch: undecided"}
        assert {trace.marker.symbol for trace in figure.data if trace.name in names} == {"diamond-open"}
    full = queue(fixed_points=[{"w": np.sqrt(2), "q": sympy.Symbol("full")}])
    rest = equilibria(full)
    assert int(rest.status) == Status.ON_SWITCH and rest.undecided.values.all()


def test_a_known_stability_on_a_switch_stays_known() -> None:
    x = sympy.Symbol("x")
    corner = equilibria(ODE(rhs={"x": 3 * Max(-x, 0) - 2 * x}, fixed_points=[{"x": 0}]))
    assert corner.stable.values.tolist() == [True] and not corner.undecided.values.any()
    assert int(corner.status) == 0


def test_the_closed_form_that_holds_is_taken() -> None:
    """x' = r - |x| x: rest at sqrt(r) for r > 0, at -sqrt(-r) below; a third form never holds."""
    x, r = sympy.symbols("x r")
    problem = ODE(
        rhs={"x": r - sympy.Abs(x) * x},
        parameters={"r": [-4.0, 1.0, 9.0]},
        fixed_points=[{"x": 7 + r**2}, {"x": sympy.sqrt(r)}, {"x": -sympy.sqrt(-r)}],
    )
    assert spectral_abscissa(problem).values.tolist() == [-4.0, -2.0, -6.0]
    chart = stability_chart(problem)
    assert chart.verdict.values.tolist() == [-1, -1, -1] and chart.sizes["crossing"] == 0
    none = equilibria(problem.changed(fixed_points=[{"x": 7 + r**2}]))
    assert none.status.values.tolist() == [Status.NO_CLOSED_FORM] * 3
    assert failures(none)[0][1].startswith("none of the closed-form points of rest holds here: ")
    lost = spectral_abscissa(problem.changed(fixed_points=[{"x": 7 + r**2}]))
    assert lost.status.values.tolist() == [Status.NO_CLOSED_FORM] * 3
