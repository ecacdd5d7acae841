"""Fluid models of TCP on one link: mean window and queue, after Misra, Gong and Towsley.

N flows of window W share a link of C packets/s with base round-trip time T and a buffer of B packets:

    W' = 1/R(q) - W W_R p_R/(2 R(q_R)),   q' = N W/R(q) - C,   R(q) = T + q/C,

where the index R means one round trip ago and p is the chance that a packet is marked or lost. The classes differ
in p. Departures from the paper, and what is kept exactly:

- Delays must be constant, so "one round trip ago" means R_0 ago, the round-trip time at the operating point (with a
  full buffer, where the queue would rest above it). All rates use R(q). The linearisation at the operating point is
  that of the model with the varying delay.
- The queue stays in [0, B] by switches: at 0 it may only grow, at B only shrink.
- At a full queue the excess of arrivals over C is lost, l = 1 - C/arrivals: p = mark + (1 - mark) l, in every class.
  Where marking alone would need q_0 > B, the model rests on that edge instead, a second closed-form fixed point.
- No mark is more than certain: where the slope would need p_0 > 1, every packet is marked and the model rests at
  W = sqrt(2), q = sqrt(2) N - C T, a third one.
- No timeouts, no slow start, no smallest window: read W well above one packet, p well below one.

References
----------
.. [1] V. Misra, W. Gong, D. Towsley, Fluid-based analysis of a network of AQM routers supporting TCP flows with an
   application to RED, ACM SIGCOMM 2000, eqs. (5)-(7); doi:10.1145/347057.347421
.. [2] C. V. Hollot, V. Misra, D. Towsley, W. Gong, A control theoretic analysis of RED, IEEE INFOCOM 2001;
   doi:10.1109/INFCOM.2001.916670
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tcpdynamics.solvers.problems import DDE, DomainError

from ..formulas import at_least, at_most, choose, named
from ..parameters import Number, Value, parameter
from .equations import HOLLOT, MGT, OperatingPoint, fluid_problem, operating_rtt, resting_rtt, symbols
from .linearisation import TcpLinearisation
from .link import FluidTcpLink


@dataclass(frozen=True, kw_only=True)
class FluidTcpProportional(FluidTcpLink, interpretation="proportional"):
    """Packets marked with probability p = k q, clipped to [0, 1].

    References
    ----------
    .. [1] C. V. Hollot, V. Misra, D. Towsley, W. Gong, On designing improved controllers for AQM routers supporting
       TCP flows, IEEE INFOCOM 2001, section III (proportional control); doi:10.1109/INFCOM.2001.916670

    Examples
    --------
    >>> link = FluidTcpProportional.at_rtt(rtt=0.246, flows=60, capacity=3750, buffer=800, gain=1.84e-4)
    >>> point = link.equilibrium()
    >>> print(f"{point.window:.3f} {point.queue:.2f} {point.loss:.5f}")
    15.375 45.98 0.00846
    >>> link.stability_margin() < 0 < link.simplified_margin()  # between the exact and the simplified boundary
    True
    """

    gain: Number = parameter("k", "1/packet", "marking probability per queued packet", low=0.0, source=HOLLOT)

    def equilibrium(self) -> OperatingPoint:
        """W_0 = R_0 C/N, p_0 = 2/W_0^2, q_0 = p_0/k, where R_0^2 (R_0 - T) = 2 N^2/(k C^3).

        Where that needs p_0 > 1: W_0 = sqrt(2), q_0 = sqrt(2) N - C T. Where it needs q_0 > B: q_0 = B.
        """
        v = self.values()
        rtt = operating_rtt(v["base_rtt"], v["gain"], v["flows"], v["capacity"])
        return self._marked_point(rtt, at_most(v["gain"] * v["buffer"], 1.0))

    def critical_gain(self) -> Value:
        """Exact critical k [1/packet] at this N, C and R_0."""
        return self.linearisation().critical_gain()

    def stability_margin(self) -> Value:
        """k_c/k - 1 at this N, C and R_0, k_c from the exact quasi-polynomial (`TcpLinearisation`): > 0 iff stable.

        NaN where there is no interior operating point (q_0 >= B or p_0 >= 1).
        """
        return self._margin(self.critical_gain(), self.values()["gain"])

    def simplified_margin(self) -> Value:
        """The same with Hollot's simplified plant: it calls some unstable points stable."""
        return self._margin(self.linearisation().critical_gain_simplified(), self.values()["gain"])

    def hollot_margin(self) -> Value:
        """The same with the sufficient condition k (R C)^3/(2N)^2 <= 1: whatever has it >= 0 is stable."""
        return self._margin(self.linearisation().hollot_gain(), self.values()["gain"])

    def dde(self) -> DDE:
        """States W and q, output p, time in seconds, from W = 1 and an empty queue."""
        import sympy

        s = symbols(self)
        rtt = operating_rtt(s.base_rtt, s.gain, s.flows, s.capacity)
        delay = resting_rtt(vars(s), rtt)
        mark = sympy.Max(0, sympy.Min(1, s.gain * sympy.Min(s.q, s.buffer)))
        point = {"W": rtt * s.capacity / s.flows, "q": self._queue(vars(s), rtt)}
        return fluid_problem(self, mark, delay, point)

    def _queue(self, v: Mapping[str, Value], rtt: Value) -> Value:
        return 2 * (v["flows"] / (rtt * v["capacity"])) ** 2 / v["gain"]


