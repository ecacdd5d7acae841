"""Stationary laws of any symbolic chain: exact references, backends, sensitivities, closed forms, refusals."""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import pairwise
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics.models import SubPacketApproximate, SubPacketExact, SubPacketFull, SubPacketLevels
from tcpdynamics.solvers import ChainError, DomainError, MarkovChain, closed_form, failures, sensitivity, stationary

EPS = np.finfo(float).eps
p = sympy.symbols("p", positive=True)


@st.composite
def chains(draw: Any, largest: int = 7) -> tuple[MarkovChain, int]:
    """Irreducible, aperiodic chains in p: a ring, chords, each entry c p^a (1-p)^b / n.

    Not b = 1: SymPy multiplies c (1 - p) out to c - c p, which is another formula and cancels near p = 1.
    """
    n = draw(st.integers(2, largest))
    names = [f"s{i}" for i in range(n)]
    chords = draw(st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=2 * n))
    edges = sorted({(i, (i + 1) % n) for i in range(n)} | {(i, j) for i, j in chords if i != j})
    transitions = {}
    for i, j in edges:
        weight = sympy.Rational(draw(st.integers(1, 4)), 5 * n)
        transitions[names[i], names[j]] = (
            weight * p ** draw(st.integers(0, 4)) * (1 - p) ** draw(st.sampled_from([0, 2, 3]))
        )
    holding = {names[0]: sympy.Integer(3)} if draw(st.booleans()) else {}
    return MarkovChain(transitions, states=names, holding=holding), n


def exact_law(chain: MarkovChain, value: Fraction) -> list[Fraction]:
    """Balance equations by Gaussian elimination with pivoting, in fractions."""
    names = chain.labels
    n, at = len(names), {s: i for i, s in enumerate(names)}
    A = [[Fraction(0)] * (n + 1) for _ in range(n)]
    for (i, j), e in chain.transitions.items():
        exact = sympy.sympify(e).subs(p, sympy.Rational(value))
        x = Fraction(int(exact.p), int(exact.q))
        A[at[j]][at[i]] += x
        A[at[i]][at[i]] -= x
    A[0] = [Fraction(1)] * (n + 1)
    for k in range(n):
        pivot = next(i for i in range(k, n) if A[i][k])
        A[k], A[pivot] = A[pivot], A[k]
        A[k] = [v / A[k][k] for v in A[k]]
        for i in range(n):
            if i != k and A[i][k]:
                A[i] = [v - A[i][k] * u for v, u in zip(A[i], A[k], strict=True)]
    time = [A[i][n] * (3 if s in chain.holding else 1) for i, s in enumerate(names)]
    return [t / sum(time) for t in time]


@given(chains(), st.one_of(st.floats(1e-6, 0.999), st.floats(-9, 0).map(lambda x: 10**x * 0.5)))
def test_every_component_is_exact_to_rounding(case: tuple[MarkovChain, int], value: float) -> None:
    chain, n = case
    truth = exact_law(chain, Fraction(value))
    result = stationary(chain.at(p=value), throw=True).probability.values
    # a handful of roundings per entry and three per removed state (O'Cinneide): a few n^2 at worst, typically n
    assert result == pytest.approx([float(t) for t in truth], rel=(10 + 3 * n * n) * EPS, abs=0)
    assert (result >= 0).all()
    assert result.sum() == pytest.approx(1, abs=4 * EPS)


@settings(max_examples=12)
@given(chains(5), st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20))
def test_closed_form_and_rationals_are_the_law(case: tuple[MarkovChain, int], value: Fraction) -> None:
    chain, _ = case
    truth = [sympy.Rational(t) for t in exact_law(chain, value)]
    assert stationary(chain.at(p=value), exact=True).probability.values.tolist() == truth
    forms = closed_form(chain)
    assert [f.subs(p, sympy.Rational(value)) for f in forms.values()] == truth
    if any(e.has(p) for e in chain.transitions.values()):
        assert stationary(chain, exact=True).closed_form.values.tolist() == list(forms.values())


