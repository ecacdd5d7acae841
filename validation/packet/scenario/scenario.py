"""What to simulate: one frozen description, checked before anything runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tcpdynamics.errors import LimitError, ScenarioError, check, check_name, listed, shown
from tcpdynamics.limits import check_memory, check_work
from tcpdynamics.quantities import numbered

from ..kernel.paced.mtcp import most_at_once
from ..kernel.queues import marking
from .drops_and_records import MAX_DROPS, Drop, Record
from .fields import FORBID, check_keys, described, key, read_texts
from .flows import MAX_FLOWS, MAX_GROUPS, Flows
from .link import MAX_LINKS, Bottleneck, Link
from .routes import Routes, ends, one_way

MAX_PACKETS = 1e10

#: Links on the ways of all pairs of ends that flows may have, there and back: some ten seconds to find.
MAX_WAYS = 1_000_000

#: Operations of an event and of making a flow, and of each of its hops.
_EVENT, _FLOW, _HOP = 100.0, 2e5, 2e4

#: Time [s] up to which doubles hold all multiples of the grid's step.
LONGEST_ON_GRID = 2**17

#: Silences are counted by length 0..511 epochs; the last bin holds 512 and more.
SILENCE_BINS = 513


@described
@dataclass(frozen=True)
class Scenario:
    """A network, what runs on it, for how long, and what is written down.

    Either `bottleneck` (the dumbbell shorthand; flows have an `rtt`) or `links` (flows have `source` and `target`
    or a `route`).

    Examples
    --------
    >>> scenario = Scenario(flows=(Flows(count=2, rtt=0.1),), duration=10.0, warm_up=1.0)
    >>> scenario.bottleneck.rate
    1000000.0
    """

    flows: tuple[Flows, ...] = key(
        (Flows(),),
        "Numbered through in this order. A group appended at the end leaves the random draws of the others alone.",
        kind="tuple of Flows",
    )
    bottleneck: Bottleneck | None = key(None, "Default without links: 1 Mbit/s, no limit.")
    duration: float = key(
        1000.0, "Simulated time [s].", unit="s", low=1e-3, high=1e9, advice='give seconds, or text such as "1000s"'
    )
    warm_up: float = key(
        100.0, "Time [s] excluded from every statistic, < duration.",
        unit="s", low=0.0, high=1e9, advice='give seconds, or text such as "100s"',
    )  # fmt: skip
    name: str = key("scenario", "Of the scenario, in results and figures.")
    seed: int = key(
        1, "Of the random draws, >= 0. The same scenario and seed give the same result to the last bit.",
        low=0, high=2**128, advice="give a whole number", whole=True,
    )  # fmt: skip
    epoch: float | Literal["auto"] = key(
        "auto",
        "Length [s] of the epochs in which sent packets are counted. \"auto\": each flow's own mean RTT, i.e. base "
        "RTT + transmission time + mean wait at the bottleneck during the second half of the warm-up. With `links`: "
        "mean RTT of the flow's acknowledged segments in that time; of a flow without any, its base RTT and the "
        "mean waits at the links of its way.", unit="s", kind='float or "auto"',
    )  # fmt: skip
    slice: float = key(
        20.0, "Length [s] of the slices in which goodput is counted (the paper's 20 s).",
        unit="s", low=1e-3, high=1e9, advice='give seconds, or text such as "20s"',
    )  # fmt: skip
    drops: tuple[Drop, ...] = key((), "At most 1000.", kind="tuple of Drop")
    links: tuple[Link, ...] = key((), "The network, instead of `bottleneck`.", kind="tuple of Link")
    nodes: tuple[str, ...] = key((), "If given, every link must join two of them.", kind="tuple of str")
    record: Record = key(Record(), "Recordings besides the counters.")
    clock: Literal["auto", "grid", "double"] = key(
        "auto",
        "Double: plain double precision, sums as in ns-2, and infinitely fast links send 10^12 bit/s as there: "
        "where packets lock into a common rhythm, such differences decide which one is dropped. Grid: all times "
        "are multiples of 2^-36 s (15 ps), so simultaneous events coincide exactly and rounding decides nothing; "
        'up to three times as fast, for at most 36 hours. Auto: double if all flows have rules = "ns2", for a '
        "single flow and for longer runs; else grid.",
        choices=("auto", "grid", "double"),
    )
    scheduler: Literal["calendar", "heap"] = key(
        "calendar",
        "Two implementations of the list of events, for testing one against the other; results are the same.",
        choices=("calendar", "heap"),
    )
    most_in_epoch: int = key(
        7, "In [1, 1000]: epochs are counted by the packets sent in them, 0, 1, ... up to this number or more.",
        low=1, high=1000, advice="7 counts 0 to 6 packets and 7 or more", whole=True,
    )  # fmt: skip

    __pydantic_config__ = FORBID

    def __post_init__(self) -> None:
        read_texts(self)
        for name, part in (("flows", Flows), ("drops", Drop), ("links", Link), ("nodes", str)):
            value = getattr(self, name)
            if isinstance(value, list):
                value = tuple(value)
                object.__setattr__(self, name, value)
            if not isinstance(value, tuple) or not all(isinstance(item, part) for item in value):
                raise ScenarioError(f"{name} must be a tuple of {part.__name__}, got {shown(value, 80)}")
        if not isinstance(self.record, Record):
            raise ScenarioError(f"record must be a Record, such as Record(windows=0.1), got {shown(self.record, 80)}")
        check_name("name", self.name)
        for node in self.nodes:
            check_name("nodes", node)
        if not isinstance(self.bottleneck, Bottleneck | None):
            raise ScenarioError(
                f"bottleneck must be a table of its keys, in Python a Bottleneck, got {shown(self.bottleneck, 80)}"
            )
        if not self.links and self.bottleneck is None:
            object.__setattr__(self, "bottleneck", Bottleneck())
        self._check_times()
        check("flows", len(self.flows), 1, MAX_GROUPS, "list at least one group", whole=True)
        check("flows.count (sum)", self.count, 1, MAX_FLOWS, "simulate fewer flows on a slower link", whole=True)
        self._check_network()
        self._check_drops()
        packets = self.duration * self.packet_rate
        if packets > MAX_PACKETS:
            raise ScenarioError(
                f"duration = {self.duration:g} s is up to {packets:.1g} packets at these rates and windows, more "
                f"than {MAX_PACKETS:.0g}; shorten the run, or lower bottleneck.rate, links.rate or flows.rate"
            )
        self.check_size()

    def check_size(self, runs: int = 1, at_once: int = 1) -> None:
        """Refuse what takes too much time or memory, before anything starts.

        Parameters
        ----------
        runs, at_once : int
            Replications, and how many of them run at a time.

        Raises
        ------
        ScenarioError
            With the estimate, the bound and what to change.
        """
        advice = "shorten the run, lower bottleneck.rate, links.rate or flows.count, or take fewer links in a row"
        size = (
            f"{self.count} flows with windows up to {self.longest} packets, {len(self.ways)} "
            f"link{'s' if len(self.ways) > 1 else ''}, {self.slices} slices and the recordings"
        )
        several = f"{runs} replications of " if runs > 1 else ""
        try:
            check_work(
                f"{several}{self.duration * self.packet_rate:.2g} packets over up to {self.hops} hops",
                runs * self.work,
                advice + (", or run fewer replications" if several else ""),
            )
            check_memory(
                several + size,
                min(runs, at_once) * self.memory + (runs > 1) * runs * self.result_memory,
                "lower flows.count, flows.window_limit or links.buffer, lengthen slice, or record less"
                + (f" than record.{' and record.'.join(self.record.names)}" if self.record.anything else "")
                + (", or run fewer replications" if several else ""),
            )
        except LimitError as error:
            raise ScenarioError(str(error)) from None

    def _check_times(self) -> None:
        check_keys(self, "")
        if self.warm_up >= self.duration:
            default = " (its default)" if self.warm_up == Scenario.warm_up else ""
            raise ScenarioError(
                f"warm_up must lie below duration = {self.duration:g} s, got {self.warm_up:g} s{default}; set it, such "
                f"as warm_up = {self.duration / 10:g}, or lengthen the run"
            )
        if self.clock == "grid" and self.duration > LONGEST_ON_GRID:
            raise ScenarioError(
                f'clock = "grid" is exact for {LONGEST_ON_GRID:,} s, got duration = {self.duration:g} s; take "double"'
            )
        if self.epoch == "auto":
            if self.warm_up == 0:
                raise ScenarioError('epoch = "auto" is measured in the warm-up, which is 0 s; give one or the other')
        else:
            check("epoch", self.epoch, 1e-6, 1e9, 'give seconds, or "auto" for the mean RTT of each flow')
        for name in ("windows", "queues"):
            interval = getattr(self.record, name)
            if interval:
                check(f"record.{name}", interval, self.duration / 1e8, 1e9, "sample less often")

    def _check_network(self) -> None:
        check("links", len(self.links), 0, MAX_LINKS, "describe a smaller network", whole=True)
        if self.links and self.bottleneck is not None:
            raise ScenarioError("bottleneck and links are both given; give one")
        names = {name for link in self.links for name in (link.source, link.target)}
        missing = sorted(names - set(self.nodes)) if self.nodes else []
        if missing:
            raise ScenarioError(f"links names node {shown(missing[0])}, which is not among nodes; add it there")
        for index, group in enumerate(self.flows):
            try:
                self._check_ways(group)
            except ScenarioError as error:
                # Of links, and of the work that all routes are together, no group is at fault.
                if "flows." not in str(error) or "all flows" in str(error):
                    raise
                raise numbered(error, "flows", index, len(self.flows)) from None

    def _check_ways(self, group: Flows) -> None:
        if self.links:
            if group.rtt is not None:
                raise ScenarioError("flows.rtt is for a bottleneck; with links the delays are theirs")
            for there, back in self.routes_of(group):
                self._check_round_trip(group, there, back)
                self._check_routers(group, there, back)
        elif group.routes:
            raise ScenarioError("flows.routes need links; a bottleneck is one route")
        elif group.source is not None or group.target is not None or group.route is not None:
            raise ScenarioError("flows.source, target and route need links; on a bottleneck give flows.rtt")
        if group.echoes_each and not self.may_mark(group):
            raise ScenarioError(
                f'flows.control = "{group.control}" needs a queue that marks on its way; give a link or the bottleneck '
                f'queue = "step", or one of {", ".join(marking())}'
            )
        if group.measures:
            self._check_measured(group)
        ways = [self.ways[i] for there, _ in self.routes_of(group) for i in there]
        if group.router_aware and all(way.router == "none" for way in ways):
            raise ScenarioError(
                "flows.router_aware is true, but no link on the way of these flows runs a router; give one "
                'links.router = "t_refwa", or leave router_aware out'
            )

    def may_mark(self, group: Flows) -> bool:
        """Whether a queue marks packets of a group on one of its ways."""
        ways = self.routes_of(group) if self.links else [((0,), ())]
        return any(self.ways[i].queue in marking() for there, _ in ways for i in there)

    def _check_measured(self, group: Flows) -> None:
        """What measures needs a link that has something to say."""
        for there, _ in self.routes_of(group) or [((0,), ())]:
            rated = [self.ways[i] for i in there if self.ways[i].rate is not None]
            if not rated:
                raise ScenarioError(
                    f'flows.control = "{group.control}": no link on the way has a rate, so that there is no available '
                    "bandwidth to measure; give one links.rate"
                )
            for way in rated:
                if way.service == "analytic":
                    raise ScenarioError(
                        f'links.service must not be "analytic" on the way of a flow with control "{group.control}", '
                        "which measures there; leave it out"
                    )

    def _check_round_trip(self, group: Flows, there: tuple[int, ...], back: tuple[int, ...]) -> None:
        """Time must pass on the way, or packets would go round for ever at one instant."""
        sizes = [(group.packet_size, there), (group.ack_size, back)]
        trip = sum(self.ways[i].least_delay + 8.0 * size / self.ways[i].fastest for size, way in sizes for i in way)
        if trip < 1e-6:
            first, last = self.ways[there[0]].source, self.ways[there[-1]].target
            raise ScenarioError(
                f"a round trip from {first} to {last} takes {trip:.1g} s, less than 1e-06 s; raise links.delay"
            )

    def _check_routers(self, group: Flows, there: tuple[int, ...], back: tuple[int, ...]) -> None:
        """A router finds acknowledgements on its own link the other way only."""
        if not self.read_by_routers or group.windowless or group.router_aware is False:
            return
        names = {self.ways[i].name for i in back}
        for way in (self.ways[i] for i in there):
            if way.router != "none" and group.paced:
                raise ScenarioError(
                    f'flows.router_aware must be false for sender "{group.sender}" over link {way.name}, whose '
                    f'links.router "{way.router}" it does not heed; set it, or leave the router out'
                )
            if way.router != "none" and f"{way.target}->{way.source}" not in names:
                raise ScenarioError(
                    f'links.router of link {way.name} is "{way.router}", but acknowledgements from '
                    f"{self.ways[there[-1]].target} do not come back over {way.target}->{way.source}; make the link "
                    "duplex, or route them over it"
                )

    def _check_drops(self) -> None:
        check("drops", len(self.drops), 0, MAX_DROPS, "use links.loss or bottleneck.loss for many losses", whole=True)
        for index, drop in enumerate(self.drops):
            try:
                self._check_drop(drop)
            except ScenarioError as error:
                raise numbered(error, "drops", index, len(self.drops)) from None

    def _check_drop(self, drop: Drop) -> None:
        check("drops.flow", drop.flow, 0, self.count - 1, "flows are numbered from 0", whole=True)
        if drop.segment is not None and self._group_of(drop.flow).think is not None:
            raise ScenarioError(
                f"drops.segment: flow {drop.flow} begins again (flows.think), and has many of this number; give "
                "drops.packet"
            )
        if drop.link is not None and drop.link not in self.link_names:
            names = listed(self.link_names)
            raise ScenarioError(f"drops.link {shown(drop.link)} is not a link; known: {names}")
        if drop.ack is not None and not self.links:
            raise ScenarioError(
                "drops.ack needs links; on a bottleneck acknowledgements are lost by bottleneck.ack_loss alone"
            )

    def _group_of(self, flow: int) -> Flows:
        for group in self.flows:
            if flow < group.count:
                return group
            flow -= group.count
        raise AssertionError("flows are checked before")

    def routes_of(self, group: Flows) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Links there and back for each pair of ends that flows of the group may have, or for each of their routes.

        [] on a bottleneck.
        """
        if not self.links:
            return []
        ways = (group.source, group.target, group.routes or group.route)
        if ways not in self._known_routes:
            if group.routes:
                self._known_routes[ways] = [self._routes.along(nodes) for nodes in group.routes]
            else:
                sources, targets = ends(group)
                self._known_routes[ways] = self._find_routes(group, sources, targets)
        return self._known_routes[ways]

    def jitter_on(self, group: Flows, there: tuple[int, ...]) -> float:
        """Largest random delay [s] of a group's data packets over the links of a way there.

        Where the group gives none, a packet's transmission time on the slowest of these links: hosts are not
        synchronised to the nanosecond, and phase effects would rule flows that were. None with the profile "ns2", which
        reproduces ns-2; for a flow alone, which has no other to follow; and for senders without a window, whose packets
        are not released by those that leave a queue.

        Examples
        --------
        >>> one = Scenario((Flows(rules="rfc"),), duration=10.0, warm_up=1.0)
        >>> two = Scenario((Flows(2, rules="rfc"),), duration=10.0, warm_up=1.0)
        >>> one.jitter_on(one.flows[0], (0,)), two.jitter_on(two.flows[0], (0,))
        (0.0, 0.004)
        """
        if group.jitter is not None:
            return group.jitter
        if group.rules == "ns2" or group.windowless or self.count == 1:
            return 0.0
        return 8.0 * group.packet_size / min(self.ways[i].fastest for i in there)

    def jitters(self, group: Flows) -> tuple[float, float]:
        """Minimum and maximum `jitter_on` over the ways of a group [s]."""
        jitters = {self.jitter_on(group, there) for there, _ in self.routes_of(group) or [((0,), ())]}
        return min(jitters), max(jitters)

    def _find_routes(
        self, group: Flows, sources: tuple[str, ...], targets: tuple[str, ...]
    ) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        refusal = ScenarioError(
            f"the {len(sources)} x {len(targets)} pairs of flows.source and flows.target have more than {MAX_WAYS:,} "
            "links on their ways, with those before; name fewer nodes, or give each group a pair of its own"
        )
        if 2 * len(sources) * (len(targets) - 1) > MAX_WAYS:  # there and back
            raise refusal
        routes = []
        for a in sources:
            for b in targets:
                if a == b:
                    continue
                there, back = self._routes.both(group, a, b)
                routes.append((there, back))
                self._on_ways[0] += len(there) + len(back)
                if self._on_ways[0] > MAX_WAYS:
                    raise refusal
        return routes

    @cached_property
    def ways(self) -> tuple[Link, ...]:
        """One-way links; on a bottleneck, the bottleneck alone, and the way back where acknowledgements are lost."""
        if self.bottleneck is not None:
            back = self.bottleneck.way_back("receivers", "senders")
            return (self.bottleneck.as_link("bottleneck", "receivers"), *((back,) if back is not None else ()))
        return one_way(self.links)

    @cached_property
    def link_names(self) -> tuple[str, ...]:
        """Names of the one-way links, as in results."""
        if self.links:
            return tuple(way.name for way in self.ways)
        return ("bottleneck", "acknowledgements")[: len(self.ways)]

    @cached_property
    def links_of_drops(self) -> frozenset[str | None]:
        """Names of the links where a chosen packet is to be lost."""
        return frozenset(drop.link for drop in self.drops)

    @cached_property
    def read_by_routers(self) -> frozenset[str | None]:
        """Names of the links with a router, and of these links the other way."""
        routed = [way for way in self.ways if way.router != "none"]
        return frozenset(name for way in routed for name in (way.name, f"{way.target}->{way.source}"))

    @cached_property
    def _known_routes(self) -> dict[object, list[tuple[tuple[int, ...], tuple[int, ...]]]]:
        return {}

    @cached_property
    def _on_ways(self) -> list[int]:
        """Links on all ways that are known."""
        return [0]

    @cached_property
    def _routes(self) -> Routes:
        return Routes(self.ways)

    @cached_property
    def count(self) -> int:
        """Number of flows."""
        return sum(group.count for group in self.flows)

    @cached_property
    def exact(self) -> bool:
        """Whether times are plain doubles, as in ns-2."""
        as_ns2 = self.count == 1 or all(group.rules == "ns2" for group in self.flows)
        return self.clock == "double" or (self.clock == "auto" and (as_ns2 or self.duration > LONGEST_ON_GRID))

    @cached_property
    def packet_rate(self) -> float:
        """About the most packets per second that are sent: what the windows or rates allow, but of flows that wait
        for acknowledgements not more than twice what the slowest link on their way carries."""
        free, by_link = 0.0, dict[int, float]()
        for group in self.flows:
            bits = 8.0 * group.packet_size
            routes = self.routes_of(group)
            rtts = [sum(self.ways[i].delay for i in there + back) for there, back in routes] or [min(group.rtts())]
            window = (len(group.routes) or 1) * group.window_limit / max(min(rtts), 1e-6)
            if group.open_loop:
                free += group.count * max(rate for _, rate in group.steps()) / bits
                continue
            offered = group.count * (math.inf if group.windowless else window)
            settings = group.settings()
            slowest_timer = min(settings["max_rto"], settings["initial_rto"] * group.max_backoff)
            free += group.count / slowest_timer  # the timer sends too, however slow the way
            for there, _ in routes or [((0,), ())]:
                slowest = min(there, key=lambda i: self.ways[i].fastest)
                if group.windowless and self.ways[slowest].rate is None:
                    raise ScenarioError(
                        f'flows.sender = "{group.sender}": no link on the way has a rate, and the flow would send '
                        "ever faster; give one links.rate"
                    )
                carried = by_link.get(slowest, 0.0) + offered / max(len(routes), 1)
                by_link[slowest] = min(carried, 2.0 * self.ways[slowest].fastest / bits)
        return free + sum(by_link.values())

    @property
    def longest(self) -> int:
        """Largest advertised window [packets]."""
        return max(
            most_at_once(group) if group.routes else 1 if group.windowless else group.window_limit
            for group in self.flows
        )

    @property
    def ring(self) -> int:
        """Segments of a flow that scoreboard and receiver can hold: a power of two above any window."""
        return max(64, 1 << (2 * self.longest + 4).bit_length())

    @property
    def slices(self) -> int:
        """Whole slices in the measured part."""
        return int((self.duration - self.warm_up) / self.slice * (1 + 1e-12))

    @cached_property
    def hops(self) -> int:
        """Most links on a way there and back."""
        ways = (len(there) + len(back) for group in self.flows for there, back in self.routes_of(group))
        return max(ways, default=1)

    @property
    def work(self) -> float:
        """Rough number of operations of a run: its events, and making its flows."""
        look = _EVENT * (1.0 + 0.1 * len(self.drops))
        events = self.duration * self.packet_rate * (2.0 + self.hops)
        return look * events + self.count * (_FLOW + _HOP * self.hops)

    @property
    def result_memory(self) -> float:
        """Rough need of a result without recordings [byte]; results of replications are joined, so it counts twice."""
        per_flow = 8.0 * (57 + self.most_in_epoch + self.slices)
        return 2.0 * (self.count * per_flow + 40.0 * len(self.ways) + 20_000.0)

    @property
    def memory(self) -> float:
        """Rough need of a run [byte], traces excluded."""
        per_flow = 8 * self.ring + 8 * self.slices + 4 * SILENCE_BINS + 8 * self.most_in_epoch + 1944 + 300 * self.hops
        per_link = 300.0 * len(self.ways) + 12.0 * sum(way.buffer or 0 for way in self.ways)
        if self.drops:
            per_flow += 8 * self.ring
        return self.count * per_flow + per_link + self.recorded

    @property
    def recorded(self) -> float:
        """Rough need of what is written down [byte]; it grows as it goes, at most to twice of what is used."""
        record = self.record
        packets = self.duration * self.packet_rate
        need = 48.0 * packets * (record.sends + record.receives)
        if record.windows is not None:
            samples = self.count * self.duration / record.windows if record.windows else packets
            need += 72.0 * samples
        if record.queues is not None:
            samples = len(self.ways) * self.duration / record.queues if record.queues else packets
            need += 96.0 * samples
        return need


def refuse_above(need: float, what: str, advice: str) -> None:
    """As `check_memory`, with a ScenarioError."""
    try:
        check_memory(what, need, advice)
    except LimitError as error:
        raise ScenarioError(str(error)) from None
