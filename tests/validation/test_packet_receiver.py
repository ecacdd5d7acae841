"""Whatever is lost, every segment arrives once, and the sender believes nothing that the receiver does not hold."""

import dataclasses

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics.validation.packet import Bottleneck, Drop, Flows, Link, Record, Scenario, engine, simulate

FOUR = st.sampled_from(["tahoe", "reno", "newreno", "sack"])
BOOKS = st.sampled_from(["ns2", "rfc"])

flows = st.fixed_dictionaries(
    {
        "sender": FOUR,
        "rules": BOOKS,
        "segments": st.integers(1, 40),
        "window_limit": st.integers(2, 20),
        "limited_transmit": st.booleans(),
        "delayed_ack": st.sampled_from([0.0, 0.1]),
        "timestamps": st.booleans(),
        "handshake": st.booleans(),
    }
)
#: Numbers of packets to lose on the way there and back; the first dozens are the whole transfer and its repairs.
losses = st.tuples(st.sets(st.integers(0, 60), max_size=12), st.sets(st.integers(0, 60), max_size=12))


def transfer(flow, lost, **options):
    """One transfer over s - d with the packets `lost[0]` dropped there and `lost[1]` on the way back."""
    ways = zip(("s->d", "d->s"), lost, strict=True)
    drops = tuple(Drop(link=way, packet=n) for way, numbers in ways for n in sorted(numbers))
    return Scenario(
        (Flows(source="s", target="d", initial_window=2, **flow),),
        # Twenty-four losses, each after at most 64 s of back-off, and the transfer itself.
        duration=3000.0,
        warm_up=0.0,
        epoch=100.0,
        slice=3000.0,
        links=(Link("s", "d", rate=1e6, delay=0.05),),
        drops=drops,
        **options,
    )


@settings(max_examples=150, deadline=None, derandomize=True)
@given(flows, losses, st.sampled_from(["grid", "double"]))
def test_every_transfer_completes_with_exactly_its_segments(flow, lost, clock):
    result = simulate(transfer(flow, lost, clock=clock, record=Record(receives=True)))
    segments = flow["segments"] + flow["handshake"]
    assert result["transferred"].item() == segments
    assert result["goodput"].item() == segments
    assert result["in_flight"].item() == 0
    assert set(result["receive_segment"].values.tolist()) == set(range(segments))
    # One chosen loss costs at most one packet each; the books say which were.
    assert result["dropped"].item() <= len(lost[0]) and result["acks_dropped"].item() <= len(lost[1])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(flows, st.floats(0.0, 0.3), st.integers(0, 1000))
def test_transfers_complete_over_lossy_links(flow, loss, seed):
    scenario = Scenario(
        (Flows(source="s", target="d", initial_window=2, count=3, **flow),),
        # A round with the largest back-off takes 64 s; with loss 0.3 both ways half of them fail: 1e5 s are
        # more than a thousand rounds.
        duration=1e5,
        warm_up=0.0,
        epoch=1e3,
        slice=1e5,
        links=(Link("s", "d", rate=1e6, delay=0.05, loss=loss),),
        seed=seed,
    )
    result = simulate(scenario)
    assert (result["transferred"] == flow["segments"] + flow["handshake"]).all()
    assert (result["goodput"] == result["transferred"]).all()


def steps(scenario):
    """The run, one event at a time: (arrays, slot of the event about to happen)."""
    sim = engine.build(scenario, scenario.seed)
    loop, k = engine.loop, engine.k
    loop.start(sim.world)
    while True:
        assert sim.world["heap_count"][0]
        slot = int(sim.heap[0])
        if sim.events[slot]["time"] >= scenario.duration:
            return
        before = (int(sim.events[slot]["what"]), int(sim.events[slot]["seq"]))
        while (status := loop.advance(sim.world, scenario.duration, 1)) != k.PAUSED:
            assert status == k.GROW_EVENTS
            sim = engine._more_events(sim, len(sim.events))
        yield sim, slot, before
        if sim.flows[0]["una"] >= sim.flows[0]["limit"]:
            return


