"""The packet simulator's page: runs in the background, forms, files, two scenarios side by side, what is kept."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
import xarray as xr
from explorer_tabs import PATIENCE, get, keep, legible, numbers, wait_for
from playwright.sync_api import Page, Response

from tcpdynamics.apps.explorer.jobs import MAX_RESULT
from tcpdynamics.apps.explorer.packet_runs import bin_width, check_ready, form, read, recordings, run, size_of
from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.apps.explorer.pages.p6_packets import read_text
from tcpdynamics.apps.explorer.scenario_form import MAX_TEXT, changed, groups_of, keys, ready
from tcpdynamics.errors import InputError
from tcpdynamics.models import fairness
from tcpdynamics.validation.packet import parse_scenario, ready_scenarios, simulate

#: A run that takes minutes, whatever the machine; it is cancelled.
LONG = {"scenario": "sub_packet", "duration": "1000000s", "slice": "10000s"}
SHORT = """
name = "mine"
duration = "20s"
warm_up = "5s"
[bottleneck]
rate = "1Mbit/s"
buffer = 10
[[flows]]
count = 3
rtt = ["100ms", "120ms"]
"""


def silent(share: float) -> None: ...


def result_of(words: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    parts = run(read(words), silent)
    return json.loads(parts["result.json"]), parts["result.nc"]


def opened(page: Page, address: str, state: str = "done") -> None:
    """Open the page, and wait until its runs are in a state."""
    page.goto(address)
    waited(page, state)


def waited(page: Page, state: str) -> None:
    page.wait_for_function(
        "(state) => { const sides = [...document.querySelectorAll('.side')]; "
        "return sides.length && sides.every((side) => side.dataset.state === state); }",
        arg=state,
        timeout=4 * PATIENCE,
    )


# ---- in a browser --------------------------------------------------------------------------------------------------


def test_a_run_is_cancelled_changed_and_runs_to_its_end(tab: Page, server: str) -> None:
    tab.goto(f"{server}/packets?{urlencode(LONG)}")
    tab.wait_for_function("() => document.querySelector('.side progress')?.value > 0")
    assert re.fullmatch(r"Running sub_packet: \d+ % of \S.*", tab.locator(".state").inner_text())
    picture = tab.locator(".side .figure").first
    assert "on its way" in picture.locator(".picture").inner_text()
    assert not picture.get_by_text("Save").is_visible()  # there is nothing yet
    tab.get_by_role("button", name="Cancel").click()
    waited(tab, "ended")
    assert tab.locator(".state").inner_text() == "cancelled"
    tab.get_by_text("Change it").click()
    tab.get_by_label("duration [s]").fill("200")  # in the unit that the field had
    tab.get_by_label("duration [s]").press("Enter")
    waited(tab, "done")
    assert tab.locator(".state").inner_text() == "sub_packet, seed 1"
    assert "duration=200s" in tab.url
    expected, _ = result_of({"scenario": "sub_packet", "changes": {"duration": "200s", "slice": "10000s"}})
    for i, picture in enumerate(expected["pictures"].values()):
        rows = numbers(tab, i)
        assert rows[0] == ["line", picture["xTitle"], picture["yTitle"]] and "[s]" in rows[0][1]
        first = picture["lines"][0]
        shown = [(float(x), float(y)) for name, x, y in rows[1:] if name == first["name"]]
        np.testing.assert_allclose(shown, list(zip(first["x"], first["y"], strict=True))[: len(shown)], rtol=1e-4)


def test_a_link_opens_the_same_runs_in_a_fresh_browser(tab: Page, other: Page, server: str) -> None:
    opened(tab, f"{server}/packets")
    assert tab.get_by_label("scenario", exact=True).input_value() == "single_flow"
    tab.get_by_label("scenario", exact=True).select_option("one_loss")
    waited(tab, "done")
    tab.get_by_label("Compare with a second scenario").check()
    second = tab.locator(".side").nth(1)
    second.get_by_text("Change it").click()
    second.get_by_label("sender").select_option("tahoe")
    second.get_by_role("button", name="Run").click()
    waited(tab, "done")
    assert tab.url.endswith("?scenario=one_loss&beside=one_loss&beside.flows.0.sender=tahoe")
    tables = [tab.locator(".words").nth(i).inner_text() for i in (0, 2)]
    assert tables[0] != tables[1]
    regions = tab.evaluate("() => [...document.querySelectorAll('section[aria-label]')].map((s) => s.ariaLabel)")
    assert len(regions) == len(set(regions)) > 12  # each landmark has a name of its own
    opened(other, tab.url)
    assert [other.locator(".words").nth(i).inner_text() for i in (0, 2)] == tables
    assert [numbers(other, i) for i in range(8)] == [numbers(tab, i) for i in range(8)]

    # Two scenarios beside each other are drawn on the same axes.
    def ticks() -> list[list[str]]:
        """Numbers along the axes of each picture."""
        texts = "(svg) => [...svg.querySelectorAll(':scope > text')].map((t) => t.textContent).filter((t) => !isNaN(t))"
        return [picture.evaluate(texts) for picture in other.locator(".side .picture > div > svg").all()]

    whole, end = ticks(), float(other.get_by_label("to", exact=True).input_value())
    assert len(whole) == 8 and whole[:4] == whole[4:] and {"0", "20"} < set(whole[0])
    # Where a mouse drags across one, all show the same part of the time.
    other.locator(".side .picture").first.scroll_into_view_if_needed()
    place = other.locator(".side .picture").first.bounding_box()
    assert place
    middle = place["y"] + place["height"] / 2
    other.mouse.move(place["x"] + 0.3 * place["width"], middle)
    other.mouse.down()
    other.mouse.move(place["x"] + 0.5 * place["width"], middle, steps=4)
    assert other.locator(".side .picture").first.locator("> div:nth-child(2)").is_visible()
    other.mouse.up()
    ends = [float(other.get_by_label(word, exact=True).input_value()) for word in ("from", "to")]
    assert 0 < ends[0] < ends[1] < end
    assert ticks() != whole and ticks()[:4] == ticks()[4:]
    other.get_by_label("from", exact=True).fill("1")
    other.get_by_label("to", exact=True).fill("2")
    other.get_by_label("to", exact=True).press("Enter")
    assert all({"1.0", "2.0"} <= set(row) or {"1", "2"} <= set(row) for row in ticks())
    other.get_by_role("button", name="All of it").click()
    assert ticks() == whole


def test_a_file_is_run_and_stays_out_of_the_address(tab: Page, server: str, tmp_path: Path) -> None:
    opened(tab, f"{server}/packets?scenario=one_loss")
    file = tmp_path / "..%2fmine<b>.toml"
    file.write_text(SHORT)
    before = {*Path.cwd().iterdir()}
    tab.get_by_label("or load a TOML file").set_input_files(file)
    tab.wait_for_function("() => document.querySelector('.state')?.textContent === 'mine, seed 1'")
    waited(tab, "done")
    assert tab.url == f"{server}/packets" and {*Path.cwd().iterdir()} == before
    assert tab.get_by_label("scenario", exact=True).locator("option:checked").inner_text() == file.name
    tab.get_by_text("Change it").click()
    tab.get_by_label("count", exact=True).fill("4")
    tab.get_by_role("button", name="Run").click()
    waited(tab, "done")
    assert tab.locator(".part").nth(2).locator("tbody tr").count() == 4
    tab.get_by_label("count", exact=True).fill("-1")
    tab.get_by_role("button", name="Run").click()
    waited(tab, "refused")
    assert tab.locator(".state").inner_text().startswith("flows.count must be a whole number in")
    tab.get_by_role("button", name="Undo changes").click()
    waited(tab, "done")
    assert tab.locator(".part").nth(2).locator("tbody tr").count() == 3


MARKUP = """
name = "<img src=x onerror=alert(1)>"
duration = "5s"
warm_up = "1s"
slice = "1s"
[[links]]
source = "<script>alert(2)</script>"
target = "<a href='javascript:alert(3)'>b</a>"
buffer = 5
[[flows]]
source = "<script>alert(2)</script>"
target = "<a href='javascript:alert(3)'>b</a>"
"""


@pytest.mark.slow
def test_markup_in_a_file_is_text(tab: Page, server: str, tmp_path: Path) -> None:
    opened(tab, f"{server}/packets?scenario=one_loss&duration=20s")
    (tmp_path / "<img src=x onerror=alert(4)>.toml").write_text(MARKUP)
    tab.get_by_label("or load a TOML file").set_input_files(tmp_path / "<img src=x onerror=alert(4)>.toml")
    tab.wait_for_function("() => document.querySelector('.state')?.textContent.startsWith('<img src=x onerror=')")
    waited(tab, "done")
    assert "<script>alert(2)</script>->" in tab.locator(".side .picture").nth(1).inner_text()
    assert tab.locator("main img, main a, main script").count() == 0


def test_the_estimate_of_a_run_has_a_bound(tab: Page, server: str) -> None:
    opened(tab, f"{server}/packets?scenario=sub_packet&duration=5000000s&slice=10000s", "refused")
    said = tab.locator(".state").inner_text()
    assert "at most 3e+11 are allowed; shorten the run" in said and len(said) < 400


def asked(address: str, body: bytes, **headers: str) -> int:
    request = urllib.request.Request(address, body, {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_the_server_refuses_large_and_foreign_requests(server: str) -> None:
    task = b'{"kind": "scenario-form", "words": {"text": "x"}}'
    assert asked(f"{server}/jobs", task) == 201
    assert asked(f"{server}/jobs", task, Origin=server) == 201
    assert asked(f"{server}/jobs", task, Origin="http://example.org") == 403
    assert asked(f"{server}/jobs", task, Host="example.org") == 403
    assert asked(f"{server}/jobs", b" " * 300_000 + task) == 413
    assert get(f"{server}/jobs/nothing")[0] == 404 and get(f"{server}/jobs/nothing", "example.org")[0] == 403


FILES = {
    "name = [": "the file is not TOML", 'duration = "1s"': "has no [[flows]]",
    SHORT + "colour = 1": "unknown key flows.0.colour",
    SHORT.replace("100ms", "-3s"): "flows.rtt must be a number in", "a = " + "[" * 5000: "nested more than",
    SHORT.replace("count = 3", "count = 1000000000"): "flows.count must be a whole number",
    SHORT.replace("mine", "<img src=x onerror=alert(1)>").replace("10\n", "-10\n"): "bottleneck.buffer must be",
    SHORT.replace('"20s"', '"1e9s"').replace("1Mbit/s", "10Gbit/s"): "duration = 1e+09 s is up to",
    "#" * (MAX_TEXT + 1): f"at most {MAX_TEXT:,} are read here",
}  # fmt: skip


@pytest.mark.slow
def test_files_are_refused_in_one_sentence(tab: Page, server: str, tmp_path: Path) -> None:
    opened(tab, f"{server}/packets?scenario=one_loss")
    before = tab.locator(".words").first.inner_text()
    for i, (text, says) in enumerate(list(FILES.items())[::2]):  # below, all are read without a browser
        file = tmp_path / f"{i}.toml"
        file.write_text(text)
        tab.get_by_label("or load a TOML file").set_input_files(file)
        tab.wait_for_function(
            "(words) => document.querySelector('.state.complaint')?.textContent.includes(words)", arg=says
        )
        assert len(tab.locator(".state").inner_text()) < 600
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00" * 100)
    tab.get_by_label("or load a TOML file").set_input_files(tmp_path / "bytes.toml")
    tab.wait_for_function("() => document.querySelector('.state')?.textContent.includes('is not TOML')")
    assert tab.locator(".words").first.inner_text() == before  # what was there stays


HOSTILE = {
    "scenario=nothing": "there is no scenario 'nothing'", "scenario=../../../etc/passwd": "there is no scenario",
    "scenario=one_loss&flows.0.count=0": "flows.count must be a whole number in", "flows.0.__class__=1": "form has no",
    "embed=2": "`embed` must be 1", "figure=__proto__": "`figure` must be one of windows",
    "flows.7.count=1": "form has no", "record.windows=0": "form has no", "duration=nan": "duration must be",
    "duration=1e300": "duration must be", "flows.0.rtt=%3Cscript%3Ealert(1)%3C/script%3E": "flows.rtt",
    "scenario=star&topology.nodes=100000": "topology.nodes must be at most 200", "beside=x": "there is no scenario 'x'",
    "seed=" + "9" * 3000: "seed must be a whole number", "seed=" + "9" * 100_000: "longer than 4096",
    "flows.0.count=" + "%5B" * 1000: "flows.0.count takes a number",
    "name=%F0%9F%98%80%E2%80%AE": "name must be a name",
}  # fmt: skip


def test_hostile_addresses_show_one_sentence_and_the_default() -> None:
    from tcpdynamics.apps.explorer.server import spec_of

    page = pages()["packets"]
    for words, says in HOSTILE.items():
        spec = spec_of(page, f"?{words}")
        assert len(spec["complaints"]) == 1, words
        assert says in spec["complaints"][0] and len(spec["complaints"][0]) < 500, spec["complaints"]
        for side in ("first", "second"):
            assert spec["values"].get(side, {"changes": {}})["changes"] == {}


def test_a_bad_link_shows_its_sentence_and_runs_the_default(tab: Page, server: str) -> None:
    opened(tab, f"{server}/packets?scenario=%3Cb%3Ex%3C/b%3E&duration=1s")
    said = tab.locator("p.complaint").first.inner_text()
    assert said.startswith("there is no scenario '<b>x</b>'; there are ") and said.endswith(
        "single_flow is shown as it is"
    )
    assert tab.locator(".state").inner_text() == "single_flow, seed 1"


def test_a_bad_time_stays_in_its_field_until_it_is_mended(tab: Page, server: str) -> None:
    opened(tab, f"{server}/packets?scenario=one_loss&duration=20s")
    field, said = tab.locator("#time-from"), tab.locator("#time-wrong")
    for typed in ("abc", "30", "-1"):
        field.fill(typed)
        field.press("Tab")
        assert "Type two times from 0 to 20 s" in said.inner_text()
        assert (field.input_value(), field.get_attribute("aria-invalid")) == (typed, "true")
    field.fill("5")
    field.press("Tab")
    assert (said.inner_text(), field.input_value(), field.get_attribute("aria-invalid")) == ("", "5", "false")


def test_guess_first_hides_what_came_out(tab: Page, server: str) -> None:
    opened(tab, f"{server}/packets?scenario=one_loss&duration=20s")
    assert tab.locator(".words").first.is_visible() and tab.locator(".picture").first.is_visible()
    tab.get_by_label("Guess first").check()
    assert tab.url.endswith("&guess=first")
    opened(tab, tab.url)
    assert tab.locator("p.complaint").first.inner_text() == ""
    assert not tab.locator(".words").first.is_visible() and not tab.locator(".picture").first.is_visible()
    tab.get_by_label("Guess first").uncheck()
    assert tab.locator(".words").first.is_visible() and tab.locator(".picture").first.is_visible()


def test_what_is_shown_is_kept_as_files(tab: Page, server: str, tmp_path: Path) -> None:
    opened(tab, f"{server}/packets?scenario=one_loss&duration=20s")
    starts = {"PNG": b"\x89PNG", "SVG": b"<svg", "CSV": b"line,time [s],window [packets]\r\nflow 0: cwnd,"}
    for word, start in starts.items():
        with tab.expect_download() as download:
            keep(tab, ".figure >> nth=0", word)
        assert Path(download.value.path()).read_bytes().startswith(start)
        assert download.value.suggested_filename == f"one_loss-windows.{word.lower()}"
    with tab.expect_download() as download:
        tab.locator(".part").get_by_role("button", name="NetCDF").click()
    table = ready("one_loss") | {"duration": "20s"}
    expected = simulate(parse_scenario(table | {"record": {"windows": 0.02, "queues": 0.02}}))
    with xr.open_dataset(download.value.path()) as kept:
        np.testing.assert_array_equal(kept.goodput_rate, expected.goodput_rate)
        np.testing.assert_array_equal(kept.window_cwnd, expected.window_cwnd)
        assert kept.attrs["scenario"] and download.value.suggested_filename == "one_loss.nc"


@pytest.mark.slow
def test_the_next_run_is_told_to_wait_and_a_closed_tab_ends_its_own(tab: Page, other: Page, server: str) -> None:
    long = urlencode(LONG | {"beside": "sub_packet", "beside.duration": "1000000s", "beside.slice": "10000s"})
    names: list[str] = []

    def listed(response: Response) -> None:
        if response.url.endswith("/jobs"):
            names.append(response.json()["job"])

    tab.on("response", listed)
    tab.goto(f"{server}/packets?{long}")
    tab.wait_for_function(
        "() => { const bars = [...document.querySelectorAll('.side progress')]; "
        "return bars.length === 2 && bars.every((bar) => bar.value > 0); }"
    )
    other.goto(f"{server}/packets?scenario=one_loss")
    says = "2 jobs run at once; this one waits for its turn, in place 1"
    other.wait_for_function("(words) => document.querySelector('.state')?.textContent === words", arg=says)
    tab.remove_listener("response", listed)
    tab.goto("about:blank")  # the tab's runs end at once, so the other's begins
    waited(other, "done")
    assert len(names) == 2
    for name in names:
        assert json.loads(get(f"{server}/jobs/{name}")[1])["state"] == "ended"


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.slow), "dark"])
def test_the_page_is_accessible_and_fits_a_telephone(tab: Page, server: str, scheme: Any) -> None:
    def fill() -> None:
        opened(tab, f"{server}/packets?scenario=two_way&duration=100s&beside=one_loss")
        for summary in ("Change it", "more keys", "What was run", "Show the code", "Numbers"):
            tab.locator(".side").last.locator("summary").get_by_text(summary, exact=True).first.click()

    legible(tab, 380, scheme, fill)


def children(pid: int) -> list[int]:
    """Processes that any thread of a process has started."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(word) for task in tasks for word in (task / "children").read_text().split()]


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("how", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGKILL])
def test_a_run_ends_with_the_explorer(how: signal.Signals) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tcpdynamics", "explore", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            wait_for(f"http://127.0.0.1:{port}")
            body = json.dumps({"kind": "packets", "words": {"scenario": "sub_packet", "changes": {
                "duration": "1000000s", "slice": "10000s"}}}).encode()  # fmt: skip
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/jobs", body, {"Content-Type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=60) as answer:
                name = json.load(answer)["job"]
            below = children(process.pid)
            assert len(below) == 1 and running(below[0])
            while json.loads(get(f"http://127.0.0.1:{port}/jobs/{name}")[1])["share"] == 0:
                time.sleep(0.05)
        finally:
            process.send_signal(how)
            process.wait(60)
    for _ in range(1200):
        if not running(below[0]):
            return
        time.sleep(0.05)
    raise AssertionError("the run goes on")


