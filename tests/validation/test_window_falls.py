"""No mark, loss or timeout opens a window: of every sender, by every rule book, with every window control.

A recorded row is the state after one acknowledgement or timeout. From row to row a window may only have grown as an
acknowledgement lets it grow: by the step of its control, or to the first window after a handshake. Two rule books have
more to say, and the bound says it with them:

- ns-2 counts a window together with what duplicates have added to it (`dupwnd_`). A mark on the acknowledgement that
  ends a recovery leaves half of that sum, which may be more than the window alone.
- Linux grows by all that an acknowledgement reports. It lets a window fall below its threshold while losses are
  repaired and sets it to that at the end (RFC 6937), and takes a needless fall back (RFC 5682): to no more than it had.
"""

from typing import Any

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.validation.packet import Bottleneck, Flows, Link, Record, Scenario, simulate
from tcpdynamics.validation.packet.kernel.paced.mtcp import SCHEMES
from tcpdynamics.validation.packet.kernel.windows import RULES
from tcpdynamics.validation.packet.user_rules import congestion_control

#: Queues, with parameters by which those that can mark do so rather than lose.
QUEUES: dict[str, dict[str, Any]] = {
    "step": {"threshold": 4}, "red": {"mark_p": 1.0, "min_threshold": 5}, "codel": {}, "pie": {"mark_p": 1.0},
    "fq_codel": {}, "proportional": {}, "droptail": {},
}  # fmt: skip
FOUR = ("tahoe", "reno", "newreno", "sack")
SENDERS = {"ns2": FOUR, "rfc": FOUR, "linux": ("newreno", "sack")}
CONTROLS = {"ns2": tuple(RULES), "rfc": tuple(RULES), "linux": ("reno", "cubic", "dctcp")}
#: The most that one acknowledgement adds to a window by "ns2" and "rfc" (logistic control: its epsilon, 1.95).
STEP = 2.0
#: Segments that may go at once beyond the window: two of limited transmit (RFC 3042), or two and a hole that a partial
#: acknowledgement shows (RFC 6582, ns-2), and what LEAP sends beside.
BEYOND = 3


def links(one_of: Any, control: str) -> tuple[Link, ...]:
    """A way that marks, loses, delays, and is silent for seconds, so that whole windows end in timeouts."""
    queue = one_of(*(name for name in QUEUES if control != "dctcp" or name != "droptail"))
    shared = Link(
        "r", "b", one_of(5e5, 2e6, 1e7), one_of(0.005, 0.05), one_of(6, 30, 300, 1500), queue=queue,
        queue_parameters=QUEUES[queue], loss=one_of(0.0, 0.0, 0.01, 0.1), ack_loss=one_of(None, 0.1),
        jitter=one_of(0.0, 0.0, 0.05), reorder=one_of(False, True),
        changes=one_of((), ((2.0, 0.0), (one_of(2.5, 6.0), 1e6)), ((1.0, 5e7), (2.0, 1e5), (4.0, 1e7))),
    )  # fmt: skip
    return (Link("a", "r", 1e8, 0.001), shared)


