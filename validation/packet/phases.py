"""Phase effects: does the timing of packets, not TCP and not chance, decide who is dropped? Seen in what happened.

On a drop-tail queue packets leave at the ticks of a clock, and acknowledgements make flows send at these ticks. Where
a flow's packets come at its own place between two ticks, it meets the full queue always, or never (Floyd and Jacobson,
Internetworking: Research and Experience 3, 1992). Three things betray it, all counted in the run itself:

* *losses that recur*: alike flows lose different shares of their packets, the same flows in every part of the run;
* *shares that no law of the RTT explains*: alike flows send unlike numbers of packets, the same flows in every part;
* *ties*: packets come to a full queue just as another leaves it, so that rounding or the order of events decides.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.errors import bare
from tcpdynamics.jain import measured_jain

from .kernel import records as k
from .run_record import Run
from .scenario.flows import Flows
from .scenario.scenario import Scenario

#: Warn where loss ratios of alike flows differ for good by more than this share of their mean, and by so many standard
#: errors. Measured: 0.35 to 0.8 where flows are in step; below 0.16 with random sends, 0.02 with independent losses.
SPREAD, CERTAIN = 0.25, 4.0
#: Warn where shares of alike flows differ for good by more than this from the best power law of their RTTs, with an
#: exponent that models of TCP have, and not where so many packets are lost that silences between timeouts last as long
#: as pieces of the run. docs/phase_effects.md has the fractions of both errors.
UNEVEN, EXPONENTS, CROWDED = 0.45, (-2.5, 0.5), 0.15
#: Warn where so large a share of the packets that meet a queue with one place left, or none, meet a tie, and at least
#: so many did. Measured: 0.13 to 1 where flows are in step, 0.002 (2 * records.TIE) to 0.011 elsewhere.
TIED, MANY = 0.1, 20

TEXT = (
    "This is a phase effect, in ns-2 as here: a flow's packets arrive at a fixed time between two departures. Another "
    "start time or clock can change which flow wins. A random delay (overhead or jitter) lessens "
    "it but is no full remedy: compare several delays and seeds before you trust who wins"
)


@dataclass(frozen=True, eq=False)
class Cell:
    """Flows that ought to fare alike: with the same settings, over the same links with a limited queue."""

    flows: NDArray[np.intp]
    spread: float
    certain: float
    jain: float
    uneven: float
    sure: float


def persistence(arrived: NDArray[Any], dropped: NDArray[Any], rtt: NDArray[np.float64]) -> tuple[float, float]:
    """How much loss ratios of flows differ for good, and how sure that is.

    Parameters
    ----------
    arrived, dropped : (N, PIECES) array
        Packets of N >= 2 flows in pieces of the run.
    rtt : (N,) array
        Base RTTs [s]; a loss ratio that rises or falls with the RTT is a property of TCP and taken out.

    Returns
    -------
    spread : float
        Standard deviation of the flows' own loss ratios over their mean [1], negative if the estimate of the
        variance is; unbiased, for only products of different pieces enter. NaN without losses, or with fewer than
        four flows whose RTTs differ.
    certain : float
        The variance over its standard error, were losses of different pieces independent [1].

    Examples
    --------
    >>> arrived, unfair = np.full((4, 8), 100), np.array([[5], [5], [15], [15]]) * np.ones((1, 8))
    >>> spread, certain = persistence(arrived, unfair, np.full(4, 0.1))
    >>> round(spread, 3), certain > 4
    (0.5, True)
    """
    ratio = dropped.sum(0) / np.maximum(arrived.sum(0), 1)
    expected = arrived * ratio
    excess = dropped - expected
    if np.ptp(rtt) > 1e-9:
        if len(rtt) < 4:
            return np.nan, np.nan
        weight = np.sqrt(expected.sum(1))
        line = np.stack([np.ones(len(rtt)), (rtt - rtt.mean()) / np.ptp(rtt)], axis=1)
        of_flow = np.divide(excess.sum(1), weight, out=np.zeros(len(rtt)), where=weight > 0)
        slope = np.linalg.lstsq(line * weight[:, None], of_flow, rcond=None)[0]
        excess = excess - expected * (line @ slope)[:, None]
    variance = (excess.sum(1) ** 2 - (excess**2).sum(1)).sum()
    size = (expected.sum(1) ** 2 - (expected**2).sum(1)).sum()
    # Of the N excesses of a piece one follows from the others.
    error = 2.0 * ((excess**2).sum(1) ** 2 - (excess**4).sum(1)).sum() * len(rtt) / (len(rtt) - 1)
    if size <= 0.0 or error <= 0.0:
        return np.nan, np.nan
    relative = variance / size
    return float(np.sign(relative) * np.sqrt(abs(relative))), float(variance / np.sqrt(error))


def unevenness(arrived: NDArray[Any], rtt: NDArray[np.float64]) -> tuple[float, float]:
    """How far shares of flows are for good from a law of their RTTs, and how sure that is.

    Parameters
    ----------
    arrived : (N, PIECES) array
        Packets of N >= 2 flows in pieces of the run.
    rtt : (N,) array
        Mean RTTs [s], > 0. Models of TCP give shares that fall with a power of them between 0 and 2
        (`EXPONENTS` leave some room).

    Returns
    -------
    uneven : float
        Standard deviation of the shares around the nearest such law, over their mean [1]; as in `persistence` without
        what changes from piece to piece.
    sure : float
        Its square over its standard error [1].

    Examples
    --------
    >>> arrived = np.array([[100], [100], [300], [300]]) * np.ones((1, 8))
    >>> uneven, sure = unevenness(arrived, np.full(4, 0.1))
    >>> round(uneven, 3), sure > 4
    (0.5, True)
    >>> round(unevenness(arrived, np.array([0.3, 0.3, 0.1, 0.1]))[0], 6)
    0.0
    """
    arrived = arrived[:, arrived.sum(0) > 0]  # a piece without packets says nothing
    count, pieces = arrived.shape
    if pieces < 2:
        return 0.0, 0.0
    shares = arrived / arrived.mean(0)
    x = np.log(rtt) - np.log(rtt).mean()
    y = np.log(np.maximum(shares.mean(1), 1e-3))
    law = np.ones(count)
    if np.ptp(x) > 1e-9:
        law = np.exp(np.clip((x * (y - y.mean())).sum() / (x**2).sum(), *EXPONENTS) * x)
        law /= law.mean()
    excess = shares - law[:, None]
    variance = (excess.sum(1) ** 2 - (excess**2).sum(1)).sum()
    error = 2.0 * ((excess**2).sum(1) ** 2 - (excess**4).sum(1)).sum() * count / (count - 1)
    if error <= 0.0:
        return 0.0, 0.0
    size = variance / (count * pieces * (pieces - 1))
    return float(np.sign(size) * np.sqrt(abs(size))), float(variance / np.sqrt(error))


def cells(scenario: Scenario, run: Run) -> list[Cell]:
    """Flows that ought to fare alike and were there all the time, with how differently they fared."""
    flows, hops = run.sim.flows, run.sim.hops
    numbers: dict[Any, int] = {}
    kinds = [numbers.setdefault(_kind(group), len(numbers)) for group in scenario.flows]
    group = np.repeat(kinds, [g.count for g in scenario.flows])
    limited = (run.sim.links["limit"] >= 0) | (run.sim.links["limit_bytes"] >= 0)
    # Each limited link has a random mark; flows with the same sum of marks pass the same ones.
    until = np.concatenate([[0.0], np.cumsum((_marks(len(limited)) * limited)[hops["link"]])])
    way = np.round(until[flows["forward_end"]] - until[flows["forward_hop"]], 6)
    always = (flows["start"] <= scenario.warm_up) & (flows["finish"] >= run.stopped) & (way > 0.0)
    alike = []
    keys = list(zip(group.tolist(), way.tolist(), strict=True))
    for key in sorted({keys[i] for i in np.flatnonzero(always)}):
        mine = np.flatnonzero(always & (group == key[0]) & (way == key[1]))
        if len(mine) > 1:
            spread, certain = persistence(run.arrived[mine], run.dropped[mine], run.base_rtt[mine])
            goodput = run.counts[mine, k.GOODPUT].astype(float)
            timed = np.maximum(run.counts[mine, k.TIMED], 1)
            rtt = np.maximum(run.sums[mine, k.RTT_SUM] / timed, run.base_rtt[mine])
            lost = run.dropped[mine].sum()
            full = lost > 0 or run.sim.links["marked"].any()  # a queue that is never full keeps nobody out
            uneven, sure = 0.0, 0.0
            if full and lost <= CROWDED * run.arrived[mine].sum():
                uneven, sure = unevenness(run.arrived[mine], rtt)
            alike.append(Cell(mine, spread, certain, float(measured_jain(goodput)), uneven, sure))
    return alike


@functools.cache
def _marks(links: int) -> NDArray[np.float64]:
    return np.random.default_rng(1).random(links)


def _kind(group: Flows) -> Any:
    """What makes flows alike: all but their number, where they run and how long that takes."""
    return (*(getattr(group, name) for name in _SAME), group.rule_parameters())


_APART = ("parameters", "count", "rtt", "source", "target", "route", "start", "start_spread", "arrival_rate", "stop")
_SAME = tuple(field.name for field in dataclasses.fields(Flows) if field.name not in _APART)


def is_of_phases(warning: str) -> bool:
    """Whether the warning of a run is about phase effects."""
    return TEXT in warning


def phase_warning(scenario: Scenario, run: Run) -> str:
    """What in a run bears the marks of phase effects, in words; empty if nothing does."""
    if run.interrupted or scenario.count < 2:
        return ""
    signs = []
    alike = cells(scenario, run)
    unfair = [cell for cell in alike if cell.spread > SPREAD and cell.certain > CERTAIN]
    uneven = [cell for cell in alike if cell.uneven > UNEVEN and cell.sure > CERTAIN]
    if unfair:
        worst = max(unfair, key=lambda cell: cell.spread)
        signs.append(
            f"the same flows lost more than others all the time: loss ratios of {len(worst.flows)} alike flows differ "
            f"by {worst.spread:.0%} of their mean ({worst.certain:.0f} standard errors), and not as their RTTs do "
            f"(Jain's index of goodput: {worst.jain:.2f})"
        )
    elif uneven:
        worst = max(uneven, key=lambda cell: cell.uneven)
        signs.append(
            f"the same flows got more than others all the time: shares of {len(worst.flows)} alike flows differ by "
            f"{worst.uneven:.0%} of their mean from what any law of their RTTs says (Jain's index of goodput: "
            f"{worst.jain:.2f})"
        )
    meetings, tied = run.links["met"], run.links["tied"]
    ties = np.flatnonzero((tied >= MANY) & (tied > TIED * meetings))
    if ties.size:
        worst_link = int(ties[np.argmax(tied[ties] / meetings[ties])])
        signs.append(
            f"of the packets that came to link {bare(scenario.link_names[worst_link])} when its queue was nearly full, "
            f"{tied[worst_link] / meetings[worst_link]:.0%} came just as another left, so that rounding decided "
            "who was dropped"
        )
    return f"{'; and '.join(signs)}. {TEXT}" if signs else ""
