"""Characteristic roots of linearised delay equations."""

from __future__ import annotations

import xarray as xr

from tcpdynamics.errors import whole

from ..problems import DDE, ODE, DdeModel, DynamicsError, OdeModel
from ..results import as_dataset, provenance, status_variable
from .operating_point import At
from .spectra import root_variable, roots_at


def characteristic_roots(
    problem: ODE | DDE | OdeModel | DdeModel, at: At | None = None, *, count: int = 10, throw: bool = False
) -> xr.Dataset:
    """The rightmost roots of det(z - A_0 - sum_k A_k e^(-z tau_k)) = 0, proved to be the rightmost.

    Equations that fall apart into scalar ones with one delay (all of one state; systems whose matrices commute, such
    as n equal flows) are solved by Lambert's W. For others, eigenvalues of the infinitesimal generator on Chebyshev
    nodes [1]_, or the roots of the neighbouring point, start Newton's method on the determinant (by its logarithmic
    derivative, trace(Delta^-1 Delta')). The argument principle then counts the roots right of a line behind those
    found. Where the count differs the discretisation is refined.

    Parameters
    ----------
    problem : DDE or ODE, or a model with `.dde()` or `.ode()`
    at : as for `eigenvalues`
    count : int, 1 to 1000
    throw : bool
        Raise DynamicsError at the first point that failed instead of marking it.

    Returns
    -------
    xarray.Dataset
        `characteristic_root` (*grid dimensions, root) [1/time], complex, rightmost first, multiple roots repeated, NaN
        behind the last of a finite spectrum; `residual` [1], the relative change of the matrices that makes it an
        exact root (up to a factor sqrt(n)); `status`. NaN at a point on a switch, where `characteristic_root_side`
        (*grid dimensions, side, root) holds those below and above it (see `eigenvalues`).

    References
    ----------
    .. [1] D. Breda, S. Maset and R. Vermiglio, Pseudospectral differencing methods for characteristic roots of delay
       differential equations, SIAM J. Sci. Comput. 27, 2005, doi:10.1137/030601600

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import DDE, Delayed, characteristic_roots
    >>> w, past = sympy.symbols("w past")
    >>> hutchinson = DDE(
    ...     rhs={"w": sympy.pi / 2 * w * (1 - past)}, delayed={"past": Delayed("w", 1)}, fixed_points=[{"w": 1}]
    ... )
    >>> roots = characteristic_roots(hutchinson, count=2).characteristic_root
    >>> roots.values.imag.round(12).tolist()  # Hopf
    [1.570796326795, -1.570796326795]
    """
    count = whole("count", count, 1, 1000, error=DynamicsError)
    system, roots, residuals, status, side = roots_at(problem, at, count, throw, DDE, ODE)
    grid = system.grid
    residual = xr.DataArray(
        residuals.reshape(*grid.shape, count),
        dims=(*grid.dims, "root"),
        attrs={"units": "1", "long_name": "relative backward error"},
    )
    data = {
        "characteristic_root": root_variable(system, roots, "characteristic_root"),
        "residual": residual,
        "status": status_variable(grid, status),
    }
    if side is not None:
        data["characteristic_root_side"] = root_variable(system, side, "characteristic_root_side")
    return as_dataset(data, coords=grid.coords, attrs=provenance(system.problem, "characteristic_roots", count=count))