def drawn(seed: list[int], book: str, sender: str, control: str) -> Scenario:
    """One to three flows of a kind, with drawn options."""
    rng = np.random.default_rng(seed)

    def one_of(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    flow = {
        "rules": book, "sender": sender, "control": control, "ecn": control == "dctcp" or one_of(True, True, False),
        "window_limit": one_of(12, 100, 1000), "delayed_ack": one_of(0.0, 0.1), "packet_size": one_of(500, 1500),
        "timestamps": one_of(False, True), "route": ("a", "r", "b"),
    }  # fmt: skip
    if book == "linux":
        flow |= {"loss_probes": one_of(False, True), "frto": one_of(False, True)}
    else:
        flow |= {
            "handshake": one_of(False, True), "leap": sender != "tahoe" and one_of(False, False, True),
            "min_rto": one_of(None, 0.2), "initial_window": one_of(None, 1), "limited_transmit": one_of(True, False),
        }  # fmt: skip
    return Scenario(
        (Flows(one_of(1, 3), start_spread=1.0, **flow),), None, 12.0, 0.0, epoch=0.1, seed=int(rng.integers(1000)),
        links=links(one_of, control), record=Record(sends=True, receives=True, windows=0.0),
    )  # fmt: skip


def rises(run: xr.Dataset, group: Flows, flow: int) -> list[str]:
    """Rows where the window is larger than the row before and the acknowledgement between them allow."""
    mine, sends, came = (run[f"{name}_flow"].values == flow for name in ("window", "send", "receive"))
    time, cwnd, flight, state = (run[f"window_{name}"].values[mine] for name in ("time", "cwnd", "flight", "state"))
    first = float(group.settings()["initial_window"])
    before, outstanding, phase = (np.concatenate([[x], y[:-1]]) for x, y in ((first, cwnd), (0, flight), (0, state)))
    room = before + STEP
    if group.rules == "ns2":
        room = np.where(phase == 2, np.maximum(room, (before + outstanding) / 2 + STEP), room)
    if group.rules == "linux":
        top = np.maximum.accumulate(run.send_segment.values[sends]) + 1
        sent = np.searchsorted(run.send_time.values[sends], time, side="right")
        una = np.where(sent > 0, top[sent - 1], 0) - flight
        _, new = np.unique(run.receive_segment.values[came], return_index=True)
        arrived = np.searchsorted(np.sort(run.receive_time.values[came][new]), time, side="right")
        reported = arrived - np.concatenate([[0], una[:-1]])
        least = 0.0 if group.control in CONTROLS["linux"] else STEP  # a law of its own, by an acknowledgement
        room = np.maximum.accumulate(before) + np.maximum(reported, least)
    over = np.flatnonzero(cwnd > np.maximum(room, first))
    return [f"flow {flow}, {time[j]:.6f} s: cwnd {before[j]:g} -> {cwnd[j]:g}, flight {outstanding[j]:g}" for j in over]


def bursts(run: xr.Dataset, group: Flows, flow: int) -> list[str]:
    """Times at which more goes at once than the window of then allows."""
    mine, sends = run.window_flow.values == flow, run.send_flow.values == flow
    time, cwnd = run.window_time.values[mine], run.window_cwnd.values[mine]
    at, count = np.unique(run.send_time.values[sends], return_counts=True)
    first = float(group.settings()["initial_window"])
    window = np.concatenate([[first], cwnd])[np.searchsorted(time, at, side="right")]
    over = np.flatnonzero(count > window + BEYOND)
    return [f"flow {flow}, {at[j]:.6f} s: {count[j]} packets at once, window {window[j]:g}" for j in over]


def check(scenario: Scenario) -> xr.Dataset:
    run = simulate(scenario)
    for flow in range(scenario.count):
        wrong = rises(run, scenario.flows[0], flow) + bursts(run, scenario.flows[0], flow)
        assert not wrong, f"{wrong[:3]}\n{scenario}"
    return run


@pytest.mark.parametrize("book", SENDERS)
def test_nothing_but_acknowledgements_opens_a_window(book: str) -> None:
    marks = timeouts = recoveries = 0
    for i, sender in enumerate(SENDERS[book]):
        for j, control in enumerate(CONTROLS[book]):
            for seed in range(4 if book != "linux" else 20):
                run = check(drawn([seed, i, j], book, sender, control))
                marks += int(run.link_marked.sum()) if "link_marked" in run else 0
                timeouts += int(run.timeouts.sum())
                recoveries += int(run.fast_recoveries.sum())
    assert min(marks, timeouts, recoveries) > 400  # the draws above mean something


@pytest.mark.parametrize("sender", ["newreno", "sack"])
def test_a_mark_of_what_was_sent_before_a_timeout_does_not_open_the_window(sender: str) -> None:
    """Eleven flows fill a long queue: some time out while hundreds of their segments are under way, marked ones too."""
    way = Link("a", "b", 1e7, 0.05, 2000, queue="codel")
    flow = Flows(
        11, source="a", target="b", rules="rfc", sender=sender, ecn=True, window_limit=1000, min_rto=0.2,
        start_spread=1.0,
    )  # fmt: skip
    record = Record(sends=True, receives=True, windows=0.0)
    run = check(Scenario((flow,), None, 20.0, 0.0, epoch=0.1, links=(way,), record=record))
    assert int(run.timeouts.sum()) > 1 and int(run.link_marked.sum()) > 100


@pytest.mark.parametrize("rules", ["ns2", "rfc"])
def test_no_control_opens_the_window_of_a_handshake_that_is_lost(rules: str) -> None:
    """Vegas falls to two segments at a timeout; but a handshake is alone."""
    links = (Link("a", "b", 1e6, 0.05, changes=((0.0, 0.0), (5.0, 1e6))),)
    flow = Flows(source="a", target="b", rules=rules, control="vegas", handshake=True)
    run = simulate(Scenario((flow,), None, 20.0, 0.0, epoch=0.1, links=links, record=Record(sends=True, windows=0.0)))
    answered = run.window_time.values[run.window_rtt.values > 0.0][0]
    assert int(run.timeouts.sum()) > 0
    assert (run.send_segment.values[run.send_time.values < answered] == 0).all()


@pytest.mark.parametrize("rules", ["ns2", "rfc"])
def test_a_rule_of_ones_own_cannot_either(rules: str) -> None:
    @congestion_control("rises_at_all")
    def on_loss(f: Any, now: Any) -> None:
        f.cwnd = 100.0

    @congestion_control("rises_at_all")
    def on_timeout(f: Any, now: Any) -> None:
        f.cwnd = 100.0

    way = Bottleneck(1e6, 20, queue="step", queue_parameters={"threshold": 5}, loss=0.05)
    flow = Flows(2, rtt=0.1, rules=rules, control="rises_at_all", ecn=True, start_spread=1.0)
    record = Record(sends=True, receives=True, windows=0.0)
    run = check(Scenario((flow,), way, 20.0, 0.0, epoch=0.1, record=record))
    assert int(run.timeouts.sum()) > 0 and int(run.link_marked.sum()) > 0


@pytest.mark.parametrize("rules", ["ns2", "rfc"])
@pytest.mark.parametrize("acks", SCHEMES)
def test_no_window_of_several_routes_opens_at_a_loss(rules: str, acks: str) -> None:
    """The recorded window is the sum of the routes'; one acknowledgement has five replies at most."""
    links = [
        Link("a", f"r{i}", 1e6, 0.01 * (i + 1), 8, loss=0.05, changes=((3.0, 0.0), (5.0, 1e6))) for i in range(3)
    ] + [Link(f"r{i}", "b", 1e7, 0.01) for i in range(3)]
    flow = Flows(
        sender="mtcp", rules=rules, acks=acks, routes=tuple(("a", f"r{i}", "b") for i in range(3)), window_limit=60,
        delayed_ack=0.1 if acks == "duplicated_delayed" else 0.0,
    )  # fmt: skip
    run = simulate(Scenario((flow,), None, 30.0, 0.0, epoch=0.1, links=tuple(links), record=Record(windows=0.0)))
    assert int(run.timeouts.sum()) > 3 and int(run.fast_recoveries.sum()) > 3
    assert np.diff(run.window_cwnd.values).max() <= 5.0


@pytest.mark.parametrize(("rate", "buffer", "queue"), [(3e6, 20, "red"), (3e6, 20, "codel"), (1e7, 100, "codel")])
@pytest.mark.parametrize("sender", FOUR)
def test_a_mark_on_the_acknowledgement_that_ends_a_recovery(rate: float, buffer: int, queue: str, sender: str) -> None:
    """Eleven flows on a link that marks and loses."""
    flows = Flows(11, sender, "rfc", ecn=True, rtt=(0.02, 0.2), window_limit=1000)
    link = Bottleneck(rate, buffer, queue=queue)
    record = Record(sends=True, receives=True, windows=0.0)
    for seed in range(2):
        run = check(Scenario((flows,), link, 15.0, 1.0, seed=seed, record=record))
    assert run.link_marked.sum() > 10 and run.dropped.sum() > 10