# ---- without a browser ---------------------------------------------------------------------------------------------


def test_averages_until_the_last_transfer_ends_are_those_of_a_run_that_ends_there() -> None:
    """Of a run whose end is that of the transfer, after the warm-up and before the run's end."""
    words: dict[str, Any] = {"scenario": "single_flow", "changes": {"warm_up": "10s"}}
    shown, _ = result_of(words)
    words["changes"]["duration"] = f"{shown['ended']!r}s"
    words["changes"]["slice"] = "1s"
    short = {label: value for label, value, *_ in result_of(words)[0]["facts"]}
    rows = [(label, value) for label, value, _, time in shown["facts"] if time == f"10 to {shown['ended']:.4g}"]
    assert len(rows) == 4 and rows[2][0] == "utilisation of the busiest link"
    for label, value in rows:
        assert value == pytest.approx(short[label], rel=1e-3)
    whole = {label: time for label, *_, time in shown["facts"] if time.endswith(" to 60")}
    assert whole.pop("flows that finished") == whole.pop("their completion time (mean) [s]") == "0 to 60"
    assert set(whole.values()) == {"10 to 60"}


def test_pictures_and_tables_are_the_librarys() -> None:
    shown, content = result_of({"text": SHORT, "changes": {"flows.0.count": "4"}})
    scenario = parse_scenario(changed(tomllib.loads(SHORT), {"flows.0.count": "4"}))
    result = simulate(scenario)
    assert shown["name"] == "mine"
    facts = {label: value for label, value, *_ in shown["facts"]}
    assert {time for *_, time in shown["facts"]} == {"5 to 20"} and shown["ended"] is None
    assert facts["loss"] == float(result.loss_rate)
    np.testing.assert_allclose(facts["goodput of all flows [Mbit/s]"], 1e-6 * result.goodput_rate.sum())
    indices = {name: value for name, value, _ in shown["fairness"]}
    assert indices["Jain's index"] == fairness.jain(result.goodput_rate.values.tolist())
    columns = dict(zip(shown["flows"]["columns"], zip(*shown["flows"]["rows"], strict=True), strict=True))
    np.testing.assert_allclose(columns["goodput [Mbit/s]"], 1e-6 * result.goodput_rate)
    np.testing.assert_allclose(columns["lost [packets]"], result.dropped)
    throughput = shown["pictures"]["throughput"]
    assert throughput["yTitle"] == "throughput [Mbit/s]"
    both = throughput["lines"][0]
    received = np.dot(both["y"][:-1], np.diff(both["x"])) * 1e6 / 8
    with xr.open_dataset(content) as kept:
        small = int((kept.receive_segment == 0).sum())  # handshakes
        assert received == pytest.approx((kept.sizes["receive"] - small) * 500 + small * 40)
        lost = shown["pictures"]["drops"]["lines"][0]
        assert np.dot(lost["y"][:-1], np.diff(lost["x"])) == pytest.approx(kept.sizes["drop"])


