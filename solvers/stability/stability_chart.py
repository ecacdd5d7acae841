"""Stability charts: where in the space of parameters a point of rest is stable, and where exactly that ends."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tcpdynamics.errors import real
from tcpdynamics.limits import check_memory
from tcpdynamics.progress import tracked

from ..equations import POINT, System, as_problem
from ..grid import Grid, flat
from ..problems import DDE, ODE, DomainError, Dynamics, DynamicsError, Map, MotionModel
from ..results import Status, as_dataset, provenance, reason, status_variable, warn_if_most_failed
from .attracting_rest import refine
from .boundary import Boundary
from .boundary import trace as find_boundary
from .leading_roots import linear_roots, linearisation, sides, switched
from .operating_point import At, operating_point
from .rest import rests
from .switches.verdict import growth

Array = NDArray[np.float64]


#: How far a point of `at` may be off: people write it with four or five digits.
_ROUNDED = 1e-4

#: Numbers in the matrices of one block of points, 160 MB.
BLOCK_NUMBERS = 20_000_000

#: Points of one block at most, so that the share done is known.
BLOCK_POINTS = 100_000

VERDICTS = {-1: "stable", 0: "marginal", 1: "unstable", 2: "unknown"}


def stability_chart(
    problem: ODE | DDE | Map | MotionModel,
    *,
    at: At | None = None,
    trace: bool = True,
    tolerance: float = 1e-10,
    throw: bool = False,
) -> xr.Dataset:
    """Stability at every point of a grid of parameters, and the boundary between the points.

    Parameters
    ----------
    problem : ODE, DDE or Map, or a model with such a view
        With at least one parameter that is an array.
    at : mapping state -> number, array, DataArray or expression, optional
        Where to linearise, as for `eigenvalues`. Arrays are interpolated between the nodes and then refined by Newton's
        method.
    trace : bool
        Find the crossings of the boundary with the edges of the grid. Points along a dimension called "point", as in
        a block of `sweep`, are no neighbours, and nothing is traced between them.
    tolerance : float
        Their accuracy, in units of an edge.
    throw : bool
        Raise DynamicsError at the first point without a verdict instead of marking it.

    Returns
    -------
    xarray.Dataset over the parameters
        `abscissa`, the largest real part of the characteristic roots [1/time], or `radius`, the largest modulus of a
        map's multipliers [1]; `verdict`: stable, marginal (zero or one within the error of the root), unstable, or
        unknown where `status` gives the reason. A point on a switch has a separate status and one such number a side,
        `abscissa_side` or `radius_side` (side, *parameters); there `abscissa` or `radius` is the growth of small
        deviations in the long run (-inf or inf where the equations jump) if that is known (one state; a flow of two
        states), and `verdict` is unknown where neither that nor another argument decides. Where the model has a
        `stability_margin()`: `margin` (> 0 where its closed form is stable) and `disagreements`, the number of
        points that it puts on the other side.

        Along the dimension `crossing`, one an edge of the grid whose one end is stable: `boundary_NAME` for each swept
        parameter; `boundary_axis`, the dimension along which the edge runs; `boundary_residual`, abscissa (radius
        less one) there: far from zero where stability ends in a jump or where the equilibrium ends; `boundary_margin`
        by the closed form. With two dimensions, crossings stand in the order of curves: `boundary_curve`, and
        `boundary_closed`.

    Raises
    ------
    DomainError
        Nothing is swept, or a tolerance outside [1e-14, 0.1].

    Warns
    -----
    FailureWarning
        None of several points has a verdict.

    Notes
    -----
    Each crossing is bracketed on the true root, solved anew (see `boundary.trace`): exact to `tolerance` however
    coarse the grid. What lies within one edge or one cell altogether is not seen. Where no point is stable (a conserved
    quantity leaves a root at zero), the boundary is that of the unstable points. The delays of a map are whole
    numbers, so that no edge runs along them. A root's error is taken as its backward error times the size of
    the matrices, as for simple roots.

    On a switch (which points are on one: see `eigenvalues`) a flow of one state is stable iff both sides are; a map of
    one state with the slopes a and b iff a < 1, b < 1 and a b < 1; a flow of two states by its directions and its half
    turns. With more states two stable sides do not suffice: stable is what one quadratic form proves, unstable what
    grows along one direction within a side, and the rest is unknown. Equations that jump to the point from both sides
    hold it: they are stable; a map that jumps is unstable.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers.problems import Delayed
    >>> w, past, epsilon, delay = sympy.symbols("w past epsilon delay")
    >>> delayed = DDE(
    ...     rhs={"w": epsilon * w * (1 - past)}, delayed={"past": Delayed("w", delay)}, fixed_points=[{"w": 1}],
    ...     parameters={"epsilon": [0.5, 1.0, 2.0], "delay": [0.1, 1.0, 2.0]},
    ... )
    >>> chart = stability_chart(delayed)
    >>> chart.verdict.values.tolist()
    [[-1, -1, -1], [-1, -1, 1], [-1, 1, 1]]
    >>> bool(abs(chart.boundary_epsilon * chart.boundary_delay - np.pi / 2).max() < 1e-9)
    True
    """
    tolerance = real("tolerance", tolerance, 1e-14, 0.1)
    system, states, status = operating_point(problem, at, DDE, ODE, Map)
    if at is not None:
        status[(status == 0) & _not_at_rest(system, states)] = Status.NOT_AT_REST
        states = np.where(status == 0, states, np.nan)
    grid = system.grid
    if not grid.dims:
        raise DomainError("a chart needs a parameter that is an array, such as epsilon=numpy.linspace(0.1, 3, 300)")
    points = _measure(system, states, status)
    value, error, status = points.value, points.error, points.status
    data = _verdicts(system, points) | {"status": status_variable(grid, status)}
    undecided = np.flatnonzero((status != 0) & (data["verdict"].values.ravel() == 2))
    if throw and undecided.size:
        first = int(undecided[0])
        raise DynamicsError(f"{system.problem.name} at {grid.point(first)}: {reason(status[first])}")
    if 1 < undecided.size == status.size:
        warn_if_most_failed("stability chart", status)
    attrs = provenance(system.problem, "stability_chart", tolerance=tolerance)
    margin = _margin(problem, {})
    if margin is not None:
        data |= _compare_margin(system, margin, data["verdict"])
    if trace and grid.dims != (POINT,):
        boundary = _boundary(system, at, value, error, tolerance)
        data |= _crossings(problem, system, boundary)
    return as_dataset(data, grid.coords, attrs)


@dataclasses.dataclass(frozen=True)
class _Points:
    """What decides over stability at each point.

    Attributes
    ----------
    value : (size,) abscissa, or radius less one; on a switch what `switches.verdict.judge` puts in its place; NaN
        where it is unknown
    error : (size,) bound of its error
    status : (size,) codes
    exact : (size,) whether `value` is the growth of small deviations, not only its sign; inexact zeros have no verdict
    side : (size, 2) abscissas, or radii, below and above the switch; None for equations without one
    """

    value: Array
    error: Array
    status: NDArray[np.uint8]
    exact: NDArray[np.bool_]
    side: Array | None


def _measure(system: System, states: Array, status: NDArray[Any]) -> _Points:
    n, size = states.shape
    is_map = isinstance(system.problem, Map)
    value, error = np.full(size, np.nan), np.full(size, np.nan)
    code, exact = np.asarray(status, np.uint8).copy(), np.ones(size, bool)
    side = np.full((size, 2), np.nan) if system.equations.switches else None
    fine = np.flatnonzero(status == 0)
    block = max(1, min(BLOCK_POINTS, BLOCK_NUMBERS // (n * n * (1 + len(system.delayed)))))
    for low in tracked(range(0, fine.size, block)):
        points = fine[low : low + block]
        resting_states = np.ascontiguousarray(states[:, points])
        (base, past, tau), groups = linearisation(system, resting_states, points)
        roots, residuals, certain = linear_roots(system, base, past, tau, 1)
        size_ = np.abs(base).sum(axis=2).max(axis=1) + np.abs(past).sum(axis=(1, 3)).max(axis=1, initial=0.0)
        bad = np.maximum(residuals[:, 0], np.finfo(float).eps)
        root = roots[:, 0]
        value[points] = np.abs(root) - 1 if is_map else root.real
        error[points] = 4 * n * bad * (size_ + (1.0 if is_map else 0.0))
        code[points[~certain]] = Status.NOT_POLISHED
        value[points[~certain]] = np.nan
        on = switched(system, groups, 1)
        if on is not None:
            at = points[on.index]
            value[at], error[at], exact[at], code[at] = on.value, on.error, on.exact, Status.ON_SWITCH
            assert side is not None
            side[at] = np.abs(on.roots[:, :, 0]) if is_map else on.roots[:, :, 0].real
    return _Points(value, error, code, exact, side)


def _not_at_rest(system: System, states: Array) -> NDArray[np.bool_]:
    """Where a point that a user gave is no equilibrium, by more than the digits that people write."""
    moves = ~rests(system, np.where(np.isfinite(states), states, 0.0), tolerance=_ROUNDED)
    if system.equations.switches:  # on a jump a motion may rest, though neither side does
        for group in sides(system, np.ascontiguousarray(states), np.arange(system.size)):
            moves[group.index] = False
    return np.asarray(moves)


def _verdicts(system: System, points: _Points) -> dict[str, Any]:
    grid, problem = system.grid, system.problem
    is_map = isinstance(problem, Map)
    value = points.value
    verdict = np.where(np.abs(value) <= points.error, 0, np.sign(np.where(np.isnan(value), 2, value)))
    verdict[~np.isfinite(value) & ~np.isneginf(value)] = 2
    verdict[(verdict == 0) & ~points.exact] = 2
    name, meaning = ("radius", "largest modulus of a multiplier") if is_map else ("abscissa", "largest real part")
    units = "1" if is_map else f"1/{problem.time_units}"
    attrs = {
        "long_name": "stability",
        "flag_values": np.array(list(VERDICTS), dtype=np.int8),
        "flag_meanings": " ".join(VERDICTS.values()),
    }
    rate = np.where(points.exact, value, np.nan)
    if points.side is not None:
        rate = growth(rate)
    values = grid.unflatten(rate + 1 if is_map else rate)
    data: dict[str, Any] = {
        name: (grid.dims, values, {"units": units, "long_name": meaning}),
        "verdict": xr.DataArray(grid.unflatten(verdict.astype(np.int8)), grid.coords, grid.dims, "verdict", attrs),
    }
    if points.side is not None:
        both = np.stack([grid.unflatten(x) for x in points.side.T])
        about = {"units": units, "long_name": f"{meaning} below and above the switch"}
        data[f"{name}_side"] = (("side", *grid.dims), both, about)
    return data


def _margin(model: Any, values: Mapping[str, xr.DataArray]) -> xr.DataArray | None:
    """The model's closed-form margin, with some of its fields replaced; None where it has none."""
    method = getattr(model, "stability_margin", None)
    if not callable(method):
        return None
    if values:
        names = {f.name for f in dataclasses.fields(model)}
        if not set(values) <= names:
            return None
        try:
            method = dataclasses.replace(model, **values).stability_margin
        except DomainError:
            return None
    try:
        return xr.DataArray(method())
    except (DomainError, DynamicsError):  # no closed form for these parameters
        return None


