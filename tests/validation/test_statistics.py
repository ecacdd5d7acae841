"""Do the intervals hold what they promise?"""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy import signal, stats

from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, replicate
from tcpdynamics.validation.packet.measures import FRACTIONS
from tcpdynamics.validation.packet.sweeps import with_intervals
from tcpdynamics.validation.statistics import (
    batch_means,
    distribution_distance,
    distribution_test,
    mean_interval,
    two_sample,
    until,
    warm_up,
)


def values(array, **attrs):
    return xr.DataArray(np.asarray(array, float), dims=("case", "replication")[-np.ndim(array) :], attrs=attrs)


def test_student_by_hand():
    # mean 4, sd 2, n = 4, t(0.975; 3) = 3.182446
    x = values([2.0, 4.0, 4.0, 6.0], units="s")
    interval = mean_interval(x)
    half = 3.1824463 * np.sqrt(8 / 3) / 2
    assert interval["high"].item() == pytest.approx(4 + half, rel=1e-6)
    assert interval["low"].item() == pytest.approx(4 - half, rel=1e-6)
    assert interval["mean"].attrs["units"] == "s"


def test_student_interval_covers_as_often_as_it_says():
    x = values(np.random.default_rng(1).normal(3.0, 2.0, (4000, 5)))
    interval = mean_interval(x, level=0.9)
    covered = ((interval["low"] <= 3) & (interval["high"] >= 3)).mean().item()
    assert abs(covered - 0.9) < 4 * np.sqrt(0.9 * 0.1 / 4000)


def test_welch_interval_covers_with_unequal_spread():
    rng = np.random.default_rng(2)
    a, b = values(rng.normal(3.0, 1.0, (4000, 6))), values(rng.normal(1.0, 5.0, (4000, 9)))
    interval = two_sample(a, b)
    covered = ((interval["low"] <= 2) & (interval["high"] >= 2)).mean().item()
    assert abs(covered - 0.95) < 0.015


@given(st.lists(st.floats(-10, 10), min_size=3, max_size=8), st.lists(st.floats(-10, 10), min_size=3, max_size=8))
def test_welch_agrees_with_scipy(a, b):
    if np.ptp(a) < 1e-3 or np.ptp(b) < 1e-3:
        return
    ours = two_sample(values(a), values(b))
    theirs = stats.ttest_ind(a, b, equal_var=False).confidence_interval()
    assert ours["low"].item() == pytest.approx(theirs.low, rel=1e-6, abs=1e-9)
    assert ours["high"].item() == pytest.approx(theirs.high, rel=1e-6, abs=1e-9)


def test_no_spread_no_width():
    interval = two_sample(values([1.0, 1.0]), values([3.0, 3.0]))
    assert interval["low"].item() == interval["high"].item() == -2.0


def test_the_distance_of_two_categories_has_students_interval():
    """Where the sign of the gap is clear; where it is not, the interval reaches down to 0."""
    gap = 0.1 + 0.01 * np.random.default_rng(2).standard_normal(8)
    pair = xr.DataArray(np.stack([gap, -gap], 1), dims=("replication", "packets"))
    far = distribution_distance(pair, "packets")
    student = mean_interval(xr.DataArray(gap, dims="replication"))
    assert far["distance"].item() == pytest.approx(gap.mean(), rel=1e-12)
    # The quantile is that of 4000 draws: right to about 2 %.
    width = (student["high"] - student["low"]).item()
    assert (far["high"] - far["low"]).item() == pytest.approx(width, rel=0.05)
    assert distribution_distance(pair - pair.mean("replication"), "packets")["low"].item() == 0.0


def test_a_distance_needs_two_whole_replications():
    gap = xr.DataArray([[0.1, -0.1], [np.nan, -0.1], [0.3, -0.3]], dims=("replication", "packets"))
    assert distribution_distance(gap, "packets")["distance"].item() == pytest.approx(0.2)
    assert np.isnan(distribution_distance(gap[:2], "packets")["high"].item())
    still = xr.zeros_like(gap[::2]) + xr.DataArray([0.1, -0.1], dims="packets")
    assert distribution_distance(still, "packets")["low"].item() == pytest.approx(0.1)


