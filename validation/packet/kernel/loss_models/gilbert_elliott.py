"""Gilbert-Elliott: losses in bursts, from a link that is in a good or a bad state.

A packet is lost with the probability of the state in which it finds the link; then the link may change its state.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tcpdynamics.errors import ScenarioError

from .. import views as at
from ..parameters import Parameter
from ..streams import ONE, uniform
from .state import state

SOURCE = (
    "E. N. Gilbert, Bell System Technical Journal 39, 1960; E. O. Elliott, ibid. 42, 1963; letters as in G. Hasslinger "
    "and O. Hohlfeld, MMB 2008"
)

#: NaN: there is no default.
PARAMETERS = (
    Parameter("p", "1", "probability, after each packet, of going from good to bad", math.nan, 0.0, 1.0),
    Parameter("r", "1", "probability, after each packet, of going from bad to good", math.nan, 1e-9, 1.0),
    Parameter("good", "1", "probability of a loss in the good state", 0.0, 0.0, 1.0),
    Parameter("bad", "1", "probability of a loss in the bad state", 1.0, 0.0, 1.0),
)

STATE = state(*((p.name, np.float64) for p in PARAMETERS), ("is_bad", np.int64))
_state = at.part_of("channel", STATE)


def mean_loss(values: Mapping[str, float]) -> float:
    """The share of packets that are lost in the long run.

    >>> mean_loss({"p": 0.1, "r": 0.3, "good": 0.0, "bad": 0.8})
    0.2
    """
    bad = values["p"] / (values["p"] + values["r"])
    return (1.0 - bad) * values["good"] + bad * values["bad"]


def refuse(values: Mapping[str, float], key: str) -> None:
    """A good state that is worse than the bad one."""
    if values["good"] > values["bad"]:
        raise ScenarioError(
            f"{key}.good must be at most {key}.bad = {values['bad']:g}, got {values['good']:g}; swap the states"
        )


def begin(record: Any, drawn: float) -> None:
    """The first state, from its law in the long run; `drawn` is uniform in [0, 1)."""
    record["is_bad"] = drawn < record["p"] / (record["p"] + record["r"])


def lost(w: Any, line: Any, which: Any) -> Any:
    """The state decides, and may change for the next packet: two draws."""
    s = _state(w, line, which)
    s.draws += ONE
    gone = uniform(s.key, s.draws) < (s.bad if s.is_bad else s.good)
    s.draws += ONE
    if uniform(s.key, s.draws) < (s.r if s.is_bad else s.p):
        s.is_bad = 1 - s.is_bad
    return 1 if gone else 0