def _compare_margin(system: System, margin: xr.DataArray, verdict: xr.DataArray) -> dict[str, Any]:
    if not set(margin.dims) <= set(system.grid.dims):
        return {}
    spread, sign = margin.broadcast_like(verdict).transpose(*verdict.dims).values, verdict.values
    other = ((sign == -1) & (spread < 0)) | ((sign == 1) & (spread > 0))
    attrs = {"long_name": "stability margin in closed form (> 0: stable)", "units": margin.attrs.get("units", "1")}
    count = {"long_name": "points whose closed form says otherwise", "units": "1"}
    return {"margin": (verdict.dims, spread, attrs), "disagreements": ((), int(other.sum()), count)}


def _boundary(system: System, at: At | None, value: Array, error: Array, tolerance: float) -> Boundary:
    grid, varying = system.grid, system.swept
    finite = np.isfinite(value)
    sign = -1.0 if finite.any() and not (value[finite] < -error[finite]).any() else 1.0
    axes = list(range(len(grid.shape)))
    if isinstance(system.problem, Map) and system.delayed:
        lags = grid.unflatten(system.lag_values())
        axes = [axis for axis in axes if not np.ptp(lags, axis=axis + 1).any()]
    arrays = at is not None and any(k.startswith("start_") and k not in system.problem.parameters for k in varying)

    def measure(values: dict[str, Array]) -> tuple[Array, Array]:
        local = system.at(values)
        if at is None:
            local, states, status = operating_point(local)
        else:
            states, status = local.start_values(), np.zeros(local.size, np.uint8)
            if arrays:
                states = refine(local, states)
                status = np.where(np.isfinite(states).all(axis=0), 0, Status.NOT_POLISHED).astype(np.uint8)
        points = _measure(local, states, status)
        return sign * points.value, points.error

    traced = find_boundary(measure, varying, grid.shape, sign * value, error, axes=axes, tolerance=tolerance)
    return dataclasses.replace(traced, residual=sign * traced.residual)


