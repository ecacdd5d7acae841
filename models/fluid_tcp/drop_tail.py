"""Fluid TCP at a drop-tail link: no interior equilibrium, but one on the edge of the full buffer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tcpdynamics.solvers.problems import DDE, Delayed

from ..formulas import named
from .equations import OperatingPoint, fluid_problem, full_window, symbols
from .link import FluidTcpLink


@dataclass(frozen=True, kw_only=True)
class FluidTcpDropTail(FluidTcpLink, reading="drop-tail"):
    """No marks: packets are lost when the buffer is full, p = max(0, 1 - C/arrivals) there and 0 elsewhere.

    There is no interior equilibrium: below a full buffer p = 0 and every window grows. The model rests on the edge
    q = B, where arrivals exceed C by just the share that is lost (W_0^2 p_0 = 2). There R is constant, the queue
    returns to B in finite time, and what remains is the scalar equation of `FluidTcpFullQueue`; in the full model the
    queue shows as a further root 0.

    Examples
    --------
    >>> link = FluidTcpDropTail(flows=100, capacity=1000, base_rtt=0.1, buffer=100)
    >>> print(f"{link.equilibrium().window:.3f} {link.stability_margin():.3f}")  # 2 packets per flow: stable
    2.732 0.526
    >>> FluidTcpDropTail(flows=10, capacity=1000, base_rtt=0.1, buffer=100).stability_margin() < 0
    True
    """

    def equilibrium(self) -> OperatingPoint:
        """q_0 = B, W_0 = (m + sqrt(m^2 + 8))/2 with m = R_0 C/N, p_0 = 1 - m/W_0 = 2/W_0^2."""
        v = self.values()
        rtt = v["base_rtt"] + v["buffer"] / v["capacity"]
        window = full_window(rtt * v["capacity"] / v["flows"])
        return OperatingPoint(
            named(window, "window", "packet", "mean window of a flow"),
            named(v["buffer"] + 0 * window, "queue", "packet", "queue"),
            named(2 / window**2, "loss", "1", "loss probability"),
            named(rtt, "rtt", "s", "round-trip time with a full buffer"),
            False,
        )

    def stability_margin(self) -> Any:
        """Phase that is left [rad]: arccos(-2/W_0^2) - sqrt(W_0^2/4 - 1/W_0^2), > 0 iff the edge q = B is stable.

        On the edge dW' = -dW/(R W_0) - (W_0/2R) dW_R, with the characteristic equation z + 1/W_0 + (W_0/2) e^-z = 0
        (z = s R). It depends on m alone and is positive for m = (R_0 C)/N below 2.944 packets per flow: with more
        the windows swing in step. Derived here.
        """
        window = self.equilibrium().window
        margin = np.arccos(-2 / window**2) - np.sqrt(window**2 / 4 - 1 / window**2)
        return named(margin, "stability_margin", "rad", "phase left before the windows swing")

    def dde(self) -> DDE:
        """States W and q, output p, time in seconds, from W = 1 and an empty queue."""
        import sympy

        return fluid_problem(self, sympy.Integer(0))

    def _queue(self, v: Any, rtt: Any) -> Any:
        return v["buffer"]


@dataclass(frozen=True, kw_only=True)
class FluidTcpFullQueue(FluidTcpDropTail):
    """`FluidTcpDropTail` while the buffer stays full: one state, W' = 1/R - W W_R p_R/(2R), p = max(0, 1 - m/W).

    Holds as long as N W >= R C; once arrivals fall short of C the queue drains and only the full model is right.

    Examples
    --------
    >>> FluidTcpFullQueue(flows=100, capacity=1000, base_rtt=0.1, buffer=100).dde().labels
    ('W',)
    """

    def dde(self) -> DDE:
        """State W, output p, time in seconds, from W = m + 1."""
        import sympy

        s = symbols(self)
        rtt = s.base_rtt + s.buffer / s.capacity
        fill = rtt * s.capacity / s.flows
        w_past, p_past = sympy.symbols("W_R p_R", real=True)
        whole = super().dde()
        return replace(
            whole,
            rhs={"W": 1 / rtt - s.W * w_past * p_past / (2 * rtt)},
            start={"W": fill + 1},
            outputs={"p": sympy.Max(0, s.W - fill) / sympy.Max(s.W, fill)},
            delayed={"W_R": Delayed("W", rtt), "p_R": Delayed("p", rtt)},
            fixed_points=({"W": full_window(fill)},),
        )
