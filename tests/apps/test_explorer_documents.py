"""What a browser loads: few and small files before the first picture, kept afterwards; Dash's scripts after it."""

from __future__ import annotations

import itertools
import re
import struct
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from explorer_tabs import PATIENCE, get, often, opened
from playwright.sync_api import Page

from tcpdynamics.apps.explorer import cards
from tcpdynamics.apps.explorer.bundle import ASSETS, bundle, needs
from tcpdynamics.apps.explorer.export import export
from tcpdynamics.apps.explorer.page import MAIN, NOT_EMBEDDED, Choice, Control
from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.apps.explorer.shell import CARDS, FIRST
from tcpdynamics.errors import DomainError

#: Bytes on the wire and requests before the first picture.
LIGHT, FEW = 150_000, 10
FIRST_PICTURE = "() => document.querySelector('.picture svg, .picture canvas, .claim, .shares')"
#: Every request that began before the first picture stood in the page: its address, and its bytes with 300 of a
#: header. The browser notes the moment itself, so that a busy machine's late look counts nothing that came afterwards.
WATCH = f"""new MutationObserver((_, watch) => {{
    if (!({FIRST_PICTURE})()) return;
    watch.disconnect();
    globalThis.pictured = performance.now();
}}).observe(document, {{childList: true, subtree: true}})"""
#: Formats of numbers in a reader's language take 20 ms to make, and no picture has one.
FORMATS = """globalThis.formats = 0;
for (const name of ["NumberFormat", "DateTimeFormat"])
    Intl[name] = new Proxy(Intl[name], {construct: (format, given) => (formats++, new format(...given))})"""
BEFORE = """() => performance.getEntries().filter((one) => /^(navigation|resource)$/.test(one.entryType))
    .filter((one) => one.startTime <= pictured).map((one) => [one.name, 300 + one.encodedBodySize])"""


ALONE = "`embed` needs `open`, the name of a claim with a figure"
#: A claim with a figure that needs no packets.
DRAWN = "sub_packet.s1.few_states.10"


@pytest.mark.parametrize("slug", [*(slug for slug, page in pages().items() if page.controls), "claims", "stacks"])
def test_a_first_visit_is_light(other: Page, server: str, slug: str) -> None:
    other.add_init_script(WATCH)
    other.add_init_script(FORMATS)
    other.goto(f"{server}/{slug}", wait_until="commit")
    other.wait_for_function("() => window.dash_component_api")  # Dash's own, later: nothing is on its way any more
    assert other.evaluate("formats") == 0
    before = other.evaluate(BEFORE)
    itself, *files = [urlsplit(address).path for address, _ in before]
    text = get(f"{server}/{slug}")[1].decode()
    assert itself == f"/{slug}" and all(f'"{file}"' in text for file in files), "the page had to ask for more"
    assert not any("_dash" in address for address, _ in before), "Dash's scripts came before the picture"
    assert 3 <= len(before) <= FEW, before
    assert 10_000 < sum(size for _, size in before) <= LIGHT


def test_a_second_visit_loads_nothing_that_has_a_version(other: Page, server: str) -> None:
    opened(other, f"{server}/leap")
    served: list[str] = []
    other.on("response", lambda answer: served.append(answer.url) if not answer.from_service_worker else None)
    other.goto(f"{server}/mtcp")
    other.wait_for_function(FIRST_PICTURE)
    sizes = other.evaluate("() => performance.getEntriesByType('resource').map((r) => [r.name, r.transferSize])")
    again = [name for name, size in sizes if "/site/" in name and size > 0]
    assert {name.rsplit("/", 1)[1] for name in again} <= {"mtcp.js"}


def test_a_function_is_not_sent_twice(server: str) -> None:
    import urllib.error
    import urllib.request

    address = f"{server}/functions/sub-packet/full-6-3+share.js"
    with urllib.request.urlopen(address, timeout=60) as answer:
        mark = answer.headers["ETag"]
    with pytest.raises(urllib.error.HTTPError) as unchanged:
        urllib.request.urlopen(urllib.request.Request(address, headers={"If-None-Match": mark}), timeout=60)
    assert unchanged.value.code == 304
    unchanged.value.close()
    assert get(f"{server}/functions/sub-packet/full-6-3+nothing.js")[0] == 404
    assert get(f"{server}/site/old/core.js")[0] == 404


