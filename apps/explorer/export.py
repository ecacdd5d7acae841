"""Pages as files that open from disk, without a server and without network."""

from __future__ import annotations

import json
import shutil
import tempfile
from html import escape
from pathlib import Path
from typing import Any

from .page import Page
from .pages import pages
from .server import ASSETS, TITLE, contents

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="assets/vendor/uPlot.min.css">
<link rel="stylesheet" href="assets/look.css">
<link rel="stylesheet" href="assets/style.css">
</head>
<body>
<header><nav><a class="brand" href="index.html"><strong>{brand}</strong></a>{links}</nav></header>
<main id="page"></main>
<script src="assets/vendor/uPlot.iife.min.js"></script>
<script src="assets/colours.js"></script>
<script src="assets/motion.js"></script>
<script src="assets/netcdf.js"></script>
<script src="assets/explorer.js"></script>
<script src="assets/guess.js"></script>
{scripts}
</body>
</html>
"""


def export(folder: Path, whole: bool = False) -> list[Path]:
    """Write the pages that need no server, all or none of them; returns the pages' files.

    Parameters
    ----------
    folder : Path
        New, or empty.
    whole : bool
        Whether what a page could ask a server for is answered now and written, too: of the claims, the figures
        that models draw, which takes some twenty seconds.

    Raises
    ------
    FileExistsError
        The folder holds files.
    """
    if folder.is_symlink() and not folder.exists():
        raise FileExistsError(f"{folder} is a link to nothing; give a folder that is new or empty")
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} holds files; give a folder that is new or empty")
    place = folder.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    # Beside, then moved: a site that is there is whole, whenever this is killed.
    made = Path(tempfile.mkdtemp(prefix=".unfinished.", dir=place.parent))
    try:
        files = _fill(made / "site", whole)
        if place.exists():
            # Into the folder that is there, which somebody may look at; the first page comes last.
            for entry in sorted((made / "site").iterdir(), key=lambda entry: entry.name == "index.html"):
                shutil.move(entry, place)
        else:
            (made / "site").rename(place)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return [folder / name for name in files]


def _fill(folder: Path, whole: bool) -> list[str]:
    """Write a site into a new folder; the names of the pages' files."""
    shutil.copytree(ASSETS, folder / "assets", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    from plotly.offline import get_plotlyjs

    (folder / "assets" / "vendor" / "plotly.min.js").write_text(get_plotlyjs(), encoding="utf-8")
    listed = [page for page in pages().values() if page.exported]
    files = [_write(folder, page, listed, whole) for page in listed]
    script = f'explorer.contents(document.getElementById("page"), {_plain(contents(listed, "{}.html"))});'
    first = _PAGE.format(title=escape(TITLE), brand=TITLE, links=_links(listed), scripts=f"<script>{script}</script>")
    (folder / "index.html").write_text(first, encoding="utf-8")
    return files


def _write(folder: Path, page: Page, listed: list[Page], whole: bool) -> str:
    scripts = folder / "functions" / page.slug
    scripts.mkdir(parents=True)
    for printed in page.printed:
        for values in page.shapes(printed):
            (scripts / f"{printed.key(values)}.js").write_text(printed.script(page.slug, values), encoding="utf-8")
    spec = page.spec(whole) | {"functions": "functions/", "plotly": "assets/vendor/plotly.min.js"}
    script_tags = (
        f'<script src="assets/pages/{page.slug}.js"></script>\n'
        f'<script>explorer.mount(document.getElementById("page"), {_plain(spec)});</script>'
    )
    title = escape(f"{page.title} - {TITLE}")
    file = folder / f"{page.slug}.html"
    file.write_text(
        _PAGE.format(title=title, brand=TITLE, links=_links(listed, page), scripts=script_tags), encoding="utf-8"
    )
    return file.name


def _plain(value: Any) -> str:
    """JSON within a script."""
    return json.dumps(value).replace("<", "\\u003c")


def _links(listed: list[Page], page: Page | None = None) -> str:
    """The menu, with the page that is open marked."""
    current = ' aria-current="page"'
    return "".join(
        f'<a href="{other.slug}.html"{current if other is page else ""}>{escape(other.title)}</a>' for other in listed
    )
