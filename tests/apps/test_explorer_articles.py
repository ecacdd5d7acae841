"""Articles: texts that move pictures, each step whole in sight, by mouse, by keyboard and by address."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from explorer_tabs import CUT, LOW, TITLES, keep, often, opened
from playwright.sync_api import Page

from tcpdynamics.apps import claim_words
from tcpdynamics.apps.explorer.article import MAX_WORDS, articles, read
from tcpdynamics.apps.explorer.numbers_mtcp import LOSSES
from tcpdynamics.apps.explorer.numbers_mtcp import facts as mtcp_facts
from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.apps.explorer.recorded import interval, over_readings, published
from tcpdynamics.apps.explorer.server import words_of
from tcpdynamics.apps.explorer.sub_packet_points import GROUPS, points
from tcpdynamics.apps.explorer.t_refwa_gains import DELAYED, READINGS
from tcpdynamics.errors import InputError
from tcpdynamics.models import RttCode
from tcpdynamics.paper_figures import ledger, statements
from tcpdynamics.paper_figures.reasons import NONE
from tcpdynamics.paper_figures.rules import CONDITIONS, FAILS, HOLDS, OPEN, RUN
from tcpdynamics.solvers import eigenvalues

WHOLE = {slug: article for slug, article in articles().items() if len(article.steps) > 1}
STEPS = [(slug, k + 1) for slug, article in WHOLE.items() for k in range(len(article.steps))]
#: Pictures that have the names of lines and points at their ends on a laptop, and above on a telephone.
NAMED = {("paper-leap", "causes"), ("paper-leap", "table1")}
SIZES = {"laptop": (1280, 720), "telephone": (390, 844)}

#: What a reader sees of a step: what is shown, where picture and controls lie, and numbers that are missing.
SEEN = """(k) => {
  const step = document.querySelectorAll(".step")[k - 1], box = (node) => node.getBoundingClientRect();
  const lies = (r) => [r.left, r.top, r.right, r.bottom];
  const side = document.querySelector(".article-side"), covers = innerWidth < 900 ? box(side).bottom : 0;
  return {
    shown: [...document.querySelectorAll(".step")].findIndex((node) => node.hasAttribute("data-current")) + 1,
    figure: lies(box(document.querySelector(".article-figure .picture"))),
    menu: lies(box(document.querySelector(".article-figure .menu > summary"))),
    controls: [...step.querySelectorAll("p > .in-sentence")].filter((n) => !n.closest(".after"))
      .map((n) => lies(box(n))),
    numbers: [...step.querySelectorAll(".number")].map((node) => node.textContent),
    covers, answer: step.querySelector(".after").hidden,
    names: document.querySelector(".article-figure .picture canvas")?.getContext("2d").names || [],
    hidden: getComputedStyle(document.querySelector(".article-figure .picture")).visibility,
    width: document.documentElement.scrollWidth,
    loose: [...step.querySelectorAll(".chip")].filter((chip) => {
      const { firstElementChild: badge, lastChild: mark } = chip.firstChild, place = document.createRange();
      place.selectNodeContents(mark);
      const below = place.getBoundingClientRect().top - [...badge.getClientRects()].at(-1)?.bottom > 0;
      return below || /^[.,;:]/.test(chip.nextSibling?.textContent ?? "");
    }).map((chip) => chip.parentElement.textContent),
  };
}"""
#: Names at the ends of curves, as they were last drawn: text, vertical place, and what is free to the right, in pixels.
NAMES = """(() => {
  const pen = CanvasRenderingContext2D.prototype, { clearRect, fillText } = pen;
  if (window.watched) return; // a tab has it once for each test
  window.watched = true;
  pen.clearRect = function (...box) { this.names = []; clearRect.apply(this, box); };
  pen.fillText = function (text, x, y, most) {
    if (this.textAlign === "left" && this.textBaseline === "middle") {
      const free = this.canvas.width - x - this.measureText(text).width;
      this.names?.push([text, y / devicePixelRatio, free / devicePixelRatio]);
    }
    fillText.call(this, text, x, y, most);
  };
})()"""
#: Of each control in a step's sentences, at each end or choice: its name and value, the sentences, and the caption.
AT_ENDS = """async (k) => {
  const step = document.querySelectorAll(".step")[k - 1], out = [];
  for (const control of step.querySelectorAll("p > .in-sentence > [id^=step-]")) {
    const start = control.value;
    const choices = [...(control.options || [])].map((one) => one.value);
    for (const value of control.options ? choices : [control.min, control.max, start]) {
      control.value = value;
      control.dispatchEvent(new Event(control.options ? "change" : "input"));
      do await new Promise(requestAnimationFrame); while (document.querySelector("main.old"));
      const text = step.cloneNode(true);
      text.querySelectorAll(".chip, .guess-panel").forEach((node) => node.remove());
      const caption = document.querySelector(".article-figure .reading").textContent;
      out.push([control.id, value, [...text.querySelectorAll("p")].map((p) => p.textContent).join(" "), caption]);
    }
  }
  return out;
}"""
#: Once a picture is there, its box no longer changes.
STILL = """async () => {
  const whole = () => JSON.stringify([scrollY, document.querySelector(".article-side").getBoundingClientRect()]);
  for (let before = "", n = 0; n < 3;) {
    await new Promise((done) => setTimeout(done, 60));
    n = before === whole() ? n + 1 : 0;
    before = whole();
  }
}"""


def at_step(tab: Page, address: str, k: int) -> dict[str, Any]:
    tab.goto(f"{address}#step={k}")
    tab.wait_for_selector(".article-figure .picture :is(svg, canvas, table, dl)", state="attached")
    tab.wait_for_function("() => !document.querySelector('main.old, .picture.old')")
    tab.evaluate(STILL)
    seen: dict[str, Any] = tab.evaluate(SEEN, k)
    return seen


@pytest.mark.parametrize("slug", WHOLE)
def test_an_article_is_short_and_names_what_exists(slug: str) -> None:
    article, page = WHOLE[slug], pages()[WHOLE[slug].page]
    assert article.words() <= MAX_WORDS and 5 <= len(article.steps) <= 7
    facts = pages()[slug].spec()["facts"]  # refuses unknown statements and values
    for step in article.steps:
        moved = pages()[step["page"]] if step["page"] else page
        controls, figures = {c.name for c in moved.controls}, {f.name for f in moved.figures}
        assert step["figure"] in figures and set(step["controls"]) <= controls and step["controls"], step["heading"]
        assert len(" ".join([*step["before"], *step["after"]]).split()) <= 100, step["heading"]
    assert len(article.statements()) >= len(article.steps)
    counts = dict(facts["counts"])
    assert counts.pop("statements") == sum(counts.values()) > 0
    last = " ".join(facts["steps"][-1]["before"] + facts["steps"][-1]["after"])
    assert (
        "{=holds} hold, {=conditions} hold with conditions, {=fails} do not hold, {=undecided} cannot be decided."
        in last
    )


@pytest.mark.parametrize("slug", WHOLE)
def test_each_claim_says_what_was_measured_and_what_it_needs(slug: str) -> None:
    facts = pages()[slug].facts
    assert facts
    for name, one in facts(False)["statements"].items():
        measured, _, needs = one["measured"].rpartition(". The claim ")
        assert re.match(r"(Measured|Computed): ", measured) and re.match(r"(needs|has) ", needs), name
        assert "fraction of" not in measured or (" %" in measured and " %" in needs), name
        assert "Measured" not in measured or " runs)" in measured or "interval" not in measured, name
        assert one["reason"][:1] == one["reason"][:1].upper() and one["reason"] != NONE, name
        assert one["ours"] == ("check of ours" in ledger.ledger().statements[name].says), name
        assert not re.search(r"rtt\b|(: |needs at least |has )1 [a-z]+s\b", one["measured"]), name


def test_a_claim_shows_a_number_that_has_its_verdict() -> None:
    """Of all statements, the number of the chosen cell fulfils or fails its own rule as the statement does."""
    rows = ledger.recorded()["rows"]
    outcomes = [one for summary in statements.summaries(rows).values() for one in summary.outcomes]
    seen: set[str] = set()
    for name, verdict, cells in ((one.statement.id, one.verdict, one.statement.cells) for one in outcomes):
        claim = ledger.get_claim(claim_words.chosen_cell(cells, verdict, rows))
        text = claim_words.measured(claim, rows[claim.id], verdict).rpartition(". The claim ")[0]
        text = text.removeprefix(f"Measured: {claim.quantity.partition('; ')[0]}: ").removeprefix("Computed: ")
        shown = text.removeprefix(f"{claim.quantity.partition('; ')[0]}: ")
        factor = 100 if re.match(r"\S+( to \S+)? %", shown) else 1
        ends = [float(x) / factor for x in re.match(r"(\S+?)(?: to (\S+?))?(?=[ ,;]|$)", shown).groups() if x]  # type: ignore[union-attr]
        within = claim.range
        slack = 6e-4 * max(map(abs, ends))  # of four digits
        wide = dataclasses.replace(within, low=within.low - slack, high=within.high + slack, open_low=False)
        seen.add(verdict)
        if verdict in (HOLDS, CONDITIONS) and claim.rule != RUN:
            assert all(wide.holds(x) for x in ends), (name, shown)
        if verdict == FAILS:
            assert not any(within.holds(x) for x in ends), (name, shown)
        if verdict == CONDITIONS:
            assert "the claim holds" in shown and "where it does not hold" in shown, (name, shown)
        if verdict == OPEN and "where" not in shown and len(ends) == 2:  # all fail, on both sides
            assert ends[0] <= within.high + slack and ends[1] >= within.low - slack, (name, shown)
    assert seen == {HOLDS, CONDITIONS, FAILS, OPEN}


def test_a_text_is_refused_in_a_sentence() -> None:
    with pytest.raises(InputError, match="has no finding, heading, page in its head"):
        read("x", "title: X\npaper: mtcp\n")
    with pytest.raises(InputError, match="a step of the article x has no colour"):
        read("x", "title: X\nfinding: f\npaper: p\npage: q\nheading: h\n## One\ncolour: red\n")
    whole = read(
        "x", "title: X\nfinding: f\npaper: p\npage: q\nheading: h\n## One\nguess: n | Q? | 0 | 8 | of 8 | 1\nA\n"
    )
    assert whole.steps[0]["guess"] == {"number": "n", "question": "Q?", "unit": "of 8", "low": 0, "high": 8, "step": 1}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("slug", WHOLE)
def test_each_address_opens_its_step_with_picture_and_control_in_sight(
    tab: Page, server: str, slug: str, size: str
) -> None:
    width, height = SIZES[size]
    tab.add_init_script(NAMES)
    tab.add_init_script(TITLES)
    tab.set_viewport_size({"width": width, "height": height})
    for k, step in enumerate(WHOLE[slug].steps, 1):
        seen = at_step(tab, f"{server}/{slug}", k)
        assert seen["shown"] == k and seen["width"] <= width, (k, seen)
        (left, top, right, bottom), room = seen["figure"], (0, seen["covers"])
        assert left >= 0 and right <= width and top >= 0 and bottom <= height, (k, seen["figure"])
        left, top, right, bottom = seen["menu"]
        assert left >= 0 and right <= width and 0 <= top < bottom <= seen["figure"][3], (k, seen["menu"])
        assert seen["covers"] <= height / 2, (k, seen["covers"])  # the other half of a telephone is text
        for left, top, right, bottom in seen["controls"]:
            assert left >= 0 and right <= width and room[1] <= top and bottom <= height, (k, seen)
        assert all(seen["numbers"]) and not {"none", "NaN", "undefined"} & set(seen["numbers"]), (k, seen["numbers"])
        assert tab.evaluate("long") == [] == tab.evaluate(CUT), k
        assert tab.evaluate(LOW) == [] == seen["loose"], (k, seen["loose"])  # a mark stays with its verdict
        places = sorted(y for _, y, _ in seen["names"])
        assert all(free > 0 for *_, free in seen["names"]), (k, seen["names"])
        assert all(b - a > 12 for a, b in itertools.pairwise(places)), (k, seen["names"])
        assert bool(seen["names"]) == (size == "laptop") or (slug, step["figure"]) not in NAMED, (k, size)
        assert seen["answer"] == (seen["hidden"] == "hidden") == bool(step["guess"]), (k, seen["hidden"])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("slug", WHOLE)
def test_an_address_without_a_step_has_its_first_control_in_sight(tab: Page, server: str, slug: str, size: str) -> None:
    width, height = SIZES[size]
    tab.set_viewport_size({"width": width, "height": height})
    opened(tab, f"{server}/{slug}")
    box = tab.locator(".step :is(input, select)").first.bounding_box()
    assert box and box["y"] >= 0 and box["y"] + box["height"] <= height


#: The smallest letters of a picture in lines and words, as large as they are seen [px].
LETTERS = """() => Math.min(99, ...[...document.querySelectorAll(".article-figure .picture svg text")]
  .map((one) => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a).filter((size) => size > 0))"""


@pytest.mark.parametrize(
    "slug", [pytest.param(slug, marks=[] if "lotka" in slug else pytest.mark.slow) for slug in WHOLE]
)
def test_letters_of_pictures_are_legible_on_a_telephone(tab: Page, server: str, slug: str) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    for k in range(1, 1 + len(WHOLE[slug].steps)):
        at_step(tab, f"{server}/{slug}", k)
        assert tab.evaluate(LETTERS) > 8.9, k


@pytest.mark.parametrize("width", [320, 390, 640, 768, 900, 1000, 1280])
def test_each_page_of_the_menu_is_in_the_window(tab: Page, server: str, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 900})
    opened(tab, f"{server}/leap")
    tab.locator("header summary").click()
    boxes = [one.bounding_box() for one in tab.locator("header li a").all() if one.is_visible()]
    assert len(boxes) > 10 and all(b and b["x"] >= 0 and b["x"] + b["width"] <= width for b in boxes), boxes


@pytest.mark.parametrize("slug", WHOLE)
def test_each_number_of_packets_has_its_interval(tab: Page, server: str, slug: str) -> None:
    """In as many digits as it supports; every other number stands alone, in four digits at most."""
    for k, step in enumerate(WHOLE[slug].steps, 1):
        text = " ".join([*step["before"], *step["after"]])
        names = re.findall(r"\{=(\w+)", text)
        came = at_step(tab, f"{server}/{slug}", k)["numbers"]
        for name, words in zip(names, came, strict=True):
            if name == "measured_name":  # words
                continue
            if not name.startswith("packets_"):
                assert re.fullmatch(r"[-\d.\u202f]+(e[-+]\d+)?( %)?", words), (k, name, words)
                assert len(re.sub(r"\D", "", words).lstrip("0")) <= 4
                continue
            assert "parentheses" in text, (k, name)
            if "where recorded" in text and re.fullmatch(r"\d\d %", words):
                continue
            mean, low, high = re.fullmatch(r"([\d.]+)(?: %)? \(([\d.]+) to ([\d.]+)\)", words).groups()  # type: ignore[union-attr]
            unit = 10.0 ** -len(mean.partition(".")[2])
            assert float(low) <= float(mean) <= float(high) and unit <= float(high) - float(low) <= 25 * unit, words


@pytest.mark.parametrize("slug", WHOLE)
def test_sentences_are_true_at_the_ends_of_each_slider(tab: Page, server: str, slug: str) -> None:
    """No number that is none, or too small to read; intervals of fractions lie in 0 to 100 %."""
    for k in range(1, 1 + len(WHOLE[slug].steps)):
        at_step(tab, f"{server}/{slug}", k)
        moved = tab.evaluate(AT_ENDS, k)
        assert moved, k
        for name, value, text, caption in moved:
            both = f"{text} {caption}"
            assert not re.search(r"Infinity|NaN|undefined|\de[-+]?\d|\b0\.0{5}", both), (name, value, both)
            assert not re.search(r"is not bounded|\(-\d\S* to|%[^()]{0,3}\(\S+ to 1\d\d[.\d]*\)", both), (
                name,
                value,
                both,
            )
            assert not re.search(r"\b1 (users|interpretations settle)\b|\b1/s\b", both), (name, value, both)


def test_sliders_end_where_what_they_move_ends() -> None:
    """At the first and the last measured value, and where T-REFWA's code ends."""
    ends = {
        (slug, k): {name: tuple(map(float, text.split(".."))) for name, text in step["ends"].items()}
        for slug, article in WHOLE.items() for k, step in enumerate(article.steps, 1)
    }  # fmt: skip
    for k, group in ((6, "linux"), (7, "rtts-5-percent-apart")):
        losses = [row["loss"][0] for row in points()[GROUPS[group][0]]]
        assert ends["paper-sub-packet", k]["loss"] == pytest.approx((min(losses), max(losses)), abs=5e-4)
    assert ends["paper-mtcp", 4]["ack_loss"] == (LOSSES[0], LOSSES[-1])
    longest = float(RttCode().longest())
    assert longest - 0.1 < ends["paper-t-refwa", 1]["rtt_high"][1] <= longest
    for (slug, k), names in ends.items():
        spec = pages()[slug].spec()["facts"]["steps"][k - 1]
        for name, (low, high) in names.items():
            assert low <= spec["values"][name] <= high and name in spec["controls"]
            assert f"{high:g}" in spec["ends"][name]["range"]


