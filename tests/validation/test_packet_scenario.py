"""Scenarios: what is read, what is refused, and whether the message helps."""

import dataclasses
import json
import math
import re

import pytest

from tcpdynamics.errors import UnusualValueWarning
from tcpdynamics.quantities import quantity
from tcpdynamics.validation.packet import (
    Bottleneck,
    Flows,
    Link,
    Record,
    Scenario,
    ScenarioError,
    load_scenario,
    parse_scenario,
    ready_scenarios,
    replicate,
    simulate,
    sweep_scenarios,
)
from tcpdynamics.validation.packet.scenario import topologies, unusual

GOOD = {
    "name": "small",
    "duration": "20s",
    "warm_up": "2000ms",
    "slice": 5,
    "bottleneck": {"rate": "1Mbit/s", "buffer": 50, "loss": "1%"},
    "flows": [{"count": 3, "rtt": ["200ms", "0.4 s"], "packet_size": "500B"}, {"sender": "newreno", "rtt": 0.1}],
    "drops": [{"flow": 3, "segment": 5}],
}

#: The same in the words of a network.
NETWORK = {
    "duration": "20s",
    "warm_up": "2s",
    "slice": "5s",
    "links": [
        {"source": "a", "target": "r", "rate": "10Mbit/s", "delay": "2ms"},
        {"source": "r", "target": "b", "rate": "1Mbit/s", "delay": "20ms", "buffer": 20, "loss": "1%"},
        {"source": "r", "target": "c", "buffer_bytes": 9000, "duplex": False},
    ],
    "flows": [
        {"source": "a", "target": ["b"], "sender": "reno", "rules": "rfc", "delayed_ack": "100ms"},
        {"route": ["b", "r", "a"], "segments": 20, "handshake": False, "min_rto": "200ms"},
        {"source": "b", "target": "a", "sender": "poisson", "rate": "100kbit/s", "stop": "10s"},
    ],
    "drops": [{"link": "r->b", "packet": 7}, {"flow": 1, "ack": 2}],
    "record": {"sends": True, "queues": "100ms"},
    "clock": "grid",
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


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("99.9%", "1", 0.999), ("190ms", "s", 0.19), ("0.3Mbit/s", "bit/s", 3e5), ("9.8ms", "s", 0.0098),
        ("1e300s", "s", 1e300),
    ],
)  # fmt: skip
def test_a_quantity_is_rounded_once(text, unit, value):
    assert quantity(text, unit, "key") == value


@pytest.mark.parametrize("loss", ["99.9%", 0.999])
def test_the_greatest_loss_may_be_written_as_a_percentage(loss):
    assert parse_scenario({"flows": [{}], "bottleneck": {"ack_loss": loss}}).bottleneck.ack_loss == 0.999
    with pytest.raises(ScenarioError, match=r"bottleneck\.ack_loss"):
        parse_scenario({"flows": [{}], "bottleneck": {"ack_loss": "99.91%"}})


def test_network_units_become_si():
    scenario = parse_scenario(NETWORK)
    assert [way.name for way in scenario.ways] == ["a->r", "r->a", "r->b", "b->r", "r->c"]
    assert (scenario.ways[2].rate, scenario.ways[2].delay, scenario.ways[2].loss) == (1e6, 0.02, 0.01)
    assert scenario.flows[0].delayed_ack == 0.1 and scenario.flows[2].rate == 1e5
    assert scenario.record == Record(sends=True, queues=0.1)


@pytest.mark.parametrize(
    ("topology", "first"),
    [
        ({"kind": "dumbbell", "flows": 2, "rtt": ["100ms", "200ms"], "delay": "5ms"}, "r1->r2"),
        ({"kind": "star", "nodes": 3, "rate": "1Mbit/s"}, "n0->hub"),
        ({"kind": "parking_lot", "rates": ["1Mbit/s", "2Mbit/s"], "buffer": 9}, "r0->r1"),
        ({"kind": "two_paths", "rates": ["1Mbit/s", 2e6], "delays": ["1ms", "2ms"]}, "s->a1"),
    ],
)
def test_ready_topologies(topology, first):
    ends = {"dumbbell": "s0 d1", "star": "n0 n2", "parking_lot": "s0 d2", "two_paths": "s d"}
    source, target = ends[topology["kind"]].split()
    table = {"duration": 5, "warm_up": 1, "topology": topology, "flows": [{"source": source, "target": target}]}
    scenario = parse_scenario(table)
    assert scenario.link_names[0] == first
    assert simulate(scenario)["goodput"].item() > 0


