"""A page whose server stops, or one of whose files fails, says so in two seconds and goes on when it can."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from explorer_tabs import PATIENCE, get, keep, move, often, opened
from playwright.sync_api import Browser, Page, Route

from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.apps.explorer.server import SILENT, SLOW, words_of
from tcpdynamics.errors import InputError

#: Pages with a function for each step of a slider: the slider, and a value that is not loaded yet.
SHAPED = {
    page.slug: next((c for c in page.controls if c.name in shape and not hasattr(c, "choices")), None)
    for page in pages().values()
    if not page.article
    for shape in [{name for printed in page.printed if not printed.lazy for name in printed.shape}]
}
SLIDERS = [(slug, c) for slug, c in SHAPED.items() if c]


@pytest.fixture
def alone(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """A tab whose console may tell of requests that fail; what the page itself throws is collected."""
    page = browser.new_context().new_page()
    page.set_default_timeout(PATIENCE)
    thrown: list[str] = []
    page.on("pageerror", lambda error: thrown.append(str(error)))
    yield page, thrown
    page.context.close()
    assert thrown == []


def hang_up(route: Route) -> None:
    route.abort("connectionrefused")


@pytest.mark.parametrize(("slug", "slider"), SLIDERS, ids=[slug for slug, _ in SLIDERS])
def test_a_function_that_does_not_come_is_told_and_asked_for_again(
    alone: tuple[Page, list[str]], server: str, slug: str, slider: Any
) -> None:
    page, _ = alone
    opened(page, f"{server}/{slug}")
    value = slider.high if slider.start != slider.high else slider.low
    page.route("**/functions/**", hang_up)
    move(page, slider.name, value)
    page.wait_for_function(
        "(s) => document.querySelector('.complaint').textContent.includes(s)", arg=SILENT, timeout=2000
    )
    assert page.locator("main.old").count() == 1
    page.unroute_all()
    page.wait_for_function("() => !document.querySelector('main.old')")  # by itself
    assert page.locator(".complaint").first.inner_text() == ""
    page.route("**/functions/**", hang_up)
    move(page, slider.name, value - 1 if value == slider.high else value + 1)
    page.wait_for_function("() => document.querySelector('main.old')")
    move(page, slider.name, slider.start)  # a function that is there
    page.wait_for_function("() => !document.querySelector('main.old')")


@pytest.mark.parametrize("slug", often(["", *pages()]))
def test_a_script_that_does_not_come_is_told_and_can_be_loaded_again(browser: Browser, server: str, slug: str) -> None:
    page = browser.new_page()
    for script in (r"/core\.js", r"/site/.*/(?!core)[\w-]+\.js"):
        page.route(re.compile(script), hang_up)
        page.goto(f"{server}/{slug}")
        page.get_by_role("alert").get_by_text("A file of this page did not come").wait_for(timeout=2000)
        page.unroute_all()
        page.get_by_role("link", name="Load again").click()
        page.wait_for_function("() => document.querySelector('main h1')")
        assert page.get_by_role("alert").count() == 0
    page.close()


@pytest.mark.parametrize("pattern", ["**/core.js", "**/style.css", "**/sub-packet.js", "**/functions/**"])
def test_a_file_that_hangs_has_a_sentence(alone: tuple[Page, list[str]], server: str, pattern: str) -> None:
    page, _ = alone
    hanging: list[Route] = []
    page.route(pattern, lambda route: hanging.append(route))
    page.goto(f"{server}/sub-packet", wait_until="commit")
    page.get_by_text("A file of this page has not come yet").wait_for(timeout=6000)
    assert "sub-packet" in pattern or "functions" in pattern or pattern[3:] in page.locator(".lacking").inner_text()
    page.screenshot(timeout=6000)  # it is painted
    for route in hanging:
        route.continue_()
    page.locator(".picture canvas, .picture svg").first.wait_for()
    assert page.locator(".lacking").count() == ("style" in pattern)


def test_the_count_of_runs_is_none_of_a_server_that_has_stopped(alone: tuple[Page, list[str]], server: str) -> None:
    page, _ = alone
    page.goto(f"{server}/leap")
    page.wait_for_function("() => document.querySelector('#runs')")
    seven = lambda route: route.fulfill(body="runs in progress: 7")  # noqa: E731
    for answer, said in ((hang_up, SILENT), (seven, "7"), (lambda route: None, SLOW), (None, "")):
        page.unroute_all()
        if answer:
            page.route("**/jobs", answer)
        page.locator("#runs").filter(has_text=re.compile(f"{said}$" if said else "^$")).wait_for(state="attached")


def test_a_picture_out_of_sight_is_no_wider_than_a_window_that_was_narrowed(tab: Page, files: Path) -> None:
    tab.set_viewport_size({"width": 1280, "height": 720})
    opened(tab, (files / "leap.html").as_uri())
    for width in (844, 390, 320):
        tab.set_viewport_size({"width": width, "height": 640})
        tab.wait_for_function("(most) => document.documentElement.scrollWidth <= most", arg=width, timeout=6000)


def test_a_server_that_is_slow_is_told(alone: tuple[Page, list[str]], server: str) -> None:
    page, _ = alone
    opened(page, f"{server}/sub-packet")
    page.route("**/functions/**", lambda route: None)
    move(page, "w_max", 9)
    page.wait_for_function(
        "() => document.querySelector('.complaint').textContent.includes('not answered yet')", timeout=2000
    )


def test_code_and_files_that_do_not_come_are_told(alone: tuple[Page, list[str]], server: str) -> None:
    page, _ = alone
    opened(page, f"{server}/sub-packet")
    page.route(re.compile("/code/|plotly|/netcdf/"), hang_up)
    code = page.locator("details.code").first
    code.locator("summary").click()
    code.get_by_text(SILENT).wait_for(timeout=2000)
    attempts = (
        lambda: keep(page, "[data-figure=goodput]", "Open as a Plotly figure"),
        lambda: page.get_by_role("button", name="NetCDF of the model's own results").click(),
    )
    for attempt in attempts:
        page.evaluate("() => { document.querySelector('.complaint').textContent = ''; }")
        attempt()
        page.locator(".complaint").get_by_text(SILENT).wait_for(timeout=2000)
    page.unroute_all()
    move(page, "loss", 0.2)
    code.get_by_text("import").first.wait_for()
    with page.expect_download():
        keep(page, "[data-figure=goodput]", "PNG")


def test_a_file_that_fails_is_told(alone: tuple[Page, list[str]], files: Path) -> None:
    page, _ = alone
    opened(page, (files / "sub-packet.html").as_uri())
    functions, aside = files / "assets" / "sub-packet-functions.js", files / "aside"
    functions.rename(aside)
    move(page, "w_max", 9)
    page.wait_for_function(
        "() => document.querySelector('.complaint').textContent.includes('cannot be read')", timeout=2000
    )
    aside.rename(functions)
    move(page, "w_max", 8)
    page.wait_for_function("() => !document.querySelector('main.old')")


#: Each slider goes to a place between its ends; what it and the field or the sentence at its side then have.
READ_OUT = """() => [...document.querySelectorAll("input[type=range][id^=control-]")].map((slider) => {
  const { min, max, step } = slider, size = Number(step);
  slider.value = Number(min) + Math.round((0.337 * (max - min)) / size) * size;
  slider.dispatchEvent(new Event("input"));
  const near = slider.parentElement.querySelector(".exact, output");
  return [slider.id.slice(8), Number(slider.value), slider.getAttribute("aria-valuetext"), near.value];
})"""


@pytest.mark.parametrize("slug", often([slug for slug, page in pages().items() if page.controls]))
def test_readouts_of_sliders_are_their_values(tab: Page, server: str, slug: str) -> None:
    """As many digits as a step needs, with the unit or in per cent: in a field, in a sentence and read aloud."""
    opened(tab, f"{server}/{slug}")
    controls = {c.name: c for c in pages()[slug].controls}
    for name, place, *texts in tab.evaluate(READ_OUT):
        if name.startswith("own-"):
            continue  # of a text that a reader types
        c = controls[name]
        value = 10**place if c.log else place
        value = round(value) if c.step == 1 else value
        aloud = texts[0].partition(" ")[2]
        assert aloud in ({"", "%"} if c.unit == "1" else {c.unit, f"{c.unit}s"}), name
        for text in texts:
            number, _, unit = text.partition(" ")
            shown = float(number.replace(",", "")) / (100 if unit == "%" else 1)
            assert shown == pytest.approx(value, rel=1e-5, abs=0 if c.log else 1e-3 * c.step), (name, text)


#: As many pages of a lecture as a speaker goes through, by links and by "back".
GO_ROUND = """async ([words, times]) => {
  for (let i = 0; i < times; i++) {
    location.hash = words[i % words.length];
    await new Promise((done) => setTimeout(done, 15));
  }
  location.hash = words[0];
  await new Promise((done) => setTimeout(done, 500));
}"""


@pytest.mark.parametrize(
    ("slug", "words"),
    [
        pytest.param("fairness", ["x1=3", "x1=4", "x1=5&x2=1"], marks=pytest.mark.slow),
        ("sub-packet", ["loss=0.2", "loss=0.3", "loss=0.1&guess=first"]),
    ],
)
def test_changes_of_address_leave_nothing(tab: Page, files: Path, slug: str, words: list[str]) -> None:
    opened(tab, f"{(files / f'{slug}.html').as_uri()}#{words[0]}")
    browser = tab.context.new_cdp_session(tab)
    browser.send("Performance.enable")

    def held() -> tuple[float, float]:
        for _ in range(2):
            browser.send("HeapProfiler.collectGarbage")
            tab.wait_for_timeout(100)
        metrics = {m["name"]: m["value"] for m in browser.send("Performance.getMetrics")["metrics"]}
        return metrics["Nodes"], metrics["JSEventListeners"]

    tab.evaluate(GO_ROUND, [words, 6])
    nodes, listeners = held()
    tab.evaluate(GO_ROUND, [words, 200])
    after, still = held()
    assert after < 1.5 * nodes + 200 and still < 1.5 * listeners + 20, (nodes, listeners, after, still)
    browser.detach()


def test_each_page_has_its_title(tab: Page, server: str) -> None:
    for slug, page in [("", None), *pages().items()][:4]:
        tab.goto(f"{server}/{slug}")
        expected = f"{page.title} - tcpdynamics explorer" if page else "tcpdynamics explorer"
        tab.wait_for_function("(t) => document.title === t && document.querySelector('main h1')", arg=expected)


def test_a_page_that_is_not_there_is_told(server: str) -> None:
    code, body = get(f"{server}/no<such>")
    assert code == 404 and "<such>" not in body.decode()
    assert "createElement('h1')" in body.decode() and "There is no page" in body.decode()
    assert get(f"{server}/fairness")[0] == get(f"{server}/")[0] == 200


def test_a_word_that_stands_twice_is_told(tab: Page, server: str, files: Path) -> None:
    with pytest.raises(InputError, match="has loss twice and was not read"):
        words_of("?loss=0.2&loss=0.3")
    for address in (f"{server}/fairness?x1=2&x1=3", f"{(files / 'fairness.html').as_uri()}#x1=2&x1=3"):
        opened(tab, address)
        assert tab.locator(".complaint").inner_text() == "the address has x1 twice and was not read"
        assert json.loads(tab.locator("#control-x1").input_value()) == pages()["fairness"].start()["x1"]
