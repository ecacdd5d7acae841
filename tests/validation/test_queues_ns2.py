"""RED, SFQ, DRR and ECN against ns-2.35, send by send: a mechanism that draws nothing, or ns-2's own numbers.

Single flows meet RED and ECN; a few flows over lanes of their own SFQ and DRR.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from beside_ns2 import SENDERS, check, chooser, compare, drops
from hypothesis import strategies as st

from tcpdynamics.errors import ScenarioError
from tcpdynamics.validation.ns2 import tcl
from tcpdynamics.validation.packet import Flows, Link, Record, Scenario, simulate


@dataclass(frozen=True)
class Case:
    """Flows s - r1 - r2 - d of the same kind over one queue."""

    queue: str = "red"
    parameters: dict[str, float] = field(default_factory=dict)
    senders: tuple[str, ...] = ("sack",)
    sizes: tuple[int, ...] = (1000,)
    ecn: bool = False
    control: str = "reno"
    law: dict[str, float] = field(default_factory=dict)
    buffer: int | None = 50
    buffer_bytes: int | None = None
    rate: float = 1e6
    delay: float = 0.01
    steps: float = 0.0
    window: int = 64
    delayed_ack: float = 0.0
    handshake: bool = True
    limited_transmit: bool = True
    stop: float | None = None
    segments: int | None = None
    data: tuple[int, ...] = ()
    acks: tuple[int, ...] = ()
    duration: float = 20.0

    def scenario(self) -> Scenario:
        links = [
            Link(
                "r1", "r2", self.rate, self.delay, self.buffer, self.buffer_bytes, self.queue, self.parameters,
                duplex=False,
            ),
            Link("r2", "r1", self.rate, self.delay, duplex=False),
        ]  # fmt: skip
        flows = []
        for i, (sender, size) in enumerate(zip(self.senders, self.sizes, strict=True)):
            # Access delays apart by parts of a sending time, so that no two packets come at one instant.
            links += [Link(f"s{i}", "r1", 1e8, 0.001 + 0.00037 * i), Link("r2", f"d{i}", 1e8, 0.001)]
            flows.append(
                Flows(
                    sender=sender, source=f"s{i}", target=f"d{i}", packet_size=size, window_limit=self.window,
                    ecn=self.ecn, control=self.control, parameters=self.law,
                    delayed_ack=self.delayed_ack, handshake=self.handshake, segments=self.segments,
                    limited_transmit=self.limited_transmit, stop=self.stop, start=0.1 + 0.0123 * i,
                    min_rto=3.0 if len(self.senders) > 1 else 0.2,
                )
            )  # fmt: skip
        return Scenario(
            tuple(flows), None, self.duration, 0.0, epoch=1.0, slice=self.duration, links=tuple(links),
            drops=drops(self.data, self.acks), record=Record(sends=True), clock="double",
        )  # fmt: skip


@st.composite
def red(draw: st.DrawFn, ecn: bool, certain: bool) -> Case:
    """Where it is certain, the mean queue alone decides; else ns-2's random numbers do."""

    one_of = chooser(draw)
    low = one_of(2.0, 1.0, 5.0, 8.5)
    values: dict[str, float] = {
        "ns2": 2.0,
        "min_threshold": low,
        "weight": one_of(0.002, 1.0, 0.1, 0.01, 0.5),
        "mean_packet": one_of(1000.0, 500.0),
    }
    if certain:
        values |= {"max_threshold": low + one_of(0.001, 1.0, 4.0), "p_max": 1e-9}
    else:
        values |= {
            "max_threshold": one_of(3.0, 2.0) * low, "p_max": one_of(0.1, 0.02, 0.5, 1.0),
            "gentle": float(one_of(0, 1)), "wait": float(one_of(0, 1)), "bytes": float(one_of(0, 1)),
        }  # fmt: skip
    values["mark_p"] = one_of(1.0, 0.1) if ecn else 1.0
    in_bytes = bool(values.get("bytes"))
    lost = st.lists(st.integers(0, 200), max_size=3).map(lambda found: tuple(sorted(set(found))))
    return Case(
        "red",
        values,
        (one_of(*SENDERS),),
        (one_of(1000, 500, 1500),),
        ecn=ecn,
        buffer=None if in_bytes else one_of(50, 20, 8),
        rate=one_of(1e6, 5e5, 7e6),
        delay=one_of(0.01, 0.003, 0.05, 0.1234),
        window=one_of(64, 20, 100),
        delayed_ack=one_of(0.0, 0.1),
        handshake=one_of(True, False),
        limited_transmit=one_of(True, False),
        stop=one_of(None, 7.77),
        data=draw(lost) if ecn else (),
        acks=draw(lost) if ecn else (),
    )


