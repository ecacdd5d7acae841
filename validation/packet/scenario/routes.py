"""From links and routes to the hops that each flow's packets take."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import pairwise

from tcpdynamics.errors import ScenarioError, listed, shown

from .flows import Flows
from .link import Link


def one_way(links: Iterable[Link]) -> tuple[Link, ...]:
    """Every direction by itself, in the order of the list; refuses the same direction twice.

    Examples
    --------
    >>> [link.name for link in one_way([Link("a", "b"), Link("b", "c", duplex=False)])]
    ['a->b', 'b->a', 'b->c']
    """
    ways: dict[str, Link] = {}
    for link in links:
        for way in (link, link.backward()) if link.duplex else (link,):
            if way.name in ways:
                raise ScenarioError(f"links has {way.name} twice; a duplex link makes both directions")
            ways[way.name] = way
    return tuple(ways.values())


#: Nodes that the searches for shortest ways may reach, all together: about 3 GB.
MAX_REACHED = 20_000_000


class Routes:
    """Paths through a network of one-way links."""

    def __init__(self, ways: Sequence[Link]) -> None:
        self.index = {way.name: i for i, way in enumerate(ways)}
        self.next: dict[str, list[str]] = {}
        for way in ways:
            self.next.setdefault(way.source, []).append(way.target)
            self.next.setdefault(way.target, [])
        joined: dict[str, set[str]] = {node: set(beyond) for node, beyond in self.next.items()}
        for way in ways:
            joined[way.target].add(way.source)
        # Hosts, joined to one other node only, are never passed: searches leave them out, however many there are.
        self._host_of = {node: next(iter(neighbours)) for node, neighbours in joined.items() if len(neighbours) == 1}
        self._inner = {node: [b for b in beyond if b not in self._host_of] for node, beyond in self.next.items()}
        self._searches: dict[str, tuple[dict[str, str], deque[str]]] = {}
        self._reached = 0

    def hops(self, nodes: Sequence[str]) -> tuple[int, ...]:
        """Indices of the links along `nodes`; refuses a node or a link that is not there."""
        for node in nodes:
            self._known(node)
        pairs = [f"{a}->{b}" for a, b in pairwise(nodes)]
        for pair in pairs:
            if pair not in self.index:
                raise ScenarioError(f"flows.route {in_words(nodes)} does not connect: there is no link {pair}")
        return tuple(self.index[pair] for pair in pairs)

    def shortest(self, source: str, target: str) -> tuple[str, ...]:
        """Nodes of the path with the fewest links, the first listed among equals."""
        self._known(source)
        self._known(target)
        start = self._host_of.get(source, source)
        end = self._host_of.get(target, target)
        if target == start or source == end:
            path: tuple[str, ...] = (source, target)
        else:
            between = (start,) if start == end else self._between(start, end)
            path = (source,) * (start != source) + between + (target,) * (end != target)
        if len(path) < 2 or any(b not in self.next[a] for a, b in (path[:2], path[-2:])):
            raise ScenarioError(
                f"flows.source {shown(source)} and flows.target {shown(target)}: no links connect {source} to {target}"
            )
        return path

    def _between(self, start: str, end: str) -> tuple[str, ...]:
        """The shortest path between nodes that are no hosts; () without. A search goes on where the last one ended."""
        before, waiting = self._searches.setdefault(start, ({start: start}, deque([start])))
        while end not in before and waiting:
            node = waiting.popleft()
            for beyond in self._inner[node]:
                if beyond not in before:
                    before[beyond] = node
                    waiting.append(beyond)
                    self._reached += 1
        if self._reached > MAX_REACHED:
            raise ScenarioError(
                f"finding the ways of all flows reaches more than {MAX_REACHED:,} nodes; give flows.route, or fewer "
                "flows"
            )
        if end not in before:
            return ()
        path = [end]
        while path[-1] != start:
            path.append(before[path[-1]])
        return tuple(reversed(path))

    def both(self, group: Flows, source: str, target: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Links there and back; back along the same nodes, or the shortest way where a link is one-way."""
        return self.along(group.route or self.shortest(source, target))

    def along(self, nodes: Sequence[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Links there along `nodes`, and back."""
        there = self.hops(nodes)
        backward = nodes[::-1]
        if any(f"{a}->{b}" not in self.index for a, b in pairwise(backward)):
            backward = self.shortest(nodes[-1], nodes[0])
        return there, self.hops(backward)

    def _known(self, node: str) -> None:
        if node not in self.next:
            nodes = listed(self.next)
            raise ScenarioError(
                f"flows.source, target or route: node {shown(node)} is on no link; known nodes: {nodes}"
            )


def in_words(nodes: Sequence[str]) -> str:
    """A route for a message: all of its nodes, or the ends of a long one.

    Examples
    --------
    >>> in_words("abc"), in_words("abcdefg")
    ('a -> b -> c', 'a -> ... (7 nodes) -> g')
    """
    if len(nodes) <= 3:
        return " -> ".join(nodes)
    return f"{nodes[0]} -> ... ({len(nodes)} nodes) -> {nodes[-1]}"


def ends(group: Flows) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Nodes at which flows of a group may start and end."""
    if group.route is not None:
        return group.route[:1], group.route[-1:]
    if group.source is None or group.target is None:
        raise ScenarioError("flows needs source and target (or route) where links are given")
    a = (group.source,) if isinstance(group.source, str) else tuple(group.source)
    b = (group.target,) if isinstance(group.target, str) else tuple(group.target)
    if not a or not b or (len(set(a) | set(b)) < 2):
        raise ScenarioError(
            f"flows.source and flows.target must allow two different nodes, got {shown(a)} and {shown(b)}"
        )
    return a, b
