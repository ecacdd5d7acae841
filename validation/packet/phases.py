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
from collections.abc import Iterator, Sequence
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


def persistence(arrived: NDArray[Any], dropped: NDArray[Any], rtt: NDArray[np.float64]) -> tuple[Any, Any]:
    """How much loss ratios of flows differ for good, and how sure that is.

    Parameters
    ----------
    arrived, dropped : (..., N, PIECES) array
        Packets of N >= 2 flows in pieces of the run.
    rtt : (..., N) array
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
    >>> round(float(spread), 3), bool(certain > 4)
    (0.5, True)
    """
    ratio = dropped.sum(-2, keepdims=True) / np.maximum(arrived.sum(-2, keepdims=True), 1)
    expected = arrived * ratio
    excess = dropped - expected
    count = rtt.shape[-1]
    apart = np.ptp(rtt, -1) > 1e-9
    for run in map(tuple, np.argwhere(apart) if count >= 4 else ()):
        excess[run] -= expected[run] * _of_rtt(excess[run], expected[run], rtt[run])[:, None]
    variance, error = _between_pieces(excess, count, -1)
    size = (expected.sum(-1) ** 2 - (expected**2).sum(-1)).sum(-1)
    sure = (size > 0.0) & (error > 0.0) & ~(apart & (count < 4))
    relative, error = variance / np.where(sure, size, np.nan), np.where(sure, error, np.nan)
    return np.sign(relative) * np.sqrt(abs(relative)), variance / np.sqrt(error)


def _of_rtt(excess: NDArray[Any], expected: NDArray[Any], rtt: NDArray[np.float64]) -> Any:
    """(N,) The part of what flows lost beyond their due, over this, that is a straight line of their RTTs."""
    weight = np.sqrt(expected.sum(1))
    line = np.stack([np.ones(len(rtt)), (rtt - rtt.mean()) / np.ptp(rtt)], axis=1)
    of_flow = np.divide(excess.sum(1), weight, out=np.zeros(len(rtt)), where=weight > 0)
    return line @ np.linalg.lstsq(line * weight[:, None], of_flow, rcond=None)[0]


def _between_pieces(excess: NDArray[Any], count: int, axis: int) -> tuple[Any, Any]:
    """Sum over the flows of products of different pieces, and its variance were pieces independent.

    Of the N excesses of a piece one follows from the others.
    """
    square = (excess**2).sum(axis)
    variance = (excess.sum(axis) ** 2 - square).sum(-1)
    return variance, 2.0 * (square**2 - (excess**4).sum(axis)).sum(-1) * count / (count - 1)


def unevenness(arrived: NDArray[Any], rtt: NDArray[np.float64]) -> tuple[Any, Any]:
    """How far shares of flows are for good from a law of their RTTs, and how sure that is.

    Parameters
    ----------
    arrived : (..., N, PIECES) array
        Packets of N >= 2 flows in pieces of the run.
    rtt : (..., N) array
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
    >>> round(float(uneven), 3), bool(sure > 4)
    (0.5, True)
    >>> round(float(unevenness(arrived, np.array([0.3, 0.3, 0.1, 0.1]))[0]), 6)
    0.0
    """
    counted = arrived.sum(-2) > 0  # a piece without packets says nothing
    if not counted.all():
        if arrived.ndim > 2:
            several = [unevenness(*one) for one in zip(arrived, rtt, strict=True)]
            return np.array([uneven for uneven, _ in several]), np.array([sure for _, sure in several])
        arrived = arrived[:, counted]
    *_, count, pieces = arrived.shape
    if pieces < 2:
        return 0.0, 0.0
    arrived = np.ascontiguousarray(arrived.mT)  # pieces first: sums over them go from one to the next
    shares = arrived / arrived.mean(-1, keepdims=True)
    x = np.log(rtt) - np.log(rtt).mean(-1, keepdims=True)
    y = np.log(np.maximum(shares.mean(-2), 1e-3))
    apart = np.ptp(x, -1, keepdims=True) > 1e-9
    square = np.where(apart, (x**2).sum(-1, keepdims=True), 1.0)
    slope = (x * (y - y.mean(-1, keepdims=True))).sum(-1, keepdims=True) / square
    law = np.exp(np.clip(slope, *EXPONENTS) * x)
    law = np.where(apart, law / law.mean(-1, keepdims=True), 1.0)
    variance, error = _between_pieces(shares - law[..., None, :], count, -2)
    size = variance / (count * pieces * (pieces - 1))
    uneven, sure = np.sign(size) * np.sqrt(abs(size)), variance / np.sqrt(np.where(error > 0.0, error, np.nan))
    return np.where(error > 0.0, uneven, 0.0)[()], np.where(error > 0.0, sure, 0.0)[()]


