"""The comparison of the sub-packet chain with packets: its bookkeeping, and that it can tell right from wrong."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.solvers import DomainError
from tcpdynamics.validation.comparisons import SubPacketChainVsPackets
from tcpdynamics.validation.comparisons.sub_packet import CHAINS, LINKS, summary


@pytest.fixture(scope="module")
def comparison() -> SubPacketChainVsPackets:
    return SubPacketChainVsPackets(flows=(100, 300), duration=400.0, warm_up=100.0, replications=4)


@pytest.fixture(scope="module")
def result(comparison: SubPacketChainVsPackets) -> xr.Dataset:
    return comparison.run()


def test_probabilities_sum_to_one_and_gaps_are_differences(result: xr.Dataset) -> None:
    for name in ("simulated", "predicted"):
        np.testing.assert_allclose(result[name].sum("packets"), 1, rtol=1e-12)
    np.testing.assert_allclose(result.gap, result.simulated - result.predicted, atol=1e-12)
    assert (result.gap_low <= result.gap).all() and (result.gap <= result.gap_high).all()


def test_total_variation_is_a_distance(result: xr.Dataset) -> None:
    """At least the largest gap of one event, at least that of the mean law, at most one."""
    assert (result.distance >= abs(result.gap).max("packets") - 1e-12).all()
    assert (result.distance >= 0.5 * abs(result.gap).sum("packets") - 1e-12).all()
    assert (result.distance <= 1).all()


def test_verdicts_follow_the_interval(result: xr.Dataset) -> None:
    for high, verdict in zip(result.distance_high.values.ravel(), result.verdict.values.ravel(), strict=True):
        assert verdict == ("agrees" if high <= 0.05 else "close" if high <= 0.10 else "differs")


def test_independent_link_is_what_was_asked_for(result: xr.Dataset) -> None:
    """Same loss for all kinds of packets, equal to the one that drop-tail showed, and a timer of two RTTs."""
    part = result.sel(link="independent")
    asked = result.loss.sel(link="drop-tail")
    assert (abs(part.loss - asked) <= 3 * (part.loss_high - part.loss_low)).all()
    assert (
        abs(part.loss_timeout - part.loss_other) <= 3 * (part.loss_timeout_high - part.loss_timeout_low)
    ).all()
    assert (part.timeout_over_rtt >= 1.999).all() and (part.timeout_over_rtt < 2.3).all()


def test_silences(result: xr.Dataset) -> None:
    tail = result.silence_tail
    np.testing.assert_allclose(tail.isel(length=0), 1)
    assert (tail.diff("length") <= 1e-15).all()


def test_a_wrong_chain_is_told_from_a_right_one(result: xr.Dataset) -> None:
    """With independent loss the backoff of the simulated senders ends with the first new segment acknowledged
    (Karn), so the chain with two successes must be nearer than the one with three: by more than the intervals."""
    part = result.sel(link="independent")
    near, far = part.sel(chain="exact, two successes"), part.sel(chain="exact")
    assert (near.distance_high < far.distance_low).all()


def test_words_and_figure(comparison: SubPacketChainVsPackets, result: xr.Dataset) -> None:
    rows = summary(result)
    assert [(r["link"], r["chain"]) for r in rows] == [(link, chain) for link in LINKS for chain in CHAINS]
    assert "nan" not in comparison.paragraph(result)
    figure = comparison.figure(result)
    assert len(figure.data) == 6 * (3 + len(LINKS))


def test_same_seed_same_result(comparison: SubPacketChainVsPackets, result: xr.Dataset) -> None:
    again = comparison.run()
    assert again.identical(result)


def test_loads_are_checked() -> None:
    with pytest.raises(DomainError, match="flows must list"):
        SubPacketChainVsPackets(flows=())
    with pytest.raises(DomainError, match="replications must be at least 2"):
        SubPacketChainVsPackets(replications=1)
