"""Wind-up of the integrating law when its flows are limited elsewhere, and the clamp that ends it."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from tcpdynamics.models import TRefwaLimited, TRefwaLimitedClamped, TRefwaWindow
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.problems import DomainError
from tcpdynamics.solvers.trajectories.maps import iterate

GAINS = {"phi": 0.8, "psi": 0.4, "bdp": 100.0, "buffer": 60.0}
FREE = 100 + 0.4 * 60 / 1.2  # what the link would carry: 120


@given(st.floats(0, 119), st.integers(1, 1000))
def test_winds_up_without_bound(demand: float, steps: int) -> None:
    """Upsilon grows by the same amount in every interval, however long the limit lasts."""
    model = TRefwaLimited(**GAINS, demand=demand)
    system = compile_system(model.map())
    wound = iterate(system, np.array([[FREE]]), steps).item()
    assert model.windup() > 0
    assert wound == pytest.approx(FREE + steps * model.windup(), rel=1e-10)


@given(st.floats(0, 119), st.integers(1, 300))
def test_clamp_ends_it(demand: float, steps: int) -> None:
    model = TRefwaLimitedClamped(**GAINS, demand=demand)
    system = compile_system(model.map())
    states = system.start_values()
    for _ in range(steps):
        states = iterate(system, states, 1)
        assert states.item() <= 160
    assert model.command() == 160
    assert iterate(system, np.array([[160.0]]), 1).item() == 160


def recovery(model: TRefwaLimited | TRefwaLimitedClamped, limited: int) -> tuple[float, int]:
    """Largest window after the limit is gone, and the intervals during which the buffer loses packets."""
    held = compile_system(model.map())
    states = iterate(held, held.start_values(), limited)
    free = compile_system(model.map().at(demand=1e9))
    worst, lossy = 0.0, 0
    for _ in range(200):
        worst, lossy = max(worst, states.item()), lossy + (states.item() > 160)
        states = iterate(free, states, 1)
    assert states.item() == pytest.approx(FREE, rel=1e-12)
    return worst, lossy


def test_what_wind_up_costs() -> None:
    """The longer the limit lasted, the more is sent at once when it ends: none with the clamp."""
    plain = [recovery(TRefwaLimited(**GAINS, demand=50.0), n) for n in (10, 100, 1000)]
    clamped = [recovery(TRefwaLimitedClamped(**GAINS, demand=50.0), n) for n in (10, 100, 1000)]
    # 104 packets in the first interval, when the link is empty, then 64 in each
    assert [worst for worst, _ in plain] == pytest.approx([104 + 64 * (n - 1) for n in (10, 100, 1000)])
    assert all(lossy > 0 for _, lossy in plain)
    assert clamped == [(160.0, 0)] * 3


def test_the_commanded_window_cannot_wind_up() -> None:
    """Its bracket holds the command: below BDP + (psi/phi) B whatever the flows do (the queue is empty then)."""
    e = 0.0
    for _ in range(200):
        e = (1 - 0.8) * e + 0.4 * 60  # eq. (3) with Q = 0
    assert e == pytest.approx(0.4 / 0.8 * 60)


def test_command_at_rest() -> None:
    """Against 4000 steps from an empty network; not where demand is so near the free point that these do not do."""
    rng = np.random.default_rng(5)
    demand, limit = rng.uniform(0, 300, 1000), rng.uniform(1, 300, 1000)
    far = (demand > FREE) | (FREE - demand > 0.2)
    given = (xr.DataArray(x[far], dims="point") for x in (demand, limit))
    model = TRefwaLimitedClamped(**GAINS, **dict(zip(("demand", "limit"), given, strict=True)))
    problem = model.map()
    system = compile_system(problem)
    rest = model.command().values
    assert iterate(system, system.start_values(), 4000)[0] == pytest.approx(rest, rel=1e-9)
    point = problem.fixed_points[0]["Upsilon"]
    for i in range(0, rest.size, 97):
        values = {k: float(v if v.ndim == 0 else v[i]) for k, v in problem.parameters.items()}
        at = {symbol: values[symbol.name] for symbol in point.free_symbols}
        assert float(point.subs(at)) == pytest.approx(rest[i], rel=1e-12)


def test_free_flows_do_not_notice() -> None:
    """With demand beyond the fixed point both are the window reading."""
    wanted = TRefwaWindow(**GAINS).equilibrium()["Upsilon"]
    model = TRefwaLimitedClamped(**GAINS, demand=[130.0, 500.0])
    assert model.command().values == pytest.approx([wanted, wanted])
    assert (TRefwaLimited(**GAINS, demand=[160.0, 500.0]).windup() == 0).all()


def test_problem() -> None:
    for model in (TRefwaLimited(demand=[10.0, 20.0]), TRefwaLimitedClamped(limit=500.0), TRefwaLimitedClamped()):
        problem = model.map()
        assert type(model)(**problem.provenance) == model
        assert all(problem.units[n] == "packet" and problem.meanings[n] for n in ("Upsilon", "W", "Q"))
    with pytest.raises(DomainError, match=r"demand must lie in \[0, inf\), got -1.0"):
        TRefwaLimited(demand=-1.0)