def changed(path, value, good=GOOD):
    table = json.loads(json.dumps(good))
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
        (["flows", 0, "rtt"], "-200ms", ["flows.0.rtt", "-0.2"]),
        (["flows", 0, "rtt"], ["200ms", "nan"], ["flows.0.rtt", "nan"]),
        (["flows", 0, "rtt"], ["200ms", "300ms", "400ms"], ["rtt"]),
        (["flows", 0, "jitter"], "5 Mbit/s", ["flows.0.jitter", "ms"]),
        (["flows", 0, "count"], 10**9, ["flows.0.count", "1000000000", "fewer flows"]),
        (["flows", 0, "count"], True, ["flows.0.count", "True"]),
        (["flows", 0, "count"], 2.5, ["count", "2.5"]),
        (["flows", 0, "sender"], "vegas", ["sender", "vegas", "newreno"]),
        (["flows", 0, "max_backoff"], 48, ["flows.0.max_backoff", "48", "64"]),
        (["flows", 0, "max_rto"], "100ms", ["flows.0.max_rto", "0.1", "min_rto"]),
        (["warm_up"], "20s", ["warm_up", "duration", "20"]),
        (["warm_up"], 0, ["epoch", "auto"]),
        (["epoch"], "often", ["epoch", "often"]),
        (["duration"], "1e8s", ["duration", "packets", "shorten"]),
        (["seed"], -1, ["seed", "-1"]),
        (["flows"], [], ["flows", "at least one"]),
        (["drops", 0, "flow"], 4, ["drops.flow", "4"]),
        (["flows", 0, "colour"], "red", ["flows.0.colour", "unknown key"]),
        (["flows", 0, "source"], "a", ["flows.0.source", "need links"]),
        (["flows", 0, "rules"], "ns3", ["rules", "ns3", "rfc"]),
        (["flows", 0, "sack"], False, ["flows.0.sack", "newreno"]),
        (["flows", 0, "rate"], 1e5, ["flows.0.rate", "cbr"]),
        (["flows", 0, "sender"], "cbr", ["flows.0.rate", "missing"]),
        (["flows", 0, "initial_window"], 65, ["flows.0.initial_window", "64", "65"]),
        (["flows", 0, "handshake"], 7, ["handshake", "7"]),
        (["flows", 0, "timestamps"], "perhaps", ["timestamps", "perhaps"]),
        (["flows", 0, "segments_shape"], 1.5, ["flows.0.segments_shape", "flows.0.segments"]),
        (["flows", 0, "arrival_rate"], 0, ["flows.0.arrival_rate", "got 0"]),
        (["flows", 0, "timer_granularity"], 0, ["flows.0.timer_granularity", "rfc"]),
        (["flows", 0, "delayed_ack"], "11s", ["flows.0.delayed_ack", "11"]),
        (["flows", 0, "start"], -1, ["flows.0.start", "-1"]),
        (["flows", 0, "stop"], "-1s", ["flows.0.stop", "start"]),
        (["flows", 0, "parameters"], [1] * 9, ["flows.0.parameters", "has 0", "got 9"]),
        (["drops", 0, "segment"], None, ["drops", "exactly one"]),
        (["drops", 0, "ack"], 3, ["drops", "exactly one"]),
        (["drops", 0, "transmission"], 0, ["drops.transmission", "0"]),
        (["record"], {"windows": -1}, ["record.windows", "-1"]),
        (["record"], {"window": 1}, ["record", "window", "unknown key"]),
        (["clock"], "sundial", ["clock", "grid", "sundial"]),
        (["scheduler"], "list", ["scheduler", "heap", "list"]),
        (["topology"], {"kind": "ring"}, ["topology.kind", "star", "ring"]),
        (["slice"], 0, ["slice", "got 0"]),
    ],
)
def test_what_is_wrong_is_named(path, value, words):
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(changed(path, value))
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (["links", 0, "rate"], 0, ["links.rate", "a->r", "got 0"]),
        (["duration"], "131073s", ["clock", "131,072", "131073", "double"]),
        (["links", 0, "delay"], "-2ms", ["links.delay", "a->r", "-0.002"]),
        (["links", 0, "dely"], "2ms", ["links.0.dely", "unknown key"]),
        (["links", 0, "buffer"], 0, ["links.buffer", "a->r", "got 0"]),
        (["links", 2, "buffer"], 9, ["links.buffer", "links.buffer_bytes", "r->c"]),
        (["links", 0, "loss"], 1, ["links.loss", "a->r", "per cent"]),
        (["links", 0, "jitter"], "nan", ["links.jitter", "nan"]),
        (["links", 0, "target"], "a", ["links.target", "'a'"]),
        (["links", 0, "source"], "a->b", ["links.source", "a->b"]),
        (["links", 0, "source"], "", ["links.source"]),
        (["links", 0, "service"], "fast", ["service", "analytic", "fast"]),
        (["links", 0, "queue"], "rad", ["links.queue", "droptail", "rad"]),
        (["links", 0, "duplex"], "perhaps", ["duplex", "perhaps"]),
        (["links", 1, "source"], "s", ["a", "b", "no links connect"]),
        (["links", 1, "target"], "a", ["twice"]),
        (["nodes"], ["a", "r", "b"], ["'c'", "nodes"]),
        (["bottleneck"], {"rate": 1e6}, ["bottleneck and links", "one"]),
        (["flows", 0, "rtt"], 0.1, ["flows.0.rtt", "bottleneck"]),
        (["flows", 0, "source"], "z", ["'z'", "no link"]),
        (["flows", 0, "source"], None, ["source and target"]),
        (["flows", 0, "target"], "a", ["different", "('a',)"]),
        (["flows", 0, "target"], "c", ["c", "a", "no links connect"]),
        (["flows", 1, "route"], ["b", "a"], ["b->a"]),
        (["flows", 1, "route"], ["b"], ["flows.1.route", "at least two"]),
        (["flows", 1, "route"], ["b", "r", "b"], ["flows.1.route", "twice"]),
        (["flows", 1, "source"], "b", ["flows.1.route", "one or the other"]),
        (["flows", 2, "rate"], "1e30bit/s", ["flows.2.rate"]),
        (["drops", 0, "link"], "r->z", ["drops.0.link", "'r->z'", "a->r"]),
        (["drops", 0, "link"], None, ["drops.0.packet", "drops.0.link"]),
        (["topology"], {"kind": "star"}, ["topology and links"]),
    ],
)
def test_what_is_wrong_with_a_network_is_named(path, value, words):
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(changed(path, value, NETWORK))
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        # A choice of drop that only the flow's way shows to be wrong.
        (changed(["drops", 0], {"flow": 0, "segment": 1, "link": "r->c"}, NETWORK), ["r->c", "flow 0"]),
        (changed(["flows", 0, "control"], "bbr"), ["bbr", "known rules", "reno"]),
    ],
)
def test_what_is_wrong_at_the_start_of_a_run_is_named(scenario, words):
    with pytest.raises(ScenarioError) as caught:
        simulate(parse_scenario(scenario))
    for word in words:
        assert word in str(caught.value)


