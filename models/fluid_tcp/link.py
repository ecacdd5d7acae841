"""The link that the fluid models of TCP share, and what they derive from their operating point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from tcpdynamics.solvers.problems import DomainError

from ..formulas import named
from ..model import Model
from ..parameters import Number, parameter
from .equations import MGT, VARIABLES, OperatingPoint, capacity_parameter, flows_parameter
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
    def at_rtt(cls, *, rtt: Any, **parameters: Any) -> Self:
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

    def _queue(self, v: Any, rtt: Any) -> Any:
        raise NotImplementedError

    def _marked_point(self, rtt: Any, top: Any) -> OperatingPoint:
        """W_0 = R C/N and W_0^2 p_0 = 2; interior while the queue is below `top` and p_0 below one."""
        v = self.values()
        window = rtt * v["capacity"] / v["flows"]
        loss, queue = 2 / window**2, self._queue(v, rtt)
        interior = (queue < top) & (queue < v["buffer"]) & (loss < 1)
        interior = bool(interior) if isinstance(interior, np.bool_) else interior
        return OperatingPoint(
            named(window, "window", "packet", "mean window of a flow"),
            named(queue, "queue", "packet", "queue"),
            named(loss, "loss", "1", "congestion signal"),
            named(rtt, "rtt", "s", "round-trip time at the operating point"),
            interior,
        )

    def _margin(self, critical: Any, gain: Any) -> Any:
        """critical/gain - 1, NaN where there is no interior operating point."""
        ratio = critical / gain - 1
        inside = self.equilibrium().interior
        kept = ratio.where(inside) if hasattr(ratio, "where") else (ratio if inside else np.nan)
        return named(kept, "stability_margin", "1", "critical over actual slope of marking, less one")
