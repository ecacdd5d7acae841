"""The report: one self-contained HTML page, from the models to the verdicts."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpdynamics import __version__, paper_figures
from tcpdynamics.charts.chains import sent_against_loss
from tcpdynamics.models import SubPacketExact, SubPacketFull
from tcpdynamics.paper_figures import ledger
from tcpdynamics.paper_figures.registry import PAPERS
from tcpdynamics.paper_figures.sub_packet import figures as paper
from tcpdynamics.solvers import stationary
from tcpdynamics.validation.comparisons import packets_vs_ns2 as ns2
from tcpdynamics.validation.comparisons.sub_packet import (
    AGREES,
    CLOSE,
    SubPacketChainVsPackets,
    summary,
)
from tcpdynamics.validation.packet import simulate

from .stability import section as stability_section

if TYPE_CHECKING:
    import xarray as xr

POINTS = 1_000_000
_VERSIONS = ("numpy", "scipy", "sympy", "numba", "xarray", "jax", "plotly")


def build(quick: bool = False, say: Callable[[str], None] = lambda _: None) -> str:
    """Solve, simulate, compare, and render.

    Parameters
    ----------
    quick : bool
        Short simulations: wider intervals, same page.
    say : callable
        Gets the name of each step, for a progress line.

    Returns
    -------
    str, the page
    """
    import jinja2
    from plotly.offline import get_plotlyjs

    began = time.perf_counter()
    say("solving the sub-packet chain")
    main = paper.fig9(quick)
    solved = _solve(main)
    # Simulated packets leave the interpreter's lock to others: what only solves equations runs beside them.
    beside = ThreadPoolExecutor(1)
    equations = beside.submit(_equations, quick, say)
    try:
        result, others = _packets(main, quick, say)
        judged, tied, tied_exact = _against_ns2(say)
        stability, stability_lines, tables = equations.result()
    finally:
        beside.shutdown(wait=False, cancel_futures=True)
    say("writing the page")
    busiest = _nearest(result, 100)
    ran = simulate(main.scenario("drop-tail", busiest))
    drawn = {
        "solved": solved.pop("figure"),
        "fig9": main.figure(result),
        "silence": main.silence_figure(result, busiest),
        "loss": main.loss_figure(result),
        "ns2": ns2.PacketsVsNs2.figure(judged),
    }
    template = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(
        resources.files("tcpdynamics.apps.report.templates")
        .joinpath("report.html.j2")
        .read_text(encoding="utf-8")
    )
    from markupsafe import Markup

    html = {
        name: Markup(f.to_html(full_html=False, include_plotlyjs=False, div_id=f"figure-{name}"))
        for name, f in drawn.items()
    }
    return template.render(
        plotly_js=Markup(get_plotlyjs()),
        figures=html,
        version=__version__,
        quick=quick,
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        **solved,
        setting=_setting(main),
        chains=main,
        replications=main.replications,
        duration=f"{main.duration:g}",
        slice=f"{main.slice:g}",
        paragraphs=main.paragraph(result).split("\n\n"),
        silence_flows=busiest,
        loads=_loads(result),
        agrees=AGREES,
        close=CLOSE,
        verdicts=[_verdicts(title, r) for title, r in [("Fig. 9: 1 Mbit/s, 200 ms", result), *others]],
        claims=tables,
        summary=_summary(result, judged, stability_lines, tables),
        stability=Markup(stability),
        judged=[
            _judged("No exact ties", judged),
            _judged("Exact ties: ours on its grid of times", tied),
            _judged("Exact ties: ours in double precision, as ns-2", tied_exact),
        ],
        seed=main.seed,
        command=f"tcpdynamics report{' --quick' if quick else ''} --output report.html",
        versions={"Python": platform.python_version(), "tcpdynamics": __version__}
        | {n: importlib.metadata.version(n) for n in _VERSIONS},
        what_you_ran=json.dumps(json.loads(ran.attrs["what_you_ran"]), indent=2),
        warning=ran.attrs["warning"],
        seconds=f"{time.perf_counter() - began:.0f}",
    )


def _packets(
    main: SubPacketChainVsPackets, quick: bool, say: Callable[[str], None]
) -> tuple[xr.Dataset, list[tuple[str, xr.Dataset]]]:
    """The result of Fig. 9, and those of Figs. 10 and 11 with their titles."""
    say("simulating Fig. 9")
    result = main.run()
    others = []
    for comparison in paper.fig10(quick):
        rate = f"{comparison.rate / 1e3:g} kbit/s"
        say(f"simulating Fig. 10, {rate}")
        others.append((f"Fig. 10: {rate}, {comparison.buffer} packets of buffer", comparison.run()))
    say("simulating Fig. 11, mixed RTTs")
    others.append(("Fig. 11: RTTs of 200 to 400 ms in eight groups", paper.fig11(quick).run()))
    return result, others


def _against_ns2(say: Callable[[str], None]) -> tuple[xr.Dataset, xr.Dataset, xr.Dataset]:
    """Packets beside ns-2: cases without exact ties; those with, on the grid of times and in double precision."""
    say("comparing packets with ns-2")
    judged, exact = (ns2.PacketsVsNs2(cases=cases).run(live=False) for cases in (ns2.CASES, ns2.TIED))
    return judged, ns2.PacketsVsNs2(cases=ns2.TIED, exact=False).run(live=False), exact


def _equations(
    quick: bool, say: Callable[[str], None]
) -> tuple[str, list[dict[str, str]], list[dict[str, Any]]]:
    """All that needs no packets: sections on stability with their lines for the summary, and the papers' claims."""
    html, lines = stability_section(quick, say)
    say("checking the papers' statements")
    return html, lines, [_claims(paper) for paper in PAPERS]


