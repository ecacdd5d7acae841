"""Rules of decision: from a published value or inequality and what was measured to a verdict.

There are four:

exact           a model's number: it lies in the published range, or it does not
mean            an inequality: the 95 % interval of our mean lies in the range, or beyond it, or reaches both
same            a number with a tolerance: two one-sided tests at 5 %, which is to say that the 90 % interval of our
                mean lies in the range, or beyond it, or reaches both
one more run    a published number that is itself a run, or the mean of `runs`: the 95 % interval for such a mean, made
                from our scatter, reaches the published number (to its rounding) or does not. It decides for the paper
                only where our own runs widen that interval little (`enough`)

Where runs go on until a claim is decided, the error is shared among all looks at the numbers (`looks`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

HOLDS = "holds"
CONDITIONS = "holds with conditions"
FAILS = "does not hold"
OPEN = "cannot be decided"
VERDICTS = (HOLDS, CONDITIONS, FAILS, OPEN)

EXACT, MEAN, SAME, RUN = "exact", "mean", "same", "one more run"
RULES = (EXACT, MEAN, SAME, RUN)

#: Bounds that a published inequality may have.
BOUNDS = ("least", "most", "above", "below")


@dataclass(frozen=True)
class Range:
    """Numbers that would bear a claim out; an open end does not count.

    Examples
    --------
    >>> Range.of({"above": 1.2}, 0.0, 0.0).holds(1.2), Range.of({"least": 1.2}, 0.0, 0.0).holds(1.2)
    (False, True)
    >>> Range.of(0.429, 0.0005, 0.0)
    Range(low=0.4285, high=0.4295, open_low=False, open_high=False)
    """

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    @classmethod
    def of(cls, published: float | Mapping[str, float], rounding: float, tolerance: float) -> Range:
        """A number with its rounding, or an inequality, both widened by a tolerance."""
        slack = rounding + tolerance
        if isinstance(published, Mapping):
            low = published.get("least", published.get("above", -math.inf))
            high = published.get("most", published.get("below", math.inf))
            return cls(low - tolerance, high + tolerance, "above" in published, "below" in published)
        return cls(round(published - slack, 12), round(published + slack, 12))

    def holds(self, value: float) -> bool:
        """Whether a number lies in it."""
        above = value > self.low if self.open_low else value >= self.low
        return above and (value < self.high if self.open_high else value <= self.high)


@dataclass(frozen=True)
class Interval:
    """A mean over `n` replications with its 95 % interval; of a model's number, all three are the same."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def known(self) -> bool:
        return math.isfinite(self.mean) and math.isfinite(self.low) and math.isfinite(self.high)


#: The error of a rule's interval, both sides together.
ERRORS = {MEAN: 0.05, SAME: 0.1, RUN: 0.05}
#: "One more run" decides for a paper where its interval is at most so much wider than with endless runs of our own.
WIDER = 1.25


def interval(values: Sequence[float], runs: int | None = None, error: float = 0.05) -> Interval:
    """Student's interval of the mean, or with `runs` the one in which the mean of so many more runs will lie.

    Values that are no numbers are left out. `error` is the probability that it misses, both sides together.

    Examples
    --------
    >>> mean = interval([1.0, 2.0, 3.0])
    >>> round(mean.low, 3), round(interval([1.0, 2.0, 3.0], runs=1).low, 3)
    (-0.484, -2.968)
    """
    array = np.asarray(values, float)
    array = array[np.isfinite(array)]
    n = array.size
    if n == 0:
        return Interval(math.nan, math.nan, math.nan, 0)
    mean = float(array.mean())
    if n == 1:
        return Interval(mean, math.nan, math.nan, 1)
    half = float(array.std(ddof=1)) * width(n, runs, error)
    return Interval(mean, mean - half, mean + half, n)


def width(n: int, runs: int | None, error: float) -> float:
    """Half of an interval from n runs, over their standard deviation."""
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, 1 - error / 2)) * math.sqrt(1 / n + (1 / runs if runs else 0.0))


def enough(n: int, runs: int) -> bool:
    """Whether n runs of ours are enough for "one more run" to decide for a paper that printed the mean of `runs`.

    >>> [next(n for n in range(2, 99) if enough(n, runs)) for runs in (1, 10)]
    [9, 25]
    """
    from scipy.special import ndtri

    least = float(ndtri(1 - ERRORS[RUN] / 2)) / math.sqrt(runs)
    return n > 1 and width(n, runs, ERRORS[RUN]) <= WIDER * least