@dataclass(frozen=True, kw_only=True)
class FluidTcpRed(FluidTcpLink, interpretation="red"):
    """Random early detection: p grows with an averaged queue x, x' = K (q - x).

    p = 0 up to x = min_threshold, then linear up to p_max at max_threshold; from there on p = 1, as in the original
    RED (not "gentle"): every packet is marked until the average falls.

    Raises
    ------
    DomainError
        If a parameter lies outside its interval, or the thresholds are in the wrong order.

    Examples
    --------
    >>> red = FluidTcpRed(
    ...     flows=60, capacity=3750, base_rtt=0.2, buffer=800, min_threshold=150, max_threshold=700, p_max=0.1,
    ...     averaging=0.005,
    ... )
    >>> print(f"{red.equilibrium().queue:.1f} {red.hollot_margin():.3f} {red.stability_margin():.2f}")
    194.4 -0.047 40.99
    """

    min_threshold: Number = parameter("t_{min}", "packet", "lower threshold", low=0.0, low_open=False, source=MGT)
    max_threshold: Number = parameter("t_{max}", "packet", "upper threshold", low=0.0, source=MGT)
    p_max: Number = parameter(
        "p_{max}", "1", "marking at the upper threshold", low=0.0, high=1.0, high_open=False, source=MGT
    )
    averaging: Number = parameter(
        "K", "1/s", "pole of the averaging filter", low=0.0, source=HOLLOT,
        note="-C ln(1 - w) for a filter of weight w per packet, see `pole`",
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        v = self.values()
        gap = v["max_threshold"] - v["min_threshold"]
        if not hasattr(gap, "free_symbols") and not np.all(gap > 0):
            raise DomainError(
                f"max_threshold must be above min_threshold, got {self.max_threshold!r} and {self.min_threshold!r}"
            )

    @staticmethod
    def pole(weight: Value, capacity: Value) -> Value:
        """K = -C ln(1 - w) [1/s] of an average that takes a share w of each packet's sample."""
        return -capacity * np.log1p(-np.asarray(weight))[()]

    def slope(self) -> Value:
        """L = p_max/(max_threshold - min_threshold) [1/packet]."""
        return named(self._slope(self.values()), "slope", "1/packet", "slope of the marking profile")

    def equilibrium(self) -> OperatingPoint:
        """W_0 = R_0 C/N, p_0 = 2/W_0^2, q_0 = x_0 = min_threshold + p_0/L; R_0 from the cubic of `operating_rtt`.

        Where that needs q_0 > max_threshold: W_0 = sqrt(2), q_0 = sqrt(2) N - C T if that is above max_threshold. If it
        is not, the average stays at the jump of the profile and p_0 is the fraction of time above it. The equations
        have no equilibrium: a trajectory meets the jump ever faster. Where it needs q_0 > B: q_0 = B.
        """
        v = self.values()
        unmarked_rtt = v["base_rtt"] + v["min_threshold"] / v["capacity"]
        rtt = operating_rtt(unmarked_rtt, self._slope(v), v["flows"], v["capacity"])
        rising = at_most(self._slope(v) * at_least(v["buffer"] - v["min_threshold"], 0.0), 1.0)
        full_mark = choose(v["buffer"] < v["max_threshold"], rising, 1.0)
        return self._marked_point(rtt, full_mark, v["max_threshold"])

    def linearisation(self) -> TcpLinearisation:
        """Transfer functions and critical slopes at this operating point."""
        return replace(super().linearisation(), averaging=self.averaging)

    def critical_gain(self) -> Value:
        """Exact critical slope L [1/packet] at this N, C, K and R_0."""
        return self.linearisation().critical_gain()

    def stability_margin(self) -> Value:
        """L_c/L - 1 at this N, C, K and R_0, L_c from the exact quasi-polynomial: > 0 iff stable.

        NaN where there is no interior operating point (q_0 >= max_threshold or B, or p_0 >= 1).
        """
        return self._margin(self.critical_gain(), self.slope())

    def simplified_margin(self) -> Value:
        """The same with Hollot's simplified plant: optimistic for K R above about 1.2, pessimistic below."""
        return self._margin(self.linearisation().critical_gain_simplified(), self.slope())

    def hollot_margin(self) -> Value:
        """The same with Hollot's sufficient condition (Proposition 1): whatever has it >= 0 is stable."""
        return self._margin(self.linearisation().hollot_gain(), self.slope())

    def dde(self) -> DDE:
        """States W, q and x, output p, time in seconds, from W = 1 and an empty queue."""
        import sympy

        s = symbols(self)
        slope = self._slope(vars(s))
        rtt = operating_rtt(s.base_rtt + s.min_threshold / s.capacity, slope, s.flows, s.capacity)
        mark = sympy.Piecewise(
            (0, s.x <= s.min_threshold), (slope * (s.x - s.min_threshold), s.x < s.max_threshold), (1, True)
        )
        queue = self._queue(vars(s), rtt)
        point = {"W": rtt * s.capacity / s.flows, "q": queue, "x": queue}
        delay = resting_rtt(vars(s), rtt, s.max_threshold)
        return fluid_problem(self, mark, delay, point, {"x": s.averaging * (s.q - s.x)})

    @staticmethod
    def _slope(v: Mapping[str, Value]) -> Value:
        return v["p_max"] / (v["max_threshold"] - v["min_threshold"])

    def _queue(self, v: Mapping[str, Value], rtt: Value) -> Value:
        return v["min_threshold"] + 2 * (v["flows"] / (rtt * v["capacity"])) ** 2 / self._slope(v)
