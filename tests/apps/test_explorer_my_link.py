"""My link: the chain's numbers are the library's, packets run as a job, and what nothing covers is not guessed."""

from __future__ import annotations

import itertools
import json
import math
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from explorer_tabs import legible, move, numbers, opened, table_of
from playwright.sync_api import Page

from tcpdynamics.apps.explorer import link_records, my_link_runs
from tcpdynamics.apps.explorer.home import SENDER
from tcpdynamics.apps.explorer.link_records import LINK
from tcpdynamics.apps.explorer.numbers_my_link import W_MAX, by_chain, full_rtt
from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.apps.explorer.pages.p0_my_link import OF_CHAIN, VILLAGE
from tcpdynamics.errors import DomainError

FIELDS = ("users", "rate", "base_rtt", "buffer", "packet_size")
#: The paper's link, of which most was recorded.
PAPERS = pages()["my-link"].start() | VILLAGE
PRESETS = [(preset.name, pages()["my-link"].start() | preset.values) for preset in pages()["my-link"].presets]


def village(server: str, words: str = "") -> str:
    """The address of the paper's link, with some of its words replaced."""
    return f"{server}/my-link?{urlencode(VILLAGE | dict(word.split('=') for word in words.split('&') if word))}"


def column(tab: Page, method: str) -> dict[str, str]:
    """What the table shows of a method, by quantity."""
    place = next(i for i, head in enumerate(tab.locator(".methods thead th").all_inner_texts(), 2) if method in head)
    heads = tab.locator(".methods tbody th").all_inner_texts()
    return dict(zip(heads, tab.locator(f".methods tbody td:nth-child({place}) > span").all_inner_texts(), strict=True))


@pytest.mark.parametrize(("name", "values"), PRESETS, ids=[name for name, _ in PRESETS])
def test_the_chain_is_the_librarys(tab: Page, server: str, files: Path, name: str, values: dict[str, Any]) -> None:
    start = pages()["my-link"].start()
    words = urlencode({k: v for k, v in values.items() if v != start[k]})
    for address in (f"{server}/my-link?{words}", f"{(files / 'my-link.html').as_uri()}#{words}"):
        opened(tab, address)
        shown = {row[0]: row[1] for row in numbers(tab)[1:]}
        came = by_chain(*(float(values[k]) for k in FIELDS))
        if values["sender"] == "linux-cubic" or values["users"] == 2:
            assert set(shown.values()) == {"NaN"}
            continue
        wait = 1e3 * full_rtt(values["rate"], 0.0, values["buffer"], values["packet_size"])
        for key, value in (came | {"wait": wait}).items():
            assert float(shown[key]) == pytest.approx(float(value), rel=1e-4)  # the table has five digits


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("sender=linux-cubic", "its windows are Reno's"),
        ("queue=codel", "its queue drops what arrives when it is full"),
        ("users=5", f"Its windows end at {W_MAX}"),
        ("users=12", "of round trips are at its largest window"),
    ],
)
def test_what_the_chain_does_not_cover_is_not_guessed(tab: Page, server: str, words: str, said: str) -> None:
    opened(tab, village(server, words))
    own = column(tab, "Chain")
    assert said in own.pop("where it holds") and set(own.values()) == {"not covered"}
    assert "by the chain" not in tab.locator(".reading").first.inner_text().lower()


