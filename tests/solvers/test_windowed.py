"""Rewards summed over a window of epochs: every path counted, closed forms, tables, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import random_matrix

from tcpdynamics.models import SubPacketExact, SubPacketFull
from tcpdynamics.solvers import ChainError, DomainError, MarkovChain, Reward, stationary, windowed

p = sympy.symbols("p", positive=True)


def every_path(P: np.ndarray, pi: np.ndarray, reward: Any, length: int) -> tuple[float, float, float]:
    """Mean, variance and P(nothing) by listing all paths; `reward(i, j)` is a list of (amount, probability)."""
    mean = square = nothing = 0.0
    for path in product(range(len(P)), repeat=length + 1):
        chance = pi[path[0]]
        for i, j in pairwise(path):
            chance *= P[i, j]
        if chance == 0:
            continue
        for earned in product(*(reward(i, j) for i, j in pairwise(path))):
            weight = chance * np.prod([w for _, w in earned])
            total = sum(r for r, _ in earned)
            mean, square = mean + weight * total, square + weight * total**2
            nothing += weight * all(r == 0 for r, _ in earned)
    return mean, square - mean**2, nothing


@settings(max_examples=15)
@given(st.integers(1, 3), st.integers(0, 2**32 - 1), st.integers(1, 5), st.data())
def test_rewards_by_state_against_all_paths(n: int, seed: int, length: int, data: st.DataObject) -> None:
    P = random_matrix(n, seed, density=0.7)
    earn = data.draw(st.lists(st.sampled_from([0, 0, 1, 2.5, -1]), min_size=n, max_size=n))
    chain = MarkovChain(P)
    pi = stationary(chain).probability.values if n > 1 else np.ones(1)
    result = windowed(chain, {str(i): r for i, r in enumerate(earn)}, length)
    mean, variance, nothing = every_path(P, pi, lambda i, j: [(earn[i], 1.0)], length)
    assert result["mean"].item() == pytest.approx(mean, abs=1e-12)
    assert result.variance.item() == pytest.approx(variance, abs=1e-11)
    assert result.nothing.item() == pytest.approx(nothing, abs=1e-13)
    if mean:
        assert result.jain.item() == pytest.approx(mean**2 / (mean**2 + variance), rel=1e-9)


@settings(max_examples=10)
@given(st.sampled_from([0.05, 0.3, 0.8]), st.integers(1, 5))
def test_rewards_by_transition_against_all_paths(loss: float, length: int) -> None:
    """A reward that is only jointly known with where the step leads, with a self-loop and a state without any."""
    moves = {("a", "b"): p / 2, ("b", "a"): 1 - p, ("b", "c"): p / 3, ("c", "a"): sympy.Integer(1)}
    split = {
        ("a", "b"): {0: p / 4, 2: p / 4},
        ("a", "a"): {1: 1 - p, 0: p / 2},
        ("b", "a"): {3: 1 - p},
        ("b", "c"): {0: p / 6, 1: p / 6},
    }
    names = ["a", "b", "c"]

    def value(e: Any) -> float:
        return float(sympy.sympify(e).subs(p, loss))

    P = np.zeros((3, 3))
    for (i, j), e in moves.items():
        P[names.index(i), names.index(j)] = value(e)
    P[np.arange(3), np.arange(3)] = 1 - P.sum(axis=1)

    def reward(i: int, j: int) -> list[tuple[int, float]]:
        law = split.get((names[i], names[j]))
        return [(0, 1.0)] if law is None else [(r, value(e) / P[i, j]) for r, e in law.items()]

    chain = MarkovChain(moves, {"p": loss}, names)
    truth = every_path(P, stationary(chain).probability.values, reward, length)
    result = windowed(chain, Reward(split), length)
    assert [result["mean"].item(), result.variance.item(), result.nothing.item()] == pytest.approx(truth, abs=1e-12)


@given(st.floats(0.01, 0.99), st.integers(1, 400))
def test_independent_epochs_are_binomial(loss: float, length: int) -> None:
    coin = MarkovChain({("tails", "heads"): p, ("heads", "tails"): 1 - p}, {"p": loss})
    result = windowed(coin, {"heads": 1}, length)
    assert result["mean"].item() == pytest.approx(length * loss, rel=1e-12)
    assert result.variance.item() == pytest.approx(length * loss * (1 - loss), rel=1e-10)
    assert result.nothing.item() == pytest.approx((1 - loss) ** length, rel=1e-11)


def test_slow_chains_have_the_variance_of_their_correlations() -> None:
    """Two states with eigenvalue r: variance L s^2 (1 + 2 sum_k (1 - k/L) r^k)."""
    a, b, L = 1e-3, 2e-3, 5000
    r, share = 1 - a - b, a / (a + b)
    result = windowed(MarkovChain(np.array([[1 - a, a], [b, 1 - b]])), {"1": 1}, L)
    k = np.arange(1, L)
    truth = share * (1 - share) * (L + 2 * ((L - k) * r**k).sum())
    assert result.variance.item() == pytest.approx(truth, rel=1e-10)
    assert result.nothing.item() == pytest.approx((1 - share) * (1 - a) ** (L - 1), rel=1e-10)


# p, then (J, P(nothing)) for L = 10, 50, 250, 2500 epochs (K = 5)
TABLE = """
0.050 0.9024 0.00301 0.9721 0.000115 0.9938 9.13e-09 0.9994 1.69e-54
0.100 0.7549 0.0453 0.9002 0.00568 0.9704 4.01e-06 0.9967 2.76e-41
0.150 0.5807 0.172 0.7664 0.0375 0.9068 9.49e-05 0.9881 1.00e-33
0.165 0.5274 0.225 0.7176 0.0547 0.8795 0.000187 0.9840 5.63e-32
0.200 0.4123 0.354 0.6022 0.107 0.8082 0.000667 0.9725 1.74e-28
0.250 0.2844 0.523 0.4597 0.196 0.7080 0.00248 0.9540 1.65e-24
0.300 0.1999 0.651 0.3574 0.287 0.6272 0.00643 0.9367 2.61e-21
"""


@pytest.mark.parametrize(("column", "length"), list(enumerate([10, 50, 250, 2500])))
def test_fairness_over_windows_as_printed(column: int, length: int) -> None:
    table = np.array([[float(x) for x in row.split()] for row in TABLE.split("\n") if row])
    model = SubPacketExact(loss=table[:, 0], backoff_cap=5)
    result = windowed(model, model.delivered(), length, throw=True)
    assert result.jain.values == pytest.approx(table[:, 1 + 2 * column], abs=0.5000001e-4)
    digits = 0.5001 * 10 ** (np.floor(np.log10(table[:, 2 + 2 * column])) - 2)  # three figures
    assert (np.abs(result.nothing.values - table[:, 2 + 2 * column]) < digits).all()


@given(st.floats(0.01, 0.45), st.integers(1, 60))
def test_mean_is_the_goodput(loss: float, length: int) -> None:
    for model in (SubPacketFull(loss=loss), SubPacketExact(loss=loss, retransmission_loss=0.1, base_timeout=3)):
        result = windowed(model, model.delivered(), length)
        goodput = model.observe(stationary(model.chain())).goodput.item()
        assert result["mean"].item() == pytest.approx(length * goodput, rel=1e-11)
        assert 0 < result.jain.item() < 1


def test_one_epoch_without_a_delivery() -> None:
    """P(nothing in one epoch) = idle time plus windows of which nothing arrives: sum pi_n p^n."""
    model = SubPacketExact(loss=0.3, backoff_cap=3)
    sent = model.observe(stationary(model.chain())).sent.values
    result = windowed(model, model.delivered(), 1)
    assert result.nothing.item() == pytest.approx((sent * 0.3 ** np.arange(7)).sum(), rel=1e-12)


def test_a_held_state_earns_in_every_epoch_if_the_reward_is_by_state() -> None:
    chain = MarkovChain({("a", "b"): p, ("b", "a"): sympy.Integer(1)}, {"p": 0.5}, holding={"b": sympy.Integer(3)})
    share = stationary(chain).probability.sel(state="b").item()
    assert windowed(chain, {"b": 1}, 7)["mean"].item() == pytest.approx(7 * share)


def test_labels_may_hold_a_plus() -> None:
    chain = MarkovChain({("a", "a+b"): p, ("a+b", "a"): p}, {"p": 0.25})
    assert windowed(chain, {"a+b": 1}, 4)["mean"].item() == pytest.approx(2)
    assert windowed(chain, {"a": 1}, 4).nothing.item() == pytest.approx(0.5 * 0.75**3)


@settings(max_examples=40, deadline=None)
@given(
    st.floats(-150, 0), st.floats(-150, -0.01), st.integers(1, 6), st.sampled_from([0, 1, -2, 0.3]),
    st.sampled_from([4, 5, 0.7]),
)  # fmt: skip
def test_variance_of_a_reward_that_is_almost_always_the_same(
    up: float, down: float, length: int, low: float, high: float
) -> None:
    """Two states: the covariance of j epochs is share (1 - share) (high - low)^2 (1 - p - q)^j."""
    leave, back = Fraction(10.0**up), Fraction(10.0**down)
    chain = MarkovChain({("a", "b"): float(leave), ("b", "a"): float(back)})
    share, fade = back / (leave + back), 1 - leave - back
    sums = length + 2 * sum((length - j) * fade**j for j in range(1, length))
    exact = share * (1 - share) * (Fraction(high) - Fraction(low)) ** 2 * sums
    assume(sums > Fraction(1, 1000))  # what nearly cancels between epochs loses digits
    result = windowed(chain, {"a": low, "b": high}, length)
    assert result.variance.item() == pytest.approx(float(exact), rel=1e-11, abs=1e-300)


@pytest.mark.parametrize(
    ("reward", "words"),
    [
        (np.ma.array([1.0, 2.0], mask=[0, 1]), "MaskedArray"),
        ([1, 2], "list"),
        ({"a": np.ma.masked}, "real number"),
        ({"a": 1j}, "real number"),
        ({"a": "1"}, "real number"),
    ],
)
def test_rewards_that_are_no_numbers_by_state(reward: Any, words: str) -> None:
    coin = MarkovChain({("a", "b"): 0.5, ("b", "a"): 0.25})
    with pytest.raises((TypeError, DomainError), match=words):
        windowed(coin, reward, 3)


def test_units_and_dimensions() -> None:
    model = SubPacketExact(loss=[0.1, 0.2, 0.3], retransmission_loss=[0.0, 0.1])
    result = windowed(model, model.delivered(), 5)
    assert dict(result.sizes) == {"loss": 3, "retransmission_loss": 2}
    assert (result["mean"].attrs["units"], result.variance.attrs["units"]) == ("packet", "packet^2")
    assert '"length": 5' in result.attrs["settings"]


# ------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("length", [0, -1, 2.5, 10**7])
def test_lengths_are_whole(length: Any) -> None:
    with pytest.raises(DomainError, match=r"length must be a whole number of epochs in \[1, 1,000,000\], got"):
        windowed(SubPacketFull(loss=0.1), {"S2": 1}, length)


def test_rewards_for_what_does_not_exist() -> None:
    with pytest.raises(ChainError, match="the reward names 'S9', which is not a state"):
        windowed(SubPacketFull(loss=0.1), {"S9": 1}, 3)
    with pytest.raises(ChainError, match="the reward names S2 -> S5, which is not a transition"):
        windowed(SubPacketFull(loss=0.1), Reward({("S2", "S5"): {1: p}}), 3)
    with pytest.raises(ChainError, match="numeric chain takes rewards by state"):
        windowed(MarkovChain(random_matrix(2, 0, density=0.7)), Reward({}), 3)
    with pytest.raises(ChainError, match=r"'b\(0\)' is held for 3/2 epochs"):
        windowed(SubPacketExact(loss=0.1, base_timeout=2.5), {"S3": 1}, 3)


def test_wrong_points_are_marked() -> None:
    chain = MarkovChain({("a", "b"): p, ("b", "a"): 1 - 2 * p}, {"p": [0.25, 0.75]})
    result = windowed(chain, {"a": 1}, 3)
    assert result.status.values.tolist() == [0, 2]
    for name in ("mean", "variance", "nothing", "jain"):
        assert np.isnan(result[name].values[1]), name
    with pytest.raises(ChainError, match=r"b -> a is -0.5 at p = 0.75"):
        windowed(chain, {"a": 1}, 3, throw=True)


@pytest.mark.parametrize("length", [True, False, 0, 10**400, 1.0])
def test_a_length_counts_epochs(length: Any) -> None:
    coin = MarkovChain({("tails", "heads"): sympy.Rational(1, 2), ("heads", "tails"): sympy.Rational(1, 2)})
    with pytest.raises(DomainError, match="length must be a whole number of epochs"):
        windowed(coin, {"heads": 1}, length)
