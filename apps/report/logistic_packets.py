"""The report's section on logistic control in packets: what its paper says, and what packets do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tcpdynamics.validation.comparisons.comparison import counts
from tcpdynamics.validation.comparisons.lotka_volterra_packets import LotkaVolterraVsPackets
from tcpdynamics.validation.comparisons.lotka_volterra_statements import FAILS, HOLDS

from .sections import Section, section_of
from .steps import Tell, step

if TYPE_CHECKING:
    import xarray as xr

STEP = "comparing logistic control in packets with its models"

#: Answer -> the class of its cell in the page.
_COLOURS = {HOLDS: "holds", FAILS: "fails"}


def section(tell: Tell) -> Section:
    """Simulate the quick cases, compare, and render."""
    with step(STEP, tell):
        result = LotkaVolterraVsPackets(**LotkaVolterraVsPackets.quick).run()
    names = ("statement", "published", "answer", "numbers")
    rows = [dict(zip(names, row, strict=True)) for row in zip(*(result[n].values.tolist() for n in names), strict=True)]
    figures = {"logistic_packets": LotkaVolterraVsPackets.figure(result)}
    return section_of(
        "logistic_packets", "Logistic control in packets", answer(result), figures, rows=rows, colours=_COLOURS
    )


def answer(result: xr.Dataset) -> str:
    """One sentence, made from the numbers."""
    judged = result.sel(case=np.isfinite(result.predicted))
    held = int((result.answer == HOLDS).sum())
    return (
        f"Packets under logistic control against the law's models: {counts(judged.verdict)}. Of "
        f"{result.sizes['statement']} statements of its paper {held} hold in packets as they stand."
    )
