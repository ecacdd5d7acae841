"""Chosen drops of a scenario, and what a run writes down. Frozen, checked when made."""

from __future__ import annotations

from dataclasses import dataclass, fields

from tcpdynamics.errors import MAX_NAME, ScenarioError, check, check_name

from .fields import FORBID, in_unit, read_texts, truth
from .flows import MAX_FLOWS

MAX_DROPS = 1000


@dataclass(frozen=True)
class Drop:
    """Lose one chosen packet, next to any other loss; for experiments with a known answer.

    Give one of three: `segment` (and `transmission`) of a flow, `ack` of a flow, or `packet` of a `link`.

    Attributes
    ----------
    flow : int
        Whose packet is lost, from 0.
    segment : int
        The segment whose transmission is lost, from 0.
    transmission : int
        Which transmission of that segment, from 1.
    ack : int
        The `ack`-th acknowledgement (from 0) that the flow's receiver sends.
    link : str
        Where it is lost, as "source->target", on arrival. Default: the slowest link of the flow's way there
        (`segment`) or back (`ack`), the first of equals.
    packet : int
        The `packet`-th packet (from 0) that arrives at `link`, of any flow and kind; as ns-2's
        ErrorModel/List on that link.

    Examples
    --------
    >>> Drop(segment=100).transmission
    1
    """

    flow: int = 0
    segment: int | None = None
    transmission: int = 1
    ack: int | None = None
    link: str | None = None
    packet: int | None = None

    __pydantic_config__ = FORBID

    def __post_init__(self) -> None:
        check("drops.flow", self.flow, 0, MAX_FLOWS, "flows are numbered from 0", whole=True)
        if sum(x is not None for x in (self.segment, self.ack, self.packet)) != 1:
            raise ScenarioError("drops needs exactly one of segment, ack and packet")
        if self.segment is not None:
            check("drops.segment", self.segment, 0, 1e15, "segments are numbered from 0", whole=True)
        check(
            "drops.transmission", self.transmission, 1, 1e6, "transmissions are numbered from 1", whole=True
        )
        if self.ack is not None:
            check("drops.ack", self.ack, 0, 1e15, "acknowledgements are numbered from 0", whole=True)
        if self.packet is not None:
            check("drops.packet", self.packet, 0, 1e15, "packets are numbered from 0", whole=True)
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


@dataclass(frozen=True)
class Record:
    """What to write down besides counters. Off, it costs nothing.

    Attributes
    ----------
    sends, receives, drops : bool
        Time, flow, segment and kind of each data packet sent, received, lost (with the link).
    windows : float or None
        cwnd, ssthresh, RTT, smoothed RTT, RTO, flight and state of each flow every so many seconds; 0: whenever
        they may have changed; None, or the text "off": not at all.
    queues : float or None
        Packets and bytes in each link's queue, every so many seconds; 0: at each arrival; None or "off": not at all.

    Examples
    --------
    >>> Record(sends=True, windows=0.1).names
    ('sends', 'windows')
    """

    sends: bool = False
    receives: bool = False
    drops: bool = False
    windows: float | None = in_unit("s", default=None)
    queues: float | None = in_unit("s", default=None)

    __pydantic_config__ = FORBID

    def __post_init__(self) -> None:
        for key in ("windows", "queues"):
            if switched_off(key, getattr(self, key)):
                object.__setattr__(self, key, None)
        read_texts(self, "record.")
        for key in ("sends", "receives", "drops"):
            truth(f"record.{key}", getattr(self, key))
        for key in ("windows", "queues"):
            if getattr(self, key) is not None:
                check(f"record.{key}", getattr(self, key), 0.0, 1e9, "give seconds; 0 for every change")

    @property
    def anything(self) -> bool:
        """Whether anything is to be written down."""
        return bool(self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """What is to be written down."""
        kept = {f.name: getattr(self, f.name) for f in fields(self)}
        return tuple(name for name, value in kept.items() if value is not None and value is not False)
