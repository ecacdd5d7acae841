"""Lotka-Volterra control with old measurements, as delay differential equations. Time and delays in round trips.

How old the measurement may be depends on which part of the law is old. If all of it is, the sum of the rates obeys the
delayed logistic equation and n does not matter. If a sender knows its own rate and only the others' are old, up to
gamma (n-1) = 1 no delay is too long, and beyond that the limit shrinks with every flow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tcpdynamics.solvers.problems import DDE, Delayed

from ..formulas import arccos, at_least, delay_roots, named, pi_of, sqrt
from ..parameters import Number, Value, broadcast, parameter
from .competition import Competition, total_of
from .equilibrium import fixed_points

if TYPE_CHECKING:
    import sympy
    import xarray as xr


@dataclass(frozen=True, kw_only=True)
class _Delayed(Competition):
    """Capacities in any unit of rate; time in round trips."""

    delay: Number = parameter(
        r"\tau", "1", "age of the measurement in round trips", low=0.0, low_open=False, default=1.0
    )

    def _dde(self, room: list[sympy.Expr]) -> DDE:
        """room: K_i - N_i - gamma sum of the others, with old values where they are old."""
        rates, epsilon = self._rates(), self._symbol("epsilon")
        rhs = {
            N.name: epsilon * N * free / K for N, free, K in zip(rates, room, self._symbols("capacity"), strict=True)
        }
        by = self._symbol("delay")
        delayed = {d.name: Delayed(N.name, by) for N, d in zip(rates, self._rates("_d"), strict=True)}
        return self.problem(
            DDE,
            rhs=rhs,
            delayed=delayed,
            start=self._start(),
            fixed_points=fixed_points(self),
            outputs={"total": total_of(rates)},
        )


@dataclass(frozen=True, kw_only=True)
class LotkaVolterraDelayed(_Delayed, interpretation="delayed"):
    """All rates are `delay` old: dN_i/dt = epsilon (1 - (N_i + gamma sum_{j != i} N_j)(t - delay)/K_i) N_i.

    Stable where epsilon delay < pi/2, for every n and gamma, and for unequal capacities too: whatever the K_i, -epsilon
    is the largest eigenvalue in magnitude without delay, and its eigenvector is N itself.

    Examples
    --------
    >>> round(LotkaVolterraDelayed(flows=5, epsilon=1.95).critical_delay(), 3)
    0.806
    """

    def dde(self) -> DDE:
        """The delay differential equations."""
        past, gamma = self._rates("_d"), self._symbol("gamma")
        total = total_of(past)
        room = [K - (1 - gamma) * N - gamma * total for K, N in zip(self._symbols("capacity"), past, strict=True)]
        return self._dde(room)

    def stability_margin(self) -> Value:
        """pi/2 - epsilon delay: stable where > 0."""
        v = broadcast(self)
        return named(pi_of(v["epsilon"]) / 2 - v["epsilon"] * v["delay"], "margin", "1", "stability margin")

    def critical_delay(self) -> Value:
        """pi/(2 epsilon) [RTT]."""
        eps = broadcast(self)["epsilon"]
        return named(pi_of(eps) / (2 * eps), "delay", "RTT", "critical delay")

    def spectrum(self, count: int = 4) -> xr.DataArray:
        """Rightmost characteristic roots for flows alike [1/RTT], of the sum and of differences, by Lambert's W."""
        v = self._alike("spectrum")
        slow = -v["epsilon"] * (1 - v["gamma"]) / self.crowding()
        return modes(delay_roots(0.0, -v["epsilon"], v["delay"], count), delay_roots(0.0, slow, v["delay"], count))


@dataclass(frozen=True, kw_only=True)
class LotkaVolterraCrossDelayed(_Delayed, interpretation="cross-delayed"):
    """A sender has its own rate at once, and the others' when they are `delay` old.

    With a = gamma (n-1) and rho = epsilon/M, for flows alike: stable for every delay where a <= 1, else where
    rho delay sqrt(a^2 - 1) < arccos(-1/a). Only the sum can become unstable.

    Examples
    --------
    >>> [round(LotkaVolterraCrossDelayed(flows=n, epsilon=1.95).critical_delay(), 2) for n in (2, 3, 5, 10)]
    [inf, 2.07, 1.26, 0.98]
    """

    def dde(self) -> DDE:
        """The delay differential equations."""
        rates, past, gamma = self._rates(), self._rates("_d"), self._symbol("gamma")
        total = total_of(past)
        room = [
            K - N + gamma * old - gamma * total
            for K, N, old in zip(self._symbols("capacity"), rates, past, strict=True)
        ]
        return self._dde(room)

    def stability_margin(self) -> Value:
        """arccos(-1/a) - rho delay sqrt(a^2 - 1), and pi for a <= 1: stable where > 0. For flows alike."""
        v, angle, speed = self._crossing("stability_margin")
        return named(angle - speed * v["delay"], "margin", "1", "stability margin")

    def critical_delay(self) -> Value:
        """arccos(-1/a)/(rho sqrt(a^2 - 1)) [RTT], inf for a <= 1. For flows alike."""
        _, angle, speed = self._crossing("critical_delay")
        with np.errstate(divide="ignore"):
            return named(np.divide(angle, speed), "delay", "RTT", "critical delay")

    def spectrum(self, count: int = 4) -> xr.DataArray:
        """Rightmost characteristic roots for flows alike [1/RTT], of the sum and of differences, by Lambert's W."""
        v = self._alike("spectrum")
        rho = v["epsilon"] / self.crowding()
        a = v["gamma"] * (v["flows"] - 1)
        return modes(
            delay_roots(-rho, -rho * a, v["delay"], count), delay_roots(-rho, rho * v["gamma"], v["delay"], count)
        )

    def _crossing(self, what: str) -> tuple[dict[str, Value], Value, Value]:
        """The angle at which roots cross the imaginary axis and the frequency there, pi and 0 where they never do."""
        v = self._alike(what)
        a = at_least(v["gamma"] * (v["flows"] - 1), 1.0)
        return v, arccos(-1 / a), v["epsilon"] / self.crowding() * sqrt(a**2 - 1)


def modes(total: xr.DataArray, difference: xr.DataArray) -> xr.DataArray:
    """Both spectra with a dimension `mode`: "sum" (once) and "difference" (n - 1 times)."""
    import xarray as xr

    roots = xr.concat([total, difference], dim="mode").assign_coords(mode=["sum", "difference"])
    return roots.transpose("mode", ...).assign_attrs(units="1/RTT", long_name="characteristic root")
