"""Where a system comes to rest: closed forms, or Newton from many starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tcpdynamics.errors import bare, listed, shown, whole

from ..equations import System, as_problem, compile_system, quantities, to_variables
from ..problems import DDE, ODE, Dynamics, DynamicsError, Map, MotionModel
from ..results import Status, as_dataset, provenance, reason, status_variable
from .equilibria_search import check_search, search
from .leading_roots import margin, sides
from .operating_point import check_start, leading_of_each, scalar_start
from .rest import at_rest_rate, closed_forms

Array = NDArray[np.float64]


def equilibria(
    problem: ODE | DDE | Map | MotionModel,
    box: Mapping[str, tuple[float, float]] | None = None,
    *,
    starts: int = 64,
    seed: int = 0,
    throw: bool = False,
) -> xr.Dataset:
    """All equilibria at every point of the grid, with their residuals and stability.

    Closed forms where the problem has them and no box is given; else damped Newton from quasi-random (Sobol) starts. A
    search may miss equilibria with small basins: more `starts` find more. For a map, fixed points of one step. Closed
    forms are used alone: where none holds, `status` reports it, and a box makes it a search.

    Parameters
    ----------
    problem : ODE, DDE, Map, or a model with such a view
    box : mapping state (or vector) -> (low, high), optional
        Where to search. Without it and without closed forms the search begins around the problem's initial values
        (each times 4^-3 to 4^3) and keeps whatever it finds.
    starts : int, 1 to 2^20
        Of a search; closed forms need none.
    seed : int
        Of the quasi-random starts; the same seed gives the same result.
    throw : bool
        Raise DynamicsError where no equilibrium was found, instead of marking the point.

    Returns
    -------
    xarray.Dataset with the dimension `equilibrium`
        The states; `residual`, the largest rate of change (of a map: change in a step) there; `abscissa`
        [1/time], or for a map `radius` [1], of the linearisation; `stable`; `undecided`, true where it is not known
        whether perturbations die out (NaN in `abscissa`; `stable` is false there too); `count`; `status`. Slots
        without an equilibrium are NaN. Closed forms keep the model's order, others are sorted by the first state.
        The attribute `method` names which they are.

    Notes
    -----
    An equilibrium on a switch (see `eigenvalues`) has a stability where `stability_chart` has one; else it is
    undecided, and `status` reports the switch. A search covers the surfaces of all switches too, so that a
    queue that stays at the buffer's end is found.

    Raises
    ------
    DynamicsError
        A number of starts or a seed out of range.
        A box that names no state, leaves one out or is empty; neither box, closed form nor initial values.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import ODE, equilibria
    >>> x, r = sympy.symbols("x r")
    >>> pitchfork = ODE(rhs={"x": r * x - x**3}, parameters={"r": [-1.0, 1.0]})
    >>> found = equilibria(pitchfork, {"x": (-2, 2)})
    >>> found["count"].values.tolist(), found["x"].sel(r=1.0).values.round(12).tolist()
    ([1, 3], [-1.0, 0.0, 1.0])
    """
    dynamics: Dynamics = as_problem(problem)
    starts = whole("starts", starts, 1, 1 << 20, error=DynamicsError)
    seed = whole("seed", seed, 0, error=DynamicsError)
    if box is None and dynamics.fixed_points:
        method, none, system = ("closed form", Status.NO_CLOSED_FORM, compile_system(dynamics.changed(start={})))
        states, valid = closed_forms(system)
        states = np.where(valid, states, np.nan)
        joined = np.zeros(system.size, bool)
    else:
        method, none = "search around the initial values", Status.NO_EQUILIBRIUM
        method = method if box is None else "search in the box"
        system = compile_system(dynamics.changed(start=scalar_start(dynamics)))
        check_search(system, starts)
        states, joined = search(system, _bounds(system, box), starts, seed)
    count = np.isfinite(states[0]).sum(axis=1)
    status = np.where(count == 0, none, np.where(joined, Status.NOT_ISOLATED, 0)).astype(np.uint8)
    if throw and status.any():
        first = int(np.flatnonzero(status)[0])
        advice = "; widen the box or raise starts" if status[first] == Status.NO_EQUILIBRIUM else ""
        raise DynamicsError(f"{reason(status[first])} at {system.grid.point(first)}{advice}")
    roots, _ = leading_of_each(system, states)
    undecided = np.isfinite(states).all(axis=0) & np.isnan(roots.real)
    status = np.where(status == 0, _why_undecided(system, states, undecided), status).astype(np.uint8)
    settings = {"box": box, "starts": starts, "seed": seed}
    return _dataset(system, states, roots, undecided, count, status, method, settings)


def _why_undecided(system: System, states: Array, undecided: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """(size,) codes of points with an equilibrium whose stability is not known."""
    codes = np.zeros(system.size, np.uint8)
    for k in range(undecided.shape[1]):
        points = np.flatnonzero(undecided[:, k])
        if points.size:
            codes[points] = np.maximum(codes[points], Status.NOT_POLISHED)
            for group in sides(system, np.ascontiguousarray(states[:, points, k]), points):
                codes[points[group.index]] = Status.ON_SWITCH
    return codes


def _bounds(system: System, box: Mapping[str, tuple[float, float]] | None) -> Array | None:
    """(n, 2) bounds by state; None without a box."""
    if box is None:
        check_start(system)
        return None
    if not isinstance(box, Mapping):
        raise DynamicsError(f"box must be a mapping state -> (low, high), got {shown(box)}")
    vectors = quantities(system.labels)
    out = np.full((len(system.labels), 2), np.nan)
    for name, pair in box.items():
        rows = vectors.get(name) or [i for i, label in enumerate(system.labels) if label == name]
        if not rows:
            raise DynamicsError(f"box names {shown(name)}, which is not a state; there are {listed(system.labels)}")
        out[rows] = _interval(name, pair)
    missing = [label for label, row in zip(system.labels, out, strict=True) if np.isnan(row[0])]
    if missing:
        raise DynamicsError(f"the box leaves out {listed(missing)}; give (low, high) for every state")
    return out


def _interval(name: str, pair: Any) -> Array:
    """(2,) low and high, of anything that holds two finite real numbers in order."""
    try:
        numbers = np.array(np.ma.filled(pair, np.nan) if np.ma.isMaskedArray(pair) else pair)
    except (TypeError, ValueError):  # ragged, or no array at all
        numbers = np.empty(0)
    ends = numbers.astype(float) if numbers.shape == (2,) and numbers.dtype.kind in "iuf" else np.full(2, np.nan)
    if not (np.isfinite(ends).all() and ends[0] < ends[1]):
        raise DynamicsError(f"the box of {bare(name)} must be (low, high) with finite low < high, got {shown(pair)}")
    return ends


def _dataset(
    system: System,
    states: Array,
    roots: NDArray[Any],
    undecided: NDArray[np.bool_],
    count: Any,
    status: Any,
    method: str,
    settings: dict[str, Any],
) -> xr.Dataset:
    grid, problem = system.grid, system.problem
    there = np.asarray(np.isfinite(states).all(axis=0))
    residual = np.full(there.shape, np.nan)
    for k in range(there.shape[1]):
        points = np.flatnonzero(there[:, k])
        if points.size:
            rate = at_rest_rate(system, np.ascontiguousarray(states[:, points, k]), points)
            residual[points, k] = np.abs(rate).max(axis=0)
    dims = (*grid.dims, "equilibrium")

    def variable(values: NDArray[Any], units: str, name: str, slots: bool = True) -> Any:
        shape = (*grid.shape, -1) if slots else grid.shape
        return (dims if slots else grid.dims, values.reshape(shape), {"units": units, "long_name": name})

    steps = isinstance(problem, Map)
    size = np.abs(roots) if steps else roots.real
    unit, long = ("1", "spectral radius") if steps else (f"1/{problem.time_units}", "spectral abscissa")
    data = to_variables(system, system.labels, states, "equilibrium")
    data["residual"] = variable(residual, f"per {problem.time_units}", "largest rate of change at the equilibrium")
    data["radius" if steps else "abscissa"] = variable(size, unit, long)
    data["stable"] = variable(margin(system, roots) < 0, "1", "whether perturbations die out")
    data["undecided"] = variable(undecided, "1", "whether that is not known")
    data["count"] = variable(count, "1", "number of equilibria", slots=False)
    data["status"] = status_variable(grid, status)
    attrs = provenance(problem, "equilibria", **settings) | {"method": method}
    return as_dataset(data, coords=grid.coords, attrs=attrs)