def test_modules_are_named_once_and_need_no_circle() -> None:
    modules = [file.relative_to(ASSETS).as_posix() for file in sorted(ASSETS.glob("[cp]*/*.js"))]
    text = bundle(*modules)
    for module in modules:
        assert text.count(f"// {module}\n") == 1
        assert all((ASSETS / needed).is_file() for needed in needs(module))


def test_lines_of_scripts_are_short() -> None:
    folders = ("core/*.js", "models/*.js", "pages/*.js", "*.css")
    for file in [file for folder in folders for file in ASSETS.glob(folder)]:
        long = [line for line in file.read_text(encoding="utf-8").splitlines() if len(line) > 120]
        assert not long, (file.name, long[:2])


def small(site: Path) -> None:
    every = [file for file in site.rglob("*") if file.is_file()]
    assert len(every) <= 80 and sum(file.stat().st_size for file in every) <= 3_000_000


def test_an_export_is_small(files: Path) -> None:
    small(files)


def test_at_most_four_sliders_stand_above_the_others() -> None:
    for page in pages().values():
        main = page.spec()["main"]
        assert len(main) <= MAIN and set(main) <= {c.name for c in page.controls}, page.slug
        for preset in page.presets:
            _, complaints = page.read({name: str(value) for name, value in preset.values.items()})
            assert not complaints, (page.slug, preset.name, complaints)


def test_undo_reset_and_presets(tab: Page, server: str) -> None:
    opened(tab, f"{server}/leap")
    slider = tab.locator("#control-ack_loss")
    slider.evaluate("(s) => { s.value = 0.3; s.dispatchEvent(new Event('input')); }")
    tab.wait_for_function("() => location.search === '?ack_loss=0.3'")
    slider.evaluate("(s) => { s.value = 0.4; s.dispatchEvent(new Event('input')); }")
    tab.wait_for_function("() => location.search === '?ack_loss=0.4'")
    tab.get_by_role("button", name="Undo").click()
    tab.wait_for_function("() => location.search === '?ack_loss=0.3'")
    tab.get_by_role("button", name="Reset").click()
    tab.wait_for_function("() => location.search === ''")
    assert slider.input_value() == "0.1"


def test_one_picture_in_a_frame(tab: Page, server: str) -> None:
    tab.goto(f"{server}/leap?figure=causes&embed=1&ack_loss=0.3")
    tab.locator("[data-figure=causes] canvas").wait_for()
    assert tab.locator(".figure").count() == 1
    assert not tab.locator("header").is_visible()
    heading = tab.locator("h1").bounding_box()  # it is read aloud, and takes no room
    assert heading and heading["width"] <= 1 and heading["height"] <= 1
    assert tab.locator("#control-ack_loss").input_value() == "0.3"
    for words in ("sub-packet?figure=goodput", "my-link?figure=results"):
        tab.set_viewport_size({"width": 640, "height": 560})
        tab.goto(f"{server}/{words}&embed=1")
        tab.locator(".picture :is(canvas, table)").first.wait_for()
        assert tab.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), words


def test_the_save_menu_offers_what_each_picture_can_do(tab: Page, server: str) -> None:
    for slug, figure in (("ladder", "rungs"), ("strip", "strip"), ("sub-packet", "diagram"), ("leap", "causes")):
        tab.goto(f"{server}/{slug}")
        words = tab.locator(f"[data-figure={figure}] .menu button").all_text_contents()
        assert ("Open as a Plotly figure" in words) == (slug == "leap") and {"PNG", "SVG", "CSV", "NetCDF"} <= {*words}


