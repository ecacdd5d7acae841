"""T-REFWA when the router puts measurements into eq. (3): the aggregate window, or the round-trip time.

The paper writes Upsilon(n-1), Bw RTT_avg and Q(n-1) and leaves open which of them are measured. If the window is,
the recursion integrates; if the round-trip time contains the queueing delay, the fixed point is another one; and
the 6-bit code of the round-trip times makes Bw RTT_avg wrong by some per cent. See `commanded` for the literal reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tcpdynamics.solvers.problems import Delayed, Map

from ..parameters import Complex, Number, Value, broadcast, parameter
from .recursion import Array, TRefwaModel, clip, least, off_the_end, over_grid

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class TRefwaMeasured(TRefwaModel, interpretation="measured"):
    """The recursion on the measured aggregate: window and queue are those of `delay` intervals ago.

    e(n+1) = e(n) - phi e(n-d) + psi (B - Q(n-d)), Q = clip(e, 0, B); e* = psi B/(phi + psi). The characteristic
    polynomial is z^(d+1) - z^d + k, k = phi + psi. Stable iff phi > 0 and k < 2 cos(d pi/(2d+1)): k < 1 with one
    interval.
    The published gains have k = 2, with the radius sqrt 2.

    References
    ----------
    .. [1] S. A. Levin, R. M. May, A note on difference-delay equations, Theoretical Population Biology 9, 1976;
       doi:10.1016/0040-5809(76)90043-5

    Examples
    --------
    >>> round(TRefwaMeasured().stability_margin(), 12)
    -1.0
    """

    delay: Number = parameter("d", "interval", "age of the measurement", low=0, low_open=False, integer=True, default=1)

    def critical_sum(self) -> float | xr.DataArray:
        """2 cos(d pi/(2d+1)): the largest phi + psi that is stable. Float, or DataArray over the grid."""
        return over_grid(self, lambda v: _levin_may(v["delay"]), "critical_sum", "largest stable phi + psi")

    def characteristic(self, z: Complex) -> Complex:
        """z^(d+1) - z^d + phi + psi."""
        v = broadcast(self)
        return (z - 1) * z ** v["delay"] + v["phi"] + v["psi"]

    def _rest(self, v: Mapping[str, Value]) -> dict[str, Value]:
        return {"e": v["psi"] * v["buffer"] / (v["phi"] + v["psi"])}

    def _margin(self, v: Mapping[str, Array]) -> Array:
        gain = v["phi"] + v["psi"]
        return off_the_end(v, _levin_may(v["delay"]) - gain)

    def map(self) -> Map:
        """State e; outputs Q and Upsilon [packets]."""
        import sympy

        phi, psi, bdp, buffer = self._symbols()
        e, e_d, Q_d = sympy.symbols("e e_d Q_d", real=True)
        delay = self.symbols()["delay"]
        return self._problem(
            Map,
            rhs={"e": e - phi * e_d + psi * (buffer - Q_d)},
            delayed={"e_d": Delayed("e", delay), "Q_d": Delayed("Q", delay)},
            outputs={"Q": clip(e, 0, buffer), "Upsilon": bdp + e},
        )


@dataclass(frozen=True)
class TRefwaMeasuredRtt(TRefwaModel, interpretation="measured-rtt"):
    """RTT_avg as senders measure it, queueing included: Bw RTT_avg = BDP + Q.

    e(n+1) = e(n) + phi (Q - e) + psi (B - Q). With Q = e the term in phi vanishes, so Q* = e* = B whatever phi is:
    the "sum of the link capacity and total buffer size" of the abstract, and no small queue. The multiplier is
    1 - psi below B: stable iff 0 < psi < 2.

    The fixed point is the full buffer. `map` lets the queue grow beyond it and reports the overflow; in `cut_map`
    the packets that do not fit are lost, and the multiplier is 1 - phi from above.

    Examples
    --------
    >>> TRefwaMeasuredRtt(buffer=100.0).equilibrium()["Q"], TRefwaMeasuredRtt().stability_margin()
    (100.0, 0.5)
    """

    def conditions(self) -> tuple[Value, ...]:
        """Each is > 0 iff the model is stable: psi, 2 - psi. Takes SymPy expressions too."""
        psi = broadcast(self)["psi"]
        return psi, 2 - psi

    def cut_margin(self) -> float | xr.DataArray:
        """> 0 iff `cut_map` comes back to B from both sides: phi > 0, psi > 0 and not both > 1 with
        (phi - 1)(psi - 1) >= 1. Float, or DataArray over the grid of the parameters.
        """

        def margin(v: Mapping[str, Array]) -> Array:
            above, below = np.maximum(v["phi"] - 1, 0), np.maximum(v["psi"] - 1, 0)
            margin: Array = np.minimum(np.minimum(v["phi"], v["psi"]), 1 - above * below)
            return margin

        return over_grid(self, margin, "cut_margin", "stability margin with a buffer that loses packets")

    def characteristic(self, z: Complex) -> Complex:
        """z - (1 - psi)."""
        return z - (1 - broadcast(self)["psi"])

    def _rest(self, v: Mapping[str, Value]) -> dict[str, Value]:
        return {"e": v["buffer"]}

    def _margin(self, v: Mapping[str, Array]) -> Array:
        return np.minimum(v["psi"], 2 - v["psi"])

    def map(self) -> Map:
        """State e; outputs Q, Upsilon and overflow [packets]."""
        return self._map(cut=False)

    def cut_map(self) -> Map:
        """The same with Q = clip(e, 0, B). Its fixed point lies on the switch, where no linearisation exists."""
        return self._map(cut=True)

    def _map(self, cut: bool) -> Map:
        import sympy

        phi, psi, bdp, buffer = self._symbols()
        e = sympy.Symbol("e", real=True)
        queue = clip(e, 0, buffer) if cut else sympy.Max(e, 0)
        return self._problem(
            Map,
            rhs={"e": e + phi * (queue - e) + psi * (buffer - queue)},
            outputs={"Q": queue, "Upsilon": bdp + e, "overflow": sympy.Max(e - buffer, 0)},
        )


@dataclass(frozen=True)
class TRefwaBiased(TRefwaModel, interpretation="biased"):
    """`TRefwaWindow` with an RTT_avg that is wrong by the factor 1 + `rtt_error`, as the code of eq. (1-2) makes it.

    e(n+1) = (1 - phi) e + phi error BDP + psi (B - Q), Q = clip(e, 0, B). The multiplier stays 1 - phi - psi and
    the queue settles phi error BDP/(phi + psi) higher, until it is empty and the link starves, or full; then the
    multiplier is 1 - phi. Where it just fills or empties, the multiplier is another one on each side.

    Examples
    --------
    >>> rest = TRefwaBiased(bdp=100.0, buffer=100.0, rtt_error=0.04).equilibrium()
    >>> rest["Q"], rest["Upsilon"]
    (28.0, 128.0)
    """

    rtt_error: Number = parameter("\\delta", "1", "relative error of the mean RTT", low=-1.0, default=0.0)

    def characteristic(self, z: Complex) -> Complex:
        """z - (1 - phi - psi), or z - (1 - phi) where the queue is empty or full."""
        v = broadcast(self)
        e = self._rest(v)["e"]
        return z - (1 - v["phi"] - v["psi"] * ((e >= 0) & (e <= v["buffer"])))

    def _margin(self, v: Mapping[str, Array]) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            e = self._rest(v)["e"]
        outside, inside = v["phi"], v["phi"] + v["psi"]
        gain = np.where((e < 0) | (e > v["buffer"]), outside, inside)
        # On an end of the buffer one side has either multiplier: of two negative ones the product decides.
        end = np.minimum(np.abs(e), np.abs(e - v["buffer"])) <= 2.0**-40 * v["buffer"]
        both = 1 - np.maximum(outside - 1, 0) * np.maximum(inside - 1, 0)
        return off_the_end(v, np.where(end, both, 2 - gain))

    def _rest(self, v: Mapping[str, Value]) -> dict[str, Value]:
        """The middle one of the roots of three falling lines: for an empty queue, for Q = e, for a full one."""
        shift = v["rtt_error"] * v["bdp"]
        inside = (v["psi"] * v["buffer"] + v["phi"] * shift) / (v["phi"] + v["psi"])
        some = -least(-v["phi"], -float(np.finfo(float).tiny))  # without a gain the link never starves
        empty = shift + v["psi"] * v["buffer"] / some
        e = -least(-least(inside, empty), -shift)
        return {"e": e, "Q": -least(-least(e, v["buffer"]), 0 * e)}

    def map(self) -> Map:
        """State e; outputs Q and Upsilon [packets]."""
        import sympy

        phi, psi, bdp, buffer = self._symbols()
        e, error = sympy.Symbol("e", real=True), self.symbols()["rtt_error"]
        queue = clip(e, 0, buffer)
        return self._problem(
            Map,
            rhs={"e": (1 - phi) * e + phi * error * bdp + psi * (buffer - queue)},
            outputs={"Q": queue, "Upsilon": bdp + e},
        )


def _levin_may(delay: Array) -> Array:
    # The sine of the complement: 2 cos(pi/3) is then 1, and no accuracy is lost as the cosine nears 0.
    return 2 * np.sin(np.pi / (2 * (2 * delay + 1)))
