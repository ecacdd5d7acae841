"""The script for ns-2 says what the scenario says, and ns-2 then does what can be worked out by hand."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from tcpdynamics.paper_figures import experiments
from tcpdynamics.validation.ns2 import Ns2Error, installed, plan, run_ns2, tcl
from tcpdynamics.validation.packet import Bottleneck, Drop, Flows, Link, Record, Scenario, ScenarioError, simulate

PATH = (Link("s", "r1", 1e7, 0.001), Link("r1", "r2", 1e6, 0.01, 10), Link("r2", "d", 1e7, 0.001))


def single(links=PATH, drops=(), duration=30.0, **options) -> Scenario:
    """One flow of 1000-byte packets over s - r1 - r2 - d."""
    flow = Flows(**{"source": "s", "target": "d", "packet_size": 1000, "segments": 20, **options})
    return Scenario((flow,), None, duration, 0.0, epoch=1.0, links=links, drops=drops, record=Record(sends=True))


def sends(scenario: Scenario) -> list[tuple[float, int]]:
    result = run_ns2(scenario)
    return list(zip(result.send_time.values.tolist(), result.send_segment.values.tolist(), strict=True))


@pytest.mark.parametrize(
    ("sender", "sack", "delayed", "agent", "sink"),
    [
        ("tahoe", None, 0.0, "TCP", "TCPSink"),
        ("reno", None, 0.1, "TCP/Reno", "TCPSink/DelAck"),
        ("newreno", None, 0.0, "TCP/Newreno", "TCPSink"),
        ("newreno", True, 0.0, "TCP/Newreno", "TCPSink/Sack1"),
        ("sack", None, 0.0, "TCP/Sack1", "TCPSink/Sack1"),
        ("sack", None, 0.2, "TCP/Sack1", "TCPSink/Sack1/DelAck"),
    ],
)
def test_agents(sender, sack, delayed, agent, sink):
    script = tcl(single(sender=sender, sack=sack, delayed_ack=delayed)).splitlines()
    assert f"set tcp(0) [new Agent/{agent}]" in script
    assert f"set sink [new Agent/{sink}]" in script
    assert (f"$sink set interval_ {delayed}" in script) == (delayed > 0)


def test_options_of_the_agent():
    script = tcl(
        single(
            window_limit=33, initial_window=3, handshake=False, limited_transmit=False, overhead=0.004, min_rto=1.0,
            max_rto=30.0, initial_rto=2.5, timer_granularity=0.1, ack_size=50, timestamps=True, start=0.25, stop=9.0,
        )
    )  # fmt: skip
    for option in (
        "packetSize_ 1000", "useHeaders_ false", "tcpip_base_hdr_size_ 50", "window_ 33", "windowInit_ 3",
        "syn_ false", "singledup_ 0", "overhead_ 0.004", "timestamps_ true", "minrto_ 1.0", "maxrto_ 30.0",
        "rtxcur_init_ 2.5", "tcpTick_ 0.1",
    ):  # fmt: skip
        assert f"$tcp(0) set {option}\n" in script
    assert '$ns at 0.25 "$ftp(0) produce 20"' in script
    assert "$ns at 9.0 {$ftp(0) produce" in script
    assert "ns-random 2\n" in script  # for the overhead
    assert "ns-random" not in tcl(single())  # one flow alone keeps ns-2's default clock phase


def test_links():
    links = (
        Link("s", "r1", None, 0.0),
        Link("r1", "r2", 1e6, 1e-5, 10, loss=0.25),
        Link("r2", "d", 2e6, 0.5, buffer_bytes=9000),
    )
    script = tcl(single(links, drops=(Drop(link="r1->r2", packet=5), Drop(link="r1->r2", packet=2))))
    assert "$ns simplex-link $node(0) $node(1) 1000000000000000000000000.0 0.000000008 DropTail" in script
    assert "$ns simplex-link $node(1) $node(2) 1000000.0 0.00001 DropTail" in script
    assert "$node(0) $node(1) 1000000000000.0 0.1 DropTail" in tcl(single((Link("s", "d", None, 0.1),)))
    assert "$ns queue-limit $node(1) $node(2) 10\n" in script
    assert "$ns lossmodel [new ErrorModel/Uniform 0.25 pkt] $node(2) $node(1)" in script
    assert "$chosen droplist {2 5}" in script and script.count("$ns lossmodel $chosen") == 1
    assert "[$link queue] set mean_pktsize_ 9000\n$ns queue-limit $node(2) $node(3) 1\n" in script


def test_a_dumbbell_without_links():
    made = plan(Scenario((Flows(count=3, rtt=(0.1, 0.2)),), Bottleneck(1e6, 50)), seed=1)
    assert made.links[0].name == "r1->r2" and made.links[0].delay == 0.0
    around = [sum(link.delay for link in made.links[1 + 3 * i : 4 + 3 * i]) for i in range(3)]
    assert around == pytest.approx([0.1, 0.15, 0.2])
    assert all(0.0 <= flow.start <= 1.0 for flow in made.flows)
    assert "ns-random 8\n" in tcl(Scenario((Flows(count=2),), Bottleneck(1e6, 50)), seed=7)


def test_choices_are_drawn_from_the_seed():
    nodes = ("n0", "n1", "n2")
    group = Flows(count=400, source=nodes, target=nodes, arrival_rate=4.0, segments=100, segments_shape=2.5)
    star = tuple(Link(node, "hub", 5e5, 0.05, 100) for node in nodes)
    scenario = Scenario((group,), None, 50.0, 10.0, links=star)
    one, same, other = (plan(scenario, seed) for seed in (1, 1, 2))
    assert one == same and one != other
    starts, sizes = (np.array([getattr(flow, key) for flow in one.flows]) for key in ("start", "segments"))
    # 400 gaps of 0.25 s have a standard deviation of 5 % together; five of them.
    assert starts[-1] == pytest.approx(100.0, rel=5 / np.sqrt(400))
    assert sizes.min() >= 60 and 80 < sizes.mean() < 130
    assert all(flow.source != flow.target for flow in one.flows)
    assert len({(flow.source, flow.target) for flow in one.flows}) == 6
    script = tcl(scenario, 1)
    assert script.count("produce") == int((starts <= 50.0).sum()) < 400  # later ones never start


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"sender": "poisson", "rate": 1e5, "segments": None}, "flows.sender"),
        ({"rules": "rfc"}, "flows.rules"),
        ({"control": "cubic"}, "flows.control"),
        ({"jitter": 0.001}, "flows.jitter"),
        ({"clock_phase": 0.003}, "flows.clock_phase"),
        ({"max_backoff": 32}, "flows.max_backoff"),
        ({"links": (Link("s", "d", buffer=1),)}, "links.buffer"),
        ({"links": (Link("s", "d", jitter=0.001),)}, "links.jitter"),
        ({"drops": (Drop(segment=3),)}, "drops.segment"),
        ({"drops": (Drop(ack=3),)}, "drops.ack"),
    ],
)
def test_what_ns2_cannot_do_is_refused_by_name(options, key):
    with pytest.raises(ScenarioError, match=f"^{key}"):
        tcl(single(**options))


@pytest.mark.parametrize("route", [("s", "a", "d"), ("s", "a", "b", "d")])
def test_only_the_shortest_path_is_taken(route):
    links = [Link("s", "a"), Link("s", "b"), Link("a", "d"), Link("b", "d"), Link("a", "b")]
    with pytest.raises(ScenarioError, match="fewest links"):
        tcl(single(tuple(links), source=None, target=None, route=route))


def test_send_times_by_hand(ns):
    """40 bytes take 12.384 ms one way, 1000 bytes 21.6 ms, of which 8 ms on the slow link."""
    expected = [(0.0, 0), (0.024768, 1), (0.024768, 2)]  # the handshake alone, then a window of two
    first = 0.024768 + 0.0216 + 0.012384
    expected += [(first, 3), (first, 4), (first + 0.008, 5), (first + 0.008, 6)]
    assert sends(single())[:7] == [(pytest.approx(time, abs=1e-12), segment) for time, segment in expected]


@pytest.mark.parametrize("timestamps", [True, False])
def test_every_segment_has_the_same_size(ns, timestamps):
    """Without a handshake segment 0 is a packet like any other; timestamps are part of it."""
    seen = sends(single(handshake=False, initial_window=1, timestamps=timestamps))
    assert seen[1] == (pytest.approx(0.0216 + 0.012384, abs=1e-12), 1)


@pytest.mark.parametrize("handshake", [True, False])
@pytest.mark.parametrize("segments", [1, 2, 20])
def test_exactly_so_many_segments(ns, handshake, segments):
    seen = [segment for _, segment in sends(single(handshake=handshake, segments=segments))]
    assert seen == list(range(segments + handshake))


def test_no_new_data_after_the_stop(ns):
    endless = single(segments=None, stop=2.0, duration=10.0)
    seen = sends(endless)
    assert 1.9 < max(time for time, _ in seen) < 2.0
    # Of what was sent before, also the very last segment is sent again if it was lost.
    lossy = sends(replace(endless, drops=(Drop(link="r1->r2", packet=len(seen) - 1),)))
    assert lossy[: len(seen)] == seen and [n for _, n in lossy[len(seen) :]] == [seen[-1][1]]


def test_a_lost_packet_is_the_only_one_sent_again(ns):
    """Packet 7 at r1->r2 is segment 7: the handshake is packet 0."""
    result = run_ns2(single(sender="newreno", drops=(Drop(link="r1->r2", packet=7),)))
    segments, times = result.send_segment.values.tolist(), result.send_time.values
    assert [n for n in range(21) if segments.count(n) == 2] == [7]
    # Three duplicates after it: those of segments 8, 9 and 10, one slow transmission apart.
    first, again = (times[i] for i, n in enumerate(segments) if n == 7)
    assert again == pytest.approx(first + 0.033984 + 2 * 0.008 + 0.0008, abs=1e-12)
    assert result.dropped.item() == 1 and result.sent.item() == 22 and result.goodput.item() == 21


def test_a_lost_handshake_is_repeated_after_three_seconds(ns):
    assert sends(single(drops=(Drop(link="r1->r2", packet=0),)))[:2] == [(0.0, 0), (3.0, 0)]


def test_a_lost_acknowledgement_costs_only_the_window_that_it_would_have_opened(ns):
    """Packet 1 at r2->r1 acknowledges segment 1; the next one acknowledges both."""
    seen = sends(single(drops=(Drop(link="r2->r1", packet=1),)))
    second = 0.024768 + 0.033984 + 0.008
    assert seen[3:6] == [(pytest.approx(second), 3), (pytest.approx(second), 4), (pytest.approx(second), 5)]


def test_a_chosen_loss_on_the_first_link_was_sent(ns):
    plain, lossy = (sends(single(drops=drops)) for drops in ((), (Drop(link="s->r1", packet=0),)))
    assert plain[0] == lossy[0] == (0.0, 0) and lossy[1] == (3.0, 0)


def test_a_full_queue_in_packets_and_in_bytes(ns):
    """A burst of eight on a link that holds one in transmission and two waiting: five are lost."""
    burst = {"handshake": False, "initial_window": 8, "segments": 8, "duration": 0.1}
    for limit in ({"buffer": 3}, {"buffer_bytes": 2001}):
        links = (Link("s", "r1", 1e9, 0.001), Link("r1", "r2", 1e6, 0.01, **limit), Link("r2", "d", 1e9, 0.001))
        assert run_ns2(single(links, **burst)).dropped.item() == 5


def test_random_loss(ns):
    links = (Link("s", "d", 1e7, 0.01, loss=0.1),)
    result = run_ns2(single(links, segments=None, duration=300.0, delayed_ack=0.1, timestamps=True))
    n = result.sent.item()
    assert n > 1000 and abs(result.loss_rate.item() - 0.1) < 5 * np.sqrt(0.09 / n)


def test_counts_of_the_measured_part(ns):
    """A window of 4 on an idle path: four packets in each round trip, and in each epoch of that length."""
    flow = Flows(rtt=0.1, window_limit=4, initial_window=4, handshake=False)
    scenario = Scenario((flow,), Bottleneck(1e12), duration=11.05, warm_up=1.05, epoch=0.1)
    result = run_ns2(scenario)
    assert result.sent.item() == result.goodput.item() == 400
    assert result.epochs.values.tolist() == [[0, 0, 0, 0, 100, 0, 0, 0]]
    assert run_ns2(replace(scenario, warm_up=0.0)).goodput.item() == 4 * 110
    assert result.timeouts.item() == 0 and result.loss_rate.item() == 0.0 and result.jain.item() == 1.0
    assert all({"units", "long_name"} <= set(variable.attrs) for variable in result.data_vars.values())
    halves = run_ns2(scenario, epoch=np.array([0.2]))
    assert halves.epochs.values.tolist() == [[0, 0, 0, 0, 0, 0, 0, 50]]
    with pytest.raises(ValueError, match="1 positive lengths"):
        run_ns2(scenario, epoch=np.array([0.1, 0.2]))


def test_the_same_seed_gives_the_same_run(ns):
    scenario = Scenario((Flows(count=5),), Bottleneck(1e6, 10), 30.0, 5.0, epoch=0.3)
    one, same, other = (run_ns2(scenario, seed) for seed in (1, 1, 2))
    assert one.identical(same) and not one.sent.equals(other.sent)


def test_failures_in_one_sentence(monkeypatch, tmp_path):
    def program(text):
        (tmp_path / "ns").write_text("#!/bin/sh\n" + text)
        (tmp_path / "ns").chmod(0o755)
        monkeypatch.setattr(shutil, "which", lambda name: str(tmp_path / name))

    program("echo 'no class Agent/Reno' >&2; exit 1")
    with pytest.raises(Ns2Error, match=r"status 1.*no class Agent/Reno"):
        run_ns2(single())
    program("exec sleep 600")
    with pytest.raises(Ns2Error, match=r"longer than 0\.1 s"):
        run_ns2(single(), timeout=0.1)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(Ns2Error, match="install the Debian package ns2"):
        run_ns2(single())
    assert not installed()


def test_windows_drops_and_epochs_are_those_of_our_engine(ns):
    """One flow alone, of which ns-2 and we send every packet at the same time, and lose the same ones."""
    scenario = replace(single(sender="newreno", segments=None), record=Record(sends=True, drops=True, windows=0.05))
    ours, theirs = simulate(scenario), run_ns2(scenario)
    assert theirs.group.values.tolist() == [0] and ours.drop_time.size > 0
    for name in ("drop_flow", "drop_segment", "window_flow", "epoch_fraction"):
        assert np.array_equal(theirs[name].values, ours[name].values), name
    for name in ("drop_time", "window_time", "utilisation"):
        assert np.allclose(theirs[name].values, ours[name].values, rtol=2e-3, atol=1e-3), name
    for name in ("window_cwnd", "window_ssthresh"):  # ns-2 prints six digits
        assert np.allclose(theirs[name].values, ours[name].values, rtol=1e-5), name
    assert not hasattr(run_ns2(single()), "window_time")


def test_ns2_loses_the_third_packet_of_a_flow_whose_slow_start_ends_early(ns):
    one = experiments.get_experiment("logistic.alone")
    result = experiments._by_ns2(one.build(("Reno",), one.reading_labels(1)[0], "tiny"), 1)
    assert (int(result.drop_flow[0]), int(result.drop_segment[0])) == (1, 3) and result.base_rtt[1] > 0.1
