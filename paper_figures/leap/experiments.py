"""Experiments in packets that decide claims of the paper: its star of three nodes, and a link that 100 flows share."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ..experiments import Axis, Experiment, Setting

#: Segments of a transfer.
SEGMENTS = 100


def finished(result: xr.Dataset) -> float:
    """Finished over generated transfers."""
    return float(_done(result).sum() / np.isfinite(result.start.values).sum())


def duplicates(result: xr.Dataset) -> float:
    """Segments that a finished transfer receives once more."""
    return float(result.duplicates.values[_done(result)].mean())


def received(result: xr.Dataset) -> float:
    """Segments that a finished transfer receives, those received once more included."""
    return SEGMENTS + duplicates(result)


def sent(result: xr.Dataset) -> float:
    """Segments that are sent for a finished transfer."""
    return float(result.sent.values[_done(result)].mean())


def loss_rate(result: xr.Dataset) -> float:
    """Loss rate of data."""
    return float(result.loss_rate)


def ack_over_data(result: xr.Dataset) -> float:
    """Loss rate of acknowledgements over that of data; acknowledgements lost at any link over all that were sent."""
    return float(result.acks_dropped.sum() / result.acks_sent.sum() / (result.dropped.sum() / result.sent.sum()))


def _done(result: xr.Dataset) -> np.ndarray:
    done: np.ndarray = np.isfinite(result.finish.values)
    return done


def plain(result: xr.Dataset) -> float:
    """Mean goodput of a flow of the first group [packets], which is without LEAP unless all leap."""
    return float(result.goodput.values[result.group.values == 0].mean())


def every(result: xr.Dataset) -> float:
    """Mean goodput of a flow [packets]."""
    return float(result.goodput.mean())


#: Sender -> changes. The paper's LEAP is on top of Reno.
SENDERS: Axis = {
    "Reno": {"flows.0.sender": "reno"},
    "NewReno": {"flows.0.sender": "newreno"},
    "SACK": {"flows.0.sender": "sack"},
    "LEAP": {"flows.0.sender": "reno", "flows.0.leap": True},
}
DENSITIES = (2.5, 2.75, 3.0, 3.25, 3.5)

#: The first node as often as the two others together.
UNEVEN = ["n0", "n0", "n1", "n2"]
#: Sections 2.1 and 6. Open: by which law nodes are drawn, limited transmit (new in ns-2 then), the first timeout, the
#: handshake, and how long an acknowledgement is delayed. The least timeout changes nothing here: none is as short.
STAR = Experiment(
    "leap.star",
    "transfers of 100 segments between three nodes around a router (section 2.1)",
    "star.toml",
    {"sender": SENDERS, "density": {f"{d:.2f}": {"flows.0.arrival_rate": d} for d in DENSITIES}},
    {
        "finished": finished, "duplicates": duplicates, "received": received, "sent": sent, "loss_rate": loss_rate,
        "ack_over_data": ack_over_data,
    },
    readings={
        "nodes": {"alike": {}, "2:1:1": {"flows.0.source": UNEVEN, "flows.0.target": UNEVEN}},
        "limited transmit": {"with": {}, "without": {"flows.0.limited_transmit": False}},
        "first RTO": {"6 s": {}, "3 s": {"flows.0.initial_rto": "3s"}},
        "handshake": {"with": {}, "without": {"flows.0.handshake": False}},
        "ACK delay": {"100 ms": {}, "200 ms": {"flows.0.delayed_ack": "200ms"}},
    },
    tiny=Setting(2, changes={"duration": "100s", "slice": "100s", "flows.0.count": 420}),
    quick=Setting(3),
    full=Setting(10, 8),
    judge_replications=3,
)  # fmt: skip


def _leaping(count: int) -> dict[str, object]:
    """Of 100 flows, so many leap. A group must have a flow: where none leaps, or all, the last one is as the others."""
    if count in (0, 100):
        second_group = 1 if count == 0 else 99
        return {
            "flows.0.leap": count == 100,
            "flows.1.leap": count == 100,
            "flows.0.count": 100 - second_group,
            "flows.1.count": second_group,
        }
    return {"flows.0.count": 100 - count, "flows.1.count": count}


#: Section 6.3. Open: the buffer, the least RTO, and what LEAP is on top of where it meets NewReno or SACK.
SHARED = Experiment(
    "leap.shared",
    "100 endless flows on one link of 10 Mbit/s, of which some leap (section 6.3)",
    "shared.toml",
    {
        "sender": {s: {f"flows.{i}.sender": s.lower() for i in (0, 1)} for s in ("Reno", "NewReno", "SACK")},
        "leaping": {str(n): _leaping(n) for n in (0, 25, 50, 75, 100)},
    },
    {"plain": plain, "all": every},
    readings={
        "LEAP on": {"the same": {}, "Reno": {"flows.1.sender": "reno"}},
        "buffer": {"100 packets": {}, "50 packets": {"bottleneck.buffer": 50}, "25 packets": {"bottleneck.buffer": 25}},
        "least RTO": {"1 s": {}, "200 ms": {"flows.0.min_rto": "200ms", "flows.1.min_rto": "200ms"}},
    },
    tiny=Setting(2, changes={"duration": "20s", "warm_up": "10s", "slice": "10s"}),
    quick=Setting(4, changes={"duration": "120s", "slice": "90s"}),
    full=Setting(10, 0),
    judge_replications=5,
)

EXPERIMENTS = (STAR, SHARED)
