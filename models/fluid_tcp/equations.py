"""The equations of fluid TCP: window, reflecting queue, and the round-trip time at the operating point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from tcpdynamics.solvers.problems import DDE, Delayed

from ..formulas import sqrt
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
    loss : p_0, congestion signal [1]
    rtt : R_0, round-trip time there [s]
    interior : bool
        Whether the queue is neither empty nor full and the signal is on the sloping part of its profile, so that the
        linearisation describes the neighbourhood. Where False, the other numbers only continue the formulas.
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
        R_0 at the interior operating point. The delay is this, but no more than with a full buffer.
    point : mapping state -> expression, optional
        The interior operating point. The one on the edge q = B, where W (W - (1 - mark) m) = 2 with m = R C/N, is
        added; only one of the two is at rest.
    extra : rates of further states
    """
    import sympy

    s = symbols(model)
    arrivals = s.flows * s.W / s.rtt
    beyond = sympy.Max(0, arrivals - s.capacity) / sympy.Max(arrivals, s.capacity)
    lost = sympy.Piecewise((beyond, s.q >= s.buffer), (0, True))
    rate = arrivals - s.capacity
    reflected = sympy.Piecewise(
        (sympy.Max(rate, 0), s.q <= 0), (sympy.Min(rate, 0), s.q >= s.buffer), (rate, True)
    )
    w_past, q_past, p_past = sympy.symbols("W_R q_R p_R", real=True)
    window = 1 / s.rtt - s.W * w_past * p_past / (2 * (s.base_rtt + q_past / s.capacity))
    states = {"W": window, "q": reflected, **(extra or {})}
    longest = s.base_rtt + s.buffer / s.capacity
    delay = longest if rtt is None else sympy.Min(rtt, longest)
    unmarked = 1 - mark.subs({s.q: s.buffer, s.x: s.buffer})
    edge = {"W": full_window(unmarked * longest * s.capacity / s.flows), "q": s.buffer, "x": s.buffer}
    points = [{x: at[x] for x in states} for at in (point, edge) if at is not None]
    return model.problem(
        DDE,
        rhs=states,
        start={"W": 1.0, **dict.fromkeys((k for k in states if k != "W"), 0.0)},
        outputs={"p": mark + (1 - mark) * lost, "rtt": s.rtt, "arrivals": arrivals},
        delayed={"W_R": Delayed("W", delay), "q_R": Delayed("q", delay), "p_R": Delayed("p", delay)},
        fixed_points=points,
    )


def full_window(fill: Value) -> Value:
    """(m + sqrt(m^2 + 8))/2, the window that rests with a full buffer: W (W - m) = 2, where m packets a flow fit."""
    return (fill + sqrt(fill**2 + 8)) / 2


def symbols(model: Model) -> SimpleNamespace:
    """The symbols of a model's parameters, of the states W, q and x, and rtt = T + q/C, as attributes."""
    import sympy

    names: dict[str, sympy.Expr] = dict(model.symbols())
    names |= {state: sympy.Symbol(state, real=True) for state in ("W", "q", "x")}
    return SimpleNamespace(**names, rtt=names["base_rtt"] + names["q"] / names["capacity"])
