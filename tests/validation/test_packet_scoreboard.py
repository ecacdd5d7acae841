"""Scoreboards and receivers of large windows: the packets of a search segment by segment, for a bounded search.

Run as a script, interpreted, this file compares whole runs with such a search, and counts looks at the calendar.
"""

import dataclasses
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tcpdynamics.validation.packet import Bottleneck, Drop, Flows, Link, Record, Scenario, engine, simulate
from tcpdynamics.validation.packet.kernel import loop
from tcpdynamics.validation.packet.kernel import receiver as receiving
from tcpdynamics.validation.packet.kernel import views as at
from tcpdynamics.validation.packet.kernel.records import DUP_THRESH, FAST, NEW
from tcpdynamics.validation.packet.kernel.senders import as_ns2 as ns2
from tcpdynamics.validation.packet.kernel.senders import by_rfc as rfc
from tcpdynamics.validation.packet.kernel.senders import common as sending

EVERYTHING = Record(sends=True, receives=True, drops=True)


def marked_one_by_one(w, f, i, slot):
    mask = at.sacked(w).shape[1] - 1
    news = 0
    for b in range(at.event(w, slot).blocks):
        for seq in range(max(at.blocks(w)[slot, 2 * b], f.una), min(at.blocks(w)[slot, 2 * b + 1], f.top)):
            if not at.sacked(w)[i, seq & mask]:
                at.sacked(w)[i, seq & mask] = 1
                f.sack_max = max(f.sack_max, seq)
                news += 1
    f.sack_total += news
    return news


def next_hole_one_by_one(w, f, i):
    """The first segment that was not reported while a later one was."""
    if f.sack_total <= 0:
        return -1
    mask = at.sacked(w).shape[1] - 1
    f.scan = max(f.scan, f.sack_min)
    seq = f.scan
    while seq < f.top and at.sacked(w)[i, seq & mask]:
        seq += 1
    later = seq
    while later < f.top and not at.sacked(w)[i, later & mask]:
        later += 1
    if later >= f.top:
        return -1
    f.scan = seq
    return seq


def filled_one_by_one(w, f, i):
    """SetPipe and NextSeg of RFC 6675, as they stand there."""
    mask = at.sacked(w).shape[1] - 1
    pipe, above = 0, 0
    lost_end = last_sacked = f.una
    for seq in range(f.top - 1, f.una - 1, -1):
        if at.sacked(w)[i, seq & mask]:
            if above == 0:
                last_sacked = seq
            above += 1
        else:
            if above < DUP_THRESH:
                pipe += 1
            elif lost_end == f.una:
                lost_end = seq + 1
            if seq <= f.high_rxt:
                pipe += 1
    hole = max(f.una, f.high_rxt + 1)
    window = min(np.int64(f.cwnd), f.window)
    while pipe < window:
        while hole < lost_end and at.sacked(w)[i, hole & mask]:
            hole += 1
        if hole < lost_end:
            f.high_rxt = hole
            rfc.transmit(w, f, i, hole, FAST)
            hole += 1
        elif f.top < f.una + f.window and f.top < f.limit:
            rfc.transmit(w, f, i, f.top, NEW)
            f.next = f.top
        else:
            while hole < last_sacked and at.sacked(w)[i, hole & mask]:
                hole += 1
            if hole >= last_sacked:
                return
            f.high_rxt = hole
            rfc.transmit(w, f, i, hole, FAST)
            hole += 1
        pipe += 1


def row_one_by_one(original):
    def blocks(w, f, i, slot, seq):
        mask = at.received(w).shape[1] - 1
        if f.rcv_next <= f.rcv_max and seq >= f.rcv_next:
            right = seq
            while right <= f.rcv_max and at.received(w)[i, right & mask]:
                right += 1
            left = right - 1
            while at.received(w)[i, (left - 1) & mask] and left > f.rcv_next:
                left -= 1
            f.run_left, f.run_right = left, right
        return original(w, f, i, slot, seq)

    return blocks


