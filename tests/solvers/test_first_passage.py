"""Times to a set of states, and stays in one: linear systems, moments of the distribution, renewal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import random_matrix

from tcpdynamics.models import SubPacketExact, SubPacketFull, SubPacketLevels
from tcpdynamics.solvers import (
    ChainError,
    DomainError,
    MarkovChain,
    failures,
    first_passage,
    sojourn,
    stationary,
    transient,
)

EPS = np.finfo(float).eps
p = sympy.symbols("p", positive=True)


def as_symbols(P: np.ndarray) -> MarkovChain:
    """Numbers as SymPy floats: the symbolic route with the same chain."""
    n = len(P)
    moves = {(str(i), str(j)): sympy.Float(P[i, j]) for i in range(n) for j in range(n) if i != j and P[i, j]}
    return MarkovChain(moves, states=[str(i) for i in range(n)])


def by_linear_solves(P: np.ndarray, goal: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """(I - Q) m = 1 and (I - Q) E[T^2] = 1 + 2 Q m."""
    others = np.setdiff1d(np.arange(len(P)), goal)
    Q = P[np.ix_(others, others)]
    mean, second = np.zeros(len(P)), np.zeros(len(P))
    mean[others] = np.linalg.solve(np.eye(len(others)) - Q, np.ones(len(others)))
    second[others] = np.linalg.solve(np.eye(len(others)) - Q, 1 + 2 * Q @ mean[others])
    return mean, second - mean**2


@given(st.integers(2, 8), st.integers(0, 2**32 - 1), st.data())
def test_mean_and_variance_solve_their_equations(n: int, seed: int, data: st.DataObject) -> None:
    P = random_matrix(n, seed)
    goal = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n - 1, unique=True))
    mean, variance = by_linear_solves(P, goal)
    for chain in (MarkovChain(P), as_symbols(P)):
        result = first_passage(chain, [str(i) for i in goal])
        # the linear solves lose the condition of I - Q, at most some 1e3 here; diagonals of as_symbols differ by n eps
        assert result.mean_time.values == pytest.approx(mean, rel=1e-11)
        assert result.variance.values == pytest.approx(variance, rel=1e-9, abs=1e-9)


@settings(max_examples=15)
@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
@example(6, 65535)  # one of the slowest: after 4000 epochs 7e-12 are left
def test_distribution_has_these_moments(n: int, seed: int) -> None:
    P = random_matrix(n, seed)
    slowest = abs(np.linalg.eigvals(P[1:, 1:])).max()
    times = np.arange(100 + int(40 / -np.log(slowest)))  # e^-40 is left
    result = first_passage(MarkovChain(P), "0", times=times.tolist())
    law = result.distribution.values
    assert (np.diff(law, axis=1) >= 0).all()
    assert law[:, -1] == pytest.approx(1, abs=1e-12)
    tail = 1 - law  # E T = sum P(T > t), E T(T-1)/2 = sum t P(T > t)
    mean, half = tail.sum(axis=1), (times * tail).sum(axis=1)
    assert result.mean_time.values == pytest.approx(mean, rel=1e-9, abs=1e-9)
    assert result.variance.values == pytest.approx(2 * half + mean - mean**2, rel=1e-7, abs=1e-7)
    assert law[1:, 1] == pytest.approx(P[1:, 0], rel=1e-12)


def test_geometric_wait_is_exact_however_rare() -> None:
    loss = np.array([1e-12, 1e-3, 0.5])
    chain = MarkovChain({("a", "b"): p, ("b", "a"): sympy.Rational(1, 2)}, {"p": loss})
    result = first_passage(chain, "b").sel(state="a")
    assert result.mean_time.values == pytest.approx(1 / loss, rel=4 * EPS)
    assert result.variance.values == pytest.approx((1 - loss) / loss**2, rel=8 * EPS)


@pytest.mark.parametrize("model", [SubPacketLevels, SubPacketExact])
def test_states_that_are_held_count_their_epochs(model: Any) -> None:
    """The chain with holding times and the chain written out epoch by epoch take the same time."""
    from tcpdynamics.solvers.markov.entries import explicit

    chain = model(loss=[0.1, 0.3], base_timeout=3).chain()
    held, whole = first_passage(chain, "S3"), first_passage(explicit(chain), "S3")
    for name in ("mean_time", "variance"):
        long = whole[name].sel(state=list(chain.labels)).values
        assert held[name].values == pytest.approx(long, rel=1e-11), name


def test_visits_that_repeat_are_held_again() -> None:
    """Three epochs a visit, 1/p visits: T = 3 G with G geometric."""
    loss = np.array([1e-3, 0.25])
    chain = MarkovChain({("a", "b"): p, ("b", "a"): sympy.S(1)}, {"p": loss}, holding={"a": sympy.Integer(3)})
    result = first_passage(chain, "b", times=[2, 3, 6]).sel(state="a")
    assert result.mean_time.values == pytest.approx(3 / loss, rel=1e-14)
    assert result.variance.values == pytest.approx(9 * (1 - loss) / loss**2, rel=1e-13)
    assert result.distribution.values == pytest.approx(np.array([0 * loss, loss, 1 - (1 - loss) ** 2]).T)


def test_distribution_of_a_held_state_counts_epochs() -> None:
    model = SubPacketExact(loss=0.2, backoff_cap=1, base_timeout=4)
    result = first_passage(model, "S1(0)", times=[2, 3, 4]).distribution.sel(state="b(0)")
    assert result.values.tolist() == [0, 1, 1]  # m_0 - 1 = 3 silent epochs, then the retransmission
    assert result.attrs["units"] == "1"


def test_windows_fall_silent_at_the_rate_of_the_chain() -> None:
    """h_n = 1 + a_n h_(n+1) + f_n h_(n/2), written out for W = 6."""
    loss = 0.13
    q = 1 - loss
    A = np.eye(5)
    for n in range(2, 7):
        A[n - 2, min(n + 1, 6) - 2] -= q**n
        if n >= 4:
            A[n - 2, n // 2 - 2] -= n * loss * q**n
    by_hand = np.linalg.solve(A, np.ones(5))
    model = SubPacketFull(loss=loss)
    result = first_passage(model, [s for s, k in model.packets().items() if k == 0]).mean_time
    assert result.sel(state=[f"S{n}" for n in range(2, 7)]).values == pytest.approx(by_hand, rel=1e-12)


def test_an_absorbing_target_is_a_fine_target() -> None:
    """Only the target must be reached; what happens after it does not matter, symbolic or numeric."""
    symbolic = MarkovChain({("a", "b"): p, ("b", "a"): 1 - p, ("b", "c"): p}, {"p": 0.25})
    P = np.array([[0.75, 0.25, 0], [0.75, 0, 0.25], [0, 0, 1]])
    numeric = MarkovChain(P, states=["a", "b", "c"])
    one, two = first_passage(symbolic, "c", times=[1, 5]), first_passage(numeric, "c", times=[1, 5])
    for name in ("mean_time", "variance", "distribution"):
        assert one[name].values == pytest.approx(two[name].values, rel=1e-13), name
    assert one.mean_time.sel(state="a").item() == pytest.approx(20)


@pytest.mark.parametrize("kind", ["symbolic", "numeric"])
def test_labels_may_hold_a_plus(kind: str) -> None:
    """`b+1` is a name like any other where nothing is held."""
    labels = ["a", "a+b"]
    if kind == "symbolic":
        chain = MarkovChain({("a", "a+b"): p, ("a+b", "a"): p}, {"p": 0.25})
    else:
        chain = MarkovChain(np.array([[0.75, 0.25], [0.25, 0.75]]), states=labels)
    result = first_passage(chain, "a", times=[0, 1]).distribution
    assert result.values.tolist() == [[1, 1], [0, 0.25]]
    stay = sojourn(chain, ["a+b"], longest=2)
    assert stay.probability.values == pytest.approx([0.25, 0.1875])
    assert stay.visits.item() == pytest.approx(0.125)


# --------------------------------------------------------------------------------------------- sojourn


@given(st.integers(2, 7), st.integers(0, 2**32 - 1), st.data())
def test_stays_add_up(n: int, seed: int, data: st.DataObject) -> None:
    """All stays have a length; visits times mean length is the time spent there."""
    P = random_matrix(n, seed)
    inside = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n - 1, unique=True))
    chain = MarkovChain(P)
    result = sojourn(chain, [str(i) for i in inside], longest=2000)
    assert result.probability.sum().item() + result.longer.item() == pytest.approx(1, abs=1e-12)
    mean = (result.probability * result.length).sum().item()
    pi = stationary(chain).probability.values
    if result.longer.item() < 1e-13:  # else stays of more than 2,000 epochs are missing from the mean
        assert result.visits.item() * mean == pytest.approx(pi[inside].sum(), rel=1e-9)
    flow = sum(pi[i] * P[i, j] for i in range(n) for j in inside if i not in inside)
    assert result.visits.item() == pytest.approx(flow, rel=1e-12)


def test_longer_stays_are_counted_together() -> None:
    chain = MarkovChain({("a", "b"): p, ("b", "a"): sympy.Rational(1, 2)}, {"p": [0.25, 0.5]})
    result = sojourn(chain, ["a"], longest=3)
    loss = np.array([0.25, 0.5])
    assert result.longer.values == pytest.approx((1 - loss) ** 3)
    assert result.probability.values == pytest.approx(np.array([loss * (1 - loss) ** k for k in range(3)]).T)


# ------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("chain", [SubPacketFull(loss=0.1), MarkovChain(random_matrix(3, 0))], ids=["s", "n"])
def test_targets_that_are_none(chain: Any) -> None:
    with pytest.raises(ChainError, match="target 'S9' is not a state; the states are "):
        first_passage(chain, "S9")
    with pytest.raises(ChainError, match="target is empty"):
        first_passage(chain, [])


def test_targets_out_of_reach() -> None:
    moves = {("a", "b"): p, ("b", "a"): p, ("a", "c"): 1 - p}
    P = np.array([[0, 0.25, 0.75], [0.25, 0.75, 0], [0, 0, 1.0]])
    for chain in (MarkovChain(moves, {"p": 0.25}), MarkovChain(P, states=["a", "b", "c"])):
        with pytest.raises(ChainError, match="cannot be reached from state 'c': its time is infinite"):
            first_passage(chain, "b")


@pytest.mark.parametrize("times", [[], [-1], [2, 1], [1, 1], [0.5], [10**9], [True, 2], [1j]])
def test_times_are_whole_and_increasing(times: Any) -> None:
    with pytest.raises(DomainError, match="times must"):
        first_passage(SubPacketFull(loss=0.1), "S3", times=times)


def test_no_time_is_missing() -> None:
    times = np.ma.array([1, 2], mask=[0, 1])
    for ask in (first_passage, transient):
        with pytest.raises(DomainError, match="masked array"):
            ask(SubPacketFull(loss=0.1), "S3", times=times)


@pytest.mark.parametrize("longest", [0, 2.5, 10**9])
def test_longest_is_a_whole_number(longest: Any) -> None:
    with pytest.raises(DomainError, match="longest must be a whole number"):
        sojourn(SubPacketFull(loss=0.1), ["b0"], longest=longest)


def test_wrong_points_are_marked() -> None:
    chain = MarkovChain({("a", "b"): p, ("b", "a"): 1 - 2 * p}, {"p": [0.25, 0.75]})
    result = first_passage(chain, "b", times=[1])
    assert result.status.values.tolist() == [0, 2]
    for name in ("mean_time", "variance", "distribution"):
        assert np.isnan(result[name].isel(p=1)).all(), name
        assert np.isfinite(result[name].isel(p=0)).all(), name
    with pytest.raises(ChainError, match=r"b -> a is -0.5 at p = 0.75"):
        first_passage(chain, "b", throw=True)
    stays = sojourn(chain, ["b"], longest=2)
    assert stays.status.values.tolist() == [0, 2]
    assert np.isnan(stays.probability.values[1]).all()


def test_states_that_are_never_visited_have_no_stays() -> None:
    chain = MarkovChain({("a", "b"): p, ("b", "a"): sympy.Rational(1, 2)}, {"p": 0.0})
    stays = sojourn(chain, ["b"], longest=2)
    assert stays.visits.item() == 0
    assert np.isnan(stays.probability.values).all()


def test_a_transition_that_vanishes_is_called_so() -> None:
    """At p = 0 the chain stays in w3: one closed class, which `stationary` does not solve, and w1 is never reached."""
    p = sympy.Symbol("p")
    moves = {("w1", "w2"): 1 - p, ("w2", "w3"): 1 - p, ("w2", "w1"): p, ("w3", "w1"): p}
    chain = MarkovChain({**moves, ("w1", "w1"): p, ("w3", "w3"): 1 - p}, {"p": [0.0, 0.5]})
    assert failures(stationary(chain)) == [
        ({"p": 0.0}, "not solved: a transition vanished and the chain is reducible here")
    ]
    ((point, why),) = failures(first_passage(chain, "w1"))
    assert point == {"p": 0.0} and why.endswith("the target is never reached, and its time is infinite")
