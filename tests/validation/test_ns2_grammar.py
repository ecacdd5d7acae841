"""A script for ns-2 is a program: no text of a scenario may reach it.

The grammar of the scripts stands here as patterns with numbers and known words as their only variables; every line of
every script must match one.
"""

import itertools
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tcpdynamics.validation.ns2 import Ns2Error, installed, run_ns2, tcl
from tcpdynamics.validation.ns2 import run as running
from tcpdynamics.validation.packet import Bottleneck, Drop, Flows, Link, Scenario, ScenarioError

N = r"(?:0|[1-9]\d{0,19})"  # a whole number
X = r"(?:0|[1-9]\d{0,19})\.\d{1,330}"  # a number
ENDS = rf"\$node\({N}\) \$node\({N}\)"
WHOLE = "fid_ packetSize_ tcpip_base_hdr_size_ window_ windowInit_ singledup_".split()
REAL = "overhead_ minrto_ maxrto_ rtxcur_init_ tcpTick_".split()
GRAMMAR = [
    re.compile(pattern)
    for pattern in (
        r"remove-all-packet-headers",
        r"add-packet-header IP TCP Flags",
        rf"ns-random {N}",
        r"set ns \[new Simulator\]",
        r"set trace \[open trace w\]",
        r"set counters \[open counters w\]",
        rf"set node\({N}\) \[\$ns node\]",
        rf"# link {N}",
        rf"\$ns simplex-link {ENDS} (?:{X}|10{{24}}\.0) {X} DropTail",
        rf"set link \[\$ns link {ENDS}\]",
        r"\[\$link queue\] set queue_in_bytes_ true",
        rf"\[\$link queue\] set mean_pktsize_ {N}",
        rf"\$ns queue-limit {ENDS} {N}",
        rf"\$ns lossmodel \[new ErrorModel/Uniform {X} pkt\] {ENDS}",
        r"set chosen \[new ErrorModel/List\]",
        rf"\$chosen droplist \{{{N}(?: {N})*\}}",
        rf"\$ns lossmodel \$chosen {ENDS}",
        rf"set seen \[\$ns create-trace Enque \$trace {ENDS}\]",
        rf"set got \[\$ns create-trace Recv \$trace {ENDS}\]",
        rf"set lost \[\$ns create-trace Drop \$trace {ENDS}\]",
        r"\$(?:seen|got|lost) tagged 1",
        r"\$link add-to-head \$seen",
        r"\$got target \[\[\$link set ttl_\] target\]",
        r"\[\$link set (?:ttl_\] target \$got|drophead_\] target \$lost)",
        r"\$lost target \[\$ns set nullAgent_\]",
        rf"# flow {N}",
        rf"set tcp\({N}\) \[new Agent/TCP(?:/Reno|/Newreno|/Sack1)?\]",
        rf"\$tcp\({N}\) set (?:{'|'.join(WHOLE)}) {N}",
        rf"\$tcp\({N}\) set (?:{'|'.join(REAL)}) {X}",
        rf"\$tcp\({N}\) set (?:useHeaders_|syn_|timestamps_) (?:true|false)",
        r"set sink \[new Agent/TCPSink(?:/Sack1)?(?:/DelAck)?\]",
        rf"\$sink set packetSize_ {N}",
        rf"\$sink set interval_ {X}",
        rf"\$ns attach-agent \$node\({N}\) (?:\$tcp\({N}\)|\$sink)",
        rf"\$ns connect \$tcp\({N}\) \$sink",
        rf"set ftp\({N}\) \[new Application/FTP\]",
        rf"\$ftp\({N}\) attach-agent \$tcp\({N}\)",
        rf'\$ns at {X} "\$ftp\({N}\) (?:start|produce {N})"',
        rf"\$tcp\({N}\) proc done \{{\}} \{{over {N}\}}",
        rf"\$ns at {X} \{{\$ftp\({N}\) produce \[expr \[\$tcp\({N}\) set maxseq_\] \+ 1\]; "
        rf"if \{{\[\$tcp\({N}\) set ack_\] >= \[\$tcp\({N}\) set maxseq_\]\}} \{{over {N}\}}\}}",
        r"proc count \{when\} \{",
        r"    global counters tcp",
        rf"    for \{{set i 0\}} \{{\$i < {N}\}} \{{incr i\}} \{{",
        r'        puts \$counters "\$when \$i \[\$tcp\(\$i\) set nrexmit_\]"',
        r"    \}",
        r"\}",
        r"proc over \{i\} \{",
        r"    global counters ns",
        r'    puts \$counters "over \$i \[\$ns now\]"',
        r"proc finish \{\} \{",
        r"    global counters trace",
        r"    count end",
        r"    close \$(?:counters|trace)",
        r"    exit 0",
        rf'\$ns at {X} "(?:count warm|finish)"',
        r"\$ns run",
    )
]


