"""Sections of the report on stability: charts, two papers' figures, comparisons with fluids."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import resources
from typing import TYPE_CHECKING, Any

from tcpdynamics.charts.stability import stability_figure
from tcpdynamics.models import LotkaVolterraWindows
from tcpdynamics.paper_figures.logistic import figures as logistic_figures
from tcpdynamics.paper_figures.t_refwa import figures as t_refwa_figures
from tcpdynamics.validation.comparisons import (
    LogisticVsFluid,
    LotkaVolterraVsFluid,
    MisraVsLinearisation,
    TRefwaMapVsFluid,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from markupsafe import Markup

    from tcpdynamics.validation.comparisons.comparison import Comparison

_VERDICT_COLOURS = {"stable": "agrees", "marginal": "close", "unstable": "differs"}


def section(
    quick: bool = False, say: Callable[[str], None] = lambda _: None
) -> tuple[str, list[dict[str, str]]]:
    """The sections as HTML without figures' library, for the page to hold, and lines for its summary.

    Parameters
    ----------
    quick : bool
        Coarser charts and fewer simulations.
    say : callable
        Gets the name of each step, for a progress line.
    """
    import jinja2

    say("drawing Figs. 1, 2 and 8 of the logistic paper")
    drawn = {
        "iguchi1": logistic_figures.draw_fig1(logistic_figures.fig1()),
        "iguchi2": logistic_figures.draw_fig2(logistic_figures.fig2()),
        "iguchi8": logistic_figures.draw_fig8(logistic_figures.fig8()),
    }
    say("charting stability")
    points = 101 if quick else 151
    charts = logistic_figures.charts(points)
    epsilon, gamma = logistic_figures.EPSILON, logistic_figures.GAMMA
    drawn["chart_logistic"] = stability_figure(
        charts["logistic"],
        marks=[{"epsilon": epsilon, "delay": 1.0, "name": f"ε = {epsilon}, one round trip old"}],
    )
    drawn["chart_lotka_volterra"] = stability_figure(
        charts["lotka_volterra"],
        marks=[{"epsilon": epsilon, "gamma": gamma, "name": f"ε = {epsilon}, \u03b3 = {gamma}"}],
    )
    drawn["chart_trefwa"] = t_refwa_figures.draw(t_refwa_figures.charts(points))
    compared = _comparisons(quick, say)
    template = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(
        resources.files("tcpdynamics.apps.report.templates")
        .joinpath("report_stability.html.j2")
        .read_text(encoding="utf-8")
    )
    disagreements = sum(int(chart.disagreements) for chart in charts.values())
    html = template.render(
        figures={name: _html(name, figure) for name, figure in drawn.items()},
        logistic_paper="Iguchi, Hasegawa and Murata",
        trefwa_paper="Taleb, Nishiyama, Jamalipour, Kato and Nemoto",
        epsilon=epsilon,
        gamma=gamma,
        start=f"{logistic_figures.START:g}",
        fairness_time=f"{float(LotkaVolterraWindows(flows=2, epsilon=epsilon, gamma=gamma).fairness_time()):.1f}",
        disagreements=disagreements,
        phi=t_refwa_figures.PHI,
        psi=t_refwa_figures.PSI,
        published=[_published(row) for row in t_refwa_figures.published()],
        comparisons=compared,
    )
    count = sum(
        chart.sizes[a] * chart.sizes[b] for chart in charts.values() for a, b in [tuple(chart.sizes)[:2]]
    )
    lines = [
        {
            "text": f"Stability charts: root and closed form disagree at {disagreements} of {count:,} points.",
            "anchor": "stability",
            "more": "Charts",
        }
    ]
    lines += [
        {
            "text": f"{c['title']}: {c['paragraphs'][0].split('. ')[0]}.",
            "anchor": "motion",
            "more": "Comparison",
        }
        for c in compared
    ]
    return html, lines


def _comparisons(quick: bool, say: Callable[[str], None]) -> list[dict[str, Any]]:
    flows = (2, 3, 5) if quick else (2, 3, 5, 10)
    cases: list[tuple[str, Comparison, str]] = [
        ("Logistic control, old measurement", LogisticVsFluid(), "logistic"),
        ("Lotka-Volterra control", LotkaVolterraVsFluid(flows=flows), "lotka-volterra"),
        ("T-REFWA's maps and a router on a real queue", TRefwaMapVsFluid(), "t-refwa"),
        ("Fluid TCP on a marking link", MisraVsLinearisation(), "misra"),
    ]
    sections = []
    for title, comparison, name in cases:
        say(f"comparing with fluids: {title}")
        result = comparison.run()
        sections.append(
            {
                "title": title,
                "paragraphs": comparison.paragraph(result).split("\n\n"),
                "figure": _html(f"fluid-{name}", comparison.figure(result)),
            }
        )
    return sections


def _html(name: str, figure: go.Figure) -> Markup:
    from markupsafe import Markup

    return Markup(figure.to_html(full_html=False, include_plotlyjs=False, div_id=f"figure-{name}"))


def _published(row: dict[str, Any]) -> dict[str, Any]:
    root = row["root"]
    imaginary = f" ± {abs(root.imag):.4f}i" if abs(root.imag) > 1e-12 else ""
    return {
        "reading": row["reading"],
        "root": f"{root.real:+.4f}{imaginary}",
        "value": f"{row['what']} {row['value']:.4f}",
        "verdict": row["verdict"],
        "colour": _VERDICT_COLOURS[row["verdict"]],
        "rest": f"{row['rest']:.2f}",
    }


def _verdict_of(paragraphs: list[str]) -> str:
    """The first sentence that counts what agrees."""
    sentences = re.split(r"\. (?=[A-Z])", " ".join(paragraphs))
    return next((s for s in sentences if " agree" in s), sentences[0]).rstrip(".")
