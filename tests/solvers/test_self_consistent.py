"""Roots of a mean reward on chains small enough to be solved by hand."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import sympy
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from tcpdynamics.errors import LimitError
from tcpdynamics.solvers import (
    ChainError,
    DomainError,
    MarkovChain,
    Reward,
    RewardBalance,
    failures,
    self_consistent,
    stationary,
)

p, c = sympy.symbols("p c", positive=True)


def balance(target: Any, bounds: tuple[float, float] = (1e-12, 1 - 1e-9), **values: Any) -> RewardBalance:
    """Busy earns c per epoch and stops with probability p, idle starts with 1/2: reward c/(1 + 2p)."""
    chain = MarkovChain({("busy", "idle"): p, ("idle", "busy"): sympy.Rational(1, 2)}, values)
    reward = Reward({("busy", "idle"): {1: p}, ("busy", "busy"): {1: 1 - p}}, "work", "task")
    if "c" in values:
        chain = MarkovChain({("busy", "idle"): p / c, ("idle", "busy"): sympy.Rational(1, 2)}, values)
    return RewardBalance(chain, "p", reward, target, bounds, ["idle"])


@given(st.floats(0.34, 1 - 1e-9))
def test_root_by_hand(target: float) -> None:
    solved = self_consistent(balance(target))
    root = (1 / target - 1) / 2
    # the root is that of the rounded reward: eps / |d ln D / dp| = eps (1 + 2p)/2, next to what 1/target - 1 loses
    assert solved.root.item() == pytest.approx(root, rel=1e-9, abs=1e-14)
    assert solved.reward.item() == pytest.approx(target, rel=1e-12)
    assert solved.idle.item() == pytest.approx(1 - target, abs=1e-12)


def test_small_roots_keep_their_relative_accuracy() -> None:
    """With t(p) = p/(1+p), say, a root of 1e-9 is as good as one of 0.1: the unknown is sought on a log scale."""
    chain = MarkovChain({("a", "b"): p, ("b", "a"): sympy.Integer(1)})
    falls = Reward({("b", "a"): {-1: sympy.Integer(1), 0: sympy.Integer(0)}})
    with pytest.raises(DomainError, match="target must be a finite number > 0, got -1e-09"):
        self_consistent(RewardBalance(chain, "p", falls, -1e-9, (1e-12, 0.9)))
    wanted = np.array([1e-10, 1e-7, 1e-3])
    rare = MarkovChain({("a", "b"): 10**9 * p / (1 + 10**9 * p), ("b", "a"): sympy.Integer(1)})
    solved = self_consistent(
        RewardBalance(rare, "p", Reward({("a", "a"): {1: 1 / (1 + 10**9 * p)}}), _rare(wanted), (1e-12, 0.9))
    )
    assert solved.root.values == pytest.approx(wanted, rel=1e-9)


def _rare(x: np.ndarray) -> np.ndarray:
    stay = 1 / (1 + 1e9 * x)
    return stay / (1 + 1e9 * x * stay)


def test_demand_that_never_fills_the_supply() -> None:
    solved = self_consistent(balance([0.5, 1.5]), window=10)
    assert solved.root.values == pytest.approx([0.5, 0])
    assert solved.idle.values == pytest.approx([0.5, 0])
    assert solved.jain.values[1] == 1
    assert solved.status.values.tolist() == [0, 0]


def test_targets_below_reach_are_failures() -> None:
    solved = self_consistent(balance([0.5, 0.2]))
    assert np.isnan([solved[k].values[1] for k in ("root", "reward", "idle")]).all()
    assert failures(solved)[0][1] == "no value of the unknown within its bounds meets the target"


def test_targets_and_parameters_span_a_grid() -> None:
    target = xr.DataArray([0.5, 0.6, 0.7], dims="load", coords={"load": [1, 2, 3]}, name="work")
    solved = self_consistent(balance(target, c=np.array([1.0, 1.25])))
    assert dict(solved.root.sizes) == {"load": 3, "c": 2}
    roots = (1 / target.values[:, None] - 1) / 2 * np.array([1.0, 1.25])
    assert solved.root.values == pytest.approx(roots, rel=1e-12)
    assert solved.reward.attrs["units"] == "task"
    chain = balance(0.5, c=1.25).chain.at(p=roots[1, 1])
    assert stationary(chain).probability.sel(state="idle").item() == pytest.approx(solved.idle.values[1, 1])


@pytest.mark.parametrize("target", [0.0, -1.0, np.nan, np.inf, [0.5, -2.0]])
def test_targets_are_positive(target: Any) -> None:
    with pytest.raises(DomainError, match="target must be a finite number > 0, got"):
        self_consistent(balance(target))


@pytest.mark.parametrize("bounds", [(0.0, 0.5), (0.5, 0.1), (0.1, 1.0)])
def test_bounds_are_a_bracket(bounds: tuple[float, float]) -> None:
    with pytest.raises(DomainError, match="bounds must satisfy 0 < low < high < 1"):
        self_consistent(balance(0.5, bounds))


def test_other_problems() -> None:
    with pytest.raises(TypeError, match=r"expected a RewardBalance or a model with \.balance\(\), got float"):
        self_consistent(0.5)
    broken = RewardBalance(MarkovChain({("a", "b"): p}), "p", Reward({("a", "b"): {1: p}}), 0.5, (0.1, 0.9))
    with pytest.raises(ChainError, match="state 'b' is absorbing"):
        self_consistent(broken)


@pytest.mark.parametrize("window", ["10", True, 0, -1, 10**9, 10**400, 2.0])
def test_a_window_is_named_by_the_callers_word_before_any_root(window: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sys.modules["tcpdynamics.solvers.markov.self_consistent"], "_roots")
    with pytest.raises(DomainError, match=r"^window must be a whole number of epochs in \[1, 1,000,000\], got "):
        self_consistent(balance(0.5), window=window)


def test_a_held_state_earns_once_a_visit() -> None:
    """Busy for 3 epochs, then one task is done; idle for 1/p epochs: 1/(3 + 1/p) tasks an epoch, falling with 1 - p."""
    moves = {("busy", "idle"): sympy.Integer(1), ("idle", "busy"): 1 - p}
    chain = MarkovChain(moves, holding={"busy": sympy.Integer(3)})
    task = Reward({("busy", "idle"): {1: sympy.Integer(1)}})
    solved = self_consistent(RewardBalance(chain, "p", task, 0.2, (1e-6, 0.999), ["idle"]))
    assert solved.root.item() == pytest.approx(0.5, rel=1e-12)
    assert solved.idle.item() == pytest.approx(0.4, rel=1e-12)


def test_a_window_is_refused_before_the_roots_are_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million epochs at a million targets; what fits the bound passes."""

    def search(*_: Any) -> Any:
        raise AssertionError("searched before it was checked")

    module = sys.modules["tcpdynamics.solvers.markov.self_consistent"]
    with monkeypatch.context() as patch:
        patch.setattr(module, "_roots", search)
        with pytest.raises(LimitError, match=r"a window of 1,000,000 epochs of 2 transitions at 1,000,000 points"):
            self_consistent(balance(np.linspace(0.4, 0.9, 10**6)), window=10**6)
        patch.setenv("TCPDYNAMICS_MAX_WORK", "1000")
        with pytest.raises(LimitError, match=r"give a shorter window or fewer targets"):
            self_consistent(balance(0.5), window=100)
    assert self_consistent(balance(0.5), window=100).status.item() == 0