@st.composite
def lanes(draw: st.DrawFn, queue: str) -> Case:
    one_of = chooser(draw)
    n = one_of(2, 1, 3, 5)
    values: dict[str, float] = {"ns2": 1.0, "queues": float(one_of(64, 32))}
    size = one_of(1000, 500)
    sizes = tuple(one_of(1000, 500, 1500) for _ in range(n)) if queue == "drr" else (size,) * n
    if queue == "drr":
        values["quantum"] = float(one_of(250, 500, 1500, 100))
    return Case(
        queue, values, tuple(one_of(*SENDERS) for _ in range(n)), sizes,
        buffer=one_of(40, 100, 17, 80) if queue == "sfq" else None,
        buffer_bytes=one_of(25000, 12000, 40000, 8000) if queue == "drr" else None,
        rate=one_of(1e6, 3e6), delay=one_of(0.01, 0.0237, 0.05), duration=15.0,
    )  # fmt: skip


CASES = {
    "red, mean": red(False, True),
    "red, mean, ecn": red(True, True),
    "red, ns-2's numbers": red(False, False),
    "red, ns-2's numbers, ecn": red(True, False),
    "sfq": lanes("sfq"),
    "drr": lanes("drr"),
}


@pytest.mark.parametrize("name", CASES)
def test_drawn_cases(ns: None, name: str) -> None:
    check(CASES[name], 5)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_many_drawn_cases(ns: None, name: str) -> None:
    check(CASES[name], 200)


@pytest.mark.parametrize("sender", SENDERS)
def test_marks_of_a_window_rule(ns: None, sender: str) -> None:
    """HighSpeed TCP's own decrease at marks; its law rules from a window of 8 on."""
    values = {"ns2": 2.0, "min_threshold": 5.0, "max_threshold": 20.0}
    case = Case(
        "red", values, (sender,), ecn=True, control="hstcp", law={"low_window": 8.0}, rate=5e6, delay=0.05, window=200
    )
    compare(case)
    assert simulate(case.scenario()).link_marked.sum() > 5


def test_the_cases_lose_and_mark() -> None:
    """Without losses and marks the comparison would say nothing."""
    plain = {"ns2": 2.0, "min_threshold": 2.0, "max_threshold": 6.0, "weight": 0.1}
    assert int(simulate(Case(parameters=plain).scenario()).dropped.sum()) > 20
    marked = simulate(Case(parameters=plain, ecn=True).scenario())
    assert int(marked.link_marked.sum()) > 20
    assert int(marked.dropped.sum()) <= 2
    for queue, values, buffer, in_bytes in (("sfq", {"ns2": 1.0}, 40, None), ("drr", {"ns2": 1.0}, None, 12000)):
        case = Case(queue, values, ("sack",) * 3, (1000,) * 3, buffer=buffer, buffer_bytes=in_bytes)
        assert int(simulate(case.scenario()).dropped.sum()) > 20
    assert np.isfinite(marked.loss_rate)


@pytest.mark.parametrize("queue", ["sfq", "drr"])
def test_flows_between_the_same_hosts_are_refused_where_ns2_has_them_share_a_lane(queue: str) -> None:
    """ns-2 hashes addresses: no number of lanes parts them. In one lane they are alike in both simulators."""
    for lanes, refused in ((128, True), (2, True), (1, False)):
        limit = {"buffer": 20} if queue == "sfq" else {"buffer_bytes": 20_000}
        way = Link("a", "b", 1e6, 0.01, queue=queue, queue_parameters={"ns2": 1, "queues": lanes}, **limit)
        scenario = Scenario(
            (Flows(2, "cbr", source="a", target="b", rate=6e5),), None, 5.0, 0.0, epoch=0.1, links=(way,)
        )
        if not refused:
            assert "maxqueue_" in tcl(scenario) or "blimit_" in tcl(scenario)
            continue
        with pytest.raises(ScenarioError, match="flows 0 and 1 share a lane whatever queues is"):
            tcl(scenario)
