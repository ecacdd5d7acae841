"""Groups of flows of a scenario, with the defaults of each rule book. Frozen, checked when made."""

from __future__ import annotations

import dataclasses
from dataclasses import InitVar, dataclass
from functools import cached_property
from typing import Any, Literal

from tcpdynamics import former_names
from tcpdynamics.errors import ScenarioError, check, check_name, shown
from tcpdynamics.quantities import quantity

from ..kernel.paced import PACED
from ..kernel.paced.mtcp import MOST_ROUTES, SCHEMES
from ..kernel.parameters import parameters_of, read_parameters
from ..kernel.records import SENDERS
from ..kernel.senders import BOOKS
from ..kernel.windows import RULES
from .fields import FORBID, check_keys, described, is_set, key, keys, read_texts
from .program import Program

NOT_IN_LINUX = "Linux has no such thing, or not translated; leave it out"

#: Bounds that keep a typing error from becoming a lost night or a full memory.
MAX_FLOWS = 1_000_000


MAX_GROUPS = 100_000

#: Keys that apply to programs.
OF_PROGRAMS = frozenset(
    {"program", "count", "packet_size", "rtt", "source", "target", "route", "start", "start_spread", "stop"}
)
#: Frames that a program's network lets pass [byte]: IPv6 needs 1280 in them.
LEAST_FRAME, MOST_FRAME = 1294, 32_821

#: Steps of a sender's rate.
MAX_STEPS = 100_000


