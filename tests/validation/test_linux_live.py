"""Linux as judge, with the kernel: its queue is ours to a microsecond, and the same seed gives the same bytes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.errors import LinuxError
from tcpdynamics.validation.linux import OLD, TODAY, installed, run_linux, run_linux_many
from tcpdynamics.validation.linux import run as running
from tcpdynamics.validation.linux.capture import LAYOUT
from tcpdynamics.validation.packet import Bottleneck, Drop, Flows, Link, Record, Scenario

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def linux() -> None:
    """The kernel; a test is skipped without one."""
    if not installed():
        pytest.skip("Linux is not built")


def scenario(*flows: Flows, duration: float = 20.0, warm_up: float = 0.0, **link: Any) -> Scenario:
    bottleneck = Bottleneck(**({"rate": 2e6, "buffer": 20} | link))
    return Scenario(flows, bottleneck, duration, warm_up, epoch=1.0, record=Record(sends=True))


FIVE = Flows(count=5, rtt=(0.1, 0.13), packet_size=1000)


def same(a: xr.Dataset, b: xr.Dataset) -> bool:
    return a.identical(b)


@pytest.fixture
def packets(monkeypatch: pytest.MonkeyPatch) -> dict[str, np.ndarray]:
    """What the next run captures, by file: [arrival at the first queue's access, flow, wire bytes, IP's number]."""
    kept: dict[str, Any] = {}
    read = running.read_capture

    def keep(folder: Path, made: Any, origin: int, duration: float) -> Any:
        for path in (*folder.glob("sent-*"), *folder.glob("received-*")):
            kept[path.name] = np.fromfile(path, LAYOUT)
        kept["origin"], kept["made"] = origin, made
        return read(folder, made, origin, duration)

    monkeypatch.setattr(running, "read_capture", keep)
    return kept


@pytest.mark.parametrize(("rate", "buffer"), [(2e6, 20), (4e5, 5), (1e7, 50)])
def test_the_queue_is_the_simulators(packets: dict[str, Any], rate: float, buffer: int) -> None:
    """Every packet, acknowledgements of handshakes too, is refused or served as a list of departures says."""
    run_linux(scenario(FIVE, rate=rate, buffer=buffer, duration=60.0))
    sent, got = packets["sent-a0"], packets["received-b0"]
    sent = sent[sent["source"] >> 24 == 10]
    late = np.array([f.routes[0].to_queue for f in packets["made"].flows])

    def read(p: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int]]]:
        time = (p["second"].astype(np.int64) * 10**9 + p["nanosecond"] - packets["origin"]) / 1e9
        flow = (p["source"] & 255).astype(int) - 1
        return time, flow, list(zip(flow.tolist(), p["id"].tolist(), strict=True))

    time, flow, names = read(sent)
    there, flow_there, names_there = read(got)
    received = dict(zip(names_there, there - late[flow_there], strict=True))
    departures: deque[float] = deque()
    gone = -np.inf
    left, seen, last = [], [], 0.0
    for i in np.argsort(time + late[flow], kind="stable"):
        now = time[i] + late[flow[i]]
        while departures and departures[0] <= now:
            gone = departures.popleft()
        served = names[i] in received
        at_once = now - gone < 1e-6 or (departures and departures[0] - now < 1e-6)  # the clock's steps are 256 ns
        assert (len(departures) < buffer) == served or at_once, f"packet {i} at {now:.9f} s"
        if served:
            last = max(last, now) + 8 * (int(sent["total"][i]) + 14) / rate
            departures.append(last)
            left.append(last)
            seen.append(received[names[i]])
    assert 1000 < len(left) < len(time)
    # In order: of two that come within a step of the clock either may be first.
    np.testing.assert_allclose(np.sort(seen), left, rtol=0, atol=3e-6)


def test_the_same_seed_gives_the_same_bytes_beside_a_busy_loop() -> None:
    given = scenario(FIVE, Flows(rtt=0.1, packet_size=1000, control="cubic"), loss=0.01)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        runs = run_linux_many(given, [3] * 10, workers=2)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert all(same(runs[0], run) for run in runs[1:])
    assert not same(runs[0], run_linux(given, 4))


def test_ten_guests_at_once_are_as_one_after_the_other() -> None:
    given = scenario(FIVE, duration=5.0)
    together, alone = (run_linux_many(given, range(10), workers=n) for n in (10, 1))
    assert all(same(a, b) for a, b in zip(together, alone, strict=True))


@pytest.mark.parametrize(("limit", "first"), [(2, 1), (8, 3), (40, 10), (100, 10)])
def test_windows_are_those_of_the_scenario(limit: int, first: int) -> None:
    """A round trip with the handshake, then the first window, doubled until the advertised one."""
    flow = Flows(rtt=0.1, window_limit=limit, initial_window=first)
    run = run_linux(scenario(flow, rate=1e8, buffer=1000, duration=5.0), switches=OLD)
    rounds = np.bincount(np.round(run.send_time.values / 0.1005).astype(int))[:40]
    expected = [1, *(min(first * 2**n, limit) for n in range(39))]
    np.testing.assert_array_equal(rounds, expected)


def test_losses_by_chance() -> None:
    run = run_linux(scenario(FIVE, rate=1e8, buffer=None, loss=0.02, duration=60.0))
    error = 4 * np.sqrt(0.02 / float(run.sent.sum()))
    assert float(run.loss_rate) == pytest.approx(0.02, abs=error)


def test_transfers_end() -> None:
    flow = Flows(count=3, rtt=0.1, segments=100, packet_size=1000)
    run = run_linux(scenario(flow))
    assert np.isfinite(run.finish).all()
    assert (run.finish > run.start + 0.3).all()
    np.testing.assert_array_equal(run.goodput, 101)  # with the handshake
    np.testing.assert_array_equal(run.sent, run.goodput + run.dropped)


@pytest.mark.parametrize(
    "control",
    ["cubic", "bbr", "westwood", "scalable", "highspeed", "vegas", "veno", "htcp", "hybla", "illinois", "bic", "lp"],
)
def test_every_control_fills_the_link(control: str) -> None:
    run = run_linux(scenario(FIVE, warm_up=5.0), controls=(control,))
    assert 0.8 < float(run.link_utilisation[0]) < 1.001  # a packet more or less at the ends
    assert json.loads(run.attrs["controls"]) == [control] * 5


@pytest.mark.parametrize("queue", ["red", "sfq", "codel", "fq_codel", "pie"])
def test_every_discipline_serves_and_drops(queue: str) -> None:
    run = run_linux(scenario(FIVE, warm_up=5.0, queue=queue, buffer=40))
    assert 0.8 < float(run.link_utilisation[0]) < 1.001  # a packet more or less at the ends
    assert int(run.dropped.sum()) > 0


def test_marks_in_place_of_losses() -> None:
    flow = replace(FIVE, ecn=True)
    run = run_linux(scenario(flow, queue="codel", buffer=200, warm_up=5.0))
    assert int(run.dropped.sum()) == 0
    words = "codel limit 99 target 10s interval 100s ce_threshold 16ms"
    run = run_linux(scenario(flow, warm_up=5.0), controls=("dctcp",), disciplines={"bottleneck": words})
    assert int(run.dropped.sum()) == 0 and float(run.link_utilisation[0]) > 0.9


@pytest.mark.parametrize("control", ["reno", "cubic"])
def test_two_queues_coupled_by_marks(packets: dict[str, Any], control: str) -> None:
    """RFC 9332: DCTCP waits near the step, the other near the target, and neither starves.

    Linux's DCTCP sends ECT(0), so it is in the queue of its own by `any_ect` alone.
    """
    plain = Flows(rtt=0.02, packet_size=1500, window_limit=500)
    given = scenario(plain, replace(plain, ecn=True), rate=1e7, buffer=100, duration=60.0, warm_up=10.0)

    def run(words: str) -> tuple[xr.Dataset, list[float], dict[str, int]]:
        got = run_linux(given, controls=(control, "dctcp"), disciplines={"bottleneck": words})
        told = json.loads(got.attrs["queues"])[0].split()
        names = ("packets_in_c", "packets_in_l", "ecn_mark", "step_marks")
        counts = {name: int(told[told.index(name) + 1]) for name in names}
        return got, [wait(packets, i) for i in range(2)], counts

    got, (classic, scalable), counts = run("dualpi2 limit 100 target 15ms step_thresh 1ms any_ect")
    share = got.goodput_rate.values / got.goodput_rate.values.sum()
    assert float(got.link_utilisation[0]) > 0.95 and 0.2 < share[0] < 0.8
    assert 0.0075 < classic < 0.03 and scalable < 0.005  # of a target of 15 ms; a step of 1 ms, and two packets
    assert int(got.dropped[1]) == 0 < counts["step_marks"] < counts["ecn_mark"] < counts["packets_in_l"]
    _, (classic, scalable), counts = run("dualpi2 limit 100")
    assert counts["packets_in_l"] == 0 and scalable == pytest.approx(classic, rel=0.5)


def wait(packets: dict[str, Any], host: int) -> float:
    """Mean time [s] from sender to receiver beyond the delay of the wires, of a host with one flow."""
    sent, got = packets[f"sent-a{host}"], packets[f"received-b{host}"]
    sent, got = (p[p["source"] >> 24 == 10] for p in (sent, got))
    left = dict(zip(sent["id"].tolist(), nanoseconds(sent), strict=True))  # the last of each number
    times = [t - left[n] for n, t in zip(got["id"].tolist(), nanoseconds(got), strict=True) if t >= left[n]]
    return float(np.mean(times)) / 1e9 - 0.01


def nanoseconds(p: np.ndarray) -> list[int]:
    return (p["second"].astype(np.int64) * 10**9 + p["nanosecond"]).tolist()


def test_two_ways_over_a_network() -> None:
    links = (
        Link("s", "r1", 1e7, 0.001), Link("r1", "r2", 1e6, 0.02, 20), Link("r2", "d", 1e7, 0.001),
        Link("x", "r2", 1e7, 0.002), Link("r1", "y", 1e7, 0.002),
    )  # fmt: skip
    flows = tuple(Flows(source=a, target=b, packet_size=1000) for a, b in (("s", "d"), ("x", "d"), ("d", "y")))
    run = run_linux(Scenario(flows, None, 20.0, 5.0, epoch=1.0, links=links))
    use = run.link_utilisation.sel(link=["r1->r2", "r2->r1"])
    assert ((use > 0.5) & (use < 1)).all()
    assert (run.goodput > 100).all()


def test_switches_change_what_they_say() -> None:
    plain = run_linux(scenario(FIVE), switches=OLD)
    for name in ("tlp", "timestamps", "pacing"):
        assert not same(plain, run_linux(scenario(FIVE), switches=replace(OLD, **{name: True})))
    delayed = run_linux(scenario(replace(FIVE, delayed_ack=0.1)), switches=OLD)
    assert (delayed.send_time.size, *delayed.sent.values) != (plain.send_time.size, *plain.sent.values)


def test_what_the_guest_said_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = running.PROGRAM.read_text()
    wrong = tmp_path / "guest.py"
    wrong.write_text(program.replace("spaces = make_network(case)", "say('so far'); 1 / 0"))
    monkeypatch.setattr(running, "PROGRAM", wrong)
    with pytest.raises(LinuxError, match=r"without a result; it said: .*so far.*ZeroDivisionError"):
        run_linux(scenario(FIVE))
    wrong.write_text(program.replace("spaces = make_network(case)", "say('so far')\n        while True: pass"))
    with pytest.raises(LinuxError, match=r"longer than 3 s.*so far"):
        run_linux(scenario(FIVE), timeout=3.0)


def test_chosen_packets_are_lost() -> None:
    """Packet 10 is segment 9: the handshake's acknowledgement is counted. At the tail a probe saves the timeout."""
    flow = Flows(rtt=0.1, segments=60, packet_size=1000, initial_window=4, window_limit=20)

    def run(*numbers: int, **options: Any) -> xr.Dataset:
        lost = tuple(Drop(link="bottleneck", packet=n) for n in numbers)
        return run_linux(replace(scenario(flow, rate=1e6, buffer=100), drops=lost), **options)

    whole, one = run(), run(10)
    assert int(whole.sent[0]) == 61 and int(one.sent[0]) == 62
    twice = one.send_segment.values[np.bincount(one.send_segment.values)[one.send_segment.values] == 2]
    np.testing.assert_array_equal(twice, 9)
    np.testing.assert_allclose(one.send_time.values[:20], whole.send_time.values[:20], rtol=0, atol=2e-6)
    assert [int(run(60, 61, switches=switches).timeouts[0]) for switches in (TODAY, OLD)] == [0, 1]


