"""Eigenvalues at a point of rest, and how fast it is approached."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ..equations import System
from ..problems import DDE, ODE, DdeModel, Dynamics, DynamicsError, Map, MapModel, MotionModel, OdeModel
from ..results import Status, as_dataset, provenance, reason, status_variable
from .leading_roots import linear_roots, linearisation, switched
from .operating_point import At, operating_point

Array = NDArray[Any]


def eigenvalues(problem: ODE | Map | OdeModel | MapModel, at: At | None = None, *, throw: bool = False) -> xr.Dataset:
    """All eigenvalues of the linearisation of an ODE or a map.

    A map with delays is taken by its companion matrix, so it has one eigenvalue more for each state and step of delay.

    Parameters
    ----------
    problem : ODE or Map, or a model with such a view
    at : mapping state -> number, array, DataArray or SymPy expression in the parameters, optional
        Where to linearise. Default: the model's first closed-form fixed point, else the first stable equilibrium found
        around the initial values (the least unstable one where none is stable). A Dataset of `equilibria` with one
        equilibrium selected will do.
    throw : bool
        Raise DynamicsError at the first point that failed instead of marking it.

    Returns
    -------
    xarray.Dataset
        `eigenvalue` (*grid dimensions, root), complex: an ODE's [1/time] rightmost first, a map's [1] largest modulus
        first; `status`. At a point on a switch (see Notes) they are NaN, with a separate status. Equations with
        switches have `eigenvalue_side` (*grid dimensions, side, root) too: those below and above the switch on which a
        point lies, else NaN.

    Notes
    -----
    On a switch (Min, Max, Abs, Heaviside, Piecewise) the equations have no single linearisation. "On" means that the
    argument of the switch is zero within its error, which is followed through the equations: 2^-40 of a state plus
    2^-50 in its unit, for what closed forms and Newton's method leave of an equilibrium, and 2^-52 for each parameter
    and each step of arithmetic. "Below" and "above" are those of the first state (of delayed ones, the first at the
    shortest delay that is named first) on which the switch depends; where more than two sides meet, the two are the
    least and the most dangerous. A side on which the equations jump has none. Two sides do not add up to a verdict
    in general: `stability_chart` gives one where there is an argument.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import ODE, eigenvalues
    >>> x, y, k = sympy.symbols("x y k")
    >>> oscillator = ODE(rhs={"x": y, "y": -k * x - y}, parameters={"k": [0.0, 1.25]})
    >>> eigenvalues(oscillator, {"x": 0, "y": 0}).eigenvalue.sel(k=1.25).values.tolist()
    [(-0.5+1j), (-0.5-1j)]
    """
    system, roots, _, status, side = roots_at(problem, at, None, throw, ODE, Map)
    data = {"eigenvalue": root_variable(system, roots, "eigenvalue"), "status": status_variable(system.grid, status)}
    if side is not None:
        data["eigenvalue_side"] = root_variable(system, side, "eigenvalue_side")
    return as_dataset(data, coords=system.grid.coords, attrs=provenance(system.problem, "eigenvalues"))


def spectral_abscissa(
    problem: ODE | DDE | OdeModel | DdeModel, at: At | None = None, *, throw: bool = False
) -> xr.DataArray:
    """Largest real part among the eigenvalues of an ODE or the characteristic roots of a DDE: stable where < 0.

    Parameters
    ----------
    problem, at, throw : as for `eigenvalues`; a DDE, or a model with `.dde()` or `.ode()`

    Returns
    -------
    xarray.DataArray over the grid [1/time]
        With the coordinate `status`; NaN on a switch (see `eigenvalues`).

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import DDE, Delayed, spectral_abscissa
    >>> x, past, tau = sympy.symbols("x past tau")
    >>> equation = {"x": -past}
    >>> lagging = DDE(rhs=equation, delayed={"past": Delayed("x", tau)}, parameters={"tau": [0.0, 1.0, 2.0]})
    >>> spectral_abscissa(lagging, {"x": 0}).values.round(6).tolist()
    [-1.0, -0.318132, 0.086408]
    """
    system, roots, _, status, _ = roots_at(problem, at, 1, throw, DDE, ODE)
    return _field(system, roots[:, 0].real, "spectral_abscissa", status)


def spectral_radius(problem: Map | MapModel, at: At | None = None, *, throw: bool = False) -> xr.DataArray:
    """Largest modulus among the eigenvalues of a map: stable where < 1.

    Parameters
    ----------
    problem, at, throw : as for `eigenvalues`; a Map, or a model with `.map()`

    Returns
    -------
    xarray.DataArray over the grid [1]
        With the coordinate `status`; NaN on a switch (see `eigenvalues`).

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import Map, spectral_radius
    >>> w, r = sympy.symbols("w r")
    >>> logistic = Map(rhs={"w": w + r * w * (1 - w)}, parameters={"r": [1.0, 1.5, 2.0]}, fixed_points=[{"w": 1}])
    >>> spectral_radius(logistic).values.tolist()
    [0.0, 0.5, 1.0]
    """
    system, roots, _, status, _ = roots_at(problem, at, 1, throw, Map)
    return _field(system, np.abs(roots[:, 0]), "spectral_radius", status)


def convergence(problem: ODE | DDE | Map | MotionModel, at: At | None = None, *, throw: bool = False) -> xr.Dataset:
    """How an equilibrium is approached in the end, from the root that decides over stability.

    Parameters
    ----------
    problem, at, throw : as for `eigenvalues`; ODE, DDE or Map

    Returns
    -------
    xarray.Dataset over the grid
        `root`, the dominant exponent z (for a map the logarithm of the multiplier) [1/time]; `damping_ratio` -Re z/|z|
        [1], 1 without oscillation, negative where it grows; `angular_frequency` |Im z| [1/time] and `frequency`
        |Im z|/(2 pi) [cycles/time]; `time_constant` -1/Re z and `settling_time` to 1 %, ln(100) time constants [time],
        both of the envelope of small perturbations, infinite where none dies out; `status`. NaN at a point on a switch,
        where `root_side` (side, *grid dimensions) holds the dominant exponents below and above it (see `eigenvalues`).

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import ODE, convergence
    >>> x, y = sympy.symbols("x y")
    >>> how = convergence(ODE(rhs={"x": y, "y": -25 * x - 6 * y}), {"x": 0, "y": 0})
    >>> [round(float(how[k]), 6) for k in ("damping_ratio", "angular_frequency", "time_constant", "settling_time")]
    [0.6, 4.0, 0.333333, 1.535057]
    """
    system, roots, _, status, side = roots_at(problem, at, 1, throw, DDE, ODE, Map)
    unit = system.problem.time_units
    is_map = isinstance(system.problem, Map)
    z = _exponent(roots[:, 0], is_map)
    with np.errstate(all="ignore"):
        size = np.abs(z)
        damping = np.where(np.isinf(z.real), 1.0, -z.real / size)
        constant = np.where(z.real < 0, -1.0 / z.real, np.where(np.isnan(z.real), np.nan, np.inf))
    grid = system.grid

    def variable(values: Array, units: str, name: str) -> Any:
        return (grid.dims, grid.unflatten(values), {"units": units, "long_name": name})

    side_variables = {}
    if side is not None:
        both = grid.unflatten(_exponent(side[:, :, 0], is_map).T)
        attrs = {"units": f"1/{unit}", "long_name": "dominant exponents below and above the switch"}
        side_variables["root_side"] = (("side", *grid.dims), both, attrs)
    return as_dataset(
        {
            "root": variable(z, f"1/{unit}", "dominant exponent"),
            "damping_ratio": variable(damping, "1", "damping ratio"),
            "angular_frequency": variable(z.imag, f"1/{unit}", "angular frequency of the oscillation"),
            "frequency": variable(z.imag / (2 * np.pi), f"1/{unit}", "cycles of the oscillation per time"),
            "time_constant": variable(constant, unit, "time in which perturbations shrink to 1/e"),
            "settling_time": variable(np.log(100.0) * constant, unit, "time in which perturbations shrink to 1 %"),
            **side_variables,
            "status": status_variable(grid, status),
        },
        coords=grid.coords,
        attrs=provenance(system.problem, "convergence"),
    )


def _exponent(z: Array, is_map: bool) -> Array:
    """In the upper half plane; of a multiplier its logarithm."""
    with np.errstate(all="ignore"):
        if is_map:
            z = np.log(np.abs(z)) + 1j * np.angle(z)
        return np.asarray(z.real + 1j * np.abs(z.imag))


def roots_at(
    problem: Dynamics | MotionModel, at: At | None, count: int | None, throw: bool, *kinds: type[Dynamics]
) -> tuple[System, Array, Array, NDArray[np.uint8], Array | None]:
    """Leading roots of the linearisation where `at` says.

    Returns
    -------
    system : System
    roots, residuals : (size, count) arrays, NaN where `status` is not 0
    status : (size,) array of codes
    side : (size, 2, count) array, or None where no switch of the equations depends on the states
        Roots below and above the switch, NaN off it.
    """
    system, states, status = operating_point(problem, at, *kinds)
    fine = np.flatnonzero(status == 0)
    resting_states = np.ascontiguousarray(states[:, fine])
    width = count or len(states)
    roots = np.full((system.size, width), complex(np.nan, np.nan))
    side = np.full((system.size, 2, width), complex(np.nan, np.nan))
    residuals = np.full(roots.shape, np.nan)
    if fine.size:
        matrices, groups = linearisation(system, resting_states, fine)
        leading, bad, certain = linear_roots(system, *matrices, count)
        on = switched(system, groups, count)
        # a side of a switch may reach further back than the others
        width = max(leading.shape[1], 0 if on is None else on.roots.shape[2])
        roots = np.full((system.size, width), complex(np.nan, np.nan))
        residuals = np.full(roots.shape, np.nan)
        side = np.full((system.size, 2, width), complex(np.nan, np.nan))
        roots[fine, : leading.shape[1]], residuals[fine, : leading.shape[1]] = leading, bad
        status[fine[~certain]] = Status.NOT_POLISHED
        if on is not None:
            points = fine[on.index]
            side[points, :, : on.roots.shape[2]] = on.roots
            roots[points], residuals[points] = complex(np.nan, np.nan), np.nan
            status[points] = Status.ON_SWITCH
    if throw and status.any():
        first = int(np.flatnonzero(status)[0])
        where = ", ".join(f"{k} = {v:g}" for k, v in system.grid.point(first).items())
        raise DynamicsError(f"{system.problem.name}: {reason(status[first])}" + (f" at {where}" if where else ""))
    return system, roots, residuals, status, side if system.equations.switches else None


def root_variable(system: System, roots: Array, name: str) -> xr.DataArray:
    """(size, roots) numbers with the dimension `root`, or (size, 2, roots) with the dimension `side` too."""
    grid = system.grid
    units = "1" if isinstance(system.problem, Map) else f"1/{system.problem.time_units}"
    values = roots.reshape(*grid.shape, *roots.shape[1:])
    dims = ("side", "root")[3 - roots.ndim :]
    meaning = name.replace("_", " ").replace(" side", " below and above the switch")
    return xr.DataArray(values, {}, (*grid.dims, *dims), name, {"units": units, "long_name": meaning})


def _field(system: System, values: Array, name: str, status: NDArray[np.uint8]) -> xr.DataArray:
    grid, problem = system.grid, system.problem
    units = "1" if isinstance(problem, Map) else f"1/{problem.time_units}"
    attrs = provenance(problem, name)
    if "units" in attrs:  # here the unit is that of the values
        attrs["units_of_states"] = attrs.pop("units")
    attrs |= {"units": units, "long_name": name.replace("_", " ")}
    array = xr.DataArray(grid.unflatten(values), grid.coords, grid.dims, name, attrs)
    return array.assign_coords(status=status_variable(grid, status))
