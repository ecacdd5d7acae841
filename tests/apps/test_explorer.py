"""The explorer in a real browser: pages load, sliders move pictures, links restore them, files open from disk."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from explorer_tabs import CUT, TITLES, get, keep, legible, move, numbers, often, opened
from playwright.sync_api import Page

from tcpdynamics.apps.explorer.fluid_boundary import FIELDS, MODELS
from tcpdynamics.apps.explorer.page import Choice, Control
from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.apps.explorer.pages.p3_t_refwa import READINGS, closed_form
from tcpdynamics.models import fairness
from tcpdynamics.solvers import eigenvalues
from tcpdynamics.solvers.programs.straightline import run

PAGES = tuple(slug for slug, page in pages().items() if page.controls and not page.article)
#: Those whose sliders are the pages' own, not the reader's.
MOVED = tuple(slug for slug in PAGES if any(isinstance(c, Control) for c in pages()[slug].controls))


def sliders(slug: str) -> list[Control]:
    return [c for c in pages()[slug].controls if isinstance(c, Control)]


@pytest.mark.parametrize("slug", MOVED)
def test_a_page_loads_and_a_slider_moves_its_picture(tab: Page, server: str, slug: str) -> None:
    opened(tab, f"{server}/{slug}")
    assert re.fullmatch(rf"{re.escape(pages()[slug].title)}(: move everything)? - tcpdynamics explorer", tab.title())
    assert tab.locator(".figure").count() == len(pages()[slug].figures)
    before = numbers(tab)
    control = next(c for c in sliders(slug) if c.step != 1)
    place = control.low + 0.7 * (control.high - control.low)
    move(tab, control.name, np.log10(place) if control.log else place)
    tab.wait_for_function("() => location.search !== ''")
    assert numbers(tab) != before


def test_the_first_page_lists_the_questions_of_all(tab: Page, server: str, files: Path) -> None:
    listed = {slug: page.question for slug, page in pages().items() if not page.article}
    for address, known in ((server, listed), ((files / "index.html").as_uri(), listed.keys() - {"packets"})):
        tab.goto(address)
        tab.locator(".contents").wait_for()
        links = tab.locator(".contents a").all()
        slugs = [Path(link.get_attribute("href") or "").stem for link in links]
        assert set(slugs) == set(known)
        cards = [Path(card.get_attribute("href") or "").stem for card in tab.locator("a.card").all()]
        assert set(cards) == pages().keys() - listed.keys()
        questions = tab.locator(".contents dd").all_inner_texts()
        assert questions == [listed[slug] for slug in slugs]
        links[-1].click()
        tab.locator(".figure").first.wait_for()
        tab.locator("header .brand").click()
        tab.locator(".contents").wait_for()


def test_symbols_have_their_letters_and_places(tab: Page, files: Path) -> None:
    opened(tab, (files / "high-speed.html").as_uri())
    assert tab.locator(".note sup").inner_text() == "2"
    opened(tab, (files / "sub-packet.html").as_uri())
    assert tab.locator("label i sub").all_text_contents()[0] == "0"
    opened(tab, (files / "lotka-volterra.html").as_uri())
    assert "fraction ε of itself" in tab.get_by_text("fraction ε of itself").inner_text()


def test_a_legend_has_values_only_while_something_is_pointed_at(tab: Page, files: Path) -> None:
    opened(tab, (files / "fluid-tcp.html").as_uri())
    picture = tab.locator("[data-figure=window]")
    values = picture.locator(".legend .value")
    assert values.all_inner_texts() == ["", ""]
    picture.locator(".u-over").hover()
    picture.locator(".legend.live").wait_for()
    assert all(float(text) > 0 for text in values.all_inner_texts())


@pytest.mark.parametrize("slug", often(MOVED))
def test_a_link_opens_the_same_picture_in_a_fresh_browser(tab: Page, other: Page, server: str, slug: str) -> None:
    opened(tab, f"{server}/{slug}")
    for choice in (c for c in pages()[slug].controls if isinstance(c, Choice)):
        tab.get_by_label(choice.meaning).select_option(choice.choices[-1])
    for control in sliders(slug):
        move(tab, control.name, control.low + 0.3 * (control.high - control.low))
    tab.wait_for_function("() => location.search !== '' && !document.querySelector('main.old')")
    tab.wait_for_timeout(500)  # the address follows a fifth of a second after the last move
    shown = numbers(tab)
    opened(other, tab.url)
    assert numbers(other) == shown


def value_of(text: str) -> float:
    """The number of a field, which has fractions in per cent."""
    return float(text.removesuffix(" %")) / (100 if text.endswith("%") else 1)


@pytest.mark.parametrize("slug", often(MOVED))
def test_files_open_from_disk_with_the_same_numbers(tab: Page, server: str, files: Path, slug: str) -> None:
    opened(tab, f"{server}/{slug}")
    served = [numbers(tab, i) for i in range(len(pages()[slug].figures))]
    opened(tab, (files / f"{slug}.html").as_uri())
    assert [numbers(tab, i) for i in range(len(served))] == served
    control = sliders(slug)[0]
    opened(tab, (files / f"{slug}.html").as_uri() + f"#{control.name}={control.high:g}")
    assert value_of(tab.locator(f"#control-{control.name} + input").input_value()) == control.high


@pytest.mark.parametrize("slug", often(MOVED))
def test_a_decimal_comma_is_read_as_one(tab: Page, server: str, slug: str) -> None:
    opened(tab, f"{server}/{slug}")
    assert not tab.locator("input[type=number]").count()  # a browser drops the comma there
    control = next((c for c in sliders(slug) if c.step != 1), None)
    if control:
        field = tab.locator(f"#control-{control.name} + input")
        value = f"{(100 if control.percent else 1) * (control.low + 0.371 * (control.high - control.low)):.3f}1"
        field.evaluate(
            "(node, text) => { node.value = text; node.dispatchEvent(new Event('change')); }", value.replace(".", ",")
        )
        assert field.input_value().removesuffix(" %") == f"{float(value):.6g}"  # in the field's unit, per cent too
        assert f"is read as {value}" in tab.locator(f"#control-{control.name}-wrong").inner_text()


@pytest.mark.parametrize("slug", often(MOVED))
def test_a_bad_value_stays_in_its_field_with_a_sentence_until_it_is_mended(tab: Page, server: str, slug: str) -> None:
    """By the label that the page shows, not by the code's name; in sight on a telephone."""
    tab.set_viewport_size({"width": 390, "height": 844})
    opened(tab, f"{server}/{slug}")
    if tab.locator(".which").count():
        units = {c.name: f" [{c.unit}]" for c in sliders(slug) if c.unit not in ("", "1")}
        for name, word in tab.locator(".which option").evaluate_all("(all) => all.map((o) => [o.value, o.text])"):
            assert not name or word.endswith(units.get(name, "")), word  # a telephone shows no other label
        tab.locator(".which").select_option("")
    for control in sliders(slug):
        field = tab.locator(f"#control-{control.name} + input")
        if not field.is_visible():
            continue
        said, good = tab.locator(f"#control-{control.name}-wrong"), field.input_value()
        assert field.get_attribute("aria-describedby") == f"control-{control.name}-wrong"
        for typed in ("abc", f"{(control.high * 2 + 1) * (100 if control.percent else 1):g}"):
            field.fill(typed)
            field.press("Tab")
            words = said.inner_text()
            assert words.startswith(f"{control.meaning} must be a") and f"got '{typed}'" in words, words
            assert "`" not in words and f"{good} " in f"{words.rpartition(' Type another; ')[2]} "
            assert (field.input_value(), field.get_attribute("aria-invalid")) == (typed, "true")
            field.scroll_into_view_if_needed()
            box = said.bounding_box()
            assert box is not None and 0 <= box["y"] and box["y"] + box["height"] <= 844
        assert tab.locator(".complaint").first.inner_text() == ""
        field.fill(good)
        field.press("Tab")
        assert field.get_attribute("aria-invalid") == "false" and "must be" not in said.inner_text()