@settings(max_examples=20)
@given(chains(), st.floats(0.05, 0.95))
def test_symbolic_dense_and_sparse_solvers_agree(case: tuple[MarkovChain, int], value: float) -> None:
    chain, n = case
    if chain.holding:
        chain = MarkovChain(chain.transitions, states=chain.states)
    P = np.zeros((n, n))
    for (i, j), e in chain.transitions.items():
        P[chain.labels.index(i), chain.labels.index(j)] = float(sympy.sympify(e).subs(p, sympy.Rational(value)))
    P[np.arange(n), np.arange(n)] = 1 - P.sum(axis=1)
    one = stationary(chain.at(p=value)).probability.values
    for other in (P, sp.csr_array(P), sp.coo_array(P)):
        assert stationary(MarkovChain(other)).probability.values == pytest.approx(one, rel=100 * n * EPS)
    assert one @ P == pytest.approx(one, abs=10 * n * EPS)


def test_numeric_chains_in_rationals() -> None:
    P = np.array([[0.5, 0.5], [0.25, 0.75]])
    for matrix in (P, sp.csr_array(P)):
        exact = stationary(MarkovChain(matrix), exact=True).probability.values
        assert exact.tolist() == [sympy.Rational(1, 3), sympy.Rational(2, 3)]
    with pytest.raises(ChainError, match="needs a symbolic chain"):
        closed_form(MarkovChain(P))


def test_holding_times_weigh_visits_with_time() -> None:
    """A state held h epochs is h states in a row; with fractional h the shares of time have the same form."""
    chain = MarkovChain({("a", "b"): p, ("b", "a"): sympy.Integer(1)}, holding={"b": sympy.Rational(5, 2)})
    pi = closed_form(chain)
    assert sympy.cancel(pi["b"] / pi["a"] - sympy.Rational(5, 2) * p) == 0


@pytest.mark.parametrize(
    ("model", "small"),
    [
        (SubPacketApproximate, {}),
        pytest.param(SubPacketLevels, {"stages": 2}, marks=pytest.mark.slow),
        (SubPacketExact, {"backoff_cap": 1}),
    ],
)
def test_jax_gives_the_same_and_leaves_no_trace(model: Any, small: dict[str, int]) -> None:
    sweep = model(loss=np.linspace(0.001, 0.49, 300), w_max=4, base_timeout=[2, 3.5], **small)
    assert jnp.zeros(1).dtype == jnp.float32
    numpy_, jax_ = (stationary(sweep.chain(), backend=b).probability for b in ("numpy", "jax"))
    assert jnp.zeros(1).dtype == jnp.float32
    # XLA contracts a*b + c into one rounding, which moves each of some hundred steps by eps/2
    assert jax_.values == pytest.approx(numpy_.values, rel=200 * EPS)
    slopes = [sensitivity(sweep.chain(), "p", backend=b).derivative.values for b in ("numpy", "jax")]
    assert slopes[1] == pytest.approx(slopes[0], rel=1e-10, abs=1e-13)


def test_backends_have_names() -> None:
    with pytest.raises(ValueError, match="backend must be 'auto', 'numpy' or 'jax', got 'cuda'"):
        stationary(SubPacketFull(loss=0.1), backend="cuda")  # type: ignore[arg-type]


def test_without_jax_a_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = SubPacketFull(loss=[0.1, 0.2]).chain()
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs JAX: pip install 'tcpdynamics\[jax\]'"):
        stationary(sweep, backend="jax")
    assert stationary(sweep).probability.notnull().all()


# ------------------------------------------------------------------------------------------- sensitivity


