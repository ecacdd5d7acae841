"""M/TCP in packets compared with its closed forms, and the limits of its estimator of one-way times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tcpdynamics.errors import DomainError, shown
from tcpdynamics.limits import check_work
from tcpdynamics.models import MtcpThroughput, OneWayTimes
from tcpdynamics.progress import tracked

from ..packet import Flows, Link, Scenario
from ..packet.scenario.topologies import two_paths
from .comparison import check_length
from .models_vs_packets import Case, ModelsVsPackets

RENO = "reno"
SCHEMES = ("immediate", "duplicated", "duplicated_delayed")
SENDERS = (RENO, *SCHEMES)

#: Losses of acknowledgements (Table 4 of the paper).
ACK_LOSS = (0.0, 0.05, 0.10, 0.13)
#: Rate [bit/s] and delay [s] of the links, which the paper gives in a figure only: Reno over one route gets its first
#: entry, 0.80 Mbit/s (600 runs; within 0.5 %).
RATE, DELAY = 1e7, 0.0314

#: Readings of the lists of unacknowledged segments.
CUMULATIVE, BY_REPLIES = "cumulative", "replies only"
LISTS = (CUMULATIVE, BY_REPLIES)

#: Of the network for the estimator: one-way times there and back [s] of two routes, a window too small for duplicates.
THERE, BACK, FAST, FEW = (0.02, 0.06), (0.07, 0.04), 1e9, 4
_ROUTES = (("s", "a1", "a2", "d"), ("s", "b1", "b2", "d"))


@dataclass(frozen=True)
class MtcpVsPackets(ModelsVsPackets):
    """Throughput that M/TCP and Reno keep as acknowledgements are lost; M/TCP's estimator of one-way times.

    Two routes lose 2 % of the data; 2000 segments of 1000 bytes, window and first threshold 20 (Table 3). `lists` is
    what clears a list of unacknowledged segments: cumulative acknowledgements too, or replies only, as in section
    3.4.1. The estimator is compared without losses: one-way times are off by one of the offsets that its first
    measurements allow. "Needless" are fast retransmits over unequal routes that lose nothing.

    Parameters
    ----------
    lists : sequence of str       Interpretations of the lists, among "cumulative" and "replies only".
    replications : int            Independent runs, >= 2.
    seed : int

    Examples
    --------
    >>> result = MtcpVsPackets(lists=("cumulative",), replications=3).run()
    >>> float(abs(result.gap.sel(case="round trip by the estimator [s], longest")).item()) < 1e-4
    True
    """

    command: ClassVar[str] = "mtcp"
    claims: ClassVar[str] = "mtcp"
    tolerance: ClassVar[float] = 0.03
    quick: ClassVar[dict[str, Any]] = {"replications": 20}

    lists: Sequence[str] = LISTS
    replications: int = 60
    seed: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_length("lists", self.lists)
        for value in self.lists:
            if value not in LISTS:
                raise DomainError(f"lists must list some of {', '.join(LISTS)}, got {shown(value)}")
        if not 2 <= self.replications <= 100_000:
            raise DomainError(f"replications must be a whole number in [2, 100000], got {shown(self.replications)}")

    def scenario(self, lists: str, sender: str, ack_loss: float) -> Scenario:
        """A transfer of 2 Mbytes."""
        common: dict[str, Any] = {"window_limit": 20, "packet_size": 1000, "segments": 2000}
        if sender == RENO:
            flow = Flows(1, RENO, route=_ROUTES[0], **common)
        else:
            flow = Flows(
                1, "mtcp", routes=_ROUTES, acks=sender, parameters={"cumulative": float(lists == CUMULATIVE)}, **common
            )
        links = two_paths((RATE, RATE), (DELAY, DELAY), 50, None, 0.02, ack_loss)
        return Scenario(
            (flow,), None, 400.0, 0.0, links=links, epoch=0.1, slice=400.0, clock="double", seed=self.seed,
            name=f"{sender}, {ack_loss:g}",
        )  # fmt: skip

    def parts(self) -> Sequence[Callable[[], Iterator[Case]]]:
        """Throughput, and the estimator."""
        return [self._throughput, self._estimator]

    def _throughput(self) -> Iterator[Case]:
        """Over that of the same sender without losses of acknowledgements."""
        # Reno has no such lists: it is run once.
        senders = [(RENO, CUMULATIVE), *((scheme, lists) for lists in self.lists for scheme in SCHEMES)]
        model = MtcpThroughput(loss=0.02, ack_loss=list(ACK_LOSS), rtt=0.073, timeout=0.292)
        duplicated = model.duplicated()
        laws = dict(zip(SENDERS, (model.reno(), model.immediate(), duplicated, duplicated), strict=True))
        for sender, lists in tracked(senders):
            rates = [
                1.0 / self.replicated(self.scenario(lists, sender, q)).completion_time.values[:, 0] for q in ACK_LOSS
            ]
            law = np.asarray(laws[sender])
            series = sender.replace("_", " and ") + (f", {lists}" if sender != RENO else "")
            for i, q in list(enumerate(ACK_LOSS))[1:]:
                kept = rates[i].mean() / rates[0].mean()
                # Their mean is the ratio of means, and they scatter as it does.
                values = kept + (rates[i] - kept * rates[0]) / rates[0].mean()
                yield Case(
                    "throughput kept", f"{q:.0%} of acks lost", series, values, float(law[i] / law[0]), at=q,
                    along="loss probability of acknowledgements [%]",
                )  # fmt: skip

    def estimator(self, window: int, acks: str) -> Scenario:
        """1500 segments without losses, over links that no queue delays."""
        links = tuple(
            link
            for name, there, back in zip("ab", THERE, BACK, strict=True)
            for link in (
                Link("s", name, None, 0.0), Link(name, "d", FAST, there, duplex=False),
                Link("d", name, FAST, back, duplex=False),
            )
        )  # fmt: skip
        flow = Flows(
            1, "mtcp", routes=(("s", "a", "d"), ("s", "b", "d")), window_limit=window, packet_size=1000,
            segments=1500, start_spread=0.1, acks=acks,
        )  # fmt: skip
        return Scenario((flow,), None, 300.0, 0.0, links=links, epoch=0.1, slice=300.0, clock="double", seed=self.seed)

    def _estimator(self) -> Iterator[Case]:
        runs = self.replicated(self.estimator(FEW, "immediate")).isel(flow=0)
        there, back = runs.route_time_there.values, runs.route_time_back.values
        true_there, true_back = np.array(THERE) + 8000 / FAST, np.array(BACK) + 320 / FAST
        longest = there.max(1) + back.max(1)
        yield Case("round trip by the estimator [s]", "longest", "", longest, float(true_there.max() + true_back.max()))
        # The first measured pair is halved: route 0 there, and either one back; a second one too if it shares no route.
        begin = [_first(true_there, true_back, y) for y in (0, 1)] + [([0.0, 0.0], [0.0, 0.0])]
        possible = [OneWayTimes.offset(*pair, true_there.tolist(), true_back.tolist()) for pair in begin]
        offset = (there - true_there).mean(1)
        nearest = 1e3 * np.abs(offset[:, None] - np.array(possible)).min(1)
        yield Case("one-way times off a possible offset [ms]", "two routes", "", nearest, 0.0, absolute=True)
        timeouts = (there + back.max(1, keepdims=True)) / (true_there + true_back.max())
        yield Case("timeout (9) over that by true times", "two routes", "", timeouts.mean(1), 1.0)
        for acks in SCHEMES:
            needless = 1000.0 * self.replicated(self.estimator(20, acks)).fast_recoveries.isel(flow=0) / 1500.0
            yield Case("needless fast retransmits in 1000 segments", acks.replace("_", " and "), "", needless.values)

    def _check_work(self) -> None:
        # A transfer of 2000 segments, some 10 events each.
        work = (1 + len(self.lists) * len(SCHEMES)) * len(ACK_LOSS) * self.replications * 3e6
        check_work(f"{self.replications} replications of each sender", work, "give fewer lists or replications")


def _first(there: Any, back: Any, y: int) -> tuple[list[float], list[float]]:
    """Estimates once each route is measured, if the first measured pair is (0, y)."""
    half = (there[0] + back[y]) / 2
    return [float(there[j] - there[0] + half) for j in (0, 1)], [float(back[j] - back[y] + half) for j in (0, 1)]
