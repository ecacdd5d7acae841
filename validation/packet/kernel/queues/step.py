"""Step: a packet that finds a threshold of others waiting is marked, or lost if it cannot be (as DCTCP's switches)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import views as at
from ..losses import mark
from ..parameters import Parameter
from . import droptail

SOURCE = "M. Alizadeh et al., Data center TCP, ACM SIGCOMM 2010; RFC 8257, section 3.1"

#: It marks packets that may be marked (ECN) where it would lose them.
MARKS = True

PARAMETERS = (
    Parameter("threshold", "packet", "packets waiting from which one more is marked", 20.0, 0.0, 1e7),
    Parameter("bytes", "", "1: threshold counts bytes", 0.0, 0.0, 1.0, whole=True),
)

RECORDED = {"met": ("packets", "what the last packet found waiting (bytes with `bytes`)")}

STATE = np.dtype([*((name, np.float64) for name in RECORDED), *((p.name, np.float64) for p in PARAMETERS)])
_state = at.part_of("state", STATE)


def admits(w: Any, line: Any, slot: Any, busy: Any) -> Any:
    """A full queue refuses; a long one marks."""
    s = _state(w, line, 0)
    s.met = np.float64(line.waiting_bytes if s.bytes else line.waiting)
    if not droptail.admits(w, line, at.event(w, slot).length, busy):
        return 0
    return 1 if not busy or s.met < s.threshold or mark(w, line, slot) else 0


put, take = droptail.put, droptail.take