@pytest.mark.parametrize("slug", WHOLE)
def test_a_guess_hides_and_shows(tab: Page, server: str, slug: str) -> None:
    """The slider's value is the guess, moved or not."""
    k = next(k for k, step in enumerate(WHOLE[slug].steps, 1) if step["guess"])
    for keys in ([], ["ArrowRight"]):
        tab.goto("about:blank")
        assert at_step(tab, f"{server}/{slug}", k)["hidden"] == "hidden"
        step = tab.locator(".step").nth(k - 1)
        for key in keys:
            step.locator(".guess-panel input").press(key)
        guess = step.locator(".guess-panel output").inner_text()
        step.get_by_role("button", name="Show the answer").press("Enter")
        said = step.locator(".guess-answer").inner_text()
        assert re.match(rf"You guessed {re.escape(guess)}; it is .+: (close|.+ off)\.", said)
        seen = tab.evaluate(SEEN, k)
        assert seen["hidden"] == "visible" and seen["answer"] is False
        assert step.locator(".guess-panel input").is_disabled()  # what was guessed stays


@pytest.mark.parametrize("slug", often(WHOLE))
def test_each_steps_picture_is_saved_as_on_its_page(tab: Page, server: str, slug: str) -> None:
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for k, step in enumerate(WHOLE[slug].steps, 1):
        if step["figure"]:
            page, figure = step["page"] or WHOLE[slug].page, step["figure"]
            at_step(tab, f"{server}/{slug}", k)
            if step["guess"]:
                assert not tab.locator(".article-figure .menu").is_visible()
                tab.locator(".step").nth(k - 1).get_by_role("button", name="Show the answer").click()
            kept = {}
            for kind in ("PNG", "SVG", "CSV", "NetCDF"):
                with tab.expect_download() as download:
                    keep(tab, ".article-figure", kind)
                kept[kind] = Path(download.value.path()).read_bytes()
            assert kept["PNG"].startswith(b"\x89PNG") and kept["NetCDF"].startswith(b"CDF")
            assert kept["CSV"].count(b"\r\n") > 1, k
            # a slide has the settings that its step shows or sets, its sentence, its paper and its address
            settings = " ".join(unescape(re.sub(r"<[^>]+>", " ", kept["SVG"].decode())).split())
            cite = ledger.ledger().papers[WHOLE[slug].paper].cite
            assert f"On {cite}. tcpdynamics explorer, {slug}#step={k}" in settings
            values = pages()[page].read(step["values"])[0]
            for c in pages()[page].controls:
                assert c.name not in step["controls"] or f"{c.meaning}: " in settings, (k, c.name)
                moved = c.name in step["controls"] or values[c.name] != c.start
                assert moved or f"; {c.meaning}: " not in f"; {settings}", (k, c.name)
            assert tab.locator(".article-figure .reading").inner_text()[:40] in settings, k
            keep(tab, ".article-figure", "Copy to embed")
            tab.get_by_text("Copied.").wait_for()
            copied = tab.evaluate("() => navigator.clipboard.readText()")
            assert f'src="{server}/{page}?' in copied and f"figure={figure}&embed=1" in copied, k
            if next(f for f in pages()[page].figures if f.name == figure).text(pages()[page].start()):
                keep(tab, ".article-figure", "Show the code")
                tab.wait_for_function("() => /table/.test(document.querySelector('.article-figure pre').textContent)")