CASES = (
    ("lossy_acks", {"duration": "60s", "warm_up": "10s", "flows.0.sender": "sack", "flows.0.count": "2"}),
    ("sub_packet", {"duration": "150s", "bottleneck.rate": "2Mbit/s", "flows.0.rtt": '["90ms", "0.11"]'}),
    ("one_loss", {"name": "a 'b' $HOME", "flows.0.handshake": "false", "drops.0.packet": "50"}),
    ("sub_packet_iid", {"duration": "200s", "bottleneck.buffer": "30"}),
)


@pytest.mark.parametrize(
    ("name", "changes"),
    [*CASES[:1], *(pytest.param(*case, marks=pytest.mark.slow) for case in CASES[1:])],
    ids=[name for name, _ in CASES],
)
def test_the_code_and_the_command_give_the_same_numbers(name: str, changes: dict[str, str], tmp_path: Path) -> None:
    shown, content = result_of({"scenario": name, "changes": changes})
    done = subprocess.run([sys.executable, "-c", shown["code"]], capture_output=True, text=True, check=True)
    command = shlex.split(shown["command"])
    assert command[0] == "tcpdynamics"
    subprocess.run(
        [sys.executable, "-m", *command], cwd=tmp_path, capture_output=True, check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )  # fmt: skip
    with xr.open_dataset(content) as kept, xr.open_dataset(tmp_path / f"{name}.nc") as same:
        assert done.stdout.split() == [str(float(kept.loss_rate)), str(float(kept.goodput_rate.sum()))]
        assert same.attrs.pop("settings")  # what a file of the command is marked with
        xr.testing.assert_identical(kept.load(), same.load())


