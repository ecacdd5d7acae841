"""Fluid TCP: the equations, where they rest, their linearisation, and the exact boundary of stability."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pint
import pytest
import sympy
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics.models.fluid_tcp.equations import operating_rtt
from tcpdynamics.models.fluid_tcp.linearisation import TcpLinearisation
from tcpdynamics.models.fluid_tcp.link import FluidTcpDropTail, FluidTcpFullQueue
from tcpdynamics.models.fluid_tcp.marking import FluidTcpProportional, FluidTcpRed
from tcpdynamics.solvers import equilibria, spectral_abscissa
from tcpdynamics.solvers.equations import System, compile_system
from tcpdynamics.solvers.problems import DomainError

N, C, R, K, T, k = sympy.symbols("N C R K T k", positive=True)
W, q, w_past, q_past, p_past, s = sympy.symbols("W q W_R q_R p_R s")
LINK = {"flows": 60.0, "capacity": 3750.0}
PROPORTIONAL = FluidTcpProportional(**LINK, base_rtt=0.2, buffer=800.0, gain=1e-4)
RED = FluidTcpRed(
    **LINK, base_rtt=0.2, buffer=800.0, min_threshold=150.0, max_threshold=700.0, p_max=0.1, averaging=0.005
)
DROP_TAIL = FluidTcpDropTail(flows=10.0, capacity=1000.0, base_rtt=0.1, buffer=100.0)
ALL = [PROPORTIONAL, RED, DROP_TAIL, FluidTcpFullQueue(flows=40.0, capacity=1000.0, base_rtt=0.1, buffer=20.0)]
every_model = pytest.mark.parametrize("model", ALL, ids=lambda m: type(m).__name__)

windows = st.floats(1.5, 500)
links = st.tuples(st.floats(1, 1e4), windows, st.floats(1e-3, 1.0))  # N, W, R


def linearised(n: float, w: float, rtt: float, **averaging: float) -> TcpLinearisation:
    return TcpLinearisation(flows=n, capacity=n * w / rtt, rtt=rtt, **averaging)


def at_rest(system: System, which: int = 0) -> np.ndarray:
    """A closed-form fixed point at all points of the grid."""
    from tcpdynamics.solvers.programs.from_sympy import emit
    from tcpdynamics.solvers.programs.straightline import Builder

    builder = Builder()
    point = system.problem.fixed_points[which]
    return system.evaluate(builder.build([emit(builder, sympy.sympify(point[x])) for x in system.labels]), {})


def unstable_roots(function: Any, degree: int, fine: float, scale: float) -> int:
    """Roots with positive real part, by the argument principle (Mikhailov): degree/2 - (change of angle)/pi.

    Beyond 10^4 `scale` the angle is that of the leading power to 10^-3. Steps of 0.002 `fine` up to 20 `fine`, where
    the delay matters, then of 0.1 %.
    """
    omega = np.concatenate([np.linspace(0, 20 * fine, 10_001), np.geomspace(20 * fine, 1e4 * scale, 20_001)[1:]])
    angle = np.unwrap(np.angle(function(1j * omega)))
    return round(degree / 2 - (angle[-1] - angle[0]) / math.pi)


# ---------------------------------------------------------------- the equations


def paper(w: Any, queue: Any, wd: Any, qd: Any, pd: Any) -> tuple[Any, Any]:
    """Misra, Gong and Towsley's rates with R(q) = T + q/C, away from an empty and from a full queue."""
    return 1 / (T + queue / C) - w * wd * pd / (2 * (T + qd / C)), N * w / (T + queue / C) - C


@pytest.mark.parametrize("model", [PROPORTIONAL, RED, DROP_TAIL], ids=lambda m: type(m).__name__)
def test_rates_are_the_papers(model: Any) -> None:
    rng = np.random.default_rng(1)
    system = compile_system(model)
    m = 50
    w, queue, wd, qd = (rng.uniform(1, 30, m), rng.uniform(1, 99, m), rng.uniform(1, 30, m), rng.uniform(0, 99, m))
    pd = rng.uniform(0, 1, m)
    states = np.array([w, queue, *([queue] if len(system.labels) == 3 else [])])
    size = {x: np.broadcast_to(x_, m) for x, x_ in {"N": model.flows, "C": model.capacity}.items()}
    one = system.evaluate(
        system.rhs, dict(zip(("W", "q", "x", "W_R", "q_R", "p_R"), (w, queue, queue, wd, qd, pd), strict=True)), [0] * m
    )
    rates = sympy.lambdify((W, q, w_past, q_past, p_past, N, C, T), paper(W, q, w_past, q_past, p_past))
    expected = rates(w, queue, wd, qd, pd, size["N"], size["C"], model.base_rtt)
    np.testing.assert_allclose(one[:2], expected, rtol=1e-12)
    assert one.shape == states.shape


