"""Trajectories of ODEs, delay equations and maps, over whole grids of parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from tcpdynamics.errors import as_float, digits, shown
from tcpdynamics.limits import check_memory, check_work

from ..equations import System, as_problem, compile_system, to_variables
from ..grid import span
from ..problems import DDE, ODE, TIME, DomainError, Dynamics, DynamicsError, Map, MotionModel, StateValue
from ..problems.numbers import dimensions, is_float, is_symbolic, real_array
from ..programs.straightline import Builder, processors
from ..results import Status, as_dataset, provenance, reason, status_variable
from .by_scipy import METHODS, follow, is_stiff
from .forcing import stops
from .history import past_polynomials
from .maps import Iteration

Array = NDArray[np.float64]


@dataclass(frozen=True)
class _Task:
    """What is to be integrated and where it goes: `values` (states and outputs, size, times), `status` (size,)."""

    system: System
    beginning: Array
    ticks: Array
    values: Array
    status: NDArray[np.uint8]
    rtol: float
    atol: float
    max_steps: int
    max_step: float


#: Trajectories that a thread takes at a time.
SHARE = 512

#: Values of an output that are computed together.
TOGETHER = 1_000_000

#: Numbers that NumPy handles in one call, after which interrupts are heard: some hundredths of a second.
PIECE = 1 << 22

#: Steps that a trajectory may take unless more are asked for.
STEPS_BY_DEFAULT = 100_000

#: Ends of a motion in its unit of time: beyond, the 20th derivative times a step's 20th power leaves the floats.
SHORTEST, LONGEST = 1e-20, 1e20

#: Trajectories for which compiling their equations pays.
NATIVE_FROM = 2000


def trajectory(
    problem: ODE | DDE | Map | MotionModel,
    times: ArrayLike,
    *,
    start: Mapping[str, StateValue] | None = None,
    rtol: float = 1e-8,
    atol: float = 0.0,
    max_steps: int = STEPS_BY_DEFAULT,
    max_step: float | None = None,
    method: str = "taylor",
    throw: bool = False,
) -> xr.Dataset:
    """States and outputs at given times, at every point of the parameters' grid.

    Parameters
    ----------
    problem : ODE, DDE or Map, or a model with such a view
    times : 1-D array
        Times of the result, increasing, >= 0, in the problem's unit of time (whole numbers for a map). The trajectory
        begins at 0 whatever the first of them.
    start : mapping state -> number or array, optional
        Initial values instead of the problem's own; a 1-D array spans the dimension "start_STATE".
    rtol, atol : float
        A step's error is kept below atol + rtol (|state| + |its change in a step|). Not used for maps. Without an
        `atol`, what almost dies out and grows again keeps its digits, down to 1e-270 (1e-100 with SciPy's methods).
    max_steps : int
        Steps that one trajectory may take.
    max_step : float, optional
        Longest step, > 0, in the problem's unit of time: shorter than the narrowest event that the equations may hide.
        Not used for maps.
    method : {"taylor", "scipy", "radau"}
        "taylor": Taylor series of the equations, many trajectories at once, compiled; the first call on a machine
        takes some seconds. "scipy": DOP853, one trajectory after the other, for a second opinion. "radau": Radau IIA
        of order 5 with the exact Jacobian, for stiff problems, one trajectory after the other. Both are SciPy's, for
        ODEs without switches; their steps end at each of the times.
    throw : bool
        Raise DynamicsError at the first trajectory that fails instead of marking it.

    Returns
    -------
    xarray.Dataset
        One variable a quantity, over ([flow,] parameters..., time); `status` over the parameters. Values behind
        the time of failure are NaN.

    Raises
    ------
    DomainError
        Times that do not increase, parameters outside their domain, or a delay longer than the horizon of a
        problem without a history.
    DynamicsError
        No initial value for a state; a function that is not known; a history that is not finite or changes too fast
        to be followed; terms of time that change at too many places; with `throw`, a trajectory that failed.
    LimitError
        More memory or work than is allowed, for a history too. The work is what the request takes at least;
        `max_steps` bounds the rest.

    Notes
    -----
    Switches (Max, Min, Piecewise, ...) are located to rounding and steps end there; delayed values come from the
    Taylor polynomials of earlier steps, and discontinuities of the past, those of a history too, are carried forward,
    so that the error control holds across both. The number of steps grows as 1/delay for delays below the natural step.

    A step sees the equations at its beginning. Terms that depend on time (and parameters) alone are examined over the
    whole time beforehand, by bounds on their values. So a pulse is not jumped over, however narrow it is (down to 1e-12
    of the time); only a pulse in a product below 1e-6 of the product's largest value may hide. Where more places need
    it than there is room for, an error requests a `max_step`. Not examined are: terms that mix states and time, as
    exp(-(x - t)^2); narrow places in a state's own space, as exp(-1e6 (x - 5)^2); an argument of a switch that is flat
    to rounding on the way to its zero, as tanh(100 (x - 5)). For these give a `max_step` shorter than the time that the
    trajectory spends there.

    Examples
    --------
    >>> import sympy
    >>> w, r = sympy.symbols("w r")
    >>> logistic = ODE(rhs={"w": r * w * (1 - w)}, parameters={"r": 2.0}, start={"w": 0.1})
    >>> round(trajectory(logistic, [0.0, 1.0, 10.0]).w.values.tolist()[1], 6)
    0.450853
    """
    dynamics = as_problem(problem, DDE, ODE, Map)
    if start is not None:
        dynamics = dynamics.starting(start)
    if ends := _ends_of_histories(dynamics):
        dynamics = dynamics.starting(ends)
    ticks = _check_times(times, dynamics)
    _check_size(dynamics, ticks)
    rtol, atol = _check_tolerance("rtol", rtol, 1e-15), _check_tolerance("atol", atol, 0.0)
    if not (isinstance(max_steps, Integral) and not isinstance(max_steps, bool) and 1 <= max_steps <= 10**12):
        raise DomainError(f"max_steps must be a whole number in [1, 1e12], got {shown(max_steps)}")
    max_steps, longest = int(max_steps), _check_max_step(max_step)
    system = compile_system(dynamics)
    values, status = motions(system, ticks, rtol, atol, max_steps, longest, method)
    if throw and status.any():
        at = int(np.flatnonzero(status)[0])
        raise DynamicsError(f"{dynamics.name} failed at {system.grid.point(at)}: {reason(status[at])}")
    n, settings = len(system.labels), {"rtol": rtol, "atol": atol, "method": method}
    if max_step is not None:
        settings["max_step"] = longest
    data = to_variables(system, system.labels, values[:n], "time")
    data |= to_variables(system, list(dynamics.outputs), values[n:], "time")
    coords = system.grid.coords | {"time": ("time", ticks, {"units": dynamics.time_units, "long_name": "time"})}
    data["status"] = status_variable(system.grid, status)
    return as_dataset(data, coords, provenance(dynamics, "trajectory", **settings))


def motions(
    system: System,
    ticks: Array,
    rtol: float,
    atol: float,
    max_steps: int = STEPS_BY_DEFAULT,
    max_step: float = math.inf,
    method: str = "taylor",
) -> tuple[Array, NDArray[np.uint8]]:
    """`trajectory` of compiled equations: (states and outputs, size, times) values and (size,) codes."""
    ends = _ends_of_histories(system.problem)
    system = system.starting(ends) if ends else system
    is_map = isinstance(system.problem, Map)
    shape = (len(system.labels) + len(system.outputs.outputs), system.size, ticks.size)
    values = np.empty(shape) if is_map else _nan_array(shape)  # a map writes all of them
    status = np.zeros(system.size, np.uint8)
    beginning = system.start_values()
    if not np.isfinite(beginning).all():
        row = int(np.flatnonzero(~np.isfinite(beginning).all(axis=1))[0])
        bad = beginning[row][~np.isfinite(beginning[row])][0]
        raise DomainError(f"the initial value of {system.labels[row]} must be a finite number, got {bad:g}")
    task = _Task(system, beginning, ticks, values, status, rtol, atol, max_steps, max_step)
    if is_map:
        _iterate(task)
    else:
        _check_horizon(system, ticks)
        _check_delays(system, ticks, int(max_steps))
        _check_most(system, int(max_steps))
        _integrate(task, method)
    return values, status


def _nan_array(shape: tuple[int, ...]) -> Array:
    """An array of NaN. Python is asked for interrupts between pieces: the first touch of gigabytes takes seconds."""
    values = np.empty(shape)
    flat = values.reshape(-1)
    for low in range(0, flat.size, PIECE):
        flat[low : low + PIECE] = np.nan
    return values


def _ends_of_histories(problem: Dynamics) -> dict[str, Any]:
    """Where states begin that have a history but no initial value."""
    import sympy

    missing = {k: e for k, e in getattr(problem, "history", {}).items() if k not in problem.start}
    return {
        k: sympy.sympify(e).subs({s: 0 for s in sympy.sympify(e).free_symbols if s.name == TIME})
        for k, e in missing.items()
    }


def _check_max_step(max_step: float | None) -> float:
    if max_step is None:
        return math.inf
    longest = as_float(max_step)
    if not longest > 0 or not is_float(max_step):
        raise DomainError(f"max_step must be a number above 0, in the problem's unit of time, got {shown(max_step)}")
    return longest


def _check_tolerance(name: str, value: Any, low: float) -> float:
    tolerance = as_float(value)
    if not low <= tolerance < 1:
        raise DomainError(f"{name} must be a number in [{low:g}, 1), got {shown(value)}")
    return tolerance


def _check_times(times: ArrayLike, problem: Dynamics) -> Array:
    if hasattr(times, "dtype"):
        many = int(np.size(times))
        check_memory(f"{many:,} times and their results", 16.0 * many, "ask for fewer")
    elif isinstance(times, Sized):
        many = len(times)
        check_memory(f"{many:,} times", 80.0 * many, "ask for fewer, or give a NumPy array")
    ticks = np.atleast_1d(real_array(f"times [{problem.time_units}]", times))
    if ticks.ndim != 1 or ticks.size == 0:
        raise DomainError(f"times must be a 1-D array of numbers, got shape {ticks.shape}")
    if isinstance(problem, Map) and ticks[-1] > 1e8:
        raise DomainError(f"a map can take at most 1e8 steps, got {digits(ticks[-1])}")
    for low in range(0, ticks.size, PIECE):  # no second array of that size, and the first fault ends it
        part = ticks[low : low + PIECE + 1]
        if not (np.isfinite(part).all() and part[0] >= 0 and (np.diff(part) > 0).all()):
            raise DomainError("times must be finite, >= 0 and increasing; the motion begins at 0")
        if isinstance(problem, Map) and (part != np.round(part)).any():
            raise DomainError(f"times of a map must be whole numbers of steps, got {digits(part[part % 1 != 0][0])}")
    return ticks


def _check_size(problem: Dynamics, ticks: Array) -> None:
    """What the request takes at least, before its grid is made."""
    starts = {f"start_{k}": v for k, v in problem.start.items() if not is_symbolic(v) and dimensions(v)}
    points = math.prod(span({**problem.parameters, **starts})[1].values())
    recorded = len(problem.labels) + len(problem.outputs)
    what = f"{recorded} quantities at {points:,} points and {ticks.size:,} times"
    kept = recorded * ticks.size + 3 * len(problem.labels) + 2 * len(problem.parameters)
    check_memory(what, 8.0 * points * kept, "ask for fewer times or points, or sweep in blocks")
    if isinstance(problem, Map):
        steps = f"{ticks[-1]:,.0f} steps of a map at {points:,} points"
        check_work(steps, 3.0 * points * recorded * (ticks[-1] + 1), "ask for fewer steps or points")
    else:
        check_work(what, 20.0 * points * recorded * ticks.size, "ask for fewer times or points")


def _check_most(system: System, max_steps: int) -> None:
    """All that the request may take, where that was asked for: beyond the default, `max_steps` is a budget to keep.

    A step of a Taylor series of order k takes some 2 k + k^2/2 operations for one of the equations; 200 here, a mean.
    """
    if max_steps > STEPS_BY_DEFAULT:
        check_work(
            f"up to {max_steps:,} steps (max_steps) at {system.size:,} points",
            200.0 * max_steps * system.size * len(system.labels),
            "give a smaller max_steps or fewer points",
        )


def _check_delays(system: System, ticks: Array, max_steps: int) -> None:
    """No step of a delay equation is much longer than the delay."""
    lags = system.lag_values() if system.delayed else np.zeros((0, system.size))
    if not lags.any():
        return
    steps = float(np.minimum(ticks[-1] / np.where(lags > 0, lags, np.inf), max_steps).max(axis=0).sum())
    check_work(
        f"delays from {lags[lags > 0].min():g} {system.problem.time_units} on, over {ticks[-1]:g},",
        200.0 * steps * (len(system.rhs.ops) + len(system.outputs.ops)),
        "ask for earlier times, fewer points, or leave the delay out where it is short",
    )


def _check_horizon(system: System, ticks: Array) -> None:
    problem = system.problem
    if ticks[-1] > 0 and not SHORTEST <= ticks[-1] <= LONGEST:
        raise DomainError(
            f"the last time must lie in [{SHORTEST:g}, {LONGEST:g}] {problem.time_units}, got {digits(ticks[-1])}, "
            "where high derivatives leave the floating-point numbers; choose another unit of time"
        )
    if not isinstance(problem, DDE) or problem.history or not system.delayed:
        return
    lags = system.lag_values()
    if lags.max() > ticks[-1]:
        name = system.delayed[int(np.argmax(lags.max(axis=1)))]
        raise DomainError(
            f"the delay of {name}, {digits(lags.max())} {problem.time_units}, is longer than the horizon "
            f"{digits(ticks[-1])}, so "
            "that the past decides all; ask for later times or give the problem a history"
        )


def _iterate(task: _Task) -> None:
    system, values, status = task.system, task.values, task.status
    n, orbit = len(system.labels), Iteration(system, task.beginning)
    with np.errstate(all="ignore"):
        for j, tick in enumerate(task.ticks):
            orbit.advance(int(tick) - orbit.step)
            values[:n, :, j] = orbit.states
            if system.problem.outputs:
                values[n:, :, j] = orbit.outputs()
    lost = np.zeros(system.size, bool)
    times = max(1, PIECE // len(values))
    points = max(1, times // task.ticks.size)
    for low in range(0, system.size, points):
        for first in range(0, task.ticks.size, times):
            part = values[:, low : low + points, first : first + times]
            unknown = np.asarray(~np.isfinite(part[:n]).all(axis=0))
            part[:, unknown] = np.nan
            lost[low : low + points] |= unknown.any(axis=1)
    if lost.any():
        status[lost] = _why_lost(task, np.flatnonzero(lost))


def _why_lost(task: _Task, points: NDArray[np.intp]) -> NDArray[np.uint8]:
    """These points of a map once more, each to the step at which a state is no number any more."""
    reason = np.zeros(points.size, np.uint8)
    orbit = Iteration(task.system, task.beginning[:, points], points)
    with np.errstate(all="ignore"):
        while not reason.all():
            before = abs(orbit.states).max(axis=0)
            states = orbit.advance().states
            now = (reason == 0) & ~np.isfinite(states).all(axis=0)
            grew = (np.isinf(states).any(axis=0) & (before > 100)) | (before > 1e100)
            reason[now] = np.where(grew, Status.OVERFLOW, Status.SINGULAR)[now]
    return reason


def _integrate(task: _Task, method: str) -> None:
    system = task.system
    if not isinstance(method, str) or method not in ("taylor", *METHODS):
        raise DynamicsError(f"method must be taylor, {' or '.join(METHODS)}, got {shown(method)}")
    plain = isinstance(system.problem, ODE) and not any(
        op.kind in ("min", "max", "step") for op in (*system.rhs.ops, *system.outputs.ops)
    )
    if method in METHODS and not plain:
        raise DynamicsError(f"method {method} takes ODEs without switches; use taylor")
    ends = _by_scipy(task, method) if method in METHODS else _by_taylor(task)
    if method not in METHODS:
        _outputs_of_states(task)
    short = np.flatnonzero(task.status == Status.STEPS)
    if short.size and method != "radau":
        task.status[short[is_stiff(system, short, ends[:, short])]] = Status.STIFF if plain else Status.STIFF_SWITCHED


def _from_series(system: System) -> NDArray[np.bool_]:
    """Which outputs the steps record from their own series: those that hold delayed values, or jump."""
    builder = Builder()
    place = builder.extend(system.outputs)
    programs = [builder.build([place[i]]) for i in system.outputs.outputs]
    kept = [any(op.kind == "step" or op.value in system.delayed for op in program.ops) for program in programs]
    return np.array(kept, dtype=bool)


def _outputs_of_states(task: _Task) -> None:
    """Outputs once more, from the states: a steep one's own series is not what the steps were chosen for.

    Those that hold delayed values, or jump, stay as the steps gave them: the steps know the past, and the side.
    """
    system, values, n = task.system, task.values, len(task.system.labels)
    rows = np.flatnonzero(~_from_series(system))
    if not rows.size:
        return
    builder = Builder()
    place = builder.extend(system.outputs)
    program = builder.build([place[system.outputs.outputs[row]] for row in rows])
    many = max(1, TOGETHER // task.ticks.size)
    for low in range(0, system.size, many):
        part = slice(low, min(low + many, system.size))
        states = values[:n, part].reshape(n, -1)
        count = states.shape[1] // task.ticks.size
        now = dict(zip(system.labels, states, strict=True)) | {TIME: np.tile(task.ticks, count)}
        points = np.repeat(np.arange(low, low + count), task.ticks.size)
        with np.errstate(all="ignore"):
            fresh = system.evaluate(program, now, points)
        fresh[:, np.isnan(states).any(axis=0)] = np.nan
        values[n + rows, part] = fresh.reshape(len(rows), count, -1)


def _by_scipy(task: _Task, method: str) -> Array:
    """Returns where each trajectory ended: (states, slopes, time, last step; size)."""
    system, ticks, values = task.system, task.ticks, task.values
    n, ends = len(system.labels), np.zeros((2 * len(system.labels) + 2, system.size))
    halts = stops(system, ticks[-1], _order(task.rtol, False), task.rtol, task.max_step)
    for i in range(system.size):
        states, task.status[i], ends[:, i] = follow(
            system,
            i,
            task.beginning[:, i],
            ticks,
            method,
            task.rtol,
            task.atol,
            task.max_steps,
            task.max_step,
            halts[:, min(i, halts.shape[1] - 1)],
        )
        reached = states.shape[1]
        values[:n, i, :reached] = states
        if system.problem.outputs:
            now = dict(zip(system.labels, states, strict=True)) | {"t": ticks[:reached]}
            values[n:, i, :reached] = system.evaluate(system.outputs, now, np.full(reached, i))
    return ends


def _by_taylor(task: _Task) -> Array:
    """Returns where each trajectory that failed ended: (states, slopes, time, last step; size)."""
    from . import taylor_steps
    from .taylor_kernel import integrate
    from .taylor_lanes import bind, equations, with_room
    from .taylor_operations import LANES
    from .taylor_tape import write_tape

    system, beginning, ticks, values = task.system, task.beginning, task.ticks, task.values
    tape = write_tape(system)
    order = _order(task.rtol, bool(system.delayed))
    size = system.size
    # Terms of the highest order of other values than states are wanted only where something reads them.
    all_orders = bool(len(system.problem.outputs) or tape.past.size or tape.guards.size)
    final_order = order if all_orders else order - 1
    code: dict[str, int] = {}
    if size >= NATIVE_FROM:
        from .taylor_native import MAX_PRODUCTS, native_code, products

        if products(tape, order) <= MAX_PRODUCTS:
            code = native_code(tape, order, final_order)
    params = np.empty((len(tape.names), size))
    for row, name, constant in zip(params, tape.names, tape.constants, strict=True):
        row[:] = system.grid.values[name] if name else constant
    all_lags = system.lag_values() if system.delayed else np.empty((0, size))
    past = past_polynomials(system, tape.past_names, beginning, all_lags, order)
    halts = stops(system, ticks[-1], order, task.rtol, task.max_step) if tape.clock >= 0 else np.empty((0, 1))
    varying = {
        "history": past.coefficients, "edges": past.edges, "ends_in": past.levels, "stops": halts, "params": params,
        "start": beginning, "all_lags": all_lags,
    }  # fmt: skip
    taken, ends = np.zeros(size, np.int64), np.zeros((2 * len(system.labels) + 2, size))
    stop = np.zeros(1, np.int64)
    codes = np.zeros(size, np.int64)
    # What is steeper than the states that it is made of sets the steps too.
    own_series = tape.recorded[len(system.labels) :][_from_series(system)]
    followed = np.unique(np.concatenate([tape.states, tape.past, own_series]))
    shared = equations(tape, followed, order) | code | {
        "times": np.ascontiguousarray(ticks), "stop": stop, "order": order, "final_order": final_order,
        "rtol": 0.1 * task.rtol, "atol": 0.1 * task.atol, "max_steps": task.max_steps, "max_step": task.max_step,
    }  # fmt: skip

    def run(points: Any, capacity: int) -> None:
        local = slice(None) if points is None else points
        many = size if points is None else points.size
        out = values if points is None else np.empty((values.shape[0], many, ticks.size))
        reason, count = np.zeros(many, np.int64), np.zeros(many, np.int64)
        end = np.zeros((ends.shape[0], many))
        columns = {k: np.ascontiguousarray(x[..., local] if x.shape[-1] == size else x) for k, x in varying.items()}
        results = {"out": out, "status": reason, "taken": count, "end": end}
        pieces = 1 << (max(capacity, past.levels.shape[0]) - 1).bit_length()
        arrays = shared | columns | results
        lanes = bind(arrays | {"capacity": pieces})
        workers = min(processors(), max(1, many // LANES))
        shares = 1 if workers == 1 else max(1, many // SHARE)  # small enough that no processor waits for long
        bounds = np.linspace(0, many, max(shares, workers) + 1).astype(int)

        def share(low: int, high: int) -> tuple[Any, Any]:
            record, room = with_room(lanes, low, high)
            integrate(record)
            return arrays, room  # so that a thread keeps what it writes to

        if not integrate.signatures:
            share(0, 0)  # compiled here, where Ctrl-C is heard
        in_threads(share, bounds.tolist(), workers, stop)
        if points is not None:
            values[:, points] = out
        codes[local], taken[local], ends[:, local] = reason, count, end

    room = 2 * past.levels.shape[0]  # beside what a lane remembers of its own way
    run(None, max(64, room) if tape.past.size else 1)
    # Some looked further back than they remember: once more, with a longer memory (at most 2 GB).
    for capacity in (16_384, 262_144) if tape.past.size else ():
        short = np.flatnonzero((codes == Status.STEPS) & (taken < task.max_steps))
        piece = LANES * tape.past.size * (order + 1) * 8 * min(processors(), max(1, short.size // LANES))
        if short.size and capacity > room and capacity * piece < 2**31:
            run(short, capacity)
    codes[codes == taylor_steps.SLIDES], codes[codes == taylor_steps.SINGULAR] = (Status.SLIDES, Status.SINGULAR)
    task.status[:] = codes
    return ends


def in_threads(work: Callable[[int, int], Any], bounds: Sequence[int], workers: int, stop: NDArray[np.int64]) -> None:
    """`work(low, high)` for neighbouring bounds; an interrupt makes `stop` 1 and ends once each thread heeds it.

    A thread that an interrupt finds starting is unknown to the pool: it heeds `stop` a little later.
    """
    pool = ThreadPoolExecutor(workers)
    try:
        list(pool.map(work, bounds[:-1], bounds[1:]))
    except BaseException as error:
        stop[0] = 1
        if isinstance(error.__context__, KeyboardInterrupt):  # a lock of a thread that starts, left half taken
            raise KeyboardInterrupt from None
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _order(rtol: float, delays: bool) -> int:
    """Degree of the Taylor polynomials: about the cheapest, by measurement; looking back costs once a step."""
    return max(8, math.ceil(2 - math.log(rtol) if delays else 4 - 0.5 * math.log(rtol)))
