"""Links: when packets leave and arrive, what finds no room, and which way they take."""

import dataclasses

import numpy as np
import pytest

from tcpdynamics.validation.packet import Bottleneck, Drop, Flows, Link, Record, Scenario, ScenarioError, simulate
from tcpdynamics.validation.packet.scenario import topologies

SERVICES = ("analytic", "served")
ALL = Record(sends=True, receives=True, drops=True, queues=0.0)


def network(links, *flows, duration=10.0, **options):
    given = {"warm_up": 0.0, "epoch": 0.1, "slice": 1.0, "clock": "grid"} | options
    return Scenario(flows, links=tuple(links), duration=duration, **given)


def cbr(source, target, rate, size=500, **options):
    return Flows(sender="cbr", source=source, target=target, rate=rate, packet_size=size, **options)


# Times of one packet.


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("clock", ["grid", "double"])
def test_one_packet_over_three_links(service, clock):
    """Sending times 4, 8, 1 ms and delays 10, 20, 30 ms there; 0.32, 0.64, 0.08 ms and the same delays back."""
    links = [
        Link("a", "b", 1e6, 0.01, service=service),
        Link("b", "c", 5e5, 0.02, service=service),
        Link("c", "d", 4e6, 0.03, service=service),
    ]
    flow = Flows(source="a", target="d", rules="rfc", segments=1, initial_window=1)
    result = simulate(network(links, flow, clock=clock, record=dataclasses.replace(ALL, windows=0.0)))
    there = 0.004 + 0.01 + 0.008 + 0.02 + 0.001 + 0.03
    back = 0.00032 + 0.03 + 0.00064 + 0.02 + 0.00008 + 0.01
    assert result["receive_time"].item() == pytest.approx(there, abs=1e-10)
    assert result["mean_rtt"].item() == pytest.approx(there + back, abs=1e-10)
    assert result["base_rtt"].item() == pytest.approx(there + back, abs=1e-10)
    assert result["transferred"].item() == 1
    np.testing.assert_array_equal(result["link_arrived"], np.ones(6))


def test_selective_acknowledgements_are_longer():
    # 40 bytes, and 8 more for each block: segment 1 of four lost, so 2 and 3 report one block. The second repeat of
    # nothing: after 3 duplicates only; the acknowledgements' link is busy for (40 + 48 + 48) * 8 bits.
    flow = Flows(source="a", target="b", rules="rfc", segments=4, initial_window=4)
    links = [Link("a", "b", 1e6, 0.01)]
    result = simulate(network(links, flow, duration=0.5, drops=(Drop(segment=1),)))
    assert result["link_utilisation"].sel(link="b->a").item() == pytest.approx((40 + 48 + 48) * 8 / 1e6 / 0.5)


@pytest.mark.parametrize("service", SERVICES)
def test_a_burst_waits_in_line(service):
    # Four at once, 4 ms each: received 4 ms apart; 0, 1, 2, 3 were waiting or being sent when they came.
    flow = Flows(source="a", target="b", rules="rfc", segments=4, initial_window=4)
    link = Link("a", "b", 1e6, 0.01, buffer=100, service=service)
    result = simulate(network([link], flow, duration=0.5, record=ALL))
    np.testing.assert_allclose(result["receive_time"], 0.01 + 0.004 * np.arange(1, 5), atol=1e-10)
    there = result["queue_link"] == 0
    np.testing.assert_array_equal(result["queue_packets"][there], [0, 0, 1, 2])
    np.testing.assert_array_equal(result["queue_bytes"][there], [0, 0, 500, 1000])
    # Waits of 0, 4, 8, 12 ms.
    assert result["link_mean_queue"][0].item() == pytest.approx(0.024 / 0.5)


# No room.


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("buffer", [1, 2, 3, 10])
def test_drop_tail_in_packets(service, buffer):
    """Ten at once: the buffer counts the packet being sent."""
    flow = Flows(source="a", target="b", rules="rfc", initial_window=10)
    link = Link("a", "b", 1e6, 0.1, buffer=buffer, service=service)
    result = simulate(network([link], flow, duration=0.1, record=ALL))
    assert result["dropped"].item() == 10 - buffer
    np.testing.assert_array_equal(result["drop_segment"], np.arange(buffer, 10))


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize(("room", "accepted"), [(500, 1), (501, 2), (1000, 2), (1001, 3), (10**6, 10)])
def test_drop_tail_in_bytes(service, room, accepted):
    # The first is sent at once, if the queue would have taken it; others wait while less than `room` is waiting.
    flow = Flows(source="a", target="b", rules="rfc", initial_window=10)
    link = Link("a", "b", 1e6, 0.1, buffer_bytes=room, service=service)
    result = simulate(network([link], flow, duration=0.1))
    # A packet that by itself reaches the limit is refused even by an idle link, as in ns-2.
    assert 10 - result["dropped"].item() == (0 if room == 500 else accepted)


