"""Links of the sub-packet paper's Figs. 2, 3 and 8 to 12, and what is measured on each: of our senders and of Linux's.

RTTs are the paper's, with a delay by chance of up to the sending time of a packet, without which flows with equal RTTs
fall into step, and those with RTTs apart keep what they have for ever. Acknowledgements have it, in Linux and in the
simulator: with data it would part packets that were sent at once, and so change which of them find a place.
Two links of Fig. 3 are without it: RTTs 5 % to either side, as in `packets_vs_linux`, and equal ones, as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import xarray as xr

from tcpdynamics.jain import mean_jain

from ..packet import Bottleneck, Flows, Link, Record, Scenario
from .crowded_laws import MOST_SENT

#: What a full queue adds to the RTT, on every link here [s].
FULL = 0.2
#: Connections of a user, where a hang is that of all of them.
POOL = 4
#: Percent of flows at which goodput in 20 s and longest hangs are read.
GOODPUT_PERCENTS = tuple(range(10, 100, 10))
HANG_PERCENTS = (10, 25, 50, 75, 90)
#: A share of the flows, the richest first -> what it is called.
PARTS = {(0.0, 0.4): "richest 40 %", (0.4, 0.7): "next 30 %", (0.7, 1.0): "last 30 %"}

LAW = (*(f"{n} sent" for n in range(MOST_SENT)), f"{MOST_SENT} or more sent")
GOODPUTS = tuple(f"goodput in 20 s, {p} % of flows" for p in GOODPUT_PERCENTS)
HANGS = tuple(f"longest hang, {p} % of flows" for p in HANG_PERCENTS)
#: What is measured of a run -> its unit.
QUANTITIES: dict[str, str] = {
    "loss rate": "1", **dict.fromkeys(LAW, "1"), "0 sent, 10 % of flows": "1", "0 sent, 90 % of flows": "1",
    "Jain's index, 5 s": "1", "Jain's index, 20 s": "1", "Jain's index, whole run": "1", "locked out for 20 s": "1",
    "most active in 20 s": "1", "scatter of active in 20 s": "1",
    **{f"goodput of the {name}": "1" for name in PARTS.values()}, **dict.fromkeys(GOODPUTS, "fair share"),
    **dict.fromkeys(HANGS, "s"), "hang above 20 s": "1", "hang above 60 s": "1",
    "longest hang of four flows, median": "s", "longest hang of four flows, 90 %": "s", "timeouts": "1/s",
    "goodput of the link": "1", "use of the link": "1",
}  # fmt: skip


@dataclass(frozen=True)
class CrowdedLink:
    """A link and its flows.

    Attributes
    ----------
    figures : tuple of int      The paper's figures that it belongs to.
    flows : int
    rate : float                [bit/s]
    buffer : int                [packet]
    rtt : (float, float)        Without queueing and jitter, of the first and of the last flow [s].
    packet_size : int           [byte]
    duration : float            [s]; the first 20 s are left out.
    jitter : bool               Whether there is the delay by chance.
    queue : dict                Further fields of the simulator's `Bottleneck`.
    discipline : str or None    Linux's queue in the words of `tc`, where it is not drop-tail; None: Linux has no such.
    """

    figures: tuple[int, ...]
    flows: int
    rate: float = 1e6
    buffer: int = 50
    rtt: tuple[float, float] = (0.2, 0.2)
    packet_size: int = 500
    duration: float = 140.0
    jitter: bool = True
    queue: dict[str, Any] = field(default_factory=dict)
    discipline: str | None = ""

    warm_up = 20.0

    @property
    def share(self) -> float:
        """A flow's fair share [bit/s]."""
        return self.rate / self.flows

    @property
    def epochs(self) -> np.ndarray:
        """(flow,) Round-trip times with a full queue [s]: what packets are counted in."""
        return np.linspace(*self.rtt, self.flows) + FULL

    def scenario(self, sender: dict[str, Any], seed: int = 1) -> Scenario:
        """What Linux is run with, and with further fields of `Flows` the simulator where nothing is drawn.

        Examples
        --------
        >>> LINKS["1 Mbit/s, 100 flows"].scenario({}).count
        100
        """
        late = 8 * self.packet_size / self.rate if self.jitter else 0.0
        ties = not self.jitter and self.rtt[0] == self.rtt[1]
        group = Flows(self.flows, rtt=self.rtt, packet_size=self.packet_size, jitter=late, **sender)
        name = f"{self.flows} flows{', ' if self.discipline else ''}{self.discipline or ''}"
        return Scenario(
            (group,), Bottleneck(self.rate, self.buffer, **self.queue), self.duration, self.warm_up, name, seed,
            epoch=self.rtt[0] + FULL, slice=5.0, record=Record(sends=True), clock="auto" if ties else "grid",
        )  # fmt: skip

    def simulated(self, sender: dict[str, Any]) -> Scenario:
        """What the simulator is run with: the delay by chance on the acknowledgements' way, as in Linux.

        Examples
        --------
        >>> LINKS["RTTs 200 to 400 ms, 100 flows"].simulated({}).count
        100
        """
        plain = self.scenario(sender)
        if not self.jitter:
            return plain
        (group,) = plain.flows
        one_way = self.rtt[0] / 2
        links = [
            Link("gateway", "receiver", self.rate, one_way, buffer=self.buffer, duplex=False, **self.queue),
            Link("receiver", "gateway", None, one_way, jitter=group.jitter or 0.0, duplex=False),
        ]
        alone = replace(group, count=1, rtt=None, jitter=0.0, start_spread=1.0, target="receiver")
        if self.rtt[0] == self.rtt[1]:
            flows: tuple[Flows, ...] = (replace(alone, count=self.flows, source="gateway"),)
        else:
            rtts = np.linspace(*self.rtt, self.flows).tolist()
            links += [Link(f"s{i}", "gateway", None, rtt / 2 - one_way) for i, rtt in enumerate(rtts)]
            flows = tuple(replace(alone, source=f"s{i}") for i in range(self.flows))
        return replace(plain, flows=flows, bottleneck=None, links=tuple(links))


