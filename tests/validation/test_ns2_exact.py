"""Send by send as ns-2: one flow, chosen losses of data and acknowledgements, every time and segment equal.

A failing case is printed as a `Case(...)`; `compare(Case(...))` runs it again.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
import xarray as xr
from beside_ns2 import SENDERS, TOLERANCE, check, chooser, compare, difference, drops
from hypothesis import strategies as st

from tcpdynamics.validation.ns2 import run_ns2
from tcpdynamics.validation.packet import Bottleneck, Drop, Flows, Link, Record, Scenario, simulate
from tcpdynamics.validation.packet.kernel.records import ACK
from tcpdynamics.validation.packet.scenario import topologies


@dataclass(frozen=True)
class Case:
    """One flow over s - r1 - r2 - d, with the packets to lose on r1->r2 (data) and r2->r1 (acknowledgements)."""

    sender: str = "sack"
    data: tuple[int, ...] = ()
    acks: tuple[int, ...] = ()
    segments: int = 30
    window: int = 20
    initial: int = 2
    buffer: int | None = None
    rate: float = 1e6
    delay: float = 0.01
    access_rate: float = 1e7
    access_delay: float = 0.001
    packet_size: int = 1000
    delayed_ack: float = 0.0
    sack: bool | None = None
    timestamps: bool = False
    tick: float = 0.01
    min_rto: float = 0.2
    buffer_bytes: int | None = None
    limited_transmit: bool = True
    handshake: bool = True
    start: float = 0.0
    stop: float | None = None
    duration: float = 500.0
    initial_rto: float | None = None

    def scenario(self) -> Scenario:
        links = (
            Link("s", "r1", self.access_rate, self.access_delay),
            Link("r1", "r2", self.rate, self.delay, self.buffer, self.buffer_bytes),
            Link("r2", "d", self.access_rate, self.access_delay),
        )
        flow = Flows(
            sender=self.sender, source="s", target="d", packet_size=self.packet_size, start=self.start,
            segments=self.segments, window_limit=self.window, initial_window=min(self.initial, self.window),
            handshake=self.handshake, limited_transmit=self.limited_transmit, delayed_ack=self.delayed_ack,
            sack=self.sack, timestamps=self.timestamps, timer_granularity=self.tick, min_rto=self.min_rto,
            stop=self.stop, initial_rto=self.initial_rto,
        )  # fmt: skip
        return Scenario(
            (flow,), None, self.duration, 0.0, epoch=1.0, slice=self.duration, links=links,
            drops=drops(self.data, self.acks), record=Record(sends=True),
        )  # fmt: skip


@st.composite
def cases(draw: st.DrawFn, sender: str) -> Case:
    """Every part shrinks to the default of `Case`, and lists of losses to few and early ones."""
    segments = draw(st.integers(30, 300))
    # Bursts hit retransmissions too, and then theirs.
    bursts = st.lists(st.tuples(st.integers(0, segments + 20), st.integers(1, 6)), max_size=8)
    lost = bursts.map(lambda found: tuple(sorted({first + i for first, n in found for i in range(n)})))

    one_of = chooser(draw)
    limit = draw(st.none() | st.sampled_from([50, 20, 10, 6, 4, 3, 2]) | st.integers(1600, 20000))
    in_bytes = limit is not None and limit > 100
    start = one_of(0.0, 0.1, 0.375, 1.2345)
    return Case(
        sender,
        data=draw(lost),
        acks=draw(lost),
        segments=segments,
        window=one_of(20, 8, 4, 3, 2, 1, 40, 64, 100),
        initial=one_of(2, 1, 3, 4, 10),
        buffer=None if in_bytes else limit,
        buffer_bytes=limit if in_bytes else None,
        rate=one_of(1e6, 5e5, 1.5e6, 7e6, 64e3),
        delay=one_of(0.01, 0.003, 0.05, 0.1234),
        access_rate=one_of(1e7, 2e6, 1e8, 3e5),
        access_delay=one_of(0.001, 0.0, 0.002, 0.0137),
        packet_size=one_of(1000, 500, 576, 1500),
        delayed_ack=one_of(0.0, 0.1),
        sack=None if sender == "sack" else one_of(None, True),
        timestamps=one_of(False, True),
        tick=one_of(0.01, 0.1, 0.001),
        min_rto=one_of(0.2, 1.0, 0.0),
        limited_transmit=one_of(True, False),
        handshake=one_of(True, False),
        start=start,
        stop=one_of(None, None, None, start + 1.7),
    )


@pytest.mark.parametrize("sender", SENDERS)
@pytest.mark.parametrize(
    ("handshake", "limited_transmit", "delayed_ack"),
    [
        pytest.param(*one, marks=[] if one in ((True, True, 0.1), (False, False, 0.0)) else pytest.mark.slow)
        for one in product([True, False], [True, False], [0.0, 0.1])
    ],
)
def test_each_single_loss_of_the_first_packets(ns, sender, handshake, limited_transmit, delayed_ack):
    for packet in (0, 1, 2, 4, 9, 23):
        case = Case(sender, (packet,), handshake=handshake, limited_transmit=limited_transmit, delayed_ack=delayed_ack)
        compare(case)


@pytest.mark.parametrize("sender", SENDERS)
def test_a_stop_is_an_opportunity_to_send(ns, sender):
    """ns-2's sender looks what it may send when its application stops: here the retransmission of segment 39."""
    for packets in ((), (7,), (7, 8, 20)):
        compare(Case(sender, packets, (1,), 40, 20, 1, 4, 1.5e6, 0.01, 1e8, 0.0, min_rto=1.0, stop=1.7))


