"""Window laws a(w), b(w) per round trip: as differential equation, as map, and along a climb of the window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tcpdynamics.solvers.problems import ODE, Map
from tcpdynamics.solvers.problems.numbers import dimensions

from ..formulas import named
from ..model import Model
from ..parameters import Number, Value, as_parameter, is_quantity, parameter

if TYPE_CHECKING:
    import sympy

RFC3649 = "RFC 3649, section 5"

loss_parameter = partial(parameter, "p", "1", "loss probability of a packet", low=0.0, high=1.0)

#: Nodes of a Gauss-Legendre rule: rounding error is reached for windows whose b(w) is above 10^-3.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


#: A window and parameters -> what the law says there.
Law = Callable[[Value, Mapping[str, Value]], Value]


@dataclass(frozen=True)
class Sawtooth:
    """The window under one loss every 1/p packets: `peak` and time average `mean` [packet], `period` [RTT]."""

    peak: Value
    mean: Value
    period: Value

    @classmethod
    def of(cls, peak: Value, period: Value, loss: Value) -> Sawtooth:
        """The mean is what is sent in a period, 1/p, over its length."""
        return cls(
            named(peak, "peak", "packet", "largest window"),
            named(1 / (loss * period), "mean", "packet", "time average of the window"),
            named(period, "period", "RTT", "round trips between losses"),
        )


@dataclass(frozen=True, kw_only=True)
class PerRoundTrip(Model):
    """A law a(w), b(w); subclasses have a field `loss` and give `_laws`."""

    variables: ClassVar = {"W": ("packet", "window")}
    time_units = "RTT"

    def _laws(self, w: Value, v: Mapping[str, Value], f: SimpleNamespace) -> tuple[Value, Value]:
        """(a, b) at window w, with the functions f of NumPy or SymPy."""
        raise NotImplementedError

    def _check_window(self, w: Value, v: Mapping[str, Value]) -> None:
        """Refuse windows at which the law means nothing."""

    def increase(self, window: Number) -> Value:
        """a(w) [packet/RTT]."""
        return named(self._at(window)[0], "increase", "packet/RTT", "growth per round trip")

    def decrease(self, window: Number) -> Value:
        """b(w) [1], the fraction that a loss takes away."""
        return named(self._at(window)[1], "decrease", "1", "share given up at a loss")

    def growth(self) -> ODE:
        """w' = a(w): between losses, one state W, time in round trips."""
        a, _, _ = self._symbolic()
        name = f"{type(self).__name__} between losses"
        return self.problem(ODE, rhs={"W": a}, start={"W": 1.0}, name=name)

    def ode(self) -> ODE:
        """w' = a(w) - b(w) p w^2: the mean window, time in round trips."""
        a, b, (w, p) = self._symbolic()
        rhs = {"W": a - b * p * w**2}
        return self.problem(ODE, rhs=rhs, start={"W": 1.0}, fixed_points=self._fixed_points())

    def map(self) -> Map:
        """w <- w + a(w) - b(w) p w^2: the mean window, a step per round trip."""
        a, b, (w, p) = self._symbolic()
        return self.problem(
            Map,
            rhs={"W": w + a - b * p * w**2},
            start={"W": 1.0},
            fixed_points=self._fixed_points(),
            name=f"{type(self).__name__} per round trip",
        )

    def _fixed_points(self) -> tuple[dict[str, sympy.Expr], ...]:
        return ()

    def _at(self, window: Number) -> tuple[Value, Value]:
        v, w = self.values(), packets(window)
        if not hasattr(w, "free_symbols"):
            self._check_window(w, v)
        return self._laws(w, v, functions(w, *v.values()))

    def _symbolic(self) -> tuple[sympy.Expr, sympy.Expr, tuple[sympy.Symbol, sympy.Symbol]]:
        import sympy

        w, s = sympy.Symbol("W", real=True), self.symbols()
        a, b = self._laws(w, s, functions(w))
        return a, b, (w, s["loss"])


