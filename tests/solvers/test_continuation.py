"""Branches whose folds, crossings and bifurcations are known in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
import xarray as xr

from tcpdynamics.solvers import DDE, ODE, Delayed, DomainError, DynamicsError, Map, continuation, spectral_abscissa

x, y, r, b, w, w_d, tau = sympy.symbols("x y r b w w_d tau")


def special(branch: xr.Dataset, parameter: str) -> list[tuple[str, float]]:
    kinds, values = branch.special_kind.values, branch[f"special_{parameter}"].values
    return [(str(k), float(v)) for k, v in zip(kinds, values, strict=True)]


def test_saddle_node() -> None:
    branch = continuation(ODE(rhs={"x": r + x**2}, parameters={"r": -1.0}), "r", (-1, 1), start={"x": -1})
    assert special(branch, "r") == [("fold", pytest.approx(0, abs=1e-15))]
    assert np.abs(branch.r + branch.x**2).max() < 1e-13  # every point is on the parabola
    assert branch.x.values[[0, -1]].tolist() == pytest.approx([-1, 1])
    assert (branch.abscissa.values == pytest.approx(2 * branch.x.values)) and branch.attrs["ended"] == "at r = -1"
    assert (branch.stable.values == (branch.x.values < 0)).all()


def test_hysteresis_has_two_folds() -> None:
    """r + x - x^3 = 0 turns at x = +-1/sqrt(3), r = -+2/(3 sqrt(3))."""
    branch = continuation(ODE(rhs={"x": r + x - x**3}, parameters={"r": 0.0}), "r", (-1, 1), start={"x": -1.3})
    edge = 2 / (3 * np.sqrt(3))
    assert special(branch, "r") == [("fold", pytest.approx(edge, rel=1e-13)), ("fold", pytest.approx(-edge, rel=1e-13))]
    # a fold's state moves by the square root of what its parameter is off
    assert branch.special_x.values == pytest.approx([-1 / np.sqrt(3), 1 / np.sqrt(3)], rel=1e-7)
    assert branch.unstable.values.max() == 1


@pytest.mark.parametrize(("cube", "begin"), [(False, {"x": 0.0}), (True, {"x": 0.0}), (False, {"x": -1.0})])
def test_crossings_of_branches(cube: bool, begin: dict[str, float]) -> None:
    problem = ODE(rhs={"x": r * x - (x**3 if cube else x**2)}, parameters={"r": 0.0})
    branch = continuation(problem, "r", (-1, 1), start=begin)
    assert special(branch, "r") == [("branch", pytest.approx(0, abs=1e-12))]


def test_hopf_of_the_brusselator() -> None:
    """x' = a - (b + 1)x + x^2 y, y' = b x - x^2 y: Hopf at b = 1 + a^2 with frequency a."""
    a = 1.5
    rhs = {"x": a - (b + 1) * x + x**2 * y, "y": b * x - x**2 * y}
    branch = continuation(ODE(rhs=rhs, parameters={"b": 1.0}, start={"x": 1, "y": 1}), "b", (1, 5))
    assert special(branch, "b") == [("hopf", pytest.approx(1 + a**2, rel=1e-12))]
    assert float(branch.special_frequency[0]) == pytest.approx(a, rel=1e-12)


def delayed_logistic(**parameters: Any) -> DDE:
    return DDE(
        rhs={"w": r * w * (1 - w_d)},
        delayed={"w_d": Delayed("w", tau)},
        parameters=parameters,
        fixed_points=[{"w": 1}],
        domain={"tau": (-1e-9, np.inf)},
    )


def test_hopf_of_the_delayed_logistic() -> None:
    """r tau = pi/2 + 2 pi k, each with the frequency r."""
    branch = continuation(delayed_logistic(r=1.95, tau=1.0), "tau", (0, 5))
    expected = [np.pi / 2 / 1.95, (np.pi / 2 + 2 * np.pi) / 1.95]
    assert special(branch, "tau") == [("hopf", pytest.approx(v, rel=1e-12)) for v in expected]
    assert branch.special_frequency.values == pytest.approx([1.95, 1.95], rel=1e-12)
    assert branch.unstable.values[[0, -1]].tolist() == [0, 4]
    alone = spectral_abscissa(delayed_logistic(r=1.95, tau=branch.tau.values))
    assert branch.abscissa.values == pytest.approx(alone.values, abs=1e-13)


def test_the_same_hopf_along_the_gain() -> None:
    branch = continuation(delayed_logistic(r=1.0, tau=0.5), "r", (0.1, 10))
    assert special(branch, "r") == [("hopf", pytest.approx(np.pi, rel=1e-12))]


def test_flip_of_the_logistic_map_at_two() -> None:
    problem = Map(rhs={"w": w + r * w * (1 - w)}, parameters={"r": 1.0}, fixed_points=[{"w": 1}])
    branch = continuation(problem, "r", (0.5, 2.5))
    assert special(branch, "r") == [("flip", pytest.approx(2, abs=1e-13))]
    assert float(branch.special_frequency[0]) == pytest.approx(np.pi)


def test_neimark_sacker_of_a_stale_measurement() -> None:
    """z^2 - z + r = 0 leaves the unit circle at r = 1, at an angle of 60 degrees."""
    problem = Map(
        rhs={"w": w + r * w * (1 - w_d)},
        delayed={"w_d": Delayed("w", 1)},
        parameters={"r": 1.0},
        fixed_points=[{"w": 1}],
    )
    branch = continuation(problem, "r", (0.1, 1.5))
    assert special(branch, "r") == [("neimark-sacker", pytest.approx(1, rel=1e-12))]
    assert float(branch.special_frequency[0]) == pytest.approx(np.pi / 3, rel=1e-12)


def test_both_directions_and_closed_branches() -> None:
    circle = ODE(rhs={"x": x**2 + r**2 - 1}, parameters={"r": 0.0})
    branch = continuation(circle, "r", (-2, 2), start={"x": -1, "r": 0})
    assert branch.attrs["ended"] == "closed"
    assert sorted(special(branch, "r")) == [("fold", pytest.approx(-1)), ("fold", pytest.approx(1))]
    parabola = continuation(ODE(rhs={"x": r - x**2}, parameters={"r": 0.0}), "r", (-1, 1), start={"x": 0.7, "r": 0.5})
    assert parabola.attrs["ended"] == "at r = 1; at r = 1" and parabola.x.values[[0, -1]] == pytest.approx([-1, 1])
    assert [k for k, _ in special(parabola, "r")] == ["fold"]


def test_states_of_very_different_size_and_delayed_outputs() -> None:
    """A queue in thousands marks with p = q/1e6, delayed; the parameter also sits in the output."""
    q, p_d, gain = sympy.symbols("q p_d gain")
    problem = DDE(
        rhs={"w": 1 - w**2 * p_d / 2, "q": w * 100 - q},
        outputs={"p": gain * q},
        delayed={"p_d": Delayed("p", sympy.Rational(1, 2))},
        parameters={"gain": 1e-5},
        start={"w": 10.0, "q": 1000.0},
    )
    branch = continuation(problem, "gain", (1e-6, 1e-3))
    window = (2 / (100 * branch.gain.values)) ** (1 / 3)  # w^3 = 2/(100 gain)
    assert branch.w.values == pytest.approx(window, rel=1e-10) and branch.q.values == pytest.approx(
        100 * window, rel=1e-10
    )
    assert branch.attrs["ended"] == "at gain = 0.001"


def test_smaller_steps_find_the_same() -> None:
    """What is located does not depend on the steps that led there."""
    problem = ODE(rhs={"x": r + x - x**3}, parameters={"r": 0.0})
    found = [special(continuation(problem, "r", (-1, 1), start={"x": -1.3}, step=s), "r") for s in (0.1, 0.02, 0.005)]
    for other in found[1:]:
        assert [k for k, _ in other] == [k for k, _ in found[0]]
        assert [v for _, v in other] == pytest.approx([v for _, v in found[0]], abs=1e-13)


def test_a_branch_that_is_lost_says_so() -> None:
    """x = 1/(1 - r) has no value at r = 1."""
    problem = ODE(rhs={"x": 1 - (1 - r) * x}, parameters={"r": 0.0})
    branch = continuation(problem, "r", (0, 2), start={"x": 1}, points=60)
    assert branch.attrs["ended"].startswith("lost at") and branch.sizes["step"] == 60
    with pytest.raises(DynamicsError, match=r"lost at 60 points: raise points or step; try a smaller step"):
        continuation(problem, "r", (0, 2), start={"x": 1}, points=60, throw=True)


def test_bad_input_in_one_sentence() -> None:
    problem = delayed_logistic(r=[1.0, 2.0], tau=1.0)
    with pytest.raises(DynamicsError, match="no parameter 'gamma'; there are r, tau"):
        continuation(problem, "gamma", (0, 1))
    with pytest.raises(DynamicsError, match="follows tau alone, but r has 2 values"):
        continuation(problem, "tau", (0, 1))
    with pytest.raises(DomainError, match="two different finite numbers"):
        continuation(problem, "r", (1, 1))
    with pytest.raises(DomainError, match="tau must be a finite number in"):
        continuation(problem.at(r=1.0), "tau", (-1, 1))
    with pytest.raises(DynamicsError, match=r"step must lie in \(0, 1\]"):
        continuation(problem, "r", (1, 2), step=2.0)
    nothing = ODE(rhs={"x": r + x**2}, parameters={"r": 1.0}, start={"x": 0.0})
    with pytest.raises(DynamicsError, match=r"no equilibrium of ODE was found at r = 1; give start"):
        continuation(nothing, "r", (1, 2))
    with pytest.raises(DomainError, match="outside its bounds"):
        continuation(nothing, "r", (1, 2), start={"x": 0, "r": 5})
