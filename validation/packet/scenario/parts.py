"""The parts of a scenario: links, flows, chosen drops and what to write down. Frozen, checked when made."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from tcpdynamics.errors import MAX_NAME, ScenarioError, check, check_name, shown

#: Bounds that keep a typing error from becoming a lost night or a full memory.
MAX_FLOWS = 1_000_000
MAX_LINKS = 1_000_000
MAX_BUFFER = 10_000_000
MAX_GROUPS = 100_000
MAX_DROPS = 1000

#: Rate [bit/s] of an infinitely fast link in ns-2, and here with plain doubles as times: 1500 bytes take 12 ns.
FAST = 1e12

SENDERS = ("tahoe", "reno", "newreno", "sack", "cbr", "poisson")
FORBID = {"extra": "forbid"}


def in_unit(unit: str, **options: Any) -> Any:
    """A dataclass field whose texts are read with `unit` (see `units.quantity`)."""
    return field(metadata={"unit": unit}, **options)


@dataclass(frozen=True)
class Link:
    """A link between two nodes, in both directions unless `duplex` is false.

    Attributes
    ----------
    source, target : str
        Names of the nodes.
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
    """

    source: str
    target: str
    rate: float | None = in_unit("bit/s", default=1e6)
    delay: float = in_unit("s", default=0.01)
    buffer: int | None = None
    buffer_bytes: int | None = None
    discipline: Literal["droptail"] = "droptail"
    service: Literal["auto", "analytic", "served"] = "auto"
    loss: float = in_unit("1", default=0.0)
    jitter: float = in_unit("s", default=0.0)
    duplex: bool = True

    __pydantic_config__ = FORBID

    def __post_init__(self) -> None:
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
        one_of("links.discipline" + at, self.discipline, ("droptail",))
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
    rate, buffer, loss
        As in `Link`.
    """

    rate: float = in_unit("bit/s", default=1e6)
    buffer: int | None = None
    loss: float = in_unit("1", default=0.0)

    __pydantic_config__ = FORBID

    def __post_init__(self) -> None:
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


#: What a flow gets where it does not say, by rule book.
DEFAULTS: dict[str, dict[str, Any]] = {
    "ns2": {
        "initial_window": 2, "min_rto": 0.2, "max_rto": 60.0, "initial_rto": 3.0, "timer_granularity": 0.01,
        "handshake": True,
    },
    "rfc": {
        "initial_window": 4, "min_rto": 1.0, "max_rto": 60.0, "initial_rto": 1.0, "timer_granularity": 0.0,
        "handshake": False,
    },
}  # fmt: skip


