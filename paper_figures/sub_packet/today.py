"""Whether the paper holds today: its claims on Figs. 2, 3 and 9 to 12, decided for each sender of `LinuxSubPacket`.

Published numbers and rules are the ledger's. Where a load or a length is not that of the claim, the words say so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tcpdynamics.later import xr
from tcpdynamics.validation.comparisons.crowded_links import LINKS

from .. import rules
from ..ledger import Claim, get_claim
from ..rules import Interval

#: Of one sender's part of a result: the interval of what a claim is about.
Measure: TypeAlias = "Callable[[xr.Dataset], Interval]"
NOTHING = Interval(math.nan, math.nan, math.nan, 0)
JAIN = "Jain's index, 20 s"
BUSY = "1 Mbit/s, 100 flows"


@dataclass(frozen=True)
class Statement:
    """One claim with what is measured for it here.

    Attributes
    ----------
    claim : str         Its id without the paper.
    words : str
    measure : callable  From one sender's numbers to an interval.
    """

    claim: str
    words: str
    measure: Measure

    @property
    def of_ledger(self) -> Claim:
        """The claim: its published range, its rule and its place.

        Examples
        --------
        >>> STATEMENTS[0].of_ledger.published_text
        '≥ 0.9'
        """
        return get_claim(f"sub_packet.{self.claim}")


@dataclass(frozen=True)
class Answer:
    """What came out for one sender: the interval, and a verdict of `rules.VERDICTS`."""

    interval: Interval
    verdict: str


def mean_of(quantity: str, *links: str, scale: float = 1.0) -> Measure:
    """A quantity on a link; of several links the least."""

    def measure(part: xr.Dataset) -> Interval:
        intervals = [_interval(part, link, quantity) for link in links if link in part.link.values]
        lowest = min(intervals, key=lambda one: one.mean, default=NOTHING)
        return Interval(scale * lowest.mean, scale * lowest.low, scale * lowest.high, lowest.n)

    return measure


def less(first: Measure, second: Measure) -> Measure:
    """One measure less another, as if they were independent."""

    def measure(part: xr.Dataset) -> Interval:
        a, b = first(part), second(part)
        half, mean = math.hypot((a.high - a.low) / 2, (b.high - b.low) / 2), a.mean - b.mean
        return Interval(mean, mean - half, mean + half, min(a.n, b.n))

    return measure


def largest_distance(figure: int) -> Measure:
    """The largest distance from the printed chain on the links of a figure whose loss is at least 0.1."""

    def measure(part: xr.Dataset) -> Interval:
        one = part.isel(chain=0, link=[i for i, f in enumerate(part.figures.values) if str(figure) in f.split()])
        heavy = one.isel(link=np.flatnonzero(one["mean"].sel(quantity="loss rate").values >= 0.1))
        measured = heavy.isel(link=np.flatnonzero(np.isfinite(heavy.distance.values)))
        if not measured.sizes["link"]:
            return NOTHING
        worst = measured.isel(link=int(measured.distance.values.argmax()))
        mean, low, high = (float(worst[name]) for name in ("distance", "distance_low", "distance_high"))
        return Interval(mean, low, high, int(worst.runs))

    return measure


def _interval(part: xr.Dataset, link: str, quantity: str) -> Interval:
    one = part.sel(link=link, quantity=quantity)
    return Interval(float(one["mean"]), float(one.mean_low), float(one.mean_high), int(one.runs))


def _of_rate(rate: str) -> tuple[str, ...]:
    return tuple(name for name in LINKS if name.startswith(rate))


def _gain(queue: str) -> Measure:
    return less(mean_of(JAIN, f"gateway, {queue}, priority"), mean_of(JAIN, f"gateway, {queue}"))


#: What keeps flows out of step, or does not -> the link of 100 flows.
PHASES = {"by chance": BUSY, "RTTs 5 % apart": "100 flows, RTTs 5 % apart", "in step": "100 flows in step"}
#: (Claim, words, quantity, scale) of Fig. 3, each for every one of `PHASES`.
_SLICES = (
    ("fig2.short.10k", "Jain's index in 20 s at 10 kbit/s a flow", JAIN, 1.0),
    ("s242.loss.tcp", "loss of 100 flows", "loss rate", 1.0),
    ("fig3.most_active", "the most of 100 flows active in 20 s", "most active in 20 s", 100.0),
    ("fig3.locked_out", "share of flows that get nothing in 20 s", "locked out for 20 s", 1.0),
    ("fig3.first_forty", "goodput of the richest 40 % of flows", "goodput of the richest 40 %", 1.0),
    ("fig3.next_thirty", "goodput of the next 30 %", "goodput of the next 30 %", 1.0),
    ("fig3.last_thirty", "goodput of the last 30 %", "goodput of the last 30 %", 1.0),
    ("fig3.alike", "scatter over slices of the active flows", "scatter of active in 20 s", 1.0),
)
#: (Claim, words, quantity, links), the least of several links.
_VALUES = (
    ("fig2.short.40k", "Jain's index in 20 s at 50 kbit/s (paper: above 30)", JAIN, ("1 Mbit/s, 20 flows",)),
    ("fig2.short.5k", "Jain's index in 20 s at 5 kbit/s a flow", JAIN, ("1 Mbit/s, 200 flows",)),
    ("fig2.short.500k_10k", "at 10 kbit/s a flow on 500 kbit/s", JAIN, ("500 kbit/s, 50 flows",)),
    ("fig2.short.250k_10k", "at 10 kbit/s a flow on 250 kbit/s", JAIN, ("250 kbit/s, 25 flows",)),
    ("fig2.long.10k", "Jain's index in 1000 s, 250 kbit/s", "Jain's index, whole run", ("250 kbit/s, 25 flows",)),
    *(
        (f"s231.goodput.{word}", f"goodput over capacity, the least on {rate}", "goodput of the link", _of_rate(rate))
        for word, rate in (("1000k", "1 Mbit/s"), ("500k", "500 kbit/s"), ("250k", "250 kbit/s"))
    ),
)  # fmt: skip
#: (Claim, words, quantity, link, link whose index in 20 s is taken off).
_LESS = (
    ("fig2.short.20k", "20 s at 25 kbit/s less that at 50", JAIN, "1 Mbit/s, 40 flows", "1 Mbit/s, 20 flows"),
    ("s231.shorter_windows", "5 s less that in 20 s, 100 flows", "Jain's index, 5 s", BUSY, BUSY),
)

STATEMENTS = (
    *(Statement(claim, words, mean_of(quantity, *links)) for claim, words, quantity, links in _VALUES),
    *(
        Statement(claim, f"Jain's index in {words}", less(mean_of(quantity, link), mean_of(JAIN, than)))
        for claim, words, quantity, link, than in _LESS
    ),
    *(
        Statement(claim, f"{words}, {phase}", mean_of(quantity, link, scale=scale))
        for claim, words, quantity, scale in _SLICES
        for phase, link in PHASES.items()
    ),
    Statement("fig9.agreement", "distance from the printed chain, 1 Mbit/s", largest_distance(9)),
    Statement("fig10.agreement.500k", "the same on 500 and 250 kbit/s", largest_distance(10)),
    Statement("fig11.agreement", "the same with RTTs of 200 to 400 ms", largest_distance(11)),
    Statement("fig12.droptail", "priority: gain of Jain's index, drop-tail", _gain("drop-tail")),
    Statement("fig12.sfq", "priority: gain of Jain's index, SFQ", _gain("SFQ")),
)


def answers(statement: Statement, result: xr.Dataset) -> dict[str, Answer]:
    """Of each sender: what was measured, and the verdict by the claim's rule.

    Parameters
    ----------
    statement : Statement
    result : Dataset
        Of `LinuxSubPacket.run`.

    Returns
    -------
    dict of sender -> Answer, "cannot be decided" where the sender was not run so

    Examples
    --------
    >>> from tcpdynamics.validation.comparisons import LinuxSubPacket
    >>> result = LinuxSubPacket(links=("1 Mbit/s, 100 flows",), ours=2).run()
    >>> jain = next(one for one in STATEMENTS if one.claim == "fig2.short.10k")
    >>> answers(jain, result)["simulator, ns-2"].verdict
    'holds'
    """
    return {str(name): _decided(statement, result.sel(sender=name)) for name in result.sender.values}


def _decided(statement: Statement, part: xr.Dataset) -> Answer:
    claim, interval = statement.of_ledger, statement.measure(part)
    if interval.n < 2:
        return Answer(interval, rules.OPEN)
    runs = claim.runs if claim.rule == rules.RUN else None
    wider = rules.width(interval.n, runs, rules.ERRORS[claim.rule]) / rules.width(interval.n, None, 0.05)
    low, high = (interval.mean + wider * (end - interval.mean) for end in (interval.low, interval.high))
    came = rules.verdict(claim.rule, claim.range, Interval(interval.mean, low, high, interval.n))
    open_still = runs is not None and came == rules.HOLDS and not rules.enough(interval.n, runs)
    return Answer(interval, rules.OPEN if open_still else came)


def table(result: xr.Dataset) -> list[str]:
    """Lines of text: a statement, what was published, and of each sender its number and + (holds), - or ?."""
    names = [str(name) for name in result.sender.values]
    lines = [f"  {i}: {name}" for i, name in enumerate(names, 1)]
    heads = "".join(f"{i:>10d}" for i in range(1, len(names) + 1))
    lines.append(f"{'+ holds, - does not, ? cannot be decided':72s}{'published':>10s}{heads}")
    for one in STATEMENTS:
        decided = answers(one, result)
        words = f"{one.of_ledger.place}: {one.words}"
        cells = "".join(f"{cell(decided[name]):>10s}" for name in names)
        lines.append(f"{words:72s}{one.of_ledger.published_text:>10s}{cells}")
    return lines


def cell(answer: Answer) -> str:
    """A number with its mark, such as "0.744 +"; an empty dash where there is none.

    Examples
    --------
    >>> cell(Answer(Interval(0.7, 0.6, 0.8, 20), rules.HOLDS)), cell(Answer(NOTHING, rules.OPEN))
    ('0.700 +', '\N{EN DASH}')
    """
    if not answer.interval.known:
        return "\N{EN DASH}"
    mark = {rules.HOLDS: "+", rules.FAILS: "-"}.get(answer.verdict, "?")
    return f"{answer.interval.mean:.3g} {mark}" if answer.interval.mean >= 10 else f"{answer.interval.mean:.3f} {mark}"
