"""A parameter whose dimension has the name of a result is refused: xarray would drop the result without a word."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
import xarray as xr

from tcpdynamics import models
from tcpdynamics.models import SharedLink
from tcpdynamics.solvers import (
    DDE,
    ODE,
    Delayed,
    DomainError,
    DynamicsError,
    Map,
    MarkovChain,
    basin,
    bifurcation,
    characteristic_roots,
    convergence,
    eigenvalues,
    equilibria,
    explain,
    first_passage,
    lyapunov,
    self_consistent,
    sensitivity,
    sojourn,
    spectral_abscissa,
    spectral_gap,
    spectral_radius,
    stability_chart,
    stationary,
    sweep,
    sweep_of,
    trajectory,
    transient,
    windowed,
)

p, w, w_d, r = sympy.symbols("p w w_d r", positive=True)


def chain(dim: str) -> MarkovChain:
    return MarkovChain({("a", "b"): p, ("b", "a"): 1 - p}, {"p": xr.DataArray([0.25, 0.5], dims=dim)})


def growth(dim: str) -> ODE:
    return ODE(
        rhs={"w": r * w * (1 - w)},
        parameters={"r": xr.DataArray([1.0, 2.0], dims=dim)},
        start={"w": 0.1},
        outputs={"twice": 2 * w},
        fixed_points=[{"w": sympy.Integer(1)}],
    )


def lagged(dim: str) -> DDE:
    return DDE(
        rhs={"w": r * w * (1 - w_d)},
        delayed={"w_d": Delayed("w", 0.5)},
        parameters={"r": xr.DataArray([1.0, 2.0], dims=dim)},
        start={"w": 0.1},
        fixed_points=[{"w": sympy.Integer(1)}],
    )


def steps(dim: str) -> Map:
    return Map(
        rhs={"w": w + r * w * (1 - w)},
        parameters={"r": xr.DataArray([1.0, 1.5], dims=dim)},
        start={"w": 0.1},
        fixed_points=[{"w": sympy.Integer(1)}],
    )


def link(dim: str) -> Any:
    flows = xr.DataArray([100.0, 200.0], dims=dim)
    return SharedLink(flows=flows, capacity=1e6, base_rtt=0.2, buffer=50, packet_size=500).balance()


SOLVED: dict[str, Callable[[str], Any]] = {
    "stationary": lambda dim: stationary(chain(dim)),
    "sensitivity": lambda dim: sensitivity(chain(dim)),
    "first_passage": lambda dim: first_passage(chain(dim), "a", times=[1, 5]),
    "sojourn": lambda dim: sojourn(chain(dim), ["a"], longest=3),
    "transient": lambda dim: transient(chain(dim), "a", [1, 5]),
    "spectral_gap": lambda dim: spectral_gap(chain(dim)),
    "windowed": lambda dim: windowed(chain(dim), {"a": 1}, 5),
    "self_consistent": lambda dim: self_consistent(link(dim)),
    "trajectory": lambda dim: trajectory(growth(dim), np.linspace(0.0, 1.0, 3)),
    "trajectory of a delay": lambda dim: trajectory(lagged(dim), np.linspace(0.0, 1.0, 3)),
    "trajectory of a map": lambda dim: trajectory(steps(dim), 3),
    "equilibria": lambda dim: equilibria(growth(dim), {"w": (0.0, 2.0)}),
    "eigenvalues": lambda dim: eigenvalues(growth(dim)),
    "characteristic_roots": lambda dim: characteristic_roots(lagged(dim), count=2),
    "spectral_abscissa": lambda dim: spectral_abscissa(growth(dim)),
    "spectral_radius": lambda dim: spectral_radius(steps(dim)),
    "convergence": lambda dim: convergence(growth(dim)),
    "stability_chart": lambda dim: stability_chart(growth(dim), trace=False),
    "lyapunov": lambda dim: lyapunov(steps(dim), time=200, transient=20),
    "bifurcation": lambda dim: bifurcation(steps(dim)),
    "basin": lambda dim: basin(growth(dim), {"w": [0.5, 1.5]}),
    "sweep": lambda dim: sweep(sweep_of(chain(dim), stationary)),
    "sweep of a trajectory": lambda dim: sweep(sweep_of(growth(dim), trajectory, times=np.linspace(0.0, 1.0, 3))),
}


@pytest.mark.parametrize("solver", SOLVED)
def test_no_result_vanishes(solver: str) -> None:
    """With a harmless name all results are there; with the name of any of them, none is lost."""
    sound = SOLVED[solver]("place")
    names = [str(n) for n in (sound.data_vars if isinstance(sound, xr.Dataset) else [sound.name])]
    assert names
    for name in names:
        try:
            result = SOLVED[solver](name)
        except (DomainError, DynamicsError) as error:
            assert name in str(error)
            assert len(str(error)) < 500
        else:  # another dimension may have taken its place before the result was made
            assert isinstance(result, xr.DataArray) or set(names) <= set(map(str, result.data_vars)), name


@pytest.mark.parametrize("name", ["time"])
def test_states_with_the_name_of_a_result(name: str) -> None:
    state = sympy.Symbol(name)
    with pytest.raises((DomainError, DynamicsError), match=name):
        trajectory(ODE(rhs={name: -state}, start={name: 1.0}), np.linspace(0.0, 1.0, 3))


@pytest.mark.parametrize(
    ("name", "solve"),
    [
        ("status", lambda p: trajectory(p, [0.0, 1.0])),
        ("residual", lambda p: equilibria(p, {"residual": (0, 2)})),
        ("stable", lambda p: equilibria(p, {"stable": (0, 2)})),
        ("attractor", lambda p: bifurcation(Map(rhs=p.rhs, start=p.start))),
        ("status", lambda p: bifurcation(Map(rhs=p.rhs, start=p.start))),
        ("status", lambda p: basin(p, {"status": [0.5, 1.5]}, transient=1.0, keep=1.0)),
    ],
)
def test_a_state_with_the_name_of_a_result_is_refused(name: str, solve: Callable[[Any], Any]) -> None:
    x = sympy.Symbol(name)
    with pytest.raises(DomainError, match=f"'{name}'.*rename it"):
        solve(ODE(rhs={name: x * (1 - x)}, start={name: 0.5}))


@pytest.mark.parametrize(
    ("states", "outputs"),
    [
        (["N[1]", "N"], []),
        (["N", "N[1]"], []),
        (["N[1]"], ["N"]),
        (["N"], ["N[2]"]),
        (["N[1]", "N[01]"], []),
        (["N[1]"], ["N[01]"]),
    ],
)
@pytest.mark.parametrize("kind", [ODE, DDE, Map])
def test_a_name_is_a_scalar_or_a_vector(kind: Any, states: list[str], outputs: list[str]) -> None:
    rhs = {k: -sympy.Symbol(k) for k in states}
    with pytest.raises(DynamicsError, match=r"is both a scalar and, by 'N\[.\]', a vector|are the same entry"):
        kind(rhs=rhs, outputs={k: sympy.Integer(1) for k in outputs}, start=dict.fromkeys(states, 1.0))


def test_vectors_of_other_names_stand_beside_each_other() -> None:
    labels = ["N[1]", "N[2]", "N[2][1]", "M"]
    motion = trajectory(ODE(rhs={k: -sympy.Symbol(k) for k in labels}, start=dict.fromkeys(labels, 1.0)), [1.0])
    assert set(motion.data_vars) == {"N", "N[2]", "M", "status"} and motion.N.sizes["flow"] == 2


w, rate = sympy.symbols("w r")


def test_a_dimension_named_like_its_parameter_has_its_values(tmp_path: Path) -> None:
    values = [0.1, 0.2, 0.3]
    model = models.SubPacketFull(loss=xr.DataArray(values, dims="loss"))
    result = stationary(model.chain())
    assert result.loss.values.tolist() == values and result.loss.attrs["units"] == "1"
    assert result.sel(loss=0.2).probability.dims == ("state",)
    assert model.values()["loss"].loss.values.tolist() == values
    sweep(sweep_of(model, stationary), store=tmp_path / "x.zarr")
    assert "loss = 0.1 to 0.3, 3 values" in str(explain(tmp_path / "x.zarr"))
    decay = ODE(rhs={"w": -rate * w}, parameters={"r": xr.DataArray([1.0, 2.0], dims="r")}, start={"w": 1.0})
    assert trajectory(decay, [1.0]).r.values.tolist() == [1.0, 2.0]
    same = DDE(rhs=decay.rhs, parameters={"r": xr.DataArray([1.0, 2.0], {"r": [1.0, 2.0]}, "r")}, start={"w": 1.0})
    assert trajectory(same, [1.0]).sel(r=2.0).w.item() == pytest.approx(np.exp(-2), rel=1e-6)  # the tolerance


def test_labels_that_are_not_the_values_of_their_parameter_are_refused() -> None:
    p = sympy.Symbol("p")
    chain = MarkovChain({("a", "b"): p, ("b", "a"): 1 - p}, {"p": [0.1, 0.2]})
    other = xr.DataArray([0.01, 0.3], {"p": [0.0, 0.05]}, "p")
    with pytest.raises(DomainError, match=r"the dimension 'p' of p has other labels than the values of p, such as 0.0"):
        stationary(chain.at(p=other))
    with pytest.raises(DomainError, match=r"such as 'low' for 0.1; rename the dimension or drop its labels"):
        models.SubPacketFull(loss=xr.DataArray([0.1], {"loss": ["low"]}, "loss")).values()
    decay = DDE(rhs={"w": -rate * w}, parameters={"r": other.rename(p="r")}, start={"w": 1.0})
    with pytest.raises(DomainError, match="the dimension 'r' of r has other labels"):
        trajectory(decay, [1.0])
    with pytest.raises(DomainError, match="r varies over 2 dimensions, and the one named 'r'"):
        trajectory(decay.at(r=xr.DataArray([[1.0]], dims=("r", "case"))), [1.0])
    crossed = models.SubPacketFull(loss=0.1, base_timeout=xr.DataArray([2.0, 3.0], dims="loss"))
    with pytest.raises(DomainError, match="a dimension is named 'loss' like a parameter that does not vary along it"):
        stationary(crossed.chain())
