"""Stationary distributions: floats, exact rationals, closed forms, and their sensitivities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from importlib.util import find_spec
from math import comb
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.errors import bare, shown
from tcpdynamics.later import xr
from tcpdynamics.limits import check_memory, check_work

from ..grid import SINGLE, Grid
from ..problems import ChainError, ChainModel, DomainError, MarkovChain
from ..problems.words import domain_text
from ..programs.on_disk import program_of
from ..programs.straightline import Program, Unfolded, differentiate_unfolded, run
from ..programs.wide_floats import solve_blocks
from ..results import Status, solved
from . import entries
from .reduction import stationary_steps

if TYPE_CHECKING:
    import sympy

#: Derivatives double the steps of a program, about, each time.
MAX_ORDER = 6
#: Outputs of a program after pi: what `Entries.checks` gives.
CHECKS = 3

Backend = Literal["auto", "numpy", "jax"]


def stationary(
    problem: MarkovChain | ChainModel, *, exact: bool = False, throw: bool = False, backend: Backend = "auto"
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
        their own). A symbolic chain whose parameters have no value gives its closed form. Files hold no rationals:
        save `result.assign(probability=result.probability.astype(float))`.
    throw : bool
        Raise ChainError at the first failed point instead of marking it. Exact results always do.
    backend : "auto", "numpy" or "jax"
        "auto" takes JAX, where it is installed, only for symbolic chains on a machine with a GPU.

    Returns
    -------
    xarray.Dataset
        `probability` (*parameter dimensions, state), summing to one over `state`; `status`, 0 where it worked.
        With holding times, probabilities are fractions of time.

    Raises
    ------
    ChainError
        The structure is reducible or periodic, or a numeric matrix is not a transition matrix.
    ModuleNotFoundError
        `backend="jax"` where JAX is not installed.

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
    chain = entries.as_chain(problem)
    if backend not in ("auto", "numpy", "jax"):
        raise ValueError(f"backend must be 'auto', 'numpy' or 'jax', got {shown(backend)}")
    if exact:
        return _exact(chain)
    if not chain.is_symbolic:
        return _numeric(chain)
    program = _float_program(entries.expressions_of(chain))
    grid = entries.grid_of(chain, program.inputs)
    pi, status = _law(chain, program, grid, backend, throw)
    return _result(chain, grid, {"probability": _probability(grid, pi)}, status)


def sensitivity(
    problem: MarkovChain | ChainModel,
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

    Raises
    ------
    ChainError
        A numeric chain, a parameter that is not in it, or, with `throw`, a point that failed.
    DomainError
        An order that is no whole number from 1 to 6.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import MarkovChain, sensitivity
    >>> p = sympy.Symbol("p")
    >>> chain = MarkovChain({("up", "down"): p, ("down", "up"): 1 - p}, {"p": 0.25})
    >>> sensitivity(chain).derivative.values
    array([-1.,  1.])
    """
    chain = entries.as_chain(problem)
    if not chain.is_symbolic:
        raise ChainError("a numeric chain has no parameters to differentiate by")
    if not isinstance(order, Integral) or isinstance(order, bool) or order < 1:
        raise DomainError(f"order must be at least 1, got {shown(order)}; give a whole number")
    if order > MAX_ORDER:
        raise DomainError(f"order must be at most {MAX_ORDER}, got {shown(order)}: each doubles the work and more")
    expressions = entries.expressions_of(chain)
    names = sorted(_program(expressions).inputs)
    name = getattr(parameter, "name", parameter)  # of a SymPy symbol
    if name is None and len(names) == 1:
        name = names[0]
    if name not in names:
        raise ChainError(_which(names, parameter))
    parameter = str(name)
    grid = entries.grid_of(chain, names)
    slope, status = _law(chain, _slope_program(expressions, parameter, order), grid, backend, throw)
    times = "" if order == 1 else f"^{order}"
    derivative = grid.variable(
        slope.T, f"1/[{parameter}]{times}", f"d{times} probability / d {parameter}{times}", "state"
    )
    settings = {"parameter": parameter, "order": order}
    return _result(chain, grid, {"derivative": derivative}, status, "sensitivity", settings)