@every_model
def test_the_operating_point_is_at_rest(model: Any) -> None:
    system = compile_system(model)
    states, point = at_rest(system), model.equilibrium()
    scale = 1 / point.rtt + 2 * model.capacity
    assert np.abs(system.slope(states)).max() < 1e-14 * scale
    values = dict(zip(system.labels, states[:, 0], strict=True))
    assert values["W"] == pytest.approx(point.window, rel=1e-14)
    assert values.get("q", point.queue) == pytest.approx(point.queue, rel=1e-14)
    p = system.evaluate(system.outputs, dict(zip(system.labels, states, strict=True)))[0, 0]
    assert p == pytest.approx(point.loss, rel=1e-12)
    assert point.window**2 * point.loss == pytest.approx(2, rel=1e-14)
    assert system.lag_values()[0, 0] == pytest.approx(point.rtt, rel=1e-15)


def test_the_operating_rtt_is_the_root_of_its_cubic() -> None:
    """R^2 (R - T) = 2 N^2/(k C^3), with Cardano's big root named A: A^3 + (T/3)^6/A^3 = 2 (T/3)^3 + 2 N^2/(k C^3)."""
    big = sympy.Symbol("A", positive=True)
    rtt = T / 3 + big + T**2 / (9 * big)
    assert sympy.expand(rtt**2 * (rtt - T) - (big**3 + (T / 3) ** 6 / big**3 - 2 * (T / 3) ** 3)) == 0
    value = operating_rtt(T, k, N, C).subs({T: 0.2, k: 1e-4, N: 60, C: 3750}).n(40)
    exact = mpmath.polyroots([1, -0.2, 0, -2 * 3600 / (1e-4 * 3750**3)])[0]
    assert float(value) == pytest.approx(float(exact.real), rel=1e-14)


@given(st.floats(1e-4, 10), st.floats(1e-9, 1.0), st.floats(1, 1e5), st.floats(1, 1e7))
def test_the_operating_rtt_keeps_its_digits(base: float, gain: float, flows: float, capacity: float) -> None:
    rtt = float(operating_rtt(base, gain, flows, capacity))
    with mpmath.workdps(60):
        b, g, n, c = (mpmath.mpf(x) for x in (base, gain, flows, capacity))
        exact = mpmath.findroot(lambda r: (r**2 * (r - b)) / (2 * n**2 / (g * c**3)) - 1, rtt)
        assert abs(rtt / exact - 1) < 8 * np.finfo(float).eps


def test_the_queue_stays_between_its_walls() -> None:
    for model in (PROPORTIONAL, RED, DROP_TAIL):
        system = compile_system(model)
        full = model.buffer
        few, many = 1.0, 1000.0
        for queue, window, sign in ((0.0, few, 0), (0.0, many, 1), (full, many, 0), (full, few, -1), (50.0, few, -1)):
            states = np.array([[window], [queue], [queue]])[: len(system.labels)]
            assert np.sign(system.slope(states)[1, 0]) == sign, (type(model).__name__, queue, window)


def signal(model: Any, window: float, queue: float, average: float | None = None) -> float:
    system = compile_system(model)
    now = {"W": window, "q": queue, "x": queue if average is None else average}
    return float(system.evaluate(system.outputs, now)[0, 0])


def test_marking_profiles() -> None:
    low = 1e-3  # a window too small to overflow the buffer
    assert [signal(PROPORTIONAL, low, x) for x in (0.0, 100.0, 800.0)] == pytest.approx([0, 0.01, 0.08])
    steep = FluidTcpProportional(**LINK, base_rtt=0.2, buffer=800.0, gain=0.01)
    assert signal(steep, low, 500.0) == 1
    averages = (0.0, 150.0, 425.0, 699.999, 700.0, 900.0)
    found = [signal(RED, low, 10.0, x) for x in averages]
    assert found == pytest.approx([0, 0, 0.05, 0.1, 1, 1], abs=2e-7)


@settings(max_examples=20)
@given(st.floats(1e-3, 1e4))
def test_what_a_full_queue_cannot_take_is_lost(window: float) -> None:
    """p = mark + (1 - mark)(1 - C/arrivals)+ when full; below, the marks alone."""
    for model, mark in ((DROP_TAIL, 0.0), (PROPORTIONAL, 0.08)):
        v, full = model, model.buffer
        arrivals = v.flows * window / (v.base_rtt + full / v.capacity)
        excess = max(0.0, 1 - v.capacity / arrivals)
        assert signal(model, window, full) == pytest.approx(mark + (1 - mark) * excess, abs=1e-12)
        assert signal(model, window, 0.999 * full) == pytest.approx(0.999 * mark, abs=1e-12)


# ---------------------------------------------------------------- linearisation

SYMBOLIC = TcpLinearisation(flows=N, capacity=C, rtt=R)


def test_linearisation_is_the_derivative_of_the_rates() -> None:
    rest = {W: R * C / N, w_past: R * C / N, p_past: 2 * N**2 / (R * C) ** 2}
    gradient = [[sympy.diff(f, x) for x in (W, q, w_past, q_past, p_past)] for f in paper(W, q, w_past, q_past, p_past)]
    at = [[g.subs(rest).subs({q: (R - T) * C, q_past: (R - T) * C}) for g in row] for row in gradient]
    now, past = SYMBOLIC.matrices(k)
    for i in (0, 1):
        assert sympy.simplify(at[i][0] - now[i][0]) == 0
        assert sympy.simplify(at[i][1] - now[i][1]) == 0
        assert sympy.simplify(at[i][2] - past[i][0]) == 0
        assert sympy.simplify(at[i][3] + k * at[i][4] - past[i][1]) == 0


