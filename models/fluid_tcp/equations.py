"""The equations of fluid TCP: window, reflecting queue, and the round-trip time at the operating point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from tcpdynamics.solvers.problems import DDE, Delayed

from ..formulas import at_least, at_most, sqrt
from ..model import Model
from ..parameters import Value, parameter

if TYPE_CHECKING:
    import sympy
    import xarray as xr

MGT = "Misra, Gong, Towsley, SIGCOMM 2000, doi:10.1145/347057.347421"
HOLLOT = "Hollot, Misra, Towsley, Gong, INFOCOM 2001, doi:10.1109/INFCOM.2001.916670"

flows_parameter = partial(parameter, "N", "1", "flows", low=0.0, source=MGT)
capacity_parameter = partial(parameter, "C", "packet/s", "capacity of the link", low=0.0, source=MGT)

VARIABLES = {
    "W": ("packet", "mean window of a flow"),
    "q": ("packet", "queue"),
    "x": ("packet", "averaged queue"),
    "p": ("1", "congestion signal: probability that a packet is marked or lost"),
    "rtt": ("s", "round-trip time at this queue"),
    "arrivals": ("packet/s", "arrival rate at the link"),
}


@dataclass(frozen=True)
class OperatingPoint:
    """Where a fluid model rests: numbers, DataArrays or SymPy expressions.

    Attributes
    ----------
    window : W_0 [packet]
    queue : q_0 [packet]
    loss : p_0, congestion signal [1], at most 1
    rtt : R_0, round-trip time there [s]
    interior : bool
        Whether the queue is neither empty nor full and the signal is on the sloping part of its profile, where the
        critical gains hold. Where False, every packet is marked (loss 1), the buffer is full, or the average stays at
        the jump of the profile.
    """

    window: Value
    queue: Value
    loss: Value
    rtt: Value
    interior: bool | xr.DataArray | sympy.Basic


def operating_rtt(rest: Value, slope: Value, flows: Value, capacity: Value) -> Value:
    """R_0 [s] where the signal is p = slope (q - q_min) and `rest` = base RTT + q_min/C.

    R_0 = rest + p_0/(slope C) with p_0 = 2/W_0^2 and W_0 = R_0 C/N is the cubic R^2 (R - rest) = 2 N^2/(slope C^3). It
    has one positive root, and Cardano's formula for it adds positive terms only, so no digit is lost.
    """
    third = rest / 3
    cubed = third**3
    half = flows**2 / (slope * capacity**3)
    big = _cube_root(cubed + half + sqrt(half * (2 * cubed + half)))
    return third + big + third**2 / big


def resting_rtt(v: Mapping[str, Value], marked: Value, top: Value | None = None) -> Value:
    """R_0 [s] where the model rests, whatever limits the queue.

    `marked` where the signal is on the slope of its profile. No window rests below sqrt(2), where every packet is
    marked, so that R_0 >= sqrt(2) N/C; where the profile jumps to 1 at the queue `top` the average goes no further
    unless that demands it; and the buffer bounds all.
    """
    base, capacity = v["base_rtt"], v["capacity"]
    below = marked if top is None else at_most(marked, base + top / capacity)
    return at_most(at_least(below, all_marked(v["flows"]) / capacity), base + v["buffer"] / capacity)


def all_marked(flows: Value) -> Value:
    """sqrt(2) N [packet]: all windows where every packet is marked, since W^2 p = 2."""
    return sqrt(2 * flows**2)


def _cube_root(value: Value) -> Value:
    if hasattr(value, "free_symbols"):
        import sympy

        return sympy.cbrt(value)
    return np.cbrt(value)


def fluid_problem(
    model: Model,
    mark: sympy.Expr,
    rtt: sympy.Expr | None = None,
    point: Mapping[str, sympy.Expr] | None = None,
    extra: Mapping[str, sympy.Expr] | None = None,
) -> DDE:
    """W' = 1/R(q) - W W_R p_R/(2 R(q_R)) and q' = N W/R(q) - C, kept in [0, B].

    Parameters
    ----------
    mark : SymPy expression
        Probability of a mark. Where the queue is full, what the link cannot take is lost besides.
    rtt : SymPy expression in the parameters, optional
        R_0, the delay; default that with a full buffer.
    point : mapping state -> expression, optional
        The interior operating point. Two are added: that on the edge q = B, where W (W - (1 - mark) m) = 2 with
        m = R C/N, and that where every packet is marked, W = sqrt(2). Those off the edge hold below it only. At most
        one of the three is at rest, but for values where two of them meet.
    extra : rates of further states
    """
    import sympy

    s = symbols(model)
    arrivals = s.flows * s.W / s.rtt
    beyond = sympy.Max(0, arrivals - s.capacity) / sympy.Max(arrivals, s.capacity)
    lost = sympy.Piecewise((beyond, s.q >= s.buffer), (0, True))
    rate = arrivals - s.capacity
    reflected = sympy.Piecewise((sympy.Max(rate, 0), s.q <= 0), (sympy.Min(rate, 0), s.q >= s.buffer), (rate, True))
    w_past, q_past, p_past = sympy.symbols("W_R q_R p_R", real=True)
    window = 1 / s.rtt - s.W * w_past * p_past / (2 * (s.base_rtt + q_past / s.capacity))
    states = {"W": window, "q": reflected, **(extra or {})}
    longest = s.base_rtt + s.buffer / s.capacity
    delay = longest if rtt is None else rtt
    unmarked = 1 - mark.subs({s.q: s.buffer, s.x: s.buffer})
    edge = {"W": full_window(unmarked * longest * s.capacity / s.flows), "q": s.buffer, "x": s.buffer}
    points: list[Mapping[str, sympy.Expr]] = [edge]
    if point is not None:
        waiting = all_marked(s.flows) - s.capacity * s.base_rtt
        marked = {"W": sympy.sqrt(2), "q": waiting, "x": waiting}
        points = [_below_full(point, s), edge, _below_full(marked, s)]
    return model.problem(
        DDE,
        rhs=states,
        start={"W": 1.0, **dict.fromkeys((k for k in states if k != "W"), 0.0)},
        outputs={"p": mark + (1 - mark) * lost, "rtt": s.rtt, "arrivals": arrivals},
        delayed={"W_R": Delayed("W", delay), "q_R": Delayed("q", delay), "p_R": Delayed("p", delay)},
        fixed_points=[{x: at[x] for x in states} for at in points],
    )


def _below_full(point: Mapping[str, sympy.Expr], s: SimpleNamespace) -> dict[str, sympy.Expr]:
    """The same point; where its queue exceeds the buffer a negative one, with which nothing is at rest."""
    import sympy

    queue = sympy.Piecewise((point["q"], point["q"] <= s.buffer), (-s.capacity * s.base_rtt / 2, True))
    return {**point, "q": queue}


def full_window(fill: Value) -> Value:
    """(m + sqrt(m^2 + 8))/2, the window that rests with a full buffer: W (W - m) = 2, where m packets a flow fit."""
    return (fill + sqrt(fill**2 + 8)) / 2


def symbols(model: Model) -> SimpleNamespace:
    """The symbols of a model's parameters, of the states W, q and x, and rtt = T + q/C, as attributes."""
    import sympy

    names: dict[str, sympy.Expr] = dict(model.symbols())
    names |= {state: sympy.Symbol(state, real=True) for state in ("W", "q", "x")}
    return SimpleNamespace(**names, rtt=names["base_rtt"] + names["q"] / names["capacity"])