def scenarios():
    """Many holes in a window, holes lost again, timeouts, rings that turn around, blocks that are forgotten."""
    for rules in ("ns2", "rfc"):
        for window, loss, segments in ((40, 0.03, None), (150, 0.1, 400), (20, 0.3, None)):
            flow = Flows(2, "sack", rules, rtt=0.1, window_limit=window, initial_window=window, segments=segments)
            link = Bottleneck(4e5, None, loss)
            yield Scenario((flow,), link, duration=5.0, warm_up=1.0, record=EVERYTHING)
        # Half of a window at once, retransmissions of it lost too; acknowledgements lost and delayed.
        links = (Link("a", "b", 1e6, 0.02, buffer=30), Link("b", "c", 1e6, 0.02, loss=0.02))
        flow = Flows(1, "sack", rules, source="a", target="c", window_limit=64, initial_window=64, delayed_ack=0.1)
        drops = tuple(Drop(0, segment=n, transmission=t) for n in range(6, 30, 3) for t in (1, 2))
        yield Scenario((flow,), None, 5.0, 1.0, epoch=0.1, links=links, drops=drops, record=EVERYTHING, clock="grid")


def differences():
    """Scenarios whose packets are not those of the search segment by segment, and packets compared."""
    found = [simulate(scenario) for scenario in scenarios()]
    sending.mark_blocks = ns2.mark_blocks = rfc.mark_blocks = marked_one_by_one
    ns2.next_hole = next_hole_one_by_one
    rfc.fill_pipe = filled_one_by_one
    receiving._sack_blocks = row_one_by_one(receiving._sack_blocks)
    plain = [simulate(scenario) for scenario in scenarios()]
    return {
        "different": [n for n, (a, b) in enumerate(zip(found, plain, strict=True)) if not a.identical(b)],
        "sent": sum(result.sizes["send"] for result in found),
        "again": int(sum((result.send_kind != 0).sum() for result in found)),
    }


def looks(flows):
    """How often the list of events is looked at while so many flows are told to start at one time."""
    scenario = Scenario((Flows(flows, start_spread=0.0),), duration=2.0, warm_up=1.0)
    sim = engine.build(scenario, 1)
    count = 0
    event = at.event

    def counted(w, slot):
        nonlocal count
        count += 1
        return event(w, slot)

    at.event = counted
    loop.start(sim.world)
    at.event = event
    return count


@pytest.fixture(scope="module")
def interpreted():
    done = subprocess.run(
        [sys.executable, __file__],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.slow
def test_every_packet_is_that_of_a_search_segment_by_segment(interpreted):
    assert interpreted["different"] == []
    assert interpreted["sent"] > 1000 and interpreted["again"] > 100


@pytest.mark.slow
def test_events_at_one_time_do_not_walk_past_each_other(interpreted):
    few, many = interpreted["looks"]
    assert many <= 2.1 * few  # twice the flows; four times where each walks past all before it


def test_ties_keep_their_order_in_calendar_and_heap():
    tied = Scenario(
        (Flows(300, rtt=0.1, start_spread=0.0),), Bottleneck(1e7, 200), duration=5.0, warm_up=1.0, record=EVERYTHING
    )
    heap = simulate(dataclasses.replace(tied, scheduler="heap"))
    assert simulate(tied).drop_attrs().identical(heap.drop_attrs())


@pytest.mark.parametrize("rules", ["ns2", "rfc"])
@pytest.mark.parametrize("loss", [1e-4, 0.01])
def test_steps_of_searches_grow_with_the_packets_not_with_the_window(rules, loss):
    window = 200_000
    flow = Flows(
        1, "sack", rules, rtt=0.1, window_limit=window, initial_window=window, packet_size=1000, start_spread=0.0
    )
    scenario = Scenario((flow,), Bottleneck(1e10, None, loss), duration=1.5, warm_up=0.1)
    run = engine.execute(scenario, 1)
    sent = int(run.totals[0, engine.k.SENT])
    assert sent > window
    # Paths that are shortened as they are walked have log2(window) steps a packet at most, on average; a timeout
    # passes over the window. A search of the window for each acknowledgement takes a thousand times that.
    timeouts = int(run.totals[0, engine.k.TIMEOUTS])
    assert run.sim.world["scanned"][0] <= np.log2(window) * sent + window * (timeouts + 1)


def test_what_is_slow_is_asked_for_less():
    """The events until the keyboard is looked at follow the time that they take, within bounds."""
    assert engine._next_budget(20_000, 0.001) == 80_000
    assert engine._next_budget(1_000_000, 10.0) == 10_000
    assert engine._next_budget(1_000, 10.0) == 1_000
    assert engine._next_budget(1_000_000, 0.01) == 1_000_000


if __name__ == "__main__":
    counts = [looks(200), looks(400)]
    print(json.dumps({**differences(), "looks": counts}))