def ar1(coefficient, runs, n, seed):
    """Stationary first-order autoregression with mean 0: its memory fades as coefficient^k."""
    noise = np.random.default_rng(seed).normal(size=(runs, n + 500))
    x = signal.lfilter([1.0], [1.0, -coefficient], noise, axis=1)[:, 500:]
    return xr.DataArray(x, dims=("case", "time"))


def binomial_bounds(level, tries):
    """Shares of successes that 9999 of 10,000 experiments of so many tries keep to."""
    return stats.binom.ppf([5e-5, 1 - 5e-5], tries, level) / tries


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("coefficient", [0.0, 0.5, 0.9])
def test_batch_means_cover_the_mean_of_a_long_autoregression(coefficient, level):
    found = batch_means(ar1(coefficient, 1000, 6400, 11), level=level)
    covered = ((found["low"] <= 0) & (found["high"] >= 0)).mean().item()
    low, high = binomial_bounds(level, 1000)
    # Batches of 200 and more still correlate a little at 0.9: up to 1 % of coverage is lost to that.
    assert low - 0.01 <= covered <= high
    assert found["independent"].mean() > 0.98


def test_batch_means_find_the_variance_of_the_mean():
    # of an AR(1) mean: 1 / (1 - coefficient)^2 / n for long runs
    found = batch_means(ar1(0.8, 400, 12800, 12))
    assert (found["sd"] ** 2 * found["length"]).mean().item() == pytest.approx(25.0, rel=0.05)


def test_too_short_a_run_is_called_that():
    found = batch_means(ar1(0.999, 50, 320, 13))
    assert (~found["independent"]).mean() > 0.5
    assert "run longer" in found.attrs["reason"]
    assert batch_means(ar1(0.0, 1, 3200, 14)).attrs["reason"] == ""


