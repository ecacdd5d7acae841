"""What the logistic models share: their parameters, and the problem that each view starts from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..elementary import field_values, named, plain
from ..parameters import Value, broadcast, check_parameters, parameter

_PAPER = "Iguchi, Hasegawa, Murata"
_POSITIVE = (0.0, math.inf)
_DOMAIN = {"gamma": (-math.inf, 1.0)} | dict.fromkeys(
    ("epsilon", "capacity", "base_rtt", "period"), _POSITIVE
)


@dataclass(frozen=True, kw_only=True)
class LogisticModel:
    """What the four models share; use one of them.

    Parameters
    ----------
    epsilon : float    Growth per round trip [1], > 0; the paper takes 1.95.
    capacity : float   K, rate of the narrow link [packet/s], or packets per round trip where `base_rtt` is None.
    base_rtt : float   R, round-trip time without queueing [s]. None: the round trip is the unit of time.
    start : float      Initial window [packet], > 0.
    """

    epsilon: Value = parameter(
        r"\varepsilon", "1", "growth per round trip", low=0.0, source=_PAPER, default=1.95
    )
    capacity: Value = parameter(
        "K", "packet/s", "rate of the narrow link", low=0.0, source=_PAPER, default=100.0
    )
    base_rtt: Value = parameter("R", "s", "round-trip time without queueing", low=0.0, default=None)
    start: Value = parameter("w_0", "packet", "initial window", low=0.0, default=1.0)

    def __post_init__(self) -> None:
        check_parameters(self)

    def bdp(self) -> Any:
        """K R, the window that fills the link [packet]."""
        v = broadcast(self)
        return named(bdp_of(v), "bdp", "packet", "bandwidth-delay product")

    def _problem(self, *more: str) -> tuple[dict[str, Any], Any, dict[str, Any]]:
        """Symbols by name, K R in symbols, and what every view says of itself."""
        import sympy

        names = ["epsilon", "capacity", *([] if self.base_rtt is None else ["base_rtt"]), *more]
        s = {name: sympy.Symbol(name, positive=True) for name in names}
        s["w"] = sympy.Symbol("w", positive=True)
        own = {
            "parameters": {name: plain(self, name) for name in names},
            "start": {"w": plain(self, "start")},
            "units": {"w": "packet", "N": "packet/s"},
            "meanings": {"w": "window", "N": "rate"},
            "time_units": "RTT",
            "domain": {name: _DOMAIN[name] for name in names if name in _DOMAIN},
            "name": type(self).__name__,
            "provenance": field_values(self),
            "outputs": {} if self.base_rtt is None else {"N": s["w"] / s["base_rtt"]},
        }
        return s, bdp_of(s), own


def bdp_of(v: Mapping[str, Any]) -> Any:
    """K R; a plain number beside a quantity counts as seconds, or packets per second."""
    rate, rtt = v["capacity"], v.get("base_rtt")
    if rtt is None:
        return rate
    if hasattr(rate, "magnitude") and not hasattr(rtt, "magnitude"):
        return type(rate)(rate.to("packet/s").magnitude * rtt, "packet")
    if hasattr(rtt, "magnitude") and not hasattr(rate, "magnitude"):
        return type(rtt)(rtt.to("s").magnitude * rate, "packet")
    return rate * rtt


def two_points(w: Any) -> list[dict[str, Any]]:
    """The operating point and extinction."""
    import sympy

    return [{"w": w}, {"w": sympy.Integer(0)}]
