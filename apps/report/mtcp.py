"""The report's section on M/TCP: Table 4 of its paper beside packets, and which of its statements hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tcpdynamics.validation.comparisons.mtcp import (
    ACK_LOSS,
    CUMULATIVE,
    HOLDS,
    PUBLISHED,
    RENO,
    SENDERS,
    STATEMENTS,
    MtcpVsPackets,
)

from .sections import Section, section_of
from .steps import Tell, step

if TYPE_CHECKING:
    import xarray as xr

STEP = "comparing M/TCP with its paper"


def section(tell: Tell) -> Section:
    """Simulate Table 4."""
    comparison = MtcpVsPackets(**MtcpVsPackets.quick)
    with step(STEP, tell):
        result = comparison.run()
    return section_of(
        "mtcp", "M/TCP", answer(result), {"mtcp": comparison.figure(result)}, rows=_rows(result),
        losses=[f"{100 * q:g} %" for q in ACK_LOSS], statements=_statements(result),
        paragraphs=comparison.paragraph(result).split("\n\n"),
    )  # fmt: skip


def answer(result: xr.Dataset) -> str:
    """One sentence, made from the numbers."""
    held = result.holds.sel(lists=CUMULATIVE)
    hold = int((held == HOLDS).all("rate").sum())
    first = result.sel(lists=CUMULATIVE, sender="duplicated").isel(ack_loss=0)
    times, printed = float((1 + first.improvement).mean()), PUBLISHED["duplicated"][0] / PUBLISHED[RENO][0]
    return (
        f"{hold} of {len(STATEMENTS)} statements on Table 4 hold in every reading of the links if lists heed "
        f"cumulative acknowledgements; the levels do not: two routes carry {times:.2f} times what Reno carries over "
        f"one, where the paper has {printed:.2f} times."
    )


def _rows(result: xr.Dataset) -> list[dict[str, Any]]:
    """Table 4 and, under each of its lines, packets for each rate of the links."""
    rows = []
    for sender in SENDERS:
        name = sender.replace("_", " and ")
        rows.append({"name": f"{name}: Table 4", "cells": [f"{x / 1e6:.2f}" for x in PUBLISHED[sender]]})
        for rate in result.rate.values:
            part = result.sel(rate=rate, sender=sender, lists=CUMULATIVE)
            halves = (part.high - part.low) / 2
            cells = [
                f"{float(x) / 1e6:.2f} ± {float(h) / 1e6:.2f}, {v}"
                for x, h, v in zip(part.throughput, halves, part.verdict.values, strict=True)
            ]
            rows.append({"name": f"packets, {float(rate) / 1e6:g} Mbit/s", "cells": cells})
    return rows


def _statements(result: xr.Dataset) -> list[dict[str, str]]:
    return [
        {"text": text}
        | {
            str(lists): ", ".join(dict.fromkeys(result.holds.sel(statement=name, lists=lists).values.tolist()))
            for lists in result.lists.values
        }
        for name, text in STATEMENTS.items()
    ]
