"""Scalable TCP, and additive increase with multiplicative decrease for comparison: closed forms throughout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING

from ..formulas import named, sqrt
from ..parameters import Number, Value, parameter
from .per_round_trip import PerRoundTrip, Sawtooth, functions, loss_parameter, packets

if TYPE_CHECKING:
    import sympy

_KELLY = "Kelly 2003, doi:10.1145/956981.956989"


@dataclass(frozen=True, kw_only=True)
class ScalableTcp(PerRoundTrip):
    """Scalable TCP: a w packets more per round trip (a for each ACK), b w fewer at a loss.

    The mean window w' = a w - b p w^2 is the logistic equation. Kelly's switch to Reno below a small window is
    left out.

    References
    ----------
    .. [1] T. Kelly, Scalable TCP: improving performance in highspeed wide area networks, ACM SIGCOMM CCR 33(2), 2003;
       doi:10.1145/956981.956989

    Examples
    --------
    >>> tcp = ScalableTcp(loss=1e-4)
    >>> print(f"{tcp.response():.0f} {tcp.recovery_time():.1f}")
    800 13.4
    >>> print("p = {:.6f}, w = {:.2f}".format(*tcp.reno_crossing()))
    p = 0.004267, w = 18.75
    """

    loss: Number = loss_parameter()
    a: Number = parameter("a", "1", "growth per ACK", low=0.0, source=_KELLY, default=0.01)
    b: Number = parameter("b", "1", "share given up at a loss", low=0.0, high=1.0, source=_KELLY, default=0.125)

    def response(self) -> Value:
        """w = (a/b)/p [packet]; also the mean window in equilibrium and, between rounds, the sawtooth's peak."""
        v = self.values()
        return named(v["a"] / (v["b"] * v["loss"]), "window", "packet", "window")

    equilibrium = response

    def loss_at(self, window: Number) -> Value:
        """p = (a/b)/w [1], the inverse of `response`."""
        v = self.values()
        return named(v["a"] / (v["b"] * packets(window)), "loss", "1", "loss probability")

    def eigenvalue(self) -> Value:
        """-a [1/RTT]: rate at which the mean window returns, whatever the loss."""
        return named(-self.values()["a"], "eigenvalue", "1/RTT", "rate of return")

    def recovery_time(self) -> Value:
        """-ln(1 - b)/ln(1 + a) [RTT] after one loss, at any window; 13.4 by default."""
        v = self.values()
        log = functions(*v.values()).log
        trips = -log(1 - v["b"]) / log(1 + v["a"])
        return named(trips, "recovery_time", "RTT", "round trips back to the window")

    def reno_crossing(self) -> tuple[Value, Value]:
        """(p, w) at which Reno, w = sqrt(1.5/p), has the same window; Reno is larger above that p."""
        v = self.values()
        ratio = v["a"] / v["b"]
        return (
            named(ratio**2 / 1.5, "loss", "1", "loss probability"),
            named(1.5 / ratio, "window", "packet", "window"),
        )

    def sawtooth(self) -> Sawtooth:
        """One loss every 1/p packets with w' = a w between: the mean is a/(p ln(1/(1 - b))), 6 % below the peak."""
        v = self.values()
        period = -functions(*v.values()).log(1 - v["b"]) / v["a"]
        return Sawtooth.of(v["a"] / (v["b"] * v["loss"]) + 0 * period, period, v["loss"])

    def _laws(self, w: Value, v: Mapping[str, Value], f: SimpleNamespace) -> tuple[Value, Value]:
        return v["a"] * w, v["b"] + 0 * w

    def _fixed_points(self) -> tuple[dict[str, sympy.Expr], ...]:
        s = self.symbols()
        return {"W": s["a"] / (s["b"] * s["loss"])}, {"W": 0}


@dataclass(frozen=True, kw_only=True)
class AimdTcp(PerRoundTrip):
    """a packets more per round trip, b w fewer at a loss; Reno by default.

    References
    ----------
    .. [1] S. Floyd, M. Handley, J. Padhye, A comparison of equation-based and AIMD congestion control, 2000

    Examples
    --------
    >>> reno = AimdTcp(loss=0.0015)
    >>> print(f"{reno.response():.2f} {reno.equilibrium():.2f} {reno.recovery_time(40):.0f}")
    31.62 36.51 20
    """

    loss: Number = loss_parameter()
    a: Number = parameter("a", "packet/RTT", "growth per round trip", low=0.0, default=1.0)
    b: Number = parameter("b", "1", "share given up at a loss", low=0.0, high=1.0, default=0.5)

    def response(self) -> Value:
        """sqrt(a (2 - b)/(2 b p)) [packet], the sawtooth's mean: sqrt(1.5/p) for Reno."""
        v = self.values()
        return named(sqrt(v["a"] * (2 - v["b"]) / (2 * v["b"] * v["loss"])), "window", "packet", "window")

    def loss_at(self, window: Number) -> Value:
        """p = a (2 - b)/(2 b w^2) [1], the inverse of `response`."""
        v = self.values()
        p = v["a"] * (2 - v["b"]) / (2 * v["b"] * packets(window) ** 2)
        return named(p, "loss", "1", "loss probability")

    def equilibrium(self) -> Value:
        """sqrt(a/(b p)) [packet], the mean window in equilibrium: sqrt(2/p) for Reno."""
        v = self.values()
        return named(sqrt(v["a"] / (v["b"] * v["loss"])), "window", "packet", "window")

    def eigenvalue(self) -> Value:
        """-2 a/w = -2 sqrt(a b p) [1/RTT] at the equilibrium."""
        v = self.values()
        return named(-2 * sqrt(v["a"] * v["b"] * v["loss"]), "eigenvalue", "1/RTT", "rate of return")

    def recovery_time(self, window: Number) -> Value:
        """b w/a [RTT] after one loss at `window` w."""
        v = self.values()
        trips = v["b"] * packets(window) / v["a"]
        return named(trips, "recovery_time", "RTT", "round trips back to the window")

    def sawtooth(self) -> Sawtooth:
        """One loss every 1/p packets: the peak is the mean over 1 - b/2."""
        v = self.values()
        peak = self.response() / (1 - v["b"] / 2)
        return Sawtooth.of(peak, v["b"] * peak / v["a"], v["loss"])

    def _laws(self, w: Value, v: Mapping[str, Value], f: SimpleNamespace) -> tuple[Value, Value]:
        return v["a"] + 0 * w, v["b"] + 0 * w

    def _fixed_points(self) -> tuple[dict[str, sympy.Expr], ...]:
        import sympy

        s = self.symbols()
        return ({"W": sympy.sqrt(s["a"] / (s["b"] * s["loss"]))},)
