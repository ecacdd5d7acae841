"""Scenarios: what is read, what is refused, and whether the message helps."""

import dataclasses
import json
import math

import pytest

from tcpdynamics.validation.packet import (
    Bottleneck,
    Flows,
    Scenario,
    ScenarioError,
    load_scenario,
    parse_scenario,
    ready_scenarios,
    replicate,
    simulate,
)
from tcpdynamics.validation.packet.units import quantity

GOOD = {
    "name": "small",
    "duration": "20s",
    "warm_up": "2000ms",
    "slice": 5,
    "bottleneck": {"rate": "1Mbit/s", "buffer": 50, "loss": "1%"},
    "flows": [
        {"count": 3, "rtt": ["200ms", "0.4 s"], "packet_size": "500B"},
        {"sender": "newreno", "rtt": 0.1},
    ],
    "drops": [{"flow": 3, "segment": 5}],
}


def test_units_become_si():
    scenario = parse_scenario(GOOD)
    assert (scenario.duration, scenario.warm_up, scenario.slice) == (20.0, 2.0, 5.0)
    assert (scenario.bottleneck.rate, scenario.bottleneck.loss) == (1e6, 0.01)
    assert scenario.flows[0].rtt == (0.2, 0.4) and scenario.flows[0].packet_size == 500
    assert scenario.count == 4


@pytest.mark.parametrize("text", ["1e3ms", "1 s", "1000000us", ".000277777777777777777h"])
def test_ways_to_write_a_second(text):
    assert quantity(text, "s", "rtt") == pytest.approx(1.0)


def changed(path, value):
    table = json.loads(json.dumps(GOOD))
    *outer, last = path
    place = table
    for key in outer:
        place = place[key]
    place[last] = value
    return table


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (["bottleneck", "rate"], 0, ["bottleneck.rate", "got 0"]),
        (["bottleneck", "rate"], "1 parsec", ["bottleneck.rate", "parsec", "Mbit/s"]),
        (["bottleneck", "loss"], 16, ["bottleneck.loss", "16", "divide per cent by 100"]),
        (["bottleneck", "buffer"], 0, ["bottleneck.buffer", "got 0"]),
        (["bottleneck", "bufer"], 5, ["bottleneck.bufer", "unknown key"]),
        (["flows", 0, "rtt"], "-200ms", ["flows.rtt", "-0.2"]),
        (["flows", 0, "rtt"], ["200ms", "nan"], ["flows.rtt", "nan"]),
        (["flows", 0, "rtt"], ["200ms", "300ms", "400ms"], ["rtt"]),
        (["flows", 0, "jitter"], "5 Mbit/s", ["flows.jitter", "ms"]),
        (["flows", 0, "count"], 10**9, ["flows.count", "1000000000", "fewer flows"]),
        (["flows", 0, "count"], True, ["flows.count", "True"]),
        (["flows", 0, "count"], 2.5, ["count", "2.5"]),
        (["flows", 0, "sender"], "vegas", ["sender", "vegas", "newreno"]),
        (["flows", 0, "max_backoff"], 48, ["flows.max_backoff", "48", "64"]),
        (["flows", 0, "max_rto"], "100ms", ["flows.max_rto", "0.1", "min_rto"]),
        (["warm_up"], "20s", ["warm_up", "duration", "20"]),
        (["warm_up"], 0, ["epoch", "auto"]),
        (["epoch"], "often", ["epoch", "often"]),
        (["duration"], "1e8s", ["duration", "packets", "shorten"]),
        (["seed"], -1, ["seed", "-1"]),
        (["flows"], [], ["flows", "at least one"]),
        (["drops", 0, "flow"], 4, ["drops.flow", "4"]),
        (["links"], {}, ["links", "unknown key"]),
    ],
)
def test_what_is_wrong_is_named(path, value, words):
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(changed(path, value))
    for word in words:
        assert word in str(caught.value)


def test_memory_is_checked_before_it_is_taken():
    with pytest.raises(ScenarioError, match="GB"):
        Scenario(
            (Flows(count=1_000_000, window_limit=1000),), Bottleneck(rate=1e3), duration=10.0, warm_up=1.0
        )


def test_not_a_number_is_refused_in_python_too():
    with pytest.raises(ScenarioError, match="duration"):
        Scenario(duration=math.nan)


def test_not_toml(tmp_path):
    path = tmp_path / "broken.toml"
    path.write_text("name = ")
    with pytest.raises(ScenarioError, match="is not TOML"):
        load_scenario(path)


def test_ready_scenarios_load_and_run_shortened():
    assert set(ready_scenarios()) >= {"sub_packet", "sub_packet_jitter", "sub_packet_iid", "mixed_rtt"}
    for name, path in ready_scenarios().items():
        scenario = load_scenario(path)
        assert scenario.name == name
        result = simulate(dataclasses.replace(scenario, duration=60.0, warm_up=20.0))
        assert result.attrs["warning"] == ""
        assert result["goodput"].sum() > 0


def test_a_result_can_be_rerun_from_itself():
    first = simulate(parse_scenario(GOOD))
    scenario = parse_scenario(json.loads(first.attrs["scenario"]))
    assert scenario == parse_scenario(GOOD)
    assert first.identical(simulate(scenario, int(first.attrs["seed"])))


def test_traces_do_not_stack():
    with pytest.raises(ScenarioError, match="trace"):
        replicate(dataclasses.replace(parse_scenario(GOOD), trace=True), 2)
