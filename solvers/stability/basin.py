"""Basins of attraction: which equilibrium, cycle or death a motion comes to, from a grid of starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tcpdynamics.errors import bare, listed, real, shown, whole

from ..equations import System, Variables, as_problem, compile_system, quantities, to_variables
from ..problems import DDE, ODE, DomainError, DynamicsError, Map, MotionModel, Numbers
from ..problems.numbers import real_array
from ..results import Status, as_dataset, provenance, reason, status_variable, warn_if_most_failed
from .attracting_rest import resting_points
from .bifurcation import attractor_variable
from .flow_attractors import CYCLE, EQUILIBRIUM, UNDECIDED, FlowSettings, flow_orbits
from .map_attractors import map_orbits
from .rest import closed_forms
from .time_scales import one_or_range

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

ESCAPE = 3
OUTCOMES = "undecided equilibrium cycle escape"
#: Attractors of one parameter point that are told apart at most.
MOST = 256
#: Relative distance below which two equilibria, or the extrema of two cycles, are the same.
SAME_POINT, SAME_CYCLE = 1e-6, 1e-3


def basin(
    problem: ODE | DDE | Map | MotionModel,
    starts: Mapping[str, Numbers],
    *,
    transient: float | None = None,
    keep: float | None = None,
    max_period: int = 16,
    floor: float = 1e-6,
    of: str | None = None,
    samples: int = 2000,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    throw: bool = False,
) -> xr.Dataset:
    """Follow the trajectory from every start, at every point of the parameters' grid, and report where it ends.

    Parameters
    ----------
    problem : ODE, DDE or Map, or a model with such a view
    starts : mapping state -> 1-D array
        Initial values; each array spans the dimension "start_STATE". What is left out keeps its own.
    transient, keep : float, optional
        As for `bifurcation`, with the same defaults.
    max_period : int
        Longest cycle sought: steps of a map, maxima of `of` in a flow.
    floor : float
        A state is dead if it ends below this fraction of the largest of its kind (N[1], N[2], ...; of all states,
        where no quantity has several entries).
    of : str, optional
        State (of a flow, also an output) by whose extrema cycles are found and distinguished; default the first state.
    samples, rtol, atol
        See `bifurcation`; for flows only.
    throw : bool
        Raise DynamicsError at the first point that fails instead of marking it.

    Returns
    -------
    xarray.Dataset over the parameters and the starts
        `outcome`: undecided, equilibrium, cycle or escape (beyond floating-point numbers). `equilibrium_index` and
        `cycle_index` (-1: none) count along the dimensions `equilibrium` and `cycle`, with the states
        (closed forms first, in the problem's order; then what was found) and `cycle_length`, `cycle_low`,
        `cycle_high`. `dead` (state, ...): which states died out. `status`.

    Notes
    -----
    An equilibrium is a state that stays as it is (`rest.rests`; closed forms must too). Newton's method finds it from
    the trajectory's end. The trajectory has come within 1e-6 of it, or, if it does not repel, within 10 % (1 % with
    delays) and closer by a factor that even decay as t^(-1/2) passes. A delay equation's past is held at the start.

    Raises
    ------
    DomainError
        Starts that are not 1-D arrays of numbers; a setting out of range; too many points.
    DynamicsError
        A start for what is not a state; no initial value for a state.

    Examples
    --------
    >>> import sympy
    >>> x = sympy.Symbol("x")
    >>> double_well = ODE(rhs={"x": x - x**3}, fixed_points=[{"x": sympy.Integer(k)} for k in (-1, 0, 1)])
    >>> basin(double_well, {"x": [-2.0, -0.1, 0.0, 0.1]}).equilibrium_index.values.tolist()
    [0, 0, 1, 2]
    """
    dynamics = as_problem(problem, DDE, ODE, Map)
    _check_starts(starts)
    system = compile_system(dynamics.starting(starts))
    base = compile_system(dynamics.starting(dict.fromkeys(starts, 0.0)))
    max_period = whole("max_period", max_period, 1)
    if real("floor", floor, 0, 1) == 1:
        raise DomainError(f"floor must lie in [0, 1), got {floor:g}")
    is_map = isinstance(dynamics, Map)
    of = system.labels[0] if of is None else of
    if is_map:
        ends = _of_map(system, of, transient, keep, max_period)
    else:
        ends = _of_flow(system, FlowSettings(of, transient, keep, samples, max_period, rtol, atol))
    if throw and ends.status.any():
        at = int(np.flatnonzero(ends.status)[0])
        raise DynamicsError(f"{dynamics.name} failed at {system.grid.point(at)}: {reason(ends.status[at])}")
    warn_if_most_failed(f"basin of {dynamics.name}", ends.status)
    transient, keep = ends.times
    settings = {"transient": transient, "keep": keep, "max_period": max_period, "floor": floor, "of": of}
    data = _variables(system, base, of, ends, floor)
    return as_dataset(data, system.grid.coords, provenance(dynamics, "basin", **settings))


def _check_starts(starts: object) -> None:
    if not isinstance(starts, Mapping):
        raise DomainError(f"starts must be a mapping state -> 1-D array, got {shown(starts)}")
    for name, values in starts.items():
        if real_array(f"the starts of {bare(name)}", values).ndim != 1:
            raise DomainError(f"the starts of {bare(name)} must be a 1-D array of numbers, got {shown(values)}")


@dataclass(frozen=True)
class _Ends:
    """Where motions end: kind, states (of the equilibrium, or the last), cycles as (length, low, high)."""

    outcome: NDArray[np.int8]
    states: Array
    cycle: Array
    status: NDArray[np.uint8]
    times: tuple[Any, Any]


def _of_map(system: System, of: str, transient: float | None, keep: float | None, max_period: int) -> _Ends:
    if not isinstance(of, str) or of not in system.labels:
        raise DynamicsError(f"of must name a state, got {shown(of)}; there are {listed(system.labels)}")
    orbits = map_orbits(system, transient, keep, max_period)
    escaped = orbits.status == Status.OVERFLOW
    first, last = orbits.states[:, :, 0], orbits.states[:, :, -1].copy()
    equilibria, resting = resting_points(system, first, last, orbits.reach, orbits.transient, orbits.keep)
    resting &= orbits.period <= 1
    last[:, resting] = equilibria[:, resting]
    row = orbits.states[system.labels.index(of)]
    tail = np.arange(orbits.keep)[None] >= orbits.keep - np.maximum(orbits.period, 1)[:, None]
    low = np.where(tail, row, np.inf).min(axis=1)
    high = np.where(tail, row, -np.inf).max(axis=1)
    outcome = np.where(resting, EQUILIBRIUM, np.where(orbits.period > 1, CYCLE, UNDECIDED))
    outcome[escaped] = ESCAPE
    cycle = np.stack([orbits.period.astype(float), low, high])
    times = orbits.transient, orbits.keep
    return _Ends(outcome.astype(np.int8), last, cycle, np.where(escaped, 0, orbits.status), times)


def _of_flow(system: System, settings: FlowSettings) -> _Ends:
    flows = flow_orbits(system, settings)
    escaped = flows.status == Status.OVERFLOW
    last = flows.last.copy()
    noise = 100 * (settings.rtol * flows.reach + settings.atol)
    equilibria, resting = resting_points(system, flows.first, last, flows.reach, flows.transient, flows.keep, noise)
    last[:, resting] = equilibria[:, resting]
    outcome = np.where(resting, EQUILIBRIUM, np.where(flows.attractor == CYCLE, CYCLE, UNDECIDED))
    outcome[escaped] = ESCAPE
    cycle = np.full((3, system.size), np.nan)
    cycling = np.flatnonzero(outcome == CYCLE)
    if cycling.size:
        rows, length = np.arange(cycling.size), flows.period[cycling]
        place = np.arange(-flows.highs.shape[1], 0)[None] >= -length[:, None]
        cycle[0, cycling] = flows.duration[cycling]
        cycle[2, cycling] = np.where(place, flows.highs[cycling], -np.inf).max(axis=1)
        place = np.arange(-flows.lows.shape[1], 0)[None] >= -length[rows, None]
        cycle[1, cycling] = np.where(place, flows.lows[cycling], np.inf).min(axis=1)
    times = one_or_range(flows.transient), one_or_range(flows.keep)
    settled = escaped | (resting & (flows.status == Status.TOO_SHORT))
    return _Ends(outcome.astype(np.int8), last, cycle, np.where(settled, 0, flows.status), times)


def _variables(system: System, base: System, of: str, ends: _Ends, floor: float) -> dict[str, Any]:
    grid, problem, n = system.grid, system.problem, len(system.labels)
    many = grid.size // base.size

    def shaped(values: NDArray[Any]) -> NDArray[Any]:
        return values.reshape((*values.shape[:-1], base.size, many))

    is_point, is_cycle = (shaped(ends.outcome == kind) for kind in (EQUILIBRIUM, CYCLE))
    point_index, points = _tell_apart(shaped(ends.states), is_point, _closed_points(base), SAME_POINT)
    cycle_index, cycles = _tell_apart(shaped(ends.cycle), is_cycle, np.empty((0, 3, base.size)), SAME_CYCLE)
    data = Variables(
        outcome=attractor_variable(system, ends.outcome, OUTCOMES),
        equilibrium_index=_index(system, point_index, "equilibrium"),
        cycle_index=_index(system, cycle_index, "cycle"),
    )
    alive = np.where(ends.outcome == ESCAPE, np.nan, ends.states)
    dead = _dead(system.labels, alive, floor).reshape(n, *grid.shape)
    data["dead"] = (("state", *grid.dims), dead, {"long_name": "died out", "floor": floor})
    data |= to_variables(base, base.labels, np.moveaxis(points, 0, -1), "equilibrium")
    name = of.partition("[")[0]
    unit, time = problem.units.get(name, "1"), problem.time_units
    kinds = (("length", time), ("low", unit), ("high", unit))
    for row, (kind, units) in enumerate(kinds):
        values = np.moveaxis(cycles[:, row], 0, -1).reshape((*base.grid.shape, len(cycles)))
        long_name = f"{kind} of the cycle" if kind == "length" else f"{kind}est {of} of the cycle"
        attrs = {"units": units, "long_name": long_name}
        data[f"cycle_{kind}"] = ((*base.grid.dims, "cycle"), values, attrs)
    data["state"] = ("state", list(system.labels))
    data["status"] = status_variable(grid, ends.status.astype(np.uint8))
    return data


def _closed_points(system: System) -> Array:
    """(equilibria, states, size) of the problem's closed forms, NaN where the equations are not at rest there."""
    if not system.problem.fixed_points:
        return np.empty((0, len(system.labels), system.size))
    states, valid = closed_forms(system)
    return np.moveaxis(np.where(valid, states, np.nan), -1, 0)


