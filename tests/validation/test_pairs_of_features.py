"""Features two by two: each pair is refused by a key's name or runs, and what is true of every run stays true.

A feature is a few keys of a scenario's table. Those of a mix go into one table as long as they say nothing different of
the same key; else a further group of flows, or a further link of the way, takes them. New mechanisms are in here by
their line in the tables of mechanisms, as in test_mechanisms_fuzz.py; other keys by a line in `FEATURES`.
"""

import copy
import itertools
import json
from collections import Counter
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest

from tcpdynamics.errors import ScenarioError
from tcpdynamics.validation.packet import engine, parse_scenario, result
from tcpdynamics.validation.packet.kernel.loss_models import MODELS
from tcpdynamics.validation.packet.kernel.queues import DISCIPLINES
from tcpdynamics.validation.packet.kernel.records import SENDERS
from tcpdynamics.validation.packet.kernel.routers import ROUTERS
from tcpdynamics.validation.packet.kernel.senders import BOOKS
from tcpdynamics.validation.packet.kernel.windows import RULES

from .test_mechanisms_fuzz import NAMES, off_the_grid
from .test_window_falls import bursts, rises

FOUR = ("tahoe", "reno", "newreno", "sack")
#: What a feature needs beside its own key, so that it can run at all.
NEEDS = {
    "cbr": {"rate": 2e5}, "poisson": {"rate": 2e5},
    "mtcp": {"routes": [["a", "r", "b"], ["a", "q", "b"]], "rules": "rfc"},
    "dctcp": {"ecn": True}, "step": {"threshold": 4}, "gilbert-elliott": {"p": 0.02, "r": 0.3},
}  # fmt: skip

