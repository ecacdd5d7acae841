"""Any mix of senders, rules, queues, losses, links and traffic: refused by a key's name, or run to its end in order.

Tables as TOML gives them are drawn from all tables of mechanisms, so a new mechanism is in here by its line there.
"""

import dataclasses
import json
import math
import threading
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tcpdynamics.errors import ScenarioError
from tcpdynamics.validation.packet import engine, parse_scenario, result
from tcpdynamics.validation.packet.kernel.paced import PACED
from tcpdynamics.validation.packet.kernel.paced.mtcp import SCHEMES
from tcpdynamics.validation.packet.kernel.parameters import parameters_of
from tcpdynamics.validation.packet.kernel.queues import BEHIND_PRIORITY, DISCIPLINES
from tcpdynamics.validation.packet.kernel.records import SENDERS
from tcpdynamics.validation.packet.kernel.routers import ROUTERS
from tcpdynamics.validation.packet.kernel.windows import RULES

#: Events of a run that is taken for one without an end; packets for which drawn runs are made.
MOST_EVENTS, MOST_PACKETS = 30_000_000, 5_000

some = st.sampled_from


def _value(draw, parameter):
    """A legal value of a parameter, its ends and usual sizes among them."""
    low, high = parameter.low, parameter.high
    value = draw(
        some([parameter.default, low, min(high, 10.0 * parameter.default + 1.0), 0.5 * (low + parameter.default)])
    )
    return int(min(max(round(value), math.ceil(low)), high)) if parameter.whole else float(value)


def _parameters(draw, file):
    chosen = [p for p in parameters_of(file) if draw(st.integers(0, 3)) == 0]
    return {p.name: _value(draw, p) for p in chosen}


def _maybe(draw, table, key, values, odds=3):
    if draw(st.integers(0, odds)) == 0:
        table[key] = draw(some(values))


@st.composite
def flow_tables(draw):
    sender = draw(some(SENDERS))
    flow = {"count": draw(some([1, 2, 5])), "sender": sender, "packet_size": draw(some([100, 500, 1500]))}
    rules = draw(some(["ns2", "rfc"]))
    _maybe(draw, flow, "start", ["0.1s", 1.0])
    _maybe(draw, flow, "stop", [2.0])
    _maybe(draw, flow, "segments", [1, 3, 40])
    _maybe(draw, flow, "priority", [0, 1, 7])
    _maybe(draw, flow, "reorder", [True])
    if sender in ("cbr", "poisson"):
        if draw(st.booleans()):
            flow["rate"] = draw(some(["10kbit/s", 1e5, 1e6]))
        if "rate" not in flow or draw(st.booleans()):
            flow["rate_steps"] = [
                [0.0, draw(some([0, 1e5, "200kbit/s"]))],
                [draw(some([0.5, 1.0])), draw(some([0, 5e5]))],
            ]
        if draw(st.booleans()):
            flow |= {"on_time": draw(some([0.01, 0.5])), "off_time": draw(some([0.01, 0.5]))}
            _maybe(draw, flow, "on_off", ["fixed", "exponential"], 1)
        _maybe(draw, flow, "jitter", ["1ms", 0.2])
        return flow
    flow["rules"] = rules
    if rules == "rfc" or sender == "tfrc":
        _maybe(draw, flow, "jitter", ["1ms", 0.2])
    else:
        _maybe(draw, flow, "overhead", ["1ms", 0.05])
    if sender == "tfrc":
        flow["parameters"] = _parameters(draw, PACED["tfrc"][rules])
        return flow
    flow["window_limit"] = draw(some([1, 2, 10, 64, 400]))
    if sender == "mtcp":
        _maybe(draw, flow, "initial_window", [1])
        flow.pop("overhead", None)
        flow |= {"acks": draw(some(SCHEMES)), "parameters": _parameters(draw, PACED["mtcp"][rules])}
        flow["routes"] = [["a", "r", "b"], ["a", "q", "b"], ["a", "b"]][: draw(some([2, 3]))]
        return flow
    control = draw(some(list(RULES)))
    if control == "dctcp":
        flow["ecn"] = True
    if control != "reno":
        flow |= {"control": control, "parameters": _parameters(draw, RULES[control])}
    _maybe(draw, flow, "ecn", [True], 1)
    _maybe(draw, flow, "delayed_ack", [0.1])
    _maybe(draw, flow, "timestamps", [True])
    _maybe(draw, flow, "router_aware", [True, False])
    _maybe(draw, flow, "limited_transmit", [False])
    _maybe(draw, flow, "handshake", [True, False])
    _maybe(draw, flow, "initial_window", [1])
    _maybe(draw, flow, "max_rto", [1.0, 60.0])
    _maybe(draw, flow, "leap", [True], 2)
    if "segments" in flow:
        _maybe(draw, flow, "segments_shape", [1.2])
        if draw(st.booleans()):
            flow |= {"think": draw(some([0, "10ms", 1.0])), "pool": flow["count"]}
            _maybe(draw, flow, "think_distribution", ["fixed"])
    return flow