def decided(rule: str, within: Range, values: Sequence[float], runs: int = 1, looks: int = 1) -> str:
    """The verdict of a rule on replications.

    Parameters
    ----------
    rule : str          "mean", "same" or "one more run".
    within : Range      Numbers that bear the claim out.
    values : sequence   A number of each replication.
    runs : int          Of "one more run": runs of which the published number is the mean.
    looks : int         How often the numbers are looked at while runs go on; each look has its part of the error.

    Examples
    --------
    >>> decided(MEAN, Range(low=1.2), [1.6, 1.7, 1.8]), decided(MEAN, Range(low=1.7), [1.6, 1.7, 1.8])
    ('holds', 'cannot be decided')
    >>> decided(SAME, Range(0.9, 1.1), [0.99, 1.0, 1.01]), decided(RUN, Range(1.0, 1.0), [0.9, 1.1, 1.2])
    ('holds', 'cannot be decided')
    """
    if rule == RUN:
        measured = interval(values, runs, ERRORS[RUN])
        came = verdict(rule, within, measured)
        return OPEN if came == HOLDS and not enough(measured.n, runs) else came
    return verdict(rule, within, interval(values, None, ERRORS[rule] / looks))


def verdict(rule: str, within: Range, measured: Interval) -> str:
    """The verdict of one rule on one interval (of the kind that the rule asks for).

    Examples
    --------
    >>> measured = Interval(1.7, 1.6, 1.8, 5)
    >>> verdict(MEAN, Range(low=1.2), measured), verdict(MEAN, Range(low=1.7), measured)
    ('holds', 'cannot be decided')
    >>> verdict(RUN, Range(0.4285, 0.4295), Interval(0.44, 0.40, 0.48, 5))
    'holds'
    """
    if rule == EXACT:
        if math.isnan(measured.mean):
            return OPEN
        return HOLDS if within.holds(measured.mean) else FAILS
    if not measured.known:
        return OPEN
    if within.holds(measured.low) and within.holds(measured.high):
        return HOLDS
    apart = measured.high < within.low or measured.low > within.high
    apart = apart or (within.open_low and measured.high == within.low)
    apart = apart or (within.open_high and measured.low == within.high)
    if apart:
        return FAILS
    return HOLDS if rule == RUN else OPEN


def over_readings(
    verdicts: Sequence[str], means: Sequence[float] = (), within: Range | None = None
) -> tuple[str, float]:
    """One verdict from those under each reading of what a paper leaves open, and the share of readings that hold.

    It holds, or does not, where all readings that decide say so; with conditions where some do and some do not. Where
    more than half of them decide nothing, neither does the whole. Nor does it where all fail, but some with `means`
    below the range and some above it: what the paper leaves open may lie in between, so that we only guessed otherwise.

    Examples
    --------
    >>> over_readings([HOLDS, HOLDS, FAILS, HOLDS])
    ('holds with conditions', 0.75)
    >>> over_readings([HOLDS, OPEN, OPEN])
    ('cannot be decided', 0.3333333333333333)
    >>> over_readings([OPEN, FAILS, FAILS], [math.nan, 0.1, 0.9], Range(0.4, 0.5))
    ('cannot be decided', 0.0)
    """
    count = len(verdicts)
    holds, fails = (sum(v == word for v in verdicts) for word in (HOLDS, FAILS))
    share = holds / count if count else math.nan
    if not count or 2 * (holds + fails) < count:
        return OPEN, share
    if not fails:
        return HOLDS, share
    if holds:
        return CONDITIONS, share
    return (OPEN if within is not None and on_both_sides(means, within) else FAILS), share


def on_both_sides(means: Sequence[float], within: Range) -> bool:
    """Whether some means lie below a range and some above it.

    >>> on_both_sides([0.1, math.nan, 0.9], Range(0.4, 0.5)), on_both_sides([0.1], Range(0.4, 0.5))
    (True, False)
    """
    finite = [mean for mean in means if math.isfinite(mean)]
    return bool(finite) and min(finite) < within.low and max(finite) > within.high


def check_rule(rule: Any) -> str:
    """The rule by its name. Raises ValueError where there is none."""
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(RULES)}, got {rule!r}")
    return str(rule)
