"""What only some runs have: each part fills its records where a scenario has it, and its file says all that it sets up.

A part is a file with `fill(draft)` and a line in `PARTS`; the mechanisms that it prepares are files of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable

from ..scenario.scenario import Scenario
from . import meters, queues, routers, senders, users, ways
from .draft import Draft

#: (Does a scenario have it?, the part); each may read what those before it wrote.
PARTS: tuple[tuple[Callable[[Scenario], bool], Callable[[Draft], None]], ...] = (
    (lambda s: any(way.mechanism != "droptail" for way in s.ways), queues.fill),
    (lambda s: any(way.changes or (way.loses and not way.loses_alike) for way in s.ways), ways.fill),
    (lambda s: any(way.router != "none" for way in s.ways), routers.fill),
    (lambda s: any(group.measures for group in s.flows), meters.fill),
    (lambda s: any(group.paced or group.as_linux or group.leap for group in s.flows), senders.fill),
    (lambda s: any(group.has_users for group in s.flows), users.fill),
)


def has_parts(scenario: Scenario) -> bool:
    """Whether the scenario has any part."""
    return any(is_there(scenario) for is_there, _ in PARTS)


def fill_parts(draft: Draft) -> None:
    """Fill the parts that the scenario has."""
    for is_there, fill in PARTS:
        if is_there(draft.scenario):
            fill(draft)