@st.composite
def ways(draw):
    way = {"rate": draw(some(["50kbit/s", "1Mbit/s", 2e7]))}
    if draw(st.integers(0, 5)):
        way["buffer"] = draw(some([1, 2, 5, 30, 200]))
    else:
        _maybe(draw, way, "buffer_bytes", [1500, "30000B"], 1)
    queue = draw(some(list(DISCIPLINES)))
    if queue != "droptail":
        way |= {"queue": queue, "queue_parameters": _parameters(draw, DISCIPLINES[queue])}
    if queue in BEHIND_PRIORITY and draw(st.integers(0, 2)) == 0:
        way["priority"] = "retransmissions"
        _maybe(draw, way, "priority_buffer", [1, 3], 1)
    bursts = {"model": "gilbert-elliott", "p": draw(some([0, 0.02, 1.0])), "r": draw(some([0.1, 1.0]))}
    _maybe(draw, way, "loss", [0.0, "2%", 0.5, bursts], 2)
    _maybe(draw, way, "ack_loss", [0.0, "5%", bursts], 4)
    _maybe(draw, way, "reorder", [True], 4)
    if draw(st.integers(0, 3)) == 0:
        way["changes"] = [
            [0.3, draw(some([0, 2e5]))],
            [0.8, draw(some([1e6, "5Mbit/s"]))],
            [2.0, draw(some([1e5, 1e6]))],
        ]
        if draw(st.booleans()):
            way["changes"] = [[*row, draw(some([0, 0.01, 0.3]))] for row in way["changes"]]
        _maybe(draw, way, "changes_by", ["packet", "bit"], 1)
    return way


@st.composite
def tables(draw):
    flows = draw(st.lists(flow_tables(), min_size=1, max_size=3))
    table = {"duration": draw(some([1.0, 4.0, 10.0])), "seed": draw(st.integers(0, 2**32)), "epoch": 0.1}
    table["warm_up"] = draw(some([0.0, 0.5]))
    table["slice"] = (table["duration"] - table["warm_up"]) / 2
    table["clock"] = draw(some(["auto", "grid", "double"]))
    if draw(st.booleans()):
        table["record"] = {"windows": 0, "queues": 0.05, "sends": True, "receives": True, "drops": True}
    if draw(st.booleans()) and all(flow["sender"] != "mtcp" for flow in flows):
        table["bottleneck"] = draw(ways())
        for flow in flows:
            flow["rtt"] = draw(some(["20ms", 0.3]))
    else:
        table["links"] = [
            {"source": a, "target": b, "duplex": False, "delay": draw(some([0, "5ms", 0.1])), **draw(ways())}
            for a, b in (("a", "r"), ("r", "b"), ("b", "r"), ("r", "a"))
        ]
        for way in table["links"]:
            if draw(st.integers(0, 3)) == 0:
                router = draw(some(list(ROUTERS)))
                way |= {"router": router, "router_parameters": _parameters(draw, ROUTERS[router])}
        if any(flow["sender"] == "mtcp" for flow in flows):
            table["links"] += [
                {"source": a, "target": b, "delay": draw(some(["5ms", 0.1])), **draw(ways())}
                for a, b in (("a", "q"), ("q", "b"), ("a", "b"))
            ]
        for flow in flows:
            if flow["sender"] == "mtcp":
                continue
            flow |= {"route": ["a", "r", "b"]}
    return table | {"flows": flows}