def test_a_copied_link_has_the_step_to_which_a_reader_scrolled(tab: Page, server: str) -> None:
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    at_step(tab, f"{server}/paper-sub-packet", 2)
    tab.mouse.move(900, 400)
    tab.mouse.wheel(0, 1)  # the address no longer leads
    tab.evaluate("() => document.querySelectorAll('.step')[2].scrollIntoView()")
    tab.wait_for_selector(".step:nth-of-type(3)[data-current]")
    keep(tab, ".article-figure", "Copy a link")
    tab.get_by_text("Copied.").wait_for()
    assert tab.evaluate("() => navigator.clipboard.readText()") == f"{server}/paper-sub-packet#step=3"


def test_the_sentence_of_the_state_diagram_is_the_sum_of_its_waits(tab: Page, server: str) -> None:
    at_step(tab, f"{server}/paper-sub-packet", 3)
    slider = tab.locator(".step").nth(2).locator("p > .in-sentence input[type=range]")
    for _ in range(2):
        with tab.expect_download() as download:
            keep(tab, ".article-figure", "CSV")
        rows = [line.split(",") for line in Path(download.value.path()).read_text().splitlines()]
        silent = sum(float(row[1]) for row in rows if re.fullmatch(r"b(0|\*(\(\dr\))?)", row[0]))
        shown = re.fullmatch(
            r"At a drop probability of ([\d.]+) % a flow is silent (\d+) % of the time \(full chain\)\.",
            tab.locator(".article-figure .reading").inner_text(),
        )
        assert shown and abs(100 * silent - float(shown[2])) < 0.51
        assert shown[1] in tab.locator(".step").nth(2).inner_text()
        slider.focus()
        tab.keyboard.press("ArrowRight")
        tab.wait_for_function(
            "(was) => document.querySelector('.article-figure .reading').innerText !== was", arg=shown[0]
        )


