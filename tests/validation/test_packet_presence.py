"""Flows that have finished, or have not begun, are neither starved nor silent, and no index counts them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics.errors import ScenarioError
from tcpdynamics.models.fairness import jain
from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, simulate

LINK = Bottleneck(rate=1e6, buffer=20)


def run(*groups: Flows, duration: float = 30.0):
    return simulate(Scenario(groups, LINK, duration=duration, warm_up=10.0, slice=5.0, epoch=0.5, seed=3))


def test_who_has_finished_or_not_begun_does_not_starve():
    busy = Flows(count=2, rtt=0.1, start_spread=0.0)
    early = Flows(count=3, rtt=0.1, segments=5, start_spread=0.0)
    stopped = Flows(count=2, rtt=0.1, start_spread=0.0, stop=1.0)
    counted = Flows(rtt=0.1, sender="cbr", rate=1e4, stop=2.0, start_spread=0.0)
    late = Flows(count=4, rtt=0.1, start=40.0, start_spread=0.0)
    alone, mixed = run(busy), run(busy, early, stopped, counted, late)
    assert (mixed.slice_starved == 0).all() and (alone.slice_starved == 0).all()
    assert mixed.slice_jain.values == pytest.approx(jain(mixed.slice_goodput.values[:, :2].astype(float), axis=-1))
    assert mixed.epochs.isel(flow=slice(2, None)).sum() == 0 and (mixed.epochs[:2].sum("sent_in_epoch") == 40).all()
    nobody = run(early, late)
    assert nobody.slice_starved.isnull().all() and nobody.slice_jain.isnull().all()
    assert nobody.epoch_fraction.isnull().all()


def test_who_is_there_and_gets_nothing_starves():
    """Five hundred flows on this link: many get nothing in five seconds."""
    result = run(Flows(count=500, rtt=0.1, start_spread=0.0))
    none = (result.slice_goodput == 0).mean("flow")
    assert none.max() > 0.1 and result.slice_starved.values == pytest.approx(none.values)


@given(
    st.lists(
        st.builds(
            Flows,
            count=st.integers(1, 3),
            rtt=st.sampled_from([0.05, 0.2]),
            start=st.floats(0.0, 35.0),
            start_spread=st.sampled_from([0.0, 3.0]),
            segments=st.none() | st.integers(1, 400),
        ),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=25)
def test_shares_are_over_those_who_are_there(groups):
    result = run(*groups)
    start, finish = result.start.fillna(np.inf), result.finish.fillna(np.inf)
    edges = 10.0 + 5.0 * np.arange(5)
    for i, (low, high) in enumerate(pairwise(edges)):
        there = ((start <= low) & (finish >= high)).values
        goodput = result.slice_goodput.values[i, there]
        starved, index = result.slice_starved.values[i], result.slice_jain.values[i]
        if not there.any():
            assert np.isnan(starved) and np.isnan(index)
            continue
        assert starved == pytest.approx((goodput == 0).mean())
        assert np.isnan(index) if not goodput.any() else index == pytest.approx(jain(goodput.astype(float)))
    # Whole epochs from the one in which a flow starts to the one in which it finishes.
    first = np.floor((np.minimum(start, 30.0) - 10.0) / 0.5).clip(0, 40)
    last = np.ceil((np.minimum(finish, 30.0) - 10.0) / 0.5).clip(0, 40)
    assert (result.epochs >= 0).all()
    np.testing.assert_array_equal(result.epochs.sum("sent_in_epoch"), np.maximum(last - first, 0))


def test_epochs_are_counted_up_to_as_many_packets_as_asked_for() -> None:
    """A larger last number divides the last bin and leaves the others alone, here and in what a run says."""
    flows = Flows(count=3, rtt=0.2, window_limit=12)
    scenario = Scenario((flows,), Bottleneck(rate=1e9, buffer=None, loss=0.02), 60.0, 5.0)
    few, many = simulate(scenario), simulate(replace(scenario, most_in_epoch=12))
    assert few.sizes["sent_in_epoch"] == 8 and many.sizes["sent_in_epoch"] == 13
    np.testing.assert_array_equal(many.epochs[:, :7], few.epochs[:, :7])
    np.testing.assert_array_equal(many.epochs[:, 7:].sum("sent_in_epoch"), few.epochs[:, 7])
    assert many.epochs[:, 7:].any("flow").sum() > 2
    assert many.sent_in_epoch.attrs["long_name"] == "packets sent in an epoch; the last is 12 or more"
    assert few.goodput.identical(many.goodput)
    with pytest.raises(ScenarioError, match=r"most_in_epoch must be a whole number in \[1, 1000\], got 0"):
        replace(scenario, most_in_epoch=0)