def cells(scenarios: Sequence[Scenario], run: Run) -> list[list[Cell]]:
    """Flows of each of runs `together` that ought to fare alike and were there all the time, and how they fared."""
    flows, hops, links = run.sim.flows, run.sim.hops, run.sim.links
    kinds = {id(scenario.flows): scenario for scenario in scenarios}  # a grid of links has the same flows everywhere
    kinds_of = {key: _kinds(scenario) for key, scenario in kinds.items()}
    group = np.array([kinds_of[id(scenario.flows)] for scenario in scenarios])
    limited = (links["limit"] >= 0) | (links["limit_bytes"] >= 0)
    # Each limited link has a random mark; flows with the same sum of marks pass the same ones.
    passed = np.take_along_axis(_marks(limited.shape[-1]) * limited, hops["link"], -1)
    until = np.concatenate([np.zeros((len(group), 1)), np.cumsum(passed, -1)], axis=-1)
    ends = (np.take_along_axis(until, flows[name], -1) for name in ("forward_end", "forward_hop"))
    way = np.round(next(ends) - next(ends), 6)
    always = (flows["start"] <= scenarios[0].warm_up) & (flows["finish"] >= run.stopped) & (way > 0.0)
    alike: list[list[Cell]] = [[] for _ in scenarios]
    partitions: dict[bytes, list[int]] = {}
    for i, rows in enumerate(zip(group, way, always, strict=True)):
        partitions.setdefault(b"".join(rows), []).append(i)
    for runs in partitions.values():
        group_of, way_of, there = group[runs[0]], way[runs[0]], always[runs[0]]
        for kind, passes in sorted({*zip(group_of[there].tolist(), way_of[there].tolist(), strict=True)}):
            mine = np.flatnonzero(there & (group_of == kind) & (way_of == passes))
            if len(mine) > 1:
                for i, cell in zip(runs, _fared(run, np.ix_(np.array(runs), mine), mine), strict=True):
                    alike[i].append(cell)
    return alike


def _fared(run: Run, chosen: Any, mine: NDArray[np.intp]) -> Iterator[Cell]:
    """How differently flows fared in some runs, `chosen` of both."""
    arrived, dropped = (np.ascontiguousarray(counts[chosen]) for counts in (run.arrived, run.dropped))
    spread, certain = persistence(arrived, dropped, run.base_rtt[chosen])
    timed = np.maximum(run.counts[..., k.TIMED][chosen], 1)
    rtt = np.maximum(run.sums[..., k.RTT_SUM][chosen] / timed, run.base_rtt[chosen])
    lost = dropped.sum((-2, -1))
    marked = run.sim.links["marked"][chosen[0][:, 0]].any(-1)
    # A queue that is never full keeps nobody out.
    full = ((lost > 0) | marked) & (lost <= CROWDED * arrived.sum((-2, -1)))
    uneven, sure = np.zeros((2, len(full)))
    if full.any():
        uneven[full], sure[full] = unevenness(arrived[full], rtt[full])
    jain = measured_jain(run.counts[..., k.GOODPUT][chosen])
    columns = (column.tolist() for column in (spread, certain, jain, uneven, sure))
    return (Cell(mine, *values) for values in zip(*columns, strict=True))


def _kinds(scenario: Scenario) -> NDArray[np.int64]:
    """A number for each flow, the same for flows whose settings make them alike."""
    numbers: dict[Any, int] = {}
    kinds = [numbers.setdefault(_kind(group), len(numbers)) for group in scenario.flows]
    return np.repeat(kinds, [group.count for group in scenario.flows])


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


def phase_warnings(scenarios: Sequence[Scenario], run: Run) -> list[str]:
    """What in each of runs `together` bears the marks of phase effects, in words; empty if nothing does."""
    if run.interrupted or scenarios[0].count < 2:
        return [""] * len(scenarios)
    parts = zip(scenarios, cells(scenarios, run), run.links["met"], run.links["tied"], strict=True)
    return [_phase_warning(*of_run) for of_run in parts]


def _phase_warning(scenario: Scenario, alike: list[Cell], meetings: NDArray[Any], tied: NDArray[Any]) -> str:
    signs = []
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
    ties = np.flatnonzero((tied >= MANY) & (tied > TIED * meetings))
    if ties.size:
        worst_link = int(ties[np.argmax(tied[ties] / meetings[ties])])
        signs.append(
            f"of the packets that came to link {bare(scenario.link_names[worst_link])} when its queue was nearly full, "
            f"{tied[worst_link] / meetings[worst_link]:.0%} came just as another left, so that rounding decided "
            "who was dropped"
        )
    return f"{'; and '.join(signs)}. {TEXT}" if signs else ""