def _solve(main: SubPacketChainVsPackets) -> dict[str, Any]:
    """The chains of a comparison in closed form and in double precision, and how long a sweep takes."""
    loss = np.linspace(1e-6, 0.499, POINTS)
    chain = main.chain_model(SubPacketFull, loss).chain()
    times = []
    for _ in range(4):  # the first writes the straight-line program
        began = time.perf_counter()
        stationary(chain)
        times.append(time.perf_counter() - began)
    elapsed = float(np.median(times[1:]))
    shown = main.chain_model(SubPacketFull, np.linspace(0.005, 0.495, 197))
    quarter = main.chain_model(SubPacketFull, 0.25)
    silent = quarter.observe(stationary(quarter.chain(), exact=True)).silent_fraction.item()
    levels = main.chain_model(SubPacketExact, 0.25)
    return {
        "points": f"{POINTS:,}",
        "sweep_ms": f"{1e3 * elapsed:.0f}",
        "figure": sent_against_loss(shown.observe(stationary(shown.chain()))),
        "exact": {
            "numerator": silent.p,
            "denominator": silent.q,
            "value": float(silent),
            "unaggregated": levels.observe(stationary(levels.chain())).silent_fraction.item(),
        },
    }


def _setting(c: SubPacketChainVsPackets) -> str:
    return (
        f"{c.rate / 1e6:g} Mbit/s, {c.packet_size}-byte packets, {1e3 * float(np.mean(c.base_rtt)):g} ms, "
        f"{c.buffer}-packet buffer, "
        f"{c.sender.upper()}, {min(c.flows)} to {max(c.flows)} flows."
    )


def _judged(title: str, result: xr.Dataset) -> dict[str, Any]:
    """Rows of a comparison with ns-2, and how many of its intervals hold zero."""
    rows = []
    for row in ns2.table(result):
        numbers = {
            name: f"{row[name]:.4g}" for name in ("ours", "ours_sd", "theirs", "theirs_sd", "low", "high")
        }
        rows.append({**row, **numbers})
    agree = sum(row["verdict"] == "agrees" for row in rows)
    return {
        "title": title,
        "rows": rows,
        "agree": agree,
        "of": len(rows),
        "level": f"{result.attrs['level']:.0%}",
    }


def _nearest(result: xr.Dataset, flows: int) -> int:
    return int(result.flows.values[np.abs(result.flows.values - flows).argmin()])


