"""Comparisons with fluids: their intervals hold the truth, and wrong models are found out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import lambertw

from tcpdynamics import models, plot
from tcpdynamics.solvers import DDE, DomainError, DynamicsError
from tcpdynamics.validation.comparisons import (
    LogisticVsFluid,
    LotkaVolterraVsFluid,
    MisraVsLinearisation,
    TRefwaMapVsFluid,
)
from tcpdynamics.validation.comparisons.comparison import Verdict, against, counts, critical_value
from tcpdynamics.validation.comparisons.oscillation import SMALLEST, disturbed, measure, slowest
from tcpdynamics.validation.fluid import Crowd, SampledWindow

# -- measuring -----------------------------------------------------------------------------------------------


@given(st.floats(-1, 0.3), st.floats(0.3, 5), st.floats(0.5, 3), st.floats(0, 4), st.floats(0.05, 1), st.floats(0, 6))
@settings(max_examples=60)
def test_the_slowest_of_two_waves_is_found(
    rate: float, frequency: float, faster: float, other: float, weight: float, phase: float
) -> None:
    """Two waves that the samples tell apart: their fourth term is not below the cut-off of what is fitted."""
    step = 0.1
    t = np.arange(60) * step
    slow = np.exp(rate * t) * np.cos(frequency * t + phase)
    both = slow + weight * np.exp((rate - faster) * t) * np.cos(other * t)
    size = np.linalg.svd(np.lib.stride_tricks.sliding_window_view(both, 21), compute_uv=False)
    assume(other == 0 or size[3] > SMALLEST * size[0])
    z = slowest(np.atleast_2d(both), step)
    assert z == pytest.approx(complex(rate, frequency), rel=1e-4, abs=1e-4)


def test_intervals_hold_the_true_root() -> None:
    """Forty delays on both sides of the boundary and of the onset of oscillation; the truth is Lambert's W."""
    delay = np.sort(np.random.default_rng(5).uniform(0.05, 1.1, 40))
    measured = measure(Crowd(epsilon=1.95, delay=delay).dde(), 30.0, 0.02)
    roots = lambertw(-1.95 * delay) / delay
    off = np.abs(-measured.decay.values + 1j * measured.frequency.values - (roots.real + 1j * np.abs(roots.imag)))
    assert (off <= measured.error.values).all()
    assert (measured.error.values <= 2e-3 * np.abs(roots)).all()


@given(st.floats(0.1, 5), st.integers(1, 4), st.integers(2, 9))
@settings(max_examples=30)
def test_division_brackets_the_root(root: float, rounds: int, parts: int) -> None:
    value, low, high = critical_value(lambda x: (root - x, 0 * x), 0.0, 6.0, rounds=rounds, parts=parts)
    assert low - 1e-12 <= root <= high + 1e-12
    assert high - low == pytest.approx(6.0 / parts**rounds, rel=1e-6)
    assert value == pytest.approx(root, abs=1e-9)


def test_no_change_of_sign_is_no_critical_value() -> None:
    value, low, high = critical_value(lambda x: (1 + x, 0 * x), 0.0, 6.0)
    assert np.isnan(value) and (low, high) == (6.0, np.inf)


def test_verdicts_follow_the_interval() -> None:
    values, error, said = (
        xr.DataArray(x, dims="case")
        for x in ([1.0, 1.0, 1.0, np.nan], [1e-3, 1e-3, 0.1, 0.1], [1.0005, 1.002, 1.05, 1])
    )
    graded = against(values, error, said, said)
    assert graded["verdict"].values.tolist() == ["agrees", "differs", "undecided", "no answer"]
    assert counts(graded["verdict"]) == "1 of 4 agree, 1 differ, 1 undecided, 1 without an answer"
    assert ((graded["gap_low"] <= graded["gap"]) | graded["gap"].isnull()).all()


def test_a_disturbance_needs_a_point_of_rest() -> None:
    import sympy

    x = sympy.Symbol("x")
    with pytest.raises(DynamicsError, match="no fixed point in closed form"):
        disturbed(DDE(rhs={"x": -x}, start={"x": 1.0}))