@pytest.mark.parametrize("slug", PAGES)
def test_exported_pages_are_small_and_ask_nobody(files: Path, slug: str) -> None:
    size = (files / f"{slug}.html").stat().st_size
    size += sum(f.stat().st_size for f in (files / "assets").glob(f"{slug}*.js"))
    assert size < 700_000
    assert "http" not in (files / f"{slug}.html").read_text()


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.slow), "dark"])
@pytest.mark.parametrize("slug", often(PAGES))
def test_a_page_is_accessible_and_fits_a_telephone(tab: Page, files: Path, slug: str, scheme: Any) -> None:
    legible(tab, 380, scheme, lambda: opened(tab, (files / f"{slug}.html").as_uri()))


HOSTILE = {
    "loss=nan": "`loss`", "loss=1e999": "`loss`", "loss=-1": "(`loss`) must be a number from",
    "w_max=6.5": "whole number", "w_max=100000000": "largest window (`w_max`) must be a whole number from",
    "loss=%3Cscript%3Ealert(1)%3C/script%3E": "`loss`",
    "loss=%F0%9F%98%80": "`loss`", "%3Cimg+src%3Dx+onerror%3Dalert(1)%3E=1": "this page has no",
    "__proto__=1": "this page has no", "loss=" + "9" * 3000: "`loss`", "loss=" + "9" * 100_000: "longer than 4096",
    "&".join(f"a{i}=1" for i in range(500)): "",
}  # fmt: skip


