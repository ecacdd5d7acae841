"""The report's sections on models of the papers beside packets: a line in the table makes one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tcpdynamics.validation import comparisons
from tcpdynamics.validation.comparisons.comparison import Verdict
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
        "LEAP sends a new segment when a timer expires without duplicate ACKs. Single transfers on a path that loses "
        "data and ACKs alike are compared with closed forms for a window of one. The paper's star of three nodes is "
        "compared with the share of transfers that a full link can finish.",
        {"senders": ("reno",), "duration": 1200.0},
    ),
    "logistic_packets": About(
        "logistic control", "LotkaVolterraVsPackets", "lotka-volterra-packets",
        "Senders apply the models' formula on the paper's network. The link reports the available bandwidth once per "
        "round trip: its rate less the others' throughput, or less their windows over their base RTTs.",
    ),
    "mtcp": About(
        "M/TCP", "MtcpVsPackets", "mtcp",
        "M/TCP sends one stream over several routes, each with its own window. It sends ACKs over a random route, over "
        "each route, or for every second segment over each. The paper does not say clearly what clears a route's list "
        "of unacknowledged segments: cumulative ACKs too, or only the replies to its segments.",
    ),
    "routers": About(
        "T-REFWA's router", "TRefwaVsPackets", "t-refwa-packets",
        "A T-REFWA router reads RTT codes in passing packets and writes windows into ACKs. The mean queue and the "
        "alternations of commands are in units of the buffer.",
    ),
    "priority": About(
        "priority of retransmissions", "RetransmissionPriorityVsPackets", "retransmission-priority",
        "A gateway keeps and sends retransmissions first (section 6.2 and Fig. 12: 1 Mbit/s, 200 ms, 25 packets). "
        "Split: 5 of the places are theirs, as in the paper. Shared: a retransmission replaces a new packet. The chain "
        "has the measured losses, or those consistent with the link.",
    ),
}  # fmt: skip


def section(name: str, tell: Tell) -> Section:
    """Simulate and compare."""
    about = SECTIONS[name]
    kind: type[ModelsVsPackets] = getattr(comparisons, about.comparison)
    comparison = kind(**kind.quick | about.settings)
    with step(about.step, tell):
        result = comparison.run()
    rows = table(result)
    agree = sum(row["verdict"] == Verdict.AGREES for row in rows)
    return section_of(
        "in_packets", about.title[0].upper() + about.title[1:],
        f"Packets agree with the models in {agree} of {len(rows)} quantities.", {name: kind.figure(result)},
        anchor=name, about=about, rows=rows, paragraph=kind.paragraph(result),
    )  # fmt: skip
