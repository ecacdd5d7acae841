"""What a sender does at a million loss rates: its chain solved at a few hundred, and series through them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.solvers.markov.curves import curve

if TYPE_CHECKING:
    import xarray as xr

#: Largest relative error of the series that is let through, beside rounding.
TOLERANCE = 2e-13


def observe_along(
    observe: Callable[[NDArray[np.float64]], xr.Dataset], loss: xr.DataArray, made_of: Mapping[str, object]
) -> xr.Dataset:
    """Observed quantities at each loss rate, with a relative error of 2e-13.

    All of it are rational functions of p without a pole in (0, 1): Chebyshev series on pieces of the range follow them
    (`solvers.markov.curves`). A million rates take a second or so, whatever the number of states.

    Parameters
    ----------
    observe : callable (P,) loss rates -> xarray.Dataset   By direct solution.
    loss : (N,) DataArray    Where the series are wanted, over the dimension of the result.
    made_of : mapping        Attributes of the result.

    Returns
    -------
    xarray.Dataset
        As of `observe`; its attribute `series_error` is the largest relative difference from direct solutions
        between the points that the series were made of, and `solved` how many laws were solved.
    """
    dim = str(loss.dims[0])
    x = np.asarray(loss.values, dtype=np.float64)
    direct_results: list[xr.Dataset] = []

    def direct(p: NDArray[np.float64]) -> NDArray[np.float64]:
        counted = observe(p)
        direct_results.append(counted)
        return np.concatenate([_flat(counted[name]) for name in counted.data_vars], axis=-1)

    series = curve(direct, float(x.min()), float(x.max()), TOLERANCE)
    values, (first, *_) = series(x), direct_results
    columns: dict[str, Any] = {}
    at = 0
    for name, variable in first.data_vars.items():
        width = variable.sizes.get("packets", 1)
        part = values[:, at : at + width] if "packets" in variable.dims else values[:, at]
        columns[str(name)] = ((dim, "packets") if "packets" in variable.dims else (dim,), part, variable.attrs)
        at += width
    # The laws were solved at other rates than those that were asked for.
    result: xr.Dataset = first.drop_vars([dim]).drop_dims(dim).assign_coords({dim: loss.coords[dim]})
    result = result.assign(columns)
    return result.assign_attrs(made_of, series_error=series.error, solved=series.solved, loss_rates=x.size)


def _flat(variable: xr.DataArray) -> NDArray[np.float64]:
    values: NDArray[np.float64] = variable.transpose(..., *(["packets"] if "packets" in variable.dims else [])).values
    return values.reshape(len(values), -1)
