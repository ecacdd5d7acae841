"""The report's section on window rules and queues: what each does to the same traffic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tcpdynamics.progress import tracked
from tcpdynamics.validation.comparisons.prediction import QUANTITIES
from tcpdynamics.validation.comparisons.window_rules import PUBLISHED, WindowRulesVsFormulas
from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, replicate
from tcpdynamics.validation.statistics import mean_interval

from ..outputs import plus_or_minus
from .steps import Tell, step

if TYPE_CHECKING:
    import xarray as xr

RULES_STEP, QUEUES_STEP = "comparing window rules with their laws", "comparing queues"

#: Queue, with or without ECN, and what it does, in a row of the table.
QUEUES = (
    ("droptail", False, "drops packets that find the buffer full"),
    ("red", False, "drops at random, more often as the mean queue grows"),
    ("red", True, "marks instead"),
    ("codel", False, "drops when every packet has waited too long for a while"),
    ("pie", False, "drops at random, so that waiting is near its target"),
    ("sfq", False, "a sub-queue for each flow, one packet of each in turn"),
    ("drr", False, "a sub-queue for each flow, as many bytes of each in turn"),
    ("fq_codel", False, "a sub-queue for each flow, CoDel in each"),
)
FLOWS, RATE, BUFFER, RTT = 20, 10e6, 100, (0.04, 0.16)


@dataclass(frozen=True)
class Mechanisms:
    """What the section shows: the comparison of window rules, and rows of the table of queues."""

    rules: xr.Dataset
    queues: list[dict[str, str]]


def mechanisms(quick: bool, tell: Tell) -> Mechanisms:
    """Simulate both parts."""
    comparison = WindowRulesVsFormulas(**WindowRulesVsFormulas.quick) if quick else WindowRulesVsFormulas()
    with step(RULES_STEP, tell):
        rules = comparison.run()
    seeds, duration = (3, 30.0) if quick else (8, 60.0)
    with step(QUEUES_STEP, tell):
        queues = [_row(*case, seeds, duration) for case in tracked(QUEUES)]
    return Mechanisms(rules, queues)


def crowd(queue: str, ecn: bool, duration: float) -> Scenario:
    """SACK flows with different round-trip times on one link; a random delay, so that no flow is in step."""
    flows = Flows(FLOWS, "sack", rules="rfc", rtt=RTT, packet_size=1000, jitter=0.001, ecn=ecn)
    link = Bottleneck(RATE, BUFFER, queue=queue, queue_parameters={"queues": 64.0} if queue in _LANES else {})
    return Scenario((flows,), link, duration, duration / 3, name=queue)


#: Their flows are dealt out by number: with as many lanes each has its own.
_LANES = ("sfq", "drr")


def _row(queue: str, ecn: bool, does: str, seeds: int, duration: float) -> dict[str, str]:
    runs = replicate(crowd(queue, ecn, duration), seeds)
    measured = duration - duration / 3
    megabits = 8e-6 * runs.goodput.sum("flow") * 1000 / measured
    waiting = 1e3 * (runs.mean_rtt - runs.base_rtt).mean("flow")
    return {
        "queue": queue + (" with ECN" if ecn else ""), "does": does,
        "loss": _interval(runs.loss_rate, 2, 100.0),
        "waiting": _interval(waiting, 1),
        "goodput": _interval(megabits, 2),
        "jain": _interval(QUANTITIES["jain"](runs), 3, 1.0),
    }  # fmt: skip


def _interval(values: Any, digits: int, fraction_in: float = 0.0) -> str:
    """Mean with its 95 % interval; of a fraction in so many parts of 1, such as 100 of per cent."""
    interval = mean_interval(values, fraction=fraction_in > 0) * (fraction_in or 1.0)
    mean, low, high = (float(interval[end]) for end in ("mean", "low", "high"))
    return plus_or_minus(mean, low, high, digits)


def answer(parts: Mechanisms) -> str:
    """One sentence, made from the numbers."""
    gaps = parts.rules.gap.sel(formula=PUBLISHED)
    first, *others = parts.queues
    least = min(others, key=lambda row: float(row["waiting"].split()[0]))
    return (
        f"Under random losses, mean windows differ by {float(gaps.min()):+.0%} to {float(gaps.max()):+.0%} from the "
        f"published formulas. On a congested link, packets wait {first['waiting'].split()[0]} ms with drop-tail and "
        f"{least['waiting'].split()[0]} ms with {least['queue']}."
    )
