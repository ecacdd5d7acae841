"""Chosen drops of a scenario, and what a run writes down. Frozen, checked when made."""

from __future__ import annotations

from dataclasses import dataclass, fields

from tcpdynamics.errors import MAX_NAME, ScenarioError, check_name

from .fields import FORBID, check_keys, described, key, read_texts
from .flows import MAX_FLOWS

MAX_DROPS = 1000


@described
@dataclass(frozen=True)
class Drop:
    """Lose one chosen packet, next to any other loss; for experiments with a known answer.

    Give one of three: `segment` (and `transmission`) of a flow, `ack` of a flow, or `packet` of a `link`.

    Examples
    --------
    >>> Drop(segment=100).transmission
    1
    """

    flow: int = key(
        0, "Flow of the packet, from 0.", low=0, high=MAX_FLOWS, advice="flows are numbered from 0", whole=True
    )
    segment: int | None = key(
        None, "Segment to drop, from 0.", low=0, high=1e15, advice="segments are numbered from 0", whole=True
    )
    transmission: int = key(
        1, "Which transmission of that segment, from 1.",
        low=1, high=1e6, advice="transmissions are numbered from 1", whole=True,
    )  # fmt: skip
    ack: int | None = key(
        None, "Acknowledgement to drop, counted from 0 in the order of sending.",
        low=0, high=1e15, advice="acknowledgements are numbered from 0", whole=True,
    )  # fmt: skip
    link: str | None = key(
        None,
        'Where it is dropped, as "source->target", on arrival. Default: the slowest link of the flow\'s path there'
        " (`segment`) or back (`ack`), the first of equals.",
    )
    packet: int | None = key(
        None, "Packet to drop, counted from 0 in the order of arrival at `link`, of any flow and kind, as in ns-2's "
        "ErrorModel/List.",
        low=0, high=1e15, advice="packets are numbered from 0", whole=True,
    )  # fmt: skip

    __pydantic_config__ = FORBID

    def __post_init__(self) -> None:
        check_keys(self, "drops.")
        if sum(x is not None for x in (self.segment, self.ack, self.packet)) != 1:
            raise ScenarioError("drops needs exactly one of segment, ack and packet")
        if self.link is not None:
            check_name("drops.link", self.link, 2 * MAX_NAME + 2)
        if self.packet is not None:
            if self.link is None:
                raise ScenarioError('drops.packet needs drops.link, such as "r1->r2"')


def switched_off(key: str, value: object) -> bool:
    """Whether a value of `windows` or `queues` is a word for nothing: files know no None.

    >>> switched_off("windows", "off"), switched_off("windows", 0)
    (True, False)
    """
    return key in ("windows", "queues") and isinstance(value, str) and value in ("off", "none", "null")


@described
@dataclass(frozen=True)
class Record:
    """What to write down besides counters. Off, it costs nothing.

    Examples
    --------
    >>> Record(sends=True, windows=0.1).names
    ('sends', 'windows')
    """

    sends: bool = key(False, "Time, flow, segment and kind of each data packet sent.")
    receives: bool = key(False, "The same of each data packet received.")
    drops: bool = key(False, "The same of each data packet dropped, with the link.")
    windows: float | None = key(
        None, "Sampling interval [s] of cwnd, ssthresh, RTT, smoothed RTT, RTO, flight and state of each flow; 0: at "
        'every change; None, or "off": not recorded.',
        unit="s", low=0.0, high=1e9, advice="give seconds; 0 for every change",
    )  # fmt: skip
    queues: float | None = key(
        None, 'Sampling interval [s] of the packets and bytes in each queue; 0: at every arrival; None, or "off": not '
        "recorded.",
        unit="s", low=0.0, high=1e9, advice="give seconds; 0 for every change",
    )  # fmt: skip

    __pydantic_config__ = FORBID

    def __post_init__(self) -> None:
        for name in ("windows", "queues"):
            if switched_off(name, getattr(self, name)):
                object.__setattr__(self, name, None)
        read_texts(self, "record.")
        check_keys(self, "record.")

    @property
    def anything(self) -> bool:
        """Whether anything is to be written down."""
        return bool(self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """What is to be written down."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return tuple(name for name, value in values.items() if value is not None and value is not False)
