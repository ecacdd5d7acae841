"""The picture that a link has where it is posted: what a page finds over its first figure, 1200 x 630 pixels.

`python -m tcpdynamics.apps.explorer.cards` draws them again, in Chromium, into `assets/cards/`.
"""

from __future__ import annotations

import json
import struct
import tempfile
import zlib
from base64 import b64encode
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from .article import articles
from .home import facts
from .pages import pages
from .shell import CARDS, FIRST, TITLE, WHAT

#: Pages without an article that have cards of their own.
OWN = ("ladder", "strip", "own-model")
WIDTH, HEIGHT = 1200, 630
_CARD = """<!doctype html><meta charset="utf-8"><style>
body {{ width: 1200px; height: 630px; margin: 0; font-family: system-ui, sans-serif; background: #fff; }}
p, h1 {{ margin: 0 40px; }} p {{ font-size: 24px; padding-top: 26px; color: #0072b2; }}
h1 {{ font-size: 32px; line-height: 1.2; padding: 6px 0 8px; }}
iframe {{ border: 0; width: 930px; height: 390px; margin: 0 30px; transform: scale(1.22); transform-origin: 0 0; }}
</style><p>tcpdynamics: {title}</p><h1>{says}</h1><iframe src="{address}"></iframe>"""

#: Of a figure in a frame, all but the picture is hidden.
_ALONE = ".figure-head, .figure details, .reading, .controls { display: none !important } .bench { display: block }"


def wanted() -> dict[str, dict[str, Any]]:
    """Slug -> what its card shows: title, a sentence, and the address of a figure within an exported site.

    Those of `OWN` have no sentence here: their scripts make it.
    """
    cards = {FIRST: {"title": TITLE, "says": WHAT, "address": "index.html"}}
    for card in facts()["cards"]:
        words = {**card["values"], "figure": card["figure"], "embed": "1"}
        address = f"{card['spec']['slug']}.html#" + "&".join(f"{k}={v}" for k, v in words.items())
        cards[card["slug"]] = {"title": articles()[card["slug"]].title, "says": card["finding"], "address": address}
    for page in (pages()[slug] for slug in OWN):
        address = f"{page.slug}.html#figure={page.figures[0].name}&embed=1"
        cards[page.slug] = {"title": page.title, "says": "", "address": address}
    return cards


def said(tab: Any) -> str:
    """The first sentence of what a page finds, in a browser's tab that has it open."""
    tab.wait_for_function("() => document.querySelector('.reading')?.textContent")
    text: str = tab.locator(".reading").first.inner_text()
    return text.partition(". ")[0].removesuffix(".") + "."


def shows(png: bytes) -> dict[str, Any]:
    """What a card was made of, which it holds as a text."""
    at = png.index(b"tEXtcard\0")
    (size,) = struct.unpack(">I", png[at - 4 : at])
    card: dict[str, Any] = json.loads(png[at + 9 : at + 4 + size].decode("latin-1"))
    return card


#: Colours of a screenshot, a number each, with the 16 levels of each part that a text's edges need.
_COLOURS = """async (png) => {
  const image = Object.assign(new Image(), { src: `data:image/png;base64,${png}` });
  await image.decode();
  const pen = new OffscreenCanvas(image.width, image.height).getContext("2d");
  pen.drawImage(image, 0, 0);
  const { data } = pen.getImageData(0, 0, image.width, image.height), at = (i) => Math.round(data[i] / 17);
  return Array.from({ length: data.length / 4 }, (_, i) => at(4 * i) * 256 + at(4 * i + 1) * 16 + at(4 * i + 2));
}"""


def _png(colours: list[int], card: dict[str, Any]) -> bytes:
    """A picture with a palette of at most 256 colours, the most frequent ones, and a text with its content."""
    came, counts = np.unique(colours, return_counts=True)
    parts = np.stack([came // 256, came // 16 % 16, came % 16], axis=1)
    palette = np.argsort(-counts)[:256]
    nearest = np.abs(parts[:, None] - parts[palette]).sum(axis=2).argmin(axis=1)
    rows = nearest[np.searchsorted(came, colours)].astype(np.uint8).reshape(HEIGHT, WIDTH)
    chunks = {
        b"IHDR": struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 3, 0, 0, 0),
        b"PLTE": (17 * parts[palette]).astype(np.uint8).tobytes(),
        b"IDAT": zlib.compress(np.pad(rows, ((0, 0), (1, 0))).tobytes(), 9),
        b"tEXt": b"card\0" + json.dumps(card).encode("latin-1"),
        b"IEND": b"",
    }  # fmt: skip
    chunk = (struct.pack(">I", len(b)) + k + b + struct.pack(">I", zlib.crc32(k + b)) for k, b in chunks.items())
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk)


def draw() -> None:
    """Draw all cards."""
    from playwright.sync_api import sync_playwright

    from .export import export

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as browsers:
        site = Path(folder) / "site"
        export(site)
        tab = browsers.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"]).new_page(
            viewport={"width": WIDTH, "height": HEIGHT}
        )
        for slug, card in wanted().items():
            if slug in OWN:
                tab.goto((site / f"{slug}.html").as_uri())
                card["says"] = said(tab)
            page = site / f"card-{slug}.html"
            page.write_text(_CARD.format(**{k: escape(v) for k, v in card.items()}), encoding="utf-8")
            tab.goto((site / "index.html" if slug == FIRST else page).as_uri())
            for frame in tab.frames[1:]:
                frame.add_style_tag(content=_ALONE)
                frame.evaluate("() => dispatchEvent(new Event('resize'))")
            tab.wait_for_timeout(3000)  # pictures draw themselves, and the living one moves
            (CARDS / f"{slug}.png").write_bytes(
                _png(tab.evaluate(_COLOURS, b64encode(tab.screenshot()).decode()), card)
            )


if __name__ == "__main__":
    draw()
