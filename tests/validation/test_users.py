"""Web users: connections that begin again are new ones, users wait as their trace says, books balance."""

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.errors import ScenarioError
from tcpdynamics.validation.packet import (
    Bottleneck,
    Drop,
    Flows,
    Link,
    Record,
    Scenario,
    load_scenario,
    ready_scenarios,
    replicate,
    simulate,
)
from tcpdynamics.validation.packet.measures import measure
from tcpdynamics.validation.statistics import two_sample

LARGE = {"packet_size": 1000, "window_limit": 1000}


def web(*flows, rate=1e7, buffer=100, loss=0.0, **options):
    times = {"duration": 100.0, "warm_up": 1.0} | options
    return simulate(Scenario(flows, Bottleneck(rate, buffer, loss), **times))


@pytest.mark.parametrize("rules", ["ns2", "rfc"])
@pytest.mark.parametrize("sender", ["sack", "newreno", "tahoe"])
def test_the_cycle_is_think_time_and_transfer(sender, rules):
    """Alone on an idle link each connection takes as long as the first, to the last bit of the clock."""
    flow = Flows(1, sender, rules, rtt=0.1, segments=20, think=1.25, think_distribution="fixed", **LARGE)
    result = web(flow, clock="grid")
    single = web(Flows(1, sender, rules, rtt=0.1, segments=20, **LARGE), clock="grid").completion_time.item()
    finished = result.connection_time.values[:-1]
    assert len(finished) > 50 and (finished == single).all()
    assert (np.diff(result.connection_start.values) == single + 1.25).all()
    assert result.connection_goodput.values[0] == 20 * 8000 / single
    assert result.transferred.item() == (len(finished) * (20 + (rules == "ns2"))) + _open(result, rules)


def _open(result, rules):
    """Segments of the last connection that are acknowledged at the end of the run."""
    whole = len(result.connection_time) - 1
    return int(result.transferred.item()) - whole * (20 + (rules == "ns2"))


@pytest.mark.parametrize("rules", ["ns2", "rfc"])
def test_a_connection_that_begins_again_is_a_new_one(rules):
    """With losses, in distribution: what is left of an older connection under way does no harm."""
    options = {"rules": rules, "rtt": 0.05, "segments": 15, "jitter": 0.03, "min_rto": 0.2, **LARGE}
    result = web(Flows(1, think=0.02, **options), loss=0.08, duration=300.0)
    again = result.connection_time.values
    again = xr.DataArray(again[np.isfinite(again)], dims="replication")
    fresh = replicate(
        Scenario((Flows(1, **options),), Bottleneck(1e7, 100, 0.08), duration=100.0, warm_up=1.0), 150
    ).completion_time[:, 0]
    assert again.size > 100 and fresh.notnull().all()
    # Medians and logarithms: timeouts make heavy tails.
    difference = two_sample(np.log(again), np.log(fresh.drop_vars("seed")), level=0.999)
    assert float(difference["low"]) < 0.0 < float(difference["high"])


def test_users_on_a_shared_link_are_a_closed_network():
    """Fixed windows without losses share a link as processors do; mean value analysis is exact for any sizes."""
    users, think, segments, rtt = 6, 0.5, 200, 0.004
    flow = Flows(
        users, rtt=rtt, segments=segments, segments_shape=2.5, think=think, pool=1, packet_size=1000, window_limit=12
    )
    runs = [
        simulate(Scenario((flow,), Bottleneck(1e7, 1000), duration=1500.0, warm_up=1.0, seed=seed)) for seed in range(4)
    ]
    service, queue = segments * 8000 / 1e7, 0.0
    for n in range(1, users + 1):
        response = service * (1 + queue)
        queue = n * response / (think + response)
    times = [np.nanmean(run.connection_time.values) for run in runs]
    # Handshake and slow start to a window of 12 add at most 4 round trips; four runs have 3 standard errors of 4 %.
    spread = 3 * np.std(times, ddof=1) / 2
    assert response - spread < np.mean(times) < response + 4 * rtt + 0.02 * response + spread


def test_hangs_are_those_of_the_trace():
    """Eight users with three long connections each on a crowded link: gaps between receipts, one by one."""
    flow = Flows(24, rtt=(0.1, 0.12), pool=3, overhead=0.01)
    result = web(flow, rate=8e4, buffer=4, record=Record(receives=True), duration=200.0, warm_up=20.0)
    for user in range(8):
        mine = result.receive_flow.values // 3 == user
        times = np.sort(result.receive_time.values[mine])
        start = result.start.values[3 * user : 3 * user + 3].min()
        edges = np.concatenate([[max(20.0, start)], times[times > 20.0], [200.0]])
        gaps = np.diff(edges)
        assert result.longest_hang.values[user] == pytest.approx(gaps.max(), abs=1e-9)
        counts = (gaps[:, None] >= result.hang_length.values).sum(0)
        assert (result.hangs.values[user] == counts).all()
    assert result.hangs.values[:, 0].sum() > 20