@pytest.mark.parametrize("slug", often(WHOLE))
def test_back_returns_to_the_step_before(tab: Page, server: str, slug: str) -> None:
    at_step(tab, f"{server}/{slug}", 2)
    shown = "(k) => document.querySelectorAll('.step')[k - 1].hasAttribute('data-current')"
    last = len(WHOLE[slug].steps)
    for k in (4, last):
        tab.locator(".steps a").nth(k - 1).click()
        tab.wait_for_function(shown, arg=k)
    tab.go_back()
    tab.wait_for_function(shown, arg=4)
    assert tab.url.endswith("#step=4")
    tab.evaluate("() => { location.hash = '#step=99'; }")
    tab.get_by_text(f"this article has no step 99; it has steps 1 to {last}").wait_for()
    tab.evaluate("() => { location.hash = '#step=-1'; }")
    tab.get_by_text(f"this article has no step -1; it has steps 1 to {last}").wait_for()
    tab.evaluate("() => { location.hash = '#bogus'; }")
    tab.get_by_text("this page has no 'bogus'").wait_for()
    for words in ("step=2&step=5", "step=2&figure=chart", "embed=1"):  # said alike after # and after ?
        for mark in "#?":
            tab.goto("about:blank")
            tab.goto(f"{server}/{slug}{mark}{words}")
            said = ". ".join(pages()[slug].read(words_of(words))[1]) if "step=2&step" not in words else "has step twice"
            tab.get_by_text(said).wait_for()
    tab.goto("about:blank")
    tab.goto(f"{server}/{slug}#step=4")
    tab.wait_for_function(shown, arg=4)
    tab.evaluate("() => { location.hash = ''; }")  # as by "back" to the address without a step
    tab.wait_for_function(shown, arg=1)
    door = tab.locator(".step").nth(last - 1).locator("a.door")
    assert door.get_attribute("href") == f"/{WHOLE[slug].page}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("slug", often(WHOLE))
