"""Where motions end: the logistic map's cascade, delayed maps, Hopf cycles, and the extrema between samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import logistic_map

from tcpdynamics.models import FluidTcpDropTail, LogisticMap, TRefwaWindow
from tcpdynamics.solvers import bifurcation, failures, trajectory
from tcpdynamics.solvers.problems import DDE, ODE, Delayed, DomainError, DynamicsError, Map
from tcpdynamics.solvers.stability.flow_attractors import maxima, repetition, return_times, vanishing

w, past, r, delay = sympy.symbols("w past r delay")
x, y = sympy.symbols("x y")


def delayed(values: Any) -> DDE:
    rhs = {"w": r * w * (1 - past)}
    return DDE(rhs=rhs, delayed={"past": Delayed("w", 1)}, parameters={"r": values}, start={"w": 0.5})


@pytest.mark.parametrize(
    "value, length",
    [
        (1.99, 1), (1.9999, 1), (2.0, 1), (2.0001, 2), (2.4, 2), (6**0.5 - 1e-4, 2), (6**0.5 + 1e-4, 4), (2.5440, 4),
        (2.5441, 8), (2.5643, 8), (2.5645, 16), (8**0.5 - 1e-4, 0), (8**0.5 + 1e-4, 3), (2.8414, 3), (2.8416, 6),
        (3.0, 0),
    ],
)  # fmt: skip
def test_cascade_of_the_logistic_map(value: float, length: int) -> None:
    """Flip at 2, period 4 from sqrt(6), 8 from 2.54409, 16 from 2.56441; a window of period 3 from sqrt(8)."""
    assert bifurcation(logistic_map(value)).cycle_length == length


def test_onset_of_chaos() -> None:
    """16 to 32 at 2.568759, 32 to 64 at 2.569692, no cycle beyond 2.569946."""
    found = bifurcation(logistic_map([2.5687, 2.5688, 2.5696, 2.5698, 2.57]), transient=4000)
    assert found.cycle_length.values.tolist() == [16, 32, 32, 64, 0]


@settings(max_examples=30)
@given(st.floats(0.05, 1.99))
def test_fixed_point(value: float) -> None:
    found = bifurcation(logistic_map(value))
    assert found.cycle_length == 1 and found.attractor == 1
    assert found.multiplier == pytest.approx(abs(1 - value), abs=1e-7)


def test_cycle_of_two_in_closed_form() -> None:
    s = sympy.Symbol("s", positive=True)
    twice = lambda e: e + s * e * (1 - e)  # noqa: E731
    pair = list(sympy.roots(s**2 * w**2 - s * (s + 2) * w + s + 2, w))
    assert all(sympy.simplify(twice(twice(root)) - root) == 0 for root in pair)
    product = sympy.prod([1 + s - 2 * s * root for root in pair])
    assert sympy.simplify(product - (5 - s**2)) == 0


@settings(max_examples=20)
@given(st.floats(2.001, 2.449))
def test_cycle_of_two(value: float) -> None:
    """Its points solve r^2 w^2 - r (r + 2) w + r + 2 = 0, its multiplier is 5 - r^2."""
    found = bifurcation(logistic_map(value), transient=5000)
    assert found.cycle_length == 2
    assert found.multiplier == pytest.approx(abs(5 - value**2), abs=1e-7)
    roots = np.sort(np.roots([value**2, -value * (value + 2), value + 2]))
    left = 2 * abs(5 - value**2) ** 2500  # of the way to the cycle
    assert np.sort(found.w.values[-2:]) == pytest.approx(roots, abs=1e-9 + left)


def test_repelling_point_is_not_an_attractor_unless_the_orbit_sits_on_it() -> None:
    found = bifurcation(logistic_map(2.3, start=[0.1, 1.0]))
    assert found.cycle_length.values.tolist() == [2, 1] and found.multiplier.values[1] == pytest.approx(1.3)


def test_escape() -> None:
    found = bifurcation(logistic_map([1.0, 3.2]))
    assert np.isnan(found.w.sel(r=3.2)).all() and found.cycle_length.values.tolist() == [1, 0]
    assert [reason for _, reason in failures(found)] == ["the state grew beyond floating-point numbers"]
    with pytest.raises(DynamicsError, match=r"'r': 3\.2.*beyond floating-point"):
        bifurcation(logistic_map([1.0, 3.2]), throw=True)


def test_delayed_map() -> None:
    """w' = w + r w (1 - past), one step back: Neimark-Sacker at r = 1 (roots of z^2 - z + r), then no cycle."""
    equations: Any = {"rhs": {"w": w + r * w * (1 - past)}, "start": {"w": 0.5}}
    rates = np.array([0.3, 0.9, 0.99, 1.02, 1.1])
    back = Map(**equations, delayed={"past": Delayed("w", delay)}, parameters={"r": rates, "delay": [0, 1, 2]})
    found = bifurcation(back)
    assert found.cycle_length.sel(delay=0).values.tolist() == [1] * 5
    assert found.cycle_length.sel(delay=1).values.tolist()[:3] == [1, 1, 1]
    assert (found.cycle_length.sel(delay=1).values[3:] != 1).all()
    for rate in rates[:3]:
        largest = np.abs(np.roots([1, -1, rate])).max()
        assert found.multiplier.sel(delay=1, r=rate) == pytest.approx(largest, abs=1e-6)
    critical = 2 * np.sin(np.pi / 10)  # two steps back: cos(2.5 a) = 0 on the unit circle
    assert (found.cycle_length.sel(delay=2).values == 1).tolist() == (rates < critical).tolist()


