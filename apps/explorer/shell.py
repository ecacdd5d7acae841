"""The document around a page: the same for a page that is served and for one that opens from disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any

from .bundle import ASSETS, core_script, page_script, style_sheet
from .page import Page

TITLE = "tcpdynamics explorer"
#: Pictures of links to pages, by the pages' slugs; `cards` draws them.
CARDS = ASSETS / "cards"
#: Slug of the first page.
FIRST = "home"
WHAT = "Models of TCP congestion control from five papers, moved by sliders and checked against packets and Linux."

_CARD = """<meta property="og:image" content="{}">
<meta name="twitter:card" content="summary_large_image">
"""
#: A sentence where a file of the document does not come, or not soon; scripts that are added later have their own.
_LACKING = """{
  const lacking = (what, name) => {
    const there = document.querySelector(".lacking b");
    if (there) return there.append(`, ${name}`);
    const said = document.createElement("p");
    said.className = "complaint lacking";
    said.setAttribute("role", "alert");
    said.innerHTML = `${what}: <b></b>. <a href="">Load again</a>`;
    said.querySelector("b").textContent = name;
    (document.body || document.documentElement).prepend(said);
    return said;
  };
  const nameOf = (address) => address.split("/").pop();
  addEventListener("error", ({ target }) => {
    const address = target.src || target.href;
    if (address && document.readyState === "loading") lacking("A file of this page did not come", nameOf(address));
  }, true);
  setTimeout(() => {
    if (document.readyState !== "loading" || document.querySelector(".lacking")) return;
    const style = document.querySelector("link[rel=stylesheet]");
    const came = new Set(performance.getEntriesByType("resource").map((one) => one.name));
    const late = [...document.querySelectorAll("script[src]")].find((one) => !came.has(one.src));
    const name = style.sheet ? late?.src || "one of its scripts" : style.href;
    const said = lacking("A file of this page has not come yet", nameOf(name));
    if (style.sheet) addEventListener("DOMContentLoaded", () => said.remove(), { once: true });
    else style.remove(); // nothing is painted before it
  }, LATE);
}""".replace("LATE", str(1800))
_DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<meta name="description" content="{about}">
<meta property="og:title" content="{title}">
<meta property="og:description" content="{about}">
{card}<link rel="icon" href="data:,">
<script>{lacking}</script>
<link rel="stylesheet" href="{style}">
</head>
<body>
<a class="skip" href="#page">Skip to the page</a>
<header><nav><a class="brand" href="{home}"><strong>{brand}</strong></a>{links}</nav></header>
<main id="page" tabindex="-1"></main>
{end}{scripts}
<script>{call}</script>
</body>
</html>
"""


@dataclass(frozen=True)
class Places:
    """Where a document finds what it loads, and other pages.

    Attributes
    ----------
    style, core : str
        Addresses of the style sheet and of the script of all pages.
    page : str
        That of a page's own script, with braces for the slug.
    pages : str
        That of a page, with braces for the slug.
    home : str
        That of the first page.
    card : str
        Of the picture that a link to a page has where it is posted, whole, with braces for the slug; may be empty.
    """

    style: str
    core: str
    page: str
    pages: str
    home: str
    card: str = ""


@cache
def version() -> str:
    """Changes with the scripts and the style, so that a browser may keep them for ever."""
    from .pages import pages

    texts = [core_script(), style_sheet(), page_script(FIRST)]
    texts += [page_script(page.slug) for page in pages().values() if not page.script]
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:16]


def plain(value: Any) -> str:
    """JSON within a script."""
    return json.dumps(value).replace("<", "\\u003c")


def document(
    places: Places,
    listed: Collection[Page],
    call: str,
    page: Page | None = None,
    scripts: Iterable[str] = (),
    end: str = "",
) -> str:
    """A whole document.

    Parameters
    ----------
    places : Places
        Of what it loads.
    listed : collection of Page
        The menu.
    call : str
        JavaScript that fills the page.
    page : Page, optional
        The page; none where there is none at this address.
    scripts : iterable of str
        Addresses of further scripts, after the page's own.
    end : str
        Markup below the page.
    """
    title = f"{_name(page, listed)} - {TITLE}" if page and page.slug != FIRST else TITLE
    sources = [places.core, *map(places.page.format, _scripts_of(page)), *scripts]
    return _DOCUMENT.format(
        title=escape(title), about=escape(page.question if page else WHAT), brand=TITLE, style=places.style,
        card=_card(places, page),
        home=places.home, links=_links(places, listed, page), end=end, call=call, lacking=_LACKING,
        scripts="\n".join(f'<script src="{source}"></script>' for source in sources),
    )  # fmt: skip


def _card(places: Places, page: Page | None) -> str:
    """A page's own picture; pages without one have that of the first page."""
    slug = page.slug if page and (CARDS / f"{page.slug}.png").is_file() else FIRST
    return _CARD.format(escape(places.card.format(slug))) if places.card else ""


def _scripts_of(page: Page | None) -> tuple[str, ...]:
    return (page.script or page.slug, *page.others) if page else ()


def _name(page: Page, listed: Collection[Page]) -> str:
    """The title of a page; one that an article has too is that of the article."""
    again = not page.article and page.title in {one.title for one in listed if one.article}
    return f"{page.title}: move everything" if again else page.title


def _links(places: Places, listed: Collection[Page], page: Page | None) -> str:
    """
    The menu, with the page that is open marked: articles first, and below "More" what no page puts before it.
    On a telephone all stand there but the page that is open: the first screen is the page's.
    """

    def link(slug: str, name: str, address: str) -> str:
        marked = ' aria-current="page"' if page and slug == page.slug else ""
        return f'<a href="{address}"{marked}>{escape(name)}</a>'

    texts: dict[str, list[str]] = {"article": [], "menu": [], "more": []}
    for one in listed:
        place = "article" if one.article else "menu" if one.menu else "more"
        texts[place].append(link(one.slug, _name(one, listed), places.pages.format(one.slug)))
    first = [link(FIRST, "Home", places.home), *texts["article"], *texts["menu"]]
    narrow = "".join(f'<li class="narrow">{text}</li>' for text in first if " aria-current" not in text)
    more = "".join(f"<li>{text}</li>" for text in texts["more"])
    return f'{"".join(first)}<details class="menu"><summary>More</summary><ul>{narrow}{more}</ul></details>'


def mounted(spec: dict[str, Any]) -> str:
    """JavaScript that fills a page."""
    return f'explorer.mount(document.getElementById("page"), {plain(spec)});'


def first_page(listed: Iterable[Page], places: Places, spec: dict[str, Any]) -> str:
    """JavaScript that fills the first page: `home.HOME`, with what the others ask and where their scripts are."""
    pages = [{"slug": p.slug, "title": p.title, "question": p.question} for p in listed]
    return mounted(spec | {"listed": pages, "scripts": places.page})