@pytest.mark.parametrize("slug", ["stacks", f"claims?open={DRAWN}"])
def test_pictures_without_sliders_are_saved_embedded_and_have_code(tab: Page, server: str, slug: str) -> None:
    tab.goto(f"{server}/{slug}")
    head = tab.locator(".figure .figure-head")
    head.wait_for()
    words = head.locator(".menu button").all_text_contents()
    assert {"PNG", "SVG", "CSV", "NetCDF", "Copy a link", "Copy to embed", "Show the code"} <= {*words}
    head.locator("summary").click()
    head.get_by_role("button", name="Show the code").click()
    tab.locator(".code[open] pre", has_text="tcpdynamics").wait_for()
    tab.evaluate("() => { navigator.clipboard.writeText = async (text) => { window.copied = text; }; }")
    head.locator("summary").click()
    head.get_by_role("button", name="Copy to embed").click()
    tab.wait_for_function("() => window.copied")
    address = re.search('src="(.*?)"', tab.evaluate("() => window.copied"))[1]  # type: ignore[index]
    tab.goto(address)
    head.wait_for()
    assert not tab.locator("header").is_visible() and not tab.locator(".complaint").first.inner_text()
    tab.locator(".figure-head summary").click()
    tab.get_by_role("button", name="Show the code").click()  # what a frame hides until then
    assert tab.locator(".code[open] pre").is_visible()


@pytest.mark.parametrize("slug", [slug for slug, page in pages().items() if page.controls and not page.article])
def test_a_page_says_what_is_seen(tab: Page, server: str, slug: str) -> None:
    opened(tab, f"{server}/{slug}")
    assert len(tab.locator(".reading").first.inner_text().split()) >= 6


@pytest.mark.parametrize("slug", ["claims", "stacks"])
def test_forms_of_other_pages_stay_whole_on_a_telephone(tab: Page, server: str, slug: str) -> None:
    """Only pages of pictures and sliders show one control at a time."""
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.goto(f"{server}/{slug}")
    tab.locator("main form.controls").wait_for()
    fields = tab.locator("main form.controls .control").all()
    assert fields and all(field.is_visible() for field in fields)


@pytest.mark.parametrize(
    "slug", ["", "stacks", "packets", *often(slug for slug in pages() if slug not in ("stacks", "packets"))]
)
def test_a_page_is_embedded_or_says_that_it_cannot(tab: Page, server: str, slug: str) -> None:
    """As an address with embed, in a frame of another page, has it."""
    tab.goto(f"{server}/{slug}?embed=1")
    tab.wait_for_function("() => document.querySelector('main').children.length > 1")
    said = " ".join(tab.locator(".complaint").all_inner_texts()).strip()
    framed = not tab.locator("header").is_visible()
    assert framed == (slug != "claims" and not slug.startswith("paper-"))
    assert said == ("" if framed else ALONE if slug == "claims" else NOT_EMBEDDED)
    if slug == "stacks":
        tab.locator(".shares tbody button").nth(3).click()
        tab.wait_for_url("**embed=1")


@pytest.mark.parametrize("slug", ["packets", *often(slug for slug in ["", *pages()] if slug != "packets")])
def test_what_is_refused_leaves_the_address(tab: Page, server: str, slug: str) -> None:
    """A copied link is a good one: what a page has refused once, it does not refuse again."""
    bounded = [c.name for c in pages()[slug].controls if isinstance(c, Control)] if slug else ["users"]
    said = "() => document.querySelector('main .complaint').textContent"
    tab.goto(f"{server}/{slug}?nothing=1" + "".join(f"&{name}=-9e9" for name in bounded[:1]))
    tab.wait_for_function(said)
    tab.wait_for_function("() => !/nothing|9e9/.test(location.href)")
    tab.reload()
    tab.wait_for_function("() => document.querySelector('main').children.length > 1")
    assert tab.evaluate(said) == ""


