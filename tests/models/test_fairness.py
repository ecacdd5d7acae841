"""Indices of fairness: known answers, every inequality between them, invariances, limits and errors."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest
import xarray as xr
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tcpdynamics.models.fairness import (
    alpha_fair_utility,
    atkinson,
    entropy,
    gini,
    hill_number,
    hoover,
    jain,
    min_max_ratio,
)
from tcpdynamics.solvers.problems import DomainError

INF = math.inf
INDICES = {
    "jain": jain,
    "min_max_ratio": min_max_ratio,
    "entropy": entropy,
    "gini": gini,
    "hoover": hoover,
    **{f"atkinson {e}": partial(atkinson, epsilon=e) for e in (0.0, 0.5, 0.95, 1.0, 1.05, 2.0, INF)},
    **{f"hill {a}": partial(hill_number, order=a) for a in (0.0, 0.5, 0.95, 1.0, 1.05, 2.0, INF)},
}
every_index = pytest.mark.parametrize("index", INDICES.values(), ids=INDICES.keys())

#: Rounding of a sum of up to 30 terms, relative.
EPS = 1e-13


@st.composite
def allocations(draw: Any, low: float = 0.0, high: float = 1e3) -> np.ndarray:
    """Vectors of 1 to 30 users, with zeros, ties and spreads over many decades."""
    n = draw(st.integers(1, 30))
    value = st.one_of(st.floats(max(low, 1e-9), high), st.sampled_from([max(low, 0.0), 1.0, 2.0]))
    x = draw(arrays(float, n, elements=value))
    assume(x.max() > 0)
    return x


def cv(x: np.ndarray) -> float:
    return float(x.std() / x.mean())


# ---------------------------------------------------------------- known answers


def test_known_answers() -> None:
    x = [1.0, 2.0, 3.0]
    assert jain(x) == pytest.approx(6 / 7, rel=EPS)
    assert min_max_ratio(x) == pytest.approx(1 / 3, rel=EPS)
    assert entropy(x) == pytest.approx(-sum(s * math.log(s) for s in (1 / 6, 1 / 3, 1 / 2)), rel=EPS)
    assert gini(x) == pytest.approx(2 / 9, rel=EPS)
    assert hoover(x) == pytest.approx(1 / 6, rel=EPS)
    assert atkinson(x, 1) == pytest.approx(1 - 6 ** (1 / 3) / 2, rel=EPS)
    assert atkinson(x, 2) == pytest.approx(1 - 3 / (1 + 1 / 2 + 1 / 3) / 2, rel=EPS)
    assert atkinson(x, INF) == pytest.approx(1 / 2, rel=EPS)
    assert hill_number(x, 3) == pytest.approx((1 / 216 + 1 / 27 + 1 / 8) ** -0.5, rel=EPS)
    assert hill_number(x, INF) == pytest.approx(2, rel=EPS)
    assert hill_number(x, -INF) == pytest.approx(6, rel=EPS)
    assert alpha_fair_utility(x, 0) == pytest.approx(6, rel=EPS)
    assert alpha_fair_utility(x, 1) == pytest.approx(math.log(6), rel=EPS)
    assert alpha_fair_utility(x, 2) == pytest.approx(-11 / 6, rel=EPS)


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_all_equal(n: int) -> None:
    x = np.full(n, 0.3)
    assert jain(x) == pytest.approx(1, rel=EPS)
    assert min_max_ratio(x) == 1
    assert entropy(x) == pytest.approx(math.log(n), abs=EPS)
    assert gini(x) == pytest.approx(0, abs=EPS)
    assert hoover(x) == pytest.approx(0, abs=EPS)
    for e in (0, 0.5, 0.99, 1, 3, INF):
        assert atkinson(x, e) == pytest.approx(0, abs=EPS)
    for a in (-INF, -1, 0, 0.5, 0.99, 1, 1.01, 2, 50, INF):
        assert hill_number(x, a) == pytest.approx(n, rel=1e-12)


@given(n=st.integers(1, 40), data=st.data())
def test_k_equal_and_the_rest_nothing(n: int, data: st.DataObject) -> None:
    """J = k/n = 1 - G = 1 - h, and every Hill number of non-negative order is k."""
    k = data.draw(st.integers(1, n))
    x = np.r_[np.full(k, 0.7), np.zeros(n - k)]
    assert jain(x) == pytest.approx(k / n, rel=EPS)
    assert gini(x) == pytest.approx(1 - k / n, abs=EPS)
    assert hoover(x) == pytest.approx(1 - k / n, abs=EPS)
    assert entropy(x) == pytest.approx(math.log(k), abs=EPS)
    for a in (0, 0.5, 0.97, 1, 1.03, 2, INF):
        assert hill_number(x, a) == pytest.approx(k, rel=1e-12)
    for e in (1, 2, INF):
        assert atkinson(x, e) == pytest.approx(float(k < n), abs=EPS)
    # A power mean of order r = 1 - e over k of n equal values is (k/n)^(1/r).
    assert atkinson(x, 0.5) == pytest.approx(1 - (k / n), abs=EPS)


# ---------------------------------------------------------------- identities and inequalities


@given(allocations())
def test_jain_from_the_coefficient_of_variation(x: np.ndarray) -> None:
    assert jain(x) == pytest.approx(1 / (1 + cv(x) ** 2), rel=1e-12)


@given(allocations())
def test_jain_counts_users_as_the_hill_number_of_order_two(x: np.ndarray) -> None:
    n = len(x)
    assert n * jain(x) == pytest.approx(hill_number(x, 2), rel=1e-12)
    assert 1 / n <= jain(x) <= 1


@given(allocations())
def test_order_of_hill_numbers(x: np.ndarray) -> None:
    """D_0 >= D_1 = e^H >= D_2 >= D_inf >= 1, D_2 <= D_inf^2, J <= e^H/n."""
    n = len(x)
    d0, d1, d2, d_inf = (hill_number(x, a) for a in (0, 1, 2, INF))
    slack = 1 + 1e-12
    assert n >= d0 >= d1 / slack and d1 >= d2 / slack and d2 >= d_inf / slack and d_inf >= 1
    assert d2 <= d_inf**2 * slack
    assert jain(x) <= d1 / n * slack
    assert d1 == pytest.approx(math.exp(entropy(x)), rel=1e-12)
    assert d_inf == pytest.approx(x.sum() / x.max(), rel=1e-12)


@given(allocations(), st.floats(-3, 6), st.floats(-3, 6))
def test_hill_numbers_fall_with_the_order(x: np.ndarray, a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    assert hill_number(x, low) * (1 + 1e-11) >= hill_number(x, high)


@given(allocations())
@example(np.array([1.0, 2.0, 1.0]))
def test_jain_is_at_least_what_the_extremes_allow(x: np.ndarray) -> None:
    r = min_max_ratio(x)
    assert jain(x) >= 4 * r / (1 + r) ** 2 * (1 - EPS)


@pytest.mark.parametrize("large, small", [(1, 1), (1, 2), (1, 5), (2, 3), (3, 7)])
def test_that_bound_is_sharp(large: int, small: int) -> None:
    """Equality when a fraction r/(1+r) of users holds the larger value; here `large` of large + small."""
    r = large / small
    x = np.r_[np.ones(large), np.full(small, r)]
    assert jain(x) == pytest.approx(4 * r / (1 + r) ** 2, rel=EPS)


@given(allocations())
def test_gini_and_hoover(x: np.ndarray) -> None:
    n, g, h, c = len(x), gini(x), hoover(x), cv(x)
    slack = 1e-12
    assert 0 <= g <= 1 - 1 / n
    assert g <= c * math.sqrt((n**2 - 1) / (3 * n**2)) + slack <= c / math.sqrt(3) + 2 * slack
    assert h - slack <= g <= h * (2 - h) + slack
    assert h <= c / 2 + slack


@pytest.mark.parametrize("n", [2, 3, 10])
def test_gini_bound_is_sharp_for_evenly_spaced_values(n: int) -> None:
    x = np.arange(n, dtype=float)
    assert gini(x) == pytest.approx(cv(x) * math.sqrt((n**2 - 1) / (3 * n**2)), rel=1e-12)


@given(allocations())
def test_gini_is_the_mean_difference(x: np.ndarray) -> None:
    pairs = np.abs(x[:, None] - x[None, :]).sum()
    assert gini(x) == pytest.approx(pairs / (2 * len(x) * x.sum()), abs=1e-13)


@given(allocations(low=1e-3), st.sampled_from([0.2, 0.5, 0.9, 0.99999, 1.0, 1.00001, 1.5, 3.0, 20.0]))
def test_atkinson_is_one_minus_a_ratio_of_means(x: np.ndarray, epsilon: float) -> None:
    with mpmath.workdps(40):
        r = 1 - mpmath.mpf(epsilon)
        values = [mpmath.mpf(float(v)) for v in x]
        mean = sum(values) / len(values)
        if r == 0:
            power_mean = mpmath.exp(sum(map(mpmath.log, values)) / len(values))
        else:
            power_mean = (sum(v**r for v in values) / len(values)) ** (1 / r)
        expected = float(1 - power_mean / mean)
    assert atkinson(x, epsilon) == pytest.approx(expected, abs=1e-13)
    assert 0 <= atkinson(x, epsilon) <= 1


@given(allocations(low=1e-3), st.floats(0, 10), st.floats(0, 10))
def test_atkinson_rises_with_aversion(x: np.ndarray, a: float, b: float) -> None:
    assert atkinson(x, min(a, b)) <= atkinson(x, max(a, b)) + 1e-12 <= atkinson(x, INF) + 2e-12


@pytest.mark.parametrize("order", [-2.0, 0.01, 0.5, 0.9, 1 - 1e-6, 1 - 1e-12, 1 + 1e-12, 1 + 1e-6, 1.1, 3.0, 400.0])
def test_hill_numbers_against_high_precision(order: float) -> None:
    x = np.random.default_rng(1).lognormal(sigma=3, size=50)
    with mpmath.workdps(60):
        values = [mpmath.mpf(float(v)) for v in x]
        total = sum(values)
        a = mpmath.mpf(order)
        expected = float(sum((v / total) ** a for v in values) ** (1 / (1 - a)))
    assert hill_number(x, order) == pytest.approx(expected, rel=2e-13)


# ---------------------------------------------------------------- alpha-fair utility


def test_utility_tends_to_the_logarithm_at_first_order() -> None:
    """The limit needs n/(1 - alpha) taken off; the remainder is (1 - alpha)/2 sum (ln x)^2."""
    x = np.array([0.2, 1.0, 3.0, 8.0])
    steps = np.array([1e-2, 1e-3, 1e-4])
    gaps = [alpha_fair_utility(x, 1 - h) - len(x) / h - alpha_fair_utility(x, 1) for h in steps]
    assert np.array(gaps) / steps == pytest.approx(np.full(3, (np.log(x) ** 2).sum() / 2), rel=0.02)


@given(st.floats(0.1, 8), st.floats(0.05, 0.95))
def test_utility_prefers_a_transfer_to_the_poorer(alpha: float, share: float) -> None:
    assume(abs(share - 0.5) > 1e-3 and abs(alpha - 1) > 1e-6)
    assert alpha_fair_utility([share, 1 - share], alpha) < alpha_fair_utility([0.5, 0.5], alpha)


def test_maximiser_under_one_link_and_two_hops() -> None:
    """Two links of capacity 1, one flow over both: it gets 1/(1 + 2^(1/alpha)) (Mo and Walrand's example)."""
    x0 = np.linspace(0.001, 0.999, 999)
    for alpha in (1.0, 2.0, 5.0):
        utility = alpha_fair_utility(np.stack([x0, 1 - x0, 1 - x0]), alpha, axis=0)
        assert x0[utility.argmax()] == pytest.approx(1 / (1 + 2 ** (1 / alpha)), abs=1e-3)


def test_utility_of_nothing() -> None:
    assert alpha_fair_utility([0.0, -0.0], 0.5) == 0
    assert alpha_fair_utility([0.0, 1.0], 1) == -INF
    assert alpha_fair_utility([-0.0, 1.0], 2) == -INF


# ---------------------------------------------------------------- invariances


@every_index
@given(x=allocations(), power=st.integers(-900, 900))
def test_scale_by_a_power_of_two_changes_no_bit(index: Any, x: np.ndarray, power: int) -> None:
    assert index(x * 2.0**power) == index(x)


@every_index
@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-150, 1e150, 1e300])
def test_scale_of_extreme_size(index: Any, scale: float) -> None:
    x = np.array([1.0, 4.0, 2.0, 0.0])
    # 1e-320 is a whole number of the smallest float, so its multiples are exact.
    assert index(x * scale) == pytest.approx(index(x), rel=1e-12)


