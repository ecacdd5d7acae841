"""Chains of senders beside packets, the ladder of assumptions, and collapse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.errors import DomainError
from tcpdynamics.validation.comparisons import SenderChainSteps, SenderChainVsPackets
from tcpdynamics.validation.comparisons.ladder import CHAINS, MODELS, STEPS
from tcpdynamics.validation.comparisons.sender_chain import SENDERS
from tcpdynamics.validation.sender_chain import sender_chain
from tcpdynamics.validation.sender_chain.collapse import Backoff, collapse, silent_fraction


@pytest.fixture(scope="module")
def ladder() -> xr.Dataset:
    return SenderChainSteps(
        losses=(0.1, 0.2, 0.3), window=4, flows=(30, 60, 150, 400), duration=300.0, replications=3
    ).run()


@pytest.mark.slow
def test_no_sender_differs_from_its_chain() -> None:
    result = SenderChainVsPackets(losses=(0.05, 0.3), duration=1000.0, replications=10).run()
    assert result.sizes["sender"] == len(SENDERS) and "differs" not in result.verdict.values
    assert (result.distance_low == 0).all() and (result.noise > 0).all()
    for law in (result.predicted, result.simulated):
        assert np.allclose(law.sum("packets"), 1.0, atol=1e-9)
    assert str(result.sizes["loss"] * len(SENDERS)) in SenderChainVsPackets.paragraph(result)
    assert len(SenderChainVsPackets.figure(result).data) == len(SENDERS) + 1


def test_a_wrong_chain_differs() -> None:
    """The chain of a sender whose timer is longer than that of the packets."""
    comparison = SenderChainVsPackets(senders=("sack, rfc",), losses=(0.2,), duration=3000.0, replications=10)
    right = sender_chain("sack", 4, rules="rfc", timeout=2.0)
    wrong = sender_chain("sack", 4, rules="rfc", timeout=3.0)
    object.__setattr__(wrong, "setting", right.setting)
    assert float(comparison._case(wrong, 0.2, 0.95).distance_low) > 0.01
    assert float(comparison._case(right, 0.2, 0.95).distance_low) == 0.0


def test_models_give_distributions_and_chains_have_no_intervals(ladder: xr.Dataset) -> None:
    known = ladder.distribution.notnull().all("packets").values
    assert known[:5].all() and known.sum() > 15
    assert np.allclose(ladder.distribution.sum("packets").values[known], 1.0, atol=1e-9)
    for model in CHAINS:
        part = ladder.sel(model=model)
        assert np.allclose(part.distribution_low, part.distribution_high)
    queues = ladder.queue_distance
    assert (ladder.queue_distance_low <= queues).all() and (queues <= ladder.queue_distance_high).all()
    assert (queues > 0.02).all() and queues.sizes["flows"] == ladder.sizes["flows"]
    assert list(ladder.model.values) == list(MODELS) and list(ladder.step.values) == list(STEPS)


def test_the_step_between_chain_and_its_packets_is_none(ladder: xr.Dataset) -> None:
    step = ladder.sel(step="sender to independent")
    assert (step.distance_low == 0).all()
    summary = ladder.sel(step="karn to sender").distance
    gap = ladder.distribution.sel(model="sender") - ladder.distribution.sel(model="karn")
    assert np.allclose(summary, 0.5 * abs(gap).sum("packets"))


def test_consistent_losses_grow_with_flows_and_fill_the_link(ladder: xr.Dataset) -> None:
    made = SenderChainSteps(losses=(0.1,), window=4)
    for model in CHAINS:
        roots = ladder[f"loss_{model}"].values
        assert (np.diff(roots[np.isfinite(roots)]) > 0).all()
        at = float(roots[2])  # of 150 flows
        law = made._of_chain(model, at)
        carried = 150 * (law @ np.arange(len(law))) * (1 - at) / made.rtt * 4000
        assert carried == pytest.approx(1e6, rel=1e-4)
    assert len(SenderChainSteps.figure(ladder).data) == len(STEPS)
    assert len(SenderChainSteps.loss_figure(ladder).data) == len(CHAINS) + 2
    assert "0.000" in SenderChainSteps.paragraph(ladder)


@pytest.mark.parametrize("loss", [0.1, 0.25, 0.4])
@pytest.mark.parametrize("sender, rules", [("tahoe", "rfc"), ("reno", "ns2"), ("sack", "rfc")])
def test_levels_of_back_off_grow_by_the_closed_form(sender: str, rules: str, loss: float) -> None:
    """1 - (1-p)^2 with a window of one, 1 - (1-p)^3 (1+p) with larger ones."""
    assert Backoff(sender, 1, rules=rules).growth(loss) == pytest.approx(1 - (1 - loss) ** 2, rel=1e-13)
    for window in (2, 3, 4):
        found = Backoff(sender, window, rules=rules).growth(loss)
        assert found == pytest.approx(1 - (1 - loss) ** 3 * (1 + loss), rel=1e-13)


@pytest.mark.parametrize("setting", [{}, {"leap": True}, {"rules": "ns2"}, {"limited_transmit": True}])
def test_levels_of_back_off_grow_as_in_a_chain_with_many(setting: dict[str, Any]) -> None:
    """Timeouts of neighbouring levels in a whole chain, deep in its back-off."""
    words: dict[str, Any] = {"rules": "rfc"} | setting
    chain = (
        sender_chain("reno", 3, backoff_cap=9, **words)
        if words["rules"] == "ns2"
        else sender_chain("sack", 3, backoff_cap=14, **words)
    )
    for loss in (0.1, 0.3):
        counts = np.zeros(chain.setting.backoff_cap + 1)
        for time, count in chain.timeouts(loss).items():
            counts[round(math.log2(time / 2))] += count  # up to a round trip more than two, doubled
        ratio = counts[-2] / counts[-3]
        assert Backoff(chain.setting.sender, 3, **words).growth(loss) == pytest.approx(ratio, rel=1e-3)


def test_collapse_is_where_silence_takes_all() -> None:
    """Below, deeper back-off changes less and less; above, the rest goes on shrinking by 1/(2 rho) a level."""
    at = collapse("sack", 3, rules="rfc")
    assert at == pytest.approx(0.2663852521628645, abs=1e-13)
    assert collapse("reno", 1, rules="rfc") == pytest.approx(1 - math.sqrt(0.5), abs=1e-13)
    assert collapse("sack", 3, rules="rfc", leap=True) < at - 0.02  # LEAP stays silent sooner
    low, high = at - 0.08, at + 0.08
    silent = {(p, cap): silent_fraction("sack", 3, p, cap, rules="rfc") for p in (low, high) for cap in (13, 14, 15)}
    steps = [silent[low, cap + 1] - silent[low, cap] for cap in (13, 14)]
    assert 0 < steps[1] < 0.85 * steps[0]
    rest = [1 - silent[high, cap] for cap in (13, 14, 15)]
    rho = 1 - (1 - high) ** 3 * (1 + high)
    assert rest[2] / rest[1] == pytest.approx(1 / (2 * rho), rel=0.02)


@pytest.mark.parametrize(
    "kind, values, words",
    [
        (SenderChainVsPackets, {"senders": ("cubic",)}, "senders must list some of"),
        (SenderChainVsPackets, {"losses": (1.5,)}, r"losses must lie in \(0, 1\), got 1.5"),
        (SenderChainVsPackets, {"replications": 1}, "replications must be at least 2"),
        (SenderChainVsPackets, {"losses": ()}, "losses must list"),
        (SenderChainSteps, {"losses": (0.2, 0.1)}, "losses must increase"),
        (SenderChainSteps, {"losses": (0.0, 0.1)}, r"losses must lie in \(0, 1\)"),
        (SenderChainSteps, {"window": 9}, "window must be 4, 5 or 6"),
        (SenderChainSteps, {"replications": 1}, "replications must be at least 2"),
    ],
)
def test_bad_settings(kind: type, values: dict[str, object], words: str) -> None:
    with pytest.raises(DomainError, match=words):
        kind(**values)
