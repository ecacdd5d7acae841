"""Programs as flows: what is refused, what is read of their packets, and what hostile ones come to."""

from __future__ import annotations

import json
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

from tcpdynamics.apps.command.main import cli
from tcpdynamics.errors import LinuxError, ScenarioError
from tcpdynamics.validation.linux import LinuxSwitches, installed, run_linux
from tcpdynamics.validation.linux.case import case
from tcpdynamics.validation.linux.guest import SNAP_OF_PROGRAMS
from tcpdynamics.validation.linux.guests import processor, python
from tcpdynamics.validation.linux.plan import plan
from tcpdynamics.validation.linux.program_packets import (
    LAYOUT,
    OUTGOING,
    _keys,
    _matched,
    read,
    read_programs,
    write_pcap,
)
from tcpdynamics.validation.linux.run import visible_places
from tcpdynamics.validation.linux.stacks import FOLDER, Stack, beside_cubic, build_stack, resolved, stacks
from tcpdynamics.validation.linux.testbed import Run, difference, run_testbed
from tcpdynamics.validation.ns2 import run_ns2
from tcpdynamics.validation.packet import (
    Bottleneck,
    Drop,
    Flows,
    Link,
    Program,
    Record,
    Scenario,
    parse_scenario,
    simulate,
)

PAIR = Program(server=("serve", "{port}"), client=("fetch", "{address}", "{port}", "{client}", "{seconds}"))


def scenario(program: Program = PAIR, *others: Flows, duration: float = 5.0) -> Scenario:
    """A program over 5 Mbit/s and 40 ms, beside others."""
    flow = Flows(rtt=0.04, packet_size=1514, program=program)
    return Scenario((flow, *others), Bottleneck(5e6, 30), duration, 1.0, epoch=1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"program": {"server": [], "client": ["x"]}}, r"flows\.program\.server must list a program and its arguments"),
        ({"program": {"server": ["x"], "client": ["x", ""]}}, r"client must list texts that are not empty, got ''"),
        ({"program": {"server": ["x"] * 101, "client": ["x"]}}, r"server \(number\) must be .* in \[1, 100\], got 101"),
        ({"packet_size": 1000}, r"flows\.packet_size \(of a program\) must be .* in \[1294, 32821\], got 1000"),
        ({"control": "cubic"}, r"flows\.control = 'cubic': a program has its own way; leave it out"),
        ({"ecn": True}, r"flows\.ecn = True: a program has its own way"),
        ({"program": {"server": ["x"], "client": ["x"], "shell": "sh"}}, r"flows\.0\.program\.shell"),
        ({"program": {"stack": "quinn", "client": ["x"]}}, r"program\.stack stands for server and client"),
        ({"program": {"stack": "quinn", "ipv6": "maybe"}}, r"program\.ipv6"),
        ({"program": {}}, r"flows\.program\.server must list a program"),
    ],
)
def test_a_program_is_checked(change: dict[str, Any], message: str) -> None:
    flow = {"rtt": 0.04, "packet_size": 1514, "program": {"server": ["x"], "client": ["y"]}} | change
    with pytest.raises(ScenarioError, match=message):
        parse_scenario({"flows": [flow], "bottleneck": {"rate": 5e6, "buffer": 30}, "duration": 5.0, "warm_up": 1.0})


def test_others_refuse_programs() -> None:
    for run in (simulate, run_ns2):
        with pytest.raises(ScenarioError, match=r"flows\.program: .* take run_linux, or tcpdynamics testbed"):
            run(scenario())


def test_a_program_has_hosts_of_its_own_and_its_arguments_are_filled_in() -> None:
    both = scenario(PAIR, Flows(count=2, rtt=0.04, packet_size=1514), Flows(rtt=0.04, packet_size=1514, program=PAIR))
    table = case(both, plan(both, 1, LinuxSwitches()))
    first, kernel, _, last = table["flows"]
    assert first["client"] == ["fetch", "10.0.0.1", "6000", "11.0.0.1", "5"] and first["server"] == ["serve", "6000"]
    assert last["server"] == ["serve", "6003"] and "client" not in kernel
    assert len({first["space"], kernel["space"], last["space"]}) == 3