def _which(names: list[str], parameter: Any) -> str:
    """What to write in the place of a parameter that the chain does not have."""
    if not names:
        return "the chain has no parameters to differentiate by: give it a symbol, such as sympy.Symbol('p')"
    got = "got none" if parameter is None else f"got {shown(parameter, 60)}"
    if len(names) == 1:
        return f'parameter must be "{bare(names[0])}", the chain\'s only one, {got}; write parameter="{bare(names[0])}"'
    choices = bare(", ".join(names), 120)
    return f'parameter must be one of {choices}, {got}; write parameter="{bare(names[0])}", for example'


def closed_form(problem: MarkovChain | ChainModel) -> dict[str, sympy.Expr]:
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

    chain = entries.as_chain(problem)
    if not chain.is_symbolic:
        raise ChainError("a closed form needs a symbolic chain: give transitions as SymPy expressions")
    program = _program(entries.expressions_of(chain))
    check_exact(program, "min", "max", "step")
    symbols = _symbols(chain, program)
    n, v = len(chain.labels), max(len(symbols), 1)
    # Measured: 1e3 n^5 for one symbol; polynomials of degree n in more have so many times the terms.
    check_work(
        f"a closed form of {n:,} states in {v:,} symbols", 1e3 * n**5.0 * comb(n + v - 1, v - 1),
        "give values to some parameters, or ask for exact results at numbers",
    )  # fmt: skip
    return dict(zip(chain.labels, rational_functions(program, symbols), strict=True))


def stationary_program(problem: MarkovChain | ChainModel) -> Program:
    """The stationary distribution of a symbolic chain as a straight-line program, without checks of its parameters.

    Returns
    -------
    Program
        Inputs: the chain's parameters; outputs: the probability of each state, in the order of its labels.

    Raises
    ------
    ChainError
        The chain is numeric, reducible or periodic.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import MarkovChain
    >>> p = sympy.Symbol("p")
    >>> stationary_program(MarkovChain({("up", "down"): p, ("down", "up"): 1})).inputs
    ('p',)
    """
    chain = entries.as_chain(problem)
    if not chain.is_symbolic:
        raise ChainError("a program needs a symbolic chain: give transitions as SymPy expressions")
    return _program(entries.expressions_of(chain))


def distribution_at(
    structure: str,
    sources: Path,
    make: Callable[[], MarkovChain],
    values: Mapping[str, float | NDArray[np.float64]],
    size: int,
) -> NDArray[np.float64] | None:
    """The same distribution as `stationary` gives, by a program that is kept on disk, and without labels.

    Parameters
    ----------
    structure, sources : as for `on_disk.program_of`
    make : callable
        The chain, where its program must be made.
    values : mapping parameter -> a number, or (size,) numbers inside its domain

    Returns
    -------
    (states, size) probabilities; None where a point failed: `stationary` gives the reason.
    """
    program = program_of(structure, sources, lambda: _float_program(entries.expressions_of(make())))
    computed = _evaluate(program, Grid((), (size,), {}, dict(values)), "auto")
    probability, status = computed[:-CHECKS], np.zeros(size, dtype=np.uint8)
    entries.mark_failed(status, computed[-CHECKS:], np.isfinite(probability.sum(axis=0)))
    return None if status.any() else probability


def check_exact(program: Program, *more: str) -> None:
    """Raise ChainError for steps that rationals do not have: exp, log and powers that are not whole; and `more`."""
    for kind in ("exp", "log", "pow", *more):
        if any(op.kind == kind for op in program.ops):
            raise ChainError(
                f"exact results and closed forms need + - * / and whole powers, and the chain has {kind!r}"
            )


def _symbols(chain: MarkovChain, program: Program) -> list[Any]:
    symbols = {
        s for e in (*chain._expressions.values(), *chain.holding.values()) for s in getattr(e, "free_symbols", ())
    }
    return sorted((s for s in symbols if s.name in program.inputs), key=lambda s: str(s.name))