def test_neutral_cycles_of_t_refwa() -> None:
    """A0 at (1.5, 0.5): every start between 0 and B/2 gives a cycle e <-> B/2 - e of multiplier 1."""
    problem = TRefwaWindow(buffer=100.0).map()
    state = problem.labels[0]
    found = bifurcation(problem.starting({state: np.array([3.0, 20.0, 49.0])}))
    assert found.cycle_length.values.tolist() == [2, 2, 2]
    assert found.multiplier.values == pytest.approx(np.ones(3))
    assert np.sort(found[state].values[:, -2:], axis=1) == pytest.approx(np.array([[3, 47], [20, 30], [1, 49]]))


def test_labels_and_round_trip(tmp_path: Any) -> None:
    found = bifurcation(LogisticMap(epsilon=[1.5, 2.2], capacity=[5.0, 10.0]), "epsilon", keep=32)
    assert found.attrs["parameter"] == "epsilon" and found.w.dims == ("epsilon", "capacity", "iterate")
    assert found.w.attrs["units"] == "packet"
    found.to_netcdf(tmp_path / "b.nc")
    with xr.open_dataset(tmp_path / "b.nc") as again:
        assert again.attractor.values.tolist() == [[1, 1], [2, 2]]


def test_refusals() -> None:
    with pytest.raises(DynamicsError, match="'q' is not swept; swept are: r"):
        bifurcation(logistic_map([1.0]), "q")
    with pytest.raises(DomainError, match="transient of a map must be a whole number"):
        bifurcation(logistic_map([1.0]), transient=1.5)
    with pytest.raises(DomainError, match="at most 250,000,000"):
        bifurcation(logistic_map(np.linspace(1, 2, 10**6)), keep=1000)
    with pytest.raises(DynamicsError, match="of names 'q'"):
        bifurcation(delayed([1.0]), of="q")


