"""What a chain may be made of."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sympy

from tcpdynamics.solvers import (
    ChainError,
    MarkovChain,
    Reward,
    first_passage,
    spectral_gap,
    stationary,
    transient,
)

p = sympy.Symbol("p", positive=True)
COIN = {("a", "b"): p, ("b", "a"): 1 - p}


@pytest.mark.parametrize("text", ["p", "__import__('os').getcwd()", None, True, [0.5]])
def test_only_numbers_and_expressions_are_taken(text: object) -> None:
    with pytest.raises(ChainError, match="must have a number or a SymPy expression"):
        MarkovChain({**COIN, ("a", "b"): text})
    with pytest.raises(ChainError, match="must have a number or a SymPy expression"):
        MarkovChain(COIN, holding={"a": text})
    with pytest.raises(ChainError, match="must have a number or a SymPy expression"):
        Reward({("a", "b"): {1: text}})


@pytest.mark.parametrize("edge", ["ab", ("a", "b", "c"), (1, 2)])
def test_an_edge_is_two_labels(edge: object) -> None:
    with pytest.raises(ChainError, match="named by two labels"):
        MarkovChain({edge: p})


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dok", "lil", "dia"])
def test_every_sparse_format_is_a_matrix(form: str) -> None:
    P = np.array([[0.5, 0.5], [0.25, 0.75]])
    found = stationary(MarkovChain(sp.coo_array(P).asformat(form))).probability.values
    np.testing.assert_allclose(found, [1 / 3, 2 / 3], rtol=1e-15)


def test_a_listed_self_loop_must_complete_its_row_for_every_solver() -> None:
    chain = MarkovChain({("a", "a"): sympy.Rational(1, 2), **COIN}, {"p": [0.4, 0.5]})
    for result in (
        stationary(chain),
        transient(chain, "a", [1]),
        spectral_gap(chain),
        first_passage(chain, "b"),
    ):
        assert result.status.values.tolist() == [3, 0]


def test_a_state_held_for_no_time_agrees_with_its_mean() -> None:
    """z = (a held for no time, which may stay): from b one is in c after one epoch with probability 1/2."""
    quarter, half = sympy.Rational(1, 4), sympy.Rational(1, 2)
    moves = {("a", "b"): quarter, ("a", "c"): quarter, ("b", "a"): 1, ("c", "a"): half, ("c", "b"): half}
    chain = MarkovChain(moves, holding={"a": sympy.Integer(0)})
    found = first_passage(chain, "c", times=[1, 2])
    assert found.mean_time.sel(state="b").item() == pytest.approx(2)
    assert found.distribution.sel(state="b").values.tolist() == [0.5, 0.75]
    assert found.distribution.sel(state="a").values.tolist() == [0.75, 0.875]


def test_equal_floats_and_fractions_are_not_confused() -> None:
    from fractions import Fraction

    from tcpdynamics.solvers import closed_form

    with pytest.raises(ChainError, match="exact numbers"):
        closed_form(MarkovChain({("a", "b"): 0.5, ("b", "a"): p}))
    assert closed_form(MarkovChain({("a", "b"): Fraction(1, 2), ("b", "a"): p}))["a"] == 2 * p / (2 * p + 1)


def test_a_reward_must_move_the_chain_as_its_transitions_do() -> None:
    from tcpdynamics.solvers import windowed

    chain = MarkovChain(COIN, {"p": 0.25})
    right = Reward({("a", "b"): {1: p / 2, 0: p / 2}})
    assert windowed(chain, right, 4)["mean"].item() == pytest.approx(4 * 0.75 * 0.125)
    with pytest.raises(ChainError, match="not those of the chain's transitions"):
        windowed(chain, Reward({("a", "b"): {1: p / 2}}), 4)
