"""Every model's `stability_margin` against the roots of its equations and against motion, edges included."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import numpy as np
import pytest
import sympy
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import tcpdynamics.models as models
from tcpdynamics.models import TRefwaBiased, TRefwaDelayed, TRefwaMeasured, TRefwaMeasuredRtt, TRefwaMixed, TRefwaWindow
from tcpdynamics.models.t_refwa.recursion import schur_cohn_margin
from tcpdynamics.solvers import DomainError, DynamicsError, stability_chart, trajectory

Array = NDArray[np.float64]
STABLE, MARGINAL, UNSTABLE, UNKNOWN = -1, 0, 1, 2


def mixed(low: float, high: float, *edges: float) -> st.SearchStrategy[float]:
    """Numbers of two decimals, and edges as often."""
    return st.one_of(st.sampled_from(edges), st.integers(int(low * 100), int(high * 100)).map(lambda v: v / 100))


PARAMETERS: dict[str, st.SearchStrategy[Any]] = {
    "phi": mixed(0, 3.5, 0.0, 1.0, 2.0),
    "psi": mixed(0, 2.5, 0.0, 0.5, 1.0, 2.0),
    "delay": st.integers(0, 6),
    "delays": st.sampled_from([(0,), (1,), (0, 1), (0, 2), (2, 3, 3)]),
    "buffer": mixed(1, 300, 100.0, 190.0),
    "bdp": mixed(1, 300, 100.0, 190.0),
    "rtt_error": mixed(-0.9, 2, 0.0, 0.5, -0.5),
    "bdp_1": st.sampled_from([100.0, 190.0]),
    "bdp_3": st.sampled_from([100.0, 150.0]),
    "buffer_1": st.sampled_from([0.0, 50.0, 190.0]),
    "buffer_3": st.sampled_from([0.0, 60.0, 190.0]),
    "weight_1": st.sampled_from([1, 5]),
    "weight_2": st.sampled_from([1, 4]),
    "weight_3": st.sampled_from([1, 6]),
    "epsilon": mixed(0.05, 4, 0.5, 1.0, 2.0),
    "gamma": mixed(0, 0.99, 0.0, 0.5, 0.9),
    "capacity": mixed(1, 300, 100.0),
    "flows": st.integers(1, 4),
    "period": mixed(0.1, 3, 1.0),
    "lag": st.integers(0, 2),
    "cross_traffic": st.sampled_from([0.0, 10.0]),
    "available_error": mixed(-0.3, 0.3, 0.0),
    "capacity_error": mixed(-0.3, 0.3, 0.0),
}

#: Models whose view by itself is judged elsewhere: the drop-tail buffer has a root of its own at zero.
ELSEWHERE = {"FluidTcpDropTail", "FluidTcpFullQueue", "FluidTcpProportional", "FluidTcpRed"}

MODELS = sorted(
    name
    for name, model in vars(models).items()
    if inspect.isclass(model) and hasattr(model, "stability_margin") and name not in ELSEWHERE
)


def verdict(model: Any) -> tuple[int, float]:
    """Verdict of a chart of one point, and how far the leading root is from the border."""
    view = next(getattr(model, name) for name in ("map", "dde", "ode") if hasattr(model, name))
    problem = view()
    one = next(k for k in ("phi", "epsilon") if k in problem.parameters)
    chart = stability_chart(problem.at(**{one: [float(problem.parameters[one])]}), trace=False)
    value = chart.radius.values[0] - 1 if "radius" in chart else chart.abscissa.values[0]
    return int(chart.verdict.values[0]), float(value)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=12)
@given(data=st.data())
def test_the_sign_of_the_margin_is_the_stability(name: str, data: Any) -> None:
    cls = getattr(models, name)
    drawn = {f.name: data.draw(PARAMETERS[f.name]) for f in dataclasses.fields(cls) if f.name in PARAMETERS}
    try:
        model = cls(**drawn)
        margin = float(model.stability_margin())
        code, beyond = verdict(model)
    except (DomainError, DynamicsError):
        return  # no such model, or no closed form
    if abs(margin) < 1e-9 and abs(beyond) < 1e-6:  # on the border, to rounding
        return
    if code == UNKNOWN:
        assert margin <= 0 or "TwoLinks" in name  # at a tie of feedbacks, which the margin leaves out
    else:
        assert np.sign(margin) == -code


@pytest.mark.parametrize(
    "model, less",
    [
        (TRefwaWindow, {}),
        (TRefwaDelayed, {"delay": 2}),
        (TRefwaMeasured, {"delay": 1}),
        (TRefwaMixed, {"delays": (0, 2)}),
        (TRefwaBiased, {"rtt_error": 0.3}),
    ],
)
@settings(max_examples=8)
@given(psi=mixed(0, 2.5, 0.0, 0.5, 2.0))
def test_without_phi_the_queue_rests_on_the_end_of_the_buffer(model: Any, less: dict[str, Any], psi: float) -> None:
    """Every e >= B is at rest, so that a deviation upwards stays: the margin is 0."""
    law = model(phi=0.0, psi=psi, buffer=100.0, bdp=100.0, **less)
    assert law.stability_margin() == 0
    if psi > 0:
        for start in (100.0, 101.0, 150.0):
            path = trajectory(law.map().starting({"e": start}), np.arange(30)).e.values
            assert (path == start).all()
        path = trajectory(law.map().starting({"e": 99.0}), np.arange(200)).e.values
        assert (np.diff(path) >= 0).all() and np.abs(path - 100).max() < 1 + 3 * psi  # it never falls
    assert law.stability_margin() <= 0 < model(phi=1e-3, psi=0.1, buffer=100.0, bdp=100.0, **less).stability_margin()


def test_conditions_of_the_window_reading() -> None:
    phi, psi = sympy.symbols("phi psi")
    assert set(TRefwaWindow(phi=phi, psi=psi).conditions()) == {phi, 2 - phi - psi}
    assert min(TRefwaWindow(phi=0.0, psi=0.5).conditions()) == 0


def test_a_biased_queue_that_just_fills_or_empties() -> None:
    """At e* = 0 (or B) one side has the multiplier 1 - phi, the other 1 - phi - psi."""
    for phi, psi, stable in (
        (0.5, 5.0, True),
        (1.5, 0.4, True),
        (1.9, 0.5, False),
        (1.0, 4.0, True),
        (2.1, 0.1, False),
    ):
        for error in (-psi / phi, 1.0):  # e* = 0, and e* = B
            if error <= -1:
                continue
            law = TRefwaBiased(phi=phi, psi=psi, buffer=100.0, bdp=100.0, rtt_error=error)
            assert (law.stability_margin() > 0) == stable
            assert (verdict(law)[0] == STABLE) == stable
            rest = law.equilibrium()["e"]
            for step in (-1e-3, 1e-3):
                path = trajectory(law.map().starting({"e": rest + step}), np.arange(400)).e.values
                assert (np.abs(path[-20:] - rest).max() < abs(step) / 2) == stable


@settings(max_examples=60)
@given(st.lists(st.floats(-2, 2).map(lambda v: round(v, 1)), min_size=1, max_size=5), st.sampled_from([-1.0, 1.0]))
def test_a_product_of_roots_of_one_is_no_margin(middle: list[float], last: float) -> None:
    """z^n + ... +- 1: on the circle all of them, or some outside; the margin is 0 or below."""
    coefficients = np.array([1.0, *middle, last])
    margin = float(schur_cohn_margin(coefficients[:, None])[0])
    radius = np.abs(np.roots(coefficients)).max()
    assert margin <= 0
    if radius > 1 + 1e-3:
        assert margin < 0
    if margin < -1e-6:
        assert radius > 1


def test_schur_cohn_on_the_circle() -> None:
    cases = {
        (1.0, 0.0, 1.0): True, (1.0, 3.0, 1.0): False, (1.0, 2.0, 1.0): True, (1.0, 1.0, 1.0, 1.0): True,
        (1.0, 0.5, 0.0, 1.0): False, (1.0, 0.0, 0.0, 0.0, -1.0): True,
    }  # fmt: skip
    for coefficients, on in cases.items():
        margin = float(schur_cohn_margin(np.array(coefficients)[:, None])[0])
        assert (margin == 0) == on and margin <= 0


def test_cut_map_of_the_measured_round_trip_time() -> None:
    """`cut_margin` by simulation from both sides, a point that was misjudged among them."""
    rng = np.random.default_rng(3)
    phi, psi = np.append(rng.uniform(0, 4, 40), 2.4), np.append(rng.uniform(0, 4, 40), 1.5)
    law = TRefwaMeasuredRtt(
        phi=xr.DataArray(phi, dims="point"), psi=xr.DataArray(psi, dims="point"), buffer=100.0, bdp=100.0
    )
    margin = law.cut_margin().values
    chart = stability_chart(law.cut_map(), trace=False)
    assert ((chart.verdict.values == STABLE) == (margin > 0)).all()
    worst = np.zeros(41)
    for step in (-1e-3, 1e-3):
        path = trajectory(law.cut_map().starting({"e": 100 + step}), np.arange(400)).e
        last = np.abs(path.isel(time=slice(-10, None)) - 100).max("time").values
        worst = np.maximum(worst, last)
    clear = np.abs(margin) > 0.05
    assert ((worst < 1e-4) == (margin > 0))[clear].all()
