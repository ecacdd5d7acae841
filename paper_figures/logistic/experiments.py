"""Experiments in packets that decide claims of the paper."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.jain import measured_jain
from tcpdynamics.later import xr

from ..experiments import Axis, Experiment, Setting

Array = NDArray[np.float64]
Measure: TypeAlias = "Callable[[xr.Dataset], float]"

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
    scenario = json.loads(result.attrs["scenario"])
    rate = next(x["rate"] for x in scenario["links"] if f"{x['source']}->{x['target']}" == name)
    return float(rate) / 8 / float(scenario["flows"][0]["packet_size"])


def product(result: xr.Dataset, flow: int) -> float:
    """Bandwidth-delay product of a flow [packet]."""
    return rate_of(result) * float(result.base_rtt[flow])


def duration(result: xr.Dataset) -> float:
    """Simulated time [s]."""
    return float(json.loads(result.attrs["scenario"])["duration"])


def chosen(result: xr.Dataset, flows: list[int]) -> int:
    """Losses of flows that the scenario chooses."""
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
    """Round trips of a window from 10 to 99 % of K base_rtt; at most up to the end of the run."""
    (flow,) = tcp(result, 2)
    bdp = product(result, flow)
    time, cwnd = window(result, flow)
    first, last = (crossing(time, cwnd, share * bdp) for share in (0.1, 0.99))
    return ((last if np.isfinite(last) else duration(result)) - first) / float(result.mean_rtt[flow])


def off(result: xr.Dataset) -> float:
    """Largest distance of a flow's window from K base_rtt, over it, in the second half of the run."""
    time, cwnd = window(result, 0)
    bdp = product(result, 0)
    return float(np.abs(cwnd[time > duration(result) / 2] / bdp - 1).max())


def scatter(result: xr.Dataset) -> float:
    """Standard deviation of a flow's window over its mean, in the second half of the run."""
    (flow,) = tcp(result, 2)
    time, cwnd = window(result, flow)
    late = cwnd[time > duration(result) / 2]
    return float(late.std() / late.mean())


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


def throughput(result: xr.Dataset) -> float:
    """Goodput of the TCP flow over the link, whole run."""
    return goodput(result, tcp(result, 2), 0.0, duration(result))


def phase(result: xr.Dataset, number: int) -> float:
    """Fig. 6: goodput over what UDP leaves in a phase, from 2 s after its begin on."""
    quarter = duration(result) / 4
    begin = quarter * (number - 1)
    return goodput(result, tcp(result, 2), begin + 2, begin + quarter) / AVAILABLE[number - 1]


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


def lost_joining(result: xr.Dataset) -> float:
    """Packets of TCP flows lost before the first leaves."""
    of_tcp = np.isin(result.drop_flow.values, tcp(result, 10))
    return float(np.count_nonzero(result.drop_time.values[of_tcp] < 500 / 700 * duration(result)))


def settled(result: xr.Dataset, n: int) -> float:
    """Seconds after the join of connection n until no window is more than 10 % off where it is later; at most 50.

    Of windows, means over the next 5 s; later is the second half of the time in which n connections are there.
    """
    unit = duration(result) / 700
    join, latest = 100 * (n - 1) * unit, 0.0
    for flow in tcp(result, 10)[:n]:
        time, cwnd = window(result, flow)
        later = _window_between(result, flow, 100 * n - 50, 100 * n)
        means, begins = np.convolve(cwnd, np.ones(5) / 5, "valid"), time[:-4]
        early = (begins >= join) & (begins < join + 50 * unit)
        off_then = begins[early & (np.abs(means / later - 1) > 0.1)]
        latest = max(latest, float(off_then.max() - join) if off_then.size else 0.0)
    return latest


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


def scatter_of_sum(result: xr.Dataset) -> float:
    """Standard deviation of the sum of the windows over its mean."""
    total = several(result)[0]
    return float(total.std() / total.mean())


def least_over_largest(result: xr.Dataset) -> float:
    """Least over largest mean window."""
    means = several(result)[1]
    return float(means.min() / means.max())


