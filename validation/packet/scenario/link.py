"""Links of a scenario: between two nodes, or the one bottleneck of a dumbbell. Frozen, checked when made."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass
from typing import Any, Literal

from tcpdynamics import former_names
from tcpdynamics.errors import ScenarioError, check, check_name, shown

from ..kernel.parameters import read_parameters
from ..kernel.queues import BEHIND_PRIORITY, DISCIPLINES, PRIORITIES
from ..kernel.routers import ROUTERS
from .course import Changes, read_changes
from .fields import FORBID, check_keys, described, key, keys, read_texts
from .losses import read_loss

MAX_LINKS = 1_000_000


MAX_BUFFER = 10_000_000


#: Rate [bit/s] of an infinitely fast link in ns-2, and here with plain doubles as times: 1500 bytes take 12 ns.
FAST = 1e12


@described
@dataclass(frozen=True)
class Link:
    """A link between two nodes, in both directions unless `duplex` is false.

    Raises
    ------
    ScenarioError
        A value out of bounds, or text with a unit that is not known.

    Examples
    --------
    >>> Link("sender", "router", rate="10Mbit/s", delay="5ms", buffer=50).rate
    10000000.0
    """

    source: str = key(meaning="Node at one end.")
    target: str = key(meaning="Node at the other end.")
    rate: float | None = key(
        1e6, "Line rate [bit/s], > 0. None: infinitely fast, so no packet waits or is dropped there.",
        unit="bit/s", low=1.0, high=1e13, advice='give bit/s, or text such as "1Mbit/s"',
    )  # fmt: skip
    delay: float = key(
        0.01, "Propagation time [s], >= 0.", unit="s", low=0.0, high=1e3, advice='give seconds, or text such as "10ms"'
    )
    buffer: int | None = key(
        None, "Maximum number of packets held, *including* the one in transmission (ns-2.35's `queue-limit`; ns-2 "
        "itself needs 2 or more). None: no limit.",
        counts="packets", low=1, high=MAX_BUFFER, advice="count packets; leave out for no limit", whole=True,
    )  # fmt: skip
    buffer_bytes: int | None = key(
        None, "Limit in bytes instead: a packet is dropped if its bytes and those waiting (without the packet in "
        "transmission) reach it, as with ns-2.35's `queue_in_bytes_`.",
        unit="B", low=1, high=1e10, advice="count bytes; leave out for no limit", whole=True,
    )  # fmt: skip
    queue: str = key(
        "droptail", "Queue discipline: which packets are dropped and which one is sent next; see docs/queues.md. "
        "(`discipline` is an older name of this key.)",
        choices=DISCIPLINES,
    )  # fmt: skip
    queue_parameters: dict[str, bool | float | str] = key(
        dict, 'Parameters of the discipline, such as `{"min_threshold": 5}`; docs/queues.md lists the defaults.',
        kind="mapping of a name to a number",
    )  # fmt: skip
    service: Literal["auto", "analytic", "served"] = key(
        "auto",
        "How the queue is computed. Analytic: departures are computed on arrival, one event per packet, for FIFO "
        "only. Served: one event at each end of a transmission, as in ns-2 and as reordering disciplines need. "
        "Both give the same packets except at exact ties (analytic: the departure goes first; served: events in "
        "the order of scheduling). Auto: analytic; with the double clock, ties are decided as by a served link. An "
        "unlimited link whose queue is recorded is served.",
        choices=("auto", "analytic", "served"),
    )
    loss: float | dict[str, bool | float | str] = key(
        0.0, "Probability [1], in [0, 1), that an arriving packet is lost before the queue, independently of others; "
        'acknowledgements too. Or a loss model with parameters, such as `{"model": "gilbert-elliott", "p": 0.01, '
        '"r": 0.3}` (docs/links.md). Each direction has its own state.',
        unit="1", kind="float or mapping",
    )  # fmt: skip
    jitter: float = key(
        0.0, "Extra random delay of each packet before the queue, uniform in [0, jitter] [s]; the order within a flow "
        "is kept unless `reorder` is set.",
        unit="s", low=0.0, high=1e3, advice="give seconds",
    )  # fmt: skip
    duplex: bool = key(
        True, "Whether to create the link from `target` to `source`, too, with equal properties and its own queue."
    )
    ack_loss: float | dict[str, bool | float | str] | None = key(
        None, "The same for acknowledgements; `loss` then applies to data only. None: as `loss`.",
        unit="1", kind="float, mapping or None",
    )  # fmt: skip
    reorder: bool = key(
        False, "Whether packets may overtake each other on the link, with less jitter or after the delay has fallen."
    )
    changes: tuple[tuple[float | str, ...], ...] = key(
        (), "Rate [bit/s] and delay [s] from that time [s] on; before the first they are `rate` and `delay`. Rate 0 "
        "is an outage: packets wait. Without a delay in its row, that of the row before holds on.",
        kind="tuple of (time, rate) or (time, rate, delay)",
    )  # fmt: skip
    changes_by: Literal["packet", "bit"] = key(
        "packet",
        "Packet: a packet in transmission finishes at the rate at which it began, as in ns-2. Bit: each bit is "
        "sent at the current rate.",
        choices=("packet", "bit"),
    )
    router: str = key(
        "none",
        "Router that reads and writes headers of packets entering the queue, and of acknowledgements returning "
        "over the reverse link, which every flow through it must use (docs/links.md).",
        choices=("none", *ROUTERS),
    )
    router_parameters: dict[str, bool | float | str] = key(
        dict, 'Parameters of the router, such as `{"phi": 1}`.', kind="mapping of a name to a number"
    )
    priority: Literal["none", "retransmissions"] = key(
        "none",
        "Retransmissions: they wait in a separate list that is sent before new data; new data waits in `queue`, "
        '"droptail" or "sfq" (docs/queues.md). Not the `priority` of flows, which the queue "priority" uses.',
        choices=("none", *PRIORITIES),
    )
    priority_buffer: int | None = key(
        None, "Places of `buffer` reserved for retransmissions; new data has the others. None: the buffer is shared, "
        "and when it is full a retransmission replaces the newest packet of new data.",
        counts="packets",
    )  # fmt: skip
    discipline: InitVar[str | None] = None

    __pydantic_config__ = FORBID

    def __post_init__(self, discipline: str | None) -> None:
        if discipline is not None:
            former_names.warn_of_key("links.discipline", "links.queue")
            object.__setattr__(self, "queue", discipline)
        read_texts(self, "links.")
        for end, name in (("source", self.source), ("target", self.target)):
            check_name(f"links.{end}", name)
            if "->" in name:
                raise ScenarioError(f"links.{end} must be a node's name without '->', got {shown(name)}")
        if self.source == self.target:
            raise ScenarioError(f"links.target must differ from links.source = {shown(self.source)}")
        at = f" of link {self.name}"
        check_keys(self, "links.", at)
        _check_buffer(self, "links", at)
        _check_queue(self, "links", at)
        _check_losses(self, "links", at)
        _check_changes(self, "links", self.delay, at)
        self._check_router(at)

    def _check_router(self, at: str) -> None:
        """Refuse a router that is not known, or whose link has no queue or an endless one."""
        what = f'router "{self.router}"{at}'
        read_parameters(ROUTERS.get(self.router), self.router_parameters, "links.router_parameters", what)
        if self.router == "none":
            return
        if self.rate is None:
            raise ScenarioError(
                f'links.router{at} is "{self.router}", but without a rate no packet waits; give links.rate'
            )
        if self.buffer is None and self.buffer_bytes is None:
            raise ScenarioError(f'links.router{at} is "{self.router}", which shares the buffer out; give links.buffer')

    @property
    def needs_service(self) -> bool:
        """Whether an event at each end of a transmission is requested, or needed by the discipline."""
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
        """The maximum rate that it ever has [bit/s]."""
        if not self.changes:
            return math.inf if self.rate is None else self.rate
        return max(rate for _, rate, _ in self.course)

    @property
    def least_delay(self) -> float:
        """The minimum delay that it ever has [s]."""
        return min(delay for _, _, delay in self.course) if self.changes else self.delay

    @property
    def name(self) -> str:
        """`source->target`, the name in results."""
        return f"{self.source}->{self.target}"

    def backward(self) -> Link:
        """The same link the other way."""
        return dataclasses.replace(self, source=self.target, target=self.source)


@described
@dataclass(frozen=True)
class Bottleneck:
    """The one link of a dumbbell where packets wait and are lost; everything else is pure delay.

    A shorthand for scenarios without `links`. Each flow then has its own `rtt`: a quarter of it before the
    bottleneck, a quarter after it, half on the way back. Acknowledgements do not wait, and get lost by `ack_loss`
    only.

    Raises
    ------
    ScenarioError
        As for `Link`.

    Examples
    --------
    >>> Bottleneck(rate="10Mbit/s", buffer=50).rate
    10000000.0
    """

    rate: float = key(
        1e6, "Line rate [bit/s], > 0.", unit="bit/s", low=1.0, high=1e13, advice='give bit/s, or text such as "1Mbit/s"'
    )
    buffer: int | None = key(
        None, "Maximum number of packets held, *including* the one in transmission. None: no limit.",
        counts="packets", low=1, high=MAX_BUFFER, advice="count packets; leave out for no limit", whole=True,
    )  # fmt: skip
    loss: float | dict[str, bool | float | str] = key(
        0.0, "Probability [1], in [0, 1), that a packet is lost before the queue, independently of others; or a loss "
        "model, as of a `Link`. Only data passes here.",
        unit="1", kind="float or mapping",
    )  # fmt: skip
    queue: str = key("droptail", "The discipline, as of a `Link`.", choices=DISCIPLINES)
    queue_parameters: dict[str, bool | float | str] = key(
        dict, "Parameters of the discipline, as of a `Link`.", kind="mapping of a name to a number"
    )
    buffer_bytes: int | None = key(
        None, "Limit in bytes instead, as of a `Link`.",
        unit="B", low=1, high=1e10, advice="count bytes; leave out for no limit", whole=True,
    )  # fmt: skip
    ack_loss: float | dict[str, bool | float | str] | None = key(
        None,
        "As `loss`, for acknowledgements, which meet nothing else on their way back; results list that way as the"
        " link `acknowledgements`. None: no losses.",
        unit="1", kind="float, mapping or None",
    )  # fmt: skip
    changes: tuple[tuple[float | str, ...], ...] = key(
        (), "Rate [bit/s] and delay [s] from that time [s] on, as of a `Link`; delays come on top of the flows' "
        "`rtt`.", kind="tuple of (time, rate) or (time, rate, delay)",
    )  # fmt: skip
    changes_by: Literal["packet", "bit"] = key(
        "packet", "Rate of a packet in transmission when the rate changes, as of a `Link`.", choices=("packet", "bit")
    )
    reorder: bool = key(False, "Whether a packet sent after the delay has fallen may overtake others.")
    priority: Literal["none", "retransmissions"] = key(
        "none", "Whether retransmissions are sent first, as of a `Link`.", choices=("none", *PRIORITIES)
    )
    priority_buffer: int | None = key(
        None, "Places reserved for retransmissions [packet], as of a `Link`.", counts="packets"
    )

    __pydantic_config__ = FORBID

    def __post_init__(self) -> None:
        read_texts(self, "bottleneck.")
        check_keys(self, "bottleneck.")
        _check_buffer(self, "bottleneck")
        _check_losses(self, "bottleneck")
        _check_queue(self, "bottleneck")
        _check_changes(self, "bottleneck", 0.0)

    def as_link(self, source: str, target: str) -> Link:
        """The same between two nodes, one way and without delay."""
        same = [name for name, _ in keys(self) if name != "ack_loss"]
        return Link(source, target, delay=0.0, duplex=False, **{name: getattr(self, name) for name in same})

    def way_back(self, source: str, target: str, delay: float = 0.0) -> Link | None:
        """Where acknowledgements are lost, as a link between two nodes; None if they are not."""
        if not self.ack_loss:
            return None
        return Link(source, target, None, delay, loss=self.ack_loss, duplex=False)


def _check_buffer(link: Link | Bottleneck, key: str, at: str = "") -> None:
    """Refuse two limits at once."""
    if link.buffer is not None and link.buffer_bytes is not None:
        raise ScenarioError(f"{key}.buffer and {key}.buffer_bytes{at} are both given; give one")


def _check_losses(link: Link | Bottleneck, key: str, at: str = "") -> None:
    read_loss(link.loss, f"{key}.loss", at)
    if link.ack_loss is not None:
        read_loss(link.ack_loss, f"{key}.ack_loss", at)


def _check_changes(link: Link | Bottleneck, key: str, delay: float, at: str = "") -> None:
    """Read and check the table; refuse it where nothing takes time."""
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
    read_parameters(
        DISCIPLINES[link.queue], link.queue_parameters, f"{key}.queue_parameters", f'queue "{link.queue}"{at}'
    )
    _check_priority(link, key, at)
    for name, plain in (("queue", "droptail"), ("priority", "none")):
        value = getattr(link, name)
        if value == plain:
            continue
        if link.rate is None:
            raise ScenarioError(f'{key}.{name}{at} is "{value}", but without a rate no packet waits; give {key}.rate')
        if isinstance(link, Link) and link.service == "analytic":
            raise ScenarioError(f'{key}.service{at} must not be "analytic" with {name} "{value}"; leave it out')


def _check_priority(link: Link | Bottleneck, key: str, at: str) -> None:
    """Refuse a priority that its queue or its buffer cannot have."""
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