def test_how_far_the_chain_is_from_linux_stands_where_nothing_else_does(tab: Page, server: str) -> None:
    opened(tab, village(server, "users=155"))
    points = [p for p in link_records.recorded()["points"] if p["queue"] == "droptail" and p["sender"] in OF_CHAIN]
    off = []
    for p in (p for p in points if p.get("silent")):
        chain = by_chain(np.array([float(p["users"])]), *(p[name] for name in FIELDS[1:]))
        off.append(round(100 * abs(float(chain["silent"][0]) - p["silent"][0])))
    said = f"At {len(off)} recorded links its silence is {min(off)} to {max(off)} points from Linux's: run packets."
    assert said in column(tab, "Chain")["where it holds"]
    opened(tab, village(server))
    own = column(tab, "Chain")["where it holds"]
    packets, chain = link_records.recorded()["packets"]["100"], by_chain(*(PAPERS[k] for k in FIELDS))
    names = {"loss": "packets lost", "silent": "time silent", "nothing": "users with nothing in 20 s"}
    out = {k: float(chain[k]) for k in names if not packets[k]["low"] <= float(chain[k]) <= packets[k]["high"]}
    key = max(out, key=lambda k: abs(out[k] - packets[k]["mean"]))
    off = round(100 * (out[key] - packets[key]["mean"]))
    assert f"Largest difference from packets: {names[key]}, {abs(off)} points {'more' if off > 0 else 'less'}" in own
    assert "recorded links" not in own
    assert own.endswith("; use the numbers of packets instead.")
    said = tab.locator(".seen > .note").first.inner_text()
    assert "Most transfers have packets of 1,500 bytes." in said
    assert "by the chain" in tab.locator("[data-figure=users] h2, [data-figure=users] h3").first.inner_text()


def test_records_are_named_where_they_are_near(tab: Page, server: str) -> None:
    for words, said in (
        ("", "Recorded on this link."),
        ("users=110", "Nearest record at 100 users. It differs by users 10 %."),
        ("users=150", "No record near this link."),
        ("users=2&rate=10&base_rtt=40&buffer=66&packet_size=1514&sender=linux-bbr", "Recorded on this link."),
    ):
        opened(tab, village(server, words))
        assert column(tab, "Linux, recorded")["where it holds"].endswith(said)
    stacks = column(tab, "Stacks, recorded")
    assert stacks["where it holds"].startswith("6 stacks") and " to " in stacks["packets lost"]
    assert stacks["fairness (Jain, 20 s)"] == "not recorded"


#: Units of the fields, as a sentence has them.
UNITS = {
    "users": "users", "Mbit/s": "rate", "packets of buffer": "buffer", "bytes a packet": "packet_size",
}  # fmt: skip
#: What a sentence gives of a link, in percent: quantity and the words around its number.
GIVEN = {
    key: rf"{before}(\d[\d.]*(?: to [\d.]+)?) %{after}"
    for key, before, after in (
        ("loss", "", " of the packets"),
        ("silent", "silent in ", " of the round trips"),
        ("nothing", "", " of the users"),
    )
}


def links_of(values: dict[str, Any], at: str) -> list[dict[str, Any]]:
    """The links that `at` names, otherwise as the chosen one: 80 and 90 users."""
    named: dict[str, list[float]] = {}
    field = ""
    for word in reversed(re.split(r", | and ", at) if at else []):
        number, _, unit = word.partition(" ")
        field = UNITS[unit] if unit else field
        named.setdefault(field, []).append(float(number.replace(",", "")))
    return [values | dict(zip(named, some, strict=True)) for some in itertools.product(*named.values())]


def given(by: str, link: dict[str, Any], key: str) -> list[float]:
    """What a method gives of exactly this link."""
    if "chain" in by:
        return [float(by_chain(np.array([float(link["users"])]), *(link[name] for name in FIELDS[1:]))[key][0])]
    if "packets" in by:
        assert (PAPERS | {"users": link["users"]}).items() == link.items()
        return [link_records.recorded()["packets"][f"{link['users']:g}"][key]["mean"]]
    of = {link["sender"]} if "Linux" in by else set(re.split(r", | and ", by))
    where = {name: link[name] for name in (*FIELDS, "queue")}
    found = [p for p in link_records.recorded()["points"] if where.items() <= p.items() and p["sender"] in of]
    assert len(found) == len(of), (by, link)
    return [p[key][0] for p in found]


