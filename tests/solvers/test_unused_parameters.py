"""A parameter that nothing uses is a misspelt one: it is refused."""

from __future__ import annotations

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from tcpdynamics.solvers import (
    ChainError,
    MarkovChain,
    Reward,
    RewardBalance,
    self_consistent,
    sensitivity,
    stationary,
    windowed,
)


@given(st.text("abcdefgh", min_size=2, max_size=8), st.integers(0, 7), st.sampled_from("xyz"))
def test_a_misspelt_parameter_beside_the_right_one_is_refused(name: str, place: int, letter: str) -> None:
    wrong = name[:place] + letter + name[place:]
    rate = sympy.Symbol(name)
    both = {name: 0.25, wrong: [0.1, 0.2]}
    says = f"parameter '{wrong}' stands in no expression"
    with pytest.raises(ChainError, match=says):
        stationary(MarkovChain({("a", "b"): rate, ("b", "a"): 1 - rate}, both))


def test_a_misspelt_parameter_is_told_what_was_meant() -> None:
    p = sympy.Symbol("p")
    chain = MarkovChain({("up", "down"): p, ("down", "up"): 1 - p}, {"p": 0.25, "pp": [0.1, 0.2]})
    for solve in (stationary, sensitivity, lambda c: windowed(c, {"up": 1}, 3)):
        with pytest.raises(ChainError, match=r"'pp' stands in no expression; did you mean 'p'\?"):
            solve(chain)
    with pytest.raises(ChainError, match="'loss' stands in no expression; leave it out; there are p"):
        stationary(MarkovChain(chain.transitions, {"p": 0.5, "loss": 0.1}))
    with pytest.raises(ChainError, match="'pp' stands in no expression"):
        stationary(MarkovChain(chain.transitions, {"p": 0.5}).at(pp=0.1))


def test_parameters_of_rewards_are_used() -> None:
    high, p = sympy.symbols("high p")
    edges = {("a", "b"): p, ("b", "a"): 1 - p}
    joint = {
        ("a", "b"): {1: p * high, 0: p * (1 - high)},
        ("a", "a"): {0: 1 - p},
        ("b", "a"): {0: 1 - p},
        ("b", "b"): {0: p},
    }
    coin = MarkovChain(edges, {"p": 0.25, "high": 0.5})
    windowed(coin, Reward(joint), 4)
    self_consistent(RewardBalance(coin, "p", Reward(joint), 1e-3, (1e-6, 0.5)))
