"""The random delay that flows have where nothing is said: who has it, how much, and what it ends."""

import json
from dataclasses import replace

import pytest

from tcpdynamics.apps.packet_outputs import what_you_ran
from tcpdynamics.errors import ScenarioError
from tcpdynamics.validation.comparisons.engines import LINUX, Cell
from tcpdynamics.validation.linux import TODAY
from tcpdynamics.validation.linux.case import case
from tcpdynamics.validation.linux.plan import plan
from tcpdynamics.validation.packet import Bottleneck, Flows, Link, Scenario, parse_scenario, simulate
from tcpdynamics.validation.packet.kernel.records import SENDERS
from tcpdynamics.validation.packet.kernel.senders import BOOKS
from tcpdynamics.validation.packet.setup import build

TIMES = {"duration": 12.0, "warm_up": 2.0, "slice": 5.0}
LINKS = (
    Link("s", "a", 8e6, 0.01), Link("a", "d", 2e6, 0.02, buffer=10),
    Link("s", "b", None, 0.01), Link("b", "d", 1e6, 0.02, buffer=10),
)  # fmt: skip
PAIRS = [(sender, rules) for sender in SENDERS for rules in BOOKS]
#: A packet of 500 bytes on a's and b's slowest link [s].
OVER_A, OVER_B = 4000 / 2e6, 4000 / 1e6


def network(sender, rules, count, **more):
    """So many flows over a, those of several routes over a and b; None where the book has no such sender."""
    way = {"routes": (("s", "a", "d"), ("s", "b", "d"))} if sender == "mtcp" else {"route": ("s", "a", "d")}
    rate = {"rate": 1e5} if sender in ("cbr", "poisson") else {}
    try:
        return Scenario((Flows(count, sender, rules, **way, **rate, **more),), links=LINKS, **TIMES)
    except ScenarioError:
        assert rules == "linux"
        return None


def bytes_of(scenario, seed=1):
    result = simulate(scenario, seed)
    return b"".join(result[name].values.tobytes() for name in sorted(result.data_vars))


def key_of(scenario):
    """Of its recorded run on Linux."""
    return LINUX.keys(Cell(scenario, LINUX, TODAY, ("reno",)), (1,))[0]


def delays(scenario):
    """The random delays of all hops [s], in their order."""
    return build(scenario, 1).hops["jitter"].tolist()


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize(("sender", "rules"), PAIRS)
def test_every_sender_by_every_book(sender, rules, count):
    scenario = network(sender, rules, count)
    if scenario is None:
        return
    has = rules != "ns2" and count > 1 and sender not in ("tfrc", "cbr", "poisson")
    known = [OVER_A, OVER_B] if sender == "mtcp" else [OVER_A]
    assert sorted(set(delays(scenario)) - {0.0}) == pytest.approx(known if has else [])
    assert not any(delays(network(sender, rules, count, jitter=0.0)))
    if not has:
        assert bytes_of(scenario) == bytes_of(network(sender, rules, count, jitter=0.0))
    elif sender != "mtcp":  # whose routes have a delay each
        assert bytes_of(scenario) == bytes_of(network(sender, rules, count, jitter=OVER_A))
        assert bytes_of(scenario) != bytes_of(network(sender, rules, count, jitter=0.0))
    assert bytes_of(scenario, 5) == bytes_of(scenario, 5)
    if has:
        assert bytes_of(scenario, 5) != bytes_of(scenario, 6)


def test_each_group_by_its_own_book_and_way():
    """Beside a flow of another kind a flow is not alone; flows that draw their ends have the delay of their way."""
    groups = (
        Flows(2, rules="ns2", route=("s", "a", "d")), Flows(1, rules="rfc", route=("s", "b", "d"), packet_size=1000),
        Flows(1, sender="cbr", rate=1e4, rules="rfc", route=("s", "a", "d")),
        Flows(3, rules="linux", source="s", target=("a", "b")), Flows(2, rules="rfc", source="s", target="b"),
    )  # fmt: skip
    scenario = Scenario(groups, links=LINKS, **TIMES)
    found = [scenario.jitters(group) for group in groups]
    assert found == [(0.0, 0.0), (0.008, 0.008), (0.0, 0.0), (0.0, 0.0005), (0.0, 0.0)]
    told = json.loads(simulate(scenario).attrs["what_you_ran"])["flows"]
    assert [flows["jitter"] for flows in told] == [0.0, 0.008, 0.0, [0.0, 0.0005], 0.0]


def test_what_is_printed_names_the_delay_in_force():
    flows = {"count": 2, "rules": "rfc", "packet_size": 500}
    table = {"flows": [flows], "bottleneck": {"rate": "1Mbit/s"}, "duration": "10s", "warm_up": "1s"}
    assert "jitter 4 ms" in next(what_you_ran(parse_scenario(table)))
    flows["jitter"] = 0
    assert "jitter 0 s" in next(what_you_ran(parse_scenario(table)))
    flows["rules"] = "ns2"
    assert "jitter" not in next(what_you_ran(parse_scenario(table)))


@pytest.mark.parametrize("rules", ["rfc", "linux"])
def test_ten_cubic_flows_are_not_ruled_by_phase(rules):
    """Ten round-trip times, 3 Mbit/s, 40 packets: in step the five nearer flows get 2.4 Mbit/s and more."""
    flows = Flows(10, "sack", rules, "cubic", rtt=(0.02, 0.2), packet_size=1500, window_limit=1000)
    scenario = Scenario((flows,), Bottleneck(3e6, 40), duration=120.0, warm_up=20.0)
    in_step = replace(scenario, flows=(replace(flows, jitter=0.0),))
    for seed in (1, 2, 3):
        one, other = simulate(scenario, seed), simulate(in_step, seed)
        near, before = (float(run.goodput.values[:5].sum()) * 12e3 / 100.0 for run in (one, other))
        assert 1.4e6 < near < 2.0e6 and not one.attrs["warning"]
        assert before > 2.3e6 and "phase effect" in other.attrs["warning"]


def test_linux_has_the_same_on_a_bottleneck_and_none_over_links():
    flows = Flows(3, rules="linux", rtt=(0.05, 0.1))
    alike = [Scenario((replace(flows, jitter=late),), Bottleneck(1e6, 20), **TIMES) for late in (None, 0.004, 0.0)]
    left_out, given, none = (case(one, plan(one, 1, TODAY)) for one in alike)
    assert left_out == given != none
    of_runs = [key_of(one) for one in alike]
    assert of_runs[0] == of_runs[1] != of_runs[2]
    over_links = [network("sack", "linux", 2, jitter=late) for late in (None, 0.0)]
    assert case(over_links[0], plan(over_links[0], 1, TODAY)) == case(over_links[1], plan(over_links[1], 1, TODAY))
    assert key_of(over_links[0]) == key_of(over_links[1])
