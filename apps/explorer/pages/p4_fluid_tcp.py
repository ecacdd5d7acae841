"""Where do TCP's windows and a router's queue settle, and when do they swing instead?"""

from __future__ import annotations

from typing import Any

import numpy as np

from tcpdynamics.models import FluidTcpProportional, FluidTcpRed
from tcpdynamics.solvers import trajectory
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.programs.straightline import Program

from .. import numbers_fluid_tcp as numbers
from ..fluid_boundary import ANY, FIELDS, MODELS, boundary_program, model_of
from ..page import Choice, Control, Figure, Page, Preset, Printed, Values, control, program_of
from ..shown import shown

#: Times that a trajectory is drawn at.
TIMES = 601


def _slopes(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """The right-hand side."""
    system = compile_system(model_of(ANY | dict(values)).dde())
    fields = FIELDS[values["marking"]]
    about = {"states": system.labels, "fields": fields}
    return system.rhs, (*system.labels, *system.delayed, *fields), about


def _signal(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """The congestion signal of a state, and its round-trip time."""
    problem = model_of(ANY | dict(values)).dde()
    rows = {name: problem.outputs[name] for name in ("p", "rtt")}
    return program_of(rows), (*problem.labels, *FIELDS[values["marking"]]), {}


def _rest(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """The delay, and the points of which one is at equilibrium."""
    problem = model_of(ANY | dict(values)).dde()
    rows = {"delay": problem.delayed["p_R"].by}
    for i, point in enumerate(problem.fixed_points):
        rows |= {f"{i} {state}": point[state] for state in problem.labels}
    return program_of(rows), FIELDS[values["marking"]], {"points": len(problem.fixed_points)}


def dataset(values: Values) -> Any:
    """The trajectory that the page draws, by the library's Taylor series."""
    problem = model_of(values).dde()
    delay = compile_system(problem).lag_values()[0, 0]
    return trajectory(problem, np.linspace(0.0, values["end"] * delay, TIMES))


def _fields(values: Values) -> dict[str, float]:
    return {k: values[k] for k in FIELDS[values["marking"]]}


def command(values: Values) -> str:
    """The command that judges the same point."""
    options = " ".join(f"--{k.replace('_', '-')} {values[k]!r}" for k in FIELDS[values["marking"]])
    return f"tcpdynamics stability fluid-tcp --interpretation {values['marking']} {options}"


PAGE = Page(
    slug="fluid-tcp",
    title="Fluid TCP",
    question="Where do TCP's windows and a router's queue settle, and when do they swing instead?",
    controls=(
        Choice("marking", "", "marking or dropping of packets", tuple(MODELS)),
        control(FluidTcpRed, "flows", 5, 400, 60, 1),
        control(FluidTcpRed, "base_rtt", 0.02, 0.6, 0.2, 0.002),
        control(FluidTcpRed, "capacity", 500, 10_000, 3750, 50),
        control(FluidTcpRed, "buffer", 50, 2000, 800, 10),
        control(FluidTcpProportional, "gain", 1e-5, 1e-2, 2e-4, log=True, only=("proportional",)),
        control(FluidTcpRed, "min_threshold", 0, 200, 150, 10, only=("red",)),
        control(FluidTcpRed, "max_threshold", 210, 1500, 700, 10, only=("red",)),
        control(FluidTcpRed, "p_max", 0.01, 1.0, 0.1, 0.01, only=("red",), percent=True),
        control(FluidTcpRed, "averaging", 0.01, 100.0, 1.0, log=True, only=("red",)),
        Control("end", "n", "RTT", "time shown, in round trips at equilibrium", 20, 300, 100, 1),
    ),
    figures=(
        Figure(
            "window", "Window of a flow", "Curves: the mean window against time, and its equilibrium",
            code=shown(numbers.window, "end", model=model_of),
        ),
        Figure(
            "queue", "Queue", "Curves: the queue against time, and its equilibrium",
            code=shown(numbers.queue, "end", model=model_of),
        ),
        Figure(
            "chart", "Where they settle", "A plane of flows and base round-trip time: the boundary of stability, and a "
            "mark at the sliders; click or drag to move them", "plane",
            shown(numbers.chart, "marking", model=model_of, fields=_fields), command,
        ),
        Figure(
            "plane", "Window and queue", "A plane of window and queue: the motion and the equilibrium",
            "plane", shown(numbers.plane, "end", model=model_of),
        ),
        Figure(
            "facts", "Equilibrium and oscillation", "Numbers: equilibrium, stability, and oscillation", "facts",
            shown(numbers.facts, "marking", "end", model=model_of, fields=_fields), command,
        ),
    ),
    printed=tuple(
        Printed(name, ("marking",), make)
        for name, make in (("slopes", _slopes), ("signal", _signal), ("rest", _rest), ("boundary", boundary_program))
    ),
    dataset=dataset,
    main=("marking", "flows", "base_rtt", "capacity"),
    presets=(
        Preset("60 flows, 3750 packet/s, 200 ms", {}),
        Preset("the same with RED", {"marking": "red"}),
        Preset("the same with drop tail", {"marking": "drop-tail"}),
        Preset("few flows on a long path: 10 flows, 400 ms", {"flows": 10.0, "base_rtt": 0.4}),
        Preset("many flows on a short path: 200 flows, 50 ms", {"flows": 200.0, "base_rtt": 0.05}),
    ),
    notes=(
        "The fluid model of Misra, Gong and Towsley: windows grow by a packet a round trip and halve at a mark, one "
        "round trip late. It begins with a window of one packet and an empty queue.",
        "Proportional: a packet is marked with probability gain times queue. RED: with a probability that rises from 0 "
        "at the lower threshold to its largest at the upper, by the averaged queue; above, all are marked. Drop tail: "
        "packets are lost where the buffer is full.",
        "A swing is read off the motion: the highest minus the lowest value, and the time from one to the next. Show "
        "more round trips where it still changes.",
        "With more flows, or a shorter round trip, than on the boundary, the equilibrium is stable (shaded; closed "
        "form of the exact linearisation); on its other side a limit cycle stays. The boundary ends where the queue "
        "would have its equilibrium outside the range in which marking rises with the queue, or outside the buffer.",
    ),
)  # fmt: skip
