"""The gallery: each script of `docs/gallery` is run; its page has its question, its code, its output and its figure."""

from __future__ import annotations

import contextlib
import hashlib
import io
import runpy
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError

DOCS = Path(__file__).parents[1]
SCRIPTS, PAGES = DOCS / "gallery", DOCS / "reference" / "written" / "gallery"


def _made(script: Path) -> str:
    """The page of a script, which is run; an assertion that fails ends the build."""
    from tcpdynamics.apps.report.sections import html_of

    text = script.read_text(encoding="utf-8")
    mark = hashlib.sha256(text.encode()).hexdigest()
    page = PAGES / f"{script.stem}.md"
    if page.exists() and mark in page.read_text(encoding="utf-8"):
        return ""
    shown = io.StringIO()
    try:
        with contextlib.redirect_stdout(shown):
            figure = runpy.run_path(str(script))["figure"]
    except Exception as error:
        return f"docs/gallery/{script.name}: {type(error).__name__}: {error}"
    question, _, code = text.removeprefix('"""').partition('"""\n\n')
    picture = html_of({script.stem: figure})[script.stem]
    lines = [f"# {question}", "", f"% {mark}", "```python", code.rstrip(), "```", "", "It prints:", "", "```text",
             shown.getvalue().rstrip(), "```", "", "```{raw} html", picture, "```", ""]  # fmt: skip
    page.write_text("\n".join(lines), encoding="utf-8")
    return ""


def write(app: Any) -> None:
    """Run the scripts, two at a time; a script that has not changed keeps its page."""
    from tcpdynamics.apps.explorer.bundle import bundle

    PAGES.mkdir(parents=True, exist_ok=True)
    (PAGES.parent / "static").mkdir(exist_ok=True)
    (PAGES.parent / "static" / "figures.js").write_text(bundle("core/report.js"), encoding="utf-8")
    scripts = sorted(SCRIPTS.glob("*.py"))
    for page in set(PAGES.glob("*.md")) - {PAGES / f"{script.stem}.md" for script in scripts}:
        page.unlink()  # its script was renamed or removed
    with ProcessPoolExecutor(2) as pool:
        wrong = [said for said in pool.map(_made, scripts) if said]
    if wrong:
        raise ExtensionError("; ".join(wrong))
    names = "\n".join(f"gallery/{script.stem}" for script in scripts)
    about = "Each script runs in seconds, and ends in a number and a figure."
    text = f"# Gallery\n\n{about}\n\n```{{toctree}}\n{names}\n```\n"
    (PAGES.parent / "gallery.md").write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """For Sphinx."""
    app.connect("config-inited", lambda app, config: write(app))
    app.add_js_file("figures.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
