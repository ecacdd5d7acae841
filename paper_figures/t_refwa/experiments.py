"""Experiments in packets that decide claims of the paper: its networks of one bottleneck and of two."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from tcpdynamics.models import jain

from ..experiments import Axis, Experiment, Setting

#: Table II: link -> rate [bit/s], buffer [packets], flows; and the time [s] that is enough to measure it: on the fast
#: links a second has tens of thousands of packets.
LINKS = {
    "T3": (44e6, 50, 8, 60.0), "OC3": (155e6, 190, 32, 60.0), "OC12": (622e6, 760, 128, 20.0),
    "OC48": (2400e6, 2930, 512, 8.0),
}  # fmt: skip

#: Round-trip times of the eight groups [s]. Buffers of Table II are bandwidth-delay products at a mean of 9.8 ms.
ROUND_TRIPS: dict[str, tuple[float, ...]] = {
    "2.8 to 16.8 ms": tuple(2.8e-3 + 2e-3 * j for j in range(8)),
    "9 to 51 ms": tuple(9e-3 + 6e-3 * j for j in range(8)),
    "20 to 160 ms": tuple(20e-3 + 20e-3 * j for j in range(8)),
}
#: The bottleneck's own delay [s]; the rest of a round trip is on the way to the users.
NEAR = 0.5e-3
PACKET = 8000  # bit


def fairness(result: xr.Dataset) -> float:
    """Jain's index of all flows."""
    return float(jain(result.goodput_rate.values))


def utilisation(result: xr.Dataset) -> float:
    """Of the bottleneck."""
    return float(result.link_utilisation.sel(link="router->users"))


def loss(result: xr.Dataset) -> float:
    """Loss rate of data."""
    return float(result.dropped.sum() / max(float(result.sent.sum()), 1.0))


def groups(result: xr.Dataset) -> np.ndarray:
    """Throughput of each group [bit/s]."""
    group = result.group.values
    return np.array([result.goodput_rate.values[group == g].sum() for g in range(int(group.max()) + 1)])


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


def _flows(changes: dict[str, Any]) -> dict[str, Any]:
    """The same changes for all eight groups."""
    return {f"flows.{j}.{key}": value for j in range(8) for key, value in changes.items()}


