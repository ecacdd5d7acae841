"""How evenly a resource is shared: indices of fairness and inequality, and alpha-fair utility.

Every function takes non-negative allocations x (throughputs, rates, windows; any unit) and works along one
axis of an array, or along `dim` of an xarray.DataArray. One vector gives a float, more give an array or
DataArray. All but the utility depend on the shares x/sum(x) only, and do so over the whole range of floats.

Common to all but the utility: all-zero x has no shares. A single all-zero vector raises `DomainError`; in a
batch such slices are NaN and the others keep their values.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, overload

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.errors import shown
from tcpdynamics.jain import mean_jain as mean_jain
from tcpdynamics.jain import measured_jain as measured_jain
from tcpdynamics.limits import check_memory
from tcpdynamics.solvers.problems import DomainError

if TYPE_CHECKING:
    import xarray as xr

Floats: TypeAlias = NDArray[np.float64]

#: Vectors along an axis.
Vectors: TypeAlias = Sequence[Sequence[float]] | NDArray[Any]
#: What the functions take: one vector, vectors along an axis, or along a dimension.
Allocations: TypeAlias = "Sequence[float] | Vectors | xr.DataArray"
#: What they give: a number for one vector, else an array; a DataArray for a DataArray.
Index: TypeAlias = "float | Floats | xr.DataArray"


@overload
def jain(x: xr.DataArray, axis: int = -1, *, dim: str | None = None) -> xr.DataArray: ...
@overload
def jain(x: Sequence[float], axis: int = -1, *, dim: str | None = None) -> float: ...
@overload
def jain(x: Vectors, axis: int = -1, *, dim: str | None = None) -> float | Floats: ...
def jain(x: Allocations, axis: int = -1, *, dim: str | None = None) -> Index:
    """Jain's fairness index J = (sum x)^2 / (n sum x^2) = 1/(1 + CV^2), 1/n (one takes all) to 1 (equal).

    Parameters
    ----------
    x : (..., n) array_like or xarray.DataArray   Allocations, >= 0.
    axis : int            The axis of the n users.
    dim : str, optional   The dimension of the n users, for a DataArray; replaces `axis`.

    Returns
    -------
    float, array or DataArray   J [1], in [1/n, 1]: the fraction of users that an equal share would serve.

    Raises
    ------
    DomainError
        If a value is negative or not finite, if there are none, or if a single vector is all zero.

    References
    ----------
    .. [1] R. Jain, D. Chiu, W. Hawe, A quantitative measure of fairness and discrimination for resource
       allocation in shared computer systems, DEC-TR-301, 1984; arXiv:cs/9809099

    Examples
    --------
    >>> jain([1.0, 1.0, 0.0, 0.0])
    0.5
    """
    return _along("Jain's fairness index", _jain, x, axis, dim)


@overload
def min_max_ratio(x: xr.DataArray, axis: int = -1, *, dim: str | None = None) -> xr.DataArray: ...
@overload
def min_max_ratio(x: Sequence[float], axis: int = -1, *, dim: str | None = None) -> float: ...
@overload
def min_max_ratio(x: Vectors, axis: int = -1, *, dim: str | None = None) -> float | Floats: ...
def min_max_ratio(x: Allocations, axis: int = -1, *, dim: str | None = None) -> Index:
    """Smallest over largest allocation, r = min(x)/max(x), from 0 (someone has nothing) to 1 (equal).

    Bounds Jain's index: J >= 4r/(1 + r)^2 (Schweitzer's inequality), with equality when a fraction r/(1 + r)
    of the users hold the larger value and the others the smaller. Parameters, errors and result as for
    `jain`.

    Examples
    --------
    >>> min_max_ratio([[1.0, 2.0], [3.0, 3.0]])
    array([0.5, 1. ])
    """
    return _along("smallest over largest", lambda y: y.min(axis=-1), x, axis, dim)


@overload
def entropy(x: xr.DataArray, axis: int = -1, *, dim: str | None = None) -> xr.DataArray: ...
@overload
def entropy(x: Sequence[float], axis: int = -1, *, dim: str | None = None) -> float: ...
@overload
def entropy(x: Vectors, axis: int = -1, *, dim: str | None = None) -> float | Floats: ...
def entropy(x: Allocations, axis: int = -1, *, dim: str | None = None) -> Index:
    """Shannon entropy of the shares, H = -sum s ln s [nat], from 0 (one takes all) to ln n (equal).

    Parameters, errors and result as for `jain`.

    References
    ----------
    .. [1] C. E. Shannon, A mathematical theory of communication, Bell System Technical Journal 27, 1948,
       section 6; doi:10.1002/j.1538-7305.1948.tb01338.x

    Examples
    --------
    >>> round(entropy([1.0, 1.0]) / math.log(2), 12)
    1.0
    """
    return _along("entropy of shares", _entropy, x, axis, dim)


@overload
def gini(x: xr.DataArray, axis: int = -1, *, dim: str | None = None) -> xr.DataArray: ...
@overload
def gini(x: Sequence[float], axis: int = -1, *, dim: str | None = None) -> float: ...
@overload
def gini(x: Vectors, axis: int = -1, *, dim: str | None = None) -> float | Floats: ...
def gini(x: Allocations, axis: int = -1, *, dim: str | None = None) -> Index:
    """Gini coefficient G = sum_ij |x_i - x_j| / (2 n sum x), from 0 (equal) to 1 - 1/n (one takes all).

    Computed from the sorted values as sum (2i - n - 1) x_(i) / (n sum x). Parameters, errors and result as
    for `jain`.

    References
    ----------
    .. [1] C. Gini, Variabilita e mutabilita, Bologna, 1912

    Examples
    --------
    >>> gini([1.0, 0.0, 0.0, 0.0])
    0.75
    """
    return _along("Gini coefficient", _gini, x, axis, dim)


@overload
def hoover(x: xr.DataArray, axis: int = -1, *, dim: str | None = None) -> xr.DataArray: ...
@overload
def hoover(x: Sequence[float], axis: int = -1, *, dim: str | None = None) -> float: ...
@overload
def hoover(x: Vectors, axis: int = -1, *, dim: str | None = None) -> float | Floats: ...
def hoover(x: Allocations, axis: int = -1, *, dim: str | None = None) -> Index:
    """Hoover index h = sum |x_i - mean| / (2 sum x): the part of the total to move for equality.

    From 0 (equal) to 1 - 1/n (one takes all). Parameters, errors and result as for `jain`.

    References
    ----------
    .. [1] E. M. Hoover, The measurement of industrial localization, Review of Economics and Statistics 18(4),
       1936; doi:10.2307/1927875

    Examples
    --------
    >>> hoover([2.0, 1.0, 1.0, 0.0])
    0.25
    """
    return _along("Hoover index", _hoover, x, axis, dim)


@overload
def atkinson(x: xr.DataArray, epsilon: float, axis: int = -1, *, dim: str | None = None) -> xr.DataArray: ...
@overload
def atkinson(x: Sequence[float], epsilon: float, axis: int = -1, *, dim: str | None = None) -> float: ...
@overload
def atkinson(x: Vectors, epsilon: float, axis: int = -1, *, dim: str | None = None) -> float | Floats: ...
def atkinson(x: Allocations, epsilon: float, axis: int = -1, *, dim: str | None = None) -> Index:
    """Atkinson index 1 - M_{1-epsilon}(x)/mean(x), with M_r the power mean of order r; from 0 (equal) to 1.

    Parameters
    ----------
    x, axis, dim       As for `jain`.
    epsilon : float    Aversion to inequality [1], in [0, inf]. 1 takes the geometric mean, inf the minimum.
                       From 1 on, a user with nothing makes the index 1.

    Raises
    ------
    DomainError
        As for `jain`, and if epsilon is negative or NaN.

    References
    ----------
    .. [1] A. B. Atkinson, On the measurement of inequality, Journal of Economic Theory 2(3), 1970;
       doi:10.1016/0022-0531(70)90039-6

    Examples
    --------
    >>> round(atkinson([4.0, 1.0], 1), 12)
    0.2
    """
    _check_order("epsilon", epsilon, 0.0, math.inf)
    kernel = partial(_atkinson, epsilon=float(epsilon))
    return _along("Atkinson index", kernel, x, axis, dim, logs=True)


@overload
def hill_number(x: xr.DataArray, order: float, axis: int = -1, *, dim: str | None = None) -> xr.DataArray: ...
@overload
def hill_number(x: Sequence[float], order: float, axis: int = -1, *, dim: str | None = None) -> float: ...
@overload
def hill_number(x: Vectors, order: float, axis: int = -1, *, dim: str | None = None) -> float | Floats: ...
def hill_number(x: Allocations, order: float, axis: int = -1, *, dim: str | None = None) -> Index:
    """Hill number D_a = (sum s^a)^(1/(1-a)): how many equal users would be as diverse.

    From 1 (one takes all) to n (equal) for a >= 0, falling as the order rises. D_0 counts the users with
    something, D_1 = exp(entropy), D_2 = n J, D_inf = 1/(largest share). The fairness f_beta of Lan et al. is
    D_{1-beta} for beta < 1 and -D_{1-beta} for beta > 1.

    Parameters
    ----------
    x, axis, dim     As for `jain`.
    order : float    a [1], in [-inf, inf]; 0, 1 and +-inf are taken as limits. For a < 0 the number is n or
                     more, and inf where a user has nothing.

    Raises
    ------
    DomainError
        As for `jain`, and if the order is NaN.

    References
    ----------
    .. [1] M. O. Hill, Diversity and evenness: a unifying notation and its consequences, Ecology 54(2), 1973;
       doi:10.2307/1934352
    .. [2] T. Lan, D. Kao, M. Chiang, A. Sabharwal, An axiomatic theory of fairness in network resource
       allocation, IEEE INFOCOM 2010; doi:10.1109/INFCOM.2010.5461911

    Examples
    --------
    >>> hill_number([1.0, 1.0, 0.0], 0), hill_number([2.0, 1.0, 1.0], math.inf)
    (2.0, 2.0)
    """
    _check_order("order", order, -math.inf, math.inf)
    return _along("Hill number", partial(_hill, order=float(order)), x, axis, dim, logs=True)


@overload
def alpha_fair_utility(x: xr.DataArray, alpha: float, axis: int = -1, *, dim: str | None = None) -> xr.DataArray: ...
@overload
def alpha_fair_utility(x: Sequence[float], alpha: float, axis: int = -1, *, dim: str | None = None) -> float: ...
@overload
def alpha_fair_utility(x: Vectors, alpha: float, axis: int = -1, *, dim: str | None = None) -> float | Floats: ...
def alpha_fair_utility(x: Allocations, alpha: float, axis: int = -1, *, dim: str | None = None) -> Index:
    """Sum of x^(1-alpha)/(1-alpha), or of ln x for alpha = 1.

    Its maximiser has the largest total for alpha = 0, is proportionally fair for 1, and tends to max-min
    fairness. The value does not tend to that of alpha = 1: sum ln x is the limit of the utility less
    n/(1 - alpha).

    Parameters
    ----------
    x, axis, dim     As for `jain`, but all zero is allowed; x = 0 has utility -inf for alpha >= 1. Depends on
                     the unit of x.
    alpha : float    [1], in [0, inf).

    Returns
    -------
    float, array or DataArray   Utility, in the unit of x to the power 1 - alpha; +-inf where it leaves the
                                range of floats.

    Raises
    ------
    DomainError
        As for `jain`, and if alpha is negative or not finite.

    References
    ----------
    .. [1] J. Mo, J. Walrand, Fair end-to-end window-based congestion control, IEEE/ACM Transactions on
       Networking 8(5), 2000; doi:10.1109/90.879343

    Examples
    --------
    >>> alpha_fair_utility([1.0, 2.0], 2)
    -1.5
    """
    _check_order("alpha", alpha, 0.0, math.inf)
    if math.isinf(alpha):
        raise DomainError("alpha must lie in [0, inf), got inf; for max-min fairness compare the minima")
    return _along("alpha-fair utility", partial(_utility, alpha=float(alpha)), x, axis, dim, shares=False)


# Kernels: (..., n) arrays in (0, 1] with maximum 1 along the last axis, and their logarithms where needed.


def _jain(y: Floats) -> Any:
    n = y.shape[-1]
    return np.clip(y.sum(axis=-1) ** 2 / (n * (y**2).sum(axis=-1)), 1 / n, 1.0)


def _entropy(y: Floats) -> Any:
    total = y.sum(axis=-1)
    # ln(sum y) - sum y ln y / sum y: the logarithm of a share is never that of a rounded quotient.
    logs = np.log(y, out=np.zeros_like(y), where=y > 0)
    return np.maximum(np.log(total) - (y * logs).sum(axis=-1) / total, 0.0)


def _gini(y: Floats) -> Any:
    n = y.shape[-1]
    weights = 2.0 * np.arange(1, n + 1) - n - 1
    return np.clip((weights * np.sort(y, axis=-1)).sum(axis=-1) / (n * y.sum(axis=-1)), 0.0, 1 - 1 / n)


def _hoover(y: Floats) -> Any:
    mean = y.mean(axis=-1, keepdims=True)
    return np.abs(y - mean).sum(axis=-1) / (2 * y.sum(axis=-1))


def _atkinson(y: Floats, log_y: Floats, epsilon: float) -> Any:
    r = 1 - epsilon
    if math.isinf(r):
        log_mean = log_y.min(axis=-1)
    elif r == 0:
        log_mean = log_y.mean(axis=-1)
    elif abs(r) < 0.1:
        # Near the geometric mean: 1/r would magnify the rounding of a mean close to one.
        log_mean = np.log1p(np.expm1(r * log_y).mean(axis=-1)) / r
    else:
        log_mean = _log_sum_exp(r * log_y - math.log(y.shape[-1])) / r
    return np.maximum(-np.expm1(log_mean - np.log(y.mean(axis=-1))), 0.0)


def _hill(y: Floats, log_y: Floats, order: float) -> Any:
    log_s = log_y - np.log(y.sum(axis=-1, keepdims=True))
    if order == 0:
        return np.isfinite(log_s).sum(axis=-1).astype(float)
    if order == 1:
        return np.exp(_entropy(y))
    if order == math.inf:
        return y.sum(axis=-1)
    if order == -math.inf:
        return np.exp(-log_s.min(axis=-1))
    if abs(order - 1) < 0.1:
        # sum s^a = 1 + sum s (s^(a-1) - 1): exact to first order in a - 1, and 0 where s is 0.
        tilt = np.expm1((order - 1) * log_s, out=np.zeros_like(y), where=y > 0)
        return np.exp(np.log1p((np.exp(log_s) * tilt).sum(axis=-1)) / (1 - order))
    return np.exp(_log_sum_exp(order * log_s) / (1 - order))


def _utility(x: Floats, alpha: float) -> Any:
    with np.errstate(divide="ignore", over="ignore"):  # documented as +-inf
        if alpha == 1:
            return np.log(x).sum(axis=-1)
        return (x ** (1 - alpha) / (1 - alpha)).sum(axis=-1)


def _log_sum_exp(t: Floats) -> Any:
    top = t.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)  # +inf: a negative order of a zero
    return top[..., 0] + np.log(np.exp(t - top).sum(axis=-1))


# Shapes and checks.


def _along(
    long_name: str,
    kernel: Callable[..., Any],
    x: Allocations,
    axis: int,
    dim: str | None,
    *,
    shares: bool = True,
    logs: bool = False,
) -> Index:
    """Apply a kernel to the slices of x along one axis, scaled by their maxima when only shares matter."""
    if dim is not None:
        if not _is_labelled(x) or dim not in x.dims:
            has = f"its dimensions are {shown(x.dims)}" if _is_labelled(x) else "x is no DataArray; use axis"
            raise DomainError(f"dim must name a dimension of x, got {shown(dim)}; {has}")
        axis = x.get_axis_num(dim)
    values = _checked(x, axis)
    result = np.asarray(_of_shares(kernel, values, logs) if shares else kernel(values))
    if _is_labelled(x):
        labels = x.isel({x.dims[axis]: 0}, drop=True).rename(None).copy(data=result)
        labels.attrs = {"units": "1", "long_name": long_name} if shares else {"long_name": long_name}
        return labels
    return float(result) if result.ndim == 0 else result


def _is_labelled(x: object) -> TypeGuard[xr.DataArray]:
    return hasattr(x, "dims") and hasattr(x, "get_axis_num")


def _of_shares(kernel: Callable[..., Any], values: Floats, logs: bool) -> Floats:
    top = values.max(axis=-1, keepdims=True)
    empty = top[..., 0] == 0
    if empty.ndim == 0 and empty:
        raise DomainError("x must not be all zero, got no positive value; shares of nothing are undefined")
    # All-zero slices of a batch are computed as if equal, then masked: no invalid operation on the way.
    values = np.where(empty[..., None], 1.0, values)
    top = np.where(empty[..., None], 1.0, top)
    y = values / top
    with np.errstate(over="ignore"):  # a negative order may leave the range of floats: inf is meant
        result = kernel(y, _log_ratio(values, top)) if logs else kernel(y)
    return np.asarray(np.where(empty, np.nan, result))


def _log_ratio(values: Floats, top: Floats) -> Floats:
    """ln(x/max), also where the quotient itself underflows."""
    (m, e), (m_top, e_top) = np.frexp(values), np.frexp(top)
    with np.errstate(divide="ignore"):  # ln 0 = -inf is meant
        return np.asarray(np.log(m / m_top) + (e - e_top) * math.log(2))


def _checked(x: Allocations, axis: int) -> Floats:
    data = getattr(getattr(x, "variable", None), "_data", x)
    if isinstance(data, np.ma.MaskedArray):
        raise DomainError("x is a masked array, and every user needs a value; fill or drop what is masked")
    many = math.prod(getattr(x, "shape", ()))
    check_memory(f"the rates of {many:,} users", 48.0 * many, "give fewer, or take them in parts")
    try:
        kind = np.asarray(x).dtype.kind
        if kind in "cbSUmM" or (kind == "O" and any(isinstance(v, bool | str) for v in np.ravel(np.asarray(x)))):
            raise TypeError
        values = np.asarray(x, dtype=float) + 0.0  # makes -0.0 a plain zero
    except (TypeError, ValueError, OverflowError):
        raise DomainError(f"x must be an array of numbers below 1.8e308, got {shown(x)}") from None
    if values.ndim == 0:
        raise DomainError(f"x must hold one value for each user, got the single number {shown(values.item())}")
    if not -values.ndim <= axis < values.ndim:
        raise DomainError(f"axis must be one of the {values.ndim} axes of x, got {shown(axis)}")
    if values.shape[axis] == 0:
        raise DomainError(f"x must hold at least one user along axis {axis}, got shape {values.shape}")
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        value = values[index].item()
        advice = "clip it at 0 if it is noise" if -math.inf < value < 0 else "drop or replace missing values"
        where = index[0] if len(index) == 1 else index
        raise DomainError(f"x must be finite and not negative, got {value!r} at index {where}; {advice}")
    return np.moveaxis(values, axis, -1)


def _check_order(name: str, value: float, low: float, high: float) -> None:
    number = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if not number or not low <= value <= high:
        raise DomainError(f"{name} must lie in [{low:g}, {high:g}], got {shown(value)}")
    try:
        float(value)
    except OverflowError:
        raise DomainError(f"{name} must be a number below 1.8e308, got {shown(value)}") from None
