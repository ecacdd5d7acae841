"""T-REFWA's aggregate recursion, eq. (3): its link, gains and fixed point, and boundaries of stability.

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
from ..parameters import Complex, Number, Value, broadcast, is_labelled, parameter

if TYPE_CHECKING:
    import sympy
    import xarray as xr

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
    psi: Number = parameter("\\psi", "1", "gain on free buffer", low=0.0, low_open=False, source=SOURCE, default=PSI)
    bdp: Number = parameter(
        "BDP", "packet", "bandwidth-delay product", low=0.0, source=SOURCE + ", Table II", default=OC3,
        note="Bw RTT_avg with the round-trip time without queueing",
    )  # fmt: skip
    buffer: Number = parameter("B", "packet", "buffer", low=0.0, source=SOURCE + ", Table II", default=OC3)


@dataclass(frozen=True)
class TRefwaModel(TRefwaLink, family="t-refwa"):
    """A reading of eq. (3): its fixed point, its characteristic function and its stability."""

    # -- what readings give --------------------------------------------------------------------------------

    def characteristic(self, z: Complex) -> Complex:
        """Characteristic function of the linearised recursion at z, a number, array or SymPy symbol."""
        raise NotImplementedError

    def _rest(self, v: Mapping[str, Value]) -> dict[str, Value]:
        """Fixed point of the states, in numbers or in symbols."""
        raise NotImplementedError

    def _margin(self, v: Mapping[str, Array]) -> Array:
        """Stability margin of points whose parameters are arrays of one shape."""
        raise NotImplementedError

    # -- closed forms --------------------------------------------------------------------------------------

    def stability_margin(self) -> float | xr.DataArray:
        """Distance to the boundary of the class's condition, in the gains: > 0 stable, 0 marginal, < 0 unstable.

        Returns
        -------
        float, or DataArray over the grid of the parameters
        """
        return over_grid(self, self._margin, "stability_margin", "stability margin")

    def equilibrium(self) -> dict[str, Value]:
        """The fixed point: e, Q and Upsilon [packets], floats, DataArrays or SymPy expressions.

        Where phi = psi = 0 every window is at rest, and the result is nan.
        """
        v = numpy_values(self)
        with np.errstate(invalid="ignore", over="ignore"):
            variables = self._rest(v)
        variables = {"e": variables["e"], "Q": variables.get("Q", variables["e"]), "Upsilon": v["bdp"] + variables["e"]}
        return {k: to_python(x) for k, x in variables.items()}

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
        equilibrium = self._rest(s)
        equilibrium = {k: sympy.sympify(equilibrium[k]).subs(gains, positive) for k in equations["rhs"]}
        start = {label: -s["bdp"] if label == "e" else 0 for label in equilibrium}
        return self.problem(kind, start=start, fixed_points=[equilibrium], **equations)


def off_the_end(v: Mapping[str, Array], margin: Array) -> Array:
    """The margin of a queue that phi > 0 keeps off the buffer's end; 0 without phi.

    At phi = 0 it rests at Q = B, on the switch, and there e(n+1) = e(n) + psi (B - Q) with Q <= B: e never falls and
    every e >= B (for as long as the delays reach back) is at rest. Deviations neither grow nor die out.
    """
    return np.where(v["phi"] > 0, np.minimum(v["phi"], margin), 0.0)


def clip(x: sympy.Expr, low: sympy.Expr, high: sympy.Expr) -> sympy.Expr:
    """x, or the end of [low, high] that it passed."""
    import sympy

    return sympy.Max(low, sympy.Min(x, high))


def least(first: Value, *others: Value) -> Value:
    """The smallest of numbers, arrays, DataArrays or SymPy expressions, elementwise."""
    symbolic = [x.free_symbols for x in (first, *others) if hasattr(x, "free_symbols")]
    if symbolic:
        import sympy

        return sympy.Min(first, *others, evaluate=not any(symbolic))  # to compare formulas takes SymPy seconds
    return reduce(np.minimum, others, first)


def numpy_values(model: Model) -> dict[str, Value]:
    """As `broadcast`, with NumPy's floats, which divide by zero without an error."""
    v = broadcast(model)
    if any(hasattr(x, "free_symbols") for x in v.values()):
        return v
    return {k: np.float64(x) if isinstance(x, float | int) else x for k, x in v.items()}


