"""The picture that a link has where it is posted: an article's finding over its first figure, 1200 x 630 pixels.

`python -m tcpdynamics.apps.explorer.cards` draws them again, in Chromium, into `assets/cards/`.
"""

from __future__ import annotations

import json
import struct
import tempfile
import zlib
from html import escape
from pathlib import Path
from typing import Any

from .article import articles
from .bundle import ASSETS
from .home import facts
from .shell import FIRST, TITLE, WHAT

FOLDER = ASSETS / "cards"
WIDTH, HEIGHT = 1200, 630
_CARD = """<!doctype html><meta charset="utf-8"><style>
body {{ width: 1200px; height: 630px; margin: 0; font-family: system-ui, sans-serif; background: #fff; }}
p, h1 {{ margin: 0 40px; }} p {{ font-size: 24px; padding-top: 26px; color: #0072b2; }}
h1 {{ font-size: 36px; line-height: 1.2; padding: 6px 0 8px; }}
iframe {{ border: 0; width: 930px; height: 370px; margin: 0 30px; transform: scale(1.22); transform-origin: 0 0; }}
</style><p>tcpdynamics: {title}</p><h1>{says}</h1><iframe src="{address}"></iframe>"""

#: Of a figure in a frame, all but the picture is hidden.
_ALONE = ".figure-head, .figure details, .reading, .controls { display: none !important } .bench { display: block }"


def wanted() -> dict[str, dict[str, Any]]:
    """Slug -> what its card shows: title, a sentence, and the address of a figure within an exported site."""
    cards = {FIRST: {"title": TITLE, "says": WHAT, "address": "index.html"}}
    for card in facts()["cards"]:
        words = {**card["values"], "figure": card["figure"], "embed": "1"}
        address = f"{card['spec']['slug']}.html#" + "&".join(f"{k}={v}" for k, v in words.items())
        cards[card["slug"]] = {"title": articles()[card["slug"]].title, "says": card["finding"], "address": address}
    return cards


def shows(png: bytes) -> dict[str, Any]:
    """What a card was made of, which it holds as a text."""
    at = png.index(b"tEXtcard\0")
    (size,) = struct.unpack(">I", png[at - 4 : at])
    card: dict[str, Any] = json.loads(png[at + 9 : at + 4 + size].decode("latin-1"))
    return card


def _marked(png: bytes, card: dict[str, Any]) -> bytes:
    """The picture with a text before its last chunk."""
    body = b"tEXtcard\0" + json.dumps(card).encode("latin-1")
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    return png[:-12] + chunk + png[-12:]


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
            page = site / f"card-{slug}.html"
            page.write_text(_CARD.format(**{k: escape(v) for k, v in card.items()}), encoding="utf-8")
            tab.goto((site / "index.html" if slug == FIRST else page).as_uri())
            for frame in tab.frames[1:]:
                frame.add_style_tag(content=_ALONE)
                frame.evaluate("() => dispatchEvent(new Event('resize'))")
            tab.wait_for_timeout(3000)  # pictures draw themselves, and the living one moves
            (FOLDER / f"{slug}.png").write_bytes(_marked(tab.screenshot(), card))


if __name__ == "__main__":
    draw()
