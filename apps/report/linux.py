"""The report's section on Linux: what holds on the TCP that people run, and BBR against CUBIC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tcpdynamics.validation.comparisons import BbrVsCubic, LinuxStacks, PacketsVsLinux

from .sections import Section, section_of
from .steps import Tell, step

if TYPE_CHECKING:
    import xarray as xr

STEP = "comparing with Linux"
#: Quantities of the table of switches.
MOVED = ("loss rate", "silent round trips", "Jain's index, 20 s", "locked out for 20 s", "timeouts")


def section(tell: Tell) -> Section:
    """Take what Linux gave, simulate the same, draw both."""
    comparison = PacketsVsLinux(**PacketsVsLinux.quick)
    with step(STEP, tell):
        result = comparison.run()
        shares = BbrVsCubic().run()
        stacks = LinuxStacks().run()
    at = comparison.switches_at
    return section_of(
        "linux", "Linux today", answer(result),
        {"linux": PacketsVsLinux.figure(result), "bbr_cubic": BbrVsCubic.figure(shares),
         "stacks": LinuxStacks.figure(stacks)},
        flows=at, seeds=comparison.seeds, heads=[str(name) for name in result.sender.values],
        rows=rows(result, at), switches=switches(result), moved=MOVED,
        paragraphs=PacketsVsLinux.paragraph(result).split("\n\n"), shares=BbrVsCubic.paragraph(shares),
        stacks=LinuxStacks.paragraph(stacks).split("\n\n"),
    )  # fmt: skip


def _shown(mean: float, low: float, high: float, sign: str = "") -> str:
    return f"{mean:{sign}.3g} [{low:{sign}.3g}, {high:{sign}.3g}]"


def rows(result: xr.Dataset, flows: int) -> list[tuple[str, str, list[str]]]:
    """A line for each quantity: its name, its unit, and each sender's mean with its interval."""
    part = result.sel(flows=flows)
    lines = []
    for quantity, unit in zip(part["quantity"].values, part.quantity_unit.values, strict=True):
        cells = [
            _shown(float(one["mean"]), float(one.mean_low), float(one.mean_high))
            for one in (part.sel(sender=name, quantity=quantity) for name in part.sender.values)
        ]
        lines.append((str(quantity), str(unit), cells))
    return lines


def switches(result: xr.Dataset) -> list[tuple[str, list[str]]]:
    """A line for each switch of Linux: by how much it moves each quantity."""
    return [
        (
            str(name),
            [
                _shown(float(one.effect), float(one.effect_low), float(one.effect_high), "+")
                for one in (result.sel(switch=name, quantity=quantity) for quantity in MOVED)
            ],
        )
        for name in result.switch.values
    ]


def answer(result: xr.Dataset) -> str:
    """One sentence, made from the numbers."""
    same = [name for name in map(str, result.pair.values) if "Linux's rules" in name]
    verdicts = result.verdict.sel(pair=same)
    return (
        f"With Linux's rules the simulator agrees with Linux in {int((verdicts == 'agrees').sum())} of {verdicts.size} "
        "quantities."
    )
