"""Lock-out: the comparison, and the chain's table by a simulation of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tcpdynamics.errors import DomainError
from tcpdynamics.models import SubPacketExact, collapse_threshold
from tcpdynamics.validation.comparisons import LockOut
from tcpdynamics.validation.comparisons.comparison import TOLERANCE
from tcpdynamics.validation.comparisons.lock_out import CHAINS, INDEPENDENT, NS2, ONE_LOSS, PAPER, TWO_LOSSES
from tcpdynamics.validation.ns2 import installed


@pytest.fixture(scope="module")
def locked() -> Any:
    runs = (PAPER, "jitter", "priority", INDEPENDENT)
    return LockOut(runs=runs, duration=400.0, replications=4).run()


def test_lost_retransmissions_lock_flows_out(locked: Any) -> None:
    """Half of what timeouts send again is lost, and the chain needs that loss to say what packets say."""
    paper = locked.sel(run=PAPER)
    assert 0.28 < float(paper.locked_out) < 0.42  # the paper: 0.3, ns-2: 0.34 to 0.38
    assert float(paper.loss_timeout) > 3 * float(paper.loss_new)
    assert float(paper.predicted.sel(chain=ONE_LOSS)) < 0.02
    assert abs(float(paper.gap.sel(chain=TWO_LOSSES))) < 0.1
    for name in ("jitter", "priority", INDEPENDENT):
        assert float(locked.locked_out_high.sel(run=name)) < 0.15, name
    assert float(locked.expected) == pytest.approx(0.058, abs=0.001)


def test_independent_losses_are_what_the_chain_says(locked: Any) -> None:
    alone = locked.sel(run=INDEPENDENT)
    assert (alone.verdict == "agrees").all()
    assert float(alone.loss) == pytest.approx(float(locked.loss.sel(run=PAPER)), rel=0.05)


def test_gaps_intervals_and_verdicts_belong_together(locked: Any) -> None:
    assert (locked.gap_low <= locked.gap).all() and (locked.gap <= locked.gap_high).all()
    np.testing.assert_allclose(locked.gap, (locked.locked_out - locked.predicted).transpose(*locked.gap.dims))
    outside = (locked.gap_low > TOLERANCE) | (locked.gap_high < -TOLERANCE)
    assert ((locked.verdict == "differs") == outside).all()


def test_figure_and_paragraph(locked: Any) -> None:
    assert len(LockOut.figure(locked).data) == 2 + len(CHAINS)
    text = LockOut.paragraph(locked)
    assert "in ns-2" in text and "independent" in text and "nan" not in text


def test_the_same_seed_gives_the_same_numbers() -> None:
    short = {"runs": (PAPER, INDEPENDENT), "flows": 40, "duration": 260.0, "replications": 2}
    first, again, other = (LockOut(**short, seed=s).run() for s in (1, 1, 2))
    assert first.locked_out.equals(again.locked_out) and not first.loss.equals(other.loss)


@pytest.mark.slow
@pytest.mark.skipif(not installed(), reason="needs ns-2")
def test_ns2_says_what_was_written_down() -> None:
    for name, (mean, low, high) in LockOut().beside_ns2().items():
        assert (mean, low, high) == pytest.approx(NS2[name], abs=1e-4), name


def test_a_runs_slices_in_ns2_are_its_goodput() -> None:
    if not installed():
        pytest.skip("needs ns-2")
    from tcpdynamics.validation.ns2 import run_ns2

    made = LockOut(flows=10, duration=120.0, warm_up=20.0).scenario("spread RTTs")
    run = run_ns2(made)
    assert run.slice_goodput.shape == (5, 10)
    assert (run.slice_goodput.sum("slice") == run.goodput).all()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"runs": ("nothing",)}, "runs must list some of"),
        ({"runs": ("jitter",)}, "runs must begin with as in the paper"),
        ({"flows": 1}, "flows must be at least 2"),
        ({"replications": 1}, "replications must be at least 2"),
    ],
)
def test_what_cannot_be_compared_is_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DomainError, match=sentence):
        LockOut(**settings)


@pytest.mark.parametrize(
    ("p", "p_r", "idle", "nothing"),
    [
        (0.1679, 0.1679, 0.5349, 0.0584),
        pytest.param(0.2103, 0.0, 0.4875, 0.0157, marks=pytest.mark.slow),
        pytest.param(0.1393, 0.2786, 0.5735, 0.1123, marks=pytest.mark.slow),
        (0.2939, 0.0, 0.6798, 0.0505),
    ],
)
def test_the_chain_with_two_losses_by_playing_the_rules(p: float, p_r: float, idle: float, nothing: float) -> None:
    """One chain (W = 6, K = 5, three successes), by a sender that follows the rules packet by packet.

    Within 4 standard errors over independent senders.
    """
    rng = np.random.default_rng(3)
    flows, epochs, window = 2000, 2000, 50
    w = np.full(flows, 2)  # window; 1: the retransmission
    level = np.zeros(flows, int)
    ladder = np.zeros(flows, bool)
    wait = np.zeros(flows, int)
    silent = np.zeros(flows)
    parts, got = [], np.zeros(flows)
    for epoch in range(-3000, epochs):
        idle_now = wait > 0
        arrived = rng.random((flows, 6)) >= p
        count = np.where(np.arange(6) < w[:, None], arrived, 0).sum(1)
        single = rng.random(flows) >= p_r
        count = np.where(w == 1, single, count)
        repaired = (count == w - 1) & (w >= 4) & ~ladder
        copy = repaired & (rng.random(flows) >= p)
        whole = count == w
        if epoch >= 0:
            silent += idle_now
            got += np.where(idle_now, 0, count + copy)
            if (epoch + 1) % window == 0:
                parts.append((got == 0).mean())
                got[:] = 0
        failed = ~whole & ~copy & ~idle_now
        ended = whole & ladder & (w == 2) & ~idle_now  # the third success in a row
        ladder_before = ladder.copy()
        grown = np.where(w == 1, 2, np.minimum(w + 1, 6))
        w = np.where(idle_now, w, np.where(whole, grown, np.where(copy, np.maximum(w // 2, 2), 1)))
        ladder = np.where(idle_now, ladder, np.where(ended, False, ladder | failed))
        level = np.where(failed, np.where(ladder_before, np.minimum(level + 1, 5), 0), level)
        wait = np.where(idle_now, wait - 1, np.where(failed, 2 * 2**level - 1, 0))
    share = silent / epochs
    assert share.mean() == pytest.approx(idle, abs=4 * share.std() / np.sqrt(flows) + 1e-4)
    assert np.mean(parts) == pytest.approx(nothing, abs=4 * np.std(parts) / np.sqrt(len(parts)) + 1e-3)


def test_perfect_priority_moves_the_threshold_to_that_of_one_success_less() -> None:
    """s = 1 - (1 - p)^2 in place of 1 - (1 - p)^3: from 0.2063 to 0.2929."""
    for p in (0.1, 0.2, 0.29):
        first = SubPacketExact(loss=p, retransmission_loss=0.0).repeat_probability()
        assert first == pytest.approx(SubPacketExact(loss=p, collapse=2).repeat_probability())
    assert collapse_threshold(2) == pytest.approx(0.2929, abs=5e-5)
    s = SubPacketExact(loss=collapse_threshold(2), retransmission_loss=0.0).repeat_probability()
    assert s == pytest.approx(0.5)


def test_a_link_without_timeouts_is_refused_in_a_sentence():
    few = LockOut(runs=("as in the paper", "no backoff"), flows=2, rate=1e7, duration=240.0, replications=2)
    with pytest.raises(DomainError, match="flows = 2 never time out"):
        few.run()
