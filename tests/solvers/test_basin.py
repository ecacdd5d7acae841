"""Basins: double well, bistable competition against SciPy, cycles, deaths, escapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from tcpdynamics.solvers import basin
from tcpdynamics.solvers.problems import DDE, ODE, Delayed, DomainError, DynamicsError, Map

w, past, r, x, y = sympy.symbols("w past r x y")
N = sympy.symbols("N[1] N[2]")
a, b = sympy.symbols("a b")


def competition(strength: Any, other: float = 1.3) -> ODE:
    """Two flows with gamma beyond 1, where the one that is ahead takes all."""
    rhs = {"N[1]": N[0] * (1 - N[0] - a * N[1]), "N[2]": N[1] * (1 - N[1] - b * N[0])}
    points = [{"N[1]": sympy.Integer(1), "N[2]": sympy.Integer(0)}, {"N[1]": sympy.Integer(0), "N[2]": 1}]
    return ODE(rhs=rhs, parameters={"a": strength, "b": other}, fixed_points=points)


@settings(max_examples=15)
@given(st.floats(-2, 2).filter(lambda v: abs(v) > 1e-3), st.floats(0.5, 3))
def test_double_well(start: float, depth: float) -> None:
    """x' = x (c - x^2): the sign decides."""
    points = [{"x": -sympy.sqrt(r)}, {"x": sympy.Integer(0)}, {"x": sympy.sqrt(r)}]
    well = ODE(rhs={"x": x * (r - x**2)}, parameters={"r": depth}, fixed_points=points)
    found = basin(well, {"x": [start, -start, 0.0]})
    wanted = [2, 0, 1] if start > 0 else [0, 2, 1]
    assert found.equilibrium_index.values.tolist() == wanted and (found.outcome == 1).all()


def test_bistable_competition_against_scipy() -> None:
    one, two = np.linspace(0.02, 1.5, 12), np.linspace(0.05, 1.4, 11)
    found = basin(competition(1.5), {"N[1]": one, "N[2]": two}, transient=200.0, keep=50.0)
    assert found.outcome.dims == ("start_N[1]", "start_N[2]") and (found.outcome == 1).all()
    for i in range(0, 12, 2):
        for j in range(0, 11, 2):
            end = solve_ivp(
                lambda t, n: [n[0] * (1 - n[0] - 1.5 * n[1]), n[1] * (1 - n[1] - 1.3 * n[0])], (0, 250),
                [one[i], two[j]], "LSODA", rtol=1e-9, atol=1e-12,
            ).y[:, -1]  # fmt: skip
            winner = int(end[1] > end[0])
            assert found.equilibrium_index.values[i, j] == winner
            assert found.dead.values[:, i, j].tolist() == [winner == 1, winner == 0]
    assert found.N.sel(equilibrium=0).values.tolist() == [1, 0]


def test_what_is_found_joins_the_closed_forms() -> None:
    """Without closed forms the points are found, at every value of the parameter: coexistence where a b < 1 or so."""
    bare = ODE(**{**vars(competition([0.5, 1.5], 0.5)), "fixed_points": ()})
    found = basin(bare, {"N[1]": [0.1, 0.9], "N[2]": [0.2, 0.8]}, transient=300.0, keep=50.0)
    assert (found.equilibrium_index == 0).all()
    assert found.N.values[:, 0, 0] == pytest.approx([2 / 3, 2 / 3], abs=1e-9)
    assert found.N.values[:, 1, 0] == pytest.approx([0, 1], abs=1e-9)
    assert not found.dead.sel(a=0.5).any() and found.dead.sel(a=1.5, state="N[1]").all()


def test_cycles_and_escapes_of_a_map() -> None:
    """Logistic map: below 0 and above 1 + 1/r orbits leave; r = 3.2 leaves from nearly everywhere."""
    points = [{"w": sympy.Integer(1)}, {"w": sympy.Integer(0)}]
    logistic = Map(rhs={"w": w + r * w * (1 - w)}, parameters={"r": [1.5, 2.2, 3.2]}, fixed_points=points)
    starts = np.array([-0.1, 0.0, 0.3, 1.0, 1.4, 1.7])
    found = basin(logistic, {"w": starts})
    assert found.outcome.values.tolist() == [[3, 1, 1, 1, 1, 3], [3, 1, 2, 1, 2, 3], [3, 1, 3, 1, 3, 3]]
    assert found.equilibrium_index.values[0].tolist() == [-1, 1, 0, 0, 0, -1]
    assert found.cycle_index.values[1].tolist() == [-1, -1, 0, -1, 0, -1]
    low, high = np.sort(np.roots([2.2**2, -2.2 * 4.2, 4.2]))
    assert found.cycle_low.values[1, 0] == pytest.approx(low, abs=1e-9)
    assert found.cycle_high.values[1, 0] == pytest.approx(high, abs=1e-9) and found.cycle_length.values[1, 0] == 2


