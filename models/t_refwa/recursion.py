"""T-REFWA's aggregate recursion, eq. (3): its link and gains, its fixed point, and margins over a grid.

Eq. (3) of Taleb et al. leaves open when the router measures what it puts into the bracket, so each reading is
a class of its own: `commanded` (window readings), `measured` (the law fed by what the router measures), `integrating`
(the queue adds up what was too much) and `continuous`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.solvers.problems import DomainError

from ..model import Model, Problem
from ..parameters import Number, broadcast, parameter

if TYPE_CHECKING:
    import sympy

Array = NDArray[np.float64]

SOURCE = "Taleb, Nishiyama, Jamalipour, Kato, Nemoto, A Fair TCP-Based Congestion Avoidance Approach"

#: The published gains, said to be stable under any conditions.
PHI, PSI = 1.5, 0.5

#: The OC3 link of Table II: its buffer, which equals its bandwidth-delay product [packets].
OC3 = 190.0


@dataclass(frozen=True)
class TRefwaLink(Model):
    """Gains and link of eq. (3).

    Upsilon(n) = Upsilon(n-1) + phi (Bw RTT_avg - Upsilon(n-1)) + psi (B - Q(n-1)), every interval RTT_avg. In
    the text e = Upsilon - Bw RTT_avg. The paper sets no floor, so a far too large window can command a
    negative one; the maps follow it in that.
    """

    variables: ClassVar = {
        "e": ("packet", "window in excess of the bandwidth-delay product"),
        "Q": ("packet", "queue"),
        "Upsilon": ("packet", "aggregate window"),
        "overflow": ("packet", "packets that do not fit into the buffer"),
        "W": ("packet", "window on the link"),
    }
    time_units = "interval"

    phi: Number = parameter(
        "\\phi", "1", "gain on spare bandwidth", low=0.0, low_open=False, source=SOURCE, default=PHI
    )
    psi: Number = parameter(
        "\\psi", "1", "gain on free buffer", low=0.0, low_open=False, source=SOURCE, default=PSI
    )
    bdp: Number = parameter(
        "BDP", "packet", "bandwidth-delay product", low=0.0, source=SOURCE + ", Table II", default=OC3,
        note="Bw RTT_avg with the round-trip time without queueing",
    )  # fmt: skip
    buffer: Number = parameter("B", "packet", "buffer", low=0.0, source=SOURCE + ", Table II", default=OC3)


@dataclass(frozen=True)
class TRefwaModel(TRefwaLink, family="t-refwa"):
    """A reading of eq. (3): its fixed point, its characteristic function and its stability."""

    # -- what readings give --------------------------------------------------------------------------------

    def characteristic(self, z: Any) -> Any:
        """Characteristic function of the linearised recursion at z, a number, array or SymPy symbol."""
        raise NotImplementedError

    def _rest(self, v: Mapping[str, Any]) -> dict[str, Any]:
        """Fixed point of the states, in numbers or in symbols."""
        raise NotImplementedError

    def _margin(self, v: Mapping[str, Array]) -> Array:
        """Stability margin of points whose parameters are arrays of one shape."""
        raise NotImplementedError

    # -- closed forms --------------------------------------------------------------------------------------

    def stability_margin(self) -> Any:
        """Distance to the boundary of the class's condition, in the gains: > 0 stable, 0 marginal, < 0 unstable.

        Returns
        -------
        float, or DataArray over the grid of the parameters
        """
        return over_grid(self, self._margin, "stability_margin", "stability margin")

    def equilibrium(self) -> dict[str, Any]:
        """The fixed point: e, Q and Upsilon [packets], floats, DataArrays or SymPy expressions.

        Where phi = psi = 0 every window is at rest, and the result is nan.
        """
        v = numpy_values(self)
        with np.errstate(invalid="ignore", over="ignore"):
            rest = self._rest(v)
        rest = {"e": rest["e"], "Q": rest.get("Q", rest["e"]), "Upsilon": v["bdp"] + rest["e"]}
        return {k: to_python(x) for k, x in rest.items()}

    # -- problems ------------------------------------------------------------------------------------------

    def _symbols(self) -> tuple[sympy.Symbol, ...]:
        """phi, psi, bdp, buffer."""
        return tuple(self.symbols()[name] for name in ("phi", "psi", "bdp", "buffer"))

    def _problem(self, kind: type[Problem], **equations: Any) -> Problem:
        """A problem from an empty network, with this reading's fixed point."""
        import sympy

        s = self.symbols()
        gains = s["phi"] + s["psi"]
        positive = sympy.Max(gains, sympy.Float(np.finfo(float).tiny))  # phi = psi = 0: at rest anywhere
        rest = self._rest(s)
        rest = {k: sympy.sympify(rest[k]).subs(gains, positive) for k in equations["rhs"]}
        start = {label: -s["bdp"] if label == "e" else 0 for label in rest}
        return self.problem(kind, start=start, fixed_points=[rest], **equations)