@every_index
@given(x=allocations(), seed=st.integers(0, 2**32 - 1))
def test_names_do_not_matter(index: Any, x: np.ndarray, seed: int) -> None:
    assert index(np.random.default_rng(seed).permutation(x)) == pytest.approx(index(x), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("copies", [2, 5])
@given(x=allocations())
def test_copies_of_a_population(copies: int, x: np.ndarray) -> None:
    """Relative indices stay, Hill numbers multiply."""
    many = np.tile(x, copies)
    for index in (jain, gini, hoover, min_max_ratio):
        assert index(many) == pytest.approx(index(x), rel=1e-12, abs=1e-12)
    for order in (0, 0.5, 1, 2, INF):
        assert hill_number(many, order) == pytest.approx(copies * hill_number(x, order), rel=1e-11)


def test_shares_beyond_the_range_of_floats() -> None:
    x = [1e300, 1e-300]
    assert hill_number(x, 0) == 2
    assert hill_number(x, 0.01) == pytest.approx((1 + 1e-6) ** (1 / 0.99), rel=1e-12)
    assert hill_number(x, -INF) == INF
    assert atkinson(x, 1) == pytest.approx(1, abs=1e-15)
    assert jain(x) == 0.5


def test_exact_rational_answer() -> None:
    x = [Fraction(1, 7), Fraction(3, 11), Fraction(5, 13)]
    exact = sum(x) ** 2 / (3 * sum(v * v for v in x))
    assert jain([float(v) for v in x]) == pytest.approx(float(exact), rel=EPS)


# ---------------------------------------------------------------- shapes and labels


@every_index
def test_batches_equal_single_vectors(index: Any) -> None:
    x = np.random.default_rng(0).exponential(size=(3, 4, 5))
    along_last, along_first = index(x), index(x, axis=0)
    assert along_last.shape == (3, 4) and along_first.shape == (4, 5)
    assert along_last[1, 2] == pytest.approx(index(list(x[1, 2])), rel=EPS)
    assert along_first[3, 1] == pytest.approx(index(x[:, 3, 1]), rel=EPS)
    assert isinstance(index([1.0, 2.0]), float)
    assert index(np.empty((0, 4))).shape == (0,)


@every_index
def test_nothing_to_share(index: Any) -> None:
    with pytest.raises(DomainError, match="all zero"):
        index([0.0, 0.0])
    batch = index([[0.0, 0.0], [1.0, 3.0]])
    assert math.isnan(batch[0]) and batch[1] == index([1.0, 3.0])


@every_index
def test_labelled_arrays(index: Any) -> None:
    x = xr.DataArray(np.arange(1.0, 7).reshape(2, 3), {"run": [10, 20]}, ("run", "flow"), "rate", {"units": "packet/s"})
    result = index(x, dim="flow")
    assert result.dims == ("run",) and result.run.values.tolist() == [10, 20]
    assert result.attrs["units"] == "1" and result.attrs["long_name"] and result.name is None
    assert result.values == pytest.approx(index(x.values))
    assert index(x.T, dim="flow").values == pytest.approx(result.values)
    assert index(x).identical(result)
    assert index(x.isel(run=0), dim="flow").dims == ()
    with pytest.raises(DomainError, match="dim must name a dimension of x, got 'hop'"):
        index(x, dim="hop")
    with pytest.raises(DomainError, match="use axis"):
        index(x.values, dim="flow")


# ---------------------------------------------------------------- errors


@every_index
@pytest.mark.parametrize(
    "x, message",
    [
        ([1.0, -2.0], r"x must be finite and not negative, got -2\.0 at index 1; clip it at 0"),
        ([[1.0, 2.0], [math.nan, 1.0]], r"got nan at index \(1, 0\); drop or replace missing values"),
        ([INF, 1.0], r"got inf at index 0"),
        ([], r"at least one user along axis -1, got shape \(0,\)"),
        (3.0, r"one value for each user, got the single number 3\.0"),
        (["abc"], r"x must be an array of numbers"),
        ([[1.0], [1.0, 2.0]], r"x must be an array of numbers"),
    ],
)
def test_errors_name_the_value(index: Any, x: Any, message: str) -> None:
    with pytest.raises(DomainError, match=message):
        index(x)


def test_errors_of_orders_and_axes() -> None:
    with pytest.raises(DomainError, match=r"epsilon must lie in \[0, inf\], got -1"):
        atkinson([1.0], -1)
    with pytest.raises(DomainError, match=r"order must lie in \[-inf, inf\], got nan"):
        hill_number([1.0], math.nan)
    with pytest.raises(DomainError, match=r"alpha must lie in \[0, inf\), got inf"):
        alpha_fair_utility([1.0], INF)
    with pytest.raises(DomainError, match=r"axis must be one of the 1 axes of x, got 1"):
        jain([1.0], axis=1)