def test_axe_finds_nothing(tab: Page, server: str, slug: str, scheme: Any) -> None:
    tab.emulate_media(color_scheme=scheme)
    at_step(tab, f"{server}/{slug}", 1)
    for button in tab.get_by_role("button", name="Show the answer").all():
        button.evaluate("(node) => node.click()")
    tab.evaluate("() => document.querySelectorAll('.chip').forEach((chip) => { chip.open = true; })")
    found = Axe().run(tab, context="main", options={"preload": False}).response["violations"]
    assert [(v["id"], [n["html"][:150] for n in v["nodes"]][:3]) for v in found] == []


@pytest.mark.parametrize("slug", often(WHOLE))
def test_a_narrow_window_does_not_scroll_sideways(tab: Page, server: str, slug: str) -> None:
    tab.set_viewport_size({"width": 320, "height": 640})
    for k in range(1, len(WHOLE[slug].steps) + 1):
        assert at_step(tab, f"{server}/{slug}", k)["width"] <= 320


@pytest.mark.parametrize("slug", WHOLE)
def test_an_exported_article_opens_from_disk(tab: Page, files: Path, slug: str) -> None:
    seen = at_step(tab, (files / f"{slug}.html").as_uri(), 3)
    assert seen["shown"] == 3
    assert tab.locator(".step").last.locator("a.door").get_attribute("href") == f"{WHOLE[slug].page}.html"


