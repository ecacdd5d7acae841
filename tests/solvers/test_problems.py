"""What a chain may be made of."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sympy

from tcpdynamics.errors import DynamicsError
from tcpdynamics.solvers import (
    DDE,
    ODE,
    ChainError,
    Delayed,
    DomainError,
    Map,
    MarkovChain,
    Reward,
    first_passage,
    spectral_gap,
    stationary,
    trajectory,
    transient,
)
from tcpdynamics.solvers.problems.words import domain_text

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
    result = stationary(MarkovChain(sp.coo_array(P).asformat(form))).probability.values
    np.testing.assert_allclose(result, [1 / 3, 2 / 3], rtol=1e-15)


def test_a_listed_self_loop_must_complete_its_row_for_every_solver() -> None:
    chain = MarkovChain({("a", "a"): sympy.Rational(1, 2), **COIN}, {"p": [0.4, 0.5]})
    for result in (stationary(chain), transient(chain, "a", [1]), spectral_gap(chain), first_passage(chain, "b")):
        assert result.status.values.tolist() == [3, 0]


def test_a_state_held_for_no_time_agrees_with_its_mean() -> None:
    """z = (a held for no time, which may stay): from b one is in c after one epoch with probability 1/2."""
    quarter, half = sympy.Rational(1, 4), sympy.Rational(1, 2)
    moves = {("a", "b"): quarter, ("a", "c"): quarter, ("b", "a"): 1, ("c", "a"): half, ("c", "b"): half}
    chain = MarkovChain(moves, holding={"a": sympy.Integer(0)})
    result = first_passage(chain, "c", times=[1, 2])
    assert result.mean_time.sel(state="b").item() == pytest.approx(2)
    assert result.distribution.sel(state="b").values.tolist() == [0.5, 0.75]
    assert result.distribution.sel(state="a").values.tolist() == [0.75, 0.875]


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


def test_a_list_of_rows_is_a_matrix() -> None:
    chain = MarkovChain([[0.5, 0.5], [1, 0]], states=["a", "b"])
    assert stationary(chain).probability.values == pytest.approx([2 / 3, 1 / 3])
    assert repr(chain) == "MarkovChain: a matrix of 2 x 2 probabilities"
    for rows in ([[1, 2], [3]], [["a"]], [[True]]):
        with pytest.raises(ChainError, match="transitions must be real numbers"):
            MarkovChain(rows)


def test_problems_print_a_few_lines() -> None:
    w, past, r = sympy.symbols("w past r")
    lag = {"past": Delayed("w", sympy.Symbol("delay"))}
    values = {"r": np.linspace(1, 2, 5), "delay": 0.5}
    problem = DDE(rhs={"w": r * w * (1 - past)}, delayed=lag, parameters=values, start={"w": 0.1}, name="Hutchinson")
    assert repr(problem).split("\n") == [
        "DDE Hutchinson: 1 state, time in s",
        "  dw/dt = r*w*(1 - past)",
        "  past = w(t - delay)",
        "  r = 1 to 2, 5 values",
        "  delay = 0.5",
        "  start: w = 0.1",
    ]
    ring = MarkovChain({(str(i), str((i + 1) % 50)): sympy.Symbol("p") ** 200 + 1 for i in range(50)})
    assert len(repr(ring).split("\n")) < 10 and "and 44 more" in repr(ring)
    steps = Map(rhs={"w": sum((w**k for k in range(1000)), start=w)})
    assert "w(n + 1) = an expression of more than 500 parts" in repr(steps)


def test_results_of_a_users_own_problem_hold_its_equations() -> None:
    chain = MarkovChain(COIN, {"p": 0.25}, holding={"b": 3})
    assert json.loads(stationary(chain).attrs["equations"]) == {"a -> b": "p", "b -> a": "1 - p", "epochs in b": "3"}
    w = sympy.Symbol("w")
    result = trajectory(ODE(rhs={"w": -w}, start={"w": 1.0}, units={"w": "packet"}), [0, 1])
    assert json.loads(result.attrs["equations"]) == {"dw/dt": "-w"}
    assert json.loads(result.attrs["units"]) == {"w": "packet"}


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (-sys.float_info.min, math.inf, "[0, inf)"),
        (-1e-300, 1.0, "[0, 1)"),
        (-5e-324, 5e-324, "[0, 0]"),
        (0.0, math.nextafter(0.5, 1), "(0, 0.5]"),
        (math.nextafter(-3, -4), math.nextafter(12, 13), "[-3, 12]"),
        (-math.inf, 1e-300, "(-inf, 0]"),
        (1e-300, 0.1 + 0.2, "(1e-300, 0.3]"),
        (1 / 3, 2 / 3, "(0.333333, 0.666667)"),
    ],
)
def test_a_domain_reads_as_a_person_writes_it(low: float, high: float, text: str) -> None:
    assert domain_text(low, high) == text
    r, w = sympy.symbols("r w")
    growth = ODE(rhs={"w": r * w}, parameters={"r": high + 1}, start={"w": 1}, domain={"r": (low, high)})
    coin = MarkovChain({("a", "b"): r, ("b", "a"): 0.5}, {"r": 2.0}, domain={"r": (low, min(high, 1.5))})
    if high < math.inf:
        with pytest.raises(DomainError) as error:
            trajectory(growth, [1.0])
        assert f"in {text}, got" in str(error.value)
    for setting in ("throw", "exact"):
        with pytest.raises(ChainError) as error:
            stationary(coin, **{setting: True})
        assert f"must lie in {domain_text(low, min(high, 1.5))}, got" in str(error.value)


_HUGE = sympy.Integer(10) ** 5000


def _nested(levels: int) -> sympy.Expr:
    deep = sympy.Symbol("x")
    for _ in range(levels):
        deep = sympy.sin(deep, evaluate=False)
    return deep


@pytest.mark.parametrize("kind", [ODE, Map, DDE])
@pytest.mark.parametrize(
    "expression",
    [
        -sympy.Symbol("x") * sympy.Integer(10) ** 400, -sympy.Symbol("x") / _HUGE, sympy.Symbol("x") ** _HUGE,
        sympy.Symbol("x") ** (1 / _HUGE), _nested(400), _nested(3000), sympy.oo * sympy.Symbol("x"), sympy.nan,
        sympy.I * sympy.Symbol("x"), 10**400, float("nan"),
        sympy.Piecewise((sympy.Symbol("x"), sympy.Symbol("x") < _HUGE), (0, True)),
    ],
    ids=range(12),
)  # fmt: skip
def test_equations_without_finite_numbers_are_refused_in_a_sentence(kind: Any, expression: Any) -> None:
    for fields in ({"rhs": {"x": expression}}, {"rhs": {"x": 1}, "outputs": {"z": expression}}):
        with pytest.raises(DynamicsError) as refusal:
            kind(**fields, start={"x": 1.0})
        assert len(str(refusal.value)) < 400 and "\n" not in str(refusal.value)


def test_parameters_have_units_and_meanings_of_their_own() -> None:
    x, k = sympy.symbols("x k")
    words = {"units": {"k": "1/s", "x": "packet"}, "meanings": {"k": "rate of decay"}}
    decay = ODE(rhs={"x": -k * x}, parameters={"k": [1.0, 2.0]}, start={"x": 1.0}, **words)
    assert trajectory(decay, [1.0]).k.attrs == {"units": "1/s", "long_name": "rate of decay"}
    assert trajectory(decay.at(k=2.0), [1.0]).k.attrs["units"] == "1/s"
    for name in ("units", "meanings"):
        with pytest.raises(DynamicsError, match=f"{name} names 'zzz', which is no state, output or parameter"):
            ODE(rhs={"x": -k * x}, parameters={"k": 1.0}, **{name: {"zzz": "s"}})


def test_every_problem_documents_all_of_its_attributes() -> None:
    for kind in (ODE, DDE, Map):
        text = kind.__doc__ or ""
        assert text.count("Attributes\n") == 1 and "fixed_points : sequence" in text
    assert DDE.__doc__ and "history : mapping" in DDE.__doc__