def test_transfer_functions_follow_from_the_linearisation() -> None:
    now, past = (sympy.Matrix(m) for m in SYMBOLIC.matrices(k))
    determinant = (s * sympy.eye(2) - now - past * sympy.exp(-s * R)).det()
    assert sympy.simplify(determinant - SYMBOLIC.characteristic(s, k)) == 0
    free, held = (sympy.Matrix(m) for m in SYMBOLIC.matrices(0))
    drive = sympy.Matrix([-R * C**2 / (2 * N**2) * sympy.exp(-s * R), 0])
    dq = (s * sympy.eye(2) - free - held * sympy.exp(-s * R)).LUsolve(drive)[1]
    assert sympy.simplify(dq + SYMBOLIC.plant(s)) == 0
    hollot = C**2 / (2 * N) * sympy.exp(-s * R) / ((s + 2 * N / (R**2 * C)) * (s + 1 / R))
    assert sympy.simplify(SYMBOLIC.plant_simplified(s) - hollot) == 0


def test_two_numbers_decide() -> None:
    """z = s R, W = R C/N, kappa = k (R C)^2/(2N): the equations of the module's head, and Hollot's is e^-z -> 1."""
    z, w, kappa = sympy.symbols("z w kappa", positive=True)
    scaled = SYMBOLIC.characteristic(z / R, 2 * kappa * N / (R * C) ** 2) * R**2
    short = z**2 + (1 + 1 / w) * z + 2 / w + (z / w + kappa) * sympy.exp(-z)
    assert sympy.simplify(scaled.subs(C, w * N / R) - short) == 0
    simplified = SYMBOLIC.characteristic_simplified(z / R, 2 * kappa * N / (R * C) ** 2) * R**2
    assert sympy.simplify(simplified.subs(C, w * N / R) - (short - z / w * (sympy.exp(-z) - 1))) == 0


def test_boundary_in_closed_form() -> None:
    v = sympy.Symbol("v", positive=True)
    w = (2 + v * sympy.cot(v / 2)) / (v**2 - v * sympy.cot(v))
    kappa = v * (1 + (1 + sympy.cos(v)) / w) / sympy.sin(v)
    z = sympy.I * v
    value = z**2 + (1 + 1 / w) * z + 2 / w + (z / w + kappa) * (sympy.cos(v) - sympy.I * sympy.sin(v))
    half = sympy.tan(v / 2)
    rational = value.rewrite(sympy.tan).subs(sympy.tan(v), 2 * half / (1 - half**2))
    assert sympy.simplify(rational) == 0
    square = v**4 + v**2 * (1 - 2 / w) + 4 / w**2
    assert sympy.simplify((kappa**2 - square).rewrite(sympy.tan).subs(sympy.tan(v), 2 * half / (1 - half**2))) == 0
    phase = np.linspace(0.8604, math.pi - 1e-6, 10_001)
    curve = TcpLinearisation.boundary(phase)
    assert (np.diff(curve[0]) < 0).all()  # so one phase for each window
    wanted = sympy.lambdify(v, (w, kappa))(phase)
    np.testing.assert_allclose(curve, wanted, rtol=1e-8)


@pytest.mark.parametrize("model", [PROPORTIONAL, RED, DROP_TAIL], ids=lambda m: type(m).__name__)
def test_the_queue_at_the_round_trip_time_of_rest_is_the_queue_at_rest(model: Any) -> None:
    rest = model.equilibrium()
    assert model.queue_at(rest.rtt) == pytest.approx(rest.queue, rel=1e-12)
    rtt = sympy.Symbol("R", positive=True)
    assert float(sympy.sympify(model.queue_at(rtt)).subs(rtt, rest.rtt)) == pytest.approx(rest.queue)


@pytest.mark.parametrize("lag", [0.0, 0.3, 5.0, 400.0])
def test_the_boundary_with_averaging_is_where_gains_are_critical(lag: float) -> None:
    phase = np.linspace(1e-4, math.pi - 1e-4, 4001)
    with np.errstate(divide="ignore", invalid="ignore"):
        sine, top, bottom, kappa = TcpLinearisation.filtered_boundary(phase, lag)
    on = (sine > 0) & (top > 0) & (bottom > 0)
    assert on.any() and np.diff(np.flatnonzero(on)).max() == 1  # one stretch
    assert (np.diff((kappa * bottom / top)[on]) > 0).all()  # so one round-trip time has one boundary
    for i in np.flatnonzero(on)[::200]:
        window = top[i] / bottom[i]
        pole = 1 / lag if lag else math.inf
        link = TcpLinearisation(flows=1.0, capacity=window, rtt=1.0, averaging=pole)
        assert link.loop_gain(link.critical_gain()) == pytest.approx(kappa[i], rel=1e-7)
        assert link.critical_frequency() == pytest.approx(phase[i], rel=1e-7)