def _rewards_of(chances: list[tuple[int, int, int]], target: float) -> RewardBalance:
    """A chain that earns sum_i a_i p^k_i (1-p)^l_i an epoch: many shapes, rising and falling."""
    chain = MarkovChain({("u", "v"): p, ("v", "u"): 1 - p})  # in u with probability 1 - p, whatever was before
    law: dict[int, Any] = {}
    for i, (amount, k, m) in enumerate(chances):
        law[i] = sympy.Integer(amount) * p**k * (1 - p) ** m
    mean = sum(law.values(), sympy.Integer(0))
    edges = {("u", "v"): p, ("u", "u"): 1 - p, ("v", "u"): 1 - p, ("v", "v"): p}
    reward = Reward({e: {1: chance * mean / 100, 0: chance * (1 - mean / 100)} for e, chance in edges.items()})
    return RewardBalance(chain, "p", reward, target, (0.01, 0.99))


@given(
    st.lists(st.tuples(st.integers(1, 20), st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=4),
    st.floats(1e-3, 0.2),
)
def test_all_roots_are_counted_and_no_wrong_one_is_given(chances: list[tuple[int, int, int]], target: float) -> None:
    """Against the zeros of the polynomial itself."""
    mean = sum(
        (a * np.polynomial.Polynomial([0, 1]) ** k * np.polynomial.Polynomial([1, -1]) ** m for a, k, m in chances),
        np.polynomial.Polynomial([0.0]),
    )
    solved = self_consistent(_rewards_of(chances, target))
    zeros = (mean / 100 - target).roots()
    real = np.sort(zeros[np.abs(zeros.imag) < 1e-9].real)
    if len(real) and (
        np.diff(real, prepend=-1.0).min() < 1e-3 or np.abs(real - 0.01).min() < 1e-4 or np.abs(real - 0.99).min() < 1e-4
    ):
        return  # too close to be told apart
    if np.any((np.abs(zeros.imag) < 1e-3) & (np.abs(zeros.imag) >= 1e-9)):
        return
    inside = real[(real > 0.01) & (real < 0.99)]
    expected = ([0.0] if mean(0.01) / 100 <= target else []) + inside.tolist()
    assert solved.roots.item() == len(expected)
    if expected:
        assert solved.root.item() == pytest.approx(expected[0], rel=1e-8)
        assert solved.highest_root.item() == pytest.approx(expected[-1], rel=1e-8)
    else:
        assert np.isnan(solved.root.item())
    assert (solved.status.item() == 0) == (len(expected) == 1)


def test_two_roots_of_a_reward_that_rises_and_falls() -> None:
    chain = MarkovChain({("u", "v"): p, ("v", "u"): 1 - p})
    reward = Reward({("u", "v"): {8: p}, ("u", "u"): {0: 1 - p}, ("v", "u"): {0: 1 - p}, ("v", "v"): {0: p}})
    targets = [1.5, 2.0 - 1e-7, 2.5]  # 8 p (1 - p); the second is met by two roots between two places
    solved = self_consistent(RewardBalance(chain, "p", reward, targets, (0.01, 0.99)))
    assert solved.roots.values.tolist() == [3, 3, 1]  # p = 0 earns less than the target, too
    assert solved.highest_root.values[0] == pytest.approx(0.75)
    assert solved.highest_root.values[1] == pytest.approx(0.5 + np.sqrt(1e-7 / 8), rel=1e-9)
    assert [bool(s) for s in solved.status.values] == [True, True, False]
    tip = self_consistent(RewardBalance(chain, "p", reward, 2.0, (0.01, 0.99)))
    assert tip.roots.item() == 2 and tip.highest_root.item() == pytest.approx(0.5, abs=1e-7)
    for bounds in ((0.25, 0.6), (0.1, 0.25), (0.75, 0.9), (0.6, 0.75)):  # a root at an end of the bounds is one
        ends = self_consistent(RewardBalance(chain, "p", reward, 1.5, bounds))
        below = 8 * bounds[0] * (1 - bounds[0]) < 1.5
        assert ends.roots.item() == 1 + below
        assert ends.highest_root.item() == pytest.approx(bounds[0] if bounds[0] in (0.25, 0.75) else bounds[1])
    with pytest.raises(ChainError, match="3 values of p"):
        self_consistent(RewardBalance(chain, "p", reward, 1.5, (0.01, 0.99)), throw=True)


def _pieces(levels: list[int], level_ends: list[int], target: int) -> tuple[RewardBalance, list[float]]:
    """Straight pieces from one level to the end of it, each level in twentieths; where they meet the target."""
    width, (meets, touched) = sympy.Rational(8, 10 * len(levels)), (set[float](), set[float]())
    pieces = []
    for i, (a, b) in enumerate(zip(levels, level_ends, strict=True)):
        at = sympy.Rational(1, 10) + i * width
        pieces.append((sympy.Rational(a, 20) + (p - at) * sympy.Rational(b - a, 20) / width, p < at + width))
        if a == b == target:
            meets ^= {round(float(at), 12), round(float(at + width), 12)}  # two plateaus in a row are one
        elif a != b and min(a, b) <= target <= max(a, b):
            touched.add(round(float(at + (target - a) * width / (b - a)), 12))
    curve = sympy.Piecewise(*pieces, (pieces[-1][0], True))
    edges = {("u", "v"): p, ("u", "u"): 1 - p, ("v", "u"): 1 - p, ("v", "v"): p}
    reward = Reward({e: {1: chance * curve, 0: chance * (1 - curve)} for e, chance in edges.items()})
    chain = MarkovChain({("u", "v"): p, ("v", "u"): 1 - p})
    return RewardBalance(chain, "p", reward, target / 20, (0.1, 0.9)), sorted(meets | touched)


@given(st.lists(st.integers(1, 19), min_size=2, max_size=6), st.integers(1, 19))
def test_corners_tips_and_plateaus_all_count(levels: list[int], target: int) -> None:
    """Without jumps each crossing and tip is a root, and a plateau two."""
    balance, meets = _pieces(levels[:-1], levels[1:], target)
    solved = self_consistent(balance)
    below = levels[0] < target
    assert solved.roots.item() == len(meets) + below
    if meets:
        assert solved.highest_root.item() == pytest.approx(meets[-1], abs=1e-9)
    if meets and not below:
        assert solved.root.item() == pytest.approx(meets[0], abs=1e-9)


@given(st.lists(st.tuples(st.integers(1, 19), st.integers(1, 19)), min_size=1, max_size=5), st.integers(1, 19))
def test_a_jump_across_the_target_is_no_root(levels: list[tuple[int, int]], target: int) -> None:
    balance, meets = _pieces([a for a, _ in levels], [b for _, b in levels], target)
    solved = self_consistent(balance)
    for root in (solved.root.item(), solved.highest_root.item()):
        if root > 0:
            assert min(abs(root - x) for x in meets) < 1e-6
    if not meets:
        assert solved.roots.item() == (levels[0][0] < target)
