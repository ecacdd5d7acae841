"""From links and routes to the hops that each flow's packets take."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import pairwise

from .parts import Flows, Link
from .units import ScenarioError


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


class Routes:
    """Paths through a network of one-way links."""

    def __init__(self, ways: Sequence[Link]) -> None:
        self.index = {way.name: i for i, way in enumerate(ways)}
        self.next: dict[str, list[str]] = {}
        for way in ways:
            self.next.setdefault(way.source, []).append(way.target)
            self.next.setdefault(way.target, [])
        self._trees: dict[str, dict[str, str]] = {}

    def hops(self, nodes: Sequence[str]) -> tuple[int, ...]:
        """Indices of the links along `nodes`; refuses a node or a link that is not there."""
        for node in nodes:
            self._known(node)
        pairs = [f"{a}->{b}" for a, b in pairwise(nodes)]
        for pair in pairs:
            if pair not in self.index:
                raise ScenarioError(
                    f"flows.route {' -> '.join(nodes)} does not connect: there is no link {pair}"
                )
        return tuple(self.index[pair] for pair in pairs)

    def shortest(self, source: str, target: str) -> tuple[str, ...]:
        """Nodes of the path with the fewest links, the first listed among equals."""
        self._known(source)
        self._known(target)
        if source not in self._trees:
            before = {source: source}
            waiting = deque([source])
            while waiting:
                node = waiting.popleft()
                for beyond in self.next[node]:
                    if beyond not in before:
                        before[beyond] = node
                        waiting.append(beyond)
            self._trees[source] = before
        tree = self._trees[source]
        if target not in tree:
            raise ScenarioError(
                f"flows.source {source!r} and flows.target {target!r}: no links connect {source} to {target}"
            )
        path = [target]
        while path[-1] != source:
            path.append(tree[path[-1]])
        return tuple(reversed(path))

    def both(self, group: Flows, source: str, target: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Links there and back; back along the same nodes, or the shortest way where a link is one-way."""
        nodes = group.route or self.shortest(source, target)
        there = self.hops(nodes)
        backward = nodes[::-1]
        if any(f"{a}->{b}" not in self.index for a, b in pairwise(backward)):
            backward = self.shortest(nodes[-1], nodes[0])
        return there, self.hops(backward)

    def _known(self, node: str) -> None:
        if node not in self.next:
            known = ", ".join(list(self.next)[:8])
            raise ScenarioError(
                f"flows.source, target or route: node {node!r} is on no link; known nodes: {known}"
            )


def ends(group: Flows) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Nodes at which flows of a group may start and end."""
    if group.route is not None:
        return group.route[:1], group.route[-1:]
    if group.source is None or group.target is None:
        raise ScenarioError("flows needs source and target (or route) where links are given")
    a = (group.source,) if isinstance(group.source, str) else tuple(group.source)
    b = (group.target,) if isinstance(group.target, str) else tuple(group.target)
    if not a or not b or (len(set(a) | set(b)) < 2):
        raise ScenarioError(f"flows.source and flows.target must allow two different nodes, got {a} and {b}")
    return a, b
