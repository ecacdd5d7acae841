"""Where to linearise: a point that is given, the model's own fixed point, or one that is found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tcpdynamics.errors import bare, listed, shown

from ..equations import System, as_problem, compile_system, quantities
from ..grid import RESERVED
from ..problems import Dynamics, DynamicsError, MotionModel, StateValue
from ..problems.numbers import dimensions, is_symbolic, real_array
from ..results import Status
from .equilibria_search import search
from .leading_roots import leading_roots, margin
from .rest import first_closed_form

Array = NDArray[np.float64]

#: Where to linearise: a value for every state, or a Dataset of `equilibria` with one of them selected.
At: TypeAlias = Mapping[str, StateValue] | xr.Dataset


def operating_point(
    problem: Dynamics | MotionModel | System, at: At | None = None, *kinds: type[Dynamics]
) -> tuple[System, Array, NDArray[np.uint8]]:
    """Compile a problem and find the states at which it is to be linearised.

    Parameters
    ----------
    problem : ODE, DDE, Map, a model with such a view, or a System
        A system is not compiled again; it takes no `at`.
    at : mapping state (or vector) -> number, array, DataArray or expression; or a Dataset of `equilibria`, optional
        Default: the first of the model's closed-form fixed points that holds there; of a model without any, the first
        stable (or least unstable) one found.
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
    if isinstance(problem, System):
        system = problem.with_one_start()
    else:
        problem = as_problem(problem, *kinds)
        start = scalar_start(problem) if at is None else _start_at(problem, at)
        system = compile_system(problem.changed(start=start))
    if at is not None:
        states, status = system.start_values(), np.zeros(system.size, np.uint8)
    elif system.problem.fixed_points:
        states, valid = first_closed_form(system)
        status = np.where(valid, 0, Status.NO_CLOSED_FORM).astype(np.uint8)
    else:
        states, status = first_stable(system)
    states = np.where(status == 0, states, np.nan)
    return system, states, status


def _start_at(problem: Dynamics, at: At) -> dict[str, StateValue]:
    """`at` by state label, without coordinates that are not dimensions of a grid."""
    vectors = quantities(problem.labels)
    if isinstance(at, xr.Dataset):
        at = {str(k): v for k, v in at.data_vars.items() if k in vectors}
    if not isinstance(at, Mapping):
        raise DynamicsError(f"at must map each state to a value, got {type(at).__name__}")
    out: dict[str, StateValue] = {}
    for name, value in at.items():
        if name in problem.labels:
            out[name] = _start_value(name, value)
        elif name in vectors:
            for row, index in enumerate(vectors[name]):
                label = problem.labels[index]
                flows = isinstance(value, xr.DataArray) and "flow" in value.dims
                out[label] = _start_value(label, value.isel(flow=row) if flows else value)
        else:
            raise DynamicsError(f"at names {shown(name)}, which is not a state; there are {listed(problem.labels)}")
    missing = [label for label in problem.labels if label not in out]
    if missing:
        raise DynamicsError(f"at gives no value to {listed(missing)}; name every state")
    return out


def _start_value(label: str, value: StateValue) -> StateValue:
    if isinstance(value, xr.DataArray):
        array = value.drop_vars([c for c in RESERVED if c in value.coords and c not in value.dims])
        return array.rename(f"at_{label}") if array.ndim else float(real_array(f"at of {label}", array))
    if is_symbolic(value):
        return value
    values = real_array(f"at of {label}", value)
    if values.ndim == 0:
        return float(values)
    return xr.DataArray(values, {f"at_{label}": values}, (f"at_{label}",), f"at_{label}")


def scalar_start(problem: Dynamics) -> dict[str, StateValue]:
    """One initial value a state: of arrays the first, as a start for a search."""
    return {
        k: v if is_symbolic(v) or dimensions(v) == 0 else float(real_array(f"start of {k}", v).flat[0])
        for k, v in problem.start.items()
    }


def first_stable(system: System, starts: int = 8) -> tuple[Array, NDArray[np.uint8]]:
    """(n, size) an equilibrium at each point, and codes where there is none.

    The first stable one that a search around the initial values finds; where none is stable, the one that is nearest
    to it, so that a chart goes on beyond the border.
    """
    check_start(system)
    states, _ = search(system, None, starts, 0, more=False)
    if states.shape[2] == 0:
        return np.full(states.shape[:2], np.nan), np.full(system.size, Status.SEARCH_FAILED, np.uint8)
    beyond = margin(system, leading_of_each(system, states)[0])
    stable = beyond < 0
    nearest = np.where(np.isnan(beyond), np.inf, beyond).argmin(axis=1)
    pick = np.where(stable.any(axis=1), stable.argmax(axis=1), nearest)
    chosen = np.take_along_axis(states, pick[None, :, None], axis=2)[..., 0]
    missing = ~np.isfinite(chosen).all(axis=0)
    return chosen, np.where(missing, Status.SEARCH_FAILED, 0).astype(np.uint8)


def check_start(system: System) -> None:
    """Raises DynamicsError where a search has no initial values to begin around."""
    if not system.problem.start:
        raise DynamicsError(
            f"{system.problem.name} has no closed-form fixed point and no initial values to search around; give "
            f"the problem fixed_points= or start=, equilibria box={{{bare(system.labels[0])!r}: (low, high)}}, or "
            "any other solver at="
        )


def leading_of_each(system: System, states: Array) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """(size, K) most dangerous root of each equilibrium."""
    _, size, slots = states.shape
    roots = np.full((size, slots), complex(np.nan, np.nan))
    certain = np.zeros((size, slots), bool)
    for k in range(slots):
        there = np.flatnonzero(np.isfinite(states[:, :, k]).all(axis=0))
        if there.size:
            leading, _, sure = leading_roots(system, np.ascontiguousarray(states[:, there, k]), there)
            roots[there, k], certain[there, k] = leading[:, 0], sure
    return roots, certain
