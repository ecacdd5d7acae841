"""`tcpdynamics simulate`: what it writes, how long it replicates, and how it stops and refuses."""

from __future__ import annotations

import csv
import dataclasses
import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click.testing
import numpy as np
import pytest
import xarray as xr

from tcpdynamics import plot
from tcpdynamics.apps import packet_outputs
from tcpdynamics.apps.command import progress
from tcpdynamics.apps.command import simulate as cli_packets
from tcpdynamics.apps.command.main import cli
from tcpdynamics.validation.packet import Bottleneck, Flows, Link, Record, Scenario, load_scenario, ready_scenarios
from tcpdynamics.validation.packet import simulate as run

SCENARIO = """
name = "small"
duration = "40s"
warm_up = "10s"
[bottleneck]
rate = "1Mbit/s"
buffer = 20
[[flows]]
count = 10
rtt = ["190ms", "210ms"]
"""

NETWORK = """
name = "network"
duration = "30s"
warm_up = "10s"
[[links]]
source = "a"
target = "r1"
rate = "10Mbit/s"
[[links]]
source = "r1"
target = "r2"
rate = "500kbit/s"
buffer = 8
[[links]]
source = "r2"
target = "b"
rate = "10Mbit/s"
loss = 0.01
[[flows]]
count = 4
source = "a"
target = "b"
"""


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO)
    return str(path)


def done(*words: str) -> click.testing.Result:
    return click.testing.CliRunner().invoke(cli, ["simulate", *words], catch_exceptions=False)


def answer(*words: str) -> str:
    found = done(*words)
    assert found.exit_code == 0, found.output
    return found.stdout


def tcpdynamics(*words: str) -> subprocess.CompletedProcess[str]:
    """The command as a user runs it."""
    return process("-m", "tcpdynamics.apps.command.main", "simulate", *words)


def process(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=600, check=False)


#: Runs once, so that everything is compiled; from then on no file may grow above 20 kB, as on a full disk.
FULL_DISK = """
import resource, sys
from click.testing import CliRunner
from tcpdynamics.apps.command.main import cli, main
assert CliRunner().invoke(cli, sys.argv[1:3]).exit_code == 0
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
main()
"""


def sends(time: list[float], kind: list[int]) -> xr.Dataset:
    n = len(time)
    return xr.Dataset(
        {
            "send_time": ("send", time),
            "send_flow": ("send", np.arange(n) % 3),
            "send_segment": ("send", np.arange(n)),
            "send_kind": ("send", np.array(kind, np.int8)),
        }
    )


def test_trace_has_the_documented_columns(tmp_path: Path) -> None:
    target = tmp_path / "sends.csv"
    packet_outputs.write_sends(target, sends([0.0, 1e-9, 999.123456789, 1e6 + 1e-7], [0, 1, 2, 3]))
    assert target.read_text() == (
        "time_s,flow,sequence,retransmission\n"
        "0.000000000,0,0,0\n0.000000001,1,1,1\n999.123456789,2,2,1\n1000000.000000100,0,3,1\n"
    )


def test_trace_lists_every_segment_sent(small: str, tmp_path: Path) -> None:
    target, stored = tmp_path / "sends.csv", tmp_path / "run.nc"
    answer(small, "--output", str(target), "--output", str(stored))
    with target.open(newline="") as file:
        rows = list(csv.DictReader(file))
    with xr.open_dataset(stored) as result:
        assert len(rows) == result.sizes["send"]
        np.testing.assert_allclose([float(r["time_s"]) for r in rows], result.send_time, rtol=0, atol=1e-9)
        assert sum(int(r["retransmission"]) for r in rows) == int((result.send_kind != 0).sum())
    fresh = [(r["flow"], r["sequence"]) for r in rows if r["retransmission"] == "0"]
    assert len(fresh) == len(set(fresh))  # new data is sent once
    assert ("0", "0") in fresh
    assert {int(r["flow"]) for r in rows} == set(range(10))
    again = [(r["flow"], r["sequence"]) for r in rows if r["retransmission"] == "1"]
    assert again
    assert set(again) <= set(fresh)


def test_trace_changes_nothing_else(small: str, tmp_path: Path) -> None:
    with_trace = json.loads(answer(small, "--json", "--output", str(tmp_path / "sends.csv")))
    without = json.loads(answer(small, "--json"))
    assert with_trace["results"] == without["results"]


