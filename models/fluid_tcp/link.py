"""A link that TCP fills as a fluid, and drop tail: no interior equilibrium, but one on the edge of the full buffer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tcpdynamics.solvers.problems import DDE, Delayed, DomainError

from ..formulas import at_most, choose, named
from ..model import Model
from ..parameters import Number, Value, parameter
from .equations import (
    MGT,
    VARIABLES,
    OperatingPoint,
    capacity_parameter,
    flows_parameter,
    fluid_problem,
    full_window,
    resting_rtt,
    symbols,
)
from .linearisation import TcpLinearisation


@dataclass(frozen=True, kw_only=True)
class FluidTcpLink(Model, family="fluid-tcp"):
    """A link that N flows fill; use one of the classes that say when it marks or drops packets."""

    variables = VARIABLES
    flows: Number = flows_parameter()
    capacity: Number = capacity_parameter()
    base_rtt: Number = parameter(
        "T", "s", "round-trip time without queueing", low=0.0, source=MGT,
        note="`at_rtt(rtt=...)` takes the round-trip time at the operating point instead",
    )  # fmt: skip
    buffer: Number = parameter("B", "packet", "buffer", low=0.0, source=MGT)

    @classmethod
    def at_rtt(cls, *, rtt: Number, **parameters: Number) -> Self:
        """The model whose round-trip time *at the operating point* is `rtt` [s]: T = R_0 - q_0/C.

        Raises
        ------
        DomainError
            If the queueing delay q_0/C alone takes `rtt` or more.
        """
        model = cls(base_rtt=rtt, **parameters)
        v = model.values()
        base = v["base_rtt"] - model._queue(v, v["base_rtt"]) / v["capacity"]
        if not np.all(base > 0):
            raise DomainError(
                f"rtt must exceed the queueing delay at the operating point, which leaves {float(np.min(base)):g} s "
                "for propagation; give a longer rtt or another marking profile"
            )
        return replace(model, base_rtt=base)

    def linearisation(self) -> TcpLinearisation:
        """Transfer functions and critical gains at this operating point."""
        return TcpLinearisation(flows=self.flows, capacity=self.capacity, rtt=self.equilibrium().rtt)

    def equilibrium(self) -> OperatingPoint:
        raise NotImplementedError

    def queue_at(self, rtt: Value) -> Value:
        """Queue [packet] that rests where the round-trip time is `rtt`: the mark of W = R C/N with W^2 p = 2 holds it.

        Whatever the base round-trip time; that which belongs to it is rtt less queue over capacity.

        Parameters
        ----------
        rtt : number, DataArray or SymPy expression   R_0, round-trip time at the operating point [s].

        Examples
        --------
        >>> from tcpdynamics.models import FluidTcpProportional
        >>> link = FluidTcpProportional(flows=60, capacity=3750, base_rtt=0.2, buffer=800, gain=1.84e-4)
        >>> rest = link.equilibrium()
        >>> print(f"{link.queue_at(rest.rtt):.2f} {rest.queue:.2f}")
        59.69 59.69
        """
        return named(self._queue(self.values(), rtt), "queue", "packet", "queue")

    def _queue(self, v: Mapping[str, Value], rtt: Value) -> Value:
        raise NotImplementedError

    def _marked_point(self, marked: Value, full_mark: Value, top: Value | None = None) -> OperatingPoint:
        """W_0 = R C/N and W_0^2 p_0 = 2 with R_0 of `resting_rtt`; interior where that is `marked`.

        With a full buffer packets are lost beside the share `full_mark` that is marked, and windows are larger.
        """
        v = self.values()
        capacity, rtt = v["capacity"], resting_rtt(v, marked, top)
        fill, queue = rtt * capacity / v["flows"], self._queue(v, marked)
        interior = (queue < v["buffer"]) & (marked * capacity / v["flows"] > 2**0.5)
        interior = interior if top is None else interior & (queue < top)
        interior = bool(interior) if isinstance(interior, np.bool_) else interior
        full = rtt >= v["base_rtt"] + v["buffer"] / capacity
        window = choose(full, full_window((1 - full_mark) * fill), fill)
        waiting = choose(full, v["buffer"], capacity * (rtt - v["base_rtt"]))
        return OperatingPoint(
            named(window, "window", "packet", "mean window of a flow"),
            named(choose(interior, queue, waiting), "queue", "packet", "queue"),
            named(at_most(2 / window**2, 1.0), "loss", "1", "congestion signal"),
            named(rtt, "rtt", "s", "round-trip time at the operating point"),
            interior,
        )

    def _margin(self, critical: Value, gain: Value) -> Value:
        """critical/gain - 1, NaN where there is no interior operating point."""
        ratio = critical / gain - 1
        margin = choose(self.equilibrium().interior, ratio, np.nan)
        return named(margin, "stability_margin", "1", "critical over actual slope of marking, less one")


@dataclass(frozen=True, kw_only=True)
class FluidTcpDropTail(FluidTcpLink, interpretation="drop-tail"):
    """No marks: packets are lost when the buffer is full, p = max(0, 1 - C/arrivals) there and 0 elsewhere.

    There is no interior equilibrium: below a full buffer p = 0 and every window grows. The model stays at the edge
    q = B, where arrivals exceed C by just the fraction that is lost (W_0^2 p_0 = 2). There R is constant, the queue
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

    def stability_margin(self) -> Value:
        """Phase that is left [rad]: arccos(-2/W_0^2) - sqrt(W_0^2/4 - 1/W_0^2), > 0 iff the edge q = B is stable.

        On the edge dW' = -dW/(R W_0) - (W_0/2R) dW_R, with the characteristic equation z + 1/W_0 + (W_0/2) e^-z = 0
        (z = s R). It depends on m alone and is positive for m = (R_0 C)/N below 2.944 packets per flow: with more
        the windows swing together. Derived here.
        """
        window = self.equilibrium().window
        margin = np.arccos(-2 / window**2) - np.sqrt(window**2 / 4 - 1 / window**2)
        return named(margin, "stability_margin", "rad", "phase left before the windows swing")

    def dde(self) -> DDE:
        """States W and q, output p, time in seconds, from W = 1 and an empty queue."""
        import sympy

        return fluid_problem(self, sympy.Integer(0))

    def _queue(self, v: Mapping[str, Value], rtt: Value) -> Value:
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
        problem = super().dde()
        return replace(
            problem,
            rhs={"W": 1 / rtt - s.W * w_past * p_past / (2 * rtt)},
            start={"W": fill + 1},
            outputs={"p": sympy.Max(0, s.W - fill) / sympy.Max(s.W, fill)},
            delayed={"W_R": Delayed("W", rtt), "p_R": Delayed("p", rtt)},
            fixed_points=({"W": full_window(fill)},),
        )