@pytest.mark.parametrize("words", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_addresses_show_one_sentence_and_the_default(tab: Page, server: str, words: str) -> None:
    opened(tab, f"{server}/sub-packet?{words}")
    said = tab.locator(".complaint").inner_text()
    assert HOSTILE[words] in said and len(said) < 400
    assert tab.locator("#control-loss").input_value() == "0.1"


REFUSED = {
    "/functions/sub-packet/full-6.js": 404, "/functions/sub-packet/full-6-3000.js": 404,
    "/functions/nothing/full-6-3.js": 404, "/code/sub-packet/packets?loss=7": 400,
    "/code/sub-packet/nothing": 404, "/netcdf/nothing": 404,
}  # fmt: skip


def test_a_strange_page_or_name_is_refused(server: str) -> None:
    for path, code in REFUSED.items():
        assert get(f"{server}{path}")[0] == code
    assert get(server, "example.org")[0] == 403


def test_bars_are_the_librarys_numbers(tab: Page, server: str) -> None:
    page = pages()["sub-packet"]
    opened(tab, f"{server}/sub-packet?loss=0.27&stages=2&base_timeout=3.5")
    values = page.start() | {"loss": 0.27, "stages": 2.0, "base_timeout": 3.5}
    expected = page.dataset(values).sel(chain="full", loss=0.27).sent.values
    shown = [float(row[2]) for row in numbers(tab)[1:]]
    np.testing.assert_allclose(shown, expected, rtol=1e-4)


@pytest.mark.parametrize("kind", ["approximate", "full", "exact"])
def test_printed_chains_observe_what_the_model_observes(kind: str) -> None:
    page = pages()["sub-packet"]
    values = page.start() | {"loss": 0.31, "base_timeout": 4.5}
    printed = next(p for p in page.printed if p.name == kind)
    program, inputs, _ = printed.make(values)
    row = run(program, dict(zip(inputs, (0.31, 4.5), strict=True)))
    model = page.dataset(values).sel(chain=kind, loss=0.31)
    W = int(values["w_max"])
    np.testing.assert_allclose(row[: W + 1], model.sent.values, rtol=1e-12)
    np.testing.assert_allclose(row[W + 2], model.goodput.item(), rtol=1e-12)


@pytest.mark.parametrize("flows", [2, 3, 8])
def test_printed_indices_are_the_librarys(flows: int) -> None:
    page = pages()["fairness"]
    rng = np.random.default_rng(flows)
    program, inputs, _ = page.printed[0].make({"flows": float(flows)})
    for _ in range(20):
        x = rng.exponential(size=flows)
        jain, ratio, entropy, gini, hoover, geometric, least, _, _, _, *ordered = run(
            program, dict(zip(inputs, x, strict=True))
        )
        assert jain == pytest.approx(fairness.jain(x)) and ratio == pytest.approx(fairness.min_max_ratio(x))
        assert entropy * np.log(flows) == pytest.approx(fairness.entropy(x))
        assert (1 - gini, 1 - hoover) == pytest.approx((fairness.gini(x), fairness.hoover(x)))
        assert 1 - geometric == pytest.approx(fairness.atkinson(x, 1.0))
        assert jain >= least * (1 - 1e-12) and ordered == sorted(ordered)


@pytest.mark.parametrize(
    "words", [{}, {"reading": "integrating-delayed", "delay": 3.0, "phi": 0.3, "psi": 0.1}, {"reading": "measured-rtt"}]
)
def test_commands_in_the_page_are_the_librarys(tab: Page, server: str, words: dict[str, Any]) -> None:
    page = pages()["t-refwa"]
    opened(tab, f"{server}/t-refwa?{urlencode(words)}")
    motion = page.dataset(page.start() | words)
    for picture, quantity in ((1, motion.Upsilon), (2, motion.Q)):
        shown = [float(row[1]) for row in numbers(tab, picture)[1:]]
        np.testing.assert_allclose(shown, quantity.values, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)])
