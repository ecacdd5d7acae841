"""Functions of a number, a DataArray or a SymPy expression alike, so that a closed form is written and proved once."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.solvers.problems import DomainError

from .parameters import Number, Value, is_labelled

if TYPE_CHECKING:
    import sympy
    import xarray as xr


def exp(x: Number) -> Value:
    """e^x."""
    return _apply("exp", x)


def log(x: Number) -> Value:
    """Natural logarithm."""
    return _apply("log", x)


def sin(x: Number) -> Value:
    """Sine."""
    return _apply("sin", x)


def cos(x: Number) -> Value:
    """Cosine."""
    return _apply("cos", x)


def arccos(x: Number) -> Value:
    """Inverse cosine."""
    return _apply("acos" if hasattr(x, "free_symbols") else "arccos", x)


def sqrt(x: Number) -> Value:
    """Square root."""
    return _apply("sqrt", x)


def _apply(name: str, x: Number) -> Value:
    if hasattr(x, "free_symbols"):
        import sympy

        return getattr(sympy, name)(x)
    return getattr(np, name)(x)


def pi_of(x: Number) -> Value:
    """pi, exact beside a SymPy expression."""
    if hasattr(x, "free_symbols"):
        import sympy

        return sympy.pi
    return math.pi


def named(value: Value | np.generic | NDArray[Any], name: str, units: str, long_name: str) -> Value:
    """A result with its labels: a DataArray gets them, a single number becomes a float, an expression stays."""
    if is_labelled(value) and value.ndim:
        return with_labels(value, name, units, long_name)
    return value if hasattr(value, "free_symbols") or hasattr(value, "magnitude") else float(value)


def with_labels(array: xr.DataArray, name: str, units: str, long_name: str) -> xr.DataArray:
    """A DataArray with its labels."""
    return array.rename(name).assign_attrs(units=units, long_name=long_name)


def positive_part(x: Value) -> Value:
    """max(0, x)."""
    return at_least(x, 0)


def at_least(x: Value, low: Value) -> Value:
    """max(x, low)."""
    if hasattr(x, "free_symbols") or hasattr(low, "free_symbols"):
        return _extreme("Max", low, x)  # type: ignore[arg-type]  # what has free symbols is hashable
    return np.maximum(x, low)


def at_most(x: Value, high: Value) -> Value:
    """min(x, high)."""
    if hasattr(x, "free_symbols") or hasattr(high, "free_symbols"):
        return _extreme("Min", high, x)  # type: ignore[arg-type]
    return np.minimum(x, high)


@functools.lru_cache(maxsize=1024, typed=True)
def _extreme(name: str, *of: Any) -> Any:
    """SymPy's Max or Min. It looks for the connection of its arguments anew each time: 0.1 s for a link's delay."""
    import sympy

    return getattr(sympy, name)(*of)


def choose(condition: bool | Value | sympy.Basic, this: Value, other: Value) -> Value:
    """`this` where the condition holds, else `other`; a float if all three are numbers."""
    if any(hasattr(x, "free_symbols") for x in (condition, this, other)):
        import sympy

        return sympy.Piecewise((this, condition), (other, True))
    import xarray as xr

    chosen = xr.DataArray(this).where(xr.DataArray(condition), other)
    return chosen if chosen.ndim else chosen.item()


def delay_roots(a: Number, b: Number, tau: Number, count: int = 4) -> xr.DataArray:
    """The `count` rightmost roots lambda = a + W_k(b tau e^(-a tau))/tau, in order of falling real part.

    Parameters
    ----------
    a, b : float or DataArray
        Undelayed and delayed slope [1/time], real.
    tau : float or DataArray
        Delay >= 0 [time]. At 0 there is one root, a + b; the others are NaN.

    Returns
    -------
    xarray.DataArray, complex, over the parameters and `root`

    References
    ----------
    .. [1] R. M. Corless et al., On the Lambert W function, Advances in Computational Mathematics 5, 1996, section 2;
       doi:10.1007/BF02124750

    Examples
    --------
    >>> roots = delay_roots(0.0, -np.pi / 2, 1.0, 2)
    >>> bool(np.allclose(roots, [0.5j * np.pi, -0.5j * np.pi]))
    True
    """
    import xarray as xr

    if any("root" in getattr(x, "dims", ()) for x in (a, b, tau)):
        raise DomainError("a parameter brings the dimension 'root', which is reserved for the results; rename it")
    # The branches -1 and 0 hold the rightmost pair, then -2 and 1, and so on (b < 0); 0, then +-1 (b > 0).
    branches = xr.DataArray(np.arange(-count, count + 1), dims="root")
    a, b, tau = (xr.DataArray(x) for x in (a, b, tau))
    values = xr.apply_ufunc(_rightmost_roots, a, b, tau, branches)
    order = np.argsort(-values.real - 1e-12 * np.sign(values.imag), axis=values.get_axis_num("root"))
    ranked = np.take_along_axis(values.values, order, values.get_axis_num("root"))
    roots: xr.DataArray = values.copy(data=ranked).isel(root=slice(0, count)).transpose(..., "root")
    return roots.rename("eigenvalue").assign_attrs(long_name="characteristic root")


def _rightmost_roots(a: Value, b: Value, tau: Value, branch: Value) -> Value:
    from scipy.special import lambertw

    a, b, tau, branch = np.broadcast_arrays(a, b, tau, branch)
    with np.errstate(all="ignore"):
        roots = a + lambertw(b * tau * np.exp(-a * tau), branch) / tau
        none = (tau < 1e-290) & ((np.abs(a) + np.abs(b)) * tau < 1e-20)  # b tau would lose its digits
    # W_k(0) is -inf but for k = 0; without a delay a + b is the only root.
    at_once = np.where(branch == 0, a + b, np.nan).astype(complex)
    return np.where(none, at_once, np.where((b == 0) & (branch == 0), a, roots))
