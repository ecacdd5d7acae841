"""Senders without a window, send by send as ns-2: TFRC with drawn losses of packets and reports, CBR with steps."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tcpdynamics.validation.ns2 import installed, run_ns2
from tcpdynamics.validation.packet import Drop, Flows, Link, Record, Scenario, simulate

#: ns-2 prints 15 digits and both simulators add plain doubles: far below one bit's sending time.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Case:
    """One flow over s - r1 - r2 - d, with the packets to lose on r1->r2 (data) and r2->r1 (reports)."""

    sender: str = "tfrc"
    data: tuple[int, ...] = ()
    acks: tuple[int, ...] = ()
    parameters: tuple[tuple[str, float], ...] = ()
    steps: tuple[tuple[float, float], ...] = ()
    segments: int | None = 1000
    stop: float | None = None
    buffer: int | None = None
    rate: float = 1e6
    delay: float = 0.05
    access_rate: float = 1e8
    packet_size: int = 1000
    start: float = 0.1
    duration: float = 60.0

    def scenario(self) -> Scenario:
        links = (
            Link("s", "r1", self.access_rate, 0.001),
            Link("r1", "r2", self.rate, self.delay, self.buffer),
            Link("r2", "d", self.access_rate, 0.001),
        )
        flow = Flows(
            sender=self.sender, source="s", target="d", packet_size=self.packet_size, start=self.start,
            segments=self.segments, stop=self.stop, parameters=dict(self.parameters) if self.parameters else (),
            rate_steps=self.steps,
        )  # fmt: skip
        drops = [Drop(link="r1->r2", packet=n) for n in self.data]
        drops += [Drop(link="r2->r1", packet=n) for n in self.acks]
        return Scenario(
            (flow,), None, self.duration, 0.0, epoch=1.0, slice=self.duration, links=links, drops=tuple(drops),
            record=Record(sends=True),
        )  # fmt: skip


def lost(draw: st.DrawFn, most: int, bursts: int) -> tuple[int, ...]:
    drawn = draw(st.lists(st.tuples(st.integers(0, most), st.integers(1, 8)), max_size=bursts))
    return tuple(sorted({first + i for first, n in drawn for i in range(n)}))


@st.composite
def friendly(draw: st.DrawFn) -> Case:
    """TFRC: losses early and late, reports lost until the timer expires, queues that overflow or grow."""

    def one_of(*values: Any) -> Any:
        return draw(st.sampled_from(values))

    segments = one_of(1000, 300, 3000, None)
    stop = one_of(None, None, 20.0, 13.21)
    # ns-2 divides by 0, and dies, where a flow is stopped before its first report is back.
    safe = 0 if stop is None else 10
    values = {
        "q": one_of(0.95, 0.9, 0.5),
        "b": one_of(1.0, 2.0),
        "tick": one_of(0.1, 0.01),
        "intervals": one_of(8.0, 4.0, 16.0),
        "discounting": one_of(1.0, 0.0),
        "least_discount": one_of(0.5, 0.25),
        "damping": one_of(1.0, 0.0),
    }
    return Case(
        data=tuple(n + safe for n in lost(draw, segments or 2000, 12)),
        acks=tuple(n + safe for n in lost(draw, one_of(20, 100, 400), 5)),
        parameters=tuple(values.items()),
        segments=segments,
        stop=stop,
        buffer=one_of(None, 50, 20, 6, 3),
        rate=one_of(1e6, 1e5, 1e7),
        delay=one_of(0.05, 0.01, 0.1234, 0.7),
        access_rate=one_of(1e8, 3e6),
        packet_size=one_of(1000, 500, 1500, 2500),
        start=one_of(0.1, 0.0, 7.77),
        duration=one_of(60.0, 200.0),
    )


@st.composite
def stepped(draw: st.DrawFn) -> Case:
    """CBR: rates that change, silences among them."""

    def one_of(*values: Any) -> Any:
        return draw(st.sampled_from(values))

    times = sorted(draw(st.lists(st.integers(0, 4000), min_size=1, max_size=8, unique=True)))
    rates = [one_of(1e5, 3e5, 0.0, 1.2e6, 2e4) for _ in times]
    segments = one_of(None, None, 200)
    return Case(
        sender="cbr",
        data=lost(draw, 300, 4),
        steps=tuple((time / 100, rate) for time, rate in zip(times, rates, strict=True)),
        segments=segments if all(rates) else None,
        stop=one_of(None, 30.0),
        buffer=one_of(None, 20),
        packet_size=one_of(1000, 333),
        start=one_of(0.1, 0.0, 7.77),
    )


def compare(case: Case) -> int:
    scenario = case.scenario()
    ours, theirs = simulate(scenario), run_ns2(scenario)
    rows = [list(zip(r.send_time.values, r.send_segment.values, strict=True)) for r in (ours, theirs)]
    for i, (a, b) in enumerate(zip(*rows, strict=False)):
        assert a[1] == b[1] and abs(a[0] - b[0]) <= TOLERANCE, f"send {i}: ours {a}, ns-2 {b}\n{case}"
    assert len(rows[0]) == len(rows[1]), (len(rows[0]), len(rows[1]), case)
    return len(rows[0])


def check(cases: st.SearchStrategy[Case], examples: int) -> None:
    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(cases)
    def run(case: Case) -> None:
        compare(case)

    run()


needs_ns2 = pytest.mark.skipif(not installed(), reason="ns-2 is not installed")


@needs_ns2
@pytest.mark.parametrize("cases", [friendly(), stepped()], ids=["tfrc", "cbr"])
def test_each_packet_goes_when_ns2_sends_it(cases: Any) -> None:
    check(cases, 5)


@needs_ns2
@pytest.mark.slow
@pytest.mark.parametrize("cases", [friendly(), stepped()], ids=["tfrc", "cbr"])
def test_each_packet_goes_when_ns2_sends_it_200(cases: Any) -> None:
    check(cases, 200)
