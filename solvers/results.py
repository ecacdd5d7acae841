"""Labelled results: units, provenance, and a reason for each point that failed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tcpdynamics.errors import shown

from .grid import RESERVED, Grid
from .problems import ChainError, DomainError

#: Status codes of a point; 0 is success.
REASONS = (
    "ok",
    "a parameter is outside its domain",
    "a transition is negative or not a number",
    "the transitions that leave a state do not sum to one",
    "no stationary distribution: a transition vanished and the chain fell apart",
    "not computed: the result overflowed",
    "the iteration did not converge",
    "no value of the unknown within its bounds meets the target",
    "the steps ran out before the last time: raise max_steps or loosen the tolerance",
    "the state grew beyond floating-point numbers",
    "no equilibrium was found from any start",
    "a root could not be polished: its residual is too large",
    "not computed: an error was raised",
    "the orbit met a jump of the equations, which linearised deviations do not show",
    "the point lies on a switch of the equations: each side of it has a linearisation of its own",
    "a value lies beyond floating-point numbers: it is given as inf, the others are right",
    "the chain forgets too slowly: its spectral gap lies below the rounding of its eigenvalues",
    "the states are visited too rarely for floating-point numbers: give a likelier set of states",
    "no equilibrium was found from any start: give the model fixed_points=, or the solver at=",
    "equilibria are not isolated: those shown are points of a line or region of them; choose one with at=",
    "the steps ran out before the end of the motion: shorten transient and keep",
    "the steps ran out, held small by stability and not by accuracy, since the problem is stiff: use method='radau' "
    "(for ODEs; delay equations have no method for stiff problems here)",
    "the motion slides along a switch, or meets it ever faster, and the equations do not say how it goes on: "
    "smooth the switch, or write down the motion along it",
    "the equations or their derivatives are not finite where the motion arrived (a division by zero, a root or a "
    "logarithm of what is not positive, a singular point): change the start or the parameters",
    "the point of at= is no equilibrium: a linearisation there judges nothing",
    "the steps ran out, held small by stability and not by accuracy: the problem is stiff, and switched and delay "
    "equations have no method for stiff problems here: raise max_steps",
    "the steps ran out, held small by stability and not by accuracy: the problem is stiff, and this solver has no "
    "method for stiff problems: shorten transient and keep (an ODE without switches can be followed by trajectory with "
    "its method radau)",
    "the motion has not settled in the default times, which are too short for the slowest mode since the fastest one "
    "bounds the steps: give transient and keep",
)


#: Codes of the chain solvers.
TOO_LARGE = REASONS.index(
    "a value lies beyond floating-point numbers: it is given as inf, the others are right"
)
TOO_SLOW = REASONS.index(
    "the chain forgets too slowly: its spectral gap lies below the rounding of its eigenvalues"
)
TOO_RARE = REASONS.index(
    "the states are visited too rarely for floating-point numbers: give a likelier set of states"
)

#: Status of a point that a sweep has not reached yet.
NOT_YET = 255


def provenance(problem: Any, solver: str, **settings: Any) -> dict[str, str]:
    """What is needed to run a problem's result again, as NetCDF attributes."""
    from tcpdynamics import __version__

    attrs = {"model": problem.name, "solver": solver, "version": __version__}
    if problem.provenance:
        attrs["parameters"] = json.dumps(dict(problem.provenance), default=_plain)
    if settings:
        attrs["settings"] = json.dumps(settings, default=_plain)
    return attrs


def _plain(value: Any) -> Any:
    """Long arrays by their ends: the coordinates hold all of their values."""
    if hasattr(value, "magnitude") and hasattr(value, "units"):
        return _with_unit(_plain(value.magnitude), str(value.units))
    array = np.asarray(value)
    if array.dtype == object:
        return str(value)
    if array.size > 16:
        return {"first": array.flat[0].item(), "last": array.flat[-1].item(), "count": array.size}
    return array.tolist()