def test_an_address_has_what_a_step_was_moved_to(tab: Page, other: Page, server: str) -> None:
    at_step(tab, f"{server}/paper-sub-packet", 3)
    slider = tab.locator("#step-3-loss")
    slider.evaluate("(node) => { node.value = 0.35; node.dispatchEvent(new Event('input')); }")
    tab.wait_for_function("() => location.hash === '#step=3&loss=0.35'")
    other.goto(tab.url)
    other.wait_for_function("() => document.querySelector('#step-3-loss')?.value === '0.35'")
    other.wait_for_function(
        "(text) => document.querySelector('.article-figure .reading').textContent === text",
        arg=tab.locator(".article-figure .reading").inner_text(),
    )
    other.goto("about:blank")
    other.goto(f"{server}/paper-sub-packet#step=3&loss=7")
    assert "(`loss`) must be a number from" in other.locator(".complaint").first.inner_text()
    assert other.url.endswith("#step=3")  # what is refused leaves the address


@pytest.mark.parametrize("slug", often(WHOLE))
def test_on_paper_each_step_has_its_picture(tab: Page, files: Path, slug: str) -> None:
    at_step(tab, (files / f"{slug}.html").as_uri(), 2)
    tab.wait_for_function("() => [...document.querySelectorAll('.step .number')].every((node) => node.textContent)")
    tab.emulate_media(media="print")
    tab.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    for step in tab.locator(".step").all():
        image = step.locator("img.on-paper")
        image.evaluate("(node) => node.decode()")
        assert image.is_visible() and image.evaluate("(node) => node.naturalWidth") > 400
    assert not tab.locator(".article-side").is_visible() and not tab.locator("body > .aside").count()
    assert tab.pdf(format="A4").count(b"/Type /Page\n") <= 8
    tab.evaluate("() => dispatchEvent(new Event('afterprint'))")
    assert not tab.locator("img.on-paper").count()
    tab.emulate_media(media="screen")


