"""Rules of decision: from a published value or inequality and what was measured to a verdict.

There are three:

exact           a model's number: it lies in the published range, or it does not
mean            the mean of replications: its 95 % interval lies in the published range, or beyond it, or reaches both
one more run    a published number that is itself a run, or the mean of `runs`: the 95 % interval for such a mean, made
                from our scatter, reaches the published number (to its rounding) or does not; where that interval is
                wider than `widest`, it would allow nearly anything, and decides only against
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

EXACT, MEAN, RUN = "exact", "mean", "one more run"
RULES = (EXACT, MEAN, RUN)

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


def interval(values: Sequence[float], runs: int | None = None) -> Interval:
    """Student's 95 % interval of the mean, or with `runs` the one in which the mean of so many more runs will lie.

    Values that are no numbers are left out.

    Examples
    --------
    >>> mean = interval([1.0, 2.0, 3.0])
    >>> round(mean.low, 3), round(interval([1.0, 2.0, 3.0], runs=1).low, 3)
    (-0.484, -2.968)
    """
    from scipy.special import stdtrit

    array = np.asarray(values, float)
    array = array[np.isfinite(array)]
    n = array.size
    if n == 0:
        return Interval(math.nan, math.nan, math.nan, 0)
    mean = float(array.mean())
    if n == 1:
        return Interval(mean, math.nan, math.nan, 1)
    spread = 1 / n + (1 / runs if runs else 0.0)
    half = float(stdtrit(n - 1, 0.975) * array.std(ddof=1) * math.sqrt(spread))
    return Interval(mean, mean - half, mean + half, n)


def verdict(rule: str, within: Range, measured: Interval, widest: float = math.inf) -> str:
    """The verdict of one rule on one interval (of the kind that the rule asks for).

    Examples
    --------
    >>> measured = Interval(1.7, 1.6, 1.8, 5)
    >>> verdict(MEAN, Range(low=1.2), measured), verdict(MEAN, Range(low=1.7), measured)
    ('holds', 'cannot be decided')
    >>> verdict(RUN, Range(0.4285, 0.4295), Interval(0.44, 0.40, 0.48, 5), widest=0.05)
    'holds'
    """
    if rule == EXACT:
        if math.isnan(measured.mean):
            return OPEN
        return HOLDS if within.holds(measured.mean) else FAILS
    if not measured.known:
        return OPEN
    low_in, high_in = within.holds(measured.low), within.holds(measured.high)
    if low_in and high_in:
        inside, apart = True, False
    else:
        inside = False
        apart = measured.high < within.low or measured.low > within.high
        apart = apart or (within.open_low and measured.high == within.low)
        apart = apart or (within.open_high and measured.low == within.high)
    if apart:
        return FAILS
    if rule == RUN:
        return HOLDS if (measured.high - measured.low) / 2 <= widest else OPEN
    return HOLDS if inside else OPEN


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
