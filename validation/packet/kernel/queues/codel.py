"""CoDel: packets are lost as they leave, while all of an interval have waited longer than a target (RFC 8289)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tcpdynamics.errors import ScenarioError

from .. import views as at
from ..jit import inlined
from ..losses import lose_held, mark
from ..parameters import Parameter
from . import droptail

SOURCE = "RFC 8289, section 5"

#: It marks packets that may be marked (ECN) where it would lose them.
MARKS = True

PARAMETERS = (
    Parameter("target", "s", "waiting time to stay below", 0.005, 1e-9, 1e3),
    Parameter(
        "interval", "s", "time for which it may be exceeded, about the longest round trip", 0.1, 1e-9, 1e3
    ),
    Parameter("mtu", "B", "bytes that may wait in any case", 1500.0, 0.0, 1e6),
)

RECORDED = {
    "delay": ("s", "how long the packet waited that left last"),
    "count": ("1", "CoDel's losses or marks since it last began to lose"),
}

#: What the law remembers of one queue.
MEMORY = [
    *((name, np.float64) for name in RECORDED),
    *((name, np.float64) for name in ("first_above", "lose_next", "last_count")),
    ("losing", np.int64),
]
STATE = np.dtype([*MEMORY, *((p.name, np.float64) for p in PARAMETERS)])
_state = at.part_of("state", STATE)


def refuse(values: Mapping[str, float], key: str) -> None:
    """A target that no interval can hold."""
    if not values["target"] < values["interval"]:
        raise ScenarioError(
            f"{key}.target must be below {key}.interval = {values['interval']:g} s, got {values['target']:g} s"
        )


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
            if mark(w, line, slot):
                c.lose_next += s.interval / math.sqrt(c.count)
                return slot
            lose_held(w, line, slot)
            slot = pop(w, line, lane)
            if _too_long(w, slot, c, s, waiting_bytes(w, line, lane, slot)):
                c.lose_next += s.interval / math.sqrt(c.count)
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
        c.count = more if more > 1.0 and recent else 1.0
        c.lose_next = w.now + s.interval / math.sqrt(c.count)
        c.last_count = c.count
    return slot


@inlined
def _pop(w: Any, line: Any, lane: Any) -> Any:
    return droptail.take(w, line)


@inlined
def _waiting_bytes(w: Any, line: Any, lane: Any, slot: Any) -> Any:
    return line.waiting_bytes - at.event(w, slot).length if slot >= 0 else 0


def admits(w: Any, line: Any, slot: Any, busy: Any) -> Any:
    """Is there room?"""
    return 1 if droptail.admits(w, line, at.event(w, slot).length, busy) else 0


put = droptail.put


def take(w: Any, line: Any) -> Any:
    """The law decides whom to lose, or mark, before it sends the next."""
    s = _state(w, line, 0)
    return next_packet(w, line, s, s, _pop, _waiting_bytes, 0)