def test_every_ready_scenario_has_a_form_that_changes_nothing() -> None:
    for name in ready_scenarios():
        groups = groups_of(ready(name))
        own = {group["place"] + key: text for group in groups for key, text in group["values"].items()}
        assert check_ready(name, own) == parse_scenario(ready(name))
        for group in groups:
            assert set(group["values"]) <= {row["key"] for row in keys()[group["part"]]}


def test_keys_of_forms_have_meanings_and_units() -> None:
    for part, rows in keys().items():
        assert [row["key"] for row in rows if not row["meaning"]] == [], part
    units = {row["key"]: row["unit"] for row in keys()["flows"]}
    assert (units["rtt"], units["rate"], units["packet_size"]) == ("s", "bit/s", "B")
    assert {"sack", "newreno"} < set(next(row["choices"] for row in keys()["flows"] if row["key"] == "sender"))


STRANGE: tuple[tuple[dict[str, Any], str], ...] = (
    ({}, "scenario must be a name or a text"), ({"scenario": ["one_loss"]}, "scenario must be a name"),
    ({"scenario": "one_loss", "changes": [1]}, "changes must be"),
    ({"scenario": "one_loss", "changes": {"seed": 1}}, "changes must be"),
    ({"scenario": "one_loss", "changes": {f"flows.0.{i}": "" for i in range(101)}}, "changes must be"),
    ({"scenario": "one_loss", "changes": {"seed": "1" * 201}}, "changes must be"),
    ({"text": "x" * (MAX_TEXT + 1)}, "at most 100,000 are read here"),
    ({"scenario": "one_loss", "changes": {"flows": "[]"}}, "form has no 'flows'"),
    ({"scenario": "one_loss", "changes": {"record.sends": "true"}}, "form has no"),
    ({"scenario": "one_loss", "changes": {"seed": "[" * 100}}, "seed takes a number"),
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(STRANGE)))
def test_strange_words_are_refused_before_anything_starts(number: int) -> None:
    words, says = STRANGE[number]
    with pytest.raises(InputError) as stop:
        read(words)
    assert says in str(stop.value) and len(str(stop.value)) < 400