def test_cycles_of_a_flow() -> None:
    """r' = -r (1 - r^2)(4 - r^2)(9 - r^2)/20 attracts to r = 0 from below 1, to r = 2 from between 1 and 3."""
    square = x**2 + y**2
    pull = -(1 - square) * (4 - square) * (9 - square) / 20
    rings = ODE(rhs={"x": -y + x * pull, "y": x + y * pull}, start={"y": 0.0})
    found = basin(rings, {"x": [0.0, 0.9, 1.1, 2.9, 4.0]}, transient=100.0, keep=60.0)
    assert found.outcome.values.tolist() == [1, 1, 2, 2, 3]
    assert found.cycle_index.values.tolist() == [-1, -1, 0, 0, -1]
    assert found.cycle_length.item() == pytest.approx(2 * np.pi, abs=1e-4)
    assert found.cycle_high.item() == pytest.approx(2, abs=1e-5)


def test_delay_equation() -> None:
    """Delayed logistic: rest at 1 or the cycle, according to r; extinction from zero."""
    problem = DDE(
        rhs={"w": r * w * (1 - past)}, delayed={"past": Delayed("w", 1)}, parameters={"r": [1.2, 1.9]},
        fixed_points=[{"w": sympy.Integer(1)}, {"w": sympy.Integer(0)}],
    )  # fmt: skip
    found = basin(problem, {"w": [0.0, 0.5, 2.0]})
    assert found.outcome.values.tolist() == [[1, 1, 1], [1, 2, 2]]
    assert found.equilibrium_index.values[0].tolist() == [1, 0, 0]
    assert found.cycle_index.values[1].tolist() == [-1, 0, 0]


@pytest.mark.parametrize("floor", [1e-6, 1e-3])
def test_floor_of_the_dead(floor: float) -> None:
    """Flows that go nowhere end where they start: just below the floor, and just above it."""
    still = Map(rhs={"N[1]": N[0], "N[2]": N[1]}, start={"N[1]": 8.0})
    found = basin(still, {"N[2]": [7.92 * floor, 8 * floor, 8.08 * floor]}, floor=floor, transient=0, keep=8)
    assert found.dead.sel(state="N[2]").values.tolist() == [True, True, False]
    assert not found.dead.sel(state="N[1]").any()
    if floor == 1e-6:  # which is the default
        plain = basin(still, {"N[2]": [7.92e-6, 8.08e-6]}, transient=0, keep=8)
        assert plain.dead.sel(state="N[2]").values.tolist() == [True, False]


@pytest.mark.parametrize("bad", [np.nan, np.inf, "a", -1])
@pytest.mark.parametrize("name", ["transient", "keep", "max_period", "samples", "rtol", "atol", "floor"])
def test_settings_that_are_no_numbers(name: str, bad: Any) -> None:
    starts = {"N[1]": [0.1], "N[2]": [0.2]}
    with pytest.raises(DomainError, match=f"^{name} must .*, got"):
        basin(competition(1.5), starts, **{name: bad})
    with pytest.raises(DomainError, match="starts must be a mapping state -> 1-D array, got 'a'"):
        basin(competition(1.5), "a")  # type: ignore[arg-type]
    with pytest.raises(DomainError, match=r"starts of N\[1\] must be real numbers"):
        basin(competition(1.5), {"N[1]": ["a"]})


def test_round_trip_and_refusals(tmp_path: Any) -> None:
    with pytest.raises(DomainError, match="must be a 1-D array"):
        basin(competition(1.5), {"N[1]": 0.1})
    with pytest.raises(DynamicsError, match="start names 'q'"):
        basin(competition(1.5), {"q": [0.1]})
    with pytest.raises(DynamicsError, match=r"no initial value for N\[2\]"):
        basin(competition(1.5), {"N[1]": [0.1]})
    small = basin(competition([1.5, 1.6]), {"N[1]": [0.1, 0.9], "N[2]": [0.5]}, transient=100.0)
    small.to_netcdf(tmp_path / "basin.nc")
    with xr.open_dataset(tmp_path / "basin.nc") as again:
        assert again.equilibrium_index.values.tolist() == small.equilibrium_index.values.tolist()
