"""The report's sections on models of the papers beside packets: a line in the table makes one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tcpdynamics.validation import comparisons
from tcpdynamics.validation.comparisons.models_vs_packets import ModelsVsPackets, table

from .sections import Section, section_of
from .steps import Tell, step


@dataclass(frozen=True)
class About:
    """What a section shows.

    Attributes
    ----------
    title, step : str      Of the section, and of its line of progress.
    comparison : str       Class of `validation.comparisons`.
    command : str          After `tcpdynamics validate`.
    words : str            What is compared.
    settings : dict        Where they are not those of a quick comparison.
    """

    title: str
    comparison: str
    command: str
    words: str
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def step(self) -> str:
        return f"comparing {self.title} with its models"


#: Anchor -> what the section shows.
SECTIONS = {
    "leap": About(
        "LEAP", "LeapVsPackets", "leap",
        "LEAP (Chen, Subramanian, Iyengar and Ford) sends a new segment where a timer expires without duplicates. "
        "Transfers alone on a path that loses data and acknowledgements alike, beside closed forms for a window of "
        "one; and the paper's star of three nodes, beside the share that a full link can finish.",
        {"senders": ("reno",), "duration": 1200.0},
    ),
    "logistic_packets": About(
        "logistic control", "LotkaVolterraVsPackets", "lotka-volterra-packets",
        "Senders whose acknowledgements apply the models' own formula, on the paper's network (Iguchi, Hasegawa and "
        "Murata). The available bandwidth is what the link says: its rate less the others' throughput, or less their "
        "windows over their base round-trip times, once a round trip.",
    ),
    "mtcp": About(
        "M/TCP", "MtcpVsPackets", "mtcp",
        "M/TCP (Rojviboonchai and Aida) sends one stream over several routes, each with a window of its own, and "
        "acknowledges over a random route, over each route, or every second segment over each. What clears a route's "
        "list of unacknowledged segments the paper does not say clearly: cumulative acknowledgements too, or the "
        "replies to its segments only.",
    ),
    "routers": About(
        "T-REFWA's router", "TRefwaVsPackets", "t-refwa-packets",
        "A T-REFWA router (Taleb, Nishiyama, Jamalipour, Kato and Nemoto) reads codes of round-trip times in passing "
        "packets and writes windows into acknowledgements. The mean queue and alternations of commands are in units of "
        "the buffer.",
    ),
    "priority": About(
        "priority of retransmissions", "RetransmissionPriorityVsPackets", "retransmission-priority",
        "A gateway that keeps and sends retransmissions first (section 6.2, Fig. 12 of Chen and others: 1 Mbit/s, "
        "200 ms, 25 packets). Split: 5 of the places are theirs, as in the paper. Shared: a retransmission takes the "
        "place of a new packet. The chain has the losses that were measured, or those that are consistent with the "
        "link.",
    ),
}  # fmt: skip


def section(name: str, tell: Tell) -> Section:
    """Simulate and compare."""
    about = SECTIONS[name]
    kind: type[ModelsVsPackets] = getattr(comparisons, about.comparison)
    comparison = kind(**kind.quick | about.settings)
    with step(about.step, tell):
        result = comparison.run()
    return section_of(
        "in_packets", about.title[0].upper() + about.title[1:], kind.paragraph(result), {name: kind.figure(result)},
        anchor=name, about=about, rows=table(result),
    )  # fmt: skip
