"""T-REFWA in continuous time, as XCP is analysed: the command changes at a rate, and the queue integrates.

Time in units of RTT_avg. e is the excess window, which is also the excess of packets that an RTT brings, so
dQ/dt = e while the queue is not empty; the fixed point is e* = 0, Q* = B. As it lies at the buffer's end, the
queue may grow beyond it, and the overflow is reported.

References
----------
.. [1] D. Katabi, M. Handley, C. Rohrs, Congestion control for high bandwidth-delay product networks, ACM SIGCOMM
   2002, section 4 and theorem 1; doi:10.1145/633025.633035
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tcpdynamics.solvers.problems import DDE, Delayed

from ..formulas import exp
from ..parameters import Complex, Number, Value, broadcast, parameter
from .recursion import Array, TRefwaModel, both_delayed_critical, over_grid, queue_delayed_critical

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class _Continuous(TRefwaModel):
    """de/dt = -phi e + psi (B - Q), dQ/dt = e, with delays."""

    time_units = "RTT"

    delay: Number = parameter("\\tau", "1", "delay, in mean RTTs", low=0.0, low_open=False, default=1.0)

    def critical_psi(self) -> float | xr.DataArray:
        """The upper end of the stable psi at this phi and delay (inf without delay): float, or DataArray."""
        return over_grid(self, self._critical, "critical_psi", "largest stable gain")

    def _rest(self, v: Mapping[str, Value]) -> dict[str, Value]:
        return {"e": 0 * v["buffer"], "Q": v["buffer"]}

    def _margin(self, v: Mapping[str, Array]) -> Array:
        return np.minimum(np.minimum(v["phi"], v["psi"]), self._critical(v) - v["psi"])

    def _critical(self, v: Mapping[str, Array]) -> Array:
        # z = u/tau turns phi into phi tau and psi into psi tau^2, at a delay of one.
        tau = v["delay"]
        scaled = v["phi"] * tau
        # Steps of Newton's method beyond the curve's end overflow, and are not used.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(tau > 0, self._curve()(scaled) / tau / tau, np.inf)

    def _curve(self) -> Callable[[Array], Array]:
        raise NotImplementedError

    def _late(self) -> tuple[str, ...]:
        """States of which the command sees the past."""
        raise NotImplementedError

    def dde(self) -> DDE:
        """States e and Q; outputs Upsilon and overflow [packets]; time in mean RTTs."""
        import sympy

        phi, psi, bdp, buffer = self._symbols()
        e, queue = sympy.symbols("e Q", real=True)
        late = {s: sympy.Symbol(f"{s}_d", real=True) for s in self._late()}
        return self._problem(
            DDE,
            rhs={
                "e": -phi * late.get("e", e) + psi * (buffer - late["Q"]),
                "Q": sympy.Piecewise((e, queue > 0), (sympy.Max(e, 0), True)),
            },
            delayed={symbol.name: Delayed(s, self.symbols()["delay"]) for s, symbol in late.items()},
            outputs={"Upsilon": bdp + e, "overflow": sympy.Max(queue - buffer, 0)},
        )


@dataclass(frozen=True)
class TRefwaContinuous(_Continuous, interpretation="continuous"):
    """The form of XCP: window and queue are both seen one round trip late.

    de/dt = -phi e(t - tau) + psi (B - Q(t - tau)), dQ/dt = e(t). The characteristic equation is
    z^2 + (phi z + psi) e^(-tau z) = 0. With tau = 1 it is stable iff (phi, psi) lies below the curve phi = w sin w,
    psi = w^2 cos w, 0 < w < pi/2, and psi > 0; so phi < pi/2 and psi < 0.5498. The published gains are unstable.
    XCP's theorem (phi < pi/(4 sqrt 2), psi = sqrt(2) phi^2) is a parabola inside that ends on the curve at w = pi/4.

    Examples
    --------
    >>> TRefwaContinuous().stability_margin() < 0, TRefwaContinuous(phi=1.0).stability_margin() > 0
    (True, True)
    """

    def characteristic(self, z: Complex) -> Complex:
        """z^2 + (phi z + psi) exp(-tau z)."""
        v = broadcast(self)
        return z**2 + (v["phi"] * z + v["psi"]) * exp(-v["delay"] * z)

    def _curve(self) -> Callable[[Array], Array]:
        return both_delayed_critical

    def _late(self) -> tuple[str, ...]:
        return ("e", "Q")


@dataclass(frozen=True)
class TRefwaQueueDelayed(_Continuous, interpretation="queue-delayed"):
    """Only the queue is seen late; the window is the router's own.

    de/dt = -phi e(t) + psi (B - Q(t - tau)), dQ/dt = e(t). The characteristic equation is
    z^2 + phi z + psi e^(-tau z) = 0. With tau = 1 it is stable iff phi > 0 and 0 < psi < w^2/cos w, where
    w tan w = phi and 0 < w < pi/2: psi < 1.77 at the published phi.

    Examples
    --------
    >>> round(TRefwaQueueDelayed().critical_psi(), 3), TRefwaQueueDelayed().stability_margin()
    (1.775, 0.5)
    """

    def characteristic(self, z: Complex) -> Complex:
        """z^2 + phi z + psi exp(-tau z)."""
        v = broadcast(self)
        return z**2 + v["phi"] * z + v["psi"] * exp(-v["delay"] * z)

    def _curve(self) -> Callable[[Array], Array]:
        return queue_delayed_critical

    def _late(self) -> tuple[str, ...]:
        return ("Q",)
