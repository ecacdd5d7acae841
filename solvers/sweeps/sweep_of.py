"""A problem or a model and its solver as work for `sweep`."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
import xarray as xr

from tcpdynamics.errors import InputError

from ..problems import DomainError, Dynamics, DynamicsError, MarkovChain
from ..results import provenance
from .fingerprint import name_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

#: A problem with parameters, or a model: a dataclass with numbers and arrays among its fields.
Swept: TypeAlias = "Dynamics | MarkovChain | DataclassInstance"
#: Called as `solver(problem, **settings)`.
Solver: TypeAlias = Callable[..., xr.Dataset | xr.DataArray]


@dataclass(frozen=True)
class ProblemWork:
    """What `sweep_of` gives: call it with a block, or pass it to `sweep` as it is.

    Attributes
    ----------
    problem : a problem with parameters, or a model (dataclass)
    solver : callable, as `solver(problem, **settings)`
    settings : mapping
    """

    problem: Swept
    solver: Solver
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def parameters(self) -> dict[str, Any]:
        """Numbers and arrays of the problem by name, initial values that are arrays included."""
        return {**self._own, **{f"start_{label}": value for label, value in self._starts.items()}}

    @property
    def about(self) -> dict[str, Any]:
        """Attributes of the result."""
        if _is_problem(self.problem):
            return dict(provenance(self.problem, name_of(self.solver).rpartition(".")[2], **self.settings))
        named = _Named(type(self.problem).__name__, {k: v for k, v in self._fields.items() if v is not None})
        return dict(provenance(named, name_of(self.solver).rpartition(".")[2], **self.settings))

    @property
    def bytes_per_point(self) -> int:
        """Memory that a solver may take for one point: some matrices of its states by states."""
        states = _states(self.problem)
        return 64 * states * states

    def __call__(self, block: Mapping[str, Any]) -> xr.Dataset:
        """Solve the problem at the points of a block."""
        size = len(next(iter(block.values()))) if block else 1
        points = {k: xr.DataArray(v, dims="point") for k, v in block.items()}
        block_values = {k: points[k] for k, v in self._own.items() if np.ndim(v)}
        if _is_problem(self.problem):
            problem: Any = self.problem.at(**block_values)
            if self._starts:
                problem = problem.starting({label: points[f"start_{label}"] for label in self._starts})
        else:
            problem = dataclasses.replace(self.problem, **block_values)
        result = self.solver(problem, **self.settings)
        if isinstance(result, xr.DataArray):
            result = result.to_dataset(name=result.name or name_of(self.solver).rpartition(".")[2])
        if not isinstance(result, xr.Dataset):
            raise DynamicsError(f"{name_of(self.solver)} must give an xarray object, got {type(result).__name__}")
        if "status" in result.coords:
            result = result.reset_coords("status")
        labels = {k: c.variable for k, c in result.coords.items() if c.dims and "point" not in c.dims}
        return xr.Dataset({name: _at_points(v.variable, size) for name, v in result.data_vars.items()}, labels)

    def whole(self, result: xr.Dataset) -> dict[str, xr.Variable]:
        """What belongs to no point but follows from all of them: the boundary of a stability chart.

        Warns
        -----
        UserWarning
            It cannot be traced; the chart stands without it.
        """
        from ..stability.stability_chart import boundary_of

        problem: Any = self.problem
        wanted: dict[str, Any] = {k: v for k, v in self.settings.items() if k in ("at", "tolerance")}
        if "verdict" not in result or not {"abscissa", "radius"} & {*result} or not self.settings.get("trace", True):
            return {}
        try:
            return boundary_of(problem, result, **wanted)
        except (InputError, TypeError) as error:
            warnings.warn(f"the boundary of the chart is left out: {error}", stacklevel=2)
            return {}

    @property
    def _own(self) -> dict[str, Any]:
        if _is_problem(self.problem):
            return dict(self.problem.parameters)
        units = {f.name: f.metadata.get("unit", "") for f in dataclasses.fields(self.problem)}
        values = {k: _in_unit(k, v, units[k]) for k, v in self._fields.items() if not _per_flow(k, v)}
        return {k: v for k, v in values.items() if np.asarray(v).dtype.kind in "iuf"}

    @property
    def _fields(self) -> dict[str, Any]:
        fields = dataclasses.fields(self.problem)
        marked = [f for f in fields if "symbol" in f.metadata]
        return {f.name: getattr(self.problem, f.name) for f in marked or fields}

    @property
    def _starts(self) -> dict[str, Any]:
        start = getattr(self.problem, "start", {}) if _is_problem(self.problem) else {}
        return {k: v for k, v in start.items() if not hasattr(v, "free_symbols") and np.ndim(v)}


def _in_unit(name: str, value: Any, unit: str) -> Any:
    """A field as plain numbers: a pint quantity in the unit of the field."""
    if not hasattr(value, "magnitude"):
        return value
    if not unit:
        raise DomainError(f"{name} is a quantity in {value.units}; give plain numbers in SI units")
    return value.to("dimensionless" if unit == "1" else unit).magnitude


def _per_flow(name: str, value: Any) -> bool:
    """Whether a field holds one value for each flow, which stay as they are in the model."""
    dims = getattr(value, "dims", ())
    if "flow" not in dims:
        return False
    if len(dims) > 1:
        more_dims = ", ".join(str(d) for d in dims if d != "flow")
        raise DomainError(
            f"{name} varies over {more_dims} beside flow; sweep fields that are the same for all flows, "
            "or sweep the problem that the model makes"
        )
    return True


def _at_points(variable: xr.Variable, size: int) -> xr.Variable:
    """A variable that the block's parameters do not move is the same at all points."""
    if "point" in variable.dims:
        return variable
    values = np.broadcast_to(variable.values, (size, *variable.shape))
    return xr.Variable(("point", *variable.dims), values, variable.attrs)


