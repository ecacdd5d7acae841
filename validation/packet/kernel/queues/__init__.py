"""Queue disciplines: which packets a queue refuses, and which it sends next.

A discipline is a file with a line in `DISCIPLINES` and three hooks. `w` is the whole run. `line` is the record of the
link: `limit` and `limit_bytes` of what may wait (-1: none), `waiting` and `waiting_bytes`. `slot` is the number of a
packet, and `at.event(w, slot)` its record, with `flow` and `length` in bytes.

- `admits(w, line, slot, busy)` is called when a packet arrives; `busy` is 1 while the link transmits another. It
  returns 1 (the packet may wait) or 0 (it is dropped).
- `put(w, line, slot)` adds the packet, already counted in `waiting`, to those that wait. It may take others off and
  drop them (`losses.lose_held`). It returns nothing.
- `take(w, line)` is called when the link is free. It takes the next packet off and returns its number, -1 without any.
  It may drop some first.

`PARAMETERS` are what a scenario may set. `STATE` is a record of one link (fields with the names of parameters hold
them), `LANE` one of a sub-queue, of which there are `queues`. `RECORDED` names the first fields of `STATE`, at most 4,
which can be recorded over time. Drop-tail is part of the loop. Any other discipline is compiled by itself, called at
its addresses, and needs served links. Links count what waits, is dropped and is sent.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from .. import views as at
from ..hooks import caller
from ..jit import inlined
from . import codel, droptail, drr, fq_codel, pie, priority, proportional, red, retransmissions, sfq, step

#: Name -> the file with its hooks; `discipline` of a link's record is the place in `MECHANISMS`.
DISCIPLINES: dict[str, ModuleType] = {
    "droptail": droptail, "red": red, "sfq": sfq, "drr": drr, "codel": codel, "fq_codel": fq_codel, "pie": pie,
    "priority": priority, "step": step, "proportional": proportional,
}  # fmt: skip

#: What a link's `priority` may be besides "none" -> the file with its hooks, which takes the place of the discipline's.
PRIORITIES: dict[str, ModuleType] = {"retransmissions": retransmissions}

#: Disciplines whose queue a priority may leave to new data.
BEHIND_PRIORITY = ("droptail", "sfq")

#: All files with hooks, by their place in rows of `queue_hooks`.
MECHANISMS: dict[str, ModuleType] = {**DISCIPLINES, **PRIORITIES}

#: Hook -> its shape; the places of the addresses in a row of `queue_hooks`.
HOOKS = {"admits": "count(world, link, count, count)", "put": "void(world, link, count)", "take": "count(world, link)"}
ADMITS, PUT, TAKE = range(3)

_admits, _put, _take = (caller(shape) for shape in HOOKS.values())


def marking() -> tuple[str, ...]:
    """Names of those that mark."""
    return tuple(name for name, file in DISCIPLINES.items() if getattr(file, "MARKS", False))


@inlined
def admits(w: Any, line: Any, slot: Any, busy: Any) -> Any:
    """May a packet that arrives at a served link wait or be sent?"""
    if line.discipline == 0:
        return droptail.admits(w, line, at.event(w, slot).length, busy)
    return _admits(at.queue_hooks(w)[line.discipline, ADMITS], w, line, slot, busy) != 0


@inlined
def put(w: Any, line: Any, slot: Any) -> None:
    """Add a packet to those that wait at a served link."""
    if line.discipline == 0:
        droptail.put(w, line, slot)
    else:
        _put(at.queue_hooks(w)[line.discipline, PUT], w, line, slot)


@inlined
def take(w: Any, line: Any) -> Any:
    """Take the packet to send next off those that wait at a served link; -1 without any."""
    if line.discipline == 0:
        return droptail.take(w, line)
    return _take(at.queue_hooks(w)[line.discipline, TAKE], w, line)
