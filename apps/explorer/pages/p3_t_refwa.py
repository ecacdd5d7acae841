"""For which gains do T-REFWA's commands settle, in each interpretation of the paper's equation?"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from tcpdynamics.models import RttCode, TRefwaDelayed
from tcpdynamics.solvers import stability_chart, trajectory
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.programs.straightline import Builder, Program
from tcpdynamics.solvers.trajectories.maps import first_order

from .. import numbers_t_refwa as numbers
from ..page import Choice, Control, Figure, Page, Preset, Printed, Values, control, program_of
from ..recorded import interval
from ..shown import shown
from ..t_refwa_gains import DELAYED, READINGS, TOP, cell_grid, closed_form, regions

LINKS = ("OC3", "T3", "OC12", "OC48")
INPUTS = ("phi", "psi", "bdp", "buffer")
#: Groups of as many flows, at equal distances of round-trip time.
GROUPS = 8
GROUP_INPUTS = ("rtt_low", "rtt_high", "group_flows", "aggregate")
#: Gains of the chart of exact roots; no corner of a closed form lies on one.
GRID = np.linspace(0.003, TOP + 0.003, 76)


def _settings(values: Values) -> dict[str, int]:
    """What the interpretation takes in addition to gains and link."""
    return {"delay": int(values["delay"])} if values["reading"] in DELAYED else {}


def _model(values: Values) -> Any:
    return READINGS[values["reading"]](**{k: values[k] for k in INPUTS}, **_settings(values))


@lru_cache(maxsize=64)
def _boundaries(reading: str, delay: int | None) -> dict[str, Any]:
    """Where stability ends: by the model's closed form, and by exact roots, in curves."""
    settings = {} if delay is None else {"delay": delay}
    chart = stability_chart(READINGS[reading](phi=GRID, psi=GRID, **settings))
    curves = []
    for curve in np.unique(chart.boundary_curve):
        at = np.asarray(chart.boundary_curve == curve)
        ends = [0] if chart.boundary_closed.values[at].any() else []
        rows = [np.append(v, v[ends]) for v in (chart.boundary_phi.values[at], chart.boundary_psi.values[at])]
        curves.append(np.round(rows, 6).tolist())
    return {"closed": np.round(closed_form(reading, **settings), 6).tolist(), "exact": curves}