@pytest.mark.parametrize("model", [PROPORTIONAL, RED], ids=lambda m: type(m).__name__)
def test_jacobians_agree(model: Any) -> None:
    """Closed form, the straight-line programs' own, and central differences of the rates."""
    system = compile_system(model)
    states = at_rest(system)
    a0, a1, tau = system.jacobians(states)
    line = model.linearisation()
    gain = model.gain if isinstance(model, FluidTcpProportional) else 0.0
    now, past = (np.array(m, float) for m in line.matrices(gain))
    np.testing.assert_allclose(a0[0][:2, :2], now, rtol=1e-12)
    np.testing.assert_allclose(a1[0, 0][:2, :2], past, rtol=1e-12, atol=1e-18)
    assert tau.ravel().tolist() == [pytest.approx(model.equilibrium().rtt, rel=1e-15)]
    if len(system.labels) == 3:
        slope = -model.slope() * line.rtt * model.capacity**2 / (2 * model.flows**2)
        np.testing.assert_allclose(a0[0][2], [0, 0.005, -0.005], rtol=1e-15)
        np.testing.assert_allclose(a1[0, 0][:, 2], [slope, 0, 0], rtol=1e-12)
    size = len(system.labels)
    rest = system.at_rest(states)
    for j in range(size):
        step = np.zeros((size, 1))
        step[j] = 1e-5 * states[j]  # error: third derivative x 10^-10, and rounding 10^-16/10^-5
        here = [system.slope(states + sign * step, delayed=rest) for sign in (1, -1)]
        before = [system.slope(states, delayed=system.at_rest(states + sign * step)) for sign in (1, -1)]
        scale = np.abs(a0[0][:, j]) + np.abs(a1[0, 0][:, j]) + 1e-6
        assert (np.abs((here[0] - here[1])[:, 0] / (2 * step[j]) - a0[0][:, j]) < 1e-7 * scale).all()
        assert (np.abs((before[0] - before[1])[:, 0] / (2 * step[j]) - a1[0, 0][:, j]) < 1e-7 * scale).all()


# ---------------------------------------------------------------- critical gains


def test_published_example() -> None:
    """60 flows, 3750 packets/s, 246 ms: 1.822e-4 exact, 1.860e-4 with the simplified plant."""
    link = TcpLinearisation(**LINK, rtt=0.246)
    assert link.critical_gain() == pytest.approx(1.822e-4, abs=0.5e-7)
    assert link.critical_gain_simplified() == pytest.approx(1.860e-4, abs=0.5e-7)


@pytest.mark.parametrize(
    "window, excess", [(2, 0.19492), (3, 0.12568), (5, 0.07158), (10, 0.03344), (15.375, 0.02103), (100, 0.00302)]
)
def test_the_simplification_is_optimistic_by_a_factor_of_the_window_alone(window: float, excess: float) -> None:
    for flows, rtt in ((1.0, 1.0), (60.0, 0.246), (5000.0, 0.01)):
        link = linearised(flows, window, rtt)
        assert link.critical_gain_simplified() / link.critical_gain() - 1 == pytest.approx(excess, abs=6e-6)


@given(windows)
def test_the_simplification_is_never_cautious_without_averaging(window: float) -> None:
    link = linearised(10.0, window, 0.1)
    assert link.critical_gain() < link.critical_gain_simplified()


def test_slow_averaging_makes_the_simplification_cautious() -> None:
    """In per cent: over W for K R = 0.01, 1 and 100."""
    lag = xr.DataArray([0.01, 1.0, 100.0], dims="pole")
    for window, wanted in ((2.0, [-15.00, -3.84, 19.09]), (15.375, [-2.96, -0.17, 2.07])):
        link = TcpLinearisation(flows=1.0, capacity=window, rtt=1.0, averaging=lag)
        found = 100 * (link.critical_gain_simplified() / link.critical_gain() - 1)
        np.testing.assert_allclose(found, wanted, atol=0.01)


poles = st.one_of(st.just(math.inf), st.floats(1e-3, 1e3))


@settings(max_examples=25)
@given(links, poles)
def test_roots_cross_at_the_critical_gain(link: tuple[float, float, float], pole: float) -> None:
    """None to the right below, one pair above: counted by the argument principle."""
    n, w, rtt = link
    line = linearised(n, w, rtt, averaging=pole / rtt)
    monic, degree = (pole / rtt, 3) if math.isfinite(pole) else (1.0, 2)
    for critical, function in (
        (line.critical_gain(), line.characteristic),
        (line.critical_gain_simplified(), line.characteristic_simplified),
    ):
        gains = [0.0, 0.99 * critical, 1.01 * critical]
        scale = max(1.0, monic * rtt) / rtt
        counts = [unstable_roots(lambda x, g=g, f=function: f(x, g), degree, 1 / rtt, scale) for g in gains]
        assert counts == [0, 0, 2]


