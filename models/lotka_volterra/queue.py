"""Lotka-Volterra control over a link whose queue is a state: any base round-trip times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tcpdynamics.solvers.problems import ODE, DomainError

from .competition import larger, total_of
from .linear_readings import ThroughputReading

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, kw_only=True)
class LotkaVolterraQueue(ThroughputReading):
    """Reading R3 with the queue q [packets] as a state: t_i = w_i/(b_i + q/BW), dq/dt = sum t - BW.

    At q = 0 it can only grow. The equilibrium is that of `LotkaVolterraThroughput`, for unequal base round-trip times
    too; `equilibrium()` finds its queueing delay as a root. Time is in seconds. Growth counts base round trips, so that
    a queue does not slow it down.

    Examples
    --------
    >>> from tcpdynamics.models import per_flow
    >>> paths = LotkaVolterraQueue(flows=2, capacity=100.0, base_rtt=per_flow([0.05, 0.1]))
    >>> found = paths.equilibrium()
    >>> found.throughput.values.round(2), round(float(found.queueing_delay), 5)
    (array([41.42, 58.58]), 0.00707)
    >>> from tcpdynamics.solvers import spectral_abscissa
    >>> spectral_abscissa(paths, at=found).item() < 0  # no closed form to linearise at: say where
    True
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.base_rtt is None:
            raise DomainError(
                "base_rtt must be given: a queue is packets over a link, and delays its flows by seconds"
            )

    def ode(self) -> ODE:
        """Rates and queue, time in seconds."""
        import sympy

        rates, gamma, link = self._rates(), self._symbol("gamma"), self._link_symbol()
        capacity, base = self._symbols("capacity"), self._symbols("base_rtt")
        q = sympy.Symbol("q", real=True)  # were it positive, SymPy would drop the empty queue
        through = [N * b / (b + q / link) for N, b in zip(rates, base, strict=True)]
        carried = total_of(through)
        taken = [larger(0, K - link + (carried - t)) for K, t in zip(capacity, through, strict=True)]
        left = [K - N - gamma * busy for K, N, busy in zip(capacity, rates, taken, strict=True)]
        outputs = {f"throughput[{i}]": t for i, t in enumerate(through, start=1)}
        excess = carried - link
        # Below 0, where only rounding leads, it comes back: otherwise every negative queue would be at rest.
        queue = sympy.Piecewise((larger(0, excess) - q / base[0], q <= 0), (excess, True))
        points = [] if "base_rtt" in self._each() else self._with_queue(capacity, gamma, link)
        return self._ode(left, points, outputs, *self._link_name(), queue={"q": queue})

    def equilibrium(self) -> xr.Dataset:
        """As for the other readings, with the state `q` beside its synonym `queue`."""
        found = super().equilibrium()
        return found.assign(q=found["queue"])

    def _with_queue(self, capacity: list[Any], gamma: Any, link: Any) -> list[dict[str, Any]]:
        """For one base RTT: the fixed points with b times what exceeds the link."""
        import sympy

        base = self._symbol("base_rtt")
        points = self._fixed_points(capacity, gamma, link)
        demands = [total_of(capacity), capacity[0], sympy.Integer(0)]
        demands = demands if len(points) == 3 else [demands[0], demands[2]]
        idle = 1 - gamma
        return [
            point | {"q": base * idle * (larger(demand, link) - link)}
            for point, demand in zip(points, demands, strict=True)
        ]
