"""Numbers that claims name: predicted by a model."""

from __future__ import annotations

from tcpdynamics.models import OverloadedStar

from ..deciding import predicted


@predicted("leap.finished")
def finished(sender: str, density: str) -> float:
    """Finished over generated transfers, if every segment came but once: no sender's number can be above."""
    return float(OverloadedStar(density=float(density)).finished())
