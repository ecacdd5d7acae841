"""The readings of T-REFWA's recursion: closed-form conditions against roots, fixed points, published gains."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tcpdynamics.models import (
    TRefwaBiased,
    TRefwaContinuous,
    TRefwaDelayed,
    TRefwaIntegrating,
    TRefwaIntegratingDelayed,
    TRefwaIntegratingSemiImplicit,
    TRefwaMeasured,
    TRefwaMeasuredRtt,
    TRefwaMixed,
    TRefwaQueueDelayed,
    TRefwaWindow,
)
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.problems import DomainError

Array = NDArray[np.float64]
POINTS = 3000
RNG = np.random.default_rng(20250711)
PHI = RNG.uniform(0, 3.5, POINTS)
PSI = RNG.uniform(0, 2.5, POINTS)


def points(name: str, values: Array) -> xr.DataArray:
    return xr.DataArray(values, dims="point", name=name)


def margins(model: Callable[..., Any], **more: Any) -> Array:
    made = model(phi=points("phi", PHI), psi=points("psi", PSI), **more)
    return np.asarray(made.stability_margin().values)


def polynomial(*coefficients: Any) -> Array:
    return np.stack([np.broadcast_to(np.asarray(c, float), (POINTS,)) for c in coefficients])


# ---------------------------------------------------------------- judges that share nothing with the models


def companion(coefficients: Array) -> Array:
    """(m, n, n) companion matrices of monic polynomials, (n + 1, m) coefficients from the highest power."""
    degree, points = len(coefficients) - 1, coefficients.shape[1]
    matrix = np.zeros((points, degree, degree))
    matrix[:, np.arange(1, degree), np.arange(degree - 1)] = 1
    matrix[:, 0] = -coefficients[1:].T
    return matrix


def radius_and_doubt(coefficients: Array) -> tuple[Array, Array]:
    """Largest modulus of the roots, and how far rounding may have moved it.

    A simple root z of p moves by eps sum |c_k z^k|/|p'(z)|; a near-multiple one by more than the doubt can say, so
    that it is made infinite where the derivative is that small.
    """
    roots = np.linalg.eigvals(companion(coefficients)) if len(coefficients) > 2 else -coefficients[1:].T
    powers = np.arange(len(coefficients) - 1, -1, -1)[:, None, None]
    terms = coefficients[:, :, None] * roots[None] ** powers
    slope = (coefficients[:, :, None] * powers * roots[None] ** np.maximum(powers - 1, 0)).sum(axis=0)
    sizes = np.abs(terms).sum(axis=0)
    shift = 1e-15 * len(coefficients) * sizes / np.maximum(np.abs(slope), 1e-300)
    size = np.abs(roots)
    near = size > size.max(axis=1, keepdims=True) - 1e-3
    return size.max(axis=1), np.where(near, shift, 0).max(axis=1)


def agree(margin: Array, coefficients: Array, least_share: float = 0.98) -> None:
    """The sign of the margin says whether all roots lie inside, wherever rounding leaves no doubt."""
    radius, doubt = radius_and_doubt(coefficients)
    sure = np.abs(radius - 1) > 100 * doubt
    assert sure.mean() > least_share
    wrong = sure & ((margin > 0) != (radius < 1))
    assert not wrong.any(), (np.flatnonzero(wrong)[:5], margin[wrong][:5], radius[wrong][:5])
    assert (radius < 1)[sure].any() and (radius > 1)[sure].any()  # both verdicts were put to the test


# ---------------------------------------------------------------- conditions against roots
# Each polynomial is that of the recursion as MATH-like text gives it, multiplied out here by hand.


def test_window() -> None:
    agree(margins(TRefwaWindow), polynomial(1, PHI + PSI - 1))


@pytest.mark.parametrize("delay", [0, 1, 2, 3, 4, 5, 8, 13, 30])
def test_delayed(delay: int) -> None:
    """e' = (1 - phi) e + psi (B - e_{n-d})."""
    c = np.zeros((delay + 2, POINTS))
    c[0] = 1
    c[1] += PHI - 1
    c[-1] += PSI
    agree(margins(TRefwaDelayed, delay=delay), c)


