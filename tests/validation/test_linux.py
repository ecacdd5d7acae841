"""Linux as judge, where no kernel is needed: plans, refusals, what the guest is told, captures, building, faults."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
import time
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tcpdynamics.errors import LinuxError, ScenarioError
from tcpdynamics.validation import ns2
from tcpdynamics.validation.linux import (
    OLD,
    TODAY,
    LinuxSwitches,
    build,
    dualpi2,
    guests,
    installed,
    kernel,
    plan,
    run_linux,
)
from tcpdynamics.validation.linux.__main__ import main
from tcpdynamics.validation.linux.capture import Seen as Captured
from tcpdynamics.validation.linux.capture import read_capture
from tcpdynamics.validation.linux.case import case
from tcpdynamics.validation.linux.guest import attributes
from tcpdynamics.validation.linux.guests import _refused
from tcpdynamics.validation.linux.queues import queue, red_burst
from tcpdynamics.validation.linux.routes import new_bits, of_routes
from tcpdynamics.validation.ns2.run import Seen, observed
from tcpdynamics.validation.ns2.trace import Packets
from tcpdynamics.validation.packet import Bottleneck, Drop, Flows, Link, Scenario

CAPTURE = Path(__file__).with_name("linux_capture.json")


def scenario(*flows: Flows, **link: object) -> Scenario:
    return Scenario(flows or (Flows(rtt=0.1),), Bottleneck(**({"rate": 1e6, "buffer": 8} | link)), 10.0, 0.0, epoch=1.0)


def lines(told: dict, tool: str, space: str) -> list[str]:
    return [line for t, s, text in told["batches"] if (t, s) == (tool, space) for line in text]


def test_a_dumbbell_is_four_nodes_and_hosts() -> None:
    told = case(given := scenario(Flows(count=3, rtt=(0.1, 0.2))), plan(given, 1, TODAY))
    assert sorted(told["spaces"]) == ["a0", "b0", "d", "r1", "r2", "s"]
    assert lines(told, "tc", "r1") == ["qdisc add dev d0 root netem rate 1000000bit limit 8"]
    waits = sorted(float(line.split("delay ")[1].split("us")[0]) for line in lines(told, "tc", "s"))
    assert waits == [25000.0, 37500.0, 50000.0]
    assert len(lines(told, "ip", "")) == 1 + 3 * 3 + 2  # bottleneck, ways, plugs


def test_flows_of_one_round_trip_share_their_wires() -> None:
    assert len(plan(scenario(Flows(count=40, rtt=0.1)), 1, TODAY).wires) == 1 + 3 + 2


def test_starts_and_sizes_are_those_of_ns2() -> None:
    drawn = Flows(count=5, rtt=0.1, segments=100, segments_shape=1.5)
    given = scenario(drawn, Flows(count=2, rtt=0.1, arrival_rate=1.0))
    ours, theirs = plan(given, 7, TODAY), ns2.plan(given, 7)
    assert [(f.start, f.segments) for f in ours.flows] == [(f.start, f.segments) for f in theirs.flows]


def test_a_packet_has_the_size_of_the_scenario() -> None:
    for switches in (OLD, TODAY):
        flow = plan(scenario(Flows(rtt=0.1, packet_size=1000)), 1, switches).flows[0]
        assert flow.payload + 14 + 20 + 20 + 12 * switches.timestamps == 1000


def test_senders_with_other_settings_have_hosts_of_their_own() -> None:
    made = plan(scenario(Flows(rtt=0.1), Flows(rtt=0.1, sender="newreno"), Flows(rtt=0.1, ecn=True)), 1, TODAY)
    assert [flow.hosts for flow in made.flows] == [("a0", "b0"), ("a1", "b1"), ("a2", "b2")]
    assert [made.spaces[f"a{i}"]["ipv4/tcp_sack"] for i in range(3)] == ["1", "0", "1"]
    assert [made.spaces[f"b{i}"]["ipv4/tcp_ecn"] for i in range(3)] == ["0", "0", "1"]


def test_links_are_wires_with_queue_and_delay_apart() -> None:
    links = (Link("s", "r", 1e7, 0.001), Link("r", "d", 1e6, 0.02, 5, loss=0.01))
    given = Scenario((Flows(source="s", target="d"),), links=links, duration=5.0, warm_up=0.0, epoch=1.0)
    made = plan(given, 1, TODAY)
    there = [made.wires[i].lines for i in made.flows[0].routes[0].wires_there]
    assert there == [
        ("qdisc add dev DEV root netem rate 10000000bit limit 100000000",),
        ("qdisc add dev DEV root netem delay 1000.0us limit 100000000",),
        ("qdisc add dev DEV root netem rate 1000000bit limit 5 loss random 1.0%",),
        ("qdisc add dev DEV root netem delay 20000.0us limit 100000000",),
    ]
    assert made.flows[0].routes[0].to_queue == 0.0


@pytest.mark.parametrize("name", ["red", "sfq", "codel", "fq_codel", "pie"])
def test_a_discipline_stands_under_a_bucket_of_one_packet(name: str) -> None:
    first, second = queue(Link("a", "b", 1e6, 0.01, 20, queue=name), 500)
    assert first[0][0] == "qdisc add dev DEV root handle 1: tbf rate 1000000bit burst 501 limit 100000000"
    assert f"handle 10: {name} limit " in first[0][1]
    assert "delay 14000.0us" in second[0][0]  # and the sending time of a packet


def test_dualpi2_is_made_by_the_guest_where_tc_lacks_the_word() -> None:
    given = scenario(Flows(rtt=0.1, packet_size=1500))
    told = case(given, plan(given, 1, TODAY, disciplines={"bottleneck": "dualpi2 limit 100 any_ect"}))
    assert lines(told, "tc", "r1") == ["qdisc add dev d0 root handle 1: tbf rate 1000000bit burst 1501 limit 100000000"]
    (one,) = told["disciplines"]
    assert (one["space"], one["device"], one["kind"]) == ("r1", "d0", "dualpi2")
    found = dict(attributes(bytes.fromhex(one["options"])))
    assert found == {1: (100).to_bytes(4, "little"), 14: b"\3"}


def test_words_of_dualpi2_are_those_of_tc() -> None:
    """Kernel's defaults in `tc`'s words, as RFC 9332 has them: gains of 0.16 and 3.2 Hz, in steps of 1/256."""
    words = (
        "dualpi2 limit 10000p memlimit 30000000 target 15ms tupdate 16ms alpha 0.16 beta 3.2 step_thresh 1ms "
        "min_qlen_step 0 coupling_factor 2 drop_on_overload drop_dequeue classic_protection 10% l4s_ect split_gso"
    )
    found = {n: int.from_bytes(value, "little") for n, value in attributes(dualpi2.options(words))}
    assert found == {
        1: 10000, 2: 30_000_000, 3: 15000, 4: 16000, 5: 41, 6: 819, 8: 1000, 9: 0, 10: 2, 11: 1, 12: 0, 13: 10,
        14: 1, 15: 1,
    }  # fmt: skip
    assert dict(attributes(dualpi2.options("dualpi2 step_thresh 3p"))) == {7: (3).to_bytes(4, "little")}
    assert dualpi2.options("dualpi2") == b""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("dualpi2 limits 5", "has no word 'limits'"),
        ("dualpi2 limit", "needs a value after limit"),
        ("dualpi2 limit 0", "takes limit from 1"),
        ("dualpi2 target fast", "cannot read target 'fast'"),
        ("dualpi2 any_ect l4s_ect", "l4s_ect twice, or its contrary"),
        ("dualpi2 step_thresh 3p step_thresh 1ms", "step_thresh twice"),
        ("codel limit 5\nqdisc del dev d0 root", "must be words for tc on one line"),
        ("", "must be words for tc on one line"),
    ],
)
def test_words_that_no_discipline_has_are_refused(words: str, told: str) -> None:
    with pytest.raises(ScenarioError, match=rf"disciplines.*{told}"):
        plan(scenario(), 1, TODAY, disciplines={"bottleneck": words})


def test_a_discipline_needs_a_link_with_a_rate() -> None:
    links = (Link("s", "r", None, 0.001), Link("r", "d", 1e6, 0.02, 5))
    given = Scenario((Flows(source="s", target="d"),), links=links, duration=5.0, warm_up=0.0, epoch=1.0)
    with pytest.raises(ScenarioError, match=r"disciplines of link s->r: without a rate no packet waits"):
        plan(given, 1, TODAY, disciplines={"s->r": "codel"})


@pytest.mark.parametrize(
    ("flows", "key"),
    [
        ({"sender": "tahoe"}, "flows.sender"),
        ({"sender": "tfrc"}, "flows.sender"),
        ({"control": "logistic"}, "flows.control"),
        ({"control": "hstcp", "parameters": {"low_window": 20}}, "flows.parameters"),
        ({"leap": True}, "flows.leap"),
        ({"ack_size": 60}, "flows.ack_size"),
        ({"reorder": True, "jitter": 0.001}, "flows.reorder"),
        ({"sender": "newreno", "sack": True}, "flows.sack"),
        ({"rules": "linux", "loss_probes": True}, "flows.loss_probes"),
        ({"rules": "linux", "frto": True}, "flows.frto"),
        ({"overhead": 0.01}, "flows.overhead"),
        ({"jitter": 0.01}, "flows.jitter"),
        ({"think": 1.0, "segments": 5}, "flows.think"),
        ({"handshake": False}, "flows.handshake"),
        ({"limited_transmit": False}, "flows.limited_transmit"),
        ({"timestamps": True}, "flows.timestamps"),
        ({"initial_rto": 2.0}, "flows.initial_rto"),
        ({"timer_granularity": 0.1}, "flows.timer_granularity"),
        ({"max_rto": 0.5}, "flows.max_rto"),
        ({"max_backoff": 8}, "flows.max_backoff"),
        ({"packet_size": 100}, "flows.packet_size"),
        ({"window_limit": 1}, "flows.window_limit"),
        ({"priority": 1}, "flows.priority"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_linux_cannot_do_of_flows_is_refused_by_name(flows: dict, key: str) -> None:
    with pytest.raises(ScenarioError, match=key.replace(".", r"(\[\d\])?\.")):
        plan(scenario(Flows(rtt=0.1, **flows)), 1, TODAY)


@pytest.mark.parametrize(
    ("link", "key"),
    [
        ({"queue": "drr"}, "bottleneck.queue"),
        ({"queue": "step"}, "bottleneck.queue"),
        ({"queue": "red", "queue_parameters": {"gentle": 1}}, "bottleneck.queue_parameters.gentle"),
        ({"queue": "red", "queue_parameters": {"ns2": 1}}, "bottleneck.queue_parameters.ns2"),
        ({"changes": ((1.0, 2e6),)}, "bottleneck.changes"),
        ({"priority": "retransmissions"}, "bottleneck.priority"),
        ({"rate": 1e6 + 1}, "bottleneck.rate"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_linux_cannot_do_of_links_is_refused_by_name(link: dict, key: str) -> None:
    with pytest.raises(ScenarioError, match=key):
        plan(scenario(**link), 1, TODAY)


def test_other_refusals() -> None:
    with pytest.raises(ScenarioError, match=r"drops\.segment"):
        plan(replace(scenario(), drops=(Drop(segment=5),)), 1, TODAY)
    with pytest.raises(ScenarioError, match="controls must name one control for each of the 1 groups"):
        plan(scenario(), 1, TODAY, controls=("reno", "cubic"))
    with pytest.raises(ScenarioError, match="Linux has no 'tahoe'"):
        plan(scenario(), 1, TODAY, controls=("tahoe",))
    with pytest.raises(ScenarioError, match=r"flows.ecn must be true"):
        plan(scenario(), 1, TODAY, controls=("dctcp",))
    with pytest.raises(ScenarioError, match=r"disciplines names link 'x'"):
        plan(scenario(), 1, TODAY, disciplines={"x": "cake"})
    with pytest.raises(ScenarioError, match=r"switches\.initial_window"):
        LinuxSwitches(initial_window=0)


def test_a_recorded_capture(tmp_path: Path) -> None:
    """Thirty segments over a queue of eight packets, recorded: ten at once, of which some are lost and sent again."""
    recorded = json.loads(CAPTURE.read_text())
    for name in ("sent-a0", "received-b0"):
        (tmp_path / name).write_bytes(zlib.decompress(base64.b64decode(recorded[name])))
    flow = Flows(rtt=0.1, segments=30, packet_size=1000, initial_window=10)
    seen = read_capture(tmp_path, plan(scenario(flow), 1, TODAY), recorded["origin"], 10.0)
    assert seen.sends.time[0] == pytest.approx(0.0, abs=1e-5) and seen.sends.segment[0] == 0
    assert set(seen.sends.segment) == set(range(31)) == set(seen.receives.segment)
    assert len(seen.sends.time) == len(seen.receives.time) + len(seen.drops.time)
    assert len(seen.drops.time) == seen.repeats.sum() > 0
    # The first of ten packets comes half a round trip and its sending time after it was sent; they are 8 ms apart.
    data = seen.receives.time[1:]
    assert data[0] - seen.sends.time[1] == pytest.approx(0.058, abs=1e-3)
    np.testing.assert_allclose(np.diff(data[:7]), 0.008, atol=1e-5)
    assert data.max() + 0.05 == pytest.approx(seen.finish[0], abs=1e-5)
    # What is sent after the end is in none of the lists, wherever the end falls.
    for end in (0.0, 0.06, float(seen.sends.time[5]), 0.2):
        early = read_capture(tmp_path, plan(scenario(flow), 1, TODAY), recorded["origin"], end)
        sent, came = int((seen.sends.time < end).sum()), int((seen.receives.time < end).sum())
        assert sent == len(early.sends.time) == len(early.repeats) == len(early.send_routes)
        assert came == len(early.receives.time) == len(early.sizes) == len(early.transit) == len(early.receive_routes)


def test_a_segment_that_goes_in_parts_counts_whole() -> None:
    """Of two parts and one of them again: the goodput rate has both, and the route's has the same."""
    links = (Link("a", "b", 1e6, 0.01), Link("a", "c", 1e6, 0.01), Link("c", "b", 1e6, 0.01))
    flow = Flows(sender="mtcp", routes=(("a", "b"), ("a", "c", "b")), packet_size=1500)
    both = Scenario((flow,), None, 10.0, 5.0, epoch=1.0, links=links)
    made = plan(both, 1, TODAY)
    none = Packets(np.zeros(0), np.zeros(0, int), np.zeros(0, int))
    parts = Packets(np.array([6.0, 7.0, 8.0]), np.zeros(3, int), np.ones(3, int))
    payload = made.flows[0].payload
    received, ones = np.array([payload - 500, 500, 0]), np.ones(3, int)
    packets = Captured(none, parts, none, np.full(1, np.inf), ones > 1, ones, ones, received, received, ones / 1.0)
    theirs = new_bits(made, packets)
    observations = Seen(none, parts, none, np.zeros(1), np.zeros(1), np.full(1, np.inf), ones, 8.0 * received, theirs)
    rate = float(observed(both, made, observations, None, {}).goodput_rate[0])
    assert rate == pytest.approx(8 * 1500 / 5.0)
    routes = of_routes(both, made, packets, [[[0, 0], [0, 0]]])["route_goodput_rate"][1]
    assert np.nansum(routes) == pytest.approx(rate)


