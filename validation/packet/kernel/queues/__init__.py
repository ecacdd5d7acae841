"""Queue disciplines: which packets a queue refuses, and which it sends next.

A discipline has three hooks, which Numba compiles. `w` is the whole run, `line` the record of the link. `slot` is the
number of a packet, and `event(w, slot)` its record.

- `admits(w, line, slot, busy)` is called when a packet arrives; `busy` is 1 while the link transmits another. It
  returns 1 (the packet may wait) or 0 (it is dropped).
- `put(w, line, slot)` adds the packet, already counted in `waiting`, to those that wait. It may take others off and
  drop them, each by `lose_held`. It returns nothing.
- `take(w, line)` is called when the link is free. It takes the next packet off and returns its number, -1 without any.
  It may drop some first.

These parts may be missing:

- `PARAMETERS`: a tuple of `Parameter(name, unit, meaning, default, low, high)`, which `queue_parameters` sets.
- `STATE`: a NumPy dtype with fields, of one link; those with names of parameters hold them. After
  `state = part_of("state", STATE)` a hook reads and changes `state(w, line, 0)`.
- `LANE`: the same of a sub-queue: `part_of("lanes", LANE)`. There are as many as the parameter `queues` has.
- `RECORDED`: name to (unit, meaning) of the first fields of `STATE`, float64, at most 4. `Record(queues=0.0)` records
  them over time.
- `MARKS = True`: it marks packets (ECN) where it would drop them.
- `prepare(state, lanes, values, way)`, in Python, sets what is not 0 at the start of a run.
- `refuse(values, key)`, in Python, raises ScenarioError for values of parameters that exclude each other.

`drr.py` in `validation/packet/kernel/queues/` has all of them except `MARKS` and `refuse`.

Drop-tail is part of the loop. Any other discipline is compiled by itself, called at its addresses, and needs served
links. Links count what waits, is dropped and is sent.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from .. import views as at
from ..hooks import caller
from ..jit import inlined
from . import codel, droptail, drr, fq_codel, pie, priority, proportional, red, retransmissions, sfq, step
from .checks import check_discipline

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

#: Those of the package; `user_queues` adds others behind them.
SHIPPED = tuple(MECHANISMS)
for _name, _file in MECHANISMS.items():
    check_discipline(_name, _file)

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