# -- logistic ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def growth() -> xr.Dataset:
    return LogisticVsFluid(epsilon=(0.6, 1.95, 3.0), delay=(0.0, 0.3, 0.65), rounds=2).run()


def test_logistic_spectrum_agrees_with_trajectories(growth: xr.Dataset) -> None:
    assert (growth.verdict == "agrees").all() and (growth.critical_verdict == "agrees").all()
    exact = np.pi / 2 / growth.epsilon
    assert ((growth.critical_low <= exact) & (exact <= growth.critical_high)).all()
    np.testing.assert_allclose(growth.critical_predicted, exact, rtol=1e-8)
    still = growth.sel(delay=0.0)
    assert (abs(still.measured.sel(quantity="decay") - growth.epsilon) <= still.error).all()


class _FasterFluid(LogisticVsFluid):
    """Grows by 1 % more than the model says."""

    def fluid(self, epsilon: Any, delay: Any) -> DDE:
        return super().fluid(1.01 * np.asarray(epsilon), delay)


def test_a_wrong_growth_rate_is_found_out() -> None:
    wrong = _FasterFluid(epsilon=(1.95,), delay=(0.3, 0.65), rounds=3)
    measured = wrong.run()
    assert (measured.verdict == "differs").all() and (measured.critical_verdict == "differs").all()
    assert measured.critical_gap.item() == pytest.approx(1 / 1.01 - 1, abs=1e-4)


# -- Lotka-Volterra ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def competition() -> xr.Dataset:
    return LotkaVolterraVsFluid(flows=(2, 5), rounds=2).run()


@pytest.mark.slow
def test_lotka_volterra_spectrum_agrees_with_trajectories(competition: xr.Dataset) -> None:
    assert (competition.verdict == "agrees").all() and (competition.critical_verdict == "agrees").all()
    r1 = competition.sel(fluid=["all old", "others old"])
    closed = r1.critical_r1.where(np.isfinite(r1.critical_r1))
    inside = (r1.critical_low <= closed) & (closed <= r1.critical_high)
    assert (inside | closed.isnull()).all()
    assert np.isnan(competition.critical.sel(fluid="others old", flows=2))  # stable at any delay


def test_a_queue_bears_more_delay_than_reading_one(competition: xr.Dataset) -> None:
    queue = competition.sel(fluid="queue", flows=5)
    assert queue.critical_low > 2 * queue.critical_r1
    slow = competition.measured.sel(mode="difference", quantity="decay", flows=5)
    assert slow.sel(fluid="queue") > 4 * slow.sel(fluid="others old")


class _HeavierFluid(LotkaVolterraVsFluid):
    def fluid(self, name: str, flows: int, delay: Any) -> Crowd:
        return Crowd(
            flows=flows, epsilon=self.epsilon, gamma=0.98 * self.gamma, delay=delay,
            own_old=name == "all old", queue=name == "queue",
        )  # fmt: skip


def test_a_wrong_weight_is_found_out() -> None:
    wrong = _HeavierFluid(flows=(3,), rounds=1).run()
    decay = wrong.verdict.sel(quantity="decay", fluid="others old")
    assert (decay == "differs").all()


# -- T-REFWA -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def router() -> xr.Dataset:
    return TRefwaMapVsFluid(gains=((1.5, 0.5), (1.0, 0.5)), rounds=3).run()


@pytest.mark.slow
def test_each_fluid_has_the_reading_that_it_should(router: xr.Dataset) -> None:
    assert router.best.values.tolist() == router.expected.values.tolist()
    assert (router.critical_verdict == "agrees").all()


def test_published_gains_leave_a_cycle(router: xr.Dataset) -> None:
    window = router.sel(fluid="windows, half an RTT")
    assert float(window.measured.sel(part="real", gains="(1.5, 0.5)")) == pytest.approx(-1.0, abs=1e-7)
    assert np.sort(router.cycle.values[-2:]).tolist() == pytest.approx([0.0, 0.5], abs=1e-9)


