"""The gallery: each script of `docs/gallery` is run; its page has its question, its code, its output and its figure."""

from __future__ import annotations

import contextlib
import hashlib
import io
import runpy
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from sources import sources
from sphinx.errors import ExtensionError
from thumbnails import of_figure

DOCS = Path(__file__).parents[1]
SCRIPTS, PAGES = DOCS / "gallery", DOCS / "reference" / "written" / "gallery"
STATIC = PAGES.parent / "static"
#: Script -> the page of `docs` that has more of its subject.
MORE = {
    "aqm": "choose_a_queue", "beyond_the_boundary": "logistic_model", "buffer_size": "queues",
    "classic_formulas": "reference/written/models", "closed_form": "theory", "compiled_chain": "sender_chain",
    "delayed_gain": "stability", "first_simulation": "scenarios", "full_buffer": "fluid_model", "handover": "links",
    "hayes": "own_equations", "interpretations": "t_refwa_model", "limited_transmit": "sender_chain",
    "linux_today": "linux_sub_packet", "long_silences": "theory", "old_measurements": "logistic_model",
    "one_lost_segment": "senders", "own_congestion_control": "your_own_congestion_control",
    "own_model": "your_own_model_against_packets", "phase_effects": "phase_effects", "red": "fluid_model",
    "silence": "choose_a_chain", "silent_for_ever": "theory", "users_on_a_link": "theory",
}  # fmt: skip


def _question(script: Path) -> str:
    return script.read_text(encoding="utf-8").removeprefix('"""').partition('"""')[0]


def _made(script: Path) -> str:
    """The page and the thumbnail of a script, which is run; an assertion that fails ends the build."""
    from tcpdynamics.apps.report.sections import html_of

    text = script.read_text(encoding="utf-8")
    mark = hashlib.sha256((text + sources() + Path(__file__).read_text(encoding="utf-8")).encode()).hexdigest()
    page, small = PAGES / f"{script.stem}.md", STATIC / f"gallery-{script.stem}.svg"
    if small.exists() and page.exists() and mark in page.read_text(encoding="utf-8"):
        return ""
    shown = io.StringIO()
    try:
        with contextlib.redirect_stdout(shown):
            figure = runpy.run_path(str(script))["figure"]
    except Exception as error:
        return f"docs/gallery/{script.name}: {type(error).__name__}: {error}"
    code = text.partition('"""\n\n')[2]
    picture = html_of({script.stem: figure})[script.stem]
    more = f"More: [](../../../{MORE[script.stem]}.md)"
    lines = [f"# {_question(script)}", "", f"% {mark}", "```python", code.rstrip(), "```", "", "It prints:", ""]
    lines += ["```text", shown.getvalue().rstrip(), "```", "", "```{raw} html", picture, "```", "", more, ""]
    small.write_text(of_figure(figure), encoding="utf-8")
    page.write_text("\n".join(lines), encoding="utf-8")
    return ""


def _index(scripts: list[Path]) -> list[str]:
    """Cards, each with a thumbnail and a question."""
    about = ("Each script runs in seconds, and ends in a number and a figure. To see the figure, run "
             "`python -i docs/gallery/red.py`, then `figure.show()`.")  # fmt: skip
    lines = ["# Gallery", "", about, "", "::::{grid} 1 2 3 3", ":gutter: 3", ""]
    for script in scripts:
        title, mark, rest = _question(script).partition("? ")
        lines += [f":::{{grid-item-card}} {title}{mark.strip()}", f":img-top: static/gallery-{script.stem}.svg",
                  f":img-alt: the figure of {script.name}", f":link: gallery/{script.stem}", ":link-type: doc", "",
                  rest, ":::", ""]  # fmt: skip
    names = [f"gallery/{script.stem}" for script in scripts]
    return [*lines, "::::", "", "```{toctree}", ":hidden:", "", *names, "```", ""]


def write(app: Any) -> None:
    """Run the scripts, two at a time; a script that has not changed keeps its page."""
    from tcpdynamics.apps.explorer.bundle import bundle

    PAGES.mkdir(parents=True, exist_ok=True)
    STATIC.mkdir(exist_ok=True)
    (STATIC / "figures.js").write_text(bundle("core/report.js"), encoding="utf-8")
    scripts = sorted(SCRIPTS.glob("*.py"))
    for page in set(PAGES.glob("*.md")) - {PAGES / f"{script.stem}.md" for script in scripts}:
        page.unlink()  # its script was renamed or removed
    with ProcessPoolExecutor(2) as pool:
        wrong = [said for said in pool.map(_made, scripts) if said]
    if wrong:
        raise ExtensionError("; ".join(wrong))
    (PAGES.parent / "gallery.md").write_text("\n".join(_index(scripts)), encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """For Sphinx."""
    app.connect("config-inited", lambda app, config: write(app))
    app.add_js_file("figures.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