def boundary_of(
    problem: Dynamics | MotionModel, chart: xr.Dataset, *, at: At | None = None, tolerance: float = 1e-10
) -> dict[str, xr.Variable]:
    """The boundary of a chart that was solved without it, such as the blocks of a sweep put together.

    Parameters
    ----------
    problem, at, tolerance : as for `stability_chart`
    chart : Dataset
        With `verdict`, `status`, and `abscissa` or `radius`. Points that failed bound no edge.

    Returns
    -------
    dict of the variables along `crossing`
        Empty where a dimension of the chart is no parameter of the equations.

    Raises
    ------
    LimitError
        More points than memory holds.

    Examples
    --------
    >>> import sympy
    >>> w, epsilon = sympy.symbols("w epsilon")
    >>> grows = ODE(rhs={"w": (epsilon - 1) * w}, parameters={"epsilon": [0.0, 3.0]}, fixed_points=[{"w": 0}])
    >>> chart = stability_chart(grows, trace=False)
    >>> boundary_of(grows, chart)["boundary_epsilon"].values.round(9)
    array([1.])
    """
    whole_problem = as_problem(problem, DDE, ODE, Map)
    dims, shape = tuple(map(str, chart.verdict.dims)), chart.verdict.shape
    swept = {k: chart[k] for k in whole_problem.parameters if k in chart.coords and chart[k].ndim}
    fixed = {k: v for k, v in whole_problem.parameters.items() if k not in swept}
    if {d for array in swept.values() for d in array.dims} != set(dims) or any(
        np.asarray(v).ndim for v in fixed.values()
    ):
        return {}
    what = f"the boundary between {chart.verdict.size:,} points"
    check_memory(what, 8.0 * (8 + len(swept)) * chart.verdict.size, "sweep a smaller grid")
    first = {k: float(np.asarray(whole_problem.parameters[k]).ravel()[0]) for k in swept}
    system, _, _ = operating_point(whole_problem.at(**first), at)
    if system.grid.dims:  # `at` brings a dimension of its own
        return {}
    values = {k: flat(array, dims, shape) for k, array in swept.items()}
    system = dataclasses.replace(system, grid=Grid(dims, shape, swept, {**system.grid.values, **values}))
    value = _signed(chart)
    boundary = _boundary(system, at, value, np.zeros(value.size), tolerance)
    return {k: xr.Variable(*v) for k, v in _crossings(problem, system, boundary).items()}


