"""Sections of the report on stability: charts, two papers' figures, comparisons with fluids."""

from __future__ import annotations

import json
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

from .front import stability_finding
from .sections import Section, section_of
from .steps import Tell, step

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

_VERDICT_COLOURS = {"stable": "agrees", "marginal": "close", "unstable": "differs"}


def sections(quick: bool, tell: Tell) -> dict[str, Section]:
    """The sections on logistic control, T-REFWA and fluids by name.

    Parameters
    ----------
    quick : bool
        Coarser charts and fewer simulations.
    tell : callable
        Gets the name of each step and the share of it that is done.
    """
    epsilon, gamma = logistic_figures.EPSILON, logistic_figures.GAMMA
    with step("drawing the papers' figures and charts", tell):
        charts = logistic_figures.charts(101 if quick else 151)
        drawn = _figures(charts, t_refwa_figures.charts(101 if quick else 151))
    compared = _comparisons(quick, tell)
    rows = t_refwa_figures.published()
    published = [_published(row) for row in rows]
    disagreements = sum(int(chart.disagreements) for chart in charts.values())
    count = sum(chart.verdict.size for chart in charts.values())
    verdicts = [row["verdict"] for row in published]
    fluids = {f"fluid-{one['name']}": one.pop("figure") for one in compared}
    small = json.loads(drawn["chart_trefwa"].to_json())
    small["layout"] |= {"height": 190, "showlegend": False}
    return {
        "logistic": section_of(
            "logistic", "Logistic control", "Fig. 1 shows a map, not the differential equation of the text.", drawn,
            epsilon=epsilon, gamma=gamma, start=f"{logistic_figures.START:g}", count=f"{count:,}",
            disagreements=disagreements,
            fairness_time=f"{float(LotkaVolterraWindows(flows=2, epsilon=epsilon, gamma=gamma).fairness_time()):.1f}",
        ),
        "t_refwa": section_of(
            "t_refwa", "T-REFWA", f"The published gains are stable under {verdicts.count('stable')} of {len(verdicts)} "
            "interpretations of eq. (3).", {"chart_trefwa": drawn["chart_trefwa"]},
            stability_finding(rows, small), phi=t_refwa_figures.PHI,
            psi=t_refwa_figures.PSI, published=published, **{v: verdicts.count(v) for v in _VERDICT_COLOURS},
        ),
        "motion": section_of(
            "motion", "Fluid simulations", compared[0]["answer"], fluids,
            comparisons=compared,
        ),
    }  # fmt: skip


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
                "figure": comparison.figure(result),
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
