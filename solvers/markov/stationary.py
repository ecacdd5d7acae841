"""Stationary distributions: floats, exact rationals, closed forms, and their sensitivities."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import comb
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tcpdynamics.errors import bare, shown
from tcpdynamics.limits import check_memory, check_work

from ..grid import Grid
from ..problems import ChainError, DomainError, MarkovChain
from ..programs.straightline import Program, run
from ..programs.wide_floats import Unfolded, differentiate_unfolded, redo, solve_blocks
from ..results import as_dataset, provenance, raise_if_failed, status_variable
from .entries import (
    SUM_TOLERANCE,
    as_chain,
    chain_key,
    checked_matrix,
    describe_point,
    domain_status,
    entries_of,
    grid_of,
)
from .reduction import stationary_steps

if TYPE_CHECKING:
    import sympy

#: Derivatives double the steps of a program, about, each time.
MAX_ORDER = 6
#: Outputs of a program after pi: what `Entries.checks` gives.
CHECKS = 3

Backend = Literal["auto", "numpy", "jax"]


def stationary(
    problem: Any, *, exact: bool = False, throw: bool = False, backend: Backend = "auto"
) -> xr.Dataset:
    """The stationary distribution of an irreducible, aperiodic chain at every point of its parameters.

    Symbolic chains are reduced once, without subtraction, to straight-line code; dense matrices go through the
    Grassmann-Taksar-Heyman algorithm; sparse matrices through a reduction that uses their structure. Every
    component has full relative accuracy, however small.

    Parameters
    ----------
    problem : MarkovChain, or a model with `.chain()`
    exact : bool
        Rationals instead of floats (SymPy Rational; floats count at their exact binary value, Fractions at
        their own). A symbolic
        chain whose parameters have no value gives its closed form.
    throw : bool
        Raise ChainError at the first failed point instead of marking it. Exact results always do.
    backend : "auto", "numpy" or "jax"
        "auto" takes JAX only for symbolic chains on a machine with a GPU.

    Returns
    -------
    xarray.Dataset
        `probability` (*parameter dimensions, state), summing to one over `state`; `status`, 0 where it worked.
        With holding times, probabilities are fractions of time.

    Raises
    ------
    ChainError
        The structure is reducible or periodic, or a numeric matrix is not a transition matrix.

    References
    ----------
    .. [1] Grassmann, Taksar, Heyman, Operations Research 33(5), 1985; doi 10.1287/opre.33.5.1107

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import MarkovChain, stationary
    >>> p = sympy.Symbol("p")
    >>> chain = MarkovChain({("up", "down"): p, ("down", "up"): 2 * p}, {"p": [0.1, 0.3]})
    >>> stationary(chain).probability.sel(state="up").values.round(6)
    array([0.666667, 0.666667])
    """
    chain = as_chain(problem)
    if backend not in ("auto", "numpy", "jax"):
        raise ValueError(f"backend must be 'auto', 'numpy' or 'jax', got {shown(backend)}")
    if exact:
        return _exact(chain)
    if not chain.is_symbolic:
        return _numeric(chain)
    program = _float_program(chain_key(chain))
    n = len(chain.labels)
    grid = grid_of(chain, program.inputs)
    values = _evaluate(program, grid, backend)
    status = _status(chain, grid, values, n)
    if throw:
        raise_if_failed(status, lambda i: describe_point(chain, grid.point(i), int(status[i])))
    pi = values[:n]
    if status.any():
        pi[:, status != 0] = np.nan
    return _dataset(chain, grid, pi, status, "stationary")


def sensitivity(
    problem: Any,
    parameter: str | sympy.Symbol | None = None,
    *,
    order: int = 1,
    throw: bool = False,
    backend: Backend = "auto",
) -> xr.Dataset:
    """d pi / d parameter of a symbolic chain, by differentiating its straight-line code.

    Parameters
    ----------
    problem : MarkovChain, or a model with `.chain()`
    parameter : str or sympy.Symbol, optional
        The symbol or its name; may be left out when the chain has one only.
    order : int
        1 for the first derivative, 2 for the second, ...

    Slopes are differences of non-negative terms, so unlike probabilities they lose digits where those cancel: about
    1e-15 of the largest term, which for the sub-packet chains is 1e-8 relative in the rarest slope at p = 1e-9.

    Returns
    -------
    xarray.Dataset
        `derivative` (*parameter dimensions, state), summing to zero over `state`, and `status`.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import MarkovChain, sensitivity
    >>> p = sympy.Symbol("p")
    >>> chain = MarkovChain({("up", "down"): p, ("down", "up"): 1 - p}, {"p": 0.25})
    >>> sensitivity(chain).derivative.values
    array([-1.,  1.])
    """
    chain = as_chain(problem)
    if not chain.is_symbolic:
        raise ChainError("a numeric chain has no parameters to differentiate by")
    if not isinstance(order, Integral) or isinstance(order, bool) or order < 1:
        raise DomainError(f"order must be at least 1, got {shown(order)}; give a whole number")
    if order > MAX_ORDER:
        raise DomainError(
            f"order must be at most {MAX_ORDER}, got {shown(order)}: each doubles the work and more"
        )
    names = sorted(_program(chain_key(chain)).inputs)
    name = getattr(parameter, "name", parameter)  # of a SymPy symbol
    if name is None and len(names) == 1:
        name = names[0]
    if name not in names:
        raise ChainError(_which(names, parameter))
    parameter = str(name)
    grid = grid_of(chain, names)
    n = len(chain.labels)
    values = _evaluate(_slope_program(chain_key(chain), parameter, order), grid, backend)
    status = _status(chain, grid, values, n)
    if throw:
        raise_if_failed(status, lambda i: describe_point(chain, grid.point(i), int(status[i])))
    slope = values[:n]
    if status.any():
        slope[:, status != 0] = np.nan
    result = _dataset(chain, grid, slope, status, "sensitivity", parameter=parameter, order=order)
    times = "" if order == 1 else f"^{order}"
    derivative = result["probability"].assign_attrs(
        long_name=f"d{times} probability / d {parameter}{times}", units=f"1/[{parameter}]{times}"
    )
    return as_dataset(
        {"derivative": derivative.variable, "status": result["status"].variable}, result.coords, result.attrs
    )


def _which(names: list[str], parameter: Any) -> str:
    """What to write in the place of a parameter that the chain does not have."""
    if not names:
        return "the chain has no parameters to differentiate by: give it a symbol, such as sympy.Symbol('p')"
    got = "got none" if parameter is None else f"got {shown(parameter, 60)}"
    if len(names) == 1:
        return f'parameter must be "{bare(names[0])}", the chain\'s only one, {got}; write parameter="{bare(names[0])}"'
    listed = bare(", ".join(names), 120)
    return f'parameter must be one of {listed}, {got}; write parameter="{bare(names[0])}", for example'


def closed_form(problem: Any) -> dict[str, Any]:
    """The stationary distribution of a symbolic chain as SymPy expressions in its parameters.

    Parameters
    ----------
    problem : MarkovChain, or a model with `.chain()`; parameter values are not used.

    Returns
    -------
    dict state -> sympy.Expr, cancelled and factored rational functions that sum to one; `sympy.latex` prints them.

    Raises
    ------
    ChainError
        The chain is numeric, or its entries are not rational functions with exact coefficients.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import MarkovChain, closed_form
    >>> p = sympy.Symbol("p")
    >>> closed_form(MarkovChain({("up", "down"): p, ("down", "up"): p * (1 - p)}))["down"]
    -1/(p - 2)
    """
    from ..programs.from_sympy import rational_functions

    chain = as_chain(problem)
    if not chain.is_symbolic:
        raise ChainError("a closed form needs a symbolic chain: give transitions as SymPy expressions")
    program = _program(chain_key(chain))
    check_exact(program, "min", "max", "step")
    symbols = _symbols(chain, program)
    n, v = len(chain.labels), max(len(symbols), 1)
    # Measured: 1e3 n^5 for one symbol; polynomials of degree n in more have so many times the terms.
    check_work(
        f"a closed form of {n:,} states in {v:,} symbols", 1e3 * n**5.0 * comb(n + v - 1, v - 1),
        "give values to some parameters, or ask for exact results at numbers",
    )  # fmt: skip
    return dict(zip(chain.labels, rational_functions(program, symbols), strict=True))


def check_exact(program: Program, *more: str) -> None:
    """Raise ChainError for steps that rationals do not have: exp, log and powers that are not whole; and `more`."""
    for kind in ("exp", "log", "pow", *more):
        if any(op.kind == kind for op in program.ops):
            raise ChainError(
                f"exact results and closed forms need + - * / and whole powers, and the chain has {kind!r}"
            )


def _symbols(chain: MarkovChain, program: Program) -> list[Any]:
    held = {
        s
        for e in (*chain.transitions.values(), *chain.holding.values())
        for s in getattr(e, "free_symbols", ())
    }
    return sorted((s for s in held if s.name in program.inputs), key=lambda s: str(s.name))


@lru_cache(maxsize=64)
def _program(key: Any) -> Program:
    """State reduction of one chain: pi in the order of the labels, without the checks."""
    full = _float_program(key)
    builder = Unfolded()
    place = builder.extend(full)
    return builder.build([place[i] for i in full.outputs[:-CHECKS]])


@lru_cache(maxsize=64)
def _float_program(key: Any) -> Program:
    """State reduction of one chain, written once: pi in the order of the labels, then the checks of the entries."""
    labels, transitions, holding = key
    entries = entries_of(MarkovChain(dict(transitions), states=labels, holding=dict(holding)))
    pi = stationary_steps(entries.builder, {i: dict(r) for i, r in entries.rows.items()}, entries.holding)
    return entries.builder.build([*(pi[i] for i in range(len(labels))), *entries.checks()])


@lru_cache(maxsize=64)
def _slope_program(key: Any, parameter: str, order: int) -> Program:
    """Derivatives of pi, then the same checks."""
    slope = _program(key)
    for _ in range(order):
        slope = differentiate_unfolded(slope, parameter)
    builder = Unfolded()
    place = builder.extend(slope)
    derivative = [place[i] for i in slope.outputs]
    full = _float_program(key)
    place = builder.extend(full)
    return builder.build([*derivative, *(place[i] for i in full.outputs[-CHECKS:])])


def _evaluate(program: Program, grid: Grid, backend: Backend) -> NDArray[np.float64]:
    what = f"{len(program.outputs):,} results at {grid.size:,} points"
    advice = "ask for fewer points, or sweep them in blocks to a store"
    check_memory(what, 16.0 * len(program.outputs) * grid.size, advice)
    check_work(what, 1.0 * len(program.ops) * grid.size, advice)
    if backend == "jax" or (backend == "auto" and grid.size > 10_000 and _gpu_present()):
        from ..programs.on_jax import run_jax

        strained = np.zeros(grid.size, dtype=np.bool_)
        out = run_jax(program, grid.values, grid.size, strained)
        redo(program, grid.values, np.flatnonzero(strained), out)
        return out
    return solve_blocks(program, grid.values, grid.size)


def _gpu_present() -> bool:
    """A cheap look that does not load JAX: the driver's device file."""
    import os

    return os.path.exists("/dev/nvidia0") and os.environ.get("JAX_PLATFORMS", "cuda") != "cpu"


