"""Retransmissions first: a gateway that keeps, and sends, what is sent again before what is new (`priority` of a link).

Beside a scenario's drop-tail or SFQ queue, which is left to new data, retransmissions have a list of their own, in the
order in which they came; it is served first, without interrupting what is being sent. Where the source is silent:

* a retransmission is any data packet that its sender has sent before, by fast retransmit, by a timeout or after one;
  acknowledgements count as new data;
* with `places` (the source's gateway: 5 of 25), retransmissions have so many of the buffer to themselves, new data the
  rest, and neither takes any from the other; the packet being sent counts with new data;
* without (`places` below 0), the buffer is shared: a retransmission that finds it full takes the place of the newest
  packet of new data, in the longest lane, and is lost only if nothing but retransmissions wait.

Not to be confused with `priority`, which ranks flows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import records as k
from .. import views as at
from ..jit import inlined
from ..parameters import Parameter
from . import sfq
from .lanes import LANE as LANE
from .lanes import append, lane, pop

SOURCE = "J. Chen et al., TCP behavior in sub-packet regimes, section 6.2"

#: Those of the queue of new data, which the link's `queue` names; drop-tail is one lane.
PARAMETERS: tuple[Parameter, ...] = ()

RECORDED = {
    "lanes": ("1", "lanes with packets of new data"),
    "retransmissions": ("packets", "retransmissions that wait"),
}

STATE = np.dtype(
    [
        *((name, np.float64) for name in RECORDED),
        *((p.name, np.float64) for p in sfq.PARAMETERS if p.name != "queues"),
        ("current", np.int64),
        ("places", np.int64),
        # the list of retransmissions, as of a lane
        *((name, np.int64) for name in ("head", "tail", "packets", "bytes")),
    ]
)
_state = at.part_of("state", STATE)


def prepare(state: Any, lanes: Any, values: Mapping[str, float], way: Any) -> None:
    """Nothing waits."""
    state["current"] = -1
    state["places"] = -1 if way.priority_buffer is None else way.priority_buffer


@inlined
def _is_repeat(w: Any, slot: Any) -> Any:
    kind = at.event(w, slot).kind
    return kind != k.NEW and kind != k.ACK


@inlined
def _room(line: Any, s: Any) -> Any:
    """Places that new data could take now [packets], where there is a limit; below 0 if it has too many."""
    if s.places >= 0:
        return line.limit - s.places - (line.waiting - s.packets)
    return line.limit - line.waiting


def admits(w: Any, line: Any, slot: Any, busy: Any) -> Any:
    """A retransmission may wait if it has a place, or can take one; new data as its own queue has it."""
    s = _state(w, line, 0)
    repeat = _is_repeat(w, slot)
    if not repeat and sfq.is_full(w, line, s, sfq.lane_of(w, line, s, slot)):
        return 0
    if not busy or line.limit < 0:
        return 1
    if not repeat:  # drop-tail has one lane; in several, the longest pays, see `put`
        return 1 if line.n_lanes > 1 or _room(line, s) > 0 else 0
    if s.places >= 0:
        return 1 if s.packets < s.places else 0
    return 1 if line.waiting < line.limit or s.packets < line.waiting else 0


def put(w: Any, line: Any, slot: Any) -> None:
    """A packet joins its list; new data beyond its places is lost, the last of the longest lane first."""
    s = _state(w, line, 0)
    lane_number = s.current
    if _is_repeat(w, slot):
        append(w, s, slot)
        s.retransmissions += 1.0
    else:
        lane_number = sfq.lane_of(w, line, s, slot)
        sfq.join(w, line, s, lane_number, slot)
    if line.limit >= 0 and line.busy:
        while _room(line, s) < 0 and s.lanes > 0.0:
            if lane(w, line, lane_number).packets == 0:
                lane_number = s.current
            sfq.lose_of_longest(w, line, s, lane_number)


def take(w: Any, line: Any) -> Any:
    """The first retransmission; without any, the packet of new data whose turn it is."""
    s = _state(w, line, 0)
    if s.packets > 0:
        s.retransmissions -= 1.0
        return pop(w, s)
    return sfq.take_from(w, line, s)