@pytest.mark.parametrize("slug", PAGES)
def test_no_text_of_a_picture_is_cut(tab: Page, files: Path, slug: str, size: tuple[int, int]) -> None:
    """No title is longer than its axis, and no other text reaches beyond its picture."""
    tab.set_viewport_size({"width": size[0], "height": size[1]})
    tab.add_init_script(TITLES)
    opened(tab, (files / f"{slug}.html").as_uri())
    tab.wait_for_function("() => [...document.querySelectorAll('.picture')].every((box) => box.childElementCount)")
    assert tab.evaluate("long") == [] == tab.evaluate(CUT)
    for title in tab.locator(".picture svg text[transform*='rotate(-90)']").all():
        whole, own = title.locator("xpath=ancestor::*[local-name()='svg']").bounding_box(), title.bounding_box()
        assert whole and (not own or whole["y"] <= own["y"] <= own["y"] + own["height"] <= whole["y"] + whole["height"])


@pytest.mark.parametrize("slug", often(MOVED))
def test_the_menu_opens_in_sight_and_keeps_the_focus(tab: Page, files: Path, slug: str) -> None:
    tab.set_viewport_size({"width": 1280, "height": 720})
    opened(tab, (files / f"{slug}.html").as_uri())
    for head in tab.locator(".figure .menu > summary").all():
        head.evaluate("(node) => node.scrollIntoView({ block: 'end' })")
        head.click()
        words = head.locator("xpath=../ul")
        words.wait_for()
        tab.wait_for_function(
            "(ul) => ul.getBoundingClientRect().bottom <= innerHeight + 0.5", arg=words.element_handle()
        )
        assert head.evaluate("(node) => node.getClientRects()[0].height") < 30  # one line
        with tab.expect_download():
            words.get_by_role("button", name="CSV").click()
        assert head.evaluate("(node) => node === document.activeElement")


@pytest.mark.parametrize("slug", often(p for p in PAGES if any(isinstance(c, Choice) for c in pages()[p].controls)))
def test_a_choice_stands_in_the_address_by_its_word(tab: Page, server: str, slug: str) -> None:
    choice = next(c for c in pages()[slug].controls if isinstance(c, Choice))
    opened(tab, f"{server}/{slug}")
    select = tab.get_by_label(choice.meaning)
    words = " ".join(tab.locator(".control option").all_inner_texts())
    assert not re.search(r"(?<!cross)(?<!drop)(?<!semi)(?<!FQ)-[a-zA-Z]|rtt", words), words
    select.select_option(choice.choices[-1])
    tab.wait_for_function(f"() => location.search === '?{choice.name}={choice.choices[-1]}'")
    opened(tab, f"{server}/{slug}?{choice.name}={choice.choices[1]}")
    assert select.input_value() == choice.choices[1]
    opened(tab, f"{server}/{slug}?{choice.name}=%3Cb%3E")
    assert select.input_value() == choice.choices[0]
    said = tab.locator(".complaint").inner_text()
    assert said.startswith(f"{choice.meaning} (`{choice.name}`) must be one of {choice.choices[0]}")