@pytest.mark.parametrize(
    ("words", "by"),
    [
        ("", "simulated packets"),
        ("sender=linux-cubic", "recorded Linux"),
        ("users=85", "packets, simulated at 80 and 90 users"),
        ("users=165&sender=linux-cubic", "Linux, recorded at 100 and 200 users"),
        ("rate=1.25", "the chain"),
        ("rate=0.85", "the chain"),
        ("buffer=40", "the chain"),
        ("packet_size=400", "the chain"),
        ("users=310", "the chain"),
        ("rate=1.003&sender=linux-cubic", "Linux, recorded at 1 Mbit/s"),
        ("rate=0.9&buffer=45&sender=linux-bbr", "Linux, recorded at 1 Mbit/s and 50 packets of buffer"),
        ("users=2&rate=10&base_rtt=40&buffer=66&packet_size=1514", "recorded Linux"),
        ("users=2&rate=10&base_rtt=40&buffer=60&packet_size=1500", "Linux, recorded at 66 packets of buffer and 1,514"),
        ("users=5", ""),
    ],
)
def test_each_number_is_of_the_link_or_of_one_that_is_named(tab: Page, server: str, words: str, by: str) -> None:
    asked = dict(word.split("=") for word in words.split("&") if word)
    values = PAPERS | {k: x if isinstance(PAPERS[k], str) else float(x) for k, x in asked.items()}
    opened(tab, village(server, words))
    said = tab.locator(".reading").first.inner_text()
    assert said.startswith(f"By {by}" if by else "No result")
    two_stacks = values["users"] == 2
    parts = re.findall(
        r"By (.+?)(?:, (?:simulated|recorded))?(?: at ([^:]+))?(?:: |(?<!\d), )(?=\d)(.*?)(?= By |$)", said
    )
    assert len(parts) == bool(by) + two_stacks and (not two_stacks or "quic-go" in parts[1][0])
    for method, at, told in parts:
        for key, pattern in GIVEN.items():
            for number in re.findall(pattern, told):
                all_of = [x for link in links_of(values, at) for x in given(method, link, key)]
                ends = [float(x) / 100 for x in number.split(" to ")]
                assert [ends[0], ends[-1]] == pytest.approx([min(all_of), max(all_of)], rel=0.05, abs=1e-6), (
                    key,
                    method,
                )
        assert "packets are dropped" in told
    warned = "The chain may be far off here: run packets." in said
    assert warned == (by == "the chain")
    # the column of Linux names the link of its record, too; the chain is compared with this link's record alone
    head = next(one for one in tab.locator(".methods thead th").all_inner_texts() if "Linux" in one)
    cell = column(tab, "Linux, recorded")["packets lost"]
    (link,) = links_of(values, head.removeprefix("Linux, recorded").removeprefix(" at "))
    if cell != "not covered":
        assert float(cell.split(" %")[0]) / 100 == pytest.approx(given("Linux", link, "loss")[0], rel=0.05)
    if link != values:
        assert "numbers of Linux" not in column(tab, "Chain")["where it holds"]


def test_linux_stands_in_the_chart_where_its_record_covers_the_link(tab: Page, server: str) -> None:
    start = PAPERS | {"sender": "linux-cubic"}
    link = {key: start[key] for key in (*FIELDS[1:], "sender", "queue")}
    points = [p for p in link_records.recorded()["points"] if link.items() <= p.items()]
    opened(tab, village(server, "sender=linux-cubic"))
    head, *rows = numbers(tab, 1)
    shown = {float(row[0]): row for row in rows}
    for name, key in {"loss": "loss", "time silent": "silent", "nothing in 20 s": "nothing"}.items():
        at = head.index(f"Linux: {name}")
        assert {n for n, row in shown.items() if row[at]} == {p["users"] for p in points}
        for p in points:
            assert [float(x) for x in shown[p["users"]][at : at + 3]] == pytest.approx(p[key], rel=1e-4)
    said = tab.locator(".seen > .note").first
    *others, last = sorted(p["users"] for p in points)
    assert f"covers this link at {', '.join(map(str, others))} and {last} users" in said.inner_text()
    opened(tab, village(server, "rate=2"))
    assert "does not cover this link" in said.inner_text() and not any("Linux" in name for name in numbers(tab, 1)[0])


