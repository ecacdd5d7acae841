"""Fluid TCP near its operating point: the exact quasi-polynomial, Hollot's simplification, and critical gains.

With z = s R, W = R C/N and kappa = L (R C)^2/(2 N), where L [1/packet] is the slope of the marking profile, the
characteristic equation depends on two numbers only (three with an averaging filter, a = K R):

    exact       (1 + z/a)(z^2 + (1 + 1/W) z + 2/W + (z/W) e^-z) + kappa e^-z = 0
    simplified  (1 + z/a)(z + 1)(z + 2/W) + kappa e^-z = 0

The simplification replaces e^-z by 1 in the windows' own term. Both are stable for kappa = 0; as kappa grows, each
root that reaches the imaginary axis crosses it to the right, because the phase of the other terms times e^z grows
along the axis. So there is one critical kappa, at the lowest frequency where that phase is pi.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from ..formulas import cos, exp, named, sin, sqrt
from ..model import Model
from ..parameters import Complex, Number, Value, is_labelled, parameter
from .equations import HOLLOT, capacity_parameter, flows_parameter

Array = NDArray[np.float64]

#: v, window, lag -> the phase of -kappa at z = i v, and kappa
Phase = Callable[[Array, Array, Array], tuple[Array, Array]]


@dataclass(frozen=True, kw_only=True)
class TcpLinearisation(Model):
    """N windows and a queue, linearised at their equilibrium with round-trip time R.

    s dW = -n (1 + e^-sR) dW - (1 - e^-sR)/(R^2 C) dq - (R C^2/(2 N^2)) e^-sR dp with n = N/(R^2 C),
    s dq = (N/R) dW - dq/R, dp = L/(1 + s/K) dq. The delay stands at R: that it varies with the queue changes nothing
    to first order.

    References
    ----------
    .. [1] C. V. Hollot, V. Misra, D. Towsley, W. Gong, A control theoretic analysis of RED, IEEE INFOCOM 2001,
       section III and Proposition 1; doi:10.1109/INFCOM.2001.916670
    .. [2] the same, Analysis and design of controllers for AQM routers supporting TCP flows, IEEE Transactions on
       Automatic Control 47(6), 2002, section II; doi:10.1109/TAC.2002.1008360

    Examples
    --------
    >>> link = TcpLinearisation(flows=60, capacity=3750, rtt=0.246)
    >>> print(f"{link.critical_gain():.3e} {link.critical_gain_simplified():.3e}")
    1.822e-04 1.860e-04
    """

    flows: Number = flows_parameter()
    capacity: Number = capacity_parameter()
    rtt: Number = parameter("R", "s", "round-trip time at the operating point", low=0.0, source=HOLLOT)
    averaging: Number = parameter(
        "K", "1/s", "pole of the averaging filter", low=0.0, high_open=False, source=HOLLOT, default=inf,
        note="Infinite without a filter",
    )  # fmt: skip

    def window(self) -> Value:
        """W = R C/N [packet]."""
        v = self.values()
        return named(v["rtt"] * v["capacity"] / v["flows"], "window", "packet", "window in equilibrium")

    def loop_gain(self, gain: Value) -> Value:
        """kappa = L (R C)^2/(2 N) [1] of a profile of slope `gain` [1/packet]."""
        v = self.values()
        return gain * (v["rtt"] * v["capacity"]) ** 2 / (2 * v["flows"])

    def matrices(self, gain: Value = 0) -> tuple[tuple[tuple[Value, ...], ...], tuple[tuple[Value, ...], ...]]:
        """A_0 and A_1 of d(dW, dq)/dt = A_0 (dW, dq) + A_1 (dW, dq)(t - R), for p = `gain` q without averaging."""
        v = self.values()
        n, c, r = v["flows"], v["capacity"], v["rtt"]
        pole, pull = n / (r**2 * c), 1 / (r**2 * c)
        return ((-pole, -pull), (n / r, -1 / r)), ((-pole, pull - gain * r * c**2 / (2 * n**2)), (0, 0))

    def plant(self, s: Complex) -> Complex:
        """-dq/dp at the complex frequency s [1/s], exact: (C^2/2N) e^-sR/(s^2 + (n + 1/R) s + 2n/R + n s e^-sR)."""
        return self._forward(s) / self._open(s)

    def plant_simplified(self, s: Complex) -> Complex:
        """-dq/dp after Hollot et al.: (C^2/2N) e^-sR/((s + 2N/(R^2 C))(s + 1/R))."""
        return self._forward(s) / self._open_simplified(s)

    def characteristic(self, s: Complex, gain: Value) -> Complex:
        """Exact characteristic function [1/s^2] at s [1/s]; roots with positive real part make it unstable."""
        return (1 + s / self.values()["averaging"]) * self._open(s) + gain * self._forward(s)

    def characteristic_simplified(self, s: Complex, gain: Value) -> Complex:
        """The same of the simplified plant."""
        return (1 + s / self.values()["averaging"]) * self._open_simplified(s) + gain * self._forward(s)

    def critical_gain(self) -> Value:
        """L_c [1/packet]: stable for slopes 0 <= L < L_c, unstable above. Exact; wants W > sqrt(2), that is p_0 < 1."""
        return self._critical(_phase)

    def critical_gain_simplified(self) -> Value:
        """L_c of the simplified plant, wrong by a factor that depends on W and K R alone.

        Without averaging it is too high: by 0.3 % at W = 100, 2.1 % at 15.4, 8 % at 4.5, 19 % at 2. An averaging
        filter slower than the round trip turns this round: for K R = 0.01 it is 3 % too low at 15.4, 15 % at 2.
        """
        return self._critical(_phase_simplified)

    def critical_frequency(self) -> Value:
        """Angular frequency [1/s] of the oscillation at the critical gain."""
        v = self.values()
        frequency = _each(_lowest, _phase, *self._reduced()) / v["rtt"]
        return named(frequency, "critical_frequency", "1/s", "angular frequency at the critical gain")

    def hollot_gain(self) -> Value:
        """Largest slope [1/packet] that Hollot's sufficient condition admits.

        L (R C)^3/(2 N)^2 <= sqrt(w^2/K^2 + 1) with w = 0.1 min(2N/(R^2 C), 1/R); without averaging the root is 1.
        """
        v = self.values()
        n, c, r = v["flows"], v["capacity"], v["rtt"]
        frequency = 0.1 * np.minimum(2 * n / (r**2 * c), 1 / r)
        gain = np.hypot(1, frequency / v["averaging"]) * (2 * n) ** 2 / (r * c) ** 3
        return named(gain, "hollot_gain", "1/packet", "largest slope of Hollot's condition")

    @staticmethod
    def boundary(phase: float | Array) -> tuple[float | Array, float | Array]:
        """(W, kappa) of the stability boundary without averaging, by the phase w R of its oscillation.

        W = (2 + v cot(v/2))/(v^2 - v cot v), kappa^2 = v^4 + v^2 (1 - 2/W) + 4/W^2, where v runs from the root of
        v tan v = 1 (0.8603, W infinite) to pi (W = 0). W falls all the way.

        Parameters
        ----------
        phase : array_like   v [rad], in (0.8603, pi).
        """
        cot = np.cos(phase) / np.sin(phase)
        window = (2 + phase / np.tan(phase / 2)) / (phase**2 - phase * cot)
        return window, np.sqrt(phase**4 + phase**2 * (1 - 2 / window) + 4 / window**2)

    @staticmethod
    def filtered_boundary(phase: Value, lag: Value) -> tuple[Value, Value, Value, Value]:
        """(sine, top, bottom, kappa) of the stability boundary with averaging, by the phase v = w R of its oscillation.

        W = top/bottom. The boundary is where sine, that of pi - v - arctan(v lag), and both are positive; as v grows
        from 0, first bottom becomes positive (W infinite), then top negative (W = 0), then sine.

        Parameters
        ----------
        phase : number, array or SymPy expression   v [rad], in (0, pi).
        lag : number, array or SymPy expression     1/(K R) [1]; 0 without averaging.

        Examples
        --------
        >>> _, top, bottom, kappa = TcpLinearisation.filtered_boundary(2.0, 0.0)
        >>> window, same = TcpLinearisation.boundary(2.0)
        >>> bool(abs(top / bottom - window) < 1e-12), bool(abs(kappa - same) < 1e-12)
        (True, True)
        """
        sine, cosine = sin(phase), cos(phase)
        turned = sine + lag * phase * cosine
        across = lag * phase * sine - cosine
        top = (2 + phase * sine) * turned - phase * (1 + cosine) * across
        bottom = phase * across + phase**2 * turned
        real = (2 + phase * sine) * bottom / top - phase**2
        imaginary = phase * (1 + (1 + cosine) * bottom / top)
        return turned, top, bottom, sqrt((1 + (lag * phase) ** 2) * (real**2 + imaginary**2))

    def _forward(self, s: Complex) -> Complex:
        v = self.values()
        return v["capacity"] ** 2 / (2 * v["flows"]) * exp(-s * v["rtt"])

    def _open(self, s: Complex) -> Complex:
        v = self.values()
        r, pole = v["rtt"], v["flows"] / (v["rtt"] ** 2 * v["capacity"])
        return s**2 + (pole + 1 / r) * s + 2 * pole / r + pole * s * exp(-s * r)

    def _open_simplified(self, s: Complex) -> Complex:
        v = self.values()
        return (s + 2 * v["flows"] / (v["rtt"] ** 2 * v["capacity"])) * (s + 1 / v["rtt"])

    def _reduced(self) -> tuple[Value, Value]:
        v = self.values()
        return v["rtt"] * v["capacity"] / v["flows"], 1 / (v["averaging"] * v["rtt"])

    def _critical(self, phase: Phase) -> Value:
        kappa = _each(_critical_loop_gain, phase, *self._reduced())
        return named(kappa / self.loop_gain(1.0), "critical_gain", "1/packet", "critical slope of marking")


def _phase(v: Array, window: Array, lag: Array) -> tuple[Array, Array]:
    """Phase of -kappa and kappa itself at z = i v, exact. `lag` is 1/(K R)."""
    real = (2 + v * np.sin(v)) / window - v**2
    imaginary = v * (1 + (1 + np.cos(v)) / window)  # positive, so the angle has no jump
    return v + np.arctan(lag * v) + np.arctan2(imaginary, real), np.hypot(1, lag * v) * np.hypot(real, imaginary)


def _phase_simplified(v: Array, window: Array, lag: Array) -> tuple[Array, Array]:
    angle = v + np.arctan(lag * v) + np.arctan(v) + np.arctan(v * window / 2)
    return angle, np.hypot(1, lag * v) * np.hypot(1, v) * np.hypot(v, 2 / window)


def _lowest(phase: Phase, window: Array, lag: Array) -> Array:
    """The v in (0, pi) where the phase is pi; unique, as the phase grows from 0 to more than pi."""
    from scipy.optimize.elementwise import find_root

    ends = np.zeros_like(window), np.full_like(window, np.pi)
    root = find_root(lambda v, *rest: phase(v, *rest)[0] - np.pi, ends, args=(window, lag))
    return np.asarray(np.where(root.success, root.x, np.nan))


def _critical_loop_gain(phase: Phase, window: Array, lag: Array) -> Array:
    return np.asarray(phase(_lowest(phase, window, lag), window, lag)[1])


def _each(function: Callable[[Phase, Array, Array], Array], phase: Phase, window: Value, lag: Value) -> Value:
    """Apply to numbers or to labelled arrays."""
    if not (hasattr(window, "dims") or hasattr(lag, "dims")):
        return float(function(phase, np.array(float(window)), np.array(float(lag))))
    import xarray as xr

    window, lag = xr.broadcast(*(x if is_labelled(x) else xr.DataArray(x) for x in (window, lag)))
    return xr.apply_ufunc(lambda w, a: function(phase, w, a), window, lag)
