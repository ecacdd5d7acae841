"""The comparison of the sub-packet chain with packets: its bookkeeping, and that it can tell right from wrong."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.errors import InputError
from tcpdynamics.models import SubPacketExact, SubPacketFull
from tcpdynamics.paper_figures.registry import figures
from tcpdynamics.solvers import DomainError, stationary
from tcpdynamics.validation.comparisons import SubPacketChainVsPackets
from tcpdynamics.validation.comparisons.sub_packet import CHAINS, LINKS, PARAMETERS, comparison_of, summary


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
    """That of the mean law, at least the largest gap of one event, at most one."""
    assert (result.distance >= abs(result.gap).max("packets") - 1e-12).all()
    np.testing.assert_allclose(result.distance, 0.5 * abs(result.gap).sum("packets"), atol=1e-12)
    assert (result.distance <= 1).all()


def test_verdicts_follow_the_interval(result: xr.Dataset) -> None:
    for low, high, verdict in zip(
        *(result[name].values.ravel() for name in ("distance_low", "distance_high", "verdict")), strict=True
    ):
        beyond = "differs" if low > 0.10 else "undecided"
        assert verdict == ("agrees" if high <= 0.05 else "close" if high <= 0.10 else beyond)


def test_independent_link_is_what_was_asked_for(result: xr.Dataset) -> None:
    """Same loss for all kinds of packets, equal to the one that drop-tail showed, and a timer of two RTTs."""
    part = result.sel(link="independent")
    asked = result.loss.sel(link="drop-tail")
    assert (abs(part.loss - asked) <= 3 * (part.loss_high - part.loss_low)).all()
    assert (abs(part.loss_timeout - part.loss_other) <= 3 * (part.loss_timeout_high - part.loss_timeout_low)).all()
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


def test_every_parameter_of_the_chains_is_a_field_with_their_default() -> None:
    """But for the loss, which is measured: a parameter that a chain gains is one of the comparison, too."""
    own = {f.name: f.default for f in fields(SubPacketChainVsPackets)}
    for kind in (SubPacketFull, SubPacketExact):
        theirs = {f.name: f.default for f in fields(kind) if f.name != "loss"}
        assert theirs.items() <= own.items() and set(theirs) <= set(PARAMETERS)


@pytest.fixture(scope="module")
def wide() -> xr.Dataset:
    """Chains with windows of up to nine packets, on short runs."""
    changes: dict[str, Any] = {"w_max": 9, "collapse": 1, "backoff_cap": 4, "early_retransmit": True}
    return SubPacketChainVsPackets(
        flows=[40], duration="150s", warm_up=50.0, replications=2, base_timeout=3, **changes
    ).run()


def test_windows_of_another_size(wide: xr.Dataset) -> None:
    """Packets are counted up to w_max, by chains and simulations alike, and the figure has a panel for each."""
    assert wide.packets.values.tolist() == list(range(10))
    np.testing.assert_allclose(wide.simulated.sum("packets"), 1, rtol=1e-12)
    assert (wide.simulated.sel(packets=8) > 0).all()
    own = comparison_of(wide)
    part = wide.sel(flows=40, link="drop-tail")
    exact = SubPacketExact(
        loss=part.loss.item(), w_max=9, base_timeout=3, collapse=1, backoff_cap=4, early_retransmit=True
    )
    expected = exact.observe(stationary(exact.chain())).sent.values
    np.testing.assert_allclose(part.predicted.sel(chain="exact"), expected, atol=2e-3)
    figure = own.figure(wide)
    assert len(figure.data) == 9 * (3 + len(LINKS))
    changed = "w_max = 9, base_timeout = 3, early_retransmit = True, backoff_cap = 4, collapse = 1"
    assert figure.layout.title.text == f"Chains with {changed}"
    text = own.paragraph(wide)
    assert text.startswith(f"The chains have {changed}. Within 0.1")
    assert (
        "largest window, 9 packets, or more" in text and "the timeout 3 RTT" in text and "with one success is" in text
    )
    assert all(0 <= row["gap_packets"] < 9 for row in summary(wide))
    assert len(own.silence_figure(wide, 40).data) == 3 * len(LINKS) + 2
    assert len(own.loss_figure(wide).data) == 6


def test_the_lowest_panel_of_each_column_has_the_axis(wide: xr.Dataset) -> None:
    """With eight panels the third column ends a row above the others."""
    stored = json.loads(wide.attrs["parameters"]) | {"w_max": 8}
    figure = SubPacketChainVsPackets.figure(wide.assign_attrs(parameters=json.dumps(stored)))
    assert figure.layout.height == 930
    titled = [n for n in range(1, 10) if figure.layout[f"xaxis{n if n > 1 else ''}"].title.text]
    assert titled == [6, 7, 8, 9] and figure.layout.xaxis6.showticklabels is True


def test_the_link_without_a_queue_follows_the_chains() -> None:
    """Its senders have the chains' largest window, timeout and backoff; on other links they keep their own."""
    changed = SubPacketChainVsPackets(flows=(20,), w_max=12, base_timeout=4, backoff_cap=3)
    drop_tail = changed.scenario("drop-tail", 20)
    assert drop_tail.most_in_epoch == 12 and drop_tail.flows[0].window_limit == 64
    measured = xr.Dataset({"mean_rtt": 0.3, "base_rtt": 0.2, "loss_rate": 0.1})
    (flows,) = changed.scenario("independent", 20, measured).flows
    assert (flows.window_limit, flows.max_backoff) == (12, 8)
    assert flows.min_rto == pytest.approx(4 * 0.3)