def test_delayed_once_in_closed_form() -> None:
    """psi < 1 and phi < 2 + psi."""
    assert ((margins(TRefwaDelayed, delay=1) > 0) == ((PSI < 1) & (PHI < 2 + PSI))).all()


@pytest.mark.parametrize("delay", [0, 1, 2, 3, 7, 20])
def test_measured(delay: int) -> None:
    """e' = e - (phi + psi) e_{n-d}; gains are shrunk so that both verdicts occur at every delay."""
    k = (PHI + PSI) * 2 / (2 * delay + 1)
    c = np.zeros((delay + 2, POINTS))
    c[0] = 1
    c[1] -= 1
    c[-1] += k
    model = TRefwaMeasured(phi=points("phi", k / 2), psi=points("psi", k / 2), delay=delay)
    agree(model.stability_margin().values, c)


def test_measured_rtt() -> None:
    agree(margins(TRefwaMeasuredRtt), polynomial(1, PSI - 1))


def test_integrating() -> None:
    """(z - 1 + phi)(z - 1) + psi."""
    agree(margins(TRefwaIntegrating), polynomial(1, PHI - 2, 1 - PHI + PSI))


def test_integrating_semi_implicit() -> None:
    """(z - 1 + phi)(z - 1) + psi z."""
    agree(margins(TRefwaIntegratingSemiImplicit), polynomial(1, PHI + PSI - 2, 1 - PHI))


@pytest.mark.parametrize("delay", [0, 1, 2, 3, 6])
def test_integrating_delayed(delay: int) -> None:
    """((z - 1 + phi)(z - 1)) z^d + psi."""
    c = np.zeros((delay + 3, POINTS))
    c[0] = 1
    c[1] += PHI - 2
    c[2] += 1 - PHI
    c[-1] += PSI / (1 + delay)
    model = TRefwaIntegratingDelayed(phi=points("phi", PHI), psi=points("psi", PSI / (1 + delay)), delay=delay)
    agree(model.stability_margin().values, c)


@pytest.mark.parametrize(
    "delays, shares",
    [((0, 1), (0.5, 0.5)), ((0, 2), (0.3, 0.7)), ((1, 2, 5), (0.2, 0.5, 0.3)), ((0, 3, 9), (0.6, 0.1, 0.3))],
)
def test_mixed(delays: tuple[int, ...], shares: tuple[float, ...]) -> None:
    c = np.zeros((max(delays) + 2, POINTS))
    c[0] = 1
    c[1] += PHI - 1
    for d, s in zip(delays, shares, strict=True):
        c[d + 1] += s * PSI
    agree(margins(TRefwaMixed, delays=delays, fractions=shares), c)


def test_schur_cohn_agrees_with_kuruklis() -> None:
    """Two closed forms of one condition: a mix of a single delay."""
    for d in range(7):
        one, other = margins(TRefwaMixed, delays=(d,)), margins(TRefwaDelayed, delay=d)
        sure = np.abs(other) > 1e-9
        assert ((one > 0) == (other > 0))[sure].all()


# ---------------------------------------------------------------- the problem says the same as the closed form

READINGS: list[tuple[Any, int]] = [
    (TRefwaWindow(0.7, 0.4), 0),
    (TRefwaBiased(0.7, 0.4, rtt_error=0.03), 0),
    (TRefwaDelayed(0.7, 0.4, delay=3), 3),
    (TRefwaMixed(0.7, 0.4, delays=(0, 2, 5), fractions=(0.5, 0.2, 0.3)), 5),
    (TRefwaMeasured(0.7, 0.4, delay=2), 2),
    (TRefwaMeasuredRtt(0.7, 0.4), 0),
    (TRefwaIntegrating(0.7, 0.4), 0),
    (TRefwaIntegratingSemiImplicit(0.7, 0.4), 0),
    (TRefwaIntegratingDelayed(0.7, 0.4, delay=2), 2),
    (TRefwaContinuous(0.7, 0.4, delay=0.8), 0),
    (TRefwaQueueDelayed(0.7, 0.4, delay=0.8), 0),
]
every_reading = pytest.mark.parametrize("model, power", READINGS, ids=[type(m).__name__ for m, _ in READINGS])


