"""A parameter that nothing uses is a misspelt one: it is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from tcpdynamics.solvers import (
    DDE,
    ODE,
    ChainError,
    Delayed,
    DynamicsError,
    Map,
    MarkovChain,
    Reward,
    RewardBalance,
    bifurcation,
    continuation,
    equilibria,
    self_consistent,
    sensitivity,
    spectral_abscissa,
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


W, RATE = sympy.symbols("w rate")


@given(st.text("abcdefgh", min_size=2, max_size=8), st.integers(0, 7), st.sampled_from("xyz"))
def test_equations_refuse_a_misspelt_parameter_too(name: str, place: int, letter: str) -> None:
    wrong = name[:place] + letter + name[place:]
    for kind in (ODE, DDE, Map):
        with pytest.raises(DynamicsError, match=f"parameter '{wrong}' stands in no expression"):
            kind(rhs={"w": sympy.Symbol(name) * W}, parameters={name: 0.25, wrong: [0.1, 0.2]}, start={"w": 1})


def test_a_misspelt_parameter_of_equations_is_told_what_was_meant() -> None:
    for wrong, says in (
        ("raet", "did you mean 'rate'"),
        ("size", "leave it out; there are rate"),
        ("ww", "leave it out; there are rate"),  # w is a state, and no parameter
    ):
        with pytest.raises(DynamicsError, match=f"parameter '{wrong}' stands in no expression; {says}"):
            ODE(rhs={"w": RATE * W}, parameters={"rate": 1.0, wrong: np.ones(3)})


@pytest.mark.parametrize(
    "where",
    [
        {"rhs": {"w": RATE - sympy.Symbol("size") * W}},
        {"start": {"w": RATE}},
        {"outputs": {"y": W + RATE}},
        {"fixed_points": [{"w": RATE}]},
        {"history": {"w": sympy.exp(RATE * sympy.Symbol("t"))}},
        {"delayed": {"w_d": Delayed("w", RATE)}},
        {"domain": {"rate": (0.0, 2.0)}},  # a model's views differ in which of its parameters they use
    ],
    ids=lambda where: next(iter(where)),
)
def test_every_place_of_a_parameter_counts(where: dict[str, Any]) -> None:
    size = sympy.Symbol("size")
    DDE(**{"rhs": {"w": -size * W}, "parameters": {"rate": 1.0, "size": 1.0}, "start": {"w": 1.0}} | where)


def test_parameters_of_equations_without_any_label_the_points() -> None:
    assert ODE(rhs={"w": -W}, parameters={"run": [1, 2]}, start={"w": 1.0}).parameters["run"] == [1, 2]


def test_what_a_solver_leaves_out_is_no_misspelt_name() -> None:
    """Delays become registers, starts are replaced: their parameters stay, and span their dimensions."""
    size, delay, past = sympy.symbols("size delay past")
    known = {"rate": 0.5, "size": [0.2, 0.4], "delay": 1.0}
    back = Map(
        rhs={"w": W + RATE * W * (1 - past)}, delayed={"past": Delayed("w", delay)}, parameters=known,
        start={"w": size}, fixed_points=[{"w": 1}],
    )  # fmt: skip
    assert back.starting({"w": 0.5}).parameters == known
    assert bifurcation(back).cycle_length.dims == ("size",)
    ode = ODE(rhs={"w": RATE * W * (1 - W)}, parameters={"rate": 0.5, "size": [0.2, 0.4]}, start={"w": size})
    assert equilibria(ode, {"w": (0.1, 2)}).sizes["size"] == 2
    assert spectral_abscissa(ode, {"w": 1}).sizes["size"] == 2
    continuation(ode.at(size=0.2), "rate", (0.5, 1.0), start={"w": 1})
