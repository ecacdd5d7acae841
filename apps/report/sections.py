"""Sections of the report on mechanisms of the papers: each is a function in a file of its own, and a line in the table.

`section(tell)` simulates and compares for some seconds (`tcpdynamics validate` does it at length), and gives the
`Section` that its template `report_<name>.html.j2` makes. A quick report has none of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from markupsafe import Markup


@dataclass(frozen=True)
class Section:
    """A part of the page under the anchor of its name in the table, and one sentence that says what came out."""

    title: str
    answer: str
    html: Markup


def section_of(name: str, title: str, answer: str, figures: Mapping[str, go.Figure], **context: Any) -> Section:
    """The section that the template `report_<name>.html.j2` makes of figures by name, and more."""
    import jinja2
    from markupsafe import Markup

    text = resources.files("tcpdynamics.apps.report.templates").joinpath(f"report_{name}.html.j2")
    template = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(
        text.read_text(encoding="utf-8")
    )
    html = template.render(title=title, answer=answer, figures=html_of(figures), **context)
    return Section(title, answer, Markup(html))


def html_of(figures: Mapping[str, go.Figure]) -> dict[str, Markup]:
    """Figures by name as parts of a page that has Plotly."""
    from markupsafe import Markup

    return {
        name: Markup(figure.to_html(full_html=False, include_plotlyjs=False, div_id=f"figure-{name}"))
        for name, figure in figures.items()
    }
