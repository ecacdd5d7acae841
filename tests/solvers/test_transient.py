"""Chains on their way: powers of the matrix, the stationary limit, and the gap that sets the pace."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import random_matrix

from tcpdynamics.models import SubPacketExact, SubPacketFull
from tcpdynamics.solvers import ChainError, DomainError, MarkovChain, spectral_gap, stationary, transient
from tcpdynamics.solvers.markov.entries import explicit

EPS = np.finfo(float).eps
p = sympy.symbols("p", positive=True)


@given(st.integers(1, 7), st.integers(0, 2**32 - 1), st.sets(st.integers(0, 300), min_size=1, max_size=4))
def test_powers_of_the_matrix(n: int, seed: int, times: set[int]) -> None:
    P, t = random_matrix(n, seed), sorted(times)
    start = np.random.default_rng(seed).dirichlet(np.ones(n))
    start[-1] = 1 - start[:-1].sum()
    for matrix in (P, sp.csr_array(P)):
        result = transient(MarkovChain(matrix), {str(i): x for i, x in enumerate(start)}, t)
        truth = [start @ np.linalg.matrix_power(P, k) for k in t]
        # each step adds n roundings of numbers that sum to one
        assert result.probability.values == pytest.approx(np.array(truth), abs=2 * n * (t[-1] + 1) * EPS)


def test_two_states_in_closed_form() -> None:
    """P(up at t) = pi + (1 - pi)(1 - a - b)^t, for numbers of steps that are done one by one and by squaring."""
    a, times = np.array([0.02, 0.1]), [0, 1, 7, 64, 1000, 100_000]
    chain = MarkovChain({("up", "down"): p, ("down", "up"): sympy.Rational(1, 20)}, {"p": a})
    result = transient(chain, "up", times).probability.sel(state="up").values
    pi = 0.05 / (a + 0.05)
    truth = pi[:, None] + (1 - pi[:, None]) * (1 - a - 0.05)[:, None] ** np.array(times)
    assert result == pytest.approx(truth, abs=1e-11)  # 1e5 steps, half an eps each


@pytest.mark.parametrize("model", [SubPacketFull(loss=[0.1, 0.3]), SubPacketExact(loss=[0.1, 0.3], backoff_cap=3)])
def test_chains_forget_where_they_began_at_the_rate_of_their_gap(model: Any) -> None:
    whole = explicit(model.chain())
    pi = stationary(whole).probability.values
    times = [100, 200, 4000]
    result = transient(model, "S3", times).probability.values
    distance = np.abs(result - pi[:, None, :]).sum(axis=-1)
    assert distance[:, 2] == pytest.approx(0, abs=1e-11)
    rate = (distance[:, 1] / distance[:, 0]) ** (1 / 100)
    slowest = spectral_gap(model).second_eigenvalue.values
    # after 100 epochs the next mode (or a phase, for a complex pair) still moves the ratio by a factor below 10
    assert (rate < slowest * 10 ** (1 / 100)).all()
    assert (rate > slowest * 0.1 ** (1 / 100)).all()


def test_silent_epochs_appear_one_by_one() -> None:
    model = SubPacketExact(loss=0.2, backoff_cap=0, base_timeout=4)
    result = transient(model, "b(0)", [0, 1, 2, 3]).probability
    assert result.state.values.tolist()[:4] == ["b(0)", "b(0)+1", "b(0)+2", "S1(0)"]
    assert result.values[:, :4].tolist() == np.eye(4).tolist()
    assert result.sum("state").values == pytest.approx(1, abs=4 * EPS)


def test_periodic_and_absorbing_chains_may_be_followed() -> None:
    one = sympy.Integer(1)
    cycle = transient(MarkovChain({("a", "b"): one, ("b", "a"): one}), "a", [0, 1, 2]).probability
    assert cycle.values.tolist() == [[1, 0], [0, 1], [1, 0]]
    leak = transient(MarkovChain({("a", "b"): p}, {"p": 0.5}), "a", [3]).probability
    assert leak.values.tolist() == [[0.125, 0.875]]


# ------------------------------------------------------------------------------------------ spectral gap


@given(st.floats(0.001, 0.999), st.floats(0.001, 0.999))
def test_gap_of_two_states(a: float, b: float) -> None:
    """Eigenvalues 1 and 1 - a - b."""
    result = spectral_gap(MarkovChain(np.array([[1 - a, a], [b, 1 - b]])))
    second = abs(1 - a - b)
    assert result.second_eigenvalue.item() == pytest.approx(second, abs=1e-13)
    assert result.gap.item() == pytest.approx(1 - second, abs=1e-13)
    if 0.01 < second < 0.999:
        assert result.relaxation_time.item() == pytest.approx(-1 / np.log(second), rel=1e-8)


def test_gap_of_a_cycle() -> None:
    """Eigenvalues q + p w^k with w = exp(2 pi i / 5)."""
    moves = {(str(i), str((i + 1) % 5)): p for i in range(5)}
    loss = np.array([0.1, 0.5, 0.9])
    result = spectral_gap(MarkovChain(moves, {"p": loss}))
    roots = (1 - loss)[:, None] + loss[:, None] * np.exp(2j * np.pi * np.arange(1, 5) / 5)
    assert result.second_eigenvalue.values == pytest.approx(np.abs(roots).max(axis=1), abs=1e-13)


def test_a_chain_that_never_forgets() -> None:
    result = spectral_gap(MarkovChain(np.array([[0, 1.0], [1.0, 0]])))
    assert (result.gap.item(), result.relaxation_time.item()) == (0, np.inf)


def test_large_sparse_chains_take_the_few_largest() -> None:
    """Two hubs, a thousand leaves each: but for differences between leaves of one hub, a chain of four states."""
    leaves, stray = 1000, 0.02
    hub = np.repeat([0, leaves + 1], leaves)
    leaf = np.r_[np.arange(1, leaves + 1), np.arange(leaves + 2, 2 * leaves + 2)]
    rows = np.r_[hub, leaf, [0, leaves + 1, 0, leaves + 1]]
    columns = np.r_[leaf, hub, [leaves + 1, 0, 0, leaves + 1]]
    values = np.r_[np.full(2 * leaves, 0.6 / leaves), np.ones(2 * leaves), [stray] * 2, [0.4 - stray] * 2]
    P = sp.csr_array((values, (rows, columns)))
    lumped = [[0.4 - stray, 0.6, stray, 0], [1, 0, 0, 0], [stray, 0, 0.4 - stray, 0.6], [0, 0, 1, 0]]
    truth = np.sort(np.abs(np.linalg.eigvals(np.array(lumped))))[-2]
    assert spectral_gap(MarkovChain(P)).second_eigenvalue.item() == pytest.approx(truth, abs=1e-10)


# --------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("S9", "start 'S9' is not a state; the states are b0"),
        ({"S3": 0.5}, "start must sum to one, it sums to 0.5"),
        ({"S3": 1.5, "S2": -0.5}, "start gives 'S2' the probability -0.5"),
        ({"S3": np.nan}, "start gives 'S3' the probability nan"),
    ],
)
def test_starts_that_are_none(start: Any, message: str) -> None:
    with pytest.raises(ChainError, match=message):
        transient(SubPacketFull(loss=0.1), start, [1])


def test_wrong_points_are_marked() -> None:
    chain = MarkovChain({("a", "b"): p, ("b", "a"): 1 - 2 * p}, {"p": [0.25, 0.75]})
    for result, name in ((transient(chain, "a", [2]), "probability"), (spectral_gap(chain), "gap")):
        assert result.status.values.tolist() == [0, 2]
        assert np.isnan(result[name].isel(p=1)).all()
        assert np.isfinite(result[name].isel(p=0)).all()
    for solve in (lambda: transient(chain, "a", [2], throw=True), lambda: spectral_gap(chain, throw=True)):
        with pytest.raises(ChainError, match=r"b -> a is -0.5 at p = 0.75"):
            solve()
    with pytest.raises(DomainError, match="times must be increasing whole numbers"):
        transient(chain, "a", [1.5])  # type: ignore[list-item]


@settings(max_examples=5)
@given(st.floats(0.01, 0.4))
def test_fractional_base_timeouts_are_refused_by_name(loss: float) -> None:
    model = SubPacketExact(loss=loss, base_timeout=2.5)
    for solve in (lambda: transient(model, "S3", [1]), lambda: spectral_gap(model)):
        with pytest.raises(ChainError, match=r"'b\(0\)' is held for 3/2 epochs"):
            solve()