# ---- what single articles say -------------------------------------------------------------------------------


def said(tab: Page, k: int) -> list[str]:
    return list(tab.locator(".step").nth(k - 1).locator(".number").all_text_contents())


def drag(tab: Page, x: float, y: float) -> None:
    """Press at a place of the picture, in parts of its size."""
    box = tab.locator(".article-figure .picture > svg").bounding_box()
    assert box
    tab.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])


def test_the_start_of_two_flows_is_dragged(tab: Page, server: str) -> None:
    at_step(tab, f"{server}/paper-lotka-volterra", 2)
    link = tab.get_by_role("link", name="Move everything", exact=True)
    before = link.get_attribute("href")
    drag(tab, 0.6, 0.5)
    tab.wait_for_function(
        "(old) => document.querySelector('.article-figure .note a').href.split('?')[1] !== old", arg=before
    )
    words = re.findall(r"begin_[1n]=([\d.]+)", link.get_attribute("href") or "")
    assert len(words) == 2 and all(0.01 < float(w) < 1.5 for w in words)


def test_the_old_measurements_of_the_article_are_those_of_the_theory(tab: Page, server: str) -> None:
    at_step(tab, f"{server}/paper-lotka-volterra", 4)
    assert said(tab, 4)[0] == f"{math.pi / 2 / 1.95:.3g}"
    at_step(tab, f"{server}/paper-lotka-volterra", 3)
    assert said(tab, 3)[:3] == [f"{x:.3g}" for x in (1 / 0.9, 20 / (1 + 19 * 0.9), 20 * 0.1 + 0.9)]


