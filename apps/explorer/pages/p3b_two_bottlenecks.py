"""With two T-REFWA bottlenecks in a row, who gets what a flow limited elsewhere leaves?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tcpdynamics.models import TRefwaTwoLinksCommanded, TRefwaTwoLinksMeasured
from tcpdynamics.solvers import trajectory
from tcpdynamics.solvers.programs.straightline import Program

from .. import numbers_two_bottlenecks as numbers
from ..page import Choice, Control, Figure, Page, Preset, Printed, Values, control, program_of
from ..shown import shown

READINGS: dict[str, type[Any]] = {"commanded": TRefwaTwoLinksCommanded, "measured": TRefwaTwoLinksMeasured}
INPUTS = ("phi", "psi", "bdp_1", "buffer_1", "bdp_3", "buffer_3", "weight_1", "weight_2", "weight_3")
#: Buffers over bandwidth-delay products of the picture of utilisation.
BUFFERS = np.linspace(0.0, 1.0, 101)


def _model(values: Values) -> Any:
    return READINGS[values["reading"]](**{k: values[k] for k in INPUTS})


def _recursion(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """The next commands, what two commands make of the network, and the commands at equilibrium."""
    problem = READINGS[values["reading"]]().map()
    states = problem.labels
    rows = {f"next {k}": problem.rhs[k] for k in states}
    rows |= dict(problem.outputs)
    rows |= {f"rest {k}": problem.fixed_points[0][k] for k in states}
    return program_of(rows), (*states, *INPUTS), {"rows": list(rows), "states": list(states)}


def _used(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """Utilisation of both links at equilibrium in both interpretations, and the least buffer with which L1 is full."""
    import sympy

    symbols = {k: sympy.Symbol(k, positive=True) for k in INPUTS}
    rows: dict[str, Any] = {}
    for name, model in READINGS.items():
        rest = model(**symbols).equilibrium()
        rows |= {f"{name} {k}": rest[f"utilisation_{k}"] for k in (1, 3)}
    return program_of(rows), INPUTS, {"rows": list(rows), "buffers": BUFFERS.tolist()}


def dataset(values: Values) -> Any:
    """Commands, windows, queues and utilisation from an empty network."""
    return trajectory(_model(values).map(), np.arange(values["commands"] + 1))


def _fields(values: Values) -> dict[str, Any]:
    return {k: values[k] for k in INPUTS}


def _motion(numbers_of: Callable[..., Any]) -> Callable[[Values], str]:
    return shown(numbers_of, model=_model, commands=lambda values: int(values["commands"]))


def command(values: Values) -> str:
    """The command that gives the same motion."""
    options = " ".join(f"--{k.replace('_', '-')} {values[k]!r}" for k in INPUTS)
    return f"tcpdynamics trajectory t-refwa-two-links-{values['reading']} {options} --until {values['commands']:g}"


PAGE = Page(
    slug="two-bottlenecks",
    title="Two bottlenecks",
    question="When one link limits a group of flows, do T-REFWA's other flows take up the capacity it leaves?",
    controls=(
        Choice("reading", "", "window the router uses: commanded or measured", tuple(READINGS)),
        control(TRefwaTwoLinksCommanded, "phi", 0.01, 2.0, 1.0, 0.01),
        control(TRefwaTwoLinksCommanded, "psi", 0.0, 2.0, 0.5, 0.01),
        control(TRefwaTwoLinksCommanded, "bdp_1", 10, 500, 100, 5),
        control(TRefwaTwoLinksCommanded, "buffer_1", 0, 500, 10, 5),
        control(TRefwaTwoLinksCommanded, "bdp_3", 10, 500, 100, 5),
        control(TRefwaTwoLinksCommanded, "buffer_3", 0, 500, 10, 5),
        control(TRefwaTwoLinksCommanded, "weight_1", 0.5, 20, 5, 0.5),
        control(TRefwaTwoLinksCommanded, "weight_2", 0.5, 20, 4, 0.5),
        control(TRefwaTwoLinksCommanded, "weight_3", 0.5, 20, 6, 0.5),
        Control("commands", "n", "interval", "commands shown", 10, 200, 30, 1),
    ),
    main=("reading", "phi", "psi", "buffer_1"),
    presets=(
        Preset("the paper's flows: 5, 4 and 6", {}),
        Preset("the same, with the measured window", {"reading": "measured"}),
        Preset("buffers of a bandwidth-delay product", {"buffer_1": 100.0, "buffer_3": 100.0}),
    ),
    figures=(
        Figure(
            "windows", "Windows on the links", "Curves: the window that each link carries, against the interval",
            code=_motion(numbers.windows), command=command,
        ),
        Figure(
            "queues", "Queues", "Curves: the queue of each link, against the interval",
            code=_motion(numbers.queues), command=command,
        ),
        Figure(
            "shares", "Window of each group, per unit of weight", "Curves: what a flow of each group may send",
            code=_motion(numbers.shares), command=command,
        ),
        Figure(
            "used", "How full both links are at equilibrium", "Curves: utilisation of each link against the "
            "buffer, in both interpretations; a line marks the buffer of L1", code=shown(numbers.used, fields=_fields),
        ),
        Figure(
            "facts", "At equilibrium", "Numbers of both links at equilibrium",
            "facts", shown(numbers.facts, model=_model),
        ),
    ),
    printed=(Printed("recursion", ("reading",), _recursion), Printed("used", (), _used)),
    dataset=dataset,
    notes=(
        "Group 1 crosses both links, L1 and L3; group 2 crosses L1 only, group 3 L3 only. Each link feeds back its "
        "command over the weight (flows times round-trip time) that crosses it, and a flow obeys the least feedback on "
        "its path. The network begins empty.",
        "Commanded: the router uses the link's own command, whether flows use it or not; a link that "
        "limits no flow may then stay partly empty. Measured: it uses the window that flows do use, and both "
        "links are full.",
        "In the picture of utilisation both links have buffers of the same fraction of their bandwidth-delay product.",
    ),
)  # fmt: skip