@dataclass(frozen=True)
class Flows:
    """A group of flows with the same parameters.

    Attributes
    ----------
    count : int
        Number of flows, >= 1.
    sender : {"sack", "newreno", "reno", "tahoe", "cbr", "poisson"}
        How losses are found and repaired. "cbr" and "poisson" send without acknowledgements at `rate`, evenly or
        with exponential gaps.
    compat : {"ns2", "rfc"}
        The rule book: what ns-2.35's agents do, packet by packet, or what RFC 5681, 6298, 6582 and 6675 say.
        `docs/senders.md` lists the differences.
    control : str
        Congestion control: "reno" (slow start, AIMD), or the name of a rule of one's own made with
        `@congestion_control`.
    parameters : tuple of float
        At most 8 numbers for the rule, its `f.p0` to `f.p7`.
    rtt : float or (float, float)
        On a `bottleneck` only: round-trip *propagation* time [s]; a pair spreads the flows evenly from the first
        value to the second.
    source, target : str or tuple of str
        With `links` only: nodes where the flow starts and ends. Of several names each flow draws one (the two
        always differ).
    route : tuple of str, optional
        The nodes to pass, both ends included, instead of `source` and `target`. Otherwise the path with the
        fewest links, the first listed among equals. Acknowledgements take the same nodes back.
    packet_size : int
        Size of a data packet on the wire [byte], headers included.
    ack_size : int
        Size of an acknowledgement [byte]; 8 more for each block of a selective one. Also the handshake's size.
    jitter : float
        Each data packet is delayed further by a uniform draw in [0, jitter] [s] on its way to the first queue,
        without overtaking within its flow. Breaks phase effects.
    overhead : float
        ns-2's `overhead_`: sending allowed by the window is put off by a uniform draw in [0, overhead] [s]. Rule
        book "ns2" only.
    start, start_spread : float
        A flow starts at a uniform draw in [start, start + start_spread] [s]. Default spread: 1 s for groups of
        several flows, 0 for a single one.
    arrival_rate : float, optional
        Starts are a Poisson process of this rate [1/s] from `start` on, instead; flows whose turn comes after
        the end of the run never start.
    stop : float, optional
        No new data after this time [s].
    segments : int, optional
        Segments to transfer; without it, as many as fit. The handshake comes on top.
    segments_shape : float, optional
        Draw each flow's segments from a Pareto law with this shape (> 1) and the mean `segments`.
    rate : float
        Of "cbr" and "poisson" only: sending rate [bit/s], headers included.
    window_limit : int
        Advertised window [packets].
    initial_window : int
        First window [packets]. Default: 2 (ns2), 4 (rfc).
    handshake : bool
        Segment 0 is a packet of `ack_size` bytes sent alone, as ns-2's SYN. Default: true (ns2), false (rfc).
    limited_transmit : bool
        RFC 3042: new data on the first two duplicates (ns-2: `singledup_`).
    delayed_ack : float
        0: each packet is acknowledged at once. Else the longest delay [s] (ns-2: 0.1): every second packet in
        order is acknowledged, anything else at once.
    sack : bool, optional
        Whether the receiver reports blocks; default: as the sender needs.
    timestamps : bool
        RTTs from the echo of each acknowledgement instead of one segment at a time.
    min_rto, max_rto, initial_rto : float
        Floor (before back-off), ceiling (after it), first value of the retransmission timeout [s]. Default: 0.2,
        60 and 3 (ns2), 1, 60 and 1 (rfc).
    max_backoff : int
        Largest factor of the exponential back-off, a power of two. With ns2 the factor goes on above it until
        `max_rto` is reached, as there.
    timer_granularity : float
        Tick [s] of the clock that measures RTTs; 0 for an exact clock. Default: 0.01 (ns2), 0 (rfc).
    clear_rtt_after : int
        Above this back-off factor the RTT estimate is forgotten (RFC 6298, section 5, allows it; BSD and ns-2: 8).
    clock_phase : float, optional
        Where the clock's tick stands at time 0 [s]. Default: drawn from the scenario's seed for each flow; but for a
        single flow with ns2, what ns-2 draws with its default seed.
    """

    count: int = 1
    sender: Literal["sack", "newreno", "reno", "tahoe", "cbr", "poisson"] = "sack"
    compat: Literal["ns2", "rfc"] = "ns2"
    control: str = "reno"
    parameters: tuple[float, ...] = ()
    rtt: float | tuple[float, float] | None = in_unit("s", default=None)
    source: str | tuple[str, ...] | None = None
    target: str | tuple[str, ...] | None = None
    route: tuple[str, ...] | None = None
    packet_size: int = in_unit("B", default=500)
    ack_size: int = in_unit("B", default=40)
    jitter: float = in_unit("s", default=0.0)
    overhead: float = in_unit("s", default=0.0)
    start: float = in_unit("s", default=0.0)
    start_spread: float | None = in_unit("s", default=None)
    arrival_rate: float | None = None
    stop: float | None = in_unit("s", default=None)
    segments: int | None = None
    segments_shape: float | None = None
    rate: float | None = in_unit("bit/s", default=None)
    window_limit: int = 64
    initial_window: int | None = None
    handshake: bool | None = None
    limited_transmit: bool = True
    delayed_ack: float = in_unit("s", default=0.0)
    sack: bool | None = None
    timestamps: bool = False
    min_rto: float | None = in_unit("s", default=None)
    max_rto: float | None = in_unit("s", default=None)
    initial_rto: float | None = in_unit("s", default=None)
    max_backoff: int = 64
    timer_granularity: float | None = in_unit("s", default=None)
    clear_rtt_after: int = 8
    clock_phase: float | None = in_unit("s", default=None)

    __pydantic_config__ = FORBID

    def __post_init__(self) -> None:
        check("flows.count", self.count, 1, MAX_FLOWS, "simulate fewer flows on a slower link", whole=True)
        one_of("flows.sender", self.sender, SENDERS)
        one_of("flows.compat", self.compat, tuple(DEFAULTS))
        self._check_path()
        self._check_sending()
        self._check_timer()

    def _check_path(self) -> None:
        for key, names in (("source", self.source), ("target", self.target), ("route", self.route)):
            several = (names,) if isinstance(names, str) and key != "route" else names
            if several is not None and not isinstance(several, tuple):
                raise ScenarioError(f"flows.{key} must name nodes, got {shown(names)}")
            for name in several or ():
                check_name(f"flows.{key}", name)
        for rtt in self.rtts():
            check("flows.rtt", rtt, 1e-6, 1e3, 'give seconds, or text such as "200ms"')
        check("flows.packet_size", self.packet_size, 1, 1_000_000, "count bytes", whole=True)
        check("flows.ack_size", self.ack_size, 1, 1_000_000, "count bytes", whole=True)
        check(
            "flows.jitter", self.jitter, 0.0, 1e3, "give seconds; one packet's sending time is a good choice"
        )
        if self.route is not None and (self.source is not None or self.target is not None):
            raise ScenarioError("flows.route says source and target already; give one or the other")
        if self.route is not None and len(self.route) < 2:
            raise ScenarioError(f"flows.route must name at least two nodes, got {shown(list(self.route))}")
        if self.route is not None and len(set(self.route)) < len(self.route):
            raise ScenarioError(f"flows.route must not pass a node twice, got {shown(list(self.route))}")

    def _check_sending(self) -> None:
        check("flows.start", self.start, 0.0, 1e9, "give seconds")
        if self.start_spread is not None:
            check("flows.start_spread", self.start_spread, 0.0, 1e9, "give seconds")
        if self.arrival_rate is not None:
            check("flows.arrival_rate", self.arrival_rate, 1e-9, 1e9, "give starts per second")
        if self.stop is not None:
            check("flows.stop", self.stop, self.start, 1e9, "it must not lie before start")
        if self.segments is not None:
            check(
                "flows.segments", self.segments, 1, 1e12, "count segments; leave out for no end", whole=True
            )
        if self.segments_shape is not None:
            check("flows.segments_shape", self.segments_shape, 1.000001, 1e3, "1.5 is a common choice")
            if self.segments is None:
                raise ScenarioError("flows.segments_shape needs flows.segments, the mean")
        if self.open_loop:
            if self.rate is None:
                raise ScenarioError(
                    f'flows.rate is missing; sender "{self.sender}" needs it, such as "100kbit/s"'
                )
            most = min(1e13, 8e9 * self.packet_size)  # a packet each nanosecond
            check("flows.rate", self.rate, 1e-3, most, 'give bit/s, or text such as "100kbit/s"')
        elif self.rate is not None:
            raise ScenarioError(f'flows.rate is for senders "cbr" and "poisson"; {self.sender} finds its own')
        check("flows.window_limit", self.window_limit, 1, 1_000_000, "count packets", whole=True)
        if self.initial_window is not None:
            check(
                "flows.initial_window", self.initial_window, 1, self.window_limit, "count packets", whole=True
            )
        for key in ("handshake", "sack"):
            if getattr(self, key) is not None:
                truth(f"flows.{key}", getattr(self, key))
        if self.sack is False and self.sender == "sack":
            raise ScenarioError('flows.sack must not be false for sender "sack"; take "newreno"')
        truth("flows.limited_transmit", self.limited_transmit)
        truth("flows.timestamps", self.timestamps)
        check(
            "flows.delayed_ack", self.delayed_ack, 0.0, 10.0, 'give seconds, such as "100ms"; 0 to switch off'
        )
        check("flows.overhead", self.overhead, 0.0, 1e3, "give seconds")
        if self.overhead and (self.compat != "ns2" or self.open_loop):
            raise ScenarioError('flows.overhead belongs to rule book "ns2"; use flows.jitter')
        check_name("flows.control", self.control)
        if not isinstance(self.parameters, tuple):
            raise ScenarioError(f"flows.parameters must be a tuple of numbers, got {shown(self.parameters)}")
        check("flows.parameters", len(self.parameters), 0, 8, "a rule takes at most 8 numbers", whole=True)
        for value in self.parameters:
            check("flows.parameters", value, -1e300, 1e300, "give finite numbers")

    def _check_timer(self) -> None:
        s = self.settings()
        check("flows.min_rto", s["min_rto"], 0.0, 1e6, "give seconds")
        check("flows.max_rto", s["max_rto"], max(s["min_rto"], 1e-3), 1e6, "it must not lie below min_rto")
        check("flows.initial_rto", s["initial_rto"], 1e-3, s["max_rto"], "it must not exceed max_rto")
        check("flows.max_backoff", self.max_backoff, 1, 65536, "a power of two, such as 64", whole=True)
        if self.max_backoff & (self.max_backoff - 1):
            raise ScenarioError(f"flows.max_backoff must be a power of two, got {self.max_backoff}; try 64")
        check(
            "flows.timer_granularity", s["timer_granularity"], 0.0, 10.0, "give seconds; 0 for an exact clock"
        )
        if self.compat == "ns2":
            check(
                "flows.timer_granularity",
                s["timer_granularity"],
                1e-6,
                10.0,
                'ns-2 has a tick; or set compat = "rfc"',
            )
        check("flows.clear_rtt_after", self.clear_rtt_after, 1, 65536, "a factor, such as 8", whole=True)
        if self.clock_phase is not None:
            check("flows.clock_phase", self.clock_phase, 0.0, 10.0, "give seconds")

    @property
    def open_loop(self) -> bool:
        """Whether the sender ignores the network ("cbr", "poisson")."""
        return self.sender in ("cbr", "poisson")

    def rtts(self) -> tuple[float, float]:
        """Least and greatest base RTT of the group [s] on a bottleneck (0.2 s where none is given)."""
        if self.rtt is None:
            return (0.2, 0.2)
        if isinstance(self.rtt, tuple):
            if len(self.rtt) != 2:
                raise ScenarioError(
                    f"flows.rtt must be one value or a pair [first, last], got {shown(self.rtt)}"
                )
            return self.rtt
        return (self.rtt, self.rtt)

    def settings(self) -> dict[str, Any]:
        """Every field, with the rule book's defaults filled in.

        Examples
        --------
        >>> Flows().settings()["min_rto"], Flows(compat="rfc").settings()["min_rto"]
        (0.2, 1.0)
        """
        book = DEFAULTS[self.compat]
        own = {name: getattr(self, name) for name in _KEYS_OF_FLOWS}
        filled = {k: book[k] if k in book and v is None else v for k, v in own.items()}
        filled["initial_window"] = min(filled["initial_window"], self.window_limit)
        if self.initial_rto is None:
            filled["initial_rto"] = min(filled["initial_rto"], filled["max_rto"])
        if self.open_loop:
            filled["handshake"] = False
        if self.start_spread is None:
            filled["start_spread"] = 1.0 if self.count > 1 else 0.0
        filled["sack"] = self.sender == "sack" if self.sack is None else self.sack
        return filled