def test_small_packets_find_room_where_large_ones_do_not():
    link = Link("a", "b", 1e6, 0.1, buffer_bytes=1100)
    large = Flows(source="a", target="b", rules="rfc", packet_size=1000, initial_window=8, jitter=0.0)
    small = dataclasses.replace(large, packet_size=100, start=1e-4)
    result = simulate(network([link], large, small, duration=0.1))
    # One large in service, one waiting; the wait leaves 100 bytes less one: none small fits.
    np.testing.assert_array_equal(result["dropped"], [6, 8])
    roomier = dataclasses.replace(link, buffer_bytes=1301)
    result = simulate(network([roomier], large, small, duration=0.1))
    np.testing.assert_array_equal(result["dropped"], [6, 5])


def test_services_agree_in_all_but_ties():
    """Same packets, losses and times with events at both ends of a transmission as with known departures."""
    links = [
        Link("a", "r1", 4e6, 0.003),
        Link("r1", "r2", 1e6, 0.02, buffer=8, loss=0.01, jitter=0.002),
        Link("r2", "b", 3e6, 0.01, buffer=20),
    ]
    # Starts and jitter are random: no two packets come at one instant.
    pair = (
        Flows(6, "sack", source="a", target="b", jitter=0.004),
        Flows(3, "reno", source="b", target="a", jitter=0.004, delayed_ack=0.1),
    )
    runs = [
        simulate(network([dataclasses.replace(way, service=s) for way in links], *pair, duration=40.0, record=ALL))
        for s in SERVICES
    ]
    assert runs[0]["dropped"].sum() > 50 and runs[0]["acks_dropped"].sum() > 10
    for name in ("sent", "dropped", "goodput", "timeouts", "acks_dropped", "link_arrived", "link_dropped", "send_time"):
        np.testing.assert_array_equal(runs[0][name], runs[1][name], err_msg=name)
    np.testing.assert_allclose(runs[0]["receive_time"], runs[1]["receive_time"], atol=1e-9)
    np.testing.assert_allclose(runs[0]["link_utilisation"], runs[1]["link_utilisation"], rtol=1e-9)


def test_services_agree_on_mean_queue():
    # The queue of 8 is full from 0.6 s on. Seven wait, each packet takes 0.2 s.
    flows = cbr("a", "b", 1e5, count=2)
    full = [
        simulate(network([Link("a", "b", 2e4, 0.0, 8, service=s)], flows, duration=20.0, warm_up=10.0))["mean_queue"]
        for s in SERVICES
    ]
    assert full[0].item() <= 7 + 1e-9
    # What waits at either end of the measured part is counted with the part of its wait that lies inside.
    assert full[0].item() == pytest.approx(full[1].item(), rel=1e-9)


# Loss and jitter.


@pytest.mark.parametrize("service", SERVICES)
def test_loss_is_independent_and_as_asked(service):
    p, count = 0.2, 40
    flows = cbr("a", "b", 1e5, count=count)
    result = simulate(network([Link("a", "b", 1e8, 0.01, loss=p, service=service)], flows, duration=100.0))
    n, lost = result["sent"].values, result["dropped"].values
    assert abs(lost.sum() / n.sum() - p) < 4 * np.sqrt(p * (1 - p) / n.sum())
    # Binomial among flows: chi-square with `count` degrees of freedom, within four standard deviations.
    chi = (((lost - p * n) ** 2) / (n * p * (1 - p))).sum()
    assert abs(chi - count) < 4 * np.sqrt(2 * count)


def test_loss_strikes_acknowledgements_too():
    links = [Link("a", "b", 1e7, 0.02, duplex=False), Link("b", "a", 1e7, 0.02, duplex=False, loss=0.3)]
    result = simulate(network(links, Flows(5, source="a", target="b", window_limit=20), duration=60.0))
    sent, lost = result["acks_sent"].sum().item(), result["acks_dropped"].sum().item()
    assert result["dropped"].sum() == 0
    assert abs(lost / sent - 0.3) < 4 * np.sqrt(0.3 * 0.7 / sent)


