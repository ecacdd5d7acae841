"""Bifurcation diagrams: where maps and flows end up, for every value of the parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tcpdynamics.errors import listed, shown, whole

from ..equations import System, as_problem, compile_system, to_variables
from ..problems import DDE, ODE, DynamicsError, Map, MotionModel, StateValue
from ..results import as_dataset, provenance, reason, status_variable, warn_if_most_failed
from .flow_attractors import ATTRACTORS, CYCLE, EQUILIBRIUM, UNDECIDED, FlowOrbits, FlowSettings, flow_orbits
from .map_attractors import Orbits, map_orbits
from .time_scales import one_or_range

Array = NDArray[np.float64]


def bifurcation(
    problem: ODE | DDE | Map | MotionModel,
    parameter: str | None = None,
    *,
    transient: float | None = None,
    keep: float | None = None,
    start: Mapping[str, StateValue] | None = None,
    max_period: int = 64,
    of: str | None = None,
    samples: int = 2000,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    throw: bool = False,
) -> xr.Dataset:
    """Points of the attractor, and its period, at every point of the parameters' grid.

    Of a map, the states at the steps after a transient; of a flow, the maxima and minima of one quantity over a
    window of time. Every point begins at the problem's start, so that coexisting attractors are distinguished by
    their starts only.

    Parameters
    ----------
    problem : ODE, DDE or Map, or a model with such a view
    parameter : str, optional
        The dimension along which the diagram is drawn, default the first; stored in `attrs["parameter"]`.
    transient, keep : float, optional
        How long the trajectory runs before, and how long it is recorded, in the problem's unit of time. Default for a
        flow: 500 and 200 times its own unit at each point, the longest delay or the time of the slowest mode at the
        operating point (see `own_times.own_unit`). Default for a map: 1000 steps, times its longest delay, and 256.
    start : mapping state -> number or array, optional
        Initial values instead of the problem's own.
    max_period : int
        Longest period sought: steps of a map, at most keep/2; maxima of a flow, at most a quarter of those seen.
    of : str, optional
        For a flow, the state or output whose extrema are taken; default the first state.
    samples : int
        For a flow, times within the window. Extrema lie between them. Their error falls as the fifth power of the
        distance d (d^3 at the window's ends), also at a corner of `of` (Max, Min, Abs) that is the only one in 11
        samples. Where corners follow in closer sequence, up to 64 times as many samples are taken (at about ten
        thousand points); beyond, they leave about d^2/8 times the curvature, a jump the sample next to it.
    rtol, atol : float
        See `trajectory`.
    throw : bool
        Raise DynamicsError at the first point that fails instead of marking it.

    Returns
    -------
    xarray.Dataset over the parameters
        `attractor` (undecided, equilibrium or cycle) and `cycle_length` (0: none found; longer, quasi-periodic,
        chaotic or not yet settled); `status`. For a map, every state with the further dimension `iterate`, and
        `multiplier`, the largest modulus of the cycle's multipliers. For a flow, `maxima` and `minima`
        with the further dimension `extremum` (latest last, NaN before the first), `level`, the
        quantity at the end, `equilibrium`, that at the equilibrium which the trajectory approaches (solved for: it may
        still be on its way), and `duration` of a cycle; `cycle_length` counts its maxima.

    Notes
    -----
    A map's period is that of a cycle found by Newton's method from the orbit's end, which does not repel and which the
    orbit approaches: it is right also where the approach is slow. A flow has settled where the range of the quantity is
    below 100 times the integration's error or shrinks towards zero, and an equilibrium (`rest.rests`) lies within 10 %
    of its end. Otherwise its maxima must repeat to that error, or to 1 % of their range and twice as well in the second
    half of the window as in the first.

    Raises
    ------
    DomainError
        A transient, window, period, number of samples or tolerance out of range, or too many numbers.
    DynamicsError
        An unknown parameter or quantity; no initial value for a state.

    Examples
    --------
    >>> import sympy
    >>> w, r = sympy.symbols("w r")
    >>> logistic = Map(rhs={"w": w + r * w * (1 - w)}, parameters={"r": [1.9, 2.2, 2.5, 2.83, 3.0]}, start={"w": 0.1})
    >>> bifurcation(logistic).cycle_length.values.tolist()
    [1, 2, 4, 3, 0]
    """
    dynamics = as_problem(problem, DDE, ODE, Map)
    if start is not None:
        dynamics = dynamics.starting(start)
    system = compile_system(dynamics)
    dims = system.grid.dims
    if parameter is not None and not (isinstance(parameter, str) and parameter in dims):
        raise DynamicsError(f"{shown(parameter)} is not swept; swept are: {listed(dims) or 'none'}")
    max_period = whole("max_period", max_period, 1)
    along = parameter or (dims[0] if dims else "")
    if isinstance(dynamics, Map):
        orbits = map_orbits(system, transient, keep, max_period)
        data = _of_map(system, orbits)
        settings: dict[str, Any] = {"transient": orbits.transient, "keep": orbits.keep}
    else:
        of = system.labels[0] if of is None else of
        flows = flow_orbits(system, FlowSettings(of, transient, keep, samples, max_period, rtol, atol))
        data = _of_flow(system, of, flows)
        settings = {"of": of, "samples": samples, "rtol": rtol, "atol": atol}
        settings |= {"transient": one_or_range(flows.transient), "keep": one_or_range(flows.keep)}
    status = data["status"].values.ravel()
    if throw and status.any():
        at = int(np.flatnonzero(status)[0])
        raise DynamicsError(f"{dynamics.name} failed at {system.grid.point(at)}: {reason(status[at])}")
    warn_if_most_failed(f"bifurcation of {dynamics.name}", status)
    settings["max_period"] = max_period
    attrs = provenance(dynamics, "bifurcation", **settings) | {"parameter": along}
    return as_dataset(data, system.grid.coords, attrs)


def _of_map(system: System, orbits: Orbits) -> dict[str, Any]:
    attractor = np.where(orbits.period > 1, CYCLE, np.where(orbits.period == 1, EQUILIBRIUM, UNDECIDED))
    data = to_variables(system, system.labels, orbits.states, "iterate")
    data["attractor"] = attractor_variable(system, attractor.astype(np.int8))
    data["cycle_length"] = _variable(system, orbits.period, "1", "steps of the cycle (0: none orbits)")
    data["multiplier"] = _variable(system, orbits.multiplier, "1", "largest multiplier of the cycle, modulus")
    data["status"] = status_variable(system.grid, orbits.status)
    return data


def _of_flow(system: System, of: str, flows: FlowOrbits) -> dict[str, Any]:
    problem, name = system.problem, of.partition("[")[0]
    units, meaning = problem.units.get(name, "1"), problem.meanings.get(name, of)
    columns = max(flows.highs.shape[1], flows.lows.shape[1])
    highs, lows = (_pad(x, columns) for x in (flows.highs, flows.lows))
    return {
        "maxima": _variable(system, highs, units, f"maxima of {meaning}", "extremum"),
        "minima": _variable(system, lows, units, f"minima of {meaning}", "extremum"),
        "level": _variable(system, flows.level, units, f"{meaning} at the end"),
        "equilibrium": _variable(system, flows.rest, units, f"{meaning} at the equilibrium"),
        "attractor": attractor_variable(system, flows.attractor),
        "cycle_length": _variable(system, flows.period, "1", "maxima in one cycle (0: none flows)"),
        "duration": _variable(system, flows.duration, problem.time_units, "duration of one cycle"),
        "status": status_variable(system.grid, flows.status),
    }


def _pad(values: Array, most: int) -> Array:
    return np.pad(values, ((0, 0), (most - values.shape[1], 0)), constant_values=np.nan)


def _variable(system: System, values: NDArray[Any], units: str, name: str, *extra: str) -> Any:
    grid = system.grid
    shaped = values.reshape((*grid.shape, *values.shape[1:]))
    return ((*grid.dims, *extra), shaped, {"units": units, "long_name": name})


def attractor_variable(system: System, values: NDArray[np.int8], meanings: str = ATTRACTORS) -> Any:
    """Kinds of attractors with the CF convention's flags."""
    attrs = {
        "long_name": "kind of attractor",
        "flag_values": np.arange(len(meanings.split()), dtype=np.int8),
        "flag_meanings": meanings,
    }
    return (system.grid.dims, values.reshape(system.grid.shape), attrs)
