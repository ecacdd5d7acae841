"""Each key of a scenario changes what Linux is told, or is refused by its name, or is listed here with the reason."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from tcpdynamics.errors import ScenarioError
from tcpdynamics.validation.linux import TODAY, plan
from tcpdynamics.validation.linux.case import case
from tcpdynamics.validation.linux.queues import TRANSLATED
from tcpdynamics.validation.packet import Bottleneck, Drop, Flows, Link, Program, Record, Scenario
from tcpdynamics.validation.packet.kernel.parameters import parameters_of
from tcpdynamics.validation.packet.kernel.queues import DISCIPLINES

#: Keys that say how results are counted and called, or how our own simulator computes.
SILENT = {
    "scenario": {"name", "epoch", "slice", "most_in_epoch", "clock", "scheduler", "nodes", "record.sends"},
    "flows": {"rules", "think_distribution", "on_off"},  # Linux has its own rules; distributions of what is refused
    "links": {"service", "changes_by", "router_parameters"},  # how it is computed; of what is refused
}
#: Another value of each key, and what it needs beside it.
FLOWS: dict[str, dict[str, Any]] = {
    "count": {"count": 2}, "sender": {"sender": "newreno"}, "rules": {"rules": "rfc"}, "control": {"control": "cubic"},
    "parameters": {"parameters": {"low_window": 20}, "control": "hstcp"}, "rtt": {"rtt": 0.3},
    "packet_size": {"packet_size": 700}, "ack_size": {"ack_size": 60}, "jitter": {"jitter": 0.001},
    "overhead": {"overhead": 0.01}, "start": {"start": 1.0}, "start_spread": {"start_spread": 1.0},
    "arrival_rate": {"arrival_rate": 1.0}, "stop": {"stop": 5.0}, "segments": {"segments": 9},
    "segments_shape": {"segments_shape": 1.5, "segments": 9}, "think": {"think": 1.0, "segments": 9},
    "think_distribution": {"think_distribution": "fixed"}, "pool": {"pool": 1}, "rate": {"rate": 1e5, "sender": "cbr"},
    "rate_steps": {"rate_steps": ((0.0, 1e5),), "sender": "cbr"},
    "on_time": {"on_time": 1.0, "off_time": 1.0, "rate": 1e5, "sender": "cbr"},
    "off_time": {"on_time": 1.0, "off_time": 1.0, "rate": 1e5, "sender": "poisson"}, "on_off": {"on_off": "fixed"},
    "window_limit": {"window_limit": 9}, "initial_window": {"initial_window": 3}, "handshake": {"handshake": False},
    "limited_transmit": {"limited_transmit": False}, "delayed_ack": {"delayed_ack": 0.1},
    "sack": {"sack": True, "sender": "newreno"}, "ecn": {"ecn": True}, "priority": {"priority": 1},
    "timestamps": {"timestamps": True}, "loss_probes": {"loss_probes": True, "rules": "linux"},
    "frto": {"frto": True, "rules": "linux"}, "min_rto": {"min_rto": 0.5}, "max_rto": {"max_rto": 30.0},
    "initial_rto": {"initial_rto": 2.0}, "max_backoff": {"max_backoff": 8},
    "timer_granularity": {"timer_granularity": 0.1}, "clear_rtt_after": {"clear_rtt_after": 16},
    "clock_phase": {"clock_phase": 0.001}, "reorder": {"reorder": True}, "leap": {"leap": True},
    "router_aware": {"router_aware": True},
    "program": {"program": Program(server=("x",), client=("y",)), "packet_size": 1514},
}  # fmt: skip
#: Keys of flows on a network, tried below.
ON_LINKS = {"source", "target", "route", "routes", "acks"}
LINKS: dict[str, dict[str, Any]] = {
    "rate": {"rate": 2e6}, "delay": {"delay": 0.03}, "buffer": {"buffer": 9}, "buffer_bytes": {"buffer_bytes": 9000},
    "queue": {"queue": "codel"}, "queue_parameters": {"queue_parameters": {"target": 0.01}, "queue": "codel"},
    "service": {"service": "served"}, "loss": {"loss": 0.1}, "jitter": {"jitter": 0.001},
    "duplex": {"duplex": False}, "ack_loss": {"ack_loss": 0.1}, "reorder": {"reorder": True},
    "changes": {"changes": ((1.0, 2e6),)}, "changes_by": {"changes_by": "bit"}, "router": {"router": "t_refwa"},
    "router_parameters": {"router_parameters": {}}, "priority": {"priority": "retransmissions"},
    "priority_buffer": {"priority_buffer": 3, "priority": "retransmissions"},
}  # fmt: skip
RECORDS = {"receives": True, "drops": True, "windows": 0.1, "queues": 0.1, "sends": True}


def told(scenario: Scenario) -> dict[str, Any]:
    return case(scenario, plan(scenario, 1, TODAY))


def dumbbell(flow: dict[str, Any] | None = None, **rest: Any) -> Scenario:
    link = Bottleneck(**({"rate": 1e6, "buffer": 8} | rest.pop("link", {})))
    return Scenario(
        (Flows(**({"rtt": 0.1} | (flow or {}))),), link, **({"duration": 9.0, "warm_up": 0.0, "epoch": 2.0} | rest)
    )


def network(flow: dict[str, Any] | None = None, **link: Any) -> Scenario:
    links = (Link("s", "a", 1e7, 0.01), Link(**({"source": "a", "target": "d", "buffer": 8} | link)))
    links += (
        Link("s", "b"),
        Link("b", "d"),
        Link("d", "a", duplex=False) if link.get("duplex") is False else Link("d", "e"),
    )
    ends = {"source": "s", "target": "d"} if flow is None else flow
    return Scenario((Flows(**ends),), None, 9.0, 0.0, epoch=2.0, links=links)


def heeds(plain: Scenario, make: Any, *keys: str) -> bool:
    """Whether Linux is told something else, or refuses by its name the key or one without which it has no meaning."""
    try:
        return told(plain) != told(make())
    except ScenarioError as error:
        names = {re.sub(r"\[\d+\]", "", word.rstrip(":,")) for word in str(error).split()}
        assert any(name.split(".")[-1] in keys for name in names if "." in name), error
        return True


def test_every_key_is_tried() -> None:
    names = {part: {f.name for f in dataclasses.fields(part)} for part in (Flows, Link, Bottleneck, Record)}
    assert names[Flows] == set(FLOWS) | ON_LINKS
    assert names[Link] == set(LINKS) | {"source", "target"}
    assert names[Bottleneck] <= names[Link] and names[Record] == set(RECORDS)


@pytest.mark.parametrize("key", sorted(FLOWS))
def test_keys_of_flows(key: str) -> None:
    beside = {k: v for k, v in FLOWS[key].items() if k != key and k in ("control", "segments")}
    plain = dumbbell({k: v for k, v in beside.items() if k != "control"})
    assert heeds(plain, lambda: dumbbell(FLOWS[key]), *FLOWS[key]) != (key in SILENT["flows"])


@pytest.mark.parametrize(
    ("key", "flow"),
    [
        ("source", {"source": "b", "target": "d"}),
        ("target", {"source": "s", "target": "e"}),
        ("route", {"route": ("s", "b", "d")}),
        ("routes", {"sender": "mtcp", "routes": (("s", "a", "d"), ("s", "b", "d"))}),
        ("acks", {"sender": "mtcp", "routes": (("s", "a", "d"), ("s", "b", "d")), "acks": "duplicated"}),
    ],
)
def test_keys_of_flows_on_links(key: str, flow: dict[str, Any]) -> None:
    assert heeds(network(), lambda: network(flow), key)


@pytest.mark.parametrize("key", sorted(LINKS))
def test_keys_of_links(key: str) -> None:
    plain = network(**{k: v for k, v in LINKS[key].items() if k == "queue" != key})
    assert heeds(plain, lambda: network(**LINKS[key]), *LINKS[key]) != (key in SILENT["links"])


@pytest.mark.parametrize("key", sorted(f.name for f in dataclasses.fields(Bottleneck)))
def test_keys_of_the_bottleneck(key: str) -> None:
    plain = dumbbell(link={k: v for k, v in LINKS[key].items() if k == "queue" != key})
    assert heeds(plain, lambda: dumbbell(link=LINKS[key]), *LINKS[key]) != (key in SILENT["links"])


@pytest.mark.parametrize(
    ("queue", "name", "usual"),
    [(queue, p.name, p.default) for queue in TRANSLATED for p in parameters_of(DISCIPLINES[queue])],
)
def test_parameters_of_disciplines(queue: str, name: str, usual: float) -> None:
    value = {0.0: 1.0}.get(usual, usual / 2 if usual >= 2 or usual < 0.5 else usual / 4)
    plain = dumbbell(link={"queue": queue, "buffer": 50})
    made = {"queue": queue, "buffer": 50, "queue_parameters": {name: value}}
    assert heeds(plain, lambda: dumbbell(link=made), name) != (name == "linux")  # ours; Linux is Linux


@pytest.mark.parametrize("key", sorted(RECORDS))
def test_keys_of_record(key: str) -> None:
    given = dumbbell(record=Record(**{key: RECORDS[key]}))
    assert heeds(dumbbell(), lambda: given, key) != (f"record.{key}" in SILENT["scenario"])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("duration", 8.0), ("warm_up", 1.0), ("name", "other"), ("epoch", 1.0), ("slice", 3.0),
        ("most_in_epoch", 5), ("clock", "grid"), ("scheduler", "heap"),
        ("drops", (Drop(segment=3),)), ("drops", (Drop(link="bottleneck", packet=3),)),
    ],
)  # fmt: skip
def test_keys_of_the_scenario(key: str, value: Any) -> None:
    given = dumbbell(**{key: value})
    try:
        changed = told(given) != told(dumbbell())
    except ScenarioError as error:
        assert f"{key}." in str(error)
        changed = True
    assert changed != (key in SILENT["scenario"])


def test_losses_on_the_way_back_of_a_dumbbell_are_refused() -> None:
    given = dumbbell(link={"ack_loss": 0.1}, drops=(Drop(link="acknowledgements", packet=3),))
    with pytest.raises(ScenarioError, match=r"drops\.link"):
        told(given)
