"""Windows for fast long paths: HighSpeed TCP (RFC 3649) and Scalable TCP, beside plain AIMD, in round trips.

A window of w packets grows by a(w) per round trip and shrinks by b(w) w at a loss. Three readings of "packets are
lost at rate p", which differ by constant factors:

- `response()`: the law of the source, w(p), on which its parameters rest;
- `sawtooth()`: one loss every 1/p packets, with a(w) and b(w) as they vary along the way;
- `ode()`, `map()`, `equilibrium()`: the mean window when losses come at rate p w per round trip,
  w' = a(w) - b(w) p w^2. It rests where w^2 p = a/b; AIMD's sawtooth has mean w with w^2 p = a (2 - b)/(2 b).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.solvers.problems import DomainError

from ..formulas import named, sqrt
from ..parameters import Number, Value, parameter
from .per_round_trip import (
    RFC3649,
    PerRoundTrip,
    Sawtooth,
    climb,
    functions,
    loss_parameter,
    packets,
    periodic_peak,
    rest_above,
)
from .scalable import AimdTcp as AimdTcp
from .scalable import ScalableTcp as ScalableTcp


@dataclass(frozen=True, kw_only=True)
class HighSpeedTcp(PerRoundTrip):
    """HighSpeed TCP: Reno up to a window of 38, then w = low_window (p/low_p)^S through two given points.

    S = ln(high_window/low_window)/ln(high_p/low_p); p(w) is the inverse;
    b(w) = 0.5 - (0.5 - high_decrease) ln(w/low_window)/ln(high_window/low_window); a(w) = w^2 p(w) 2 b/(2 - b).
    Up to and with low_window a(w) = 1 and b(w) = 0.5, as in the RFC. Just above, its formula gives 0.963: the RFC's
    point (38, 10^-3) lies below Reno's 38.7. So a(w) falls by that step as the window passes 38 (b(w) does not), and
    response() stays at 38 between p = 0.00100 and 0.00104. The RFC's table leaves it out: its rows are the windows from
    which a(w) exceeds 2, 3, ..., with w = 38 as the row of 1; see `rfc_table`.

    Raises
    ------
    DomainError
        If a parameter lies outside its interval or a pair is in the wrong order.

    References
    ----------
    .. [1] S. Floyd, HighSpeed TCP for large congestion windows, RFC 3649, 2003, section 5; doi:10.17487/RFC3649

    Examples
    --------
    >>> tcp = HighSpeedTcp(loss=1e-7)
    >>> print(f"{tcp.response():.0f} {tcp.increase(83000):.1f} {tcp.decrease(83000):.2f}")
    83000 72.5 0.10
    """

    loss: Number = loss_parameter()
    low_window: Number = parameter("W_{low}", "packet", "window up to which TCP is Reno", low=0.0, default=38.0)
    high_window: Number = parameter("W_{high}", "packet", "upper window of the formula", low=0.0, default=83000.0)
    low_p: Number = parameter("P_{low}", "1", "loss rate at the lower window", low=0.0, high=1.0, default=1e-3)
    high_p: Number = parameter("P_{high}", "1", "loss rate at the upper window", low=0.0, high=1.0, default=1e-7)
    high_decrease: Number = parameter(
        "b_{high}", "1", "decrease at the upper window", low=0.0, high=0.5, source=RFC3649, default=0.1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        v = self.values()
        for low, high in (("low_window", "high_window"), ("high_p", "low_p")):
            gap = v[high] - v[low]
            if not hasattr(gap, "free_symbols") and not np.all(gap > 0):
                raise DomainError(f"{high} must be above {low}, got {getattr(self, high)!r} and {getattr(self, low)!r}")

    @classmethod
    def rounded(cls, *, loss: Number) -> Self:
        """The formula with the RFC's rounded constants, p(w) = 0.078/w^1.2: just above 38 its a(w) is 0.955.

        Examples
        --------
        >>> tcp = HighSpeedTcp.rounded(loss=1e-5)
        >>> print(f"{tcp.increase(118):.3f} {HighSpeedTcp(loss=1e-5).increase(118):.3f}")
        2.006 2.028
        """
        return cls(loss=loss, low_p=0.078 / 38**1.2, high_p=0.078 / 83000**1.2)

    def exponent(self) -> Value:
        """S < 0 of the response function w ~ p^S; -0.8348 by default."""
        return named(self._exponent(self.values()), "exponent", "1", "exponent of the response function")

    def response(self) -> Value:
        """w(p) [packet]: the formula up to low_p, min(low_window, sqrt(1.5/p)) beyond."""
        v = self.values()
        f = functions(*v.values())
        law = v["low_window"] * (v["loss"] / v["low_p"]) ** self._exponent(v)
        reno = f.minimum(v["low_window"], sqrt(1.5 / v["loss"]))
        return _window(f.choose(v["loss"] <= v["low_p"], law, reno))

    def loss_at(self, window: Number) -> Value:
        """p(w) [1], the inverse of `response`; at low_window itself low_p."""
        v, w = self.values(), packets(window)
        f = functions(w, *v.values())
        law = f.choose(w >= v["low_window"], self._law(w, v), 1.5 / w**2)
        return named(law, "loss", "1", "loss probability")

    def equilibrium(self) -> Value:
        """The mean window in equilibrium [packet], w^2 p = a(w)/b(w).

        Above low_window by Lambert's W; sqrt(2/p) below; low_window itself for p between 4/3 low_p and
        2/low_window^2, where the step of a(w) holds it.

        Raises
        ------
        DomainError
            If the loss is so rare that b(w) would be zero or less there (p < 1e-8 by default).
        """
        v = self.values()
        self._refuse_rare(v)
        above = rest_above(v["loss"] / v["low_p"], -1 / self._exponent(v), self._flattening(v))
        below = np.minimum(v["low_window"], np.sqrt(2 / v["loss"]))
        return _window(functions().choose(self._is_above(v), v["low_window"] * np.exp(above), below))

    def eigenvalue(self) -> Value:
        """Rate [1/RTT] at which the mean window returns to `equilibrium`, negative: stable for every p.

        -(a/w)(1/|S| + beta/(2 - b)) with beta = -db/d ln w above low_window; -2/w below; minus infinity where the
        step of a(w) holds the window.
        """
        v, w, f = self.values(), self.equilibrium(), functions()
        a, b = self._laws(w, v, f)
        above = -a / w * (self._flattening(v) / (2 - b) - 1 / self._exponent(v))
        below = f.choose(w >= v["low_window"], -np.inf, -2 / w)
        return named(f.choose(self._is_above(v), above, below), "eigenvalue", "1/RTT", "rate of return")

    def recovery_time(self, window: Number) -> Value:
        """Round trips from (1 - b(w)) w back to w [RTT], after one loss at `window` w."""
        v, w = self.values(), packets(window)
        trips = climb(self._growth, (1 - self.decrease(w)) * w, w, v, 0)
        return named(trips, "recovery_time", "RTT", "round trips back to the window")

    def sawtooth(self) -> Sawtooth:
        """One loss every 1/p packets: peak, time average and period of the window.

        Raises
        ------
        DomainError
            As for `equilibrium`.
        """
        v = self.values()
        self._refuse_rare(v)
        peak = periodic_peak(self._growth, self._share, v, self._largest(v))
        return Sawtooth.of(peak, climb(self._growth, (1 - self._share(peak, v)) * peak, peak, v, 0), v["loss"])

    def _laws(self, w: Value, v: Mapping[str, Value], f: SimpleNamespace) -> tuple[Value, Value]:
        up = f.maximum(w, v["low_window"])
        b = 0.5 - self._flattening(v) * f.log(up / v["low_window"])
        return f.choose(w <= v["low_window"], 1, up**2 * self._law(up, v) * 2 * b / (2 - b)), b

    def _growth(self, w: Value, v: Mapping[str, Value]) -> Value:
        return self._laws(w, v, functions())[0]

    def _share(self, w: Value, v: Mapping[str, Value]) -> Value:
        return self._laws(w, v, functions())[1]

    def _law(self, w: Value, v: Mapping[str, Value]) -> Value:
        return v["low_p"] * (w / v["low_window"]) ** (1 / self._exponent(v))

    @staticmethod
    def _exponent(v: Mapping[str, Value]) -> Value:
        log = functions(*v.values()).log
        return log(v["high_window"] / v["low_window"]) / log(v["high_p"] / v["low_p"])

    @staticmethod
    def _flattening(v: Mapping[str, Value]) -> Value:
        """beta = -db/d ln w."""
        log = functions(*v.values()).log
        return (0.5 - v["high_decrease"]) / log(v["high_window"] / v["low_window"])

    @staticmethod
    def _is_above(v: Mapping[str, Value]) -> Value:
        """Whether the mean window rests above low_window."""
        return v["loss"] < 4 / 3 * v["low_p"]

    def _largest(self, v: Mapping[str, Value]) -> Value:
        """The window at which b(w) is zero."""
        return v["low_window"] * np.exp(0.5 / self._flattening(v))

    def _check_window(self, w: Value, v: Mapping[str, Value]) -> None:
        largest = self._largest(v)
        if not np.all((w > 0) & (w < largest)):
            raise DomainError(
                f"window must lie between 0 and {float(np.min(largest)):.6g} packets, where b(w) becomes zero, "
                f"got {float(np.max(w)):g}; raise high_window or high_decrease"
            )

    def _refuse_rare(self, v: Mapping[str, Value]) -> None:
        lowest = self._law(self._largest(v), v)
        if not np.all(v["loss"] > lowest):
            raise DomainError(
                f"loss must exceed {float(np.max(lowest)):.3g}, below which b(w) would fall to zero, "
                f"got {float(np.min(v['loss'])):g}; raise high_window or high_decrease"
            )


def rfc_table(top: int = 100_000) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The RFC's table of windows from which a(w) is taken as 1, 2, 3, ..., and b(w) there.

    A new row starts at the first whole window where a(w), with p(w) = 1/(12.8 w^1.2), exceeds that of the last row by
    more than one (the first row is w = 38, where a is 1). Windows are the RFC's to the packet, shares to its two
    decimals; with p(w) = 0.078/w^1.2, as its text has it, windows would differ.

    Parameters
    ----------
    top : int
        The largest window of the table [packet].

    Returns
    -------
    windows : (rows,) array [packet]
    shares : (rows,) array [1]

    References
    ----------
    .. [1] RFC 3649, appendix B; doi:10.17487/RFC3649

    Examples
    --------
    >>> windows, shares = rfc_table()
    >>> windows[:4].tolist(), shares[:4].round(2).tolist()
    ([38, 118, 221, 347], [0.5, 0.44, 0.41, 0.38])
    """
    w = np.arange(38, top)
    tcp = HighSpeedTcp(loss=0.5, low_p=1 / (12.8 * 38**1.2), high_p=1 / (12.8 * 83000**1.2))
    growth, rows = np.asarray(tcp.increase(w.astype(float))), [0]
    last = growth[0]
    while True:
        more = np.flatnonzero(growth[rows[-1] :] > last + 1)
        if not more.size:
            break
        rows.append(rows[-1] + int(more[0]))
        last = growth[rows[-1]]
    return w[rows], np.asarray(tcp.decrease(w[rows].astype(float)))


def _window(value: Value) -> Value:
    return named(value, "window", "packet", "window")
