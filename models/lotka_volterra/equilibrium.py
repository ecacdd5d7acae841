"""Where flows under Lotka-Volterra control settle, how fast, and the queue and the buffer there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tcpdynamics.solvers.problems import ODE, DomainError

from ..formulas import named, positive_part, with_labels
from ..parameters import Number, Value, as_parameter, broadcast, parameter
from .competition import Competition, larger, ranking, smaller, survivors_in_symbols, total_of
from .survivors import along_flows, competition_spectrum, queueing_delay, survivors

if TYPE_CHECKING:
    import sympy
    import xarray as xr


@dataclass(frozen=True, kw_only=True)
class Reading(Competition):
    """dN_i/dt = (epsilon/b_i) (1 - (N_i + gamma (K_i - A_i))/K_i) N_i, with some reading of A_i (eq. 7, 8)."""

    base_rtt: Number | None = parameter(
        "b", "s", "round-trip time without queueing", low=0.0, default=None,
        note="One number or a value b_i per flow; windows are w_i = N_i b_i, and epsilon counts per round trip, so "
        "flow i grows by epsilon/b_i per second. None: all alike, and the round trip is the unit of time: rates are "
        "packets per round trip, numerically windows",
    )  # fmt: skip

    def _base(self) -> xr.DataArray:
        """b_i with the dimension `flow`; 1 where the round trip is the unit."""
        import xarray as xr

        if self.base_rtt is None:
            return xr.DataArray(np.ones(self._count()), dims="flow")
        return self._over_flows("base_rtt")

    def _shared_rate(self) -> xr.DataArray:
        """BW, rate of the link that all flows share; a DataArray without `flow`."""
        raise NotImplementedError

    def _settled(self) -> xr.DataArray:
        """N_i in equilibrium, a DataArray."""
        raise NotImplementedError

    @property
    def _unit(self) -> str:
        return "RTT" if self.base_rtt is None else "s"

    def _ode(
        self,
        room: list[sympy.Expr],
        fixed_points: list[dict[str, sympy.Expr]],
        outputs: dict[str, sympy.Expr],
        queue: dict[str, sympy.Expr] | None = None,
    ) -> ODE:
        """room: K_i - N_i - gamma (K_i - A_i), what is free for flow i; queue: a further state, 0 at the start."""
        rates, capacity = self._rates(), self._symbols("capacity")
        base = [1] * len(rates) if self.base_rtt is None else self._symbols("base_rtt")
        epsilon = self._symbol("epsilon")
        rhs = {N.name: epsilon * N * free / (K * b) for N, free, K, b in zip(rates, room, capacity, base, strict=True)}
        windows = {f"w[{i}]": N * b for i, (N, b) in enumerate(zip(rates, base, strict=True), start=1)}
        further = queue or {}
        return self.problem(
            ODE,
            rhs=rhs | further,
            start=self._start() | dict.fromkeys(further, 0.0),
            fixed_points=fixed_points,
            outputs={"total": total_of(rates)} | outputs | ({} if self.base_rtt is None else windows),
            time_units=self._unit,
        )

    def equilibrium(self) -> xr.Dataset:
        """Where the flows settle: rates, who survives, and what a first-in-first-out link makes of their windows.

        Returns
        -------
        xarray.Dataset over `flow` (1..n) and the parameters
            `N`, w_i/b_i [packet/s]; `survives`; `throughput` [packet/s]: N_i b_i/(b_i + D); `queueing_delay` D, common
            to all [s]; `queue` = D BW [packets]. Without a `base_rtt`, times are in round trips.
        """
        import xarray as xr

        rates, base, link = self._settled(), self._base(), self._shared_rate()
        delay = along_flows(queueing_delay, rates, base, link, out=(), flows=(True, True, False))
        settled = {
            "N": (rates, "packet/s", "rate"),
            "survives": (rates > 0, "1", "whether the flow survives"),
            "throughput": (rates * base / (base + delay), "packet/s", "throughput"),
            "queueing_delay": (delay, self._unit, "queueing delay"),
            "queue": (delay * link, "packet", "queue"),
        }
        data = {
            name: with_labels(value, name, unit, text).transpose("flow", ..., missing_dims="ignore")
            for name, (value, unit, text) in settled.items()
        }
        return xr.Dataset(data, attrs={"model": type(self).__name__})

    def required_buffer(self) -> Value:
        """Packets that wait in equilibrium: a smaller buffer loses packets for ever, a larger one none [packet].

        For the equilibrium only; a flow that starts late may overshoot it.
        """
        if self._each_but_start():
            return self.equilibrium()["queue"]
        return named(self._queue_alike(broadcast(self)), "buffer", "packet", "required buffer")

    def lossless(self, buffer: Number) -> bool | xr.DataArray:
        """Whether a buffer [packet] holds the queue of the equilibrium."""
        queue = self.equilibrium()["queue"] if self._each_but_start() else self._queue_alike(self.values())
        enough = buffer_size(buffer) >= queue
        return enough if enough.ndim else bool(enough)

    def _alike_in_si(self, what: str) -> dict[str, Value]:
        """As `_alike`, with the magnitudes of quantities, to be put beside a buffer in packets."""
        names = self._alike(what)
        return {name: value for name, value in self.values().items() if name in names}

    def _each_but_start(self) -> list[str]:
        return [name for name in self._each() if name != "start"]

    def _queue_alike(self, v: dict[str, Value]) -> Value:
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class LinkReading(Reading):
    """A reading that knows the shared link."""

    link: Number | None = parameter(
        "BW", "packet/s", "rate of the shared link", low=0.0, default=None,
        note="None: that of the flows' common `capacity`",
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.link is None and "capacity" in self._each():
            raise DomainError("link must be given where the capacities differ: the rate of the link that all share")
        if "link" in self._each():
            raise DomainError("link must be one number or a sweep, not a value per flow: all flows share it")

    def _shared_rate(self) -> xr.DataArray:
        return self._to_dataarray("capacity" if self.link is None else "link")

    def _link_symbol(self) -> sympy.Symbol:
        return self._symbol("capacity" if self.link is None else "link")


class LinearReading(Reading):
    """Readings in which growth is linear in the rates: R_i - N_i - gamma sum_{j != i} N_j is free for flow i."""

    def _resources(self) -> xr.DataArray:
        """R_i, a DataArray with `flow`."""
        raise NotImplementedError

    def _share_alike(self, v: dict[str, Value]) -> Value:
        """R/K for flows alike, K as they measure it."""
        raise NotImplementedError

    def _slope(self) -> xr.DataArray:
        """epsilon/(b_i K_i), a DataArray with `flow`."""
        return broadcast(self)["epsilon"] / (self._over_flows("capacity") * self._base())

    def _settled(self) -> xr.DataArray:
        return along_flows(survivors, self._resources(), broadcast(self)["gamma"], flows=(True, False))

    def aggregate_eigenvalue(self) -> Value:
        """-epsilon (R/K), how fast the sum of flows alike settles [1/time]; R = K for the readings of one link."""
        v = self._alike("aggregate_eigenvalue")
        return self._named(-v["epsilon"] * self._share_alike(v) / rtt_of(v), "eigenvalue of the sum")

    def fairness_eigenvalue(self) -> Value:
        """-epsilon (1-gamma) (R/K)/M, how fast differences between flows alike vanish [1/time], n - 1 times."""
        v = self._alike("fairness_eigenvalue")
        speed = v["epsilon"] * (1 - v["gamma"]) * self._share_alike(v) / self.crowding()
        return self._named(-speed / rtt_of(v), "eigenvalue of differences")

    def fairness_time(self) -> Value:
        """M/(epsilon (1-gamma)) for K = BW: time in which unfairness falls to 1/e, linear in n."""
        slow = self.fairness_eigenvalue()
        return named(-1 / slow, "time", self._unit, "fairness relaxation time")

    def spectrum(self) -> xr.DataArray:
        """All eigenvalues at the stable equilibrium, those of flows that died out included [1/time]; all real, < 0.

        Returns
        -------
        DataArray over the parameters and `root` (n, falling)
        """
        roots = along_flows(
            competition_spectrum,
            self._resources(),
            broadcast(self)["gamma"],
            self._slope(),
            out=("root",),
            flows=(True, False, True),
        )
        return with_labels(roots.transpose(..., "root"), "eigenvalue", f"1/{self._unit}", "eigenvalue")

    def stability_margin(self) -> Value:
        """Minus the largest eigenvalue where the flows settle [1/time]: > 0, 0 only where a flow is about to die."""
        if self._each_but_start():
            value = -self.spectrum().max("root")
            return named(value, "margin", f"1/{self._unit}", "stability margin")
        return named(-self.fairness_eigenvalue(), "margin", f"1/{self._unit}", "stability margin")

    def coexistence_margin(self) -> Value:
        """min_i (R_i - gamma S)/K_i with S = sum R/M: all flows coexist where > 0; else one dies out."""
        if self._each_but_start():
            R = self._resources()
            total = R.sum("flow") / self.crowding()
            smallest = ((R - broadcast(self)["gamma"] * total) / self._over_flows("capacity")).min("flow")
            return named(smallest, "margin", "1", "coexistence margin")
        v = broadcast(self)
        worst = self._share_alike(v) * (1 - v["gamma"]) / self.crowding()
        return named(worst, "margin", "1", "coexistence margin")

    def buffer_bound(self) -> Value:
        """b K (1-gamma)/gamma: the buffer that no number of flows alike exceeds [packet] (section 3.2)."""
        v = self._alike("buffer_bound")
        with np.errstate(divide="ignore"):
            bound = (
                np.divide(1 - v["gamma"], v["gamma"]) if not hasattr(v["gamma"], "free_symbols") else 1 / v["gamma"] - 1
            )
        return named(rtt_of(v) * v["capacity"] * bound, "buffer", "packet", "buffer for any number of flows")

    def lossless_flows(self, buffer: Number) -> Value:
        """How many flows alike a buffer [packet] bears: (1-gamma)(B + b BW)/((1-gamma) b K - gamma B).

        A real number, of which the whole part counts; inf where the buffer reaches `buffer_bound`.
        """
        v, size = self._alike_in_si("lossless_flows"), buffer_size(buffer)
        idle, spare = 1 - v["gamma"], rtt_of(v) * (1 - v["gamma"]) * v["capacity"] - v["gamma"] * size
        flows = (idle * (size + rtt_of(v) * link_of(v)) / spare.where(spare > 0)).fillna(np.inf)
        return named(flows, "flows", "1", "flows without loss")

    def _queue_alike(self, v: dict[str, Value]) -> Value:
        waiting = positive_part(v["flows"] * v["capacity"] - link_of(v))
        return rtt_of(v) * (1 - v["gamma"]) * waiting / self.crowding()

    def _named(self, value: Value, text: str) -> Value:
        return named(value, "eigenvalue", f"1/{self._unit}", text)

    def _fixed_points(
        self, resources: list[sympy.Expr], caps: list[sympy.Expr] | None = None
    ) -> list[dict[str, sympy.Expr]]:
        """Survivors first; then flow 1 alone and extinction."""
        import sympy

        labels = [N.name for N in self._rates()]
        settled = survivors_in_symbols(resources, self._symbol("gamma"), ranking(self._resources()))
        if settled is not None and caps is not None:
            settled = [smaller(K, N) for K, N in zip(caps, settled, strict=True)]
        first = [dict(zip(labels, settled, strict=True))] if settled is not None else []
        zero = dict.fromkeys(labels, sympy.Integer(0))
        alone = resources[0] if caps is None else smaller(caps[0], resources[0])
        return [*first, *([zero | {labels[0]: alone}] if len(labels) > 1 else []), zero]


class ThroughputReading(LinkReading):
    """Reading R3: N_i = (1-gamma) K_i + gamma t_i in equilibrium, t_i the throughput of a first-in-first-out link."""

    def _settled(self) -> xr.DataArray:
        gamma, capacity, base = broadcast(self)["gamma"], self._over_flows("capacity"), self._base()
        short = (1 - gamma) * base
        delay = along_flows(queueing_delay, capacity, short, self._shared_rate(), out=(), flows=(True, True, False))
        return (1 - gamma) * capacity + gamma * capacity * short / (delay + short)

    def lossless_flows(self, buffer: Number) -> Value:
        """How many flows alike a buffer [packet] bears: BW/K + B/((1-gamma) b K), of which the whole part counts."""
        v, size = self._alike_in_si("lossless_flows"), buffer_size(buffer)
        flows = link_of(v) / v["capacity"] + size / ((1 - v["gamma"]) * rtt_of(v) * v["capacity"])
        return named(flows, "flows", "1", "flows without loss")

    def _queue_alike(self, v: dict[str, Value]) -> Value:
        return rtt_of(v) * (1 - v["gamma"]) * positive_part(v["flows"] * v["capacity"] - link_of(v))

    def _fixed_points(
        self, capacity: list[sympy.Expr], gamma: sympy.Expr, link: sympy.Expr
    ) -> list[dict[str, sympy.Expr]]:
        """All flows together; flow 1 alone; extinction."""
        import sympy

        labels = [N.name for N in self._rates()]
        zero = dict.fromkeys(labels, sympy.Integer(0))
        together = dict(zip(labels, _rates_in_symbols(capacity, gamma, link), strict=True))
        alone = zero | {labels[0]: _rates_in_symbols(capacity[:1], gamma, link)[0]}
        return [together, *([alone] if len(labels) > 1 else []), zero]


def _rates_in_symbols(capacity: list[sympy.Expr], gamma: sympy.Expr, link: sympy.Expr) -> list[sympy.Expr]:
    """K_i (1-gamma)/(1 - gamma BW/S), S = (1-gamma) max(sum K, BW) + gamma BW."""
    total = (1 - gamma) * larger(total_of(capacity), link) + gamma * link
    return [K * (1 - gamma) / (1 - gamma * link / total) for K in capacity]


def rtt_of(v: dict[str, Value]) -> Value:
    """b for flows alike; 1 where the round trip is the unit of time."""
    return 1 if v["base_rtt"] is None else v["base_rtt"]


def link_of(v: dict[str, Value]) -> Value:
    """BW for flows alike."""
    return v["capacity"] if v.get("link") is None else v["link"]


def buffer_size(value: Number) -> xr.DataArray:
    array = as_parameter("buffer", value, "packet", "buffer")
    if not bool(((array >= 0) & (array < math.inf)).all()):
        raise DomainError(f"buffer must be a finite number >= 0 [packet], got {value!r}")
    return array


def fixed_points(model: Competition) -> list[dict[str, sympy.Expr]]:
    """The survivors' rates first (K/M each for flows alike), then flow 1 alone, then extinction.

    The first is left out where more than 6 flows change their order by capacity from point to point.
    """
    import sympy

    labels, capacity = [N.name for N in model._rates()], model._symbols("capacity")
    settled = survivors_in_symbols(capacity, model._symbol("gamma"), ranking(model._over_flows("capacity")))
    first = [] if settled is None else [dict(zip(labels, settled, strict=True))]
    zero = dict.fromkeys(labels, sympy.Integer(0))
    return [*first, *([zero | {labels[0]: capacity[0]}] if len(labels) > 1 else []), zero]