@described
@dataclass(frozen=True)
class Flows:
    """A group of flows with the same parameters.

    Raises
    ------
    ScenarioError
        A value out of bounds, or values that cannot stand together.

    Examples
    --------
    >>> Flows(count=10, rtt="200ms").rtt
    0.2
    """

    count: int = key(
        1, "Number of flows, >= 1.", low=1, high=MAX_FLOWS, advice="simulate fewer flows on a slower link", whole=True
    )
    sender: str = key(
        "sack",
        'Loss detection and recovery. "mtcp" sends over several `routes` at once. "tfrc" retransmits nothing; it '
        'sends at TCP\'s throughput-equation rate (RFC 5348). "cbr" and "poisson" send at `rate` without '
        "acknowledgements, with even or exponential gaps.",
        choices=SENDERS,
    )
    rules: str = key(
        "ns2", "Which TCP to follow: ns-2.35's agents packet by packet, RFCs 5681, 6298, 6582 and 6675, or Linux "
        '(senders "sack" and "newreno"). `docs/reference/sender_rules.md` lists the differences. (`compat` is an '
        "older name of this key.)",
        choices=BOOKS,
    )  # fmt: skip
    control: str = key(
        "reno", 'Congestion control: "reno" (slow start, AIMD), "hstcp", "scalable", "westwood", "vegas", "cubic", '
        '"dctcp" (needs `ecn`), "logistic" (measures bandwidth), or the name of a custom rule made with '
        "`@congestion_control`.",
        words=RULES, not_of=("tfrc", "mtcp"),
    )  # fmt: skip
    parameters: tuple[float, ...] | dict[str, bool | float | str] = key(
        (), "At most 8 numbers for the congestion control, its `f.p0` to `f.p7`; for a built-in one by name, such as "
        '`{"b": 0.1}`. For senders "tfrc" and "mtcp", their parameters by name.',
        kind="tuple of float, or mapping of a name to a float",
    )  # fmt: skip
    rtt: float | tuple[float, float] | None = key(
        None, "With a `bottleneck` only: round-trip *propagation* time [s]. A pair spreads the flows evenly from the "
        "first value to the second.",
        unit="s", kind="float or (float, float)",
    )  # fmt: skip
    source: str | tuple[str, ...] | None = key(
        None, "With `links` only: node where the flow starts; of several names each flow takes one at random.",
        kind="str or tuple of str",
    )  # fmt: skip
    target: str | tuple[str, ...] | None = key(
        None, "With `links` only: node where the flow ends; of several names each flow takes one at random, never its "
        "source.",
        kind="str or tuple of str",
    )  # fmt: skip
    route: tuple[str, ...] | None = key(
        None, "The nodes to pass, both ends included, instead of `source` and `target`. Otherwise the path with the "
        "fewest links, the first listed among equals. Acknowledgements take the same nodes back.",
        kind="tuple of str, optional",
    )  # fmt: skip
    routes: tuple[tuple[str, ...], ...] = key(
        (), '"mtcp" only: the nodes of each of one to eight routes between the same two ends.',
        kind="tuple of tuple of str",
    )  # fmt: skip
    acks: str = key(
        "immediate",
        '"mtcp" only. Each segment is acknowledged immediately, over one random route or over all routes; or '
        "every second segment, within `delayed_ack` (default: 0.1 s), over all routes.",
        choices=SCHEMES,
    )
    program: Program | None = key(
        None, "A server and a client of Linux in place of `sender`, for `run_linux` and `tcpdynamics testbed` alone. "
        "Of the other keys `count`, `packet_size`, `rtt`, `source`, `target`, `route`, `start`, `start_spread` and "
        "`stop` apply.",
        kind="Program or None", ns2="ns-2 runs no programs; take run_linux, or tcpdynamics testbed",
    )  # fmt: skip
    packet_size: int = key(
        500, "Size of a data packet on the wire [byte], headers included.",
        unit="B", low=1, high=1_000_000, advice="count bytes", whole=True,
    )  # fmt: skip
    ack_size: int = key(
        40, "Size of an acknowledgement [byte]; 8 more for each block of a selective one. Also the handshake's size.",
        unit="B", low=1, high=1_000_000, advice="count bytes", whole=True,
        linux="Linux's acknowledgements have 54 bytes and their options; leave it out",
    )  # fmt: skip
    jitter: float | None = key(
        None, "Extra random delay of each data packet before the first queue, uniform in [0, jitter] [s]. It breaks "
        "phase effects, and keeps the order within a flow unless `reorder` is set. Default: a packet's "
        "transmission time on the slowest link of its path; 0 with ns2, for a single flow and for a sender "
        "without a window (`Scenario.jitter_on`).",
        unit="s", low=0.0, high=1e3, advice="give seconds, 0 for none; or leave it out", off=0.0,
        ns2="ns-2 has no such thing; take flows.overhead",
    )  # fmt: skip
    overhead: float = key(
        0.0, "ns-2's `overhead_`: a random delay, uniform in [0, overhead] [s], before the window lets the sender "
        'transmit. rules = "ns2" only.',
        unit="s", low=0.0, high=1e3, advice="give seconds", not_of=("linux",), linux=NOT_IN_LINUX,
    )  # fmt: skip
    start: float = key(
        0.0, "Start time [s]; with `start_spread` uniform in [start, start + start_spread].",
        unit="s", low=0.0, high=1e9, advice="give seconds",
    )  # fmt: skip
    start_spread: float | None = key(
        None, "Length of the interval of start times [s]. Default: 1 for several flows, 0 for a single one.",
        unit="s", low=0.0, high=1e9, advice="give seconds",
    )  # fmt: skip
    arrival_rate: float | None = key(
        None,
        "Flows start as a Poisson process with this rate [1/s], from `start` on. Flows that would start after the"
        " end of the run never start.",
        counts="1/s", low=1e-9, high=1e9, advice="give starts per second",
    )  # fmt: skip
    stop: float | None = key(None, "No new data after this time [s].", unit="s")
    segments: int | None = key(
        None, "Segments to transfer; without it, as many as fit. The handshake comes on top.",
        counts="packets", low=1, high=1e12, advice="count segments; leave out for no end", whole=True,
    )  # fmt: skip
    segments_shape: float | None = key(
        None, "Random transfer sizes: a Pareto distribution with this shape (> 1) and the mean `segments`.",
        low=1.0, high=1e3, advice="1.5 is a common choice",
    )  # fmt: skip
    think: float | None = key(
        None, "Mean pause [s] before a finished flow starts again as a new connection, with as many segments or a new "
        "random number: a web user who reads.",
        unit="s", low=0.0, high=1e9, advice='give seconds, or text such as "5s"', linux=NOT_IN_LINUX,
    )  # fmt: skip
    think_distribution: Literal["exponential", "fixed"] = key(
        "exponential", "Distribution of the pauses. (`think_law` is an older name of this key.)",
        choices=("exponential", "fixed"),
    )  # fmt: skip
    pool: int | None = key(
        None,
        "Number of consecutive flows that belong to one user. A user hangs while at least one connection is open "
        "and none receives data. Flows of a pool have the same RTT, and `count` must be a multiple of it. Default"
        " with `think`: 1.",
        linux=NOT_IN_LINUX,
    )
    rate: float | None = key(None, '"cbr" and "poisson" only: sending rate [bit/s], headers included.', unit="bit/s")
    rate_steps: tuple[tuple[float | str, float | str], ...] = key(
        (), '"cbr" and "poisson" only: pairs of a time [s] and the rate from then on [bit/s], 0 for none, instead of '
        "`rate` or after it. A gap keeps the rate at which it began.",
        kind="tuple of (float, float)",
    )  # fmt: skip
    on_time: float | None = key(None, '"cbr" and "poisson" only: mean length [s] of the bursts.', unit="s")
    off_time: float | None = key(
        None, '"cbr" and "poisson" only: mean length [s] of the silences between bursts.', unit="s"
    )
    on_off: str = key(
        "exponential",
        "Distribution of burst and silence lengths. Flows with exponential lengths start silent (as in ns-2), "
        "flows with fixed ones with a burst.",
        choices=("exponential", "fixed"),
    )
    window_limit: int = key(
        64, "Advertised window [packets].",
        counts="packets", low=1, high=1_000_000, advice="count packets", whole=True, not_of=("tfrc",),
    )  # fmt: skip
    initial_window: int | None = key(
        None, "First window [packets]. Default: 2 (ns2), 4 (rfc), 10 (linux).", counts="packets", not_of=("tfrc",)
    )
    handshake: bool | None = key(
        None, "Segment 0 is a packet of `ack_size` bytes sent alone, as ns-2's SYN. Default: true (ns2, linux), false "
        "(rfc).", off=False, not_of=("tfrc", "mtcp"),
    )  # fmt: skip
    limited_transmit: bool = key(
        True, "RFC 3042: new data on the first two duplicates (ns-2: `singledup_`).", not_of=("linux", "tfrc", "mtcp")
    )
    delayed_ack: float = key(
        0.0, "0: every packet is acknowledged immediately. Else the maximum delay [s] (ns-2: 0.1): every second "
        "in-order packet is acknowledged, any other packet immediately.",
        unit="s", low=0.0, high=10.0, advice='give seconds, such as "100ms"; 0 to switch off', not_of=("tfrc",),
    )  # fmt: skip
    sack: bool | None = key(
        None, "Whether the receiver reports SACK blocks. Default: as the sender requires.", not_of=("tfrc", "mtcp")
    )
    ecn: bool = key(
        False,
        "Explicit congestion notification (RFC 3168): queues mark packets instead of dropping them, the receiver "
        "echoes marks, and the sender reacts as to a loss.",
        not_of=("tfrc", "mtcp"),
    )
    priority: int = key(
        0, "Priority class of the flow's packets, acknowledgements included, at queues with discipline \"priority\"; 0"
        " is the highest.",
        low=0, high=255, advice="0 is the highest class", whole=True, linux=NOT_IN_LINUX,
    )  # fmt: skip
    timestamps: bool = key(
        False, "Measure RTTs from the timestamp echo of every acknowledgement, not from one segment at a time.",
        not_of=("tfrc", "mtcp"), linux="all hosts of Linux have them or none; set them in LinuxSwitches",
    )  # fmt: skip
    loss_probes: bool = key(
        False,
        "Tail loss probes (RFC 8985, section 7): after two round trips without acknowledgements, one segment is "
        'sent to trigger a report of what is missing. rules = "linux" only.',
        only_of="linux", linux="it is the simulator's; Linux's own is switched by tlp of LinuxSwitches",
    )  # fmt: skip
    frto: bool = key(
        False,
        "F-RTO (RFC 5682): after a timeout, new data is sent first, to detect whether the timeout was spurious. "
        'rules = "linux" only.',
        only_of="linux", linux="it is the simulator's; Linux's own is switched by frto of LinuxSwitches",
    )  # fmt: skip
    min_rto: float | None = key(
        None,
        "Minimum retransmission timeout [s], before backoff. Default: 0.2 (ns2), 1 (rfc), 0.2 (linux, where it is"
        " the minimum of the part added to the smoothed RTT).",
        unit="s", low=0.0, high=1e6, advice="give seconds", not_of=("tfrc",),
    )  # fmt: skip
    max_rto: float | None = key(
        None, "Maximum retransmission timeout [s], after backoff. Default: 60; 120 (linux).", unit="s", not_of=("tfrc",)
    )
    initial_rto: float | None = key(
        None, "Retransmission timeout before any RTT is known [s]. Default: 3 (ns2), 1 (rfc, linux).", unit="s",
        not_of=("tfrc",), linux=NOT_IN_LINUX,
    )  # fmt: skip
    max_backoff: int = key(
        64, "Maximum backoff factor, a power of two. With ns2 the factor keeps growing until `max_rto` is reached, as"
        " in ns-2.",
        low=1, high=65536, advice="a power of two, such as 64", whole=True, not_of=("linux", "tfrc"),
    )  # fmt: skip
    timer_granularity: float | None = key(
        None, "Tick [s] of the clock that measures RTTs; 0 for an exact clock. Default: 0.01 (ns2), 0 (rfc). With "
        "linux: tick of the timers, 0.001.",
        unit="s", low=0.0, high=10.0, advice="give seconds; 0 for an exact clock", not_of=("tfrc", "mtcp"),
        linux=NOT_IN_LINUX,
    )  # fmt: skip
    clear_rtt_after: int = key(
        8, "The RTT estimate is discarded above this backoff factor (RFC 6298, section 5, allows it; BSD and ns-2: "
        "8).",
        low=1, high=65536, advice="a factor, such as 8", whole=True, not_of=("linux", "tfrc", "mtcp"),
    )  # fmt: skip
    clock_phase: float | None = key(
        None,
        "Time of the first clock tick [s]. Default: random for each flow, from the scenario's seed; for a single "
        "flow with ns2, the value of ns-2's default seed. With linux all flows share one clock.",
        unit="s", low=0.0, high=10.0, advice="give seconds", not_of=("tfrc", "mtcp"),
        ns2="ns-2 draws it; leave it out", linux=NOT_IN_LINUX,
    )  # fmt: skip
    compat: InitVar[str | None] = None
    reorder: bool = key(
        False, "Whether packets with less `jitter` may overtake others of their flow.",
        linux="in Linux no jitter lets packets overtake; leave it out",
    )  # fmt: skip
    leap: bool = key(
        False, "LEAP (Tamura, Takayasu and Takayasu, 2004): at a timeout without duplicate acknowledgements, a new "
        'segment is sent instead of the one that timed out. For "reno", "newreno" and "sack".',
        not_of=("linux",), ns2="ns-2 has no LEAP; leave it out", linux=NOT_IN_LINUX,
    )  # fmt: skip
    router_aware: bool | None = key(
        None,
        "Whether the sender encodes round-trip times for routers and obeys the windows that they set. Default: it"
        " does if it can and its path has such a router. M/TCP cannot; with false it may pass one.",
        not_of=("tfrc",),
    )
    think_law: InitVar[str | None] = None

    __pydantic_config__ = FORBID

    def __post_init__(self, compat: str | None, think_law: str | None) -> None:
        former = {"rules": ("compat", compat), "think_distribution": ("think_law", think_law)}
        for name, (old, value) in former.items():
            if value is not None:
                former_names.warn_of_key(f"flows.{old}", f"flows.{name}")
                object.__setattr__(self, name, value)
        read_texts(self, "flows.")
        check_keys(self, "flows.")
        self._check_owners()
        self._check_program()
        self._check_path()
        self._check_routes()
        self._check_rates()
        self._check_sending()
        self._check_timer()

    def _check_path(self) -> None:
        for end, names in (("source", self.source), ("target", self.target), ("route", self.route)):
            several = (names,) if isinstance(names, str) and end != "route" else names
            if several is not None and not isinstance(several, tuple):
                raise ScenarioError(f"flows.{end} must name nodes, got {shown(names)}")
            for name in several or ():
                check_name(f"flows.{end}", name)
        for rtt in self.rtts():
            check("flows.rtt", rtt, 1e-6, 1e3, 'give seconds, or text such as "200ms"')
        if self.route is not None and (self.source is not None or self.target is not None):
            raise ScenarioError("flows.route says source and target already; give one or the other")
        if self.route is not None and len(self.route) < 2:
            raise ScenarioError(f"flows.route must name at least two nodes, got {shown(list(self.route))}")
        if self.route is not None and len(set(self.route)) < len(self.route):
            raise ScenarioError(f"flows.route must not pass a node twice, got {shown(list(self.route))}")

    def _check_program(self) -> None:
        """Refuse what is a sender's, where a program sends."""
        if self.program is None:
            return
        if not isinstance(self.program, Program):
            raise ScenarioError(f"flows.program must be a Program, got {shown(self.program)}")
        for name, about in keys(self):
            if name not in OF_PROGRAMS and is_set(self, name, about):
                raise ScenarioError(
                    f"flows.{name} = {shown(getattr(self, name))}: a program has its own way; leave it out"
                )
        advice = "count Ethernet's frame: 1514 where a packet of IP has 1500 bytes"
        check("flows.packet_size (of a program)", self.packet_size, LEAST_FRAME, MOST_FRAME, advice, whole=True)

    def _check_routes(self) -> None:
        """What is of "mtcp" only: its routes, and how its receiver acknowledges."""
        if self.sender != "mtcp":
            if self.acks != SCHEMES[0] or self.routes != ():
                name = "routes" if self.routes != () else "acks"
                raise ScenarioError(
                    f'flows.{name} is for sender "mtcp", which has a list of routes; sender "{self.sender}" has one: '
                    "give flows.route"
                )
            return
        if self.routes is None or self.routes == ():
            raise ScenarioError(
                f'flows.routes is missing; sender "mtcp" has one to {MOST_ROUTES} routes: list the nodes of each, such '
                'as [["s", "a", "d"], ["s", "b", "d"]], in place of flows.source, target, route or rtt'
            )
        if any(value is not None for value in (self.source, self.target, self.route)):
            raise ScenarioError('flows.routes says the ways of sender "mtcp"; leave out flows.source, target and route')
        several = isinstance(self.routes, list | tuple)
        if not several or any(isinstance(way, str) or not isinstance(way, list | tuple) for way in self.routes):
            raise ScenarioError(
                f'flows.routes must list routes, such as [["s", "a", "d"], ["s", "b", "d"]], got {shown(self.routes)}'
            )
        routes = tuple(tuple(way) for way in self.routes)
        object.__setattr__(self, "routes", routes)
        advice = 'list the nodes of each, such as [["s", "a", "d"], ["s", "b", "d"]]'
        check("flows.routes (number)", len(routes), 1, MOST_ROUTES, advice, whole=True)
        for way in routes:
            for name in way:
                check_name("flows.routes", name)
            if len(way) < 2 or len(set(way)) < len(way):
                raise ScenarioError(
                    f"flows.routes: each must name at least two nodes, none of them twice, got {shown(list(way))}"
                )
            if (way[0], way[-1]) != (routes[0][0], routes[0][-1]):
                raise ScenarioError(
                    f"flows.routes must all lead from {routes[0][0]} to {routes[0][-1]}, got {shown(list(way))}"
                )
        if len(set(routes)) < len(routes):
            raise ScenarioError("flows.routes has one route twice; list each once")
        if self.pool is not None or self.think is not None:
            name = "pool" if self.think is None else "think"
            raise ScenarioError(
                f'flows.{name} is for TCP; sender "mtcp" has one connection, which does not begin again'
            )
        if self.delayed_ack and self.acks != "duplicated_delayed":
            raise ScenarioError(
                f'flows.delayed_ack = {shown(self.delayed_ack)}: with acks = "{self.acks}" each segment is answered at '
                'once; leave it out, or set acks = "duplicated_delayed"'
            )
        self.sender_parameters()

    def _check_sending(self) -> None:
        if self.stop is not None:
            check("flows.stop", self.stop, self.start, 1e9, "it must not lie before start")
        if self.segments_shape is not None:
            if self.segments_shape < 1.000001:
                raise ScenarioError(
                    f"flows.segments_shape must be above 1, or sizes have no mean, got {self.segments_shape:g}; 1.5 is "
                    "a common choice"
                )
            if self.segments is None:
                raise ScenarioError("flows.segments_shape needs flows.segments, the mean")
        self._check_users()
        if self.initial_window is not None:
            check("flows.initial_window", self.initial_window, 1, self.window_limit, "count packets", whole=True)
        if self.sack is False and self.sender == "sack":
            raise ScenarioError('flows.sack must not be false for sender "sack"; take "newreno"')
        if self.router_aware and (self.windowless or self.paced):
            raise ScenarioError(
                f'flows.router_aware must not be true for sender "{self.sender}", which keeps to no window of a '
                "router; leave it out"
            )
        self._check_leap()
        if self.overhead and (self.rules != "ns2" or self.windowless or self.paced):
            raise ScenarioError('flows.overhead belongs to rule book "ns2"; use flows.jitter')
        check_name("flows.control", self.control)
        if self.sender in _NOT_TCP:
            self.sender_parameters()
            return
        if self.control in RULES:
            self.rule_parameters()
            if self.echoes_each and not self.ecn:
                raise ScenarioError(
                    f'flows.ecn must be true with control "{self.control}", which lives by marks; set ecn = true'
                )
            return
        if not isinstance(self.parameters, tuple):
            raise ScenarioError(f"flows.parameters must be a tuple of numbers, got {shown(self.parameters)}")
        check("flows.parameters", len(self.parameters), 0, 8, "a rule takes at most 8 numbers", whole=True)
        for value in self.parameters:
            check("flows.parameters", value, -1e300, 1e300, "give finite numbers")

    def _check_leap(self) -> None:
        if self.leap and self.sender not in ("reno", "newreno", "sack"):
            raise ScenarioError(
                f'flows.leap is for sender "reno", "newreno" or "sack", got "{self.sender}"; take one of these'
            )
        if self.leap and self.window_limit < 2:
            raise ScenarioError(
                f"flows.leap needs flows.window_limit >= 2, got {shown(self.window_limit)}: a leap segment lies beyond "
                "the first one that is outstanding, and never beyond the advertised window; raise the limit"
            )

    def _check_owners(self) -> None:
        """Refuse keys that the rules or the sender do not support."""
        if self.as_linux and self.sender not in ("sack", "newreno"):
            raise ScenarioError(
                f'flows.rules = "linux" has senders "sack" and "newreno", got "{self.sender}"; take one of these, or '
                'rules = "rfc"'
            )
        for name, about in keys(self):
            if not is_set(self, name, about):
                continue
            at = f"flows.{name}"
            if about["only_of"] and about["only_of"] != self.rules:
                book = about["only_of"]
                raise ScenarioError(f'{at} belongs to rule book "{book}"; set rules = "{book}", or leave it out')
            if self.rules in about["not_of"]:
                raise ScenarioError(
                    f'{at} = {shown(getattr(self, name))}: rules = "{self.rules}" has its own way; leave it out'
                )
            if self.sender in about["not_of"]:
                raise ScenarioError(
                    f'{at} = {shown(getattr(self, name))}: sender "{self.sender}" {_NOT_TCP[self.sender]}; leave it out'
                )

    def _check_users(self) -> None:
        if self.think is not None:
            if self.segments is None:
                raise ScenarioError("flows.think needs flows.segments, for without an end no flow begins again")
            if self.windowless:
                raise ScenarioError(f'flows.think is for TCP; sender "{self.sender}" has no connections')
        if self.pool is not None:
            check("flows.pool", self.pool, 1, self.count, "count the connections of a user", whole=True)
            if self.count % self.pool:
                raise ScenarioError(
                    f"flows.count must be a multiple of flows.pool = {self.pool}, got {self.count}; give "
                    f"{self.count - self.count % self.pool} flows"
                )

    def _check_rates(self) -> None:
        """What is of "cbr" and "poisson" only: rate, steps and periods."""
        object.__setattr__(self, "rate_steps", _read_steps(self.rate_steps))
        if not self.open_loop:
            for name in ("rate", "rate_steps", "on_time", "off_time"):
                if getattr(self, name) not in (None, ()):
                    raise ScenarioError(
                        f'flows.{name} is for senders "cbr" and "poisson"; {self.sender} finds its own rate'
                    )
            return
        highest = min(1e13, 8e9 * self.packet_size)  # a packet each nanosecond
        if self.rate is not None:
            check("flows.rate", self.rate, 1e-3, highest, 'give bit/s, or text such as "100kbit/s"')
        elif not self.rate_steps:
            raise ScenarioError(
                f'flows.rate is missing; sender "{self.sender}" needs it, such as "100kbit/s", or flows.rate_steps'
            )
        check("flows.rate_steps", len(self.rate_steps), 0, MAX_STEPS, "take fewer steps", whole=True)
        before = -1.0
        for time, rate in _read_steps(self.rate_steps):
            check("flows.rate_steps", time, 0.0, 1e9, "a step begins at a time in s")
            if rate:
                check("flows.rate_steps", rate, 1e-3, highest, "a step has a rate in bit/s, 0 for none")
            if time <= before:
                raise ScenarioError(
                    f"flows.rate_steps must go forward in time, got a step at {time:g} s after one at {before:g} s"
                )
            before = time
        for name, other in (("on_time", "off_time"), ("off_time", "on_time")):
            if getattr(self, name) is not None:
                check(f"flows.{name}", getattr(self, name), 1e-9, 1e9, "give seconds")
                if getattr(self, other) is None:
                    raise ScenarioError(f"flows.{other} is missing beside flows.{name}; bursts and silences alternate")

    def _check_timer(self) -> None:
        s = self.settings()
        check("flows.max_rto", s["max_rto"], max(s["min_rto"], 1e-3), 1e6, "it must not lie below min_rto")
        check("flows.initial_rto", s["initial_rto"], 1e-3, s["max_rto"], "it must not exceed max_rto")
        if self.max_backoff & (self.max_backoff - 1):
            raise ScenarioError(f"flows.max_backoff must be a power of two, got {self.max_backoff}; try 64")
        if self.rules == "ns2":
            check(
                "flows.timer_granularity", s["timer_granularity"], 1e-6, 10.0, 'ns-2 has a tick; or set rules = "rfc"'
            )

    @property
    def open_loop(self) -> bool:
        """Whether the sender ignores the network ("cbr", "poisson")."""
        return self.sender in ("cbr", "poisson")

    @property
    def as_linux(self) -> bool:
        """Whether the sender does as Linux's."""
        return self.rules == "linux"

    @property
    def has_users(self) -> bool:
        """Whether flows begin again, or belong to users."""
        return self.think is not None or self.pool is not None

    @property
    def paced(self) -> str:
        """The sender's name in `kernel.paced`; "" where the loop has it itself."""
        if self.open_loop:
            return "on_off" if self.rate_steps or self.on_time is not None else ""
        return self.sender if self.sender in PACED else ""

    @property
    def windowless(self) -> bool:
        """Whether the sender has no window, and its receiver acknowledges nothing, or in its own way."""
        return self.open_loop or (bool(self.paced) and self.sender != "mtcp")

    def steps(self) -> tuple[tuple[float, float], ...]:
        """Times [s] and rates from then on [bit/s] of a sender at a given rate; the first holds from the beginning."""
        steps = tuple((float(time), float(rate)) for time, rate in self.rate_steps)
        return steps if steps and steps[0][0] == 0.0 else ((0.0, self.rate or 0.0), *steps)

    @property
    def lanes(self) -> int:
        """Records that a sender in `paced` keeps besides its state: routes, steps, or loss intervals and two more."""
        if self.routes:
            return len(self.routes)
        return len(self.steps()) if self.open_loop else int(self.sender_parameters()["intervals"]) + 2

    @property
    def longest_ack_delay(self) -> float:
        """How long [s] a receiver may hold an acknowledgement back, 0: not at all."""
        return self.delayed_ack or (0.1 if self.acks == "duplicated_delayed" else 0.0)

    def sender_parameters(self) -> dict[str, float]:
        """The parameters of a sender in `paced` by name, with its defaults filled in."""
        if self.open_loop:
            return {}
        values = {} if self.parameters == () else self.parameters
        if isinstance(values, tuple):
            raise ScenarioError(f'flows.parameters of sender "{self.sender}" are set by name, got {shown(values)}')
        return read_parameters(PACED[self.sender][self.rules], values, "flows.parameters", f'sender "{self.sender}"')

    @property
    def echoes_each(self) -> bool:
        """Whether the receiver echoes each mark by itself, as the window rule needs it (RFC 8257)."""
        return bool(getattr(RULES.get(self.control), "ECHOES_EACH", False))

    @property
    def measures(self) -> bool:
        """Whether the window rule needs the available bandwidth (`kernel.meters`)."""
        return not self.windowless and not self.paced and bool(getattr(RULES.get(self.control), "MEASURES", False))

    def rule_parameters(self) -> tuple[float, ...]:
        """The numbers of the window rule, `f.p0` and so on, with the defaults of a built-in rule filled in."""
        if self.sender in _NOT_TCP:
            return ()
        if self.control not in RULES:
            return tuple(float(value) for value in self.parameters)  # a tuple, as checked
        return tuple(self.named_parameters().values())

    def named_parameters(self) -> dict[str, float]:
        """The parameters of a built-in window rule by name, with its defaults filled in."""
        if self.sender in _NOT_TCP:
            return self.sender_parameters()
        file = RULES.get(self.control)
        values = self.parameters
        if isinstance(values, tuple):
            names = [p.name for p in parameters_of(file)]
            if len(values) > len(names):
                raise ScenarioError(f'flows.parameters: control "{self.control}" has {len(names)}, got {len(values)}')
            values = dict(zip(names, values, strict=False))
        return read_parameters(file, values, "flows.parameters", f'control "{self.control}"')

    def rtts(self) -> tuple[float, float]:
        """Minimum and maximum base RTT of the group [s] on a bottleneck (0.2 s where none is given).

        A single flow has the middle of a pair.
        """
        if self.rtt is None:
            return (0.2, 0.2)
        if isinstance(self.rtt, tuple):
            if len(self.rtt) == 2 and self.count == 1:
                return (sum(self.rtt) / 2,) * 2
            if len(self.rtt) != 2:
                raise ScenarioError(f"flows.rtt must be one value or a pair [first, last], got {shown(self.rtt)}")
            return self.rtt
        return (self.rtt, self.rtt)

    def settings(self) -> dict[str, Any]:
        """Every field, with the profile's defaults filled in.

        Examples
        --------
        >>> Flows().settings()["min_rto"], Flows(rules="rfc").settings()["min_rto"]
        (0.2, 1.0)
        """
        return dict(self._settings)

    @cached_property
    def _settings(self) -> dict[str, Any]:
        defaults = BOOKS[self.rules].DEFAULTS
        settings = {name: getattr(self, name) for name in _KEYS_OF_FLOWS}
        filled = {k: defaults[k] if k in defaults and v is None else v for k, v in settings.items()}
        filled["initial_window"] = min(filled["initial_window"], self.window_limit)
        if self.initial_rto is None:
            filled["initial_rto"] = min(filled["initial_rto"], filled["max_rto"])
        if self.windowless or self.paced:
            filled["handshake"] = False
        if self.start_spread is None:
            filled["start_spread"] = 1.0 if self.count > 1 else 0.0
        filled["sack"] = self.sender == "sack" if self.sack is None else self.sack
        if self.router_aware is None:
            filled["router_aware"] = not (self.windowless or self.paced)
        return filled


_KEYS_OF_FLOWS = tuple(field.name for field in dataclasses.fields(Flows))
#: Senders other than TCP's, and what replaces TCP's keys there.
_NOT_TCP = {
    "tfrc": "has a rate instead of a window and reports instead of acknowledgements",
    "mtcp": "has windows, acknowledgements and an exact clock of its own",
}


def _read_steps(steps: object) -> tuple[tuple[float, float], ...]:
    """Pairs of a time and a rate, texts with units read."""
    if not isinstance(steps, list | tuple):
        raise ScenarioError(f'flows.rate_steps must list pairs such as [50, "3Mbit/s"], got {shown(steps)}')
    read = []
    for step in steps:
        if not isinstance(step, list | tuple) or len(step) != 2 or any(isinstance(x, bool) for x in step):
            raise ScenarioError(
                f'flows.rate_steps must list pairs of a time and a rate, such as [50, "3Mbit/s"], got {shown(step)}'
            )
        time, rate = step
        read.append((quantity(time, "s", "flows.rate_steps"), quantity(rate, "bit/s", "flows.rate_steps")))
    return tuple(read)