@pytest.mark.parametrize("where", ["flow", "link"])
def test_jitter_delays_but_never_reorders(where):
    own, way = (0.2, 0.0) if where == "flow" else (0.0, 0.2)
    flow = Flows(3, source="a", target="b", jitter=own, limited_transmit=False, window_limit=8)
    result = simulate(network([Link("a", "b", 1e8, 0.025, jitter=way)], flow, duration=60.0, record=ALL))
    assert result["fast_recoveries"].sum() == 0 and result["dropped"].sum() == 0
    for i in range(3):
        mine = result["receive_flow"].values == i
        assert (np.diff(result["receive_segment"].values[mine]) >= 0).all()
    assert (result["mean_rtt"] > 0.05 + 0.1).all()


def test_jitter_is_uniform():
    # One packet at a time, 1 s apart: its delay is 10 ms + 4 us + a uniform draw in [0, 0.3].
    flow = cbr("a", "b", 4e3, jitter=0.3)
    result = simulate(network([Link("a", "b", 1e9, 0.01)], flow, duration=1000.0, record=ALL))
    late = np.sort(result["receive_time"].values - result["send_time"].values[: result.sizes["receive"]]) - 0.010004
    assert late[0] >= -1e-9 and late[-1] <= 0.3 + 1e-9
    steps = np.arange(1, len(late) + 1) / len(late)
    # Kolmogorov's statistic; 1.95 / sqrt(n) is exceeded once in a thousand.
    assert np.abs(steps - late / 0.3).max() < 1.95 / np.sqrt(len(late))


# Averages.


def test_utilisation_is_load_over_rate():
    result = simulate(network([Link("a", "b", 1e6, 0.01)], cbr("a", "b", 3e5), duration=100.0))
    assert result["utilisation"].item() == pytest.approx(0.3, abs=4e-3 / 100.0)


@pytest.mark.parametrize("service", SERVICES)
def test_mean_queue_is_rate_times_mean_wait(service):
    """Little's law, with waits from the trace of sends and receipts."""
    link = Link("a", "b", 1e6, 0.05, buffer=30, service=service)
    flow = Flows(10, source="a", target="b", jitter=0.004, start_spread=5.0)
    result = simulate(network([link], flow, duration=200.0, record=dataclasses.replace(ALL, queues=0.01)))
    waiting = result["queue_packets"].values[result["queue_link"].values == 0]
    # Samples every 10 ms are correlated over seconds: the error of their mean from 20 s batches.
    batches = waiting[: 20000 - 20000 % 10].reshape(10, -1).mean(1)
    sampled, error = waiting.mean(), 4 * batches.std(ddof=1) / np.sqrt(10)
    mean = result["link_mean_queue"].sel(link="a->b").item()
    assert abs(mean - sampled) < error
    # mean RTT = 100 ms + 4.32 ms of sending + 2 ms of jitter + waits there and back, over acknowledged packets.
    rate = (result["link_arrived"] - result["link_dropped"])[0].item() / 200.0
    wait = float(np.average(result["mean_rtt"], weights=result["delivered"])) - 0.1 - 0.00432 - 0.002
    back = result["link_mean_queue"].sel(link="b->a").item() / rate
    # Keeping the order lengthens the jitter by less than 1 ms; the last window of each flow is not acknowledged.
    assert mean == pytest.approx(rate * (wait - back), abs=rate * 0.001 + 0.02 * mean)
    assert result["link_mean_wait"].sel(link="a->b").item() == pytest.approx(mean / rate, rel=1e-9)


def test_poisson_arrivals_wait_as_pollaczek_and_khinchine_say():
    # M/D/1 with load 0.8: mean number waiting rho^2 / 2 / (1 - rho) = 1.6.
    runs = [
        simulate(
            network(
                [Link("a", "b", 1e6, 0.0)],
                Flows(sender="poisson", source="a", target="b", rate=8e5),
                duration=1000.0,
                warm_up=10.0,
            ),
            seed,
        )["mean_queue"].item()
        for seed in range(8)
    ]
    # Student's t for 8 runs, once in a thousand.
    assert abs(np.mean(runs) - 1.6) < 5.41 * np.std(runs, ddof=1) / np.sqrt(8)


# The way back.


