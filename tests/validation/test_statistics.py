"""Do the intervals hold what they promise?"""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tcpdynamics.validation.statistics import mean_interval, two_sample


def values(array, **attrs):
    return xr.DataArray(
        np.asarray(array, float), dims=("case", "replication")[-np.ndim(array) :], attrs=attrs
    )


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


@given(
    st.lists(st.floats(-10, 10), min_size=3, max_size=8), st.lists(st.floats(-10, 10), min_size=3, max_size=8)
)
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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_interval(values([1.0])), "at least 2 replications"),
        (lambda: mean_interval(values([1.0, 2.0]), dim="seed"), "no dimension 'seed'"),
        (lambda: mean_interval(values([1.0, 2.0]), level=95), "divide by 100"),
    ],
)
def test_errors_say_what_to_do(call, message):
    with pytest.raises(ValueError, match=message):
        call()