def _status(chain: MarkovChain, grid: Grid, values: NDArray[np.float64], n: int) -> NDArray[np.uint8]:
    """Why points failed, from the checks that were computed with them."""
    least, most, off = values[n:]
    status = domain_status(chain, grid)

    def mark(code: int, bad: Any) -> None:
        if np.any(bad):
            status[(status == 0) & bad] = code

    with np.errstate(invalid="ignore"):
        mark(2, ~(least >= 0))
        mark(3, ~((most <= 1 + SUM_TOLERANCE) & (off <= SUM_TOLERANCE**2)))
        mark(4, ~np.isfinite(values[:n].sum(axis=0)))
    return status


def _dataset(
    chain: MarkovChain, grid: Grid, pi: NDArray[Any], status: NDArray[np.uint8], solver: str, **settings: Any
) -> xr.Dataset:
    probability = xr.DataArray(
        np.moveaxis(grid.unflatten(pi), 0, -1),
        dims=(*grid.dims, "state"),
        attrs={"units": "1", "long_name": "stationary probability"},
    )
    return as_dataset(
        {"probability": probability, "status": status_variable(grid, status)},
        coords={**grid.coords, "state": _state_coordinate(chain)},
        attrs=provenance(chain, solver, **settings),
    )


def _state_coordinate(chain: MarkovChain) -> Any:
    if chain.states is None and not chain.is_symbolic:
        return np.arange(chain.transitions.shape[0])
    return np.array(chain.labels)