def view(model: Any) -> Any:
    return model.dde() if hasattr(model, "dde") else model.map()


def at_rest(problem: Any) -> NDArray[np.float64]:
    values = {k: float(v) for k, v in problem.parameters.items()}
    point = problem.fixed_points[0]
    exact = [sympy.sympify(point[s]) for s in problem.labels]
    return np.array([[float(e.subs({s: values[s.name] for s in e.free_symbols}))] for e in exact])


@every_reading
def test_fixed_point_is_at_rest(model: Any, power: int) -> None:
    problem = view(model)
    system = compile_system(problem)
    states = at_rest(problem)
    moved = system.slope(states) - (0 if hasattr(model, "dde") else states)
    assert np.abs(moved).max() < 1e-12 * model.buffer
    rest = model.equilibrium()
    assert dict(zip(problem.labels, states.ravel(), strict=True)) == pytest.approx({k: rest[k] for k in problem.labels})
    now = dict(zip(problem.labels, states, strict=True))
    past = dict(zip(system.delayed, system.at_rest(states), strict=True))
    outputs = dict(zip(problem.outputs, system.evaluate(system.outputs, now | past), strict=True))
    for name in set(rest) & set(outputs):
        assert outputs[name] == pytest.approx(rest[name])


@every_reading
def test_linearisation_has_the_characteristic_function(model: Any, power: int) -> None:
    """det(z - A_0 - sum A_k z^-d), of the problem as solvers see it, is `characteristic` over z^power."""
    system = compile_system(view(model))
    own, late, lags = (x[0] for x in system.jacobians(at_rest(system.problem)))
    for z in (1.3 + 0.2j, -0.4 + 0.9j, 0.6 + 0j):
        decay = np.exp(-lags * z) if hasattr(model, "dde") else z**-lags
        matrix = z * np.eye(len(own)) - own - np.einsum("k,kij->ij", decay, late)
        assert model.characteristic(z) == pytest.approx(z**power * np.linalg.det(matrix), rel=1e-12)


@every_reading
def test_views_carry_what_solvers_need(model: Any, power: int) -> None:
    problem = view(model)
    assert problem.name == type(model).__name__
    assert type(model)(**problem.provenance) == model
    assert list(problem.parameters)[:4] == ["phi", "psi", "bdp", "buffer"]
    assert {"phi", "psi", "bdp", "buffer"} <= set(problem.domain)
    assert problem.time_units == ("RTT" if hasattr(model, "dde") else "interval")
    for name in (*problem.labels, *problem.outputs):
        assert problem.units[name] == "packet" and problem.meanings[name]
    # The ends of a chart, where fixed points are not unique or touch a switch: finite all the same.
    corner = compile_system(problem.at(phi=[0.0, 1.0], psi=[0.0, 1.0]))
    exact = [sympy.sympify(e) for e in problem.fixed_points[0].values()]
    values = {k: v for k, v in corner.grid.values.items()}
    with np.errstate(over="ignore"):
        states = [sympy.lambdify(list(values), e, "numpy")(**values) * np.ones(4) for e in exact]
    assert np.isfinite(states).all()
    assert all(np.isfinite(part).all() for part in corner.jacobians(np.array(states)))


# ---------------------------------------------------------------- identities

phi, psi, bdp, buffer, z = sympy.symbols("phi psi bdp buffer z", positive=True)
GIVEN = {"phi": phi, "psi": psi, "bdp": bdp, "buffer": buffer}


