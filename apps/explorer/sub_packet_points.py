"""What was measured beside the sub-packet chains: recorded packets, ns-2 and Linux, with intervals.

`sub_packet_points.json` has our packets of Fig. 9 on three kinds of link; `python -m` with this module's name makes it
again, in ten minutes. ns-2 and Linux come from the records of the comparisons.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from tcpdynamics.validation.comparisons import LinuxSubPacket, SubPacketChainVsPackets
from tcpdynamics.validation.comparisons.crowded_links import LAW, LINKS
from tcpdynamics.validation.comparisons.packets_vs_ns2 import PacketsVsNs2
from tcpdynamics.validation.packet import replicate

from .recorded import ends

RECORD = "sub_packet_points.json"
#: Digits of a number that is recorded.
DIGITS = 6
#: Kind of link -> what the page calls it.
PACKETS = {
    "drop-tail": "packets, equal RTTs", "spread": "packets, RTTs 5 % apart", "independent": "packets, random drops",
}  # fmt: skip
#: Choice of the page -> what is measured, each in its own series.
GROUPS = {
    "rtts-5-percent-apart": ("packets, RTTs 5 % apart",),
    "equal-rtts": ("packets, equal RTTs",),
    "random-drops": ("packets, random drops",),
    "ns-2": ("ns-2, RTTs 5 % apart", "ns-2, random delays"),
    "linux": ("Linux 7.2, CUBIC", "Linux 7.2, Reno", "Linux 7.2, BBR"),
}
#: Of Linux, what its record calls them.
ON_RECORD = {name: name.replace("Linux 7.2", "Linux as it comes") for name in GROUPS["linux"]}
#: ns-2's case of 100 flows -> its series.
ON_NS2 = {"dumbbell_spread": "ns-2, RTTs 5 % apart", "dumbbell_overhead": "ns-2, random delays"}
#: Links of Fig. 9 that Linux was run on.
ON_LINUX = {name: link for name, link in LINKS.items() if 9 in link.figures}


@cache
def points() -> dict[str, list[dict[str, Any]]]:
    """Series -> its loads: flows; loss, goodput [packet per RTT] and P(n packets sent in a round trip), with intervals.

    Of our packets also `again`, the loss of what a timer sent again over that of all, and `timeout`, the first [RTT].
    """
    text = resources.files(__package__).joinpath(RECORD).read_text(encoding="utf-8")
    return json.loads(text)["points"] | _ns2() | _linux()  # type: ignore[no-any-return]


def _ns2() -> dict[str, list[dict[str, Any]]]:
    study, out = PacketsVsNs2(cases=tuple(ON_NS2)), dict[str, list[dict[str, Any]]]()
    for case, name in ON_NS2.items():
        cell = study.cells()[case, "theirs"]
        runs, count = study.gathered(study.recorded(cell)), cell.scenario.count
        columns = {str(quantity): runs.sel(quantity=quantity).values for quantity in runs["quantity"].values}
        goodput = columns["goodput"] * float(cell.scenario.epoch) / count
        sent = [columns[f"P({n} sent)"] for n in range(4)]  # what is beyond is recorded as one number
        out[name] = [_load(count, columns["loss rate"], goodput, sent)]
    return out


def _linux() -> dict[str, list[dict[str, Any]]]:
    study, out = LinuxSubPacket(links=tuple(ON_LINUX)), dict[str, list[dict[str, Any]]]()
    cells = study.cells()
    for sender in GROUPS["linux"]:
        out[sender] = []
        for name, link in ON_LINUX.items():
            runs = study.gathered(study.recorded(cells[name, ON_RECORD[sender]]))
            packets = link.rate / (8 * link.packet_size) * float(link.epochs.mean()) / link.flows
            of = {
                quantity: runs.sel(quantity=quantity).values for quantity in ("loss rate", "goodput of the link", *LAW)
            }
            sent = [of[quantity] for quantity in LAW]
            out[sender].append(_load(link.flows, of["loss rate"], packets * of["goodput of the link"], sent))
    return out


def _load(flows: int, loss: Any, goodput: Any, sent: Iterable[Any]) -> dict[str, Any]:
    of_law = [ends(values, DIGITS) for values in sent]
    return {"flows": flows, "loss": ends(loss, DIGITS), "goodput": ends(goodput, DIGITS, False), "sent": of_law}


def record(**settings: Any) -> dict[str, Any]:
    """Simulate the loads of Fig. 9; what the file is to hold."""
    comparison = SubPacketChainVsPackets(**settings)
    out: dict[str, list[dict[str, Any]]] = {name: [] for name in PACKETS.values()}
    for flows in comparison.flows:
        queue = replicate(comparison.scenario("drop-tail", flows), comparison.replications)
        for link, name in PACKETS.items():
            runs = (
                queue
                if link == "drop-tail"
                else replicate(comparison.scenario(link, flows, queue), comparison.replications)
            )
            share = runs.epoch_fraction.values
            sent = np.concatenate([share[:, :6], share[:, 6:].sum(axis=1, keepdims=True)], axis=1)
            goodput = (runs.goodput_packet_rate * runs.mean_rtt).mean("flow").values
            load = _load(flows, runs.loss_rate.values, goodput, sent.T)
            load["again"] = ends((runs.loss_rate_timeout / runs.loss_rate).values, DIGITS, False)
            load["timeout"] = ends(runs.rto_over_rtt.values, DIGITS, False)
            out[name].append(load)
    return {"comparison": comparison.attributes(), "points": out}


if __name__ == "__main__":
    print(json.dumps(record(), indent=1))