def _numeric(chain: MarkovChain) -> xr.Dataset:
    import scipy.sparse as sp

    if sp.issparse(chain.transitions):
        from .sparse import stationary_sparse

        pi = stationary_sparse(chain.transitions, chain.states)
    else:
        from .dense import stationary_dense

        pi = stationary_dense(np.asarray(chain.transitions, dtype=np.float64), chain.states)
    grid = Grid((), (), {}, {})
    return _dataset(chain, grid, pi[:, None], np.zeros(1, dtype=np.uint8), "stationary")


def _exact(chain: MarkovChain) -> xr.Dataset:
    """Object arrays of SymPy numbers (or closed forms, where parameters have no value)."""
    import sympy

    if not chain.is_symbolic:
        chain = _as_symbolic(chain)
    program = _program(chain_key(chain))
    check_exact(program)
    if not set(program.inputs) <= set(chain.parameters):
        forms = np.array(list(closed_form(chain).values()), dtype=object)
        result = _dataset(
            chain, Grid((), (), {}, {}), forms[:, None], np.zeros(1, dtype=np.uint8), "stationary", exact=True
        )
        return result.rename(probability="closed_form")
    exact = {k: _exact_values(k, v) for k, v in chain.parameters.items()}
    floats = chain.at(**{k: _as_floats(v) for k, v in chain.parameters.items()})
    grid = grid_of(floats, program.inputs)
    points = _exact_points(exact, grid)
    pi = np.empty((len(chain.labels), grid.size), dtype=object)
    for i, point in enumerate(points):
        message = _exact_problem(chain, point)
        if message:
            raise ChainError(message)
        if i == 1:
            _check_digits(pi[:, 0], grid.size)
        solved = run(program, {k: _flint_rational(v) for k, v in point.items()}, _flint_rational, _EXACT)
        pi[:, i] = [sympy.Rational(int(x.p), int(x.q)) for x in solved]
    result = _dataset(chain, grid, pi, np.zeros(grid.size, dtype=np.uint8), "stationary", exact=True)
    return result


