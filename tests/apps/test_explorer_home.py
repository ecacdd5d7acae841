"""The first page: its living figure, its numbers, its doors and cards; the menu of all pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from explorer_tabs import LOW, keep, legible, move, table_of
from playwright.sync_api import Page

from tcpdynamics.apps.explorer import link_records
from tcpdynamics.apps.explorer.article import articles
from tcpdynamics.apps.explorer.home import SENDER, verdicts
from tcpdynamics.apps.explorer.link_records import LINK
from tcpdynamics.apps.explorer.numbers_my_link import by_chain
from tcpdynamics.apps.explorer.pages import pages

#: What each drawing tells, in the order of drawings.
HEARD = "window.drawn = []; addEventListener('drawn', (event) => window.drawn.push(event.detail))"
#: How many dots send, have got something, or got nothing, by their colours in the middle.
LIGHTS = """() => {
  const shown = document.querySelector("canvas.village"), size = shown.width, step = size / 10.6;
  const copy = Object.assign(document.createElement("canvas"), { width: size, height: size });
  const pen = copy.getContext("2d", { willReadFrequently: true });
  pen.drawImage(shown, 0, 0);
  const { data } = pen.getImageData(0, 0, size, size), place = (i) => Math.round(step * (i + 0.8));
  const reds = Array.from({ length: 100 }, (_, i) => data[4 * (place(Math.floor(i / 10)) * size + place(i % 10))]);
  const between = (low, high) => reds.filter((red) => red > low && red <= high).length;
  return [between(200, 255), between(60, 200), between(-1, 60)];
}"""


def home(tab: Page, address: str, moves: bool = True) -> None:
    """Open the first page and wait for its figure, which moves by itself or waits for a reader."""
    tab.emulate_media(reduced_motion="no-preference" if moves else "reduce")
    tab.add_init_script(HEARD)
    tab.goto(address)
    tab.wait_for_function("() => window.drawn.length > 0")


def at(tab: Page, users: int) -> dict[str, Any]:
    """The page's numbers with so many users."""
    move(tab, "users", users)
    return tab.evaluate("() => window.drawn.at(-1).numbers")  # type: ignore[no-any-return]


@pytest.mark.parametrize("place", ["served", "file"])
def test_the_model_on_the_first_page_is_the_librarys(tab: Page, server: str, files: Path, place: str) -> None:
    home(tab, server if place == "served" else (files / "index.html").as_uri())
    for users in (20, 100, 300):
        came = at(tab, users)
        own = by_chain(float(users), **LINK)
        assert came["model"] == pytest.approx(float(own["nothing"]), rel=1e-9)
        assert came["loss"] == pytest.approx(float(own["loss"]), rel=1e-9)


def test_dots_go_dark_as_users_are_added(tab: Page, server: str) -> None:
    home(tab, server, moves=False)
    dark = []
    for users in (20, 60, 100, 200, 300):
        model = at(tab, users)["model"]
        sending, fed, without = tab.evaluate(LIGHTS)
        assert sending + fed + without == 100
        absent = max(0, 100 - users)  # no dots of users that are not there
        assert abs(without - absent - model * (100 - absent)) < 15  # three standard deviations and more
        dark.append(without - absent)
        said = tab.locator(".dark-now").inner_text()
        some = f"100 of {users} users shown, " if users > 100 else ""
        assert said == f"{some}{without - absent} of {100 - absent} dark by the model"
    assert dark == sorted(dark) and dark[-1] > 20


