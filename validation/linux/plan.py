"""From a scenario to the guest's network: spaces, wires between them with queues, and flows with addresses.

What Linux cannot do, or does by other rules, is refused here, in the words of the scenario.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tcpdynamics.errors import ScenarioError, listed, shown
from tcpdynamics.quantities import numbered

from ..ns2.plan import chosen_losses, sizes, starts
from ..packet.scenario.flows import Flows
from ..packet.scenario.link import Link
from ..packet.scenario.program import Program
from ..packet.scenario.routes import Routes, ends
from ..packet.scenario.scenario import Scenario
from .guest import FIRST_ADDRESS
from .queues import queue, refuse_queue, wire_of_delay
from .refusals import HEADERS, refuse
from .stacks import resolved
from .switches import BUILT, CONTROLS, SENDERS, LinuxSwitches

#: Bytes of time stamps in a data packet, and of where a route's data belongs.
TIMESTAMPS, MAPPING = 12, 24
#: A packet may pass so many spaces.
MOST_HOPS = 60
#: Linux's own least timeout [s].
LEAST_TIMEOUT = 0.2


@dataclass(frozen=True)
class Wire:
    """A one-way connection of two spaces.

    Attributes
    ----------
    source, target : str
    lines : tuple of str
        What `tc` is told, with `DEV` for the device.
    link : int or None
        The scenario's link whose queue it is.
    lost : tuple of int or None
        Packets to lose, counted from 0 in the order in which they come; None of a wire on which none is counted.
    """

    source: str
    target: str
    lines: tuple[str, ...] = ()
    link: int | None = None
    lost: tuple[int, ...] | None = None


@dataclass(frozen=True)
class LinuxRoute:
    """One of the routes of a flow.

    Attributes
    ----------
    there : tuple of int
        Indices of the scenario's links to the receiver.
    wires_there, wires_back : tuple of int
        Indices of wires, between the spaces to which its two hosts are plugged.
    addresses : tuple of str
        Of sender and receiver; a packet's tell its flow and its route.
    to_queue : float
        Time [s] from its sender to the first queue.
    delay : float
        Propagation time [s] from its sender to its receiver.
    """

    there: tuple[int, ...]
    wires_there: tuple[int, ...]
    wires_back: tuple[int, ...]
    addresses: tuple[str, str]
    to_queue: float
    delay: float


@dataclass(frozen=True)
class LinuxFlow:
    """One flow with its random choices made.

    Attributes
    ----------
    routes : tuple of LinuxRoute
        Several of a flow by Multipath TCP.
    hosts : tuple of str
        Spaces of sender and receiver.
    window : tuple of int
        First and largest window [packets].
    """

    routes: tuple[LinuxRoute, ...]
    hosts: tuple[str, str]
    control: str
    packet_size: int
    payload: int
    window: tuple[int, int]
    min_rto: float
    max_rto: float | None
    quick: bool
    start: float
    stop: float | None
    segments: int | None
    program: Program | None = None

    @property
    def there(self) -> tuple[int, ...]:
        """Links of the first route."""
        return self.routes[0].there

    @property
    def multipath(self) -> bool:
        return len(self.routes) > 1


@dataclass
class LinuxPlan:
    """The guest's network.

    Attributes
    ----------
    spaces : dict
        Name of a network name space -> its settings below net, and under "control" that of its receivers.
    links : tuple of Link
        Those of the scenario, one-way.
    lost : dict
        Index of a link -> the packets to lose there, counted from 0 in the order of arrival.
    """

    links: tuple[Link, ...]
    lost: dict[int, tuple[int, ...]] = field(default_factory=dict)
    spaces: dict[str, dict[str, str]] = field(default_factory=dict)
    wires: list[Wire] = field(default_factory=list)
    flows: list[LinuxFlow] = field(default_factory=list)
    paced: bool = False

    def wire(
        self, source: str, target: str, lines: tuple[str, ...] = (), link: int | None = None, lost: Any = None
    ) -> int:
        """The number of a wire, the one that is there already if it is the same."""
        wire = Wire(source, target, lines, link, lost)
        if link is None and lost is None and wire in self.wires:
            return self.wires.index(wire)
        for name in (source, target):
            self.spaces.setdefault(name, {"ipv4/ip_forward": "1"})
        self.wires.append(wire)
        return len(self.wires) - 1


def plan(
    scenario: Scenario,
    seed: int,
    switches: LinuxSwitches,
    controls: Sequence[str] | None = None,
    disciplines: dict[str, str] | None = None,
) -> LinuxPlan:
    """Make every random choice of a scenario that Linux does not make, or refuse it.

    Parameters
    ----------
    scenario : Scenario
    seed : int
        Of the random starts, ends and sizes; they are those of `validation.ns2.plan`.
    switches : LinuxSwitches
    controls : sequence of str, optional
        Linux's control of each group of flows. Default: `flows.control` as `CONTROLS` translates it.
    disciplines : mapping, optional
        Name of a link -> the queue discipline in the words of Linux's `tc`, in place of the scenario's.

    Raises
    ------
    ScenarioError
        Naming the key that Linux cannot follow.

    Examples
    --------
    >>> from tcpdynamics.validation.packet import Bottleneck
    >>> made = plan(Scenario((Flows(rtt=0.2),), Bottleneck(1e6, 50)), 1, LinuxSwitches())
    >>> [(wire.source, wire.target) for wire in made.wires]
    [('r1', 'r2'), ('s', 'r1'), ('r2', 'd'), ('d', 's'), ('a0', 's'), ('d', 'b0')]
    >>> made.wires[0].lines
    ('qdisc add dev DEV root netem rate 1000000bit limit 50',)
    """
    for value, kind, key in ((scenario, Scenario, "scenario"), (switches, LinuxSwitches, "switches")):
        if not isinstance(value, kind):
            raise ScenarioError(f"{key} must be a {kind.__name__}, got {shown(value)}")
    refuse(scenario)
    if switches.pacing and any(group.routes for group in scenario.flows):
        raise ScenarioError("switches.pacing: Linux has it not for flows over several routes; set it to false")
    chosen = _controls(scenario, controls)
    rng = np.random.default_rng(seed)
    drawn = [
        (index, start, segments)
        for index, group in enumerate(scenario.flows)
        for start, segments in zip(starts(group, rng), sizes(group, rng), strict=True)
    ]
    names = disciplines or {}
    if not isinstance(names, Mapping) or not all(isinstance(words, str) for words in names.values()):
        raise ScenarioError(
            f'disciplines must give tc\'s words by the name of a link, such as {{"bottleneck": "codel limit 99"}}, got '
            f"{shown(disciplines)}"
        )
    for name in names:
        if name not in scenario.link_names:
            raise ScenarioError(
                f"disciplines names link {shown(name)}, which the scenario has not; it has "
                f"{listed(scenario.link_names)}"
            )
    for name, link in zip(scenario.link_names, scenario.ways, strict=True):
        refuse_queue(link, names.get(name), "bottleneck" if scenario.bottleneck is not None else "links")
    make = _network if scenario.links else _dumbbell
    guest = make(scenario, switches, rng, drawn, chosen, names)
    guest.paced = switches.pacing
    longest = max(len(way.wires_there + way.wires_back) for f in guest.flows for way in f.routes)
    if longest > MOST_HOPS:
        raise ScenarioError(f"flows.route: {longest} hops are too many for Linux; take at most {MOST_HOPS}")
    return guest


def _dumbbell(
    scenario: Scenario,
    switches: LinuxSwitches,
    rng: np.random.Generator,
    drawn: Sequence[tuple[int, float, int | None]],
    controls: Sequence[str],
    disciplines: dict[str, str],
) -> LinuxPlan:
    """A quarter of the RTT before the bottleneck, a quarter after it, half on a direct way back."""
    assert scenario.bottleneck is not None
    link = scenario.bottleneck.as_link("r1", "r2")
    guest = LinuxPlan((link,), chosen_losses(scenario))
    largest = max(group.packet_size for group in scenario.flows)
    middle = _pass(guest, 0, link, largest, disciplines.get(scenario.link_names[0]))
    rtts = [float(rtt) for group in scenario.flows for rtt in np.linspace(*group.rtts(), group.count)]
    way_back = scenario.bottleneck.way_back("d", "s")
    for (index, start, segments), rtt in zip(drawn, rtts, strict=True):
        there = (guest.wire("s", "r1", wire_of_delay(rtt / 4)), *middle, guest.wire("r2", "d", wire_of_delay(rtt / 4)))
        jitter = scenario.jitter_on(scenario.flows[index], (0,))
        lost = way_back.loss if way_back else 0.0
        back = (guest.wire("d", "s", wire_of_delay(rtt / 2, lost, jitter)),)
        way = LinuxRoute((0,), there, back, _addresses(len(guest.flows)), rtt / 4, rtt / 2)
        _add(guest, scenario.flows[index], controls[index], switches, ("s", "d"), (way,), start, segments)
    return guest


def _network(
    scenario: Scenario,
    switches: LinuxSwitches,
    rng: np.random.Generator,
    drawn: Sequence[tuple[int, float, int | None]],
    controls: Sequence[str],
    disciplines: dict[str, str],
) -> LinuxPlan:
    """Each node is a space, each link one wire or several."""
    routes = Routes(scenario.ways)
    guest = LinuxPlan(tuple(scenario.ways), chosen_losses(scenario))
    names = {
        node: f"n{i}" for i, node in enumerate(dict.fromkeys(n for w in scenario.ways for n in (w.source, w.target)))
    }
    largest = max(group.packet_size for group in scenario.flows)
    passes: dict[int, tuple[int, ...]] = {}

    def along(way: Sequence[int]) -> tuple[int, ...]:
        for i in way:
            if i not in passes:
                link = scenario.ways[i]
                passes[i] = _pass(
                    guest, i, link, largest, disciplines.get(link.name), names[link.source], names[link.target]
                )
        return tuple(wire for i in way for wire in passes[i])

    for index, start, segments in drawn:
        group = scenario.flows[index]
        nodes, chosen_routes = _routes(routes, group, rng)
        ways = tuple(
            LinuxRoute(
                there,
                along(there),
                along(back),
                _addresses(len(guest.flows), n),
                _to_queue(scenario, there),
                sum(scenario.ways[i].delay for i in there),
            )
            for n, (there, back) in enumerate(chosen_routes)
        )
        a, b = (names[node] for node in nodes)
        _add(guest, group, controls[index], switches, (a, b), ways, start, segments)
    return guest


def _routes(
    routes: Routes, group: Flows, rng: np.random.Generator
) -> tuple[tuple[str, str], list[tuple[tuple[int, ...], tuple[int, ...]]]]:
    """Both ends of a flow, and the links there and back of its routes."""
    if group.routes:
        return (group.routes[0][0], group.routes[0][-1]), [routes.along(nodes) for nodes in group.routes]
    sources, targets = ends(group)
    pairs = [(a, b) for a in sources for b in targets if a != b]
    a, b = pairs[rng.integers(len(pairs))] if len(pairs) > 1 else pairs[0]
    return (a, b), [routes.both(group, a, b)]


def _to_queue(scenario: Scenario, there: Sequence[int]) -> float:
    """Delay [s] of the links before the first with a rate."""
    first = next((n for n, i in enumerate(there) if scenario.ways[i].rate is not None), len(there))
    return float(sum(scenario.ways[i].delay for i in there[:first]))


def _addresses(flow: int, route: int = 0) -> tuple[str, str]:
    """Of a flow's sender and receiver on one of its routes.

    >>> _addresses(200, 1)
    ('12.0.1.73', '13.0.1.73')
    """
    suffix = f"{flow >> 14 & 255}.{flow >> 7 & 127}.{(flow & 127) + 1}"
    return f"{FIRST_ADDRESS + 2 * route}.{suffix}", f"{FIRST_ADDRESS + 2 * route + 1}.{suffix}"


def _pass(
    made: LinuxPlan, index: int, link: Link, largest: int, words: str | None, source: str = "", target: str = ""
) -> tuple[int, ...]:
    """The wires of a link: losses where they need a place of their own, the queue, the delay."""
    stages = list(queue(link, largest, words))
    source, target = source or link.source, target or link.target
    before = []
    if index in made.lost:
        before = [made.wire(source, f"m{index}x0", lost=made.lost[index])]
        source = f"m{index}x0"
    stops = [source, *(f"m{index}x{i}" for i in range(1, len(stages))), target]
    after = [
        made.wire(stops[i], stops[i + 1], lines, index if of_queue else None)
        for i, (lines, of_queue) in enumerate(stages)
    ]
    return (*before, *after)


def _add(
    made: LinuxPlan, group: Flows, control: str, switches: LinuxSwitches, nodes: tuple[str, str],
    routes: tuple[LinuxRoute, ...], start: float, segments: int | None,
) -> None:  # fmt: skip
    """Add a flow, its hosts in spaces of their own settings."""
    sack = SENDERS[group.sender] if group.sack is None or group.sender == "sack" else group.sack
    settings = {f"ipv4/{key}": value for key, value in switches.sysctls(sack, group.ecn).items()}
    if control == "dctcp":  # its receivers echo otherwise, and know it by their own control
        settings["control"] = control
    min_rto = group.min_rto or switches.min_rto
    # Of the route alone is too little: after some timeouts Linux forgets the route.
    if min_rto != LEAST_TIMEOUT:
        settings["ipv4/tcp_rto_min_us"] = str(round(1e6 * min_rto))
    # Hosts of its own: Linux announces a host's addresses to all that it talks to, and a program sees no other flow.
    if group.routes or group.program is not None:
        settings["flow"] = str(len(made.flows))
    hosts = []
    for letter in "ab":
        alike = [n for n, space in made.spaces.items() if n[0] == letter and space == settings]
        name = alike[0] if alike else f"{letter}{sum(n[0] == letter for n in made.spaces)}"
        made.spaces[name] = settings
        hosts.append(name)
    made.wire(hosts[0], nodes[0])
    made.wire(nodes[1], hosts[1])
    delayed = bool(group.delayed_ack) if switches.delayed_ack is None else switches.delayed_ack
    options = TIMESTAMPS * switches.timestamps + MAPPING * (len(routes) > 1)
    made.flows.append(
        LinuxFlow(
            routes, (hosts[0], hosts[1]), control, group.packet_size, group.packet_size - HEADERS - options,
            (group.initial_window or min(switches.initial_window, group.window_limit), group.window_limit),
            min_rto, group.max_rto, not delayed, start, group.stop, segments, resolved(group.program),
        )
    )  # fmt: skip


def _controls(scenario: Scenario, controls: Sequence[str] | None) -> list[str]:
    """Linux's control of each group."""
    if controls is not None:
        if isinstance(controls, str) or len(controls) != len(scenario.flows):
            raise ScenarioError(
                f"controls must name one control for each of the {len(scenario.flows)} groups of flows, got "
                f"{shown(controls)}"
            )
        for name in controls:
            if name not in BUILT:
                raise ScenarioError(f"controls: Linux has no {shown(name)} here; known are {', '.join(BUILT)}")
        if any(name == "dctcp" and not group.ecn for name, group in zip(controls, scenario.flows, strict=True)):
            raise ScenarioError('flows.ecn must be true with controls "dctcp", which lives by marks; set ecn = true')
        return list(controls)
    for index, group in enumerate(scenario.flows):
        if group.control not in CONTROLS:
            text = f'flows.control = "{group.control}": Linux has no such control; take one of {", ".join(CONTROLS)}'
            raise numbered(ScenarioError(text), "flows", index, len(scenario.flows))
        if group.parameters:
            text = "flows.parameters: Linux has its own; leave them out, or name Linux's control with controls"
            raise numbered(ScenarioError(text), "flows", index, len(scenario.flows))
    return [CONTROLS[group.control] for group in scenario.flows]
