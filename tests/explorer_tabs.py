"""The explorer's pages in a browser, for tests: a server to ask, a tab that is drawn, the numbers behind a picture."""

from __future__ import annotations

import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

#: The browser waits as long for a picture [ms]; a busy machine may have to compile the simulator first.
PATIENCE = 180_000
#: Pages on which what is alike on all is tried each time; on the others with the slow tests.
OFTEN = {"", "sub-packet", "own-model", "strip", "paper-leap"}

#: Words with which the name of a fraction or of a probability begins: it is in per cent in all places of a page.
FRACTION = re.compile(
    r"(silent |time )?(fraction|share|probability|chance|utilisation)\b|"
    r"([\w-]+[ -])?(loss|drop) (probability|rate)\b|(loss|lost) "
)


def bare(layout: dict[str, Any]) -> list[str]:
    """Titles of axes of a Plotly layout that name a fraction, whose ticks are not in per cent."""
    axes = [axis for name, axis in layout.items() if name[1:5] == "axis" and axis.get("type") != "log"]
    titles = [axis.get("title", {}).get("text", "") for axis in axes if not axis.get("tickformat", "").endswith("%")]
    return [title for title in titles if FRACTION.match(title) and "[" not in title]


def often(slugs: Iterable[str]) -> list[Any]:
    """Pages as parameters of a test; those that are not in `OFTEN` are slow."""
    return [pytest.param(slug, marks=[] if slug in OFTEN else pytest.mark.slow) for slug in slugs]


def get(address: str, host: str = "") -> tuple[int, bytes]:
    """Code and body of an answer."""
    request = urllib.request.Request(address, headers={"Host": host} if host else {})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def wait_for(address: str) -> None:
    for _ in range(1200):
        try:
            get(address)
            return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    raise AssertionError("the server does not answer")


def opened(page: Page, address: str) -> None:
    """Open a page and wait until its pictures are drawn."""
    page.goto(address)
    page.wait_for_function(
        "() => document.querySelector('.picture svg, .picture canvas') && "
        "!document.querySelector('main.old, [data-computing]')"
    )
    page.evaluate("() => document.querySelectorAll('details.more').forEach((more) => { more.open = true; })")


def numbers(page: Page, picture: int = 0) -> list[list[str]]:
    """The table behind a picture."""
    details = page.locator(".figure > details.table").nth(picture)
    details.scroll_into_view_if_needed()  # a picture out of sight is drawn late
    details.evaluate("(d) => { d.open = true; }")  # a click on a busy machine once did not
    # pictures that a move has made old are drawn in the next frame
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestIdleCallback(done)))")
    page.wait_for_function(
        "(i) => document.querySelectorAll('.figure > details.table')[i].querySelector('td')", arg=picture
    )
    return details.evaluate("(d) => [...d.querySelectorAll('tr')].map((r) => [...r.cells].map((c) => c.textContent))")


def keep(page: Page, figure: str, word: str) -> None:
    """Choose a word of a picture's menu "Save"; `figure` is a selector."""
    picture = page.locator(figure)
    picture.locator(".menu > summary").click()
    picture.get_by_role("button", name=word, exact=True).click()


def move(page: Page, name: str, value: float) -> None:
    page.locator(f"#control-{name}").evaluate(
        "(slider, x) => { slider.value = x; slider.dispatchEvent(new Event('input')); }", value
    )


#: What can be pressed, is seen, and is lower than 24 px; a link within a sentence may be as high as its line.
LOW = """() => [...document.querySelectorAll(
    "a, summary, button, [role=button], select, input:not([type=checkbox], [type=radio])")]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }) && one.closest("[inert], .skip") === null)
  .filter((one) => {
    const part = one.matches("summary") ? one.parentElement : one, around = part.parentElement;
    const sentence = around.closest("p, li, dd, td")?.textContent.trim() ?? "";
    return !one.matches("a, .chip > summary") || sentence.length <= part.textContent.trim().length;
  })
  .filter((one) => one.getBoundingClientRect().height < 23.5).map((one) => one.outerHTML.slice(0, 150))"""

#: Titles of axes that were longer than their axis when they were drawn, and texts beyond their canvas, in `long`; to be
#: run before a page's scripts.
TITLES = """(() => {
  const pen = CanvasRenderingContext2D.prototype, { fillText } = pen;
  window.long = [];
  if (window.measured) return; // a tab has it once for each test
  window.measured = true;
  pen.fillText = function (text, ...place) {
    const over = this.canvas.parentElement?.querySelector(".u-over"), wide = this.measureText(text).width;
    const room = this.getTransform().b ? over?.clientHeight : over?.clientWidth;
    if (this.textAlign === "center" && wide > room * devicePixelRatio) window.long.push([text, wide, room]);
    const begin = place[0] - ({ center: wide / 2, right: wide, end: wide }[this.textAlign] ?? 0);
    const ends = [begin, begin + Math.min(wide, place[2] ?? wide)], { a, c, e } = this.getTransform();
    const at = ends.map((x) => a * x + c * place[1] + e);
    if (Math.min(...at) < -1 || Math.max(...at) > this.canvas.width + 1) window.long.push([text, ...at]);
    fillText.call(this, text, ...place);
  };
})()"""


#: Texts of pictures in lines and words that are cut at an edge of the picture.
CUT = """() => [...document.querySelectorAll(".picture > svg text")].filter((text) => {
  const own = text.getBoundingClientRect(), whole = text.closest(".picture > svg").getBoundingClientRect();
  const inside = own.left >= whole.left - 0.5 && own.right <= whole.right + 0.5 &&
    own.top >= whole.top - 0.5 && own.bottom <= whole.bottom + 0.5;
  return own.width && !inside;
}).map((text) => text.textContent)"""


def legible(page: Page, width: int, scheme: Any, fill: Callable[[], None]) -> None:
    """What `fill` opens is as wide as the window, its targets are high enough, and axe finds nothing serious in it.

    Nor in the reader's own colours.
    """
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    fill()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    assert page.evaluate(LOW) == []
    # Preloaded style sheets serve experimental rules alone, and no page may ask for its own from disk.
    for forced in ("none", "active"):
        page.emulate_media(forced_colors=forced)  # type: ignore[arg-type]
        violations = Axe().run(page, options={"preload": False}).response["violations"]
        serious = [v for v in violations if v["impact"] in ("serious", "critical")]
        assert [(forced, v["id"], [n["html"][:200] for n in v["nodes"]][:3]) for v in serious] == []
    page.emulate_media(forced_colors="none")


def table_of(code: str) -> Any:
    """What the lines of a picture's code give."""
    names: dict[str, Any] = {"print": lambda *shown: None}
    exec(code, names)  # lines that the page wrote itself
    return names["table"].reset_index(drop=True)
