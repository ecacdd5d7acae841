"""The report's section on lost retransmissions: why flows are locked out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcpdynamics.validation.comparisons.lock_out import PAPER, TWO_LOSSES, LockOut

from .sections import Section, section_of
from .steps import Tell, step

if TYPE_CHECKING:
    import xarray as xr

LOCK_OUT_STEP = "comparing what locks flows out"


def section(tell: Tell) -> Section:
    """Simulate the comparison."""
    with step(LOCK_OUT_STEP, tell):
        locked = LockOut(**LockOut.quick).run()
    return section_of(
        "retransmissions", "Lost retransmissions", answer(locked), {"locked": LockOut.figure(locked)},
        cause=cause(locked),
        paragraphs=LockOut.paragraph(locked).split("\n\n"),
    )  # fmt: skip


def answer(locked: xr.Dataset) -> str:
    """One sentence, made from the numbers."""
    return f"With equal RTTs {float(locked.locked_out.sel(run=PAPER)):.0%} of the flows get nothing for 20 s."


def cause(locked: xr.Dataset) -> str:
    """What the lock-out comes with, and what a chain says that knows it."""
    first = locked.sel(run=PAPER)
    return (
        f"Timeout retransmissions are lost {float(first.loss_timeout / first.loss_new):.1f} times as often as new "
        f"packets. The chain with both loss rates predicts {float(first.predicted.sel(chain=TWO_LOSSES)):.0%}."
    )