@pytest.mark.parametrize("model", [TRefwaWindow, TRefwaDelayed, TRefwaMixed, TRefwaMeasured])
def test_interior_fixed_point(model: Any) -> None:
    """e* = Q* = psi B/(phi + psi) solves phi e = psi (B - e) and lies between the ends."""
    rest = model(**GIVEN).equilibrium()
    e = rest["e"]
    assert sympy.simplify(phi * e - psi * (buffer - e)) == 0
    assert rest["Q"] == e and sympy.simplify(rest["Upsilon"] - bdp - e) == 0
    assert e.is_positive and sympy.simplify(buffer - e).is_positive


@pytest.mark.parametrize("model", [TRefwaIntegrating, TRefwaIntegratingSemiImplicit, TRefwaContinuous])
def test_integrating_fixed_point(model: Any) -> None:
    rest = model(**GIVEN).equilibrium()
    assert (rest["e"], rest["Q"], rest["Upsilon"]) == (0, buffer, bdp)


@given(
    st.fractions(Fraction(1, 100), 3), st.fractions(Fraction(1, 100), 3), st.fractions(Fraction(1, 10), 500),
    st.fractions(Fraction(-1, 2), Fraction(1, 2)),
)  # fmt: skip
def test_biased_fixed_point(f: Fraction, p: Fraction, b: Fraction, error: Fraction) -> None:
    """Exactly: the three branches (starving, inside, overflowing) solve the recursion, which has one root."""
    model = TRefwaBiased(*map(sympy.Rational, (f, p, 100, b)), rtt_error=sympy.Rational(error))
    rest = model.equilibrium()
    e = rest["e"]
    queue = sympy.Max(0, sympy.Min(e, sympy.Rational(b)))
    assert rest["Q"] == queue
    assert f * (error * 100 - Fraction(e.p, e.q)) + p * (b - Fraction(queue.p, queue.q)) == 0


def test_bias_shifts_the_queue() -> None:
    """By phi delta BDP/(phi + psi) inside the buffer."""
    delta = sympy.Symbol("delta", positive=True)
    inside = (psi * buffer + phi * delta * bdp) / (phi + psi)
    plain = TRefwaWindow(**GIVEN).equilibrium()["Q"]
    assert sympy.simplify(inside - plain - phi * delta * bdp / (phi + psi)) == 0
    assert TRefwaBiased(1.5, 0.5, 100, 100, 0.04).equilibrium()["Q"] == pytest.approx(25 + 1.5 * 0.04 * 100 / 2)


def test_measured_rtt_has_no_phi() -> None:
    """With Q = e in the bracket the term in phi vanishes: Q* = B and the multiplier 1 - psi."""
    e = sympy.Symbol("e")
    following = e + phi * ((bdp + e) - (bdp + e)) + psi * (buffer - e)
    assert sympy.solve(sympy.Eq(following, e), e) == [buffer]
    assert sympy.diff(following, e) == 1 - psi
    assert TRefwaMeasuredRtt(**GIVEN).equilibrium()["Q"] == buffer


def jury(p: sympy.Poly) -> list[sympy.Expr]:
    """Jury's conditions (each > 0) of a polynomial of degree 1 to 3, from the textbook."""
    c = p.all_coeffs()[::-1]
    ends = [p.eval(1), (-1) ** p.degree() * p.eval(-1)]
    if p.degree() == 1:
        return ends
    if p.degree() == 2:
        return [*ends, 1 - c[0]]  # 1 + c0 = (p(1) + p(-1))/2 is then > 0 too
    return [*ends, 1 - c[0] ** 2 + (c[0] * c[2] - c[1]), 1 - c[0] ** 2 - (c[0] * c[2] - c[1])]


