"""What happens on a link that users share?"""

from __future__ import annotations

from typing import Any

from .. import link_records, my_link_runs
from .. import numbers_my_link as numbers
from ..jobs import JobKind
from ..page import Choice, Control, Figure, Page, Preset, Printed, Values
from ..shown import shown
from ..sub_packet_chains import event_program

FIELDS = ("rate", "base_rtt", "buffer", "packet_size")
#: Disciplines of the packet simulator that its form, or a record, has here; the chain's is the first.
QUEUES = {
    "droptail": "a full queue drops what arrives", "codel": "CoDel: drops by waiting time",
    "fq_codel": "FQ-CoDel: a lane for each user, CoDel in each", "sfq": "SFQ: lanes served in turn",
}  # fmt: skip
SENDERS = {
    "linux-reno": "Reno as Linux has it, with SACK", "linux-cubic": "CUBIC, Linux's default",
    "linux-bbr": "BBR, recorded with Linux only", "rfc-reno": "Reno by the RFCs, with SACK",
}  # fmt: skip
#: The link of the paper.
VILLAGE = link_records.LINK | {"users": 100}
#: Senders whose windows the chain describes.
OF_CHAIN = ("linux-reno", "rfc-reno")


def covered(values: Values) -> bool:
    """Whether the chain has this sender and this queue."""
    return values["sender"] in OF_CHAIN and values["queue"] == "droptail"


def facts(whole: bool = False) -> dict[str, Any]:
    """What Linux and stacks gave, and what the script computes with."""
    record = {name: link_records.recorded()[name] for name in ("points", "kernel", "packets", "today")}
    return numbers.CONSTANTS | record | {"of_chain": OF_CHAIN, "users": numbers.USERS, "village": link_records.LINK}


def dataset(values: Values) -> Any:
    """The chain's fractions against the number of users."""
    return (
        numbers.along(covered=covered(values), **{name: values[name] for name in FIELDS}).set_index("users").to_xarray()
    )


PAGE = Page(
    slug="my-link",
    title="My link",
    question="What happens on a link that users share?",
    controls=(
        Control("rate", "C", "Mbit/s", "rate", 0.1, 100, 20, 0.01, log=True),
        Control("base_rtt", "R_0", "ms", "round trip without queue", 10, 1000, 40, 0.1, log=True),
        Control("buffer", "B", "packet", "buffer", 5, 2000, 67, 1, log=True),
        Control("users", "N", "1", "users", 1, 1000, 60, 1, log=True),
        Control("packet_size", "S", "byte", "packet size", 100, 1514, 1500, 1),
        Choice("sender", "", "congestion control", tuple(SENDERS), SENDERS),
        Choice("queue", "", "queue discipline", tuple(QUEUES), QUEUES),
    ),
    figures=(
        Figure(
            "results", "By the chain, by packets, by Linux and by other stacks",
            "Numbers: loss, silence, fairness, users with nothing and waiting time, by each method",
            "methods", shown(numbers.results, "users", *FIELDS, covered=covered), slow=my_link_runs.code,
        ),
        Figure(
            "users",
            "Packets lost, time silent and users who get nothing, as users are added: curves by the chain, points by "
            "packets, rings by Linux",
            "Loss, time silent and users with nothing, against users; curves: chain, points: packets, rings: Linux",
            code=shown(numbers.along, *FIELDS, covered=covered),
            slow=lambda values: "\n# This gives the curves. Points by packets are a record too." + my_link_runs.RECORDS,
        ),
    ),
    printed=(Printed("chain", (), lambda values: event_program(numbers.CHAIN, False)),),
    dataset=dataset,
    facts=facts,
    answers={"cost": my_link_runs.cost},
    jobs=(JobKind("my-link-packets", my_link_runs.read, my_link_runs.run),),
    served=("packets at this point",),
    presets=(
        Preset("home line: 20 Mbit/s, 40 ms, 60 users", {}),
        Preset("office: 50 Mbit/s, 30 ms, 300 users", {"rate": 50, "base_rtt": 30, "buffer": 125, "users": 300}),
        Preset("satellite: 10 Mbit/s, 600 ms, 200 users", {"rate": 10, "base_rtt": 600, "buffer": 500, "users": 200}),
        Preset("the paper's village on 1 Mbit/s, 500-byte packets", VILLAGE),
        Preset("the same village with CUBIC", VILLAGE | {"sender": "linux-cubic"}),
        Preset("two QUIC users on 10 Mbit/s", {"rate": 10, "buffer": 66, "users": 2, "packet_size": 1514}),
    ),
    menu=True,
    notes=(
        "Chain: the exact sub-packet chain of Chen et al. with windows up to 12 packets. The buffer is always full; "
        "the loss is the one at which each user gets an equal part. Losses are independent of each other. The first "
        "timeout lasts a round trip and 200 ms, in whole round trips, and at least two.",
        "Packets: eight runs of this project's packet simulator, means with 95 % intervals. Acknowledgements have a "
        "random delay of up to the sending time of a packet, as in the comparison with Linux.",
        "Linux and stacks: recorded runs with 95 % intervals. A record counts as near where rate, round trip, buffer, "
        "users and packet size each differ by a quarter at most.",
        "Silent: a round trip in which a user sends no packet. Fairness: Jain's index of what users get in 20 s; it is "
        "1 where all get the same, and 1/n where one of n users gets everything.",
    ),
)  # fmt: skip
