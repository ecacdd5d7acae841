"""Interpreted, as a debugger steps through it, the loop does what the compiled one does.

Run as a script, this file prints a digest of each of its scenarios.
"""

import hashlib
import json
import os
import subprocess
import sys

import pytest

from tcpdynamics.validation.packet import Bottleneck, Drop, Flows, Link, Record, Scenario, simulate
from tcpdynamics.validation.packet.user_rules import congestion_control

EVERYTHING = Record(sends=True, receives=True, drops=True, windows=0.0, queues=0.0)
SENDERS = ("tahoe", "reno", "newreno", "sack")


@congestion_control("interpreted_too")
def on_ack(f, now, acked):
    f.x0 += acked
    f.cwnd += f.p0 if f.cwnd < f.ssthresh else f.p1 * acked / f.cwnd


@congestion_control("interpreted_too")
def on_loss(f, now):
    f.cwnd = max(0.7 * min(f.cwnd, f.flight), 1.0)
    f.ssthresh = f.cwnd


def crowd(sender, rules, **options):
    """Ten seconds of a bottleneck with losses of both kinds: some hundred packets."""
    flow = Flows(3, sender, rules, rtt=(0.05, 0.1), jitter=0.004, initial_window=4, start_spread=0.1, **options)
    return Scenario(
        (flow,),
        Bottleneck(1e5, 5, 0.02, queue="step" if options.get("control") == "dctcp" else "droptail"),
        duration=10.0,
        warm_up=1.0,
        slice=2.0,
        record=EVERYTHING,
    )


def network(clock, scheduler):
    """Two-way traffic, queued and lost acknowledgements, both services, chosen losses, open loop."""
    links = (
        Link("a", "r", 1e6, 0.002, service="served"),
        Link("r", "b", 2e5, 0.01, buffer=6, loss=0.01, service="analytic"),
        Link("r", "c", 2e5, 0.01, buffer_bytes=3000, jitter=0.003),
    )
    flows = (
        Flows(sender="sack", source="a", target="b", delayed_ack=0.1, timestamps=True),
        Flows(sender="newreno", rules="rfc", source="b", target="a", segments=30),
        Flows(sender="reno", source="a", target="c", overhead=0.01, stop=2.0),
        Flows(sender="poisson", source="c", target="b", rate=4e4),
        Flows(2, "cbr", source=("a", "b"), target=("b", "c"), rate=2e4, arrival_rate=2.0),
    )
    drops = (Drop(0, segment=5), Drop(1, ack=3), Drop(link="r->c", packet=4))
    return Scenario(
        flows, None, 4.0, 0.0, epoch=0.1, slice=1.0, links=links, drops=drops, record=EVERYTHING, clock=clock,
        scheduler=scheduler,
    )  # fmt: skip


def paced(book):
    """TFRC beside SACK, bursts, and a rate in steps, over a queue that is too short for them."""
    links = (Link("a", "b", 1e6, 0.002), Link("b", "c", 3e5, 0.02, buffer=8, jitter=0.002))
    options = {"damping": 1, "discounting": 1, "intervals": 4}
    flows = (
        Flows(2, "tfrc", book, source="a", target="c", parameters=options, start_spread=0.2),
        Flows(1, "tfrc", book, source="a", target="b", segments=30),
        Flows(1, "sack", book, source="a", target="c"),
        Flows(1, "cbr", source="a", target="c", rate=1e5, on_time=0.3, off_time=0.2),
        Flows(1, "poisson", source="c", target="a", rate=1e5, on_time=0.3, off_time=0.2, on_off="fixed"),
        Flows(1, "cbr", source="a", target="c", rate_steps=((0.5, 5e4), (1.5, 0.0), (2.2, 2e5)), stop=4.0),
    )
    return Scenario(flows, None, 5.0, 0.0, epoch=0.1, slice=1.0, links=links, record=EVERYTHING)


def several_routes(acks, book, clock):
    """M/TCP over three routes, one of which goes dark for a while, beside SACK; both readings of its lists."""
    dark = ((0.0, 4e5), (0.8, 0.0), (2.0, 4e5))
    links = tuple(
        link
        for name, more in (("a", {}), ("b", {"loss": 0.05, "ack_loss": 0.2}), ("c", {"changes": dark}))
        for link in (Link("s", name, 1e7, 0.002), Link(name, "d", 4e5, 0.02, buffer=8, **more))
    )
    ways = (("s", "a", "d"), ("s", "b", "d"), ("s", "c", "d"))
    flows = (
        Flows(1, "mtcp", book, routes=ways, acks=acks, parameters={"per_ack": 3}, jitter=0.002),
        Flows(1, "mtcp", book, routes=ways[:2], acks=acks, parameters={"cumulative": 0}, segments=60),
        Flows(1, "sack", book, route=ways[0]),
    )
    return Scenario(flows, None, 3.0, 0.0, epoch=0.1, slice=1.0, links=links, record=EVERYTHING, clock=clock)


