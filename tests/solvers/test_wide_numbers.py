"""Chains with entries between 1e-300 and 1: every component that a double can hold, against exact rationals."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sympy
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from judges import exact_law, exact_passage
from strategies import seeds

from tcpdynamics.solvers import (
    MarkovChain,
    Reward,
    RewardBalance,
    first_passage,
    self_consistent,
    sensitivity,
    sojourn,
    spectral_gap,
    stationary,
    transient,
    windowed,
)
from tcpdynamics.solvers.markov import sparse
from tcpdynamics.solvers.markov.dense import stationary_dense
from tcpdynamics.solvers.markov.sparse import stationary_sparse
from tcpdynamics.solvers.results import Status

TINY = Fraction(np.finfo(float).tiny)
a, b, c, d = sympy.symbols("a b c d", positive=True)


def assert_right(result: Any, exact: list[Fraction], rel: float = 1e-13) -> None:
    for value, true in zip(np.asarray(result).tolist(), exact, strict=True):
        if true < TINY:
            assert 0 <= value <= 2.3e-308
        else:
            assert abs(Fraction(value) / true - 1) <= rel


def random_chain(rng: np.random.Generator, n: int, density: float, shape: str = "any") -> np.ndarray:
    """Entries spread over 300 decades, irreducible by a ring; rows sum to at most one before the diagonal."""

    def entries(*size: int) -> Any:
        return 10.0 ** (-300 * rng.random(size) ** rng.choice([0.3, 1.0, 4.0]))

    i = np.arange(n - 1)
    A = np.zeros((n, n))
    if shape == "any":
        A = np.where(rng.random((n, n)) < density, entries(n, n), 0.0)
    else:
        A[i + 1, i if shape == "band" else i // 2] = entries(n - 1)
    A[i, i + 1] = entries(n - 1)
    A[n - 1, 0] += entries(1)[0]
    np.fill_diagonal(A, 0.0)
    A /= np.maximum(1.0, A.sum(axis=1) * (1 + 1e-12))[:, None]
    return A + np.diag(np.maximum(1 - A.sum(axis=1), 0.0))


@settings(max_examples=20)
@given(st.integers(2, 9), seeds, st.floats(0.0, 1.0))
def test_dense_sparse_and_symbolic_chains_are_right(n: int, seed: int, density: float) -> None:
    P = random_chain(np.random.default_rng(seed), n, density)
    exact = exact_law(P)
    assert_right(stationary_dense(P), exact)
    assert_right(stationary_sparse(sp.csr_array(P)), exact)
    off = [(i, j) for i in range(n) for j in range(n) if i != j and P[i, j] > 0]
    symbols = [sympy.Symbol(f"x{k}", positive=True) for k in range(len(off))]
    chain = MarkovChain(
        {(str(i), str(j)): s for (i, j), s in zip(off, symbols, strict=True)},
        {s.name: xr.DataArray([P[e], P[e] / 2], dims="point") for e, s in zip(off, symbols, strict=True)},
        [str(i) for i in range(n)],
    )
    solved = stationary(chain)
    assert (solved.status == 0).all()
    assert_right(solved.probability.values[0], exact)


@pytest.mark.parametrize("shape", ["band", "halving", "any"])
@pytest.mark.parametrize("seed", range(3))
def test_large_sparse_chains_are_right(shape: str, seed: int) -> None:
    P = random_chain(np.random.default_rng(seed), 101 if shape == "band" else 150, 0.01, shape)
    if shape == "band":
        exact = exact_law(P)
    else:  # rationals would take a minute; the dense route is judged by them above
        exact = [Fraction(x) for x in stationary_dense(P).tolist()]
    assert_right(stationary_sparse(sp.csr_array(P)), exact)
    assert_right(stationary_sparse(sp.csr_array(P[::-1, ::-1])), exact[::-1])


def test_the_band_says_when_doubles_do_not_do() -> None:
    P = random_chain(np.random.default_rng(3), 40, 0, "band")
    P[-1, -1] += P[-1, 0]
    P[-1, 0] = 0.0
    assert sparse._banded(sp.csr_array(P), 1, 1) is None
    assert sparse._with_fill_in(sp.csr_array(P), 2**30) is None


def test_products_below_the_range_of_floats() -> None:
    P = np.array([[1, 1e-70, 0], [0.5, 0.5, 1e-300], [0, 1e-300, 1]])
    assert stationary_dense(P) == pytest.approx([1, 2e-70, 2e-70], rel=1e-14, abs=0)
    birth = {("0", "1"): a, ("1", "0"): b, ("1", "2"): c, ("2", "1"): d}
    chain = MarkovChain(birth, {"a": 1e-70, "b": 0.5, "c": 1e-300, "d": 1e-300})
    assert stationary(chain).probability.values == pytest.approx([1, 2e-70, 2e-70], rel=1e-14, abs=0)
    powers = {("0", "1"): a**5, ("1", "0"): a**5 / 2, ("1", "2"): c, ("2", "1"): c}
    solved = stationary(MarkovChain(powers, {"a": [1e-70, 0.5], "c": 1e-300}))
    assert solved.probability.values == pytest.approx(np.array([[0.2, 0.4, 0.4]] * 2), rel=1e-13)
    constants = {("0", "1"): sympy.Rational(1, 10**400), ("1", "0"): sympy.Rational(1, 10**400) * a}
    assert stationary(MarkovChain(constants, {"a": 0.5})).probability.values == pytest.approx([1 / 3, 2 / 3])


def test_a_hundred_states_climb_a_hundred_decades_and_fall_again() -> None:
    n = 100
    up = np.where(np.arange(n - 1) % 2 == 0, 1e-170, 0.25)
    down = np.where(np.arange(n - 1) % 2 == 0, 0.5, 1e-170)
    P = np.diag(up, 1) + np.diag(down, -1)
    P += np.diag(1 - P.sum(axis=1))
    assert_right(stationary_dense(P), exact_law(P))
    assert_right(stationary_sparse(sp.csr_array(P)), exact_law(P))


def assert_right_or_infinite(result: Any, exact: list[Fraction], rel: float) -> bool:
    large = [x > Fraction(sys.float_info.max) for x in exact]
    for value, true, infinite in zip(result.tolist(), exact, large, strict=True):
        assert np.isinf(value) if infinite else abs(Fraction(value) / true - 1) <= rel
    return any(large)


@settings(max_examples=20)
@given(st.integers(2, 7), seeds, st.floats(0.0, 0.6))
def test_passage_times_are_right_or_say_that_they_are_too_large(n: int, seed: int, density: float) -> None:
    P = random_chain(np.random.default_rng(seed), n, density)
    mean, variance = exact_passage(P)
    off = [(i, j) for i in range(n) for j in range(n) if i != j and P[i, j] > 0]
    labels = [str(i) for i in range(n)]
    symbolic = MarkovChain({(str(i), str(j)): sympy.Rational(Fraction(P[i, j])) for i, j in off}, {}, labels)
    for chain in (MarkovChain(P), MarkovChain(sp.csr_array(P)), symbolic):
        wait = first_passage(chain, "0")
        # The stay of a numeric chain is its rounded diagonal; gaps of close means cancel.
        large = assert_right_or_infinite(wait.mean_time.values[1:], mean, 1e-13)
        large |= assert_right_or_infinite(wait["variance"].values[1:], variance, 1e-9)
        assert wait.status == (Status.TOO_LARGE if large else Status.OK)


@settings(max_examples=30, deadline=None)
@given(st.floats(-150, -1), st.integers(2, 5), seeds)
def test_variances_of_many_jumps_before_a_rare_exit(exit_rate: float, n: int, seed: int) -> None:
    """Rates of order one inside, so that one over the exit rate is the number of jumps: their roundings do not add."""
    rng = np.random.default_rng(seed)
    P = rng.random((n, n)) / n
    P[1:, 0] = 0
    P[-1, 0] = 10.0**exit_rate
    np.fill_diagonal(P, 0)
    _, variance = exact_passage(P)
    labels = [str(k) for k in range(n)]
    symbolic = MarkovChain({(str(k), str(m)): float(P[k, m]) for k, m in np.argwhere(P)}, states=labels)
    for chain in (symbolic, MarkovChain(P + np.diag(1 - P.sum(axis=1)))):
        wait = first_passage(chain, "0")
        assert_right_or_infinite(wait["variance"].values[1:], variance, 1e-12)


def test_the_variance_of_a_rare_excursion_of_many_jumps() -> None:
    """State 1 leads to the target at once, but for a chance of 1e-80 of some 1e40 jumps among the others."""
    P = np.zeros((5, 5))
    P[1, 0], P[1, 2], P[3, 0] = 1.0, 1e-80, 1e-40
    P[2, 3], P[2, 4], P[3, 2], P[4, 2], P[4, 3] = 0.3, 0.2, 0.4, 0.1, 0.7
    chain = MarkovChain({(str(k), str(m)): float(P[k, m]) for k, m in np.argwhere(P)})
    _, variance = exact_passage(P)
    result = first_passage(chain, "0")["variance"].sel(state=["1", "2", "3", "4"]).values
    assert_right_or_infinite(result, variance, 1e-12)


def test_sojourns_that_almost_never_begin() -> None:
    chain = MarkovChain({("0", "1"): a, ("1", "0"): b}, {"a": [1e-200, 1e-320], "b": 0.25})
    stays = sojourn(chain, ["1"], longest=2)
    assert stays.probability.values[0] == pytest.approx([0.25, 0.1875], rel=1e-13)
    assert stays.visits.values[0] == pytest.approx(1e-200, rel=1e-13)
    assert stays.status.values[0] == 0
    assert stays.status.values[1] == Status.TOO_RARE


def test_trickles_below_the_normal_range_add_up() -> None:
    """a t b t/2 of two steps: 1e-320 at first, a normal number after a million epochs."""
    x, y = 1e-160, 1e-160
    chain = MarkovChain({("0", "1"): a, ("1", "2"): b, ("2", "0"): c}, {"a": x, "b": y, "c": 1e-30})
    for t in (60, 1_000_000):
        there = transient(chain, "0", [t]).probability.sel(state="2").item()
        assert there == pytest.approx(float(Fraction(x) * Fraction(y) * t * (t - 1) / 2), rel=1e-12, abs=5e-324)
        reached = first_passage(chain, "2", times=[min(t, 20_000)]).distribution.sel(state="0").item()
        t = min(t, 20_000)
        assert reached == pytest.approx(float(Fraction(x) * Fraction(y) * t * (t - 1) / 2), rel=1e-12, abs=5e-324)


def test_powers_of_a_chain_keep_what_trickles() -> None:
    n = 12
    P = np.diag(np.full(n - 1, 1e-29), 1)
    P[-1, 0] = 1e-29
    P += np.diag(1 - P.sum(axis=1))
    result = transient(MarkovChain(P), "0", [1_000_000]).probability.values[0, -1]
    t, hops = 10**6, n - 1
    ways = Fraction(comb(t, hops))
    assert result == pytest.approx(float(ways * Fraction(1e-29) ** hops), rel=1e-11, abs=0)


def test_gaps_below_rounding_are_said_to_be() -> None:
    slow = spectral_gap(MarkovChain({("0", "1"): a, ("1", "0"): a}, {"a": [1e-20, 0.25]}))
    assert slow.status.values[0] == Status.TOO_SLOW
    assert np.isnan(slow.gap.values[0]) and np.isnan(slow.relaxation_time.values[0])
    assert slow.gap.values[1] == pytest.approx(0.5)
    ring = spectral_gap(MarkovChain(np.eye(3)[[1, 2, 0]]))
    assert int(ring.status) == 0 and ring.gap.item() == pytest.approx(0, abs=1e-14)


def test_slopes_and_windows_at_the_edge_of_floats() -> None:
    chain = MarkovChain({("0", "1"): a, ("1", "0"): b}, {"a": 1e-200, "b": 1e-200})
    slope = sensitivity(chain, "a").derivative.values  # b/(a + b)^2
    assert slope == pytest.approx([-0.25e200, 0.25e200], rel=1e-13)
    rare = windowed(chain.at(a=1e-250, b=0.5), {"1": 1}, 10)
    assert rare["mean"].item() == pytest.approx(2e-249, rel=1e-13)
    assert rare.jain.item() == pytest.approx(2e-249 * (2e-249 / rare.variance.item()), rel=1e-9, abs=0)
    coin = chain.at(a=0.25, b=0.75)
    one, large = windowed(coin, {"1": 1}, 10), windowed(coin, {"1": 1e200}, 10)
    assert large.jain.item() == pytest.approx(one.jain.item(), rel=1e-12)
    assert np.isinf(large.variance.item()) and large.status == Status.TOO_LARGE
    assert windowed(coin, {"1": 1e-200}, 10).jain.item() == pytest.approx(one.jain.item(), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(n=st.integers(2, 5), seed=seeds)
def test_constants_that_are_floats_are_not_folded_below_the_range_of_floats(n: int, seed: int) -> None:
    """Decades drawn evenly: products of constants leave the range of floats in most of these chains."""
    rng = np.random.default_rng(seed)
    P = np.where(rng.random((n, n)) < 0.6, 10 ** (-290 * rng.random((n, n))) / n, 0)
    i = np.arange(n)
    P[i, (i + 1) % n] = 10 ** (-290 * rng.random(n)) / n
    P[i, i] = 0
    labels = [str(k) for k in range(n)]
    chain = MarkovChain({(str(k), str(m)): float(P[k, m]) for k, m in np.argwhere(P)}, states=labels)
    solved = stationary(chain)
    assert int(solved.status) == 0
    assert_right(solved.probability.values, exact_law(P))


def test_slopes_of_chains_whose_constants_multiply_below_the_range_of_floats() -> None:
    chain = MarkovChain({("a", "b"): a, ("b", "c"): 1e-215, ("c", "a"): 1e-177, ("c", "b"): 1e-35}, {"a": [1e-162]})
    # With c -> b far above c -> a, pi_a = 1/(1 + a x) with x = 1e-35/(1e-177 * 1e-215) = 1e357; pi_c = 1e-180 pi_b.
    exact = [-1e-33, 1e-33, 1e-213]
    np.testing.assert_allclose(sensitivity(chain).derivative.values[0], exact, rtol=1e-12)


def test_times_that_overflow_only_on_the_way_are_infinite_not_lost() -> None:
    entries = {("a", "b"): 4.776995732002921e-250, ("a", "c"): 3.8139804130315154e-47,
               ("b", "c"): 2.5898211064323348e-222, ("c", "a"): 3.080073100738696e-188,
               ("c", "b"): 1.2846534663730057e-76}  # fmt: skip
    wait = first_passage(MarkovChain(entries), "a", times=[1, 2])
    assert wait.status == Status.TOO_LARGE
    assert wait.mean_time.values.tolist() == [0, np.inf, np.inf]
    np.testing.assert_allclose(wait.distribution.sel(state="c"), np.array([1, 2]) * entries["c", "a"], rtol=1e-12)


def test_balances_of_tiny_rates() -> None:
    """The reward is earned in state 0, whose probability is 1/(1 + a)."""
    chain = MarkovChain({("0", "1"): a * b**2, ("1", "0"): b**2}, {"b": 1e-200})
    reward = Reward({("0", "0"): {1: 1 - a * b**2}, ("0", "1"): {0: a * b**2}, ("1", "0"): {0: b**2}})
    result = self_consistent(RewardBalance(chain, "a", reward, 0.8, (1e-9, 0.999)))
    assert (int(result.status), result.root.item()) == (0, pytest.approx(0.25, rel=1e-9))


def test_only_strained_blocks_are_computed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    from tcpdynamics.solvers.programs import wide_floats as extended

    redone: list[int] = []
    plain = extended.run_extended

    def counted(program: Any, values: Any) -> Any:
        redone.append(max(np.size(v) for v in values.values()))
        return plain(program, values)

    monkeypatch.setattr(extended, "run_extended", counted)
    chain = MarkovChain({("0", "1"): a**4, ("1", "0"): 1 - a}, {"a": np.linspace(0.1, 0.9, 20_000)})
    stationary(chain)
    assert redone == []
    values = np.linspace(0.1, 0.9, 20_000)
    values[5000] = 1e-100
    assert stationary(chain.at(a=values)).status.values.sum() == 0
    assert redone == [4096]


@pytest.mark.slow
def test_no_kernel_leaves_its_arrays(tmp_path: Path) -> None:
    """The files on chains once more with Numba's bounds checks, and a cache of their own."""
    here = Path(__file__).parent
    files = ("dense", "sparse", "structure", "first_passage", "wide_numbers", "malformed_matrices")
    words = [str(here / f"test_{name}.py") for name in files]
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", *words]
    done = subprocess.run(command, env=environment, cwd=here.parents[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


@given(st.lists(st.floats(-300, 0), min_size=3, max_size=3), st.lists(st.floats(-300, 0), min_size=3, max_size=3))
@settings(max_examples=20)
def test_jax_computes_again_what_underflows(up: list[float], down: list[float]) -> None:
    """Birth and death at rates down to 1e-300: the compiled program drops products below 1e-308, and says nothing."""
    a, b = sympy.symbols("a b")
    rates = {"a": [10.0**x for x in up], "b": [10.0**x for x in down]}
    chain = MarkovChain({("0", "1"): a / 2, ("1", "2"): a * b / 2, ("2", "1"): b / 2, ("1", "0"): b * b / 2}, rates)
    known, onjax = (stationary(chain, backend=backend) for backend in ("numpy", "jax"))
    np.testing.assert_array_equal(known.status, onjax.status)
    np.testing.assert_allclose(onjax.probability, known.probability, rtol=1e-13, atol=0)
    assert (onjax.probability.values[onjax.status.values == 0] > 0).any()