@pytest.mark.parametrize(
    ("rates", "loss", "shares"),
    [((5e6, 5e6), 0.0, (0.9, 0.9)), ((1e6, 5e6), 0.0, (0.85, 0.8)), ((5e6, 5e6), 0.05, (0.8, 0.1))],
)
def test_a_flow_over_two_routes(rates: tuple[float, float], loss: float, shares: tuple[float, float]) -> None:
    """Multipath TCP has the sum of two links, or all of the one and little of the other, which loses packets."""
    links = (
        Link("s", "a", 1e8, 0.001), Link("a", "d", rates[0], 0.02, 40),
        Link("s", "b", 1e8, 0.001), Link("b", "d", rates[1], 0.02, 40, loss=loss),
    )  # fmt: skip
    routes = (("s", "a", "d"), ("s", "b", "d"))
    flow = Flows(sender="mtcp", routes=routes, packet_size=1500, window_limit=500)
    run = run_linux(Scenario((flow,), None, 40.0, 5.0, epoch=1.0, links=links))
    got = run.route_goodput_rate.values[0]
    assert (got > np.array(shares) * rates).all() and (got < 1.01 * np.array(rates)).all()
    assert got.sum() == pytest.approx(float(run.goodput_rate[0]), rel=0.02)
    assert loss == 0.0 or got[1] < 0.4 * rates[1]
    assert (run.link_utilisation.sel(link=["a->d", "b->d"]) < 1.01).all()


