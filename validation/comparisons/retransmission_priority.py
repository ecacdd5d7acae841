"""A gateway that sends retransmissions first (section 6.2 and Fig. 12 of Chen et al.), and the chain.

A link of 1 Mbit/s, 200 ms, 25 packets of 1000 bytes, with drop-tail and with SFQ of five lanes. Without priority; with
priority and the buffer split as in the paper (5 places for retransmissions, SFQ: five lanes of 4); and with one buffer
for all, where a retransmission takes the place of a new packet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

from tcpdynamics.errors import DomainError, shown
from tcpdynamics.limits import check_work
from tcpdynamics.models import SharedLink
from tcpdynamics.progress import tracked
from tcpdynamics.solvers import self_consistent

from ..packet import Bottleneck, Flows, Scenario
from .comparison import check_length
from .lock_out import TWO_LOSSES, by_chain
from .models_vs_packets import Case, ModelsVsPackets

QUEUES = {"droptail": "drop-tail", "sfq": "SFQ"}
NONE, SPLIT, SHARED = "none", "split", "shared"
PRIORITIES = (NONE, SPLIT, SHARED)
#: The paper's buffers [packet]: of all, of retransmissions, of a lane without and with these.
BUFFER, OWN, LANE, LANE_BESIDE, LANES = 25, 5, 5, 4, 5


@dataclass(frozen=True)
class RetransmissionPriorityVsPackets(ModelsVsPackets):
    """Fairness in short slices with and without priority of retransmissions, compared with the chain's.

    Parameters
    ----------
    flows : sequence of int       Flows on the link, each >= 2.
    slice : float                 [s]
    jitter : float                Random delay before the queue [s], which breaks phases; the paper has none.
    duration, warm_up : float     [s]
    replications : int            Independent runs, >= 2.
    seed : int

    Examples
    --------
    >>> result = RetransmissionPriorityVsPackets(flows=(50,), duration=300.0, replications=3).run()
    >>> without, split = (result.measured.sel(case=f"Jain's index, drop-tail, 50 flows, {priority}, chain alone")
    ...     for priority in ("none", "split"))
    >>> bool(split > without + 0.05)
    True
    """

    command: ClassVar[str] = "retransmission-priority"
    claims: ClassVar[str] = "sub_packet.priority"
    quick: ClassVar[dict[str, Any]] = {"flows": (50,), "duration": 300.0, "replications": 4}

    flows: Sequence[int] = (25, 50, 100)
    slice: float = 20.0
    jitter: float = 0.0
    duration: float = 800.0
    warm_up: float = 200.0
    replications: int = 8
    seed: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_length("flows", self.flows)
        for n in self.flows:
            if isinstance(n, bool) or not isinstance(n, int) or n < 2:
                raise DomainError(f"flows must list whole numbers >= 2, got {shown(self.flows)}")
        self.scenario(max(self.flows), "droptail", NONE)

    def scenario(self, flows: int, queue: str, priority: str) -> Scenario:
        """One case: how many flows, on which queue, with which priority."""
        more: dict[str, Any] = {} if priority == NONE else {"priority": "retransmissions"}
        if priority == SPLIT:
            more["priority_buffer"] = OWN
        if queue == "sfq":
            lane = {NONE: LANE, SPLIT: LANE_BESIDE, SHARED: 0}[priority]
            more["queue_parameters"] = {"queues": LANES, "lane_limit": lane}
        flow = Flows(flows, "sack", rtt=0.2, packet_size=1000, jitter=self.jitter)
        return Scenario(
            (flow,), Bottleneck(1e6, BUFFER, queue=queue, **more), self.duration, self.warm_up,
            f"{queue}, priority {priority}, {flows} flows", self.seed, slice=self.slice,
            clock="grid" if self.jitter else "auto",
        )  # fmt: skip

    def parts(self) -> Sequence[Callable[[], Iterator[Case]]]:
        """All cases."""
        return [self._cases]

    def _cases(self) -> Iterator[Case]:
        expected = {p: self._expected(0.0 if p != NONE else 1.0) for p in PRIORITIES}
        for queue, priority, (i, n) in tracked(list(product(QUEUES, PRIORITIES, enumerate(self.flows)))):
            data = self.replicated(self.scenario(n, queue, priority)).drop_vars("seed")
            says = by_chain(data, self.slice, TWO_LOSSES)
            case = f"{QUEUES[queue]}, {n} flows, {priority}"
            jain, starved = data.slice_jain.mean("slice"), data.slice_starved.mean("slice")
            # Replication by replication, since the chain has the losses of each.
            for part, values, law in (
                ("Jain's index", jain, says.jain),
                ("flows that get nothing", starved, says.nothing),
            ):
                paired = values - law + law.mean()
                yield Case(part, case, "chain, measured losses", paired.values, float(law.mean()), absolute=True)
            yield Case("Jain's index", case, "chain alone", jain.values, float(expected[priority][i]), absolute=True)
            arrived, lost = (data[f"{name}_by_kind"].sum("flow").astype(float) for name in ("arrived", "dropped"))
            kinds = {"new packets": slice(0, 1), "retransmissions": slice(1, None)}
            for what, kind in kinds.items():
                loss = lost.isel(kind=kind).sum("kind") / arrived.isel(kind=kind).sum("kind")
                yield Case(f"loss of {what}", case, "", loss.values, absolute=True)

    def _check_work(self) -> None:
        cases = product(self.flows, QUEUES, PRIORITIES)
        work = self.replications * sum(self.scenario(*case).work for case in cases)
        check_work("all cases", work, "give fewer flows or replications, or a shorter duration")

    def _expected(self, ratio: float) -> Any:
        link = SharedLink(
            flows=[float(n) for n in self.flows], capacity=1e6, base_rtt=0.2, buffer=BUFFER, packet_size=1000.0,
            retransmission_ratio=ratio, collapse=2,
        )  # fmt: skip
        epochs = max(1, round(self.slice / (0.2 + 8000 * BUFFER / 1e6)))
        return self_consistent(link.balance(), window=epochs).jain.values