def run_to_the_end(scenario):
    """The run's dataset; fails if the loop goes round without an end, and if the books do not balance."""
    events = 0

    def count(budget, seconds):
        nonlocal events
        events += budget
        assert events < MOST_EVENTS, "millions of events and no end"
        return engine._BUDGET

    with mock.patch.object(engine, "_next_budget", count):
        return result.dataset(scenario, scenario.seed, engine.execute(scenario, scenario.seed))


def check_one(table):
    table = json.loads(json.dumps(table))
    try:
        scenario = parse_scenario(table)
        if scenario.packet_rate * scenario.duration > 20 * MOST_PACKETS:
            return
        data = run_to_the_end(scenario)
    except ScenarioError as refused:
        sentence = str(refused)
        assert len(sentence) < 700 and any(key in sentence for key in NAMES), sentence
        return
    for name, variable in data.data_vars.items():
        if variable.dtype.kind in "if":
            assert not np.isinf(variable.values.astype(float)).any(), name
    limits = np.concatenate([[g.window_limit] * g.count for g in scenario.flows])
    if "window_flow" in data:
        at = data["window_flow"].values
        windowed = np.concatenate([[not g.windowless] * g.count for g in scenario.flows])[at]
        # Limited transmit sends two segments beyond the window; never beyond what is advertised.
        assert (data["window_flight"].values[windowed] <= limits[at][windowed]).all()
    # A packet that is being sent when the rate falls finishes at its old rate, beyond what the link then carries.
    plain = np.array([not way.changes or way.changes_by == "bit" for way in scenario.ways])
    # The grid rounds sending times by 2^-36 s, at most a millionth of the shortest one here (40 bytes at 20 Mbit/s).
    assert (data["link_utilisation"].values[plain] <= 1 + 1e-6).all()
    again = run_to_the_end(scenario)
    for name, variable in data.data_vars.items():
        assert variable.values.tobytes() == again[name].values.tobytes(), name


#: A refusal names the key of one of these.
NAMES = ("flows", "links", "bottleneck", "record", "clock", "warm_up", "duration", "slice", "epoch", "topology")
FUZZ = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
}


@settings(max_examples=60, derandomize=True, **FUZZ)
@given(tables())
def test_any_mix_of_mechanisms(table):
    check_one(table)


@pytest.mark.slow
@settings(max_examples=10_000, **FUZZ)
@given(tables())
def test_many_mixes_of_mechanisms(table):
    check_one(table)


#: Lengths of time that no multiple of 2^-36 s is, in seconds.
ODD = (0.0123, 0.1, 0.0041, 1 / 3)


@st.composite
def odd_tables(draw):
    """Any mix, on the grid and written down whole, whose times are all off the grid; senders by Linux's rules too."""
    table = draw(tables())
    table |= {"clock": "grid", "record": {"sends": True, "receives": True, "drops": True}}
    table["record"] |= {"windows": draw(some([0, 0.1])), "queues": draw(some([0, 0.1]))}
    for way in [table["bottleneck"]] if "bottleneck" in table else table["links"]:
        if "bottleneck" not in table:
            way["delay"] = draw(some(ODD))
            _maybe(draw, way, "jitter", ODD)
        for row in way.get("changes", ()):
            row[0] += draw(some(ODD)) / 10
            row[2:] = [draw(some(ODD)) for _ in row[2:]]
    for flow in table["flows"]:
        if "rtt" in flow:
            flow["rtt"] = 0.1 + draw(some(ODD))
        if flow.get("control", "reno") in ("reno", "cubic") and flow["sender"] in ("newreno", "sack"):
            if draw(st.booleans()):
                kept = ("count", "sender", "packet_size", "ecn", "delayed_ack", "route", "rtt", "segments")
                only = {key: flow[key] for key in kept if key in flow}
                flow.clear()
                flow |= only | {"rules": "linux", "window_limit": draw(some([12, 64])), "loss_probes": True}
        _maybe(draw, flow, "start", [0.05633, 1 / 7])
        _maybe(draw, flow, "stop", [2.0 + 1 / 7])
        if flow["sender"] in SENDERS[:4]:
            _maybe(draw, flow, "delayed_ack", [0.1, 1 / 7])
            _maybe(draw, flow, "clock_phase", [0.0037])
        if "think" in flow:
            flow["think"] = draw(some(ODD))
        if "on_time" in flow:
            flow |= {"on_time": draw(some(ODD)), "off_time": draw(some(ODD))}
    return table


