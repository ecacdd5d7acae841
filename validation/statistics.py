"""Means with intervals over replications, and the interval of a difference."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy import stats


def mean_interval(x: xr.DataArray, dim: str = "replication", level: float = 0.95) -> xr.Dataset:
    """Mean over independent replications with Student's interval.

    Parameters
    ----------
    x : DataArray
        One value per replication along `dim`; other dimensions are kept. At least two replications.
    dim : str
    level : float
        Confidence level [1], in (0, 1). Exact for normal values; for means of long runs nearly so.

    Returns
    -------
    Dataset
        `mean`, `low`, `high`, `sd` (of one replication) in the unit of `x`, and `n`.

    Raises
    ------
    ValueError
        For fewer than two replications, a dimension that `x` lacks, or a level outside (0, 1).

    References
    ----------
    .. [1] Student, The probable error of a mean, Biometrika 6 (1908); doi:10.1093/biomet/6.1.1

    Examples
    --------
    >>> interval = mean_interval(xr.DataArray([1.0, 2.0, 3.0], dims="replication"))
    >>> round(interval["low"].item(), 3), round(interval["high"].item(), 3)
    (-0.484, 4.484)
    """
    n, mean, variance = _moments(x, dim, level, "x")
    half = stats.t.ppf(0.5 + level / 2, n - 1) * np.sqrt(variance / n)
    parts = {"mean": mean, "low": mean - half, "high": mean + half, "sd": np.sqrt(variance)}
    return _dataset(parts, x, level).assign(n=n)


def two_sample(a: xr.DataArray, b: xr.DataArray, dim: str = "replication", level: float = 0.95) -> xr.Dataset:
    """Difference of two means, a - b, with Welch's interval.

    Parameters
    ----------
    a, b : DataArray
        Independent replications along `dim`, at least two each; the numbers of replications and the variances
        may differ.
    dim : str
    level : float
        Confidence level [1], in (0, 1).

    Returns
    -------
    Dataset
        `difference`, `low`, `high` in the unit of `a`, and `dof`, the effective degrees of freedom. Two
        samples without any spread give an interval of no width.

    Raises
    ------
    ValueError
        As `mean_interval`.

    References
    ----------
    .. [1] Welch, The generalization of "Student's" problem when several different population variances are
    involved,
       Biometrika 34 (1947); doi:10.1093/biomet/34.1-2.28

    Examples
    --------
    >>> a, b = (xr.DataArray(v, dims="replication") for v in ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]))
    >>> two_sample(a, b)["difference"].item(), two_sample(a, b)["dof"].item()
    (0.0, 4.0)
    """
    n, mean_a, var_a = _moments(a, dim, level, "a")
    m, mean_b, var_b = _moments(b, dim, level, "b")
    error_a, error_b = var_a / n, var_b / m
    square = error_a + error_b
    below = error_a**2 / (n - 1) + error_b**2 / (m - 1)
    # Without any spread the degrees of freedom do not matter; keep them finite.
    dof = (square**2 / below.where(below > 0)).fillna(float(n + m - 2))
    quantile = xr.apply_ufunc(stats.t.ppf, 0.5 + level / 2, dof)
    half = quantile * np.sqrt(square)
    difference = mean_a - mean_b
    parts = {"difference": difference, "low": difference - half, "high": difference + half}
    return _dataset(parts, a, level).assign(dof=dof)


def _moments(x: xr.DataArray, dim: str, level: float, name: str) -> tuple[int, xr.DataArray, xr.DataArray]:
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie in (0, 1), got {level}; a percentage? divide by 100")
    if dim not in x.dims:
        raise ValueError(
            f"{name} has no dimension {dim!r}, only {', '.join(map(str, x.dims)) or 'none'}; name one of them"
        )
    n = x.sizes[dim]
    if n < 2:
        raise ValueError(f"{name} must hold at least 2 replications along {dim!r}, got {n}; run more seeds")
    return n, x.mean(dim), x.var(dim, ddof=1)


def _dataset(parts: dict[str, xr.DataArray], x: xr.DataArray, level: float) -> xr.Dataset:
    units = {"units": x.attrs["units"]} if "units" in x.attrs else {}
    return xr.Dataset(
        {name: part.assign_attrs(units) for name, part in parts.items()}, attrs={"level": level}
    )