def test_the_lights_are_saved_with_their_numbers_and_code(tab: Page, other: Page, server: str) -> None:
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    home(tab, server, moves=False)
    came, kept = at(tab, 40), {}
    for kind in ("PNG", "SVG", "CSV", "NetCDF"):
        with tab.expect_download() as download:
            keep(tab, ".living", kind)
        kept[kind] = Path(download.value.path()).read_bytes()
    assert kept["PNG"].startswith(b"\x89PNG") and kept["NetCDF"].startswith(b"CDF")
    assert (
        kept["SVG"].count(b"<circle") == 40 + 3
        and b"nothing for 20 s" in kept["SVG"]
        and b"Of 40 users, " in kept["SVG"]
    )
    rows = [row.split(",") for row in kept["CSV"].decode().splitlines()]
    assert [row[0] for row in rows] == ["method", "model", "packets", "Linux"]
    assert float(rows[1][2]) == pytest.approx(came["model"], rel=1e-9)
    keep(tab, ".living", "Show the code")
    table = table_of(tab.locator(".living .code pre", has_text="table").inner_text())
    assert table.set_index("quantity").chain["nothing"] == pytest.approx(came["model"], rel=1e-6)
    keep(tab, ".living", "Copy to embed")
    tab.get_by_text("Copied.").wait_for()
    address = tab.evaluate("() => navigator.clipboard.readText()").split('"')[1]
    home(other, address)
    assert "figure" not in address and other.locator(".complaint").all_inner_texts() == [""]
    assert "of 40 dark" in other.locator(".dark-now").inner_text()
    assert (
        other.locator("main .living").is_visible()
        and not other.locator(":is(.ways, .cards, .contents, header):visible").count()
    )


def test_the_sentence_says_what_was_recorded_and_for_whom(tab: Page, server: str) -> None:
    home(tab, server)
    kept = link_records.recorded()
    linux = {p["users"]: p["nothing"] for p in kept["points"] if p["sender"] == SENDER and LINK.items() <= p.items()}
    assert set(linux) == {20, 40, 100, 200}
    with_users = f"Linux was measured with {', '.join(map(str, sorted(linux)[:-1]))} and {max(linux)} users."
    for users, near in ((100, [100]), (200, [200]), (240, [200]), (130, [100, 200]), (150, [100, 200])):
        at(tab, users)
        said = tab.locator(".living .reading").inner_text()
        found = []
        for one in near:
            mean, low, high = (f"{100 * max(0, x):.0f}" for x in linux[one])
            found.append(f"{mean} % ({low} to {high} %)" if high != low else f"{mean} %")
        first, *others = said.split(". ")
        assert first.startswith(f"Of {users} users, ") and first.count(" by packets") == 1
        if users >= 100:
            assert f"{100 * kept['packets'][str(users)]['nothing']['mean']:.0f} % (" in first
        assert ("by Linux" in first) == (near == [users]) == (not others)
        both = "; with ".join(f"{n}, {words} got nothing" for n, words in zip(near, found, strict=True))
        assert said.endswith(f"{found[0]} by Linux." if near == [users] else f"{with_users} With {both}.")
    marks = tab.locator("#recorded-users option").evaluate_all("(all) => all.map((one) => Number(one.value))")
    assert set(marks) == set(linux) and "Marks below the slider" in tab.locator(".living .note").inner_text()


def test_the_figure_plays_pauses_and_steps(tab: Page, server: str) -> None:
    picture = "() => document.querySelector('canvas.village').toDataURL()"
    home(tab, server)
    before = tab.evaluate(picture)
    tab.wait_for_function(f"(before) => ({picture})() !== before", arg=before)
    tab.get_by_role("button", name="Pause").click()
    still = tab.evaluate(picture)
    tab.wait_for_timeout(600)
    assert tab.evaluate(picture) == still
    tab.get_by_role("button", name="One round trip").click()
    assert tab.evaluate(picture) != still
    home(tab, server, moves=False)
    tab.get_by_role("button", name="Play").wait_for()
    still = tab.evaluate(picture)
    tab.wait_for_timeout(600)
    assert tab.evaluate(picture) == still


def test_the_first_screen_has_all(tab: Page, server: str) -> None:
    tab.set_viewport_size({"width": 1280, "height": 720})
    home(tab, server)
    for users in (20, 30, 100, 260):
        at(tab, users)
        for part in ("h1", ".ways", "canvas.village", "#control-users", ".living .reading"):
            box = tab.locator(part).bounding_box()
            assert box is not None and box["y"] >= 0 and box["y"] + box["height"] <= 720, part
    assert tab.locator(".way h2").all_inner_texts() == ["Teach", "Check a paper", "My link"]
    counts = [int(text) for text in tab.locator(".verdict-bar b").all_inner_texts()]
    assert counts == [count for _, count in verdicts()]


