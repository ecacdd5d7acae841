"""n flows that share a link under Lotka-Volterra control: three readings of the available bandwidth.

Flow i sends at the rate N_i (its window is w_i = N_i b_i) and measures the capacity K_i of its path's narrow link and
the bandwidth A_i that other flows leave of it. It grows by

    dN_i/dt = (epsilon/b_i) (1 - (N_i + gamma (K_i - A_i))/K_i) N_i                             (eq. 7 and 8)

What A_i is decides where the flows settle, and the paper uses more than one reading of it:

* `LotkaVolterraWindows`: A_i = K_i - sum of the others' N_j, the paper's own substitution (eq. 6). Capacities that
  differ too much kill the smaller flow; the queue stays below K b/gamma - K b however many flows there are.
* `LotkaVolterraLink`: A_i = BW - sum of the others' N_j. All lose the same rate.
* `LotkaVolterraThroughput`: A_i = BW - sum of what the others really get through the full link. Then, and only then,
  the link is shared in proportion to K_i (eq. 9), and the queue grows with the number of flows without bound.

In all three, a path never has more bandwidth available than its narrow link: A_i <= K_i.

References
----------
.. [1] T. Iguchi, G. Hasegawa, M. Murata, A new congestion control mechanism of TCP with inline network measurement,
   2005 (ICOIN, Lecture Notes in Computer Science 3391).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tcpdynamics.solvers.problems import ODE, DomainError, DynamicsError

from ..formulas import choose, named, positive_part, with_labels
from ..parameters import Value, broadcast, is_labelled
from .competition import larger, smaller, total_of
from .competition import per_flow as per_flow
from .equilibrium import LinearReading, LinkReading, ThroughputReading, link_of, rtt_of

if TYPE_CHECKING:
    import sympy
    import xarray as xr


@dataclass(frozen=True, kw_only=True)
class LotkaVolterraWindows(LinearReading, interpretation="windows"):
    """Interpretation R1: A_i = K_i - sum_{j != i} N_j, the others' window rates (eq. 6).

    Flows alike settle at K/M each with M = 1 + (n-1) gamma, K/gamma at most together. With unequal capacities the
    largest m flows survive, m the largest number with K_(m) > gamma S_m, S_m = (sum of the top m)/(1 + (m-1) gamma);
    all of them iff K_min > gamma sum K/M (eq. 3 for n = 2). The buffer is that of a link as fast as the largest K_i.

    Examples
    --------
    >>> paper = LotkaVolterraWindows(flows=5, epsilon=1.95, gamma=0.9, capacity=100.0)
    >>> paper.equilibrium().N.values.round(3)
    array([21.739, 21.739, 21.739, 21.739, 21.739])
    >>> round(paper.fairness_time(), 1), round(paper.required_buffer(), 3)
    (23.6, 8.696)
    >>> LotkaVolterraWindows(flows=2, capacity=per_flow([10.0, 15.0])).equilibrium().N.values
    array([ 0., 15.])
    """

    def ode(self) -> ODE:
        """The differential equation in rates; time in round trips, in seconds with a `base_rtt`."""
        rates, gamma = self._rates(), self._symbol("gamma")
        total = total_of(rates)
        # As the paper's N_i + gamma (total - N_i), but with one sum for all flows.
        room = [K - (1 - gamma) * N - gamma * total for K, N in zip(self._symbols("capacity"), rates, strict=True)]
        return self._ode(room, self._fixed_points(self._symbols("capacity")), {})

    def _resources(self) -> xr.DataArray:
        return self._over_flows("capacity")

    def _share_alike(self, v: dict[str, Value]) -> Value:
        return 1

    def _shared_rate(self) -> xr.DataArray:
        return self._over_flows("capacity").max("flow")


@dataclass(frozen=True, kw_only=True)
class LotkaVolterraLink(LinkReading, LinearReading, interpretation="link"):
    """Interpretation R2: A_i = min(K_i, BW - sum_{j != i} N_j), the link less the others' window rates.

    On a full link (sum K > BW) like R1 with R_i = (1-gamma) K_i + gamma BW in the place of K_i: where all survive,
    N_i = K_i - gamma (sum K - BW)/M, so all lose the same rate. With sum K <= BW every flow has its K_i.

    Examples
    --------
    >>> access = LotkaVolterraLink(flows=2, capacity=per_flow([10.0, 20.0]), link=25.0)
    >>> access.equilibrium().N.values.round(3)
    array([ 7.632, 17.632])
    """

    def ode(self) -> ODE:
        """The differential equation in rates; time in round trips, in seconds with a `base_rtt`."""
        rates, gamma, link = self._rates(), self._symbol("gamma"), self._link_symbol()
        capacity, total = self._symbols("capacity"), total_of(rates)
        room = [
            K - (1 - gamma) * N - gamma * larger(N, total + (K - link)) for K, N in zip(capacity, rates, strict=True)
        ]
        resources = [(1 - gamma) * K + gamma * link for K in capacity]
        return self._ode(room, self._fixed_points(resources, capacity), {})

    def aggregate_eigenvalue(self) -> Value:
        """-epsilon (1-gamma + gamma BW/K) on a full link, else -epsilon [1/time]: how fast the sum settles."""
        return self._where_full(super().aggregate_eigenvalue(), "eigenvalue of the sum")

    def fairness_eigenvalue(self) -> Value:
        """-epsilon (1-gamma)(1-gamma + gamma BW/K)/M on a full link, else -epsilon: how fast differences vanish."""
        return self._where_full(super().fairness_eigenvalue(), "eigenvalue of differences")

    def spectrum(self) -> xr.DataArray:
        """All eigenvalues at the stable equilibrium, falling [1/time]; -epsilon/b_i where the link is not full."""
        alone = -(self._over_flows("epsilon") / self._base())
        ranked = alone.copy(data=-np.sort(-alone.values, axis=alone.get_axis_num("flow")))
        full = self._over_flows("capacity").sum("flow") > self._shared_rate()
        shared = super().spectrum()
        ranked = ranked.drop_vars("flow").rename(flow="root")
        roots = shared.where(full, ranked).transpose(..., "root")
        return with_labels(roots, "eigenvalue", f"1/{self._unit}", "eigenvalue")

    def _where_full(self, full: Value, text: str) -> Value:
        if hasattr(full, "free_symbols"):
            return full
        v = broadcast(self)
        crowded = v["flows"] * v["capacity"] > link_of(v)
        return self._named(choose(crowded, full, -v["epsilon"] / rtt_of(v)), text)

    def _resources(self) -> xr.DataArray:
        gamma = broadcast(self)["gamma"]
        return (1 - gamma) * self._over_flows("capacity") + gamma * self._shared_rate()

    def _share_alike(self, v: dict[str, Value]) -> Value:
        return 1 - v["gamma"] + v["gamma"] * link_of(v) / v["capacity"]

    def _settled(self) -> xr.DataArray:
        rates, capacity = super()._settled(), self._over_flows("capacity")
        return rates.where(rates < capacity, capacity)


@dataclass(frozen=True, kw_only=True)
class LotkaVolterraThroughput(ThroughputReading, interpretation="throughput"):
    """Interpretation R3: A_i = min(K_i, BW - sum_{j != i} t_j), the link less what the others really get through it.

    t_j = N_j BW/max(BW, sum N): a first-in-first-out link that is full divides itself in proportion to the windows.
    Where sum K > BW, all flows live, N_i = (1-gamma) K_i + gamma t_i, and the link is shared in proportion to capacity,
    t_i = K_i BW/sum K: eq. (9) holds exactly. The sum of the rates is (1-gamma) sum K + gamma BW: the queue grows with
    every flow, so that the bound K b/gamma of section 3.2 does not hold here. Stable for every epsilon and gamma < 1.

    With unequal base round-trip times, t_i = (1-gamma) K_i b_i/(D + (1-gamma) b_i) with the queueing delay D that
    makes the t_i add up to BW: long paths are favoured. Then t is no formula in N: `LotkaVolterraQueue` has the
    equations.

    Examples
    --------
    >>> access = LotkaVolterraThroughput(flows=2, capacity=per_flow([10.0, 20.0]), link=25.0)
    >>> access.equilibrium().throughput.values.round(4)
    array([ 8.3333, 16.6667])
    >>> round(LotkaVolterraThroughput(gamma=0.9).lossless_flows(200.0), 9)  # the paper's buffer, twice the BDP
    21.0
    """

    def ode(self) -> ODE:
        """The differential equation in rates; time in round trips, in seconds with a `base_rtt`.

        Raises
        ------
        DynamicsError
            Base round-trip times that differ between flows.
        """
        self._one_rtt("ode")
        rates, gamma, link = self._rates(), self._symbol("gamma"), self._link_symbol()
        capacity, total = self._symbols("capacity"), total_of(rates)
        full, carried = larger(total, link), smaller(total, link)
        cross_traffic = [larger(0, K - link + carried - N * link / full) for K, N in zip(capacity, rates, strict=True)]
        room = [K - N - gamma * busy for K, N, busy in zip(capacity, rates, cross_traffic, strict=True)]
        outputs = {f"throughput[{i}]": N * link / full for i, N in enumerate(rates, start=1)}
        if self.base_rtt is not None:
            outputs["queue"] = larger(0, total - link) * self._symbol("base_rtt")
        return self._ode(room, self._fixed_points(capacity, gamma, link), outputs)

    def aggregate_eigenvalue(self) -> Value:
        """-epsilon (1-gamma)/(1 - gamma BW/S), S = (1-gamma) sum K + gamma BW: how fast the sum settles [1/time]."""
        v, total, link = self._sums("aggregate_eigenvalue")
        speed = v["epsilon"] * (1 - v["gamma"]) / (1 - v["gamma"] * link / total)
        return named(-speed / rtt_of(v), "eigenvalue", f"1/{self._unit}", "eigenvalue of the sum")

    def fairness_eigenvalue(self) -> Value:
        """-epsilon (1-gamma), whatever n and K_i, on a full link; -epsilon on one that is not [1/time]."""
        v, total, link = self._sums("fairness_eigenvalue")
        speed = v["epsilon"] * (1 - v["gamma"])
        if not hasattr(total, "free_symbols"):
            speed = choose(total > link, speed, v["epsilon"])
        return named(-speed / rtt_of(v), "eigenvalue", f"1/{self._unit}", "eigenvalue of differences")

    def spectrum(self) -> xr.DataArray:
        """All eigenvalues in equilibrium [1/time]: that of differences n - 1 times, then that of the sum."""
        import xarray as xr

        last = xr.DataArray(np.arange(self._count()) == self._count() - 1, dims="root")
        roots = xr.DataArray(self.aggregate_eigenvalue()).where(last, self.fairness_eigenvalue())
        return with_labels(roots.transpose(..., "root"), "eigenvalue", f"1/{self._unit}", "eigenvalue")

    def fairness_time(self) -> Value:
        """1/(epsilon (1-gamma)) on a full link: time in which unfairness falls to 1/e, the same for any n."""
        return named(-1 / self.fairness_eigenvalue(), "time", self._unit, "fairness relaxation time")

    def stability_margin(self) -> Value:
        """1 - gamma: always stable, and no flow dies out."""
        return named(1 - broadcast(self)["gamma"], "margin", "1", "stability margin")

    def _sums(self, what: str) -> tuple[dict[str, Value], Value, Value]:
        """Parameters, the sum of rates in equilibrium and the link, for one base RTT and any capacities."""
        self._one_rtt(what)
        v = broadcast(self)
        capacity = v["capacity"]
        if is_labelled(capacity) and "flow" in capacity.dims:
            demand: Value = capacity.sum("flow")
        else:
            demand = v["flows"] * capacity
        link = link_of(v)
        return v, link + (1 - v["gamma"]) * positive_part(demand - link), link

    def _one_rtt(self, what: str) -> None:
        if "base_rtt" in self._each():
            raise DynamicsError(
                f"{what} needs one base_rtt for all flows: otherwise their throughput is no formula in the windows; "
                "use LotkaVolterraQueue, whose queue is a state"
            )


@dataclass(frozen=True, kw_only=True)
class LotkaVolterraQueue(ThroughputReading, interpretation="queue"):
    """Interpretation R3 with the queue q [packets] as a state: t_i = w_i/(b_i + q/BW), dq/dt = sum t - BW.

    At q = 0 it can only grow. The equilibrium is that of `LotkaVolterraThroughput`, for unequal base round-trip times
    too; `equilibrium()` finds its queueing delay as a root. Time is in seconds. Growth counts base round trips, so that
    a queue does not slow it down.

    Examples
    --------
    >>> from tcpdynamics.models import per_flow
    >>> paths = LotkaVolterraQueue(flows=2, capacity=100.0, base_rtt=per_flow([0.05, 0.1]))
    >>> settled = paths.equilibrium()
    >>> settled.throughput.values.round(2), round(float(settled.queueing_delay), 5)
    (array([41.42, 58.58]), 0.00707)
    >>> from tcpdynamics.solvers import spectral_abscissa
    >>> spectral_abscissa(paths, at=settled).item() < 0  # no closed form to linearise at: say where
    True
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.base_rtt is None:
            raise DomainError("base_rtt must be given: a queue is packets over a link, and delays its flows by seconds")

    def ode(self) -> ODE:
        """Rates and queue, time in seconds."""
        import sympy

        rates, gamma, link = self._rates(), self._symbol("gamma"), self._link_symbol()
        capacity, base = self._symbols("capacity"), self._symbols("base_rtt")
        q = sympy.Symbol("q", real=True)  # were it positive, SymPy would drop the empty queue
        through = [N * b / (b + q / link) for N, b in zip(rates, base, strict=True)]
        carried = total_of(through)
        cross_traffic = [larger(0, K - link + (carried - t)) for K, t in zip(capacity, through, strict=True)]
        room = [K - N - gamma * busy for K, N, busy in zip(capacity, rates, cross_traffic, strict=True)]
        outputs = {f"throughput[{i}]": t for i, t in enumerate(through, start=1)}
        excess = carried - link
        # Below 0, where only rounding leads, it comes back: otherwise every negative queue would be at rest.
        queue = sympy.Piecewise((larger(0, excess) - q / base[0], q <= 0), (excess, True))
        points = [] if "base_rtt" in self._each() else self._with_queue(capacity, gamma, link)
        return self._ode(room, points, outputs, queue={"q": queue})

    def equilibrium(self) -> xr.Dataset:
        """As for the other variants, with the state `q` and its synonym `queue`."""
        settled = super().equilibrium()
        return settled.assign(q=settled["queue"])

    def _with_queue(
        self, capacity: list[sympy.Expr], gamma: sympy.Expr, link: sympy.Expr
    ) -> list[dict[str, sympy.Expr]]:
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
