"""Sections of the report on stability: charts, two papers' figures, comparisons with fluids, findings."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from typing import TYPE_CHECKING, Any

from tcpdynamics.charts.stability import stability_figure
from tcpdynamics.models import LotkaVolterraWindows
from tcpdynamics.paper_figures.logistic import claims as iguchi_findings
from tcpdynamics.paper_figures.logistic import figures as iguchi_logistic
from tcpdynamics.paper_figures.t_refwa import claims as taleb_findings
from tcpdynamics.paper_figures.t_refwa import figures as taleb_t_refwa
from tcpdynamics.validation.comparisons import (
    LogisticVsFluid,
    LotkaVolterraVsFluid,
    MisraVsLinearisation,
    TRefwaMapVsFluid,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go

_VERDICT_COLOURS = {"stable": "agrees", "marginal": "close", "unstable": "differs"}


def section(quick: bool = False, say: Callable[[str], None] = lambda _: None) -> str:
    """The sections as HTML without figures' library, for the page to hold.

    Parameters
    ----------
    quick : bool
        Coarser charts and fewer simulations.
    say : callable
        Told what is being done.
    """
    import jinja2

    say("drawing Figs. 1, 2 and 8 of the logistic paper")
    drawn = {
        "iguchi1": iguchi_logistic.draw_fig1(iguchi_logistic.fig1()),
        "iguchi2": iguchi_logistic.draw_fig2(iguchi_logistic.fig2()),
        "iguchi8": iguchi_logistic.draw_fig8(iguchi_logistic.fig8()),
    }
    say("charting stability")
    points = 101 if quick else 151
    charts = iguchi_logistic.charts(points)
    epsilon, gamma = iguchi_logistic.EPSILON, iguchi_logistic.GAMMA
    drawn["chart_logistic"] = stability_figure(
        charts["logistic"],
        marks=[{"epsilon": epsilon, "delay": 1.0, "name": f"ε = {epsilon}, one round trip old"}],
    )
    drawn["chart_lotka_volterra"] = stability_figure(
        charts["lotka_volterra"],
        marks=[{"epsilon": epsilon, "gamma": gamma, "name": f"ε = {epsilon}, \u03b3 = {gamma}"}],
    )
    drawn["chart_trefwa"] = taleb_t_refwa.draw(taleb_t_refwa.charts(points))
    compared = _comparisons(quick, say)
    say("checking the findings")
    template = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(
        resources.files("tcpdynamics.apps.report.templates")
        .joinpath("report_stability.html.j2")
        .read_text(encoding="utf-8")
    )
    return template.render(
        figures={name: _html(name, figure) for name, figure in drawn.items()},
        logistic_paper="Iguchi, Hasegawa and Murata",
        trefwa_paper="Taleb, Nishiyama, Jamalipour, Kato and Nemoto",
        epsilon=epsilon,
        gamma=gamma,
        start=f"{iguchi_logistic.START:g}",
        fairness_time=f"{float(LotkaVolterraWindows(flows=2, epsilon=epsilon, gamma=gamma).fairness_time()):.1f}",
        disagreements=sum(int(chart.disagreements) for chart in charts.values()),
        phi=taleb_t_refwa.PHI,
        psi=taleb_t_refwa.PSI,
        published=[_published(row) for row in taleb_t_refwa.published()],
        comparisons=compared,
        findings=[
            _findings("Logistic and Lotka-Volterra control", iguchi_findings.findings()),
            _findings("T-REFWA", taleb_findings.findings()),
        ],
    )


def _comparisons(quick: bool, say: Callable[[str], None]) -> list[dict[str, Any]]:
    flows = (2, 3, 5) if quick else (2, 3, 5, 10)
    cases: list[tuple[str, Any, str]] = [
        ("Logistic control, old measurement", LogisticVsFluid(), "logistic"),
        ("Lotka-Volterra control", LotkaVolterraVsFluid(flows=flows), "lotka-volterra"),
        ("T-REFWA's maps and a router on a real queue", TRefwaMapVsFluid(), "t-refwa"),
        ("Fluid TCP on a marking link", MisraVsLinearisation(), "misra"),
    ]
    found = []
    for title, comparison, name in cases:
        say(f"comparing with fluids: {title}")
        result = comparison.run()
        found.append(
            {
                "title": title,
                "paragraphs": comparison.paragraph(result).split("\n\n"),
                "figure": _html(f"fluid-{name}", comparison.figure(result)),
            }
        )
    return found


def _html(name: str, figure: go.Figure) -> Any:
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


def _findings(title: str, rows: list[Any]) -> dict[str, Any]:
    return {"title": title, "rows": rows, "confirmed": sum(row.holds for row in rows)}
