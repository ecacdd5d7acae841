"""Effect sizes with intervals, verdicts, and critical values by repeated division of an interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: An interval that holds zero is called agreement if it is no wider than this, to either side.
WIDEST = 0.01
RULE = f"differs: the interval misses zero; agrees: it holds zero and reaches {WIDEST:.0%} at most"


def critical_value(
    rates: Callable[[Array], tuple[Array, Array]], low: float, high: float, *, rounds: int = 4, parts: int = 8
) -> tuple[float, float, float]:
    """Where decay turns to growth, by repeated division of an interval: `parts` + 1 simulations a round.

    Parameters
    ----------
    rates : callable
        Decay rates at an array of values, with the half-widths of their intervals.
    low, high : float
        Values between which decay turns to growth, or the other way round.

    Returns
    -------
    value, and the interval that holds it: the last bracket, widened by what the errors allow. Where there is only
    decay, or only growth: NaN, and the interval (high, inf) of which nothing is known.

    Examples
    --------
    >>> value, low, high = critical_value(lambda x: (2.0 - x**2, 0 * x), 1.0, 2.0)
    >>> bool(low <= np.sqrt(2) <= high), high - low < 1e-3
    (True, True)
    """
    for _ in range(rounds):
        values = np.linspace(low, high, parts + 1)
        decay, error = rates(values)
        turns = np.flatnonzero((decay[:-1] > 0) != (decay[1:] > 0))
        if not turns.size or not np.isfinite(decay).all():
            return float("nan"), high, float("inf")
        at = int(turns[0])
        low, high = float(values[at]), float(values[at + 1])
    slope = (decay[at + 1] - decay[at]) / (high - low)
    widened = float(max(error[at], error[at + 1]) / abs(slope))
    return float(low - decay[at] / slope), low - widened, high + widened


def critical_variables(
    found: Any, predicted: Any, dims: dict[str, Any], units: str, text: str
) -> dict[str, xr.DataArray]:
    """`critical`, its interval, `critical_predicted`, `critical_gap` (relative) and `critical_verdict`.

    Parameters
    ----------
    found : (..., 3) array of what `critical_value` gave
    predicted : array
    dims : dimension -> coordinate
    """
    array = np.asarray(found, dtype=float)

    def labelled(values: Any, name: str) -> xr.DataArray:
        shaped = np.asarray(values, float).reshape(array.shape[:-1])
        return xr.DataArray(shaped, dims, tuple(dims), attrs={"units": units, "long_name": name})

    value, low, high = (
        labelled(array[..., i], f"{text}{s}") for i, s in enumerate((" measured", ", low", ", high"))
    )
    expected = labelled(predicted, f"{text} predicted")
    # Nothing measured up to the end of the range: right if nothing is predicted there either.
    none = np.isnan(value) & (expected >= low)
    compared = against((low + high) / 2, (high - low) / 2, expected, expected)
    verdict = compared["verdict"].where(~none, "agrees")
    return {
        "critical": value, "critical_low": low, "critical_high": high, "critical_predicted": expected,
        "critical_gap": value / expected - 1, "critical_verdict": verdict,
    }  # fmt: skip


def against(measured: Any, error: Any, predicted: Any, scale: Any) -> dict[str, xr.DataArray]:
    """Effect size, its interval and a verdict.

    Parameters
    ----------
    measured, error, predicted, scale : DataArrays
        A measured number, the half-width of its interval, what was predicted, and what the gap is divided by.

    Returns
    -------
    dict of DataArrays
        `gap` = (measured - predicted)/scale, `gap_low`, `gap_high`; `verdict`: "differs" where the interval misses
        zero, "agrees" where it holds zero and reaches 1 % at most, else "undecided".
    """
    gap, half = (measured - predicted) / scale, error / abs(scale)
    grades = np.select(
        [~np.isfinite(gap + half), abs(gap) > half, half <= WIDEST],
        ["no answer", "differs", "agrees"],
        "undecided",
    )
    verdict = xr.DataArray(grades, gap.coords, gap.dims)
    return {"gap": gap, "gap_low": gap - half, "gap_high": gap + half, "verdict": verdict}


def roots_against(measured: xr.Dataset, roots: Any) -> xr.Dataset:
    """What `measure` found against predicted exponents: `against` over `quantity` (decay, frequency), in units of |z|.

    Parameters
    ----------
    measured : Dataset with `decay`, `frequency`, `error`
    roots : complex DataArray of the same dimensions
    """
    roots = roots.reset_coords(drop=True)
    expected = xr.Dataset({"decay": -roots.real, "frequency": abs(roots.imag)}).to_array("quantity")
    plain = measured[["decay", "frequency", "error"]].reset_coords(drop=True)
    seen = plain[["decay", "frequency"]].to_array("quantity")
    compared = against(seen, plain.error, expected, abs(roots))
    return xr.Dataset({"measured": seen, "predicted": expected, "error": plain.error, **compared})


def counts(verdicts: xr.DataArray) -> str:
    """ "7 of 8 agree", and how many do not."""
    values = verdicts.values.ravel()
    agree = int((values == "agrees").sum())
    words = {"differs": "differ", "undecided": "undecided", "no answer": "without an answer"}
    others = [f"{int((values == v).sum())} {word}" for v, word in words.items() if (values == v).any()]
    return f"{agree} of {values.size} agree" + "".join(f", {o}" for o in others)