def to_python(x: Value) -> Value:
    """A NumPy number as Python's; anything else as it is."""
    return x.item() if isinstance(x, np.generic) else x


def over_grid(
    model: Model, function: Callable[[Mapping[str, Array]], Array], name: str, meaning: str, unit: str = "1"
) -> float | xr.DataArray:
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

    arrays = dict(zip(values, xr.broadcast(*filter(is_labelled, values.values())), strict=True))
    first = next(iter(arrays.values()))
    flat = {k: np.asarray(a.values, dtype=float).ravel() for k, a in arrays.items()}
    result = first.copy(data=function(flat).reshape(first.shape)).rename(name)
    result.attrs = {"units": unit, "long_name": meaning}
    return result


#: Halvings of an interval of length 2 down to the spacing of floats.
_HALVINGS = 54

#: A reflection coefficient this close to 1 in modulus counts as 1.
_ON_CIRCLE = 1e-14


def bisect(falling: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Where a function turns from positive to negative, once, elementwise; the nearer end where it does not.

    Examples
    --------
    >>> bisect(lambda x: np.array([2.0, 0.5]) - x**2, np.zeros(2), np.full(2, 2.0)).round(12) ** 2
    array([2. , 0.5])
    """
    low, high = low.copy(), high.copy()
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        right = falling(middle) > 0
        low, high = np.where(right, middle, low), np.where(right, high, middle)
    return (low + high) / 2


def trinomial_margin(a: Array, b: Array, delay: Array) -> Array:
    """How far z^(d+1) - a z^d + b, b >= 0, is from having a root outside the unit disc: > 0 if all are inside.

    For d = 0, and for even d with a <= 0: b < 1 + a. Else |a| - 1 < b < sin(w)/sin(d w) where w in
    (0, pi/(d+1)) solves sin((d+1) w) = |a| sin(d w); for |a| > (d+1)/d there is no such w and no such b.

    Parameters
    ----------
    a, b, delay : (m,) arrays
        `delay` d holds whole numbers >= 0.

    References
    ----------
    .. [1] S. A. Kuruklis, The asymptotic stability of x(n+1) - a x(n) + b x(n-k) = 0, Journal of Mathematical
       Analysis and Applications 188, 1994, theorem 1; doi:10.1006/jmaa.1994.1457

    Examples
    --------
    >>> trinomial_margin(np.array([-0.5, 0.0]), np.array([0.5, 0.5]), np.array([2.0, 1.0]))
    array([0. , 0.5])
    """
    lower = np.where(delay == 0, a - 1, np.abs(a) - 1)
    even = (delay % 2 == 0) & (delay > 0) & (a <= 0)  # the root 1 is then far: p(1) = 1 + |a| + b
    return np.minimum(np.where(even, np.inf, b - lower), critical_gain(a, delay) - b)


def critical_gain(a: Array, delay: Array) -> Array:
    """The upper end of the b for which z^(d+1) - a z^d + b has all roots in the unit disc.

    Odd d: the same for a and -a, because the roots change their signs only.
    """
    d = np.maximum(delay, 1.0)  # d = 0 is a real crossing
    size = np.abs(a)
    high = np.pi / (d + 1)
    w = bisect(lambda w: np.sin((d + 1) * w) - size * np.sin(d * w), high * 1e-9, high)
    complex_crossing = np.where(size < (d + 1) / d, np.sin(w) / np.sin(d * w), 1 / d)
    real = (delay == 0) | ((delay % 2 == 0) & (a <= 0))
    return np.where(real, 1 + a, complex_crossing)


def schur_cohn_margin(coefficients: Array) -> Array:
    """How far a polynomial is from having a root outside the unit disc: the least of 1 - |reflection coefficient|.

    The recursion of Schur and Cohn (Jury's table): all roots lie inside iff all reflection coefficients do.
    It ends at the first that does not. Where that is 1 in modulus, the roots that are left have a product of 1: then
    either all of them lie on the circle, and the margin is 0, or some lie outside, and it is negative. All lie on the
    circle iff the polynomial is its own reverse up to the sign and its derivative has no root outside (Cohn).

    Parameters
    ----------
    coefficients : (degree + 1, m) array
        Highest power first.

    References
    ----------
    .. [1] E. I. Jury, Theory and application of the z-transform method, Wiley, 1964, chapter 3
    .. [2] A. Cohn, Ueber die Anzahl der Wurzeln einer algebraischen Gleichung in einem Kreise, Math. Zeitschrift 14,
       1922; doi:10.1007/BF01215894

    Examples
    --------
    >>> schur_cohn_margin(np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 3.0], [-0.25, -4.0, 1.0]]))
    array([ 0.75, -3.  , -0.5 ])
    """
    reduced = coefficients / coefficients[0]
    margin = np.full(reduced.shape[1], np.inf)
    for degree in range(len(reduced) - 1, 0, -1):
        inside = margin > 0
        reflection = np.where(inside, reduced[degree], 0.0)
        margin = np.where(inside, np.minimum(margin, 1 - np.abs(reflection)), margin)
        on = np.flatnonzero(inside & (np.abs(margin) <= _ON_CIRCLE) & (degree > 1))
        if on.size:
            margin[on] = _on_circle(reduced[: degree + 1, on], np.sign(reflection[on]))
        reflection = np.where(margin > 0, reflection, 0.0)
        reduced = (reduced[:degree] - reflection * reduced[degree:0:-1]) / (1 - reflection**2)
    return margin


def _on_circle(rest: Array, sign: Array) -> Array:
    """Zero where all roots of polynomials whose roots have a product of modulus 1 lie on the circle, else < 0."""
    uneven = np.abs(rest - sign * rest[::-1]).max(axis=0) / np.abs(rest).max(axis=0)
    powers = np.arange(len(rest) - 1, 0, -1)[:, None]
    inner = schur_cohn_margin(rest[:-1] * powers)  # the derivative
    return np.where(uneven > 64 * _ON_CIRCLE, -uneven, np.minimum(inner, 0.0))


def both_delayed_critical(x: Array) -> Array:
    """y at which z^2 + (x z + y) e^-z has its first roots on the imaginary axis: x = w sin w, y = w^2 cos w.

    For 0 < x < pi/2 all roots lie left iff 0 < y < w^2 cos w, w in (0, pi/2). From pi/2 on no y > 0 is stable, and
    the curve is continued by pi/2 - x.
    """
    w = bisect(lambda w: x - w * np.sin(w), np.zeros_like(x), np.full_like(x, np.pi / 2))
    for _ in range(2):  # small x: bisection's absolute error is not small beside w = sqrt(x)
        slope = np.sin(w) + w * np.cos(w)
        w = np.where(slope > 0, w - (w * np.sin(w) - x) / np.where(slope > 0, slope, 1.0), w)
    return np.where(x < np.pi / 2, w**2 * np.cos(w), np.pi / 2 - x)


def queue_delayed_critical(x: Array) -> Array:
    """y at which z^2 + x z + y e^-z has its first roots on the imaginary axis: x = w tan w, y = w^2/cos w.

    All roots lie left iff x > 0 and 0 < y < w^2/cos w, w in (0, pi/2).
    """
    w = bisect(lambda w: x * np.cos(w) - w * np.sin(w), np.zeros_like(x), np.full_like(x, np.pi / 2))
    for _ in range(2):
        slope = (1 + x) * np.sin(w) + w * np.cos(w)
        w = np.where(slope > 0, w - (w * np.sin(w) - x * np.cos(w)) / np.where(slope > 0, slope, 1.0), w)
    return x / np.sinc(w / np.pi)  # w^2/cos w = x w/sin w, without a small cosine
