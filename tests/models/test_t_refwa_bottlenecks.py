"""Two bottlenecks with the min of feedbacks: exact fixed points, utilisation of L1, against iteration."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from tcpdynamics.models import TRefwaTwoLinksCommanded, TRefwaTwoLinksMeasured
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.problems import DomainError
from tcpdynamics.solvers.trajectories.maps import iterate

GAIN = st.fractions(Fraction(1, 50), 3, max_denominator=50)
SIZE = st.fractions(Fraction(1, 10), 300, max_denominator=50)
BUFFER = st.fractions(0, 300, max_denominator=50)
WEIGHT = st.fractions(Fraction(1, 10), 20, max_denominator=20)
LINKS = st.tuples(GAIN, GAIN, SIZE, BUFFER, SIZE, BUFFER, WEIGHT, WEIGHT, WEIGHT)
both = pytest.mark.parametrize("model", [TRefwaTwoLinksCommanded, TRefwaTwoLinksMeasured])


def exact(model: Any, values: tuple[Fraction, ...]) -> Any:
    return model(*(sympy.Rational(v.numerator, v.denominator) for v in values))


@both
@given(LINKS)
def test_fixed_point_in_exact_numbers(model: Any, values: tuple[Fraction, ...]) -> None:
    """The recursion as written here, with fractions, stays where `equilibrium` says - whichever link is tight."""
    found = {k: Fraction(int(v.p), int(v.q)) for k, v in exact(model, values).equilibrium().items()}
    f, p, bdp_1, b_1, bdp_3, b_3, m1, m2, m3 = values
    rate_1, rate_3 = found["Upsilon_1"] / (m1 + m2), found["Upsilon_3"] / (m1 + m3)
    window_1 = m1 * min(rate_1, rate_3) + m2 * rate_1
    window_3 = m1 * min(rate_1, rate_3) + m3 * rate_3
    queue_1, queue_3 = max(0, min(window_1 - bdp_1, b_1)), max(0, min(window_3 - bdp_3, b_3))
    fed = (found["Upsilon_1"], found["Upsilon_3"])
    if model is TRefwaTwoLinksMeasured:
        fed = (window_1, window_3)
    assert f * (bdp_1 - fed[0]) + p * (b_1 - queue_1) == 0
    assert f * (bdp_3 - fed[1]) + p * (b_3 - queue_3) == 0
    assert (found["W_1"], found["Q_1"], found["Q_3"]) == (window_1, queue_1, queue_3)
    assert found["utilisation_1"] == min(1, window_1 / bdp_1)


@given(LINKS)
def test_full_link_iff(values: tuple[Fraction, ...]) -> None:
    """Commanded reading: L1 is full iff m1 f3 + (m2/S)(BDP1 + (psi/phi) B1) >= BDP1, and the like for L3."""
    links = exact(TRefwaTwoLinksCommanded, values)
    found = links.equilibrium()
    for k in (1, 3):
        surplus = links.surplus(k)
        assert (found[f"utilisation_{k}"] == 1) == (surplus >= 0)
        if surplus < 0:
            assert found[f"utilisation_{k}"] == 1 + surplus / getattr(links, f"bdp_{k}")
            assert found[f"Q_{k}"] == 0


@given(LINKS)
def test_measured_links_are_always_full(values: tuple[Fraction, ...]) -> None:
    links = exact(TRefwaTwoLinksMeasured, values)
    found = links.equilibrium()
    for k in (1, 3):
        assert found[f"utilisation_{k}"] == 1
        spare = links.psi / (links.phi + links.psi)
        assert found[f"W_{k}"] == getattr(links, f"bdp_{k}") + spare * getattr(links, f"buffer_{k}")


def test_formulas_with_symbolic_bandwidths() -> None:
    """The closed forms for L3 tight, flows (5, 4, 6): both branches of the commanded reading, and the measured one."""
    phi, psi, bdp_1, b_1, bdp_3, b_3 = sympy.symbols("phi psi BDP1 B1 BDP3 B3", positive=True)
    five, four, six = (sympy.Integer(n) for n in (5, 4, 6))
    given = (phi, psi, bdp_1, b_1, bdp_3, b_3, five, four, six)
    f3 = (bdp_3 + psi * b_3 / (phi + psi)) / 11
    numbers = {bdp_1: 300, bdp_3: 50, b_3: 20, phi: sympy.Rational(3, 2), psi: sympy.Rational(1, 2)}
    empty = bdp_1 + psi / phi * b_1
    queued = (phi * bdp_1 + psi * (b_1 + bdp_1 - 5 * f3)) / (phi + sympy.Rational(4, 9) * psi)
    measured = 9 * (bdp_1 + psi * b_1 / (phi + psi) - 5 * f3) / 4
    commanded = TRefwaTwoLinksCommanded(*given).equilibrium()
    integrated = TRefwaTwoLinksMeasured(*given).equilibrium()
    for buffer in (0, 40, 400, 4000):
        at = {**numbers, b_1: buffer}
        full = (5 * f3 + sympy.Rational(4, 9) * empty >= bdp_1).subs(at)
        assert commanded["Upsilon_1"].subs(at) == (queued if full else empty).subs(at)
        assert integrated["Upsilon_1"].subs(at) == measured.subs(at)
        assert integrated["f_1"].subs(at) == ((bdp_1 + psi * b_1 / (phi + psi) - 5 * f3) / 4).subs(at)
        for found in (commanded, integrated):
            assert found["Upsilon_3"].subs(at) == (11 * f3).subs(at)
    assert bool((5 * f3 + sympy.Rational(4, 9) * empty >= bdp_1).subs({**numbers, b_1: 4000}))
    assert not bool((5 * f3 + sympy.Rational(4, 9) * empty >= bdp_1).subs({**numbers, b_1: 0}))


def test_equal_links() -> None:
    """BDP = 100: utilisation of L1 is 0.899 without buffers, 0.925 with 10 packets, 1 from 0.386 BDP on."""
    for buffer, wanted in ((0.0, 0.899), (10.0, 0.925), (38.6, 1.0)):
        one = TRefwaTwoLinksCommanded(bdp_1=100, buffer_1=buffer, bdp_3=100, buffer_3=buffer)
        assert one.equilibrium()["utilisation_1"] == pytest.approx(wanted, abs=5e-4)
        other = TRefwaTwoLinksMeasured(bdp_1=100, buffer_1=buffer, bdp_3=100, buffer_3=buffer)
        assert other.equilibrium()["utilisation_1"] == 1
    b = one.least_buffer()
    assert b == pytest.approx(0.386, abs=5e-4)
    for side, sign in ((1 - 1e-9, -1), (1 + 1e-9, 1)):
        links = TRefwaTwoLinksCommanded(bdp_1=100, buffer_1=100 * b * side, bdp_3=100, buffer_3=100 * b * side)
        assert np.sign(links.surplus()) == sign
    assert TRefwaTwoLinksCommanded(psi=0.0).least_buffer() == np.inf


POINTS = 2000


def random_links(model: Any, phi: Any, psi: Any) -> Any:
    """Links at POINTS random points of all sizes, weights not too unequal."""
    rng = np.random.default_rng(11)
    sizes = [rng.uniform(1, 300, POINTS) for _ in range(4)] + [rng.uniform(2, 20, POINTS) for _ in range(3)]
    return model(*(xr.DataArray(x, dims="point") for x in (phi, psi, *sizes)))


@both
def test_iteration_ends_at_the_fixed_point(model: Any) -> None:
    """With gains inside the region, from an empty network."""
    phi, psi = np.random.default_rng(12).uniform(0.3, 0.95, (2, POINTS))
    links = random_links(model, phi, psi)
    assert (links.stability_margin() > 0).all()
    system = compile_system(links.map())
    # The slowest multiplier is 1 - (phi + psi) m2/(m1 + m2) < 1 - 0.6/11, or 1 - phi.
    states = iterate(system, system.start_values(), int(np.log(1e-12) / np.log(1 - 0.6 / 11)))
    found = links.equilibrium()
    assert states[0] == pytest.approx(found["Upsilon_1"].values, rel=1e-9)
    assert states[1] == pytest.approx(found["Upsilon_3"].values, rel=1e-9)


@both
def test_multipliers(model: Any) -> None:
    """The linearisation at the fixed point: spectral radius below one iff the margin is positive."""
    phi, psi = np.random.default_rng(13).uniform(0.02, 2, (2, POINTS))
    links = random_links(model, phi, psi)
    rest, margin = links.equilibrium(), links.stability_margin().values
    system = compile_system(links.map())
    states = np.array([rest["Upsilon_1"].values, rest["Upsilon_3"].values])
    assert (np.abs(system.slope(states) - states) < 1e-12 * states.max()).all()
    size = np.abs(np.linalg.eigvals(system.jacobians(states)[0])).max(axis=1)
    sure = (np.abs(rest["f_1"] / rest["f_3"] - 1).values > 1e-9) & (np.abs(margin) > 1e-9)
    if model is TRefwaTwoLinksCommanded:
        sure &= np.abs(links.surplus(1).values) > 1e-9
        sure &= np.abs(links.surplus(3).values) > 1e-9
    assert sure.mean() > 0.99
    assert ((size < 1) == (margin > 0))[sure].all()


@both
def test_grid_and_problem(model: Any) -> None:
    links = model(buffer_1=[0.0, 50.0, 100.0], bdp_3=[100.0, 200.0])
    found = links.equilibrium()
    assert found["utilisation_1"].sizes == {"buffer_1": 3, "bdp_3": 2}
    problem = links.map()
    assert model(**problem.provenance) == links
    for name in (*problem.labels, *problem.outputs):
        assert problem.meanings[name] and (problem.units.get(name) == "packet") != name.startswith("u")
    one = model(buffer_1=50.0, bdp_3=200.0).equilibrium()
    for name, value in one.items():
        assert float(found[name].sel(buffer_1=50.0, bdp_3=200.0) if np.ndim(found[name]) == 2 else value) == value
        assert isinstance(value, float)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: TRefwaTwoLinksCommanded(phi=0.0), "phi must lie in (0, inf), got 0.0"),
        (lambda: TRefwaTwoLinksMeasured(weight_2=0.0), "weight_2 must lie in (0, inf), got 0.0"),
        (lambda: TRefwaTwoLinksMeasured(buffer_1=-1.0), "buffer_1 must lie in [0, inf), got -1.0"),
    ],
)
def test_bad_input(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(DomainError) as caught:
        make()
    assert words in str(caught.value)