def reno_over_own(result: xr.Dataset) -> float:
    """Goodput of the Reno flow over that of the proposed one."""
    return float(result.goodput[1] / result.goodput[0])


def gives_way(result: xr.Dataset) -> float:
    """Mean window of the proposed flow while Reno's is above its median, over that while it is not; after warm-up."""
    begin = float(json.loads(result.attrs["scenario"])["warm_up"])
    (time, own), (_, reno) = window(result, 0), window(result, 1)
    length = min(own.size, reno.size)  # both end with the run; the later one lacks the first samples
    time, own, reno = time[-length:], own[-length:], reno[-length:]
    own, reno = own[time > begin], reno[time > begin]
    large = reno > np.median(reno)
    return float(own[large].mean() / own[~large].mean())


def falls_to(result: xr.Dataset) -> float:
    """Window after its largest fall, over that before."""
    _, cwnd = window(result, 0)
    return float((cwnd[1:] / cwnd[:-1]).min())


def after_timeout(result: xr.Dataset) -> float:
    """Least window after the first drop [packet]."""
    time, cwnd = window(result, 0)
    return float(cwnd[time > result.drop_time.values.min()].min())


def first_growth(result: xr.Dataset) -> float:
    """By how much the window then grows at the first ACK [packet]."""
    time, cwnd = window(result, 0)
    late = cwnd[time > result.drop_time.values.min()]
    after = late[int(late.argmin()) :]
    return float(after[after > after[0]][0] - after[0])


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
#: The text has none for the access links; 50 packets are ns-2's default.
ACCESS_BUFFER: dict[str, Mapping[str, Any]] = {
    "as the link": {}, "50 packets": {f"links.{i}.buffer": 50 for i in range(1, 7)}
}  # fmt: skip
#: Whom a reading touches: the law ends slow start with its first measurement, and only the law measures.
PROPOSED = {"sender": ("Proposed",)}
OTHERS = {"sender": ("Reno", "HSTCP", "Scalable")}


def slow_start(*flows: int, **lasting: Any) -> dict[str, Mapping[str, Any]]:
    """Not said: how slow start of the other senders ends. A loss of the third packet makes the threshold two packets.

    `lasting` are further changes where it goes on until a buffer overflows.
    """
    return {"ended early": {"drops": [{"flow": i, "segment": 3} for i in flows]}, "until a loss": dict(lasting)}


def touched(axes: Mapping[str, Axis]) -> dict[str, Mapping[str, tuple[str, ...]]]:
    """Which senders the readings of the measurement touch, and those of slow start."""
    whom: dict[str, Mapping[str, tuple[str, ...]]] = {
        "measured": PROPOSED, "others": PROPOSED, "slow start": OTHERS
    }  # fmt: skip
    return {axis: whom[axis] for axis in axes if axis in whom}


FAST: dict[str, Any] = {"duration": "15s", "record.windows": "2ms"}

#: Section 2.1 with the mechanism of section 3.1.
GAINS = Experiment(
    "logistic.gains",
    "one flow alone under the law of section 3.1, with the gains of Fig. 1 and that of section 4",
    "gains.toml",
    {"gain": {f"{e}": {"flows.0.parameters.epsilon": e} for e in (0.6, 1.8, 1.95, 2.4, 3.0)}},
    {"off": off},
    readings={"packets": {"1000 B": {}, "500 B": {"flows.0.packet_size": 500, "links.0.buffer": 1000}}},
    tiny=Setting(2, changes={"duration": "10s"}),
    quick=Setting(3),
)

#: Section 3.1: what a loss and a timeout do. The second packet dropped is the retransmission of the first.
LOSSES = Experiment(
    "logistic.losses",
    "one flow alone, of which a packet is dropped, and its retransmission too (section 3.1)",
    "losses.toml",
    {
        "drops": {
            "a packet": {"drops": [{"flow": 0, "segment": 12500}]},
            "and its retransmission": {"drops": [{"flow": 0, "segment": 12500, "transmission": n} for n in (1, 2)]},
        }
    },
    {"falls_to": falls_to, "after_timeout": after_timeout, "first_growth": first_growth},
    readings={"measured": inline(1, "measured")["measured"]},
)

