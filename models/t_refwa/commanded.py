"""T-REFWA's aggregate recursion, eq. (3), read literally: the bracket holds the window that the router commanded.

Senders follow at once, so the queue is what the window has in excess of the bandwidth-delay product:
Q = clip(e, 0, B). The readings differ in when the router sees that queue. In all of them the fixed point is
e* = Q* = psi B/(phi + psi). For other readings see `measured`, `integrating` and
`continuous`.

References
----------
.. [1] T. Taleb, H. Nishiyama, A. Jamalipour, N. Kato, Y. Nemoto, A fair TCP-based congestion avoidance approach
   for one-to-many private networks, section III, eq. (3)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np

from tcpdynamics import former_names
from tcpdynamics.solvers.problems import Delayed, DomainError, Map

from ..parameters import Complex, Number, Value, broadcast, parameter, setting
from .recursion import (
    Array,
    TRefwaModel,
    clip,
    critical_gain,
    off_the_end,
    over_grid,
    schur_cohn_margin,
    trinomial_margin,
)

if TYPE_CHECKING:
    import xarray as xr


class _Commanded(TRefwaModel):
    """e(n+1) = (1 - phi) e(n) + psi (B - Q), whatever queue is seen."""

    def _rest(self, v: Mapping[str, Value]) -> dict[str, Value]:
        return {"e": v["psi"] * v["buffer"] / (v["phi"] + v["psi"])}

    def any_delay_margin(self) -> float | xr.DataArray:
        """1 - |1 - phi| - psi: where it is > 0, every mix of whole delays of the queue is stable.

        A root z with |z| >= 1 of z - (1 - phi) = -psi sum s_i z^(-d_i) would give |z| - |1 - phi| <= psi. Where
        it is < 0, some delay is unstable. On the boundary, phi > 1 leaves the mixes stable but those whose delays
        are all even (none included), which have the root -1; 0 < phi < 1 leaves every mix stable, though the
        roots come near the circle as delays grow. The published gains lie on the boundary.

        Returns
        -------
        float, or DataArray over the grid of the parameters
        """
        return over_grid(
            self, lambda v: 1 - np.abs(1 - v["phi"]) - v["psi"], "any_delay_margin", "stability margin over all delays"
        )


@dataclass(frozen=True)
class TRefwaWindow(_Commanded, interpretation="window"):
    """Window without delay: the router sees the queue that its last command made.

    e(n+1) = (1 - phi) e(n) + psi (B - Q(n)), Q = clip(e, 0, B). Stable iff phi > 0 and phi + psi < 2, with the
    multiplier 1 - phi - psi (at phi = 0 the queue stays at the buffer's end, and every e >= B is fixed). The
    published gains give exactly -1: every start in [0, B/2] is on a cycle of two, e <-> B/2 - e, and every other start
    ends on 0 <-> B/2.

    Examples
    --------
    >>> TRefwaWindow().stability_margin(), TRefwaWindow(phi=1.0).stability_margin()
    (0.0, 0.5)
    >>> TRefwaWindow(buffer=100.0).equilibrium()["Q"]
    25.0
    """

    def conditions(self) -> tuple[Value, ...]:
        """Each is > 0 iff the model is stable: phi, 2 - phi - psi. Takes SymPy expressions too."""
        v = broadcast(self)
        return v["phi"], 2 - v["phi"] - v["psi"]

    def multiplier(self) -> Value:
        """1 - phi - psi, by which a small deviation is multiplied in each interval."""
        v = broadcast(self)
        return 1 - v["phi"] - v["psi"]

    def characteristic(self, z: Complex) -> Complex:
        """z - (1 - phi - psi)."""
        return z - self.multiplier()

    def _margin(self, v: Mapping[str, Array]) -> Array:
        return off_the_end(v, 2 - v["phi"] - v["psi"])

    def map(self) -> Map:
        """State e; outputs Q and Upsilon [packets]."""
        import sympy

        phi, psi, bdp, buffer = self._symbols()
        e = sympy.Symbol("e", real=True)
        queue = clip(e, 0, buffer)
        return self._problem(
            Map, rhs={"e": (1 - phi) * e + psi * (buffer - queue)}, outputs={"Q": queue, "Upsilon": bdp + e}
        )


@dataclass(frozen=True)
class TRefwaDelayed(_Commanded, interpretation="delayed"):
    """The router sees the queue as it was `delay` intervals ago.

    e(n+1) = (1 - phi) e(n) + psi (B - Q(n - d)), Q = clip(e, 0, B). With a = 1 - phi the characteristic polynomial is
    z^(d+1) - a z^d + psi. Stable iff phi > 0 and, for even d and phi >= 1 (d = 0: all phi), phi + psi < 2; otherwise
    |a| - 1 < psi < sin(w)/sin(d w), where sin((d+1) w) = |a| sin(d w) and 0 < w < pi/(d+1). One interval:
    psi < 1 and phi < 2 + psi.

    References
    ----------
    .. [1] S. A. Kuruklis, The asymptotic stability of x(n+1) - a x(n) + b x(n-k) = 0, Journal of Mathematical
       Analysis and Applications 188, 1994, theorem 1; doi:10.1006/jmaa.1994.1457

    Examples
    --------
    >>> TRefwaDelayed(delay=[1, 2]).stability_margin().values
    array([0.5, 0. ])
    """

    delay: Number = parameter("d", "interval", "age of the queue", low=0, low_open=False, integer=True, default=1)

    def critical_psi(self) -> float | xr.DataArray:
        """The upper end of the stable psi at this phi and delay: float, or DataArray over the grid."""
        return over_grid(self, lambda v: critical_gain(1 - v["phi"], v["delay"]), "critical_psi", "largest stable gain")

    def characteristic(self, z: Complex) -> Complex:
        """z^(d+1) - (1 - phi) z^d + psi."""
        v = broadcast(self)
        return (z - (1 - v["phi"])) * z ** v["delay"] + v["psi"]

    def _margin(self, v: Mapping[str, Array]) -> Array:
        return off_the_end(v, trinomial_margin(1 - v["phi"], v["psi"], v["delay"]))

    def map(self) -> Map:
        """State e; outputs Q and Upsilon [packets]."""
        import sympy

        phi, psi, bdp, buffer = self._symbols()
        e, queue_before, delay = sympy.symbols("e Q_d delay", real=True)
        return self._problem(
            Map,
            rhs={"e": (1 - phi) * e + psi * (buffer - queue_before)},
            delayed={"Q_d": Delayed("Q", delay)},
            outputs={"Q": clip(e, 0, buffer), "Upsilon": bdp + e},
        )


#: Longest delay of a mix [intervals]: the recursion takes time by its square.
MAX_DELAY = 10_000


@former_names.arguments(shares="fractions")
@dataclass(frozen=True)
class TRefwaMixed(_Commanded, interpretation="mixed"):
    """Flows of different round-trip times: a fraction s_i of the window arrives d_i intervals late.

    e(n+1) = (1 - phi) e(n) + psi (B - Q(n)), Q = clip(sum s_i e(n - d_i), 0, B). The characteristic equation is
    z - (1 - phi) = -psi sum s_i z^(-d_i). One mix is tested by the Schur-Cohn recursion, all mixes at once by
    `any_delay_margin`.

    Raises
    ------
    DomainError
        Delays that are no whole numbers in [0, `MAX_DELAY`], fractions not as many, not > 0 or not of sum one.

    Examples
    --------
    >>> abs(TRefwaMixed(delays=(0, 2)).stability_margin()) < 1e-12
    True
    >>> TRefwaMixed(delays=(0, 1)).stability_margin() > 0
    True
    """

    delays: tuple[int, ...] = setting(
        "d_i in whole intervals >= 0; they shape the recursion, so they cannot be swept", (0, 1)
    )
    fractions: tuple[float, ...] | None = setting(
        "s_i > 0, the fraction of the window with each delay, with the sum one; equal if not given", None
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("delays", "fractions"):
            numbers = getattr(self, name)
            if numbers is not None and not isinstance(numbers, tuple | list):
                raise DomainError(f"{name} must be a tuple of numbers, got {numbers!r}; write ({numbers!r},)")
        for d in self.delays:
            if isinstance(d, bool) or not isinstance(d, Integral) or d < 0:
                raise DomainError(f"delays must be whole numbers >= 0 [intervals], got {d!r}; round them")
            if d > MAX_DELAY:
                raise DomainError(f"delays must be at most {MAX_DELAY} intervals, got {d}; count longer intervals")
        if not self.delays:
            raise DomainError("delays must hold at least one number, got none")
        if self.fractions is None:
            return
        if len(self.fractions) != len(self.delays):
            raise DomainError(
                f"fractions must be as many as delays ({len(self.delays)}), got {len(self.fractions)}; give one each"
            )
        for s in self.fractions:
            if isinstance(s, bool) or not isinstance(s, Real):
                raise DomainError(f"fractions must be numbers > 0, got {s!r}; give fractions of one")
        total = float(sum(self.fractions))
        if not all(s > 0 for s in self.fractions) or not abs(total - 1) < 1e-9:
            raise DomainError(
                f"fractions must be > 0 and sum to one, got {self.fractions} (sum {total:g}); divide by the sum"
            )

    def mix(self) -> dict[int, float]:
        """Delay [intervals] -> fraction of the window [1], with equal delays put together."""
        fractions = self.fractions or (1 / len(self.delays),) * len(self.delays)
        mixed: dict[int, float] = {}
        for d, s in zip(self.delays, fractions, strict=True):
            mixed[int(d)] = mixed.get(int(d), 0.0) + s
        return mixed

    def characteristic(self, z: Complex) -> Complex:
        """z^(D+1) - (1 - phi) z^D + psi sum s_i z^(D - d_i), D the longest delay."""
        v, mix = broadcast(self), self.mix()
        longest = max(mix)
        queue = sum(s * z ** (longest - d) for d, s in mix.items())
        return (z - (1 - v["phi"])) * z**longest + v["psi"] * queue

    def _margin(self, v: Mapping[str, Array]) -> Array:
        mix = self.mix()
        coefficients = np.zeros((max(mix) + 2, v["phi"].size))
        coefficients[0], coefficients[1] = 1, v["phi"] - 1
        for d, s in mix.items():
            coefficients[d + 1] += s * v["psi"]
        return off_the_end(v, schur_cohn_margin(coefficients))

    def map(self) -> Map:
        """State e; outputs Q and Upsilon [packets]."""
        import sympy

        phi, psi, bdp, buffer = self._symbols()
        e = sympy.Symbol("e", real=True)
        late = {d: sympy.Symbol(f"e_{d}", real=True) if d else e for d in self.mix()}
        queue = clip(sum(s * late[d] for d, s in self.mix().items()), 0, buffer)
        return self._problem(
            Map,
            rhs={"e": (1 - phi) * e + psi * (buffer - queue)},
            delayed={f"e_{d}": Delayed("e", d) for d in self.mix() if d},
            outputs={"Q": queue, "Upsilon": bdp + e},
        )