def _loads(result: xr.Dataset) -> list[dict[str, str]]:
    rows = []
    for link in result.link.values:
        for n in result.flows.values:
            here = result.sel(link=link, flows=n)

            def show(name: str, digits: int = 3, part: Any = here) -> str:
                value = float(part[name])
                if not np.isfinite(value):
                    return "none"
                low, high = (part.get(f"{name}_{edge}") for edge in ("low", "high"))
                half = "" if low is None or not np.isfinite(low) else f" ± {float(high - low) / 2:.{digits}f}"
                return f"{value:.{digits}f}{half}"

            names = (
                "loss",
                "loss_predicted",
                "loss_timeout",
                "jain",
                "jain_predicted",
                "starved",
                "starved_predicted",
            )
            row = {name: show(name) for name in names}
            if link == "independent":
                row["loss_predicted"] = "given"
            rows.append({"link": str(link), "flows": str(n), "timer": show("timeout_over_rtt", 2), **row})
    return rows


def _verdicts(title: str, result: xr.Dataset) -> dict[str, Any]:
    rows = []
    for link in result.link.values:
        losses = [
            {"verdict": "", "text": f"loss {p:.3f}", "title": ""} for p in result.loss.sel(link=link).values
        ]
        rows.append({"link": str(link), "chain": "(measured)", "cells": losses})
        for chain in result.chain.values:
            part = result.sel(link=link, chain=chain)
            cells = [
                {"verdict": str(v), "text": f"{v}: {d:.3f}", "title": f"95 % interval {low:.4f} to {high:.4f}"}
                for v, d, low, high in zip(
                    part.verdict.values, part.distance.values, part.distance_low.values, part.distance_high.values,
                    strict=True,
                )
            ]  # fmt: skip
            rows.append({"link": str(link), "chain": str(chain), "cells": cells})
    return {"title": title, "flows": [int(n) for n in result.flows.values], "rows": rows}


_COLOURS = {
    ledger.HOLDS: "holds",
    ledger.CONDITIONS: "conditions",
    ledger.FAILS: "fails",
    ledger.OPEN: "",
    ledger.BEYOND: "",
}
_NAMES = {
    "sub_packet": "TCP in sub-packet regimes (Chen et al.)",
    "logistic": "Logistic and Lotka-Volterra control (Iguchi et al.)",
    "t_refwa": "T-REFWA (Taleb et al.)",
}


def _claims(paper: str) -> dict[str, Any]:
    """A paper's statements with their verdicts, and how many have which."""
    rows = paper_figures.claims(paper)
    return {
        "id": paper,
        "paper": _NAMES[paper],
        "rows": rows,
        "counts": ledger.in_words(rows),
        "colours": _COLOURS,
    }


def _summary(
    result: xr.Dataset, judged: xr.Dataset, stability: list[dict[str, str]], tables: list[dict[str, Any]]
) -> list[dict[str, str]]:
    """The page in ten lines: what each part says, and where it is."""
    rows = {(row["link"], row["chain"]): row for row in summary(result)}
    loads = result.sizes["flows"]
    near = {key: len(row["agrees"]) + len(row["close"]) for key, row in rows.items()}
    against = _judged("", judged)
    lines = [
        {
            "text": f"{table['paper']}: {table['counts']}.",
            "anchor": f"claims-{table['id']}",
            "more": "Statements",
        }
        for table in tables
    ]
    lines += [
        {
            "text": f"The printed sub-packet chain is within {CLOSE:g} of simulated packets at "
            f"{near['drop-tail', 'full']} of {loads} loads with equal round-trip times, at "
            f"{near['spread', 'full']} with times spread by 5 %, and at "
            f"{near['independent', 'full']} where its assumptions hold.",
            "anchor": "fig9",
            "more": "Fig. 9",
        },
        {
            "text": f"The packet simulator agrees with ns-2.35 in {against['agree']} of {against['of']} quantities of "
            f"crowded links ({against['level']} intervals).",
            "anchor": "judge",
            "more": "Judge",
        },
    ]
    return lines + stability