def test_a_user_who_thinks_does_not_hang():
    flow = Flows(1, rtt=0.1, segments=5, think=30.0, think_distribution="fixed", pool=1)
    assert 0.05 < web(flow).longest_hang.item() < 0.2


def crowd(clock, scheduler="calendar", seed=3, record=None):
    """Users of both rule books on a network with losses, queues both ways, delayed acknowledgements and marks."""
    links = (Link("a", "b", 4e5, 0.02, buffer=8, loss=0.02), Link("b", "c", 3e5, 0.01, buffer=9, queue="red"))
    flows = (
        Flows(8, "sack", source="a", target="c", segments=12, segments_shape=1.5, think=0.3, pool=4),
        Flows(4, "newreno", "rfc", source="c", target="a", segments=9, think=0.1, delayed_ack=0.1, timestamps=True),
        Flows(2, "reno", source="a", target=("b", "c"), segments=7, think=0.5, stop=6.0, overhead=0.01, ecn=True),
        Flows(2, "sack", "rfc", source="a", target="c", pool=2, control="cubic"),
        Flows(1, "poisson", source="a", target="c", rate=5e4),
    )
    return Scenario(
        flows, None, 9.0, 2.0, epoch=0.1, slice=1.0, links=links, clock=clock, scheduler=scheduler, seed=seed,
        record=record or Record(sends=True, receives=True, drops=True),
    )  # fmt: skip


def digest(result):
    names = sorted(name for name, values in result.data_vars.items() if values.dtype.kind in "iuf")
    return hashlib.sha256(b"".join(np.ascontiguousarray(result[name].values).tobytes() for name in names)).hexdigest()


@pytest.mark.parametrize("clock", ["grid", "double"])
def test_books_balance_and_lists_of_events_agree(clock):
    result = simulate(crowd(clock))  # which checks that every packet is in one place
    assert result.sizes["connection"] > 20 and digest(result) == digest(simulate(crowd(clock)))
    assert digest(result) == digest(simulate(crowd(clock, "heap")))
    done = result.connection_finish.notnull()
    assert int((result.connection_finish >= 2.0).sum()) == int(result.connections_finished.sum())
    assert (result.connection_time.values[done] > 0).all()
    late = result.connection_start.values[np.isin(result.connection_flow.values, [12, 13])]
    assert (late < 6.0).all()  # nothing begins after `stop`


def test_connections_are_counted_after_the_warm_up():
    result = simulate(crowd("grid"))
    late = result.connection_finish.values >= 2.0
    measures = measure(result)
    assert 0 < measures["connections"] == late.sum() < result.connection_finish.notnull().sum()
    assert measures["connection_time"] == result.connection_time.values[late].mean()
    of_flow = result.connection_flow.values
    some = np.unique(of_flow[late])
    mean = [result.connection_time.values[late & (of_flow == i)].mean() for i in some]
    assert np.allclose(result.mean_connection_time.values[some], mean)


@pytest.mark.slow
def test_many_drawn_seeds_balance():
    for seed in range(200):
        simulate(crowd("grid" if seed % 2 else "double", seed=seed, record=Record()))


def test_the_table_of_connections_grows():
    result = web(Flows(3, rtt=0.002, segments=1, think=0.0, handshake=False), rate=1e8, duration=5.0)
    assert result.sizes["connection"] > 5000


def test_replications_have_users_but_no_table():
    flow = Flows(4, rtt=0.1, segments=5, think=0.5, pool=2)
    result = replicate(Scenario((flow,), Bottleneck(1e6, 20), duration=20.0, warm_up=1.0), 2)
    assert result.longest_hang.shape == (2, 2) and "connection_time" not in result


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"think": 1.0}, "flows.think needs flows.segments"),
        ({"think": -1.0, "segments": 3}, "flows.think must be a number in"),
        ({"pool": 4}, "flows.count must be a multiple of flows.pool = 4"),
        ({"pool": 0}, "flows.pool must be"),
        ({"think": 1.0, "segments": 3, "think_distribution": "uniform"}, "flows.think_distribution must be one of"),
        ({"think": 1.0, "segments": 3, "sender": "cbr", "rate": 1e5}, "flows.think is for TCP"),
    ],
)
def test_refusals(options, says):
    with pytest.raises(ScenarioError, match=says):
        Flows(6, **options)


def test_a_segment_to_lose_must_be_one():
    with pytest.raises(ScenarioError, match="begins again"):
        Scenario((Flows(segments=5, think=1.0),), drops=(Drop(0, segment=2),))


@pytest.mark.slow
def test_interpreted_users_are_the_same():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, env=environment, check=True)
    assert json.loads(done.stdout) == {clock: digest(simulate(crowd(clock))) for clock in ("grid",)}


def test_the_ready_scenario_has_pools():
    assert {group.pool for group in load_scenario(ready_scenarios()["web_users"]).flows} == {4}


if __name__ == "__main__":
    print(json.dumps({clock: digest(simulate(crowd(clock))) for clock in ("grid",)}))
