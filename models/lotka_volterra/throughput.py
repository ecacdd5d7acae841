"""Available bandwidth as what a full link really leaves: where the flows settle, whatever carries the queue."""

from __future__ import annotations

from typing import Any

from ..elementary import named, positive_part
from ..parameters import Value, broadcast
from .kernels import along_flows, queueing_delay
from .model import larger, total_of
from .reading import LinkReading, buffer_size, link_of, rtt_of


class ThroughputReading(LinkReading):
    """Reading R3: N_i = (1-gamma) K_i + gamma t_i in equilibrium, t_i the throughput of a first-in-first-out link."""

    def _settled(self) -> Any:
        gamma, capacity, base = broadcast(self)["gamma"], self._over_flows("capacity"), self._base()
        short = (1 - gamma) * base
        delay = along_flows(
            queueing_delay, capacity, short, self._shared_rate(), out=(), flows=(True, True, False)
        )
        return (1 - gamma) * capacity + gamma * capacity * short / (delay + short)

    def lossless_flows(self, buffer: Value) -> Any:
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