@lru_cache(maxsize=64)
def _program(expressions: entries.Expressions) -> Program:
    """State reduction of one chain: pi in the order of the labels, without the checks."""
    full = _float_program(expressions)
    builder = Unfolded()
    place = builder.extend(full)
    return builder.build([place[i] for i in full.outputs[:-CHECKS]])


@lru_cache(maxsize=64)
def _float_program(expressions: entries.Expressions) -> Program:
    """State reduction of one chain, written once: pi in the order of the labels, then the checks of the symbolic."""
    symbolic = entries.entries_of(expressions)
    pi = stationary_steps(symbolic.builder, {i: dict(r) for i, r in symbolic.rows.items()}, symbolic.holding)
    return symbolic.builder.build([*(pi[i] for i in range(len(expressions.labels))), *symbolic.checks()])


@lru_cache(maxsize=64)
def _slope_program(expressions: entries.Expressions, parameter: str, order: int) -> Program:
    """Derivatives of pi, then the same checks."""
    slope = _program(expressions)
    for _ in range(order):
        slope = differentiate_unfolded(slope, parameter)
    builder = Unfolded()
    place = builder.extend(slope)
    derivative = [place[i] for i in slope.outputs]
    full = _float_program(expressions)
    place = builder.extend(full)
    return builder.build([*derivative, *(place[i] for i in full.outputs[-CHECKS:])])


def _evaluate(program: Program, grid: Grid, backend: Backend) -> NDArray[np.float64]:
    what = f"{len(program.outputs):,} results at {grid.size:,} points"
    advice = "ask for fewer points, or sweep them in blocks to a store"
    check_memory(what, 16.0 * len(program.outputs) * grid.size, advice)
    check_work(what, 1.0 * len(program.ops) * grid.size, advice)
    if backend == "jax" and find_spec("jax") is None:
        raise ModuleNotFoundError("backend='jax' needs JAX: pip install 'tcpdynamics[jax]'", name="jax")
    if backend == "jax" or (backend == "auto" and grid.size > 10_000 and _gpu_present()):
        from ..programs.on_jax import run_jax
        from ..programs.wide_floats import redo

        strained = np.zeros(grid.size, dtype=np.bool_)
        out = run_jax(program, grid.values, grid.size, strained)
        redo(program, grid.values, np.flatnonzero(strained), out)
        return out
    return solve_blocks(program, grid.values, grid.size)


def _gpu_present() -> bool:
    """A cheap look that does not load JAX: the driver's device file, and whether JAX is installed."""
    import os

    there = os.path.exists("/dev/nvidia0") and os.environ.get("JAX_PLATFORMS", "cuda") != "cpu"
    return there and find_spec("jax") is not None