def queued(queue, values, **more):
    """A discipline on a link with little room, for flows with ECN and without, of both rule books."""
    links = (
        Link("a", "b", 3e5, 0.01, buffer=12, queue=queue, queue_parameters=values, **more),
        Link("b", "c", 2e5, 0.01, buffer_bytes=6000, queue=queue, queue_parameters=values),
    )
    flows = (
        Flows(2, "sack", source="a", target="c", ecn=True, start_spread=0.1),
        Flows(1, "reno", "rfc", source="a", target="c", packet_size=1000, priority=1),
        Flows(1, "newreno", source="a", target="b", delayed_ack=0.1, ecn=True),
        Flows(1, "newreno", "rfc", source="c", target="a", ecn=True),
    )
    return Scenario(flows, None, 3.0, 0.0, epoch=0.1, slice=1.0, links=links, record=EVERYTHING)


def disturbed(clock):
    """Losses in bursts, by kind, packets that overtake, and rates and delays that change, on links and a bottleneck."""
    bursts = {"model": "gilbert-elliott", "p": 0.05, "r": 0.4, "good": 0.01, "bad": 0.9}
    rows = ((0.5, 3e5, 0.03), (1.0, 0.0), (1.2, 2e6, 0.0), (2.0, 4e5, 0.01))
    links = (
        Link("a", "b", 5e5, 0.01, loss=bursts, ack_loss=0.05, changes=rows, reorder=True),
        Link("b", "c", 4e5, 0.01, buffer=8, loss=0.01, ack_loss=bursts, jitter=0.02, reorder=True),
        Link("c", "d", 4e5, 0.01, changes=rows, changes_by="bit", queue="red"),
    )
    flows = (
        Flows(2, "sack", source="a", target="d", start_spread=0.1),
        Flows(1, "reno", "rfc", source="a", target="c", jitter=0.01, reorder=True, timestamps=True),
        Flows(1, "newreno", source="d", target="b", delayed_ack=0.1),
    )
    return Scenario(flows, None, 3.0, 0.5, epoch=0.1, slice=1.0, links=links, record=EVERYTHING, clock=clock)


def routed(book):
    """Two T-REFWA routers in a row, one with each reading, in bytes and in packets, with losses on the way back."""
    readings = ({"measured_rtt": 0, "queue_age": 0, "clamped": 1}, {"phi": 1, "measured_window": 1})
    links = (
        Link("a", "b", 4e5, 0.01, buffer=12, router="t_refwa", router_parameters=readings[0]),
        Link("b", "c", 3e5, 0.01, buffer_bytes=6000, router="t_refwa", router_parameters=readings[1], ack_loss=0.05),
        Link("c", "d", 3e5, 0.02, loss=0.02),
    )
    flows = (
        Flows(2, "sack", book, source="a", target="d", start_spread=0.1),
        Flows(1, "newreno", book, source="a", target="b", packet_size=1000, delayed_ack=0.1),
        Flows(1, "reno", book, source="d", target="a"),
        Flows(1, "cbr", source="a", target="c", rate=5e4),
    )
    return Scenario(flows, None, 4.0, 0.5, epoch=0.1, slice=1.0, links=links, record=EVERYTHING)


#: So that each discipline does what it can in a short run.
QUEUES = {
    "red": {"min_threshold": 1, "max_threshold": 6, "p_max": 0.2, "weight": 0.1, "gentle": 1},
    "sfq": {"queues": 3, "perturbation": 0.5},
    "drr": {"queues": 3, "quantum": 500},
    "codel": {"target": 0.01},
    "fq_codel": {"queues": 4, "target": 0.01, "quantum": 300},
    "pie": {"burst": 0.02},
    "priority": {},
    "step": {"threshold": 4},
    "proportional": {"min_threshold": 1, "max_threshold": 9},
}
#: The same as Linux does it.
AS_LINUX = {
    "red": {"min_threshold": 1, "max_threshold": 6, "p_max": 0.2, "weight": 0.1, "linux": 1},
    "codel": {"target": 0.01, "linux": 1},
    "fq_codel": {"queues": 4, "target": 0.01, "quantum": 300, "linux": 1},
    "pie": {"burst": 0.02, "linux": 1},
}