def unknown(script: str) -> list[str]:
    """Lines that the grammar does not know. Tcl ends a command at a carriage return too."""
    lines = re.split(r"[\n\r]", script.removesuffix("\n"))
    return [line for line in lines if not any(pattern.fullmatch(line) for pattern in GRAMMAR)]


#: Names as an enemy, a typist and a traveller write them.
PIECES = ["a", "b", "r1", "é", "節点", "\n", "\r", "\t", "\0", "\x1b", "\u202e", "\u200b", "\ufeff", "\u2028",
          "\ud800", "\\", "\\\n", "exec touch PWNED", "[exec touch PWNED]", "$ns", "{", "}", '"', ";", "#", " ", "->",
          "(", ")", "%s", "\x85", "\xad"]  # fmt: skip
names = st.one_of(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join),
    st.text(min_size=1, max_size=20),
    st.sampled_from(["x", "y", "z"]),
)
times = st.floats(0.0, 1e3) | st.sampled_from([0.0, 1e-9, 0.1, 0.2])
senders = st.sampled_from(["tahoe", "reno", "newreno", "sack"])


@st.composite
def flows(draw, ends):
    return Flows(
        count=draw(st.integers(1, 3)),
        sender=draw(senders),
        packet_size=draw(st.integers(1, 10**6)),
        ack_size=draw(st.integers(1, 10**6)),
        overhead=draw(st.floats(0.0, 1.0)),
        start=draw(times),
        stop=draw(st.none() | st.floats(1e3, 1e6)),
        segments=draw(st.none() | st.integers(1, 10**12)),
        window_limit=draw(st.integers(2, 10**6)),
        delayed_ack=draw(st.sampled_from([0.0, 0.1, 1e-7])),
        timestamps=draw(st.booleans()),
        limited_transmit=draw(st.booleans()),
        handshake=draw(st.none() | st.booleans()),
        min_rto=draw(st.none() | st.floats(0.0, 1.0)),
        **ends,
    )


@st.composite
def scenarios(draw):
    run = {"duration": draw(st.floats(1.0, 1e3)), "warm_up": 0.5, "name": draw(names)}
    if draw(st.booleans()):
        link = Bottleneck(draw(st.floats(1.0, 1e7)), draw(st.none() | st.integers(2, 10**7)), draw(st.floats(0.0, 0.9)))
        return Scenario((draw(flows({"rtt": draw(st.floats(1e-6, 1e3))})),), link, **run)
    nodes = [draw(names) for _ in range(draw(st.integers(2, 4)))]
    size = draw(st.sampled_from([{}, {"buffer": 5}, {"buffer_bytes": 3000}, {"buffer_bytes": 10**10}]))
    links = tuple(
        Link(a, b, draw(st.none() | st.floats(1.0, 1e7)), draw(times) + 1e-3, loss=draw(st.floats(0.0, 0.9)), **size)
        for a, b in itertools.pairwise(nodes)
    )
    chosen = (Drop(link=links[0].name, packet=draw(st.integers(0, 10**15))),) if draw(st.booleans()) else ()
    group = draw(flows({"source": nodes[0], "target": nodes[-1]}))
    return Scenario((group,), None, links=links, drops=chosen, nodes=tuple(nodes), **run)


def check_grammar(data):
    try:
        script = tcl(data.draw(scenarios()), data.draw(st.integers(0, 2**64)))
    except ScenarioError as error:
        assert len(str(error)) < 700
        return False
    assert unknown(script) == []
    return True


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_every_line_is_one_that_the_grammar_knows(data):
    check_grammar(data)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_every_line_of_many_scripts_is_one_that_the_grammar_knows(data):
    check_grammar(data)


