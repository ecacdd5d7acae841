"""Lotka-Volterra control with errors in what it measures: the available bandwidth A_i and the capacity K_i."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpdynamics.solvers.problems import ODE, DomainError

from ..formulas import named, positive_part
from ..parameters import Number, Value, broadcast, parameter
from .competition import total_of
from .equilibrium import LinearReading, buffer_size, rtt_of

if TYPE_CHECKING:
    import sympy
    import xarray as xr


@dataclass(frozen=True, kw_only=True)
class LotkaVolterraErrors(LinearReading, interpretation="errors"):
    """Interpretation R1 on one link K, when flow i measures K (1 + kappa_i) for K and A_i + delta_i for A_i (eq. 7).

    Flow i then grows as if it had R_i = K (1 + (1-gamma) kappa_i) + gamma delta_i in the place of K: A_i is a
    separate measurement, so an error of K enters twice, in capacity and in K - A_i, and all but 1 - gamma of it
    cancels. Where the sum of the others is known rather than A_i (eq. 6), an error of K enters whole: that is
    `LotkaVolterraWindows` with K (1 + kappa_i) for its capacities. `capacity` is the true rate, the same for all.

    Examples
    --------
    >>> from tcpdynamics.models import per_flow
    >>> low = LotkaVolterraErrors(flows=5, available_error=per_flow([-1.0, 0.0, 0.0, 0.0, 0.0]))
    >>> low.equilibrium().N.values.round(2)  # one packet/s too little measured: 7.24 too little sent
    array([14.5, 23.5, 23.5, 23.5, 23.5])
    >>> round(low.own_gain(), 2), round(low.capacity_tolerance(), 3)
    (7.24, 0.27)
    """

    available_error: Number = parameter(
        r"\delta", "packet/s", "error of the available bandwidth", default=0.0, note="One number or a value per flow"
    )
    capacity_error: Number = parameter(
        r"\kappa", "1", "relative error of the capacity", low=-1.0, default=0.0, note="One number or a value per flow"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if "capacity" in self._each():
            raise DomainError("capacity must be the same for all flows here; give the errors per flow")

    def ode(self) -> ODE:
        """The differential equation in rates; time in round trips, in seconds with a `base_rtt`."""
        rates, gamma = self._rates(), self._symbol("gamma")
        total = total_of(rates)
        resources = self._resources_in_symbols()
        wrong = [1 + kappa for kappa in self._symbols("capacity_error")]
        room = [
            (R - (1 - gamma) * N - gamma * total) / factor for R, N, factor in zip(resources, rates, wrong, strict=True)
        ]
        return self._ode(room, self._fixed_points(resources), {})

    def own_gain(self) -> Value:
        """dN_i/d(delta_i) = gamma/(1-gamma) (1 - gamma/M) [1]: up to gamma/(1-gamma) for many flows."""
        v, M = broadcast(self), self.crowding()
        return named(v["gamma"] / (1 - v["gamma"]) * (1 - v["gamma"] / M), "gain", "1", "own rate per error in A")

    def cross_gain(self) -> Value:
        """dN_j/d(delta_i) = -gamma^2/((1-gamma) M) [1]: what the others lose or win."""
        v, M = broadcast(self), self.crowding()
        return named(-(v["gamma"] ** 2) / ((1 - v["gamma"]) * M), "gain", "1", "other rate per error in A")

    def capacity_gain(self) -> Value:
        """(dN_i/N_i)/d(kappa_i) = 1 + (n-2) gamma [1]: relative error of the rate per relative error of K."""
        v = broadcast(self)
        return named(1 + (v["flows"] - 2) * v["gamma"], "gain", "1", "relative error of the rate per that of K")

    def capacity_tolerance(self) -> Value:
        """1/(1 + (n-2) gamma): a flow that measures K too low by more than this share dies, if the others are right."""
        v = broadcast(self)
        return named(1 / (1 + (v["flows"] - 2) * v["gamma"]), "kappa", "1", "tolerated error of K")

    def capacity_tolerance_of_sum(self) -> Value:
        """(1-gamma)/(1 + (n-2) gamma): the same where the others' sum is known instead of A_i (eq. 6)."""
        v = broadcast(self)
        tolerated = (1 - v["gamma"]) / (1 + (v["flows"] - 2) * v["gamma"])
        return named(tolerated, "kappa", "1", "tolerated error of K")

    def available_tolerance(self) -> Value:
        """K (1-gamma)/(gamma (1 + (n-2) gamma)): a flow whose A_i is too low by more than this dies [packet/s]."""
        v = broadcast(self)
        tolerated = v["capacity"] * (1 - v["gamma"]) / (v["gamma"] * (1 + (v["flows"] - 2) * v["gamma"]))
        return named(tolerated, "delta", "packet/s", "tolerated error of A")

    def buffer_bound(self) -> Value:
        """b (R/gamma - K): the buffer that no number of flows alike exceeds [packet]."""
        v = self._alike("buffer_bound")
        bound = rtt_of(v) * (self._resource_alike(v) / v["gamma"] - v["capacity"])
        return named(bound, "buffer", "packet", "buffer for any number of flows")

    def lossless_flows(self, buffer: Number) -> Value:
        """How many flows alike a buffer [packet] bears: (1-gamma) L/(R - gamma L), L = K + B/b; inf from R/gamma on."""
        v, size = self._alike_in_si("lossless_flows"), buffer_size(buffer)
        largest = v["capacity"] + size / rtt_of(v)
        spare = self._resource_alike(v) - v["gamma"] * largest
        flows = ((1 - v["gamma"]) * largest / spare.where(spare > 0)).fillna(np.inf)
        return named(flows, "flows", "1", "flows without loss")

    def _resource_alike(self, v: Mapping[str, Any]) -> Any:
        return v["capacity"] * (1 + (1 - v["gamma"]) * v["capacity_error"]) + v["gamma"] * v["available_error"]

    def _share_alike(self, v: dict[str, Value]) -> Value:
        return self._resource_alike(v) / (v["capacity"] * (1 + v["capacity_error"]))

    def _queue_alike(self, v: dict[str, Value]) -> Value:
        waiting = v["flows"] * self._resource_alike(v) / self.crowding() - v["capacity"]
        return rtt_of(v) * positive_part(waiting)

    def _shared_rate(self) -> xr.DataArray:
        return self._to_dataarray("capacity")

    def _resources(self) -> xr.DataArray:
        v = broadcast(self)
        names = ("capacity", "capacity_error", "available_error")
        resources: xr.DataArray = self._resource_alike(v | {name: self._over_flows(name) for name in names})
        return resources

    def _slope(self) -> xr.DataArray:
        return super()._slope() / (1 + self._over_flows("capacity_error"))

    def _resources_in_symbols(self) -> list[sympy.Expr]:
        K, gamma = self._symbol("capacity"), self._symbol("gamma")
        pairs = zip(self._symbols("capacity_error"), self._symbols("available_error"), strict=True)
        return [K * (1 + (1 - gamma) * kappa) + gamma * delta for kappa, delta in pairs]