#: Name -> (where it belongs, its keys).
FEATURES = (
    {f"sender {x}": ("flow", {"sender": x} | NEEDS.get(x, {})) for x in SENDERS}
    | {f"rules {x}": ("flow", {"rules": x}) for x in BOOKS}
    | {f"control {x}": ("flow", {"control": x} | NEEDS.get(x, {})) for x in RULES if x != "reno"}
    | {f"queue {x}": ("link", {"queue": x, "queue_parameters": NEEDS.get(x, {})}) for x in list(DISCIPLINES)[1:]}
    | {f"loss {x}": ("link", {"loss": {"model": x} | NEEDS[x]}) for x in MODELS}
    | {f"router {x}": ("link", {"router": x}) for x in ROUTERS}
    | {
        name: ("flow", keys)
        for name, keys in {
            "ecn": {"ecn": True}, "delayed_ack": {"delayed_ack": 0.1}, "no handshake": {"handshake": False},
            "handshake": {"handshake": True}, "initial_window": {"initial_window": 1}, "leap": {"leap": True},
            "no limited_transmit": {"limited_transmit": False}, "timestamps": {"timestamps": True},
            "router_aware": {"router_aware": True}, "segments": {"segments": 40},
            "segments_shape": {"segments": 20, "segments_shape": 1.2},
            "think": {"segments": 10, "think": 0.2, "pool": 2, "count": 4},
            "think_distribution": {"segments": 10, "think": 0.2, "pool": 2, "count": 4, "think_distribution": "fixed"},
            "arrival_rate": {"arrival_rate": 2.0, "count": 4}, "start_spread": {"start_spread": 1.0},
            "start": {"start": 0.7}, "stop": {"stop": 2.03}, "flow jitter": {"jitter": 0.003},
            "no flow jitter": {"jitter": 0.0}, "overhead": {"overhead": 0.002, "rules": "ns2"},
            "flow reorder": {"reorder": True}, "flow priority": {"priority": 3}, "min_rto": {"min_rto": 0.3},
            "max_rto": {"max_rto": 2.0}, "initial_rto": {"initial_rto": 1.0}, "max_backoff": {"max_backoff": 2},
            "clear_rtt_after": {"clear_rtt_after": 65536}, "timer_granularity": {"timer_granularity": 0.05},
            "clock_phase": {"clock_phase": 0.007}, "loss_probes": {"loss_probes": True, "rules": "linux"},
            "frto": {"frto": True, "rules": "linux"}, "count": {"count": 5}, "window of one": {"window_limit": 1},
            "wide window": {"window_limit": 500}, "large packets": {"packet_size": 1500},
            "large acks": {"ack_size": 400}, "no sack": {"sender": "newreno", "sack": False},
            "on_off": {"sender": "cbr", "rate": 4e5, "on_time": 0.3, "off_time": 0.1},
            "rate_steps": {"sender": "cbr", "rate_steps": [[0.0, 1e5], [1.0, 4e5]]},
            "compensated acks": {"sender": "mtcp", "acks": "duplicated"} | NEEDS["mtcp"],
        }.items()
    }
    | {
        name: ("link", keys)
        for name, keys in {
            "ns2's red": {"queue": "red", "queue_parameters": {"ns2": 1}},
            "ns2's sfq": {"queue": "sfq", "queue_parameters": {"ns2": 1}},
            "linux's codel": {"queue": "codel", "queue_parameters": {"linux": 1}},
            "linux's red": {"queue": "red", "queue_parameters": {"linux": 1}},
            "buffer": {"buffer": 3}, "buffer_bytes": {"buffer_bytes": 4000}, "infinite rate": {"rate": None},
            "loss": {"loss": 0.02}, "ack_loss": {"ack_loss": 0.1}, "link jitter": {"jitter": 0.02},
            "link reorder": {"reorder": True, "jitter": 0.02}, "analytic": {"service": "analytic"},
            "served": {"service": "served"}, "changes": {"changes": [[0.5, 3e5], [1.5, 2e6]]},
            "changes by bit": {"changes": [[0.5, 3e5], [1.5, 2e6]], "changes_by": "bit"},
            "outage": {"changes": [[0.8, 0], [1.3, 1e6]]}, "changes of delay": {"changes": [[1.0, 1e6, 0.1]]},
            "retransmissions first": {"priority": "retransmissions"},
            "room of retransmissions": {"priority": "retransmissions", "priority_buffer": 2, "buffer": 8},
        }.items()
    }
    | {
        name: ("scenario", keys)
        for name, keys in {
            "grid": {"clock": "grid"}, "double": {"clock": "double"}, "heap": {"scheduler": "heap"},
            "drop of a segment": {"drops": [{"segment": 5}]}, "drop of an ack": {"drops": [{"ack": 4}]},
            "drop of a packet": {"drops": [{"link": "r->b", "packet": 7}]},
            "record": {"record": {"sends": True, "receives": True, "drops": True, "windows": 0, "queues": 0}},
            "record at times": {"record": {"windows": 0.05, "queues": 0.05}}, "epoch": {"epoch": 0.2},
            "no warm_up": {"warm_up": 0.0}, "bits of epochs": {"most_in_epoch": 3},
        }.items()
    }
)  # fmt: skip
#: What a feature needs elsewhere: a queue that marks, a router.
BESIDE = {
    "control dctcp": ("link", {"queue": "step", "queue_parameters": {"threshold": 4}}),
    "router_aware": ("link", {"router": "t_refwa"}),
}
#: Feature -> those that are refused beside it in one group of flows, on one link or in one scenario.
REFUSED = {
    "sender tfrc":
        "clear_rtt_after, clock_phase, control cubic, control dctcp, control hstcp, control logistic, control "
        "scalable, control vegas, control westwood, delayed_ack, ecn, frto, handshake, initial_rto, "
        "initial_window, leap, loss_probes, max_backoff, max_rto, min_rto, no limited_transmit, overhead, "
        "router_aware, rules linux, think, think_distribution, timer_granularity, timestamps, wide window, window of "
        "one",
    "infinite rate":
        "changes, changes by bit, changes of delay, control dctcp, linux's codel, linux's red, ns2's red, "
        "ns2's sfq, outage, queue codel, queue drr, queue fq_codel, queue pie, queue priority, queue "
        "proportional, queue red, queue sfq, queue step, retransmissions first, room of retransmissions, "
        "router t_refwa, router_aware",
    "analytic":
        "changes, changes by bit, changes of delay, control dctcp, control logistic, linux's codel, linux's "
        "red, ns2's red, ns2's sfq, outage, queue codel, queue drr, queue fq_codel, queue pie, queue "
        "priority, queue proportional, queue red, queue sfq, queue step, retransmissions first, room of "
        "retransmissions",
    "compensated acks":
        "clear_rtt_after, clock_phase, control cubic, control dctcp, control hstcp, control logistic, control "
        "scalable, control vegas, control westwood, delayed_ack, ecn, handshake, leap, no limited_transmit, "
        "router t_refwa, router_aware, think, think_distribution, timer_granularity, timestamps",
    "sender mtcp":
        "clear_rtt_after, clock_phase, control cubic, control dctcp, control hstcp, control logistic, control "
        "scalable, control vegas, control westwood, delayed_ack, ecn, handshake, leap, no limited_transmit, "
        "router t_refwa, router_aware, think, think_distribution, timer_granularity, timestamps",
    "retransmissions first":
        "buffer_bytes, control dctcp, linux's codel, linux's red, ns2's red, ns2's sfq, queue codel, queue "
        "drr, queue fq_codel, queue pie, queue priority, queue proportional, queue red, queue step",
    "room of retransmissions":
        "buffer_bytes, control dctcp, linux's codel, linux's red, ns2's red, ns2's sfq, queue codel, queue "
        "drr, queue fq_codel, queue pie, queue priority, queue proportional, queue red, queue step",
    "loss_probes":
        "clear_rtt_after, leap, max_backoff, no limited_transmit, on_off, rate_steps, sender cbr, sender "
        "poisson, sender reno, sender tahoe",
    "rules linux":
        "clear_rtt_after, leap, max_backoff, no limited_transmit, on_off, rate_steps, sender cbr, sender "
        "poisson, sender reno, sender tahoe",
    "frto":
        "clear_rtt_after, leap, max_backoff, no limited_transmit, on_off, rate_steps, sender cbr, sender "
        "poisson, sender reno, sender tahoe",
    "leap":
        "on_off, rate_steps, sender cbr, sender poisson, sender tahoe, window of one",
    "think":
        "drop of a segment, on_off, rate_steps, sender cbr, sender poisson",
    "think_distribution":
        "drop of a segment, on_off, rate_steps, sender cbr, sender poisson",
    "overhead":
        "on_off, rate_steps, sender cbr, sender poisson",
    "router_aware":
        "on_off, rate_steps, sender cbr, sender poisson",
    "drop of a packet":
        "drop of a segment, drop of an ack",
    "drop of a segment":
        "drop of an ack",
    "buffer":
        "buffer_bytes",
    "grid":
        "double",
    "record":
        "record at times",
}  # fmt: skip
NAMES_OF_FEATURES = sorted(FEATURES)
PAIRS = list(itertools.combinations(NAMES_OF_FEATURES, 2))