ALONE_READINGS: dict[str, Axis] = {
    **inline(1, "measured"), "slow start": slow_start(1), "buffer": BUFFER, "access buffer": ACCESS_BUFFER,
    "length of Fig. 4": {"200 s": {}, "600 s": {"duration": "600s"}},
}  # fmt: skip

ALONE = Experiment(
    "logistic.alone",
    "one flow beside UDP traffic of half the link (Fig. 4)",
    "alone.toml",
    {"sender": SENDERS},
    {
        "lost": lost, "episodes": episodes, "scatter": scatter, "taken": taken, "throughput": throughput,
        "filled": partial(filled, udp=0.5),
    },
    readings=ALONE_READINGS,
    applies=touched(ALONE_READINGS),
    one_at_a_time=True,
    full=Setting(5, 0, limit=20),
    tiny=Setting(2, changes={"duration": "40s"}),
)  # fmt: skip

#: Until when each rate is watched with Reno and HSTCP. At 300 and 1000 Mbit/s that is a limit: it may not be there yet.
UNTIL = {"10": "20s", "30": "45s", "100": "130s", "300": "350s", "1000": "350s"}
SCALING_READINGS: dict[str, Axis] = {**inline(1, "measured"), "slow start": slow_start(1, duration="10s")}

SCALING = Experiment(
    "logistic.scaling",
    "one flow beside UDP traffic of a fifth of the link, whose rate is from 10 Mbit/s to 1 Gbit/s (Fig. 5)",
    "scaling.toml",
    {
        "rate": {rate: {**c, "duration": UNTIL[rate]} for rate, c in rates(10, 30, 100, 300, 1000).items()},
        "sender": {
            "Proposed": SENDERS["Proposed"] | FAST,
            "Reno": SENDERS["Reno"],
            "HSTCP": SENDERS["HSTCP"],
            "Scalable": SENDERS["Scalable"] | {"duration": "110s"},
        },
    },
    {"filled": partial(filled, udp=0.2)},
    readings=SCALING_READINGS,
    applies=touched(SCALING_READINGS),
    one_at_a_time=True,
    full=Setting(5, 0, limit=20),
    tiny=Setting(2, scale=0.1),
    quick=Setting(3, scale=0.3),
)

EMPTY = Experiment(
    "logistic.empty",
    "one flow alone on an empty link, whose rate is from 10 Mbit/s to 1 Gbit/s (section 3.2)",
    "scaling.toml",
    {"rate": {rate: {**c, **FAST, "flows.2.start": NEVER} for rate, c in rates(10, 30, 100, 300, 1000).items()}},
    {"step": step},
    readings=inline(1, "measured"),
    tiny=Setting(2, scale=0.1),
)

#: Fig. 5: the proposed flow's interval over runs. Only errors are varied; others see none.
ERRORS = Experiment(
    "logistic.errors",
    "the proposed flow of Fig. 5, with errors of its measurement and without",
    "scaling.toml",
    {
        "rate": {rate: {**c, **FAST} for rate, c in rates(10, 100, 1000).items()},
        "error": {"none": {"flows.0.parameters.error": 0.0}, "some": {}},
    },
    {"filled": partial(filled, udp=0.2)},
    readings={"measured": {m: inline(1, "measured")["measured"][m] for m in ("5 % wrong each RTT", "20 % wrong")}},
    applies={"measured": {"error": ("some",)}},
    tiny=Setting(2, scale=0.1),
    full=Setting(20, 0, limit=80),
)

CHANGES_READINGS: dict[str, Axis] = {
    **inline(1, "measured"), "slow start": slow_start(1), "buffer": BUFFER, "access buffer": ACCESS_BUFFER
}  # fmt: skip