def test_acknowledgements_wait_behind_data():
    """Two-way traffic: what goes back shares queues with data, so round trips are longer and buffers lose ACKs."""
    link = Link("a", "b", 1e6, 0.02, buffer=15, jitter=0.008)
    there = Flows(2, source="a", target="b", packet_size=1000, jitter=0.008)
    back = Flows(2, source="b", target="a", packet_size=1000, jitter=0.008)
    alone = simulate(network([link], there, duration=60.0, warm_up=10.0))
    both = simulate(network([link], there, back, duration=60.0, warm_up=10.0))
    assert alone["acks_dropped"].sum() == 0
    assert both["acks_dropped"].sum() > 0
    assert (both["link_utilisation"] > 0.5).all()
    assert both["goodput"][:2].sum() < alone["goodput"].sum()
    # A queue of acknowledgements and data: everything that arrived there is one or the other.
    here = both["link_arrived"].sel(link="b->a").item()
    expected = (both["sent"][2:].sum() + both["acks_sent"][:2].sum()).item()
    assert abs(here - expected) <= 2 * 64


def test_acknowledgements_crowd_their_own_link():
    # 40 bytes at 8 kbit/s: 25 acknowledgements per second are all that gets through, whatever the way there carries.
    links = [Link("a", "b", 1e7, 0.01, duplex=False), Link("b", "a", 8e3, 0.01, 5, duplex=False)]
    flow = Flows(source="a", target="b", sender="newreno", timestamps=True)
    result = simulate(network(links, flow, duration=60.0, warm_up=10.0))
    assert result["acks_dropped"].item() > 0
    assert result["link_utilisation"].sel(link="b->a").item() == pytest.approx(1.0, abs=0.01)


def test_chosen_acknowledgements_are_lost():
    flow = Flows(source="a", target="b", rules="rfc", segments=1, initial_window=1)
    drops = (Drop(ack=0), Drop(link="b->a", packet=1))
    result = simulate(network([Link("a", "b", 1e6, 0.01)], flow, drops=drops, record=ALL))
    # Repeated until its third acknowledgement gets through: timeouts at 1 s and, doubled, at 3 s.
    np.testing.assert_allclose(result["send_time"], [0.0, 1.0, 3.0], atol=1e-9)
    assert result["acks_dropped"].item() == 2 and result["transferred"].item() == 1
    np.testing.assert_array_equal(result["drop_kind"], [4, 4])
    np.testing.assert_array_equal(result["drop_link"], [1, 1])


# Ways.


SQUARE = (Link("a", "b", 1e6, 0.01), Link("b", "d", 1e6, 0.01), Link("a", "c", 1e6, 0.1), Link("c", "d", 1e6, 0.1))


def used(result):
    return {str(name) for name in result["link"].values[result["link_arrived"].values > 0]}


def test_shortest_way_is_the_first_listed_among_equals():
    flow = Flows(source="a", target="d")
    assert used(simulate(network(SQUARE, flow))) == {"a->b", "b->d", "d->b", "b->a"}
    assert used(simulate(network((*SQUARE[2:], *SQUARE[:2]), flow))) == {"a->c", "c->d", "d->c", "c->a"}
    direct = (*SQUARE, Link("a", "d", 1e4, 1.0))
    assert used(simulate(network(direct, flow))) == {"a->d", "d->a"}


def test_a_route_of_ones_own():
    result = simulate(network(SQUARE, Flows(route=("a", "c", "d"))))
    assert used(result) == {"a->c", "c->d", "d->c", "c->a"}
    assert result["base_rtt"].item() == pytest.approx(0.4 + 2 * 540 * 8 / 1e6)


def test_one_way_links_send_acknowledgements_round():
    ring = [Link(a, b, 1e6, 0.01, duplex=False) for a, b in ("ab", "bc", "ca")]
    result = simulate(network(ring, Flows(source="a", target="b", segments=5)))
    assert used(result) == {"a->b", "b->c", "c->a"}
    assert result["transferred"].item() == 6