def test_the_first_page_and_this_one_give_the_same_run_of_packets(tab: Page, server: str, files: Path) -> None:
    assert PAPERS.items() >= (LINK | {"sender": SENDER, "queue": "droptail"}).items()
    opened(tab, server)
    tab.locator(".living .reading b").nth(1).wait_for()
    said = tab.locator(".living .reading b").nth(1).inner_text()
    for address in (village(server), village("#").replace("#/my-link?", f"{(files / 'my-link.html').as_uri()}#")):
        opened(tab, address)
        assert column(tab, "Packets")["users with nothing in 20 s"].replace(" to", "").replace(
            " %", ""
        ) == said.replace(" to", "").replace(" %", "")
    opened(tab, f"{(files / 'my-link.html').as_uri()}#users=25")
    assert column(tab, "Packets")["packets lost"] == "needs the served page"


def test_packets_run_and_come_with_intervals(tab: Page, server: str) -> None:
    opened(tab, village(server, "users=8&rate=0.3&base_rtt=300&buffer=10&sender=rfc-reno"))
    assert column(tab, "Packets")["packets lost"] == "not run"
    assert tab.locator(".reading + .actions button", has_text="Run packets").is_visible()
    tab.get_by_text("The first run after an installation takes up to a minute more.").wait_for()
    tab.get_by_role("button", name="Run packets").click()
    tab.get_by_text("8 runs of").wait_for()
    tab.locator(".actions .note:visible", has_not_text="first run").filter(has_text="It simulates").wait_for()
    own = column(tab, "Packets")
    assert " to " in own["link used"]
    assert " to " in own["packets lost"] and own["waiting time, mean"].startswith(tuple("123456789"))
    assert tab.locator(".reading").first.inner_text().startswith("By simulated packets")
    legend = tab.locator("[data-figure=users] .legend").text_content() or ""
    assert all(f"packets: {what}" in legend for what in ("loss", "time silent", "nothing in 20 s"))
    tab.reload()  # the tab keeps what was measured
    tab.get_by_text("8 runs of").wait_for()
    assert column(tab, "Packets") == own
    opened(tab, f"{server}/my-link?sender=linux-bbr")
    assert "has no BBR" in column(tab, "Packets")["where it holds"]


def test_the_page_starts_with_a_link_of_today_that_chain_and_packets_have(tab: Page, server: str) -> None:
    opened(tab, f"{server}/my-link")
    start = pages()["my-link"].start()
    usual = 1e3 * start["rate"] * start["base_rtt"] / (8 * start["packet_size"])
    assert (start["packet_size"], start["buffer"]) == (1500, math.ceil(usual))
    hint = tab.locator("[data-control=buffer] .usual")
    assert hint.inner_text() == f"usual: {start['buffer']}, rate times round trip"
    for method in ("Chain", "Packets"):
        assert all(word.startswith(tuple("0123456789")) for word in [*column(tab, method).values()][:5]), method
    move(tab, "base_rtt", 2)  # a slider in decades
    assert hint.inner_text().startswith("usual: 167,")


def test_the_ends_of_an_interval_differ(tab: Page, server: str) -> None:
    for users in [*link_records.recorded()["packets"]][::4]:
        opened(tab, village(server, f"users={users}"))
        for method in ("Packets", "Linux, recorded"):
            cells = column(tab, method)
            ends = [re.search(r"\((\S+) to (\S+)\)", words) for words in cells.values()]
            assert all(found is None or found[1] != found[2] for found in ends), (users, cells)


def test_a_job_is_checked_and_gives_what_the_simulator_gives() -> None:
    values = my_link_runs.read({"users": "5", "rate": "0.1", "buffer": "5", "base_rtt": "500", "packet_size": "500"})
    link = my_link_runs.scenario(values)
    assert link.epoch == pytest.approx(full_rtt(0.1, 500, 5, 500)) and link.slice == 20.0
    answer = json.loads(my_link_runs.run(values, lambda share: None)["result.json"])
    assert 0 < answer["loss"]["low"] <= answer["loss"]["mean"] <= answer["loss"]["high"] < 1
    table = table_of(pages()["my-link"].figures[0].slow(values)).set_index("quantity")  # what "Show the code" shows
    assert {name: [*row] for name, row in table.iterrows()} == {name: [*answer[name].values()] for name in table.index}
    with pytest.raises(DomainError, match="no BBR"):
        my_link_runs.read({"sender": "linux-bbr"})


