"""One flow that grows like a population: logistic control of the window.

A sender that knows the rate K of its path's narrow link grows its window w by dw/dt = epsilon (1 - w/(K R)) w, where
R is the base round-trip time and time is counted in round trips. Three things are called "the logistic equation" and
differ in what gain they bear: the differential equation is stable for every epsilon; the map that updates once per
round trip for epsilon < 2; the differential equation with a measurement that is `delay` round trips old for
epsilon delay < pi/2. The rule that epsilon must stay below 2 belongs to the map, the convergence time to the
differential equation.

epsilon is growth *per round trip* in all four models. The paper moves it from an equation per second (its eq. 7) to one
per round trip (its eq. 8) without rescaling; the rate form here divides it by the base round-trip time.

References
----------
.. [1] T. Iguchi, G. Hasegawa, M. Murata, A new congestion control mechanism of TCP with inline network measurement,
   2005 (ICOIN, Lecture Notes in Computer Science 3391).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tcpdynamics.solvers.problems import DDE, ODE, Delayed, DomainError, Map

from .formulas import delay_roots, exp, log, named, pi_of, sqrt
from .model import Model, Problem
from .parameters import Number, Value, as_parameter, broadcast, is_labelled, is_quantity, is_symbolic, parameter

if TYPE_CHECKING:
    import sympy
    import xarray as xr

_PAPER = "Iguchi, Hasegawa, Murata"


@dataclass(frozen=True, kw_only=True)
class LogisticModel(Model, family="logistic"):
    """A flow whose window grows by `epsilon` per round trip towards K R; use one of its subclasses."""

    variables: ClassVar = {"w": ("packet", "window"), "N": ("packet/s", "rate")}
    time_units = "RTT"

    epsilon: Number = parameter(r"\varepsilon", "1", "growth per round trip", low=0.0, source=_PAPER, default=1.95)
    capacity: Number = parameter(
        "K", "packet/s", "rate of the narrow link", low=0.0, source=_PAPER, default=100.0,
        note="Packets per round trip where `base_rtt` is None",
    )  # fmt: skip
    base_rtt: Number | None = parameter(
        "R", "s", "round-trip time without queueing", low=0.0, default=None,
        note="None: the round trip is the unit of time",
    )  # fmt: skip
    start: Number = parameter(
        "w_0", "packet", "initial window", low=0.0, structural=True, default=1.0, note="An array is a sweep"
    )

    def bdp(self) -> Value:
        """K R, the window that fills the link [packet]."""
        v = broadcast(self)
        return named(bdp_of(v), "bdp", "packet", "bandwidth-delay product")

    def _in_symbols(self) -> tuple[dict[str, sympy.Symbol], sympy.Symbol, sympy.Expr]:
        """Symbols of the parameters by name, the window w, and K R."""
        import sympy

        s = self.symbols()
        return s, sympy.Symbol("w", positive=True), bdp_of(s)

    def _start(self) -> float | xr.DataArray | sympy.Expr:
        start = self._to_dataarray("start")
        return start if getattr(start, "ndim", 1) else start.item()

    def _problem(
        self, kind: type[Problem], rhs: dict[str, sympy.Expr], fixed_points: list[dict[str, sympy.Expr]], **more: Any
    ) -> Problem:
        """A problem in windows from `start`, with the rate N = w/R where a `base_rtt` is given."""
        s, w, _ = self._in_symbols()
        outputs = {} if self.base_rtt is None else {"N": w / s["base_rtt"]}
        start = self._start()
        if is_labelled(start) and start.dims == ("start",):
            start = start.values  # the solver names the dimension: start_w
        return self.problem(kind, rhs=rhs, start={"w": start}, fixed_points=fixed_points, outputs=outputs, **more)


def bdp_of(v: Mapping[str, Value]) -> Value:
    """K R; a plain number beside a quantity counts as seconds, or packets per second."""
    rate, rtt = v["capacity"], v.get("base_rtt")
    if rtt is None:
        return rate
    if is_quantity(rate) and not is_quantity(rtt):
        return type(rate)(rate.to("packet/s").magnitude * rtt, "packet")
    if is_quantity(rtt) and not is_quantity(rate):
        return type(rtt)(rtt.to("s").magnitude * rate, "packet")
    return rate * rtt


def two_points(w: sympy.Expr) -> list[dict[str, sympy.Expr]]:
    """The operating point and extinction."""
    import sympy

    return [{"w": w}, {"w": sympy.Integer(0)}]


def held_growth(x: sympy.Expr, room: sympy.Expr, rate: sympy.Expr) -> sympy.Expr:
    """Where x' = rate (room - x) x stands after a unit of time: room x/(x + (room - x) e^(-rate room)), in symbols.

    Written as x/(e^(-z) + rate x (1 - e^(-z))/z) with z = rate room, which has a value at room = 0.
    """
    import sympy

    z = rate * room
    size = sympy.Abs(z, evaluate=False)
    return x / (sympy.exp(-z) + rate * x * sympy.exp(-z / 2) * _sinh_ratio(size))


def _sinh_ratio(z: sympy.Expr) -> sympy.Expr:
    """sinh(z/2)/(z/2) for z >= 0: a series below 1/2, where its first missing term is below 1e-17."""
    import sympy

    half = sympy.Rational(1, 2)
    series = sum(z ** (2 * k) / (4**k * sympy.factorial(2 * k + 1)) for k in range(6))
    # Both pieces are computed at every point: neither may overflow. From 600 on the flow is extinct anyway.
    large = sympy.Min(sympy.Max(z, half, evaluate=False), 600, evaluate=False)
    ratio = (sympy.exp(large / 2) - sympy.exp(-large / 2)) / large
    return sympy.Piecewise((series, z < half), (ratio, True), evaluate=False)


@dataclass(frozen=True, kw_only=True)
class Logistic(LogisticModel, interpretation="continuous"):
    """The differential equation, in windows (`ode`) and in rates (`rate_ode`).

    Stable for every epsilon > 0 and without overshoot: w(t) is a logistic curve.

    Examples
    --------
    >>> flow = Logistic(epsilon=1.95, capacity=100.0)
    >>> round(flow.time_to(0.9, 0.99), 3)
    3.483
    >>> round(float(flow.trajectory_closed(3.0)), 2)
    77.81
    """

    def ode(self) -> ODE:
        """dw/dt = epsilon (1 - w/(K R)) w, time in round trips (eq. 8 for one flow)."""
        s, w, full = self._in_symbols()
        return self._problem(ODE, {"w": s["epsilon"] * (1 - w / full) * w}, two_points(full))

    def rate_ode(self) -> ODE:
        """dN/dt = (epsilon/R) (1 - N/K) N (eq. 7); time in seconds, in round trips without a `base_rtt`."""
        import sympy

        s, N = self.symbols(), sympy.Symbol("N", positive=True)
        start = self._start()
        return self.problem(
            ODE,
            rhs={"N": s["epsilon"] / s.get("base_rtt", 1) * (1 - N / s["capacity"]) * N},
            start={"N": start if self.base_rtt is None else start / self._to_dataarray("base_rtt")},
            fixed_points=[{"N": s["capacity"]}, {"N": sympy.Integer(0)}],
            time_units="RTT" if self.base_rtt is None else "s",
        )

    def trajectory_closed(self, times: Number) -> Value:
        """w(t) = w_0 K R/(w_0 + (K R - w_0) e^(-epsilon t)) [packet] (section 3.2).

        Parameters
        ----------
        times : float or 1-D array, >= 0, in round trips; an array gives the result a dimension `time`.
        """
        v = broadcast(self)
        t = times if is_symbolic(times) else _times(times)
        full, first = bdp_of(v), v["start"]
        return named(first * full / (first + (full - first) * exp(-v["epsilon"] * t)), "w", "packet", "window")

    def time_to(self, b: Number, c: Number) -> Value:
        """T = ln(c b/((1-c)(1-b)))/epsilon: round trips from (1-b) to c of the capacity (section 3.2); free of K.

        Parameters
        ----------
        b, c : float, 1-D array or DataArray, in (0, 1), c >= 1 - b

        Raises
        ------
        DomainError
        """
        missing: Any = b
        reached: Any = c
        if not (is_symbolic(b) or is_symbolic(c)):
            missing, reached = _share("b", b), _share("c", c)
            if bool(np.any(reached + missing < 1)):
                raise DomainError("c must be at least 1 - b: the window grows from (1-b) to c of the capacity")
        value = log(reached * missing / ((1 - reached) * (1 - missing))) / broadcast(self)["epsilon"]
        return named(value, "time", "RTT", "convergence time")

    def stability_margin(self) -> Value:
        """epsilon, minus the eigenvalue at w = K R [1/RTT]: > 0, always stable."""
        return named(broadcast(self)["epsilon"], "margin", "1", "stability margin")


@dataclass(frozen=True, kw_only=True)
class LogisticMap(LogisticModel, interpretation="map"):
    """One update per round trip: w <- w + epsilon (1 - w/(K R)) w. This is what Fig. 1 of the paper shows.

    Stable for epsilon < 2; at 2 the fixed point still attracts, but like 1/sqrt(t). Monotone for epsilon <= 1. The
    2-cycle beyond 2 loses stability at sqrt(6); beyond epsilon = 3 the window leaves [0, K R (1+epsilon)/epsilon].

    Examples
    --------
    >>> LogisticMap(epsilon=[1.9, 2.0, 2.1]).stability_margin().values.round(9)
    array([ 0.1,  0. , -0.1])
    >>> round(LogisticMap(epsilon=1.95, capacity=1.0).peak(), 4)
    1.1157
    """

    def map(self) -> Map:
        """The map; one step is one round trip."""
        s, w, full = self._in_symbols()
        return self._problem(Map, {"w": w + s["epsilon"] * (1 - w / full) * w}, two_points(full))

    def multiplier(self) -> Value:
        """1 - epsilon, by which a deviation from K R is multiplied per round trip."""
        return named(1 - broadcast(self)["epsilon"], "multiplier", "1", "multiplier")

    def stability_margin(self) -> Value:
        """2 - epsilon: stable where > 0 (section 2.1 of the paper; the map only)."""
        return named(2 - broadcast(self)["epsilon"], "margin", "1", "stability margin")

    def peak(self) -> Value:
        """Largest window that a start below K R leads to [packet].

        K R (1+epsilon)^2/(4 epsilon), and K R for epsilon <= 1. What exceeds K R waits in the buffer.
        """
        v = broadcast(self)
        if hasattr(v["epsilon"], "free_symbols"):
            return bdp_of(v) * (1 + v["epsilon"]) ** 2 / (4 * v["epsilon"])
        steep = np.maximum(v["epsilon"], 1.0)
        return named(bdp_of(v) * (1 + steep) ** 2 / (4 * steep), "peak", "packet", "largest window")

    def two_cycle(self) -> tuple[Value, Value]:
        """The two windows of the 2-cycle [packet], low and high; NaN for epsilon < 2.

        K R (epsilon + 2 -+ sqrt(epsilon^2 - 4))/(2 epsilon); its multiplier is 5 - epsilon^2.
        """
        v = broadcast(self)
        eps = v["epsilon"]
        with np.errstate(invalid="ignore"):
            spread = sqrt(eps**2 - 4)
        low, high = (bdp_of(v) * (eps + 2 + side * spread) / (2 * eps) for side in (-1, 1))
        return named(low, "low", "packet", "lower window"), named(high, "high", "packet", "upper window")


@dataclass(frozen=True, kw_only=True)
class LogisticAckClocked(LogisticModel, interpretation="held"):
    """One update per ACK, with the measured cross traffic C held for `period` round trips.

    Each ACK adds epsilon (1 - (w + gamma C R)/(K R)) (section 3.1). w ACKs come per round trip, so within a period the
    window follows the differential equation with the capacity k = K - gamma C, and from period to period
    w <- k R w/(w + (k R - w) e^(-h epsilon k/K)) exactly. No gain is too large for that; a single ACK is a step of its
    own, which overshoots only for epsilon > K R - packets, not 1.

    Examples
    --------
    >>> round(LogisticAckClocked(capacity=100.0, cross_traffic=50.0).equilibrium(), 9)
    55.0
    """

    gamma: Number = parameter(
        r"\gamma", "1", "weight of other traffic", low=0.0, low_open=False, high=1.0, source=_PAPER, default=0.9
    )
    cross_traffic: Number = parameter(
        "C", "packet/s", "rate of other traffic", low=0.0, low_open=False, default=0.0,
        note="C = K - A; packets per round trip without a `base_rtt`",
    )  # fmt: skip
    period: Number = parameter("h", "1", "round trips per measurement", low=0.0, default=1.0)

    def map(self) -> Map:
        """The exact map from one measurement to the next; one step is `period` round trips."""
        s, w, full = self._in_symbols()
        share = 1 - s["gamma"] * s["cross_traffic"] / s["capacity"]
        grown = held_growth(w / full, share, s["period"] * s["epsilon"]) * full
        return self._problem(Map, {"w": grown}, two_points(_positive(share * full)), time_units="step")

    def ack_map(self) -> Map:
        """w <- w + epsilon (1 - (w + gamma C R)/(K R)); one step is one ACK."""
        s, w, full = self._in_symbols()
        share = 1 - s["gamma"] * s["cross_traffic"] / s["capacity"]
        rhs = {"w": w + s["epsilon"] * (share - w / full)}
        return self._problem(Map, rhs, [{"w": share * full}], time_units="ACK")

    def equilibrium(self) -> Value:
        """R (K - gamma C), or 0 if that is negative [packet]."""
        v = broadcast(self)
        window = bdp_of(v) * (1 - v["gamma"] * v["cross_traffic"] / v["capacity"])
        return named(np.maximum(window, 0.0), "w", "packet", "window in equilibrium")

    def stability_margin(self) -> Value:
        """1 - e^(-h epsilon |1 - gamma C/K|), one minus the multiplier: >= 0, never unstable."""
        v = broadcast(self)
        share = abs(1 - v["gamma"] * v["cross_traffic"] / v["capacity"])
        return named(-np.expm1(-v["period"] * v["epsilon"] * share), "margin", "1", "stability margin")

    def ack_margin(self) -> Value:
        """2 K R - epsilon [packet]: the update of each single ACK is stable where > 0."""
        v = self.values()
        return named(2 * bdp_of(v) - v["epsilon"], "margin", "packet", "stability margin of one ACK")


@dataclass(frozen=True, kw_only=True)
class LogisticDelayed(LogisticModel, interpretation="delayed"):
    """The differential equation with an old measurement: dw/dt = epsilon (1 - w(t - delay)/(K R)) w.

    Stable where epsilon delay < pi/2; no oscillation where epsilon delay <= 1/e. Past pi/2, a Hopf cycle.

    References
    ----------
    .. [1] G. E. Hutchinson, Circular causal systems in ecology, Annals of the New York Academy of Sciences 50, 1948;
       doi:10.1111/j.1749-6632.1948.tb39854.x

    Examples
    --------
    >>> round(LogisticDelayed(epsilon=1.95).critical_delay(), 3)
    0.806
    """

    delay: Number = parameter(
        r"\tau", "1", "age of the measurement in round trips", low=0.0, low_open=False, default=1.0
    )

    def dde(self) -> DDE:
        """The delay differential equation, time in round trips."""
        import sympy

        s, w, full = self._in_symbols()
        past = sympy.Symbol("w_d", positive=True)
        rhs = {"w": s["epsilon"] * (1 - past / full) * w}
        return self._problem(DDE, rhs, two_points(full), delayed={"w_d": Delayed("w", s["delay"])})

    def stability_margin(self) -> Value:
        """pi/2 - epsilon delay: stable where > 0."""
        v = broadcast(self)
        return named(pi_of(v["epsilon"]) / 2 - v["epsilon"] * v["delay"], "margin", "1", "stability margin")

    def critical_delay(self) -> Value:
        """pi/(2 epsilon) [RTT]."""
        eps = broadcast(self)["epsilon"]
        return named(pi_of(eps) / (2 * eps), "delay", "RTT", "critical delay")

    def spectrum(self, count: int = 4) -> xr.DataArray:
        """Rightmost roots of lambda + epsilon e^(-lambda delay) [1/RTT]: W_k(-epsilon delay)/delay."""
        v = broadcast(self)
        return delay_roots(0.0 * v["epsilon"], -v["epsilon"], v["delay"], count)


def _positive(x: sympy.Expr) -> sympy.Expr:
    import sympy

    return sympy.Max(0, x)


def _times(times: Number) -> float | xr.DataArray:
    import xarray as xr

    try:
        t = np.asarray(times, dtype=float)
    except (TypeError, ValueError):
        raise DomainError(f"times must be a number or a 1-D array of numbers [RTT], got {times!r}") from None
    if t.ndim > 1:
        raise DomainError(f"times must be a number or a 1-D array [RTT], got shape {t.shape}; flatten it")
    if not (np.isfinite(t) & (t >= 0)).all():
        raise DomainError("times must be finite numbers >= 0 [RTT]")
    if t.ndim == 0:
        return float(t)
    attrs = {"units": "RTT", "long_name": "time"}
    return xr.DataArray(t, {"time": ("time", t, attrs)}, ("time",))


def _share(name: str, value: Number) -> xr.DataArray:
    array = as_parameter(name, value, "1", f"{name}, fraction of the capacity")
    if not bool(((array > 0) & (array < 1)).all()):
        raise DomainError(f"{name} must lie in (0, 1), got {value!r}; a percentage? divide by 100")
    return array
