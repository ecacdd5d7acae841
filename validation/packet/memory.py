"""Memory of mechanisms: records of queues, links, routers, meters or senders one after another, found by offset."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .scenario.scenario import refuse_above


class Memory:
    """Bytes of records; hooks read a record at the offset that `append` returned."""

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
        """All bytes."""
        return np.concatenate(self._parts)
