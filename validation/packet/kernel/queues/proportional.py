"""Proportional: a packet is marked with a share that rises with what it finds waiting, or lost if it cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tcpdynamics.errors import ScenarioError

from .. import views as at
from ..losses import mark
from ..parameters import Parameter
from ..streams import ONE, uniform
from . import droptail

SOURCE = "RFC 9332, appendix A (ramp)"

#: It marks packets that may be marked (ECN) where it would lose them.
MARKS = True

PARAMETERS = (
    Parameter("min_threshold", "packet", "packets waiting up to which none is marked", 5.0, 0.0, 1e7),
    Parameter("max_threshold", "packet", "packets waiting from which the share is p_max", 35.0, 0.0, 1e7),
    Parameter("p_max", "1", "share marked at the upper threshold and beyond", 1.0, 1e-9, 1.0),
)

RECORDED = {"share": ("1", "share of packets to mark at the last arrival")}

STATE = np.dtype([*((name, np.float64) for name in RECORDED), *((p.name, np.float64) for p in PARAMETERS)])
_state = at.part_of("state", STATE)


def refuse(values: Mapping[str, float], key: str) -> None:
    """Thresholds in the wrong order."""
    if not values["min_threshold"] < values["max_threshold"]:
        raise ScenarioError(
            f"{key}.min_threshold must be below {key}.max_threshold = {values['max_threshold']:g}, got "
            f"{values['min_threshold']:g}"
        )


def admits(w: Any, line: Any, slot: Any, busy: Any) -> Any:
    """A full queue refuses; else chance decides by the queue of this moment."""
    s = _state(w, line, 0)
    up = (line.waiting - s.min_threshold) / (s.max_threshold - s.min_threshold)
    s.share = s.p_max * min(max(up, 0.0), 1.0)
    if not droptail.admits(w, line, at.event(w, slot).length, busy):
        return 0
    if s.share <= 0.0:
        return 1
    line.draws += ONE
    return 1 if uniform(line.key, line.draws) >= s.share or mark(w, line, slot) else 0


put, take = droptail.put, droptail.take
