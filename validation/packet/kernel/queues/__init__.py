"""Queue disciplines: whom a queue refuses, and whom it sends next.

A discipline is a file with three hooks and a line in `DISCIPLINES`: `admits(w, line, size, busy)`, asked on the arrival
of a packet; on served links also `put(w, line, slot)`, which adds a packet to the line's list of those that wait, and
`take(w, line)`, which takes the next one off (-1: none). A discipline that reorders needs served links. Links count
what waits, is lost and is sent.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ..jit import by_number, inlined
from . import droptail

#: Name -> the file with its hooks; `discipline` of a link's record is the place in this table.
DISCIPLINES: dict[str, ModuleType] = {"droptail": droptail}


@inlined
def _discipline(line: Any) -> Any:
    return line.discipline


admits, put, take = (
    by_number(_discipline, [getattr(file, hook) for file in DISCIPLINES.values()])
    for hook in ("admits", "put", "take")
)
