"""What happens to one transfer when a packet or an acknowledgement is dropped?"""

from __future__ import annotations

from typing import Any

from .. import numbers_strip as numbers
from ..page import Choice, Control, Figure, Page, Preset, Values
from ..shown import shown

#: Segments and acknowledgements whose drops a digit says; of a segment the first two transmissions.
SEGMENTS, ACKS = 9, 18
#: Controls that are whole numbers.
WHOLE = ("segments", "window", "lost_data", "lost_acks")
#: How the numbers of an address name packets.
SUM = "a sum of 1 for the first, 2 for the second, 4 for the third and so on"
#: No choice of the page: controls that pictures move, and no slider.
BY_CLICK = ("by click",)


def _whole(name: str) -> Any:
    return lambda values: int(values[name])


def dataset(values: Values) -> Any:
    """Sends of both transfers."""
    counts = {name: int(values[name]) for name in WHOLE}
    return numbers.strip(rto=values["rto"], shown=values["shown"], **counts).to_xarray()


PAGE = Page(
    slug="strip",
    title="A strip of packets",
    question="What does one transfer do when a packet or an acknowledgement is dropped, with LEAP and without?",
    controls=(
        Control("window", "", "1", "first congestion window, in packets", 1, 8, 4, 1),
        Control("segments", "", "1", "packets to send", 4, SEGMENTS, 8, 1),
        Control("rto", "", "s", "minimum retransmission timeout (RTO)", 0.2, 1, 0.4, 0.01),
        Choice("shown", "", "senders", ("both", "without-LEAP", "with-LEAP")),
        Control("lost_data", "", "1", f"data packets to drop, {SUM}", 0, 2 ** (2 * SEGMENTS) - 1, 8, 1, only=BY_CLICK),
        Control("lost_acks", "", "1", f"acknowledgements to drop, {SUM}", 0, 2**ACKS - 1, 7, 1, only=BY_CLICK),
    ),
    figures=(
        Figure(
            "strip", "One transfer, packet by packet",
            "Each data packet and each acknowledgement of a transfer, without and with LEAP. Arrow keys go from packet "
            "to packet; Enter drops one.", "strip",
            shown(numbers.strip, "rto", "shown", **{name: _whole(name) for name in WHOLE}),
        ),
    ),
    printed=(),
    main=("window", "segments", "rto", "shown"),
    presets=(
        Preset("LEAP's Fig. 5: packet 4 and all ACKs dropped", {"lost_data": 8.0, "lost_acks": 7.0}),
        Preset("A wrong suspicion: all four packets dropped", {"lost_data": 15.0, "lost_acks": 0.0}),
        Preset("One ACK dropped: nothing happens", {"lost_data": 0.0, "lost_acks": 2.0}),
        Preset("Packet 2 of six dropped: fast retransmit", {"window": 6.0, "lost_data": 2.0, "lost_acks": 0.0}),
        Preset("Nothing is dropped", {"lost_data": 0.0, "lost_acks": 0.0}),
    ),
    dataset=dataset,
    notes=(
        "A link of 500 kbit/s and 50 ms each way, segments of 576 bytes, no delayed ACKs. The sender is Reno by the "
        "rules of the RFCs, with limited transmit; the page computes what the packet simulator computes.",
        "The first two transmissions of each packet, and the first 18 acknowledgements, can be dropped.",
    ),
)  # fmt: skip
