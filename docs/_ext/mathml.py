"""Formulas as MathML, which browsers draw themselves: pages open from disk, without scripts or fonts of others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.errors import ExtensionError


def inline(self: Any, node: nodes.math) -> None:
    """A formula within a line."""
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(self: Any, node: nodes.math_block) -> None:
    """A display formula."""
    style = "text-align: center; overflow-x: auto; padding: 0.5rem 0"
    self.body.append(f'<div style="{style}">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def alone(app: Any, error: Exception | None) -> None:
    """A page opens from disk, without a network: none loads scripts, styles or pictures of another host."""
    if error is None:
        pages = {page: page.read_text(encoding="utf-8") for page in Path(app.outdir).rglob("*.html")}
        loads = re.compile(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="https?:[^"]*"')
        found = [(page.name, one[0]) for page, text in pages.items() if (one := loads.search(text))]
        if found:
            raise ExtensionError(f"{found[0][0]} loads from another host: {found[0][1]}")


def setup(app: Any) -> dict[str, bool]:
    """For Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.connect("build-finished", alone)
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