@given(links, st.one_of(st.just(math.inf), st.floats(1e-4, 1e4)))
def test_critical_gain_against_mpmath(link: tuple[float, float, float], pole: float) -> None:
    """The characteristic function vanishes at i w_c: both unknowns again, in 30 digits."""
    n, w, rtt = link
    line = linearised(n, w, rtt, averaging=pole / rtt)
    lag = 0.0 if math.isinf(pole) else 1 / (pole / rtt * rtt)
    w = line.window()
    with mpmath.workdps(30):

        def parts(v: Any, log_kappa: Any) -> Any:
            z = mpmath.mpc(0, v)
            e = mpmath.exp(-z)
            f = (1 + lag * z) * (z**2 + (1 + 1 / mpmath.mpf(w)) * z + (2 + z * e) / w) + mpmath.exp(log_kappa) * e
            return f.real, f.imag

        start = line.critical_frequency() * rtt, math.log(line.loop_gain(line.critical_gain()))
        phase, log_kappa = mpmath.findroot(parts, start)
        assert abs(phase / start[0] - 1) < 1e-12
        assert abs(mpmath.exp(log_kappa - start[1]) - 1) < 1e-12


@given(st.floats(1.5, 2000), st.floats(1e-4, 1e4))
def test_the_lowest_crossing_has_the_least_gain(window: float, pole: float) -> None:
    """|kappa| on the axis grows with the frequency, and so does its phase: no later crossing comes first."""
    from tcpdynamics.models.fluid_tcp.linearisation import _phase

    v = np.concatenate([np.geomspace(1e-6, 1, 2000), np.linspace(1, 60, 6000)[1:]])
    angle, kappa = _phase(v, np.array(window), np.array(1 / pole))
    assert (np.diff(kappa) >= -1e-13 * kappa[1:]).all()
    assert (np.diff(angle) > 0).all()


@settings(max_examples=200)
@given(links, st.one_of(st.just(math.inf), st.floats(1e-5, 1e5)))
def test_hollots_condition_is_sufficient(link: tuple[float, float, float], pole: float) -> None:
    line = linearised(*link, averaging=pole / link[2])
    assert line.hollot_gain() <= line.critical_gain() * (1 + 1e-12)


def test_how_cautious_hollots_condition_is() -> None:
    """Their own RED design (K = 0.005) could have 43 times the slope; without averaging 10 times."""
    red = TcpLinearisation(**LINK, rtt=0.246, averaging=0.005)
    assert red.critical_gain() / red.hollot_gain() == pytest.approx(43.1, abs=0.05)
    proportional = TcpLinearisation(**LINK, rtt=0.246)
    assert proportional.hollot_gain() == pytest.approx(14400 / 922.5**3, rel=1e-14)
    assert proportional.critical_gain() / proportional.hollot_gain() == pytest.approx(9.93, abs=0.01)


def test_the_filter_fades_out() -> None:
    bare = TcpLinearisation(**LINK, rtt=0.246)
    fast = TcpLinearisation(**LINK, rtt=0.246, averaging=np.array([1e4, 1e6, 1e8]))
    gap = fast.critical_gain() / bare.critical_gain() - 1
    assert (np.abs(gap) < 10 / fast.averaging).all()


# ---------------------------------------------------------------- stability of the models


@settings(max_examples=25)
@given(windows, st.floats(0.05, 20))
def test_margin_of_proportional_marking(window: float, ratio: float) -> None:
    line = linearised(60.0, window, 0.2)
    gain = ratio * line.critical_gain()
    if 2 / window**2 / gain >= 0.19 * line.capacity or abs(ratio - 1) < 1e-3:
        return  # a queueing delay that leaves nothing for propagation
    model = FluidTcpProportional.at_rtt(rtt=0.2, flows=60.0, capacity=line.capacity, buffer=1e9, gain=gain)
    assert model.equilibrium().rtt == pytest.approx(0.2, rel=1e-13)
    assert model.stability_margin() == pytest.approx(1 / ratio - 1, rel=1e-10, abs=1e-12)
    a0, a1, tau = (x[0] for x in compile_system(model).jacobians(at_rest(compile_system(model))))

    def characteristic(x: Any) -> Any:
        m = x[:, None, None] * np.eye(2) - a0 - a1[0] * np.exp(-x * tau[0])[:, None, None]
        return np.linalg.det(m)

    assert (unstable_roots(characteristic, 2, 5.0, 5.0) == 0) == (model.stability_margin() > 0)


def test_margins_are_ordered_and_nan_without_an_operating_point() -> None:
    model = FluidTcpProportional(**LINK, base_rtt=0.2, buffer=[20.0, 800.0], gain=np.geomspace(1e-6, 1e-2, 25))
    hollot, exact, simple = model.hollot_margin(), model.stability_margin(), model.simplified_margin()
    assert dict(exact.sizes) == {"buffer": 2, "gain": 25} and exact.attrs["units"] == "1"
    inside = model.equilibrium().interior
    for margin in (hollot, exact, simple):
        assert (np.isnan(margin) == ~inside).all()
    assert (hollot <= exact).where(inside, True).all() and (exact < simple).where(inside, True).all()
    assert int(inside.sum()) > 10
    few = FluidTcpProportional(flows=1000.0, capacity=100.0, base_rtt=0.2, buffer=50.0, gain=1e-2)
    assert few.equilibrium().interior is False and math.isnan(few.stability_margin())


