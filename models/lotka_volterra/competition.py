"""Flows that crowd each other out: their parameters, alike or one each, their symbols, and the state N."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tcpdynamics.limits import check_memory
from tcpdynamics.solvers.problems import DomainError, DynamicsError
from tcpdynamics.solvers.problems.numbers import dimensions

from ..model import Model
from ..parameters import Number, Value, broadcast, parameter

if TYPE_CHECKING:
    import sympy
    import xarray as xr

PAPER = "Iguchi, Hasegawa, Murata"
#: Flows with an equation each: their equations and spectra take seconds.
MAX_EQUATIONS = 2_000


def per_flow(values: Sequence[float | xr.DataArray]) -> xr.DataArray:
    """Values of a parameter that differs between flows, one each (a plain array would be a sweep).

    Parameters
    ----------
    values : sequence of n numbers, 1-D DataArrays, ...
        DataArrays make each flow's value a separate sweep.

    Returns
    -------
    xarray.DataArray
        With the dimension `flow`, counted from 1, and those of the values.

    Raises
    ------
    DomainError
        No value, or one that has the dimension `flow` already.

    Examples
    --------
    >>> per_flow([10.0, 20.0]).sizes
    Frozen({'flow': 2})
    """
    import xarray as xr

    what, many = f"values of {len(values):,} flows", len(values)
    check_memory(what, 4000.0 * many, "give fewer flows, or one number for flows alike")
    arrays = [v if isinstance(v, xr.DataArray) else xr.DataArray(v) for v in values]
    if not arrays or any("flow" in a.dims for a in arrays):
        raise DomainError("give one value for each flow, at least one, none with a dimension `flow`")
    points = math.prod({dim: size for a in arrays for dim, size in a.sizes.items()}.values())
    check_memory(f"{what} at {points:,} points", 16.0 * many * points, "sweep fewer of them, or together")
    joined = xr.concat(xr.broadcast(*arrays), dim="flow")
    return joined.assign_coords(flow=np.arange(1, len(arrays) + 1))


@dataclass(frozen=True, kw_only=True)
class Competition(Model, family="lotka-volterra"):
    """n flows that crowd each other out; use one of the classes built on it.

    Notes
    -----
    A number is the same for all flows; a list or 1-D array is a sweep; values per flow are made by `per_flow` (a
    DataArray with the dimension `flow` of length n, which may have further dimensions for sweeps).
    """

    variables: ClassVar = {
        "N": ("packet/s", "rate"),
        "total": ("packet/s", "rate of all flows"),
        "w": ("packet", "window"),
        "throughput": ("packet/s", "throughput"),
        "q": ("packet", "queue"),
        "queue": ("packet", "queue"),
    }
    time_units = "RTT"

    flows: Number = parameter(
        "n", "1", "flows on the link", low=1, low_open=False, integer=True, structural=True, source=PAPER, default=2,
        note="An array only for formulas that hold for any n (flows alike); equations need one number",
    )  # fmt: skip
    epsilon: Number = parameter(r"\varepsilon", "1", "growth per round trip", low=0.0, source=PAPER, default=1.95)
    gamma: Number = parameter(
        r"\gamma", "1", "weight of the other flows", low=0.0, low_open=False, high=1.0, source=PAPER, default=0.9
    )
    capacity: Number = parameter(
        "K", "packet/s", "rate of the narrow link", low=0.0, source=PAPER, default=100.0,
        note="K_i of flow i's path as its sender measures it; one number or a value per flow",
    )  # fmt: skip
    start: Number | None = parameter(
        "N(0)", "packet/s", "initial rate", low=0.0, structural=True, default=None,
        note="One number or a value per flow. None: flow i starts at i/(100 n) of its capacity",
    )  # fmt: skip

    def __post_init__(self) -> None:
        _check_gamma(self.gamma)
        super().__post_init__()
        for name in self._each():
            if name == "flows":
                raise DomainError("flows must be one number or a sweep, not a value per flow")
            size = getattr(self, name).sizes["flow"]
            if dimensions(self.flows) or size != self.flows:
                raise DomainError(f"{name} must hold one value for each of the {self.flows} flows, got {size}")

    def crowding(self) -> Value:
        """M = 1 + (n-1) gamma: flows alike settle at K/M each."""
        v = broadcast(self)
        return 1 + (v["flows"] - 1) * v["gamma"]

    def _each(self) -> list[str]:
        """Fields that hold a value per flow."""
        return [k for k, v in self.provenance().items() if "flow" in getattr(v, "dims", ())]

    def _alike(self, what: str, *but: str) -> dict[str, Value]:
        """Parameters for a formula that needs flows of one kind."""
        differing = [name for name in self._each() if name not in ("start", *but)]
        if differing:
            raise DynamicsError(
                f"{what} has a closed form for flows alike only, and {differing[0]} differs between flows; "
                "use the eigenvalues of the problem"
            )
        return {k: v for k, v in broadcast(self).items() if k != "start"}

    def _count(self) -> int:
        flows: Any = self.flows
        if np.ndim(flows):
            raise DomainError(
                f"flows must be one whole number here, got {np.size(flows)} values; make one model for each"
            )
        if flows > MAX_EQUATIONS:
            raise DomainError(
                f"flows must be at most {MAX_EQUATIONS:,} where each has an equation of its own, got {flows:,}; "
                "use fewer, or the closed forms for flows alike"
            )
        return int(flows)

    def _over_flows(self, name: str) -> xr.DataArray:
        """A parameter with the dimension `flow`, 1..n, where flows are alike too."""
        import xarray as xr

        n = self._count()
        array = self._to_dataarray(name)
        array = array.expand_dims(flow=n) if "flow" not in array.dims else array
        flow = xr.DataArray(np.arange(1, n + 1), dims="flow", attrs={"long_name": "flow"})
        return array.assign_coords(flow=flow)

    def _symbol(self, name: str) -> sympy.Symbol:
        return self.symbols()[name]

    def _symbols(self, name: str) -> list[sympy.Symbol]:
        """The parameter's symbol for each flow; the same one for all unless they differ."""
        import sympy

        n, symbol = self._count(), self._symbol(name)
        if name in self._each():
            return [sympy.Symbol(f"{name}[{i}]", **symbol.assumptions0) for i in range(1, n + 1)]
        return [symbol] * n

    def _rates(self, suffix: str = "") -> list[sympy.Symbol]:
        import sympy

        return [sympy.Symbol(f"N{suffix}[{i}]", positive=True) for i in range(1, self._count() + 1)]

    def _parameters(self) -> dict[str, xr.DataArray | sympy.Expr]:
        """Symbol -> value; epsilon[1], epsilon[2], ... where a value per flow is given."""
        parameters: dict[str, xr.DataArray | sympy.Expr] = {}
        for name, value in super()._parameters().items():
            if name in self._each():
                for i in range(self._count()):
                    label = f"{name}[{i + 1}]"
                    parameters[label] = value.isel(flow=i, drop=True).rename(label)
            else:
                parameters[name] = value
        return parameters

    def _start(self) -> dict[str, xr.DataArray | sympy.Expr]:
        n = self._count()
        if self.start is None:
            import sympy

            share = [sympy.Rational(i, 100 * n) for i in range(1, n + 1)]
            return {f"N[{i + 1}]": share[i] * K for i, K in enumerate(self._symbols("capacity"))}
        array = self._to_dataarray("start")  # a sweep is one dimension for all flows
        starts = [array.isel(flow=i, drop=True) if "flow" in array.dims else array for i in range(n)]
        return {f"N[{i}]": x for i, x in enumerate(starts, start=1)}


