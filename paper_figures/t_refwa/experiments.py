"""Experiments in packets that decide claims of the paper: its networks of one bottleneck and of two."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tcpdynamics.later import xr
from tcpdynamics.models import jain

from ..experiments import Axis, Experiment, Setting

#: Table II: link -> rate [bit/s], buffer [packets], flows.
LINKS = {"T3": (44e6, 50, 8), "OC3": (155e6, 190, 32), "OC12": (622e6, 760, 128), "OC48": (2400e6, 2930, 512)}

#: Round-trip times of the eight groups [s]. Table III's utilisation chooses the first, those of the scenario file
#: (`calibrates` in claims.toml); buffers of Table II are bandwidth-delay products at 10.0 ms, the mean of the last.
ROUND_TRIPS: dict[str, tuple[float, ...]] = {
    "20 to 160 ms": tuple(20e-3 + 20e-3 * j for j in range(8)),
    "9 to 51 ms": tuple(9e-3 + 6e-3 * j for j in range(8)),
    "3 to 17 ms": tuple(3e-3 + 2e-3 * j for j in range(8)),
}
#: The bottleneck's own delay [s]; the rest of a round trip is on the way to the users.
NEAR = 0.5e-3
PACKET = 8192  # bit
T_REFWA = "T-REFWA"
BOTTLENECK = "router->users"


def fairness(result: xr.Dataset) -> float:
    """Jain's index of all flows."""
    return float(jain(result.goodput_rate.values))


def utilisation(result: xr.Dataset) -> float:
    """Of the bottleneck."""
    return float(result.link_utilisation.sel(link=BOTTLENECK))


def loss(result: xr.Dataset) -> float:
    """Loss rate of data."""
    return float(result.dropped.sum() / max(float(result.sent.sum()), 1.0))


def groups(result: xr.Dataset) -> np.ndarray:
    """Throughput of each group [bit/s]."""
    group = result.group.values
    return np.array([result.goodput_rate.values[group == g].sum() for g in range(int(group.max()) + 1)])


def queue(result: xr.Dataset) -> float:
    """Mean queue of the bottleneck [packets]."""
    return float(result.link_mean_queue.sel(link=BOTTLENECK))


def least_over_most(result: xr.Dataset) -> float:
    """Throughput of the slowest over that of the fastest group."""
    rates = groups(result)
    return float(rates.min() / rates.max())


def first_over_last(result: xr.Dataset) -> float:
    """Throughput of the group with the shortest round-trip time over that with the longest."""
    rates = groups(result)
    return float(rates[0] / rates[-1])


def greatest_step(result: xr.Dataset) -> float:
    """Greatest ratio of a group's throughput to that of the group before: below 1 where it falls at each step."""
    rates = groups(result)
    return float((rates[1:] / rates[:-1]).max())


def _flows(changes: dict[str, Any], groups: int = 8) -> dict[str, Any]:
    """The same changes for all groups."""
    return {f"flows.{j}.{key}": value for j in range(groups) for key, value in changes.items()}


