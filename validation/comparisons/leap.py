"""LEAP in packets compared with its closed forms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np

from tcpdynamics.errors import DomainError, shown
from tcpdynamics.limits import check_work
from tcpdynamics.models import LeapTransfer, OverloadedStar
from tcpdynamics.progress import tracked

from ..packet import Bottleneck, Flows, Scenario
from ..packet.scenario.topologies import star
from ..packet.user_rules import congestion_control
from .comparison import check_length
from .models_vs_packets import Case, ModelsVsPackets

#: Segments of a transfer, as in the paper.
SEGMENTS = 100
#: Who sends on the path with random losses beside the paper's three: what the closed forms are made for.
ONE = "window of one"
SENDERS = ("reno", "newreno", "sack")


@congestion_control("window_of_one")
def on_ack(f, now, acked):  # type: ignore[no-untyped-def]
    """No growth at all."""
    f.cwnd = 1.0


@dataclass(frozen=True)
class LeapVsPackets(ModelsVsPackets):
    """Duplicates and transmissions of a transfer by loss; the fraction that finishes by density.

    *Path*: transfers of 100 segments, alone on a path that loses each packet, data or acknowledgement, with the same
    probability; compared with `LeapTransfer`, made for windows of one. *Star*: the network of the paper, whose
    transfers meet each other; compared with `OverloadedStar` at the measured duplicates. Where the paper is
    silent, senders are as ns-2's were in 2003: timeouts of at least 1 s, 6 s before the first measurement.

    Parameters
    ----------
    loss : sequence of float       Loss probabilities on the path [1], in [0.001, 0.4].
    density : sequence of float    Transfers that begin in the star [1/s], in [0.5, 10].
    senders : sequence of str      Among "reno", "newreno", "sack".
    transfers : int                On the path, in each replication.
    duration : float               Of a run of the star [s].
    replications : int             Independent runs, >= 2.
    seed : int

    Examples
    --------
    >>> small = LeapVsPackets(loss=(0.1,), density=(3.5,), senders=("reno",), duration=300.0, replications=2)
    >>> result = small.run()
    >>> result.verdict.sel(case="transmissions of a transfer, loss 0.1, window of one").item()
    'agrees'
    """

    command: ClassVar[str] = "leap"
    claims: ClassVar[str] = "leap"
    quick: ClassVar[dict[str, Any]] = {
        "loss": (0.05, 0.2), "density": (2.5, 3.5), "senders": ("reno", "sack"), "transfers": 100, "replications": 3,
        "duration": 1000.0,
    }  # fmt: skip
    loss: Sequence[float] = (0.02, 0.05, 0.1, 0.15, 0.2)
    density: Sequence[float] = (2.5, 2.75, 3.0, 3.25, 3.5)
    senders: Sequence[str] = SENDERS
    transfers: int = 200
    duration: float = 3000.0
    replications: int = 6
    seed: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("loss", "density", "senders"):
            check_length(name, getattr(self, name))
        for name in self.senders:
            if name not in SENDERS:
                raise DomainError(f"senders must list some of {', '.join(SENDERS)}, got {shown(name)}")
        for name, low, high in (("loss", 0.001, 0.4), ("density", 0.5, 10.0)):
            if not all(low <= x <= high for x in getattr(self, name)):
                raise DomainError(
                    f"{name} must list numbers in [{low:g}, {high:g}], got {shown(list(getattr(self, name)))}"
                )

    def path(self, sender: str, leap: bool, loss: float) -> Scenario:
        """Transfers that do not meet each other."""
        one = sender == ONE  # without an end, for the last segment has none to leap to
        flow = Flows(
            max(self.transfers // 10, 2) if one else self.transfers, "reno" if one else sender, rtt=0.2,
            control="window_of_one" if one else "reno", segments=None if one else SEGMENTS, packet_size=576, leap=leap,
            window_limit=100, min_rto=1.0, initial_rto=1.0, max_rto=4.0, max_backoff=4, handshake=False,
            delayed_ack=0.0 if one else 0.1, initial_window=1,
        )  # fmt: skip
        return Scenario(
            (flow,), Bottleneck(1e9, None, loss=loss, ack_loss=loss), 2000.0, 0.0, epoch=1.0, slice=2000.0,
            clock="grid", seed=self.seed, name=f"{sender}{' + LEAP' * leap}, loss {loss:g}",
        )  # fmt: skip

    def network(self, sender: str, leap: bool, density: float) -> Scenario:
        """The star of the paper's section 2.1."""
        nodes = ("n0", "n1", "n2")
        flow = Flows(
            int(1.05 * density * self.duration) + 100, sender, source=nodes, target=nodes, packet_size=576,
            segments=SEGMENTS, window_limit=100, delayed_ack=0.1, arrival_rate=density, leap=leap, min_rto=1.0,
            initial_rto=6.0,
        )  # fmt: skip
        return Scenario(
            (flow,), None, self.duration, 0.0, links=star(), epoch=1.0, slice=self.duration, clock="grid",
            seed=self.seed, name=f"{sender}{' + LEAP' * leap}, {density:g}/s",
        )  # fmt: skip

    def parts(self) -> Sequence[Callable[[], Iterator[Case]]]:
        """The path and the star."""
        return [self._on_path, self._in_star]

    def _on_path(self) -> Iterator[Case]:
        for sender, leap, p in tracked(list(product((ONE, *self.senders), (False, True), self.loss))):
            runs = self.replicated(self.path(sender, leap, p))
            for what, total in (("duplicates", runs.duplicates), ("transmissions", runs.sent)):
                values = SEGMENTS * (total.sum("flow") / runs.goodput.sum("flow")).values
                law = getattr(LeapTransfer(p, p), f"{what}_{'leap' if leap else 'plain'}")
                yield Case(
                    f"{what} of a transfer", f"loss {p:g}", _called(sender, leap), values, SEGMENTS * float(law()),
                    at=p, along="loss probability of data and acknowledgements [%]",
                )  # fmt: skip

    def _in_star(self) -> Iterator[Case]:
        for sender, leap, density in tracked(list(product(self.senders, (False, True), self.density))):
            runs = self.replicated(self.network(sender, leap, density))
            finished = np.isfinite(runs.finish)
            repeated = float(runs.duplicates.where(finished).mean("flow").mean()) / SEGMENTS
            yield Case(
                "fraction of transfers that finish", f"{density:g}/s", _called(sender, leap),
                (finished.sum("flow") / np.isfinite(runs.start).sum("flow")).values,
                float(OverloadedStar(density=density, duplicates=repeated).finished()),
                at=density, along="transfers that begin [1/s]",
            )  # fmt: skip

    def _check_work(self) -> None:
        paths = sum(self.path(s, True, p).count * SEGMENTS for s in (ONE, *self.senders) for p in self.loss)
        stars = sum(self.network("reno", True, x).work for x in self.density) * len(self.senders)
        check_work(
            f"{self.replications} replications of {len(self.density)} densities and {len(self.loss)} losses",
            2.0 * self.replications * (stars + 1000.0 * paths),
            "give fewer densities, losses, senders or replications, or a shorter duration",
        )


def _called(sender: str, leap: bool) -> str:
    return f"{sender} with LEAP" if leap else sender