@dataclass(frozen=True)
class _Named:
    name: str
    provenance: Mapping[str, Any]


def _states(problem: Any) -> int:
    """States of a problem of motion, or of a model's view at one of its points; 1 where that is not known."""
    try:
        if isinstance(problem, Dynamics):
            return max(1, len(problem.labels))
        first = {
            f.name: v.isel({d: 0 for d in v.dims if d != "flow"}, drop=True) if hasattr(v, "dims") else np.ravel(v)[0]
            for f in dataclasses.fields(problem)
            if np.ndim(v := getattr(problem, f.name)) and f.init
        }
        for name in ("dde", "ode", "map"):
            if callable(getattr(problem, name, None)):
                return max(1, len(getattr(dataclasses.replace(problem, **first), name)().labels))
    except Exception:  # the solver will say what is wrong
        pass
    return 1


def _is_problem(problem: object) -> TypeGuard[Dynamics | MarkovChain]:
    return hasattr(problem, "at") and hasattr(problem, "parameters")


def sweep_of(problem: Swept, solver: Solver, /, **settings: object) -> ProblemWork:
    """Work for `sweep`: a solver at every point of a problem's (or a model's) parameters.

    Parameters
    ----------
    problem : problem, or model
        With arrays among its parameters (its initial values, its fields).
    solver : callable
        `solver(problem, **settings)` gives a DataArray or a Dataset over the problem's grid.
    settings
        For the solver.

    Returns
    -------
    ProblemWork
        Brings its own `parameters` and `about`: `sweep(sweep_of(problem, solver), store="x.zarr")`.

    Raises
    ------
    TypeError
        Neither a problem with parameters nor a model.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import MarkovChain, stationary, sweep
    >>> p = sympy.Symbol("p")
    >>> chain = MarkovChain({("a", "b"): p, ("b", "a"): 1 - p}, {"p": [0.25, 0.75]})
    >>> sweep(sweep_of(chain, stationary)).probability.sel(state="a").values
    array([0.75, 0.25])
    """
    if not (_is_problem(problem) or (dataclasses.is_dataclass(problem) and not isinstance(problem, type))):
        raise TypeError(f"expected a problem with parameters or a model, got {type(problem).__name__}")
    return ProblemWork(problem, solver, settings)