def _lanes(limit: int) -> dict[str, Any]:
    return {"queue": "sfq", "queue_parameters": {"queues": 5, "lane_limit": limit}}


_GATEWAY: dict[str, Any] = {"flows": 50, "buffer": 25, "packet_size": 1000}
_PRIORITY: dict[str, Any] = {"priority": "retransmissions", "priority_buffer": 5}
#: Linux's lanes are a power of two; five of five packets become eight of five, in the same 25 places.
_SFQ = "sfq limit 24 depth 5 divisor 8 perturb 0"

LINKS: dict[str, CrowdedLink] = {
    "1 Mbit/s, 20 flows": CrowdedLink((2, 8, 9), 20),
    "1 Mbit/s, 40 flows": CrowdedLink((2, 8, 9), 40, duration=220.0),
    "1 Mbit/s, 100 flows": CrowdedLink((2, 3, 8, 9), 100, duration=220.0),
    "1 Mbit/s, 200 flows": CrowdedLink((2, 8, 9), 200, duration=220.0),
    "100 flows, RTTs 5 % apart": CrowdedLink((3,), 100, rtt=(0.19, 0.21), duration=220.0, jitter=False),
    "100 flows in step": CrowdedLink((3,), 100, jitter=False),
    "500 kbit/s, 50 flows": CrowdedLink((2, 10), 50, 5e5, 25),
    "250 kbit/s, 25 flows": CrowdedLink((2, 10), 25, 2.5e5, 12, duration=1020.0),
    "RTTs 200 to 400 ms, 100 flows": CrowdedLink((11,), 100, rtt=(0.2, 0.4)),
    "gateway, drop-tail": CrowdedLink((12,), **_GATEWAY),
    "gateway, SFQ": CrowdedLink((12,), **_GATEWAY, queue=_lanes(5), discipline=_SFQ),
    "gateway, drop-tail, priority": CrowdedLink((12,), **_GATEWAY, queue=_PRIORITY, discipline=None),
    "gateway, SFQ, priority": CrowdedLink((12,), **_GATEWAY, queue=_lanes(4) | _PRIORITY, discipline=None),
}


