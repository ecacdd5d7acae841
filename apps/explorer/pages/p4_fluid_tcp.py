"""Where do TCP's windows and a router's queue settle, and when do they swing instead?"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.models import FluidTcpDropTail, FluidTcpFullQueue, FluidTcpProportional, FluidTcpRed, TcpLinearisation
from tcpdynamics.solvers import characteristic_roots, trajectory
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.programs.straightline import Program, run

from .. import code_fluid_tcp as code
from ..page import Choice, Control, Figure, Page, Printed, Values, control, program_of

#: Fields of each model.
LINK = ("flows", "capacity", "base_rtt", "buffer")
FIELDS = {
    "proportional": (*LINK, "gain"),
    "red": (*LINK, "min_threshold", "max_threshold", "p_max", "averaging"),
    "drop-tail": LINK,
}
MODELS: dict[str, type[Any]] = {"proportional": FluidTcpProportional, "red": FluidTcpRed, "drop-tail": FluidTcpDropTail}
#: Times that a trajectory is drawn at.
TIMES = 601
#: A link for the equations' sake: they hold symbols.
ANY = {
    "flows": 60.0, "capacity": 3750.0, "base_rtt": 0.2, "buffer": 800.0, "gain": 2e-4,
    "min_threshold": 150.0, "max_threshold": 700.0, "p_max": 0.1, "averaging": 0.5,
}  # fmt: skip


def _model(values: Values) -> Any:
    return MODELS[values["marking"]](**{k: values[k] for k in FIELDS[values["marking"]]})


def _slopes(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """The right-hand side."""
    system = compile_system(_model(ANY | dict(values)).dde())
    fields = FIELDS[values["marking"]]
    about = {"states": system.labels, "fields": fields}
    return system.rhs, (*system.labels, *system.delayed, *fields), about


def _signal(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """The congestion signal of a state, and its round-trip time."""
    problem = _model(ANY | dict(values)).dde()
    rows = {name: problem.outputs[name] for name in ("p", "rtt")}
    return program_of(rows), (*problem.labels, *FIELDS[values["marking"]]), {}


def _rest(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """The delay, and the points of which one is at rest."""
    problem = _model(ANY | dict(values)).dde()
    rows = {"delay": problem.delayed["p_R"].by}
    for i, point in enumerate(problem.fixed_points):
        rows |= {f"{i} {state}": point[state] for state in problem.labels}
    return program_of(rows), FIELDS[values["marking"]], {"points": len(problem.fixed_points)}


@cache
def critical_fill() -> float:
    """Packets a flow that link and full buffer hold, R C/N, from which on drop tail swings."""
    low, high = 1.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2  # R C/N of one flow on a link of one packet a second, with a buffer of half of it
        stable = FluidTcpDropTail(flows=1, capacity=1, base_rtt=middle / 2, buffer=middle / 2).stability_margin() > 0
        low, high = (middle, high) if stable else (low, middle)
    return low


@cache
def critical_phase() -> float:
    """Phase [rad] of drop tail's swing in a round trip, where it begins: the root on the imaginary axis."""
    fill = critical_fill()
    edge = FluidTcpFullQueue(flows=1, capacity=1, base_rtt=fill / 2, buffer=fill / 2)
    return float(abs(characteristic_roots(edge).characteristic_root.values[0].imag) * fill)