def test_set_is_what_a_changed_file_is(small: str, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(SCENARIO.replace("buffer = 20", "buffer = 9").replace("count = 10", 'count = 5\nsender = "reno"'))
    words = ("--set", "bottleneck.buffer=9", "--set", "flows.0.count=5", "--set", "flows.0.sender=reno", "--json")
    assert answer(small, *words) == answer(str(other), "--json")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--set", "flows.0.nonsense=1"], "nonsense"),
        (["--set", "nonsense=1"], "unknown key nonsense"),
        (["--set", "flows.0.sendr=sack"], "(did you mean 'sender'?)"),
        (["--set", "warmup=1s"], "(did you mean 'warm_up'?)"),
        (["--set", "flows.3.count=1"], "flows has the indices 0 to 0"),
        (["--set", "duration.x=1"], "duration is '40s'"),
        (["--set", "flows.0.sender=bbr"], 'flows.sender must be one of "tahoe"'),
        (["--set", "flows.0.sender=cubic"], "got 'cubic'; give control = \"cubic\""),
        (["--set", "flows.0.control=bbr"], "BBR is not among the window rules here; Linux's own can be run"),
        (["--set", "flows.0.delay=80ms"], "unknown key flows.0.delay (did you mean 'rtt'?)"),
        (["--set", "bottleneck.bandwidth=3"], "(did you mean 'rate'?); known: rate, buffer, loss"),
        (["--set", "bottleneck.queue=fq"], "(did you mean 'fq_codel'?)"),
        (["--set", "bottleneck.buffer=40kB"], "got '40kB'; for bytes give buffer_bytes = \"40kB\""),
        (["--set", "bottleneck.buffer=10-100"], "got '10-100'; a range is 10:100:10 (start:stop:count)"),
        (["--set", "queue=red"], "unknown key queue (did you mean 'bottleneck.queue'?)"),
        (["--set", "duration=60", "--set", "warm_up=100"], "got 100 s (its default); set it, such as warm_up = 6"),
        (["--set", "duration=-5s"], "duration"),
        (["--set", "duration"], "key=value"),
        (["--precision", "2%", "--replications", "3"], "leave out --replications"),
        (["--precision", "abc"], "'abc'"),
        (["--precision", "2"], "got 2"),
        (["--precision", "nan"], "--precision must be a number"),
        (["--most", "9"], "--most belongs to --precision"),
        (["--replications", "2", "--output", "x.csv"], "--output x.csv shows one run"),
        (["--replications", "2", "--set", "record.sends=true"], "asks for sends; switch them off with --set record={}"),
        (["--precision", "2%", "--set", "record.queues=0"], "asks for queues; switch them off with --set record={}"),
        (["--precision", "2%", "--output", "x.html"], "--output x.html shows one run"),
        (["--output", "no/such/folder/x.csv"], "does not exist"),
        (["--output", "x.png"], ".html (a page of figures)"),
        (["--output", "x.csv", "--output", "y.csv"], "has the same content"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_2(
    small: str, words: list[str], says: str, refused: Callable[..., str]
) -> None:
    assert says in refused("simulate", small, *words)


def test_outputs_do_not_overwrite_each_other_or_the_scenario(tmp_path: Path, refused: Callable[..., str]) -> None:
    path = tmp_path / "scenario.csv"
    path.write_text(SCENARIO)
    assert "in use" in refused("simulate", str(path), "--output", str(path))
    assert path.read_text() == SCENARIO


@pytest.mark.parametrize(
    "name", [pytest.param("x.csv", marks=pytest.mark.slow), "x.nc", pytest.param("x.html", marks=pytest.mark.slow)]
)
def test_a_full_disk_is_one_sentence_and_leaves_nothing(small: str, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    found = process("-c", FULL_DISK, "simulate", small, "--output", str(folder / name))
    assert found.returncode == 2, found.stderr
    assert "cannot write" in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1
    assert list(folder.iterdir()) == []


#: Far more events than a run handles between two looks at the keyboard.
LONG = "duration=100000s"


@contextmanager
def interrupting(text: str) -> Iterator[object]:
    """A progress line that presses Ctrl-C as soon as the run looks at the keyboard, however fast the machine is."""

    class Presses(progress.Silent):
        def __call__(self, share: float) -> None:
            signal.raise_signal(signal.SIGINT)

    yield Presses()


def test_an_interrupted_run_saves_what_it_has(small: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_packets, "progress_line", interrupting)
    target, stored = tmp_path / "sends.csv", tmp_path / "run.nc"
    found = done(small, "--set", LONG, "--output", str(target), "--output", str(stored))
    assert found.exit_code == 130
    assert "interrupted at" in found.stderr
    with xr.open_dataset(stored) as result:
        until = float(result.attrs["interrupted_at"])
    assert 0 < until < 100_000
    assert f"interrupted at {until:g} s" in found.stderr
    last = target.read_text().splitlines()[-1]
    assert 0 < float(last.split(",")[0]) <= until + 5e-10  # written with nine digits after the point


def test_an_interrupted_run_without_outputs_writes_nothing(small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_packets, "progress_line", interrupting)
    found = done(small, "--set", LONG)
    assert (found.exit_code, found.stdout) == (130, "")


#: Announces, at a look at the keyboard, that more than a given share of the run is done.
ANNOUNCING = """
import sys
from contextlib import contextmanager
from tcpdynamics.apps.command import progress, simulate as cli_packets
from tcpdynamics.apps.command.main import main
announced = float(sys.argv.pop(1))
class Announces(progress.Silent):
    def __call__(self, share):
        if share > announced:
            print("begun", file=sys.stderr, flush=True)
@contextmanager
def announcing(text):
    yield Announces()
cli_packets.progress_line = announcing
main()
"""

#: A SACK window of a million segments with losses all over it: searches for its holes must not take the loop's time.
LARGE_WINDOW = """
duration = "1000s"
warm_up = "0s"
epoch = "1s"
[bottleneck]
rate = "10Gbit/s"
loss = 0.0001
[[flows]]
rules = "{rules}"
rtt = "100ms"
packet_size = 1000
window_limit = 1000000
initial_window = 1000000
"""


@pytest.mark.parametrize(
    "case", ["small", *(pytest.param(name, marks=pytest.mark.slow) for name in ("ns2", "rfc", "replications"))]
)
def test_ctrl_c_is_answered_with_what_there_is(small: str, tmp_path: Path, case: str) -> None:
    """A run as a user starts it, interrupted when it says that it has begun. The time limits only end a hang."""
    words, stored, share = [small, "--set", LONG], tmp_path / "run.nc", "0"
    if case in ("ns2", "rfc"):
        path = tmp_path / "large.toml"
        path.write_text(LARGE_WINDOW.format(rules=case))
        words, share = [str(path)], "0.0003"  # three round trips: in recovery
    elif case == "replications":
        words = [small, "--replications", "1000", "--set", "duration=4000s"]
    child = subprocess.Popen(
        [sys.executable, "-c", ANNOUNCING, share, "simulate", *words, "--output", str(stored)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    guard = threading.Timer(300.0, child.kill)
    guard.start()
    try:
        assert child.stdout is not None and child.stderr is not None
        begun = child.stderr.readline()
        assert begun == "begun\n"
        child.send_signal(signal.SIGINT)
        out, err = child.communicate()
    finally:
        guard.cancel()
        child.kill()
    assert (child.returncode, out) == (130, ""), err
    assert "Error: interrupted " in err
    with xr.open_dataset(stored) as result:
        if case == "replications":
            assert 1 <= result.sizes["replication"] < 1000
            assert f"interrupted after {result.sizes['replication']} replications" in err
        else:
            assert 0 < float(result.attrs["interrupted_at"]) < float(LONG[9:-1])


@pytest.mark.parametrize(
    ("name", "foreign"),
    [
        ("x.csv", b"my,own,table\n1,2,3\n"),
        ("x.html", b"<!doctype html>\n<html><body>mine</body></html>"),
        ("x.nc", b"\x89HDF\r\n\x1a\n and so on"),
    ],
)
def test_a_file_that_is_not_ours_is_overwritten_by_force_only(
    small: str, tmp_path: Path, name: str, foreign: bytes, refused: Callable[..., str]
) -> None:
    target = tmp_path / name
    answer(small, "--output", str(target))
    ours = target.read_bytes()
    again = ["--force"] if target.suffix == ".csv" else []  # a table does not say of which run it is
    answer(small, "--output", str(target), *again)  # its own it replaces
    if target.suffix != ".nc":  # HDF5 notes the time
        assert target.read_bytes() == ours
    target.write_bytes(b"")
    answer(small, "--output", str(target))
    target.write_bytes(foreign)
    said = refused("simulate", small, "--output", str(target))
    assert "give another name, remove it, or give --force" in " ".join(said.split())
    assert target.read_bytes() == foreign
    answer(small, "--output", str(target), "--force")
    assert len(target.read_bytes()) == pytest.approx(len(ours), rel=0.1)


@pytest.mark.parametrize(
    "words",
    [
        ["--replications", "10000", "--set", "flows.0.count=100000"],
        ["--precision", "2%", "--most", "10000", "--set", "flows.0.count=100000"],
        ["--set", "duration=1e7s", "--output", "x.csv"],
        ["--set", "duration=1e8s"],
        ["--set", "record.queues=1e-6", "--set", "duration=30000s"],
    ],
)
def test_too_much_is_refused_before_it_starts(small: str, words: list[str], refused: Callable[..., str]) -> None:
    said = refused("simulate", small, *words)
    assert len(said) < 700
    assert any(text in said for text in ("operations", "GB of memory", "packets at these", "less often"))


def test_until_stops_when_loss_and_goodput_are_precise(small: str) -> None:
    found = done(small, "--precision", "5%", "--json")
    document = json.loads(found.stdout)
    n = len(document["seed"])
    assert document["until"]["reached"] == 1
    assert document["until"]["replications"] == n >= 5
    assert f"{n} replications" in found.stderr
    loss = np.array(document["results"]["loss_rate"]["values"])
    from scipy import stats

    half = stats.t.ppf(0.975, n - 1) * loss.std(ddof=1) / np.sqrt(n)
    assert half <= 0.05 * loss.mean()
    # Each replication can be repeated from its seed.
    single = json.loads(answer(small, "--seed", document["seed"][-1], "--json"))
    assert single["results"]["loss_rate"]["values"] == loss[-1]


def test_until_says_when_the_bound_came_first(small: str) -> None:
    found = done(small, "--precision", "0.01%", "--most", "6")
    assert found.exit_code == 0
    assert "Warning: 6 replications" in found.stderr
    assert "over 6 replications" in found.stdout


def test_replications_can_be_stored(small: str, tmp_path: Path) -> None:
    stored = tmp_path / "runs.nc"
    assert "3 replications" in answer(small, "--replications", "3", "--output", str(stored))
    with xr.open_dataset(stored) as result:
        assert result.sizes["replication"] == 3


def test_summary_says_what_was_run_and_goodput_in_both_units(small: str) -> None:
    text = answer(small)
    told = " ".join(text.split())
    for words in (
        "sack as in ns-2", "RTT 190 ms to 210 ms", "RTO 200 ms to 60 s", "delayed never", "handshake on",
        "1 Mbit/s, droptail (20 packets", "40 s, the first 10 s left out",
    ):  # fmt: skip
        assert words in told
    assert max(map(len, text.splitlines())) <= 110
    packets, bits = (float(line.split()[-1]) for line in text.splitlines() if "goodput of all flows" in line)
    assert bits == pytest.approx(packets * 8 * 500, rel=1e-3)
    assert "flows.0.limited_transmit = true" in answer(small, "--verbose")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (('flows.0.parameters={ beta = "80%", hystart = true }',), "control cubic (c 0.4, beta 0.8, "),
        ((), "control cubic (c 0.4, beta 0.7, "),
    ],
)
def test_summary_names_the_numbers_of_a_rule(small: str, words: tuple[str, ...], line: str) -> None:
    options = [word for setting in ('flows.0.control="cubic"', *words) for word in ("--set", setting)]
    assert line in " ".join(answer(small, *options).split())


def test_summary_lists_the_numbers_of_a_rule_of_ones_own() -> None:
    flows = Flows(control="a_rule_of_a_test", parameters=(0.25, 3.0), rtt=0.1)
    scenario = Scenario((flows,), Bottleneck(1e6, 20), duration=6.0, warm_up=2.0)
    assert "control a_rule_of_a_test 0.25, 3," in next(packet_outputs.what_you_ran(scenario))


def test_summary_names_the_numbers_of_a_queue_and_counts_marks(small: str) -> None:
    text = answer(
        small, "--set", 'bottleneck.queue="red"', "--set", "bottleneck.queue_parameters.p_max=0.2",
        "--set", "flows.0.ecn=true",
    )  # fmt: skip
    told = " ".join(text.split())
    assert "red (20 packets, the one being sent included; min_threshold 5, max_threshold 15, p_max 0.2," in told
    assert "ECN on" in told
    assert int(next(x for x in text.splitlines() if "packets marked, not dropped" in x).split()[-1]) > 0


def test_summary_lists_the_links_that_lose(tmp_path: Path) -> None:
    path = tmp_path / "network.toml"
    path.write_text(NETWORK)
    text = answer(str(path))
    assert "link r1->r2: loss 0." in text
    assert "link a->r1" not in text  # it loses nothing
    assert "±" in next(line for line in answer(str(path), "--replications", "2").splitlines() if "link r1->r2" in line)


def test_json_is_whole_without_recordings(small: str) -> None:
    document = json.loads(answer(small, "--json", "--set", "record.windows=1", "--set", "record.drops=true"))
    assert not [name for name in document["results"] if name.startswith(("window_", "drop_"))]
    assert document["what_you_ran"]["flows"][0]["count"] == 10
    assert "link_arrived" in document["results"]


def test_plot_is_one_page_that_needs_no_network(small: str, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    answer(small, "--output", str(target))
    page = target.read_text()
    assert page.count("Plotly.newPlot(") >= 4
    # Plotly's own code holds addresses that a page without maps never asks for; tags outside it must have none.
    assert re.findall(r'(?:src|href)="http', re.sub(r"<script[^>]*>.*?</script>", "", page, flags=re.S)) == []
    assert re.findall(r"<script[^>]*src=", page) == []
    for title in ("Windows: small", "Queues: small", "Throughput", "Segments of flow 0"):
        assert title in page


def test_nothing_is_said_where_nobody_looks(small: str) -> None:
    lines = tcpdynamics(small).stderr.splitlines()
    slowly = [line for line in lines if re.fullmatch(r"simulating: \d+ s so far", line)]  # on a busy machine
    assert len(lines) - len(slowly) <= 1  # at most a warning about the scenario


def test_progress_goes_to_standard_error_line_by_line(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    monkeypatch.setattr(progress, "_FIRST", 0.0)
    scenario = tmp_path / "long.toml"
    scenario.write_text(
        SCENARIO.replace("40s", "16000s")
    )  # four million packets, each several events: several looks at the keyboard
    done = click.testing.CliRunner().invoke(cli, ["simulate", str(scenario), "--json"])
    assert done.exit_code == 0
    assert "simulating: " in done.stderr and done.stderr.count("%") >= 2
    json.loads(done.stdout)


def test_a_file_without_flows_is_refused(tmp_path):
    empty = tmp_path / "empty.toml"
    empty.write_text("")
    done = subprocess.run([sys.executable, "-m", "tcpdynamics", "simulate", str(empty)], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == "" and done.stderr.count("\n") == 1 and "[[flows]]" in done.stderr


def test_a_file_without_a_link_is_warned_of(tmp_path):
    path = tmp_path / "bare.toml"
    path.write_text('duration = "2s"\nwarm_up = "1s"\n[[flows]]\nrtt = "80ms"\n')
    warned = "Warning: there is no [bottleneck] and no [[links]]; a bottleneck of 1 Mbit/s with an unlimited buffer is"
    assert warned in done("--json", str(path)).stderr
    assert warned not in done("--json", str(path), "--set", "bottleneck.rate=1e6").stderr


GROUPS = (
    SCENARIO.replace("count = 10", "count = 3")
    + """
[[flows]]
count = 2
sender = "newreno"
rtt = "100ms"
[[flows]]
sender = "cbr"
rate = "50kbit/s"
rtt = "100ms"
"""
)


@pytest.mark.parametrize("options", [(), ("--replications", "3")])
def test_groups_are_told_apart(options, tmp_path):
    """The table's goodputs add up to the whole, and the file says which flow is of which group."""
    path = tmp_path / "groups.toml"
    path.write_text(GROUPS)
    words = ["simulate", str(path), *options, "--output", str(tmp_path / "x.nc")]
    done = click.testing.CliRunner().invoke(cli, words, catch_exceptions=False)
    assert done.exit_code == 0
    lines = [line.split("  ") for line in done.stdout.splitlines()]
    rows = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    at = next(i for i, row in enumerate(rows) if row and row[0] == "group")
    assert rows[at] == ["group", "flows", "goodput [packets/s]", "loss", "timeouts"]
    table = rows[at + 1 : at + 4]
    assert [row[:2] for row in table] == [["0 sack", "3"], ["1 newreno", "2"], ["2 cbr", "1"]]
    with xr.open_dataset(tmp_path / "x.nc", engine="h5netcdf") as data:
        assert data.group.dims == ("flow",) and data.group.values.tolist() == [0, 0, 0, 1, 1, 2]
        names = ["goodput", "timeouts", "arrived_by_kind", "dropped_by_kind"]
        of_groups = data[names].groupby("group").sum("flow")
        for row, group in zip(table, (0, 1, 2), strict=True):
            mine = of_groups.sel(group=group)
            loss = float((mine.dropped_by_kind.sum("kind") / mine.arrived_by_kind.sum("kind")).mean())
            assert float(row[3].split()[0]) == pytest.approx(loss, abs=6e-5)
            mine = mine.mean(set(mine.dims))
            assert float(row[2].split()[0]) == pytest.approx(float(mine.goodput) / 30.0, abs=0.006)
            assert float(row[4].split()[0]) == pytest.approx(float(mine.timeouts), abs=0.51)
    done = click.testing.CliRunner().invoke(cli, ["simulate", str(path), "--json"], catch_exceptions=False)
    assert json.loads(done.stdout)["coordinates"]["group"] == [0, 0, 0, 1, 1, 2]


def test_one_group_has_no_table():
    done = click.testing.CliRunner().invoke(cli, ["simulate", "one_loss"], catch_exceptions=False)
    assert "timeouts" in done.stdout and "group" not in done.stdout


def test_links_in_use_are_shown_without_losses() -> None:
    links = (Link("s", "r", 3e6, 0.01, 200), Link("r", "d", 2.5e6, 0.01, 200))
    flows = Flows(count=2, source="s", target="d", window_limit=8)
    scenario = Scenario((flows,), links=links, duration=6.0, warm_up=2.0)
    lines = [line.strip() for line in packet_outputs.summary_lines(run(scenario), scenario)]
    shown = [line for line in lines if line.startswith("link ")]
    assert [line.partition(":")[0] for line in shown] == ["link r->d", "link s->r"]
    assert "no losses on any of 4 links" in lines


def test_web_users_are_summed_up_by_their_connections_and_drawn_below_the_frame():
    words = ["web_users", "--set", "duration=60s", "--set", "warm_up=20s", "--set", "flows.0.count=40"]
    done = click.testing.CliRunner().invoke(cli, ["simulate", *words])
    assert "connections that finished" in done.output and "flows that finished" not in done.output
    scenario = load_scenario(ready_scenarios()["web_users"])
    few = dataclasses.replace(scenario.flows[0], count=40)
    short = dataclasses.replace(scenario, flows=(few,), duration=60.0, warm_up=20.0, record=Record(windows=0.1))
    figure = plot(run(short), "windows")
    top = figure.layout.yaxis.range[1]
    dotted = [trace for trace in figure.data if trace.line.dash == "dot"]
    assert dotted and all(np.nanmax(trace.y, initial=0.0) <= top for trace in dotted)


@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        ("simulate one_loss", ("xarray", "pandas", "sympy", "dask", "scipy.linalg")),
        ("claims", ("xarray", "pandas", "sympy", "numba", "scipy")),
    ],
)
def test_what_prints_loads_no_library_that_it_does_not_use(words: str, heavy: tuple[str, ...]) -> None:
    """Their imports take longer than the work."""
    code = (
        "import sys, click.testing; from tcpdynamics.apps.command.main import cli; "
        f"done = click.testing.CliRunner().invoke(cli, {words.split()}); "
        f"print(done.exit_code, sorted({{*{heavy}}} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0 []\n"
