"""From a scenario to what ns-2 is told: nodes, one-way links, flows with every random choice made.

What ns-2 cannot do, or does by other rules, is refused here, in the words of the scenario.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tcpdynamics.errors import ScenarioError
from tcpdynamics.quantities import numbered

from ..packet.scenario.fields import refused_by
from ..packet.scenario.flows import Flows
from ..packet.scenario.link import Link
from ..packet.scenario.routes import Routes, ends, in_words
from ..packet.scenario.scenario import Scenario
from .queues import LARGEST, WITH_LANES, refuse_other_lanes, refuse_queue
from .sources import refuse_source


@dataclass(frozen=True)
class PlannedFlow:
    """One flow with its random choices made.

    Attributes
    ----------
    settings : mapping
        As `Flows.settings`, every default filled in.
    control : mapping
        Parameters of the window rule by name, every default filled in.
    there : tuple of int
        Indices of the links to the receiver; the first is where its packets are seen to be sent.
    start : float
        [s]
    segments : int or None
    """

    settings: Mapping[str, Any]
    control: Mapping[str, float]
    source: str
    target: str
    there: tuple[int, ...]
    start: float
    segments: int | None


@dataclass(frozen=True)
class Plan:
    """Nodes and one-way links in the order in which they are made, and the flows.

    Attributes
    ----------
    lost : mapping
        Index of a link -> the packets to lose there, counted from 0 in the order of arrival.

    Examples
    --------
    >>> from tcpdynamics.validation.packet import Bottleneck
    >>> plan(Scenario((Flows(rtt=0.2),), Bottleneck(1e6, 50)), seed=1).nodes
    ('r1', 'r2', 's0', 'd0')
    """

    nodes: tuple[str, ...]
    links: tuple[Link, ...]
    flows: tuple[PlannedFlow, ...]
    lost: Mapping[int, tuple[int, ...]]


def plan(scenario: Scenario, seed: int) -> Plan:
    """Make every random choice of a scenario that ns-2 does not make, or refuse it.

    Parameters
    ----------
    scenario : Scenario
    seed : int
        Of the random starts, ends and sizes. They are not the draws of `simulate` with that seed.

    Returns
    -------
    Plan

    Raises
    ------
    ScenarioError
        Naming the key that ns-2 cannot follow.

    Examples
    --------
    >>> from tcpdynamics.validation.packet import Bottleneck
    >>> made = plan(Scenario((Flows(rtt=0.2),), Bottleneck(1e6, 50)), seed=1)
    >>> [link.name for link in made.links]
    ['r1->r2', 's0->r1', 'r2->d0', 'd0->s0']
    """
    _refuse_links(scenario)
    rng = np.random.default_rng(seed)
    groups = [
        (group, start, segments)
        for group in scenario.flows
        for start, segments in zip(starts(group, rng), sizes(group, rng), strict=True)
    ]
    for index, group in enumerate(scenario.flows):
        try:
            _refuse_flows(group)
        except ScenarioError as error:
            raise numbered(error, "flows", index, len(scenario.flows)) from None
    if any(size is not None and size > LARGEST for _, _, size in groups):
        raise ScenarioError(f"flows.segments: ns-2 counts up to {LARGEST:,}; give less, or leave it out")
    if scenario.links:
        links, flows = _network(scenario, groups, rng)
    else:
        links, flows = _dumbbell(scenario, groups)
    nodes = tuple(dict.fromkeys(name for link in links for name in (link.source, link.target)))
    _refuse_lanes(scenario, links, flows, nodes)
    for link in links:
        if len(flows) > 1 and link.queue == "red" and link.queue_parameters.get("ns2") == 2:
            raise ScenarioError(f"links.queue_parameters.ns2 of link {link.name} is 2, for a single flow only; take 1")
    return Plan(nodes, links, tuple(flows), chosen_losses(scenario))


def _dumbbell(scenario: Scenario, groups: Sequence[Any]) -> tuple[tuple[Link, ...], list[PlannedFlow]]:
    """A quarter of the RTT before the bottleneck, a quarter after it, half on a direct way back."""
    assert scenario.bottleneck is not None
    b = scenario.bottleneck
    links = [b.as_link("r1", "r2")]
    flows = []
    rtts = [rtt for group in scenario.flows for rtt in np.linspace(*group.rtts(), group.count)]
    for i, ((group, start, segments), rtt) in enumerate(zip(groups, rtts, strict=True)):
        s, d, quarter = f"s{i}", f"d{i}", float(rtt) / 4
        first = len(links)
        links += [
            Link(s, "r1", None, quarter, duplex=False),
            Link("r2", d, None, quarter, duplex=False),
            b.way_back(d, s, 2 * quarter) or Link(d, s, None, 2 * quarter, duplex=False),
        ]
        flows.append(
            PlannedFlow(group.settings(), group.named_parameters(), s, d, (first, 0, first + 1), start, segments)
        )
    return tuple(links), flows


def _network(
    scenario: Scenario, groups: Sequence[Any], rng: np.random.Generator
) -> tuple[tuple[Link, ...], list[PlannedFlow]]:
    routes, shortest = Routes(scenario.ways), ShortestPaths(scenario.ways)
    flows = []
    for group, start, segments in groups:
        sources, targets = ends(group)
        pairs = [(a, b) for a in sources for b in targets if a != b]
        a, b = pairs[rng.integers(len(pairs))] if len(pairs) > 1 else pairs[0]
        there, back = routes.both(group, a, b)
        for route in (there, back):
            shortest.check(route)
        flows.append(PlannedFlow(group.settings(), group.named_parameters(), a, b, there, start, segments))
    return scenario.ways, flows


def starts(group: Flows, rng: np.random.Generator) -> list[float]:
    if group.arrival_rate is not None:
        gaps = rng.exponential(1.0 / group.arrival_rate, group.count)
        return [float(t) for t in group.start + np.cumsum(gaps)]
    spread = group.settings()["start_spread"]
    if not spread:
        return [group.start] * group.count
    return [float(t) for t in group.start + spread * rng.random(group.count)]


def sizes(group: Flows, rng: np.random.Generator) -> list[int | None]:
    if group.segments is None or group.segments_shape is None:
        return [group.segments] * group.count
    shape = group.segments_shape
    smallest = group.segments * (shape - 1) / shape
    drawn = smallest * rng.random(group.count) ** (-1.0 / shape)
    return [max(1, round(float(x))) for x in drawn]


def chosen_losses(scenario: Scenario) -> dict[int, tuple[int, ...]]:
    """Index of a link -> the packets to lose there, counted from 0 in the order of arrival."""
    lost: dict[int, set[int]] = {}
    for drop in scenario.drops:
        if drop.packet is None or drop.link is None:
            key = "segment" if drop.segment is not None else "ack"
            raise ScenarioError(
                f"drops.{key}: neither ns-2 nor Linux can choose by it; give drops.link and drops.packet"
            )
        if drop.packet > LARGEST:
            raise ScenarioError(f"drops.packet: ns-2 counts up to {LARGEST:,}, got {drop.packet:,}")
        lost.setdefault(scenario.link_names.index(drop.link), set()).add(drop.packet)
    return {link: tuple(sorted(packets)) for link, packets in lost.items()}


def _refuse_lanes(
    scenario: Scenario, links: Sequence[Link], flows: Sequence[PlannedFlow], nodes: Sequence[str]
) -> None:
    """Disciplines with lanes: of segments, and of acknowledgements on their way back."""
    if not any(link.queue in WITH_LANES for link in links):
        return
    places = {name: i for i, name in enumerate(nodes)}
    ends = [(places[flow.source], places[flow.target]) for flow in flows]
    numbers = list(range(len(flows)))
    ways = [flow.there for flow in flows]
    if scenario.links:
        by_ends = {(link.source, link.target): i for i, link in enumerate(links)}
        ways += [tuple(by_ends[links[i].target, links[i].source] for i in reversed(way)) for way in ways]
        ends += [(b, a) for a, b in ends]
        numbers *= 2
    refuse_other_lanes(links, ways, ends, numbers)


def _refuse_links(scenario: Scenario) -> None:
    for link in scenario.ways:
        at = f" of link {link.name}"
        refuse_queue(link)
        if link.jitter:
            raise ScenarioError(f"links.jitter{at}: ns-2 has no such thing; take flows.overhead")
        if link.router != "none":
            raise ScenarioError(f'links.router{at} is "{link.router}", which ns-2 has not; leave it out')
        if link.ack_loss is not None:
            raise ScenarioError(
                f"links.ack_loss{at}: ns-2 does not tell packets apart there; take two links with duplex = false"
            )
        if link.changes_by == "bit" and link.changes:
            raise ScenarioError(
                f'links.changes_by{at} is "bit": in ns-2 a packet keeps the rate at which it began; take "packet"'
            )
        if any(row[1] == 0 for row in link.changes):
            raise ScenarioError(f"links.changes{at}: ns-2 has no rate of 0; take a low one")
        if (link.buffer_bytes or 0) > LARGEST:
            raise ScenarioError(f"links.buffer_bytes{at}: ns-2 counts up to {LARGEST:,}; give less, or no limit")
        if link.buffer == 1:
            raise ScenarioError(f"links.buffer{at} is 1: ns-2 would refuse every packet; take 2 or more")


def _refuse_flows(group: Flows) -> None:
    refuse_source(group)
    for refusal in refused_by("ns2", group, "flows."):
        raise ScenarioError(refusal)
    if group.has_users:
        raise ScenarioError("flows.think and flows.pool are not translated for ns-2; leave those flows out")
    if group.routes:
        raise ScenarioError('flows.sender = "mtcp": ns-2 has no such sender; it cannot be compared with it')
    if group.rules != "ns2" and not group.open_loop:
        raise ScenarioError(f'flows.rules = "{group.rules}": ns-2 has its own rules; take "ns2"')
    if not group.windowless:
        _refuse_control(group)
    if group.max_backoff != 64 or group.clear_rtt_after != 8:
        raise ScenarioError("flows.max_backoff and flows.clear_rtt_after are 64 and 8 in ns-2; leave them out")


def _refuse_control(group: Flows) -> None:
    if group.control not in ("reno", "hstcp", "vegas"):
        raise ScenarioError(
            f'flows.control = "{group.control}": only "reno", "hstcp" and "vegas" are translated for ns-2'
        )
    if group.control == "hstcp" and group.named_parameters()["low_p"] != 1e-3:
        raise ScenarioError("flows.parameters.low_p: ns-2 takes 1.5 / low_window^2 for it; leave it out")
    if group.control == "vegas":
        if group.ecn:
            raise ScenarioError(
                'flows.ecn with control "vegas": ns-2\'s Vegas answers marks otherwise; set ecn = false'
            )
        if group.sender != "reno":
            raise ScenarioError(
                f'flows.sender = "{group.sender}" with control "vegas": ns-2\'s Vegas has a recovery of its own, '
                'alike only while nothing is lost; take "reno"'
            )
        if group.settings()["handshake"]:
            raise ScenarioError("flows.handshake: ns-2's Vegas sends segment 0 in full size; set handshake = false")
        if any(value % 1 for value in group.named_parameters().values()):
            raise ScenarioError("flows.parameters: ns-2's Vegas counts whole packets; round alpha, beta and gamma")


class ShortestPaths:
    """Refuses routes that ns-2 would not take: its own is a path with the fewest links."""

    def __init__(self, ways: Sequence[Link]) -> None:
        self.ways = ways
        self.beyond: dict[str, list[str]] = {}
        for way in ways:
            self.beyond.setdefault(way.source, []).append(way.target)
        self._trees: dict[str, tuple[dict[str, int], dict[str, int]]] = {}

    def check(self, route: Sequence[int]) -> None:
        """Refuse a route that is not the only shortest path between its ends."""
        nodes = [self.ways[i].source for i in route] + [self.ways[route[-1]].target]
        distance, paths = self._from(nodes[0])
        if distance[nodes[-1]] < len(route) or paths[nodes[-1]] > 1:
            raise ScenarioError(
                f"flows.route {in_words(nodes)}: ns-2 takes the path with the fewest links, and this is not "
                "the only such path; give the flow links of its own"
            )

    def _from(self, source: str) -> tuple[dict[str, int], dict[str, int]]:
        """Links to each node on a shortest path, and how many such paths there are."""
        if source not in self._trees:
            distance, paths = {source: 0}, {source: 1}
            waiting = deque([source])
            while waiting:
                node = waiting.popleft()
                for beyond in self.beyond.get(node, []):
                    if beyond not in distance:
                        distance[beyond], paths[beyond] = distance[node] + 1, 0
                        waiting.append(beyond)
                    if distance[beyond] == distance[node] + 1:
                        paths[beyond] += paths[node]
            self._trees[source] = distance, paths
        return self._trees[source]
