"""Sections of the report on stability: charts, two papers' figures, comparisons with fluids."""

from __future__ import annotations

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
from tcpdynamics.validation.comparisons.comparison import Comparison, counts

from .steps import Tell, step

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr
    from markupsafe import Markup

#: HTML without the figures' library, and lines for the summary.
Section = tuple[str, list[dict[str, str]]]

_VERDICT_COLOURS = {"stable": "agrees", "marginal": "close", "unstable": "differs"}


def section(quick: bool, tell: Tell) -> Section:
    """The sections as HTML without figures' library, for the page to hold, and lines for its summary.

    Parameters
    ----------
    quick : bool
        Coarser charts and fewer simulations.
    tell : callable
        Gets the name of each step and the share of it that is done.
    """
    import jinja2

    epsilon, gamma = logistic_figures.EPSILON, logistic_figures.GAMMA
    with step("drawing the papers' figures and charts", tell):
        charts = logistic_figures.charts(101 if quick else 151)
        drawn = _figures(charts, t_refwa_figures.charts(101 if quick else 151))
    compared = _comparisons(quick, tell)
    template = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(
        resources.files("tcpdynamics.apps.report.templates")
        .joinpath("report_stability.html.j2")
        .read_text(encoding="utf-8")
    )
    published = [_published(row) for row in t_refwa_figures.published()]
    disagreements = sum(int(chart.disagreements) for chart in charts.values())
    count = sum(chart.verdict.size for chart in charts.values())
    html = template.render(
        figures={name: _html(name, figure) for name, figure in drawn.items()},
        logistic_paper="Iguchi, Hasegawa and Murata",
        trefwa_paper="Taleb, Nishiyama, Jamalipour, Kato and Nemoto",
        epsilon=epsilon,
        gamma=gamma,
        start=f"{logistic_figures.START:g}",
        fairness_time=f"{float(LotkaVolterraWindows(flows=2, epsilon=epsilon, gamma=gamma).fairness_time()):.1f}",
        disagreements=disagreements,
        count=f"{count:,}",
        phi=t_refwa_figures.PHI,
        psi=t_refwa_figures.PSI,
        published=published,
        **{verdict: [row["verdict"] for row in published].count(verdict) for verdict in _VERDICT_COLOURS},
        comparisons=compared,
    )
    lines = [
        {
            "text": "Stability charts: characteristic roots and closed form disagree at "
            f"{disagreements} of {count:,} points.",
            "anchor": "stability",
            "more": "Charts",
        }
    ]
    lines += [
        {
            "text": f"{c['title']}: {c['answer'][0].lower()}{c['answer'][1:]}",
            "anchor": f"fluid-{c['name']}",
            "more": "Comparison",
        }
        for c in compared
    ]
    return html, lines


def _figures(charts: dict[str, xr.Dataset], readings: dict[str, xr.Dataset]) -> dict[str, go.Figure]:
    """The papers' figures and the charts, by name."""
    epsilon, gamma = logistic_figures.EPSILON, logistic_figures.GAMMA
    old = {"epsilon": epsilon, "delay": 1.0, "name": f"ε = {epsilon}, one round trip old"}
    published = {"epsilon": epsilon, "gamma": gamma, "name": f"ε = {epsilon}, \u03b3 = {gamma}"}
    return {
        "iguchi1": logistic_figures.draw_fig1(logistic_figures.fig1()),
        "iguchi2": logistic_figures.draw_fig2(logistic_figures.fig2()),
        "iguchi8": logistic_figures.draw_fig8(logistic_figures.fig8()),
        "chart_logistic": stability_figure(charts["logistic"], marks=[old]),
        "chart_lotka_volterra": stability_figure(charts["lotka_volterra"], marks=[published]),
        "chart_trefwa": t_refwa_figures.draw(readings),
    }


#: Title, comparison, name of its figure, name of its step.
_COMPARISONS: list[tuple[str, type[Comparison], str, str]] = [
    ("Logistic control, old measurement", LogisticVsFluid, "logistic", "logistic control"),
    ("Lotka-Volterra control", LotkaVolterraVsFluid, "lotka-volterra", "Lotka-Volterra control"),
    ("T-REFWA's maps and a router on a real queue", TRefwaMapVsFluid, "t-refwa", "T-REFWA"),
    ("Fluid TCP on a marking link", MisraVsLinearisation, "misra", "TCP on a marking link"),
]


def _comparisons(quick: bool, tell: Tell) -> list[dict[str, Any]]:
    sections = []
    for title, kind, name, words in _COMPARISONS:
        shorter = quick and kind is not TRefwaMapVsFluid  # which is short as it is, and decides less when shorter
        comparison = kind(**kind.quick) if shorter else kind()
        with step(f"comparing with fluids: {words}", tell):
            result = comparison.run()
        sections.append(
            {
                "title": title,
                "name": name,
                "answer": _answer(name, result),
                "paragraphs": comparison.paragraph(result).split("\n\n"),
                "figure": _html(f"fluid-{name}", comparison.figure(result)),
            }
        )
    return sections


def _answer(name: str, result: xr.Dataset) -> str:
    """What a comparison says, in one sentence."""
    if name == "t-refwa":
        return (
            "What a router commands, and when, decides which reading of eq. (3) holds; critical gains beside the "
            f"expected reading's: {counts(result.critical_verdict)}."
        )
    if name == "misra":
        exact, simple = (counts(result.verdict.sel(prediction=p)) for p in ("exact", "simplified"))
        return f"Decay rates and frequencies: {exact} with the exact linearisation; with the simplified one, {simple}."
    return f"Decay rates and frequencies beside the characteristic roots: {counts(result.verdict)}."


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