def test_red_margin_against_its_own_matrices() -> None:
    for slope in (0.97, 1.03):
        line = RED.linearisation()
        width = 0.1 / (slope * line.critical_gain())
        model = FluidTcpRed.at_rtt(
            rtt=line.rtt, **LINK, buffer=800.0, min_threshold=150.0, max_threshold=150.0 + width, p_max=0.1,
            averaging=0.005,
        )  # fmt: skip
        assert model.equilibrium().interior is (width > model.equilibrium().queue - 150)
        system = compile_system(model)
        a0, a1, tau = (x[0] for x in system.jacobians(at_rest(system)))

        def characteristic(x: Any, a0: Any = a0, a1: Any = a1, tau: Any = tau) -> Any:
            m = x[:, None, None] * np.eye(3) - a0 - a1[0] * np.exp(-x * tau[0])[:, None, None]
            return np.linalg.det(m)

        assert (unstable_roots(characteristic, 3, 5.0, 5.0) == 0) == (slope < 1)
        assert model.critical_gain() / model.slope() == pytest.approx(1 / slope, rel=1e-9)


def test_marking_with_a_small_buffer_rests_on_the_edge() -> None:
    """W (W - (1 - k B) m) = 2 where marking alone would need more room, and nowhere else."""
    model = FluidTcpProportional(**LINK, base_rtt=0.2, buffer=[10.0, 50.0, 200.0], gain=1e-4)
    system = compile_system(model)
    inside = model.equilibrium().interior.values
    assert inside.tolist() == [False, False, True]
    interior, edge = (at_rest(system, i) for i in (0, 1))
    rest = [np.abs(system.slope(x)).max(axis=0) < 1e-9 for x in (interior, edge)]
    assert (rest[0] == inside).all() and (rest[1] == ~inside).all()
    fit = (0.2 + np.array(model.buffer) / 3750) * 3750 / 60 * (1 - 1e-4 * np.array(model.buffer))
    np.testing.assert_allclose(edge[0] * (edge[0] - fit), 2, rtol=1e-12)
    longest = 0.2 + np.array(model.buffer) / 3750
    np.testing.assert_allclose(system.lag_values()[0], np.minimum(model.equilibrium().rtt, longest), rtol=1e-14)


@pytest.mark.parametrize("flows, waiting", [(90.0, 27.27922), (100.0, 41.42136), (110.0, 55.56349)])
def test_where_every_packet_is_marked_the_window_is_the_root_of_two(flows: float, waiting: float) -> None:
    """q = sqrt(2) N - C T, and dW' = -(dW + dW_R) n - (1 - e^-sR)/(R^2 C) dq, dq' = (N dW - dq)/R with no slope."""
    model = FluidTcpProportional(flows=flows, capacity=1000.0, base_rtt=0.1, buffer=100.0, gain=0.05)
    point = model.equilibrium()
    assert point.loss == pytest.approx(1, rel=1e-15) and point.loss <= 1 and point.interior is False
    assert point.window == pytest.approx(math.sqrt(2), rel=1e-15)
    assert point.queue == pytest.approx(waiting, abs=1e-5) and point.rtt == 0.1 + point.queue / 1000
    rest = equilibria(model)
    assert int(rest["count"]) == 1 and int(rest.status) == 0 and bool(rest.stable.any())
    assert float(rest.q.max()) == pytest.approx(point.queue, rel=1e-12)
    searched = equilibria(model, {"W": (0.1, 50), "q": (0, 100)})
    assert searched.q.values == pytest.approx([point.queue], rel=1e-9)
    system = compile_system(model)
    assert system.lag_values()[0, 0] == pytest.approx(point.rtt, rel=1e-15)
    a0, a1 = TcpLinearisation(flows=flows, capacity=1000.0, rtt=point.rtt).matrices(0)
    root = spectral_abscissa(model).item()
    delta = root * np.eye(2) - np.array(a0) - np.array(a1) * math.exp(-root * point.rtt)
    assert abs(np.linalg.det(delta)) < 1e-9  # a real root, of size 4
    assert root == pytest.approx(searched.abscissa.item(), rel=1e-9) and root < 0