def _check_digits(solved: NDArray[Any], points: int) -> None:
    """Refuse the points after the first where their rationals take too long."""
    bits = max(int(x.q).bit_length() for x in solved)
    check_work(
        f"{points:,} exact points of {solved.size:,} states, of about {int(0.30103 * bits):,} digits each,",
        0.05 * points * solved.size * bits**2.0, "ask for fewer points, or for floats",
    )  # fmt: skip


#: Switches of rationals.
_EXACT: dict[str, Any] = {"min": min, "max": max, "step": lambda x: _flint_rational(int(x >= 0))}


def _exact_points(exact: dict[str, NDArray[Any]], grid: Grid) -> list[dict[str, Fraction]]:
    if len(grid.dims) > 1:
        raise ChainError("exact results take numbers or one array; sweep the other parameters in a loop")
    return [{k: v.flat[0] if v.size == 1 else v.flat[i] for k, v in exact.items()} for i in range(grid.size)]


def _exact_values(name: str, value: Any) -> NDArray[Any]:
    data = np.asarray(getattr(value, "values", value), dtype=object)
    try:
        return np.array([_fraction(x) for x in data.flat], dtype=object)
    except (TypeError, ValueError, OverflowError):
        raise DomainError(f"{name} must hold finite numbers, got {shown(value)}") from None


def _fraction(x: Any) -> Fraction:
    if hasattr(x, "p") and hasattr(x, "q"):
        return Fraction(int(x.p), int(x.q))
    if isinstance(x, bool) or not isinstance(x, Real):
        raise TypeError
    return Fraction(x if isinstance(x, int | Fraction) else float(x))


def _as_floats(value: Any) -> Any:
    if isinstance(value, xr.DataArray):
        coords = {
            str(k): np.asarray(c.values, dtype=np.float64) if c.dtype == object else c
            for k, c in value.coords.items()
        }
        plain = xr.DataArray(
            value.values.astype(np.float64), dims=value.dims, name=value.name, attrs=value.attrs
        )
        return plain.assign_coords({k: (value.coords[k].dims, np.asarray(c)) for k, c in coords.items()})
    return np.asarray(value, dtype=object).astype(np.float64)


def _flint_rational(x: Any) -> Any:
    """python-flint's rationals: about ten times faster than the standard library's."""
    import flint

    exact = Fraction(x)
    return flint.fmpq(exact.numerator, exact.denominator)


def _exact_problem(chain: MarkovChain, point: dict[str, Fraction]) -> str | None:
    """The message for a point outside the chain's domain, or None."""
    for name, (low, high) in chain.domain.items():
        if name in point and not low < point[name] < high:
            return f"{name} must lie in ({low:g}, {high:g}), got {float(point[name]):g}"
    values = {k: float(v) for k, v in point.items()}
    grid = Grid((), (), {}, values)
    checked = _evaluate(_float_program(chain_key(chain)), grid, "numpy")
    status = _status(chain, grid, checked, len(chain.labels))
    return describe_point(chain, values, int(status[0])) if status[0] else None


def _as_symbolic(chain: MarkovChain) -> MarkovChain:
    """A small numeric matrix as exact rational transitions; each diagonal is one minus the rest of its row."""
    import scipy.sparse as sp
    import sympy

    coo = sp.coo_array(checked_matrix(chain))
    coo.sum_duplicates()
    labels = chain.labels
    transitions = {
        (labels[i], labels[j]): sympy.Rational(Fraction(float(x)))
        for i, j, x in zip(coo.row, coo.col, coo.data, strict=True)
        if i != j and x != 0
    }
    return MarkovChain(transitions, states=labels, name=chain.name, provenance=chain.provenance)
