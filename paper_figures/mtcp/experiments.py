"""Experiments in packets that decide claims of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..experiments import Axis, Changes, Experiment, Setting
from .measures import (
    acks,
    beside_silence,
    least_window,
    needless,
    one_way_error,
    outstanding,
    over_reno,
    sent_at_5s,
    silences_beside,
    taken_for_lost,
    throughput,
    timeouts,
)

RENO = "Reno"
#: Label -> how the receiver acknowledges.
SCHEMES = {
    "immediate": {"flows.0.acks": "immediate"},
    "duplicated": {"flows.0.acks": "duplicated"},
    "duplicated and delayed": {"flows.0.acks": "duplicated_delayed"},
}
#: Reno alone, over the first route (Fig. 13).
_RENO: dict[str, Any] = {
    "sender": "reno", "route": ["s", "a1", "a2", "d"], "packet_size": 1000, "segments": 2000, "window_limit": 20,
}  # fmt: skip
#: The second route joins others then: ns-2 sends over the only way.
_ALONE = {"links.4.source": "other source", "links.7.target": "other target"}
SENDERS: Axis = {RENO: {"flows.0": _RENO, **_ALONE}, **SCHEMES}
#: Places of the links that lose data and acknowledgements, of each route.
_THERE, _BACK = (1, 5), (2, 6)
ACK_LOSS = ("0", "5", "10", "13")

#: Readings of the links: rate [Mbit/s], least timeout [s] -> delay [ms] with which Reno over one route has the 0.80
#: Mbit/s of the paper's first entry (600 runs; within 1 %). With 1 s and links of 1 Mbit/s no delay is that small.
DELAYS = {(10.0, 1.0): 20.5, (10.0, 0.2): 31.4, (2.0, 1.0): 17.1, (1.0, 0.2): 17.6, (0.9, 0.2): 8.0}


def _links() -> Axis:
    axis: dict[str, Changes] = {}
    for second, times in (("alike", 1), ("of twice the delay", 2)):
        for (rate, floor), delay in DELAYS.items():
            axis[f"{rate:g} Mbit/s and {floor:g} s, routes {second}"] = {
                **{f"links.{i}.rate": rate * 1e6 for i in (*_THERE, *_BACK)},
                **{f"links.{i}.delay": delay / 1e3 for i in (_THERE[0], _BACK[0])},
                **{f"links.{i}.delay": times * delay / 1e3 for i in (_THERE[1], _BACK[1])},
                "flows.0.min_rto": floor,
            }
    return axis


#: What the paper leaves open. Links and least timeout; what takes an entry off a list of unacknowledged segments
#: (section 3.4.1: its own reply); whether M/TCP's timeouts, for which eqs. (9) and (10) have no least one, have Reno's.
READINGS: Mapping[str, Axis] = {
    "links": _links(),
    "lists": {"cumulative": {}, "replies only": {"flows.0.parameters.cumulative": 0}},
    "floor": {"as Reno": {}, "none": {"flows.0.min_rto": "1ms"}},
}
#: Readings that are of M/TCP only.
_OF_MTCP = ("lists", "floor")


@dataclass(frozen=True)
class BesideReno(Experiment):
    """An experiment some of whose cases are Reno's, which readings of M/TCP leave as they are."""

    def _changes(self, case: Sequence[str], reading: Sequence[str], setting: str) -> Iterator[Changes]:
        yield self.setting(setting).changes
        yield from (axis[label] for axis, label in zip(self.cases.values(), case, strict=True))
        for name, label in zip(self.readings, reading, strict=True):
            if case[0] != RENO or name not in _OF_MTCP:
                yield self.readings[name][label]


#: Table 4.
TABLE4 = BesideReno(
    "mtcp.table4",
    "2 Mbytes over two routes that lose data and acknowledgements, and by Reno over one (Table 3, Fig. 12)",
    "table4.toml",
    {"sender": SENDERS, "ack_loss": {q: {f"links.{i}.loss": float(q) / 100 for i in _BACK} for q in ACK_LOSS}},
    {"throughput": throughput, "needless": needless, "acks": acks},
    readings=READINGS,
    tiny=Setting(3),
    quick=Setting(20, 6),
    full=Setting(40, 0),
    judge_replications=5,
)

#: Figs. 14 to 18.
COURSE = BesideReno(
    "mtcp.course",
    "the same transfer with 5 % of the acknowledgements lost, as it goes on (Figs. 14 to 18)",
    "course.toml",
    {"sender": SENDERS},
    {
        "sent_at_5s": sent_at_5s, "beside_silence": beside_silence, "silences_beside": silences_beside,
        "timeouts": timeouts, "least_window": least_window, "outstanding": outstanding,
    },
    readings=READINGS,
    tiny=Setting(3),
    quick=Setting(20, 6),
    full=Setting(40, 0),
    judge_replications=5,
)  # fmt: skip

#: One-way times [ms] of two routes there, and back.
UNLIKE, ALIKE, SYMMETRIC = ((20, 60), (70, 40)), ((50, 50), (50, 50)), ((20, 60), (20, 60))


def _routes(times: tuple[tuple[int, int], tuple[int, int]]) -> Changes:
    (there_a, there_b), (back_a, back_b) = times
    rows = zip((1, 2, 4, 5), (there_a, back_a, there_b, back_b), strict=True)
    return {f"links.{place}.delay": time / 1e3 for place, time in rows}


#: Section 3.4.3.
ESTIMATOR = Experiment(
    "mtcp.estimator",
    "one-way times and timeouts over two routes that lose nothing (section 3.4.3)",
    "estimator.toml",
    {"scheme": SCHEMES},
    {"one_way_error": one_way_error, "timeouts": timeouts, "taken_for_lost": taken_for_lost},
    readings={
        "routes": {"unlike": {}, "alike": _routes(ALIKE), "unlike but symmetric": _routes(SYMMETRIC)},
        "floor": {"none": {}, "1s": {"flows.0.min_rto": "1s"}},
        "window": {"20": {}, "4": {"flows.0.window_limit": 4}},
    },
    tiny=Setting(3),
    quick=Setting(10, 6),
    full=Setting(20, 0),
)

#: Section 5.
FRIENDLY = Experiment(
    "mtcp.friendly",
    "M/TCP over two routes with a Reno flow on each (section 5, which leaves it to later work)",
    "friendly.toml",
    {"scheme": SCHEMES},
    {"over_reno": over_reno},
    readings={
        "buffer": {"10": {}, "20": {"topology.buffer": 20}, "5": {"topology.buffer": 5}},
        "window": {"20": {}, "64": {f"flows.{i}.window_limit": 64 for i in range(3)}},
        "lists": READINGS["lists"],
    },
    tiny=Setting(2, changes={"duration": "60s"}),
    quick=Setting(4, 4),
    full=Setting(10, 0),
)

EXPERIMENTS: tuple[Experiment, ...] = (TABLE4, COURSE, ESTIMATOR, FRIENDLY)