def _index(system: System, values: Integers, kind: str) -> Any:
    attrs = {"long_name": f"number of the {kind} (-1: none)"}
    return (system.grid.dims, values.reshape(system.grid.shape), attrs)


def _tell_apart(features: Array, mask: NDArray[np.bool_], known: Array, tolerance: float) -> tuple[Integers, Array]:
    """Number the distinct columns of features (f, P, S) at each of P points: (P, S) numbers, (E, f, P) features."""
    index = np.full(mask.shape, -1, dtype=np.int64)
    table = list(known)
    points = np.arange(mask.shape[0])
    spread = np.abs(np.where(mask, features, 0.0)).max(axis=(0, 2))
    for number in range(len(known) + MOST):
        open_ = mask & (index < 0)
        if number >= len(table):
            if not open_.any():
                break
            new = features[:, points, open_.argmax(axis=1)]
            table.append(np.where(open_.any(axis=1), new, np.nan))
        one = table[number]
        with np.errstate(invalid="ignore"):
            size = np.maximum(np.abs(one).max(axis=0), tolerance * spread)  # for one at zero
            same = (np.abs(features - one[:, :, None]) <= tolerance * size[:, None]).all(axis=0)
        index[open_ & same] = number
    return index, np.array(table).reshape(len(table), *features.shape[:2])


def _dead(labels: tuple[str, ...], states: Array, floor: float) -> NDArray[np.bool_]:
    kinds = list(quantities(labels).values())
    several = [rows for rows in kinds if len(rows) > 1] or [list(range(len(labels)))]
    dead = np.zeros(states.shape, dtype=bool)
    with np.errstate(invalid="ignore"):
        for rows in several:
            largest = np.abs(states[rows]).max(axis=0)
            dead[rows] = (np.abs(states[rows]) <= floor * largest) & (largest > 0)
    return dead
