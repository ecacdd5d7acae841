"""Requests without bounds are refused at once, by their sizes alone, with one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sympy
import xarray as xr

from tcpdynamics import models
from tcpdynamics.errors import DomainError, LimitError, TcpDynamicsError
from tcpdynamics.solvers import (
    DDE,
    ODE,
    Delayed,
    Map,
    MarkovChain,
    characteristic_roots,
    eigenvalues,
    first_passage,
    spectral_abscissa,
    spectral_gap,
    spectral_radius,
    stability_chart,
    transient,
    windowed,
)
from tcpdynamics.solvers.markov import transient as transient_module
from tcpdynamics.validation import fluid, statistics

MANY = 10**9


def numbers(*shape: int) -> Any:
    """So many ones, in no memory."""
    return np.broadcast_to(1.0, shape)


def runs(*dims: str) -> xr.DataArray:
    """Eight replications of so many numbers."""
    return xr.DataArray(numbers(8, MANY), dims=dims or ("replication", "time"))


def walk(states: int) -> MarkovChain:
    """A walk on a line, as a sparse matrix."""
    ends = np.r_[0.5, np.zeros(states - 2), 0.5]
    half = np.full(states - 1, 0.5)
    return MarkovChain(sp.diags_array([half, ends, half], offsets=[-1, 0, 1], format="csr"))


def marked(**more: Any) -> Any:
    """A fluid of TCP on a marking link."""
    link = fluid.MarkedFlows(flows=60, capacity=3750, base_rtt=0.2337387, gain=more.pop("gain", 1.84e-4))
    return link.run(**{"W": 15.375, "q": 45.98, "horizon": 1.0, "step": 0.005} | more)


REQUESTS: dict[str, Callable[[], Any]] = {
    "transient times": lambda: transient(walk(10), "0", range(MANY)),
    "first_passage times": lambda: first_passage(walk(10), "0", times=range(MANY)),
    "transient states": lambda: transient(walk(2_000_000), "0", np.arange(10_000)),
    "first_passage states": lambda: first_passage(walk(2_000_000), "0"),
    "windowed states": lambda: windowed(walk(2_000_000), {"0": 1}, 1_000_000),
    "mean_interval": lambda: statistics.mean_interval(runs()),
    "two_sample": lambda: statistics.two_sample(runs(), runs()),
    "batch_means": lambda: statistics.batch_means(xr.DataArray(numbers(MANY), dims="time")),
    "warm_up": lambda: statistics.warm_up(runs("replication", "time")),
    "distribution_test": lambda: statistics.distribution_test(runs(), runs()),
    "marked horizon": lambda: marked(horizon=1e12),
    "marked points": lambda: marked(gain=np.linspace(1e-4, 2e-4, 10**6), horizon=100.0),
    "router": lambda: fluid.SampledWindow().run(excess=0.0, intervals=10**12),
    "values of many flows": lambda: models.per_flow(numbers(MANY)),
    "sweeps of 20 flows": lambda: models.per_flow([xr.DataArray(np.arange(1000.0), dims=f"K{i}") for i in range(20)]),
    "crowd": lambda: fluid.Crowd(flows=10**7).dde(),
    "jain": lambda: models.jain(numbers(MANY)),
    "min_max_ratio": lambda: models.min_max_ratio(numbers(MANY)),
    "entropy": lambda: models.entropy(numbers(MANY)),
    "gini": lambda: models.gini(numbers(MANY)),
    "hoover": lambda: models.hoover(numbers(MANY)),
    "atkinson": lambda: models.atkinson(numbers(MANY), 0.5),
    "hill_number": lambda: models.hill_number(numbers(MANY), 2.0),
    "alpha_fair_utility": lambda: models.alpha_fair_utility(numbers(MANY), 0.5),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_it_is_refused_with_one_sentence(name: str) -> None:
    with pytest.raises(TcpDynamicsError, match=r"at most .*[0-9]") as error:
        REQUESTS[name]()
    assert len(str(error.value)) < 300 and "\n" not in str(error.value)


def test_as_many_times_as_there_are_epochs_are_looked_at() -> None:
    with pytest.raises(DomainError, match="times must be at most 1,000,001 numbers, got 1,000,000,000"):
        transient(walk(10), "0", range(MANY))
    with pytest.raises(DomainError, match="increasing"):
        transient(walk(10), "0", [3, 2])


X, Y, PAST, RATE = sympy.symbols("x y past rate")
RATES = np.linspace(-2, -1, 1000)
FLOW = ODE(rhs={"x": RATE * X, "y": X - Y}, parameters={"rate": RATES}, fixed_points=[{"x": 0, "y": 0}])
LAGGING = DDE(
    rhs={"x": RATE * PAST, "y": X - Y}, delayed={"past": Delayed("x", 0.1)}, parameters={"rate": RATES},
    fixed_points=[{"x": 0, "y": 0}],
)  # fmt: skip
SLOW = Map(
    rhs={"x": RATE / 9 * PAST}, delayed={"past": Delayed("x", 40)}, parameters={"rate": RATES}, fixed_points=[{"x": 0}]
)


@pytest.mark.parametrize(
    ("solver", "problem", "work", "memory"),
    [
        (eigenvalues, FLOW, 25 * 8 * 1000, 24 * 4 * 1000),
        (spectral_abscissa, LAGGING, 25 * 8 * 1000, 2 * 24 * 4 * 1000),
        (characteristic_roots, LAGGING, 25 * 8 * 1000, 2 * 24 * 4 * 1000),
        (spectral_radius, SLOW, 25 * 41.0**3 * 1000, 2 * 24 * 1000),
        (stability_chart, FLOW, 25 * 8 * 1000, 24 * 4 * 1000),
    ],
)
def test_roots_are_bounded_by_states_and_points(
    solver: Callable[[Any], Any], problem: Any, work: float, memory: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, size in (("WORK", work), ("MEMORY", memory)):
        monkeypatch.setenv(f"TCPDYNAMICS_MAX_{variable}", repr(0.9 * size))
        with pytest.raises(LimitError, match=r"(roots|linearisations) of . states? at 1,000 points need about"):
            solver(problem)
        monkeypatch.delenv(f"TCPDYNAMICS_MAX_{variable}")
    assert not solver(problem).status.values.any()


def test_eigenvalues_of_a_large_matrix_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restarts are as many as the bound allows, where they do not suffice the status says so."""
    monkeypatch.setattr(transient_module, "MAX_WORK", 1.0)
    assert spectral_gap(walk(20_000)).status.item() == 6