def _link(name: str) -> dict[str, Any]:
    """A row of Table II."""
    rate, buffer, flows = LINKS[name]
    wait = 4.0 * PACKET / rate  # against phases: docs/scenarios.md
    keys = {"count": flows // 8, "overhead": wait, "window_limit": 20_000 if flows == 8 else 2_000}
    return {"links.1.rate": rate, "links.1.buffer": buffer, **_flows(keys)}


def _protocol(sender: str, control: str, router: str) -> dict[str, Any]:
    return {"links.1.router": router, **_flows({"sender": sender, "control": control})}


#: Parameters of Westwood as the paper's reference has it.
WESTWOOD = {"plus": 0}
PROTOCOLS: Axis = {
    "Reno": _protocol("reno", "reno", "none"),
    "NewReno": _protocol("newreno", "reno", "none"),
    "Westwood": {**_protocol("newreno", "westwood", "none"), **_flows({"parameters": WESTWOOD})},
    T_REFWA: _protocol("newreno", "reno", "t_refwa"),
}

DELAYS: Axis = {
    name: {f"links.{2 + j}.delay": rtt / 2 - NEAR for j, rtt in enumerate(rtts)} for name, rtts in ROUND_TRIPS.items()
}

#: What section III leaves open of the router: axis -> the first label, another one, and its key and value.
ROUTER = {
    "queue in eq. (3)": ("an interval old", "as it is", "queue_age", 0),
    "Upsilon(n-1)": ("as commanded", "as measured", "measured_window", 1),
    "most of Upsilon": ("no limit", "product and buffer", "clamped", 1),
}


def _senders(groups: int) -> dict[str, Axis]:
    """Readings of all senders. Those of ns-2 in 2006 did not wait before they sent, so that they may fall in step."""
    return {
        "wait before sending": {"none": _flows({"overhead": 0.0}, groups), "a few packets": {}},
        "packet size": {"1024 bytes": {}, "1000 bytes": _flows({"packet_size": 1000}, groups)},
        "measured time": {"whole": {"warm_up": "0s"}, "without its first tenth": {}},
        "least timeout": {"0.2 s": {}, "1 s": _flows({"min_rto": "1s"}, groups)},
    }


def _westwood(groups: int) -> dict[str, Axis]:
    """Readings of Westwood."""
    return {"Westwood": {"MobiCom 2001": {}, "Westwood+ of 2004": _flows({"parameters": {"plus": 1}}, groups)}}


def _router(*links: int) -> dict[str, Axis]:
    """Readings of the router, at these links."""
    return {
        axis: {first: {}, other: {f"links.{link}.router_parameters": {key: value} for link in links}}
        for axis, (first, other, key, value) in ROUTER.items()
    }


def _applies(t_refwa: str = T_REFWA) -> dict[str, Mapping[str, tuple[str, ...]]]:
    """Which protocols these readings touch. On OC48, where a run takes 11 s, what senders do is not varied."""
    return {
        "Westwood": {"protocol": ("Westwood",)},
        **{axis: {"protocol": (t_refwa,)} for axis in ROUTER},
        **{axis: {"link": ("T3", "OC3", "OC12")} for axis in _senders(8)},
    }


def _group(number: int) -> Any:
    def measure(result: xr.Dataset) -> float:
        """Mean throughput of a flow of the group [Mbit/s]."""
        return float(result.goodput_rate.values[result.group.values == number].mean() / 1e6)

    return measure


OF_GROUPS = {f"group_{j + 1}": _group(j) for j in range(8)}
MEASURES = {
    "fairness": fairness, "utilisation": utilisation, "loss": loss, "least_over_most": least_over_most,
    "first_over_last": first_over_last, "greatest_step": greatest_step, "queue": queue,
    **OF_GROUPS,
}  # fmt: skip

#: Section IV, Figs. 1 and 2, Table III.
ONE_LINK = Experiment(
    "t_refwa.one_link",
    "eight groups of flows at different distances on each link of Table II (Fig. 1)",
    "one_link.toml",
    {"link": {name: _link(name) for name in LINKS}, "protocol": PROTOCOLS},
    MEASURES,
    readings={"round trips of Fig. 1": DELAYS, **_senders(8), **_westwood(8), **_router(1)},
    applies=_applies(),
    one_at_a_time=True,
    tiny=Setting(2, scale=0.02),
    quick=Setting(4, 2, scale=0.3),
    full=Setting(9, 0, limit=18),
    judged=True,
)

OVER_DROP_TAIL = f"{T_REFWA} over drop-tail"
#: Near ns-2's automatic ones since 2002, with which `gentle` is on, and those before.
QUARTERS, OF_NS2 = "1/4 and 3/4 of the buffer, gentle", "5 and 15 packets"


def _over_red(name: str) -> dict[str, Any]:
    """A row of Table II with RED's thresholds, which drop-tail does not have."""
    buffer = LINKS[name][1]
    thresholds = {"min_threshold": buffer / 4, "max_threshold": 0.75 * buffer, "gentle": 1}
    return {**_link(name), "links.1.queue_parameters": thresholds}


_RED = {"links.1.queue": "red"}


def _with_red(name: str, about: str, *links: str, drawn: Mapping[str, Any] | None = None) -> Experiment:
    """Section IV, Fig. 3, on some links; `drawn` are measures for a figure beside."""
    return Experiment(
        name,
        about,
        "one_link.toml",
        {
            "link": {link: _over_red(link) for link in links},
            "protocol": {
                **{one: {**PROTOCOLS[one], **_RED} for one in ("Reno", "NewReno", "Westwood")},
                OVER_DROP_TAIL: {**PROTOCOLS[T_REFWA], "links.1.queue_parameters": {}},
            },
        },
        {"fairness": fairness, "utilisation": utilisation, "greatest_step": greatest_step, **(drawn or {})},
        readings={
            **_senders(8),
            "RED thresholds": {
                QUARTERS: {},
                OF_NS2: {"links.1.queue_parameters": {"min_threshold": 5, "max_threshold": 15}},
            },
            **_westwood(8),
            **_router(1),
        },
        applies={**_applies(OVER_DROP_TAIL), "RED thresholds": {"protocol": ("Reno", "NewReno", "Westwood")}},
        one_at_a_time=True,
        tiny=Setting(2, scale=0.02),
        quick=Setting(4, 2, scale=0.3),
        full=Setting(5, 0, limit=20),
    )


OVER_RED = _with_red(
    "t_refwa.over_red", "the same with RED, but for T-REFWA, on OC3 (Fig. 3), T3 and OC12", "OC3", "T3", "OC12",
    drawn={"first_over_last": first_over_last, **OF_GROUPS},
)  # fmt: skip
RED_ON_OC48 = _with_red("t_refwa.red_on_oc48", "the same on OC48 (section IV, on Fig. 3)", "OC48")


def _scenario(result: xr.Dataset) -> dict[str, Any]:
    """What was simulated."""
    table: dict[str, Any] = json.loads(result.attrs["scenario"])
    return table


def _samples(result: xr.Dataset, name: str, link: str = BOTTLENECK) -> np.ndarray:
    """Samples of a queue's or a router's number after the warm-up; NaN before the router's first code."""
    of_link = result.queue_link.values == result.link.values.tolist().index(link)
    values: np.ndarray = result[name].values[of_link & (result.queue_time.values >= _scenario(result)["warm_up"])]
    return values


def _recorded(result: xr.Dataset, name: str) -> np.ndarray:
    """Those of the bottleneck, without those before the router's first code."""
    values = _samples(result, name)
    finite: np.ndarray = values[np.isfinite(values)]
    return finite


def _srtt(result: xr.Dataset) -> list[np.ndarray]:
    """Smoothed round-trip times of each flow [s], one whenever it acts after the warm-up."""
    srtt = result.window_srtt.values
    usable = (result.window_time.values >= _scenario(result)["warm_up"]) & (srtt > 0.0)
    flow = result.window_flow.values[usable]
    order = np.argsort(flow, kind="stable")
    return np.split(srtt[usable][order], np.flatnonzero(np.diff(flow[order])) + 1)


def srtt_changes(result: xr.Dataset) -> float:
    """Times that a flow's smoothed round-trip time changes, in whole milliseconds, over packets that are sent."""
    changes = sum(int(np.count_nonzero(np.diff(np.round(1e3 * srtt)))) for srtt in _srtt(result))
    return changes / max(float(result.sent.sum()), 1.0)


def srtt_spread(result: xr.Dataset) -> float:
    """Standard deviation of a flow's smoothed round-trip time over its mean; mean of all flows."""
    return float(np.mean([srtt.std() / srtt.mean() for srtt in _srtt(result)]))


def _in_flight(result: xr.Dataset) -> float:
    """Packets under way of all flows, mean over time, by Little's law."""
    table = _scenario(result)
    return float((result.sent * result.mean_rtt).sum()) / float(table["duration"] - table["warm_up"])


def flight_over_upsilon(result: xr.Dataset) -> float:
    """Packets under way of all flows over the aggregate window that the router commands."""
    return _in_flight(result) / float(_recorded(result, "router_window").mean())


def flight_over_product(result: xr.Dataset) -> float:
    """Packets under way of all flows over rate times the mean round-trip time without queues."""
    return _in_flight(result) / _product(result)


def flight_over_room(result: xr.Dataset) -> float:
    """Packets under way of all flows over that product and the buffer."""
    return _in_flight(result) / (_product(result) + float(_scenario(result)["links"][1]["buffer"]))


def _product(result: xr.Dataset) -> float:
    table = _scenario(result)
    rate = table["links"][1]["rate"] / 8.0 / table["flows"][0]["packet_size"]
    return float(rate) * float(result.base_rtt.mean())


def average_rtt(result: xr.Dataset) -> float:
    """The router's mean round-trip time over that of all flows."""
    return float(_recorded(result, "router_rtt").mean() / result.mean_rtt.mean())


def counted(result: xr.Dataset) -> float:
    """Flows that the router counts as in progress, over all."""
    return float(_recorded(result, "router_flows").mean() / result.sizes["flow"])


def swing(result: xr.Dataset) -> float:
    """Standard deviation of the queue over the buffer."""
    return float(_recorded(result, "queue_packets").std() / _scenario(result)["links"][1]["buffer"])


#: Section III: what the router and the senders of T-REFWA know.
IN_THE_ROUTER = Experiment(
    "t_refwa.in_the_router",
    "senders and the router of T-REFWA on T3 and OC3, each round-trip time and each interval written down",
    "one_link.toml",
    {"link": {name: {**_link(name), "record": {"windows": "0s", "queues": "5ms"}} for name in ("T3", "OC3")}},
    {
        "srtt_changes": srtt_changes, "srtt_spread": srtt_spread, "flight_over_upsilon": flight_over_upsilon,
        "flight_over_product": flight_over_product, "flight_over_room": flight_over_room,
        "average_rtt": average_rtt, "counted": counted, "swing": swing,
    },
    readings={**_senders(8), **_router(1)},
    one_at_a_time=True,
    tiny=Setting(2, scale=0.02),
    quick=Setting(4, 2, scale=0.1),
    full=Setting(5, 0, limit=20),
)  # fmt: skip


def _jain_of(*group: int) -> Any:
    def measure(result: xr.Dataset) -> float:
        """Jain's index of the flows of these groups."""
        return float(jain(result.goodput_rate.values[np.isin(result.group.values, group)]))

    return measure


def _of_link(name: str, link: str) -> Any:
    def measure(result: xr.Dataset) -> float:
        return float(result[name].sel(link=link))

    return measure


def _second_over_first(result: xr.Dataset) -> float:
    """Throughput of a flow of group 2 over that of a flow of group 1."""
    rates = groups(result)
    return float(rates[1] / 4 / (rates[0] / 5))


def _offered(result: xr.Dataset, link: str) -> float:
    """What a link's router offers a flow for each second of its round-trip time: Upsilon over the sum of n_j RTT_j."""
    window, rtt, flows = (_samples(result, f"router_{name}", link) for name in ("window", "rtt", "flows"))
    usable = np.isfinite(window) & np.isfinite(rtt) & (flows > 0)
    return float(np.mean(window[usable] / (flows[usable] * rtt[usable])))


def offered_1_over_3(result: xr.Dataset) -> float:
    """Window that L1 offers a flow of group 1 over the one that L3 offers it; NaN without routers."""
    return _offered(result, "a->b") / _offered(result, "c->d") if "router_window" in result else math.nan


def _trips(first: float, second: float, third: float) -> dict[str, Any]:
    """Delays to the receivers with which the three groups have these round-trip times [s]."""
    inside = {4: (first, 3e-3), 6: (second, 1e-3), 8: (third, 1e-3)}
    return {f"links.{link}.delay": rtt / 2 - near_end for link, (rtt, near_end) in inside.items()}


def _rates(first: float, third: float) -> dict[str, Any]:
    """Rates of L1 and L3 [bit/s], buffers of a bandwidth-delay product at 40 ms."""
    out: dict[str, Any] = _flows({"overhead": 4.0 * PACKET / third}, 3)
    for link, rate in ((0, first), (2, third)):
        out |= {f"links.{link}.rate": rate, f"links.{link}.buffer": round(rate * 0.04 / PACKET)}
    return out


#: By the text, group 2 has short round-trip times.
TRIPS = {
    "60, 20, 40 ms": _trips(0.06, 0.02, 0.04), "120, 40, 40 ms": _trips(0.12, 0.04, 0.04),
    "40, 20, 20 ms": _trips(0.04, 0.02, 0.02),
}  # fmt: skip
RATES = {
    "20 Mbit/s": _rates(20e6, 20e6), "44 Mbit/s": _rates(44e6, 44e6), "L1 20, L3 10 Mbit/s": _rates(20e6, 10e6),
}  # fmt: skip
#: What is not in the text of Fig. 4: rates of the two bottlenecks, round-trip times of the three groups.
NETWORKS: Axis = {f"{rate}; {trip}": {**RATES[rate], **TRIPS[trip]} for rate in RATES for trip in TRIPS}


def _at_both(sender: str, control: str, router: str) -> dict[str, Any]:
    routers = {"links.0.router": router, "links.2.router": router}
    return {**routers, **_flows({"sender": sender, "control": control}, 3)}


#: Section IV, Figs. 4 and 5.
TWO_LINKS = Experiment(
    "t_refwa.two_links",
    "two bottlenecks in a row with T-REFWA and without it (Fig. 4)",
    "two_links.toml",
    {
        "protocol": {
            "Reno": _at_both("reno", "reno", "none"),
            "NewReno": _at_both("newreno", "reno", "none"),
            "Westwood": {**_at_both("newreno", "westwood", "none"), **_flows({"parameters": WESTWOOD}, 3)},
            T_REFWA: {**_at_both("newreno", "reno", "t_refwa"), "record": {"queues": "20ms"}},
        }
    },
    {
        "use_1": _of_link("link_utilisation", "a->b"), "use_3": _of_link("link_utilisation", "c->d"),
        "queue_1": _of_link("link_mean_queue", "a->b"), "queue_3": _of_link("link_mean_queue", "c->d"),
        "loss": loss, "fairness_1": _jain_of(0, 1), "fairness_3": _jain_of(0, 2),
        "second_over_first": _second_over_first, "offered_1_over_3": offered_1_over_3,
    },
    readings={"network of Fig. 4": NETWORKS, **_senders(3), **_westwood(3), **_router(0, 2)},
    applies=_applies(),
    one_at_a_time=True,
    tiny=Setting(2, scale=0.1),
    quick=Setting(4, 3, scale=0.5),
    full=Setting(10, 0, limit=40),
)  # fmt: skip

EXPERIMENTS = (ONE_LINK, OVER_RED, RED_ON_OC48, IN_THE_ROUTER, TWO_LINKS)
