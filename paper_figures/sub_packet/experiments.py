"""Experiments in packets that decide claims of the paper."""

from __future__ import annotations

from typing import Any

from ..experiments import Axis, Experiment, Setting
from . import measures

#: Whether flows stay in step: the paper has one RTT for all, where ties of equal RTTs decide who loses.
PHASES: Axis = {
    "equal": {},
    "5 % apart": {"flows.0.rtt": ["190ms", "210ms"], "clock": "grid"},
    "jitter of 4 ms": {"flows.0.jitter": "4ms", "clock": "grid"},
}
#: Rule book of the senders and their least timeout.
SENDERS: Axis = {"ns-2": {}, "ns-2, least RTO 1 s": {"flows.0.min_rto": "1s"}, "RFC": {"flows.0.rules": "rfc"}}
STARTS: Axis = {"1 s": {}, "20 s": {"flows.0.start_spread": "20s"}}

#: All readings, run on to twice as many.
FULL = Setting(10, 0, limit=20)

#: Rates [kbit/s] and ideal shares of a flow [kbit/s] of Fig. 2.
RATES, SHARES = (250, 500, 1000), (60, 40, 30, 20, 10, 5)


def _buffer(rate: int) -> int:
    """Packets of 500 bytes that 200 ms hold; `rate` in kbit/s."""
    return round(rate * 1000 * 0.2 / 4000)


def _link(rate: int) -> dict[str, Any]:
    return {"bottleneck.rate": f"{rate}kbit/s", "bottleneck.buffer": _buffer(rate)}


#: Fig. 2 and the utilisation of section 2.3.1, over 1000 s.
FAIRNESS = Experiment(
    "sub_packet.fairness",
    "SACK flows on slow tail-drop links, over fair shares of a flow (section 2.3.1)",
    "shared.toml",
    {
        "load": {
            f"{rate}k, {share}k": _link(rate) | {"flows.0.count": round(rate / share)}
            for rate in RATES
            for share in SHARES
        }
    },
    {
        "goodput": measures.goodput, "jain_5": measures.jain_5, "jain_20": measures.jain_20,
        "jain_60": measures.jain_60, "jain_whole": measures.jain_whole, "loss": measures.loss,
    },
    readings={"RTTs": PHASES, "senders": SENDERS},
    tiny=Setting(2, changes={"duration": "220s"}),
    quick=Setting(3, 2),
    full=FULL,
    judged=True,
)  # fmt: skip

#: Fig. 2, the long runs: "10000 seconds (17 minutes)", of which one is wrong.
LONG = Experiment(
    "sub_packet.long",
    "the same on 1 Mbit/s for 1000 s (17 minutes) or 10000 s",
    "shared.toml",
    {"flows": {str(n): {"flows.0.count": n} for n in (50, 100, 200)}},
    {"jain_20": measures.jain_20, "jain_whole": measures.jain_whole, "least_share": measures.least_share},
    readings={
        "RTTs": PHASES, "senders": SENDERS, "length of the long runs": {"1000 s": {"duration": "1000s"}, "10000 s": {}},
    },
    one_at_a_time=True,
    tiny=Setting(2, changes={"duration": "1000s"}),
    quick=Setting(3, 1, {"duration": "10000s"}),
    full=Setting(10, 0, {"duration": "10000s"}, limit=20),
    judged=True,
)  # fmt: skip

#: Fig. 3.
SLICES = Experiment(
    "sub_packet.slices",
    "what 100 flows on 1 Mbit/s get in slices of 20 s (Fig. 3)",
    "shared.toml",
    {"flows": {"100": {}}},
    {
        "most_active": measures.most_active, "locked_out": measures.locked_out,
        "first_forty": measures.first_forty, "next_thirty": measures.next_thirty,
        "last_thirty": measures.last_thirty, "active_scatter": measures.active_scatter,
        "same_set": measures.same_set, "repeated": measures.repeated, "first_timeout": measures.first_timeout,
        **measures.quantiles("slice"),
    },
    readings={"RTTs": PHASES, "senders": SENDERS, "starts": STARTS},
    tiny=Setting(2, changes={"duration": "400s"}),
    quick=Setting(5, 6),
    full=FULL,
    judged=True,
)  # fmt: skip