@settings(max_examples=5)
@given(chains(5), st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20))
def test_sensitivities_are_the_derivatives_of_the_closed_form(case: tuple[MarkovChain, int], value: Fraction) -> None:
    chain, _ = case
    forms = closed_form(chain)
    if not any(f.has(p) for f in forms.values()):
        return
    for order in (1, 2):
        truth = [float(sympy.diff(f, p, order).subs(p, sympy.Rational(value))) for f in forms.values()]
        found = sensitivity(chain.at(p=float(value)), order=order).derivative.values
        # quotients of sums of both signs: cancellation costs a few digits, measured against the largest component
        scale = max(1.0, max(abs(t) for t in truth)) * float(1 / (value * (1 - value)) ** order)
        assert found == pytest.approx(truth, abs=1e-12 * scale)
        assert found.sum() == pytest.approx(0, abs=1e-12 * scale)


@pytest.mark.parametrize("model", [SubPacketApproximate, SubPacketFull, SubPacketLevels, SubPacketExact])
def test_sensitivities_match_central_differences(model: Any) -> None:
    loss, step = np.array([0.01, 0.1, 0.3, 0.45]), 1e-5
    found = sensitivity(model(loss=loss).chain()).derivative
    assert found.attrs["units"] == "1/[p]"
    high, low = (stationary(model(loss=loss + d).chain()).probability.values for d in (step, -step))
    # truncation step^2 f'''/6, with f''' below 1e5 at p = 0.01, and rounding eps/step
    assert found.values == pytest.approx((high - low) / (2 * step), rel=1e-5, abs=2e-6)
    assert found.sum("state").values == pytest.approx(0, abs=1e-12)


def test_sensitivity_to_the_base_timeout() -> None:
    chain = SubPacketExact(loss=0.1, base_timeout=[2.0, 5.0]).chain()
    found = sensitivity(chain, "m_0").derivative
    high, low = (stationary(chain.at(m_0=np.array([2.0, 5.0]) + d)).probability.values for d in (1e-4, -1e-4))
    assert found.values == pytest.approx((high - low) / 2e-4, rel=1e-6, abs=1e-10)
    second = sensitivity(chain, "m_0", order=2)
    assert second.derivative.attrs["units"] == "1/[m_0]^2"


def test_sensitivity_takes_a_symbol_for_its_name() -> None:
    chain = SubPacketExact(loss=0.1, base_timeout=[2.0, 5.0]).chain()
    by_name, by_symbol = sensitivity(chain, parameter="p"), sensitivity(chain, parameter=sympy.Symbol("p"))
    assert by_name.identical(by_symbol)


def test_sensitivity_says_what_it_needs() -> None:
    chain = SubPacketExact(loss=0.1, base_timeout=[2, 3]).chain()
    with pytest.raises(ChainError, match='parameter must be one of m_0, p, got none; write parameter="m_0"'):
        sensitivity(chain)
    with pytest.raises(ChainError, match="the chain's only one, got 'q'; write parameter=\"p\""):
        sensitivity(SubPacketExact(loss=0.1).chain(), "q")
    with pytest.raises(ChainError, match="got 'x'"):
        sensitivity(chain, "x")
    with pytest.raises(DomainError, match="order must be at least 1, got 0"):
        sensitivity(chain, "p", order=0)
    with pytest.raises(ChainError, match="numeric chain has no parameters"):
        sensitivity(MarkovChain(np.array([[0.5, 0.5], [0.5, 0.5]])))
    bad = sensitivity(MarkovChain({("a", "b"): p, ("b", "a"): p}, {"p": [0.5, 1.5]}))
    assert np.isnan(bad.derivative.values[1]).all()
    assert np.isfinite(bad.derivative.values[0]).all()


# ------------------------------------------------------------------------------------------- refusals

one = sympy.Integer(1)
BROKEN = {
    "absorbing state": ({("a", "b"): p}, "state 'b' is absorbing"),
    "two classes": (
        {("a", "b"): p, ("b", "a"): p, ("c", "d"): p, ("d", "c"): p},
        "states 'a' and 'c' lie in two closed classes",
    ),
    "transient state": ({("a", "b"): p, ("b", "c"): p, ("c", "b"): p}, "state 'a' cannot be reached from 'b'"),
    "period two": ({("a", "b"): one, ("b", "a"): one}, "the chain has period 2"),
    "period two, branched": (
        {("a", "b"): p, ("a", "c"): 1 - p, ("b", "a"): one, ("c", "a"): one},
        "the chain has period 2",
    ),
    "period three": ({("a", "b"): one, ("b", "c"): one, ("c", "a"): one}, "period 3"),
    "no transition but zero": ({("a", "b"): sympy.Integer(0), ("b", "a"): p}, "absorbing"),
}


