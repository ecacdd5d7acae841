"""Results as JSON has them: null for what is not finite, pairs for complex numbers, each variable with its unit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr


def finite(values: Any) -> Any:
    """Numbers, arrays, and nested lists and mappings of them, that JSON knows.

    >>> import numpy as np
    >>> finite({"a": [1.0, float("nan")], "b": np.array([1 + 2j, np.inf])})
    {'a': [1.0, None], 'b': [[1.0, 2.0], [None, 0.0]]}
    """
    if isinstance(values, Mapping):
        return {key: finite(value) for key, value in values.items()}
    if isinstance(values, list | tuple):
        return [finite(value) for value in values]
    if isinstance(values, float):
        return values if math.isfinite(values) else None
    return _of_array(values) if hasattr(values, "dtype") else values


def _of_array(array: Any) -> Any:
    import numpy as np

    if array.dtype.kind == "c":
        return _of_array(np.stack([array.real, array.imag], axis=-1))
    if array.dtype.kind != "f":
        return array.tolist()
    out = np.asarray(array).astype(object)
    out[~np.isfinite(array)] = None
    return out.tolist()


def of_dataset(
    result: xr.Dataset, values: Callable[[xr.DataArray], Any] = lambda variable: finite(variable.values)
) -> dict[str, Any]:
    """`coordinates`, and `results`: each variable with dimensions and unit."""
    return {
        "coordinates": {str(name): finite(coordinate.values) for name, coordinate in result.coords.items()},
        "results": {
            str(name): {"dims": list(v.dims), "units": v.attrs.get("units", "1"), "values": values(v)}
            for name, v in result.data_vars.items()
        },
    }