@pytest.mark.parametrize("bad", [np.nan, np.inf, "a", -1, True])
@pytest.mark.parametrize("name", ["transient", "keep", "max_period", "samples", "rtol", "atol"])
def test_settings_that_are_no_numbers(name: str, bad: Any) -> None:
    with pytest.raises(DomainError, match=f"{name} must .*, got"):
        bifurcation(delayed([1.0]), **{name: bad})
    if name in ("transient", "keep", "max_period"):
        with pytest.raises(DomainError, match=f"{name}.* must be a whole number >= [012], got"):
            bifurcation(logistic_map([1.0]), **{name: bad})


# -- flows --------------------------------------------------------------------------------------------------


def test_hopf_of_the_delayed_logistic() -> None:
    """Rest below pi/2, a cycle above, of length 4 (1 + (r - pi/2)^2-ish) near the onset: 2 pi / omega, omega = pi/2."""
    found = bifurcation(delayed([1.0, 1.5, 1.6, 1.8, 2.2]), transient=1000)
    assert found.attractor.values.tolist() == [1, 1, 2, 2, 2]
    assert found.cycle_length.values.tolist() == [0, 0, 1, 1, 1]
    assert (np.diff(found.duration.values[2:]) > 0).all() and found.duration.values[2] == pytest.approx(4, abs=0.05)
    assert found.level.values[:2] == pytest.approx([1, 1], abs=1e-6)


def test_extrema_against_a_fine_trajectory() -> None:
    found = bifurcation(delayed(1.9), transient=300, keep=60)
    fine = trajectory(delayed(1.9), np.arange(300, 360, 1e-3))
    assert found.maxima.values[-1] == pytest.approx(float(fine.w.max()), abs=1e-6)
    assert found.minima.values[-1] == pytest.approx(float(fine.w.min()), abs=1e-6)
    peaks, places, _ = maxima(fine.w.values[None])
    assert found.duration == pytest.approx(float(np.diff(places[0])[-1]) * 1e-3, abs=1e-6)
    assert peaks[0, -1] == pytest.approx(found.maxima.values[-1], abs=1e-7)


def test_circle_of_radius_one() -> None:
    """x' = x - y - x (x^2 + y^2): cycle of length 2 pi; with a minus, rest at 0."""
    radius = x**2 + y**2
    circle = ODE(
        rhs={"x": r * x - y - x * radius, "y": x + r * y - y * radius}, parameters={"r": [-0.2, 1.0]},
        start={"x": 0.3, "y": 0.1}, outputs={"twice": 2 * x},
    )  # fmt: skip
    found = bifurcation(circle, transient=100.0, keep=60.0)
    assert found.attractor.values.tolist() == [1, 2]
    assert found.maxima.values[1, -8:] == pytest.approx(np.ones(8), abs=1e-6)
    assert found.duration.values[1] == pytest.approx(2 * np.pi, abs=1e-5)
    output = bifurcation(circle, of="twice", transient=100.0, keep=60.0)
    assert output.minima.values[1, -1] == pytest.approx(-2, abs=1e-6)


def test_period_doubling_of_roessler() -> None:
    z = sympy.Symbol("z")
    flow = ODE(
        rhs={"x": -y - z, "y": x + y / 5, "z": sympy.Rational(1, 5) + z * (x - r)},
        parameters={"r": [2.5, 3.5, 4.0, 5.7]}, start={"x": 1.0, "y": 1.0, "z": 0.0},
    )  # fmt: skip
    found = bifurcation(flow, keep=400.0, samples=8000)
    assert found.cycle_length.values.tolist() == [1, 2, 4, 0]


@given(st.floats(0.005, 0.3), st.floats(0.5, 3), st.floats(0, 6))
def test_decay_is_told_from_a_cycle(rate: float, frequency: float, phase: float) -> None:
    """Oscillations that die out come to rest, however slowly; those that approach a size of their own do not."""
    t = np.linspace(0, 60, 1201)
    shape = np.cos(frequency * t + phase)[None]
    assert not _rests((1 + np.exp(-rate * t)) * shape)
    turns = frequency * 60 / (2 * np.pi)
    if turns > 6 and np.exp(-rate * 60) < 0.95:
        assert _rests(np.exp(-rate * t) * shape)
    assert _rests(np.exp(-rate * t)[None])