def test_resent_packets_that_are_never_lost() -> None:
    """The loss of timeout retransmissions reaches every chain that does not measure its own."""
    own = SubPacketChainVsPackets(flows=(100,), retransmission_loss="0%")
    assert own.changed() == "retransmission_loss = 0.0"
    for kind in (SubPacketFull, SubPacketExact):
        assert own.chain_model(kind, 0.1).retransmission_loss == 0
    default = SubPacketChainVsPackets(flows=(100,))
    assert own._predicted_loss().loss_predicted > 1.01 * default._predicted_loss().loss_predicted


def test_what_is_said_of_low_loss_is_measured(wide: xr.Dataset) -> None:
    """How often windows reach the largest, where there is a queue; senders without one are held to it."""
    low = wide.assign(loss=xr.full_like(wide.loss, 0.05))
    text = SubPacketChainVsPackets.paragraph(low)
    shares = low.simulated.sel(packets=9, flows=40).drop_sel(link="independent").values
    assert (
        f"(3 cases), an epoch has the chains' largest window, 9 packets, or more with probability {shares.min():.2g} "
        in text
    )
    rare = SubPacketChainVsPackets.paragraph(low.assign(simulated=0 * low.simulated))
    assert "with probability 0 to 0 (in more than 5% of the epochs: nowhere)" in rare
    often = low.simulated.where(low.link != "spread", 0.06)
    assert "of the epochs: spread with 40 flows)" in SubPacketChainVsPackets.paragraph(
        low.assign(simulated=often.where(low.link == "spread", 0))
    )
    assert "largest window" not in SubPacketChainVsPackets.paragraph(wide.assign(loss=low.loss + 0.1))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"w_max": 3}, r"w_max must be a whole number in \[4, 1000\], got 3"),
        ({"w_max": [6, 8]}, r"w_max must be one whole number, got \[6, 8\]"),
        ({"w_max": "8"}, "w_max must be .* number.*, got '8'"),
        ({"base_timeout": 1.5}, r"base_timeout must lie in \[2, 1e\+06\), got 1.5"),
        ({"base_timeout": [2.0, 3.0]}, "base_timeout must be one number, got .*; compare once for each"),
        ({"retransmission_loss": 0.5}, r"retransmission_loss must lie in \[0, 0.5\), got 0.5"),
        ({"early_retransmit": 1}, "early_retransmit must be True or False, got 1"),
        ({"stages": 0}, r"stages must be a whole number in \[1, 1000\], got 0"),
        ({"backoff_cap": 61}, r"backoff_cap must be a whole number in \[0, 60\], got 61"),
        ({"collapse": 4}, r"collapse must be a whole number in \[1, 3\], got 4"),
        ({"flows": 100}, "flows must list whole numbers >= 1, got 100"),
        ({"flows": (2.5,)}, "flows must list whole numbers >= 1"),
        ({"base_rtt": (0.1, 0.2, 0.3)}, "base_rtt must be one time, or a pair"),
        ({"rate": "fast"}, "rate must be a number with one of the units"),
        ({"sender": "vegas"}, "flows.sender must be one of"),
    ],
)
def test_what_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as refusal:
        SubPacketChainVsPackets(**fields)
    assert "\n" not in str(refusal.value)


def test_older_results_are_drawn_as_before(comparison: SubPacketChainVsPackets, result: xr.Dataset) -> None:
    """Results from before the chains' parameters were fields do not name them: they are the default ones."""
    stored = json.loads(result.attrs["parameters"])
    older = result.assign_attrs(parameters=json.dumps({k: v for k, v in stored.items() if k not in PARAMETERS}))
    assert comparison_of(older) == comparison and comparison.changed() == ""
    assert comparison.figure(older).layout.title.text is None
    assert comparison.paragraph(older) == comparison.paragraph(result)


def test_loads_are_checked() -> None:
    with pytest.raises(DomainError, match="flows must list"):
        SubPacketChainVsPackets(flows=())
    with pytest.raises(DomainError, match="replications must be at least 2"):
        SubPacketChainVsPackets(replications=1)


def test_the_comparison_says_how_far_it_is() -> None:
    shares: list[float] = []
    short = {"flows": (20, 30), "duration": 20.0, "warm_up": 5.0, "replications": 2}
    figures()["sub_packet.fig9"].solve(quick=True, progress=shares.append, **short)
    assert shares == sorted(shares) and len(shares) > 2 and shares[-1] == 1.0