#: Every time of an event that a result tells.
TIMES = (
    "start", "finish", "connection_start", "connection_finish", "send_time", "receive_time", "drop_time", "window_time",
    "queue_time",
)  # fmt: skip


def off_the_grid(data):
    """Times that are no multiples of 2^-36 s: one of each variable."""
    wrong = {}
    for name in TIMES:
        times = data[name].values if name in data else np.zeros(0)
        bad = times[np.isfinite(times) & ((times * 2.0**36) % 1.0 != 0.0)]
        if len(bad):
            wrong[name] = float(bad[0])
    return wrong


def runs_of(table, most=20):
    """The scenario of a drawn table, or None if it is refused or would run for long."""
    try:
        scenario = parse_scenario(json.loads(json.dumps(table)))
        return scenario if scenario.packet_rate * scenario.duration <= most * MOST_PACKETS else None
    except ScenarioError:
        return None


def check_grid(table):
    scenario = runs_of(table)
    if scenario is not None:
        wrong = off_the_grid(run_to_the_end(scenario))
        assert not wrong, wrong


@settings(max_examples=150, derandomize=True, **FUZZ)
@given(odd_tables())
def test_all_times_lie_on_the_grid(table):
    check_grid(table)


@pytest.mark.slow
@settings(max_examples=5_000, **FUZZ)
@given(odd_tables())
def test_all_times_of_many_mixes_lie_on_the_grid(table):
    check_grid(table)


@st.composite
def stopped_tables(draw):
    """Any mix, or users who think in between on one link, and the share of it after which it is stopped."""
    table = draw(tables())
    if draw(st.booleans()):
        users = {"think": draw(some([0.2, 1.0])), "segments": draw(some([1, 10])), "rtt": draw(some([0.02, 0.1]))}
        users |= {"count": 4, "pool": draw(some([1, 2])), "rules": draw(some(["ns2", "rfc"]))}
        table |= {"flows": [users], "bottleneck": {"rate": 1e6, "buffer": 50}, "duration": 10.0, "slice": 1.0}
        table.pop("links", None)
    return table, draw(some([0.1, 0.3, 0.6, 0.8]))


def check_stop(table, share):
    """A run that is stopped tells what the run with that duration tells."""
    scenario = runs_of(table, 2)
    if scenario is None:
        return
    stop = threading.Event()

    def look(done):
        if done > share:
            stop.set()

    with mock.patch.object(engine, "_BUDGET", 5):  # looks at the keyboard often, as a long run does
        part = engine.execute(scenario, scenario.seed, look, stop)
    if not part.interrupted or part.stopped <= scenario.warm_up:
        return
    got = result.dataset(scenario, scenario.seed, part)
    alike = dataclasses.replace(scenario, duration=part.stopped)
    whole = result.dataset(alike, scenario.seed, engine.execute(alike, scenario.seed))
    for name in whole.data_vars:
        np.testing.assert_allclose(got[name].values, whole[name].values, rtol=1e-9, atol=1e-9, err_msg=name)


@settings(max_examples=60, derandomize=True, **FUZZ)
@given(stopped_tables())
def test_a_part_is_the_run_with_its_duration(drawn):
    check_stop(*drawn)


@pytest.mark.slow
@settings(max_examples=2_000, **FUZZ)
@given(stopped_tables())
def test_parts_of_many_mixes_are_runs_with_their_durations(drawn):
    check_stop(*drawn)


def test_most_mixes_are_run_and_each_mechanism_among_them():
    """The draws above mean something: what is refused is the smaller part, and every name of a table occurs."""
    accepted = []

    @settings(max_examples=300, database=None, derandomize=True, **FUZZ)
    @given(tables())
    def draw(table):
        try:
            parse_scenario(json.loads(json.dumps(table)))
        except ScenarioError:
            accepted.append(None)
        else:
            accepted.append(table)

    draw()
    taken = [table for table in accepted if table is not None]
    assert len(taken) > len(accepted) / 4
    words = json.dumps(taken)
    others = ("gilbert-elliott", "changes", "think", "on_time", "leap", "retransmissions")
    for name in (*SENDERS, *RULES, *DISCIPLINES, *ROUTERS, *others):
        assert name == "droptail" or name == "reno" or f'"{name}"' in words, name