def _with_unit(value: Any, unit: str) -> Any:
    """A plain value of a quantity: "200 millisecond"."""
    if isinstance(value, list):
        return [_with_unit(v, unit) for v in value]
    if isinstance(value, dict):
        return {k: v if k == "count" else _with_unit(v, unit) for k, v in value.items()}
    return f"{value} {unit}"


def as_dataset(
    data: Mapping[Any, Any], coords: Mapping[Any, Any] | None = None, attrs: Mapping[Any, Any] | None = None
) -> xr.Dataset:
    """The Dataset of a solver. xarray would make a coordinate of a variable that has a dimension's name.

    Raises
    ------
    DomainError
        A dimension or a coordinate, brought by a parameter, has the name of one of the results.
    """
    dims = {name: _dims_of(value) for name, value in (*data.items(), *(coords or {}).items())}
    taken = set(coords or ()).union(*dims.values())
    # A solver may give the labels of a dimension of its own as a variable.
    labels = {name for name in RESERVED if dims.get(name) == (name,) and name not in (coords or ())}
    both = sorted(str(name) for name in taken & set(data) - labels)
    if both:
        raise DomainError(
            f"a parameter or its dimension is called {shown(both[0])}, and so is one of the results; rename it"
        )
    return xr.Dataset(data, coords, attrs)


def _dims_of(value: Any) -> tuple[Any, ...]:
    dims = value.dims if hasattr(value, "dims") else value[0] if isinstance(value, tuple) else ()
    return (dims,) if isinstance(dims, str) else tuple(dims)


def status_variable(grid: Grid, status: NDArray[np.uint8]) -> xr.DataArray:
    """One code a point, with its meaning in the CF convention's `flag_values` and `flag_meanings`."""
    return xr.DataArray(grid.unflatten(status), dims=grid.dims, attrs=status_attributes())


def status_attributes(*more: tuple[int, str]) -> dict[str, Any]:
    """Attributes of a status variable, with `more` codes beside those of REASONS."""
    codes = [*enumerate(REASONS), *more]
    return {
        "long_name": "why a point failed (0: it did not)",
        "flag_values": np.array([code for code, _ in codes], dtype=np.uint8),
        "flag_meanings": " ".join(reason.replace(" ", "_") for _, reason in codes),
    }


def failures(result: xr.Dataset) -> list[tuple[dict[str, float], str]]:
    """The failed points of a result and why they failed.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import MarkovChain, stationary
    >>> p = sympy.Symbol("p")
    >>> chain = MarkovChain({("a", "b"): p, ("b", "a"): 1 - 2 * p}, {"p": [0.25, 0.75]})
    >>> failures(stationary(chain))
    [({'p': 0.75}, 'a transition is negative or not a number')]
    """
    status = result["status"]
    told = {}
    if "failure_reason" in result:  # a sweep keeps the texts of errors
        told = dict(
            zip(result["failure_point"].values.tolist(), result["failure_reason"].values, strict=True)
        )
    found = []
    for flat in np.flatnonzero((status.values != 0) & (status.values != NOT_YET)):
        point = status[tuple(int(i) for i in np.unravel_index(flat, status.shape))] if status.ndim else status
        coords = {str(k): float(v) for k, v in point.coords.items() if v.ndim == 0 and v.dtype.kind in "iuf"}
        code = int(point)
        meaning = REASONS[code] if code < len(REASONS) else f"status {code}"
        found.append((coords, str(told.get(int(flat), meaning))))
    return found


def raise_if_failed(status: NDArray[np.uint8], describe: Callable[[int], str]) -> None:
    """With `throw=True`: an error that says what went wrong at the first failed point."""
    bad = np.flatnonzero(status)
    if bad.size:
        more = f" ({bad.size} points failed)" if bad.size > 1 else ""
        raise ChainError(describe(int(bad[0])) + more)
