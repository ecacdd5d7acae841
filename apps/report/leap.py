"""The report's part on LEAP: its closed forms and its paper's numbers beside packets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tcpdynamics.validation.comparisons.comparison import interval_text
from tcpdynamics.validation.comparisons.leap import CLAIMS, LeapVsPackets

from .sections import Section, section_of
from .steps import Tell, step

if TYPE_CHECKING:
    import xarray as xr

LEAP_STEP = "comparing LEAP with its paper"


#: Less than by default: two densities of one sender.
SETTINGS: dict[str, Any] = {
    "loss": (0.05, 0.2), "transfers": 100, "density": (2.5, 3.5), "senders": ("reno",), "replications": 3,
    "duration": 1200.0,
}  # fmt: skip


def section(tell: Tell) -> Section:
    """Simulate the comparison."""
    comparison = LeapVsPackets(**SETTINGS)
    with step(LEAP_STEP, tell):
        result = comparison.run()
    return section_of(
        "leap", "LEAP", answer(result), {"leap": comparison.figure(result)}, rows=_rows(result),
        paragraphs=comparison.paragraph(result).split("\n\n")[:2],
    )  # fmt: skip


def _rows(result: xr.Dataset) -> list[dict[str, str]]:
    """What the paper says of LEAP on Reno, and what packets say."""
    return [
        {
            "claim": str(claim), "where": CLAIMS[str(claim)][0], "verdict": str(part.claim_verdict.item()),
            "measured": interval_text(part, "claim_value", ".2f"),
        }
        for claim in result.claim.values
        for part in [result.sel(claim=claim)]
    ]  # fmt: skip


def answer(result: xr.Dataset) -> str:
    """One sentence, made from the numbers."""
    verdicts = list(result.claim_verdict.values)
    at = result.isel(density=-1).sel(sender="reno")
    return (
        f"In the star at {float(at.density):g} transfers a second {float(at.finished.sel(kind='plain')):.0%} of Reno's "
        f"transfers finish, and {float(at.finished.sel(kind='LEAP')):.0%} with LEAP; the paper has 43 % and 74 %. Of "
        f"{len(verdicts)} statements of the paper {verdicts.count('agrees')} hold and {verdicts.count('differs')} fail."
    )