def test_rest_and_reach(router: xr.Dataset) -> None:
    """Windows leave B/3 (phi = 1, psi = 1/2), rates fill the buffer; beyond what the link drains the map is wrong."""
    windows = [n for n in router.fluid.values if n.startswith("windows")]
    np.testing.assert_allclose(router.settled.sel(fluid=windows), 1 / 3, atol=1e-9)
    np.testing.assert_allclose(router.settled.drop_sel(fluid=windows), 1.0, atol=1e-9)
    np.testing.assert_allclose(router.reach, router.reach_predicted, atol=1e-7)


class _StrongerRouter(TRefwaMapVsFluid):
    def fluid(self, name: str, phi: float, psi: float, room: float | None = None) -> SampledWindow:
        return super().fluid(name, phi, 1.01 * psi, room)


def test_a_wrong_gain_is_found_out() -> None:
    wrong = _StrongerRouter(gains=((1.0, 0.5), (0.8, 0.3)), rounds=1).run()
    sampled = wrong.drop_sel(fluid="continuous control")
    assert (sampled.best == "none").all()


# -- fluid TCP -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def marked() -> xr.Dataset:
    return MisraVsLinearisation(ratio=(0.8, 1.1), rounds=3, horizon=30.0).run()


@pytest.mark.slow
def test_the_exact_linearisation_holds_and_the_simplified_one_does_not(marked: xr.Dataset) -> None:
    assert (marked.verdict.sel(prediction="exact") == "agrees").all()
    assert (marked.verdict.sel(prediction="simplified") == "differs").all()
    assert (marked.critical_verdict.sel(prediction="exact") == "agrees").all()
    plain = marked.sel(fluid=["proportional", "varying delay"])
    assert (plain.critical_low <= 1.822e-4).all() and (plain.critical_high >= 1.8215e-4).all()
    assert (plain.critical_high < 1.860e-4).all()
    assert (plain.critical_verdict.sel(prediction="simplified") == "differs").all()


class _OneMoreFlow(MisraVsLinearisation):
    def model(self, fluid: str, gain: Any) -> Any:
        import dataclasses

        return dataclasses.replace(super().model(fluid, gain), flows=1.01 * self.flows)

    def _roots(self, fluid: str, gains: Any) -> xr.DataArray:
        return MisraVsLinearisation(ratio=self.ratio)._roots(fluid, gains)


def test_one_percent_more_flows_are_found_out() -> None:
    wrong = _OneMoreFlow(ratio=(0.9,), rounds=1, horizon=20.0)
    measured = wrong._measure("proportional", np.array([1.6e-4]))
    roots = wrong._roots("proportional", np.array([1.6e-4])).sel(prediction="exact")
    assert abs(float(measured.decay[0]) + float(roots.real[0])) > 10 * float(measured.error[0])


# -- words, pictures, input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (LogisticVsFluid, "growth"),
        (LotkaVolterraVsFluid, "competition"),
        (TRefwaMapVsFluid, "router"),
        (MisraVsLinearisation, "marked"),
    ],
)
def test_words_and_figures(kind: Any, name: str, request: pytest.FixtureRequest) -> None:
    result = request.getfixturevalue(name)
    text = kind.paragraph(result)
    assert "nan" not in text.lower() and len(text) > 200
    assert len(plot(result).data) >= 3
    assert {*kind.effect, "verdict"} <= set(result.data_vars)
    assert set(result.verdict.values.ravel()) <= set(Verdict)
    assert result.attrs["comparison"] == kind.__name__
    assert result.drop_vars("deviation", errors="ignore").to_netcdf(engine="h5netcdf")


def test_settings_are_checked() -> None:
    with pytest.raises(DomainError, match="epsilon must list"):
        LogisticVsFluid(epsilon=(-1.0,))
    with pytest.raises(DomainError, match="flows must list"):
        LotkaVolterraVsFluid(flows=(1,))
    with pytest.raises(DomainError, match="gains must list"):
        TRefwaMapVsFluid(gains=((1.0, 0.0),))
    with pytest.raises(DomainError, match="ratio must list"):
        MisraVsLinearisation(ratio=())


def test_published_critical_gains() -> None:
    """The two numbers that the comparison stands between."""
    near = models.TcpLinearisation(flows=60, capacity=3750, rtt=0.246)
    assert f"{near.critical_gain():.3e} {near.critical_gain_simplified():.3e}" == "1.822e-04 1.860e-04"