@pytest.mark.parametrize("place", ["served", "file"])
def test_each_article_has_a_card_with_its_first_figure(tab: Page, server: str, files: Path, place: str) -> None:
    home(tab, server if place == "served" else (files / "index.html").as_uri())
    for card, article in zip(tab.locator(".card").all(), articles().values(), strict=True):
        card.scroll_into_view_if_needed()
        card.locator(".picture canvas, .picture > svg").first.wait_for()
        assert card.locator("> span").inner_text() == article.finding
        assert article.slug in (card.get_attribute("href") or "")


def test_the_menu_is_short(tab: Page, server: str, files: Path) -> None:
    told = [article.title for article in articles().values()]
    for address, more in ((server, ["Packets"]), ((files / "index.html").as_uri(), [])):
        home(tab, address)
        assert tab.locator("header nav > a:not(.brand)").all_inner_texts() == [
            "Home",
            *told,
            "My link",
            *more,
            "Claims",
        ]
        assert tab.locator("header [aria-current]").inner_text() == "Home"


#: Of the menu's links, those that cannot be pressed: they lie outside of the window, or something covers them.
COVERED = """() => [...document.querySelectorAll("header nav a")].filter((link) => {
  if (!link.checkVisibility()) return false; // it stands in the list below "More", or there alone
  const box = link.getBoundingClientRect(), x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
  return box.left < 0 || box.right > innerWidth || document.elementFromPoint(x, y)?.closest("a") !== link;
}).map((link) => link.textContent)"""


@pytest.mark.parametrize(
    ("width", "height", "highest"),
    [
        pytest.param(1280, 720, 60, marks=pytest.mark.slow),
        (390, 844, 60),
        pytest.param(320, 720, 60, marks=pytest.mark.slow),
    ],
)
def test_each_page_reaches_every_other_by_the_menu(
    tab: Page, server: str, files: Path, width: int, height: int, highest: int
) -> None:
    tab.set_viewport_size({"width": width, "height": height})
    disk = {slug: (files / f"{slug}.html").as_uri() for slug, page in pages().items() if page.exported}
    served = {slug: f"{server}/{slug}" for slug in pages()}
    some = [served[slug] for slug in ("packets", "mtcp", "retransmission-priority")]  # which have links of their own
    opened = [(disk, [(files / "index.html").as_uri(), *disk.values()]), (served, [f"{server}/", *some])]
    for listed, address in ((places, address) for places, addresses in opened for address in addresses):
        tab.goto(address)
        assert tab.locator("header").evaluate("(head) => head.offsetHeight") <= highest, address
        tab.locator("header summary").press("Enter")
        links = tab.locator("header a").evaluate_all(
            "(all) => all.filter((link) => link.checkVisibility()).map((link) => link.href)"
        )
        assert set(links) - set(listed.values()) == {opened[listed is served][1][0]}
        assert set(listed.values()) <= set(links), address
        assert tab.evaluate(COVERED) == tab.evaluate(LOW) == [], address
        tab.keyboard.press("Escape")
        assert tab.locator("header details").get_attribute("open") is None


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (320, "dark")])
def test_the_first_page_is_legible(tab: Page, server: str, width: int, scheme: str) -> None:
    legible(tab, width, scheme, lambda: home(tab, server, moves=False))


def test_records_of_linux_and_stacks_are_those_of_the_comparisons() -> None:
    assert [*link_records.linux(), *link_records.stacks()] == link_records.recorded()["points"]
    assert set(link_records.recorded()["packets"]) == {str(n) for n in link_records.USERS}
    assert set(link_records.recorded()["today"]) == {str(n) for n in link_records.TODAY}


@pytest.mark.slow
def test_recorded_packets_are_those_of_the_simulator() -> None:
    assert link_records.packets(120, LINK) == link_records.recorded()["packets"]["120"]


def test_cards_begin_after_the_first_picture(tab: Page, server: str) -> None:
    tab.add_init_script("addEventListener('drawn', ({ detail }) => { window.first ??= detail?.at; }, true)")
    tab.goto(server)
    tab.locator(".cards").scroll_into_view_if_needed()
    tab.locator(".card .picture :is(svg, canvas)").first.wait_for(state="attached")
    begun = tab.evaluate(
        "() => performance.getEntriesByType('resource').filter(({ name }) => /site.*-\\w+\\.js$/.test(name))"
        ".map(({ startTime }) => startTime - window.first)"
    )
    assert begun and min(begun) >= 100  # [ms] after it was drawn: it has been painted