def test_a_programs_sockets_are_linuxs_as_they_come() -> None:
    """No window, no first window and no quick acknowledgement of the scenario; buffers that Linux sizes itself."""
    both = scenario(PAIR, Flows(rtt=0.04, packet_size=1514, window_limit=10))
    table = case(both, plan(both, 1, LinuxSwitches()))
    lines = {space: text for tool, space, text in table["batches"] if tool == "ip"}
    (program, kernel) = (flow["space"] for flow in table["flows"])
    assert not any(word in line for line in lines[program] for word in ("window", "initcwnd", "quickack"))
    assert any("initcwnd 10" in line for line in lines[kernel])
    assert table["spaces"][program]["ipv4/tcp_rmem"] == "4096 131072 33554432"
    assert "ipv4/tcp_moderate_rcvbuf" not in table["spaces"][program]


def test_a_programs_switches_reach_the_guest() -> None:
    program = Program(("serve", "{port}"), ("fetch", "{address}", "{host}", "{client}"), ipv6=True, gso=False)
    one = scenario(program)
    table = case(one, plan(one, 1, LinuxSwitches()))
    (flow,) = table["flows"]
    assert flow["client"] == ["fetch", "fd00::10:0:0:1", "[fd00::10:0:0:1]", "fd00::11:0:0:1"]
    assert flow["refused"] == [103] and table["ipv6"]
    lines = [line for tool, space, text in table["batches"] if tool == "ip" and space for line in text]
    assert all(sum(f"fd00::{end}:0:0:1/128" in line for line in lines) >= 4 for end in (10, 11))
    assert not any("/32" in line for line in lines)
    assert not case(scenario(), plan(scenario(), 1, LinuxSwitches()))["ipv6"]