@pytest.mark.parametrize("warm_up", [0.01, 3.0])
def test_goodput_as_a_rate(ns, warm_up):
    """One flow, send by send the same: so are its rates. A handshake is a small packet, where it is measured."""
    for handshake in (True, False):
        flow = Flows(sender="newreno", rtt=0.1, segments=800, handshake=handshake)
        scenario = Scenario((flow,), Bottleneck(1e6, 50), duration=10.0, warm_up=warm_up, epoch=0.2)
        ours, theirs = simulate(scenario), run_ns2(scenario)
        for name in ("goodput_rate", "goodput_packet_rate"):
            assert theirs[name].attrs["units"] == ours[name].attrs["units"]
            np.testing.assert_allclose(theirs[name], ours[name], rtol=1e-12)


@st.composite
def repeated_handshakes(draw: st.DrawFn, sender: str) -> Case:
    """First timeouts below the round trip: the handshake goes several times, and its answers are duplicates later."""
    one_of = chooser(draw)
    return Case(
        sender,
        data=draw(st.lists(st.integers(0, 40), max_size=2).map(lambda found: tuple(sorted(set(found))))),
        segments=one_of(300, 50, 5),
        window=one_of(256, 20, 4),
        initial=one_of(2, 4),
        buffer=one_of(30, 8, 3, None),
        delay=one_of(5.0, 0.6, 1.7, 2.3, 3.1, 8.0),
        access_rate=1e8,
        access_delay=one_of(1e-4, 1e-6),
        packet_size=one_of(1460, 500),
        delayed_ack=one_of(0.0, 0.1),
        timestamps=one_of(False, True),
        min_rto=one_of(0.2, 1.0),
        limited_transmit=one_of(True, False),
        duration=100.0,
        initial_rto=one_of(1.0, 0.3, 0.5, 1.7, 3.0),
    )


@pytest.mark.parametrize("sender", SENDERS)
def test_half_of_a_window_of_one_segment_is_less_than_one(ns, sender):
    """Four handshakes, four answers: the third duplicate halves a window of one, and three more segments wait."""
    compare(
        Case(
            sender, segments=300, window=256, buffer=30, delay=5.0, access_rate=1e8, access_delay=1e-4,
            packet_size=1460, duration=60.0, initial_rto=1.0,
        )
    )  # fmt: skip


@pytest.mark.parametrize("sender", SENDERS)
def test_drawn_handshakes_that_are_repeated(ns, sender):
    check(repeated_handshakes(sender), 15)


@pytest.mark.slow
@pytest.mark.parametrize("sender", SENDERS)
def test_many_handshakes_that_are_repeated(ns, sender):
    check(repeated_handshakes(sender), 500)


@pytest.mark.parametrize("sender", SENDERS)
def test_drawn_losses(ns, sender):
    check(cases(sender), 8)


@pytest.mark.slow
@pytest.mark.parametrize("sender", SENDERS)
def test_many_drawn_losses(ns, sender):
    check(cases(sender), 500)


# Several flows, by default on the clock of ns-2. Its senders draw where their ticks stand, which shows only in
# timeouts above the floor: with a floor of 3 s and round trips of half a second at most, nothing that is drawn decides.


@dataclass(frozen=True)
class Crowd:
    """Flows in step with each other: RTTs that are equal, or whole multiples of what a packet takes on the queue."""

    sender: str = "reno"
    flows: int = 2
    rate: float = 1e6
    buffer: int = 10
    steps: int = 10
    apart: int = 0
    packet_size: int = 1000
    start: float = 0.0
    overtime: float = 0.0

    def scenario(self) -> Scenario:
        one = 8 * self.packet_size / self.rate
        low, high = self.steps * one, (self.steps + self.apart * (self.flows - 1)) * one
        low, high = low + self.overtime * one, high + self.overtime * one
        links = topologies.dumbbell(self.flows, self.rate, self.buffer, (low, high), 100 * self.rate, low / 8)
        flows = tuple(
            Flows(
                sender=self.sender, source=f"s{i}", target=f"d{i}", start=self.start,
                packet_size=self.packet_size, min_rto=3.0,
            )
            for i in range(self.flows)
        )  # fmt: skip
        return Scenario(
            flows, links=links, duration=30.0, warm_up=0.0, epoch=1.0, slice=30.0, record=Record(sends=True)
        )