@pytest.mark.parametrize(
    ("links", "flow", "words"),
    [
        (SQUARE, {"source": "a", "target": "z"}, ["'z'", "no link"]),
        ((Link("a", "b"), Link("c", "d")), {"source": "a", "target": "d"}, ["a", "d", "no links connect"]),
        ((Link("a", "b", duplex=False),), {"source": "a", "target": "b"}, ["b to a", "no links connect"]),
        (SQUARE, {"route": ("a", "d")}, ["a -> d", "a->d"]),
        (SQUARE, {"source": "a", "target": "a"}, ["source", "target", "different"]),
        (SQUARE, {"source": "a"}, ["source and target"]),
        ((Link("a", "b"), Link("b", "a")), {"source": "a", "target": "b"}, ["b->a twice"]),
    ],
)
def test_ways_that_do_not_exist(links, flow, words):
    with pytest.raises(ScenarioError) as caught:
        network(links, Flows(**flow))
    for word in words:
        assert word in str(caught.value)


def test_each_flow_draws_its_ends():
    names = ("n0", "n1", "n2", "n3")
    flows = Flows(4000, source=names, target=names, segments=1, rules="rfc")
    scenario = network(topologies.star(4, rate=1e9, delay=0.01, buffer=None), flows, duration=5.0)
    result = simulate(scenario)
    # Each host sends a quarter of the segments and of the acknowledgements; four standard deviations.
    sent = result["link_arrived"].sel(link=[f"{n}->hub" for n in names]).values / 4000
    assert sent.sum() == 2.0
    assert np.abs(sent - 0.5).max() < 4 * np.sqrt(0.25 / 4000)


# Ready networks.


def test_dumbbell_is_the_bottleneck_with_queues_for_acknowledgements():
    links = topologies.dumbbell(3, rate=1e6, buffer=20, rtt=(0.1, 0.3), access_rate=None)
    flows = [Flows(source=f"s{i}", target=f"d{i}", window_limit=20, jitter=0.004) for i in range(3)]
    result = simulate(network(links, *flows, duration=60.0, warm_up=10.0))
    back = 2 * 8 / 1e6
    np.testing.assert_allclose(result["base_rtt"], np.array([0.1, 0.2, 0.3]) + (500 + 40) * 8 / 1e6, atol=back)
    assert result["utilisation"].item() > 0.9


def test_parking_lot_flows_cross_what_they_should():
    links = topologies.parking_lot((1e6, 2e6, 1e6), buffer=20)
    long, own = Flows(source="s0", target="d3", jitter=0.004), Flows(source="s1", target="d2", jitter=0.004)
    result = simulate(network(links, long, own, duration=60.0, warm_up=10.0))
    assert {"r0->r1", "r1->r2", "r2->r3"} <= used(result)
    through = result["link_arrived"].sel(link="r1->r2") - result["link_arrived"].sel(link="r2->r3")
    # The middle carries both, the last only the long one.
    assert through.item() == pytest.approx(result["sent"][1].item(), abs=100)


def test_two_paths_share_nothing():
    links = topologies.two_paths((1e6, 2e6), buffer=20)
    pair = [Flows(route=("s", f"{p}1", f"{p}2", "d"), jitter=0.002, window_limit=40) for p in "ab"]
    both = simulate(network(links, *pair, duration=30.0, warm_up=5.0))
    rates = both["goodput"].values * 4000 / 25.0
    assert 0.9e6 < rates[0] <= 1e6 * 1.001 and 1.8e6 < rates[1] <= 2e6 * 1.001


# Corners that once crashed or never ended.


@pytest.mark.parametrize("clock", ["grid", "double"])
def test_way_of_pure_delay(clock):
    link = Link("a", "b", rate=None, delay=0.1)
    result = simulate(network([link], Flows(source="a", target="b", segments=5, rules="rfc"), clock=clock))
    assert result["transferred"].item() == 5
    assert result["mean_rtt"].item() == pytest.approx(0.2)


def test_time_passes_on_every_way():
    """Delays of 0 and sending times below the clock's grid: packets must not go round at one instant for ever."""
    link, pauses = Link("a", "b", 1e13, 0.0), []

    def once(share):
        pauses.append(share)
        assert len(pauses) < 10, "ten million events in a millisecond"

    flow = Flows(source="a", target="b", packet_size=1, ack_size=1, rules="rfc")
    with pytest.raises(ScenarioError, match=r"delay|packets"):
        simulate(network([link], flow, duration=1e-3), progress=once)


def test_queue_records_of_an_analytic_link_without_limit():
    flow = Flows(source="a", target="b", rules="rfc", segments=4, initial_window=4)
    link = Link("a", "b", 1e6, 0.01, service="analytic")
    result = simulate(network([link], flow, duration=0.5, record=Record(queues=0.0)))
    there = result["queue_link"] == 0
    np.testing.assert_array_equal(result["queue_packets"][there], [0, 0, 1, 2])


