"""Links of a scenario: between two nodes, or the one bottleneck of a dumbbell. Frozen, checked when made."""

from __future__ import annotations

import dataclasses
from dataclasses import InitVar, dataclass, field
from typing import Literal

from tcpdynamics.errors import ScenarioError, check, check_name, shown

from ..kernel.parameters import read_parameters
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
    queue : {"droptail", "red", "sfq", "drr", "codel", "fq_codel", "pie", "priority", "step", "proportional"}
        The discipline: whom the queue refuses, and whom it sends next; docs/queues.md tells each. (`discipline`, its
        earlier name, is understood too.)
    queue_parameters : mapping of a name to a number
        What the discipline is set to, such as `{"min_threshold": 5}`; defaults stand in docs/queues.md.
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
    queue: str = "droptail"
    queue_parameters: dict[str, float | str] = field(default_factory=dict)
    service: Literal["auto", "analytic", "served"] = "auto"
    loss: float = in_unit("1", default=0.0)
    jitter: float = in_unit("s", default=0.0)
    duplex: bool = True
    discipline: InitVar[str | None] = None

    __pydantic_config__ = FORBID

    def __post_init__(self, discipline: str | None) -> None:
        if discipline is not None:
            object.__setattr__(self, "queue", discipline)
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
        _check_queue(self, "links", at)
        one_of("links.service" + at, self.service, ("auto", "analytic", "served"))
        check("links.loss" + at, self.loss, 0.0, 0.999, "a probability; divide per cent by 100")
        check("links.jitter" + at, self.jitter, 0.0, 1e3, "give seconds")
        truth("links.duplex" + at, self.duplex)

    @property
    def needs_service(self) -> bool:
        """Whether an event at each end of a transmission is asked for, or needed by the discipline."""
        return self.service == "served" or self.queue != "droptail"

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
    queue : {"droptail", "red", "sfq", "drr", "codel", "fq_codel", "pie", "priority", "step", "proportional"}
        The discipline, as of a `Link`.
    queue_parameters : mapping of a name to a number
        What the discipline is set to, as of a `Link`.

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
    queue: str = "droptail"
    queue_parameters: dict[str, float | str] = field(default_factory=dict)

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
        _check_queue(self, "bottleneck")

    def as_link(self, source: str, target: str) -> Link:
        """The same between two nodes, one way and without delay."""
        queue = {"queue": self.queue, "queue_parameters": self.queue_parameters}
        return Link(source, target, self.rate, 0.0, self.buffer, loss=self.loss, duplex=False, **queue)  # type: ignore[arg-type]


def _check_queue(link: Link | Bottleneck, key: str, at: str = "") -> None:
    """Refuse a discipline that is not known, or whose parameters are impossible."""
    one_of(f"{key}.queue{at}", link.queue, tuple(DISCIPLINES))
    read_parameters(
        DISCIPLINES[link.queue], link.queue_parameters, f"{key}.queue_parameters", f'queue "{link.queue}"{at}'
    )
    if link.queue == "droptail":
        return
    if link.rate is None:
        raise ScenarioError(
            f'{key}.queue{at} is "{link.queue}", but without a rate no packet waits; give {key}.rate'
        )
    if isinstance(link, Link) and link.service == "analytic":
        raise ScenarioError(
            f'{key}.service{at} must not be "analytic" with queue "{link.queue}"; leave it out'
        )