CHANGES = Experiment(
    "logistic.changes",
    "one flow beside UDP traffic that leaves 80, 65, 50 and 80 Mbit/s (Fig. 6)",
    "changes.toml",
    {"sender": SENDERS},
    {
        "lost": lost, "utilisation": utilisation, "throughput": throughput,
        **{f"phase_{i}": partial(phase, number=i) for i in (1, 2, 3, 4)},
    },
    readings=CHANGES_READINGS,
    applies=touched(CHANGES_READINGS),
    one_at_a_time=True,
    full=Setting(5, 0, limit=20),
    tiny=Setting(2, changes=slowly(7) | {"flows.2.rate_steps": [[0, 2e6], [50, 3.5e6], [100, 5e6], [150, 2e6]]}),
)  # fmt: skip

JOINS_READINGS: dict[str, Axis] = {**inline(5), "slow start": slow_start(*range(5, 10)), "buffer": BUFFER}

JOINS = Experiment(
    "logistic.joins",
    "five flows that join one after another and leave again (Fig. 7)",
    "joins.toml",
    {"sender": {"Proposed": groups(5, 10, "start", NEVER) | groups(5, 10, "stop", None),
                "Reno": groups(0, 5, "start", NEVER) | groups(0, 5, "stop", None)}},
    {
        "lost_joining": lost_joining, "episodes": partial(episodes, groups=10), "jain": jain,
        **{f"ratio_{n}": partial(ratio, n=n) for n in range(2, 6)},
        **{f"settled_{n}": partial(settled, n=n) for n in range(2, 6)},
        **{f"sum_{n}": partial(window_sum, n=n) for n in range(1, 6)},
        **{f"fill_{n}": partial(fill, n=n) for n in range(1, 5)},
    },
    readings=JOINS_READINGS,
    applies=touched(JOINS_READINGS),
    one_at_a_time=True,
    full=Setting(5, 0, limit=20),
    tiny=Setting(2, changes=slowly(21)),
)  # fmt: skip

ACCESS_READINGS: dict[str, Axis] = {**inline(2), "slow start": slow_start(2, 3)}

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
    {"share": share},
    readings=ACCESS_READINGS,
    applies=touched(ACCESS_READINGS),
    quick=Setting(6),
)

MANY = Experiment(
    "logistic.many",
    "two to twenty flows that begin together (section 3.2)",
    "many.toml",
    {"flows": {f"{n}": {"flows.0.count": n} for n in (2, 5, 10, 20)}},
    {
        "sum": mean_sum,
        "scatter": scatter_of_sum,
        "least_over_largest": least_over_largest,
        "lost": partial(lost, groups=1),
    },
    readings={**inline(1), "buffer": {"2 RTT": {}, "2 x 40 ms": {"links.0.buffer": 200}}},
    quick=Setting(6),
)

#: Section 2.3 has no number; an error of K is to be smaller than that of A.
WRONG_K = Experiment(
    "logistic.wrong_k",
    "five flows, of which one takes the physical bandwidth too low (section 2.3)",
    "wrong_k.toml",
    {"K": {"right": {}, "low": {"flows.0.parameters.K": 19.6e6}}},
    {"first": first},
    readings={**inline(2), "error of K": {"2 %": {}, "5 %": {"flows.0.parameters.K": 19e6}}},
    applies={"error of K": {"K": ("low",)}},
    quick=Setting(4),
)

BESIDE_RENO = Experiment(
    "logistic.beside_reno",
    "a proposed and a Reno flow share a link (section 5)",
    "beside_reno.toml",
    {},
    {"reno_over_own": reno_over_own, "gives_way": gives_way},
    readings={
        **inline(1, "measured"), "slow start": slow_start(1),
        "buffer of section 5": {
            "2 BDP": {}, "1 BDP": {"links.0.buffer": 1250}, "5 BDP": {"links.0.buffer": 6250}
        },
    },
    one_at_a_time=True,
    tiny=Setting(2, changes=slowly(5)),
)  # fmt: skip

EXPERIMENTS = (
    GAINS, LOSSES, ALONE, SCALING, EMPTY, ERRORS, CHANGES, JOINS, ACCESS, MANY, WRONG_K, BESIDE_RENO
)  # fmt: skip
