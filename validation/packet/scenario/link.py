"""Links of a scenario: between two nodes, or the one bottleneck of a dumbbell. Frozen, checked when made."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any, Literal

from tcpdynamics.errors import ScenarioError, check, check_name, shown

from ..kernel.parameters import read_parameters
from ..kernel.queues import BEHIND_PRIORITY, DISCIPLINES, PRIORITIES
from ..kernel.routers import ROUTERS
from .course import Changes, read_changes
from .fields import FORBID, in_unit, one_of, read_texts, truth
from .losses import read_loss

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
        takes events in the order in which they were scheduled). Auto: served with the double clock
        (by default for a single flow, and where all flows follow ns-2's rules), else analytic.
        A link without a limit whose queue is recorded is served.
    loss : float or mapping
        Probability [1], in [0, 1), with which each arriving packet is lost independently, before it meets the
        queue; acknowledgements too. Or a model with its parameters, such as
        `{"model": "gilbert-elliott", "p": 0.01, "r": 0.3}`: see docs/links.md. Each direction has a state of its own.
    jitter : float
        Each packet is delayed further by a uniform draw in [0, jitter] [s] before the queue, without overtaking
        within its flow unless `reorder` is set.
    duplex : bool
        Also make the link from `target` to `source`, with the same properties and a queue of its own.
    ack_loss : float, mapping or None
        The same of acknowledgements, in place of `loss`, which is then of data alone. None: as `loss`.
    reorder : bool
        Whether packets may overtake each other on the link: those with less jitter, or sent after the delay has
        fallen.
    priority : {"none", "retransmissions"}
        Retransmissions: they have a list of their own, which is sent before new data, whose queue is `queue`,
        "droptail" or "sfq" (docs/queues.md). The `priority` of flows is another thing, for the queue "priority".
    priority_buffer : int or None
        Of `buffer`, places that retransmissions have to themselves; new data has the rest. None: the buffer is shared,
        and a retransmission takes the place of the newest packet of new data where it is full.
    changes : tuple of (time, rate) or (time, rate, delay)
        Rate [bit/s] and delay [s] from that time [s] on; before the first they are `rate` and `delay`. Rate 0 is an
        outage: packets wait. Without a delay in its row, that of the row before holds on.
    changes_by : {"packet", "bit"}
        Packet: one that is being sent finishes at the rate at which it began, as in ns-2. Bit: each bit is sent at the
        rate of its moment, so that a packet may be sent at several.
    router : {"none", "t_refwa"}
        Who reads and writes the headers of the packets that join the link's queue, and of the acknowledgements that
        come back over the same link the other way, as all flows' that pass it must; see docs/links.md.
    router_parameters : mapping of a name to a number
        What the router is set to, such as `{"phi": 1}`.

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
    buffer_bytes: int | None = in_unit("B", default=None)
    queue: str = "droptail"
    queue_parameters: dict[str, bool | float | str] = field(default_factory=dict)
    service: Literal["auto", "analytic", "served"] = "auto"
    loss: float | dict[str, bool | float | str] = field(default=0.0, metadata={"unit": "1"})
    jitter: float = in_unit("s", default=0.0)
    duplex: bool = True
    ack_loss: float | dict[str, bool | float | str] | None = field(default=None, metadata={"unit": "1"})
    reorder: bool = False
    changes: tuple[tuple[float | str, ...], ...] = ()
    changes_by: Literal["packet", "bit"] = "packet"
    router: str = "none"
    router_parameters: dict[str, bool | float | str] = field(default_factory=dict)
    priority: Literal["none", "retransmissions"] = "none"
    priority_buffer: int | None = None
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
        _check_buffer(self, "links", at)
        _check_queue(self, "links", at)
        one_of("links.service" + at, self.service, ("auto", "analytic", "served"))
        _check_losses(self, "links", at)
        check("links.jitter" + at, self.jitter, 0.0, 1e3, "give seconds")
        _check_changes(self, "links", self.delay, at)
        self._check_router(at)
        truth("links.duplex" + at, self.duplex)

    def _check_router(self, at: str) -> None:
        """Refuse a router that is not known, or whose link has no queue or an endless one."""
        one_of(f"links.router{at}", self.router, ("none", *ROUTERS))
        what = f'router "{self.router}"{at}'
        read_parameters(ROUTERS.get(self.router), self.router_parameters, "links.router_parameters", what)
        if self.router == "none":
            return
        if self.rate is None:
            raise ScenarioError(
                f'links.router{at} is "{self.router}", but without a rate no packet waits; give links.rate'
            )
        if self.buffer is None and self.buffer_bytes is None:
            raise ScenarioError(
                f'links.router{at} is "{self.router}", which shares the buffer out; give links.buffer'
            )

    @property
    def needs_service(self) -> bool:
        """Whether an event at each end of a transmission is asked for, or needed by the discipline."""
        return self.service == "served" or self.mechanism != "droptail" or bool(self.changes)

    @property
    def mechanism(self) -> str:
        """What decides whom the link refuses and sends next: its priority, or else its queue."""
        return self.queue if self.priority == "none" else self.priority

    @property
    def loses(self) -> bool:
        """Whether packets are lost there by chance."""
        return bool(self.loss) or bool(self.ack_loss)

    @property
    def loses_alike(self) -> bool:
        """Whether all packets are lost independently, with one probability."""
        return not isinstance(self.loss, Mapping) and self.ack_loss is None

    @property
    def course(self) -> Changes:
        """(time, rate, delay) from time 0 on."""
        later: Any = self.changes
        assert self.rate is not None
        return later if later and later[0][0] == 0.0 else ((0.0, self.rate, self.delay), *later)

    @property
    def fastest(self) -> float:
        """The greatest rate that it ever has [bit/s]."""
        if not self.changes:
            return math.inf if self.rate is None else self.rate
        return max(rate for _, rate, _ in self.course)

    @property
    def least_delay(self) -> float:
        """The least delay that it ever has [s]."""
        return min(delay for _, _, delay in self.course) if self.changes else self.delay

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
    bottleneck, a quarter after it, half on the way back, and acknowledgements neither wait nor get lost, but for
    `ack_loss`.

    Attributes
    ----------
    rate : float
        Line rate [bit/s], > 0.
    buffer : int or None
        Most packets held, *including* the one being sent. None: no limit.
    loss : float or mapping
        Probability [1], in [0, 1), with which each packet is lost independently, before it meets the queue; or a model
        of losses, as of a `Link`. Only data passes here.
    queue : {"droptail", "red", "sfq", "drr", "codel", "fq_codel", "pie", "priority", "step", "proportional"}
        The discipline, as of a `Link`.
    queue_parameters : mapping of a name to a number
        What the discipline is set to, as of a `Link`.
    buffer_bytes : int or None
        Limit in bytes instead, as of a `Link`.
    ack_loss : float, mapping or None
        As `loss`, of acknowledgements on their way back, which pass nothing else; in results that way is a link of its
        own, `acknowledgements`. None: none is lost.
    changes : tuple of (time, rate) or (time, rate, delay)
        Rate [bit/s] and delay [s] from that time [s] on, as of a `Link`; delays come on top of the flows' `rtt`.
    changes_by : {"packet", "bit"}
        What a change of the rate means to a packet that is being sent, as of a `Link`.
    reorder : bool
        Whether a packet that is sent after the delay has fallen may overtake others.
    priority : {"none", "retransmissions"}
        Whether retransmissions are kept and sent first, as of a `Link`.
    priority_buffer : int or None
        Places that they have to themselves [packet], as of a `Link`.

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
    loss: float | dict[str, bool | float | str] = field(default=0.0, metadata={"unit": "1"})
    queue: str = "droptail"
    queue_parameters: dict[str, bool | float | str] = field(default_factory=dict)
    buffer_bytes: int | None = in_unit("B", default=None)
    ack_loss: float | dict[str, bool | float | str] | None = field(default=None, metadata={"unit": "1"})
    changes: tuple[tuple[float | str, ...], ...] = ()
    changes_by: Literal["packet", "bit"] = "packet"
    reorder: bool = False
    priority: Literal["none", "retransmissions"] = "none"
    priority_buffer: int | None = None

    __pydantic_config__ = FORBID

    def __post_init__(self) -> None:
        read_texts(self, "bottleneck.")
        check("bottleneck.rate", self.rate, 1.0, 1e13, 'give bit/s, or text such as "1Mbit/s"')
        _check_buffer(self, "bottleneck")
        _check_losses(self, "bottleneck")
        _check_queue(self, "bottleneck")
        _check_changes(self, "bottleneck", 0.0)

    def as_link(self, source: str, target: str) -> Link:
        """The same between two nodes, one way and without delay."""
        same = (
            "rate",
            "buffer",
            "buffer_bytes",
            "loss",
            "queue",
            "queue_parameters",
            "changes",
            "changes_by",
            "reorder",
            "priority",
            "priority_buffer",
        )
        return Link(source, target, delay=0.0, duplex=False, **{name: getattr(self, name) for name in same})

    def way_back(self, source: str, target: str, delay: float = 0.0) -> Link | None:
        """Where acknowledgements are lost, as a link between two nodes; None if they are not."""
        if not self.ack_loss:
            return None
        return Link(source, target, None, delay, loss=self.ack_loss, duplex=False)


def _check_buffer(link: Link | Bottleneck, key: str, at: str = "") -> None:
    """Refuse a limit out of bounds, and two at once."""
    for name, most, what in (("buffer", MAX_BUFFER, "packets"), ("buffer_bytes", 1e10, "bytes")):
        if getattr(link, name) is not None:
            advice = f"count {what}; leave out for no limit"
            check(f"{key}.{name}{at}", getattr(link, name), 1, most, advice, whole=True)
    if link.buffer is not None and link.buffer_bytes is not None:
        raise ScenarioError(f"{key}.buffer and {key}.buffer_bytes{at} are both given; give one")


def _check_losses(link: Link | Bottleneck, key: str, at: str = "") -> None:
    read_loss(link.loss, f"{key}.loss", at)
    if link.ack_loss is not None:
        read_loss(link.ack_loss, f"{key}.ack_loss", at)


def _check_changes(link: Link | Bottleneck, key: str, delay: float, at: str = "") -> None:
    """Read and check the table; refuse it where nothing takes time."""
    truth(f"{key}.reorder{at}", link.reorder)
    one_of(f"{key}.changes_by{at}", link.changes_by, ("packet", "bit"))
    if isinstance(link.changes, Sequence) and len(link.changes) == 0:
        return
    object.__setattr__(link, "changes", read_changes(link.changes, f"{key}.changes{at}", delay))
    if link.changes[0][0] == 0.0 and not any(row[1] for row in link.changes):
        raise ScenarioError(f"{key}.changes{at}: the rate is 0 from the beginning on; give a row with a rate")
    if link.rate is None:
        raise ScenarioError(f"{key}.changes{at} needs a rate before the first of them; give {key}.rate")
    if isinstance(link, Link) and link.service == "analytic":
        raise ScenarioError(f'{key}.service{at} must not be "analytic" with {key}.changes; leave it out')


def _check_queue(link: Link | Bottleneck, key: str, at: str = "") -> None:
    """Refuse a discipline that is not known, or whose parameters are impossible."""
    one_of(f"{key}.queue{at}", link.queue, tuple(DISCIPLINES))
    read_parameters(
        DISCIPLINES[link.queue], link.queue_parameters, f"{key}.queue_parameters", f'queue "{link.queue}"{at}'
    )
    _check_priority(link, key, at)
    for name, plain in (("queue", "droptail"), ("priority", "none")):
        value = getattr(link, name)
        if value == plain:
            continue
        if link.rate is None:
            raise ScenarioError(
                f'{key}.{name}{at} is "{value}", but without a rate no packet waits; give {key}.rate'
            )
        if isinstance(link, Link) and link.service == "analytic":
            raise ScenarioError(
                f'{key}.service{at} must not be "analytic" with {name} "{value}"; leave it out'
            )


def _check_priority(link: Link | Bottleneck, key: str, at: str) -> None:
    """Refuse a priority that its queue or its buffer cannot have."""
    one_of(f"{key}.priority{at}", link.priority, ("none", *PRIORITIES))
    places = link.priority_buffer
    if link.priority == "none":
        if places is not None:
            raise ScenarioError(
                f'{key}.priority_buffer{at} needs {key}.priority = "retransmissions"; leave it out, or give that'
            )
        return
    if link.queue not in BEHIND_PRIORITY:
        raise ScenarioError(
            f'{key}.priority{at} is "{link.priority}", which goes with queue "droptail" or "sfq", not '
            f'"{link.queue}"; change one of them'
        )
    if link.queue_parameters.get("ns2"):
        raise ScenarioError(
            f'{key}.queue_parameters.ns2{at} must be 0 with {key}.priority = "{link.priority}", which ns-2 has not; '
            "leave it out"
        )
    if link.buffer_bytes is not None:
        raise ScenarioError(
            f'{key}.buffer_bytes{at} cannot be shared out by {key}.priority = "{link.priority}", which counts packets; '
            f"give {key}.buffer"
        )
    if places is None:
        return
    if link.buffer is None:
        raise ScenarioError(
            f"{key}.priority_buffer{at} is a part of {key}.buffer, which is not given; give it, or leave "
            "priority_buffer out"
        )
    if link.buffer < 2:
        raise ScenarioError(f"{key}.priority_buffer{at} needs {key}.buffer of 2 at least, got {link.buffer}")
    advice = f"places of {key}.buffer = {link.buffer} for retransmissions; one at least is new data's"
    check(f"{key}.priority_buffer{at}", places, 1, link.buffer - 1, advice, whole=True)