def _law(
    chain: MarkovChain, program: Program, grid: Grid, backend: Backend, throw: bool
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """(states, size) values of a program, NaN where the checks that follow them fail, and the status."""
    values = _evaluate(program, grid, backend)
    law = values[:-CHECKS]
    with np.errstate(invalid="ignore"):
        finite = np.isfinite(law.sum(axis=0))
    status = entries.check_status(chain, grid, values[-CHECKS:], finite)
    if throw:
        entries.refuse_failed(chain, grid, status)
    if status.any():
        law[:, status != Status.OK] = np.nan
    return law, status


def _probability(grid: Grid, pi: NDArray[Any]) -> Any:
    return grid.variable(pi.T, "1", "stationary probability", "state")


def _result(
    chain: MarkovChain,
    grid: Grid,
    variables: dict[str, Any],
    status: NDArray[np.uint8] | None = None,
    solver: str = "stationary",
    settings: dict[str, Any] | None = None,
) -> xr.Dataset:
    """The result over the states of a chain; without a status no point has failed."""
    status = np.zeros(grid.size, dtype=np.uint8) if status is None else status
    return solved(
        chain, grid, variables, status, solver=solver, settings=settings, coords={"state": _state_coordinate(chain)}
    )


def _state_coordinate(chain: MarkovChain) -> Any:
    if chain.states is None and not chain.is_symbolic:
        return np.arange(chain._matrix.shape[0])
    return np.array(chain.labels)


def _numeric(chain: MarkovChain) -> xr.Dataset:
    import scipy.sparse as sp

    if sp.issparse(chain._matrix):
        from .sparse import stationary_sparse

        pi = stationary_sparse(chain._matrix, chain.states)
    else:
        from .dense import stationary_dense

        pi = stationary_dense(np.asarray(chain._matrix, dtype=np.float64), chain.states)
    return _result(chain, SINGLE, {"probability": _probability(SINGLE, pi[:, None])})


def _exact(chain: MarkovChain) -> xr.Dataset:
    """Object arrays of SymPy numbers (or closed forms, where parameters have no value)."""
    import sympy

    if not chain.is_symbolic:
        chain = _as_symbolic(chain)
    program = _program(entries.expressions_of(chain))
    check_exact(program)
    if not set(program.inputs) <= set(chain.parameters):
        forms = np.array(list(closed_form(chain).values()), dtype=object)
        form = _probability(SINGLE, forms[:, None])
        return _result(chain, SINGLE, {"closed_form": form}, settings={"exact": True})
    exact = {k: _exact_values(k, v) for k, v in chain.parameters.items()}
    floats = chain.at(**{k: _as_floats(v) for k, v in chain.parameters.items()})
    grid = entries.grid_of(floats, program.inputs)
    points = _exact_points(exact, grid)
    pi = np.empty((len(chain.labels), grid.size), dtype=object)
    for i, point in enumerate(points):
        message = _exact_problem(chain, point)
        if message:
            raise ChainError(message)
        if i == 1:
            _check_digits(pi[:, 0], grid.size)
        row = run(program, point, Fraction, _EXACT)
        pi[:, i] = [sympy.Rational(x.numerator, x.denominator) for x in row]
    return _result(chain, grid, {"probability": _probability(grid, pi)}, settings={"exact": True})


def _check_digits(law: NDArray[Any], points: int) -> None:
    """Refuse the points after the first where their rationals take too long."""
    bits = max(int(x.q).bit_length() for x in law)
    check_work(
        f"{points:,} exact points of {law.size:,} states, of about {int(0.30103 * bits):,} digits each,",
        0.05 * points * law.size * bits**2.0, "ask for fewer points, or for floats",
    )  # fmt: skip


#: Switches of rationals.
_EXACT: dict[str, Any] = {"min": min, "max": max, "step": lambda x: Fraction(int(x >= 0))}


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
            str(k): np.asarray(c.values, dtype=np.float64) if c.dtype == object else c for k, c in value.coords.items()
        }
        floats = xr.DataArray(value.values.astype(np.float64), dims=value.dims, name=value.name, attrs=value.attrs)
        return floats.assign_coords({k: (value.coords[k].dims, np.asarray(c)) for k, c in coords.items()})
    return np.asarray(value, dtype=object).astype(np.float64)


def _exact_problem(chain: MarkovChain, point: dict[str, Fraction]) -> str | None:
    """The message for a point outside the chain's domain, or None."""
    for name, (low, high) in chain.domain.items():
        if name in point and not low < point[name] < high:
            return f"{name} must lie in {domain_text(low, high)}, got {float(point[name]):g}"
    values = {k: float(v) for k, v in point.items()}
    _, status = _law(chain, _float_program(entries.expressions_of(chain)), Grid((), (), {}, values), "numpy", False)
    return entries.describe_point(chain, values, int(status[0])) if status[0] else None


def _as_symbolic(chain: MarkovChain) -> MarkovChain:
    """A small numeric matrix as exact rational transitions; each diagonal is one minus the rest of its row."""
    import scipy.sparse as sp
    import sympy

    coo = sp.coo_array(entries.checked_matrix(chain))
    coo.sum_duplicates()
    labels = chain.labels
    transitions = {
        (labels[i], labels[j]): sympy.Rational(Fraction(float(x)))
        for i, j, x in zip(coo.row, coo.col, coo.data, strict=True)
        if i != j and x != 0
    }
    return MarkovChain(transitions, states=labels, name=chain.name, provenance=chain.provenance)