@pytest.mark.parametrize(
    "model",
    [TRefwaWindow, TRefwaMeasuredRtt, TRefwaIntegrating, TRefwaIntegratingSemiImplicit, TRefwaIntegratingDelayed],
)
def test_conditions_are_jurys(model: Any) -> None:
    made = model(**GIVEN)
    wanted = {sympy.expand(x) for x in jury(sympy.Poly(sympy.expand(made.characteristic(z)), z))}
    if model is TRefwaWindow:  # phi > 0 keeps the queue off the buffer's end, and is more than p(1) = phi + psi > 0
        wanted = wanted - {phi + psi} | {phi}
    assert {sympy.expand(x) for x in made.conditions()} == wanted


def test_crossing_of_the_delayed_window() -> None:
    """On a = sin((d+1) w)/sin(d w), b = sin w/sin(d w) the trinomial has the root e^(iw), for every d."""
    w, d = sympy.symbols("w d", real=True)
    a, b = sympy.sin((d + 1) * w) / sympy.sin(d * w), sympy.sin(w) / sympy.sin(d * w)
    power = {k: sympy.exp(sympy.I * w * k) for k in (d, d + 1)}
    value = sympy.expand((power[d + 1] - a * power[d] + b) * sympy.sin(d * w))
    assert sympy.simplify(sympy.expand(value.rewrite(sympy.exp))) == 0


def test_crossing_of_the_measured_window() -> None:
    """z^(d+1) - z^d + k has the root e^(iw) at w = pi/(2d+1) for k = 2 sin(w/2) = 2 cos(d pi/(2d+1))."""
    w = sympy.Symbol("w", real=True)
    for d in range(6):
        at = sympy.pi / (2 * d + 1)
        k = 2 * sympy.cos(d * at)
        root = sympy.exp(sympy.I * w)
        value = (root ** (d + 1) - root**d + k).subs(w, at)
        assert abs(complex(sympy.N(value, 30, chop=False))) < 1e-25
        assert abs(complex(sympy.N(k - 2 * sympy.sin(at / 2), 30))) < 1e-25
        assert TRefwaMeasured(delay=d).critical_sum() == pytest.approx(float(k), rel=1e-15)
    assert TRefwaMeasured(delay=1).critical_sum() == pytest.approx(1, rel=1e-15)


# ---------------------------------------------------------------- the published gains


def radius(*coefficients: float) -> float:
    return float(radius_and_doubt(np.array(coefficients, float)[:, None])[0][0])


def test_verdicts_at_the_published_gains() -> None:
    """phi = 1.5, psi = 0.5: marginal, stable or unstable, depending on what n - 1 means."""
    assert TRefwaWindow().stability_margin() == 0
    assert TRefwaWindow().multiplier() == -1
    delayed = {d: radius(1, 0.5, *[0] * (d - 1), 0.5) for d in (1, 3, 5)}
    assert delayed == pytest.approx({1: 0.7071, 3: 0.932, 5: 0.974}, abs=5e-4)
    assert (TRefwaDelayed(delay=[1, 3, 5]).stability_margin() > 0).all()
    assert (TRefwaDelayed(delay=[0, 2, 4, 40]).stability_margin() == 0).all()
    assert TRefwaWindow().any_delay_margin() == 0
    assert TRefwaMeasured().stability_margin() == pytest.approx(-1)
    assert radius(1, -1, 2) == pytest.approx(np.sqrt(2))
    assert TRefwaIntegrating().stability_margin() == 0.5
    assert sorted(np.roots([1, -0.5, 0])) == [0, 0.5]
    assert TRefwaIntegrating().characteristic(np.array([0, 0.5])).tolist() == [0, 0]
    assert TRefwaIntegratingSemiImplicit().stability_margin() == 0.5
    assert radius(1, 0, -0.5) == pytest.approx(0.7071, abs=5e-5)
    assert TRefwaIntegratingDelayed().stability_margin() == 0.5
    assert radius(1, -0.5, -0.5, 0.5) == pytest.approx(0.829, abs=5e-4)
    assert TRefwaContinuous().stability_margin() < 0
    assert TRefwaQueueDelayed().stability_margin() > 0
    assert TRefwaQueueDelayed().critical_psi() == pytest.approx(1.775, abs=5e-4)