#: Fig. 4.
HANGS = Experiment(
    "sub_packet.hangs",
    "longest hangs of web users in 10 minutes (Fig. 4)",
    "web.toml",
    {
        "load": {
            f"{users}, {pool}": {
                "flows.0.count": users * pool, "flows.0.pool": pool, "flows.0.segments": 700 // pool,  # of a page
            }
            for users in (200, 400)
            for pool in (1, 2, 4)
        }
    },
    {
        "above_20": measures.above_20, "above_60": measures.above_60, "plateau": measures.plateau,
        "loss": measures.loss, "flows_loss_ratio": measures.flows_loss_ratio,
        "timeout_variation": measures.timeout_variation, **measures.quantiles("hang"),
    },
    readings={
        "transfers": {
            "a page of 700 segments": {},
            "20 segments": {"flows.0.segments": 20},
            "20 segments, no pause": {"flows.0.segments": 20, "flows.0.think": "0.1s"},
            "without end": {"flows.0.segments": 100000},
        },
        "senders": SENDERS,
        "RTTs": {k: PHASES[k] for k in ("equal", "5 % apart")},
    },
    tiny=Setting(2, changes={"duration": "100s"}),
    quick=Setting(9, 3),
    full=FULL,
)  # fmt: skip
#: Flows -> rate [bit/s] and packet size [B], and packets of buffer a flow of Fig. 5.
LINKS = {100: (1e6, 500), 200: (1e6, 500), 800: (2e6, 1000)}
PER_FLOW = (0.5, 1, 2, 5, 10)

#: Fig. 5.
BUFFERS = Experiment(
    "sub_packet.buffers",
    "fairness in 20 s against the buffer (section 2.4.1)",
    "shared.toml",
    {
        "load": {
            f"{n}, {k}": {
                "flows.0.count": n, "bottleneck.rate": rate, "flows.0.packet_size": size,
                "bottleneck.buffer": round(n * k),
            }
            for n, (rate, size) in LINKS.items()
            for k in PER_FLOW
        }
    },
    {"jain_20": measures.jain_20, "loss": measures.loss, "goodput": measures.goodput},
    readings={"RTTs": PHASES, "senders": SENDERS},
    tiny=Setting(2, changes={"duration": "220s"}),
    quick=Setting(3, 2, {"duration": "1000s", "warm_up": "400s"}),
    full=Setting(10, 0, {"duration": "2000s", "warm_up": "500s"}, limit=20),
    judged=True,
)  # fmt: skip

#: What is written down of a run.
_WINDOWS = {"record.windows": "1s"}
_RECORDED = _WINDOWS | {"record.sends": True, "record.drops": True}
KINDS: Axis = {"TCP": {}, "TFRC": {"flows.0.sender": "tfrc", "flows.0.max_rto": None}}
_TFRC = {
    "loss": measures.loss, "utilisation": measures.utilisation, "locked_out": measures.locked_out,
    "jain_20": measures.jain_20,
}  # fmt: skip
_TCP_ONLY = {"senders": {"sender": ("TCP",)}}

#: Section 2.4.2: the load is not said. The senders' rules are those of TCP.
TFRC_LOSS = Experiment(
    "sub_packet.tfrc_loss",
    "losses of TFRC and of SACK, each alone on 1 Mbit/s (section 2.4.2)",
    "shared.toml",
    {"sender": KINDS},
    _TFRC,
    readings={
        "load of section 2.4.2": {str(n): {"flows.0.count": n} for n in (100, 50, 150, 200)}, "RTTs": PHASES,
        "senders": SENDERS,
    },
    applies=_TCP_ONLY,
    tiny=Setting(2, changes={"duration": "220s"}),
    quick=Setting(9, 4),
    full=FULL,
    judged=True,
)  # fmt: skip

#: Fig. 6.
TFRC = Experiment(
    "sub_packet.tfrc",
    "fairness in 20 s of TFRC and of SACK over loads (Fig. 6)",
    "shared.toml",
    {"sender": KINDS, "flows": {str(n): {"flows.0.count": n} for n in (50, 100, 200, 400)}},
    _TFRC | measures.quantiles("slice", (10, 50, 90)),
    readings={"RTTs": PHASES, "senders": SENDERS},
    applies=_TCP_ONLY,
    tiny=Setting(2, changes={"duration": "220s"}),
    quick=Setting(3, 2),
    full=FULL,
    judged=True,
)

