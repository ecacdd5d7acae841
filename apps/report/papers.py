"""The table of the report's sections that are made in a process of their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from . import in_packets, linux, linux_sub_packet, retransmissions, sender_chain, stability
from .sections import Section
from .steps import Tell

#: Anchor -> what makes a section on a mechanism of the papers; a quick report leaves them out.
SECTIONS: dict[str, Callable[[Tell], Section]] = {
    **{name: partial(in_packets.section, name) for name in in_packets.SECTIONS},
    "retransmissions": retransmissions.section, "sender_chain": sender_chain.section, "linux": linux.section,
    "linux_sub_packet": linux_sub_packet.section,
}  # fmt: skip


def sections(quick: bool, tell: Tell) -> dict[str, Section]:
    """Solve equations, and simulate what is short, one after the other."""
    motion = stability.sections(quick, tell)
    return motion if quick else motion | {name: section(tell) for name, section in SECTIONS.items()}