@pytest.mark.parametrize(("transitions", "message"), BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("how", [{}, {"throw": True}, {"exact": True}])
def test_a_structure_without_a_unique_aperiodic_law(transitions: Any, message: str, how: dict[str, bool]) -> None:
    chain = MarkovChain(transitions, {"p": 0.3})
    with pytest.raises(ChainError) as error:
        stationary(chain, **how)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_one_self_loop_makes_a_cycle_aperiodic() -> None:
    cycle = {("a", "b"): one, ("b", "c"): one, ("c", "a"): 1 - p}
    assert stationary(MarkovChain(cycle, {"p": 0.5})).probability.values == pytest.approx([0.25, 0.25, 0.5])
    listed = {("a", "b"): one, ("b", "a"): 1 - p, ("b", "b"): p}
    assert stationary(MarkovChain(listed, {"p": 0.5})).probability.values == pytest.approx([1 / 3, 2 / 3])


WRONG_AT_A_POINT = {
    "negative": ({("a", "b"): p - 1, ("b", "a"): one}, 0.25, "transition a -> b is -0.75 at p = 0.25"),
    "negative constant": ({("a", "b"): p, ("b", "a"): -one}, 0.25, "transition b -> a is -1"),
    "not a number": ({("a", "b"): p, ("b", "a"): p}, np.nan, "transition a -> b is nan at p = nan"),
    "infinite": ({("a", "b"): 1 / p, ("b", "a"): p}, 0.0, "leave a sum to inf > 1 at p = 0"),
    "row above one": ({("a", "b"): p, ("a", "c"): p, ("b", "a"): p, ("c", "a"): p}, 0.75, "leave a sum to 1.5 > 1"),
    "lone entry above one": ({("a", "b"): p, ("b", "a"): sympy.Rational(1, 2)}, 1.5, "leave a sum to 1.5 > 1"),
    "listed row below one": (
        {("a", "b"): p, ("a", "a"): p, ("b", "a"): p},
        0.25,
        "leave a, self-loop included, sum to 0.5, not 1, at p = 0.25",
    ),
    "fell apart": ({("a", "b"): p, ("b", "a"): p}, 0.0, "state a cannot be left at p = 0"),
}


@pytest.mark.parametrize(("transitions", "value", "message"), WRONG_AT_A_POINT.values(), ids=WRONG_AT_A_POINT)
def test_a_wrong_point_is_marked_and_named(transitions: Any, value: float, message: str) -> None:
    alone = MarkovChain(transitions, {"p": value})
    with pytest.raises(ChainError) as error:
        stationary(alone, throw=True)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    marked = stationary(alone)
    assert np.isnan(marked.probability.values).all()
    ((_, reason),) = failures(marked)
    assert reason != "ok"


def test_good_points_survive_bad_ones() -> None:
    chain = MarkovChain({("a", "b"): p, ("b", "a"): 1 - 2 * p}, {"p": [0.25, 0.75, 0.1, np.nan]})
    result = stationary(chain)
    assert result.status.values.tolist() == [0, 2, 0, 2]
    assert result.probability.values[0] == pytest.approx([2 / 3, 1 / 3])
    assert [point["p"] for point, _ in failures(result)[:1]] == [0.75]
    with pytest.raises(ChainError, match=r"b -> a is -0.5 at p = 0.75.*\(2 points failed\)"):
        stationary(chain, throw=True)


def test_negative_holding_times_are_named() -> None:
    chain = MarkovChain({("a", "b"): p, ("b", "a"): p}, {"p": 0.25}, holding={"a": p - 1})
    with pytest.raises(ChainError, match=r"state a is held for -0.75 epochs at p = 0.25"):
        stationary(chain, throw=True)


def test_a_vanished_way_back_leaves_the_law_of_what_remains() -> None:
    """At p = 0 state b is left for good: one closed class, so one law."""
    chain = MarkovChain({("a", "b"): p, ("b", "a"): sympy.Rational(1, 2)}, {"p": 0.0})
    assert stationary(chain).probability.values.tolist() == [1, 0]


NUMERIC = {
    "negative": ([[1.5, -0.5], [0.5, 0.5]], "transition 'on' -> 'off' has value -0.5"),
    "nan": ([[np.nan, 0.5], [0.5, 0.5]], "transition 'on' -> 'on' has value nan"),
    "row": ([[0.5, 0.4], [0.5, 0.5]], "row 'on' sums to 0.9, not 1"),
    "absorbing": ([[0.5, 0.5], [0.0, 1.0]], "state 'off' is absorbing"),
    "periodic": ([[0.0, 1.0], [1.0, 0.0]], "period 2"),
}


@pytest.mark.parametrize(("matrix", "message"), NUMERIC.values(), ids=NUMERIC)
@pytest.mark.parametrize("kind", [np.array, sp.csr_array])
def test_numeric_chains_are_refused_alike(matrix: Any, message: str, kind: Any) -> None:
    with pytest.raises(ChainError) as error:
        stationary(MarkovChain(kind(matrix), states=["on", "off"]))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: MarkovChain({}), "at least one transition"),
        (lambda: MarkovChain(np.ones((2, 3))), r"square matrix, got shape \(2, 3\)"),
        (lambda: MarkovChain(1.0), "must be a mapping, a 2-D array, a list of rows or a SciPy sparse matrix"),
        (lambda: MarkovChain([[1.0], [0.5, 0.5]]), "transitions must be real numbers"),
        (lambda: MarkovChain(np.eye(2), states=["a"]), "1 labels given for 2 states"),
        (lambda: MarkovChain(np.eye(2), states=["a", "a"]), "state 'a' is listed twice"),
        (lambda: MarkovChain({("a", "b"): p}, states=["a"]), "a -> b names 'b', which is not in states"),
        (lambda: MarkovChain({("a", "b"): p}, holding={"c": p}), "holding names 'c'"),
        (lambda: MarkovChain(np.eye(2), {"p": 1}), "numeric chain has neither parameters nor holding times"),
    ],
)
def test_chains_that_are_none(made: Any, message: str) -> None:
    with pytest.raises(ChainError, match=message):
        made()


