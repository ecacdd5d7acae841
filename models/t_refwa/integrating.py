"""T-REFWA with a queue that adds up what was sent too much: e read as a rate error per interval.

If the window is kept as a rate, the excess e of each interval stays in the queue: Q(n+1) = Q(n) + e. Then the only
fixed point is e* = 0 with a full buffer, Q* = B, because eq. (3) balances no spare bandwidth against a free buffer.
The readings differ in which excess is added. As the fixed point lies at the buffer's end, `map` lets the queue
grow beyond it and reports the overflow; in `cut_map` what does not fit is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpdynamics.solvers.problems import Delayed, DomainError, Map

from ..parameters import Complex, Number, Value, broadcast, parameter
from .recursion import Array, TRefwaModel, schur_cohn_margin

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True)
class _Integrating(TRefwaModel):
    """e(n+1) = (1 - phi) e(n) + psi (B - Q(n)), and a queue."""

    def conditions(self) -> tuple[Value, ...]:
        """Each is > 0 iff the reading is stable (Jury). Takes SymPy expressions too."""
        return self._conditions(broadcast(self))

    def map(self) -> Map:
        """States e and Q; outputs Upsilon and overflow [packets]."""
        return self._map(cut=False)

    def cut_map(self) -> Map:
        """The same with a queue of B at most. Its fixed point lies on the switch, where no linearisation exists."""
        return self._map(cut=True)

    def _rest(self, v: Mapping[str, Value]) -> dict[str, Value]:
        return {"e": 0 * v["buffer"], "Q": v["buffer"]}

    def _margin(self, v: Mapping[str, Array]) -> Array:
        margin: Array = reduce(np.minimum, self._conditions(v))
        return margin

    def _conditions(self, v: Mapping[str, Any]) -> tuple[Any, ...]:
        raise NotImplementedError

    def _added(self, e: sympy.Expr, following: sympy.Expr) -> sympy.Expr:
        """The excess that joins the queue in an interval, in symbols."""
        return e

    def _map(self, cut: bool, **more: Any) -> Map:
        import sympy

        phi, psi, bdp, buffer = self._symbols()
        e, queue = sympy.symbols("e Q", real=True)
        following = (1 - phi) * e + psi * (buffer - queue)
        grown = sympy.Max(queue + self._added(e, following), 0)
        return self._problem(
            Map,
            rhs={"e": following, "Q": sympy.Min(grown, buffer) if cut else grown},
            outputs={"Upsilon": bdp + e, "overflow": sympy.Max(queue - buffer, 0)},
            **more,
        )


@dataclass(frozen=True)
class TRefwaIntegrating(_Integrating, interpretation="integrating"):
    """Integrating queue: Q(n+1) = max(Q(n) + e(n), 0).

    The characteristic polynomial is z^2 - (2 - phi) z + 1 - phi + psi. Stable iff 0 < psi < phi and
    psi > 2 phi - 4. The published gains have the eigenvalues 0 and 1/2.

    Examples
    --------
    >>> TRefwaIntegrating().conditions()
    (0.5, 1.0, 1.5)
    """

    def characteristic(self, z: Complex) -> Complex:
        """z^2 - (2 - phi) z + 1 - phi + psi."""
        v = broadcast(self)
        return (z - (1 - v["phi"])) * (z - 1) + v["psi"]

    def _conditions(self, v: Mapping[str, Any]) -> tuple[Any, ...]:
        phi, psi = v["phi"], v["psi"]
        return psi, phi - psi, 4 - 2 * phi + psi


@dataclass(frozen=True)
class TRefwaIntegratingSemiImplicit(_Integrating, interpretation="semi-implicit"):
    """Integrating queue that already feels the new command: Q(n+1) = max(Q(n) + e(n+1), 0).

    The characteristic polynomial is z^2 - (2 - phi - psi) z + 1 - phi. Stable iff 0 < phi < 2 and
    0 < psi < 4 - 2 phi. The published gains have the radius sqrt(1/2).

    Examples
    --------
    >>> TRefwaIntegratingSemiImplicit().conditions()
    (0.5, 1.5, 0.5)
    """

    def characteristic(self, z: Complex) -> Complex:
        """z^2 - (2 - phi - psi) z + 1 - phi."""
        v = broadcast(self)
        return (z - (1 - v["phi"])) * (z - 1) + v["psi"] * z

    def _conditions(self, v: Mapping[str, Any]) -> tuple[Any, ...]:
        phi, psi = v["phi"], v["psi"]
        return psi, phi, 4 - 2 * phi - psi  # phi < 2 follows

    def _added(self, e: sympy.Expr, following: sympy.Expr) -> sympy.Expr:
        return following


@dataclass(frozen=True)
class TRefwaIntegratingDelayed(_Integrating, interpretation="integrating-delayed"):
    """Integrating queue that the windows reach `delay` intervals late: Q(n+1) = max(Q(n) + e(n-d), 0).

    The characteristic polynomial is z^(d+2) - (2 - phi) z^(d+1) + (1 - phi) z^d + psi. One interval: stable iff
    0 < psi < min(1, 4 - 2 phi) and 1 - psi^2 > |psi (2 - phi) + 1 - phi|; the published gains have the radius 0.83.
    Other delays are tested by the Schur-Cohn recursion.

    Examples
    --------
    >>> TRefwaIntegratingDelayed().conditions()
    (0.5, 0.5, 1.0, 0.5)
    >>> (TRefwaIntegratingDelayed(delay=[0, 1, 2, 5]).stability_margin() > 0).values
    array([ True,  True,  True, False])
    """

    delay: Number = parameter("d", "interval", "delay of the windows", low=0, low_open=False, integer=True, default=1)

    def conditions(self) -> tuple[Value, ...]:
        """Each is > 0 iff the model is stable, for a delay of one (Jury). Takes SymPy expressions too."""
        v = broadcast(self)
        if np.any(v["delay"] != 1):
            raise DomainError(f"delay must be 1 for conditions in closed form, got {self.delay}; use stability_margin")
        return self._conditions(v)

    def characteristic(self, z: Complex) -> Complex:
        """z^(d+2) - (2 - phi) z^(d+1) + (1 - phi) z^d + psi."""
        v = broadcast(self)
        return (z - (1 - v["phi"])) * (z - 1) * z ** v["delay"] + v["psi"]

    def _conditions(self, v: Mapping[str, Any]) -> tuple[Any, ...]:
        phi, psi = v["phi"], v["psi"]
        # |x| < 1 - psi^2 as two conditions; psi < 1 follows from both.
        x = psi * (2 - phi) + 1 - phi
        return psi, 4 - 2 * phi - psi, 1 - psi**2 - x, 1 - psi**2 + x

    def _margin(self, v: Mapping[str, Array]) -> Array:
        margin: Array = reduce(np.minimum, self._conditions(v))
        for d in np.unique(v["delay"][v["delay"] != 1]).astype(int):
            at = v["delay"] == d
            a = 1 - v["phi"][at]
            coefficients = np.zeros((d + 3, a.size))
            coefficients[0], coefficients[1], coefficients[2] = 1, -1 - a, a
            coefficients[-1] += v["psi"][at]
            margin[at] = schur_cohn_margin(coefficients)
        return margin

    def _added(self, e: sympy.Expr, following: sympy.Expr) -> sympy.Expr:
        import sympy

        return sympy.Symbol("e_d", real=True)

    def _map(self, cut: bool, **more: Any) -> Map:
        return super()._map(cut, delayed={"e_d": Delayed("e", self.symbols()["delay"])}, **more)