_KEYS_OF_FLOWS = tuple(field.name for field in dataclasses.fields(Flows))


@dataclass(frozen=True)
class Drop:
    """Lose one chosen packet, next to any other loss; for experiments with a known answer.

    Give one of three: `segment` (and `transmission`) of a flow, `ack` of a flow, or `packet` of a `link`.

    Attributes
    ----------
    flow : int
        From 0.
    segment, transmission : int
        The `transmission`-th transmission (from 1) of segment `segment` (from 0).
    ack : int
        The `ack`-th acknowledgement (from 0) that the flow's receiver sends.
    link : str
        Where it is lost, as "source->target", on arrival. Default: the slowest link of the flow's way there
        (`segment`) or back (`ack`), the first of equals.
    packet : int
        The `packet`-th packet (from 0) that arrives at `link`, of any flow and kind; as ns-2's
        ErrorModel/List on that link.
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


@dataclass(frozen=True)
class Record:
    """What to write down besides counters. Off, it costs nothing.

    Attributes
    ----------
    sends, receives, drops : bool
        Time, flow, segment and kind of each data packet sent, received, lost (with the link).
    windows : float or None
        cwnd, ssthresh, RTT, smoothed RTT, RTO, flight and state of each flow every so many seconds; 0: whenever
        they may have changed.
    queues : float or None
        Packets and bytes in each link's queue, every so many seconds; 0: at each arrival.
    """

    sends: bool = False
    receives: bool = False
    drops: bool = False
    windows: float | None = in_unit("s", default=None)
    queues: float | None = in_unit("s", default=None)

    __pydantic_config__ = FORBID

    def __post_init__(self) -> None:
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


def one_of(key: str, value: object, known: tuple[str, ...]) -> None:
    """Refuse what is not among the known words."""
    if value not in known:
        words = ", ".join(f'"{word}"' for word in known)
        raise ScenarioError(f"{key} must be one of {words}, got {shown(value)}")


def truth(key: str, value: object) -> None:
    """Refuse what is neither true nor false."""
    if not isinstance(value, bool):
        raise ScenarioError(f"{key} must be true or false, got {shown(value)}")