def functions(*values: Value) -> SimpleNamespace:
    """log, maximum, minimum and choose(condition, yes, no): SymPy's if any value is an expression, else NumPy's."""
    if any(hasattr(v, "free_symbols") for v in values):
        import sympy

        return SimpleNamespace(
            log=sympy.log,
            maximum=sympy.Max,
            minimum=sympy.Min,
            choose=lambda condition, yes, no: sympy.Piecewise((yes, condition), (no, True)),
        )
    return SimpleNamespace(log=np.log, maximum=np.maximum, minimum=np.minimum, choose=_choose)


def _choose(condition: Value, yes: Value, no: Value) -> Value:
    if any(hasattr(x, "dims") for x in (condition, yes, no)):
        import xarray as xr

        return xr.where(condition, yes, no)  # type: ignore[no-untyped-call]
    return np.where(condition, yes, no)[()]


def packets(window: Number) -> Value:
    """A window as a number, expression or labelled array; a 1-D array spans the dimension `window`."""
    if hasattr(window, "free_symbols") or (dimensions(window) == 0 and not hasattr(window, "dims")):
        return window.to("packet").magnitude if is_quantity(window) else window
    return as_parameter("window", window, "packet", "window")


def climb(growth: Law, low: Value, high: Value, v: Mapping[str, Value], power: int) -> Value:
    """Integral of w^power/a(w) dw from low to high: round trips (power 0) or packets (power 1) of a climb.

    Exact up to low_window, where a = 1; beyond, Gauss-Legendre in ln w, in which a(w) is smooth.
    """
    edge = v["low_window"]
    below = (np.minimum(high, edge) ** (power + 1) - np.minimum(low, edge) ** (power + 1)) / (power + 1)
    middle = np.log(np.maximum(high, edge) * np.maximum(low, edge)) / 2
    half = np.log(np.maximum(high, edge) / np.maximum(low, edge)) / 2
    total = 0.0 * half
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        w = np.maximum(np.exp(middle + half * node), edge)
        total = total + weight * w ** (power + 1) / growth(w, v)
    return below + half * total


def periodic_peak(growth: Law, share: Law, v: Mapping[str, Value], largest: Value) -> Value:
    """The window from which a loss and the climb back take 1/p packets."""
    names = list(v)

    def excess(log_peak: Value, *values: Value) -> Value:
        u = dict(zip(names, values, strict=True))
        peak = np.exp(log_peak)
        return np.log(climb(growth, (1 - share(peak, u)) * peak, peak, u, 1) * u["loss"])

    def solve(largest: Value, *values: Value) -> Value:
        from scipy.optimize.elementwise import find_root

        u = dict(zip(names, values, strict=True))
        floor = np.log(np.minimum(np.sqrt(8 / (3 * u["loss"])), u["low_window"]) / 4)
        top = np.log(largest) - 1e-9  # the climb has no length where b(w) is zero
        root = find_root(excess, (floor + 0 * top, top + 0 * floor), args=values)
        return np.where(root.success, np.exp(root.x), np.nan)

    if not any(hasattr(x, "dims") for x in v.values()):
        return float(solve(*(np.array(float(x)) for x in (largest, *v.values()))))
    import xarray as xr

    return xr.apply_ufunc(solve, *xr.broadcast(*(xr.DataArray(x) for x in (largest, *v.values()))))


def rest_above(rarity: Value, steep: Value, flat: Value) -> Value:
    """y = ln(w/low_window) where 2 e^(-steep y)/(1.5 + flat y) = rarity.

    With u = steep (1.5/flat + y) it reads u e^u = const, Lambert's function; two Newton steps in y give back the digits
    that the difference of u/steep and 1.5/flat loses.
    """
    from scipy.special import wrightomega  # Lambert's W of an exponential, without overflow

    offset = 1.5 / flat
    y = wrightomega(np.log(2 * steep / (rarity * flat)) + steep * offset) / steep - offset
    for _ in range(2):
        error = np.log(2 / rarity) - steep * y - np.log(1.5 + flat * y)
        y = y + error / (steep + flat / (1.5 + flat * y))
    return y
