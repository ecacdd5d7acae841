"""What the Lotka-Volterra models share: flows with parameters of their own, symbols, and the state N."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpdynamics.solvers.problems import DomainError, DynamicsError

from ..formulas import field_values, plain
from ..parameters import Value, as_parameter, broadcast, check_parameters, parameter

if TYPE_CHECKING:
    import xarray as xr

PAPER = "Iguchi, Hasegawa, Murata"
#: Flows with an equation each: their equations and spectra take seconds.
MAX_EQUATIONS = 2_000
_POSITIVE = (0.0, math.inf)
_DOMAIN = {"gamma": (-math.inf, 1.0)} | dict.fromkeys(
    ("epsilon", "capacity", "base_rtt", "link", "period"), _POSITIVE
)


def per_flow(values: Sequence[Any]) -> xr.DataArray:
    """Values of a parameter that differs between flows, one each (a plain array would be a sweep).

    Parameters
    ----------
    values : sequence of n numbers, 1-D DataArrays, ...
        DataArrays make each flow's value a sweep of its own.

    Examples
    --------
    >>> per_flow([10.0, 20.0]).sizes
    Frozen({'flow': 2})
    """
    import xarray as xr

    arrays = [v if isinstance(v, xr.DataArray) else xr.DataArray(v) for v in values]
    if not arrays or any("flow" in a.dims for a in arrays):
        raise DomainError("give one value for each flow, at least one, none with a dimension `flow`")
    joined = xr.concat(xr.broadcast(*arrays), dim="flow")
    return joined.assign_coords(flow=np.arange(1, len(arrays) + 1))


@dataclass(frozen=True, kw_only=True)
class Competition:
    """n flows that crowd each other out; use one of the classes built on it.

    Parameters
    ----------
    flows : int
        n >= 1. An array only for formulas that hold for any n (flows alike); equations need one number.
    epsilon : float
        Growth per round trip [1], > 0; the paper takes 1.95.
    gamma : float
        Weight of the other flows beside the own [1], in [0, 1); the paper takes 0.9.
    capacity : float, or per flow
        K_i, rate of the narrow link on flow i's path, as measured by its sender [packet/s].
    start : float, or per flow, or None
        N_i(0) [packet/s]. None: flow i starts at i/(100 n) of its capacity.

    Notes
    -----
    A number is the same for all flows; a list or 1-D array is a sweep; values per flow are made by `per_flow` (a
    DataArray with the dimension `flow` of length n, which may have further dimensions for sweeps).
    """

    flows: Value = parameter(
        "n", "1", "flows on the link", low=1, low_open=False, integer=True, source=PAPER, default=2
    )
    epsilon: Value = parameter(
        r"\varepsilon", "1", "growth per round trip", low=0.0, source=PAPER, default=1.95
    )
    gamma: Value = parameter(
        r"\gamma",
        "1",
        "weight of the other flows",
        low=0.0,
        low_open=False,
        high=1.0,
        source=PAPER,
        default=0.9,
    )
    capacity: Value = parameter(
        "K", "packet/s", "rate of the narrow link", low=0.0, source=PAPER, default=100.0
    )
    start: Value = parameter("N(0)", "packet/s", "initial rate", low=0.0, default=None)

    def __post_init__(self) -> None:
        _check_gamma(self.gamma)
        check_parameters(self)
        for name in self._each():
            if name == "flows":
                raise DomainError("flows must be one number or a sweep, not a value per flow")
            given = getattr(self, name).sizes["flow"]
            if np.ndim(self.flows) or given != self.flows:
                raise DomainError(
                    f"{name} must hold one value for each of the {self.flows} flows, got {given}"
                )

    def provenance(self) -> dict[str, Any]:
        """The parameters, by name."""
        return field_values(self)

    def crowding(self) -> Any:
        """M = 1 + (n-1) gamma: flows alike settle at K/M each."""
        v = broadcast(self)
        return 1 + (v["flows"] - 1) * v["gamma"]

    def _each(self) -> list[str]:
        """Fields that hold a value per flow."""
        return [k for k, v in field_values(self).items() if "flow" in getattr(v, "dims", ())]

    def _alike(self, what: str, *but: str) -> dict[str, Any]:
        """Parameters for a formula that needs flows of one kind."""
        differing = [name for name in self._each() if name not in ("start", *but)]
        if differing:
            raise DynamicsError(
                f"{what} has a closed form for flows alike only, and {differing[0]} differs between flows; "
                "use the eigenvalues of the problem"
            )
        return {k: v for k, v in broadcast(self).items() if k != "start"}

    def _count(self) -> int:
        if np.ndim(self.flows):
            raise DomainError(
                f"flows must be one whole number here, got {np.size(self.flows)} values; make one model for each"
            )
        if self.flows > MAX_EQUATIONS:
            raise DomainError(
                f"flows must be at most {MAX_EQUATIONS:,} where each has an equation of its own, got {self.flows:,}; "
                "use fewer, or the closed forms for flows alike"
            )
        return int(self.flows)

    def _over_flows(self, name: str) -> Any:
        """A parameter with the dimension `flow`, 1..n, whatever was given."""
        import xarray as xr

        n = self._count()
        field = type(self).__dataclass_fields__[name].metadata
        array = as_parameter(name, getattr(self, name), field["unit"], field["meaning"])
        array = array.expand_dims(flow=n) if "flow" not in array.dims else array
        flow = xr.DataArray(np.arange(1, n + 1), dims="flow", attrs={"long_name": "flow"})
        return array.assign_coords(flow=flow)

    def _symbol(self, name: str) -> Any:
        import sympy

        return sympy.Symbol(name, positive=True)

    def _symbols(self, name: str) -> list[Any]:
        """The parameter's symbol for each flow; the same one for all unless they differ."""
        n = self._count()
        if name in self._each():
            return [self._symbol(f"{name}[{i}]") for i in range(1, n + 1)]
        return [self._symbol(name)] * n

    def _rates(self, suffix: str = "") -> list[Any]:
        return [self._symbol(f"N{suffix}[{i}]") for i in range(1, self._count() + 1)]

    def _problem(self, *names: str) -> dict[str, Any]:
        """What every view says of itself; `names` are the parameters beside epsilon, gamma and capacity."""
        parameters: dict[str, Any] = {}
        for name in ("epsilon", "gamma", "capacity", *names):
            value = plain(self, name)
            if name in self._each():
                for i in range(self._count()):
                    label = f"{name}[{i + 1}]"
                    parameters[label] = value.isel(flow=i, drop=True).rename(label)
            else:
                parameters[name] = value
        domain = {k: _DOMAIN[k.split("[")[0]] for k in parameters if k.split("[")[0] in _DOMAIN}
        return {
            "parameters": parameters,
            "start": self._start(),
            "units": dict.fromkeys(("N", "total", "throughput"), "packet/s")
            | dict.fromkeys(("w", "q", "queue"), "packet"),
            "meanings": {
                "N": "rate",
                "total": "rate of all flows",
                "w": "window",
                "throughput": "throughput",
                "q": "queue",
                "queue": "queue",
            },
            "time_units": "RTT",
            "domain": domain,
            "name": type(self).__name__,
            "provenance": self.provenance(),
        }

    def _start(self) -> dict[str, Any]:
        n, value = self._count(), plain(self, "start")
        if value is None:
            import sympy

            share = [sympy.Rational(i, 100 * n) for i in range(1, n + 1)]
            return {f"N[{i + 1}]": share[i] * K for i, K in enumerate(self._symbols("capacity"))}
        given = as_parameter(
            "start", value, "packet/s", "initial rate"
        )  # a sweep is one dimension for all flows
        each = [given.isel(flow=i, drop=True) if "flow" in given.dims else given for i in range(n)]
        return {f"N[{i}]": x if x.ndim else x.item() for i, x in enumerate(each, start=1)}


def total_of(rates: Sequence[Any]) -> Any:
    """Sum of symbols, as one expression that all equations share."""
    import sympy

    return sympy.Add(*rates)


def larger(a: Any, b: Any) -> Any:
    """max(a, b), which SymPy need not simplify: comparing sums of symbols takes it seconds."""
    import sympy

    return sympy.Max(a, b, evaluate=False)


def smaller(a: Any, b: Any) -> Any:
    """min(a, b)."""
    import sympy

    return sympy.Min(a, b, evaluate=False)


def survivors_in_symbols(
    resources: Sequence[Any], gamma: Any, ranked: Sequence[int] | None
) -> list[Any] | None:
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


def ranking(values: Any) -> list[int] | None:
    """Indices of the flows by falling value where that order is the same at all points, else None."""
    rows = values.transpose("flow", ...).values.reshape(values.sizes["flow"], -1)
    order = np.argsort(-rows.sum(axis=1), kind="stable")
    same = bool((np.diff(rows[order], axis=0) <= 0).all())
    return [int(i) for i in order] if same else None


def _check_gamma(gamma: Value) -> None:
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