def _signed(chart: xr.Dataset) -> Array:
    """(size,) abscissa, or radius less one, of a chart's points; its sign is their verdict, NaN where there is none."""
    solved = np.isin(chart.status.values.ravel(), (0, Status.ON_SWITCH))
    verdict = np.where(solved, chart.verdict.values.ravel(), 2).astype(float)
    value = (chart.radius - 1 if "radius" in chart else chart.abscissa).values.ravel()
    consistent = np.isfinite(value) & (np.sign(value) == verdict)
    return np.where(verdict == 2, np.nan, np.where(consistent, value, verdict))


def _crossings(problem: Dynamics | MotionModel, system: System, boundary: Boundary) -> dict[str, Any]:
    grid = system.grid
    crossing_values = {k: boundary.at(v) for k, v in system.swept.items() if k in system.problem.parameters}
    dims = grid.dims
    data: dict[str, Any] = {}
    for name, values in crossing_values.items():
        attrs = getattr(grid.coords.get(name), "attrs", {})
        data[f"boundary_{name}"] = ("crossing", values, {**attrs, "long_name": f"{name} on the boundary"})
    data["boundary_axis"] = (
        "crossing",
        boundary.axis.astype(np.int8),
        {
            "long_name": "dimension along which the boundary is crossed",
            "flag_values": np.arange(len(dims), dtype=np.int8),
            "flag_meanings": " ".join(dims),
        },
    )
    less = "radius less one" if isinstance(system.problem, Map) else "abscissa"
    data["boundary_residual"] = ("crossing", boundary.residual, {"long_name": f"{less} at the crossing"})
    margin = (
        _margin(problem, {k: xr.DataArray(v, dims=POINT) for k, v in crossing_values.items()})
        if crossing_values
        else None
    )
    if margin is not None and margin.dims == (POINT,):
        data["boundary_margin"] = ("crossing", margin.values, {"long_name": "margin in closed form there"})
    if len(dims) == 2:
        data["boundary_curve"] = ("crossing", boundary.curve, {"long_name": "number of the curve"})
        data["boundary_closed"] = ("crossing", boundary.closed, {"long_name": "whether the curve is closed"})
    return data


