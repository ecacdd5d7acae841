"""HighSpeed TCP, Scalable TCP and AIMD per round trip: published values, identities, integrals, inverses."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq

from tcpdynamics.models.high_speed.hstcp import AimdTcp, HighSpeedTcp, ScalableTcp, rfc_table
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.problems import DomainError

w, p, a, b = sympy.symbols("w p a b", positive=True)
LOSSES = st.floats(-7.9, -0.01).map(lambda x: 10.0**x)
WINDOWS = st.floats(0.5, 5.0).map(lambda x: 10.0**x)
ALL = [HighSpeedTcp, ScalableTcp, AimdTcp]
every_law = pytest.mark.parametrize("law", ALL, ids=lambda x: x.__name__)

# RFC 3649, appendix B: from these windows on, a(w) = 1, 2, 3, ...
RFC_WINDOWS = """
38 118 221 347 495 663 851 1058 1284 1529 1793 2076 2378 2699 3039 3399 3778 4177 4596 5036 5497 5979 6483 7009
7558 8130 8726 9346 9991 10661 11358 12082 12834 13614 14424 15265 16137 17042 17981 18955 19965 21013 22101 23230
24402 25618 26881 28193 29557 30975 32450 33986 35586 37253 38992 40808 42707 44694 46776 48961 51258 53677 56230
58932 61799 64851 68113 71617 75401 79517 84035 89053
"""

#: b(w) in the same rows.
RFC_SHARES = """
0.50 0.44 0.41 0.38 0.37 0.35 0.34 0.33 0.32 0.31 0.30 0.29 0.28 0.28 0.27 0.27 0.26 0.26 0.25 0.25 0.24 0.24 0.23 0.23
0.22 0.22 0.22 0.21 0.21 0.21 0.20 0.20 0.20 0.19 0.19 0.19 0.19 0.18 0.18 0.18 0.17 0.17 0.17 0.17
0.16 0.16 0.16 0.16 0.15 0.15 0.15 0.15 0.14 0.14 0.14 0.14 0.13 0.13 0.13 0.13 0.13 0.12 0.12
0.12 0.12 0.11 0.11 0.11 0.10 0.10 0.10 0.10
"""


# ---------------------------------------------------------------- published values


def test_the_table_of_the_rfc() -> None:
    windows, shares = rfc_table(94_000)
    assert windows.tolist() == [int(x) for x in RFC_WINDOWS.split()]
    assert len(shares) == len(RFC_SHARES.split())
    assert [f"{share:.2f}" for share in shares] == RFC_SHARES.split()
    assert np.all(np.diff(shares) < 0)


def test_reno_holds_up_to_the_lower_window_and_with_it() -> None:
    """RFC 3649, section 5: a(w) = 1 and b(w) = 0.5 for w <= Low_Window; w = 38 is the first row of its table."""
    for tcp in (HighSpeedTcp(loss=1e-5), HighSpeedTcp.rounded(loss=1e-5)):
        for window in (1.0, 20.0, 37.999, 38, 38.0):
            assert tcp.increase(window) == 1 and tcp.decrease(window) == 0.5
        assert np.all(tcp.increase(np.array([10.0, 38.0])) == 1)
        above = 38 * (1 + 1e-12)
        assert 0.95 < tcp.increase(above) < 0.97 and tcp.decrease(above) == pytest.approx(0.5, abs=1e-11)
    for view in (HighSpeedTcp(loss=1e-5).growth(),):
        assert compile_system(view).slope(np.array([[38.0]])).tolist() == [[1.0]]
    other = HighSpeedTcp(loss=1e-5, low_window=50.0)
    assert other.increase(50.0) == 1 and other.increase(50.0 + 1e-9) != 1


def test_constants_of_highspeed_tcp() -> None:
    tcp, rounded = HighSpeedTcp(loss=1e-7), HighSpeedTcp.rounded(loss=1e-7)
    assert tcp.exponent() == pytest.approx(math.log(83000 / 38) / math.log(1e-4), rel=1e-15)
    assert tcp.exponent() == pytest.approx(-0.834824, abs=5e-7)
    assert tcp.response() == pytest.approx(83000, rel=1e-13)
    assert tcp.increase(38 + 1e-9) == pytest.approx(0.9627, abs=5e-5)
    assert tcp.increase(38) == 1
    assert tcp.increase(118) == pytest.approx(2.03, abs=5e-3)
    assert tcp.increase(83000) == pytest.approx(72.5, abs=0.05)
    assert rounded.increase(118) == pytest.approx(2.0, abs=0.01)
    assert rounded.loss_at(1000.0) == pytest.approx(0.078 / 1000**1.2, rel=1e-13)
    assert (tcp.decrease(10), tcp.decrease(38)) == (0.5, 0.5)
    assert tcp.decrease(83000) == pytest.approx(0.1, rel=1e-14)


def test_the_short_formula_of_the_rfc() -> None:
    """0.12/p^0.835 for the response lies 1.0 to 1.2 % above the exact law from 10^-3 to 10^-7."""
    loss = np.geomspace(1e-7, 1e-3, 41)
    ratio = 0.12 / loss**0.835 / HighSpeedTcp(loss=loss).response()
    assert 1.0101 < ratio.min() < ratio.max() < 1.0119


def test_constants_of_scalable_tcp() -> None:
    tcp = ScalableTcp(loss=0.01)
    assert tcp.response() == pytest.approx(8, rel=1e-15)
    assert tcp.recovery_time() == pytest.approx(13.42, abs=5e-3)
    loss, window = tcp.reno_crossing()
    assert (loss, window) == (pytest.approx(0.0042667, abs=5e-8), pytest.approx(18.75, rel=1e-15))
    assert ScalableTcp(loss=loss).response() == pytest.approx(AimdTcp(loss=loss).response(), rel=1e-14)


# ---------------------------------------------------------------- identities


def test_scalable_tcp_in_closed_form() -> None:
    tcp = ScalableTcp(loss=p, a=a, b=b)
    rate = tcp.increase(w) - tcp.decrease(w) * p * w**2
    assert sympy.simplify(rate.subs(w, tcp.equilibrium())) == 0
    assert sympy.simplify(sympy.diff(rate, w).subs(w, tcp.equilibrium()) - tcp.eigenvalue()) == 0
    assert sympy.simplify(tcp.loss_at(tcp.response()) - p) == 0
    loss, window = tcp.reno_crossing()
    assert sympy.simplify(tcp.loss_at(window) - loss) == 0
    assert sympy.simplify(window**2 * loss - sympy.Rational(3, 2)) == 0
    saw = tcp.sawtooth()
    low = (1 - b) * saw.peak
    assert sympy.simplify(sympy.integrate(w / tcp.increase(w), (w, low, saw.peak)) - 1 / p) == 0
    assert sympy.simplify(sympy.expand_log(sympy.integrate(1 / (a * w), (w, low, saw.peak)) - saw.period)) == 0
    assert sympy.simplify(saw.mean * saw.period - 1 / p) == 0
    steps = tcp.recovery_time()
    assert sympy.simplify(sympy.expand_log(sympy.log((1 + a) ** steps * (1 - b)), force=True)) == 0


def test_aimd_in_closed_form() -> None:
    tcp = AimdTcp(loss=p, a=a, b=b)
    rate = tcp.increase(w) - tcp.decrease(w) * p * w**2
    assert sympy.simplify(rate.subs(w, tcp.equilibrium())) == 0
    assert sympy.simplify(sympy.diff(rate, w).subs(w, tcp.equilibrium()) - tcp.eigenvalue()) == 0
    assert sympy.simplify(tcp.loss_at(tcp.response()) - p) == 0
    saw = tcp.sawtooth()
    low = (1 - b) * saw.peak
    assert sympy.simplify(sympy.integrate(w / a, (w, low, saw.peak)) - 1 / p) == 0
    assert sympy.simplify((saw.peak - low) / a - saw.period) == 0
    assert sympy.simplify(saw.period - tcp.recovery_time(saw.peak)) == 0
    assert sympy.simplify(saw.mean - tcp.response()) == 0


def test_highspeed_tcp_in_closed_form() -> None:
    """a(w) is what makes w^2 p = a (2 - b)/(2 b); and the eigenvalue is the derivative of the mean rate."""
    low, high, p_low, p_high, b_high = sympy.symbols("low high p_low p_high b_high", positive=True)
    tcp = HighSpeedTcp(loss=p, low_window=low, high_window=high, low_p=p_low, high_p=p_high, high_decrease=b_high)
    window = low + sympy.Symbol("up", positive=True)
    law = tcp.loss_at(window)
    growth, share = (
        sympy.nsimplify(f, rational=True).subs(sympy.Max(low, window), window)
        for f in (tcp.increase(window), tcp.decrease(window))
    )
    assert sympy.simplify(growth * (2 - share) / (2 * share) - window**2 * law) == 0
    top = {window: high}
    assert sympy.simplify(share.subs(top) - b_high) == 0
    assert sympy.simplify(sympy.expand_log(sympy.log(law.subs(top)) - sympy.log(p_high), force=True)) == 0
    rest = growth / (share * window**2)  # the loss at which this window rests
    slope = sympy.diff((growth - share * p * window**2).subs(window, w), w).subs(w, window).subs(p, rest)
    beta = (sympy.Rational(1, 2) - b_high) / sympy.log(high / low)
    wanted = -growth / window * (beta / (2 - share) - 1 / tcp.exponent())
    assert sympy.simplify((slope - wanted) / growth) == 0
    response = tcp.response().args[0][0]  # the piece below low_p
    assert sympy.simplify(sympy.expand_log(sympy.log(response.subs(p, law) / window), force=True)) == 0


# ---------------------------------------------------------------- properties


@given(LOSSES)
def test_loss_and_window_are_inverse(loss: float) -> None:
    for tcp in (HighSpeedTcp(loss=loss), ScalableTcp(loss=loss), AimdTcp(loss=loss)):
        held = isinstance(tcp, HighSpeedTcp) and 1e-3 < loss <= 1.5 / 38**2
        assert tcp.loss_at(tcp.response()) == pytest.approx(1e-3 if held else loss, rel=1e-12)


@given(st.tuples(LOSSES, LOSSES))
def test_windows_fall_with_loss(pair: tuple[float, float]) -> None:
    few, many = min(pair), max(pair)
    for law in ALL:
        assert law(loss=few).response() >= law(loss=many).response()
        assert law(loss=few).equilibrium() >= law(loss=many).equilibrium()
    saw = HighSpeedTcp(loss=few).sawtooth(), HighSpeedTcp(loss=many).sawtooth()
    assert saw[0].peak >= saw[1].peak * (1 - 1e-12) and saw[0].mean >= saw[1].mean * (1 - 1e-12)


@given(st.tuples(WINDOWS, WINDOWS))
def test_larger_windows_grow_faster_and_give_up_less(pair: tuple[float, float]) -> None:
    tcp, (small, large) = HighSpeedTcp(loss=0.1), sorted(pair)
    if not small <= 38 < large:  # where a(w) has its step down to 0.963
        assert tcp.increase(large) >= tcp.increase(small)
    assert tcp.decrease(large) <= tcp.decrease(small)
    assert tcp.increase(small) >= 0.96 and 0 < tcp.decrease(large) <= 0.5


@given(LOSSES)
def test_equilibrium_of_the_mean_window(loss: float) -> None:
    """Against a bracketed root of a(w)/(b(w) w^2) = p, and the eigenvalue against a central difference."""
    tcp = HighSpeedTcp(loss=loss)
    window = tcp.equilibrium()
    if 4 / 3 * 1e-3 <= loss <= 2 / 38**2:
        assert window == 38 and tcp.eigenvalue() == -math.inf
        assert tcp.increase(38 - 1e-9) > 0.5 * loss * 38**2 >= tcp.increase(38 + 1e-9) * (1 - 1e-9)
        return
    ends = (38.0, 566_000.0) if loss < 4 / 3 * 1e-3 else (1.0, 38 - 1e-12)

    def rate(x: float) -> float:
        return float(tcp.increase(x) - tcp.decrease(x) * loss * x**2)

    root = brentq(lambda x: math.log(tcp.increase(x) / (tcp.decrease(x) * x**2 * loss)), *ends, xtol=1e-12)
    assert window == pytest.approx(root, rel=1e-10)
    h = 1e-4 * window
    if ends[0] < window - h and window + h < ends[1]:
        slope = (rate(window + h) - rate(window - h)) / (2 * h)
        assert tcp.eigenvalue() == pytest.approx(slope, rel=1e-5)


def test_equilibrium_against_lambert() -> None:
    with mpmath.workdps(40):
        s = mpmath.log(mpmath.mpf(83000) / 38) / mpmath.log(mpmath.mpf(10) ** -4)
        beta = mpmath.mpf(4) / 10 / mpmath.log(mpmath.mpf(83000) / 38)
        offset = mpmath.mpf(3) / 2 / beta
        for loss in (2e-8, 1e-7, 1e-5, 1e-3):
            top = -2 * mpmath.mpf("0.001") / (s * mpmath.mpf(loss) * beta)
            y = -s * mpmath.lambertw(top * mpmath.exp(-offset / s)) - offset
            assert HighSpeedTcp(loss=loss).equilibrium() == pytest.approx(float(38 * mpmath.exp(y)), rel=1e-13)


def recovery(tcp: HighSpeedTcp, low: float, high: float, power: int) -> float:
    def integrand(y: float) -> float:
        return math.exp(y) ** (power + 1) / float(tcp.increase(math.exp(y)))

    edges = sorted({math.log(low), *([math.log(38)] if low < 38 < high else []), math.log(high)})
    parts = itertools.pairwise(edges)
    return math.fsum(quad(integrand, x, y, epsabs=0, epsrel=1e-12)[0] for x, y in parts)


@settings(max_examples=25)
@given(WINDOWS)
def test_recovery_after_a_loss(window: float) -> None:
    tcp = HighSpeedTcp(loss=0.1)
    trips = tcp.recovery_time(window)
    assert trips == pytest.approx(recovery(tcp, (1 - tcp.decrease(window)) * window, window, 0), rel=1e-11)
    if window <= 38:
        assert trips == pytest.approx(window / 2, rel=1e-14)


def test_recovery_by_integrating_the_growth() -> None:
    """116 round trips at 83000 packets, where Reno takes 41500."""
    tcp = HighSpeedTcp(loss=0.1)
    system = compile_system(tcp.growth())
    full = solve_ivp(
        lambda t, y: system.slope(y[None, :])[:, 0], (0, 200), [0.9 * 83000], rtol=1e-10, atol=1e-6,
        events=lambda t, y: y[0] - 83000, dense_output=True,
    )  # fmt: skip
    assert tcp.recovery_time(83000) == pytest.approx(full.t_events[0][0], rel=1e-8)
    assert tcp.recovery_time(83000) == pytest.approx(116.03, abs=5e-3)
    assert AimdTcp(loss=0.1).recovery_time(83000) == 41500


@settings(max_examples=25)
@given(LOSSES)
def test_sawtooth_closes(loss: float) -> None:
    """From the low end, 1/p packets and `period` round trips lead back to the peak."""
    tcp = HighSpeedTcp(loss=loss)
    saw = tcp.sawtooth()
    low = (1 - tcp.decrease(saw.peak)) * saw.peak
    assert recovery(tcp, low, saw.peak, 1) * loss == pytest.approx(1, rel=1e-10)
    assert recovery(tcp, low, saw.peak, 0) == pytest.approx(saw.period, rel=1e-10)
    assert saw.mean * saw.period * loss == pytest.approx(1, rel=1e-12)
    if saw.peak < 38:
        reno = AimdTcp(loss=loss).sawtooth()
        assert saw.mean == pytest.approx(reno.mean, rel=1e-12)


def test_the_law_underestimates_its_own_sawtooth() -> None:
    """a and b vary along the way: the mean window is 1.9 to 2.4 % above the response between 10^-7 and 10^-4."""
    tcp = HighSpeedTcp(loss=np.geomspace(1e-7, 1e-4, 31))
    ratio = tcp.sawtooth().mean / tcp.response()
    assert 1.0189 < ratio.min() < ratio.max() < 1.0238


def test_mean_square_and_sawtooth_differ_by_a_constant() -> None:
    for loss in (1e-5, 1e-3):
        reno, scalable = AimdTcp(loss=loss), ScalableTcp(loss=loss)
        assert reno.equilibrium() / reno.response() == pytest.approx(math.sqrt(4 / 3), rel=1e-14)
        assert scalable.sawtooth().mean / scalable.equilibrium() == pytest.approx(-0.125 / math.log(0.875), rel=1e-12)


# ---------------------------------------------------------------- problems


@every_law
def test_problems_hold_the_same_law(law: Any) -> None:
    tcp = law(loss=np.array([1e-5, 1e-3, 0.1]))
    ode, steps, growth = (compile_system(x) for x in (tcp.ode(), tcp.map(), tcp.growth()))
    for window in (3.0, 37.9, 38.0, 400.0, 5e4):
        states = np.full((1, 3), window)
        up, down = (np.asarray(f(window)) * np.ones(3) for f in (tcp.increase, tcp.decrease))
        rate = up - down * np.array([1e-5, 1e-3, 0.1]) * window**2
        np.testing.assert_allclose(growth.slope(states)[0], up, rtol=1e-13)
        np.testing.assert_allclose(ode.slope(states)[0], rate, rtol=1e-12)
        np.testing.assert_allclose(steps.slope(states)[0], window + rate, rtol=1e-9)
    rest = np.asarray(tcp.equilibrium())[None, :]
    assert np.abs(ode.slope(rest) / rest).max() < 1e-12
    np.testing.assert_allclose(ode.jacobians(rest)[0][:, 0, 0], np.asarray(tcp.eigenvalue()) * np.ones(3), rtol=1e-9)
    assert ode.problem.time_units == "RTT" and set(ode.problem.provenance) == set(ode.problem.parameters)


@pytest.mark.parametrize("law", [ScalableTcp, AimdTcp])
def test_closed_form_fixed_points(law: Any) -> None:
    tcp = law(loss=1e-3)
    values = {s.name: getattr(tcp, s.name) for s in tcp.ode().fixed_points[0]["W"].free_symbols} | {"loss": 1e-3}
    points = [sympy.sympify(point["W"]) for point in tcp.ode().fixed_points]
    numbers = [float(e.subs({s: values[s.name] for s in e.free_symbols})) for e in points]
    assert numbers[0] == pytest.approx(tcp.equilibrium(), rel=1e-14)
    for number in numbers:
        assert abs(compile_system(tcp.ode()).slope(np.array([[number]])).item()) < 1e-12


def test_grids() -> None:
    tcp = HighSpeedTcp(loss=np.geomspace(1e-6, 1e-2, 5), high_decrease=[0.1, 0.2])
    for value in (tcp.response(), tcp.equilibrium(), tcp.eigenvalue(), tcp.sawtooth().mean, tcp.increase(500.0)):
        assert {k: n for k, n in value.sizes.items() if k != "loss"} in ({"high_decrease": 2}, {})
    assert dict(tcp.equilibrium().sizes) == {"loss": 5, "high_decrease": 2}
    assert dict(HighSpeedTcp(loss=0.1).increase(np.array([10.0, 100.0])).sizes) == {"window": 2}
    one = HighSpeedTcp(loss=1e-4, high_decrease=0.2).sawtooth()
    assert float(tcp.sawtooth().peak.sel(loss=1e-4, high_decrease=0.2, method="nearest")) == pytest.approx(one.peak)


def test_refusals() -> None:
    with pytest.raises(DomainError, match=r"high_window must be above low_window, got 20 and 38\.0"):
        HighSpeedTcp(loss=0.1, high_window=20)
    with pytest.raises(DomainError, match="low_p must be above high_p"):
        HighSpeedTcp(loss=0.1, high_p=0.01)
    with pytest.raises(DomainError, match=r"window must lie between 0 and 567\d+ packets, .* got 1e\+06"):
        HighSpeedTcp(loss=0.1).increase(1e6)
    with pytest.raises(DomainError, match=r"loss must exceed 1e-08, .* got 1e-09"):
        HighSpeedTcp(loss=1e-9).equilibrium()
    with pytest.raises(DomainError, match="a percentage"):
        ScalableTcp(loss=1.5)
