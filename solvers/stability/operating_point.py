"""Where to linearise: a point that is given, the model's own fixed point, or one that is found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ..equations import System, as_problem, compile_system, quantities
from ..grid import RESERVED
from ..problems import Dynamics, DynamicsError, Map
from ..problems.numbers import real_array
from ..programs.straightline import Builder
from ..results import Status
from .rest import rests

Array = NDArray[np.float64]


#: How far a closed form may be off, relative to the terms of the equations; far above rounding.
_CLOSED = 1e-7


def operating_point(
    problem: Any, at: Any = None, *kinds: type[Dynamics]
) -> tuple[System, Array, NDArray[np.uint8]]:
    """Compile a problem and find the states at which it is to be linearised.

    Parameters
    ----------
    problem : ODE, DDE, Map, or a model with such a view
    at : mapping state (or vector) -> number, array, DataArray or expression; or a Dataset of `equilibria`, optional
        Default: the model's first closed-form fixed point, else the first stable (or least unstable) one found.
        Nobody checks that the equations are at rest at `at`: a linearisation may be wanted anywhere. A chart does.

    Returns
    -------
    system : System
        Without the problem's own initial values; its grid also spans the arrays of `at`.
    states : (n, size) array, NaN where there is no such point
    status : (size,) array of codes

    Raises
    ------
    DynamicsError
        `at` names no state or leaves one out.
    """
    given: Dynamics = as_problem(problem, *kinds)
    if at is not None:
        system = compile_system(replace(given, start=_spread(given, at)))
        states = system.start_values()
        status = np.zeros(system.size, np.uint8)
    elif given.fixed_points:
        system = compile_system(replace(given, start={}))
        states, valid = closed_forms(system)
        states, status = states[..., 0], np.where(valid[:, 0], 0, Status.NO_EQUILIBRIUM).astype(np.uint8)
    else:
        from .equilibria import first_stable

        system = compile_system(scalar_start(given))
        states, status = first_stable(system)
    states = np.where(status == 0, states, np.nan)
    return system, states, status


def _spread(problem: Dynamics, at: Any) -> dict[str, Any]:
    """`at` by state label, without coordinates that are not dimensions of a grid."""
    vectors = quantities(problem.labels)
    if isinstance(at, xr.Dataset):
        at = {str(k): v for k, v in at.data_vars.items() if k in vectors}
    if not isinstance(at, Mapping):
        raise DynamicsError(f"at must map each state to a value, got {type(at).__name__}")
    out: dict[str, Any] = {}
    for name, value in at.items():
        if name in problem.labels:
            out[name] = _plain(name, value)
        elif name in vectors:
            for row, index in enumerate(vectors[name]):
                label = problem.labels[index]
                flows = isinstance(value, xr.DataArray) and "flow" in value.dims
                out[label] = _plain(label, value.isel(flow=row) if flows else value)
        else:
            raise DynamicsError(
                f"at names {name!r}, which is not a state; there are {', '.join(problem.labels)}"
            )
    missing = [label for label in problem.labels if label not in out]
    if missing:
        raise DynamicsError(f"at gives no value to {', '.join(missing)}; name every state")
    return out


def _plain(label: str, value: Any) -> Any:
    if isinstance(value, xr.DataArray):
        array = value.drop_vars([c for c in RESERVED if c in value.coords and c not in value.dims])
        return array.rename(f"at_{label}") if array.ndim else float(real_array(f"at of {label}", array))
    if hasattr(value, "free_symbols"):
        return value
    values = real_array(f"at of {label}", value)
    if values.ndim == 0:
        return float(values)
    return xr.DataArray(values, {f"at_{label}": values}, (f"at_{label}",), f"at_{label}")


def scalar_start(problem: Dynamics) -> Dynamics:
    """The problem with one initial value a state: of arrays the first, as a start for a search."""
    start = {
        k: v
        if hasattr(v, "free_symbols") or np.ndim(v) == 0
        else float(real_array(f"start of {k}", v).flat[0])
        for k, v in problem.start.items()
    }
    return replace(problem, start=start)


def closed_forms(system: System) -> tuple[Array, NDArray[np.bool_]]:
    """(n, size, points) states of the problem's fixed points, and (size, points) whether they solve the equations."""
    from ..programs.from_sympy import emit

    builder, points, labels = Builder(), system.problem.fixed_points, system.labels
    rows = [emit(builder, point[label]) for label in labels for point in points]
    values = system.evaluate(builder.build(rows), {}).reshape(len(labels), len(points), system.size)
    valid = np.stack([solves(system, np.ascontiguousarray(values[:, k])) for k in range(len(points))], axis=1)
    return np.moveaxis(values, 1, 2), valid


def at_rest_rate(system: System, states: Array, points: Any = None) -> Array:
    """(n, m) what must vanish at an equilibrium: the slope, for a map its change of state."""
    rate = system.slope(states, points)
    return rate - states if isinstance(system.problem, Map) else rate


def at_rest_jacobian(system: System, states: Array, points: Any = None) -> Array:
    """(m, n, n) derivative of `at_rest_rate` with the past moving along."""
    base, past, _ = system.jacobians(states, points)
    total: Array = base + past.sum(axis=1)
    return total - np.eye(len(states)) if isinstance(system.problem, Map) else total


def solves(system: System, states: Array, points: Any = None) -> NDArray[np.bool_]:
    """Whether the equations are at rest there, as far as closed forms are exact."""
    return rests(system, states, points, tolerance=_CLOSED)