def off_the_end(v: Mapping[str, Array], margin: Array) -> Array:
    """The margin of a queue that phi > 0 keeps off the buffer's end; 0 without phi.

    At phi = 0 it rests at Q = B, on the switch, and there e(n+1) = e(n) + psi (B - Q) with Q <= B: e never falls and
    every e >= B (for as long as the delays reach back) is at rest. Deviations neither grow nor die out.
    """
    return np.where(v["phi"] > 0, np.minimum(v["phi"], margin), 0.0)


def clip(x: Any, low: Any, high: Any) -> Any:
    """x, or the end of [low, high] that it passed."""
    import sympy

    return sympy.Max(low, sympy.Min(x, high))


def least(first: Any, *others: Any) -> Any:
    """The smallest of numbers, arrays, DataArrays or SymPy expressions, elementwise."""
    symbolic = [x.free_symbols for x in (first, *others) if hasattr(x, "free_symbols")]
    if symbolic:
        import sympy

        return sympy.Min(
            first, *others, evaluate=not any(symbolic)
        )  # to compare formulas takes SymPy seconds
    return reduce(np.minimum, others, first)


def numpy_values(model: Model) -> dict[str, Any]:
    """As `broadcast`, with NumPy's floats, which divide by zero without an error."""
    v = broadcast(model)
    if any(hasattr(x, "free_symbols") for x in v.values()):
        return v
    return {k: np.float64(x) if isinstance(x, float | int) else x for k, x in v.items()}


def to_python(x: Any) -> Any:
    """A NumPy number as Python's; anything else as it is."""
    return x.item() if isinstance(x, np.generic) else x


def over_grid(
    model: Model, function: Callable[[Mapping[str, Array]], Array], name: str, meaning: str, unit: str = "1"
) -> Any:
    """An elementwise function of a model's parameters: a float, or a DataArray over their grid.

    Raises
    ------
    DomainError
        A parameter is a SymPy expression.
    """
    values = {k: v for k, v in broadcast(model).items() if v is not None}
    symbolic = [k for k, v in values.items() if hasattr(v, "free_symbols")]
    if symbolic:
        raise DomainError(f"{symbolic[0]} must be a number here, got {values[symbolic[0]]}; substitute first")
    values = {k: v.magnitude if hasattr(v, "magnitude") else v for k, v in values.items()}
    if not any(hasattr(v, "dims") for v in values.values()):
        return float(function({k: np.array([v], dtype=float) for k, v in values.items()})[0])

    import xarray as xr

    arrays = dict(zip(values, xr.broadcast(*values.values()), strict=True))
    first = next(iter(arrays.values()))
    flat = {k: np.asarray(a.values, dtype=float).ravel() for k, a in arrays.items()}
    result = first.copy(data=function(flat).reshape(first.shape)).rename(name)
    result.attrs = {"units": unit, "long_name": meaning}
    return result