def test_published_equilibrium() -> None:
    """A quarter of the buffer, where the abstract promises link and buffer together."""
    rest = TRefwaWindow(bdp=100.0, buffer=80.0).equilibrium()
    assert rest == {"e": 20.0, "Q": 20.0, "Upsilon": 120.0}


def test_better_gains() -> None:
    """phi = 1: the radius is psi^(1/(d+1)) whatever the delay, and the queue B/3 for psi = 1/2."""
    for d in range(9):
        assert radius(1, *[0] * d, 0.5) == pytest.approx(0.5 ** (1 / (d + 1)), rel=1e-12)
        assert TRefwaDelayed(phi=1.0, delay=d).critical_psi() == pytest.approx(1, rel=1e-14)
    assert TRefwaWindow(phi=1.0, buffer=90.0).equilibrium()["Q"] == pytest.approx(30)


# ---------------------------------------------------------------- grids and bad input


def test_margin_over_a_grid() -> None:
    model = TRefwaDelayed(phi=[0.5, 1.5], psi=[0.5, 1.0, 1.5], delay=[0, 1])
    margin = model.stability_margin()
    assert margin.sizes == {"phi": 2, "psi": 3, "delay": 2}
    assert margin.attrs == {"units": "1", "long_name": "stability margin"}
    for f in (0.5, 1.5):
        for d in (0, 1):
            one = TRefwaDelayed(phi=f, psi=1.0, delay=d).stability_margin()
            assert isinstance(one, float) and one == float(margin.sel(phi=f, psi=1.0, delay=d))


def test_no_gain_at_all() -> None:
    assert TRefwaWindow(0.0, 0.0).stability_margin() == 0
    assert np.isnan(TRefwaWindow(0.0, 0.0).equilibrium()["Q"])
    assert TRefwaContinuous(0.0, 0.0).stability_margin() == 0


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: TRefwaWindow(phi=-0.1), "phi must lie in [0, inf), got -0.1"),
        (lambda: TRefwaWindow(psi=float("nan")), "psi must lie in [0, inf), got nan"),
        (lambda: TRefwaWindow(buffer=0.0), "buffer must lie in (0, inf), got 0.0"),
        (lambda: TRefwaDelayed(delay=0.5), "delay must be a whole number in [0, inf), got 0.5"),
        (lambda: TRefwaDelayed(delay=[1, -1]), "delay must be a whole number in [0, inf), got -1 at index 1"),
        (lambda: TRefwaMixed(delays=(0, 0.5)), "delays must be whole numbers >= 0"),  # type: ignore[arg-type]
        (lambda: TRefwaMixed(delays=()), "delays must hold at least one number"),
        (lambda: TRefwaMixed(fractions=(1.0,)), "fractions must be as many as delays (2), got 1"),
        (lambda: TRefwaMixed(fractions=(0.7, 0.7)), "fractions must be > 0 and sum to one"),
        (lambda: TRefwaIntegratingDelayed(delay=2).conditions(), "delay must be 1 for conditions"),
        (lambda: TRefwaWindow(phi=sympy.Symbol("x")).stability_margin(), "phi must be a number here, got x"),
        (lambda: TRefwaBiased(rtt_error=-1.0), "rtt_error must lie in (-1, inf), got -1.0"),
    ],
)
def test_bad_input(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(DomainError) as caught:
        make()
    assert words in str(caught.value)


def test_every_reading_states_its_condition() -> None:
    for model, _ in READINGS:
        assert inspect.getdoc(type(model))
        assert isinstance(model.stability_margin(), float)


@pytest.mark.parametrize(
    "mix, message",
    [
        ({"fractions": ("a", "b")}, "fractions must be numbers"),
        ({"delays": 5}, "delays must be a tuple"),
        ({"delays": (0, 10**7)}, "at most 10000 intervals"),
    ],
)
def test_mixes_that_are_none(mix: dict[str, Any], message: str) -> None:
    with pytest.raises(DomainError, match=message):
        TRefwaMixed(**mix)