def _recursion(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """The next states, what they make of link and queue, the start, and the equilibrium."""
    values = dict.fromkeys(INPUTS, 1.0) | dict(values)
    problem = first_order(_model(values).map())
    states = problem.labels
    rows = {
        **{f"next {k}": problem.rhs[k] for k in states},
        **{k: problem.outputs[k] for k in ("Upsilon", *problem.outputs) if k in problem.outputs},
        **{f"start {k}": problem.start[k] for k in states},
        **{f"rest {k}": problem.fixed_points[0][k] for k in states},
    }
    settings = _settings(values)
    about = {"rows": list(rows), "states": list(states), **_boundaries(values["reading"], settings.get("delay"))}
    return program_of(rows), (*states, *INPUTS), about


def _regions(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """Where each interpretation settles; the program gives the mark back."""
    b = Builder()
    return b.build([b.input("phi"), b.input("psi")]), ("phi", "psi"), {"regions": regions(int(values["delay"]))}


def _tangent(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """Derivatives of the next states by the states, row by row."""
    problem = first_order(_model(dict.fromkeys(INPUTS, 1.0) | dict(values)).map())
    whole = compile_system(problem).equations.tangent
    n = len(problem.labels)
    return replace(whole, outputs=whole.outputs[n:]), (*problem.labels, *INPUTS), {}


def _groups(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """Of each group: round-trip time, the code's error, a flow's rate and all flows' throughput; Jain's index.

    Windows are proportional to round-trip times as the router decodes them, cell by cell of the library's code.
    """
    code = RttCode()
    cells = np.arange(code.top + 1)
    ends, middles = code.cell(cells)[0], code.decode(cells)
    b = Builder()
    low, high, flows, aggregate = (b.input(name) for name in GROUP_INPUTS)
    times, decoded = [], []
    for group in range(GROUPS):
        rtt = b.add(low, b.mul(b.const(group / (GROUPS - 1)), b.sub(high, low)))
        rises = (
            b.mul(b.const(middles[k] - middles[k - 1]), b.apply("step", b.sub(rtt, b.const(ends[k]))))
            for k in cells[1:].tolist()
        )
        times.append(rtt)
        decoded.append(b.add(b.const(middles[0]), b.total(rises)))
    ratios = [b.div(one, rtt) for one, rtt in zip(decoded, times, strict=True)]
    total, groups = b.total(ratios), b.const(GROUPS)
    index = b.div(b.power(total, 2), b.mul(groups, b.total(b.power(r, 2) for r in ratios)))
    per_flow = b.div(aggregate, b.mul(flows, b.total(decoded)))
    rates = [b.mul(r, per_flow) for r in ratios]
    throughputs = [b.mul(flows, r) for r in rates]
    errors = [b.sub(r, b.const(1)) for r in ratios]
    grid = cell_grid(code)
    about = {
        "groups": GROUPS, "worst": code.worst_jain(), "longest": code.longest(), "bounds": code.error_bounds(),
        "rtt": grid.round(12).tolist(), "error": np.round(np.asarray(code.relative_error(grid)), 12).tolist(),
    }  # fmt: skip
    return b.build([*times, *errors, *rates, *throughputs, index]), GROUP_INPUTS, about


def dataset(values: Values) -> Any:
    """Commands and queue from an empty network."""
    return trajectory(_model(values).map(), np.arange(values["commands"] + 1))


def _fields(values: Values) -> dict[str, Any]:
    return {k: values[k] for k in INPUTS} | _settings(values)


_GROUPS = ("rtt_low", "rtt_high")


def _group_flows(values: Values) -> int:
    return int(values["group_flows"])


def _commands(values: Values) -> int:
    return int(values["commands"])


def _delay(values: Values) -> int:
    return int(values["delay"])


@cache
def recorded() -> dict[str, Any]:
    """Table III by link: of each protocol printed and simulated values."""
    return {link: numbers.table(link).to_dict("list") for link in LINKS}


def command(values: Values) -> str:
    """The command that gives the verdict at the same point."""
    options = " ".join(f"--{k} {v!r}" for k, v in _fields(values).items())
    return f"tcpdynamics stability t-refwa --interpretation {values['reading']} {options}"


PAGE = Page(
    slug="t-refwa",
    title="T-REFWA",
    question="For which gains do T-REFWA's explicit windows settle, and does that depend on the interpretation?",
    controls=(
        Choice("reading", "", "interpretation of the equation", tuple(READINGS)),
        control(TRefwaDelayed, "phi", 0.0, TOP, 1.5, 0.01),
        control(TRefwaDelayed, "psi", 0.0, TOP, 0.5, 0.01),
        control(TRefwaDelayed, "delay", 0, 5, 1, only=DELAYED),
        control(TRefwaDelayed, "bdp", 10, 1000, 190, 10),
        control(TRefwaDelayed, "buffer", 10, 1000, 190, 10),
        Control("commands", "n", "interval", "commands shown", 10, 200, 40, 1),
        Control("rtt_low", "RTT_1", "s", f"round-trip time of the first of {GROUPS} groups", 0.002, 0.05, 0.02, 0.001),
        Control("rtt_high", f"RTT_{GROUPS}", "s", "round-trip time of the last group", 0.06, 3.0, 0.3, 0.01),
        Control("group_flows", "n_j", "1", "flows of each group", 1, 50, 4, 1),
        Choice("line", "", "link of Table III", LINKS),
    ),
    main=("reading", "phi", "psi", "delay"),
    presets=(
        Preset("the paper's gains, the queue of now", {"phi": 1.5, "psi": 0.5}),
        Preset("the paper's gains, the queue one interval old", {"reading": "delayed"}),
        Preset("gains that settle in most interpretations: 0.5 and 0.25", {"phi": 0.5, "psi": 0.25}),
        Preset("round trips beyond the code's last cell", {"rtt_high": 3.0}),
    ),
    facts=lambda whole: {"table": recorded(), "moves": interval("t_refwa.sec3.settles.t3")},
    figures=(
        Figure(
            "chart", "Gains at which it settles", "A plane of the two gains: where the closed form is stable, the "
            "boundary by exact roots, the paper's gains, and a mark at the sliders; click or drag to move them",
            "plane", shown(numbers.chart, "reading", model=_model, settings=_settings),
        ),
        Figure(
            "window", "Commanded window", "Curves: the window that the router commands, against the interval",
            code=shown(numbers.window, model=_model, commands=_commands),
        ),
        Figure(
            "queue", "Queue", "Curves: the queue, and its equilibrium, against the interval",
            code=shown(numbers.queue, model=_model, commands=_commands),
        ),
        Figure(
            "groups", "Rate of each group at equilibrium, without queueing",
            "Points: the windows of a group's flows over their "
            "round-trip time, without the wait in the queue; lines: their mean, and equal parts of the link",
            code=shown(numbers.groups, *_GROUPS, model=_model, group_flows=_group_flows),
        ),
        Figure(
            "code", "Error of the round-trip time that a router sees", "A curve: the relative error of the 6-bit code "
            "against the round-trip time; points: the groups", code=shown(numbers.error, *_GROUPS),
        ),
        Figure(
            "facts", "At equilibrium", "Numbers: the largest multiplier, the window, Jain's index",
            "facts", shown(numbers.facts, *_GROUPS, model=_model, group_flows=_group_flows), command,
        ),
        Figure(
            "readings", "Gains at which it settles, by interpretation", "Planes of the two gains, one for "
            "each interpretation, where the closed form is stable, and a mark at the sliders; "
            "click or drag to move all marks",
            "charts", shown(numbers.readings, "phi", "psi", delay=_delay),
        ),
        Figure(
            "table", "Table III", "Points: fairness and utilisation of four protocols on a link, as printed, and in "
            "packets with 95 % intervals", code=shown(numbers.table, link=lambda values: values["line"]),
        ),
    ),
    printed=(
        Printed("recursion", ("reading", "delay"), _recursion),
        Printed("tangent", ("reading", "delay"), _tangent),
        Printed("groups", (), _groups),
        Printed("regions", ("delay",), _regions),
    ),
    dataset=dataset,
    notes=(
        "Every interval the router commands Upsilon + phi (BDP - Upsilon) + psi (B - Q). The paper (Taleb and others) "
        "does not say when it measures the quantities in brackets; each interpretation is one answer. The network "
        "begins empty.",
        "Shaded: stable by the interpretation's closed form. Line: where the largest multiplier of the exact "
        "linearisation has modulus 1. The mark shows the paper's gains, 1.5 and 0.5, which the paper calls stable "
        "under any conditions.",
        "A group's rate is its windows over its round-trip time without the wait in the queue, as in the paper. "
        "Windows at equilibrium hold more than the bandwidth-delay product, and the surplus waits in the queue: "
        "in sum these rates are above the link's; with the wait they are not.",
        "Windows are meant to give all flows one rate. Routers see round-trip times in cells of a 6-bit code, which "
        "ends at 1.14 s: beyond, flows get less the longer their round trip.",
        "In the interpretation mixed, half of the window comes one interval late.",
    ),
)  # fmt: skip