def test_texts_are_checked_by_the_librarys_reader() -> None:
    for text, says in list(FILES.items())[:-1]:
        with pytest.raises(InputError) as stop:
            form(read_text({"text": text}), silent)
        assert says in str(stop.value)
    with pytest.raises(InputError, match="text must be"):
        read_text({"text": 5})
    many = SHORT + '[[flows]]\nrtt = "100ms"\n' * 500
    shown = json.loads(form(read_text({"text": many}), silent)["form.json"])
    assert len(shown["groups"]) < 20


def test_recordings_are_bounded() -> None:
    for name in ready_scenarios():
        scenario = parse_scenario(ready(name))
        record = recordings(scenario)
        samples = scenario.duration / record.windows * scenario.count if record.windows else 0.0
        assert samples <= 210_000 and (samples or scenario.count > 10_000)
        assert record.queues and not record.sends
    long = recordings(check_ready("sub_packet", {"duration": "1000000s", "slice": "10000s"}))
    assert not long.receives and not long.drops
    assert 100 <= 1000 / bin_width(1000) <= 250 and 100 <= 37 / bin_width(37) <= 250


QUICK = ("one_loss", "eleven_flows", "web_users", "two_way", "wide")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in ready_scenarios()]
)
def test_what_comes_out_is_not_larger_than_was_estimated(name: str) -> None:
    whole = parse_scenario(ready(name))
    measured = (whole.duration - whole.warm_up) / 20
    changes = {"duration": f"{whole.warm_up + measured}s", "slice": f"{measured / 3}s"}
    parts = run({"scenario": name, "changes": changes}, silent)
    scenario = check_ready(name, changes)
    size = sum(map(len, parts.values()))
    assert size <= size_of(scenario, recordings(scenario)) < 5 * size


def test_a_result_that_is_too_large_is_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tcpdynamics.validation.packet.simulate", None)
    text = ready_scenarios()["wide"].read_text().replace("count = 32", "count = 32000")
    with pytest.raises(InputError, match=r"result would have about .* bytes, at most 60,000,000 are kept"):
        run({"text": text, "changes": {}}, silent)
    for name, changes in (("wide", {"flows.0.count": "30000"}), ("one_loss", {"slice": "0.001s", "duration": "9000s"})):
        with pytest.raises(InputError, match="bytes, at most"):  # in the server, before a process is started
            read({"scenario": name, "changes": changes})
    many = check_ready("wide", {"flows.0.count": "2000"})
    assert size_of(many, recordings(many)) <= MAX_RESULT
