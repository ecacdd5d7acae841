"""Pages as files that open from disk, without a server and without network."""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from tcpdynamics.errors import DomainError, shown
from tcpdynamics.progress import tracked

from .bundle import ASSETS, core_script, page_script, style_sheet
from .home import HOME
from .page import Page
from .pages import pages
from .shell import CARDS, Places, document, first_page, mounted

#: Characters of what a page knows, from which on it is packed.
LARGE = 200_000
PLACES = Places("assets/style.css", "assets/core.js", "assets/{}.js", "{}.html", "index.html")


def export(folder: Path, whole: bool = False, address: str = "") -> list[Path]:
    """Write the pages that need no server, all or none of them; returns the pages' files.

    Parameters
    ----------
    folder : Path
        New, empty, or an earlier export, which is replaced.
    whole : bool
        Whether what a page could ask a server for is answered now and written, too: of the claims, the figures
        that models draw, which takes some twenty seconds.
    address : str
        Where the folder will be found, as "https://example.org/tcp/": links to its pages then have a picture where
        they are posted.

    Raises
    ------
    FileExistsError
        The folder holds other files.
    DomainError
        The address is no address of a folder.
    """
    places = _places(address)
    if folder.is_symlink() and not folder.exists():
        raise FileExistsError(f"{folder} is a link to nothing; give a folder that is new or empty")
    there = folder.exists() and any(folder.iterdir())
    if there and not _is_export(folder):
        raise FileExistsError(f"{folder} holds files; give a folder that is new, empty or an earlier export")
    place = folder.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    # Beside, then moved: a site that is there is whole, whenever this is killed.
    made = Path(tempfile.mkdtemp(prefix=".unfinished.", dir=place.parent))
    try:
        files = _fill(made / "site", whole, places)
        if there:
            place.rename(made / "earlier")
            try:
                (made / "site").rename(place)
            except BaseException:
                (made / "earlier").rename(place)
                raise
        elif place.exists():
            # Into the folder that is there, which somebody may look at; the first page comes last.
            for entry in sorted((made / "site").iterdir(), key=lambda entry: entry.name == "index.html"):
                shutil.move(entry, place)
        else:
            (made / "site").rename(place)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return [folder / name for name in files]


def _is_export(folder: Path) -> bool:
    """Whether a folder holds what `export` writes, and nothing else."""
    core = folder / PLACES.core
    entries = [entry for entry in folder.iterdir() if entry != core.parent]
    assets = {entry.suffix for entry in core.parent.iterdir()} if core.is_file() else {""}
    return assets <= {".js", ".css", ".png", ".LICENSE"} and all(
        entry.suffix == ".html" and entry.is_file() and PLACES.core in entry.read_text("utf-8", "replace")
        for entry in entries
    )


def _places(address: str) -> Places:
    """Where pages find what they load; with their cards, if it is known where they will stand."""
    parts = urlsplit(address)
    if address and (parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment):
        raise DomainError(f"address must be that of a folder, as https://example.org/tcp/, got {shown(address, 80)}")
    return replace(PLACES, card=f"{address.rstrip('/')}/assets/card-{{}}.png") if address else PLACES


def _fill(folder: Path, whole: bool, places: Places) -> list[str]:
    """Write a site into a new folder; the names of the pages' files."""
    assets = folder / "assets"
    assets.mkdir(parents=True)
    (assets / "core.js").write_text(core_script(), encoding="utf-8")
    (assets / "style.css").write_text(style_sheet(), encoding="utf-8")
    shutil.copy(ASSETS / "vendor" / "uPlot.LICENSE", assets)
    if places.card:
        for card in CARDS.glob("*.png"):
            shutil.copy(card, assets / f"card-{card.name}")
    listed = [page for page in pages().values() if page.exported]
    files = [_write(folder, page, listed, whole, places) for page in tracked(listed)]
    _write_scripts(folder, HOME, "")
    first = document(places, listed, first_page(listed, places, HOME.spec()), HOME)
    (folder / "index.html").write_text(first, encoding="utf-8")
    return files


def _write(folder: Path, page: Page, listed: list[Page], whole: bool, places: Places) -> str:
    """A page; its script with the functions of a fresh page, and the functions of all shapes packed into one file."""
    spec, shaped = page.spec(whole), any(printed.shape for printed in page.printed)
    if shaped:
        spec["packed"] = f"assets/{page.script or page.slug}-functions.js"
    if not page.script:
        _write_scripts(folder, page, spec.get("packed", ""))
    facts = json.dumps(spec.get("facts", {}))
    if len(facts) > LARGE:
        spec["packedFacts"] = f"assets/{page.slug}-facts.js"
        del spec["facts"]
        _pack(folder / spec["packedFacts"], f"{page.slug} facts", facts)
    file = folder / f"{page.slug}.html"
    file.write_text(document(places, listed, mounted(spec), page), encoding="utf-8")
    return file.name


def _write_scripts(folder: Path, page: Page, packed: str) -> None:
    """A page's own script, and the functions of all its shapes in a file beside it."""
    start, scripts = page.start(), {}
    for printed in page.printed:
        for values in page.shapes(printed):
            scripts[printed.key(values)] = printed.script(page.slug, values)
    fresh = [scripts[printed.key(start)] for printed in page.printed]
    (folder / "assets" / f"{page.slug}.js").write_text("".join([page_script(page.slug), *fresh]), encoding="utf-8")
    if packed:
        _pack(folder / packed, page.slug, "".join(scripts.values()))


def _pack(file: Path, name: str, text: str) -> None:
    """A text in a script that `unpacked` reads: files opened from disk cannot fetch."""
    packed = b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
    file.write_text(f'explorer.packs["{name}"]="{packed}";\n', encoding="utf-8")