def test_without_a_kernel_there_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(kernel.FOLDER, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert not installed()
    with pytest.raises(LinuxError, match=r"not built \(no kernel is made in .*\); run python -m .*linux build"):
        run_linux(scenario())
    monkeypatch.setenv(kernel.FOLDER, "/nowhere")
    with pytest.raises(LinuxError, match=r"TCPDYNAMICS_LINUX names /nowhere, which holds no kernel"):
        run_linux(scenario())


def test_a_kernel_of_this_very_archive_is_found_without_a_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(kernel.FOLDER, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("shutil.which", lambda name: None)
    (archive := tmp_path / "linux-source-9.tar.xz").write_text("no archive")
    folder = kernel.cache() / "made"
    folder.mkdir(parents=True)
    (folder / "linux").write_text("")
    facts = {"version": "9.0.1", "fingerprint": kernel.fingerprint("9.0.1"), "source": build._name(archive)}
    (folder / "manifest.json").write_text(json.dumps(facts))
    assert build.build(archive) == folder and list(kernel.cache().iterdir()) == [folder]
    archive.write_text("another")
    with pytest.raises(LinuxError, match="must be there; install"):
        build.build(archive)


def test_missing_tools_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("shutil.which", lambda name: None if name in ("flex", "bc") else f"/usr/bin/{name}")
    assert main(["build", "--source", str(tmp_path)]) == 2
    assert "flex, bc must be there; install flex bc" in capsys.readouterr().err
    assert main(["build", "--source", str(tmp_path / "none")]) == 2
    assert "there is no such file or folder" in capsys.readouterr().err
    monkeypatch.setattr("tcpdynamics.validation.linux.build.SOURCES", tmp_path)
    assert main(["build"]) == 2
    assert "install Debian's package linux-source" in capsys.readouterr().err


#: A tree that is made in no time; the first time, `linux` fails half-way.
TREE = """VERSION = 9
PATCHLEVEL = 8
SUBLEVEL = 7
EXTRAVERSION =

tinyconfig:
\t@echo "# tiny" > $(O)/.config
olddefconfig:
\t@true
linux:
\t@echo "  CC  one.o"; touch $(O)/one.o
\t@test -e $(O)/once || { touch $(O)/once; echo broken; exit 3; }
\t@echo "  LD  linux"; echo made > $(O)/linux
"""


def test_a_build_is_told_resumed_and_put_in_place_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "TOOLS", {"gcc": "gcc", "make": "make"})
    monkeypatch.delenv(kernel.FOLDER, raising=False)
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "Makefile").write_text(TREE)
    (tree / "Kconfig").write_text('mainmenu "Linux"\n')
    told: list[str] = []
    with pytest.raises(LinuxError, match=r"compiling Linux failed with status 2; it said: .*broken"):
        build.build(tree, 1, lambda what, share: told.append(what))
    assert not installed()
    folder = build.build(tree, 1, lambda what, share: told.append(what))
    assert installed() and (folder / "linux").read_text() == "made\n"
    assert kernel.manifest(folder)["version"] == "9.8.7"
    assert sorted(path.name for path in kernel.cache().iterdir()) == [folder.name]
    assert f"step 1 of about {build.STEPS}" in told
    assert build.build(tree) == folder