def written(table):
    """TOML, of as much as a scenario needs."""

    def value(x):
        if isinstance(x, list):
            return "[" + ", ".join(value(v) for v in x) + "]"
        return json.dumps(x)

    lines, tables = [], []
    for key, x in table.items():
        if isinstance(x, dict):
            tables += [f"[{key}]", *(f"{k} = {value(v)}" for k, v in x.items())]
        elif isinstance(x, list) and x and isinstance(x[0], dict):
            for row in x:
                tables += [f"[[{key}]]", *(f"{k} = {value(v)}" for k, v in row.items())]
        else:
            lines.append(f"{key} = {value(x)}")
    return "\n".join(lines + tables)


@pytest.mark.parametrize("table", [GOOD, NETWORK])
def test_toml_round_trip(table, tmp_path):
    path = tmp_path / "scenario.toml"
    path.write_text(written(table))
    scenario = load_scenario(path)
    assert scenario == parse_scenario(table)
    plain = json.loads(json.dumps(dataclasses.asdict(scenario)))
    assert parse_scenario(plain) == scenario


def test_packets_are_bounded_before_the_run():
    for flow in ({"sender": "cbr", "rate": "10Gbit/s", "packet_size": 40}, {"window_limit": 1_000_000, "rtt": "1us"}):
        with pytest.raises(ScenarioError, match="packets at these rates"):
            parse_scenario({"duration": 1e6, "warm_up": 1, "bottleneck": {"rate": "10Gbit/s"}, "flows": [flow]})
    # What an open-loop sender sends is its own affair, not the bottleneck's.
    slow = Scenario((Flows(sender="cbr", rate=3e6, packet_size=1),), Bottleneck(2e4, 8), duration=20.0, warm_up=1.0)
    assert slow.packet_rate == pytest.approx(375_000)


