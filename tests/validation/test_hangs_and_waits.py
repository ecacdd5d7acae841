"""Hangs of users against a count by hand, and waiting times that no discipline's bookkeeping moves."""

import itertools
import math

import numpy as np
import pytest
import scipy.optimize

from tcpdynamics.validation.packet import Bottleneck, Flows, Link, Record, Scenario, simulate
from tcpdynamics.validation.packet.engine import execute
from tcpdynamics.validation.packet.kernel.queues import DISCIPLINES
from tcpdynamics.validation.packet.kernel.records import WAITS
from tcpdynamics.validation.packet.kernel.waits import percentiles
from tcpdynamics.validation.packet.result import dataset


def hangs_by_hand(result, warm_up, duration):
    """(longest hang of each user, hangs by length) from the connections and the receipts."""
    finish = np.nan_to_num(result["connection_finish"].values, nan=duration)
    start, users = result["connection_start"].values, result["connection_user"].values
    owner = dict(zip(result["connection_flow"].values.tolist(), users.tolist(), strict=True))
    receipts = np.array([owner.get(flow, -1) for flow in result["receive_flow"].values.tolist()])
    lengths, longest = result["hang_length"].values, []
    counts = np.zeros(len(lengths), int)
    for user in range(result.sizes["user"]):
        spans: list[list[float]] = []
        for first, last in sorted(zip(start[users == user], finish[users == user], strict=True)):
            if spans and first <= spans[-1][1]:
                spans[-1][1] = max(spans[-1][1], last)
            elif last > warm_up:
                spans.append([first, last])
        times = result["receive_time"].values[receipts == user]
        waits = [0.0]
        for first, last in spans:
            first = max(first, warm_up)
            points = [first, *times[(times > first) & (times <= last)], *([last] if last >= duration else [])]
            waits += [b - a for a, b in itertools.pairwise(points)]
        longest.append(max(waits))
        counts += (np.array(waits)[:, None] >= lengths).sum(0)
    return np.array(longest), counts


@pytest.mark.parametrize("rules", ["rfc", "ns2"])
@pytest.mark.parametrize("clock", ["grid", "double"])
def test_hangs_are_those_counted_by_hand(rules, clock):
    """A queue of many seconds: data on the way outlasts connections, and copies come when none is open."""
    crowd = Flows(30, pool=1, segments=2, think=5.0, rtt=(0.19, 0.21), rules=rules, start_spread=20.0)
    scenario = Scenario(
        (crowd,), Bottleneck(2e4, 500), 300.0, 30.0, clock=clock, record=Record(receives=True), epoch=1.0
    )
    result = simulate(scenario)
    longest, counts = hangs_by_hand(result, 30.0, 300.0)
    assert counts[1] > 100
    assert result["longest_hang"].values == pytest.approx(longest, abs=1e-6)
    assert result["hangs"].values.sum(0).tolist() == counts.tolist()


def test_late_copies_are_no_hang():
    """One user behind a queue of six seconds; nothing is open after 14.2 s, and copies come until 20 s."""
    before = Flows(sender="cbr", rate_steps=((0.0, 2e6), (6.0, 1e6)), packet_size=500, rtt=0.1)
    user = Flows(rules="rfc", segments=2, think=60.0, think_distribution="fixed", pool=1, rtt=0.1, start=8.0)
    result = simulate(Scenario((before, user), Bottleneck(1e6), 50.0, 14.5, epoch=0.1, record=Record(receives=True)))
    late = result["receive_time"].values[result["receive_flow"].values == 1]
    assert (late > 14.5).sum() >= 2 and result["connection_finish"].values[0] < 14.5
    assert result["longest_hang"].item() == 0.0 and result["hangs"].values.sum() == 0


def test_waiting_times_do_not_depend_on_how_a_discipline_refuses():
    """Priorities among flows of one priority are drop-tail: the same packets, queues and waits."""
    flows = (Flows(20, rules="rfc", source="a", target="b", jitter=0.01),)
    waits = {
        queue: simulate(
            Scenario(flows, None, 60.0, 10.0, links=(Link("a", "b", 1e6, 0.05, 10, queue=queue, service="served"),))
        ).sel(link="a->b")
        for queue in ("droptail", "priority")
    }
    one, other = waits.values()
    assert one["link_dropped"] == other["link_dropped"] > 0
    assert one["link_mean_queue"].item() == pytest.approx(other["link_mean_queue"].item(), rel=1e-9)
    assert one["link_mean_wait"].item() == pytest.approx(other["link_mean_wait"].item(), rel=1e-9)


def md1(load: float, wait: float) -> float:
    """P(W <= wait transmission times) of Poisson arrivals at a link without a limit (Erlang 1909)."""
    terms = [(load * (k - wait)) ** k / math.factorial(k) * math.exp(-load * (k - wait)) for k in range(int(wait) + 1)]
    return (1 - load) * sum(terms)


@pytest.mark.parametrize("service", ["analytic", "served"])
def test_percentiles_of_waiting_times_are_those_of_poisson_arrivals(service):
    load, tx = 0.7, 0.004
    flow = Flows(sender="poisson", rate=load * 1e6, packet_size=500, source="a", target="b")
    link = Link("a", "b", 1e6, 0.05, None, service=service)
    result = simulate(Scenario((flow,), None, 4000.0, 100.0, links=(link,)))
    for name, share in (("median_wait", 0.5), ("wait_p95", 0.95), ("wait_p99", 0.99)):
        exact = tx * scipy.optimize.brentq(lambda wait, share=share: md1(load, wait) - share, 0, 12)
        assert result[name].item() == pytest.approx(exact, rel=0.05), name
        assert result[f"link_{name}"].sel(link="a->b").item() == result[name].item()


@pytest.mark.parametrize("queue", DISCIPLINES)
def test_every_packet_that_a_link_sends_has_a_waiting_time(queue):
    """Their mean is the mean queue over the rate (Little), where none is dropped after it has waited."""
    flows = (Flows(8, rules="rfc", ecn=False, rtt=(0.05, 0.1)),)
    scenario = Scenario(flows, Bottleneck(2e6, 30, queue=queue), 60.0, 10.0)
    run = execute(scenario, 1)
    counts, result = run.sim.waits[0], dataset(scenario, 1, run)
    sent = int(result["link_arrived"][0] - result["link_dropped"][0])
    assert abs(int(counts.sum()) - sent) <= 31 + 8  # in the queue at either end
    middles = percentiles(np.eye(WAITS, dtype=int), (0.5,))[:, 0]
    if not result.get("link_evicted", np.zeros(1))[0]:
        assert counts @ middles / counts.sum() == pytest.approx(result["mean_wait"].item(), rel=0.03)
    assert 0 <= result["median_wait"] <= result["wait_p95"] <= result["wait_p99"]
