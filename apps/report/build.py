"""The report: one self-contained HTML page, from the models to the verdicts."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpdynamics import __version__
from tcpdynamics.charts.chains import sent_against_loss
from tcpdynamics.models import SubPacketExact, SubPacketFull
from tcpdynamics.paper_figures import ledger, statements
from tcpdynamics.paper_figures.sub_packet import figures as paper
from tcpdynamics.progress import tracked
from tcpdynamics.solvers import stationary
from tcpdynamics.validation.comparisons import packets_vs_ns2 as ns2
from tcpdynamics.validation.comparisons.comparison import AGREES, CLOSE, counts
from tcpdynamics.validation.comparisons.engines import stored
from tcpdynamics.validation.comparisons.linux_sub_packet import LinuxSubPacket
from tcpdynamics.validation.comparisons.sub_packet import SubPacketChainVsPackets, summary
from tcpdynamics.validation.comparisons.window_rules import WindowRulesVsFormulas
from tcpdynamics.validation.packet import simulate

from .. import ledger_rows
from ..explorer.bundle import LOOK, bundle, style_sheet
from ..outputs import plus_or_minus
from . import front
from .mechanisms import BUFFER, FLOWS, RATE, RTT, Mechanisms, mechanisms
from .mechanisms import answer as mechanisms_answer
from .process import Sections, beside
from .sections import Section, html_of
from .steps import Progress, Tell, holds, step

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

POINTS = 1_000_000
#: Silences of so many epochs are called long.
SILENCE = 16
#: Seeds of comparisons with ns-2 in the quick report.
QUICK_SEEDS = 4
_VERSIONS = ("numpy", "scipy", "sympy", "numba", "xarray", "plotly")


def build(quick: bool = False, show: Callable[[float, str], None] = lambda *_: None) -> str:
    """Solve, simulate, compare, and render.

    Parameters
    ----------
    quick : bool
        Short simulations: wider intervals, same page.
    show : callable
        Gets the share of the whole that is done, and the name of the step, for a progress line.

    Returns
    -------
    str, the page
    """
    began, tell = time.perf_counter(), Progress(quick, show)
    with beside(quick, tell) as sections:
        return page(quick, tell, sections, began)


def page(quick: bool, tell: Tell, in_sections: Callable[[], Sections], began: float) -> str:
    """Simulate, wait for the sections, and render; `began` is the time since which `time.perf_counter` counts."""
    import jinja2

    with step("solving the sub-packet chain", tell):
        main = paper.fig9(quick)
        solved = _solve(main)
    result, others, (judged, tied, tied_exact), parts = _packets(main, quick, tell)
    sections = in_sections()
    tables = front.with_bars(ledger_rows.tables())
    busiest = _nearest(result, 100)
    ran = simulate(main.scenario("drop-tail", busiest))
    answers = _answers(result, busiest, judged) | {"mechanisms": mechanisms_answer(parts)}
    place = resources.files("tcpdynamics.apps.report.templates")
    texts = {name: place.joinpath(f"{name}.html.j2").read_text(encoding="utf-8") for name in ("report", "ledger_paper")}
    template = jinja2.Environment(
        loader=jinja2.DictLoader(texts), autoescape=True, undefined=jinja2.StrictUndefined
    ).get_template("report")
    from markupsafe import Markup

    drawn = {
        "solved": solved.pop("figure"),
        "fig9": main.figure(result),
        "silence": main.silence_figure(result, busiest),
        "loss": main.loss_figure(result),
        "ns2": ns2.PacketsVsNs2.figure(judged),
        "rules": WindowRulesVsFormulas.figure(parts.rules),
        **{f"table-{paper}": front.table_figure(paper) for paper in front.TABLES},
    }
    findings = _findings(result, drawn["fig9"], sections)
    drawn |= {f"finding-{name}": figure for name, (_, figure) in findings.items()}
    return template.render(
        look_css=Markup(style_sheet(*LOOK)),
        report_css=Markup(place.joinpath("report.css").read_text(encoding="utf-8")),
        script=Markup(bundle("core/report.js").replace("</script", "<\\/script")),
        figures=html_of(drawn),
        version=__version__,
        quick=quick,
        holds=holds(quick),
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
        papers={table["id"]: table for table in tables},
        totals=front.totals(tables),
        classes=front.CLASSES,
        findings={name: text for name, (text, _) in findings.items()},
        linux_version=stored(LinuxSubPacket.record_name)["kernel"],
        columns=ledger_rows.COLUMNS,
        marks=statements.MARKS,
        history=ledger.HISTORY,
        standalone=False,
        recorded=ledger.recorded()["made"],
        sections=sections,
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
        processors=os.cpu_count() or 1,
        seeds=QUICK_SEEDS if quick else ns2.PacketsVsNs2.seeds,
        answers=answers,
        rules_paragraph=WindowRulesVsFormulas.paragraph(parts.rules),
        queues=parts.queues,
        crowd={"flows": FLOWS, "rate": RATE / 1e6, "buffer": BUFFER, "rtt": [1e3 * t for t in RTT]},
    )


def _packets(
    main: SubPacketChainVsPackets, quick: bool, tell: Tell
) -> tuple[xr.Dataset, list[tuple[str, xr.Dataset]], list[xr.Dataset], Mechanisms]:
    """Results of Fig. 9; of Figs. 10 and 11 with titles; against ns-2; of window rules and queues.

    Two at a time: while one is simulated without the interpreter's lock, another is evaluated.
    """
    others = [
        (f"Fig. 10: {c.rate / 1e3:g} kbit/s, {c.buffer} packets of buffer", f"Fig. 10, {c.rate / 1e3:g} kbit/s", c)
        for c in paper.fig10(quick)
    ]
    mixed = ("Fig. 11: RTTs of 200 to 400 ms in eight groups", "Fig. 11, mixed RTTs", paper.fig11(quick))
    others.append(mixed)

    def run(figure: str, comparison: SubPacketChainVsPackets) -> xr.Dataset:
        with step(f"simulating {figure}", tell):
            return comparison.run()

    pool = ThreadPoolExecutor(2)
    try:
        first = pool.submit(run, "Fig. 9", main)
        rest = [pool.submit(run, figure, comparison) for _, figure, comparison in reversed(others)]
        judged = pool.submit(_against_ns2, quick, tell)
        parts = pool.submit(mechanisms, quick, tell)
        titles = [title for title, _, _ in others]
        return (
            first.result(),
            [(title, run.result()) for title, run in zip(titles, reversed(rest), strict=True)],
            judged.result(),
            parts.result(),
        )
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _against_ns2(quick: bool, tell: Tell) -> list[xr.Dataset]:
    """Packets beside ns-2: cases without exact ties; those with, on the grid of times and in double precision."""
    seeds = QUICK_SEEDS if quick else ns2.PacketsVsNs2.seeds
    with step("comparing packets with ns-2", tell):
        return [
            ns2.PacketsVsNs2(cases=cases, exact=exact, seeds=seeds).run(live=False)
            for cases, exact in tracked([(ns2.CASES, True), (ns2.TIED, False), (ns2.TIED, True)])
        ]


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
        "figure": sent_against_loss(shown.observe(stationary(shown.chain()))).update_xaxes(tickformat="~%"),
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
        numbers = {name: f"{row[name]:.4g}" for name in ("ours", "ours_sd", "theirs", "theirs_sd", "low", "high")}
        rows.append({**row, **numbers})
    agree = sum(row["verdict"] == "agrees" for row in rows)
    return {
        "title": title,
        "rows": rows,
        "agree": agree,
        "of": len(rows),
        "level": f"{100 * result.attrs['level']:g} %",
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
                low, high = (float(part.get(f"{name}_{edge}", np.nan)) for edge in ("low", "high"))
                return plus_or_minus(value, low, high, digits) if np.isfinite(low) else f"{value:.{digits}f}"

            names = ("loss", "loss_predicted", "loss_timeout", "jain", "jain_predicted", "starved", "starved_predicted")
            row = {name: show(name) for name in names}
            if link == "independent":
                row["loss_predicted"] = "given"
            rows.append({"link": str(link), "flows": str(n), "timer": show("timeout_over_rtt", 2), **row})
    return rows


def _verdicts(title: str, result: xr.Dataset) -> dict[str, Any]:
    rows = []
    for link in result.link.values:
        losses = [{"verdict": "", "text": f"loss {p:.3f}", "title": ""} for p in result.loss.sel(link=link).values]
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


def _answers(result: xr.Dataset, busiest: int, judged: xr.Dataset) -> dict[str, str]:
    """One sentence for each section on packets."""
    rows = {(row["link"], row["chain"]): row for row in summary(result)}
    near = {key: len(row["agrees"]) + len(row["close"]) for key, row in rows.items()}
    against = _judged("", judged)
    at = result.sel(flows=busiest)
    law = SubPacketExact(loss=float(at.loss.sel(link="independent")), collapse=2).silence_lengths()
    long = float(law.probability.values[law.length.values >= SILENCE].sum())
    tail, ideal = (float(at.silence_tail.sel(link=link, length=SILENCE)) for link in ("drop-tail", "independent"))
    equal, spread = (
        float(abs(result.loss_predicted - result.loss.sel(link=link)).max()) for link in ("drop-tail", "spread")
    )
    return {
        "fig9": f"With equal RTTs the printed chain is close to the packets at {near['drop-tail', 'full']} of "
        f"{result.sizes['flows']} loads.",
        "fig9_more": f"With RTTs spread by 5 % it is close at {near['spread', 'full']}; with independent losses, as "
        f"it assumes, at {near['independent', 'full']}. Close means a total-variation distance of at most {CLOSE:g}.",
        "silence": f"Long silences are {tail:.1%} of all under drop-tail and {ideal:.1%} with independent losses.",
        "silence_more": f"Long means at least {SILENCE} epochs. The exact chain, two successes, predicts {long:.1%}.",
        "loss": f"The predicted loss is off by at most {equal:.3f} with equal RTTs and {spread:.3f} with spread RTTs.",
        "verdicts": f"In Fig. 9, over all loads, links and chains: {counts(result.verdict)}.",
        "judge": f"The packet simulator agrees with ns-2.35 in {against['agree']} of {against['of']} quantities.",
    }


def _findings(result: xr.Dataset, fig9: go.Figure, sections: dict[str, Section]) -> dict[str, tuple[str, Any]]:
    """Three findings, each a sentence and a small picture; the third of a quick report needs no Linux."""
    name = "linux_sub_packet" if "linux_sub_packet" in sections else "t_refwa"
    third = sections[name].finding
    assert third is not None
    return {"chain": front.chain_finding(result, fig9), "leap": front.leap_finding(), name: third}