def test_missing_values_and_other_problems() -> None:
    with pytest.raises(ChainError, match=r"parameter 'p' has no value; give it with chain\.at\(p=\.\.\.\)"):
        stationary(MarkovChain({("a", "b"): p, ("b", "a"): p}))
    with pytest.raises(TypeError, match=r"expected a MarkovChain or a model with \.chain\(\), got dict"):
        stationary({})
    with pytest.raises(ChainError, match=r"cannot compute gamma\(p\)"):
        stationary(MarkovChain({("a", "b"): sympy.gamma(p), ("b", "a"): p}, {"p": 0.3}))
    outside = SubPacketFull(loss=0.1).chain().at(p=[0.1, 0.5])
    assert stationary(outside).status.values.tolist() == [0, 1]
    for exact in (False, True):
        with pytest.raises(ChainError, match=r"p must lie in \(0, 0.5\), got 0.5"):
            stationary(outside, throw=True, exact=exact)


def test_very_rare_states_keep_their_digits() -> None:
    """Birth and death over 40 decades: pi_k / pi_(k-1) = p exactly."""
    names = [f"n{k}" for k in range(8)]
    moves = {(a, b): p / 2 for a, b in pairwise(names)} | {(b, a): one / 2 for a, b in pairwise(names)}
    pi = stationary(MarkovChain(moves, {"p": 1e-6})).probability.values
    assert pi[1:] / pi[:-1] == pytest.approx(1e-6, rel=20 * EPS)