def test_no_receiver_limits_a_sender_on_a_fast_link() -> None:
    start = pages()["my-link"].start()
    fast = {"rate": 100.0, "base_rtt": 100.0, "buffer": 500.0, "users": 1.0, "packet_size": 1500.0}
    crowded = fast | {"base_rtt": 1000.0, "buffer": 2000.0, "users": 1000.0, "packet_size": 100.0}
    for words in (fast, crowded):
        values = start | words
        (flows,) = my_link_runs.scenario(values).flows
        pipe = 1e3 * values["rate"] * values["base_rtt"] / (8 * values["packet_size"]) + values["buffer"]
        assert flows.window_limit >= pipe or flows.window_limit * values["users"] >= 10 * pipe


def test_the_first_screen_of_a_telephone_says_what_happens(tab: Page, server: str) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    for words, method in (
        ("", "simulated packets"),
        ("sender=linux-cubic", "recorded Linux"),
        ("users=150&rate=2", "the chain"),
    ):
        opened(tab, village(server, words))
        reading = tab.locator(".reading").first
        said, box = reading.inner_text(), reading.bounding_box()
        row = tab.locator(".methods tbody tr").first.bounding_box()
        assert box and row and box["y"] + box["height"] <= row["y"] <= row["y"] + row["height"] <= 844
        assert said.startswith(f"By {method}, ") and all(word in said for word in ("dropped", "silent", "Fairness"))
        assert ("A packet waits" in said) == (method != "recorded Linux")  # Linux's record has no mean wait


def test_what_a_run_takes_is_said_before_it_starts(tab: Page, server: str) -> None:
    few, many = ({"rate": rate} for rate in (0.1, 20.0))
    for words in (few, many):
        values = PAPERS | words
        came = my_link_runs.cost(values, "")
        carried = 8 * my_link_runs.scenario(values).duration * 1e6 * words["rate"] / (8 * values["packet_size"])
        assert carried <= came["packets"] <= 3 * carried
        opened(tab, village(server, f"rate={words['rate']}"))
        tab.get_by_text(f"packets, in about {math.ceil(came['seconds'])} s.").wait_for()
    assert my_link_runs.cost(PAPERS | many, "")["seconds"] > 5
    move(tab, "rate", -1)  # a slider in decades
    seconds = my_link_runs.cost(PAPERS | few, "")["seconds"]
    tab.get_by_text(f"in about {math.ceil(seconds)} s.").wait_for()
    with pytest.raises(DomainError, match="no BBR"):
        my_link_runs.cost(pages()["my-link"].start() | {"sender": "linux-bbr"}, "")


#: Names of the series of the second picture, with the colours and dashes of their samples.
SAMPLES = """() => [...document.querySelectorAll("[data-figure=users] .series")].map((one) => [
  one.lastChild.previousSibling.previousSibling.textContent,
  ["stroke", "fill", "stroke-dasharray"].map((k) => one.querySelector("svg > *").getAttribute(k)).join(),
])"""


def test_a_series_keeps_its_colour_and_dash_whatever_the_link_is(tab: Page, server: str) -> None:
    seen: dict[str, set[str]] = {}
    for words in ("", "sender=linux-cubic", "users=8&rate=0.3&base_rtt=300&buffer=10", "sender=linux-bbr"):
        opened(tab, village(server, words))
        for name, look in tab.evaluate(SAMPLES):
            seen.setdefault(name, set()).add(look)
    assert len(seen) == 9 and all(len(looks) == 1 for looks in seen.values())
    assert len({*itertools.chain(*seen.values())}) == 9


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (320, "dark"), (1280, "dark")])
def test_the_table_is_legible(tab: Page, server: str, width: int, scheme: str) -> None:
    legible(tab, width, scheme, lambda: opened(tab, village(server, "users=110")))
    for cell in tab.locator(".methods td:not(:empty) > span").all():
        box = cell.bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width