def test_each_verdict_on_stacks_has_its_meaning_and_alike_flows_are_explained(tab: Page, files: Path) -> None:
    tab.goto((files / "stacks.html").as_uri())
    facts, words = pages()["stacks"].spec()["facts"], {}
    for link, rows in facts["cells"].items():
        for i, j in itertools.product(range(len(rows)), repeat=2):
            words.setdefault(rows[i][j]["verdict"], (link, i, j))
    assert set(words) == set(facts["meanings"])
    for verdict, (link, i, j) in words.items():
        tab.locator("#link").select_option(link)
        tab.locator(".shares tbody tr").nth(i).locator("button").nth(j).click()
        said = tab.locator(".chosen").inner_text()
        assert f'The verdict is "{verdict}": {facts["meanings"][verdict]}.' in said
    for i in range(len(facts["senders"])):
        for j in range(len(facts["senders"])):
            tab.locator(".shares tbody tr").nth(i).locator("button").nth(j).click()
            assert ("two flows of the same kind" in tab.locator(".chosen").inner_text()) == (i == j)


@pytest.mark.slow
def test_cards_of_links_show_what_the_pages_say(tab: Page, tmp_path: Path) -> None:
    files = export(tmp_path / "site", address="https://example.org/tcp")
    small(tmp_path / "site")
    shown = {FIRST: tmp_path / "site" / "index.html"} | {file.stem: file for file in files}
    for slug, card in cards.wanted().items():
        if slug in cards.OWN:
            tab.goto(shown[slug].as_uri())
            card["says"] = cards.said(tab)
        png = (CARDS / f"{slug}.png").read_bytes()
        assert png.startswith(b"\x89PNG") and struct.unpack(">II", png[16:24]) == (cards.WIDTH, cards.HEIGHT)
        assert cards.shows(png) == card, "draw the cards again: python -m tcpdynamics.apps.explorer.cards"
        assert slug not in cards.OWN or len(png) <= 60_000
    for slug, file in shown.items():
        (image,) = re.findall(r'og:image" content="https://example\.org/tcp/([^"]+)"', file.read_text())
        assert (tmp_path / "site" / image).is_file()
        assert image == f"assets/card-{slug if slug in cards.wanted() else FIRST}.png"
    for wrong in ("example.org/tcp", "file:///tmp/x", "https://example.org/?x=1"):
        with pytest.raises(DomainError, match="address must be that of a folder"):
            export(tmp_path / "other", address=wrong)
    assert not (tmp_path / "other").exists()


#: Texts that are seen, but for tables of raw numbers, code and what a reader types.
SENTENCES = """() => { const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const raw = "script, style, code, pre, textarea, option, math, title, .scroll table, details.table";
  for (let node = walk.nextNode(); node; node = walk.nextNode())
    if (!node.parentElement.closest(raw) && node.parentElement.checkVisibility({ visibilityProperty: true }))
      found.push(node.textContent);
  return found; }"""
#: Four digits or more in a row, other than years, RFCs, and parts of words, addresses or decimals.
BARE = re.compile(r"(?<!RFC )(?<![\w.,/-])(?!(?:19|20)\d\d\b)\d{4,}(?![\w/])")


#: The claims' statements are the words of a record that stays as it is.
READ = ["", *(slug for slug in pages() if slug != "claims")]


def largest(slug: str) -> dict[str, str]:
    """Each slider of a page at its largest value, each choice at its last word, but for what a click alone moves."""
    found: dict[str, str] = {}
    for one in pages()[slug].controls if slug else ():
        if isinstance(one, Control) and one.only != ("by click",):
            found[one.name] = f"{one.high:g}"
        elif isinstance(one, Choice):
            found[one.name] = one.choices[-1]
    return found


@pytest.mark.parametrize("slug", often(READ))
def test_thousands_are_apart_in_what_is_read(tab: Page, server: str, slug: str) -> None:
    states = ["", f"?{urlencode(more)}"] if (more := largest(slug)) else [""]
    for words in states:
        tab.goto(f"{server}/{slug}{words}")
        tab.wait_for_function("() => document.querySelector('main h1, main h2') && !document.querySelector('main.old')")
        tab.locator(".side[data-state=done]" if slug == "packets" else "main").first.wait_for(timeout=PATIENCE)
        steps = tab.locator(".steps a")
        for k in range(max(1, steps.count())):
            if steps.count():
                steps.nth(k).click()
            bare = [(text, BARE.findall(text)) for text in tab.evaluate(SENTENCES) if BARE.search(text)]
            assert not bare, (slug, words, bare)
