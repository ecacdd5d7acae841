"""The report's section on lost retransmissions: why flows are locked out, and a gateway that sends them first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tcpdynamics.validation.comparisons.lock_out import PAPER, TWO_LOSSES, LockOut
from tcpdynamics.validation.comparisons.retransmission_priority import SPLIT, RetransmissionPriorityVsPackets

from .steps import Tell, step

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

LOCK_OUT_STEP, PRIORITY_STEP = "comparing what locks flows out", "comparing priority of retransmissions"


@dataclass(frozen=True)
class Retransmissions:
    """Results of the two comparisons."""

    locked: xr.Dataset
    priority: xr.Dataset

    def figures(self) -> dict[str, go.Figure]:
        """Figures by name."""
        return {
            "locked": LockOut.figure(self.locked),
            "priority": RetransmissionPriorityVsPackets.figure(self.priority),
        }

    def paragraphs(self) -> dict[str, list[str]]:
        """Paragraphs by name of the figure."""
        return {
            "locked": LockOut.paragraph(self.locked).split("\n\n"),
            "priority": RetransmissionPriorityVsPackets.paragraph(self.priority).split("\n\n"),
        }

    def answer(self) -> str:
        """One sentence, made from the numbers."""
        first, after = self.locked.sel(run=PAPER), self.priority.sel(priority=SPLIT)
        return (
            f"With equal RTTs {float(first.locked_out):.0%} of the flows get nothing in 20 s, because packets that a "
            f"timeout sends again are lost {float(first.loss_timeout / first.loss_new):.1f} times as often as new ones "
            f"(the chain with both losses: {float(first.predicted.sel(chain=TWO_LOSSES)):.0%}). A gateway that sends "
            f"them first changes Jain's index by {float(after.gain.min()):+.2f} to {float(after.gain.max()):+.2f}."
        )


def retransmissions(quick: bool, tell: Tell) -> Retransmissions:
    """Simulate both parts."""
    with step(LOCK_OUT_STEP, tell):
        locked = LockOut(**LockOut.quick if quick else {}).run()
    with step(PRIORITY_STEP, tell):
        own = RetransmissionPriorityVsPackets.quick if quick else {}
        priority = RetransmissionPriorityVsPackets(**own).run()
    return Retransmissions(locked, priority)
