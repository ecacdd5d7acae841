"""PIE: packets are lost on arrival with a share that a controller of the waiting time sets (RFC 8033).

With `linux` as Linux does it behind a token bucket (sch_pie.c): losses are spread (section 5.4 of the RFC), the waiting
time is that of the packet that became the first last, a sending time before it is sent, a burst's allowance shrinks
with each of them, and two frames of Ethernet may wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import views as at
from ..jit import called, inlined
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
    Parameter("linux", "", "1: as Linux does, behind a token bucket", 0.0, 0.0, 1.0, whole=True),
)

#: Linux: two such frames may wait [B]; the sum of shares since a loss before which none comes, and at which one does.
_FRAME = 1514.0
_FIRST, _LAST = 0.85, 8.5

RECORDED = {
    "share": ("1", "PIE's share of packets to lose or mark"),
    "delay": ("s", "waiting time at the last step of the controller"),
}

STATE = np.dtype(
    [
        *((name, np.float64) for name in RECORDED),
        *((p.name, np.float64) for p in PARAMETERS),
        *((name, np.float64) for name in ("allowance", "next", "waited", "looked", "shares")),
    ]
)
_state = at.part_of("state", STATE)

#: The share at which the controller's steps become smaller, and by what (section 4.2).
_SMALL = ((1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0))


def prepare(state: Any, lanes: Any, values: Mapping[str, float], way: Any) -> None:
    """The first burst passes."""
    state["allowance"], state["next"] = values["burst"], values["update"]
    state["looked"] = -1.0


@inlined
def _begin_burst(s: Any) -> None:
    s.allowance = s.burst
    s.looked = -1.0
    s.shares = 0.0


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
        s.share *= 1.0 - 1.0 / 64.0 if s.linux else 0.98
    s.share = min(max(s.share, 0.0), 1.0)
    if not s.linux:
        s.allowance = max(s.allowance - s.update, 0.0)
    if s.share == 0.0 and delay < 0.5 * s.target and s.delay < 0.5 * s.target:
        _begin_burst(s)
    s.delay = delay


@called
def _catch_up(w: Any, line: Any, s: Any) -> None:
    """The steps that were due since the queue last changed: its length was the same at all of them."""
    delay = s.waited if s.linux else 8.0 * line.waiting_bytes / line.rate
    while s.next <= w.now:
        _step(s, delay)
        s.next += s.update
        if s.share == 0.0 and delay == 0.0 and s.next < w.now:  # nothing changes from here on
            s.delay = 0.0
            _begin_burst(s)
            s.next += s.update * np.floor((w.now - s.next) / s.update)


@inlined
def _look(w: Any, s: Any, slot: Any) -> None:
    """A token bucket looks at the packet that becomes the first."""
    e = at.event(w, slot)
    s.waited = w.now - e.time if e.next >= 0 else 0.0
    if s.linux and s.looked >= 0.0:
        s.allowance = max(s.allowance - (w.now - s.looked), 0.0)
    s.looked = w.now


@inlined
def _by_chance(line: Any, s: Any) -> Any:
    line.draws += ONE
    return uniform(line.key, line.draws) < s.share


@inlined
def _spread(line: Any, s: Any) -> Any:
    """Chance, but no two losses close together, and no gap that is long."""
    s.shares = s.shares + s.share if s.share > 0.0 else 0.0
    if s.shares < _FIRST:
        return False
    if s.shares >= _LAST:
        return True
    if not _by_chance(line, s):
        return False
    s.shares = 0.0
    return True


@inlined
def _chosen(line: Any, s: Any) -> Any:
    """Is the packet to be lost or marked? Not if the queue is short, or a burst is let pass."""
    waited = s.waited if s.linux else s.delay
    if s.allowance > 0.0 or (waited < 0.5 * s.target and s.share < 0.2):
        return False
    if s.linux:
        return line.waiting_bytes >= 2.0 * _FRAME and _spread(line, s)
    return line.waiting_bytes > 2.0 * s.mean_packet and _by_chance(line, s)


def admits(w: Any, line: Any, slot: Any, busy: Any) -> Any:
    """A short queue and a burst pass; else chance decides."""
    s = _state(w, line, 0)
    _catch_up(w, line, s)
    if droptail.admits(w, line, at.event(w, slot).length, busy):
        if not _chosen(line, s):
            return 1
        if s.share <= s.mark_p and mark(w, line, slot):
            return 1
    s.shares = 0.0
    return 0


def put(w: Any, line: Any, slot: Any) -> None:
    """A packet joins the end."""
    droptail.put(w, line, slot)
    if line.list_head == slot:
        _look(w, _state(w, line, 0), slot)


def take(w: Any, line: Any) -> Any:
    """First in, first out."""
    s = _state(w, line, 0)
    _catch_up(w, line, s)
    slot = droptail.take(w, line)
    if line.list_head >= 0:
        _look(w, s, line.list_head)
    return slot