@pytest.mark.parametrize("name", sorted(stacks()))
def test_a_ready_stack_is_a_folder_and_a_scenario(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions are pinned or Debian's, its scenario is valid; until it is built an error names the command."""
    stack = stacks()[name]
    text = "".join(path.read_text(encoding="utf-8") for path in (FOLDER / name).rglob("*") if path.is_file())
    assert "==" in text or 'version = "=' in text or "quic-go v" in text or stack.version
    assert stack.about and stack.needs and all(isinstance(one, str) for one in stack.server + stack.client)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(LinuxError, match=f"run python -m tcpdynamics.validation.linux stack {name},"):
        plan(beside_cubic(name), 1, LinuxSwitches())
    monkeypatch.setattr("tcpdynamics.validation.linux.stacks._tool", lambda tool: None)
    with pytest.raises(LinuxError, match=f"to build {name}, .* must be installed"):
        build_stack(name)


def test_a_stack_is_built_again_when_its_files_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tcpdynamics.validation.linux.stacks.FOLDER", tmp_path)
    (tmp_path / "echo").mkdir()
    (tmp_path / "echo" / "text").write_text("one")
    steps = (("cp", "text", "copy"),)
    stack = Stack("echo", "a copy", ("cat", "{stack}/copy"), ("cat",), steps, ("cp",), ("cat", "copy"))
    monkeypatch.setattr("tcpdynamics.validation.linux.stacks.stacks", lambda: {"echo": stack})
    first = build_stack("echo")
    assert json.loads((first / "manifest.json").read_text()) == {"name": "echo", "about": "a copy", "version": "one"}
    assert resolved(Program(stack="echo")) == Program(("cat", f"{first}/copy"), ("cat",))
    (tmp_path / "echo" / "text").write_text("two")
    assert build_stack("echo") != first and (build_stack("echo") / "copy").read_text() == "two"
    failing = Stack("echo", "a copy", ("cat",), ("cat",), (("cp", "nowhere", "copy"),))
    monkeypatch.setattr("tcpdynamics.validation.linux.stacks.stacks", lambda: {"echo": failing})
    (tmp_path / "echo" / "text").write_text("three")
    with pytest.raises(LinuxError, match=r"echo: cp nowhere copy ended with status 1: .*No such file"):
        build_stack("echo")
    assert not failing.built


def test_a_view_must_list_folders(tmp_path: Path) -> None:
    one = plan(scenario(), 1, LinuxSwitches())
    assert visible_places(one, None) == [] and visible_places(one, [str(tmp_path)])[-1] == str(tmp_path)
    for place in ("here", str(tmp_path / "nowhere")):
        with pytest.raises(LinuxError, match="view must list folders that are there, by their whole path, got"):
            visible_places(one, [place])


def test_guests_take_a_processor_each(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The first two of two; the third has all, as a guest may have had before."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {3, 5})
    with processor() as one, processor() as two, processor() as three:
        assert (one, two, three) == ({3}, {5}, {3, 5})
    with processor() as one:
        assert one == {3}


#: An origin [ns], and a server that sends three packets of UDP of which the second is lost, and one of TCP twice.
ORIGIN = 1_700_000_002 * 10**9


def packet(
    at: float, content: bytes, way: int = 0, protocol: int = 17, length: int = 200, device: int = 3
) -> np.ndarray:
    """A captured frame: Ethernet, IPv4, and what follows."""
    one = np.zeros(1, LAYOUT)
    moment = ORIGIN + round(1e9 * at)
    one["second"], one["nanosecond"] = moment // 10**9, moment % 10**9
    one["kept"], one["length"], one["device"], one["way"], one["kind"] = SNAP_OF_PROGRAMS, length, device, way, 0x0800
    head = bytes(12) + b"\x08\x00" + b"\x45" + bytes(8) + bytes([protocol]) + bytes(10)
    frame = (head + content).ljust(SNAP_OF_PROGRAMS, b"\0")
    one["frame"] = np.frombuffer(frame, f"V{SNAP_OF_PROGRAMS}")
    return one


def captured(folder: Path) -> Any:
    """Write captures of a program's two spaces, and give the plan that they belong to."""
    made = plan(scenario(), 1, LinuxSwitches())
    segment = bytes(4) + struct.pack(">I", 77) + bytes(4) + b"\x50"
    sent = [packet(1.0, b"a", OUTGOING), packet(2.0, b"b", OUTGOING), packet(2.0, b"x", OUTGOING, device=1),
            packet(3.0, b"c", OUTGOING), packet(3.1, b"answer"),
            packet(4.0, segment, OUTGOING, 6), packet(4.5, segment, OUTGOING, 6)]  # fmt: skip
    got = [packet(1.03, b"a"), packet(3.05, b"c"), packet(3.06, b"answer", OUTGOING),
           packet(4.02, segment, 0, 6), packet(4.52, segment, 0, 6)]  # fmt: skip
    for name, packets in (("sent-a0", sent), ("received-b0", got)):
        (folder / f"program-{name}").write_bytes(b"".join(one.tobytes() for one in packets))
    return made


def test_packets_of_a_program_are_matched_by_what_they_carry(tmp_path: Path) -> None:
    found = read_programs(tmp_path, captured(tmp_path), ORIGIN, 5.0)
    assert found.sends.time.tolist() == [1.0, 2.0, 3.0, 4.0, 4.5] and found.sends.segment.tolist() == [0, 1, 2, 3, 4]
    assert found.receives.segment.tolist() == [0, 2, 3, 4] and found.drops.segment.tolist() == [1]
    assert found.transit == pytest.approx([0.03, 0.05, 0.02, 0.02]) and set(found.sizes.tolist()) == {200.0}
    assert found.repeats.tolist() == [False, False, False, False, True] and not found.hidden
    early = read_programs(tmp_path, captured(tmp_path), ORIGIN, 3.02)
    assert early.sends.segment.tolist() == [0, 1, 2] and early.receives.segment.tolist() == [0]
    assert early.drops.segment.tolist() == [1]  # what arrives after the end is not lost


@pytest.mark.parametrize(("protocol", "place"), [(6, 16), (17, 6)])
def test_a_checksum_that_is_filled_in_on_the_way_does_not_make_another_packet(protocol: int, place: int) -> None:
    content = bytes(range(40))
    changed = content[:place] + b"\xff\xff" + content[place + 2 :]
    other = content[: place + 2] + b"\xff" + content[place + 3 :]
    one, same, unlike = (_keys(packet(1.0, text, OUTGOING, protocol)) for text in (content, changed, other))
    assert _matched(one, same).tolist() == [0] and _matched(one, unlike).tolist() == [-1]


def test_pcap_has_each_packet_with_its_time_and_length(tmp_path: Path) -> None:
    captured(tmp_path)
    packets = read(tmp_path / "program-sent-a0")
    write_pcap(packets, tmp_path / "x.pcap")
    content = (tmp_path / "x.pcap").read_bytes()
    assert struct.unpack_from("<I", content)[0] == 0xA1B23C4D and struct.unpack_from("<I", content, 20)[0] == 1
    heads = [struct.unpack_from("<4I", content, 24 + i * (16 + SNAP_OF_PROGRAMS)) for i in range(6)]
    assert [head[0] for head in heads] == packets["second"].tolist() and {head[3] for head in heads} == {200}
    assert len(content) == 24 + 6 * (16 + SNAP_OF_PROGRAMS)


def test_two_runs_part_at_their_first_packet_that_differs() -> None:
    def run(*packets: np.ndarray, **outputs: bytes) -> Run:
        frames = np.frombuffer(b"".join(one.tobytes() for one in packets), LAYOUT)
        return Run(xr.Dataset(), {"flow0-server": frames}, outputs, ORIGIN, 1.0)

    first = run(packet(1.0, b"a"), packet(2.0, b"b"))
    assert difference(first, run(packet(1.0, b"a"), packet(2.0, b"b"))) == ""
    place = "packet 1 of flow0-server at 2.000000000 s"
    for words, last in (
        (": byte 34 is 0x62, 0x63 the second time", [packet(2.0, b"c")]),
        (": it comes at 2.500000000 s the second time", [packet(2.5, b"b")]),
        (": it has 200 bytes, 9 the second time", [packet(2.0, b"b", length=9)]),
        (" is there once only", []),
    ):
        assert difference(first, run(packet(1.0, b"a"), *last)) == place + words
    two = (run(packet(1.0, b"a"), log=content) for content in (b"1", b"2"))
    assert difference(*two) == "all packets are the same; log, which a program wrote, is not"


def test_the_command_refuses_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCPDYNAMICS_LINUX", str(tmp_path))
    path = tmp_path / "pair.toml"
    path.write_text('duration = 5\nwarm_up = 1\n[bottleneck]\nrate = "5Mbit/s"\nbuffer = 30\n[[flows]]\nrtt = "40ms"\n')
    missing = CliRunner().invoke(cli, ["testbed", str(path)])
    assert isinstance(missing.exception, LinuxError) and "is not built" in str(missing.exception)
    full = CliRunner().invoke(cli, ["testbed", str(path), "--output", str(tmp_path)])
    assert "it is not empty; give another name" in str(full.exception)


SERVER = """
import socket, sys
listening = socket.create_server(("0.0.0.0", int(sys.argv[1])))
one, _ = listening.accept()
while True:
    one.sendall(bytes(65536))
"""
CLIENT = """
import socket, sys
one = socket.create_connection((sys.argv[1], int(sys.argv[2])))
while one.recv(65536):
    pass
"""
CHILD = """
import os
if os.fork() == 0:
    memory = b"x" * (450 << 20)
os.wait()
"""
SERVE, FETCH = (python(), "-c", SERVER, "{port}"), (python(), "-c", CLIENT, "{address}", "{port}")


@pytest.fixture
def linux() -> None:
    """The kernel; a test is skipped without one."""
    if not installed():
        pytest.skip("Linux is not built")


@pytest.mark.slow
def test_a_program_that_uses_the_kernels_tcp_is_like_a_flow_of_the_kernel(linux: None) -> None:
    """Two of either kind on one link: the same rates within a few packets, the same bytes when repeated."""
    made = scenario(Program(SERVE, FETCH), Flows(rtt=0.04, packet_size=1514, window_limit=500), duration=30.0)
    run, again = run_testbed(made, 3), run_testbed(made, 3)
    result = run.result
    assert difference(run, again) == "" and result.identical(again.result)
    assert result.goodput_rate.sum() == pytest.approx(5e6, rel=0.01)
    assert 0.3 < float(result.goodput_rate[0]) / 5e6 < 0.7
    assert (np.diff(result.queueing_delay.values, axis=1) >= 0).all() and float(result.retransmissions[0]) > 0
    assert difference(run, run_testbed(made, 4)) != ""


@pytest.mark.slow
def test_kernel_flows_send_as_without_a_silent_program(linux: None) -> None:
    """A program that is silent for 4 s changes no packet of the others until then, nor its time by 2 us."""
    kernel = Flows(rtt=0.04, packet_size=1514, window_limit=500)
    late = Program(SERVE, ("/bin/sh", "-c", 'sleep 4; exec "$@"', "sh", *FETCH))
    sends = []
    for flows in ((kernel,), (kernel, Flows(rtt=0.04, packet_size=1514, program=late))):
        made = Scenario(flows, Bottleneck(5e6, 30), 5.0, 1.0, epoch=1.0, record=Record(sends=True))
        result = run_linux(made, 3)
        early = (result.send_time.values < 4.0) & (result.send_flow.values == 0)
        sends.append(np.stack([result.send_time.values[early], result.send_segment.values[early]]))
    np.testing.assert_array_equal(sends[0][1], sends[1][1])
    late_by = np.abs(sends[0][0] - sends[1][0])
    assert late_by.size > 1000 and late_by.max() < 2e-6


@pytest.mark.slow
def test_a_program_over_links_may_stop(linux: None) -> None:
    """Its end at `stop` is no failure; after it nothing of it is sent."""
    flow = Flows(source="a", target="c", packet_size=1514, stop=3.0, program=Program(SERVE, FETCH))
    links = (Link("a", "b", 1e7, 0.01), Link("b", "c", 5e6, 0.01, 30))
    made = Scenario((flow,), None, 6.0, 1.0, epoch=1.0, slice=1.0, links=links)
    run = run_testbed(made, 1)
    rates = run.result.slice_goodput.values[:, 0]
    assert (rates[:2] > 300).all() and rates[3:].sum() == 0


@pytest.fixture(params=sorted(stacks()))
def stack(request: pytest.FixtureRequest, linux: None) -> str:
    """A ready stack that is built; without it the test is skipped."""
    if not stacks()[request.param].built:
        pytest.skip(f"{request.param} is not built")
    return str(request.param)


@pytest.mark.slow
@pytest.mark.parametrize("switches", [{}, {"ipv6": True}, {"gso": False, "gro": False}], ids=["", "IPv6", "no offload"])
def test_a_ready_stack_shares_with_cubic_and_repeats_to_the_byte(stack: str, switches: dict[str, bool]) -> None:
    cubic = Flows(rtt=0.04, packet_size=1514, control="cubic", window_limit=500, delayed_ack=0.04)
    made = scenario(Program(stack=stack, **switches), cubic, duration=8.0)
    run, again = run_testbed(made, 2), run_testbed(made, 2)
    assert difference(run, again) == ""
    share = float(run.result.goodput_rate[0] / run.result.goodput_rate.sum())
    assert 0.1 < share < 0.9 and float(run.result.goodput_rate.sum()) == pytest.approx(5e6, rel=0.02)
    packets = run.captures["flow0-server"]
    assert set(packets["kind"].tolist()) == {0x86DD if switches.get("ipv6") else 0x0800}


@pytest.mark.slow
def test_aioquic_by_hand_sends_what_it_sends_in_the_guest(linux: None) -> None:
    """Ten lists of losses: the first 150 packets are the same in size and, within 50 us, in time; on eight, 320.

    A byte is allowed for numbers of variable length. Later a pacing decision may fall to the other side: CUBIC's window
    is a function of time, and how much of it is left decides whether a small packet goes at once.
    """
    folder = stacks()["aioquic"].folder
    if not stacks()["aioquic"].built:
        pytest.skip("aioquic is not built")
    ours, pair = Path(__file__).with_name("aioquic_by_hand.py"), str(folder / "pair.py")
    command = (str(folder / "environment/bin/python"), str(ours), pair)
    program = Program((*command, "server", "{port}"), (*command, "client", "{address}", "{port}"))
    parted = []
    for seed in range(10):
        lost = sorted(set(np.random.default_rng(seed).integers(20, 300, 8).tolist()))
        drops = tuple(Drop(link="bottleneck", packet=number) for number in lost)
        flow = Flows(rtt=0.04, packet_size=1514, program=program)
        made = Scenario((flow,), Bottleneck(1e7, 1000), 2.0, 1.0, epoch=1.0, drops=drops)
        run = run_testbed(made, seed)
        request = json.dumps({"rate": 1e7, "rtt": 0.04, "lost": lost, "until": 1.2})
        done = subprocess.run(command, input=request, capture_output=True, text=True, check=True)
        hand = np.array(json.loads(done.stdout))[:320]
        sent = run.captures["flow0-server"]
        sent = sent[sent["way"] == OUTGOING][:320]
        first = run.captures["flow0-client"][0]
        nanoseconds = (sent["second"].astype(np.int64) - int(first["second"])) * 10**9 + sent["nanosecond"]
        times = (nanoseconds - int(first["nanosecond"])) / 1e9
        unlike = (np.abs(hand[:, 0] - times) > 5e-5) | (np.abs(hand[:, 1] + 42 - sent["length"]) > 1)
        parted.append(int(np.argmax(unlike)) if unlike.any() else 320)
    assert min(parted) >= 150 and parted.count(320) >= 8


@pytest.mark.slow
def test_a_view_hides_what_is_not_in_it(linux: None, tmp_path: Path) -> None:
    """With a view a program finds the system's folders and those given, and nothing else of the machine."""
    (tmp_path / "secret").write_text("no")
    script = f"ls / > list; test -e {tmp_path}/secret && exit 7; test -e /etc/shadow && exit 8; exit 9"
    look = ("/bin/sh", "-c", script)
    opened = tmp_path / "open"
    opened.mkdir()
    with pytest.raises(LinuxError, match="ended with status 9"):
        run_testbed(scenario(Program(SERVE, look)), 1, view=[str(opened)])
    with pytest.raises(LinuxError, match="ended with status 7"):
        run_testbed(scenario(Program(SERVE, look)), 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("server", "client", "message"),
    [
        (("/nowhere/x",), FETCH, r"flow 0: the server '/nowhere/x' cannot be started"),
        (SERVE, ("/etc/passwd",), r"the client '/etc/passwd' cannot be started"),
        (SERVE, ("/bin/sh", "-c", "echo oh no; exit 3"), r"ended with status 3; the client printed: \.\.\.oh no"),
        (("/bin/sh", "-c", "kill -9 $$"), FETCH, r"the server '/bin/sh' was killed: a program may"),
        (SERVE, ("/bin/sleep", "100"), r"no packet of the server reached the client"),
        (SERVE, ("/bin/sh", "-c", "mount -o remount,rw / ; ls /run/case; exit 4"), r"permission denied"),
        (SERVE, ("/bin/sh", "-c", "f() { f | f & }; f; exit 5"), r"ended with status 5"),
        (SERVE, (python(), "-c", CHILD), r"was killed: a program may not take more memory than a flow has"),
        (SERVE, ("/bin/sh", "-c", "yes > big; test $(stat -c %s big) -le 67108864 && exit 6"), r"ended with status 6"),
    ],
)
def test_hostile_programs_end_in_a_sentence(
    linux: None, server: tuple[str, ...], client: tuple[str, ...], message: str
) -> None:
    with pytest.raises(LinuxError, match=message):
        run_testbed(scenario(Program(server, client)), 1, timeout=60.0)


@pytest.mark.slow
def test_a_program_that_never_waits_ends_with_the_wall_time(linux: None) -> None:
    with pytest.raises(LinuxError, match="took longer than 5 s"):
        run_testbed(scenario(Program(SERVE, ("/bin/sh", "-c", "while :; do :; done"))), 1, timeout=5.0)
