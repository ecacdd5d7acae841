"""Queues with `linux`: one flow loses the packets that it loses in Linux, and laws that have a closed form hold."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.errors import ScenarioError
from tcpdynamics.validation.linux import OLD, installed, run_linux
from tcpdynamics.validation.packet import Bottleneck, Flows, Record, Scenario, simulate

#: (RTT [s], rate [bit/s], buffer [packet]) -> what Linux 7.2.13 sends again in 20 s, with CoDel and with FQ-CoDel.
SENT_AGAIN = {
    (0.05, 1e7, 300): [
        158, 243, 285, 332, 373, 409, 443, 474, 1611, 2621, 3631, 4641, 5651, 6661, 7671, 8681, 9691, 10701, 11711,
        12721, 13731,
    ],
    (0.0473, 1.0413e7, 300): [
        161, 249, 294, 342, 385, 422, 458, 490, 1610, 1644, 2638, 3651, 4664, 5677, 6690, 7703, 8716, 9729, 10742,
        11755, 12768, 13781,
    ],
    (0.2, 3.1e6, 500): [94, 121, 135, 151, 164, 177, 188, 198, 207, 215, 1637, 1694, 2962, 3019],
}  # fmt: skip


def alone(queue: str, case: tuple[float, float, int], rules: str, linux: int) -> Scenario:
    """One flow of Reno for 20 s."""
    rtt, rate, buffer = case
    flow = Flows(
        rtt=rtt, packet_size=1500, window_limit=1000, initial_window=2, min_rto=0.2, start_spread=0.0, rules=rules
    )
    link = Bottleneck(rate, buffer, queue=queue, queue_parameters={"linux": linux})
    return Scenario((flow,), link, 20.0, 0.0, epoch=1.0, record=Record(sends=True))


def sent_again(run: xr.Dataset) -> list[int]:
    """Segments that are not beyond all before."""
    sent = run["send_segment"].values
    before = np.maximum.accumulate(np.concatenate([[-1], sent[:-1]]))
    return [int(x) for x in sent[sent <= before]]


@pytest.mark.parametrize("queue", ["codel", "fq_codel"])
@pytest.mark.parametrize("case", SENT_AGAIN)
def test_one_flow_loses_what_it_loses_in_linux(queue: str, case: tuple[float, float, int]) -> None:
    assert sent_again(simulate(alone(queue, case, "linux", 1), 1)) == SENT_AGAIN[case]
    assert sent_again(simulate(alone(queue, case, "linux", 0), 1)) != SENT_AGAIN[case]


@pytest.mark.slow
@pytest.mark.parametrize("queue", ["codel", "fq_codel"])
@pytest.mark.parametrize("case", SENT_AGAIN)
def test_linux_does_so_still(queue: str, case: tuple[float, float, int]) -> None:
    if not installed():
        pytest.skip("Linux is not built")
    run = run_linux(alone(queue, case, "ns2", 0), 1, switches=OLD, controls=("reno",))
    assert sent_again(run) == SENT_AGAIN[case]


def gaps(queue: str, sender: str, **parameters: float) -> tuple[float, np.ndarray]:
    """The share of losses, and packets from loss to loss, of a flow that does not heed them: 120 packets where 100 fit.

    Five in six get through, so that a share of a sixth is lost; 1,000 s, after 1,000 s in which it settles.
    """
    flow = Flows(sender=sender, rtt=0.1, rate=9.6e5, packet_size=1000, start_spread=0.0)
    link = Bottleneck(8e5, 1000, queue=queue, queue_parameters={"linux": 1} | parameters)
    run = simulate(Scenario((flow,), link, 2000.0, 1000.0, epoch=10.0, record=Record(drops=True)), 1)
    lost = run["drop_segment"].values[run["drop_time"].values > 1000.0]
    return run["loss_rate"].item(), np.diff(lost)


def test_gaps_of_red_are_even_up_to_the_inverse_of_the_share() -> None:
    """The mean gap of even ones from 1 to m is (m + 1) / 2 = 6: m = 11, all alike."""
    loss, found = gaps("red", "cbr", min_threshold=5, max_threshold=105, p_max=1.0, weight=1e-4)
    assert loss == pytest.approx(1 / 6, rel=0.01)
    counts = np.bincount(found)
    expected = found.size / 11
    # Four standard deviations of a count, and what a share that wavers by a hundredth moves at the upper end
    # (the mean queue is over 10,000 packets).
    assert (np.abs(counts[1:11] - expected) < 4 * np.sqrt(expected)).all()
    assert counts[12:].sum() < 0.03 * found.size


def test_losses_of_pie_keep_their_distance() -> None:
    """None before the shares since the last add up to 0.85; by chance alone neighbours are lost most often."""
    found, loose = (gaps("pie", "poisson", linux=linux)[1] for linux in (1, 0))
    assert np.mean(found == 1) < 0.01 and np.mean(loose == 1) > 0.2


@pytest.mark.parametrize("name", ["gentle", "bytes", "wait", "ns2"])
def test_what_linuxs_red_has_not_is_refused(name: str) -> None:
    with pytest.raises(ScenarioError, match=rf"{name}: Linux's RED has no such thing"):
        Bottleneck(1e6, 50, queue="red", queue_parameters={"linux": 1, name: 1})