@pytest.mark.parametrize("points", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_every_link_rests_at_one_closed_form(points: int) -> None:
    """Marking on the slope, all marked, a full buffer: one of them holds, and `equilibrium` says which."""
    flows = np.linspace(10, 200, points)
    proportional = FluidTcpProportional(
        flows=flows, capacity=1000.0, base_rtt=0.1, buffer=100.0, gain=np.geomspace(1e-3, 0.1, 7)
    )
    red = FluidTcpRed(
        flows=flows, capacity=1000.0, base_rtt=0.1, buffer=np.array([20.0, 60.0, 100.0, 200.0]), min_threshold=20.0,
        max_threshold=80.0, p_max=np.array([0.1, 0.4, 1.0]), averaging=1.0,
    )  # fmt: skip
    for model in (proportional, red):
        point, rest = model.equilibrium(), equilibria(model)
        one = rest["count"] == 1
        assert float(point.loss.max()) <= 1 and bool((rest["count"] <= 1).all())
        for name, value in (("W", point.window), ("q", point.queue)):
            gap = np.abs(rest[name].max("equilibrium") - value).where(one, 0.0)
            assert float((gap / value).max()) < 1e-12
        if model is red:  # the average stays at the jump from p_max to 1, which is no rest of the equations
            jump = (abs(point.queue - 80) < 1e-9) & (point.loss > red.values()["p_max"]) & (point.loss < 1)
            assert bool((one == ~jump).all()) and 0 < int(jump.sum()) < jump.size
        else:
            assert bool(one.all())
    kinds = (proportional.equilibrium().interior, proportional.equilibrium().queue == 100.0)
    assert all(0 < int(kind.sum()) < kind.size for kind in kinds)


@pytest.mark.parametrize("kind", ["proportional", "red", "full queue"])
def test_margins_against_computed_spectra(kind: str) -> None:
    """A chart of 144 points: the closed condition has the sign of the rightmost characteristic root."""
    flows = np.geomspace(10, 600, 12)
    if kind == "proportional":
        model: Any = FluidTcpProportional(
            flows=flows, capacity=3750.0, base_rtt=0.2, buffer=2e3, gain=np.geomspace(2e-6, 2e-2, 12)
        )
    elif kind == "red":
        model = FluidTcpRed(
            flows=flows, capacity=3750.0, base_rtt=0.2, buffer=2e3, min_threshold=50.0, max_threshold=800.0, p_max=0.5,
            averaging=np.geomspace(1e-2, 1e2, 12),
        )  # fmt: skip
    else:
        model = FluidTcpFullQueue(flows=flows, capacity=500.0, base_rtt=np.geomspace(0.05, 2, 12), buffer=20.0)
    margin = model.stability_margin()
    abscissa = spectral_abscissa(model).transpose(*margin.dims)
    known = margin.notnull() & (np.abs(margin) > 1e-6)
    inside = model.equilibrium().interior if kind != "full queue" else True
    assert bool((known == inside).all()) and int((margin > 0).sum()) > 10 and int((margin < 0).sum()) > 10
    assert bool(((margin > 0) == (abscissa < 0)).where(known, True).all())


def test_the_averaging_pole() -> None:
    assert FluidTcpRed.pole(0.002, 3750.0) == pytest.approx(-3750 * math.log(0.998), rel=1e-14)


def test_drop_tail_rests_on_its_edge() -> None:
    """On q = B: W_0 (W_0 - m) = 2, and the linearised window equation in closed form."""
    m = sympy.Symbol("m", positive=True)
    edge = 1 / R - W * w_past * (1 - m / w_past) / (2 * R)
    rest = (m + sympy.sqrt(m**2 + 8)) / 2
    assert sympy.simplify(edge.subs({W: rest, w_past: rest})) == 0
    own = sympy.diff(edge, W).subs({W: rest, w_past: rest})
    past = sympy.diff(edge, w_past).subs({W: rest, w_past: rest})
    assert sympy.simplify(own + 1 / (R * rest)) == 0 and sympy.simplify(past + rest / (2 * R)) == 0
    model = ALL[3]
    a0, a1, tau = (x[0] for x in compile_system(model).jacobians(at_rest(compile_system(model))))
    point = model.equilibrium()
    assert a0[0, 0] == pytest.approx(-1 / (point.rtt * point.window), rel=1e-12)
    assert a1[0, 0, 0] == pytest.approx(-point.window / (2 * point.rtt), rel=1e-12)
    whole = compile_system(DROP_TAIL)
    now, before, _ = (x[0] for x in whole.jacobians(at_rest(whole)))
    assert now[1].tolist() == before[0][1].tolist() == [0, 0]  # the queue is held
    assert tau[0] == point.rtt


@given(st.floats(0.01, 100))
def test_drop_tail_margin_against_lambert(fill: float) -> None:
    """z + 1/W + (W/2) e^-z = 0 has the rightmost root W_0(-(W/2) e^(1/W)) - 1/W."""
    model = FluidTcpDropTail(flows=100.0, capacity=1000.0, base_rtt=fill / 20, buffer=50 * fill)
    w = model.equilibrium().window
    assert model.equilibrium().interior is False
    rightmost = mpmath.lambertw(-w / 2 * mpmath.exp(1 / mpmath.mpf(w))) - 1 / mpmath.mpf(w)
    assert abs(rightmost + 1 / mpmath.mpf(w) + w / 2 * mpmath.exp(-rightmost)) < 1e-12 * w
    assert (model.stability_margin() > 0) == (rightmost.real < 0) == (fill < 2.9442401)


def test_drop_tail_limit() -> None:
    critical = mpmath.findroot(lambda w: mpmath.sqrt(w * w / 4 - 1 / w**2) - mpmath.acos(-2 / w**2), 3.5)
    assert float(critical - 2 / critical) == pytest.approx(2.944240106, abs=1e-9)


def test_growth_of_the_nonlinear_model_follows_the_rightmost_root() -> None:
    """Heun's method on the equations themselves, 64 steps a delay, beside a root of the characteristic function."""
    link = TcpLinearisation(**LINK, rtt=0.246)
    gains = np.array([0.8, 1.25]) * link.critical_gain()
    model = FluidTcpProportional.at_rtt(rtt=0.246, **LINK, buffer=800.0, gain=gains)
    base, point = model.base_rtt.values, model.equilibrium()
    steps, lag = 64 * 120, 64
    h = 0.246 / lag
    y = np.empty((steps + lag + 1, 2, 2))
    y[: lag + 1] = np.array([point.window.values, point.queue.values])
    y[lag, 1] *= 1 + 1e-6

    def rates(now: np.ndarray, past: np.ndarray) -> np.ndarray:
        r, r_past = base + now[1] / 3750, base + past[1] / 3750
        return np.array([1 / r - now[0] * past[0] * gains * past[1] / (2 * r_past), 60 * now[0] / r - 3750])

    for i in range(lag, lag + steps):
        slope = rates(y[i], y[i - lag])
        y[i + 1] = y[i] + h / 2 * (slope + rates(y[i] + h * slope, y[i + 1 - lag]))
    swing = np.abs(y[:, 1] - point.queue.values)
    for lane, gain in enumerate(gains):
        growth = mpmath.findroot(
            lambda x, g=gain: x**2 + (60 / (0.246**2 * 3750) * (1 + mpmath.exp(-0.246 * x)) + 1 / 0.246) * x
            + 120 / (0.246**3 * 3750) + g * 3750**2 / 120 * mpmath.exp(-0.246 * x),
            mpmath.mpc(0, link.critical_frequency()),
        )  # fmt: skip
        late = swing[30 * lag :, lane]
        tops = 1 + np.flatnonzero((late[1:-1] > late[:-2]) & (late[1:-1] >= late[2:]))
        rate, _ = np.polyfit(tops * h, np.log(late[tops]), 1)
        # Heun's method and the sampled tops are off by some (w h)^2 = 2e-4 per radian, w = 3.9/s.
        assert rate == pytest.approx(float(growth.real), abs=2e-4 * link.critical_frequency())


# ---------------------------------------------------------------- values and refusals


def test_parameters_span_a_grid() -> None:
    model = FluidTcpProportional(
        flows=[40.0, 60.0, 80.0], capacity=3750.0, base_rtt=[0.1, 0.2], buffer=800.0, gain=1e-4
    )
    point = model.equilibrium()
    assert dict(point.window.sizes) == {"flows": 3, "base_rtt": 2} and point.window.attrs["units"] == "packet"
    system = compile_system(model)
    np.testing.assert_allclose(at_rest(system)[0].reshape(3, 2), point.window.transpose("flows", ...), rtol=1e-13)
    np.testing.assert_allclose(system.lag_values()[0].reshape(3, 2), point.rtt.transpose("flows", ...), rtol=1e-14)
    one = FluidTcpProportional(flows=60.0, capacity=3750.0, base_rtt=0.2, buffer=800.0, gain=1e-4)
    assert model.stability_margin().sel(flows=60, base_rtt=0.2) == pytest.approx(one.stability_margin(), rel=1e-13)
    paired = FluidTcpDropTail(flows=xr.DataArray([10.0, 50.0], dims="case"), capacity=1e3, base_rtt=0.1, buffer=50.0)
    assert paired.stability_margin().dims == ("case",)
    assert compile_system(paired).size == 2


def test_quantities_are_converted() -> None:
    ureg = pint.UnitRegistry()
    ureg.define("packet = [packet]")
    model = FluidTcpDropTail(flows=10, capacity=1000, base_rtt=ureg.Quantity(100, "ms"), buffer=100)
    assert model.equilibrium().window == DROP_TAIL.equilibrium().window
    assert model.dde().parameters["base_rtt"] == pytest.approx(0.1)


def test_refusals() -> None:
    with pytest.raises(DomainError, match=r"gain must lie in \(0, inf\), got -1.0"):
        FluidTcpProportional(**LINK, base_rtt=0.2, buffer=800.0, gain=-1.0)
    with pytest.raises(DomainError, match=r"p_max must lie in \(0, 1\], got 10; a percentage"):
        FluidTcpRed(**LINK, base_rtt=0.2, buffer=1.0, min_threshold=1, max_threshold=2, p_max=10, averaging=1)
    with pytest.raises(DomainError, match="max_threshold must be above min_threshold, got 100 and 200"):
        FluidTcpRed(**LINK, base_rtt=0.2, buffer=1.0, min_threshold=200, max_threshold=100, p_max=0.1, averaging=1)
    with pytest.raises(DomainError, match="rtt must exceed the queueing delay at the operating point"):
        FluidTcpDropTail.at_rtt(rtt=0.05, flows=10.0, capacity=1000.0, buffer=100.0)
    with pytest.raises(DomainError, match="flows must lie in"):
        TcpLinearisation(flows=math.nan, capacity=1.0, rtt=1.0)


@every_model
def test_what_a_problem_tells(model: Any) -> None:
    problem = model.dde()
    assert problem.name == type(model).__name__ and problem.time_units == "s"
    assert {"p"} <= set(problem.outputs) and problem.units["W"] == "packet"
    assert set(problem.provenance) == set(problem.parameters)
    start = compile_system(problem).start_values()
    assert np.isfinite(start).all()
