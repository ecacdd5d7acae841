"""The arrays of a run while they are filled, and the memory of its mechanisms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..hops import Way
from ..kernel import records as k
from ..scenario.scenario import Scenario, refuse_above


class Memory:
    """Records one after another, of queues or senders; hooks read one at the offset that `append` returned."""

    def __init__(self) -> None:
        self._parts: list[NDArray[np.uint8]] = [np.zeros(0, np.uint8)]
        self.size = 0

    def append(self, record: Any) -> int:
        """Append a structured array; its offset [byte]."""
        self._parts.append(np.frombuffer(record.tobytes(), np.uint8))
        self.size += record.nbytes
        return int(self.size - record.nbytes)

    def check(self, what: str, advice: str) -> None:
        """Raise ScenarioError if the records are more than memory should hold."""
        refuse_above(float(self.size), what, advice)

    def array(self) -> NDArray[np.uint8]:
        """All bytes, and room behind the last record: a sample of a queue reads four numbers, however few it has."""
        room = 8 * (k.OF_ROUTER - k.OF_DISCIPLINE)
        return np.concatenate([*self._parts, np.zeros(room, np.uint8)])


@dataclass(frozen=True, eq=False)
class Draft:
    """What the parts of a run fill; `word` is the seed of all random streams."""

    scenario: Scenario
    word: int
    flows: Any
    hops: Any
    links: Any
    routes: dict[int, list[Way]]  # of each flow that has several
    memory: Memory = field(default_factory=Memory)  # of queues, links, routers and meters
    world: dict[str, Any] = field(default_factory=dict)  # fields of the run's record; 0 without the part
    arrays: dict[str, Any] = field(default_factory=dict)  # arrays of `Sim`; one row or none without the part