@pytest.mark.parametrize(
    ("table", "memory"),
    [
        ({"flows": [{"count": 1_000_000, "window_limit": 1000}]}, "GB"),
        ({"flows": [{"window_limit": 1_000_000, "count": 10_000}]}, "GB"),
        ({"flows": [{"count": 100_000}], "slice": 1e-3}, "GB"),
        ({"record": {"queues": 1e-7}}, r"record\.queues|GB"),
    ],
)
def test_memory_is_refused_before_it_is_taken(table, memory):
    import tracemalloc

    tracemalloc.start()
    with pytest.raises(ScenarioError, match=memory):
        simulate(parse_scenario({"duration": 100, "warm_up": 1, "bottleneck": {"rate": 1e6}} | table))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 50e6


def test_memory_is_checked_before_it_is_taken():
    with pytest.raises(ScenarioError, match="GB"):
        Scenario((Flows(count=1_000_000, window_limit=1000),), Bottleneck(rate=1e3), duration=10.0, warm_up=1.0)


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
        # Phase effects, as their texts say; the others have random delays, or one flow.
        ruled = ("sub_packet", "mixed_rtt", "wide", "eleven_flows")
        assert bool(result.attrs["warning"]) == (name in ruled), name
        assert result["goodput"].sum() > 0


def test_a_result_can_be_rerun_from_itself():
    first = simulate(parse_scenario(GOOD))
    scenario = parse_scenario(json.loads(first.attrs["scenario"]))
    assert scenario == parse_scenario(GOOD)
    assert first.identical(simulate(scenario, int(first.attrs["seed"])))


def test_recordings_do_not_stack():
    with pytest.raises(ScenarioError, match="record"):
        replicate(dataclasses.replace(parse_scenario(GOOD), record=Record(sends=True)), 2)


def test_a_low_ceiling_lowers_the_default_first_timeout():
    assert Flows(max_rto=2.0).settings()["initial_rto"] == 2.0
    with pytest.raises(ScenarioError, match="initial_rto"):
        Flows(max_rto=2.0, initial_rto=3.0)


@pytest.mark.parametrize("flows", [Flows(), ({},), [{}]])
def test_flows_that_are_no_tuple_of_flows(flows):
    with pytest.raises(ScenarioError, match="flows must be a tuple of Flows"):
        Scenario(flows)


@pytest.mark.parametrize("value", ["yes", 1, 0])
def test_truths_are_true_or_false(value):
    with pytest.raises(ScenarioError, match=r"timestamps must be true or false"):
        parse_scenario({"flows": [{"timestamps": value}]})


@pytest.mark.parametrize("index", [0, 1, 2])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rtt", "-1s"), ("rtt", "5 Mbit/s"), ("rtt", True), ("count", 0), ("count", 10**9), 
        ("rate", 1e5), ("source", "a"), ("segments_shape", 1.5), ("max_backoff", 48),
    ],
)  # fmt: skip
def test_of_several_groups_the_one_that_is_wrong_is_named(index, key, value):
    groups = [{"rtt": "100ms"}, {"rtt": "200ms"}, {"rtt": "300ms"}]
    groups[index][key] = value
    with pytest.raises(ScenarioError, match=rf"flows\.{index}\.{key}"):
        parse_scenario({"flows": groups})
    with pytest.raises(ScenarioError, match=rf"flows\.{key}"):
        parse_scenario({"flows": [groups[index]]})


def test_of_several_chosen_drops_the_one_that_is_wrong_is_named():
    for key, value in (("flow", 7), ("segment", -1), ("transmission", 0)):
        drops = [{"flow": 0, "segment": 1}, {"flow": 0, "segment": 2, key: value}]
        with pytest.raises(ScenarioError, match=rf"drops\.1\.{key}"):
            parse_scenario({"flows": [{}], "drops": drops})


# Quantities as texts, in Python as in TOML; values in another unit than was meant.


