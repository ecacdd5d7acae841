"""Work, memory and ways are estimated before anything starts; searches through networks are those of a plain one."""

import dataclasses
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics.validation.packet import Flows, Link, Scenario, ScenarioError, parse_scenario, replicate
from tcpdynamics.validation.packet.scenario import routes as ways
from tcpdynamics.validation.packet.scenario import scenario as described
from tcpdynamics.validation.packet.scenario import topologies
from tcpdynamics.validation.packet.scenario.routes import Routes


def row(links: int, duration: float) -> Scenario:
    chain = tuple(Link(f"n{i}", f"n{i + 1}", 1e9, 1e-4) for i in range(links))
    flow = Flows(source="n0", target=f"n{links}", window_limit=1_000_000)
    return Scenario((flow,), links=chain, duration=duration, warm_up=1.0)


def test_packets_count_once_for_each_link():
    row(10, 1000.0)
    with pytest.raises(ScenarioError, match=r"packets over up to 20000 hops need about .* operations, at most 1e\+13"):
        row(10_000, 1000.0)


@pytest.mark.parametrize("kind", ["work", "memory"])
def test_replications_count(kind):
    many = {"flows": [{"count": 100_000}], "duration": 100, "warm_up": 10}
    scenario = parse_scenario(many if kind == "work" else many | {"slice": 0.1})
    with pytest.raises(ScenarioError, match="operations" if kind == "work" else "GB of memory") as caught:
        replicate(scenario, 10_000 if kind == "work" else 50, workers=1)
    assert "fewer replications" in str(caught.value) and len(str(caught.value)) < 700


def test_the_bounds_can_be_set(monkeypatch):
    table = {"flows": [{}], "duration": 100, "warm_up": 10}
    scenario = parse_scenario(table)
    monkeypatch.setenv("TCPDYNAMICS_MAX_WORK", "1e5")
    with pytest.raises(ScenarioError, match="operations, at most"):
        parse_scenario(table)
    with pytest.raises(ScenarioError, match="operations, at most"):
        replicate(scenario, 2)
    monkeypatch.setenv("TCPDYNAMICS_MAX_WORK", "1e12")
    monkeypatch.setenv("TCPDYNAMICS_MAX_MEMORY", "1e3")
    with pytest.raises(ScenarioError, match="GB of memory, at most"):
        parse_scenario(table)


def test_work_and_memory_grow_with_what_they_are_of():
    small = Scenario((Flows(source="n0", target="n1"),), links=topologies.star(3), duration=100.0, warm_up=10.0)
    for change in (
        {"duration": 1000.0},
        {"flows": (Flows(20, source="n0", target="n1"),)},
        {"links": (*topologies.star(3), Link("n1", "far")), "flows": (Flows(source="n0", target="far"),)},
    ):
        large = dataclasses.replace(small, **change)
        assert large.work > small.work and large.memory >= small.memory
        assert large.result_memory >= small.result_memory


def test_pairs_of_a_star_are_bounded(monkeypatch):
    names = tuple(f"n{i}" for i in range(3000))
    with pytest.raises(ScenarioError, match="3000 x 3000 pairs"):
        Scenario((Flows(source=names, target=names),), links=topologies.star(3000), duration=10.0, warm_up=1.0)
    some = names[:50]
    scenario = Scenario((Flows(source=some, target=some),), links=topologies.star(3000), duration=10.0, warm_up=1.0)
    assert len(scenario.routes_of(scenario.flows[0])) == 50 * 49
    # Of many groups with other pairs each, together.
    monkeypatch.setattr(described, "MAX_WAYS", 10_000)
    groups = tuple(Flows(source=names[i : i + 10], target=names[30 - i : 60]) for i in range(20))
    with pytest.raises(ScenarioError, match="with those before"):
        Scenario(groups, links=topologies.star(3000), duration=10.0, warm_up=1.0)


def test_hosts_cost_no_search(monkeypatch):
    """Ten thousand flows between hosts of their own: one search between the routers, not one from each host."""
    links = topologies.dumbbell(2000)
    routes = Routes(tuple(way for link in links for way in (link, link.backward())))
    for i in range(2000):
        assert routes.shortest(f"s{i}", f"d{i}") == (f"s{i}", "r1", "r2", f"d{i}")
    assert routes._reached <= 2
    monkeypatch.setattr(ways, "MAX_REACHED", 1000)
    chain = Routes([way for i in range(60) for way in (Link(f"n{i}", f"n{i + 1}"), Link(f"n{i + 1}", f"n{i}"))])
    with pytest.raises(ScenarioError, match="more than 1,000 nodes"):
        for i in range(60):
            chain.shortest(f"n{i}", f"n{60 - i if i != 30 else 0}")


def plain_shortest(links, source, target):
    """Fewest links, the first listed among equals: a search of everything, breadth first."""
    before, waiting = {source: source}, deque([source])
    while waiting:
        node = waiting.popleft()
        for link in links:
            if link.source == node and link.target not in before:
                before[link.target] = node
                waiting.append(link.target)
    if target not in before:
        return None
    path = [target]
    while path[-1] != source:
        path.append(before[path[-1]])
    return tuple(reversed(path))


nodes = st.sampled_from("abcdefgh")
pairs = st.tuples(nodes, nodes).filter(lambda pair: pair[0] != pair[1])


@settings(max_examples=150, deadline=None)
@given(ends=st.lists(pairs, min_size=1, max_size=14, unique=True), both=st.booleans())
def test_ways_are_those_of_a_plain_search(ends, both):
    if both:
        ends = list(dict.fromkeys(way for a, b in ends for way in ((a, b), (b, a))))
    links = [Link(a, b, duplex=False) for a, b in ends]
    routes = Routes(links)
    present = sorted({name for pair in ends for name in pair})
    for source in present:
        for target in present:
            if source == target:
                continue
            expected = plain_shortest(links, source, target)
            if expected is None:
                with pytest.raises(ScenarioError, match="no links connect"):
                    routes.shortest(source, target)
            else:
                assert routes.shortest(source, target) == expected