#: Sections 2.4.2 and 3.1: windows, thresholds and lost bursts, packet by packet.
PACKETS = Experiment(
    "sub_packet.packets",
    "windows and lost bursts of SACK and of TFRC on 1 Mbit/s (sections 2.4.2 and 3.1)",
    "shared.toml",
    {"sender": KINDS, "flows": {str(n): {"flows.0.count": n} for n in (100, 200)}},
    {
        "small_windows": measures.small_windows, "small_thresholds": measures.small_thresholds,
        "whole_bursts": measures.whole_bursts, "in_lost_bursts": measures.in_lost_bursts,
        "repeats_lost": measures.repeats_lost,
    },
    readings={"RTTs": PHASES, "senders": SENDERS},
    applies=_TCP_ONLY,
    tiny=Setting(2, changes=_RECORDED | {"duration": "160s"}),
    quick=Setting(3, 2, _RECORDED),
    full=Setting(10, 0, _RECORDED, limit=20),
)  # fmt: skip

#: The advertised window does not end what the buffer lets in.
_OPEN = {"flows.0.window_limit": 2000}
#: Section 2.4.1: ten packets of buffer for each of 100 flows, or one RTT, where few flows are there.
LOW_LOAD = Experiment(
    "sub_packet.low_load",
    "round-trip times of few flows, with a buffer made for 100 of them (section 2.4.1)",
    "shared.toml",
    {"buffer": {"50": _OPEN, "1000": _OPEN | {"bottleneck.buffer": 1000}}},
    {"rtt_scatter": measures.rtt_scatter},
    readings={
        "low load": {"10 flows": {"flows.0.count": 10}, "30 flows": {"flows.0.count": 30}},
        "RTTs": PHASES,
        "senders": SENDERS,
    },
    tiny=Setting(2, changes=_WINDOWS | {"duration": "160s"}),
    quick=Setting(3, 2, _WINDOWS),
    full=Setting(10, 0, _WINDOWS, limit=20),
)

#: Flows a Mbit/s of Figs. 9 to 11.
LOADS = (20, 40, 60, 80, 100, 150, 200, 300)
#: Links of Figs. 9 to 11 and of section 4, by name: changes, and their rate [kbit/s].
VALIDATED: dict[str, tuple[dict[str, Any], int]] = {
    "1000k": ({}, 1000),
    "500k": (_link(500), 500),
    "250k": (_link(250), 250),
    "mixed RTTs": ({"flows.0.rtt": ["200ms", "400ms"]}, 1000),
    "RTT 100 ms": ({"flows.0.rtt": "100ms", "bottleneck.buffer": 25}, 1000),
    "RTT 400 ms": ({"flows.0.rtt": "400ms", "bottleneck.buffer": 100}, 1000),
    "RED": (
        {
            "bottleneck.queue": "red",
            "bottleneck.queue_parameters": {"min_threshold": 5, "max_threshold": 15, "p_max": 0.1},
        },
        1000,
    ),
    "SFQ": ({"bottleneck.queue": "sfq"}, 1000),
}


def _red(low: float, high: float, **others: int) -> dict[str, Any]:
    return {"bottleneck.queue_parameters": {"min_threshold": low, "max_threshold": high, "p_max": 0.1, **others}}


#: Figs. 9 to 11 and sections 2.4.3 and 4.
CHAIN = Experiment(
    "sub_packet.chain",
    "packets sent per epoch beside the printed chain (section 4)",
    "shared.toml",
    {
        "load": {
            f"{link}, {n}": changes | {"flows.0.count": round(n * rate / 1000)}
            for link, (changes, rate) in VALIDATED.items()
            for n in LOADS
        }
    },
    {
        "loss": measures.loss,
        "distance": measures.distance,
        "distance_fresh": measures.distance_fresh,
        "distance_levels": measures.distance_levels,
        "distance_7": measures.distance_7,
        "jain_20": measures.jain_20,
        "padhye": measures.padhye,
        **{f"sent_{n}": measures.sent(n) for n in range(7)},
    },
    readings={
        "RTTs": {"equal": {}, "jitter of 4 ms": PHASES["jitter of 4 ms"]},
        "senders": SENDERS,
        "RED": {"as in ns-2": _red(5, 15, gentle=1, wait=1, ns2=1), "5 and 15": {}, "12 and 37": _red(12, 37)},
        "SFQ": {"as in ns-2": {"bottleneck.queue_parameters": {"ns2": 1}}, "loss from the longest lane": {}},
    },
    applies={queue: {"load": tuple(f"{queue}, {n}" for n in LOADS)} for queue in ("RED", "SFQ")},
    one_at_a_time=True,
    tiny=Setting(2, changes={"duration": "160s"}),
    quick=Setting(3, 2, {"duration": "340s"}),
    full=Setting(5, 0, {"duration": "5000s"}, limit=10),
    judged=True,
)

