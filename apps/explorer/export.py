"""Pages as files that open from disk, without a server and without network."""

from __future__ import annotations

import json
import shutil
from html import escape
from pathlib import Path

from .page import Page
from .pages import pages
from .server import ASSETS, TITLE

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
<header><nav><strong>{brand}</strong>{links}</nav></header>
<main id="page"></main>
<script src="assets/vendor/uPlot.iife.min.js"></script>
<script src="assets/colours.js"></script>
<script src="assets/motion.js"></script>
<script src="assets/explorer.js"></script>
<script src="assets/guess.js"></script>
<script src="assets/pages/{slug}.js"></script>
<script>explorer.mount(document.getElementById("page"), {spec});</script>
</body>
</html>
"""


def export(folder: Path, whole: bool = False) -> list[Path]:
    """Write the pages that need no server; returns the pages' files.

    Parameters
    ----------
    folder : Path
        New, or empty.
    whole : bool
        Whether what a page could ask a server for is answered now and written, too: of the claims, all verdicts and
        figures, which takes some twenty seconds.

    Raises
    ------
    FileExistsError
        The folder holds files.
    """
    if folder.is_symlink() and not folder.exists():
        raise FileExistsError(f"{folder} is a link to nothing; give a folder that is new or empty")
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} holds files; give a folder that is new or empty")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(ASSETS, folder / "assets", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    from plotly.offline import get_plotlyjs

    (folder / "assets" / "vendor" / "plotly.min.js").write_text(get_plotlyjs(), encoding="utf-8")
    listed = [page for page in pages().values() if page.exported]
    files = [_write(folder, page, listed, whole) for page in listed]
    shutil.copyfile(files[0], folder / "index.html")
    return files


def _write(folder: Path, page: Page, listed: list[Page], whole: bool) -> Path:
    scripts = folder / "functions" / page.slug
    scripts.mkdir(parents=True)
    for printed in page.printed:
        for values in page.shapes(printed):
            (scripts / f"{printed.key(values)}.js").write_text(printed.script(page.slug, values))
    current = ' aria-current="page"'
    links = "".join(
        f'<a href="{other.slug}.html"{current if other is page else ""}>{escape(other.title)}</a>'
        for other in listed
    )
    spec = page.spec(whole) | {"functions": "functions/", "plotly": "assets/vendor/plotly.min.js"}
    text = json.dumps(spec).replace("<", "\\u003c")
    file = folder / f"{page.slug}.html"
    file.write_text(
        _PAGE.format(
            title=escape(f"{page.title} - {TITLE}"), links=links, brand=TITLE, slug=page.slug, spec=text
        )
    )
    return file
