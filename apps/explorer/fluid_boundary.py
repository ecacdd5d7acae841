"""Where fluid TCP turns from equilibrium to swing: the boundary of stability, as a program that the page runs too."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.models import FluidTcpDropTail, FluidTcpFullQueue, FluidTcpProportional, FluidTcpRed, TcpLinearisation
from tcpdynamics.solvers import characteristic_roots
from tcpdynamics.solvers.programs.straightline import Program, run

from .page import Values, program_of

#: Fields of each model.
LINK = ("flows", "capacity", "base_rtt", "buffer")
FIELDS = {
    "proportional": (*LINK, "gain"),
    "red": (*LINK, "min_threshold", "max_threshold", "p_max", "averaging"),
    "drop-tail": LINK,
}
MODELS: dict[str, type[Any]] = {"proportional": FluidTcpProportional, "red": FluidTcpRed, "drop-tail": FluidTcpDropTail}
#: A link for the equations' sake: they hold symbols.
ANY = {
    "flows": 60.0, "capacity": 3750.0, "base_rtt": 0.2, "buffer": 800.0, "gain": 2e-4,
    "min_threshold": 150.0, "max_threshold": 700.0, "p_max": 0.1, "averaging": 0.5,
}  # fmt: skip


def model_of(values: Values) -> Any:
    """The marking's model."""
    return MODELS[values["marking"]](**{k: values[k] for k in FIELDS[values["marking"]]})


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


def boundary_program(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """A point of the boundary, by its oscillation's phase v and its round-trip time R.

    Of v in (0, pi), the boundary has the one at which `beyond` or `balance` turns positive. Then the flows, the base
    round-trip time, the period of the oscillation, and what must be positive for the queue to rest where marks are
    proportional.
    """
    import sympy

    phase, rtt = sympy.symbols("phase rtt", positive=True)
    marking = values["marking"]
    v: dict[str, Any] = dict(model_of(ANY | dict(values)).symbols())
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


def boundary(marking: str, rtts: Any, **fields: float) -> NDArray[np.float64]:
    """(n, 4): flows, base round-trip time [s], what is > 0 where the queue rests inside, and the swing's period [s].

    The boundary of stability at round-trip times, by the functions that the page runs.
    """
    program, inputs, about = boundary_program({"marking": marking})
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