_RP = {"bottleneck.priority": "retransmissions", "bottleneck.priority_buffer": 5}


def _lanes(limit: int) -> dict[str, Any]:
    return {"bottleneck.queue": "sfq", "bottleneck.queue_parameters": {"queues": 5, "lane_limit": limit}}


#: Fig. 12.
PRIORITY = Experiment(
    "sub_packet.priority",
    "a gateway that sends retransmissions first (section 6.2)",
    "gateway.toml",
    {"gateway": {"drop-tail": {}, "drop-tail, priority": _RP, "SFQ": _lanes(5), "SFQ, priority": _lanes(4) | _RP}},
    {
        "jain_20": measures.jain_20,
        "locked_out": measures.locked_out,
        "loss": measures.loss,
        "utilisation": measures.utilisation,
    },
    readings={
        "flows of Fig. 12": {str(n): {"flows.0.count": n} for n in (50, 25, 100)},
        "RTTs": PHASES,
        "senders": SENDERS,
    },
    tiny=Setting(2, changes={"duration": "220s"}),
    quick=Setting(4, 6),
    full=FULL,
    judged=True,
)

#: Abstract and sections 1, 2.4.3 and 8. XCP and Compound TCP are none of the simulator's senders.
VARIANTS: Axis = {
    "SACK": {}, "NewReno": {"flows.0.sender": "newreno"}, "CUBIC": {"flows.0.control": "cubic"},
    "Vegas": {"flows.0.control": "vegas"},
}  # fmt: skip
OTHERS = Experiment(
    "sub_packet.variants",
    "other senders than SACK on 1 Mbit/s, in the sub-packet regime (section 2.4.3)",
    "shared.toml",
    {"sender": VARIANTS, "flows": {str(n): {"flows.0.count": n} for n in (100, 200)}},
    {"jain_20": measures.jain_20, "locked_out": measures.locked_out, "loss": measures.loss},
    readings={"RTTs": PHASES, "senders": SENDERS},
    tiny=Setting(2, changes={"duration": "220s"}),
    quick=Setting(3, 2),
    full=FULL,
)


def _in_each(axis: Axis, groups: int) -> Axis:
    """The same choices for the flows of each group."""
    return {
        name: {key.replace(".0.", f".{i}."): change for key, change in changes.items() for i in range(groups)}
        for name, changes in axis.items()
    }


#: Section 1 (c), Fig. 1 and footnote 3, with the link and the clients of section 2.2.
DOWNLOADS = Experiment(
    "sub_packet.downloads",
    "files of four sizes, 60 of each, on 2 Mbit/s that 221 clients share (Fig. 1, footnote 3)",
    "downloads.toml",
    {"link": {"2 Mbit/s": {}}},
    {f"spread_{name}": measures.spread(i) for i, name in enumerate(("1kb", "10kb", "100kb", "1mb"), 1)},
    readings={
        "load of Fig. 1": {f"{n} flows": {"flows.0.count": n} for n in (221, 100, 400)},
        "RTTs": _in_each(PHASES, 5),
        "senders": _in_each(SENDERS, 5),
    },
    tiny=Setting(2),
    quick=Setting(3, 2),
    full=FULL,
)

EXPERIMENTS = (
    FAIRNESS, LONG, SLICES, HANGS, BUFFERS, TFRC_LOSS, TFRC, PACKETS, LOW_LOAD, CHAIN, PRIORITY, OTHERS, DOWNLOADS,
)  # fmt: skip