def test_texts_are_quantities_in_python_too():
    flow = Flows(rtt=("50ms", 0.1), jitter="2ms", packet_size="1kB", min_rto="200ms", stop="20s")
    assert flow == Flows(rtt=(0.05, 0.1), jitter=0.002, packet_size=1000, min_rto=0.2, stop=20.0)
    assert isinstance(flow.packet_size, int)
    assert Bottleneck("10Mbit/s", 20, "5%") == Bottleneck(1e7, 20, 0.05)
    assert Link("a", "b", "1Gbit/s", "10ms", jitter="1us") == Link("a", "b", 1e9, 0.01, jitter=1e-6)
    assert Record(windows="100ms").windows == 0.1
    scenario = Scenario((flow,), duration="1min", warm_up="10s", slice="5s", epoch="200ms")
    assert (scenario.duration, scenario.warm_up, scenario.slice, scenario.epoch) == (60.0, 10.0, 5.0, 0.2)
    assert Scenario((flow,), duration="60s", warm_up="10s").epoch == "auto"
    assert topologies.dumbbell(2, "1Mbit/s", rtt=("100ms", "200ms")) == topologies.dumbbell(2, rtt=(0.1, 0.2))
    assert topologies.parking_lot(["1Mbit/s", 2e6], "10ms") == topologies.parking_lot((1e6, 2e6))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bottleneck(rate="10"), None),
        (lambda: Bottleneck(rate="10MB"), "bottleneck.rate must be a number with one of the units bit/s"),
        (lambda: Flows(rtt="50 parsec"), "flows.rtt must be a number with one of the units ns"),
        (lambda: Flows(packet_size="1.5B"), "flows.packet_size must be a whole number"),
        (lambda: Link("a", "b", delay="fast"), "links.delay must be a number"),
        (lambda: Scenario(duration="auto"), "duration must be a number"),
        (lambda: topologies.star(rate="quick"), "topology.rate must be a number"),
    ],
)
def test_texts_that_are_no_quantities_are_refused(make, message):
    if message is None:
        assert make().rate == 10.0
    else:
        with pytest.raises(ScenarioError, match=message):
            make()


def test_values_in_another_unit_than_was_meant_are_pointed_out():
    unusual = Scenario(
        (Flows(rtt=200.0), Flows(rate=64.0, sender="cbr")), Bottleneck(10.0, 2_000_000), duration=2.0, warm_up=1.0
    )
    with pytest.warns(UnusualValueWarning) as caught:
        simulate(unusual)
    text = str(caught[0].message)
    assert len(caught) == 1 and "\n" not in text
    for part in ("flows.0.rtt = 200 is 200 s; did you mean 200 ms = 0.2?",
                 "flows.1.rate = 64 is 64 bit/s; did you mean 64 Mbit/s = 6.4e+07?",
                 "bottleneck.rate = 10 is 10 bit/s; did you mean 10 Mbit/s = 1e+07?",
                 "bottleneck.buffer = 2000000 counts packets"):  # fmt: skip
        assert part in text
    with pytest.warns(UnusualValueWarning, match="RED's default min_threshold of 5 packets") as caught:
        fast = Scenario((Flows(rtt=0.04),), Bottleneck(50e6, 100), duration=2.0, warm_up=1.0)
        sweep_scenarios(fast, {"bottleneck.queue": ["droptail", "red"]}, 1)
    assert len(caught) == 1 and caught[0].filename == __file__
    links = (Link("a", "b", 100.0, 20.0),)
    network = Scenario((Flows(source="a", target="b"),), duration=2.0, warm_up=1.0, links=links)
    with pytest.warns(UnusualValueWarning, match=r"links\.delay of link a->b = 20 is 20 s.*links\.rate of link a->b"):
        replicate(network, 1)


def test_one_flow_has_the_middle_of_a_pair() -> None:
    assert Flows(count=1, rtt=(0.09, 0.11)).rtts() == pytest.approx((0.1, 0.1))
    assert Flows(count=2, rtt=(0.09, 0.11)).rtts() == (0.09, 0.11)
    run = simulate(Scenario((Flows(rtt=(0.09, 0.11)),), Bottleneck(1e6, 20), duration=2.0, warm_up=1.0))
    assert run.base_rtt.item() == pytest.approx(0.1, rel=0.1) and run.base_rtt.item() > 0.099
    access = {link.name: link.delay for link in topologies.dumbbell(1, rtt=(0.1, 0.2))}
    assert access["s0->r1"] == pytest.approx(0.15 / 4 - 0.005)


