"""What a sender does at a million loss rates: its chain solved at a few hundred, and series through them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.errors import DomainError
from tcpdynamics.solvers import stationary
from tcpdynamics.solvers.markov.curves import curve
from tcpdynamics.solvers.problems.numbers import dimensions
from tcpdynamics.solvers.results import provenance

if TYPE_CHECKING:
    import xarray as xr

    from .model import Sender

#: Largest relative error of the series that is let through, beside rounding.
TOLERANCE = 2e-13


def observe_along(model: Sender) -> xr.Dataset:
    """What `model.observe` gives of the law at each loss rate, without the law, to 2e-13 of each number.

    All of it are rational functions of p without a pole in (0, 1): Chebyshev series on pieces of the range follow them
    (`solvers.markov.curves`). A million rates take a second or so, whatever the number of states.

    Parameters
    ----------
    model : Sender
        `loss` is one array; the other losses are single numbers.

    Returns
    -------
    xarray.Dataset
        As of `model.observe`; its attribute `series_error` is the largest relative difference from direct solutions
        between the points that the series were made of, and `solved` how many laws were solved.

    Raises
    ------
    DomainError
        More than one loss is an array, or `loss` is none.

    Examples
    --------
    >>> from .model import Sender
    >>> many = Sender(sender="tahoe", rules="rfc", window=2, loss=np.linspace(0.01, 0.5, 100_000))
    >>> seen = observe_along(many)
    >>> seen.sent.shape, seen.sent.values[18367].round(4).tolist()
    ((100000, 3), [0.2119, 0.1824, 0.6057])
    """
    if dimensions(model.loss) != 1 or any(
        dimensions(x) for x in (model.retransmission_loss, model.ack_loss) if x is not None
    ):
        raise DomainError(
            "loss must be the only array where a chain is followed along it; sweep the other losses in a loop"
        )
    array: Any = model.chain().parameters["p"]  # labelled by `Model`
    dim = str(array.dims[0])
    x = np.asarray(array.values, dtype=np.float64)
    shape: list[xr.Dataset] = []

    def direct(p: NDArray[np.float64]) -> NDArray[np.float64]:
        seen = _observed(replace(model, loss=p))
        shape.append(seen)
        return np.concatenate([_flat(seen[name]) for name in seen.data_vars], axis=-1)

    low, high = float(x.min()), float(x.max())
    if low == high:
        return _observed(model)
    made = curve(direct, low, high, TOLERANCE)
    values, (first, *_) = made(x), shape
    columns: dict[str, Any] = {}
    at = 0
    for name, variable in first.data_vars.items():
        width = variable.sizes.get("packets", 1)
        part = values[:, at : at + width] if "packets" in variable.dims else values[:, at]
        columns[str(name)] = (
            (dim, "packets") if "packets" in variable.dims else (dim,),
            part,
            variable.attrs,
        )
        at += width
    # The laws were solved at other rates than those that were asked for.
    made_of = provenance(model.chain(), "stationary")
    result: xr.Dataset = first.drop_vars([dim]).drop_dims(dim).assign_coords({dim: array.coords[dim]})
    result = result.assign(columns)
    return result.assign_attrs(made_of, series_error=made.error, solved=made.solved, loss_rates=x.size)


def _observed(model: Sender) -> xr.Dataset:
    return model.observe(stationary(model.chain(), throw=True))


def _flat(variable: xr.DataArray) -> NDArray[np.float64]:
    values: NDArray[np.float64] = variable.transpose(
        ..., *(["packets"] if "packets" in variable.dims else [])
    ).values
    return values.reshape(len(values), -1)
