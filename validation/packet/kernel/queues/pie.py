"""PIE: packets are lost on arrival with a share that a controller of the waiting time sets (RFC 8033)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import views as at
from ..jit import called
from ..losses import mark
from ..parameters import Parameter
from ..streams import ONE, uniform
from . import droptail

SOURCE = "RFC 8033, sections 4 and 5, appendix A"

#: It marks packets that may be marked (ECN) where it would lose them.
MARKS = True

PARAMETERS = (
    Parameter("target", "s", "waiting time to hold", 0.015, 1e-9, 1e3),
    Parameter("update", "s", "time between two steps of the controller", 0.015, 1e-6, 1e3),
    Parameter("alpha", "1/s", "share a second of excess waiting", 0.125, 0.0, 1e6),
    Parameter("beta", "1/s", "share a second of growth of the waiting", 1.25, 0.0, 1e6),
    Parameter("burst", "s", "time for which a burst passes unharmed", 0.15, 0.0, 1e3),
    Parameter("mark_p", "1", "largest share up to which packets are marked rather than lost", 0.1, 0.0, 1.0),
    Parameter("mean_packet", "B", "two such packets may wait in any case", 500.0, 1.0, 1e6),
)

RECORDED = {
    "share": ("1", "PIE's share of packets to lose or mark"),
    "delay": ("s", "waiting time at the last step of the controller"),
}

STATE = np.dtype(
    [
        *((name, np.float64) for name in RECORDED),
        *((p.name, np.float64) for p in PARAMETERS),
        *((name, np.float64) for name in ("allowance", "next")),
    ]
)
_state = at.part_of("state", STATE)

#: The share at which the controller's steps become smaller, and by what (section 4.2).
_SMALL = ((1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0))


def prepare(state: Any, lanes: Any, values: Mapping[str, float], way: Any) -> None:
    """The first burst passes."""
    state["allowance"], state["next"] = values["burst"], values["update"]


@called
def _step(s: Any, delay: Any) -> None:
    """One step of the controller at this waiting time."""
    p = s.alpha * (delay - s.target) + s.beta * (delay - s.delay)
    for low, divisor in _SMALL:
        if s.share < low:
            p /= divisor
            break
    if s.share >= 0.1:
        p = min(p, 0.02)  # section 5.5
    s.share += p
    if delay == 0.0 and s.delay == 0.0:
        s.share *= 0.98
    s.share = min(max(s.share, 0.0), 1.0)
    s.allowance = max(s.allowance - s.update, 0.0)
    if s.share == 0.0 and delay < 0.5 * s.target and s.delay < 0.5 * s.target:
        s.allowance = s.burst
    s.delay = delay


@called
def _catch_up(w: Any, line: Any, s: Any) -> None:
    """The steps that were due since the queue last changed: its length was the same at all of them."""
    delay = 8.0 * line.waiting_bytes / line.rate
    while s.next <= w.now:
        _step(s, delay)
        s.next += s.update
        if s.share == 0.0 and delay == 0.0 and s.next < w.now:  # nothing changes from here on
            s.delay = 0.0
            s.allowance = s.burst
            s.next += s.update * np.floor((w.now - s.next) / s.update)


def admits(w: Any, line: Any, slot: Any, busy: Any) -> Any:
    """A short queue and a burst pass; else chance decides."""
    s = _state(w, line, 0)
    _catch_up(w, line, s)
    if not droptail.admits(w, line, at.event(w, slot).length, busy):
        return 0
    short = s.delay < 0.5 * s.target and s.share < 0.2
    if s.allowance > 0.0 or short or line.waiting_bytes <= 2.0 * s.mean_packet:
        return 1
    line.draws += ONE
    if uniform(line.key, line.draws) >= s.share:
        return 1
    return 1 if s.share <= s.mark_p and mark(w, line, slot) else 0


put = droptail.put


def take(w: Any, line: Any) -> Any:
    """First in, first out."""
    _catch_up(w, line, _state(w, line, 0))
    return droptail.take(w, line)