def test_a_transfer_over_two_routes_ends() -> None:
    links = (Link("s", "a", 5e6, 0.02, 40), Link("a", "d", 1e8, 0.001), Link("s", "b", 5e6, 0.02, 40))
    links += (Link("b", "d", 1e8, 0.001),)
    routes = (("s", "a", "d"), ("s", "b", "d"))
    flow = Flows(sender="mtcp", routes=routes, packet_size=1500, window_limit=500, segments=2000)
    run = run_linux(Scenario((flow,), None, 20.0, 0.0, epoch=1.0, links=links))
    assert 2000 * 12000 / 1e7 < float(run.finish[0]) < 2000 * 12000 / 5e6
    assert int(run.goodput[0]) == 2001


@pytest.mark.parametrize("switches", [OLD, TODAY])
def test_a_flow_stops(switches: Any) -> None:
    """No new data but what its socket has, and all is repaired; other flows go on."""
    flow = Flows(rtt=0.1, packet_size=1000)
    run = run_linux(scenario(replace(flow, stop=8.0), flow), switches=switches)
    mine = run.send_flow.values == 0
    segment, time = run.send_segment.values[mine], run.send_time.values[mine]
    first = time[np.unique(segment, return_index=True)[1]]
    assert 7.5 < first.max() < 8.1 and (first > 8.0).sum() <= 6
    assert int(run.goodput[0]) == segment.max() + 1
    assert run.send_time.values[~mine].max() > 19.0
