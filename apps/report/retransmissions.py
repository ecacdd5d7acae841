"""The report's section on lost retransmissions: why flows are locked out, and a gateway that sends them first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcpdynamics.validation.comparisons.lock_out import PAPER, TWO_LOSSES, LockOut
from tcpdynamics.validation.comparisons.retransmission_priority import SPLIT, RetransmissionPriorityVsPackets

from .sections import Section, section_of
from .steps import Tell, step

if TYPE_CHECKING:
    import xarray as xr

LOCK_OUT_STEP, PRIORITY_STEP = "comparing what locks flows out", "comparing priority of retransmissions"


def section(tell: Tell) -> Section:
    """Simulate both comparisons."""
    with step(LOCK_OUT_STEP, tell):
        locked = LockOut(**LockOut.quick).run()
    with step(PRIORITY_STEP, tell):
        priority = RetransmissionPriorityVsPackets(**RetransmissionPriorityVsPackets.quick).run()
    return section_of(
        "retransmissions", "Lost retransmissions", answer(locked, priority),
        {"locked": LockOut.figure(locked), "priority": RetransmissionPriorityVsPackets.figure(priority)},
        locked_paragraphs=LockOut.paragraph(locked).split("\n\n"),
        priority_paragraphs=RetransmissionPriorityVsPackets.paragraph(priority).split("\n\n"),
    )  # fmt: skip


def answer(locked: xr.Dataset, priority: xr.Dataset) -> str:
    """One sentence, made from the numbers."""
    first, after = locked.sel(run=PAPER), priority.sel(priority=SPLIT)
    return (
        f"With equal RTTs {float(first.locked_out):.0%} of the flows get nothing in 20 s, because packets that a "
        f"timeout sends again are lost {float(first.loss_timeout / first.loss_new):.1f} times as often as new ones "
        f"(the chain with both losses: {float(first.predicted.sel(chain=TWO_LOSSES)):.0%}). A gateway that sends "
        f"them first changes Jain's index by {float(after.gain.min()):+.2f} to {float(after.gain.max()):+.2f}."
    )