@pytest.mark.parametrize("flow", ["cbr", "repeats"])
def test_queue_records_without_limit(flow):
    """More waits on a link without limit than all windows together, and is written down."""
    if flow == "cbr":
        group = cbr("a", "b", 1e6, window_limit=2, initial_window=1)
    else:
        short = {"min_rto": 0.0, "initial_rto": 1e-3, "max_rto": 1e-3}
        group = Flows(source="a", target="b", rules="rfc", window_limit=2, **short)
    result = simulate(network([Link("a", "b", 2e4, 0.1)], group, duration=5.0, record=Record(queues=0.0)))
    arrived, left = result["link_arrived"][0].item(), result["delivered"].item()
    longest = result["queue_packets"].values[result["queue_link"].values == 0].max()
    # On arrival of the last: all that came before it, less those sent, the one being sent and half a packet's time.
    assert abs(longest - (arrived - 5.0 / 0.2)) <= 2
    assert left <= 5.0 / 0.2


def test_phase_of_equal_round_trips_does_not_drift():
    """Ties are broken by the order of events, not by rounding, which would change at powers of two seconds."""
    from tcpdynamics.validation.packet import replicate
    from tcpdynamics.validation.statistics import two_sample

    flow = Flows(count=50, rtt=0.2)
    parts = [
        replicate(Scenario((flow,), Bottleneck(5e5, 25), duration=at + 300.0, warm_up=at), 4)
        for at in (200.0, 1100.0, 4200.0)
    ]
    for later in parts[1:]:
        gap = two_sample(parts[0].loss_rate, later.loss_rate, level=0.9999)
        assert gap["low"] <= 0 <= gap["high"]


def test_hops_count_all_links():
    """The base round trip in the dataset is what a lone packet takes, on any network."""
    links = topologies.parking_lot((1e6, 5e5), access_rate=1e8)
    flow = Flows(source="s0", target="d2", segments=1, rules="rfc", initial_window=1)
    result = simulate(network(links, flow))
    assert result["mean_rtt"].item() == pytest.approx(result["base_rtt"].item(), abs=1e-9)


@pytest.mark.parametrize(
    ("drops", "lost"),
    [
        ((Drop(segment=5, link="s0->r1"),), {"s0->r1": 1}),
        ((Drop(segment=5, link="s0->r1"), Drop(link="r1->r2", packet=3)), {"s0->r1": 1, "r1->r2": 1}),
        ((Drop(ack=2, link="d0->r2"), Drop(link="r1->r2", packet=3)), {"d0->r2": 1, "r1->r2": 1}),
        ((Drop(link="r2->d0", packet=1), Drop(segment=9)), {"r2->d0": 1, "r1->r2": 1}),
    ],
)
def test_chosen_packets_are_lost_on_links_of_one_flow_too(drops, lost):
    """Links that one flow has to itself are computed ahead, unless somebody is to be lost there."""
    flows = [Flows(source=f"s{i}", target=f"d{i}") for i in range(2)]
    links = topologies.dumbbell(2, rtt=(0.1, 0.13))
    result = simulate(network(links, *flows, duration=3.0, drops=drops))
    dropped = dict(zip(result.link.values.tolist(), result.link_dropped.values.tolist(), strict=True))
    assert {name: count for name, count in dropped.items() if count} == lost


@pytest.mark.parametrize("book", ["ns2", "rfc"])
def test_links_of_ones_own_are_counted_when_packets_pass(book):
    """What a link did in the measured part is what passed then, though shortcuts know of packets before."""
    flows = tuple(Flows(1, rules=book, source=a, target=b) for a, b in (("s0", "d0"), ("d1", "s1")))
    links = topologies.dumbbell(2, 1e6, 50, (0.1, 0.12))
    quick = Scenario(flows, links=links, duration=60.0, warm_up=10.0, clock="grid")
    slow = tuple(dataclasses.replace(link, service="served") for link in links)
    ours, theirs = simulate(quick), simulate(dataclasses.replace(quick, links=slow))
    assert (ours["link_utilisation"] > 0).all() and (ours["link_mean_queue"] >= 0).all()
    np.testing.assert_array_equal(ours["link_arrived"], theirs["link_arrived"])
    np.testing.assert_allclose(ours["link_utilisation"], theirs["link_utilisation"], rtol=1e-9)