def scenarios():
    made = {f"{sender}, {book}": crowd(sender, book) for sender in SENDERS for book in ("ns2", "rfc")}
    rule = {"control": "interpreted_too", "parameters": (0.5, 2.0)}
    made |= {f"rule, {book}": crowd("sack", book, **rule) for book in ("ns2", "rfc")}
    for control in ("hstcp", "scalable", "westwood", "vegas", "cubic", "dctcp"):
        few = {"low_window": 4.0} if control in ("hstcp", "scalable") else {}
        few |= {"hystart": 1} if control == "cubic" else {}
        for book in ("ns2", "rfc") if control in ("hstcp", "vegas") else ("rfc",):
            made[f"{control}, {book}"] = crowd(
                "sack", book, control=control, parameters=few, ecn=control == "dctcp", delayed_ack=0.1
            )
    for book in ("ns2", "rfc"):
        law = {"error": 0.3, "staleness": 0.5, "interval": 0.5, "offered": int(book == "rfc"), "epsilon": 4.0}
        made[f"logistic, {book}"] = crowd("sack", book, control="logistic", parameters=law)
    for sender, control in (("sack", "cubic"), ("newreno", "reno"), ("sack", "dctcp")):
        flows = (
            Flows(
                2, sender, "linux", rtt=(0.05, 0.1), control=control, think=0.1, segments=80,
                timestamps=sender == "sack", loss_probes=True, frto=control == "cubic", delayed_ack=0.04,
                ecn=control == "dctcp",
            ),
            Flows(1, sender, "linux", rtt=0.2, jitter=0.01, reorder=True),
        )  # fmt: skip
        link = Bottleneck(5e5, 12, loss=0.02, queue="red" if control == "dctcp" else "droptail")
        made[f"linux, {sender}, {control}"] = Scenario(flows, link, 12.0, 0.0, epoch=0.1, record=EVERYTHING)
    made["alone"] = Scenario((Flows(rules="rfc"),), Bottleneck(2e5, 8), duration=5.0, warm_up=1.0, record=EVERYTHING)
    made["network, grid"] = network("grid", "calendar")
    made |= {queue: queued(queue, values) for queue, values in QUEUES.items()}
    made |= {f"{queue} of Linux": queued(queue, values) for queue, values in AS_LINUX.items()}
    made["priority of retransmissions"] = queued("sfq", QUEUES["sfq"], priority="retransmissions", priority_buffer=4)
    made["priority, shared"] = Scenario(
        (Flows(3, rtt=0.1), Flows(3, "newreno", "rfc", rtt=0.1, jitter=0.004)),
        Bottleneck(3e5, 8, priority="retransmissions"), duration=6.0, warm_up=1.0, record=EVERYTHING,
    )  # fmt: skip
    made |= {f"paced, {book}": paced(book) for book in ("ns2", "rfc")}
    made |= {f"routed, {book}": routed(book) for book in ("ns2", "rfc")}
    for acks, book, clock in (
        ("immediate", "ns2", "double"), ("duplicated", "rfc", "grid"), ("duplicated_delayed", "ns2", "grid"),
    ):  # fmt: skip
        made[f"mtcp, {acks}"] = several_routes(acks, book, clock)
    as_ns2 = {"ns2": 2, "min_threshold": 2, "max_threshold": 6, "weight": 0.05, "bytes": 1, "wait": 1}
    made["red, ns2"] = Scenario(
        (Flows(ecn=True),), Bottleneck(4e5, 30, queue="red", queue_parameters=as_ns2), 4.0, 1.0, record=EVERYTHING
    )
    made |= {f"disturbed, {clock}": disturbed(clock) for clock in ("grid", "double")}
    burst = {"model": "gilbert-elliott", "p": 0.02, "r": 0.3}
    leaping = {"leap": True, "delayed_ack": 0.1, "segments": 60}
    for sender, book in (("reno", "ns2"), ("newreno", "rfc"), ("sack", "ns2"), ("sack", "rfc")):
        flows = (Flows(3, sender, book, rtt=(0.05, 0.1), think=0.1, **leaping), Flows(1, "sack", rtt=0.1))
        made[f"leap, {sender}, {book}"] = Scenario(
            flows, Bottleneck(4e5, 20, loss=0.1, ack_loss=0.2), 12.0, 0.0, epoch=0.1, record=EVERYTHING
        )
    changing = Bottleneck(4e5, loss=burst, ack_loss=0.02, buffer_bytes=5000, changes=((2.0, 1e5, 0.1), (4.0, 8e5)))
    made["bottleneck that changes"] = Scenario(
        (Flows(3, rtt=0.1),), changing, duration=8.0, warm_up=1.0, record=EVERYTHING
    )
    made["network, double"] = network("double", "heap")
    return made


def digests(part):
    """Name -> a hash of every variable's bytes, and the packets sent and lost; of "every fifth" scenario, or "all"."""
    found = {}
    for name, scenario in list(scenarios().items())[:: 5 if part == "every fifth" else 1]:
        result = simulate(scenario)
        variables = {str(v): hashlib.sha256(result[v].values.tobytes()).hexdigest() for v in result.data_vars}
        found[name] = (variables, int(result["sent"].sum()), int(result["dropped"].sum()))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("part", ["every fifth", pytest.param("all", marks=pytest.mark.slow)])
def test_interpreted_runs_equal_compiled_ones(part):
    done = subprocess.run(
        [sys.executable, __file__, part],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    interpreted, compiled = json.loads(done.stdout), digests(part)
    for name, (variables, sent, dropped) in compiled.items():
        assert sent > 50 and (dropped > 0 or name == "alone"), name
        for variable, digest in variables.items():
            assert interpreted[name][0][variable] == digest, (name, variable)


if __name__ == "__main__":
    print(json.dumps(digests(sys.argv[1])))