@pytest.fixture
def false_kernel(tmp_path: Path) -> Path:
    """A program in the kernel's place: it says something, begins a child, and never ends."""
    (tmp_path / "linux").write_text("#!/bin/sh\necho hello from the guest\nsleep 1000 &\nsleep 1000\n")
    (tmp_path / "linux").chmod(0o755)
    (tmp_path / "randomness.so").touch()
    return tmp_path


def alive(folder: Path) -> list[str]:
    """Processes whose folder is this one."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if Path(os.readlink(process / "cwd")) == folder:
                found.append(process.name)
        except OSError:
            continue
    return found


def ended(folder: Path) -> bool:
    """Whether within some seconds neither the folder nor a process in it is there."""
    for _ in range(100):
        if not folder.exists() and not alive(folder):
            return True
        time.sleep(0.05)
    return False


def test_a_guest_that_hangs_is_ended_with_its_last_words(false_kernel: Path) -> None:
    begun = time.monotonic()
    with pytest.raises(LinuxError, match=r"longer than 0.5 s.*hello from the guest"), guests.guest_folder() as folder:
        guests.boot(false_kernel, folder, 1, 0.5, 64, [], threading.Event())
    assert time.monotonic() - begun < 5 and ended(folder)


def test_a_guest_is_stopped(false_kernel: Path) -> None:
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    with pytest.raises(LinuxError, match="stopped"), guests.guest_folder() as folder:
        guests.boot(false_kernel, folder, 1, 60, 64, [], stop)
    assert ended(folder)


def test_nothing_is_left_of_a_guest_whose_parent_is_killed(false_kernel: Path) -> None:
    code = (
        "import sys, threading; from pathlib import Path; from tcpdynamics.validation.linux.guests import *\n"
        "with guest_folder() as folder:\n"
        "    print(folder, flush=True); boot(Path(sys.argv[1]), folder, 1, 60, 64, [], threading.Event())\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, str(false_kernel)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    folder = Path(parent.stdout.readline().strip())
    while len(alive(folder)) < 2:
        time.sleep(0.05)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert ended(folder)


def test_chosen_packets_are_lost_before_the_queue() -> None:
    given = replace(scenario(), drops=(Drop(link="bottleneck", packet=7), Drop(link="bottleneck", packet=3)))
    told = case(given, plan(given, 1, TODAY))
    assert told["relays"] == [{"ends": [("r1", "d0"), ("m0x0", "u0")], "lost": (3, 7)}]
    assert lines(told, "tc", "m0x0") == ["qdisc add dev d1 root netem rate 1000000bit limit 8"]


def two_routes(*rates: float, duration: float = 10.0, **of_flow: Any) -> Scenario:
    links = tuple(
        link
        for node, rate in zip("ab", rates, strict=True)
        for link in (Link("s", node, 1e8, 0.001), Link(node, "d", rate, 0.02, 40))
    )
    routes = (("s", "a", "d"), ("s", "b", "d"))
    flow = Flows(**({"sender": "mtcp", "routes": routes, "packet_size": 1500} | of_flow))
    return Scenario((flow,), None, duration, 0.0, epoch=1.0, links=links)


def test_several_routes_are_one_connection_with_an_address_for_each() -> None:
    made = plan(given := two_routes(5e6, 5e6), 1, TODAY)
    (flow,), told = made.flows, case(given, made)
    assert [way.addresses for way in flow.routes] == [("10.0.0.1", "11.0.0.1"), ("12.0.0.1", "13.0.0.1")]
    assert [way.there for way in flow.routes] == [(0, 2), (4, 6)]
    assert flow.payload == 1500 - 54 - 12 - 24
    assert told["multipath"] == ["b0"] and told["flows"][0]["routes"] == 2
    limits = "mptcp limits set subflows 1 add_addr_accepted 1"
    assert limits in lines(told, "ip", "a0") and limits in lines(told, "ip", "b0")
    assert "mptcp endpoint add 13.0.0.1 signal" in lines(told, "ip", "b0")
    ways = [line for line in lines(told, "ip", "a0") if line.startswith("route")]
    assert ["rto_min 200ms" in way for way in ways] == [True, True]


def test_flows_over_several_routes_have_hosts_of_their_own() -> None:
    given = two_routes(5e6, 5e6, count=2)
    assert [f.hosts for f in plan(given, 1, TODAY).flows] == [("a0", "b0"), ("a1", "b1")]


@pytest.mark.parametrize(
    ("of_flow", "key"), [({"acks": "duplicated"}, "flows.acks"), ({"max_rto": 5.0}, "flows.max_rto")]
)
def test_what_multipath_tcp_has_not_is_refused(of_flow: dict[str, Any], key: str) -> None:
    with pytest.raises(ScenarioError, match=key):
        plan(two_routes(5e6, 5e6, **of_flow), 1, TODAY)


def test_several_routes_are_not_paced() -> None:
    with pytest.raises(ScenarioError, match=r"switches\.pacing"):
        plan(two_routes(5e6, 5e6), 1, replace(TODAY, pacing=True))


def test_delays_beyond_what_tc_counts_are_refused() -> None:
    with pytest.raises(
        ScenarioError, match=r"links\.delay, or a part of flows\.rtt: .*at most 270 s on a wire, got 500"
    ):
        plan(Scenario((Flows(rtt=1000.0),), Bottleneck(1e6, 20), 3000.0, 1.0), 1, OLD)


def test_what_tc_says_to_unknown_words_comes_in_one_line(tmp_path: Path) -> None:
    said = tmp_path / "said"
    said.write_text(
        "guest: RuntimeError: tc in r1: Error: Specified qdisc\nkind is unknown.\nCommand failed /run/b:2\nTraceback"
    )
    assert _refused(said) == "tc in r1: Error: Specified qdisc kind is unknown."
    said.write_text("guest: ZeroDivisionError: division by zero\nTraceback")
    assert _refused(said) == ""


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (r"flows.packet_size: Linux takes 142 to 32,821 bytes", {"packet_size": 64_000}),
        (r"flows.min_rto: Linux counts whole milliseconds", {"min_rto": 1e-9}),
        (r"flows.min_rto: Linux counts whole milliseconds", {"min_rto": 0.2505}),
        (r"flows.window_limit: Linux's sockets hold at most", {"window_limit": 300_000}),
    ],
)
def test_what_the_kernels_calls_would_not_take_is_refused(words: str, keys: dict[str, Any]) -> None:
    given = Scenario((Flows(rtt=0.1, **keys),), Bottleneck(1e7, 50), 5.0, 1.0)
    with pytest.raises(ScenarioError, match=words):
        case(given, plan(given, 1, OLD))


def test_a_queue_that_would_not_run_empty_is_refused() -> None:
    """What has not left when the run is over would count as lost."""
    given = Scenario((Flows(20, rtt=0.1),), Bottleneck(8000, 400), 5.0, 1.0)
    assert case(given, plan(given, 1, OLD))["drain"] > 100e9
    given = Scenario((Flows(rtt=0.1, packet_size=1000, window_limit=64),), Bottleneck(8, 20), 5.0, 1.0)
    with pytest.raises(ScenarioError, match=r"links.buffer: what waits at the end may take 20,000 s to leave"):
        case(given, plan(given, 1, OLD))


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (r"disciplines must give tc's words by the name of a link", {"disciplines": {"bottleneck": 5}}),
        (r"disciplines must give tc's words by the name of a link", {"disciplines": "codel"}),
        (r"which the scenario has not; it has bottleneck", {"disciplines": {"x": "codel"}}),
        (r"switches must be a LinuxSwitches, got None", {"switches": None}),
        (r"epoch must hold 1 positive lengths", {"epoch": np.array([np.nan])}),
    ],
)
def test_what_run_linux_is_given_is_of_its_kind(words: str, options: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError, match=words):
        run_linux(Scenario((Flows(rtt=0.1),), Bottleneck(1e7, 50), 5.0, 1.0), **options)


def test_switches_are_true_or_false() -> None:
    with pytest.raises(ScenarioError, match=r"switches.tlp must be true or false, got 'no'"):
        replace(OLD, tlp="no")


def test_a_threshold_for_which_tc_has_no_words_is_told_at_once() -> None:
    with pytest.raises(ScenarioError, match=r"with min_threshold = 0.1 tc has no words for a weight near 0.002"):
        red_burst(0.002, 0.1)
