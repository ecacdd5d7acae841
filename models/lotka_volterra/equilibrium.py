"""Where flows under Lotka-Volterra control settle: base round-trip times, the equilibrium's queue, the buffer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpdynamics.solvers.problems import ODE, DomainError

from ..formulas import named, with_labels
from ..parameters import Number, as_parameter, broadcast, parameter
from .competition import Competition, ranking, survivors_in_symbols, total_of
from .survivors import along_flows, queueing_delay

if TYPE_CHECKING:
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

    def _base(self) -> Any:
        """b_i with the dimension `flow`; 1 where the round trip is the unit."""
        import xarray as xr

        if self.base_rtt is None:
            return xr.DataArray(np.ones(self._count()), dims="flow")
        return self._over_flows("base_rtt")

    def _shared_rate(self) -> Any:
        """BW, rate of the link that all flows share; a DataArray without `flow`."""
        raise NotImplementedError

    def _settled(self) -> Any:
        """N_i in equilibrium, a DataArray."""
        raise NotImplementedError

    @property
    def _unit(self) -> str:
        return "RTT" if self.base_rtt is None else "s"

    def _ode(
        self,
        room: list[Any],
        fixed_points: Any,
        outputs: dict[str, Any],
        queue: dict[str, Any] | None = None,
    ) -> ODE:
        """room: K_i - N_i - gamma (K_i - A_i), what is free for flow i; queue: a further state, 0 at the start."""
        rates, capacity = self._rates(), self._symbols("capacity")
        base = [1] * len(rates) if self.base_rtt is None else self._symbols("base_rtt")
        epsilon = self._symbol("epsilon")
        rhs = {
            N.name: epsilon * N * free / (K * b)
            for N, free, K, b in zip(rates, room, capacity, base, strict=True)
        }
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

    def required_buffer(self) -> Any:
        """Packets that wait in equilibrium: a smaller buffer loses packets for ever, a larger one none [packet].

        For the equilibrium only; a flow that starts late may overshoot it.
        """
        if self._each_but_start():
            return self.equilibrium()["queue"]
        return named(self._queue_alike(broadcast(self)), "buffer", "packet", "required buffer")

    def lossless(self, buffer: Number) -> Any:
        """Whether a buffer [packet] holds the queue of the equilibrium."""
        queue = self.equilibrium()["queue"] if self._each_but_start() else self._queue_alike(self.values())
        enough = buffer_size(buffer) >= queue
        return enough if enough.ndim else bool(enough)

    def _alike_in_si(self, what: str) -> dict[str, Any]:
        """As `_alike`, with the magnitudes of quantities, to be put beside a buffer in packets."""
        names = self._alike(what)
        return {name: value for name, value in self.values().items() if name in names}

    def _each_but_start(self) -> list[str]:
        return [name for name in self._each() if name != "start"]

    def _queue_alike(self, v: dict[str, Any]) -> Any:
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
            raise DomainError(
                "link must be given where the capacities differ: the rate of the link that all share"
            )
        if "link" in self._each():
            raise DomainError("link must be one number or a sweep, not a value per flow: all flows share it")

    def _shared_rate(self) -> Any:
        return self._to_dataarray("capacity" if self.link is None else "link")

    def _link_symbol(self) -> Any:
        return self._symbol("capacity" if self.link is None else "link")


def rtt_of(v: dict[str, Any]) -> Any:
    """b for flows alike; 1 where the round trip is the unit of time."""
    return 1 if v["base_rtt"] is None else v["base_rtt"]


def link_of(v: dict[str, Any]) -> Any:
    """BW for flows alike."""
    return v["capacity"] if v.get("link") is None else v["link"]


def buffer_size(value: Number) -> Any:
    array = as_parameter("buffer", value, "packet", "buffer")
    if not bool(((array >= 0) & (array < math.inf)).all()):
        raise DomainError(f"buffer must be a finite number >= 0 [packet], got {value!r}")
    return array


def fixed_points(model: Competition) -> list[dict[str, Any]]:
    """The survivors' rates first (K/M each for flows alike), then flow 1 alone, then extinction.

    The first is left out where more than 6 flows change their order by capacity from point to point.
    """
    import sympy

    labels, capacity = [N.name for N in model._rates()], model._symbols("capacity")
    settled = survivors_in_symbols(capacity, model._symbol("gamma"), ranking(model._over_flows("capacity")))
    first = [] if settled is None else [dict(zip(labels, settled, strict=True))]
    zero = dict.fromkeys(labels, sympy.Integer(0))
    return [*first, *([zero | {labels[0]: capacity[0]}] if len(labels) > 1 else []), zero]