@pytest.mark.parametrize(("phi", "psi"), [(1.5, 0.5), (0.5, 0.25), (1.0, 0.5)])
@pytest.mark.parametrize("delay", [1, 2])
def test_as_many_interpretations_settle_as_exact_roots_say(
    tab: Page, files: Path, phi: float, psi: float, delay: int
) -> None:
    tab.goto((files / "t-refwa.html").as_uri() + f"#phi={phi}&psi={psi}&delay={delay}")
    tab.locator("[data-figure=readings] svg").wait_for()
    words = tab.locator("[data-figure=readings] svg g text:last-of-type").all_text_contents()
    expected = []
    for name, model in READINGS.items():
        one = model(phi=phi, psi=psi, **({"delay": delay} if name in DELAYED else {}))
        radius = abs(eigenvalues(one.map()).eigenvalue.values).max()
        edge = abs(radius - 1) < 1e-6
        expected.append("on the edge" if edge else "settles" if radius < 1 else "does not settle")
    assert words == expected


def test_as_many_acknowledgements_as_the_table_has(tab: Page, server: str) -> None:
    at_step(tab, f"{server}/paper-mtcp", 6)
    for alpha in (0.0, 0.875, 0.98):
        tab.locator("#step-6-alpha").evaluate(
            "(node, x) => { node.value = x; node.dispatchEvent(new Event('input')); }", alpha
        )
        table = mtcp_facts(alpha, 2, 0.1, 0.02).set_index("quantity")["value"]
        mean, apart = table["mean to 1 %"], table["differences to 1 %"]
        assert said(tab, 6) == [f"{mean:.0f}", f"{apart:.0f}"] and apart > 2 * mean


def test_duplicates_are_counted_and_not_packets_that_have_one(tab: Page, server: str) -> None:
    at_step(tab, f"{server}/paper-leap", 5)
    slider = tab.locator("#step-5-ack_loss")
    for loss in (0.1, 0.5):
        slider.evaluate("(node, x) => { node.value = x; node.dispatchEvent(new Event('input')); }", loss)
        came = f"{100 * loss / (1 - loss):.3g}"
        assert said(tab, 5)[0] == came
        assert tab.locator(".article-figure .reading").inner_text().startswith(f"100 segments cause {came} duplicates")


def test_the_caption_of_a_flow_alone_is_on_it(tab: Page, server: str) -> None:
    at_step(tab, f"{server}/paper-lotka-volterra", 1)
    assert tab.locator(".article-figure .reading").inner_text() == (
        "Flow 1 is alone in the time shown. It ends at 100 packet/s."
    )


def test_the_image_of_the_eight_charts_is_the_charts(tab: Page, files: Path) -> None:
    tab.emulate_media(color_scheme="dark")
    tab.goto((files / "t-refwa.html").as_uri())
    tab.locator("[data-figure=readings] svg").wait_for()
    with tab.expect_download() as download:
        keep(tab, "[data-figure=readings]", "SVG")
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert text.count("<circle") == len(READINGS) and "does not settle" in text
    assert "currentColor" not in text and "var(" not in text


def test_a_constant_between_there_and_back_changes_no_estimate(tab: Page, server: str) -> None:
    tab.goto(f"{server}/mtcp?asymmetry=0.1")
    tab.locator("[data-figure=clocks] canvas").wait_for()
    details = tab.locator("[data-figure=clocks] details.table")
    details.locator("summary").click()
    details.locator("td").first.wait_for()
    cells = [row.locator("td").all_text_contents() for row in details.locator("tr").all()][1:]
    true, estimated = ([float(row[i]) for row in cells] for i in (1, 2))
    assert [t - e for t, e in zip(true, estimated, strict=True)] == pytest.approx([0.05] * 2 + [-0.05] * 2 + [0] * 4)


def test_recorded_points_are_those_of_the_ledger() -> None:
    assert published("mtcp.table4.immediate.13") == 1.22
    mean, low, high = interval("logistic.fig8.share.12")
    assert low < mean < high and abs(mean - 5 / 11) < 0.02
    mean, least, largest = over_readings("mtcp.table4.immediate.13", lists="replies only")
    assert least <= mean <= largest < over_readings("mtcp.table4.immediate.13")[2]