def _rests(samples: Any) -> bool:
    return bool(vanishing(samples, maxima(samples)[0], -maxima(-samples)[0]).item())


def test_flow_that_blows_up() -> None:
    found = bifurcation(ODE(rhs={"x": x**2 - r}, parameters={"r": [1.0, -1.0]}, start={"x": 0.0}))
    assert found.attractor.values.tolist() == [1, 0] and int(found.status[1]) != 0


# -- extrema and repetition ---------------------------------------------------------------------------------


def test_order_of_the_extrema() -> None:
    """The error falls as step^7 (values) and step^4 or faster (places); `doubt` bounds it."""
    errors = []
    for step in (0.4, 0.2, 0.1):
        t = np.arange(0, 20, step)
        values, _, doubt = maxima((np.sin(t) + 0.3 * np.sin(2 * t + 1))[None])
        dense = np.linspace(12, 16, 4_000_001)
        errors.append(abs(values[0, -1] - (np.sin(dense) + 0.3 * np.sin(2 * dense + 1)).max()))
        assert errors[-1] <= doubt[0]
    assert errors[0] / errors[1] > 2**5 and errors[1] / errors[2] > 2**6


@pytest.mark.parametrize(
    ("looked_at", "least", "largest"),
    [
        (sympy.Max(0, x), [0], [1]), (sympy.Min(x, sympy.Rational(1, 2)), [-1], [0.5]), (sympy.Abs(x), [0], [1]),
        (-sympy.Abs(x), [-1], [0]), (sympy.Max(x, y), [-(0.5**0.5), 0.5**0.5], [1]),
        (sympy.Heaviside(x), [0], [1]), (sympy.Max(x, -0.999), [-0.999], [1]),
        (sympy.Piecewise((x, x < 0.3), (sympy.Rational(3, 5) - x, True)), [-1, -0.4], [0.3]),
    ],
)  # fmt: skip
def test_extrema_at_corners_plateaus_and_jumps(looked_at: Any, least: list[float], largest: list[float]) -> None:
    """Nothing that the quantity never is: x = cos t, y = -sin t."""
    circle = ODE(rhs={"x": y, "y": -x}, outputs={"z": looked_at}, start={"x": 1.0, "y": 0.0})
    ends = bifurcation(circle, of="z", transient=20, keep=60)
    for name, values in (("minima", least), ("maxima", largest)):
        points = ends[name].values[np.isfinite(ends[name].values)][
            1:-1
        ]  # those at the window's ends have fewer samples
        assert points.size >= 7 and np.abs(points[:, None] - values).min(axis=1).max() < 1e-7
    assert ends.attractor == 2


def test_extrema_of_a_switched_state() -> None:
    """A state that rises at 1 and falls at 2 between 0 and 1 has its corners there, wherever samples lie."""
    rising = sympy.Heaviside(sympy.sin(2 * sympy.pi * sympy.Symbol("t") / 3 + sympy.Rational(1, 10)))
    saw = ODE(rhs={"x": 2 * rising - 1}, start={"x": 0.0})
    ends = bifurcation(saw, transient=30, keep=60, samples=1777)
    assert max(np.ptp(ends[k].values[2:]) for k in ("maxima", "minima")) < 1e-8  # rtol
    assert float(ends.maxima[-1] - ends.minima[-1]) == pytest.approx(1.5, abs=1e-8)


