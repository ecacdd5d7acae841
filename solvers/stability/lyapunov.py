"""Lyapunov exponents: how fast small deviations grow or die out along an orbit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tcpdynamics.errors import real, whole
from tcpdynamics.limits import check_memory

from ..equations import System, as_problem, compile_system
from ..problems import DDE, ODE, TIME, DynamicsError, Map, MotionModel, StateValue
from ..programs.straightline import Program, processors, switching
from ..results import Status, as_dataset, provenance, reason, status_variable, warn_if_most_failed
from .leading_roots import sides
from .rest import solves
from .time_scales import Scales, check_motion, one_or_range, scales

Array = NDArray[np.float64]


def lyapunov(
    problem: ODE | DDE | Map | MotionModel,
    *,
    count: int = 1,
    time: float | None = None,
    transient: float | None = None,
    batches: int = 20,
    start: Mapping[str, StateValue] | None = None,
    seed: int = 0,
    rtol: float = 1e-6,
    max_steps: int = 10_000_000,
    throw: bool = False,
) -> xr.Dataset:
    """The largest Lyapunov exponents of the orbit that begins at the problem's start.

    Deviations are carried along the orbit by the linearised equations and made orthonormal again and again
    (Benettin et al. [1]_; for delays, deviations of the whole past, as in Farmer [2]_): at a fixed point of a flow the
    exponents are the real parts of the characteristic roots, on a cycle those of the Floquet exponents, and a
    positive one means chaos.

    Parameters
    ----------
    problem : ODE, DDE or Map, or a model with such a view
    count : int
        How many, largest first; for a problem without delays at most its number of states.
    time : float, optional
        Over how long they are averaged, in the problem's unit; default 10 000 steps of a map, and 1000 times a flow's
        own unit at each point: its longest delay or the time of its slowest mode (see `own_times.own_unit`).
    transient : float, optional
        How long the orbit runs before; default a tenth of `time`.
    batches : int
        Parts of `time` whose means give the standard error, >= 2.
    start : mapping state -> number or array, optional
        Initial values instead of the problem's own. The past of a delay equation is held at them.
    seed : int
        Of the directions in which the deviations begin.
    rtol : float, in [1e-14, 0.1]
        Error of a step of a flow, relative to the largest value of each state so far. With delays the step is constant
        and one step in fifty may miss it, where Max or Min make a corner.
    max_steps : int
        Steps for one point.
    throw : bool
        Raise DynamicsError at the first point that fails instead of marking it.

    Returns
    -------
    xarray.Dataset
        `exponent` (direction, parameters...) [1/unit of time]; `error`, its standard error from batch means;
        `status`. An exponent is -inf where a direction is lost altogether (a superstable cycle); its error is then NaN.

    Raises
    ------
    DomainError
        A count, time, transient, number of batches or steps, seed or tolerance out of range.

    Notes
    -----
    Where the orbit of a flow meets a jump of its equations (Piecewise, Heaviside) its deviations jump too, which the
    linearised equations do not show: such a point fails with its own status. Max, Min and Abs only bend and are
    fine, and so are jumps in a map. An orbit that begins at an equilibrium on a corner stays, where deviations to each
    side go their own way: it fails with a status too.

    References
    ----------
    .. [1] G. Benettin, L. Galgani, A. Giorgilli, J.-M. Strelcyn, Lyapunov characteristic exponents for smooth dynamical
       systems, Meccanica 15, 1980; doi:10.1007/BF02128236
    .. [2] J. D. Farmer, Chaotic attractors of an infinite-dimensional dynamical system, Physica D 4, 1982;
       doi:10.1016/0167-2789(82)90042-2

    Examples
    --------
    >>> import sympy
    >>> w, r = sympy.symbols("w r")
    >>> logistic = Map(rhs={"w": w + r * w * (1 - w)}, parameters={"r": [1.5, 3.0]}, start={"w": 0.1})
    >>> lyapunov(logistic, time=100_000).exponent.sel(direction=1).round(2).values.tolist()  # ln(1/2), ln 2
    [-0.69, 0.69]
    """
    dynamics = as_problem(problem, DDE, ODE, Map)
    if start is not None:
        dynamics = dynamics.starting(start)
    system = compile_system(dynamics)
    check_motion(f"exponents at {system.size:,} points", system, 100.0, 7.0 * (1 + system.rhs.arithmetic))
    time_scales = None if isinstance(dynamics, Map) else scales(system)
    count, batches, span, before = _check_lengths(system, time_scales, count, time, transient, batches)
    seed, max_steps = whole("seed", seed, 0), whole("max_steps", max_steps, 1, 2**62)
    rtol = real("rtol", rtol, 1e-14, 0.1)
    batch = span / batches
    if isinstance(dynamics, Map):
        batch, before = np.ceil(batch), np.ceil(before)
    _check_work(system, time_scales, count, before + batch * batches, batches, max_steps)
    sums, status = np.zeros((system.size, batches, count)), np.zeros(system.size, np.uint8)
    times, group = np.unique(np.stack([before, batch]), axis=1, return_inverse=True)
    for g, (early, part) in enumerate(times.T):
        members = np.flatnonzero(group.ravel() == g)
        local = system if members.size == system.size else system.take(members)
        sums[members], status[members] = _exponents(local, count, early, part, batches, seed, rtol, max_steps)
    status[(status == 0) & _rests_on_switch(system)] = Status.ON_SWITCH
    with np.errstate(invalid="ignore"):
        rates = sums / batch[:, None, None]  # (size, batches, count)
        error = rates.std(axis=1, ddof=1) / np.sqrt(batches)
        mean = rates.mean(axis=1)
    mean[status != 0] = error[status != 0] = np.nan
    if throw and status.any():
        at = int(np.flatnonzero(status)[0])
        raise DynamicsError(f"{dynamics.name} failed at {system.grid.point(at)}: {reason(status[at])}")
    warn_if_most_failed(f"lyapunov of {dynamics.name}", status)
    dims, units = ("direction", *system.grid.dims), f"1/{dynamics.time_units}"

    def variable(values: Array, name: str) -> Any:
        return (dims, system.grid.unflatten(values.T), {"units": units, "long_name": name})

    data = {
        "exponent": variable(mean, "Lyapunov exponent"),
        "error": variable(error, "standard error of the Lyapunov exponent"),
        "status": status_variable(system.grid, status),
    }
    order = ("direction", np.arange(1, count + 1), {"long_name": "exponents, largest first"})
    lengths = {"time": one_or_range(span), "transient": one_or_range(before)}
    settings = lengths | {"batches": batches, "seed": seed, "rtol": rtol}
    coords = system.grid.coords | {"direction": order}
    return as_dataset(data, coords, provenance(dynamics, "lyapunov", count=count, **settings))


def _rests_on_switch(system: System) -> NDArray[np.bool_]:
    """(size,) whether the orbit begins at rest on a switch, where its deviations have no single linearisation."""
    out = np.zeros(system.size, bool)
    if system.equations.switches:
        states = system.start_values()
        resting = np.flatnonzero(solves(system, states))
        for group in sides(system, np.ascontiguousarray(states[:, resting]), resting):
            out[resting[group.index]] = True
    return out


def _check_lengths(
    system: System, own: Scales | None, count: Any, time: Any, transient: Any, batches: Any
) -> tuple[int, int, Array, Array]:
    """Count and batches, and (size,) lengths of the averages and of what runs before."""
    lags = system.lag_values() if system.delayed else np.zeros((1, system.size))
    directions = 100 if lags.any() else min(100, len(system.labels))  # without delays, the number of states
    count, batches = whole("count", count, 1, directions), whole("batches", batches, 2, 100_000)
    if time is not None:
        span = np.full(system.size, real("time", time, 0, above=True))
    else:
        span = np.full(system.size, 10_000.0) if own is None else 1000 * own.unit
    before = span / 10 if transient is None else np.full(system.size, real("transient", transient, 0))
    return count, batches, span, before


def _check_work(system: System, own: Scales | None, count: int, duration: Array, batches: int, max_steps: int) -> None:
    """Refuse what would take too long or too much memory, before the first orbit starts."""
    size, n = system.size, len(system.labels)
    what = f"{count} exponents at {size:,} points"
    check_memory(what, 24.0 * size * batches * count, "give fewer points or batches")
    of_step = (1 + n + count) * (system.rhs.arithmetic + n * count)
    if own is None:
        check_motion(what, system, duration, of_step)
        return
    steps = np.minimum(own.likely_steps(duration), max_steps)
    check_motion(what, system, steps, 7.0 * of_step)


def _exponents(
    system: System, count: int, transient: float, batch: float, batches: int, seed: int, rtol: float, max_steps: int
) -> tuple[Array, NDArray[np.uint8]]:
    """(size, batches, count) sums of logarithms, and statuses."""
    from .lyapunov_kernel import Orbits, Span, exponents

    run: Callable[..., None] = exponents
    equations, size, n = system.equations, system.size, len(system.labels)
    first = np.random.default_rng(seed).standard_normal((count, n))
    rhs = _tape(system, equations.tangent, (*system.labels, *system.delayed, TIME), n)
    outputs = list(system.problem.outputs)
    delayed_of = _tape(system, equations.output_tangent, (*system.labels, TIME), len(outputs))
    of = np.array(
        [
            system.labels.index(d.of) if d.of in system.labels else -1 - outputs.index(d.of)
            for d in system.problem._lagged.values()
        ],
        dtype=np.int64,
    )
    sums, status = np.zeros((size, batches, count)), np.zeros(size, np.int64)
    start = system.start_values()
    lags = system.lag_values() if system.delayed else np.empty((0, system.size))
    halt = np.zeros(1, np.uint8)
    orbits = Orbits(of, lags, start, first)
    span = Span(float(transient), float(batch), rtol, max_steps, halt)
    parts = min(size, 8 * processors())
    bounds = np.linspace(0, size, parts + 1).astype(int)

    def share(i: int) -> None:
        is_map = isinstance(system.problem, Map)
        run(is_map, rhs, delayed_of, orbits, span, sums, status, int(bounds[i]), int(bounds[i + 1]))

    with ThreadPoolExecutor(processors()) as pool:
        try:
            list(pool.map(share, range(parts)))
        except BaseException:  # Ctrl-C: the threads are told, and answer within a step
            halt[0] = 1
            raise
    return sums, status.astype(np.uint8)


def _tape(system: System, program: Program, symbols: tuple[str, ...], values: int) -> Any:
    """A program as the kernel reads it; symbols that it does not use get a slot of their own.

    The first `values` of its outputs are the equations, the others their derivatives.
    """
    from .lyapunov_kernel import KINDS, Equations

    slots, moving = len(program.ops), set(symbols) - {TIME}
    code, inputs, names = [], [], []
    constants = np.zeros(slots + len(symbols))
    put = np.arange(slots, slots + len(symbols))
    for i, op in enumerate(program.ops):
        if op.kind == "const":
            constants[i] = float(op.value)
        elif op.kind != "input":
            code.append([KINDS.index(op.kind), i, op.a, max(op.b, 0)])
        elif op.value in symbols:
            put[symbols.index(op.value)] = i
        else:
            inputs.append(i)
            names.append(op.value)
    size = system.size
    params = np.empty((len(names), size))
    for row, name in zip(params, names, strict=True):
        row[:] = system.grid.values[name]
    tape = np.array(code, dtype=np.int64).reshape(-1, 4)
    take, jumps = np.array(program.outputs, np.int64), np.array(_jumps(program, values, moving), np.int64)
    return Equations(tape, constants, np.array(inputs, np.int64), params, put, take, jumps)


def _jumps(program: Program, values: int, symbols: set[str]) -> list[int]:
    """Switches in the equations themselves (those of the derivatives belong to Max and Min).

    Those of time alone are left out: deviations have no part in when they come, and stay as they are.
    """
    needed = set(program.outputs[:values])
    for i in range(len(program.ops) - 1, -1, -1):
        if i in needed:
            needed |= {j for j in (program.ops[i].a, program.ops[i].b) if j >= 0}
    return [i for i in switching(program, symbols) if i in needed and program.ops[i].kind == "step"]
