"""Window rules send by send as ns-2: HighSpeed TCP with drawn losses, Vegas as long as nothing is lost."""

from dataclasses import dataclass

import numpy as np
import pytest
from beside_ns2 import SENDERS, check, chooser, compare, drops
from hypothesis import strategies as st

from tcpdynamics.errors import ScenarioError
from tcpdynamics.validation.ns2 import tcl
from tcpdynamics.validation.packet import Flows, Link, Record, Scenario


@dataclass(frozen=True)
class Case:
    """One flow over s - r1 - r2 - d, with the packets to lose on r1->r2 (data) and r2->r1 (acknowledgements)."""

    control: str = "hstcp"
    parameters: tuple[tuple[str, float], ...] = ()
    sender: str = "sack"
    data: tuple[int, ...] = ()
    acks: tuple[int, ...] = ()
    segments: int = 2000
    window: int = 200
    initial: int = 2
    buffer: int | None = None
    rate: float = 1e7
    delay: float = 0.05
    access_rate: float = 1e8
    packet_size: int = 1000
    delayed_ack: float = 0.0
    timestamps: bool = False
    min_rto: float = 0.2
    handshake: bool = True
    start: float = 0.1
    duration: float = 300.0

    def scenario(self) -> Scenario:
        links = (
            Link("s", "r1", self.access_rate, 0.001),
            Link("r1", "r2", self.rate, self.delay, self.buffer),
            Link("r2", "d", self.access_rate, 0.001),
        )
        flow = Flows(
            sender=self.sender, control=self.control, parameters=dict(self.parameters), source="s", target="d",
            packet_size=self.packet_size, start=self.start, segments=self.segments, window_limit=self.window,
            initial_window=self.initial, handshake=self.handshake, delayed_ack=self.delayed_ack,
            timestamps=self.timestamps, min_rto=self.min_rto,
        )  # fmt: skip
        return Scenario(
            (flow,), None, self.duration, 0.0, epoch=1.0, slice=self.duration, links=links,
            drops=drops(self.data, self.acks), record=Record(sends=True),
        )  # fmt: skip


def lost(draw: st.DrawFn, segments: int) -> tuple[int, ...]:
    """Bursts hit retransmissions too, and then theirs."""
    bursts = draw(st.lists(st.tuples(st.integers(0, segments), st.integers(1, 4)), max_size=6))
    return tuple(sorted({first + i for first, n in bursts for i in range(n)}))


@st.composite
def fast(draw: st.DrawFn) -> Case:
    """HighSpeed TCP where its law rules: windows above `low_window`, losses early and late."""

    one_of = chooser(draw)
    segments = one_of(2000, 500, 4000)
    parameters = {
        "low_window": one_of(38.0, 10.0, 4.0),
        "high_window": one_of(83000.0, 500.0, 3000.0),
        "high_p": one_of(1e-7, 1e-5),
        "high_decrease": one_of(0.1, 0.3, 0.5),
    }
    return Case(
        parameters=tuple(parameters.items()),
        sender=one_of(*SENDERS[::-1]),
        data=lost(draw, segments),
        acks=lost(draw, segments),
        segments=segments,
        window=one_of(200, 64, 500),
        initial=one_of(2, 1, 10),
        buffer=one_of(None, 100, 30),
        rate=one_of(1e7, 2e6, 5e7),
        delay=one_of(0.05, 0.01, 0.1234),
        packet_size=one_of(1000, 500),
        delayed_ack=one_of(0.0, 0.1),
        timestamps=one_of(False, True),
        min_rto=one_of(0.2, 1.0),
        handshake=one_of(True, False),
    )


@st.composite
def careful(draw: st.DrawFn) -> Case:
    """Vegas on a queue without limit, single acknowledgements lost once some are under way: no timer expires."""

    one_of = chooser(draw)
    segments = one_of(500, 2000)
    alpha = one_of(1.0, 2.0, 4.0)
    return Case(
        control="vegas",
        parameters=(("alpha", alpha), ("beta", alpha + one_of(2.0, 0.0, 1.0)), ("gamma", one_of(1.0, 3.0))),
        sender="reno",
        acks=tuple(sorted({60 + 3 * n for n in draw(st.lists(st.integers(0, segments // 3), max_size=20))})),
        segments=segments,
        window=one_of(200, 64, 20, 500),
        initial=one_of(2, 1, 10),
        rate=one_of(1e7, 2e6, 5e7),
        delay=one_of(0.05, 0.01, 0.1234),
        packet_size=one_of(1000, 500),
        delayed_ack=one_of(0.0, 0.1),
        min_rto=5.0,
        handshake=False,
    )


@pytest.mark.parametrize("sender", SENDERS)
def test_high_speed_tcp_after_each_kind_of_loss(ns, sender):
    """In slow start, above and below low_window, and a burst that ends in a timeout."""
    compare(Case(sender=sender, data=(60, 700, 701, 1500), parameters=(("low_window", 20.0),)))
    compare(Case(sender=sender, data=(*range(90, 140), 900, 930, 960)))


def test_high_speed_tcp_with_drawn_losses(ns):
    check(fast(), 8)


def test_vegas_without_losses(ns):
    check(careful(), 8)


@pytest.mark.slow
@pytest.mark.parametrize("cases", [fast(), careful()], ids=["hstcp", "vegas"])
def test_two_hundred_drawn_cases(ns, cases):
    check(cases, 200)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"control": "cubic"}, r'flows\.control = "cubic": only "reno", "hstcp" and "vegas"'),
        ({"control": "hstcp", "parameters": {"low_p": 2e-3}}, r"flows\.parameters\.low_p"),
        ({"control": "dctcp", "ecn": True}, r'flows\.control = "dctcp"'),
        ({"control": "vegas", "ecn": True}, r'flows\.ecn with control "vegas"'),
        ({"control": "vegas"}, r'flows\.sender = "sack" with control "vegas"'),
        ({"control": "vegas", "sender": "reno"}, r"flows\.handshake"),
        (
            {"control": "vegas", "sender": "reno", "handshake": False, "parameters": {"alpha": 1.5}},
            r"flows\.parameters: ns-2's Vegas counts whole packets",
        ),
    ],
)
def test_what_ns2_cannot_follow_is_refused(options, message):
    marks = {"queue": "red", "queue_parameters": {"ns2": 1}} if options["control"] == "dctcp" else {}
    link = Link("s", "d", 1e6, 0.01, buffer=20, **marks)
    scenario = Scenario((Flows(source="s", target="d", **options),), links=(link,))
    with pytest.raises(ScenarioError, match=message):
        tcl(scenario)


def test_the_script_says_which_law(ns):
    text = tcl(Case(parameters=(("low_window", 20.0),)).scenario())
    assert "windowOption_ 8" in text and "low_window_ 20.0" in text
    text = tcl(Case("vegas", sender="reno", handshake=False).scenario())
    assert "Agent/TCP/Vegas" in text and "v_beta_ 3.0" in text
    assert np.char.count(text, "windowOption_") == 0