@given(st.integers(1, 6), st.integers(0, 10**6))
def test_repetition(period: int, seed: int) -> None:
    """A cycle with noise below the threshold has its own period; one that drifts has none."""
    rng = np.random.default_rng(seed)
    points = rng.permutation(period) + 1.0
    row = np.tile(points, 10)[None] + rng.uniform(-1e-8, 1e-8, (1, 10 * period))
    row = np.concatenate([np.full((1, 7), np.nan), row], axis=1)
    one = np.ones(1)
    assert repetition(row, 1e-7 * one, one, 8).tolist() == [period]
    assert repetition(row + 0.2 * np.arange(row.shape[1]), 1e-7 * one, one, 8).tolist() == [0]
    fading = row + 0.001 * 0.9 ** np.arange(row.shape[1])
    assert repetition(fading, 1e-7 * one, period * one, 8).tolist() in ([period], [0])


@pytest.mark.slow
@pytest.mark.parametrize("flows", [20, 40])
def test_corners_close_together_are_sampled_more_densely(flows: int) -> None:
    """A queue that is full for a few samples of the default window never exceeds its buffer; its cycles are alike."""
    model = FluidTcpDropTail(flows=flows, capacity=3750, base_rtt=0.2, buffer=800)
    answer = bifurcation(model, of="q")
    highest, lows = float(answer.maxima.max()), answer.minima.values[-5:]
    assert highest == pytest.approx(800, rel=1e-12)
    assert np.ptp(lows) <= 1e-3 * (800 - lows[-1])
    assert float(answer.duration) == pytest.approx(float(bifurcation(model, of="W").duration), rel=1e-3)


def test_a_motion_on_its_way_to_rest_has_the_equilibrium_itself() -> None:
    """x' = (1 - x)/100 + y - p, y' = 2(p - y): the end is e^-3 of the way off, the equilibrium is not."""
    x, y, p = sympy.symbols("x y p")
    problem = ODE(
        rhs={"x": (1 - x) / 100 + y - p, "y": 2 * p - 2 * y},
        parameters={"p": [1.0, 2.0]},
        start={"x": 1.5, "y": p},
        outputs={"z": x**2 + y},
    )
    for of, wanted in (("x", [1.0, 1.0]), ("z", [2.0, 3.0])):
        result = bifurcation(problem, transient=200.0, keep=100.0, of=of, samples=100)
        assert result.attractor.values.tolist() == [1, 1]
        assert result.equilibrium.values == pytest.approx(wanted, rel=1e-12)
        assert (np.abs(result.level.values - wanted) > 1e-3).all()


@pytest.mark.parametrize("samples", [500, 2000])
@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-10])
def test_durations_are_as_exact_as_the_motion(rtol: float, samples: int) -> None:
    """Van der Pol's cycle, whose period is known to 15 digits, and a circle, in units of the tolerance."""
    van_der_pol = ODE(rhs={"x": y, "y": (1 - x**2) * y - x}, start={"x": 2.0, "y": 0.0})
    circle = ODE(rhs={"x": x - y - x * (x**2 + y**2), "y": x + y - y * (x**2 + y**2)}, start={"x": 0.3, "y": 0.1})
    for problem, period in ((van_der_pol, 6.66328685932313), (circle, 2 * np.pi)):
        found = bifurcation(problem, transient=200.0, keep=100.0, rtol=rtol, samples=samples)
        assert abs(float(found.duration) / period - 1) < 0.1 * rtol


@given(st.floats(0.02, 0.2), st.floats(0.0, 1.0), st.integers(1, 8), st.floats(-0.3, 0.3))
def test_a_cycle_comes_back_after_its_length(pace: float, phase: float, cycles: int, second: float) -> None:
    """Any smooth wave, however it is sampled."""
    t = pace * np.arange(int(2 * np.pi / pace * (cycles + 2)) + 20) + phase
    wave = np.sin(t) + second * np.sin(2 * t + 0.3)
    _, places, _ = maxima(wave[None])
    start, end = places[0][-1 - cycles], places[0][-1]
    found, _ = return_times(wave[None], np.array([start]), np.array([end - start]), np.array([cycles]))
    assert found[0] * pace == pytest.approx(2 * np.pi * cycles, abs=1e-9)