def _link(name: str) -> dict[str, Any]:
    """A row of Table II."""
    rate, buffer, flows, duration = LINKS[name]
    wait = 4.0 * PACKET / rate  # against phases: docs/scenarios.md
    window = 20_000 if flows == 8 else 2_000
    keys = {"count": flows // 8, "overhead": wait, "window_limit": window, "start_spread": duration / 40}
    times = {"duration": duration, "warm_up": duration / 10, "slice": 0.9 * duration}
    return {"links.1.rate": rate, "links.1.buffer": buffer, **times, **_flows(keys)}


def _protocol(sender: str, control: str, router: str) -> dict[str, Any]:
    return {"links.1.router": router, **_flows({"sender": sender, "control": control})}


PROTOCOLS: Axis = {
    "Reno": _protocol("reno", "reno", "none"),
    "NewReno": _protocol("newreno", "reno", "none"),
    "Westwood": _protocol("newreno", "westwood", "none"),
    "T-REFWA": _protocol("newreno", "reno", "t_refwa"),
}

DELAYS: Axis = {
    name: {f"links.{2 + j}.delay": rtt / 2 - NEAR for j, rtt in enumerate(rtts)} for name, rtts in ROUND_TRIPS.items()
}
#: How long a sender waits at random before it sends: ns-2's senders of 2006 did not; without it they fall in step.
WAITS: Axis = {"a few packets": {}, "none": _flows({"overhead": 0.0})}


def _group(number: int) -> Any:
    def measure(result: xr.Dataset) -> float:
        """Mean throughput of a flow of the group [Mbit/s]."""
        return float(result.goodput_rate.values[result.group.values == number].mean() / 1e6)

    return measure


MEASURES = {
    "fairness": fairness, "utilisation": utilisation, "loss": loss, "least_over_most": least_over_most,
    "first_over_last": first_over_last, "greatest_step": greatest_step,
    **{f"group_{j + 1}": _group(j) for j in range(8)},
}  # fmt: skip

#: Section IV, Figs. 1 and 2, Table III. Open: Fig. 1's delays, and whether senders wait at random.
ONE_LINK = Experiment(
    "t_refwa.one_link",
    "eight groups of flows at different distances on each link of Table II (Fig. 1)",
    "one_link.toml",
    {"link": {name: _link(name) for name in LINKS}, "protocol": PROTOCOLS},
    MEASURES,
    readings={"round trips": DELAYS, "wait before sending": WAITS},
    tiny=Setting(2, scale=0.02),
    quick=Setting(4, 2, scale=0.3),
    full=Setting(10, 0),
    judge_replications=5,
)

_RED = {"links.1.queue": "red", "links.1.queue_parameters": {"min_threshold": 190 / 4, "max_threshold": 0.75 * 190}}
#: Section IV, Fig. 3. Open: as above; RED's thresholds are a quarter and three quarters of the buffer here.
OVER_RED = Experiment(
    "t_refwa.over_red",
    "the same on OC3 with RED, but for T-REFWA (Fig. 3)",
    "one_link.toml",
    {
        "protocol": {
            **{name: {**_link("OC3"), **PROTOCOLS[name], **_RED} for name in ("Reno", "NewReno", "Westwood")},
            "T-REFWA over drop-tail": {**_link("OC3"), **PROTOCOLS["T-REFWA"]},
        }
    },
    MEASURES,
    readings={"round trips": DELAYS},
    tiny=Setting(2, scale=0.02),
    quick=Setting(4, 2, scale=0.3),
    full=Setting(10, 0),
)


def _jain_of_first(result: xr.Dataset) -> float:
    """Jain's index of the nine flows on L1."""
    return float(jain(result.goodput_rate.values[:9]))


def _of_link(name: str, link: str) -> Any:
    def measure(result: xr.Dataset) -> float:
        return float(result[name].sel(link=link))

    return measure


def _second_over_first(result: xr.Dataset) -> float:
    """Throughput of a flow of group 2 over that of a flow of group 1."""
    rates = groups(result)
    return float(rates[1] / 4 / (rates[0] / 5))


def _trips(first: float, second: float, third: float) -> dict[str, Any]:
    """Delays to the receivers with which the three groups have these round-trip times [s]."""
    inside = {4: (first, 3e-3), 6: (second, 1e-3), 8: (third, 1e-3)}
    return {f"links.{link}.delay": rtt / 2 - near_end for link, (rtt, near_end) in inside.items()}


#: Section IV, Figs. 4 and 5. Open: rates, delays and buffers.
TWO_LINKS = Experiment(
    "t_refwa.two_links",
    "two bottlenecks in a row with and without T-REFWA (Fig. 4)",
    "two_links.toml",
    {"router": {"with": {}, "without": {"links.0.router": "none", "links.2.router": "none"}}},
    {
        "use_1": _of_link("link_utilisation", "a->b"), "use_3": _of_link("link_utilisation", "c->d"),
        "queue_1": _of_link("link_mean_queue", "a->b"), "queue_3": _of_link("link_mean_queue", "c->d"),
        "loss": loss, "fairness_1": _jain_of_first, "second_over_first": _second_over_first,
    },
    readings={
        "round trips": {
            "40 ms all": {}, "60, 20, 40 ms": _trips(0.06, 0.02, 0.04), "120, 40, 40 ms": _trips(0.12, 0.04, 0.04),
        },
        "rates": {
            "20 Mbit/s": {},
            "44 Mbit/s": {"links.0.rate": 44e6, "links.2.rate": 44e6, "links.0.buffer": 220, "links.2.buffer": 220},
            "L3 half of L1": {"links.2.rate": 10e6, "links.2.buffer": 50},
        },
    },
    tiny=Setting(2, scale=0.1),
    quick=Setting(4, 3, scale=0.5),
    full=Setting(10, 0),
)  # fmt: skip

EXPERIMENTS = (ONE_LINK, OVER_RED, TWO_LINKS)
