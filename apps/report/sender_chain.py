"""The report's section on the chain of the sender itself: what an assumption costs, and when a sender falls silent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tcpdynamics.charts.look import COLOURS, LEGEND_BELOW
from tcpdynamics.validation.comparisons import SenderChainSteps, SenderChainVsPackets
from tcpdynamics.validation.sender_chain.collapse import Backoff, collapse

from .sections import Section, section_of
from .steps import Tell, step

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

DISTANCE_STEP, LADDER_STEP = "comparing chains of senders", "climbing the ladder of assumptions"
#: Senders of the table of collapse: words and settings.
SENDERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Tahoe, Reno, NewReno", {"sender": "reno"}),
    ("SACK", {"sender": "sack"}),
    ("NewReno with LEAP", {"sender": "newreno", "leap": True}),
    ("SACK with LEAP", {"sender": "sack", "leap": True}),
)
WINDOWS = (1, 2, 3, 4, 5)
#: Of the senders' curves.
WINDOW = 4


def section(tell: Tell) -> Section:
    """Compile, solve, simulate."""
    with step(DISTANCE_STEP, tell):
        beside = SenderChainVsPackets(**SenderChainVsPackets.quick).run()
    with step(LADDER_STEP, tell):
        ladder = SenderChainSteps(**SenderChainSteps.quick).run()
    silent = [(words, [threshold(w, setting) for w in WINDOWS]) for words, setting in SENDERS]
    return section_of(
        "sender_chain", "What each simplification costs", answer(beside),
        {
            "ladder": SenderChainSteps.figure(ladder), "queue": SenderChainSteps.queue_figure(ladder),
            "loop": SenderChainSteps.loss_figure(ladder), "collapse": collapse_figure(),
        },
        costs=costs(ladder), distance_paragraph=SenderChainVsPackets.paragraph(beside),
        ladder_paragraphs=SenderChainSteps.paragraph(ladder).split("\n\n"),
        rows=rows(ladder), losses=[f"{p:g}" for p in ladder.loss.values], windows=WINDOWS, silent=silent,
    )  # fmt: skip


def threshold(window: int, setting: dict[str, Any]) -> str:
    """The loss at which a sender collapses, in words; LEAP needs a window of two."""
    if window == 1 and setting.get("leap"):
        return "\N{EM DASH}"
    return f"{collapse(window=window, rules='rfc', **setting):.4f}"


def collapse_figure() -> go.Figure:
    """By how much the time at a level of back-off exceeds that at the level below, against the loss."""
    import numpy as np

    from tcpdynamics.charts.drawing import go

    picture = go.Figure()
    losses = np.linspace(0.01, 0.5, 99)
    for (words, setting), colour in zip(SENDERS, COLOURS, strict=False):
        backoff = Backoff(window=WINDOW, rules="rfc", **setting)
        picture.add_scatter(
            x=losses, y=[2.0 * backoff.growth(p) for p in losses], name=words, mode="lines", line={"color": colour}
        )
    for m, dash in ((2, "dot"), (3, "dash")):
        picture.add_scatter(
            x=losses, y=2.0 * (1.0 - (1.0 - losses) ** m), name=f"{m} successes in a row", mode="lines",
            line={"color": "#777777", "dash": dash},
        )  # fmt: skip
    picture.add_hline(y=1.0, line={"color": "#333333", "width": 1})
    picture.update_layout(height=420, template="plotly_white", legend=LEGEND_BELOW, margin={"t": 30})
    picture.update_xaxes(title_text="packet-loss probability", tickformat="~%")
    picture.update_yaxes(title_text="time at a level over time at the one below", rangemode="tozero")
    return picture


def rows(ladder: xr.Dataset) -> list[tuple[str, list[str]]]:
    """A line for each step: its distance at each loss, with the interval."""
    out = []
    for name in map(str, ladder.step.values):
        part = ladder.sel(step=name)
        cells = [
            "\N{EM DASH}" if at.distance.isnull() else f"{float(at.distance):.3f}"
            + (f" [{float(at.distance_low):.3f}, {float(at.distance_high):.3f}]"
               if float(at.distance_high) > float(at.distance_low) + 1e-12 else "")
            for at in (part.sel(loss=loss) for loss in ladder.loss.values)
        ]  # fmt: skip
        out.append((name, cells))
    return out


def answer(beside: xr.Dataset) -> str:
    """One sentence, made from the numbers."""
    return (
        "A chain compiled from the simulator's sender differs from the simulator by at most "
        f"{float(beside.distance.max()):.4f}."
    )


def costs(ladder: xr.Dataset) -> str:
    """The two largest simplifications, in numbers."""
    largest = ladder.distance.max("loss")
    summary = float(largest.sel(step="karn to sender"))
    queue = float(largest.sel(step="independent to spread"))
    return (
        f"The exact chain, which summarises a sender by hand, costs up to {summary:.2f} more; a queue instead of "
        f"independent losses costs up to {queue:.2f}."
    )