@given(st.lists(st.floats(-1e6, 1e6), min_size=32, max_size=200), st.integers(0, 10**6))
def test_batch_means_keep_what_they_promise_for_any_series(values_, seed):
    x = np.array(values_)
    found = batch_means(xr.DataArray(x, dims="time"))
    n, length = found["n"].item(), found["length"].item()
    assert n in (32, 16, 8)
    assert length == (len(x) // 32) * (32 // n)
    used = x[len(x) - n * length :]
    assert found["mean"].item() == pytest.approx(used.mean(), rel=1e-9, abs=1e-6)
    assert found["low"] <= found["mean"] <= found["high"]
    assert found["independent"].item() or n == 8
    assert not abs(found["autocorrelation"].item()) > 1 + 1e-9


@given(st.floats(-1e6, 1e6), st.integers(32, 300))
def test_a_constant_has_no_spread_and_no_warm_up(value, n):
    x = xr.DataArray(np.full(n, value), dims="time")
    found = batch_means(x)
    assert found["high"] - found["low"] <= 1e-12 * abs(value)
    assert found["independent"].item()
    if n >= 50:
        assert warm_up(x)["keep_from"].item() == 0 or warm_up(x)["mser"].item() <= (1e-14 * value) ** 2


@given(st.integers(10, 60), st.data())
def test_warm_up_ends_where_a_step_ends(groups, data):
    step = data.draw(st.integers(1, groups // 2 - 1))
    x = np.where(np.arange(5 * groups) < 5 * step, 100.0, 3.0)
    found = warm_up(xr.DataArray(x, dims="time", coords={"time": np.arange(5 * groups) / 10}))
    assert found["keep_from"].item() == 5 * step
    assert found["at"].item() == 5 * step / 10
    assert found["settled"].item()


@given(st.lists(st.integers(-1000, 1000), min_size=50, max_size=120))
def test_warm_up_is_the_least_of_the_published_statistic(values_):
    found = warm_up(xr.DataArray(np.array(values_, float), dims="time"))
    groups = np.array(values_[: len(values_) // 5 * 5], float).reshape(-1, 5).mean(1)
    n = len(groups)
    mser = [np.square(groups[d:] - groups[d:].mean()).sum() / (n - d) ** 2 for d in range(n - 4)]
    assert found["mser"].item() == pytest.approx(min(mser), rel=1e-6, abs=1e-6)
    assert mser[found["keep_from"].item() // 5] == pytest.approx(min(mser), rel=1e-6, abs=1e-6)


def test_warm_up_removes_the_bias_of_a_fading_start_and_a_trend_never_settles():
    x = ar1(0.5, 200, 2000, 15) + 20 * 0.98 ** np.arange(2000)
    kept = warm_up(x)
    means = [x[i, int(kept["keep_from"][i]) :].mean().item() for i in range(200)]
    assert kept["settled"].all()
    assert abs(np.mean(means)) < 0.1 < abs(x.mean().item())
    assert not warm_up(xr.DataArray(np.arange(100.0) ** 2, dims="time"))["settled"].item()


def draws(shares, replications, seed, size=60):
    counts = np.random.default_rng(seed).multinomial(size, shares, replications)
    return xr.DataArray(counts, dims=("replication", "packets"))


def test_equal_simulators_are_told_apart_as_rarely_as_promised():
    cases = 400
    p = [distribution_test(draws([0.2, 0.3, 0.5], 5, k), draws([0.2, 0.3, 0.5], 6, k + cases)) for k in range(cases)]
    for level in (0.05, 0.3):
        low, high = binomial_bounds(level, cases)
        # The p-values are multiples of 1/462, so at most this often, and hardly less.
        assert low - 0.01 <= np.mean([r["p_value"].item() <= level for r in p]) <= high
    assert abs(np.mean([r["excess"].item() for r in p])) < 0.005


def test_different_simulators_are_told_apart_with_the_size_of_the_difference():
    found = distribution_test(draws([0.2, 0.3, 0.5], 8, 1, 10_000), draws([0.3, 0.3, 0.4], 8, 2, 10_000), rng=3)
    assert found["distance"].item() == pytest.approx(0.1, abs=0.01)
    assert found["p_value"].item() <= 1e-3


@given(
    st.lists(st.lists(st.integers(1, 50), min_size=3, max_size=3), min_size=2, max_size=5),
    st.lists(st.lists(st.integers(1, 50), min_size=3, max_size=3), min_size=2, max_size=5),
)
def test_the_test_is_fair_to_both_sides_for_any_counts(a, b):
    x, y = (xr.DataArray(v, dims=("replication", "packets")) for v in (a, b))
    one, other = distribution_test(x, y), distribution_test(y, x)
    assert one["p_value"].item() == pytest.approx(other["p_value"].item())
    assert one["distance"].item() == pytest.approx(other["distance"].item())
    assert 0 <= one["distance"] <= 1
    assert one["least_p"] - 1e-12 <= one["p_value"] <= 1
    assert distribution_test(x, x)["p_value"].item() == 1.0
    # Scaling a replication's counts changes nothing: shares are what is compared.
    assert distribution_test(7 * x, y)["distance"].item() == pytest.approx(one["distance"].item())


def normal_runs(mean, sd):
    def run(seeds):
        x = [np.random.default_rng(seed).normal(mean, sd) for seed in seeds]
        return xr.Dataset({"x": ("replication", x)}).assign_coords(seed=("replication", [str(s) for s in seeds]))

    return run


def test_sequential_stopping_covers_nearly_as_often_as_it_says():
    tries, hits = 400, 0
    for seed in range(tries):
        found = mean_interval(until(normal_runs(10.0, 1.0), "x", 0.05, seed=seed)["x"])
        hits += int(found["low"] <= 10 <= found["high"])
    low, high = binomial_bounds(0.95, tries)
    assert low - 0.02 <= hits / tries <= high  # two per cent for stopping when it looks good


@given(st.floats(0.5, 100), st.floats(0, 30), st.floats(0.01, 0.5), st.integers(0, 1000))
def test_until_ends_with_the_precision_or_the_bound(mean, sd, precision, seed):
    result = until(normal_runs(mean, sd), "x", precision, most=40, seed=seed)
    n = result.sizes["replication"]
    assert 5 <= n <= 40
    assert n == result.attrs["until_replications"] == len(set(result["seed"].values.tolist()))
    found = mean_interval(result["x"])
    half = (found["high"] - found["low"]).item() / 2
    if result.attrs["until_reached"]:
        assert half <= precision * abs(found["mean"].item()) * (1 + 1e-6) + 1e-12
    else:
        assert n == 40


def test_until_takes_several_measures_and_no_spread_is_precise():
    run = normal_runs(10.0, 1.0)
    both = until(run, lambda r: xr.Dataset({"a": r["x"], "b": 5 * r["x"] - 40}), 0.05, most=3000)
    assert both.sizes["replication"] > until(run, ["x"], 0.05).sizes["replication"]
    assert until(normal_runs(0.0, 0.0), "x", 0.05).sizes["replication"] == 5


def nan_runs(seeds):
    return xr.Dataset({"x": ("replication", np.full(len(seeds), np.nan))})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_interval(values([1.0])), "at least 2 replications"),
        (lambda: mean_interval(values([1.0, 2.0]), dim="seed"), "no dimension 'seed'"),
        (lambda: mean_interval(values([1.0, 2.0]), level=95), "divide by 100"),
        (lambda: batch_means(values(np.ones(31)), "replication"), "at least 32 observations"),
        (lambda: batch_means(values([np.nan] * 40), "replication"), "finite, got 40"),
        (lambda: batch_means(values(np.ones(99)), "replication", batches=4), "at least fewest"),
        (lambda: warm_up(values(np.ones(49)), "replication"), "at least 10 groups"),
        (lambda: distribution_test(values([1.0, 2.0]), values([1.0])), "one of categories"),
        (lambda: distribution_test(draws([0.5, 0.5], 3, 1), draws([0.2, 0.3, 0.5], 3, 1)), "share their categories"),
        (lambda: distribution_test(0 * draws([0.5, 0.5], 3, 1), draws([0.5, 0.5], 3, 1)), "some above 0"),
        (lambda: distribution_test(draws([1.0], 1, 1), draws([1.0], 3, 1)), "at least 2 replications"),
        (lambda: until(normal_runs(1, 1), "x", 2), "divide by 100"),
        (lambda: until(normal_runs(1, 1), "x", 0.1, least=9, most=5), "least <= most"),
        (lambda: until(nan_runs, "x", 0.1), "not finite in 5 of 5"),
    ],
)
def test_errors_say_what_to_do(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_missing_values_are_neither_used_nor_counted():
    three = xr.DataArray([1.0, 2.0, 3.0], dims="replication")
    padded = xr.DataArray([1.0, np.nan, 2.0, np.nan, 3.0, np.nan], dims="replication")
    xr.testing.assert_allclose(mean_interval(three), mean_interval(padded))
    xr.testing.assert_allclose(two_sample(three, 2.0 * three), two_sample(padded, 2.0 * three))
    alone = mean_interval(xr.DataArray([1.0, np.nan], dims="replication"))
    assert all(np.isnan(alone[name]) for name in ("mean", "low", "high", "sd"))


@given(npst.arrays(float, st.tuples(st.integers(2, 9), st.just(2)), elements=st.floats(0, 1)), st.floats(0.01, 0.999))
def test_an_interval_of_a_fraction_lies_in_0_to_1(values, level):
    x = xr.DataArray(values, dims=("replication", "kind"))
    plain, of = mean_interval(x, level=level), mean_interval(x, level=level, fraction=True)
    assert (of.low >= 0).all() and (of.high <= 1).all() and (of.low <= of["mean"] + 1e-15).all()
    xr.testing.assert_equal(of, plain.assign(low=plain.low.clip(min=0), high=plain.high.clip(max=1)))
    first = mean_interval(x, level=level, fraction=xr.DataArray([True, False], dims="kind"))
    xr.testing.assert_equal(first.low, xr.concat([of.low[0], plain.low[1]], "kind"))


def test_fractions_of_a_run_have_such_intervals():
    flows = (Flows(3, rtt=(0.02, 0.5)),)
    runs = replicate(Scenario(flows, Bottleneck(1e6, 9), duration=9.0, warm_up=2.0, slice=2.0), 2)
    names = sorted(FRACTIONS & set(runs))
    result = with_intervals(runs)
    ends = np.concatenate([result[f"{name}_{end}"].values.ravel() for name in names for end in ("low", "high")])
    assert ((ends >= 0) & (ends <= 1) | np.isnan(ends)).all()
    assert (0 in ends) and (1 in ends)
