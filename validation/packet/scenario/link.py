"""Links of a scenario: between two nodes, or the one bottleneck of a dumbbell. Frozen, checked when made."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

from tcpdynamics.errors import ScenarioError, check, check_name, shown

from ..kernel.queues import DISCIPLINES
from .fields import FORBID, in_unit, one_of, read_texts, truth

MAX_LINKS = 1_000_000


MAX_BUFFER = 10_000_000


#: Rate [bit/s] of an infinitely fast link in ns-2, and here with plain doubles as times: 1500 bytes take 12 ns.
FAST = 1e12


@dataclass(frozen=True)
class Link:
    """A link between two nodes, in both directions unless `duplex` is false.

    Attributes
    ----------
    source, target : str
        Names of the nodes that it joins.
    rate : float or None
        Line rate [bit/s], > 0. None: infinitely fast, so nothing ever waits or is refused there.
    delay : float
        Propagation time [s], >= 0.
    buffer : int or None
        Most packets held, *including* the one being sent (ns-2.35's `queue-limit`; ns-2 itself needs 2 or more).
        None: no limit.
    buffer_bytes : int or None
        Limit in bytes instead: a packet is refused if the bytes waiting (without the packet being sent) plus its
        own reach it, as ns-2.35 does with `queue_in_bytes_`.
    discipline : {"droptail"}
        What happens to a packet that finds no room.
    service : {"auto", "analytic", "served"}
        How the queue is computed. Analytic: departures are known on arrival, one event per packet, for FIFO
        only. Served: an event at each end of a transmission, as disciplines that reorder need and as ns-2
        works. Both give the same packets; only exact ties differ (analytic lets the departure go first, served
        takes events in the order in which they were scheduled). Auto: served for a single flow, else analytic.
        A link without a limit whose queue is recorded is served.
    loss : float
        Probability [1], in [0, 1), with which each arriving packet is lost independently, before it meets the
        queue; acknowledgements too.
    jitter : float
        Each packet is delayed further by a uniform draw in [0, jitter] [s] before the queue, without overtaking
        within its flow.
    duplex : bool
        Also make the link from `target` to `source`, with the same properties and a queue of its own.

    Raises
    ------
    ScenarioError
        A value out of bounds, or text with a unit that is not known.

    Examples
    --------
    >>> Link("sender", "router", rate="10Mbit/s", delay="5ms", buffer=50).rate
    10000000.0
    """

    source: str
    target: str
    rate: float | None = in_unit("bit/s", default=1e6)
    delay: float = in_unit("s", default=0.01)
    buffer: int | None = None
    buffer_bytes: int | None = None
    discipline: str = "droptail"
    service: Literal["auto", "analytic", "served"] = "auto"
    loss: float = in_unit("1", default=0.0)
    jitter: float = in_unit("s", default=0.0)
    duplex: bool = True

    __pydantic_config__ = FORBID

    def __post_init__(self) -> None:
        read_texts(self, "links.")
        for key, name in (("source", self.source), ("target", self.target)):
            check_name(f"links.{key}", name)
            if "->" in name:
                raise ScenarioError(f"links.{key} must be a node's name without '->', got {shown(name)}")
        if self.source == self.target:
            raise ScenarioError(f"links.target must differ from links.source = {shown(self.source)}")
        at = f" of link {self.name}"
        if self.rate is not None:
            check("links.rate" + at, self.rate, 1.0, 1e13, 'give bit/s, or text such as "1Mbit/s"')
        check("links.delay" + at, self.delay, 0.0, 1e3, 'give seconds, or text such as "10ms"')
        if self.buffer is not None:
            check(
                "links.buffer" + at,
                self.buffer,
                1,
                MAX_BUFFER,
                "count packets; leave out for no limit",
                whole=True,
            )
        if self.buffer_bytes is not None:
            check(
                "links.buffer_bytes" + at,
                self.buffer_bytes,
                1,
                1e10,
                "count bytes; leave out for no limit",
                whole=True,
            )
            if self.buffer is not None:
                raise ScenarioError(f"links.buffer and links.buffer_bytes{at} are both given; give one")
        one_of("links.discipline" + at, self.discipline, tuple(DISCIPLINES))
        one_of("links.service" + at, self.service, ("auto", "analytic", "served"))
        check("links.loss" + at, self.loss, 0.0, 0.999, "a probability; divide per cent by 100")
        check("links.jitter" + at, self.jitter, 0.0, 1e3, "give seconds")
        truth("links.duplex" + at, self.duplex)

    @property
    def name(self) -> str:
        """`source->target`, the name in results."""
        return f"{self.source}->{self.target}"

    def backward(self) -> Link:
        """The same link the other way."""
        return dataclasses.replace(self, source=self.target, target=self.source)


@dataclass(frozen=True)
class Bottleneck:
    """The one link of a dumbbell where packets wait and are lost; everything else is pure delay.

    A shorthand for scenarios without `links`: each flow then has its own `rtt`, a quarter of it before the
    bottleneck, a quarter after it, half on the way back, and acknowledgements neither wait nor get lost.

    Attributes
    ----------
    rate : float
        Line rate [bit/s], > 0.
    buffer : int or None
        Most packets held, *including* the one being sent. None: no limit.
    loss : float
        Probability [1], in [0, 1), with which each packet is lost independently, before it meets the queue.

    Raises
    ------
    ScenarioError
        As for `Link`.

    Examples
    --------
    >>> Bottleneck(rate="10Mbit/s", buffer=50).rate
    10000000.0
    """

    rate: float = in_unit("bit/s", default=1e6)
    buffer: int | None = None
    loss: float = in_unit("1", default=0.0)

    __pydantic_config__ = FORBID

    def __post_init__(self) -> None:
        read_texts(self, "bottleneck.")
        check("bottleneck.rate", self.rate, 1.0, 1e13, 'give bit/s, or text such as "1Mbit/s"')
        if self.buffer is not None:
            check(
                "bottleneck.buffer",
                self.buffer,
                1,
                MAX_BUFFER,
                "count packets; leave out for no limit",
                whole=True,
            )
        check("bottleneck.loss", self.loss, 0.0, 0.999, "a probability; divide per cent by 100")
