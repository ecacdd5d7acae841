"""A problem at chosen points: values one by one instead of a grid's product."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ..dynamics import System
from ..grid import Grid
from ..problems import Dynamics

Array = NDArray[np.float64]
P = TypeVar("P", bound=Dynamics)

#: The one dimension of such a problem.
POINT = "point"


def swept(grid: Grid) -> dict[str, Array]:
    """What varies over a grid: name -> (size,) values; initial values are named "start_STATE"."""
    return {k: v for k, v in grid.values.items() if np.ndim(v)}


def at_points(problem: P, values: Mapping[str, Array]) -> P:
    """The same problem at points with these values of what it sweeps, along the dimension "point".

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers.problems import Map
    >>> w, r = sympy.symbols("w r")
    >>> doubled = at_points(Map(rhs={"w": r * w}, parameters={"r": [1.0, 2.0]}), {"r": np.array([3.0, 4.0, 5.0])})
    >>> doubled.parameters["r"].sizes
    Frozen({'point': 3})
    """
    labelled = {k: xr.DataArray(v, dims=POINT, name=f"value_of_{k}") for k, v in values.items()}
    own = {k: v for k, v in labelled.items() if k in problem.parameters}
    starts = {k.removeprefix("start_"): v for k, v in labelled.items() if k not in own}
    return problem.at(**own).starting(starts)


def take(system: System, points: Any) -> Dynamics:
    """A system's problem at some points of its grid."""
    return at_points(system.problem, {k: v[points] for k, v in swept(system.grid).items()})
