"""Sections of the report on mechanisms of the papers: each is a function in a file of its own, and a line in the table.

`section(tell)` simulates and compares for some seconds (`tcpdynamics validate` does it at length), and gives the
`Section` that its template `report_<name>.html.j2` makes. A quick report has none of them.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import numpy as np

from ..explorer.link_records import LINK

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from markupsafe import Markup

EXPLORER = "http://127.0.0.1:8050/"
#: The paper's link on `my-link`.
_LINK = "my-link?" + urlencode(LINK | {"users": 100})
#: Figure -> address of the explorer's page that shows it; its sliders move it, but on the `FIXED` pages.
MOVES = {
    "fig9": "sub-packet?loss=0.2", "silence": "sub-packet?chain=exact&loss=0.12&figure=lengths",
    "solved": "sub-packet?loss=0.25", "loss": f"{_LINK}&figure=users",
    "finding-chain": "sub-packet?points=rtts-5-percent-apart&loss=0.157&figure=measured",
    "locked": "retransmission-priority?share=1", "priority": "retransmission-priority?share=0.5",
    "collapse": "sub-packet?loss=0.3", "ladder": "ladder", "loop": "sub-packet?source=users-on-a-link",
    "rules": "high-speed?loss=0.001", "leap": "leap", "finding-leap": "leap?density=3.5&variant=LEAP&figure=table1",
    "table-leap": "leap?figure=table1", "mtcp": "mtcp", "table-mtcp": "mtcp?ack_loss=0.1&figure=table4",
    "routers": "t-refwa", "logistic_packets": "lotka-volterra",
    "iguchi1": "lotka-volterra?epsilon=2.4", "iguchi2": "lotka-volterra?joins=10", "iguchi8": "lotka-volterra?ratio=2",
    "chart_logistic": "lotka-volterra?across=delay", "chart_lotka_volterra": "lotka-volterra?flows=5",
    "chart_trefwa": "t-refwa?phi=1.5&psi=0.5", "finding-t_refwa": "t-refwa?phi=1.5&psi=0.5&figure=readings",
    "fluid-misra": "fluid-tcp", "fluid-logistic": "lotka-volterra?gamma=0", "fluid-lotka-volterra": "lotka-volterra",
    "fluid-t-refwa": "t-refwa", "stacks": "stacks", "bbr_cubic": "stacks", "queue": "ladder?quantity=goodput",
    "linux": _LINK, "ns2": "packets?scenario=single_flow", "finding-linux_sub_packet": "paper-sub-packet?step=6",
    "today_statements": "paper-sub-packet?step=6",
    "today_laws": "sub-packet?points=linux&loss=0.2&figure=measured_law",
    "today_distances": "sub-packet?points=linux&figure=measured", "today_goodputs": f"{_LINK}&sender=linux-cubic",
    "today_fairness": f"{_LINK}&sender=linux-cubic", "today_hangs": f"{_LINK}&sender=linux-cubic&figure=users",
    "today_gateways": "my-link?rate=1&base_rtt=200&buffer=25&users=50&packet_size=1000&sender=linux-cubic&queue=sfq",
}  # fmt: skip
#: Pages on which nothing slides.
FIXED = ("packets", "stacks")
#: Digits of a figure's numbers: a pixel needs four.
DIGITS = 5


@dataclass(frozen=True)
class Section:
    """A part of the page under the anchor of its name in the table, and one sentence that says what came out.

    `finding` is a sentence and a small picture for the first screen.
    """

    title: str
    answer: str
    html: Markup
    finding: tuple[str, Any] | None = None


def section_of(
    name: str, title: str, answer: str, figures: Mapping[str, go.Figure | Mapping[str, Any]],
    finding: tuple[str, Any] | None = None, **context: Any,
) -> Section:  # fmt: skip
    """The section that the template `report_<name>.html.j2` makes of figures by name, and more."""
    import jinja2
    from markupsafe import Markup

    text = resources.files("tcpdynamics.apps.report.templates").joinpath(f"report_{name}.html.j2")
    template = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(
        text.read_text(encoding="utf-8")
    )
    html = template.render(title=title, answer=answer, figures=html_of(figures), **context)
    return Section(title, answer, Markup(html), finding)


def html_of(figures: Mapping[str, go.Figure | Mapping[str, Any]]) -> dict[str, Markup]:
    """Figures by name as parts of a page whose script draws them, each with a link to the explorer's page."""
    from markupsafe import Markup

    parts = {}
    for name, figure in figures.items():
        plain = figure if isinstance(figure, Mapping) else json.loads(figure.to_json())
        text = json.dumps(_short(plain), separators=(",", ":")).replace("<", "\\u003c")
        place = MOVES.get(name, "").replace("&", "&amp;")
        word = "See it" if place.startswith(FIXED) else "Move it"
        parts[name] = Markup(
            f'<div class="plot"><div class="drawn" id="figure-{name}">'
            f'<script type="application/json">{text}</script></div>'
            + (f'<a class="move" href="{EXPLORER}{place}">{word}</a></div>' if name in MOVES else "</div>")
        )
    return parts


def _short(value: Any) -> Any:
    """JSON of a figure with numbers of as many digits as a picture shows, and without Plotly's template."""
    if isinstance(value, Mapping):
        if "bdata" in value:
            numbers = np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"])
            shape = [int(size) for size in str(value.get("shape", numbers.size)).split(",")]
            return _short(numbers.reshape(shape).tolist())
        return {k: _short(one) for k, one in value.items() if k not in ("template", "hovertemplate")}
    if isinstance(value, list | tuple):
        return [_short(one) for one in value]
    if not isinstance(value, float):
        return value
    return (float(f"{value:.{DIGITS}g}") if value % 1 else int(value)) if math.isfinite(value) else None