def _boundary(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """A point of the boundary, by its oscillation's phase v and its round-trip time R.

    Of v in (0, pi), the boundary has the one at which `beyond` or `balance` turns positive. Then the flows, the base
    round-trip time, the period of the oscillation, and what must be positive for the queue to rest where marks are
    proportional.
    """
    import sympy

    phase, rtt = sympy.symbols("phase rtt", positive=True)
    marking = values["marking"]
    v: dict[str, Any] = dict(_model(ANY | dict(values)).symbols())
    if marking == "drop-tail":
        flows, queue, turn = rtt * v["capacity"] / critical_fill(), v["buffer"], critical_phase()
        rows = {"beyond": sympy.Integer(1), "balance": sympy.Integer(1), "inside": sympy.Integer(1)}
    else:
        n, turn = sympy.Symbol("n", positive=True), phase
        model: Any = MODELS[marking](**v | {"flows": n})
        slope: Any = v["gain"] if marking == "proportional" else model.slope()
        lag = 1 / (v["averaging"] * rtt) if marking == "red" else sympy.Integer(0)
        sine, top, bottom, kappa = TcpLinearisation.filtered_boundary(phase, lag)
        flows = rtt * v["capacity"] * bottom / top
        gain: Any = TcpLinearisation(flows=n, capacity=v["capacity"], rtt=rtt).loop_gain(slope)
        per_window = gain.subs(n, rtt * v["capacity"])  # W loop gains at N = R C/W
        queue = model.queue_at(rtt).subs(n, flows)
        full = sympy.Min(v["buffer"], v["max_threshold"]) if marking == "red" else v["buffer"]
        rows = {
            "beyond": -sine, "balance": kappa * bottom - per_window * top,
            "inside": sympy.Min(1 - queue / full, 1 - 2 * (bottom / top) ** 2),
        }  # fmt: skip
    rows |= {"flows": flows, "base_rtt": rtt - queue / v["capacity"], "period": 2 * sympy.pi * rtt / turn}
    return program_of(rows), ("phase", "rtt", *FIELDS[marking]), {"rows": list(rows)}


def dataset(values: Values) -> Any:
    """The trajectory that the page draws, by the library's Taylor series."""
    problem = _model(values).dde()
    delay = compile_system(problem).lag_values()[0, 0]
    return trajectory(problem, np.linspace(0.0, values["end"] * delay, TIMES))


def boundary(marking: str, rtts: Any, **fields: float) -> NDArray[np.float64]:
    """(n, 4): flows, base round-trip time [s], what is > 0 where the queue rests inside, and the swing's period [s].

    The boundary of stability at round-trip times, by the functions that the page runs.
    """
    program, inputs, about = _boundary({"marking": marking})
    rows = []
    for rtt in np.asarray(rtts, dtype=float).tolist():
        low, high = 0.0, math.pi
        for _ in range(40):
            middle = (low + high) / 2
            at = fields | {"phase": middle, "rtt": rtt}
            point = dict(zip(about["rows"], run(program, {k: at[k] for k in inputs}), strict=True))
            low, high = (low, middle) if point["beyond"] > 0 or point["balance"] > 0 else (middle, high)
        inside = min(point["inside"], point["base_rtt"])
        rows.append([point["flows"], point["base_rtt"], inside, point["period"]])
    return np.array(rows)


def _coded(picture: Callable[..., str]) -> Callable[[Values], str]:
    """The code of a picture of the marking's model."""

    def lines(values: Values) -> str:
        marking = values["marking"]
        return picture(MODELS[marking], {k: values[k] for k in FIELDS[marking]}, values)

    return lines


def command(values: Values) -> str:
    """The command that judges the same point."""
    options = " ".join(f"--{k.replace('_', '-')} {values[k]!r}" for k in FIELDS[values["marking"]])
    return f"tcpdynamics stability fluid-tcp --reading {values['marking']} {options}"


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
        control(FluidTcpRed, "p_max", 0.01, 1.0, 0.1, 0.01, only=("red",)),
        control(FluidTcpRed, "averaging", 0.01, 100.0, 1.0, log=True, only=("red",)),
        Control("end", "n", "RTT", "time shown, in round trips at rest", 20, 300, 100, 1),
    ),
    figures=(
        Figure(
            "window", "Window of a flow", "Curves: the mean window against time, and where it rests",
            code=_coded(code.window),
        ),
        Figure("queue", "Queue", "Curves: the queue against time, and where it rests", code=_coded(code.queue)),
        Figure(
            "chart", "Where they settle", "A plane of flows and base round-trip time: the boundary of stability, and a "
            "mark at the sliders; click or drag to move them", "plane", _coded(code.chart), command,
        ),
        Figure(
            "plane", "Window and queue", "A plane of window and queue: the motion and the point of rest",
            "plane", _coded(code.plane),
        ),
        Figure(
            "facts", "Rest and swing", "Numbers: where it rests, whether that is stable, and the swing",
            "facts", _coded(code.facts), command,
        ),
    ),
    printed=tuple(
        Printed(name, ("marking",), make)
        for name, make in (("slopes", _slopes), ("signal", _signal), ("rest", _rest), ("boundary", _boundary))
    ),
    dataset=dataset,
    notes=(
        "The fluid model of Misra, Gong and Towsley: windows grow by a packet a round trip and halve at a mark, one "
        "round trip late. It begins with a window of one packet and an empty queue.",
        "Proportional: a packet is marked with probability gain times queue. RED: with a probability that rises from 0 "
        "at the lower threshold to its largest at the upper, by the averaged queue; above, all are marked. Drop tail: "
        "packets are lost where the buffer is full.",
        "A swing is read off the motion: the highest minus the lowest value, and the time from one to the next. Show "
        "more round trips where it still changes.",
        "With more flows, or a shorter round trip, than on the boundary, the point of rest is stable (shaded; closed "
        "form of the exact linearisation); on its other side a limit cycle stays. The boundary ends where the queue "
        "would rest outside the range in which marking rises with the queue, or outside the buffer.",
    ),
)  # fmt: skip
