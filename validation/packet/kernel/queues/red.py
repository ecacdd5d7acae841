"""RED: packets are lost, or marked, the likelier the longer the mean queue (Floyd and Jacobson 1993)."""

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

SOURCE = "S. Floyd and V. Jacobson, IEEE/ACM Transactions on Networking 1, 1993"

PARAMETERS = (
    Parameter("min_threshold", "packet", "mean queue from which packets are lost", 5.0, 0.0, 1e7),
    Parameter("max_threshold", "packet", "mean queue from which every packet is lost", 15.0, 0.0, 1e7),
    Parameter("p_max", "1", "share lost at the upper threshold", 0.1, 1e-9, 1.0),
    Parameter("weight", "1", "weight of a new sample in the mean queue", 0.002, 1e-9, 1.0),
)

STATE = np.dtype(
    [
        ("average", np.float64),
        *((p.name, np.float64) for p in PARAMETERS),
        ("count", np.int64),
    ]
)
_state = at.part_of("state", STATE)


def refuse(values: Mapping[str, float], key: str) -> None:
    """Thresholds in the wrong order."""
    if not values["min_threshold"] < values["max_threshold"]:
        raise ScenarioError(
            f"{key}.min_threshold must be below {key}.max_threshold = {values['max_threshold']:g}, got "
            f"{values['min_threshold']:g}"
        )


def admits(w: Any, line: Any, slot: Any, busy: Any) -> Any:
    """The mean queue moves on, and decides."""
    s = _state(w, line, 0)
    if not busy:  # as if packets had come, one each sending time, while the link was idle
        s.average *= (1.0 - s.weight) ** (
            (w.now - line.free_at) / (8.0 * at.event(w, slot).length / line.rate)
        )
    s.average += s.weight * (line.waiting - s.average)
    if not droptail.admits(w, line, at.event(w, slot).length, busy):
        return 0
    if s.average < s.min_threshold:
        s.count = -1
        return 1
    s.count += 1
    p = 1.0
    if s.average < s.max_threshold:
        p = s.p_max * (s.average - s.min_threshold) / (s.max_threshold - s.min_threshold)
        p = p / (1.0 - s.count * p) if s.count * p < 1.0 else 1.0
    line.draws += ONE
    if uniform(line.key, line.draws) >= p:
        return 1
    s.count = 0
    return 1 if mark(w, line, slot) else 0


put, take = droptail.put, droptail.take
