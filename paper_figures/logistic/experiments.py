"""Experiments in packets that decide claims of the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tcpdynamics.models.fairness import measured_jain

from ..experiments import Experiment, Setting

Array = NDArray[np.float64]
Measure = Callable[[xr.Dataset], float]

#: Bytes of a packet, where a case says nothing else.
SIZE = 1000
#: After the end of every run.
NEVER = "1000000s"
#: The paper's available bandwidth of Fig. 6 over the link, by phases of 50 s.
AVAILABLE = (0.80, 0.65, 0.50, 0.80)


def window(result: xr.Dataset, flow: int) -> tuple[Array, Array]:
    """Times [s] and windows [packet] of one flow while it lasts."""
    end = float(result.finish[flow])
    of_flow = result.window_flow.values == flow
    time, cwnd = result.window_time.values[of_flow], result.window_cwnd.values[of_flow]
    there = (time >= float(result.start[flow])) & (time < (end if np.isfinite(end) else np.inf))
    return time[there], cwnd[there]


def tcp(result: xr.Dataset, groups: int) -> list[int]:
    """Flows that have started, of the first so many groups."""
    began = np.isfinite(result.start.values) & (result.group.values < groups)
    return [int(i) for i in np.flatnonzero(began)]


def rate_of(result: xr.Dataset, name: str = "left->right") -> float:
    """Rate of the link between the routers [packet/s]."""
    import json

    scenario = json.loads(result.attrs["scenario"])
    rate = next(x["rate"] for x in scenario["links"] if f"{x['source']}->{x['target']}" == name)
    return float(rate) / 8 / float(scenario["flows"][0]["packet_size"])


def product(result: xr.Dataset, flow: int) -> float:
    """Bandwidth-delay product of a flow [packet]."""
    return rate_of(result) * float(result.base_rtt[flow])


def duration(result: xr.Dataset) -> float:
    """Simulated time [s]."""
    import json

    return float(json.loads(result.attrs["scenario"])["duration"])


def chosen(result: xr.Dataset, flows: list[int]) -> int:
    """Losses of flows that the scenario chooses."""
    import json

    return sum(drop["flow"] in flows for drop in json.loads(result.attrs["scenario"]).get("drops", []))


def lost(result: xr.Dataset, groups: int = 2) -> float:
    """Packets lost of all TCP flows, without those that the scenario chooses."""
    flows = tcp(result, groups)
    return float(sum(result.dropped.values[flows]) - chosen(result, flows))


def episodes(result: xr.Dataset, groups: int = 2) -> float:
    """Times of losses of TCP flows, where more than a second without any lies between two of them.

    Losses that the scenario chooses do not count.
    """
    times = []
    for flow in tcp(result, groups):
        drop_times = np.sort(result.drop_time.values[result.drop_flow.values == flow])
        times.extend(drop_times[chosen(result, [flow]) :].tolist())  # those chosen are the first of a flow
    return float(1 + np.count_nonzero(np.diff(np.sort(times)) > 1.0)) if times else 0.0


def crossing(time: Array, values: Array, level: float) -> float:
    """When values first reach a level, between two samples along a straight line; NaN if never."""
    above = np.flatnonzero(values >= level)
    if not above.size:
        return float("nan")
    at = int(above[0])
    if at == 0:
        return float(time[0])
    return float(np.interp(level, values[at - 1 : at + 1], time[at - 1 : at + 1]))


def filled(result: xr.Dataset, udp: float) -> float:
    """Seconds from the start until the window and UDP, a share of the link, take 99 % of it; at most the whole run."""
    (flow,) = tcp(result, 2)
    reached = crossing(*window(result, flow), (0.99 - udp) * product(result, flow))
    return (reached if np.isfinite(reached) else duration(result)) - float(result.start[flow])


def step(result: xr.Dataset) -> float:
    """Round trips from a tenth of where the window ends to 99 % of the link beside UDP of a fifth (the law's end)."""
    (flow,) = tcp(result, 2)
    bdp = product(result, flow)
    time, cwnd = window(result, flow)
    first, last = (crossing(time, cwnd, share * bdp) for share in (0.1 * (1 - 0.9 * 0.2), 0.99 - 0.2))
    return (last - first) / float(result.mean_rtt[flow])


def off(result: xr.Dataset) -> float:
    """Largest distance of a flow's window from K base_rtt, over it, in the second half of the run."""
    time, cwnd = window(result, 0)
    bdp = product(result, 0)
    return float(np.abs(cwnd[time > duration(result) / 2] / bdp - 1).max())


def swing(result: xr.Dataset) -> float:
    """Largest distance of a flow's window from its mean, over it, in the second half of the run."""
    (flow,) = tcp(result, 2)
    time, cwnd = window(result, flow)
    late = cwnd[time > duration(result) / 2]
    return float(np.abs(late / late.mean() - 1).max())


def goodput(result: xr.Dataset, flows: list[int], begin: float, end: float) -> float:
    """Goodput of flows between two times, over the rate of the link."""
    slices = result.slice.values
    length = float(slices[1] - slices[0])
    there = (slices >= begin - 1e-9) & (slices + length <= end + 1e-9)
    packets = result.slice_goodput.values[there][:, flows].sum()
    return float(packets / (np.count_nonzero(there) * length * rate_of(result)))


def taken(result: xr.Dataset) -> float:
    """Goodput over the half of the link that UDP leaves, in the second half of the run."""
    end = duration(result)
    return goodput(result, tcp(result, 2), end / 2, end) / 0.5


def phase(result: xr.Dataset, number: int) -> float:
    """Fig. 6: goodput over what UDP leaves in a phase, from 2 s after its begin on."""
    quarter = duration(result) / 4
    begin = quarter * (number - 1)
    return goodput(result, tcp(result, 2), begin + 2, begin + quarter) / AVAILABLE[number - 1]


def lost_at_decreases(result: xr.Dataset) -> float:
    """Fig. 6: packets of the TCP flow lost within 5 s of the two decreases."""
    of_tcp = np.isin(result.drop_flow.values, tcp(result, 2))
    times = result.drop_time.values[of_tcp]
    quarter = duration(result) / 4
    return float(sum(np.count_nonzero((times >= t) & (times < t + 5)) for t in (quarter, 2 * quarter)))


def utilisation(result: xr.Dataset) -> float:
    """Goodput of all flows over the link, whole run."""
    return goodput(result, list(range(result.sizes["flow"])), 0.0, duration(result))


# Fig. 7; times are shares of the run, which lasts 700 s in the paper.
def _window_between(result: xr.Dataset, flow: int, begin: float, end: float) -> float:
    time, cwnd = window(result, flow)
    unit = duration(result) / 700
    return float(cwnd[(time >= begin * unit) & (time < end * unit)].mean())


def ratio(result: xr.Dataset, n: int) -> float:
    """Window of connection n over the first one's in the second half of the time in which n are there."""
    flows = tcp(result, 10)
    last, first = (_window_between(result, flows[i], 100 * n - 50, 100 * n) for i in (n - 1, 0))
    return last / first


def window_sum(result: xr.Dataset, n: int) -> float:
    """Sum of n windows over K base_rtt, in the second half of the time in which n connections are there."""
    flows = tcp(result, 10)
    return sum(_window_between(result, i, 100 * n - 50, 100 * n) for i in flows[:n]) / product(result, flows[0])


def fill(result: xr.Dataset, n: int) -> float:
    """Goodput of the n connections that remain over the link, from a tenth of the time until the next leave on."""
    unit = duration(result) / 700
    begin = 500 + 50 * (4 - n)
    return goodput(result, tcp(result, 10)[5 - n :], (begin + 5) * unit, (begin + 50) * unit)


def jain(result: xr.Dataset) -> float:
    """Jain's index of five mean windows while all five are there."""
    windows = np.array([_window_between(result, i, 410, 500) for i in tcp(result, 10)])
    return float(measured_jain(windows))


def share(result: xr.Dataset) -> float:
    """Goodput of the first of two flows over that of both."""
    first, second = result.goodput.values[tcp(result, 4)]
    return float(first / (first + second))


def several(result: xr.Dataset) -> tuple[Array, Array]:
    """Sum of all windows over time, and mean of each, in the second half of the run [packet]."""
    half = duration(result) / 2
    courses = []
    for flow in tcp(result, 1):
        time, cwnd = window(result, flow)
        courses.append(cwnd[time > half])
    length = min(len(cwnd) for cwnd in courses)
    windows = np.array([cwnd[:length] for cwnd in courses])
    return windows.sum(axis=0), windows.mean(axis=1)


def mean_sum(result: xr.Dataset) -> float:
    """Mean sum of the windows over K base_rtt."""
    return float(several(result)[0].mean() / product(result, 0))


def swing_of_sum(result: xr.Dataset) -> float:
    """Largest distance of the sum of the windows from its mean, over it."""
    total = several(result)[0]
    return float(np.abs(total / total.mean() - 1).max())


def least_over_largest(result: xr.Dataset) -> float:
    """Least over largest mean window."""
    means = several(result)[1]
    return float(means.min() / means.max())


def reno_over_own(result: xr.Dataset) -> float:
    """Goodput of the Reno flow over that of the proposed one."""
    return float(result.goodput[1] / result.goodput[0])


def first(result: xr.Dataset) -> float:
    """Goodput of the first flow [packet]."""
    return float(result.goodput[0])


#: One TCP flow: the first group of the file is the proposed one; the second any other sender, which the file lets wait.
OTHER: dict[str, Any] = {"flows.0.start": NEVER, "flows.1.start": 0.0}
SENDERS: dict[str, dict[str, Any]] = {
    "Proposed": {},
    "Reno": dict(OTHER),
    "HSTCP": OTHER | {"flows.1.sender": "sack", "flows.1.control": "hstcp"},
    "Scalable": OTHER | {"flows.1.sender": "sack", "flows.1.control": "scalable"},
}


def groups(first: int, last: int, key: str, value: object) -> dict[str, Any]:
    """The same key for several groups of flows."""
    return {f"flows.{i}.{key}": value for i in range(first, last)}


def inline(last: int = 1, *axes: str) -> dict[str, Mapping[str, Mapping[str, Any]]]:
    """What the paper leaves open of the inline measurement, for the first groups.

    Its error (section 4: "some"), the time from one to the next (1 to 4 RTT), its age on top of the half RTT that it
    needs to come back, and whether the rates of others are what they get through or what they offer, as in eq. (6).
    """
    every: dict[str, dict[str, dict[str, float]]] = {
        "others": {"throughput": {}, "windows": {"offered": 1.0}},
        "measured": {
            "5 % wrong each RTT": {},
            "right": {"error": 0.0},
            "5 % wrong each 4 RTT": {"interval": 4.0},
            "5 % wrong and 1 RTT old": {"staleness": 1.0},
            "20 % wrong": {"error": 0.2},
        },
    }
    chosen = axes or tuple(every)
    return {
        axis: {
            label: {f"flows.{i}.parameters.{key}": x for i in range(last) for key, x in changes.items()}
            for label, changes in every[axis].items()
        }
        for axis in chosen
    }


def otherwise(last: int, others: Mapping[str, Mapping[str, Any]], *labels: str) -> dict[str, Mapping[str, Any]]:
    """Readings one at a time, each beside the first: of the measurement, and others; where a run takes seconds."""
    axes = inline(last)
    kinds = {label: axes["others"][label] for label in labels}
    return {**axes["measured"], **kinds, **{k: v for k, v in others.items() if v}}


def slowly(links: int) -> dict[str, Any]:
    """A tenth of the rates, for the setting "tiny"."""
    out: dict[str, Any] = {"links.0.jitter": 1.6e-3}
    for i in range(links):
        out |= {f"links.{i}.rate": 10e6, f"links.{i}.buffer": 250}
    return out


def rates(*megabits: float) -> dict[str, Mapping[str, Any]]:
    """Fig. 5: the rate of all links, with it the buffer, UDP traffic of a fifth, and room for windows."""
    out: dict[str, Mapping[str, Any]] = {}
    for m in megabits:
        bdp = m * 1e6 * 0.1 / 8 / SIZE
        out[f"{m:g}"] = {
            **{f"links.{i}.rate": m * 1e6 for i in range(7)}, **{f"links.{i}.buffer": round(2 * bdp) for i in range(7)},
            "links.0.jitter": 160e-6 * 100 / m, "flows.2.rate": 0.2e6 * m,
            **groups(0, 2, "window_limit", int(8 * bdp) + 50),
        }  # fmt: skip
    return out


#: A buffer of twice rate times RTT, or rate times the delay of the link, which the text may mean as well.
BUFFER: dict[str, Mapping[str, Any]] = {"2 RTT": {}, "2 x 40 ms": {"links.0.buffer": 1000}}
#: Also 50 packets, ns-2's default, on the access links.
BUFFERS: dict[str, Mapping[str, Any]] = BUFFER | {
    "50 packets at access links": {f"links.{i}.buffer": 50 for i in range(1, 7)}
}


def short_slow_start(last: int) -> dict[str, Any]:
    """Not said: how slow start ends. A loss of the third packet makes its threshold two or three packets."""
    return {"drops": [{"flow": i, "segment": 3} for i in range(last)]}


def starts() -> dict[str, Mapping[str, Any]]:
    """Fig. 5: readings of the measurement, where slow start lasts until losses and 4 s are enough; and a short one."""
    lasting = {label: {**c, "duration": "4s"} for label, c in inline(1, "measured")["measured"].items()}
    return {**lasting, "hardly any slow start": short_slow_start(2)}  # by its place the second that is run


FAST: dict[str, Any] = {"duration": "4s", "record.windows": "2ms"}

#: Section 2.1 with the mechanism of section 3.1.
GAINS = Experiment(
    "logistic.gains",
    "one flow alone under the law of section 3.1, with the gains of Fig. 1 and that of section 4",
    "gains.toml",
    {"gain": {f"{e}": {"flows.0.parameters.epsilon": e} for e in (0.6, 1.8, 1.95, 2.4, 3.0)}},
    {"off": off, "lost": partial(lost, groups=1)},
    readings={
        "packets": {"1000 B": {}, "500 B": {"flows.0.packet_size": 500, "links.0.buffer": 1000}},
        "acks": {"each": {}, "every second": {"flows.0.delayed_ack": "100ms"}},
    },
    tiny=Setting(2, changes={"duration": "10s"}),
    quick=Setting(3),
)

ALONE = Experiment(
    "logistic.alone",
    "one flow beside UDP traffic of half the link (Fig. 4)",
    "alone.toml",
    {"sender": SENDERS},
    {"lost": lost, "episodes": episodes, "swing": swing, "taken": taken, "filled": partial(filled, udp=0.5)},
    readings={"otherwise": otherwise(1, BUFFERS | {"hardly any slow start": short_slow_start(2)})},
    tiny=Setting(2, changes={"duration": "40s"}),
)

SCALING = Experiment(
    "logistic.scaling",
    "one flow beside UDP traffic of a fifth of the link, whose rate is from 10 Mbit/s to 1 Gbit/s (Fig. 5)",
    "scaling.toml",
    {
        "sender": {s: {**c, **(FAST if s == "Proposed" else {})} for s, c in SENDERS.items() if s != "Reno"},
        "rate": rates(10, 30, 100, 300, 1000),
    },
    {"filled": partial(filled, udp=0.2), "step": step},
    readings={"otherwise": starts()},
    quick=Setting(6),
)

SCALING_RENO = Experiment(
    "logistic.scaling_reno",
    "as logistic.scaling, with Reno, at rates at which it ends (Fig. 5)",
    "scaling.toml",
    {
        "sender": {
            "Proposed": SENDERS["Proposed"] | FAST,
            "Reno": SENDERS["Reno"] | {"duration": "150s"},
            "HSTCP": SENDERS["HSTCP"],
        },
        "rate": rates(10, 30, 100),
    },
    {"filled": partial(filled, udp=0.2)},
    readings={"otherwise": starts()},
    quick=Setting(4, 2),
)

CHANGES = Experiment(
    "logistic.changes",
    "one flow beside UDP traffic that leaves 80, 65, 50 and 80 Mbit/s (Fig. 6)",
    "changes.toml",
    {"sender": SENDERS},
    {
        "lost": lost, "lost_decrease": lost_at_decreases, "utilisation": utilisation,
        **{f"phase_{i}": partial(phase, number=i) for i in (1, 2, 3, 4)},
    },
    readings={"otherwise": otherwise(1, BUFFERS | {"hardly any slow start": short_slow_start(2)})},
    tiny=Setting(2, changes=slowly(7) | {"flows.2.rate_steps": [[0, 2e6], [50, 3.5e6], [100, 5e6], [150, 2e6]]}),
)  # fmt: skip

JOINS = Experiment(
    "logistic.joins",
    "five flows that join one after another and leave again (Fig. 7)",
    "joins.toml",
    {"sender": {"Proposed": groups(5, 10, "start", NEVER) | groups(5, 10, "stop", None),
                "Reno": groups(0, 5, "start", NEVER) | groups(0, 5, "stop", None)}},
    {
        "lost": partial(lost, groups=10), "episodes": partial(episodes, groups=10), "jain": jain,
        **{f"ratio_{n}": partial(ratio, n=n) for n in range(2, 6)},
        **{f"sum_{n}": partial(window_sum, n=n) for n in range(1, 6)},
        **{f"fill_{n}": partial(fill, n=n) for n in range(1, 5)},
    },
    readings={"otherwise": otherwise(5, BUFFER | {"hardly any slow start": short_slow_start(10)}, "windows")},
    tiny=Setting(2, changes=slowly(21)),
)  # fmt: skip

ACCESS = Experiment(
    "logistic.access",
    "two flows over access links of 10 and 20 Mbit/s; the link between is from 5 to 30 Mbit/s (Fig. 8)",
    "access.toml",
    {
        "sender": {
            "Proposed": {},
            "Reno": groups(0, 2, "start", NEVER) | groups(2, 4, "start", 0.0) | {"duration": "260s"},  # losses are rare
        },
        "rate": {
            f"{m}": {"links.0.rate": m * 1e6, "links.0.buffer": 25 * m, "links.0.jitter": 0.016 / m}
            for m in (5, 8, 12, 15, 18, 25, 30)
        },
    },
    {"share": share, "lost": partial(lost, groups=4)},
    readings=inline(2),
    quick=Setting(6),
)

MANY = Experiment(
    "logistic.many",
    "two to twenty flows that begin together (section 3.2)",
    "many.toml",
    {"flows": {f"{n}": {"flows.0.count": n} for n in (2, 5, 10, 20)}},
    {"sum": mean_sum, "swing": swing_of_sum, "least_over_largest": least_over_largest, "lost": partial(lost, groups=1)},
    readings={**inline(1), "buffer": {"2 RTT": {}, "2 x 40 ms": {"links.0.buffer": 200}}},
    quick=Setting(6),
)

WRONG_K = Experiment(
    "logistic.wrong_k",
    "five flows, of which one takes the physical bandwidth too low (section 2.3)",
    "wrong_k.toml",
    {"error": {"none": {}, "2 % low": {"flows.0.parameters.K": 19.6e6}, "5 % low": {"flows.0.parameters.K": 19e6},
               "10 % low": {"flows.0.parameters.K": 18e6}}},
    {"first": first},
    readings=inline(2),
    quick=Setting(4),
)  # fmt: skip

BESIDE_RENO = Experiment(
    "logistic.beside_reno",
    "a proposed and a Reno flow share a link (section 5)",
    "beside_reno.toml",
    {"buffer": {"2 BDP": {}}},
    {"reno_over_own": reno_over_own},
    readings={
        "otherwise": otherwise(1, {"1 BDP": {"links.0.buffer": 1250}, "5 BDP": {"links.0.buffer": 6250}}, "windows")
    },
    tiny=Setting(2, changes=slowly(5)),
)

EXPERIMENTS = (GAINS, ALONE, SCALING, SCALING_RENO, CHANGES, JOINS, ACCESS, MANY, WRONG_K, BESIDE_RENO)