@pytest.mark.parametrize("reading", ["delayed", "mixed", "integrating-delayed"])
def test_ends_of_the_closed_form_are_where_roots_leave_the_circle(reading: str) -> None:
    settings = {} if reading == "mixed" else {"delay": 2}
    phi, *ends = closed_form(reading, **settings)
    for psi in ends:
        inner = (psi > 0) & (psi < 3)
        for at, gain in list(zip(phi[inner], psi[inner], strict=True))[::40]:
            roots = eigenvalues(READINGS[reading](phi=float(at), psi=float(gain), **settings).map())
            assert abs(float(abs(roots.eigenvalue).max()) - 1) < 1e-6


FLUID = (
    {}, {"marking": "red", "flows": 40.0, "averaging": 0.5}, {"marking": "drop-tail", "end": 40.0},
    {"marking": "drop-tail", "flows": 390.0, "base_rtt": 0.02}, {"gain": 0.001},
)  # fmt: skip


@pytest.mark.parametrize("words", FLUID, ids=range(len(FLUID)))
def test_windows_queues_and_verdicts_in_the_page_are_the_librarys(
    tab: Page, server: str, words: dict[str, Any]
) -> None:
    page = pages()["fluid-tcp"]
    values = page.start() | words
    opened(tab, f"{server}/fluid-tcp?{urlencode(words)}")
    motion = page.dataset(values)
    model = MODELS[values["marking"]](**{k: values[k] for k in FIELDS[values["marking"]]})
    rest = model.equilibrium()
    for picture, quantity, still in ((0, motion.W.values, rest.window), (1, motion.q.values, rest.queue)):
        rows = numbers(tab, picture)
        shown = np.array([[float(row[1]), float(row[rows[0].index("at equilibrium")])] for row in rows[1:]])
        first = quantity[: len(shown)]  # a table holds 400 rows
        np.testing.assert_allclose(shown[:, 0], first, rtol=1e-4, atol=1e-4 * np.ptp(first))
        np.testing.assert_allclose(shown[:, 1], float(still), rtol=1e-4)
    verdict = "stable" if model.stability_margin() > 0 else "unstable"
    assert numbers(tab, 2)[1][0] == f"the sliders: {verdict}"


@pytest.mark.parametrize("marking", list(MODELS))
def test_the_printed_boundary_has_no_margin(marking: str) -> None:
    page = pages()["fluid-tcp"]
    values = page.start() | {"marking": marking}
    program, inputs, about = next(p for p in page.printed if p.name == "boundary").make({"marking": marking})
    for rtt in (0.25, 0.4, 0.6):
        low, high = 0.0, np.pi
        for _ in range(60):
            at = values | {"phase": (low + high) / 2, "rtt": rtt}
            point = dict(zip(about["rows"], run(program, {k: at[k] for k in inputs}), strict=True))
            above = point["beyond"] > 0 or point["balance"] > 0
            low, high = (low, at["phase"]) if above else (at["phase"], high)
        assert point["inside"] > 0
        where = {k: values[k] for k in FIELDS[marking]} | {k: point[k] for k in ("flows", "base_rtt")}
        assert abs(MODELS[marking](**where).stability_margin()) < 1e-9
        assert MODELS[marking](**where | {"flows": 1.01 * where["flows"]}).stability_margin() > 0


def test_controls_that_do_not_count_are_hidden(tab: Page, server: str) -> None:
    opened(tab, f"{server}/t-refwa")
    assert not tab.locator("#control-delay").is_visible()
    tab.get_by_label("interpretation of the equation").select_option("delayed")
    assert tab.locator("#control-delay").is_visible()


def test_pictures_are_saved(tab: Page, server: str) -> None:
    opened(tab, f"{server}/sub-packet")
    for word, start in (("PNG", b"\x89PNG"), ("SVG", b"<svg"), ("CSV", b"packets")):
        with tab.expect_download() as download:
            keep(tab, "[data-figure=packets]", word)
        assert Path(download.value.path()).read_bytes().startswith(start)


def test_specs_are_json() -> None:
    for page in pages().values():
        assert json.loads(json.dumps(page.spec()))["slug"] == page.slug
