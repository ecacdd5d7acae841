"""Experiments in packets that decide claims of the paper: its star of three nodes, and a link that 100 flows share."""

from __future__ import annotations

from ..experiments import Axis, Changes, Experiment, Setting
from . import measures as m

#: Sender -> changes. The paper's LEAP is on top of Reno.
SENDERS: Axis = {
    "Reno": {"flows.0.sender": "reno"},
    "NewReno": {"flows.0.sender": "newreno"},
    "SACK": {"flows.0.sender": "sack"},
    "LEAP": {"flows.0.sender": "reno", "flows.0.leap": True},
}
#: Section 2.1: from 1 to 3.5 a second by 0.25.
DENSITIES = tuple(1 + i / 4 for i in range(11))

#: The first node as often as the two others together.
UNEVEN = ["n0", "n0", "n1", "n2"]
#: What section 2.1 leaves open: the distribution by which nodes are drawn, limited transmit (new in ns-2 then), the
#: first timeout, the handshake, how long an acknowledgement is delayed, the tick of the timers (0.1 s in the older
#: ns-2). The least timeout changes nothing here: none is as short.
OPEN_IN_STAR: dict[str, Axis] = {
    "nodes": {"alike": {}, "2:1:1": {"flows.0.source": UNEVEN, "flows.0.target": UNEVEN}},
    "limited transmit": {"with": {}, "without": {"flows.0.limited_transmit": False}},
    "first RTO": {"6 s": {}, "3 s": {"flows.0.initial_rto": "3s"}},
    "handshake": {"with": {}, "without": {"flows.0.handshake": False}},
    "ACK delay": {"100 ms": {}, "200 ms": {"flows.0.delayed_ack": "200ms"}},
    "timer tick": {"10 ms": {}, "100 ms": {"flows.0.timer_granularity": "100ms"}},
}
#: A transfer's 100 segments take some seconds, so that 100 s are enough for a run that only has to work.
SHORT = {"duration": "100s", "slice": "100s", "flows.0.count": 420}

#: Sections 2.1 and 6. The full setting runs all seven readings, three times; what is undecided up to twelve times.
STAR = Experiment(
    "leap.star",
    "transfers of 100 segments between three nodes around a router (section 2.1)",
    "star.toml",
    {"sender": SENDERS, "density": {f"{d:.2f}": {"flows.0.arrival_rate": d} for d in DENSITIES}},
    {
        "finished": m.finished, "duplicates": m.duplicates,
        "received": m.received, "sent": m.sent, "time": m.time,
        "loss_rate": m.loss_rate, "ack_over_data": m.ack_over_data, "leaps_right": m.leaps_right,
    },
    readings=OPEN_IN_STAR,
    one_at_a_time=True,
    tiny=Setting(2, changes=SHORT),
    quick=Setting(3),
    full=Setting(3, 0, limit=12),
    judged=True,
)  # fmt: skip

#: Section 5.1. At 1.00 and 1.25 a second some runs have no leap.
LEAPS = Experiment(
    "leap.leaps",
    "LEAP in the star of leap.star: which acknowledgement comes first after a leap (section 5.1)",
    "star.toml",
    {"density": {f"{d:.2f}": {**SENDERS["LEAP"], "flows.0.arrival_rate": d} for d in DENSITIES if d >= 1.5}},
    {"early": m.early},
    readings=OPEN_IN_STAR,
    one_at_a_time=True,
    tiny=Setting(2, changes={**SHORT, "topology.rate": "250kbit/s"}),
    quick=Setting(3),
    full=Setting(3, 0, limit=12),
)

#: Links that lose no acknowledgement: all sizes and rates a thousandfold but those of acknowledgements, and buffers of
#: 100 segments in bytes. Acknowledgements wait as before, and take no room.
_ROOMY = {"target": "hub", "rate": "500Mbit/s", "delay": "50ms", "buffer_bytes": 57_600_000}
ACKS_KEPT: Changes = {
    "links": [_ROOMY | {"source": f"n{i}"} for i in range(3)], "flows.0.packet_size": 576_000, "flows.0.ack_size": 1,
}  # fmt: skip
PLAIN = ("Reno", "NewReno", "SACK")
#: Sections 3 to 6.1, at the greatest density: why duplicates come, and what would be aborted.
TRACED = Experiment(
    "leap.traced",
    "the transfers of leap.star at 3.5 a second, packet by packet, and where no acknowledgement is lost (section 3)",
    "traced.toml",
    {
        "sender": {
            **SENDERS,
            **{f"{s}, ACKs kept": {**SENDERS[s], **ACKS_KEPT} for s in PLAIN},
            "Reno, 2.25 a second": {**SENDERS["Reno"], "flows.0.arrival_rate": 2.25},
        }
    },
    {
        "ack_caused": m.ack_caused, "all_duplicates": m.all_duplicates, "left_by_leap": m.left_by_leap,
        "left_by_aborts": m.left_by_aborts, "window": m.window,
        "below_advertised": m.below_advertised,
    },
    readings=OPEN_IN_STAR,
    one_at_a_time=True,
    tiny=Setting(2, changes={**SHORT, "record.windows": "5s"}),
    quick=Setting(2),
    full=Setting(3, 0, limit=12),
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


SHARES = ("0", "25", "50", "75", "100")
#: Section 6.3. Open: the buffer, the least RTO, and what LEAP is on top of where it meets NewReno or SACK.
SHARED = Experiment(
    "leap.shared",
    "100 endless flows on one link of 10 Mbit/s, of which some leap (section 6.3)",
    "shared.toml",
    {
        "sender": {s: {f"flows.{i}.sender": s.lower() for i in (0, 1)} for s in PLAIN},
        "leaping": {n: _leaping(int(n)) for n in SHARES},
    },
    {"plain": m.plain, "all": m.every},
    readings={
        "LEAP on": {"the same": {}, "Reno": {"flows.1.sender": "reno"}},
        "buffer": {"100 packets": {}, "50 packets": {"bottleneck.buffer": 50}, "25 packets": {"bottleneck.buffer": 25}},
        "least RTO": {"1 s": {}, "200 ms": {"flows.0.min_rto": "200ms", "flows.1.min_rto": "200ms"}},
    },
    applies={"LEAP on": {"sender": ("NewReno", "SACK"), "leaping": SHARES[1:]}},
    one_at_a_time=True,
    tiny=Setting(2, changes={"duration": "20s", "slice": "20s"}),
    quick=Setting(4, changes={"duration": "120s", "slice": "120s"}),
    full=Setting(5, 0, limit=20),
    judged=True,
)

EXPERIMENTS = (STAR, LEAPS, TRACED, SHARED)
