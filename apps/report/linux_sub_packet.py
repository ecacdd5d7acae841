"""The report's section on whether the sub-packet paper holds on the TCP that people run today."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcpdynamics.paper_figures import rules
from tcpdynamics.paper_figures.sub_packet import today
from tcpdynamics.validation.comparisons import LinuxSubPacket
from tcpdynamics.validation.comparisons import crowded_figures as figures
from tcpdynamics.validation.comparisons.packets_vs_linux import LINUX_SENDERS

from .front import CLASSES, linux_finding
from .sections import Section, section_of
from .steps import Tell, step

if TYPE_CHECKING:
    import xarray as xr

STEP = "repeating the sub-packet paper on Linux"


def section(tell: Tell) -> Section:
    """Take what Linux gave, simulate the same, decide the paper's claims for each sender."""
    comparison = LinuxSubPacket(**LinuxSubPacket.quick)
    with step(STEP, tell):
        result = comparison.run()
    headline, statements = linux_finding(verdicts(result))
    drawn = {
        "today_statements": statements,
        "today_fairness": figures.fairness(result), "today_goodputs": figures.goodputs(result),
        "today_laws": figures.laws(result), "today_distances": figures.distances(result),
        "today_hangs": figures.longest_hangs(result), "today_gateways": figures.gateways(result),
    }  # fmt: skip
    return section_of(
        "linux_sub_packet", "Does the sub-packet paper hold today?", answer(result), drawn,
        finding=(headline, statements), headline=headline, classes=CLASSES,
        seeds=comparison.seeds, ours=comparison.ours, heads=[str(name) for name in result.sender.values],
        rows=rows(result), paragraphs=LinuxSubPacket.paragraph(result).split("\n\n"),
    )  # fmt: skip


def rows(result: xr.Dataset) -> list[tuple[str, str, str, list[tuple[str, str]]]]:
    """A line for each statement: place, words, what was published, and of each sender a cell with its verdict."""
    lines = []
    for one in today.STATEMENTS:
        answers = today.answers(one, result)
        cells = [(today.cell(answer), answer.verdict) for answer in answers.values()]
        lines.append((one.of_ledger.place, one.words, one.of_ledger.published_text, cells))
    return lines


def verdicts(result: xr.Dataset) -> dict[str, list[str]]:
    """The verdict of each statement, for each sender of Linux."""
    answers = [today.answers(one, result) for one in today.STATEMENTS]
    return {name: [one[name].verdict for one in answers] for name in LINUX_SENDERS}


def answer(result: xr.Dataset) -> str:
    """One sentence, made from the verdicts: how many statements hold for each sender of Linux."""
    parts = []
    for name, came in verdicts(result).items():
        holds, fails = (came.count(word) for word in (rules.HOLDS, rules.FAILS))
        parts.append(f"{name}: {holds} hold, {fails} do not, {len(came) - holds - fails} cannot be decided")
    return f"Of {len(today.STATEMENTS)} statements on Figs. 2, 3 and 9 to 12, {'; '.join(parts)}."
