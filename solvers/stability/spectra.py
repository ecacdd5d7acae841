"""Eigenvalues at a point of rest, and how fast it is approached."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from ..dynamics import System
from ..problems import DDE, ODE, DynamicsError, Map
from ..results import REASONS, as_dataset, provenance, status_variable
from .linear_stability import leading_roots
from .operating_point import NOT_POLISHED, operating_point

Array = NDArray[Any]


def eigenvalues(problem: Any, at: Any = None, *, throw: bool = False) -> xr.Dataset:
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
        first; `status`.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import ODE, eigenvalues
    >>> x, y, k = sympy.symbols("x y k")
    >>> oscillator = ODE(rhs={"x": y, "y": -k * x - y}, parameters={"k": [0.0, 1.25]})
    >>> eigenvalues(oscillator, {"x": 0, "y": 0}).eigenvalue.sel(k=1.25).values.tolist()
    [(-0.5+1j), (-0.5-1j)]
    """
    system, roots, _, status = roots_at(problem, at, None, throw, ODE, Map)
    data = {
        "eigenvalue": root_variable(system, roots, "eigenvalue"),
        "status": status_variable(system.grid, status),
    }
    return as_dataset(data, coords=system.grid.coords, attrs=provenance(system.problem, "eigenvalues"))


def spectral_abscissa(problem: Any, at: Any = None, *, throw: bool = False) -> xr.DataArray:
    """Largest real part among the eigenvalues of an ODE or the characteristic roots of a DDE: stable where < 0.

    Parameters
    ----------
    problem, at, throw : as for `eigenvalues`; a DDE, or a model with `.dde()` or `.ode()`

    Returns
    -------
    xarray.DataArray over the grid [1/time]
        With the coordinate `status`.

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
    system, roots, _, status = roots_at(problem, at, 1, throw, DDE, ODE)
    return _field(system, roots[:, 0].real, "spectral_abscissa", status)


def spectral_radius(problem: Any, at: Any = None, *, throw: bool = False) -> xr.DataArray:
    """Largest modulus among the eigenvalues of a map: stable where < 1.

    Parameters
    ----------
    problem, at, throw : as for `eigenvalues`; a Map, or a model with `.map()`

    Returns
    -------
    xarray.DataArray over the grid [1]
        With the coordinate `status`.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import Map, spectral_radius
    >>> w, r = sympy.symbols("w r")
    >>> logistic = Map(rhs={"w": w + r * w * (1 - w)}, parameters={"r": [1.0, 1.5, 2.0]}, fixed_points=[{"w": 1}])
    >>> spectral_radius(logistic).values.tolist()
    [0.0, 0.5, 1.0]
    """
    system, roots, _, status = roots_at(problem, at, 1, throw, Map)
    return _field(system, np.abs(roots[:, 0]), "spectral_radius", status)


def convergence(problem: Any, at: Any = None, *, throw: bool = False) -> xr.Dataset:
    """How a point of rest is approached in the end, from the root that decides over stability.

    Parameters
    ----------
    problem, at, throw : as for `eigenvalues`; ODE, DDE or Map

    Returns
    -------
    xarray.Dataset over the grid
        `root`, the dominant exponent z (for a map the logarithm of the multiplier) [1/time]; `damping_ratio` -Re z/|z|
        [1], 1 without oscillation, negative where it grows; `angular_frequency` |Im z| [1/time] and `frequency`
        |Im z|/(2 pi) [cycles/time]; `time_constant` -1/Re z and `settling_time` to 1 %, ln(100) time constants [time],
        infinite where nothing dies out, for the envelope of small perturbations; `status`.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import ODE, convergence
    >>> x, y = sympy.symbols("x y")
    >>> how = convergence(ODE(rhs={"x": y, "y": -25 * x - 6 * y}), {"x": 0, "y": 0})
    >>> [round(float(how[k]), 6) for k in ("damping_ratio", "angular_frequency", "time_constant", "settling_time")]
    [0.6, 4.0, 0.333333, 1.535057]
    """
    system, roots, _, status = roots_at(problem, at, 1, throw, DDE, ODE, Map)
    unit = system.problem.time_units
    z = roots[:, 0]
    with np.errstate(all="ignore"):
        if isinstance(system.problem, Map):
            z = np.log(np.abs(z)) + 1j * np.angle(z)
        z = z.real + 1j * np.abs(z.imag)
        size = np.abs(z)
        damping = np.where(np.isinf(z.real), 1.0, -z.real / size)
        constant = np.where(z.real < 0, -1.0 / z.real, np.where(np.isnan(z.real), np.nan, np.inf))
    grid = system.grid

    def variable(values: Array, units: str, name: str) -> Any:
        return (grid.dims, grid.unflatten(values), {"units": units, "long_name": name})

    return as_dataset(
        {
            "root": variable(z, f"1/{unit}", "dominant exponent"),
            "damping_ratio": variable(damping, "1", "damping ratio"),
            "angular_frequency": variable(z.imag, f"1/{unit}", "angular frequency of the oscillation"),
            "frequency": variable(z.imag / (2 * np.pi), f"1/{unit}", "cycles of the oscillation per time"),
            "time_constant": variable(constant, unit, "time in which perturbations shrink to 1/e"),
            "settling_time": variable(
                np.log(100.0) * constant, unit, "time in which perturbations shrink to 1 %"
            ),
            "status": status_variable(grid, status),
        },
        coords=grid.coords,
        attrs=provenance(system.problem, "convergence"),
    )


def roots_at(
    problem: Any, at: Any, count: int | None, throw: bool, *kinds: type[Any]
) -> tuple[System, Array, Array, NDArray[np.uint8]]:
    """The system, its (size, count) leading roots where `at` says, their residuals, and a code a point."""
    system, states, status = operating_point(problem, at, *kinds)
    fine = np.flatnonzero(status == 0)
    found, bad, certain = leading_roots(system, np.ascontiguousarray(states[:, fine]), fine, count)
    roots = np.full((system.size, found.shape[1]), complex(np.nan, np.nan))
    residuals = np.full(roots.shape, np.nan)
    roots[fine], residuals[fine] = found, bad
    status[fine[~certain]] = NOT_POLISHED
    if throw and status.any():
        first = int(np.flatnonzero(status)[0])
        where = ", ".join(f"{k} = {v:g}" for k, v in system.grid.point(first).items())
        raise DynamicsError(f"{system.problem.name}: {REASONS[status[first]]} at {where}")
    return system, roots, residuals, status


def root_variable(system: System, roots: Array, name: str) -> xr.DataArray:
    """(size, roots) numbers with the dimension `root`."""
    grid = system.grid
    units = "1" if isinstance(system.problem, Map) else f"1/{system.problem.time_units}"
    values = roots.reshape(*grid.shape, roots.shape[1])
    return xr.DataArray(
        values, {}, (*grid.dims, "root"), name, {"units": units, "long_name": name.replace("_", " ")}
    )


def _field(system: System, values: Array, name: str, status: NDArray[np.uint8]) -> xr.DataArray:
    grid, problem = system.grid, system.problem
    units = "1" if isinstance(problem, Map) else f"1/{problem.time_units}"
    attrs = {"units": units, "long_name": name.replace("_", " ")} | provenance(problem, name)
    array = xr.DataArray(grid.unflatten(values), grid.coords, grid.dims, name, attrs)
    return array.assign_coords(status=status_variable(grid, status))