def held(sim):
    """Segments that the receiver has, up to the highest sent."""
    f, mask = sim.flows[0], sim.received.shape[1] - 1
    above = {s for s in range(int(f["rcv_next"]), int(f["top"])) if sim.received[0, s & mask]}
    return above | set(range(int(f["rcv_next"])))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    flows.map(lambda flow: flow | {"sender": "sack", "delayed_ack": 0.0}).filter(lambda flow: flow["segments"] > 5),
    losses,
)
def test_blocks_and_scoreboard_tell_the_truth(flow, lost):
    """RFC 2018, section 4: at most three blocks of what has arrived, the newest segment in the first."""
    k = engine.k
    for sim, slot, (what, seq) in steps(transfer(flow, lost, scheduler="heap")):
        have, f = held(sim), sim.flows[0]
        if what == k.RECEIVE:
            ack = sim.events.view(np.recarray)[slot]
            assert ack.kind == k.ACK
            blocks = sim.blocks[slot][: 2 * ack.blocks].reshape(-1, 2).tolist()
            assert ack.blocks <= 3
            assert ack.ack == min(set(range(10**4)) - have)
            for left, right in blocks:
                assert ack.ack < left < right
                assert set(range(left, right)) <= have
            reported = [s for left, right in blocks for s in range(left, right)]
            assert len(reported) == len(set(reported))
            if seq > ack.ack:
                left, right = blocks[0]
                # The newest is in the first block, and that is as long as it can be.
                assert left <= seq < right and left - 1 not in have and right not in have
        believed = {s for s in range(int(f["una"]), int(f["top"])) if sim.sacked[0, s & (sim.sacked.shape[1] - 1)]}
        assert believed <= have
        assert f["una"] <= f["rcv_next"]
        assert f["top"] - f["una"] <= f["window"]


def test_three_islands_are_reported_newest_first():
    # 2, 4, 6, 8 of the twelve sent at once are lost: when 9 arrives there are four islands, and the oldest is left out.
    flow = Flows(
        source="s", target="d", rules="rfc", segments=12, window_limit=20, initial_window=12, limited_transmit=False
    )
    scenario = dataclasses.replace(
        transfer({}, (set(), set()), scheduler="heap"),
        flows=(flow,),
        drops=tuple(Drop(segment=s) for s in (2, 4, 6, 8)),
    )
    told = {}
    for sim, slot, (what, seq) in steps(scenario):
        if what == engine.k.RECEIVE and seq not in told:
            blocks = sim.blocks[slot][: 2 * sim.events[slot]["blocks"]].reshape(-1, 2)
            told[seq] = [tuple(block) for block in blocks.tolist()]
    assert told[1] == []
    assert told[3] == [(3, 4)]
    assert told[5] == [(5, 6), (3, 4)]
    assert told[7] == [(7, 8), (5, 6), (3, 4)]
    assert told[9] == [(9, 10), (7, 8), (5, 6)]
    assert told[10] == [(9, 11), (7, 8), (5, 6)]
    assert told[11] == [(9, 12), (7, 8), (5, 6)]
    # 2 is filled first: the cumulative acknowledgement takes it and 3, the blocks stay.
    assert told[2] == [(9, 12), (7, 8), (5, 6)]
    # 4 takes 5 along, and what is below the acknowledgement is reported no more.
    assert told[4] == [(9, 12), (7, 8)]
    assert told[8] == []


def test_duplicates_before_anything_in_order_are_heeded_with_timestamps():
    """There is nothing to echo yet; the first segment is lost, three duplicates have it sent again."""
    flow = Flows(rules="rfc", sender="reno", rtt=0.1, timestamps=True, initial_window=6, segments=20)
    scenario = Scenario((flow,), Bottleneck(1e7), 5.0, 0.0, epoch=0.1, drops=(Drop(0, segment=0),))
    result = simulate(scenario)
    assert (result.fast_recoveries.item(), result.timeouts.item()) == (1, 0)
