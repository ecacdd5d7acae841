"""How a small disturbance dies out, measured on a trajectory: decay rate, frequency, and where they turn to growth.

A trajectory near a point of rest is a sum of exponentials e^(z t). The slowest comes from the matrix pencil
method (Prony's, made stable by a singular value decomposition) on samples at equal distances, of which only those
are used that are neither lost in rounding nor so large that the equations are not linear. Its uncertainty has
two parts: how far the result moves with the stretch of time that is looked at, and with half the disturbance.

References
----------
.. [1] Y. Hua, T. K. Sarkar, Matrix pencil method for estimating parameters of exponentially damped/undamped sinusoids
   in noise, IEEE Transactions on Acoustics, Speech, and Signal Processing 38(5), 1990; doi:10.1109/29.56027
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tcpdynamics.limits import check_memory
from tcpdynamics.solvers import trajectory
from tcpdynamics.solvers.problems import DynamicsError

Array = NDArray[np.float64]

#: Relative size of the disturbance; it is also run with half of it.
SIZE = 1e-4
#: Samples of a fit, and the longest sum of exponentials fitted. With more, linear algebra takes several threads,
#: which is slower by a factor of thirty where processors are shared.
SAMPLES, TERMS = 60, 6
#: A deviation below this share of the disturbance, or above this value, is not used.
SMALLEST, LARGEST = 1e-7, 1e-2
#: The uncertainty is that many times the movement of the result; it is never taken as less than a part of |z|.
SAFETY, LEAST = 3.0, 1e-7


def slowest(deviation: Array, step: float) -> complex:
    """The slowest exponent in a sum of exponentials [1/time], imaginary part >= 0.

    Parameters
    ----------
    deviation : (quantities, m) array
        At times `step` apart; m >= 12.

    Examples
    --------
    >>> t = np.arange(200) * 0.05
    >>> z = slowest(np.atleast_2d(np.exp(-0.3 * t) * np.cos(2 * t) + np.exp(-2 * t)), 0.05)
    >>> print(f"{z.real:.9f} {z.imag:.9f}")
    -0.300000000 2.000000000
    """
    width = deviation.shape[1] // 3
    rows = np.concatenate([np.lib.stride_tricks.sliding_window_view(row, width + 1) for row in deviation])
    _, size, basis = np.linalg.svd(rows, full_matrices=False)
    kept = basis[: min(TERMS, int((size > SMALLEST * size[0]).sum()))]
    shift = np.linalg.lstsq(kept[:, :-1].T, kept[:, 1:].T, rcond=None)[0]
    with np.errstate(divide="ignore"):
        z = np.log(np.linalg.eigvals(shift).astype(complex)) / step
    z = z[np.isfinite(z)]
    waves = np.exp(np.outer(np.arange(deviation.shape[1]) * step, z))
    weight = np.abs(np.linalg.lstsq(waves, deviation.T.astype(complex), rcond=None)[0]).max(axis=1)
    real = z[weight > 1e-3 * weight.max()]
    z = real[np.argmax(real.real)]
    # A frequency that turns by less than a thousandth over the whole stretch is no frequency.
    turn = abs(z.imag) * step * deviation.shape[1]
    return complex(z.real, abs(z.imag) if turn > 1e-3 else 0.0)


def exponent(deviation: Array, step: float) -> tuple[complex, float]:
    """The slowest exponent of a trajectory and how far it moves between the parts of it.

    Parameters
    ----------
    deviation : (quantities, m) array, relative, at times `step` apart

    Returns
    -------
    complex and float; NaN where too little remains to be measured
    """
    size = np.nan_to_num(np.abs(deviation).max(axis=0), nan=np.inf)  # what grew until it failed
    first = size[: max(2, size.size // 50)].max()
    ahead = np.maximum.accumulate(size[::-1])[::-1]
    end = int(np.searchsorted(-ahead, -SMALLEST * first))
    end = min(end, int(np.argmax(size > LARGEST)) if (size > LARGEST).any() else size.size)
    begin = end // 5
    fits = [
        _fit(deviation[:, low:high], step)
        for low, high in ((begin, end), (begin + (end - begin) // 4, end), (begin, end - (end - begin) // 4))
    ]
    return fits[0], float(max(abs(z - fits[0]) for z in fits[1:]))


def exponents(large: Array, small: Array, step: float) -> tuple[NDArray[np.complex128], Array]:
    """Slowest exponents after a disturbance and after half of it, with the half-widths of their intervals.

    Parameters
    ----------
    large, small : (quantities, points, m) arrays of relative deviations at times `step` apart
    """
    z, error = np.empty(large.shape[1], complex), np.empty(large.shape[1])
    for i in range(large.shape[1]):
        whole, moved = exponent(large[:, i], step)
        z[i], fine = exponent(small[:, i], step)
        error[i] = max(SAFETY * max(abs(z[i] - whole), moved, fine), LEAST * abs(z[i]))
    return z, error


def _fit(part: Array, step: float) -> complex:
    if part.shape[1] < 12:
        return complex(np.nan, np.nan)
    strongest = part[np.argmax(np.abs(part).max(axis=1))]
    turns = int((np.diff(np.sign(strongest)) != 0).sum())
    if 2 * turns > SAMPLES:  # at least two samples a half-period
        part = part[:, : part.shape[1] * SAMPLES // (2 * turns)]
    stride = max(1, part.shape[1] // SAMPLES)
    thinned = part[:, ::stride]
    return slowest(thinned, stride * step) if thinned.shape[1] >= 12 else complex(np.nan, np.nan)


def disturbed(
    problem: Any, *, direction: Mapping[str, float] | None = None, scale: Mapping[str, Any] | None = None
) -> Any:
    """A problem that starts beside its first fixed point, with the relative deviation from it as an output.

    Parameters
    ----------
    problem : ODE or DDE with a closed-form fixed point
    direction : mapping state -> number, optional
        Of the disturbance; a state without a number keeps its value. Default: all of them, by 1.
    scale : mapping state -> expression, optional
        What deviations are divided by, default the fixed point.

    Returns
    -------
    the problem with the parameter "disturbance", two sizes, and the outputs "deviation[1]", ...
    """
    import sympy

    if not problem.fixed_points:
        raise DynamicsError(f"{problem.name} has no fixed point in closed form to start beside")
    point = problem.fixed_points[0]
    size = sympy.Symbol("disturbance", positive=True)
    unit = {k: sympy.sympify((scale or point)[k]) for k in point}
    move = dict.fromkeys(point, 1.0) if direction is None else direction
    start = {k: sympy.sympify(x) + size * move.get(k, 0.0) * unit[k] for k, x in point.items()}
    deviation = {
        f"deviation[{i}]": (sympy.Symbol(k, real=True) - point[k]) / unit[k] for i, k in enumerate(point, start=1)
    }
    sizes = xr.DataArray([SIZE, SIZE / 2], dims="disturbance")
    changed: dict[str, Any] = {
        "parameters": {**problem.parameters, "disturbance": sizes},
        "start": start,
        "outputs": {**problem.outputs, **deviation},
    }
    return problem.changed(**changed | ({"history": {}} if hasattr(problem, "history") else {}))


def operations(points: float, states: float, horizon: float, step: float) -> float:
    """What `measure` takes at so many points, beforehand: fits of all states, and two trajectories.

    Examples
    --------
    >>> operations(points=10, states=1, horizon=40.0, step=0.02)
    104000000.0
    """
    return points * states * (1e7 + 200.0 * horizon / step)


def measure(
    problem: Any,
    horizon: float,
    step: float,
    *,
    direction: Mapping[str, float] | None = None,
    scale: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """Run a problem from beside its fixed point and measure how the disturbance goes.

    Parameters
    ----------
    horizon, step : float
        Of the trajectory, in the problem's unit of time; `step` several times below the period.

    Returns
    -------
    xarray.Dataset over the problem's parameters
        `decay` = -Re z and `frequency` = |Im z| [1/time] with `error`, the half-width of the interval of either;
        `deviation`, the trajectories of the larger disturbance.
    """
    check_memory(f"{horizon / step:,.3g} samples", 32.0 * horizon / step, "ask for a shorter horizon")
    times = step * np.arange(round(horizon / step) + 1)
    run = trajectory(disturbed(problem, direction=direction, scale=scale), times, rtol=1e-13, atol=1e-15)
    deviation = run.deviation.transpose("flow", "disturbance", ..., "time")
    shape = deviation.shape[2:-1]
    flat = deviation.values.reshape(*deviation.shape[:2], -1, times.size)
    z, error = exponents(flat[:, 0], flat[:, 1], step)
    grid = deviation.dims[2:-1]
    units = f"1/{problem.time_units}"

    def variable(values: Array, text: str) -> Any:
        return (grid, values.reshape(shape), {"units": units, "long_name": text})

    return xr.Dataset(
        {
            "decay": variable(-z.real, "measured decay rate"),
            "frequency": variable(z.imag, "measured angular frequency"),
            "error": variable(error, "half-width of the interval of either"),
            "deviation": deviation.isel(disturbance=0),
        },
        {k: v for k, v in deviation.coords.items() if k not in ("disturbance", "flow")},
    )