def hostile(name: str) -> Scenario:
    """A scenario with a node of any name, past all checks."""
    links = tuple(Link(*ends, 1e6, 0.01, 10, duplex=False) for ends in ("ab", "ba"))
    good = Scenario((Flows(source="a", target="b", segments=5),), None, 5.0, 0.0, epoch=1.0, links=links)
    object.__setattr__(links[0], "source", name)
    object.__setattr__(links[1], "target", name)
    object.__setattr__(good.flows[0], "source", name)
    for cached in ("ways", "link_names", "_routes", "_known_routes"):
        good.__dict__.pop(cached, None)
    return good


ENEMIES = ("a\nexec touch PWNED\n#", "a\rexec touch PWNED\r#", "[exec touch PWNED]", "a;exec touch PWNED", "\\\n}")


@pytest.mark.parametrize("name", ENEMIES)
def test_names_never_reach_the_script(name):
    script = tcl(hostile(name))
    assert unknown(script) == []
    assert "PWNED" not in script


@pytest.mark.parametrize("name", [ENEMIES[0], ENEMIES[1]])
def test_a_name_with_a_line_break_is_refused(name):
    with pytest.raises(ScenarioError, match=r"links\.source must be a name of 1 to 100 printable characters"):
        Link(name, "b")
    with pytest.raises(ScenarioError, match=r"flows\.source must be a name"):
        Flows(source=name, target="b")


@pytest.mark.parametrize("name", ENEMIES)
def test_a_hostile_name_does_nothing_in_ns2(name, tmp_path, monkeypatch):
    if not installed():
        pytest.skip("ns is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    kept = []

    class Keeping(running.tempfile.TemporaryDirectory):
        def cleanup(self):
            kept.extend(path.name for path in Path(self.name).iterdir())
            super().cleanup()

        def __exit__(self, *error):
            self.cleanup()

    monkeypatch.setattr(running.tempfile, "TemporaryDirectory", Keeping)
    result = run_ns2(hostile(name))
    assert result["goodput"].item() > 0
    assert sorted(kept) == ["counters", "said", "scenario.tcl", "trace"]
    assert not (tmp_path / "PWNED").exists()


def program(folder: Path, text: str) -> None:
    path = folder / "ns"
    path.write_text(f"#!{sys.executable}\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


SMALL = Scenario((Flows(rtt=0.1),), Bottleneck(1e6, 10), duration=2.0, warm_up=1.0)


def test_what_ns2_says_is_bounded(tmp_path, monkeypatch):
    """A program that fails with much to say: the end of it, in one line, and its output is not kept in memory."""
    program(tmp_path, "import sys\nsys.stderr.write('x\\n' * 5_000_000 + 'the end\\n')\nsys.exit(3)")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Ns2Error, match=r"status 3.*the end") as caught:
        run_ns2(SMALL)
    assert len(str(caught.value)) < 700 and "\n" not in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the files of another process")
def test_what_ns2_writes_is_bounded(tmp_path, monkeypatch):
    program(tmp_path, "file = open('trace', 'w')\nwhile True: file.write('x' * 65536)")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(running, "MAX_OUTPUT", 1_000_000)
    with pytest.raises(Ns2Error):
        run_ns2(SMALL)


def test_a_program_that_never_ends_is_ended(tmp_path, monkeypatch):
    program(tmp_path, "import time\nwhile True: time.sleep(60)")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(running.tempfile, "tempdir", str(tmp_path))
    started = []

    class Noted(subprocess.Popen):
        def __init__(self, *words, **options):
            super().__init__(*words, **options)
            started.append((self, words[0], options))

    monkeypatch.setattr(running.subprocess, "Popen", Noted)
    with pytest.raises(Ns2Error, match=r"took longer than 0\.5 s"):
        run_ns2(SMALL, timeout=0.5)
    [(process, words, options)] = started
    assert process.poll() is not None
    assert words == [str(tmp_path / "ns"), "scenario.tcl"] and not options.get("shell")
    assert not [name for name in os.listdir(tmp_path) if name.startswith("ns2-")]
