"""The strip of one transfer: its model against the packet simulator, and packets dropped by click and by keyboard."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explorer_tabs import legible, opened, table_of
from playwright.sync_api import Page

from tcpdynamics.apps.explorer.bundle import bundle
from tcpdynamics.apps.explorer.numbers_strip import NUMBER, strip
from tcpdynamics.apps.explorer.pages import pages

NODE = shutil.which("node")
#: The model alone: settings on the way in, sends on the way out.
RUN = """
const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
const has = (bits, place) => Math.floor(bits / 2 ** place) % 2 === 1;
console.log(JSON.stringify(cases.map(({ segments, window, rto, lost_data, lost_acks, leap }) => {
  const one = module_core_transfer.transfer({
    segments, window, rto, leap, advertised: 100, delay: 0.05, dataTime: 0.009216, ackTime: 0.00064, end: 60,
    losesData: (segment, transmission) => transmission <= 2 && has(lost_data, 9 * (transmission - 1) + segment),
    losesAck: (number) => number < 18 && has(lost_acks, number),
  });
  return [["data", one.sends, "segment"], ["ACK", one.acks, "asks"]].map(([packet, all, number]) =>
    all.map((each) => [packet, each.time, each[number] + 1])).flat();
})));
"""


def drops(count: int) -> list[dict[str, Any]]:
    """Settings of the page with drawn drops."""
    draw, out = random.Random(31), []
    for _ in range(count):
        share = draw.choice((0.1, 0.3, 0.5))
        bits = [sum(2**n for n in range(18) if draw.random() < share) for _ in range(2)]
        out.append({"segments": draw.randint(4, 9), "window": draw.randint(1, 8), "rto": draw.choice((0.2, 0.4, 1.0)),
                    "lost_data": bits[0], "lost_acks": bits[1]})  # fmt: skip
    return out


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_model_sends_what_the_packet_simulator_sends() -> None:
    cases = drops(60)
    asked = [case | {"leap": leap} for case in cases for leap in (False, True)]
    script = bundle("core/transfer.js") + RUN
    came = subprocess.run(
        [str(NODE), "-e", script], input=json.dumps(asked), capture_output=True, text=True, check=True
    )
    rows = iter(json.loads(came.stdout))
    timeouts = 0
    for case in cases:
        table = strip(**case)
        for name in ("without LEAP", "with LEAP"):
            (packets, times, segments), theirs = zip(*next(rows), strict=True), table[table.sender == name]
            assert (list(packets), list(segments)) == (theirs.packet.tolist(), theirs[NUMBER].tolist()), (name, case)
            np.testing.assert_allclose(times, theirs["sent at [s]"], atol=1e-6)
            timeouts += int((np.diff(times) > 0.9 * case["rto"]).sum())
    assert timeouts > 60  # the drawn cases reach the timer


def test_fig_5_of_the_paper_is_a_preset(tab: Page, files: Path) -> None:
    first = pages()["strip"].presets[0]
    words = "&".join(f"{name}={int(x)}" for name, x in first.values.items())
    opened(tab, f"{(files / 'strip.html').as_uri()}#{words}")
    assert "Fig. 5" in first.name
    figure = tab.locator("[data-figure=strip]")
    assert figure.locator(".dropped").count() == 8  # packet 4 and three ACKs, in both
    assert figure.locator(".duplicate").count() == 1  # packet 1, without LEAP
    said = [one.get_attribute("aria-label") or "" for one in figure.locator(".packet").all()]
    assert any("with LEAP: data packet 5, LEAP: new data" in one for one in said)


@pytest.mark.parametrize(
    ("words", "place", "said"),
    [
        ("segments=4&lost_data=256", ".reading", "Packet 9 is to be dropped, but the transfer has 4 packets; send 9"),
        (
            "lost_data=262144",
            ".complaint",
            "and so on (`lost_data`) must be a whole number from 0 to 262143, got '262144'",
        ),
    ],
)
def test_a_packet_that_is_not_there_is_named(tab: Page, server: str, words: str, place: str, said: str) -> None:
    opened(tab, f"{server}/strip?{words}")
    assert said in tab.locator(place).first.inner_text()
    tab.get_by_role("button", name="Reset").click()
    assert "is to be dropped" not in tab.locator(".reading").inner_text()


def test_a_click_drops_a_packet_and_another_lets_it_pass(tab: Page, server: str) -> None:
    opened(tab, f"{server}/strip?lost_data=0&lost_acks=0")
    reading, figure = tab.locator(".reading"), tab.locator("[data-figure=strip]")
    assert "Nothing is dropped" in reading.inner_text()
    packet = figure.locator('[data-packet="0/data/1/1"]')
    for pressed in ("true", "false"):
        packet.click()
        assert packet.get_attribute("aria-pressed") == pressed
        assert figure.locator(".dropped").count() == (2 if pressed == "true" else 0)
    assert "Nothing is dropped" in reading.inner_text()
    packet.click()
    tab.wait_for_url("**lost_data=2**")  # the state is in the address
    values = pages()["strip"].read({"lost_data": "2", "lost_acks": "0"})[0]
    code = pages()["strip"].figures[0].code
    assert code is not None and table_of(code(values)).equals(strip(8, 4, 0.4, 2, 0))


@pytest.mark.parametrize("width", [1280, 390])
def test_a_click_reaches_the_nearest_packet_within_24_pixels(tab: Page, server: str, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 844})
    opened(tab, f"{server}/strip?lost_data=0&lost_acks=0&segments=9&window=1")
    figure = tab.locator("[data-figure=strip]")
    figure.evaluate("(one) => one.scrollIntoView({ block: 'end' })")
    lowest = figure.locator('[data-packet="0/data/0/1"]')  # nothing is below it
    for off, pressed in ((23, "true"), (23, "false"), (25, "false")):
        x, y = lowest.locator("path").first.evaluate(
            "(path) => { const m = path.getScreenCTM(), b = path.getBBox(); return [m.a * b.x + m.e, "
            "m.d * (b.y + b.height) + m.f]; }"
        )
        tab.mouse.click(x, y + off)
        assert lowest.get_attribute("aria-pressed") == pressed
        assert figure.locator(".dropped").count() == (2 if pressed == "true" else 0)


def test_the_keyboard_reaches_and_drops_every_packet_and_says_which(tab: Page, server: str) -> None:
    opened(tab, f"{server}/strip?lost_data=0&lost_acks=0&shown=with-LEAP")
    figure, told = tab.locator("[data-figure=strip]"), tab.locator(".chosen-packet[role=status]")
    figure.locator('.packet[tabindex="0"]').focus()
    tab.keyboard.press("Home")
    packets = [one.get_attribute("data-packet") for one in figure.locator(".packet[role=button]").all()]
    kinds = set()
    for packet in packets:
        assert tab.evaluate("() => document.activeElement.dataset.packet") == packet
        label = tab.evaluate("() => document.activeElement.getAttribute('aria-label')")
        assert told.inner_text() == f"{label}; click or Enter drops it"
        tab.keyboard.press("Enter")
        assert tab.evaluate("() => document.activeElement.getAttribute('aria-pressed')") == "true"
        assert "dropped; click or Enter lets it pass" in told.inner_text()
        tab.keyboard.press("Enter")
        tab.keyboard.press("ArrowRight")
        kinds.add(str(packet).split("/")[1])
    assert kinds == {"data", "ack"} and figure.locator(".dropped").count() == 0


def test_the_keyboard_finds_packets_and_drops_them(tab: Page, server: str) -> None:
    opened(tab, f"{server}/strip?lost_data=0&lost_acks=0")
    figure = tab.locator("[data-figure=strip]")
    assert figure.locator('.packet[tabindex="0"]').count() == 1  # one stop, arrows from there
    figure.locator('.packet[tabindex="0"]').focus()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Enter")
    now = tab.evaluate("() => document.activeElement.dataset.packet")
    assert now == "0/data/1/1" and figure.locator(".dropped").count() == 2
    tab.keyboard.press("Enter")
    assert figure.locator(".dropped").count() == 0


def test_a_list_has_each_packet_once_and_drops_it(tab: Page, server: str) -> None:
    """Packets of a burst are a few pixels apart: a finger chooses in the list."""
    opened(tab, f"{server}/strip?lost_data=0&lost_acks=0")
    listed = tab.locator(".pick select")
    words = listed.locator("option").all_inner_texts()
    assert len(words) == len(set(words)) > 16 and (listed.bounding_box() or {})["height"] >= 24
    listed.focus()
    for k, dropped in ((4, 2), (4, 0)):  # in both transfers; then it passes again
        listed.select_option(index=k)
        assert tab.locator("[data-figure=strip] .dropped").count() == dropped
        assert tab.evaluate("() => document.activeElement.tagName") == "SELECT"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (320, "dark")])
def test_the_strip_is_legible(tab: Page, server: str, width: int, scheme: str) -> None:
    legible(tab, width, scheme, lambda: opened(tab, f"{server}/strip"))


def test_an_article_moves_pictures_of_another_page(tab: Page, server: str, files: Path) -> None:
    for address in (f"{server}/paper-leap#step=2", f"{(files / 'paper-leap.html').as_uri()}#step=2"):
        tab.goto("about:blank")
        tab.goto(address)
        tab.locator(".article-figure .packet").first.wait_for()
        before = tab.locator(".article-figure .dropped").count()
        tab.locator('.article-figure [data-packet="0/data/0/1"]').click()
        tab.wait_for_function("(n) => document.querySelectorAll('.article-figure .dropped').length !== n", arg=before)
        slug = tab.locator(".article-figure .note a").get_attribute("href") or ""
        assert "strip" in slug and "lost_data=9" in slug


@pytest.mark.parametrize("words", ["", "?figure=strip&embed=1"])
def test_the_picture_says_what_can_be_clicked_and_which_keys_do_it(tab: Page, server: str, words: str) -> None:
    opened(tab, f"{server}/strip{words}")
    said = tab.locator(".chosen-packet")
    assert said.is_visible() and "Click a packet" in said.inner_text() and "Enter" in said.inner_text()
    both = "in both transfers"
    labels = tab.locator(".packet[role=button] title").all_text_contents()
    assert both in said.inner_text() and all(label.endswith(both) for label in labels)
    opened(tab, f"{server}/strip?shown=with-LEAP&lost_data=0&lost_acks=0&{words[1:]}")
    assert both not in tab.locator("main").inner_text()