def _into(tables, keys, rng):
    """Put the keys into the first table that says nothing different of them, or now and then into one of their own."""
    fitting = [t for t in tables if all(t.get(key, value) == value for key, value in keys.items())]
    if not fitting or (rng is not None and len(tables) < 3 and rng.random() < 0.2):
        tables.append({})
        fitting = tables[-1:]
    fitting[0].update(copy.deepcopy(keys))


def table_of(names, rng=None):
    """The table of a scenario with these features: groups of flows from a to b by r, another way by q, and back."""
    flows, links, other = [{}], [{}], {}
    for where, keys in [part[name] for name in names for part in (FEATURES, BESIDE) if name in part]:
        if where == "flow":
            _into(flows, keys, rng)
        elif where == "link":
            _into(links, keys, rng)
        elif any(other.get(key, value) != value for key, value in keys.items()):
            return None
        else:
            other |= copy.deepcopy(keys)
    nodes = ["a", "r", *[f"n{i}" for i in range(len(links) - 1)], "b"]
    base = {"rate": 1e6, "delay": 0.01, "buffer": 12}
    way = []
    for source, target, keys in zip(nodes[1:-1], nodes[2:], links, strict=True):
        kept = {
            k: v
            for k, v in base.items()
            if not (k == "buffer" and ("buffer_bytes" in keys or keys.get("rate", 1) is None))
        }
        way.append({"source": source, "target": target} | kept | keys)
        if "drops" in other and "link" in other["drops"][0]:
            other["drops"][0]["link"] = f"r->{nodes[2]}"
    around = [("a", "r", 1e7), ("a", "q", 1e7), ("q", "b", 5e5)]
    access = [{"source": x, "target": y, "rate": rate, "delay": 0.003} for x, y, rate in around]
    for group in flows:
        if "routes" in group:
            group["routes"] = [
                [x for n in route for x in (nodes[1:-1] if n == "r" else [n])] for route in group["routes"]
            ]
        else:
            group["route"] = nodes
    table = {"flows": flows, "links": access + way, "duration": 3.0, "warm_up": 0.5, "slice": 0.5, "epoch": 0.1}
    table |= other
    table["slice"] = (table["duration"] - table["warm_up"]) / 5
    return json.loads(json.dumps(table))


def parsed(table):
    """The scenario, or the sentence that refuses it, which names a key."""
    try:
        return parse_scenario(table)
    except ScenarioError as refused:
        sentence = str(refused)
        assert len(sentence) < 700 and any(key in sentence for key in NAMES), sentence
        return sentence


def run(scenario):
    events = 0

    def count(budget, seconds):
        nonlocal events
        events += budget
        assert events < 30_000_000, "millions of events and no end"
        return engine._BUDGET

    with mock.patch.object(engine, "_next_budget", count):
        return result.dataset(scenario, scenario.seed, engine.execute(scenario, scenario.seed))


def differing(one, other):
    """Variables of both with other bytes."""
    return [
        name for name in one.data_vars if name in other and one[name].values.tobytes() != other[name].values.tobytes()
    ]


