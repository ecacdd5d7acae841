"""Figures of evidence pass through the numbers of the findings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tcpdynamics import paper_figures
from tcpdynamics.paper_figures.findings import near
from tcpdynamics.paper_figures.logistic import evidence as logistic
from tcpdynamics.paper_figures.sub_packet import evidence as sub_packet
from tcpdynamics.paper_figures.t_refwa import evidence as t_refwa


def at(what: Any, name: str, x: float) -> float:
    """The y of a curve at the place nearest to x."""
    curve = next(c for c in what.curves if c.name.startswith(name))
    return float(np.asarray(curve.y)[np.abs(np.asarray(curve.x, float) - x).argmin()])


def test_findings_name_figures_that_there_are() -> None:
    known = paper_figures.figures()
    for one in paper_figures.all_findings().values():
        assert not one.figure or one.figure.startswith(f"{one.paper}.")
        assert not one.figure or one.figure in known
    assert len(paper_figures.all_findings()) >= 40
    shown = {one.figure for one in paper_figures.all_findings().values()}
    shown |= {claim.figure for claim in paper_figures.claims().values()}
    assert {name for name, f in known.items() if f.solve.__module__.endswith("evidence")} <= shown


@pytest.mark.parametrize(
    ("figure", "curve", "x", "key", "number", "index"),
    [
        (t_refwa.delays, "the published", 1, "t_refwa.delays", "radius", 1),
        (t_refwa.delays, "(1, 0.5)", 6, "t_refwa.better", "radius", 6),
        (t_refwa.rest, "round-trip time without", 40, "t_refwa.rest", "rest", 0),
        (t_refwa.rest, "the queue integrates", 40, "t_refwa.rest", "rest", 2),
        (t_refwa.two_links, "commanded", 0, "t_refwa.two_links", "used", 0),
        (t_refwa.two_links, "measured", 0, "t_refwa.two_links_measured", "used", 0),
        (logistic.gains, "held", 3, "logistic.held", "gains", 0),
        (logistic.gains, "one round trip", 10, "logistic.stale", "gains", 2),
        (logistic.others, "critical", 5, "logistic.others", "delays", 1),
        (logistic.windows, "R3", 10, "logistic.lossless", "r3", 1),
        (logistic.error_of_capacity, "eq. (6)", 5, "logistic.error_of_K", "eq6", 1),
        (sub_packet.timeout, "T0/RTT = 5", 0.1, "sub_packet.rtt", "silent", 2),
        (sub_packet.silence, "printed", 0.2, "sub_packet.shift", "silent", 2),
    ],
)
def test_a_curve_passes_through_the_number_of_its_finding(
    figure: Any, curve: str, x: float, key: str, number: str, index: int
) -> None:
    stated = paper_figures.all_findings()[key]().numbers[number][index]
    assert near(at(figure(), curve, x), stated, 2)


def test_single_numbers() -> None:
    numbers = {name: one().numbers for name, one in paper_figures.all_findings().items() if name in (
        "sub_packet.web_load", "sub_packet.repetitive_idle_time", "logistic.time", "logistic.overshoot", "t_refwa.code",
    )}  # fmt: skip
    assert near(at(sub_packet.load(), "self-consistent", 800), numbers["sub_packet.web_load"]["loss"], 6)
    printed = numbers["sub_packet.repetitive_idle_time"]["printed"]
    assert near(at(sub_packet.idle(), "eq. (11), series as printed", 0.2), printed, 9)
    marks = logistic.time().curves[-1]
    assert near(marks.x[1], numbers["logistic.time"]["time"], 9)
    assert near(at(logistic.time(), "ε = 1.95", 3.5), 0.99, 2)
    peak = max(logistic.overshoot().curves[0].y)
    assert near(peak, numbers["logistic.overshoot"]["peak"], 3)
    error = t_refwa.code().curves[0].y
    assert near([error.min(), error.max()], [numbers["t_refwa.code"]["low"], numbers["t_refwa.code"]["high"]], 2)
    assert t_refwa.continuous().curves[0].y.max() == pytest.approx(0.5498, abs=1e-4)
    ends = logistic.doubling().curves[0]
    assert len(np.unique(np.round(np.asarray(ends.y)[np.abs(ends.x - 2.4) < 1e-9], 6))) == 2