def quantities(run: xr.Dataset, link: CrowdedLink) -> list[float]:
    """What is compared, of one run of either, in the order of `QUANTITIES`.

    Parameters
    ----------
    run : Dataset
        Of `simulate` or `run_linux` on the link's scenario, with its sends.
    link : CrowdedLink
    """
    scenario = link.scenario({})
    law, silent = packets_in_epochs(run, link)
    slices = twenty_seconds(run)
    active = (slices > 0).mean(axis=1)
    gaps, users = hangs(run, scenario), hangs(pooled(run), scenario)
    capacity = link.rate / (8 * link.packet_size)
    measured = link.duration - link.warm_up
    return [
        run["dropped"].values.sum() / run["sent"].values.sum(), *law, *np.percentile(silent, (10, 90)),
        mean_jain(run["slice_goodput"].transpose("slice", "flow").values.astype(float)), mean_jain(slices),
        mean_jain(slices.sum(axis=0)[None]), 1.0 - active.mean(), active.max(), active.std(ddof=1),
        *(part_of_goodput(slices, *ends) for ends in PARTS),
        *(np.percentile(slices, GOODPUT_PERCENTS, axis=1).mean(axis=1) / slices.mean()),
        *np.percentile(gaps, HANG_PERCENTS), (gaps > 20).mean(), (gaps > 60).mean(), *np.percentile(users, (50, 90)),
        run["timeouts"].values.sum() / measured, float(run["goodput_packet_rate"].sum()) / capacity,
        round(float(run["link_utilisation"].values[0]), 4),
    ]  # fmt: skip


def packets_in_epochs(run: xr.Dataset, link: CrowdedLink) -> tuple[np.ndarray, np.ndarray]:
    """P(0, 1, ..., 6 or more packets sent in an epoch), and of each flow the share of its epochs without any."""
    times, flows = run["send_time"].values, run["send_flow"].values
    silent, counts = np.empty(link.flows), np.zeros(MOST_SENT + 1)
    for i, length in enumerate(link.epochs):
        number = int((link.duration - link.warm_up) / length + 1e-9)
        at = np.floor((times[flows == i] - link.warm_up) / length).astype(int)
        sent = np.bincount(at[(at >= 0) & (at < number)], minlength=number)
        silent[i] = (sent == 0).mean()
        counts += np.bincount(np.minimum(sent, MOST_SENT), minlength=MOST_SENT + 1)
    return counts / counts.sum(), silent


def twenty_seconds(run: xr.Dataset) -> np.ndarray:
    """(slice, flow) Segments of each flow in slices of 20 s, made of four of 5 s; a rest is left out.

    Examples
    --------
    >>> twenty_seconds(xr.Dataset({"slice_goodput": (("slice", "flow"), np.ones((9, 2)))})).tolist()
    [[4.0, 4.0], [4.0, 4.0]]
    """
    each = run["slice_goodput"].transpose("slice", "flow").values.astype(float)
    whole = each.shape[0] // 4
    summed: np.ndarray = each[: 4 * whole].reshape(whole, 4, -1).sum(axis=1)
    return summed


def hangs(run: xr.Dataset, scenario: Scenario) -> np.ndarray:
    """Of each flow, the longest time [s] after the warm-up in which it sent nothing.

    Examples
    --------
    >>> scenario = LINKS["1 Mbit/s, 40 flows"].scenario({})
    >>> sends = {"send_time": ("send", [20.0, 21.0, 50.0]), "send_flow": ("send", [0, 0, 1])}
    >>> hangs(xr.Dataset(sends, {"flow": [0, 1]}), scenario).tolist()
    [199.0, 170.0]
    """
    times, flows = run["send_time"].values, run["send_flow"].values
    out = np.empty(run.sizes["flow"])
    for i in range(len(out)):
        mine = times[(flows == i) & (times >= scenario.warm_up) & (times < scenario.duration)]
        out[i] = np.diff(np.concatenate([[scenario.warm_up], mine, [scenario.duration]])).max()
    return out


def part_of_goodput(goodputs: np.ndarray, first: float, last: float) -> float:
    """Share of a slice's goodput that flows between two places have, the richest first; the mean over slices.

    Examples
    --------
    >>> part_of_goodput(np.array([[1.0, 0.0, 3.0, 0.0]]), 0.0, 0.25)
    0.75
    """
    sorted_ = -np.sort(-goodputs, axis=1)
    n = sorted_.shape[1]
    part = sorted_[:, round(first * n) : round(last * n)].sum(axis=1)
    return float((part / sorted_.sum(axis=1)).mean())


def pooled(run: xr.Dataset) -> xr.Dataset:
    """The sends of a run with four neighbouring flows taken as one user; a rest is left out.

    Examples
    --------
    >>> sends = xr.Dataset({"send_time": ("send", [1.0]), "send_flow": ("send", [6])}, {"flow": range(9)})
    >>> pooled(sends).send_flow.values.tolist(), pooled(sends).sizes["flow"]
    ([1], 2)
    """
    users = run.sizes["flow"] // POOL
    sends = {"send_time": ("send", run["send_time"].values), "send_flow": ("send", run["send_flow"].values // POOL)}
    return xr.Dataset(sends, {"flow": np.arange(users)})