def boundary_curves(chart: xr.Dataset) -> list[xr.Dataset]:
    """The boundary of a chart with two dimensions as curves, each along `crossing`; closed ones end where they began.

    Parameters
    ----------
    chart : Dataset of `stability_chart` with the traced boundary

    Returns
    -------
    list of xarray.Dataset
        The variables of the chart along `crossing`, one Dataset a curve; empty where there is no boundary.

    Raises
    ------
    DynamicsError
        A chart without a boundary that was traced over two dimensions.

    Examples
    --------
    >>> chart = as_dataset({"boundary_curve": ("crossing", [0, 0, 1]), "boundary_closed": ("crossing", [True] * 3)})
    >>> [curve.sizes["crossing"] for curve in boundary_curves(chart)]
    [3, 2]
    """
    if "boundary_curve" not in chart:
        raise DynamicsError("this chart has no curves: they need two dimensions and trace=True")
    along = chart[[str(k) for k in chart.data_vars if str(k).startswith("boundary_")]]
    curves = []
    for number in np.unique(chart.boundary_curve.values):
        index = np.flatnonzero(chart.boundary_curve.values == number)
        if chart.boundary_closed.values[index[0]]:
            index = np.append(index, index[0])
        curves.append(along.isel(crossing=index))
    return curves
