"""CoDel: packets are lost as they leave, while all of an interval have waited longer than a target (RFC 8289).

With `linux` the law is that of Linux behind a token bucket (include/net/codel_impl.h, sch_tbf.c). The bucket looks at
the next packet as soon as one goes, so CoDel decides on a packet when it becomes the first, a sending time before it is
sent; and the gaps between losses shrink by one Newton step for each loss, not by the square root: 100, 50, 56 ms where
the RFC has 100, 71, 58.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tcpdynamics.errors import ScenarioError

from .. import views as at
from ..jit import called, inlined
from ..losses import lose_held, mark
from ..parameters import Parameter
from . import droptail

SOURCE = "RFC 8289, section 5"

#: It marks packets that may be marked (ECN) where it would lose them.
MARKS = True

PARAMETERS = (
    Parameter("target", "s", "waiting time to stay below", 0.005, 1e-9, 1e3),
    Parameter("interval", "s", "time for which it may be exceeded, about the longest round trip", 0.1, 1e-9, 1e3),
    Parameter("mtu", "B", "bytes that may wait in any case", 1500.0, 0.0, 1e6),
    Parameter("linux", "", "1: as Linux does, behind a token bucket", 0.0, 0.0, 1.0, whole=True),
)

#: Of the root that Linux keeps; its unit of time [s]. They decide where intervals are whole sending times.
LAST_BIT, TICK = 2.0**-16, 1.024e-6

RECORDED = {
    "delay": ("s", "how long the packet waited that left last"),
    "count": ("1", "CoDel's losses or marks since it last began to lose"),
}

#: What the law remembers of one queue.
MEMORY = [
    *((name, np.float64) for name in RECORDED),
    *((name, np.float64) for name in ("first_above", "lose_next", "last_count", "inverse_root")),
    ("losing", np.int64),
]
#: The packet that a token bucket looks at, -1 without one; bytes of one that is being taken, and no longer waits.
AHEAD = [("ahead", np.int64), ("leaving", np.int64)]
STATE = np.dtype([*MEMORY, *((p.name, np.float64) for p in PARAMETERS), *AHEAD])
_state = at.part_of("state", STATE)


def refuse(values: Mapping[str, float], key: str) -> None:
    """A target that no interval can hold."""
    if not values["target"] < values["interval"]:
        raise ScenarioError(
            f"{key}.target must be below {key}.interval = {values['interval']:g} s, got {values['target']:g} s"
        )


def prepare(state: Any, lanes: Any, values: Mapping[str, float], way: Any) -> None:
    """The token bucket looks at no packet."""
    state["ahead"] = -1


@inlined
def _too_long(w: Any, slot: Any, c: Any, s: Any, left: Any) -> Any:
    """Has every packet of an interval waited longer than the target, the one in `slot` too? `left`: bytes behind."""
    if slot < 0:
        c.first_above = 0.0
        return False
    c.delay = w.now - at.event(w, slot).time
    if c.delay < s.target or left <= s.mtu:
        c.first_above = 0.0
        return False
    if c.first_above == 0.0:
        c.first_above = w.now + s.interval
        return False
    return w.now >= c.first_above


@inlined
def _in_ticks(c: Any, s: Any) -> Any:
    return math.floor(math.floor(s.interval / TICK) * c.inverse_root) * TICK


@inlined
def _gap(c: Any, s: Any) -> Any:
    """The time to the next loss [s], after `count` of them; Linux keeps 16 bits of the root."""
    if not s.linux:
        return s.interval / math.sqrt(c.count)
    root = 0.5 * c.inverse_root * (3.0 - c.count * c.inverse_root * c.inverse_root)
    c.inverse_root = math.floor(root / LAST_BIT) * LAST_BIT
    return _in_ticks(c, s)


@inlined
def next_packet(w: Any, line: Any, c: Any, s: Any, pop: Any, waiting_bytes: Any, lane: Any) -> Any:
    """The next packet to send, -1 without any; what the law loses on the way is lost.

    `c` is the memory of this queue, `s` has the parameters; `pop(w, line, lane)` takes off the first packet,
    `waiting_bytes(line, lane)` counts what is left then.
    """
    slot = pop(w, line, lane)
    too_long = _too_long(w, slot, c, s, waiting_bytes(w, line, lane, slot))
    if c.losing:
        if not too_long:
            c.losing = 0
        while c.losing and w.now >= c.lose_next:
            c.count += 1.0
            gap = _gap(c, s)
            if mark(w, line, slot):
                c.lose_next += gap
                return slot
            lose_held(w, line, slot)
            slot = pop(w, line, lane)
            if _too_long(w, slot, c, s, waiting_bytes(w, line, lane, slot)):
                c.lose_next += gap
            else:
                c.losing = 0
    elif too_long:
        marked = mark(w, line, slot)
        if not marked:
            lose_held(w, line, slot)
            slot = pop(w, line, lane)
            _too_long(w, slot, c, s, waiting_bytes(w, line, lane, slot))
        c.losing = 1
        more = c.count - c.last_count
        recent = w.now - c.lose_next < 16.0 * s.interval
        if more > 1.0 and recent:
            c.count = more
            gap = _gap(c, s)
        else:
            c.count = 1.0
            c.inverse_root = 1.0 - LAST_BIT
            gap = _in_ticks(c, s) if s.linux else s.interval
        c.lose_next = w.now + gap
        c.last_count = c.count
    return slot


@inlined
def taken(w: Any, line: Any, s: Any, choose: Any) -> Any:
    """The packet to send; behind a token bucket it was chosen before, and the one after it is now.

    `choose(w, line)` takes the next one off.
    """
    if not s.linux:
        return choose(w, line)
    slot = s.ahead if s.ahead >= 0 else choose(w, line)
    s.ahead = -1
    if slot >= 0:
        s.leaving = at.event(w, slot).length
        s.ahead = choose(w, line)
        s.leaving = 0
    return slot


@inlined
def look(w: Any, line: Any, s: Any, choose: Any) -> None:
    """After an arrival: a token bucket looks at it, if the link is busy and no other waits."""
    if s.linux and line.busy and s.ahead < 0:
        s.ahead = choose(w, line)


@inlined
def _pop(w: Any, line: Any, lane: Any) -> Any:
    return droptail.take(w, line)


@inlined
def bytes_behind(w: Any, line: Any, s: Any, slot: Any) -> Any:
    """What waits on the whole link behind a packet that was taken off."""
    return line.waiting_bytes - s.leaving - at.event(w, slot).length if slot >= 0 else 0


@inlined
def _waiting_bytes(w: Any, line: Any, lane: Any, slot: Any) -> Any:
    return bytes_behind(w, line, _state(w, line, 0), slot)


@called
def _choose(w: Any, line: Any) -> Any:
    s = _state(w, line, 0)
    return next_packet(w, line, s, s, _pop, _waiting_bytes, 0)


def admits(w: Any, line: Any, slot: Any, busy: Any) -> Any:
    """Is there room?"""
    return 1 if droptail.admits(w, line, at.event(w, slot).length, busy) else 0


def put(w: Any, line: Any, slot: Any) -> None:
    """A packet joins the end."""
    droptail.put(w, line, slot)
    look(w, line, _state(w, line, 0), _choose)


def take(w: Any, line: Any) -> Any:
    """The law decides whom to lose, or mark, before it sends the next."""
    return taken(w, line, _state(w, line, 0), _choose)