@pytest.mark.parametrize("word", ["off", "none", "null"])
def test_recordings_are_switched_off_by_a_word(word: str) -> None:
    assert Record(windows=word, queues=0).names == ("queues",)  # type: ignore[arg-type]
    table = {"duration": 10, "warm_up": 1, "flows": [{}], "record": {"windows": word, "queues": "50ms"}}
    assert parse_scenario(table).record == Record(queues=0.05)


def test_groups_may_be_listed_and_a_record_must_be_one() -> None:
    assert Scenario([Flows(), Flows()]).flows == (Flows(), Flows())  # type: ignore[arg-type]
    with pytest.raises(ScenarioError, match=r"record must be a Record, such as Record\(windows=0.1\), got {"):
        Scenario((Flows(),), record={"windows": 0.1})  # type: ignore[arg-type]


def test_dctcp_without_marks_is_refused():
    flow = {"rtt": "50ms", "control": "dctcp", "ecn": True}
    with pytest.raises(ScenarioError, match=r'flows\.control = "dctcp" needs a queue that marks .* red'):
        parse_scenario({"flows": [flow], "bottleneck": {"rate": "1Mbit/s", "buffer": 20}})
    parse_scenario({"flows": [flow], "bottleneck": {"rate": "1Mbit/s", "buffer": 20, "queue": "step"}})


@pytest.mark.parametrize(
    ("bottleneck", "says"),
    [
        ({"buffer_bytes": 100}, "has no room for a packet of 500 B"),
        ({"rate": "100Mbit/s", "buffer": 99, "queue": "red"}, "lasts 0.2 ms .* set queue_parameters = .* = 63,"),
        ({"rate": "8.1Mbit/s", "buffer": 99, "queue": "red"}, "lasts 2.5 ms .* set queue_parameters = .* = 6,"),
    ],
)
def test_what_does_not_suit_a_link_is_warned_of(bottleneck, says):
    flows = [{"rtt": 0.1, "packet_size": 500}]
    scenario = parse_scenario({"bottleneck": {"rate": "1Mbit/s", **bottleneck}, "flows": flows})
    with pytest.warns(UserWarning, match=says):
        unusual.warn_of_unusual_values(scenario)


@pytest.mark.parametrize("bottleneck", [{"rate": "8Mbit/s"}, {"queue_parameters": {"min_threshold": 5}}])
def test_thresholds_of_red_that_suit_or_are_chosen_pass(bottleneck):
    link = {"rate": "100Mbit/s", "buffer": 99, "queue": "red", **bottleneck}
    unusual.warn_of_unusual_values(parse_scenario({"bottleneck": link, "flows": [{"rtt": 0.1, "packet_size": 500}]}))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Scenario((Flows(),), 5), "bottleneck must be a table"),
        (lambda: Bottleneck(changes=5), r"bottleneck\.changes must be a list of rows"),
        (lambda: parse_scenario({"flows": [{"segments": 2, "segments_shape": 1.0}]}), "above 1"),
        (lambda: Bottleneck(queue="FQ_CoDel"), "did you mean 'fq_codel'"),
    ],
)
def test_what_is_of_another_kind_is_named(make, says):
    with pytest.raises(ScenarioError, match=says):
        make()


@pytest.mark.parametrize(
    ("part", "key"),
    [
        ({"flows": [{"control": "logistic", "parameters": {"epsilon": True}}]}, "flows.parameters.epsilon"),
        (
            {"flows": [{}], "bottleneck": {"loss": {"model": "gilbert-elliott", "p": True, "r": 0.3}}},
            "bottleneck.loss.p",
        ),
        (
            {
                "flows": [{"source": "a", "target": "b"}],
                "links": [
                    {"source": "a", "target": "b", "buffer": 9, "router": "t_refwa", "router_parameters": {"phi": True}}
                ],
            },
            "links.router_parameters.phi",
        ),
    ],
)
def test_truth_values_are_no_measures(part, key):
    """Only what counts or switches takes them, such as `measured_rtt`."""
    with pytest.raises(ScenarioError, match=rf"{re.escape(key)} must be a number .* got True"):
        parse_scenario(part)


def test_a_switch_among_parameters_takes_a_truth_value():
    link = {"source": "a", "target": "b", "buffer": 9, "router": "t_refwa", "router_parameters": {"clamped": True}}
    made = parse_scenario({"flows": [{"source": "a", "target": "b"}], "links": [link]})
    assert simulate(dataclasses.replace(made, duration=1.0, warm_up=0.1, epoch=0.1)).goodput.item() > 0