@st.composite
def crowds(draw: st.DrawFn) -> Crowd:
    one_of = chooser(draw)
    rate = one_of(1e6, 3e6, 1.3e6)
    packet_size = one_of(1000, 500, 1500)
    return Crowd(
        one_of(*SENDERS),
        one_of(2, 3, 5),
        rate,
        one_of(10, 5, 20, 3),
        one_of(10, 4, 7, 13),
        one_of(0, 1, 2),
        packet_size,
        one_of(0.0, 0.1, 0.375),
        one_of(0.0, 0.5, 0.3),
    )


def test_flows_in_step_are_as_in_ns2_by_default(ns):
    check(crowds(), 12)


@pytest.mark.slow
def test_many_flows_in_step_are_as_in_ns2_by_default(ns):
    check(crowds(), 1000)


def test_the_first_difference_is_named():
    def sent(*rows):
        return xr.Dataset({"send_time": ("send", [r[0] for r in rows]), "send_segment": ("send", [r[1] for r in rows])})

    same = sent((0.0, 0), (0.5, 1))
    assert difference(same, same) == ""
    assert difference(same, sent((0.0, 0), (0.6, 1))) == "send 1: ours 0.5 s segment 1, ns-2 0.6 s segment 1"
    assert difference(same, sent((0.0, 0))) == "send 1: only ours has 0.5 s segment 1"


@pytest.mark.parametrize("sender", ["tahoe", "reno", "newreno", "sack"])
def test_duplicates_of_the_last_acknowledgement_resend_nothing(sender: Any) -> None:
    """A timer shorter than the round trip resends a segment that arrives; its duplicates ask for none that follows."""
    flow = Flows(sender=sender, rtt=0.4, segments=1, handshake=False, min_rto=0.0, max_rto=0.05, initial_rto=0.05)
    scenario = Scenario((flow,), Bottleneck(2e6, 8), 20.0, 0.0, epoch=0.01, record=Record(sends=True))
    ours, theirs = simulate(scenario), run_ns2(scenario)
    np.testing.assert_array_equal(ours.send_segment.values, 0)
    np.testing.assert_allclose(ours.send_time.values, theirs.send_time.values, rtol=0, atol=1e-9)
    assert int(ours.transferred[0]) == 1


@pytest.mark.parametrize("sender", SENDERS)
@pytest.mark.parametrize(
    "options",
    [
        {"start": 3.3, "segments": 90},
        {"start": 7.21, "segments": 400, "delayed_ack": 0.1},
        {"start": 1.0, "segments": 30},  # over before anything is measured
        {"start": 3.3, "stop": 11.15},
        {"start": 25.0, "segments": 5},  # never begins
        {"start": 6.05},
    ],
    ids=str,
)
def test_epochs_of_late_starts_and_early_finishes(ns, sender, options):
    """Epochs before a flow's start and after its finish are counted by neither."""
    links = (Link("a", "b", 1e6, 0.011, 12), Link("b", "c", 4e5, 0.017, 9))
    flow = Flows(sender=sender, source="a", target="c", packet_size=1000, start_spread=0.0, **options)
    scenario = Scenario((flow,), None, 20.0, 5.0, epoch=0.5, links=links, record=Record(sends=True))
    ours, theirs = simulate(scenario), run_ns2(scenario)
    assert not difference(ours, theirs)
    np.testing.assert_array_equal(ours.epochs, theirs.epochs)
    for name in ("start", "finish"):
        np.testing.assert_allclose(ours[name], theirs[name], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("sender", SENDERS)
def test_duplicates_and_lost_acknowledgements_are_those_of_ns2(ns, sender):
    """All acknowledgements of a window are lost on the way back, so that a timer sends what has arrived."""
    flow = Flows(sender=sender, source="a", target="b", packet_size=1000, segments=60, start_spread=0.0)
    chosen = (Drop(link="a->b", packet=9), *(Drop(link="b->a", packet=number) for number in range(3, 16)))
    record = Record(sends=True, receives=True, drops=True)
    links = (Link("a", "b", 1e6, 0.02, 12),)
    scenario = Scenario((flow,), None, 30.0, 1.0, epoch=0.5, links=links, drops=chosen, record=record)
    ours, theirs = simulate(scenario), run_ns2(scenario)
    assert not difference(ours, theirs) and ours.duplicates.item() == theirs.duplicates.item() > 0
    for name in ("receive_segment", "receive_flow", "drop_flow"):
        np.testing.assert_array_equal(ours[name], theirs[name])
    for name in ("receive_time", "drop_time"):
        np.testing.assert_allclose(ours[name], theirs[name], rtol=0, atol=TOLERANCE)
    np.testing.assert_array_equal(ours.drop_kind == ACK, theirs.drop_kind == ACK)
    assert (theirs.drop_kind == ACK).sum() > 5
