"""What every comparison is: a run that ends in effects with intervals and verdicts, a figure, a paragraph."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence, Sized
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tcpdynamics import __version__
from tcpdynamics.errors import DomainError, shown
from tcpdynamics.progress import tracked

from ..statistics import mean_interval

if TYPE_CHECKING:
    import plotly.graph_objects as go

Array = NDArray[np.float64]


class Verdict(StrEnum):
    """The one vocabulary of verdicts."""

    AGREES = "agrees"
    CLOSE = "close"
    DIFFERS = "differs"
    UNDECIDED = "undecided"
    NO_ANSWER = "no answer"


#: An interval that holds zero is called agreement if it is no wider than this, to either side.
WIDEST = 0.01
RULE = f"differs: the interval misses zero; agrees: it holds zero and reaches {WIDEST:.0%} at most"

#: The relative effect that does not matter, unless a comparison has one of its own.
TOLERANCE = 0.05
#: Distances of laws up to which they agree, and are close.
AGREES, CLOSE = 0.05, 0.10

#: Values that a setting may list.
MOST_VALUES = 10_000

#: Simulations by which an interval is divided.
PARTS = 8

#: Name -> class, of all comparisons that are loaded; not of their bases.
KINDS: dict[str, type[Comparison]] = {}


class Comparison(ABC):
    """Base of all comparisons: a frozen dataclass whose fields are its settings.

    A new comparison gives `run`, `figure` and `paragraph`; `attributes` and `critical_value` are there.

    Attributes
    ----------
    effect : (str, str, str)
        Variables of the result that hold the effect and the ends of its interval; its verdict is `verdict`.
    rule : str
        When a verdict is which.
    quick : dict
        Settings of a shorter run.
    command : str
        After `tcpdynamics validate`; its help is the first line of the file. "" for a comparison without.
    """

    effect: ClassVar[tuple[str, str, str]] = ("gap", "gap_low", "gap_high")
    rule: ClassVar[str] = RULE
    quick: ClassVar[dict[str, Any]] = {}
    command: ClassVar[str] = ""
    rounds: int = 4

    def __init_subclass__(cls, listed: bool = True) -> None:
        if listed:
            KINDS[cls.__name__] = cls

    def __post_init__(self) -> None:
        """Refuse counts of runs, and a seed, that are no whole numbers, or too small. Raises DomainError."""
        for name in ("replications", "seeds", "ours"):
            if hasattr(self, name) and not (_is_whole(getattr(self, name)) and getattr(self, name) >= 2):
                raise DomainError(
                    f"{name} must be at least 2 for an interval, and a whole number, got {shown(getattr(self, name))}"
                )
        seed = getattr(self, "seed", 0)
        if not (_is_whole(seed) and 0 <= seed <= 2**64):
            raise DomainError(f"seed must be a whole number in [0, 2**64], got {shown(seed)}")

    @abstractmethod
    def run(self) -> xr.Dataset:
        """Simulate, predict, compare: a Dataset with effects, intervals and verdicts."""

    @staticmethod
    @abstractmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """Predictions and measurements with their intervals, from the result alone."""

    @staticmethod
    @abstractmethod
    def paragraph(result: xr.Dataset) -> str:
        """The result in words, made from its numbers; an empty line separates paragraphs."""

    def attributes(self) -> dict[str, Any]:
        """Attributes of the result: which comparison, with which settings, and the rule of its verdicts."""
        return {
            "comparison": type(self).__name__, "version": __version__,
            "parameters": json.dumps(asdict(self)), "verdicts": self.rule,  # type: ignore[call-overload]
        }  # fmt: skip

    def critical_value(
        self, rates: Callable[[Array], tuple[Array, Array]], low: float, high: float
    ) -> tuple[float, float, float]:
        """Where decay turns to growth, by `rounds` divisions of the interval; see `critical_value`."""
        return critical_value(rates, low, high, rounds=self.rounds)


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_length(name: str, values: Sized) -> None:
    """Refuse a setting that lists nothing, or more than is ever shown. Raises DomainError.

    Examples
    --------
    >>> check_length("flows", range(10**9))
    Traceback (most recent call last):
    ...
    tcpdynamics.errors.DomainError: flows must list 1 to 10,000 values, got 1,000,000,000
    """
    if not 1 <= len(values) <= MOST_VALUES:
        raise DomainError(f"{name} must list 1 to {MOST_VALUES:,} values, got {len(values):,}")


def grade(low: Any, high: Any, widest: float = np.inf) -> Any:
    """Verdicts by intervals of effects.

    Returns
    -------
    array of str
        "no answer" where an end is not a number, "differs" where the interval misses zero, "agrees" where it holds zero
        and its half-width is at most `widest`, else "undecided".

    Examples
    --------
    >>> grade(np.array([-1.0, 0.1, np.nan]), np.array([1.0, 0.2, 1.0])).tolist()
    ['agrees', 'differs', 'no answer']
    """
    low, high = np.asarray(low), np.asarray(high)
    known = np.isfinite(low) & np.isfinite(high)
    misses, narrow = (low > 0) | (high < 0), (high - low) / 2 <= widest
    cases = ((~known, Verdict.NO_ANSWER), (misses, Verdict.DIFFERS), (narrow, Verdict.AGREES))
    return _first_case(cases, Verdict.UNDECIDED)


def grade_tolerance(low: Any, high: Any, tolerance: float) -> Any:
    """Verdicts by intervals and an effect that does not matter.

    Returns
    -------
    array of str
        "agrees" where the whole interval lies within the tolerance, "differs" where all of it lies beyond, "undecided"
        where it reaches both sides, "no answer" where an end is not a number.

    Examples
    --------
    >>> grade_tolerance([-0.01, 0.02, 0.06], [0.02, 0.08, 0.08], 0.05).tolist()
    ['agrees', 'undecided', 'differs']
    """
    low, high = np.asarray(low), np.asarray(high)
    known = np.isfinite(low) & np.isfinite(high)
    within = (low >= -tolerance) & (high <= tolerance)
    beyond = (low > tolerance) | (high < -tolerance)
    cases = ((~known, Verdict.NO_ANSWER), (within, Verdict.AGREES), (beyond, Verdict.DIFFERS))
    return _first_case(cases, Verdict.UNDECIDED)


def grade_distance(low: Any, high: Any, agrees: float, close: float) -> Any:
    """Verdicts by the interval of a distance.

    Returns
    -------
    array of str
        "agrees" and "close" where all of the interval is at most so much, "differs" where all of it lies beyond
        `close`, "undecided" where it reaches both sides of `close`, "no answer" where an end is not a number.

    Examples
    --------
    >>> grade_distance([0.0, 0.04, 0.4, 0.09], [0.01, 0.07, 0.5, 0.11], 0.05, 0.10).tolist()
    ['agrees', 'close', 'differs', 'undecided']
    """
    low, high = np.asarray(low), np.asarray(high)
    cases = (
        (np.isnan(low) | np.isnan(high), Verdict.NO_ANSWER),
        (high <= agrees, Verdict.AGREES),
        (high <= close, Verdict.CLOSE),
        (low > close, Verdict.DIFFERS),
    )
    return _first_case(cases, Verdict.UNDECIDED)


def _first_case(cases: Sequence[tuple[Any, Verdict]], otherwise: Verdict) -> Any:
    """The verdict of the first condition that holds."""
    return np.select([c for c, _ in cases], [v.value for _, v in cases], otherwise.value)


def critical_value(
    rates: Callable[[Array], tuple[Array, Array]], low: float, high: float, *, rounds: int = 4, parts: int = PARTS
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
    for _ in tracked(range(rounds)):
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
    measured: Any, predicted: Any, dims: dict[str, Any], units: str, text: str
) -> dict[str, xr.DataArray]:
    """`critical`, its interval, `critical_predicted`, `critical_gap` (relative) and `critical_verdict`.

    Parameters
    ----------
    measured : (..., 3) array of what `critical_value` gave
    predicted : array
    dims : dimension -> coordinate
    """
    array = np.asarray(measured, dtype=float)

    def to_dataarray(values: Any, name: str) -> xr.DataArray:
        shaped = np.asarray(values, float).reshape(array.shape[:-1])
        return xr.DataArray(shaped, dims, tuple(dims), attrs={"units": units, "long_name": name})

    value, low, high = (
        to_dataarray(array[..., i], f"{text}{s}") for i, s in enumerate((" measured", ", low", ", high"))
    )
    expected = to_dataarray(predicted, f"{text} predicted")
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
    verdict = xr.DataArray(grade(gap - half, gap + half, WIDEST), gap.coords, gap.dims)
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
    numbers = measured[["decay", "frequency", "error"]].reset_coords(drop=True)
    rates = numbers[["decay", "frequency"]].to_array("quantity")
    compared = against(rates, numbers.error, expected, abs(roots))
    return xr.Dataset({"measured": rates, "predicted": expected, "error": numbers.error, **compared})


def interval(values: xr.DataArray, name: str, fraction: bool = False) -> dict[str, xr.DataArray]:
    """`name`, `name_low`, `name_high`: mean over replications with its 95 % interval."""
    ends = mean_interval(values.drop_vars("seed", errors="ignore"), fraction=fraction)
    units = {"units": values.attrs.get("units", "1")}
    suffixes = {"": "mean", "_low": "low", "_high": "high"}
    return {f"{name}{suffix}": ends[which].assign_attrs(units) for suffix, which in suffixes.items()}


def interval_of(values: Any) -> tuple[float, float, float]:
    """Mean of some numbers, and the ends of its 95 % interval."""
    ends = mean_interval(xr.DataArray(np.asarray(values, float), dims="replication"))
    return float(ends["mean"]), float(ends["low"]), float(ends["high"])


def interval_text(part: xr.Dataset, name: str = "mean", form: str = ".3f") -> str:
    """A number with its interval.

    Examples
    --------
    >>> interval_text(xr.Dataset({"mean": 0.25, "mean_low": 0.2, "mean_high": 0.3}))
    '0.250 [0.200, 0.300]'
    """
    value, low, high = (f"{float(part[name + end]):{form}}" for end in ("", "_low", "_high"))
    return f"{value} [{low}, {high}]"


def counts(verdicts: xr.DataArray) -> str:
    """How many agree and how many do not, as in "7 of 8 agree, 1 differ"."""
    values = verdicts.values.ravel()
    agree = int((values == Verdict.AGREES).sum())
    words = {
        Verdict.CLOSE: "close", Verdict.DIFFERS: "differ", Verdict.UNDECIDED: "undecided",
        Verdict.NO_ANSWER: "without an answer",
    }  # fmt: skip
    others = [f"{int((values == v).sum())} {word}" for v, word in words.items() if (values == v).any()]
    return f"{agree} of {values.size} agree" + "".join(f", {o}" for o in others)
