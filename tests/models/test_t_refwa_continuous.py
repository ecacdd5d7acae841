"""T-REFWA in continuous time: the curves against the argument principle, Newton's roots and mpmath; XCP's parabola."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tcpdynamics.models import TRefwaContinuous, TRefwaQueueDelayed

Array = NDArray[np.float64]
POINTS = 2200
RNG = np.random.default_rng(42)
READINGS = {"C": TRefwaContinuous, "Cq": TRefwaQueueDelayed}
both = pytest.mark.parametrize("reading", READINGS)


def value(reading: str, f: Any, p: Any, tau: Any, z: Any, exp: Callable[[Any], Any] = np.exp) -> Any:
    """The characteristic function, written out."""
    late = exp(-tau * z)
    return z * z + (f * z + p) * late if reading == "C" else z * z + f * z + p * late


def slope(reading: str, f: Any, p: Any, tau: Any, z: Any) -> Any:
    late = np.exp(-tau * z)
    return 2 * z + (f - tau * (f * z + p)) * late if reading == "C" else 2 * z + f - tau * p * late


def unstable_roots(function: Callable[[Array], Any], reach: float = 6.0) -> tuple[Array, Array]:
    """Zeros in the right half plane by the argument principle, for many real quasi-polynomials at once.

    Parameters
    ----------
    function : (k,) complex -> (size, k) complex
    reach : a radius outside which no zero can lie

    Returns
    -------
    counts : (size,) array
        Not rounded; whole numbers up to rounding.
    step : (size,) array
        Largest turn of the argument between neighbouring samples: the count is sure while it is well below pi.
    """
    arc = reach * np.exp(1j * np.linspace(0, np.pi / 2, 400))
    # Finer where the imaginary axis is crossed, w < 2.
    axis = 1j * np.concatenate([np.linspace(reach, 2, 400), np.linspace(2, 0, 1600)[1:]])
    path = np.concatenate([arc, axis[1:]])
    angle = np.angle(function(path))
    turns = np.diff(angle, axis=1)
    turns -= 2 * np.pi * np.round(turns / (2 * np.pi))
    return turns.sum(axis=1) / np.pi, np.abs(turns).max(axis=1)  # twice the upper half, over 2 pi


def margin(reading: str, f: Array, p: Array, tau: Array) -> Array:
    given = (xr.DataArray(x, dims="point") for x in (f, p, tau))
    phi, psi, delay = given
    return np.asarray(READINGS[reading](phi=phi, psi=psi, delay=delay).stability_margin().values)


@both
def test_sign_of_the_margin(reading: str) -> None:
    """Zeros in the right half plane, |z| <= (phi + sqrt(phi^2 + 4 psi))/2 < 4, counted at 2200 random points."""
    f, tau = RNG.uniform(0, 2.5, POINTS), RNG.uniform(0.2, 1.5, POINTS)
    p = RNG.uniform(0, 1, POINTS) ** 2 * (1.2 if reading == "C" else 3)
    counts, step = [], []
    for part in np.array_split(np.arange(POINTS), 11):
        column = (part.size, 1)
        given = [x[part].reshape(column) for x in (f, p, tau)]
        c, s = unstable_roots(lambda z, given=given: value(reading, *given, z[None]))
        counts.append(c)
        step.append(s)
    count, sure = np.concatenate(counts), np.concatenate(step) < np.pi / 2
    assert sure.mean() > 0.98
    assert np.abs(count - np.round(count)).max() < 1e-9
    inside = margin(reading, f, p, tau) > 0
    assert (inside == (np.round(count) == 0))[sure].all()
    assert 0.1 < inside.mean() < 0.9


@both
@pytest.mark.parametrize("relative", [1e-3, 1e-6, 1e-9])
def test_beside_the_curve(reading: str, relative: float) -> None:
    """The pair that crosses, by Newton from i w, moves to the side that the margin says, however near."""
    w, tau = RNG.uniform(0.02, np.pi / 2 - 0.02, 300), RNG.uniform(0.1, 3, 300)
    f, p = curve(reading, w, np)
    f, p = f / tau, p / tau**2
    for sign in (1, -1):
        moved = p * (1 + sign * relative)
        z = 1j * w / tau
        for _ in range(8):
            z = z - value(reading, f, moved, tau, z) / slope(reading, f, moved, tau, z)
        assert np.abs(z * tau - 1j * w).max() < 50 * relative
        assert (np.sign(z.real) == sign).all()
        assert (np.sign(margin(reading, f, moved, tau)) == -sign).all()


def curve(reading: str, w: Any, lib: Any) -> tuple[Any, Any]:
    return (w * lib.sin(w), w**2 * lib.cos(w)) if reading == "C" else (w * lib.tan(w), w**2 / lib.cos(w))


@both
def test_critical_gain_to_thirty_digits(reading: str) -> None:
    """The largest psi against the curve in mpmath, from phi = 1e-12 to its end."""
    mpmath.mp.dps = 30
    for w in (1e-6, 1e-3, 0.3, float(np.pi / 4), 1.2, 1.57):
        f, p = curve(reading, mpmath.mpf(w), mpmath)
        # phi is rounded to a float first; the curve's slope is of the order of one in relative terms,
        # but for psi -> 0 at the end of C, where the error is absolute
        found = READINGS[reading](phi=float(f)).critical_psi()
        assert found == pytest.approx(float(p), rel=1e-14, abs=2e-16)


@both
def test_the_curve_is_where_roots_cross(reading: str) -> None:
    """Identity: at phi(w), psi(w) the characteristic function vanishes at i w."""
    w = sympy.Symbol("w", positive=True)
    f, p = curve(reading, w, sympy)
    made = READINGS[reading](phi=f, psi=p, delay=sympy.Integer(1))
    at = sympy.expand_complex(made.characteristic(sympy.I * w))
    assert sympy.simplify(at) == 0


def test_parabola_of_xcp() -> None:
    """phi = alpha, psi = sqrt(2) alpha^2 meets the curve at w = pi/4 only, and lies below it before."""
    w = sympy.Symbol("w", positive=True)
    f, p = curve("C", w, sympy)
    ratio = sympy.simplify(p / f**2)
    assert sympy.simplify(ratio - sympy.cos(w) / sympy.sin(w) ** 2) == 0
    assert sympy.simplify(ratio.subs(w, sympy.pi / 4) - sympy.sqrt(2)) == 0
    # d/dw (cos/sin^2) = -(sin^2 + 2 cos^2)/sin^3 < 0: no second meeting
    assert sympy.simplify(sympy.diff(ratio, w) + (1 + sympy.cos(w) ** 2) / sympy.sin(w) ** 3) == 0
    end = sympy.pi / (4 * sympy.sqrt(2))
    assert sympy.simplify(f.subs(w, sympy.pi / 4) - end) == 0
    assert (float(end), float(sympy.sqrt(2) * end**2)) == pytest.approx((0.5554, 0.4362), abs=5e-5)
    alpha = np.linspace(0.01, 1, 500)
    psi = np.sqrt(2) * alpha**2
    inside = margin("C", alpha, psi, np.ones(500)) > 0
    assert (inside == (alpha < float(end))).all()


def test_extent_of_the_continuous_region() -> None:
    """phi < pi/2; psi < 0.5498 at phi = 0.948, where w tan w = 2; psi = 0.5 needs 0.69544 < phi < 1.17153."""
    phi = np.linspace(0.001, 1.57, 20001)
    top = TRefwaContinuous(phi=phi).critical_psi()
    assert float(top.max()) == pytest.approx(0.5498, abs=5e-5)
    assert float(phi[np.argmax(top.values)]) == pytest.approx(0.948, abs=5e-4)
    w = float(mpmath.findroot(lambda x: x * mpmath.tan(x) - 2, 1.0))
    assert float(w**2 * np.cos(w)) == pytest.approx(float(top.max()), rel=1e-7)
    stable = phi[top.values > 0.5]
    ends = [float(mpmath.findroot(lambda x: x**2 * mpmath.cos(x) - 0.5, x)) for x in (0.8, 1.3)]
    ends = [w * np.sin(w) for w in ends]
    assert ends == pytest.approx([0.69544, 1.17153], abs=5e-6)
    assert [stable[0], stable[-1]] == pytest.approx(ends, abs=phi[1] - phi[0])
    assert (TRefwaContinuous(phi=[1.571, 2.0, 5.0], psi=1e-6).stability_margin() < 0).all()


@both
@given(st.floats(0.01, 3), st.floats(0.01, 3), st.floats(0.1, 10))
def test_delay_rescales_the_gains(reading: str, f: float, p: float, tau: float) -> None:
    model = READINGS[reading]
    one, other = model(f, p, delay=tau).critical_psi(), model(f * tau, delay=1.0).critical_psi()
    assert one * tau**2 == pytest.approx(other, rel=1e-9, abs=1e-12)


@both
def test_without_delay(reading: str) -> None:
    """z^2 + phi z + psi is stable for all gains > 0, and the margin gets there continuously."""
    model = READINGS[reading]
    assert model(0.3, 7.0, delay=0.0).stability_margin() == 0.3
    assert model(0.0, 7.0, delay=0.0).stability_margin() == 0
    assert model(3.0, 2.0, delay=1e-9).stability_margin() == 2.0
    assert model(0.0, 0.5).stability_margin() < 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [TRefwaContinuous, TRefwaQueueDelayed])
def test_huge_gains(kind: type[TRefwaContinuous | TRefwaQueueDelayed]) -> None:
    assert np.isfinite(kind(phi=1e300, psi=1e300).stability_margin())
    assert kind(psi=1e300).stability_margin() < 0
