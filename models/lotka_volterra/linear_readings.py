"""Readings of the available bandwidth under which growth is linear in the rates: spectrum and queue in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..formulas import named, positive_part
from ..parameters import Number, broadcast
from .competition import larger, ranking, smaller, survivors_in_symbols, total_of
from .equilibrium import LinkReading, Reading, buffer_size, link_of, rtt_of
from .survivors import along_flows, competition_spectrum, queueing_delay, survivors


class LinearReading(Reading):
    """Readings in which growth is linear in the rates: R_i - N_i - gamma sum_{j != i} N_j is free for flow i."""

    def _resources(self) -> Any:
        """R_i, a DataArray with `flow`."""
        raise NotImplementedError

    def _share_alike(self, v: dict[str, Any]) -> Any:
        """R/K for flows alike, K as they measure it."""
        raise NotImplementedError

    def _slope(self) -> Any:
        """epsilon/(b_i K_i), a DataArray with `flow`."""
        return broadcast(self)["epsilon"] / (self._over_flows("capacity") * self._base())

    def _settled(self) -> Any:
        return along_flows(survivors, self._resources(), broadcast(self)["gamma"], flows=(True, False))

    def aggregate_eigenvalue(self) -> Any:
        """-epsilon (R/K), how fast the sum of flows alike settles [1/time]; R = K for the readings of one link."""
        v = self._alike("aggregate_eigenvalue")
        return self._named(-v["epsilon"] * self._share_alike(v) / rtt_of(v), "eigenvalue of the sum")

    def fairness_eigenvalue(self) -> Any:
        """-epsilon (1-gamma) (R/K)/M, how fast differences between flows alike vanish [1/time], n - 1 times."""
        v = self._alike("fairness_eigenvalue")
        speed = v["epsilon"] * (1 - v["gamma"]) * self._share_alike(v) / self.crowding()
        return self._named(-speed / rtt_of(v), "eigenvalue of differences")

    def fairness_time(self) -> Any:
        """M/(epsilon (1-gamma)) for K = BW: time in which unfairness falls to 1/e, linear in n."""
        slow = self.fairness_eigenvalue()
        return named(-1 / slow, "time", self._unit, "fairness relaxation time")

    def spectrum(self) -> Any:
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
        return self._named(roots.transpose(..., "root"), "eigenvalue")

    def stability_margin(self) -> Any:
        """Minus the largest eigenvalue where the flows settle [1/time]: > 0, 0 only where a flow is about to die."""
        if self._each_but_start():
            value = -self.spectrum().max("root")
            return named(value, "margin", f"1/{self._unit}", "stability margin")
        return named(-self.fairness_eigenvalue(), "margin", f"1/{self._unit}", "stability margin")

    def coexistence_margin(self) -> Any:
        """min_i (R_i - gamma S)/K_i with S = sum R/M: all flows coexist where > 0; else one dies out."""
        if self._each_but_start():
            R = self._resources()
            total = R.sum("flow") / self.crowding()
            worst = ((R - broadcast(self)["gamma"] * total) / self._over_flows("capacity")).min("flow")
            return named(worst, "margin", "1", "coexistence margin")
        v = broadcast(self)
        worst = self._share_alike(v) * (1 - v["gamma"]) / self.crowding()
        return named(worst, "margin", "1", "coexistence margin")

    def buffer_bound(self) -> Any:
        """b K (1-gamma)/gamma: the buffer that no number of flows alike exceeds [packet] (section 3.2)."""
        v = self._alike("buffer_bound")
        with np.errstate(divide="ignore"):
            bound = (
                np.divide(1 - v["gamma"], v["gamma"])
                if not hasattr(v["gamma"], "free_symbols")
                else 1 / v["gamma"] - 1
            )
        return named(rtt_of(v) * v["capacity"] * bound, "buffer", "packet", "buffer for any number of flows")

    def lossless_flows(self, buffer: Number) -> Any:
        """How many flows alike a buffer [packet] bears: (1-gamma)(B + b BW)/((1-gamma) b K - gamma B).

        A real number, of which the whole part counts; inf where the buffer reaches `buffer_bound`.
        """
        v, size = self._alike_in_si("lossless_flows"), buffer_size(buffer)
        idle, spare = 1 - v["gamma"], rtt_of(v) * (1 - v["gamma"]) * v["capacity"] - v["gamma"] * size
        flows = (idle * (size + rtt_of(v) * link_of(v)) / spare.where(spare > 0)).fillna(np.inf)
        return named(flows, "flows", "1", "flows without loss")

    def _queue_alike(self, v: dict[str, Any]) -> Any:
        waiting = positive_part(v["flows"] * v["capacity"] - link_of(v))
        return rtt_of(v) * (1 - v["gamma"]) * waiting / self.crowding()

    def _named(self, value: Any, text: str) -> Any:
        return named(value, "eigenvalue", f"1/{self._unit}", text)

    def _fixed_points(self, resources: list[Any], caps: list[Any] | None = None) -> list[dict[str, Any]]:
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

    def _settled(self) -> Any:
        gamma, capacity, base = broadcast(self)["gamma"], self._over_flows("capacity"), self._base()
        short = (1 - gamma) * base
        delay = along_flows(
            queueing_delay, capacity, short, self._shared_rate(), out=(), flows=(True, True, False)
        )
        return (1 - gamma) * capacity + gamma * capacity * short / (delay + short)

    def lossless_flows(self, buffer: Number) -> Any:
        """How many flows alike a buffer [packet] bears: BW/K + B/((1-gamma) b K), of which the whole part counts."""
        v, size = self._alike_in_si("lossless_flows"), buffer_size(buffer)
        flows = link_of(v) / v["capacity"] + size / ((1 - v["gamma"]) * rtt_of(v) * v["capacity"])
        return named(flows, "flows", "1", "flows without loss")

    def _queue_alike(self, v: dict[str, Any]) -> Any:
        return rtt_of(v) * (1 - v["gamma"]) * positive_part(v["flows"] * v["capacity"] - link_of(v))

    def _fixed_points(self, capacity: list[Any], gamma: Any, link: Any) -> list[dict[str, Any]]:
        """All flows together; flow 1 alone; extinction."""
        import sympy

        labels = [N.name for N in self._rates()]
        zero = dict.fromkeys(labels, sympy.Integer(0))
        together = dict(zip(labels, _rates_in_symbols(capacity, gamma, link), strict=True))
        alone = zero | {labels[0]: _rates_in_symbols(capacity[:1], gamma, link)[0]}
        return [together, *([alone] if len(labels) > 1 else []), zero]


def _rates_in_symbols(capacity: list[Any], gamma: Any, link: Any) -> list[Any]:
    """K_i (1-gamma)/(1 - gamma BW/S), S = (1-gamma) max(sum K, BW) + gamma BW."""
    total = (1 - gamma) * larger(total_of(capacity), link) + gamma * link
    return [K * (1 - gamma) / (1 - gamma * link / total) for K in capacity]
