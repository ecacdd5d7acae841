"""T-REFWA fed by the measured window when all flows of the link are limited elsewhere: wind-up and its cure.

The bracket of eq. (3) then never vanishes, and Upsilon, which nobody follows, grows by the same amount in every
interval. When the limit goes, the flows get all of it at once. Clamping Upsilon to what the link can hold, BDP + B,
ends that and moves no fixed point. (The literal reading, `TRefwaWindow`, cannot wind up: its bracket holds the
command itself, which therefore stays below BDP + (psi/phi) B.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpdynamics.solvers.problems import Map

from ..parameters import Number, parameter
from .recursion import OC3, Array, TRefwaLink, clip, over_grid

if TYPE_CHECKING:
    import sympy
    import xarray as xr


@dataclass(frozen=True)
class _Limited(TRefwaLink):
    """W = min(Upsilon, demand), measured."""

    demand: Number = parameter(
        "D", "packet", "largest window that the flows use", low=0.0, low_open=False, default=OC3 / 2
    )

    def windup(self) -> float | xr.DataArray:
        """How much an Upsilon beyond `demand` is pushed up in each interval [packets].

        phi (BDP - D) + psi (B - Q), at least 0: where it is 0 the flows can use what the law gives them.
        """
        return over_grid(self, _push, "windup", "growth of an unused window in an interval", "packet")

    def _bounded(self, following: sympy.Expr) -> sympy.Expr:
        """What becomes of the next command, in symbols."""
        return following

    def _map(self, **more: Any) -> Map:
        import sympy

        s, up = self.symbols(), sympy.Symbol("Upsilon", real=True)
        phi, psi, bdp, buffer, demand = (s[k] for k in ("phi", "psi", "bdp", "buffer", "demand"))
        window = sympy.Min(up, demand)
        queue = clip(window - bdp, 0, buffer)
        return self.problem(
            Map,
            rhs={"Upsilon": self._bounded(up + phi * (bdp - window) + psi * (buffer - queue))},
            start={"Upsilon": 0},
            outputs={"W": window, "Q": queue},
            **more,
        )


@dataclass(frozen=True)
class TRefwaLimited(_Limited):
    """The integrating recursion whose flows together take at most `demand`: W = min(Upsilon, demand).

    Upsilon(n+1) = Upsilon(n) + phi (BDP - W) + psi (B - Q), Q = clip(W - BDP, 0, B). With demand below
    BDP + psi B/(phi + psi) there is no fixed point: the command winds up by `windup()` an interval.

    Examples
    --------
    >>> TRefwaLimited(bdp=100.0, buffer=100.0, demand=60.0).windup()
    110.0
    """

    def map(self) -> Map:
        """State Upsilon; outputs W and Q [packets]."""
        return self._map()


@dataclass(frozen=True)
class TRefwaLimitedClamped(_Limited):
    """`TRefwaLimited` with anti-windup: Upsilon is clamped to `limit`.

    A limit of BDP + B, what link and buffer hold, lies above the fixed point BDP + psi B/(phi + psi), which it leaves
    where it is; a lower one may cut it off.

    Examples
    --------
    >>> TRefwaLimitedClamped(bdp=100.0, buffer=100.0, demand=[60.0, 150.0]).command().values
    array([200., 125.])
    """

    limit: Number = parameter("L", "packet", "largest command; BDP + B if not given", low=0.0, default=None)

    def command(self) -> float | xr.DataArray:
        """Upsilon in equilibrium [packets]: the limit if the flows cannot use the fixed point, else that point."""

        def rest(v: Mapping[str, Array]) -> Array:
            free = v["bdp"] + v["psi"] * v["buffer"] / (v["phi"] + v["psi"])
            limit = v.get("limit", v["bdp"] + v["buffer"])
            return np.where(v["demand"] >= free, np.minimum(free, limit), limit)

        return over_grid(self, rest, "command", "commanded window in equilibrium", "packet")

    def map(self) -> Map:
        """State Upsilon; outputs W and Q [packets]."""
        import sympy

        s = self.symbols()
        free = s["bdp"] + s["psi"] * s["buffer"] / (s["phi"] + s["psi"])
        reached = s["demand"] >= free
        equilibrium = sympy.Piecewise((sympy.Min(free, self._limit()), reached), (self._limit(), True))
        return self._map(fixed_points=[{"Upsilon": equilibrium}])

    def _limit(self) -> sympy.Expr:
        s = self.symbols()
        return s.get("limit", s["bdp"] + s["buffer"])

    def _bounded(self, following: sympy.Expr) -> sympy.Expr:
        import sympy

        return sympy.Min(following, self._limit())


def _push(v: Mapping[str, Array]) -> Array:
    queue = np.maximum(np.minimum(v["demand"] - v["bdp"], v["buffer"]), 0.0)
    return np.maximum(v["phi"] * (v["bdp"] - v["demand"]) + v["psi"] * (v["buffer"] - queue), 0.0)
