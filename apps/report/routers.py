"""The report's section on routers that tell senders their windows: T-REFWA in packets, its models and its paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tcpdynamics.validation.comparisons.comparison import counts
from tcpdynamics.validation.comparisons.t_refwa_packets import TRefwaVsPackets

from .sections import Section, section_of
from .steps import Tell, step

if TYPE_CHECKING:
    import xarray as xr

STEP = "comparing a T-REFWA router with its models"


def section(tell: Tell) -> Section:
    """Simulate and compare."""
    comparison = TRefwaVsPackets(**TRefwaVsPackets.quick)
    with step(STEP, tell):
        result = comparison.run()
    return section_of(
        "routers", "Routers", answer(result), {"routers": comparison.figure(result)}, cases=_cases(result),
        table=_table(result), statements=_statements(result), means=list(result["mean"].values),
    )  # fmt: skip


def answer(result: xr.Dataset) -> str:
    """One sentence or two, made from the numbers."""
    left = result.measured.sel(case="(1.5, 0.5), queue of now")
    smaller = result.measured.sel(case="(1, 0.5), queue of now")
    hold = int(result.holds.sum())
    return (
        f"Packets agree with the models of the router in {counts(result.verdict).split(' agree')[0]} cases. Of an "
        f"alternation of windows {float(left):.0%} is left at the published gains where the router takes the queue of "
        f"the moment, and {float(smaller):.0%} with phi = 1. Of the paper's {result.holds.size} statements {hold} hold."
    )


def _cases(result: xr.Dataset) -> list[dict[str, str]]:
    return [
        {
            "part": str(part), "case": str(case), "measured": f"{m:.3f} [{low:.3f}, {high:.3f}]",
            "predicted": f"{p:.3f}", "verdict": str(v),
        }
        for part, case, m, low, high, p, v in zip(
            result.part.values, result.case.values, result.measured.values, result.measured_low.values,
            result.measured_high.values, result.predicted.values, result.verdict.values, strict=True,
        )
    ]  # fmt: skip


def _table(result: xr.Dataset) -> list[dict[str, Any]]:
    """Rows of Table III: what is printed, and what is measured with each reading of the round-trip times."""
    rows = []
    for link in result.link.values:
        for protocol in result.protocol.values:
            cell = result.sel(link=link, protocol=protocol)
            row: dict[str, Any] = {"link": str(link), "protocol": str(protocol)}
            for name in ("fairness", "utilisation"):
                row[name] = f"{float(cell[f'{name}_printed']):.3g}"
                row[f"{name}_measured"] = [
                    f"{float(here[name]):.3f} ± {float(here[f'{name}_high'] - here[name]):.3f}"
                    for here in (cell.sel(mean=mean) for mean in result["mean"].values)
                ]
            rows.append(row)
    return rows


def _statements(result: xr.Dataset) -> list[dict[str, Any]]:
    return [
        {"text": str(text), "holds": bool(holds), "evidence": str(evidence)}
        for text, holds, evidence in zip(
            result.statement.values, result.holds.values, result.evidence.values, strict=True
        )
    ]