def wrong_in(table, scenario):
    """What is not as it must be in any run, one line each."""
    whole = parse_scenario(table | {"record": {"sends": True, "receives": True, "windows": 0}})
    data = run(whole)
    found = []
    for name, variable in data.data_vars.items():
        if variable.dtype.kind == "f" and np.isinf(variable.values).any():
            found.append(f"{name} is infinite")
    found += [f"twice the same seed: {name}" for name in differing(data, run(whole))]
    other = "heap" if whole.scheduler == "calendar" else "calendar"
    found += [f"by {other}: {name}" for name in differing(data, run(replace(whole, scheduler=other)))]
    plain = run(parse_scenario({k: v for k, v in table.items() if k != "record"}))
    found += [f"without a record: {name}" for name in differing(plain, data)]
    if differing(run(parse_scenario(result.table(whole))), data):
        found.append("its own description runs otherwise")
    spare = {"source": "b", "target": "nowhere"}
    with_spare = run(parse_scenario(table | {"links": [*table["links"], spare], "record": {"sends": True}}))
    if with_spare.send_time.values.tobytes() != data.send_time.values.tobytes():
        found.append("a link that nobody uses changes the sends")
    if data.attrs.get("clock") == "grid" or whole.clock == "grid":
        found += [f"off the grid: {name} {time!r}" for name, time in off_the_grid(data).items()]
    flow = 0
    for group in whole.flows:
        if group.sender in FOUR:
            for i in range(flow, flow + group.count):
                if group.think is None:
                    found += rises(data, group, i) + (bursts(data, group, i) if group.window_limit > 1 else [])
        flow += group.count
    short = run(replace(whole, duration=2.0, slice=(2.0 - whole.warm_up) / 5))
    before = data.send_time.values < 2.0 - 1e-9
    mine = short.send_time.values < 2.0 - 1e-9
    for name in ("send_time", "send_flow", "send_segment"):
        if data[name].values[before].tobytes() != short[name].values[mine].tobytes():
            found.append(f"a shorter run begins otherwise: {name}")
            break
    return found


def mixes(count, size, seed):
    """So many mixes of up to so many features: (features, table, scenario), and how often each pair came so far.

    Each begins with the pair that came least often among those that go together; a feature that is refused stays out.
    """
    rng = np.random.default_rng(seed)
    drawn = Counter(dict.fromkeys(PAIRS, 0))
    alone = set()
    for _ in range(count):
        order = rng.random(len(PAIRS))
        rare = np.lexsort((order, [drawn[pair] + 1e9 * (pair in alone) for pair in PAIRS]))
        behind = PAIRS[rare[0]]
        wanted = dict.fromkeys(
            [*behind, *PAIRS[rare[1]], *PAIRS[rare[2]], *rng.permutation(NAMES_OF_FEATURES).tolist()]
        )
        names, table, scenario = [], table_of([], rng), None
        for name in wanted:
            further = table_of([*names, name], rng)
            made = "keys that exclude each other" if further is None else parsed(further)
            if not isinstance(made, str):
                names, table, scenario = [*names, name], further, made
            elif name == behind[1]:
                alone.add(behind)
            if len(names) == size:
                break
        drawn.update(itertools.combinations(sorted(names), 2))
        yield names, table, scenario, drawn


def refused():
    """The pairs of the table."""
    return {tuple(sorted((one, other))) for one, others in REFUSED.items() for other in others.split(", ")}


def is_refused(pair):
    """Whether two features are refused in one place; what is refused names a key."""
    table = table_of(pair)
    return table is None or isinstance(parsed(table), str)


def test_refused_pairs_are_those_of_the_table():
    known = refused()
    assert all(is_refused(pair) for pair in known)
    others = [pair for pair in PAIRS if pair not in known]
    some = np.random.default_rng(1).choice(len(others), 200, replace=False)
    assert not [others[i] for i in some if is_refused(others[i])]


@pytest.mark.slow
def test_all_refused_pairs_are_in_the_table():
    assert {pair for pair in PAIRS if is_refused(pair)} == refused()


def test_some_mixes():
    for names, table, scenario, _ in mixes(25, 10, 1):
        wrong = wrong_in(table, scenario)
        assert not wrong, f"{wrong}\n{names}\n{table}"


@pytest.mark.slow
def test_two_thousand_mixes_with_each_pair_ten_times():
    """Two pairs of features run in two groups of flows or on two links where they are refused in one."""
    drawn = Counter()
    for names, table, scenario, counts in mixes(2000, 14, 3):
        wrong = wrong_in(table, scenario)
        assert not wrong, f"{wrong}\n{names}\n{table}"
        drawn = counts
    few = {pair for pair, count in drawn.items() if count < 10}
    assert few <= refused()