def total_of(rates: Sequence[sympy.Expr]) -> sympy.Expr:
    """Sum of symbols, as one expression that all equations share."""
    import sympy

    return sympy.Add(*rates)


def larger(a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
    """max(a, b), which SymPy need not simplify: comparing sums of symbols takes it seconds."""
    import sympy

    return sympy.Max(a, b, evaluate=False)


def smaller(a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
    """min(a, b)."""
    import sympy

    return sympy.Min(a, b, evaluate=False)


def survivors_in_symbols(
    resources: Sequence[sympy.Expr], gamma: sympy.Expr, ranked: Sequence[int] | None
) -> list[sympy.Expr] | None:
    """The survivors' rates as expressions.

    Parameters
    ----------
    resources : n expressions R_i
    gamma : expression
    ranked : indices of the flows by falling R_i, or None where that differs from point to point
        Then all 2^n - 1 sets are compared, for up to 6 flows; None is returned for more.
    """
    import itertools

    import sympy

    n = len(resources)
    if len(set(resources)) == 1:
        return [resources[0] / (1 + (n - 1) * gamma)] * n
    if ranked is not None:
        sets: list[tuple[int, ...]] = [tuple(ranked[: m + 1]) for m in range(n)]
    elif n <= 6:
        sets = [c for m in range(1, n + 1) for c in itertools.combinations(range(n), m)]
    else:
        return None
    # Each is a bound on the total from below (see `survivors`).
    bounds = [sympy.Add(*(resources[i] for i in s)) / (1 + (len(s) - 1) * gamma) for s in sets]
    total = sympy.Max(*bounds, evaluate=False)
    return [larger(0, (R - gamma * total) / (1 - gamma)) for R in resources]


def ranking(values: xr.DataArray) -> list[int] | None:
    """Indices of the flows by falling value where that order is the same at all points, else None."""
    rows = values.transpose("flow", ...).values.reshape(values.sizes["flow"], -1)
    order = np.argsort(-rows.sum(axis=1), kind="stable")
    same = bool((np.diff(rows[order], axis=0) <= 0).all())
    return [int(i) for i in order] if same else None


def _check_gamma(gamma: Number) -> None:
    if hasattr(gamma, "free_symbols") or hasattr(gamma, "magnitude"):
        return
    try:
        values = np.asarray(gamma, dtype=float).ravel()
    except (TypeError, ValueError, OverflowError):
        return  # check_parameters says what is wrong with it
    high = values[np.isfinite(values) & (values >= 1)]
    if high.size:
        raise DomainError(
            f"gamma must lie in [0, 1), got {high[0]:g}: from 1 on, flows of equal capacity drive each other out; "
            "the paper takes 0.9"
        )
